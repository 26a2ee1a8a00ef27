module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12xf32> {aten.parameter = "n.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "n.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg6: tensor<2x6x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg6, %arg0, %arg1) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add = "aten.add.Tensor"(%linear, %arg6) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm = "aten.layer_norm"(%add, %arg2, %arg3) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_1 = "aten.linear"(%layer_norm, %arg4, %arg5) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
