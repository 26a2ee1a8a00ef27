module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "c.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "c.bias"},
                  %arg6: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg6, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%tanh_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_2) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    %pow_2 = "aten.pow.Tensor_Scalar"(%arg0) {exponent = 2 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %sum_1 = "aten.sum.dim_IntList"(%pow_2) {dim = array<i64>} : (tensor<12x12xf32>) -> tensor<f32>
    %add = "aten.add.Tensor"(%sum_1) {other = 0 : i64} : (tensor<f32>) -> tensor<f32>
    %pow_3 = "aten.pow.Tensor_Scalar"(%arg1) {exponent = 2 : i64} : (tensor<12xf32>) -> tensor<12xf32>
    %sum_2 = "aten.sum.dim_IntList"(%pow_3) {dim = array<i64>} : (tensor<12xf32>) -> tensor<f32>
    %add_1 = "aten.add.Tensor"(%add, %sum_2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %pow_4 = "aten.pow.Tensor_Scalar"(%arg2) {exponent = 2 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %sum_3 = "aten.sum.dim_IntList"(%pow_4) {dim = array<i64>} : (tensor<12x12xf32>) -> tensor<f32>
    %add_2 = "aten.add.Tensor"(%add_1, %sum_3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %pow_5 = "aten.pow.Tensor_Scalar"(%arg3) {exponent = 2 : i64} : (tensor<12xf32>) -> tensor<12xf32>
    %sum_4 = "aten.sum.dim_IntList"(%pow_5) {dim = array<i64>} : (tensor<12xf32>) -> tensor<f32>
    %add_3 = "aten.add.Tensor"(%add_2, %sum_4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %pow_6 = "aten.pow.Tensor_Scalar"(%arg4) {exponent = 2 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %sum_5 = "aten.sum.dim_IntList"(%pow_6) {dim = array<i64>} : (tensor<12x12xf32>) -> tensor<f32>
    %add_4 = "aten.add.Tensor"(%add_3, %sum_5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %pow_7 = "aten.pow.Tensor_Scalar"(%arg5) {exponent = 2 : i64} : (tensor<12xf32>) -> tensor<12xf32>
    %sum_6 = "aten.sum.dim_IntList"(%pow_7) {dim = array<i64>} : (tensor<12xf32>) -> tensor<f32>
    %add_5 = "aten.add.Tensor"(%add_4, %sum_6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %mul = "aten.mul.Tensor"(%add_5) {other = 0.01 : f64} : (tensor<f32>) -> tensor<f32>
    %add_6 = "aten.add.Tensor"(%mean, %mul) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %add_6 : tensor<f32>
  }
}
