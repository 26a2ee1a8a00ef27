module @jit_loss {
  func.func public @main(%arg0: tensor<6xf32> loc("w"), %arg1: tensor<6xf32> loc("x"), %arg2: tensor<2xui64> loc("key")) -> tensor<f32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<6xf32>
    %1:2 = "stablehlo.rng_bit_generator"(%arg2) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32>)
    %2 = stablehlo.convert %1#1 : (tensor<6xui32>) -> tensor<6xf32>
    %3 = stablehlo.multiply %0, %2 : tensor<6xf32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
