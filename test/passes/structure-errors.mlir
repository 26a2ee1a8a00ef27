// What the passes from partition on say of programs they cannot take: each at its place, with a hint.
// RUN: not zb-opt --zb-partition=ranks=3 %s 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not zb-opt --zb-partition=ranks=0 %s 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not zb-opt --zb-partition=ranks=2,placement=wavy %s 2>&1 | FileCheck %s --check-prefix=PLACEMENT
// RUN: not zb-opt --zb-partition=ranks=2,cuts=nowhere %s 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: not zb-opt --zb-partition=ranks=2,stages=2 %s 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not zb-opt --zb-classify %s 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not zb-opt --zb-outline %s 2>&1 | FileCheck %s --check-prefix=OUTLINE
// RUN: not zb-opt --zb-allocate %s 2>&1 | FileCheck %s --check-prefix=ALLOCATE
// RUN: not zb-opt --zb-partition=ranks=1 --zb-partition=ranks=1 %s 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not zb-opt --zb-partition=ranks=2 --zb-classify --zb-outline %s 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: not zb-opt --zb-clasify %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/zb.input = "x"/zb.param = "x"/' %s | not zb-opt --zb-partition=ranks=1 2>&1 | FileCheck %s --check-prefix=DATA

// MANY: structure-errors.mlir:[[@LINE+23]]:3: error: ranks: cannot cut 2 forward ops into 3 virtual stages (3 ranks x 1 chunks)
// MANY: hint: use fewer ranks or chunks
// ZERO: error: ranks: expected ranks of 1 to 4096 and chunks of 1 to 256, got '0' and '1'
// PLACEMENT: error: {{.*}}wavy
// CUT: error: cuts: no op is named 'nowhere' to cut after
// CUT: hint: cuts are node names, module paths, or #ID of an op
// OPTION: error: pass zb-partition has no option 'stages'
// ORDER: error: zb-classify needs a program at level 'staged', got level 'split'
// ORDER: hint: run zb-partition before it
// OUTLINE: error: zb-outline needs a program at level 'classified', got level 'split'
// OUTLINE: hint: run zb-classify before it
// ALLOCATE: error: zb-allocate needs a program at level 'connected', got level 'split'
// ALLOCATE: hint: run zb-insert-comm before it
// TWICE: error: zb-partition needs a program at level 'split', got level 'staged'
// PLAIN: structure-errors.mlir:[[@LINE+12]]:5: error: result 1 of the program cannot be reported: a plan reports one value, and that is result 0
// PLAIN: hint: drop results that are neither the loss nor updates
// DATA: error: the loss reads no input: a micro-batch has nothing to compute
// DATA: hint: make the data of a batch an argument
// NAME: error: unknown pass 'zb-clasify'
// NAME: hint: did you mean 'zb-classify'?

module attributes {zb.level = "split"} {

  func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x8xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}, tensor<4x8xf32>) {
    %0 = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = "zb.reduce_sum"(%0) {axes = array<i64>, keepdims = false} : (tensor<4x8xf32>) -> tensor<f32>
    return %1, %0 : tensor<f32>, tensor<4x8xf32>
  }
}
