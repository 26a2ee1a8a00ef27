// A tied embedding and head, positions, two products and a norm of a part, for plans of shards by tokens
// (test/runtime/plan/compiled/tokens_plan_test.c).
func.func @shards(%x: tensor<2x4xi64> {zb.input = "x"}, %y: tensor<2x4xi64> {zb.input = "y"}, %e: tensor<33x8xf32> {zb.param = "e"},
    %u: tensor<8x16xf32> {zb.param = "u"}, %b: tensor<16xf32> {zb.param = "b"}, %s: tensor<4xf32> {zb.param = "s"}, %d: tensor<16x8xf32> {zb.param = "d"}, %w: tensor<4x8xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
  %g = "zb.gather"(%e, %x) {axis = 0 : i64} : (tensor<33x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  %h = "zb.add"(%g, %w) : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  %p = "zb.matmul"(%h, %u, %b) : (tensor<2x4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  %q = "zb.reshape"(%p) {shape = array<i64: 2, 4, 4, 4>} : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
  %n:2 = "zb.rms_norm"(%q, %s) {axis = 3 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x4x4x4xf32>, tensor<4xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4x1xf32>)
  %r = "zb.reshape"(%n#0) {shape = array<i64: 2, 4, 16>} : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
  %o = "zb.matmul"(%r, %d) : (tensor<2x4x16xf32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  %a = "zb.add"(%h, %o) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %l = "zb.matmul"(%a, %e) {transpose_rhs = true} : (tensor<2x4x8xf32>, tensor<33x8xf32>) -> tensor<2x4x33xf32>
  %loss, %lse = "zb.cross_entropy"(%l, %y) {reduction = "mean"} : (tensor<2x4x33xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}
