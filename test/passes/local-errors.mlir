// What zb-shard refuses of the borders of regions (zb.to_local, zb.from_local).
// RUN: zb-opt --zb-shard=tensor-parallel=2 --split-input-file --verify-diagnostics %s

func.func @elsewhere(%x: tensor<4x6xf32> {zb.input = "x"}) -> (tensor<f32> {zb.loss}) {
  // expected-error@+1 {{x is placed R, and the region takes S(0)}}
  %a = "zb.to_local"(%x) {members = 2 : i64, placement = "S(0)"} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %c = "zb.reduce_sum"(%a) {axes = array<i64>} : (tensor<2x6xf32>) -> tensor<f32>
  %d = "zb.from_local"(%c) {members = 2 : i64, placement = "P"} : (tensor<f32>) -> tensor<f32>
  return %d : tensor<f32>
}

// -----

func.func @by_shape(%x: tensor<4x6xf32> {zb.input = "x"}) -> (tensor<f32> {zb.loss}) {
  // expected-error@+1 {{x is placed R, and the region takes another part of it, by its shape}}
  %a = "zb.to_local"(%x) {members = 2 : i64, shape = array<i64: 2, 6>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %c = "zb.reduce_sum"(%a) {axes = array<i64>} : (tensor<2x6xf32>) -> tensor<f32>
  %d = "zb.from_local"(%c) {members = 2 : i64, placement = "P"} : (tensor<f32>) -> tensor<f32>
  return %d : tensor<f32>
}

// -----

// What a product has made parts of a sum is not what all have.
func.func @partial(%x: tensor<4x6xf32> {zb.input = "x"}, %u: tensor<6x8xf32> {zb.param = "u"}, %v: tensor<8x6xf32> {zb.param = "v"}) -> (tensor<f32> {zb.loss}) {
  %p = "zb.matmul"(%x, %u) : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %q = "zb.matmul"(%p, %v) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{x is placed P, and the region takes R}}
  %a = "zb.to_local"(%q) {members = 2 : i64, placement = "R"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = "zb.reduce_sum"(%a) {axes = array<i64>} : (tensor<4x6xf32>) -> tensor<f32>
  return %c : tensor<f32>
}

// -----

func.func @mesh(%x: tensor<6xf32> {zb.input = "x"}) -> (tensor<f32> {zb.loss}) {
  // expected-error@+1 {{the region is one of 3 shards, and the program has 2}}
  %a = "zb.to_local"(%x) {members = 3 : i64, placement = "S(0)", reshard = true} : (tensor<6xf32>) -> tensor<2xf32>
  %c = "zb.reduce_sum"(%a) {axes = array<i64>} : (tensor<2xf32>) -> tensor<f32>
  %d = "zb.from_local"(%c) {members = 3 : i64, placement = "P"} : (tensor<f32>) -> tensor<f32>
  return %d : tensor<f32>
}

// -----

func.func @not_the_same(%x: tensor<6xf32> {zb.input = "x"}) -> (tensor<f32> {zb.loss}) {
  %a = "zb.to_local"(%x) {members = 2 : i64, placement = "S(0)", reshard = true} : (tensor<6xf32>) -> tensor<3xf32>
  %c = "zb.reduce_sum"(%a) {axes = array<i64>} : (tensor<3xf32>) -> tensor<f32>
  // expected-error@+1 {{x is not the same on all shards: it depends on what one of them has}}
  %d = "zb.from_local"(%c) {members = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return %d : tensor<f32>
}

// -----

func.func @unfinished(%x: tensor<6xf32> {zb.input = "x"}) -> (tensor<f32> {zb.loss}) {
  %a = "zb.to_local"(%x) {members = 2 : i64, placement = "S(0)", reshard = true} : (tensor<6xf32>) -> tensor<3xf32>
  %c = "zb.reduce_sum"(%a) {axes = array<i64>} : (tensor<3xf32>) -> tensor<f32>
  // expected-error@+1 {{result 0 is what one shard has}}
  return %c : tensor<f32>
}

// -----

func.func @twice(%x: tensor<8xf32> {zb.input = "x"}) -> (tensor<f32> {zb.loss}) {
  %a = "zb.to_local"(%x) {members = 2 : i64, placement = "S(0)", reshard = true} : (tensor<8xf32>) -> tensor<4xf32>
  // expected-error@+1 {{x is what one shard has already}}
  %b = "zb.to_local"(%a) {members = 2 : i64, placement = "S(0)", reshard = true} : (tensor<4xf32>) -> tensor<2xf32>
  %c = "zb.reduce_sum"(%b) {axes = array<i64>} : (tensor<2xf32>) -> tensor<f32>
  %d = "zb.from_local"(%c) {members = 2 : i64, placement = "P"} : (tensor<f32>) -> tensor<f32>
  return %d : tensor<f32>
}
