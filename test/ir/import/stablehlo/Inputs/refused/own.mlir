module @jit_loss {
  func.func public @main(%w: tensor<4xf32> loc("w"), %x: tensor<4xf32> loc("x")) -> tensor<f32> {
    %limit = stablehlo.constant dense<1.5> : tensor<4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.cosine %w : tensor<4xf32> loc("jit(loss)/cos")
    %1 = stablehlo.log %0 : tensor<4xf32>
    %2 = stablehlo.multiply %1, %x : tensor<4xf32>
    %3 = stablehlo.subtract %limit, %2 : tensor<4xf32>
    %4 = stablehlo.subtract %3, %x : tensor<4xf32>
    %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %5 : tensor<f32>
  }
}
