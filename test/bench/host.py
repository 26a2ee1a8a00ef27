#!/usr/bin/env python3
"""What the interpreter itself costs: CPU time a job of a step without kernels, on the sim
device, one thread for all ranks.

    host.py [--bin BUILD/bin] [--steps 5] [--json]

The plans are of a GPT-2 whose layers are tiny (gpt.py), one a rank. The time is the user and system time of two runs
that differ in their steps only, so that starting, reading and verifying the plan does not count; the aim is at most 2
us a job. Only the standard library.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
AIM_US = 2.0
JOBS_LEAST = 2000000 # a run: shorter ones cannot be told from noise
CASES = ((4, 32, "zb-h1"), (16, 128, "zb-h1"), (64, 512, "1f1b"), (64, 512, "zb-h1"), (64, 512, "zb-v"))


def must(*command):
    process = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if process.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}: exit {process.returncode}\n{process.stderr}")
    return process.stdout


def cpu_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    must(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(tool, folder, ranks, micro_batches, schedule, steps):
    graph, plan = os.path.join(folder, f"{ranks}.mlir"), os.path.join(folder, f"{ranks}-{micro_batches}-{schedule}")
    layers = 2 * ranks if schedule == "zb-v" else ranks
    must(sys.executable, os.path.join(HERE, "gpt.py"), "--layers", layers, "--dim", 8, "--heads", 1, "--seq", 8,
         "--batch", 1, "--vocab", 32, graph)
    must(tool("zbc"), graph, "-o", plan, "--ranks", ranks, "--micro-batches", micro_batches, "--schedule", schedule)
    text = must(tool("zb-run"), plan, "--print-plan")
    jobs = sum(int(count.replace(",", "")) for count in re.findall(r"^rank \d+: ([\d,]+) jobs", text, re.M))
    steps = max(steps, JOBS_LEAST // jobs)
    run = (tool("zb-run"), plan, "--device", "sim", "--no-kernels", "--quiet", "--steps")
    seconds = min(cpu_seconds(*run, steps + 1) - cpu_seconds(*run, 1) for _ in range(3)) / steps
    return {"ranks": ranks, "micro_batches": micro_batches, "schedule": schedule, "jobs": jobs,
            "step_ms": 1e3 * seconds, "us_a_job": 1e6 * seconds / jobs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(HERE, "..", "..", "build", "bin"))
    parser.add_argument("--steps", type=int, default=5, help="at least; more where a step has few jobs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    slow = False
    if not options.json:
        print("ranks  micro-batches  schedule      jobs a step   ms a step   us a job")
    with tempfile.TemporaryDirectory(prefix="zb-host-") as folder:
        for case in CASES:
            row = measure(lambda name: os.path.join(options.bin, name), folder, *case, options.steps)
            slow |= row["us_a_job"] > AIM_US
            if options.json:
                print(json.dumps(row), flush=True)
            else:
                print(f"{row['ranks']:5}  {row['micro_batches']:13}  {row['schedule']:12}  {row['jobs']:11,}  "
                      f"{row['step_ms']:10.2f}  {row['us_a_job']:9.3f}", flush=True)
    if not options.json:
        print(f"aim: at most {AIM_US:g} us a job{', which is missed' if slow else ''}")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
