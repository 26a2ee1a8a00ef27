/* Kinds of what a plan consists of, and their names: jobs, what transfers carry, collectives, what replicas share,
 * lists, regions, settings. Each is a table of its own (*.def). Thread-safe. */
#pragma once

#include "zb/kernel.h"

typedef enum zb_job_kind {
#define ZB_JOB(ID, mnemonic, letter, class, flow, help) ZB_JOB_##ID,
#include "zb/jobs.def"
#undef ZB_JOB
  ZB_JOB_KIND_COUNT
} zb_job_kind;

typedef enum zb_job_class { ZB_CLASS_COMPUTE, ZB_CLASS_TRANSFER, ZB_CLASS_HOST } zb_job_class;
/* What happens to the parts of a job. */
typedef enum zb_parts_flow { ZB_PARTS_NONE, ZB_PARTS_OUT, ZB_PARTS_IN, ZB_PARTS_BOTH } zb_parts_flow;

const char *zb_job_mnemonic(zb_job_kind kind);
/* The letter of timelines; 0: not drawn. */
char zb_job_letter(zb_job_kind kind);
zb_job_class zb_job_class_of(zb_job_kind kind);
zb_parts_flow zb_job_flow(zb_job_kind kind);
/* SUM, NORM, CLIP, UPDATE and RENEW: phases of the optimizer, once a step. */
static inline bool zb_job_is_optimizer(zb_job_kind kind) { return kind >= ZB_JOB_SUM && kind <= ZB_JOB_RENEW; }
static inline bool zb_job_is_compute(zb_job_kind kind) { return zb_job_class_of(kind) == ZB_CLASS_COMPUTE; }
/* SEND and RECV: it posts one side of a message, and later jobs can wait for it. */
static inline bool zb_job_is_post(zb_job_kind kind) {
  return zb_job_class_of(kind) == ZB_CLASS_TRANSFER && zb_job_flow(kind) != ZB_PARTS_BOTH;
}

/* What a transfer carries. */
typedef enum zb_payload {
#define ZB_PAYLOAD(ID, letter, help) ZB_PAYLOAD_##ID,
#include "runtime/plan/file/transfers.def"
  ZB_PAYLOAD_COUNT
} zb_payload;
char zb_payload_letter(zb_payload payload);
/* ZB_PAYLOAD_COUNT: no payload has that letter. */
zb_payload zb_payload_of(char letter);

typedef enum zb_collective_kind {
#define ZB_COLLECTIVE(ID, name, adds, gathers, op, help) ZB_COLLECTIVE_##ID,
#include "runtime/plan/file/transfers.def"
  ZB_COLLECTIVE_COUNT
} zb_collective_kind;
const char *zb_collective_name(zb_collective_kind kind);
bool zb_collective_adds(zb_collective_kind kind);
bool zb_collective_gathers(zb_collective_kind kind);
/* What an op (without "zb.") is over shards; ZB_COLLECTIVE_COUNT: each of them computes it alone. */
zb_collective_kind zb_collective_of_op(const char *op);

/* What of its training replicas have a part of each. */
typedef enum zb_sharding {
#define ZB_SHARDING(ID, name, scatters, each, parameters, help) ZB_SHARDING_##ID,
#include "zb/shardings.def"
#undef ZB_SHARDING
  ZB_SHARDING_COUNT
} zb_sharding;
const char *zb_sharding_name(zb_sharding sharding);
/* "none, optimizer, ..": all of them. */
const char *zb_sharding_names(void);
/* ZB_SHARDING_COUNT: none has that name. */
zb_sharding zb_sharding_of(const char *name);
/* What the row says: of sums of gradients a replica keeps its part alone; those of each micro-batch are summed; of
 * parameters it has its part alone. */
bool zb_sharding_scatters(zb_sharding sharding);
bool zb_sharding_sums_each(zb_sharding sharding);
bool zb_sharding_of_parameters(zb_sharding sharding);

/* What the ranks of a plan run: again and again, after the LOAD jobs. */
typedef enum zb_plan_list { ZB_LIST_STEP, ZB_LIST_EVALUATION, ZB_LIST_COUNT } zb_plan_list;

typedef enum zb_region_kind {
  ZB_REGION_PARAMETERS,
  ZB_REGION_BUFFERS,
  ZB_REGION_STATE,
  ZB_REGION_GRADIENTS,
  ZB_REGION_CONSTANTS,
  ZB_REGION_STEP,
  ZB_REGION_SNAPSHOT,
  ZB_REGION_SLOTS,
  ZB_REGION_WORKSPACE,
  ZB_REGION_COUNT
} zb_region_kind;
const char *zb_region_name(zb_region_kind kind);

typedef enum zb_setting_kind {
#define ZB_SETTING(ID, name, values, of, help) ZB_SETTING_##ID,
#include "zb/settings.def"
  ZB_SETTING_COUNT
} zb_setting_kind;

/* What its row says. */
typedef struct zb_setting_def {
  const char *name;
  int values;
  bool of_parameter; /* one for each parameter that is trained; else one a run */
} zb_setting_def;
const zb_setting_def *zb_setting_find(zb_setting_kind kind);
/* "w.update" is the setting "update" of the parameter "w", whose name is so long; "max_norm" is one of the run. False:
 * no setting is called so. */
bool zb_setting_split(const char *text, zb_setting_kind *out_kind, size_t *out_length);
