// Every constraint of the ops of ir/ops/loss.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @cross_entropy_c1(%0: tensor<4x8xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.cross_entropy: wrong element type of logits: expected a float type, got i64 (C1)}}
    %r:2 = "zb.cross_entropy"(%0, %1) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<4x8xi64>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return
  }
  func.func @cross_entropy_c1_b(%0: tensor<f32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.cross_entropy: the scores need a class dimension: expected rank 1 or more, got 0 (C1)}}
    %r:2 = "zb.cross_entropy"(%0, %1) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<f32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return
  }
  func.func @cross_entropy_c2(%0: tensor<4x8xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.cross_entropy: wrong element type of labels: expected i64 or i32, got f32 (C2)}}
    %r:2 = "zb.cross_entropy"(%0, %1) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    return
  }
  func.func @cross_entropy_c3(%0: tensor<4x8xf32>, %1: tensor<5xi64>) {
    // expected-error@+1 {{zb.cross_entropy: wrong type of labels: expected tensor<4xi64> (the scores without the class dimension), got tensor<5xi64> (C3)}}
    %r:2 = "zb.cross_entropy"(%0, %1) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<4x8xf32>, tensor<5xi64>) -> (tensor<f32>, tensor<4xf32>)
    return
  }
  func.func @cross_entropy_c4(%0: tensor<4x8xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.cross_entropy: unknown reduction 'average' (C4)}}
    %r:2 = "zb.cross_entropy"(%0, %1) {reduction = "average"} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return
  }
  func.func @cross_entropy_grad_c1(%0: tensor<4x8xi64>, %1: tensor<4xi64>, %2: tensor<4xf32>, %3: tensor<f32>) {
    // expected-error@+1 {{zb.cross_entropy_grad: wrong element type of logits: expected a float type, got i64 (C1)}}
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "mean"} : (tensor<4x8xi64>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @cross_entropy_grad_c1_b(%0: tensor<f32>, %1: tensor<4xi64>, %2: tensor<4xf32>, %3: tensor<f32>) {
    // expected-error@+1 {{zb.cross_entropy_grad: the scores need a class dimension: expected rank 1 or more, got 0 (C1)}}
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "mean"} : (tensor<f32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @cross_entropy_grad_c2(%0: tensor<4x8xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>, %3: tensor<f32>) {
    // expected-error@+1 {{zb.cross_entropy_grad: wrong element type of labels: expected i64 or i32, got f32 (C2)}}
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "mean"} : (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @cross_entropy_grad_c3(%0: tensor<4x8xf32>, %1: tensor<5xi64>, %2: tensor<4xf32>, %3: tensor<f32>) {
    // expected-error@+1 {{zb.cross_entropy_grad: wrong type of labels: expected tensor<4xi64> (the scores without the class dimension), got tensor<5xi64> (C3)}}
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "mean"} : (tensor<4x8xf32>, tensor<5xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @cross_entropy_grad_c4(%0: tensor<4x8xf32>, %1: tensor<4xi64>, %2: tensor<4xf32>, %3: tensor<f32>) {
    // expected-error@+1 {{zb.cross_entropy_grad: unknown reduction 'average' (C4)}}
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "average"} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @cross_entropy_grad_c5(%0: tensor<4x8xf32>, %1: tensor<4xi64>, %2: tensor<5xf32>, %3: tensor<f32>) {
    // expected-error@+1 {{zb.cross_entropy_grad: wrong type of lse: expected tensor<4xf32> (the shape of labels, the type of the loss), got tensor<5xf32> (C5)}}
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi64>, tensor<5xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @cross_entropy_grad_c6(%0: tensor<4x8xf32>, %1: tensor<4xi64>, %2: tensor<4xf32>, %3: tensor<4xf32>) {
    // expected-error@+1 {{zb.cross_entropy_grad: wrong type of dloss: expected tensor<f32> (the type of the loss), got tensor<4xf32> (C6)}}
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>
    return
  }
  func.func @cross_entropy_grad_c6_b(%0: tensor<4x8xf32>, %1: tensor<4xi64>, %2: tensor<4xf32>, %3: tensor<f32>) {
    // expected-error@+1 {{zb.cross_entropy_grad: wrong type of dloss: expected tensor<4xf32> (the type of the loss), got tensor<f32> (C6)}}
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "none"} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @nll_loss_c1(%0: tensor<4x8xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.nll_loss: wrong element type of log_probabilities: expected a float type, got i64 (C1)}}
    %r = "zb.nll_loss"(%0, %1) {reduction = "none"} : (tensor<4x8xi64>, tensor<4xi64>) -> tensor<4xf32>
    return
  }
  func.func @nll_loss_c1_b(%0: tensor<f32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.nll_loss: the scores need a class dimension: expected rank 1 or more, got 0 (C1)}}
    %r = "zb.nll_loss"(%0, %1) {reduction = "none"} : (tensor<f32>, tensor<4xi64>) -> tensor<4xf32>
    return
  }
  func.func @nll_loss_c2(%0: tensor<4x8xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.nll_loss: wrong element type of labels: expected i64 or i32, got f32 (C2)}}
    %r = "zb.nll_loss"(%0, %1) {reduction = "none"} : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @nll_loss_c3(%0: tensor<4x8xf32>, %1: tensor<5xi64>) {
    // expected-error@+1 {{zb.nll_loss: wrong type of labels: expected tensor<4xi64> (the scores without the class dimension), got tensor<5xi64> (C3)}}
    %r = "zb.nll_loss"(%0, %1) {reduction = "none"} : (tensor<4x8xf32>, tensor<5xi64>) -> tensor<4xf32>
    return
  }
  func.func @nll_loss_c4(%0: tensor<4x8xf32>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.nll_loss: unknown reduction 'average' (C4)}}
    %r = "zb.nll_loss"(%0, %1) {reduction = "average"} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4xf32>
    return
  }
  func.func @nll_loss_grad_c1(%0: tensor<4xi64>, %1: tensor<f32>) {
    // expected-error@+1 {{zb.nll_loss_grad: shape needs a class dimension: expected rank 1 or more, got 0 (C1)}}
    %r = "zb.nll_loss_grad"(%0, %1) {reduction = "sum", shape = array<i64>} : (tensor<4xi64>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @nll_loss_grad_c1_b(%0: tensor<4xi64>, %1: tensor<f32>) {
    // expected-error@+1 {{zb.nll_loss_grad: entry 1 of attribute 'shape' is negative: -8 (C1)}}
    %r = "zb.nll_loss_grad"(%0, %1) {reduction = "sum", shape = array<i64: 4, -8>} : (tensor<4xi64>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @nll_loss_grad_c2(%0: tensor<4xf32>, %1: tensor<f32>) {
    // expected-error@+1 {{zb.nll_loss_grad: wrong element type of labels: expected i64 or i32, got f32 (C2)}}
    %r = "zb.nll_loss_grad"(%0, %1) {reduction = "sum", shape = array<i64: 4, 8>} : (tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @nll_loss_grad_c3(%0: tensor<5xi64>, %1: tensor<f32>) {
    // expected-error@+1 {{zb.nll_loss_grad: wrong type of labels: expected tensor<4xi64> (shape without the class dimension), got tensor<5xi64> (C3)}}
    %r = "zb.nll_loss_grad"(%0, %1) {reduction = "sum", shape = array<i64: 4, 8>} : (tensor<5xi64>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @nll_loss_grad_c4(%0: tensor<4xi64>, %1: tensor<f32>) {
    // expected-error@+1 {{zb.nll_loss_grad: unknown reduction '' (C4)}}
    %r = "zb.nll_loss_grad"(%0, %1) {reduction = "", shape = array<i64: 4, 8>} : (tensor<4xi64>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @nll_loss_grad_c5(%0: tensor<4xi64>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.nll_loss_grad: wrong type of dloss: expected tensor<f32> (the type of the loss), got tensor<4xf32> (C5)}}
    %r = "zb.nll_loss_grad"(%0, %1) {reduction = "sum", shape = array<i64: 4, 8>} : (tensor<4xi64>, tensor<4xf32>) -> tensor<4x8xf32>
    return
  }
  func.func @nll_loss_grad_c5_b(%0: tensor<4xi64>, %1: tensor<i64>) {
    // expected-error@+1 {{zb.nll_loss_grad: wrong element type of dloss: expected a float type, got i64 (C5)}}
    %r = "zb.nll_loss_grad"(%0, %1) {reduction = "sum", shape = array<i64: 4, 8>} : (tensor<4xi64>, tensor<i64>) -> tensor<4x8xf32>
    return
  }
}
