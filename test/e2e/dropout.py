#!/usr/bin/env python3
"""Random numbers: a GPT-2 with dropout 0.1 behind embeddings, attention, products and in the probabilities
(gpt2-dropout.onnx), and a model that draws numbers of many kinds (aten/noisy.mlir, class Noisy of aten_models.py).

    dropout.py [--bin BUILD/bin]

bits: losses, weights and optimizer state are those of one rank, byte for byte, for every number of ranks, schedule,
placement, number of threads, device, for two processes over each launcher, and after a resume, which goes on with the
seed that was saved; in f32 and bf16. seeds: one gives one run, another another; who may not be given one.
numbers: what an evaluation draws has its distribution, and no place, micro-batch, batch or op draws as another does.
chance: the mean loss over the seeds 1 to 5 is, step by step and over all steps, that of 24 runs of PyTorch, within 4
standard deviations of what five seeds can tell.

(reference.py compares the same graph with a PyTorch that drops the elements that zbc drops, loss by loss.)
Ends with "N passed, N failed".
"""
import array
import json
import math
import os
import sys

import common
import processes

GRAPH, NOISY = os.path.join(common.DATA, "gpt2-dropout.onnx"), os.path.join(common.DATA, "aten", "noisy.mlir")
STEPS = 4
MICRO_BATCHES = 4
# (schedule, ranks, further arguments of zbc)
PLANS = (("fthenb", 2, ()), ("1f1b", 4, ()), ("zb-h1", 2, ()), ("zb-h1", 4, ()), ("zb-v", 2, ()),
         ("search:budget=64", 4, ()), ("fthenb", 4, ("--chunks", 2)), ("zb-h1", 2, ("--recompute", "all")))
CUT = ("zb-h1", 2, ("--cuts", "lm.transformer.h.0"))
SEEDS = range(1, 6)


class Runs:
    def __init__(self, suite, folder, precision, graph=GRAPH):
        self.suite, self.precision, self.graph = suite, precision, graph
        self.folder = os.path.join(folder, precision + os.path.basename(graph))
        os.makedirs(self.folder)
        self.wanted = self.train(self.compile("fthenb", 1), STEPS)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, schedule, ranks, *arguments):
        out = self.path("-".join([schedule.replace(":", "-").replace("=", ""), str(ranks),
                                  *(str(a).strip("-") for a in arguments)]))
        self.suite.compile(self.graph, out, "--schedule", schedule, "--ranks", ranks, "--micro-batches", MICRO_BATCHES,
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
        for schedule, ranks, arguments in (*PLANS, CUT) if self.graph == GRAPH else PLANS:
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

    def replicas(self):
        """Two replicas of two micro-batches draw as two groups of one pipeline with four."""
        wanted = self.train(self.compile("1f1b", 2, "--sum-groups", 2), STEPS)
        for sharding in ("none", "parameters:step"):
            words = ("--data-parallel", 2, "--sharding", sharding, "--micro-batches", MICRO_BATCHES // 2)
            self.same(f"replicas, {sharding}", self.train(self.compile("zb-h1", 2, *words), STEPS), wanted)

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


# ---- Numbers ----

KINDS = {"uniform": ("aten.random_uniform", 'dtype = "f32", ', lambda x: min(max(x, 0), 1)),
         "normal": ("aten.random_normal", "", lambda x: (1 + math.erf(x / math.sqrt(2))) / 2)}
ROWS, COLUMNS, BATCHES = 50, 60, 8


def drawing(kind, count):
    """Text of a model that gives `count` draws of one kind, each by an op of its own and added to its input x."""
    op, attributes, _ = KINDS[kind]
    tensor = f"tensor<{ROWS}x{COLUMNS}xf32>"
    lines, names = [], [f"%r{i}" for i in range(count)]
    for name in names:
        lines.append(f'    {name}_ = "{op}"() {{size = array<i64: {ROWS}, {COLUMNS}>, {attributes}training = false}} '
                     f": () -> {tensor}")
        lines.append(f'    {name} = "aten.add.Tensor"({name}_, %x) : ({tensor}, tensor<{ROWS}x1xf32>) -> {tensor}')
    head = (f'module attributes {{aten.format = 1 : i64}} {{\n  func.func @main(%x: tensor<{ROWS}x1xf32> '
            '{aten.input = "x"}) -> (tensor<f32> {aten.output = "loss"}, '
            + ", ".join(f'{tensor} {{aten.output = "draw{i}"}}' for i in range(count)) + ") {\n")
    lines.append(f'    %loss = "aten.mean"(%x) : (tensor<{ROWS}x1xf32>) -> tensor<f32>')
    lines.append(f"    return %loss, {', '.join(names)} : tensor<f32>, {', '.join([tensor] * count)}")
    return head + "\n".join(lines) + "\n  }\n}\n"


def read_numbers(path):
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + int.from_bytes(data[8:10], "little")
    return array.array("f", data[start:])


def distance(values, distribution):
    """Kolmogorov and Smirnov's, times the square root of how many there are: above 2.2 by chance once in 10^4."""
    values, size = sorted(values), len(values)
    return max(max((i + 1) / size - distribution(v), distribution(v) - i / size)
               for i, v in enumerate(values)) * math.sqrt(size)


def correlation(a, b):
    """Of two lists, times the square root of their length: about normal for those that are independent."""
    ma, mb = mean(a), mean(b)
    top = math.fsum((x - ma) * (y - mb) for x, y in zip(a, b))
    return top / math.sqrt(math.fsum((x - ma)**2 for x in a) * math.fsum((y - mb)**2 for y in b)) * math.sqrt(len(a))


def numbers(suite, folder):
    data = os.path.join(folder, "zeros.npy")
    with open(data, "wb") as file:
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS * BATCHES}, 1), }}".ljust(117) + "\n"
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.write(bytes(4 * ROWS * BATCHES))
    for kind, (_, _, distribution) in KINDS.items():
        model, plan = os.path.join(folder, kind + ".mlir"), os.path.join(folder, kind)
        with open(model, "w") as file:
            file.write(drawing(kind, 2))
        suite.compile(model, plan, "--inference", *(word for i in range(2) for word in ("--keep-output", f"draw{i}")),
                      "--micro-batches", 2)
        outputs = [os.path.join(folder, f"{kind}{i}.npy") for i in range(2)]
        words = [word for i, path in enumerate(outputs) for word in ("--output", f"draw{i}:{path}")]
        suite.must("zb-run", plan, "--eval", f"npy:{data}", *words)
        drawn = [read_numbers(path) for path in outputs]
        size = ROWS * COLUMNS
        suite.check(len(drawn[0]) == size * BATCHES, f"{kind}: {len(drawn[0])} numbers")
        values = drawn[0]
        far = distance(values, distribution)
        related = {"the other op": correlation(values, drawn[1]),
                   "its neighbour": correlation(values[:-1], values[1:]),
                   "the row below": correlation(values[:-COLUMNS], values[COLUMNS:]),
                   "the next micro-batch": correlation(values[:-size], values[size:])}
        print(f"numbers: {kind}: {far:.2f} from its distribution, " + ", ".join(
            f"{value:+.2f} with {name}" for name, value in related.items()))
        suite.check(far < 2.2, f"{kind}: {far} from its distribution")
        suite.check(all(abs(value) < 4 for value in related.values()), f"{kind}: {related}")


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
        try:
            runs = Runs(suite, folder, "f32", NOISY)
            runs.cuts()
            runs.replicas()
            for launcher in processes.LAUNCHERS.values():
                if not launcher.reason_to_skip(suite):
                    runs.processes(launcher)
            numbers(suite, folder)
        except common.Failure as failure:
            suite.check(False, str(failure))
        chance(suite, folder)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
