#!/usr/bin/env python3
"""Meshes of replicas and shards on the device sim, times alone (zb-run --device sim --no-kernels).

    mesh.py [--bin BUILD/bin] [--draw SEED] [--cases N]

same: what zb-run says of every rank and step is, to the last bit, what it says where it runs every rank (--memory makes
it do so), with delays and without, with a barrier and without one, by costs of the model and by measured ones where
ranks take time to post and to go on; and with kernels, of 2 x 2 x 2 ranks. N cases are drawn by SEED, which is printed.
large: 4 ranks x 2,048 replicas x 8 shards, and so many replicas with parts of parameters, in seconds and little memory;
a later replica is never early.
small: a plan is as large for 2 replicas or shards as for thousands.
wrong: what cannot be.
Ends with "N passed, N failed".
"""
import itertools
import json
import os
import random
import re
import resource
import sys
import time

import common

M = 4
STEPS = 4
MODELS = ("gpt2-small", "llama-small")
MESHES = ((2, 2), (3, 1), (1, 3), (5, 2), (2, 4), (8, 1), (4, 3))
LAYOUTS = ((1, "1f1b"), (2, "zb-h1"), (2, "zb-v"), (4, "zb-h2"), (2, "interleaved-1f1b", "--chunks", 2))
OPTIONS = ((), ("--bucket-bytes", "9K"), ("--bucket-bytes", "40K", "--recompute", "all"), ("--clip-norm", "0.5"))
TOKENS = ("--sequence-parallel",)
LEVELS = (("optimizer",), ("gradients:step",), ("gradients:micro-batch",),
          *((level, "--gather", gather) for level in ("parameters:step", "parameters:micro-batch")
            for gather in ("job", "micro-batch", "step")))
RUNS = ((), ("--delays", 3), ("--delays", "4:2"), ("--barrier", "--delays", "5:0.5"), ("--barrier",))
LARGE = (4, 2048, 8)
LARGE_SECONDS, LARGE_BYTES = 60, 1 << 30  # of a run; the time leaves room for a busy machine


class Meshes:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, model, ranks, replicas, shards, *options, out="plan"):
        self.suite.compile(os.path.join(common.DATA, model + ".onnx"), self.path(out), "--ranks", ranks,
                           "--micro-batches", M, "--data-parallel", replicas, "--tensor-parallel", shards, *options)
        return self.path(out)

    def rows(self, plan, *options):
        """What is said of each step, but for the loss."""
        text = self.suite.must("zb-run", plan, "--device", "sim", "--steps", STEPS, "--json", *options)
        rows = [row for row in common.json_lines(text) if "step" in row]
        return [{key: value for key, value in row.items() if key not in ("loss", "norm", "skipped")} for row in rows]

    def compare(self, text, plan, options, full=("--no-kernels", "--memory")):
        fast, full = self.rows(plan, "--no-kernels", *options), self.rows(plan, *full, *options)
        different = [(a["step"], key) for a, b in zip(fast, full) for key in a if a[key] != b[key]]
        self.suite.check(len(fast) == len(full) == STEPS and not different, f"{text} {options}: {different[:4]}")
        return fast

    def same(self, draw, count):
        cases = list(itertools.product(MODELS, MESHES, LAYOUTS, OPTIONS, RUNS))
        for model, (replicas, shards), (ranks, schedule, *more), options, run in draw.sample(cases, count):
            if replicas == 1 and "--bucket-bytes" in options:
                options = options[2:]
            options += draw.choice(((), TOKENS)) if shards > 1 else ()
            plan = self.compile(model, ranks, replicas, shards, "--schedule", schedule, *more, *options)
            self.compare(f"{model}, {ranks} x {replicas} x {shards}, {schedule} {options}", plan, run)
        self.compare("2 x 1 x 4 by tokens", self.compile("gpt2-small", 2, 1, 4, *TOKENS), draw.choice(RUNS))
        plan = self.compile("gpt2-small", 2, 3, 1, "--sharding", "gradients:step", "--clip-norm", "0.5")
        self.compare("2 x 3, norms of parts", plan, draw.choice(RUNS))
        plan = self.compile("gpt2-small", 2, 3, 2, "--sharding", draw.choice(("optimizer", "gradients:micro-batch",
                                                                              "parameters:step")), "--clip-norm", "0.5")
        self.compare("2 x 3 x 2, parts of what shards have", plan, draw.choice(RUNS))
        self.sharded(draw)
        plan = self.compile("gpt2-small", 2, 2, 2, "--schedule", "zb-h1")
        steps = [self.compare("2 x 2 x 2 with kernels", plan, run, ("--data", "text:" + common.CORPUS))[-1]["seconds"]
                 for run in RUNS]
        self.suite.check(len(set(steps)) == len(RUNS) - 1, f"delays change nothing, or a barrier much: {steps}")

    def sharded(self, draw):
        """Every level of sharding, and every choice of what is kept of gathered parameters."""
        for level in LEVELS:
            replicas, shards = draw.choice(((2, 1), (3, 1), (5, 1), (8, 1), (2, 2), (3, 2)))
            options = (*draw.choice(OPTIONS), "--sharding", *level)
            ranks, schedule, *more = draw.choice(LAYOUTS)
            plan = self.compile(draw.choice(MODELS), ranks, replicas, shards, "--schedule", schedule, *more, *options)
            self.compare(f"{ranks} x {replicas} x {shards}, {schedule} {options}", plan, draw.choice(RUNS))

    def measured(self):
        """Ranks that take time to post and to go on: then the order of posts in a sum matters."""
        model = os.path.join(common.DATA, "gpt2-small.onnx")
        self.suite.compile(model, self.path("one"), "--ranks", 2, "--micro-batches", M)
        self.suite.must("zb-run", self.path("one"), "--data", "text:" + common.CORPUS, "--steps", 12, "--quiet",
                        "--profile", self.path("costs.json"))
        with open(self.path("costs.json")) as file:
            costs = json.load(file)
        for wake, job in ((3000000, 700000), (0, 500000), (5000000, 0)):
            costs["link"].update(copies=False, wake_ps=wake)
            costs["overheads"]["job_ps"] = job
            with open(self.path("made.json"), "w") as file:
                json.dump(costs, file)
            for replicas, shards in ((3, 1), (1, 3), (3, 4)):
                plan = self.compile("gpt2-small", 2, replicas, shards, "--costs", self.path("made.json"),
                                    *(("--bucket-bytes", "9K") if replicas > 1 else ()))
                self.compare(f"2 x {replicas} x {shards}, {wake} ps to wake, {job} ps a job", plan, ("--delays", "7:1"))
                self.compare(f"2 x {replicas} x {shards}, {wake} ps to wake, {job} ps a job", plan, ())

    def large(self):
        ranks, replicas, shards = LARGE
        plan = self.compile("gpt2", ranks, replicas, shards, "--micro-batches", 8, "--schedule", "zb-h1")
        seconds = []
        for options in ((), ("--delays", "1:0.5")):
            begin = time.monotonic()
            rows = self.rows(plan, "--no-kernels", *options)
            took = time.monotonic() - begin
            self.suite.check(common.soon(took, LARGE_SECONDS) and len(rows[0]["waiting"]) == ranks * replicas * shards,
                             f"{LARGE} {options}: {took:.1f} s, {len(rows[0]['waiting'])} ranks")
            seconds.append(rows[-1]["seconds"])
        self.suite.check(seconds[0] < seconds[1] < 1.5 * seconds[0], f"{LARGE}: steps of {seconds}")
        for level in LEVELS[1], LEVELS[-3]:
            plan = self.compile("gpt2", ranks, replicas, 1, "--schedule", "zb-h1", "--sharding", *level)
            begin = time.monotonic()
            rows = self.rows(plan, "--no-kernels", "--delays", "1:0.5")
            took = time.monotonic() - begin
            self.suite.check(common.soon(took, LARGE_SECONDS) and len(rows[0]["waiting"]) == ranks * replicas,
                             f"{LARGE[:2]} {level}: {took:.1f} s, {len(rows[0]['waiting'])} ranks")
        two = self.rows(self.compile("gpt2", ranks, 2, shards, "--micro-batches", 8, "--schedule", "zb-h1"),
                        "--no-kernels", "--delays", "1:0.5")
        self.suite.check(two[-1]["seconds"] < seconds[1], f"2 replicas take {two[-1]['seconds']}, 2,048 {seconds[1]}")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.suite.check(peak < LARGE_BYTES, f"{LARGE}: {peak} bytes of memory")

    def small(self):
        sizes = [os.path.getsize(os.path.join(self.compile("gpt2", 4, replicas, shards, "--layout", "even"),
                                              "plan.zb"))
                 for replicas, shards in ((1, 1), (2, 1), (4096, 1), (1, 2), (1, 4), (1024, 4))]
        one, two, many, halves, quarters, both = sizes
        self.suite.check(abs(many - two) < 0.01 * two and abs(quarters - halves) < 0.02 * halves and
                         halves < 1.3 * one and both < 1.1 * halves, f"plans of {sizes} bytes")

    def wrong(self):
        plan = self.compile("gpt2-small", 2, 2, 1)
        for words, wanted in ((("--device", "sim", "--no-kernels", "--delays", "0"), "expected SEED or SEED:SHA.*'0'"),
                              (("--device", "sim", "--no-kernels", "--delays", "7:-1"), "'7:-1'"),
                              (("--device", "sim", "--no-kernels", "--delays", "7:1001"), "from 0 to 1000"),
                              (("--device", "sim", "--no-kernels", "--delays", "7:"), "'7:'"),
                              (("--device", "sim", "--no-kernels", "--delays", "7:nan"), "'7:nan'"),
                              (("--device", "sim", "--no-kernels", "--delays", "x"), "'x'"),
                              (("--data", "text:" + common.CORPUS, "--delays", "7"), "'cpu' has no jobs to delay"),
                              (("--device", "sim", "--no-kernels", "--delay", "7"), "did you mean '--delays'")):
            done = self.suite.run("zb-run", plan, "--steps", 1, *words)
            self.suite.check(done.returncode == 2 and re.search(wanted, done.stderr, re.S),
                             f"{words}: {done.returncode}, {done.stderr}")


def main():
    options = common.arguments(__doc__, ("--draw", dict(type=int, default=random.randrange(1 << 32))),
                               ("--cases", dict(type=int, default=12)))
    suite = common.Suite(options.bin)
    print(f"  --draw {options.draw}")
    with common.scratch() as folder:
        it = Meshes(suite, folder)
        it.same(random.Random(options.draw), options.cases)
        it.measured()
        it.large()
        it.small()
        it.wrong()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
