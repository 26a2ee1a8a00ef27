#!/usr/bin/env python3
"""Mixed precision (--precision bf16): it learns as PyTorch's autocast does, gives the same bits whatever the cut,
keeps f32 masters, and saves memory.

    precision.py [--bin BUILD/bin] [--jobs 1]     the small graphs of test/data (part of CI)
    precision.py --graphs FOLDER                  gpt2.onnx of FOLDER, 50 steps (minutes; pytorch.sh runs it)

  losses     of 50 steps within 2 % of PyTorch's autocast run in bf16, which *.bf16.json holds (tools/reference.py
             --precision bf16); the largest deviation is printed, and beside it how far autocast is from fp32
  bits       losses, weights and optimizer state of 2, 4 and 8 ranks, schedules, chunks, threads and the device sim are
             those of one rank; so are those of a run that was saved and resumed under another plan
  masters    saved weights and optimizer state are f32, and no bf16 rounding of the weights is in them
  memory     what a layer keeps from F: less than PyTorch keeps under autocast, and at most
             LAYER_SHARE of what f32 keeps
"""
import hashlib
import json
import os
import re
import sys

import common

STEPS, LIMIT, LAYER_SHARE = 3, 0.02, 0.62
LAYERS = {"gpt2-small": "lm.transformer.h", "llama-small": "lm.model.layers"}
PLANS = ((1, "fthenb", ()), (2, "zb-h1", ()), (4, "zb-h1", ()), (8, "1f1b", ()), (2, "zb-v", ()),
         (4, "fthenb", ("--chunks", 2)))


def losses(rows):
    return [row["loss"] for row in rows]


def follow(suite, folder, model, reference_path, corpus, *arguments):
    """Fifty steps against autocast."""
    with open(reference_path) as file:
        reference = json.load(file)
    with open(corpus, "rb") as file:
        same = hashlib.sha256(file.read()).hexdigest() == reference["corpus_sha256"]
    name = " ".join([os.path.basename(model), *map(str, arguments)])
    if not suite.check(same, f"{name}: {corpus} is not the text that {reference_path} was made with"):
        return
    wanted, full = reference["bf16"]["losses"], reference["fp32"]["losses"]
    out = os.path.join(folder, "follow")
    suite.compile(model, out, "--precision", "bf16", "--micro-batches", reference["micro_batches"], "--optimizer",
                  f"adamw:lr={reference['adamw']['lr']}", *arguments)
    got = losses(suite.train(out, len(wanted), corpus=corpus))
    errors = [abs(g - w) / w for g, w in zip(got, wanted)]
    worst = max(range(len(errors)), key=errors.__getitem__)
    suite.check(len(got) == len(wanted) and errors[worst] <= LIMIT,
                f"{name}: loss {got[worst]} of step {worst}, autocast {wanted[worst]}: {errors[worst]:.2%} apart")
    print(f"{name}: {len(got)} steps, largest deviation from PyTorch's autocast {errors[worst]:.2e} (step {worst}: "
          f"{got[worst]:.6f}, {wanted[worst]:.6f}); autocast from fp32 "
          f"{max(abs(w - f) / f for w, f in zip(wanted, full)):.1e}", flush=True)


class Graph:
    def __init__(self, suite, folder, name):
        self.suite, self.name, self.folder = suite, name, os.path.join(folder, name)
        self.model = os.path.join(common.DATA, name + ".onnx")
        os.makedirs(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, ranks, schedule, arguments=(), precision="bf16"):
        return self.suite.compile(self.model, self.path(name), "--precision", precision,
                                  "--ranks", ranks, "--schedule", schedule, "--micro-batches", 8, *arguments)

    def train(self, name, steps, *arguments):
        saved = self.path(name + ".saved")
        rows = self.suite.train(self.path(name), steps, "--save", saved, *arguments)
        return losses(rows), common.read_checkpoint(saved)

    def same(self, text, got, wanted):
        difference = common.first_difference(wanted[1], got[1])
        if got[0] != wanted[0]:
            difference = f"losses {got[0]} instead of {wanted[0]}"
        self.suite.check(not difference, f"{self.name} {text}: {difference}")

    def bits(self):
        self.compile("one", 1, "fthenb")
        wanted = self.train("one", STEPS)
        for ranks, schedule, arguments in PLANS:
            name = f"{schedule}-{ranks}"
            self.compile(name, ranks, schedule, arguments)
            for threads in (1, 2) if ranks in (1, 4) else (1,):
                self.same(f"{name} on {threads} threads", self.train(name, STEPS, "--threads", threads), wanted)
        self.same("zb-h1-4 on sim", self.train("zb-h1-4", STEPS, "--device", "sim", "--seed", 1), wanted)
        whole = self.train("one", 2 * STEPS)
        half = self.path("half")
        before = losses(self.suite.train(self.path("zb-h1-2"), STEPS, "--save", half))
        after, state = self.train("zb-h1-4", STEPS, "--resume", half)
        self.same("zb-h1-2, saved, then zb-h1-4", (before + after, state), whole)
        print(f"{self.name}: the same bits in {len(PLANS)} plans, on threads, sim and after a resume", flush=True)

    def masters(self):
        """Adam's first steps are about the learning rate: far finer than bf16 resolves a weight of 0.02 to 1."""
        for file in ("weights.safetensors", "optimizer.safetensors"):
            tensors, _ = common.read_safetensors(os.path.join(self.path("one.saved"), file))
            others = sorted(n for n, (dtype, _, _) in tensors.items() if dtype != "F32")
            self.suite.check(tensors and not others, f"{self.name}: {file} holds {others} in another type than F32")
            for name, (_, shape, data) in tensors.items():
                low = sum(word != 0 for word in memoryview(data).cast("H")[::2])
                if file.startswith("weights") and len(shape) == 2:
                    self.suite.check(low > len(data) // 8, f"{self.name}: {name} looks rounded to bf16")

    def memory(self):
        with open(os.path.join(common.DATA, self.name + ".bf16.json")) as file:
            reference = json.load(file)
        cuts = ",".join(f"{LAYERS[self.name]}.{i}" for i in range(reference["layers"] - 1))
        kept = {}
        for precision in ("f32", "bf16"):
            summary = self.compile("layers", reference["layers"], "zb-h1", ("--cuts", cuts), precision)
            kept[precision] = [s["fb_bytes"] + s["fw_bytes"] for s in summary["stages"][:-1]]
        for i, (low, full) in enumerate(zip(kept["bf16"], kept["f32"])):
            limit = reference["saved_bytes_per_layer"][i]
            self.suite.check(low <= limit, f"{self.name}: layer {i} keeps {low} bytes, PyTorch under autocast {limit}")
            self.suite.check(low <= LAYER_SHARE * full, f"{self.name}: layer {i} keeps {low} bytes, in f32 {full}")
        print(f"{self.name}: a layer keeps {kept['bf16'][-1]:,} bytes from F, in f32 {kept['f32'][-1]:,} "
              f"({kept['bf16'][-1] / kept['f32'][-1]:.0%}), PyTorch under autocast "
              f"{reference['saved_bytes_per_layer'][-1]:,}", flush=True)

    def named(self):
        """The plan and zb-run say what it is."""
        printed = self.suite.must("zb-run", self.path("zb-h1-2"), "--print-plan")
        self.suite.check("\nprecision bf16\n" in printed, f"{self.name}: the plan does not say its precision")
        header = self.suite.must("zb-run", self.path("zb-h1-2"), "--data", "text:" + common.CORPUS,
                                 "--steps", 1).splitlines()[0]
        self.suite.check(re.match(rf"{self.name}.onnx in bf16: ", header), f"{self.name}: zb-run says {header}")


def main():
    options = common.arguments(__doc__, ("--graphs", dict(metavar="FOLDER")))
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        if options.graphs:
            here = os.path.dirname(os.path.abspath(__file__))
            follow(suite, folder, os.path.join(options.graphs, "gpt2.onnx"), os.path.join(here, "gpt2.bf16.json"),
                   os.path.join(options.graphs, "corpus.txt"), "--ranks", 4)
            return suite.finish()
        for name in ("gpt2-small", "llama-small"):
            for arguments in (("--ranks", 2), ("--ranks", 1, "--no-raise")):
                follow(suite, folder, os.path.join(common.DATA, name + ".onnx"),
                       os.path.join(common.DATA, name + ".bf16.json"), common.CORPUS, *arguments)
            graph = Graph(suite, folder, name)
            try:
                graph.bits()
                graph.masters()
                graph.memory()
                graph.named()
            except common.Failure as failure:
                suite.check(False, f"{name}: {failure}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
