func.func @model(%x: tensor<4x8xi64> {zb.input = "x"}, %y: tensor<4x8xi64> {zb.input = "y"}, %e: tensor<256x4xf32> {zb.param = "a.e"}, %v: tensor<4x4xf32> {zb.param = "b.v"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.gather"(%e, %x) {axis = 0 : i64} : (tensor<256x4xf32>, tensor<4x8xi64>) -> tensor<4x8x4xf32>
  %t = "zb.tanh"(%h) : (tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %o = "zb.gather"(%e, %y) {axis = 0 : i64} : (tensor<256x4xf32>, tensor<4x8xi64>) -> tensor<4x8x4xf32>
  %p = "zb.matmul"(%t, %v) : (tensor<4x8x4xf32>, tensor<4x4xf32>) -> tensor<4x8x4xf32>
  %q = "zb.sub"(%p, %o) : (tensor<4x8x4xf32>, tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %z = "zb.tanh"(%q) : (tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  // LOSS
}
