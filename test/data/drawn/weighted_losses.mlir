module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<1xf32> {aten.parameter = "s"},
                  %arg1: tensor<1xf32> {aten.parameter = "t"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg6: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg6, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %neg = "aten.neg"(%arg0) : (tensor<1xf32>) -> tensor<1xf32>
    %exp = "aten.exp"(%neg) : (tensor<1xf32>) -> tensor<1xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%tanh) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    %mul = "aten.mul.Tensor"(%exp, %mean) : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
    %select = "aten.select.int"(%arg0) {dim = 0 : i64, index = 0 : i64} : (tensor<1xf32>) -> tensor<f32>
    %add = "aten.add.Tensor"(%mul, %select) : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
    %neg_1 = "aten.neg"(%arg1) : (tensor<1xf32>) -> tensor<1xf32>
    %exp_1 = "aten.exp"(%neg_1) : (tensor<1xf32>) -> tensor<1xf32>
    %linear_1 = "aten.linear"(%tanh, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_2 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean_1 = "aten.mean"(%pow_2) : (tensor<4x12xf32>) -> tensor<f32>
    %mul_1 = "aten.mul.Tensor"(%exp_1, %mean_1) : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
    %add_1 = "aten.add.Tensor"(%add, %mul_1) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %select_1 = "aten.select.int"(%arg1) {dim = 0 : i64, index = 0 : i64} : (tensor<1xf32>) -> tensor<f32>
    %add_2 = "aten.add.Tensor"(%add_1, %select_1) : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
    %sum_1 = "aten.sum.dim_IntList"(%add_2) {dim = array<i64>} : (tensor<1xf32>) -> tensor<f32>
    return %sum_1 : tensor<f32>
  }
}
