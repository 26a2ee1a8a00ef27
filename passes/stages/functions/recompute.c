/* zb-recompute: activations that the backward pass computes again, in place of keeping them from F on.
 *
 *   before                                        after (recompute=all)
 *     %1 = "zb.matmul"(%0, %w) {zb.id = 1}          %1 = "zb.matmul"(%0, %w) {zb.id = 1}
 *     %2 = "zb.gelu"(%1) {zb.id = 2}                %2 = "zb.gelu"(%1) {zb.id = 2}
 *     ...                                           ...
 *     %8 = "zb.gelu_grad"(%1, %7) {zb.of = 2}       %7 = "zb.matmul"(%0, %w) {zb.recomputed}
 *                                                   %9 = "zb.gelu_grad"(%7, %8) {zb.of = 2}
 *
 *   recompute=none       nothing
 *   recompute=all        everything but what comes into a layer or a stage: what torch.utils.checkpoint around each
 *                        layer keeps, or less (layers.h)
 *   recompute=GLOB,...   of that, what the named ops make
 *   recompute=auto       zb-choose chose it, as little as the memory asks for (passes/choose/moves/again.c)
 *
 * A GLOB names ops as messages and the table of stages do: by the module that they come from (lm.transformer.h.0, and
 * what is in it), by node, or by kind (gelu). What a stage receives is kept, not sent again. A clone is a backward op:
 * zb-classify finds where it runs. The same kernels run on the same values: no bit changes.
 *
 * Tests: test/passes/recompute.mlir, test/e2e/recompute.py. */

#include "passes/stages/functions/recompute_choice.h"

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/functions/chosen.h"
#include "passes/stages/cost.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 512 };

static const char *const choices[] = {"none", "all", "auto"};

/* ---- Names of ops ---- */

typedef bool (*take_name)(void *context, const char *name);

static bool give(take_name take, void *context, const char *begin, size_t length) {
  char name[NAME_BYTES];
  if (!length || length >= sizeof name) return false;
  memcpy(name, begin, length);
  name[length] = '\0';
  return take(context, name);
}

/* Gives all names of an op to `take` until it says true: its kind, and of "module.path (node)" the path, every module
 * in it, and the node. */
static bool any_name(const zb_node *node, take_name take, void *context) {
  MlirLocation location = mlirOperationGetLocation(node->op);
  if (node->def && take(context, node->def->name)) return true;
  if (!mlirLocationIsAName(location)) return false;
  const char *name = mlirIdentifierStr(mlirLocationNameGetName(location)).data, *open = strstr(name, " (");
  const size_t path = open ? (size_t)(open - name) : strlen(name);
  for (size_t i = 1; i <= path; ++i)
    if ((i == path || name[i] == '.') && give(take, context, name, i)) return true;
  return open && give(take, context, open + 2, strcspn(open + 2, ")"));
}

static bool fits(void *context, const char *name) { return zb_glob(context, name); }

typedef struct name_list {
  zb_arena *arena;
  zb_map *seen;
  ZB_LIST(const char *) names;
} name_list;

static void add_name(name_list *list, const char *name) {
  char *copy;
  if (!list->seen || zb_map_get(list->seen, name, NULL) || !(copy = zb_arena_strdup(list->arena, name))) return;
  zb_arena_map_set(list->arena, list->seen, copy, 1);
  (void)ZB_PUSH(list->arena, &list->names, copy);
}

/* The name, and its last part, which a glob such as '*.mlp' means. */
static bool collect(void *context, const char *name) {
  const char *part = strrchr(name, '.');
  add_name(context, name);
  if (part) add_name(context, part + 1);
  return false;
}

/* The name that is nearest to a GLOB that fits none; NULL: none is near. */
static const char *nearest_name(const zb_recompute *r, const char *glob) {
  name_list list = {.arena = r->arena, .seen = zb_arena_map(r->arena)};
  char plain[NAME_BYTES];
  snprintf(plain, sizeof plain, "%s", glob + strspn(glob, "*?."));
  for (size_t length = strlen(plain); length && strchr("*?.", plain[length - 1]); --length)
    plain[length - 1] = '\0';
  for (int i = 0; i < (int)(sizeof choices / sizeof choices[0]); ++i)
    add_name(&list, choices[i]);
  ZB_FOR_EACH_NODE(node, &r->graph)
    if (r->layers.layer[node->number] >= 0) (void)any_name(node, collect, &list);
  return list.names.count ? zb_nearest(plain, list.names.items, (int)list.names.count) : NULL;
}

/* "A,B": the ops that they name. */
static zb_result set_named(zb_pass *pass, MlirModule module, zb_recompute *r, const char *text) {
  char *glob = zb_arena_strdup(&pass->arena, text);
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  while (glob) {
    char *next = strchr(glob, ',');
    int named = 0;
    if (next) *next++ = '\0';
    if (!*glob)
      return zb_pass_option_error(pass, mlirModuleGetOperation(module), "recompute", "write A,B,...",
                                  "a name is missing in '%s'", text);
    ZB_FOR_EACH_NODE(node, &r->graph) {
      if (r->layers.layer[node->number] < 0 || !any_name(node, fits, glob)) continue;
      r->mode[node->number] = ZB_AGAIN_ALL;
      ++named;
    }
    for (size_t i = 0; i < sizeof choices / sizeof choices[0] && !named; ++i)
      if (strcmp(glob, choices[i]) == 0)
        return zb_pass_option_error(pass, mlirModuleGetOperation(module), "recompute", "write it alone",
                                    "'%s' stands alone, not in a list", glob);
    if (!named) {
      const char *nearest = nearest_name(r, glob);
      return zb_pass_option_error(
          pass, mlirModuleGetOperation(module), "recompute",
          "none, all, auto, or globs of modules, nodes or kinds of ops, such as 'lm.transformer.h.*' or 'gelu'",
          "'%s' names no op of the forward pass%s%s%s", glob, nearest ? ", did you mean '" : "", nearest ? nearest : "",
          nearest ? "'?" : "");
    }
    glob = next;
  }
  return ZB_OK;
}

/* ---- The pass ---- */

static zb_result set_modes(zb_pass *pass, MlirModule module, const char *choice, zb_recompute *r) {
  if (strcmp(choice, "auto") == 0)
    return zb_pass_option_error(pass, mlirModuleGetOperation(module), "recompute",
                                "run zb-choose before zb-partition, with recompute=auto",
                                "zb-choose chooses for auto, and it has not run");
  if (strcmp(choice, "all") != 0) return set_named(pass, module, r, choice);
  for (int n = 0; n < r->graph.node_count; ++n)
    r->mode[n] = ZB_AGAIN_ALL;
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  const char *choice = zb_pass_option(pass, "recompute");
  const zb_choice *chosen;
  MlirOperation function;
  MlirBlock block;
  zb_costs *costs = NULL;
  zb_recompute r;
  if (!zb_chosen(pass, ZB_CHOICE_AGAIN, &chosen)) return ZB_FAIL;
  if (chosen ? !chosen->again.count : strcmp(choice, "none") == 0) return ZB_OK;
  if (!zb_pass_function(module, &function, &block)) return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_pass_costs(pass, &costs));
  zb_status status = zb_recompute_build(&pass->arena, function, costs, &r);
  zb_costs_destroy(costs);
  ZB_PASS_TRY(pass, status);
  if (!chosen && !set_modes(pass, module, choice, &r)) return ZB_FAIL;
  ZB_PASS_TRY(pass, chosen ? zb_chosen_again(chosen, &r) : zb_recompute_choose(&r));
  zb_choice *notes = zb_chosen_notes(pass);
  if (notes) ZB_PASS_TRY(pass, zb_chosen_put_again(&r, notes));
  ZB_PASS_TRY(pass, zb_recompute_apply(&r, &pass->changes));
  return ZB_OK;
}

const zb_pass_def zb_pass_recompute = {
    .name = "zb-recompute",
    .summary = "Compute activations again in the backward pass instead of keeping them.",
    .requires_level = "staged",
    .run = run,
};
