#!/usr/bin/env python3
"""How the time and memory of a compile grow with the ops of a program and with the micro-batches of a plan.

    compile.py [--bin BUILD/bin] [--ops 1000,3000,10000,30000,100000] [--micro-batches 8,...,512] [--ranks 64] [--passes]

Each program is a chain of transformer blocks (normalization, fused query/key/value, attention, GELU, residuals; a tied
embedding at its ends), written as .mlir at the graph level. Its size is what `zbc --json` calls ops: those after autodiff and
split. Two tables: ops at 512 micro-batches, micro-batches at 10,000 ops, with wall and CPU seconds, peak memory, the size of the
plan, and the exponent of growth from the row before (1: linear). --passes adds the time of each pass in the largest one.
Only the standard library.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

DIM, HEADS, SEQ, BATCH, VOCAB = 16, 2, 8, 1, 32


def tensor(*shape, dtype="f32"):
    return f"tensor<{'x'.join(map(str, shape))}x{dtype}>" if shape else f"tensor<{dtype}>"


class Graph:
    """Text of a graph-level function; a value is a (name, shape)."""

    def __init__(self):
        self.arguments, self.lines, self.count = [], [], 0

    def argument(self, attribute, name, *shape, dtype="f32"):
        value = f"%a{len(self.arguments)}"
        self.arguments.append(f'{value}: {tensor(*shape, dtype=dtype)} {{zb.{attribute} = "{name}"}}')
        return value, shape, dtype

    def parameter(self, name, *shape):
        return self.argument("param", name, *shape)

    def op(self, name, operands, attributes, *shapes):
        self.count += 1
        value = f"%{self.count}"
        results = ", ".join(tensor(*s) for s in shapes)
        types = ", ".join(tensor(*s, dtype=d) for _, s, d in operands)
        results = f"({results})" if len(shapes) > 1 else results
        bind = f"{value}:{len(shapes)}" if len(shapes) > 1 else value
        inner = f" {{{attributes}}}" if attributes else ""
        self.lines.append(f'  {bind} = "zb.{name}"({", ".join(v for v, _, _ in operands)}){inner} : ({types}) -> {results}')
        if len(shapes) == 1:
            return value, shapes[0], "f32"
        return [(f"{value}#{i}", s, "f32") for i, s in enumerate(shapes)]

    def reshape(self, x, *shape):
        return self.op("reshape", [x], f"shape = array<i64: {', '.join(map(str, shape))}>", shape)

    def linear(self, x, name, width):
        rows, depth = x[1]
        product = self.op("matmul", [x, self.parameter(name + ".weight", depth, width)], "", (rows, width))
        return self.op("add", [product, self.parameter(name + ".bias", width)], "", (rows, width))

    def norm(self, x, name):
        scale, bias = self.parameter(name + ".weight", DIM), self.parameter(name + ".bias", DIM)
        rows = x[1][0]
        return self.op("layer_norm", [x, scale, bias], "axis = 1 : i64, epsilon = 1.0e-5 : f64", x[1], (rows, 1), (rows, 1))[0]

    def block(self, x, name):
        rows, heads = BATCH * SEQ, (BATCH, SEQ, HEADS, DIM // HEADS)
        fused = self.linear(self.norm(x, name + ".ln_1"), name + ".attn.c_attn", 3 * DIM)
        parts = self.op("split", [fused], f"axis = 1 : i64, sizes = array<i64: {DIM}, {DIM}, {DIM}>", *[(rows, DIM)] * 3)
        q, k, v = [self.reshape(p, *heads) for p in parts]
        out = self.op("attention", [q, k, v], "causal = true, scale = 0.35 : f64", heads, (BATCH, HEADS, SEQ))[0]
        x = self.op("add", [self.linear(self.reshape(out, rows, DIM), name + ".attn.c_proj", DIM), x], "", x[1])
        wide = self.op("gelu", [self.linear(self.norm(x, name + ".ln_2"), name + ".mlp.c_fc", 4 * DIM)], "tanh = true", (rows, 4 * DIM))
        return self.op("add", [x, self.linear(wide, name + ".mlp.c_proj", DIM)], "", x[1])


def program(blocks):
    g = Graph()
    x = g.argument("input", "x", BATCH * SEQ, dtype="i64")
    y = g.argument("input", "y", BATCH * SEQ, dtype="i64")
    table = g.parameter("m.wte.weight", VOCAB, DIM)
    h = g.op("gather", [table, x], "axis = 0 : i64", (BATCH * SEQ, DIM))
    for i in range(blocks):
        h = g.block(h, f"m.h.{i}")
    logits = g.op("matmul", [g.norm(h, "m.ln_f"), table], "transpose_rhs = true", (BATCH * SEQ, VOCAB))
    loss = g.op("cross_entropy", [logits, y], 'reduction = "mean"', (), (BATCH * SEQ,))[0]
    return (f"func.func @model({', '.join(g.arguments)}) -> (tensor<f32> {{zb.loss}}) {{\n" + "\n".join(g.lines) +
            f"\n  return {loss[0]} : tensor<f32>\n}}\n")


class Bench:
    def __init__(self, options, folder):
        self.zbc, self.zb_opt = (os.path.join(options.bin, name) for name in ("zbc", "zb-opt"))
        self.folder, self.schedule = folder, options.schedule
        small, large = self.ops_of(2), self.ops_of(6)
        self.per_block = (large - small) / 4
        self.fixed = small - 2 * self.per_block

    def write(self, blocks):
        path = os.path.join(self.folder, f"{blocks}.mlir")
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(program(blocks))
        return path

    def ops_of(self, blocks):
        return self.compile(blocks, 1, 1)["ops"]

    def blocks_for(self, ops):
        return max(1, round((ops - self.fixed) / self.per_block))

    def compile(self, blocks, ranks, micro_batches):
        """Row of a table. The peak is that of this process's children so far, so sizes must grow."""
        out = os.path.join(self.folder, "out")
        command = [self.zbc, self.write(blocks), "-o", out, "--ranks", str(ranks), "--micro-batches", str(micro_batches),
                   "--schedule", self.schedule, "--json"]
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        text, errors = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        if process.returncode:
            sys.exit(f"error: {' '.join(command)}\n{errors[:4000]}")
        summary = json.loads(text)
        return dict(ops=summary["ops"], micro_batches=micro_batches, wall=wall, cpu=usage.ru_utime + usage.ru_stime,
                    rss=usage.ru_maxrss * 1024, plan=os.path.getsize(os.path.join(out, "plan.zb")))

    def passes(self, blocks, ranks, micro_batches):
        """Seconds of each pass, as zb-opt --mlir-timing prints them."""
        words = dict(optimizer="sgd:lr=1e-2,momentum=0.9", micro_batches=micro_batches, ranks=ranks, chunks=1, placement="", cuts="",
                     schedule=self.schedule, memory_limit="", model="model")
        line = subprocess.run([self.zb_opt, "--default-pipeline"], capture_output=True, text=True, check=True).stdout.strip()
        for name, value in sorted(words.items(), key=lambda word: -len(word[0])):
            line = line.replace("$" + name, str(value))
        run = subprocess.run([self.zb_opt, "--mlir-timing", "--pass-pipeline=" + line, self.write(blocks)], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
        return run.stderr


def print_table(title, rows, key):
    print(f"\n{title}")
    print(f"{'ops':>8} {'micro-batches':>13} {'wall':>9} {'CPU':>9} {'peak':>10} {'plan':>10}   growth of CPU, peak")
    before = None
    for row in rows:
        growth = ""
        if before and row[key] > before[key]:
            step = math.log(row[key] / before[key])
            growth = f"{math.log(row['cpu'] / before['cpu']) / step:6.2f} {math.log(row['rss'] / before['rss']) / step:6.2f}"
        print(f"{row['ops']:8d} {row['micro_batches']:13d} {row['wall']:7.2f} s {row['cpu']:7.2f} s {row['rss'] / 2**20:6.0f} MiB "
              f"{row['plan'] / 2**20:6.1f} MiB   {growth}", flush=True)
        before = row


def numbers(text):
    return [int(n) for n in text.split(",") if n]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(here, "..", "..", "build", "bin"))
    parser.add_argument("--ops", type=numbers, default=[1000, 3000, 10000, 30000, 100000])
    parser.add_argument("--micro-batches", type=numbers, default=[8, 32, 128, 512])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--schedule", default="zb-h1")
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--write", metavar="FILE.mlir", help="only write the program of the first --ops, and stop")
    parser.add_argument("--limit", type=float, default=0, help="seconds of CPU after which a table stops growing (0: never)")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        if options.write:
            with open(options.write, "w") as file:
                file.write(program(bench.blocks_for(options.ops[0])))
            return
        rows = []
        for ops in options.ops:
            rows.append(bench.compile(bench.blocks_for(ops), options.ranks, 512))
            print(f"# {rows[-1]}", file=sys.stderr, flush=True)
            if options.limit and rows[-1]["cpu"] > options.limit:
                break
        print_table(f"{options.ranks} ranks, {options.schedule}: ops", rows, "ops")
        blocks, rows = bench.blocks_for(10000), []
        for micro_batches in options.micro_batches:
            rows.append(bench.compile(blocks, options.ranks, micro_batches))
        print_table(f"{options.ranks} ranks, {options.schedule}: micro-batches", rows, "micro_batches")
        if options.passes:
            print(bench.passes(bench.blocks_for(options.ops[-1]), options.ranks, 512))


if __name__ == "__main__":
    main()
