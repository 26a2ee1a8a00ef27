#f0 = loc("test/e2e/window_models.py":126:0)
#f1 = loc("test/e2e/window_models.py":127:0)
#f2 = loc("test/e2e/window_models.py":128:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "video.safetensors"} {
  func.func @main(%arg0: tensor<8x2x3x3x3xf32> {aten.parameter = "conv1.weight"},
                  %arg1: tensor<8xf32> {aten.parameter = "conv1.bias"},
                  %arg2: tensor<8xf32> {aten.parameter = "norm1.weight"},
                  %arg3: tensor<8xf32> {aten.parameter = "norm1.bias"},
                  %arg4: tensor<8x2x1x3x2xf32> {aten.parameter = "conv2.weight"},
                  %arg5: tensor<8xf32> {aten.parameter = "conv2.bias"},
                  %arg6: tensor<8x2x2x2x2xf32> {aten.parameter = "up.weight"},
                  %arg7: tensor<4xf32> {aten.parameter = "bn.weight"},
                  %arg8: tensor<4xf32> {aten.parameter = "bn.bias"},
                  %arg9: tensor<5x4xf32> {aten.parameter = "out.weight"},
                  %arg10: tensor<5xf32> {aten.parameter = "out.bias"},
                  %arg11: tensor<4xf32> {aten.buffer = "bn.running_mean"},
                  %arg12: tensor<4xf32> {aten.buffer = "bn.running_var"},
                  %arg13: tensor<i64> {aten.buffer = "bn.num_batches_tracked"},
                  %arg14: tensor<2x2x5x9x12xf32> {aten.input = "x"},
                  %arg15: tensor<2xi64> {aten.input = "y"})
      -> (tensor<4xf32> {aten.updates = "bn.running_mean"}, tensor<4xf32> {aten.updates = "bn.running_var"}, tensor<i64> {aten.updates = "bn.num_batches_tracked"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg14, %arg0, %arg1) {stride = array<i64: 1, 2, 2>, padding = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, transposed = false, output_padding = array<i64: 0, 0, 0>, groups = 1 : i64} : (tensor<2x2x5x9x12xf32>, tensor<8x2x3x3x3xf32>, tensor<8xf32>) -> tensor<2x8x5x5x6xf32> loc("conv1 (convolution)"(#f0))
    %native_group_norm:3 = "aten.native_group_norm"(%convolution, %arg2, %arg3) {N = 2 : i64, C = 8 : i64, HxW = 150 : i64, group = 2 : i64, eps = 1.0e-05 : f64} : (tensor<2x8x5x5x6xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x5x5x6xf32>, tensor<2x2xf32>, tensor<2x2xf32>) loc("norm1 (native_group_norm)"(#f0))
    %silu = "aten.silu"(%native_group_norm#0) : (tensor<2x8x5x5x6xf32>) -> tensor<2x8x5x5x6xf32> loc("silu"(#f0))
    %max_pool3d_with_indices:2 = "aten.max_pool3d_with_indices"(%silu) {kernel_size = array<i64: 1, 2, 2>, stride = array<i64: 1, 1, 1>} : (tensor<2x8x5x5x6xf32>) -> (tensor<2x8x5x4x5xf32>, tensor<2x8x5x4x5xi64>) loc("max_pool3d_with_indices"(#f0))
    %convolution_1 = "aten.convolution"(%max_pool3d_with_indices#0, %arg4, %arg5) {stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 2>, transposed = false, output_padding = array<i64: 0, 0, 0>, groups = 4 : i64} : (tensor<2x8x5x4x5xf32>, tensor<8x2x1x3x2xf32>, tensor<8xf32>) -> tensor<2x8x5x2x3xf32> loc("conv2 (convolution_1)"(#f1))
    %view = "aten.view"(%convolution_1) {size = array<i64: 1, 16, 5, 2, 3>} : (tensor<2x8x5x2x3xf32>) -> tensor<1x16x5x2x3xf32> loc("norm2 (view)"(#f1))
    %_native_batch_norm_legit:3 = "aten._native_batch_norm_legit.no_stats"(%view) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<1x16x5x2x3xf32>) -> (tensor<1x16x5x2x3xf32>, tensor<16xf32>, tensor<16xf32>) loc("norm2 (_native_batch_norm_legit)"(#f1))
    %view_1 = "aten.view"(%_native_batch_norm_legit#0) {size = array<i64: 2, 8, 5, 2, 3>} : (tensor<1x16x5x2x3xf32>) -> tensor<2x8x5x2x3xf32> loc("norm2 (view_1)"(#f1))
    %avg_pool3d = "aten.avg_pool3d"(%view_1) {kernel_size = array<i64: 2, 2, 2>, stride = array<i64: 1, 1, 1>, padding = array<i64: 1, 1, 1>, ceil_mode = true, count_include_pad = false} : (tensor<2x8x5x2x3xf32>) -> tensor<2x8x6x3x4xf32> loc("avg_pool3d"(#f1))
    %convolution_2 = "aten.convolution"(%avg_pool3d, %arg6) {stride = array<i64: 1, 2, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>, transposed = true, output_padding = array<i64: 0, 0, 0>, groups = 2 : i64} : (tensor<2x8x6x3x4xf32>, tensor<8x2x2x2x2xf32>) -> tensor<2x4x7x6x5xf32> loc("up (convolution_2)"(#f2))
    %add = "aten.add.Tensor"(%arg13) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("bn (add)"(#f2))
    %_native_batch_norm_legit_functional:5 = "aten._native_batch_norm_legit_functional"(%convolution_2, %arg7, %arg8, %arg11, %arg12) {training = true, momentum = 0.3 : f64, eps = 1.0e-05 : f64} : (tensor<2x4x7x6x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x7x6x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) loc("bn (_native_batch_norm_legit_functional)"(#f2))
    %mean = "aten.mean.dim"(%_native_batch_norm_legit_functional#0) {dim = array<i64: 2, 3, 4>} : (tensor<2x4x7x6x5xf32>) -> tensor<2x4xf32> loc("mean"(#f2))
    %linear = "aten.linear"(%mean, %arg9, %arg10) : (tensor<2x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x5xf32> loc("out (linear)"(#f2))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%linear, %arg15) : (tensor<2x5xf32>, tensor<2xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f2))
    return %_native_batch_norm_legit_functional#3, %_native_batch_norm_legit_functional#4, %add, %cross_entropy_loss : tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<f32>
  }
}
