/* Problems as JSON: what is written is read back, every error names its place, the README's example works, and no
 * mutation of a file crashes the reader. */
#include <limits.h>

#include "fixture.h"
#include "runtime/base/file.h"

static bool same_list(const int64_t *a, const int64_t *b, int count) {
  for (int i = 0; i < count; ++i)
    if ((a ? a[i] : 0) != (b ? b[i] : 0)) return false;
  return true;
}

static bool same_edges(const zb_problem *a, const zb_problem *b) {
  if (!a->edges != !b->edges) return false;
  if (a->edges && a->edge_count != b->edge_count) return false;
  for (int i = 0; a->edges && i < a->edge_count; ++i)
    if (a->edges[i].source != b->edges[i].source || a->edges[i].destination != b->edges[i].destination ||
        a->edges[i].forward_bytes != b->edges[i].forward_bytes ||
        a->edges[i].backward_bytes != b->edges[i].backward_bytes)
      return false;
  return true;
}

static bool same(const zb_problem *a, const zb_problem *b) {
  if (a->ranks != b->ranks || a->micro_batches != b->micro_batches || a->stages != b->stages) return false;
  for (int i = 0; i < a->stages; ++i)
    if (a->stage_rank[i] != b->stage_rank[i] || memcmp(&a->costs[i], &b->costs[i], sizeof *a->costs) != 0) return false;
  return same_edges(a, b) && a->link_latency_ps == b->link_latency_ps && a->link_ps_per_byte <= b->link_ps_per_byte &&
         a->link_ps_per_byte >= b->link_ps_per_byte && same_list(a->base_bytes, b->base_bytes, a->ranks) &&
         same_list(a->optimizer_ps, b->optimizer_ps, a->ranks) && a->memory_limit_bytes == b->memory_limit_bytes &&
         same_list(a->rank_limit_bytes, b->rank_limit_bytes, a->ranks) && a->metric == b->metric &&
         a->whole_backward == b->whole_backward;
}

static zb_status parse(const char *text, zb_problem_data *out) {
  return zb_problem_parse(text, strlen(text), "p.json", out);
}

static void test_round_trip(void) {
  uint64_t seed = 3;
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  for (int round = 0; round < 300; ++round) {
    const int kind = (int)fixture_random(&seed, 4), p = 1 + (int)fixture_random(&seed, 6);
    const int v = kind == 0 ? 1 : kind == 2 ? 2 : 1 + (int)fixture_random(&seed, 3);
    fixture x;
    if (round % 3)
      fixture_uneven(&x, &seed, placements[kind], p, v, 1 + (int)fixture_random(&seed, 9));
    else
      fixture_uniform(&x, placements[kind], p, v, 4, 60, 120, 60, 7, 0.3);
    int64_t limits[FIXTURE_STAGES];
    for (int rank = 0; rank < p; ++rank)
      limits[rank] = fixture_random(&seed, 1000000) << 20;
    x.problem.memory_limit_bytes = round % 2 ? 0 : 5000000000;
    if (round % 5 == 0) x.problem.rank_limit_bytes = limits;
    if (round % 5 == 0) x.problem.memory_limit_bytes = 0;
    x.problem.link_ps_per_byte = (double)fixture_random(&seed, 1000000) / 7;
    x.problem.metric = (zb_metric)(round % ZB_METRIC_COUNT);
    x.problem.whole_backward = round % 7 == 0;
    char *text = zb_problem_json(&x.problem);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    zb_problem_data data;
    expect_ok(parse(text, &data));
    if (!same(&x.problem, &data.problem)) fprintf(stderr, "\nnot the same: %s", text);
    CU_ASSERT(same(&x.problem, &data.problem));
    zb_problem_data copy;
    expect_ok(zb_problem_data_copy(&copy, &data.problem));
    zb_problem_data_deinit(&data);
    char *again = zb_problem_json(&copy.problem);
    CU_ASSERT_STRING_EQUAL(text, again);
    zb_free(again);
    zb_problem_data_deinit(&copy);
    zb_free(text);
  }
}

/* What may be left out, and the other units. */
static void test_short_forms(void) {
  zb_problem_data data;
  expect_ok(parse("{\"ranks\": 3, \"micro_batches\": 4, \"placement\": \"v\", \"stages\": {\"time_ms\": [2, 2.5, 1]},"
                  "\"edges\": {\"forward_bytes\": 4096}, \"link\": {\"latency_ms\": 0.1, \"bytes_per_second\": 1e9},"
                  "\"optimizer_ms\": 2, \"base_bytes\": 1e6, \"memory_limit_bytes\": [1e9, 2e9, 3e9]}",
                  &data));
  CU_ASSERT_EQUAL(data.problem.stages, 6);
  CU_ASSERT_EQUAL(data.stage_rank[4], 1);
  CU_ASSERT_EQUAL(data.costs[5].time_ps[ZB_B], 2500000000);
  CU_ASSERT_EQUAL(data.problem.edge_count, 5);
  CU_ASSERT_EQUAL(data.edges[4].backward_bytes, 4096);
  CU_ASSERT_EQUAL(data.problem.link_latency_ps, 100000000);
  CU_ASSERT_DOUBLE_EQUAL(data.problem.link_ps_per_byte, 1000, 0);
  CU_ASSERT_EQUAL(data.optimizer_ps[2], 2000000000);
  CU_ASSERT_EQUAL(data.base_bytes[2], 1000000);
  CU_ASSERT_EQUAL(data.rank_limit_bytes[1], 2000000000);
  zb_problem_data_deinit(&data);
  expect_ok(
      parse("{\"ranks\": 2, \"micro_batches\": 1, \"stages\": [{\"time_ps\": [1, 2, 3]}, {\"time_ps\": [1, 2, 3]},"
            "{\"time_ps\": [1, 2, 3]}, {\"time_ps\": [1, 2, 3]}]}",
            &data));
  CU_ASSERT_EQUAL(data.problem.stages, 4);
  CU_ASSERT_EQUAL(data.stage_rank[2], 0); /* several chunks: looped */
  CU_ASSERT_PTR_NULL(data.problem.edges);
  zb_problem_data_deinit(&data);
}

/* Files with one thing wrong, and what is said of it. */
#define STAGES "\"stages\": {\"time_ms\": [2, 2, 1], \"keep_bytes\": [64, 0, 0], \"free_bytes\": [0, 40, 24]}"
#define GOOD "{\"ranks\": 2, \"micro_batches\": 4, " STAGES ", "
static const struct {
  const char *text, *message;
} bad[] = {
    {"", "p.json:1:1: not JSON"},
    {"{\"ranks\": 2,\n  \"ranks\": 3}", "p.json:2:3: not JSON: duplicate object key"},
    {"\xEF\xBB\xBF{\r\n \"ranks\": 2, \"micro_batches\": x8}", "p.json:2:31: not JSON: invalid token near 'x'"},
    {"\xEF\xBB\xBF{\r\n \"ranks\": 2, \"micro_batches\":\t\"8\"}", "p.json:2:31: micro_batches: expected a whole"},
    {"{\"ranks\": 2,\n\"micro_batches\": 4,\n \"stages\": [{}, {\"time_ms\": [2,\n\t-2, 1]}]}",
     "p.json:3:13: stages[0]: expected time_ms"},
    {"{\"ranks\": 2,\n\"micro_batches\": 4,\n \"stages\": [{\"time_ms\": [2, 1, 1]}, {\"time_ms\": [2,\n\t-2, 1]}]}",
     "p.json:4:2: stages[1].time_ms[1]: expected"},
    {"[1]", "p.json:1:1: the file: expected an object, got a list of 1"},
    {"{\"micro_batches\": 4, " STAGES "}", "ranks: expected this key, it is missing"},
    {"{\"ranks\": 2, " STAGES "}", "micro_batches: expected this key, it is missing"},
    {"{\"ranks\": 2, \"micro_batches\": 4}", "stages: expected this key, it is missing"},
    {"{\"ranks\": 0, \"micro_batches\": 4, " STAGES "}", "ranks: expected a whole number of 1 to 1000000, got 0"},
    {"{\"ranks\": 2, \"micro_batches\": 0, " STAGES "}", "micro_batches: expected a whole number of 1"},
    {GOOD "\"edges\": {\"forward_bytes\": 0}}",
     "edges: expected backward_bytes beside forward_bytes of 0, it is missing"},
    {"{\"ranks\": 2.5, \"micro_batches\": 4, " STAGES "}", "ranks: expected a whole number of 1 to 1000000, got 2.5"},
    {"{\"ranks\": \"2\", \"micro_batches\": 4, " STAGES "}", "got \"2\""},
    {"{\"ranks\": 200000, \"micro_batches\": 4, " STAGES "}", "ranks: expected at most 4096, got 200000"},
    {"{\"ranks\": 4000, \"micro_batches\": 900000, " STAGES "}", "too many jobs: 4000 stages x 900000 micro-batches"},
    {"{\"ranks\": 64, \"micro_batches\": 43691, " STAGES "}", "expected at most 8388608 jobs"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, -2, 1]}}",
     "stages.time_ms[1]: expected a number of 0 to 4.6e9 (ms), got -2"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, 1e30, 1]}}", "stages.time_ms[1]: expected"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, 1e999, 1]}}",
     "not JSON: real number overflow"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, Infinity, 1]}}", "not JSON"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, 1]}}",
     "stages.time_ms: expected a list of 3 numbers, got a list of 2"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, 1, null]}}", "stages.time_ms[2]"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {}}", "stages: expected time_ms or time_ps, both are missing"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [1, 1, 1], \"time_ps\": [1, 1, 1]}}",
     "stages.time_ps: expected this or time_ms, got both"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": [{\"time_ms\": [1, 1, 1]}, {\"time_sm\": [1, 1, 1]}]}",
     "stages[1]: unknown key 'time_sm', did you mean 'time_ms'?"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": [{\"time_ms\": [1, 1, 1]}, {\"time_ps\": [1, 1.5, 1]}]}",
     "stages[1].time_ps[1]: expected a whole number of 0 to 4.6e18, got 1.5"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"chunks\": 2, \"stages\": [{\"time_ms\": [1, 1, 1]}]}",
     "stages: expected an object for all, or a list of 4 stages (2 ranks x 2 chunks), got a list of 1"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [1, 1, 1], \"free_bytes\": [0, 0, 5]}}",
     "stage 0: W frees 5 bytes, but only 0 are kept then\n  note: in p.json"},
    {GOOD "\"rank\": 2}", "p.json:1:121: unknown key 'rank', did you mean 'ranks'?"},
    {GOOD "\"colour\": 2}", "keys are ranks, micro_batches, chunks, placement, stages"},
    {GOOD "\"placement\": \"looper\"}", "placement: unknown placement 'looper', did you mean 'looped'?"},
    {GOOD "\"placement\": [0, 2]}", "placement[1]: expected a whole number of 0 to 1, got 2"},
    {GOOD "\"placement\": [0, 0]}", "rank 0: expected 1 virtual stages on every rank, got more"},
    {GOOD "\"placement\": [0, 1, 0]}", "placement: expected a name, or a list of the rank of each of the 2 stages"},
    {GOOD "\"placement\": true}", "got true"},
    {GOOD "\"edges\": [{\"source\": 0, \"forward_bytes\": 3}]}", "edges[0].destination: expected this key"},
    {GOOD "\"edges\": [{\"source\": 1, \"destination\": 0, \"forward_bytes\": 3}]}",
     "edges[0]: expected source < destination, got 1 and 0"},
    {GOOD "\"edges\": [{\"source\": 0, \"destination\": 2, \"forward_bytes\": 3}]}",
     "edges[0].destination: expected a whole number of 0 to 1, got 2"},
    {GOOD "\"edges\": 3}", "edges: expected a list of edges, or an object for a chain of them, got 3"},
    {GOOD "\"link\": {\"latency_ms\": -0.5}}", "link.latency_ms: expected a number of 0 to 4.6e9 (ms), got -0.5"},
    {GOOD "\"link\": {\"latency\": 1}}", "link: unknown key 'latency'"},
    {GOOD "\"link\": {\"bytes_per_second\": 0}}", "link.bytes_per_second: expected a number above 0"},
    {GOOD "\"link\": {\"bytes_per_second\": 1e-300}}", "a finite number"},
    {GOOD "\"link\": {\"bytes_per_second\": 1, \"ps_per_byte\": 1}}", "expected this or bytes_per_second, got both"},
    {GOOD "\"base_bytes\": -1}", "base_bytes: expected a whole number of 0 to 4.6e18, got -1"},
    {GOOD "\"base_bytes\": [1, 2, 3]}", "base_bytes: expected a number or a list of 2 numbers, got a list of 3"},
    {GOOD "\"base_bytes\": 99999999999999999999}", "not JSON: too big integer"},
    {GOOD "\"memory_limit_bytes\": [1]}", "memory_limit_bytes: expected a number or a list of 2 numbers"},
    {GOOD "\"memory_limit_bytes\": \"2G\"}",
     "memory_limit_bytes: expected a number or a list of 2 numbers, got \"2G\""},
    {GOOD "\"optimizer_ms\": 1, \"optimizer_ps\": 1}", "optimizer_ps: expected this or optimizer_ms, got both"},
    {GOOD "\"metric\": \"best\"}", "metric: expected \"barrier\", \"stage\" or \"period\", got \"best\""},
    {GOOD "\"whole_backward\": 1}", "whole_backward: expected true or false, got 1"},
    {GOOD "\"metric\": \"stage\"} x", "not JSON"},
};

static void test_errors(void) {
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    zb_problem_data data;
    zb_status status = parse(bad[i].text, &data);
    expect_status(status, ZB_INVALID, bad[i].message);
    CU_ASSERT_PTR_NULL(data.costs);
  }
  zb_problem_data data;
  expect_status(zb_problem_read("no-such-file.json", &data), ZB_IO, "no-such-file.json");
}

/* The block of JSON in the README of the library is what it says it is. */
static void test_readme(void) {
  char *text = NULL;
  size_t bytes = 0;
  expect_ok(zb_file_read(ZB_SOURCE_DIR "/passes/schedule/README.md", 0, &text, &bytes));
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  char *begin = strstr(text, "```json\n");
  CU_ASSERT_PTR_NOT_NULL_FATAL(begin);
  begin += strlen("```json\n");
  char *end = strstr(begin, "```");
  CU_ASSERT_PTR_NOT_NULL_FATAL(end);
  zb_problem_data data;
  expect_ok(zb_problem_parse(begin, (size_t)(end - begin), "README.md", &data));
  zb_order order = {0};
  expect_ok(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &data.problem, &order));
  CU_ASSERT_EQUAL(data.problem.ranks, 4);
  CU_ASSERT_EQUAL(data.problem.edge_count, 4);
  zb_order_deinit(&order);
  zb_problem_data_deinit(&data);
  zb_free(text);
}

/* Changes, drops, doubles and swaps a few bytes; pieces of JSON are more likely than noise. */
static size_t mutate(uint64_t *seed, char *text, size_t length, size_t capacity) {
  static const char *const pieces[] = {"-", "0", "1e99", "9", "null", "[", "]", "{}", "\"", ",", ".5", "true", "99999"};
  const int changes = 1 + (int)fixture_random(seed, 4);
  for (int i = 0; i < changes && length > 1; ++i) {
    const size_t at = (size_t)fixture_random(seed, (int64_t)length);
    const int kind = (int)fixture_random(seed, 4);
    if (kind == 0) text[at] = (char)fixture_random(seed, 256);
    if (kind == 1) memmove(text + at, text + at + 1, --length - at);
    if (kind == 2) {
      const char *piece = pieces[fixture_random(seed, sizeof pieces / sizeof *pieces)];
      const size_t bytes = strlen(piece);
      if (length + bytes > capacity) continue;
      memmove(text + at + bytes, text + at, length - at);
      memcpy(text + at, piece, bytes);
      length += bytes;
    }
    if (kind == 3) length = fixture_random(seed, 20) ? length : at; /* cut */
  }
  return length;
}

static void test_mutations(void) {
  uint64_t seed = 11;
  int good = 0;
  for (int round = 0; round < 1000; ++round) {
    fixture x;
    fixture_uneven(&x, &seed, "looped", 1 + (int)fixture_random(&seed, 3), 2, 3);
    if (round % 2) x.problem.rank_limit_bytes = x.base;
    char *text = zb_problem_json(&x.problem);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    const size_t length = strlen(text), capacity = length + 64;
    char *changed = zb_alloc(capacity + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(changed);
    memcpy(changed, text, length);
    const size_t bytes = mutate(&seed, changed, length, capacity);
    zb_problem_data data;
    zb_status status = zb_problem_parse(changed, bytes, "mutated", &data);
    good += !status;
    if (status) CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "mutated"));
    if (!status && data.problem.ranks <= 64 && data.problem.micro_batches < 1000) {
      zb_order order = {0};
      zb_status run = zb_schedule_run(zb_schedule_find("fthenb", NULL), &data.problem, &order);
      zb_status_free(run);
      zb_order_deinit(&order);
    }
    zb_status_free(status);
    zb_problem_data_deinit(&data);
    zb_free(changed);
    zb_free(text);
  }
  CU_ASSERT(good > 20 && good < 900); /* the mutations reach both sides */
}

static void test_out_of_memory(void) {
  fixture x;
  uint64_t seed = 5;
  fixture_uneven(&x, &seed, "looped", 2, 2, 3);
  x.problem.rank_limit_bytes = x.base;
  char *text = zb_problem_json(&x.problem);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  int failures = 0;
  for (uint64_t n = 1; n < 1000; ++n) {
    zb_problem_data data;
    zb_allocation_fail_at(n);
    zb_status status = parse(text, &data);
    char *again = status ? NULL : zb_problem_json(&data.problem);
    zb_allocation_fail_at(0);
    if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    const bool done = again != NULL;
    failures += !done;
    zb_status_free(status);
    zb_problem_data_deinit(&data);
    zb_free(again);
    if (done) break;
  }
  CU_ASSERT(failures > 5 && failures < 999);
  zb_free(text);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"written and read", test_round_trip},
                                      {"short forms", test_short_forms},
                                      {"errors", test_errors},
                                      {"the README's example", test_readme},
                                      {"1,000 mutations", test_mutations},
                                      {"every allocation fails once", test_out_of_memory},
                                      CU_TEST_INFO_NULL};
  return run_suite("problem json", tests);
}
