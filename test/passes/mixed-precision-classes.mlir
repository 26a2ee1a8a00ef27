// Where the casts of mixed precision end. The cast of a gradient that leads to a parameter is part of the product that makes it (W; f32 sums that
// fold into the accumulate), and B has no f32 form of it. The cast that B hands upstream stays in B: half the bytes cross. The cast of a
// parameter is made once a step, by the optimizer. For 1, 2 and 4 ranks.
// RUN: zb-opt --zb-mixed-precision --zb-autodiff=optimizer=sgd:lr=0.1 --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout --zb-partition=ranks=1 --zb-classify %s | FileCheck %s --check-prefix=ONE
// RUN: zb-opt --zb-mixed-precision --zb-autodiff=optimizer=sgd:lr=0.1 --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout --zb-partition=ranks=2,cuts=half --zb-classify %s | FileCheck %s --check-prefix=TWO
// RUN: zb-opt --zb-mixed-precision --zb-autodiff=optimizer=sgd:lr=0.1 --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout --zb-partition=ranks=4 --zb-classify %s | FileCheck %s --check-prefix=FOUR
// RUN: zb-opt --zb-mixed-precision --zb-autodiff=optimizer=sgd:lr=0.1 --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout --zb-partition=ranks=2,cuts=half --zb-classify --zb-outline %s | FileCheck %s --check-prefix=OUT

// ONE: %[[X:.*]] = "zb.cast"(%arg0) {{.*}}zb.class = "F"
// ONE: %[[A:.*]] = "zb.relu"
// ONE: %[[H:.*]] = "zb.cast"(%{{.*}}#0) {dtype = "bf16", zb.class = "F", {{.*}}zb.stage = 0 : i64}
// ONE: %[[V:.*]] = "zb.cast"(%arg5) {dtype = "bf16", zb.class = "F", {{.*}}zb.stage = 0 : i64}
// ONE: %[[DL:.*]] = "zb.cross_entropy_grad"{{.*}}zb.class = "B", {{.*}}zb.stage = 0 : i64} {{.*}} -> tensor<4x8xbf16>
// ONE: "zb.matmul"(%[[DL]], %[[V]]) {dtype = "f32", {{.*}}zb.class = "B", {{.*}}zb.stage = 0 : i64}
// ONE: %[[DV:.*]] = "zb.matmul"(%[[H]], %[[DL]]) {dtype = "f32", {{.*}}zb.class = "W", {{.*}}zb.stage = 0 : i64} : {{.*}} -> tensor<8x8xf32>
// ONE-NEXT: "zb.accumulate"(%[[DV]]) {parameter = "c.w", {{.*}}zb.class = "W", zb.in_product
// ONE: %[[DN:.*]] = "zb.rms_norm_grad_x"{{.*}}zb.class = "B"
// ONE: "zb.rms_norm_grad_scale"{{.*}}zb.class = "W"
// ONE: %[[DH:.*]] = "zb.cast"(%[[DN]]) {dtype = "bf16", zb.class = "B", {{.*}}zb.stage = 0 : i64}
// ONE: %[[DA:.*]] = "zb.relu_grad"(%[[A]], %[[DH]]) {zb.class = "B", {{.*}}zb.stage = 0 : i64}
// ONE: "zb.reduce_sum"(%[[DA]]) {{.*}}dtype = "f32", zb.class = "W", {{.*}} -> tensor<8xf32>
// ONE: "zb.matmul"(%[[X]], %[[DA]]) {dtype = "f32", {{.*}}zb.class = "W", {{.*}}zb.stage = 0 : i64} : {{.*}} -> tensor<8x8xf32>
// ONE-NOT: zb.cast

// TWO: %[[X:.*]] = "zb.cast"(%arg0) {{.*}}zb.class = "F"
// TWO: %[[A:.*]] = "zb.relu"
// TWO: %[[H:.*]] = "zb.cast"(%{{.*}}#0) {dtype = "bf16", zb.class = "F", {{.*}}zb.stage = 1 : i64}
// TWO: %[[V:.*]] = "zb.cast"(%arg5) {dtype = "bf16", zb.class = "F", {{.*}}zb.stage = 1 : i64}
// TWO: %[[DL:.*]] = "zb.cross_entropy_grad"{{.*}}zb.class = "B", {{.*}}zb.stage = 1 : i64} {{.*}} -> tensor<4x8xbf16>
// TWO: "zb.matmul"(%[[DL]], %[[V]]) {dtype = "f32", {{.*}}zb.class = "B", {{.*}}zb.stage = 1 : i64}
// TWO: %[[DV:.*]] = "zb.matmul"(%[[H]], %[[DL]]) {dtype = "f32", {{.*}}zb.class = "W", {{.*}}zb.stage = 1 : i64} : {{.*}} -> tensor<8x8xf32>
// TWO-NEXT: "zb.accumulate"(%[[DV]]) {parameter = "c.w", {{.*}}zb.class = "W", zb.in_product
// TWO: %[[DN:.*]] = "zb.rms_norm_grad_x"{{.*}}zb.class = "B"
// TWO: "zb.rms_norm_grad_scale"{{.*}}zb.class = "W"
// TWO: %[[DH:.*]] = "zb.cast"(%[[DN]]) {dtype = "bf16", zb.class = "B", {{.*}}zb.stage = 1 : i64}
// TWO: %[[DA:.*]] = "zb.relu_grad"(%[[A]], %[[DH]]) {zb.class = "B", {{.*}}zb.stage = 0 : i64}
// TWO: "zb.reduce_sum"(%[[DA]]) {{.*}}dtype = "f32", zb.class = "W", {{.*}} -> tensor<8xf32>
// TWO: "zb.matmul"(%[[X]], %[[DA]]) {dtype = "f32", {{.*}}zb.class = "W", {{.*}}zb.stage = 0 : i64} : {{.*}} -> tensor<8x8xf32>
// TWO-NOT: zb.cast

// Four stages: every dW still is one f32 product in W, next to its accumulate.
// FOUR-DAG: %[[V:.*]] = "zb.matmul"{{.*}}{dtype = "f32", transpose_lhs = true, zb.class = "W", {{.*}} -> tensor<8x8xf32>
// FOUR: "zb.accumulate"(%[[V]]) {parameter = "c.w", {{.*}}zb.class = "W", zb.in_product
// FOUR: %[[W:.*]] = "zb.matmul"{{.*}}{dtype = "f32", transpose_lhs = true, zb.class = "W", {{.*}} -> tensor<8x8xf32>
// FOUR-NEXT: "zb.accumulate"(%[[W]]) {parameter = "a.w", {{.*}}zb.class = "W", zb.in_product

// The activation and its gradient cross as bf16. The copy of a parameter is made by LOAD and anew by UPDATE, and read by F and B; W has no cast at all.
// OUT: func.func private @LOAD(%[[A:.*]]: tensor<8x8xf32> {zb.param = "a.w"}, {{.*}}) -> (tensor<8x8xbf16> {zb.load = [[COPY:[0-9]+]] : i64}
// OUT-NEXT: "zb.cast"(%[[A]]) {dtype = "bf16"
// OUT: func.func private @s0_F({{.*}}%[[C:arg[0-9]+]]: tensor<8x8xbf16> {zb.load = [[COPY]] : i64}{{.*}} -> ({{.*}}tensor<4x8xbf16> {zb.value = [[ACROSS:[0-9]+]]
// OUT: "zb.matmul"(%{{.*}}, %[[C]])
// OUT: func.func private @s0_B({{.*}}tensor<4x8xbf16> {zb.value = [[BACK:[0-9]+]] : i64})
// OUT: func.func private @s0_W
// OUT-NOT: zb.cast
// OUT: func.func private @s0_UPDATE({{.*}} -> (tensor<8x8xf32> {zb.update = "a.w"}, tensor<8x8xbf16> {zb.load = [[COPY]] : i64}
// OUT: %[[NEW:.*]] = "zb.sgd"
// OUT: "zb.cast"(%[[NEW]]) {dtype = "bf16", zb.class = "UPDATE"
// OUT: func.func private @LOAD({{.*}} {zb.param = "c.w"}) -> (tensor<8x8xbf16> {zb.load = [[OTHER:[0-9]+]] : i64})
// OUT: func.func private @s1_F(%arg0: tensor<4x8xbf16> {zb.value = [[ACROSS]] : i64}
// OUT: func.func private @s1_B({{.*}}%[[P:arg[0-9]+]]: tensor<8x8xbf16> {zb.load = [[OTHER]] : i64}
// OUT: "zb.matmul"(%{{.*}}, %[[P]]) {dtype = "f32"
// OUT: func.func private @s1_W
// OUT-NOT: zb.cast
// OUT: func.func private @s1_UPDATE

func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %y: tensor<4xi32> {zb.input = "y"}, %w: tensor<8x8xf32> {zb.param = "a.w"},
    %b: tensor<8xf32> {zb.param = "a.b"}, %s: tensor<8xf32> {zb.param = "n.s"}, %v: tensor<8x8xf32> {zb.param = "c.w"}) -> (tensor<f32> {zb.loss}) {
  %0 = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "zb.add"(%0, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = "zb.relu"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("half")
  %3:2 = "zb.rms_norm"(%2, %s) {axis = 1 : i64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>)
  %4 = "zb.matmul"(%3#0, %v) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5:2 = "zb.cross_entropy"(%4, %y) {reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return %5#0 : tensor<f32>
}
