// zb-recompute: four layers x + gelu(x up) down on two ranks. Without it F keeps x, x up and gelu(x up) of each.
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=h.1 --zb-recompute=recompute=all --zb-classify %s | FileCheck %s --check-prefix=ALL
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=h.1 --zb-recompute=recompute=none --zb-classify %s | FileCheck %s --check-prefix=NONE
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=h.1 '--zb-recompute=recompute="h.3"' --zb-classify %s | FileCheck %s --check-prefix=LAYER
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=h.1 '--zb-recompute=recompute="gelu"' --zb-classify %s | FileCheck %s --check-prefix=KIND
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=h.1 --zb-recompute=recompute=all --zb-classify --zb-outline --zb-memory %s | FileCheck %s --check-prefix=FRAMES
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=3 %s | FileCheck %s --check-prefix=COST
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=3,recompute=all %s | FileCheck %s --check-prefix=FEW
// RUN: not zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=h.1 '--zb-recompute=recompute="*.act,h.3.upp"' %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The input of layer 3 is kept. Its product is B, because the gradient of gelu reads it, and W keeps it from B on; gelu
// is W, because only the product of W reads it: each before its first reader.
// ALL: %[[KEPT:.*]] = "zb.add"({{.*}}zb.class = "F", zb.id = 11 : i64, zb.stage = 1 : i64}
// ALL: %[[UP:.*]] = "zb.matmul"(%[[KEPT]], %{{.*}}) {zb.class = "B", zb.recomputed, zb.stage = 1 : i64}
// ALL-NEXT: %[[ACT:.*]] = "zb.gelu"(%[[UP]]) {zb.class = "W", zb.recomputed, zb.stage = 1 : i64}
// ALL-NEXT: "zb.matmul"(%[[ACT]], %{{.*}}) {transpose_lhs = true, zb.class = "W"
// ALL: "zb.gelu_grad"(%[[UP]],
// The input of layer 2 comes from the other rank: it is kept, not sent again.
// ALL: %[[UP2:.*]] = "zb.matmul"(%{{.*}}, %{{.*}}) {zb.class = "B", zb.recomputed, zb.stage = 1 : i64}
// ALL: "zb.gelu_grad"(%[[UP2]],
// No op of F reads what is computed again, and nobody computes the sums behind the last product again.
// ALL-NOT: "zb.reduce_mean"({{.*}}zb.recomputed

// NONE-NOT: zb.recomputed

// LAYER: %[[ACT2:.*]] = "zb.gelu"({{.*}}zb.id = 9 : i64
// LAYER: "zb.gelu"({{.*}}zb.class = "W", zb.recomputed, zb.stage = 1 : i64}
// LAYER: "zb.matmul"(%[[ACT2]], {{.*}}zb.class = "W"
// LAYER-NOT: zb.recomputed

// gelu is computed from its operand, which B reads anyway.
// KIND: %[[UP3:.*]] = "zb.matmul"({{.*}}zb.id = 12 : i64
// KIND: "zb.gelu"(%[[UP3]]) {zb.class = "W", zb.recomputed
// KIND: "zb.gelu_grad"(%[[UP3]],
// KIND-NOT: "zb.matmul"({{.*}}zb.recomputed

// From F on stage 1 keeps the inputs of its two layers, 128 bytes each and rounded to 64; W reads both (fw). From B on W
// keeps the two products of 512 bytes and gradients of their results and of the layers: bw.
// FRAMES: @s1_F({{.*}} -> (!zb.frame<"fw", 256 : i64>
// FRAMES-NOT: zb.frame<"fb"
// FRAMES: @s1_B(
// FRAMES: "zb.matmul"({{.*}}zb.class = "B", zb.recomputed
// FRAMES: @s1_W(
// FRAMES: "zb.gelu"({{.*}}zb.class = "W", zb.recomputed

// By cost the first cut is behind gelu, where 640 bytes cross; stages that compute again receive 128, the end of a
// layer: behind the product before it would be 256, and x is kept, too, so that there is nothing to make up for that.
// COST: zb.id = 5 : i64, zb.stage = 0
// COST-NEXT: zb.id = 6 : i64, zb.stage = 1
// FEW: zb.id = 7 : i64, zb.stage = 0
// FEW-NEXT: zb.id = 8 : i64, zb.stage = 1

// UNKNOWN: recompute: 'h.3.upp' names no op of the forward pass, did you mean 'h.3.up'?
// UNKNOWN: hint: none, all, auto, or globs of modules, nodes or kinds of ops

func.func @model(
    %x: tensor<4x8xf32> {zb.input = "x"},
    %a0: tensor<8x32xf32> {zb.param = "h.0.up"}, %b0: tensor<32x8xf32> {zb.param = "h.0.down"},
    %a1: tensor<8x32xf32> {zb.param = "h.1.up"}, %b1: tensor<32x8xf32> {zb.param = "h.1.down"},
    %a2: tensor<8x32xf32> {zb.param = "h.2.up"}, %b2: tensor<32x8xf32> {zb.param = "h.2.down"},
    %a3: tensor<8x32xf32> {zb.param = "h.3.up"}, %b3: tensor<32x8xf32> {zb.param = "h.3.down"}) -> (tensor<f32> {zb.loss}) {
  %u0 = "zb.matmul"(%x, %a0) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32> loc("h.0.up")
  %g0 = "zb.gelu"(%u0) : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("h.0.act")
  %d0 = "zb.matmul"(%g0, %b0) : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32> loc("h.0.down")
  %r0 = "zb.add"(%x, %d0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("h.0")
  %u1 = "zb.matmul"(%r0, %a1) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32> loc("h.1.up")
  %g1 = "zb.gelu"(%u1) : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("h.1.act")
  %d1 = "zb.matmul"(%g1, %b1) : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32> loc("h.1.down")
  %r1 = "zb.add"(%r0, %d1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("h.1")
  %u2 = "zb.matmul"(%r1, %a2) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32> loc("h.2.up")
  %g2 = "zb.gelu"(%u2) : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("h.2.act")
  %d2 = "zb.matmul"(%g2, %b2) : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32> loc("h.2.down")
  %r2 = "zb.add"(%r1, %d2) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("h.2")
  %u3 = "zb.matmul"(%r2, %a3) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32> loc("h.3.up")
  %g3 = "zb.gelu"(%u3) : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("h.3.act")
  %d3 = "zb.matmul"(%g3, %b3) : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32> loc("h.3.down")
  %r3 = "zb.add"(%r2, %d3) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("h.3")
  %l = "zb.reduce_mean"(%r3) {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32> loc("loss")
  return %l : tensor<f32>
}
