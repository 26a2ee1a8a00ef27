/* DualPipe and DualPipeV: two chunks of a rank, F of one beside B of the other.
 *
 * DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", arXiv 2412.19437, section 3.2.1, and the DualPipe repository
 * (deepseek-ai/DualPipe); DualPipeV is its cut in half by Sea AI Lab, in the same repository. The bubble of DualPipe is
 * (half-1)(F&B + B - 3W), with B the whole backward and F&B the time of both side by side; here jobs of a rank run one
 * after the other, so F&B = F + B. "Zero bubble" backwards are split, their W goes to a queue; the others have their W
 * directly behind them, and the gradient leaves before it.
 *
 * DualPipe runs two pipelines in opposite directions over the same ranks, every stage on two of them. Stages 0..P-1 go
 * down the ranks and P..2P-1, their copies, up: the V placement without the edge P-1 -> P. micro_batches is the number
 * of one direction, half of the published m. It is defined for even P and P or more of them.
 *
 * DualPipeV has every stage once, on the V placement. Memory p+1/2 micro-batches, p+1 as published. It is defined for m
 * >= 2p.
 *
 * For fewer micro-batches both are made for the least that they are defined for, and all jobs of micro-batches that are
 * not there are dropped: what is left keeps its order, so it still ends. Tests:
 * test/passes/schedule/v_schedules_test.c, charts/dualpipe.txt, dualpipev.txt.
 */
#include "passes/schedule/rules/emit.h"

typedef struct dual_rank {
  int half;          /* ranks from an end to the middle */
  int distance;      /* of this rank to its end: 0..half-1 */
  int micro_batches; /* the number that the order is made for, of each chunk: 2 * half or more */
  int early;         /* the chunk that the steps call 0; the other one is 1 */
} dual_rank;

/* The eight steps that both have in common; micro-batches that do not exist are left out. */
static void emit_steps(zb_emitter *e, const dual_rank *rank) {
  const int one = rank->early, two = 1 - rank->early;
  const int inner = rank->half - rank->distance - 1, outer = rank->distance + 1;
  for (int i = 0; i < 2 * inner; ++i)
    zb_emit(e, one, ZB_F);
  for (int i = 0; i < outer; ++i) {
    zb_emit(e, one, ZB_F);
    zb_emit(e, two, ZB_F);
  }
  for (int i = 0; i < inner; ++i) {
    zb_emit_backward(e, two);
    zb_emit(e, two, ZB_F);
  }
  const int main_pairs = rank->micro_batches - 2 * rank->half + outer;
  for (int i = 0; i < main_pairs; ++i) {
    zb_emit(e, one, ZB_F);
    zb_emit_backward(e, two);
    zb_emit(e, two, ZB_F);
    zb_emit_backward(e, one);
  }
  for (int i = 0; i < inner; ++i) {
    zb_emit_backward(e, two);
    zb_emit(e, two, ZB_F);
    zb_emit_backward(e, one);
  }
  /* The second half of these backwards is split, and so are all that follow. */
  for (int i = 0; i < 2 * outer; ++i) {
    const int chunk = i % 2 ? one : two;
    if (i < outer)
      zb_emit_backward(e, chunk);
    else
      zb_emit(e, chunk, ZB_B);
  }
  for (int i = 0; i < inner; ++i) {
    zb_emit_oldest_w(e);
    zb_emit(e, one, ZB_B);
  }
  zb_emit_rest_w(e);
}

static void emit_dualpipe(zb_emitter *e, int position, const void *how ZB_UNUSED) {
  const int p = e->ranks;
  emit_steps(e, &(dual_rank){.half = p / 2,
                             .distance = zb_min_int(position, p - 1 - position),
                             .micro_batches = zb_max_int(e->micro_batches, p),
                             .early = position >= p / 2});
}

static void emit_dualpipev(zb_emitter *e, int position, const void *how ZB_UNUSED) {
  const int p = e->ranks;
  emit_steps(e, &(dual_rank){.half = p, .distance = position, .micro_batches = zb_max_int(e->micro_batches, 2 * p)});
}

/* No value goes from one pipeline to the other. */
static zb_status check_edges(const zb_problem *problem) {
  const int p = problem->ranks;
  for (int i = 0; i < (problem->edges ? problem->edge_count : 1); ++i) {
    const zb_edge edge = problem->edges ? problem->edges[i] : (zb_edge){p - 1, p, 0, 0};
    if (edge.source >= p || edge.destination < p) continue;
    return zb_status_hint(ZB_ERROR(USAGE,
                                   "dualpipe runs two pipelines, stages 0..%d and %d..%d: expected no edge between "
                                   "them, got %d -> %d",
                                   p - 1, p, 2 * p - 1, edge.source, edge.destination),
                          "list the edges of two chains; or use dualpipev, which runs one pipeline on the same ranks");
  }
  return NULL;
}

static zb_status emit_two(const zb_problem *problem, const int64_t *options ZB_UNUSED, zb_order *out) {
  const int p = problem->ranks;
  if (p % 2)
    return zb_status_hint(ZB_ERROR(USAGE, "dualpipe is defined for an even number of ranks, got %d", p),
                          "use %d or %d ranks, or dualpipev", p + 1, p > 1 ? p - 1 : 2);
  ZB_TRY(check_edges(problem));
  return zb_emit_all(problem, emit_dualpipe, NULL, out);
}

static zb_status emit_one(const zb_problem *problem, const int64_t *options ZB_UNUSED, zb_order *out) {
  return zb_emit_all(problem, emit_dualpipev, NULL, out);
}

/* DualPipe holds at most P+1 micro-batches. A micro-batch passes only one of the two pipelines, so on this rank it
 * keeps only one of the two chunks. The unit here is one chunk; zb_v_memory_bound counts in both: hence the 2. */
static double bound_two(const zb_problem *problem, int rank) {
  return 2 * zb_v_memory_bound(problem, rank, problem->ranks + 1);
}
static double bound_one(const zb_problem *problem, int rank) {
  return zb_v_memory_bound(problem, rank, 2 * problem->ranks + 1);
}

const zb_schedule_def zb_schedule_dualpipev = {
    .name = "dualpipev",
    .summary = "forwards of one chunk beside backwards of the other, each stage once (DeepSeek-V3, arXiv 2412.19437; "
               "cut in half by Sea AI Lab); V placement",
    ZB_PLACED_V,
    .splits_backward = true,
    .emit = emit_one,
    .memory_bound = bound_one,
};
const zb_schedule_def zb_schedule_dualpipe = {
    .name = "dualpipe",
    .summary = "two pipelines in opposite directions, every stage on two ranks (DeepSeek-V3, arXiv 2412.19437, section "
               "3.2.1); an even number of ranks; simulated, not trained",
    ZB_PLACED_V,
    .splits_backward = true,
    .two_pipelines = true,
    .emit = emit_two,
    .memory_bound = bound_two,
};
