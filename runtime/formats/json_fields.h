/* JSON objects by tables.
 *
 * A field is a row that says how one member of a JSON object is called, what it may hold and where in a C struct it
 * goes. One table of fields gives a strict reader, a writer, the release of what was read, and errors that name the
 * file and the place in it. A member that the columns cannot describe is read by a function that its row names.
 *
 * A place is where a value is in a file: its key or its index, and the place of the object or list that holds it.
 * Places live on the stack of the reader, and become text ("stages[2].time_ms[1]") only in an error.
 */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "runtime/base/json.h"

/* The file that is read. */
typedef struct zb_json_source {
  const char *name; /* what errors call it */
  const char *hint; /* of errors without a hint of their own; NULL: none */
  const char *text; /* that was parsed: where errors find line and column */
  size_t bytes;
  int each;      /* entries of a ZB_JSON_EACH field */
  void *context; /* for the functions of rows */
} zb_json_source;

typedef struct zb_json_place {
  const zb_json_source *source;
  const struct zb_json_place *within; /* NULL: the whole file */
  const char *key;                    /* NULL: an entry of a list */
  size_t index;
} zb_json_place;

typedef enum zb_json_kind {
  ZB_JSON_WHOLE,   /* int64_t, from low to high; 2e9 is one too */
  ZB_JSON_INT,     /* the same as an int */
  ZB_JSON_REAL,    /* double, from low to high; high 0: any above */
  ZB_JSON_MS,      /* int64_t of picoseconds, given in milliseconds: read only */
  ZB_JSON_FLAG,    /* bool */
  ZB_JSON_TEXT,    /* char *, owned */
  ZB_JSON_HEX,     /* uint64_t as a text of 16 hexadecimal digits */
  ZB_JSON_OBJECT,  /* an object by `fields`, in place */
  ZB_JSON_OBJECTS, /* a list of them: a pointer, and an int64_t at count_offset */
  ZB_JSON_OTHER    /* what `read` does; NULL: nothing */
} zb_json_kind;

/* `values` of a list that is as long as the file's `each`, behind a pointer that is set; one number stands for all. */
enum { ZB_JSON_EACH = -1 };
/* Most that one number may be: what is added up is checked by the readers. */
#define ZB_JSON_MOST (INT64_C(1) << 62)

typedef struct zb_json_field {
  const char *name; /* NULL: the end of the table */
  zb_json_kind kind;
  size_t offset;
  int64_t low, high;
  bool required;
  int values;                         /* of numbers: 0: one, ZB_JSON_EACH, else a list of this length, in place */
  const char *instead_of;             /* an earlier member that may not be there too */
  const char *with;                   /* a member of this object without which this one may not be, and must be with */
  const struct zb_json_field *fields; /* of OBJECT and OBJECTS */
  size_t count_offset, item_bytes;    /* of OBJECTS */
  zb_status (*read)(const json_t *value, const zb_json_place *at, void *item);
} zb_json_field;

/* Parses a text. INVALID names the line and column; *out then is NULL. json_decref. */
zb_status zb_json_open(const char *text, size_t bytes, const char *name, const char *hint, json_t **out) ZB_MUST_USE;

/* INVALID at a place: "FILE:LINE:COLUMN: PLACE: MESSAGE". */
zb_status zb_json_error(const zb_json_place *at, const char *format, ...) ZB_PRINTF(2, 3) ZB_MUST_USE;
/* "FILE:LINE:COLUMN: PLACE: expected EXPECTED, got VALUE"; value NULL: "got none". */
zb_status zb_json_wrong(const zb_json_place *at, const json_t *value, const char *format, ...)
    ZB_PRINTF(3, 4) ZB_MUST_USE;

/* Checks that an object has no other members than the table. */
zb_status zb_json_check_keys(const json_t *value, const zb_json_place *at, const zb_json_field *fields) ZB_MUST_USE;
/* Reads the members of the table, in its order, into *item, whose memory is zeroed. */
zb_status zb_json_read_fields(const json_t *value, const zb_json_place *at, const zb_json_field *fields,
                              void *item) ZB_MUST_USE;
/* Both, of a value that must be an object. On failure what *item owns is the caller's to release. */
zb_status zb_json_read_object(const json_t *value, const zb_json_place *at, const zb_json_field *fields,
                              void *item) ZB_MUST_USE;
/* One member of an item as its row says. */
zb_status zb_json_read_member(const json_t *value, const zb_json_place *at, const zb_json_field *field,
                              void *item) ZB_MUST_USE;
/* One value of a row's kind, to `to`; its offset and its number of values do not count. */
zb_status zb_json_read_value(const json_t *value, const zb_json_place *at, const zb_json_field *field,
                             void *to) ZB_MUST_USE;
/* Frees what the fields of an item own. */
void zb_json_release(const zb_json_field *fields, void *item);

/* Adds the item as an object; rows with `read` or in milliseconds are left out. */
void zb_json_add_object(zb_text *out, const zb_json_field *fields, const void *item);
/* Adds one value of a row: "NAME": value. */
void zb_json_add_field(zb_text *out, const zb_json_field *field, const void *item);
/* Adds a text in quotes; NULL is the empty one. */
void zb_json_add_string(zb_text *out, const char *text);
/* Adds a number with a point in every locale, all digits kept. */
void zb_json_add_real(zb_text *out, double value);
