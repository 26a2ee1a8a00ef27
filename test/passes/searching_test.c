/* A compile that tells of its search (zb_compile_params.searching): what it tells, and what its answers do. */
#include "test/suite.h"
#include "zb/compiler.h"

#include <math.h>
#include <string.h>

typedef struct listener {
  int asked, left; /* so often it lets the search go on; < 0: always */
  zb_search_answer then;
  zb_search_state last;
  bool is_wrong;
} listener;

static zb_search_answer listen(void *context, const zb_search_state *state) {
  listener *l = context;
  const bool had = l->last.best_seconds > 0;
  l->is_wrong |= state->plans < l->last.plans || (had && state->best_seconds > l->last.best_seconds);
  l->is_wrong |= (state->best_seconds > 0) != (state->best_bytes > 0);
  l->is_wrong |= state->bound_seconds > 1.001 * state->best_seconds || (state->plans == 0 && state->best_seconds > 0);
  l->last = *state;
  ++l->asked;
  return l->left < 0 || l->asked <= l->left ? ZB_SEARCH_GO_ON : l->then;
}

static const struct {
  const char *schedule, *split, *recompute;
  uint64_t limit;
} cases[] = {{"search:budget=64", NULL, NULL, 0},
             {"search:budget=64", "auto", "auto", 900000},
             {"zb-h1", "auto", "auto", 900000},
             {"zb-v", "auto", NULL, 0}};
enum { CASES = sizeof cases / sizeof cases[0] };

static zb_compile_params params_of(int at, listener *told) {
  zb_compile_params p = ZB_COMPILE_PARAMS_INIT;
  p.model = ZB_SOURCE_DIR "/test/data/gpt2-tiny.onnx";
  p.ranks = 2;
  p.micro_batches = 4;
  p.schedule = cases[at].schedule;
  p.split = cases[at].split;
  p.recompute = cases[at].recompute;
  p.memory_limit = cases[at].limit;
  p.searching = told ? listen : NULL;
  p.progress_context = told;
  return p;
}

/* NULL: it failed, with *out_status. */
static zb_compile_summary *compile(int at, listener *told, zb_status *out_status) {
  const zb_compile_params params = params_of(at, told);
  zb_compile_summary *summary = NULL;
  *out_status = zb_compile(&params, &summary);
  CU_ASSERT((*out_status == NULL) == (summary != NULL));
  return summary;
}

static zb_compile_summary *must(int at, listener *told) {
  zb_status status;
  zb_compile_summary *summary = compile(at, told, &status);
  if (status) fprintf(stderr, "%s", zb_status_text(status));
  zb_status_free(status);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  return summary;
}

static void test_goes_on(void) {
  for (int i = 0; i < CASES; ++i) {
    listener told = {.left = -1};
    zb_compile_summary *alone = must(i, NULL), *watched = must(i, &told);
    CU_ASSERT(told.asked > 0 && told.last.plans > 0 && !told.is_wrong);
    CU_ASSERT_STRING_EQUAL(alone->choice, watched->choice);
    CU_ASSERT(alone->step_seconds == watched->step_seconds);
    CU_ASSERT_FALSE(watched->stopped);
    zb_compile_summary_destroy(alone);
    zb_compile_summary_destroy(watched);
  }
}

static uint64_t most_bytes(const zb_compile_summary *s) {
  uint64_t most = 0;
  for (int r = 0; r < s->ranks; ++r)
    if (s->rank[r].peak_bytes > most) most = s->rank[r].peak_bytes;
  return most;
}

/* The plan is the best that was told of, or the one that was made then. */
static void check_stopped(int at, const listener *told, const zb_compile_summary *s) {
  const double known = told->last.best_seconds;
  CU_ASSERT_TRUE(s->stopped);
  CU_ASSERT(!known || s->step_seconds <= known * (1 + 1e-9));
  CU_ASSERT(!cases[at].limit || most_bytes(s) <= cases[at].limit);
  CU_ASSERT(strncmp(s->choice, "zbc-choice", 10) == 0);
}

static void test_takes_best(void) {
  int stopped = 0, early = 0;
  for (int i = 0; i < CASES; ++i)
    for (int left = 0, goes_on = 1; goes_on && left < 4000; left += 1 + 2 * left) {
      listener told = {.left = left, .then = ZB_SEARCH_TAKE_BEST};
      zb_status status;
      zb_compile_summary *s = compile(i, &told, &status);
      if (s && s->stopped) check_stopped(i, &told, s);
      stopped += s && s->stopped;
      early += s == NULL;
      goes_on = told.asked > left;
      CU_ASSERT(told.asked <= left + 1); /* it is not asked again */
      if (!s) CU_ASSERT_EQUAL(zb_status_code(status), ZB_INTERRUPTED);
      if (!s) CU_ASSERT_EQUAL(told.last.best_seconds, 0);
      zb_status_free(status);
      zb_compile_summary_destroy(s);
    }
  CU_ASSERT(stopped >= CASES && early >= CASES);
}

static void test_gives_up(void) {
  for (int i = 0; i < CASES; ++i)
    for (int left = 0; left < 4; ++left) {
      listener told = {.left = left, .then = ZB_SEARCH_GIVE_UP};
      zb_status status;
      zb_compile_summary *s = compile(i, &told, &status);
      if (told.asked > left) CU_ASSERT_EQUAL(zb_status_code(status), ZB_INTERRUPTED);
      zb_status_free(status);
      zb_compile_summary_destroy(s);
    }
}

SUITE_MAIN("a search that is watched", {"going on changes nothing", test_goes_on},
           {"the best plan so far", test_takes_best}, {"giving up", test_gives_up})
