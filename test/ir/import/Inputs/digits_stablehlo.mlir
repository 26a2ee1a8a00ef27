module @jit_f {
  func.func public @main(%w: tensor<4xf32> loc("w"), %x: tensor<4xf32> loc("x")) -> tensor<f32> {
    %zz = stablehlo.multiply %x, %w : tensor<4xf32>
    %aa = stablehlo.log_plus_one %zz : tensor<4xf32>
    %bb = stablehlo.exponential_minus_one %zz : tensor<4xf32>
    %cc = chlo.erfc %zz : tensor<4xf32> -> tensor<4xf32>
    %dd = stablehlo.add %aa, %bb : tensor<4xf32>
    %ee = stablehlo.add %dd, %cc : tensor<4xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %ll = stablehlo.reduce(%ee init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %ll : tensor<f32>
  }
}
