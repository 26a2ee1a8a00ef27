module @dot_i8 {
  func.func public @main() -> (tensor<3x4xi8>) {
    %0:2 = call @inputs() : () -> (tensor<3x5xi8>, tensor<5x4xi8>)
    %1 = call @expected() : () -> (tensor<3x4xi8>)
    %out = stablehlo.dot_general %0#0, %0#1, contracting_dims = [1] x [0] : (tensor<3x5xi8>, tensor<5x4xi8>) -> tensor<3x4xi8>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<3x4xi8>, tensor<3x4xi8>) -> ()
    return %out : tensor<3x4xi8>
  }
  func.func private @inputs() -> (tensor<3x5xi8>, tensor<5x4xi8>) {
    %c0 = stablehlo.constant dense<[[-128, 127, 1, -39, 85], [55, 8, -115, 120, -80], [107, -26, 97, -71, -8]]> : tensor<3x5xi8>
    %c1 = stablehlo.constant dense<[[-128, 127, 1, 1], [89, 47, -5, -74], [25, 83, 81, 38], [93, -32, -58, -4], [56, -114, -98, 98]]> : tensor<5x4xi8>
    return %c0, %c1 : tensor<3x5xi8>, tensor<5x4xi8>
  }
  func.func private @expected() -> (tensor<3x4xi8>) {
    %c0 = stablehlo.constant dense<[[-83, 42, -94, 22], [37, 24, 28, 85], [100, 50, -60, 97]]> : tensor<3x4xi8>
    return %c0 : tensor<3x4xi8>
  }
}
