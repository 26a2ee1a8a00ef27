/* Charts as text, one line per rank: what zb-sched --chart prints and test files hold.
 *
 *   F0 F1 F2 .. .. B0 W0 F3        one cell per job, or per common unit of time; ".." is idle
 *   F0--F1--F2--......B0--W0--     to scale, where there would be more such cells than columns
 *   from 1.000 ms                  to scale in parts, one below the other, where the labels need more columns
 *   FFFFFBBBWFFFB..                only the letters of kinds, where labels would need more than PARTS_MAX parts
 *
 * With one stage per rank the labels leave the stage out: each line is one stage. Tests:
 * test/passes/schedule/chart_test.c, charts/.
 */
#include <stdio.h>
#include <string.h>

#include "passes/schedule/model.h"
#include "runtime/base/text.h"

enum { COLUMNS_DEFAULT = 100 };
/* Most parts of a chart to scale. */
enum { PARTS_MAX = 12 };

static void label(const zb_problem *problem, zb_job job, char text[32]) {
  if (problem->stages == problem->ranks)
    snprintf(text, 32, "%c%d", zb_kind_letter(job.kind), job.micro_batch);
  else
    zb_job_text(job, text);
}

static int label_width(const zb_problem *problem, const zb_order *order) {
  int width = 2;
  char text[32];
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i) {
      label(problem, order->jobs[rank][i], text);
      if ((int)strlen(text) > width) width = (int)strlen(text);
    }
  return width;
}

/* The longest time of which all starts and ends are multiples. */
static int64_t common_unit(const zb_order *order, const zb_simulation *simulation) {
  int64_t unit = simulation->step_ps;
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank] && unit > 1; ++i)
      unit = zb_common_divisor(zb_common_divisor(unit, simulation->jobs[rank][i].start_ps),
                               simulation->jobs[rank][i].end_ps);
  return unit > 0 ? unit : 1;
}

static void trim(zb_text *text) {
  while (text->length && text->data && text->data[text->length - 1] == ' ')
    text->data[--text->length] = '\0';
}

/* Cells of equal time: a job over several of them is filled up with dashes. */
static void add_cells(zb_text *out, const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                      int64_t unit, int width) {
  const int cells = (int)(simulation->step_ps / unit);
  for (int rank = 0; rank < order->ranks; ++rank) {
    int cell = 0;
    for (int i = 0; i < order->counts[rank]; ++i) {
      const int start = (int)(simulation->jobs[rank][i].start_ps / unit),
                end = (int)(simulation->jobs[rank][i].end_ps / unit);
      char text[32];
      for (; cell < start; ++cell)
        zb_text_add(out, "..%*s", width - 1, "");
      if (end == start) continue; /* takes no time */
      label(problem, order->jobs[rank][i], text);
      zb_text_add(out, "%s", text);
      const int fill = (end - start) * (width + 1) - 1 - (int)strlen(text);
      for (int k = 0; k < fill; ++k)
        zb_text_add(out, end - start > 1 ? "-" : " ");
      zb_text_add(out, " ");
      cell = end;
    }
    for (; cell < cells; ++cell)
      zb_text_add(out, "..%*s", width - 1, "");
    trim(out);
    zb_text_add(out, "\n");
  }
}

static void add_time(zb_text *out, int64_t ps) {
  static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
  double value = (double)ps;
  int unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  zb_text_add(out, "%.*f %s", unit ? 3 : 0, value, units[unit]);
}

/* How many columns the step takes if every label has room, and `more` behind it. */
static double columns_for_labels(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                                 int more) {
  double scale = 0;
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job_times times = simulation->jobs[rank][i];
      char text[32];
      label(problem, order->jobs[rank][i], text);
      const double time = (double)(times.end_ps - times.start_ps), wanted = (double)strlen(text) + more;
      if (time > 0 && wanted / time > scale) scale = wanted / time;
    }
  return scale * (double)simulation->step_ps;
}

/* The jobs of a rank, `columns` wide; without labels every column of a job is its kind. */
static void draw_rank(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation, int rank,
                      int columns, bool labels, char *line) {
  const double scale = columns / (double)simulation->step_ps;
  memset(line, '.', (size_t)columns);
  for (int i = 0; i < order->counts[rank]; ++i) {
    const int start = (int)((double)simulation->jobs[rank][i].start_ps * scale);
    int end = (int)((double)simulation->jobs[rank][i].end_ps * scale);
    char text[32];
    if (end > columns) end = columns;
    label(problem, order->jobs[rank][i], text);
    const size_t kind_at = strcspn(text, "FBW");
    for (int k = start; k < end; ++k)
      line[k] = !labels ? text[kind_at] : (size_t)(k - start) < strlen(text) ? text[k - start] : '-';
  }
}

static void add_scaled(zb_text *out, const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                       int columns) {
  const double wanted = columns_for_labels(problem, order, simulation, 1);
  const bool labels = wanted <= (double)PARTS_MAX * columns;
  const bool fits = columns_for_labels(problem, order, simulation, 0) <= columns;
  const int parts = fits || !labels ? 1 : (int)(wanted / columns) + 1, all = parts * columns;
  char *lines = zb_alloc((size_t)order->ranks * (size_t)all);
  if (!lines) {
    out->failed = true;
    return;
  }
  for (int rank = 0; rank < order->ranks; ++rank)
    draw_rank(problem, order, simulation, rank, all, labels, &lines[(size_t)rank * (size_t)all]);
  for (int part = 0; part < parts; ++part) {
    if (parts > 1) {
      zb_text_add(out, "%sfrom ", part ? "\n" : "");
      add_time(out, (int64_t)((double)simulation->step_ps / parts * part));
      zb_text_add(out, "\n");
    }
    for (int rank = 0; rank < order->ranks; ++rank)
      zb_text_add(out, "%.*s\n", columns, &lines[(size_t)rank * (size_t)all + (size_t)part * (size_t)columns]);
  }
  zb_free(lines);
}

/* Jobs of one unit, messages free: one column a job. False if the order cannot finish or memory is out. */
static bool simulate_units(const zb_problem *problem, const zb_order *order, zb_simulation *out) {
  zb_arena arena = {0};
  zb_problem units;
  zb_status status = zb_unit_problem(problem, &arena, &units);
  if (!status) status = zb_simulate(&units, order, out);
  zb_arena_deinit(&arena);
  const bool ok = !status;
  zb_status_free(status);
  return ok;
}

char *zb_order_chart(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation, int columns) {
  zb_simulation units = {0};
  const bool timed = simulation != NULL;
  if (!timed) {
    if (!simulate_units(problem, order, &units)) return zb_order_marked(order, -1, -1);
    simulation = &units;
  }
  zb_text out = {0};
  if (columns <= 0) columns = COLUMNS_DEFAULT;
  const int width = label_width(problem, order);
  const int64_t unit = timed ? common_unit(order, simulation) : 1;
  if (!timed || simulation->step_ps / unit <= columns / (width + 1))
    add_cells(&out, problem, order, simulation, unit, width);
  else
    add_scaled(&out, problem, order, simulation, columns);
  zb_text_add(&out, "step=");
  if (timed)
    add_time(&out, simulation->step_ps);
  else
    zb_text_add(&out, "%lld", (long long)simulation->step_ps);
  zb_text_add(&out, " barrier bubble=%.1f%% stage bubble=%.1f%%\n", 100 * simulation->bubble_barrier,
              100 * simulation->bubble_stage);
  zb_simulation_deinit(&units);
  return zb_text_take(&out);
}
