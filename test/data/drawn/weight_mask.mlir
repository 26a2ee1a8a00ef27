module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "weight_mask.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "c.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "c.bias"},
                  %arg6: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %abs_1 = "aten.abs"(%arg0) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %abs_2 = "aten.abs"(%arg0) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %mean = "aten.mean"(%abs_2) : (tensor<12x12xf32>) -> tensor<f32>
    %gt = "aten.gt.Tensor"(%abs_1, %mean) : (tensor<12x12xf32>, tensor<f32>) -> tensor<12x12xi1>
    %_to_copy = "aten._to_copy"(%gt) {dtype = "f32"} : (tensor<12x12xi1>) -> tensor<12x12xf32>
    %mul = "aten.mul.Tensor"(%arg0, %_to_copy) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %linear = "aten.linear"(%arg6, %mul, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%tanh_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %select = "aten.select.int"(%_to_copy) {dim = 0 : i64, index = 0 : i64} : (tensor<12x12xf32>) -> tensor<12xf32>
    %mul_1 = "aten.mul.Tensor"(%linear_2, %select) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%mul_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean_1 = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean_1 : tensor<f32>
  }
}
