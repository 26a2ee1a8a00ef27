/* The command line of a program, by a row an option: reading it, and the list of --help. Tests: test/tools,
 * test/runtime/exec/zb_run_test.c. */
#pragma once

#include "tools/command/programs.h"

/* Options that are given again and again. */
enum { OPTION_LIST_MAX = 256, OPTION_LISTS_MAX = 16 };
typedef struct option_list {
  const char *const *items; /* good until the next options_parse */
  int count;
} option_list;

/* What a field of the settings gets, by the kind of its row. A number that is not given is 0. */
typedef const char *option_TEXT;
typedef bool option_FLAG;
typedef int option_COUNT;
typedef int64_t option_NUMBER;
typedef option_list option_LIST;
typedef enum option_kind {
  OPTION_TEXT,
  OPTION_IN,  /* of a file that is read, */
  OPTION_OUT, /* or written */
  OPTION_FLAG,
  OPTION_COUNT,  /* int */
  OPTION_NUMBER, /* int64_t */
  OPTION_BYTES,  /* uint64_t: "2G" */
  OPTION_LIST,   /* option_list, or its two fields apart: offset and second */
  OPTION_GROUPS, /* "4" or "4:inner": int at offset, bool at second */
  OPTION_OTHER,  /* the program reads it itself: options_table.other */
} option_kind;

typedef struct option_row {
  const char *option, *argument, *help; /* a new line of the help begins in the column of the first */
  option_kind kind;
  size_t offset;           /* of the field */
  int64_t lowest, highest; /* of COUNT and NUMBER; both 0: 1 and INT_MAX */
  const char *group;       /* a line before it in the list; NULL or "": none */
  size_t second;           /* offset of what goes with the field */
} option_row;

typedef struct options_table {
  tool program;
  const option_row *rows;
  int count;
  int column; /* where help begins */
  /* A word that is no option. */
  zb_status (*word)(void *settings, const char *word);
  /* An option that has no row, or one of kind OTHER; NULL: it is unknown. */
  zb_status (*other)(void *settings, const char *word);
  /* Prints more help to a row, from the column on; may be NULL. */
  void (*more)(const option_row *row, int column);
} options_table;

/* Takes "--name", "--name value" and "--name=value", in any order, and -h for --help. Everything is borrowed. */
zb_status options_parse(const options_table *table, int count, char **words, void *settings) ZB_MUST_USE;
/* Whether a row was given a value. */
bool option_is_given(const option_row *row, const void *settings);
void options_print(const options_table *table);
