// Losses of which zb-loss-mean makes no mean over the targets of a step, each at what is in the way. By itself it says
// nothing of them.
// RUN: zb-opt --split-input-file --zb-loss-mean=loss-mean=targets --verify-diagnostics %s
// RUN: zb-opt --split-input-file --zb-loss-mean %s | FileCheck %s
// CHECK-NOT: zb.loss_mean
// CHECK: func.func @all

module attributes {zb.level = "graph"} {
  func.func @all(%z: tensor<4x8xf32> {zb.param = "z"}, %y: tensor<4xi64> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
    // expected-error@+1 {{--loss-mean targets is not possible for this loss: its mean ignores no target, so micro-batches have equal numbers of them}}
    %loss, %lse = "zb.cross_entropy"(%z, %y) {reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}

// -----

module attributes {zb.level = "graph"} {
  func.func @sum(%z: tensor<4x8xf32> {zb.param = "z"}, %y: tensor<4xi64> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
    // expected-error@+1 {{--loss-mean targets is not possible for this loss: it is a sum, not a mean over targets}}
    %loss, %lse = "zb.cross_entropy"(%z, %y) {ignore_index = -100 : i64, reduction = "sum"} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}

// -----

module attributes {zb.level = "graph"} {
  func.func @terms(%z: tensor<4x8xf32> {zb.param = "z"}, %y: tensor<4xi64> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
    %a, %lse = "zb.cross_entropy"(%z, %y) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    %b = "zb.reduce_mean"(%z) {axes = array<i64>, keepdims = false} : (tensor<4x8xf32>) -> tensor<f32>
    // expected-error@+1 {{--loss-mean targets is not possible for this loss: it is made of several terms, which may have means over different targets}}
    %loss = "zb.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

module attributes {zb.level = "graph"} {
  func.func @elements(%z: tensor<4x8xf32> {zb.param = "z"}) -> (tensor<f32> {zb.loss}) {
    // expected-error@+1 {{it is a mean over all elements, so micro-batches have equal numbers of them}}
    %loss = "zb.reduce_mean"(%z) {axes = array<i64>, keepdims = false} : (tensor<4x8xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// The divisor is made of parameters.
module attributes {zb.level = "graph"} {
  func.func @of_parameters(%z: tensor<4xf32> {zb.param = "z"}, %y: tensor<4xf32> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
    %sum = "zb.reduce_sum"(%y) {axes = array<i64>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
    %norm = "zb.reduce_sum"(%z) {axes = array<i64>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
    // expected-error@+1 {{it is divided by what parameters change, not by a number of targets}}
    %loss = "zb.div"(%sum, %norm) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Another number of terms: one of each row of three.
module attributes {zb.level = "graph"} {
  func.func @other_terms(%z: tensor<2x3xf32> {zb.param = "z"}, %m: tensor<2xf32> {zb.input = "mask"}) -> (tensor<f32> {zb.loss}) {
    %sum = "zb.reduce_sum"(%z) {axes = array<i64>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
    %count = "zb.reduce_sum"(%m) {axes = array<i64>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
    // expected-error@+1 {{what is divided and its divisor do not add as many terms}}
    %loss = "zb.div"(%sum, %count) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Samples are compared before weights are added: that of a batch is not the sum of those of its parts.
module attributes {zb.level = "graph"} {
  func.func @joint(%z: tensor<3xf32> {zb.param = "z"}, %m: tensor<2x3xf32> {zb.input = "mask"}) -> (tensor<f32> {zb.loss}) {
    // expected-error@+1 {{its divisor adds up or compares samples before weights are added}}
    %any = "zb.reduce_max"(%m) {axes = array<i64: 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<3xf32>
    %masked = "zb.mul"(%z, %any) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %sum = "zb.reduce_sum"(%masked) {axes = array<i64>, keepdims = false} : (tensor<3xf32>) -> tensor<f32>
    %count = "zb.reduce_sum"(%any) {axes = array<i64>, keepdims = false} : (tensor<3xf32>) -> tensor<f32>
    %loss = "zb.div"(%sum, %count) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// A lower bound of weights that are no whole numbers may be what a step divides by.
module attributes {zb.level = "graph"} {
  func.func @bounded(%z: tensor<4xf32> {zb.param = "z"}, %m: tensor<4xf32> {zb.input = "mask"}) -> (tensor<f32> {zb.loss}) {
    %masked = "zb.mul"(%z, %m) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %sum = "zb.reduce_sum"(%masked) {axes = array<i64>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
    %count = "zb.reduce_sum"(%m) {axes = array<i64>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
    %least = "zb.clip"(%count) {min = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    // expected-error@+1 {{its divisor has a lower bound, and is no count}}
    %loss = "zb.div"(%sum, %least) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
