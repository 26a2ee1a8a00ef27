// zb-allocate: what a chunk hands to the next one of its rank may lie in the frame that the next one makes, and be sent to another rank
// from there. %s gives r and q one gradient, which rank 1 keeps in the frame of B of stage 2 and sends to stage 3. That B does not write it
// again, so it does not wait for the send. If it did, this order would wait for ever: rank 2 takes the gradient behind B of stage 0, which
// comes behind that of stage 2. The proof of the plan knows what a send still reads, and takes it.
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout '--zb-partition=ranks=3,chunks=2,placement="2,0,1,2,1,0",cuts="e,h,r,q,p"' \
// RUN:   --zb-classify --zb-outline --zb-memory --zb-schedule=schedule=gpipe,micro-batches=1 %s > %t.gpipe.mlir
// RUN: sed 's/0F0 3F0 3B0 3W0 0B0 0W0/0F0 3F0 0B0 0W0 3B0 3W0/' %t.gpipe.mlir > %t.mlir
// RUN: not cmp %t.gpipe.mlir %t.mlir
// RUN: zb-opt --zb-insert-comm --zb-allocate --zb-verify-plan %t.mlir | FileCheck %s
// CHECK: zb.level = "verified"
// Op 10 is B of stage 2: it waits for nothing, message 7 least of all. Ops 17 and 18 are of the evaluation.
// CHECK: module @rank1{{.*}}zb.waits = array<i64: 2, 1, 4, 2, 7, 4, 17, 10, 18, 8>
func.func @model(
    %x: tensor<4x8xf32> {zb.input = "x"}, %a: tensor<8x8xf32> {zb.param = "e.w"},
    %a0: tensor<8x8xf32> {zb.param = "h.w"}, %a1: tensor<8x8xf32> {zb.param = "r.w"},
    %a2: tensor<8x8xf32> {zb.param = "q.w"}, %a3: tensor<8x8xf32> {zb.param = "p.w"}) -> (tensor<f32> {zb.loss}) {
  %e = "zb.matmul"(%x, %a) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("e")
  %h = "zb.matmul"(%e, %a0) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("h")
  %r = "zb.matmul"(%h, %a1) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("r")
  %q = "zb.matmul"(%x, %a2) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("q")
  %s = "zb.add"(%r, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("s")
  %p = "zb.matmul"(%s, %a3) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("p")
  %y = "zb.mul"(%p, %p) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("y")
  %l = "zb.reduce_mean"(%y) {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32> loc("loss")
  return %l : tensor<f32>
}
