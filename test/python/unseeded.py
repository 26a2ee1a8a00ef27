#!/usr/bin/env python3
"""A module without a seed, compiled by each process: all begin with the values of process 0, as those of PyTorch's
DistributedDataParallel do; other programs are refused with what differs. Sessions and zb.torch.pipeline.

    unseeded.py [BUILD]

Needs PyTorch, and prints that it is left out where there is none. Ends with "N passed, N failed".
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tools/python", "test/e2e", "test/python")]
import common  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

STEPS = 3


def model(seed, width=6):
    """Parameters, running statistics, and constants, in and beside the plan, that are all drawn."""
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(4 if i == 0 else width, width) for i in range(4))
            self.norm = torch.nn.BatchNorm1d(width)
            self.norm.running_mean.uniform_(-1, 1)
            self.noise = torch.randn(width)
            self.register_buffer("table", torch.randn(100, width))
            self.register_buffer("mask", torch.rand(width) > 0.3)

        def forward(self, x):
            for i, layer in enumerate(self.layers):
                x = torch.tanh(layer(x))
                x = self.norm(x) if i == 1 else x
            return (torch.where(self.mask, x, x * 2) + self.noise - self.table.mean(0)).pow(2).mean()

    torch.manual_seed(seed)
    return Model()


def batch():
    return torch.arange(32.0).reshape(8, 4).sin()


def compiled(seed, **options):
    import zb
    module = model(seed, options.pop("width", 6))
    return module, zb.compile(module, (batch()[:4],), **{"ranks": 2, "micro_batches": 2, "optimizer": "sgd:lr=0.1",
                                                         **options})


def digest(values):
    return {name: float(value.double().abs().sum()) for name, value in sorted(values.items())}


def child(scenario):
    """One process; a line of JSON at its end."""
    import zb
    process = int(next(value for value in map(os.environ.get, ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"))
                       if value))
    said = {"process": process}
    options = {"ranks": {"micro_batches": 2 + process}, "width": {"width": 6 + process}}.get(scenario, {})
    try:
        module, plan = compiled(process, **options)
        if scenario == "pipeline":
            import zb.torch
            torch.distributed.init_process_group("gloo")
            pipeline = zb.torch.pipeline(module, plan)
            optimizer = torch.optim.SGD(pipeline.parameters(), lr=0.1)
            said["losses"] = []
            for _ in range(STEPS):
                said["losses"].append(pipeline.step(batch()).item())
                optimizer.step()
                optimizer.zero_grad()
        else:
            with zb.Session(plan, timeout_ms=20000) as run:
                said["notes"] = run.notes
                said["losses"] = [run.step((batch(),)).loss for _ in range(STEPS)]
                said["values"] = digest(run.state_dict())
    except zb.Error as error:
        said["error"] = str(error)
    print(json.dumps(said), flush=True)


def started(launcher, scenario, build):
    command = [*launcher.command(2), sys.executable, os.path.abspath(__file__), build, "--child", scenario]
    done = subprocess.run(command, capture_output=True, text=True, timeout=common.patience(240),
                          env=dict(launcher.environment, ZB_LIBRARY=os.path.join(build, "lib")))
    rows, at = [], done.stdout.find("{")
    while at >= 0:  # a launcher may put two on a line
        row, end = json.JSONDecoder().raw_decode(done.stdout, at)
        rows.append(row)
        at = done.stdout.find("{", end)
    return sorted(rows, key=lambda row: row["process"]), done.stderr


def check(suite, launcher, build):
    import zb
    with zb.Session(compiled(0)[1]) as run:
        wanted = [run.step((batch(),)).loss for _ in range(STEPS)]
        values = digest(run.state_dict())
    with zb.Session(compiled(1)[1]) as run:
        suite.check(run.step((batch(),)).loss != wanted[0], "another seed is another loss")
    rows, errors = started(launcher, "session", build)
    suite.check([row.get("losses") for row in rows] == [wanted] * 2, "%s: losses of process 0 alone, %s: %s %s" %
                (launcher.name, wanted, rows, errors[-1000:] if len(rows) < 2 else ""))
    suite.check(rows and rows[0].get("values") == values, "%s: and its weights: %s, %s" % (launcher.name, values, rows))
    suite.check(rows and any("begin with those of process 0" in note for note in rows[0].get("notes", [])), "a note")
    for scenario, words in (("ranks", "micro_batches is '2' in process 0 and '3' in process 1"),
                            ("width", "the names and shapes of parameters")):
        rows, errors = started(launcher, scenario, build)
        found = [row.get("error", "") for row in rows]
        suite.check(any(words in text and "the same module" in text for text in found), "%s: '%s' is said: %s %s" %
                    (launcher.name, words, found, errors[-1000:]))
    if launcher.name == "tcp" and torch.distributed.is_available():
        rows, errors = started(launcher, "pipeline", build)
        close = len(rows) == 2 and all("losses" in row and max(abs(a - b) for a, b in zip(row["losses"], wanted)) < 1e-6
                                       for row in rows)
        suite.check(close, "zb.torch.pipeline: losses of process 0 alone, %s: %s %s" % (wanted, rows, errors[-2000:]))


class Torchrun:
    """Its variables alone: srun's, which the launcher of test/e2e takes in turn, say nothing to torch.distributed."""
    name = "tcp"

    def __init__(self, other):
        self.environment, self._other = other.environment, other

    def command(self, processes):
        command = self._other.command(processes)
        return [word if word != "srun" else "torchrun" for word in command]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build"))
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if torch is None:
        other = os.environ.get("ZB_PYTHON")
        if other and os.environ.pop("ZB_PYTHON"):
            os.execvp(other, [other, *sys.argv])
        print("ok - unseeded # SKIP no PyTorch; set ZB_PYTHON")
        return 0
    build = os.path.abspath(arguments.build)
    os.environ["ZB_LIBRARY"] = os.path.join(build, "lib")
    torch.set_num_threads(1)
    if arguments.child:
        return child(arguments.child)
    import processes
    suite = common.Suite(os.path.join(build, "bin"))
    check(suite, Torchrun(processes.Tcp()), build)
    mpi = processes.Mpi()
    reason = mpi.reason_to_skip(suite)
    if reason:
        print("mpi was left out: " + reason)
    else:
        check(suite, mpi, build)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
