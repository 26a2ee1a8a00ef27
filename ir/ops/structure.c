/* Ops of the compiler and the plan: frames, accumulators, inputs, communication. They carry values of any type.
 *
 * None is pure: merging two empty frames, two accumulators or two receives would make one buffer of two.
 *
 * Tests: test/ir/dialect_test.c (IRDL), test/ir/ops/structure.mlir.
 */
#include "ir/ops/support.h"

#define OFFSET_ATTRS ZB_ATTRS({"offset", ZB_ATTR_INT, false, 0, "bytes from the start of the frame: offset = 64 : i64"})
#define MESSAGE_ATTRS                                                                                                  \
  ZB_ATTRS({"peer", ZB_ATTR_INT, false, 0, "rank at the other end: peer = 0 : i64"},                                   \
           {"message", ZB_ATTR_INT, true, ZB_NO_DEFAULT,                                                               \
            "number of the message; of programs of zb-insert-comm: zb.posts of the rank"},                             \
           {"part", ZB_ATTR_INT, true, 0, "number of this value in the message, from 0"})

const zb_op_def zb_op_empty_frame = {
    .name = "empty_frame",
    .summary = "A frame before anything is put into it.",
    .doc = "",
    .results = "frame",
    .irdl = "    %frame = irdl.base @zb::@frame\n"
            "    irdl.results(frame: %frame)\n",
    .op_class = ZB_CLASS_STRUCTURE,
};

const zb_op_def zb_op_put = {
    .name = "put",
    .summary = "The frame with value stored at offset.",
    .doc = "C1: value lies within the frame.\n", /* checked by ir/verify.c: frames are no shapes */
    .operands = "frame, value",
    .results = "out",
    .irdl = "    %frame = irdl.base @zb::@frame\n"
            "    %value = irdl.any\n"
            "    irdl.operands(frame: %frame, value: %value)\n"
            "    irdl.results(out: %frame)\n",
    .attrs = OFFSET_ATTRS,
    .op_class = ZB_CLASS_STRUCTURE,
};

const zb_op_def zb_op_get = {
    .name = "get",
    .summary = "The value stored in the frame at offset.",
    .doc = "C1: value lies within the frame.\n",
    .operands = "frame",
    .results = "value",
    .irdl = "    %frame = irdl.base @zb::@frame\n"
            "    %value = irdl.any\n"
            "    irdl.operands(frame: %frame)\n"
            "    irdl.results(value: %value)\n",
    .attrs = OFFSET_ATTRS,
    .op_class = ZB_CLASS_STRUCTURE,
};

const zb_op_def zb_op_zeros = {
    .name = "zeros",
    .summary = "The accumulators of a rank before the first micro-batch.",
    .doc = "",
    .results = "out",
    .irdl = "    %out = irdl.any\n"
            "    irdl.results(out: %out)\n",
    .op_class = ZB_CLASS_STRUCTURE,
};

const zb_op_def zb_op_read = {
    .name = "read",
    .summary = "An input of the model, from the data.",
    .doc = "",
    .results = "value",
    .attrs = ZB_ATTRS({"input", ZB_ATTR_STRING, false, 0, "name of the input: input = \"x\""}),
    .op_class = ZB_CLASS_STRUCTURE,
};

const zb_op_def zb_op_send = {
    .name = "send",
    .summary = "Sends a value to a rank.",
    .doc = "",
    .operands = "value",
    .irdl = "    %value = irdl.any\n"
            "    irdl.operands(value: %value)\n",
    .attrs = MESSAGE_ATTRS,
    .op_class = ZB_CLASS_STRUCTURE,
};

const zb_op_def zb_op_recv = {
    .name = "recv",
    .summary = "Receives a value from a rank.",
    .doc = "",
    .results = "value",
    .irdl = "    %value = irdl.any\n"
            "    irdl.results(value: %value)\n",
    .attrs = MESSAGE_ATTRS,
    .op_class = ZB_CLASS_STRUCTURE,
};

const zb_op_def zb_op_report = {
    .name = "report",
    .summary = "Gives a scalar (the loss of a micro-batch) to the caller of the step.",
    .doc = "",
    .operands = "value",
    .attrs = ZB_ATTRS({"name", ZB_ATTR_STRING, false, 0, "name = \"loss\""}),
    .op_class = ZB_CLASS_STRUCTURE,
};
