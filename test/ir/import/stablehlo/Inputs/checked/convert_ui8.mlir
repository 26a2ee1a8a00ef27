module @convert_ui8 {
  func.func public @main() -> (tensor<12xui8>) {
    %0 = call @inputs() : () -> (tensor<12xi64>)
    %1 = call @expected() : () -> (tensor<12xui8>)
    %out = stablehlo.convert %0 : (tensor<12xi64>) -> tensor<12xui8>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<12xui8>, tensor<12xui8>) -> ()
    return %out : tensor<12xui8>
  }
  func.func private @inputs() -> (tensor<12xi64>) {
    %c0 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, 1, 6359991541291452798, -7882695401170106137, -2138472736947261269, 6836582517851427772, -5835784047393071952, 5546250939182201396, -5002718617994009439, 808830939055829642, -3606759911720381510]> : tensor<12xi64>
    return %c0 : tensor<12xi64>
  }
  func.func private @expected() -> (tensor<12xui8>) {
    %c0 = stablehlo.constant dense<[0, 255, 1, 126, 231, 171, 188, 176, 52, 161, 138, 186]> : tensor<12xui8>
    return %c0 : tensor<12xui8>
  }
}
