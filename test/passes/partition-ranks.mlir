// zb-partition with several stages a rank: the longest rank decides, not the longest stage.
// RUN: zb-opt --zb-partition=ranks=2,chunks=2,placement=v %s | FileCheck %s --check-prefix=V
// RUN: zb-opt --zb-partition=ranks=2,chunks=2,placement=looped %s | FileCheck %s --check-prefix=LOOPED
// RUN: zb-opt --zb-partition=ranks=3,chunks=2,placement=v %s | FileCheck %s --check-prefix=V3
// RUN: zb-opt --zb-partition=ranks=4,chunks=1,placement=plain %s | FileCheck %s --check-prefix=PLAIN

// One stage a rank: stages are even.
// PLAIN: "zb.matmul"{{.*}}zb.id = 0 : i64, zb.stage = 0 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 1 : i64, zb.stage = 0 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 2 : i64, zb.stage = 0 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 3 : i64, zb.stage = 1 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 4 : i64, zb.stage = 1 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 5 : i64, zb.stage = 1 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 6 : i64, zb.stage = 1 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 7 : i64, zb.stage = 2 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 8 : i64, zb.stage = 2 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 9 : i64, zb.stage = 2 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 10 : i64, zb.stage = 2 : i64}
// PLAIN-NEXT: "zb.matmul"{{.*}}zb.id = 11 : i64, zb.stage = 3 : i64}
// PLAIN-NEXT: "zb.reduce_mean"{{.*}}zb.id = 12 : i64, zb.stage = 3 : i64}
// As a V, rank 0 has stages 0 and 3: together they take what stages 1 and 2 do, though none of the four does.
// V: "zb.matmul"{{.*}}zb.id = 0 : i64, zb.stage = 0 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 1 : i64, zb.stage = 1 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 2 : i64, zb.stage = 1 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 3 : i64, zb.stage = 1 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 4 : i64, zb.stage = 1 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 5 : i64, zb.stage = 1 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 6 : i64, zb.stage = 1 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 7 : i64, zb.stage = 2 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 8 : i64, zb.stage = 3 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 9 : i64, zb.stage = 3 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 10 : i64, zb.stage = 3 : i64}
// V-NEXT: "zb.matmul"{{.*}}zb.id = 11 : i64, zb.stage = 3 : i64}
// V-NEXT: "zb.reduce_mean"{{.*}}zb.id = 12 : i64, zb.stage = 3 : i64}
// Looped, rank 0 has stages 0 and 2.
// LOOPED: "zb.matmul"{{.*}}zb.id = 0 : i64, zb.stage = 0 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 1 : i64, zb.stage = 0 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 2 : i64, zb.stage = 0 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 3 : i64, zb.stage = 0 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 4 : i64, zb.stage = 0 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 5 : i64, zb.stage = 1 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 6 : i64, zb.stage = 1 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 7 : i64, zb.stage = 2 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 8 : i64, zb.stage = 2 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 9 : i64, zb.stage = 3 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 10 : i64, zb.stage = 3 : i64}
// LOOPED-NEXT: "zb.matmul"{{.*}}zb.id = 11 : i64, zb.stage = 3 : i64}
// LOOPED-NEXT: "zb.reduce_mean"{{.*}}zb.id = 12 : i64, zb.stage = 3 : i64}
// Three ranks.
// V3: "zb.matmul"{{.*}}zb.id = 0 : i64, zb.stage = 0 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 1 : i64, zb.stage = 0 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 2 : i64, zb.stage = 1 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 3 : i64, zb.stage = 1 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 4 : i64, zb.stage = 2 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 5 : i64, zb.stage = 2 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 6 : i64, zb.stage = 2 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 7 : i64, zb.stage = 3 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 8 : i64, zb.stage = 3 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 9 : i64, zb.stage = 4 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 10 : i64, zb.stage = 4 : i64}
// V3-NEXT: "zb.matmul"{{.*}}zb.id = 11 : i64, zb.stage = 5 : i64}
// V3-NEXT: "zb.reduce_mean"{{.*}}zb.id = 12 : i64, zb.stage = 5 : i64}

module attributes {zb.level = "split"} {
  func.func @model(%x: tensor<64x32xf32> {zb.input = "x"}, %p0: tensor<32x48xf32> {zb.param = "p0"}, %p1: tensor<48x16xf32> {zb.param = "p1"}, %p2: tensor<16x16xf32> {zb.param = "p2"}, %p3: tensor<16x32xf32> {zb.param = "p3"}, %p4: tensor<32x16xf32> {zb.param = "p4"}, %p5: tensor<16x48xf32> {zb.param = "p5"}, %p6: tensor<48x16xf32> {zb.param = "p6"}, %p7: tensor<16x16xf32> {zb.param = "p7"}, %p8: tensor<16x16xf32> {zb.param = "p8"}, %p9: tensor<16x64xf32> {zb.param = "p9"}, %p10: tensor<64x16xf32> {zb.param = "p10"}, %p11: tensor<16x32xf32> {zb.param = "p11"}) -> (tensor<f32> {zb.loss}) {
    %v0 = "zb.matmul"(%x, %p0) {zb.id = 0 : i64} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    %v1 = "zb.matmul"(%v0, %p1) {zb.id = 1 : i64} : (tensor<64x48xf32>, tensor<48x16xf32>) -> tensor<64x16xf32>
    %v2 = "zb.matmul"(%v1, %p2) {zb.id = 2 : i64} : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
    %v3 = "zb.matmul"(%v2, %p3) {zb.id = 3 : i64} : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
    %v4 = "zb.matmul"(%v3, %p4) {zb.id = 4 : i64} : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
    %v5 = "zb.matmul"(%v4, %p5) {zb.id = 5 : i64} : (tensor<64x16xf32>, tensor<16x48xf32>) -> tensor<64x48xf32>
    %v6 = "zb.matmul"(%v5, %p6) {zb.id = 6 : i64} : (tensor<64x48xf32>, tensor<48x16xf32>) -> tensor<64x16xf32>
    %v7 = "zb.matmul"(%v6, %p7) {zb.id = 7 : i64} : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
    %v8 = "zb.matmul"(%v7, %p8) {zb.id = 8 : i64} : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
    %v9 = "zb.matmul"(%v8, %p9) {zb.id = 9 : i64} : (tensor<64x16xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
    %v10 = "zb.matmul"(%v9, %p10) {zb.id = 10 : i64} : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
    %v11 = "zb.matmul"(%v10, %p11) {zb.id = 11 : i64} : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
    %l = "zb.reduce_mean"(%v11) {axes = array<i64: 0, 1>, zb.id = 12 : i64} : (tensor<64x32xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
