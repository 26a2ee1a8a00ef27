// Clipping by the norm of all gradients. Before the cut: a number of each gradient, in the order of parameters, one factor of all of them.
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2,clip-norm=0.5' %s | FileCheck %s
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2,clip-norm=0.5,clip-norm-type=inf' %s | FileCheck %s --check-prefix=INF
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2' --zb-split-grad --zb-dce --zb-layout --zb-partition='ranks=4,cuts="a,b,c"' --zb-classify --zb-outline %s | FileCheck %s --check-prefix=NONE
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2,clip-norm=0.5' --zb-split-grad --zb-dce --zb-layout --zb-partition='ranks=4,cuts="a,b,c"' --zb-classify %s | FileCheck %s --check-prefix=CLASS
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2,clip-norm=0.5' --zb-split-grad --zb-dce --zb-layout --zb-partition='ranks=4,cuts="a,b,c"' --zb-classify --zb-outline %s | FileCheck %s --check-prefix=OUTLINE
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2,clip-norm=0.5' --zb-split-grad --zb-dce --zb-layout --zb-partition='ranks=4,cuts="a,b,c"' --zb-classify --zb-outline --zb-memory --zb-schedule=micro-batches=2 --zb-insert-comm --zb-allocate --zb-verify-plan %s | FileCheck %s --check-prefix=MAIN
// RUN: zbc %s -o %t --ranks 4 --cuts a,b,c --micro-batches 2 --schedule 1f1b --optimizer sgd:lr=0.1 --clip-norm 0.5
// RUN: zb-run %t --print-plan | FileCheck --check-prefix=PLAN %s

// CHECK: %[[MOST:arg[0-9]+]]: tensor<1xf64> {zb.defaults = array<f64: 5.000000e-01>, zb.own = 0 : i64, zb.setting = "max_norm"}
// CHECK-SAME: tensor<f32> {zb.report = "norm"}
// CHECK-COUNT-2: "zb.add"
// CHECK: %[[WTE:.*]] = "zb.add"(%{{.*}}, %{{.*}}) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT: %[[F0:.*]] = "zb.empty_frame"() : () -> !zb.frame<"norms", 16 : i64>
// CHECK: %[[Q0:.*]] = "zb.square_sum"(%[[WTE]]) {scale = 5.000000e-01 : f64} : (tensor<16x16xf32>) -> tensor<f64>
// CHECK: %[[F1:.*]] = "zb.put"(%[[F0]], %[[Q0]]) {offset = 0 : i64}
// CHECK: %[[Q1:.*]] = "zb.square_sum"(%[[U:.*]]) {scale = 5.000000e-01 : f64}
// CHECK: %[[F2:.*]] = "zb.put"(%[[F1]], %[[Q1]]) {offset = 8 : i64}
// CHECK: %[[PARTS:.*]] = "zb.get"(%[[F2]]) {offset = 0 : i64} : (!zb.frame<"norms", 16 : i64>) -> tensor<2xf64>
// CHECK: %[[C:.*]]:2 = "zb.clip_scale"(%[[PARTS]], %{{.*}}, %[[MOST]]) : (tensor<2xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
// CHECK: "zb.sgd"(%{{.*}}, %[[WTE]], %[[C]]#0, %{{.*}})
// CHECK: "zb.sgd"(%{{.*}}, %[[U]], %[[C]]#0, %{{.*}})

// INF-COUNT-2: "zb.abs_max"
// INF: "zb.clip_scale"{{.*}} {norm_type = "inf"}

// Without clipping all phases are one function.
// NONE-NOT: _NORM
// NONE: @tied0_UPDATE
// NONE-NOT: @CLIP

// What all parameters share is of no stage, and of the class CLIP; each square is of the stage of its parameter.
// CLASS: "zb.square_sum"{{.*}}zb.class = "NORM"{{.*}}zb.stage = -1
// CLASS: "zb.put"{{.*}}zb.class = "CLIP"{{.*}}zb.stage = -1
// CLASS: "zb.square_sum"{{.*}}zb.class = "NORM"{{.*}}zb.stage = 1
// CLASS: "zb.clip_scale"{{.*}}zb.class = "CLIP"{{.*}}zb.stage = -1
// CLASS: "zb.sgd"{{.*}}zb.class = "UPDATE"{{.*}}zb.stage = -1
// CLASS: "zb.sgd"{{.*}}zb.class = "UPDATE"{{.*}}zb.stage = 1

// The owner of the tied parameter gives its square; others that hold it add its uses alone. The sum lies where the last use of the rank did.
// OUTLINE-LABEL: module @rank0
// OUTLINE: @tied0_NORM({{.*}}) -> (tensor<f64> {zb.norm = 0 : i64}, tensor<16x16xf32> {zb.sum = "wte", zb.use = 0 : i64})
// OUTLINE: @tied0_UPDATE({{.*}}%[[S:arg[0-9]+]]: tensor<2xf64> {zb.value = [[V:[0-9]+]] : i64}, %[[G:arg[0-9]+]]: tensor<16x16xf32> {zb.sum = "wte", zb.use = 0 : i64}
// OUTLINE-NOT: "zb.add"
// OUTLINE: "zb.sgd"(%{{.*}}, %[[G]], %[[S]], %{{.*}})
// OUTLINE: @CLIP({{.*}}%[[P:arg[0-9]+]]: tensor<2xf64> {zb.norm = 0 : i64}) -> (tensor<2xf64> {zb.value = [[V]] : i64}, tensor<f32> {zb.report = "norm"})
// OUTLINE: "zb.clip_scale"(%[[P]],
// OUTLINE-LABEL: module @rank1
// OUTLINE: @s1_NORM({{.*}}: tensor<16x16xf32> {zb.sum = "u", zb.use = 0 : i64}) -> (tensor<f64> {zb.norm = 8 : i64})
// OUTLINE: @s1_UPDATE
// OUTLINE: @CLIP
// OUTLINE-LABEL: module @rank2
// OUTLINE: @tied0_SUM({{.*}}) -> (tensor<16x16xf32> {zb.sum = "wte", zb.use = 2 : i64})
// OUTLINE-NOT: "zb.square_sum"
// OUTLINE: @CLIP

// Two ranks give a number, all four get both.
// MAIN: zb.members = array<i64: {{.*}}[[N:[0-9]+]], 0, 1, 0, 0, 0, [[N]], 1, 1, 0, 0, 1, [[N]], 2, 0, 0, 0, -1, [[N]], 3, 0, 0, 0, -1>
// MAIN: zb.parts = array<i64: 0, 8, -1, -1, 8, 8, -1, -1>
// MAIN-LABEL: module @rank0
// MAIN: func.func @main
// MAIN: "zb.all_gather"
// MAIN: %[[F:.*]] = "zb.empty_frame"() : () -> !zb.frame<"norms", 16 : i64>
// MAIN: %[[N1:.*]]:2 = call @tied0_NORM({{.*}}%[[F]]
// MAIN: %[[ALL:.*]] = "zb.gather_frame"(%[[N1]]#{{[01]}})
// MAIN: %[[C:.*]]:2 = call @CLIP({{.*}}%[[ALL]]
// MAIN: "zb.report"(%[[C]]#1) {name = "norm"}
// MAIN: call @tied0_UPDATE({{.*}}%[[C]]#0

// PLAN: collective 1 all-gather N of ranks 0, 1, 2, 3 before message #{{[0-9]+}}: 8, 8, 0, 0 bytes
// PLAN: rank 0:
// PLAN: subprogram tied0_NORM: NORM,
// PLAN: subprogram CLIP: CLIP,
// PLAN: COLLECTIVE all-gather 0
// PLAN: NORM   tied0_NORM  norms slots+[[F:[0-9]+]]
// PLAN: COLLECTIVE all-gather 1  slots+[[F]] (8)
// PLAN: CLIP   CLIP  norms slots+[[F]]
// PLAN: REPORT slots+
// PLAN: UPDATE tied0_UPDATE
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<1x4xi64> {zb.input = "x"}, %y: tensor<1x4xi64> {zb.input = "y"}, %wte: tensor<16x16xf32> {zb.param = "wte"}, %u: tensor<16x16xf32> {zb.param = "u"}) -> (tensor<f32> {zb.loss}) {
    %h = "zb.gather"(%wte, %x) {axis = 0 : i64} : (tensor<16x16xf32>, tensor<1x4xi64>) -> tensor<1x4x16xf32>
    %a = "zb.tanh"(%h) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("a")
    %b = "zb.matmul"(%a, %u) : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %c = "zb.tanh"(%b) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("b")
    %d = "zb.matmul"(%c, %wte) {transpose_rhs = true} : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %e = "zb.matmul"(%d, %wte) : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %f = "zb.tanh"(%e) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("c")
    %z = "zb.matmul"(%f, %wte) {transpose_rhs = true} : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {reduction = "mean"} : (tensor<1x4x16xf32>, tensor<1x4xi64>) -> (tensor<f32>, tensor<1x4xf32>)
    return %loss : tensor<f32>
  }
}
