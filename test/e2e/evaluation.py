#!/usr/bin/env python3
"""Evaluations: the loss of PyTorch's model.eval(), the same bits whatever the cut, and training that does not notice
them.

    evaluation.py [--bin BUILD/bin] [--jobs 2] [--only loss bits training processes ends input]

loss: over whole batches of the corpus, before training and after 20 steps, against what tools/reference.py
recorded, with dropout, too; without it one batch has the loss of the step that would train on it, bit for bit; of
shards and replicas, too, the same bits on 1 and 2 ranks. bits:
ranks, schedules, placements, threads, the sim device with delays, bf16. training: losses and checkpoints of runs with
evaluations between steps are those of runs without. processes: over TCP, and over MPI where there is one. ends: a
process that is killed during an evaluation, a signal. input: what can be wrong, before anything trains.
rows: the mean over all rows of data whose last batch has fewer, against its formula, from files and from Python, and
the rows of outputs.

Ends with "N passed, N failed, N skipped".
"""
import array
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time

import common
import processes
import processes_faults
import reference

GRAPHS = ("gpt2-small", "llama-small")
DROPS = "gpt2-dropout"
PARTS = ("loss", "bits", "training", "processes", "ends", "input", "rows")
MICRO_BATCHES = 8
MESHES = {"gpt2-small": (("--data-parallel", 2, "--tensor-parallel", 2, "--sharding", "parameters:step", "--clip-norm",
                          "inf"),),
          "llama-small": (("--tensor-parallel", 2, "--sequence-parallel"),
                          ("--data-parallel", 2, "--sharding", "optimizer"))}
CUTS = [(2, "1f1b", ()), (2, "zb-h1", ()), (4, "zb-h1", ()), (8, "zb-h1", ()), (2, "zb-v", ()), (4, "zb-v", ()),
        (4, "fthenb", ("--chunks", 2)), (2, "fthenb", ("--placement", "wave", "--chunks", 3)),
        (2, "fthenb", ("--placement", "1,0,0,1"))]


class Plans:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.made = suite, folder, set()

    def get(self, graph, ranks=1, schedule="fthenb", *more, micro_batches=MICRO_BATCHES):
        """Folder of a plan; its commands differ by name."""
        name = "-".join(map(str, (graph, ranks, schedule, micro_batches, *more))).replace("--", "").replace(",", "")
        out = os.path.join(self.folder, name)
        if out not in self.made:
            self.suite.must("zbc", os.path.join(common.DATA, graph + ".onnx"), "-o", out, "--ranks", ranks,
                            "--schedule", schedule, "--micro-batches", micro_batches, *more)
            self.made.add(out)
        return out


def split(rows):
    """The losses of steps, and the evaluations, of the objects of zb-run --json."""
    return [row["loss"] for row in rows if "step" in row], [row["eval"] for row in rows if "eval" in row]


def evaluate(suite, plan, *arguments, corpus=common.CORPUS):
    """The one object of an evaluation without training."""
    rows = common.json_lines(suite.must("zb-run", plan, "--eval", "text:" + corpus, "--json", *arguments))
    steps, found = split(rows)
    assert not steps and len(found) == 1, rows
    return found[0]


def whole(recorded):
    return "--eval-steps", recorded["batches"]


def loss_of_meshes(suite, plans, comparison, graph, wanted):
    recorded = wanted["fp32"]["evaluation"]
    for more in MESHES.get(graph, ()):
        words, found = " ".join(map(str, more)), []
        for ranks, schedule in ((1, "1f1b"), (2, "zb-h1")):
            replicas = 2 if "--data-parallel" in more else 1
            plan = plans.get(graph, ranks, schedule, *more, micro_batches=wanted["micro_batches"] // replicas)
            _, after = split(suite.train(plan, 20, "--eval", "text:" + common.CORPUS, *whole(recorded)))
            found.append(after[0]["loss"])
        suite.check(found[0] == found[1], f"{graph} {words}: evaluations on 1 and 2 ranks: {found}")
        before = evaluate(suite, plan, *whole(recorded))["loss"]
        comparison.row("evaluation before training", reference.relative(before, recorded["before"]), 1e-6, words)
        comparison.row("evaluation after 20 steps", reference.relative(found[0], recorded["after"]), 1e-5, words)


def loss(suite, plans, folder):
    for graph in (*GRAPHS, DROPS):
        with open(os.path.join(common.DATA, graph + ".reference.json")) as file:
            wanted = json.load(file)
        comparison = reference.Comparison(suite, graph)
        plan = plans.get(graph, 2, "zb-h1", micro_batches=wanted["micro_batches"])
        recorded = wanted["fp32"]["evaluation"]
        alone = evaluate(suite, plan, *whole(recorded))
        everything = evaluate(suite, plan)
        suite.check(alone["step"] == 0 and everything["batches"] == recorded["batches"] + 1,
                    f"{graph}: {everything['batches']} batches, PyTorch has {recorded['batches']} whole ones")
        comparison.row("evaluation before training", reference.relative(alone["loss"], recorded["before"]), 1e-6)
        rows = suite.train(plan, 20, "--eval", "text:" + common.CORPUS, *whole(recorded))
        _, after = split(rows)
        comparison.row("evaluation after 20 steps", reference.relative(after[0]["loss"], recorded["after"]), 1e-5)
        suite.check(after[0]["step"] == 20 and "eval" in rows[-1], f"{graph}: the evaluation is not at the end")
        one, first = evaluate(suite, plan, "--eval-steps", 1), suite.train(plan, 1)[0]["loss"]
        suite.check((one["loss"] == first) == (graph != DROPS) and one["batches"] == 1,
                    f"{graph}: one batch has the loss {one['loss']}, the step on it {first}")
        loss_of_meshes(suite, plans, comparison, graph, wanted)


def bits(suite, plans, folder):
    for graph in (*GRAPHS, DROPS):
        wanted = evaluate(suite, plans.get(graph), "--eval-steps", 5)["loss"]
        for ranks, schedule, more in CUTS:
            plan = plans.get(graph, ranks, schedule, *more)
            for extra in ((), ("--threads", 2), ("--device", "sim"), ("--device", "sim", "--seed", 7)):
                got = evaluate(suite, plan, "--eval-steps", 5, *extra)["loss"]
                suite.check(got == wanted, f"{graph} {ranks} {schedule} {more} {extra}: {got}, expected {wanted}")
        low = [evaluate(suite, plans.get(graph, ranks, schedule, "--precision", "bf16"), "--eval-steps", 3)["loss"]
               for ranks, schedule in ((1, "fthenb"), (2, "zb-v"), (4, "zb-h1"))]
        suite.check(len(set(low)) == 1 and low[0] != wanted, f"{graph} bf16: {low}")
        print(f"ok   {graph}: {len(CUTS)} cuts", flush=True)


def training(suite, plans, folder):
    """Evaluations between steps, and a resume between them."""
    for graph in (*GRAPHS, DROPS):
        for ranks, schedule, more in ((1, "fthenb", ()), (4, "zb-h1", ()), (2, "zb-v", ("--precision", "bf16"))):
            plan = plans.get(graph, ranks, schedule, *more)
            name = f"{graph} {ranks} {schedule}"
            saved = [os.path.join(folder, f"{graph}-{ranks}-{kind}") for kind in ("plain", "evaluated", "half")]
            plain = suite.train(plan, 6, "--save", saved[0])
            rows = suite.train(plan, 6, "--save", saved[1], "--eval", "text:" + common.CORPUS, "--eval-every", 2,
                               "--eval-steps", 3)
            losses, found = split(rows)
            suite.check(losses == split(plain)[0], f"{name}: losses {losses} with evaluations")
            difference = common.first_difference(common.read_checkpoint(saved[0]), common.read_checkpoint(saved[1]))
            suite.check(difference is None, f"{name}: {difference}")
            suite.check([e["step"] for e in found] == [2, 4, 6] and len({e["loss"] for e in found}) == 3,
                        f"{name}: evaluations {found}")
            suite.train(plan, 4, "--save", saved[2])
            for option, step in (("--resume", 4), ("--weights", 0)):
                again = evaluate(suite, plan, "--eval-steps", 3, option, saved[2])
                suite.check(again["loss"] == found[1]["loss"] and again["step"] == step,
                            f"{name} {option}: {again}, expected the loss of {found[1]}")
        print(f"ok   {graph}: training is the same", flush=True)


def launchers(suite):
    for launcher in processes.LAUNCHERS.values():
        reason = launcher.reason_to_skip(suite)
        if reason:
            suite.skipped += 1
            print(f"skip {launcher.name}: {reason}", flush=True)
        else:
            yield launcher


def several(suite, plans, folder):
    for launcher in launchers(suite):
        for graph, ranks, schedule, count in (("gpt2-small", 4, "zb-h1", 2), ("gpt2-small", 4, "zb-v", 4),
                                              ("llama-small", 2, "1f1b", 2)):
            plan = plans.get(graph, ranks, schedule)
            arguments = ("--eval", "text:" + common.CORPUS, "--eval-steps", 4, "--json")
            wanted = evaluate(suite, plan, "--eval-steps", 4)["loss"]
            done = processes.launched(suite, launcher, count, plan, *arguments)
            rows = common.json_lines(done.stdout) if done.returncode == 0 else []
            name = f"{launcher.name} {graph} {schedule} in {count} processes"
            suite.check([row["eval"]["loss"] for row in rows] == [wanted], f"{name}: {rows}\n{done.stderr}")
            plain = split(suite.train(plan, 4))[0]
            rows = processes.train(suite, launcher, count, plan, 4, *arguments[:-1], "--eval-every", 1)
            losses, found = split(rows)
            suite.check(losses == plain and [e["step"] for e in found] == [1, 2, 3, 4], f"{name}: {rows}")
        done = subprocess.run(
            [*launcher.command(2), "sh", "-c",
             f'if [ "${{OMPI_COMM_WORLD_RANK:-${{RANK:-$SLURM_PROCID}}}}" = 1 ]; then n=2; else n=3; fi; '
             f'exec {suite.tool("zb-run")} {plan} --eval text:{common.CORPUS} --eval-steps $n'],
            capture_output=True, text=True, timeout=common.patience(120), env=launcher.environment)
        suite.check(done.returncode != 0 and "--eval-steps is '3' in process 0 and '2' in process 1" in done.stderr,
                    f"{launcher.name}: other --eval-steps: {done.returncode} {done.stderr}")
        print(f"ok   {launcher.name}", flush=True)


class Evaluation(processes_faults.Run):
    """Processes that do nothing but evaluate; they are at work when the first line has come."""
    begun = ""

    def __init__(self, suite, launcher, plan, corpus, *arguments):
        command = [*launcher.command(processes_faults.RANKS), suite.tool("zb-run"), plan, "--eval", "text:" + corpus,
                   *map(str, arguments)]
        self.saved, self.variable = "text:" + corpus, launcher.variable.encode()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=launcher.environment, errors="backslashreplace")
        self.errors, self.saves, self.times, self.first_save = [], 1, [], processes_faults.threading.Event()
        self.readers = [processes_faults.threading.Thread(target=self.read_output),
                        processes_faults.threading.Thread(target=lambda: self.errors.extend(self.process.stderr))]
        for reader in self.readers:
            reader.start()


def long_corpus(folder):
    path = os.path.join(folder, "long.txt")
    with open(common.CORPUS, "rb") as file:
        text = file.read()
    with open(path, "wb") as file:
        for _ in range(2000):
            file.write(text)
    return path


def ends(suite, plans, folder):
    corpus = long_corpus(folder)
    plan = plans.get("gpt2-small", 4, "zb-h1", micro_batches=32)
    for launcher in launchers(suite):
        for rank in range(processes_faults.RANKS):
            seconds, status, left, errors = Evaluation(suite, launcher, plan, corpus).hit(
                rank, signal.SIGKILL, 1.0 + 0.1 * rank)
            said = [other for other in range(processes_faults.RANKS)
                    if other != rank and re.search(r"rank %d is at \dE|rank %d is at .*RECV|rank %d is at" %
                                                   (other, other, other), errors)]
            suite.check(common.soon(seconds, processes_faults.KILL_LIMIT_SECONDS) and not left and
                        status == 128 + signal.SIGKILL and said and "evaluation after step 0, batch" in errors,
                        f"{launcher.name}: kill -9 of rank {rank}: {seconds} s, status {status}, left {left}\n{errors}")
        print(f"ok   {launcher.name}: kill -9 during an evaluation", flush=True)
    for more, last, said in (((), "gpt2-small", "stopped by a signal after 0 steps"),
                             (("--data", "text:" + common.CORPUS, "--steps", "2"), "step 2/",
                              "stopped by a signal after 2 steps")):
        run = subprocess.Popen([suite.tool("zb-run"), plan, "--eval", "text:" + corpus, *more], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        while (line := run.stdout.readline()) and not line.startswith(last):
            pass  # the evaluation follows the last line that is printed before it
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        out, errors = run.communicate(timeout=common.patience(60))
        suite.check(run.returncode == 130 and said in errors and "eval step" not in out,
                    f"SIGINT: {run.returncode}\n{out}{errors}")


def inputs(suite, plans, folder):
    plan = plans.get("gpt2-small", 2, "zb-h1")
    with open(common.CORPUS, "rb") as file:
        text = file.read()

    def write(name, bytes_):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(bytes_)
        return "text:" + path

    # 16 rows of 32 tokens, of which the last needs one more: 512 + 1 bytes, and one more so that it is not the first.
    short, enough = write("short.txt", text[:512]), write("enough.txt", text[:514])
    tiny = write("tiny.txt", text[:20])
    data = ("--data", "text:" + common.CORPUS, "--steps", 2)
    for words, status, said in (
            (("--eval", tiny), 1, ["holds 20 tokens, but one row of the model needs 34"]),
            (("--eval", short, "--eval-steps", 2), 1, ["has 15 rows, which are no 2 batches of 16", "they are 1;"]),
            (("--eval", enough, "--eval-steps", 2), 1, ["has 16 rows, which are no 2 batches of 16", "they are 1;"]),
            (("--eval", enough, "--eval-steps", 2**61), 1, [f"no {2**61} batches"]),
            (("--eval", "text:nowhere.txt"), 4, ["nowhere.txt"]),
            (("--eval", "txt:" + common.CORPUS), 2, ["--eval: cannot read data from", "did you mean 'text:"]),
            (("--eval", "corpus.txt"), 2, ["--eval: cannot read data from 'corpus.txt'"]),
            ((*data, "--eval-every", 2), 2, ["--eval-every without --eval", "add --eval text:FILE"]),
            ((*data, "--eval-steps", 2), 2, ["--eval-steps without --eval"]),
            ((*data, "--eval", enough, "--eval-every", 0), 2, ["--eval-every"]),
            ((*data, "--eval", enough, "--eval-steps", -1), 2, ["--eval-steps"]),
            ((*data, "--evla", enough), 2, ["did you mean '--eval'?"]),
            (("--eval", enough, "--steps", 2), 2, ["--steps has no effect", "add --data SOURCE"]),
            (("--eval", enough, "--save", os.path.join(folder, "no")), 2, ["--save has no effect"]),
            (("--eval", enough, "--eval-every", 2), 2, ["--eval-every has no effect"]),
            (("--eval", enough, "--save-every", 2), 2, ["--save-every has no effect"]),
            (("--eval", enough, "--timeline", os.path.join(folder, "no.svg")), 2, ["--timeline has no effect"]),
            (("--eval", enough, "--no-kernels", "--device", "sim"), 2, ["--no-kernels has no effect"])):
        process = suite.run("zb-run", plan, *words)
        suite.check(process.returncode == status and all(part in process.stderr for part in said) and
                    "step 1" not in process.stdout, f"{words}: {process.returncode}\n{process.stderr}")
    for corpus in (enough, short):
        suite.check(evaluate(suite, plan, corpus=corpus[5:])["batches"] == 1, corpus + " is one batch")


# The logits of a token are a row of w, so a loss is a formula. 6 rows: a rest of 5 comes as 3 and 2 of them.
TABLE = """
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<6x5xi64> {zb.input = "x"}, %y: tensor<6x5xi64> {zb.input = "y"},
                   %w: tensor<32x32xf32> {zb.param = "m.w"})
      -> (tensor<f32> {zb.loss}, tensor<6x5x32xf32> {zb.output = "z"}, tensor<f32> {zb.output = "mean"}) {
    %z = "zb.gather"(%w, %x) {axis = 0 : i64} : (tensor<32x32xf32>, tensor<6x5xi64>) -> tensor<6x5x32xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {ignore_index = 0 : i64, reduction = "mean"}
        : (tensor<6x5x32xf32>, tensor<6x5xi64>) -> (tensor<f32>, tensor<6x5xf32>)
    return %loss, %z, %loss : tensor<f32>, tensor<6x5x32xf32>, tensor<f32>
  }
}
"""
EACH, LENGTH, WORDS = 6, 5, 32


class Table:
    def __init__(self, suite, folder, micro_batches, mean, *more):
        self.suite, self.folder = suite, folder
        self.plan, self.micro_batches = os.path.join(folder, "table"), micro_batches
        model = os.path.join(folder, "table.mlir")
        with open(model, "w") as file:
            file.write(TABLE)
        suite.compile(model, self.plan, "--micro-batches", micro_batches, "--loss-mean", mean, *more)
        weights, _ = common.read_safetensors(os.path.join(self.plan, "weights.safetensors"))
        self.weights = array.array("f", weights["m.w"][2])
        draw = random.Random(micro_batches)
        least = 1 if mean == "micro-batches" else 0  # 0 is ignored
        self.x = [draw.randrange(WORDS) for _ in range(3 * micro_batches * EACH * LENGTH)]
        self.y = [draw.choice((least, draw.randrange(least, WORDS))) for _ in self.x]

    def formula(self, rows):
        """The mean over all targets that count, in f64."""
        losses = []
        for x, y in zip(self.x[:rows * LENGTH], self.y):
            logits = self.weights[x * WORDS:(x + 1) * WORDS]
            if y:
                losses.append(math.log(sum(map(math.exp, logits))) - logits[y])
        return sum(losses) / len(losses)

    def arrays(self, rows):
        return [array.array("q", part[:rows * LENGTH]) for part in (self.x, self.y)]

    def evaluate(self, rows, *more):
        import arrays as files
        path = os.path.join(self.folder, "rows.npz")
        with open(path, "wb") as file:
            file.write(files.npz({name: files.npy(part, (rows, LENGTH))
                                  for name, part in zip("xy", self.arrays(rows))}))
        return self.suite.run("zb-run", self.plan, "--eval", "npz:" + path, "--json", *more)

    def check(self, rows, name):
        whole = -(-rows // (EACH * self.micro_batches))
        out = os.path.join(self.folder, "z.npy")
        process = self.evaluate(rows, "--output", "z:" + out)
        found = json.loads(process.stdout)["eval"] if process.returncode == 0 else {"loss": math.nan, "batches": 0}
        wanted = self.formula(rows)
        self.suite.check(abs(found["loss"] - wanted) < 1e-6 * wanted and found["batches"] == whole,
                         f"{name}, {rows} rows: {found}, expected {wanted} of {whole} {process.stderr}")
        with open(out, "rb") as file:
            data = file.read()
        z = array.array("f", data[-4 * rows * LENGTH * WORDS:])
        good = all(z[i * WORDS:(i + 1) * WORDS] == self.weights[x * WORDS:(x + 1) * WORDS]
                   for i, x in enumerate(self.x[:rows * LENGTH]))
        self.suite.check(good and b"(%d, %d, %d" % (rows, LENGTH, WORDS) in data, f"{name}, {rows} rows: the output")


    def python(self, rows):
        """Batches of a loader, of which the last one has fewer rows, and outputs of it."""
        import zb
        x, y = self.arrays(rows)
        batch = EACH * self.micro_batches

        def batches():
            for first in range(0, rows, batch):
                cut = slice(first * LENGTH, min(rows, first + batch) * LENGTH)
                yield tuple(memoryview(part[cut]).cast("B").cast("q", (len(part[cut]) // LENGTH, LENGTH))
                            for part in (x, y))

        with zb.Session(self.plan) as run:
            found = run.evaluate(batches())
            wanted = self.formula(rows)
            self.suite.check(abs(found.loss - wanted) < 1e-6 * wanted and found.tokens == rows * LENGTH,
                             f"Python, {rows} rows: {found}, expected {wanted}")
            made, last = [run.predict(one, like="buffer") for one in batches()], rows % batch or batch
            self.suite.check(made[-1]["z"].shape == (last, LENGTH, WORDS) and ("mean" in made[-1]) == (last == batch),
                             f"Python, {rows} rows: {made[-1]}")
            z = [value for one in made for value in memoryview(one["z"]).cast("B").cast("f")]
            self.suite.check(all(z[i * WORDS:(i + 1) * WORDS] == list(self.weights[x[i] * WORDS:(x[i] + 1) * WORDS])
                                 for i in range(rows * LENGTH)), f"Python, {rows} rows: z")
            try:
                run.step(next(batches()) if last != batch else tuple(part[:1] for part in next(batches())))
                self.suite.check(rows >= batch, "a step on fewer rows")
            except zb.Error as error:
                self.suite.check(error.code == "INVALID" and "drop_last=True" in str(error), str(error))


def rows_of_all(suite, plans, folder):
    for micro_batches, mean, more in ((1, "targets", ()), (4, "micro-batches", ("--ranks", 1)),
                                      (2, "targets", ("--data-parallel", 2))):
        table = Table(suite, folder, micro_batches, mean, *more)
        table.micro_batches *= 2 if more[:1] == ("--data-parallel",) else 1
        table.x, table.y = table.x * 2, table.y * 2
        batch = EACH * table.micro_batches
        for rows in sorted({1, 2, 5, EACH - 1, EACH, EACH + 1, batch - 1, batch, batch + 1, 2 * batch + EACH + 5}):
            table.check(rows, f"{micro_batches} micro-batches, {mean} {more}")
            table.python(rows)
        process = table.evaluate(batch + 1, "--output", "mean:" + os.path.join(folder, "mean.npy"))
        suite.check(process.returncode == 1 and "has not the rows of a batch" in process.stderr, process.stderr)
        process = table.evaluate(batch + 1, "--output", "mean:" + os.path.join(folder, "mean.npy"), "--eval-steps", 1)
        suite.check(process.returncode == 0, process.stderr)


def main():
    options = common.arguments(__doc__, ("--only", {"nargs": "+", "choices": PARTS, "default": list(PARTS)}))
    suite = common.Suite(options.bin)
    suite.skipped = 0
    os.environ.setdefault("ZB_LIBRARY", os.path.join(os.path.dirname(os.path.abspath(options.bin)), "lib"))
    sys.path.insert(0, os.path.join(common.SOURCE, "tools", "python"))
    parts = dict(zip(PARTS, (loss, bits, training, several, ends, inputs, rows_of_all)))
    with common.scratch() as folder:
        plans = Plans(suite, folder)
        common.run_parallel([lambda part=part: parts[part](suite, plans, folder) for part in options.only], 1)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
