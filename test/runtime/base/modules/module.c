/* A module for module_test.c, compiled several times: FIXTURE_ABI, FIXTURE_ID and FIXTURE_NAME say what it claims to
 * be. It uses what only the program has (the allocator) and what it must bring itself (text). */
#include "runtime/base/module.h"
#include "runtime/base/module_id.h"
#include "runtime/base/text.h"

#ifdef FIXTURE_NEEDS
extern int zb_absent(void);
#endif

#ifndef FIXTURE_NOTHING
ZB_MODULE_EXPORT = {.abi = FIXTURE_ABI, .build_id = FIXTURE_ID, .name = FIXTURE_NAME};
#endif

ZB_API zb_status fixture_make(void);
zb_status fixture_make(void) {
  zb_text text = {0};
  zb_text_add(&text, "made in a module");
  zb_status status = ZB_ERROR(RUNTIME, "%s", text.failed ? "" : text.data);
  zb_text_deinit(&text);
#ifdef FIXTURE_NEEDS
  if (zb_absent()) return status;
#endif
  return status;
}
