module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<7x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<7xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<4x12xf32> {aten.input = "x"},
                  %arg5: tensor<4xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg4, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu = "aten.gelu"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%gelu, %arg2, %arg3) : (tensor<4x12xf32>, tensor<7x12xf32>, tensor<7xf32>) -> tensor<4x7xf32>
    %cross_entropy_loss = "aten.cross_entropy_loss"(%linear_1, %arg5) : (tensor<4x7xf32>, tensor<4xi64>) -> tensor<f32>
    return %cross_entropy_loss : tensor<f32>
  }
}
