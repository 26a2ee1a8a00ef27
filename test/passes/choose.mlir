// zb-choose: what is left open is decided before the program is cut, and is text in it where passes run one by one. Four
// layers x + gelu(x up) down.
// DEFINE: %{start} = zb-opt --zb-autodiff --zb-split-grad --zb-layout
// DEFINE: %{open} = ranks=2,micro-batches=4,split=auto,recompute=auto
// RUN: %{start} --zb-choose=%{open},schedule=1f1b,memory-limit=20K %s | FileCheck %s --check-prefix=CHOICE
// All passes behind it obey, and what an option says beside it does not count.
// RUN: %{start} --zb-choose=%{open},schedule=1f1b,memory-limit=20K --zb-partition=ranks=2 --zb-recompute=recompute=auto --zb-classify --zb-split-policy=split=auto --zb-outline --zb-memory --zb-schedule=micro-batches=4,schedule=fthenb --zb-insert-comm --zb-allocate=memory-limit=20K --zb-verify-plan %s | FileCheck %s --check-prefix=OBEYED
// RUN: %{start} --zb-choose=ranks=2,micro-batches=2,search=placement,schedule=search,cut-trials=3 %s | FileCheck %s --check-prefix=SEARCH
// Nothing is open.
// RUN: %{start} --zb-choose=ranks=2,micro-batches=4,schedule=1f1b,memory-limit=20K %s | FileCheck %s --check-prefix=NOTHING
// RUN: not %{start} --zb-choose=%{open},schedule=1f1b %s 2>&1 | FileCheck %s --check-prefix=NO-LIMIT
// RUN: not %{start} --zb-choose=%{open},schedule=1f1b,memory-limit=2XB %s 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not %{start} --zb-choose=ranks=2,schedule=search,search=all %s 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not %{start} --zb-choose=ranks=99,schedule=search,search=placement %s 2>&1 | FileCheck %s --check-prefix=RANKS
// A pass that is to obey, and a choice that is no choice of this program.
// RUN: not %{start} --zb-partition=ranks=2 --zb-recompute=recompute=auto %s 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: not %{start} --zb-partition=ranks=2 --zb-classify --zb-split-policy=split=auto %s 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: %{start} --zb-choose=%{open},schedule=1f1b,memory-limit=20K %s | sed 's/Aagain 1 /Aagain 99 /' | not zb-opt --zb-partition --zb-recompute=recompute=auto 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: %{start} --zb-choose=%{open},schedule=1f1b,memory-limit=20K %s | sed 's/zbc-choice 1/zbc-choice 9/' | not zb-opt --zb-partition 2>&1 | FileCheck %s --check-prefix=VERSION

// CHOICE: zb.choice = "zbc-choice 1\0A{{.*}}schedule 1f1b\0Aranks 2\0Achunks 1\0Aplacement plain\0Amicro-batches 4\0A
// CHOICE-SAME: stage 0 ends 7 {{.*}}again 1 5 {{.*}}in-b 1 3 {{.*}}in-b 5 7 {{.*}}order 0 0F0 0F1 0B0 0W0
// CHOICE-SAME: zb.level = "split"

// OBEYED-NOT: zb.choice
// OBEYED: zb.level = "verified"{{.*}}zb.schedule = "1f1b"
// OBEYED: "zb.gelu"{{.*}}zb.class = "W", zb.recomputed, zb.stage = 0

// SEARCH: zb.choice = "zbc-choice 1\0A{{.*}}schedule search\0Aranks 2\0A
// SEARCH-SAME: order 1

// NOTHING-NOT: zb.choice
// NOTHING: zb.level = "split"

// NO-LIMIT: error: recompute: auto computes again what a memory limit asks for, and there is none
// NO-LIMIT: hint: give a memory limit too, for example 2G, or choose all
// BYTES: error: memory-limit: expected bytes with K, M or G, got '2XB'
// WORD: error: search: expected order, cuts or placement, got 'all'
// RANKS: error: ranks: cannot cut 17 forward ops into 99 virtual stages (99 ranks x 1 chunks)
// AUTO: error: {{split|recompute}}: zb-choose chooses for auto, and it has not run
// AUTO: hint: run zb-choose before zb-partition, with {{split|recompute}}=auto
// PLACE: error: zb.choice:{{[0-9]+:[0-9]+}}: there is no place 99: the program has places 0..16
// VERSION: error: zb.choice:1:12: expected zbc-choice 1, got '9'


func.func @model(
    %x: tensor<4x8xf32> {zb.input = "x"},
    %a0: tensor<8x32xf32> {zb.param = "h.0.up"}, %b0: tensor<32x8xf32> {zb.param = "h.0.down"},
    %a1: tensor<8x32xf32> {zb.param = "h.1.up"}, %b1: tensor<32x8xf32> {zb.param = "h.1.down"},
    %a2: tensor<8x32xf32> {zb.param = "h.2.up"}, %b2: tensor<32x8xf32> {zb.param = "h.2.down"},
    %a3: tensor<8x32xf32> {zb.param = "h.3.up"}, %b3: tensor<32x8xf32> {zb.param = "h.3.down"}) -> (tensor<f32> {zb.loss}) {
  %u0 = "zb.matmul"(%x, %a0) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32> loc("h.0.up")
  %g0 = "zb.gelu"(%u0) : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("h.0.act")
  %d0 = "zb.matmul"(%g0, %b0) : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32> loc("h.0.down")
  %r0 = "zb.add"(%x, %d0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("h.0")
  %u1 = "zb.matmul"(%r0, %a1) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32> loc("h.1.up")
  %g1 = "zb.gelu"(%u1) : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("h.1.act")
  %d1 = "zb.matmul"(%g1, %b1) : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32> loc("h.1.down")
  %r1 = "zb.add"(%r0, %d1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("h.1")
  %u2 = "zb.matmul"(%r1, %a2) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32> loc("h.2.up")
  %g2 = "zb.gelu"(%u2) : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("h.2.act")
  %d2 = "zb.matmul"(%g2, %b2) : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32> loc("h.2.down")
  %r2 = "zb.add"(%r1, %d2) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("h.2")
  %u3 = "zb.matmul"(%r2, %a3) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32> loc("h.3.up")
  %g3 = "zb.gelu"(%u3) : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("h.3.act")
  %d3 = "zb.matmul"(%g3, %b3) : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32> loc("h.3.down")
  %r3 = "zb.add"(%r2, %d3) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("h.3")
  %l = "zb.reduce_mean"(%r3) {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32> loc("loss")
  return %l : tensor<f32>
}
