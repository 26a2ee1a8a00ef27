/* Orders as text, cell by cell: what the forms of zb/schedule.h ("Orders as files") have in common.
 *
 * cells.c knows tokens, lines and columns; order_file.c what a file of jobs must be; order_messages.c what its sends
 * and receives must be; order_write.c makes cells from an order.
 */
#pragma once

#include "passes/schedule/model.h"

/* What an action is to this library. */
typedef enum zb_action_class {
  ZB_ACTION_JOB,     /* one job */
  ZB_ACTION_WHOLE,   /* B and W as one */
  ZB_ACTION_SEND,    /* names the producing stage */
  ZB_ACTION_RECEIVE, /* names the consuming stage */
  ZB_ACTION_WAIT,    /* for a send: nothing */
  ZB_ACTION_NONE     /* of a stage, not of a micro-batch: nothing */
} zb_action_class;

/* Everything that a cell can say: token, class, kind. B is the gradient of the input alone in TEXT and in files of
 * 2024. */
#define ZB_ACTIONS(ROW)                                                                                                \
  ROW(F, ZB_ACTION_JOB, ZB_F)                                                                                          \
  ROW(I, ZB_ACTION_JOB, ZB_B)                                                                                          \
  ROW(W, ZB_ACTION_JOB, ZB_W)                                                                                          \
  ROW(B, ZB_ACTION_WHOLE, ZB_B)                                                                                        \
  ROW(BW, ZB_ACTION_WHOLE, ZB_B)                                                                                       \
  ROW(SEND_F, ZB_ACTION_SEND, ZB_F)                                                                                    \
  ROW(RECV_F, ZB_ACTION_RECEIVE, ZB_F)                                                                                 \
  ROW(SEND_B, ZB_ACTION_SEND, ZB_B)                                                                                    \
  ROW(RECV_B, ZB_ACTION_RECEIVE, ZB_B)                                                                                 \
  ROW(WAIT_SEND_F, ZB_ACTION_WAIT, ZB_F)                                                                               \
  ROW(WAIT_SEND_B, ZB_ACTION_WAIT, ZB_B)                                                                               \
  ROW(UNSHARD, ZB_ACTION_NONE, ZB_F)                                                                                   \
  ROW(RESHARD, ZB_ACTION_NONE, ZB_F)                                                                                   \
  ROW(REDUCE_GRAD, ZB_ACTION_NONE, ZB_W)                                                                               \
  ROW(WAIT_REDUCE_GRAD, ZB_ACTION_NONE, ZB_W)

typedef enum zb_action {
#define ZB_ROW(token, action_class, kind) ZB_ACTION_##token,
  ZB_ACTIONS(ZB_ROW)
#undef ZB_ROW
      ZB_ACTION_COUNT,
  ZB_ACTION_IDLE = ZB_ACTION_COUNT, /* an empty cell */
  ZB_ACTION_OVERLAP                 /* the next `micro_batch` entries stand in one cell: (0F7;7B3)OVERLAP_F_B */
} zb_action;

typedef struct zb_cell {
  int32_t stage, micro_batch;
  int32_t column; /* from 1, in bytes */
  int32_t action; /* zb_action */
} zb_cell;

struct zb_order_cells {
  zb_cell *cells;
  size_t count, capacity;
  size_t *row_end; /* [rows] */
  size_t rows, row_capacity;
  zb_order_form form;
  bool b_is_part; /* B is the gradient of the input alone */
  bool crlf, last_line_ends;
  zb_arena arena; /* of these; it remembers that a cell or a row found no memory */
};

/* A line that has jobs: where it begins, where it ends (before LF or CR LF), and its number in the file, from 1. */
typedef struct zb_source_line {
  const char *begin, *end;
  int number;
} zb_source_line;

/* The text that messages point into. Borrowed; its lines, one a rank (blank ones left out), are in the arena of the
 * cells. */
typedef struct zb_source {
  const char *name, *text;
  size_t bytes;
  zb_source_line *lines;
  size_t line_count, line_capacity;
} zb_source;

/* INVALID: "NAME:LINE:COLUMN: MESSAGE", with the line around the column in a note. row from 0, column from 1. */
zb_status zb_source_error(const zb_source *source, size_t row, int column, const char *format, ...)
    ZB_PRINTF(4, 5) ZB_MUST_USE;

/* Reads all cells and decides the form and the meaning of B. */
zb_status zb_cells_read(zb_source *source, zb_order_cells *out) ZB_MUST_USE;
void zb_cells_add(zb_order_cells *cells, zb_cell cell);
void zb_cells_end_row(zb_order_cells *cells);
/* The text of all rows (zb_free); NULL when out of memory. */
char *zb_cells_text(const zb_order_cells *cells);

/* What a cell means here; the class of idle and overlap entries is ZB_ACTION_NONE. */
zb_action_class zb_cell_class(const zb_order_cells *cells, const zb_cell *cell);
zb_kind zb_cell_kind(const zb_cell *cell);
/* "0SEND_F2"; returns text. */
const char *zb_cell_text(zb_cell cell, char text[48]);
/* The row of an entry. O(log rows). */
size_t zb_cells_row(const zb_order_cells *cells, size_t index);
static inline size_t zb_cells_row_begin(const zb_order_cells *cells, size_t row) {
  return row ? cells->row_end[row - 1] : 0;
}

/* A file while it is checked. */
typedef struct zb_order_reading {
  const zb_source *source;
  const zb_order_cells *cells;
  const zb_order_expected *expected; /* never NULL */
  int ranks, stages, micro_batches;
  int *stage_rank; /* [stages] */
  int32_t *at;     /* [stages][micro_batches][kind] entry of the job, -1: none */
  zb_arena *arena; /* of what lives as long */
} zb_order_reading;

static inline size_t zb_reading_job(const zb_order_reading *r, int stage, int micro_batch, zb_kind kind) {
  return ((size_t)stage * (size_t)r->micro_batches + (size_t)micro_batch) * ZB_KIND_COUNT + (size_t)kind;
}
/* The number of a rank's line in the file. */
static inline int zb_reading_line(const zb_order_reading *r, int rank) {
  return (size_t)rank < r->source->line_count ? r->source->lines[rank].number : rank + 1;
}
/* zb_source_error at an entry. */
#define ZB_CELL_ERROR(r, index, ...)                                                                                   \
  zb_source_error((r)->source, zb_cells_row((r)->cells, (size_t)(index)), (r)->cells->cells[index].column, __VA_ARGS__)

/* Every message between ranks is sent once after its producer and received once before its consumer, in the same order
 * at both ends of each pair of ranks, and all of them end without buffers. Jobs, stage_rank and at are right already.
 */
zb_status zb_order_check_messages(const zb_order_reading *reading) ZB_MUST_USE;
