// Post-validation: where each rank must know whether the step before was clipped, and what it keeps until then.
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=4,clip-norm=0.5,post-validation=true' --zb-split-grad --zb-dce --zb-layout --zb-partition='ranks=4,cuts="a,b,c"' --zb-classify --zb-outline --zb-memory --zb-schedule='schedule=1f1b,micro-batches=4' --zb-insert-comm %s | FileCheck %s
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=4,clip-norm=0.5,post-validation=true' --zb-split-grad --zb-dce --zb-layout --zb-partition='ranks=4,cuts="a,b,c"' --zb-classify --zb-outline --zb-memory --zb-schedule='schedule=1f1b,micro-batches=4' --zb-insert-comm --zb-allocate --zb-verify-plan %s | FileCheck %s --check-prefix=PLACES
// RUN: zbc %s -o %t --ranks 4 --cuts a,b,c --micro-batches 4 --schedule 1f1b --optimizer sgd:lr=0.1,momentum=0.9 --clip-norm 0.5 --post-validation
// RUN: zb-run %t --print-plan | FileCheck --check-prefix=PLAN %s
// RUN: not zb-opt --zb-autodiff='micro-batches=4,post-validation=true' %s 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not zb-opt --zb-autodiff='micro-batches=4,clip-norm=1,post-validation=yes' %s 2>&1 | FileCheck %s --check-prefix=YES
// RUN: sed 's/zb.param = "u"/zb.frozen = "u"/' %s > %t.frozen.mlir
// RUN: not zbc %t.frozen.mlir -o %t.no --ranks 4 --cuts a,b,c --micro-batches 4 --clip-norm 1 --post-validation 2>&1 | FileCheck %s --check-prefix=FROZEN

// Before the first B; no later than what is received was sent behind the verdict of its sender.
// CHECK: zb.post_validation
// CHECK-LABEL: module @rank0
// CHECK: call @s0_F({{.*}}) {zb.micro_batch = 3 : i64}
// CHECK-NEXT: "zb.send"
// CHECK-NEXT: "zb.verdict"() : () -> ()
// CHECK-NEXT: "zb.recv"
// CHECK-NEXT: call @s0_B({{.*}}) {zb.micro_batch = 0 : i64}
// What UPDATE overwrites is kept when all that the norm is made of is on its way.
// CHECK: "zb.gather_frame"
// CHECK-NEXT: "zb.snapshot"() : () -> ()
// CHECK-NEXT: call @CLIP
// CHECK-LABEL: module @rank1
// CHECK: call @s1_F({{.*}}) {zb.micro_batch = 2 : i64}
// CHECK-NEXT: "zb.send"
// CHECK-NEXT: "zb.verdict"
// CHECK-NEXT: "zb.recv"
// CHECK-NEXT: call @s1_B
// CHECK: call @s1_F({{.*}}) {zb.micro_batch = 3 : i64}
// CHECK-LABEL: module @rank3
// CHECK: "zb.report"({{.*}}) {name = "loss", zb.micro_batch = 0 : i64}
// CHECK-NEXT: "zb.verdict"
// CHECK-NEXT: call @s3_B

// Of three parts, the factor first; of a snapshot one, 1,024 bytes at 0. The region snapshot lies between step and slots.
// PLACES: module @rank0 {{.*}}zb.addresses = array<i64: {{.*}}, 3, 3200, 64, 3264, 64, 3136, 64, {{.*}}, 1, 0, 1024, 3136, 3200, 3264, {{.*}}zb.regions = array<i64: 0, 1024, 1024, 0, 1024, 0, 1024, 1024, 2048, 0, 2048, 64, 2112, 1024, 3136, {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}>

// PLAN: rank 0:
// PLAN-NEXT: parameters 1,024   state 1,024   gradients 1,024   constants 0   step 64   snapshot 2,048   slots
// PLAN: VERDICT slots+[[S:[0-9]+]] (64)  slots+[[N:[0-9]+]] (64)  slots+[[F:[0-9]+]] (64)
// PLAN: SNAPSHOT parameters+0 (1,024)  state+0 (1,024)
// PLAN-NEXT: CLIP   CLIP  norms slots+[[F]]  value {{[0-9]+}} slots+[[S]]  norm slots+[[N]]

// NOTHING: error: post-validation: nothing is clipped
// NOTHING: hint: add clip-norm
// YES: error: post-validation: expected true or false, got 'yes'
// FROZEN: error: post-validation: rank 1 trains no parameter, so it gets no norm
// FROZEN: hint: leave --post-validation out, or use fewer ranks or other --cuts
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
