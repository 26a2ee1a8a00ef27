#!/usr/bin/env python3
"""How plans and the memory of a compile grow with the mesh and with the length of a step.

    growth.py [--bin BUILD/bin]

replicas, shards: a plan is one of a pipeline, so that its size is within 1 % the same for any D of at least 2, whatever
replicas share, and for any such T.
micro-batches, ops: where these double, the plan and the peak memory of zbc grow no more than 2.2 times: with parts of
parameters, too, of which every job reads many. Their lists are there once, not for each micro-batch, so that they add
little to what a compile takes (LISTS_BYTES).
What a compile takes in seconds is test/bench/compile.py.
Ends with "N passed, N failed".
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
import gpt  # noqa: E402

MOST = 2.2
SAME = 1.01
SHARDINGS = ("none", "optimizer", "gradients:step", "gradients:micro-batch")
GATHERS = ("job", "micro-batch", "step")
GATHERED = (("parameters:step", "job"), ("parameters:micro-batch", "micro-batch"), ("parameters:step", "step"))

# What lists of gathered parameters may add to the peak memory of a compile for 512 micro-batches: 56 and 64 MB where
# each gather has a list of its own, 19 and 22 where they share.
LISTS_BYTES = 32 << 20


class Growth:
    def __init__(self, options, folder):
        self.zbc, self.folder = os.path.join(options.bin, "zbc"), folder
        self.counts = [0, 0]

    def model(self, layers):
        path = os.path.join(self.folder, f"{layers}.mlir")
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(gpt.program(gpt.Size(layers=layers, dim=32, heads=8, seq=8, batch=1, vocab=32)))
        return path

    def compile(self, layers, micro_batches, *options):
        """Bytes of the plan, and peak bytes of the process."""
        out = os.path.join(self.folder, "out")
        command = [self.zbc, self.model(layers), "-o", out, "--ranks", "4", "--micro-batches", str(micro_batches),
                   "--json", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.read()
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"error: {' '.join(command)}\n{errors[:4000]}")
        return os.path.getsize(os.path.join(out, "plan.zb")), usage.ru_maxrss * 1024

    def check(self, what, right, text):
        self.counts[not right] += 1
        if not right:
            print(f"not ok - {what}: {text}", flush=True)

    def same_plan(self, what, option, sizes, *more):
        plans = [self.compile(24, 64, option, str(size), *more)[0] for size in sizes]
        self.check(what, max(plans) <= SAME * min(plans), f"plans of {dict(zip(sizes, plans))} bytes")

    def doubled(self, what, before, after):
        for name, index in (("plan", 0), ("peak memory", 1)):
            ratio = after[index] / before[index]
            self.check(f"{what}: {name}", ratio <= MOST, f"{ratio:.2f} times as large")

    def run(self):
        for sharding in SHARDINGS:
            self.same_plan(f"replicas {sharding}", "--data-parallel", (2, 3, 64), "--sharding", sharding)
        for sharding in ("parameters:step", "parameters:micro-batch"):
            for gather in GATHERS:
                self.same_plan(f"replicas {sharding} {gather}", "--data-parallel", (2, 3, 64), "--sharding", sharding,
                               "--gather", gather)
        self.same_plan("shards", "--tensor-parallel", (2, 4, 8))
        whole = self.compile(24, 64)[0]
        shards = self.compile(24, 64, "--tensor-parallel", "2")[0]
        self.check("shards: against none", shards <= 1.3 * whole, f"{shards} of {whole} bytes")
        without = 0
        for sharding, gather in (("none", "job"), *GATHERED):
            options = ("--data-parallel", "64", "--sharding", sharding)
            options += ("--gather", gather) if sharding != "none" else ()
            base = self.compile(16, 128, *options)
            self.doubled(f"micro-batches {sharding} {gather}", base, self.compile(16, 256, *options))
            long = self.compile(16, 512, *options)[1]
            without = without or long
            self.check(f"lists {sharding} {gather}", long - without <= LISTS_BYTES,
                       f"peak {long}, without {without} bytes")
            self.doubled(f"ops {sharding} {gather}", base, self.compile(32, 128, *options))
        print(f"{self.counts[0]} passed, {self.counts[1]} failed")
        return self.counts[1] > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(HERE, "..", "..", "build", "bin"))
    with tempfile.TemporaryDirectory() as folder:
        return Growth(parser.parse_args(), folder).run()


if __name__ == "__main__":
    sys.exit(main())
