// Every constraint of the ops of ir/ops/matmul.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @matmul_c1(%0: tensor<3xf32>, %1: tensor<4x3xf32>) {
    // expected-error@+1 {{zb.matmul: operands must be matrices or batches of them: expected rank 2 or more, got ranks 1 and 2 (C1)}}
    %r = "zb.matmul"(%0, %1) {transpose_rhs = true} : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
    return
  }
  func.func @matmul_c2(%0: tensor<5x2x3xi64>, %1: tensor<4x3xi64>) {
    // expected-error@+1 {{zb.matmul: wrong element type of lhs: expected a float type, got i64 (C2)}}
    %r = "zb.matmul"(%0, %1) {transpose_rhs = true} : (tensor<5x2x3xi64>, tensor<4x3xi64>) -> tensor<5x2x4xf32>
    return
  }
  func.func @matmul_c2_b(%0: tensor<5x2x3xf32>, %1: tensor<4x3xf64>) {
    // expected-error@+1 {{zb.matmul: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r = "zb.matmul"(%0, %1) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<4x3xf64>) -> tensor<5x2x4xf32>
    return
  }
  func.func @matmul_c3(%0: tensor<5x2x3xf32>, %1: tensor<4x3xf32>) {
    // expected-error@+1 {{zb.matmul: the inner dimensions differ: expected equal ones, got 3 of lhs and 4 of rhs (C3)}}
    %r = "zb.matmul"(%0, %1) : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
    return
  }
  func.func @matmul_c4(%0: tensor<5x2x3xf32>, %1: tensor<3x4x3xf32>) {
    // expected-error@+1 {{zb.matmul: the leading dimensions do not broadcast: got 5x2x3xf32 and 3x4x3xf32 (C4)}}
    %r = "zb.matmul"(%0, %1) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<3x4x3xf32>) -> tensor<5x2x4xf32>
    return
  }
  func.func @matmul_c6(%0: tensor<2x3xf32>, %1: tensor<3x4xf32>) {
    // expected-error@+1 {{zb.matmul: a sum of f32 cannot give f64: expected f32 (C6)}}
    %r = "zb.matmul"(%0, %1) {dtype = "f64"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf64>
    return
  }
  func.func @matmul_c6_b(%0: tensor<2x3xbf16>, %1: tensor<3x4xbf16>) {
    // expected-error@+1 {{zb.matmul: unknown dtype 'float' (C6)}}
    %r = "zb.matmul"(%0, %1) {dtype = "float"} : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
    return
  }
  func.func @matmul_c6_c(%0: tensor<2x3xbf16>, %1: tensor<3x4xbf16>) {
    // expected-error@+1 {{expected tensor<2x4xf32>}}
    %r = "zb.matmul"(%0, %1) {dtype = "f32"} : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
    return
  }
  func.func @matmul_c7(%0: tensor<2x3xf32>, %1: tensor<3x4xf32>, %2: tensor<3xf32>) {
    // expected-error@+1 {{zb.matmul: wrong type of bias: expected tensor<4xf32> (one for each column of the product), got tensor<3xf32> (C7)}}
    %r = "zb.matmul"(%0, %1, %2) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @matmul_c7_b(%0: tensor<2x3xbf16>, %1: tensor<3x4xbf16>, %2: tensor<4xbf16>) {
    // expected-error@+1 {{zb.matmul: wrong type of bias: expected tensor<4xf32> (one for each column of the product), got tensor<4xbf16> (C7)}}
    %r = "zb.matmul"(%0, %1, %2) {dtype = "f32"} : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<2x4xf32>
    return
  }
  func.func @matmul_grad_c1(%0: tensor<3xf32>, %1: tensor<4x3xf32>, %2: tensor<5x2x4xf32>) {
    // expected-error@+1 {{zb.matmul_grad: operands must be matrices or batches of them: expected rank 2 or more, got ranks 1 and 2 (C1)}}
    %r:2 = "zb.matmul_grad"(%0, %1, %2) {transpose_rhs = true} : (tensor<3xf32>, tensor<4x3xf32>, tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<4x3xf32>)
    return
  }
  func.func @matmul_grad_c2(%0: tensor<5x2x3xi64>, %1: tensor<4x3xi64>, %2: tensor<5x2x4xf32>) {
    // expected-error@+1 {{zb.matmul_grad: wrong element type of lhs: expected a float type, got i64 (C2)}}
    %r:2 = "zb.matmul_grad"(%0, %1, %2) {transpose_rhs = true} : (tensor<5x2x3xi64>, tensor<4x3xi64>, tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<4x3xf32>)
    return
  }
  func.func @matmul_grad_c2_b(%0: tensor<5x2x3xf32>, %1: tensor<4x3xf64>, %2: tensor<5x2x4xf32>) {
    // expected-error@+1 {{zb.matmul_grad: wrong element type of rhs: expected f32 as lhs has, got f64 (C2)}}
    %r:2 = "zb.matmul_grad"(%0, %1, %2) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<4x3xf64>, tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<4x3xf32>)
    return
  }
  func.func @matmul_grad_c3(%0: tensor<5x2x3xf32>, %1: tensor<4x3xf32>, %2: tensor<5x2x4xf32>) {
    // expected-error@+1 {{zb.matmul_grad: the inner dimensions differ: expected equal ones, got 3 of lhs and 4 of rhs (C3)}}
    %r:2 = "zb.matmul_grad"(%0, %1, %2) : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<4x3xf32>)
    return
  }
  func.func @matmul_grad_c4(%0: tensor<5x2x3xf32>, %1: tensor<3x4x3xf32>, %2: tensor<5x2x4xf32>) {
    // expected-error@+1 {{zb.matmul_grad: the leading dimensions do not broadcast: got 5x2x3xf32 and 3x4x3xf32 (C4)}}
    %r:2 = "zb.matmul_grad"(%0, %1, %2) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<3x4x3xf32>, tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<4x3xf32>)
    return
  }
  func.func @matmul_grad_c5(%0: tensor<5x2x3xf32>, %1: tensor<4x3xf32>, %2: tensor<5x2x3xf32>) {
    // expected-error@+1 {{zb.matmul_grad: wrong type of dout: expected tensor<5x2x4xf32> (the type of the product), got tensor<5x2x3xf32> (C5)}}
    %r:2 = "zb.matmul_grad"(%0, %1, %2) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<5x2x3xf32>) -> (tensor<5x2x3xf32>, tensor<4x3xf32>)
    return
  }
}
