// A loss that ignores targets, of four stages: three hold one parameter, the last one none.
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<1x4xi64> {zb.input = "x"}, %y: tensor<1x4xi64> {zb.input = "y"}, %wte: tensor<16x16xf32> {zb.param = "wte"}, %u: tensor<16x16xf32> {zb.param = "u"}) -> (tensor<f32> {zb.loss}) {
    %h = "zb.gather"(%wte, %x) {axis = 0 : i64} : (tensor<16x16xf32>, tensor<1x4xi64>) -> tensor<1x4x16xf32>
    %a = "zb.tanh"(%h) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("a")
    %b = "zb.matmul"(%a, %u) : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %c = "zb.tanh"(%b) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("b")
    %d = "zb.matmul"(%c, %wte) {transpose_rhs = true} : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32>
    %z = "zb.tanh"(%d) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> loc("c")
    %loss, %lse = "zb.cross_entropy"(%z, %y) {ignore_index = 3 : i64, reduction = "mean"} : (tensor<1x4x16xf32>, tensor<1x4xi64>) -> (tensor<f32>, tensor<1x4xf32>)
    return %loss : tensor<f32>
  }
}
