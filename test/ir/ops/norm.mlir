// Every constraint of the ops of ir/ops/norm.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @layer_norm_c1(%0: tensor<2x3x8xi64>, %1: tensor<8xf32>, %2: tensor<8xf32>) {
    // expected-error@+1 {{zb.layer_norm: wrong element type of x: expected a float type, got i64 (C1)}}
    %r:3 = "zb.layer_norm"(%0, %1, %2) {axis = 2 : i64, epsilon = 1.0e-06 : f64} : (tensor<2x3x8xi64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @layer_norm_c2(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<8xf32>) {
    // expected-error@+1 {{zb.layer_norm: attribute 'axis' is out of range: expected 0 to 2, got 3 (C2)}}
    %r:3 = "zb.layer_norm"(%0, %1, %2) {axis = 3 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @layer_norm_c3(%0: tensor<2x3x8xf32>, %1: tensor<3xf32>, %2: tensor<8xf32>) {
    // expected-error@+1 {{zb.layer_norm: wrong type of scale: expected tensor<8xf32> (the dimensions of x from axis on), got tensor<3xf32> (C3)}}
    %r:3 = "zb.layer_norm"(%0, %1, %2) {axis = 2 : i64, epsilon = 1.0e-06 : f64} : (tensor<2x3x8xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @layer_norm_c3_b(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<8xf64>) {
    // expected-error@+1 {{zb.layer_norm: wrong type of bias: expected tensor<8xf32> (the dimensions of x from axis on), got tensor<8xf64> (C3)}}
    %r:3 = "zb.layer_norm"(%0, %1, %2) {axis = 2 : i64, epsilon = 1.0e-06 : f64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf64>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @layer_norm_grad_c1(%0: tensor<2x3x8xi64>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r:3 = "zb.layer_norm_grad"(%0, %1, %2, %3, %4) {axis = 2 : i64, bias = true} : (tensor<2x3x8xi64>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return
  }
  func.func @layer_norm_grad_c2(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad: attribute 'axis' is out of range: expected 0 to 2, got -1 (C2)}}
    %r:3 = "zb.layer_norm_grad"(%0, %1, %2, %3, %4) {axis = -1 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return
  }
  func.func @layer_norm_grad_c3(%0: tensor<2x3x8xf32>, %1: tensor<3x8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad: wrong type of scale: expected tensor<8xf32> (the dimensions of x from axis on), got tensor<3x8xf32> (C3)}}
    %r:3 = "zb.layer_norm_grad"(%0, %1, %2, %3, %4) {axis = 2 : i64, bias = true} : (tensor<2x3x8xf32>, tensor<3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return
  }
  func.func @layer_norm_grad_c4(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad: wrong type of mean: expected tensor<2x3x1xf32> (x with ones from axis on), got tensor<2x3xf32> (C4)}}
    %r:3 = "zb.layer_norm_grad"(%0, %1, %2, %3, %4) {axis = 2 : i64, bias = true} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return
  }
  func.func @layer_norm_grad_c5(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad: wrong type of dout: expected tensor<2x3x8xf32> (the type of x), got tensor<2x8xf32> (C5)}}
    %r:3 = "zb.layer_norm_grad"(%0, %1, %2, %3, %4) {axis = 2 : i64, bias = true} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return
  }
  func.func @layer_norm_grad_c6(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad: expected 2 results with bias = false, got 3 (C6)}}
    %r:3 = "zb.layer_norm_grad"(%0, %1, %2, %3, %4) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return
  }
  func.func @layer_norm_grad_x_c7(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_x: wrong type of residual: expected tensor<2x3x8xf32> (the type of x), got tensor<8xf32> (C7)}}
    %r = "zb.layer_norm_grad_x"(%0, %1, %2, %3, %4, %1) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @rms_norm_grad_x_c7(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xbf16>) {
    // expected-error@+1 {{zb.rms_norm_grad_x: wrong type of residual: expected tensor<2x3x8xf32> (the type of x), got tensor<2x3x8xbf16> (C7)}}
    %r = "zb.rms_norm_grad_x"(%0, %1, %2, %0, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>, tensor<2x3x8xbf16>) -> tensor<2x3x8xf32>
    return
  }
  func.func @layer_norm_grad_x_c1(%0: tensor<2x3x8xi64>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_x: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.layer_norm_grad_x"(%0, %1, %2, %3, %4) {axis = 2 : i64} : (tensor<2x3x8xi64>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @layer_norm_grad_x_c2(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_x: attribute 'axis' is out of range: expected 0 to 2, got 3 (C2)}}
    %r = "zb.layer_norm_grad_x"(%0, %1, %2, %3, %4) {axis = 3 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @layer_norm_grad_x_c3(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_x: wrong type of scale: expected tensor<8xf32> (the dimensions of x from axis on), got tensor<2x3x1xf32> (C3)}}
    %r = "zb.layer_norm_grad_x"(%0, %1, %2, %3, %4) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @layer_norm_grad_x_c4(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<8xf32>, %4: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_x: wrong type of rstd: expected tensor<2x3x1xf32> (x with ones from axis on), got tensor<8xf32> (C4)}}
    %r = "zb.layer_norm_grad_x"(%0, %1, %2, %3, %4) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @layer_norm_grad_x_c5(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_x: wrong type of dout: expected tensor<2x3x8xf32> (the type of x), got tensor<8xf32> (C5)}}
    %r = "zb.layer_norm_grad_x"(%0, %1, %2, %3, %4) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @layer_norm_grad_scale_c1(%0: tensor<2x3x8xi64>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_scale: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.layer_norm_grad_scale"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xi64>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<8xf32>
    return
  }
  func.func @layer_norm_grad_scale_c2(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_scale: attribute 'axis' is out of range: expected 0 to 2, got 3 (C2)}}
    %r = "zb.layer_norm_grad_scale"(%0, %1, %2, %3) {axis = 3 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<8xf32>
    return
  }
  func.func @layer_norm_grad_scale_c4(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<8xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_scale: wrong type of rstd: expected tensor<2x3x1xf32> (x with ones from axis on), got tensor<8xf32> (C4)}}
    %r = "zb.layer_norm_grad_scale"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<8xf32>
    return
  }
  func.func @layer_norm_grad_scale_c5(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x1xf32>, %3: tensor<8xf32>) {
    // expected-error@+1 {{zb.layer_norm_grad_scale: wrong type of dout: expected tensor<2x3x8xf32> (the type of x), got tensor<8xf32> (C5)}}
    %r = "zb.layer_norm_grad_scale"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<8xf32>) -> tensor<8xf32>
    return
  }
  func.func @rms_norm_c1(%0: tensor<2x3x8xi64>, %1: tensor<8xf32>) {
    // expected-error@+1 {{zb.rms_norm: wrong element type of x: expected a float type, got i64 (C1)}}
    %r:2 = "zb.rms_norm"(%0, %1) {axis = 2 : i64} : (tensor<2x3x8xi64>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @rms_norm_c2(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>) {
    // expected-error@+1 {{zb.rms_norm: attribute 'axis' is out of range: expected 0 to 2, got 3 (C2)}}
    %r:2 = "zb.rms_norm"(%0, %1) {axis = 3 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @rms_norm_c3(%0: tensor<2x3x8xf32>, %1: tensor<3xf32>) {
    // expected-error@+1 {{zb.rms_norm: wrong type of scale: expected tensor<8xf32> (the dimensions of x from axis on), got tensor<3xf32> (C3)}}
    %r:2 = "zb.rms_norm"(%0, %1) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<3xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @rms_norm_grad_c1(%0: tensor<2x3x8xi64>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r:2 = "zb.rms_norm_grad"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xi64>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>)
    return
  }
  func.func @rms_norm_grad_c2(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad: attribute 'axis' is out of range: expected 0 to 2, got 3 (C2)}}
    %r:2 = "zb.rms_norm_grad"(%0, %1, %2, %3) {axis = 3 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>)
    return
  }
  func.func @rms_norm_grad_c3(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad: wrong type of scale: expected tensor<8xf32> (the dimensions of x from axis on), got tensor<2x3x1xf32> (C3)}}
    %r:2 = "zb.rms_norm_grad"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>)
    return
  }
  func.func @rms_norm_grad_c4(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<8xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad: wrong type of rstd: expected tensor<2x3x1xf32> (x with ones from axis on), got tensor<8xf32> (C4)}}
    %r:2 = "zb.rms_norm_grad"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>)
    return
  }
  func.func @rms_norm_grad_c5(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad: wrong type of dout: expected tensor<2x3x8xf32> (the type of x), got tensor<2x3x1xf32> (C5)}}
    %r:2 = "zb.rms_norm_grad"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>)
    return
  }
  func.func @rms_norm_grad_x_c1(%0: tensor<2x3x8xi64>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_x: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.rms_norm_grad_x"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xi64>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @rms_norm_grad_x_c2(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_x: attribute 'axis' is out of range: expected 0 to 2, got 3 (C2)}}
    %r = "zb.rms_norm_grad_x"(%0, %1, %2, %3) {axis = 3 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @rms_norm_grad_x_c3(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_x: wrong type of scale: expected tensor<8xf32> (the dimensions of x from axis on), got tensor<2x3x1xf32> (C3)}}
    %r = "zb.rms_norm_grad_x"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @rms_norm_grad_x_c4(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<8xf32>, %3: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_x: wrong type of rstd: expected tensor<2x3x1xf32> (x with ones from axis on), got tensor<8xf32> (C4)}}
    %r = "zb.rms_norm_grad_x"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @rms_norm_grad_x_c5(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_x: wrong type of dout: expected tensor<2x3x8xf32> (the type of x), got tensor<2x3x1xf32> (C5)}}
    %r = "zb.rms_norm_grad_x"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @rms_norm_grad_scale_c1(%0: tensor<2x3x8xi64>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_scale: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.rms_norm_grad_scale"(%0, %1, %2) {axis = 2 : i64} : (tensor<2x3x8xi64>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<8xf32>
    return
  }
  func.func @rms_norm_grad_scale_c2(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_scale: attribute 'axis' is out of range: expected 0 to 2, got 3 (C2)}}
    %r = "zb.rms_norm_grad_scale"(%0, %1, %2) {axis = 3 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<8xf32>
    return
  }
  func.func @rms_norm_grad_scale_c4(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x8xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_scale: wrong type of rstd: expected tensor<2x3x1xf32> (x with ones from axis on), got tensor<8xf32> (C4)}}
    %r = "zb.rms_norm_grad_scale"(%0, %1, %2) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<8xf32>
    return
  }
  func.func @rms_norm_grad_scale_c5(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x1xf32>) {
    // expected-error@+1 {{zb.rms_norm_grad_scale: wrong type of dout: expected tensor<2x3x8xf32> (the type of x), got tensor<2x3x1xf32> (C5)}}
    %r = "zb.rms_norm_grad_scale"(%0, %1, %2) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<8xf32>
    return
  }
}
