#!/usr/bin/env python3
"""zbc --choice-out and --choice: a compile writes down what it chose, and the same comes of that, byte for byte.

    choice.py [--bin BUILD/bin] [--jobs 2] [--all] [--seed N]

  replay   compiles with each schedule that trains, each kind of option, and drawn ones: the choice, compiled again
           without the options that it says, gives the same folder and the same choice; it is small. --all: 340 more
  edited   a cut moved, gradients put into B by name, a value computed again, another order: compiled, and in the plan
  mutated  numbers and words of a choice changed at random: a plan that is proved, or an error with its place and a
           status of 1 to 3. --all: 1,000
  refused  what cannot be, with FILE:LINE:COLUMN and a hint; options that a choice says; another model
"""
import json
import os
import random
import re
import shutil
import sys

import common
import drawn_compiles

GPT, LLAMA = (os.path.join(common.DATA, name + ".onnx") for name in ("gpt2-tiny", "llama-tiny"))
SAID = {"--schedule", "--placement", "--cuts", "--layout", "--split", "--recompute", "--cut-trials", "--chunks"}
STAGE_BYTES = 1024
WAYS = (
    "--ranks 4 --chunks 1 --layout even", "--ranks 2 --placement 1,0", "--ranks 2 --chunks 2 --placement 0,1,1,0",
    "--ranks 2 --split all --recompute all", "--ranks 2 --split none", "--ranks 2 --split products",
    "--ranks 2 --split auto", "--ranks 2 --split *weight", "--ranks 3 --recompute all", "--ranks 2 --recompute gelu",
    "--ranks 2 --recompute *.h.0,gelu --split *ln*", "--ranks 2 --memory-limit 48K",
    "--ranks 2 --memory-limit 44K --recompute auto", "--ranks 2 --memory-limit 44K --recompute auto --split all",
    "--ranks 2 --schedule search:budget=16", "--ranks 2 --schedule search:budget=16 --memory-limit 50K",
    "--ranks 2 --schedule search:budget=8 --cut-trials 2 --memory-limit 44K --recompute auto",
    "--ranks 2 --metric stage --schedule search:budget=16", "--ranks 2 --metric period --schedule search:budget=16",
    "--ranks 2 --precision bf16", "--ranks 2 --data-parallel 2", "--ranks 2 --data-parallel 2 --sharding optimizer",
    "--ranks 2 --data-parallel 2 --sharding parameters:step --recompute all",
    "--ranks 2 --data-parallel 2 --sharding gradients:micro-batch --split none",
    "--ranks 2 --tensor-parallel 2", "--ranks 2 --tensor-parallel 2 --sequence-parallel --recompute all",
    "--ranks 2 --data-parallel 2 --tensor-parallel 2 --sharding parameters:micro-batch --schedule zb-v",
    "--ranks 2 --clip-norm 1 --post-validation", "--ranks 2 --loss-mean targets", "--ranks 2 --no-raise", "--ranks 1")


def without(arguments):
    """The options that a choice does not say."""
    return [word for before, word in zip([None, *arguments], arguments) if word not in SAID and before not in SAID]


def is_small(text):
    lines = [line for line in text.splitlines() if not line.startswith("order ")]
    stages = 1 + sum(line.startswith("stage ") for line in lines)
    return sum(len(line) + 1 for line in lines) <= STAGE_BYTES * stages


class Replays:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.count, self.refused = suite, folder, 0, 0

    def replay(self, number, model, arguments):
        one, two = (os.path.join(self.folder, f"{number}.{name}") for name in ("one", "two"))
        title = f"{os.path.basename(model)} {' '.join(arguments)}"
        first = self.suite.run("zbc", model, "-o", one, "--choice-out", one + ".choice", *arguments)
        if first.returncode in (1, 2, 3):
            self.refused += 1
            return
        again = self.suite.run("zbc", model, "-o", two, "--choice", one + ".choice", "--choice-out", two + ".choice",
                               *without(arguments))
        self.count += 1
        if self.suite.check(first.returncode == 0 and again.returncode == 0,
                            f"{title}: exit {first.returncode}, again {again.returncode}\n{again.stderr[-800:]}"):
            text = open(one + ".choice").read()
            self.suite.check(common.folder_bytes(one) == common.folder_bytes(two), title + ": other bytes")
            self.suite.check(text == open(two + ".choice").read(), title + ": another choice")
            self.suite.check(is_small(text), f"{title}: a choice of {len(text)} bytes\n{text[:2000]}")
        for path in (one, two):
            shutil.rmtree(path, ignore_errors=True)


def cases(suite, options):
    """(model, arguments)"""
    chance = random.Random(options.seed)
    names = drawn_compiles.schedules(suite, None)
    kinds = sorted(name[:-5] for name in os.listdir(drawn_compiles.FOLDER) if name.endswith(".mlir"))
    for name in names:
        yield chance.choice((GPT, LLAMA)), ["--ranks", "2", "--micro-batches", "4", "--schedule",
                                            name + ":budget=16" if name == "search" else name]
    for way in WAYS:
        yield GPT, way.split() + ["--micro-batches", "4"]
    for _ in range(340 if options.all else 24):
        kind = chance.choice(kinds)
        (_, _, arguments), = drawn_compiles.draw_kind(chance, kind, 1, names)
        yield os.path.join(drawn_compiles.FOLDER, kind + ".mlir"), arguments


def check_replays(suite, folder, options):
    replays, all_cases = Replays(suite, folder), list(cases(suite, options))
    common.run_parallel([lambda n=n, c=c: replays.replay(n, *c) for n, c in enumerate(all_cases)], options.jobs)
    print(f"seed {options.seed}: {replays.count} compiles done again by their choices, {replays.refused} refused both "
          "with and without")
    suite.check(replays.count >= (200 if options.all else 60), f"only {replays.count} compiles")


class Edits:
    """Choices of one compile, edited."""

    def __init__(self, suite, folder):
        self.suite, self.path, self.plan = suite, os.path.join(folder, "edited.choice"), os.path.join(folder, "plan")
        self.base = ["--ranks", 2, "--micro-batches", 2]
        suite.must("zbc", GPT, "--choice-out", self.path, *self.base)
        self.text = open(self.path).read()

    def run(self, old, new, *arguments):
        """The compile of the choice with a text replaced."""
        self.suite.check(re.search(old, self.text, re.M), f"nothing is {old} in\n{self.text}")
        with open(self.path, "w") as file:
            file.write(re.sub(old, new, self.text, count=1, flags=re.M))
        return self.suite.run("zbc", GPT, "-o", self.plan, "--choice", self.path, "--choice-out", self.path + ".out",
                              "--json", *arguments)

    def good(self, title, old, new, found):
        done = self.run(old, new)
        if self.suite.check(done.returncode == 0, f"{title}: {done.stderr}"):
            self.suite.check(found(json.loads(done.stdout), open(self.path + ".out").read()), title + "\n" +
                             open(self.path + ".out").read())

    def bad(self, title, old, new, said, *arguments, model=None):
        done = self.run(old, new, *arguments)
        self.suite.check(done.returncode in (1, 2, 3) and re.search(said, done.stderr),
                         f"{title}: exit {done.returncode}, {done.stderr}, expected {said}")


def check_edits(suite, folder):
    e = Edits(suite, folder)
    cut = int(re.search(r"^stage 0 ends (\d+)", e.text, re.M).group(1))
    last = max(map(int, re.findall(r"there is no place \d+: the program has places 0\.\.(\d+)",
                                   e.run(r"^\n# Gradients", r"again 99999\n\n# Gradients").stderr)), default=0)
    suite.check(last > cut, f"places 0..{last}")
    cut_line, job = r"^stage 0 ends \d+", r"^order 0 0F0 0F1"
    e.good("a cut moved", cut_line, f"stage 0 ends {cut - 4}", lambda s, text: f"stage 0 ends {cut - 4}" in text)
    e.good("a cut by a name", cut_line, "stage 0 ends lm.transformer.h.0",
           lambda s, text: s["layers"][0]["last_stage"] == 0 and s["layers"][1]["stage"] == 1)
    e.good("biases in B", r"^\n# What each", "in-b *.bias # by name\n\n# What each",
           lambda s, text: sum(t["gradients_in_b"] for t in s["stages"]) > 2 and "in-b" in text)
    e.good("again", r"^\n# What each", f"again 3-{cut}\n\n# What each",
           lambda s, text: s["stages"][0]["recomputed"] > 0 and s["stages"][1]["recomputed"] == 0)
    e.good("one micro-batch after the other", r"^order 0 .*\norder 1 .*",
           "order 0 0F0 0B0 0W0\norder 0 0F1 0B1 0W1\norder 1 1F0 1B0 1W0 1F1 1B1 1W1",
           lambda s, text: "order 0 0F0 0B0 0W0 0F1" in text)
    e.good("other ranks", r"^placement plain", "placement 0,1", lambda s, text: "placement 0,1" in text)
    line = e.text[:re.search(cut_line, e.text, re.M).start()].count("\n") + 1
    order = e.text[:re.search(job, e.text, re.M).start()].count("\n") + 1
    at = re.escape(e.path)
    for title, old, new, said in (
            ("a cut behind the end", cut_line, "stage 0 ends 99999", rf"{at}:{line}:14: stage 0 ends at place 99999"),
            ("no number", cut_line, "stage 0 ends 1x", rf"{at}:{line}:14: expected a number.*got '1x'\n  hint: the"),
            ("no name", cut_line, "stage 0 ends x", rf"{at}:{line}:14: no op is named 'x'\n  hint: names are"),
            ("a cut too many", cut_line, f"stage 0 ends 3\nstage 1 ends {cut}", rf"{at}:{line + 1}:7: expected"),
            ("no cut", cut_line, "", rf"{at}:\d+:1: the file does not say where stage 0 ends"),
            ("an unknown name", r"^\n# What each", "in-b lm.transformer.h.0.ln_1.biass\n\n# What each",
             r"'lm.transformer.h.0.ln_1.biass' names no trained parameter\n  hint: did you mean"),
            ("no gradient", r"^\n# What each", "in-b 0-9999\n\n# What each", rf"{at}:\d+:6: there is no gradient 9999"),
            ("no result", r"^\n# What each", "again 0-1 2.7\n\n# What each", rf"{at}:\d+:11: place 2 has \d result"),
            ("a job that is not", job, "order 0 0F0 0F9", rf"{at}:{order}:13: there is no job 0F9"),
            ("a job twice", job, "order 0 0F0 0F0", rf"{at}:{order}:13: rank 0, job 1: 0F0 is there twice"),
            ("a job of another rank", job, "order 0 0F0 1F1", rf"{at}:{order}:13: rank 0, job 1: 1F1 belongs"),
            ("B before F", job, "order 0 0B0 0F0 0F1", rf"{at}:{order}:\d+: rank 0, job"),
            ("a circle", r"^order 0 .*\norder 1 .*", "order 0 0F0 0B0 0W0 0F1 0B1 0W1\norder 1 1F0 1F1 1B0 1W0 1B1 1W1",
             rf"deadlocks(.|\n)*note: the order of {at}"),
            ("another program", r"^program .*", "program 0123456789abcdef", rf"{at}:\d+:9: the choice is of another"),
            ("another version", r"^zbc-choice 1", "zbc-choice 2", rf"{at}:1:12: expected zbc-choice 1, got '2'"),
            ("an unknown fact", r"^chunks 1", "chunk 1",
             rf"{at}:\d+:1: there is no fact 'chunk'.*\n  hint: did you mean"),
            ("no placement of that name", r"^placement plain", "placement round",
             rf"{at}:\d+:11: unknown placement 'round'\n  hint: "),
            ("a rank without an order", r"^order 1 .*", "", rf"{at}:\d+:1: the file does not say the order of rank 1")):
        e.bad(title, old, new, said)
    for words in (("--schedule", "1f1b"), ("--split", "all"), ("--recompute", "all"), ("--cuts", "x"),
                  ("--placement", "v"), ("--cut-trials", "3"), ("--layout", "even")):
        e.bad(words[0], "^ranks", "ranks", f"{words[0]} has no effect with --choice\n  hint: ", *words)
    e.bad("--ranks 3", "^ranks", "ranks", "--ranks 3, but .* has 2\n  hint: ", "--ranks", 3)
    e.bad("--precision", "^ranks", "ranks", r"of another program.*\n  hint: .*--precision", "--precision", "bf16")
    e.bad("--memory-limit", "^ranks", "ranks", r"needs \d+ bytes", "--memory-limit", "20K")


def check_kinds(suite, folder):
    """A cut through a buffer, and one of two gradients that the same ops compute."""
    path = os.path.join(folder, "kind.choice")

    def refused(kind, changed, said):
        model = os.path.join(drawn_compiles.FOLDER, kind + ".mlir")
        suite.must("zbc", model, "--choice-out", path, "--ranks", 2)
        text, found = open(path).read(), []
        for number in range(16):
            with open(path, "w") as file:
                file.write(changed(text, number))
            found.append(suite.run("zbc", model, "-o", path + ".plan", "--choice", path).stderr)
        suite.check(any(re.search(said, error) for error in found), f"{kind}: none says {said}: {set(found)}")

    refused("batch_norm", lambda text, n: re.sub("ends .*", f"ends {n}", text),
            rf"{re.escape(path)}:\d+:14: stage 0 cannot end at place \d+: the buffer '.*\n  hint: end it before")
    refused("cell", lambda text, n: text + f"in-b {n}\n",
            rf"{re.escape(path)}:\d+:6: the gradients of .* by the same ops.*\n  hint: .*: in-b \d+ \d+")


def mutate(chance, text):
    """A number or a job changed, or two of them exchanged."""
    words = [m.span() for m in re.finditer(r"(?<=[ -])[\dFBW.]+(?=[ \n-])", text)]
    (begin, end), (other, other_end) = sorted(chance.sample(words, 2))
    if chance.random() < 0.3:
        return text[:begin] + text[other:other_end] + text[end:other] + text[begin:end] + text[other_end:]
    moved = chance.choice((-1, 1, 2))
    word = re.sub(r"\d+", lambda m: str(max(0, int(m.group()) + moved)), text[begin:end], count=1)
    if chance.random() < 0.3:
        word = str(chance.choice((0, 1, 2, 3, 7, 12, 20, 33, 60, 10 ** 6)))
    return text[:begin] + word + text[end:]


def check_mutations(suite, folder, options):
    chance, text_path = random.Random(options.seed), os.path.join(folder, "good.choice")
    suite.must("zbc", GPT, "--choice-out", text_path, "--ranks", 2, "--micro-batches", 3, "--schedule", "zb-v",
               "--recompute", "*.h.0,gelu", "--split", "*weight")
    text, counts = open(text_path).read(), {}

    def one(number, mutated):
        path = os.path.join(folder, f"{number}.choice")
        with open(path, "w") as file:
            file.write(mutated)
        done = suite.run("zbc", GPT, "-o", path + ".plan", "--choice", path)
        counts[done.returncode] = counts.get(done.returncode, 0) + 1
        suite.check(done.returncode in (0, 1, 2, 3) and (done.returncode == 0 or path in done.stderr or
                                                         "error: --" in done.stderr or "placement" in done.stderr),
                    f"exit {done.returncode}, {done.stderr[:800]}\n{mutated}")
        shutil.rmtree(path + ".plan", ignore_errors=True)

    mutations = [mutate(chance, mutate(chance, text) if chance.random() < 0.3 else text)
                 for _ in range(1000 if options.all else 40)]
    common.run_parallel([lambda n=n, m=m: one(n, m) for n, m in enumerate(mutations)], options.jobs)
    print(f"{len(mutations)} mutations: exit status " + ", ".join(f"{k}: {v}" for k, v in sorted(counts.items())))


def main():
    options = common.arguments(__doc__, ("--all", {"action": "store_true"}), ("--seed", {"type": int, "default": 38}))
    suite = common.Suite(options.bin)
    suite.check(without(["--ranks", "2", "--split", "all", "--sequence-parallel", "--clip-norm", "1"]) ==
                ["--ranks", "2", "--sequence-parallel", "--clip-norm", "1"], "without")
    with common.scratch() as folder:
        check_replays(suite, folder, options)
        check_edits(suite, folder)
        check_kinds(suite, folder)
        check_mutations(suite, folder, options)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
