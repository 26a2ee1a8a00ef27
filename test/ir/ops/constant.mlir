// Every constraint of the ops of ir/ops/constant.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @constant_c1() {
    // expected-error@+1 {{zb.constant: the type of value differs from the type of the result (C1)}}
    %r = "zb.constant"() {value = dense<1.000000e+00> : tensor<4xf32>} : () -> tensor<f32>
    return
  }
  func.func @constant_c2() {
    // expected-error@+1 {{zb.constant: value is too large: expected at most 1024 bytes, got 1028 (C2)}}
    %r = "zb.constant"() {value = dense<1.000000e+00> : tensor<257xf32>} : () -> tensor<257xf32>
    return
  }
  func.func @iota_c1() {
    // expected-error@+1 {{zb.iota: unknown dtype 'i63' (C1)}}
    %r = "zb.iota"() {axis = 0 : i64, dtype = "i63", shape = array<i64: 8>, start = 0.0 : f64, step = 1.0 : f64} : () -> tensor<8xi64>
    return
  }
  func.func @iota_c1_b() {
    // expected-error@+1 {{zb.iota: expected a number type, got i1 (C1)}}
    %r = "zb.iota"() {axis = 0 : i64, dtype = "i1", shape = array<i64: 8>, start = 0.0 : f64, step = 1.0 : f64} : () -> tensor<8xi64>
    return
  }
  func.func @iota_c2() {
    // expected-error@+1 {{zb.iota: entry 0 of attribute 'shape' is negative: -8 (C2)}}
    %r = "zb.iota"() {axis = 0 : i64, dtype = "i64", shape = array<i64: -8>, start = 0.0 : f64, step = 1.0 : f64} : () -> tensor<8xi64>
    return
  }
  func.func @iota_c3() {
    // expected-error@+1 {{zb.iota: attribute 'axis' is out of range: expected 0 to 0, got 1 (C3)}}
    %r = "zb.iota"() {axis = 1 : i64, dtype = "i64", shape = array<i64: 8>, start = 0.0 : f64, step = 1.0 : f64} : () -> tensor<8xi64>
    return
  }
  func.func @triangle_c1() {
    // expected-error@+1 {{zb.triangle: unknown dtype 'f33' (C1)}}
    %r = "zb.triangle"() {diagonal = 0 : i64, dtype = "f33", lower = 0.000000e+00 : f64, shape = array<i64: 8, 8>, upper = 0xFFF0000000000000 : f64} : () -> tensor<8x8xf32>
    return
  }
  func.func @triangle_c2() {
    // expected-error@+1 {{zb.triangle: a triangle needs rows and columns: expected rank 2 or more, got 1 (C2)}}
    %r = "zb.triangle"() {diagonal = 0 : i64, dtype = "f32", lower = 0.000000e+00 : f64, shape = array<i64: 8>, upper = 0xFFF0000000000000 : f64} : () -> tensor<8x8xf32>
    return
  }
  func.func @triangle_c2_b() {
    // expected-error@+1 {{zb.triangle: entry 1 of attribute 'shape' is negative: -8 (C2)}}
    %r = "zb.triangle"() {diagonal = 0 : i64, dtype = "f32", lower = 0.000000e+00 : f64, shape = array<i64: 8, -8>, upper = 0xFFF0000000000000 : f64} : () -> tensor<8x8xf32>
    return
  }
}
