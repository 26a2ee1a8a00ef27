#!/usr/bin/env python3
"""--schedule search with open placement: cuts, placement, order and split together.

    joint_search.py [--bin BUILD/bin]

  limits   uneven models (test/bench/joint.py) under limits drawn at random: no step is longer than with the cuts by
           cost, what the summary says of those is what --cut-trials 1 gives, the limit is kept, some steps are shorter
  again    the same compile gives the same bytes; --placement, --chunks and --cuts of the summary give the same step
  all      with --split auto and --recompute auto, too, no step is longer, nor longer than without --recompute, and what
           the summary says of them gives the same step
  splits   --split auto is not slower than none, all and products, where cuts are searched with each of them
  bits     a plan with other cuts trains as one rank does
  errors   --cut-trials where no cuts are tried, out of range; a cut after an op that there is not
"""
import argparse
import json
import math
import os
import random
import sys

import common

sys.path.insert(0, os.path.join(common.SOURCE, "test", "bench"))
import joint  # noqa: E402

SEARCH = ("--schedule", "search:budget=16")


def compiled(suite, folder, model, name, *more):
    return suite.compile(model, os.path.join(folder, name), *SEARCH, "--micro-batches", 6, *more)


def write(folder, number, ranks=3):
    kind, make = joint.KINDS[number % len(joint.KINDS)]
    path = "%s/%s.mlir" % (folder, kind)
    with open(path, "w", encoding="utf-8") as file:
        file.write(make(random.Random(number), ranks))
    return path


def check_limits(suite, folder):
    draw, better, last = random.Random(7), 0, None
    bench = joint.Bench(argparse.Namespace(bin=suite.bin, trials=0, schedule=SEARCH[1], recompute="none"), folder)
    for number in range(3):
        model = write(folder, number)
        free = compiled(suite, folder, model, "free", "--ranks", 3, "--cut-trials", 1, "--split", "all")
        most, least = max(free["memory"]), bench.least(model, "--ranks", 3, "--micro-batches", 6)
        limit = int(least + (most - least) * draw.uniform(0.2, 0.9))
        base = ["--ranks", 3, "--memory-limit", limit, "--split", "all"]
        first = compiled(suite, folder, model, "first", "--cut-trials", 1, *base)
        found = compiled(suite, folder, model, "found", *base)
        title = "model %d within %d" % (number, limit)
        suite.check(found["step_seconds"] <= first["step_seconds"], "%s: %.9g, with the cuts by cost %.9g" %
                    (title, found["step_seconds"], first["step_seconds"]))
        suite.check("joint" in found and found["joint"]["first_step_seconds"] == first["step_seconds"] and
                    "joint" not in first, title + ": the step with the cuts by cost")
        suite.check(max(found["memory"]) <= limit, title + ": memory")
        last = model, base, found
        better += found["step_seconds"] < first["step_seconds"]
    suite.check(better, "no step is shorter with other cuts")
    return last


def check_again(suite, folder, model, base, found):
    compiled(suite, folder, model, "again", *base)
    compiled(suite, folder, model, "found", *base)
    both = [open(os.path.join(folder, name, "plan.zb"), "rb").read() for name in ("found", "again")]
    suite.check(both[0] == both[1], "the same compile gives the same plan")
    choice = folder + "/choice"
    with open(choice, "w", encoding="utf-8") as file:
        file.write(found["choice"])
    suite.compile(model, folder + "/named", "--choice", choice)
    suite.check(open(folder + "/named/plan.zb", "rb").read() == both[0], "what was found is compiled without a search")


def check_all(suite, folder):
    """An encoder and a decoder on two ranks, with little memory; with the least, the cuts by cost do not fit."""
    model, base = write(folder, 2, 2), ["--schedule", "search:budget=8", "--ranks", 2, "--micro-batches", 4]
    peak = max(suite.compile(model, folder + "/all", *base, "--cut-trials", 1)["memory"])
    firsts = [check_share(suite, folder, model, base, int(share * peak)) for share in (0.8, 0.6)]
    suite.check(firsts[0] is not None and firsts[1] is None, "the cuts by cost fit in the larger limit: %s" % firsts)


def check_share(suite, folder, model, base, limit):
    """Returns the step of the cuts by cost, None where they do not fit."""
    out, base, few = folder + "/all", [*base, "--memory-limit", limit], ("--cut-trials", 4)
    found = suite.compile(model, out, *base, *few, "--recompute", "auto")
    joint_found = found["joint"]
    first = joint_found["first_step_seconds"]
    print("all: %.9g, with the cuts by cost %s" % (found["step_seconds"], first))
    suite.check((first is None or found["step_seconds"] <= first) and max(found["memory"]) <= limit,
                "with --recompute auto: %.9g, with the cuts by cost %s" % (found["step_seconds"], first))
    plain = suite.run("zbc", model, "-o", folder + "/plain", "--json", *base, *few)
    suite.check(plain.returncode in (0, 3), "without --recompute: exit %d %s" % (plain.returncode, plain.stderr))
    if plain.returncode == 0:
        step = json.loads(plain.stdout)["step_seconds"]
        suite.check(found["step_seconds"] <= step, "with --recompute auto: %.9g, without %.9g" %
                    (found["step_seconds"], step))
    if first is None:
        alone = suite.run("zbc", model, "-o", folder + "/by-cost", *base, "--recompute", "auto", "--cut-trials", 1)
        suite.check(alone.returncode == 3, "--cut-trials 1 alone: exit %d %s" % (alone.returncode, alone.stderr))
    choice = folder + "/choice"
    with open(choice, "w", encoding="utf-8") as file:
        file.write(found["choice"])
    named = suite.compile(model, out, "--choice", choice)
    suite.check(named["step_seconds"] == found["step_seconds"], "what the summary names gives %.9g, the search %.9g" %
                (named["step_seconds"], found["step_seconds"]))
    return first


def check_splits(suite, folder):
    """Only none finds cuts that fit by its own search; that with auto found others, of which a step took 48 % more."""
    model = write(folder, 18, 2)
    base = ("--ranks", 2, "--placement", "plain", "--precision", "bf16", "--memory-limit", 1001612)
    steps = {}
    for split in ("none", "all", "products", "auto"):
        done = suite.run("zbc", model, "-o", folder + "/splits", "--json", *SEARCH, "--micro-batches", 6, *base,
                         "--split", split)
        suite.check(done.returncode in (0, 3), "--split %s: exit %d %s" % (split, done.returncode, done.stderr))
        steps[split] = json.loads(done.stdout)["step_seconds"] if done.returncode == 0 else math.inf
    suite.check(steps["auto"] <= min(steps.values()) * (1 + 1e-12) < math.inf, "the steps of --split: %s" % steps)


def check_named(suite, folder):
    """Where the placement is named, other cuts are tried too: those of even ranks are not the best of a small model."""
    model = os.path.join(common.DATA, "gpt2-tiny.onnx")
    base = ("--ranks", 2, "--micro-batches", 8, *SEARCH, "--placement", "v")
    first = compiled(suite, folder, model, "cost", *base, "--cut-trials", 1)
    found = compiled(suite, folder, model, "cuts", *base)
    suite.check(found["step_seconds"] < 0.95 * first["step_seconds"] and found["joint"]["placement"] == "v",
                "cuts with a named placement: %s, by cost alone %.9g" % (found.get("joint"), first["step_seconds"]))


def check_bits(suite, folder):
    model = os.path.join(common.DATA, "gpt2-small.onnx")
    suite.compile(model, folder + "/one", "--micro-batches", 6)
    suite.compile(model, folder + "/cut", "--micro-batches", 6, "--ranks", 3, "--cuts", "#7,#15")
    losses = [[row["loss"] for row in suite.train(folder + "/" + name, 3) if "loss" in row] for name in ("one", "cut")]
    suite.check(losses[0] == losses[1], "losses with these cuts: %s" % losses)


def check_errors(suite, folder):
    model = os.path.join(common.DATA, "gpt2-tiny.onnx")
    for more, text in (
            (("--cut-trials", 3), "--cut-trials has no effect with a schedule that does not search"),
            ((*SEARCH, "--cut-trials", 3, "--layout", "even"), "--cut-trials has no effect with --layout"),
            ((*SEARCH, "--cut-trials", 3, "--cuts", "lm"), "--cut-trials has no effect with --cuts"),
            ((*SEARCH, "--cut-trials", 0), "--cut-trials: expected a whole number of at least 1, got '0'"),
            ((*SEARCH, "--cut-trials", 10001), "--cut-trials: expected 1 to 10000, got 10001"),
            ((*SEARCH, "--cut-trails", 3), "did you mean '--cut-trials'?"),
            (("--cuts", "#99999"), "no op is named '#99999' to cut after")):
        done = suite.run("zbc", model, "-o", folder + "/none", "--ranks", 2, *more)
        suite.check(done.returncode == 2 and text in done.stderr and "hint:" in done.stderr and
                    not os.path.exists(folder + "/none"), "%s: exit %d %s" % (more, done.returncode, done.stderr))


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        check_errors(suite, folder)
        check_named(suite, folder)
        check_splits(suite, folder)
        last = check_limits(suite, folder)
        if suite.check(last, "other cuts were found"):
            check_again(suite, folder, *last)
        check_all(suite, folder)
        check_bits(suite, folder)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
