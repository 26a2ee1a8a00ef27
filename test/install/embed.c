/* A program of an embedder: compiles a model for two ranks and makes two steps, by include/zb alone.
 * A pass that comes too early gives a diagnostic, which comes to this program and not to standard error.
 * usage: embed MODEL.onnx CORPUS.txt FOLDER; prints the losses with 17 digits. */
#include "zb/compiler.h"
#include "zb/runtime.h"

#include <stdio.h>
#include <string.h>

static void keep(void *context, const char *text) { snprintf(context, 4096, "%s", text); }

static int diagnoses(const char *model) {
  zb_compile_params compile = ZB_COMPILE_PARAMS_INIT;
  char text[4096] = "";
  zb_compile_summary *summary = NULL;
  compile.model = model;
  compile.pipeline = "zb-outline";
  compile.diagnostic = keep;
  compile.diagnostic_context = text;
  zb_status status = zb_compile(&compile, &summary);
  int diagnosed = status && strstr(text, "zb-outline") != NULL;
  zb_status_free(status);
  zb_compile_summary_destroy(summary);
  return diagnosed;
}

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
  if (!diagnoses(argv[1])) return 70;
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
