// What parts of gradients and parameters do not go with.
// RUN: zb-opt --zb-shard-optimizer=sharding=parameters:step --split-input-file --verify-diagnostics %s

// A verdict would stand behind gathers of parameters, which nothing takes back.
// expected-error@+1 {{parameters that are gathered before a verdict are not taken back yet}}
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.post_validation, zb.ranks = 1 : i64, zb.replicas = 3 : i64, zb.stage_rank = array<i64: 0>} {
}

