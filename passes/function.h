/* Building functions whose arguments and results become known one by one, and small attribute helpers of the structure
 * passes. */
#pragma once

#include "ir/builder.h"
#include "ir/dialect.h"
#include "runtime/base/arena.h"

#include <string.h>

typedef struct zb_function_builder {
  MlirContext context;
  MlirLocation location;
  MlirBlock block; /* ops are appended here */
  ZB_LIST(MlirAttribute) argument_attributes;
  ZB_LIST(MlirValue) results;
  ZB_LIST(MlirAttribute) result_attributes;
  zb_arena arena;
  bool failed; /* out of memory */
} zb_function_builder;

void zb_function_begin(zb_function_builder *f, MlirContext context, MlirLocation location);
/* Adds an argument with its dictionary of attributes (null: none). */
MlirValue zb_function_argument(zb_function_builder *f, MlirType type, MlirAttribute attributes);
void zb_function_result(zb_function_builder *f, MlirValue value, MlirAttribute attributes);
/* Appends func.return, makes the func.func (private unless `public`) with extra attributes, appends it to parent. Frees
 * the builder. */
MlirOperation zb_function_finish(zb_function_builder *f, MlirBlock parent, const char *name, bool is_public,
                                 const MlirNamedAttribute *attributes, int attribute_count);
/* Opens a function, to which arguments and results can then be added; closing it adds them and frees the builder. */
void zb_function_open(zb_function_builder *f, MlirOperation function);
zb_status zb_function_close(zb_function_builder *f, MlirOperation function) ZB_MUST_USE;
/* Frees a builder that was not finished. */
void zb_function_abandon(zb_function_builder *f);

/* Attribute dictionary of argument/result `index` (zb_get_entry); null if there is none. */
MlirAttribute zb_argument_dictionary(MlirOperation function, int index);
MlirAttribute zb_result_dictionary(MlirOperation function, int index);
int64_t zb_dictionary_i64(MlirAttribute dictionary, const char *name, int64_t fallback);
const char *zb_dictionary_string(MlirAttribute dictionary, const char *name);
bool zb_dictionary_has(MlirAttribute dictionary, const char *name);

MlirNamedAttribute zb_named_i64(MlirContext context, const char *name, int64_t value);
void zb_set_i64(MlirOperation op, const char *name, int64_t value);
void zb_set_string(MlirOperation op, const char *name, const char *value);
void zb_set_ints(MlirOperation op, const char *name, const int64_t *values, int count);
/* Entry of an array<i64: ...> attribute of an op. */
int64_t zb_ints_at(MlirOperation op, const char *name, int index);

void zb_remove_attribute(MlirOperation op, const char *name);

/* The name of its location, "module.path (node)"; NULL: it has none. */
const char *zb_location_name(MlirOperation op);
/* The function (or nested module) `name` in a block; null if absent. */
MlirOperation zb_symbol_in(MlirBlock block, const char *op_name, const char *symbol);
const char *zb_symbol_name(MlirOperation op);
MlirBlock zb_function_block(MlirOperation function);

#define ZB_FOR_EACH_OP(op, block)                                                                                      \
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);                                 \
       op = mlirOperationGetNextInBlock(op))

/* How many modules of ranks an outlined program has. */
int zb_rank_count(MlirModule module);

/* The module of a rank as a pass works on it. */
typedef struct zb_rank_work {
  MlirOperation module;
  int index, rank; /* number of the module in the program; zb.rank */
  zb_arena arena;  /* released after the run */
  int64_t changes; /* how many the run made */
} zb_rank_work;
/* Runs `run` once for the module of every rank of an outlined program, for many ranks on several threads: it may change
 * its rank's module and rows of its own, and read everything else. The status of the lowest rank that failed comes
 * back; those after it may have run or not. The changes of all are added to *changes (may be NULL). */
typedef zb_status (*zb_rank_run)(void *context, zb_rank_work *work);
zb_status zb_for_each_rank(MlirModule module, zb_rank_run run, void *context, int64_t *changes) ZB_MUST_USE;
