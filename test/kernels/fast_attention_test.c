/* Attention on the CPU against the reference: blocks of queries and keys, grouped heads, causality, masks, strides,
 * gradients; with dropout and without. */
#include "test/kernels/fast.h"

typedef struct sizes {
  int64_t batch, tq, tk, heads, kv_heads, d;
  bool causal, packed;
  int mask; /* 0 none, 1 [tq, tk], 2 [batch, 1, 1, tk], 3 key by key with hidden keys */
} sizes;

/* q, k and v; packed: all three are slices of one [batch, time, 3, heads, d]. */
static void make_operands(fast_call *c, const sizes *s) {
  if (s->packed) {
    zb_tensor all = fast_uniform(-1, 1, FAST_SHAPE(s->batch, s->tq, 3 * s->heads, s->d));
    for (int i = 0; i < 3; ++i) {
      zb_tensor part = all;
      part.shape[2] = s->heads;
      part.data = (float *)all.data + i * s->heads * s->d;
      fast_input(c, part);
    }
  } else {
    fast_input(c, fast_uniform(-1, 1, FAST_SHAPE(s->batch, s->tq, s->heads, s->d)));
    fast_input(c, fast_uniform(-1, 1, FAST_SHAPE(s->batch, s->tk, s->kv_heads, s->d)));
    fast_input(c, fast_uniform(-1, 1, FAST_SHAPE(s->batch, s->tk, s->kv_heads, s->d)));
  }
  fast_input(c, s->mask == 0   ? fast_absent()
                : s->mask == 1 ? fast_uniform(-2, 2, FAST_SHAPE(s->tq, s->tk))
                               : fast_uniform(-2, 2, FAST_SHAPE(s->batch, 1, 1, s->tk)));
  if (s->mask == 3)
    for (int64_t i = 0; i < s->batch * s->tk; i += 2)
      ((float *)c->inputs[3].data)[i] = -INFINITY;
  fast_float(c, "scale", 0.25);
  fast_bool(c, "causal", s->causal);
}

static void drop(fast_call *c) {
  static const int64_t counter[] = {99, 7, 3, 0};
  fast_input(c, fast_tensor(ZB_I64, FAST_SHAPE(4)));
  memcpy(c->inputs[4].data, counter, sizeof counter);
  fast_float(c, "rate", 0.2);
  fast_int(c, "op", 11);
}

static void check_one(sizes s, bool drops) {
  fast_call c = {.op = drops ? "attention_dropout" : "attention"};
  fast_call g = {.op = drops ? "attention_dropout_grad" : "attention_grad"};
  make_operands(&c, &s);
  if (drops) drop(&c);
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(s.batch, s.tq, s.heads, s.d)));
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(s.batch, s.heads, s.tq)));
  fast_check(&c, 3e-6f, 3e-6f);
  fast_results forward = fast_run(&c, true, NULL);
  for (int i = 0; i < c.input_count; ++i)
    fast_input(&g, c.inputs[i]);
  fast_input(&g, forward.tensor[0]);
  fast_input(&g, forward.tensor[1]);
  fast_input(&g, fast_uniform(-1, 1, FAST_SHAPE(s.batch, s.tq, s.heads, s.d)));
  for (int i = 0; i < 3; ++i)
    fast_output(&g, fast_uniform(5, 6, 4, c.inputs[i].shape));
  memcpy(g.attrs, c.attrs, sizeof g.attrs);
  g.attr_count = c.attr_count;
  fast_check(&g, 2e-5f, 1e-5f);
  fast_free(&g, drops ? 0x7f : 0x3f);
  fast_results_free(&forward);
  fast_free(&c, s.packed ? 6 : 0);
}

static void check_attention(sizes s) {
  check_one(s, false);
  check_one(s, true);
}

static void test_sizes(void) {
  static const sizes all[] = {
      {1, 1, 1, 1, 1, 1, false, false, 0},    {2, 3, 5, 2, 1, 4, false, false, 0},
      {2, 17, 17, 4, 2, 8, true, false, 0},   {1, 70, 70, 2, 2, 20, true, true, 0},
      {1, 64, 128, 2, 1, 16, true, false, 0}, {1, 90, 40, 2, 2, 16, true, false, 0},
      {1, 20, 600, 2, 1, 8, false, false, 0}, {1, 600, 600, 1, 1, 8, true, false, 0},
      {2, 65, 65, 3, 3, 32, false, true, 0},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    check_attention(all[i]);
}

static void test_masks(void) {
  for (int mask = 1; mask <= 3; ++mask) {
    check_attention((sizes){2, 30, 30, 2, 1, 8, false, false, mask});
    check_attention((sizes){1, 70, 70, 2, 2, 8, true, true, mask});
    check_attention((sizes){1, 9, 530, 1, 1, 4, false, false, mask});
  }
}

int main(void) {
  CU_TestInfo tests[] = {{"sizes", test_sizes}, {"masks", test_masks}, CU_TEST_INFO_NULL};
  return fast_main("fast attention", tests);
}
