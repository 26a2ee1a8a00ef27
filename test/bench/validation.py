#!/usr/bin/env python3
"""What post-validation gains and costs at the 12 settings that the zero-bubble paper published, on the device sim.

    validation.py [--bin BUILD/bin] [--schedules zb-2p ...] [--rate 1.6e12]

Each setting is a plan of its own, of a small model with as many equal stages, whose times are those of the paper: F, B
and W of a stage, and each message. What the optimizer takes, which the paper does not say, is what moving its bytes
takes at --rate bytes a second: of each parameter 4 bytes for its square, 30 for AdamW with bf16 copies, 28 for the
snapshot. The norms are real, so steps are clipped, or not, by the greatest norm that is given.

A row has, of steps in the long run: with a barrier; without one, waiting for the norm; with post-validation where no
step is clipped, and where each is; what is gained on waiting where none is clipped; and the share of clipped steps from
which it costs more than it gains: each adds the same, wherever it is. Not part of the tests.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

# Tables 3 and 5 of arXiv 2401.10241: model, ranks, micro-batches, layers, hidden, ms of F, B, W and a message.
SETTINGS = (
    ("1.5B", 8, 24, 22, 2304, 18.522, 18.086, 9.337, 0.601),
    ("1.5B", 8, 32, 22, 2304, 18.513, 18.086, 9.331, 0.626),
    ("1.5B", 8, 64, 22, 2304, 18.546, 18.097, 9.321, 0.762),
    ("6.2B", 8, 24, 30, 4096, 29.718, 29.444, 19.927, 0.527),
    ("6.2B", 8, 32, 30, 4096, 29.802, 29.428, 19.53, 0.577),
    ("6.2B", 8, 64, 30, 4096, 29.935, 29.621, 19.388, 0.535),
    ("14.6B", 16, 48, 46, 5120, 11.347, 11.248, 8.132, 0.377),
    ("14.6B", 16, 64, 46, 5120, 11.307, 11.254, 8.101, 0.379),
    ("14.6B", 16, 128, 46, 5120, 11.325, 11.308, 8.109, 0.378),
    ("28.3B", 32, 96, 62, 6144, 10.419, 10.207, 7.715, 0.408),
    ("28.3B", 32, 128, 62, 6144, 10.408, 10.204, 7.703, 0.408),
    ("28.3B", 32, 256, 62, 6144, 10.402, 10.248, 7.698, 0.46),
)
VOCABULARY, WIDTH = 256, 8
STEPS, FIRST, LAST = 14, 5, 12
PS = 1e12


def model_text(stages):
    """A chain of equal stages; the cuts are its places c0, c1, ..."""
    tensor, square = f"tensor<1x4x{WIDTH}xf32>", f"tensor<{WIDTH}x{WIDTH}xf32>"
    arguments = [f'%x: tensor<1x4xi64> {{zb.input = "x"}}', f'%y: tensor<1x4xi64> {{zb.input = "y"}}',
                 f'%e: tensor<{VOCABULARY}x{WIDTH}xf32> {{zb.frozen = "e"}}',
                 f'%o: tensor<{WIDTH}x{VOCABULARY}xf32> {{zb.frozen = "o"}}']
    arguments += [f'%w{s}: {square} {{zb.param = "w{s}"}}' for s in range(stages)]
    lines = [f'%h0 = "zb.gather"(%e, %x) {{axis = 0 : i64}} : (tensor<{VOCABULARY}x{WIDTH}xf32>, tensor<1x4xi64>) -> '
             f'{tensor}']
    for s in range(stages):
        lines += [f'%p{s} = "zb.matmul"(%h{s}, %w{s}) : ({tensor}, {square}) -> {tensor}',
                  f'%h{s + 1} = "zb.tanh"(%p{s}) : ({tensor}) -> {tensor} loc("c{s}")']
    logits = f"tensor<1x4x{VOCABULARY}xf32>"
    lines += [f'%z = "zb.matmul"(%h{stages}, %o) : ({tensor}, tensor<{WIDTH}x{VOCABULARY}xf32>) -> {logits}',
              f'%loss, %lse = "zb.cross_entropy"(%z, %y) {{reduction = "mean"}} : ({logits}, tensor<1x4xi64>) -> '
              '(tensor<f32>, tensor<1x4xf32>)', "return %loss : tensor<f32>"]
    body = "\n    ".join(lines)
    return (f'module attributes {{zb.level = "graph"}} {{\n  func.func @model({", ".join(arguments)}) -> '
            f'(tensor<f32> {{zb.loss}}) {{\n    {body}\n  }}\n}}\n')


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, name, *arguments):
        run = subprocess.run([os.path.join(self.options.bin, name), *map(str, arguments)], capture_output=True,
                             text=True)
        if run.returncode:
            sys.exit(f"{name} {arguments}: {run.stderr}")
        return run.stdout

    def compile(self, ranks, micro_batches, schedule, *more):
        with open(self.path("model.mlir"), "w") as file:
            file.write(model_text(ranks))
        cuts = ",".join(f"c{s}" for s in range(ranks - 1))
        self.tool("zbc", self.path("model.mlir"), "-o", self.path("plan"), "--ranks", ranks, "--cuts", cuts,
                  "--micro-batches", micro_batches, "--schedule", schedule, *more)
        return self.path("plan")

    def steps(self, plan, *more):
        """Seconds of a step in the long run."""
        text = self.tool("zb-run", plan, "--device", "sim", "--data", "text:" + self.options.corpus, "--steps", STEPS,
                         "--json", *more)
        rows = [row["seconds"] for row in map(json.loads, text.splitlines()) if "step" in row]
        return sum(rows[FIRST:LAST]) / (LAST - FIRST)

    def costs(self, setting):
        """A file of costs with the times of the setting; those of the optimizer follow from the parameters."""
        _, ranks, micro_batches, layers, hidden, f, b, w, message = setting
        parameters = 12 * hidden * hidden * layers / ranks
        plan = self.compile(ranks, ranks, "1f1b", "--clip-norm", 1)
        self.tool("zb-run", plan, "--device", "sim", "--data", "text:" + self.options.corpus, "--steps", 4,
                  "--profile", self.path("costs.json"))
        with open(self.path("costs.json")) as file:
            costs = json.load(file)
        bytes_of = {"NORM": 4, "UPDATE": 30}
        times = {"F": f * 1e-3, "B": b * 1e-3, "W": w * 1e-3}
        for row in costs["subprograms"]:
            seconds = times.get(row["kind"], bytes_of.get(row["kind"], 0) * parameters / self.options.rate)
            row["time_ps"] = row["first_ps"] = round(seconds * PS)
        costs["link"] = {"latency_ps": round(message * 1e-3 * PS), "ps_per_byte": 0, "copies": False, "wake_ps": 0}
        costs["overheads"] = {"job_ps": 0, "read_ps": 0, "step_ps": 0}
        kept = 3 * 4 * WIDTH * WIDTH  # bytes of the snapshot of a stage here
        costs["rates"] = {"op_ps": 0, "ps_per_byte": 28 * parameters / self.options.rate * PS / kept / 2}
        with open(self.path("costs.json"), "w") as file:
            json.dump(costs, file)
        return self.path("costs.json")

    def row(self, setting, schedule):
        name, ranks, micro_batches = setting[:3]
        made = (ranks, micro_batches, schedule, "--costs", self.costs(setting), "--clip-norm", "inf")
        plan = self.compile(*made)
        barrier, waits = self.steps(plan, "--barrier"), self.steps(plan)
        plan = self.compile(*made, "--post-validation")
        none, each = self.steps(plan), self.steps(plan, "--clip-norm", 1e-12)
        gain, lost = waits - none, each - none
        rate = f"{100 * gain / lost:.0f} %" if 0 < gain < lost else "never" if gain <= 0 else "any"
        print(f"| {name} | {ranks} | {micro_batches} | {schedule} | {1e3 * barrier:.1f} | {1e3 * waits:.1f} | "
              f"{1e3 * none:.1f} | {1e3 * each:.1f} | {100 * gain / waits:+.2f} % | {rate} |", flush=True)
        return waits, none


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(root, "build", "bin"))
    parser.add_argument("--corpus", default=os.path.join(root, "test", "data", "corpus.txt"))
    parser.add_argument("--schedules", nargs="+", default=["zb-2p"])
    parser.add_argument("--rate", type=float, default=1.6e12)
    parser.add_argument("--first", type=int, default=len(SETTINGS), help="only so many settings")
    options = parser.parse_args()
    print("| model | ranks | micro-batches | schedule | barrier, ms | waits, ms | none clipped, ms | "
          "each clipped, ms | gain | costs more from |\n|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        for schedule in options.schedules:
            for setting in SETTINGS[:options.first]:
                bench.row(setting, schedule)


if __name__ == "__main__":
    main()
