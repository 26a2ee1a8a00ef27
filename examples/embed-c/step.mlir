// A train step of two products, an activation between them, in a dialect of its own: gradients and updates are there,
// dX and dW come from one op. The attributes zb.* say what the arguments and results are.
module attributes {zb.level = "differentiated"} {
  func.func @step(%x: tensor<4x8xf32> {zb.input = "x"}, %w0: tensor<8x16xf32> {zb.param = "w0"},
                  %w1: tensor<16x16xf32> {zb.param = "w1"})
      -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = "w0"}, tensor<16x16xf32> {zb.update = "w1"}) {
    %a = "toy.mix"(%x, %w0) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %h = "toy.act"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("cut")
    %b = "toy.mix"(%h, %w1) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %loss = "toy.loss"(%b) : (tensor<4x16xf32>) -> tensor<f32>
    %db = "toy.loss_grad"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %dh, %dw1 = "toy.mix_grads"(%h, %w1, %db)
        : (tensor<4x16xf32>, tensor<16x16xf32>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<16x16xf32>)
    %g1 = "zb.accumulate"(%dw1) {parameter = "w1", use = 0 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %da = "toy.act_grad"(%a, %dh) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %dx, %dw0 = "toy.mix_grads"(%x, %w0, %da)
        : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> (tensor<4x8xf32>, tensor<8x16xf32>)
    %g0 = "zb.accumulate"(%dw0) {parameter = "w0", use = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %u0 = "toy.step"(%w0, %g0) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %u1 = "toy.step"(%w1, %g1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    return %loss, %u0, %u1 : tensor<f32>, tensor<8x16xf32>, tensor<16x16xf32>
  }
}
