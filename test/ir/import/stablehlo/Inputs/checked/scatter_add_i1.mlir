module @scatter_add_i1 {
  func.func public @main() -> (tensor<5x6x4xi1>) {
    %0:3 = call @inputs() : () -> (tensor<5x6x4xi1>, tensor<4x2xi32>, tensor<4x2x4xi1>)
    %1 = call @expected() : () -> (tensor<5x6x4xi1>)
    %out = "stablehlo.scatter"(%0#0, %0#1, %0#2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %ab = stablehlo.add %a, %b : tensor<i1>
      stablehlo.return %ab : tensor<i1>
    }) : (tensor<5x6x4xi1>, tensor<4x2xi32>, tensor<4x2x4xi1>) -> tensor<5x6x4xi1>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<5x6x4xi1>, tensor<5x6x4xi1>) -> ()
    return %out : tensor<5x6x4xi1>
  }
  func.func private @inputs() -> (tensor<5x6x4xi1>, tensor<4x2xi32>, tensor<4x2x4xi1>) {
    %c0 = stablehlo.constant dense<[[[true, false, false, false], [true, false, false, true], [true, false, false, false], [false, false, true, false], [true, false, true, false], [false, true, false, true]], [[true, false, false, true], [true, false, true, false], [true, false, true, true], [true, true, false, true], [true, false, false, true], [true, true, true, false]], [[true, false, true, true], [true, false, false, false], [true, false, false, true], [false, false, false, true], [false, true, false, false], [true, true, true, false]], [[true, true, false, true], [true, false, true, true], [true, false, false, true], [true, true, true, false], [false, true, false, false], [false, true, true, true]], [[true, true, true, true], [false, true, false, false], [false, false, false, true], [false, true, false, true], [true, false, true, false], [true, true, true, false]]]> : tensor<5x6x4xi1>
    %c1 = stablehlo.constant dense<[[4, 4], [0, 5], [4, 4], [-1, 2]]> : tensor<4x2xi32>
    %c2 = stablehlo.constant dense<[[[false, false, true, true], [true, true, false, false]], [[false, true, true, false], [false, true, false, true]], [[true, false, false, false], [false, true, true, false]], [[false, true, false, false], [false, false, true, true]]]> : tensor<4x2x4xi1>
    return %c0, %c1, %c2 : tensor<5x6x4xi1>, tensor<4x2xi32>, tensor<4x2x4xi1>
  }
  func.func private @expected() -> (tensor<5x6x4xi1>) {
    %c0 = stablehlo.constant dense<[[[true, false, false, false], [true, false, false, true], [true, false, false, false], [false, false, true, false], [true, false, true, false], [false, true, true, true]], [[true, false, false, true], [true, false, true, false], [true, false, true, true], [true, true, false, true], [true, false, false, true], [true, true, true, false]], [[true, false, true, true], [true, false, false, false], [true, false, false, true], [false, false, false, true], [false, true, false, false], [true, true, true, false]], [[true, true, false, true], [true, false, true, true], [true, false, false, true], [true, true, true, false], [false, true, false, false], [false, true, true, true]], [[true, true, true, true], [false, true, false, false], [false, false, false, true], [false, true, false, true], [true, false, true, true], [true, true, true, false]]]> : tensor<5x6x4xi1>
    return %c0 : tensor<5x6x4xi1>
  }
}
