func.func @turned(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x6xf32> {zb.param = "l.w"}, %cos: tensor<6xf32> {zb.input = "c"}, %sin: tensor<6xf32> {zb.input = "s"}, %y: tensor<4xi64> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
  %p = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %a = "zb.mul"(%p, %cos) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %lo, %hi = "zb.split"(%p) {axis = 1 : i64, sizes = array<i64: 3, 3>} : (tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %n = "zb.neg"(%hi) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %r = "zb.concat"(%n, %lo) {axis = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %b = "zb.mul"(%r, %sin) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %h = "zb.add"(%a, %b) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %l:2 = "zb.cross_entropy"(%h, %y) {reduction = "mean"} : (tensor<4x6xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  return %l#0 : tensor<f32>
}
