#!/usr/bin/env python3
"""Outputs beside the loss: zbc --keep-output, zb-run --eval --output NAME:FILE.npy.

    outputs.py [--bin BUILD/bin] [--jobs 2]

The arrays of test/data/outputs.onnx (with dropout, which an evaluation leaves out) against PyTorch's, recorded by
outputs_reference.py; the same bytes over ranks, schedules, placements, threads, the device sim and processes; a step is
what it is without them; every evaluation replaces the files; what is wrong with the options, before anything runs.
.npy files are read by a reader of their own. Ends with "N passed, N failed".
"""
import ast
import json
import os
import re
import struct
import sys

import common
import processes

MODEL = os.path.join(common.DATA, "outputs.onnx")
REFERENCE = os.path.join(common.DATA, "outputs.reference.json")
FORMATS = {"<f4": ("f", "float32"), "<f8": ("d", "float64"), "<f2": ("e", "float16"), "<i8": ("q", "int64"),
           "<i4": ("i", "int32"), "|b1": ("?", "bool")}
PLANS = [(1, "1f1b", ()), (2, "zb-h1", ()), (4, "zb-h1", ()), (2, "zb-v", ()), (2, "interleaved-1f1b", ("--chunks", 3)),
         (2, "fthenb", ("--placement", "1,0,0,1")), (3, "search:budget=64", ())]
TOLERANCE = 2e-6


def read_npy(path):
    """(shape, dtype, values, bytes)."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length, = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0 and data[10 + length - 1:10 + length] == b"\n"
    header = ast.literal_eval(data[10:10 + length].decode("latin1"))
    assert header["fortran_order"] is False
    letter, dtype = FORMATS[header["descr"]]
    body = data[10 + length:]
    count = len(body) // struct.calcsize("<" + letter)
    return list(header["shape"]), dtype, struct.unpack(f"<{count}{letter}", body), data


class Outputs:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder
        with open(REFERENCE) as file:
            self.reference = json.load(file)
        self.names = list(self.reference["outputs"])
        self.wanted = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, ranks, schedule, *arguments, keep=None):
        words = [word for output in (self.names if keep is None else keep) for word in ("--keep-output", output)]
        out = self.path(name)
        return out, self.suite.compile(MODEL, out, "--ranks", ranks, "--micro-batches",
                                       self.reference["micro_batches"], "--schedule", schedule, *words, *arguments)

    def options(self, where, names=None):
        os.makedirs(self.path(where), exist_ok=True)
        return [word for name in names or self.names
                for word in ("--output", f"{name}:{os.path.join(self.path(where), name + '.npy')}")]

    def evaluate(self, plan, where, *arguments):
        self.suite.must("zb-run", plan, "--eval", "text:" + common.CORPUS, "--eval-steps", self.reference["batches"],
                        *self.options(where), *arguments)
        return {name: read_npy(os.path.join(self.path(where), name + ".npy")) for name in self.names}

    def compare(self):
        out, _ = self.compile("reference", 1, "1f1b")
        got = self.wanted = self.evaluate(out, "reference-out")
        for name, row in self.reference["outputs"].items():
            shape, dtype, values, _ = got[name]
            picked = values[::row["stride"]]
            apart = max(abs(a - b) for a, b in zip(picked, row["elements"]))
            self.suite.check(shape == row["shape"] and dtype == row["dtype"] and len(picked) == len(row["elements"]) and
                             apart <= TOLERANCE, f"{name}: {shape} {dtype}, differs by {apart}, wanted {row['shape']}")
            print(f"  {name}: {dtype} {shape}, {len(picked)} elements within {apart:.1e} of PyTorch's", flush=True)

    def same(self, text, got):
        for name in self.names:
            self.suite.check(got[name][3] == self.wanted[name][3], f"{text}: {name} has other bytes than on one rank")

    def bits(self):
        for i, (ranks, schedule, more) in enumerate(PLANS):
            out, _ = self.compile(f"plan{i}", ranks, schedule, *more)
            text = f"{ranks} ranks, {schedule} {' '.join(map(str, more))}"
            self.same(text, self.evaluate(out, "out"))
            self.same(text + " on sim", self.evaluate(out, "out", "--device", "sim", "--seed", 3))
        self.same("2 threads", self.evaluate(out, "out", "--threads", 2))
        out, _ = self.compile("four", 4, "zb-h1")
        for name, count in (("tcp", 2), ("tcp", 4), ("mpi", 2)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            where = f"{name}{count}"
            processes.train(self.suite, launcher, count, out, 1, "--eval", "text:" + common.CORPUS, "--eval-steps",
                            self.reference["batches"], "--lr", 0, "--weight-decay", 0, *self.options(where))
            self.same(f"{count} processes over {name}", {name: read_npy(os.path.join(self.path(where), name + ".npy"))
                                                         for name in self.names})

    def training(self):
        """A step is what it is without outputs, and each evaluation replaces the files."""
        kept, with_outputs = self.compile("kept", 2, "zb-h1")
        plain, without = self.compile("plain", 2, "zb-h1", keep=())
        self.suite.check(with_outputs["step_seconds"] == without["step_seconds"], "a step takes longer with outputs")
        evaluate = ("--eval", "text:" + common.CORPUS, "--eval-steps", 1, "--eval-every", 2)
        rows = self.suite.train(kept, 4, *evaluate, *self.options("trained"), "--save", self.path("kept.saved"))
        wanted = self.suite.train(plain, 4, "--save", self.path("plain.saved"))
        difference = common.first_difference(common.read_checkpoint(self.path("plain.saved")),
                                             common.read_checkpoint(self.path("kept.saved")))
        losses = [row["loss"] for row in rows if "step" in row]
        self.suite.check(losses == [row["loss"] for row in wanted] and not difference,
                         f"training with outputs: {losses}, {difference}")
        last = read_npy(os.path.join(self.path("trained"), "logits.npy"))
        self.suite.must("zb-run", kept, "--resume", self.path("kept.saved"), "--eval", "text:" + common.CORPUS,
                        "--eval-steps", 1, *self.options("again"))
        again = read_npy(os.path.join(self.path("again"), "logits.npy"))
        self.suite.check(last[3] == again[3] and last[2][:100] != self.wanted["logits"][2][:100],
                         "the file is not that of the last evaluation")
        one, _ = self.compile("one", 2, "zb-h1", keep=("hidden",))
        self.suite.must("zb-run", one, "--eval", "text:" + common.CORPUS, "--eval-steps", self.reference["batches"],
                        *self.options("single", ["hidden"]))
        got = read_npy(os.path.join(self.path("single"), "hidden.npy"))
        self.suite.check(got[3] == self.wanted["hidden"][3], "hidden alone has other bytes")
        bf16, _ = self.compile("bf16", 2, "zb-h1", "--precision", "bf16")
        got = self.evaluate(bf16, "bf16-out")
        apart = max(abs(a - b) for a, b in zip(got["logits"][2], self.wanted["logits"][2]))
        self.suite.check(got["logits"][1] == "float32" and 0 < apart < 0.05, f"bf16: {got['logits'][1]}, {apart}")

    def refused(self, status, pattern, tool, *words):
        done = self.suite.run(tool, *words)
        text = " ".join(map(str, words[1:]))
        self.suite.check(done.returncode == status and re.search(pattern, done.stderr),
                         f"{tool} {text}: exit {done.returncode}, wanted {status} and {pattern}\n{done.stderr}")

    def wrong(self):
        kept, plain = self.path("kept"), self.path("plain")
        data = ("--eval", "text:" + common.CORPUS)
        file = self.path("x.npy")
        for status, pattern, words in (
                (2, "keeps no output named 'logit'(.|\n)*did you mean 'logits'",
                 (kept, *data, "--output", "logit:" + file)),
                (2, "--keep-output NAME keeps an output", (plain, *data, "--output", "logits:" + file)),
                (2, "expected NAME:FILE.npy, got 'logits'", (kept, *data, "--output", "logits")),
                (2, "expected NAME:FILE.npy", (kept, *data, "--output", "logits:")),
                (2, "end it in .npy", (kept, *data, "--output", "logits:" + self.path("x.txt"))),
                (2, "'logits' is given twice", (kept, *data, "--output", "logits:" + file, "--output",
                                                "logits:" + self.path("y.npy"))),
                (2, "--output and --output would write the same file", (
                    kept, *data, "--output", "logits:" + file, "--output",
                    "hidden:" + os.path.join(os.path.dirname(file), ".", "x.npy"))),
                (2, "--output without --eval", (kept, "--data", "text:" + common.CORPUS, "--steps", 1, "--output",
                                                "logits:" + file)),
                (4, "cannot write", (kept, *data, "--output", "logits:" + self.path("none/x.npy")))):
            self.refused(status, pattern, "zb-run", *words)
        for status, pattern, words in (
                (1, "no output is named 'logit': the outputs are(.|\n)*'logits'", ("--keep-output", "logit")),
                (1, "'loss' is the loss", ("--keep-output", "loss")),
                (1, "'logits' is named twice", ("--keep-output", "logits", "--keep-output", "logits"))):
            self.refused(status, pattern, "zbc", MODEL, "-o", self.path("no"), *words)
        self.suite.check(not os.path.exists(file) and not os.path.exists(self.path("no")), "something was written")
        os.symlink("/dev/full", self.path("full.npy"))
        self.refused(4, "No space left", "zb-run", kept, *data, "--output", "logits:" + self.path("full.npy"))


def main():
    suite = common.Suite(common.arguments(__doc__).bin)
    with common.scratch() as folder:
        it = Outputs(suite, folder)
        it.compare()
        it.bits()
        it.training()
        it.wrong()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
