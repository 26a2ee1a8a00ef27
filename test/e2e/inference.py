#!/usr/bin/env python3
"""Models without a loss: zbc --inference, zb-run --eval --output NAME:FILE.npy.

    inference.py [--bin BUILD/bin] [--jobs 2]

The arrays of test/data/inference.onnx, which PyTorch's own exporter wrote (inference_reference.py), against PyTorch's;
those of a model that was trained before (buffers.py), by --weights and by the reference of its evaluation; the same
bytes over ranks, placements, threads, the device sim and processes, and as of a plan that trains too; memory of a
forward pass alone; what cannot be done with such a plan. Ends with "N passed, N failed".
"""
import json
import os
import re
import sys

import common
import processes
from outputs import read_npy

MODEL = os.path.join(common.DATA, "inference.onnx")
TRAINED = os.path.join(common.DATA, "buffers.onnx")
PLANS = [(1, ()), (2, ()), (3, ()), (4, ()), (2, ("--placement", "v", "--chunks", 2)), (2, ("--placement", "1,0,0,1")),
         (2, ("--cuts", "ups.1"))]
TOLERANCE = 2e-6


def varint(value):
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def with_output(model, name):
    """The ONNX file with one more output: field 12 of its graph, which is field 7; its other fields go through."""
    at, out = 0, b""
    while at < len(model):
        begin = at
        tag, at = read_varint(model, at)
        length, at = read_varint(model, at)
        at += length if tag & 7 == 2 else 0
        if tag == 7 << 3 | 2:
            one = b"\x0a" + varint(len(name)) + name
            graph = model[at - length : at] + b"\x62" + varint(len(one)) + one
            out += varint(tag) + varint(len(graph)) + graph
        else:
            out += model[begin:at]
    return out


class Inference:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.wanted = suite, folder, None
        self.reference, self.trained = [self.read(os.path.join(common.DATA, name + ".reference.json"))
                                        for name in ("inference", "buffers")]

    @staticmethod
    def read(path):
        with open(path) as file:
            return json.load(file)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, *arguments, model=MODEL, micro_batches=None):
        return self.path(name), self.suite.compile(model, self.path(name), "--inference", "--micro-batches",
                                                   micro_batches or self.reference["micro_batches"], *arguments)

    def words(self, names, where):
        os.makedirs(self.path(where), exist_ok=True)
        return [word for name in names for word in ("--output", f"{name}:{self.path(os.path.join(where, name))}.npy")]

    def evaluate(self, plan, *arguments, names=None, batches=None, where="out"):
        names = names or list(self.reference["outputs"])
        rows = common.json_lines(self.suite.must(
            "zb-run", plan, "--eval", "text:" + common.CORPUS, "--eval-steps", batches or self.reference["batches"],
            "--json", *self.words(names, where), *arguments))
        self.suite.check("loss" not in rows[-1]["eval"] and rows[-1]["eval"]["batches"] > 0, f"{plan}: {rows[-1]}")
        return {name: read_npy(self.path(os.path.join(where, name)) + ".npy") for name in names}

    def near(self, text, got, row):
        shape, dtype, values, _ = got
        apart = max(abs(a - b) for a, b in zip(values[::row["stride"]], row["elements"]))
        self.suite.check(dtype == "float32" and shape == row.get("shape", shape) and apart <= TOLERANCE,
                         f"{text}: {shape} {dtype}, differs by {apart}")
        return apart

    def compare(self):
        plan, summary = self.compile("reference")
        self.wanted = self.evaluate(plan)
        worst = max(self.near(name, self.wanted[name], row) for name, row in self.reference["outputs"].items())
        self.suite.check(summary["inference"] and not summary["trained"] and "norms.0.running_var" in summary["frozen"],
                         f"{summary['trained']}, {summary['frozen']}")
        print(f"  outputs within {worst:.1e} of PyTorch's", flush=True)

    def same(self, text, got):
        for name, row in got.items():
            self.suite.check(row[3] == self.wanted[name][3], f"{text}: {name} has other bytes than on one rank")

    def bits(self):
        for i, (ranks, more) in enumerate(PLANS):
            plan, _ = self.compile(f"plan{i}", "--ranks", ranks, *more)
            text = f"{ranks} ranks {' '.join(map(str, more))}"
            self.same(text, self.evaluate(plan))
        self.same("sim", self.evaluate(plan, "--device", "sim", "--seed", 5))
        self.same("2 threads", self.evaluate(plan, "--threads", 2))
        one, _ = self.compile("one", "--ranks", 2, "--keep-output", "best")
        self.same("best alone", self.evaluate(one, names=["best"]))
        for name, count in (("tcp", 4), ("mpi", 2)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            done = processes.launched(self.suite, launcher, count, self.path("plan3"), "--eval",
                                      "text:" + common.CORPUS, "--eval-steps", self.reference["batches"],
                                      *self.words(self.wanted, name))
            self.suite.check(done.returncode == 0, f"{name}: {done.stderr}")
            self.same(f"{count} processes over {name}",
                      {output: read_npy(self.path(os.path.join(name, output)) + ".npy") for output in self.wanted})

    def after_training(self):
        """The weights and running statistics of a checkpoint; what a plan that trains gives for them."""
        reference = self.trained
        kept = self.path("kept")
        whole = self.suite.compile(TRAINED, kept, "--ranks", 2, "--micro-batches", reference["micro_batches"],
                                   "--keep-output", "logits")
        self.suite.train(kept, len(reference["losses"]), "--save", self.path("saved"))
        plan, summary = self.compile("trained", "--ranks", 3, "--keep-output", "logits", model=TRAINED,
                                     micro_batches=reference["micro_batches"])
        batches = reference["evaluated_steps"]
        got = self.evaluate(plan, "--weights", self.path("saved"), names=["logits"], batches=batches)["logits"]
        self.near("logits after training", got, reference["logits"])
        self.suite.must("zb-run", kept, "--resume", self.path("saved"), "--eval", "text:" + common.CORPUS,
                        "--eval-steps", batches, *self.words(["logits"], "resumed"))
        self.suite.check(read_npy(self.path("resumed/logits.npy"))[3] == got[3], "a plan that trains gives other bytes")
        self.suite.check(max(summary["memory"]) < max(whole["memory"]) / 2,
                         f"memory {summary['memory']}, of a plan that trains {whole['memory']}")
        plan, _ = self.compile("all", model=TRAINED, micro_batches=1)
        self.evaluate(plan, names=["loss", "logits"], batches=1)  # but no new values of buffers
        plan, _ = self.compile("bf16", "--precision", "bf16")
        got = self.evaluate(plan)["scores"]
        apart = max(abs(a - b) for a, b in zip(got[2], self.wanted["scores"][2]))
        self.suite.check(0 < apart < 0.05, f"bf16 differs by {apart}")

    def refused(self, status, pattern, tool, *words):
        done = self.suite.run(tool, *words)
        self.suite.check(done.returncode == status and re.search(pattern, done.stderr),
                         f"{tool} {' '.join(map(str, words))}: exit {done.returncode}, wanted {status} and {pattern}\n"
                         f"{done.stderr}")

    def wrong(self):
        plan, data = self.path("reference"), "text:" + common.CORPUS
        self.refused(2, "the plan is for inference: it has no loss(.|\n)*without --inference", "zb-run", plan, "--data",
                     data, "--steps", 1)
        self.refused(2, "the plan is for inference", "zb-run", plan, "--data", data, "--steps", 1, "--eval", data)
        self.refused(2, "keeps no output named 'score'(.|\n)*did you mean 'scores'", "zb-run", plan, "--eval", data,
                     "--output", "score:" + self.path("x.npy"))
        no = ("-o", self.path("no"))
        self.refused(1, "no scalar float output to minimize(.|\n)*--inference compiles a model without a loss", "zbc",
                     MODEL, *no)
        self.refused(1, "no output is named 'score': the outputs are 'scores'", "zbc", MODEL, *no, "--inference",
                     "--keep-output", "score")
        for option, value in (("--schedule", "1f1b"), ("--optimizer", "sgd"), ("--split", "auto"), ("--loss", "best"),
                              ("--recompute", "all"), ("--clip-norm", 1), ("--freeze", "*"), ("--metric", "stage")):
            self.refused(2, f"{option} has no effect with --inference", "zbc", MODEL, *no, "--inference", option, value)
        self.refused(3, "the limit is 1024", "zbc", MODEL, *no, "--inference", "--memory-limit", "1K")
        program = self.path("loss.mlir")
        with open(program, "w") as file:
            file.write('func.func @model(%x: tensor<2xf32> {zb.input = "x"}) -> (tensor<f32> {zb.loss}) {\n'
                       '  %0 = "zb.reduce_sum"(%x) {axes = array<i64>} : (tensor<2xf32>) -> tensor<f32>\n'
                       "  return %0 : tensor<f32>\n}\n")
        self.refused(1, "result 0 of the program is no output", "zbc", program, *no, "--inference")
        twice = self.path("twice.onnx")
        with open(MODEL, "rb") as file, open(twice, "wb") as out:
            out.write(with_output(file.read(), b"scores"))
        self.refused(1, "two outputs are named 'scores'(.|\n)*an Identity makes another", "zbc", twice, *no,
                     "--inference")
        self.suite.check(not os.path.exists(self.path("no")), "something was written")


def main():
    suite = common.Suite(common.arguments(__doc__).bin)
    with common.scratch() as folder:
        it = Inference(suite, folder)
        it.compare()
        it.bits()
        it.after_training()
        it.wrong()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
