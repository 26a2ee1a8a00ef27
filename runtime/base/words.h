/* What a word that nobody knows was probably meant to be: by the table of words (words.def), or by its letters. */
#ifndef ZB_BASE_WORDS_H
#define ZB_BASE_WORDS_H

#include "zb/status.h"

/* The candidate that `word` is probably meant to be, or NULL: the one at an edit distance of 1 or 2 (letters of either
 * case, '-' and '_' are the same) that is less than half of the word, else the only one that begins or ends with the
 * word or has it between dashes. */
const char *zb_nearest(const char *word, const char *const *candidates, int count);
/* Adds the hint for a NAME that is none of `names`: its meaning, else the nearest, else all of them. Takes and returns
 * ownership. */
zb_status zb_hint_name(zb_status status, const char *what, const char *name, const char *const *names,
                       int count) ZB_MUST_USE;
/* USAGE: there is no WHAT of that NAME, with that hint. */
zb_status zb_unknown_name(const char *what, const char *name, const char *const *names, int count) ZB_MUST_USE;

#endif
