module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "g.weight"},
                  %arg2: tensor<12xf32> {aten.parameter = "n.weight"},
                  %arg3: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg4: tensor<2x6x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %rms_norm = "aten.rms_norm"(%arg4, %arg2) {normalized_shape = array<i64: 12>} : (tensor<2x6x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear = "aten.linear"(%rms_norm, %arg1) : (tensor<2x6x12xf32>, tensor<12x12xf32>) -> tensor<2x6x12xf32>
    %silu = "aten.silu"(%linear) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %rms_norm_1 = "aten.rms_norm"(%arg4, %arg2) {normalized_shape = array<i64: 12>} : (tensor<2x6x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_1 = "aten.linear"(%rms_norm_1, %arg0) : (tensor<2x6x12xf32>, tensor<12x12xf32>) -> tensor<2x6x12xf32>
    %mul = "aten.mul.Tensor"(%silu, %linear_1) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %linear_2 = "aten.linear"(%mul, %arg3) : (tensor<2x6x12xf32>, tensor<12x12xf32>) -> tensor<2x6x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_2) {exponent = 2 : i64} : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
