/* JSON by jansson, with its failures known. jansson loses bytes where it cannot get memory (a digit of a number that it
 * reads, a token of a text that it writes), or writes past the end of others, and goes on: its own answers say nothing.
 * Here every piece of memory that it asks for is watched. Safe to use from every thread. */
#pragma once

#include <jansson.h>

#include "runtime/base/text.h"

/* *out is NULL for what is no JSON, and *error then says why and where: line and column of the first character that
 * does not fit. A byte order mark is passed over. json_decref. The only status is MEMORY. */
zb_status zb_json_parse(const char *text, size_t bytes, size_t flags, json_t **out, json_error_t *error) ZB_MUST_USE;
/* Adds the value as text; flags of json_dumps. MEMORY, also where what was added is lost; INVALID for a value that JSON
 * has no text for. */
zb_status zb_json_print(const json_t *value, size_t flags, zb_text *out) ZB_MUST_USE;

/* For values that are put together: whether jansson was refused memory in this thread since zb_json_watch. */
void zb_json_watch(void);
bool zb_json_out_of_memory(void);
