#f0 = loc("test/e2e/aten_models.py":224:0)
#f1 = loc("test/e2e/aten_models.py":225:0)
#f2 = loc("test/e2e/aten_models.py":226:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "batchnorm.safetensors"} {
  func.func @main(%arg0: tensor<40x16xf32> {aten.parameter = "embed.weight"},
                  %arg1: tensor<16xf32> {aten.parameter = "rows.weight"},
                  %arg2: tensor<16xf32> {aten.parameter = "rows.bias"},
                  %arg3: tensor<12xf32> {aten.parameter = "sequences.weight"},
                  %arg4: tensor<12xf32> {aten.parameter = "sequences.bias"},
                  %arg5: tensor<12xf32> {aten.parameter = "groups.weight"},
                  %arg6: tensor<12xf32> {aten.parameter = "groups.bias"},
                  %arg7: tensor<16x16xf32> {aten.parameter = "fc1.weight"},
                  %arg8: tensor<40x16xf32> {aten.parameter = "fc2.weight"},
                  %arg9: tensor<40xf32> {aten.parameter = "fc2.bias"},
                  %arg10: tensor<16xf32> {aten.buffer = "rows.running_mean"},
                  %arg11: tensor<16xf32> {aten.buffer = "rows.running_var"},
                  %arg12: tensor<i64> {aten.buffer = "rows.num_batches_tracked"},
                  %arg13: tensor<12xf32> {aten.buffer = "sequences.running_mean"},
                  %arg14: tensor<12xf32> {aten.buffer = "sequences.running_var"},
                  %arg15: tensor<i64> {aten.buffer = "sequences.num_batches_tracked"},
                  %arg16: tensor<2x12xi64> {aten.input = "x"},
                  %arg17: tensor<2x12xi64> {aten.input = "y"})
      -> (tensor<16xf32> {aten.updates = "rows.running_mean"}, tensor<16xf32> {aten.updates = "rows.running_var"}, tensor<i64> {aten.updates = "rows.num_batches_tracked"}, tensor<12xf32> {aten.updates = "sequences.running_mean"}, tensor<12xf32> {aten.updates = "sequences.running_var"}, tensor<i64> {aten.updates = "sequences.num_batches_tracked"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %embedding = "aten.embedding"(%arg0, %arg16) : (tensor<40x16xf32>, tensor<2x12xi64>) -> tensor<2x12x16xf32> loc("embed (embedding)"(#f0))
    %add = "aten.add.Tensor"(%arg15) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("sequences (add)"(#f0))
    %_native_batch_norm_legit_functional:5 = "aten._native_batch_norm_legit_functional"(%embedding, %arg3, %arg4, %arg13, %arg14) {training = true, momentum = 0.3 : f64, eps = 1.0e-05 : f64} : (tensor<2x12x16xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<2x12x16xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>) loc("sequences (_native_batch_norm_legit_functional)"(#f0))
    %native_group_norm:3 = "aten.native_group_norm"(%_native_batch_norm_legit_functional#0, %arg5, %arg6) {N = 2 : i64, C = 12 : i64, HxW = 16 : i64, group = 4 : i64, eps = 1.0e-05 : f64} : (tensor<2x12x16xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<2x12x16xf32>, tensor<2x4xf32>, tensor<2x4xf32>) loc("groups (native_group_norm)"(#f0))
    %view = "aten.view"(%native_group_norm#0) {size = array<i64: 24, 16>} : (tensor<2x12x16xf32>) -> tensor<24x16xf32> loc("view"(#f1))
    %linear = "aten.linear"(%view, %arg7) : (tensor<24x16xf32>, tensor<16x16xf32>) -> tensor<24x16xf32> loc("fc1 (linear)"(#f1))
    %hardswish = "aten.hardswish"(%linear) : (tensor<24x16xf32>) -> tensor<24x16xf32> loc("hardswish"(#f1))
    %add_1 = "aten.add.Tensor"(%arg12) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("rows (add_1)"(#f1))
    %_native_batch_norm_legit_functional_1:5 = "aten._native_batch_norm_legit_functional"(%hardswish, %arg1, %arg2, %arg10, %arg11) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<24x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<24x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) loc("rows (_native_batch_norm_legit_functional_1)"(#f1))
    %add_2 = "aten.add.Tensor"(%_native_batch_norm_legit_functional_1#0) {other = 1 : i64} : (tensor<24x16xf32>) -> tensor<24x16xf32> loc("add_2"(#f2))
    %add_3 = "aten.add.Tensor"(%add_1) {other = 1 : i64} : (tensor<i64>) -> tensor<i64> loc("rows (add_3)"(#f2))
    %_native_batch_norm_legit_functional_2:5 = "aten._native_batch_norm_legit_functional"(%add_2, %arg1, %arg2, %_native_batch_norm_legit_functional_1#3, %_native_batch_norm_legit_functional_1#4) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<24x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<24x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) loc("rows (_native_batch_norm_legit_functional_2)"(#f2))
    %leaky_relu = "aten.leaky_relu"(%_native_batch_norm_legit_functional_2#0) : (tensor<24x16xf32>) -> tensor<24x16xf32> loc("leaky_relu"(#f2))
    %linear_1 = "aten.linear"(%leaky_relu, %arg8, %arg9) : (tensor<24x16xf32>, tensor<40x16xf32>, tensor<40xf32>) -> tensor<24x40xf32> loc("fc2 (linear_1)"(#f2))
    %view_1 = "aten.view"(%arg17) {size = array<i64: 24>} : (tensor<2x12xi64>) -> tensor<24xi64> loc("view_1"(#f2))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%linear_1, %view_1) : (tensor<24x40xf32>, tensor<24xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f2))
    return %_native_batch_norm_legit_functional_2#3, %_native_batch_norm_legit_functional_2#4, %add_3, %_native_batch_norm_legit_functional#3, %_native_batch_norm_legit_functional#4, %add, %cross_entropy_loss : tensor<16xf32>, tensor<16xf32>, tensor<i64>, tensor<12xf32>, tensor<12xf32>, tensor<i64>, tensor<f32>
  }
}
