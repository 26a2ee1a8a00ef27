// Every constraint of the ops of ir/ops/elementwise.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @abs_c1(%0: tensor<4xi1>) {
    // expected-error@+1 {{zb.abs: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.abs"(%0) : (tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @abs_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.abs_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.abs_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @abs_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.abs_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.abs_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @acos_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.acos: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.acos"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @acos_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.acos_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.acos_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @acos_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.acos_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.acos_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @acosh_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.acosh: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.acosh"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @acosh_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.acosh_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.acosh_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @acosh_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.acosh_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.acosh_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @asin_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.asin: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.asin"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @asin_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.asin_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.asin_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @asin_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.asin_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.asin_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @asinh_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.asinh: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.asinh"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @asinh_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.asinh_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.asinh_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @asinh_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.asinh_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.asinh_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @atan_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.atan: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.atan"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @atan_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.atan_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.atan_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @atan_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.atan_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.atan_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @atanh_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.atanh: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.atanh"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @atanh_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.atanh_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.atanh_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @atanh_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.atanh_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.atanh_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @cos_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.cos: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.cos"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @cos_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.cos_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.cos_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @cos_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.cos_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.cos_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @cosh_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.cosh: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.cosh"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @cosh_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.cosh_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.cosh_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @cosh_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.cosh_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.cosh_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @celu_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.celu: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.celu"(%0) {alpha = 0.5 : f64} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @celu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.celu_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.celu_grad"(%0, %1) {alpha = 0.5 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @celu_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.celu_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.celu_grad"(%0, %1) {alpha = 0.5 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @clip_c1(%0: tensor<4xi1>) {
    // expected-error@+1 {{zb.clip: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.clip"(%0) {max = 1.0 : f64, min = -1.0 : f64} : (tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @clip_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.clip_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.clip_grad"(%0, %1) {max = 1.0 : f64, min = -1.0 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @clip_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.clip_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.clip_grad"(%0, %1) {max = 1.0 : f64, min = -1.0 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @elu_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.elu: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.elu"(%0) {alpha = 0.5 : f64} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @elu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.elu_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.elu_grad"(%0, %1) {alpha = 0.5 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @elu_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.elu_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.elu_grad"(%0, %1) {alpha = 0.5 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @erf_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.erf: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.erf"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @erf_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.erf_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.erf_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @erf_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.erf_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.erf_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @erfc_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.erfc: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.erfc"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @erfc_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.erfc_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.erfc_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @erfc_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.erfc_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.erfc_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @exp_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.exp: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.exp"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @exp_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.exp_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.exp_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @exp_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.exp_grad: wrong type of dout: expected tensor<4xf32> (the type of out), got tensor<5xf32> (C2)}}
    %r = "zb.exp_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @expm1_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.expm1: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.expm1"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @expm1_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.expm1_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.expm1_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @expm1_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.expm1_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.expm1_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @gelu_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.gelu: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.gelu"(%0) {tanh = true} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @gelu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.gelu_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.gelu_grad"(%0, %1) {tanh = true} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @gelu_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.gelu_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.gelu_grad"(%0, %1) {tanh = true} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @hard_sigmoid_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.hard_sigmoid: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.hard_sigmoid"(%0) {alpha = 0.25 : f64, beta = 0.5 : f64} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @hard_sigmoid_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.hard_sigmoid_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.hard_sigmoid_grad"(%0, %1) {alpha = 0.25 : f64, beta = 0.5 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @hard_sigmoid_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.hard_sigmoid_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.hard_sigmoid_grad"(%0, %1) {alpha = 0.25 : f64, beta = 0.5 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @hard_swish_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.hard_swish: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.hard_swish"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @hard_swish_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.hard_swish_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.hard_swish_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @hard_swish_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.hard_swish_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.hard_swish_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @leaky_relu_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.leaky_relu: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.leaky_relu"(%0) {alpha = 0.2 : f64} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @leaky_relu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.leaky_relu_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.leaky_relu_grad"(%0, %1) {alpha = 0.2 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @leaky_relu_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.leaky_relu_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.leaky_relu_grad"(%0, %1) {alpha = 0.2 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @log_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.log: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.log"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @log_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.log_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.log_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @log_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.log_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.log_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @log1p_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.log1p: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.log1p"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @log1p_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.log1p_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.log1p_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @log1p_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.log1p_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.log1p_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @mish_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.mish: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.mish"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @mish_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.mish_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.mish_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @mish_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.mish_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.mish_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @neg_c1(%0: tensor<4xi1>) {
    // expected-error@+1 {{zb.neg: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.neg"(%0) : (tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @neg_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.neg_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.neg_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @neg_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.neg_grad: wrong type of dout: expected tensor<4xf32> (the type of out), got tensor<5xf32> (C2)}}
    %r = "zb.neg_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @reciprocal_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.reciprocal: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.reciprocal"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @reciprocal_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.reciprocal_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.reciprocal_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @reciprocal_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.reciprocal_grad: wrong type of dout: expected tensor<4xf32> (the type of out), got tensor<5xf32> (C2)}}
    %r = "zb.reciprocal_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @relu_c1(%0: tensor<4xi1>) {
    // expected-error@+1 {{zb.relu: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.relu"(%0) : (tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @relu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.relu_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.relu_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @relu_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.relu_grad: wrong type of dout: expected tensor<4xf32> (the type of out), got tensor<5xf32> (C2)}}
    %r = "zb.relu_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @rsqrt_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.rsqrt: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.rsqrt"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @rsqrt_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.rsqrt_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.rsqrt_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @rsqrt_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.rsqrt_grad: wrong type of dout: expected tensor<4xf32> (the type of out), got tensor<5xf32> (C2)}}
    %r = "zb.rsqrt_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @selu_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.selu: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.selu"(%0) {alpha = 1.5 : f64, gamma = 1.0 : f64} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @selu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.selu_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.selu_grad"(%0, %1) {alpha = 1.5 : f64, gamma = 1.0 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @selu_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.selu_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.selu_grad"(%0, %1) {alpha = 1.5 : f64, gamma = 1.0 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @shrink_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.shrink: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.shrink"(%0) {bias = 0.5 : f64, lambda = 0.5 : f64} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @shrink_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.shrink_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.shrink_grad"(%0, %1) {bias = 0.5 : f64, lambda = 0.5 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @shrink_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.shrink_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.shrink_grad"(%0, %1) {bias = 0.5 : f64, lambda = 0.5 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @sigmoid_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.sigmoid: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.sigmoid"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @sigmoid_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.sigmoid_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.sigmoid_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @sigmoid_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.sigmoid_grad: wrong type of dout: expected tensor<4xf32> (the type of out), got tensor<5xf32> (C2)}}
    %r = "zb.sigmoid_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @silu_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.silu: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.silu"(%0) {alpha = 1.702 : f64} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @silu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.silu_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.silu_grad"(%0, %1) {alpha = 1.702 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @silu_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.silu_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.silu_grad"(%0, %1) {alpha = 1.702 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @sin_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.sin: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.sin"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @sin_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.sin_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.sin_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @sin_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.sin_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.sin_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @sinh_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.sinh: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.sinh"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @sinh_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.sinh_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.sinh_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @sinh_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.sinh_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.sinh_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @softplus_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.softplus: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.softplus"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @softplus_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.softplus_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.softplus_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @softplus_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.softplus_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.softplus_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @softsign_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.softsign: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.softsign"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @softsign_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.softsign_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.softsign_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @softsign_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.softsign_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.softsign_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @sqrt_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.sqrt: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.sqrt"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @sqrt_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.sqrt_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.sqrt_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @sqrt_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.sqrt_grad: wrong type of dout: expected tensor<4xf32> (the type of out), got tensor<5xf32> (C2)}}
    %r = "zb.sqrt_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @tan_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.tan: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.tan"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @tan_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.tan_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.tan_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @tan_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.tan_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.tan_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @tanh_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.tanh: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.tanh"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @tanh_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.tanh_grad: wrong element type of out: expected a float type, got i64 (C1)}}
    %r = "zb.tanh_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @tanh_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.tanh_grad: wrong type of dout: expected tensor<4xf32> (the type of out), got tensor<5xf32> (C2)}}
    %r = "zb.tanh_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @thresholded_relu_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.thresholded_relu: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.thresholded_relu"(%0) {alpha = 2.0 : f64} : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @thresholded_relu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.thresholded_relu_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.thresholded_relu_grad"(%0, %1) {alpha = 2.0 : f64} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @thresholded_relu_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.thresholded_relu_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got tensor<5xf32> (C2)}}
    %r = "zb.thresholded_relu_grad"(%0, %1) {alpha = 2.0 : f64} : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
  func.func @ceil_c1(%0: tensor<4xi32>) {
    // expected-error@+1 {{zb.ceil: wrong element type of x: expected a float type, got i32 (C1)}}
    %r = "zb.ceil"(%0) : (tensor<4xi32>) -> tensor<4xi32>
    return
  }
  func.func @floor_c1(%0: tensor<4xi32>) {
    // expected-error@+1 {{zb.floor: wrong element type of x: expected a float type, got i32 (C1)}}
    %r = "zb.floor"(%0) : (tensor<4xi32>) -> tensor<4xi32>
    return
  }
  func.func @round_c1(%0: tensor<4xi32>) {
    // expected-error@+1 {{zb.round: wrong element type of x: expected a float type, got i32 (C1)}}
    %r = "zb.round"(%0) : (tensor<4xi32>) -> tensor<4xi32>
    return
  }
  func.func @sign_c1(%0: tensor<4xi1>) {
    // expected-error@+1 {{zb.sign: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.sign"(%0) : (tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @detach_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.detach: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.detach"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @is_inf_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.is_inf: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.is_inf"(%0) {detect_negative = false} : (tensor<4xi64>) -> tensor<4xi1>
    return
  }
  func.func @is_nan_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.is_nan: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.is_nan"(%0) : (tensor<4xi64>) -> tensor<4xi1>
    return
  }
  func.func @not_c1(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.not: wrong element type of x: expected i1, got f32 (C1)}}
    %r = "zb.not"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @bitwise_not_c1(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.bitwise_not: wrong element type of x: expected i64 or i32, got f32 (C1)}}
    %r = "zb.bitwise_not"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @add_c1(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    // expected-error@+1 {{zb.add: wrong element type of lhs: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.add"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @add_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.add: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.add"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @add_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.add: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.add"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @add_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>, %2: tensor<4xi64>) {
    // expected-error@+1 {{zb.add_grad: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r:2 = "zb.add_grad"(%0, %1, %2) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    return
  }
  func.func @add_grad_c2(%0: tensor<4xf32>, %1: tensor<4xf64>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.add_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.add_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
    return
  }
  func.func @add_grad_c3(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.add_grad: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r:2 = "zb.add_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
    return
  }
  func.func @add_grad_c4(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.add_grad: wrong type of dout: expected tensor<2x4xf32> (the broadcast type of lhs and rhs), got tensor<4xf32> (C4)}}
    %r:2 = "zb.add_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @sub_c1(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    // expected-error@+1 {{zb.sub: wrong element type of lhs: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.sub"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @sub_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.sub: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.sub"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @sub_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.sub: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.sub"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sub_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>, %2: tensor<4xi64>) {
    // expected-error@+1 {{zb.sub_grad: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r:2 = "zb.sub_grad"(%0, %1, %2) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    return
  }
  func.func @sub_grad_c2(%0: tensor<4xf32>, %1: tensor<4xf64>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.sub_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.sub_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
    return
  }
  func.func @sub_grad_c3(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.sub_grad: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r:2 = "zb.sub_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
    return
  }
  func.func @sub_grad_c4(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.sub_grad: wrong type of dout: expected tensor<2x4xf32> (the broadcast type of lhs and rhs), got tensor<4xf32> (C4)}}
    %r:2 = "zb.sub_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @mul_c1(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    // expected-error@+1 {{zb.mul: wrong element type of lhs: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.mul"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @mul_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.mul: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.mul"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @mul_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.mul: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.mul"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @mul_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>, %2: tensor<4xi64>) {
    // expected-error@+1 {{zb.mul_grad: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r:2 = "zb.mul_grad"(%0, %1, %2) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    return
  }
  func.func @mul_grad_c2(%0: tensor<4xf32>, %1: tensor<4xf64>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.mul_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.mul_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
    return
  }
  func.func @mul_grad_c3(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.mul_grad: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r:2 = "zb.mul_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
    return
  }
  func.func @mul_grad_c4(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.mul_grad: wrong type of dout: expected tensor<2x4xf32> (the broadcast type of lhs and rhs), got tensor<4xf32> (C4)}}
    %r:2 = "zb.mul_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @div_c1(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    // expected-error@+1 {{zb.div: wrong element type of lhs: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.div"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @div_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.div: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.div"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @div_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.div: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.div"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @div_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>, %2: tensor<4xi64>) {
    // expected-error@+1 {{zb.div_grad: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r:2 = "zb.div_grad"(%0, %1, %2) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    return
  }
  func.func @div_grad_c2(%0: tensor<4xf32>, %1: tensor<4xf64>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.div_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.div_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
    return
  }
  func.func @div_grad_c3(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.div_grad: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r:2 = "zb.div_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
    return
  }
  func.func @div_grad_c4(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.div_grad: wrong type of dout: expected tensor<2x4xf32> (the broadcast type of lhs and rhs), got tensor<4xf32> (C4)}}
    %r:2 = "zb.div_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @pow_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.pow: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r = "zb.pow"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @pow_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.pow: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.pow"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @pow_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.pow: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.pow"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @pow_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>, %2: tensor<4xi64>) {
    // expected-error@+1 {{zb.pow_grad: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r:2 = "zb.pow_grad"(%0, %1, %2) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    return
  }
  func.func @pow_grad_c2(%0: tensor<4xf32>, %1: tensor<4xf64>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.pow_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.pow_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
    return
  }
  func.func @pow_grad_c3(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.pow_grad: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r:2 = "zb.pow_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
    return
  }
  func.func @pow_grad_c4(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.pow_grad: wrong type of dout: expected tensor<2x4xf32> (the broadcast type of lhs and rhs), got tensor<4xf32> (C4)}}
    %r:2 = "zb.pow_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @max_c1(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    // expected-error@+1 {{zb.max: wrong element type of lhs: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.max"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @max_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.max: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.max"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @max_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.max: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.max"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @max_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>, %2: tensor<4xi64>) {
    // expected-error@+1 {{zb.max_grad: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r:2 = "zb.max_grad"(%0, %1, %2) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    return
  }
  func.func @max_grad_c2(%0: tensor<4xf32>, %1: tensor<4xf64>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.max_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.max_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
    return
  }
  func.func @max_grad_c3(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.max_grad: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r:2 = "zb.max_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
    return
  }
  func.func @max_grad_c4(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.max_grad: wrong type of dout: expected tensor<2x4xf32> (the broadcast type of lhs and rhs), got tensor<4xf32> (C4)}}
    %r:2 = "zb.max_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @min_c1(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    // expected-error@+1 {{zb.min: wrong element type of lhs: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.min"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @min_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.min: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.min"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @min_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.min: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.min"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @min_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>, %2: tensor<4xi64>) {
    // expected-error@+1 {{zb.min_grad: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r:2 = "zb.min_grad"(%0, %1, %2) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    return
  }
  func.func @min_grad_c2(%0: tensor<4xf32>, %1: tensor<4xf64>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.min_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.min_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
    return
  }
  func.func @min_grad_c3(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.min_grad: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r:2 = "zb.min_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
    return
  }
  func.func @min_grad_c4(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.min_grad: wrong type of dout: expected tensor<2x4xf32> (the broadcast type of lhs and rhs), got tensor<4xf32> (C4)}}
    %r:2 = "zb.min_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @slope_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.slope: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r = "zb.slope"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @slope_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.slope: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.slope"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @slope_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.slope: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.slope"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @prelu_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.prelu: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r = "zb.prelu"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @prelu_c2(%0: tensor<4xf32>, %1: tensor<4xf64>) {
    // expected-error@+1 {{zb.prelu: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.prelu"(%0, %1) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @prelu_c3(%0: tensor<3xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.prelu: the shapes do not broadcast: expected fitting dimensions, got 3xf32 and 4xf32 (C3)}}
    %r = "zb.prelu"(%0, %1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @prelu_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>, %2: tensor<4xi64>) {
    // expected-error@+1 {{zb.prelu_grad: wrong element type of lhs: expected a float type, got i64 (C1)}}
    %r:2 = "zb.prelu_grad"(%0, %1, %2) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    return
  }
  func.func @prelu_grad_c2(%0: tensor<4xf32>, %1: tensor<4xf64>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.prelu_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.prelu_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>)
    return
  }
  func.func @prelu_grad_c3(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.prelu_grad: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r:2 = "zb.prelu_grad"(%0, %1, %2) : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>)
    return
  }
  func.func @prelu_grad_c4(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.prelu_grad: wrong type of dout: expected tensor<2x4xf32> (the broadcast type of lhs and rhs), got tensor<4xf32> (C4)}}
    %r:2 = "zb.prelu_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @mod_c1(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    // expected-error@+1 {{zb.mod: wrong element type of lhs: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.mod"(%0, %1) {fmod = true} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @mod_c2(%0: tensor<4xf32>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.mod: wrong element type of rhs: expected f32 as lhs has, got i32 (C2)}}
    %r = "zb.mod"(%0, %1) {fmod = true} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
    return
  }
  func.func @mod_c3(%0: tensor<4xf32>, %1: tensor<3xf32>) {
    // expected-error@+1 {{zb.mod: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r = "zb.mod"(%0, %1) {fmod = true} : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
    return
  }
  func.func @and_c1(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.and: wrong element type of lhs: expected i1, got f32 (C1)}}
    %r = "zb.and"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @and_c2(%0: tensor<4xi1>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.and: wrong element type of rhs: expected i1 as lhs has, got i32 (C2)}}
    %r = "zb.and"(%0, %1) : (tensor<4xi1>, tensor<4xi32>) -> tensor<4xi1>
    return
  }
  func.func @and_c3(%0: tensor<4xi1>, %1: tensor<3xi1>) {
    // expected-error@+1 {{zb.and: the shapes do not broadcast: expected fitting dimensions, got 4xi1 and 3xi1 (C3)}}
    %r = "zb.and"(%0, %1) : (tensor<4xi1>, tensor<3xi1>) -> tensor<4xi1>
    return
  }
  func.func @or_c1(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.or: wrong element type of lhs: expected i1, got f32 (C1)}}
    %r = "zb.or"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @or_c2(%0: tensor<4xi1>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.or: wrong element type of rhs: expected i1 as lhs has, got i32 (C2)}}
    %r = "zb.or"(%0, %1) : (tensor<4xi1>, tensor<4xi32>) -> tensor<4xi1>
    return
  }
  func.func @or_c3(%0: tensor<4xi1>, %1: tensor<3xi1>) {
    // expected-error@+1 {{zb.or: the shapes do not broadcast: expected fitting dimensions, got 4xi1 and 3xi1 (C3)}}
    %r = "zb.or"(%0, %1) : (tensor<4xi1>, tensor<3xi1>) -> tensor<4xi1>
    return
  }
  func.func @xor_c1(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.xor: wrong element type of lhs: expected i1, got f32 (C1)}}
    %r = "zb.xor"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @xor_c2(%0: tensor<4xi1>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.xor: wrong element type of rhs: expected i1 as lhs has, got i32 (C2)}}
    %r = "zb.xor"(%0, %1) : (tensor<4xi1>, tensor<4xi32>) -> tensor<4xi1>
    return
  }
  func.func @xor_c3(%0: tensor<4xi1>, %1: tensor<3xi1>) {
    // expected-error@+1 {{zb.xor: the shapes do not broadcast: expected fitting dimensions, got 4xi1 and 3xi1 (C3)}}
    %r = "zb.xor"(%0, %1) : (tensor<4xi1>, tensor<3xi1>) -> tensor<4xi1>
    return
  }
  func.func @bitwise_and_c1(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.bitwise_and: wrong element type of lhs: expected i64 or i32, got f32 (C1)}}
    %r = "zb.bitwise_and"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @bitwise_and_c2(%0: tensor<4xi64>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.bitwise_and: wrong element type of rhs: expected i64 as lhs has, got i32 (C2)}}
    %r = "zb.bitwise_and"(%0, %1) : (tensor<4xi64>, tensor<4xi32>) -> tensor<4xi64>
    return
  }
  func.func @bitwise_and_c3(%0: tensor<4xi64>, %1: tensor<3xi64>) {
    // expected-error@+1 {{zb.bitwise_and: the shapes do not broadcast: expected fitting dimensions, got 4xi64 and 3xi64 (C3)}}
    %r = "zb.bitwise_and"(%0, %1) : (tensor<4xi64>, tensor<3xi64>) -> tensor<4xi64>
    return
  }
  func.func @bitwise_or_c1(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.bitwise_or: wrong element type of lhs: expected i64 or i32, got f32 (C1)}}
    %r = "zb.bitwise_or"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @bitwise_or_c2(%0: tensor<4xi64>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.bitwise_or: wrong element type of rhs: expected i64 as lhs has, got i32 (C2)}}
    %r = "zb.bitwise_or"(%0, %1) : (tensor<4xi64>, tensor<4xi32>) -> tensor<4xi64>
    return
  }
  func.func @bitwise_or_c3(%0: tensor<4xi64>, %1: tensor<3xi64>) {
    // expected-error@+1 {{zb.bitwise_or: the shapes do not broadcast: expected fitting dimensions, got 4xi64 and 3xi64 (C3)}}
    %r = "zb.bitwise_or"(%0, %1) : (tensor<4xi64>, tensor<3xi64>) -> tensor<4xi64>
    return
  }
  func.func @bitwise_xor_c1(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.bitwise_xor: wrong element type of lhs: expected i64 or i32, got f32 (C1)}}
    %r = "zb.bitwise_xor"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @bitwise_xor_c2(%0: tensor<4xi64>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.bitwise_xor: wrong element type of rhs: expected i64 as lhs has, got i32 (C2)}}
    %r = "zb.bitwise_xor"(%0, %1) : (tensor<4xi64>, tensor<4xi32>) -> tensor<4xi64>
    return
  }
  func.func @bitwise_xor_c3(%0: tensor<4xi64>, %1: tensor<3xi64>) {
    // expected-error@+1 {{zb.bitwise_xor: the shapes do not broadcast: expected fitting dimensions, got 4xi64 and 3xi64 (C3)}}
    %r = "zb.bitwise_xor"(%0, %1) : (tensor<4xi64>, tensor<3xi64>) -> tensor<4xi64>
    return
  }
  func.func @bit_shift_c1(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.bit_shift: wrong element type of lhs: expected i64 or i32, got f32 (C1)}}
    %r = "zb.bit_shift"(%0, %1) {left = true} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @bit_shift_c2(%0: tensor<4xi64>, %1: tensor<4xi32>) {
    // expected-error@+1 {{zb.bit_shift: wrong element type of rhs: expected i64 as lhs has, got i32 (C2)}}
    %r = "zb.bit_shift"(%0, %1) {left = true} : (tensor<4xi64>, tensor<4xi32>) -> tensor<4xi64>
    return
  }
  func.func @bit_shift_c3(%0: tensor<4xi64>, %1: tensor<3xi64>) {
    // expected-error@+1 {{zb.bit_shift: the shapes do not broadcast: expected fitting dimensions, got 4xi64 and 3xi64 (C3)}}
    %r = "zb.bit_shift"(%0, %1) {left = true} : (tensor<4xi64>, tensor<3xi64>) -> tensor<4xi64>
    return
  }
  func.func @equal_c1(%0: tensor<4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.equal: wrong element type of rhs: expected f32 as lhs has, got i64 (C1)}}
    %r = "zb.equal"(%0, %1) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xi1>
    return
  }
  func.func @equal_c2(%0: tensor<4xf32>, %1: tensor<3xf32>) {
    // expected-error@+1 {{zb.equal: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C2)}}
    %r = "zb.equal"(%0, %1) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xi1>
    return
  }
  func.func @greater_c1(%0: tensor<4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.greater: wrong element type of rhs: expected f32 as lhs has, got i64 (C1)}}
    %r = "zb.greater"(%0, %1) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xi1>
    return
  }
  func.func @greater_c2(%0: tensor<4xf32>, %1: tensor<3xf32>) {
    // expected-error@+1 {{zb.greater: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C2)}}
    %r = "zb.greater"(%0, %1) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xi1>
    return
  }
  func.func @greater_equal_c1(%0: tensor<4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.greater_equal: wrong element type of rhs: expected f32 as lhs has, got i64 (C1)}}
    %r = "zb.greater_equal"(%0, %1) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xi1>
    return
  }
  func.func @greater_equal_c2(%0: tensor<4xf32>, %1: tensor<3xf32>) {
    // expected-error@+1 {{zb.greater_equal: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C2)}}
    %r = "zb.greater_equal"(%0, %1) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xi1>
    return
  }
  func.func @less_c1(%0: tensor<4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.less: wrong element type of rhs: expected f32 as lhs has, got i64 (C1)}}
    %r = "zb.less"(%0, %1) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xi1>
    return
  }
  func.func @less_c2(%0: tensor<4xf32>, %1: tensor<3xf32>) {
    // expected-error@+1 {{zb.less: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C2)}}
    %r = "zb.less"(%0, %1) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xi1>
    return
  }
  func.func @less_equal_c1(%0: tensor<4xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.less_equal: wrong element type of rhs: expected f32 as lhs has, got i64 (C1)}}
    %r = "zb.less_equal"(%0, %1) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xi1>
    return
  }
  func.func @less_equal_c2(%0: tensor<4xf32>, %1: tensor<3xf32>) {
    // expected-error@+1 {{zb.less_equal: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C2)}}
    %r = "zb.less_equal"(%0, %1) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xi1>
    return
  }
  func.func @where_c1(%0: tensor<4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.where: wrong element type of condition: expected i1, got f32 (C1)}}
    %r = "zb.where"(%0, %1, %2) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @where_c2(%0: tensor<4xi1>, %1: tensor<4xf32>, %2: tensor<4xf64>) {
    // expected-error@+1 {{zb.where: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.where"(%0, %1, %2) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
    return
  }
  func.func @where_c3(%0: tensor<4xi1>, %1: tensor<4xf32>, %2: tensor<3xf32>) {
    // expected-error@+1 {{zb.where: the shapes do not broadcast: expected fitting dimensions, got 4xf32 and 3xf32 (C3)}}
    %r = "zb.where"(%0, %1, %2) : (tensor<4xi1>, tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
    return
  }
  func.func @where_c3_b(%0: tensor<3xi1>, %1: tensor<4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.where: the condition does not broadcast with the values: got 3xi1 and 4xf32 (C3)}}
    %r = "zb.where"(%0, %1, %2) : (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @where_grad_c1(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.where_grad: wrong element type of condition: expected i1, got f32 (C1)}}
    %r:2 = "zb.where_grad"(%0, %1) {lhs_shape = array<i64: 4>, rhs_shape = array<i64>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
    return
  }
  func.func @where_grad_c2(%0: tensor<4xi1>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.where_grad: wrong element type of dout: expected a float type, got i64 (C2)}}
    %r:2 = "zb.where_grad"(%0, %1) {lhs_shape = array<i64: 4>, rhs_shape = array<i64>} : (tensor<4xi1>, tensor<4xi64>) -> (tensor<4xi64>, tensor<i64>)
    return
  }
  func.func @where_grad_c3(%0: tensor<4xi1>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.where_grad: entry 0 of attribute 'lhs_shape' is negative: -4 (C3)}}
    %r:2 = "zb.where_grad"(%0, %1) {lhs_shape = array<i64: -4>, rhs_shape = array<i64>} : (tensor<4xi1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
    return
  }
  func.func @where_grad_c3_b(%0: tensor<4xi1>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.where_grad: lhs_shape, rhs_shape and the condition do not broadcast (C3)}}
    %r:2 = "zb.where_grad"(%0, %1) {lhs_shape = array<i64: 4>, rhs_shape = array<i64: 3>} : (tensor<4xi1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
    return
  }
  func.func @where_grad_c3_c(%0: tensor<4xi1>, %1: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.where_grad: wrong type of dout: expected tensor<4xf32> (their broadcast type), got tensor<2x4xf32> (C3)}}
    %r:2 = "zb.where_grad"(%0, %1) {lhs_shape = array<i64: 4>, rhs_shape = array<i64>} : (tensor<4xi1>, tensor<2x4xf32>) -> (tensor<4xf32>, tensor<f32>)
    return
  }
  func.func @cast_c1(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.cast: unknown dtype 'float' (C1)}}
    %r = "zb.cast"(%0) {dtype = "float"} : (tensor<4xf32>) -> tensor<4xi32>
    return
  }
  func.func @bitcast_c1(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.bitcast: unknown dtype 'float' (C1)}}
    %r = "zb.bitcast"(%0) {dtype = "float"} : (tensor<4xf32>) -> tensor<4xi32>
    return
  }
  func.func @bitcast_c2(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.bitcast: the bits of f32 are no i64: expected f32 and i32, f64 and i64, or bf16 or f16 and i32 (C2)}}
    %r = "zb.bitcast"(%0) {dtype = "i64"} : (tensor<4xf32>) -> tensor<4xi64>
    return
  }
  func.func @cast_grad_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.cast_grad: wrong element type of dout: expected a float type, got i64 (C1)}}
    %r = "zb.cast_grad"(%0) {dtype = "bf16"} : (tensor<4xi64>) -> tensor<4xbf16>
    return
  }
  func.func @cast_grad_c2(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.cast_grad: unknown dtype 'f31' (C2)}}
    %r = "zb.cast_grad"(%0) {dtype = "f31"} : (tensor<4xf32>) -> tensor<4xbf16>
    return
  }
  func.func @cast_grad_c2_b(%0: tensor<4xf32>) {
    // expected-error@+1 {{zb.cast_grad: a gradient has a float type: expected dtype f32, f64, bf16 or f16, got i64 (C2)}}
    %r = "zb.cast_grad"(%0) {dtype = "i64"} : (tensor<4xf32>) -> tensor<4xbf16>
    return
  }
}
