/* zb_compile: its parameters checked and completed, before any work is done. Tests: test/tools/zbc-options.test,
 * test/tools/zbc-schedule.test. */

#include "passes/compile/parts.h"
#include "passes/stages/problem.h"
#include "passes/stages/recompute_auto.h"
#include "passes/stages/schedule_file.h"
#include "passes/stages/shard_optimizer.h"
#include "runtime/base/file.h"
#include "runtime/base/update_groups.h"
#include "runtime/base/words.h"
#include "zb/costs.h"
#include "zb/layers.h"

#include <string.h>
#include <unistd.h>

enum { BUCKET_BYTES = 25 << 20 }; /* as bucket_cap_mb of PyTorch's DistributedDataParallel */

/* The numbers; 0 is what is left open. */
static zb_status check_counts(const zb_compile_params *p) {
  const struct {
    const char *option;
    int got, most;
    const char *hint;
  } counts[] = {
      {"ranks", p->ranks, ZB_RANKS_MAX, "it is how many executors train together, for example --ranks 4"},
      {"chunks", p->chunks, ZB_CHUNKS_MAX, "it is how many virtual stages a rank has, for example --chunks 2"},
      {"micro-batches", p->micro_batches, ZB_MICRO_BATCHES_MAX,
       "use at least as many as ranks, for example --micro-batches 8"},
      {"data-parallel", p->data_parallel, ZB_REPLICAS_MAX, "it is how many replicas of all ranks train together"},
      {"sum-groups", p->sum_groups, ZB_MICRO_BATCHES_MAX, "it is how many groups of micro-batches are summed apart"},
      {"tensor-parallel", p->tensor_parallel, ZB_SHARDS_MAX,
       "it is how many shards of each rank compute a micro-batch together, for example --tensor-parallel 2"},
      {"cut-trials", p->cut_trials, ZB_CUT_TRIALS_MAX, "each takes as long as one compile with its search"},
  };
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i)
    if (counts[i].got < 0 || counts[i].got > counts[i].most)
      return zb_status_hint(
          ZB_ERROR(USAGE, "--%s: expected 1 to %d, got %d", counts[i].option, counts[i].most, counts[i].got), "%s",
          counts[i].hint);
  return NULL;
}

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

static zb_status check_import_only(const zb_compile_params *p) {
  if (p->output && !p->timeline && !p->csv && !p->choice_out && !p->dump_directory)
    return zb_output_check("-o", p->output, ".mlir");
  return zb_status_hint(ZB_ERROR(USAGE, "--import-only writes one file, and nothing else"),
                        "zbc MODEL --import-only -o FILE.mlir");
}

static zb_status check_two(const char *option, const char *path, const char *other, const char *other_path) {
  if (!path || !other_path || strcmp(path, other_path) != 0) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "%s and %s would write the same file '%s'", option, other, path),
                        "give each a name of its own");
}

/* Whether what is to be written can be, before the work is done. The folder itself is made at the end. */
static zb_status check_outputs(const zb_compile_params *p) {
  if (p->output && !*p->output) return ZB_ERROR(USAGE, "-o: the name of the folder is empty");
  if (p->timeline) ZB_TRY(zb_output_check("--timeline", p->timeline, ".svg .json"));
  if (p->csv) ZB_TRY(zb_output_check("--csv", p->csv, NULL));
  if (p->choice_out) ZB_TRY(zb_output_check("--choice-out", p->choice_out, NULL));
  ZB_TRY(check_two("--timeline", p->timeline, "--csv", p->csv));
  ZB_TRY(check_two("--timeline", p->timeline, "--choice-out", p->choice_out));
  ZB_TRY(check_two("--csv", p->csv, "--choice-out", p->choice_out));
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

/* What has no effect with an option is refused, not dropped silently: a pipeline of the caller's has options of its
 * own, without a step there is nothing to train, and a choice says what was chosen. */
enum { IN_PIPELINE = 1, OF_STEPS = 2, CHOSEN = 4 };
typedef struct given_option {
  const char *option;
  bool given;
  int says;
} given_option;

static zb_status check_options(const zb_compile_params *p) {
  const given_option options[] = {
      {"ranks", p->ranks != 0, IN_PIPELINE},
      {"chunks", p->chunks != 0, IN_PIPELINE},
      {"micro-batches", p->micro_batches != 0, IN_PIPELINE},
      {"schedule", p->schedule != NULL, IN_PIPELINE | OF_STEPS | CHOSEN},
      {"placement", p->placement != NULL, IN_PIPELINE | CHOSEN},
      {"metric", p->metric != NULL, IN_PIPELINE | OF_STEPS},
      {"split", p->split != NULL, IN_PIPELINE | OF_STEPS | CHOSEN},
      {"recompute", p->recompute != NULL, IN_PIPELINE | OF_STEPS | CHOSEN},
      {"optimizer", p->optimizer != NULL, IN_PIPELINE | OF_STEPS},
      {"group", p->group_count > 0, IN_PIPELINE | OF_STEPS},
      {"clip-norm", p->clip_norm != NULL, IN_PIPELINE | OF_STEPS},
      {"clip-norm-type", p->clip_norm_type != NULL, IN_PIPELINE | OF_STEPS},
      {"post-validation", p->post_validation, IN_PIPELINE | OF_STEPS},
      {"data-parallel", p->data_parallel != 0, IN_PIPELINE | OF_STEPS},
      {"bucket-bytes", p->bucket_bytes != 0, IN_PIPELINE | OF_STEPS},
      {"sharding", p->sharding != NULL, IN_PIPELINE | OF_STEPS},
      {"gather", p->gather != NULL, IN_PIPELINE | OF_STEPS},
      {"sum-groups", p->sum_groups != 0, IN_PIPELINE | OF_STEPS},
      {"tensor-parallel", p->tensor_parallel != 0, IN_PIPELINE},
      {"sequence-parallel", p->sequence_parallel, IN_PIPELINE},
      {"shard", p->shard_pin_count > 0, IN_PIPELINE},
      {"cuts", p->cuts != NULL, IN_PIPELINE | CHOSEN},
      {"layout", p->layout != NULL, IN_PIPELINE | CHOSEN},
      {"cut-trials", p->cut_trials != 0, IN_PIPELINE | OF_STEPS | CHOSEN},
      {"choice", p->choice != NULL, IN_PIPELINE},
      {"choice-out", p->choice_out != NULL, IN_PIPELINE},
      {"costs", p->costs != NULL, IN_PIPELINE},
      {"memory-limit", p->memory_limit != 0, IN_PIPELINE},
      {"no-raise", p->no_raise, IN_PIPELINE},
      {"precision", p->precision != NULL, IN_PIPELINE},
      {"loss", p->loss != NULL, OF_STEPS},
      {"loss-mean", p->loss_mean != NULL, IN_PIPELINE | OF_STEPS},
      {"train", p->train_count > 0, OF_STEPS},
      {"freeze", p->freeze_count > 0, OF_STEPS},
      {"csv", p->csv != NULL, OF_STEPS},
      {"timeline", p->timeline != NULL, OF_STEPS},
      {"pass-pipeline", p->pipeline != NULL, OF_STEPS},
  };
  for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
    const given_option *it = &options[i];
    if (p->inference && it->given && (it->says & OF_STEPS))
      return zb_status_hint(ZB_ERROR(USAGE, "--%s has no effect with --inference", it->option),
                            "leave one of them out: with --inference nothing is trained");
    if (p->pipeline && it->given && (it->says & IN_PIPELINE))
      return zb_status_hint(ZB_ERROR(USAGE, "--%s has no effect with --pass-pipeline", it->option),
                            "write it as an option of its pass; zbc --help-passes shows the default pipeline");
    if (p->choice && it->given && (it->says & CHOSEN))
      return zb_status_hint(ZB_ERROR(USAGE, "--%s has no effect with --choice", it->option),
                            "leave it out: %s says it, and can be edited", p->choice);
  }
  return NULL;
}

/* What is open: placements where neither that nor chunks are named; cuts where nobody says where stages end. */
static zb_open find_open(const zb_compile_params *p, const zb_schedule_def *schedule) {
  if (!schedule->searches || p->pipeline) return ZB_OPEN_NOTHING;
  if (schedule->chunks_max > 1 && !p->placement && !p->chunks) return ZB_OPEN_PLACEMENT;
  return p->cuts || p->layout || p->ranks < 2 ? ZB_OPEN_NOTHING : ZB_OPEN_CUTS;
}

static zb_status check_trials(const zb_compile_params *p, zb_open open) {
  if (!p->cut_trials || (open && !p->cuts && !p->layout)) return NULL;
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
  return check_counts(p);
}

/* What cannot be had at once yet. */
static zb_status check_together(const zb_compile_params *p) {
  for (int i = 0; i < p->shard_pin_count; ++i) {
    if (strchr(p->shard_pins[i], ';'))
      return zb_status_hint(ZB_ERROR(USAGE, "--shard: '%s' has a semicolon", p->shard_pins[i]), "write ? in its place");
    if (!strchr(p->shard_pins[i], '='))
      return zb_status_hint(ZB_ERROR(USAGE, "--shard: expected GLOB=DIM or GLOB=whole, got '%s'", p->shard_pins[i]),
                            "for example 'h.*.mlp.c_fc.weight=1' (its columns), or 'h.0.*=whole'");
  }
  const char *alone = p->sequence_parallel ? "sequence-parallel" : p->shard_pin_count > 0 ? "shard" : NULL;
  if (alone && p->tensor_parallel == 1 && !p->pipeline)
    return zb_status_hint(ZB_ERROR(USAGE, "--%s without --tensor-parallel", alone), "add --tensor-parallel 2");
  return NULL;
}

/* Of targets it is known with the norm of gradients, before which a step updates nothing. */
static zb_status check_loss_mean(const zb_compile_params *p) {
  static const char *const means[] = {"micro-batches", "targets"};
  if (!p->loss_mean || strcmp(p->loss_mean, means[0]) == 0) return NULL;
  if (strcmp(p->loss_mean, means[1]) != 0) {
    const char *nearest = zb_nearest(p->loss_mean, means, 2);
    return zb_status_hint(
        ZB_ERROR(USAGE, "--loss-mean: expected micro-batches or targets, got '%s'", p->loss_mean),
        nearest ? "did you mean '%s'?" : "targets: every target of a step that is not ignored counts alike", nearest);
  }
  if (p->post_validation)
    return zb_status_hint(ZB_ERROR(USAGE, "--loss-mean targets and --post-validation are not possible together"),
                          "leave --post-validation out: a step must know how many targets it has before it updates");
  return NULL;
}

/* Known by the rows of zb/shardings.def; and only replicas can share. */
static zb_status complete_sharding(zb_compile_params *p) {
  const char *names[ZB_SHARDING_COUNT];
  if (!p->sharding) p->sharding = zb_sharding_name(ZB_SHARDING_NONE);
  for (int i = 0; i < ZB_SHARDING_COUNT; ++i)
    names[i] = zb_sharding_name((zb_sharding)i);
  const zb_sharding sharding = zb_sharding_of(p->sharding);
  if (sharding == ZB_SHARDING_COUNT) {
    const char *nearest = zb_nearest(p->sharding, names, ZB_SHARDING_COUNT);
    return zb_status_hint(ZB_ERROR(USAGE, "--sharding: expected one of %s; got '%s'", zb_sharding_names(), p->sharding),
                          nearest ? "did you mean '%s'?" : "optimizer is ZeRO's first stage", nearest);
  }
  if (sharding != ZB_SHARDING_NONE && p->data_parallel == 1 && !p->pipeline)
    return zb_status_hint(ZB_ERROR(USAGE, "--sharding without --data-parallel"),
                          "add --data-parallel 2; one replica alone has all there is");
  return NULL;
}

/* Known by the rows of zb/gathers.def; and only parameters that are in parts are gathered for jobs. */
static zb_status complete_gather(zb_compile_params *p) {
  const char *names[ZB_GATHERED_COUNT];
  for (int i = 0; i < ZB_GATHERED_COUNT; ++i)
    names[i] = zb_gathered_name((zb_gathered)i);
  if (p->gather && zb_gathered_of(p->gather) == ZB_GATHERED_COUNT) {
    const char *nearest = zb_nearest(p->gather, names, ZB_GATHERED_COUNT);
    return zb_status_hint(ZB_ERROR(USAGE, "--gather: expected one of %s; got '%s'", zb_gathered_names(), p->gather),
                          nearest ? "did you mean '%s'?" : "job keeps the least", nearest);
  }
  if (p->gather && !zb_sharding_of_parameters(zb_sharding_of(p->sharding)) && !p->pipeline)
    return zb_status_hint(ZB_ERROR(USAGE, "--gather without a sharding of parameters"),
                          "add --sharding parameters:step; otherwise every replica has all parameters");
  if (!p->gather) p->gather = zb_gathered_name(ZB_GATHERED_JOB);
  return NULL;
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

/* The names that passes of the default pipeline will ask for. */
static zb_status check_names(const zb_compile_params *p) {
  zb_metric metric;
  if (p->metric) ZB_TRY(name_option("--metric", zb_metric_parse(p->metric, &metric)));
  return zb_precision_check(p->precision);
}

zb_status zb_params_complete(zb_compile_params *p, zb_owned_texts *owned, zb_open *out_open) {
  *out_open = ZB_OPEN_NOTHING;
  ZB_TRY(check_inputs(p));
  ZB_TRY(check_options(p));
  ZB_TRY(complete_choice(p, owned));
  if (p->inference) p->split = "all";
  if (!p->data_parallel) p->data_parallel = 1;
  if (!p->sum_groups) p->sum_groups = 1;
  if (p->sum_inner && p->sum_groups == 1 && !p->pipeline)
    return zb_status_hint(ZB_ERROR(USAGE, "--sum-groups 1:inner: one group has nothing to be summed with"),
                          "name as many groups as there are replicas, 2 or more");
  if (p->bucket_bytes && p->data_parallel == 1 && !p->pipeline)
    return zb_status_hint(ZB_ERROR(USAGE, "--bucket-bytes without --data-parallel"),
                          "add --data-parallel 2; without replicas no gradients are summed over them");
  if (!p->bucket_bytes) p->bucket_bytes = BUCKET_BYTES;
  ZB_TRY(complete_sharding(p));
  ZB_TRY(complete_gather(p));
  if (!p->tensor_parallel) p->tensor_parallel = 1;
  ZB_TRY(check_together(p));
  if (!p->pipeline) ZB_TRY(check_loss_mean(p));
  if (!p->precision) p->precision = "f32";
  if (!p->pipeline) ZB_TRY(check_names(p));
  if (!p->recompute) p->recompute = "none";
  if (!p->split) p->split = p->memory_limit || strcmp(p->recompute, "none") != 0 ? "auto" : "all";
  if (strcmp(p->recompute, "auto") == 0 && !p->memory_limit && !p->pipeline)
    return zb_status_hint(ZB_ERROR(USAGE, "--recompute: " ZB_RECOMPUTE_AUTO_ALONE), ZB_RECOMPUTE_AUTO_HINT);
  ZB_TRY(check_counts(p));
  ZB_TRY(complete_layout(p));
  if (p->weights_partial && !p->weights)
    return zb_status_hint(ZB_ERROR(USAGE, "--weights-partial without --weights"), "add --weights PATH");
  ZB_TRY(complete_optimizer(p, owned));
  ZB_TRY(check_groups(p));
  ZB_TRY(zb_clip_norm_check(p->clip_norm, p->clip_norm_type));
  if (p->post_validation && !p->clip_norm && !p->pipeline)
    return zb_status_hint(ZB_ERROR(USAGE, "--post-validation without --clip-norm"),
                          "add --clip-norm 1.0; where nothing is clipped no step waits for another");
  ZB_TRY(check_outputs(p));
  zb_schedule_choice choice;
  if (p->choice) return NULL;
  if (!p->schedule) p->schedule = p->inference ? "fthenb" : "zb-h1"; /* an evaluation has an order of its own */
  if (zb_schedule_is_file(p->schedule)) {
    ZB_TRY(check_trials(p, ZB_OPEN_NOTHING));
    return zb_schedule_file_layout(p->schedule, &p->ranks, &p->chunks, &p->micro_batches, &p->placement,
                                   &owned->placement);
  }
  if (!p->ranks) p->ranks = 1;
  if (!p->micro_batches) p->micro_batches = 1;
  ZB_TRY(zb_schedule_to_train(p->schedule, &choice));
  *out_open = find_open(p, choice.schedule);
  ZB_TRY(check_trials(p, *out_open));
  return zb_schedule_layout(choice.schedule, p->ranks, &p->placement, &p->chunks);
}
