#!/usr/bin/env python3
"""Steps without a barrier, and with one: zb-run --barrier.

    overlap.py [--bin BUILD/bin] [--jobs 2] [--only period bits ends processes input]

period: on the sim device, of 24 plans drawn at random, the last ones with post-validation, as many steps as the period
that zbc prints covers take exactly that time, once the ranks have settled, and each step with a barrier takes what zbc
prints; random delays of messages change no more than times. bits: 50 steps are those of a run with barriers, losses
and checkpoints, with saves, evaluations, a resume, clipping, skipped steps, schedules of the rate, dropout, bf16 and
threads. ends: a signal at a random moment ends a run behind a step that its last line, its error and its checkpoint
name, which has the bits of a run of so many steps; a loss that is no number names its step, and leaves the save before
it whole; outputs that cannot be written. processes: the same over TCP, and over MPI where there is one, and a process
that is killed. input: what needs the barrier has it, and wrong words.

Ends with "N passed, N failed, N skipped".
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import common
import evaluation
import processes
import processes_faults

PARTS = ("period", "bits", "ends", "processes", "input")
STEPS = 400  # of sim: until the ranks have settled, and some more


def draw_plan(suite, folder, random_, validates=False):
    """A plan, with its summary: how it was made, and where it is."""
    graph = random_.choice(("gpt2-small", "llama-small"))
    ranks = random_.choice((1, 2, 2, 3, 4, 4))
    schedule = random_.choice(("1f1b", "zb-h1", "zb-h2", "zb", "zb-v", "fthenb", "interleaved-1f1b",
                               "search:budget=50"))
    more = ["--metric", "period", "--micro-batches", random_.choice((ranks, 2 * ranks, 3 * ranks))]
    if random_.random() < 0.3 or validates:
        more += ["--clip-norm", 1, *(("--post-validation",) if validates else ())]
    words = (graph, "--ranks", ranks, "--schedule", schedule, *more)
    out = os.path.join(folder, "drawn")
    return words, out, suite.compile(os.path.join(common.DATA, graph + ".onnx"), out, *words[1:])


def virtual_steps(suite, plan, steps, *more):
    """The times of steps in ps."""
    out = suite.must("zb-run", plan, "--device", "sim", "--no-kernels", "--steps", steps, "--json", *more)
    rows = [row for row in common.json_lines(out) if "step" in row]
    return [round(row["seconds"] * 1e12) for row in rows], rows


def longest_rank(trace):
    """From the first job of a rank to its last, the most of all ranks, in seconds."""
    with open(trace, encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X" and event["tid"] == 0]
    ranks = {event["pid"] for event in events}
    spans = [[event for event in events if event["pid"] == rank] for rank in ranks]
    return 1e-6 * max(max(event["ts"] + event["dur"] for event in rank) - min(event["ts"] for event in rank)
                      for rank in spans)


def period(suite, plans, folder):
    random_ = random.Random(3)
    shorter = 0
    for number in range(24):
        validates = number >= 20
        words, plan, summary = draw_plan(suite, folder, random_, validates)
        trace = os.path.join(folder, "trace.json")
        barrier, _ = virtual_steps(suite, plan, 2, "--barrier", "--trace", trace)
        longest = longest_rank(trace)
        suite.check(abs(longest - summary["stage_seconds"]) < 1e-9 * longest,
                    f"{words}: the longest rank takes {longest} s, zbc says {summary['stage_seconds']}")
        suite.check(all(abs(ps - summary["step_seconds"] * 1e12) < 1 for ps in barrier),
                    f"{words}: steps of {barrier} ps, zbc says {summary['step_seconds']}")
        times, rows = virtual_steps(suite, plan, STEPS)
        found = summary["period"]
        count = found["steps"]
        settled = [sum(times[at:at + count]) for at in range(STEPS - 4 * count, STEPS - count)]
        suite.check(found["exact"] and all(ps == found["cycle_ps"] for ps in settled),
                    f"{words}: {found}, and sim takes {settled[:4]} ps for {count} steps")
        idle = sum(row["idle"] for row in rows[-2 * count:-count]) / count
        suite.check(abs(idle - summary["bubble"]["period"]) < 1e-5,
                    f"{words}: idle {idle}, zbc says {summary['bubble']}")
        suite.check(validates or found["seconds"] <= summary["step_seconds"] * (1 + 1e-12),
                    f"{words}: {found} is above the step")  # which has no snapshot
        shorter += found["seconds"] < 0.999 * summary["step_seconds"]
        late, _ = virtual_steps(suite, plan, 21, "--seed", 5)
        suite.check(sum(late[:20]) >= sum(times[:20]), f"{words}: delays make it faster")
    suite.check(shorter >= 5, f"{shorter} of 24 periods are below the step with a barrier")
    print(f"ok   period: 24 plans, {shorter} of them faster than with a barrier", flush=True)


def saved_step(folder):
    return int(common.read_safetensors(os.path.join(folder, "optimizer.safetensors"))[1]["zb.step"])


def expect_same(suite, name, wanted, got, checkpoints=None):
    losses = [[row["loss"] if "step" in row else row["eval"]["loss"] for row in rows] for rows in (wanted, got)]
    suite.check(losses[0] == losses[1], f"{name}: the losses are others")
    if checkpoints:
        difference = common.first_difference(*map(common.read_checkpoint, checkpoints))
        suite.check(difference is None, f"{name}: {difference}")


def bits(suite, plans, folder):
    save = [os.path.join(folder, kind) for kind in ("barrier", "overlap")]
    evaluate = ("--eval", "text:" + common.CORPUS, "--eval-steps", 1, "--eval-every", 7)
    cases = (("gpt2-small", 2, "zb-h2", (), 50, ()),
             ("gpt2-small", 4, "zb", (), 50, ("--save-every", 11)),
             ("llama-small", 4, "zb-v", (), 50, (*evaluate, "--save-every", 9)),
             ("gpt2-small", 2, "zb-v", ("--clip-norm", 0.5), 50,
              ("--lr", "1e-2", "--lr-schedule", "cosine:warmup=5,steps=40", "--clip-norm", 0.25)),
             ("gpt2-dropout", 3, "zb-h1", (), 20, ("--threads", 2)),
             ("gpt2-small", 4, "1f1b", ("--precision", "bf16"), 20, ("--grad-norms",)),
             ("gpt2-small", 2, "zb-h1", (), 20, ("--device", "sim", "--seed", 3)))
    for graph, ranks, schedule, made, steps, more in cases:
        plan = plans.get(graph, ranks, schedule, *made)
        name = f"{graph} {ranks} {schedule} {made} {more}"
        wanted = suite.train(plan, steps, *more, "--save", save[0], "--barrier")
        got = suite.train(plan, steps, *more, "--save", save[1])
        expect_same(suite, name, wanted, got, save)
        norms = [[row.get("grad_norms", row.get("grad_norm")) for row in rows] for rows in (wanted, got)]
        suite.check(norms[0] == norms[1], f"{name}: the norms are others")
        half = os.path.join(folder, "half")
        suite.train(plan, steps // 2, *more, "--save", half)
        suite.train(plan, steps - steps // 2, *more, "--resume", half, "--save", half)
        expect_same(suite, name + " resumed", [], [], (save[0], half))
    skips(suite, plans, folder, save)
    print(f"ok   bits: {len(cases)} runs", flush=True)


def skips(suite, plans, folder, save):
    """Steps that change nothing: each rank knows by itself how many there were."""
    plan = plans.get("gpt2-small", 2, "zb-h1", "--clip-norm", "inf")
    table = os.path.join(folder, "rates.txt")
    with open(table, "w") as file:
        file.write("".join(f"{step},{factor}\n" for step, factor in enumerate((1, 1e38, 1, 1, 1, 1))))
    more = ("--non-finite", "skip", "--lr-schedule", "table:" + table)
    more = ("--data", "text:" + common.CORPUS, "--steps", 6, "--json", *more)
    wanted = suite.run("zb-run", plan, *more, "--save", save[0], "--barrier")
    got = suite.run("zb-run", plan, *more, "--save", save[1])
    suite.check(wanted.returncode == got.returncode == 0 and '"skipped":true' in wanted.stdout.replace(" ", ""),
                f"skips: {wanted.stdout}{wanted.stderr}{got.stderr}")
    if wanted.returncode == got.returncode == 0:
        for row in (rows := [common.json_lines(one.stdout) for one in (wanted, got)])[0] + rows[1]:
            row.update(loss=str(row["loss"]))
        expect_same(suite, "skips", *rows, save)


def stopped_run(suite, command, seconds, number, environment=None):
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    line = run.stdout.readline()
    while line and not line.startswith("step 3/"):
        line = run.stdout.readline()
    time.sleep(seconds)
    run.send_signal(number)
    out, errors = run.communicate(timeout=common.patience(60))
    return run.returncode, out, errors


def expect_named(suite, name, plan, folder, found):
    """All that a stopped run says is of one step, and what it saved has the bits of that step."""
    status, out, errors = found
    said = re.search(r"stopped by a signal after (\d+) steps", errors)
    lines = [int(step) for step in re.findall(r"^step (\d+)/", out, re.MULTILINE)]
    if not suite.check(status == 130 and said and lines, f"{name}: status {status}\n{out[-400:]}\n{errors}"):
        return 0
    step = int(said.group(1))
    suite.check(lines[-1] == step == saved_step(folder), f"{name}: says {step}, printed {lines[-3:]}, saved "
                f"{saved_step(folder)}")
    whole = folder + "-whole"
    suite.train(plan, step, "--save", whole, "--barrier")
    difference = common.first_difference(common.read_checkpoint(whole), common.read_checkpoint(folder))
    suite.check(difference is None, f"{name}: step {step}: {difference}")
    return step


def ends(suite, plans, folder):
    random_ = random.Random(7)
    plan, saved = plans.get("gpt2-small", 4, "zb"), os.path.join(folder, "stopped")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        command = [suite.tool("zb-run"), plan, "--data", "text:" + common.CORPUS, "--steps", "1000000",
                   "--save", saved]
        found = stopped_run(suite, command, random_.uniform(0, 0.2), number)
        expect_named(suite, f"signal {number}", plan, saved, found)
    run = suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 50, "--save", saved,
                    "--save-every", 4, "--lr", "1e12")
    named = re.search(r"the loss of step (\d+), micro-batch \d+ is (not a number|infinite)", run.stderr)
    suite.check(run.returncode == 4 and named and f"step {named.group(1)}\n" in run.stderr.replace("  note: ", "\n") +
                "\n", f"no number: {run.returncode}\n{run.stderr}")
    if named:
        before = (int(named.group(1)) - 1) // 4 * 4
        lines = [int(step) for step in re.findall(r"^step (\d+)/", run.stdout, re.MULTILINE)]
        suite.check(all(step < int(named.group(1)) for step in lines), f"no number: printed {lines}")
        suite.check(before == 0 or saved_step(saved) == before,
                    f"no number: {saved_step(saved)} is saved, not {before}")
    with open("/dev/full", "w") as full:
        run = subprocess.run([suite.tool("zb-run"), plan, "--data", "text:" + common.CORPUS, "--steps", "100000",
                              "--save", saved], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=common.patience(60))
    suite.check(run.returncode == 4 and "No space left" in run.stderr, f"a full disk: {run.returncode}\n{run.stderr}")
    print("ok   ends: signals, a loss that is no number, a full disk", flush=True)


def several(suite, plans, folder):
    random_ = random.Random(9)
    for launcher in evaluation.launchers(suite):
        plan = plans.get("gpt2-small", 4, "zb")
        wanted = suite.train(plan, 30, "--barrier")
        for count in (2, 4):
            got = processes.train(suite, launcher, count, plan, 30)
            expect_same(suite, f"{launcher.name}, {count} processes", wanted, got)
        saved = os.path.join(folder, launcher.name)
        command = [*launcher.command(2), suite.tool("zb-run"), plan, "--data", "text:" + common.CORPUS, "--steps",
                   "1000000", "--save", saved]
        status, out, errors = stopped_run(suite, command, random_.uniform(0, 0.3), signal.SIGTERM, launcher.environment)
        lines = [int(step) for step in re.findall(r"^step (\d+)/", out, re.MULTILINE)]
        step = read_step(saved)
        suite.check(lines and lines[-1] == step,
                    f"{launcher.name}: status {status}, printed {lines[-3:]}, saved {step}\n{errors}")
        whole = saved + "-whole"
        suite.train(plan, step, "--save", whole, "--barrier")
        again = [suite.train(plan, 2, "--resume", one) for one in (whole, saved)]
        expect_same(suite, f"{launcher.name}: resumed from step {step}", *again)
        killed = processes_faults.Run(suite, launcher, plan, os.path.join(folder, "killed"), every=3)
        seconds, status, left, errors = killed.hit(2, signal.SIGKILL, 0.3)
        suite.check(common.soon(seconds, processes_faults.KILL_LIMIT_SECONDS) and not left and
                    processes_faults.is_whole(killed.saved) and read_step(killed.saved) % 3 == 0,
                    f"{launcher.name}: kill -9: {seconds} s, left {left}\n{errors}")
        print(f"ok   {launcher.name}", flush=True)


def read_step(folder):
    """Of a save of one process or several."""
    for name in sorted(os.listdir(folder)):
        if name.startswith("optimizer") and name.endswith(".safetensors"):
            return int(common.read_safetensors(os.path.join(folder, name))[1]["zb.step"])
    return None


def inputs(suite, plans, folder):
    plan = plans.get("gpt2-small", 2, "zb-h2")
    out = os.path.join(folder, "out")
    barrier, _ = virtual_steps(suite, plan, 3, "--barrier")
    for words in (("--explain",), ("--timeline", out + ".svg"), ("--trace", out + ".json"),
                  ("--profile", out + "-costs.json")):
        took, _ = virtual_steps(suite, plan, 3, *words)
        suite.check(took == barrier, f"{words}: steps of {took} ps, with a barrier {barrier}")
    suite.check(virtual_steps(suite, plan, 3)[0] != barrier, "steps overlap if nothing is said")
    data = ("--data", "text:" + common.CORPUS, "--steps", 2)
    for words, status, said in (((*data, "--barier"), 2, ["did you mean '--barrier'?"]),
                                ((*data, "--overlap"), 2, ["steps overlap unless --barrier is given"]),
                                ((*data, "--sync"), 2, ["--barrier"]),
                                ((*data, "--barrier=yes"), 2, ["--barrier"]),
                                (("--eval", "text:" + common.CORPUS, "--barrier"), 2, ["--barrier has no effect"])):
        process = suite.run("zb-run", plan, *words)
        suite.check(process.returncode == status and all(part in process.stderr for part in said) and
                    "step 1" not in process.stdout, f"{words}: {process.returncode}\n{process.stderr}")


def main():
    options = common.arguments(__doc__, ("--only", {"nargs": "+", "choices": PARTS, "default": list(PARTS)}))
    suite = common.Suite(options.bin)
    suite.skipped = 0
    parts = dict(zip(PARTS, (period, bits, ends, several, inputs)))
    with common.scratch() as folder:
        plans = evaluation.Plans(suite, folder)
        common.run_parallel([lambda part=part: parts[part](suite, plans, folder) for part in options.only], 1)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
