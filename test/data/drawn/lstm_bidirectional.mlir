module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "lstm_bidirectional.safetensors"} {
  func.func @main(%arg0: tensor<24x6xf32> {aten.parameter = "r.weight_ih_l0"},
                  %arg1: tensor<24x6xf32> {aten.parameter = "r.weight_hh_l0"},
                  %arg2: tensor<24xf32> {aten.parameter = "r.bias_ih_l0"},
                  %arg3: tensor<24xf32> {aten.parameter = "r.bias_hh_l0"},
                  %arg4: tensor<24x6xf32> {aten.parameter = "r.weight_ih_l0_reverse"},
                  %arg5: tensor<24x6xf32> {aten.parameter = "r.weight_hh_l0_reverse"},
                  %arg6: tensor<24xf32> {aten.parameter = "r.bias_ih_l0_reverse"},
                  %arg7: tensor<24xf32> {aten.parameter = "r.bias_hh_l0_reverse"},
                  %arg8: tensor<24x12xf32> {aten.parameter = "r.weight_ih_l1"},
                  %arg9: tensor<24x6xf32> {aten.parameter = "r.weight_hh_l1"},
                  %arg10: tensor<24xf32> {aten.parameter = "r.bias_ih_l1"},
                  %arg11: tensor<24xf32> {aten.parameter = "r.bias_hh_l1"},
                  %arg12: tensor<24x12xf32> {aten.parameter = "r.weight_ih_l1_reverse"},
                  %arg13: tensor<24x6xf32> {aten.parameter = "r.weight_hh_l1_reverse"},
                  %arg14: tensor<24xf32> {aten.parameter = "r.bias_ih_l1_reverse"},
                  %arg15: tensor<24xf32> {aten.parameter = "r.bias_hh_l1_reverse"},
                  %arg16: tensor<12x12xf32> {aten.parameter = "h.weight"},
                  %arg17: tensor<12xf32> {aten.parameter = "h.bias"},
                  %arg18: tensor<3x2x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %full = "aten.full"() {size = array<i64: 4, 2, 6>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<4x2x6xf32>
    %full_1 = "aten.full"() {size = array<i64: 4, 2, 6>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<4x2x6xf32>
    %none = "aten.none"() : () -> none
    %slice_1 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<4x2x6xf32>) -> tensor<1x2x6xf32>
    %slice_2 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<4x2x6xf32>) -> tensor<1x2x6xf32>
    %slice_3 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<4x2x6xf32>) -> tensor<1x2x6xf32>
    %slice_4 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 3 : i64, end = 4 : i64} : (tensor<4x2x6xf32>) -> tensor<1x2x6xf32>
    %squeeze = "aten.squeeze.dims"(%slice_1) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %squeeze_1 = "aten.squeeze.dims"(%slice_2) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %squeeze_2 = "aten.squeeze.dims"(%slice_3) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %squeeze_3 = "aten.squeeze.dims"(%slice_4) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %slice_5 = "aten.slice.Tensor"(%full_1) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<4x2x6xf32>) -> tensor<1x2x6xf32>
    %slice_6 = "aten.slice.Tensor"(%full_1) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<4x2x6xf32>) -> tensor<1x2x6xf32>
    %slice_7 = "aten.slice.Tensor"(%full_1) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<4x2x6xf32>) -> tensor<1x2x6xf32>
    %slice_8 = "aten.slice.Tensor"(%full_1) {dim = 0 : i64, start = 3 : i64, end = 4 : i64} : (tensor<4x2x6xf32>) -> tensor<1x2x6xf32>
    %squeeze_4 = "aten.squeeze.dims"(%slice_5) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %squeeze_5 = "aten.squeeze.dims"(%slice_6) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %squeeze_6 = "aten.squeeze.dims"(%slice_7) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %squeeze_7 = "aten.squeeze.dims"(%slice_8) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %unsqueeze = "aten.unsqueeze"(%squeeze) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %unsqueeze_1 = "aten.unsqueeze"(%squeeze_4) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %linear = "aten.linear"(%arg18, %arg0, %arg2) : (tensor<3x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<3x2x24xf32>
    %slice_9 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %slice_10 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %slice_11 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %squeeze_8 = "aten.squeeze.dims"(%slice_9) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %squeeze_9 = "aten.squeeze.dims"(%slice_10) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %squeeze_10 = "aten.squeeze.dims"(%slice_11) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %linear_1 = "aten.linear"(%unsqueeze, %arg1, %arg3) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add = "aten.add.Tensor"(%linear_1, %squeeze_8) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes:4 = "aten.split_with_sizes"(%add) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid = "aten.sigmoid"(%split_with_sizes#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_1 = "aten.sigmoid"(%split_with_sizes#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh = "aten.tanh"(%split_with_sizes#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_2 = "aten.sigmoid"(%split_with_sizes#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul = "aten.mul.Tensor"(%sigmoid_1, %unsqueeze_1) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_1 = "aten.mul.Tensor"(%sigmoid, %tanh) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_1 = "aten.add.Tensor"(%mul, %mul_1) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_1 = "aten.tanh"(%add_1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_2 = "aten.mul.Tensor"(%sigmoid_2, %tanh_1) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %linear_2 = "aten.linear"(%mul_2, %arg1, %arg3) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_2 = "aten.add.Tensor"(%linear_2, %squeeze_9) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_1:4 = "aten.split_with_sizes"(%add_2) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_3 = "aten.sigmoid"(%split_with_sizes_1#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_4 = "aten.sigmoid"(%split_with_sizes_1#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_2 = "aten.tanh"(%split_with_sizes_1#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_5 = "aten.sigmoid"(%split_with_sizes_1#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_3 = "aten.mul.Tensor"(%sigmoid_4, %add_1) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_4 = "aten.mul.Tensor"(%sigmoid_3, %tanh_2) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_3 = "aten.add.Tensor"(%mul_3, %mul_4) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_3 = "aten.tanh"(%add_3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_5 = "aten.mul.Tensor"(%sigmoid_5, %tanh_3) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %linear_3 = "aten.linear"(%mul_5, %arg1, %arg3) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_4 = "aten.add.Tensor"(%linear_3, %squeeze_10) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_2:4 = "aten.split_with_sizes"(%add_4) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_6 = "aten.sigmoid"(%split_with_sizes_2#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_7 = "aten.sigmoid"(%split_with_sizes_2#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_4 = "aten.tanh"(%split_with_sizes_2#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_8 = "aten.sigmoid"(%split_with_sizes_2#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_6 = "aten.mul.Tensor"(%sigmoid_7, %add_3) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_7 = "aten.mul.Tensor"(%sigmoid_6, %tanh_4) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_5 = "aten.add.Tensor"(%mul_6, %mul_7) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_5 = "aten.tanh"(%add_5) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_8 = "aten.mul.Tensor"(%sigmoid_8, %tanh_5) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %cat = "aten.cat"(%mul_2, %mul_5, %mul_8) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<3x2x6xf32>
    %unsqueeze_2 = "aten.unsqueeze"(%squeeze_1) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %unsqueeze_3 = "aten.unsqueeze"(%squeeze_5) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %linear_4 = "aten.linear"(%arg18, %arg4, %arg6) : (tensor<3x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<3x2x24xf32>
    %flip = "aten.flip"(%linear_4) {dims = array<i64: 0>} : (tensor<3x2x24xf32>) -> tensor<3x2x24xf32>
    %slice_12 = "aten.slice.Tensor"(%flip) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %slice_13 = "aten.slice.Tensor"(%flip) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %slice_14 = "aten.slice.Tensor"(%flip) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %squeeze_13 = "aten.squeeze.dims"(%slice_12) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %squeeze_14 = "aten.squeeze.dims"(%slice_13) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %squeeze_15 = "aten.squeeze.dims"(%slice_14) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %linear_5 = "aten.linear"(%unsqueeze_2, %arg5, %arg7) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_6 = "aten.add.Tensor"(%linear_5, %squeeze_13) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_3:4 = "aten.split_with_sizes"(%add_6) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_9 = "aten.sigmoid"(%split_with_sizes_3#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_10 = "aten.sigmoid"(%split_with_sizes_3#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_6 = "aten.tanh"(%split_with_sizes_3#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_11 = "aten.sigmoid"(%split_with_sizes_3#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_9 = "aten.mul.Tensor"(%sigmoid_10, %unsqueeze_3) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_10 = "aten.mul.Tensor"(%sigmoid_9, %tanh_6) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_7 = "aten.add.Tensor"(%mul_9, %mul_10) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_7 = "aten.tanh"(%add_7) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_11 = "aten.mul.Tensor"(%sigmoid_11, %tanh_7) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %linear_6 = "aten.linear"(%mul_11, %arg5, %arg7) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_8 = "aten.add.Tensor"(%linear_6, %squeeze_14) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_4:4 = "aten.split_with_sizes"(%add_8) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_12 = "aten.sigmoid"(%split_with_sizes_4#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_13 = "aten.sigmoid"(%split_with_sizes_4#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_8 = "aten.tanh"(%split_with_sizes_4#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_14 = "aten.sigmoid"(%split_with_sizes_4#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_12 = "aten.mul.Tensor"(%sigmoid_13, %add_7) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_13 = "aten.mul.Tensor"(%sigmoid_12, %tanh_8) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_9 = "aten.add.Tensor"(%mul_12, %mul_13) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_9 = "aten.tanh"(%add_9) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_14 = "aten.mul.Tensor"(%sigmoid_14, %tanh_9) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %linear_7 = "aten.linear"(%mul_14, %arg5, %arg7) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_10 = "aten.add.Tensor"(%linear_7, %squeeze_15) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_5:4 = "aten.split_with_sizes"(%add_10) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_15 = "aten.sigmoid"(%split_with_sizes_5#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_16 = "aten.sigmoid"(%split_with_sizes_5#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_10 = "aten.tanh"(%split_with_sizes_5#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_17 = "aten.sigmoid"(%split_with_sizes_5#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_15 = "aten.mul.Tensor"(%sigmoid_16, %add_9) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_16 = "aten.mul.Tensor"(%sigmoid_15, %tanh_10) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_11 = "aten.add.Tensor"(%mul_15, %mul_16) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_11 = "aten.tanh"(%add_11) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_17 = "aten.mul.Tensor"(%sigmoid_17, %tanh_11) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %cat_1 = "aten.cat"(%mul_17, %mul_14, %mul_11) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<3x2x6xf32>
    %cat_2 = "aten.cat"(%cat, %cat_1) {dim = 2 : i64} : (tensor<3x2x6xf32>, tensor<3x2x6xf32>) -> tensor<3x2x12xf32>
    %unsqueeze_4 = "aten.unsqueeze"(%squeeze_2) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %unsqueeze_5 = "aten.unsqueeze"(%squeeze_6) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %linear_8 = "aten.linear"(%cat_2, %arg8, %arg10) : (tensor<3x2x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<3x2x24xf32>
    %slice_15 = "aten.slice.Tensor"(%linear_8) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %slice_16 = "aten.slice.Tensor"(%linear_8) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %slice_17 = "aten.slice.Tensor"(%linear_8) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %squeeze_18 = "aten.squeeze.dims"(%slice_15) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %squeeze_19 = "aten.squeeze.dims"(%slice_16) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %squeeze_20 = "aten.squeeze.dims"(%slice_17) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %linear_9 = "aten.linear"(%unsqueeze_4, %arg9, %arg11) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_12 = "aten.add.Tensor"(%linear_9, %squeeze_18) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_6:4 = "aten.split_with_sizes"(%add_12) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_18 = "aten.sigmoid"(%split_with_sizes_6#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_19 = "aten.sigmoid"(%split_with_sizes_6#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_12 = "aten.tanh"(%split_with_sizes_6#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_20 = "aten.sigmoid"(%split_with_sizes_6#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_18 = "aten.mul.Tensor"(%sigmoid_19, %unsqueeze_5) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_19 = "aten.mul.Tensor"(%sigmoid_18, %tanh_12) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_13 = "aten.add.Tensor"(%mul_18, %mul_19) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_13 = "aten.tanh"(%add_13) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_20 = "aten.mul.Tensor"(%sigmoid_20, %tanh_13) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %linear_10 = "aten.linear"(%mul_20, %arg9, %arg11) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_14 = "aten.add.Tensor"(%linear_10, %squeeze_19) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_7:4 = "aten.split_with_sizes"(%add_14) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_21 = "aten.sigmoid"(%split_with_sizes_7#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_22 = "aten.sigmoid"(%split_with_sizes_7#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_14 = "aten.tanh"(%split_with_sizes_7#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_23 = "aten.sigmoid"(%split_with_sizes_7#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_21 = "aten.mul.Tensor"(%sigmoid_22, %add_13) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_22 = "aten.mul.Tensor"(%sigmoid_21, %tanh_14) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_15 = "aten.add.Tensor"(%mul_21, %mul_22) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_15 = "aten.tanh"(%add_15) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_23 = "aten.mul.Tensor"(%sigmoid_23, %tanh_15) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %linear_11 = "aten.linear"(%mul_23, %arg9, %arg11) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_16 = "aten.add.Tensor"(%linear_11, %squeeze_20) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_8:4 = "aten.split_with_sizes"(%add_16) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_24 = "aten.sigmoid"(%split_with_sizes_8#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_25 = "aten.sigmoid"(%split_with_sizes_8#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_16 = "aten.tanh"(%split_with_sizes_8#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_26 = "aten.sigmoid"(%split_with_sizes_8#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_24 = "aten.mul.Tensor"(%sigmoid_25, %add_15) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_25 = "aten.mul.Tensor"(%sigmoid_24, %tanh_16) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_17 = "aten.add.Tensor"(%mul_24, %mul_25) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_17 = "aten.tanh"(%add_17) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_26 = "aten.mul.Tensor"(%sigmoid_26, %tanh_17) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %cat_3 = "aten.cat"(%mul_20, %mul_23, %mul_26) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<3x2x6xf32>
    %unsqueeze_6 = "aten.unsqueeze"(%squeeze_3) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %unsqueeze_7 = "aten.unsqueeze"(%squeeze_7) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %linear_12 = "aten.linear"(%cat_2, %arg12, %arg14) : (tensor<3x2x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<3x2x24xf32>
    %flip_1 = "aten.flip"(%linear_12) {dims = array<i64: 0>} : (tensor<3x2x24xf32>) -> tensor<3x2x24xf32>
    %slice_18 = "aten.slice.Tensor"(%flip_1) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %slice_19 = "aten.slice.Tensor"(%flip_1) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %slice_20 = "aten.slice.Tensor"(%flip_1) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %squeeze_23 = "aten.squeeze.dims"(%slice_18) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %squeeze_24 = "aten.squeeze.dims"(%slice_19) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %squeeze_25 = "aten.squeeze.dims"(%slice_20) {dim = array<i64: 0>} : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %linear_13 = "aten.linear"(%unsqueeze_6, %arg13, %arg15) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_18 = "aten.add.Tensor"(%linear_13, %squeeze_23) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_9:4 = "aten.split_with_sizes"(%add_18) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_27 = "aten.sigmoid"(%split_with_sizes_9#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_28 = "aten.sigmoid"(%split_with_sizes_9#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_18 = "aten.tanh"(%split_with_sizes_9#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_29 = "aten.sigmoid"(%split_with_sizes_9#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_27 = "aten.mul.Tensor"(%sigmoid_28, %unsqueeze_7) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_28 = "aten.mul.Tensor"(%sigmoid_27, %tanh_18) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_19 = "aten.add.Tensor"(%mul_27, %mul_28) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_19 = "aten.tanh"(%add_19) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_29 = "aten.mul.Tensor"(%sigmoid_29, %tanh_19) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %linear_14 = "aten.linear"(%mul_29, %arg13, %arg15) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_20 = "aten.add.Tensor"(%linear_14, %squeeze_24) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_10:4 = "aten.split_with_sizes"(%add_20) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_30 = "aten.sigmoid"(%split_with_sizes_10#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_31 = "aten.sigmoid"(%split_with_sizes_10#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_20 = "aten.tanh"(%split_with_sizes_10#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_32 = "aten.sigmoid"(%split_with_sizes_10#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_30 = "aten.mul.Tensor"(%sigmoid_31, %add_19) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_31 = "aten.mul.Tensor"(%sigmoid_30, %tanh_20) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_21 = "aten.add.Tensor"(%mul_30, %mul_31) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_21 = "aten.tanh"(%add_21) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_32 = "aten.mul.Tensor"(%sigmoid_32, %tanh_21) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %linear_15 = "aten.linear"(%mul_32, %arg13, %arg15) : (tensor<1x2x6xf32>, tensor<24x6xf32>, tensor<24xf32>) -> tensor<1x2x24xf32>
    %add_22 = "aten.add.Tensor"(%linear_15, %squeeze_25) : (tensor<1x2x24xf32>, tensor<2x24xf32>) -> tensor<1x2x24xf32>
    %split_with_sizes_11:4 = "aten.split_with_sizes"(%add_22) {split_sizes = array<i64: 6, 6, 6, 6>, dim = 2 : i64} : (tensor<1x2x24xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
    %sigmoid_33 = "aten.sigmoid"(%split_with_sizes_11#0) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_34 = "aten.sigmoid"(%split_with_sizes_11#1) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_22 = "aten.tanh"(%split_with_sizes_11#2) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %sigmoid_35 = "aten.sigmoid"(%split_with_sizes_11#3) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_33 = "aten.mul.Tensor"(%sigmoid_34, %add_21) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_34 = "aten.mul.Tensor"(%sigmoid_33, %tanh_22) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %add_23 = "aten.add.Tensor"(%mul_33, %mul_34) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %tanh_23 = "aten.tanh"(%add_23) : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %mul_35 = "aten.mul.Tensor"(%sigmoid_35, %tanh_23) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %cat_4 = "aten.cat"(%mul_35, %mul_32, %mul_29) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<3x2x6xf32>
    %cat_5 = "aten.cat"(%cat_3, %cat_4) {dim = 2 : i64} : (tensor<3x2x6xf32>, tensor<3x2x6xf32>) -> tensor<3x2x12xf32>
    %linear_16 = "aten.linear"(%cat_5, %arg16, %arg17) : (tensor<3x2x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<3x2x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_16) {exponent = 2 : i64} : (tensor<3x2x12xf32>) -> tensor<3x2x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<3x2x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
