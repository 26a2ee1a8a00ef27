func.func @linear(%x: tensor<6x3xf32> {zb.input = "x"}, %y: tensor<6xi64> {zb.input = "y"}, %w: tensor<3x4xf32> {zb.param = "l.w"}, %b: tensor<4xf32> {zb.param = "l.b"}) -> (tensor<f32> {zb.loss}) {
  %p = "zb.matmul"(%x, %w) : (tensor<6x3xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  %l = "zb.add"(%p, %b) : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %loss, %lse = "zb.cross_entropy"(%l, %y) {reduction = "mean"} : (tensor<6x4xf32>, tensor<6xi64>) -> (tensor<f32>, tensor<6xf32>)
  return %loss : tensor<f32>
}
