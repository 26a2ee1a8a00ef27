module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "simsiam.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "p.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "p.bias"},
                  %arg6: tensor<4x12xf32> {aten.input = "x"},
                  %arg7: tensor<4x12xf32> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg6, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu = "aten.relu"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%relu, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%arg7, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu_1 = "aten.relu"(%linear_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_3 = "aten.linear"(%relu_1, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_4 = "aten.linear"(%linear_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %detach = "aten.detach"(%linear_3) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linalg_vector_norm = "aten.linalg_vector_norm"(%linear_4) {ord = 2 : i64, dim = array<i64: 1>, keepdim = true} : (tensor<4x12xf32>) -> tensor<4x1xf32>
    %clone = "aten.clone"(%linalg_vector_norm) : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %linalg_vector_norm_1 = "aten.linalg_vector_norm"(%detach) {ord = 2 : i64, dim = array<i64: 1>, keepdim = true} : (tensor<4x12xf32>) -> tensor<4x1xf32>
    %clone_1 = "aten.clone"(%linalg_vector_norm_1) : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %scalar_tensor = "aten.scalar_tensor"() {s = 1.0e-08 : f64, dtype = "f32"} : () -> tensor<f32>
    %clamp = "aten.clamp.Tensor"(%clone, %scalar_tensor) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
    %clamp_1 = "aten.clamp.Tensor"(%clone_1, %scalar_tensor) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
    %div = "aten.div.Tensor"(%detach, %clamp_1) : (tensor<4x12xf32>, tensor<4x1xf32>) -> tensor<4x12xf32>
    %div_1 = "aten.div.Tensor"(%linear_4, %clamp) : (tensor<4x12xf32>, tensor<4x1xf32>) -> tensor<4x12xf32>
    %mul = "aten.mul.Tensor"(%div_1, %div) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sum_1 = "aten.sum.dim_IntList"(%mul) {dim = array<i64: 1>} : (tensor<4x12xf32>) -> tensor<4xf32>
    %mean = "aten.mean"(%sum_1) : (tensor<4xf32>) -> tensor<f32>
    %linear_5 = "aten.linear"(%linear_3, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %detach_1 = "aten.detach"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linalg_vector_norm_2 = "aten.linalg_vector_norm"(%linear_5) {ord = 2 : i64, dim = array<i64: 1>, keepdim = true} : (tensor<4x12xf32>) -> tensor<4x1xf32>
    %clone_2 = "aten.clone"(%linalg_vector_norm_2) : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %linalg_vector_norm_3 = "aten.linalg_vector_norm"(%detach_1) {ord = 2 : i64, dim = array<i64: 1>, keepdim = true} : (tensor<4x12xf32>) -> tensor<4x1xf32>
    %clone_3 = "aten.clone"(%linalg_vector_norm_3) : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %scalar_tensor_1 = "aten.scalar_tensor"() {s = 1.0e-08 : f64, dtype = "f32"} : () -> tensor<f32>
    %clamp_2 = "aten.clamp.Tensor"(%clone_2, %scalar_tensor_1) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
    %clamp_3 = "aten.clamp.Tensor"(%clone_3, %scalar_tensor_1) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
    %div_2 = "aten.div.Tensor"(%detach_1, %clamp_3) : (tensor<4x12xf32>, tensor<4x1xf32>) -> tensor<4x12xf32>
    %div_3 = "aten.div.Tensor"(%linear_5, %clamp_2) : (tensor<4x12xf32>, tensor<4x1xf32>) -> tensor<4x12xf32>
    %mul_1 = "aten.mul.Tensor"(%div_3, %div_2) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sum_2 = "aten.sum.dim_IntList"(%mul_1) {dim = array<i64: 1>} : (tensor<4x12xf32>) -> tensor<4xf32>
    %mean_1 = "aten.mean"(%sum_2) : (tensor<4xf32>) -> tensor<f32>
    %add = "aten.add.Tensor"(%mean, %mean_1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %neg = "aten.neg"(%add) : (tensor<f32>) -> tensor<f32>
    %div_4 = "aten.div.Tensor"(%neg) {other = 2 : i64} : (tensor<f32>) -> tensor<f32>
    return %div_4 : tensor<f32>
  }
}
