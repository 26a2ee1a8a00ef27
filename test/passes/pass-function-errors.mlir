// Every pass on the whole graph wants exactly one function with a body.
// RUN: zb-opt --zb-dce --split-input-file --verify-diagnostics %s
// RUN: zb-opt --zb-cse --split-input-file --verify-diagnostics %s
// RUN: zb-opt --zb-canonicalize --split-input-file --verify-diagnostics %s
// RUN: zb-opt --zb-raise --split-input-file --verify-diagnostics %s
// RUN: zb-opt --zb-autodiff --split-input-file --verify-diagnostics %s

// expected-error@+1 {{expected exactly one function with a body, got 2}}
module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error@+1 {{expected exactly one function with a body, got 0}}
module {
}
