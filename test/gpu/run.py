#!/usr/bin/env python3
"""What can only be shown where a GPU is: run.sh starts this on such a machine and keeps what it prints.

    run.py [--build BUILD] [--device cuda] [--plans FOLDER] [--no-bench]
    run.py --prepare FOLDER         compiles the plans on a machine with zbc, for one without (then --plans FOLDER there)

Checks, one line each:
  devices       zb-run --list-devices has the device
  programs      the CUnit programs of build/test that know the device (conformance of every kernel among them)
  losses        the small GPT-2 and Llama of test/data, f32, 20 steps: within 1e-4 relative of PyTorch's (stored references)
  bits          the same losses and saved tensors from run to run, and for every plan: 1, 2 and 4 ranks on one device, several schedules
  memory        no rank's jobs touch more of its arena than there is (zb-run --memory: high water and size of each)
  costs         zb-run --profile: every subprogram and op has a time, and the losses are those without it
  tf32          zb-run --tf32 follows the reference within 1e-2 relative
  sanitizer     compute-sanitizer (memcheck, racecheck) finds nothing in two steps, where it is installed
Then test/bench/gpu.sh. --device cpu tries this script where no GPU is. Without the device: one line that says so, exit status 77.
"""
import argparse
import glob
import json
import math
import os
import shutil
import subprocess
import sys

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(SOURCE, "test", "e2e"))
import common  # noqa: E402

GRAPHS = ("gpt2-small", "llama-small")
PLANS = {  # name: arguments of zbc; the first is what the others are compared with
    "1-fthenb": ("--ranks", 1, "--schedule", "fthenb"),
    "2-1f1b": ("--ranks", 2, "--schedule", "1f1b"),
    "4-zb-h1": ("--ranks", 4, "--schedule", "zb-h1"),
    "4-zb-v": ("--ranks", 4, "--schedule", "zb-v"),
    "2-fthenb-looped": ("--ranks", 2, "--schedule", "fthenb", "--chunks", 2),
}
STEPS, LIMIT, TF32_LIMIT = 20, 1e-4, 1e-2


def reference(graph):
    with open(os.path.join(common.DATA, graph + ".reference.json")) as file:
        return json.load(file)


def prepare(suite, folder):
    for graph in GRAPHS:
        for name, arguments in PLANS.items():
            suite.compile(os.path.join(common.DATA, graph + ".onnx"), os.path.join(folder, f"{graph}-{name}"), "--micro-batches",
                          reference(graph)["micro_batches"], *arguments)


class Gpu:
    def __init__(self, o, suite, plans, folder):
        self.o, self.suite, self.plans, self.folder = o, suite, plans, folder

    def check(self, good, name, detail=""):
        self.suite.check(good, f"{name}: {detail}" if detail else name)
        if good:
            print(f"ok - {name}{': ' + detail if detail else ''}", flush=True)

    def guarded(self, name, work, *arguments):
        try:
            return work(*arguments)
        except (common.Failure, subprocess.TimeoutExpired) as failure:
            self.check(False, name, str(failure))
            return None

    def train(self, plan, run, steps=STEPS):
        """(losses, tensors of the save)."""
        saved = os.path.join(self.folder, f"{plan}-{run}")
        rows = self.suite.train(os.path.join(self.plans, plan), steps, "--device", self.o.device, "--save", saved)
        return [row["loss"] for row in rows if "loss" in row], common.read_checkpoint(saved)

    def programs(self):
        found = sorted(p for p in glob.glob(os.path.join(self.o.build, "test", "*_test")) if os.access(p, os.X_OK) and os.path.isfile(p)
                       and any(word in os.path.basename(p) for word in ("cuda", "conformance")))
        self.check(bool(found), "test programs that know the device", f"{len(found)} in {os.path.join(self.o.build, 'test')}")
        for program in found:
            process = subprocess.run([program], capture_output=True, text=True, cwd=SOURCE, timeout=540)
            self.check(process.returncode == 0, os.path.basename(program), "" if process.returncode == 0 else process.stdout[-1500:] + process.stderr[-500:])

    def losses(self, graph):
        wanted = reference(graph)["fp32"]["losses"][:STEPS]
        first = self.train(f"{graph}-{next(iter(PLANS))}", "first")
        worst = max(abs(g - w) / abs(w) if math.isfinite(g) else math.inf for g, w in zip(first[0], wanted))
        self.check(len(first[0]) == len(wanted) and worst <= LIMIT, f"{graph}: {STEPS} losses", f"within {worst:.1e} of PyTorch's, limit {LIMIT:.0e}")
        return first

    def same(self, name, first, plan, run):
        losses, tensors = self.train(plan, run)
        different = common.first_difference(first[1], tensors)
        self.check(losses == first[0] and not different, name, different or ("bitwise" if losses == first[0] else "the losses differ"))

    def bits(self, graph, first):
        self.guarded(graph, self.same, f"{graph}: run to run", first, f"{graph}-{next(iter(PLANS))}", "again")
        for plan in list(PLANS)[1:]:
            self.guarded(f"{graph} {plan}", self.same, f"{graph}: {plan} beside {next(iter(PLANS))}", first, f"{graph}-{plan}", "first")

    def memory(self, graph):
        plan = f"{graph}-4-zb-h1"
        rows = self.suite.train(os.path.join(self.plans, plan), 1, "--device", self.o.device, "--memory")
        ranks = rows[-1]["memory"]
        good = all(0 < rank["high_water"] <= rank["arena"] for rank in ranks)
        self.check(good and len(ranks) == 4, f"{graph}: arenas", ", ".join(str(rank["arena"]) for rank in ranks) + " bytes")

    def costs(self, graph, losses):
        file = os.path.join(self.folder, f"{graph}.costs.json")
        rows = self.suite.train(os.path.join(self.plans, f"{graph}-4-zb-h1"), STEPS, "--device", self.o.device, "--profile", file)
        with open(file, encoding="utf-8") as text:
            measured = json.load(text)
        times = [row["time_ps"] for key in ("subprograms", "ops") for row in measured[key]]
        good = measured["ops"] and min(times) > 0 and [row["loss"] for row in rows if "loss" in row] == losses
        self.check(good, f"{graph}: costs", f"{len(measured['subprograms'])} subprograms, {len(measured['ops'])} ops, {measured['overheads']}")

    def tf32(self, graph):
        if self.o.device != "cuda":
            print("ok - tf32 # SKIP only cuda has it")
            return
        rows = self.suite.train(os.path.join(self.plans, f"{graph}-1-fthenb"), STEPS, "--device", "cuda", "--tf32")
        worst = max(abs(row["loss"] - want) / abs(want) for row, want in zip(rows, reference(graph)["fp32"]["losses"]))
        self.check(len(rows) == STEPS and worst <= TF32_LIMIT, f"{graph}: losses in TF32", f"within {worst:.1e} of PyTorch's, limit {TF32_LIMIT:.0e}")

    def sanitizer(self, graph):
        if self.o.device != "cuda" or not shutil.which("compute-sanitizer"):
            print("ok - compute-sanitizer # SKIP it is not installed, or the device is not cuda")
            return
        for tool in "memcheck", "racecheck":
            process = subprocess.run(["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", self.suite.tool("zb-run"),
                                      os.path.join(self.plans, f"{graph}-4-zb-h1"), "--device", "cuda", "--data", "text:" + common.CORPUS, "--steps", "2"],
                                     capture_output=True, text=True, timeout=540)
            self.check(process.returncode == 0, f"compute-sanitizer {tool}, {graph}", (process.stdout + process.stderr)[-400:].strip().splitlines()[-1])


def device_line(suite, device):
    for line in suite.must("zb-run", "--list-devices").splitlines():
        if line.split()[:1] == [device]:
            return " ".join(line.split()[1:])
    return "unknown to this zb-run"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--plans", help="folder that --prepare filled; default: compile here")
    parser.add_argument("--prepare", metavar="FOLDER")
    parser.add_argument("--no-bench", action="store_true")
    o = parser.parse_args()
    suite = common.Suite(os.path.join(o.build, "bin"))
    if o.prepare:
        prepare(suite, o.prepare)
        return 0
    found = device_line(suite, o.device)
    if found.startswith(("not here", "unknown")):
        print(f"SKIP: {o.device}: {found}")
        return 77
    print(f"{o.device}: {found}")
    with common.scratch() as folder:
        plans = o.plans or os.path.join(folder, "plans")
        if not o.plans:
            prepare(suite, plans)
        gpu = Gpu(o, suite, plans, folder)
        gpu.programs()
        for graph in GRAPHS:
            first = gpu.guarded(f"{graph}: losses", gpu.losses, graph)
            if first:
                gpu.bits(graph, first)
            gpu.guarded(f"{graph}: memory", gpu.memory, graph)
            if first:
                gpu.guarded(f"{graph}: costs", gpu.costs, graph, first[0])
            gpu.guarded(f"{graph}: tf32", gpu.tf32, graph)
        gpu.sanitizer(GRAPHS[0])
    status = suite.finish()
    if not o.no_bench:
        subprocess.run([os.path.join(SOURCE, "test", "bench", "gpu.sh"), "--bin", suite.bin], check=False)
    return status


if __name__ == "__main__":
    sys.exit(main())
