// Every constraint of the ops of ir/ops/random.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @dropout_c1(%0: tensor<2x4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.dropout: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.dropout"(%0, %1) {rate = 0.1, op = 0 : i64} : (tensor<2x4xi64>, tensor<4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @dropout_c2(%0: tensor<2x4xf32>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.dropout: wrong type of counter: expected tensor<4xi64> (seed, step, micro-batch, 0), got tensor<4xi32> (C2)}}
    %r = "zb.dropout"(%0, %1) {rate = 0.1, op = 0 : i64} : (tensor<2x4xf32>, tensor<4xi32>) -> tensor<2x4xf32>
    return
  }
  func.func @dropout_c3(%0: tensor<2x4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.dropout: attribute 'rate' is out of range: expected 0 <= rate < 1, got 1 (C3)}}
    %r = "zb.dropout"(%0, %1) {rate = 1.0, op = 0 : i64} : (tensor<2x4xf32>, tensor<4xi64>) -> tensor<2x4xf32>
    return
  }
  func.func @dropout_c3_negative(%0: tensor<2x4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.dropout: attribute 'rate' is out of range: expected 0 <= rate < 1, got -0.1 (C3)}}
    %r = "zb.dropout"(%0, %1) {rate = -0.1, op = 0 : i64} : (tensor<2x4xf32>, tensor<4xi64>) -> tensor<2x4xf32>
    return
  }
  func.func @dropout_c3_nan(%0: tensor<2x4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.dropout: attribute 'rate' is out of range: expected 0 <= rate < 1, got nan (C3)}}
    %r = "zb.dropout"(%0, %1) {rate = 0x7FF8000000000000 : f64, op = 0 : i64} : (tensor<2x4xf32>, tensor<4xi64>) -> tensor<2x4xf32>
    return
  }
  func.func @dropout_c4(%0: tensor<2x4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.dropout: attribute 'op' is out of range: expected 0 to 1048575, got 1048576 (C4)}}
    %r = "zb.dropout"(%0, %1) {rate = 0.1, op = 1048576 : i64} : (tensor<2x4xf32>, tensor<4xi64>) -> tensor<2x4xf32>
    return
  }
  func.func @dropout_c5(%0: tensor<70368744177665xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.dropout: x has 7.03687e+13 elements: random numbers are drawn for 2^46 at most (C5)}}
    %r = "zb.dropout"(%0, %1) {rate = 0.1, op = 0 : i64} : (tensor<70368744177665xf32>, tensor<4xi64>) -> tensor<70368744177665xf32>
    return
  }
  func.func @uniform_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.uniform: expected dtype f32 or i64, got bf16 (C1)}}
    %r = "zb.uniform"(%0) {shape = array<i64: 2>, dtype = "bf16", op = 0 : i64} : (tensor<4xi64>) -> tensor<2xbf16>
    return
  }
  func.func @uniform_c2(%0: tensor<3xi64>) {
    // expected-error@+1 {{zb.uniform: wrong type of counter: expected tensor<4xi64> (seed, step, micro-batch, 0), got tensor<3xi64> (C2)}}
    %r = "zb.uniform"(%0) {shape = array<i64: 2>, dtype = "f32", op = 0 : i64} : (tensor<3xi64>) -> tensor<2xf32>
    return
  }
  func.func @uniform_c3(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.uniform: entry 0 of attribute 'shape' is negative: -2 (C3)}}
    %r = "zb.uniform"(%0) {shape = array<i64: -2>, dtype = "f32", op = 0 : i64} : (tensor<4xi64>) -> tensor<2xf32>
    return
  }
  func.func @uniform_c4(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.uniform: attribute 'op' is out of range: expected 0 to 1048575, got -1 (C4)}}
    %r = "zb.uniform"(%0) {shape = array<i64: 2>, dtype = "f32", op = -1 : i64} : (tensor<4xi64>) -> tensor<2xf32>
    return
  }
  func.func @uniform_c5(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.uniform: the result has 7.03687e+13 elements: random numbers are drawn for 2^46 at most (C5)}}
    %r = "zb.uniform"(%0) {shape = array<i64: 70368744177665>, dtype = "f32", op = 0 : i64} : (tensor<4xi64>) -> tensor<70368744177665xf32>
    return
  }
  func.func @dropout_no_number(%0: tensor<2x4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.dropout: attribute 'op' is missing}}
    %r = "zb.dropout"(%0, %1) {rate = 0.1} : (tensor<2x4xf32>, tensor<4xi64>) -> tensor<2x4xf32>
    return
  }
}
