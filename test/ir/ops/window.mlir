// Every constraint of the ops of ir/ops/window.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @conv_c1(%0: tensor<1x4x5x6xi64>, %1: tensor<2x4x3x3xi64>) {
    // expected-error@+1 {{zb.conv: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x5x6xi64>, tensor<2x4x3x3xi64>) -> tensor<1x2x3x4xi64>
    return
  }
  func.func @conv_c1_b(%0: tensor<4x5xf32>, %1: tensor<4x5xf32>) {
    // expected-error@+1 {{zb.conv: x has no 1 to 3 spatial dimensions: expected [n, channels, ..], got 4x5xf32 (C1)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c2(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3xbf16>) {
    // expected-error@+1 {{zb.conv: wrong element type of weight: expected f32 as x has, got bf16 (C2)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3xbf16>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c2_b(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3x1xf32>) {
    // expected-error@+1 {{zb.conv: an operand has another rank than x: expected 4 dimensions, got 2x4x3x3x1xf32 (C2)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3x1xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c3(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv: wrong number of entries in strides: expected 2, got 1 (C3)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c3_b(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv: an entry of dilations is out of range: expected 1 to 2^40, got 0 (C3)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 0>} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c3_c(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv: wrong number of entries in pads: expected 4, got 2 (C3)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c3_d(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv: an entry of pads is out of range: expected -1099511627776 to 2^40, got 9223372036854775807 (C3)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 9223372036854775807>, dilations = array<i64: 1, 1>} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c4(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv: channels and groups do not fit: 3 groups of channels of 1x4x5x6xf32, filters of 1x2x3x4xf32, weight 2x4x3x3xf32 (C4)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 3 : i64} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c4_b(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv: channels and groups do not fit: 0 groups of channels of 1x4x5x6xf32, filters of 1x2x3x4xf32, weight 2x4x3x3xf32 (C4)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 0 : i64} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_c5(%0: tensor<1x4x5x6xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv: the windows do not fit: 1x4x5x6xf32 has 0 along spatial dimension 0, expected those of 1x2x0x4xf32 (C5)}}
    %r = "zb.conv"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 9, 1>} : (tensor<1x4x5x6xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x3x4xf32>
    return
  }
  func.func @conv_transpose_c1(%0: tensor<1x2x3x4xi64>, %1: tensor<2x4x3x3xi64>) {
    // expected-error@+1 {{zb.conv_transpose: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xi64>, tensor<2x4x3x3xi64>) -> tensor<1x4x5x6xi64>
    return
  }
  func.func @conv_transpose_c1_b(%0: tensor<4x5xf32>, %1: tensor<4x5xf32>) {
    // expected-error@+1 {{zb.conv_transpose: x has no 1 to 3 spatial dimensions: expected [n, channels, ..], got 4x5xf32 (C1)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 6>} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c2(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xbf16>) {
    // expected-error@+1 {{zb.conv_transpose: wrong element type of weight: expected f32 as x has, got bf16 (C2)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xbf16>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c2_b(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3x1xf32>) {
    // expected-error@+1 {{zb.conv_transpose: an operand has another rank than x: expected 4 dimensions, got 2x4x3x3x1xf32 (C2)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3x1xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c3(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: wrong number of entries in strides: expected 2, got 1 (C3)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c3_b(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: an entry of dilations is out of range: expected 1 to 2^40, got 0 (C3)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 0>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c3_c(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: wrong number of entries in pads: expected 4, got 2 (C3)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c3_d(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: an entry of pads is out of range: expected -1099511627776 to 2^40, got 9223372036854775807 (C3)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 9223372036854775807>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c4(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: channels and groups do not fit: 3 groups of channels of 1x12x5x6xf32, filters of 1x2x3x4xf32, weight 2x4x3x3xf32 (C4)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 3 : i64, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c4_b(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: channels and groups do not fit: got 0 groups (C4)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 0 : i64, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c5(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: the windows do not fit: 1x4x5x6xf32 has 0 along spatial dimension 0, expected those of 1x2x3x4xf32 (C5)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 9, 1>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c5_b(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: the windows do not fit: 1x4x5x6xf32 has 1 along spatial dimension 0, expected those of 1x2x3x4xf32 (C5)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 3, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 6>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c6(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: wrong number of entries in shape: expected 2, got 1 (C6)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_transpose_c6_b(%0: tensor<1x2x3x4xf32>, %1: tensor<2x4x3x3xf32>) {
    // expected-error@+1 {{zb.conv_transpose: an entry of shape is out of range: expected 1 to 2^40, got 0 (C6)}}
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 0, 3>} : (tensor<1x2x3x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x5x6xf32>
    return
  }
  func.func @conv_weight_c1(%0: tensor<1x4x5x6xi64>, %1: tensor<1x2x3x4xi64>) {
    // expected-error@+1 {{zb.conv_weight: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xi64>, tensor<1x2x3x4xi64>) -> tensor<2x4x3x3xi64>
    return
  }
  func.func @conv_weight_c1_b(%0: tensor<4x5xf32>, %1: tensor<4x5xf32>) {
    // expected-error@+1 {{zb.conv_weight: x has no 1 to 3 spatial dimensions: expected [n, channels, ..], got 4x5xf32 (C1)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3, 3>} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c2(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xbf16>) {
    // expected-error@+1 {{zb.conv_weight: wrong element type of dout: expected f32 as x has, got bf16 (C2)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xbf16>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c2_b(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4x1xf32>) {
    // expected-error@+1 {{zb.conv_weight: an operand has another rank than x: expected 4 dimensions, got 1x2x3x4x1xf32 (C2)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4x1xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c3(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: wrong number of entries in strides: expected 2, got 1 (C3)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c3_b(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: an entry of dilations is out of range: expected 1 to 2^40, got 0 (C3)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 0>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c3_c(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: wrong number of entries in pads: expected 4, got 2 (C3)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c3_d(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: an entry of pads is out of range: expected -1099511627776 to 2^40, got 9223372036854775807 (C3)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 9223372036854775807>, dilations = array<i64: 1, 1>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c4(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: channels and groups do not fit: 3 groups of channels of 1x4x5x6xf32, filters of 1x2x3x4xf32, weight 2x1x3x3xf32 (C4)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 3 : i64, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c4_b(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: channels and groups do not fit: 0 groups of channels of 1x4x5x6xf32, filters of 1x2x3x4xf32, weight 2x0x3x3xf32 (C4)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 0 : i64, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c5(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: the windows do not fit: 1x4x5x6xf32 has 0 along spatial dimension 0, expected those of 1x2x3x4xf32 (C5)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 9, 1>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c5_b(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: the windows do not fit: 1x4x5x6xf32 has 1 along spatial dimension 0, expected those of 1x2x3x4xf32 (C5)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 3, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c6(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: wrong number of entries in shape: expected 2, got 1 (C6)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @conv_weight_c6_b(%0: tensor<1x4x5x6xf32>, %1: tensor<1x2x3x4xf32>) {
    // expected-error@+1 {{zb.conv_weight: an entry of shape is out of range: expected 1 to 2^40, got 0 (C6)}}
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 0, 3>} : (tensor<1x4x5x6xf32>, tensor<1x2x3x4xf32>) -> tensor<2x4x3x3xf32>
    return
  }
  func.func @max_place_c1(%0: tensor<2x4x5x6xi64>) {
    // expected-error@+1 {{zb.max_place: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.max_place"(%0) {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 4, 5>} : (tensor<2x4x5x6xi64>) -> tensor<2x4x4x5xi32>
    return
  }
  func.func @max_place_c2(%0: tensor<2x4x5x6xf32>) {
    // expected-error@+1 {{zb.max_place: wrong number of entries in kernel: expected 1 to 3 of 4 dimensions, got 0 (C2)}}
    %r = "zb.max_place"(%0) {kernel = array<i64>, strides = array<i64>, pads = array<i64>, dilations = array<i64>, shape = array<i64>} : (tensor<2x4x5x6xf32>) -> tensor<2x4x4x5xi32>
    return
  }
  func.func @max_place_c2_b(%0: tensor<6xf32>) {
    // expected-error@+1 {{zb.max_place: wrong number of entries in kernel: expected 1 to 3 of 1 dimensions, got 2 (C2)}}
    %r = "zb.max_place"(%0) {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 4, 5>} : (tensor<6xf32>) -> tensor<5xi32>
    return
  }
  func.func @max_place_c3(%0: tensor<2x4x5x6xf32>) {
    // expected-error@+1 {{zb.max_place: wrong number of entries in pads: expected 4, got 2 (C3)}}
    %r = "zb.max_place"(%0) {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 4, 5>} : (tensor<2x4x5x6xf32>) -> tensor<2x4x4x5xi32>
    return
  }
  func.func @max_place_c4(%0: tensor<2x4x5x6xf32>) {
    // expected-error@+1 {{zb.max_place: shape does not fit the windows along spatial dimension 1: expected about 5, got 8 (C4)}}
    %r = "zb.max_place"(%0) {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 4, 8>} : (tensor<2x4x5x6xf32>) -> tensor<2x4x4x5xi32>
    return
  }
  func.func @max_place_c4_b(%0: tensor<2x4x5x6xf32>) {
    // expected-error@+1 {{zb.max_place: wrong number of entries in shape: expected 2, got 1 (C4)}}
    %r = "zb.max_place"(%0) {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 4>} : (tensor<2x4x5x6xf32>) -> tensor<2x4x4x5xi32>
    return
  }
  func.func @max_place_c5(%0: tensor<2x4x5x6xf32>) {
    // expected-error@+1 {{zb.max_place: a window along spatial dimension 0 has no element of x (C5)}}
    %r = "zb.max_place"(%0) {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 2, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 6, 5>} : (tensor<2x4x5x6xf32>) -> tensor<2x4x6x5xi32>
    return
  }
  func.func @max_place_c5_b(%0: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.max_place: a window along spatial dimension 0 has no element of x (C5)}}
    %r = "zb.max_place"(%0) {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 9, 9>, dilations = array<i64: 9>, shape = array<i64: 12>} : (tensor<2x3xf32>) -> tensor<2x12xi32>
    return
  }
  func.func @max_place_c6(%0: tensor<65536x65536xf32>) {
    // expected-error@+1 {{zb.max_place: an image has 4.29497e+09 elements: places are numbers of 31 bits (C6)}}
    %r = "zb.max_place"(%0) {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 65535, 65535>} : (tensor<65536x65536xf32>) -> tensor<65535x65535xi32>
    return
  }
}
