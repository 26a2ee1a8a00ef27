#!/usr/bin/env python3
"""Simulated against measured steps: how well measured costs predict.

    costs.py [--bin BUILD/bin] [--steps 12] [--rounds 7]
             [--graphs gpt2,gpt2-small,llama-small] [--schedules fthenb,1f1b,zb-h1]

Each graph of test/data on 2 ranks x 1 thread, 8 micro-batches. A plan is measured once (zb-run --profile) and compiled
again with its costs, which fixes the cuts. Then, in each round: this plan is measured under the first schedule given by
--profile-schedule, all schedules are compiled with these costs, simulated (zb-run --device sim) and run. Of the rounds
the medians count, simulated and measured. Printed: the simulated step, the median measured one, what the first is off
by, and the share of the step that each rank waited, both. The target is 3 %. Needs a quiet machine with two cores,
whose speed drifts by some percent from minute to minute: many short rounds predict better than few long ones. On a
shared machine a priority helps: chrt -f 5 costs.py.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
DATA = os.path.join(SOURCE, "test", "data")
SHAPE = ["--ranks", 2, "--micro-batches", 8, "--placement", "plain", "--chunks", 1]
WARMUP = 3


def run(*command):
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if process.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}: exit {process.returncode}\n{process.stderr[-2000:]}")
    return process.stdout


def rows(*command):
    return [json.loads(line) for line in run(*command).splitlines() if line.startswith("{")]


def stage_ends(printed):
    """Locations of the last op of F of each stage but the last, for --cuts, from zb-run --print-plan."""
    ends, kind = {}, ""
    for line in printed.splitlines():
        if line.split()[:1] == ["subprogram"]:
            kind = line.split()[1].rstrip(":")
        elif kind.endswith("_F") and " // " in line:
            ends[int(kind[1:-2])] = line.split(" // ")[1]
    return [ends[stage] for stage in sorted(ends)[:-1]]


class Bench:
    def __init__(self, o, graph, folder):
        self.o, self.graph, self.folder = o, os.path.join(DATA, graph + ".onnx"), folder
        self.zbc, self.zb_run = os.path.join(o.bin, "zbc"), os.path.join(o.bin, "zb-run")
        self.data = ["--data", "text:" + os.path.join(DATA, "corpus.txt")]

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, plan, schedule, *options):
        run(self.zbc, self.graph, "-o", plan, *SHAPE, "--schedule", schedule, *options)
        return plan

    def profile(self, plan, costs):
        run(self.zb_run, plan, *self.data, "--steps", self.o.steps, "--profile", costs, "--quiet")
        return costs

    def fix_cuts(self):
        """Cuts that the measured costs of a first plan give."""
        first = self.compile(self.path("first"), self.o.profile_schedule)
        costs = self.profile(first, self.path("first.json"))
        second = self.compile(self.path("second"), self.o.profile_schedule, "--costs", costs)
        self.cuts = ",".join(stage_ends(run(self.zb_run, second, "--print-plan")))

    def round(self):
        """{schedule: (simulated step, measured step, simulated waiting, measured waiting)}."""
        measured = self.compile(self.path("measured"), self.o.profile_schedule, "--cuts", self.cuts)
        costs = self.profile(measured, self.path("costs.json"))
        out = {}
        for schedule in self.o.schedules.split(","):
            plan = self.compile(self.path(schedule), schedule, "--cuts", self.cuts, "--costs", costs)
            simulated = rows(self.zb_run, plan, "--device", "sim", "--no-kernels", "--steps", 1, "--json")[0]
            steps = rows(self.zb_run, plan, *self.data, "--steps", WARMUP + self.o.steps, "--json")[WARMUP:]
            waited = [statistics.median(step["waiting"][rank] for step in steps) for rank in range(2)]
            seconds = statistics.median(step["seconds"] for step in steps)
            out[schedule] = simulated["seconds"], seconds, simulated["waiting"], waited
        return out


def medians(rows):
    """The same of several rounds: the median of each number."""
    simulated, measured, expected, waited = zip(*rows)
    middle = statistics.median
    expected, waited = ([middle(rank) for rank in zip(*shares)] for shares in (expected, waited))
    return middle(simulated), middle(measured), expected, waited


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(SOURCE, "build", "bin"))
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--graphs", default="gpt2,gpt2-small,llama-small")
    parser.add_argument("--schedules", default="fthenb,1f1b,zb-h1")
    parser.add_argument("--profile-schedule", default="zb-h1", help="the schedule that costs are measured under")
    parser.add_argument("--all", action="store_true", help="print every round, then their medians (*)")
    o = parser.parse_args()
    print(f"{'':24s} {'simulated':>11s} {'measured':>11s} {'off by':>8s}   waited: simulated, measured, a rank each")
    worst = 0
    for graph in o.graphs.split(","):
        with tempfile.TemporaryDirectory(prefix="zb-costs-") as folder:
            bench = Bench(o, graph, folder)
            bench.fix_cuts()
            rounds = [bench.round() for _ in range(o.rounds)]
        middle = {schedule: medians([it[schedule] for it in rounds]) for schedule in rounds[0]}
        for it in [*rounds, middle] if o.all else [middle]:
            for schedule, (simulated, measured, expected, waited) in it.items():
                off = simulated / measured - 1
                worst = max(worst, abs(off)) if it is middle else worst
                print(f"{graph + ', ' + schedule:24s} {simulated * 1e3:8.2f} ms {measured * 1e3:8.2f} ms {off:+8.1%}   "
                      + " ".join(f"{share:5.1%}" for share in expected) + "   "
                      + " ".join(f"{share:5.1%}" for share in waited)
                      + (" *" if it is middle and o.all else ""), flush=True)
    print(f"off by at most {worst:.1%}; target 3 %")


if __name__ == "__main__":
    main()
