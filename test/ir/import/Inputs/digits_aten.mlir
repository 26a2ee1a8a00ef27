module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%w: tensor<4xf32> {aten.parameter = "w"}, %x: tensor<4xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %z = "aten.mul.Tensor"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %a = "aten.log1p"(%z) : (tensor<4xf32>) -> tensor<4xf32>
    %b = "aten.expm1"(%z) : (tensor<4xf32>) -> tensor<4xf32>
    %c = "aten.erfc"(%z) : (tensor<4xf32>) -> tensor<4xf32>
    %d = "aten.add.Tensor"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %e = "aten.add.Tensor"(%d, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %l = "aten.sum"(%e) : (tensor<4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
