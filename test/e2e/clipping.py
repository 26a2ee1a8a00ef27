#!/usr/bin/env python3
"""Clipping by the norm of all gradients, and steps whose gradients are not finite.

    clipping.py [--bin BUILD/bin] [--jobs 2]        the small graphs of test/data (part of CI)
    clipping.py --graphs FOLDER                     gpt2.onnx and llama.onnx of FOLDER: 50 steps

Losses and norms against PyTorch's (clipping.reference.json, recorded by clipping_reference.py): losses of 20 steps
within 1e-5, norms of 20 steps within 1e-6, of shards and of replicas that have parts of gradients or parameters, too.
The same bits for every number of ranks, schedule, placement, number of threads, over TCP and MPI, and with a tied
parameter that three of four ranks hold. zb-run --clip-norm X is zbc --clip-norm X. A step that is skipped leaves no
trace: the run is, byte for byte, that on data without it. Ends with "N passed, N failed".
"""
import itertools
import json
import math
import os
import random
import struct
import sys

import common
import processes

REFERENCE = os.path.join(common.DATA, "clipping.reference.json")
STEPS, MICRO_BATCHES = 3, 4
# ranks, schedule, more of zbc
PLANS = [(1, "fthenb", ()), (2, "1f1b", ()), (4, "zb-h1", ()), (4, "zb-v", ()),
         (2, "interleaved-1f1b", ("--chunks", 2)), (4, "fthenb", ("--placement", "wave", "--chunks", 2)),
         (8, "zb-h1", ()), (4, "search:budget=64", ())]
STEP = ("--data-parallel", 2, "--sharding", "gradients:step")
EACH = ("--data-parallel", 4, "--sharding", "gradients:micro-batch")
PARTS = ("--data-parallel", 2, "--tensor-parallel", 2, "--sharding", "parameters:step", "--post-validation")
TIED = os.path.join(os.path.dirname(common.DATA), "passes", "gathered.mlir")


class Clipping:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def reference(self, run, graph, corpus, *more):
        name = " ".join(map(str, (f"{run['graph']} at most {run['clip_norm']} (norm {run['clip_norm_type']})", *more)))
        out = self.path("reference")
        replicas = more[1] if "--data-parallel" in more else 1  # all of them read what one would
        self.suite.compile(graph, out, "--ranks", 2, "--micro-batches", run["micro_batches"] // replicas, "--clip-norm",
                           run["clip_norm"], "--clip-norm-type", run["clip_norm_type"], *more)
        rows = self.suite.train(out, len(run["losses"]), "--lr", run["lr"], corpus=corpus)
        for what, limit in (("loss", 1e-5), ("norm", 1e-6)):
            wanted = run["losses" if what == "loss" else "norms"][:20]
            errors = [abs(row[what] - w) / w for row, w in zip(rows, wanted)]
            self.suite.check(len(errors) == 20 and max(errors) <= limit, f"{name}: {what} differs by {max(errors):.2e}")
            print(f"  {name}: {what} of {len(errors)} steps within {max(errors):.1e}, limit {limit:.0e}", flush=True)

    def train(self, out, *arguments, steps=STEPS, corpus=common.CORPUS):
        saved = out + ".saved"
        rows = self.suite.train(out, steps, "--save", saved, *arguments, corpus=corpus)
        return [(row["loss"], row["norm"]) for row in rows], common.read_checkpoint(saved)

    def same(self, text, got, wanted):
        difference = common.first_difference(wanted[1], got[1])
        if got[0] != wanted[0]:
            difference = f"losses and norms {got[0]} instead of {wanted[0]}"
        self.suite.check(not difference, f"{text}: {difference}")

    def compiled(self, name, graph, ranks, schedule, arguments, most="0.5"):
        out = self.path(name)
        replicas = arguments[arguments.index("--data-parallel") + 1] if "--data-parallel" in arguments else 1
        self.suite.compile(graph, out, "--ranks", ranks, "--micro-batches", MICRO_BATCHES // replicas, "--schedule",
                           schedule, "--clip-norm", most, *arguments)
        return out

    def bits(self):
        """All plans of a graph train the same."""
        for graph in ("gpt2-small", "llama-small"):
            model, wanted = os.path.join(common.DATA, graph + ".onnx"), None
            for i, (ranks, schedule, arguments) in enumerate(PLANS):
                out = self.compiled(f"{graph}-{i}", model, ranks, schedule, arguments)
                got = self.train(out)
                wanted = wanted or got
                text = f"{graph}, {ranks} ranks, {schedule} {' '.join(map(str, arguments))}"
                self.same(text, got, wanted)
                if ranks == 4 and schedule == "zb-h1":
                    self.same(f"{text}, 2 threads", self.train(out, "--threads", 2), wanted)
                    self.same(f"{text} on sim", self.train(out, "--device", "sim", "--seed", 5), wanted)
                    self.many(text, out, wanted)
            other = self.compiled(f"{graph}-other", model, 2, "zb-h1", (), most="7")
            self.same(f"{graph}: zb-run --clip-norm", self.train(other, "--clip-norm", "0.5"), wanted)
            loose = self.train(other, "--clip-norm", "inf")
            self.suite.check(loose[0][0] == wanted[0][0] and loose[0][1] != wanted[0][1],
                             f"{graph}: a run that clips and one that does not train the same")

    def many(self, text, out, wanted, *arguments):
        for name, count in (("tcp", 2), ("tcp", 4), ("mpi", 2), ("mpi", 4)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            saved = f"{out}.{name}"
            rows = processes.train(self.suite, launcher, count, out, STEPS, "--save", saved, *arguments)
            tensors = {f"{kind}:{key}": value for kind, found in processes.read_saved(saved).items()
                       for key, value in sorted(found.items())}
            got = [(row["loss"], row["norm"]) for row in rows], tensors
            ordered = dict(sorted(wanted[1].items(), key=by_kind))
            self.same(f"{text}, {count} processes over {name}", got, (wanted[0], ordered))

    def tied(self):
        """A tied parameter counts once: three of four ranks hold it, one rank has all uses, and what is between."""
        draw = random.Random(3)
        with open(self.path("tokens"), "wb") as file:
            file.write(bytes(draw.randrange(16) for _ in range(1000)))
        whole = None
        for replicas in ((), STEP, EACH):
            wanted = None
            for cuts, schedule in itertools.product(((), ("b", ), ("a", "b"), ("a", "b", "c")), ("1f1b", "zb-h1")):
                more = (*replicas, *(("--cuts", ",".join(cuts)) if cuts else ()))
                out = self.compiled("tied", TIED, len(cuts) + 1, schedule, more)
                got = self.train(out, corpus=self.path("tokens"))
                wanted = wanted or got
                self.same(f"tied, cuts {cuts}, {schedule} {replicas}", got, wanted)
            norms = [norm for _, norm in wanted[0]]
            whole = whole or norms
            self.suite.check(all(abs(a - b) <= 1e-6 * a for a, b in zip(whole, norms)), f"tied: {whole}, {norms}")
            print(f"  tied {replicas}: norms {norms}", flush=True)

    def poisoned(self, out):
        """Data of six steps, of which the third has a token whose embedding is infinite; and the data without that
        step."""
        tensors, metadata = common.read_safetensors(os.path.join(out, "weights.safetensors"))
        name = next(name for name in tensors if "embed_tokens" in name)
        dtype, shape, data = tensors[name]
        row = 4 * shape[1]
        tensors[name] = dtype, shape, data[:row] + struct.pack("<f", math.inf) * shape[1] + data[2 * row:]
        write_safetensors(self.path("poisoned.safetensors"), tensors)
        draw = random.Random(7)
        step = MICRO_BATCHES * 2 * 32
        clean = bytes(draw.randrange(32, 127) for _ in range(5 * step + 64))
        wrong = bytearray(draw.randrange(32, 127) for _ in range(step))
        wrong[0], wrong[100] = clean[2 * step], 1
        for text, data in (("clean", clean), ("wrong", clean[:2 * step] + wrong + clean[2 * step:])):
            with open(self.path(text), "wb") as file:
                file.write(data)
        return "--weights", self.path("poisoned.safetensors")

    def skips(self):
        model = os.path.join(common.DATA, "llama-small.onnx")
        for ranks, schedule, more in ((1, "1f1b", ()), (4, "zb-h1", ()), (2, "zb-h1", STEP), (1, "1f1b", EACH),
                                     (2, "zb-h1", ("--tensor-parallel", 2))):
            out = self.compiled(f"skip-{ranks}-{len(more)}", model, ranks, schedule, more, most="1")
            weights = self.poisoned(out)
            without = self.train(out, *weights, steps=5, corpus=self.path("clean"))
            rows = self.suite.train(out, 6, "--save", out + ".skipped", "--non-finite", "skip", "--log", out + ".jsonl",
                                    *weights, corpus=self.path("wrong"))
            text = f"llama-small, {ranks} ranks {more}, a step is skipped"
            self.suite.check([row["skipped"] for row in rows] == [i == 2 for i in range(6)] and rows[2]["norm"] is None,
                             f"{text}: {rows}")
            with open(out + ".jsonl") as log:
                logged = [json.loads(line).get("skipped") for line in log if '"step"' in line]
            self.suite.check(logged == [i == 2 for i in range(6)], f"{text}: the log has {logged}")
            kept = [(row["loss"], row["norm"]) for row in rows if not row["skipped"]]
            self.same(text, (kept, common.read_checkpoint(out + ".skipped")), without)
            self.suite.train(out, 4, "--save", out + ".half", "--non-finite", "skip", *weights,
                             corpus=self.path("wrong"))
            self.suite.train(out, 2, "--resume", out + ".half", "--save", out + ".resumed", corpus=self.path("wrong"))
            self.same(f"{text}, saved and resumed", (kept, common.read_checkpoint(out + ".resumed")), without)
            stopped = self.suite.run("zb-run", out, "--data", "text:" + self.path("wrong"), "--steps", 6, "--save",
                                     out + ".none", *weights)
            told = "step 3" in stopped.stderr and "not a number" in stopped.stderr
            self.suite.check(stopped.returncode == 4 and told and not os.path.exists(out + ".none"),
                             f"{text}: without --non-finite skip: exit {stopped.returncode}, {stopped.stderr}")
            said = self.suite.must("zb-run", out, "--data", "text:" + self.path("wrong"), "--steps", 6, "--non-finite",
                                   "skip", *weights)
            line = "skipped: its gradients are not finite, so nothing was changed (1 of 3 steps so far)"
            self.suite.check(line in said, f"{text}: {said}")


def by_kind(item):
    """The order of processes.read_saved: of each file by name."""
    kind, name = item[0].split(":", 1)
    return kind != "weights", name


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def main():
    options = common.arguments(__doc__, ("--graphs", dict(metavar="FOLDER")))
    suite = common.Suite(options.bin)
    with open(REFERENCE) as file:
        runs = json.load(file)["runs"]
    with common.scratch() as folder:
        it = Clipping(suite, folder)
        for run in runs:
            small = run["graph"].endswith("-small")
            if small != (options.graphs is None):
                continue
            where, corpus = (common.DATA, common.CORPUS) if small else (options.graphs,
                                                                         os.path.join(options.graphs, "corpus.txt"))
            for more in ((), ("--tensor-parallel", 2), ("--tensor-parallel", 4), STEP, EACH, PARTS):
                it.reference(run, os.path.join(where, run["graph"] + ".onnx"), corpus, *more)
        if not options.graphs:
            it.bits()
            it.tied()
            it.skips()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
