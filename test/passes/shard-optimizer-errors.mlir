// What cannot be shared: by one replica alone, in another way, with an update that needs whole tensors.
// RUN: zb-opt --zb-shard-optimizer=sharding=optimizer --split-input-file --verify-diagnostics %s
// RUN: not zb-opt --zb-shard-optimizer=sharding=parts --split-input-file %s 2>&1 | FileCheck %s
// CHECK: expected one of none, optimizer, gradients:step, gradients:micro-batch, parameters:step, parameters:micro-batch; got 'parts'

// expected-error@+1 {{there are no replicas to share the optimizer's state}}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.stage_rank = array<i64: 0>} {
}

// -----

// expected-error@+1 {{softmax needs whole tensors, and a replica has a part}}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 2 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @s0_UPDATE(%w: tensor<5xf32> {zb.param = "w"}, %g: tensor<5xf32> {zb.sum = "w", zb.use = 0 : i64}, %step: tensor<i64> {zb.step}, %set: tensor<2xf64> {zb.defaults = array<f64: 1.0e-03, 0.0>, zb.own = 0 : i64, zb.setting = "w.update"}) -> (tensor<5xf32> {zb.update = "w"}) attributes {zb.class = "UPDATE", zb.stage = 0 : i64} {
      %n = "zb.softmax"(%g) {axis = 0 : i64, zb.class = "UPDATE", zb.stage = 0 : i64} : (tensor<5xf32>) -> tensor<5xf32>
      %0 = "zb.sgd"(%w, %n, %step, %set) {zb.class = "UPDATE", zb.stage = 0 : i64} : (tensor<5xf32>, tensor<5xf32>, tensor<i64>, tensor<2xf64>) -> tensor<5xf32>
      return %0 : tensor<5xf32>
    }
  }
}
