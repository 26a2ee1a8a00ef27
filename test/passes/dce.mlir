// zb-dce erases pure ops that nobody reads, and those that only they kept alive; nothing else.
// RUN: zb-opt --zb-dce --allow-unregistered-dialect --split-input-file %s | FileCheck %s --enable-var-scope

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = "zb.exp"(%[[X]])
// CHECK-NEXT: return %[[Y]]
func.func @chain(%x: tensor<4xf32> {zb.input = "x"}) -> tensor<4xf32> {
  %a = "zb.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "zb.tanh"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %y = "zb.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = "zb.add"(%b, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// One result that is read keeps an op of several results; unused arguments stay.
// CHECK-LABEL: func.func @no_change
// CHECK-SAME: %{{[^ ]+}}: tensor<2x8xf32> {zb.input = "x"}, %{{[^ ]+}}: tensor<8xf32> {zb.param = "s"}, %{{[^ ]+}}: tensor<3xf32>
// CHECK-NEXT: %[[N:.*]]:2 = "zb.rms_norm"
// CHECK-NEXT: return %[[N]]#0
func.func @no_change(%x: tensor<2x8xf32> {zb.input = "x"}, %s: tensor<8xf32> {zb.param = "s"},
                     %unused: tensor<3xf32> {zb.input = "u"}) -> tensor<2x8xf32> {
  %n, %r = "zb.rms_norm"(%x, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>)
  return %n : tensor<2x8xf32>
}

// -----

// An op that nobody described may have an effect: it stays, and so does what it reads.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: %[[E:.*]] = "zb.exp"
// CHECK-NEXT: "foreign.print"(%[[E]])
// CHECK-NEXT: return
func.func @unknown(%x: tensor<4xf32> {zb.input = "x"}) -> tensor<4xf32> {
  %e = "zb.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %p = "foreign.print"(%e) : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}
