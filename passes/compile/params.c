/* zb_compile: its parameters checked and completed, before any work is done. Tests: test/tools/zbc-options.test,
 * test/tools/zbc-schedule.test. */

#include "passes/compile/parts.h"
#include "passes/options.h"
#include "passes/stages/jobs/problem.h"
#include "passes/choose/choose.h"
#include "passes/stages/jobs/schedule_file.h"
#include "passes/stages/functions/shard_optimizer.h"
#include "runtime/base/file.h"
#include "runtime/base/update_groups.h"
#include "runtime/base/words.h"
#include "zb/costs.h"
#include "zb/layers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A wrong line, with the option that it was given to. Takes and returns ownership. */
static zb_status name_option(const char *option, zb_status status) {
  if (!status || zb_status_code(status) != ZB_USAGE) return status;
  zb_status named = ZB_ERROR(USAGE, "%s: %s", option, zb_status_message(status));
  if (zb_status_hint_text(status)) named = zb_status_hint(named, "%s", zb_status_hint_text(status));
  zb_status_free(status);
  return named;
}

static zb_status complete_optimizer(zb_compile_params *p, zb_owned_texts *owned) {
  ZB_TRY(name_option("--optimizer", zb_optimizer_complete(p->optimizer, &owned->optimizer)));
  p->optimizer = owned->optimizer;
  return NULL;
}

/* What is wrong with a line is said before the model is read; that no parameter is in a group zb-autodiff sees. */
static zb_status check_groups(const zb_compile_params *p) {
  zb_update_group group;
  for (int i = 0; i < p->group_count; ++i) {
    zb_status status = zb_update_group_parse(p->groups[i], &group);
    if (!status && strchr(p->groups[i], ';'))
      status = zb_status_hint(ZB_ERROR(USAGE, "'%s' has a semicolon", p->groups[i]), "write ? in its place");
    ZB_TRY(name_option("--group", status));
  }
  return NULL;
}

static bool writes_files(const zb_compile_params *p) {
  bool any = p->dump_directory != NULL;
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it)
    any |= it->kind == ZB_OPTION_OUT && zb_option_is_given(it, p);
  return any;
}

static zb_status check_import_only(const zb_compile_params *p) {
  if (p->output && !writes_files(p)) return zb_output_check("-o", p->output, ".mlir");
  return zb_status_hint(ZB_ERROR(USAGE, "--import-only writes one file, and nothing else"),
                        "zbc MODEL --import-only -o FILE.mlir");
}

/* One file, and that no row before it names the same. */
static zb_status check_file(const zb_compile_params *p, const zb_compile_option *row) {
  const char *path = zb_option_path(row, p);
  ZB_TRY(zb_output_check(row->option, path, row->endings));
  for (const zb_compile_option *it = zb_compile_options; it < row; ++it)
    if (it->kind == ZB_OPTION_OUT && zb_option_is_given(it, p) && strcmp(path, zb_option_path(it, p)) == 0)
      return zb_status_hint(ZB_ERROR(USAGE, "%s and %s would write the same file '%s'", it->option, row->option, path),
                            "give each a name of its own");
  return NULL;
}

/* Whether what is to be written can be, before the work is done. The folder itself is made at the end. */
static zb_status check_outputs(const zb_compile_params *p) {
  if (p->output && !*p->output) return ZB_ERROR(USAGE, "-o: the name of the folder is empty");
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it)
    if (it->kind == ZB_OPTION_OUT && zb_option_is_given(it, p)) ZB_TRY(check_file(p, it));
  if (p->dump_directory) ZB_TRY(zb_output_folder_check("--dump-ir", p->dump_directory));
  if (p->import_only) return check_import_only(p);
  return p->output ? zb_output_folder_check("-o", p->output) : NULL;
}

/* What is read more than once: a pipe would be empty the second time. Costs are read here, too, before the model. */
static zb_status check_inputs(const zb_compile_params *p) {
  const char *const paths[] = {p->costs, p->schedule && zb_schedule_is_file(p->schedule) ? p->schedule : NULL};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
    int file = -1;
    if (!paths[i]) continue;
    ZB_TRY(zb_file_open(NULL, paths[i], &file, NULL));
    close(file);
  }
  zb_costs *costs = NULL;
  ZB_TRY(p->costs ? zb_costs_read(p->costs, &costs) : NULL);
  zb_costs_destroy(costs);
  return NULL;
}

/* What is open for a schedule that searches: its order; placements where neither that nor chunks are named; cuts where
 * nobody says where stages end. */
static zb_open find_open(const zb_compile_params *p, const zb_schedule_def *schedule) {
  if (!schedule->searches || p->pipeline) return ZB_OPEN_NOTHING;
  if (schedule->chunks_max > 1 && !p->placement && !p->chunks) return ZB_OPEN_PLACEMENT;
  return p->cuts || p->layout || p->ranks < 2 ? ZB_OPEN_ORDER : ZB_OPEN_CUTS;
}

static zb_status check_trials(const zb_compile_params *p, zb_open open) {
  if (!p->cut_trials || (open > ZB_OPEN_ORDER && !p->cuts && !p->layout)) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "--cut-trials has no effect with %s",
                                 p->cuts        ? "--cuts"
                                 : p->layout    ? "--layout"
                                 : p->ranks < 2 ? "one rank"
                                                : "a schedule that does not search"),
                        "cuts are tried together with orders: --schedule search, on several ranks, without --cuts");
}

/* A string says how many stages there are; a rule is held against the layers of the model by zb-partition. */
static zb_status complete_layout(zb_compile_params *p) {
  zb_layer_layout layout;
  if (!p->layout) return NULL;
  if (p->cuts)
    return zb_status_hint(ZB_ERROR(USAGE, "--layout and --cuts both say where stages end"), "leave one of them out");
  if (!zb_layers_is_string(p->layout)) return NULL;
  const zb_layer_params params = {.layout = p->layout, .ranks = p->ranks, .chunks = p->chunks};
  ZB_TRY(name_option("--layout", zb_layer_layout_init(&layout, &params)));
  p->ranks = layout.ranks;
  p->chunks = layout.chunks;
  zb_layer_layout_deinit(&layout);
  return zb_options_check_counts(p);
}

/* What is wrong with a text is said before the model is read. */
static zb_status check_pins(const zb_compile_params *p) {
  for (int i = 0; i < p->shard_pin_count; ++i) {
    if (strchr(p->shard_pins[i], ';'))
      return zb_status_hint(ZB_ERROR(USAGE, "--shard: '%s' has a semicolon", p->shard_pins[i]), "write ? in its place");
    if (!strchr(p->shard_pins[i], '='))
      return zb_status_hint(ZB_ERROR(USAGE, "--shard: expected GLOB=DIM or GLOB=whole, got '%s'", p->shard_pins[i]),
                            "for example 'h.*.mlp.c_fc.weight=1' (its columns), or 'h.0.*=whole'");
  }
  return NULL;
}

/* NULL: it is not given. hint: where no name is like it. */
static zb_status check_name(const char *option, const char *given, const char *const *names, int count,
                            const char *expected, const char *hint) {
  for (int i = 0; i < count; ++i)
    if (!given || strcmp(given, names[i]) == 0) return NULL;
  const char *nearest = zb_nearest(given, names, count);
  zb_status status = ZB_ERROR(USAGE, "%s: expected %s got '%s'", option, expected, given);
  return nearest ? zb_status_hint(status, "did you mean '%s'?", nearest) : zb_status_hint(status, "%s", hint);
}

/* Of targets it is known with the norm of gradients, before which a step updates nothing. */
static zb_status check_loss_mean(const zb_compile_params *p) {
  static const char *const means[] = {"micro-batches", "targets"};
  ZB_TRY(check_name("--loss-mean", p->loss_mean, means, 2, "micro-batches or targets,",
                    "targets: every target of a step that is not ignored counts alike"));
  if (!p->loss_mean || strcmp(p->loss_mean, "targets") != 0 || !p->post_validation) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "--loss-mean targets and --post-validation are not possible together"),
                        "leave --post-validation out: a step must know how many targets it has before it updates");
}

/* Known by the rows of zb/shardings.def and zb/gathers.def. Only parameters that are in parts are gathered for jobs. */
static zb_status check_sharding(const zb_compile_params *p) {
  const char *names[ZB_SHARDING_COUNT], *kept[ZB_GATHERED_COUNT];
  char expected[160];
  for (int i = 0; i < ZB_SHARDING_COUNT; ++i)
    names[i] = zb_sharding_name((zb_sharding)i);
  for (int i = 0; i < ZB_GATHERED_COUNT; ++i)
    kept[i] = zb_gathered_name((zb_gathered)i);
  snprintf(expected, sizeof expected, "one of %s;", zb_sharding_names());
  ZB_TRY(check_name("--sharding", p->sharding, names, ZB_SHARDING_COUNT, expected, "optimizer is ZeRO's first stage"));
  snprintf(expected, sizeof expected, "one of %s;", zb_gathered_names());
  ZB_TRY(check_name("--gather", p->gather, kept, ZB_GATHERED_COUNT, expected, "job keeps the least"));
  if (!p->gather || (p->sharding && zb_sharding_of_parameters(zb_sharding_of(p->sharding)))) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "--gather without a sharding of parameters"),
                        "add --sharding parameters:step; otherwise every replica has all parameters");
}

/* What a choice says. Sizes may be given, too, if they are the same. */
static zb_status complete_choice(zb_compile_params *p, zb_owned_texts *owned) {
  const zb_choice *choice = &owned->choice;
  if (!p->choice) return NULL;
  ZB_TRY(zb_choice_read_file(p->choice, &owned->choice));
  const struct {
    const char *option;
    int *given, chosen;
  } sizes[] = {{"ranks", &p->ranks, choice->ranks},
               {"chunks", &p->chunks, choice->chunks},
               {"micro-batches", &p->micro_batches, choice->micro_batches}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    if (*sizes[i].given && *sizes[i].given != sizes[i].chosen)
      return zb_status_hint(
          ZB_ERROR(USAGE, "--%s %d, but %s has %d", sizes[i].option, *sizes[i].given, p->choice, sizes[i].chosen),
          "leave it out, or make another choice for it with --choice-out");
    *sizes[i].given = sizes[i].chosen;
  }
  p->placement = choice->placement;
  p->schedule = choice->schedule;
  p->split = "all";
  p->recompute = "none";
  return NULL;
}

void zb_owned_texts_deinit(zb_owned_texts *owned) {
  zb_free(owned->placement);
  zb_free(owned->optimizer);
  zb_choice_deinit(&owned->choice);
  zb_arena_deinit(&owned->arena);
}

/* The texts of what is given. */
static zb_status check_texts(const zb_compile_params *p) {
  zb_metric metric;
  if (p->sum_inner && p->sum_groups == 1)
    return zb_status_hint(ZB_ERROR(USAGE, "--sum-groups 1:inner: one group has nothing to be summed with"),
                          "name as many groups as there are replicas, 2 or more");
  ZB_TRY(check_sharding(p));
  ZB_TRY(check_pins(p));
  ZB_TRY(check_loss_mean(p));
  if (p->metric) ZB_TRY(name_option("--metric", zb_metric_parse(p->metric, &metric)));
  return zb_precision_check(p->precision);
}

/* Of what depends on others. An evaluation has an order of its own. */
static zb_status complete_dependent(zb_compile_params *p) {
  const bool again = p->recompute && strcmp(p->recompute, "none") != 0;
  if (again && strcmp(p->recompute, "auto") == 0 && !p->memory_limit)
    return zb_status_hint(ZB_ERROR(USAGE, "--recompute: " ZB_RECOMPUTE_AUTO_ALONE), ZB_RECOMPUTE_AUTO_HINT);
  if (!p->split && !p->inference && (p->memory_limit || again)) p->split = "auto";
  if (!p->schedule && p->inference) p->schedule = "fthenb";
  return NULL;
}

zb_status zb_params_complete(zb_compile_params *p, zb_owned_texts *owned, zb_open *out_open) {
  zb_schedule_choice choice;
  *out_open = ZB_OPEN_NOTHING;
  ZB_TRY(check_inputs(p));
  ZB_TRY(zb_options_check_beside(p));
  ZB_TRY(complete_choice(p, owned));
  ZB_TRY(check_texts(p));
  ZB_TRY(zb_options_check_needs(p));
  ZB_TRY(complete_dependent(p));
  ZB_TRY(zb_options_check_counts(p));
  ZB_TRY(complete_layout(p));
  ZB_TRY(complete_optimizer(p, owned));
  ZB_TRY(check_groups(p));
  ZB_TRY(zb_clip_norm_check(p->clip_norm, p->clip_norm_type));
  ZB_TRY(check_outputs(p));
  const bool from_file = !p->choice && p->schedule && zb_schedule_is_file(p->schedule);
  if (from_file)
    ZB_TRY(zb_schedule_file_place(p->schedule, &p->ranks, &p->chunks, &p->micro_batches, &p->placement,
                                  &owned->placement));
  zb_options_complete(p);
  if (p->choice) return NULL;
  if (from_file) return check_trials(p, ZB_OPEN_NOTHING);
  ZB_TRY(zb_schedule_to_train(p->schedule, &choice));
  *out_open = find_open(p, choice.schedule);
  ZB_TRY(check_trials(p, *out_open));
  return zb_schedule_place(choice.schedule, p->ranks, &p->placement, &p->chunks);
}
