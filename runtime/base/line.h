/* Lines of options, "NAME:key=value,key=value": an optimizer, a schedule of rates, what a group of parameters gets. A
 * row is a name with its keys; what is not as a row says is USAGE with a hint. Thread-safe. */
#pragma once

#include "runtime/base/text.h"

typedef enum zb_key_kind {
  ZB_KEY_END, /* behind the last key */
  ZB_KEY_REAL,
  ZB_KEY_WHOLE, /* a whole number */
  ZB_KEY_BOOL,  /* true or false, as 1 or 0 */
  ZB_KEY_WORD   /* one of `words`, as its number */
} zb_key_kind;

typedef struct zb_key {
  const char *name;
  zb_key_kind kind;
  double fallback;     /* where the line has none; NAN: it must have one, or the caller knows what to do */
  double least, below; /* least <= value < below; of words: 0 and how many */
  const char *words;   /* with blanks between */
} zb_key;

enum { ZB_LINE_KEYS = 8, ZB_LINE_BYTES = 512 };

typedef struct zb_line_row {
  const char *name;
  zb_key keys[ZB_LINE_KEYS + 1];
} zb_line_row;

/* values[i] belongs to key i of the row. */
typedef struct zb_line {
  const zb_line_row *row;
  double values[ZB_LINE_KEYS];
  bool given[ZB_LINE_KEYS];
} zb_line;

/* what: "optimizer", for messages and hints. */
zb_status zb_line_parse(const char *what, const char *text, const zb_line_row *const *rows, int count,
                        zb_line *out) ZB_MUST_USE;
/* "key=value,key=value" of one row; NULL: none of them. */
zb_status zb_line_parse_keys(const char *what, const char *text, const zb_line_row *row, zb_line *out) ZB_MUST_USE;
/* Adds the line with all of its keys but those without a value: "sgd:lr=1e-3,nesterov=false". */
void zb_line_add(const zb_line *line, zb_text *out);
/* The key of that name; -1: the row has none. */
int zb_line_key(const zb_line_row *row, const char *name);
/* Adds the shortest text that reads back as the same number: "1e-3", "0.95". */
void zb_number_add(double value, zb_text *out);
