module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<10xf32>, %arg1: tensor<10xf32>, %arg2: tensor<10xf32>, %arg3: tensor<f32>, %arg4: tensor<10xf32>, %arg5: tensor<f32>, %arg6: tensor<10xf32>, %arg7: tensor<16x10xf32>, %arg8: tensor<8x16xf32>, %arg9: tensor<8xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<10xf32> {jax.result_info = "result[1]['bound']"}, tensor<10xf32> {jax.result_info = "result[1]['decay']"}, tensor<10xf32> {jax.result_info = "result[1]['deviation']"}, tensor<f32> {jax.result_info = "result[1]['heat']"}, tensor<10xf32> {jax.result_info = "result[1]['mixture']"}, tensor<f32> {jax.result_info = "result[1]['power']"}, tensor<10xf32> {jax.result_info = "result[1]['shift']"}, tensor<16x10xf32> {jax.result_info = "result[1]['w']"}) {
    %0:2 = call @softplus(%arg2) : (tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    %1 = stablehlo.abs %arg0 : tensor<10xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %3 = stablehlo.compare GE, %arg0, %2, FLOAT : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %4:3 = call @clip(%1, %cst_0, %cst_1) : (tensor<10xf32>, tensor<f32>, tensor<f32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>)
    %5 = stablehlo.dot_general %arg8, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
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
    %94 = stablehlo.broadcast_in_dim %arg9, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
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
    %194 = stablehlo.dot_general %191, %arg8, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<8x16xf32>) -> tensor<10x16xf32>
    %195 = stablehlo.transpose %194, dims = [1, 0] : (tensor<10x16xf32>) -> tensor<16x10xf32>
    %196 = call @clip_3(%4#1, %4#2, %148) : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %cst_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %197 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %198 = stablehlo.select %3, %197, %196 : tensor<10xi1>, tensor<10xf32>
    %199 = stablehlo.select %3, %196, %197 : tensor<10xi1>, tensor<10xf32>
    %200 = stablehlo.negate %198 : tensor<10xf32>
    %201 = stablehlo.add %199, %200 : tensor<10xf32>
    %202 = call @softplus_4(%0#1, %165) : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %cst_61 = stablehlo.constant dense<-2.000000e-01> : tensor<f32>
    %203 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %204 = stablehlo.multiply %203, %201 : tensor<10xf32>
    %cst_62 = stablehlo.constant dense<-2.000000e-01> : tensor<f32>
    %205 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %206 = stablehlo.multiply %205, %155 : tensor<10xf32>
    %cst_63 = stablehlo.constant dense<-2.000000e-01> : tensor<f32>
    %207 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %208 = stablehlo.multiply %207, %202 : tensor<10xf32>
    %cst_64 = stablehlo.constant dense<-2.000000e-01> : tensor<f32>
    %209 = stablehlo.multiply %cst_64, %193 : tensor<f32>
    %cst_65 = stablehlo.constant dense<-2.000000e-01> : tensor<f32>
    %210 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %211 = stablehlo.multiply %210, %183 : tensor<10xf32>
    %cst_66 = stablehlo.constant dense<-2.000000e-01> : tensor<f32>
    %212 = stablehlo.multiply %cst_66, %134 : tensor<f32>
    %cst_67 = stablehlo.constant dense<-2.000000e-01> : tensor<f32>
    %213 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %214 = stablehlo.multiply %213, %187 : tensor<10xf32>
    %cst_68 = stablehlo.constant dense<-2.000000e-01> : tensor<f32>
    %215 = stablehlo.broadcast_in_dim %cst_68, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %216 = stablehlo.multiply %215, %195 : tensor<16x10xf32>
    %217 = stablehlo.add %arg0, %204 : tensor<10xf32>
    %218 = stablehlo.add %arg1, %206 : tensor<10xf32>
    %219 = stablehlo.add %arg2, %208 : tensor<10xf32>
    %220 = stablehlo.add %arg3, %209 : tensor<f32>
    %221 = stablehlo.add %arg4, %211 : tensor<10xf32>
    %222 = stablehlo.add %arg5, %212 : tensor<f32>
    %223 = stablehlo.add %arg6, %214 : tensor<10xf32>
    %224 = stablehlo.add %arg7, %216 : tensor<16x10xf32>
    return %116, %217, %218, %219, %220, %221, %222, %223, %224 : tensor<f32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<f32>, tensor<10xf32>, tensor<f32>, tensor<10xf32>, tensor<16x10xf32>
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
}
