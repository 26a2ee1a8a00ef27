#!/usr/bin/env python3
"""What goes wrong in the middle of a run, of which nothing may be saved or hidden.

    faults.py [--bin BUILD/bin]

Parameters or optimizer state that are not finite although the loss is are never saved, nor begun with. A data file
that changes while it is read ends the run with status 4, its name and the last checkpoint. A batch that
is refused leaves no trace: --bad-batch skip, and sessions of Python that go on with the next one, are byte for byte
runs without it, also of a model with BatchNorm.
Ends with "N passed, N failed".
"""
import array
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time
import warnings

import clipping
import common
import arrays  # which finds the package
import processes

GPT2 = os.path.join(common.DATA, "gpt2-tiny.onnx")
# The root of 0 has an infinite gradient: where a number of v is 0 the loss is finite, and nothing behind it.
ROOTS = """
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<2x8xi64> {zb.input = "x"}, %y: tensor<2x8xi64> {zb.input = "y"},
                   %wte: tensor<16x16xf32> {zb.param = "wte"}, %u: tensor<16x16xf32> {zb.param = "u"},
                   %v: tensor<16xf32> {zb.param = "v"}, %w: tensor<16x16xf32> {zb.param = "w"})
      -> (tensor<f32> {zb.loss}) {
    %h = "zb.gather"(%wte, %x) {axis = 0 : i64} : (tensor<16x16xf32>, tensor<2x8xi64>) -> tensor<2x8x16xf32>
    %a = "zb.tanh"(%h) : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %b = "zb.matmul"(%a, %u) : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    %r = "zb.sqrt"(%v) : (tensor<16xf32>) -> tensor<16xf32>
    %c = "zb.add"(%b, %r) : (tensor<2x8x16xf32>, tensor<16xf32>) -> tensor<2x8x16xf32>
    %z = "zb.matmul"(%c, %w) : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {ignore_index = -100 : i64, reduction = "mean"}
        : (tensor<2x8x16xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<2x8xf32>)
    return %loss : tensor<f32>
  }
}
"""
NAME = "lm.transformer.h.1.mlp.c_fc.weight"
MICRO_BATCHES = 4


class Faults:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder
        self.plan = self.path("plan")
        self.summary = suite.compile(GPT2, self.plan, "--ranks", 2, "--micro-batches", MICRO_BATCHES)
        draw = random.Random(0)
        self.tokens = array.array("H", [draw.randrange(16) for _ in range(1 << 17)])

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def refused(self, name, process, status, *texts):
        self.suite.check(process.returncode == status, f"{name}: exit {process.returncode}\n{process.stderr[-600:]}")
        for text in texts:
            self.suite.check(text in process.stderr, f"{name}: no '{text}' in\n{process.stderr[-800:]}")

    def run(self, *arguments, data=None, steps=1, plan=None):
        data = data or "tokens:" + self.write("tokens.bin", self.tokens.tobytes()) + ":u16"
        return self.suite.run("zb-run", plan or self.plan, "--data", data, "--steps", steps, *arguments)

    # ---- Numbers that are not finite ----

    def spoiled(self, folder, name, tensor, value, index=3):
        """A copy of a file of tensors with one number changed."""
        tensors, _ = common.read_safetensors(os.path.join(folder, name))
        dtype, shape, data = tensors[tensor]
        numbers = array.array("f", data)
        numbers[index] = value
        tensors[tensor] = dtype, shape, numbers.tobytes()
        clipping.write_safetensors(self.path("spoiled.safetensors"), tensors)
        return self.path("spoiled.safetensors")

    def not_finite(self):
        plan, model = self.path("finite"), self.write("roots.mlir", ROOTS.encode())
        for more in ((), ("--data-parallel", 2), ("--data-parallel", 2, "--sharding", "optimizer"),
                     ("--data-parallel", 2, "--sharding", "gradients:step"), ("--tensor-parallel", 2),
                     ("--data-parallel", 2, "--sharding", "parameters:step"), ("--precision", "bf16"),
                     ("--clip-norm", 1, "--post-validation")):
            self.suite.compile(model, plan, "--ranks", 2, "--micro-batches", MICRO_BATCHES, *more)
            weights = self.spoiled(plan, "weights.safetensors", "v", 0)
            saved, name = self.path("good"), " ".join(map(str, more))
            self.run("--save", saved, plan=plan)
            before = common.read_checkpoint(saved)
            said = ("norm",) if "--clip-norm" in more else ("'v", "is not a number on rank", "--non-finite skip")
            for each in ((), ("--save-every", 1)):
                process = self.run("--weights", weights, "--save", saved, *each, plan=plan, steps=1 + len(each))
                self.refused(name, process, 4, "step 1", *said, "hint: ")
            self.suite.check(common.read_checkpoint(saved) == before, f"{name}: the checkpoint before it")
            if "--clip-norm" in more:
                process = self.run("--weights", weights, "--save", saved, "--non-finite", "skip", plan=plan)
                self.suite.check(process.returncode == 0, process.stderr)
        launcher = processes.LAUNCHERS["tcp"]
        data = ("--data", "tokens:" + self.path("tokens.bin") + ":u16", "--steps", 1)
        self.suite.compile(model, plan, "--ranks", 2, "--micro-batches", MICRO_BATCHES)
        process = processes.launched(self.suite, launcher, 2, plan, *data, "--weights", weights, "--save",
                                     self.path("none"))
        self.suite.check(process.returncode == 4 and "is not a number on rank" in process.stderr and
                         not os.path.exists(self.path("none")), f"two processes: {process.stderr}")

    def begun_with(self):
        saved = self.path("begun")
        self.run("--save", saved)
        for value, word in ((float("nan"), "not a number"), (float("inf"), "infinite")):
            weights = self.spoiled(self.plan, "weights.safetensors", NAME, value)
            if value != value:  # infinities may be meant, such as a bias of -inf
                self.refused("--weights", self.run("--weights", weights), 1, NAME, word, "hint: ")
            state = next(name for name in common.read_safetensors(os.path.join(saved, "optimizer.safetensors"))[0]
                         if name.startswith(NAME))
            for file, tensor in (("weights", NAME), ("optimizer", state))[0 if value != value else 1:]:
                folder = self.path("begun-" + file)
                shutil.copytree(saved, folder, dirs_exist_ok=True)
                with open(os.path.join(folder, file + ".safetensors"), "r+b") as out:
                    data = bytearray(out.read())
                    size = struct.unpack("<Q", data[:8])[0]
                    begin = json.loads(data[8:8 + size])[tensor]["data_offsets"][0]
                    data[8 + size + begin:12 + size + begin] = struct.pack("<f", value)
                    out.seek(0)
                    out.write(data)
                self.refused("--resume", self.run("--resume", folder), 1, tensor, word, "earlier checkpoint")

    # ---- Runs that go on otherwise than they began ----

    def resumed(self):
        base = ("--ranks", 2, "--micro-batches", MICRO_BATCHES)
        words = ("warning: lr 2e-3 replaces '1e-3' of the checkpoint",
                 "warning: beta1 0.8 replaces '0.9' of the checkpoint",
                 "warning: weight_decay 0.2 replaces '0.1' of the checkpoint",
                 "warning: clip-norm 2 replaces '1' of the checkpoint",
                 "warning: loss-mean targets replaces 'micro-batches' of the checkpoint",
                 "warning: precision bf16 replaces 'f32' of the checkpoint",
                 "warning: micro-batches 8 replaces '4' of the checkpoint",
                 "warning: rows of a step 16 replaces '8' of the checkpoint",
                 "warning: rates or decays that parameters have of their own (zbc --group) are not those of")
        plans = [self.path(name) for name in ("before", "same", "after")]
        optimizer = "adamw:lr=1e-3,weight_decay=0.1"
        self.suite.compile(GPT2, plans[0], *base, "--clip-norm", 1, "--optimizer", optimizer)
        self.suite.compile(GPT2, plans[1], "--ranks", 1, "--micro-batches", 4, "--clip-norm", 1, "--optimizer",
                           optimizer)
        self.suite.compile(GPT2, plans[2], "--ranks", 2, "--micro-batches", 8, "--clip-norm", 2, "--loss-mean",
                           "targets", "--precision", "bf16", "--optimizer",
                           "adamw:lr=2e-3,beta1=0.8,weight_decay=0.2", "--group", "*.wpe.*:lr=1e-4")
        saved, data = self.path("went"), "tokens:" + self.path("tokens.bin") + ":u16"
        self.run("--save", saved, plan=plans[0])
        many = self.path("many")
        processes.launched(self.suite, processes.LAUNCHERS["tcp"], 2, plans[0], "--data", data, "--steps", 1, "--save",
                           many)
        for folder in (saved, many):
            process = self.run("--resume", folder, plan=plans[1])
            self.suite.check(process.returncode == 0 and "replaces" not in process.stdout + process.stderr,
                             f"{folder}: {process.stdout}{process.stderr}")
            process = self.run("--resume", folder, plan=plans[2])
            for word in words:
                self.suite.check(word in process.stdout, f"{folder}: no '{word}' in {process.stdout}{process.stderr}")
        process = self.run("--resume", saved, "--lr", 3e-3, "--json", plan=plans[2])
        self.suite.check("warning: lr" not in process.stderr and words[1] in process.stderr, process.stderr)
        for name in ("weights", "optimizer"):  # as checkpoints were before
            path = os.path.join(saved, name + ".safetensors")
            with open(path, "rb") as file:
                data = file.read()
            size = struct.unpack("<Q", data[:8])[0]
            header = json.loads(data[8:8 + size])
            del header["__metadata__"]["zb.settings"]
            text = json.dumps(header).encode()
            with open(path, "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text + data[8 + size:])
        process = self.run("--resume", saved, plan=plans[2])
        self.suite.check(process.returncode == 0 and all((word in process.stdout) == (i < 3)
                                                         for i, word in enumerate(words)), process.stdout)
        import zb
        with warnings.catch_warnings(record=True) as caught, zb.Session(plans[2], resume=saved) as run:
            warnings.simplefilter("always")
            self.suite.check("beta1 0.8 replaces '0.9'" in " ".join(run.notes), str(run.notes))
        del caught

    # ---- Data that changes ----

    def data_file(self, kind):
        rows, length = 4096, self.row_length()
        if kind == "tokens":
            return self.write("d.bin", self.tokens.tobytes()), ":u16"
        if kind == "text":
            return self.write("d.txt", bytes(value for value in self.tokens)), ""
        values = [array.array("q", self.tokens[i:i + rows * length]) for i in range(2)]
        if kind == "npz":
            return self.write("d.npz", arrays.npz({name: arrays.npy(part, (rows, length))
                                                   for name, part in zip("xy", values)})), ""
        return self.write("d.st", arrays.safetensors({name: (part, (rows, length))
                                                      for name, part in zip("xy", values)})), ""

    def row_length(self):
        shape = next(line for line in self.suite.must("zb-run", self.plan, "--print-plan").splitlines()
                     if line.startswith("input"))
        return int(shape.split("x")[-2])

    def change(self, kind, how):
        path, more = self.data_file(kind)
        save, said = self.path("save"), self.path("said")
        with open(said, "w") as out:
            process = subprocess.Popen([self.suite.tool("zb-run"), self.plan, "--data", kind + ":" + path + more,
                                        "--steps", "1000000", "--save", save, "--save-every", "20"],
                                       stdout=out, stderr=subprocess.PIPE, text=True)
            while "saved step 20 " not in open(said).read() and process.poll() is None:
                time.sleep(0.02)
            how(path)
            _, process.stderr = process.communicate(timeout=common.patience(120))
        name = f"{kind}, {how.__name__}"
        self.refused(name, process, 4, "'%s' was changed" % path, "hint: ", "the last save is that of step ")
        again, more = self.data_file(kind)
        process = self.run("--resume", save, data=kind + ":" + again + more)
        self.suite.check(process.returncode == 0, f"{name}: the checkpoint: {process.stderr}")

    def changes(self):
        def cut_off(path):
            os.truncate(path, 0)

        def written_anew(path):
            with open(path, "r+b") as file:
                file.write(bytes(64))

        for kind in ("tokens", "text", "npz", "safetensors"):
            self.change(kind, cut_off)
        self.change("tokens", written_anew)

    # ---- Batches that are refused ----

    def batches(self, shape, vocabulary, spoil):
        """Rows of 6 steps, of which spoil() changes those of step 3, as a file; and the file without that step."""
        rows, length = shape
        each = rows * MICRO_BATCHES * length
        draw = random.Random(5)
        parts = {key: [draw.randrange(vocabulary) for _ in range(6 * each)] for key in "xy"}
        spoil(parts, 2 * each, 3 * each)
        files = []
        for name in ("with.npz", "without.npz"):
            made = {key: arrays.npy(array.array("q", part), (len(part) // length, length))
                    for key, part in parts.items()}
            files.append("npz:" + self.write(name, arrays.npz(made)))
            parts = {key: part[:2 * each] + part[3 * each:] for key, part in parts.items()}
        return files

    def skipped(self):
        def value(key, at, bad):
            def spoil(parts, begin, end):
                parts[key][end + at if at < 0 else begin + at] = bad
            return spoil

        def ignored(share):
            def spoil(parts, begin, end):
                parts["y"][begin:begin + (end - begin) // share] = [-100] * ((end - begin) // share)
            return spoil

        for graph, shape, vocabulary, more, spoil, code, text in (
                ("gpt2-tiny", (2, 8), 16, (), value("x", 17, 77), 1, "77"),
                ("gpt2-tiny", (2, 8), 16, ("--clip-norm", 1), value("y", -1, 77), 1, "77"),
                ("buffers", (4, 8), 16, (), value("x", -1, 3000), 1, "3000"),  # BatchNorm has seen three micro-batches
                ("llama-padded", (2, 16), 16, (), ignored(4), 4, "is not a number"),
                ("llama-padded", (2, 16), 16, ("--loss-mean", "targets"), ignored(1), 4, "all are ignored")):
            name = " ".join(map(str, (graph, *more, text)))
            plan = self.path("skipping")
            self.suite.compile(os.path.join(common.DATA, graph + ".onnx"), plan, "--ranks", 2, "--micro-batches",
                               MICRO_BATCHES, *more)
            data, without = self.batches(shape, vocabulary, spoil)
            self.refused(name, self.run(data=data, steps=6, plan=plan), code, text, "step 3")
            process = self.run("--bad-batch", "skip", "--save", self.path("a"), "--json", "--log",
                               self.path("log.jsonl"), data=data, steps=6, plan=plan)
            rows = common.json_lines(process.stdout)
            self.suite.check([row["step"] for row in rows if row.get("skipped")] == [2] and text in rows[2]["refused"],
                             f"{name}: {process.stdout}{process.stderr}")
            with open(self.path("log.jsonl")) as log:
                self.suite.check('"skipped": 1' in log.read(), f"{name}: the log")
            process = self.run("--save", self.path("b"), "--json", data=without, steps=5, plan=plan)
            plain = [row["loss"] for row in common.json_lines(process.stdout)]
            losses = [row["loss"] for row in rows if not row.get("skipped")]
            self.suite.check(losses == plain, f"{name}: {losses}, expected {plain} {process.stderr}")
            found, wanted = (common.read_checkpoint(self.path(x)) for x in "ab")
            self.suite.check(found == wanted, f"{name}: {common.first_difference(wanted, found)}")
            said = self.run("--bad-batch", "skip", data=data, steps=6, plan=plan).stdout
            self.suite.check("skipped: its batch was refused, so nothing was changed (1 of 3 steps so far)" in said,
                             f"{name}: {said}")
        self.refused("several processes", self.run("--bad-batch", "skip", "--device", "sim"), 2, "in one process")

    def python(self):
        import zb
        length, each = self.row_length(), 2 * MICRO_BATCHES
        draw = random.Random(9)

        def batch(bad=None):
            x, y = (array.array("q", [draw.randrange(16) for _ in range(each * length)]) for _ in range(2))
            if bad is not None:
                (x if bad else y)[7] = 99
            return [memoryview(part).cast("B").cast("q", (each, length)) for part in (x, y)]

        good = [batch() for _ in range(4)]
        with zb.Session(self.plan) as run:
            wanted = [run.step(one).loss for one in good]
            run.save(self.path("plain"))
        roots = self.path("roots")
        self.suite.compile(self.path("roots.mlir"), roots, "--ranks", 2, "--micro-batches", MICRO_BATCHES)
        with zb.Session(roots, weights=self.spoiled(roots, "weights.safetensors", "v", 0)) as run:
            self.suite.check(run.step(good[0]).loss < 10, "the loss is finite")
            for ask in (run.state_dict, lambda: run.save(self.path("none"))):
                try:
                    ask()
                    self.suite.check(False, "numbers that are not finite were handed out")
                except zb.Error as error:
                    self.suite.check("is not a number on rank" in str(error), str(error))
        with zb.Session(self.plan) as run:
            found = []
            for i, one in enumerate(good):
                for bad in (True, False):
                    try:
                        run.step(batch(bad)) if i % 2 else run.evaluate([batch(bad)])
                        self.suite.check(False, "a bad batch was taken")
                    except zb.Error as error:
                        self.suite.check(error.code == "INVALID" and "99" in str(error), str(error))
                found.append(run.step(one).loss)
            run.save(self.path("refused"))
        self.suite.check(found == wanted, f"losses {found} with refused batches, expected {wanted}")
        found, wanted = (common.read_checkpoint(self.path(x)) for x in ("refused", "plain"))
        with warnings.catch_warnings(record=True) as said, zb.Session(self.plan, bad_batch="skip") as run:
            warnings.simplefilter("always")
            skips = [result.skipped for result in run.train([good[0], batch(True), good[1]])]
        self.suite.check(skips == [False, True, False] and any("99" in str(one.message) for one in said),
                         f"train() with bad_batch='skip': {skips}")
        self.suite.check(found == wanted, str(common.first_difference(wanted, found)))


def main():
    options = common.arguments(__doc__)
    os.environ.setdefault("ZB_LIBRARY", os.path.join(os.path.dirname(os.path.abspath(options.bin)), "lib"))
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        faults = Faults(suite, folder)
        faults.not_finite()
        faults.begun_with()
        faults.resumed()
        faults.skipped()
        faults.python()
        faults.changes()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
