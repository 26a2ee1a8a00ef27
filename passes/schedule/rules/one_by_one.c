/* One forward, one backward, with one chunk a rank: some forwards first (the warm-up), then both alternately.
 *
 * 1F1B: as many forwards first as there are stages from here to the end. PipeDream-Flush, Narayanan et al. 2021, arXiv
 * 2006.09503, section 3.2; Megatron-LM, arXiv 2104.04473, section 2.2.1. Bubble (p-1)(F+B+W), memory p-r micro-batches
 * on the rank of stage r.
 *
 * Eager 1F1B: 2(p-r)-1 forwards first, so that a message has a whole job's time to arrive. PaddlePaddle, pass
 * pipeline_scheduler_pass "Eager1F1B", defined for micro_batches >= that; where there are fewer, all forwards come
 * first. Equal to interleaved 1F1B with one chunk. Bubble (p-1)(F+B+W), memory 2(p-r)-1 micro-batches.
 *
 * ZB-H1: 1F1B with the backward split; rank r holds back r W jobs and fills the tail of the step with them. Qi, Wan,
 * Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 2.2 and figure 2. Bubble (p-1)(F+B-W)
 * for m >= p; memory (p-r) M_B + r M_W, that of 1F1B on the first rank.
 *
 * ZB-H2: eager 1F1B with the backward split and 2r W held back; section 2.3 and figure 3 there. By the stage metric the
 * step takes m(F+B+W) + (p-1)(F+B+2c-2W) for m >= 2p-1 and F+B >= 2W, c being a message; so none is lost at equal
 * times. Memory (2p-2r-1) M_B + 2r M_W.
 *
 * Tests: test/passes/schedule/schedules_test.c, looped_test.c, iclr24_test.c, charts/1f1b*.txt, zb_h1*.txt.
 */
#include "passes/schedule/rules/emit.h"

typedef struct manner {
  int depth;  /* 1: as many forwards first as 1F1B, 2: nearly twice */
  bool split; /* W apart from B, and stage s holds depth * s of them back */
} manner;

/* Forwards that the rank of a stage runs first. */
static int warmup(const zb_problem *problem, int stage, int depth) {
  return depth * (problem->stages - stage) - (depth - 1);
}

static void emit_position(zb_emitter *e, int stage, const void *how) {
  const manner *m = how;
  for (int i = 0; i < warmup(e->problem, stage, m->depth); ++i)
    zb_emit(e, 0, ZB_F);
  for (int b = 0; b < e->micro_batches; ++b) {
    zb_emit(e, 0, ZB_B);
    if (!m->split || b >= m->depth * stage) zb_emit_oldest_w(e);
    zb_emit(e, 0, ZB_F);
  }
  zb_emit_rest_w(e);
}

static double whole_bound(const zb_problem *problem, int rank, int depth) {
  return zb_min_int(warmup(problem, zb_rank_position(problem, rank), depth), problem->micro_batches);
}

static double split_bound(const zb_problem *problem, int rank, int depth) {
  const int stage = zb_rank_position(problem, rank);
  return zb_held_memory_bound(problem, rank, warmup(problem, stage, depth), depth * stage, 1);
}

/* A row: its depth, whether it splits the backward, and the bound of its memory. */
#define ROW(c_name, row_name, row_depth, row_split, bound, text)                                                       \
  static zb_status emit_##c_name(const zb_problem *problem, const int64_t *options, zb_order *out) {                   \
    (void)options;                                                                                                     \
    return zb_emit_all(problem, emit_position, &(manner){row_depth, row_split}, out);                                  \
  }                                                                                                                    \
  static double bound_##c_name(const zb_problem *problem, int rank) { return bound(problem, rank, row_depth); }        \
  const zb_schedule_def zb_schedule_##c_name = {                                                                       \
      .name = row_name,                                                                                                \
      .summary = text,                                                                                                 \
      ZB_PLACED_PLAIN,                                                                                                 \
      .splits_backward = row_split,                                                                                    \
      .emit = emit_##c_name,                                                                                           \
      .memory_bound = bound_##c_name,                                                                                  \
  }

ROW(1f1b, "1f1b", 1, false, whole_bound,
    "one forward, one backward after a short warm-up (PipeDream-Flush, arXiv 2006.09503, section 3.2); one chunk a "
    "rank");
ROW(eager_1f1b, "eager-1f1b", 2, false, whole_bound,
    "1F1B with 2(p-r)-1 forwards first, which hides messages (PaddlePaddle's Eager1F1B); one chunk a rank");
ROW(zb_h1, "zb-h1", 1, true, split_bound,
    "1F1B with W held back to fill the tail, at the memory of 1F1B (Zero Bubble, arXiv 2401.10241, section 2.2); one "
    "chunk a rank");
ROW(zb_h2, "zb-h2", 2, true, split_bound,
    "no bubble at equal times where ranks need not wait for each other, at nearly twice the memory of 1F1B (Zero "
    "Bubble, arXiv 2401.10241, section 2.3); one chunk a rank");
