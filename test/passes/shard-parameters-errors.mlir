// What parts of gradients and parameters do not go with.
// RUN: zb-opt --zb-shard-optimizer=sharding=parameters:step --split-input-file --verify-diagnostics %s

// A verdict would stand behind gathers of parameters, which nothing takes back.
// expected-error@+1 {{parameters that are gathered before a verdict are not taken back yet}}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.post_validation, zb.ranks = 1 : i64, zb.replicas = 3 : i64, zb.stage_rank = array<i64: 0>} {
}

// -----

// Of losses that are pairs every rank needs the whole sum.
// expected-error@+1 {{the weight of a step, a sum as those of gradients, would be cut into parts}}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 2 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @CLIP(%parts: tensor<3xf64>, %step: tensor<i64> {zb.step}, %most: tensor<1xf64> {zb.defaults = array<f64: 1.0>, zb.own = 0 : i64, zb.setting = "max_norm"}) -> (tensor<2xf64>, tensor<f32> {zb.report = "norm"}) attributes {zb.class = "CLIP", zb.stage = -1 : i64} {
      %scaled, %norm = "zb.clip_scale"(%parts, %step, %most) {weighted = true, zb.class = "CLIP"} : (tensor<3xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
      return %scaled, %norm : tensor<2xf64>, tensor<f32>
    }
  }
}
