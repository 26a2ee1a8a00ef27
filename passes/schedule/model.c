/* Checking a problem, and the tables built from it.
 *
 * Everything that later code adds up is bounded here once (TOTAL_MAX), so that no sum of times or bytes can overflow.
 * Tests: test/passes/schedule/problem_test.c.
 */
#include "passes/schedule/model.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Most that all times, or all bytes, of a problem may add up to: 53 days in ps, 4 EiB. */
static const int64_t TOTAL_MAX = INT64_C(1) << 62;
/* Most jobs of a problem: some 100 bytes and 300 ns each, so that a problem of a hundred bytes asks for less than 1 GiB
 * and a few seconds. */
static const int64_t JOBS_MAX = INT64_C(1) << 23;

static const char kind_letters[] =
#define ZB_KIND(name, summary) #name
#include "zb/kinds.def"
#undef ZB_KIND
    ;

char zb_kind_letter(zb_kind kind) { return kind_letters[kind]; }

bool zb_kind_parse(char letter, zb_kind *out) {
  const char *at = letter ? strchr(kind_letters, letter) : NULL;
  if (at) *out = (zb_kind)(at - kind_letters);
  return at != NULL;
}

zb_stage_cost zb_whole_cost(const zb_stage_cost *cost) {
  zb_stage_cost whole = *cost;
  const int64_t w_peak = cost->keep_bytes[ZB_B] - cost->free_bytes[ZB_B] + cost->keep_bytes[ZB_W];
  whole.time_ps[ZB_B] += cost->time_ps[ZB_W];
  if (w_peak > whole.keep_bytes[ZB_B]) whole.keep_bytes[ZB_B] = w_peak;
  whole.free_bytes[ZB_B] = whole.keep_bytes[ZB_B] - (w_peak - cost->free_bytes[ZB_W]);
  whole.time_ps[ZB_W] = whole.keep_bytes[ZB_W] = whole.free_bytes[ZB_W] = 0;
  return whole;
}

static bool add_product(int64_t *total, int64_t a, int64_t b) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*total, product, total) &&
         *total <= TOTAL_MAX;
}

zb_status zb_check_size(int ranks, int64_t stages, int micro_batches) {
  if (ranks < 1) return ZB_ERROR(INVALID, "ranks: expected 1 or more, got %d", ranks);
  if (ranks > ZB_SCHEDULE_RANKS_MAX)
    return zb_status_hint(ZB_ERROR(INVALID, "ranks: expected at most %d, got %d", ZB_SCHEDULE_RANKS_MAX, ranks),
                          "a pipeline has a rank a stage; replicas of it (data parallel) run the same schedule");
  if (micro_batches < 1) return ZB_ERROR(INVALID, "micro_batches: expected 1 or more, got %d", micro_batches);
  if (stages < 1 || stages % ranks)
    return zb_status_hint(
        ZB_ERROR(INVALID, "stages: expected a multiple of the %d ranks, got %lld", ranks, (long long)stages),
        "every rank owns the same number of virtual stages (its chunks)");
  if (stages > JOBS_MAX / ZB_KIND_COUNT / micro_batches)
    return zb_status_hint(
        ZB_ERROR(INVALID, "too many jobs: %lld stages x %d micro-batches x %d kinds, expected at most %lld jobs",
                 (long long)stages, micro_batches, ZB_KIND_COUNT, (long long)JOBS_MAX),
        "take fewer micro-batches: with many times more than ranks the bubble is a rounding error of the step");
  return NULL;
}

static zb_status check_link(const char *where, int64_t latency_ps, double ps_per_byte) {
  if (latency_ps < 0)
    return ZB_ERROR(INVALID, "%slatency_ps: expected 0 or more, got %lld", where, (long long)latency_ps);
  if (!isfinite(ps_per_byte) || ps_per_byte < 0)
    return ZB_ERROR(INVALID, "%sps_per_byte: expected a finite number, 0 or more, got %g", where, ps_per_byte);
  return NULL;
}

static zb_status check_counts(const zb_problem *p) {
  ZB_TRY(zb_check_size(p->ranks, p->stages, p->micro_batches));
  if (!p->stage_rank)
    return ZB_ERROR(INVALID, "stage_rank: expected a rank for each of the %d stages, got NULL", p->stages);
  if (!p->costs) return ZB_ERROR(INVALID, "costs: expected times of each of the %d stages, got NULL", p->stages);
  if (p->edge_count < 0) return ZB_ERROR(INVALID, "edge_count: expected 0 or more, got %d", p->edge_count);
  ZB_TRY(check_link("link_", p->link_latency_ps, p->link_ps_per_byte));
  if (p->memory_limit_bytes < 0)
    return ZB_ERROR(INVALID, "memory_limit_bytes: expected 0 (none) or more, got %lld",
                    (long long)p->memory_limit_bytes);
  for (int rank = 0; p->rank_limit_bytes && rank < p->ranks; ++rank)
    if (p->rank_limit_bytes[rank] < 0)
      return ZB_ERROR(INVALID, "rank_limit_bytes[%d]: expected 0 (none) or more, got %lld", rank,
                      (long long)p->rank_limit_bytes[rank]);
  return NULL;
}

/* ---- Classes of links ---- */

/* Classes at most: their names are compared with each other. */
enum { LINK_CLASSES_MAX = 256 };

static zb_status check_class(const zb_problem *p, int index) {
  const zb_link_class *class = &p->link_classes[index];
  const size_t length = strnlen(class->name, ZB_LINK_NAME_BYTES);
  bool is_good = length > 0 && length < ZB_LINK_NAME_BYTES;
  for (size_t i = 0; i < length; ++i)
    is_good = is_good && class->name[i] >= ' ' && class->name[i] <= '~' && !strchr("\"\\", class->name[i]);
  if (!is_good)
    return ZB_ERROR(INVALID, "link_classes[%d].name: expected 1 to %d printable characters, no quote and no backslash",
                    index, ZB_LINK_NAME_BYTES - 1);
  for (int i = 0; i < index; ++i)
    if (!strcmp(p->link_classes[i].name, class->name))
      return ZB_ERROR(INVALID, "link_classes[%d].name: '%s' is the name of link_classes[%d] too", index, class->name,
                      i);
  char where[32];
  snprintf(where, sizeof where, "link_classes[%d].", index);
  return check_link(where, class->latency_ps, class->ps_per_byte);
}

/* Whether an index names a class; `where` is the field. */
static zb_status check_class_index(const zb_problem *p, const char *where, int index) {
  if (index >= 0 && index < p->link_class_count) return NULL;
  return ZB_ERROR(INVALID, "%s: expected one of the %d link classes, got %d", where, p->link_class_count, index);
}

static zb_status check_nodes(const zb_problem *p) {
  if (p->node_ranks < 0) return ZB_ERROR(INVALID, "node_ranks: expected 0 (no nodes) or more, got %d", p->node_ranks);
  if (p->node_ranks == 0) return NULL;
  ZB_TRY(check_class_index(p, "inside_class", p->inside_class));
  ZB_TRY(check_class_index(p, "between_class", p->between_class));
  if (p->link_latency_ps > 0 || p->link_ps_per_byte > 0)
    return zb_status_hint(ZB_ERROR(INVALID, "link: expected none beside nodes, which give every channel a class"),
                          "make it a link class");
  return NULL;
}

static zb_status build_channels(zb_model *model) {
  const zb_problem *p = model->problem;
  if (p->link_class_count < 0 || p->link_class_count > LINK_CLASSES_MAX)
    return ZB_ERROR(INVALID, "link_classes: expected at most %d, got %d", LINK_CLASSES_MAX, p->link_class_count);
  for (int i = 0; i < p->link_class_count; ++i)
    ZB_TRY(check_class(p, i));
  ZB_TRY(check_nodes(p));
  if (p->channel_count < 0) return ZB_ERROR(INVALID, "channel_count: expected 0 or more, got %d", p->channel_count);
  if (p->channel_count == 0) return NULL;
  ZB_TAKE(&model->arena, model->channel_class, p->ranks * p->ranks);
  ZB_TRY(zb_arena_status(&model->arena));
  for (int i = 0; i < p->channel_count; ++i) {
    const zb_channel *c = &p->channels[i];
    char where[40];
    snprintf(where, sizeof where, "channels[%d].class", i);
    if (zb_min_int(c->source, c->destination) < 0 || zb_max_int(c->source, c->destination) >= p->ranks ||
        c->source == c->destination)
      return ZB_ERROR(INVALID, "channels[%d]: expected two ranks of 0..%d, got %d -> %d", i, p->ranks - 1, c->source,
                      c->destination);
    ZB_TRY(check_class_index(p, where, c->link_class));
    int32_t *class = &model->channel_class[c->source * p->ranks + c->destination];
    if (*class) return ZB_ERROR(INVALID, "channels[%d]: %d -> %d is given twice", i, c->source, c->destination);
    *class = c->link_class + 1;
  }
  return NULL;
}

/* The class of the channel between the ranks of two stages. */
static zb_link_class class_between(const zb_model *model, int from, int to) {
  const zb_problem *p = model->problem;
  const int source = p->stage_rank[from], destination = p->stage_rank[to];
  const zb_link_class all = {.latency_ps = p->link_latency_ps, .ps_per_byte = p->link_ps_per_byte};
  if (zb_min_int(source, destination) < 0 || zb_max_int(source, destination) >= p->ranks)
    return all; /* an error soon */
  const int32_t own = model->channel_class ? model->channel_class[source * p->ranks + destination] : 0;
  if (own) return p->link_classes[own - 1];
  if (p->node_ranks == 0) return all;
  return p->link_classes[source / p->node_ranks == destination / p->node_ranks ? p->inside_class : p->between_class];
}

/* Time of a message: latency + bytes * ps_per_byte, rounded to the nearest ps. False if out of range. */
static bool message_time(const zb_model *model, int from, int to, int64_t bytes, int64_t *out) {
  const zb_link_class class = class_between(model, from, to);
  const double transfer = (double)bytes * class.ps_per_byte;
  if (!(transfer < (double)TOTAL_MAX)) return false;
  return !__builtin_add_overflow(class.latency_ps, llround(transfer), out) && *out <= TOTAL_MAX;
}

/* ---- Values ---- */

static zb_status check_cost(int stage, const zb_stage_cost *cost, int64_t micro_batches, int64_t *time,
                            int64_t *bytes) {
  int64_t live = 0;
  for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
    const char letter = zb_kind_letter((zb_kind)kind);
    if (cost->time_ps[kind] < 0)
      return ZB_ERROR(INVALID, "stage %d: time of %c: expected 0 or more, got %lld ps", stage, letter,
                      (long long)cost->time_ps[kind]);
    if (cost->keep_bytes[kind] < 0 || cost->free_bytes[kind] < 0)
      return ZB_ERROR(INVALID, "stage %d: memory of %c: expected bytes kept and freed of 0 or more, got %lld and %lld",
                      stage, letter, (long long)cost->keep_bytes[kind], (long long)cost->free_bytes[kind]);
    if (!add_product(time, micro_batches, cost->time_ps[kind]))
      return ZB_ERROR(INVALID, "stage %d: time of %c: all times together exceed %lld ps", stage, letter,
                      (long long)TOTAL_MAX);
    if (!add_product(bytes, micro_batches, cost->keep_bytes[kind]))
      return ZB_ERROR(INVALID, "stage %d: memory of %c: all bytes together exceed %lld", stage, letter,
                      (long long)TOTAL_MAX);
    live += cost->keep_bytes[kind];
    if (cost->free_bytes[kind] > live)
      return ZB_ERROR(INVALID, "stage %d: %c frees %lld bytes, but only %lld are kept then", stage, letter,
                      (long long)cost->free_bytes[kind], (long long)live);
    live -= cost->free_bytes[kind];
  }
  for (int part = 0; part < ZB_OPTIMIZER_PHASES; ++part)
    if (cost->optimizer_ps[part] < 0 || !add_product(time, 1, cost->optimizer_ps[part]))
      return ZB_ERROR(INVALID,
                      "stage %d: optimizer_ps[%d]: expected 0 or more, and all times together at most %lld ps, "
                      "got %lld",
                      stage, part, (long long)TOTAL_MAX, (long long)cost->optimizer_ps[part]);
  return NULL;
}

/* Without a list of them the edges are those of a chain. */
static int edge_count(const zb_problem *p) { return p->edges ? p->edge_count : p->stages - 1; }

static zb_edge edge_at(const zb_problem *p, int index) {
  return p->edges ? p->edges[index] : (zb_edge){index, index + 1, 0, 0};
}

static zb_status check_edges(const zb_model *model, int64_t *time) {
  const zb_problem *p = model->problem;
  for (int i = 0; i < edge_count(p); ++i) {
    const zb_edge edge = edge_at(p, i);
    if (edge.source < 0 || edge.destination >= p->stages || edge.source >= edge.destination)
      return ZB_ERROR(INVALID, "edge %d: expected 0 <= source < destination < %d stages, got %d -> %d", i, p->stages,
                      edge.source, edge.destination);
    if (edge.forward_bytes < 0 || edge.backward_bytes < 0)
      return ZB_ERROR(INVALID, "edge %d (%d -> %d): expected bytes of 0 or more, got %lld forward and %lld backward", i,
                      edge.source, edge.destination, (long long)edge.forward_bytes, (long long)edge.backward_bytes);
    int64_t forward, backward;
    if (!message_time(model, edge.source, edge.destination, edge.forward_bytes, &forward) ||
        !message_time(model, edge.destination, edge.source, edge.backward_bytes, &backward) ||
        !add_product(time, p->micro_batches, forward) || !add_product(time, p->micro_batches, backward))
      return ZB_ERROR(INVALID, "edge %d (%d -> %d): the time of its messages, or of all together, exceeds %lld ps", i,
                      edge.source, edge.destination, (long long)TOTAL_MAX);
  }
  return NULL;
}

static bool has_stage_optimizer(const zb_problem *p) {
  for (int stage = 0; stage < p->stages; ++stage)
    for (int part = 0; part < ZB_OPTIMIZER_PHASES; ++part)
      if (p->costs[stage].optimizer_ps[part] > 0) return true;
  return false;
}

static zb_status check_ranks(const zb_problem *p, int64_t *time, int64_t *bytes) {
  const bool by_stage = has_stage_optimizer(p);
  for (int rank = 0; rank < p->ranks; ++rank) {
    if (p->base_bytes && p->base_bytes[rank] < 0)
      return ZB_ERROR(INVALID, "rank %d: base_bytes: expected 0 or more, got %lld", rank,
                      (long long)p->base_bytes[rank]);
    if (p->optimizer_ps && p->optimizer_ps[rank] < 0)
      return ZB_ERROR(INVALID, "rank %d: optimizer_ps: expected 0 or more, got %lld", rank,
                      (long long)p->optimizer_ps[rank]);
    if (by_stage && p->optimizer_ps && p->optimizer_ps[rank] > 0)
      return zb_status_hint(ZB_ERROR(INVALID,
                                     "rank %d: optimizer_ps: expected 0 where stages have optimizer times, got %lld",
                                     rank, (long long)p->optimizer_ps[rank]),
                            "the optimizer of a rank takes the times of its stages one after the other");
    if (p->base_bytes && !add_product(bytes, 1, p->base_bytes[rank]))
      return ZB_ERROR(INVALID, "rank %d: base_bytes: all bytes together exceed %lld", rank, (long long)TOTAL_MAX);
    if (p->optimizer_ps && !add_product(time, 1, p->optimizer_ps[rank]))
      return ZB_ERROR(INVALID, "rank %d: optimizer_ps: all times together exceed %lld ps", rank, (long long)TOTAL_MAX);
  }
  return NULL;
}

static zb_status check_reductions(const zb_problem *p, int64_t *time) {
  if (p->reduction_count < 0)
    return ZB_ERROR(INVALID, "reduction_count: expected 0 or more, got %d", p->reduction_count);
  for (int i = 0; i < p->reduction_count; ++i) {
    const zb_reduction *r = &p->reductions[i];
    if (r->stage < 0 || r->stage >= p->stages)
      return ZB_ERROR(INVALID, "reductions[%d].stage: expected 0 to %d, got %d", i, p->stages - 1, r->stage);
    if (r->after < 0 || r->after >= p->micro_batches)
      return ZB_ERROR(INVALID, "reductions[%d].after: expected a micro-batch of 0 to %d, got %d", i,
                      p->micro_batches - 1, r->after);
    if (r->lead_ps < 0 || r->lead_ps > p->costs[r->stage].time_ps[ZB_W])
      return ZB_ERROR(INVALID, "reductions[%d].lead_ps: expected 0 to %lld, the time of W, got %lld", i,
                      (long long)p->costs[r->stage].time_ps[ZB_W], (long long)r->lead_ps);
    if (r->bytes < 0)
      return ZB_ERROR(INVALID, "reductions[%d].bytes: expected 0 or more, got %lld", i, (long long)r->bytes);
    if (r->time_ps < 0 || !add_product(time, 1, r->time_ps))
      return ZB_ERROR(INVALID,
                      "reductions[%d].time_ps: expected 0 or more, and all times together at most %lld ps, got "
                      "%lld",
                      i, (long long)TOTAL_MAX, (long long)r->time_ps);
  }
  if (p->overlap_slowdown == 0 || p->overlap_slowdown == 1) return NULL;
  if (!(p->overlap_slowdown >= 1) || !isfinite(p->overlap_slowdown))
    return ZB_ERROR(INVALID, "overlap_slowdown: expected 1 or more, got %g", p->overlap_slowdown);
  return zb_status_hint(ZB_ERROR(INVALID, "overlap_slowdown: only 1 is simulated so far, got %g", p->overlap_slowdown),
                        "jobs run at full speed beside reductions: make the times of W longer instead");
}

static zb_status check_values(const zb_model *model) {
  const zb_problem *p = model->problem;
  int64_t time = 0, bytes = 0;
  for (int stage = 0; stage < p->stages; ++stage)
    ZB_TRY(check_cost(stage, &p->costs[stage], p->micro_batches, &time, &bytes));
  ZB_TRY(check_edges(model, &time));
  ZB_TRY(check_ranks(p, &time, &bytes));
  return check_reductions(p, &time);
}

/* Chunks of ranks, that every rank owns the same number, and what its optimizer takes. */
static zb_status build_chunks(zb_model *model) {
  const zb_problem *p = model->problem;
  model->chunks = p->stages / p->ranks;
  int *filled;
  ZB_TAKE(&model->arena, model->rank_stages, p->stages);
  ZB_TAKE(&model->arena, model->stage_chunk, p->stages);
  ZB_TAKE(&model->arena, filled, p->ranks);
  ZB_TAKE(&model->arena, model->optimizer_ps, p->ranks);
  ZB_TRY(zb_arena_status(&model->arena));
  if (p->optimizer_ps) memcpy(model->optimizer_ps, p->optimizer_ps, (size_t)p->ranks * sizeof *p->optimizer_ps);
  for (int stage = 0; stage < p->stages; ++stage) {
    const int rank = p->stage_rank[stage];
    if (rank < 0 || rank >= p->ranks)
      return ZB_ERROR(INVALID, "stage %d: expected a rank of 0..%d, got %d", stage, p->ranks - 1, rank);
    if (filled[rank] == model->chunks)
      return ZB_ERROR(INVALID, "rank %d: expected %d virtual stages on every rank, got more (stage %d too)", rank,
                      model->chunks, stage);
    model->stage_chunk[stage] = filled[rank];
    model->rank_stages[rank * model->chunks + filled[rank]++] = stage;
    for (int part = 0; part < ZB_OPTIMIZER_PHASES; ++part)
      model->optimizer_ps[rank] += p->costs[stage].optimizer_ps[part];
  }
  return NULL;
}

static zb_link make_link(const zb_model *model, int from, int to, int64_t bytes) {
  const zb_problem *p = model->problem;
  const int source = p->stage_rank[from], destination = p->stage_rank[to];
  zb_link link = {.stage = to, .channel = -1, .bytes = bytes};
  if (source == destination) return link;
  link.channel = source * p->ranks + destination;
  message_time(model, from, to, bytes, &link.time_ps);
  return link;
}

/* Sorts the links of one kind by sending stage (a counting sort: edges of a stage keep their order). */
static zb_status build_links(zb_model *model, zb_kind kind) {
  const zb_problem *p = model->problem;
  const int edges = edge_count(p);
  int *begin = ZB_TAKE(&model->arena, model->link_begin[kind], p->stages + 2);
  int *inputs = ZB_TAKE(&model->arena, model->input_counts[kind], p->stages);
  zb_link *links = ZB_TAKE(&model->arena, model->links[kind], edges + 1);
  ZB_TRY(zb_arena_status(&model->arena));
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < edges; ++i) {
      const zb_edge edge = edge_at(p, i);
      if (kind == ZB_B && p->edges && edge.backward_bytes == 0) continue;
      const int from = kind == ZB_F ? edge.source : edge.destination,
                to = kind == ZB_F ? edge.destination : edge.source;
      if (pass == 0) {
        ++begin[from + 2];
        ++inputs[to];
      } else {
        links[begin[from + 1]++] = make_link(model, from, to, kind == ZB_F ? edge.forward_bytes : edge.backward_bytes);
      }
    }
    for (int stage = 0; pass == 0 && stage < p->stages; ++stage)
      begin[stage + 2] += begin[stage + 1];
  }
  return NULL;
}

/* Sorts the reductions by rank: a counting sort, those of a rank keep their order. */
static zb_status build_reductions(zb_model *model) {
  const zb_problem *p = model->problem;
  int *begin = ZB_TAKE(&model->arena, model->reduction_begin, p->ranks + 2);
  ZB_TAKE(&model->arena, model->reductions, p->reduction_count + 1);
  ZB_TRY(zb_arena_status(&model->arena));
  for (int i = 0; i < p->reduction_count; ++i)
    ++begin[p->stage_rank[p->reductions[i].stage] + 2];
  for (int rank = 0; rank < p->ranks; ++rank)
    begin[rank + 2] += begin[rank + 1];
  for (int i = 0; i < p->reduction_count; ++i) {
    const zb_reduction *r = &p->reductions[i];
    model->reductions[begin[p->stage_rank[r->stage] + 1]++] =
        (zb_rank_reduction){i, r->stage, r->after, r->time_ps, r->lead_ps};
  }
  return NULL;
}

/* The same pair twice would be two messages that nothing tells apart. */
static zb_status check_duplicates(zb_model *model) {
  const int stages = model->problem->stages;
  int *seen;
  ZB_TAKE(&model->arena, seen, stages);
  ZB_TRY(zb_arena_status(&model->arena));
  for (int stage = 0; stage < stages; ++stage)
    for (int i = model->link_begin[ZB_F][stage]; i < model->link_begin[ZB_F][stage + 1]; ++i) {
      const int to = model->links[ZB_F][i].stage;
      if (seen[to] == stage + 1)
        return ZB_ERROR(INVALID, "edges: %d -> %d is given twice, expected one edge with all its bytes", stage, to);
      seen[to] = stage + 1;
    }
  return NULL;
}

zb_status zb_model_init(const zb_problem *problem, zb_model *out) {
  *out = (zb_model){.problem = problem};
  ZB_TRY(check_counts(problem));
  zb_status status = NULL;
  ZB_TRY_GOTO(build_channels(out));
  ZB_TRY_GOTO(check_values(out));
  ZB_TRY_GOTO(build_chunks(out));
  ZB_TRY_GOTO(build_links(out, ZB_F));
  ZB_TRY_GOTO(build_links(out, ZB_B));
  ZB_TRY_GOTO(build_reductions(out));
  ZB_TRY_GOTO(check_duplicates(out));
cleanup:
  if (status) zb_model_deinit(out);
  return status;
}

void zb_model_deinit(zb_model *model) {
  zb_arena_deinit(&model->arena);
  *model = (zb_model){0};
}

zb_problem zb_free_links(const zb_problem *problem) {
  zb_problem out = *problem;
  out.link_latency_ps = 0;
  out.link_ps_per_byte = 0;
  out.channel_count = out.node_ranks = out.reduction_count = 0;
  return out;
}

zb_status zb_unit_problem(const zb_problem *problem, zb_arena *arena, zb_problem *out) {
  zb_stage_cost *costs;
  ZB_TAKE(arena, costs, problem->stages);
  ZB_TRY(zb_arena_status(arena));
  for (int stage = 0; stage < problem->stages; ++stage)
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      costs[stage].time_ps[kind] = 1;
  *out = zb_free_links(problem);
  out->costs = costs;
  out->optimizer_ps = NULL;
  return NULL;
}

zb_status zb_problem_check(const zb_problem *problem) {
  zb_model model;
  ZB_TRY(zb_model_init(problem, &model));
  zb_model_deinit(&model);
  return NULL;
}
