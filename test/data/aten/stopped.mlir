#f0 = loc("test/e2e/aten_models.py":372:0)
#f1 = loc("test/e2e/aten_models.py":374:0)
#f2 = loc("test/e2e/aten_models.py":375:0)
#f3 = loc("test/e2e/aten_models.py":376:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "stopped.safetensors"} {
  func.func @main(%arg0: tensor<40x16xf32> {aten.parameter = "embed.weight"},
                  %arg1: tensor<16x16xf32> {aten.parameter = "first.weight"},
                  %arg2: tensor<16xf32> {aten.parameter = "first.bias"},
                  %arg3: tensor<16x16xf32> {aten.parameter = "second.weight"},
                  %arg4: tensor<16xf32> {aten.parameter = "second.bias"},
                  %arg5: tensor<40x16xf32> {aten.parameter = "head.weight"},
                  %arg6: tensor<40xf32> {aten.parameter = "head.bias"},
                  %arg7: tensor<2x12xi64> {aten.input = "x"},
                  %arg8: tensor<2x12xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %remainder = "aten.remainder.Scalar"(%arg7) {other = 3 : i64} : (tensor<2x12xi64>) -> tensor<2x12xi64> loc("remainder"(#f0))
    %eq = "aten.eq.Scalar"(%remainder) {other = 0 : i64} : (tensor<2x12xi64>) -> tensor<2x12xi1> loc("eq"(#f0))
    %scalar_tensor = "aten.scalar_tensor"() {s = 5 : i64, dtype = "i64"} : () -> tensor<i64> loc("scalar_tensor"(#f0))
    %where = "aten.where.self"(%eq, %scalar_tensor, %arg7) : (tensor<2x12xi1>, tensor<i64>, tensor<2x12xi64>) -> tensor<2x12xi64> loc("where"(#f0))
    %embedding = "aten.embedding"(%arg0, %where) {padding_idx = 5 : i64} : (tensor<40x16xf32>, tensor<2x12xi64>) -> tensor<2x12x16xf32> loc("embed (embedding)"(#f0))
    %linear = "aten.linear"(%embedding, %arg1, %arg2) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("linear")
    %exp = "aten.exp"(%linear) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("exp")
    %mean = "aten.mean.dim"(%exp) {dim = array<i64: -1>, keepdim = true} : (tensor<2x12x16xf32>) -> tensor<2x12x1xf32> loc("mean")
    %detach = "aten.detach"(%mean) : (tensor<2x12x1xf32>) -> tensor<2x12x1xf32> loc("detach"(#f1))
    %linear_1 = "aten.linear"(%embedding, %arg1, %arg2) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("first (linear_1)"(#f2))
    %mul = "aten.mul.Tensor"(%linear_1, %detach) : (tensor<2x12x16xf32>, tensor<2x12x1xf32>) -> tensor<2x12x16xf32> loc("mul"(#f2))
    %linear_2 = "aten.linear"(%embedding, %arg3, %arg4) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("second (linear_2)"(#f2))
    %detach_1 = "aten.detach"(%linear_2) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("detach_1"(#f2))
    %linear_3 = "aten.linear"(%embedding, %arg3, %arg4) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("second (linear_3)"(#f2))
    %mul_1 = "aten.mul.Tensor"(%detach_1, %linear_3) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("mul_1"(#f2))
    %add = "aten.add.Tensor"(%mul, %mul_1) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("add"(#f2))
    %linear_4 = "aten.linear"(%add, %arg5, %arg6) : (tensor<2x12x16xf32>, tensor<40x16xf32>, tensor<40xf32>) -> tensor<2x12x40xf32> loc("head (linear_4)"(#f3))
    %view = "aten.view"(%linear_4) {size = array<i64: 24, 40>} : (tensor<2x12x40xf32>) -> tensor<24x40xf32> loc("view"(#f3))
    %view_1 = "aten.view"(%arg8) {size = array<i64: 24>} : (tensor<2x12xi64>) -> tensor<24xi64> loc("view_1"(#f3))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%view, %view_1) : (tensor<24x40xf32>, tensor<24xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f3))
    return %cross_entropy_loss : tensor<f32>
  }
}
