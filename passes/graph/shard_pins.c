/* What is said of single parameters: pins, which say where one is cut, and why one is whole
 * (passes/graph/shard_parts.h).
 *
 * Tests: test/passes/shard-pins.mlir, test/e2e/shards.py. */
#include "passes/graph/shard_parts.h"
#include "passes/function.h"
#include "passes/tables.h"

#include "runtime/base/text.h"
#include "runtime/base/words.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "h.*.mlp.c_fc.weight=1", "h.0.*=whole". */
typedef struct pin {
  char *glob;
  int dim; /* -1: whole */
} pin;

static const char EXAMPLE[] = "for example 'h.*.mlp.c_fc.weight=1' (its columns), or 'h.0.*=whole'";

static const char *name_of(const zb_shard *s, int argument) {
  const zb_port port = zb_argument_port(s->graph.function, argument);
  return port.param ? port.param : port.frozen;
}

static zb_result fail(zb_shard *s, const char *hint, const char *text) {
  return zb_pass_option_error(s->pass, s->graph.function, "shard", hint, "%s", text);
}

/* ---- Reading ---- */

/* The text is cut at its last '='. */
static zb_result read_pin(zb_shard *s, char *text, pin *out) {
  char *equals = strrchr(text, '='), *end = NULL, message[256];
  const char *dim = equals ? equals + 1 : "";
  *out = (pin){text, -1};
  const long number = strtol(dim, &end, 10);
  const bool is_number = *dim >= '0' && *dim <= '9' && *end == '\0' && number <= INT32_MAX;
  if (!equals || equals == text || (!is_number && strcmp(dim, "whole") != 0)) {
    snprintf(message, sizeof message, "expected GLOB=DIM or GLOB=whole, got '%.150s'", text);
    return fail(s, EXAMPLE, message);
  }
  *equals = '\0';
  if (is_number) out->dim = (int)number;
  return ZB_OK;
}

static zb_result apply_pin(zb_shard *s, const pin *it, int a) {
  zb_shard_argument *argument = &s->arguments[a];
  const zb_shape *shape = &s->shapes[a];
  char message[512];
  argument->pinned = true;
  argument->pin = (zb_place){.spread = ZB_REPLICATED};
  if (it->dim < 0) return ZB_OK;
  if (it->dim >= shape->rank) {
    snprintf(message, sizeof message, "'%.200s' has %d dimension%s, counted from 0: there is no dimension %d",
             name_of(s, a), shape->rank, shape->rank == 1 ? "" : "s", it->dim);
    return fail(s, EXAMPLE, message);
  }
  zb_placing placing = {.shards = s->shards};
  if (zb_place_parameter(&placing, it->dim, shape->dims[it->dim], &argument->pin)) return ZB_OK;
  snprintf(message, sizeof message,
           "%" PRId64 " shards do not divide dimension %d of '%.200s', which has %" PRId64 " elements", s->shards,
           it->dim, name_of(s, a), shape->dims[it->dim]);
  return fail(s, "pin another dimension, or leave it whole", message);
}

static zb_result report_unused(zb_shard *s, const pin *it) {
  zb_arena *arena = &s->pass->arena;
  const char **names = ZB_NEW(arena, const char *, s->graph.argument_count);
  char message[256], hint[512], nearest[ZB_NEAREST_GLOB_BYTES];
  int count = 0;
  ZB_PASS_TRY(s->pass, zb_arena_status(arena));
  for (int a = 0; a < s->graph.argument_count; ++a)
    if (s->arguments[a].weight) names[count++] = name_of(s, a);
  snprintf(message, sizeof message, "no parameter is named '%.200s'", it->glob);
  if (zb_nearest_glob(it->glob, names, count, nearest, sizeof nearest))
    snprintf(hint, sizeof hint, "did you mean '%.300s'?", nearest);
  else
    snprintf(hint, sizeof hint, "the first of %d is '%.300s'; * and ? stand for letters", count, count ? names[0] : "");
  return fail(s, hint, message);
}

zb_result zb_shard_read_pins(zb_shard *s) {
  char *text = zb_arena_strdup(&s->pass->arena, zb_pass_option(s->pass, "shard"));
  ZB_PASS_TRY(s->pass, zb_arena_status(&s->pass->arena));
  for (char *at = *text ? text : NULL, *next; at; at = next) {
    pin it;
    bool used = false;
    next = strchr(at, ';');
    if (next) *next++ = '\0';
    if (!read_pin(s, at, &it)) return ZB_FAIL;
    for (int a = 0; a < s->graph.argument_count; ++a) {
      if (!s->arguments[a].weight || !zb_glob(it.glob, name_of(s, a))) continue;
      used = true;
      if (!apply_pin(s, &it, a)) return ZB_FAIL;
    }
    if (!used) return report_unused(s, &it);
  }
  return ZB_OK;
}

/* ---- Reasons ---- */

/* "zb.layer_norm (h.0.ln_1)". */
static void add_op(zb_text *text, const zb_node *node) {
  const MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(node->op));
  const char *where = zb_location_name(node->op);
  zb_text_add(text, "%.*s", (int)name.length, name.data);
  if (where) zb_text_add(text, " (%s)", where);
}

static void add_reason(zb_text *text, const zb_shard *s, const zb_shard_doubt *why) {
  if (why->undivided > 0) {
    zb_text_add(text, "%" PRId64 " shards do not divide the %" PRId64 " of ", s->shards, why->undivided);
    add_op(text, why->reader);
  } else {
    add_op(text, why->reader);
    zb_text_add(text, " needs all of what is made of it");
  }
}

zb_result zb_shard_report_pin(zb_shard *s) {
  zb_text text = {0};
  char message[512];
  zb_text_add(&text, "'%.200s' cannot be cut along dimension %d: ", name_of(s, s->blocked),
              s->arguments[s->blocked].pin.dim);
  add_reason(&text, s, &s->arguments[s->blocked].doubt);
  snprintf(message, sizeof message, "%s", text.data ? text.data : "");
  zb_text_deinit(&text);
  return fail(s, "pin another dimension, or pin what it is computed with, too", message);
}

/* An input of tokens that shards do not divide, where they divide none. NULL: there is none, or nobody asked for it. */
static const zb_shape *undivided_tokens(const zb_shard *s) {
  const zb_shape *first = NULL;
  for (size_t i = 0; i < s->inputs.count; ++i) {
    if (s->inputs.items[i].dims[1] % s->shards == 0) return NULL;
    if (!first) first = &s->inputs.items[i];
  }
  return first;
}

/* Of what is whole although somebody would have it cut: pairs of names and reasons. */
zb_status zb_shard_note_whole(zb_shard *s) {
  zb_arena *arena = &s->pass->arena;
  MlirAttribute *pairs = ZB_NEW(arena, MlirAttribute, 2 * s->graph.argument_count + 2);
  MlirContext context = mlirOperationGetContext(s->graph.function);
  int count = 0;
  ZB_TRY(zb_arena_status(arena));
  for (int a = 0; a < s->graph.argument_count; ++a) {
    const zb_shard_argument *argument = &s->arguments[a];
    zb_text text = {0};
    if (!argument->weight || argument->pinned || zb_is_cut(&s->places[a]) || !argument->doubt.reader) continue;
    add_reason(&text, s, &argument->doubt);
    if (text.failed) return zb_text_deinit(&text), ZB_OUT_OF_MEMORY();
    pairs[count++] = mlirStringAttrGet(context, mlirStringRefCreateFromCString(name_of(s, a)));
    pairs[count++] = mlirStringAttrGet(context, mlirStringRefCreateFromCString(text.data));
    zb_text_deinit(&text);
  }
  const zb_shape *undivided = undivided_tokens(s);
  if (undivided) {
    char why[96];
    snprintf(why, sizeof why, "%" PRId64 " shards do not divide the %" PRId64 " tokens of a sample", s->shards,
             undivided->dims[1]);
    pairs[count++] = mlirStringAttrGet(context, mlirStringRefCreateFromCString("activations"));
    pairs[count++] = mlirStringAttrGet(context, mlirStringRefCreateFromCString(why));
  }
  if (count)
    zb_set_attribute(mlirModuleGetOperation(s->pass->program->module), ZB_ATTR_WHOLE,
                     mlirArrayAttrGet(context, count, pairs));
  return NULL;
}
