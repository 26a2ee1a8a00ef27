// Ops of StableHLO in generic form and what they become. Numbers: test/e2e/stablehlo.py.
// RUN: zbc %s -o %t --ranks 1 --train table --train w --optimizer sgd:lr=1 --dump-ir %t.dump > %t.txt && FileCheck %s < %t.dump/00_zb-canonicalize.mlir

// CHECK: func.func @model(%[[X:.*]]: tensor<2x5xi32> {zb.input = "x"}, %[[TABLE:.*]]: tensor<7x4xf32> {zb.param = "table"}, %[[W:.*]]: tensor<4x2x3xf32> {zb.param = "w"})
"builtin.module"() <{sym_name = "jit_loss"}> ({
  "func.func"() <{function_type = (tensor<7x4xf32>, tensor<4x2x3xf32>, tensor<2x5xi32>) -> tensor<f32>, sym_name = "main"}> ({
  ^bb0(%table: tensor<7x4xf32> loc("table"), %w: tensor<4x2x3xf32> loc("w"), %x: tensor<2x5xi32> loc("x")):
    %0 = "stablehlo.reshape"(%x) : (tensor<2x5xi32>) -> tensor<2x5x1xi32>
    // Indices are clamped, as StableHLO has it.
    // CHECK: %[[LOW:.*]] = "zb.max"
    // CHECK: %[[HIGH:.*]] = "zb.min"(%[[LOW]]
    // CHECK: %[[ROWS:.*]] = "zb.gather"(%[[TABLE]], {{.*}}) {axis = 0 : i64}
    %1 = "stablehlo.gather"(%table, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<7x4xf32>, tensor<2x5x1xi32>) -> tensor<2x5x4xf32>
    // Dimensions that are left of both operands are one each in the product.
    // CHECK-DAG: %[[LHS:.*]] = "zb.reshape"(%[[ROWS]]) {shape = array<i64: 10, 4>}
    // CHECK-DAG: %[[RHS:.*]] = "zb.reshape"(%[[W]]) {shape = array<i64: 4, 6>}
    // CHECK: %[[P:.*]] = "zb.matmul"(%[[LHS]], %[[RHS]])
    // CHECK: %[[Q:.*]] = "zb.reshape"(%[[P]]) {shape = array<i64: 2, 5, 2, 3>}
    %2 = "stablehlo.dot_general"(%1, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x5x4xf32>, tensor<4x2x3xf32>) -> tensor<2x5x2x3xf32>
    // Batch dimensions come first, wherever they are.
    // CHECK: %[[B:.*]] = "zb.transpose"(%[[Q]]) {permutation = array<i64: 0, 2, 1, 3>}
    // CHECK: "zb.matmul"(%[[B]], {{.*}}) {transpose_rhs = true} : (tensor<2x2x5x3xf32>, tensor<2x2x5x3xf32>) -> tensor<2x2x5x5xf32>
    %3 = "stablehlo.dot_general"(%2, %2) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>) -> tensor<2x2x5x5xf32>
    // A causal mask is known while importing.
    // CHECK: %[[MASK:.*]] = "zb.constant"() {value = dense<{{\[\[\[\[}}true, false, false, false, false], [true, true, false, false, false]
    // CHECK: "zb.where"(%[[MASK]], {{.*}})
    %4 = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<2x2x5x5xi32>
    %5 = "stablehlo.iota"() <{iota_dimension = 3 : i64}> : () -> tensor<2x2x5x5xi32>
    %6 = "stablehlo.compare"(%4, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x2x5x5xi32>, tensor<2x2x5x5xi32>) -> tensor<2x2x5x5xi1>
    %7 = "stablehlo.constant"() <{value = dense<-1.000000e+09> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x5x5xf32>
    %9 = "stablehlo.select"(%6, %3, %8) : (tensor<2x2x5x5xi1>, tensor<2x2x5x5xf32>, tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
    // CHECK: %[[TOP:.*]] = "zb.reduce_max"({{.*}}) {axes = array<i64: 3>}
    %10 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 3>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%20) : (tensor<f32>) -> ()
    }) : (tensor<2x2x5x5xf32>, tensor<f32>) -> tensor<2x2x5xf32>
    // maximum(x, 0) outside of JAX's function relu has half of the slope at 0.
    // CHECK: %[[RELU:.*]] = "zb.max"(%[[TOP]], %{{.*}})
    %12 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x5xf32>
    %14 = "stablehlo.maximum"(%11, %13) : (tensor<2x2x5xf32>, tensor<2x2x5xf32>) -> tensor<2x2x5xf32>
    // CHECK: %[[SUM:.*]] = "zb.reduce_sum"(%[[RELU]]) {axes = array<i64: 0, 1, 2>}
    // CHECK: return %[[SUM]]
    %15 = "stablehlo.reduce"(%14, %12) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %20 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%20) : (tensor<f32>) -> ()
    }) : (tensor<2x2x5xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%15) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()
