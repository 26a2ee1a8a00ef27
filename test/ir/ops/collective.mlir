// Every constraint of the ops of ir/ops/collective.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @all_reduce_c1(%0: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.all_reduce: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.all_reduce"(%0) {members = 2 : i64, reduction = "sum"} : (tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @all_reduce_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.all_reduce: attribute 'members' is out of range: expected 2 or more, got 1 (C2)}}
    %r = "zb.all_reduce"(%0) {members = 1 : i64, reduction = "sum"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @all_reduce_c3(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.all_reduce: unknown reduction 'min' (C3)}}
    %r = "zb.all_reduce"(%0) {members = 2 : i64, reduction = "min"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @shared_c1(%0: tensor<2x4xi1>) {
    // expected-error@+1 {{zb.shared: wrong element type of x: expected a float type, got i1 (C1)}}
    %r = "zb.shared"(%0) {members = 2 : i64} : (tensor<2x4xi1>) -> tensor<2x4xi1>
    return
  }
  func.func @shared_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.shared: attribute 'members' is out of range: expected 2 or more, got 0 (C2)}}
    %r = "zb.shared"(%0) {members = 0 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @coordinate_c1() {
    // expected-error@+1 {{zb.coordinate: attribute 'place' is below 0: got -1 (C1)}}
    %r = "zb.coordinate"() {place = -1 : i64} : () -> tensor<1xi64>
    return
  }
  func.func @reduce_scatter_c1(%0: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.reduce_scatter: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.reduce_scatter"(%0) {members = 2 : i64} : (tensor<2x4xi64>) -> tensor<4xi64>
    return
  }
  func.func @reduce_scatter_c2(%0: tensor<1x4xf32>) {
    // expected-error@+1 {{zb.reduce_scatter: attribute 'members' is out of range: expected 2 or more, got 1 (C2)}}
    %r = "zb.reduce_scatter"(%0) {members = 1 : i64} : (tensor<1x4xf32>) -> tensor<4xf32>
    return
  }
  func.func @reduce_scatter_c3(%0: tensor<4x2xf32>) {
    // expected-error@+1 {{zb.reduce_scatter: dimension 0 of x is not of 2, one for each shard (C3)}}
    %r = "zb.reduce_scatter"(%0) {members = 2 : i64} : (tensor<4x2xf32>) -> tensor<2xf32>
    return
  }
  func.func @gather_parts_c1(%0: tensor<4xi1>) {
    // expected-error@+1 {{zb.gather_parts: wrong element type of x: expected a float type, got i1 (C1)}}
    %r = "zb.gather_parts"(%0) {members = 2 : i64} : (tensor<4xi1>) -> tensor<2x4xi1>
    return
  }
  func.func @gather_parts_c2(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.gather_parts: attribute 'members' is out of range: expected 2 or more, got 0 (C2)}}
    %r = "zb.gather_parts"(%0) {members = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @gather_parts_c3(%0: tensor<1x1x1x1x1x1x1x1xf32>) {
    // expected-error@+1 {{zb.gather_parts: x has 8 dimensions, one too many (C3)}}
    %r = "zb.gather_parts"(%0) {members = 2 : i64} : (tensor<1x1x1x1x1x1x1x1xf32>) -> tensor<1x1x1x1x1x1x1x1xf32>
    return
  }
  func.func @own_part_c1(%0: tensor<2x4xi1>) {
    // expected-error@+1 {{zb.own_part: wrong element type of x: expected a float type, got i1 (C1)}}
    %r = "zb.own_part"(%0) {members = 2 : i64} : (tensor<2x4xi1>) -> tensor<4xi1>
    return
  }
  func.func @own_part_c2(%0: tensor<1x4xf32>) {
    // expected-error@+1 {{zb.own_part: attribute 'members' is out of range: expected 2 or more, got 1 (C2)}}
    %r = "zb.own_part"(%0) {members = 1 : i64} : (tensor<1x4xf32>) -> tensor<4xf32>
    return
  }
  func.func @own_part_c3(%0: tensor<f32>) {
    // expected-error@+1 {{zb.own_part: dimension 0 of x is not of 2, one for each shard (C3)}}
    %r = "zb.own_part"(%0) {members = 2 : i64} : (tensor<f32>) -> tensor<f32>
    return
  }
  func.func @own_part_c4(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.own_part: attribute 'place' is out of range: expected 0 to 1, got 2 (C4)}}
    %r = "zb.own_part"(%0) {members = 2 : i64, place = 2 : i64} : (tensor<2x4xf32>) -> tensor<4xf32>
    return
  }
}
