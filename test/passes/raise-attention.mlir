// zb-raise: attention.
// RUN: zb-opt --zb-canonicalize --zb-raise --zb-canonicalize --split-input-file %s | FileCheck %s

// As Hugging Face's GPT-2 exports it: keys transposed twice at once, scale after the product, a causal mask that the importer folded. All
// transposes cancel: attention reads the token-major values of the projection.
// CHECK-LABEL: func.func @gpt2
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: {{[^,]*}}, %[[K:[a-z0-9]+]]: {{[^,]*}}, %[[V:[a-z0-9]+]]:
// CHECK-NEXT: %[[O:.*]]:2 = "zb.attention"(%[[Q]], %[[K]], %[[V]]) {causal = true, scale = 5.000000e-01 : f64}
// CHECK-NEXT: return %[[O]]#0
func.func @gpt2(%q: tensor<2x5x3x4xf32> {zb.input = "q"}, %k: tensor<2x5x3x4xf32> {zb.input = "k"},
                %v: tensor<2x5x3x4xf32> {zb.input = "v"}) -> tensor<2x5x3x4xf32> {
  %mask = "zb.triangle"() {shape = array<i64: 2, 1, 5, 5>, diagonal = 0 : i64, lower = 0.0 : f64, upper = -3.4028234663852886e+38 : f64, dtype = "f32"}
    : () -> tensor<2x1x5x5xf32>
  %scale = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %vt = "zb.transpose"(%v) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
  %qt = "zb.transpose"(%q) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
  %kt = "zb.transpose"(%k) {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x4x5xf32>
  %s = "zb.matmul"(%qt, %kt) : (tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x5x5xf32>
  %c = "zb.mul"(%s, %scale) : (tensor<2x3x5x5xf32>, tensor<f32>) -> tensor<2x3x5x5xf32>
  %m = "zb.add"(%c, %mask) : (tensor<2x3x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x3x5x5xf32>
  %p = "zb.softmax"(%m) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o = "zb.matmul"(%p, %vt) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %r = "zb.transpose"(%o) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x4xf32>) -> tensor<2x5x3x4xf32>
  return %r : tensor<2x5x3x4xf32>
}

// -----

// As Hugging Face's Llama exports it: keys and values repeated over groups of heads; queries and keys go through the rotary embedding, which is
// computed token-major, so that no transpose is left.
// CHECK-LABEL: func.func @llama
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: {{[^,]*}}, %[[K:[a-z0-9]+]]: {{[^,]*}}, %[[V:[a-z0-9]+]]: {{[^,]*}}, %[[COS:[a-z0-9]+]]:
// CHECK-NOT: zb.transpose
// CHECK-DAG: %[[C1:.*]] = "zb.reshape"(%[[COS]]) {shape = array<i64: 1, 5, 1, 8>}
// CHECK-DAG: %[[QC:.*]] = "zb.mul"(%[[Q]], %[[C1]]) : (tensor<2x5x4x8xf32>, tensor<1x5x1x8xf32>) -> tensor<2x5x4x8xf32>
// CHECK-DAG: %[[Q0:.*]] = "zb.slice"(%[[Q]]) {sizes = array<i64: 2, 5, 4, 4>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>}
// CHECK-DAG: %[[Q1:.*]] = "zb.slice"(%[[Q]]) {sizes = array<i64: 2, 5, 4, 4>, starts = array<i64: 0, 0, 0, 4>, steps = array<i64: 1, 1, 1, 1>}
// CHECK-DAG: %[[QN:.*]] = "zb.neg"(%[[Q1]])
// CHECK-DAG: %[[QJ:.*]] = "zb.concat"(%[[QN]], %[[Q0]]) {axis = 3 : i64}
// CHECK-DAG: %[[QR:.*]] = "zb.add"(%[[QC]], %[[QJ]]) : (tensor<2x5x4x8xf32>
// CHECK-DAG: %[[KR:.*]] = "zb.mul"(%[[K]], %{{.*}}) : (tensor<2x5x2x8xf32>
// CHECK: %[[O:.*]]:2 = "zb.attention"(%[[QR]], %[[KR]], %[[V]]) {causal = true, scale = 5.000000e-01 : f64}
// CHECK-NEXT: return %[[O]]#0
func.func @llama(%q: tensor<2x5x4x8xf32> {zb.input = "q"}, %k: tensor<2x5x2x8xf32> {zb.input = "k"},
                 %v: tensor<2x5x2x8xf32> {zb.input = "v"}, %cos: tensor<1x1x5x8xf32> {zb.constant = "cos"}) -> tensor<2x5x4x8xf32> {
  %causal = "zb.triangle"() {shape = array<i64: 2, 1, 5, 5>, diagonal = 0 : i64, lower = 1.0 : f64, upper = 0.0 : f64, dtype = "i1"}
    : () -> tensor<2x1x5x5xi1>
  %zero = "zb.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %least = "zb.constant"() {value = dense<-3.4028234663852886e+38> : tensor<f32>} : () -> tensor<f32>
  %mask = "zb.where"(%causal, %zero, %least) : (tensor<2x1x5x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x5x5xf32>
  %scale = "zb.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %qt = "zb.transpose"(%q) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf32>) -> tensor<2x4x5x8xf32>
  %qc = "zb.mul"(%qt, %cos) : (tensor<2x4x5x8xf32>, tensor<1x1x5x8xf32>) -> tensor<2x4x5x8xf32>
  %q0 = "zb.slice"(%qt) {starts = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 4, 5, 4>, steps = array<i64: 1, 1, 1, 1>}
    : (tensor<2x4x5x8xf32>) -> tensor<2x4x5x4xf32>
  %q1 = "zb.slice"(%qt) {starts = array<i64: 0, 0, 0, 4>, sizes = array<i64: 2, 4, 5, 4>, steps = array<i64: 1, 1, 1, 1>}
    : (tensor<2x4x5x8xf32>) -> tensor<2x4x5x4xf32>
  %qn = "zb.neg"(%q1) : (tensor<2x4x5x4xf32>) -> tensor<2x4x5x4xf32>
  %qj = "zb.concat"(%qn, %q0) {axis = 3 : i64} : (tensor<2x4x5x4xf32>, tensor<2x4x5x4xf32>) -> tensor<2x4x5x8xf32>
  %qr = "zb.add"(%qc, %qj) : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %kt = "zb.transpose"(%k) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x8xf32>) -> tensor<2x2x5x8xf32>
  %kr = "zb.mul"(%kt, %cos) : (tensor<2x2x5x8xf32>, tensor<1x1x5x8xf32>) -> tensor<2x2x5x8xf32>
  %k1 = "zb.reshape"(%kr) {shape = array<i64: 2, 2, 1, 5, 8>} : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %k2 = "zb.expand"(%k1) {shape = array<i64: 2, 2, 2, 5, 8>} : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k4 = "zb.reshape"(%k2) {shape = array<i64: 2, 4, 5, 8>} : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %vt = "zb.transpose"(%v) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x8xf32>) -> tensor<2x2x5x8xf32>
  %v1 = "zb.reshape"(%vt) {shape = array<i64: 2, 2, 1, 5, 8>} : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %v2 = "zb.expand"(%v1) {shape = array<i64: 2, 2, 2, 5, 8>} : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %v4 = "zb.reshape"(%v2) {shape = array<i64: 2, 4, 5, 8>} : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %kc = "zb.transpose"(%k4) {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %s = "zb.matmul"(%qr, %kc) : (tensor<2x4x5x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x5x5xf32>
  %c = "zb.div"(%s, %scale) : (tensor<2x4x5x5xf32>, tensor<f32>) -> tensor<2x4x5x5xf32>
  %m = "zb.add"(%c, %mask) : (tensor<2x4x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x4x5x5xf32>
  %p = "zb.softmax"(%m) {axis = 3 : i64} : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = "zb.matmul"(%p, %v4) : (tensor<2x4x5x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %r = "zb.transpose"(%o) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x5x8xf32>) -> tensor<2x5x4x8xf32>
  return %r : tensor<2x5x4x8xf32>
}

// -----

// Scales on q and k (PyTorch's scaled_dot_product_attention), a causal mask selected by zb.where, a padding mask that is data, and the guard
// against rows of NaN.
// CHECK-LABEL: func.func @sdpa
// CHECK-SAME: %[[PAD:[a-z0-9]+]]: tensor<2x1x1x5xf32>
// CHECK: "zb.attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[PAD]]) {causal = true, scale = 2.500000e-01 : f64}
// CHECK-NOT: zb.softmax
func.func @sdpa(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x3x5x4xf32> {zb.input = "k"},
                %v: tensor<2x3x5x4xf32> {zb.input = "v"}, %pad: tensor<2x1x1x5xf32> {zb.input = "pad"}) -> tensor<2x3x5x4xf32> {
  %hidden = "zb.triangle"() {shape = array<i64: 5, 5>, diagonal = 0 : i64, lower = 0.0 : f64, upper = 1.0 : f64, dtype = "i1"} : () -> tensor<5x5xi1>
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %zero = "zb.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %least = "zb.constant"() {value = dense<-1.0e+30> : tensor<f32>} : () -> tensor<f32>
  %qs = "zb.mul"(%q, %half) : (tensor<2x3x5x4xf32>, tensor<f32>) -> tensor<2x3x5x4xf32>
  %kt = "zb.transpose"(%k) {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x3x5x4xf32>) -> tensor<2x3x4x5xf32>
  %ks = "zb.mul"(%kt, %half) : (tensor<2x3x4x5xf32>, tensor<f32>) -> tensor<2x3x4x5xf32>
  %s = "zb.matmul"(%qs, %ks) : (tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x5x5xf32>
  %a = "zb.add"(%pad, %s) : (tensor<2x1x1x5xf32>, tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %w = "zb.where"(%hidden, %least, %a) : (tensor<5x5xi1>, tensor<f32>, tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %p = "zb.softmax"(%w) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %nan = "zb.is_nan"(%p) : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xi1>
  %g = "zb.where"(%nan, %zero, %p) : (tensor<2x3x5x5xi1>, tensor<f32>, tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o = "zb.matmul"(%g, %v) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

// -----

// Probabilities that somebody else reads, a mask that is trained, a mask that is scaled with the scores: not raised.
// CHECK-LABEL: func.func @no_attention
// CHECK-NOT: zb.attention
// CHECK: return
func.func @no_attention(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x3x5x4xf32> {zb.input = "k"},
                        %bias: tensor<3x5x5xf32> {zb.param = "a.bias"}, %pad: tensor<5xf32> {zb.input = "pad"})
    -> (tensor<2x3x5x4xf32>, tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) {
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %s = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %p = "zb.softmax"(%s) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o = "zb.matmul"(%p, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %s2 = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %m2 = "zb.add"(%s2, %bias) : (tensor<2x3x5x5xf32>, tensor<3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %p2 = "zb.softmax"(%m2) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o2 = "zb.matmul"(%p2, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %s3 = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %m3 = "zb.add"(%s3, %pad) : (tensor<2x3x5x5xf32>, tensor<5xf32>) -> tensor<2x3x5x5xf32>
  %c3 = "zb.mul"(%m3, %half) : (tensor<2x3x5x5xf32>, tensor<f32>) -> tensor<2x3x5x5xf32>
  %p3 = "zb.softmax"(%c3) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o3 = "zb.matmul"(%p3, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o, %p, %o2, %o3 : tensor<2x3x5x4xf32>, tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>
}

// -----

// A triangle with another diagonal hides other keys: it is passed as a mask.
// CHECK-LABEL: func.func @other_diagonal
// CHECK: %[[M:.*]] = "zb.triangle"
// CHECK: "zb.attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[M]]) {scale = 1.000000e+00 : f64}
func.func @other_diagonal(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x3x6x4xf32> {zb.input = "k"}) -> tensor<2x3x5x4xf32> {
  %mask = "zb.triangle"() {shape = array<i64: 5, 6>, diagonal = 0 : i64, lower = 0.0 : f64, upper = -1.0e+30 : f64, dtype = "f32"} : () -> tensor<5x6xf32>
  %s = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x6xf32>
  %m = "zb.add"(%s, %mask) : (tensor<2x3x5x6xf32>, tensor<5x6xf32>) -> tensor<2x3x5x6xf32>
  %p = "zb.softmax"(%m) {axis = 3 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
  %o = "zb.matmul"(%p, %k) : (tensor<2x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

// -----

// A rotated value with another reader is needed heads-major anyway: it is transposed, as a view.
// CHECK-LABEL: func.func @shared_rotation
// CHECK: %[[A:.*]] = "zb.mul"(%{{.*}}, %{{.*}}) : (tensor<2x3x5x4xf32>, tensor<5x4xf32>)
// CHECK: %[[T:.*]] = "zb.transpose"(%[[A]]) {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: "zb.attention"(%[[T]],
func.func @shared_rotation(%q: tensor<2x5x3x4xf32> {zb.input = "q"}, %k: tensor<2x3x5x4xf32> {zb.input = "k"}, %cos: tensor<5x4xf32> {zb.constant = "cos"})
    -> (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) {
  %t = "zb.transpose"(%q) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
  %a = "zb.mul"(%t, %cos) : (tensor<2x3x5x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5x4xf32>
  %s = "zb.matmul"(%a, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %p = "zb.softmax"(%s) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o = "zb.matmul"(%p, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o, %a : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>
}

// -----

// A boolean mask that is data, as PyTorch's exporter writes it: with the guard, the least float stands for -infinity.
// CHECK-LABEL: func.func @boolean_mask
// CHECK-SAME: %[[SEEN:[a-z0-9]+]]: tensor<2x1x5x5xi1>
// CHECK-DAG: %[[INF:.*]] = "zb.constant"() {value = dense<0xFF800000> : tensor<f32>}
// CHECK: %[[MASK:.*]] = "zb.where"(%[[SEEN]], %{{.*}}, %[[INF]])
// CHECK: "zb.attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[MASK]])
// CHECK-NOT: zb.softmax
func.func @boolean_mask(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x3x5x4xf32> {zb.input = "k"},
                        %seen: tensor<2x1x5x5xi1> {zb.input = "seen"}) -> tensor<2x3x5x4xf32> {
  %zero = "zb.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %least = "zb.constant"() {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = "zb.where"(%seen, %zero, %least) : (tensor<2x1x5x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x5x5xf32>
  %s = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %m = "zb.add"(%s, %mask) : (tensor<2x3x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x3x5x5xf32>
  %p = "zb.softmax"(%m) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %nan = "zb.is_nan"(%p) : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xi1>
  %g = "zb.where"(%nan, %zero, %p) : (tensor<2x3x5x5xi1>, tensor<f32>, tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o = "zb.matmul"(%g, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

// -----

// Without the guard the least float is a number: a row that it hides whole sees all keys alike, which attention cannot say. So is
// (1 - mask) * least, as people write it. A mask with -infinity is raised.
// CHECK-LABEL: func.func @hides_by_number
// CHECK-COUNT-2: "zb.softmax"
// CHECK: "zb.attention"
// CHECK-NOT: zb.softmax
func.func @hides_by_number(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x3x5x4xf32> {zb.input = "k"},
                           %seen: tensor<2x1x5x5xi1> {zb.input = "seen"})
    -> (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) {
  %zero = "zb.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %one = "zb.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %least = "zb.constant"() {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %infinity = "zb.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %mask = "zb.where"(%seen, %zero, %least) : (tensor<2x1x5x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x5x5xf32>
  %s = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %m = "zb.add"(%s, %mask) : (tensor<2x3x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x3x5x5xf32>
  %p = "zb.softmax"(%m) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o = "zb.matmul"(%p, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %f = "zb.cast"(%seen) {dtype = "f32"} : (tensor<2x1x5x5xi1>) -> tensor<2x1x5x5xf32>
  %h = "zb.sub"(%one, %f) : (tensor<f32>, tensor<2x1x5x5xf32>) -> tensor<2x1x5x5xf32>
  %mask2 = "zb.mul"(%h, %least) : (tensor<2x1x5x5xf32>, tensor<f32>) -> tensor<2x1x5x5xf32>
  %s2 = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %m2 = "zb.add"(%s2, %mask2) : (tensor<2x3x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x3x5x5xf32>
  %p2 = "zb.softmax"(%m2) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o2 = "zb.matmul"(%p2, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %mask3 = "zb.where"(%seen, %zero, %infinity) : (tensor<2x1x5x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x5x5xf32>
  %s3 = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %m3 = "zb.add"(%s3, %mask3) : (tensor<2x3x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x3x5x5xf32>
  %p3 = "zb.softmax"(%m3) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %o3 = "zb.matmul"(%p3, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o, %o2, %o3 : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>
}

// -----

// Dropout of the probabilities: one op that drops the same, with a mask and without. What an element draws is that of its place, so no
// transpose moves past a dropout of q. A dropout that somebody else reads, too, stays.
// CHECK-LABEL: func.func @dropped
// CHECK: "zb.attention_dropout"(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %arg3) {op = 0 : i64, rate = 1.000000e-01 : f64, scale = 5.000000e-01 : f64}
// CHECK-NOT: zb.softmax
// CHECK: %[[T:.*]] = "zb.transpose"(%arg2)
// CHECK: %[[D:.*]] = "zb.dropout"(%[[T]], %arg3) {op = 1
// CHECK: %[[B:.*]] = "zb.transpose"(%[[D]])
// CHECK: "zb.attention_dropout"(%[[B]], %{{[0-9]+}}, %{{[0-9]+}}, %arg4, %arg3) {op = 2
// CHECK: "zb.softmax"
// CHECK: "zb.dropout"({{.*}}) {op = 3
// CHECK: "zb.matmul"
func.func @dropped(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x3x5x4xf32> {zb.input = "k"},
                   %r: tensor<2x5x3x4xf32> {zb.input = "r"}, %c: tensor<4xi64> {zb.input = "zb.counter"},
                   %mask: tensor<2x1x5x5xf32> {zb.input = "mask"})
    -> (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x5xf32>) {
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %s0 = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %s = "zb.mul"(%s0, %half) : (tensor<2x3x5x5xf32>, tensor<f32>) -> tensor<2x3x5x5xf32>
  %p = "zb.softmax"(%s) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %d = "zb.dropout"(%p, %c) {rate = 0.1, op = 0 : i64} : (tensor<2x3x5x5xf32>, tensor<4xi64>) -> tensor<2x3x5x5xf32>
  %o = "zb.matmul"(%d, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %t = "zb.transpose"(%r) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
  %e = "zb.dropout"(%t, %c) {rate = 0.1, op = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<4xi64>) -> tensor<2x3x5x4xf32>
  %s2 = "zb.matmul"(%e, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %m2 = "zb.add"(%s2, %mask) : (tensor<2x3x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x3x5x5xf32>
  %p2 = "zb.softmax"(%m2) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %d2 = "zb.dropout"(%p2, %c) {rate = 0.1, op = 2 : i64} : (tensor<2x3x5x5xf32>, tensor<4xi64>) -> tensor<2x3x5x5xf32>
  %o2 = "zb.matmul"(%d2, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %s3 = "zb.matmul"(%q, %k) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
  %p3 = "zb.softmax"(%s3) {axis = 3 : i64} : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %d3 = "zb.dropout"(%p3, %c) {rate = 0.1, op = 3 : i64} : (tensor<2x3x5x5xf32>, tensor<4xi64>) -> tensor<2x3x5x5xf32>
  %o3 = "zb.matmul"(%d3, %k) : (tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o, %o2, %o3, %d3 : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x5xf32>
}
