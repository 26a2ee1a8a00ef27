#!/usr/bin/env python3
"""The cuda device with its own kernels on a GPU that is none: streams and graphs of the fake
(test/runtime/device/cuda/fake.h), device code emulated on the CPU (test/kernels/cuda/emulator.h), products on an
emulated cuBLASLt. Losses follow those of the cpu, in f32 and in bf16; losses, weights and optimizer state are bitwise
the same for every cut and schedule; no two accesses race. The same of two shards, in bf16 by tokens; and of bf16 with
the attention of compute capability 9.0.

    cuda_emulated.py [--bin BUILD/bin] [--tool BUILD/test/cuda-emulated] [--jobs 2]
"""
import concurrent.futures
import os
import subprocess

import common

STEPS = 2
MICRO_BATCHES = 4
GRAPHS = ("gpt2-small", "llama-small", "gpt2-dropout")
PLANS = (("fthenb", 1), ("zb-h1", 2), ("zb-v", 4))
SHARDED = (("1f1b", 1), ("zb-h1", 2))
SHARDS = {"f32": ("--tensor-parallel", 2), "bf16": ("--tensor-parallel", 2, "--sequence-parallel")}
# Largest relative difference of a loss from the cpu's.
PRECISIONS = {"f32": 1e-6, "bf16": 2e-3}


class Runs:
    def __init__(self, suite, tool, folder, graph, precision, warpgroups=False):
        self.suite, self.tool, self.graph, self.precision = suite, tool, graph, precision
        self.name = f"{graph} {precision}{' on warpgroups' if warpgroups else ''}"
        self.folder = os.path.join(folder, self.name.replace(" ", "-"))
        self.environment = {**os.environ, **({"ZB_EMULATED_WARPGROUPS": "1"} if warpgroups else {})}
        os.makedirs(self.folder)

    def train(self, schedule, ranks, *more):
        """(losses, tensors) of the emulated run of a plan."""
        plan, saved = (os.path.join(self.folder, f"{schedule}-{ranks}{end}") for end in ("", ".saved"))
        process = self.suite.run("zbc", os.path.join(common.DATA, self.graph + ".onnx"), "-o", plan,
                                 "--ranks", ranks, "--schedule", schedule, "--micro-batches", MICRO_BATCHES,
                                 "--precision", self.precision, *more)
        if process.returncode:
            raise common.Failure(f"{self.name} {schedule}: {process.stderr[-2000:]}")
        process = subprocess.run([self.tool, plan, "text:" + common.CORPUS, str(STEPS), str(ranks), saved],
                                 capture_output=True, text=True, timeout=common.patience(300), env=self.environment)
        if process.returncode:
            raise common.Failure(f"{self.name} {schedule} on {ranks}: exit {process.returncode}: "
                                 f"{process.stderr[-2000:]}")
        *losses, races = process.stdout.splitlines()
        self.suite.check(races.split()[1] == "0", f"{self.name} {schedule} on {ranks}: {races}")
        return list(map(float, losses)), common.read_checkpoint(saved)

    def all(self):
        self.plans("", PLANS)
        if self.graph != "gpt2-dropout": # in which every shard draws other numbers
            self.plans(", shards", SHARDED, *SHARDS[self.precision])

    def plans(self, what, plans, *more):
        name = self.name + what
        try:
            losses, tensors = self.train(*plans[0], *more)
            cpu = [row["loss"] for row in self.suite.train(os.path.join(self.folder, "%s-%d" % plans[0]), STEPS)]
            worst = max(abs(a - b) / abs(b) for a, b in zip(losses, cpu))
            self.suite.check(len(losses) == STEPS and worst <= PRECISIONS[self.precision],
                             f"{name}: losses {losses}, of the cpu {cpu}")
            for schedule, ranks in plans[1:]:
                others, other_tensors = self.train(schedule, ranks, *more)
                self.suite.check(others == losses, f"{name} {schedule} on {ranks}: losses {others} instead of {losses}")
                difference = common.first_difference(tensors, other_tensors)
                self.suite.check(not difference, f"{name} {schedule} on {ranks}: {difference}")
            print(f"{name}: {len(plans)} plans, loss {losses[-1]:.9g}, at most {worst:.2g} from the cpu's", flush=True)
        except common.Failure as failure:
            self.suite.check(False, str(failure))


def main():
    options = common.arguments(__doc__, ("--tool", {}))
    tool = options.tool or os.path.join(options.bin, "..", "test", "cuda-emulated")
    suite = common.Suite(options.bin)
    if not os.path.exists(tool):
        print("ok - e2e: emulated CUDA kernels # SKIP without a C++ compiler there is no cuda-emulated")
        return 0
    with common.scratch() as folder:
        runs = [Runs(suite, tool, folder, graph, precision) for graph in GRAPHS for precision in PRECISIONS]
        runs += [Runs(suite, tool, folder, graph, "bf16", True) for graph in GRAPHS[:2]]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(Runs.all, runs))
    return suite.finish()


if __name__ == "__main__":
    raise SystemExit(main())
