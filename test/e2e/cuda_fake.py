#!/usr/bin/env python3
"""The cuda device on a fake GPU (test/runtime/device/cuda/fake.h), for plans of every schedule on 1, 2 and 4 ranks:
losses, weights and optimizer state are bitwise those of one rank on the cpu, in whatever order the GPU runs what it
is given, and no two accesses of which one writes are without an order. The same as several processes, with one rank
or more on the GPU of each, over a fake NCCL that has no buffers: if the ends of a channel did not agree on the
order, or a schedule needed a buffer, it would hang or mix up messages (there losses are compared). One plan of each
graph is also measured, as zb-run --profile does. Replicas have the bits of replicas on the cpu, and shards those of
shards. Then one wait after the other is left out of a step: most must be found (all that others do not imply), and all
that messages need.

    cuda_fake.py [--bin BUILD/bin] [--tool BUILD/test/cuda-fake] [--jobs 2] [--only plans meshes waits] [--all]
                 [--draw SEED]

Each schedule is there on one of the graphs, with a number of ranks, both drawn by SEED, which is printed; --all: on
both, with all of them. Of the numbers of processes of a mesh one is drawn, and of the waits of shards every second is
left out, of even or of odd number; --all: all.
"""
import concurrent.futures
import json
import os
import random
import re
import subprocess

import bitwise
import common

STEPS = 3
GRAPHS = ("gpt2-small", "llama-small")
MICRO_BATCHES = 6
RANKS = (1, 2, 4)
# The rest are waits that others imply: which those are is shown for the plan by hand, in step_test.
# Stages of equal length: between uneven ones more waits are implied by others, and nothing races without them.
MUTATED = (("zb-h1", 2), ("zb-v", 2, "--cuts", "#17,#27,#42"), ("zb-h1", 4))
# Of shards a job waits for all that a sum before it sent, though not every job writes there: so of the waits of jobs
# some are missed.
MUTATED_SHARDS = (("zb-h1", 2, "--tensor-parallel", 2), ("1f1b", 1, "--tensor-parallel", 2, "--sequence-parallel"))
# By graph, of plans of 4 ranks: how many processes over NCCL, with a rank each, with several, and with some of both.
PROCESSES = {"gpt2-small": (4, 2), "llama-small": (4, 3)}
# Meshes: schedule, ranks, shards, replicas, and how many processes over NCCL: with all ranks apart, with shards of a
# rank in one, with shards of one and of another. Six heads, as those of the others are no multiple of three.
MESHES = {"gpt2-small": (("1f1b", 1, 1, 3, (3, 2)), ("zb-h1", 2, 1, 2, (2, 3, 4)),
                         ("zb-v", 2, 1, 2, (4, 2), "--bucket-bytes", "20K"),
                         ("1f1b", 1, 2, 1, (2,)), ("zb-h1", 2, 2, 1, (4, 2)), ("zb-h1", 1, 2, 2, (4, 2, 3)),
                         ("zb-v", 2, 2, 2, (8, 3), "--sequence-parallel"),
                         ("zb-h1", 2, 2, 2, (3,), "--sharding", "gradients:step", "--clip-norm", "0.5"),
                         ("zb-v", 2, 2, 2, (8,), "--sharding", "parameters:micro-batch", "--sequence-parallel",
                          "--clip-norm", "0.5", "--post-validation")),
          "llama-small": (("zb-h1", 2, 1, 2, (2, 3, 4)),
                          ("1f1b", 1, 2, 2, (4,), "--sequence-parallel", "--clip-norm", "0.5"),
                          ("zb-h2", 2, 2, 1, (4, 3), "--precision", "bf16", "--recompute", "all"),
                          ("zb-h1", 2, 2, 2, (8, 4), "--clip-norm", "0.05", "--clip-norm-type", "inf"),
                          ("zb-h1", 2, 2, 3, (4,), "--sharding", "optimizer", "--precision", "bf16"),
                          ("1f1b", 1, 1, 3, (2,), "--sharding", "gradients:micro-batch")),
          "buffers": (("zb-h1", 2, 1, 3, (2,), "--clip-norm", "0.5", "--post-validation"),),
          "families/six": (("1f1b", 1, 3, 1, (3, 2)), ("zb-h1", 2, 3, 1, (6, 2, 4), "--sequence-parallel"),
                           ("zb-h1", 2, 3, 2, (12, 4)))}
TOKENS = 32 # of the vocabulary of the tiny graph


class Runs:
    def __init__(self, suite, tool, folder, graph, micro_batches, data):
        self.suite, self.tool, self.graph, self.micro_batches, self.data = suite, tool, graph, micro_batches, data
        self.folder = os.path.join(folder, graph)
        os.makedirs(self.folder, exist_ok=True)

    def reference(self):
        self.compile("reference", "fthenb", 1)
        saved = os.path.join(self.folder, "reference.saved")
        rows = self.suite.train(os.path.join(self.folder, "reference"), STEPS, "--save", saved)
        self.losses, self.tensors = [row["loss"] for row in rows], common.read_checkpoint(saved)

    def compile(self, name, schedule, ranks, *more):
        """Whether the schedule is defined here."""
        schedule = bitwise.SHORT.get(schedule, schedule)
        ending = ".mlir" if self.graph.startswith("families/") else ".onnx"
        process = self.suite.run("zbc", os.path.join(common.DATA, self.graph + ending),
                                 "-o", os.path.join(self.folder, name), "--ranks", ranks,
                                 "--schedule", schedule, "--micro-batches", self.micro_batches, *more)
        if process.returncode not in (0, 2):
            raise common.Failure(f"{self.graph} {name}: {process.stderr[-2000:]}")
        return process.returncode == 0

    def fake(self, name, *arguments):
        process = subprocess.run([self.tool, os.path.join(self.folder, name), self.data, *map(str, arguments)],
                                 capture_output=True, text=True, timeout=common.patience(600))
        if process.returncode:
            raise common.Failure(f"{self.graph} {name}: exit {process.returncode}: {process.stderr[-2000:]}")
        return process.stdout.splitlines()

    def plan(self, schedule, ranks):
        """Whether there was one."""
        name = f"{schedule}-{ranks}"
        try:
            if not self.compile(name, schedule, ranks):
                return False
            saved = os.path.join(self.folder, name + ".saved")
            *losses, races = self.fake(name, STEPS, 1 + len(name), saved)
            difference = common.first_difference(self.tensors, common.read_checkpoint(saved))
            self.suite.check(list(map(float, losses)) == self.losses,
                             f"{self.graph} {name}: losses {losses} instead of {self.losses}")
            self.suite.check(not difference, f"{self.graph} {name}: {difference}")
            self.suite.check(races.split()[1] == "0", f"{self.graph} {name}: {races}")
            for processes in {1: (), 2: (2,), 4: PROCESSES[self.graph]}[ranks]:
                *losses, _, races = self.fake(name, STEPS, 1 + len(name), f"nccl:{processes}")
                self.suite.check(list(map(float, losses)) == self.losses,
                                 f"{self.graph} {name} as {processes} processes: losses {losses}")
                self.suite.check(races.split()[1] == "0", f"{self.graph} {name} as {processes} processes: {races}")
        except common.Failure as failure:
            self.suite.check(False, str(failure))
        return True

    def mesh(self, schedule, ranks, shards, replicas, processes, *more):
        """As on the cpu: all of it on one GPU, with an evaluation after each step, and over NCCL."""
        words = (word.lstrip("-").replace(":", "-") for word in more)
        name = "-".join([schedule, f"{ranks}x{replicas}x{shards}", *words])
        saves = {how: os.path.join(self.folder, f"{name}.{how}") for how in ("cpu", "gpu", *processes)}
        try:
            self.compile(name, schedule, ranks, "--data-parallel", replicas, "--tensor-parallel", shards, *more)
            rows = self.suite.train(os.path.join(self.folder, name), STEPS, "--eval", self.data, "--eval-every", 1,
                                    "--eval-steps", 1, "--save", saves["cpu"])
            wanted, evaluations = ([row["loss"] for row in rows if "loss" in row],
                                   [row["eval"]["loss"] for row in rows if "eval" in row])
            for how in ("eval:" + saves["gpu"], *(f"nccl:{count}:{saves[count]}" for count in processes)):
                *lines, races = self.fake(name, STEPS, 1 + len(name), how)
                losses = [float(line) for line in lines if " " not in line]
                found = [float(line.split()[1]) for line in lines if line.startswith("eval")]
                self.suite.check(losses == wanted and found in ([], evaluations) and races.split()[1] == "0",
                                 f"{self.graph} {name} {how}: losses {lines} instead of {wanted}, {races}")
                if how.startswith(f"nccl:{ranks * shards * replicas}:"): # all apart: both ends of each ordered pair
                    pairs = ranks * shards * replicas * (shards - 1 + replicas - 1 + ranks - 1)
                    self.suite.check(lines[-1] == f"communicators {2 * pairs}", f"{name}: {lines[-1]}, {pairs} pairs")
            saved = common.read_checkpoint(saves["cpu"])
            difference = common.first_difference(saved, common.read_checkpoint(saves["gpu"]))
            self.suite.check(not difference and len(evaluations) == STEPS, f"{self.graph} {name}: {difference}")
            weights = {key: saved[key] for key in sorted(saved) if key.startswith("weights:")}
            for count in processes:
                found, _ = common.read_safetensors(os.path.join(saves[count], "weights.safetensors"))
                found = {f"weights:{key}": found[key] for key in sorted(found)}
                difference = common.first_difference(weights, found)
                self.suite.check(not difference, f"{self.graph} {name} as {count} processes: {difference}")
        except common.Failure as failure:
            self.suite.check(False, str(failure))

    def mutations(self, share, least, half, schedule, ranks, *more):
        """Found of those that matter, and of all, at least."""
        try:
            self.compile(f"{schedule}-{ranks}", schedule, ranks, *more)
            line = self.fake(f"{schedule}-{ranks}", "mutate" + half)[0]
            total, found, matter, of_messages, missed = map(int, re.findall(r"\d+", line))
            self.suite.check(found >= share * matter and found >= least * total and of_messages > 10 and missed == 0,
                             f"{self.graph} {schedule}-{ranks}: {line}")
            print(f"{self.graph} {schedule} on {ranks} ranks: {line}", flush=True)
        except common.Failure as failure:
            self.suite.check(False, str(failure))


    def outputs(self, schedule, ranks):
        """What the fake GPU hands out besides the loss is what the cpu does."""
        name, files = f"{schedule}-{ranks}", [os.path.join(self.folder, k + ".npy") for k in ("fake", "cpu")]
        try:
            self.compile(name, schedule, ranks, "--keep-output", "logits")
            self.fake(name, 1, 3, "eval:" + os.path.join(self.folder, "output.saved"), "logits:" + files[0])
            self.suite.train(os.path.join(self.folder, name), 1, "--eval", self.data, "--eval-steps", 1, "--output",
                             "logits:" + files[1])
            read = [open(file, "rb").read() for file in files]
            self.suite.check(read[0] == read[1] and len(read[0]) > 4096, f"{self.graph} {name}: outputs differ")
        except common.Failure as failure:
            self.suite.check(False, str(failure))

    def evaluations(self, schedule, ranks):
        """Between steps they change nothing, race with nothing, and find what the cpu finds."""
        name, saved = f"{schedule}-{ranks}", os.path.join(self.folder, "evaluated.saved")
        try:
            self.compile(name, schedule, ranks)
            *lines, races = self.fake(name, STEPS, 3, "eval:" + saved)
            losses = [float(line) for line in lines if not line.startswith("eval")]
            found = [float(line.split()[1]) for line in lines if line.startswith("eval")]
            rows = self.suite.train(os.path.join(self.folder, "reference"), STEPS, "--eval", self.data,
                                    "--eval-every", 1, "--eval-steps", 1)
            wanted = [row["eval"]["loss"] for row in rows if "eval" in row]
            difference = common.first_difference(self.tensors, common.read_checkpoint(saved))
            self.suite.check(losses == self.losses and not difference and races.split()[1] == "0",
                             f"{self.graph} {name} with evaluations: {losses}, {difference}, {races}")
            self.suite.check(found == wanted, f"{self.graph} {name}: evaluations {found}, on the cpu {wanted}")
        except common.Failure as failure:
            self.suite.check(False, str(failure))

    def explained(self, schedule, ranks):
        """The idle time of a step, from the events of the queues: its parts add up."""
        name = f"{schedule}-{ranks}"
        try:
            self.compile(name, schedule, ranks)
            *losses, line, races = self.fake(name, STEPS, 3, "explain")
            found = json.loads(line.removeprefix("explain "))
            parts = [sum(value for key, value in row.items() if key != "idle_ps") for row in found["ranks"]]
            idle = [row["idle_ps"] for row in found["ranks"]]
            self.suite.check(list(map(float, losses)) == self.losses and races.split()[1] == "0" and
                             parts == idle and len(idle) == ranks and 0 < max(idle) < found["time_ps"] and
                             min(value for row in found["ranks"] for value in row.values()) >= 0,
                             f"{self.graph} {name}, explained: {line} {losses}")
        except common.Failure as failure:
            self.suite.check(False, str(failure))

    def costs(self, schedule, ranks):
        """What a measured run writes is what zbc and zb-sched take; what is trained does not depend on measuring."""
        name, file = f"{schedule}-{ranks}", os.path.join(self.folder, "costs.json")
        try:
            self.compile(name, schedule, ranks)
            *losses, races = self.fake(name, STEPS, 1, "costs:" + file)
            self.suite.check(list(map(float, losses)) == self.losses and races.split()[1] == "0",
                             f"{self.graph} {name}, measured: {losses}, {races}")
            with open(file, encoding="utf-8") as text:
                measured = json.load(text)
            jobs = {row["kind"] for row in measured["subprograms"]}
            self.suite.check(measured["machine"]["device"] == "cuda" and jobs >= {"F", "B", "W", "UPDATE"},
                             f"{self.graph} {name}: {measured['machine']}")
            self.suite.check(measured["ops"] and all(row["time_ps"] > 0 for row in measured["ops"]
                                                     + measured["subprograms"]), f"{self.graph} {name}: no time")
            process = self.suite.run("zbc", os.path.join(common.DATA, self.graph + ".onnx"),
                                     "-o", os.path.join(self.folder, "by-costs"), "--ranks", ranks,
                                     "--micro-batches", self.micro_batches, "--costs", file)
            self.suite.check(process.returncode == 0, f"zbc --costs: {process.stderr[-1000:]}")
            process = self.suite.run("zb-sched", "--costs", file, "--schedule", "zb-h1", "--json")
            self.suite.check(process.returncode == 0, f"zb-sched --costs: {process.stderr[-1000:]}")
        except common.Failure as failure:
            self.suite.check(False, str(failure))


def plans(suite, tool, folder, draw, options):
    names = bitwise.schedules(suite)
    draw.shuffle(names)
    for number, graph in enumerate(GRAPHS):
        before = suite.passed
        runs = Runs(suite, tool, folder, graph, MICRO_BATCHES, "text:" + common.CORPUS)
        runs.reference()
        cases = [(schedule, draw.choice(RANKS)) for schedule in names[number::len(GRAPHS)]]
        if options.all:
            cases = [(schedule, ranks) for schedule in names for ranks in RANKS]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            count = sum(pool.map(lambda case: runs.plan(*case), cases))
        suite.check(count > len(cases) / 2, f"{graph}: only {count} plans")
        runs.costs("zb-h1", 2)
        runs.explained("zb-h1", 2)
        for schedule, ranks in (("zb-h1", 1), ("zb-h1", 4), ("zb-v", 2)):
            runs.evaluations(schedule, ranks)
        print(f"{graph}: {count} plans on the fake GPU, {suite.passed - before} checks", flush=True)
    runs = Runs(suite, tool, folder, "outputs", MICRO_BATCHES, "text:" + common.CORPUS)
    for schedule, ranks in (("zb-h1", 1), ("zb-h1", 3), ("zb-v", 2)):
        runs.outputs(schedule, ranks)


def meshes(suite, tool, folder, draw, options):
    for graph, cases in MESHES.items():
        if not options.all:
            cases = [(*case[:4], draw.sample(case[4], 1), *case[5:]) for case in cases]
        before = suite.passed
        runs = Runs(suite, tool, folder, graph, MICRO_BATCHES, "text:" + common.CORPUS)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda case: runs.mesh(*case), cases))
        print(f"{graph}: {len(cases)} meshes on the fake GPU, {suite.passed - before} checks", flush=True)


def waits(suite, tool, folder, draw, options):
    tokens = os.path.join(folder, "tokens.bin")
    with open(tokens, "wb") as file:
        file.write(bytes(byte for i in range(4096) for byte in ((i * 7 + i // 9) % TOKENS, 0)))
    runs = Runs(suite, tool, folder, "gpt2-tiny", 4, f"tokens:{tokens}:u16")
    for case in MUTATED:
        runs.mutations(1, 0.6, "", *case)
    runs.micro_batches = 2
    for case in MUTATED_SHARDS:
        # Sums over shards lie in their accumulators: of one rank 394 of 474 waits that matter are found, with W beside
        # sums (without 402 of 476), of two ranks 290 of 340; of either half of them 82 to 86 %.
        runs.mutations(0.81, 0.4, "" if options.all else draw.choice((":even", ":odd")), *case)


PARTS = {"plans": plans, "meshes": meshes, "waits": waits}


def main():
    options = common.arguments(__doc__, ("--tool", {}), ("--all", {"action": "store_true"}),
                               ("--only", {"choices": PARTS, "nargs": "+", "default": list(PARTS)}),
                               ("--draw", {"type": int, "default": random.randrange(1 << 31)}))
    print(f"  --draw {options.draw}")
    tool = options.tool or os.path.join(options.bin, "..", "test", "cuda-fake")
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        for part in options.only:
            PARTS[part](suite, tool, folder, random.Random(options.draw), options)
    return suite.finish()


if __name__ == "__main__":
    raise SystemExit(main())
