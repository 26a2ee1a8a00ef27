// Every constraint of the ops of ir/ops/clip.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @square_sum_c1(%0: tensor<8x4xi64>) {
    // expected-error@+1 {{zb.square_sum: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.square_sum"(%0) : (tensor<8x4xi64>) -> tensor<f64>
    return
  }
  func.func @abs_max_c1(%0: tensor<8x4xi1>) {
    // expected-error@+1 {{zb.abs_max: wrong element type of x: expected a float type, got i1 (C1)}}
    %r = "zb.abs_max"(%0) : (tensor<8x4xi1>) -> tensor<f64>
    return
  }
  func.func @clip_scale_c1(%0: tensor<3xf32>, %1: tensor<i64>, %2: tensor<1xf64>) {
    // expected-error@+1 {{zb.clip_scale: expected a vector of f64 with a part of each parameter (C1)}}
    %r:2 = "zb.clip_scale"(%0, %1, %2) : (tensor<3xf32>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
    return
  }
  func.func @clip_scale_c2(%0: tensor<3xf64>, %1: tensor<i64>, %2: tensor<1xf64>) {
    // expected-error@+1 {{zb.clip_scale: unknown norm_type '3' (C2)}}
    %r:2 = "zb.clip_scale"(%0, %1, %2) {norm_type = "3"} : (tensor<3xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
    return
  }
  func.func @clip_scale_c3(%0: tensor<3xf64>, %1: tensor<i32>, %2: tensor<1xf64>) {
    // expected-error@+1 {{zb.clip_scale: wrong type of step: expected tensor<i64> (the number of the step, from 1), got tensor<i32> (C3)}}
    %r:2 = "zb.clip_scale"(%0, %1, %2) : (tensor<3xf64>, tensor<i32>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
    return
  }
  func.func @clip_scale_c4(%0: tensor<3xf64>, %1: tensor<i64>, %2: tensor<f64>) {
    // expected-error@+1 {{zb.clip_scale: wrong type of max_norm: expected tensor<1xf64> (the greatest norm), got tensor<f64> (C4)}}
    %r:2 = "zb.clip_scale"(%0, %1, %2) : (tensor<3xf64>, tensor<i64>, tensor<f64>) -> (tensor<2xf64>, tensor<f32>)
    return
  }
  func.func @clip_scale_c5(%0: tensor<1xf64>, %1: tensor<i64>, %2: tensor<1xf64>) {
    // expected-error@+1 {{zb.clip_scale: the last two parts are the sum of losses and of their weights: there are 1 (C5)}}
    %r:2 = "zb.clip_scale"(%0, %1, %2) {weighted = true} : (tensor<1xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
    return
  }
}
