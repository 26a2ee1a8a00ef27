// Replicas: the mean of the gradients is over all of them, and the accumulators of a rank are summed over its replicas
// before anything else reads them. A tied parameter's holders then gather sums of all replicas.
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2,replicas=4' %s | FileCheck --check-prefix=MEAN %s
// RUN: zbc %s -o %t --ranks 2 --cuts a --micro-batches 2 --data-parallel 4 --schedule 1f1b --optimizer sgd:lr=0.1 --dump-ir %t.dump
// RUN: cat %t.dump/*zb-insert-comm.mlir | FileCheck %s
// RUN: zb-run %t --print-plan | FileCheck --check-prefix=PLAN %s
// RUN: zbc %s -o %t.groups --ranks 2 --cuts a --micro-batches 4 --sum-groups 2 --schedule 1f1b --optimizer sgd:lr=0.1 --dump-ir %t.groups.dump
// RUN: cat %t.groups.dump/*zb-autodiff.mlir | FileCheck --check-prefix=GROUPS %s
// RUN: zb-run %t.groups --print-plan | FileCheck --check-prefix=SUMS %s
// RUN: zbc %s -o %t.inner --ranks 2 --cuts a --micro-batches 6 --sum-groups 2:inner --schedule 1f1b --optimizer sgd:lr=0.1
// RUN: zb-run %t.inner --print-plan | FileCheck --check-prefix=INNER %s
// RUN: not zb-opt --zb-autodiff='micro-batches=4,sum-inner=true' %s 2>&1 | FileCheck --check-prefix=ALONE %s
// RUN: not zb-opt --zb-autodiff='micro-batches=4,sum-groups=3' %s 2>&1 | FileCheck --check-prefix=DIVIDE %s
// RUN: not zb-opt --zb-autodiff=replicas=0 %s 2>&1 | FileCheck --check-prefix=NONE %s

// MEAN: gradient_scale = 1.250000e-01 : f64
// DIVIDE: error: sum-groups: expected a divisor of the 4 micro-batches, got 3
// One pipeline in the place of two replicas: the same mean, and room for the totals of groups.
// GROUPS: zb.sum_groups = 2 : i64
// GROUPS: gradient_scale = 2.500000e-01 : f64
// SUMS: ranks 2, stages 2, chunks 1, micro-batches 4, sums of 2 groups
// SUMS: gradients 4,096
// Of three micro-batches a group each has a total, and one is of all.
// INNER: ranks 2, stages 2, chunks 1, micro-batches 6, sums of 2 groups, inner first
// INNER: gradients 5,120
// ALONE: error: sum-inner: there is one group alone
// NONE: error: replicas: expected a number from 1 to 4096, got '0'

// CHECK: zb.replicas = 4 : i64
// CHECK-LABEL: module @rank0
// CHECK: func.func @main(
// CHECK: call @s0_W
// CHECK: call @s0_W
// CHECK: %[[SUM:.*]]:2 = "zb.reduce_frame"(%{{.*}}) : (!zb.frame<"gradients", 1024 : i64>) -> (!zb.frame<"gradients", 1024 : i64>, tensor<320xf32>)
// CHECK-NEXT: %[[OWN:.*]] = "zb.get"(%[[SUM]]#0)
// CHECK-NEXT: "zb.all_gather"(%[[OWN]])
// CHECK-LABEL: module @rank1

// PLAN: ranks 2, stages 2, chunks 1, micro-batches 2, replicas 4
// PLAN: all-reduce G of the replicas of rank
// PLAN: all-reduce G of the replicas of rank
// PLAN: all-gather G of ranks 0, 1
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<1x4xi64> {zb.input = "x"}, %y: tensor<1x4xi64> {zb.input = "y"}, %wte: tensor<16x16xf32> {zb.param = "wte"}, %u: tensor<16x16xf32> {zb.param = "u"}) -> (tensor<f32> {zb.loss}) {
    %h = "zb.gather"(%wte, %x) {axis = 0 : i64} : (tensor<16x16xf32>, tensor<1x4xi64>) -> tensor<1x4x16xf32>
    %a = "zb.tanh"(%h) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("a")
    %b = "zb.matmul"(%a, %u) : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %c = "zb.tanh"(%b) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("b")
    %z = "zb.matmul"(%c, %wte) {transpose_rhs = true} : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {reduction = "mean"} : (tensor<1x4x16xf32>, tensor<1x4xi64>) -> (tensor<f32>, tensor<1x4xf32>)
    return %loss : tensor<f32>
  }
}
