// zb-split-policy: gradients that B computes itself keep nothing for W. A norm and a product on the second of two ranks.
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=cut --zb-classify --zb-split-policy=split=products %s | FileCheck %s --check-prefix=PRODUCTS
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=cut --zb-classify --zb-split-policy=split=all %s | FileCheck %s --check-prefix=ALL
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=cut --zb-classify '--zb-split-policy=split="norm.*"' %s | FileCheck %s --check-prefix=NAMED
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=cut --zb-classify --zb-split-policy=split=products --zb-outline --zb-memory %s | FileCheck %s --check-prefix=FRAMES
// RUN: not zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2,cuts=cut --zb-classify '--zb-split-policy=split="norn.*"' %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// What leads to the gradient of the norm's scale is B; the products wait.
// PRODUCTS: "zb.accumulate"{{.*}}parameter = "b.w"{{.*}}zb.class = "W"
// PRODUCTS: "zb.accumulate"{{.*}}parameter = "norm.weight"{{.*}}zb.class = "B"
// PRODUCTS: "zb.accumulate"{{.*}}parameter = "a.w"{{.*}}zb.class = "W"

// ALL: "zb.accumulate"{{.*}}parameter = "b.w"{{.*}}zb.class = "W"
// ALL: "zb.accumulate"{{.*}}parameter = "norm.weight"{{.*}}zb.class = "W"
// ALL: "zb.accumulate"{{.*}}parameter = "a.w"{{.*}}zb.class = "W"

// NAMED: "zb.accumulate"{{.*}}parameter = "b.w"{{.*}}zb.class = "B"
// NAMED: "zb.accumulate"{{.*}}parameter = "norm.weight"{{.*}}zb.class = "W"
// NAMED: "zb.accumulate"{{.*}}parameter = "a.w"{{.*}}zb.class = "B"

// The input of the norm goes from F to B alone (fb), W keeps nothing from B on (no bw), and B adds to the gradients.
// FRAMES: @s1_F({{.*}} -> (!zb.frame<"fb", 576 : i64> {zb.frame = "fb"}, !zb.frame<"fw", 512 : i64>
// FRAMES: @s1_B({{.*}}!zb.frame<"gradients", 576 : i64>{{.*}} -> (!zb.frame<"gradients", 576 : i64> {zb.frame = "gradients"}, tensor<8x16xf32> {zb.value
// FRAMES: "zb.accumulate"({{.*}}parameter = "norm.weight", use = 0 : i64, zb.class = "B"
// FRAMES: @s1_W(%{{[^:]*}}: !zb.frame<"gradients", 576 : i64> {zb.frame = "gradients"}, %{{[^:]*}}: !zb.frame<"constants", 256 : i64> {zb.frame = "constants"}, %{{[^:]*}}: !zb.frame<"fw", 512 : i64> {zb.frame = "fw"}) ->

// UNKNOWN: split: 'norn.*' names no trained parameter, did you mean 'norm.*'?

func.func @model(%x: tensor<8x16xf32> {zb.input = "x"}, %w: tensor<16x16xf32> {zb.param = "a.w"}, %s: tensor<16xf32> {zb.param = "norm.weight"}, %v: tensor<16x8xf32> {zb.param = "b.w"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.matmul"(%x, %w) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("cut")
  %n:2 = "zb.rms_norm"(%h, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x1xf32>)
  %z = "zb.matmul"(%n#0, %v) : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %l = "zb.reduce_mean"(%z) {axes = array<i64: 0, 1>} : (tensor<8x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
