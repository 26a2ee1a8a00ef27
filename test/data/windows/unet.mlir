#f0 = loc("test/e2e/window_models.py":90:0)
#f1 = loc("test/e2e/window_models.py":91:0)
#f2 = loc("test/e2e/window_models.py":92:0)
#f3 = loc("test/e2e/window_models.py":93:0)
#f4 = loc("test/e2e/window_models.py":94:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "unet.safetensors"} {
  func.func @main(%arg0: tensor<6x3x3x3xf32> {aten.parameter = "down.0.0.weight"},
                  %arg1: tensor<6xf32> {aten.parameter = "down.0.1.weight"},
                  %arg2: tensor<6xf32> {aten.parameter = "down.0.1.bias"},
                  %arg3: tensor<6x6x3x3xf32> {aten.parameter = "down.0.3.weight"},
                  %arg4: tensor<6xf32> {aten.parameter = "down.0.4.weight"},
                  %arg5: tensor<6xf32> {aten.parameter = "down.0.4.bias"},
                  %arg6: tensor<8x6x3x3xf32> {aten.parameter = "down.1.0.weight"},
                  %arg7: tensor<8xf32> {aten.parameter = "down.1.1.weight"},
                  %arg8: tensor<8xf32> {aten.parameter = "down.1.1.bias"},
                  %arg9: tensor<8x8x3x3xf32> {aten.parameter = "down.1.3.weight"},
                  %arg10: tensor<8xf32> {aten.parameter = "down.1.4.weight"},
                  %arg11: tensor<8xf32> {aten.parameter = "down.1.4.bias"},
                  %arg12: tensor<10x8x3x3xf32> {aten.parameter = "down.2.0.weight"},
                  %arg13: tensor<10xf32> {aten.parameter = "down.2.1.weight"},
                  %arg14: tensor<10xf32> {aten.parameter = "down.2.1.bias"},
                  %arg15: tensor<10x10x3x3xf32> {aten.parameter = "down.2.3.weight"},
                  %arg16: tensor<10xf32> {aten.parameter = "down.2.4.weight"},
                  %arg17: tensor<10xf32> {aten.parameter = "down.2.4.bias"},
                  %arg18: tensor<10x8x2x2xf32> {aten.parameter = "up1.weight"},
                  %arg19: tensor<8xf32> {aten.parameter = "up1.bias"},
                  %arg20: tensor<6x8x1x1xf32> {aten.parameter = "up2.1.weight"},
                  %arg21: tensor<6xf32> {aten.parameter = "up2.1.bias"},
                  %arg22: tensor<8x16x3x3xf32> {aten.parameter = "end1.0.weight"},
                  %arg23: tensor<8xf32> {aten.parameter = "end1.1.weight"},
                  %arg24: tensor<8xf32> {aten.parameter = "end1.1.bias"},
                  %arg25: tensor<8x8x3x3xf32> {aten.parameter = "end1.3.weight"},
                  %arg26: tensor<8xf32> {aten.parameter = "end1.4.weight"},
                  %arg27: tensor<8xf32> {aten.parameter = "end1.4.bias"},
                  %arg28: tensor<6x12x3x3xf32> {aten.parameter = "end2.0.weight"},
                  %arg29: tensor<6xf32> {aten.parameter = "end2.1.weight"},
                  %arg30: tensor<6xf32> {aten.parameter = "end2.1.bias"},
                  %arg31: tensor<6x6x3x3xf32> {aten.parameter = "end2.3.weight"},
                  %arg32: tensor<6xf32> {aten.parameter = "end2.4.weight"},
                  %arg33: tensor<6xf32> {aten.parameter = "end2.4.bias"},
                  %arg34: tensor<5x6x1x1xf32> {aten.parameter = "out.weight"},
                  %arg35: tensor<5xf32> {aten.parameter = "out.bias"},
                  %arg36: tensor<6xf32> {aten.buffer = "down.0.1.running_mean"},
                  %arg37: tensor<6xf32> {aten.buffer = "down.0.1.running_var"},
                  %arg38: tensor<i64> {aten.buffer = "down.0.1.num_batches_tracked"},
                  %arg39: tensor<6xf32> {aten.buffer = "down.0.4.running_mean"},
                  %arg40: tensor<6xf32> {aten.buffer = "down.0.4.running_var"},
                  %arg41: tensor<i64> {aten.buffer = "down.0.4.num_batches_tracked"},
                  %arg42: tensor<8xf32> {aten.buffer = "down.1.1.running_mean"},
                  %arg43: tensor<8xf32> {aten.buffer = "down.1.1.running_var"},
                  %arg44: tensor<i64> {aten.buffer = "down.1.1.num_batches_tracked"},
                  %arg45: tensor<8xf32> {aten.buffer = "down.1.4.running_mean"},
                  %arg46: tensor<8xf32> {aten.buffer = "down.1.4.running_var"},
                  %arg47: tensor<i64> {aten.buffer = "down.1.4.num_batches_tracked"},
                  %arg48: tensor<10xf32> {aten.buffer = "down.2.1.running_mean"},
                  %arg49: tensor<10xf32> {aten.buffer = "down.2.1.running_var"},
                  %arg50: tensor<i64> {aten.buffer = "down.2.1.num_batches_tracked"},
                  %arg51: tensor<10xf32> {aten.buffer = "down.2.4.running_mean"},
                  %arg52: tensor<10xf32> {aten.buffer = "down.2.4.running_var"},
                  %arg53: tensor<i64> {aten.buffer = "down.2.4.num_batches_tracked"},
                  %arg54: tensor<8xf32> {aten.buffer = "end1.1.running_mean"},
                  %arg55: tensor<8xf32> {aten.buffer = "end1.1.running_var"},
                  %arg56: tensor<i64> {aten.buffer = "end1.1.num_batches_tracked"},
                  %arg57: tensor<8xf32> {aten.buffer = "end1.4.running_mean"},
                  %arg58: tensor<8xf32> {aten.buffer = "end1.4.running_var"},
                  %arg59: tensor<i64> {aten.buffer = "end1.4.num_batches_tracked"},
                  %arg60: tensor<6xf32> {aten.buffer = "end2.1.running_mean"},
                  %arg61: tensor<6xf32> {aten.buffer = "end2.1.running_var"},
                  %arg62: tensor<i64> {aten.buffer = "end2.1.num_batches_tracked"},
                  %arg63: tensor<6xf32> {aten.buffer = "end2.4.running_mean"},
                  %arg64: tensor<6xf32> {aten.buffer = "end2.4.running_var"},
                  %arg65: tensor<i64> {aten.buffer = "end2.4.num_batches_tracked"},
                  %arg66: tensor<2x3x16x16xf32> {aten.input = "x"},
                  %arg67: tensor<2x16x16xi64> {aten.input = "y"})
      -> (tensor<6xf32> {aten.updates = "down.0.1.running_mean"}, tensor<6xf32> {aten.updates = "down.0.1.running_var"}, tensor<i64> {aten.updates = "down.0.1.num_batches_tracked"}, tensor<6xf32> {aten.updates = "down.0.4.running_mean"}, tensor<6xf32> {aten.updates = "down.0.4.running_var"}, tensor<i64> {aten.updates = "down.0.4.num_batches_tracked"}, tensor<8xf32> {aten.updates = "down.1.1.running_mean"}, tensor<8xf32> {aten.updates = "down.1.1.running_var"}, tensor<i64> {aten.updates = "down.1.1.num_batches_tracked"}, tensor<8xf32> {aten.updates = "down.1.4.running_mean"}, tensor<8xf32> {aten.updates = "down.1.4.running_var"}, tensor<i64> {aten.updates = "down.1.4.num_batches_tracked"}, tensor<10xf32> {aten.updates = "down.2.1.running_mean"}, tensor<10xf32> {aten.updates = "down.2.1.running_var"}, tensor<i64> {aten.updates = "down.2.1.num_batches_tracked"}, tensor<10xf32> {aten.updates = "down.2.4.running_mean"}, tensor<10xf32> {aten.updates = "down.2.4.running_var"}, tensor<i64> {aten.updates = "down.2.4.num_batches_tracked"}, tensor<8xf32> {aten.updates = "end1.1.running_mean"}, tensor<8xf32> {aten.updates = "end1.1.running_var"}, tensor<i64> {aten.updates = "end1.1.num_batches_tracked"}, tensor<8xf32> {aten.updates = "end1.4.running_mean"}, tensor<8xf32> {aten.updates = "end1.4.running_var"}, tensor<i64> {aten.updates = "end1.4.num_batches_tracked"}, tensor<6xf32> {aten.updates = "end2.1.running_mean"}, tensor<6xf32> {aten.updates = "end2.1.running_var"}, tensor<i64> {aten.updates = "end2.1.num_batches_tracked"}, tensor<6xf32> {aten.updates = "end2.4.running_mean"}, tensor<6xf32> {aten.updates = "end2.4.running_var"}, tensor<i64> {aten.updates = "end2.4.num_batches_tracked"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg66, %arg0) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x16x16xf32>, tensor<6x3x3x3xf32>) -> tensor<2x6x16x16xf32> loc("down.0.0 (convolution)"(#f0))
    %add = "aten.add.Tensor"(%arg38) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("down.0.1 (add)"(#f0))
    %_native_batch_norm_legit_functional:5 = "aten._native_batch_norm_legit_functional"(%convolution, %arg1, %arg2, %arg36, %arg37) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x6x16x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x16x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) loc("down.0.1 (_native_batch_norm_legit_functional)"(#f0))
    %relu = "aten.relu"(%_native_batch_norm_legit_functional#0) : (tensor<2x6x16x16xf32>) -> tensor<2x6x16x16xf32> loc("down.0.2 (relu)"(#f0))
    %convolution_1 = "aten.convolution"(%relu, %arg3) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x6x16x16xf32>, tensor<6x6x3x3xf32>) -> tensor<2x6x16x16xf32> loc("down.0.3 (convolution_1)"(#f0))
    %add_1 = "aten.add.Tensor"(%arg41) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("down.0.4 (add_1)"(#f0))
    %_native_batch_norm_legit_functional_1:5 = "aten._native_batch_norm_legit_functional"(%convolution_1, %arg4, %arg5, %arg39, %arg40) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x6x16x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x16x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) loc("down.0.4 (_native_batch_norm_legit_functional_1)"(#f0))
    %relu_1 = "aten.relu"(%_native_batch_norm_legit_functional_1#0) : (tensor<2x6x16x16xf32>) -> tensor<2x6x16x16xf32> loc("down.0.5 (relu_1)"(#f0))
    %max_pool2d_with_indices:2 = "aten.max_pool2d_with_indices"(%relu_1) {kernel_size = array<i64: 2, 2>} : (tensor<2x6x16x16xf32>) -> (tensor<2x6x8x8xf32>, tensor<2x6x8x8xi64>) loc("max_pool2d_with_indices"(#f1))
    %convolution_2 = "aten.convolution"(%max_pool2d_with_indices#0, %arg6) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x6x8x8xf32>, tensor<8x6x3x3xf32>) -> tensor<2x8x8x8xf32> loc("down.1.0 (convolution_2)"(#f1))
    %add_2 = "aten.add.Tensor"(%arg44) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("down.1.1 (add_2)"(#f1))
    %_native_batch_norm_legit_functional_2:5 = "aten._native_batch_norm_legit_functional"(%convolution_2, %arg7, %arg8, %arg42, %arg43) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) loc("down.1.1 (_native_batch_norm_legit_functional_2)"(#f1))
    %relu_2 = "aten.relu"(%_native_batch_norm_legit_functional_2#0) : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32> loc("down.1.2 (relu_2)"(#f1))
    %convolution_3 = "aten.convolution"(%relu_2, %arg9) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x8x8xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x8x8xf32> loc("down.1.3 (convolution_3)"(#f1))
    %add_3 = "aten.add.Tensor"(%arg47) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("down.1.4 (add_3)"(#f1))
    %_native_batch_norm_legit_functional_3:5 = "aten._native_batch_norm_legit_functional"(%convolution_3, %arg10, %arg11, %arg45, %arg46) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) loc("down.1.4 (_native_batch_norm_legit_functional_3)"(#f1))
    %relu_3 = "aten.relu"(%_native_batch_norm_legit_functional_3#0) : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32> loc("down.1.5 (relu_3)"(#f1))
    %max_pool2d_with_indices_1:2 = "aten.max_pool2d_with_indices"(%relu_3) {kernel_size = array<i64: 2, 2>} : (tensor<2x8x8x8xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x8x4x4xi64>) loc("max_pool2d_with_indices_1"(#f2))
    %convolution_4 = "aten.convolution"(%max_pool2d_with_indices_1#0, %arg12) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x4x4xf32>, tensor<10x8x3x3xf32>) -> tensor<2x10x4x4xf32> loc("down.2.0 (convolution_4)"(#f2))
    %add_4 = "aten.add.Tensor"(%arg50) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("down.2.1 (add_4)"(#f2))
    %_native_batch_norm_legit_functional_4:5 = "aten._native_batch_norm_legit_functional"(%convolution_4, %arg13, %arg14, %arg48, %arg49) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x10x4x4xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> (tensor<2x10x4x4xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) loc("down.2.1 (_native_batch_norm_legit_functional_4)"(#f2))
    %relu_4 = "aten.relu"(%_native_batch_norm_legit_functional_4#0) : (tensor<2x10x4x4xf32>) -> tensor<2x10x4x4xf32> loc("down.2.2 (relu_4)"(#f2))
    %convolution_5 = "aten.convolution"(%relu_4, %arg15) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x10x4x4xf32>, tensor<10x10x3x3xf32>) -> tensor<2x10x4x4xf32> loc("down.2.3 (convolution_5)"(#f2))
    %add_5 = "aten.add.Tensor"(%arg53) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("down.2.4 (add_5)"(#f2))
    %_native_batch_norm_legit_functional_5:5 = "aten._native_batch_norm_legit_functional"(%convolution_5, %arg16, %arg17, %arg51, %arg52) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x10x4x4xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> (tensor<2x10x4x4xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) loc("down.2.4 (_native_batch_norm_legit_functional_5)"(#f2))
    %relu_5 = "aten.relu"(%_native_batch_norm_legit_functional_5#0) : (tensor<2x10x4x4xf32>) -> tensor<2x10x4x4xf32> loc("down.2.5 (relu_5)"(#f2))
    %convolution_6 = "aten.convolution"(%relu_5, %arg18, %arg19) {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, transposed = true, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x10x4x4xf32>, tensor<10x8x2x2xf32>, tensor<8xf32>) -> tensor<2x8x8x8xf32> loc("up1 (convolution_6)"(#f2))
    %cat = "aten.cat"(%convolution_6, %relu_3) {dim = 1 : i64} : (tensor<2x8x8x8xf32>, tensor<2x8x8x8xf32>) -> tensor<2x16x8x8xf32> loc("cat"(#f3))
    %convolution_7 = "aten.convolution"(%cat, %arg22) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x8x8xf32>, tensor<8x16x3x3xf32>) -> tensor<2x8x8x8xf32> loc("end1.0 (convolution_7)"(#f3))
    %add_6 = "aten.add.Tensor"(%arg56) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("end1.1 (add_6)"(#f3))
    %_native_batch_norm_legit_functional_6:5 = "aten._native_batch_norm_legit_functional"(%convolution_7, %arg23, %arg24, %arg54, %arg55) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) loc("end1.1 (_native_batch_norm_legit_functional_6)"(#f3))
    %relu_6 = "aten.relu"(%_native_batch_norm_legit_functional_6#0) : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32> loc("end1.2 (relu_6)"(#f3))
    %convolution_8 = "aten.convolution"(%relu_6, %arg25) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x8x8xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x8x8xf32> loc("end1.3 (convolution_8)"(#f3))
    %add_7 = "aten.add.Tensor"(%arg59) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("end1.4 (add_7)"(#f3))
    %_native_batch_norm_legit_functional_7:5 = "aten._native_batch_norm_legit_functional"(%convolution_8, %arg26, %arg27, %arg57, %arg58) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) loc("end1.4 (_native_batch_norm_legit_functional_7)"(#f3))
    %relu_7 = "aten.relu"(%_native_batch_norm_legit_functional_7#0) : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32> loc("end1.5 (relu_7)"(#f3))
    %upsample_bilinear2d = "aten.upsample_bilinear2d.vec"(%relu_7) {align_corners = true, scale_factors = [2.0 : f64, 2.0 : f64]} : (tensor<2x8x8x8xf32>) -> tensor<2x8x16x16xf32> loc("up2.0 (upsample_bilinear2d)"(#f3))
    %convolution_9 = "aten.convolution"(%upsample_bilinear2d, %arg20, %arg21) {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x16x16xf32>, tensor<6x8x1x1xf32>, tensor<6xf32>) -> tensor<2x6x16x16xf32> loc("up2.1 (convolution_9)"(#f3))
    %cat_1 = "aten.cat"(%convolution_9, %relu_1) {dim = 1 : i64} : (tensor<2x6x16x16xf32>, tensor<2x6x16x16xf32>) -> tensor<2x12x16x16xf32> loc("cat_1"(#f4))
    %convolution_10 = "aten.convolution"(%cat_1, %arg28) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x12x16x16xf32>, tensor<6x12x3x3xf32>) -> tensor<2x6x16x16xf32> loc("end2.0 (convolution_10)"(#f4))
    %add_8 = "aten.add.Tensor"(%arg62) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("end2.1 (add_8)"(#f4))
    %_native_batch_norm_legit_functional_8:5 = "aten._native_batch_norm_legit_functional"(%convolution_10, %arg29, %arg30, %arg60, %arg61) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x6x16x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x16x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) loc("end2.1 (_native_batch_norm_legit_functional_8)"(#f4))
    %relu_8 = "aten.relu"(%_native_batch_norm_legit_functional_8#0) : (tensor<2x6x16x16xf32>) -> tensor<2x6x16x16xf32> loc("end2.2 (relu_8)"(#f4))
    %convolution_11 = "aten.convolution"(%relu_8, %arg31) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x6x16x16xf32>, tensor<6x6x3x3xf32>) -> tensor<2x6x16x16xf32> loc("end2.3 (convolution_11)"(#f4))
    %add_9 = "aten.add.Tensor"(%arg65) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("end2.4 (add_9)"(#f4))
    %_native_batch_norm_legit_functional_9:5 = "aten._native_batch_norm_legit_functional"(%convolution_11, %arg32, %arg33, %arg63, %arg64) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<2x6x16x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x16x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) loc("end2.4 (_native_batch_norm_legit_functional_9)"(#f4))
    %relu_9 = "aten.relu"(%_native_batch_norm_legit_functional_9#0) : (tensor<2x6x16x16xf32>) -> tensor<2x6x16x16xf32> loc("end2.5 (relu_9)"(#f4))
    %convolution_12 = "aten.convolution"(%relu_9, %arg34, %arg35) {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x6x16x16xf32>, tensor<5x6x1x1xf32>, tensor<5xf32>) -> tensor<2x5x16x16xf32> loc("out (convolution_12)"(#f4))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%convolution_12, %arg67) : (tensor<2x5x16x16xf32>, tensor<2x16x16xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f4))
    return %_native_batch_norm_legit_functional#3, %_native_batch_norm_legit_functional#4, %add, %_native_batch_norm_legit_functional_1#3, %_native_batch_norm_legit_functional_1#4, %add_1, %_native_batch_norm_legit_functional_2#3, %_native_batch_norm_legit_functional_2#4, %add_2, %_native_batch_norm_legit_functional_3#3, %_native_batch_norm_legit_functional_3#4, %add_3, %_native_batch_norm_legit_functional_4#3, %_native_batch_norm_legit_functional_4#4, %add_4, %_native_batch_norm_legit_functional_5#3, %_native_batch_norm_legit_functional_5#4, %add_5, %_native_batch_norm_legit_functional_6#3, %_native_batch_norm_legit_functional_6#4, %add_6, %_native_batch_norm_legit_functional_7#3, %_native_batch_norm_legit_functional_7#4, %add_7, %_native_batch_norm_legit_functional_8#3, %_native_batch_norm_legit_functional_8#4, %add_8, %_native_batch_norm_legit_functional_9#3, %_native_batch_norm_legit_functional_9#4, %add_9, %cross_entropy_loss : tensor<6xf32>, tensor<6xf32>, tensor<i64>, tensor<6xf32>, tensor<6xf32>, tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<i64>, tensor<10xf32>, tensor<10xf32>, tensor<i64>, tensor<10xf32>, tensor<10xf32>, tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<i64>, tensor<6xf32>, tensor<6xf32>, tensor<i64>, tensor<6xf32>, tensor<6xf32>, tensor<i64>, tensor<f32>
  }
}
