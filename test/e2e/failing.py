#!/usr/bin/env python3
"""One call fails: the K-th allocation, or the K-th call on files, of every program, for as many K as there are.

    failing.py [--bin BUILD/bin] [--only memory files kill] [--case NAME ...] [--all] [--points 24] [--seed N]

A library that is preloaded (failing.c) lets the call fail. Out of memory: the program ends with status 4 and says so,
or goes on as if nothing had been (a wish that was refused): never a crash, never another diagnosis. A failed call on
files: status 4, or it did not matter. A kill -9 before a call on files: what was there before is whole, or the new is,
and the next run works and cleans up. After each, no file is damaged and none is left over. Without --all, K is drawn at
random, --points of them a case; the seed is printed. Ends with "N passed, N failed".
"""
import errno
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
import time

import common

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "failing.c")
LIMIT_SECONDS = 60
ERRNOS = (errno.ENOSPC, errno.EIO, errno.EDQUOT)


class Case:
    """A command in a folder of its own. outputs: what it writes there; shared: what it reads. before: what it writes is
    there already, of another run, so that it is replaced. grows: what is written as it goes, with times in it. only:
    what may fail, unless --all is given."""

    def __init__(self, name, words, outputs=(), before=None, reads=False, grows=(), only=("memory", "files", "kill")):
        self.name, self.words, self.outputs, self.before, self.reads = name, words, outputs, before, reads
        self.grows, self.only = grows, only


def contents(path):
    """{name: bytes} of a file or folder; None where there is nothing."""
    if os.path.isdir(path):
        found = {}
        for root, _, names in os.walk(path):
            for name in names:
                with open(os.path.join(root, name), "rb") as file:
                    found[os.path.relpath(os.path.join(root, name), path)] = file.read()
        return found
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return {"": file.read()}


class Bench:
    """Where commands run, and what they must leave."""

    def __init__(self, suite, library, folder):
        self.suite, self.library, self.folder, self.serial, self.lock = suite, library, folder, 0, threading.Lock()

    def place(self):
        with self.lock:
            self.serial += 1
            path = os.path.join(self.folder, f"at-{self.serial}")
        os.makedirs(path)
        return path

    def run(self, case, place, **settings):
        """The process, and the two counters after it. words: {} is the folder of this run."""
        count = place + ".count"
        environment = {**os.environ, "LD_PRELOAD": self.library, "ZB_FAIL_COUNT": count, **settings}
        words = [self.suite.tool(case.words[0]), *(str(word).format(place) for word in case.words[1:])]
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="backslashreplace",
                                  env=environment, timeout=common.patience(LIMIT_SECONDS))
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(words, "none: it did not end", "", "")
        with open(count, "rb") as file:
            counters = struct.unpack("<QQQ", file.read())
        os.unlink(count)
        return done, counters

    def prepare(self, case):
        place = self.place()
        if case.before:
            shutil.copytree(case.before, place, dirs_exist_ok=True)
        return place


def written(case, place):
    return {name: contents(os.path.join(place, name)) for name in case.outputs}


def strangers(case, place, killed=False):
    """What is there beside the outputs. A killed run leaves the temporary file of a single output, under the
    number of its process, for good."""
    return [name for name in sorted(set(os.listdir(place)) - set(case.outputs) - set(case.grows))
            if not (killed and re.search(r"\.(jsonl?|csv|npy)\.tmp\.\d+$", name))]


def same(case, got, wanted):
    """Whether the outputs are those of one of the good runs (a run that was ended may have
    saved its first step, or nothing)."""
    return all(got[name] in [good[name] for good in wanted] for name in case.outputs)


def learn(bench, case, before):
    """The good outputs: those before, those of the whole run, and those of every run that was stopped after a step."""
    place = bench.prepare(case)
    done, counters = bench.run(case, place)
    if done.returncode:
        raise common.Failure(f"{case.name}: exit {done.returncode}\n{done.stderr}")
    return [written(case, place)], [written(case, bench.prepare(case)), *before], counters


def problems_of(case, place, done, good, old, texts, may_leave=False, killed=False):
    found = []
    out = written(case, place)
    # MLIR says in its own words, as of wrong input, what it could not open.
    if done.returncode not in (0, 4) and "could not open input file" not in done.stderr:
        found.append(f"exit {done.returncode}")
    if done.returncode == 4 and not any(re.search(text, done.stderr) for text in texts):
        found.append(f"no '{texts[0]}'")
    if done.returncode == 0 and not same(case, out, good):
        found.append("another output than that of a good run")
    if done.returncode != 0 and not same(case, out, good + old):
        found.append("outputs that are neither old nor new")
    if strangers(case, place, killed) and not may_leave:
        found.append(f"left over: {strangers(case, place, killed)}")
    return found


def report(suite, case, kind, tried, bad):
    for point, found, done in bad[:12]:
        print(f"     {case.name}: {kind} {point}: {'; '.join(found)}\n       "
              + (done.stderr or "").strip()[-600:].replace("\n", "\n       "), flush=True)
    suite.check(not bad, f"{case.name}: {kind}: {len(bad)} of {tried} points")
    print(f"{'ok  ' if not bad else '    '} {case.name}: {kind}: {tried - len(bad)} of {tried} points as they "
          "should be", flush=True)


def choose(options, chance, total):
    points = range(1, total + 1)
    return list(points) if options.all or total <= options.points else sorted(chance.sample(points, options.points))


def sweep(bench, options, case, kind, points, attempt):
    """attempt(point) -> (problems, process)."""
    bad = []

    def one(point):
        found, done = attempt(point)
        if found:
            bad.append((point, found, done))

    common.run_parallel([lambda p=point: one(p) for point in points], options.jobs)
    report(bench.suite, case, kind, len(points), sorted(bad, key=lambda row: str(row[0])))


def memory(bench, options, chance, case, before):
    good, old, (allocations, _, _) = learn(bench, case, before)
    points = [f"{k}{on}" for k in choose(options, chance, allocations) for on in ("", "+")]

    def attempt(point):
        place = bench.prepare(case)
        done, _ = bench.run(case, place, ZB_FAIL_MEMORY=point)
        found = problems_of(case, place, done, good, old, ["[Oo]ut of memory", "Cannot allocate memory",
                                                           "this machine does not give", "no memory for"])
        shutil.rmtree(place)
        return found, done

    sweep(bench, options, case, f"allocation (of {allocations})", points, attempt)


def files(bench, options, chance, case, before):
    good, old, (_, calls, _) = learn(bench, case, before)
    points = [f"{k}:{number}" for k in choose(options, chance, calls)
              for number in (ERRNOS if options.all else [chance.choice(ERRNOS)])]

    def attempt(point):
        place = bench.prepare(case)
        done, (_, _, removes) = bench.run(case, place, ZB_FAIL_FILES=point)
        reason = os.strerror(int(point.split(":")[1]))
        found = problems_of(case, place, done, good, old, [reason], may_leave=True)
        # What could not be removed, or, once the new is in its place, even looked at, goes with the next run.
        if strangers(case, place):
            if not removes and not same(case, written(case, place), good):
                found.append(f"left over: {strangers(case, place)}")
            done, _ = bench.run(case, place)
            found += [f"the next run: {problem}" for problem in problems_of(case, place, done, good, [], [" "])]
        shutil.rmtree(place)
        return found, done

    sweep(bench, options, case, f"call on files (of {calls})", points, attempt)


def kill(bench, options, chance, case, before):
    good, old, (_, calls, _) = learn(bench, case, before)

    def attempt(point):
        place = bench.prepare(case)
        done, _ = bench.run(case, place, ZB_FAIL_FILES=f"{point}:kill")
        found = [] if done.returncode == -9 else [f"exit {done.returncode}"]
        out = written(case, place)
        if not same(case, out, good + old):
            found.append("outputs that are neither old nor new")
        again, _ = bench.run(case, place)
        found += [f"the next run: {problem}"
                  for problem in problems_of(case, place, again, good, [], [" "], killed=True)]
        if again.returncode:
            found.append(f"the next run: exit {again.returncode}: {again.stderr}")
        shutil.rmtree(place)
        return found, done

    sweep(bench, options, case, f"kill -9 before a call on files (of {calls})", choose(options, chance, calls), attempt)


# ---- The cases ----

def make_cases(suite, folder):
    """[(case, outputs that a run which ends early may leave)]."""
    tiny, tokens = os.path.join(common.DATA, "gpt2-tiny.onnx"), os.path.join(folder, "tokens.bin")
    chance = random.Random(7)
    with open(tokens, "wb") as file:
        file.write(struct.pack("<4000H", *(chance.randrange(32) for _ in range(4000))))
    plan, other, half = (os.path.join(folder, name) for name in ("plan", "other", "half"))
    for path, ranks in ((plan, 2), (os.path.join(other, "out"), 1)):
        suite.compile(tiny, path, "--ranks", ranks, "--micro-batches", 2)
    outputs = os.path.join(folder, "outputs")
    suite.compile(os.path.join(common.DATA, "outputs.onnx"), outputs, "--ranks", 2, "--micro-batches", 2,
                  "--keep-output", "logits", "--keep-output", "hidden")
    replicas = os.path.join(folder, "replicas")
    validated = ["--clip-norm", 0.5, "--post-validation", "--sharding", "parameters:step"]
    suite.compile(tiny, replicas, "--ranks", 2, "--micro-batches", 2, "--data-parallel", 2, *validated)
    train = ["zb-run", plan, "--data", f"tokens:{tokens}:u16"]
    suite.must(*train, "--steps", 1, "--save", os.path.join(half, "saved"))
    started = [{"saved": contents(os.path.join(half, "saved"))}]
    problem, costs, order = (os.path.join(folder, name) for name in ("problem.json", "costs.json", "order.csv"))
    scheduled = ["zb-sched", "--schedule", "zb-h1"]
    suite.must(*scheduled, "--ranks", 4, "--micro-batches", 6, "--write-problem", problem, "--csv", order)
    suite.must(*train, "--steps", 4, "--profile", costs)
    text = os.path.join(folder, "ir", "00_zb-canonicalize.mlir")
    suite.must("zbc", tiny, "-o", os.path.join(folder, "ir-out"), "--dump-ir", os.path.dirname(text))
    compile_tiny = ["zbc", tiny, "-o", "{}/out", "--ranks", 2, "--micro-batches", 2]
    return [
        (Case("zbc", compile_tiny, ["out"]), []),
        (Case("zbc over an older plan", compile_tiny, ["out"], before=other), []),
        (Case("zbc with costs", ["zbc", tiny, "-o", "{}/out", "--ranks", 2, "--micro-batches", 2, "--costs", costs],
              ["out"]), []),
        (Case("zbc of MLIR", ["zbc", text, "-o", "{}/out"], ["out"]), []),
        (Case("zb-opt", ["zb-opt", text, "--zb-cse", "--zb-dce"]), []),
        (Case("zb-run", [*train, "--steps", 2, "--save", "{}/saved", "--save-every", 1], ["saved"]), started),
        (Case("zb-run over an older save", [*train, "--steps", 2, "--save", "{}/saved", "--save-every", 1],
              ["saved"], before=half), []),
        (Case("zb-run --resume", [*train, "--steps", 1, "--resume", os.path.join(half, "saved"), "--save", "{}/saved"],
              ["saved"]), []),
        (Case("zb-run with logs", [*train, "--steps", 2, "--save", "{}/saved", "--save-every", 1, "--explain",
                                   "--log", "{}/log.jsonl", "--tensorboard", "{}/board"],
              ["saved"], grows=["log.jsonl", "board"]), started),
        (Case("zb-run with outputs", ["zb-run", outputs, "--eval", "text:" + common.CORPUS, "--eval-steps", 2,
                                      "--output", "logits:{}/logits.npy", "--output", "hidden:{}/hidden.npy"],
              ["logits.npy", "hidden.npy"]), []),
        (Case("zbc with recompute", ["zbc", tiny, "-o", "{}/out", "--ranks", 2, "--micro-batches", 2, "--recompute",
                                     "auto", "--memory-limit", 200000], ["out"],
              only=("memory",)), []), # seconds each; its calls on files are those of a compile without it
        (Case("zb-run --print-plan", ["zb-run", plan, "--print-plan"]), []),
        (Case("zb-sched of a problem",
              [*scheduled, "--problem", problem, "--write-problem", "{}/problem.json", "--csv", "{}/order.csv"],
              ["problem.json", "order.csv"]), []),
        (Case("zb-sched of an order", ["zb-sched", "--problem", problem, "--order", order]), []),
        (Case("zb-sched --explain", [*scheduled, "--problem", problem, "--explain"]), []),
        (Case("zb-sched with costs", [*scheduled, "--costs", costs]), []),
        (Case("zb-sched --layout", ["zb-sched", "--layout", "Et*3|(tt|)*4m|L", "--ranks", 7]), []),
        (Case("zb-sched --groups", ["zb-sched", "--groups", "tp2-pp4", "--world", 16, "--json"]), []),
        (Case("zbc with replicas, clipping and post-validation",
              ["zbc", tiny, "-o", "{}/out", "--ranks", 2, "--micro-batches", 2, "--data-parallel", 2, *validated],
              ["out"]), []),
        (Case("zb-run with replicas, clipping and post-validation",
              ["zb-run", replicas, "--data", f"tokens:{tokens}:u16", "--steps", 2, "--save", "{}/saved"], ["saved"]),
         []),
        (Case("zbc --inference", ["zbc", os.path.join(common.DATA, "outputs.onnx"), "-o", "{}/out", "--ranks", 2,
                                  "--inference"], ["out"]), []),
        (Case("zbc with a layout", ["zbc", tiny, "-o", "{}/out", "--layout", "Et|tL"], ["out"]), []),
    ]


def build_library(folder):
    library = os.path.join(folder, "failing.so")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", SOURCE, "-o", library, "-ldl"], check=True)
    return library


KINDS = {"memory": memory, "files": files, "kill": kill}


def main():
    options = common.arguments(__doc__, ("--only", dict(choices=KINDS, nargs="+", default=list(KINDS))),
                               ("--case", dict(nargs="+")), ("--all", dict(action="store_true")),
                               ("--points", dict(type=int, default=6)), ("--seed", dict(type=int)))
    suite, seed = common.Suite(options.bin), options.seed or int(time.time())
    with open(suite.tool("zb-run"), "rb") as file:
        if b"__asan_init" in file.read():
            print("skip: a sanitizer has its own allocator\n0 passed, 0 failed, 1 skipped")
            return 0
    print(f"--seed {seed}", flush=True)
    with common.scratch() as folder:
        bench = Bench(suite, build_library(folder), folder)
        for case, before in make_cases(suite, folder):
            if options.case and case.name not in options.case:
                continue
            for kind in options.only:
                if (kind == "memory" or case.outputs) and (options.all or kind in case.only):
                    KINDS[kind](bench, options, random.Random(f"{seed} {kind} {case.name}"), case, before)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
