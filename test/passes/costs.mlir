// Measured costs: the cut goes where the measured times are even, functions take the sum of their ops, and the module keeps the link.
// RUN: zb-opt --zb-partition='ranks=2,micro-batches=4,costs=%S/Inputs/costs.json' %S/partition.mlir | FileCheck %s --check-prefix=CUT
// RUN: zb-opt --pass-pipeline='builtin.module(zb-partition{ranks=2,costs=%S/Inputs/costs.json},zb-classify,zb-outline,zb-memory{costs=%S/Inputs/costs.json})' %S/partition.mlir | FileCheck %s --check-prefix=TIME
// RUN: not zb-opt --zb-partition='ranks=2,costs=%S/Inputs/none.json' %S/partition.mlir 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: not zb-opt --zb-partition='ranks=2,costs=%s' %S/partition.mlir 2>&1 | FileCheck %s --check-prefix=FOREIGN
// RUN: not zb-opt --zb-partition='ranks=2,costs=%S/Inputs/costs.json' %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not zb-opt --zb-partition='ranks=2,micro-batches=0' %S/partition.mlir 2>&1 | FileCheck %s --check-prefix=COUNT

// By the model the matmuls weigh the same and the cut is between them (partition.mlir); measured, the loss takes nearly all.
// CUT: "zb.matmul"{{.*}}zb.id = 0 : i64, zb.stage = 0
// CUT: "zb.relu"{{.*}}zb.id = 1 : i64, zb.stage = 0
// CUT: "zb.matmul"{{.*}}zb.id = 2 : i64, zb.stage = 0
// CUT: "zb.cross_entropy"{{.*}}zb.id = 3 : i64, zb.stage = 1

// Latency, ps per 2^20 bytes, copies, wake, job, read, step.
// TIME: zb.costs = array<i64: 100, 524288, 1, 20, 10, 50, 400, 209715200>
// TIME: zb.class = "F", {{.*}}zb.stage = 0 : i64, zb.time_ps = 3000
// TIME: zb.class = "F", {{.*}}zb.stage = 1 : i64, zb.time_ps = 90000

// NOFILE: none.json
// FOREIGN: costs.mlir:1:1: not JSON: '[' or '{' expected near
// FOREIGN: hint: a file of costs is JSON
// OTHER: knows 0 of the 2 ops of this program: it was measured on 'net.onnx', another model or other shapes
// OTHER: hint: compile without --costs
// COUNT: expected 1 or more micro-batches, got '0'

module attributes {zb.level = "split"} {
  func.func @other(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x8xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = "zb.reduce_sum"(%0) {axes = array<i64>, keepdims = false} : (tensor<4x8xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
