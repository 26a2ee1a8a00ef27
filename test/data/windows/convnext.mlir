#f0 = loc("test/e2e/window_models.py":68:0)
#f1 = loc("test/e2e/window_models.py":56:0)
#f2 = loc("test/e2e/window_models.py":57:0)
#f3 = loc("test/e2e/window_models.py":69:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "convnext.safetensors"} {
  func.func @main(%arg0: tensor<8x3x4x4xf32> {aten.parameter = "stem.weight"},
                  %arg1: tensor<8xf32> {aten.parameter = "stem.bias"},
                  %arg2: tensor<8xf32> {aten.parameter = "first.gamma"},
                  %arg3: tensor<8x1x7x7xf32> {aten.parameter = "first.dwconv.weight"},
                  %arg4: tensor<8xf32> {aten.parameter = "first.dwconv.bias"},
                  %arg5: tensor<8xf32> {aten.parameter = "first.norm.weight"},
                  %arg6: tensor<8xf32> {aten.parameter = "first.norm.bias"},
                  %arg7: tensor<32x8xf32> {aten.parameter = "first.up.weight"},
                  %arg8: tensor<32xf32> {aten.parameter = "first.up.bias"},
                  %arg9: tensor<8x32xf32> {aten.parameter = "first.down.weight"},
                  %arg10: tensor<8xf32> {aten.parameter = "first.down.bias"},
                  %arg11: tensor<12x8x2x2xf32> {aten.parameter = "shrink.weight"},
                  %arg12: tensor<12xf32> {aten.parameter = "shrink.bias"},
                  %arg13: tensor<12xf32> {aten.parameter = "second.gamma"},
                  %arg14: tensor<12x1x7x7xf32> {aten.parameter = "second.dwconv.weight"},
                  %arg15: tensor<12xf32> {aten.parameter = "second.dwconv.bias"},
                  %arg16: tensor<12xf32> {aten.parameter = "second.norm.weight"},
                  %arg17: tensor<12xf32> {aten.parameter = "second.norm.bias"},
                  %arg18: tensor<48x12xf32> {aten.parameter = "second.up.weight"},
                  %arg19: tensor<48xf32> {aten.parameter = "second.up.bias"},
                  %arg20: tensor<12x48xf32> {aten.parameter = "second.down.weight"},
                  %arg21: tensor<12xf32> {aten.parameter = "second.down.bias"},
                  %arg22: tensor<12xf32> {aten.parameter = "norm.weight"},
                  %arg23: tensor<12xf32> {aten.parameter = "norm.bias"},
                  %arg24: tensor<5x12xf32> {aten.parameter = "head.weight"},
                  %arg25: tensor<5xf32> {aten.parameter = "head.bias"},
                  %arg26: tensor<2x3x16x16xf32> {aten.input = "x"},
                  %arg27: tensor<2xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg26, %arg0, %arg1) {stride = array<i64: 4, 4>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x16x16xf32>, tensor<8x3x4x4xf32>, tensor<8xf32>) -> tensor<2x8x4x4xf32> loc("stem (convolution)"(#f0))
    %convolution_1 = "aten.convolution"(%convolution, %arg3, %arg4) {stride = array<i64: 1, 1>, padding = array<i64: 3, 3>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 8 : i64} : (tensor<2x8x4x4xf32>, tensor<8x1x7x7xf32>, tensor<8xf32>) -> tensor<2x8x4x4xf32> loc("first.dwconv (convolution_1)"(#f1))
    %permute = "aten.permute"(%convolution_1) {dims = array<i64: 0, 2, 3, 1>} : (tensor<2x8x4x4xf32>) -> tensor<2x4x4x8xf32> loc("first (permute)"(#f1))
    %layer_norm = "aten.layer_norm"(%permute, %arg5, %arg6) {normalized_shape = array<i64: 8>, eps = 1.0e-06 : f64, cudnn_enable = false} : (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x4x8xf32> loc("first.norm (layer_norm)"(#f1))
    %linear = "aten.linear"(%layer_norm, %arg7, %arg8) : (tensor<2x4x4x8xf32>, tensor<32x8xf32>, tensor<32xf32>) -> tensor<2x4x4x32xf32> loc("first.up (linear)"(#f2))
    %gelu = "aten.gelu"(%linear) : (tensor<2x4x4x32xf32>) -> tensor<2x4x4x32xf32> loc("first (gelu)"(#f2))
    %linear_1 = "aten.linear"(%gelu, %arg9, %arg10) : (tensor<2x4x4x32xf32>, tensor<8x32xf32>, tensor<8xf32>) -> tensor<2x4x4x8xf32> loc("first.down (linear_1)"(#f2))
    %mul = "aten.mul.Tensor"(%arg2, %linear_1) : (tensor<8xf32>, tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32> loc("first (mul)"(#f2))
    %permute_1 = "aten.permute"(%mul) {dims = array<i64: 0, 3, 1, 2>} : (tensor<2x4x4x8xf32>) -> tensor<2x8x4x4xf32> loc("first (permute_1)"(#f2))
    %add = "aten.add.Tensor"(%convolution, %permute_1) : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> loc("first (add)"(#f2))
    %convolution_2 = "aten.convolution"(%add, %arg11, %arg12) {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x4x4xf32>, tensor<12x8x2x2xf32>, tensor<12xf32>) -> tensor<2x12x2x2xf32> loc("shrink (convolution_2)"(#f0))
    %convolution_3 = "aten.convolution"(%convolution_2, %arg14, %arg15) {stride = array<i64: 1, 1>, padding = array<i64: 3, 3>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 12 : i64} : (tensor<2x12x2x2xf32>, tensor<12x1x7x7xf32>, tensor<12xf32>) -> tensor<2x12x2x2xf32> loc("second.dwconv (convolution_3)"(#f1))
    %permute_2 = "aten.permute"(%convolution_3) {dims = array<i64: 0, 2, 3, 1>} : (tensor<2x12x2x2xf32>) -> tensor<2x2x2x12xf32> loc("second (permute_2)"(#f1))
    %layer_norm_1 = "aten.layer_norm"(%permute_2, %arg16, %arg17) {normalized_shape = array<i64: 12>, eps = 1.0e-06 : f64, cudnn_enable = false} : (tensor<2x2x2x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x2x2x12xf32> loc("second.norm (layer_norm_1)"(#f1))
    %linear_2 = "aten.linear"(%layer_norm_1, %arg18, %arg19) : (tensor<2x2x2x12xf32>, tensor<48x12xf32>, tensor<48xf32>) -> tensor<2x2x2x48xf32> loc("second.up (linear_2)"(#f2))
    %gelu_1 = "aten.gelu"(%linear_2) : (tensor<2x2x2x48xf32>) -> tensor<2x2x2x48xf32> loc("second (gelu_1)"(#f2))
    %linear_3 = "aten.linear"(%gelu_1, %arg20, %arg21) : (tensor<2x2x2x48xf32>, tensor<12x48xf32>, tensor<12xf32>) -> tensor<2x2x2x12xf32> loc("second.down (linear_3)"(#f2))
    %mul_1 = "aten.mul.Tensor"(%arg13, %linear_3) : (tensor<12xf32>, tensor<2x2x2x12xf32>) -> tensor<2x2x2x12xf32> loc("second (mul_1)"(#f2))
    %permute_3 = "aten.permute"(%mul_1) {dims = array<i64: 0, 3, 1, 2>} : (tensor<2x2x2x12xf32>) -> tensor<2x12x2x2xf32> loc("second (permute_3)"(#f2))
    %add_1 = "aten.add.Tensor"(%convolution_2, %permute_3) : (tensor<2x12x2x2xf32>, tensor<2x12x2x2xf32>) -> tensor<2x12x2x2xf32> loc("second (add_1)"(#f2))
    %mean = "aten.mean.dim"(%add_1) {dim = array<i64: -2, -1>} : (tensor<2x12x2x2xf32>) -> tensor<2x12xf32> loc("mean"(#f3))
    %layer_norm_2 = "aten.layer_norm"(%mean, %arg22, %arg23) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x12xf32> loc("norm (layer_norm_2)"(#f3))
    %linear_4 = "aten.linear"(%layer_norm_2, %arg24, %arg25) : (tensor<2x12xf32>, tensor<5x12xf32>, tensor<5xf32>) -> tensor<2x5xf32> loc("head (linear_4)"(#f3))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%linear_4, %arg27) : (tensor<2x5xf32>, tensor<2xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f3))
    return %cross_entropy_loss : tensor<f32>
  }
}
