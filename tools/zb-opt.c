// zb-opt: run passes on MLIR text, as mlir-opt does.

#include "zb/compiler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "zb-opt " ZB_VERSION ": runs zbc's passes on MLIR text and prints the result\n"
    "\n"
    "usage: zb-opt [options] [--zb-PASS[=option=value,...]]... [FILE.mlir | -]\n"
    "\n"
    "  --pass-pipeline=TEXT          builtin.module(zb-a{x=1},zb-b)\n"
    "  --zb-PASS[=x=1,y=2]           one pass; several run in the order given\n"
    "  --list-passes                 all passes with options and levels\n"
    "  --default-pipeline            print the pipeline that zbc runs\n"
    "  --irdl                        print the dialect as IRDL text, for mlir-opt --irdl-file=\n"
    "  --split-input-file            treat parts between '// -----' lines as files of their own\n"
    "  --verify-diagnostics          check '// expected-error@+1 {{text}}' comments\n"
    "  --allow-unregistered-dialect  take ops of dialects that are not known\n"
    "  --emit-bytecode               print MLIR bytecode\n"
    "  --mlir-print-ir-after-all     print the program after each pass\n"
    "  --mlir-timing                 print what each pass took\n"
    "  --no-verify                   do not verify between passes\n"
    "  --help, --version\n"
    "\n"
    "examples:\n"
    "  zb-opt --zb-autodiff --zb-split-grad model.mlir\n"
    "  zb-opt --pass-pipeline='builtin.module(zb-partition{ranks=4},zb-classify)' split.mlir\n"
    "  zb-opt --irdl > zb.irdl.mlir && mlir-opt-22 --irdl-file=zb.irdl.mlir out.mlir\n"
    "\n"
    "exit status: 0 done, 1 the input is wrong, 2 the command line is wrong\n";

static void write_out(void *context, const char *text, size_t bytes) { fwrite(text, 1, bytes, context); }

static void list_passes(void) {
  for (int i = 0; i < zb_pass_count(); ++i) {
    zb_pass_info info = zb_pass_info_at(i);
    printf("%-18s %s\n%-18s level: %s -> %s\n", info.name, info.summary, "", info.requires_level, info.ensures_level);
    const char *line = info.options;
    while (line && *line) {
      int length = (int)strcspn(line, "\n");
      printf("%-18s   %.*s\n", "", length, line);
      line += length + (line[length] == '\n');
    }
  }
}

static int fail(zb_status status) {
  fputs(zb_status_text(status), stderr);
  int code = zb_status_exit(status);
  zb_status_free(status);
  return code;
}

// Adds "zb-name{options}" to the pipeline text.
static char *add_pass(char *pipeline, const char *argument) {
  size_t used = pipeline ? strlen(pipeline) : 0, length = strlen(argument);
  char *grown = realloc(pipeline, used + length + 8);
  if (!grown) return NULL;
  const char *options = strchr(argument, '=');
  size_t name = options ? (size_t)(options - argument) : length;
  int wrote = snprintf(grown + used, length + 8, "%s%.*s%s%s%s", used ? "," : "", (int)name, argument, options ? "{" : "",
                       options ? options + 1 : "", options ? "}" : "");
  return wrote < 0 ? NULL : grown;
}

static bool set_flag(zb_opt_params *params, const char *argument) {
  const struct {
    const char *name;
    bool *flag;
  } flags[] = {
      {"--split-input-file", &params->split_input_file},
      {"--verify-diagnostics", &params->verify_diagnostics},
      {"--allow-unregistered-dialect", &params->allow_unregistered_dialect},
      {"--emit-bytecode", &params->emit_bytecode},
      {"--mlir-print-ir-after-all", &params->print_after_all},
      {"--mlir-timing", &params->timing},
      {"--no-verify", &params->no_verify},
  };
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; ++i)
    if (strcmp(argument, flags[i].name) == 0) return *flags[i].flag = true;
  return false;
}

// Options that print and end; true if it was one.
static bool print_and_end(const char *argument) {
  if (strcmp(argument, "--help") == 0) fputs(usage, stdout);
  else if (strcmp(argument, "--version") == 0) puts("zb-opt " ZB_VERSION);
  else if (strcmp(argument, "--list-passes") == 0) list_passes();
  else if (strcmp(argument, "--irdl") == 0) fputs(zb_irdl_text(), stdout);
  else if (strcmp(argument, "--default-pipeline") == 0) puts(zb_default_pipeline());
  else return false;
  return true;
}

int main(int count, char **arguments) {
  signal(SIGXFSZ, SIG_IGN); // a file that grows past a limit is a failed write, not the end of the program
  static const char pipeline_flag[] = "--pass-pipeline=";
  zb_opt_params params = {.input = "-", .write = write_out, .context = stdout};
  char *pipeline = NULL;
  for (int i = 1; i < count; ++i) {
    const char *argument = arguments[i];
    if (print_and_end(argument)) return 0;
    if (strncmp(argument, pipeline_flag, strlen(pipeline_flag)) == 0) {
      params.pipeline = argument + strlen(pipeline_flag);
    } else if (strncmp(argument, "--zb-", 5) == 0) {
      pipeline = add_pass(pipeline, argument + 2);
      params.pipeline = pipeline;
    } else if (argument[0] == '-' && argument[1] && !set_flag(&params, argument)) {
      char nearest[64];
      fprintf(stderr, "zb-opt: Unknown command line argument '%s'. Try: 'zb-opt --help'\n", argument);
      if (zb_nearest_option(usage, argument, nearest)) fprintf(stderr, "zb-opt: Did you mean '%s'?\n", nearest);
      return 2;
    } else if (argument[0] != '-' || !argument[1]) {
      params.input = argument;
    }
  }
  zb_status status = zb_opt(&params);
  fflush(stdout);
  free(pipeline);
  if (!status) return 0;
  return params.verify_diagnostics || zb_status_code(status) != ZB_INVALID ? fail(status) : (zb_status_free(status), 1);
}
