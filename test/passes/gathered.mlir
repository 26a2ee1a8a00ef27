// A parameter that three of four ranks update, one of them with two uses: each gives its accumulators to the others, and all add them
// from the last use to the first.
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2' --zb-split-grad --zb-dce --zb-layout --zb-partition='ranks=4,cuts="a,b,c"' --zb-classify --zb-outline --zb-memory --zb-schedule=micro-batches=2 --zb-insert-comm --zb-allocate --zb-verify-plan %s | FileCheck %s
// RUN: zbc %s -o %t --ranks 4 --cuts a,b,c --micro-batches 2 --schedule 1f1b --optimizer sgd:lr=0.1
// RUN: zb-run %t --print-plan | FileCheck --check-prefix=PLAN %s

// CHECK: zb.members = array<i64: 12, 0, 1, 1024, 0, -1, 12, 2, 2, 1024, 0, -1, 12, 3, 1, 1024, 0, -1>
// CHECK-LABEL: module @rank0
// CHECK: func.func private @tied0_UPDATE({{.*}}, %[[U1:[a-z0-9]+]]: tensor<16x16xf32> {zb.sum = "wte", zb.use = 1 : i64}, %[[U2:[a-z0-9]+]]: tensor<16x16xf32> {zb.sum = "wte", zb.use = 2 : i64}, %[[U3:[a-z0-9]+]]: tensor<16x16xf32> {zb.sum = "wte", zb.use = 3 : i64}
// CHECK: %[[A:.*]] = "zb.add"(%[[U3]], %[[U2]])
// CHECK: %[[B:.*]] = "zb.add"(%[[A]], %[[U1]])
// CHECK: "zb.add"(%[[B]],
// CHECK: func.func @main(
// CHECK: %[[OWN:.*]] = "zb.get"
// CHECK-NEXT: %[[R:.*]]:3 = "zb.all_gather"(%[[OWN]]) {counts = array<i64: 1, 2, 1>, members = array<i64: 0, 2, 3>, place = 0 : i64}
// CHECK: call @tied0_UPDATE({{.*}}%[[R]]#1, %[[R]]#0, %[[R]]#2)
// CHECK-LABEL: module @rank1
// CHECK-NOT: "zb.all_gather"
// CHECK-LABEL: module @rank2
// CHECK: %[[R:.*]]:2 = "zb.all_gather"(%{{.*}}, %{{.*}}) {counts = array<i64: 1, 2, 1>, members = array<i64: 0, 2, 3>, place = 1 : i64}
// CHECK: call @tied0_UPDATE({{.*}}%[[R]]#0, %[[R]]#1)
// CHECK-LABEL: module @rank3
// CHECK: "zb.all_gather"(%{{.*}}) {counts = array<i64: 1, 2, 1>, members = array<i64: 0, 2, 3>, place = 2 : i64}

// A job has the homes of all parts, in the order of members: its own are sums of gradients, those of others come into the slots.
// PLAN: collective 0 all-gather G of ranks 0, 2, 3 before message #12: 1024, 1024 + 1024, 1024 bytes
// PLAN: rank 0:
// PLAN: COLLECTIVE all-gather 0  gradients+0 (1,024)  slots+[[A:[0-9]+]] (1,024)  slots+[[B:[0-9]+]] (1,024)  slots+[[C:[0-9]+]] (1,024)
// PLAN: tied0_UPDATE  sum wte#1 slots+[[B]]  sum wte#2 slots+[[A]]  sum wte#3 slots+[[C]]  after
// PLAN: rank 2:
// PLAN: COLLECTIVE all-gather 0  slots+{{[0-9]+}} (1,024)  gradients+{{[0-9]+}} (1,024)  gradients+{{[0-9]+}} (1,024)  slots+{{[0-9]+}} (1,024)
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<1x4xi64> {zb.input = "x"}, %y: tensor<1x4xi64> {zb.input = "y"}, %wte: tensor<16x16xf32> {zb.param = "wte"}, %u: tensor<16x16xf32> {zb.param = "u"}) -> (tensor<f32> {zb.loss}) {
    %h = "zb.gather"(%wte, %x) {axis = 0 : i64} : (tensor<16x16xf32>, tensor<1x4xi64>) -> tensor<1x4x16xf32>
    %a = "zb.tanh"(%h) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("a")
    %b = "zb.matmul"(%a, %u) : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %c = "zb.tanh"(%b) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("b")
    %d = "zb.matmul"(%c, %wte) {transpose_rhs = true} : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %e = "zb.matmul"(%d, %wte) : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %f = "zb.tanh"(%e) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("c")
    %z = "zb.matmul"(%f, %wte) {transpose_rhs = true} : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {reduction = "mean"} : (tensor<1x4x16xf32>, tensor<1x4xi64>) -> (tensor<f32>, tensor<1x4xf32>)
    return %loss : tensor<f32>
  }
}
