// zb-norm-sums: with post-validation the first three numbers of the norm, which are of parts of shards, are summed over
// shards by the rank that has them, those side by side at once: 0, and 2, on this rank; 1 comes from another one. CLIP
// takes them as they are. Without post-validation CLIP sums them.
// RUN: zb-opt --zb-norm-sums --split-input-file %s | FileCheck %s
// RUN: zbc %S/Inputs/shards.mlir -o %t --ranks 2 --micro-batches 2 --schedule 1f1b --tensor-parallel 2 --optimizer sgd:lr=0.1 --clip-norm 0.5 --clip-norm-type inf --post-validation
// RUN: zb-run %t --print-plan | FileCheck %s --check-prefix=PLAN

// CHECK-LABEL: module @rank0
// CHECK: func.func private @CLIP(%[[Q:[a-z0-9]+]]: tensor<3xf64> {zb.norm = 0 : i64}, %[[R:[a-z0-9]+]]: tensor<1xf64> {zb.norm = 24 : i64}
// CHECK-NEXT: %[[ALL:.*]] = "zb.concat"(%[[Q]], %[[R]])
// CHECK-NEXT: "zb.clip_scale"(%[[ALL]],
// CHECK: func.func private @NORM0(%[[A:[a-z0-9]+]]: tensor<1xf64> {zb.norm = 0 : i64}) -> (tensor<1xf64> {zb.norm = 0 : i64}) attributes {zb.class = "NORM", zb.stage = -1 : i64}
// CHECK-NEXT: %[[S:.*]] = "zb.all_reduce"(%[[A]]) {members = 2 : i64, reduction = "sum", zb.class = "NORM"{{.*}} : (tensor<1xf64>) -> tensor<1xf64>
// CHECK-NEXT: return %[[S]]
// CHECK: func.func private @NORM2(%{{.*}}: tensor<1xf64> {zb.norm = 16 : i64}) -> (tensor<1xf64> {zb.norm = 16 : i64})
// CHECK-NOT: @NORM

// CHECK-LABEL: module @rank0
// CHECK: func.func private @CLIP
// CHECK-NEXT: "zb.all_reduce"
// CHECK-NOT: @NORM

// Numbers are summed, then they go to the other rank, and CLIP, which runs at the verdict, waits for nothing else.
// PLAN: subprogram CLIP: CLIP
// PLAN: concat norms+0:4xf64 norms+32:1xf64 -> workspace+0:5xf64
// PLAN: subprogram NORM0: NORM
// PLAN: all_reduce norms+0:4xf64 -> norms+0:4xf64 {members = 2, reduction = "max"}
// PLAN: VERDICT
// PLAN: NORM   NORM0  norms slots+[[F:[0-9]+]]
// PLAN-NEXT: COLLECTIVE all-gather {{[0-9]+}}  slots+[[F]]
// PLAN-NEXT: SNAPSHOT
// PLAN-NEXT: CLIP
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.post_validation, zb.ranks = 1 : i64, zb.shards = 2 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @s0_NORM(%g: tensor<4xf32> {zb.sum = "u", zb.use = 0 : i64}, %h: tensor<4xf32> {zb.sum = "v", zb.use = 0 : i64}, %i: tensor<4xf32> {zb.sum = "w", zb.use = 0 : i64}) -> (tensor<f64> {zb.norm = 0 : i64}, tensor<f64> {zb.norm = 16 : i64}, tensor<f64> {zb.norm = 24 : i64}) attributes {zb.class = "NORM", zb.stage = 0 : i64} {
      %0 = "zb.square_sum"(%g) {zb.class = "NORM", zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<f64>
      %1 = "zb.square_sum"(%h) {zb.class = "NORM", zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<f64>
      %2 = "zb.square_sum"(%i) {zb.class = "NORM", zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<f64>
      return %0, %1, %2 : tensor<f64>, tensor<f64>, tensor<f64>
    }
    func.func private @CLIP(%q: tensor<3xf64> {zb.norm = 0 : i64}, %r: tensor<1xf64> {zb.norm = 24 : i64}, %step: tensor<i64> {zb.step}, %most: tensor<1xf64> {zb.defaults = array<f64: 5.0e-01>, zb.own = 0 : i64, zb.setting = "max_norm"}) -> (tensor<2xf64> {zb.value = 3 : i64}) attributes {zb.class = "CLIP", zb.stage = -1 : i64} {
      %0 = "zb.all_reduce"(%q) {members = 2 : i64, reduction = "sum", zb.class = "CLIP", zb.stage = -1 : i64} : (tensor<3xf64>) -> tensor<3xf64>
      %1 = "zb.concat"(%0, %r) {axis = 0 : i64, zb.class = "CLIP", zb.stage = -1 : i64} : (tensor<3xf64>, tensor<1xf64>) -> tensor<4xf64>
      %2:2 = "zb.clip_scale"(%1, %step, %most) {zb.class = "CLIP", zb.stage = -1 : i64} : (tensor<4xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
      return %2#0 : tensor<2xf64>
    }
  }
}

// -----

module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.shards = 2 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @CLIP(%q: tensor<1xf64> {zb.norm = 0 : i64}, %step: tensor<i64> {zb.step}, %most: tensor<1xf64> {zb.defaults = array<f64: 5.0e-01>, zb.own = 0 : i64, zb.setting = "max_norm"}) -> (tensor<2xf64> {zb.value = 3 : i64}) attributes {zb.class = "CLIP", zb.stage = -1 : i64} {
      %0 = "zb.all_reduce"(%q) {members = 2 : i64, reduction = "sum", zb.class = "CLIP", zb.stage = -1 : i64} : (tensor<1xf64>) -> tensor<1xf64>
      %2:2 = "zb.clip_scale"(%0, %step, %most) {zb.class = "CLIP", zb.stage = -1 : i64} : (tensor<1xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
      return %2#0 : tensor<2xf64>
    }
  }
}
