func.func @gated(%x: tensor<4x8xf32> {zb.input = "x"}, %wg: tensor<8x6xf32> {zb.param = "l.g"}, %wu: tensor<8x6xf32> {zb.param = "l.u"}, %y: tensor<4xi64> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
  %g = "zb.matmul"(%x, %wg) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %u = "zb.matmul"(%x, %wu) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %s = "zb.sigmoid"(%g) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = "zb.mul"(%g, %s) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %h = "zb.mul"(%u, %a) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %l:2 = "zb.cross_entropy"(%h, %y) {reduction = "mean"} : (tensor<4x6xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  return %l#0 : tensor<f32>
}
