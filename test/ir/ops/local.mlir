// Every constraint of the ops of ir/ops/local.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @to_local_c1(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.to_local: attribute 'members' is out of range: expected 2 or more, got 1 (C1)}}
    %r = "zb.to_local"(%0) {members = 1 : i64, placement = "R"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @to_local_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.to_local: unknown placement 'S(0' (C2)}}
    %r = "zb.to_local"(%0) {members = 2 : i64, placement = "S(0"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @to_local_c2_dimension(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.to_local: placement 'Shard(2)' cuts a dimension that is not there: x has 2 (C2)}}
    %r = "zb.to_local"(%0) {members = 2 : i64, placement = "Shard(2)"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @to_local_c2_type(%0: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.to_local: placement 'P' is of floats, got i64 (C2)}}
    %r = "zb.to_local"(%0) {members = 2 : i64, placement = "P"} : (tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @to_local_c3(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.to_local: 3 shards do not divide dimension 1 of x, which has 4 (C3)}}
    %r = "zb.to_local"(%0) {members = 3 : i64, placement = "S(1)"} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @to_local_c4(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.to_local: shape is neither that of x nor a part of it in one dimension (C4)}}
    %r = "zb.to_local"(%0) {members = 2 : i64, shape = array<i64: 1, 2>} : (tensor<2x4xf32>) -> tensor<1x2xf32>
    return
  }
  func.func @from_local_c1(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.from_local: attribute 'members' is out of range: expected 2 or more, got 0 (C1)}}
    %r = "zb.from_local"(%0) {members = 0 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @from_local_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.from_local: unknown placement 'Partial(avg)' (C2)}}
    %r = "zb.from_local"(%0) {members = 2 : i64, placement = "Partial(avg)"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  // Placements and the types that they give.
  func.func @right(%0: tensor<4x6xf32>) {
    %a = "zb.to_local"(%0) {members = 2 : i64, placement = "S(0)"} : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %b = "zb.to_local"(%0) {members = 3 : i64, placement = "Shard(1)", reshard = true} : (tensor<4x6xf32>) -> tensor<4x2xf32>
    %c = "zb.to_local"(%0) {members = 2 : i64, placement = "Replicate"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %d = "zb.to_local"(%0) {members = 2 : i64, placement = "Partial(sum)"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %e = "zb.to_local"(%0) {members = 2 : i64, shape = array<i64: 4, 3>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %f = "zb.from_local"(%a) {members = 2 : i64, placement = "S(1)"} : (tensor<2x6xf32>) -> tensor<2x12xf32>
    %g = "zb.from_local"(%a) {members = 2 : i64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    return
  }
}
