/* Layers by module paths, without a program: which lists of modules are layers, and where the stages of a layout end.
 */

#include "passes/stages/cut/named_layers.h"
#include "zb/layers.h"

#include "test/suite.h"

#include <stdio.h>
#include <string.h>

static zb_arena arena;

static void find(const char *const *names, int count, int wanted, zb_named_layers *out) {
  zb_arena_deinit(&arena);
  CU_ASSERT_PTR_NULL_FATAL(zb_named_layers_find(&arena, names, count, wanted, out));
}

#define EXPECT_PATHS(layers, ...)                                                                                      \
  do {                                                                                                                 \
    const char *const expected[] = {__VA_ARGS__};                                                                      \
    CU_ASSERT_EQUAL_FATAL((layers).count, (int)(sizeof expected / sizeof expected[0]));                                \
    for (int i = 0; i < (layers).count; ++i)                                                                           \
      CU_ASSERT_STRING_EQUAL((layers).path[i], expected[i]);                                                           \
  } while (0)

/* Ops between layers, nodes with numbers and dots, no name at all; ten comes after two. */
static const char *const plain[] = {
    "wte (Gather_1.0)",  "lm.h.0.ln (n)",    NULL,       "lm.h.0.mlp (n.7.8)", "lm.h.2 (n)",
    "lm.h.2.attn.0 (n)", "lm.h.10.mlp (x1)", "add (n3)", "lm.h.10 (n)",        "ln_f (n)"};
enum { PLAIN = sizeof plain / sizeof plain[0] };

static void test_list(void) {
  zb_named_layers layers;
  find(plain, PLAIN, 0, &layers);
  EXPECT_PATHS(layers, "lm.h.0", "lm.h.2", "lm.h.10");
  const int first[] = {1, 4, 6}, last[] = {3, 5, 8};
  for (int i = 0; i < 3; ++i) {
    CU_ASSERT_EQUAL(layers.first[i], first[i]);
    CU_ASSERT_EQUAL(layers.last[i], last[i]);
  }
  find(plain, PLAIN, 1, &layers); /* the only list of one */
  EXPECT_PATHS(layers, "lm.h.2.attn.0");
  find(plain, PLAIN, 4, &layers);
  CU_ASSERT_EQUAL(layers.count, 0);
  find((const char *const[]){"a.b (0.1)", NULL, "c"}, 3, 0, &layers);
  CU_ASSERT_EQUAL(layers.count, 0);
  find(plain, 0, 0, &layers);
  CU_ASSERT_EQUAL(layers.count, 0);
}

/* Encoder and decoder together; a head of two modules is none, experts within layers are none. */
static void test_lists(void) {
  const char *const names[] = {"enc.0.a", "enc.0.b", "enc.1.a", "enc.1.b",     "dec.0.a",  "dec.0.e.0.w",
                               "dec.1.a", "dec.1.b", "dec.1.b", "dec.1.e.1.w", "head.0.w", "head.2.w"};
  zb_named_layers layers;
  find(names, 12, 0, &layers);
  EXPECT_PATHS(layers, "enc.0", "enc.1", "dec.0", "dec.1");
  find(names, 12, 4, &layers);
  EXPECT_PATHS(layers, "enc.0", "enc.1", "dec.0", "dec.1");
  find(names, 12, 2, &layers); /* of one list then: that with most ops */
  EXPECT_PATHS(layers, "dec.0", "dec.1");
  const char *const sequential[] = {"0", "0.w", "1", "2.5.6"};
  find(sequential, 4, 0, &layers);
  EXPECT_PATHS(layers, "0", "1", "2");
}

/* Where stages end; -1 for each where there is an error, whose message is "virtual stage N ...". */
static void cut(const char *text, int names, int expected_count, const int *expected, int wrong_stage) {
  zb_layer_layout layout;
  zb_named_layers layers;
  int after[8];
  char wrong[32];
  find(plain, PLAIN, 3, &layers);
  CU_ASSERT_PTR_NULL_FATAL(zb_layer_layout_init(&layout, &(zb_layer_params){.layout = text}));
  zb_status status = zb_named_layers_cut(&layers, &layout, names, after);
  snprintf(wrong, sizeof wrong, "virtual stage %d ", wrong_stage);
  const bool refused = zb_status_code(status) == ZB_USAGE && strstr(zb_status_message(status), wrong) != NULL;
  if (refused != (wrong_stage >= 0)) printf("\n  %s: %s", text, status ? zb_status_text(status) : "taken");
  CU_ASSERT_EQUAL(refused, wrong_stage >= 0);
  CU_ASSERT_EQUAL(status != NULL, wrong_stage >= 0);
  for (int s = 0; !status && s < expected_count; ++s)
    CU_ASSERT_EQUAL(after[s], expected[s]);
  zb_status_free(status);
  zb_layer_layout_deinit(&layout);
}

static void test_cuts(void) {
  cut("EtttL", PLAIN, 0, NULL, -1);
  cut("Et|ttL", PLAIN, 1, (const int[]){3}, -1);
  cut("E|t|t|t|L", PLAIN, 4, (const int[]){0, 3, 5, 8}, -1);
  cut("Ettt|L", PLAIN, 1, (const int[]){8}, -1);
  cut("Ettt|L", 9, 0, NULL, 1); /* nothing behind the last layer */
  cut("Ett|tL", 9, 1, (const int[]){5}, -1);
  cut("Et||ttL", PLAIN, 0, NULL, 1);
  cut("|EtttL", PLAIN, 0, NULL, 0);
  cut("EtttL|", PLAIN, 0, NULL, 1);
  cut("E||tttL", PLAIN, 0, NULL, 1);
}

static void test_memory(void) {
  for (uint64_t at = 1; at < 40; ++at) {
    zb_named_layers layers;
    zb_arena_deinit(&arena);
    zb_allocation_fail_at(at);
    zb_status status = zb_named_layers_find(&arena, plain, PLAIN, 0, &layers);
    zb_allocation_fail_at(0);
    CU_ASSERT_TRUE(status ? zb_status_code(status) == ZB_MEMORY && layers.count == 0 : layers.count == 3);
    zb_status_free(status);
  }
  zb_arena_deinit(&arena);
}

SUITE_MAIN("named_layers", {"list", test_list}, {"lists", test_lists}, {"cuts", test_cuts}, {"memory", test_memory})
