// Every error of zb-autodiff, at its line.
// RUN: zb-opt --zb-autodiff --allow-unregistered-dialect --split-input-file --verify-diagnostics %s

module {
  // expected-error@+1 {{no result is marked zb.loss}}
  func.func @no_loss(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"}) -> tensor<4xf32> {
    %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %h : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{the loss must be a float scalar: expected tensor<f32>, got 4xf32}}
  func.func @no_scalar(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"}) -> (tensor<4xf32> {zb.loss}) {
    %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %h : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{two results are marked zb.loss: 0 and 1}}
  func.func @two(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"})
      -> (tensor<f32> {zb.loss}, tensor<f32> {zb.loss}) {
    %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %l = "zb.reduce_sum"(%h) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
    return %l, %l : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{the loss depends on no trained parameter}}
  func.func @untrained(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.frozen = "a.w"}) -> (tensor<f32> {zb.loss}) {
    %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %l = "zb.reduce_sum"(%h) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{parameter 'a.w' cannot be trained: it is no float tensor}}
  func.func @integers(%x: tensor<4xi64> {zb.input = "x"}, %w: tensor<4xi64> {zb.param = "a.w"}) -> (tensor<i64> {zb.loss}) {
    %h = "zb.mul"(%x, %w) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    %l = "zb.reduce_sum"(%h) {axes = array<i64>} : (tensor<4xi64>) -> tensor<i64>
    return %l : tensor<i64>
  }
}

// -----

func.func @unknown(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'foreign.sparkle' is not differentiable: nobody described this op}}
  %s = "foreign.sparkle"(%h) : (tensor<4xf32>) -> tensor<4xf32>
  %l = "zb.reduce_sum"(%s) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @no_rule(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'zb.mod' is not differentiable: its row has no gradient rule}}
  %s = "zb.mod"(%h, %x) {fmod = true} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = "zb.reduce_sum"(%s) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// An op that nobody described is no obstacle where no gradient passes.
func.func @aside(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"}) -> (tensor<f32> {zb.loss}) {
  %s = "foreign.sparkle"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %h = "zb.mul"(%s, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = "zb.reduce_sum"(%h) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @twice(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = "zb.reduce_sum"(%h) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error@+1 {{already differentiated: the program accumulates gradients}}
  %g = "zb.accumulate"(%x) {parameter = "a.w", use = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %l : tensor<f32>
}
