module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<10xf32>, %arg1: tensor<10xf32>, %arg2: tensor<10xf32>, %arg3: tensor<f32>, %arg4: tensor<10xf32>, %arg5: tensor<f32>, %arg6: tensor<10xf32>, %arg7: tensor<16x10xf32>, %arg8: tensor<i32>, %arg9: tensor<10xf32>, %arg10: tensor<10xf32>, %arg11: tensor<10xf32>, %arg12: tensor<f32>, %arg13: tensor<10xf32>, %arg14: tensor<f32>, %arg15: tensor<10xf32>, %arg16: tensor<16x10xf32>, %arg17: tensor<10xf32>, %arg18: tensor<10xf32>, %arg19: tensor<10xf32>, %arg20: tensor<f32>, %arg21: tensor<10xf32>, %arg22: tensor<f32>, %arg23: tensor<10xf32>, %arg24: tensor<16x10xf32>, %arg25: tensor<8x16xf32>, %arg26: tensor<8xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<10xf32> {jax.result_info = "result[1]['bound']"}, tensor<10xf32> {jax.result_info = "result[1]['decay']"}, tensor<10xf32> {jax.result_info = "result[1]['deviation']"}, tensor<f32> {jax.result_info = "result[1]['heat']"}, tensor<10xf32> {jax.result_info = "result[1]['mixture']"}, tensor<f32> {jax.result_info = "result[1]['power']"}, tensor<10xf32> {jax.result_info = "result[1]['shift']"}, tensor<16x10xf32> {jax.result_info = "result[1]['w']"}, tensor<i32> {jax.result_info = "result[2][0].count"}, tensor<10xf32> {jax.result_info = "result[2][0].mu['bound']"}, tensor<10xf32> {jax.result_info = "result[2][0].mu['decay']"}, tensor<10xf32> {jax.result_info = "result[2][0].mu['deviation']"}, tensor<f32> {jax.result_info = "result[2][0].mu['heat']"}, tensor<10xf32> {jax.result_info = "result[2][0].mu['mixture']"}, tensor<f32> {jax.result_info = "result[2][0].mu['power']"}, tensor<10xf32> {jax.result_info = "result[2][0].mu['shift']"}, tensor<16x10xf32> {jax.result_info = "result[2][0].mu['w']"}, tensor<10xf32> {jax.result_info = "result[2][0].nu['bound']"}, tensor<10xf32> {jax.result_info = "result[2][0].nu['decay']"}, tensor<10xf32> {jax.result_info = "result[2][0].nu['deviation']"}, tensor<f32> {jax.result_info = "result[2][0].nu['heat']"}, tensor<10xf32> {jax.result_info = "result[2][0].nu['mixture']"}, tensor<f32> {jax.result_info = "result[2][0].nu['power']"}, tensor<10xf32> {jax.result_info = "result[2][0].nu['shift']"}, tensor<16x10xf32> {jax.result_info = "result[2][0].nu['w']"}) {
    %0:2 = call @softplus(%arg2) : (tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    %1 = stablehlo.abs %arg0 : tensor<10xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %3 = stablehlo.compare GE, %arg0, %2, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %4:3 = call @clip(%1, %cst_0, %cst_1) : (tensor<10xf32>, tensor<f32>, tensor<f32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>)
    %5 = stablehlo.dot_general %arg25, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %6 = stablehlo.exponential %arg3 : tensor<f32>
    %cst_2 = stablehlo.constant dense<1.000000e+02> : tensor<f32>
    %7 = stablehlo.minimum %6, %cst_2 : tensor<f32>
    %8 = stablehlo.compare EQ, %6, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.select %8, %cst_4, %cst_3 : tensor<i1>, tensor<f32>
    %cst_5 = stablehlo.constant dense<1.000000e+02> : tensor<f32>
    %10 = stablehlo.compare EQ, %cst_5, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_7 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %11 = stablehlo.select %10, %cst_7, %cst_6 : tensor<i1>, tensor<f32>
    %12 = stablehlo.divide %9, %11 : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %14 = stablehlo.multiply %5, %13 : tensor<8x10xf32>
    %15:3 = call @log_softmax(%arg6) : (tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<1xf32>)
    %16 = stablehlo.broadcast_in_dim %15#0, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %18 = stablehlo.add %14, %17 : tensor<8x10xf32>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.reduce(%arg4 init: %cst_8) applies stablehlo.maximum across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.maximum %cst_9, %19 : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<1xf32>) -> tensor<10xf32>
    %23 = stablehlo.subtract %arg4, %22 : tensor<10xf32>
    %24 = stablehlo.exponential %23 : tensor<10xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0] : (tensor<1xf32>) -> tensor<10xf32>
    %28 = stablehlo.divide %24, %27 : tensor<10xf32>
    %29 = stablehlo.multiply %26, %26 : tensor<1xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %31 = stablehlo.divide %30, %29 : tensor<1xf32>
    %32 = stablehlo.broadcast_in_dim %28, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %34 = stablehlo.multiply %18, %33 : tensor<8x10xf32>
    %35 = stablehlo.broadcast_in_dim %0#0, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %37 = stablehlo.divide %34, %36 : tensor<8x10xf32>
    %38 = stablehlo.multiply %35, %35 : tensor<1x10xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<1x10xf32>
    %40 = stablehlo.divide %39, %38 : tensor<1x10xf32>
    %cst_13 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %41 = stablehlo.reduce(%arg1 init: %cst_13) applies stablehlo.maximum across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %42 = stablehlo.reshape %41 : (tensor<f32>) -> tensor<1xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0] : (tensor<1xf32>) -> tensor<10xf32>
    %44 = stablehlo.compare EQ, %arg1, %43, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %45 = stablehlo.convert %44 : (tensor<10xi1>) -> tensor<10xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.reduce(%45 init: %cst_14) applies stablehlo.add across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %47 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %48 = stablehlo.subtract %arg1, %47 : tensor<10xf32>
    %49 = stablehlo.maximum %48, %4#0 : tensor<10xf32>
    %50 = stablehlo.compare EQ, %48, %49, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %53 = stablehlo.select %50, %51, %52 : tensor<10xi1>, tensor<10xf32>
    %54 = stablehlo.compare EQ, %4#0, %49, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_17 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %57 = stablehlo.select %54, %55, %56 : tensor<10xi1>, tensor<10xf32>
    %58 = stablehlo.divide %53, %57 : tensor<10xf32>
    %59 = stablehlo.compare EQ, %4#0, %49, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_19 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %62 = stablehlo.select %59, %60, %61 : tensor<10xi1>, tensor<10xf32>
    %63 = stablehlo.compare EQ, %48, %49, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_21 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %cst_22 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %66 = stablehlo.select %63, %64, %65 : tensor<10xi1>, tensor<10xf32>
    %67 = stablehlo.divide %62, %66 : tensor<10xf32>
    %68 = stablehlo.broadcast_in_dim %49, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %70 = stablehlo.add %37, %69 : tensor<8x10xf32>
    %71 = stablehlo.log %0#0 : tensor<10xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %72 = stablehlo.reduce(%71 init: %cst_23) applies stablehlo.add across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %cst_24 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %73 = stablehlo.divide %72, %cst_24 : tensor<f32>
    %74 = stablehlo.abs %70 : tensor<8x10xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %76 = stablehlo.compare GE, %70, %75, FLOAT : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xi1>
    %cst_26 = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %77 = stablehlo.add %cst_26, %arg5 : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %77, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %79 = stablehlo.power %74, %78 : tensor<8x10xf32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %80 = stablehlo.subtract %77, %cst_27 : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %82 = stablehlo.power %74, %81 : tensor<8x10xf32>
    %83 = stablehlo.broadcast_in_dim %77, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %84 = stablehlo.multiply %83, %82 : tensor<8x10xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %85 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %86 = stablehlo.compare EQ, %74, %85, FLOAT : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xi1>
    %cst_29 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %87 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %88 = stablehlo.select %86, %87, %74 : tensor<8x10xi1>, tensor<8x10xf32>
    %89 = stablehlo.log %88 : tensor<8x10xf32>
    %90 = stablehlo.multiply %89, %79 : tensor<8x10xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %91 = stablehlo.reduce(%79 init: %cst_30) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<f32>
    %cst_31 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %92 = stablehlo.multiply %91, %cst_31 : tensor<f32>
    %93 = stablehlo.add %73, %92 : tensor<f32>
    %94 = stablehlo.broadcast_in_dim %arg26, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %95:2 = call @take_along_axis(%70, %94) : (tensor<8x10xf32>, tensor<8x1xi32>) -> (tensor<8x1xf32>, tensor<8x1x1xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %96:2 = call @_take(%95#0, %c) : (tensor<8x1xf32>, tensor<i32>) -> (tensor<8xf32>, tensor<1xi32>)
    %cst_32 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %97 = stablehlo.reduce(%70 init: %cst_32) applies stablehlo.maximum across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_33 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %98 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %99 = stablehlo.maximum %98, %97 : tensor<8xf32>
    %100 = stablehlo.is_finite %99 : (tensor<8xf32>) -> tensor<8xi1>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %102 = stablehlo.select %100, %99, %101 : tensor<8xi1>, tensor<8xf32>
    %103 = stablehlo.broadcast_in_dim %102, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %104 = stablehlo.broadcast_in_dim %103, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x10xf32>
    %105 = stablehlo.subtract %70, %104 : tensor<8x10xf32>
    %106 = stablehlo.exponential %105 : tensor<8x10xf32>
    %cst_35 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %107 = stablehlo.reduce(%106 init: %cst_35) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %108 = stablehlo.abs %107 : tensor<8xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %109 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %110 = stablehlo.compare GE, %107, %109, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %111 = stablehlo.log %108 : tensor<8xf32>
    %112 = stablehlo.add %111, %102 : tensor<8xf32>
    %113 = stablehlo.subtract %112, %96#0 : tensor<8xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %114 = stablehlo.reduce(%113 init: %cst_37) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %cst_38 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %115 = stablehlo.divide %114, %cst_38 : tensor<f32>
    %116 = stablehlo.add %115, %93 : tensor<f32>
    %cst_39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_40 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %117 = stablehlo.divide %cst_39, %cst_40 : tensor<f32>
    %118 = stablehlo.broadcast_in_dim %117, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %119 = stablehlo.negate %118 : tensor<8xf32>
    %120 = stablehlo.divide %118, %108 : tensor<8xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %121 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %122 = stablehlo.select %110, %121, %120 : tensor<8xi1>, tensor<8xf32>
    %123 = stablehlo.select %110, %120, %121 : tensor<8xi1>, tensor<8xf32>
    %124 = stablehlo.negate %122 : tensor<8xf32>
    %125 = stablehlo.add %123, %124 : tensor<8xf32>
    %126 = stablehlo.broadcast_in_dim %125, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %127 = stablehlo.multiply %126, %106 : tensor<8x10xf32>
    %128 = call @_take_0(%96#1, %119) : (tensor<1xi32>, tensor<8xf32>) -> tensor<8x1xf32>
    %129 = call @take_along_axis_1(%95#1, %128) : (tensor<8x1x1xi32>, tensor<8x1xf32>) -> tensor<8x10xf32>
    %130 = stablehlo.add %127, %129 : tensor<8x10xf32>
    %cst_42 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_43 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %131 = stablehlo.multiply %cst_42, %cst_43 : tensor<f32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %133 = stablehlo.multiply %132, %90 : tensor<8x10xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %134 = stablehlo.reduce(%133 init: %cst_44) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<f32>
    %135 = stablehlo.multiply %132, %84 : tensor<8x10xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %136 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %137 = stablehlo.select %76, %136, %135 : tensor<8x10xi1>, tensor<8x10xf32>
    %138 = stablehlo.select %76, %135, %136 : tensor<8x10xi1>, tensor<8x10xf32>
    %139 = stablehlo.add %130, %138 : tensor<8x10xf32>
    %140 = stablehlo.negate %137 : tensor<8x10xf32>
    %141 = stablehlo.add %139, %140 : tensor<8x10xf32>
    %cst_46 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_47 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %142 = stablehlo.divide %cst_46, %cst_47 : tensor<f32>
    %143 = stablehlo.broadcast_in_dim %142, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %144 = stablehlo.divide %143, %0#0 : tensor<10xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %145 = stablehlo.reduce(%141 init: %cst_48) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<10xf32>
    %146 = stablehlo.reshape %145 : (tensor<10xf32>) -> tensor<1x10xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %147 = stablehlo.reduce(%146 init: %cst_49) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %148 = stablehlo.multiply %147, %67 : tensor<10xf32>
    %149 = stablehlo.multiply %147, %58 : tensor<10xf32>
    %150 = stablehlo.negate %149 : tensor<10xf32>
    %cst_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %151 = stablehlo.reduce(%150 init: %cst_50) applies stablehlo.add across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %152 = stablehlo.divide %151, %46 : tensor<f32>
    %153 = stablehlo.broadcast_in_dim %152, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %154 = stablehlo.multiply %153, %45 : tensor<10xf32>
    %155 = stablehlo.add %149, %154 : tensor<10xf32>
    %156 = stablehlo.broadcast_in_dim %40, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %157 = stablehlo.multiply %141, %156 : tensor<8x10xf32>
    %158 = stablehlo.multiply %157, %34 : tensor<8x10xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %159 = stablehlo.reduce(%158 init: %cst_51) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<10xf32>
    %160 = stablehlo.reshape %159 : (tensor<10xf32>) -> tensor<1x10xf32>
    %161 = stablehlo.negate %160 : tensor<1x10xf32>
    %162 = stablehlo.broadcast_in_dim %35, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %163 = stablehlo.divide %141, %162 : tensor<8x10xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %164 = stablehlo.reduce(%161 init: %cst_52) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %165 = stablehlo.add %144, %164 : tensor<10xf32>
    %166 = stablehlo.multiply %18, %163 : tensor<8x10xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %167 = stablehlo.reduce(%166 init: %cst_53) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<10xf32>
    %168 = stablehlo.reshape %167 : (tensor<10xf32>) -> tensor<1x10xf32>
    %169 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %170 = stablehlo.multiply %163, %169 : tensor<8x10xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %171 = stablehlo.reduce(%168 init: %cst_54) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %172 = stablehlo.broadcast_in_dim %31, dims = [0] : (tensor<1xf32>) -> tensor<10xf32>
    %173 = stablehlo.multiply %171, %172 : tensor<10xf32>
    %174 = stablehlo.multiply %173, %24 : tensor<10xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %175 = stablehlo.reduce(%174 init: %cst_55) applies stablehlo.add across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %176 = stablehlo.reshape %175 : (tensor<f32>) -> tensor<1xf32>
    %177 = stablehlo.negate %176 : tensor<1xf32>
    %178 = stablehlo.broadcast_in_dim %26, dims = [0] : (tensor<1xf32>) -> tensor<10xf32>
    %179 = stablehlo.divide %171, %178 : tensor<10xf32>
    %cst_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %180 = stablehlo.reduce(%177 init: %cst_56) applies stablehlo.add across dimensions = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<f32>
    %181 = stablehlo.broadcast_in_dim %180, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %182 = stablehlo.add %179, %181 : tensor<10xf32>
    %183 = stablehlo.multiply %182, %24 : tensor<10xf32>
    %cst_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %184 = stablehlo.reduce(%170 init: %cst_57) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<10xf32>
    %185 = stablehlo.reshape %184 : (tensor<10xf32>) -> tensor<1x10xf32>
    %cst_58 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %186 = stablehlo.reduce(%185 init: %cst_58) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %187 = call @log_softmax_2(%15#1, %15#2, %186) : (tensor<10xf32>, tensor<1xf32>, tensor<10xf32>) -> tensor<10xf32>
    %188 = stablehlo.multiply %5, %170 : tensor<8x10xf32>
    %cst_59 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %189 = stablehlo.reduce(%188 init: %cst_59) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<f32>
    %190 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %191 = stablehlo.multiply %170, %190 : tensor<8x10xf32>
    %192 = stablehlo.multiply %189, %12 : tensor<f32>
    %193 = stablehlo.multiply %192, %6 : tensor<f32>
    %194 = stablehlo.dot_general %191, %arg25, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<8x16xf32>) -> tensor<10x16xf32>
    %195 = stablehlo.transpose %194, dims = [1, 0] : (tensor<10x16xf32>) -> tensor<16x10xf32>
    %196 = call @clip_3(%4#1, %4#2, %148) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %cst_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %197 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %198 = stablehlo.select %3, %197, %196 : tensor<10xi1>, tensor<10xf32>
    %199 = stablehlo.select %3, %196, %197 : tensor<10xi1>, tensor<10xf32>
    %200 = stablehlo.negate %198 : tensor<10xf32>
    %201 = stablehlo.add %199, %200 : tensor<10xf32>
    %202 = call @softplus_4(%0#1, %165) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %cst_61 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %203 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %204 = stablehlo.multiply %203, %201 : tensor<10xf32>
    %cst_62 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %205 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %206 = stablehlo.multiply %205, %arg9 : tensor<10xf32>
    %207 = stablehlo.add %204, %206 : tensor<10xf32>
    %cst_63 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %208 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %209 = stablehlo.multiply %208, %155 : tensor<10xf32>
    %cst_64 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %210 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %211 = stablehlo.multiply %210, %arg10 : tensor<10xf32>
    %212 = stablehlo.add %209, %211 : tensor<10xf32>
    %cst_65 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %213 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %214 = stablehlo.multiply %213, %202 : tensor<10xf32>
    %cst_66 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %215 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %216 = stablehlo.multiply %215, %arg11 : tensor<10xf32>
    %217 = stablehlo.add %214, %216 : tensor<10xf32>
    %cst_67 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %218 = stablehlo.multiply %cst_67, %193 : tensor<f32>
    %cst_68 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %219 = stablehlo.multiply %cst_68, %arg12 : tensor<f32>
    %220 = stablehlo.add %218, %219 : tensor<f32>
    %cst_69 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %221 = stablehlo.broadcast_in_dim %cst_69, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %222 = stablehlo.multiply %221, %183 : tensor<10xf32>
    %cst_70 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %223 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %224 = stablehlo.multiply %223, %arg13 : tensor<10xf32>
    %225 = stablehlo.add %222, %224 : tensor<10xf32>
    %cst_71 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %226 = stablehlo.multiply %cst_71, %134 : tensor<f32>
    %cst_72 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %227 = stablehlo.multiply %cst_72, %arg14 : tensor<f32>
    %228 = stablehlo.add %226, %227 : tensor<f32>
    %cst_73 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %229 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %230 = stablehlo.multiply %229, %187 : tensor<10xf32>
    %cst_74 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %231 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %232 = stablehlo.multiply %231, %arg15 : tensor<10xf32>
    %233 = stablehlo.add %230, %232 : tensor<10xf32>
    %cst_75 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %234 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %235 = stablehlo.multiply %234, %195 : tensor<16x10xf32>
    %cst_76 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %236 = stablehlo.broadcast_in_dim %cst_76, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %237 = stablehlo.multiply %236, %arg16 : tensor<16x10xf32>
    %238 = stablehlo.add %235, %237 : tensor<16x10xf32>
    %239 = stablehlo.multiply %201, %201 : tensor<10xf32>
    %cst_77 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %240 = stablehlo.broadcast_in_dim %cst_77, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %241 = stablehlo.multiply %240, %239 : tensor<10xf32>
    %cst_78 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %242 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %243 = stablehlo.multiply %242, %arg17 : tensor<10xf32>
    %244 = stablehlo.add %241, %243 : tensor<10xf32>
    %245 = stablehlo.multiply %155, %155 : tensor<10xf32>
    %cst_79 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %246 = stablehlo.broadcast_in_dim %cst_79, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %247 = stablehlo.multiply %246, %245 : tensor<10xf32>
    %cst_80 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %248 = stablehlo.broadcast_in_dim %cst_80, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %249 = stablehlo.multiply %248, %arg18 : tensor<10xf32>
    %250 = stablehlo.add %247, %249 : tensor<10xf32>
    %251 = stablehlo.multiply %202, %202 : tensor<10xf32>
    %cst_81 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %252 = stablehlo.broadcast_in_dim %cst_81, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %253 = stablehlo.multiply %252, %251 : tensor<10xf32>
    %cst_82 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %254 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %255 = stablehlo.multiply %254, %arg19 : tensor<10xf32>
    %256 = stablehlo.add %253, %255 : tensor<10xf32>
    %257 = stablehlo.multiply %193, %193 : tensor<f32>
    %cst_83 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %258 = stablehlo.multiply %cst_83, %257 : tensor<f32>
    %cst_84 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %259 = stablehlo.multiply %cst_84, %arg20 : tensor<f32>
    %260 = stablehlo.add %258, %259 : tensor<f32>
    %261 = stablehlo.multiply %183, %183 : tensor<10xf32>
    %cst_85 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %262 = stablehlo.broadcast_in_dim %cst_85, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %263 = stablehlo.multiply %262, %261 : tensor<10xf32>
    %cst_86 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %264 = stablehlo.broadcast_in_dim %cst_86, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %265 = stablehlo.multiply %264, %arg21 : tensor<10xf32>
    %266 = stablehlo.add %263, %265 : tensor<10xf32>
    %267 = stablehlo.multiply %134, %134 : tensor<f32>
    %cst_87 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %268 = stablehlo.multiply %cst_87, %267 : tensor<f32>
    %cst_88 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %269 = stablehlo.multiply %cst_88, %arg22 : tensor<f32>
    %270 = stablehlo.add %268, %269 : tensor<f32>
    %271 = stablehlo.multiply %187, %187 : tensor<10xf32>
    %cst_89 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %272 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %273 = stablehlo.multiply %272, %271 : tensor<10xf32>
    %cst_90 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %274 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %275 = stablehlo.multiply %274, %arg23 : tensor<10xf32>
    %276 = stablehlo.add %273, %275 : tensor<10xf32>
    %277 = stablehlo.multiply %195, %195 : tensor<16x10xf32>
    %cst_91 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %278 = stablehlo.broadcast_in_dim %cst_91, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %279 = stablehlo.multiply %278, %277 : tensor<16x10xf32>
    %cst_92 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %280 = stablehlo.broadcast_in_dim %cst_92, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %281 = stablehlo.multiply %280, %arg24 : tensor<16x10xf32>
    %282 = stablehlo.add %279, %281 : tensor<16x10xf32>
    %c_93 = stablehlo.constant dense<2147483647> : tensor<i32>
    %283 = stablehlo.compare LT, %arg8, %c_93, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_94 = stablehlo.constant dense<1> : tensor<i32>
    %284 = stablehlo.add %arg8, %c_94 : tensor<i32>
    %c_95 = stablehlo.constant dense<2147483647> : tensor<i32>
    %285 = call @_where_5(%283, %284, %c_95) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %cst_96 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %286 = stablehlo.convert %285 : (tensor<i32>) -> tensor<f32>
    %287 = stablehlo.power %cst_96, %286 : tensor<f32>
    %cst_97 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %288 = stablehlo.subtract %cst_97, %287 : tensor<f32>
    %289 = stablehlo.broadcast_in_dim %288, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %290 = stablehlo.divide %207, %289 : tensor<10xf32>
    %291 = stablehlo.broadcast_in_dim %288, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %292 = stablehlo.divide %212, %291 : tensor<10xf32>
    %293 = stablehlo.broadcast_in_dim %288, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %294 = stablehlo.divide %217, %293 : tensor<10xf32>
    %295 = stablehlo.divide %220, %288 : tensor<f32>
    %296 = stablehlo.broadcast_in_dim %288, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %297 = stablehlo.divide %225, %296 : tensor<10xf32>
    %298 = stablehlo.divide %228, %288 : tensor<f32>
    %299 = stablehlo.broadcast_in_dim %288, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %300 = stablehlo.divide %233, %299 : tensor<10xf32>
    %301 = stablehlo.broadcast_in_dim %288, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %302 = stablehlo.divide %238, %301 : tensor<16x10xf32>
    %cst_98 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %303 = stablehlo.convert %285 : (tensor<i32>) -> tensor<f32>
    %304 = stablehlo.power %cst_98, %303 : tensor<f32>
    %cst_99 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %305 = stablehlo.subtract %cst_99, %304 : tensor<f32>
    %306 = stablehlo.broadcast_in_dim %305, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %307 = stablehlo.divide %244, %306 : tensor<10xf32>
    %308 = stablehlo.broadcast_in_dim %305, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %309 = stablehlo.divide %250, %308 : tensor<10xf32>
    %310 = stablehlo.broadcast_in_dim %305, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %311 = stablehlo.divide %256, %310 : tensor<10xf32>
    %312 = stablehlo.divide %260, %305 : tensor<f32>
    %313 = stablehlo.broadcast_in_dim %305, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %314 = stablehlo.divide %266, %313 : tensor<10xf32>
    %315 = stablehlo.divide %270, %305 : tensor<f32>
    %316 = stablehlo.broadcast_in_dim %305, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %317 = stablehlo.divide %276, %316 : tensor<10xf32>
    %318 = stablehlo.broadcast_in_dim %305, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %319 = stablehlo.divide %282, %318 : tensor<16x10xf32>
    %cst_100 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %320 = stablehlo.broadcast_in_dim %cst_100, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %321 = stablehlo.add %307, %320 : tensor<10xf32>
    %322 = stablehlo.sqrt %321 : tensor<10xf32>
    %cst_101 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %323 = stablehlo.broadcast_in_dim %cst_101, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %324 = stablehlo.add %322, %323 : tensor<10xf32>
    %325 = stablehlo.divide %290, %324 : tensor<10xf32>
    %cst_102 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %326 = stablehlo.broadcast_in_dim %cst_102, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %327 = stablehlo.add %309, %326 : tensor<10xf32>
    %328 = stablehlo.sqrt %327 : tensor<10xf32>
    %cst_103 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %329 = stablehlo.broadcast_in_dim %cst_103, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %330 = stablehlo.add %328, %329 : tensor<10xf32>
    %331 = stablehlo.divide %292, %330 : tensor<10xf32>
    %cst_104 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %332 = stablehlo.broadcast_in_dim %cst_104, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %333 = stablehlo.add %311, %332 : tensor<10xf32>
    %334 = stablehlo.sqrt %333 : tensor<10xf32>
    %cst_105 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %335 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %336 = stablehlo.add %334, %335 : tensor<10xf32>
    %337 = stablehlo.divide %294, %336 : tensor<10xf32>
    %cst_106 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %338 = stablehlo.add %312, %cst_106 : tensor<f32>
    %339 = stablehlo.sqrt %338 : tensor<f32>
    %cst_107 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %340 = stablehlo.add %339, %cst_107 : tensor<f32>
    %341 = stablehlo.divide %295, %340 : tensor<f32>
    %cst_108 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %342 = stablehlo.broadcast_in_dim %cst_108, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %343 = stablehlo.add %314, %342 : tensor<10xf32>
    %344 = stablehlo.sqrt %343 : tensor<10xf32>
    %cst_109 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %345 = stablehlo.broadcast_in_dim %cst_109, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %346 = stablehlo.add %344, %345 : tensor<10xf32>
    %347 = stablehlo.divide %297, %346 : tensor<10xf32>
    %cst_110 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %348 = stablehlo.add %315, %cst_110 : tensor<f32>
    %349 = stablehlo.sqrt %348 : tensor<f32>
    %cst_111 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %350 = stablehlo.add %349, %cst_111 : tensor<f32>
    %351 = stablehlo.divide %298, %350 : tensor<f32>
    %cst_112 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %352 = stablehlo.broadcast_in_dim %cst_112, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %353 = stablehlo.add %317, %352 : tensor<10xf32>
    %354 = stablehlo.sqrt %353 : tensor<10xf32>
    %cst_113 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %355 = stablehlo.broadcast_in_dim %cst_113, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %356 = stablehlo.add %354, %355 : tensor<10xf32>
    %357 = stablehlo.divide %300, %356 : tensor<10xf32>
    %cst_114 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %358 = stablehlo.broadcast_in_dim %cst_114, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %359 = stablehlo.add %319, %358 : tensor<16x10xf32>
    %360 = stablehlo.sqrt %359 : tensor<16x10xf32>
    %cst_115 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %361 = stablehlo.broadcast_in_dim %cst_115, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %362 = stablehlo.add %360, %361 : tensor<16x10xf32>
    %363 = stablehlo.divide %302, %362 : tensor<16x10xf32>
    %cst_116 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %364 = stablehlo.broadcast_in_dim %cst_116, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %365 = stablehlo.multiply %364, %325 : tensor<10xf32>
    %cst_117 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %366 = stablehlo.broadcast_in_dim %cst_117, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %367 = stablehlo.multiply %366, %331 : tensor<10xf32>
    %cst_118 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %368 = stablehlo.broadcast_in_dim %cst_118, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %369 = stablehlo.multiply %368, %337 : tensor<10xf32>
    %cst_119 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %370 = stablehlo.multiply %cst_119, %341 : tensor<f32>
    %cst_120 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %371 = stablehlo.broadcast_in_dim %cst_120, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %372 = stablehlo.multiply %371, %347 : tensor<10xf32>
    %cst_121 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %373 = stablehlo.multiply %cst_121, %351 : tensor<f32>
    %cst_122 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %374 = stablehlo.broadcast_in_dim %cst_122, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %375 = stablehlo.multiply %374, %357 : tensor<10xf32>
    %cst_123 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %376 = stablehlo.broadcast_in_dim %cst_123, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %377 = stablehlo.multiply %376, %363 : tensor<16x10xf32>
    %378 = stablehlo.add %arg0, %365 : tensor<10xf32>
    %379 = stablehlo.add %arg1, %367 : tensor<10xf32>
    %380 = stablehlo.add %arg2, %369 : tensor<10xf32>
    %381 = stablehlo.add %arg3, %370 : tensor<f32>
    %382 = stablehlo.add %arg4, %372 : tensor<10xf32>
    %383 = stablehlo.add %arg5, %373 : tensor<f32>
    %384 = stablehlo.add %arg6, %375 : tensor<10xf32>
    %385 = stablehlo.add %arg7, %377 : tensor<16x10xf32>
    return %116, %378, %379, %380, %381, %382, %383, %384, %385, %285, %207, %212, %217, %220, %225, %228, %233, %238, %244, %250, %256, %260, %266, %270, %276, %282 : tensor<f32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<f32>, tensor<10xf32>, tensor<f32>, tensor<10xf32>, tensor<16x10xf32>, tensor<i32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<f32>, tensor<10xf32>, tensor<f32>, tensor<10xf32>, tensor<16x10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<f32>, tensor<10xf32>, tensor<f32>, tensor<10xf32>, tensor<16x10xf32>
  }
  func.func private @softplus(%arg0: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<10xf32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %3 = stablehlo.subtract %arg0, %2 : tensor<10xf32>
    %4 = stablehlo.compare NE, %3, %3, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %6 = stablehlo.add %arg0, %5 : tensor<10xf32>
    %7 = stablehlo.abs %3 : tensor<10xf32>
    %8 = stablehlo.negate %7 : tensor<10xf32>
    %9 = stablehlo.exponential %8 : tensor<10xf32>
    %10 = stablehlo.log_plus_one %9 : tensor<10xf32>
    %11 = stablehlo.add %1, %10 : tensor<10xf32>
    %12 = stablehlo.select %4, %6, %11 : tensor<10xi1>, tensor<10xf32>
    %cst_0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %14 = stablehlo.compare EQ, %arg0, %13, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %16 = stablehlo.select %14, %15, %arg0 : tensor<10xi1>, tensor<10xf32>
    %cst_2 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %18 = stablehlo.compare EQ, %12, %17, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %20 = stablehlo.select %18, %19, %12 : tensor<10xi1>, tensor<10xf32>
    %21 = stablehlo.subtract %16, %20 : tensor<10xf32>
    %22 = stablehlo.exponential %21 : tensor<10xf32>
    return %12, %22 : tensor<10xf32>, tensor<10xf32>
  }
  func.func private @clip(%arg0: tensor<10xf32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<10xf32>
    %3 = stablehlo.compare EQ, %arg0, %2, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %6 = stablehlo.select %3, %4, %5 : tensor<10xi1>, tensor<10xf32>
    %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %8 = stablehlo.compare EQ, %7, %2, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %11 = stablehlo.select %8, %9, %10 : tensor<10xi1>, tensor<10xf32>
    %12 = stablehlo.divide %6, %11 : tensor<10xf32>
    %13 = stablehlo.convert %arg2 : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %15 = stablehlo.minimum %14, %2 : tensor<10xf32>
    %16 = stablehlo.compare EQ, %2, %15, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %19 = stablehlo.select %16, %17, %18 : tensor<10xi1>, tensor<10xf32>
    %20 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %21 = stablehlo.compare EQ, %20, %15, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %24 = stablehlo.select %21, %22, %23 : tensor<10xi1>, tensor<10xf32>
    %25 = stablehlo.divide %19, %24 : tensor<10xf32>
    return %15, %12, %25 : tensor<10xf32>, tensor<10xf32>, tensor<10xf32>
  }
  func.func private @log_softmax(%arg0: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.maximum %cst_0, %0 : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1xf32>) -> tensor<10xf32>
    %4 = stablehlo.subtract %arg0, %3 : tensor<10xf32>
    %5 = stablehlo.exponential %4 : tensor<10xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %8 = stablehlo.log %7 : tensor<1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<1xf32>) -> tensor<10xf32>
    %10 = stablehlo.subtract %4, %9 : tensor<10xf32>
    return %10, %5, %7 : tensor<10xf32>, tensor<10xf32>, tensor<1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<8x10xf32>, %arg1: tensor<8x1xi32>) -> (tensor<8x1xf32>, tensor<8x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x1xi1>
    %c_0 = stablehlo.constant dense<10> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<8x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<8x1xi1>, tensor<8x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<8x1xi32>) -> tensor<8x1x1xi32>
    %c_1 = stablehlo.constant dense<9> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<8x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<8x1x1xi32>, tensor<8x1x1xi32>) -> tensor<8x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<8x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<8x1x1xi32>, tensor<8x1x1xi32>) -> tensor<8x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<8x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<8x1x1xi1>, tensor<i1>) -> tensor<8x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<8x10xf32>, tensor<8x1x1xi32>) -> tensor<8x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<8x1xi1>, tensor<8x1xf32>
    return %15, %5 : tensor<8x1xf32>, tensor<8x1x1xi32>
  }
  func.func private @_take(%arg0: tensor<8x1xf32>, %arg1: tensor<i32>) -> (tensor<8xf32>, tensor<1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %arg1, %c_0 : tensor<i32>
    %2 = call @_where(%0, %1, %arg1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<1xi32>
    %4 = stablehlo.convert %3 : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %6 = stablehlo.compare GE, %4, %5, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %7 = stablehlo.compare LE, %4, %c_1, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %8 = stablehlo.and %6, %7 : tensor<1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %9 = stablehlo.reduce(%8 init: %c_3) applies stablehlo.and across dimensions = [0] : (tensor<1xi1>, tensor<i1>) -> tensor<i1>
    %10 = "stablehlo.gather"(%arg0, %4) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]>, indices_are_sorted = false, slice_sizes = array<i64: 8, 1>}> : (tensor<8x1xf32>, tensor<1xi32>) -> tensor<8xf32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<8xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %13 = stablehlo.select %11, %10, %12 : tensor<8xi1>, tensor<8xf32>
    return %13, %3 : tensor<8xf32>, tensor<1xi32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @_take_0(%arg0: tensor<1xi32>, %arg1: tensor<8xf32>) -> tensor<8x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x1xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8x1xf32>, tensor<1xi32>, tensor<8xf32>) -> tensor<8x1xf32>
    return %1 : tensor<8x1xf32>
  }
  func.func private @take_along_axis_1(%arg0: tensor<8x1x1xi32>, %arg1: tensor<8x1xf32>) -> tensor<8x10xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8x10xf32>, tensor<8x1x1xi32>, tensor<8x1xf32>) -> tensor<8x10xf32>
    return %1 : tensor<8x10xf32>
  }
  func.func private @log_softmax_2(%arg0: tensor<10xf32>, %arg1: tensor<1xf32>, %arg2: tensor<10xf32>) -> tensor<10xf32> {
    %0 = stablehlo.negate %arg2 : tensor<10xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.reshape %1 : (tensor<f32>) -> tensor<1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<10xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<10xf32>
    return %7 : tensor<10xf32>
  }
  func.func private @clip_3(%arg0: tensor<10xf32>, %arg1: tensor<10xf32>, %arg2: tensor<10xf32>) -> tensor<10xf32> {
    %0 = stablehlo.multiply %arg2, %arg1 : tensor<10xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<10xf32>
    return %1 : tensor<10xf32>
  }
  func.func private @softplus_4(%arg0: tensor<10xf32>, %arg1: tensor<10xf32>) -> tensor<10xf32> {
    %0 = stablehlo.multiply %arg1, %arg0 : tensor<10xf32>
    return %0 : tensor<10xf32>
  }
  func.func private @_where_5(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
}
