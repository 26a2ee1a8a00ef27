module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "self_distillation.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<6x12xf32> {aten.parameter = "c.weight"},
                  %arg5: tensor<6xf32> {aten.parameter = "c.bias"},
                  %arg6: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg6, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu = "aten.relu"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%relu, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu_1 = "aten.relu"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%relu_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<6x12xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    %softmax = "aten.softmax.int"(%linear_2) {dim = -1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %detach = "aten.detach"(%softmax) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %add = "aten.add.Tensor"(%arg6) {other = 0.1 : f64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_3 = "aten.linear"(%add, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu_2 = "aten.relu"(%linear_3) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_4 = "aten.linear"(%relu_2, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu_3 = "aten.relu"(%linear_4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_5 = "aten.linear"(%relu_3, %arg4, %arg5) : (tensor<4x12xf32>, tensor<6x12xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    %log_softmax = "aten.log_softmax.int"(%linear_5) {dim = -1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %mul = "aten.mul.Tensor"(%detach, %log_softmax) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %eq = "aten.eq.Scalar"(%detach) {other = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xi1>
    %log = "aten.log"(%detach) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %mul_1 = "aten.mul.Tensor"(%detach, %log) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %scalar_tensor = "aten.scalar_tensor"() {s = 0 : i64, dtype = "f32"} : () -> tensor<f32>
    %where = "aten.where.self"(%eq, %scalar_tensor, %mul_1) : (tensor<4x6xi1>, tensor<f32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %isnan = "aten.isnan"(%detach) : (tensor<4x6xf32>) -> tensor<4x6xi1>
    %scalar_tensor_1 = "aten.scalar_tensor"() {s = 0x7FF8000000000000 : f64, dtype = "f32"} : () -> tensor<f32>
    %where_1 = "aten.where.self"(%isnan, %scalar_tensor_1, %where) : (tensor<4x6xi1>, tensor<f32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %sub = "aten.sub.Tensor"(%where_1, %mul) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %sum_1 = "aten.sum.dim_IntList"(%sub) {dim = array<i64>} : (tensor<4x6xf32>) -> tensor<f32>
    %div = "aten.div.Tensor"(%sum_1) {other = 4 : i64} : (tensor<f32>) -> tensor<f32>
    return %div : tensor<f32>
  }
}
