// zb-raise: a value times the SiLU of another.
// RUN: zb-opt --zb-raise --split-input-file %s | FileCheck %s
// RUN: zb-opt --zb-raise=only=silu --split-input-file %s | FileCheck %s --check-prefix=SILU
// RUN: zb-opt --zb-raise --zb-autodiff=optimizer=sgd:lr=1 --zb-split-grad --zb-dce --zb-layout --zb-partition --zb-classify %S/Inputs/gated.mlir | FileCheck %s --check-prefix=GRAD

// One gradient op for both, which is not split; it lies in B, the gradients of the matrices in W. silu(gate) is not saved.
// GRAD: %[[G:.*]] = "zb.matmul"(%[[X:.*]], %arg1)
// GRAD: %[[U:.*]] = "zb.matmul"(%[[X]], %arg2)
// GRAD: %[[S:.*]] = "zb.swiglu"(%[[G]], %[[U]])
// GRAD: %[[D:.*]]:2 = "zb.swiglu_grad"(%[[G]], %[[U]], %{{.*}}) {{{.*}}zb.class = "B"
// GRAD-NOT: zb.silu
// GRAD: "zb.matmul"(%[[X]], %[[D]]#1) {{{.*}}zb.class = "W"
// GRAD: "zb.matmul"(%[[X]], %[[D]]#0) {{{.*}}zb.class = "W"

// silu(x) * y, whichever comes first, of the parts or of a zb.silu: one op. A silu with another reader, with an alpha, or of a shape of its
// own stays. Left out, the parts stay.
// CHECK-LABEL: func.func @swiglu
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{.*}}, %[[Y:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = "zb.swiglu"(%[[X]], %[[Y]]) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[B:.*]] = "zb.swiglu"(%[[A]], %[[X]])
// CHECK-NEXT: return %[[B]]
// SILU-LABEL: func.func @swiglu
// SILU: "zb.silu"
// SILU-NEXT: "zb.mul"
// SILU-NOT: zb.swiglu
func.func @swiglu(%x: tensor<4x8xf32> {zb.input = "x"}, %y: tensor<4x8xf32> {zb.input = "y"}) -> tensor<4x8xf32> {
  %s = "zb.sigmoid"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = "zb.mul"(%x, %s) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = "zb.mul"(%a, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = "zb.silu"(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = "zb.mul"(%x, %c) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @no_swiglu
// CHECK-COUNT-3: zb.silu
// CHECK-NOT: zb.swiglu
func.func @no_swiglu(%x: tensor<4x8xf32> {zb.input = "x"}, %y: tensor<8xf32> {zb.input = "y"}) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = "zb.silu"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = "zb.mul"(%a, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = "zb.silu"(%x) {alpha = 1.5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = "zb.mul"(%c, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = "zb.silu"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = "zb.mul"(%e, %y) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %a, %b, %d, %f : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
