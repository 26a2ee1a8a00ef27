/* zb-opt: run passes on MLIR text, as mlir-opt does. Tests: test/passes, test/tools/zb-opt-options.test. */

#include "tools/memory.h"
#include "tools/command/options.h"
#include "zb/compiler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct command_line {
  zb_opt_params params;
  const char *input; /* NULL: standard input */
  const char *given; /* --pass-pipeline */
  char *passes;      /* of --zb-PASS, put together; freed by main */
  bool help, version, list_passes, irdl, default_pipeline;
} command_line;

static const option_row rows[] = {
#define ROW(option, kind, field, argument, help)                                                                       \
  {option, argument, help, OPTION_##kind, .offset = offsetof(command_line, field)},
#include "tools/command/zb-opt.def"
};
static zb_status take_input(void *settings, const char *word), take_pass(void *settings, const char *word);
static const options_table table = {TOOL_ZB_OPT, rows, sizeof rows / sizeof rows[0], 32, take_input, take_pass, NULL};

static void print_help(void) {
  printf("zb-opt " ZB_VERSION ": runs zbc's passes on MLIR text and prints the result\n\n"
         "usage: zb-opt [options] [--zb-PASS[=option=value,...]]... [FILE.mlir | -]\n\n");
  options_print(&table);
  printf("\nexamples:\n"
         "  zb-opt --zb-autodiff --zb-split-grad program.mlir\n"
         "  zb-opt --pass-pipeline='builtin.module(zb-partition{ranks=4},zb-classify)' split.mlir\n"
         "  zb-opt --irdl > zb.irdl.mlir && mlir-opt-22 --irdl-file=zb.irdl.mlir out.mlir\n"
         "\n"
         "exit status: 0 done, 1 the input is wrong, 2 the command line or the value of an option is wrong, 4 a file "
         "or memory\n");
}

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

/* Adds "zb-name{options}" to the pipeline text. */
static char *add_pass(char *pipeline, const char *argument) {
  size_t used = pipeline ? strlen(pipeline) : 0, length = strlen(argument);
  char *grown = realloc(pipeline, used + length + 8);
  if (!grown) return NULL;
  const char *equals = strchr(argument, '=');
  size_t name = equals ? (size_t)(equals - argument) : length;
  int wrote = snprintf(grown + used, length + 8, "%s%.*s%s%s%s", used ? "," : "", (int)name, argument,
                       equals ? "{" : "", equals ? equals + 1 : "", equals ? "}" : "");
  return wrote < 0 ? NULL : grown;
}

static const char pipeline_option[] = "--pass-pipeline=";

/* "--canonicalize" is no option, but zb-canonicalize is a pass. */
static zb_status unknown_option(const char *argument) {
  char name[64];
  if (strcmp(argument, "--pass-pipeline") == 0)
    return zb_status_hint(ZB_ERROR(USAGE, "unknown option '%s'", argument), "write --pass-pipeline='TEXT' as one word");
  snprintf(name, sizeof name, "zb-%s", argument + strspn(argument, "-"));
  for (int i = 0; i < zb_pass_count(); ++i)
    if (strcmp(zb_pass_info_at(i).name, name) == 0)
      return zb_status_hint(ZB_ERROR(USAGE, "unknown option '%s'", argument), "the pass is called --%s here", name);
  return tool_unknown_option(TOOL_ZB_OPT, argument);
}

static zb_status take_pass(void *settings, const char *word) {
  command_line *c = settings;
  if (strncmp(word, pipeline_option, strlen(pipeline_option)) == 0) {
    c->given = word + strlen(pipeline_option);
  } else if (strncmp(word, "--zb-", 5) == 0) {
    char *grown = add_pass(c->passes, word + 2);
    if (!grown) return ZB_OUT_OF_MEMORY();
    c->passes = grown;
  } else {
    return unknown_option(word);
  }
  if (!c->given || !c->passes) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "--pass-pipeline and --zb-PASS are both given"),
                        "write all passes in one of the two ways");
}

static zb_status take_input(void *settings, const char *word) {
  command_line *c = settings;
  if (c->input)
    return zb_status_hint(ZB_ERROR(USAGE, "two files are given: '%s' and '%s'", c->input, word), "one file at a time");
  c->input = word;
  return NULL;
}

/* Options that print and end; true if there was one. */
static bool print_and_end(const command_line *c) {
  if (c->help)
    print_help();
  else if (c->version)
    puts("zb-opt " ZB_VERSION);
  else if (c->list_passes)
    list_passes();
  else if (c->irdl)
    fputs(zb_irdl_text(), stdout);
  else if (c->default_pipeline)
    puts(zb_default_pipeline());
  else
    return false;
  return true;
}

int main(int count, char **arguments) {
  zb_end_without_memory("zb-opt");
  signal(SIGXFSZ, SIG_IGN); /* a file that grows past a limit is a failed write, not the end of the program */
  command_line c = {.params = {.input = "-", .write = write_out, .context = stdout}};
  zb_status status = options_parse(&table, count, arguments, &c);
  bool said = false; /* by diagnostics */
  if (!status && !print_and_end(&c)) {
    if (c.input) c.params.input = c.input;
    c.params.pipeline = c.given ? c.given : c.passes;
    status = zb_opt(&c.params);
    said = zb_status_code(status) == ZB_INVALID && !c.params.verify_diagnostics;
  }
  free(c.passes);
  status = zb_status_first((zb_status[]){status, tool_flush_output()}, 2);
  return tool_end(TOOL_ZB_OPT, said ? zb_status_set_told(status) : status);
}
