module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "orthogonal_exponential.safetensors"} {
  func.func @main(%arg0: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "a.parametrizations.weight.original"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x12xf32> {aten.buffer = "a.parametrizations.weight.0.base"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %tril = "aten.tril"(%arg1) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %permute = "aten.permute"(%tril) {dims = array<i64: 1, 0>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %sub = "aten.sub.Tensor"(%tril, %permute) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %detach = "aten.detach"(%sub) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %abs_1 = "aten.abs"(%detach) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %sum_1 = "aten.sum.dim_IntList"(%abs_1) {dim = array<i64: -1>} : (tensor<12x12xf32>) -> tensor<12xf32>
    %amax = "aten.amax"(%sum_1) {dim = array<i64: -1>} : (tensor<12xf32>) -> tensor<f32>
    %clamp = "aten.clamp"(%amax) {min = 9.5367431640625e-07 : f64} : (tensor<f32>) -> tensor<f32>
    %log2 = "aten.log2"(%clamp) : (tensor<f32>) -> tensor<f32>
    %add = "aten.add.Tensor"(%log2) {other = 1 : i64} : (tensor<f32>) -> tensor<f32>
    %ceil = "aten.ceil"(%add) : (tensor<f32>) -> tensor<f32>
    %clamp_1 = "aten.clamp"(%ceil) {min = 0 : i64, max = 20 : i64} : (tensor<f32>) -> tensor<f32>
    %unsqueeze = "aten.unsqueeze"(%clamp_1) {dim = 0 : i64} : (tensor<f32>) -> tensor<1xf32>
    %unsqueeze_1 = "aten.unsqueeze"(%unsqueeze) {dim = 1 : i64} : (tensor<1xf32>) -> tensor<1x1xf32>
    %neg = "aten.neg"(%unsqueeze_1) : (tensor<1x1xf32>) -> tensor<1x1xf32>
    %exp2 = "aten.exp2"(%neg) : (tensor<1x1xf32>) -> tensor<1x1xf32>
    %mul = "aten.mul.Tensor"(%sub, %exp2) : (tensor<12x12xf32>, tensor<1x1xf32>) -> tensor<12x12xf32>
    %eye = "aten.eye"() {n = 12 : i64, dtype = "f32"} : () -> tensor<12x12xf32>
    %matmul = "aten.matmul"(%mul, %eye) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div = "aten.div.Tensor"(%matmul) {other = 10 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_1 = "aten.add.Tensor"(%eye, %div) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_1 = "aten.matmul"(%mul, %add_1) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_1 = "aten.div.Tensor"(%matmul_1) {other = 9 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_2 = "aten.add.Tensor"(%eye, %div_1) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_2 = "aten.matmul"(%mul, %add_2) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_2 = "aten.div.Tensor"(%matmul_2) {other = 8 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_3 = "aten.add.Tensor"(%eye, %div_2) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_3 = "aten.matmul"(%mul, %add_3) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_3 = "aten.div.Tensor"(%matmul_3) {other = 7 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_4 = "aten.add.Tensor"(%eye, %div_3) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_4 = "aten.matmul"(%mul, %add_4) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_4 = "aten.div.Tensor"(%matmul_4) {other = 6 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_5 = "aten.add.Tensor"(%eye, %div_4) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_5 = "aten.matmul"(%mul, %add_5) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_5 = "aten.div.Tensor"(%matmul_5) {other = 5 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_6 = "aten.add.Tensor"(%eye, %div_5) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_6 = "aten.matmul"(%mul, %add_6) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_6 = "aten.div.Tensor"(%matmul_6) {other = 4 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_7 = "aten.add.Tensor"(%eye, %div_6) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_7 = "aten.matmul"(%mul, %add_7) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_7 = "aten.div.Tensor"(%matmul_7) {other = 3 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_8 = "aten.add.Tensor"(%eye, %div_7) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_8 = "aten.matmul"(%mul, %add_8) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_8 = "aten.div.Tensor"(%matmul_8) {other = 2 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_9 = "aten.add.Tensor"(%eye, %div_8) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_9 = "aten.matmul"(%mul, %add_9) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %div_9 = "aten.div.Tensor"(%matmul_9) {other = 1 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_10 = "aten.add.Tensor"(%eye, %div_9) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt = "aten.gt.Scalar"(%unsqueeze_1) {other = 0 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_10 = "aten.matmul"(%add_10, %add_10) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where = "aten.where.self"(%gt, %matmul_10, %add_10) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_1 = "aten.gt.Scalar"(%unsqueeze_1) {other = 1 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_11 = "aten.matmul"(%where, %where) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_1 = "aten.where.self"(%gt_1, %matmul_11, %where) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_2 = "aten.gt.Scalar"(%unsqueeze_1) {other = 2 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_12 = "aten.matmul"(%where_1, %where_1) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_2 = "aten.where.self"(%gt_2, %matmul_12, %where_1) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_3 = "aten.gt.Scalar"(%unsqueeze_1) {other = 3 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_13 = "aten.matmul"(%where_2, %where_2) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_3 = "aten.where.self"(%gt_3, %matmul_13, %where_2) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_4 = "aten.gt.Scalar"(%unsqueeze_1) {other = 4 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_14 = "aten.matmul"(%where_3, %where_3) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_4 = "aten.where.self"(%gt_4, %matmul_14, %where_3) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_5 = "aten.gt.Scalar"(%unsqueeze_1) {other = 5 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_15 = "aten.matmul"(%where_4, %where_4) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_5 = "aten.where.self"(%gt_5, %matmul_15, %where_4) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_6 = "aten.gt.Scalar"(%unsqueeze_1) {other = 6 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_16 = "aten.matmul"(%where_5, %where_5) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_6 = "aten.where.self"(%gt_6, %matmul_16, %where_5) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_7 = "aten.gt.Scalar"(%unsqueeze_1) {other = 7 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_17 = "aten.matmul"(%where_6, %where_6) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_7 = "aten.where.self"(%gt_7, %matmul_17, %where_6) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_8 = "aten.gt.Scalar"(%unsqueeze_1) {other = 8 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_18 = "aten.matmul"(%where_7, %where_7) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_8 = "aten.where.self"(%gt_8, %matmul_18, %where_7) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_9 = "aten.gt.Scalar"(%unsqueeze_1) {other = 9 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_19 = "aten.matmul"(%where_8, %where_8) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_9 = "aten.where.self"(%gt_9, %matmul_19, %where_8) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_10 = "aten.gt.Scalar"(%unsqueeze_1) {other = 10 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_20 = "aten.matmul"(%where_9, %where_9) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_10 = "aten.where.self"(%gt_10, %matmul_20, %where_9) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_11 = "aten.gt.Scalar"(%unsqueeze_1) {other = 11 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_21 = "aten.matmul"(%where_10, %where_10) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_11 = "aten.where.self"(%gt_11, %matmul_21, %where_10) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_12 = "aten.gt.Scalar"(%unsqueeze_1) {other = 12 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_22 = "aten.matmul"(%where_11, %where_11) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_12 = "aten.where.self"(%gt_12, %matmul_22, %where_11) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_13 = "aten.gt.Scalar"(%unsqueeze_1) {other = 13 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_23 = "aten.matmul"(%where_12, %where_12) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_13 = "aten.where.self"(%gt_13, %matmul_23, %where_12) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_14 = "aten.gt.Scalar"(%unsqueeze_1) {other = 14 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_24 = "aten.matmul"(%where_13, %where_13) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_14 = "aten.where.self"(%gt_14, %matmul_24, %where_13) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_15 = "aten.gt.Scalar"(%unsqueeze_1) {other = 15 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_25 = "aten.matmul"(%where_14, %where_14) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_15 = "aten.where.self"(%gt_15, %matmul_25, %where_14) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_16 = "aten.gt.Scalar"(%unsqueeze_1) {other = 16 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_26 = "aten.matmul"(%where_15, %where_15) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_16 = "aten.where.self"(%gt_16, %matmul_26, %where_15) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_17 = "aten.gt.Scalar"(%unsqueeze_1) {other = 17 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_27 = "aten.matmul"(%where_16, %where_16) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_17 = "aten.where.self"(%gt_17, %matmul_27, %where_16) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_18 = "aten.gt.Scalar"(%unsqueeze_1) {other = 18 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_28 = "aten.matmul"(%where_17, %where_17) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_18 = "aten.where.self"(%gt_18, %matmul_28, %where_17) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %gt_19 = "aten.gt.Scalar"(%unsqueeze_1) {other = 19 : i64} : (tensor<1x1xf32>) -> tensor<1x1xi1>
    %matmul_29 = "aten.matmul"(%where_18, %where_18) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %where_19 = "aten.where.self"(%gt_19, %matmul_29, %where_18) : (tensor<1x1xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_30 = "aten.matmul"(%arg4, %where_19) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %linear = "aten.linear"(%arg5, %matmul_30, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu = "aten.relu"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%relu, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
