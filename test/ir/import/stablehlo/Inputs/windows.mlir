module @jit_loss {
  func.func public @main(%arg0: tensor<4x6xf32> loc("w"), %arg1: tensor<4x6xf32> loc("x"), %arg2: tensor<4x2xi32> loc("at")) -> (tensor<f32> {jax.result_info = "loss"}) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %first = stablehlo.constant dense<0> : tensor<ui8>
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<4x6xf32>
    %1 = "stablehlo.reduce_window"(%0, %least) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %30 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %30 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x3xf32>
    %2 = "stablehlo.reduce_window"(%0, %zero) <{window_dimensions = array<i64: 4, 6>, padding = dense<[[3, 0], [5, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %30 = func.call @join(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %30 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    %3 = stablehlo.tanh %2 : tensor<4x6xf32>
    %4 = "stablehlo.sort"(%3) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %30 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %30 : tensor<i1>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %5 = stablehlo.multiply %4, %arg1 : tensor<4x6xf32>
    %values, %places = chlo.top_k(%5, k = 2) : tensor<4x6xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %6 = "stablehlo.scatter"(%5, %arg2, %values) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %30 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %30 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<4x6xf32>
    %7 = "stablehlo.gather"(%6, %arg2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x6xf32>, tensor<4x2xi32>) -> tensor<4x3xf32>
    %8 = "stablehlo.select_and_scatter"(%arg1, %1, %zero) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %30 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %30 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %30 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %30 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x6xf32>
    %9 = stablehlo.iota dim = 1 : tensor<4x6xui8>
    %10:2 = stablehlo.reduce(%8 init: %least), (%9 init: %first) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xui8>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xui8>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<ui8>, %d: tensor<ui8>)  {
      %30 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %31 = stablehlo.select %30, %a, %b : tensor<i1>, tensor<f32>
      %32 = stablehlo.select %30, %c, %d : tensor<i1>, tensor<ui8>
      stablehlo.return %31, %32 : tensor<f32>, tensor<ui8>
    }
    %11 = stablehlo.convert %10#1 : (tensor<4xui8>) -> tensor<4xf32>
    %12 = stablehlo.multiply %10#0, %11 : tensor<4xf32>
    %13 = stablehlo.pad %7, %zero, low = [0, 1], high = [0, -1], interior = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x5xf32>
    %14 = stablehlo.atan2 %4, %arg1 : tensor<4x6xf32>
    %15 = stablehlo.tanh %14 : tensor<4x6xf32>
    %25 = stablehlo.log_plus_one %15 : tensor<4x6xf32>
    %16 = stablehlo.tanh %25 : tensor<4x6xf32>
    %17 = chlo.erf_inv %16 : tensor<4x6xf32> -> tensor<4x6xf32>
    %18 = stablehlo.cbrt %0 : tensor<4x6xf32>
    %19 = stablehlo.add %17, %18 : tensor<4x6xf32>
    %20 = stablehlo.reduce(%19 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
    %21 = stablehlo.reduce(%13 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
    %22 = stablehlo.reduce(%12 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %23 = stablehlo.add %20, %21 : tensor<f32>
    %24 = stablehlo.add %23, %22 : tensor<f32>
    return %24 : tensor<f32>
  }
  func.func private @join(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
}
