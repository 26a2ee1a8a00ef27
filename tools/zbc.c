// zbc: compiles a serialized training graph into a folder that zb-run trains.

#include "zb/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "zbc " ZB_VERSION ": compiles a training graph into a pipeline-parallel plan with zero-bubble schedules\n"
    "\n"
    "usage: zbc MODEL.onnx|MODEL.mlir -o DIR --ranks P --micro-batches M [options]\n"
    "\n"
    "  -o DIR                 folder for plan.zb, weights.safetensors, constants.safetensors\n"
    "  --ranks P              executors, one device each (default 1)\n"
    "  --micro-batches M      micro-batches a step (default 1)\n"
    "  --schedule NAME[:O=N]  zb-h1 (default), 1f1b, zb-v, search, ...; zb-sched --list shows all, with their options\n"
    "  --schedule FILE.csv    an order from outside (PyTorch's pipelining): ranks, chunks, placement, micro-batches come from it\n"
    "  --chunks V             virtual stages a rank (default: what the schedule is made for)\n"
    "  --placement NAME       plain, looped, v, wave, or the rank of every virtual stage like 0,1,1,0 (default: the schedule's own)\n"
    "  --memory-limit BYTES   a rank's memory, with K, M or G; --schedule search looks for the fastest order within it\n"
    "  --metric NAME          barrier (default) or stage: what search makes short, the whole step or the longest rank\n"
    "  --optimizer LINE       adamw:lr=1e-3,beta1=0.9,beta2=0.95,eps=1e-8,weight_decay=0.1 (default)\n"
    "                         sgd:lr=1e-2,momentum=0.9\n"
    "  --train GLOB           train these parameters (repeat for more); --freeze GLOB: leave these\n"
    "  --loss NAME            output to minimize (default: the only scalar one)\n"
    "  --cuts A,B,...         names of nodes or module paths after which a stage ends\n"
    "  --costs FILE           times that zb-run --profile or --calibrate measured, for cuts and schedule (default:\n"
    "                         a model that is the same on every machine)\n"
    "  --weights FILE         safetensors with the values of an .mlir model's parameters\n"
    "  --no-raise             keep GELU, RMSNorm and attention as the exporter took them apart\n"
    "  --csv F.csv            write the order of the plan, as PyTorch's pipelining reads it\n"
    "  --timeline F.svg|.json picture of the simulated step\n"
    "  --dump-ir DIR          the program after each pass\n"
    "  --json                 one object on standard output instead of the table\n"
    "  --help-passes, --help, --version\n"
    "\n"
    "examples:\n"
    "  zbc gpt2.onnx -o out/gpt2 --ranks 4 --micro-batches 8\n"
    "  zbc gpt2.onnx -o out/lora --ranks 2 --micro-batches 4 --freeze '*' --train '*lora*'\n"
    "\n"
    "exit status: 0 done, 1 the input is wrong, 2 the command line is wrong, 3 no plan keeps the limit, 4 a file or memory\n";

typedef struct options {
  zb_compile_params params;
  const char *train[256], *freeze[256];
  const char *timeline;
  bool json;
} options;

static int fail(zb_status status) {
  fputs(zb_status_text(status), stderr);
  int code = zb_status_exit(status);
  zb_status_free(status);
  return code;
}

static int bad_usage(const char *text, const char *argument) {
  fprintf(stderr, "zbc: error: %s '%s'\n", text, argument);
  char nearest[64];
  if (argument[0] == '-' && zb_nearest_option(usage, argument, nearest)) fprintf(stderr, "  hint: did you mean '%s'?\n", nearest);
  else fprintf(stderr, "  hint: zbc --help shows all options\n");
  return 2;
}

static bool parse_count(const char *text, int *out) {
  char *end = NULL;
  long value = strtol(text, &end, 10);
  *out = (int)value;
  return end != text && !*end && value >= 1 && value <= 1000000000;
}

static int bad_count(const char *name, const char *value) {
  char text[96];
  snprintf(text, sizeof text, "%s: expected a whole number of 1 or more, got", name);
  return bad_usage(text, value);
}

static bool parse_bytes(const char *text, uint64_t *out) {
  char *end = NULL;
  double value = strtod(text, &end);
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (end == text || !(value > 0) || value > 1e18 || (*end && (!shift || end[1]))) return false;
  *out = (uint64_t)(value * (double)(UINT64_C(1) << shift));
  return true;
}

// ---- The table after a compile ----

static const char *bytes_text(uint64_t bytes, char out[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return out;
}

static const char *time_text(double seconds, char out[32]) {
  if (seconds >= 1) snprintf(out, 32, "%.2f s", seconds);
  else if (seconds >= 1e-3) snprintf(out, 32, "%.2f ms", seconds * 1e3);
  else snprintf(out, 32, "%.1f us", seconds * 1e6);
  return out;
}

static void print_names(const char *what, char **names, int count) {
  printf("%s %d:", what, count);
  for (int i = 0; i < count; ++i) {
    if (count > 12 && i == 5) {
      printf(" ... (%d more)", count - 8);
      i = count - 3;
    }
    printf(" %s", names[i]);
  }
  printf("\n");
}

// "module.path (node)" cut to its end, which tells stages apart.
static const char *short_name(const char *name, char out[48]) {
  size_t length = strcspn(name, "(");
  while (length && name[length - 1] == ' ') --length;
  const char *begin = length > 40 ? name + length - 38 : name;
  snprintf(out, 48, "%s%.*s", length > 40 ? ".." : "", (int)(length > 40 ? 38 : length), begin);
  return out;
}

static void print_summary(const zb_compile_summary *s, const options *o) {
  char a[32], b[32], c[32], d[32], e[32], f[48], g[48];
  printf("%-5s %-4s %11s %9s %9s %9s %10s %10s %10s  %s\n", "stage", "rank", "parameters", "F", "B", "W", "keeps F-B", "F-W", "B-W", "from .. to");
  for (int i = 0; i < s->stages; ++i) {
    const zb_stage_summary *t = &s->stage[i];
    printf("%-5d %-4d %11llu %9s %9s %9s %10s %10s %10s  %s .. %s\n", i, t->rank, (unsigned long long)t->parameters, time_text(t->f_seconds, a),
           time_text(t->b_seconds, b), time_text(t->w_seconds, c), bytes_text(t->fb_bytes, d), bytes_text(t->fw_bytes, e),
           bytes_text(t->bw_bytes, (char[32]){0}), short_name(t->first, f), short_name(t->last, g));
  }
  printf("\n%-5s %12s %7s\n", "rank", "memory", "idle");
  for (int r = 0; r < s->ranks; ++r) printf("%-5d %12s %6.1f%%\n", r, bytes_text(s->rank[r].peak_bytes, a), 100 * s->rank[r].idle_share);
  printf("\n");
  print_names("trained", s->trained, s->trained_count);
  if (s->frozen_count) print_names("frozen", s->frozen, s->frozen_count);
  if (s->untrained_count) {
    print_names("constants that a gradient reaches, not trained", s->untrained, s->untrained_count);
    printf("  --train NAME trains them, --freeze NAME says that they stay\n");
  }
  printf("step %s by %s, lower bound %s, bubble %.2f%% (barrier) %.2f%% (stage)\n", time_text(s->step_seconds, a),
         o->params.costs ? "measured costs" : "the cost model",
         time_text(s->lower_bound_seconds, b), 100 * s->bubble_barrier, 100 * s->bubble_stage);
  printf("%d ops compiled in %s%s%s\n", s->ops, time_text(s->compile_seconds, a), o->params.output ? " to " : "", o->params.output ? o->params.output : "");
}

static void print_json_names(const char *name, char **names, int count) {
  printf(",\"%s\":[", name);
  for (int i = 0; i < count; ++i) {
    printf("%s\"", i ? "," : "");
    for (const char *at = names[i]; *at; ++at) {
      if (*at == '"' || *at == '\\') printf("\\%c", *at);
      else if ((unsigned char)*at < 0x20) printf("\\u%04x", *at);
      else putchar(*at);
    }
    printf("\"");
  }
  printf("]");
}

static void print_json(const zb_compile_summary *s) {
  printf("{\"ranks\":%d,\"stages\":[", s->ranks);
  for (int i = 0; i < s->stages; ++i) {
    const zb_stage_summary *t = &s->stage[i];
    printf("%s{\"stage\":%d,\"rank\":%d,\"chunk\":%d,\"ops\":%d,\"parameters\":%llu,\"parameter_bytes\":%llu,\"f_seconds\":%.12g,"
           "\"b_seconds\":%.12g,\"w_seconds\":%.12g,\"f_product_flops\":%.17g,\"b_product_flops\":%.17g,\"w_product_flops\":%.17g,"
           "\"fb_bytes\":%llu,\"fw_bytes\":%llu,\"bw_bytes\":%llu}",
           i ? "," : "", i, t->rank, t->chunk, t->ops, (unsigned long long)t->parameters, (unsigned long long)t->parameter_bytes, t->f_seconds, t->b_seconds,
           t->w_seconds, t->f_product_flops, t->b_product_flops, t->w_product_flops, (unsigned long long)t->fb_bytes, (unsigned long long)t->fw_bytes,
           (unsigned long long)t->bw_bytes);
  }
  printf("],\"memory\":[");
  for (int r = 0; r < s->ranks; ++r) printf("%s%llu", r ? "," : "", (unsigned long long)s->rank[r].peak_bytes);
  printf("],\"idle\":[");
  for (int r = 0; r < s->ranks; ++r) printf("%s%.6g", r ? "," : "", s->rank[r].idle_share);
  printf("],\"step_seconds\":%.12g,\"lower_bound\":%.12g,\"bubble\":{\"barrier\":%.6g,\"stage\":%.6g},\"compile_seconds\":%.6g,\"ops\":%d", s->step_seconds,
         s->lower_bound_seconds, s->bubble_barrier, s->bubble_stage, s->compile_seconds, s->ops);
  print_json_names("trained", s->trained, s->trained_count);
  print_json_names("frozen", s->frozen, s->frozen_count);
  print_json_names("untrained", s->untrained, s->untrained_count);
  printf("}\n");
}

// ---- The command line ----

static int help_passes(void) {
  for (int i = 0; i < zb_pass_count(); ++i) printf("%-18s %s\n", zb_pass_info_at(i).name, zb_pass_info_at(i).summary);
  printf("\n%s\n", zb_default_pipeline());
  return 0;
}

// Options with a value. 0: taken; else the exit status.
static int take_value(options *o, const char *name, const char *value) {
  zb_compile_params *p = &o->params;
  const struct {
    const char *name;
    const char **text;
    int *number;
  } table[] = {
      {"-o", &p->output, NULL}, {"--ranks", NULL, &p->ranks}, {"--micro-batches", NULL, &p->micro_batches}, {"--chunks", NULL, &p->chunks},
      {"--schedule", &p->schedule, NULL}, {"--placement", &p->placement, NULL}, {"--optimizer", &p->optimizer, NULL}, {"--loss", &p->loss, NULL},
      {"--cuts", &p->cuts, NULL}, {"--costs", &p->costs, NULL}, {"--weights", &p->weights, NULL}, {"--timeline", &o->timeline, NULL},
      {"--dump-ir", &p->dump_directory, NULL},
      {"--pass-pipeline", &p->pipeline, NULL}, {"--metric", &p->metric, NULL}, {"--csv", &p->csv, NULL},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
    if (strcmp(name, table[i].name) != 0) continue;
    if (table[i].text) *table[i].text = value;
    else if (!parse_count(value, table[i].number)) return bad_count(name, value);
    return 0;
  }
  if (strcmp(name, "--memory-limit") == 0) return parse_bytes(value, &p->memory_limit) ? 0 : bad_usage("expected bytes with K, M or G, got", value);
  if (strcmp(name, "--train") == 0 && p->train_count < 256) return o->train[p->train_count++] = value, 0;
  if (strcmp(name, "--freeze") == 0 && p->freeze_count < 256) return o->freeze[p->freeze_count++] = value, 0;
  return bad_usage("unknown option", name);
}

static bool takes_no_value(options *o, const char *argument) {
  if (strcmp(argument, "--json") == 0) return o->json = true;
  if (strcmp(argument, "--no-raise") == 0) return o->params.no_raise = true;
  return false;
}

// -1: go on; else the exit status.
static int parse(int count, char **arguments, options *o) {
  for (int i = 1; i < count; ++i) {
    char *argument = arguments[i];
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) return fputs(usage, stdout), 0;
    if (strcmp(argument, "--version") == 0) return puts("zbc " ZB_VERSION), 0;
    if (strcmp(argument, "--help-passes") == 0) return help_passes();
    if (argument[0] != '-') {
      if (o->params.model) return bad_usage("one model at a time, got also", argument);
      o->params.model = argument;
      continue;
    }
    if (takes_no_value(o, argument)) continue;
    char *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
    if (equals) *equals = '\0';
    const char *value = equals ? equals + 1 : i + 1 < count ? arguments[++i] : NULL;
    if (!value) {
      int known = take_value(o, argument, "1");
      return known ? known : bad_usage("missing value after", argument);
    }
    int code = take_value(o, argument, value);
    if (code) return code;
  }
  if (!o->params.model) return bad_usage("no model given:", "MODEL.onnx");
  if (!o->params.output && !o->timeline) return bad_usage("no folder given:", "-o");
  return -1;
}

int main(int count, char **arguments) {
  options o = {.params = ZB_COMPILE_PARAMS_INIT};
  int code = parse(count, arguments, &o);
  if (code >= 0) return code;
  o.params.train = o.train;
  o.params.freeze = o.freeze;
  zb_compile_summary *summary = NULL;
  zb_status status = zb_compile(&o.params, &summary);
  if (status && zb_status_code(status) == ZB_INVALID && !zb_status_hint_text(status) && strstr(zb_status_message(status), " failed"))
    return zb_status_free(status), 1; // diagnostics have said it all
  if (status) return fail(status);
  if (o.json) print_json(summary);
  else print_summary(summary, &o);
  zb_compile_summary_destroy(summary);
  if (o.timeline && o.params.output) status = zb_plan_timeline_file(o.params.output, o.timeline);
  return status ? fail(status) : 0;
}
