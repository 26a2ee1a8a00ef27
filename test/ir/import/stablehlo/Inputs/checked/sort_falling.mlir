module @sort_falling {
  func.func public @main() -> (tensor<6x3xi8>, tensor<6x3xui64>) {
    %0:2 = call @inputs() : () -> (tensor<6x3xi8>, tensor<6x3xui64>)
    %1:2 = call @expected() : () -> (tensor<6x3xi8>, tensor<6x3xui64>)
    %out:2 = "stablehlo.sort"(%0#0, %0#1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i8>, %b: tensor<i8>, %c: tensor<ui64>, %d: tensor<ui64>):
      %2 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<6x3xi8>, tensor<6x3xui64>) -> (tensor<6x3xi8>, tensor<6x3xui64>)
    stablehlo.custom_call @check.expect_eq(%out#0, %1#0) {has_side_effect = true} : (tensor<6x3xi8>, tensor<6x3xi8>) -> ()
    stablehlo.custom_call @check.expect_eq(%out#1, %1#1) {has_side_effect = true} : (tensor<6x3xui64>, tensor<6x3xui64>) -> ()
    return %out#0, %out#1 : tensor<6x3xi8>, tensor<6x3xui64>
  }
  func.func private @inputs() -> (tensor<6x3xi8>, tensor<6x3xui64>) {
    %c0 = stablehlo.constant dense<[[3, 0, 2], [2, 1, 1], [3, 3, 0], [1, 2, 0], [2, 3, 0], [0, 0, 1]]> : tensor<6x3xi8>
    %c1 = stablehlo.constant dense<[[0, 18446744073709551615, 1], [8893751267423088556, 12824962235902773776, 8267290515653184273], [4974097404153177975, 11093524888560615867, 14044756157145041508], [18252721624088741942, 14010459744273068325, 13386755725890553427], [13431320461445617611, 2724908071488782312, 10699026919876286682], [17836512182803545390, 751762162149167640, 13057483965732234634]]> : tensor<6x3xui64>
    return %c0, %c1 : tensor<6x3xi8>, tensor<6x3xui64>
  }
  func.func private @expected() -> (tensor<6x3xi8>, tensor<6x3xui64>) {
    %c0 = stablehlo.constant dense<[[3, 3, 2], [3, 3, 1], [2, 2, 1], [2, 1, 0], [1, 0, 0], [0, 0, 0]]> : tensor<6x3xi8>
    %c1 = stablehlo.constant dense<[[0, 11093524888560615867, 1], [4974097404153177975, 2724908071488782312, 8267290515653184273], [8893751267423088556, 14010459744273068325, 13057483965732234634], [13431320461445617611, 12824962235902773776, 14044756157145041508], [18252721624088741942, 18446744073709551615, 13386755725890553427], [17836512182803545390, 751762162149167640, 10699026919876286682]]> : tensor<6x3xui64>
    return %c0, %c1 : tensor<6x3xi8>, tensor<6x3xui64>
  }
}
