#!/usr/bin/env python3
"""Step time from Python against zb-run's: the same plan, the same rows, in turn.

    python.py [BUILD] [--model FILE.onnx|gpt2-124m] [--ranks 2] [--micro-batches 8] [--steps 20] [--rounds 3]

The time of Python is that of the whole call of run.step() on a batch in memory; that of zb-run is its own, from the end
of one step to the end of the next. Prints the best and the median of all steps but the first of each round, their
ratios (on a machine that others use, only that of the best means something), and what run.step() takes beside the step
that the session times. gpt2-124m is GPT-2 of transformers with random weights, as a module in memory (1 row of 128
tokens a micro-batch): then it also prints what zb.compile takes, and torch.export of the same module alone, in seconds
of this process's CPUs (user and system) and of the clock. Both ratios come with the machine's load.
"""
import argparse
import array
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "python"))
CORPUS = ROOT / "test" / "data" / "corpus.txt"


def rows(text, step, count, length):
    """Row r of a step begins at ((step * count) + r) * length, as zb-run takes it."""
    x, y = array.array("q"), array.array("q")
    for row in range(step * count, (step + 1) * count):
        start = row * length % (len(text) - length - 1)
        x.extend(text[start:start + length])
        y.extend(text[start + 1:start + length + 1])
    return tuple(memoryview(a).cast("B").cast("q", (count, length)) for a in (x, y))


def of_program(build, plan, steps):
    said = subprocess.run([os.path.join(build, "bin", "zb-run"), str(plan.directory), "--data", "text:%s" % CORPUS,
                           "--steps", str(steps), "--json"], capture_output=True, text=True, check=True).stdout
    found = [json.loads(line) for line in said.splitlines()]
    return [row["seconds"] for row in found[1:]], [row["loss"] for row in found]


def of_python(zb, plan, batches):
    seconds, losses, beside = [], [], []
    with zb.Session(plan) as run:
        for batch in batches:
            begun = time.perf_counter()
            result = run.step(batch)
            seconds.append(time.perf_counter() - begun)
            losses.append(result.loss)
            beside.append(seconds[-1] - result.seconds)
    return seconds[1:], losses, beside[1:]


def timed(what, call):
    """What the call gives; prints its seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    found = call()
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    print("%-24s user %6.2f s, system %6.2f s, clock %6.2f s" %
          (what, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, seconds), flush=True)
    return found


def compile_gpt2(zb, arguments, output):
    import torch
    import transformers

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lm = transformers.GPT2LMHeadModel(transformers.GPT2Config())

        def forward(self, x, y):
            logits = self.lm(input_ids=x, use_cache=False).logits
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())

    torch.manual_seed(0)
    model, tokens = Loss().eval(), torch.zeros((1, 128), dtype=torch.int64)
    timed("torch.export", lambda: torch.export.export(model, (tokens, tokens)))
    return timed("zb.compile", lambda: zb.compile(model, (tokens, tokens), ranks=arguments.ranks, output=output,
                                                  micro_batches=arguments.micro_batches))


def show(what, program, python, beside):
    numbers = []
    for of in (min, statistics.median):
        numbers += [1e3 * of(program), 1e3 * of(python), of(python) / of(program)]
    print("%-6s %9.2f ms %9.2f ms %7.4f %9.2f ms %9.2f ms %7.4f %9.3f ms" %
          (what, *numbers, 1e3 * statistics.median(beside)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build"))
    parser.add_argument("--model", default=str(ROOT / "test" / "data" / "gpt2.onnx"))
    for name, value in (("ranks", 2), ("micro-batches", 8), ("steps", 20), ("rounds", 3)):
        parser.add_argument("--" + name, type=int, default=value)
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    os.environ["ZB_LIBRARY"] = os.path.join(build, "lib")
    import zb
    with tempfile.TemporaryDirectory() as folder:
        print("load %.1f of %d CPUs" % (os.getloadavg()[0], os.cpu_count()))
        output = os.path.join(folder, "plan")
        if arguments.model == "gpt2-124m":
            plan = compile_gpt2(zb, arguments, output)
        else:
            plan = zb.compile(arguments.model, ranks=arguments.ranks, micro_batches=arguments.micro_batches,
                              output=output)
        each, length = plan.inputs[0].shape
        text = CORPUS.read_bytes()
        batches = [rows(text, k, plan.micro_batches * each, length) for k in range(arguments.steps)]
        program, python, beside = [], [], []
        print("%-6s %12s %12s %7s %12s %12s %7s %12s" %
              ("best:", "zb-run", "Python", "ratio", "median:", "Python", "ratio", "beside"))
        for k in range(arguments.rounds):
            seconds, losses = of_program(build, plan, arguments.steps)
            ours, same, more = of_python(zb, plan, batches)
            if losses != same:
                sys.exit("the losses differ: what is timed is not the same")
            program += seconds
            python += ours
            beside += more
            show(k + 1, seconds, ours, more)
        show("all", program, python, beside)


if __name__ == "__main__":
    main()
