/* Tokens of order files, strictly, with line and column: passes/schedule/text/cells.h.
 *
 * The grammar is that of PyTorch's torch.distributed.pipelining (schedules.py, _Action.from_str and _Action.__repr__),
 * but whole cells are read: PyTorch takes a prefix and ignores the rest. Numbers have no leading zeros, so that a file
 * that is read is written as it was. Tests: test/passes/schedule/order_file_test.c.
 */
#include "passes/schedule/text/cells.h"

#include "runtime/base/sorted.h"
#include "runtime/base/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Columns and entries are 32-bit. */
static const size_t BYTES_MAX = (size_t)1 << 30;
/* What an error shows of the line to either side of the column. */
enum { EXCERPT = 30 };

static const struct action_row {
  const char *token;
  zb_action_class action_class;
  zb_kind kind;
} actions[] = {
#define ZB_ROW(token, action_class, kind) {#token, action_class, kind},
    ZB_ACTIONS(ZB_ROW)
#undef ZB_ROW
};

zb_action_class zb_cell_class(const zb_order_cells *cells, const zb_cell *cell) {
  if (cell->action >= ZB_ACTION_COUNT) return ZB_ACTION_NONE;
  if (cell->action == ZB_ACTION_B && cells->b_is_part) return ZB_ACTION_JOB;
  return actions[cell->action].action_class;
}

zb_kind zb_cell_kind(const zb_cell *cell) { return cell->action < ZB_ACTION_COUNT ? actions[cell->action].kind : ZB_F; }

const char *zb_cell_text(zb_cell cell, char text[48]) {
  const struct action_row *row = &actions[cell.action < ZB_ACTION_COUNT ? cell.action : 0];
  if (row->action_class == ZB_ACTION_NONE)
    snprintf(text, 48, "%d%s", cell.stage, row->token);
  else
    snprintf(text, 48, "%d%s%d", cell.stage, row->token, cell.micro_batch);
  return text;
}

size_t zb_cells_row(const zb_order_cells *cells, size_t index) {
  return zb_count_up_to(cells->row_end, sizeof *cells->row_end, 0, cells->rows, index);
}

void zb_cells_add(zb_order_cells *cells, zb_cell cell) {
  if (zb_arena_grow(&cells->arena, (void **)&cells->cells, &cells->capacity, cells->count + 1, sizeof cell))
    cells->cells[cells->count++] = cell;
}

void zb_cells_end_row(zb_order_cells *cells) {
  if (zb_arena_grow(&cells->arena, (void **)&cells->row_end, &cells->row_capacity, cells->rows + 1,
                    sizeof *cells->row_end))
    cells->row_end[cells->rows++] = cells->count;
}

/* ---- Errors ---- */

zb_status zb_source_error(const zb_source *source, size_t row, int column, const char *format, ...) {
  char message[512], excerpt[2 * EXCERPT + 8];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (row >= source->line_count) return ZB_ERROR(INVALID, "%s: %s", source->name, message);
  const zb_source_line *line = &source->lines[row];
  zb_status status = ZB_ERROR(INVALID, "%s:%d:%d: %s", source->name, line->number, column, message);
  const size_t length = (size_t)(line->end - line->begin), at = (size_t)column - 1;
  const size_t begin = at > EXCERPT ? at - EXCERPT : 0, end = at + EXCERPT < length ? at + EXCERPT : length;
  size_t count = 0;
  for (size_t i = begin; i < end; ++i) {
    const char c = line->begin[i];
    excerpt[count++] = c >= ' ' && c <= '~' ? c : '?';
  }
  excerpt[count] = '\0';
  const char *before = begin > 0 ? "..." : "";
  return zb_status_note(status, "rank %zu:\n    %s%s%s\n    %*s^", row, before, excerpt, end < length ? "..." : "",
                        (int)(at - begin + strlen(before)), "");
}

/* ---- One action ---- */

typedef struct scanner {
  const zb_source *source;
  zb_order_cells *out;
  size_t row;
  const char *begin; /* of its line */
} scanner;

/* Most that a message shows of a wrong cell. */
static int shown(const char *from, const char *end) { return end - from > 24 ? 24 : (int)(end - from); }

static int column(const scanner *s, const char *at) { return (int)(at - s->begin) + 1; }

#define WRONG(at, ...) zb_source_error(s->source, s->row, column(s, at), __VA_ARGS__)

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A whole number without leading zeros, below INT32_MAX. */
static zb_status read_number(const scanner *s, const char **at, const char *end, const char *what, int32_t *out) {
  const char *start = *at;
  int64_t value = 0;
  while (*at < end && is_digit(**at) && value < INT32_MAX)
    value = value * 10 + (*(*at)++ - '0');
  if (*at == start) return WRONG(start, "expected %s, got '%.*s'", what, shown(start, end), start);
  if (value >= INT32_MAX) return WRONG(start, "%s is too large", what);
  if (*start == '0' && *at - start > 1) return WRONG(start, "expected %s without leading zeros", what);
  *out = (int32_t)value;
  return NULL;
}

/* The row with the longest token that stands here; -1: none. */
static int find_action(const char *at, const char *end) {
  int found = -1;
  for (int i = 0; i < ZB_ACTION_COUNT; ++i) {
    const size_t length = strlen(actions[i].token);
    if (length > (size_t)(end - at) || strncmp(actions[i].token, at, length) != 0) continue;
    if (found < 0 || length > strlen(actions[found].token)) found = i;
  }
  return found;
}

static zb_status read_action(const scanner *s, const char *at, const char *end, zb_cell *out) {
  const bool text = s->out->form == ZB_FORM_TEXT;
  const char *expected = text ? "a job like 0F2 (F, B, W or BW)" : "an action like 0F2 (F, I, W, B, SEND_F, ...)";
  const char *start = at;
  *out = (zb_cell){.column = column(s, at)};
  if (at == end || !is_digit(*at)) return WRONG(at, "expected %s, got '%.*s'", expected, shown(at, end), at);
  ZB_TRY(read_number(s, &at, end, "the number of a stage", &out->stage));
  out->action = find_action(at, end);
  if (out->action < 0 || (text && actions[out->action].action_class > ZB_ACTION_WHOLE))
    return WRONG(start, "expected %s, got '%.*s'", expected, shown(start, end), start);
  at += strlen(actions[out->action].token);
  if (actions[out->action].action_class == ZB_ACTION_NONE) {
    if (at < end)
      return WRONG(at, "%d%s is of a stage: expected no micro-batch, got '%.*s'", out->stage,
                   actions[out->action].token, shown(at, end), at);
    return NULL;
  }
  ZB_TRY(read_number(s, &at, end, "the number of a micro-batch", &out->micro_batch));
  if (at < end)
    return WRONG(at, "expected the end of the cell after '%.*s', got '%.*s'", (int)(at - start), start, shown(at, end),
                 at);
  return NULL;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Moves both ends over blanks. */
static void strip(const char **first, const char **last) {
  while (*first < *last && is_blank(**first))
    ++*first;
  while (*last > *first && is_blank((*last)[-1]))
    --*last;
}

/* And over the quotes that spreadsheets put around a cell. */
static void strip_cell(const char **first, const char **last) {
  strip(first, last);
  if (*last - *first < 2 || **first != '"' || (*last)[-1] != '"') return;
  ++*first;
  --*last;
  strip(first, last);
}

/* (0F7;7B3)OVERLAP_F_B: parts that run one after the other. */
static zb_status read_overlap(scanner *s, const char *at, const char *end) {
  static const char name[] = "OVERLAP_F_B";
  const char *close = memchr(at, ')', (size_t)(end - at));
  if (!close) return WRONG(at, "expected ')' in '%.*s'", shown(at, end), at);
  if ((size_t)(end - close) != sizeof name || strncmp(close + 1, name, sizeof name - 1) != 0)
    return WRONG(close + 1, "expected %s after ')', got '%.*s'", name, shown(close + 1, end), close + 1);
  const size_t head = s->out->count;
  zb_cells_add(s->out, (zb_cell){.column = column(s, at), .action = ZB_ACTION_OVERLAP});
  ZB_TRY(zb_arena_status(&s->out->arena));
  for (const char *part = at + 1; part <= close;) {
    const char *stop = memchr(part, ';', (size_t)(close - part));
    if (!stop) stop = close;
    const char *first = part, *last = stop;
    strip(&first, &last);
    zb_cell cell;
    ZB_TRY(read_action(s, first, last, &cell));
    if (actions[cell.action].action_class > ZB_ACTION_WHOLE)
      return WRONG(first, "expected jobs (F, I, W, B) in %s, got '%.*s'", name, shown(first, last), first);
    zb_cells_add(s->out, cell);
    ++s->out->cells[head].micro_batch;
    part = stop + 1;
  }
  return NULL;
}

/* ---- Lines ---- */

static zb_status read_csv_line(scanner *s, const char *end) {
  for (const char *at = s->begin; at <= end;) {
    const char *stop = memchr(at, ',', (size_t)(end - at));
    if (!stop) stop = end;
    const char *first = at, *last = stop;
    strip_cell(&first, &last);
    zb_cell cell = {.column = column(s, first), .action = ZB_ACTION_IDLE};
    if (first < last && *first == '(') {
      ZB_TRY(read_overlap(s, first, last));
    } else {
      if (first < last) ZB_TRY(read_action(s, first, last, &cell));
      zb_cells_add(s->out, cell);
    }
    at = stop + 1;
  }
  return NULL;
}

static zb_status read_text_line(scanner *s, const char *end) {
  for (const char *at = s->begin; at < end;) {
    if (is_blank(*at)) {
      ++at;
      continue;
    }
    const char *stop = at;
    while (stop < end && !is_blank(*stop))
      ++stop;
    const char *first = at, *last = stop;
    strip_cell(&first, &last);
    zb_cell cell;
    ZB_TRY(read_action(s, first, last, &cell));
    zb_cells_add(s->out, cell);
    at = stop;
  }
  return NULL;
}

/* Blank lines mean nothing, nor does a byte order mark. */
static void split_lines(zb_source *source, zb_order_cells *out) {
  const char *end = source->text + source->bytes, *at = source->text + zb_byte_order_mark(source->text, source->bytes);
  for (int number = 1; at < end; ++number) {
    const char *stop = memchr(at, '\n', (size_t)(end - at)), *last = stop ? stop : end, *first = at;
    const bool crlf = stop > at && stop[-1] == '\r';
    zb_source_line line = {at, crlf ? stop - 1 : last, number};
    if (number == 1) out->crlf = crlf;
    at = stop ? stop + 1 : end;
    last = line.end;
    strip(&first, &last);
    if (first == last) continue;
    if (!zb_arena_grow(&out->arena, (void **)&source->lines, &source->line_capacity, source->line_count + 1,
                       sizeof line))
      return;
    source->lines[source->line_count++] = line;
    out->last_line_ends = stop != NULL;
  }
}

/* ---- What the cells say about the file ---- */

static zb_status error_at(const zb_source *source, const zb_order_cells *cells, size_t index, const char *text) {
  return zb_source_error(source, zb_cells_row(cells, index), cells->cells[index].column, "%s", text);
}

/* Sends or receives make it COMPUTE_COMMS, which has no idle cells. B is a part in TEXT, next to BW, and where W stands
 * without I. */
static zb_status decide(const zb_source *source, zb_order_cells *cells) {
  enum { NONE = -1 };
  int64_t first[ZB_ACTION_OVERLAP + 1];
  for (int i = 0; i <= ZB_ACTION_OVERLAP; ++i)
    first[i] = NONE;
  for (size_t i = cells->count; i-- > 0;)
    first[cells->cells[i].action] = (int64_t)i;
  if (cells->form == ZB_FORM_TEXT) {
    cells->b_is_part = true;
    return NULL;
  }
  for (int i = 0; i < ZB_ACTION_COUNT; ++i)
    if (first[i] != NONE && (actions[i].action_class == ZB_ACTION_SEND || actions[i].action_class == ZB_ACTION_RECEIVE))
      cells->form = ZB_FORM_COMPUTE_COMMS;
  if (cells->form == ZB_FORM_COMPUTE_COMMS && first[ZB_ACTION_IDLE] != NONE)
    return zb_status_hint(
        error_at(source, cells, (size_t)first[ZB_ACTION_IDLE],
                 "expected an action, got an empty cell: a file with sends and receives has none"),
        "PyTorch's compute_comms form has no idle cells, its compute_only form no sends and receives");
  if (first[ZB_ACTION_BW] != NONE && first[ZB_ACTION_I] != NONE)
    return zb_status_hint(error_at(source, cells, (size_t)first[ZB_ACTION_I], "expected no I in a file with BW"),
                          "B and BW are the tokens of 2024, I and B those since: a file has one pair or the other");
  cells->b_is_part = first[ZB_ACTION_BW] != NONE || (first[ZB_ACTION_W] != NONE && first[ZB_ACTION_I] == NONE);
  return NULL;
}

zb_status zb_cells_read(zb_source *source, zb_order_cells *out) {
  *out = (zb_order_cells){0};
  if (source->bytes > BYTES_MAX)
    return ZB_ERROR(INVALID, "%s: expected at most %zu bytes, got %zu", source->name, BYTES_MAX, source->bytes);
  split_lines(source, out);
  ZB_TRY(zb_arena_status(&out->arena));
  if (source->line_count == 0)
    return ZB_ERROR(INVALID, "%s: expected a line of jobs for each rank, got an empty file", source->name);
  const bool csv = memchr(source->text, ',', source->bytes) || memchr(source->text, '(', source->bytes);
  out->form = csv ? ZB_FORM_COMPUTE_ONLY : ZB_FORM_TEXT;
  for (size_t row = 0; row < source->line_count; ++row) {
    scanner s = {.source = source, .out = out, .row = row, .begin = source->lines[row].begin};
    const char *end = source->lines[row].end;
    ZB_TRY(csv ? read_csv_line(&s, end) : read_text_line(&s, end));
    zb_cells_end_row(out);
  }
  ZB_TRY(zb_arena_status(&out->arena));
  return decide(source, out);
}

/* ---- Writing ---- */

char *zb_cells_text(const zb_order_cells *cells) {
  const char separator = cells->form == ZB_FORM_TEXT ? ' ' : ',';
  char cell_text[48];
  zb_text text = {0};
  size_t i = 0;
  for (size_t row = 0; row < cells->rows; ++row) {
    for (bool first = true; i < cells->row_end[row]; first = false) {
      const zb_cell cell = cells->cells[i++];
      if (!first) zb_text_add_bytes(&text, &separator, 1);
      if (cell.action == ZB_ACTION_IDLE) continue;
      if (cell.action != ZB_ACTION_OVERLAP) {
        zb_text_add(&text, "%s", zb_cell_text(cell, cell_text));
        continue;
      }
      for (int part = 0; part < cell.micro_batch; ++part)
        zb_text_add(&text, "%c%s", part ? ';' : '(', zb_cell_text(cells->cells[i++], cell_text));
      zb_text_add(&text, "%s", ")OVERLAP_F_B");
    }
    if (row + 1 < cells->rows || cells->last_line_ends) zb_text_add(&text, "%s", cells->crlf ? "\r\n" : "\n");
  }
  if (!text.data && !text.failed) zb_text_add(&text, "%s", "");
  char *out = text.failed ? NULL : zb_text_take(&text);
  zb_text_deinit(&text);
  return out;
}
