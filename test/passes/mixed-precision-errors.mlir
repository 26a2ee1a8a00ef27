// What zb-mixed-precision refuses, each at its place.
// RUN: not zb-opt --zb-mixed-precision %s 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: not zb-opt --zb-mixed-precision=precision=f16 %s 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: not zb-opt --zb-mixed-precision=precision=int8 %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not zb-opt --zb-mixed-precision %S/structure-errors.mlir 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not zbc %data/gpt2-tiny.onnx -o %t --precision bf17 2>&1 | FileCheck %s --check-prefix=ZBC
// RUN: not zbc %data/gpt2-tiny.onnx -o %t --precision f16 2>&1 | FileCheck %s --check-prefix=ZBCHALF
// RUN: not zbc %data/gpt2-tiny.onnx -o %t --precision bf16 --pass-pipeline zb-dce 2>&1 | FileCheck %s --check-prefix=PIPELINE

// SUMS: mixed-precision-errors.mlir:[[@LINE+19]]:10: error: mixed precision needs a forward program: this one accumulates gradients
// SUMS: hint: give zbc the forward program, which it differentiates itself, or leave the precision f32
// HALF: error: precision: expected f32 or bf16, got 'f16'
// HALF: hint: gradients in f16 need a loss scale, which zbc has not; bf16 has the range of f32
// OTHER: error: precision: expected f32 or bf16, got 'int8'
// LATE: error: zb-mixed-precision needs a program at level 'graph', got level 'split'
// LATE: hint: run it earlier
// ZBC: zbc: error: --precision: expected f32 or bf16, got 'bf17'
// ZBC: hint: did you mean 'bf16'?
// ZBCHALF: zbc: error: --precision: expected f32 or bf16, got 'f16'
// ZBCHALF: hint: gradients in f16 need a loss scale
// PIPELINE: error: --precision has no effect with --pass-pipeline
// PIPELINE: hint: write it as an option of its pass

module {

  func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x8xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %g = "zb.matmul"(%x, %0) {transpose_lhs = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %s = "zb.accumulate"(%g) {parameter = "w", use = 0 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %l = "zb.reduce_sum"(%0) {axes = array<i64>} : (tensor<4x8xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
