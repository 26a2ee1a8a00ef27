// zb-shard-optimizer: an UPDATE of parts, of 40 elements 32 for each of two replicas; the bf16 copy is made of the whole
// parameter, behind the gather. What reads or makes no part stays.
// RUN: zb-opt --zb-shard-optimizer=sharding=optimizer --split-input-file %s | FileCheck %s

// CHECK: zb.sharding = "optimizer"
// CHECK-NOT: zb.whole_sums
// CHECK-LABEL: module @rank0
// CHECK: func.func private @LOAD(%{{.*}}: tensor<8x5xf32> {zb.param = "w"})
// CHECK: func.func private @s0_UPDATE(%[[W:[a-z0-9]+]]: tensor<32xf32> {zb.param = "w"}, %[[G0:[a-z0-9]+]]: tensor<32xf32> {zb.sum = "w", zb.use = 0 : i64}, %[[G1:[a-z0-9]+]]: tensor<32xf32> {zb.sum = "w", zb.use = 1 : i64}, %[[M:[a-z0-9]+]]: tensor<32xf32> {zb.shard = "flat:8,5", zb.state = "w.momentum_buffer"}, %[[STEP:[a-z0-9]+]]: tensor<i64> {zb.step}, %[[SET:[a-z0-9]+]]: tensor<2xf64>
// CHECK-SAME: -> (tensor<32xf32> {zb.update = "w"}, tensor<32xf32> {zb.update = "w.momentum_buffer"})
// CHECK: %[[SUM:.*]] = "zb.add"(%[[G1]], %[[G0]]) {{.*}}: (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
// CHECK: %[[NEW:.*]]:2 = "zb.sgd"(%[[W]], %[[SUM]], %[[M]], %[[STEP]], %[[SET]]) {{.*}} -> (tensor<32xf32>, tensor<32xf32>)
// CHECK-NOT: zb.cast
// CHECK: return %[[NEW]]#0, %[[NEW]]#1
// CHECK: func.func private @RENEW(%[[WHOLE:.*]]: tensor<8x5xf32> {zb.param = "w"}) -> (tensor<8x5xbf16> {zb.load = 7 : i64}) attributes {zb.class = "RENEW", zb.stage = -1 : i64}
// CHECK: %[[COPY:.*]] = "zb.cast"(%[[WHOLE]]) {{.*}}zb.class = "RENEW"
// CHECK: return %[[COPY]]
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 2 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @LOAD(%w: tensor<8x5xf32> {zb.param = "w"}) -> (tensor<8x5xbf16> {zb.load = 7 : i64}) attributes {zb.class = "LOAD", zb.stage = -1 : i64} {
      %0 = "zb.cast"(%w) {dtype = "bf16", zb.class = "LOAD", zb.stage = 0 : i64} : (tensor<8x5xf32>) -> tensor<8x5xbf16>
      return %0 : tensor<8x5xbf16>
    }
    func.func private @s0_UPDATE(%w: tensor<8x5xf32> {zb.param = "w"}, %g0: tensor<8x5xf32> {zb.sum = "w", zb.use = 0 : i64}, %g1: tensor<8x5xf32> {zb.sum = "w", zb.use = 1 : i64}, %m: tensor<8x5xf32> {zb.state = "w.momentum_buffer"}, %step: tensor<i64> {zb.step}, %set: tensor<2xf64> {zb.defaults = array<f64: 1.0e-03, 0.0>, zb.own = 0 : i64, zb.setting = "w.update"}) -> (tensor<8x5xf32> {zb.update = "w"}, tensor<8x5xbf16> {zb.load = 7 : i64}, tensor<8x5xf32> {zb.update = "w.momentum_buffer"}) attributes {zb.class = "UPDATE", zb.stage = 0 : i64} {
      %0 = "zb.add"(%g1, %g0) {zb.class = "SUM", zb.stage = 0 : i64} : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
      %1:2 = "zb.sgd"(%w, %0, %m, %step, %set) {momentum = 9.0e-1 : f64, zb.class = "UPDATE", zb.stage = 0 : i64} : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x5xf32>, tensor<8x5xf32>)
      %2 = "zb.cast"(%1#0) {dtype = "bf16", zb.class = "UPDATE", zb.stage = 0 : i64} : (tensor<8x5xf32>) -> tensor<8x5xbf16>
      return %1#0, %2, %1#1 : tensor<8x5xf32>, tensor<8x5xbf16>, tensor<8x5xf32>
    }
  }
}

// -----

// With clipping every replica has the sums whole, as norms are made of them.
// CHECK: zb.sharding = "optimizer"
// CHECK-SAME: zb.whole_sums
// CHECK: func.func private @s0_UPDATE(%{{.*}}: tensor<16xf32> {zb.param = "w"}, %{{.*}}: tensor<16xf32> {zb.sum = "w", zb.use = 0 : i64}, %{{.*}}: tensor<2xf64> {zb.value = 3 : i64}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 3 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @s0_UPDATE(%w: tensor<5xf32> {zb.param = "w"}, %g: tensor<5xf32> {zb.sum = "w", zb.use = 0 : i64}, %step: tensor<2xf64> {zb.value = 3 : i64}, %set: tensor<2xf64> {zb.defaults = array<f64: 1.0e-03, 0.0>, zb.own = 0 : i64, zb.setting = "w.update"}) -> (tensor<5xf32> {zb.update = "w"}) attributes {zb.class = "UPDATE", zb.stage = 0 : i64} {
      %0 = "zb.sgd"(%w, %g, %step, %set) {zb.class = "UPDATE", zb.stage = 0 : i64} : (tensor<5xf32>, tensor<5xf32>, tensor<2xf64>, tensor<2xf64>) -> tensor<5xf32>
      return %0 : tensor<5xf32>
    }
    func.func private @CLIP() attributes {zb.class = "CLIP", zb.stage = -1 : i64} {
      return
    }
  }
}
