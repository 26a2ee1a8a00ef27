// Every constraint of the ops of ir/ops/structure.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @by_mode_c1(%0: tensor<4xf32>, %1: tensor<4xbf16>) {
    // expected-error@+1 {{zb.by_mode: wrong type of evaluation: expected tensor<4xf32> (the type of training), got tensor<4xbf16> (C1)}}
    %r = "zb.by_mode"(%0, %1) : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
    return
  }
  func.func @put_c1(%0: !zb.frame<"fb", 192>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.put: the value leaves the frame: expected offset + 16 to be at most 192, got offset 180 (C1)}}
    %r = "zb.put"(%0, %1) {offset = 180 : i64} : (!zb.frame<"fb", 192>, tensor<4xf32>) -> !zb.frame<"fb", 192>
    return
  }
  func.func @put_c1_b(%0: !zb.frame<"fb", 192>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.put: the value leaves the frame: expected offset + 16 to be at most 192, got offset -4 (C1)}}
    %r = "zb.put"(%0, %1) {offset = -4 : i64} : (!zb.frame<"fb", 192>, tensor<4xf32>) -> !zb.frame<"fb", 192>
    return
  }
  func.func @get_c1(%0: !zb.frame<"fb", 192>) {
    // expected-error@+1 {{zb.get: the value leaves the frame: expected offset + 16 to be at most 192, got offset 192 (C1)}}
    %r = "zb.get"(%0) {offset = 192 : i64} : (!zb.frame<"fb", 192>) -> tensor<4xf32>
    return
  }
  func.func @all_gather_c1(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.all_gather: expected two members or more, a count for each, and the place of one of them (C1)}}
    %r = "zb.all_gather"(%0) {counts = array<i64: 1>, members = array<i64: 0, 2>, place = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @all_gather_c1_b(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.all_gather: expected two members or more, a count for each, and the place of one of them (C1)}}
    %r = "zb.all_gather"(%0) {counts = array<i64: 1, 1>, members = array<i64: 0, 2>, place = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @all_gather_c2(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.all_gather: expected members that rise: members = array<i64: 0, 2, 3> (C2)}}
    %r = "zb.all_gather"(%0) {counts = array<i64: 1, 1>, members = array<i64: 2, 2>, place = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @all_gather_c3(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.all_gather: a member cannot give -1 values (C3)}}
    %r = "zb.all_gather"(%0) {counts = array<i64: 1, -1>, members = array<i64: 0, 2>, place = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @all_gather_c3_b(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.all_gather: expected 1 values of its own and 2 of others (C3)}}
    %r = "zb.all_gather"(%0) {counts = array<i64: 1, 2>, members = array<i64: 0, 2>, place = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
