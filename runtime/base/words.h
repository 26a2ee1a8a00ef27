/* What a word that nobody knows was probably meant to be: by the table of words (words.def), or by its letters. */
#pragma once

#include "zb/status.h"

/* The candidate that `word` is probably meant to be, or NULL: the one at an edit distance of 1 or 2 (letters of either
 * case, '-' and '_' are the same) that is less than half of the word, or the last of three letters, else the only one
 * that begins or ends with the word or has it between dashes. */
const char *zb_nearest(const char *word, const char *const *candidates, int count);
/* What is room enough for the names of models. */
enum { ZB_NEAREST_GLOB_BYTES = 512 };
/* The same for a GLOB of dotted names that fits none: the GLOB with one of its parts replaced by the nearest
 * one of a name such that it fits a name ('*.bias' for '*.biass'), or a name, into out[size]. False: nothing is near.
 */
bool zb_nearest_glob(const char *glob, const char *const *names, int count, char *out, size_t size);
/* Adds the hint for a NAME that is none of `names`: its meaning, else the nearest, else all of them. Takes and returns
 * ownership. */
zb_status zb_hint_name(zb_status status, const char *what, const char *name, const char *const *names,
                       int count) ZB_MUST_USE;
/* USAGE: there is no WHAT of that NAME, with that hint. */
zb_status zb_unknown_name(const char *what, const char *name, const char *const *names, int count) ZB_MUST_USE;
