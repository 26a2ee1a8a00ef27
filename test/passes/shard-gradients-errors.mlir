// Norms are made of whole gradients, of which a replica keeps a part.
// RUN: zb-opt --zb-shard-optimizer=sharding=gradients:step --verify-diagnostics %s

// expected-error@+1 {{norms are made of whole gradients, and with gradients:step a replica has a part}}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 3 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @CLIP() attributes {zb.class = "CLIP", zb.stage = -1 : i64} {
      return
    }
  }
}
