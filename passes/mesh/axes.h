/* Words of axes, and errors that name a place in a text. */
#pragma once

#include "zb/mesh.h"

/* The axis of that name, of either case, or ZB_AXIS_COUNT. */
zb_axis zb_axis_find(const char *name, size_t length);
/* USAGE: no axis is called so. what: what the text is, "order" or "groups". */
zb_status zb_axis_unknown(const char *what, const char *text, const char *name, size_t length) ZB_MUST_USE;
/* Length of the word at `text`, which ends before a '-'. */
size_t zb_axis_word(const char *text);
/* Which character of the text it is, from 1. */
int zb_axis_place(const char *text, const char *at);
