/* Writes and reads orders as files, for test/e2e/pytorch_schedules.py.
 *
 *   order_files list                               one line a schedule: NAME PLACEMENT CHUNKS_MIN CHUNKS_MAX
 * TWO_PIPELINES order_files write NAME PLACEMENT RANKS CHUNKS MICRO_BATCHES FORM STYLE OUT exit status 3: the schedule
 * is not defined for these numbers order_files read IN OUT                        OUT gets IN again, standard output
 * what it is and its score
 *
 * FORM: text, only, comms. STYLE: letters, w: whole backwards, i: idle cells, -: none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zb/schedule.h"

enum { NOT_DEFINED = 3 };
static const char *const forms[ZB_FORM_COUNT] = {"text", "only", "comms"};

static int finish(zb_status status) {
  if (status) fprintf(stderr, "order_files: %s", zb_status_text(status));
  const int result = zb_status_exit(status);
  zb_status_free(status);
  return result;
}

static int list(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *s = zb_schedule_at(i);
    printf("%s %s %d %d %d\n", s->name, s->placement, s->chunks_min, s->chunks_max, s->two_pipelines);
  }
  return 0;
}

/* F, B and W of a rank take 20, 18 and 9, a message 1. */
static void fill(zb_problem *problem, zb_stage_cost *costs) {
  const int chunks = problem->stages / problem->ranks;
  for (int stage = 0; stage < problem->stages; ++stage)
    costs[stage] = (zb_stage_cost){.time_ps = {20000 / chunks, 18000 / chunks, 9000 / chunks},
                                   .keep_bytes = {100, 0, 0},
                                   .free_bytes = {0, 60, 40}};
  problem->costs = costs;
  problem->link_latency_ps = 1000;
}

static int write_order(char **words) {
  zb_problem problem = {.ranks = atoi(words[2]), .micro_batches = atoi(words[4])};
  const int chunks = atoi(words[3]);
  problem.stages = problem.ranks * chunks;
  int *stage_rank = zb_alloc((size_t)problem.stages * sizeof *stage_rank);
  zb_stage_cost *costs = zb_alloc((size_t)problem.stages * sizeof *costs);
  if (!stage_rank || !costs) return finish(ZB_OUT_OF_MEMORY());
  zb_order_style style = {
      .whole_backward = strchr(words[6], 'w'), .idle_cells = strchr(words[6], 'i'), .no_waits = strchr(words[6], 'o')};
  for (int form = 0; form < ZB_FORM_COUNT; ++form)
    if (!strcmp(forms[form], words[5])) style.form = (zb_order_form)form;
  zb_order order = {0};
  zb_status status = zb_placement(words[1], problem.ranks, chunks, stage_rank);
  problem.stage_rank = stage_rank;
  fill(&problem, costs);
  zb_schedule_choice choice;
  if (!status) status = zb_schedule_parse(words[0], &choice);
  if (!status) status = zb_schedule_run_choice(&choice, &problem, &order);
  const bool undefined = zb_status_code(status) == ZB_USAGE;
  if (!status) status = zb_order_write_file(&problem, &order, &style, words[7]);
  zb_order_deinit(&order);
  zb_free(stage_rank);
  zb_free(costs);
  const int result = finish(status);
  return undefined ? NOT_DEFINED : result;
}

static zb_status score(const zb_order_file *file) {
  zb_problem problem = {.ranks = file->order.ranks,
                        .micro_batches = file->micro_batches,
                        .stages = file->stages,
                        .stage_rank = file->stage_rank};
  zb_stage_cost *costs = zb_alloc((size_t)problem.stages * sizeof *costs);
  zb_simulation simulation = {0};
  if (!costs) return ZB_OUT_OF_MEMORY();
  fill(&problem, costs);
  zb_status status = zb_order_validate(&problem, &file->order);
  if (!status) status = zb_simulate(&problem, &file->order, &simulation);
  if (!status)
    printf("%s ranks=%d stages=%d micro_batches=%d whole=%d renumbered=%d step=%lld bubble=%.6f\n", forms[file->form],
           problem.ranks, problem.stages, problem.micro_batches, file->order.whole_backward,
           file->file_micro_batch != NULL, (long long)simulation.step_ps, simulation.bubble_barrier);
  zb_simulation_deinit(&simulation);
  zb_free(costs);
  return status;
}

static int read_order(const char *from, const char *to) {
  zb_order_file file;
  zb_status status = zb_order_read_file(from, NULL, &file);
  if (!status) status = score(&file);
  char *text = status ? NULL : zb_order_file_text(&file);
  if (text) {
    FILE *out = fopen(to, "wb");
    if (!out || fputs(text, out) < 0 || fclose(out)) status = ZB_ERROR(IO, "cannot write '%s'", to);
  } else if (!status) {
    status = ZB_OUT_OF_MEMORY();
  }
  zb_free(text);
  zb_order_file_deinit(&file);
  return finish(status);
}

int main(int count, char **words) {
  if (count == 2 && !strcmp(words[1], "list")) return list();
  if (count == 10 && !strcmp(words[1], "write")) return write_order(words + 2);
  if (count == 4 && !strcmp(words[1], "read")) return read_order(words[2], words[3]);
  fprintf(stderr, "usage: order_files list | write ... | read IN OUT\n");
  return 2;
}
