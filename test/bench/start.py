#!/usr/bin/env python3
"""How long a run takes before its first step and after its last, and a compile of large weights.

    start.py MODEL.onnx [--bin BUILD/bin] [--ranks P] [--micro-batches M] [--rounds R] [--vocabulary V]

Of each round a line: when the first line came, how long values were read, when step 1 began, what that step took (it
also touches all memory for the first time), and how long the program went on after its last line. Last the best of
each. Tokens are drawn at random below V.
"""
import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COLUMNS = ("first line", "reading", "step 1 begins", "step 1", "exit")


def train(command):
    """Seconds of each column."""
    begin = time.monotonic()
    first = reading = step = ended = None
    process = subprocess.Popen(command + ["--json"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        now = time.monotonic() - begin
        first = now if first is None else first
        if line.startswith("read "):
            reading = float(line.split(" in ")[1].split()[0])
        if line.startswith("{"):
            step, ended = json.loads(line)["seconds"], now
    if process.wait() or step is None:
        sys.exit(f"error: {' '.join(command)}: exit {process.returncode}")
    return first, reading or 0.0, ended - step, step, time.monotonic() - begin - ended


def print_row(name, values):
    print(f"{name:10}" + "".join(f"{value:13.2f} s" for value in values), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--bin", default=os.path.join(SOURCE, "build", "bin"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--micro-batches", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--vocabulary", type=int, default=50257)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zb-start-") as folder:
        plan, data = os.path.join(folder, "plan"), os.path.join(folder, "tokens.bin")
        source = random.Random(1)
        with open(data, "wb") as file:
            file.write(b"".join(struct.pack("<I", source.randrange(options.vocabulary)) for _ in range(100000)))
        compiles = []
        for _ in range(options.rounds):
            begin = time.monotonic()
            subprocess.run([os.path.join(options.bin, "zbc"), options.model, "-o", plan,
                            "--ranks", str(options.ranks), "--micro-batches",
                            str(options.micro_batches)], check=True, stdout=subprocess.DEVNULL)
            compiles.append(time.monotonic() - begin)
        size = os.path.getsize(os.path.join(plan, "weights.safetensors")) / 2**20
        print(f"{os.path.basename(options.model)}, {size:.1f} MiB of weights, {options.ranks} ranks: zbc "
              f"{min(compiles):.2f} s, the best of {options.rounds}")
        print(" " * 10 + "".join(f"{name:>15}" for name in COLUMNS))
        command = [os.path.join(options.bin, "zb-run"), plan, "--data", f"tokens:{data}:u32", "--steps", "1"]
        rounds = []
        for k in range(options.rounds):
            rounds.append(train(command))
            print_row(f"round {k + 1}", rounds[-1])
        print_row("best", [min(column) for column in zip(*rounds)])


if __name__ == "__main__":
    main()
