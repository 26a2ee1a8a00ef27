module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "spectral_norm.safetensors"} {
  func.func @main(%arg0: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "a.parametrizations.weight.original"},
                  %arg2: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg3: tensor<12x12xf32> {aten.parameter = "b.parametrizations.weight.original"},
                  %arg4: tensor<12xf32> {aten.buffer = "a.parametrizations.weight.0._u"},
                  %arg5: tensor<12xf32> {aten.buffer = "a.parametrizations.weight.0._v"},
                  %arg6: tensor<12xf32> {aten.buffer = "b.parametrizations.weight.0._u"},
                  %arg7: tensor<12xf32> {aten.buffer = "b.parametrizations.weight.0._v"},
                  %arg8: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<12xf32> {aten.updates = "a.parametrizations.weight.0._u"}, tensor<12xf32> {aten.updates = "a.parametrizations.weight.0._v"}, tensor<12xf32> {aten.updates = "b.parametrizations.weight.0._u"}, tensor<12xf32> {aten.updates = "b.parametrizations.weight.0._v"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %mul = "aten.mul.Tensor"(%arg1, %arg5) : (tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %sum_1 = "aten.sum.dim_IntList"(%mul) {dim = array<i64: 1>} : (tensor<12x12xf32>) -> tensor<12xf32>
    %linalg_vector_norm = "aten.linalg_vector_norm"(%sum_1) {ord = 2.0 : f64, dim = array<i64: 0>, keepdim = true} : (tensor<12xf32>) -> tensor<1xf32>
    %clamp = "aten.clamp"(%linalg_vector_norm) {min = 1.0e-12 : f64} : (tensor<1xf32>) -> tensor<1xf32>
    %expand_1 = "aten.expand"(%clamp) {size = array<i64: 12>} : (tensor<1xf32>) -> tensor<12xf32>
    %div = "aten.div.Tensor"(%sum_1, %expand_1) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %permute = "aten.permute"(%arg1) {dims = array<i64: 1, 0>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %mul_1 = "aten.mul.Tensor"(%permute, %div) : (tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %sum_2 = "aten.sum.dim_IntList"(%mul_1) {dim = array<i64: 1>} : (tensor<12x12xf32>) -> tensor<12xf32>
    %linalg_vector_norm_1 = "aten.linalg_vector_norm"(%sum_2) {ord = 2.0 : f64, dim = array<i64: 0>, keepdim = true} : (tensor<12xf32>) -> tensor<1xf32>
    %clamp_1 = "aten.clamp"(%linalg_vector_norm_1) {min = 1.0e-12 : f64} : (tensor<1xf32>) -> tensor<1xf32>
    %expand_3 = "aten.expand"(%clamp_1) {size = array<i64: 12>} : (tensor<1xf32>) -> tensor<12xf32>
    %div_1 = "aten.div.Tensor"(%sum_2, %expand_3) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %detach = "aten.detach"(%div) : (tensor<12xf32>) -> tensor<12xf32>
    %detach_1 = "aten.detach"(%div_1) : (tensor<12xf32>) -> tensor<12xf32>
    %clone = "aten.clone"(%detach) : (tensor<12xf32>) -> tensor<12xf32>
    %clone_1 = "aten.clone"(%detach_1) : (tensor<12xf32>) -> tensor<12xf32>
    %mul_2 = "aten.mul.Tensor"(%arg1, %clone_1) : (tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %sum_3 = "aten.sum.dim_IntList"(%mul_2) {dim = array<i64: 1>} : (tensor<12x12xf32>) -> tensor<12xf32>
    %mul_3 = "aten.mul.Tensor"(%clone, %sum_3) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %sum_4 = "aten.sum.dim_IntList"(%mul_3) {dim = array<i64>} : (tensor<12xf32>) -> tensor<f32>
    %div_2 = "aten.div.Tensor"(%arg1, %sum_4) : (tensor<12x12xf32>, tensor<f32>) -> tensor<12x12xf32>
    %linear = "aten.linear"(%arg8, %div_2, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu = "aten.relu"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_4 = "aten.mul.Tensor"(%arg3, %arg7) : (tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %sum_5 = "aten.sum.dim_IntList"(%mul_4) {dim = array<i64: 1>} : (tensor<12x12xf32>) -> tensor<12xf32>
    %linalg_vector_norm_2 = "aten.linalg_vector_norm"(%sum_5) {ord = 2.0 : f64, dim = array<i64: 0>, keepdim = true} : (tensor<12xf32>) -> tensor<1xf32>
    %clamp_2 = "aten.clamp"(%linalg_vector_norm_2) {min = 1.0e-12 : f64} : (tensor<1xf32>) -> tensor<1xf32>
    %expand_5 = "aten.expand"(%clamp_2) {size = array<i64: 12>} : (tensor<1xf32>) -> tensor<12xf32>
    %div_3 = "aten.div.Tensor"(%sum_5, %expand_5) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %permute_1 = "aten.permute"(%arg3) {dims = array<i64: 1, 0>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %mul_5 = "aten.mul.Tensor"(%permute_1, %div_3) : (tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %sum_6 = "aten.sum.dim_IntList"(%mul_5) {dim = array<i64: 1>} : (tensor<12x12xf32>) -> tensor<12xf32>
    %linalg_vector_norm_3 = "aten.linalg_vector_norm"(%sum_6) {ord = 2.0 : f64, dim = array<i64: 0>, keepdim = true} : (tensor<12xf32>) -> tensor<1xf32>
    %clamp_3 = "aten.clamp"(%linalg_vector_norm_3) {min = 1.0e-12 : f64} : (tensor<1xf32>) -> tensor<1xf32>
    %expand_7 = "aten.expand"(%clamp_3) {size = array<i64: 12>} : (tensor<1xf32>) -> tensor<12xf32>
    %div_4 = "aten.div.Tensor"(%sum_6, %expand_7) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %detach_2 = "aten.detach"(%div_3) : (tensor<12xf32>) -> tensor<12xf32>
    %detach_3 = "aten.detach"(%div_4) : (tensor<12xf32>) -> tensor<12xf32>
    %clone_2 = "aten.clone"(%detach_2) : (tensor<12xf32>) -> tensor<12xf32>
    %clone_3 = "aten.clone"(%detach_3) : (tensor<12xf32>) -> tensor<12xf32>
    %mul_6 = "aten.mul.Tensor"(%arg3, %clone_3) : (tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %sum_7 = "aten.sum.dim_IntList"(%mul_6) {dim = array<i64: 1>} : (tensor<12x12xf32>) -> tensor<12xf32>
    %mul_7 = "aten.mul.Tensor"(%clone_2, %sum_7) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %sum_8 = "aten.sum.dim_IntList"(%mul_7) {dim = array<i64>} : (tensor<12xf32>) -> tensor<f32>
    %div_5 = "aten.div.Tensor"(%arg3, %sum_8) : (tensor<12x12xf32>, tensor<f32>) -> tensor<12x12xf32>
    %linear_1 = "aten.linear"(%relu, %div_5, %arg2) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %div, %div_1, %div_3, %div_4, %mean : tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<f32>
  }
}
