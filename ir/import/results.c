/* The loss, and the outputs that are kept, of a file that names its results. Tests: test/ir/import/import_test.c,
 * test/ir/import/aten, test/e2e/outputs.py, test/e2e/inference.py. */
#include "ir/import/import.h"

#include <string.h>

/* Whether nobody says that it is the new value of something else. */
static bool is_output(const zb_import_result *r) { return r->updates < 0; }

static bool may_be_loss(const zb_import_result *r) {
  return is_output(r) && r->is_typed && r->shape.rank == 0 && r->shape.dtype == ZB_F32;
}

/* "'loss' (f32), 'logits' (4x8xf32)"; zb_text_deinit. */
static zb_text describe(const zb_import_results *from) {
  zb_text text = {0};
  char shape[96];
  int listed = 0;
  for (int i = 0; i < from->count && (!from->most_listed || listed < from->most_listed); ++i) {
    const zb_import_result *r = &from->items[i];
    const char *type = r->type_text ? r->type_text : r->is_typed ? zb_shape_text(&r->shape, shape) : "?";
    if (is_output(r)) zb_text_add(&text, "%s'%s' (%s)", listed++ ? ", " : "", r->name, type);
  }
  if (!listed) zb_text_add(&text, "none");
  return text;
}

static zb_result refuse_unmade(zb_import *im, const zb_import_results *from, const char *name) {
  return zb_import_fail(im, NULL, "%s '%s' is made by no node", from->word, name);
}

zb_import_result *zb_import_find_loss(zb_import *im, const zb_import_results *from) {
  const char *wanted = im->params->loss;
  zb_import_result *found = NULL;
  int candidates = 0;
  bool is_sure = false;
  for (int i = 0; i < from->count; ++i) {
    zb_import_result *r = &from->items[i];
    if (wanted ? !is_output(r) || strcmp(r->name, wanted) != 0 : !may_be_loss(r)) continue;
    if (!is_sure) found = r;
    is_sure |= r->is_loss || strcmp(r->name, "loss") == 0; /* of several the one of that name */
    ++candidates;
  }
  if (found && (candidates == 1 || is_sure)) return found->value || refuse_unmade(im, from, found->name) ? found : NULL;
  zb_text list = describe(from);
  if (wanted)
    zb_import_fail(im, "pass one of them to --loss", "%s %s is named '%s': the %ss are %s",
                   found ? "more than one" : "no", from->word, wanted, from->word, list.data);
  else if (found)
    zb_import_fail(im, "say which one with --loss NAME", "%d %ss may be the loss: %s", candidates, from->word,
                   list.data);
  else
    zb_import_fail(im, from->loss_hint, "no scalar %s to minimize: the %ss are %s", from->scalar, from->word,
                   list.data);
  zb_text_deinit(&list);
  return NULL;
}

static zb_import_result *find(const zb_import_results *from, const char *name) {
  for (int i = 0; i < from->count; ++i)
    if (is_output(&from->items[i]) && strcmp(from->items[i].name, name) == 0) return &from->items[i];
  return NULL;
}

zb_result zb_import_keep_outputs(zb_import *im, const zb_import_results *from, const zb_import_result *loss) {
  const char *const *names = im->params->outputs;
  const int named = im->params->output_count, count = named ? named : loss ? 0 : from->count;
  im->outputs = zb_import_take(im, ((size_t)count + 1) * sizeof *im->outputs);
  if (!im->outputs) return ZB_FAIL;
  for (int i = 0; i < count; ++i) {
    const zb_import_result *r = named ? find(from, names[i]) : &from->items[i];
    if (!r) {
      zb_text list = describe(from);
      zb_import_fail(im, from->output_hint, "--keep-output: no %s is named '%s': the %ss are %s", from->word, names[i],
                     from->word, list.data);
      zb_text_deinit(&list);
      return ZB_FAIL;
    }
    if (!is_output(r)) continue;
    if (!r->value) return refuse_unmade(im, from, r->name);
    if (r == loss)
      return zb_import_fail(im, "leave it out: the loss is computed in any case", "--keep-output: '%s' is the loss",
                            r->name);
    for (int k = 0; k < i && named; ++k)
      if (strcmp(names[k], names[i]) == 0)
        return zb_import_fail(im, NULL, "--keep-output: '%s' is named twice", r->name);
    r->value->name = r->name;
    im->outputs[im->output_count++] = r->value;
  }
  return im->output_count || loss ? ZB_OK : zb_import_fail(im, NULL, "the %s has no %ss", from->whole, from->word);
}
