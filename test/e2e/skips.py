#!/usr/bin/env python3
"""Values that many later stages need: a model with attention over its depth, in which every block reads the outputs of
all blocks before it (test/data/depth.onnx; its losses against PyTorch's: reference.py).

    skips.py [--bin BUILD/bin] [--jobs 2]

The same bits over placements and ranks. A rank gets a value once, however many of its stages read it, and only what it
does not make itself: forward messages have these bytes, to the byte. What is received does not grow with the
micro-batches; interleaved 1F1B on four ranks of four chunks holds 61 received values at most, where PyTorch's pooled
buffers are 67 (pytorch pull request 196465, granularity C). Ends with "N passed, N failed".
"""
import os
import re
import sys

import bitwise
import common

# ranks, schedule, further arguments of zbc
PLANS = [(4, "1f1b", ()), (8, "zb-h1", ()), (3, "zb-v", ()), (4, "zb-v", ()), (4, "interleaved-1f1b", ("--chunks", 3)),
         (2, "fthenb", ("--placement", "wave", "--chunks", 4)), (2, "interleaved-1f1b", ("--chunks", 6)),
         (3, "fthenb", ("--placement", "0,1,0,2,1,0,2,2")), (4, "search:budget=64", ("--chunks", 2))]
BLOCK_BYTES = 4 * 16 * 16 * 4  # of the output of a block, for one micro-batch
PYTORCH_SLOTS = (14, 20, 17, 16)
JOB = re.compile(r"\s+\d+\s+([FBW])\s+s(\d+)_[FBW] micro-batch (\d+)")


def forward_bytes(plan):
    """Of all messages, by the rank that they go to."""
    found = {}
    message = r"^message #\d+ F from rank \d+ stage \d+ to rank (\d+) .*?, ([\d,]+) bytes"
    for rank, size in re.findall(message, plan, re.M):
        found[int(rank)] = found.get(int(rank), 0) + int(size.replace(",", ""))
    return found


def received_values(plan, stages):
    """Most values that each rank holds of what it received, of a model with one value between stages: an activation
    from its F to its W, the gradient from B to W."""
    most, now = [], 0
    for line in plan.splitlines():
        job = JOB.match(line)
        if re.match(r"rank \d+", line):
            most.append(0)
            now = 0
        if not job:
            continue
        kind, stage = job[1], int(job[2])
        now += (kind == "F" and stage > 0) + (kind == "B" and stage < stages - 1)
        most[-1] = max(most[-1], now)
        if kind == "W":
            now -= (stage > 0) + (stage < stages - 1)
    return most


class Skips:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder

    def plan(self, graph, micro_batches, *arguments):
        out = os.path.join(self.folder, "plan")
        summary = self.suite.compile(os.path.join(common.DATA, graph + ".onnx"), out, "--micro-batches", micro_batches,
                                     *(() if "--ranks" in arguments else ("--ranks", 4)), *arguments)
        return summary, self.suite.must("zb-run", out, "--print-plan")

    def once(self):
        """A stage is a run of whole blocks: a rank receives what other ranks made before its last stage."""
        for ranks, chunks, last in ((4, 1, (2, 5, 8)), (4, 2, (0, 2, 3, 5, 6, 8, 9)), (4, 3, range(11)),
                                    (2, 6, range(11)), (3, 4, range(11)), (1, 12, range(11))):
            cuts = ",".join(f"blocks.{block}" for block in last)
            _, plan = self.plan("depth", 2, "--ranks", ranks, "--chunks", chunks, "--schedule", "fthenb", "--cuts",
                                cuts)
            stages = [0] + [sum(block > cut for cut in last) for block in range(12)]  # of the embedding and the blocks
            end = ranks * chunks - ranks
            wanted = {rank: sum(s % ranks != rank and s < end + rank for s in stages) * BLOCK_BYTES * 2
                      for rank in range(ranks)}
            got = forward_bytes(plan)
            self.suite.check(got == {rank: size for rank, size in wanted.items() if size},
                             f"{ranks} ranks, {chunks} chunks: ranks receive {got} bytes, wanted {wanted}")
            print(f"  {ranks} ranks, {chunks} chunks: bytes that ranks receive {got}", flush=True)

    def received(self):
        wanted = None
        for micro_batches in (8, 16, 32):
            _, plan = self.plan("gpt2-small", micro_batches, "--chunks", 4, "--schedule", "interleaved-1f1b")
            got = received_values(plan, 16)
            wanted = wanted or got
            print(f"  M={micro_batches}: received values held {got}, {sum(got)} in all", flush=True)
            self.suite.check(got == wanted, f"M={micro_batches}: {got} received values, with 8 {wanted}")
            self.suite.check(all(a <= b for a, b in zip(got, PYTORCH_SLOTS)), f"{got}, PyTorch {PYTORCH_SLOTS}")

    def flat(self):
        memory = {m: max(self.plan("depth", m, "--chunks", 3, "--schedule", "interleaved-1f1b")[0]["memory"])
                  for m in (12, 24, 48)}
        print(f"  memory by micro-batches: {memory}", flush=True)
        self.suite.check(memory[48] <= 1.1 * memory[12], f"memory grows with micro-batches: {memory}")


def main():
    suite = common.Suite(common.arguments(__doc__).bin)
    with common.scratch() as folder:
        for micro_batches in (4, 8):
            group = bitwise.Group(suite, folder, "depth", micro_batches)
            for plan in PLANS:
                group.plan(*plan)
        it = Skips(suite, folder)
        it.once()
        it.received()
        it.flat()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
