/* A program of an embedder: compiles a model for two ranks and makes two steps, by include/zb alone.
 * usage: embed MODEL.onnx CORPUS.txt FOLDER; prints the losses with 17 digits. */
#include "zb/compiler.h"
#include "zb/runtime.h"

#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  char data[4096];
  snprintf(data, sizeof data, "text:%s", argv[2]);
  zb_session *session = NULL;
  zb_compile_summary *summary = NULL;
  zb_compile_params compile = ZB_COMPILE_PARAMS_INIT;
  compile.model = argv[1];
  compile.output = argv[3];
  compile.ranks = 2;
  compile.micro_batches = 4;
  zb_session_params run = {.directory = argv[3], .data = data};
  zb_status status = zb_compile(&compile, &summary);
  if (!status) status = zb_session_create(&run, &session);
  for (int i = 0; i < 2 && !status; ++i) {
    zb_step_result result;
    status = zb_session_step(session, &result);
    if (!status) printf("%.17g\n", result.loss);
  }
  if (status) fputs(zb_status_text(status), stderr);
  int code = zb_status_exit(status);
  zb_status_free(status);
  zb_session_destroy(session);
  zb_compile_summary_destroy(summary);
  return code;
}
