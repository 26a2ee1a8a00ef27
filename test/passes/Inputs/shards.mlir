// A tied embedding and head, two products and a norm of a part, for plans of shards (test/runtime/plan/compiled/shards_plan_test.c).
func.func @shards(%x: tensor<2x3xi64> {zb.input = "x"}, %y: tensor<2x3xi64> {zb.input = "y"}, %e: tensor<33x8xf32> {zb.param = "e"},
    %u: tensor<8x16xf32> {zb.param = "u"}, %b: tensor<16xf32> {zb.param = "b"}, %s: tensor<4xf32> {zb.param = "s"}, %d: tensor<16x8xf32> {zb.param = "d"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.gather"(%e, %x) {axis = 0 : i64} : (tensor<33x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  %p = "zb.matmul"(%h, %u, %b) : (tensor<2x3x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<2x3x16xf32>
  %q = "zb.reshape"(%p) {shape = array<i64: 2, 3, 4, 4>} : (tensor<2x3x16xf32>) -> tensor<2x3x4x4xf32>
  %n:2 = "zb.rms_norm"(%q, %s) {axis = 3 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x3x4x4xf32>, tensor<4xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x1xf32>)
  %r = "zb.reshape"(%n#0) {shape = array<i64: 2, 3, 16>} : (tensor<2x3x4x4xf32>) -> tensor<2x3x16xf32>
  %o = "zb.matmul"(%r, %d) : (tensor<2x3x16xf32>, tensor<16x8xf32>) -> tensor<2x3x8xf32>
  %a = "zb.add"(%h, %o) : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %l = "zb.matmul"(%a, %e) {transpose_rhs = true} : (tensor<2x3x8xf32>, tensor<33x8xf32>) -> tensor<2x3x33xf32>
  %loss, %lse = "zb.cross_entropy"(%l, %y) {reduction = "mean"} : (tensor<2x3x33xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<2x3xf32>)
  return %loss : tensor<f32>
}
