/* Prints how often this process allocated in steps after the first: test/e2e/processes.py starts it. usage:
 * step_allocations DIR CORPUS */
#include "zb/runtime.h"

#include <stdio.h>
#include <stdlib.h>

static const char *variable(void *context, const char *name) {
  (void)context;
  return getenv(name);
}

int main(int count, char **words) {
  char data[4096];
  zb_session *session = NULL;
  zb_bootstrap bootstrap;
  zb_step_result result;
  if (count != 3) return 2;
  snprintf(data, sizeof data, "text:%s", words[2]);
  zb_session_params params = {.directory = words[1], .data = data, .bootstrap = &bootstrap};
  zb_status status = zb_bootstrap_find(variable, NULL, &bootstrap);
  if (!status) status = zb_session_create(&params, &session);
  if (!status) status = zb_session_step(session, &result);
  uint64_t before = zb_allocation_count();
  for (int i = 0; i < 4 && !status; ++i)
    status = zb_session_step(session, &result);
  if (!status)
    printf("process %d of %d: %llu allocations\n", zb_session_describe(session).process,
           zb_session_describe(session).processes, (unsigned long long)(zb_allocation_count() - before));
  if (status) fputs(zb_status_text(status), stderr);
  fflush(stdout);
  int code = zb_status_exit(status);
  zb_status_free(status);
  zb_session_destroy(session);
  return code;
}
