/* zb-split-policy: which gradients of parameters stay in B although they could wait in W.
 *
 *   split=all        W computes all of them, as zb-classify leaves it
 *   split=products   W computes those that are products of matrices, B those of norms and biases
 *   split=none       B computes all of them
 *   split=GLOB,...   W computes those of the parameters that a GLOB names, B all others
 *   split=auto       zb-choose chose them, as few in B as the memory asks for (passes/choose/moves/in_b.c)
 *
 * What W reads is kept until it runs: for a norm both its input and the gradient of its output, although its work is
 * small. A gradient that B computes keeps nothing, but makes B longer, and other ranks wait for B. No bit changes: the
 * sums are the same, because a B that adds to gradients runs in rising micro-batch order, as W does
 * (zb_stage_cost.b_accumulates).
 *
 * Tests: test/passes/split-policy.mlir, test/e2e/split.py. */

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/functions/chosen.h"
#include "passes/stages/cost.h"
#include "passes/stages/functions/w_groups.h"

#include "runtime/base/text.h"
#include "runtime/base/words.h"

#include <string.h>

typedef struct policy {
  zb_pass *pass;
  MlirModule module;
  const zb_choice *chosen; /* NULL: it decides */
  zb_graph graph;
  zb_w_groups w;
} policy;

/* ---- GLOBs ---- */

/* Whether a gradient of the group is of a parameter that the glob names. */
static bool is_named(const policy *p, const zb_w_group *group, const char *glob) {
  for (size_t i = 0; i < group->nodes.count; ++i) {
    const char *name = zb_get_string(p->graph.nodes[group->nodes.items[i]].op, "parameter");
    if (name && zb_glob(glob, name)) return true;
  }
  return false;
}

static const char *const words[] = {"all", "products", "none", "auto"};
enum { WORDS = sizeof words / sizeof words[0] };

/* A GLOB that names no parameter: of a list that a word was written into, or nearly a name or a word. */
static zb_result report_unnamed(policy *p, const char *glob) {
  MlirOperation module = mlirModuleGetOperation(p->module);
  static const char hint[] = "all, products, none, auto, or globs of parameters whose gradients wait in W, such as "
                             "'*.weight'";
  ZB_LIST(const char *) names = {0};
  for (int i = 0; i < WORDS; ++i) {
    if (strcmp(glob, words[i]) == 0)
      return zb_pass_option_error(p->pass, module, "split", hint, "'%s' stands alone, not in a list", glob);
    (void)ZB_PUSH(&p->pass->arena, &names, words[i]);
  }
  for (int g = 0; g < p->w.group_count; ++g)
    for (size_t i = 0; i < p->w.groups[g].nodes.count; ++i) {
      const char *name = zb_get_string(p->graph.nodes[p->w.groups[g].nodes.items[i]].op, "parameter");
      if (name) (void)ZB_PUSH(&p->pass->arena, &names, zb_arena_strdup(&p->pass->arena, name));
    }
  ZB_PASS_TRY(p->pass, zb_arena_status(&p->pass->arena));
  char near[ZB_NEAREST_GLOB_BYTES];
  const bool is_near = zb_nearest_glob(glob, names.items, (int)names.count, near, sizeof near);
  return zb_pass_option_error(p->pass, module, "split", hint, "'%s' names no trained parameter%s%s%s", glob,
                              is_near ? ", did you mean '" : "", is_near ? near : "", is_near ? "'?" : "");
}

/* "A,B": W has the gradients of the parameters that they name, B all others. */
static zb_result split_named(policy *p, const char *text) {
  char *globs = zb_arena_strdup(&p->pass->arena, text);
  ZB_PASS_TRY(p->pass, zb_arena_status(&p->pass->arena));
  for (int g = 0; g < p->w.group_count; ++g)
    zb_w_group_set(&p->w, g, true);
  while (globs) {
    char *next = strchr(globs, ',');
    if (next) *next++ = '\0';
    int named = 0;
    for (int g = 0; g < p->w.group_count; ++g) {
      if (!is_named(p, &p->w.groups[g], globs)) continue;
      zb_w_group_set(&p->w, g, false);
      ++named;
    }
    if (!named) return report_unnamed(p, globs);
    globs = next;
  }
  return ZB_OK;
}

/* ---- The pass ---- */

static zb_result apply(policy *p) {
  const char *split = zb_pass_option(p->pass, "split");
  if (p->chosen)
    ZB_PASS_TRY(p->pass, zb_chosen_in_b(p->chosen, &p->w));
  else if (strcmp(split, "auto") == 0)
    return zb_pass_option_error(p->pass, mlirModuleGetOperation(p->module), "split",
                                "run zb-choose before zb-partition, with split=auto",
                                "zb-choose chooses for auto, and it has not run");
  else if (strcmp(split, "all") == 0 || strcmp(split, "products") == 0 || strcmp(split, "none") == 0)
    zb_w_groups_set_all(&p->w, *split == 'a' ? ZB_IN_B_NONE : *split == 'p' ? ZB_IN_B_OTHERS : ZB_IN_B_ALL);
  else if (!split_named(p, split))
    return ZB_FAIL;
  zb_choice *notes = zb_chosen_notes(p->pass);
  if (notes) ZB_PASS_TRY(p->pass, zb_chosen_put_in_b(&p->w, notes));
  zb_w_groups_write(&p->w);
  for (int g = 0; g < p->w.group_count; ++g)
    p->pass->changes += p->w.groups[g].in_b;
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  policy p = {.pass = pass, .module = module};
  MlirOperation function;
  MlirBlock block;
  if (!zb_chosen(pass, ZB_CHOICE_IN_B, &p.chosen)) return ZB_FAIL;
  if (p.chosen ? !p.chosen->in_b.count : strcmp(zb_pass_option(pass, "split"), "all") == 0) return ZB_OK;
  if (!zb_pass_function(module, &function, &block)) return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_graph_build(&pass->arena, function, &p.graph));
  zb_costs *costs;
  ZB_PASS_TRY(pass, zb_pass_costs(pass, &costs));
  zb_status status = zb_w_groups_build(&pass->arena, &p.graph, costs, &p.w);
  zb_costs_destroy(costs);
  ZB_PASS_TRY(pass, status);
  return apply(&p);
}

const zb_pass_def zb_pass_split_policy = {
    .name = "zb-split-policy",
    .summary = "Choose which gradients of parameters stay in B, by the memory that W would keep.",
    .requires_level = "classified",
    .run = run,
};
