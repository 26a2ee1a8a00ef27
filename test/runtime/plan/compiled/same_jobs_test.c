/* The rule "dataflow" of replicas together says what it says of each alone: of plans as zbc makes them, and of
 * thousands with one number of one job, subprogram, rank or message changed, at a place that is drawn at random, of one
 * replica or of all of them. And what it says of parameters that are sent too soon. */
#include "runtime/plan/proof/same_jobs.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/mesh/mesh.h"

#include "runtime/plan/proof/rules.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = ZB_REPLICAS_PROVEN, MICRO_BATCHES = 5, CHANGES = 3000, BASES_MAX = 64 };

/* What a plan is made of. */
typedef struct origin {
  const char *model, *sharding, *schedule;
  uint64_t bucket_bytes; /* 0: as many as there are */
} origin;

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

static void scene_open(scene *s, const origin *from) {
  *s = (scene){.state = 7};
  CU_ASSERT_EQUAL_FATAL(compiled_plan_open(from->model, (zb_compile_params){.ranks = RANKS,
                                                                            .micro_batches = MICRO_BATCHES,
                                                                            .data_parallel = 8,
                                                                            .schedule = from->schedule,
                                                                            .sharding = from->sharding,
                                                                            .bucket_bytes = from->bucket_bytes}),
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

/* What a change puts back: a number, or two jobs; of each replica, if all are changed. */
typedef struct change {
  struct {
    void *at;
    unsigned char before[2 * sizeof(zb_plan_job)];
    size_t bytes;
  } kept[REPLICAS];
  int count;
} change;

static void keep(change *it, void *at, size_t bytes) {
  CU_ASSERT_FATAL(it->count < REPLICAS && bytes <= sizeof it->kept[0].before);
  it->kept[it->count].at = at;
  it->kept[it->count].bytes = bytes;
  memcpy(it->kept[it->count++].before, at, bytes);
}

static void put_back(change *it) {
  for (; it->count > 0; --it->count)
    memcpy(it->kept[it->count - 1].at, it->kept[it->count - 1].before, it->kept[it->count - 1].bytes);
}

static void change_i32(change *it, int32_t *at, int32_t to) {
  keep(it, at, sizeof *at);
  *at = to;
}

static void change_u64(change *it, uint64_t *at, uint64_t to) {
  keep(it, at, sizeof *at);
  *at = to;
}

static bool is_fixed(const zb_plan_rank *rank, zb_plan_range part) {
  const zb_plan_range slots = rank->regions[ZB_REGION_SLOTS];
  return part.bytes > 0 && (part.offset < slots.offset || part.offset >= slots.offset + slots.bytes);
}

/* A part outside of the slots, of the first job from `from` on, around the list, that has one; NULL: there is none. */
static zb_plan_range *fixed_part(const zb_plan_rank *rank, uint64_t from) {
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[(from + (uint64_t)i) % (uint64_t)rank->job_count];
    for (uint32_t p = 0; p < job->parts.count && job->message >= 0; ++p)
      if (is_fixed(rank, rank->pool_ranges[job->parts.begin + p])) return &rank->pool_ranges[job->parts.begin + p];
  }
  return NULL;
}

/* One number of a job becomes that of another one of its rank; false: it has none of that kind. */
static bool change_numbers(scene *s, zb_plan_rank *rank, zb_plan_job *job, const zb_plan_job *other, change *it) {
  zb_plan_range *part = NULL, *home = NULL;
  switch (draw(s, 8)) {
  case 0: /* where a base is */
    if (job->bases.count == 0 || other->bases.count == 0) return false;
    change_u64(it, &rank->pool_u64[job->bases.begin + draw(s, job->bases.count)],
               rank->pool_u64[other->bases.begin + draw(s, other->bases.count)]);
    return true;
  case 1: /* what a post moves */
    if (job->parts.count == 0 || other->parts.count == 0) return false;
    change_u64(it, &rank->pool_ranges[job->parts.begin + draw(s, job->parts.count)].offset,
               rank->pool_ranges[other->parts.begin + draw(s, other->parts.count)].offset);
    return true;
  case 2: /* of which micro-batch */
    if (job->micro_batch < 0 || other->micro_batch < 0) return false;
    change_i32(it, &job->micro_batch, other->micro_batch);
    return true;
  case 3: /* what it waits for */
    if (job->waits.count == 0) return false;
    keep(it, &job->waits.count, sizeof job->waits.count);
    --job->waits.count;
    return true;
  case 4:
    if (job->waits.count == 0 || other->waits.count == 0) return false;
    keep(it, &rank->pool_u32[job->waits.begin], sizeof *rank->pool_u32);
    rank->pool_u32[job->waits.begin] = rank->pool_u32[other->waits.begin];
    return true;
  case 5: /* what it reads */
    if (job->input < 0 || other->input < 0) return false;
    change_i32(it, &job->input, other->input);
    return true;
  case 6: /* what a post moves, where it is no part of the slots */
    part = fixed_part(rank, (uint64_t)(job - rank->jobs));
    home = fixed_part(rank, (uint64_t)(other - rank->jobs));
    if (draw(s, 2) && job->parts.count > 0) part = &rank->pool_ranges[job->parts.begin]; /* one that is there now */
    if (!part || !home) return false;
    change_u64(it, &part->offset, home->offset);
    return true;
  default: /* what runs, with as many bases */
    if (job->subprogram < 0 || other->subprogram < 0 || job->bases.count != other->bases.count) return false;
    change_i32(it, &job->subprogram, other->subprogram);
    return true;
  }
}

/* Two jobs change places. */
static void swap_jobs(zb_plan_job *first, change *it) {
  const zb_plan_job job = first[0];
  keep(it, first, 2 * sizeof job);
  first[0] = first[1];
  first[1] = job;
}

static bool change_job(scene *s, zb_plan_rank *rank, change *it) {
  zb_plan_job *job = &rank->jobs[draw(s, (uint64_t)rank->job_count)];
  const zb_plan_job *other = &rank->jobs[draw(s, (uint64_t)rank->job_count)];
  if (draw(s, 6) > 0) return change_numbers(s, rank, job, other, it);
  if (job == &rank->jobs[rank->job_count - 1]) return false;
  swap_jobs(job, it);
  return true;
}

/* Numbers of a subprogram that only this rank has. */
static bool change_subprogram(scene *s, zb_plan_rank *rank, change *it) {
  static uint64_t base_bytes[BASES_MAX]; /* of one change at a time */
  zb_plan_subprogram *subprogram = &rank->subprograms[draw(s, (uint64_t)rank->subprogram_count)];
  const zb_plan_subprogram *other = &rank->subprograms[draw(s, (uint64_t)rank->subprogram_count)];
  switch (draw(s, 4)) {
  case 0: /* where it leaves the loss */
    if (subprogram->loss_base == 0) return false;
    change_u64(it, &subprogram->loss_offset, subprogram->loss_offset + 4);
    return true;
  case 1:
    if (subprogram->base_count == 0) return false;
    keep(it, &subprogram->loss_base, sizeof subprogram->loss_base);
    subprogram->loss_base = subprogram->loss_base ? 0 : 1 + (uint32_t)draw(s, (uint64_t)subprogram->base_count);
    return true;
  case 2: /* what it is a part of */
    if (subprogram->derived.part_of == other->derived.part_of) return false;
    change_i32(it, &subprogram->derived.part_of, other->derived.part_of);
    return true;
  default: /* how far its bases go */
    if (subprogram->base_count == 0 || subprogram->base_count > BASES_MAX) return false;
    memcpy(base_bytes, subprogram->base_bytes, (size_t)subprogram->base_count * sizeof *base_bytes);
    base_bytes[draw(s, (uint64_t)subprogram->base_count)] = draw(s, 2) ? rank->arena_bytes : 0;
    keep(it, &subprogram->base_bytes, sizeof subprogram->base_bytes);
    subprogram->base_bytes = base_bytes;
    return true;
  }
}

/* Where the slots lie, and where the step begins. */
static bool change_rank(scene *s, zb_plan_rank *rank, change *it) {
  zb_plan_range *slots = &rank->regions[ZB_REGION_SLOTS];
  switch (draw(s, 4)) {
  case 0:
    change_u64(it, &slots->bytes, slots->bytes - 64 * draw(s, slots->bytes / 64));
    return true;
  case 1:
    change_u64(it, &slots->offset, slots->offset + 64 * draw(s, slots->bytes / 64));
    return true;
  default:
    change_i32(it, &rank->load_count, (int32_t)draw(s, 12));
    return true;
  }
}

static bool change_message(scene *s, change *it) {
  zb_plan_message *message = &s->full->messages[draw(s, (uint64_t)s->full->message_count)];
  const zb_plan_message *other = &s->full->messages[draw(s, (uint64_t)s->full->message_count)];
  int32_t *numbers[] = {&message->micro_batch, &message->source_stage, &message->destination_stage,
                        &message->derived.part_of};
  const int32_t others[] = {other->micro_batch, other->source_stage, other->destination_stage, other->derived.part_of};
  const uint64_t which = draw(s, 1 + sizeof numbers / sizeof *numbers);
  if (which == sizeof numbers / sizeof *numbers) {
    keep(it, &message->payload, sizeof message->payload);
    message->payload = other->payload;
  } else {
    change_i32(it, numbers[which], others[which]);
  }
  return true;
}

/* Of a replica; or of all of a rank the same, where their lists are the same. */
static bool change_jobs(scene *s, change *it) {
  const uint64_t state = s->state, first = draw(s, RANKS) * REPLICAS, some = draw(s, REPLICAS), all = draw(s, 4) == 0;
  const uint64_t then = s->state;
  bool changed = state != then;
  for (uint64_t r = all ? 0 : some; r < (all ? REPLICAS : some + 1); ++r) {
    s->state = then;
    changed &= change_job(s, &s->full->ranks[first + r], it);
  }
  return changed;
}

static bool change_one(scene *s, change *it) {
  zb_plan_rank *rank = &s->full->ranks[draw(s, RANKS * REPLICAS)];
  switch (draw(s, 12)) {
  case 0:
  case 1:
    return change_message(s, it);
  case 2:
    return change_subprogram(s, rank, it);
  case 3:
    return change_rank(s, rank, it);
  default:
    return change_jobs(s, it);
  }
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
    change it = {0};
    if (change_one(s, &it)) compare(s, &count);
    put_back(&it);
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

#define SHARDS "Inputs/shards.mlir"
#define TIED "../data/gpt2-tiny.onnx"
static const origin origins[] = {
    {SHARDS, "none", "zb-h1", 0},           {SHARDS, "optimizer", "zb-v", 0},
    {SHARDS, "gradients:step", "1f1b", 0},  {SHARDS, "gradients:micro-batch", "zb-h1", 1},
    {SHARDS, "parameters:step", "zb-v", 0}, {TIED, "none", "zb-h1", 1},
    {TIED, "optimizer", "1f1b", 0},         {TIED, "gradients:micro-batch", "zb-h1", 4096}};
enum { ORIGINS = sizeof origins / sizeof origins[0] };

static void test_changes(void) {
  for (int i = 0; i < ORIGINS; ++i) {
    scene s;
    scene_open(&s, &origins[i]);
    check_borrowed(&s);
    check_changes(&s);
    scene_close(&s);
  }
}

/* Of replicas that share nothing, or their optimizer's state, the lists are the same up to the sums. */
static void test_same_jobs(void) {
  for (int i = 0; i < 2; ++i) {
    scene s;
    scene_open(&s, &origins[i]);
    for (int r = 0; r < RANKS * REPLICAS; ++r) {
      const zb_plan_rank *rank = &s.full->ranks[r];
      const int same = zb_plan_same_jobs(s.full, r / REPLICAS * REPLICAS, r);
      int first_sum = 0;
      while (rank->jobs[first_sum].message < 0 || s.full->messages[rank->jobs[first_sum].message].derived.part_of == 0)
        ++first_sum;
      CU_ASSERT_EQUAL(same, first_sum);
      CU_ASSERT(same > rank->job_count / 2);
    }
    CU_ASSERT_EQUAL(zb_plan_same_jobs(s.full, 0, REPLICAS), 0); /* another stage */
    scene_close(&s);
  }
}

/* ---- What it says ---- */

static bool says(const scene *s, int rank, const char *text) {
  zb_status status = NULL;
  zb_verify_dataflow(s->full, rank, 1, &s->accesses[rank], &status);
  const bool said = status && strstr(zb_status_text(status), text);
  if (!said) fprintf(stderr, "\n  rank %d: %s\n", rank, status ? zb_status_text(status) : "accepted");
  zb_status_free(status);
  return said;
}

/* Parts of parameters that are sent before the UPDATE that writes them, and behind it. */
static void test_sent_before_update(void) {
  scene s;
  scene_open(&s, &origins[1]);
  for (int r = 0; r < RANKS * REPLICAS; ++r) {
    zb_plan_rank *rank = &s.full->ranks[r];
    int update = 0, send = 0;
    while (rank->jobs[update].kind != ZB_JOB_UPDATE)
      ++update;
    for (send = update; rank->jobs[send].kind != ZB_JOB_SEND ||
                        s.full->messages[rank->jobs[send].message].payload != ZB_PAYLOAD_PARAMETERS;)
      ++send;
    const zb_plan_job job = rank->jobs[send];
    rank->jobs[send] = rank->jobs[update];
    rank->jobs[update] = job;
    CU_ASSERT(says(&s, r, "which no UPDATE before it has written"));
    rank->jobs[update] = rank->jobs[send];
    rank->jobs[send] = job;
  }
  scene_close(&s);
}

SUITE_MAIN("same jobs", {"same jobs", test_same_jobs}, {"changed numbers", test_changes},
           {"sent before UPDATE", test_sent_before_update})
