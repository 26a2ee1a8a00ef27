// Buffers: a running mean, which an evaluation takes in place of that of the batch, and one that the backward pass reads
// too. On two stages, with a cut where the buffers do not forbid it.
// RUN: zb-opt --zb-autodiff=optimizer=sgd:lr=0.1 --zb-split-grad --zb-layout --zb-partition=ranks=2 --zb-classify --zb-outline %s > %t.outlined
// RUN: FileCheck %s < %t.outlined
// RUN: zb-opt --zb-memory %t.outlined | FileCheck %s --check-prefix=MEMORY
// RUN: zb-opt --zb-memory --zb-schedule=micro-batches=3 --zb-insert-comm --zb-allocate --zb-verify-plan %t.outlined | FileCheck %s --check-prefix=MAIN
// RUN: not zb-opt --zb-autodiff=optimizer=sgd:lr=0.1 --zb-split-grad --zb-layout '--zb-partition=ranks=2,cuts="#1"' %s 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: not zb-opt --zb-autodiff=optimizer=sgd:lr=0.1 --zb-split-grad --zb-layout --zb-partition=ranks=12 %s 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: zbc %s -o %t.replicas --ranks 2 --micro-batches 2 --data-parallel 3
// RUN: zb-run %t.replicas --print-plan | FileCheck %s --check-prefix=REPLICAS
// RUN: zbc %s -o %t.late --ranks 2 --micro-batches 2 --data-parallel 3 --clip-norm 1 --post-validation
// RUN: zb-run %t.late --print-plan | FileCheck %s --check-prefix=LATE

// The mean of the batch alone is in the step; new values are copies at the end, made when nobody reads the old ones any
// more. W and B get a copy of the factor as F had it.
// CHECK: module @rank0
// CHECK: func.func private @s0_F(%[[FACTOR:arg[0-9]]]: tensor<8xf32> {zb.buffer = "factor"}, %{{.*}}: tensor<8xf32> {zb.param = "w"}, %{{.*}}: tensor<4x8xf32> {zb.input = "x", zb.value = 0 : i64}, %[[MEAN:arg[0-9]]]: tensor<8xf32> {zb.buffer = "mean"}) -> (tensor<4x8xf32> {zb.value = {{[0-9]+}} : i64}, tensor<8xf32> {zb.value = [[ID:[0-9]+]] : i64}, tensor<8xf32> {zb.buffer = "mean"}, tensor<8xf32> {zb.buffer = "factor"})
// CHECK-NOT: zb.by_mode
// CHECK: "zb.reduce_mean"
// CHECK: %[[HALF:.*]] = "zb.mul"(%[[MEAN]], %{{.*}})
// CHECK: %[[NEXT:.*]] = "zb.add"(%[[HALF]],
// CHECK: %[[OLD:.*]] = "zb.contiguous"(%[[FACTOR]]) {zb.class = "F", zb.stage = 0 : i64}
// CHECK: %[[NEW_MEAN:.*]] = "zb.contiguous"(%[[NEXT]])
// CHECK: %[[NEW_FACTOR:.*]] = "zb.contiguous"
// CHECK: return %{{.*}}, %[[OLD]], %[[NEW_MEAN]], %[[NEW_FACTOR]] :
// CHECK: func.func private @s0_W({{.*}}tensor<8xf32> {zb.value = [[ID]] : i64}
// CHECK-NOT: zb.buffer
// CHECK: func.func private @s0_E(
// CHECK-SAME: tensor<8xf32> {zb.buffer = "mean"}
// CHECK-NOT: zb.reduce_mean
// CHECK: module @rank1
// CHECK-NOT: zb.buffer

// Buffers have a frame of their own, which F reads and writes.
// MEMORY: module @rank0 attributes {zb.buffers = [{offset = 0 : i64, type = tensor<8xf32>, zb.buffer = "mean"}, {offset = 64 : i64, type = tensor<8xf32>, zb.buffer = "factor"}]
// MEMORY: func.func private @s0_F(%{{.*}}: !zb.frame<"parameters", 64 : i64> {zb.frame = "parameters"}, %[[B:arg[0-9]]]: !zb.frame<"buffers", 128 : i64> {zb.frame = "buffers"}, {{.*}} -> (!zb.frame<"buffers", 128 : i64> {zb.frame = "buffers"},
// MEMORY: "zb.get"(%[[B]]) {offset = 0 : i64}
// MEMORY: "zb.put"(%[[B]], %{{.*}}) {offset = 0 : i64}
// MEMORY: func.func private @s0_E(%{{.*}}, %{{.*}}: !zb.frame<"buffers", 128 : i64> {zb.frame = "buffers"}
// MEMORY: module @rank1
// MEMORY-NOT: "buffers"

// Each F of the stage takes the frame from the one before it; the last one's is a result of the step.
// MAIN: func.func @main({{.*}}%[[B0:arg[0-9]]]: !zb.frame<"buffers", 128 : i64>
// MAIN: %[[F0:[0-9]+]]:{{[0-9]+}} = call @s0_F({{.*}}%[[B0]]{{.*}}) {zb.micro_batch = 0 : i64}
// MAIN: %[[F1:[0-9]+]]:{{[0-9]+}} = call @s0_F({{.*}}%[[F0]]#0{{.*}}) {zb.micro_batch = 1 : i64}
// MAIN: %[[F2:[0-9]+]]:{{[0-9]+}} = call @s0_F({{.*}}%[[F1]]#0{{.*}}) {zb.micro_batch = 2 : i64}
// MAIN: return {{.*}}%[[F2]]#0
// MAIN: func.func @evaluate({{.*}}!zb.frame<"buffers", 128 : i64>
// MAIN: return{{$}}

// Behind the last F of a step replica 0 gives its buffers to the other replicas.
// REPLICAS: collective {{[0-9]+}} all-gather U of the replicas of rank 0{{.*}}: 32 + 32 bytes
// REPLICAS: F      s0_F micro-batch 1
// REPLICAS: COLLECTIVE all-gather {{[0-9]+}}  buffers+0 (32)  buffers+64 (32)
// REPLICAS: UPDATE

// With post-validation they have come before they are kept.
// LATE: [[AT:[0-9]+]]  COLLECTIVE all-gather {{[0-9]+}}  buffers+0 (32)  buffers+64 (32)
// LATE: SNAPSHOT  parameters+0 (64)  buffers+0 (128)  state+0 (128)  after [[AT]]
// LATE-NEXT: CLIP

// CUT: cannot cut after '#1': the buffer 'factor' is read or updated on both sides, and one stage has it
// CUT: hint: cut before the first op that uses it, or behind the last
// MANY: cannot cut 4 forward ops into 12 virtual stages (12 ranks x 1 chunks), where ops that share a buffer count as one

module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8xf32> {zb.param = "w"}, %v: tensor<8xf32> {zb.param = "v"}, %mean: tensor<8xf32> {zb.buffer = "mean"}, %factor: tensor<8xf32> {zb.buffer = "factor"}) -> (tensor<f32> {zb.loss}, tensor<8xf32> {zb.buffer = "mean"}, tensor<8xf32> {zb.buffer = "factor"}) {
    %half = "zb.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    %scaled = "zb.mul"(%factor, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %0 = "zb.mul"(%x, %scaled) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %1 = "zb.reduce_mean"(%0) {axes = array<i64: 0>, keepdims = false} : (tensor<4x8xf32>) -> tensor<8xf32>
    %2 = "zb.by_mode"(%1, %mean) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %3 = "zb.sub"(%0, %2) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %4 = "zb.mul"(%mean, %half) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = "zb.mul"(%1, %half) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %6 = "zb.add"(%4, %5) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %7 = "zb.add"(%factor, %half) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %8 = "zb.mul"(%3, %v) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %9 = "zb.mul"(%8, %8) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %10 = "zb.reduce_mean"(%9) {axes = array<i64>, keepdims = false} : (tensor<4x8xf32>) -> tensor<f32>
    return %10, %6, %7 : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  }
}
