// zb-unroll-shards: parameters, state and settings once a shard, sums in the order of shards, coordinates as numbers.
// RUN: zb-opt --zb-shard=tensor-parallel=3 --zb-autodiff --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout --zb-unroll-shards %s | FileCheck %s

// CHECK-NOT: zb.shards
// CHECK: func.func @unrolled
// CHECK-SAME: %[[V0:[a-z0-9]*]]: tensor<2x4xf32> {zb.param = "v@0"}
// CHECK-SAME: {zb.state = "v@0.exp_avg"}
// CHECK-SAME: zb.setting = "v@0.update"
// CHECK-SAME: %[[V1:[a-z0-9]*]]: tensor<2x4xf32> {zb.param = "v@1"}, %[[V2:[a-z0-9]*]]: tensor<2x4xf32> {zb.param = "v@2"}
// CHECK-SAME: {zb.state = "v@2.exp_avg"}
// CHECK-SAME: {zb.update = "v@0"}
// CHECK-SAME: {zb.update = "v@1"}
// CHECK: %[[P0:.*]] = "zb.matmul"(%{{.*}}, %[[V0]]) {zb.id = [[ID:[0-9]*]]
// CHECK-NEXT: %[[P1:.*]] = "zb.matmul"(%{{.*}}, %[[V1]])
// CHECK-NEXT: %[[P2:.*]] = "zb.matmul"(%{{.*}}, %[[V2]])
// CHECK-NEXT: %[[S:.*]] = "zb.add"(%[[P0]], %[[P1]])
// CHECK-NEXT: "zb.add"(%[[S]], %[[P2]])
// CHECK: "zb.accumulate"{{.*}}parameter = "v@0"{{.*}}zb.of = [[ID]]
// CHECK-NEXT: "zb.accumulate"{{.*}}parameter = "v@1"
func.func @unrolled(%x: tensor<2x4xf32> {zb.input = "x"}, %w: tensor<4x6xf32> {zb.param = "w"}, %v: tensor<6x4xf32> {zb.param = "v"}) -> (tensor<f32> {zb.loss}) {
  %y = "zb.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  %z = "zb.matmul"(%y, %v) : (tensor<2x6xf32>, tensor<6x4xf32>) -> tensor<2x4xf32>
  %q = "zb.mul"(%z, %z) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %l = "zb.reduce_sum"(%q) {axes = array<i64>} : (tensor<2x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
