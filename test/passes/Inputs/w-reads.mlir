// Of two replicas: a W that reads a parameter.
module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 1 : i64, zb.replicas = 2 : i64, zb.stage_rank = array<i64: 0>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @s0_W(%w: tensor<8xf32> {zb.param = "w"}, %d: tensor<8xf32> {zb.value = 3 : i64}, %sum: tensor<8xf32> {zb.sum = "v", zb.use = 0 : i64}) -> (tensor<8xf32> {zb.sum = "v", zb.use = 0 : i64}) attributes {zb.class = "W", zb.stage = 0 : i64} {
      %0 = "zb.mul"(%w, %d) {zb.class = "W", zb.stage = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %1 = "zb.accumulate"(%sum, %0) {parameter = "v", use = 0 : i64, zb.class = "W", zb.stage = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
  }
}
