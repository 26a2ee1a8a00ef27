module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<10xf32>, %arg3: tensor<16x10xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<16xf32> {jax.result_info = "result[1]['first']['b']"}, tensor<16x16xf32> {jax.result_info = "result[1]['first']['w']"}, tensor<10xf32> {jax.result_info = "result[1]['last']['b']"}, tensor<16x10xf32> {jax.result_info = "result[1]['last']['w']"}) {
    %0 = stablehlo.slice %arg4 [0:8, 0:16:2] : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.slice %arg4 [0:8, 1:5] : (tensor<8x16xf32>) -> tensor<8x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = call @_pad(%1, %c) : (tensor<8x4xf32>, tensor<i32>) -> tensor<8x8xf32>
    %3 = stablehlo.concatenate %0, %2, dim = 1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x16xf32>
    %4 = stablehlo.dot_general %3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %cst = stablehlo.constant dense<-2.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %5:3 = call @clip(%4, %cst, %cst_0) : (tensor<8x16xf32>, tensor<f32>, tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %6 = stablehlo.abs %4 : tensor<8x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %8 = stablehlo.compare GE, %4, %7, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %9 = stablehlo.negate %6 : tensor<8x16xf32>
    %10 = stablehlo.exponential %9 : tensor<8x16xf32>
    %11 = stablehlo.log_plus_one %10 : tensor<8x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %13 = stablehlo.add %10, %12 : tensor<8x16xf32>
    %14 = stablehlo.add %5#0, %11 : tensor<8x16xf32>
    %cst_3 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %16 = stablehlo.multiply %15, %4 : tensor<8x16xf32>
    %17 = stablehlo.exponential_minus_one %16 : tensor<8x16xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %19 = stablehlo.add %17, %18 : tensor<8x16xf32>
    %20 = stablehlo.add %14, %17 : tensor<8x16xf32>
    %21 = chlo.erfc %4 : tensor<8x16xf32> -> tensor<8x16xf32>
    %22 = chlo.square %4 : tensor<8x16xf32> -> tensor<8x16xf32>
    %23 = stablehlo.negate %22 : tensor<8x16xf32>
    %24 = stablehlo.exponential %23 : tensor<8x16xf32>
    %25 = stablehlo.add %20, %21 : tensor<8x16xf32>
    %26 = stablehlo.is_finite %25 : (tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_5 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %28 = stablehlo.minimum %25, %27 : tensor<8x16xf32>
    %29 = stablehlo.compare EQ, %25, %28, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %32 = stablehlo.select %29, %30, %31 : tensor<8x16xi1>, tensor<8x16xf32>
    %cst_8 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %34 = stablehlo.compare EQ, %33, %28, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_9 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %37 = stablehlo.select %34, %35, %36 : tensor<8x16xi1>, tensor<8x16xf32>
    %38 = stablehlo.divide %32, %37 : tensor<8x16xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = call @_where(%26, %28, %cst_11) : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %40 = stablehlo.cosine %25 : tensor<8x16xf32>
    %41 = stablehlo.sine %25 : tensor<8x16xf32>
    %42 = stablehlo.multiply %39, %40 : tensor<8x16xf32>
    %43 = stablehlo.sine %25 : tensor<8x16xf32>
    %44 = stablehlo.cosine %25 : tensor<8x16xf32>
    %45 = stablehlo.multiply %43, %43 : tensor<8x16xf32>
    %cst_12 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %47 = stablehlo.multiply %46, %43 : tensor<8x16xf32>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %49 = stablehlo.add %48, %45 : tensor<8x16xf32>
    %50 = stablehlo.divide %42, %49 : tensor<8x16xf32>
    %51 = stablehlo.multiply %49, %49 : tensor<8x16xf32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %53 = stablehlo.divide %52, %51 : tensor<8x16xf32>
    %54 = stablehlo.slice %arg5 [0:1] : (tensor<8xi32>) -> tensor<1xi32>
    %55 = stablehlo.reshape %54 : (tensor<1xi32>) -> tensor<i32>
    %c_15 = stablehlo.constant dense<1> : tensor<i32>
    %56 = call @remainder(%55, %c_15) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %57 = stablehlo.compare LT, %56, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_17 = stablehlo.constant dense<16> : tensor<i32>
    %58 = stablehlo.add %56, %c_17 : tensor<i32>
    %59 = stablehlo.select %57, %58, %56 : tensor<i1>, tensor<i32>
    %60 = stablehlo.dynamic_slice %arg0, %59, sizes = [16] : (tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %63 = stablehlo.add %50, %62 : tensor<8x16xf32>
    %cst_18 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %64 = stablehlo.reduce(%50 init: %cst_18) applies stablehlo.maximum across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %65 = stablehlo.reshape %64 : (tensor<16xf32>) -> tensor<1x16xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %67 = stablehlo.compare EQ, %50, %66, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %68 = stablehlo.convert %67 : (tensor<8x16xi1>) -> tensor<8x16xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %69 = stablehlo.reduce(%68 init: %cst_19) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_20 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %71 = stablehlo.multiply %70, %64 : tensor<16xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %74 = stablehlo.add %63, %73 : tensor<8x16xf32>
    %75 = stablehlo.tanh %74 : tensor<8x16xf32>
    %cst_21 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %77 = stablehlo.subtract %76, %75 : tensor<8x16xf32>
    %78 = stablehlo.transpose %75, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %79 = stablehlo.transpose %78, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %80 = stablehlo.dot_general %79, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %81 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %82 = stablehlo.broadcast_in_dim %81, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %83 = stablehlo.add %80, %82 : tensor<8x10xf32>
    %84 = call @_one_hot(%arg5) : (tensor<8xi32>) -> tensor<8x10xf32>
    %cst_22 = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %85 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %86 = stablehlo.convert %85 : tensor<3xf32>
    %cst_23 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %87 = stablehlo.reduce(%86 init: %cst_23) applies stablehlo.multiply across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %88 = stablehlo.broadcast_in_dim %87, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %89 = stablehlo.multiply %84, %88 : tensor<8x10xf32>
    %90:3 = call @log_softmax(%83) : (tensor<8x10xf32>) -> (tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x1xf32>)
    %91 = stablehlo.multiply %89, %90#0 : tensor<8x10xf32>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %92 = stablehlo.reduce(%91 init: %cst_24) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %93 = stablehlo.reduce(%92 init: %cst_25) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %cst_26 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %94 = stablehlo.divide %93, %cst_26 : tensor<f32>
    %95 = stablehlo.negate %94 : tensor<f32>
    %cst_27 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %96 = stablehlo.divide %95, %cst_27 : tensor<f32>
    %97 = stablehlo.multiply %83, %83 : tensor<8x10xf32>
    %98 = stablehlo.multiply %97, %97 : tensor<8x10xf32>
    %99 = stablehlo.multiply %83, %83 : tensor<8x10xf32>
    %100 = stablehlo.multiply %99, %83 : tensor<8x10xf32>
    %cst_28 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %102 = stablehlo.multiply %101, %100 : tensor<8x10xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %103 = stablehlo.reduce(%98 init: %cst_29) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<f32>
    %cst_30 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %104 = stablehlo.divide %103, %cst_30 : tensor<f32>
    %cst_31 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %105 = stablehlo.power %104, %cst_31 : tensor<f32>
    %cst_32 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_33 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %106 = stablehlo.subtract %cst_32, %cst_33 : tensor<f32>
    %107 = stablehlo.power %104, %106 : tensor<f32>
    %cst_34 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %108 = stablehlo.multiply %cst_34, %107 : tensor<f32>
    %cst_35 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %109 = stablehlo.multiply %cst_35, %105 : tensor<f32>
    %110 = stablehlo.add %96, %109 : tensor<f32>
    %cst_36 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %cst_37 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %111 = stablehlo.multiply %cst_36, %cst_37 : tensor<f32>
    %112 = stablehlo.multiply %111, %108 : tensor<f32>
    %cst_38 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %113 = stablehlo.divide %112, %cst_38 : tensor<f32>
    %114 = stablehlo.broadcast_in_dim %113, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %115 = stablehlo.multiply %114, %102 : tensor<8x10xf32>
    %cst_39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_40 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %116 = stablehlo.divide %cst_39, %cst_40 : tensor<f32>
    %117 = stablehlo.negate %116 : tensor<f32>
    %cst_41 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %118 = stablehlo.divide %117, %cst_41 : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %118, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %120 = stablehlo.broadcast_in_dim %119, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %121 = stablehlo.multiply %89, %120 : tensor<8x10xf32>
    %122 = call @log_softmax_1(%90#1, %90#2, %121) : (tensor<8x10xf32>, tensor<8x1xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
    %123 = stablehlo.add %115, %122 : tensor<8x10xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %124 = stablehlo.reduce(%123 init: %cst_42) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<10xf32>
    %125 = stablehlo.reshape %124 : (tensor<10xf32>) -> tensor<1x10xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %126 = stablehlo.reduce(%125 init: %cst_43) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %127 = stablehlo.dot_general %123, %79, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<8x16xf32>) -> tensor<10x16xf32>
    %128 = stablehlo.transpose %127, dims = [1, 0] : (tensor<10x16xf32>) -> tensor<16x10xf32>
    %129 = stablehlo.dot_general %123, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<16x10xf32>) -> tensor<8x16xf32>
    %130 = stablehlo.transpose %129, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %131 = stablehlo.transpose %130, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %132 = stablehlo.multiply %131, %77 : tensor<8x16xf32>
    %133 = stablehlo.multiply %132, %75 : tensor<8x16xf32>
    %134 = stablehlo.add %132, %133 : tensor<8x16xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %135 = stablehlo.reduce(%134 init: %cst_44) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %136 = stablehlo.reshape %135 : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %137 = stablehlo.reduce(%136 init: %cst_45) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_46 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %138 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %139 = stablehlo.multiply %138, %137 : tensor<16xf32>
    %140 = stablehlo.divide %139, %69 : tensor<16xf32>
    %141 = stablehlo.broadcast_in_dim %140, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
    %142 = stablehlo.multiply %141, %68 : tensor<8x16xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %143 = stablehlo.reduce(%134 init: %cst_47) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %144 = stablehlo.reshape %143 : (tensor<16xf32>) -> tensor<1x16xf32>
    %145 = stablehlo.add %142, %134 : tensor<8x16xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %146 = stablehlo.reduce(%144 init: %cst_48) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %147 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %148 = stablehlo.dynamic_update_slice %147, %146, %59 : (tensor<16xf32>, tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
    %149 = stablehlo.multiply %145, %53 : tensor<8x16xf32>
    %150 = stablehlo.multiply %149, %42 : tensor<8x16xf32>
    %151 = stablehlo.negate %150 : tensor<8x16xf32>
    %152 = stablehlo.divide %145, %49 : tensor<8x16xf32>
    %153 = stablehlo.multiply %151, %47 : tensor<8x16xf32>
    %154 = stablehlo.multiply %153, %44 : tensor<8x16xf32>
    %155 = stablehlo.multiply %39, %152 : tensor<8x16xf32>
    %156 = stablehlo.multiply %152, %40 : tensor<8x16xf32>
    %157 = stablehlo.negate %155 : tensor<8x16xf32>
    %158 = stablehlo.multiply %157, %41 : tensor<8x16xf32>
    %159 = stablehlo.add %154, %158 : tensor<8x16xf32>
    %160 = call @_where_2(%26, %156) : (tensor<8x16xi1>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %161 = stablehlo.multiply %160, %38 : tensor<8x16xf32>
    %162 = stablehlo.add %159, %161 : tensor<8x16xf32>
    %cst_50 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %163 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %164 = stablehlo.multiply %163, %162 : tensor<8x16xf32>
    %165 = stablehlo.multiply %164, %24 : tensor<8x16xf32>
    %166 = stablehlo.multiply %162, %19 : tensor<8x16xf32>
    %cst_51 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %167 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %168 = stablehlo.multiply %167, %166 : tensor<8x16xf32>
    %169 = stablehlo.add %165, %168 : tensor<8x16xf32>
    %170 = stablehlo.divide %162, %13 : tensor<8x16xf32>
    %171 = stablehlo.multiply %170, %10 : tensor<8x16xf32>
    %172 = stablehlo.negate %171 : tensor<8x16xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %173 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %174 = stablehlo.select %8, %173, %172 : tensor<8x16xi1>, tensor<8x16xf32>
    %175 = stablehlo.select %8, %172, %173 : tensor<8x16xi1>, tensor<8x16xf32>
    %176 = stablehlo.add %169, %175 : tensor<8x16xf32>
    %177 = stablehlo.negate %174 : tensor<8x16xf32>
    %178 = stablehlo.add %176, %177 : tensor<8x16xf32>
    %179 = call @clip_3(%5#1, %5#2, %162) : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %180 = stablehlo.add %178, %179 : tensor<8x16xf32>
    %181 = stablehlo.dot_general %180, %3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %182 = stablehlo.transpose %181, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %cst_53 = stablehlo.constant dense<-2.000000e-02> : tensor<f32>
    %183 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %184 = stablehlo.multiply %183, %148 : tensor<16xf32>
    %cst_54 = stablehlo.constant dense<-2.000000e-02> : tensor<f32>
    %185 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %186 = stablehlo.multiply %185, %182 : tensor<16x16xf32>
    %cst_55 = stablehlo.constant dense<-2.000000e-02> : tensor<f32>
    %187 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %188 = stablehlo.multiply %187, %126 : tensor<10xf32>
    %cst_56 = stablehlo.constant dense<-2.000000e-02> : tensor<f32>
    %189 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %190 = stablehlo.multiply %189, %128 : tensor<16x10xf32>
    %191 = stablehlo.add %arg0, %184 : tensor<16xf32>
    %192 = stablehlo.add %arg1, %186 : tensor<16x16xf32>
    %193 = stablehlo.add %arg2, %188 : tensor<10xf32>
    %194 = stablehlo.add %arg3, %190 : tensor<16x10xf32>
    return %110, %191, %192, %193, %194 : tensor<f32>, tensor<16xf32>, tensor<16x16xf32>, tensor<10xf32>, tensor<16x10xf32>
  }
  func.func private @_pad(%arg0: tensor<8x4xf32>, %arg1: tensor<i32>) -> tensor<8x8xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 1], high = [0, 3], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
  func.func private @clip(%arg0: tensor<8x16xf32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<8x16xf32>
    %3 = stablehlo.compare EQ, %arg0, %2, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %6 = stablehlo.select %3, %4, %5 : tensor<8x16xi1>, tensor<8x16xf32>
    %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %8 = stablehlo.compare EQ, %7, %2, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %11 = stablehlo.select %8, %9, %10 : tensor<8x16xi1>, tensor<8x16xf32>
    %12 = stablehlo.divide %6, %11 : tensor<8x16xf32>
    %13 = stablehlo.convert %arg2 : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %15 = stablehlo.minimum %14, %2 : tensor<8x16xf32>
    %16 = stablehlo.compare EQ, %2, %15, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %19 = stablehlo.select %16, %17, %18 : tensor<8x16xi1>, tensor<8x16xf32>
    %20 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %21 = stablehlo.compare EQ, %20, %15, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %24 = stablehlo.select %21, %22, %23 : tensor<8x16xi1>, tensor<8x16xf32>
    %25 = stablehlo.divide %19, %24 : tensor<8x16xf32>
    return %15, %12, %25 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
  func.func private @_where(%arg0: tensor<8x16xi1>, %arg1: tensor<8x16xf32>, %arg2: tensor<f32>) -> tensor<8x16xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<8x16xi1>, tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
  func.func private @remainder(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where_0(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.remainder %arg0, %2 : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.compare NE, %3, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.compare LT, %3, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.compare NE, %5, %6, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %8 = stablehlo.and %7, %4 : tensor<i1>
    %9 = stablehlo.add %3, %2 : tensor<i32>
    %10 = stablehlo.select %8, %9, %3 : tensor<i1>, tensor<i32>
    return %10 : tensor<i32>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @_one_hot(%arg0: tensor<8xi32>) -> tensor<8x10xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x10xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x10xi32>) -> tensor<8x10xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<8x10xi32>, tensor<8x10xi32>) -> tensor<8x10xi1>
    %5 = stablehlo.convert %4 : (tensor<8x10xi1>) -> tensor<8x10xf32>
    return %5 : tensor<8x10xf32>
  }
  func.func private @log_softmax(%arg0: tensor<8x10xf32>) -> (tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<8x10xf32>
    %6 = stablehlo.exponential %5 : tensor<8x10xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %9 = stablehlo.log %8 : tensor<8x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<8x10xf32>
    return %11, %6, %8 : tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x1xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<8x10xf32>, %arg1: tensor<8x1xf32>, %arg2: tensor<8x10xf32>) -> tensor<8x10xf32> {
    %0 = stablehlo.negate %arg2 : tensor<8x10xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<8x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<8x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<8x1xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<8x10xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<8x10xf32>
    return %7 : tensor<8x10xf32>
  }
  func.func private @_where_2(%arg0: tensor<8x16xi1>, %arg1: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<8x16xi1>, tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
  func.func private @clip_3(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.multiply %arg2, %arg1 : tensor<8x16xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
}
