#!/usr/bin/env python3
"""Programs on processors that this machine is not, under qemu-user: an AArch64 build (tools/arm64.sh), and with --x86
those of an x86-64 build on one without AVX and on one with AVX2. Plans and orders must be, to the bit, those of the
build --native; losses within 1e-5 of PyTorch's, and of the same bits for every schedule and number of ranks.

usage: emulated.py [BUILD-ARM64] [--x86] [--native BUILD]

Not part of tools/test.sh: what it needs is 90 MB of packages and a build. Ends with "N passed, N failed".
"""
import argparse
import filecmp
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
import common  # noqa: E402

MODELS = ("gpt2-small", "llama-small")
STEPS = 2
PROGRAMS = ("zbc", "zb-opt", "zb-run", "zb-sched")
# Tests of what depends on the processor most: every kernel against the reference, threads, bits of files.
TESTS = ("kernels-fast_math_test", "kernels-fast_norm_test", "kernels-fast_dropout_test",
         "kernels-fast_softmax_test", "kernels-fast_table_test", "runtime-base-threads_test",
         "runtime-base-random_test", "runtime-base-safetensors_test", "passes-schedule-iclr24_test")
# Name, how a program is run, the instruction set that zb-run must name.
ARM64 = ("aarch64", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], "baseline")
X86 = (("x86-64 with SSE2 and SSE3 alone", ["qemu-x86_64", "-cpu", "qemu64"], "baseline"),
       ("x86-64 with AVX2", ["qemu-x86_64", "-cpu", "max"], "avx2"))


def wrap(folder, build, emulator):
    """A folder of programs that run under an emulator."""
    os.makedirs(folder)
    for name in PROGRAMS:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec %s '%s' \"$@\"\n" % (" ".join(emulator), os.path.join(build, "bin", name)))
        os.chmod(path, 0o755)
    return folder


def check_texts(suite, name, emulated, native):
    program = os.path.join(ROOT, "test", "passes", "programs", "mlp.mlir")
    for words in (["zb-opt", "--zb-autodiff", "--zb-split-grad", program],
                  ["zb-sched", "--ranks", "4", "--micro-batches", "8", "--schedule", "all"]):
        suite.check(emulated.must(*words) == native.must(*words), "%s: %s" % (name, " ".join(words)))


def check_model(suite, name, emulated, native, model, work):
    source = os.path.join(common.DATA, model + ".onnx")
    with open(source[:-5] + ".reference.json", encoding="utf-8") as file:
        reference = json.load(file)
    count, wanted, runs = reference["micro_batches"], reference["fp32"]["losses"][:STEPS], []
    for ranks, schedule in ((1, "zb-h1"), (4, "1f1b")):
        words = ["--ranks", str(ranks), "--micro-batches", str(count), "--schedule", schedule, "--optimizer",
                 "adamw:lr=%g,beta1=%g,beta2=%g,eps=%g,weight_decay=%g" %
                 (reference["adamw"]["lr"], *reference["adamw"]["betas"], reference["adamw"]["eps"],
                  reference["adamw"]["weight_decay"])]
        places = [os.path.join(work, "%s-%d-%s" % (model, ranks, side)) for side in ("emulated", "native")]
        emulated.must("zbc", source, "-o", places[0], *words)
        native.must("zbc", source, "-o", places[1], *words)
        different = filecmp.cmpfiles(*places, os.listdir(places[1]), shallow=False)
        suite.check(not different[1] and not different[2], "%s: the plan of %s for %d ranks: %s" %
                    (name, model, ranks, different[1:]))
        runs.append([row["loss"] for row in emulated.train(places[0], STEPS) if "loss" in row])
    suite.check(all(run == runs[0] for run in runs), "%s: bits of %s over schedules: %s" % (name, model, runs))
    error = max(abs(got - right) / abs(right) for got, right in zip(runs[0], wanted))
    suite.check(len(runs[0]) == STEPS and error < 1e-5, "%s: %s: %g from PyTorch" % (name, model, error))
    print("%s: %s: losses of %d steps within %.1e of PyTorch" % (name, model, STEPS, error), flush=True)


def check_isa(suite, name, emulated, work, expected):
    done = emulated.run("zb-run", os.path.join(work, MODELS[0] + "-1-emulated"), "--data", "text:" + common.CORPUS,
                        "--steps", 1)
    found = re.search(r"on cpu \((\w+)\)", done.stdout)
    suite.check(found and found[1] == expected, "%s: instruction set: %s" % (name, done.stdout + done.stderr))


def check_tests(suite, build, emulator):
    done = subprocess.run(["ninja", "-C", build, *TESTS], capture_output=True, text=True)
    if not suite.check(done.returncode == 0, "the tests build: " + done.stdout[-3000:]):
        return
    libraries = "LD_LIBRARY_PATH=" + os.path.join(build, "root", "usr", "lib", "aarch64-linux-gnu")
    for test in TESTS:
        command = [*emulator, "-E", libraries, os.path.join(build, "test", test)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=common.patience(600))
        counts = re.search(r"tests +(\d+) +(\d+) +(\d+) +(\d+)", done.stdout)
        good = done.returncode == 0 and counts and counts[3] == counts[1] and counts[4] == "0"
        suite.check(good, "%s: %s" % (test, (done.stdout + done.stderr)[-2000:]))
        print("%s: %s tests passed" % (test, counts[3] if counts else "no"), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("build", nargs="?", help="of tools/arm64.sh")
    options.add_argument("--x86", action="store_true", help="the native build on older processors, too")
    options.add_argument("--native", default=os.path.join(ROOT, "build"))
    options = options.parse_args()
    native = common.Suite(os.path.join(os.path.abspath(options.native), "bin"))
    suite = common.Suite("")
    machines = [(os.path.abspath(options.build), ARM64)] if options.build else []
    machines += [(os.path.abspath(options.native), row) for row in X86] if options.x86 else []
    for build, (name, emulator, isa) in machines:
        with common.scratch() as work:
            emulated = common.Suite(wrap(os.path.join(work, "bin"), build, emulator))
            check_texts(suite, name, emulated, native)
            for model in MODELS:
                check_model(suite, name, emulated, native, model, work)
            check_isa(suite, name, emulated, work, isa)
        if emulator is ARM64[1]:
            check_tests(suite, build, emulator)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
