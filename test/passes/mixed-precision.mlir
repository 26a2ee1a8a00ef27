// zb-mixed-precision: where casts go, what stays, and what is refused.
// RUN: zb-opt --zb-mixed-precision --split-input-file %s | FileCheck %s
// RUN: zb-opt --zb-mixed-precision=precision=f32 --split-input-file %s | FileCheck %s --check-prefix=SAME

// f32 changes nothing.
// SAME-NOT: bf16

// A linear layer with a bias, an activation, a norm, a head and the loss. Parameters and what the norm, the loss and their statistics are
// computed in stay f32; the loss takes bf16 logits as they are.
// CHECK-LABEL: func.func @linear
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<2x4x8xf32> {{.*}}, %[[Y:[a-z0-9]+]]: tensor<2x4xi32> {{.*}}, %[[W:[a-z0-9]+]]: tensor<8x16xf32> {{.*}}, %[[B:[a-z0-9]+]]: tensor<16xf32> {{.*}}, %[[H:[a-z0-9]+]]: tensor<16x32xf32> {{.*}}, %[[S:[a-z0-9]+]]: tensor<16xf32>
// CHECK-NEXT: %[[XL:.*]] = "zb.cast"(%[[X]]) {dtype = "bf16"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xbf16>
// CHECK-NEXT: %[[WL:.*]] = "zb.cast"(%[[W]]) {dtype = "bf16"}
// CHECK-NEXT: %[[M:.*]] = "zb.matmul"(%[[XL]], %[[WL]]) : (tensor<2x4x8xbf16>, tensor<8x16xbf16>) -> tensor<2x4x16xbf16>
// CHECK-NEXT: %[[BL:.*]] = "zb.cast"(%[[B]]) {dtype = "bf16"}
// CHECK-NEXT: %[[A:.*]] = "zb.add"(%[[M]], %[[BL]]) : (tensor<2x4x16xbf16>, tensor<16xbf16>) -> tensor<2x4x16xbf16>
// CHECK-NEXT: %[[G:.*]] = "zb.gelu"(%[[A]]) {{.*}} -> tensor<2x4x16xbf16>
// CHECK-NEXT: %[[GF:.*]] = "zb.cast"(%[[G]]) {dtype = "f32"}
// CHECK-NEXT: %[[N:.*]]:2 = "zb.rms_norm"(%[[GF]], %[[S]]) {{.*}} -> (tensor<2x4x16xf32>, tensor<2x4x1xf32>)
// CHECK-NEXT: %[[NL:.*]] = "zb.cast"(%[[N]]#0) {dtype = "bf16"}
// CHECK-NEXT: %[[HL:.*]] = "zb.cast"(%[[H]]) {dtype = "bf16"}
// CHECK-NEXT: %[[L:.*]] = "zb.matmul"(%[[NL]], %[[HL]]) : {{.*}} -> tensor<2x4x32xbf16>
// CHECK-NEXT: %[[E:.*]]:2 = "zb.cross_entropy"(%[[L]], %[[Y]]) {{.*}} : (tensor<2x4x32xbf16>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
// CHECK-NEXT: return %[[E]]#0 : tensor<f32>
func.func @linear(%x: tensor<2x4x8xf32> {zb.input = "x"}, %y: tensor<2x4xi32> {zb.input = "y"}, %w: tensor<8x16xf32> {zb.param = "l.w"},
    %b: tensor<16xf32> {zb.param = "l.b"}, %h: tensor<16x32xf32> {zb.param = "h.w"}, %s: tensor<16xf32> {zb.param = "n.s"}) -> (tensor<f32> {zb.loss}) {
  %0 = "zb.matmul"(%x, %w) : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %1 = "zb.add"(%0, %b) : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  %2 = "zb.gelu"(%1) {tanh = true} : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %3:2 = "zb.rms_norm"(%2, %s) {axis = 2 : i64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> (tensor<2x4x16xf32>, tensor<2x4x1xf32>)
  %4 = "zb.matmul"(%3#0, %h) : (tensor<2x4x16xf32>, tensor<16x32xf32>) -> tensor<2x4x32xf32>
  %5:2 = "zb.cross_entropy"(%4, %y) {reduction = "mean"} : (tensor<2x4x32xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %5#0 : tensor<f32>
}

// -----

// A residual is f32, and so is what an f32 input or table touches; the product that it alone reads gives f32 sums, with no bf16 between.
// CHECK-LABEL: func.func @residual
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<4x8xf32> {{.*}}, %[[W:[a-z0-9]+]]: tensor<8x8xf32> {{.*}}, %[[T:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: %[[M:.*]] = "zb.matmul"(%{{.*}}, %{{.*}}) {dtype = "f32"} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[R:.*]] = "zb.add"(%[[X]], %[[M]]) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[Q:.*]] = "zb.mul"(%[[R]], %[[T]]) : {{.*}} -> tensor<4x8xf32>
// CHECK-NEXT: return %[[Q]]
func.func @residual(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x8xf32> {zb.param = "l.w"}, %t: tensor<4x8xf32> {zb.constant = "t"}) -> tensor<4x8xf32> {
  %0 = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "zb.add"(%x, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "zb.mul"(%1, %t) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Scalars: one that bf16 holds follows; one that it would round makes its op f32. A product with two readers keeps its bf16 result.
// CHECK-LABEL: func.func @scalars
// CHECK: %[[M:.*]] = "zb.matmul"(%{{.*}}, %{{.*}}) : {{.*}} -> tensor<4x4xbf16>
// CHECK: %[[H:.*]] = "zb.cast"(%{{.*}}) {dtype = "bf16"} : (tensor<f32>) -> tensor<bf16>
// CHECK-NEXT: "zb.mul"(%[[M]], %[[H]]) : (tensor<4x4xbf16>, tensor<bf16>) -> tensor<4x4xbf16>
// CHECK: %[[F:.*]] = "zb.cast"(%[[M]]) {dtype = "f32"}
// CHECK-NEXT: "zb.mul"(%[[F]], %{{.*}}) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
func.func @scalars(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x4xf32> {zb.param = "l.w"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %tenth = "zb.constant"() {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %0 = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = "zb.mul"(%0, %half) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = "zb.mul"(%0, %tenth) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Attention: q, k, v in bf16, the mask and lse in f32. Casts stand before views that are no smaller: the transposed weight is cast as it is
// stored, which its two readers share; a slice is cast behind.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: tensor<8x4xf32> {{.*}}, %[[MASK:[a-z0-9]+]]: tensor<1x1x2x2xf32>
// CHECK: %[[C:.*]] = "zb.cast"(%[[W]]) {dtype = "bf16"} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK-NEXT: %[[T:.*]] = "zb.transpose"(%[[C]]) {{.*}} -> tensor<4x8xbf16>
// CHECK-NEXT: %[[Q:.*]] = "zb.matmul"(%{{.*}}, %[[T]])
// CHECK-NEXT: %[[V:.*]] = "zb.reshape"(%[[Q]]) {{.*}} -> tensor<1x2x2x4xbf16>
// CHECK-NEXT: %[[A:.*]]:2 = "zb.attention"(%[[V]], %[[V]], %[[V]], %[[MASK]]) {{.*}} : (tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>, tensor<1x1x2x2xf32>) -> (tensor<1x2x2x4xbf16>, tensor<1x2x2xf32>)
// CHECK-NEXT: %[[S:.*]] = "zb.slice"(%[[X]]) {{.*}} -> tensor<1x4xf32>
// CHECK-NEXT: %[[SL:.*]] = "zb.cast"(%[[S]]) {dtype = "bf16"}
// CHECK-NEXT: "zb.matmul"(%[[SL]], %[[T]]) {dtype = "f32"}
// CHECK-NEXT: %[[O:.*]] = "zb.cast"(%[[A]]#0) {dtype = "f32"}
// CHECK-NEXT: "zb.reshape"(%[[O]]) {{.*}} -> tensor<2x8xf32>
func.func @attention(%x: tensor<2x4xf32> {zb.input = "x"}, %w: tensor<8x4xf32> {zb.param = "l.w"}, %mask: tensor<1x1x2x2xf32> {zb.constant = "mask"})
    -> (tensor<2x8xf32>, tensor<1x8xf32>) {
  %t = "zb.transpose"(%w) {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %q = "zb.matmul"(%x, %t) : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %v = "zb.reshape"(%q) {shape = array<i64: 1, 2, 2, 4>} : (tensor<2x8xf32>) -> tensor<1x2x2x4xf32>
  %a:2 = "zb.attention"(%v, %v, %v, %mask) {scale = 0.5 : f64} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2xf32>)
  %o = "zb.reshape"(%a#0) {shape = array<i64: 2, 8>} : (tensor<1x2x2x4xf32>) -> tensor<2x8xf32>
  %s = "zb.slice"(%x) {starts = array<i64: 0, 0>, sizes = array<i64: 1, 4>, steps = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %p = "zb.matmul"(%s, %t) : (tensor<1x4xf32>, tensor<4x8xf32>) -> tensor<1x8xf32>
  return %o, %p : tensor<2x8xf32>, tensor<1x8xf32>
}

// -----

// What zb-raise fuses: SwiGLU follows its products; a rotary embedding takes bf16 beside its f32 tables, and gives bf16.
// CHECK-LABEL: func.func @fused
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]: tensor<6xf32> {{.*}}, %[[S:[a-z0-9]+]]: tensor<6xf32>
// CHECK: %[[P:.*]] = "zb.matmul"(%{{.*}}, %{{.*}}) : {{.*}} -> tensor<4x6xbf16>
// CHECK-NEXT: %[[G:.*]] = "zb.swiglu"(%[[P]], %[[P]]) : (tensor<4x6xbf16>, tensor<4x6xbf16>) -> tensor<4x6xbf16>
// CHECK-NEXT: "zb.rotary"(%[[G]], %[[C]], %[[S]]) : (tensor<4x6xbf16>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xbf16>
func.func @fused(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x6xf32> {zb.param = "l.w"}, %c: tensor<6xf32> {zb.constant = "c"}, %s: tensor<6xf32> {zb.constant = "s"}) -> tensor<4x6xf32> {
  %0 = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = "zb.swiglu"(%0, %0) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = "zb.rotary"(%1, %c, %s) : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// -----

// What autocast keeps in f32 stays so behind a product; what nobody described gets f32, too.
// CHECK-LABEL: func.func @full
// CHECK: "zb.softmax"(%{{.*}}) {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: "zb.exp"(%{{.*}}) : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: "zb.reduce_sum"(%{{.*}}) {{.*}} : (tensor<4x4xf32>) -> tensor<4xf32>
func.func @full(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x4xf32> {zb.param = "l.w"}) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %0 = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = "zb.softmax"(%0) {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "zb.exp"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "zb.reduce_sum"(%2) {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<4xf32>
}

// -----

// No product: no change. Indices and f64 are left alone.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: zb.cast
// CHECK: return
func.func @nothing(%i: tensor<4xi32> {zb.input = "i"}, %w: tensor<8x4xf32> {zb.param = "e.w"}, %d: tensor<4x4xf64> {zb.input = "d"}) -> (tensor<4x4xf32>, tensor<4x4xf64>) {
  %0 = "zb.gather"(%w, %i) {axis = 0 : i64} : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  %1 = "zb.gelu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "zb.matmul"(%d, %d) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf64>
}

// -----

// A product with a bias, as zb-raise leaves it, gives bf16 even where f32 is wanted: its bias has its type. Once more changes nothing.
// RUN: zb-opt --zb-mixed-precision --zb-mixed-precision --split-input-file %s | FileCheck %s --check-prefix=TWICE
// CHECK-LABEL: func.func @bias
// CHECK: %[[P:.*]] = "zb.matmul"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<4x16xbf16>
// CHECK: "zb.cast"(%[[P]]) {dtype = "f32"}
// TWICE-LABEL: func.func @bias
// TWICE: %[[P:.*]] = "zb.matmul"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<4x16xbf16>
// TWICE: "zb.cast"(%[[P]]) {dtype = "f32"}
func.func @bias(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x16xf32> {zb.param = "l.w"}, %b: tensor<16xf32> {zb.param = "l.b"}, %s: tensor<16xf32> {zb.param = "n.s"}) -> tensor<4x16xf32> {
  %p = "zb.matmul"(%x, %w, %b) : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %n:2 = "zb.rms_norm"(%p, %s) {axis = 1 : i64} : (tensor<4x16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x1xf32>)
  return %n#0 : tensor<4x16xf32>
}
