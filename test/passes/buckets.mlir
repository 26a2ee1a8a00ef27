// Buckets: the accumulators of a stage in the order in which W completes them, each bucket closed once it has so many
// bytes. All are posted behind the last W, and name how long before its end they are complete.
// RUN: zbc %s -o %t --ranks 1 --micro-batches 2 --data-parallel 2 --bucket-bytes 1500 --schedule 1f1b --optimizer sgd:lr=0.1 --dump-ir %t.dump
// RUN: cat %t.dump/*zb-insert-comm.mlir | FileCheck %s
// RUN: zb-run %t --print-plan | FileCheck --check-prefix=PLAN %s
// RUN: not zb-opt --zb-autodiff='replicas=2,bucket-bytes=x' %s 2>&1 | FileCheck --check-prefix=NONE %s

// NONE: error: bucket-bytes

// CHECK: zb.bucket_bytes = 1500 : i64
// CHECK: call @s0_W
// CHECK: call @s0_W
// CHECK-NEXT: %[[A:.*]]:2 = "zb.reduce_frame"(%{{.*}}) : (!zb.frame<"gradients", 3072 : i64>) -> (!zb.frame<"gradients", 3072 : i64>, tensor<{{.*}}xf32>)
// CHECK-NEXT: %[[B:.*]]:2 = "zb.reduce_frame"(%[[A]]#0)
// CHECK-NEXT: call @s0_UPDATE

// PLAN: collective 0 all-reduce G of the replicas of rank 0 before message #0, {{[1-9][0-9]*}} ps before the end of W: 1024 + 1024 bytes
// PLAN: collective 1 all-reduce G of the replicas of rank 0 before message #0: 1024 bytes
// PLAN: W {{.*}}micro-batch 1
// PLAN-NEXT: COLLECTIVE all-reduce 0
// PLAN-NEXT: COLLECTIVE all-reduce 1
// PLAN-NEXT: UPDATE {{.*}}after
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4x16xf32> {zb.input = "x"}, %y: tensor<4xi64> {zb.input = "y"}, %u: tensor<16x16xf32> {zb.param = "u"}, %v: tensor<16x16xf32> {zb.param = "v"}, %w: tensor<16x16xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
    %a = "zb.matmul"(%x, %u) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %b = "zb.tanh"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %c = "zb.matmul"(%b, %v) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %d = "zb.tanh"(%c) : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("d")
    %z = "zb.matmul"(%d, %w) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {reduction = "mean"} : (tensor<4x16xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}
