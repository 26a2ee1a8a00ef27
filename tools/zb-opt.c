/* zb-opt: run passes on MLIR text, as mlir-opt does. Tests: test/passes, test/tools/zb-opt-options.test. */

#include "tools/memory.h"
#include "tools/programs.h"
#include "zb/compiler.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an option does: FLAG sets one of zb_opt_params, PRINTED prints something and ends, TAKEN is read by take_option.
 */
typedef enum kind { FLAG, PRINTED, TAKEN } kind;
static const struct {
  const char *name, *argument, *help;
  kind kind;
  size_t offset; /* FLAG: of zb_opt_params */
} options[] = {
#define FIELD(field) offsetof(zb_opt_params, field)
#define ROW(option, kind, offset, argument, help) {option, argument, help, kind, offset},
#include "tools/zb-opt.def"
#undef FIELD
};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static void print_help(void) {
  printf("zb-opt " ZB_VERSION ": runs zbc's passes on MLIR text and prints the result\n\n"
         "usage: zb-opt [options] [--zb-PASS[=option=value,...]]... [FILE.mlir | -]\n\n");
  for (int i = 0; i < OPTION_COUNT; ++i) {
    char left[64];
    snprintf(left, sizeof left, "%s%s", options[i].name, options[i].argument);
    printf("  %-29s %s\n", left, options[i].help);
  }
  printf("\nexamples:\n"
         "  zb-opt --zb-autodiff --zb-split-grad model.mlir\n"
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

static int fail(zb_status status) {
  fprintf(stderr, "zb-opt: %s", zb_status_text(status));
  int code = zb_status_exit(status);
  zb_status_free(status);
  return code;
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

/* The flag of that name, or NULL; a value after '=' is not part of it. */
static bool *find_flag(zb_opt_params *params, const char *argument) {
  size_t length = strcspn(argument, "=");
  for (int i = 0; i < OPTION_COUNT; ++i)
    if (options[i].kind == FLAG && strlen(options[i].name) == length && strncmp(argument, options[i].name, length) == 0)
      return (bool *)((char *)params + options[i].offset);
  return NULL;
}

/* Options that print and end; true if it was one. */
static bool print_and_end(const char *argument) {
  if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
    print_help();
  else if (strcmp(argument, "--version") == 0)
    puts("zb-opt " ZB_VERSION);
  else if (strcmp(argument, "--list-passes") == 0)
    list_passes();
  else if (strcmp(argument, "--irdl") == 0)
    fputs(zb_irdl_text(), stdout);
  else if (strcmp(argument, "--default-pipeline") == 0)
    puts(zb_default_pipeline());
  else
    return false;
  return true;
}

static const char pipeline_option[] = "--pass-pipeline=";

typedef struct command_line {
  zb_opt_params params;
  const char *given; /* --pass-pipeline */
  char *passes;      /* of --zb-PASS, put together; freed by main */
} command_line;

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

static zb_status take_option(command_line *c, const char *argument) {
  bool *flag = find_flag(&c->params, argument);
  if (flag && strchr(argument, '='))
    return zb_status_hint(ZB_ERROR(USAGE, "%.*s takes no value, got '%s'", (int)strcspn(argument, "="), argument,
                                   strchr(argument, '=') + 1),
                          "write %.*s alone", (int)strcspn(argument, "="), argument);
  if (flag) {
    *flag = true;
  } else if (strncmp(argument, pipeline_option, strlen(pipeline_option)) == 0) {
    c->given = argument + strlen(pipeline_option);
  } else if (strncmp(argument, "--zb-", 5) == 0) {
    char *grown = add_pass(c->passes, argument + 2);
    if (!grown) return ZB_OUT_OF_MEMORY();
    c->passes = grown;
  } else {
    return unknown_option(argument);
  }
  if (!c->given || !c->passes) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "--pass-pipeline and --zb-PASS are both given"),
                        "write all passes in one of the two ways");
}

static zb_status parse(int count, char **arguments, command_line *c) {
  const char *input = NULL;
  for (int i = 1; i < count && arguments[i]; ++i) { /* the list ends with NULL, which sanitizers like to be told */
    const char *argument = arguments[i];
    if (argument[0] == '-' && argument[1]) {
      ZB_TRY(take_option(c, argument));
    } else if (input) {
      return zb_status_hint(ZB_ERROR(USAGE, "two files are given: '%s' and '%s'", input, argument),
                            "one file at a time");
    } else {
      input = argument;
    }
  }
  if (input) c->params.input = input;
  c->params.pipeline = c->given ? c->given : c->passes;
  return NULL;
}

static zb_status flush_output(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return NULL;
  return ZB_ERROR(IO, "cannot write to standard output: %s", strerror(errno));
}

int main(int count, char **arguments) {
  zb_end_without_memory("zb-opt");
  signal(SIGXFSZ, SIG_IGN); /* a file that grows past a limit is a failed write, not the end of the program */
  command_line c = {.params = {.input = "-", .write = write_out, .context = stdout}};
  for (int i = 1; i < count; ++i)
    if (print_and_end(arguments[i])) {
      zb_status written = flush_output();
      return written ? fail(written) : 0;
    }
  zb_status status = parse(count, arguments, &c);
  bool usage_error = status != NULL, checks = c.params.verify_diagnostics;
  if (!status) status = zb_opt(&c.params);
  zb_status written = flush_output();
  free(c.passes);
  if (!status) return written ? fail(written) : 0;
  zb_status_free(written);
  if (usage_error || checks || zb_status_code(status) != ZB_INVALID) return fail(status);
  zb_status_free(status);
  return 1; /* diagnostics have said it all */
}
