/* The steps of DualPipe: two chunks of a rank, F of one beside B of the other.
 *
 * DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", arXiv 2412.19437, section 3.2.1, and the DualPipe repository
 * (deepseek-ai/DualPipe); DualPipeV is its cut in half by Sea AI Lab, in the same repository. Its bubble is
 * (half-1)(F&B + B - 3W), with B the whole backward and F&B the time of both side by side; here jobs of a rank run one
 * after the other, so F&B = F + B. "Zero bubble" backwards are split, their W goes to a queue; the others have
 * their W directly behind them, and the gradient leaves before it. Tests: test/passes/schedule/v_schedules_test.c.
 */
#include "passes/schedule/rules/dual_steps.h"

void zb_dual_steps(zb_emitter *e, const zb_dual_rank *rank) {
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
