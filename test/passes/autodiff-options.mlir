// Wrong options of zb-autodiff are errors that name the nearest right one.
// RUN: not zb-opt --zb-autodiff=optimizer=adan:lr=1 %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not zb-opt --zb-autodiff=optimizer=adamw:beta3=1 %s 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not zb-opt --zb-autodiff=optimizer=adamw:beta1=1 %s 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not zb-opt --zb-autodiff=optimizer=sgd:lr=fast %s 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not zb-opt --zb-autodiff=optimizer=sgd:lr %s 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not zb-opt --zb-autodiff=optimizer=adamw: %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="sgd:lr=1,"})' %s 2>&1 | FileCheck %s --check-prefix=COMMA
// RUN: not zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="sgd:lr=1,lr=2"})' %s 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="sgd:nesterov=true"})' %s 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="sgd:momentum=0.9,dampening=0.5,nesterov=true"})' %s 2>&1 | FileCheck %s --check-prefix=DAMPED
// RUN: not zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="sgd:momentum=1,nesterov=0.5"})' %s 2>&1 | FileCheck %s --check-prefix=BOOL
// RUN: not zb-opt --pass-pipeline='builtin.module(zb-autodiff{group="b.*:lr=1"})' %s 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not zb-opt --pass-pipeline='builtin.module(zb-autodiff{group="a.w:lr=1;*:lr=fast"})' %s 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: zb-opt --pass-pipeline='builtin.module(zb-autodiff{group="*:lr=0.5,weight_decay=0.25;a.?:lr=2"})' %s | FileCheck %s --check-prefix=LAST
// RUN: not zb-opt --zb-autodiff=micro-batches=0 %s 2>&1 | FileCheck %s --check-prefix=MICRO

// NAME: autodiff-options.mlir:[[#@LINE+22]]:1: error: optimizer: unknown optimizer 'adan'
// NAME: hint: did you mean 'adam'? known: adamw, sgd, adam, lion
// KEY: error: optimizer: unknown key 'beta3' of optimizer 'adamw'
// KEY: hint: did you mean 'beta1'?
// RANGE: error: optimizer: optimizer 'adamw': beta1 must be a number from 0 to below 1, got '1'
// NUMBER: error: optimizer: optimizer 'sgd': lr must be a number from 0, got 'fast'
// VALUE: error: optimizer: optimizer 'sgd': 'lr' has no value
// VALUE: hint: write key=value
// NONE: error: optimizer: optimizer 'adamw': a setting is missing after ':' or ','
// COMMA: error: optimizer: optimizer 'sgd': a setting is missing after ':' or ','
// TWICE: error: optimizer: optimizer 'sgd': lr is given twice
// ALONE: error: optimizer: optimizer 'sgd': nesterov needs a momentum and no dampening, got momentum 0, dampening 0
// ALONE: hint: for example sgd:lr=0.1,momentum=0.9,nesterov=true
// DAMPED: error: optimizer: optimizer 'sgd': nesterov needs a momentum and no dampening, got momentum 0.9, dampening 0.5
// BOOL: error: optimizer: optimizer 'sgd': nesterov must be true or false, got '0.5'
// NOBODY: error: group: the group 'b.*' has no trained parameter
// NOBODY: hint: the first of 1 is 'a.w'
// GROUP: error: group: group '*': lr must be a number from 0, got 'fast'
// The last group that fits counts, each number alone; what it says is the parameter's own.
// LAST: zb.defaults = array<f64: 2.000000e+00, 2.500000e-01>, zb.own = 3 : i64, zb.setting = "a.w.update"
// MICRO: error: micro-batches: expected a number from 1, got '0'

func.func @model(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = "zb.reduce_sum"(%h) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
