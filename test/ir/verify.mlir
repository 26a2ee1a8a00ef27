// What the verifier says of attributes, operand counts, result types, and functions. The constraints of each op are in ops/.
// RUN: zb-opt --split-input-file --verify-diagnostics %s

module {
  func.func @misspelt_attribute(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
    // expected-error@+1 {{zb.matmul has no attribute 'transpose_rsh'}}
    %0 = "zb.matmul"(%a, %b) {transpose_rsh = true} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    return
  }
  func.func @no_attributes(%a: tensor<2xf32>) {
    // expected-error@+1 {{zb.exp has no attribute 'alpha'}}
    %0 = "zb.exp"(%a) {alpha = 1.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
  func.func @missing_attribute(%a: tensor<2xf32>) {
    // expected-error@+1 {{zb.softmax: attribute 'axis' is missing: expected an integer (2 : i64)}}
    %0 = "zb.softmax"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
  func.func @wrong_kinds(%a: tensor<2xf32>) {
    // expected-error@+1 {{zb.softmax: attribute 'axis' has the wrong kind: expected an integer (2 : i64)}}
    %0 = "zb.softmax"(%a) {axis = "0"} : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error@+1 {{zb.softmax: attribute 'axis' has the wrong kind}}
    %1 = "zb.softmax"(%a) {axis = 0 : i128} : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error@+1 {{zb.gelu: attribute 'tanh' has the wrong kind: expected a bool (true or false)}}
    %2 = "zb.gelu"(%a) {tanh = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error@+1 {{zb.elu: attribute 'alpha' has the wrong kind: expected a float (1.0e-05 : f64)}}
    %3 = "zb.elu"(%a) {alpha = "1"} : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error@+1 {{zb.reshape: attribute 'shape' has the wrong kind: expected a list of integers (array<i64: 0, 1>)}}
    %4 = "zb.reshape"(%a) {shape = 2 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error@+1 {{zb.cast: attribute 'dtype' has the wrong kind: expected a string}}
    %5 = "zb.cast"(%a) {dtype = f32} : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error@+1 {{zb.constant: attribute 'value' has the wrong kind: expected elements (dense<1.0> : tensor<f32>)}}
    %6 = "zb.constant"() {value = 1.0 : f32} : () -> tensor<f32>
    return
  }
  func.func @wrong_result_type(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
    // expected-error@+1 {{zb.matmul: the type of result 0 is wrong: expected tensor<2x4xf32>, got tensor<2x3xf32>}}
    %0 = "zb.matmul"(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
    // expected-error@+1 {{zb.relu: result 0 is no tensor that zb knows}}
    %1 = "zb.relu"(%a) : (tensor<2x3xf32>) -> tensor<2x?xf32>
    return
  }
  func.func @unknown_types(%a: tensor<2xf8E4M3FN>, %b: tensor<?xf32>) {
    // expected-error@+1 {{zb.relu: operand 0 is no tensor that zb knows}}
    %0 = "zb.relu"(%a) : (tensor<2xf8E4M3FN>) -> tensor<2xf8E4M3FN>
    // expected-error@+1 {{zb.relu: operand 0 is no tensor that zb knows}}
    %1 = "zb.relu"(%b) : (tensor<?xf32>) -> tensor<?xf32>
    return
  }
  func.func @marks_are_fine(%a: tensor<2xf32>) {
    %0 = "zb.relu"(%a) {zb.id = 1 : i64, zb.of = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
}

// -----

module {
  func.func @wrong_operand_count(%a: tensor<2xf32>) {
    // expected-error@+1 {{op expects exactly 2 operands, but got 1}}
    %0 = "zb.add"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
}

// -----

module {
  func.func @unknown_op(%a: tensor<2xf32>) {
    // expected-error@+1 {{unregistered operation 'zb.rellu' found in dialect ('zb')}}
    %0 = "zb.rellu"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
}

// -----

module {
  // expected-error@+1 {{unknown attribute 'zb.parm' on argument 0}}
  func.func @misspelt_argument(%w: tensor<2xf32> {zb.parm = "w"}) {
    return
  }
  // expected-error@+1 {{attribute 'zb.param' of argument 0 has the wrong kind}}
  func.func @wrong_kind(%w: tensor<2xf32> {zb.param}) {
    return
  }
  // expected-error@+1 {{argument 0 has an empty name (zb.param)}}
  func.func @nameless(%v: tensor<2xf32> {zb.param = ""}) {
    return
  }
  // expected-error@+1 {{two arguments are named 'w'}}
  func.func @twice(%v: tensor<2xf32> {zb.param = "w"}, %w: tensor<2xf32> {zb.frozen = "w"}) {
    return
  }
  // expected-error@+1 {{unknown attribute 'zb.los' on result 0}}
  func.func @misspelt_result(%w: tensor<f32>) -> (tensor<f32> {zb.los}) {
    return %w : tensor<f32>
  }
  // expected-error@+1 {{result 0 updates 'v', but no argument has that name}}
  func.func @update_of_nothing(%w: tensor<2xf32> {zb.param = "w"}) -> (tensor<2xf32> {zb.update = "v"}) {
    return %w : tensor<2xf32>
  }
  // expected-error@+1 {{result 1 updates 'w', and so does one before it}}
  func.func @updated_twice(%w: tensor<2xf32> {zb.param = "w"}) -> (tensor<2xf32> {zb.update = "w"}, tensor<2xf32> {zb.update = "w"}) {
    return %w, %w : tensor<2xf32>, tensor<2xf32>
  }
  // expected-error@+1 {{nothing updates the buffer 'm'}}
  func.func @buffer_of_nobody(%m: tensor<2xf32> {zb.buffer = "m"}) {
    return
  }
  // expected-error@+1 {{result 0 updates the buffer 'n', but no argument has that name}}
  func.func @buffer_unknown(%x: tensor<2xf32> {zb.input = "x"}) -> (tensor<2xf32> {zb.buffer = "n"}) {
    return %x : tensor<2xf32>
  }
  // expected-error@+1 {{result 0 updates the buffer 'w', but no argument has that name}}
  func.func @buffer_of_a_parameter(%w: tensor<2xf32> {zb.param = "w"}) -> (tensor<2xf32> {zb.buffer = "w"}) {
    return %w : tensor<2xf32>
  }
  // expected-error@+1 {{two results update the buffer 'm'}}
  func.func @buffer_twice(%m: tensor<2xf32> {zb.buffer = "m"}) -> (tensor<2xf32> {zb.buffer = "m"}, tensor<2xf32> {zb.buffer = "m"}) {
    return %m, %m : tensor<2xf32>, tensor<2xf32>
  }
  // expected-error@+1 {{the buffer 'm' is updated with another type}}
  func.func @buffer_type(%m: tensor<2xf32> {zb.buffer = "m"}, %x: tensor<3xf32> {zb.input = "x"}) -> (tensor<3xf32> {zb.buffer = "m"}) {
    return %x : tensor<3xf32>
  }
  // expected-error@+1 {{two arguments are named 'm'}}
  func.func @buffer_name_twice(%m: tensor<2xf32> {zb.buffer = "m"}, %n: tensor<2xf32> {zb.frozen = "m"}) -> (tensor<2xf32> {zb.buffer = "m"}) {
    return %m : tensor<2xf32>
  }
  // A state that no parameter claims would not be in a checkpoint.
  // expected-error@+1 {{the state 'w_momentum' belongs to no parameter}}
  func.func @state_of_nobody(%w: tensor<2xf32> {zb.param = "w"}, %m: tensor<2xf32> {zb.state = "w_momentum"}) {
    return
  }
  // expected-error@+1 {{the state 'v.momentum' belongs to no parameter}}
  func.func @state_of_an_input(%v: tensor<2xf32> {zb.input = "v"}, %m: tensor<2xf32> {zb.state = "v.momentum"}) {
    return
  }
  // expected-error@+1 {{the state 'w.m.v' belongs to no parameter}}
  func.func @state_of_a_state(%w: tensor<2xf32> {zb.frozen = "w"}, %m: tensor<2xf32> {zb.state = "w.m"}, %v: tensor<2xf32> {zb.state = "w.m.v"}) {
    return
  }
  // expected-error@+1 {{the setting 'v.update' belongs to no trained parameter}}
  func.func @setting_of_nobody(%w: tensor<2xf32> {zb.param = "w"}, %s: tensor<2xf64> {zb.setting = "v.update", zb.defaults = array<f64: 1.0, 0.0>, zb.own = 0 : i64}) {
    return
  }
  // expected-error@+1 {{the setting 'w.update' belongs to no trained parameter}}
  func.func @setting_of_a_frozen(%w: tensor<2xf32> {zb.frozen = "w"}, %s: tensor<2xf64> {zb.setting = "w.update", zb.defaults = array<f64: 1.0, 0.0>, zb.own = 0 : i64}) {
    return
  }
  // expected-error@+1 {{the setting 'w.rate' belongs to no trained parameter}}
  func.func @setting_of_no_kind(%w: tensor<2xf32> {zb.param = "w"}, %s: tensor<2xf64> {zb.setting = "w.rate", zb.defaults = array<f64: 1.0, 0.0>, zb.own = 0 : i64}) {
    return
  }
  // expected-error@+1 {{the setting 'update' belongs to no trained parameter}}
  func.func @setting_of_the_run(%w: tensor<2xf32> {zb.param = "w"}, %s: tensor<2xf64> {zb.setting = "update", zb.defaults = array<f64: 1.0, 0.0>, zb.own = 0 : i64}) {
    return
  }
  // expected-error@+1 {{the setting 'w.update' has 0 defaults, expected 2}}
  func.func @setting_without_defaults(%w: tensor<2xf32> {zb.param = "w"}, %s: tensor<2xf64> {zb.setting = "w.update"}) {
    return
  }
  // expected-error@+1 {{the setting 'w.update' does not say which of its numbers are its own}}
  func.func @setting_without_own(%w: tensor<2xf32> {zb.param = "w"}, %s: tensor<2xf64> {zb.setting = "w.update", zb.defaults = array<f64: 1.0, 0.0>}) {
    return
  }
  // expected-error@+1 {{the setting 'w.update' does not say which of its numbers are its own}}
  func.func @setting_with_too_many(%w: tensor<2xf32> {zb.param = "w"}, %s: tensor<2xf64> {zb.setting = "w.update", zb.defaults = array<f64: 1.0, 0.0>, zb.own = 4 : i64}) {
    return
  }
  // expected-error@+1 {{two settings are named 'w.update'}}
  func.func @setting_twice(%w: tensor<2xf32> {zb.param = "w"}, %s: tensor<2xf64> {zb.setting = "w.update", zb.defaults = array<f64: 1.0, 0.0>, zb.own = 0 : i64},
                           %t: tensor<2xf64> {zb.setting = "w.update", zb.defaults = array<f64: 1.0, 0.0>, zb.own = 0 : i64}) {
    return
  }
  // expected-error@+1 {{the setting 'w.update' has 1 defaults, expected 2}}
  func.func @setting_of_one_number(%w: tensor<2xf32> {zb.param = "w"}, %s: tensor<2xf64> {zb.setting = "w.update", zb.defaults = array<f64: 1.0>}) {
    return
  }
  func.func @fine(%w: tensor<2xf32> {zb.param = "w"}, %m: tensor<2xf32> {zb.state = "w.exp_avg"}, %t: tensor<i64> {zb.step},
                  %s: tensor<2xf64> {zb.setting = "w.update", zb.defaults = array<f64: 1.0, 0.0>, zb.own = 0 : i64})
      -> (tensor<2xf32> {zb.update = "w"}, tensor<2xf32> {zb.update = "w.exp_avg"}) {
    return %w, %m : tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// Later levels are checked as those are that people write.
module attributes {zb.level = "outlined"} {
  // expected-error@+1 {{unknown attribute 'zb.slot' on argument 0}}
  func.func @own_argument_attribute(%w: tensor<2xf32> {zb.slot = 3 : i64}) {
    return
  }
}
