// Every constraint of the ops of ir/ops/movement.c, one function each, named by op and label.
// RUN: zb-opt --verify-diagnostics %s

module {
  func.func @reshape_c1(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.reshape: entry 0 of attribute 'shape' is negative: -1 (C1)}}
    %r = "zb.reshape"(%0) {shape = array<i64: -1, 12>} : (tensor<4x6xf32>) -> tensor<2x12xf32>
    return
  }
  func.func @reshape_c1_b(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.reshape: attribute 'shape' has too many dimensions: expected at most 8, got 9 (C1)}}
    %r = "zb.reshape"(%0) {shape = array<i64: 1, 1, 1, 1, 1, 1, 1, 4, 6>} : (tensor<4x6xf32>) -> tensor<2x12xf32>
    return
  }
  func.func @reshape_c2(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.reshape: the number of elements changes: expected 24, got 26 (C2)}}
    %r = "zb.reshape"(%0) {shape = array<i64: 2, 13>} : (tensor<4x6xf32>) -> tensor<2x12xf32>
    return
  }
  func.func @transpose_c1(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.transpose: wrong number of entries in permutation: expected 2, got 1 (C1)}}
    %r = "zb.transpose"(%0) {permutation = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
    return
  }
  func.func @transpose_c2(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.transpose: no permutation: entry 1 is 1 (C2)}}
    %r = "zb.transpose"(%0) {permutation = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
    return
  }
  func.func @transpose_c2_b(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.transpose: no permutation: entry 1 is 2 (C2)}}
    %r = "zb.transpose"(%0) {permutation = array<i64: 0, 2>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
    return
  }
  func.func @slice_c1(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.slice: starts, sizes and steps need one entry a dimension: expected 2, got 1, 1 and 1 (C1)}}
    %r = "zb.slice"(%0) {sizes = array<i64: 2>, starts = array<i64: 1>, steps = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @slice_c2(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.slice: the slice leaves dimension 0: expected indices 0 to 3, got start -1, size 2, step 1 (C2)}}
    %r = "zb.slice"(%0) {sizes = array<i64: 2, 3>, starts = array<i64: -1, 0>, steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @slice_c2_b(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.slice: the slice leaves dimension 0: expected indices 0 to 3, got start 3, size 2, step 1 (C2)}}
    %r = "zb.slice"(%0) {sizes = array<i64: 2, 3>, starts = array<i64: 3, 0>, steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @slice_c2_c(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.slice: the slice leaves dimension 1: expected indices 0 to 5, got start 0, size 3, step 3 (C2)}}
    %r = "zb.slice"(%0) {sizes = array<i64: 2, 3>, starts = array<i64: 0, 0>, steps = array<i64: 1, 3>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @slice_c2_d(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.slice: the slice leaves dimension 1: expected indices 0 to 5, got start 0, size 3, step 0 (C2)}}
    %r = "zb.slice"(%0) {sizes = array<i64: 2, 3>, starts = array<i64: 0, 0>, steps = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @slice_c2_e(%0: tensor<4x6xf32>) {
    // expected-error@+1 {{zb.slice: the slice leaves dimension 1: expected indices 0 to 5, got start 0, size 9223372036854775807, step 9223372036854775807 (C2)}}
    %r = "zb.slice"(%0) {sizes = array<i64: 4, 9223372036854775807>, starts = array<i64: 0, 0>, steps = array<i64: 1, 9223372036854775807>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @slice_grad_c1(%0: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.slice_grad: entry 0 of attribute 'shape' is negative: -4 (C1)}}
    %r = "zb.slice_grad"(%0) {shape = array<i64: -4, 6>, starts = array<i64: 1, 0>, steps = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @slice_grad_c2(%0: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.slice_grad: starts, steps and shape need one entry a dimension: expected 2, got 3, 2 and 2 (C2)}}
    %r = "zb.slice_grad"(%0) {shape = array<i64: 4, 6>, starts = array<i64: 1, 0, 0>, steps = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @slice_grad_c3(%0: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.slice_grad: dout does not fit into dimension 0: expected indices 0 to 3, got start 3, size 2, step 1 (C3)}}
    %r = "zb.slice_grad"(%0) {shape = array<i64: 4, 6>, starts = array<i64: 3, 0>, steps = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @expand_c1(%0: tensor<3x1xf32>) {
    // expected-error@+1 {{zb.expand: entry 1 of attribute 'shape' is negative: -3 (C1)}}
    %r = "zb.expand"(%0) {shape = array<i64: 2, -3, 4>} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
    return
  }
  func.func @expand_c2(%0: tensor<3x1xf32>) {
    // expected-error@+1 {{zb.expand: x does not broadcast to shape: expected dimensions of 2x4xf32, got 3x1xf32 (C2)}}
    %r = "zb.expand"(%0) {shape = array<i64: 2, 4>} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
    return
  }
  func.func @expand_c2_b(%0: tensor<3x1xf32>) {
    // expected-error@+1 {{zb.expand: x does not broadcast to shape: expected dimensions of 4xf32, got 3x1xf32 (C2)}}
    %r = "zb.expand"(%0) {shape = array<i64: 4>} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
    return
  }
  func.func @split_c1(%0: tensor<2x7xf32>) {
    // expected-error@+1 {{zb.split: attribute 'axis' is out of range: expected 0 to 1, got 2 (C1)}}
    %r:2 = "zb.split"(%0) {axis = 2 : i64, sizes = array<i64: 4, 3>} : (tensor<2x7xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
    return
  }
  func.func @split_c2(%0: tensor<2x7xf32>) {
    // expected-error@+1 {{zb.split: wrong number of sizes: expected one a result (2), got 3 (C2)}}
    %r:2 = "zb.split"(%0) {axis = 1 : i64, sizes = array<i64: 4, 2, 1>} : (tensor<2x7xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
    return
  }
  func.func @split_c3(%0: tensor<2x7xf32>) {
    // expected-error@+1 {{zb.split: the sizes do not add up to dimension 1: 1 of 7 left over (C3)}}
    %r:2 = "zb.split"(%0) {axis = 1 : i64, sizes = array<i64: 4, 2>} : (tensor<2x7xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
    return
  }
  func.func @split_c3_b(%0: tensor<2x7xf32>) {
    // expected-error@+1 {{zb.split: the sizes do not add up to dimension 1: size 1 is 4, 3 left (C3)}}
    %r:2 = "zb.split"(%0) {axis = 1 : i64, sizes = array<i64: 4, 4>} : (tensor<2x7xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
    return
  }
  func.func @split_c4(%0: tensor<2x7xf32>) {
    // expected-error@+1 {{zb.split: the third and later sizes differ: expected 2, got 3 (C4)}}
    %r:4 = "zb.split"(%0) {axis = 1 : i64, sizes = array<i64: 1, 1, 2, 3>} : (tensor<2x7xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
    return
  }
  func.func @concat_c1(%0: tensor<2x4xf32>, %1: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.concat: attribute 'axis' is out of range: expected 0 to 1, got 2 (C1)}}
    %r = "zb.concat"(%0, %1) {axis = 2 : i64} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
    return
  }
  func.func @concat_c2(%0: tensor<2x4xf32>, %1: tensor<2x3xf64>) {
    // expected-error@+1 {{zb.concat: wrong element type of second: expected f32 as first has, got f64 (C2)}}
    %r = "zb.concat"(%0, %1) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x3xf64>) -> tensor<2x7xf32>
    return
  }
  func.func @concat_c3(%0: tensor<2x4xf32>, %1: tensor<3x3xf32>) {
    // expected-error@+1 {{zb.concat: wrong shape of operand 1: expected 2x4xf32 up to dimension 1, got 3x3xf32 (C3)}}
    %r = "zb.concat"(%0, %1) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<3x3xf32>) -> tensor<2x7xf32>
    return
  }
  func.func @gather_c1(%0: tensor<5x3xf32>, %1: tensor<2xi64>) {
    // expected-error@+1 {{zb.gather: attribute 'axis' is out of range: expected 0 to 1, got 2 (C1)}}
    %r = "zb.gather"(%0, %1) {axis = 2 : i64} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_c2(%0: tensor<5x3xf32>, %1: tensor<2xf32>) {
    // expected-error@+1 {{zb.gather: wrong element type of indices: expected i64 or i32, got f32 (C2)}}
    %r = "zb.gather"(%0, %1) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_c3(%0: tensor<1x1x1x1x5xf32>, %1: tensor<1x1x1x1x2xi64>) {
    // expected-error@+1 {{zb.gather: the result has too many dimensions: expected at most 8, got 9 (C3)}}
    %r = "zb.gather"(%0, %1) {axis = 0 : i64} : (tensor<1x1x1x1x5xf32>, tensor<1x1x1x1x2xi64>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_grad_c1(%0: tensor<2xi64>, %1: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.gather_grad: entry 0 of attribute 'shape' is negative: -5 (C1)}}
    %r = "zb.gather_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: -5, 3>} : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_grad_c1_b(%0: tensor<2xi64>, %1: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.gather_grad: attribute 'axis' is out of range: expected 0 to 1, got 2 (C1)}}
    %r = "zb.gather_grad"(%0, %1) {axis = 2 : i64, shape = array<i64: 5, 3>} : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_grad_c2(%0: tensor<2xf32>, %1: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.gather_grad: wrong element type of indices: expected i64 or i32, got f32 (C2)}}
    %r = "zb.gather_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_grad_c3(%0: tensor<2xi64>, %1: tensor<2x3xi64>) {
    // expected-error@+1 {{zb.gather_grad: wrong element type of dout: expected a float type, got i64 (C3)}}
    %r = "zb.gather_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2xi64>, tensor<2x3xi64>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_grad_c4(%0: tensor<2xi64>, %1: tensor<3x2xf32>) {
    // expected-error@+1 {{zb.gather_grad: wrong type of dout: expected tensor<2x3xf32> (the gathered shape), got tensor<3x2xf32> (C4)}}
    %r = "zb.gather_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2xi64>, tensor<3x2xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_elements_c1(%0: tensor<5x3xf32>, %1: tensor<2x3xi64>) {
    // expected-error@+1 {{zb.gather_elements: attribute 'axis' is out of range: expected 0 to 1, got 2 (C1)}}
    %r = "zb.gather_elements"(%0, %1) {axis = 2 : i64} : (tensor<5x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_elements_c2(%0: tensor<5x3xf32>, %1: tensor<2x3xi1>) {
    // expected-error@+1 {{zb.gather_elements: wrong element type of indices: expected i64 or i32, got i1 (C2)}}
    %r = "zb.gather_elements"(%0, %1) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2x3xi1>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_elements_c3(%0: tensor<5x3xf32>, %1: tensor<2xi64>) {
    // expected-error@+1 {{zb.gather_elements: indices do not fit data: expected at most 5x3xf32 but in dimension 0, got 2xi64 (C3)}}
    %r = "zb.gather_elements"(%0, %1) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_elements_c3_b(%0: tensor<5x3xf32>, %1: tensor<2x4xi64>) {
    // expected-error@+1 {{zb.gather_elements: indices do not fit data: expected at most 5x3xf32 but in dimension 0, got 2x4xi64 (C3)}}
    %r = "zb.gather_elements"(%0, %1) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_elements_grad_c1(%0: tensor<2x3xi64>, %1: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.gather_elements_grad: attribute 'axis' is out of range: expected 0 to 1, got 2 (C1)}}
    %r = "zb.gather_elements_grad"(%0, %1) {axis = 2 : i64, shape = array<i64: 5, 3>} : (tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_elements_grad_c2(%0: tensor<2x3xf32>, %1: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.gather_elements_grad: wrong element type of indices: expected i64 or i32, got f32 (C2)}}
    %r = "zb.gather_elements_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_elements_grad_c3(%0: tensor<2x3xi64>, %1: tensor<2x3xi64>) {
    // expected-error@+1 {{zb.gather_elements_grad: wrong element type of dout: expected a float type, got i64 (C3)}}
    %r = "zb.gather_elements_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_elements_grad_c4(%0: tensor<2x4xi64>, %1: tensor<2x4xf32>) {
    // expected-error@+1 {{zb.gather_elements_grad: indices do not fit data: expected at most 5x3xf32 but in dimension 0, got 2x4xi64 (C4)}}
    %r = "zb.gather_elements_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_elements_grad_c4_b(%0: tensor<2x3xi64>, %1: tensor<2x2xf32>) {
    // expected-error@+1 {{zb.gather_elements_grad: wrong type of dout: expected tensor<2x3xf32> (the shape of indices), got tensor<2x2xf32> (C4)}}
    %r = "zb.gather_elements_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2x3xi64>, tensor<2x2xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @ravel_index_c1(%0: tensor<2x2xf32>) {
    // expected-error@+1 {{zb.ravel_index: wrong element type of indices: expected i64 or i32, got f32 (C1)}}
    %r = "zb.ravel_index"(%0) {shape = array<i64: 4, 5>} : (tensor<2x2xf32>) -> tensor<2xi64>
    return
  }
  func.func @ravel_index_c2(%0: tensor<2x2xi64>) {
    // expected-error@+1 {{zb.ravel_index: entry 1 of attribute 'shape' is negative: -5 (C2)}}
    %r = "zb.ravel_index"(%0) {shape = array<i64: 4, -5>} : (tensor<2x2xi64>) -> tensor<2xi64>
    return
  }
  func.func @ravel_index_c3(%0: tensor<2x3xi64>) {
    // expected-error@+1 {{zb.ravel_index: the last dimension of indices holds a tuple: expected 2 entries, got 2x3xi64 (C3)}}
    %r = "zb.ravel_index"(%0) {shape = array<i64: 4, 5>} : (tensor<2x3xi64>) -> tensor<2xi64>
    return
  }
  func.func @scatter_c1(%0: tensor<f32>, %1: tensor<2xi64>, %2: tensor<2xf32>) {
    // expected-error@+1 {{zb.scatter: data has no rows: its rank is 0 (C1)}}
    %r = "zb.scatter"(%0, %1, %2) {reduction = "none"} : (tensor<f32>, tensor<2xi64>, tensor<2xf32>) -> tensor<f32>
    return
  }
  func.func @scatter_c2(%0: tensor<5x3xf32>, %1: tensor<2xi1>, %2: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.scatter: wrong element type of indices: expected i64 or i32, got i1 (C2)}}
    %r = "zb.scatter"(%0, %1, %2) {reduction = "none"} : (tensor<5x3xf32>, tensor<2xi1>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @scatter_c3(%0: tensor<5x3xf32>, %1: tensor<2xi64>, %2: tensor<3x2xf32>) {
    // expected-error@+1 {{zb.scatter: wrong type of updates: expected tensor<2x3xf32> (the shape of indices and the rest of data), got tensor<3x2xf32> (C3)}}
    %r = "zb.scatter"(%0, %1, %2) {reduction = "none"} : (tensor<5x3xf32>, tensor<2xi64>, tensor<3x2xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @scatter_c4(%0: tensor<5x3xf32>, %1: tensor<2xi64>, %2: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.scatter: wrong value of attribute 'reduction': expected "none", "add", "mul", "min" or "max", got "sub" (C4)}}
    %r = "zb.scatter"(%0, %1, %2) {reduction = "sub"} : (tensor<5x3xf32>, tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @scatter_c5(%0: tensor<5x3xi1>, %1: tensor<2xi64>, %2: tensor<2x3xi1>) {
    // expected-error@+1 {{zb.scatter: wrong element type of data: expected a float type, i64 or i32, got i1 (C5)}}
    %r = "zb.scatter"(%0, %1, %2) {reduction = "add"} : (tensor<5x3xi1>, tensor<2xi64>, tensor<2x3xi1>) -> tensor<5x3xi1>
    return
  }
}
