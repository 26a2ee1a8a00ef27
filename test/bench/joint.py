#!/usr/bin/env python3
"""What --schedule search gains when cuts, placement, order, split and recompute are searched together.

    joint.py [--bin BUILD/bin] [--models N] [--first N] [--trials N] [--schedule search:budget=N] [--recompute auto]

Uneven models under a memory limit: language models whose head takes 1.44 of a stage, models whose embedding is long,
and encoders with a decoder that reads their output in every layer. Each is compiled with the cuts by cost alone
(--cut-trials 1), and with the cuts that --schedule search finds. The limit is between what the best order needs that is
found without one and what one micro-batch needs (with --recompute auto: less). Steps are those of the simulator. Ends
with the geometric mean, and fails where a step is longer than with the cuts by cost, or, with --recompute auto, than
without recompute (column "no recomp.": the whole search within the same limit; inf: it has no plan).
"""
import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 64


class Program:
    """MLIR of the graph level, op by op; a value is a name and its columns."""

    def __init__(self):
        self.arguments, self.ops, self.count = [], [], 0

    def value(self):
        self.count += 1
        return "%%v%d" % self.count

    def add(self, op):
        """Each op has a name, as those of an exported model."""
        self.ops.append('%s loc("op.%d")' % (op, len(self.ops)))

    def parameter(self, shape):
        name = "%%p%d" % len(self.arguments)
        self.arguments.append('%s: tensor<%sxf32> {zb.param = "w%d"}' % (name, shape, len(self.arguments)))
        return name

    def product(self, x, columns):
        out, (name, before) = self.value(), x
        weight = self.parameter("%dx%d" % (before, columns))
        self.add('%s = "zb.matmul"(%s, %s) : (tensor<%dx%dxf32>, tensor<%dx%dxf32>) -> tensor<%dx%dxf32>' %
                 (out, name, weight, ROWS, before, before, columns, ROWS, columns))
        return out, columns

    def elementwise(self, op, *values):
        out, columns = self.value(), values[0][1]
        shape = "tensor<%dx%dxf32>" % (ROWS, columns)
        self.add('%s = "zb.%s"(%s) : (%s) -> %s' % (out, op, ", ".join(v[0] for v in values),
                                                    ", ".join([shape] * len(values)), shape))
        return out, columns

    def norm(self, x):
        out, (name, columns) = self.value(), x
        scale, shape = self.parameter("%d" % columns), "tensor<%dx%dxf32>" % (ROWS, columns)
        self.add('%s:2 = "zb.rms_norm"(%s, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (%s, tensor<%dxf32>) '
                 '-> (%s, tensor<%dx1xf32>)' % (out, name, scale, shape, columns, shape, ROWS))
        return out + "#0", columns

    def embedding(self, words, columns):
        out, table = self.value(), self.parameter("%dx%d" % (words, columns))
        self.arguments.append('%%x: tensor<%dxi64> {zb.input = "x"}' % ROWS)
        self.add('%s = "zb.gather"(%s, %%x) {axis = 0 : i64} : (tensor<%dx%dxf32>, tensor<%dxi64>) -> '
                 'tensor<%dx%dxf32>' % (out, table, words, columns, ROWS, ROWS, columns))
        return out, columns

    def layer(self, x, other=None):
        """A block of four times the columns, which adds to its input; with `other` also a product of that."""
        y = self.elementwise("tanh", self.product(self.norm(x), 4 * x[1]))
        if other:
            y = self.elementwise("add", y, self.product(other, 4 * x[1]))
        return self.elementwise("add", x, self.product(y, x[1]))

    def text(self, x):
        self.add('%%l = "zb.reduce_mean"(%s) {axes = array<i64: 0, 1>} : (tensor<%dx%dxf32>) -> tensor<f32>' %
                 (x[0], ROWS, x[1]))
        return "func.func @model(%s) -> (tensor<f32> {zb.loss}) {\n%s\nreturn %%l : tensor<f32>\n}\n" % (
            ", ".join(self.arguments), "\n".join(self.ops))


def with_head(draw, ranks):
    program, columns, layers = Program(), draw.choice((32, 48, 64)), ranks * draw.randint(2, 4)
    x = program.embedding(512, columns)
    for _ in range(layers):
        x = program.layer(x)
    head = program.product(program.norm(x), int(1.44 * 8 * columns * layers / ranks))
    return program.text(program.elementwise("tanh", head))


def with_embedding(draw, ranks):
    program, columns, layers = Program(), draw.choice((32, 48, 64)), ranks * draw.randint(2, 3) + 1
    x = program.embedding(20000, columns)
    x = program.product(program.product(x, 16 * columns), columns)
    for _ in range(layers):
        x = program.layer(x)
    return program.text(x)


def with_decoder(draw, ranks):
    program, columns, layers = Program(), draw.choice((32, 48, 64)), ranks + draw.randint(1, 4)
    first = x = program.embedding(512, columns)
    for _ in range(layers):
        x = program.layer(x)
    y = program.norm(first)
    for _ in range(layers - draw.randint(0, 2)):
        y = program.layer(y, x)
    return program.text(program.product(y, 8 * columns))


KINDS = (("head", with_head), ("embedding", with_embedding), ("decoder", with_decoder))


class Bench:
    def __init__(self, options, folder):
        self.zbc, self.folder = os.path.join(options.bin, "zbc"), folder
        self.trials, self.schedule, self.recompute = options.trials, options.schedule, options.recompute

    def compiled(self, model, *more):
        """The summary and seconds of CPU; (None, seconds) where no plan keeps the limit."""
        command = [self.zbc, model, "-o", self.folder + "/plan", "--json", "--schedule", self.schedule, *map(str, more)]
        before = os.times()
        done = subprocess.run(command, capture_output=True, text=True)
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        if done.returncode not in (0, 3):
            sys.exit("error: %s\n%s" % (" ".join(command), done.stderr))
        return (json.loads(done.stdout) if done.returncode == 0 else None), seconds

    def least(self, model, *base):
        """Bytes of a rank with which one micro-batch at a time is possible: what the error says."""
        command = [self.zbc, model, "-o", self.folder + "/plan", "--schedule", self.schedule, "--cut-trials", 1,
                   "--split", "all", "--memory-limit", "1K", *base]
        return int(re.search(r"hint: (\d+) bytes are enough", subprocess.run(
            list(map(str, command)), capture_output=True, text=True).stderr)[1])

    def row(self, number):
        draw = random.Random(number)
        kind, make = KINDS[number % len(KINDS)]
        ranks, micro_batches = draw.choice((3, 4, 6)), draw.choice((6, 8, 12))
        model = "%s/%d.mlir" % (self.folder, number)
        with open(model, "w") as file:
            file.write(make(draw, ranks))
        base = ["--ranks", ranks, "--micro-batches", micro_batches]
        free, _ = self.compiled(model, *base, "--cut-trials", 1)
        most, least = max(free["memory"]), self.least(model, *base)
        limit = int(least + (most - least) * draw.uniform(0.1, 0.9))
        if self.recompute != "none":
            limit = int(limit * draw.uniform(0.7, 0.95))
        base += ["--memory-limit", limit]
        plain, _ = self.compiled(model, *base) if self.recompute != "none" else (None, 0)
        base += ["--recompute", self.recompute]
        first, first_seconds = self.compiled(model, *base, "--cut-trials", 1)
        joint, seconds = self.compiled(model, *base, *(["--cut-trials", self.trials] if self.trials else []))
        if joint and max(joint["memory"]) > limit:
            sys.exit("error: model %d needs %d bytes, the limit is %d" % (number, max(joint["memory"]), limit))
        steps = [summary["step_seconds"] if summary else math.inf for summary in (first, joint, plain)]
        print("%-10s %5d %13d %6.2f %11.3f %11.3f %11.3f %8s %6.1f %6.1f" % (
            kind, ranks, micro_batches, limit / most, 1e3 * steps[2], 1e3 * steps[0], 1e3 * steps[1],
            "%.2f %%" % (100 * (steps[0] / steps[1] - 1)) if math.isfinite(steps[0]) else "a plan" if joint else "none",
            first_seconds, seconds), flush=True)
        return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(HERE, "..", "..", "build", "bin"))
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--trials", type=int, default=0, help="0: the default of zbc")
    parser.add_argument("--schedule", default="search")
    parser.add_argument("--recompute", default="none", choices=("none", "auto"))
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        print("%-10s %5s %13s %6s %11s %11s %11s %8s %6s %6s" % (
            "model", "ranks", "micro-batches", "limit", "no recomp.", "cuts first", "together", "gain", "s", "s"))
        rows = [bench.row(number) for number in range(options.first, options.first + options.models)]
    both = [(first, joint) for first, joint, _ in rows if math.isfinite(first)]
    worse = sum(joint > min(first, plain) * (1 + 1e-12) for first, joint, plain in rows)
    better = sum(joint < first * (1 - 1e-12) for first, joint, _ in rows)
    gain = math.exp(sum(math.log(first / joint) for first, joint in both) / max(1, len(both))) - 1
    print("%d models: worse on %d, better on %d, shorter by %.2f %% in the geometric mean; %.0f s" %
          (len(rows), worse, better, 100 * gain, time.monotonic() - begin))
    sys.exit(1 if worse or not better else 0)


if __name__ == "__main__":
    main()
