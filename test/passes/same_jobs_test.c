/* The rule "dataflow" of replicas together says what it says of each alone: of plans as zbc makes them, and of
 * thousands with one number of one job or message changed, at a place of one replica that is drawn at random. */
#include "runtime/plan/same_jobs.h"

#include "runtime/plan/expand.h"
#include "runtime/plan/verifier.h"
#include "test/passes/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = ZB_REPLICAS_PROVEN, MICRO_BATCHES = 5, CHANGES = 1500 };

typedef struct scene {
  zb_plan *plan, *step, *all, *full; /* as it is; of a step alone; of three replicas; with collectives as messages */
  zb_access *accesses[RANKS * REPLICAS], *borrowed[RANKS * REPLICAS]; /* each its own; those of the first replica */
  uint64_t state;
} scene;

static bool succeeds(zb_status status) {
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  zb_status_free(status);
  return !status;
}

static void scene_open(scene *s, const char *sharding, const char *schedule) {
  *s = (scene){.state = 7};
  CU_ASSERT_EQUAL_FATAL(compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                                     .micro_batches = MICRO_BATCHES,
                                                                                     .data_parallel = 8,
                                                                                     .schedule = schedule,
                                                                                     .sharding = sharding}),
                        0);
  CU_ASSERT_FATAL(succeeds(zb_plan_read(compiled_plan_path, -1, &s->plan)));
  CU_ASSERT_FATAL(succeeds(zb_plan_view(s->plan, ZB_LIST_STEP, &s->step)));
  CU_ASSERT_FATAL(succeeds(zb_plan_replicate(s->step, REPLICAS, &s->all)));
  CU_ASSERT_FATAL(succeeds(zb_plan_expand(s->all, &s->full)));
  for (int r = 0; r < RANKS * REPLICAS; ++r)
    CU_ASSERT_FATAL(succeeds(zb_access_create_all(&s->full->ranks[r], &s->accesses[r])));
  for (int r = 0; r < RANKS * REPLICAS; ++r) {
    const int first = r / REPLICAS * REPLICAS;
    CU_ASSERT_FATAL(succeeds(zb_access_create_like(&s->full->ranks[r], &s->full->ranks[first],
                                                   r > first ? s->borrowed[first] : NULL, &s->borrowed[r])));
  }
}

static void scene_close(scene *s) {
  for (int r = RANKS * REPLICAS - 1; r >= 0; --r) {
    zb_access_destroy_all(s->accesses[r], s->full->ranks[r].subprogram_count);
    zb_access_destroy_all(s->borrowed[r], s->full->ranks[r].subprogram_count);
  }
  zb_plan_destroy(s->full);
  zb_plan_destroy(s->all);
  zb_plan_destroy(s->step);
  zb_plan_destroy(s->plan);
  CU_ASSERT_EQUAL(compiled_plan_close(), 0);
}

static uint64_t draw(scene *s, uint64_t below) {
  s->state = s->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (s->state >> 33) % below;
}

/* ---- Changes ---- */

/* What a change puts back. */
typedef struct change {
  void *at;
  unsigned char before[16];
  size_t bytes;
} change;

static void keep(change *it, void *at, size_t bytes) {
  *it = (change){.at = at, .bytes = bytes};
  memcpy(it->before, at, bytes);
}

/* One number of a job becomes that of another one of its rank; false: it has none of that kind. */
static bool change_job(scene *s, zb_plan_rank *rank, change *it) {
  zb_plan_job *job = &rank->jobs[draw(s, (uint64_t)rank->job_count)];
  const zb_plan_job *other = &rank->jobs[draw(s, (uint64_t)rank->job_count)];
  switch (draw(s, 5)) {
  case 0: /* where a base is */
    if (job->bases.count == 0 || other->bases.count == 0) return false;
    keep(it, &rank->pool_u64[job->bases.begin + draw(s, job->bases.count)], sizeof *rank->pool_u64);
    *(uint64_t *)it->at = rank->pool_u64[other->bases.begin + draw(s, other->bases.count)];
    return true;
  case 1: /* what a post moves */
    if (job->parts.count == 0 || other->parts.count == 0) return false;
    keep(it, &rank->pool_ranges[job->parts.begin + draw(s, job->parts.count)].offset, sizeof(uint64_t));
    *(uint64_t *)it->at = rank->pool_ranges[other->parts.begin + draw(s, other->parts.count)].offset;
    return true;
  case 2: /* of which micro-batch */
    if (job->micro_batch < 0 || other->micro_batch < 0) return false;
    keep(it, &job->micro_batch, sizeof job->micro_batch);
    job->micro_batch = other->micro_batch;
    return true;
  case 3: /* what it waits for */
    if (job->waits.count == 0) return false;
    keep(it, &job->waits.count, sizeof job->waits.count);
    --job->waits.count;
    return true;
  default: /* what runs, with as many bases */
    if (job->subprogram < 0 || other->subprogram < 0 || job->bases.count != other->bases.count) return false;
    keep(it, &job->subprogram, sizeof job->subprogram);
    job->subprogram = other->subprogram;
    return true;
  }
}

static bool change_message(scene *s, change *it) {
  zb_plan_message *message = &s->full->messages[draw(s, (uint64_t)s->full->message_count)];
  const zb_plan_message *other = &s->full->messages[draw(s, (uint64_t)s->full->message_count)];
  int32_t *numbers[] = {&message->micro_batch, &message->source_stage, &message->destination_stage};
  const int32_t others[] = {other->micro_batch, other->source_stage, other->destination_stage};
  const uint64_t which = draw(s, sizeof numbers / sizeof *numbers);
  keep(it, numbers[which], sizeof **numbers);
  *numbers[which] = others[which];
  return true;
}

/* ---- Together and alone ---- */

typedef struct verdicts {
  int firsts, others; /* ranks that are refused: first replicas, and others whose first one is accepted */
} verdicts;

static bool same_text(zb_status a, zb_status b) {
  return a && b ? strcmp(zb_status_text(a), zb_status_text(b)) == 0 : a == b;
}

static void compare(const scene *s, verdicts *count) {
  for (int r = 0; r < RANKS * REPLICAS; r += REPLICAS) {
    zb_status together[REPLICAS] = {NULL}, alone[REPLICAS] = {NULL};
    zb_verify_dataflow(s->full, r, REPLICAS, &s->borrowed[r], together);
    for (int i = 0; i < REPLICAS; ++i)
      zb_verify_dataflow(s->full, r + i, 1, &s->accesses[r + i], &alone[i]);
    count->firsts += alone[0] != NULL;
    for (int i = 0; i < REPLICAS; ++i) {
      if (i > 0 && !alone[0]) count->others += alone[i] != NULL;
      if (i > 0 && alone[0]) continue; /* nobody looks at them any more */
      CU_ASSERT(same_text(together[i], alone[i]));
      if (!same_text(together[i], alone[i]))
        fprintf(stderr, "\n  rank %d together: %s\n  alone: %s\n", r + i,
                together[i] ? zb_status_text(together[i]) : "accepted",
                alone[i] ? zb_status_text(alone[i]) : "accepted");
    }
    for (int i = 0; i < REPLICAS; ++i) {
      zb_status_free(together[i]);
      zb_status_free(alone[i]);
    }
  }
}

static void check_changes(scene *s) {
  verdicts count = {0};
  compare(s, &count);
  CU_ASSERT(count.firsts == 0 && count.others == 0);
  for (int i = 0; i < CHANGES; ++i) {
    change it;
    zb_plan_rank *rank = &s->full->ranks[draw(s, RANKS * REPLICAS)];
    if (!(draw(s, 8) == 0 ? change_message(s, &it) : change_job(s, rank, &it))) continue;
    compare(s, &count);
    memcpy(it.at, it.before, it.bytes);
  }
  CU_ASSERT(count.firsts > CHANGES / 20);
  CU_ASSERT(count.others > CHANGES / 20);
}

static bool same_intervals(const zb_intervals *a, const zb_intervals *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; same && i < a->count; ++i)
    same = a->items[i].begin == b->items[i].begin && a->items[i].end == b->items[i].end;
  return same;
}

/* Those of F, B and W are borrowed, and all are as each rank's own. */
static void check_borrowed(const scene *s) {
  int borrowed = 0, all = 0;
  for (int r = 0; r < RANKS * REPLICAS; ++r)
    for (int i = 0; i < s->full->ranks[r].subprogram_count; ++i) {
      const zb_access *own = &s->accesses[r][i], *other = &s->borrowed[r][i];
      CU_ASSERT(own->base_count == other->base_count && own->fault == other->fault);
      for (int k = 0; k < own->base_count; ++k)
        CU_ASSERT(same_intervals(&own->reads[k], &other->reads[k]) &&
                  same_intervals(&own->writes[k], &other->writes[k]));
      CU_ASSERT(same_intervals(&own->workspace, &other->workspace));
      const zb_job_kind kind = s->full->ranks[r].subprograms[i].kind;
      if (kind != ZB_JOB_F && kind != ZB_JOB_B && kind != ZB_JOB_W) continue;
      borrowed += other->borrowed;
      all += r % REPLICAS > 0;
    }
  CU_ASSERT(borrowed == all && all >= RANKS * (REPLICAS - 1) * 3);
}

static const char *const shardings[] = {"none", "optimizer", "gradients:step", "gradients:micro-batch",
                                        "parameters:step"};
static const char *const schedules[] = {"zb-h1", "zb-v", "1f1b", "zb-h1", "zb-v"};
enum { SHARDING_COUNT = sizeof shardings / sizeof shardings[0] };

static void test_changes(void) {
  for (int i = 0; i < SHARDING_COUNT; ++i) {
    scene s;
    scene_open(&s, shardings[i], schedules[i]);
    check_borrowed(&s);
    check_changes(&s);
    scene_close(&s);
  }
}

/* Of replicas that share nothing, or their optimizer's state, the lists are the same up to the sums. */
static void test_same_jobs(void) {
  for (int i = 0; i < 2; ++i) {
    scene s;
    scene_open(&s, shardings[i], "zb-h1");
    for (int r = 0; r < RANKS * REPLICAS; ++r) {
      const zb_plan_rank *rank = &s.full->ranks[r];
      const int same = zb_plan_same_jobs(s.full, r / REPLICAS * REPLICAS, r);
      int first_sum = 0;
      while (rank->jobs[first_sum].message < 0 || s.full->messages[rank->jobs[first_sum].message].part_of == 0)
        ++first_sum;
      CU_ASSERT_EQUAL(same, first_sum);
      CU_ASSERT(same > rank->job_count / 2);
    }
    CU_ASSERT_EQUAL(zb_plan_same_jobs(s.full, 0, REPLICAS), 0); /* another stage */
    scene_close(&s);
  }
}

SUITE_MAIN("same jobs", {"same jobs", test_same_jobs}, {"changed numbers", test_changes})
