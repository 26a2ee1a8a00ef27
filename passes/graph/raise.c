/* zb-raise: recognises what exporters take apart, and puts one op with one memory-saving gradient in its place.
 *
 *   0.5 * x * (1 + tanh(..x..))                        zb.gelu {tanh}
 *   x * sigmoid(x)                                     zb.silu
 *   silu(x) * y                                        zb.swiglu
 *   scale * x / sqrt(mean(x^2) + eps)                  zb.rms_norm      (and zb.layer_norm)
 *   matmul(softmax(matmul(q, k^T) * s + mask), v)      zb.attention
 *   x * cos + (-x[d/2:], x[:d/2]) * sin               zb.rotary        (what no other pattern took)
 *   matmul(x, w) + bias                                zb.matmul with three operands   (likewise)
 *   pow(x, 2)                                          mul(x, x)                       (likewise)
 *
 * A pattern is tried at every op as its last one, in program order, so inner patterns come first. A value inside of a
 * pattern that somebody else reads prevents it. What is left over without readers is erased. Raising changes rounding,
 * so it is made on the whole graph, and can be left out; run zb-canonicalize before it (it brings transposes into
 * products) and after it (it cancels transposes).
 *
 * Tests: test/passes/raise-*.mlir; values: test/passes/gradient_program_test.c. */

#include "passes/pipeline.h"
#include "passes/graph/raise_match.h"
#include "runtime/base/words.h"

#include <string.h>

/* The groups, for people; the table below has the patterns. */
#define GROUPS "gelu, silu, swiglu, norm, attention, rotary, bias, power"

/* Patterns by group; `last` ones run in a second walk, after all others had their chance. */
static const struct {
  const char *group;
  zb_raise_pattern pattern;
  bool last;
} patterns[] = {
    {"gelu", zb_raise_gelu, false},
    {"silu", zb_raise_silu, false},
    {"swiglu", zb_raise_swiglu, false},   /* of what "silu" made, or an importer */
    {"norm", zb_raise_layer_norm, false}, /* before rms_norm: it is one of x - mean(x) */
    {"norm", zb_raise_rms_norm, false},
    {"norm", zb_raise_norm_bias, false},
    {"attention", zb_raise_attention, false},
    {"rotary", zb_raise_rotary, true}, /* after attention, which moves it through transposes */
    {"bias", zb_raise_bias, true},     /* after attention, whose masks are added to products too */
    {"power", zb_raise_power, true},
};
enum { PATTERN_COUNT = sizeof patterns / sizeof patterns[0] };

/* Whether `group` is an item of the comma-separated list `only`; an empty list has all. */
static bool is_chosen(const char *only, const char *group) {
  size_t length = strlen(group);
  if (!*only) return true;
  for (const char *at = only; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strcspn(at, ",") == length && strncmp(at, group, length) == 0) return true;
  return false;
}

static zb_result check_groups(zb_pass *pass, MlirOperation function, const char *only) {
  for (const char *at = only; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    char name[32];
    const char *names[PATTERN_COUNT];
    size_t length = strcspn(at, ",");
    bool known = false;
    for (int i = 0; i < PATTERN_COUNT; ++i) {
      names[i] = patterns[i].group;
      known |= strlen(names[i]) == length && strncmp(names[i], at, length) == 0;
    }
    if (known) continue;
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, at, length);
    name[length] = '\0';
    const char *nearest = zb_nearest(name, names, PATTERN_COUNT);
    return zb_pass_option_error(pass, function, "only", "known: " GROUPS, "zb-raise has no pattern '%s'%s%s%s", name,
                                nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  }
  return ZB_OK;
}

static zb_result raise_op(zb_pass *pass, const zb_raise *r, const char *only, bool last) {
  for (int i = 0; i < PATTERN_COUNT; ++i) {
    if (patterns[i].last != last || !is_chosen(only, patterns[i].group)) continue;
    zb_raised raised = patterns[i].pattern(r);
    if (raised == ZB_RAISED_FAILED) return ZB_FAIL;
    if (raised == ZB_RAISED_NOT) continue;
    ++pass->changes;
    return ZB_OK;
  }
  return ZB_OK;
}

/* Patterns erase nothing, so the list stays valid; what lost its readers goes at the end. */
static zb_result walk(zb_pass *pass, zb_raise *r, MlirOperation function, const char *only, bool last) {
  zb_op_list list;
  zb_result result = ZB_OK;
  int64_t erased;
  ZB_PASS_TRY(pass, zb_op_list_collect(&pass->arena, function, &list));
  for (size_t i = 0; i < list.count && result; ++i) {
    r->root = list.items[i];
    result = raise_op(pass, r, only, last);
  }
  if (!result) return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_erase_dead(&pass->arena, function, &erased));
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  zb_graph graph;
  const char *only = zb_pass_option(pass, "only");
  if (!check_groups(pass, function, only)) return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_graph_build(&pass->arena, function, &graph));
  zb_raise r = {.graph = &graph, .depends = zb_graph_depends(&pass->arena, &graph)};
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  return walk(pass, &r, function, only, false) && walk(pass, &r, function, only, true) ? ZB_OK : ZB_FAIL;
}

static const zb_option_def options[] = {
    {"only", "", "raise only these: a list of " GROUPS},
    {0},
};

const zb_pass_def zb_pass_raise = {
    .name = "zb-raise",
    .summary = "put one op in the place of what exporters take apart: GELU, SiLU, SwiGLU, norms, attention, rotary "
               "embeddings, products with a bias",
    .options = options,
    .requires_level = "graph",
    .run_on_function = run,
};
