// One valid example of every op: each prints as it was read, and stock mlir-opt reads it with the generated IRDL text.
// RUN: zb-opt %s > %t.once.mlir
// RUN: zb-opt %t.once.mlir | diff %t.once.mlir -
// RUN: zb-opt --irdl > %t.irdl.mlir
// RUN: mlir-opt-22 --irdl-file=%t.irdl.mlir %s | zb-opt - | diff %t.once.mlir -

module {
  func.func @abs(%0: tensor<4xf32>) {
    %r = "zb.abs"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @abs_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.abs_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @acos(%0: tensor<4xf32>) {
    %r = "zb.acos"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @acos_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.acos_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @acosh(%0: tensor<4xf32>) {
    %r = "zb.acosh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @acosh_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.acosh_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @asin(%0: tensor<4xf32>) {
    %r = "zb.asin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @asin_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.asin_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @asinh(%0: tensor<4xf32>) {
    %r = "zb.asinh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @asinh_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.asinh_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @atan(%0: tensor<4xf32>) {
    %r = "zb.atan"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @atan_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.atan_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @atanh(%0: tensor<4xf32>) {
    %r = "zb.atanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @atanh_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.atanh_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @cos(%0: tensor<4xf32>) {
    %r = "zb.cos"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @cos_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.cos_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @cosh(%0: tensor<4xf32>) {
    %r = "zb.cosh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @cosh_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.cosh_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @celu(%0: tensor<4xf32>) {
    %r = "zb.celu"(%0) {alpha = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @celu_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.celu_grad"(%0, %1) {alpha = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @clip(%0: tensor<4xf32>) {
    %r = "zb.clip"(%0) {max = 1.0 : f64, min = -1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @clip_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.clip_grad"(%0, %1) {max = 1.0 : f64, min = -1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @elu(%0: tensor<4xf32>) {
    %r = "zb.elu"(%0) {alpha = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @elu_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.elu_grad"(%0, %1) {alpha = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @erf(%0: tensor<4xf32>) {
    %r = "zb.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @erf_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.erf_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @erfc(%0: tensor<4xf32>) {
    %r = "zb.erfc"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @erfc_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.erfc_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @exp(%0: tensor<4xf32>) {
    %r = "zb.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @exp_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.exp_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @expm1(%0: tensor<4xf32>) {
    %r = "zb.expm1"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @expm1_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.expm1_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @gelu(%0: tensor<4xf32>) {
    %r = "zb.gelu"(%0) {tanh = true} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @gelu_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.gelu_grad"(%0, %1) {tanh = true} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @hard_sigmoid(%0: tensor<4xf32>) {
    %r = "zb.hard_sigmoid"(%0) {alpha = 0.25 : f64, beta = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @hard_sigmoid_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.hard_sigmoid_grad"(%0, %1) {alpha = 0.25 : f64, beta = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @hard_swish(%0: tensor<4xf32>) {
    %r = "zb.hard_swish"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @hard_swish_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.hard_swish_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @leaky_relu(%0: tensor<4xf32>) {
    %r = "zb.leaky_relu"(%0) {alpha = 0.2 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @leaky_relu_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.leaky_relu_grad"(%0, %1) {alpha = 0.2 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @log(%0: tensor<4xf32>) {
    %r = "zb.log"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @log_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.log_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @log1p(%0: tensor<4xf32>) {
    %r = "zb.log1p"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @log1p_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.log1p_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @mish(%0: tensor<4xf32>) {
    %r = "zb.mish"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @mish_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.mish_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @neg(%0: tensor<4xf32>) {
    %r = "zb.neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @neg_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.neg_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @reciprocal(%0: tensor<4xf32>) {
    %r = "zb.reciprocal"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @reciprocal_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.reciprocal_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @relu(%0: tensor<4xf32>) {
    %r = "zb.relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @relu_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.relu_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @rsqrt(%0: tensor<4xf32>) {
    %r = "zb.rsqrt"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @rsqrt_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.rsqrt_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @selu(%0: tensor<4xf32>) {
    %r = "zb.selu"(%0) {alpha = 1.5 : f64, gamma = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @selu_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.selu_grad"(%0, %1) {alpha = 1.5 : f64, gamma = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @shrink(%0: tensor<4xf32>) {
    %r = "zb.shrink"(%0) {bias = 0.5 : f64, lambda = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @shrink_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.shrink_grad"(%0, %1) {bias = 0.5 : f64, lambda = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sigmoid(%0: tensor<4xf32>) {
    %r = "zb.sigmoid"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sigmoid_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.sigmoid_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @silu(%0: tensor<4xf32>) {
    %r = "zb.silu"(%0) {alpha = 1.702 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @silu_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.silu_grad"(%0, %1) {alpha = 1.702 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sin(%0: tensor<4xf32>) {
    %r = "zb.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sin_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.sin_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sinh(%0: tensor<4xf32>) {
    %r = "zb.sinh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sinh_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.sinh_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @softplus(%0: tensor<4xf32>) {
    %r = "zb.softplus"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @softplus_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.softplus_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @softsign(%0: tensor<4xf32>) {
    %r = "zb.softsign"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @softsign_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.softsign_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sqrt(%0: tensor<4xf32>) {
    %r = "zb.sqrt"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sqrt_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.sqrt_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @tan(%0: tensor<4xf32>) {
    %r = "zb.tan"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @tan_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.tan_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @tanh(%0: tensor<4xf32>) {
    %r = "zb.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @tanh_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.tanh_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @thresholded_relu(%0: tensor<4xf32>) {
    %r = "zb.thresholded_relu"(%0) {alpha = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @thresholded_relu_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.thresholded_relu_grad"(%0, %1) {alpha = 2.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @ceil(%0: tensor<4xf32>) {
    %r = "zb.ceil"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @floor(%0: tensor<4xf32>) {
    %r = "zb.floor"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @round(%0: tensor<4xf32>) {
    %r = "zb.round"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @sign(%0: tensor<4xf32>) {
    %r = "zb.sign"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @is_inf(%0: tensor<4xf32>) {
    %r = "zb.is_inf"(%0) {detect_negative = false} : (tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @detach(%0: tensor<4xf32>) {
    %r = "zb.detach"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @is_nan(%0: tensor<4xf32>) {
    %r = "zb.is_nan"(%0) : (tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @not(%0: tensor<4xi1>) {
    %r = "zb.not"(%0) : (tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @bitwise_not(%0: tensor<4xi64>) {
    %r = "zb.bitwise_not"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @add(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.add"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @add_grad(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.add_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @sub(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.sub"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @sub_grad(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.sub_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @mul(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.mul"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @mul_grad(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.mul_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @div(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.div"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @div_grad(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.div_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @pow(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.pow"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @pow_grad(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.pow_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @max(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.max"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @max_grad(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.max_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @min(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.min"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @min_grad(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.min_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @prelu(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.prelu"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @prelu_grad(%0: tensor<2x4xf32>, %1: tensor<4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.prelu_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    return
  }
  func.func @slope(%0: tensor<2x4xf32>, %1: tensor<4xf32>) {
    %r = "zb.slope"(%0, %1) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @mod(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.mod"(%0, %1) {fmod = true} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @and(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    %r = "zb.and"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @or(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    %r = "zb.or"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @xor(%0: tensor<4xi1>, %1: tensor<4xi1>) {
    %r = "zb.xor"(%0, %1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return
  }
  func.func @bitwise_and(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    %r = "zb.bitwise_and"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @bitwise_or(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    %r = "zb.bitwise_or"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @bitwise_xor(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    %r = "zb.bitwise_xor"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @bit_shift(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    %r = "zb.bit_shift"(%0, %1) {left = true} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @equal(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.equal"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @greater(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.greater"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @greater_equal(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.greater_equal"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @less(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.less"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @less_equal(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.less_equal"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @where(%0: tensor<4xi1>, %1: tensor<4xf32>, %2: tensor<f32>) {
    %r = "zb.where"(%0, %1, %2) : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return
  }
  func.func @where_grad(%0: tensor<4xi1>, %1: tensor<4xf32>) {
    %r:2 = "zb.where_grad"(%0, %1) {lhs_shape = array<i64: 4>, rhs_shape = array<i64>} : (tensor<4xi1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
    return
  }
  func.func @cast(%0: tensor<4xf32>) {
    %r = "zb.cast"(%0) {dtype = "i32"} : (tensor<4xf32>) -> tensor<4xi32>
    return
  }
  func.func @bitcast(%0: tensor<4xf32>) {
    %r = "zb.bitcast"(%0) {dtype = "i32"} : (tensor<4xf32>) -> tensor<4xi32>
    return
  }
  func.func @cast_grad(%0: tensor<4xf32>) {
    %r = "zb.cast_grad"(%0) {dtype = "bf16"} : (tensor<4xf32>) -> tensor<4xbf16>
    return
  }
  func.func @uniform(%0: tensor<4xi64>) {
    %r = "zb.uniform"(%0) {shape = array<i64: 2, 4>, dtype = "f32", op = 3 : i64} : (tensor<4xi64>) -> tensor<2x4xf32>
    return
  }
  func.func @dropout(%0: tensor<2x4xbf16>, %1: tensor<4xi64>) {
    %r = "zb.dropout"(%0, %1) {rate = 0.1, op = 3 : i64} : (tensor<2x4xbf16>, tensor<4xi64>) -> tensor<2x4xbf16>
    return
  }
  func.func @swiglu(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>) {
    %r = "zb.swiglu"(%0, %1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @swiglu_grad(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>, %2: tensor<2x4xf32>) {
    %r:2 = "zb.swiglu_grad"(%0, %1, %2) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    return
  }
  func.func @rotary(%0: tensor<2x3x4x8xbf16>, %1: tensor<3x1x8xf32>, %2: tensor<3x1x8xf32>) {
    %r = "zb.rotary"(%0, %1, %2) : (tensor<2x3x4x8xbf16>, tensor<3x1x8xf32>, tensor<3x1x8xf32>) -> tensor<2x3x4x8xbf16>
    return
  }
  func.func @rotary_grad(%0: tensor<2x3x4x8xf32>, %1: tensor<3x1x8xf32>, %2: tensor<3x1x8xf32>) {
    %r = "zb.rotary_grad"(%0, %1, %2) : (tensor<2x3x4x8xf32>, tensor<3x1x8xf32>, tensor<3x1x8xf32>) -> tensor<2x3x4x8xf32>
    return
  }
  func.func @reduce_sum(%0: tensor<2x4xf32>) {
    %r = "zb.reduce_sum"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_sum_grad(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    %r = "zb.reduce_sum_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_mean(%0: tensor<2x4xf32>) {
    %r = "zb.reduce_mean"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_mean_grad(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    %r = "zb.reduce_mean_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_max(%0: tensor<2x4xf32>) {
    %r = "zb.reduce_max"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_max_grad(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    %r = "zb.reduce_max_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_min(%0: tensor<2x4xf32>) {
    %r = "zb.reduce_min"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_min_grad(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    %r = "zb.reduce_min_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @reduce_prod(%0: tensor<2x4xf32>) {
    %r = "zb.reduce_prod"(%0) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return
  }
  func.func @reduce_prod_grad(%0: tensor<2x4xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>) {
    %r = "zb.reduce_prod_grad"(%0, %1, %2) {axes = array<i64: 1>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @softmax(%0: tensor<2x4xf32>) {
    %r = "zb.softmax"(%0) {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @softmax_grad(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>) {
    %r = "zb.softmax_grad"(%0, %1) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @log_softmax(%0: tensor<2x4xf32>) {
    %r = "zb.log_softmax"(%0) {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @log_softmax_grad(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>) {
    %r = "zb.log_softmax_grad"(%0, %1) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
  func.func @layer_norm(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<8xf32>) {
    %r:3 = "zb.layer_norm"(%0, %1, %2) {axis = 2 : i64, epsilon = 1.0e-06 : f64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @layer_norm_grad(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    %r:3 = "zb.layer_norm_grad"(%0, %1, %2, %3, %4) {axis = 2 : i64, bias = true} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return
  }
  func.func @layer_norm_grad_x(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    %r = "zb.layer_norm_grad_x"(%0, %1, %2, %3, %4) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @layer_norm_grad_scale(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    %r = "zb.layer_norm_grad_scale"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<8xf32>
    return
  }
  func.func @rms_norm(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>) {
    %r:2 = "zb.rms_norm"(%0, %1) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @rms_norm_grad(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    %r:2 = "zb.rms_norm_grad"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>)
    return
  }
  func.func @rms_norm_grad_x_residual(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    %r = "zb.rms_norm_grad_x"(%0, %1, %2, %3, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @rms_norm_grad_x(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x8xf32>) {
    %r = "zb.rms_norm_grad_x"(%0, %1, %2, %3) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @rms_norm_grad_scale(%0: tensor<2x3x8xf32>, %1: tensor<2x3x1xf32>, %2: tensor<2x3x8xf32>) {
    %r = "zb.rms_norm_grad_scale"(%0, %1, %2) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<8xf32>
    return
  }
  func.func @matmul(%0: tensor<5x2x3xf32>, %1: tensor<4x3xf32>) {
    %r = "zb.matmul"(%0, %1) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
    return
  }
  func.func @matmul_bias(%0: tensor<5x2x3xf32>, %1: tensor<3x4xf32>, %2: tensor<4xf32>) {
    %r = "zb.matmul"(%0, %1, %2) : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
    return
  }
  func.func @matmul_grad(%0: tensor<5x2x3xf32>, %1: tensor<4x3xf32>, %2: tensor<5x2x4xf32>) {
    %r:2 = "zb.matmul_grad"(%0, %1, %2) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<4x3xf32>)
    return
  }
  func.func @reshape(%0: tensor<4x6xf32>) {
    %r = "zb.reshape"(%0) {shape = array<i64: 2, 12>} : (tensor<4x6xf32>) -> tensor<2x12xf32>
    return
  }
  func.func @transpose(%0: tensor<4x6xf32>) {
    %r = "zb.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
    return
  }
  func.func @slice(%0: tensor<4x6xf32>) {
    %r = "zb.slice"(%0) {sizes = array<i64: 2, 3>, starts = array<i64: 1, 0>, steps = array<i64: 1, 2>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @slice_grad(%0: tensor<2x3xf32>) {
    %r = "zb.slice_grad"(%0) {shape = array<i64: 4, 6>, starts = array<i64: 1, 0>, steps = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @expand(%0: tensor<3x1xf32>) {
    %r = "zb.expand"(%0) {shape = array<i64: 2, 3, 4>} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
    return
  }
  func.func @split(%0: tensor<2x7xf32>) {
    %r:2 = "zb.split"(%0) {axis = 1 : i64, sizes = array<i64: 4, 3>} : (tensor<2x7xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
    return
  }
  func.func @concat(%0: tensor<2x4xf32>, %1: tensor<2x3xf32>) {
    %r = "zb.concat"(%0, %1) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
    return
  }
  func.func @contiguous(%0: tensor<4x6xf32>) {
    %r = "zb.contiguous"(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @all_reduce(%0: tensor<4x6xf32>) {
    %r = "zb.all_reduce"(%0) {members = 2 : i64, reduction = "sum"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @shared(%0: tensor<4x6xf32>) {
    %r = "zb.shared"(%0) {members = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @reduce_scatter(%0: tensor<2x4x6xf32>) {
    %r = "zb.reduce_scatter"(%0) {members = 2 : i64} : (tensor<2x4x6xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @gather_parts(%0: tensor<4x6xf32>) {
    %r = "zb.gather_parts"(%0) {members = 2 : i64, shared = true} : (tensor<4x6xf32>) -> tensor<2x4x6xf32>
    return
  }
  func.func @own_part(%0: tensor<2x4x6xf32>) {
    %r = "zb.own_part"(%0) {members = 2 : i64, place = 1 : i64} : (tensor<2x4x6xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @to_local(%0: tensor<4x6xf32>) {
    %r = "zb.to_local"(%0) {members = 2 : i64, placement = "S(1)", reshard = true} : (tensor<4x6xf32>) -> tensor<4x3xf32>
    return
  }
  func.func @from_local(%0: tensor<4x6xf32>) {
    %r = "zb.from_local"(%0) {members = 2 : i64, placement = "S(0)"} : (tensor<4x6xf32>) -> tensor<8x6xf32>
    return
  }
  func.func @coordinate() {
    %r = "zb.coordinate"() {place = 1 : i64} : () -> tensor<1xi64>
    return
  }
  func.func @conv(%0: tensor<2x4x9x8xf32>, %1: tensor<6x2x3x3xf32>) {
    %r = "zb.conv"(%0, %1) {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x8xf32>
    return
  }
  func.func @conv_transpose(%0: tensor<2x6x5xf32>, %1: tensor<6x4x2xf32>) {
    %r = "zb.conv_transpose"(%0, %1) {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, shape = array<i64: 10>} : (tensor<2x6x5xf32>, tensor<6x4x2xf32>) -> tensor<2x4x10xf32>
    return
  }
  func.func @conv_weight(%0: tensor<2x4x9xf32>, %1: tensor<2x6x7xf32>) {
    %r = "zb.conv_weight"(%0, %1) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, shape = array<i64: 3>} : (tensor<2x4x9xf32>, tensor<2x6x7xf32>) -> tensor<6x4x3xf32>
    return
  }
  func.func @max_place(%0: tensor<2x4x9x8xf32>) {
    %r = "zb.max_place"(%0) {kernel = array<i64: 3, 2>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 5, 4>} : (tensor<2x4x9x8xf32>) -> tensor<2x4x5x4xi32>
    return
  }
  func.func @gather(%0: tensor<5x3xf32>, %1: tensor<2xi64>) {
    %r = "zb.gather"(%0, %1) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_grad(%0: tensor<2xi64>, %1: tensor<2x3xf32>) {
    %r = "zb.gather_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @gather_elements(%0: tensor<5x3xf32>, %1: tensor<2x3xi64>) {
    %r = "zb.gather_elements"(%0, %1) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
    return
  }
  func.func @gather_elements_grad(%0: tensor<2x3xi64>, %1: tensor<2x3xf32>) {
    %r = "zb.gather_elements_grad"(%0, %1) {axis = 0 : i64, shape = array<i64: 5, 3>} : (tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @cross_entropy(%0: tensor<4x8xf32>, %1: tensor<4xi64>) {
    %r:2 = "zb.cross_entropy"(%0, %1) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return
  }
  func.func @cross_entropy_grad(%0: tensor<4x8xf32>, %1: tensor<4xi64>, %2: tensor<4xf32>, %3: tensor<f32>) {
    %r = "zb.cross_entropy_grad"(%0, %1, %2, %3) {reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @nll_loss(%0: tensor<4x8xf32>, %1: tensor<4xi64>) {
    %r = "zb.nll_loss"(%0, %1) {reduction = "none"} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4xf32>
    return
  }
  func.func @nll_loss_grad(%0: tensor<4xi64>, %1: tensor<f32>) {
    %r = "zb.nll_loss_grad"(%0, %1) {reduction = "sum", shape = array<i64: 4, 8>} : (tensor<4xi64>, tensor<f32>) -> tensor<4x8xf32>
    return
  }
  func.func @attention(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>) {
    %r:2 = "zb.attention"(%0, %1, %2, %3) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_grad(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<2x8x4x16xf32>, %5: tensor<2x4x8xf32>, %6: tensor<2x8x4x16xf32>) {
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5, %6) {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @constant() {
    %r = "zb.constant"() {value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<f32>
    return
  }
  func.func @ravel_index(%0: tensor<2x3x2xi64>) {
    %r = "zb.ravel_index"(%0) {shape = array<i64: 4, 5>} : (tensor<2x3x2xi64>) -> tensor<2x3xi64>
    return
  }
  func.func @scatter(%0: tensor<5x3xf32>, %1: tensor<2xi64>, %2: tensor<2x3xf32>) {
    %r = "zb.scatter"(%0, %1, %2) {reduction = "none"} : (tensor<5x3xf32>, tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @cumsum(%0: tensor<5x3xf32>) {
    %r = "zb.cumsum"(%0) {axis = 1 : i64, exclusive = true} : (tensor<5x3xf32>) -> tensor<5x3xf32>
    return
  }
  func.func @top_k(%0: tensor<5x3xf32>) {
    %r = "zb.top_k"(%0) {axis = 1 : i64, k = 2 : i64, largest = true} : (tensor<5x3xf32>) -> tensor<5x2xi64>
    return
  }
  func.func @iota() {
    %r = "zb.iota"() {axis = 0 : i64, dtype = "i64", shape = array<i64: 8>, start = 0.000000e+00 : f64, step = 1.000000e+00 : f64} : () -> tensor<8xi64>
    return
  }
  func.func @triangle() {
    %r = "zb.triangle"() {diagonal = 0 : i64, dtype = "f32", lower = 0.000000e+00 : f64, shape = array<i64: 8, 8>, upper = 0xFFF0000000000000 : f64} : () -> tensor<8x8xf32>
    return
  }
  func.func @accumulate(%0: tensor<8x4xf32>) {
    %r = "zb.accumulate"(%0) {parameter = "w", use = 0 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return
  }
  func.func @by_mode(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>) {
    %r = "zb.by_mode"(%0, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return
  }
  func.func @accumulate_add(%0: tensor<8x4xf32>) {
    %r = "zb.accumulate_add"(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return
  }
  func.func @adamw(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<i64>, %5: tensor<2xf64>) {
    %r:3 = "zb.adamw"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @adam(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<i64>, %5: tensor<2xf64>) {
    %r:3 = "zb.adam"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @lion(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<i64>, %4: tensor<2xf64>) {
    %r:2 = "zb.lion"(%0, %1, %2, %3, %4) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @square_sum(%0: tensor<8x4xf32>) {
    %r = "zb.square_sum"(%0) {scale = 2.500000e-01 : f64} : (tensor<8x4xf32>) -> tensor<f64>
    return
  }
  func.func @abs_max(%0: tensor<8x4xf32>) {
    %r = "zb.abs_max"(%0) : (tensor<8x4xf32>) -> tensor<f64>
    return
  }
  func.func @clip_scale(%0: tensor<3xf64>, %1: tensor<i64>, %2: tensor<1xf64>) {
    %r:2 = "zb.clip_scale"(%0, %1, %2) {norm_type = "inf"} : (tensor<3xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<2xf64>, tensor<f32>)
    return
  }
  func.func @adamw_scaled(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<8x4xf32>, %4: tensor<2xf64>, %5: tensor<2xf64>) {
    %r:3 = "zb.adamw"(%0, %1, %2, %3, %4, %5) {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, gradient_scale = 2.500000e-01 : f64} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<2xf64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @gather_frame(%0: !zb.frame<"norms", 24>) {
    %r = "zb.gather_frame"(%0) : (!zb.frame<"norms", 24>) -> !zb.frame<"norms", 24>
    return
  }
  func.func @gather_parameters(%0: !zb.frame<"parameters", 576>) {
    %r = "zb.gather_parameters"(%0) : (!zb.frame<"parameters", 576>) -> !zb.frame<"gathered", 896>
    return
  }
  func.func @reduce_frame(%0: !zb.frame<"gradients", 1024>) {
    %r:2 = "zb.reduce_frame"(%0) : (!zb.frame<"gradients", 1024>) -> (!zb.frame<"gradients", 1024>, tensor<320xf32>)
    return
  }
  func.func @sgd(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>, %3: tensor<i64>, %4: tensor<2xf64>) {
    %r:2 = "zb.sgd"(%0, %1, %2, %3, %4) {momentum = 0.9 : f64, nesterov = true} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @empty_frame() {
    %r = "zb.empty_frame"() : () -> !zb.frame<"fb", 192>
    return
  }
  func.func @put(%0: !zb.frame<"fb", 192>, %1: tensor<4xf32>) {
    %r = "zb.put"(%0, %1) {offset = 64 : i64} : (!zb.frame<"fb", 192>, tensor<4xf32>) -> !zb.frame<"fb", 192>
    return
  }
  func.func @get(%0: !zb.frame<"fb", 192>) {
    %r = "zb.get"(%0) {offset = 64 : i64} : (!zb.frame<"fb", 192>) -> tensor<4xf32>
    return
  }
  func.func @zeros() {
    %r = "zb.zeros"() : () -> tensor<8x4xf32>
    return
  }
  func.func @read() {
    %r = "zb.read"() {input = "x"} : () -> tensor<8x4xf32>
    return
  }
  func.func @send(%0: tensor<8x4xf32>) {
    "zb.send"(%0) {message = 2 : i64, part = 1 : i64, peer = 1 : i64} : (tensor<8x4xf32>) -> ()
    return
  }
  func.func @recv() {
    %r = "zb.recv"() {message = 2 : i64, peer = 0 : i64} : () -> tensor<8x4xf32>
    return
  }
  func.func @all_gather(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>) {
    %r:2 = "zb.all_gather"(%0, %1) {counts = array<i64: 1, 2, 1>, members = array<i64: 0, 2, 3>, place = 1 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    return
  }
  func.func @report(%0: tensor<f32>) {
    "zb.report"(%0) {name = "loss"} : (tensor<f32>) -> ()
    return
  }
  func.func @report_output(%0: tensor<4x8xbf16>) {
    "zb.report"(%0) {is_output = true, name = "logits"} : (tensor<4x8xbf16>) -> ()
    return
  }
  func.func @layer_norm_no_bias(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>) {
    %r:3 = "zb.layer_norm"(%0, %1) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    return
  }
  func.func @layer_norm_grad_no_bias(%0: tensor<2x3x8xf32>, %1: tensor<8xf32>, %2: tensor<2x3x1xf32>, %3: tensor<2x3x1xf32>, %4: tensor<2x3x8xf32>) {
    %r:2 = "zb.layer_norm_grad"(%0, %1, %2, %3, %4) {axis = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>)
    return
  }
  func.func @attention_dropout(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<4xi64>) {
    %r:2 = "zb.attention_dropout"(%0, %1, %2, %3, %4) {causal = true, op = 3 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_dropout_grad(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x1x8x6xf32>, %4: tensor<4xi64>, %5: tensor<2x8x4x16xf32>, %6: tensor<2x4x8xf32>, %7: tensor<2x8x4x16xf32>) {
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %3, %4, %5, %6, %7) {causal = true, op = 3 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x1x8x6xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_dropout_grad_no_mask(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %4: tensor<4xi64>, %5: tensor<2x8x4x16xf32>, %6: tensor<2x4x8xf32>, %7: tensor<2x8x4x16xf32>) {
    %r:3 = "zb.attention_dropout_grad"(%0, %1, %2, %4, %5, %6, %7) {op = 3 : i64, rate = 1.000000e-01 : f64, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<4xi64>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @attention_no_mask(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>) {
    %r:2 = "zb.attention"(%0, %1, %2) {scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    return
  }
  func.func @attention_grad_no_mask(%0: tensor<2x8x4x16xf32>, %1: tensor<2x6x2x16xf32>, %2: tensor<2x6x2x16xf32>, %3: tensor<2x8x4x16xf32>, %4: tensor<2x4x8xf32>, %5: tensor<2x8x4x16xf32>) {
    %r:3 = "zb.attention_grad"(%0, %1, %2, %3, %4, %5) {scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x6x2x16xf32>, tensor<2x6x2x16xf32>)
    return
  }
  func.func @sgd_no_momentum(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<i64>, %3: tensor<2xf64>) {
    %r = "zb.sgd"(%0, %1, %2, %3) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<2xf64>) -> tensor<8x4xf32>
    return
  }
  func.func @accumulate_sum(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>) {
    %r = "zb.accumulate"(%0, %1) {parameter = "w", use = 0 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return
  }
  func.func @split_four(%0: tensor<2x8xf32>) {
    %r:4 = "zb.split"(%0) {axis = 1 : i64, sizes = array<i64: 1, 3, 2, 2>} : (tensor<2x8xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
    return
  }
  func.func @concat_four(%0: tensor<2x1xf32>, %1: tensor<2x3xf32>, %2: tensor<2x2xf32>, %3: tensor<2x2xf32>) {
    %r = "zb.concat"(%0, %1, %2, %3) {axis = 1 : i64} : (tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x8xf32>
    return
  }
  func.func @send_frame(%0: !zb.frame<"fb", 192>) {
    "zb.send"(%0) {message = 2 : i64, peer = 1 : i64} : (!zb.frame<"fb", 192>) -> ()
    return
  }
  func.func @recv_frame() {
    %r = "zb.recv"() {message = 2 : i64, peer = 1 : i64} : () -> !zb.frame<"fb", 192>
    return
  }
  func.func @validated() {
    "zb.verdict"() : () -> ()
    "zb.snapshot"() : () -> ()
    return
  }
  func.func @lenient_attributes(%0: tensor<5x2x3xf32>, %1: tensor<3x4xf32>) {
    %r = "zb.matmul"(%0, %1) {transpose_lhs = false, zb.id = 7 : i64, zb.of = 3 : i64} : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
    return
  }
}
