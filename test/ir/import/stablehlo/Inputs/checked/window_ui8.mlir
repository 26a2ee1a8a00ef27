module @window_ui8 {
  func.func public @main() -> (tensor<2x5xui8>) {
    %0 = call @inputs() : () -> (tensor<4x6xui8>)
    %1 = call @expected() : () -> (tensor<2x5xui8>)
    %i = stablehlo.constant dense<3> : tensor<ui8>
    %out = "stablehlo.reduce_window"(%0, %i) <{window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
      %ab = stablehlo.add %a, %b : tensor<ui8>
      stablehlo.return %ab : tensor<ui8>
    }) : (tensor<4x6xui8>, tensor<ui8>) -> tensor<2x5xui8>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<2x5xui8>, tensor<2x5xui8>) -> ()
    return %out : tensor<2x5xui8>
  }
  func.func private @inputs() -> (tensor<4x6xui8>) {
    %c0 = stablehlo.constant dense<[[0, 255, 1, 20, 21, 117], [118, 26, 117, 53, 11, 177], [101, 169, 99, 74, 96, 202], [192, 114, 249, 249, 128, 61]]> : tensor<4x6xui8>
    return %c0 : tensor<4x6xui8>
  }
  func.func private @expected() -> (tensor<2x5xui8>) {
    %c0 = stablehlo.constant dense<[[160, 158, 111, 22, 115], [211, 9, 76, 102, 166]]> : tensor<2x5xui8>
    return %c0 : tensor<2x5xui8>
  }
}
