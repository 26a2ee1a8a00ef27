#f0 = loc("test/e2e/aten_models.py":206:0)
#f1 = loc("test/e2e/aten_models.py":207:0)
#f2 = loc("test/e2e/aten_models.py":208:0)
#f3 = loc("test/e2e/aten_models.py":209:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "experts.safetensors"} {
  func.func @main(%arg0: tensor<3x16x32xf32> {aten.parameter = "up"},
                  %arg1: tensor<3x32x16xf32> {aten.parameter = "down"},
                  %arg2: tensor<40x16xf32> {aten.parameter = "embed.weight"},
                  %arg3: tensor<3x16xf32> {aten.parameter = "router.weight"},
                  %arg4: tensor<3xf32> {aten.parameter = "router.bias"},
                  %arg5: tensor<40x16xf32> {aten.parameter = "head.weight"},
                  %arg6: tensor<40xf32> {aten.parameter = "head.bias"},
                  %arg7: tensor<2x12xi64> {aten.input = "x"},
                  %arg8: tensor<2x12xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %embedding = "aten.embedding"(%arg2, %arg7) {padding_idx = 0 : i64} : (tensor<40x16xf32>, tensor<2x12xi64>) -> tensor<2x12x16xf32> loc("embed (embedding)"(#f0))
    %linear = "aten.linear"(%embedding, %arg3, %arg4) : (tensor<2x12x16xf32>, tensor<3x16xf32>, tensor<3xf32>) -> tensor<2x12x3xf32> loc("router (linear)"(#f1))
    %softmax = "aten.softmax.int"(%linear) {dim = -1 : i64} : (tensor<2x12x3xf32>) -> tensor<2x12x3xf32> loc("softmax"(#f1))
    %unsqueeze = "aten.unsqueeze"(%embedding) {dim = 3 : i64} : (tensor<2x12x16xf32>) -> tensor<2x12x16x1xf32> loc("unsqueeze"(#f2))
    %unsqueeze_1 = "aten.unsqueeze"(%unsqueeze) {dim = 4 : i64} : (tensor<2x12x16x1xf32>) -> tensor<2x12x16x1x1xf32> loc("unsqueeze_1"(#f2))
    %permute = "aten.permute"(%unsqueeze_1) {dims = array<i64: 0, 3, 1, 4, 2>} : (tensor<2x12x16x1x1xf32>) -> tensor<2x1x12x1x16xf32> loc("permute"(#f2))
    %unsqueeze_2 = "aten.unsqueeze"(%arg0) {dim = 3 : i64} : (tensor<3x16x32xf32>) -> tensor<3x16x32x1xf32> loc("unsqueeze_2"(#f2))
    %unsqueeze_3 = "aten.unsqueeze"(%unsqueeze_2) {dim = 4 : i64} : (tensor<3x16x32x1xf32>) -> tensor<3x16x32x1x1xf32> loc("unsqueeze_3"(#f2))
    %permute_1 = "aten.permute"(%unsqueeze_3) {dims = array<i64: 3, 0, 4, 2, 1>} : (tensor<3x16x32x1x1xf32>) -> tensor<1x3x1x32x16xf32> loc("permute_1"(#f2))
    %permute_2 = "aten.permute"(%permute) {dims = array<i64: 0, 2, 4, 1, 3>} : (tensor<2x1x12x1x16xf32>) -> tensor<2x12x16x1x1xf32> loc("permute_2"(#f2))
    %view = "aten.view"(%permute_2) {size = array<i64: 1, 24, 16>} : (tensor<2x12x16x1x1xf32>) -> tensor<1x24x16xf32> loc("view"(#f2))
    %permute_3 = "aten.permute"(%permute_1) {dims = array<i64: 4, 1, 3, 0, 2>} : (tensor<1x3x1x32x16xf32>) -> tensor<16x3x32x1x1xf32> loc("permute_3"(#f2))
    %clone = "aten.clone"(%permute_3) : (tensor<16x3x32x1x1xf32>) -> tensor<16x3x32x1x1xf32> loc("clone"(#f2))
    %view_1 = "aten.view"(%clone) {size = array<i64: 1, 16, 96>} : (tensor<16x3x32x1x1xf32>) -> tensor<1x16x96xf32> loc("view_1"(#f2))
    %bmm = "aten.bmm"(%view, %view_1) : (tensor<1x24x16xf32>, tensor<1x16x96xf32>) -> tensor<1x24x96xf32> loc("bmm"(#f2))
    %view_2 = "aten.view"(%bmm) {size = array<i64: 2, 12, 1, 3, 32>} : (tensor<1x24x96xf32>) -> tensor<2x12x1x3x32xf32> loc("view_2"(#f2))
    %permute_4 = "aten.permute"(%view_2) {dims = array<i64: 0, 3, 1, 4, 2>} : (tensor<2x12x1x3x32xf32>) -> tensor<2x3x12x32x1xf32> loc("permute_4"(#f2))
    %view_3 = "aten.view"(%permute_4) {size = array<i64: 2, 3, 12, 32>} : (tensor<2x3x12x32x1xf32>) -> tensor<2x3x12x32xf32> loc("view_3"(#f2))
    %relu = "aten.relu"(%view_3) : (tensor<2x3x12x32xf32>) -> tensor<2x3x12x32xf32> loc("relu"(#f2))
    %unsqueeze_4 = "aten.unsqueeze"(%relu) {dim = 4 : i64} : (tensor<2x3x12x32xf32>) -> tensor<2x3x12x32x1xf32> loc("unsqueeze_4"(#f2))
    %permute_5 = "aten.permute"(%unsqueeze_4) {dims = array<i64: 0, 1, 2, 4, 3>} : (tensor<2x3x12x32x1xf32>) -> tensor<2x3x12x1x32xf32> loc("permute_5"(#f2))
    %unsqueeze_5 = "aten.unsqueeze"(%arg1) {dim = 3 : i64} : (tensor<3x32x16xf32>) -> tensor<3x32x16x1xf32> loc("unsqueeze_5"(#f2))
    %unsqueeze_6 = "aten.unsqueeze"(%unsqueeze_5) {dim = 4 : i64} : (tensor<3x32x16x1xf32>) -> tensor<3x32x16x1x1xf32> loc("unsqueeze_6"(#f2))
    %permute_6 = "aten.permute"(%unsqueeze_6) {dims = array<i64: 3, 0, 4, 2, 1>} : (tensor<3x32x16x1x1xf32>) -> tensor<1x3x1x16x32xf32> loc("permute_6"(#f2))
    %permute_7 = "aten.permute"(%permute_5) {dims = array<i64: 1, 0, 2, 4, 3>} : (tensor<2x3x12x1x32xf32>) -> tensor<3x2x12x32x1xf32> loc("permute_7"(#f2))
    %view_4 = "aten.view"(%permute_7) {size = array<i64: 3, 24, 32>} : (tensor<3x2x12x32x1xf32>) -> tensor<3x24x32xf32> loc("view_4"(#f2))
    %permute_8 = "aten.permute"(%permute_6) {dims = array<i64: 1, 4, 3, 0, 2>} : (tensor<1x3x1x16x32xf32>) -> tensor<3x32x16x1x1xf32> loc("permute_8"(#f2))
    %view_5 = "aten.view"(%permute_8) {size = array<i64: 3, 32, 16>} : (tensor<3x32x16x1x1xf32>) -> tensor<3x32x16xf32> loc("view_5"(#f2))
    %bmm_1 = "aten.bmm"(%view_4, %view_5) : (tensor<3x24x32xf32>, tensor<3x32x16xf32>) -> tensor<3x24x16xf32> loc("bmm_1"(#f2))
    %view_6 = "aten.view"(%bmm_1) {size = array<i64: 3, 2, 12, 1, 16>} : (tensor<3x24x16xf32>) -> tensor<3x2x12x1x16xf32> loc("view_6"(#f2))
    %permute_9 = "aten.permute"(%view_6) {dims = array<i64: 1, 0, 2, 4, 3>} : (tensor<3x2x12x1x16xf32>) -> tensor<2x3x12x16x1xf32> loc("permute_9"(#f2))
    %view_7 = "aten.view"(%permute_9) {size = array<i64: 2, 3, 12, 16>} : (tensor<2x3x12x16x1xf32>) -> tensor<2x3x12x16xf32> loc("view_7"(#f2))
    %permute_10 = "aten.permute"(%view_7) {dims = array<i64: 0, 2, 3, 1>} : (tensor<2x3x12x16xf32>) -> tensor<2x12x16x3xf32> loc("permute_10"(#f3))
    %unsqueeze_7 = "aten.unsqueeze"(%softmax) {dim = 3 : i64} : (tensor<2x12x3xf32>) -> tensor<2x12x3x1xf32> loc("unsqueeze_7"(#f3))
    %permute_11 = "aten.permute"(%unsqueeze_7) {dims = array<i64: 0, 1, 3, 2>} : (tensor<2x12x3x1xf32>) -> tensor<2x12x1x3xf32> loc("permute_11"(#f3))
    %permute_12 = "aten.permute"(%permute_10) {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x12x16x3xf32>) -> tensor<2x12x16x3xf32> loc("permute_12"(#f3))
    %view_8 = "aten.view"(%permute_12) {size = array<i64: 24, 16, 3>} : (tensor<2x12x16x3xf32>) -> tensor<24x16x3xf32> loc("view_8"(#f3))
    %permute_13 = "aten.permute"(%permute_11) {dims = array<i64: 0, 1, 3, 2>} : (tensor<2x12x1x3xf32>) -> tensor<2x12x3x1xf32> loc("permute_13"(#f3))
    %view_9 = "aten.view"(%permute_13) {size = array<i64: 24, 3, 1>} : (tensor<2x12x3x1xf32>) -> tensor<24x3x1xf32> loc("view_9"(#f3))
    %bmm_2 = "aten.bmm"(%view_8, %view_9) : (tensor<24x16x3xf32>, tensor<24x3x1xf32>) -> tensor<24x16x1xf32> loc("bmm_2"(#f3))
    %view_10 = "aten.view"(%bmm_2) {size = array<i64: 2, 12, 16, 1>} : (tensor<24x16x1xf32>) -> tensor<2x12x16x1xf32> loc("view_10"(#f3))
    %permute_14 = "aten.permute"(%view_10) {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x12x16x1xf32>) -> tensor<2x12x16x1xf32> loc("permute_14"(#f3))
    %view_11 = "aten.view"(%permute_14) {size = array<i64: 2, 12, 16>} : (tensor<2x12x16x1xf32>) -> tensor<2x12x16xf32> loc("view_11"(#f3))
    %add = "aten.add.Tensor"(%embedding, %view_11) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("add"(#f3))
    %linear_1 = "aten.linear"(%add, %arg5, %arg6) : (tensor<2x12x16xf32>, tensor<40x16xf32>, tensor<40xf32>) -> tensor<2x12x40xf32> loc("head (linear_1)"(#f3))
    %view_12 = "aten.view"(%linear_1) {size = array<i64: 24, 40>} : (tensor<2x12x40xf32>) -> tensor<24x40xf32> loc("view_12"(#f3))
    %view_13 = "aten.view"(%arg8) {size = array<i64: 24>} : (tensor<2x12xi64>) -> tensor<24xi64> loc("view_13"(#f3))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%view_12, %view_13) : (tensor<24x40xf32>, tensor<24xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f3))
    return %cross_entropy_loss : tensor<f32>
  }
}
