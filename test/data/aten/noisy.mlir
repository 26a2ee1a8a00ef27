#f0 = loc("test/e2e/aten_models.py":578:0)
#f1 = loc("test/e2e/aten_models.py":579:0)
#f2 = loc("test/e2e/aten_models.py":580:0)
#f3 = loc("test/e2e/aten_models.py":563:0)
#f4 = loc("test/e2e/aten_models.py":581:0)
#f5 = loc("test/e2e/aten_models.py":562:0)
#f6 = loc("test/e2e/aten_models.py":583:0)
#f7 = loc("test/e2e/aten_models.py":584:0)
#f8 = loc("test/e2e/aten_models.py":585:0)
#f9 = loc("test/e2e/aten_models.py":586:0)
#f10 = loc("test/e2e/aten_models.py":587:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "noisy.safetensors"} {
  func.func @main(%arg0: tensor<256x16xf32> {aten.parameter = "embed.weight"},
                  %arg1: tensor<16x16xf32> {aten.parameter = "layers.0.weight"},
                  %arg2: tensor<16xf32> {aten.parameter = "layers.0.bias"},
                  %arg3: tensor<16x16xf32> {aten.parameter = "layers.1.weight"},
                  %arg4: tensor<16xf32> {aten.parameter = "layers.1.bias"},
                  %arg5: tensor<16x16xf32> {aten.parameter = "layers.2.weight"},
                  %arg6: tensor<16xf32> {aten.parameter = "layers.2.bias"},
                  %arg7: tensor<16x16xf32> {aten.parameter = "layers.3.weight"},
                  %arg8: tensor<16xf32> {aten.parameter = "layers.3.bias"},
                  %arg9: tensor<16x16xf32> {aten.parameter = "spread.weight"},
                  %arg10: tensor<16xf32> {aten.parameter = "spread.bias"},
                  %arg11: tensor<256x16xf32> {aten.parameter = "head.weight"},
                  %arg12: tensor<256xf32> {aten.parameter = "head.bias"},
                  %arg13: tensor<2x12xi64> {aten.input = "x"},
                  %arg14: tensor<2x12xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %random_uniform = "aten.random_uniform"() {size = array<i64: 2, 12>, dtype = "f32", training = false} : () -> tensor<2x12xf32> loc("random_uniform"(#f0))
    %none = "aten.none"() : () -> none
    %lt = "aten.lt.Scalar"(%random_uniform) {other = 0.1 : f64} : (tensor<2x12xf32>) -> tensor<2x12xi1> loc("lt"(#f0))
    %random_uniform_1 = "aten.random_uniform"() {size = array<i64: 2, 12>, dtype = "i64", training = false} : () -> tensor<2x12xi64> loc("random_uniform_1"(#f0))
    %mul = "aten.mul.Tensor"(%random_uniform_1) {other = 40 : i64} : (tensor<2x12xi64>) -> tensor<2x12xi64> loc("mul"(#f0))
    %div = "aten.div.Tensor_mode"(%mul) {other = 4294967296 : i64, rounding_mode = "floor"} : (tensor<2x12xi64>) -> tensor<2x12xi64> loc("div"(#f0))
    %add = "aten.add.Tensor"(%div) {other = 0 : i64} : (tensor<2x12xi64>) -> tensor<2x12xi64> loc("add"(#f0))
    %where = "aten.where.self"(%lt, %add, %arg13) : (tensor<2x12xi1>, tensor<2x12xi64>, tensor<2x12xi64>) -> tensor<2x12xi64> loc("where"(#f0))
    %embedding = "aten.embedding"(%arg0, %where) : (tensor<256x16xf32>, tensor<2x12xi64>) -> tensor<2x12x16xf32> loc("embed (embedding)"(#f1))
    %random_uniform_2 = "aten.random_uniform"() {size = array<i64: 2, 12, 16>, dtype = "f32", training = false} : () -> tensor<2x12x16xf32> loc("random_uniform_2"(#f1))
    %gt = "aten.gt.Scalar"(%random_uniform_2) {other = 0.05 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xi1> loc("gt"(#f1))
    %mul_1 = "aten.mul.Tensor"(%embedding, %gt) : (tensor<2x12x16xf32>, tensor<2x12x16xi1>) -> tensor<2x12x16xf32> loc("mul_1"(#f1))
    %linear = "aten.linear"(%mul_1, %arg1, %arg2) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("layers.0 (linear)"(#f2))
    %full_1 = "aten.full"() {size = array<i64: 2, 1, 1>, fill_value = 0.8 : f64} : () -> tensor<2x1x1xf32> loc("paths.0 (full_1)"(#f3))
    %random_bernoulli = "aten.random_bernoulli"(%full_1) {training = true} : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32> loc("paths.0 (random_bernoulli)"(#f3))
    %div_1 = "aten.div.Tensor"(%random_bernoulli) {other = 0.8 : f64} : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32> loc("paths.0 (div_1)"(#f3))
    %mul_2 = "aten.mul.Tensor"(%linear, %div_1) : (tensor<2x12x16xf32>, tensor<2x1x1xf32>) -> tensor<2x12x16xf32> loc("paths.0 (mul_2)"(#f3))
    %add_1 = "aten.add.Tensor"(%mul_1, %mul_2) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("add_1"(#f2))
    %linear_1 = "aten.linear"(%add_1, %arg3, %arg4) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("layers.1 (linear_1)"(#f4))
    %full_3 = "aten.full"() {size = array<i64: 2, 12, 16>, fill_value = 0.8 : f64} : () -> tensor<2x12x16xf32> loc("drops.0 (full_3)"(#f4))
    %random_bernoulli_1 = "aten.random_bernoulli"(%full_3) {training = true} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.0 (random_bernoulli_1)"(#f4))
    %add_2 = "aten.add.Scalar"(%random_bernoulli_1) {other = -1 : i64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.0 (add_2)"(#f4))
    %mul_3 = "aten.mul.Scalar"(%add_2) {other = 1.5451998107204723 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.0 (mul_3)"(#f4))
    %add_3 = "aten.add.Scalar"(%mul_3) {other = 0.30903996214409446 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.0 (add_3)"(#f4))
    %mul_4 = "aten.mul.Scalar"(%random_bernoulli_1) {other = 0.8789035834435328 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.0 (mul_4)"(#f4))
    %mul_5 = "aten.mul.Tensor"(%linear_1, %mul_4) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.0 (mul_5)"(#f4))
    %add_4 = "aten.add.Tensor"(%mul_5, %add_3) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.0 (add_4)"(#f4))
    %by_mode = "aten.by_mode"(%add_4, %linear_1) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.0 (by_mode)"(#f4))
    %div_2 = "aten.div.Tensor"(%by_mode) {other = 0.7 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("paths.1 (div_2)"(#f5))
    %full_default = "aten.full"() {size = array<i64: 2, 1, 1>, fill_value = 0.7 : f64} : () -> tensor<2x1x1xf32> loc("paths.1 (full_default)"(#f5))
    %random_bernoulli_default = "aten.random_bernoulli"(%full_default) {training = true} : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32> loc("paths.1 (random_bernoulli_default)"(#f5))
    %mul_6 = "aten.mul.Tensor"(%div_2, %random_bernoulli_default) : (tensor<2x12x16xf32>, tensor<2x1x1xf32>) -> tensor<2x12x16xf32> loc("paths.1 (mul_6)"(#f5))
    %add_6 = "aten.add.Tensor"(%add_1, %mul_6) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("add_6"(#f4))
    %full_5 = "aten.full"() {size = array<i64: 2, 12, 1>, fill_value = 0.8 : f64} : () -> tensor<2x12x1xf32> loc("drops.1 (full_5)"(#f4))
    %random_bernoulli_2 = "aten.random_bernoulli"(%full_5) {training = true} : (tensor<2x12x1xf32>) -> tensor<2x12x1xf32> loc("drops.1 (random_bernoulli_2)"(#f4))
    %div_3 = "aten.div.Scalar"(%random_bernoulli_2) {other = 0.8 : f64} : (tensor<2x12x1xf32>) -> tensor<2x12x1xf32> loc("drops.1 (div_3)"(#f4))
    %mul_7 = "aten.mul.Tensor"(%add_6, %div_3) : (tensor<2x12x16xf32>, tensor<2x12x1xf32>) -> tensor<2x12x16xf32> loc("drops.1 (mul_7)"(#f4))
    %random_normal = "aten.random_normal"() {size = array<i64: 2, 12, 16>, training = true} : () -> tensor<2x12x16xf32> loc("random_normal"(#f6))
    %mul_8 = "aten.mul.Tensor"(%random_normal) {other = 0.1 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("mul_8"(#f6))
    %linear_2 = "aten.linear"(%mul_7, %arg9, %arg10) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("spread (linear_2)"(#f6))
    %tanh = "aten.tanh"(%linear_2) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("tanh"(#f6))
    %mul_9 = "aten.mul.Tensor"(%mul_8, %tanh) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("mul_9"(#f6))
    %add_7 = "aten.add.Tensor"(%mul_7, %mul_9) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("add_7"(#f6))
    %linear_3 = "aten.linear"(%add_7, %arg5, %arg6) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("layers.2 (linear_3)"(#f7))
    %le = "aten.le.Scalar"(%linear_3) {other = 0 : i64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xi1> loc("drops.2 (le)"(#f7))
    %random_uniform_4 = "aten.random_uniform"() {size = array<i64: 2, 12, 16>, dtype = "f32", training = true} : () -> tensor<2x12x16xf32> loc("drops.2 (random_uniform_4)"(#f7))
    %mul_10 = "aten.mul.Tensor"(%random_uniform_4) {other = 0.20833333333333331 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.2 (mul_10)"(#f7))
    %add_8 = "aten.add.Tensor"(%mul_10) {other = 0.125 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.2 (add_8)"(#f7))
    %scalar_tensor = "aten.scalar_tensor"() {s = 1.0 : f64, dtype = "f32"} : () -> tensor<f32> loc("drops.2 (scalar_tensor)"(#f7))
    %where_1 = "aten.where.self"(%le, %add_8, %scalar_tensor) : (tensor<2x12x16xi1>, tensor<2x12x16xf32>, tensor<f32>) -> tensor<2x12x16xf32> loc("drops.2 (where_1)"(#f7))
    %mul_11 = "aten.mul.Tensor"(%linear_3, %where_1) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("drops.2 (mul_11)"(#f7))
    %add_9 = "aten.add.Tensor"(%add_7, %mul_11) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("add_9"(#f7))
    %linear_4 = "aten.linear"(%add_9, %arg7, %arg8) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("layers.3 (linear_4)"(#f8))
    %random_uniform_5 = "aten.random_uniform"() {size = array<i64: 2, 12, 16>, dtype = "f32", training = true} : () -> tensor<2x12x16xf32> loc("random_uniform_5"(#f8))
    %eq = "aten.eq.Scalar"(%random_uniform_5) {other = 0 : i64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xi1> loc("eq"(#f8))
    %sub = "aten.sub.Tensor"(%random_uniform_5) {self = 1 : i64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("sub"(#f8))
    %log = "aten.log"(%sub) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("log"(#f8))
    %neg = "aten.neg"(%log) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("neg"(#f8))
    %scalar_tensor_1 = "aten.scalar_tensor"() {s = 2.9802322387695312e-08 : f64, dtype = "f32"} : () -> tensor<f32> loc("scalar_tensor_1"(#f8))
    %where_2 = "aten.where.self"(%eq, %scalar_tensor_1, %neg) : (tensor<2x12x16xi1>, tensor<f32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("where_2"(#f8))
    %div_4 = "aten.div.Tensor"(%where_2) {other = 1.0 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("div_4"(#f8))
    %log_1 = "aten.log"(%div_4) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("log_1"(#f8))
    %neg_1 = "aten.neg"(%log_1) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("neg_1"(#f8))
    %add_10 = "aten.add.Tensor"(%linear_4, %neg_1) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("add_10"(#f8))
    %div_5 = "aten.div.Tensor"(%add_10) {other = 2.0 : f64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("div_5"(#f8))
    %softmax = "aten.softmax.int"(%div_5) {dim = -1 : i64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("softmax"(#f8))
    %mul_12 = "aten.mul.Tensor"(%add_9, %softmax) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("mul_12"(#f9))
    %mul_13 = "aten.mul.Tensor"(%mul_12) {other = 16 : i64} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("mul_13"(#f9))
    %linear_5 = "aten.linear"(%mul_13, %arg11, %arg12) : (tensor<2x12x16xf32>, tensor<256x16xf32>, tensor<256xf32>) -> tensor<2x12x256xf32> loc("head (linear_5)"(#f10))
    %view = "aten.view"(%linear_5) {size = array<i64: 24, 256>} : (tensor<2x12x256xf32>) -> tensor<24x256xf32> loc("view"(#f10))
    %view_1 = "aten.view"(%arg14) {size = array<i64: 24>} : (tensor<2x12xi64>) -> tensor<24xi64> loc("view_1"(#f10))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%view, %view_1) : (tensor<24x256xf32>, tensor<24xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f10))
    return %cross_entropy_loss : tensor<f32>
  }
}
