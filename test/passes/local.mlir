// zb-shard takes the borders of regions out (zb.to_local, zb.from_local), and brings their values where they are stated.
// RUN: zb-opt --zb-shard=tensor-parallel=2 --split-input-file %s | FileCheck %s
// RUN: not zb-opt --zb-autodiff --split-input-file %s 2>&1 | FileCheck %s --check-prefix=ALONE

// A part of the batch, computed alone; what all read beside it is shared, so that its gradient is one sum.
// CHECK-LABEL: @part
// CHECK: %[[AT:.*]] = "zb.coordinate"()
// CHECK: %[[PART:.*]] = "zb.gather"(%arg0, %{{.*}}) {axis = 0 : i64} : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<2x6xf32>
// CHECK: %[[W:.*]] = "zb.shared"(%arg1)
// CHECK-NEXT: %[[Y:.*]] = "zb.matmul"(%[[PART]], %[[W]]) : (tensor<2x6xf32>, tensor<6x3xf32>) -> tensor<2x3xf32>
// CHECK-NOT: _local
// CHECK: %[[SUM:.*]] = "zb.reduce_sum"(%[[Y]])
// CHECK: %[[ALL:.*]] = "zb.all_reduce"(%[[SUM]])
// CHECK: return %[[ALL]]
// ALONE: error: the border of a region of shards, and the program has no shards
// ALONE: hint: compile it with --tensor-parallel 2
func.func @part(%x: tensor<4x6xf32> {zb.input = "x"}, %w: tensor<6x3xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
  %a = "zb.to_local"(%x) {members = 2 : i64, placement = "S(0)", reshard = true} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %b = "zb.matmul"(%a, %w) : (tensor<2x6xf32>, tensor<6x3xf32>) -> tensor<2x3xf32>
  %c = "zb.reduce_sum"(%b) {axes = array<i64>} : (tensor<2x3xf32>) -> tensor<f32>
  %d = "zb.from_local"(%c) {members = 2 : i64, placement = "P"} : (tensor<f32>) -> tensor<f32>
  return %d : tensor<f32>
}

// -----

// A weight of which the region takes rows is cut so; parts of a sum leave.
// CHECK-LABEL: @weight
// CHECK-SAME: tensor<3x5xf32> {zb.param = "w", zb.shard = "0:6"}
// CHECK: %[[Y:.*]] = "zb.matmul"(%{{.*}}, %arg1) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: %[[S:.*]] = "zb.all_reduce"(%[[Y]])
// CHECK-NEXT: "zb.tanh"(%[[S]])
func.func @weight(%x: tensor<4x6xf32> {zb.input = "x"}, %w: tensor<6x5xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
  %a = "zb.to_local"(%x) {members = 2 : i64, placement = "S(1)", reshard = true} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %b = "zb.to_local"(%w) {members = 2 : i64, shape = array<i64: 3, 5>} : (tensor<6x5xf32>) -> tensor<3x5xf32>
  %c = "zb.matmul"(%a, %b) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %d = "zb.from_local"(%c) {members = 2 : i64, placement = "P"} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %e = "zb.tanh"(%d) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %l = "zb.reduce_sum"(%e) {axes = array<i64>} : (tensor<4x5xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// What every shard has, as parts of a sum: the first has it.
// CHECK-LABEL: @first
// CHECK: %[[IS:.*]] = "zb.equal"
// CHECK: %[[ONE:.*]] = "zb.reshape"(%[[IS]])
// CHECK: %[[P:.*]] = "zb.where"(%[[ONE]], %{{.*}}, %{{.*}})
// CHECK-NEXT: "zb.cos"(%[[P]])
// CHECK-NEXT: "zb.all_reduce"
func.func @first(%x: tensor<4xf32> {zb.input = "x"}) -> (tensor<4xf32> {zb.loss}) {
  %a = "zb.to_local"(%x) {members = 2 : i64, placement = "P", reshard = true} : (tensor<4xf32>) -> tensor<4xf32>
  %b = "zb.cos"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = "zb.from_local"(%b) {members = 2 : i64, placement = "P"} : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
