/* A program of an embedder that only runs plans: one that links libzb-runtime, and so no LLVM.
 * usage: run FOLDER CORPUS.txt; prints the loss of one step. */
#include "zb/runtime.h"

#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  char data[4096];
  snprintf(data, sizeof data, "text:%s", argv[2]);
  zb_session *session = NULL;
  zb_session_params params = {.directory = argv[1], .data = data};
  zb_step_result result;
  zb_status status = zb_session_create(&params, &session);
  if (!status) status = zb_session_step(session, &result);
  if (status)
    fputs(zb_status_text(status), stderr);
  else
    printf("%.17g\n", result.loss);
  int code = zb_status_exit(status);
  zb_status_free(status);
  zb_session_destroy(session);
  return code;
}
