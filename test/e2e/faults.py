#!/usr/bin/env python3
"""What goes wrong in the middle of a run, of which nothing may be saved or hidden.

    faults.py [--bin BUILD/bin]

A data file that changes while it is read ends the run with status 4, its name and the last checkpoint.
Ends with "N passed, N failed".
"""
import array
import os
import random
import subprocess
import sys
import time

import arrays
import common

GPT2 = os.path.join(common.DATA, "gpt2-tiny.onnx")
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

    def run(self, *arguments, data=None, steps=1):
        data = data or "tokens:" + self.write("tokens.bin", self.tokens.tobytes()) + ":u16"
        return self.suite.run("zb-run", self.plan, "--data", data, "--steps", steps, *arguments)

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
            _, process.stderr = process.communicate(timeout=120)
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


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        faults = Faults(suite, folder)
        faults.changes()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
