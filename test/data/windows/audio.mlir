#f0 = loc("test/e2e/window_models.py":107:0)
#f1 = loc("test/e2e/window_models.py":108:0)
#f2 = loc("test/e2e/window_models.py":109:0)
#f3 = loc("test/e2e/window_models.py":110:0)
#f4 = loc("test/e2e/window_models.py":111:0)
#f5 = loc("test/e2e/window_models.py":112:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "audio.safetensors"} {
  func.func @main(%arg0: tensor<16x6x3xf32> {aten.parameter = "conv1.weight"},
                  %arg1: tensor<16xf32> {aten.parameter = "conv1.bias"},
                  %arg2: tensor<16x16x3xf32> {aten.parameter = "conv2.weight"},
                  %arg3: tensor<16xf32> {aten.parameter = "conv2.bias"},
                  %arg4: tensor<16x1x4xf32> {aten.parameter = "causal.weight"},
                  %arg5: tensor<16xf32> {aten.parameter = "causal.bias"},
                  %arg6: tensor<16xf32> {aten.parameter = "norm.weight"},
                  %arg7: tensor<16xf32> {aten.parameter = "norm.bias"},
                  %arg8: tensor<48x16xf32> {aten.parameter = "qkv.weight"},
                  %arg9: tensor<48xf32> {aten.parameter = "qkv.bias"},
                  %arg10: tensor<5x16xf32> {aten.parameter = "out.weight"},
                  %arg11: tensor<5xf32> {aten.parameter = "out.bias"},
                  %arg12: tensor<2x6x20xf32> {aten.input = "x"},
                  %arg13: tensor<2xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg12, %arg0, %arg1) {stride = array<i64: 1>, padding = array<i64: 1>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x6x20xf32>, tensor<16x6x3xf32>, tensor<16xf32>) -> tensor<2x16x20xf32> loc("conv1 (convolution)"(#f0))
    %gelu = "aten.gelu"(%convolution) : (tensor<2x16x20xf32>) -> tensor<2x16x20xf32> loc("gelu"(#f0))
    %convolution_1 = "aten.convolution"(%gelu, %arg2, %arg3) {stride = array<i64: 2>, padding = array<i64: 1>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x16x20xf32>, tensor<16x16x3xf32>, tensor<16xf32>) -> tensor<2x16x10xf32> loc("conv2 (convolution_1)"(#f0))
    %gelu_1 = "aten.gelu"(%convolution_1) : (tensor<2x16x10xf32>) -> tensor<2x16x10xf32> loc("gelu_1"(#f0))
    %convolution_2 = "aten.convolution"(%gelu_1, %arg4, %arg5) {stride = array<i64: 1>, padding = array<i64: 3>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 16 : i64} : (tensor<2x16x10xf32>, tensor<16x1x4xf32>, tensor<16xf32>) -> tensor<2x16x13xf32> loc("causal (convolution_2)"(#f1))
    %slice_1 = "aten.slice.Tensor"(%convolution_2) {dim = 2 : i64, start = 0 : i64, end = 10 : i64} : (tensor<2x16x13xf32>) -> tensor<2x16x10xf32> loc("slice_1"(#f1))
    %silu = "aten.silu"(%slice_1) : (tensor<2x16x10xf32>) -> tensor<2x16x10xf32> loc("silu"(#f1))
    %add = "aten.add.Tensor"(%gelu_1, %silu) : (tensor<2x16x10xf32>, tensor<2x16x10xf32>) -> tensor<2x16x10xf32> loc("add"(#f1))
    %permute = "aten.permute"(%add) {dims = array<i64: 0, 2, 1>} : (tensor<2x16x10xf32>) -> tensor<2x10x16xf32> loc("permute"(#f2))
    %layer_norm = "aten.layer_norm"(%permute, %arg6, %arg7) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x10x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x10x16xf32> loc("norm (layer_norm)"(#f3))
    %linear = "aten.linear"(%layer_norm, %arg8, %arg9) : (tensor<2x10x16xf32>, tensor<48x16xf32>, tensor<48xf32>) -> tensor<2x10x48xf32> loc("qkv (linear)"(#f3))
    %view = "aten.view"(%linear) {size = array<i64: 2, 10, 3, 4, 4>} : (tensor<2x10x48xf32>) -> tensor<2x10x3x4x4xf32> loc("view"(#f3))
    %permute_1 = "aten.permute"(%view) {dims = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x10x3x4x4xf32>) -> tensor<3x2x4x10x4xf32> loc("permute_1"(#f3))
    %slice_2 = "aten.slice.Tensor"(%permute_1) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x4x10x4xf32>) -> tensor<1x2x4x10x4xf32> loc("slice_2"(#f3))
    %slice_3 = "aten.slice.Tensor"(%permute_1) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x4x10x4xf32>) -> tensor<1x2x4x10x4xf32> loc("slice_3"(#f3))
    %slice_4 = "aten.slice.Tensor"(%permute_1) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x4x10x4xf32>) -> tensor<1x2x4x10x4xf32> loc("slice_4"(#f3))
    %squeeze = "aten.squeeze.dims"(%slice_2) {dim = array<i64: 0>} : (tensor<1x2x4x10x4xf32>) -> tensor<2x4x10x4xf32> loc("squeeze"(#f3))
    %squeeze_1 = "aten.squeeze.dims"(%slice_3) {dim = array<i64: 0>} : (tensor<1x2x4x10x4xf32>) -> tensor<2x4x10x4xf32> loc("squeeze_1"(#f3))
    %squeeze_2 = "aten.squeeze.dims"(%slice_4) {dim = array<i64: 0>} : (tensor<1x2x4x10x4xf32>) -> tensor<2x4x10x4xf32> loc("squeeze_2"(#f3))
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%squeeze, %squeeze_1, %squeeze_2) : (tensor<2x4x10x4xf32>, tensor<2x4x10x4xf32>, tensor<2x4x10x4xf32>) -> tensor<2x4x10x4xf32> loc("scaled_dot_product_attention"(#f4))
    %permute_2 = "aten.permute"(%scaled_dot_product_attention) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x4x10x4xf32>) -> tensor<2x10x4x4xf32> loc("permute_2"(#f4))
    %view_1 = "aten.view"(%permute_2) {size = array<i64: 2, 10, 16>} : (tensor<2x10x4x4xf32>) -> tensor<2x10x16xf32> loc("view_1"(#f4))
    %add_1 = "aten.add.Tensor"(%permute, %view_1) : (tensor<2x10x16xf32>, tensor<2x10x16xf32>) -> tensor<2x10x16xf32> loc("add_1"(#f4))
    %mean = "aten.mean.dim"(%add_1) {dim = array<i64: 1>} : (tensor<2x10x16xf32>) -> tensor<2x16xf32> loc("mean"(#f5))
    %linear_1 = "aten.linear"(%mean, %arg10, %arg11) : (tensor<2x16xf32>, tensor<5x16xf32>, tensor<5xf32>) -> tensor<2x5xf32> loc("out (linear_1)"(#f5))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%linear_1, %arg13) : (tensor<2x5xf32>, tensor<2xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f5))
    return %cross_entropy_loss : tensor<f32>
  }
}
