// Every constraint of the ops of ir/ops/fused.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @swiglu_c1(%0: tensor<2x4xi64>, %1: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.swiglu: wrong element type of gate: expected a float type, got i64 (C1)}}
    %r = "zb.swiglu"(%0, %1) : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @swiglu_c2(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    // expected-error@+1 {{zb.swiglu: wrong type of up: expected tensor<2x4xf32> (the type of gate), got tensor<4xf32> (C2)}}
    %r = "zb.swiglu"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @swiglu_grad_c1(%0: tensor<2x4xi32>, %1: tensor<2x4xi32>, %2: tensor<2x4xi32>) {
    // expected-error@+1 {{zb.swiglu_grad: wrong element type of gate: expected a float type, got i32 (C1)}}
    %r:2 = "zb.swiglu_grad"(%0, %1, %2) : (tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>)
    return
  }
  func.func @swiglu_grad_c2(%0: tensor<2x4xf32>, %1: tensor<2x4xbf16>, %2: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.swiglu_grad: wrong type of up: expected tensor<2x4xf32> (the type of gate), got tensor<2x4xbf16> (C2)}}
    %r:2 = "zb.swiglu_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x4xbf16>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xbf16>)
    return
  }
  func.func @swiglu_grad_c3(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>, %2: tensor<4x2xf32>) {
    // expected-error@+1 {{zb.swiglu_grad: wrong type of dout: expected tensor<2x4xf32> (the type of gate), got tensor<4x2xf32> (C3)}}
    %r:2 = "zb.swiglu_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    return
  }
  func.func @rotary_c1(%0: tensor<2x4xi64>, %1: tensor<2x4xi64>, %2: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.rotary: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.rotary"(%0, %1, %2) : (tensor<2x4xi64>, tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @rotary_c2(%0: tensor<2x5xf32>, %1: tensor<2x5xf32>, %2: tensor<2x5xf32>) {
    // expected-error@+1 {{zb.rotary: the halves of the last dimension turn together: expected an even size, got tensor<2x5xf32> (C2)}}
    %r = "zb.rotary"(%0, %1, %2) : (tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    return
  }
  func.func @rotary_c3(%0: tensor<2x4xf32>, %1: tensor<2x4xbf16>, %2: tensor<2x4xbf16>) {
    // expected-error@+1 {{zb.rotary: wrong element type of cos: expected f32, got bf16 (C3)}}
    %r = "zb.rotary"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<2x4xf32>
    return
  }
  func.func @rotary_c4(%0: tensor<2x4xf32>, %1: tensor<2x1xf32>, %2: tensor<2x1xf32>) {
    // expected-error@+1 {{zb.rotary: cos does not broadcast to x along its last dimension: got tensor<2x1xf32> and tensor<2x4xf32> (C4)}}
    %r = "zb.rotary"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @rotary_c5(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.rotary: wrong type of sin: expected tensor<2x4xf32> (the type of cos), got tensor<4xf32> (C5)}}
    %r = "zb.rotary"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @rotary_grad_c1(%0: tensor<2x4xi64>, %1: tensor<2x4xi64>, %2: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.rotary_grad: wrong element type of dout: expected a float type, got i64 (C1)}}
    %r = "zb.rotary_grad"(%0, %1, %2) : (tensor<2x4xi64>, tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi64>
    return
  }
  func.func @rotary_grad_c2(%0: tensor<2x5xf32>, %1: tensor<2x5xf32>, %2: tensor<2x5xf32>) {
    // expected-error@+1 {{zb.rotary_grad: the halves of the last dimension turn together: expected an even size, got tensor<2x5xf32> (C2)}}
    %r = "zb.rotary_grad"(%0, %1, %2) : (tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    return
  }
  func.func @rotary_grad_c3(%0: tensor<2x4xf32>, %1: tensor<2x4xbf16>, %2: tensor<2x4xbf16>) {
    // expected-error@+1 {{zb.rotary_grad: wrong element type of cos: expected f32, got bf16 (C3)}}
    %r = "zb.rotary_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<2x4xf32>
    return
  }
  func.func @rotary_grad_c4(%0: tensor<2x4xf32>, %1: tensor<2x1xf32>, %2: tensor<2x1xf32>) {
    // expected-error@+1 {{zb.rotary_grad: cos does not broadcast to x along its last dimension: got tensor<2x1xf32> and tensor<2x4xf32> (C4)}}
    %r = "zb.rotary_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @rotary_grad_c5(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>, %2: tensor<4xf32>) {
    // expected-error@+1 {{zb.rotary_grad: wrong type of sin: expected tensor<2x4xf32> (the type of cos), got tensor<4xf32> (C5)}}
    %r = "zb.rotary_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
}
