/* Groups of parameters: see update_groups.h. Tests: test/runtime/base/line_test.c. */
#include "runtime/base/update_groups.h"

#include "runtime/base/words.h"

#include <math.h>
#include <string.h>

zb_status zb_update_group_parse(const char *text, zb_update_group *out) {
  static const zb_key keys[] = {{"lr", ZB_KEY_REAL, NAN, 0, INFINITY, NULL},
                                {"weight_decay", ZB_KEY_REAL, NAN, 0, INFINITY, NULL}};
  const char *colon = strrchr(text, ':'); /* the last: names may have one */
  zb_line_row row = {.name = out->glob};
  zb_line line;
  *out = (zb_update_group){{0}, {0}, {0}};
  if (!colon || colon == text || (size_t)(colon - text) >= sizeof out->glob)
    return zb_status_hint(ZB_ERROR(USAGE, "'%s' is no group of parameters", text),
                          "write GLOB:lr=1e-4,weight_decay=0, where * and ? of GLOB stand for letters of a name");
  memcpy(out->glob, text, (size_t)(colon - text));
  memcpy(row.keys, keys, sizeof keys);
  ZB_TRY(zb_line_parse_keys("group", colon + 1, &row, &line));
  memcpy(out->values, line.values, sizeof out->values);
  memcpy(out->given, line.given, sizeof out->given);
  return NULL;
}

unsigned zb_update_groups_apply(const zb_update_group *groups, int count, const char *parameter,
                                double values[ZB_UPDATE_NUMBERS]) {
  unsigned given = 0;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < ZB_UPDATE_NUMBERS && zb_glob(groups[i].glob, parameter); ++k) {
      if (!groups[i].given[k]) continue;
      values[k] = groups[i].values[k];
      given |= 1u << k;
    }
  return given;
}

zb_status zb_update_groups_check(const zb_update_group *groups, int count, const char *const *parameters,
                                 int parameter_count) {
  for (int i = 0; i < count; ++i) {
    bool found = false;
    for (int p = 0; p < parameter_count && !found; ++p)
      found = zb_glob(groups[i].glob, parameters[p]);
    if (found) continue;
    char nearest[ZB_NEAREST_GLOB_BYTES];
    zb_status status = ZB_ERROR(USAGE, "the group '%s' has no trained parameter", groups[i].glob);
    if (zb_nearest_glob(groups[i].glob, parameters, parameter_count, nearest, sizeof nearest))
      return zb_status_hint(status, "did you mean '%s'?", nearest);
    return zb_status_hint(status, "the first of %d is '%s'; * and ? stand for letters", parameter_count,
                          parameter_count > 0 ? parameters[0] : "");
  }
  return NULL;
}
