module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<24x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<24xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<24x24xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<24xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<2x6x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %native_dropout:2 = "aten.native_dropout"(%arg4) {p = 0.1 : f64, train = true} : (tensor<2x6x12xf32>) -> (tensor<2x6x12xf32>, tensor<2x6x12xi1>)
    %linear = "aten.linear"(%native_dropout#0, %arg0, %arg1) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %gelu = "aten.gelu"(%linear) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %native_dropout_1:2 = "aten.native_dropout"(%gelu) {p = 0.2 : f64, train = true} : (tensor<2x6x24xf32>) -> (tensor<2x6x24xf32>, tensor<2x6x24xi1>)
    %linear_1 = "aten.linear"(%native_dropout_1#0, %arg2, %arg3) : (tensor<2x6x24xf32>, tensor<24x24xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x24xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
