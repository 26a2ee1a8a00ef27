#f0 = loc("test/e2e/window_models.py":42:0)
#f1 = loc("test/e2e/window_models.py":23:0)
#f2 = loc("test/e2e/window_models.py":24:0)
#f3 = loc("test/e2e/window_models.py":45:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "resnet.safetensors"} {
  func.func @main(%arg0: tensor<8x3x3x3xf32> {aten.parameter = "conv1.weight"},
                  %arg1: tensor<8xf32> {aten.parameter = "bn1.weight"},
                  %arg2: tensor<8xf32> {aten.parameter = "bn1.bias"},
                  %arg3: tensor<8x8x3x3xf32> {aten.parameter = "blocks.0.conv1.weight"},
                  %arg4: tensor<8xf32> {aten.parameter = "blocks.0.bn1.weight"},
                  %arg5: tensor<8xf32> {aten.parameter = "blocks.0.bn1.bias"},
                  %arg6: tensor<8x8x3x3xf32> {aten.parameter = "blocks.0.conv2.weight"},
                  %arg7: tensor<8xf32> {aten.parameter = "blocks.0.bn2.weight"},
                  %arg8: tensor<8xf32> {aten.parameter = "blocks.0.bn2.bias"},
                  %arg9: tensor<16x8x3x3xf32> {aten.parameter = "blocks.1.conv1.weight"},
                  %arg10: tensor<16xf32> {aten.parameter = "blocks.1.bn1.weight"},
                  %arg11: tensor<16xf32> {aten.parameter = "blocks.1.bn1.bias"},
                  %arg12: tensor<16x16x3x3xf32> {aten.parameter = "blocks.1.conv2.weight"},
                  %arg13: tensor<16xf32> {aten.parameter = "blocks.1.bn2.weight"},
                  %arg14: tensor<16xf32> {aten.parameter = "blocks.1.bn2.bias"},
                  %arg15: tensor<16x8x1x1xf32> {aten.parameter = "blocks.1.down.0.weight"},
                  %arg16: tensor<16xf32> {aten.parameter = "blocks.1.down.1.weight"},
                  %arg17: tensor<16xf32> {aten.parameter = "blocks.1.down.1.bias"},
                  %arg18: tensor<5x16xf32> {aten.parameter = "fc.weight"},
                  %arg19: tensor<5xf32> {aten.parameter = "fc.bias"},
                  %arg20: tensor<8xf32> {aten.buffer = "bn1.running_mean"},
                  %arg21: tensor<8xf32> {aten.buffer = "bn1.running_var"},
                  %arg22: tensor<i64> {aten.buffer = "bn1.num_batches_tracked"},
                  %arg23: tensor<8xf32> {aten.buffer = "blocks.0.bn1.running_mean"},
                  %arg24: tensor<8xf32> {aten.buffer = "blocks.0.bn1.running_var"},
                  %arg25: tensor<i64> {aten.buffer = "blocks.0.bn1.num_batches_tracked"},
                  %arg26: tensor<8xf32> {aten.buffer = "blocks.0.bn2.running_mean"},
                  %arg27: tensor<8xf32> {aten.buffer = "blocks.0.bn2.running_var"},
                  %arg28: tensor<i64> {aten.buffer = "blocks.0.bn2.num_batches_tracked"},
                  %arg29: tensor<16xf32> {aten.buffer = "blocks.1.bn1.running_mean"},
                  %arg30: tensor<16xf32> {aten.buffer = "blocks.1.bn1.running_var"},
                  %arg31: tensor<i64> {aten.buffer = "blocks.1.bn1.num_batches_tracked"},
                  %arg32: tensor<16xf32> {aten.buffer = "blocks.1.bn2.running_mean"},
                  %arg33: tensor<16xf32> {aten.buffer = "blocks.1.bn2.running_var"},
                  %arg34: tensor<i64> {aten.buffer = "blocks.1.bn2.num_batches_tracked"},
                  %arg35: tensor<16xf32> {aten.buffer = "blocks.1.down.1.running_mean"},
                  %arg36: tensor<16xf32> {aten.buffer = "blocks.1.down.1.running_var"},
                  %arg37: tensor<i64> {aten.buffer = "blocks.1.down.1.num_batches_tracked"},
                  %arg38: tensor<2x3x16x16xf32> {aten.input = "x"},
                  %arg39: tensor<2xi64> {aten.input = "y"})
      -> (tensor<8xf32> {aten.updates = "bn1.running_mean"}, tensor<8xf32> {aten.updates = "bn1.running_var"}, tensor<i64> {aten.updates = "bn1.num_batches_tracked"}, tensor<8xf32> {aten.updates = "blocks.0.bn1.running_mean"}, tensor<8xf32> {aten.updates = "blocks.0.bn1.running_var"}, tensor<i64> {aten.updates = "blocks.0.bn1.num_batches_tracked"}, tensor<8xf32> {aten.updates = "blocks.0.bn2.running_mean"}, tensor<8xf32> {aten.updates = "blocks.0.bn2.running_var"}, tensor<i64> {aten.updates = "blocks.0.bn2.num_batches_tracked"}, tensor<16xf32> {aten.updates = "blocks.1.bn1.running_mean"}, tensor<16xf32> {aten.updates = "blocks.1.bn1.running_var"}, tensor<i64> {aten.updates = "blocks.1.bn1.num_batches_tracked"}, tensor<16xf32> {aten.updates = "blocks.1.bn2.running_mean"}, tensor<16xf32> {aten.updates = "blocks.1.bn2.running_var"}, tensor<i64> {aten.updates = "blocks.1.bn2.num_batches_tracked"}, tensor<16xf32> {aten.updates = "blocks.1.down.1.running_mean"}, tensor<16xf32> {aten.updates = "blocks.1.down.1.running_var"}, tensor<i64> {aten.updates = "blocks.1.down.1.num_batches_tracked"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg38, %arg0) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x16x16xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x16x16xf32> loc("conv1 (convolution)"(#f0))
    %add = "aten.add.Tensor"(%arg22) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("bn1 (add)"(#f0))
    %_native_batch_norm_legit_functional:5 = "aten._native_batch_norm_legit_functional"(%convolution, %arg1, %arg2, %arg20, %arg21) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x8x16x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x16x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) loc("bn1 (_native_batch_norm_legit_functional)"(#f0))
    %relu = "aten.relu"(%_native_batch_norm_legit_functional#0) : (tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32> loc("relu"(#f0))
    %max_pool2d_with_indices:2 = "aten.max_pool2d_with_indices"(%relu) {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x8x16x16xf32>) -> (tensor<2x8x8x8xf32>, tensor<2x8x8x8xi64>) loc("max_pool2d_with_indices"(#f0))
    %convolution_1 = "aten.convolution"(%max_pool2d_with_indices#0, %arg3) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x8x8xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x8x8xf32> loc("blocks.0.conv1 (convolution_1)"(#f1))
    %add_1 = "aten.add.Tensor"(%arg25) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("blocks.0.bn1 (add_1)"(#f1))
    %_native_batch_norm_legit_functional_1:5 = "aten._native_batch_norm_legit_functional"(%convolution_1, %arg4, %arg5, %arg23, %arg24) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) loc("blocks.0.bn1 (_native_batch_norm_legit_functional_1)"(#f1))
    %relu_1 = "aten.relu"(%_native_batch_norm_legit_functional_1#0) : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32> loc("blocks.0 (relu_1)"(#f1))
    %convolution_2 = "aten.convolution"(%relu_1, %arg6) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x8x8xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x8x8xf32> loc("blocks.0.conv2 (convolution_2)"(#f1))
    %add_2 = "aten.add.Tensor"(%arg28) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("blocks.0.bn2 (add_2)"(#f1))
    %_native_batch_norm_legit_functional_2:5 = "aten._native_batch_norm_legit_functional"(%convolution_2, %arg7, %arg8, %arg26, %arg27) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) loc("blocks.0.bn2 (_native_batch_norm_legit_functional_2)"(#f1))
    %add_3 = "aten.add.Tensor"(%_native_batch_norm_legit_functional_2#0, %max_pool2d_with_indices#0) : (tensor<2x8x8x8xf32>, tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32> loc("blocks.0 (add_3)"(#f2))
    %relu_2 = "aten.relu"(%add_3) : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32> loc("blocks.0 (relu_2)"(#f2))
    %convolution_3 = "aten.convolution"(%relu_2, %arg9) {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x8x8xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x4x4xf32> loc("blocks.1.conv1 (convolution_3)"(#f1))
    %add_4 = "aten.add.Tensor"(%arg31) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("blocks.1.bn1 (add_4)"(#f1))
    %_native_batch_norm_legit_functional_3:5 = "aten._native_batch_norm_legit_functional"(%convolution_3, %arg10, %arg11, %arg29, %arg30) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) loc("blocks.1.bn1 (_native_batch_norm_legit_functional_3)"(#f1))
    %relu_3 = "aten.relu"(%_native_batch_norm_legit_functional_3#0) : (tensor<2x16x4x4xf32>) -> tensor<2x16x4x4xf32> loc("blocks.1 (relu_3)"(#f1))
    %convolution_4 = "aten.convolution"(%relu_3, %arg12) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x4x4xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x4x4xf32> loc("blocks.1.conv2 (convolution_4)"(#f1))
    %add_5 = "aten.add.Tensor"(%arg34) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("blocks.1.bn2 (add_5)"(#f1))
    %_native_batch_norm_legit_functional_4:5 = "aten._native_batch_norm_legit_functional"(%convolution_4, %arg13, %arg14, %arg32, %arg33) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) loc("blocks.1.bn2 (_native_batch_norm_legit_functional_4)"(#f1))
    %convolution_5 = "aten.convolution"(%relu_2, %arg15) {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x8x8xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x4x4xf32> loc("blocks.1.down.0 (convolution_5)"(#f2))
    %add_6 = "aten.add.Tensor"(%arg37) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("blocks.1.down.1 (add_6)"(#f2))
    %_native_batch_norm_legit_functional_5:5 = "aten._native_batch_norm_legit_functional"(%convolution_5, %arg16, %arg17, %arg35, %arg36) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) loc("blocks.1.down.1 (_native_batch_norm_legit_functional_5)"(#f2))
    %add_7 = "aten.add.Tensor"(%_native_batch_norm_legit_functional_4#0, %_native_batch_norm_legit_functional_5#0) : (tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>) -> tensor<2x16x4x4xf32> loc("blocks.1 (add_7)"(#f2))
    %relu_4 = "aten.relu"(%add_7) : (tensor<2x16x4x4xf32>) -> tensor<2x16x4x4xf32> loc("blocks.1 (relu_4)"(#f2))
    %adaptive_avg_pool2d = "aten.adaptive_avg_pool2d"(%relu_4) {output_size = array<i64: 1, 1>} : (tensor<2x16x4x4xf32>) -> tensor<2x16x1x1xf32> loc("adaptive_avg_pool2d"(#f3))
    %view = "aten.view"(%adaptive_avg_pool2d) {size = array<i64: 2, 16>} : (tensor<2x16x1x1xf32>) -> tensor<2x16xf32> loc("view"(#f3))
    %linear = "aten.linear"(%view, %arg18, %arg19) : (tensor<2x16xf32>, tensor<5x16xf32>, tensor<5xf32>) -> tensor<2x5xf32> loc("fc (linear)"(#f3))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%linear, %arg39) : (tensor<2x5xf32>, tensor<2xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f3))
    return %_native_batch_norm_legit_functional#3, %_native_batch_norm_legit_functional#4, %add, %_native_batch_norm_legit_functional_1#3, %_native_batch_norm_legit_functional_1#4, %add_1, %_native_batch_norm_legit_functional_2#3, %_native_batch_norm_legit_functional_2#4, %add_2, %_native_batch_norm_legit_functional_3#3, %_native_batch_norm_legit_functional_3#4, %add_4, %_native_batch_norm_legit_functional_4#3, %_native_batch_norm_legit_functional_4#4, %add_5, %_native_batch_norm_legit_functional_5#3, %_native_batch_norm_legit_functional_5#4, %add_6, %cross_entropy_loss : tensor<8xf32>, tensor<8xf32>, tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<i64>, tensor<16xf32>, tensor<16xf32>, tensor<i64>, tensor<16xf32>, tensor<16xf32>, tensor<i64>, tensor<16xf32>, tensor<16xf32>, tensor<i64>, tensor<f32>
  }
}
