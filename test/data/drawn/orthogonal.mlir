module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "orthogonal.safetensors"} {
  func.func @main(%arg0: tensor<6xf32> {aten.parameter = "a.bias"},
                  %arg1: tensor<6x12xf32> {aten.parameter = "a.parametrizations.weight.original"},
                  %arg2: tensor<12x6xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x12xf32> {aten.buffer = "a.parametrizations.weight.0.base"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %permute = "aten.permute"(%arg1) {dims = array<i64: 1, 0>} : (tensor<6x12xf32>) -> tensor<12x6xf32>
    %tril = "aten.tril"(%permute) : (tensor<12x6xf32>) -> tensor<12x6xf32>
    %full = "aten.full"() {size = array<i64: 12, 6>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<12x6xf32>
    %expand = "aten.expand"(%full) {size = array<i64: -1, -1>} : (tensor<12x6xf32>) -> tensor<12x6xf32>
    %cat = "aten.cat"(%tril, %expand) {dim = -1 : i64} : (tensor<12x6xf32>, tensor<12x6xf32>) -> tensor<12x12xf32>
    %permute_1 = "aten.permute"(%cat) {dims = array<i64: 1, 0>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %sub = "aten.sub.Tensor"(%cat, %permute_1) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %eye = "aten.eye"() {n = 12 : i64, dtype = "f32"} : () -> tensor<12x12xf32>
    %add = "aten.add.Tensor"(%eye, %sub) {alpha = -0.5 : f64} : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_1 = "aten.add.Tensor"(%eye, %sub) {alpha = 0.5 : f64} : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %expand_1 = "aten.expand"(%add) {size = array<i64: 12, 12>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %expand_2 = "aten.expand"(%add_1) {size = array<i64: 12, 12>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %expand_3 = "aten.expand"(%expand_2) {size = array<i64: 12, 12>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %cat_1 = "aten.cat"(%expand_1, %expand_3) {dim = -1 : i64} : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x24xf32>
    %arange = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %unsqueeze = "aten.unsqueeze"(%arange) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %detach = "aten.detach"(%cat_1) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %select = "aten.select.int"(%detach) {dim = 1 : i64, index = 0 : i64} : (tensor<12x24xf32>) -> tensor<12xf32>
    %abs_1 = "aten.abs"(%select) : (tensor<12xf32>) -> tensor<12xf32>
    %argmax = "aten.argmax"(%abs_1) {dim = -1 : i64, keepdim = true} : (tensor<12xf32>) -> tensor<1xi64>
    %add_2 = "aten.add.Tensor"(%argmax) {other = 0 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_1 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq = "aten.eq.Scalar"(%arange_1) {other = 0 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_1 = "aten.eq.Tensor"(%arange_1, %add_2) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor = "aten.scalar_tensor"() {s = 0 : i64, dtype = "i64"} : () -> tensor<i64>
    %where = "aten.where.self"(%eq_1, %scalar_tensor, %arange_1) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_1 = "aten.where.self"(%eq, %add_2, %where) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_1 = "aten.unsqueeze"(%where_1) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_4 = "aten.expand"(%unsqueeze_1) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_5 = "aten.expand"(%expand_4) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_6 = "aten.expand"(%cat_1) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder = "aten.remainder.Scalar"(%expand_5) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather = "aten.gather"(%expand_6, %remainder) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_1 = "aten.slice.Tensor"(%gather) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_2 = "aten.slice.Tensor"(%gather) {dim = 1 : i64, start = 0 : i64, end = 1 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_3 = "aten.slice.Tensor"(%slice_1) {dim = 1 : i64, start = 0 : i64, end = 1 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div = "aten.div.Tensor"(%slice_1, %slice_3) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_3 = "aten.eq.Scalar"(%unsqueeze) {other = 0 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_1 = "aten.mul.Tensor"(%slice_2, %div) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_1 = "aten.sub.Tensor"(%gather, %mul_1) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_3 = "aten.where.self"(%eq_3, %div, %sub_1) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_1 = "aten.detach"(%where_3) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_4 = "aten.slice.Tensor"(%detach_1) {dim = 0 : i64, start = 1 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<11x24xf32>
    %select_3 = "aten.select.int"(%slice_4) {dim = 1 : i64, index = 1 : i64} : (tensor<11x24xf32>) -> tensor<11xf32>
    %abs_2 = "aten.abs"(%select_3) : (tensor<11xf32>) -> tensor<11xf32>
    %argmax_1 = "aten.argmax"(%abs_2) {dim = -1 : i64, keepdim = true} : (tensor<11xf32>) -> tensor<1xi64>
    %add_3 = "aten.add.Tensor"(%argmax_1) {other = 1 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_2 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_4 = "aten.eq.Scalar"(%arange_2) {other = 1 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_5 = "aten.eq.Tensor"(%arange_2, %add_3) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_3 = "aten.scalar_tensor"() {s = 1 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_4 = "aten.where.self"(%eq_5, %scalar_tensor_3, %arange_2) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_5 = "aten.where.self"(%eq_4, %add_3, %where_4) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_2 = "aten.unsqueeze"(%where_5) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_7 = "aten.expand"(%unsqueeze_2) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_8 = "aten.expand"(%expand_7) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_9 = "aten.expand"(%where_3) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_1 = "aten.remainder.Scalar"(%expand_8) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_1 = "aten.gather"(%expand_9, %remainder_1) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_5 = "aten.slice.Tensor"(%gather_1) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_6 = "aten.slice.Tensor"(%gather_1) {dim = 1 : i64, start = 1 : i64, end = 2 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_7 = "aten.slice.Tensor"(%slice_5) {dim = 1 : i64, start = 1 : i64, end = 2 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_1 = "aten.div.Tensor"(%slice_5, %slice_7) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_7 = "aten.eq.Scalar"(%unsqueeze) {other = 1 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_3 = "aten.mul.Tensor"(%slice_6, %div_1) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_2 = "aten.sub.Tensor"(%gather_1, %mul_3) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_7 = "aten.where.self"(%eq_7, %div_1, %sub_2) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_2 = "aten.detach"(%where_7) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_8 = "aten.slice.Tensor"(%detach_2) {dim = 0 : i64, start = 2 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<10x24xf32>
    %select_6 = "aten.select.int"(%slice_8) {dim = 1 : i64, index = 2 : i64} : (tensor<10x24xf32>) -> tensor<10xf32>
    %abs_3 = "aten.abs"(%select_6) : (tensor<10xf32>) -> tensor<10xf32>
    %argmax_2 = "aten.argmax"(%abs_3) {dim = -1 : i64, keepdim = true} : (tensor<10xf32>) -> tensor<1xi64>
    %add_4 = "aten.add.Tensor"(%argmax_2) {other = 2 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_3 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_8 = "aten.eq.Scalar"(%arange_3) {other = 2 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_9 = "aten.eq.Tensor"(%arange_3, %add_4) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_6 = "aten.scalar_tensor"() {s = 2 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_8 = "aten.where.self"(%eq_9, %scalar_tensor_6, %arange_3) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_9 = "aten.where.self"(%eq_8, %add_4, %where_8) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_3 = "aten.unsqueeze"(%where_9) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_10 = "aten.expand"(%unsqueeze_3) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_11 = "aten.expand"(%expand_10) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_12 = "aten.expand"(%where_7) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_2 = "aten.remainder.Scalar"(%expand_11) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_2 = "aten.gather"(%expand_12, %remainder_2) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_9 = "aten.slice.Tensor"(%gather_2) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_10 = "aten.slice.Tensor"(%gather_2) {dim = 1 : i64, start = 2 : i64, end = 3 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_11 = "aten.slice.Tensor"(%slice_9) {dim = 1 : i64, start = 2 : i64, end = 3 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_2 = "aten.div.Tensor"(%slice_9, %slice_11) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_11 = "aten.eq.Scalar"(%unsqueeze) {other = 2 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_5 = "aten.mul.Tensor"(%slice_10, %div_2) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_3 = "aten.sub.Tensor"(%gather_2, %mul_5) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_11 = "aten.where.self"(%eq_11, %div_2, %sub_3) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_3 = "aten.detach"(%where_11) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_12 = "aten.slice.Tensor"(%detach_3) {dim = 0 : i64, start = 3 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<9x24xf32>
    %select_9 = "aten.select.int"(%slice_12) {dim = 1 : i64, index = 3 : i64} : (tensor<9x24xf32>) -> tensor<9xf32>
    %abs_4 = "aten.abs"(%select_9) : (tensor<9xf32>) -> tensor<9xf32>
    %argmax_3 = "aten.argmax"(%abs_4) {dim = -1 : i64, keepdim = true} : (tensor<9xf32>) -> tensor<1xi64>
    %add_5 = "aten.add.Tensor"(%argmax_3) {other = 3 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_4 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_12 = "aten.eq.Scalar"(%arange_4) {other = 3 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_13 = "aten.eq.Tensor"(%arange_4, %add_5) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_9 = "aten.scalar_tensor"() {s = 3 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_12 = "aten.where.self"(%eq_13, %scalar_tensor_9, %arange_4) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_13 = "aten.where.self"(%eq_12, %add_5, %where_12) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_4 = "aten.unsqueeze"(%where_13) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_13 = "aten.expand"(%unsqueeze_4) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_14 = "aten.expand"(%expand_13) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_15 = "aten.expand"(%where_11) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_3 = "aten.remainder.Scalar"(%expand_14) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_3 = "aten.gather"(%expand_15, %remainder_3) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_13 = "aten.slice.Tensor"(%gather_3) {dim = 0 : i64, start = 3 : i64, end = 4 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_14 = "aten.slice.Tensor"(%gather_3) {dim = 1 : i64, start = 3 : i64, end = 4 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_15 = "aten.slice.Tensor"(%slice_13) {dim = 1 : i64, start = 3 : i64, end = 4 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_3 = "aten.div.Tensor"(%slice_13, %slice_15) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_15 = "aten.eq.Scalar"(%unsqueeze) {other = 3 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_7 = "aten.mul.Tensor"(%slice_14, %div_3) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_4 = "aten.sub.Tensor"(%gather_3, %mul_7) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_15 = "aten.where.self"(%eq_15, %div_3, %sub_4) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_4 = "aten.detach"(%where_15) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_16 = "aten.slice.Tensor"(%detach_4) {dim = 0 : i64, start = 4 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<8x24xf32>
    %select_12 = "aten.select.int"(%slice_16) {dim = 1 : i64, index = 4 : i64} : (tensor<8x24xf32>) -> tensor<8xf32>
    %abs_5 = "aten.abs"(%select_12) : (tensor<8xf32>) -> tensor<8xf32>
    %argmax_4 = "aten.argmax"(%abs_5) {dim = -1 : i64, keepdim = true} : (tensor<8xf32>) -> tensor<1xi64>
    %add_6 = "aten.add.Tensor"(%argmax_4) {other = 4 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_5 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_16 = "aten.eq.Scalar"(%arange_5) {other = 4 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_17 = "aten.eq.Tensor"(%arange_5, %add_6) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_12 = "aten.scalar_tensor"() {s = 4 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_16 = "aten.where.self"(%eq_17, %scalar_tensor_12, %arange_5) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_17 = "aten.where.self"(%eq_16, %add_6, %where_16) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_5 = "aten.unsqueeze"(%where_17) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_16 = "aten.expand"(%unsqueeze_5) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_17 = "aten.expand"(%expand_16) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_18 = "aten.expand"(%where_15) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_4 = "aten.remainder.Scalar"(%expand_17) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_4 = "aten.gather"(%expand_18, %remainder_4) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_17 = "aten.slice.Tensor"(%gather_4) {dim = 0 : i64, start = 4 : i64, end = 5 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_18 = "aten.slice.Tensor"(%gather_4) {dim = 1 : i64, start = 4 : i64, end = 5 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_19 = "aten.slice.Tensor"(%slice_17) {dim = 1 : i64, start = 4 : i64, end = 5 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_4 = "aten.div.Tensor"(%slice_17, %slice_19) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_19 = "aten.eq.Scalar"(%unsqueeze) {other = 4 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_9 = "aten.mul.Tensor"(%slice_18, %div_4) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_5 = "aten.sub.Tensor"(%gather_4, %mul_9) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_19 = "aten.where.self"(%eq_19, %div_4, %sub_5) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_5 = "aten.detach"(%where_19) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_20 = "aten.slice.Tensor"(%detach_5) {dim = 0 : i64, start = 5 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<7x24xf32>
    %select_15 = "aten.select.int"(%slice_20) {dim = 1 : i64, index = 5 : i64} : (tensor<7x24xf32>) -> tensor<7xf32>
    %abs_6 = "aten.abs"(%select_15) : (tensor<7xf32>) -> tensor<7xf32>
    %argmax_5 = "aten.argmax"(%abs_6) {dim = -1 : i64, keepdim = true} : (tensor<7xf32>) -> tensor<1xi64>
    %add_7 = "aten.add.Tensor"(%argmax_5) {other = 5 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_6 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_20 = "aten.eq.Scalar"(%arange_6) {other = 5 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_21 = "aten.eq.Tensor"(%arange_6, %add_7) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_15 = "aten.scalar_tensor"() {s = 5 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_20 = "aten.where.self"(%eq_21, %scalar_tensor_15, %arange_6) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_21 = "aten.where.self"(%eq_20, %add_7, %where_20) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_6 = "aten.unsqueeze"(%where_21) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_19 = "aten.expand"(%unsqueeze_6) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_20 = "aten.expand"(%expand_19) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_21 = "aten.expand"(%where_19) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_5 = "aten.remainder.Scalar"(%expand_20) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_5 = "aten.gather"(%expand_21, %remainder_5) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_21 = "aten.slice.Tensor"(%gather_5) {dim = 0 : i64, start = 5 : i64, end = 6 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_22 = "aten.slice.Tensor"(%gather_5) {dim = 1 : i64, start = 5 : i64, end = 6 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_23 = "aten.slice.Tensor"(%slice_21) {dim = 1 : i64, start = 5 : i64, end = 6 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_5 = "aten.div.Tensor"(%slice_21, %slice_23) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_23 = "aten.eq.Scalar"(%unsqueeze) {other = 5 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_11 = "aten.mul.Tensor"(%slice_22, %div_5) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_6 = "aten.sub.Tensor"(%gather_5, %mul_11) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_23 = "aten.where.self"(%eq_23, %div_5, %sub_6) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_6 = "aten.detach"(%where_23) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_24 = "aten.slice.Tensor"(%detach_6) {dim = 0 : i64, start = 6 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<6x24xf32>
    %select_18 = "aten.select.int"(%slice_24) {dim = 1 : i64, index = 6 : i64} : (tensor<6x24xf32>) -> tensor<6xf32>
    %abs_7 = "aten.abs"(%select_18) : (tensor<6xf32>) -> tensor<6xf32>
    %argmax_6 = "aten.argmax"(%abs_7) {dim = -1 : i64, keepdim = true} : (tensor<6xf32>) -> tensor<1xi64>
    %add_8 = "aten.add.Tensor"(%argmax_6) {other = 6 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_7 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_24 = "aten.eq.Scalar"(%arange_7) {other = 6 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_25 = "aten.eq.Tensor"(%arange_7, %add_8) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_18 = "aten.scalar_tensor"() {s = 6 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_24 = "aten.where.self"(%eq_25, %scalar_tensor_18, %arange_7) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_25 = "aten.where.self"(%eq_24, %add_8, %where_24) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_7 = "aten.unsqueeze"(%where_25) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_22 = "aten.expand"(%unsqueeze_7) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_23 = "aten.expand"(%expand_22) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_24 = "aten.expand"(%where_23) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_6 = "aten.remainder.Scalar"(%expand_23) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_6 = "aten.gather"(%expand_24, %remainder_6) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_25 = "aten.slice.Tensor"(%gather_6) {dim = 0 : i64, start = 6 : i64, end = 7 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_26 = "aten.slice.Tensor"(%gather_6) {dim = 1 : i64, start = 6 : i64, end = 7 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_27 = "aten.slice.Tensor"(%slice_25) {dim = 1 : i64, start = 6 : i64, end = 7 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_6 = "aten.div.Tensor"(%slice_25, %slice_27) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_27 = "aten.eq.Scalar"(%unsqueeze) {other = 6 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_13 = "aten.mul.Tensor"(%slice_26, %div_6) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_7 = "aten.sub.Tensor"(%gather_6, %mul_13) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_27 = "aten.where.self"(%eq_27, %div_6, %sub_7) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_7 = "aten.detach"(%where_27) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_28 = "aten.slice.Tensor"(%detach_7) {dim = 0 : i64, start = 7 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<5x24xf32>
    %select_21 = "aten.select.int"(%slice_28) {dim = 1 : i64, index = 7 : i64} : (tensor<5x24xf32>) -> tensor<5xf32>
    %abs_8 = "aten.abs"(%select_21) : (tensor<5xf32>) -> tensor<5xf32>
    %argmax_7 = "aten.argmax"(%abs_8) {dim = -1 : i64, keepdim = true} : (tensor<5xf32>) -> tensor<1xi64>
    %add_9 = "aten.add.Tensor"(%argmax_7) {other = 7 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_8 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_28 = "aten.eq.Scalar"(%arange_8) {other = 7 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_29 = "aten.eq.Tensor"(%arange_8, %add_9) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_21 = "aten.scalar_tensor"() {s = 7 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_28 = "aten.where.self"(%eq_29, %scalar_tensor_21, %arange_8) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_29 = "aten.where.self"(%eq_28, %add_9, %where_28) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_8 = "aten.unsqueeze"(%where_29) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_25 = "aten.expand"(%unsqueeze_8) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_26 = "aten.expand"(%expand_25) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_27 = "aten.expand"(%where_27) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_7 = "aten.remainder.Scalar"(%expand_26) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_7 = "aten.gather"(%expand_27, %remainder_7) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_29 = "aten.slice.Tensor"(%gather_7) {dim = 0 : i64, start = 7 : i64, end = 8 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_30 = "aten.slice.Tensor"(%gather_7) {dim = 1 : i64, start = 7 : i64, end = 8 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_31 = "aten.slice.Tensor"(%slice_29) {dim = 1 : i64, start = 7 : i64, end = 8 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_7 = "aten.div.Tensor"(%slice_29, %slice_31) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_31 = "aten.eq.Scalar"(%unsqueeze) {other = 7 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_15 = "aten.mul.Tensor"(%slice_30, %div_7) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_8 = "aten.sub.Tensor"(%gather_7, %mul_15) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_31 = "aten.where.self"(%eq_31, %div_7, %sub_8) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_8 = "aten.detach"(%where_31) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_32 = "aten.slice.Tensor"(%detach_8) {dim = 0 : i64, start = 8 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<4x24xf32>
    %select_24 = "aten.select.int"(%slice_32) {dim = 1 : i64, index = 8 : i64} : (tensor<4x24xf32>) -> tensor<4xf32>
    %abs_9 = "aten.abs"(%select_24) : (tensor<4xf32>) -> tensor<4xf32>
    %argmax_8 = "aten.argmax"(%abs_9) {dim = -1 : i64, keepdim = true} : (tensor<4xf32>) -> tensor<1xi64>
    %add_10 = "aten.add.Tensor"(%argmax_8) {other = 8 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_9 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_32 = "aten.eq.Scalar"(%arange_9) {other = 8 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_33 = "aten.eq.Tensor"(%arange_9, %add_10) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_24 = "aten.scalar_tensor"() {s = 8 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_32 = "aten.where.self"(%eq_33, %scalar_tensor_24, %arange_9) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_33 = "aten.where.self"(%eq_32, %add_10, %where_32) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_9 = "aten.unsqueeze"(%where_33) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_28 = "aten.expand"(%unsqueeze_9) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_29 = "aten.expand"(%expand_28) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_30 = "aten.expand"(%where_31) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_8 = "aten.remainder.Scalar"(%expand_29) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_8 = "aten.gather"(%expand_30, %remainder_8) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_33 = "aten.slice.Tensor"(%gather_8) {dim = 0 : i64, start = 8 : i64, end = 9 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_34 = "aten.slice.Tensor"(%gather_8) {dim = 1 : i64, start = 8 : i64, end = 9 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_35 = "aten.slice.Tensor"(%slice_33) {dim = 1 : i64, start = 8 : i64, end = 9 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_8 = "aten.div.Tensor"(%slice_33, %slice_35) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_35 = "aten.eq.Scalar"(%unsqueeze) {other = 8 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_17 = "aten.mul.Tensor"(%slice_34, %div_8) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_9 = "aten.sub.Tensor"(%gather_8, %mul_17) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_35 = "aten.where.self"(%eq_35, %div_8, %sub_9) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_9 = "aten.detach"(%where_35) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_36 = "aten.slice.Tensor"(%detach_9) {dim = 0 : i64, start = 9 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<3x24xf32>
    %select_27 = "aten.select.int"(%slice_36) {dim = 1 : i64, index = 9 : i64} : (tensor<3x24xf32>) -> tensor<3xf32>
    %abs_10 = "aten.abs"(%select_27) : (tensor<3xf32>) -> tensor<3xf32>
    %argmax_9 = "aten.argmax"(%abs_10) {dim = -1 : i64, keepdim = true} : (tensor<3xf32>) -> tensor<1xi64>
    %add_11 = "aten.add.Tensor"(%argmax_9) {other = 9 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_10 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_36 = "aten.eq.Scalar"(%arange_10) {other = 9 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_37 = "aten.eq.Tensor"(%arange_10, %add_11) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_27 = "aten.scalar_tensor"() {s = 9 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_36 = "aten.where.self"(%eq_37, %scalar_tensor_27, %arange_10) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_37 = "aten.where.self"(%eq_36, %add_11, %where_36) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_10 = "aten.unsqueeze"(%where_37) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_31 = "aten.expand"(%unsqueeze_10) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_32 = "aten.expand"(%expand_31) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_33 = "aten.expand"(%where_35) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_9 = "aten.remainder.Scalar"(%expand_32) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_9 = "aten.gather"(%expand_33, %remainder_9) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_37 = "aten.slice.Tensor"(%gather_9) {dim = 0 : i64, start = 9 : i64, end = 10 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_38 = "aten.slice.Tensor"(%gather_9) {dim = 1 : i64, start = 9 : i64, end = 10 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_39 = "aten.slice.Tensor"(%slice_37) {dim = 1 : i64, start = 9 : i64, end = 10 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_9 = "aten.div.Tensor"(%slice_37, %slice_39) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_39 = "aten.eq.Scalar"(%unsqueeze) {other = 9 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_19 = "aten.mul.Tensor"(%slice_38, %div_9) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_10 = "aten.sub.Tensor"(%gather_9, %mul_19) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_39 = "aten.where.self"(%eq_39, %div_9, %sub_10) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_10 = "aten.detach"(%where_39) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_40 = "aten.slice.Tensor"(%detach_10) {dim = 0 : i64, start = 10 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<2x24xf32>
    %select_30 = "aten.select.int"(%slice_40) {dim = 1 : i64, index = 10 : i64} : (tensor<2x24xf32>) -> tensor<2xf32>
    %abs_11 = "aten.abs"(%select_30) : (tensor<2xf32>) -> tensor<2xf32>
    %argmax_10 = "aten.argmax"(%abs_11) {dim = -1 : i64, keepdim = true} : (tensor<2xf32>) -> tensor<1xi64>
    %add_12 = "aten.add.Tensor"(%argmax_10) {other = 10 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_11 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_40 = "aten.eq.Scalar"(%arange_11) {other = 10 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_41 = "aten.eq.Tensor"(%arange_11, %add_12) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_30 = "aten.scalar_tensor"() {s = 10 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_40 = "aten.where.self"(%eq_41, %scalar_tensor_30, %arange_11) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_41 = "aten.where.self"(%eq_40, %add_12, %where_40) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_11 = "aten.unsqueeze"(%where_41) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_34 = "aten.expand"(%unsqueeze_11) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_35 = "aten.expand"(%expand_34) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_36 = "aten.expand"(%where_39) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_10 = "aten.remainder.Scalar"(%expand_35) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_10 = "aten.gather"(%expand_36, %remainder_10) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_41 = "aten.slice.Tensor"(%gather_10) {dim = 0 : i64, start = 10 : i64, end = 11 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_42 = "aten.slice.Tensor"(%gather_10) {dim = 1 : i64, start = 10 : i64, end = 11 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_43 = "aten.slice.Tensor"(%slice_41) {dim = 1 : i64, start = 10 : i64, end = 11 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_10 = "aten.div.Tensor"(%slice_41, %slice_43) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_43 = "aten.eq.Scalar"(%unsqueeze) {other = 10 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_21 = "aten.mul.Tensor"(%slice_42, %div_10) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_11 = "aten.sub.Tensor"(%gather_10, %mul_21) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_43 = "aten.where.self"(%eq_43, %div_10, %sub_11) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %detach_11 = "aten.detach"(%where_43) : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_44 = "aten.slice.Tensor"(%detach_11) {dim = 0 : i64, start = 11 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %select_33 = "aten.select.int"(%slice_44) {dim = 1 : i64, index = 11 : i64} : (tensor<1x24xf32>) -> tensor<1xf32>
    %abs_12 = "aten.abs"(%select_33) : (tensor<1xf32>) -> tensor<1xf32>
    %argmax_11 = "aten.argmax"(%abs_12) {dim = -1 : i64, keepdim = true} : (tensor<1xf32>) -> tensor<1xi64>
    %add_13 = "aten.add.Tensor"(%argmax_11) {other = 11 : i64} : (tensor<1xi64>) -> tensor<1xi64>
    %arange_12 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64>
    %eq_44 = "aten.eq.Scalar"(%arange_12) {other = 11 : i64} : (tensor<12xi64>) -> tensor<12xi1>
    %eq_45 = "aten.eq.Tensor"(%arange_12, %add_13) : (tensor<12xi64>, tensor<1xi64>) -> tensor<12xi1>
    %scalar_tensor_33 = "aten.scalar_tensor"() {s = 11 : i64, dtype = "i64"} : () -> tensor<i64>
    %where_44 = "aten.where.self"(%eq_45, %scalar_tensor_33, %arange_12) : (tensor<12xi1>, tensor<i64>, tensor<12xi64>) -> tensor<12xi64>
    %where_45 = "aten.where.self"(%eq_44, %add_13, %where_44) : (tensor<12xi1>, tensor<1xi64>, tensor<12xi64>) -> tensor<12xi64>
    %unsqueeze_12 = "aten.unsqueeze"(%where_45) {dim = -1 : i64} : (tensor<12xi64>) -> tensor<12x1xi64>
    %expand_37 = "aten.expand"(%unsqueeze_12) {size = array<i64: 12, 24>} : (tensor<12x1xi64>) -> tensor<12x24xi64>
    %expand_38 = "aten.expand"(%expand_37) {size = array<i64: 12, 24>} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %expand_39 = "aten.expand"(%where_43) {size = array<i64: 12, 24>} : (tensor<12x24xf32>) -> tensor<12x24xf32>
    %remainder_11 = "aten.remainder.Scalar"(%expand_38) {other = 12 : i64} : (tensor<12x24xi64>) -> tensor<12x24xi64>
    %gather_11 = "aten.gather"(%expand_39, %remainder_11) {dim = 0 : i64} : (tensor<12x24xf32>, tensor<12x24xi64>) -> tensor<12x24xf32>
    %slice_45 = "aten.slice.Tensor"(%gather_11) {dim = 0 : i64, start = 11 : i64, end = 12 : i64} : (tensor<12x24xf32>) -> tensor<1x24xf32>
    %slice_46 = "aten.slice.Tensor"(%gather_11) {dim = 1 : i64, start = 11 : i64, end = 12 : i64} : (tensor<12x24xf32>) -> tensor<12x1xf32>
    %slice_47 = "aten.slice.Tensor"(%slice_45) {dim = 1 : i64, start = 11 : i64, end = 12 : i64} : (tensor<1x24xf32>) -> tensor<1x1xf32>
    %div_11 = "aten.div.Tensor"(%slice_45, %slice_47) : (tensor<1x24xf32>, tensor<1x1xf32>) -> tensor<1x24xf32>
    %eq_47 = "aten.eq.Scalar"(%unsqueeze) {other = 11 : i64} : (tensor<12x1xi64>) -> tensor<12x1xi1>
    %mul_23 = "aten.mul.Tensor"(%slice_46, %div_11) : (tensor<12x1xf32>, tensor<1x24xf32>) -> tensor<12x24xf32>
    %sub_12 = "aten.sub.Tensor"(%gather_11, %mul_23) : (tensor<12x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %where_47 = "aten.where.self"(%eq_47, %div_11, %sub_12) : (tensor<12x1xi1>, tensor<1x24xf32>, tensor<12x24xf32>) -> tensor<12x24xf32>
    %slice_48 = "aten.slice.Tensor"(%where_47) {dim = 1 : i64, start = 12 : i64, end = 9223372036854775807 : i64} : (tensor<12x24xf32>) -> tensor<12x12xf32>
    %slice_49 = "aten.slice.Tensor"(%slice_48) {dim = 1 : i64, start = 0 : i64, end = 6 : i64} : (tensor<12x12xf32>) -> tensor<12x6xf32>
    %matmul = "aten.matmul"(%arg4, %slice_49) : (tensor<12x12xf32>, tensor<12x6xf32>) -> tensor<12x6xf32>
    %permute_2 = "aten.permute"(%matmul) {dims = array<i64: 1, 0>} : (tensor<12x6xf32>) -> tensor<6x12xf32>
    %linear = "aten.linear"(%arg5, %permute_2, %arg0) : (tensor<4x12xf32>, tensor<6x12xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    %relu = "aten.relu"(%linear) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %linear_1 = "aten.linear"(%relu, %arg2, %arg3) : (tensor<4x6xf32>, tensor<12x6xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
