module @jit_loss {
  func.func public @main(%arg0: tensor<8192xf32> loc("w"), %arg1: tensor<8192xf32> loc("x")) -> tensor<f32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.compare LT, %arg2, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<8192xf32>) -> tensor<8192xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<8192xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8192xf32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}
