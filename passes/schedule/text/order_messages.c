/* The sends and receives of a file from outside: each once, after what it sends and before what needs it, in the same
 * order at both ends of a pair of ranks (NCCL and MPI streams match them by order alone), and no deadlock without
 * buffers.
 *
 * The last is found by running the lists: a rank has one stream of jobs and one of communication, each in order; a send
 * or receive waits for the jobs before it in the list, as PyTorch's do, and for the other end; a job waits for what it
 * receives. What stops there stops on every machine that does not buffer. PyTorch itself checks none of this.
 */
#include "passes/schedule/text/cells.h"

/* A message: the entries of its two ends, -1: not met yet. */
typedef struct ends {
  int32_t send, receive;
} ends;

typedef struct checker {
  const zb_order_reading *r;
  ends *messages; /* [stages of the producer][micro_batches][ZB_LINK_KINDS] */
} checker;

/* The stage on the other side of a boundary. */
static int consumer(int producer, zb_kind kind) { return kind == ZB_F ? producer + 1 : producer - 1; }

static ends *message(const checker *c, int producer, int micro_batch, zb_kind kind) {
  return &c->messages[((size_t)producer * (size_t)c->r->micro_batches + (size_t)micro_batch) * ZB_LINK_KINDS +
                      (size_t)kind];
}

/* Producer of a send or receive. */
static int producer_of(const zb_order_reading *r, const zb_cell *cell) {
  const zb_kind kind = zb_cell_kind(cell);
  if (zb_cell_class(r->cells, cell) == ZB_ACTION_SEND) return cell->stage;
  return kind == ZB_F ? cell->stage - 1 : cell->stage + 1;
}

static bool is_message(const zb_order_reading *r, const zb_cell *cell) {
  const zb_action_class c = zb_cell_class(r->cells, cell);
  return c == ZB_ACTION_SEND || c == ZB_ACTION_RECEIVE;
}

/* "1RECV_F3", the other end of "0SEND_F3". */
static const char *end_text(int producer, int micro_batch, zb_kind kind, bool send, char text[48]) {
  const zb_action action =
      kind == ZB_F ? (send ? ZB_ACTION_SEND_F : ZB_ACTION_RECV_F) : (send ? ZB_ACTION_SEND_B : ZB_ACTION_RECV_B);
  return zb_cell_text(
      (zb_cell){.stage = send ? producer : consumer(producer, kind), .micro_batch = micro_batch, .action = action},
      text);
}

/* ---- Each once, at its place ---- */

static zb_status note(const checker *c, size_t index) {
  const zb_order_reading *r = c->r;
  const zb_cell *cell = &r->cells->cells[index];
  const zb_kind kind = zb_cell_kind(cell);
  const bool send = zb_cell_class(r->cells, cell) == ZB_ACTION_SEND;
  const int producer = producer_of(r, cell), to = consumer(producer, kind);
  char text[48], other[48];
  zb_cell_text(*cell, text);
  if (cell->micro_batch >= r->micro_batches)
    return ZB_CELL_ERROR(r, index, "%s: expected micro-batches 0..%d", text, r->micro_batches - 1);
  if (producer < 0 || producer >= r->stages || to < 0 || to >= r->stages)
    return ZB_CELL_ERROR(r, index, "%s: there is no stage %d, expected stages 0..%d", text,
                         producer < 0 || producer >= r->stages ? producer : to, r->stages - 1);
  if (r->stage_rank[producer] == r->stage_rank[to])
    return ZB_CELL_ERROR(r, index, "%s: stages %d and %d are on the same rank, expected no message between them", text,
                         producer, to);
  ends *m = message(c, producer, cell->micro_batch, kind);
  int32_t *end = send ? &m->send : &m->receive;
  if (*end >= 0)
    return ZB_CELL_ERROR(r, index, "%s is there twice: expected one, and it stands in column %d", text,
                         r->cells->cells[*end].column);
  *end = (int32_t)index;
  const int32_t job = r->at[zb_reading_job(r, cell->stage, cell->micro_batch, kind)];
  if (send ? (int32_t)index > job : (int32_t)index < job) return NULL;
  return ZB_CELL_ERROR(r, index, "%s stands %s %s, expected it %s", text, send ? "before" : "after",
                       zb_cell_text(r->cells->cells[job], other), send ? "after" : "before");
}

static zb_status check_pair(const checker *c, int producer, int micro_batch, zb_kind kind) {
  const zb_order_reading *r = c->r;
  const int to = consumer(producer, kind);
  if (to < 0 || to >= r->stages || r->stage_rank[producer] == r->stage_rank[to]) return NULL;
  const ends *m = message(c, producer, micro_batch, kind);
  char text[48], other[48];
  if (m->send >= 0 && m->receive >= 0) return NULL;
  if (m->send >= 0)
    return ZB_CELL_ERROR(r, m->send, "%s: expected %s on line %d, found none",
                         end_text(producer, micro_batch, kind, true, text),
                         end_text(producer, micro_batch, kind, false, other), zb_reading_line(r, r->stage_rank[to]));
  if (m->receive >= 0)
    return ZB_CELL_ERROR(
        r, m->receive, "%s: expected %s on line %d, found none", end_text(producer, micro_batch, kind, false, text),
        end_text(producer, micro_batch, kind, true, other), zb_reading_line(r, r->stage_rank[producer]));
  const int32_t job = r->at[zb_reading_job(r, producer, micro_batch, kind)];
  return ZB_CELL_ERROR(r, job, "%s: expected %s after it and %s on line %d, found neither",
                       zb_cell_text(r->cells->cells[job], text), end_text(producer, micro_batch, kind, true, other),
                       end_text(producer, micro_batch, kind, false, (char[48]){0}),
                       zb_reading_line(r, r->stage_rank[to]));
}

static zb_status check_all_there(const checker *c) {
  const zb_order_reading *r = c->r;
  for (size_t i = 0; i < r->cells->count; ++i)
    if (is_message(r, &r->cells->cells[i])) ZB_TRY(note(c, i));
  for (int stage = 0; stage < r->stages; ++stage)
    for (int micro_batch = 0; micro_batch < r->micro_batches; ++micro_batch)
      for (int kind = 0; kind < ZB_LINK_KINDS; ++kind)
        ZB_TRY(check_pair(c, stage, micro_batch, (zb_kind)kind));
  return NULL;
}

/* ---- The same order at both ends ---- */

/* sent[entry of a send] counts the sends of its pair of ranks before it; receives must count alike. */
static zb_status check_same_order(const checker *c) {
  const zb_order_reading *r = c->r;
  const size_t ranks = (size_t)r->ranks, pairs = ranks * ranks;
  char text[48];
  int32_t *sent, *received, *number;
  ZB_TAKE(r->arena, sent, pairs);
  ZB_TAKE(r->arena, received, pairs);
  ZB_TAKE(r->arena, number, r->cells->count);
  ZB_TRY(zb_arena_status(r->arena));
  for (int pass = 0; pass < 2; ++pass)
    for (size_t i = 0; i < r->cells->count; ++i) {
      const zb_cell *cell = &r->cells->cells[i];
      if (!is_message(r, cell) || (zb_cell_class(r->cells, cell) == ZB_ACTION_SEND) != (pass == 0)) continue;
      const zb_kind kind = zb_cell_kind(cell);
      const int producer = producer_of(r, cell);
      const size_t pair = (size_t)r->stage_rank[producer] * ranks + (size_t)r->stage_rank[consumer(producer, kind)];
      if (pass == 0)
        number[i] = sent[pair]++;
      else if (number[message(c, producer, cell->micro_batch, kind)->send] != received[pair]++)
        return zb_status_hint(
            ZB_CELL_ERROR(r, i, "%s: rank %d sends its messages to rank %d in another order than these are received",
                          zb_cell_text(*cell, text), r->stage_rank[producer], r->stage_rank[consumer(producer, kind)]),
            "sends and receives between two ranks are matched by their order alone: put the receives in the order of "
            "the sends");
    }
  return NULL;
}

/* ---- No deadlock ---- */

/* Two cursors a rank: its next job and its next send or receive. */
typedef struct runner {
  const checker *c;
  size_t *job, *operation; /* [ranks] entries; row_end: none left */
  bool *done;              /* [entries] */
  int *queue;              /* ranks to visit, a stack */
  bool *queued;
  int queue_count;
} runner;

static void visit_later(runner *x, int rank) {
  if (x->queued[rank]) return;
  x->queued[rank] = true;
  x->queue[x->queue_count++] = rank;
}

/* The next entry of the row, from `from`, that is a message, or that is a job. */
static size_t next_entry(const runner *x, int rank, size_t from, bool message_wanted) {
  const zb_order_reading *r = x->c->r;
  for (; from < r->cells->row_end[rank]; ++from) {
    const zb_cell *cell = &r->cells->cells[from];
    const bool wanted = message_wanted ? is_message(r, cell) : zb_cell_class(r->cells, cell) <= ZB_ACTION_WHOLE;
    if (wanted) break;
  }
  return from;
}

/* What a job gets from its own rank is there, because orders are checked before; what it receives may not be. */
static bool job_can_run(const runner *x, size_t index) {
  const zb_order_reading *r = x->c->r;
  const zb_cell *cell = &r->cells->cells[index];
  const zb_kind kind = zb_cell_kind(cell);
  if (kind == ZB_W) return true;
  const int producer = kind == ZB_F ? cell->stage - 1 : cell->stage + 1;
  if (producer < 0 || producer >= r->stages) return true;
  if (r->stage_rank[producer] == r->stage_rank[cell->stage]) return true;
  return x->done[message(x->c, producer, cell->micro_batch, kind)->receive];
}

/* Whether the operation stands first in its stream, behind jobs that are done. */
static bool operation_is_next(const runner *x, int32_t index) {
  const size_t rank = zb_cells_row(x->c->r->cells, (size_t)index);
  return x->operation[rank] == (size_t)index && x->job[rank] > (size_t)index;
}

static bool step(runner *x, int rank) {
  const zb_order_reading *r = x->c->r;
  const size_t end = r->cells->row_end[rank];
  if (x->job[rank] < end && job_can_run(x, x->job[rank])) {
    x->done[x->job[rank]] = true;
    x->job[rank] = next_entry(x, rank, x->job[rank] + 1, false);
    return true;
  }
  if (x->operation[rank] == end) return false;
  const zb_cell *cell = &r->cells->cells[x->operation[rank]];
  const ends *m = message(x->c, producer_of(r, cell), cell->micro_batch, zb_cell_kind(cell));
  if (!operation_is_next(x, m->send) || !operation_is_next(x, m->receive)) return false;
  const int32_t both[] = {m->send, m->receive};
  for (int i = 0; i < 2; ++i) {
    const int owner = (int)zb_cells_row(r->cells, (size_t)both[i]);
    x->done[both[i]] = true;
    x->operation[owner] = next_entry(x, owner, (size_t)both[i] + 1, true);
    if (owner != rank) visit_later(x, owner);
  }
  return true;
}

static zb_status explain(const runner *x) {
  enum { NOTES_MAX = 8 };
  const zb_order_reading *r = x->c->r;
  zb_status status = NULL;
  int notes = 0;
  for (int rank = 0; rank < r->ranks && notes < NOTES_MAX; ++rank) {
    const size_t end = r->cells->row_end[rank];
    char operation[48] = "its end", job[48] = "its end";
    if (x->operation[rank] == end) continue;
    zb_cell_text(r->cells->cells[x->operation[rank]], operation);
    if (x->job[rank] < end) zb_cell_text(r->cells->cells[x->job[rank]], job);
    if (!status)
      status = ZB_CELL_ERROR(
          r, x->operation[rank],
          "sends and receives deadlock without buffers: %s waits for ever, every rank waits for another", operation);
    status = zb_status_note(status, "rank %d: its communication stands at %s (column %d), its jobs at %s", rank,
                            operation, r->cells->cells[x->operation[rank]].column, job);
    ++notes;
  }
  if (!status) return NULL;
  return zb_status_hint(status, "leave the sends and receives out: they are then placed so that they cannot deadlock");
}

static zb_status check_ends(const checker *c) {
  const zb_order_reading *r = c->r;
  runner x = {.c = c};
  ZB_TAKE(r->arena, x.job, r->ranks);
  ZB_TAKE(r->arena, x.operation, r->ranks);
  ZB_TAKE(r->arena, x.queue, r->ranks);
  ZB_TAKE(r->arena, x.queued, r->ranks);
  ZB_TAKE(r->arena, x.done, r->cells->count);
  ZB_TRY(zb_arena_status(r->arena));
  for (int rank = r->ranks - 1; rank >= 0; --rank) {
    x.job[rank] = next_entry(&x, rank, zb_cells_row_begin(r->cells, (size_t)rank), false);
    x.operation[rank] = next_entry(&x, rank, zb_cells_row_begin(r->cells, (size_t)rank), true);
    visit_later(&x, rank);
  }
  while (x.queue_count > 0) {
    const int rank = x.queue[--x.queue_count];
    x.queued[rank] = false;
    while (step(&x, rank))
      ;
  }
  return explain(&x);
}

zb_status zb_order_check_messages(const zb_order_reading *reading) {
  checker c = {.r = reading};
  const size_t count = (size_t)reading->stages * (size_t)reading->micro_batches * ZB_LINK_KINDS;
  ZB_TAKE(reading->arena, c.messages, count);
  ZB_TRY(zb_arena_status(reading->arena));
  for (size_t i = 0; i < count; ++i)
    c.messages[i] = (ends){-1, -1};
  ZB_TRY(check_all_there(&c));
  ZB_TRY(check_same_order(&c));
  return check_ends(&c);
}
