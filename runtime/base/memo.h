/* Answers that were found before, by the whole of what was asked: for slow functions that give equal answers to equal
 * questions, and are asked the same again and again. What is kept changes the time that work takes, never its result.
 * Thread-safe. */
#pragma once

#include "zb/status.h"

typedef struct zb_memo zb_memo;

/* Keeps up to so many bytes of questions and answers; when it is full it forgets them all. NULL when out of memory. */
zb_memo *zb_memo_create(size_t most_bytes) ZB_MUST_USE;
void zb_memo_destroy(zb_memo *memo);

/* What was asked of a function. Padding in structs would make equal questions differ: ask without any. */
typedef struct zb_question {
  const char *function; /* a constant text */
  const void *bytes;
  size_t count;
} zb_question;

/* A copy of the answer, which the caller frees with zb_free; NULL: there is none. memo may be NULL. MEMORY. */
zb_status zb_memo_find(zb_memo *memo, const zb_question *question, void **out_answer, size_t *out_bytes) ZB_MUST_USE;
/* Keeps copies of both. memo may be NULL. MEMORY. */
zb_status zb_memo_keep(zb_memo *memo, const zb_question *question, const void *answer, size_t bytes) ZB_MUST_USE;

/* Adds up the work that answers took, in whatever unit: for who looks for as long as it pays. memo may be NULL: 0. */
void zb_memo_spend(zb_memo *memo, int64_t work);
int64_t zb_memo_spent(zb_memo *memo);
