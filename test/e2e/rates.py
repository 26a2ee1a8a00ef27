#!/usr/bin/env python3
"""Learning rates, weight decays, groups of parameters and every optimizer, in whole runs.

    rates.py [--bin BUILD/bin]

  PyTorch     losses of gpt2-small within 1e-5 of those that PyTorch gives with the same optimizer, groups and schedule
              (rates.json, by make_rates.py), and norms of the weights at the end within 1e-4; rates within 1e-12
  compiled    groups of zbc are those of zb-run, to the bit; 2 ranks are 1, to the bit
  resume      five schedules, stopped in the middle: without options bitwise as if never stopped, under another plan
              too; options that are given replace what was saved, with a line that says so
  processes   what must be the same in all of them is compared
  refused     wrong lines, groups that nobody is in (the nearest), tables with holes: exit 2 or 1, and a hint
"""
import json
import math
import os
import re
import subprocess
import sys

import common

MODEL = os.path.join(common.DATA, "gpt2-small.onnx")
# Schedules of the resumed runs, of 8 steps, stopped after 3.
SCHEDULES = ("linear:warmup=2,steps=8", "cosine:warmup=4,steps=7,end=0.1", "wsd:warmup=2,steps=8,decay=3",
             "exponential:gamma=0.5,warmup=1", "step:every=3")


def relative(got, wanted):
    return abs(got - wanted) / max(abs(wanted), 1e-300) if math.isfinite(got or math.nan) else math.inf


def weight_norm(tensor):
    return math.sqrt(math.fsum(float(v) * float(v) for v in memoryview(tensor[2]).cast("f")))


def follow(suite, folder, name, run, micro_batches):
    """The recorded run of PyTorch."""
    plan, saved = os.path.join(folder, name), os.path.join(folder, name + ".saved")
    suite.compile(MODEL, plan, "--ranks", 2, "--micro-batches", micro_batches, "--optimizer", run["optimizer"])
    rows = suite.train(plan, len(run["losses"]), "--save", saved, *run["options"])
    worst = max(relative(row["loss"], wanted) for row, wanted in zip(rows, run["losses"]))
    suite.check(len(rows) == len(run["losses"]) and worst <= 1e-5, f"{name}: losses are off by {worst:.1e}")
    rates = max(abs(row["lr"] - wanted) for row, wanted in zip(rows, run["rates"]))
    if name != "groups":  # whose first parameter has a rate of its own
        suite.check(rates <= 1e-12, f"{name}: rates are off by {rates:.1e}")
    weights = common.read_checkpoint(saved)
    # Attention takes no notice of a bias of its keys: their gradient is rounding noise, of which Lion takes the sign.
    norms = {n: relative(weight_norm(weights["weights:" + n]), w) for n, w in run["weight_norms"].items()
             if "weights:" + n in weights and w > 1e-3 and not (name == "lion" and n.endswith("c_attn.bias"))}
    off = max(norms, key=norms.get)
    suite.check(len(norms) > 50 and norms[off] <= 1e-4, f"{name}: the norm of {off} is off by {norms[off]:.1e}")
    print(f"{name}: {len(rows)} losses within {worst:.1e} of PyTorch's, {len(norms)} weight norms within "
          f"{norms[off]:.1e}", flush=True)


def same(suite, text, wanted, got):
    difference = common.first_difference(wanted[1], got[1])
    rows = [(row["loss"], row["lr"]) for row in wanted[0]], [(row["loss"], row["lr"]) for row in got[0]]
    suite.check(rows[0] == rows[1] and not difference, f"{text}: {difference or f'{rows[1]} instead of {rows[0]}'}")


class Runs:
    """Runs of gpt2-small, and what they saved."""

    def __init__(self, suite, folder):
        self.suite, self.folder, self.count = suite, folder, 0
        self.plans = {ranks: self.compile(str(ranks), "--ranks", ranks) for ranks in (1, 2)}

    def compile(self, name, *arguments):
        plan = os.path.join(self.folder, "plan" + name)
        self.suite.compile(MODEL, plan, "--micro-batches", 4, *arguments)
        return plan

    def train(self, plan, steps, *arguments):
        self.count += 1
        saved = os.path.join(self.folder, f"saved{self.count}")
        return self.suite.train(plan, steps, "--save", saved, *arguments), common.read_checkpoint(saved), saved


def groups(suite, runs):
    options = ("--group", "*weight:lr=3e-4,weight_decay=0.05", "--group", "*ln_f*:lr=0")
    plan = runs.compile("groups", "--ranks", 1, *options)
    wanted = runs.train(runs.plans[1], 3, *options)
    same(suite, "groups of zbc", wanted, runs.train(plan, 3))
    same(suite, "groups on 2 ranks", wanted, runs.train(runs.plans[2], 3, *options))
    # What a group of the plan says, a rate of the run leaves; a group of the run does not.
    other = runs.train(plan, 3, "--lr", "0.5", "--weight-decay", "0.3", "--group", "*.bias:lr=1e-3")
    named = runs.train(runs.plans[1], 3, "--lr", "0.5", *options, "--group", "*.bias:lr=1e-3")
    same(suite, "a rate beside groups of zbc", named, other)


def resume(suite, runs, schedule):
    options = ("--lr", "2e-3", "--group", "*wte*:lr=1e-4", "--lr-schedule", schedule)
    whole = runs.train(runs.plans[1], 8, *options)
    start = runs.train(runs.plans[1], 3, *options)
    for ranks in (1, 2):
        end = runs.train(runs.plans[ranks], 5, "--resume", start[2])
        same(suite, f"{schedule} resumed on {ranks} ranks", whole, (start[0] + end[0], end[1]))
    suite.check(len({row["lr"] for row in whole[0]}) > 1, f"{schedule}: the rate never changes")


def replaced(suite, runs):
    start = runs.train(runs.plans[1], 2, "--lr", "1e-3", "--lr-schedule", "cosine:steps=10")
    done = suite.run("zb-run", runs.plans[1], "--data", "text:" + common.CORPUS, "--steps", 1, "--resume", start[2],
                     "--lr", "5e-4", "--lr-schedule", "constant")
    for text in ("--lr 5e-4 replaces '1e-3' of the checkpoint", "--lr-schedule constant replaces 'cosine:steps=10'",
                 "rates: lr 5e-4, schedule constant", "lr 0.0005"):
        suite.check(text in done.stdout, f"a resume with other rates does not say '{text}': {done.stdout}")
    two = ("--group", "*.bias:lr=0", "--group", "*wte*:weight_decay=0.1")
    start = runs.train(runs.plans[1], 1, *two)
    for now, said in ((two, None),
                      (two[:2], "--group *.bias:lr=0 replaces '*.bias:lr=0 --group *wte*:weight_decay=0.1'"),
                      (two[2:] + two[:2], "--group *wte*:weight_decay=0.1 --group *.bias:lr=0 replaces '*.bias:lr=0")):
        done = suite.run("zb-run", runs.plans[1], "--data", "text:" + common.CORPUS, "--steps", 1, "--resume", start[2],
                         *now)
        suite.check(said in done.stdout if said else "replaces" not in done.stdout,
                    f"a resume with the groups {now} does not say '{said}': {done.stdout}")
    plain = suite.run("zb-run", runs.plans[1], "--data", "text:" + common.CORPUS, "--steps", 1)
    suite.check("rates:" not in plain.stdout and "  lr " not in plain.stdout,
                f"a run without options speaks of rates: {plain.stdout}")


def table(suite, runs):
    """The file is not needed again."""
    path = os.path.join(runs.folder, "table.csv")
    with open(path, "w") as file:
        file.write("step,factor\n" + "".join(f"{step},{1 / (step + 1)}\n" for step in range(4)))
    options = ("--lr", "1e-3", "--lr-schedule", "table:" + path)
    whole = runs.train(runs.plans[1], 6, *options)
    suite.check([row["lr"] for row in whole[0]] == [1e-3 * (1 / (s + 1)) for s in (0, 1, 2, 3, 3, 3)],
                f"rates of a table: {[row['lr'] for row in whole[0]]}")
    other = os.path.join(runs.folder, "spreadsheet.csv")  # a byte-order mark, CR LF, spaces, blank lines at the end
    with open(other, "w", newline="") as file:
        rows = [f"{step} , {1 / (step + 1)}\r\n" for step in range(4)]
        file.write("\ufeffSTEP,FACTOR\r\n" + "".join(rows) + "\r\n \r\n")
    same(suite, "a table as a spreadsheet writes it", whole,
         runs.train(runs.plans[1], 6, "--lr", "1e-3", "--lr-schedule", "table:" + other))
    start = runs.train(runs.plans[1], 2, *options)
    os.remove(path)
    end = runs.train(runs.plans[2], 4, "--resume", start[2])
    same(suite, "a table resumed", whole, (start[0] + end[0], end[1]))


def processes(suite, runs):
    """Each of two processes of tcp gets its own options."""
    plan = runs.plans[2]
    for options, text in (((("--lr", "1e-3"), ("--lr", "1e-4")), "--lr"),
                          ((("--lr-schedule", "linear:steps=9"), ()), "--lr-schedule"),
                          ((("--group", "*:lr=1"), ("--group", "*:lr=2")), "--group")):
        port = 20000 + os.getpid() % 20000
        running = []
        for rank, own in enumerate(options):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=str(port), LOCAL_RANK=str(rank))
            running.append(subprocess.Popen(
                [suite.tool("zb-run"), plan, "--data", "text:" + common.CORPUS, "--steps", "1", "--timeout", "30",
                 *own],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        outputs = [process.communicate() for process in running]
        said = outputs[0][1] + outputs[1][1]
        suite.check(all(process.returncode == 2 for process in running) and "the processes do not agree" in said
                    and text in said, f"processes with other {text}: {said}")


# Arguments of zb-run, exit status, what must be said.
WRONG = (
    (("--lr", "-1e-3"), 2, "--lr must be a number from 0, got '-1e-3'.*for example --lr 3e-4"),
    (("--lr", "nan"), 2, "--lr must be a number from 0, got 'nan'"),
    (("--lr", "fast"), 2, "--lr must be a number from 0"),
    (("--weight-decay", "-0.1"), 2, "--weight-decay must be a number from 0"),
    (("--lr-schedule", "cosin:steps=10"), 2, "unknown rate schedule 'cosin'.*did you mean 'cosine'"),
    (("--lr-schedule", "cosine:warmups=2,steps=9"), 2, "unknown key 'warmups'.*did you mean 'warmup'"),
    (("--lr-schedule", "cosine:steps=0"), 2, "steps must be a whole number from 1, got '0'"),
    (("--lr-schedule", "cosine:warmup=11,steps=10"), 2, "a warm-up of 11 steps is longer than its 10 steps"),
    (("--lr-schedule", "linear"), 2, "steps is not given.*for example linear:"),
    (("--lr-schedule", "table:{folder}/none.csv"), 4, "cannot open .*none.csv.*hint: --lr-schedule table:FILE.csv"),
    (("--lr-schedule", "table:{folder}"), 4, "is a folder.*hint: --lr-schedule table:FILE.csv"),
    (("--lr-schedule", "table:{folder}/hole.csv"), 1,
     r"hole.csv:3:1: expected step 1, got step 2.*a line for each step"),
    (("--lr-schedule", "table:{folder}/word.csv"), 1, r"word.csv:2:3: the factor is no number"),
    (("--group", "*wtee*:lr=1e-3"), 2, "the group .* has no trained parameter"),
    (("--group", "lm.transformer.wte.weigth:lr=1"), 2, "did you mean 'lm.transformer.wte.weight'"),
    (("--group", "*:lrs=1"), 2, "unknown key 'lrs'.*did you mean 'lr'"),
    (("--group", "*"), 2, "is no group of parameters.*GLOB:lr="),
    (("--groups", "*:lr=1"), 2, "write --group GLOB:lr="),
)


def refused(suite, runs):
    for name, text in (("hole.csv", "step,factor\n0,1\n2,1\n"), ("word.csv", "0,1\n1,high\n")):
        with open(os.path.join(runs.folder, name), "w") as file:
            file.write(text)
    for arguments, status, wanted in WRONG:
        arguments = [argument.format(folder=runs.folder) for argument in arguments]
        done = suite.run("zb-run", runs.plans[1], "--data", "text:" + common.CORPUS, "--steps", 1, *arguments)
        suite.check(done.returncode == status and re.search(wanted, done.stderr, re.S),
                    f"{' '.join(arguments)}: exit {done.returncode}, expected {status} and '{wanted}': {done.stderr}")
    # Each parameter counts once, whatever holds it.
    mesh = runs.compile("mesh", "--ranks", 4, "--data-parallel", 2, "--tensor-parallel", 2)
    done = suite.run("zb-run", mesh, "--data", "text:" + common.CORPUS, "--steps", 1, "--group", "*nobody*:lr=1")
    suite.check(done.returncode == 2 and "the first of 100 is 'lm.transformer." in done.stderr, done.stderr)
    for arguments, wanted in ((("--group", "*nobody*:lr=1"), "--group: the group .* has no trained parameter"),
                              (("--group", "*:lr=-1"), "--group: group '\\*': lr must be a number from 0"),
                              (("--group", "a;b:lr=1"), "--group: .* has a semicolon")):
        done = suite.run("zbc", MODEL, "-o", os.path.join(runs.folder, "no"), *arguments)
        suite.check(done.returncode == 2 and re.search(wanted, done.stderr, re.S),
                    f"zbc {' '.join(arguments)}: exit {done.returncode}: {done.stderr}")


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rates.json")) as file:
        recorded = json.load(file)
    with common.scratch() as folder:
        for name, run in recorded.items():
            if isinstance(run, dict):
                follow(suite, folder, name, run, recorded["micro_batches"])
        runs = Runs(suite, folder)
        groups(suite, runs)
        for schedule in SCHEDULES:
            resume(suite, runs, schedule)
        replaced(suite, runs)
        table(suite, runs)
        processes(suite, runs)
        refused(suite, runs)
    sys.exit(suite.finish())


if __name__ == "__main__":
    main()
