// A verdict would wait for the numbers of other replicas' parts.
// RUN: zb-opt --zb-shard-optimizer=sharding=gradients:step --verify-diagnostics %s

// expected-error@+1 {{with parts of gradients replicas wait for the norm: no post-validation}}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.post_validation, zb.ranks = 1 : i64, zb.replicas = 3 : i64, zb.stage_rank = array<i64: 0>} {
}
