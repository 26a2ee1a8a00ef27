/* An order as text, in each of the three forms (zb/schedule.h, "Orders as files").
 *
 * COMPUTE_COMMS is what PyTorch's _PipelineScheduleRuntime executes without lowering it: sends and receives stand where
 * zb_order_lower puts them; UNSHARD of every stage at the start of its rank, in the order of first use, RESHARD after
 * its last job (so that FSDP gathers each stage once), REDUCE_GRAD after its last W (which also divides gradients by
 * the number of micro-batches). Tests: test/passes/schedule/order_file_test.c; test/e2e/pytorch_schedules.py.
 */
#include <string.h>

#include "passes/schedule/text/cells.h"

#include "runtime/base/file.h"

typedef struct writer {
  const zb_problem *problem;
  const zb_order *order; /* whole_backward: one cell a backward */
  zb_order_cells cells;  /* its arena is that of all here */
  zb_lowering lowering;
  size_t *first, *sorted; /* transfers by rank: sorted[first[r]..first[r + 1]) in their order, both ends */
  int *left;              /* [stages] jobs that are still to come */
  int *left_w;            /* [stages] the same of W */
  bool waits;             /* for sums of gradients and sends */
} writer;

static void add(writer *w, zb_action action, int stage, int micro_batch) {
  zb_cells_add(&w->cells, (zb_cell){.stage = stage, .micro_batch = micro_batch, .action = action});
}

/* Adds the job at *index, and moves behind it. */
static void add_job(writer *w, int rank, int *index) {
  static const zb_action csv[] = {ZB_ACTION_F, ZB_ACTION_I, ZB_ACTION_W},
                         text[] = {ZB_ACTION_F, ZB_ACTION_B, ZB_ACTION_W};
  const zb_job job = w->order->jobs[rank][*index];
  const bool is_text = w->cells.form == ZB_FORM_TEXT, whole = zb_order_is_whole(w->order, rank, *index);
  *index += whole ? 2 : 1;
  const zb_action action = whole ? (is_text ? ZB_ACTION_BW : ZB_ACTION_B) : (is_text ? text : csv)[job.kind];
  add(w, action, job.stage, job.micro_batch);
}

/* ---- TEXT and COMPUTE_ONLY ---- */

static void add_jobs(writer *w) {
  for (int rank = 0; rank < w->order->ranks; ++rank) {
    for (int i = 0; i < w->order->counts[rank];)
      add_job(w, rank, &i);
    zb_cells_end_row(&w->cells);
  }
}

/* The order with one job a cell: B for B and W. */
static zb_status make_steps_order(const zb_order *order, zb_order *out) {
  ZB_TRY(zb_order_init(out, order->ranks));
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; i += zb_order_is_whole(order, rank, i) ? 2 : 1) {
      const zb_job job = order->jobs[rank][i];
      ZB_TRY(zb_order_add(out, rank, job.stage, job.kind, job.micro_batch));
    }
  return NULL;
}

static void add_rows_of_steps(writer *w, zb_job_times *const *times) {
  for (int rank = 0; rank < w->order->ranks; ++rank) {
    int64_t column = 0;
    for (int i = 0, cell = 0; i < w->order->counts[rank]; ++cell, ++column) {
      for (; column < times[rank][cell].start_ps; ++column)
        add(w, ZB_ACTION_IDLE, 0, 0);
      add_job(w, rank, &i);
    }
    zb_cells_end_row(&w->cells);
  }
}

/* Every cell takes one step, and messages none: the start of a cell is its column. */
static zb_status add_steps(writer *w) {
  zb_order order = {0};
  zb_model model = {0};
  zb_problem unit;
  zb_status status = NULL;
  int *done;
  ZB_TRY_GOTO(zb_unit_problem(w->problem, &w->cells.arena, &unit));
  ZB_TRY_GOTO(zb_model_init(&unit, &model));
  ZB_TRY_GOTO(make_steps_order(w->order, &order));
  zb_job_times **times = zb_order_times(&order, &w->cells.arena);
  ZB_TAKE(&w->cells.arena, done, unit.ranks);
  ZB_TRY_GOTO(zb_arena_status(&w->cells.arena));
  ZB_TRY_GOTO(zb_order_run(&model, &order, done, times));
  add_rows_of_steps(w, times);
cleanup:
  zb_order_deinit(&order);
  zb_model_deinit(&model);
  return status;
}

/* ---- COMPUTE_COMMS ---- */

static zb_status sort_by_rank(writer *w) {
  const int *stage_rank = w->problem->stage_rank;
  const size_t ranks = (size_t)w->order->ranks, count = w->lowering.count;
  ZB_TAKE(&w->cells.arena, w->first, ranks + 2);
  ZB_TAKE(&w->cells.arena, w->sorted, 2 * count);
  ZB_TRY(zb_arena_status(&w->cells.arena));
  /* first[r + 2] counts, first[r + 1] is where the next one goes, and in the end where they end. */
  for (size_t i = 0; i < count; ++i) {
    ++w->first[stage_rank[w->lowering.transfers[i].source] + 2];
    ++w->first[stage_rank[w->lowering.transfers[i].destination] + 2];
  }
  for (size_t rank = 0; rank < ranks; ++rank)
    w->first[rank + 2] += w->first[rank + 1];
  for (size_t i = 0; i < count; ++i) {
    w->sorted[w->first[stage_rank[w->lowering.transfers[i].source] + 1]++] = i;
    w->sorted[w->first[stage_rank[w->lowering.transfers[i].destination] + 1]++] = i;
  }
  return NULL;
}

/* The sends and receives of the rank before its job at index; *at moves behind them. */
static void add_operations(writer *w, int rank, int index, size_t *at) {
  for (; *at < w->first[rank + 1]; ++*at) {
    const zb_transfer *t = &w->lowering.transfers[w->sorted[*at]];
    const bool send = w->problem->stage_rank[t->source] == rank;
    if ((send ? t->send_at : t->receive_at) > index) return;
    const zb_action action =
        t->kind == ZB_F ? (send ? ZB_ACTION_SEND_F : ZB_ACTION_RECV_F) : (send ? ZB_ACTION_SEND_B : ZB_ACTION_RECV_B);
    add(w, action, send ? t->source : t->destination, t->micro_batch);
  }
}

/* For the sends of the rank, where all that its peers receive is under way. */
static void add_waits(writer *w, int rank) {
  for (size_t i = w->first[rank]; w->waits && i < w->first[rank + 1]; ++i) {
    const zb_transfer *t = &w->lowering.transfers[w->sorted[i]];
    if (w->problem->stage_rank[t->source] != rank) continue;
    add(w, t->kind == ZB_F ? ZB_ACTION_WAIT_SEND_F : ZB_ACTION_WAIT_SEND_B, t->source, t->micro_batch);
  }
}

static void add_unshards(writer *w, int rank) {
  for (int i = 0; i < w->order->counts[rank]; ++i) {
    const zb_job job = w->order->jobs[rank][i];
    int *left = &w->left[job.stage];
    if ((*left)++ == 0) add(w, ZB_ACTION_UNSHARD, job.stage, 0);
    if (job.kind == ZB_W) ++w->left_w[job.stage];
  }
}

/* What follows on the jobs at from..to-1 and their sends. */
static void add_ends(writer *w, int rank, int from, int to) {
  for (int i = from; i < to; ++i) {
    const zb_job job = w->order->jobs[rank][i];
    if (job.kind == ZB_W && --w->left_w[job.stage] == 0) {
      add(w, ZB_ACTION_REDUCE_GRAD, job.stage, 0);
      if (w->waits) add(w, ZB_ACTION_WAIT_REDUCE_GRAD, job.stage, 0);
    }
    if (--w->left[job.stage] == 0) add(w, ZB_ACTION_RESHARD, job.stage, 0);
  }
}

static void add_row_with_operations(writer *w, int rank) {
  size_t at = w->first[rank];
  int from = 0, i = 0;
  add_unshards(w, rank);
  for (;;) {
    add_operations(w, rank, i, &at);
    add_ends(w, rank, from, i);
    if (i == w->order->counts[rank]) break;
    from = i;
    add_job(w, rank, &i);
  }
  add_waits(w, rank);
  zb_cells_end_row(&w->cells);
}

static zb_status add_with_operations(writer *w) {
  ZB_TRY(zb_order_lower(w->problem, w->order, &w->lowering));
  ZB_TRY(sort_by_rank(w));
  ZB_TAKE(&w->cells.arena, w->left, w->problem->stages);
  ZB_TAKE(&w->cells.arena, w->left_w, w->problem->stages);
  ZB_TRY(zb_arena_status(&w->cells.arena));
  for (int rank = 0; rank < w->order->ranks; ++rank)
    add_row_with_operations(w, rank);
  return NULL;
}

/* ---- PyTorch's stages are a chain ---- */

/* The edges of the chain, with the bytes that the problem gives them; gradients return over all of them. */
static zb_status make_chain(const zb_problem *problem, zb_order_form form, zb_edge *chain) {
  for (int stage = 0; stage + 1 < problem->stages; ++stage)
    chain[stage] = (zb_edge){stage, stage + 1, 0, 1};
  for (int i = 0; i < problem->edge_count; ++i) {
    const zb_edge edge = problem->edges[i];
    if (edge.destination == edge.source + 1) {
      chain[edge.source].forward_bytes = edge.forward_bytes;
      if (edge.backward_bytes > 0) chain[edge.source].backward_bytes = edge.backward_bytes;
    } else if (form == ZB_FORM_COMPUTE_COMMS) {
      return zb_status_hint(
          ZB_ERROR(USAGE,
                   "stage %d sends to stage %d: expected messages to the next stage alone, which is all "
                   "that PyTorch's actions can say",
                   edge.source, edge.destination),
          "the form without communication can be written");
    }
  }
  return NULL;
}

/* The problem as PyTorch sees it, for which the order must be valid too. */
static zb_status as_chain(const zb_problem *problem, const zb_order *order, zb_order_form form, zb_arena *arena,
                          zb_problem *out) {
  zb_edge *edges;
  *out = *problem;
  if (!problem->edges || form == ZB_FORM_TEXT) return NULL;
  ZB_TAKE(arena, edges, problem->stages);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(make_chain(problem, form, edges));
  out->edges = edges;
  out->edge_count = problem->stages - 1;
  zb_status status = zb_order_validate(out, order);
  if (!status) return NULL;
  return zb_status_note(status,
                        "PyTorch's stages are one chain, each hands on to the next: this order does not run there");
}

zb_status zb_order_write(const zb_problem *problem, const zb_order *order, const zb_order_style *style, char **out) {
  *out = NULL;
  if ((unsigned)style->form >= ZB_FORM_COUNT)
    return ZB_ERROR(USAGE, "expected a form of 0..%d, got %d", ZB_FORM_COUNT - 1, (int)style->form);
  ZB_TRY(zb_order_validate(problem, order));
  zb_problem chain;
  zb_order view = *order;
  view.whole_backward = order->whole_backward || style->whole_backward;
  writer w = {.problem = &chain, .order = &view};
  w.cells.form = style->form;
  w.waits = !style->no_waits;
  w.cells.crlf = style->form != ZB_FORM_TEXT;
  w.cells.last_line_ends = true;
  zb_status status = NULL;
  ZB_TRY_GOTO(as_chain(problem, order, style->form, &w.cells.arena, &chain));
  if (style->form == ZB_FORM_COMPUTE_COMMS)
    ZB_TRY_GOTO(add_with_operations(&w));
  else if (style->form == ZB_FORM_COMPUTE_ONLY && style->idle_cells)
    ZB_TRY_GOTO(add_steps(&w));
  else
    add_jobs(&w);
  ZB_TRY_GOTO(zb_arena_status(&w.cells.arena));
  *out = zb_cells_text(&w.cells);
  if (!*out) status = ZB_OUT_OF_MEMORY();
cleanup:
  zb_lowering_deinit(&w.lowering);
  zb_arena_deinit(&w.cells.arena);
  return status;
}

zb_status zb_order_write_file(const zb_problem *problem, const zb_order *order, const zb_order_style *style,
                              const char *path) {
  char *text = NULL;
  ZB_TRY(zb_order_write(problem, order, style, &text));
  zb_status status = zb_file_write_atomic(path, text, strlen(text));
  zb_free(text);
  return status;
}
