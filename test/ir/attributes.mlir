// Every attribute zb.* is one of ir/attributes.def, of its kind, at its place, at its levels.
// RUN: zb-opt --split-input-file --verify-diagnostics %s
// RUN: not zb-opt --split-input-file %s 2>&1 | FileCheck %s

// Unknown ones, at every place. What is close gets a hint, the rest whose the names are.
// CHECK: error: unknown attribute 'zb.ranx' on the module
// CHECK: hint: names that begin with zb. are those of zbc itself
// expected-error@+1 {{unknown attribute 'zb.ranx' on the module}}
module attributes {zb.ranx = 2 : i64} {
  // CHECK: error: unknown attribute 'zb.stages' on the op
  // expected-error@+1 {{unknown attribute 'zb.stages' on the op}}
  func.func @on_a_function(%a: tensor<2xf32>) attributes {zb.stages = 1 : i64} {
    // CHECK: error: unknown attribute 'zb.anything' on the op
    // expected-error@+1 {{unknown attribute 'zb.anything' on the op}}
    %0 = "zb.relu"(%a) {zb.anything = "x"} : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
  // CHECK: error: unknown attribute 'zb.inptu' on argument 1
  // CHECK: hint: did you mean 'zb.input'?
  // expected-error@+1 {{unknown attribute 'zb.inptu' on argument 1}}
  func.func @on_an_argument(%a: tensor<2xf32>, %b: tensor<2xf32> {zb.inptu = "x"}) {
    return
  }
  // CHECK: error: unknown attribute 'zb.lost' on result 0
  // CHECK: hint: did you mean 'zb.loss'?
  // expected-error@+1 {{unknown attribute 'zb.lost' on result 0}}
  func.func @on_a_result(%a: tensor<f32>) -> (tensor<f32> {zb.lost}) {
    return %a : tensor<f32>
  }
}

// -----

// Known ones where they do not belong.
// CHECK: error: attribute 'zb.stage' does not belong on the module
// CHECK: hint: it belongs on a function
// expected-error@+1 {{attribute 'zb.stage' does not belong on the module}}
module attributes {zb.stage = 0 : i64} {
  // CHECK: error: attribute 'zb.ranks' does not belong on the op
  // CHECK: hint: it belongs on the module
  // expected-error@+1 {{attribute 'zb.ranks' does not belong on the op}}
  module @rank0 attributes {zb.ranks = 2 : i64} {
  }
  // CHECK: error: attribute 'zb.param' does not belong on the op
  // CHECK: hint: it belongs on an argument
  // expected-error@+1 {{attribute 'zb.param' does not belong on the op}}
  func.func @on_a_function(%a: tensor<2xf32>) attributes {zb.param = "w"} {
    // CHECK: error: attribute 'zb.time_ps' does not belong on the op
    // CHECK: hint: it belongs on a function
    // expected-error@+1 {{attribute 'zb.time_ps' does not belong on the op}}
    %0 = "zb.relu"(%a) {zb.time_ps = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
  // CHECK: error: attribute 'zb.loss' does not belong on argument 0
  // CHECK: hint: it belongs on a result
  // expected-error@+1 {{attribute 'zb.loss' does not belong on argument 0}}
  func.func @on_an_argument(%a: tensor<f32> {zb.loss}) {
    return
  }
  // CHECK: error: attribute 'zb.input' does not belong on result 0
  // CHECK: hint: it belongs on an argument
  // expected-error@+1 {{attribute 'zb.input' does not belong on result 0}}
  func.func @on_a_result(%a: tensor<f32>) -> (tensor<f32> {zb.input = "x"}) {
    return %a : tensor<f32>
  }
}

// -----

// Every kind, wrong.
// CHECK: error: attribute 'zb.messages' of the module holds rows of 8 numbers, got 9 numbers
// CHECK: hint: write it as {zb.messages = array<i64: ...>}
// CHECK: error: attribute 'zb.placement' of the module has the wrong kind
// CHECK: hint: write it as {zb.placement = "plain"}
// CHECK: error: attribute 'zb.ranks' of the module has the wrong kind
// CHECK: error: attribute 'zb.stage_rank' of the module has the wrong kind
// CHECK: error: attribute 'zb.uncompared' of the module has the wrong kind
// CHECK: hint: write it as {zb.uncompared}
// CHECK: error: attribute 'zb.untrained' of the module has the wrong kind
// CHECK: hint: write it as {zb.untrained = ["mask"]}
// expected-error@+6 {{attribute 'zb.messages' of the module holds rows of 8 numbers, got 9 numbers}}
// expected-error@+5 {{attribute 'zb.placement' of the module has the wrong kind}}
// expected-error@+4 {{attribute 'zb.ranks' of the module has the wrong kind}}
// expected-error@+3 {{attribute 'zb.stage_rank' of the module has the wrong kind}}
// expected-error@+2 {{attribute 'zb.uncompared' of the module has the wrong kind}}
// expected-error@+1 {{attribute 'zb.untrained' of the module has the wrong kind}}
module attributes {zb.level = "verified", zb.messages = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8>, zb.placement,
                   zb.ranks = "2", zb.stage_rank = [0, 1], zb.uncompared = true, zb.untrained = ["a", 1 : i64]} {
  // expected-error@+1 {{attribute 'zb.gradients' of the op has the wrong kind}}
  module @rank0 attributes {zb.gradients = ["w"]} {
  }
  // expected-error@+1 {{attribute 'zb.sum' of argument 0 has the wrong kind}}
  func.func @on_an_argument(%a: tensor<f32> {zb.sum}) {
    return
  }
}

// -----

// Entries of tables: keys that are not known, that are missing, that exclude each other, and of another kind.
// CHECK: error: attribute 'zb.parameters' of the op: entry 1 has the unknown key 'zb.parm'
// CHECK: hint: did you mean 'zb.param'?
// CHECK: error: attribute 'zb.parameters' of the op: entry 0 needs one key, 'zb.param' or 'zb.frozen'
// CHECK: hint: write it as {zb.parameters = [{zb.param = "w", offset = 0 : i64, type = tensor<2xf32>}]}
// CHECK: error: attribute 'zb.parameters' of the op: entry 0 needs one key, 'zb.param' or 'zb.frozen'
// CHECK: error: attribute 'zb.constants' of the op: 'offset' of entry 0 has the wrong kind
// CHECK: hint: write it as {zb.constants = [{zb.constant = "mask", offset = 0 : i64, type = tensor<2xf32>}]}
// CHECK: error: attribute 'zb.gradients' of the op: entry 0 needs 'type'
// CHECK: error: attribute 'zb.states' of the op: entry 0 needs 'offset' and 'type'
// CHECK: error: attribute 'zb.constants' of the op: 'type' of entry 0 has the wrong kind
// CHECK: error: attribute 'zb.gradients' of the op: entry 0 has the unknown key 'anything'
// CHECK: hint: write it as {zb.gradients = [{zb.sum = "w", zb.use = 0 : i64, offset = 0 : i64, type = tensor<2xf32>}]}
// CHECK: error: attribute 'zb.states' of the op: entry 0 has the unknown key 'zb.param'
module attributes {zb.level = "framed"} {
  // expected-error@+1 {{attribute 'zb.parameters' of the op: entry 1 has the unknown key 'zb.parm'}}
  module @rank0 attributes {zb.parameters = [{zb.param = "w", offset = 0 : i64, type = tensor<2xf32>},
                                             {zb.parm = "v", offset = 8 : i64, type = tensor<2xf32>}]} {
  }
  // expected-error@+1 {{attribute 'zb.parameters' of the op: entry 0 needs one key, 'zb.param' or 'zb.frozen'}}
  module @rank1 attributes {zb.parameters = [{offset = 0 : i64, type = tensor<2xf32>}]} {
  }
  // expected-error@+1 {{attribute 'zb.parameters' of the op: entry 0 needs one key, 'zb.param' or 'zb.frozen'}}
  module @rank2 attributes {zb.parameters = [{zb.param = "w", zb.frozen = "w", offset = 0 : i64, type = tensor<2xf32>}]} {
  }
  // expected-error@+3 {{attribute 'zb.constants' of the op: 'offset' of entry 0 has the wrong kind}}
  // expected-error@+2 {{attribute 'zb.gradients' of the op: entry 0 needs 'type'}}
  // expected-error@+1 {{attribute 'zb.states' of the op: entry 0 needs 'offset' and 'type'}}
  module @rank3 attributes {zb.constants = [{zb.constant = "c", offset = "x", type = tensor<2xf32>}],
                            zb.gradients = [{zb.sum = "w", offset = 0 : i64}],
                            zb.states = [{zb.state = "w.exp_avg"}]} {
  }
  // expected-error@+3 {{attribute 'zb.constants' of the op: 'type' of entry 0 has the wrong kind}}
  // expected-error@+2 {{attribute 'zb.gradients' of the op: entry 0 has the unknown key 'anything'}}
  // expected-error@+1 {{attribute 'zb.states' of the op: entry 0 has the unknown key 'zb.param'}}
  module @rank4 attributes {zb.constants = [{zb.load = 3 : i64, offset = 0 : i64, type = 3 : i64}],
                            zb.gradients = [{anything, offset = 0 : i64, type = tensor<2xf32>}],
                            zb.states = [{zb.param = "w", offset = 0 : i64, type = tensor<2xf32>}]} {
  }
  // All of it right.
  module @rank5 attributes {zb.constants = [{zb.constant = "c", offset = 0 : i64, type = tensor<2xf32>},
                                            {zb.load = 3 : i64, offset = 256 : i64, type = tensor<2xf32>}],
                            zb.gradients = [{zb.sum = "w", zb.use = 0 : i64, offset = 0 : i64, type = tensor<2xf32>}],
                            zb.parameters = [{zb.param = "w", offset = 0 : i64, type = tensor<2xf32>},
                                             {zb.frozen = "v", offset = 256 : i64, type = tensor<2xf32>}],
                            zb.states = []} {
  }
}

// -----

// A level too early, and a level too late.
// CHECK: error: attribute 'zb.ranks' of the module is not known at level 'graph'
// CHECK: hint: it stands in programs of level 'staged' to 'verified'; who writes it: partition
// expected-error@+1 {{attribute 'zb.ranks' of the module is not known at level 'graph'}}
module attributes {zb.ranks = 2 : i64} {
  // expected-error@+1 {{attribute 'zb.time_ps' of the op is not known at level 'graph'}}
  func.func @too_early(%a: tensor<2xf32>) attributes {zb.time_ps = 1 : i64} {
    // expected-error@+1 {{attribute 'zb.class' of the op is not known at level 'graph'}}
    %0 = "zb.relu"(%a) {zb.class = "F"} : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
  // expected-error@+1 {{attribute 'zb.frame' of argument 0 is not known at level 'graph'}}
  func.func @an_argument(%a: tensor<2xf32> {zb.frame = "fb"}) {
    return
  }
}

// -----

module attributes {zb.level = "framed"} {
  // CHECK: error: attribute 'zb.param' of argument 0 is not known at level 'framed'
  // CHECK: hint: it stands in programs of level 'graph' to 'outlined'; who writes it: import
  // expected-error@+1 {{attribute 'zb.param' of argument 0 is not known at level 'framed'}}
  func.func @too_late(%a: tensor<2xf32> {zb.param = "w"}) -> tensor<2xf32> {
    // expected-error@+1 {{attribute 'zb.id' of the op is not known at level 'framed'}}
    %0 = "zb.relu"(%a) {zb.id = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// CHECK: error: unknown level 'outlind'
// CHECK: hint: did you mean 'outlined'?
// expected-error@+1 {{unknown level 'outlind'}}
module attributes {zb.level = "outlind"} {
}

// -----

// All in their places. Attributes of other dialects are their owners' matter.
module attributes {zb.level = "split", zb.precision = "bf16"} {
  func.func @fine(%a: tensor<2xf32> {zb.input = "x"}) -> (tensor<2xf32> {zb.loss}) attributes {llvm.note = 1 : i64} {
    %0 = "zb.relu"(%a) {zb.id = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
