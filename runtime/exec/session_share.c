/* Processes that compiled one module with other initial values: see session_group.h. What process 0 compiled replaces
 * what the others did, file by file, before any of it is read. Tests: test/python/unseeded.py. */
#include "runtime/exec/session_group.h"

#include "runtime/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };
/* The plan comes last: a folder without it is none. */
static const char *const files[] = {"weights.safetensors", "constants.safetensors", "plan.zb"};
static const char hint[] = "compile the same module with the same options in every process, or in one, and open its "
                           "folder in the others; a constant that the module draws at random may need one seed in all";

typedef struct plan_record {
  uint64_t digest;
  int64_t same, shares;
} plan_record;

static void merge_plans(void *total, const void *one, size_t bytes) {
  plan_record *all = total;
  const plan_record *next = one;
  (void)bytes;
  all->same &= next->digest == all->digest;
  all->shares &= next->shares;
}

static void keep_first(void *total ZB_UNUSED, const void *one ZB_UNUSED, size_t bytes ZB_UNUSED) {}

static zb_status merge(zb_session *session, void *record, size_t bytes,
                       void (*merge_two)(void *total, const void *one, size_t bytes)) {
  zb_status status = session->group_def->merge(session->group, record, bytes, merge_two);
  if (status) session->apart = true;
  return status;
}

/* ---- Whether it is one program ---- */

static zb_status without_values(zb_plan *plan) {
  plan->value_digests = false;
  for (int r = 0; r < plan->rank_count; ++r) {
    zb_plan_rank *rank = &plan->ranks[r];
    for (int i = 0; i < rank->parameter_count; ++i)
      rank->parameters[i].tensor.digest = 0;
    for (int i = 0; i < rank->constant_count; ++i) {
      zb_plan_constant *constant = &rank->constants[i];
      constant->tensor.digest = 0;
      uint8_t *zeros = constant->bytes ? zb_plan_alloc(plan, constant->byte_count) : NULL;
      if (constant->bytes && !zeros) return ZB_OUT_OF_MEMORY();
      constant->bytes = zeros;
    }
  }
  return NULL;
}

/* The digest of the plan in the folder, but for values. */
static zb_status digest_of_code(const char *folder, uint64_t *out) {
  zb_plan *plan = NULL, *code = NULL;
  char *path = zb_folder_file(folder, "plan.zb.code");
  if (!path) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_session_read_plan(folder, 0, -1, &plan);
  if (!status) status = without_values(plan);
  if (!status) status = zb_plan_write(plan, path);
  if (!status) status = zb_plan_read_some(path, 0, 0, &code);
  *out = code ? code->digest : 0;
  unlink(path);
  zb_plan_destroy(plan);
  zb_plan_destroy(code);
  zb_free(path);
  return status;
}

/* What people know of a plan comes first. */
static zb_status compare_programs(zb_session *session, const zb_plan *plan, const char *folder) {
  uint64_t code = 0;
  zb_facts facts = {0};
  ZB_TRY(zb_session_agree(session, digest_of_code(folder, &code)));
  const struct {
    const char *what;
    uint64_t number;
  } numbers[] = {{"--ranks", (uint64_t)plan->rank_count},
                 {"--micro-batches", (uint64_t)plan->micro_batches},
                 {"--data-parallel", (uint64_t)plan->replicas},
                 {"--tensor-parallel", (uint64_t)plan->shards}};
  const char *const texts[][2] = {
      {"--schedule", plan->schedule}, {"--placement", plan->placement}, {"--optimizer", plan->optimizer}};
  char text[32];
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    snprintf(text, sizeof text, "%" PRIu64, numbers[i].number);
    zb_facts_add(&facts, numbers[i].what, text, hint);
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
    zb_facts_add(&facts, texts[i][0], texts[i][1], hint);
  snprintf(text, sizeof text, "%016" PRIx64, plan->model_hash);
  zb_facts_add(&facts, "the digest of the names and shapes of parameters", text, hint);
  snprintf(text, sizeof text, "%016" PRIx64, code);
  zb_facts_add(&facts, "the digest of the program that the module became", text, hint);
  zb_status status = zb_session_compare_facts(session, &facts);
  zb_facts_deinit(&facts);
  return status;
}

/* ---- Its values ---- */

/* Every process sends a piece, as merges are, and gets that of process 0. */
static zb_status share_pieces(zb_session *session, int from, zb_file_writer *to, char *piece, uint64_t bytes) {
  zb_status status = NULL;
  for (uint64_t at = 0; at < bytes; at += PIECE_BYTES) {
    const size_t count = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
    if (from >= 0 && !status && pread(from, piece, count, (off_t)at) != (ssize_t)count)
      status = ZB_ERROR(IO, "cannot read what the plan begins with: %s", strerror(errno));
    zb_status lost = merge(session, piece, count, keep_first);
    if (lost) {
      zb_status_free(status);
      return lost;
    }
    if (to && !status) status = zb_file_writer_add(to, piece, count);
  }
  return zb_session_agree(session, status);
}

static zb_status share_file(zb_session *session, const char *folder, const char *name) {
  char *path = zb_folder_file(folder, name), *piece = zb_alloc(PIECE_BYTES);
  zb_file_writer writer;
  int file = -1;
  uint64_t bytes = 0;
  const bool gives = session->process == 0;
  zb_status status = path && piece ? NULL : ZB_OUT_OF_MEMORY();
  if (!status) status = gives ? zb_file_open(NULL, path, &file, &bytes) : zb_file_writer_open(&writer, path);
  const bool writes = !status && !gives;
  status = zb_session_agree(session, status);
  if (!status) status = merge(session, &bytes, sizeof bytes, keep_first);
  if (!status) status = share_pieces(session, file, gives ? NULL : &writer, piece, bytes);
  if (writes && status) zb_file_writer_abandon(&writer);
  if (writes && !status) status = zb_file_writer_commit(&writer);
  if (file >= 0) close(file);
  zb_free(path);
  zb_free(piece);
  return zb_session_agree(session, status);
}

zb_status zb_session_share_values(zb_session *session, const zb_session_params *params) {
  zb_plan *plan = NULL;
  if (!session->group) return NULL;
  zb_status status = zb_session_read_plan(params->directory, 0, 0, &plan);
  plan_record record = {.digest = plan ? plan->digest : 0, .same = 1, .shares = params->share_values};
  ZB_TRY_GOTO(zb_session_agree(session, status));
  ZB_TRY_GOTO(merge(session, &record, sizeof record, merge_plans));
  if (record.same || !record.shares) goto cleanup; /* plans that differ are refused once they are read */
  ZB_TRY_GOTO(compare_programs(session, plan, params->directory));
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i)
    ZB_TRY_GOTO(share_file(session, params->directory, files[i]));
  if (params->say && session->process == 0)
    params->say(params->progress_context, "the processes compiled other initial values: all begin with those of "
                                          "process 0");
cleanup:
  zb_plan_destroy(plan);
  return status;
}
