// Ops of torch.export and what they become. Numbers: test/e2e/aten.py.
// RUN: zbc %s -o %t --ranks 1 --dump-ir %t.dump > %t.txt && FileCheck %s < %t.dump/00_zb-canonicalize.mlir
// Layers, by module paths.
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.txt
// SUMMARY: lm.embed .. lm
// SUMMARY: trained 4: lm.embed.weight lm.h.0.weight lm.h.0.bias lm.h.1.weight
// Both names of the tied parameter are known; the frozen one is not trained.
// RUN: zbc %s -o %t --freeze lm.head.weight | FileCheck %s --check-prefix=FREEZE
// FREEZE: trained 3: lm.h.0.weight lm.h.0.bias lm.h.1.weight
// RUN: not zbc %s -o %t --freeze lm.haed.weight 2>&1 | FileCheck %s --check-prefix=NEAR
// NEAR: error: --freeze 'lm.haed.weight' matches no float parameter

// CHECK: func.func @model(%[[X:.*]]: tensor<2x5xi64> {zb.input = "x"}, %[[Y:.*]]: tensor<2x5xi64> {zb.input = "y"}, %[[W:.*]]: tensor<7x4xf32> {zb.param = "lm.embed.weight"}, %[[F:.*]]: tensor<4xf32> {zb.frozen = "lm.scale"}, %[[W0:.*]]: tensor<4x4xf32> {zb.param = "lm.h.0.weight"}, %[[B0:.*]]: tensor<4xf32> {zb.param = "lm.h.0.bias"}, %[[W1:.*]]: tensor<4x4xf32> {zb.param = "lm.h.1.weight"})
#f0 = loc("model.py":7:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%w: tensor<7x4xf32> {aten.parameter = "lm.embed.weight", aten.names = ["lm.embed.weight", "lm.head.weight"]},
                  %w0: tensor<4x4xf32> {aten.parameter = "lm.h.0.weight"}, %b0: tensor<4xf32> {aten.parameter = "lm.h.0.bias"},
                  %w1: tensor<4x4xf32> {aten.parameter = "lm.h.1.weight"},
                  %scale: tensor<4xf32> {aten.parameter = "lm.scale", aten.frozen},
                  %x: tensor<2x5xi64> {aten.input = "x"}, %y: tensor<2x5xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}, tensor<2x5x7xf32> {aten.output = "logits"}) {
    %none = "aten.none"() : () -> none
    // No gradient flows to the row of the padding token.
    // CHECK: %[[ROWS:.*]] = "zb.gather"(%[[W]], %[[X]]) {axis = 0 : i64, from_end = false}
    // CHECK: %[[PAD:.*]] = "zb.equal"({{.*}})
    // CHECK: %[[STOPPED:.*]] = "zb.detach"(%[[ROWS]])
    // CHECK: %[[E:.*]] = "zb.where"(%[[PAD]], %[[STOPPED]], %[[ROWS]])
    %e = "aten.embedding"(%w, %x) {padding_idx = 6 : i64} : (tensor<7x4xf32>, tensor<2x5xi64>) -> tensor<2x5x4xf32> loc("lm.embed (embedding)"(#f0))
    // An absent weight is ones; the number of epsilon is a float32.
    // CHECK: %[[ONES:.*]] = "zb.expand"
    // CHECK: %[[N:.*]]:3 = "zb.layer_norm"(%[[E]], %[[ONES]]) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64}
    %n = "aten.layer_norm"(%e) {normalized_shape = array<i64: 4>, eps = 1.0e-5 : f64} : (tensor<2x5x4xf32>) -> tensor<2x5x4xf32> loc("lm.h.0 (norm)"(#f0))
    // A number that is added with alpha, and a product with a frozen parameter.
    // CHECK: %[[SCALED:.*]] = "zb.mul"(%[[N]]#0, %[[F]])
    // CHECK: %[[SIX:.*]] = "zb.constant"() {value = dense<6.000000e+00> : tensor<f32>}
    // CHECK: %[[MOVED:.*]] = "zb.add"(%[[SCALED]], %[[SIX]])
    %s = "aten.mul.Tensor"(%n, %scale) : (tensor<2x5x4xf32>, tensor<4xf32>) -> tensor<2x5x4xf32> loc("lm.h.0 (mul)"(#f0))
    %m = "aten.add.Tensor"(%s) {other = 2 : i64, alpha = 3 : i64} : (tensor<2x5x4xf32>) -> tensor<2x5x4xf32> loc("lm.h.0 (add)"(#f0))
    // CHECK: %[[FLAT:.*]] = "zb.reshape"(%[[MOVED]]) {shape = array<i64: 10, 4>}
    // CHECK: %[[P:.*]] = "zb.matmul"(%[[FLAT]], %[[W0]])
    // CHECK: %[[HALF:.*]] = "zb.mul"(%[[B0]], {{.*}})
    // CHECK: "zb.add"(%[[P]], %[[HALF]])
    %v = "aten.view"(%m) {size = array<i64: -1, 4>} : (tensor<2x5x4xf32>) -> tensor<10x4xf32> loc("lm.h.0 (view)"(#f0))
    %a = "aten.addmm"(%b0, %v, %w0) {beta = 5.0e-1 : f64} : (tensor<4xf32>, tensor<10x4xf32>, tensor<4x4xf32>) -> tensor<10x4xf32> loc("lm.h.0 (addmm)"(#f0))
    %r = "aten.view"(%a) {size = array<i64: 2, 5, 1, 4>} : (tensor<10x4xf32>) -> tensor<2x5x1x4xf32> loc("lm.h.1 (view)"(#f0))
    %t = "aten.transpose.int"(%r) {dim0 = 1 : i64, dim1 = -2 : i64} : (tensor<2x5x1x4xf32>) -> tensor<2x1x5x4xf32> loc("lm.h.1 (transpose)"(#f0))
    // Positions are constants: the mask that is made of them is the triangle of zb.
    %i = "aten.arange.start_step"() {start = 0 : i64, end = 5 : i64} : () -> tensor<5xi64> loc("lm.h.1 (arange)"(#f0))
    %c = "aten.unsqueeze"(%i) {dim = 1 : i64} : (tensor<5xi64>) -> tensor<5x1xi64> loc("lm.h.1 (unsqueeze)"(#f0))
    %seen = "aten.le.Tensor"(%i, %c) : (tensor<5xi64>, tensor<5x1xi64>) -> tensor<5x5xi1> loc("lm.h.1 (le)"(#f0))
    // CHECK: %[[MASK:.*]] = "zb.constant"() {value = dense<{{\[\[}}0.000000e+00, 0xFF800000, 0xFF800000
    // CHECK: %[[SCORES:.*]] = "zb.add"({{.*}}, %[[MASK]])
    // CHECK: "zb.softmax"(%[[SCORES]]) {axis = 3 : i64}
    %att = "aten.scaled_dot_product_attention"(%t, %t, %t, %seen) {dropout_p = 0.0 : f64} : (tensor<2x1x5x4xf32>, tensor<2x1x5x4xf32>, tensor<2x1x5x4xf32>, tensor<5x5xi1>) -> tensor<2x1x5x4xf32> loc("lm.h.1 (attention)"(#f0))
    %sq = "aten.squeeze.dim"(%att) {dim = 1 : i64} : (tensor<2x1x5x4xf32>) -> tensor<2x5x4xf32> loc("lm.h.1 (squeeze)"(#f0))
    // CHECK: "zb.matmul"({{.*}}, %[[W1]]) {transpose_rhs = true}
    %l = "aten.linear"(%sq, %w1) : (tensor<2x5x4xf32>, tensor<4x4xf32>) -> tensor<2x5x4xf32> loc("lm.h.1 (linear)"(#f0))
    // Parts that nobody reads are none.
    // CHECK: "zb.split"
    %parts:2 = "aten.split.Tensor"(%l) {split_size = 2 : i64, dim = -1 : i64} : (tensor<2x5x4xf32>) -> (tensor<2x5x2xf32>, tensor<2x5x2xf32>) loc("lm.h.1 (split)"(#f0))
    // CHECK: "zb.concat"
    %cat = "aten.cat"(%parts#1, %parts#0) {dim = 2 : i64} : (tensor<2x5x2xf32>, tensor<2x5x2xf32>) -> tensor<2x5x4xf32> loc("lm.h.1 (cat)"(#f0))
    // Values are read at the places of the greatest elements: a gradient goes to what was chosen.
    // CHECK: %[[TOP:.*]] = "zb.top_k"(%[[CAT:.*]]) {axis = 2 : i64, k = 4 : i64, largest = false}
    // CHECK: %[[SORTED:.*]] = "zb.gather_elements"(%[[CAT]], %[[TOP]]) {axis = 2 : i64}
    // CHECK: %[[FIRST:.*]] = "zb.top_k"(%[[SORTED]]) {axis = 1 : i64, k = 1 : i64}
    // CHECK: %[[MOST:.*]] = "zb.gather_elements"(%[[SORTED]], %[[FIRST]]) {axis = 1 : i64}
    // CHECK: "zb.sub"(%[[SORTED]], %[[MOST]])
    %sorted:2 = "aten.sort"(%cat) {dim = -1 : i64, descending = false} : (tensor<2x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x4xi64>) loc("lm.h.1 (sort)"(#f0))
    %most:2 = "aten.max.dim"(%sorted#0) {dim = 1 : i64, keepdim = true} : (tensor<2x5x4xf32>) -> (tensor<2x1x4xf32>, tensor<2x1x4xi64>) loc("lm.h.1 (max)"(#f0))
    %last = "aten.sub.Tensor"(%sorted#0, %most#0) : (tensor<2x5x4xf32>, tensor<2x1x4xf32>) -> tensor<2x5x4xf32> loc("lm.h.1 (sub)"(#f0))
    // CHECK: %[[LOGITS:.*]] = "zb.matmul"({{.*}}, %[[W]]) {transpose_rhs = true}
    %logits = "aten.linear"(%last, %w, %none) : (tensor<2x5x4xf32>, tensor<7x4xf32>, none) -> tensor<2x5x7xf32> loc("lm.head (linear)"(#f0))
    %rows = "aten.view"(%logits) {size = array<i64: 10, 7>} : (tensor<2x5x7xf32>) -> tensor<10x7xf32> loc("lm (rows)"(#f0))
    %labels = "aten.view"(%y) {size = array<i64: 10>} : (tensor<2x5xi64>) -> tensor<10xi64> loc("lm (labels)"(#f0))
    // CHECK: "zb.cross_entropy"({{.*}}) {ignore_index = -1 : i64, reduction = "mean"}
    %loss = "aten.cross_entropy_loss"(%rows, %labels) {reduction = 1 : i64, ignore_index = -1 : i64} : (tensor<10x7xf32>, tensor<10xi64>) -> tensor<f32> loc("lm (loss)"(#f0))
    return %loss, %logits : tensor<f32>, tensor<2x5x7xf32>
  }
}
