/* Orders from outside: from cells to a proven order (zb/schedule.h, "Orders as files").
 *
 * What a file does not say is inferred (ranks are lines, stages and micro-batches the highest numbers, a stage belongs
 * to the line it stands on) and then everything is checked, because PyTorch checks little of it: it reads a prefix of
 * each cell, and knows nothing of deadlocks and messages. Messages of a file are checked (order_messages.c) and then
 * dropped: zb_order_lower places better ones. Tests: test/passes/schedule/order_file_test.c, order_mutation_test.c;
 * test/e2e/pytorch_schedules.py.
 */
#include <string.h>

#include "passes/schedule/text/cells.h"

#include "runtime/base/file.h"

static const int64_t JOBS_MAX = INT64_C(1) << 28;

/* "0I3", as the file writes the job. */
static const char *job_text(const zb_order_reading *r, int stage, zb_kind kind, int micro_batch, char text[48]) {
  const zb_action action = kind == ZB_F          ? ZB_ACTION_F
                           : kind == ZB_W        ? ZB_ACTION_W
                           : r->cells->b_is_part ? ZB_ACTION_B
                                                 : ZB_ACTION_I;
  return zb_cell_text((zb_cell){.stage = stage, .micro_batch = micro_batch, .action = action}, text);
}

static bool is_job(zb_action_class c) { return c == ZB_ACTION_JOB || c == ZB_ACTION_WHOLE; }

/* ---- Which number is the wrong one ---- */

static int number_of(const zb_cell *cell, bool of_stage) { return of_stage ? cell->stage : cell->micro_batch; }

static int weight_of(const zb_order_reading *r, const zb_cell *cell) {
  const zb_action_class c = zb_cell_class(r->cells, cell);
  return c == ZB_ACTION_WHOLE ? 2 : is_job(c) ? 1 : 0;
}

/* A stage or a micro-batch with less than half of the jobs of another: the fewest, at its first cell. No order has one,
 * so a number in this cell is wrong, rather than all that it leaves open elsewhere. False: there is none. */
static bool find_odd(const zb_order_reading *r, bool of_stage, size_t *index, int *jobs) {
  const int numbers = of_stage ? r->stages : r->micro_batches;
  int *count, least = 0, most = 0;
  if (!ZB_TAKE(r->arena, count, numbers)) return false;
  for (size_t i = 0; i < r->cells->count; ++i)
    if (weight_of(r, &r->cells->cells[i]))
      count[number_of(&r->cells->cells[i], of_stage)] += weight_of(r, &r->cells->cells[i]);
  for (int i = 0; i < numbers; ++i) {
    if (count[i] && (!least || count[i] < least)) least = count[i];
    if (count[i] > most) most = count[i];
  }
  *jobs = least;
  for (size_t i = 0; 2 * least < most && i < r->cells->count; ++i) {
    *index = i;
    if (weight_of(r, &r->cells->cells[i]) && count[number_of(&r->cells->cells[i], of_stage)] == least) return true;
  }
  return false;
}

/* The first job whose stage or micro-batch is above a number that is nowhere; at_start: where there is none. */
static size_t first_above(const zb_order_reading *r, bool of_stage, int number, size_t at_start) {
  for (size_t i = 0; i < r->cells->count; ++i)
    if (weight_of(r, &r->cells->cells[i]) && number_of(&r->cells->cells[i], of_stage) > number) return i;
  return at_start;
}

/* How many entries have a number. */
static size_t count_number(const zb_order_cells *cells, size_t from, size_t to, bool of_stage, int number) {
  size_t count = 0;
  for (size_t i = from; i < to; ++i)
    count += cells->cells[i].action < ZB_ACTION_COUNT && number_of(&cells->cells[i], of_stage) == number;
  return count;
}

/* ---- How large the order is ---- */

typedef struct extent {
  int64_t jobs;
  size_t stage_at, micro_batch_at; /* entries with the highest number */
  bool any;
} extent;

static extent measure(const zb_order_cells *cells) {
  extent e = {0};
  for (size_t i = 0; i < cells->count; ++i) {
    const zb_cell *cell = &cells->cells[i];
    const zb_action_class c = zb_cell_class(cells, cell);
    if (!is_job(c)) continue;
    if (!e.any) e.stage_at = e.micro_batch_at = i;
    e.any = true;
    e.jobs += c == ZB_ACTION_WHOLE ? 2 : 1;
    if (cell->stage > cells->cells[e.stage_at].stage) e.stage_at = i;
    if (cell->micro_batch > cells->cells[e.micro_batch_at].micro_batch) e.micro_batch_at = i;
  }
  return e;
}

static zb_status check_extent(zb_order_reading *r) {
  const zb_order_expected *x = r->expected;
  const extent e = measure(r->cells);
  char text[48];
  if (!e.any) return zb_source_error(r->source, 0, 1, "expected jobs, got none in the whole file");
  if (r->ranks > ZB_SCHEDULE_RANKS_MAX)
    return zb_source_error(r->source, ZB_SCHEDULE_RANKS_MAX, 1,
                           "expected a line a rank and at most %d ranks, got %d lines", ZB_SCHEDULE_RANKS_MAX,
                           r->ranks);
  const zb_cell stage = r->cells->cells[e.stage_at], micro_batch = r->cells->cells[e.micro_batch_at];
  r->stages = x->stages ? x->stages : stage.stage + 1;
  r->micro_batches = x->micro_batches ? x->micro_batches : micro_batch.micro_batch + 1;
  if (stage.stage >= r->stages)
    return ZB_CELL_ERROR(r, e.stage_at, "expected stages 0..%d, got %s", r->stages - 1, zb_cell_text(stage, text));
  if (micro_batch.micro_batch >= r->micro_batches)
    return ZB_CELL_ERROR(r, e.micro_batch_at, "expected micro-batches 0..%d, got %s", r->micro_batches - 1,
                         zb_cell_text(micro_batch, text));
  const int64_t pairs = (int64_t)r->stages * r->micro_batches, most = JOBS_MAX / ZB_KIND_COUNT;
  if (pairs <= most && pairs * ZB_KIND_COUNT <= 4 * e.jobs + 4096) return NULL;
  /* Far too few jobs for these numbers: one of them is wrong, and a table of all jobs might not fit. */
  const size_t all = r->cells->count;
  const bool stage_is_rarer = count_number(r->cells, 0, all, true, stage.stage) <
                              count_number(r->cells, 0, all, false, micro_batch.micro_batch);
  const size_t at = stage_is_rarer ? e.stage_at : e.micro_batch_at;
  return ZB_CELL_ERROR(
      r, at, "%s: expected F, B and W of %d stages and %d micro-batches, got only %lld jobs in the whole file",
      zb_cell_text(r->cells->cells[at], text), r->stages, r->micro_batches, (long long)e.jobs);
}

/* ---- Which line a stage stands on ---- */

/* A stage stands on two lines: said at that on which it stands more seldom. */
static zb_status two_lines(const zb_order_reading *r, size_t first, size_t second) {
  const zb_order_cells *cells = r->cells;
  const int stage = cells->cells[first].stage;
  const size_t row = zb_cells_row(cells, first), other = zb_cells_row(cells, second);
  const bool first_is_rarer = count_number(cells, zb_cells_row_begin(cells, row), cells->row_end[row], true, stage) <
                              count_number(cells, zb_cells_row_begin(cells, other), cells->row_end[other], true, stage);
  const size_t at = first_is_rarer ? first : second, too = first_is_rarer ? second : first;
  char text[48];
  return ZB_CELL_ERROR(r, at, "%s: stage %d stands on line %d too (column %d), expected every stage on one rank",
                       zb_cell_text(cells->cells[at], text), stage, zb_reading_line(r, (int)zb_cells_row(cells, too)),
                       cells->cells[too].column);
}

static zb_status check_placement(zb_order_reading *r) {
  char text[48];
  size_t *first;
  ZB_TAKE(r->arena, first, r->stages);
  ZB_TRY(zb_arena_status(r->arena));
  for (int stage = 0; stage < r->stages; ++stage)
    r->stage_rank[stage] = -1;
  size_t i = 0;
  for (int rank = 0; rank < r->ranks; ++rank)
    for (; i < r->cells->row_end[rank]; ++i) {
      const zb_cell cell = r->cells->cells[i];
      if (cell.action >= ZB_ACTION_COUNT) continue;
      if (cell.stage >= r->stages) {
        return ZB_CELL_ERROR(r, i, "%s: expected stages 0..%d", zb_cell_text(cell, text), r->stages - 1);
      } else if (r->stage_rank[cell.stage] < 0) {
        r->stage_rank[cell.stage] = rank;
        first[cell.stage] = i;
        const int *wanted = r->expected->stage_rank;
        if (wanted && wanted[cell.stage] != rank)
          return ZB_CELL_ERROR(r, i, "%s: expected stage %d on rank %d (line %d)", zb_cell_text(cell, text), cell.stage,
                               wanted[cell.stage], zb_reading_line(r, wanted[cell.stage]));
      } else if (r->stage_rank[cell.stage] != rank) {
        return two_lines(r, first[cell.stage], i);
      }
    }
  return NULL;
}

static zb_status odd_stage(const zb_order_reading *r, size_t at, int jobs) {
  char text[48];
  return ZB_CELL_ERROR(r, at, "%s: expected F, B and W of stage %d for all %d micro-batches, got %d of %d jobs",
                       zb_cell_text(r->cells->cells[at], text), r->cells->cells[at].stage, r->micro_batches, jobs,
                       r->micro_batches * ZB_KIND_COUNT);
}

/* Every rank owns as many stages as the others: what problems and plans are made of. */
static zb_status check_chunks(const zb_order_reading *r) {
  size_t odd = 0;
  int jobs = 0;
  const bool is_odd = find_odd(r, true, &odd, &jobs);
  for (int stage = 0; stage < r->stages; ++stage)
    if (r->stage_rank[stage] < 0)
      return ZB_CELL_ERROR(r, is_odd ? odd : first_above(r, true, stage, 0),
                           "stage %d stands on no line: expected stages 0..%d", stage, r->stages - 1);
  int *owned;
  ZB_TAKE(r->arena, owned, r->ranks);
  ZB_TRY(zb_arena_status(r->arena));
  for (int stage = 0; stage < r->stages; ++stage)
    ++owned[r->stage_rank[stage]];
  for (int rank = 0; rank < r->ranks; ++rank)
    if (owned[rank] != owned[0])
      return is_odd ? odd_stage(r, odd, jobs)
                    : zb_source_error(r->source, (size_t)rank, 1,
                                      "rank %d has %d stages, rank 0 has %d: expected the same number on every rank",
                                      rank, owned[rank], owned[0]);
  return NULL;
}

/* ---- Every job once, after what it needs ---- */

static zb_status note_job(zb_order_reading *r, size_t index, zb_kind kind) {
  const zb_cell *cell = &r->cells->cells[index];
  int32_t *at = &r->at[zb_reading_job(r, cell->stage, cell->micro_batch, kind)];
  char text[48], earlier[48];
  if (*at >= 0) {
    const zb_cell before = r->cells->cells[*at];
    return ZB_CELL_ERROR(r, index, "%s is there twice: expected one, and %s stands in column %d",
                         job_text(r, cell->stage, kind, cell->micro_batch, text), zb_cell_text(before, earlier),
                         before.column);
  }
  *at = (int32_t)index;
  return NULL;
}

static zb_status note_jobs(zb_order_reading *r) {
  for (size_t i = 0; i < r->cells->count; ++i) {
    const zb_action_class c = zb_cell_class(r->cells, &r->cells->cells[i]);
    if (!is_job(c)) continue;
    ZB_TRY(note_job(r, i, zb_cell_kind(&r->cells->cells[i])));
    if (c == ZB_ACTION_WHOLE) ZB_TRY(note_job(r, i, ZB_W));
  }
  return NULL;
}

/* A job is missing: said at another of the same stage and micro-batch, or, where none is there, of the same micro-batch
 * (its number may be the wrong one). */
static zb_status missing(const zb_order_reading *r, int stage, int micro_batch, zb_kind kind) {
  char text[48], other[48];
  size_t odd = 0;
  int jobs = 0;
  if (find_odd(r, true, &odd, &jobs)) return odd_stage(r, odd, jobs);
  if (find_odd(r, false, &odd, &jobs))
    return ZB_CELL_ERROR(r, odd, "%s: expected F, B and W of micro-batch %d on all %d stages, got %d of %d jobs",
                         zb_cell_text(r->cells->cells[odd], text), r->cells->cells[odd].micro_batch, r->stages, jobs,
                         r->stages * ZB_KIND_COUNT);
  job_text(r, stage, kind, micro_batch, text);
  for (int i = 0; i < ZB_KIND_COUNT; ++i) {
    const int32_t at = r->at[zb_reading_job(r, stage, micro_batch, (zb_kind)i)];
    if (at < 0) continue;
    return ZB_CELL_ERROR(r, at, "%s is missing: %s is here, expected F, B and W of every stage and micro-batch", text,
                         zb_cell_text(r->cells->cells[at], other));
  }
  for (size_t i = 0; i < r->cells->count; ++i) {
    const zb_cell cell = r->cells->cells[i];
    if (!is_job(zb_cell_class(r->cells, &cell)) || cell.micro_batch != micro_batch) continue;
    return ZB_CELL_ERROR(r, i,
                         "%s is missing: %s is here, expected every stage to run micro-batch %d, stage %d does not",
                         text, zb_cell_text(cell, other), micro_batch, stage);
  }
  const size_t row = (size_t)r->stage_rank[stage];
  return ZB_CELL_ERROR(r, first_above(r, false, micro_batch, zb_cells_row_begin(r->cells, row)),
                       "%s is missing: expected micro-batches 0..%d, micro-batch %d is nowhere", text,
                       r->micro_batches - 1, micro_batch);
}

static zb_status check_jobs(const zb_order_reading *r) {
  char text[48], earlier[48];
  for (int stage = 0; stage < r->stages; ++stage)
    for (int micro_batch = 0; micro_batch < r->micro_batches; ++micro_batch) {
      int32_t before = -1;
      for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
        const int32_t at = r->at[zb_reading_job(r, stage, micro_batch, (zb_kind)kind)];
        if (at < 0) return missing(r, stage, micro_batch, (zb_kind)kind);
        if (at < before)
          return ZB_CELL_ERROR(r, at, "%s stands before %s, which it needs", zb_cell_text(r->cells->cells[at], text),
                               zb_cell_text(r->cells->cells[before], earlier));
        before = at;
      }
    }
  return NULL;
}

/* ---- The order ---- */

static zb_status build_order(const zb_order_reading *r, zb_order *out) {
  ZB_TRY(zb_order_init(out, r->ranks));
  out->whole_backward = true;
  size_t i = 0;
  for (int rank = 0; rank < r->ranks; ++rank)
    for (; i < r->cells->row_end[rank]; ++i) {
      const zb_cell cell = r->cells->cells[i];
      const zb_action_class c = zb_cell_class(r->cells, &cell);
      if (!is_job(c)) continue;
      const zb_kind kind = zb_cell_kind(&cell);
      ZB_TRY(zb_order_add(out, rank, cell.stage, kind, cell.micro_batch));
      if (c == ZB_ACTION_WHOLE) ZB_TRY(zb_order_add(out, rank, cell.stage, ZB_W, cell.micro_batch));
      if (c == ZB_ACTION_JOB && kind == ZB_B) out->whole_backward = false;
    }
  return NULL;
}

static zb_status stuck(const zb_order_reading *r, const zb_model *model, const zb_order *order, const int *done,
                       int rank) {
  char text[48];
  const zb_job job = order->jobs[rank][done[rank]];
  const int32_t at = r->at[zb_reading_job(r, job.stage, job.micro_batch, job.kind)];
  zb_status status =
      ZB_CELL_ERROR(r, at, "the order deadlocks: %s waits for ever, ranks wait for each other in a circle",
                    zb_cell_text(r->cells->cells[at], text));
  return zb_order_explain(status, model, order, done);
}

/* With the numbers of the file, so that messages name its jobs. */
static zb_status check_ends(const zb_order_reading *r, const zb_order *order) {
  zb_model model;
  zb_stage_cost *costs;
  int *done;
  ZB_TAKE(r->arena, costs, r->stages);
  ZB_TAKE(r->arena, done, r->ranks);
  ZB_TRY(zb_arena_status(r->arena));
  const zb_problem problem = {.ranks = r->ranks,
                              .micro_batches = r->micro_batches,
                              .stages = r->stages,
                              .stage_rank = r->stage_rank,
                              .costs = costs};
  ZB_TRY(zb_model_init(&problem, &model));
  zb_status status = zb_order_run(&model, order, done, NULL);
  for (int rank = 0; rank < r->ranks && !status; ++rank)
    if (done[rank] < order->counts[rank]) status = stuck(r, &model, order, done, rank);
  zb_model_deinit(&model);
  return status;
}

/* ---- Micro-batches are numbered by the order of their W ---- */

/* ours[k] is the number that the file gives what W of stage 0 runs as the k-th. Every stage must run them so. */
static zb_status number_micro_batches(const zb_order_reading *r, const zb_order *order, int32_t *file_number,
                                      bool *same) {
  char got[48], wanted[48], first[48];
  int *next;
  ZB_TAKE(r->arena, next, r->stages);
  ZB_TRY(zb_arena_status(r->arena));
  int count = 0;
  const int owner = r->stage_rank[0];
  *same = true;
  for (int i = 0; i < order->counts[owner]; ++i) {
    const zb_job job = order->jobs[owner][i];
    if (job.kind != ZB_W || job.stage != 0) continue;
    if (job.micro_batch != count) *same = false;
    file_number[count++] = job.micro_batch;
  }
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      if (job.kind != ZB_W) continue;
      const int32_t number = file_number[next[job.stage]++];
      if (number == job.micro_batch) continue;
      zb_status status =
          ZB_CELL_ERROR(r, r->at[zb_reading_job(r, job.stage, job.micro_batch, ZB_W)],
                        "%s: expected %s here, because stage 0 runs %s then: W in the same order on every stage",
                        job_text(r, job.stage, ZB_W, job.micro_batch, got),
                        job_text(r, job.stage, ZB_W, number, wanted), job_text(r, 0, ZB_W, number, first));
      return zb_status_hint(status,
                            "micro-batches are numbered by the order of their W, so that gradients add up in one "
                            "order on every stage and give the same bits; move W");
    }
  return NULL;
}

static zb_status renumber(const zb_order_reading *r, zb_order *order, int32_t **out) {
  bool same = true;
  int32_t *file_number, *ours;
  ZB_TAKE(r->arena, file_number, r->micro_batches);
  ZB_TAKE(r->arena, ours, r->micro_batches);
  ZB_TRY(zb_arena_status(r->arena));
  ZB_TRY(number_micro_batches(r, order, file_number, &same));
  if (same) return NULL;
  for (int i = 0; i < r->micro_batches; ++i)
    ours[file_number[i]] = i;
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i)
      order->jobs[rank][i].micro_batch = ours[order->jobs[rank][i].micro_batch];
  *out = zb_alloc((size_t)r->micro_batches * sizeof **out);
  if (!*out) return ZB_OUT_OF_MEMORY();
  memcpy(*out, file_number, (size_t)r->micro_batches * sizeof **out);
  return NULL;
}

/* ---- Files ---- */

static zb_status check_expected(const zb_order_expected *x) {
  if (x->ranks < 0 || x->stages < 0 || x->micro_batches < 0)
    return ZB_ERROR(USAGE, "expected ranks, stages and micro-batches of 0 (any) or more, got %d, %d and %d", x->ranks,
                    x->stages, x->micro_batches);
  if (x->stage_rank && !x->stages) return ZB_ERROR(USAGE, "a placement needs the number of its stages, got 0");
  return NULL;
}

static zb_status check(zb_order_reading *r, zb_order_file *out) {
  if (r->expected->ranks && r->expected->ranks != r->ranks)
    return zb_source_error(r->source, r->ranks < r->expected->ranks ? (size_t)r->ranks - 1 : (size_t)r->expected->ranks,
                           1, "expected %d lines, one a rank, got %d", r->expected->ranks, r->ranks);
  ZB_TRY(check_extent(r));
  out->stage_rank = r->stage_rank = zb_alloc((size_t)r->stages * sizeof *r->stage_rank);
  const size_t jobs = (size_t)r->stages * (size_t)r->micro_batches * ZB_KIND_COUNT;
  ZB_TAKE(r->arena, r->at, jobs);
  if (!r->stage_rank || !r->at) return ZB_OUT_OF_MEMORY();
  memset(r->at, -1, jobs * sizeof *r->at);
  ZB_TRY(check_placement(r));
  ZB_TRY(note_jobs(r));
  ZB_TRY(check_chunks(r));
  ZB_TRY(check_jobs(r));
  ZB_TRY(build_order(r, &out->order));
  ZB_TRY(check_ends(r, &out->order));
  if (r->cells->form == ZB_FORM_COMPUTE_COMMS) ZB_TRY(zb_order_check_messages(r));
  ZB_TRY(renumber(r, &out->order, &out->file_micro_batch));
  out->stages = r->stages;
  out->micro_batches = r->micro_batches;
  out->form = r->cells->form;
  return NULL;
}

zb_status zb_order_read(const char *name, const char *text, size_t bytes, const zb_order_expected *expected,
                        zb_order_file *out) {
  static const zb_order_expected any = {0};
  *out = (zb_order_file){0};
  zb_source source = {.name = name, .text = text, .bytes = bytes};
  zb_arena arena = {0};
  zb_order_reading r = {.source = &source, .expected = expected ? expected : &any, .arena = &arena};
  ZB_TRY(check_expected(r.expected));
  zb_status status = NULL;
  out->cells = zb_alloc(sizeof *out->cells);
  if (!out->cells) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(zb_cells_read(&source, out->cells));
  r.cells = out->cells;
  r.ranks = (int)out->cells->rows;
  ZB_TRY_GOTO(check(&r, out));
cleanup:
  zb_arena_deinit(&arena);
  if (status) zb_order_file_deinit(out);
  return status;
}

zb_status zb_order_read_file(const char *path, const zb_order_expected *expected, zb_order_file *out) {
  char *text = NULL;
  size_t bytes = 0;
  *out = (zb_order_file){0};
  ZB_TRY(zb_file_read(path, 0, &text, &bytes));
  zb_status status = zb_order_read(path, text, bytes, expected, out);
  zb_free(text);
  return status;
}

void zb_order_file_deinit(zb_order_file *file) {
  zb_order_deinit(&file->order);
  zb_free(file->stage_rank);
  zb_free(file->file_micro_batch);
  if (file->cells) zb_arena_deinit(&file->cells->arena);
  zb_free(file->cells);
  *file = (zb_order_file){0};
}

char *zb_order_file_text(const zb_order_file *file) { return zb_cells_text(file->cells); }
