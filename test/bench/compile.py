#!/usr/bin/env python3
"""How the time and memory of a compile grow with the ops of a program and with the micro-batches of a plan.

    compile.py [--bin BUILD/bin] [--ops 1000,3000,10000,30000,100000]
               [--micro-batches 8,...,512] [--ranks 64] [--passes] [--meshes]

Each program is a GPT-2 of small shapes (gpt.py), written as .mlir at the graph level. Its size is what `zbc --json`
calls ops: those after autodiff and split. Two tables: ops at 512 micro-batches, micro-batches at 10,000 ops, with wall
and CPU seconds, peak memory, the size of the plan, and the exponent of growth from the row before (1: linear). --passes
adds the time of each pass in the largest one. --meshes prints another table instead, of the last of --ops with the last
of --micro-batches: replicas, shards, and what replicas share, and what each takes as a factor on one pipeline. Only the
standard library.
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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gpt  # noqa: E402


SHARDINGS = [("--sharding", level) for level in ("optimizer", "gradients:step", "gradients:micro-batch")] + [
    ("--sharding", level, "--gather", gather) for level in ("parameters:step", "parameters:micro-batch")
    for gather in ("job", "micro-batch", "step")]
MESHES = [(), ("--data-parallel", "2"), ("--data-parallel", "64"), ("--data-parallel", "4096"),
          ("--tensor-parallel", "2"), ("--tensor-parallel", "8"), ("--tensor-parallel", "8", "--data-parallel", "64")]
MESHES += [("--data-parallel", replicas, *sharding) for sharding in SHARDINGS for replicas in ("2", "64")]


def program(blocks):
    return gpt.program(gpt.Size(layers=blocks, dim=16, heads=2, seq=8, batch=1, vocab=32))


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

    def compile(self, blocks, ranks, micro_batches, *options):
        """Row of a table. The peak is that of this process's children so far, so sizes must grow."""
        out = os.path.join(self.folder, "out")
        command = [self.zbc, self.write(blocks), "-o", out, "--ranks", str(ranks),
                   "--micro-batches", str(micro_batches), "--schedule", self.schedule, "--json", *options]
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        text, errors = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        if process.returncode:
            sys.exit(f"error: {' '.join(command)}\n{errors[:4000]}")
        summary = json.loads(text)
        return dict(ops=summary["ops"], micro_batches=micro_batches, wall=wall, user=usage.ru_utime,
                    cpu=usage.ru_utime + usage.ru_stime,
                    rss=usage.ru_maxrss * 1024, plan=os.path.getsize(os.path.join(out, "plan.zb")))

    def passes(self, blocks, ranks, micro_batches):
        """Seconds of each pass, as zb-opt --mlir-timing prints them."""
        words = dict(optimizer="sgd:lr=1e-2,momentum=0.9", micro_batches=micro_batches, ranks=ranks,
                     chunks=1, placement="", cuts="", schedule=self.schedule, memory_limit="", model="model",
                     precision="f32", costs="", metric="barrier")
        line = subprocess.run([self.zb_opt, "--default-pipeline"], capture_output=True, text=True,
                              check=True).stdout.strip()
        for name, value in sorted(words.items(), key=lambda word: -len(word[0])):
            line = line.replace("$" + name, str(value))
        run = subprocess.run([self.zb_opt, "--mlir-timing", "--pass-pipeline=" + line, self.write(blocks)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode:
            sys.exit(f"error: zb-opt: exit {run.returncode}\n{run.stderr[:4000]}")
        return run.stderr


def print_table(title, rows, key):
    print(f"\n{title}")
    print(f"{'ops':>8} {'micro-batches':>13} {'wall':>9} {'CPU':>9} {'peak':>10} {'plan':>10}   growth of CPU, peak")
    before = None
    for row in rows:
        growth = ""
        if before and row[key] > before[key]:
            step = math.log(row[key] / before[key])
            growth = " ".join(f"{math.log(row[key] / before[key]) / step:6.2f}" for key in ("cpu", "rss"))
        print(f"{row['ops']:8d} {row['micro_batches']:13d} {row['wall']:7.2f} s {row['cpu']:7.2f} s "
              f"{row['rss'] / 2**20:6.0f} MiB {row['plan'] / 2**20:6.1f} MiB   {growth}", flush=True)
        before = row


def print_meshes(bench, blocks, ranks, micro_batches):
    print(f"\n{'':60} {'user':>9} {'peak':>10} {'plan':>12}   as factors on the first")
    first = None
    for options in MESHES:
        row = bench.compile(blocks, ranks, micro_batches, *options)
        first = first or row
        factors = " ".join(f"{row[key] / first[key]:7.3f}" for key in ("user", "plan"))
        print(f"{' '.join(options):60} {row['user']:7.2f} s {row['rss'] / 2**20:6.0f} MiB {row['plan']:12d}   "
              f"{factors}", flush=True)


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
    parser.add_argument("--meshes", action="store_true")
    parser.add_argument("--write", metavar="FILE.mlir", help="only write the program of the first --ops, and stop")
    parser.add_argument("--limit", type=float, default=0,
                        help="seconds of CPU after which a table stops growing (0: never)")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        if options.write:
            with open(options.write, "w") as file:
                file.write(program(bench.blocks_for(options.ops[0])))
            return
        if options.meshes:
            print_meshes(bench, bench.blocks_for(options.ops[-1]), options.ranks, options.micro_batches[-1])
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
