// Every constraint of the ops of ir/ops/reduce.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @reduce_sum_c1(%0: tensor<2x4xi1>) {
    // expected-error@+1 {{zb.reduce_sum: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.reduce_sum"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xi1>) -> tensor<2x1xi1>
    return
  }
  func.func @reduce_sum_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_sum: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_sum"(%0) {axes = array<i64: 2>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_sum_c2_b(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_sum: an axis is out of range: expected 0 to 1, got -1 (C2)}}
    %r = "zb.reduce_sum"(%0) {axes = array<i64: -1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_sum_c2_c(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_sum: axis 1 is named twice (C2)}}
    %r = "zb.reduce_sum"(%0) {axes = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_sum_grad_c1(%0: tensor<2x4xi64>, %1: tensor<2xi64>, %2: tensor<2xi64>) {
    // expected-error@+1 {{zb.reduce_sum_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.reduce_sum_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @reduce_sum_grad_c2(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_sum_grad: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_sum_grad"(%0, %1, %2) {axes = array<i64: 2>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_sum_grad_c3(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_sum_grad: wrong type of out: expected tensor<2xf32> (the type of the reduced x), got tensor<4xf32> (C3)}}
    %r = "zb.reduce_sum_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_sum_grad_c3_b(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2x1xf32>) {
    // expected-error@+1 {{zb.reduce_sum_grad: wrong type of dout: expected tensor<2xf32> (the type of the reduced x), got tensor<2x1xf32> (C3)}}
    %r = "zb.reduce_sum_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_mean_c1(%0: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.reduce_mean: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.reduce_mean"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xi64>) -> tensor<2x1xi64>
    return
  }
  func.func @reduce_mean_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_mean: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_mean"(%0) {axes = array<i64: 2>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_mean_c2_b(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_mean: an axis is out of range: expected 0 to 1, got -1 (C2)}}
    %r = "zb.reduce_mean"(%0) {axes = array<i64: -1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_mean_c2_c(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_mean: axis 1 is named twice (C2)}}
    %r = "zb.reduce_mean"(%0) {axes = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_mean_grad_c1(%0: tensor<2x4xi64>, %1: tensor<2xi64>, %2: tensor<2xi64>) {
    // expected-error@+1 {{zb.reduce_mean_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.reduce_mean_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @reduce_mean_grad_c2(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_mean_grad: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_mean_grad"(%0, %1, %2) {axes = array<i64: 2>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_mean_grad_c3(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_mean_grad: wrong type of out: expected tensor<2xf32> (the type of the reduced x), got tensor<4xf32> (C3)}}
    %r = "zb.reduce_mean_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_mean_grad_c3_b(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2x1xf32>) {
    // expected-error@+1 {{zb.reduce_mean_grad: wrong type of dout: expected tensor<2xf32> (the type of the reduced x), got tensor<2x1xf32> (C3)}}
    %r = "zb.reduce_mean_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_max_c1(%0: tensor<2x4xi1>) {
    // expected-error@+1 {{zb.reduce_max: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.reduce_max"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xi1>) -> tensor<2x1xi1>
    return
  }
  func.func @reduce_max_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_max: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_max"(%0) {axes = array<i64: 2>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_max_c2_b(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_max: an axis is out of range: expected 0 to 1, got -1 (C2)}}
    %r = "zb.reduce_max"(%0) {axes = array<i64: -1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_max_c2_c(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_max: axis 1 is named twice (C2)}}
    %r = "zb.reduce_max"(%0) {axes = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_max_grad_c1(%0: tensor<2x4xi64>, %1: tensor<2xi64>, %2: tensor<2xi64>) {
    // expected-error@+1 {{zb.reduce_max_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.reduce_max_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @reduce_max_grad_c2(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_max_grad: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_max_grad"(%0, %1, %2) {axes = array<i64: 2>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_max_grad_c3(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_max_grad: wrong type of out: expected tensor<2xf32> (the type of the reduced x), got tensor<4xf32> (C3)}}
    %r = "zb.reduce_max_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_max_grad_c3_b(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2x1xf32>) {
    // expected-error@+1 {{zb.reduce_max_grad: wrong type of dout: expected tensor<2xf32> (the type of the reduced x), got tensor<2x1xf32> (C3)}}
    %r = "zb.reduce_max_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_min_c1(%0: tensor<2x4xi1>) {
    // expected-error@+1 {{zb.reduce_min: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.reduce_min"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xi1>) -> tensor<2x1xi1>
    return
  }
  func.func @reduce_min_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_min: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_min"(%0) {axes = array<i64: 2>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_min_c2_b(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_min: an axis is out of range: expected 0 to 1, got -1 (C2)}}
    %r = "zb.reduce_min"(%0) {axes = array<i64: -1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_min_c2_c(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_min: axis 1 is named twice (C2)}}
    %r = "zb.reduce_min"(%0) {axes = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_min_grad_c1(%0: tensor<2x4xi64>, %1: tensor<2xi64>, %2: tensor<2xi64>) {
    // expected-error@+1 {{zb.reduce_min_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.reduce_min_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @reduce_min_grad_c2(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_min_grad: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_min_grad"(%0, %1, %2) {axes = array<i64: 2>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_min_grad_c3(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_min_grad: wrong type of out: expected tensor<2xf32> (the type of the reduced x), got tensor<4xf32> (C3)}}
    %r = "zb.reduce_min_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_min_grad_c3_b(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2x1xf32>) {
    // expected-error@+1 {{zb.reduce_min_grad: wrong type of dout: expected tensor<2xf32> (the type of the reduced x), got tensor<2x1xf32> (C3)}}
    %r = "zb.reduce_min_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_prod_c1(%0: tensor<2x4xi1>) {
    // expected-error@+1 {{zb.reduce_prod: wrong element type of x: expected a float type, i64 or i32, got i1 (C1)}}
    %r = "zb.reduce_prod"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xi1>) -> tensor<2x1xi1>
    return
  }
  func.func @reduce_prod_c2(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_prod: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_prod"(%0) {axes = array<i64: 2>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_prod_c2_b(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_prod: an axis is out of range: expected 0 to 1, got -1 (C2)}}
    %r = "zb.reduce_prod"(%0) {axes = array<i64: -1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_prod_c2_c(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.reduce_prod: axis 1 is named twice (C2)}}
    %r = "zb.reduce_prod"(%0) {axes = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_prod_grad_c1(%0: tensor<2x4xi64>, %1: tensor<2xi64>, %2: tensor<2xi64>) {
    // expected-error@+1 {{zb.reduce_prod_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.reduce_prod_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @reduce_prod_grad_c2(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_prod_grad: an axis is out of range: expected 0 to 1, got 2 (C2)}}
    %r = "zb.reduce_prod_grad"(%0, %1, %2) {axes = array<i64: 2>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_prod_grad_c3(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.reduce_prod_grad: wrong type of out: expected tensor<2xf32> (the type of the reduced x), got tensor<4xf32> (C3)}}
    %r = "zb.reduce_prod_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_prod_grad_c3_b(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2x1xf32>) {
    // expected-error@+1 {{zb.reduce_prod_grad: wrong type of dout: expected tensor<2xf32> (the type of the reduced x), got tensor<2x1xf32> (C3)}}
    %r = "zb.reduce_prod_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_sum_c4(%0: tensor<2x4xbf16>) {
    // expected-error@+1 {{zb.reduce_sum: a sum of bf16 cannot give f16: expected f32 (C4)}}
    %r = "zb.reduce_sum"(%0) {axes = array<i64: 1>, dtype = "f16"} : (tensor<2x4xbf16>) -> tensor<2xf16>
    return
  }
  func.func @top_k_c1(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.top_k: attribute 'axis' is out of range: expected 0 to 1, got 2 (C1)}}
    %r = "zb.top_k"(%0) {axis = 2 : i64, k = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x1xi64>
    return
  }
  func.func @top_k_c2(%0: tensor<2x4xi1>) {
    // expected-error@+1 {{zb.top_k: wrong element type of x: expected a float type, i64 or i32, got i1 (C2)}}
    %r = "zb.top_k"(%0) {axis = 1 : i64, k = 1 : i64} : (tensor<2x4xi1>) -> tensor<2x1xi64>
    return
  }
  func.func @top_k_c3(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.top_k: attribute 'k' is out of range: expected 1 to 4, got 5 (C3)}}
    %r = "zb.top_k"(%0) {axis = 1 : i64, k = 5 : i64} : (tensor<2x4xf32>) -> tensor<2x5xi64>
    return
  }
  func.func @cumsum_c1(%0: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.cumsum: attribute 'axis' is out of range: expected 0 to 1, got 2 (C1)}}
    %r = "zb.cumsum"(%0) {axis = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @cumsum_c2(%0: tensor<2x4xi1>) {
    // expected-error@+1 {{zb.cumsum: wrong element type of x: expected a float type, i64 or i32, got i1 (C2)}}
    %r = "zb.cumsum"(%0) {axis = 1 : i64} : (tensor<2x4xi1>) -> tensor<2x4xi1>
    return
  }
}
