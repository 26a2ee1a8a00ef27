#f0 = loc("model.py":12:0)
module attributes {aten.format = 1 : i64} {
  func.func @main(%w: tensor<4x3xf32> {aten.parameter = "w"}, %x: tensor<4x3xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %sin = "aten.sin"(%w) : (tensor<4x3xf32>) -> tensor<4x3xf32> loc("block.act (sin_1)"(#f0))
    %sum = "aten.add.Tensor"(%sin, %x) {alpha = 2 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> loc("block (sum)"(#f0))
    %mean = "aten.mean"(%sum) : (tensor<4x3xf32>) -> tensor<f32> loc("block (mean)"(#f0))
    return %mean : tensor<f32>
  }
}
