module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<10xf32>, %arg3: tensor<16x10xf32>, %arg4: tensor<i32>, %arg5: tensor<16xf32>, %arg6: tensor<16x16xf32>, %arg7: tensor<10xf32>, %arg8: tensor<16x10xf32>, %arg9: tensor<16xf32>, %arg10: tensor<16x16xf32>, %arg11: tensor<10xf32>, %arg12: tensor<16x10xf32>, %arg13: tensor<8x16xf32>, %arg14: tensor<8xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<16xf32> {jax.result_info = "result[1]['first']['b']"}, tensor<16x16xf32> {jax.result_info = "result[1]['first']['w']"}, tensor<10xf32> {jax.result_info = "result[1]['last']['b']"}, tensor<16x10xf32> {jax.result_info = "result[1]['last']['w']"}, tensor<i32> {jax.result_info = "result[2][0].count"}, tensor<16xf32> {jax.result_info = "result[2][0].mu['first']['b']"}, tensor<16x16xf32> {jax.result_info = "result[2][0].mu['first']['w']"}, tensor<10xf32> {jax.result_info = "result[2][0].mu['last']['b']"}, tensor<16x10xf32> {jax.result_info = "result[2][0].mu['last']['w']"}, tensor<16xf32> {jax.result_info = "result[2][0].nu['first']['b']"}, tensor<16x16xf32> {jax.result_info = "result[2][0].nu['first']['w']"}, tensor<10xf32> {jax.result_info = "result[2][0].nu['last']['b']"}, tensor<16x10xf32> {jax.result_info = "result[2][0].nu['last']['w']"}) {
    %0 = stablehlo.dot_general %arg13, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %3 = stablehlo.add %0, %2 : tensor<8x16xf32>
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<8x16xf32>
    %6 = stablehlo.negate %3 : tensor<8x16xf32>
    %cst_0 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %8 = stablehlo.multiply %6, %7 : tensor<8x16xf32>
    %9 = chlo.erfc %8 : tensor<8x16xf32> -> tensor<8x16xf32>
    %10 = chlo.square %8 : tensor<8x16xf32> -> tensor<8x16xf32>
    %11 = stablehlo.negate %10 : tensor<8x16xf32>
    %12 = stablehlo.exponential %11 : tensor<8x16xf32>
    %13 = stablehlo.multiply %5, %9 : tensor<8x16xf32>
    %14 = stablehlo.dot_general %13, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %15 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %17 = stablehlo.add %14, %16 : tensor<8x10xf32>
    %18 = stablehlo.broadcast_in_dim %arg14, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %19:2 = call @take_along_axis(%17, %18) : (tensor<8x10xf32>, tensor<8x1xi32>) -> (tensor<8x1xf32>, tensor<8x1x1xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %20:2 = call @_take(%19#0, %c) : (tensor<8x1xf32>, tensor<i32>) -> (tensor<8xf32>, tensor<1xi32>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %21 = stablehlo.reduce(%17 init: %cst_1) applies stablehlo.maximum across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %23 = stablehlo.maximum %22, %21 : tensor<8xf32>
    %24 = stablehlo.is_finite %23 : (tensor<8xf32>) -> tensor<8xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %26 = stablehlo.select %24, %23, %25 : tensor<8xi1>, tensor<8xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x10xf32>
    %29 = stablehlo.subtract %17, %28 : tensor<8x10xf32>
    %30 = stablehlo.exponential %29 : tensor<8x10xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.reduce(%30 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %32 = stablehlo.abs %31 : tensor<8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %34 = stablehlo.compare GE, %31, %33, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %35 = stablehlo.log %32 : tensor<8xf32>
    %36 = stablehlo.add %35, %26 : tensor<8xf32>
    %37 = stablehlo.subtract %36, %20#0 : tensor<8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.reduce(%37 init: %cst_6) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %cst_7 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %39 = stablehlo.divide %38, %cst_7 : tensor<f32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %40 = stablehlo.divide %cst_8, %cst_9 : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %42 = stablehlo.negate %41 : tensor<8xf32>
    %43 = stablehlo.divide %41, %32 : tensor<8xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %45 = stablehlo.select %34, %44, %43 : tensor<8xi1>, tensor<8xf32>
    %46 = stablehlo.select %34, %43, %44 : tensor<8xi1>, tensor<8xf32>
    %47 = stablehlo.negate %45 : tensor<8xf32>
    %48 = stablehlo.add %46, %47 : tensor<8xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %50 = stablehlo.multiply %49, %30 : tensor<8x10xf32>
    %51 = call @_take_0(%20#1, %42) : (tensor<1xi32>, tensor<8xf32>) -> tensor<8x1xf32>
    %52 = call @take_along_axis_1(%19#1, %51) : (tensor<8x1x1xi32>, tensor<8x1xf32>) -> tensor<8x10xf32>
    %53 = stablehlo.add %50, %52 : tensor<8x10xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%53 init: %cst_11) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<10xf32>
    %55 = stablehlo.reshape %54 : (tensor<10xf32>) -> tensor<1x10xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reduce(%55 init: %cst_12) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %57 = stablehlo.dot_general %53, %13, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<8x16xf32>) -> tensor<10x16xf32>
    %58 = stablehlo.transpose %57, dims = [1, 0] : (tensor<10x16xf32>) -> tensor<16x10xf32>
    %59 = stablehlo.dot_general %53, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<16x10xf32>) -> tensor<8x16xf32>
    %60 = stablehlo.multiply %5, %59 : tensor<8x16xf32>
    %61 = stablehlo.multiply %59, %9 : tensor<8x16xf32>
    %cst_13 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %63 = stablehlo.multiply %62, %60 : tensor<8x16xf32>
    %64 = stablehlo.multiply %63, %12 : tensor<8x16xf32>
    %cst_14 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %66 = stablehlo.multiply %64, %65 : tensor<8x16xf32>
    %67 = stablehlo.negate %66 : tensor<8x16xf32>
    %cst_15 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %69 = stablehlo.multiply %68, %61 : tensor<8x16xf32>
    %70 = stablehlo.add %67, %69 : tensor<8x16xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %71 = stablehlo.reduce(%70 init: %cst_16) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %72 = stablehlo.reshape %71 : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %73 = stablehlo.reduce(%72 init: %cst_17) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %74 = stablehlo.dot_general %70, %arg13, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %75 = stablehlo.transpose %74, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %cst_18 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %77 = stablehlo.multiply %76, %73 : tensor<16xf32>
    %cst_19 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %79 = stablehlo.multiply %78, %arg5 : tensor<16xf32>
    %80 = stablehlo.add %77, %79 : tensor<16xf32>
    %cst_20 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %82 = stablehlo.multiply %81, %75 : tensor<16x16xf32>
    %cst_21 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %84 = stablehlo.multiply %83, %arg6 : tensor<16x16xf32>
    %85 = stablehlo.add %82, %84 : tensor<16x16xf32>
    %cst_22 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %87 = stablehlo.multiply %86, %56 : tensor<10xf32>
    %cst_23 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %88 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %89 = stablehlo.multiply %88, %arg7 : tensor<10xf32>
    %90 = stablehlo.add %87, %89 : tensor<10xf32>
    %cst_24 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %92 = stablehlo.multiply %91, %58 : tensor<16x10xf32>
    %cst_25 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %93 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %94 = stablehlo.multiply %93, %arg8 : tensor<16x10xf32>
    %95 = stablehlo.add %92, %94 : tensor<16x10xf32>
    %96 = stablehlo.multiply %73, %73 : tensor<16xf32>
    %cst_26 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %97 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %98 = stablehlo.multiply %97, %96 : tensor<16xf32>
    %cst_27 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %100 = stablehlo.multiply %99, %arg9 : tensor<16xf32>
    %101 = stablehlo.add %98, %100 : tensor<16xf32>
    %102 = stablehlo.multiply %75, %75 : tensor<16x16xf32>
    %cst_28 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %103 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %104 = stablehlo.multiply %103, %102 : tensor<16x16xf32>
    %cst_29 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %105 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %106 = stablehlo.multiply %105, %arg10 : tensor<16x16xf32>
    %107 = stablehlo.add %104, %106 : tensor<16x16xf32>
    %108 = stablehlo.multiply %56, %56 : tensor<10xf32>
    %cst_30 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %109 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %110 = stablehlo.multiply %109, %108 : tensor<10xf32>
    %cst_31 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %111 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %112 = stablehlo.multiply %111, %arg11 : tensor<10xf32>
    %113 = stablehlo.add %110, %112 : tensor<10xf32>
    %114 = stablehlo.multiply %58, %58 : tensor<16x10xf32>
    %cst_32 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %115 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %116 = stablehlo.multiply %115, %114 : tensor<16x10xf32>
    %cst_33 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %117 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %118 = stablehlo.multiply %117, %arg12 : tensor<16x10xf32>
    %119 = stablehlo.add %116, %118 : tensor<16x10xf32>
    %c_34 = stablehlo.constant dense<2147483647> : tensor<i32>
    %120 = stablehlo.compare LT, %arg4, %c_34, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_35 = stablehlo.constant dense<1> : tensor<i32>
    %121 = stablehlo.add %arg4, %c_35 : tensor<i32>
    %c_36 = stablehlo.constant dense<2147483647> : tensor<i32>
    %122 = call @_where_2(%120, %121, %c_36) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %cst_37 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %123 = stablehlo.convert %122 : (tensor<i32>) -> tensor<f32>
    %124 = stablehlo.power %cst_37, %123 : tensor<f32>
    %c_38 = stablehlo.constant dense<2> : tensor<i32>
    %125 = stablehlo.multiply %c_38, %122 : tensor<i32>
    %126 = stablehlo.convert %125 : (tensor<i32>) -> tensor<f32>
    %127 = stablehlo.multiply %126, %124 : tensor<f32>
    %cst_39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %128 = stablehlo.subtract %cst_39, %124 : tensor<f32>
    %129 = stablehlo.divide %127, %128 : tensor<f32>
    %cst_40 = stablehlo.constant dense<1.999000e+03> : tensor<f32>
    %130 = stablehlo.subtract %cst_40, %129 : tensor<f32>
    %cst_41 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %131 = stablehlo.convert %122 : (tensor<i32>) -> tensor<f32>
    %132 = stablehlo.power %cst_41, %131 : tensor<f32>
    %cst_42 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %133 = stablehlo.subtract %cst_42, %132 : tensor<f32>
    %134 = stablehlo.broadcast_in_dim %133, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %135 = stablehlo.divide %80, %134 : tensor<16xf32>
    %136 = stablehlo.broadcast_in_dim %133, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %137 = stablehlo.divide %85, %136 : tensor<16x16xf32>
    %138 = stablehlo.broadcast_in_dim %133, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %139 = stablehlo.divide %90, %138 : tensor<10xf32>
    %140 = stablehlo.broadcast_in_dim %133, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %141 = stablehlo.divide %95, %140 : tensor<16x10xf32>
    %cst_43 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %142 = stablehlo.convert %122 : (tensor<i32>) -> tensor<f32>
    %143 = stablehlo.power %cst_43, %142 : tensor<f32>
    %cst_44 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %144 = stablehlo.subtract %cst_44, %143 : tensor<f32>
    %145 = stablehlo.broadcast_in_dim %144, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %146 = stablehlo.divide %101, %145 : tensor<16xf32>
    %147 = stablehlo.broadcast_in_dim %144, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %148 = stablehlo.divide %107, %147 : tensor<16x16xf32>
    %149 = stablehlo.broadcast_in_dim %144, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %150 = stablehlo.divide %113, %149 : tensor<10xf32>
    %151 = stablehlo.broadcast_in_dim %144, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %152 = stablehlo.divide %119, %151 : tensor<16x10xf32>
    %cst_45 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %153 = stablehlo.subtract %130, %cst_45 : tensor<f32>
    %cst_46 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %154 = stablehlo.subtract %130, %cst_46 : tensor<f32>
    %155 = stablehlo.multiply %153, %154 : tensor<f32>
    %cst_47 = stablehlo.constant dense<1.999000e+03> : tensor<f32>
    %156 = stablehlo.multiply %155, %cst_47 : tensor<f32>
    %cst_48 = stablehlo.constant dense<0x4A732A3C> : tensor<f32>
    %157 = stablehlo.multiply %cst_48, %130 : tensor<f32>
    %158 = stablehlo.divide %156, %157 : tensor<f32>
    %159 = stablehlo.sqrt %158 : tensor<f32>
    %160 = stablehlo.broadcast_in_dim %159, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %161 = stablehlo.multiply %160, %135 : tensor<16xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %162 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %163 = stablehlo.add %146, %162 : tensor<16xf32>
    %164 = stablehlo.sqrt %163 : tensor<16xf32>
    %cst_50 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %165 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %166 = stablehlo.add %164, %165 : tensor<16xf32>
    %167 = stablehlo.divide %161, %166 : tensor<16xf32>
    %168 = stablehlo.broadcast_in_dim %159, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %169 = stablehlo.multiply %168, %137 : tensor<16x16xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %170 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %171 = stablehlo.add %148, %170 : tensor<16x16xf32>
    %172 = stablehlo.sqrt %171 : tensor<16x16xf32>
    %cst_52 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %173 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %174 = stablehlo.add %172, %173 : tensor<16x16xf32>
    %175 = stablehlo.divide %169, %174 : tensor<16x16xf32>
    %176 = stablehlo.broadcast_in_dim %159, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %177 = stablehlo.multiply %176, %139 : tensor<10xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %178 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %179 = stablehlo.add %150, %178 : tensor<10xf32>
    %180 = stablehlo.sqrt %179 : tensor<10xf32>
    %cst_54 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %181 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %182 = stablehlo.add %180, %181 : tensor<10xf32>
    %183 = stablehlo.divide %177, %182 : tensor<10xf32>
    %184 = stablehlo.broadcast_in_dim %159, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %185 = stablehlo.multiply %184, %141 : tensor<16x10xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %186 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %187 = stablehlo.add %152, %186 : tensor<16x10xf32>
    %188 = stablehlo.sqrt %187 : tensor<16x10xf32>
    %cst_56 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %189 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %190 = stablehlo.add %188, %189 : tensor<16x10xf32>
    %191 = stablehlo.divide %185, %190 : tensor<16x10xf32>
    %cst_57 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
    %192 = stablehlo.compare GE, %130, %cst_57, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %193 = call @_where_3(%192, %167, %135) : (tensor<i1>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %cst_58 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
    %194 = stablehlo.compare GE, %130, %cst_58, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %195 = call @_where_4(%194, %175, %137) : (tensor<i1>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %cst_59 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
    %196 = stablehlo.compare GE, %130, %cst_59, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %197 = call @_where_5(%196, %183, %139) : (tensor<i1>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %cst_60 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
    %198 = stablehlo.compare GE, %130, %cst_60, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %199 = call @_where_6(%198, %191, %141) : (tensor<i1>, tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32>
    %cst_61 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %200 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %201 = stablehlo.multiply %200, %193 : tensor<16xf32>
    %cst_62 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %202 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %203 = stablehlo.multiply %202, %195 : tensor<16x16xf32>
    %cst_63 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %204 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %205 = stablehlo.multiply %204, %197 : tensor<10xf32>
    %cst_64 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %206 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %207 = stablehlo.multiply %206, %199 : tensor<16x10xf32>
    %208 = stablehlo.add %arg0, %201 : tensor<16xf32>
    %209 = stablehlo.add %arg1, %203 : tensor<16x16xf32>
    %210 = stablehlo.add %arg2, %205 : tensor<10xf32>
    %211 = stablehlo.add %arg3, %207 : tensor<16x10xf32>
    return %39, %208, %209, %210, %211, %122, %80, %85, %90, %95, %101, %107, %113, %119 : tensor<f32>, tensor<16xf32>, tensor<16x16xf32>, tensor<10xf32>, tensor<16x10xf32>, tensor<i32>, tensor<16xf32>, tensor<16x16xf32>, tensor<10xf32>, tensor<16x10xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<10xf32>, tensor<16x10xf32>
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
  func.func private @_where_2(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @_where_3(%arg0: tensor<i1>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  func.func private @_where_4(%arg0: tensor<i1>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x16xf32>) -> tensor<16x16xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<16x16xf32>
    return %0 : tensor<16x16xf32>
  }
  func.func private @_where_5(%arg0: tensor<i1>, %arg1: tensor<10xf32>, %arg2: tensor<10xf32>) -> tensor<10xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<10xf32>
    return %0 : tensor<10xf32>
  }
  func.func private @_where_6(%arg0: tensor<i1>, %arg1: tensor<16x10xf32>, %arg2: tensor<16x10xf32>) -> tensor<16x10xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<16x10xf32>
    return %0 : tensor<16x10xf32>
  }
}
