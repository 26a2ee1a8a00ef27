module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<48x6xf32> {aten.parameter = "r.weight_ih_l0"},
                  %arg1: tensor<48x6xf32> {aten.parameter = "r.weight_hh_l0"},
                  %arg2: tensor<48xf32> {aten.parameter = "r.bias_ih_l0"},
                  %arg3: tensor<48xf32> {aten.parameter = "r.bias_hh_l0"},
                  %arg4: tensor<6x12xf32> {aten.parameter = "r.weight_hr_l0"},
                  %arg5: tensor<6x6xf32> {aten.parameter = "h.weight"},
                  %arg6: tensor<6xf32> {aten.parameter = "h.bias"},
                  %arg7: tensor<3x2x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %full = "aten.full"() {size = array<i64: 1, 2, 6>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<1x2x6xf32>
    %full_1 = "aten.full"() {size = array<i64: 1, 2, 12>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<1x2x12xf32>
    %none = "aten.none"() : () -> none
    %slice_1 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
    %squeeze = "aten.squeeze.dims"(%slice_1) {dim = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
    %slice_2 = "aten.slice.Tensor"(%full_1) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %squeeze_1 = "aten.squeeze.dims"(%slice_2) {dim = array<i64: 0>} : (tensor<1x2x12xf32>) -> tensor<2x12xf32>
    %unsqueeze = "aten.unsqueeze"(%squeeze) {dim = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %unsqueeze_1 = "aten.unsqueeze"(%squeeze_1) {dim = 0 : i64} : (tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %linear = "aten.linear"(%arg7, %arg0, %arg2) : (tensor<3x2x6xf32>, tensor<48x6xf32>, tensor<48xf32>) -> tensor<3x2x48xf32>
    %slice_3 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x48xf32>) -> tensor<1x2x48xf32>
    %slice_4 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x48xf32>) -> tensor<1x2x48xf32>
    %slice_5 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x48xf32>) -> tensor<1x2x48xf32>
    %squeeze_2 = "aten.squeeze.dims"(%slice_3) {dim = array<i64: 0>} : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
    %squeeze_3 = "aten.squeeze.dims"(%slice_4) {dim = array<i64: 0>} : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
    %squeeze_4 = "aten.squeeze.dims"(%slice_5) {dim = array<i64: 0>} : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
    %linear_1 = "aten.linear"(%unsqueeze, %arg1, %arg3) : (tensor<1x2x6xf32>, tensor<48x6xf32>, tensor<48xf32>) -> tensor<1x2x48xf32>
    %add = "aten.add.Tensor"(%linear_1, %squeeze_2) : (tensor<1x2x48xf32>, tensor<2x48xf32>) -> tensor<1x2x48xf32>
    %split_with_sizes:4 = "aten.split_with_sizes"(%add) {split_sizes = array<i64: 12, 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x48xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %sigmoid = "aten.sigmoid"(%split_with_sizes#0) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_1 = "aten.sigmoid"(%split_with_sizes#1) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh = "aten.tanh"(%split_with_sizes#2) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_2 = "aten.sigmoid"(%split_with_sizes#3) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul = "aten.mul.Tensor"(%sigmoid_1, %unsqueeze_1) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_1 = "aten.mul.Tensor"(%sigmoid, %tanh) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_1 = "aten.add.Tensor"(%mul, %mul_1) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_1 = "aten.tanh"(%add_1) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_2 = "aten.mul.Tensor"(%sigmoid_2, %tanh_1) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %linear_2 = "aten.linear"(%mul_2, %arg4) : (tensor<1x2x12xf32>, tensor<6x12xf32>) -> tensor<1x2x6xf32>
    %linear_3 = "aten.linear"(%linear_2, %arg1, %arg3) : (tensor<1x2x6xf32>, tensor<48x6xf32>, tensor<48xf32>) -> tensor<1x2x48xf32>
    %add_2 = "aten.add.Tensor"(%linear_3, %squeeze_3) : (tensor<1x2x48xf32>, tensor<2x48xf32>) -> tensor<1x2x48xf32>
    %split_with_sizes_1:4 = "aten.split_with_sizes"(%add_2) {split_sizes = array<i64: 12, 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x48xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %sigmoid_3 = "aten.sigmoid"(%split_with_sizes_1#0) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_4 = "aten.sigmoid"(%split_with_sizes_1#1) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_2 = "aten.tanh"(%split_with_sizes_1#2) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_5 = "aten.sigmoid"(%split_with_sizes_1#3) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_3 = "aten.mul.Tensor"(%sigmoid_4, %add_1) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_4 = "aten.mul.Tensor"(%sigmoid_3, %tanh_2) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_3 = "aten.add.Tensor"(%mul_3, %mul_4) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_3 = "aten.tanh"(%add_3) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_5 = "aten.mul.Tensor"(%sigmoid_5, %tanh_3) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %linear_4 = "aten.linear"(%mul_5, %arg4) : (tensor<1x2x12xf32>, tensor<6x12xf32>) -> tensor<1x2x6xf32>
    %linear_5 = "aten.linear"(%linear_4, %arg1, %arg3) : (tensor<1x2x6xf32>, tensor<48x6xf32>, tensor<48xf32>) -> tensor<1x2x48xf32>
    %add_4 = "aten.add.Tensor"(%linear_5, %squeeze_4) : (tensor<1x2x48xf32>, tensor<2x48xf32>) -> tensor<1x2x48xf32>
    %split_with_sizes_2:4 = "aten.split_with_sizes"(%add_4) {split_sizes = array<i64: 12, 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x48xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %sigmoid_6 = "aten.sigmoid"(%split_with_sizes_2#0) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_7 = "aten.sigmoid"(%split_with_sizes_2#1) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_4 = "aten.tanh"(%split_with_sizes_2#2) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_8 = "aten.sigmoid"(%split_with_sizes_2#3) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_6 = "aten.mul.Tensor"(%sigmoid_7, %add_3) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_7 = "aten.mul.Tensor"(%sigmoid_6, %tanh_4) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_5 = "aten.add.Tensor"(%mul_6, %mul_7) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_5 = "aten.tanh"(%add_5) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_8 = "aten.mul.Tensor"(%sigmoid_8, %tanh_5) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %linear_6 = "aten.linear"(%mul_8, %arg4) : (tensor<1x2x12xf32>, tensor<6x12xf32>) -> tensor<1x2x6xf32>
    %cat = "aten.cat"(%linear_2, %linear_4, %linear_6) : (tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<3x2x6xf32>
    %linear_7 = "aten.linear"(%cat, %arg5, %arg6) : (tensor<3x2x6xf32>, tensor<6x6xf32>, tensor<6xf32>) -> tensor<3x2x6xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_7) {exponent = 2 : i64} : (tensor<3x2x6xf32>) -> tensor<3x2x6xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<3x2x6xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
