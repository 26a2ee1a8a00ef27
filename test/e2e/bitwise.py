#!/usr/bin/env python3
"""The same bits, whatever the cut: losses, weights and optimizer state of every number of ranks, schedule, number
of chunks, placement, number of threads and device are those of one rank, byte for byte; and a run that was saved
and resumed is the run that was not.

    bitwise.py [--bin BUILD/bin] [--jobs 2] [--quick] [--all]

Schedules are what `zb-sched --list` lists, each with its own placement and chunks, and with others. Where a schedule is
not defined (for this number of micro-batches, for this placement) zbc must say so: exit status 2, an error, a hint.
Every schedule must have trained somewhere, except those that zbc calls fit for simulation only.

One line a group, then "N passed, N failed". A group of a graph and a number of micro-batches has each schedule with one
of two numbers of ranks, and half of the layouts of each, which the next group has not; --all: all of them. --quick: one
graph, fewer micro-batch counts.
"""
import os
import sys

import common

STEPS = 3
# Beside a schedule's own layout.
LAYOUTS = (("--chunks", 2), ("--placement", "v"), ("--placement", "wave", "--chunks", 3), ("--placement", "1,0,0,1"))
# What takes seconds by default is given less to do where it is only one of many.
SHORT = {"search": "search:budget=64"}
# Plans that also run on the device sim, with messages that come late.
SIMULATED = ("zb-h1-8", "1f1b-4", "zb-v-4", "fthenb-4-placement-wave-chunks-2")
# Pairs of plans: three steps of one, a save, three of the other.
RESUMED = (("zb-h1-4", "zb-h1-4"), ("zb-h1-4", "1f1b-2"), ("fthenb-1", "zb-h1-8"), ("fthenb-4-chunks-2", "zb-v-4"))
NAMED = {*SIMULATED, *(name for pair in RESUMED for name in pair)}
SIMULATED_ONLY = "it can be simulated (zb-sched), not trained"


def schedules(suite):
    """Names of `zb-sched --list`."""
    lines = suite.must("zb-sched", "--list").splitlines()
    begin, end = lines.index("schedules:"), lines.index("placements:")
    return [line.split()[0] for line in lines[begin + 1:end] if line.startswith("  ") and line[2] != " "]


def one_trial(name):
    """Further arguments of a search that is given less to do: the search by default is there to move cuts, too."""
    return ("--cut-trials", 1) if name == SHORT["search"] else ()


def plans(names, micro_batches, number=None):
    """(ranks, schedule, further arguments of zbc) of one group: all, or those of the group of this number."""
    def is_turn(*numbers):
        return number is None or (number + sum(numbers)) % 2 == 0

    short = [SHORT.get(name, name) for name in names]
    found = [(ranks, name, one_trial(name)) for i, name in enumerate(names if micro_batches == 8 else short)
             for ranks in (2, 4) if is_turn(i, ranks // 2) or (micro_batches == 8 and f"{name}-{ranks}" in NAMED)]
    found += [(ranks, name, ()) for name in ("fthenb", "1f1b", "zb-h1") for ranks in (1, 8)]
    if micro_batches == 3:
        found += [(2, name, (*layout, *one_trial(name))) for i, name in enumerate(short)
                  for j, layout in enumerate(LAYOUTS) if is_turn(i, j)]
    if micro_batches == 8:
        found += [(4, name, ("--memory-limit", "1500K", *one_trial(name))) for name in ("search:budget=64", "zb")]
        found += [(ranks, "fthenb", ("--chunks", 2)) for ranks in (1, 4, 8)]
        found += [(4, "fthenb", ("--placement", "wave", "--chunks", 2))]
    return found


def losses(rows):
    return [row["loss"] for row in rows]


def plan_name(ranks, schedule, arguments):
    return "-".join([schedule.replace(":", "-").replace("=", ""), str(ranks),
                     *(str(a).strip("-").replace(",", "") for a in arguments)])


class Group:
    """One graph and one number of micro-batches."""

    def __init__(self, suite, folder, graph, micro_batches):
        self.suite, self.graph, self.micro_batches = suite, graph, micro_batches
        self.name = f"{graph} M={micro_batches}"
        self.folder = os.path.join(folder, f"{graph}-{micro_batches}")
        self.trained, self.simulated_only = set(), set()
        os.makedirs(self.folder)
        self.suite.must("zbc", *self.command("reference", 1, "fthenb", ()))
        self.wanted_losses, self.wanted = self.train("reference", STEPS)

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, name, ranks, schedule, arguments):
        return (os.path.join(common.DATA, self.graph + ".onnx"), "-o", self.path(name),
                "--ranks", ranks, "--schedule", schedule, "--micro-batches", self.micro_batches, *arguments)

    def defined(self, name, ranks, schedule, arguments):
        """Compiles; False where zbc says in words that this schedule is not defined here."""
        process = self.suite.run("zbc", *self.command(name, ranks, schedule, arguments))
        if process.returncode == 0:
            return True
        told = process.returncode == 2 and process.stderr.startswith("zbc: error: ") and "\n  hint: " in process.stderr
        self.suite.check(told, f"{self.name} {name}: exit {process.returncode}, {process.stderr[-2000:]}")
        if SIMULATED_ONLY in process.stderr:
            self.simulated_only.add(schedule.split(":")[0])
        return False

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

    def plan(self, ranks, schedule, arguments):
        name = plan_name(ranks, schedule, arguments)
        try:
            if not self.defined(name, ranks, schedule, arguments):
                return
            for threads in (1, 2) if self.micro_batches == 8 and ranks == 4 and not arguments else (1,):
                self.same(f"{name} on {threads} threads", self.train(name, STEPS, "--threads", threads))
            self.trained.add(schedule.split(":")[0])
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
            self.suite.check([row["step"] for row in after] == list(range(STEPS, 2 * STEPS)),
                             f"{self.name}: steps after a resume")
            self.same(f"{first}, then {second}", (losses(before + after), common.read_checkpoint(resumed)), whole)
        except common.Failure as failure:
            self.suite.check(False, f"{self.name} {first}, then {second}: {failure}")


def main():
    options = common.arguments(__doc__, ("--quick", dict(action="store_true")), ("--all", dict(action="store_true")))
    suite = common.Suite(options.bin)
    graphs = ("gpt2-small",) if options.quick else ("gpt2-small", "llama-small")
    names, trained, simulated_only = schedules(suite), set(), set()
    with common.scratch() as folder:
        for i, graph in enumerate(graphs):
            for j, micro_batches in enumerate((3, 8) if options.quick else (1, 3, 8)):
                before = suite.passed, suite.failed
                group = Group(suite, folder, graph, micro_batches)
                common.run_parallel([lambda p=p: group.plan(*p)
                                     for p in plans(names, micro_batches, None if options.all else i + j)],
                                    options.jobs)
                if micro_batches == 8:
                    common.run_parallel([lambda n=n: group.simulated(n) for n in SIMULATED], options.jobs)
                    for first, second in RESUMED:
                        group.resumed(first, second)
                trained |= group.trained
                simulated_only |= group.simulated_only
                print(f"{group.name}: {suite.passed - before[0]} passed, {suite.failed - before[1]} failed", flush=True)
    for name in names:
        suite.check((name in trained) != (name in simulated_only), f"{name} trained nowhere")
    print(f"trained: {' '.join(n for n in names if n in trained)}; simulated only: "
          f"{' '.join(sorted(simulated_only)) or 'none'}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
