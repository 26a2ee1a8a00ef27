#!/usr/bin/env python3
"""Gradients of imported operators against finite differences, by zbc and zb-run alone.

    onnx_gradients.py [--bin BUILD/bin] [--only GLOB] [--seed N]

Of each case of test/ir/import (cases.json) that CASES names, the input x becomes x = p.x + 0 with a parameter p.x: one
step of SGD with a learning rate of 1 gives its gradient, and losses of an evaluation on both sides of x, along
directions drawn at random, the slope that it must have. Ends with "N passed, N failed".
"""
import base64
import fnmatch
import json
import os
import random
import struct
import sys

import common
from onnx_nodes import Tensor, fields, message, varint, write_safetensors

CASES = ("top-k*", "reverse-sequence*", "depth-to-space*", "space-to-depth*", "instance-norm*", "group-norm*",
         "mean-variance*", "pad-edge", "pad-reflect", "slice-backwards", "einsum-*", "weighted-*", "rotary*", "if-*",
         "loop-*", "scan-*", "function", "softmax-two", "log-softmax-two", "scatter-old", "gather-nd*", "attention*",
         "rms-norm*", "gelu*", "cumsum*",
         "rnn-*", "gru-*", "lstm-*", "resize-cubic-half_pixel*",
         "resize-linear-asymmetric*", "resize-nearest-half_pixel", "resize-*-crop",
         "resize-*-antialias", "upsample-linear", "lrn", "lp-norm*", "max-unpool", "grid-*")
# Of integers: no gradient; x is no input, or the loss does not need it; bounds that a step crosses.
FLAT = ("top-k-places", "*folded*", "resize-integers", "attention-past-keys", "attention-past-values", "*-clip")
STEP, TOLERANCE, DIRECTIONS = 0.01, 3e-3, 3
KINDS = {"f32": (1, "f"), "i64": (7, "q"), "i32": (6, "i"), "i1": (9, "?")}


def tensor(name, row):
    kind, letter = KINDS[row["dtype"]]
    dims = b"".join(b"\x08" + varint(size) for size in row["shape"])
    raw = struct.pack(f"<{len(row['values'])}{letter}", *row["values"])
    return dims + b"\x10" + varint(kind) + message(8, name.encode()) + message(9, raw)


def with_parameter(model, row):
    """The model with x = p.x + zero, of which the latter is its input in place of x."""
    graph = message(1, message(1, b"p.x") + message(1, b"zero") + message(2, b"x") + message(4, b"Add"))
    for number, values in fields(fields(model)[7][0]).items():
        for value in map(bytes, values):
            if number == 11 and fields(value)[1][0] == b"x":
                graph += message(13, value)  # Scan reads its shape there
                value = message(1, b"zero") + message(2, bytes(fields(value)[2][0]))
            graph += message(number, value)
    graph += message(5, tensor("p.x", row))
    out = b""
    for number, values in fields(model).items():
        for value in values:
            value = graph if number == 7 else value
            out += varint(number << 3) + varint(value) if isinstance(value, int) else message(number, bytes(value))
    return out


class Gradients:
    def __init__(self, suite, folder, chance):
        self.suite, self.folder, self.chance = suite, folder, chance

    def path(self, name):
        return os.path.join(self.folder, name)

    def loss(self, plan, data, parameters, values):
        row = {**parameters, "p.x": Tensor(tensor("p.x", dict(self.x, values=values)))}
        write_safetensors(self.path("moved.safetensors"), row)
        rows = common.json_lines(self.suite.must("zb-run", plan, "--eval", data, "--eval-steps", 1, "--weights",
                                                 self.path("moved.safetensors"), "--json"))
        return rows[-1]["eval"]["loss"]

    def check(self, case):
        self.x = case["inputs"]["x"]
        model, plan, data = self.path("model.onnx"), self.path("plan"), "safetensors:" + self.path("data")
        with open(model, "wb") as file:
            file.write(with_parameter(base64.b64decode(case["model"]), self.x))
        others = {k: Tensor(tensor(k, v)) for k, v in case["inputs"].items() if k != "x"}
        others["zero"] = Tensor(tensor("zero", dict(self.x, values=[0.0] * len(self.x["values"]))))
        write_safetensors(self.path("data"), others)
        self.suite.compile(model, plan, "--train", "p.x", "--optimizer", "sgd:lr=1")
        before, _ = common.read_safetensors(os.path.join(plan, "weights.safetensors"))
        self.suite.must("zb-run", plan, "--data", data, "--steps", 1, "--save", self.path("saved"))
        after, _ = common.read_safetensors(self.path("saved/weights.safetensors"))
        numbers = lambda tensors: struct.unpack(f"<{len(self.x['values'])}f", tensors["p.x"][2])
        gradient = [a - b for a, b in zip(numbers(before), numbers(after))]
        rest = {k: Tensor(tensor(k, dict(dtype="f32", shape=list(v[1]),
                                         values=struct.unpack(f"<{len(v[2]) // 4}f", v[2]))))
                for k, v in before.items() if k != "p.x"}
        for _ in range(DIRECTIONS):
            way = [self.chance.uniform(-1, 1) for _ in gradient]
            up, down = [self.loss(plan, data, rest, [x + side * STEP * w for x, w in zip(self.x["values"], way)])
                        for side in (1, -1)]
            wanted, got = (up - down) / (2 * STEP), sum(g * w for g, w in zip(gradient, way))
            room = TOLERANCE * max(1.0, sum(abs(g * w) for g, w in zip(gradient, way)))
            self.suite.check(abs(wanted - got) <= room,
                             f"{case['name']}: the slope is {wanted}, the gradient says {got}")


def main():
    options = common.arguments(__doc__, ("--only", {"default": "*"}), ("--seed", {"type": int}))
    suite = common.Suite(options.bin)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    with open(os.path.join(common.SOURCE, "test", "ir", "import", "cases.json")) as file:
        cases = json.load(file)
    fits = lambda name, globs: any(fnmatch.fnmatch(name, glob) for glob in globs)
    cases = [case for case in cases if fits(case["name"], CASES) and not fits(case["name"], FLAT) and "loss" in case
             and fnmatch.fnmatch(case["name"], options.only)
             and case.get("inputs", {}).get("x", {}).get("dtype") == "f32"]
    print(f"  {len(cases)} cases, directions by --seed {seed}", flush=True)
    for case in cases:
        with common.scratch() as folder:
            try:
                Gradients(suite, folder, random.Random(f"{seed} {case['name']}")).check(case)
            except common.Failure as failure:
                suite.check(False, f"{case['name']}: {failure}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
