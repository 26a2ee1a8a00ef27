module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<1xf32> {aten.parameter = "t"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg2: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg3: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg4: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"},
                  %arg6: tensor<4x12xf32> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg5, %arg1, %arg2) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linalg_vector_norm = "aten.linalg_vector_norm"(%linear) {ord = 2.0 : f64, dim = array<i64: 1>, keepdim = true} : (tensor<4x12xf32>) -> tensor<4x1xf32>
    %clamp = "aten.clamp"(%linalg_vector_norm) {min = 1.0e-12 : f64} : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %expand = "aten.expand"(%clamp) {size = array<i64: 4, 12>} : (tensor<4x1xf32>) -> tensor<4x12xf32>
    %div = "aten.div.Tensor"(%linear, %expand) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%arg6, %arg3, %arg4) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linalg_vector_norm_1 = "aten.linalg_vector_norm"(%linear_1) {ord = 2.0 : f64, dim = array<i64: 1>, keepdim = true} : (tensor<4x12xf32>) -> tensor<4x1xf32>
    %clamp_1 = "aten.clamp"(%linalg_vector_norm_1) {min = 1.0e-12 : f64} : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %expand_1 = "aten.expand"(%clamp_1) {size = array<i64: 4, 12>} : (tensor<4x1xf32>) -> tensor<4x12xf32>
    %div_1 = "aten.div.Tensor"(%linear_1, %expand_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %permute = "aten.permute"(%div_1) {dims = array<i64: 1, 0>} : (tensor<4x12xf32>) -> tensor<12x4xf32>
    %matmul = "aten.matmul"(%div, %permute) : (tensor<4x12xf32>, tensor<12x4xf32>) -> tensor<4x4xf32>
    %exp = "aten.exp"(%arg0) : (tensor<1xf32>) -> tensor<1xf32>
    %mul = "aten.mul.Tensor"(%matmul, %exp) : (tensor<4x4xf32>, tensor<1xf32>) -> tensor<4x4xf32>
    %arange = "aten.arange.start_step"() {start = 0 : i64, end = 4 : i64} : () -> tensor<4xi64>
    %cross_entropy_loss = "aten.cross_entropy_loss"(%mul, %arange) : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<f32>
    return %cross_entropy_loss : tensor<f32>
  }
}
