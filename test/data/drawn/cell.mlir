module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<36x12xf32> {aten.parameter = "c.weight_ih"},
                  %arg1: tensor<36x12xf32> {aten.parameter = "c.weight_hh"},
                  %arg2: tensor<36xf32> {aten.parameter = "c.bias_ih"},
                  %arg3: tensor<36xf32> {aten.parameter = "c.bias_hh"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "h.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "h.bias"},
                  %arg6: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %full = "aten.full"() {size = array<i64: 4, 12>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<4x12xf32>
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg6, %arg0, %arg2) : (tensor<4x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<4x36xf32>
    %split_with_sizes:3 = "aten.split_with_sizes"(%linear) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<4x36xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
    %linear_1 = "aten.linear"(%full, %arg1, %arg3) : (tensor<4x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<4x36xf32>
    %split_with_sizes_1:3 = "aten.split_with_sizes"(%linear_1) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<4x36xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
    %add = "aten.add.Tensor"(%split_with_sizes_1#0, %split_with_sizes#0) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sigmoid = "aten.sigmoid"(%add) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_1 = "aten.add.Tensor"(%split_with_sizes_1#1, %split_with_sizes#1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sigmoid_1 = "aten.sigmoid"(%add_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul = "aten.mul.Tensor"(%split_with_sizes_1#2, %sigmoid) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_2 = "aten.add.Tensor"(%split_with_sizes#2, %mul) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%add_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %sub = "aten.sub.Tensor"(%full, %tanh) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_1 = "aten.mul.Tensor"(%sub, %sigmoid_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_3 = "aten.add.Tensor"(%mul_1, %tanh) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%arg6, %arg0, %arg2) : (tensor<4x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<4x36xf32>
    %split_with_sizes_2:3 = "aten.split_with_sizes"(%linear_2) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<4x36xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
    %linear_3 = "aten.linear"(%add_3, %arg1, %arg3) : (tensor<4x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<4x36xf32>
    %split_with_sizes_3:3 = "aten.split_with_sizes"(%linear_3) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<4x36xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
    %add_4 = "aten.add.Tensor"(%split_with_sizes_3#0, %split_with_sizes_2#0) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sigmoid_2 = "aten.sigmoid"(%add_4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_5 = "aten.add.Tensor"(%split_with_sizes_3#1, %split_with_sizes_2#1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sigmoid_3 = "aten.sigmoid"(%add_5) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_2 = "aten.mul.Tensor"(%split_with_sizes_3#2, %sigmoid_2) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_6 = "aten.add.Tensor"(%split_with_sizes_2#2, %mul_2) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%add_6) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %sub_1 = "aten.sub.Tensor"(%add_3, %tanh_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_3 = "aten.mul.Tensor"(%sub_1, %sigmoid_3) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_7 = "aten.add.Tensor"(%mul_3, %tanh_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_4 = "aten.linear"(%arg6, %arg0, %arg2) : (tensor<4x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<4x36xf32>
    %split_with_sizes_4:3 = "aten.split_with_sizes"(%linear_4) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<4x36xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
    %linear_5 = "aten.linear"(%add_7, %arg1, %arg3) : (tensor<4x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<4x36xf32>
    %split_with_sizes_5:3 = "aten.split_with_sizes"(%linear_5) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<4x36xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
    %add_8 = "aten.add.Tensor"(%split_with_sizes_5#0, %split_with_sizes_4#0) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sigmoid_4 = "aten.sigmoid"(%add_8) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_9 = "aten.add.Tensor"(%split_with_sizes_5#1, %split_with_sizes_4#1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sigmoid_5 = "aten.sigmoid"(%add_9) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_4 = "aten.mul.Tensor"(%split_with_sizes_5#2, %sigmoid_4) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_10 = "aten.add.Tensor"(%split_with_sizes_4#2, %mul_4) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %tanh_2 = "aten.tanh"(%add_10) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %sub_2 = "aten.sub.Tensor"(%add_7, %tanh_2) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_5 = "aten.mul.Tensor"(%sub_2, %sigmoid_5) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_11 = "aten.add.Tensor"(%mul_5, %tanh_2) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_6 = "aten.linear"(%arg6, %arg0, %arg2) : (tensor<4x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<4x36xf32>
    %split_with_sizes_6:3 = "aten.split_with_sizes"(%linear_6) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<4x36xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
    %linear_7 = "aten.linear"(%add_11, %arg1, %arg3) : (tensor<4x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<4x36xf32>
    %split_with_sizes_7:3 = "aten.split_with_sizes"(%linear_7) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<4x36xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
    %add_12 = "aten.add.Tensor"(%split_with_sizes_7#0, %split_with_sizes_6#0) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sigmoid_6 = "aten.sigmoid"(%add_12) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_13 = "aten.add.Tensor"(%split_with_sizes_7#1, %split_with_sizes_6#1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %sigmoid_7 = "aten.sigmoid"(%add_13) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_6 = "aten.mul.Tensor"(%split_with_sizes_7#2, %sigmoid_6) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_14 = "aten.add.Tensor"(%split_with_sizes_6#2, %mul_6) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %tanh_3 = "aten.tanh"(%add_14) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %sub_3 = "aten.sub.Tensor"(%add_11, %tanh_3) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_7 = "aten.mul.Tensor"(%sub_3, %sigmoid_7) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_15 = "aten.add.Tensor"(%mul_7, %tanh_3) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_8 = "aten.linear"(%add_15, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_8) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
