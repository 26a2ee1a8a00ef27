module @window_cropped {
  func.func public @main() -> (tensor<4xi32>) {
    %0 = call @inputs() : () -> (tensor<8xi32>)
    %1 = call @expected() : () -> (tensor<4xi32>)
    %i = stablehlo.constant dense<2147483647> : tensor<i32>
    %out = "stablehlo.reduce_window"(%0, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[-1, -2]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %ab = stablehlo.minimum %a, %b : tensor<i32>
      stablehlo.return %ab : tensor<i32>
    }) : (tensor<8xi32>, tensor<i32>) -> tensor<4xi32>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()
    return %out : tensor<4xi32>
  }
  func.func private @inputs() -> (tensor<8xi32>) {
    %c0 = stablehlo.constant dense<[-2147483648, 2147483647, 1, -1596075274, -1982803393, -1498805251, -1787010295, -1675072268]> : tensor<8xi32>
    return %c0 : tensor<8xi32>
  }
  func.func private @expected() -> (tensor<4xi32>) {
    %c0 = stablehlo.constant dense<[1, -1596075274, -1982803393, -1982803393]> : tensor<4xi32>
    return %c0 : tensor<4xi32>
  }
}
