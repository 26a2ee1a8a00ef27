module @argmax {
  func.func public @main() -> (tensor<3xf32>, tensor<3xi32>) {
    %0 = call @inputs() : () -> (tensor<3x7xf32>)
    %1:2 = call @expected() : () -> (tensor<3xf32>, tensor<3xi32>)
    %n = stablehlo.iota dim = 1 : tensor<3x7xi32>
    %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %out:2 = stablehlo.reduce(%0 init: %i), (%n init: %z) across dimensions = [1] : (tensor<3x7xf32>, tensor<3x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
      %2 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %5 = stablehlo.and %3, %4 : tensor<i1>
      %6 = stablehlo.or %2, %5 : tensor<i1>
      %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
      %8 = stablehlo.select %6, %c, %d : tensor<i1>, tensor<i32>
      stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
    }
    stablehlo.custom_call @check.expect_eq(%out#0, %1#0) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%out#1, %1#1) {has_side_effect = true} : (tensor<3xi32>, tensor<3xi32>) -> ()
    return %out#0, %out#1 : tensor<3xf32>, tensor<3xi32>
  }
  func.func private @inputs() -> (tensor<3x7xf32>) {
    %c0 = stablehlo.constant dense<[[-7.50000000000000000e-01, -6.00000000000000000e+00, 4.75000000000000000e+00, -4.75000000000000000e+00, 3.75000000000000000e+00, 7.25000000000000000e+00, -3.25000000000000000e+00], [3.75000000000000000e+00, -8.75000000000000000e+00, 9.90000000000000000e+01, -9.25000000000000000e+00, -5.25000000000000000e+00, 9.90000000000000000e+01, -7.50000000000000000e+00], [7.50000000000000000e-01, -3.75000000000000000e+00, 7.75000000000000000e+00, 5.00000000000000000e+00, -9.50000000000000000e+00, -2.50000000000000000e-01, 4.75000000000000000e+00]]> : tensor<3x7xf32>
    return %c0 : tensor<3x7xf32>
  }
  func.func private @expected() -> (tensor<3xf32>, tensor<3xi32>) {
    %c0 = stablehlo.constant dense<[7.25000000000000000e+00, 9.90000000000000000e+01, 7.75000000000000000e+00]> : tensor<3xf32>
    %c1 = stablehlo.constant dense<[5, 2, 2]> : tensor<3xi32>
    return %c0, %c1 : tensor<3xf32>, tensor<3xi32>
  }
}
