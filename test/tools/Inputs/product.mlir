// A forward program with two parameters and no values for them.
func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x8xf32> {zb.param = "a.w"}, %b: tensor<8xf32> {zb.param = "a.bias"})
    -> (tensor<f32> {zb.loss}) {
  %h = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = "zb.add"(%h, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %l = "zb.reduce_sum"(%s) {axes = array<i64>} : (tensor<4x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
