module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "batch_norm.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12xf32> {aten.parameter = "n.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "n.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg6: tensor<12xf32> {aten.parameter = "m.weight"},
                  %arg7: tensor<12xf32> {aten.parameter = "m.bias"},
                  %arg8: tensor<12x12xf32> {aten.parameter = "c.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "c.bias"},
                  %arg10: tensor<12xf32> {aten.buffer = "n.running_mean"},
                  %arg11: tensor<12xf32> {aten.buffer = "n.running_var"},
                  %arg12: tensor<i64> {aten.buffer = "n.num_batches_tracked"},
                  %arg13: tensor<12xf32> {aten.buffer = "m.running_mean"},
                  %arg14: tensor<12xf32> {aten.buffer = "m.running_var"},
                  %arg15: tensor<i64> {aten.buffer = "m.num_batches_tracked"},
                  %arg16: tensor<8x12xf32> {aten.input = "x"})
      -> (tensor<12xf32> {aten.updates = "n.running_mean"}, tensor<12xf32> {aten.updates = "n.running_var"}, tensor<i64> {aten.updates = "n.num_batches_tracked"}, tensor<12xf32> {aten.updates = "m.running_mean"}, tensor<12xf32> {aten.updates = "m.running_var"}, tensor<i64> {aten.updates = "m.num_batches_tracked"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg16, %arg0, %arg1) : (tensor<8x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<8x12xf32>
    %add = "aten.add.Tensor"(%arg12) {other = 1 : i64} : (tensor<i64>) -> tensor<i64>
    %_native_batch_norm_legit_functional:5 = "aten._native_batch_norm_legit_functional"(%linear, %arg2, %arg3, %arg10, %arg11) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<8x12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<8x12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>)
    %relu = "aten.relu"(%_native_batch_norm_legit_functional#0) : (tensor<8x12xf32>) -> tensor<8x12xf32>
    %linear_1 = "aten.linear"(%relu, %arg4, %arg5) : (tensor<8x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<8x12xf32>
    %add_1 = "aten.add.Tensor"(%arg15) {other = 1 : i64} : (tensor<i64>) -> tensor<i64>
    %_native_batch_norm_legit_functional_1:5 = "aten._native_batch_norm_legit_functional"(%linear_1, %arg6, %arg7, %arg13, %arg14) {training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64} : (tensor<8x12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<8x12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>)
    %relu_1 = "aten.relu"(%_native_batch_norm_legit_functional_1#0) : (tensor<8x12xf32>) -> tensor<8x12xf32>
    %linear_2 = "aten.linear"(%relu_1, %arg8, %arg9) : (tensor<8x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<8x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_2) {exponent = 2 : i64} : (tensor<8x12xf32>) -> tensor<8x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<8x12xf32>) -> tensor<f32>
    return %_native_batch_norm_legit_functional#3, %_native_batch_norm_legit_functional#4, %add, %_native_batch_norm_legit_functional_1#3, %_native_batch_norm_legit_functional_1#4, %add_1, %mean : tensor<12xf32>, tensor<12xf32>, tensor<i64>, tensor<12xf32>, tensor<12xf32>, tensor<i64>, tensor<f32>
  }
}
