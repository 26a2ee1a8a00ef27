#!/usr/bin/env python3
"""What two builds of zbc decide, beside each other: the step, and the work to find it.

    decide.py BIN_A BIN_B [--only GROUP,...] [--count 300] [--seed 38] [--by time|perf|valgrind|pipelines]
              [--keep FILE] [--reuse FILE] [--folder DIR]

  sweep      the rows of test/passes/schedule/sweep.json (zb-sched)
  split      settings of test/e2e/split.py
  recompute  settings of test/e2e/recompute.py
  joint      the models and limits of joint.py, without and with --recompute auto
  limits     --count settings of test/e2e/monotone.py, each within one limit
  named      what took longest once

Limits are on the ladder that zbc rounds them to, and drawn between what the default schedule needs and half of that.
A row a setting: the step of each by its metric (none: no plan keeps the limit), the work of each and its ratio; then
the geometric mean, the worst, and what takes most of the work, a group. Work is seconds of user time (where B takes
more, both run again, and the least counts), instructions as perf or valgrind count them (exact, in 15 times the time),
or how often the pipeline of passes runs, by gdb. Fails where a step of B is longer than that of A. --keep writes a JSON
row a setting; --reuse takes what A made from such a file. --folder: where models are written, and stay.
"""
import argparse
import itertools
import json
import math
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import common  # noqa: E402
import joint  # noqa: E402
import monotone  # noqa: E402
import recompute  # noqa: E402

AGAIN, MUCH = 3, 1.03  # how often both run again where B takes so much more than A
LEAST = 0.03  # seconds: what starting and ending may take
COUNTERS = {"time": [], "perf": ["perf", "stat", "-x,", "-e", "instructions:u"],
            "valgrind": ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"],
            "pipelines": ["gdb", "-batch", "-nx", "-ex", "break zb_pipeline_run", "-ex", "ignore 1 1000000000",
                          "-ex", "run", "-ex", "info breakpoints", "--args"]}
COUNT = re.compile(r"^(\d+),.*instructions|I +refs: +([\d,]+)|already hit (\d+) time", re.M)
NAMED = (["--memory-limit", "700K", "--recompute", "auto"], ["--data-parallel", "2", "--tensor-parallel", "2"],
         ["--data-parallel", "2", "--tensor-parallel", "2", "--recompute", "auto", "--memory-limit", "1M"])


def data(name):
    return os.path.join(common.DATA, name + ".onnx")


class Rows:
    """(group, tool, arguments, metric); limits are of what BIN_A needs."""

    def __init__(self, options, folder):
        self.suite, self.folder, self.count, self.seed = common.Suite(options.a), folder, options.count, options.seed
        self.chance = random.Random(options.seed)

    def compile(self, group, model, arguments, metric="barrier", limited=True):
        """Within a limit that is drawn, or none."""
        words = [str(word) for word in arguments] + (["--metric", metric] if metric != "barrier" else [])
        most = monotone.needed(self.suite, model, words, os.path.join(self.folder, "needed")) if limited else 0
        if most:
            words += ["--memory-limit", str(monotone.rung(most * self.chance.uniform(0.5, 1.05)))]
        return group, "zbc", [model, *words], metric

    def sweep(self):
        with open(os.path.join(os.path.dirname(HERE), "passes", "schedule", "sweep.json")) as file:
            known = json.load(file)["settings"]
        for setting, placement in itertools.product(known, ("plain", "v")):
            costs = "f={f},b={b},w={w},comm={comm},mem=1,mem_w={memory_ratio}".format(**setting)
            for row in setting.get(placement, ()):
                for metric in ("stage",) if placement == "plain" else ("barrier", "stage"):
                    yield "sweep", "zb-sched", [
                        "--schedule", "search", "--placement", placement, "--ranks", str(setting["ranks"]),
                        "--micro-batches", str(setting["micro_batches"]), "--metric", metric, "--costs", costs,
                        "--memory-limit", f"{row[placement == 'v']}p"], metric

    def split(self):
        for name, ranks, micro_batches in itertools.product(("gpt2", "llama-small"), (2, 4, 8), (8, 16)):
            for schedule, split in (("1f1b", "all"), ("zb-h1", "all"), ("zb-h1", "auto")):
                if name == "gpt2" or ranks < 8:
                    yield self.compile("split", data(name), ["--ranks", ranks, "--micro-batches", micro_batches,
                                                             "--schedule", schedule, "--split", split], limited=False)
        for schedule, ranks in (("zb-h1", 4), ("1f1b", 2), ("zb-v", 2), ("zb", 4), ("search:budget=200", 3)):
            for split in ("all", "products", "none", "auto"):
                words = ["--ranks", ranks, "--micro-batches", 6, "--schedule", schedule, "--split", split]
                if schedule.startswith("search"):
                    words += ["--placement", "plain"]
                yield self.compile("split", data(self.chance.choice(("gpt2-small", "llama-small"))), words)
        for name, schedule, ranks in (("gpt2-tiny", "zb", 3), ("llama-tiny", "zb-v-auto", 2), ("llama-tiny", "zb", 2),
                                      ("gpt2-tiny", "adaptive-v", 3)):
            for _ in range(4):
                yield self.compile("split", data(name), ["--ranks", ranks, "--micro-batches", 6, "--schedule", schedule,
                                                         "--split", "all"])

    def recompute(self):
        draw = self.chance
        for number, (schedule, *layout) in enumerate(recompute.AUTO * 4):
            ranks, model = draw.randint(1, 4), os.path.join(self.folder, f"recompute-{number}.mlir")
            recompute.write_model(model, draw.randint(2 * ranks, 4 * ranks), draw.choice((64, 96, 256)),
                                  draw.choice((16, 48)))
            yield self.compile("recompute", model, [
                "--ranks", ranks, "--micro-batches", draw.randint(max(2, ranks), 8), "--schedule", schedule, *layout,
                "--precision", draw.choice(("f32", "bf16")), "--split", draw.choice(("auto", "products", "all")),
                "--recompute", "auto"], draw.choice(("barrier", "period")))

    def joint(self):
        for number in range(9):
            draw, model = random.Random(number), os.path.join(self.folder, f"joint-{number}.mlir")
            ranks, micro_batches = draw.choice((3, 4, 6)), draw.choice((6, 8, 12))
            with open(model, "w") as file:
                file.write(joint.KINDS[number % len(joint.KINDS)][1](draw, ranks))
            for again in ("none", "auto"):
                yield self.compile("joint", model, ["--ranks", ranks, "--micro-batches", micro_batches, "--schedule",
                                                    "search", "--recompute", again])

    def limits(self):
        for number, model, words, metric in monotone.settings(self.suite, self.seed, 0, self.count):
            most = monotone.needed(self.suite, model, words, os.path.join(self.folder, "needed"))
            share = random.Random(f"{self.seed} {number}").uniform(0.5, 1.05)
            if most:
                yield "limits", "zbc", [model, *words, "--memory-limit", str(monotone.rung(most * share))], metric

    def named(self):
        for words in NAMED:
            yield self.compile("named", data("gpt2-small"), ["--ranks", 2, "--micro-batches", 4, "--schedule", "search",
                                                             *words], limited=False)


GROUPS = ("sweep", "split", "recompute", "joint", "limits", "named")


def measured(command, by):
    """(the summary, None: no plan, the work)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(COUNTERS[by] + command, capture_output=True, text=True)
    work = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    if by != "time":
        work = int(re.sub(",", "", next(filter(None, COUNT.search(done.stderr + done.stdout).groups()))))
    if done.returncode not in (0, 1, 2, 3):
        sys.exit(f"error: {' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    found = re.search(r"^\{.*\}$", done.stdout, re.M)
    return json.loads(found.group()) if found else None, work


def step_of(summary, metric, tool):
    if summary is None:
        return math.inf
    if tool == "zb-sched":
        return summary["stage_time" if metric == "stage" else "time"]
    return monotone.step_of(summary, metric)


class Table:
    def __init__(self, options, folder):
        self.options, self.folder, self.rows, self.known = options, folder, [], {}
        if options.reuse:
            with open(options.reuse) as file:
                self.known = {row["words"]: (row["steps"][0], row["work"][0]) for row in map(json.loads, file)}

    def run(self, folder, tool, arguments, metric):
        """(step, work)"""
        words = ["-o", os.path.join(self.folder, "plan")] if tool == "zbc" else []
        summary, work = measured([os.path.join(folder, tool), *arguments, *words, "--json"], self.options.by)
        return step_of(summary, metric, tool), work

    def row(self, group, tool, arguments, metric):
        words = " ".join([tool, *arguments]).replace(common.SOURCE + "/", "").replace(self.folder + "/", "")
        a, b = ([folder, tool, arguments, metric] for folder in (self.options.a, self.options.b))
        (step_a, work_a), (step_b, work_b) = self.known.get(words) or self.run(*a), self.run(*b)
        for _ in range(AGAIN if self.options.by == "time" else 0):
            if work_b > max(MUCH * work_a, LEAST):
                work_a, work_b = min(work_a, self.run(*a)[1]), min(work_b, self.run(*b)[1])
        row = {"group": group, "words": words, "steps": [step_a, step_b], "work": [work_a, work_b],
               "worse": step_b > step_a * (1 + 1e-12), "better": step_b < step_a * (1 - 1e-12)}
        self.rows.append(row)
        print(self.line(row), flush=True)

    @staticmethod
    def line(row):
        mark = "WORSE" if row["worse"] else "better" if row["better"] else ""
        return "%-9s %12.6g %12.6g %-6s %10.4g %10.4g %6.2f  %s" % (
            row["group"], *row["steps"], mark, *row["work"], ratio(row), row["words"])

    def report(self):
        for group in (*dict.fromkeys(row["group"] for row in self.rows), "all"):
            rows = [row for row in self.rows if group in ("all", row["group"])]
            total = [sum(row["work"][i] for row in rows) for i in (0, 1)]
            mean = math.exp(sum(math.log(ratio(row)) for row in rows) / len(rows))
            print("%-9s %4d rows: %d worse, %d better; work %.4g, %.4g, ratio %.3f, geometric mean %.3f, worst %.2f" %
                  (group, len(rows), sum(r["worse"] for r in rows), sum(r["better"] for r in rows), *total,
                   total[1] / total[0], mean, max(map(ratio, rows))))
        for title, key in (("most work of B", lambda row: row["work"][1]), ("worst ratios", ratio)):
            print("\n" + title)
            for row in sorted(self.rows, key=key, reverse=True)[:25]:
                print(self.line(row))
        print("\nlonger steps")
        for row in self.rows:
            if row["worse"]:
                print(self.line(row))
        return 1 if any(row["worse"] for row in self.rows) else 0


def ratio(row):
    a, b = (max(work, LEAST) for work in row["work"])
    return b / a


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", metavar="BIN_A")
    parser.add_argument("b", metavar="BIN_B")
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=38)
    parser.add_argument("--by", default="time", choices=COUNTERS)
    parser.add_argument("--keep")
    parser.add_argument("--reuse")
    parser.add_argument("--folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        rows, table = Rows(options, folder), Table(options, folder)
        try:
            for group in options.only.split(","):
                for row in getattr(rows, group)():
                    table.row(*row)
        except KeyboardInterrupt:
            print("stopped")
    if options.keep:
        with open(options.keep, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in table.rows)
    sys.exit(table.report())


if __name__ == "__main__":
    main()
