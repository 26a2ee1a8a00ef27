#!/usr/bin/env python3
"""The bits that training gives, as one hash, to compare two versions of zbc: losses, saved weights and optimizer state
of 2 graphs, 4 schedules, 1, 2 and 4 ranks, f32 and bf16, over threads, TCP and MPI.

    bits.py [--bin BUILD/bin] [--steps 3] [--quick]

One line a case, then "N cases, HASH". The hash of two versions is the same if each case trains to the same bytes. Over
MPI nothing is run where there is no mpirun. --quick: one graph, one schedule.
"""
import argparse
import hashlib
import os
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
import common
import processes

GRAPHS = ("gpt2-small", "llama-small")
SCHEDULES = ("1f1b", "zb-h1", "zb-v", "fthenb")


def compiled(suite, folder, graph, schedule, ranks, precision):
    """The plan; None where the schedule is not defined for so few ranks."""
    plan = os.path.join(folder, "plan")
    arguments = [os.path.join(common.DATA, graph + ".onnx"), "-o", plan, "--ranks", ranks, "--schedule", schedule,
                 "--micro-batches", 8, "--precision", precision]
    return plan if suite.run("zbc", *arguments).returncode == 0 else None


def trained(suite, plan, out, launcher, ranks, steps):
    """The hash of the losses and of what was saved."""
    shutil.rmtree(out, ignore_errors=True)
    words = [plan, "--data", "text:" + common.CORPUS, "--steps", str(steps), "--save", out, "--json"]
    if launcher:
        done = processes.launched(suite, launcher, ranks, *words)
    else:
        done = suite.run("zb-run", *words)
    if done.returncode:
        sys.exit(f"{plan}: {done.stderr}")
    losses = [repr(row["loss"]) for row in common.json_lines(done.stdout) if "loss" in row]
    assert len(losses) >= steps, done.stdout
    found = hashlib.sha256(" ".join(losses).encode())
    for kind, tensors in sorted(processes.read_saved(out).items()):
        for name, (dtype, shape, data) in sorted(tensors.items()):
            found.update(f"{kind} {name} {dtype} {shape}".encode() + data)
    return found.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    o = parser.parse_args()
    suite, total, cases = common.Suite(o.bin), hashlib.sha256(), 0
    over = {"threads": None, "tcp": processes.LAUNCHERS["tcp"]}
    if shutil.which("mpirun"):
        over["mpi"] = processes.LAUNCHERS["mpi"]
    with tempfile.TemporaryDirectory() as folder:
        for graph in GRAPHS[:1] if o.quick else GRAPHS:
            for schedule in SCHEDULES[:1] if o.quick else SCHEDULES:
                for ranks in (1, 2, 4):
                    for precision in ("f32", "bf16"):
                        plan = compiled(suite, folder, graph, schedule, ranks, precision)
                        for name, launcher in over.items():
                            case = f"{graph} {schedule} {ranks} {precision} {name}"
                            found = "not defined"
                            if plan:
                                found = trained(suite, plan, os.path.join(folder, "out"), launcher, ranks, o.steps)
                            total.update(f"{case} {found}".encode())
                            cases += 1
                            print(f"{case:40s} {found[:16]}", flush=True)
    print(f"{cases} cases, {total.hexdigest()}")


if __name__ == "__main__":
    main()
