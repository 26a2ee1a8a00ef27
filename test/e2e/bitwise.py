#!/usr/bin/env python3
"""The same bits, whatever the cut: losses, weights and optimizer state of every number of ranks, schedule, number of chunks, number of
threads and device are those of one rank, byte for byte; and a run that was saved and resumed is the run that was not.

    bitwise.py [--bin BUILD/bin] [--jobs 2] [--quick]

One line a group, then "N passed, N failed". --quick: one graph, fewer micro-batch counts.
"""
import os
import sys

import common

SCHEDULES = ("fthenb", "1f1b", "zb-h1")
STEPS = 3


def plans():
    """(ranks, schedule, chunks) of one group."""
    return [(ranks, schedule, 1) for ranks in (1, 2, 4, 8) for schedule in SCHEDULES] + [(ranks, "fthenb", 2) for ranks in (1, 2, 4, 8)]


def losses(rows):
    return [row["loss"] for row in rows]


class Group:
    """One graph and one number of micro-batches."""

    def __init__(self, suite, folder, graph, micro_batches):
        self.suite, self.graph, self.micro_batches = suite, graph, micro_batches
        self.name = f"{graph} M={micro_batches}"
        self.folder = os.path.join(folder, f"{graph}-{micro_batches}")
        os.makedirs(self.folder)
        self.compile("reference", 1, "fthenb", 1)
        self.wanted_losses, self.wanted = self.train("reference", STEPS)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, ranks, schedule, chunks):
        self.suite.compile(os.path.join(common.DATA, self.graph + ".onnx"), self.path(name), "--ranks", ranks, "--schedule", schedule,
                           "--chunks", chunks, "--micro-batches", self.micro_batches)

    def train(self, name, steps, *arguments):
        """(losses, checkpoint) of a run."""
        saved = self.path(name + ".saved")
        rows = self.suite.train(self.path(name), steps, "--save", saved, *arguments)
        return losses(rows), common.read_checkpoint(saved)

    def same(self, text, got, wanted=None):
        wanted_losses, wanted = wanted or (self.wanted_losses, self.wanted)
        got_losses, got = got
        difference = common.first_difference(wanted, got)
        if got_losses != wanted_losses:
            difference = f"losses {got_losses} instead of {wanted_losses}"
        self.suite.check(not difference, f"{self.name} {text}: {difference}")

    def plan(self, ranks, schedule, chunks):
        name = f"{schedule}-{ranks}x{chunks}"
        try:
            self.compile(name, ranks, schedule, chunks)
            for threads in (1, 2):
                self.same(f"{name} on {threads} threads", self.train(name, STEPS, "--threads", threads))
        except common.Failure as failure:
            self.suite.check(False, f"{self.name} {name}: {failure}")

    def simulated(self, name):
        try:
            for seed in range(4):
                self.same(f"{name} on sim with seed {seed}", self.train(name, STEPS, "--device", "sim", "--seed", seed))
        except common.Failure as failure:
            self.suite.check(False, f"{self.name} {name} on sim: {failure}")

    def resumed(self, first, second):
        """Six steps of one plan against three of `first`, a save, and three of `second`."""
        try:
            whole = self.train("reference", 2 * STEPS)
            half, resumed = self.path(f"{first}-{second}.half"), self.path(f"{first}-{second}.resumed")
            before = self.suite.train(self.path(first), STEPS, "--save", half)
            after = self.suite.train(self.path(second), STEPS, "--resume", half, "--save", resumed)
            self.suite.check([row["step"] for row in after] == list(range(STEPS, 2 * STEPS)), f"{self.name}: steps after a resume")
            self.same(f"{first}, then {second}", (losses(before + after), common.read_checkpoint(resumed)), whole)
        except common.Failure as failure:
            self.suite.check(False, f"{self.name} {first}, then {second}: {failure}")


def main():
    options = common.arguments(__doc__, ("--quick", dict(action="store_true")))
    suite = common.Suite(options.bin)
    graphs = ("gpt2-small",) if options.quick else ("gpt2-small", "llama-small")
    with common.scratch() as folder:
        for graph in graphs:
            for micro_batches in (3, 8) if options.quick else (1, 3, 6, 8):
                before = suite.passed, suite.failed
                group = Group(suite, folder, graph, micro_batches)
                common.run_parallel([lambda p=p: group.plan(*p) for p in plans()], options.jobs)
                if micro_batches == 8:
                    common.run_parallel([lambda n=n: group.simulated(n) for n in ("zb-h1-8x1", "1f1b-4x1", "fthenb-4x2")], options.jobs)
                    for first, second in (("zb-h1-4x1", "zb-h1-4x1"), ("zb-h1-4x1", "1f1b-2x1"), ("fthenb-1x1", "zb-h1-8x1"), ("fthenb-4x2", "1f1b-8x1")):
                        group.resumed(first, second)
                print(f"{group.name}: {suite.passed - before[0]} passed, {suite.failed - before[1]} failed", flush=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
