#!/usr/bin/env python3
"""Cuts for ranks that have several stages: the longest rank is at most 1.01 of the mean, by the times in the summary.

    balance.py [--bin BUILD/bin]

  ranks   GPT-2 and Llama of test/data, in f32 and bf16, placed as a V, looped and as a wave on 2, 3, 4 and 6 ranks: the
          times of ranks are those of their stages, the longest is at most 1.01 of the mean, and not below the bound
  coarse  models with few ops: above 1.01 the summary has a bound, which no rank is below, and every plan is proved
  plain   one stage a rank, and --cuts: there is no bound
"""
import itertools
import json
import os
import sys

import common

LAYOUTS = (("v", 2), ("looped", 2), ("wave", 4))
NEAR = 1e-9


def compiled(suite, folder, name, ranks, *more):
    done = suite.run("zbc", os.path.join(common.DATA, name + ".onnx"), "-o", folder + "/plan",
                     "--ranks", ranks, "--micro-batches", 4, "--schedule", "fthenb", "--json", *more)
    if not suite.check(done.returncode == 0, "%s, %d ranks %s: %s" % (name, ranks, more, done.stderr)):
        return None
    return json.loads(done.stdout)


def balance(suite, summary, ranks, title):
    """The longest rank and the bound, as parts of the mean."""
    times = [0.0] * ranks
    for stage in summary["stages"]:
        times[stage["rank"]] += stage["f_seconds"] + stage["b_seconds"] + stage["w_seconds"]
    suite.check(all(abs(a - b) <= NEAR * a for a, b in zip(times, summary["rank_seconds"])), title + ": times of ranks")
    mean = sum(times) / ranks
    return max(times) / mean, summary["rank_bound_seconds"] / mean


def check_ranks(suite, folder):
    worst = 0
    for name, precision, (placement, chunks), ranks in itertools.product(("gpt2", "llama-small"), ("f32", "bf16"),
                                                                         LAYOUTS, (2, 3, 4, 6)):
        title = "%s %s %s %d" % (name, precision, placement, ranks)
        summary = compiled(suite, folder, name, ranks, "--placement", placement, "--chunks", chunks,
                           "--precision", precision)
        if summary:
            longest, bound = balance(suite, summary, ranks, title)
            suite.check(longest <= 1.01, "%s: the longest rank is %.4f of the mean" % (title, longest))
            suite.check(0.99 <= bound <= longest + 0.001, "%s: a bound of %.4f" % (title, bound))
            worst = max(worst, longest)
    print("ranks: the longest takes at most %.4f of the mean" % worst)


def check_coarse(suite, folder):
    for name, (placement, chunks), ranks in itertools.product(("bart", "roberta"), LAYOUTS, (2, 3, 6)):
        title = "%s %s %d" % (name, placement, ranks)
        summary = compiled(suite, folder, name, ranks, "--placement", placement, "--chunks", chunks)
        if summary:
            longest, bound = balance(suite, summary, ranks, title)
            suite.check(0.99 <= bound <= longest + 0.001, "%s: longest %.4f, bound %.4f" % (title, longest, bound))
            suite.check(all(stage["ops"] for stage in summary["stages"]), title + ": every stage has work")


def check_plain(suite, folder):
    for more in ((), ("--placement", "v", "--chunks", 2, "--cuts", "lm.transformer.h.0,lm.transformer.h.3,"
                      "lm.transformer.h.5")):
        summary = compiled(suite, folder, "gpt2", 2, *more)
        suite.check(summary and summary["rank_bound_seconds"] == 0, "no bound with %s" % " ".join(map(str, more)))


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        check_ranks(suite, folder)
        check_coarse(suite, folder)
        check_plain(suite, folder)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
