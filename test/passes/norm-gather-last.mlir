// Numbers of the norm are gathered behind their sums over replicas, also where a rank that trains nothing, and so gives none, ends last: here the
// last one, whose W is said to take a second.
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2,replicas=2,clip-norm=1' --zb-split-grad --zb-dce --zb-layout \
// RUN:   --zb-partition='ranks=3,cuts="a,b"' --zb-classify --zb-outline --zb-shard-optimizer=sharding=gradients:step --zb-memory \
// RUN:   --zb-schedule=micro-batches=2 %s > %t.scheduled
// RUN: sed -e '/@s2_W/s/zb.time_ps = [0-9]*/zb.time_ps = 1000000000000/' %t.scheduled > %t.late
// RUN: zb-opt --zb-insert-comm --zb-allocate --zb-verify-plan %t.late | FileCheck %s

// CHECK: zb.level = "verified"
// CHECK-LABEL: module @rank0
// CHECK: "zb.reduce_frame"
// CHECK: "zb.gather_frame"
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4x16xf32> {zb.input = "x"}, %w: tensor<16x16xf32> {zb.param = "w"}, %v: tensor<16x16xf32> {zb.param = "v"})
      -> (tensor<f32> {zb.loss}) {
    %a = "zb.matmul"(%x, %w) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32> loc("a")
    %b = "zb.matmul"(%a, %v) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32> loc("b")
    %s = "zb.mul"(%b, %b) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %loss = "zb.reduce_mean"(%s) {axes = array<i64: 0, 1>} : (tensor<4x16xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
