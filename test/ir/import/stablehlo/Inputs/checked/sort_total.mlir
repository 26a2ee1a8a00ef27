module @sort_total {
  func.func public @main() -> (tensor<8xf32>) {
    %0 = call @inputs() : () -> (tensor<8xf32>)
    %1 = call @expected() : () -> (tensor<8xf32>)
    %out = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %2 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<8xf32>, tensor<8xf32>) -> ()
    return %out : tensor<8xf32>
  }
  func.func private @inputs() -> (tensor<8xf32>) {
    %c0 = stablehlo.constant dense<[3.00000000000000000e+00, -0.00000000000000000e+00, 0x7F800000, 0.00000000000000000e+00, 0xFF800000, 0x7FC00000, -1.50000000000000000e+00, 2.50000000000000000e-01]> : tensor<8xf32>
    return %c0 : tensor<8xf32>
  }
  func.func private @expected() -> (tensor<8xf32>) {
    %c0 = stablehlo.constant dense<[0xFF800000, -1.50000000000000000e+00, -0.00000000000000000e+00, 0.00000000000000000e+00, 2.50000000000000000e-01, 3.00000000000000000e+00, 0x7F800000, 0x7FC00000]> : tensor<8xf32>
    return %c0 : tensor<8xf32>
  }
}
