#!/usr/bin/env python3
"""The losses, gradient norms and final weights of PyTorch on the same graph, data and optimizer.

    reference.py [--bin BUILD/bin]                      the small graphs of test/data: exact, 20 steps (part of CI), on
                                                        one pipeline, and the language models on 2, 3 and 4 replicas,
                                                        sharing nothing, optimizer state or gradients
    reference.py --graphs FOLDER [--steps 50]           gpt2.onnx and llama.onnx of FOLDER with their *.reference.json
    reference.py --graphs FOLDER --replicas             the same on 2, 3 and 4 replicas, 20 steps (3 where FOLDER has
                                                        *.9.reference.json, by tools/reference.py)

Per graph a table, then PASS or FAIL; "N passed, N failed". What is compared (relative to
the fp32 run of the reference):
  losses           the first 20 within 1e-5; GPT-2 beyond that (its loss spikes at this rate, so that PyTorch's own fp32
                   and fp64 part) by the mean of the last 10 within 1e-2; others all within 1e-5
  micro-losses     their mean is the loss of step 0 within 1e-6
  gradient norms   of step 0 within 1e-4 where above 1e-6; a norm at or below 1e-6 must be below 2e-6 here as well
  weight norms     at the end of 20 steps, within 1e-4 (rank 1 whose gradient is rounding noise left out)
Three replicas of 3 micro-batches are compared with *.9.reference.json: PyTorch on 9 micro-batches of the same model.
A tied weight has another of its names in some graphs (lm.lm_head.weight for lm.transformer.wte.weight).
"""
import json
import math
import os
import sys

import common

NOISE = 1e-6
# Replicas, micro-batches of each, and how they run: together they have the batch of the reference.
REPLICAS = (
    (2, 4, ("--ranks", 4, "--schedule", "zb-h2")), (2, 4, ("--ranks", 2, "--sharding", "optimizer")),
    (4, 2, ("--ranks", 1, "--bucket-bytes", "20K")), (4, 2, ("--ranks", 2, "--sharding", "gradients:micro-batch")),
    (3, 3, ("--ranks", 2, "--schedule", "zb-v")), (3, 3, ("--ranks", 4, "--schedule", "1f1b")),
    (3, 3, ("--ranks", 1, "--sharding", "gradients:step")),
    (2, 4, ("--ranks", 2, "--tensor-parallel", 2)),
)
# Of test/data: language models, losses of export_models.py that end in a plain mean, attention over depth.
SMALL = (
    "gpt2-small", "llama-small", "llama-padded", "roberta", "bart", "bce", "l1", "huber", "triplet", "depth",
    "gpt2-dropout"
)


def relative(got, wanted):
    return abs(got - wanted) / max(abs(wanted), 1e-300) if math.isfinite(got or math.nan) else math.inf


def match_names(got, wanted):
    """{name of the reference: own name}. One name that only one side has, on both sides: a
    tied weight under another name."""
    names = {name: name for name in wanted if name in got}
    left, right = [n for n in wanted if n not in got], [n for n in got if n not in wanted]
    if len(left) == len(right) == 1:
        names[left[0]] = right[0]
    return names


def weight_norm(tensor):
    dtype, _, data = tensor
    assert dtype == "F32", dtype
    return math.sqrt(math.fsum(float(v) * float(v) for v in memoryview(data).cast("f")))


class Comparison:
    def __init__(self, suite, name):
        self.suite, self.name = suite, name

    def row(self, what, error, limit, note=""):
        good = self.suite.check(error <= limit, f"{self.name}: {what}: {error:.2e} is above {limit:.0e} {note}")
        print(f"  {what:44s} {error:10.2e}  limit {limit:.0e}  {'PASS' if good else 'FAIL'}  {note}", flush=True)

    def losses(self, got, reference, exact):
        wanted = reference["fp32"]["losses"][:len(got)]
        errors = [relative(g, w) for g, w in zip(got, wanted)]
        early = len(errors) if exact else min(20, len(errors))
        worst = max(range(early), key=errors.__getitem__)
        self.row(f"losses of {early} steps", errors[worst], 1e-5,
                 f"step {worst}: {got[worst]:.9f}, PyTorch {wanted[worst]:.9f}")
        if not exact and len(got) >= 50:
            mine, theirs = math.fsum(got[-10:]) / 10, math.fsum(wanted[-10:]) / 10
            self.row("mean loss of the last 10 of 50 steps", relative(mine, theirs), 1e-2,
                     f"{mine:.6f}, PyTorch {theirs:.6f}")
        micro = reference["fp32"].get("first_step_micro_losses")
        if micro:
            self.row("mean of the micro-losses of step 0", relative(got[0], math.fsum(micro) / len(micro)), 1e-6)

    def gradients(self, got, reference):
        wanted = reference["fp32"]["first_step_gradient_norm"]
        names = match_names(got, wanted)
        self.suite.check(len(names) == len(wanted),
                         f"{self.name}: gradients of {sorted(set(wanted) - set(names))} are missing")
        large = {n: relative(got[names[n]], w) for n, w in wanted.items() if n in names and w > NOISE}
        worst = max(large, key=large.get)
        self.row(f"norms of {len(large)} gradients of step 0", large[worst], 1e-4, worst)
        noise = {n: got[names[n]] for n, w in wanted.items() if n in names and w <= NOISE}
        if noise:
            worst = max(noise, key=noise.get)
            self.row(f"norms of {len(noise)} gradients that are noise", noise[worst], 2e-6, worst)

    def weights(self, folder, reference):
        wanted = reference["fp32"].get("final_weight_norm")
        if not wanted or reference.get("steps") != 20:
            return
        tensors, _ = common.read_safetensors(os.path.join(folder, "weights.safetensors"))
        norms = {name: weight_norm(tensor) for name, tensor in tensors.items()}
        names, gradient = match_names(norms, wanted), reference["fp32"]["first_step_gradient_norm"]
        # AdamW turns a gradient that is rounding noise into full steps; a fused bias holds
        # such a third (that of the keys).
        solid = [n for n in names if gradient[n] > NOISE and not n.endswith("attn.c_attn.bias")]
        errors = {n: relative(norms[names[n]], wanted[n]) for n in solid}
        worst = max(errors, key=errors.get)
        self.row(f"norms of {len(solid)} weights after 20 steps", errors[worst], 1e-4, worst)


def compare(suite, folder, model, corpus, steps, exact, plan_arguments, batches=""):
    with open(os.path.splitext(model)[0] + batches + ".reference.json") as file:
        reference = json.load(file)
    name = os.path.basename(model)
    steps = min(steps, len(reference["fp32"]["losses"]))
    out, saved = os.path.join(folder, name), os.path.join(folder, name + ".saved")
    print(f"{name}: {steps} steps, {' '.join(map(str, plan_arguments))}, PyTorch {reference['torch']}", flush=True)
    try:
        suite.compile(model, out, "--micro-batches", reference["micro_batches"], *plan_arguments)
        rows = suite.train(out, steps, "--save", saved, "--grad-norms", corpus=corpus)
    except common.Failure as failure:
        suite.check(False, f"{name}: {failure}")
        return
    c = Comparison(suite, name)
    c.losses([row["loss"] for row in rows], reference, exact)
    c.gradients(rows[0]["gradient_norms"], reference)
    if steps == 20:
        c.weights(saved, reference)


def compare_replicas(suite, folder, where, graph, corpus):
    for replicas, batches, plan in REPLICAS:
        ending = "" if replicas * batches == 8 else f".{replicas * batches}"
        if not os.path.exists(os.path.join(where, f"{graph}{ending}.reference.json")):
            print(f"{graph}: {replicas} replicas are left out: there is no {graph}{ending}.reference.json")
            continue
        compare(suite, folder, os.path.join(where, graph + ".onnx"), corpus, 20, True,
                ("--data-parallel", replicas, "--micro-batches", batches, *plan), ending)


def main():
    options = common.arguments(__doc__, ("--graphs", dict(metavar="FOLDER")), ("--steps", dict(type=int, default=50)),
                               ("--replicas", dict(action="store_true")),
                               ("--only", dict(default="gpt2,llama", help="which graphs of FOLDER")))
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        if options.graphs:
            corpus = os.path.join(options.graphs, "corpus.txt")
            for graph in options.only.split(","):
                if options.replicas:
                    compare_replicas(suite, folder, options.graphs, graph, corpus)
                    continue
                compare(suite, folder, os.path.join(options.graphs, graph + ".onnx"), corpus,
                        options.steps, graph != "gpt2", ("--ranks", 4, "--schedule", "zb-h1"))
        else:
            for graph in SMALL:
                for plan in (("--ranks", 1, "--schedule", "fthenb"), ("--ranks", 4, "--schedule", "zb-h1"),
                             ("--ranks", 2, "--schedule", "1f1b", "--no-raise")):
                    compare(suite, folder, os.path.join(common.DATA, graph + ".onnx"), common.CORPUS, 20, True, plan)
            for graph in ("gpt2-small", "llama-small"):
                compare_replicas(suite, folder, common.DATA, graph, common.CORPUS)
    status = suite.finish()
    print("FAIL" if status else "PASS")
    return status


if __name__ == "__main__":
    sys.exit(main())
