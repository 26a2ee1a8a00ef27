/* Orders from outside for zb-schedule and zb_compile: the placement comes from the file, messages and memory from the
 * passes that follow. The file is read by passes/schedule (zb_order_read_file), which says where it is wrong. Tests:
 * test/tools/zbc-schedule.test, test/passes/schedule.mlir. */

#include "passes/stages/jobs/schedule_file.h"

#include "runtime/base/text.h"

#include <string.h>

/* No name of a schedule has a dot or a slash, and options come behind a colon. */
bool zb_schedule_is_file(const char *schedule) {
  char first = schedule[strcspn(schedule, "./:")];
  return first == '.' || first == '/' || zb_ends_with(schedule, ".csv") || zb_ends_with(schedule, ".txt");
}

/* "v" where the placement has a name, else "0,1,1,0". */
static char *placement_text(const zb_order_file *file) {
  int ranks = file->order.ranks, chunks = file->stages / ranks;
  for (int i = 0; i < zb_placement_count(); ++i) {
    const zb_placement_def *def = zb_placement_at(i);
    bool same = chunks >= def->chunks_min && chunks <= def->chunks_max;
    for (int s = 0; s < file->stages && same; ++s)
      same = def->rank(ranks, s) == file->stage_rank[s];
    if (same) return zb_strdup(def->name);
  }
  zb_text text = {0};
  for (int s = 0; s < file->stages; ++s)
    zb_text_add(&text, "%s%d", s ? "," : "", file->stage_rank[s]);
  char *out = text.failed ? NULL : zb_text_take(&text);
  zb_text_deinit(&text);
  return out;
}

static zb_status check_placement(const char *path, const zb_order_file *file, const char *placement) {
  int *wanted = zb_alloc((size_t)file->stages * sizeof *wanted);
  if (!wanted) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_placement(placement, file->order.ranks, file->stages / file->order.ranks, wanted);
  for (int s = 0; s < file->stages && !status; ++s)
    if (wanted[s] != file->stage_rank[s])
      status = zb_status_hint(ZB_ERROR(USAGE, "placement %s has stage %d on rank %d, but in %s it stands on rank %d",
                                       placement, s, wanted[s], path, file->stage_rank[s]),
                              "leave the placement out: it comes from the file");
  zb_free(wanted);
  return status;
}

zb_status zb_schedule_file_place(const char *path, int *ranks, int *chunks, int *micro_batches, const char **placement,
                                 char **out_placement) {
  zb_order_file file;
  const zb_order_expected expected = {.ranks = *ranks, .stages = *ranks * *chunks, .micro_batches = *micro_batches};
  *out_placement = NULL;
  ZB_TRY(zb_order_read_file(path, &expected, &file));
  zb_status status = NULL;
  int found = file.stages / file.order.ranks;
  if (*chunks && *chunks != found) /* only seen here where the number of ranks was open */
    ZB_TRY_GOTO(ZB_ERROR(INVALID, "%s: expected %d chunks a rank, got %d", path, *chunks, found));
  *ranks = file.order.ranks;
  *chunks = found;
  *micro_batches = file.micro_batches;
  if (*placement) {
    ZB_TRY_GOTO(check_placement(path, &file, *placement));
  } else {
    *placement = *out_placement = placement_text(&file);
    if (!*placement) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  }
cleanup:
  zb_order_file_deinit(&file);
  return status;
}

zb_status zb_schedule_file_order(const char *path, zb_problem *problem, zb_order *out) {
  zb_order_file file;
  const zb_order_expected expected = {.ranks = problem->ranks,
                                      .stages = problem->stages,
                                      .micro_batches = problem->micro_batches,
                                      .stage_rank = problem->stage_rank};
  *out = (zb_order){0};
  ZB_TRY(zb_order_read_file(path, &expected, &file));
  *out = file.order;
  file.order = (zb_order){0};
  problem->micro_batches = file.micro_batches;
  zb_order_file_deinit(&file);
  zb_status status = zb_problem_check(problem);
  if (!status) status = zb_order_validate(problem, out); /* the program may have more edges than the file's chain */
  if (status) zb_order_deinit(out);
  return status;
}
