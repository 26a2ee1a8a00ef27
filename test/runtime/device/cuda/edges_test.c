/* Which events messages wait for, of a list by hand: a sum over two shards in the workspace, of which the rank at hand
 * adds up the second piece. Nothing but the accesses of the workspace orders its messages. */
#include "runtime/device/cuda/edges.h"
#include "test/suite.h"

enum { PIECE = 32, FIRST = 0, SECOND = PIECE, LANDING = 2 * PIECE, FRAME = 4 * PIECE };
enum { F0, SEND_FIRST, LAND, ADD, SEND_SUM, GATHER, F1, SEND_FRAME, LAND_AGAIN, JOBS };

static zb_plan_operand piece(uint32_t base, uint64_t offset, int pieces) {
  return (zb_plan_operand){
      .base = base, .offset = offset, .dtype = ZB_F32, .rank = 1, .shape = {pieces * PIECE / 4}, .strides = {1}};
}

static const zb_plan_range parts[] = {{FIRST, PIECE}, {LANDING, PIECE}, {SECOND, PIECE}, {FRAME, PIECE}};

static zb_plan_job post(zb_job_kind kind, int message, uint32_t part) {
  return (zb_plan_job){.kind = kind, .subprogram = -1, .message = message, .parts = {part, 1}};
}

static zb_plan_job compute(zb_job_kind kind, int subprogram) {
  return (zb_plan_job){.kind = kind, .subprogram = subprogram, .message = -1, .bases = {0, 1}};
}

/* The event that follows a job. */
static int behind(const zb_cuda_edges *edges, int job) { return edges->event[job + 1]; }

/* Whether a post waits for that message, on another channel, and for no other; -1: for none. */
static bool waits_for(const zb_cuda_edges *edges, int job, int message) {
  const zb_plan_slice *messages = &edges->messages[job];
  return message < 0 ? messages->count == 0 : messages->count == 1 && edges->pool[messages->begin] == message;
}

static void test_workspace(void) {
  uint64_t frame = FRAME;
  zb_plan_operand sums = piece(0, FIRST, 2), landed = piece(0, LANDING, 1), sum = piece(0, SECOND, 1),
                  kept = piece(1, 0, 1);
  zb_plan_instruction made = {
      .op = "matmul", .outputs = &sums, .output_count = 1, .scratch_offset = LANDING, .scratch_bytes = PIECE};
  zb_plan_instruction added = {.op = "accumulate_add",
                               .inputs = &landed,
                               .input_count = 1,
                               .outputs = &sum,
                               .output_count = 1,
                               .accumulate = true};
  zb_plan_instruction read = {
      .op = "reduce_sum", .inputs = &sums, .input_count = 1, .outputs = &kept, .output_count = 1};
  zb_plan_subprogram subprograms[] = {
      {.name = "F.0", .kind = ZB_JOB_F, .instructions = &made, .instruction_count = 1, .base_count = 1},
      {.name = "ADD", .kind = ZB_JOB_ADD, .instructions = &added, .instruction_count = 1, .base_count = 1},
      {.name = "F.1", .kind = ZB_JOB_F, .instructions = &read, .instruction_count = 1, .base_count = 1}};
  zb_plan_job jobs[JOBS] = {
      [F0] = compute(ZB_JOB_F, 0),    [SEND_FIRST] = post(ZB_JOB_SEND, 0, 0), [LAND] = post(ZB_JOB_RECV, 1, 1),
      [ADD] = compute(ZB_JOB_ADD, 1), [SEND_SUM] = post(ZB_JOB_SEND, 2, 2),   [GATHER] = post(ZB_JOB_RECV, 3, 0),
      [F1] = compute(ZB_JOB_F, 2),    [SEND_FRAME] = post(ZB_JOB_SEND, 4, 3), [LAND_AGAIN] = post(ZB_JOB_RECV, 5, 2),
  };
  zb_plan_message messages[6];
  zb_plan_rank ranks[2] = {{.jobs = jobs,
                            .job_count = JOBS,
                            .subprograms = subprograms,
                            .subprogram_count = 3,
                            .pool_ranges = (zb_plan_range *)(uintptr_t)parts,
                            .pool_u64 = &frame}};
  const zb_plan plan = {.rank_count = 2, .ranks = ranks, .messages = messages, .message_count = 6};
  for (int i = 0; i < 6; ++i)
    messages[i] = (zb_plan_message){.source = i % 2 ? 1 : 0, .destination = i % 2 ? 0 : 1};
  zb_cuda_edges edges;
  CU_ASSERT_PTR_NULL_FATAL(zb_cuda_edges_init(&plan, 0, &edges));
  CU_ASSERT(behind(&edges, F0) >= 0 && behind(&edges, ADD) >= 0 && behind(&edges, F1) >= 0);
  CU_ASSERT_EQUAL(edges.after[SEND_FIRST], behind(&edges, F0));
  CU_ASSERT_EQUAL(edges.after[LAND], behind(&edges, F0)); /* which had its scratch there */
  CU_ASSERT_EQUAL(edges.after[SEND_SUM], behind(&edges, ADD));
  CU_ASSERT_EQUAL(edges.after[GATHER], behind(&edges, F0));
  CU_ASSERT_EQUAL(edges.after[SEND_FRAME], behind(&edges, F1));
  CU_ASSERT_EQUAL(edges.after[LAND_AGAIN], behind(&edges, F1)); /* which only read there */
  CU_ASSERT(waits_for(&edges, SEND_FIRST, -1) && waits_for(&edges, LAND, -1) && waits_for(&edges, SEND_SUM, -1));
  CU_ASSERT(waits_for(&edges, GATHER, 0)); /* what comes lies where something is still sent from */
  CU_ASSERT(waits_for(&edges, SEND_FRAME, -1) && waits_for(&edges, LAND_AGAIN, 2));
  zb_cuda_edges_deinit(&edges);
}

SUITE_MAIN("cuda edges", {"a sum over shards in the workspace", test_workspace})
