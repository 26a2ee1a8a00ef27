// zb-shard-optimizer: the loss of a step and its weight are a sum of two elements, which replica 0 has in its part of 16.
// NORM makes numbers of the part, of which the first two are put among those of the norm; of other replicas they are 0.
// RUN: zb-opt --zb-shard-optimizer=sharding=gradients:step --split-input-file --verify-diagnostics %s
// RUN: not zb-opt --zb-shard-optimizer=sharding=gradients:step --split-input-file %s 2>/dev/null | FileCheck %s

// CHECK-LABEL: module @rank0
// CHECK: func.func private @s0_NORM(%[[G:[a-z0-9]+]]: tensor<32xf32> {zb.sum = "w", zb.use = 0 : i64}, %[[P:[a-z0-9]+]]: tensor<16xf32> {zb.sum = "zb.weighted_loss", zb.use = 0 : i64}) -> (tensor<f64> {zb.norm = 0 : i64}, tensor<2xf64> {zb.norm = 8 : i64})
// CHECK: %[[SQUARE:.*]] = "zb.square_sum"(%[[G]]) {{.*}} -> tensor<f64>
// CHECK: %[[CAST:.*]] = "zb.cast"(%[[P]]) {dtype = "f64", {{.*}} : (tensor<16xf32>) -> tensor<16xf64>
// CHECK: %[[FIRST:.*]] = "zb.slice"(%[[CAST]]) {sizes = array<i64: 2>, starts = array<i64: 0>, steps = array<i64: 1>, zb.class = "NORM"} : (tensor<16xf64>) -> tensor<2xf64>
// CHECK: %[[PAIR:.*]] = "zb.contiguous"(%[[FIRST]]) {zb.class = "NORM"} : (tensor<2xf64>) -> tensor<2xf64>
// CHECK: return %[[SQUARE]], %[[PAIR]]
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 2 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @s0_NORM(%g: tensor<8x5xf32> {zb.sum = "w", zb.use = 0 : i64}, %p: tensor<2xf32> {zb.sum = "zb.weighted_loss", zb.use = 0 : i64}) -> (tensor<f64> {zb.norm = 0 : i64}, tensor<2xf64> {zb.norm = 8 : i64}) attributes {zb.class = "NORM", zb.stage = 0 : i64} {
      %0 = "zb.square_sum"(%g) {zb.class = "NORM", zb.stage = 0 : i64} : (tensor<8x5xf32>) -> tensor<f64>
      %1 = "zb.cast"(%p) {dtype = "f64", zb.class = "NORM", zb.stage = 0 : i64} : (tensor<2xf32>) -> tensor<2xf64>
      return %0, %1 : tensor<f64>, tensor<2xf64>
    }
  }
}

// -----

// Of 33 numbers no replica has all.
// expected-error@+1 {{numbers of the norm are no vector that one replica has}}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 2 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @s0_NORM(%p: tensor<33xf32> {zb.sum = "zb.weighted_loss", zb.use = 0 : i64}) -> (tensor<33xf64> {zb.norm = 0 : i64}) attributes {zb.class = "NORM", zb.stage = 0 : i64} {
      %0 = "zb.cast"(%p) {dtype = "f64", zb.class = "NORM", zb.stage = 0 : i64} : (tensor<33xf32>) -> tensor<33xf64>
      return %0 : tensor<33xf64>
    }
  }
}
