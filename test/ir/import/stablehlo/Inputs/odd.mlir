module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<10xf32>, %arg3: tensor<16x10xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<16xf32> {jax.result_info = "result[1]['first']['b']"}, tensor<16x16xf32> {jax.result_info = "result[1]['first']['w']"}, tensor<10xf32> {jax.result_info = "result[1]['last']['b']"}, tensor<16x10xf32> {jax.result_info = "result[1]['last']['w']"}) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %0 = call @remainder(%arg5, %c) : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %2 = stablehlo.multiply %1, %arg4 : tensor<8x16xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %4 = stablehlo.compare LT, %0, %3, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %c_1 = stablehlo.constant dense<16> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %6 = stablehlo.add %0, %5 : tensor<8xi32>
    %7 = stablehlo.select %4, %6, %0 : tensor<8xi1>, tensor<8xi32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %9 = "stablehlo.scatter"(%arg1, %8, %2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %217 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %217 : tensor<f32>
    }) : (tensor<16x16xf32>, tensor<8x1xi32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %c_2 = stablehlo.constant dense<3> : tensor<i32>
    %10 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %11 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %12 = stablehlo.concatenate %10, %11, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = "stablehlo.scatter"(%9, %12, %cst_4) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>, unique_indices = true}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %217 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %217 : tensor<f32>
    }) : (tensor<16x16xf32>, tensor<2xi32>, tensor<f32>) -> tensor<16x16xf32>
    %14 = stablehlo.slice %arg4 [0:8, 0:16:2] : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %15 = stablehlo.slice %arg4 [0:8, 1:5] : (tensor<8x16xf32>) -> tensor<8x4xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %16 = call @_pad(%15, %c_5) : (tensor<8x4xf32>, tensor<i32>) -> tensor<8x8xf32>
    %17 = stablehlo.concatenate %14, %16, dim = 1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x16xf32>
    %18 = stablehlo.dot_general %17, %13, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %cst_6 = stablehlo.constant dense<-2.000000e+00> : tensor<f32>
    %cst_7 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %19:3 = call @clip(%18, %cst_6, %cst_7) : (tensor<8x16xf32>, tensor<f32>, tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %20 = stablehlo.abs %18 : tensor<8x16xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %22 = stablehlo.compare GE, %18, %21, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %23 = stablehlo.negate %20 : tensor<8x16xf32>
    %24 = stablehlo.exponential %23 : tensor<8x16xf32>
    %25 = stablehlo.log_plus_one %24 : tensor<8x16xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %27 = stablehlo.add %24, %26 : tensor<8x16xf32>
    %28 = stablehlo.add %19#0, %25 : tensor<8x16xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %30 = stablehlo.multiply %29, %18 : tensor<8x16xf32>
    %31 = stablehlo.exponential_minus_one %30 : tensor<8x16xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %33 = stablehlo.add %31, %32 : tensor<8x16xf32>
    %34 = stablehlo.add %28, %31 : tensor<8x16xf32>
    %35 = chlo.erfc %18 : tensor<8x16xf32> -> tensor<8x16xf32>
    %36 = chlo.square %18 : tensor<8x16xf32> -> tensor<8x16xf32>
    %37 = stablehlo.negate %36 : tensor<8x16xf32>
    %38 = stablehlo.exponential %37 : tensor<8x16xf32>
    %39 = stablehlo.add %34, %35 : tensor<8x16xf32>
    %40 = stablehlo.is_finite %39 : (tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_12 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %42 = stablehlo.minimum %39, %41 : tensor<8x16xf32>
    %43 = stablehlo.compare EQ, %39, %42, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %46 = stablehlo.select %43, %44, %45 : tensor<8x16xi1>, tensor<8x16xf32>
    %cst_15 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %48 = stablehlo.compare EQ, %47, %42, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %cst_16 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %51 = stablehlo.select %48, %49, %50 : tensor<8x16xi1>, tensor<8x16xf32>
    %52 = stablehlo.divide %46, %51 : tensor<8x16xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %53 = call @_where_0(%40, %42, %cst_18) : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %54 = stablehlo.cosine %39 : tensor<8x16xf32>
    %55 = stablehlo.sine %39 : tensor<8x16xf32>
    %56 = stablehlo.multiply %53, %54 : tensor<8x16xf32>
    %57 = stablehlo.sine %39 : tensor<8x16xf32>
    %58 = stablehlo.cosine %39 : tensor<8x16xf32>
    %59 = stablehlo.multiply %57, %57 : tensor<8x16xf32>
    %cst_19 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %61 = stablehlo.multiply %60, %57 : tensor<8x16xf32>
    %cst_20 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %63 = stablehlo.add %62, %59 : tensor<8x16xf32>
    %64 = stablehlo.divide %56, %63 : tensor<8x16xf32>
    %65 = stablehlo.multiply %63, %63 : tensor<8x16xf32>
    %cst_21 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %67 = stablehlo.divide %66, %65 : tensor<8x16xf32>
    %68 = stablehlo.slice %arg5 [0:1] : (tensor<8xi32>) -> tensor<1xi32>
    %69 = stablehlo.reshape %68 : (tensor<1xi32>) -> tensor<i32>
    %c_22 = stablehlo.constant dense<1> : tensor<i32>
    %70 = call @remainder_1(%69, %c_22) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_23 = stablehlo.constant dense<0> : tensor<i32>
    %71 = stablehlo.compare LT, %70, %c_23, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_24 = stablehlo.constant dense<16> : tensor<i32>
    %72 = stablehlo.add %70, %c_24 : tensor<i32>
    %73 = stablehlo.select %71, %72, %70 : tensor<i1>, tensor<i32>
    %74 = stablehlo.dynamic_slice %arg0, %73, sizes = [16] : (tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %77 = stablehlo.add %64, %76 : tensor<8x16xf32>
    %cst_25 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %78 = stablehlo.reduce(%64 init: %cst_25) applies stablehlo.maximum across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %79 = stablehlo.reshape %78 : (tensor<16xf32>) -> tensor<1x16xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %81 = stablehlo.compare EQ, %64, %80, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %82 = stablehlo.convert %81 : (tensor<8x16xi1>) -> tensor<8x16xf32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %83 = stablehlo.reduce(%82 init: %cst_26) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_27 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %85 = stablehlo.multiply %84, %78 : tensor<16xf32>
    %86 = stablehlo.broadcast_in_dim %85, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %87 = stablehlo.broadcast_in_dim %86, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %88 = stablehlo.add %77, %87 : tensor<8x16xf32>
    %89 = stablehlo.reverse %88, dims = [0, 1] : tensor<8x16xf32>
    %cst_28 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %90 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %91 = stablehlo.multiply %90, %89 : tensor<8x16xf32>
    %92 = stablehlo.add %88, %91 : tensor<8x16xf32>
    %93 = stablehlo.tanh %92 : tensor<8x16xf32>
    %cst_29 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %94 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %95 = stablehlo.subtract %94, %93 : tensor<8x16xf32>
    %96 = stablehlo.transpose %93, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %97 = stablehlo.transpose %96, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %98 = stablehlo.dot_general %97, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %99 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %100 = stablehlo.broadcast_in_dim %99, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %101 = stablehlo.add %98, %100 : tensor<8x10xf32>
    %102 = call @_one_hot(%arg5) : (tensor<8xi32>) -> tensor<8x10xf32>
    %cst_30 = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %103 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %104 = stablehlo.convert %103 : tensor<3xf32>
    %cst_31 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %105 = stablehlo.reduce(%104 init: %cst_31) applies stablehlo.multiply across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %106 = stablehlo.broadcast_in_dim %105, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %107 = stablehlo.multiply %102, %106 : tensor<8x10xf32>
    %108:3 = call @log_softmax(%101) : (tensor<8x10xf32>) -> (tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x1xf32>)
    %109 = stablehlo.multiply %107, %108#0 : tensor<8x10xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %110 = stablehlo.reduce(%109 init: %cst_32) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %111 = stablehlo.reduce(%110 init: %cst_33) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %cst_34 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %112 = stablehlo.divide %111, %cst_34 : tensor<f32>
    %113 = stablehlo.negate %112 : tensor<f32>
    %cst_35 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %114 = stablehlo.divide %113, %cst_35 : tensor<f32>
    %115 = stablehlo.multiply %101, %101 : tensor<8x10xf32>
    %116 = stablehlo.multiply %115, %115 : tensor<8x10xf32>
    %117 = stablehlo.multiply %101, %101 : tensor<8x10xf32>
    %118 = stablehlo.multiply %117, %101 : tensor<8x10xf32>
    %cst_36 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %120 = stablehlo.multiply %119, %118 : tensor<8x10xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %121 = stablehlo.reduce(%116 init: %cst_37) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<f32>
    %cst_38 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %122 = stablehlo.divide %121, %cst_38 : tensor<f32>
    %cst_39 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %123 = stablehlo.power %122, %cst_39 : tensor<f32>
    %cst_40 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_41 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %124 = stablehlo.subtract %cst_40, %cst_41 : tensor<f32>
    %125 = stablehlo.power %122, %124 : tensor<f32>
    %cst_42 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %126 = stablehlo.multiply %cst_42, %125 : tensor<f32>
    %cst_43 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %127 = stablehlo.multiply %cst_43, %123 : tensor<f32>
    %128 = stablehlo.add %114, %127 : tensor<f32>
    %cst_44 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %cst_45 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %129 = stablehlo.multiply %cst_44, %cst_45 : tensor<f32>
    %130 = stablehlo.multiply %129, %126 : tensor<f32>
    %cst_46 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %131 = stablehlo.divide %130, %cst_46 : tensor<f32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %133 = stablehlo.multiply %132, %120 : tensor<8x10xf32>
    %cst_47 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_48 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %134 = stablehlo.divide %cst_47, %cst_48 : tensor<f32>
    %135 = stablehlo.negate %134 : tensor<f32>
    %cst_49 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %136 = stablehlo.divide %135, %cst_49 : tensor<f32>
    %137 = stablehlo.broadcast_in_dim %136, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %138 = stablehlo.broadcast_in_dim %137, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %139 = stablehlo.multiply %107, %138 : tensor<8x10xf32>
    %140 = call @log_softmax_2(%108#1, %108#2, %139) : (tensor<8x10xf32>, tensor<8x1xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
    %141 = stablehlo.add %133, %140 : tensor<8x10xf32>
    %cst_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %142 = stablehlo.reduce(%141 init: %cst_50) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<10xf32>
    %143 = stablehlo.reshape %142 : (tensor<10xf32>) -> tensor<1x10xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %144 = stablehlo.reduce(%143 init: %cst_51) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %145 = stablehlo.dot_general %141, %97, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<8x16xf32>) -> tensor<10x16xf32>
    %146 = stablehlo.transpose %145, dims = [1, 0] : (tensor<10x16xf32>) -> tensor<16x10xf32>
    %147 = stablehlo.dot_general %141, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<16x10xf32>) -> tensor<8x16xf32>
    %148 = stablehlo.transpose %147, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %149 = stablehlo.transpose %148, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %150 = stablehlo.multiply %149, %95 : tensor<8x16xf32>
    %151 = stablehlo.multiply %150, %93 : tensor<8x16xf32>
    %152 = stablehlo.add %150, %151 : tensor<8x16xf32>
    %cst_52 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %153 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %154 = stablehlo.multiply %153, %152 : tensor<8x16xf32>
    %155 = stablehlo.reverse %154, dims = [0, 1] : tensor<8x16xf32>
    %156 = stablehlo.add %152, %155 : tensor<8x16xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %157 = stablehlo.reduce(%156 init: %cst_53) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %158 = stablehlo.reshape %157 : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %159 = stablehlo.reduce(%158 init: %cst_54) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_55 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %160 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %161 = stablehlo.multiply %160, %159 : tensor<16xf32>
    %162 = stablehlo.divide %161, %83 : tensor<16xf32>
    %163 = stablehlo.broadcast_in_dim %162, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
    %164 = stablehlo.multiply %163, %82 : tensor<8x16xf32>
    %cst_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %165 = stablehlo.reduce(%156 init: %cst_56) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %166 = stablehlo.reshape %165 : (tensor<16xf32>) -> tensor<1x16xf32>
    %167 = stablehlo.add %164, %156 : tensor<8x16xf32>
    %cst_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %168 = stablehlo.reduce(%166 init: %cst_57) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_58 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %169 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %170 = stablehlo.dynamic_update_slice %169, %168, %73 : (tensor<16xf32>, tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
    %171 = stablehlo.multiply %167, %67 : tensor<8x16xf32>
    %172 = stablehlo.multiply %171, %56 : tensor<8x16xf32>
    %173 = stablehlo.negate %172 : tensor<8x16xf32>
    %174 = stablehlo.divide %167, %63 : tensor<8x16xf32>
    %175 = stablehlo.multiply %173, %61 : tensor<8x16xf32>
    %176 = stablehlo.multiply %175, %58 : tensor<8x16xf32>
    %177 = stablehlo.multiply %53, %174 : tensor<8x16xf32>
    %178 = stablehlo.multiply %174, %54 : tensor<8x16xf32>
    %179 = stablehlo.negate %177 : tensor<8x16xf32>
    %180 = stablehlo.multiply %179, %55 : tensor<8x16xf32>
    %181 = stablehlo.add %176, %180 : tensor<8x16xf32>
    %182 = call @_where_3(%40, %178) : (tensor<8x16xi1>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %183 = stablehlo.multiply %182, %52 : tensor<8x16xf32>
    %184 = stablehlo.add %181, %183 : tensor<8x16xf32>
    %cst_59 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %185 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %186 = stablehlo.multiply %185, %184 : tensor<8x16xf32>
    %187 = stablehlo.multiply %186, %38 : tensor<8x16xf32>
    %188 = stablehlo.multiply %184, %33 : tensor<8x16xf32>
    %cst_60 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %189 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %190 = stablehlo.multiply %189, %188 : tensor<8x16xf32>
    %191 = stablehlo.add %187, %190 : tensor<8x16xf32>
    %192 = stablehlo.divide %184, %27 : tensor<8x16xf32>
    %193 = stablehlo.multiply %192, %24 : tensor<8x16xf32>
    %194 = stablehlo.negate %193 : tensor<8x16xf32>
    %cst_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %195 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %196 = stablehlo.select %22, %195, %194 : tensor<8x16xi1>, tensor<8x16xf32>
    %197 = stablehlo.select %22, %194, %195 : tensor<8x16xi1>, tensor<8x16xf32>
    %198 = stablehlo.add %191, %197 : tensor<8x16xf32>
    %199 = stablehlo.negate %196 : tensor<8x16xf32>
    %200 = stablehlo.add %198, %199 : tensor<8x16xf32>
    %201 = call @clip_4(%19#1, %19#2, %184) : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %202 = stablehlo.add %200, %201 : tensor<8x16xf32>
    %203 = stablehlo.dot_general %202, %17, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %204 = stablehlo.transpose %203, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %cst_62 = stablehlo.constant dense<-2.000000e-02> : tensor<f32>
    %205 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %206 = stablehlo.multiply %205, %170 : tensor<16xf32>
    %cst_63 = stablehlo.constant dense<-2.000000e-02> : tensor<f32>
    %207 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %208 = stablehlo.multiply %207, %204 : tensor<16x16xf32>
    %cst_64 = stablehlo.constant dense<-2.000000e-02> : tensor<f32>
    %209 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %210 = stablehlo.multiply %209, %144 : tensor<10xf32>
    %cst_65 = stablehlo.constant dense<-2.000000e-02> : tensor<f32>
    %211 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %212 = stablehlo.multiply %211, %146 : tensor<16x10xf32>
    %213 = stablehlo.add %arg0, %206 : tensor<16xf32>
    %214 = stablehlo.add %arg1, %208 : tensor<16x16xf32>
    %215 = stablehlo.add %arg2, %210 : tensor<10xf32>
    %216 = stablehlo.add %arg3, %212 : tensor<16x10xf32>
    return %128, %213, %214, %215, %216 : tensor<f32>, tensor<16xf32>, tensor<16x16xf32>, tensor<10xf32>, tensor<16x10xf32>
  }
  func.func private @remainder(%arg0: tensor<8xi32>, %arg1: tensor<i32>) -> tensor<8xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<8xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<8xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
    %12 = stablehlo.and %11, %6 : tensor<8xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %14 = stablehlo.add %4, %13 : tensor<8xi32>
    %15 = stablehlo.select %12, %14, %4 : tensor<8xi1>, tensor<8xi32>
    return %15 : tensor<8xi32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
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
  func.func private @_where_0(%arg0: tensor<8x16xi1>, %arg1: tensor<8x16xf32>, %arg2: tensor<f32>) -> tensor<8x16xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<8x16xi1>, tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
  func.func private @remainder_1(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
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
  func.func private @log_softmax_2(%arg0: tensor<8x10xf32>, %arg1: tensor<8x1xf32>, %arg2: tensor<8x10xf32>) -> tensor<8x10xf32> {
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
  func.func private @_where_3(%arg0: tensor<8x16xi1>, %arg1: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<8x16xi1>, tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
  func.func private @clip_4(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.multiply %arg2, %arg1 : tensor<8x16xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
}
