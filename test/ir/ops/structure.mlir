// Every constraint of the ops of ir/ops/structure.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
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
}
