/* Tables that others measured, to the printed digit: bubbles, times and memory of the 12 settings (measured.json).
 *
 * A column whose row in measured.json names a schedule is compared; "limit" gives it that many times p micro-batches of
 * memory. The others are there for the schedules to come.
 */
#include <jansson.h>
#include <math.h>

#include "fixture.h"

typedef struct measured {
  const char *name;
  fixture x;
  zb_order order;
  zb_simulation simulation;
} measured;

static int64_t ps(const json_t *setting, const char *key) {
  return llround(json_number_value(json_object_get(setting, key)) * 1e9);
}

static int whole(const json_t *object, const char *key) {
  return (int)json_integer_value(json_object_get(object, key));
}

/* False for a column without a schedule. */
static bool run_column(const json_t *column, const json_t *setting, measured *out) {
  const char *text = json_string_value(json_object_get(column, "schedule"));
  if (!text) return false;
  out->name = json_string_value(json_object_get(column, "name"));
  zb_schedule_choice choice;
  expect_ok(zb_schedule_parse(text, &choice));
  CU_ASSERT_PTR_NOT_NULL_FATAL(choice.schedule);
  const int ranks = whole(setting, "ranks"), chunks = whole(column, "chunks");
  fixture_uniform(&out->x, json_string_value(json_object_get(column, "placement")), ranks, chunks,
                  whole(setting, "micro_batches"), ps(setting, "f"), ps(setting, "b"), ps(setting, "w"),
                  ps(setting, "comm"), json_number_value(json_object_get(setting, "memory_ratio")));
  if (choice.schedule->two_pipelines) fixture_two_chains(&out->x);
  const double limit = json_number_value(json_object_get(column, "limit"));
  out->x.problem.memory_limit_bytes = llround(limit * ranks * 1000 * chunks);
  expect_ok(zb_schedule_run_choice(&choice, &out->x.problem, &out->order));
  expect_ok(zb_simulate(&out->x.problem, &out->order, &out->simulation));
  CU_ASSERT_PTR_NOT_NULL_FATAL(out->simulation.jobs);
  return true;
}

static void release(measured *m) {
  zb_simulation_deinit(&m->simulation);
  zb_order_deinit(&m->order);
}

static double most_micro_batches(const measured *m) {
  const zb_problem *p = &m->x.problem;
  int64_t peak[FIXTURE_STAGES], most = 0;
  zb_order_peaks(p, &m->order, peak);
  for (int rank = 0; rank < p->ranks; ++rank)
    most = peak[rank] > most ? peak[rank] : most;
  return (double)most * p->ranks / (1000.0 * p->stages);
}

/* The same order where B frees nothing and W all. */
static double held_until_w(const measured *m) {
  measured held = *m;
  held.x.problem.costs = held.x.costs;
  held.x.problem.stage_rank = held.x.stage_rank;
  for (int stage = 0; stage < held.x.problem.stages; ++stage) {
    int64_t *freed = held.x.costs[stage].free_bytes;
    freed[ZB_W] += freed[ZB_B];
    freed[ZB_B] = 0;
  }
  return most_micro_batches(&held);
}

/* The printed cell; "-" stands for a number that was not printed. */
static void compare(const measured *m, const char *what, const json_t *cells, size_t index, const char *got) {
  const char *cell = json_string_value(json_array_get(cells, index));
  CU_ASSERT_PTR_NOT_NULL_FATAL(cell);
  const char *slash = strchr(got, '/');
  const bool partly = cell[0] == '-' && slash;
  const bool same = !strcmp(partly ? cell + 2 : cell, partly ? slash : got);
  if (!same)
    fprintf(stderr, "\n%s, p %d m %d, %s: expected %s, got %s", m->name, m->x.problem.ranks, m->x.problem.micro_batches,
            what, cell, got);
  CU_ASSERT(same);
}

static int check_setting(const json_t *root, const json_t *setting) {
  const json_t *columns = json_object_get(root, "columns"), *chunked = json_object_get(root, "chunked_columns");
  int compared = 0;
  char got[64];
  measured m;
  for (size_t i = 0; i < json_array_size(columns); ++i) {
    if (!run_column(json_array_get(columns, i), setting, &m)) continue;
    const zb_simulation *s = &m.simulation;
    snprintf(got, sizeof got, "%.2f / %.2f", s->bubble_stage * 100, s->bubble_barrier * 100);
    compare(&m, "bubble", json_object_get(setting, "bubble"), i, got);
    snprintf(got, sizeof got, "%.1f", (double)s->step_ps / 1e9);
    compare(&m, "time", json_object_get(setting, "time"), i, got);
    snprintf(got, sizeof got, "%.2f / %.2f", most_micro_batches(&m), held_until_w(&m));
    compare(&m, "memory", json_object_get(setting, "memory"), i, got);
    release(&m);
    ++compared;
  }
  for (size_t i = 0; i < json_array_size(chunked); ++i) {
    if (!run_column(json_array_get(chunked, i), setting, &m)) continue;
    snprintf(got, sizeof got, "%.2f / %.2f", m.simulation.bubble_barrier * 100, most_micro_batches(&m));
    compare(&m, "chunked", json_object_get(setting, "chunked"), i, got);
    release(&m);
    ++compared;
  }
  return compared;
}

static void test_measured(void) {
  json_error_t error;
  json_t *root = json_load_file(ZB_SOURCE_DIR "/test/passes/schedule/measured.json", 0, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  const json_t *settings = json_object_get(root, "settings");
  CU_ASSERT_EQUAL(json_array_size(settings), 12);
  for (size_t i = 0; i < json_array_size(settings); ++i)
    CU_ASSERT(check_setting(root, json_array_get(settings, i)) >= 14);
  json_decref(root);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"12 settings, to the printed digit", test_measured}, CU_TEST_INFO_NULL};
  return run_suite("measured", tests);
}
