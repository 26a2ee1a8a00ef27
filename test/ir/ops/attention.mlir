// Every constraint of the ops of ir/ops/attention.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @attention_c1(%0: tensor<8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>) {
    // expected-error@+1 {{zb.attention: q, k and v need rank 4: expected 4, got 3 and 4 (C1)}}
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_c2(%0: tensor<2x8x4x16xi64>, %1: tensor<2x6x2x16xi64>, %2: tensor<2x6x2x16xi64>, %3: tensor<2x1x8x6xf32>) {
    // expected-error@+1 {{zb.attention: wrong element type of q: expected a float type, got i64 (C2)}}
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xi64>, tensor<2x6x2x16xi64>, tensor<2x6x2x16xi64>, tensor<2x1x8x6xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_c2_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf64>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>) {
    // expected-error@+1 {{zb.attention: wrong element type of k: expected f32 as q has, got f64 (C2)}}
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf64>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_c3(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x32xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>) {
    // expected-error@+1 {{zb.attention: k does not fit q: expected batch 2 and width 16, got 2 and 32 (C3)}}
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x32xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_c4(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x3x16xf32>, %2: tensor<2x6x3x16xf32>, %3: tensor<2x1x8x6xf32>) {
    // expected-error@+1 {{zb.attention: the heads do not divide: expected a divisor of 4 heads of q, got 3 heads of k (C4)}}
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x3x16xf32>, tensor<2x6x3x16xf32>, tensor<2x1x8x6xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_c5(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x5x2x16xf32>, %3: tensor<2x1x8x6xf32>) {
    // expected-error@+1 {{zb.attention: wrong type of v: expected tensor<2x6x2x16xf32> (the type of k), got tensor<2x5x2x16xf32> (C5)}}
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x5x2x16xf32>, tensor<2x1x8x6xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_c6(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x3x8x6xf32>) {
    // expected-error@+1 {{zb.attention: the mask does not broadcast to the scores: expected 2x4x8x6xf32, got 2x3x8x6xf32 (C6)}}
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x3x8x6xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_c6_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xi1>) {
    // expected-error@+1 {{zb.attention: the mask does not broadcast to the scores: expected 2x4x8x6xf32, got 2x1x8x6xi1 (C6)}}
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xi1>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_grad_c1(%0: tensor<8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: q, k and v need rank 4: expected 4, got 3 and 4 (C1)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c2(%0: tensor<2x8x4x16xi64>, %1: tensor<2x6x2x16xi64>, %2: tensor<2x6x2x16xi64>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: wrong element type of q: expected a float type, got i64 (C2)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xi64>, tensor<2x6x2x16xi64>, tensor<2x6x2x16xi64>, tensor<2x1x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c2_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf64>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: wrong element type of k: expected f32 as q has, got f64 (C2)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf64>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c3(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x32xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: k does not fit q: expected batch 2 and width 16, got 2 and 32 (C3)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x32xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c4(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x3x16xf32>, %2: tensor<2x6x3x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: the heads do not divide: expected a divisor of 4 heads of q, got 3 heads of k (C4)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x3x16xf32>, tensor<2x6x3x16xf32>, tensor<2x1x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c5(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x5x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: wrong type of v: expected tensor<2x6x2x16xf32> (the type of k), got tensor<2x5x2x16xf32> (C5)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x5x2x16xf32>, tensor<2x1x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c6(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x3x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: the mask does not broadcast to the scores: expected 2x4x8x6xf32, got 2x3x8x6xf32 (C6)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x3x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c6_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xi1>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: the mask does not broadcast to the scores: expected 2x4x8x6xf32, got 2x1x8x6xi1 (C6)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xi1>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c7(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x6x2x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: wrong type of out: expected tensor<2x8x4x16xf32> (the type of q), got tensor<2x6x2x16xf32> (C7)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<2x6x2x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c7_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x8x4x16xf32>, %4: tensor<2x4x8xf32>, %5: tensor<2x6x2x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: wrong type of dout: expected tensor<2x8x4x16xf32> (the type of q), got tensor<2x6x2x16xf32> (C7)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x6x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_grad_c8(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x8x4xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_grad: wrong type of lse: expected tensor<2x4x8xf32> (batch, heads and tokens of q), got tensor<2x8x4xf32> (C8)}}
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_c1(%0: tensor<8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: q, k and v need rank 4: expected 4, got 3 and 4 (C1)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %c) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c2(%0: tensor<2x8x4x16xi64>, %1: tensor<2x6x2x16xi64>, %2: tensor<2x6x2x16xi64>, %3: tensor<2x1x8x6xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: wrong element type of q: expected a float type, got i64 (C2)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %c) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xi64>, tensor<2x6x2x16xi64>, tensor<2x6x2x16xi64>, tensor<2x1x8x6xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c2_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf64>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: wrong element type of k: expected f32 as q has, got f64 (C2)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %c) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf64>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c3(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x32xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: k does not fit q: expected batch 2 and width 16, got 2 and 32 (C3)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %c) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x32xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c4(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x3x16xf32>, %2: tensor<2x6x3x16xf32>, %3: tensor<2x1x8x6xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: the heads do not divide: expected a divisor of 4 heads of q, got 3 heads of k (C4)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %c) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x3x16xf32>, tensor<2x6x3x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c5(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x5x2x16xf32>, %3: tensor<2x1x8x6xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: wrong type of v: expected tensor<2x6x2x16xf32> (the type of k), got tensor<2x5x2x16xf32> (C5)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %c) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x5x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c6(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x3x8x6xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: the mask does not broadcast to the scores: expected 2x4x8x6xf32, got 2x3x8x6xf32 (C6)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %c) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x3x8x6xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c6_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xi1>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: the mask does not broadcast to the scores: expected 2x4x8x6xf32, got 2x1x8x6xi1 (C6)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %c) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xi1>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_grad_c1(%0: tensor<8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: q, k and v need rank 4: expected 4, got 3 and 4 (C1)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c2(%0: tensor<2x8x4x16xi64>, %1: tensor<2x6x2x16xi64>, %2: tensor<2x6x2x16xi64>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: wrong element type of q: expected a float type, got i64 (C2)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xi64>, tensor<2x6x2x16xi64>, tensor<2x6x2x16xi64>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c2_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf64>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: wrong element type of k: expected f32 as q has, got f64 (C2)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf64>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c3(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x32xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: k does not fit q: expected batch 2 and width 16, got 2 and 32 (C3)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x32xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c4(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x3x16xf32>, %2: tensor<2x6x3x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: the heads do not divide: expected a divisor of 4 heads of q, got 3 heads of k (C4)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x3x16xf32>, tensor<2x6x3x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c5(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x5x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: wrong type of v: expected tensor<2x6x2x16xf32> (the type of k), got tensor<2x5x2x16xf32> (C5)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x5x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c6(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x3x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: the mask does not broadcast to the scores: expected 2x4x8x6xf32, got 2x3x8x6xf32 (C6)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x3x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c6_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xi1>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: the mask does not broadcast to the scores: expected 2x4x8x6xf32, got 2x1x8x6xi1 (C6)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xi1>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c7(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x6x2x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: wrong type of out: expected tensor<2x8x4x16xf32> (the type of q), got tensor<2x6x2x16xf32> (C7)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x6x2x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c7_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x8x4x16xf32>, %4: tensor<2x4x8xf32>, %5: tensor<2x6x2x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: wrong type of dout: expected tensor<2x8x4x16xf32> (the type of q), got tensor<2x6x2x16xf32> (C7)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %c, %3, %4, %5) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x6x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_c8(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x8x4xf32>, %6: tensor<2x8x4x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout_grad: wrong type of lse: expected tensor<2x4x8xf32> (batch, heads and tokens of q), got tensor<2x8x4xf32> (C8)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %c, %4, %5, %6) {causal = true, op = 7 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_c9(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %c: tensor<5xi64>) {
    // expected-error@+1 {{zb.attention_dropout: wrong type of counter: expected tensor<4xi64> (seed, step, micro-batch, 0), got tensor<5xi64> (C9)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %c) {causal = true, op = 0 : i64, rate = 0.1 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<5xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c9_b(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: attribute 'rate' is out of range: expected 0 <= rate < 1, got 1 (C9)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %c) {causal = true, op = 0 : i64, rate = 1.0 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_c9_c(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %c: tensor<4xi64>) {
    // expected-error@+1 {{zb.attention_dropout: attribute 'op' is out of range: expected 0 to 1048575, got -1 (C9)}}
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %c) {causal = true, op = -1 : i64, rate = 0.1 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_grad_c9(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<4xi64>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    // expected-error@+1 {{zb.attention_dropout_grad: attribute 'rate' is out of range: expected 0 <= rate < 1, got 2 (C9)}}
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, op = 0 : i64, rate = 2.0 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
}
