module @jit_loss {
  func.func public @main(%arg0: tensor<f32> loc("w"), %arg1: tensor<f32> loc("x"), %arg2: tensor<i32> loc("n")) -> tensor<f32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%n = %arg2, %x = %arg1) : tensor<i32>, tensor<f32>
    cond {
      %c_0 = stablehlo.constant dense<0> : tensor<i32>
      %2 = stablehlo.compare GT, %n, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.multiply %x, %arg0 : tensor<f32>
      stablehlo.return %n, %2 : tensor<i32>, tensor<f32>
    }
    return %0#1 : tensor<f32>
  }
}
