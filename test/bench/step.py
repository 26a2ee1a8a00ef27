#!/usr/bin/env python3
"""Step times of zb-run and of PyTorch on the same graphs, one table a graph; called by step.sh, which makes the graphs.

    step.py --cache FOLDER [--bin BUILD/bin] [--python PYTHON] [--steps 10] [--rounds 3]
            [--graphs gpt2,llama,gpt2-large] [--costs]

Everything of a graph is measured in turn, --rounds times, and the best median counts: so that a busy moment of the
machine does not meet one side only. Ratio: PyTorch's best time by this one (above 1: zb-run is faster). Then where the
time of zb-run's ranks goes. --costs: every plan of several ranks also as zbc makes it with the costs that zb-run
--profile measured of it, which evens out the stages.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
# name: family, options of tools/models.py. step.sh exports each once to CACHE/name.onnx.
GRAPHS = {
    "gpt2": ("gpt2", dict(layers=8, dim=128, heads=4, seq=128, batch=4)),
    "llama": ("llama", dict(layers=8, dim=128, heads=4, seq=128, batch=4)),
    "gpt2-large": ("gpt2", dict(layers=8, dim=512, heads=8, seq=256, batch=4)),
}
PLANS = [(1, 2, "1f1b"), (2, 1, "1f1b"), (2, 1, "zb-h1"), (2, 1, "search"), (4, 1, "1f1b"), (4, 1, "zb-h1")]
MICRO_BATCHES = 8


def run(command):
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if process.returncode == 77:
        print(process.stderr.strip())
        return []
    if process.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}: exit {process.returncode}\n{process.stderr[-2000:]}")
    return [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]


def model_options(options):
    return [word for name, value in options.items() for word in ("--" + name, value)]


class Measurement:
    def __init__(self, o, graph, folder):
        self.o, self.graph, self.folder = o, graph, folder
        self.family, self.model = GRAPHS[graph]
        self.times, self.profiles = {}, {}

    def note(self, name, seconds):
        self.times[name] = min(seconds, self.times.get(name, seconds))

    def pytorch(self):
        for row in run([self.o.python, os.path.join(HERE, "pytorch.py"), self.family, "--steps", self.o.steps,
                        "--warmup", self.o.warmup, "--micro-batches", MICRO_BATCHES, "--threads", 2,
                        *model_options(self.model)]):
            self.note(f"PyTorch {row['mode']}, 2 threads", row["seconds"])

    def compile(self, folder, ranks, schedule, *options):
        run([os.path.join(self.o.bin, "zbc"), os.path.join(self.o.cache, self.graph + ".onnx"),
             "-o", folder, "--ranks", ranks, "--micro-batches", MICRO_BATCHES,
             "--schedule", schedule, "--json", *options])

    def train(self, folder, threads, *options):
        return run([os.path.join(self.o.bin, "zb-run"), folder,
                    "--data", "text:" + os.path.join(SOURCE, "test", "data", "corpus.txt"), "--steps",
                    self.o.warmup + self.o.steps, "--threads", threads, "--json", *options])

    def plan(self, ranks, threads, schedule, measured=False):
        folder = os.path.join(self.folder, f"{self.graph}-{ranks}-{schedule}")
        if not os.path.exists(folder):
            self.compile(folder, ranks, schedule)
        if measured:
            plain, costs, folder = folder, folder + ".json", folder + "-measured"
            if not os.path.exists(folder):
                self.train(plain, threads, "--profile", costs)
                self.compile(folder, ranks, schedule, "--costs", costs)
        rows = self.train(folder, threads, "--profile-ops")
        name = (f"zb-run {ranks} rank{'s' * (ranks > 1)} x {threads} thread{'s' * (threads > 1)}, "
                f"{schedule}{' measured' * measured}")
        self.note(name, statistics.median(row["seconds"] for row in rows[self.o.warmup:] if "seconds" in row))
        self.profiles[name] = rows[-1]["profile"]

    def print(self):
        peer = min((t for n, t in self.times.items() if n.startswith("PyTorch")), default=None)
        print(f"\n{self.graph}: {' '.join(f'{k} {v}' for k, v in self.model.items())}, "
              f"{MICRO_BATCHES} micro-batches, fp32")
        print(f"  {'':42s} {'step':>10s} {'ratio':>7s}")
        for name, seconds in self.times.items():
            print(f"  {name:42s} {seconds * 1e3:7.1f} ms {f'{peer / seconds:6.2f}x' if peer else '':>7s}")
        print(f"  {'share of ranks x step time':42s} "
              + " ".join(f"{row['category'][:13]:>13s}" for row in next(iter(self.profiles.values()))))
        for name, rows in self.profiles.items():
            print(f"  {name:42s} " + " ".join(f"{row['share'] or 0:13.1%}" for row in rows))
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--bin", default=os.path.join(SOURCE, "build", "bin"))
    parser.add_argument("--python", default=sys.executable, help="one with torch and transformers")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--costs", action="store_true", help="also compile with measured costs")
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--list", action="store_true",
                        help="print the options of tools/export_onnx.py for --graphs, and stop")
    o = parser.parse_args()
    names = o.graphs.split(",")
    for name in names:
        if name not in GRAPHS:
            sys.exit(f"error: unknown graph '{name}'\n  hint: one of {', '.join(GRAPHS)}")
    if o.list:
        for name in names:
            print(GRAPHS[name][0], os.path.join(o.cache, name + ".onnx"), *model_options(GRAPHS[name][1]))
        return
    with tempfile.TemporaryDirectory(prefix="zb-step-") as folder:
        for name in names:
            m = Measurement(o, name, folder)
            for _ in range(o.rounds):
                m.pytorch()
                for plan in PLANS:
                    m.plan(*plan)
                    if o.costs and plan[0] > 1:
                        m.plan(*plan, measured=True)
            m.print()


if __name__ == "__main__":
    main()
