// A parameter that rank 0 only reads, without a gradient, and rank 2 trains: rank 0 gets the sum, and makes the same update. With clipping its
// SUM brings the sum to a place in the gradients, where it lies until CLIP has run.
// RUN: zbc %s -o %t --ranks 3 --cuts a,b --micro-batches 2 --schedule 1f1b --optimizer sgd:lr=0.1
// RUN: zb-run %t --print-plan | FileCheck --check-prefix=PLAN %s
// RUN: zbc %s -o %t --ranks 3 --cuts a,b --micro-batches 2 --schedule 1f1b --optimizer sgd:lr=0.1 --clip-norm 1
// RUN: zb-run %t --print-plan | FileCheck --check-prefix=CLIP %s

// PLAN: collective 0 all-gather G of ranks 0, 2 before message #5: 0, 1024 bytes
// PLAN: rank 0:
// PLAN: parameter w 16x16xf32 at parameters+0 trained, digest
// PLAN: COLLECTIVE all-gather 0  slots+[[SUM:[0-9]+]] (1,024)
// PLAN: UPDATE tied0_UPDATE  sum w#0 slots+[[SUM]]  after
// PLAN: rank 2:
// PLAN: parameter w 16x16xf32 at parameters+0 trained, owner, gradient at gradients+0
// PLAN: COLLECTIVE all-gather 0  gradients+0 (1,024)
// PLAN: UPDATE tied0_UPDATE

// CLIP: rank 0:
// CLIP: parameter w 16x16xf32 at parameters+0 trained, gradient at gradients+0
// CLIP: subprogram tied0_SUM
// CLIP: contiguous  sum w#0+0:16x16xf32  ->  gradients+0:16x16xf32
// CLIP: subprogram tied0_UPDATE
// CLIP: sgd  parameters+0:16x16xf32  gradients+0:16x16xf32
// CLIP: COLLECTIVE all-gather 0  slots+[[SUM:[0-9]+]] (1,024)
// CLIP: SUM    tied0_SUM  sum w#0 slots+[[SUM]]  after
// CLIP: CLIP   CLIP
// CLIP: UPDATE tied0_UPDATE
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4x16xf32> {zb.input = "x"}, %w: tensor<16x16xf32> {zb.param = "w"}, %v: tensor<16x16xf32> {zb.param = "v"})
      -> (tensor<f32> {zb.loss}) {
    %d = "zb.detach"(%w) : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %a = "zb.matmul"(%x, %d) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32> loc("a")
    %b = "zb.matmul"(%a, %v) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32> loc("b")
    %c = "zb.matmul"(%b, %w) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %s = "zb.mul"(%c, %c) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %loss = "zb.reduce_mean"(%s) {axes = array<i64: 0, 1>} : (tensor<4x16xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
