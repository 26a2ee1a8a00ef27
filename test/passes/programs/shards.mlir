// A layer as GPT-2 has it: tied embedding and head, q, k and v of one product, norms of heads, biases, a loss that ignores a label.
// Its shards are checked by shard_test.c.
// RUN: zb-opt --zb-autodiff --zb-split-grad %s | FileCheck %s

// CHECK-COUNT-16: zb.accumulate
// CHECK-NOT: zb.accumulate
func.func @shards(%x: tensor<2x3xi64> {zb.input = "x"}, %y: tensor<2x3xi64> {zb.input = "y"},
    %e: tensor<96x12xf64> {zb.param = "e"}, %p: tensor<3x12xf64> {zb.param = "p"}, %s0: tensor<12xf64> {zb.param = "s0"}, %b0: tensor<12xf64> {zb.param = "b0"},
    %wqkv: tensor<12x36xf64> {zb.param = "qkv.w"}, %bqkv: tensor<36xf64> {zb.param = "qkv.b"}, %sq: tensor<2xf64> {zb.param = "q.s"}, %wo: tensor<12x12xf64> {zb.param = "o.w"}, %bo: tensor<12xf64> {zb.param = "o.b"},
    %s1: tensor<12xf64> {zb.param = "s1"}, %wu: tensor<12x24xf64> {zb.param = "up.w"}, %bu: tensor<24xf64> {zb.param = "up.b"}, %wd: tensor<12x24xf64> {zb.param = "down.w"}, %bd: tensor<12xf64> {zb.param = "down.b"},
    %s2: tensor<12xf64> {zb.param = "s2"}) -> (tensor<f64> {zb.loss}) {
  %e0 = "zb.gather"(%e, %x) {axis = 0 : i64} : (tensor<96x12xf64>, tensor<2x3xi64>) -> tensor<2x3x12xf64>
  %h0 = "zb.add"(%e0, %p) : (tensor<2x3x12xf64>, tensor<3x12xf64>) -> tensor<2x3x12xf64>
  %n0:3 = "zb.layer_norm"(%h0, %s0, %b0) {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x3x12xf64>, tensor<12xf64>, tensor<12xf64>) -> (tensor<2x3x12xf64>, tensor<2x3x1xf64>, tensor<2x3x1xf64>)
  %f0 = "zb.reshape"(%n0#0) {shape = array<i64: 6, 12>} : (tensor<2x3x12xf64>) -> tensor<6x12xf64>
  %qkv0 = "zb.matmul"(%f0, %wqkv, %bqkv) : (tensor<6x12xf64>, tensor<12x36xf64>, tensor<36xf64>) -> tensor<6x36xf64>
  %qkv = "zb.reshape"(%qkv0) {shape = array<i64: 2, 3, 36>} : (tensor<6x36xf64>) -> tensor<2x3x36xf64>
  %q0, %k0, %v0 = "zb.split"(%qkv) {axis = 2 : i64, sizes = array<i64: 12, 12, 12>} : (tensor<2x3x36xf64>) -> (tensor<2x3x12xf64>, tensor<2x3x12xf64>, tensor<2x3x12xf64>)
  %q1 = "zb.reshape"(%q0) {shape = array<i64: 2, 3, 6, 2>} : (tensor<2x3x12xf64>) -> tensor<2x3x6x2xf64>
  %q:2 = "zb.rms_norm"(%q1, %sq) {axis = 3 : i64, epsilon = 1.0e-2 : f64} : (tensor<2x3x6x2xf64>, tensor<2xf64>) -> (tensor<2x3x6x2xf64>, tensor<2x3x6x1xf64>)
  %k = "zb.reshape"(%k0) {shape = array<i64: 2, 3, 6, 2>} : (tensor<2x3x12xf64>) -> tensor<2x3x6x2xf64>
  %v = "zb.reshape"(%v0) {shape = array<i64: 2, 3, 6, 2>} : (tensor<2x3x12xf64>) -> tensor<2x3x6x2xf64>
  %a:2 = "zb.attention"(%q#0, %k, %v) {scale = 0.7 : f64, causal = true} : (tensor<2x3x6x2xf64>, tensor<2x3x6x2xf64>, tensor<2x3x6x2xf64>) -> (tensor<2x3x6x2xf64>, tensor<2x6x3xf64>)
  %a1 = "zb.reshape"(%a#0) {shape = array<i64: 6, 12>} : (tensor<2x3x6x2xf64>) -> tensor<6x12xf64>
  %o0 = "zb.matmul"(%a1, %wo, %bo) : (tensor<6x12xf64>, tensor<12x12xf64>, tensor<12xf64>) -> tensor<6x12xf64>
  %o = "zb.reshape"(%o0) {shape = array<i64: 2, 3, 12>} : (tensor<6x12xf64>) -> tensor<2x3x12xf64>
  %h1 = "zb.add"(%o, %h0) : (tensor<2x3x12xf64>, tensor<2x3x12xf64>) -> tensor<2x3x12xf64>
  %n1:2 = "zb.rms_norm"(%h1, %s1) {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x3x12xf64>, tensor<12xf64>) -> (tensor<2x3x12xf64>, tensor<2x3x1xf64>)
  %u0 = "zb.matmul"(%n1#0, %wu) : (tensor<2x3x12xf64>, tensor<12x24xf64>) -> tensor<2x3x24xf64>
  %u1 = "zb.add"(%u0, %bu) : (tensor<2x3x24xf64>, tensor<24xf64>) -> tensor<2x3x24xf64>
  %u = "zb.gelu"(%u1) {tanh = true} : (tensor<2x3x24xf64>) -> tensor<2x3x24xf64>
  %d = "zb.matmul"(%u, %wd, %bd) {transpose_rhs = true} : (tensor<2x3x24xf64>, tensor<12x24xf64>, tensor<12xf64>) -> tensor<2x3x12xf64>
  %h2 = "zb.add"(%h1, %d) : (tensor<2x3x12xf64>, tensor<2x3x12xf64>) -> tensor<2x3x12xf64>
  %n2:2 = "zb.rms_norm"(%h2, %s2) {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x3x12xf64>, tensor<12xf64>) -> (tensor<2x3x12xf64>, tensor<2x3x1xf64>)
  %l = "zb.matmul"(%n2#0, %e) {transpose_rhs = true} : (tensor<2x3x12xf64>, tensor<96x12xf64>) -> tensor<2x3x96xf64>
  %loss, %lse = "zb.cross_entropy"(%l, %y) {reduction = "mean", ignore_index = 2 : i64} : (tensor<2x3x96xf64>, tensor<2x3xi64>) -> (tensor<f64>, tensor<2x3xf64>)
  return %loss : tensor<f64>
}
