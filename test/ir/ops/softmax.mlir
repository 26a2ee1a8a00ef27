// Every constraint of the ops of ir/ops/softmax.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @softmax_c1(%0: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.softmax: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.softmax"(%0) {axis = 1 : i64} : (tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @softmax_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.softmax: attribute 'axis' is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.softmax"(%0) {axis = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @softmax_c2_b(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.softmax: attribute 'axis' is out of range: expected 0 to 1, got -1 (C2)}}
    %r = "zb.softmax"(%0) {axis = -1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @softmax_grad_c1(%0: tensor<2x4xi64>, %1: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.softmax_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.softmax_grad"(%0, %1) {axis = 1 : i64} : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @softmax_grad_c2(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.softmax_grad: attribute 'axis' is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.softmax_grad"(%0, %1) {axis = 2 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @softmax_grad_c3(%0: tensor<2x4xf32>, %1: tensor<4x2xf32>) {
    // expected-error@+1 {{zb.softmax_grad: wrong type of dout: expected tensor<2x4xf32> (the type of out), got tensor<4x2xf32> (C3)}}
    %r = "zb.softmax_grad"(%0, %1) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @log_softmax_c1(%0: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.log_softmax: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.log_softmax"(%0) {axis = 1 : i64} : (tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @log_softmax_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.log_softmax: attribute 'axis' is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.log_softmax"(%0) {axis = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @log_softmax_c2_b(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.log_softmax: attribute 'axis' is out of range: expected 0 to 1, got -1 (C2)}}
    %r = "zb.log_softmax"(%0) {axis = -1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @log_softmax_grad_c1(%0: tensor<2x4xi64>, %1: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.log_softmax_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.log_softmax_grad"(%0, %1) {axis = 1 : i64} : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @log_softmax_grad_c2(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.log_softmax_grad: attribute 'axis' is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.log_softmax_grad"(%0, %1) {axis = 2 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @log_softmax_grad_c3(%0: tensor<2x4xf32>, %1: tensor<4x2xf32>) {
    // expected-error@+1 {{zb.log_softmax_grad: wrong type of dout: expected tensor<2x4xf32> (the type of out), got tensor<4x2xf32> (C3)}}
    %r = "zb.log_softmax_grad"(%0, %1) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x4xf32>
    return
  }
}
