// Clipping where replicas have parts of gradients: SUM and NORM work on parts, of 40 elements 16 for each of three
// replicas, and the number of a gradient is that of a part. The numbers of each rank are summed over its replicas, then
// gathered.
// RUN: zb-opt --zb-shard-optimizer=sharding=gradients:step --split-input-file %s | FileCheck %s
// RUN: zb-opt --zb-shard-optimizer=sharding=optimizer %s | FileCheck %s --check-prefix=WHOLE
// RUN: zbc %S/gathered.mlir -o %t --ranks 4 --cuts a,b,c --micro-batches 2 --schedule 1f1b --optimizer sgd:lr=0.1 --clip-norm 0.5 --clip-norm-type inf --data-parallel 3 --sharding gradients:step --dump-ir %t.dump
// RUN: cat %t.dump/*zb-insert-comm.mlir | FileCheck %s --check-prefix=MAIN
// RUN: zb-run %t --print-plan | FileCheck %s --check-prefix=PLAN

// CHECK: zb.sharding = "gradients:step"
// CHECK-NOT: zb.whole_sums
// CHECK: func.func private @tied0_SUM(%[[A:[a-z0-9]+]]: tensor<16xf32> {zb.sum = "w", zb.use = 0 : i64}, %[[B:[a-z0-9]+]]: tensor<16xf32> {zb.sum = "w", zb.use = 1 : i64}) -> (tensor<16xf32> {zb.sum = "w", zb.use = 1 : i64})
// CHECK: "zb.add"(%[[B]], %[[A]]) {{.*}} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
// CHECK: func.func private @s0_NORM(%[[G:[a-z0-9]+]]: tensor<16xf32> {zb.sum = "v", zb.use = 0 : i64}) -> (tensor<f64> {zb.norm = 8 : i64})
// CHECK: %[[Q:.*]] = "zb.square_sum"(%[[G]]) {{.*}} : (tensor<16xf32>) -> tensor<f64>
// CHECK: return %[[Q]] : tensor<f64>
// CHECK: func.func private @CLIP(%{{.*}}: tensor<2xf64> {zb.norm = 0 : i64}

// WHOLE: zb.whole_sums
// WHOLE: @tied0_SUM({{.*}}: tensor<8x5xf32>
// WHOLE: @s0_NORM({{.*}}: tensor<8x5xf32>

// Two ranks have numbers: the owner of the tied parameter, and that of the other one. All four get both.
// MAIN: zb.members = array<i64: {{.*}}[[S0:[0-9]+]], 0, 1, 0, 0, {{[0-9]+}}, [[S1:[0-9]+]], 1, 1, 0, 0, {{[0-9]+}}, [[N:[0-9]+]], 0, 1, 0, 0, {{[0-9]+}}, [[N]], 1, 1, 0, 0, {{[0-9]+}}, [[N]], 2, 0, 0, 0, -1,
// MAIN: zb.parts = array<i64: {{.*}}0, 8, -1, -1, 8, 8, -1, -1, 0, 8, -1, -1, 8, 8, -1, -1,
// MAIN-LABEL: module @rank0
// MAIN: %[[N1:.*]]:2 = call @tied0_NORM(
// MAIN: %[[SUM:.*]]:2 = "zb.reduce_frame"(%[[N1]]#{{[01]}}) : (!zb.frame<"norms", 16 : i64>) -> (!zb.frame<"norms", 16 : i64>, tensor<24xf64>)
// MAIN: %[[ALL:.*]] = "zb.gather_frame"(%[[SUM]]#0)
// MAIN: call @CLIP({{.*}}%[[ALL]]
// MAIN-LABEL: module @rank2
// MAIN-NOT: "zb.reduce_frame"(%{{.*}}) : (!zb.frame<"norms"
// MAIN-LABEL: module @rank3

// PLAN: collective [[A:[0-9]+]] all-reduce N of the replicas of rank 0 before message #{{[0-9]+}}, the greatest: 8 bytes
// PLAN: collective [[B:[0-9]+]] all-reduce N of the replicas of rank 1 before message #{{[0-9]+}}, the greatest: 8 bytes
// PLAN: collective [[C:[0-9]+]] all-gather N of ranks 0, 1, 2, 3 before message #{{[0-9]+}}: 8, 8, 0, 0 bytes
// PLAN: NORM   tied0_NORM  norms slots+[[F:[0-9]+]]
// PLAN: COLLECTIVE all-reduce [[A]]  slots+[[F]] (8)  slots+{{[0-9]+}} (192)
// PLAN: COLLECTIVE all-gather [[C]]  slots+[[F]] (8)
// PLAN: CLIP   CLIP  norms slots+[[F]]
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 3 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @tied0_SUM(%a: tensor<8x5xf32> {zb.sum = "w", zb.use = 0 : i64}, %b: tensor<8x5xf32> {zb.sum = "w", zb.use = 1 : i64}) -> (tensor<8x5xf32> {zb.sum = "w", zb.use = 1 : i64}) attributes {zb.class = "SUM", zb.stage = -1 : i64} {
      %0 = "zb.add"(%b, %a) {zb.class = "SUM", zb.stage = -1 : i64} : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
      return %0 : tensor<8x5xf32>
    }
    func.func private @s0_NORM(%g: tensor<8x5xf32> {zb.sum = "v", zb.use = 0 : i64}) -> (tensor<f64> {zb.norm = 8 : i64}) attributes {zb.class = "NORM", zb.stage = 0 : i64} {
      %0 = "zb.square_sum"(%g) {scale = 5.0e-1 : f64, zb.class = "NORM", zb.stage = 0 : i64} : (tensor<8x5xf32>) -> tensor<f64>
      return %0 : tensor<f64>
    }
    func.func private @CLIP(%parts: tensor<2xf64> {zb.norm = 0 : i64}, %step: tensor<i64> {zb.step}, %most: tensor<1xf64> {zb.defaults = array<f64: 5.0e-01>, zb.own = 0 : i64, zb.setting = "max_norm"}) -> (tensor<2xf64> {zb.value = 3 : i64}) attributes {zb.class = "CLIP", zb.stage = -1 : i64} {
      %0:2 = "zb.clip_scale"(%parts, %step, %most) {zb.class = "CLIP", zb.stage = -1 : i64} : (tensor<2xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
      return %0#0 : tensor<2xf64>
    }
  }
}
