/* zbc: compiles a serialized training graph into a folder that zb-run trains. Only the public API.
 * Tests: test/tools/zbc-*.test, test/e2e/bad_input.py. */

#include "tools/memory.h"
#include "tools/searching.h"
#include "tools/command/options.h"
#include "tools/command/outputs.h"
#include "zb/compiler.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
  zb_compile_params params;
  bool json, list_operators, list_unsupported, help_passes, help, version;
} options;

/* ---- Help ---- */

/* What there is to choose from. */
static void print_choices(const option_row *row, int column) {
  for (int i = 0; row->offset == offsetof(options, params.optimizer) && zb_optimizer_name(i); ++i) {
    char *line = NULL;
    zb_status_free(
        zb_optimizer_complete(zb_optimizer_name(i), &line)); /* a name is a good line; out of memory prints none */
    if (line) printf("%*s%s%s\n", column, "", line, i == 0 ? " (default)" : "");
    zb_free(line);
  }
  for (int i = 0; row->offset == offsetof(options, params.precision) && zb_precision_name(i); ++i)
    printf("%*s%-6s %s%s\n", column, "", zb_precision_name(i), zb_precision_help(i), i == 0 ? " (default)" : "");
}

#define PARAM(ID, field) .kind = OPTION_##ID, .offset = offsetof(options, params.field)
#define ROW_TEXT(field) PARAM(TEXT, field)
#define ROW_IN(field) PARAM(IN, field)
#define ROW_OUT(field, endings) PARAM(OUT, field)
#define ROW_FLAG(field) PARAM(FLAG, field)
#define ROW_COUNT(field, most, hint) PARAM(COUNT, field)
#define ROW_BYTES(field) PARAM(BYTES, field)
#define ROW_LIST(field, count) PARAM(LIST, field), .second = offsetof(options, params.count)
#define ROW_GROUPS(field, most, hint, inner) PARAM(GROUPS, field), .second = offsetof(options, params.inner)
#define ROW_OWN(field) .kind = OPTION_FLAG, .offset = offsetof(options, field)
#define HELP(help, ...) help
static const option_row rows[] = {
#define ROW(option, kind, argument, ...) {option, argument, HELP(__VA_ARGS__, ), ROW_##kind},
#include "tools/command/zbc.def"
};
enum { ROWS = sizeof rows / sizeof rows[0] };
static zb_status take_model(void *settings, const char *word);
static const options_table table = {TOOL_ZBC, rows, ROWS, .column = 26, .word = take_model, .more = print_choices};

static void print_help(void) {
  printf("zbc " ZB_VERSION ": compiles a training graph into a pipeline-parallel plan with zero-bubble schedules\n\n"
         "usage: zbc MODEL.onnx|MODEL.mlir -o DIR --ranks P --micro-batches M [options]\n\n");
  options_print(&table);
  printf("\nexamples:\n"
         "  zbc gpt2.onnx -o out/gpt2 --ranks 4 --micro-batches 8\n"
         "  zbc gpt2.onnx -o out/lora --ranks 2 --micro-batches 4 --freeze '*' --train '*lora*'\n"
         "\nexit status: 0 done, 1 the input is wrong, 2 the command line is wrong, 3 no plan keeps the limit, 4 a "
         "file or memory,\n"
         "             70 a bug of zbc\nCtrl-C during a search ends it: the best plan so far is compiled, and the "
         "status is 0\n");
}

static void print_passes(void) {
  for (int i = 0; i < zb_pass_count(); ++i)
    printf("%-18s %s\n", zb_pass_info_at(i).name, zb_pass_info_at(i).summary);
  printf("\n%s\n", zb_default_pipeline());
}

static zb_status print_operators(bool supported) {
  char *page = zb_operators_page(supported);
  if (!page) return ZB_OUT_OF_MEMORY();
  fputs(page, stdout);
  zb_free(page);
  return NULL;
}

/* ---- The table after a compile ---- */

/* A name from the model, safe for a terminal. */
static void print_name(const char *before, const char *name) {
  char *shown = zb_shown(name);
  printf("%s%s", before, shown ? shown : "(out of memory)");
  zb_free(shown);
}

static void print_names(const char *what, char **names, int count) {
  printf("%s %d:", what, count);
  for (int i = 0; i < count; ++i) {
    if (count > 6 && i == 2) { /* a line; --json has them all */
      printf(" ... (%d more)", count - 3);
      i = count - 1;
    }
    print_name(" ", names[i]);
  }
  printf("\n");
}

/* "module.path (node)" cut to its end, which tells stages apart. */
static const char *short_name(const char *name, char out[48]) {
  size_t length = strcspn(name, "(");
  while (length && name[length - 1] == ' ')
    --length;
  const char *begin = length > 40 ? name + length - 38 : name;
  snprintf(out, 48, "%s%.*s", length > 40 ? ".." : "", (int)(length > 40 ? 38 : length), begin);
  return out;
}

/* Where initial values come from, if not from the model. */
static void print_values(const zb_compile_summary *s) {
  if (s->drawn) printf("initial values of %d parameters drawn at random: --weights FILE gives them\n", s->drawn);
  if (s->later) printf("%d parameters and buffers have no values yet: zb-run --weights PATH gives them\n", s->later);
}

static void print_empty_stages(const zb_compile_summary *s) {
  int empty = 0;
  for (int i = 0; i < s->stages; ++i)
    empty += !s->stage[i].ops;
  if (empty)
    printf("%d of %d stages have no work: the model has too few places to cut; give %s\n", empty, s->stages,
           s->stages > s->ranks ? "fewer --chunks or --ranks" : "fewer --ranks");
}

/* Which gradients of parameters are in B, where --split put some there, and what that costs. */
static void print_split(const zb_compile_summary *s) {
  char seconds[32], bytes[32];
  int all = 0, in_b = 0;
  for (int i = 0; i < s->stages; ++i) {
    all += s->stage[i].gradients;
    in_b += s->stage[i].gradients_in_b;
  }
  if (!in_b && s->split_seconds <= 0) return;
  printf("split: %d of %d gradients of parameters are in B", in_b, all);
  for (int i = 0; i < s->stages && in_b; ++i)
    printf("%s%d", i ? " " : ", by stage: ", s->stage[i].gradients_in_b);
  printf("\n");
  if (s->split_seconds <= 0 || !in_b) return;
  printf("  with all in W the step is %s, the fullest rank %s", zb_time_text(s->split_seconds, seconds),
         zb_bytes_text(s->split_bytes, bytes));
  if (s->split_proven)
    printf("; proven: with no others in B that keep the memory is this order faster");
  else if (s->split_bound_seconds > 0)
    printf("; with any others in B that keep the memory this order takes %s or more",
           zb_time_text(s->split_bound_seconds, seconds));
  printf("\n");
}

static double longest_rank(const zb_compile_summary *s, double *out_mean) {
  double longest = 0;
  *out_mean = 0;
  for (int r = 0; r < s->ranks; ++r) {
    if (s->rank[r].seconds > longest) longest = s->rank[r].seconds;
    *out_mean += s->rank[r].seconds / s->ranks;
  }
  return longest;
}

/* What other cuts than those by cost gained. */
static void print_trials(const zb_compile_summary *s) {
  char seconds[32];
  if (!s->cuts_tried) return;
  printf("cuts, placement, order, split and recompute searched together, %d cuts tried; with those by cost alone ",
         s->cuts_tried);
  if (isinf(s->first_cuts_seconds))
    printf("no plan keeps the limit\n");
  else
    printf("the step is %s\n", zb_time_text(s->first_cuts_seconds, seconds));
  printf("  to compile the same again without a search: --choice F, with the file that --choice-out F writes\n");
}

/* How even ranks are, and whether other cuts could make them more so. */
static void print_balance(const zb_compile_summary *s) {
  char bound[32];
  double mean;
  const double longest = longest_rank(s, &mean);
  if (s->ranks == 1 || mean <= 0) return;
  printf("the longest rank takes %.4f of the mean", longest / mean);
  if (s->rank_bound_seconds > mean * 1.0001)
    printf("; by the costs of ops no cuts that give all stages work come below %s",
           zb_time_text(s->rank_bound_seconds, bound));
  printf("\n");
}

/* How much of the forward pass runs again, where --recompute says so, and what that costs. */
static void print_recompute(const zb_compile_summary *s) {
  char seconds[32], bytes[32];
  int all = 0, again = 0;
  uint64_t kept = 0, received = 0;
  for (int i = 0; i < s->stages; ++i) {
    all += s->stage[i].ops;
    again += s->stage[i].recomputed;
    kept += s->stage[i].fb_bytes + s->stage[i].fw_bytes;
    received += s->stage[i].received_bytes;
  }
  if (!again && s->recompute_seconds <= 0) return;
  printf("recompute: %d of %d ops of the forward pass run again", again, all);
  for (int i = 0; i < s->stages && again; ++i)
    printf("%s%d", i ? " " : ", by stage: ", s->stage[i].recomputed);
  printf("\n");
  if (again)
    printf("  of a micro-batch stages keep %s from F on; %s come from other stages and cannot be computed again\n",
           zb_bytes_text(kept, bytes), zb_bytes_text(received, seconds));
  if (s->recompute_seconds > 0 && again)
    printf("  with none the step is %s, the fullest rank %s\n", zb_time_text(s->recompute_seconds, seconds),
           zb_bytes_text(s->recompute_bytes, bytes));
}

static void print_ranks(const zb_compile_summary *s, const char *what) {
  char a[32], b[32];
  printf("\n%-5s %11s %12s %7s\n", "rank", what, "memory", "idle");
  for (int r = 0; r < s->ranks; ++r)
    printf("%-5d %11s %12s %6.1f%%\n", r, zb_time_text(s->rank[r].seconds, b), zb_bytes_text(s->rank[r].peak_bytes, a),
           100 * s->rank[r].idle_share);
}

/* A name with '*' in the place of the numbers of layers, in out: "h.*.attn.c_attn.weight". */
static const char *without_numbers(const char *name, char *out, size_t bytes) {
  size_t at = 0;
  for (const char *from = name; *from && at + 2 < bytes;) {
    const size_t digits = strspn(from, "0123456789");
    const bool begins = from == name || strchr(".(", from[-1]), ends = from[digits] == '.' || from[digits] == '\0';
    if (digits && begins && ends) {
      out[at++] = '*';
      from += digits;
    } else {
      out[at++] = *from++;
    }
  }
  out[at] = '\0';
  return out;
}

typedef struct whole_name {
  char text[300]; /* without the numbers of layers */
  int index;
} whole_name;

static int by_text(const void *a, const void *b) {
  const whole_name *x = a, *y = b;
  const int order = strcmp(x->text, y->text);
  return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Parameters that shards have whole, those of all layers in one line. */
static void print_whole(const zb_compile_summary *s) {
  char text[300], why[400];
  const size_t count = (size_t)s->whole_count;
  whole_name *names = count ? malloc(count * sizeof *names) : NULL;
  int *alike = count ? calloc(count, sizeof *alike) : NULL; /* of the first of each text: how many have it */
  for (size_t i = 0; names && i < count; ++i) {
    without_numbers(s->whole[i].name, names[i].text, sizeof names[i].text);
    names[i].index = (int)i;
  }
  if (names) qsort(names, count, sizeof *names, by_text);
  for (size_t i = 0, first = 0; names && alike && i < count; ++i) {
    if (strcmp(names[i].text, names[first].text) != 0) first = i;
    ++alike[names[first].index];
  }
  for (size_t i = 0; alike && i < count; ++i) {
    if (alike[i] == 1) printf("whole on every shard: %s: %s\n", s->whole[i].name, s->whole[i].why);
    if (alike[i] <= 1) continue;
    without_numbers(s->whole[i].name, text, sizeof text);
    printf("whole on every shard: %s (%d): %s\n", text, alike[i], without_numbers(s->whole[i].why, why, sizeof why));
  }
  free(names);
  free(alike);
}

/* What has no step. */
static void print_inference(const zb_compile_summary *s, const options *o) {
  char a[32], b[48], c[48];
  printf("%-5s %-4s %11s %9s  %s\n", "stage", "rank", "parameters", "E", "from .. to");
  for (int i = 0; i < s->stages; ++i) {
    const zb_stage_summary *t = &s->stage[i];
    printf("%-5d %-4d %11llu %9s", i, t->rank, (unsigned long long)t->parameters, zb_time_text(t->f_seconds, a));
    print_name("  ", short_name(t->first, b));
    print_name(" .. ", short_name(t->last, c));
    printf("\n");
  }
  print_ranks(s, "E");
  printf("\nfor inference: no loss, nothing is trained; zb-run --eval DATA --output NAME:FILE.npy gives outputs\n");
  print_whole(s);
  print_values(s);
  printf("batch %s by %s\n", zb_time_text(s->step_seconds, a), o->params.costs ? "measured costs" : "the cost model");
  printf("%d ops compiled in %s%s%s\n", s->ops, zb_time_text(s->compile_seconds, a), o->params.output ? " to " : "",
         o->params.output ? o->params.output : "");
}

static void print_json_whole(const zb_compile_summary *s) {
  printf(",\"whole\":[");
  for (int i = 0; i < s->whole_count; ++i) {
    printf("%s{\"name\":", i ? "," : "");
    tool_print_json_text(s->whole[i].name);
    printf(",\"why\":");
    tool_print_json_text(s->whole[i].why);
    printf("}");
  }
  printf("]");
}

/* Of gradients that replicas have parts of. */
static void print_sums(const zb_compile_summary *s, const options *o) {
  for (int r = 0; r < s->ranks; ++r) {
    const zb_rank_summary *rank = &s->rank[r];
    if (!rank->kept_sum_bytes) continue;
    const unsigned long long all = rank->sum_bytes, kept = rank->kept_sum_bytes, room = rank->landing_bytes;
    if (strstr(o->params.sharding, ":step"))
      printf("rank %d: %llu bytes of gradients until they are summed over replicas, then %llu; they land in %llu bytes,"
             "\n  added up at the end of the step they would in %llu\n",
             r, all, kept, room, (unsigned long long)rank->all_landing_bytes);
    else
      printf(
          "rank %d: %llu bytes of gradients, 1/%d and padding; those of a micro-batch take up to %llu until they are\n"
          "  summed over replicas, and land in %llu\n",
          r, kept, o->params.data_parallel, all, room);
  }
}

/* Where padding weighs in a mean, users of other frameworks expect one or the other. */
static void print_loss_mean(const zb_compile_summary *s, const options *o) {
  if (!s->loss_mean) return;
  printf("the loss is %s", s->loss_mean);
  printf(o->params.loss_mean ? "\n" : "\n  (--loss-mean targets: all targets of a step count alike)\n");
}

static void print_summary(const zb_compile_summary *s, const options *o) {
  char a[32], b[32], c[32], d[32], e[32], f[48], g[48];
  printf("%-5s %-4s %11s %9s %9s %9s %10s %10s %10s  %s\n", "stage", "rank", "parameters", "F", "B", "W", "keeps F-B",
         "F-W", "B-W", "from .. to");
  for (int i = 0; i < s->stages; ++i) {
    const zb_stage_summary *t = &s->stage[i];
    printf("%-5d %-4d %11llu %9s %9s %9s %10s %10s %10s", i, t->rank, (unsigned long long)t->parameters,
           zb_time_text(t->f_seconds, a), zb_time_text(t->b_seconds, b), zb_time_text(t->w_seconds, c),
           zb_bytes_text(t->fb_bytes, d), zb_bytes_text(t->fw_bytes, e), zb_bytes_text(t->bw_bytes, (char[32]){0}));
    print_name("  ", short_name(t->first, f));
    print_name(" .. ", short_name(t->last, g));
    printf("\n");
  }
  print_ranks(s, "F+B+W");
  print_balance(s);
  printf("\n");
  for (int r = 0; r < s->ranks; ++r)
    if (s->rank[r].evaluation_bytes)
      printf("rank %d: %s of its memory are needed by evaluations alone\n", r,
             zb_bytes_text(s->rank[r].evaluation_bytes, a));
  for (int r = 0; r < s->ranks; ++r)
    if (s->rank[r].snapshot_bytes)
      printf("rank %d: %s of its memory are what post-validation takes a step back with\n", r,
             zb_bytes_text(s->rank[r].snapshot_bytes, a));
  for (int r = 0; r < s->ranks; ++r)
    if (s->rank[r].whole_state_bytes)
      printf("rank %d: %llu bytes of optimizer state, 1/%d of %llu and padding\n", r,
             (unsigned long long)s->rank[r].state_bytes, o->params.data_parallel,
             (unsigned long long)s->rank[r].whole_state_bytes);
  print_sums(s, o);
  for (int r = 0; r < s->ranks; ++r)
    if (s->rank[r].part_bytes)
      printf(
          "rank %d: %llu bytes of parameters, 1/%d of %llu and padding; those that a job reads are gathered in %llu\n",
          r, (unsigned long long)s->rank[r].part_bytes, o->params.data_parallel,
          (unsigned long long)s->rank[r].whole_part_bytes, (unsigned long long)s->rank[r].gathered_bytes);
  print_empty_stages(s);
  print_recompute(s);
  print_split(s);
  print_trials(s);
  print_names("trained", s->trained, s->trained_count);
  if (s->frozen_count) print_names("frozen", s->frozen, s->frozen_count);
  if (s->buffer_count) print_names("buffers", s->buffers, s->buffer_count);
  print_loss_mean(s, o);
  print_whole(s);
  print_values(s);
  if (s->uncompared)
    printf("warning: not compared: whether this trains as the model that it was exported from is not known\n");
  if (s->unreached_count)
    print_names("parameters that no gradient of the loss reaches, not trained", s->unreached, s->unreached_count);
  if (s->untrained_count) {
    print_names("constants that a gradient reaches, not trained", s->untrained, s->untrained_count);
    printf("  --train NAME trains them, --freeze NAME says that they stay\n");
  }
  printf("step %s by %s, lower bound %s, bubble %.2f%% (barrier) %.2f%% (stage)\n", zb_time_text(s->step_seconds, a),
         o->params.costs ? "measured costs" : "the cost model", zb_time_text(s->lower_bound_seconds, b),
         100 * s->bubble_barrier, 100 * s->bubble_stage);
  if (o->params.data_parallel > 1)
    printf("sums over %d replicas: ranks wait for them up to %s behind their last job, %s if all came there\n",
           o->params.data_parallel, zb_time_text(s->exposed_seconds, a), zb_time_text(s->exposed_at_end, b));
  if (s->shard_sums_seconds > 0)
    printf("sums over %d shards take %s of it, W runs for %s meanwhile, means of ranks: %.0f%% are hidden\n",
           o->params.tensor_parallel, zb_time_text(s->shard_sums_seconds, a),
           zb_time_text(s->shard_sums_hidden_seconds, b), 100 * s->shard_sums_hidden_seconds / s->shard_sums_seconds);
  printf("period %s%s, bubble %.2f%% (period): a step of many that follow each other without a barrier\n",
         s->period_exact ? "" : "about ", zb_time_text(s->period_seconds, a), 100 * s->bubble_period);
  printf("%d ops compiled in %s%s%s\n", s->ops, zb_time_text(s->compile_seconds, a), o->params.output ? " to " : "",
         o->params.output ? o->params.output : "");
}

static void print_json_names(const char *name, char **names, int count) {
  printf(",\"%s\":[", name);
  for (int i = 0; i < count; ++i) {
    if (i) putchar(',');
    tool_print_json_text(names[i]);
  }
  printf("]");
}

/* What a search fixed; nothing where it is as it was given. */
static void print_json_choice(const char *key, const char *text) {
  if (!text) return;
  printf(",\"%s\":", key);
  tool_print_json_text(text);
}

/* Where each layer begins; the last stage is another one where a cut goes through the layer. */
static void print_json_layers(const zb_compile_summary *s) {
  printf(",\"layers\":[");
  for (int i = 0; i < s->layers; ++i) {
    const zb_layer_summary *layer = &s->layer[i];
    const zb_stage_summary *stage = &s->stage[layer->first_stage];
    printf("%s{\"layer\":%d,\"path\":", i ? "," : "", i);
    tool_print_json_text(layer->path);
    printf(",\"rank\":%d,\"stage\":%d,\"chunk\":%d,\"last_stage\":%d}", stage->rank, layer->first_stage, stage->chunk,
           layer->last_stage);
  }
  printf("]");
}

/* A list of bytes, one a rank. */
static void print_json_bytes(const zb_compile_summary *s, const char *key, size_t field) {
  printf(",\"%s\":", key);
  for (int r = 0; r < s->ranks; ++r)
    printf("%c%llu", r ? ',' : '[', (unsigned long long)*(const uint64_t *)((const char *)&s->rank[r] + field));
  printf("]");
}

static void print_json_stages(const zb_compile_summary *s) {
  for (int i = 0; i < s->stages; ++i) {
    const zb_stage_summary *t = &s->stage[i];
    printf("%s{\"stage\":%d,\"rank\":%d,\"chunk\":%d,\"ops\":%d,\"parameters\":%llu,\"parameter_bytes\":%llu,\"f_"
           "seconds\":%.12g,"
           "\"b_seconds\":%.12g,\"w_seconds\":%.12g,\"f_product_flops\":%.17g,\"b_product_flops\":%.17g,\"w_product_"
           "flops\":%.17g,"
           "\"fb_bytes\":%llu,\"fw_bytes\":%llu,\"bw_bytes\":%llu,"
           "\"received_bytes\":%llu,\"recomputed\":%d,\"gradients\":%d,\"gradients_in_b\":%d}",
           i ? "," : "", i, t->rank, t->chunk, t->ops, (unsigned long long)t->parameters,
           (unsigned long long)t->parameter_bytes, t->f_seconds, t->b_seconds, t->w_seconds, t->f_product_flops,
           t->b_product_flops, t->w_product_flops, (unsigned long long)t->fb_bytes, (unsigned long long)t->fw_bytes,
           (unsigned long long)t->bw_bytes, (unsigned long long)t->received_bytes, t->recomputed, t->gradients,
           t->gradients_in_b);
  }
}

static void print_json(const zb_compile_summary *s) {
  printf("{\"ranks\":%d,\"inference\":%s,\"stages\":[", s->ranks, s->inference ? "true" : "false");
  print_json_stages(s);
  printf("]");
  print_json_layers(s);
#define BYTES(key, field) print_json_bytes(s, key, offsetof(zb_rank_summary, field))
  BYTES("memory", peak_bytes);
  BYTES("evaluation_memory", evaluation_bytes);
  BYTES("snapshot_memory", snapshot_bytes);
  BYTES("state_bytes", state_bytes);
  BYTES("gradient_bytes", sum_bytes);
  BYTES("kept_gradient_bytes", kept_sum_bytes);
  BYTES("landing_bytes", landing_bytes);
  BYTES("all_landing_bytes", all_landing_bytes);
  BYTES("part_bytes", part_bytes);
  BYTES("gathered_bytes", gathered_bytes);
  printf(",\"idle\":[");
  for (int r = 0; r < s->ranks; ++r)
    printf("%s%.6g", r ? "," : "", s->rank[r].idle_share);
  printf("],\"rank_seconds\":[");
  for (int r = 0; r < s->ranks; ++r)
    printf("%s%.12g", r ? "," : "", s->rank[r].seconds);
  printf("],\"rank_bound_seconds\":%.12g", s->rank_bound_seconds);
  if (s->recompute_seconds > 0)
    printf(",\"recompute\":{\"none_step_seconds\":%.12g,\"none_memory\":%llu}", s->recompute_seconds,
           (unsigned long long)s->recompute_bytes);
  if (s->split_seconds > 0)
    printf(",\"split\":{\"all_step_seconds\":%.12g,\"all_memory\":%llu,\"bound_seconds\":%.12g,\"proven\":%s}",
           s->split_seconds, (unsigned long long)s->split_bytes, s->split_bound_seconds,
           s->split_proven ? "true" : "false");
  if (s->cuts_tried) {
    printf(",\"joint\":{\"cuts_tried\":%d,\"first_step_seconds\":", s->cuts_tried);
    printf(isinf(s->first_cuts_seconds) ? "null" : "%.12g", s->first_cuts_seconds);
    printf(",\"placement\":\"%s\",\"chunks\":%d", s->placement, s->stages / s->ranks);
    printf("}");
  }
  printf(",\"step_seconds\":%.12g,\"stage_seconds\":%.12g,\"lower_bound\":%.12g", s->step_seconds, s->stage_seconds,
         s->lower_bound_seconds);
  printf(",\"bubble\":{\"barrier\":%.6g,\"stage\":%.6g,\"period\":%.6g}", s->bubble_barrier, s->bubble_stage,
         s->bubble_period);
  printf(",\"exposed\":{\"seconds\":%.12g,\"by_schedule\":%.12g,\"at_end\":%.12g}", s->exposed_seconds,
         s->exposed_by_schedule, s->exposed_at_end);
  printf(",\"shard_sums\":{\"seconds\":%.12g,\"hidden\":%.12g}", s->shard_sums_seconds, s->shard_sums_hidden_seconds);
  printf(",\"period\":{\"seconds\":%.12g,\"cycle_ps\":%lld,\"steps\":%d,\"exact\":%s}", s->period_seconds,
         (long long)s->period_cycle_ps, s->period_steps, s->period_exact ? "true" : "false");
  printf(",\"compile_seconds\":%.6g,\"ops\":%d", s->compile_seconds, s->ops);
  print_json_names("trained", s->trained, s->trained_count);
  print_json_names("frozen", s->frozen, s->frozen_count);
  print_json_names("buffers", s->buffers, s->buffer_count);
  print_json_names("untrained", s->untrained, s->untrained_count);
  print_json_names("unreached", s->unreached, s->unreached_count);
  if (s->loss_mean) {
    printf(",\"loss_mean\":");
    tool_print_json_text(s->loss_mean);
  }
  print_json_whole(s);
  print_json_choice("choice", s->choice);
  printf(",\"drawn\":%d,\"later\":%d,\"uncompared\":%s", s->drawn, s->later, s->uncompared ? "true" : "false");
  printf(",\"stopped\":%s}\n", s->stopped ? "true" : "false");
}

/* ---- The command line ---- */

static zb_status take_model(void *settings, const char *word) {
  options *out = settings;
  const char *model = out->params.model;
  if (strcmp(word, "-") == 0) return tool_unknown_option(TOOL_ZBC, word);
  out->params.model = word;
  if (!model) return NULL;
  if (!out->params.output && !strchr(word, '.'))
    return zb_status_hint(ZB_ERROR(USAGE, "'%s' is no model: '%s' is given", word, model),
                          "a folder to write to stands behind -o: -o %s", word);
  return zb_status_hint(ZB_ERROR(USAGE, "two models are given: '%s' and '%s'", model, word), "one model at a time");
}

/* What is written must not be what is read, or what else is written. -o keeps what others put into the folder. */
static zb_status check_files(const options *o) {
  static const char *const names[] = {"plan.zb", "weights.safetensors", "constants.safetensors"};
  enum { NAMES = sizeof names / sizeof names[0] };
  char paths[NAMES][PATH_MAX];
  output_place outputs[ROWS + NAMES] = {{"-o", o->params.import_only ? o->params.output : NULL, false}};
  input_place inputs[ROWS] = {{"the model", o->params.model}};
  int written = 1, read = 1;
  for (int i = 0; i < ROWS; ++i) {
    const char *const *text = (const void *)((const char *)o + rows[i].offset);
    if (rows[i].kind == OPTION_OUT) outputs[written++] = (output_place){rows[i].option, *text, false};
    if (rows[i].kind == OPTION_IN) inputs[read++] = (input_place){rows[i].option, *text};
  }
  ZB_TRY(outputs_spare(outputs, written, inputs, read));
  for (int i = 0; i < NAMES && o->params.output && !o->params.import_only; ++i) {
    const int length = snprintf(paths[i], sizeof paths[i], "%s/%s", o->params.output, names[i]);
    if (length > 0 && (size_t)length < sizeof paths[i]) outputs[written++] = (output_place){"-o", paths[i], false};
  }
  return outputs_apart(outputs, written);
}

static bool writes_nothing(const options *o) {
  for (int i = 0; i < ROWS; ++i)
    if (rows[i].kind == OPTION_OUT && option_is_given(&rows[i], o)) return false;
  return !o->params.output;
}

static zb_status parse(int count, char **words, options *out) {
  ZB_TRY(options_parse(&table, count, words, out));
  if (out->help || out->version || out->help_passes || out->list_operators || out->list_unsupported) return NULL;
  if (!out->params.model)
    return zb_status_hint(ZB_ERROR(USAGE, "no model is given"), "zbc MODEL.onnx -o DIR; zbc --help says more");
  if (writes_nothing(out))
    return zb_status_hint(ZB_ERROR(USAGE, "no %s to write to is given", out->params.import_only ? "file" : "folder"),
                          out->params.import_only ? "add -o FILE.mlir" : "add -o DIR");
  return check_files(out);
}

/* Behind the table, where it is seen. */
static void say_stopped(const options *o) {
  fflush(stdout);
  fputs("zbc: the search was stopped: this is the best plan so far\n", stderr);
  if (o->params.choice_out)
    fprintf(stderr, "  --choice %s compiles exactly that again\n", o->params.choice_out);
  else
    fputs("  to compile exactly such a plan again, give --choice-out F from the start, then --choice F\n", stderr);
}

static zb_status compile(options *o) {
  zb_compile_summary *summary = NULL;
  searching_begin(&o->params);
  zb_status status = zb_compile(&o->params, &summary);
  searching_end();
  if (status) return status;
  if (o->params.import_only)
    printf("imported to %s\n", o->params.output);
  else if (o->json)
    print_json(summary);
  else if (summary->inference)
    print_inference(summary, o);
  else
    print_summary(summary, o);
  if (summary && summary->stopped) say_stopped(o);
  zb_compile_summary_destroy(summary);
  return NULL;
}

int main(int count, char **words) {
  zb_end_without_memory("zbc");
  signal(SIGXFSZ, SIG_IGN); /* a file that grows past a limit is a failed write, not the end of the program */
  options o = {.params = ZB_COMPILE_PARAMS_INIT};
  zb_status status = parse(count, words, &o);
  if (status) return tool_end(TOOL_ZBC, status);
  if (o.help)
    print_help();
  else if (o.version)
    puts("zbc " ZB_VERSION);
  else if (o.help_passes)
    print_passes();
  else if (o.list_operators || o.list_unsupported)
    status = print_operators(o.list_operators);
  else
    status = compile(&o);
  status = zb_status_first((zb_status[]){status, tool_flush_output()}, 2);
  const bool is_interrupted = zb_status_code(status) == ZB_INTERRUPTED;
  const int code = tool_end(TOOL_ZBC, status);
  if (is_interrupted) searching_die();
  return code;
}
