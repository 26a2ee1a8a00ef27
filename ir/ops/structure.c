/* Ops of the compiler and the plan: frames, accumulators, inputs, communication. They carry values of any type.
 *
 * None but by_mode is pure: merging two empty frames, two accumulators or two receives would make one buffer of two.
 *
 * Tests: test/ir/dialect_test.c (IRDL), test/ir/ops/structure.mlir.
 */
#include <inttypes.h>

#include "ir/ops/support.h"

#define OFFSET_ATTRS ZB_ATTRS({"offset", ZB_ATTR_INT, false, 0, "bytes from the start of the frame: offset = 64 : i64"})
#define MESSAGE_ATTRS                                                                                                  \
  ZB_ATTRS({"peer", ZB_ATTR_INT, false, 0, "rank at the other end: peer = 0 : i64"},                                   \
           {"message", ZB_ATTR_INT, true, ZB_NO_DEFAULT,                                                               \
            "number of the message; of programs of zb-insert-comm: zb.posts of the rank"},                             \
           {"part", ZB_ATTR_INT, true, 0, "number of this value in the message, from 0"})

const zb_op_def zb_op_empty_frame = {
    ZB_ROW(empty_frame),
    .summary = "A frame before anything is put into it.",
    .doc = "",
    .results = "frame",
    .irdl = "    %frame = irdl.base @zb::@frame\n"
            "    irdl.results(frame: %frame)\n",
};

const zb_op_def zb_op_put = {
    ZB_ROW(put),
    .summary = "The frame with value stored at offset.",
    .doc = "C1: value lies within the frame.\n", /* checked by ir/verify.c: frames are no shapes */
    .operands = "frame, value",
    .results = "out",
    .irdl = "    %frame = irdl.base @zb::@frame\n"
            "    %value = irdl.any\n"
            "    irdl.operands(frame: %frame, value: %value)\n"
            "    irdl.results(out: %frame)\n",
    .attrs = OFFSET_ATTRS,
};

const zb_op_def zb_op_get = {
    ZB_ROW(get),
    .summary = "The value stored in the frame at offset.",
    .doc = "C1: value lies within the frame.\n",
    .operands = "frame",
    .results = "value",
    .irdl = "    %frame = irdl.base @zb::@frame\n"
            "    %value = irdl.any\n"
            "    irdl.operands(frame: %frame)\n"
            "    irdl.results(value: %value)\n",
    .attrs = OFFSET_ATTRS,
};

const zb_op_def zb_op_zeros = {
    ZB_ROW(zeros),
    .summary = "The accumulators of a rank before the first micro-batch.",
    .doc = "",
    .results = "out",
    .irdl = "    %out = irdl.any\n"
            "    irdl.results(out: %out)\n",
};

/* ---- by_mode ---- */

static zb_result infer_by_mode(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = op->operands[0];
  return zb_check_same_type(op, 1, 0, "C1", error);
}

static void grad_by_mode(zb_gradient *g) {
  if (g->needs[0]) g->din[0] = g->dout[0];
}

const zb_op_def zb_op_by_mode = {
    ZB_ROW(by_mode),
    .summary = "One value in a step, another in an evaluation.",
    .doc = "C1: both operands have one type.\n",
    .operands = "training, evaluation",
    .results = "out",
    .traits = ZB_TRAIT_PURE,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_by_mode,
    .grad = grad_by_mode,
    .place = zb_place_elementwise,
};

const zb_op_def zb_op_read = {
    ZB_ROW(read),
    .summary = "An input of the model, from the data.",
    .doc = "",
    .results = "value",
    .attrs = ZB_ATTRS({"input", ZB_ATTR_STRING, false, 0, "name of the input: input = \"x\""}),
};

const zb_op_def zb_op_send = {
    ZB_ROW(send),
    .summary = "Sends a value to a rank.",
    .doc = "",
    .operands = "value",
    .irdl = "    %value = irdl.any\n"
            "    irdl.operands(value: %value)\n",
    .attrs = MESSAGE_ATTRS,
};

const zb_op_def zb_op_recv = {
    ZB_ROW(recv),
    .summary = "Receives a value from a rank.",
    .doc = "",
    .results = "value",
    .irdl = "    %value = irdl.any\n"
            "    irdl.results(value: %value)\n",
    .attrs = MESSAGE_ATTRS,
};

/* Counts are one a member, and those of the others are the results. */
static zb_result infer_all_gather(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_attr *members = zb_attr_ints(op, "members"), *counts = zb_attr_ints(op, "counts");
  const int64_t place = zb_attr_int(&op->attrs, "place", 0);
  int64_t others = 0;
  if (members->count < 2 || counts->count != members->count || place < 0 || place >= members->count)
    return zb_op_fail(error, NULL, "expected two members or more, a count for each, and the place of one of them (C1)");
  const int64_t *ranks = members->ints, *each = counts->ints;
  for (int m = 0; m < members->count; ++m) {
    if (ranks[m] < 0 || (m && ranks[m] <= ranks[m - 1]))
      return zb_op_fail(error, NULL, "expected members that rise: members = array<i64: 0, 2, 3> (C2)");
    if (each[m] < 0) return zb_op_fail(error, NULL, "a member cannot give %" PRId64 " values (C3)", each[m]);
    others += m == place ? 0 : each[m];
  }
  if (op->operand_count != each[place] || op->result_count != others)
    return zb_op_fail(error, NULL, "expected %" PRId64 " values of its own and %" PRId64 " of others (C3)", each[place],
                      others);
  for (int i = 0; i < op->result_count && op->operand_count; ++i)
    results[i] = op->operands[0];
  return ZB_OK;
}

const zb_op_def zb_op_all_gather = {
    ZB_ROW(all_gather),
    .summary = "Gives values to all members of a group, and gets those of the others.",
    .doc = "C1: there are two members or more, each has a count, and place is one of them. C2: members rise. C3: the "
           "operands are as many as the own count, the results as many as the counts of the others, in the order of "
           "members. All values have one type.\n",
    .operands = "own*",
    .results = "others*",
    .irdl = "    %value = irdl.any\n"
            "    irdl.operands(own: variadic %value)\n"
            "    irdl.results(others: variadic %value)\n",
    .attrs = ZB_ATTRS({"members", ZB_ATTR_INTS, false, 0, "ranks, rising: members = array<i64: 0, 2, 3>"},
                      {"counts", ZB_ATTR_INTS, false, 0, "values that each member gives: counts = array<i64: 1, 2, 1>"},
                      {"place", ZB_ATTR_INT, false, 0, "which of the members this rank is, from 0: place = 1 : i64"}),
    .infer = infer_all_gather,
};

const zb_op_def zb_op_gather_frame = {
    ZB_ROW(gather_frame),
    .summary = "Gives parts of a frame to all members of a group, and gets the parts of the others.",
    .doc = "",
    .operands = "frame",
    .results = "out",
    .irdl = "    %frame = irdl.base @zb::@frame\n"
            "    irdl.operands(frame: %frame)\n"
            "    irdl.results(out: %frame)\n",
};

const zb_op_def zb_op_gather_parameters = {
    ZB_ROW(gather_parameters),
    .summary = "Brings the parts that all replicas have of parameters into one frame.",
    .doc =
        "`parameters` is the frame that has the own parts; those of copies in another type are constants, which change "
        "when it does. Without it the rank updates none.\n",
    .operands = "parameters?",
    .results = "out",
    .irdl = "    %parameters = irdl.base @zb::@frame\n"
            "    %out = irdl.base @zb::@frame\n"
            "    irdl.operands(parameters: optional %parameters)\n"
            "    irdl.results(out: %out)\n",
};

const zb_op_def zb_op_reduce_frame = {
    ZB_ROW(reduce_frame),
    .summary = "Adds parts of a frame to those of the other replicas of the rank; all get the sums.",
    .doc =
        "The sums are left folds in the order of replicas. What the others send lands in `landing` until the frame is "
        "used. With `from`, a frame of gradients of one micro-batch, it is those that are summed, and added to the "
        "frame. Of a frame of norms it may be the greatest of each, as the norm is.\n",
    .operands = "frame, from?",
    .results = "out, landing",
    .irdl = "    %frame = irdl.base @zb::@frame\n"
            "    %from = irdl.base @zb::@frame\n"
            "    %landing = irdl.any\n"
            "    irdl.operands(frame: %frame, from: optional %from)\n"
            "    irdl.results(out: %frame, landing: %landing)\n",
};

const zb_op_def zb_op_report = {
    ZB_ROW(report),
    .summary = "Gives a scalar (the loss of a micro-batch), or an output of an evaluation, to who asked for it.",
    .doc = "",
    .operands = "value",
    .attrs = ZB_ATTRS({"name", ZB_ATTR_STRING, false, 0, "name = \"loss\""},
                      {"is_output", ZB_ATTR_BOOL, true, 0, "whether it is an output of an evaluation"}),
};

const zb_op_def zb_op_snapshot = {
    ZB_ROW(snapshot),
    .summary = "Keeps what the step overwrites before its verdict is known, so that it can be taken back.",
    .doc = "",
};

const zb_op_def zb_op_verdict = {
    ZB_ROW(verdict),
    .summary = "Where the rank must know whether the step before was clipped.",
    .doc = "",
};
