// Every constraint of the ops of ir/ops/optimizer.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @accumulate_c1(%0: tensor<8x4xi64>) {
    // expected-error@+1 {{zb.accumulate: wrong element type of value: expected a float type, got i64 (C1)}}
    %r = "zb.accumulate"(%0) {parameter = "w", use = 0 : i64} : (tensor<8x4xi64>) -> tensor<8x4xi64>
    return
  }
  func.func @accumulate_c2(%0: tensor<4xf32>, %1: tensor<8x4xf32>) {
    // expected-error@+1 {{zb.accumulate: wrong type of sum: expected tensor<8x4xf32> (the type of value), got tensor<4xf32> (C2)}}
    %r = "zb.accumulate"(%0, %1) {parameter = "w", use = 0 : i64} : (tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return
  }
  func.func @accumulate_add_c1(%0: tensor<8x4xi64>) {
    // expected-error@+1 {{zb.accumulate_add: wrong element type of value: expected a float type, got i64 (C1)}}
    %r = "zb.accumulate_add"(%0) : (tensor<8x4xi64>) -> tensor<8x4xi64>
    return
  }
  func.func @adamw_c1(%0: tensor<8x4xi64>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<i64>, %5: tensor<2xf64>) {
    // expected-error@+1 {{zb.adamw: wrong element type of parameter: expected a float type, got i64 (C1)}}
    %r:3 = "zb.adamw"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xi64>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adamw_c2(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<4xf32>, %3: tensor<8x4xf32>, %4: tensor<i64>, %5: tensor<2xf64>) {
    // expected-error@+1 {{zb.adamw: wrong type of exp_avg: expected tensor<8x4xf32> (the type of parameter), got tensor<4xf32> (C2)}}
    %r:3 = "zb.adamw"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adamw_c3(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<i32>, %5: tensor<2xf64>) {
    // expected-error@+1 {{zb.adamw: wrong type of step: expected tensor<i64> (the number of the step, from 1), got tensor<i32> (C3)}}
    %r:3 = "zb.adamw"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i32>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adamw_c3_b(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<1xi64>, %5: tensor<2xf64>) {
    // expected-error@+1 {{zb.adamw: wrong type of step: expected tensor<i64> (the number of the step, from 1), got tensor<1xi64> (C3)}}
    %r:3 = "zb.adamw"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<1xi64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adamw_c4(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<i64>, %5: tensor<2xf32>) {
    // expected-error@+1 {{zb.adamw: wrong type of settings: expected tensor<2xf64> (learning rate and weight decay), got tensor<2xf32> (C4)}}
    %r:3 = "zb.adamw"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adam_c1(%0: tensor<8x4xi64>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<i64>, %5: tensor<2xf64>) {
    // expected-error@+1 {{zb.adam: wrong element type of parameter: expected a float type, got i64 (C1)}}
    %r:3 = "zb.adam"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xi64>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adam_c2(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<4xf32>, %3: tensor<8x4xf32>, %4: tensor<i64>, %5: tensor<2xf64>) {
    // expected-error@+1 {{zb.adam: wrong type of exp_avg: expected tensor<8x4xf32> (the type of parameter), got tensor<4xf32> (C2)}}
    %r:3 = "zb.adam"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adam_c3(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<i32>, %5: tensor<2xf64>) {
    // expected-error@+1 {{zb.adam: wrong type of step: expected tensor<i64> (the number of the step, from 1), got tensor<i32> (C3)}}
    %r:3 = "zb.adam"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i32>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adam_c3_b(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<1xi64>, %5: tensor<2xf64>) {
    // expected-error@+1 {{zb.adam: wrong type of step: expected tensor<i64> (the number of the step, from 1), got tensor<1xi64> (C3)}}
    %r:3 = "zb.adam"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<1xi64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adam_c4(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<i64>, %5: tensor<2xf32>) {
    // expected-error@+1 {{zb.adam: wrong type of settings: expected tensor<2xf64> (learning rate and weight decay), got tensor<2xf32> (C4)}}
    %r:3 = "zb.adam"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @lion_c1(%0: tensor<8x4xi64>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<i64>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.lion: wrong element type of parameter: expected a float type, got i64 (C1)}}
    %r:2 = "zb.lion"(%0, %1, %2, %3, %4) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xi64>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @lion_c2(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<4xf32>, %3: tensor<i64>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.lion: wrong type of exp_avg: expected tensor<8x4xf32> (the type of parameter), got tensor<4xf32> (C2)}}
    %r:2 = "zb.lion"(%0, %1, %2, %3, %4) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @lion_c3(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<i32>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.lion: wrong type of step: expected tensor<i64> (the number of the step, from 1), got tensor<i32> (C3)}}
    %r:2 = "zb.lion"(%0, %1, %2, %3, %4) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i32>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @lion_c3_b(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<1xi64>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.lion: wrong type of step: expected tensor<i64> (the number of the step, from 1), got tensor<1xi64> (C3)}}
    %r:2 = "zb.lion"(%0, %1, %2, %3, %4) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<1xi64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @lion_c4(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<i64>, %4: tensor<2xf32>) {
    // expected-error@+1 {{zb.lion: wrong type of settings: expected tensor<2xf64> (learning rate and weight decay), got tensor<2xf32> (C4)}}
    %r:2 = "zb.lion"(%0, %1, %2, %3, %4) {beta1 = 0.9 : f64, beta2 = 0.95 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @sgd_c1(%0: tensor<8x4xi64>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<i64>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.sgd: wrong element type of parameter: expected a float type, got i64 (C1)}}
    %r:2 = "zb.sgd"(%0, %1, %2, %3, %4) {momentum = 0.9 : f64, nesterov = true} : (tensor<8x4xi64>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @sgd_c2(%0: tensor<8x4xf32>, %1: tensor<4xf32>, %2: tensor<8x4xf32>, %3: tensor<i64>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.sgd: wrong type of gradient: expected tensor<8x4xf32> (the type of parameter), got tensor<4xf32> (C2)}}
    %r:2 = "zb.sgd"(%0, %1, %2, %3, %4) {momentum = 0.9 : f64, nesterov = true} : (tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @sgd_c2_b(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<4xf32>, %3: tensor<i64>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.sgd: wrong type of momentum_buffer: expected tensor<8x4xf32> (the type of parameter), got tensor<4xf32> (C2)}}
    %r:2 = "zb.sgd"(%0, %1, %2, %3, %4) {momentum = 0.9 : f64, nesterov = true} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @sgd_c3(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.sgd: wrong type of step: expected tensor<i64> (the number of the step, from 1), got tensor<8x4xf32> (C3)}}
    %r:2 = "zb.sgd"(%0, %1, %2, %3, %4) {momentum = 0.9 : f64, nesterov = true} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @sgd_c4(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<i64>, %3: tensor<1xf64>) {
    // expected-error@+1 {{zb.sgd: wrong type of settings: expected tensor<2xf64> (learning rate and weight decay), got tensor<1xf64> (C4)}}
    %r = "zb.sgd"(%0, %1, %2, %3) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<1xf64>) -> tensor<8x4xf32>
    return
  }
  func.func @sgd_c5(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<i64>, %3: tensor<2xf64>) {
    // expected-error@+1 {{zb.sgd: momentum and momentum_buffer do not fit: expected 5 operands and 2 results (C5)}}
    %r:2 = "zb.sgd"(%0, %1, %2, %3) {momentum = 0.9 : f64, nesterov = true} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @sgd_c5_b(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<i64>, %4: tensor<2xf64>) {
    // expected-error@+1 {{zb.sgd: momentum and momentum_buffer do not fit: expected 4 operands and 1 result (C5)}}
    %r:2 = "zb.sgd"(%0, %1, %2, %3, %4) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
}
