/* What MLIR says again and again, kept a thread: unique attributes, shapes of types, rows of ops.
 *
 * Uniquing an attribute costs MLIR a walk through hash tables of all that a program ever had, mostly out of the caches.
 * Programs ask for the same small numbers, names and types, so each thread keeps the last of them, found by content
 * (numbers, texts) or by address (types, names of ops). An address means the same while its context lives. So what is
 * kept holds within a scope, which the pipeline begins and ends, and outside of one nothing is kept: nobody can tell
 * then whether a context was destroyed, and another made at its place. Nothing is allocated, and no result depends on
 * what is kept. */
#pragma once

#include "zb/op.h"

/* A time within which a context lives. number 0: none. */
typedef struct zb_scope {
  uint64_t number; /* never used again in this process */
  void *context;
} zb_scope;
/* The scope of this thread from now on; gives the one before, which the caller sets again when its own ends. */
zb_scope zb_scope_set(zb_scope scope);
/* The scope of this thread where it is of that context, else a new one. */
zb_scope zb_scope_of(MlirContext context);
/* The scope of this thread, for others that work for it meanwhile. */
zb_scope zb_scope_here(void);

/* Each as the function without `kept` in its name. */
MlirAttribute zb_kept_i64(MlirContext context, int64_t value);
MlirAttribute zb_kept_string(MlirContext context, const char *text);
MlirIdentifier zb_kept_name(MlirContext context, const char *text);

/* A place for what depends on an address alone. NULL: nothing is kept. Where `known` is false the caller fills it. */
typedef struct zb_kept_shape {
  uint64_t scope;
  const void *type;
  zb_shape shape;
  bool is_shape;
} zb_kept_shape;
zb_kept_shape *zb_kept_shape_at(MlirType type, bool *known);
typedef struct zb_kept_row {
  uint64_t scope;
  const void *name;
  const zb_op_def *row;
} zb_kept_row;
zb_kept_row *zb_kept_row_at(MlirIdentifier name, bool *known);
