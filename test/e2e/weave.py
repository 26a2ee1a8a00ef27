#!/usr/bin/env python3
"""W beside sums over shards: what runs ahead of its place (docs/parallelism.md).

    weave.py [--bin BUILD/bin] [--draw SEED] [--cases N]

meshes: shared GPT-2 and Llama on 1, 2 and 4 ranks with 2 and 4 shards, by tokens and not: the first step of the device
sim is what zbc says, to the picosecond, later ones are its period, and their idle time is its bubble; the arena is no
larger than that of the fullest rank without. A table says what is hidden.
bits: losses, weights and optimizer state are those of an order in which other parts of W run ahead, and of one rank.
N cases are drawn by SEED, which is printed.
Ends with "N passed, N failed".
"""
import filecmp
import glob
import json
import os
import random
import sys

import common

M = 4
MODELS = ("gpt2-small", "llama-small")
TOKENS = ((), ("--sequence-parallel",))
MESHES = [(ranks, shards, tokens) for ranks in (1, 2, 4) for shards in (2, 4) for tokens in TOKENS]
SCHEDULES = ("zb-h1", "zb-h2", "1f1b", "zb-v", "zb", "interleaved-1f1b", "search:budget=20")
DATA = ("--data", "text:" + os.path.join(common.DATA, "corpus.txt"))


def compiled(suite, model, out, *options):
    return json.loads(suite.must("zbc", os.path.join(common.DATA, model + ".onnx"), "-o", out, "--json",
                                 "--micro-batches", M, *options))


def check_mesh(suite, folder, model, ranks, shards, tokens):
    options = ("--ranks", ranks, "--tensor-parallel", shards, *tokens)
    name = "%s, %s" % (model, " ".join(map(str, options)))
    said = compiled(suite, model, folder + "/plan", *options)
    steps = [row for row in common.json_lines(suite.must("zb-run", folder + "/plan", "--device", "sim", "--steps", 3,
                                                         "--json", *DATA)) if "step" in row]
    suite.check(abs(steps[0]["seconds"] - said["step_seconds"]) < 1e-12,
                f"{name}: {steps[0]}, zbc {said['step_seconds']}")
    suite.check(abs(steps[2]["seconds"] - said["period"]["seconds"]) < 1e-12, f"{name}: {steps[2]}, {said['period']}")
    suite.check(abs(steps[2]["idle"] - said["bubble"]["period"]) < 1e-3,
                f"{name}: idle {steps[2]['idle']}, bubble {said['bubble']}")
    sums = said["shard_sums"]
    suite.check(sums["seconds"] > 0 and 0 <= sums["hidden"] <= sums["seconds"], f"{name}: {sums}")
    print(f"    {name}: step {1e3 * said['step_seconds']:.3f} ms, sums {1e6 * sums['seconds']:.1f} us, "
          f"{100 * sums['hidden'] / sums['seconds']:.0f} % hidden", flush=True)
    return sums["hidden"] / sums["seconds"]


def train(suite, plan, save):
    said = suite.must("zb-run", plan, "--steps", 2, "--json", "--save", save, *DATA)
    losses = [row["loss"] for row in common.json_lines(said) if "step" in row]
    return losses, sorted(glob.glob(save + "/*.safetensors"))


def check_bits(suite, folder, draw, number):
    model, shards, tokens = draw.choice(MODELS), draw.choice((2, 4)), draw.choice(TOKENS)
    shared = ("--tensor-parallel", shards, *tokens, *draw.choice(((), ("--precision", "bf16"), ("--clip-norm", "0.5"))))
    found = []
    for case, ranks in enumerate((1, draw.choice((2, 3, 4)), draw.choice((2, 4)))):
        out = f"{folder}/{number}-{case}"
        compiled(suite, model, out, "--ranks", ranks, "--schedule", draw.choice(SCHEDULES), *shared)
        found.append(train(suite, out, out + "-saved"))
    for losses, files in found[1:]:
        suite.check(losses == found[0][0], f"{model} {shared}: losses {losses}, on one rank {found[0][0]}")
        suite.check(len(files) == len(found[0][1]) > 0 and
                    all(filecmp.cmp(a, b, shallow=False) for a, b in zip(files, found[0][1])),
                    f"{model} {shared}: what is saved is not that of one rank")


def main():
    options = common.arguments(__doc__, ("--draw", dict(type=int)), ("--cases", dict(type=int, default=4)))
    seed = random.randrange(1 << 32) if options.draw is None else options.draw
    print(f"seed {seed}", flush=True)
    suite, draw = common.Suite(options.bin), random.Random(seed)
    with common.scratch() as folder:
        hidden = [check_mesh(suite, folder, model, *mesh) for model in MODELS for mesh in MESHES]
        suite.check(sum(share > 0 for share in hidden) >= len(hidden) / 2, f"shares that are hidden: {hidden}")
        for number in range(options.cases):
            check_bits(suite, folder, draw, number)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
