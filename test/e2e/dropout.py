#!/usr/bin/env python3
"""A GPT-2 with dropout 0.1 behind embeddings, attention, products and in the probabilities (gpt2-dropout.onnx).

    dropout.py [--bin BUILD/bin]

bits: losses, weights and optimizer state are those of one rank, byte for byte, for every number of ranks, schedule,
placement, number of threads, device, for two processes over each launcher, and after a resume, which goes on with the
seed that was saved; in f32 and bf16. seeds: one gives one run, another another; who may not be given one.
chance: the mean loss over the seeds 1 to 5 is, step by step and over all steps, that of 24 runs of PyTorch, within 4
standard deviations of what five seeds can tell.

(reference.py compares the same graph with a PyTorch that drops the elements that zbc drops, loss by loss.)
Ends with "N passed, N failed".
"""
import json
import math
import os
import sys

import common
import processes

GRAPH = os.path.join(common.DATA, "gpt2-dropout.onnx")
STEPS = 4
MICRO_BATCHES = 4
# (schedule, ranks, further arguments of zbc)
PLANS = (("fthenb", 2, ()), ("1f1b", 4, ()), ("zb-h1", 2, ()), ("zb-h1", 4, ()), ("zb-v", 2, ()),
         ("search:budget=64", 4, ()), ("fthenb", 4, ("--chunks", 2)), ("zb-h1", 2, ("--cuts", "lm.transformer.h.0")))
SEEDS = range(1, 6)


class Runs:
    def __init__(self, suite, folder, precision):
        self.suite, self.precision = suite, precision
        self.folder = os.path.join(folder, precision)
        os.makedirs(self.folder)
        self.wanted = self.train(self.compile("fthenb", 1), STEPS)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, schedule, ranks, *arguments):
        out = self.path("-".join([schedule.replace(":", "-").replace("=", ""), str(ranks),
                                  *(str(a).strip("-") for a in arguments)]))
        self.suite.compile(GRAPH, out, "--schedule", schedule, "--ranks", ranks, "--micro-batches", MICRO_BATCHES,
                           "--precision", self.precision, *arguments)
        return out

    def train(self, plan, steps, *arguments):
        """(losses, tensors of the save)."""
        rows = self.suite.train(plan, steps, "--save", plan + ".saved", *arguments)
        return [row["loss"] for row in rows], common.read_checkpoint(plan + ".saved")

    def same(self, text, got, wanted=None):
        losses, tensors = wanted or self.wanted
        difference = common.first_difference(tensors, got[1])
        if got[0] != losses:
            difference = f"losses {got[0]} instead of {losses}"
        self.suite.check(not difference, f"{self.precision} {text}: {difference}")

    # ---- The same bits ----

    def cuts(self):
        for schedule, ranks, arguments in PLANS:
            plan = self.compile(schedule, ranks, *arguments)
            self.same(f"{plan}", self.train(plan, STEPS))
        plan = self.path("zb-h1-4")
        self.same("two threads", self.train(plan, STEPS, "--threads", 2))
        for delays in (1, 2):
            self.same(f"sim {delays}", self.train(plan, STEPS, "--device", "sim", "--seed", delays))

    def processes(self, launcher):
        plan, saved = self.path("zb-h1-4"), self.path(launcher.name + ".saved")
        rows = processes.train(self.suite, launcher, 2, plan, STEPS, "--save", saved)
        resumed = self.train(self.path("zb-h1-2"), STEPS, "--resume", saved)
        whole = self.train(self.path("fthenb-1"), 2 * STEPS)
        losses = [row["loss"] for row in rows]
        self.same(f"two processes over {launcher.name}, then two ranks", (losses + resumed[0], resumed[1]), whole)

    # ---- Seeds ----

    def seeds(self):
        plan = self.path("fthenb-1")
        said = self.suite.must("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 1)
        self.suite.check("random seed 1\n" in said, f"the seed is not said: {said}")
        self.same("the default is 1", self.train(plan, STEPS, "--random-seed", 1))
        whole = self.train(plan, 2 * STEPS, "--random-seed", 7)
        self.suite.check(whole[0][0] != self.wanted[0][0], f"seeds 1 and 7 give {whole[0][0]}")
        half, other = self.path("half"), self.path("zb-h1-2")
        self.suite.train(plan, STEPS, "--random-seed", 7, "--save", half)
        after = self.train(other, STEPS, "--resume", half)
        self.same("a resume keeps the seed", (whole[0][:STEPS] + after[0], after[1]), whole)
        again = self.train(other, STEPS, "--resume", half, "--random-seed", 8)
        self.suite.check(again[0] != after[0], "a resume with another seed draws by it")
        _, metadata = common.read_safetensors(os.path.join(half, "optimizer.safetensors"))
        self.suite.check(metadata.get("zb.random_seed") == "7", f"saved: {metadata}")

    def refused(self):
        plain = self.path("plain")
        self.suite.compile(os.path.join(common.DATA, "l1.onnx"), plain, "--micro-batches", 2)
        run = ("--data", "text:" + common.CORPUS, "--steps", 1)
        cases = (((plain, *run, "--random-seed", 3), "nothing in the plan draws random numbers"),
                 ((self.path("fthenb-1"), *run, "--random-seed", 0), "expected a whole number of at least 1, got '0'"),
                 ((self.path("fthenb-1"), *run, "--random-seed", 10**19), f"--random-seed: '{10**19}' is too large"),
                 ((self.path("fthenb-1"), *run, "--seed", 3), "random ops (dropout) draw by --random-seed"),
                 ((self.path("fthenb-1"), *run, "--random-sede", 3), "did you mean '--random-seed'?"))
        for words, text in cases:
            process = self.suite.run("zb-run", *words)
            self.suite.check(process.returncode == 2 and text in process.stderr and "hint: " in process.stderr,
                             f"{words}: {process.returncode} {process.stderr}")
        process = self.suite.run("zb-run", plain, *run, "--resume", self.path("half"))
        self.suite.check(process.returncode == 1, f"a checkpoint of another model: {process.stderr}")


# ---- Chance ----

def mean(values):
    return math.fsum(values) / len(values)


def spread(values):
    """The standard deviation of one."""
    middle = mean(values)
    return math.sqrt(math.fsum((v - middle)**2 for v in values) / (len(values) - 1))


def chance(suite, folder):
    with open(GRAPH.replace(".onnx", ".reference.json")) as file:
        reference = json.load(file)
    steps, theirs = reference["steps"], reference["seeds"]
    plan = os.path.join(folder, "chance")
    suite.compile(GRAPH, plan, "--ranks", 2, "--micro-batches", reference["micro_batches"])
    ours = [[row["loss"] for row in suite.train(plan, steps, "--random-seed", seed)] for seed in SEEDS]
    share = math.sqrt(1 / len(ours) + 1 / len(theirs))  # of the spread of one run: that of the difference of two means
    deviations = []
    for step in range(steps):
        a, b = [run[step] for run in ours], [run[step] for run in theirs]
        deviations.append((mean(a) - mean(b)) / (spread(b) * share))
    means = [mean(run) for run in ours], [mean(run) for run in theirs]
    whole, error = mean(means[0]) - mean(means[1]), spread(means[1]) * share
    worst = max(range(steps), key=lambda step: abs(deviations[step]))
    print(f"chance: mean loss {mean(means[0]):.5f}, {whole:+.5f} from PyTorch's, {whole / error:+.2f} deviations of "
          f"{error:.5f}; step {worst} {deviations[worst]:+.2f}")
    # Student's t with 23 degrees: more than 4 by chance once in 1,800 figures.
    suite.check(abs(whole / error) < 4, "the mean loss is not PyTorch's")
    suite.check(abs(deviations[worst]) < 4, f"the loss of step {worst} is not PyTorch's")
    suite.check(len({tuple(run) for run in ours}) == len(ours), "two seeds give one run")


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        for precision in ("f32", "bf16"):
            try:
                runs = Runs(suite, folder, precision)
                runs.cuts()
                if precision == "f32":
                    for launcher in processes.LAUNCHERS.values():
                        reason = launcher.reason_to_skip(suite)
                        if reason:
                            print(f"without {launcher.name}: {reason}", flush=True)
                        else:
                            runs.processes(launcher)
                    runs.seeds()
                    runs.refused()
            except common.Failure as failure:
                suite.check(False, str(failure))
            print(f"{precision}: {suite.passed} passed, {suite.failed} failed", flush=True)
        chance(suite, folder)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
