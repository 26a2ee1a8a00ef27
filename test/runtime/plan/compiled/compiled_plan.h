/* A plan that zbc makes of a model of test/passes, for suites that plant faults in it: compiled_plan_open in the
 * opening of a suite, compiled_plan_close in its end. */
#ifndef ZB_TEST_COMPILED_PLAN_H
#define ZB_TEST_COMPILED_PLAN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zb/compiler.h"

static char compiled_plan_path[256]; /* of its file */

/* params: without model and output. 0: it is there. */
static inline int compiled_plan_open(const char *model, zb_compile_params params) {
  char folder[200], file[512];
  zb_compile_summary *summary = NULL;
  snprintf(folder, sizeof folder, "%s/test/compiled-XXXXXX", ZB_BINARY_DIR);
  if (!mkdtemp(folder)) return 1;
  snprintf(file, sizeof file, "%s/test/passes/%s", ZB_SOURCE_DIR, model);
  params.model = file;
  params.output = folder;
  zb_status status = zb_compile(&params, &summary);
  if (status) fputs(zb_status_text(status), stderr);
  zb_compile_summary_destroy(summary);
  snprintf(compiled_plan_path, sizeof compiled_plan_path, "%s/plan.zb", folder);
  return status ? 1 : 0;
}

static inline int compiled_plan_close(void) {
  char command[512];
  const int length = (int)(strrchr(compiled_plan_path, '/') - compiled_plan_path);
  snprintf(command, sizeof command, "rm -r %.*s", length, compiled_plan_path);
  return system(command);
}

#endif
