/* The options of a compile by the rows of zb/compile_options.def: which are given, which have no effect, what stands
 * for those that are not given, and their texts as options of passes take them. */
#pragma once

#include "runtime/base/arena.h"
#include "zb/compiler.h"

typedef enum zb_option_kind {
  ZB_OPTION_TEXT,
  ZB_OPTION_IN,
  ZB_OPTION_OUT,
  ZB_OPTION_FLAG,
  ZB_OPTION_COUNT,
  ZB_OPTION_BYTES,
  ZB_OPTION_LIST,
  ZB_OPTION_GROUPS
} zb_option_kind;

/* A row; the .def says what its members are. */
typedef struct zb_compile_option {
  const char *option; /* "--ranks"; NULL behind the last one */
  const char *help;
  zb_option_kind kind;
  size_t field, second; /* offsets in zb_compile_params; second: of a LIST its count, of GROUPS the flag */
  int most;             /* of a COUNT and of GROUPS */
  const char *most_hint;
  const char *endings; /* of OUT: those that its name may have; NULL: any */
  const char *value, *passes, *needs, *hint;
  unsigned without;
} zb_compile_option;

extern const zb_compile_option zb_compile_options[];

/* NULL: no option of a compile is called "--NAME". */
const zb_compile_option *zb_option_find(const char *name);
/* Whether the row is an option of the pass. */
bool zb_option_is_of(const zb_compile_option *option, const char *pass);
bool zb_option_is_given(const zb_compile_option *option, const zb_compile_params *p);
/* The text of a kind that has one; NULL where it is not given. */
const char *zb_option_path(const zb_compile_option *option, const zb_compile_params *p);
/* As the option of a pass takes it, in the arena; items of lists behind each other with semicolons. NULL: out of
 * memory. */
const char *zb_option_text(const zb_compile_option *option, const zb_compile_params *p, zb_arena *arena);

/* USAGE for one that has no effect beside another, or without another; and for numbers that are too large. */
zb_status zb_options_check_beside(const zb_compile_params *p) ZB_MUST_USE;
zb_status zb_options_check_needs(const zb_compile_params *p) ZB_MUST_USE;
zb_status zb_options_check_counts(const zb_compile_params *p) ZB_MUST_USE;
/* What is not given gets the value of its row. */
void zb_options_complete(zb_compile_params *p);
