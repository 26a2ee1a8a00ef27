#!/usr/bin/env python3
"""More memory is never slower: settings drawn at random, each within LIMITS limits of the ladder that zbc rounds limits
to. Of a setting, the step by its metric never grows with the limit, a limit that can be kept stays one, every plan
keeps its limit, and the bytes that the first refusal says to be enough are.

    monotone.py [--bin BUILD/bin] [--jobs 2] [--count 12] [--first 0] [--seed 38] [--keep FILE] [--seconds S]

A setting is a model, a mesh, a schedule or search, a metric, --split and --recompute. Its number and the seed draw it,
so --first 17 --count 1 is the setting 17 again. --keep writes the command lines of what is wrong. --seconds: no further
compile after so long.
"""
import json
import math
import os
import random
import re
import sys
import time

import common
import drawn_compiles

LIMITS, RUNGS = 8, 256  # of a setting; of an octave
# Searches are of the first two, and short, for time.
TINY, SMALL = ("gpt2-tiny", "llama-tiny"), ("gpt2-small", "llama-small", "roberta", "bart", "gpt2-dropout", "depth")
SEARCHES = ("search:budget=8", "search:budget=8", "search:budget=64")
SHARDINGS = ((), (), ("--sharding", "optimizer"), ("--sharding", "parameters:step"),
             ("--sharding", "gradients:micro-batch"))


def rung(limit):
    """The greatest limit of the ladder that is not above this one: RUNGS of them where bytes double."""
    step = 1
    while limit // step >= 2 * RUNGS:
        step *= 2
    return int(limit // step * step)


def draw_setting(chance, names):
    """(model, arguments without a limit, metric)"""
    searches = chance.random() < 0.25
    ranks, micro_batches = chance.choice((1, 2, 2, 3, 4)), chance.randint(2, 4 if searches else 8)
    model = chance.choice(SMALL if not searches and chance.random() < 0.4 else TINY)
    schedule = chance.choice(SEARCHES if searches else names)
    arguments = ["--ranks", ranks, "--micro-batches", micro_batches, "--schedule", schedule]
    if searches:
        arguments += ["--cut-trials", chance.choice((1, 2, 3))]
    metric = chance.choice(("barrier", "barrier", "stage", "period"))
    arguments += ["--metric", metric] if metric != "barrier" else []
    replicas, shards = chance.choice((1, 1, 1, 2)), chance.choice((1, 1, 1, 2))
    arguments += ["--data-parallel", replicas, *chance.choice(SHARDINGS)] if replicas > 1 else []
    arguments += ["--tensor-parallel", shards] if shards > 1 else []
    arguments += ["--split", chance.choice(("auto", "all", "products", "none"))] if chance.random() < 0.6 else []
    arguments += ["--recompute", chance.choice(("auto", "auto", "all", "gelu"))] if chance.random() < 0.5 else []
    arguments += ["--precision", "bf16"] if chance.random() < 0.2 else []
    return os.path.join(common.DATA, model + ".onnx"), [str(word) for word in arguments], metric


def settings(suite, seed, first, count):
    """[(number, model, arguments, metric)]"""
    names = drawn_compiles.schedules(suite, "^(?!search)")
    return [(n, *draw_setting(random.Random(f"{seed} {n}"), names)) for n in range(first, first + count)]


def needed(suite, model, arguments, out):
    """Bytes of the fullest rank where nothing is given up for memory, of a search those of the default schedule."""
    gone = {"--recompute", "--split", "--metric"}
    if arguments[arguments.index("--schedule") + 1].startswith("search"):
        gone |= {"--schedule", "--cut-trials"}
    kept = [word for before, word in zip([None, *arguments], arguments) if word not in gone and before not in gone]
    done = suite.run("zbc", model, "-o", out, "--json", *kept)
    return max(json.loads(done.stdout)["memory"]) if done.returncode == 0 else None


def draw_limits(chance, most):
    """Limits on the ladder, from far apart to next to each other."""
    found = [rung(most * chance.uniform(0.5, 1.1))]
    while len(found) < LIMITS:
        near = chance.choice(found) * 2 ** (chance.choice((-1, 1, 2, 5)) / RUNGS)
        found.append(rung(near + 1 if chance.random() < 0.5 else most * chance.uniform(0.5, 1.1)))
        found = sorted(set(found))
    return found


def step_of(summary, metric):
    return {"barrier": summary["step_seconds"], "stage": summary["stage_seconds"],
            "period": summary["period"]["seconds"]}[metric]


class Monotone:
    def __init__(self, suite, folder, options):
        self.suite, self.folder, self.seed, self.wrong = suite, folder, options.seed, []
        self.settings, self.compiles, self.kept, self.end = 0, 0, 0, time.monotonic() + options.seconds

    def setting(self, number, model, arguments, metric):
        out = os.path.join(self.folder, str(number))
        if time.monotonic() > self.end:
            return
        self.settings += 1
        most = needed(self.suite, model, arguments, out)
        if not most:
            return
        least_step, with_limit, refused = math.inf, 0, False
        for limit in draw_limits(random.Random(f"{self.seed} {number} limits"), most):
            if time.monotonic() > self.end:
                return
            words = [*arguments, "--memory-limit", str(limit)]
            done = self.suite.run("zbc", model, "-o", out, "--json", *words)
            line = f"zbc {os.path.relpath(model, common.SOURCE)} {' '.join(words)} -o DIR"
            self.compiles += 1
            if done.returncode not in (0, 3):  # no such schedule on so many ranks
                self.expect(done.returncode in (1, 2), line, f"exit {done.returncode}, {done.stderr[:400]}")
                return
            summary = json.loads(done.stdout) if done.returncode == 0 else None
            if not summary and not refused:
                refused = True
                self.enough(model, arguments, out, line, done.stderr)
            step = step_of(summary, metric) if summary else math.inf
            self.kept += summary is not None
            self.expect(not summary or max(summary["memory"]) <= limit, line, "does not keep the limit")
            self.expect(step <= least_step * (1 + 1e-12), line,
                        f"setting {number}: {step:.9g} s, within {with_limit} {least_step:.9g} s")
            if step < least_step:
                least_step, with_limit = step, limit

    def enough(self, model, arguments, out, line, text):
        named = re.search(r"(\d+) bytes are enough", text)
        if not named:
            return
        done = self.suite.run("zbc", model, "-o", out, *arguments, "--memory-limit", named[1])
        self.compiles += 1
        self.expect(done.returncode == 0, line, f"{named[1]} bytes are not enough: {done.stderr[:400]}")

    def expect(self, good, line, text):
        if not self.suite.check(good, f"{line}: {text}"):
            self.wrong.append(f"{text}\n  {line}\n")


def main():
    options = common.arguments(__doc__, ("--count", {"type": int, "default": 12}),
                               ("--first", {"type": int, "default": 0}), ("--seed", {"type": int, "default": 38}),
                               ("--keep", {}), ("--seconds", {"type": float, "default": math.inf}))
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        monotone = Monotone(suite, folder, options)
        common.run_parallel([lambda case=case: monotone.setting(*case) for case in
                             settings(suite, options.seed, options.first, options.count)], options.jobs)
    print(f"seed {options.seed}: {monotone.settings} settings, {monotone.compiles} compiles, {monotone.kept} plans")
    if options.keep:
        with open(options.keep, "w") as file:
            file.writelines(monotone.wrong)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
