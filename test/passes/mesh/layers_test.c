/* Layouts of layers: what each error says, placements, strings, refused memory. Numbers are compared in groups.py. */
#include <stdio.h>
#include <string.h>

#include "test/suite.h"
#include "zb/layers.h"

static void expect(const char *layout, int layers, int ranks, int chunks, const char *message, const char *hint) {
  zb_layer_layout made;
  const zb_layer_params params = {.layout = layout, .layers = layers, .ranks = ranks, .chunks = chunks};
  zb_status status = zb_layer_layout_init(&made, &params);
  const bool good = zb_status_code(status) == ZB_USAGE && strstr(zb_status_message(status), message) &&
                    zb_status_hint_text(status) && strstr(zb_status_hint_text(status), hint);
  if (!good)
    printf("\n  %s: expected '%s' and '%s', got %s", layout, message, hint,
           status ? zb_status_text(status) : "success");
  CU_ASSERT_TRUE(good);
  CU_ASSERT_PTR_NULL(made.stage);
  zb_status_free(status);
}

static void test_rule_errors(void) {
  expect("even", 30, 4, 1, "30 layers cannot be cut alike for 4 ranks", "28 or 32 can; layout balanced");
  expect("even", 12, 4, 2, "the 3 layers of rank 0 cannot be cut into 2 chunks alike", "2 or 4 layers a rank");
  expect("even", 0, 4, 1, "how many layers there are is not said", "--layers");
  expect("even:loss=true", 30, 4, 1, "31 layers, embedding and loss counted,", "28 or 32");
  expect("even:first=5", 30, 4, 1, "25 layers cannot be cut alike for 3 other ranks", "24 or 27");
  expect("even:first=5,loss=true", 28, 4, 1, "first and last do not go with embedding and loss", "leave");
  expect("even:first=20,last=20", 30, 4, 1, "40 layers for the first and the last rank, the model has 30", "fewer");
  expect("even:first=5,last=6", 12, 2, 1, "11 layers for the first and the last rank, the model has 12", "all layers");
  expect("even:first=6,last=6", 12, 3, 1, "no layer is left for 1 other rank of 12 layers", "fewer layers");
  expect("even:first=5", 12, 1, 1, "5 layers for the first", "all layers");
  expect("even:first=5,last=7", 12, 1, 1, "one rank is first and last", "more ranks");
  expect("even:first=5,last=4", 29, 4, 2, "the 5 layers of rank 0 cannot be cut into 2", "4 or 6");
  expect("even:stage=2", 10, 4, 0, "10 layers cannot be cut into stages of 2 over 4 ranks", "ranks x stage");
  expect("even:stage=2", 16, 4, 4, "it makes 2 chunks of each rank, and 4 are asked for", "--chunks 2");
  expect("even:stage=2,first=4", 16, 4, 0, "stage does not go with first", "--chunks");
  expect("balanced", 7, 4, 2, "7 layers for 8 stages", "Et||tL");
  expect("evne", 8, 4, 1, "unknown layout 'evne'", "even");
  expect("uniform", 8, 4, 1, "unknown layout 'uniform'", "even");
  expect("even:frist=2", 8, 4, 1, "unknown key 'frist'", "first");
}

static void test_string_errors(void) {
  expect("", 0, 2, 0, "there is no E", "first");
  expect("tt|tL", 0, 2, 0, "t at character 1 stands before an E", "embedding is first");
  expect("EtE|tL", 0, 2, 0, "E at character 3 is not the first", "one embedding");
  expect("Et|t", 0, 2, 0, "there is no L", "loss, is last");
  expect("EtL|t", 0, 2, 0, "t at character 5 stands behind an L", "layers are first");
  expect("Etm|tL", 0, 2, 0, "t at character 5 stands behind an m", "layers are first");
  expect("EtL|L", 0, 2, 0, "expected 1 L, or 1 for the model and its 0 heads, got 2", "each L");
  expect("Et|m|mL", 0, 3, 0, "the heads m are on 2 stages, the losses on one", "into one stage");
  expect("Ett|L", 3, 2, 0, "it has 2 layers t, the model 3", "one t");
  expect("Ett|t|L", 0, 2, 0, "its 3 stages cannot be dealt to 2 ranks", "one less");
  expect("Ett|t|t|L", 0, 2, 4, "its 4 stages on 2 ranks are 2 a rank, and 4 are asked for", "--chunks");
  expect("E(tt", 0, 1, 0, "expected a ')' at its end", "for example");
  expect("Ex|L", 0, 2, 0, "expected one of E, t, m, L, | and ( at character 2, got 'x'", "E is the embedding");
  expect("E|t L", 0, 2, 0, "at character 4, got ' '", "E is");
  expect("Et*|L", 0, 2, 0, "expected a number at character 4, got '|'", "x*n");
  expect("E(t|)L", 0, 2, 0, "expected a '*' and a number behind ')' at character 6, got 'L'", "x*n");
  expect("E()*2L", 0, 2, 0, "expected a letter at character 3", "x*n");
  expect("E((t|)*2)*2L", 0, 2, 0, "no '(' within another", "x*n");
  expect("Et*2*3L", 0, 2, 0, "at character 5, got '*'", "x*n");
  expect("Et)*3L", 0, 2, 0, "at character 3, got ')'", "x*n");
}

static void expect_many(const char *layout) {
  zb_layer_layout made;
  zb_status status = zb_layer_layout_init(&made, &(zb_layer_params){.layout = layout});
  CU_ASSERT_TRUE(zb_status_code(status) == ZB_USAGE &&
                 strstr(zb_status_message(status), "more than 1000000 letters") != NULL);
  zb_status_free(status);
}

static void test_many(void) {
  expect_many("Et*1000001L");
  expect_many("Et*99999999999999999999L");
  expect_many("E(t*1000)*1001L");
  expect_many("E(t*999999)*999999L");
}

/* Down the ranks and up again: the first and the last stage are on rank 0. */
static void test_placement(void) {
  zb_layer_layout made;
  zb_layer_place place;
  const zb_layer_params params = {
      .layout = "even:first=2,last=4", .layers = 8, .ranks = 3, .chunks = 2, .placement = "v"};
  CU_ASSERT_PTR_NULL(zb_layer_layout_init(&made, &params));
  const int layers[] = {1, 1, 2, 2, 1, 1}, ranks[] = {0, 1, 2, 2, 1, 0};
  for (int s = 0; s < 6; ++s) {
    CU_ASSERT_EQUAL(made.stage[s].layers, layers[s]);
    CU_ASSERT_EQUAL(made.stage[s].rank, ranks[s]);
    CU_ASSERT_EQUAL(made.stage[s].chunk, s / 3);
  }
  CU_ASSERT_PTR_NULL(zb_layer_place_of(&made, 7, &place));
  CU_ASSERT_TRUE(place.rank == 0 && place.stage == 5 && place.chunk == 1);
  const int wrong[] = {-1, 8};
  for (int i = 0; i < 2; ++i) {
    zb_status status = zb_layer_place_of(&made, wrong[i], &place);
    CU_ASSERT_TRUE(zb_status_code(status) == ZB_USAGE && strstr(zb_status_message(status), "layers 0 to 7") != NULL);
    zb_status_free(status);
  }
  zb_layer_layout_deinit(&made);
}

static void test_string(void) {
  zb_layer_layout made;
  zb_layer_place place;
  const zb_layer_params params = {.layout = "even", .layers = 16, .ranks = 4, .chunks = 2};
  CU_ASSERT_PTR_NULL(zb_layer_layout_init(&made, &params));
  CU_ASSERT_PTR_NULL(zb_layer_place_of(&made, 9, &place));
  CU_ASSERT_TRUE(place.stage == 4 && place.chunk == 1 && place.rank == 0);
  zb_layer_layout_deinit(&made);
  CU_ASSERT_PTR_NULL(zb_layer_layout_init(&made, &(zb_layer_params){.layout = "Et*3|(tt|)*2,9,m|L", .ranks = 16}));
  CU_ASSERT_EQUAL(made.layers, 61);
  CU_ASSERT_EQUAL(made.heads, 1);
  CU_ASSERT_EQUAL(made.chunks, 2);
  char *text = zb_layer_layout_string(&made);
  CU_ASSERT_STRING_EQUAL(text, "Et*3|(tt|)*29m|L");
  zb_free(text);
  zb_layer_layout_deinit(&made);
}

static void test_memory(void) {
  const char *const layouts[] = {"E(t*2|)*3,L", "even:first=2", "evn"};
  for (int i = 0; i < 3; ++i)
    for (uint64_t at = 1;; ++at) {
      zb_layer_layout made;
      zb_allocation_fail_at(at);
      zb_status status = zb_layer_layout_init(&made, &(zb_layer_params){.layout = layouts[i], .layers = 6, .ranks = 2});
      const bool refused = zb_status_code(status) == ZB_MEMORY;
      zb_allocation_fail_at(0);
      if (status) CU_ASSERT_PTR_NULL(made.stage);
      zb_status_free(status);
      zb_layer_layout_deinit(&made);
      if (!refused && at > 20) break;
    }
}

SUITE_MAIN("layers", {"rule_errors", test_rule_errors}, {"string_errors", test_string_errors}, {"many", test_many},
           {"placement", test_placement}, {"string", test_string}, {"memory", test_memory})
