#!/usr/bin/env python3
"""Post-validation (zbc --post-validation): steps that begin before it is known whether the one before was clipped.

    validation.py [--bin BUILD/bin] [--draws 4] [--meshes 1] [--seed 1]
                  [--only bits shards late skips ends processes input]

bits: of plans drawn at random (graph, ranks 1 to 6, schedule, placement, precision, recompute, type of the norm), runs
in which no step is clipped, each is, and those above the median norm are, have losses, norms, weights and optimizer
state of the run that waits for each norm, with saves, evaluations, a resume and a schedule of the rate between; and
those of a plan without it. shards: so of shards, of replicas of shards and of replicas that share optimizer state or
gradients, and over every launcher; --meshes times of replicas that have parts of parameters, with shards and without,
and of replicas with buffers. late: on the device sim a step that was clipped takes longer, which shows that it was
taken back; its memory is that of the plan without it, the snapshot (parameters, buffers and optimizer state that a rank
has) and what is kept for a verdict, to the byte. skips: steps whose gradients are
not finite. ends: a signal at a random moment, a norm that is no number. processes: over every launcher, and a process
that is killed. input: where it cannot be.

Ends with "N passed, N failed, N skipped".
"""
import os
import random
import re
import signal
import sys

import common
import evaluation
import overlap
import processes
import processes_faults

PARTS = ("bits", "shards", "late", "skips", "ends", "processes", "input")
GRAPHS = ("gpt2-small", "llama-small", "gpt2-dropout", "buffers")
SCHEDULES = (("1f1b",), ("zb-h1",), ("zb-h2",), ("zb-v",), ("zb",), ("interleaved-1f1b", "--chunks", 2),
             ("search:budget=30",), ("fthenb", "--placement", "wave", "--chunks", 2), ("v-half",))
SHARDINGS = ("none", "optimizer", "gradients:step", "gradients:micro-batch", "parameters:step",
             "parameters:micro-batch")
GATHERS = ("job", "micro-batch", "step")
MORE = ((), (), ("--precision", "bf16"), ("--recompute", "all"), ("--clip-norm-type", "inf"), ("--split", "none"),
        ("--optimizer", "sgd:lr=0.1,momentum=0.9"))


def norms_of(rows):
    return [row.get("norm") for row in rows if "step" in row]


def some_clipped(rows):
    """A greatest norm that half of the steps are above."""
    norms = sorted(norms_of(rows))
    return (norms[len(norms) // 2 - 1] + norms[len(norms) // 2]) / 2


def draw(random_, graph):
    ranks = random_.randint(1, 3 if graph == "buffers" else 6)  # stages of layers that may be cut
    schedule = random_.choice(SCHEDULES)
    micro_batches = ranks * random_.randint(1, 2) if "interleaved" in schedule[0] else random_.randint(1, 9)
    return graph, ranks, schedule[0], (*schedule[1:], *random_.choice(MORE), "--clip-norm", "inf"), micro_batches


def run_options(random_):
    return random_.choice(((), ("--save-every", 3), ("--eval", "text:" + common.CORPUS, "--eval-steps", 1,
                                                     "--eval-every", 3),
                           ("--lr-schedule", "cosine:warmup=2,steps=9"), ("--threads", 2),
                           ("--device", "sim", "--seed", 3)))


def expect_same(suite, name, wanted, got, folders):
    overlap.expect_same(suite, name, wanted, got, folders)
    suite.check(norms_of(wanted) == norms_of(got) and None not in norms_of(got), f"{name}: the norms are others")


def bits_of_draw(suite, plans, folder, random_, graph, ranks, schedule, made, micro_batches, steps=9):
    speculates = plans.get(graph, ranks, schedule, *made, "--post-validation", micro_batches=micro_batches)
    waits = plans.get(graph, ranks, schedule, *made, micro_batches=micro_batches)
    more = run_options(random_)
    saves = [os.path.join(folder, kind) for kind in ("waits", "speculates", "half")]
    measured = suite.train(waits, steps)
    for most in ("inf", some_clipped(measured), min(norms_of(measured)) / 2):
        name = f"{graph} {ranks} {schedule} {made} {micro_batches} {more} clipped above {most}"
        words = (*more, "--clip-norm", most)
        wanted = suite.train(waits, steps, *words, "--save", saves[0], "--barrier")
        got = suite.train(speculates, steps, *words, "--save", saves[1])
        expect_same(suite, name, wanted, got, saves[:2])
    cut = random_.randint(1, steps - 1)
    suite.train(speculates, cut, *words, "--save", saves[2])
    suite.train(speculates, steps - cut, *words, "--resume", saves[2], "--save", saves[2])
    overlap.expect_same(suite, name + f" resumed after {cut}", [], [], (saves[0], saves[2]))


def bits(suite, plans, folder, options):
    random_ = random.Random(options.seed)
    for number in range(options.draws):
        bits_of_draw(suite, plans, folder, random_, *draw(random_, GRAPHS[number % len(GRAPHS)]))
    print(f"ok   bits: {options.draws} plans", flush=True)


def drawn_meshes(random_, count):
    """(graph, more): what comes from other replicas before a verdict or a snapshot."""
    found = []
    for _ in range(count):
        mesh = random_.choice((("--data-parallel", 3), ("--data-parallel", 2), ("--data-parallel", 2,
                               "--tensor-parallel", 2), ("--data-parallel", 2, "--tensor-parallel", 2,
                                                         "--sequence-parallel")))
        found += [(random_.choice(GRAPHS[:2 if "--tensor-parallel" in mesh else 3]),
                   (*mesh, "--sharding", random_.choice(SHARDINGS[4:]), "--gather", random_.choice(GATHERS))),
                  ("buffers", ("--data-parallel", random_.choice((2, 3)), "--sharding", random_.choice(SHARDINGS)))]
    return found


def shards(suite, plans, folder, options):
    """Shards of a rank are at different places when a verdict is found; replicas that update parts bring them to all
    again."""
    random_ = random.Random(options.seed)
    meshes = [(random_.choice(GRAPHS[:2]), more) for more in (
        ("--tensor-parallel", 2), ("--tensor-parallel", 4, "--sequence-parallel"),
        ("--tensor-parallel", 2, "--data-parallel", 2), ("--data-parallel", 3, "--sharding", "optimizer"),
        ("--data-parallel", 2, "--sharding", "gradients:micro-batch", "--precision", "bf16"))]
    for graph, more in meshes + drawn_meshes(random_, options.meshes):
        graph, ranks, schedule, made, micro_batches = draw(random_, graph)
        if ranks > 3:
            ranks, schedule, micro_batches = 3, "zb-h1", min(micro_batches, 6)
            made = tuple(word for word in made if word not in ("--chunks", 2, "--placement", "wave"))
        if "--precision" in made and "--precision" in more:
            more = more[:4]
        bits_of_draw(suite, plans, folder, random_, graph, ranks, schedule, (*made, *more), micro_batches, steps=6)
    for more in (("--tensor-parallel", 2), ("--data-parallel", 3, "--sharding", "optimizer", "--precision", "bf16"),
                 ("--data-parallel", 3, "--sharding", "gradients:step"),
                 ("--data-parallel", 2, "--sharding", "parameters:micro-batch")):
        plan = plans.get("gpt2-small", 2, "zb-v", "--clip-norm", "inf", "--post-validation", *more)
        wanted = suite.train(plan, 8, "--barrier")
        most = some_clipped(wanted)
        wanted = suite.train(plan, 8, "--barrier", "--clip-norm", most)
        for launcher in evaluation.launchers(suite):
            for count in (3,) if "parameters:micro-batch" in more else (2, 3):
                got = processes.train(suite, launcher, count, plan, 8, "--clip-norm", str(most))
                overlap.expect_same(suite, f"{more}, {launcher.name}, {count} processes", wanted, got)
    print("ok   shards", flush=True)


def regions(suite, plan):
    """[{region: bytes}] of the ranks, and their arenas."""
    text = suite.must("zb-run", plan, "--print-plan")
    arenas = [int(number.replace(",", "")) for number in re.findall(r"^rank \d+: .* arena ([\d,]+) bytes", text,
                                                                    re.MULTILINE)]
    rows = [dict((name, int(number.replace(",", ""))) for name, number in re.findall(r"(\w+) ([\d,]+)", line))
            for line in re.findall(r"^  (parameters .*)", text, re.MULTILINE)]
    return rows[:len(arenas)], arenas


def late(suite, plans, folder, options):
    made = ("gpt2-small", 4, "zb-h2", "--clip-norm", "inf")
    plan, waits = plans.get(*made, "--post-validation"), plans.get(*made)
    norms = norms_of(suite.train(waits, 12))
    most = (norms[4] + norms[5]) / 2
    rows = suite.train(plan, 12, "--device", "sim", "--clip-norm", most)
    took = [round(row["seconds"] * 1e12) for row in rows]
    # the verdict of a step, and what is done again, is in the time of the next one
    clipped = [number for number, norm in enumerate(norms_of(rows)) if norm > most * (1 - 1e-6)]
    longer = [number for number in range(1, 11) if took[number] > min(took[1:11]) * 1.02]
    suite.check(longer == [number + 1 for number in clipped if number + 1 < 11],
                f"clipped are {clipped}, longer steps {longer}: {took}")
    suite.check(0 < len(longer) < 10, f"all or none of {norms} are above {most}")
    for graph, ranks, more in (
            ("gpt2-small", 4, ()), ("gpt2-small", 2, ("--data-parallel", 3, "--sharding", "optimizer")),
            ("gpt2-small", 2, ("--data-parallel", 3, "--sharding", "parameters:step")),
            ("llama-small", 2, ("--data-parallel", 2, "--tensor-parallel", 2, "--sharding", "parameters:micro-batch")),
            ("buffers", 2, ("--data-parallel", 2, "--sharding", "parameters:step"))):
        made = (graph, ranks, "zb-h2", "--clip-norm", "inf", *more)
        plan, waits = plans.get(*made, "--post-validation"), plans.get(*made)
        for found, plain, arenas in zip(*(regions(suite, one)[0] for one in (plan, waits)),
                                        zip(regions(suite, plan)[1], regions(suite, waits)[1])):
            kept = found["slots"] - plain["slots"]
            wanted = found["parameters"] + found["state"] + found.get("buffers", 0)
            suite.check(found["snapshot"] == wanted and "snapshot" not in plain and
                        arenas[0] - arenas[1] == found["snapshot"] + kept, f"{made}: {found} {plain} {arenas}")
    print("ok   late: times on sim, and memory", flush=True)


def skips(suite, plans, folder, options):
    """Steps that are left out, and one that ends the run, found only when the next has begun."""
    plan = plans.get("gpt2-small", 3, "zb-h1", "--clip-norm", 1, "--post-validation")
    waits = plans.get("gpt2-small", 3, "zb-h1", "--clip-norm", 1)
    table = os.path.join(folder, "rates.txt")
    with open(table, "w") as file:
        file.write("".join(f"{step},{factor}\n" for step, factor in enumerate((1, 1, 1e38, 1, 1, 1, 1))))
    words = ("--data", "text:" + common.CORPUS, "--steps", 7, "--json", "--lr-schedule", "table:" + table)
    saves = [os.path.join(folder, kind) for kind in ("waits", "speculates")]
    runs = [suite.run("zb-run", one, *words, "--non-finite", "skip", "--save", save, *more)
            for one, save, more in ((waits, saves[0], ("--barrier",)), (plan, saves[1], ()))]
    rows = [[dict(row, loss=str(row["loss"])) for row in common.json_lines(run.stdout)] for run in runs]
    skipped = [[row["skipped"] for row in one] for one in rows]
    suite.check(runs[0].returncode == runs[1].returncode == 0 and skipped[0] == skipped[1] and any(skipped[0]),
                f"skips: {skipped} {runs[1].stderr}")
    overlap.expect_same(suite, "skips", *rows, saves)
    runs = [suite.run("zb-run", one, *words, *more) for one, more in ((waits, ("--barrier",)), (plan, ()))]
    said = [[line for line in run.stderr.splitlines() if "error" in line] for run in runs]
    suite.check(runs[0].returncode == runs[1].returncode == 4 and said[0] == said[1] and said[0],
                f"stop: {runs[0].stderr}\n{runs[1].stderr}")
    named = re.search(r"of step (\d+)", runs[1].stderr)
    steps = [row["step"] for row in common.json_lines(runs[1].stdout)]
    suite.check(named and all(step + 1 < int(named.group(1)) for step in steps) and
                f"step {named.group(1)}" in runs[1].stderr.splitlines()[-1] + runs[1].stderr,
                f"stop: printed {steps}: {runs[1].stderr}")
    print("ok   skips", flush=True)


def ends(suite, plans, folder, options):
    random_ = random.Random(options.seed)
    saved = os.path.join(folder, "stopped")
    whole = plans.get("gpt2-small", 4, "zb-h2", "--clip-norm", 1.4, "--post-validation")
    parts, gathered = (plans.get("gpt2-small", 2, "zb-h2", "--clip-norm", 1.4, "--post-validation", "--data-parallel",
                                 2, "--sharding", sharding) for sharding in ("optimizer", "parameters:step"))
    for plan, number in ((whole, signal.SIGINT), (whole, signal.SIGTERM), (whole, signal.SIGINT),
                         (parts, signal.SIGTERM), (parts, signal.SIGINT), (gathered, signal.SIGTERM),
                         (gathered, signal.SIGINT)):
        command = [suite.tool("zb-run"), plan, "--data", "text:" + common.CORPUS, "--steps", "1000000", "--save", saved]
        found = overlap.stopped_run(suite, command, random_.uniform(0, 0.2), number)
        overlap.expect_named(suite, f"signal {number}", plan, saved, found)
    print("ok   ends: signals", flush=True)


def several(suite, plans, folder, options):
    for launcher in evaluation.launchers(suite):
        plan = plans.get("gpt2-small", 4, "zb-v", "--clip-norm", "inf", "--post-validation")
        wanted = suite.train(plan, 14, "--barrier")
        most = some_clipped(wanted)
        wanted = suite.train(plan, 14, "--barrier", "--clip-norm", most)
        for count in (2, 4):
            got = processes.train(suite, launcher, count, plan, 14, "--clip-norm", str(most))
            overlap.expect_same(suite, f"{launcher.name}, {count} processes", wanted, got)
        killed = processes_faults.Run(suite, launcher, plan, os.path.join(folder, "killed"), every=3)
        seconds, status, left, errors = killed.hit(2, signal.SIGKILL, 0.3)
        suite.check(common.soon(seconds, processes_faults.KILL_LIMIT_SECONDS) and not left and
                    processes_faults.is_whole(killed.saved) and overlap.read_step(killed.saved) % 3 == 0,
                    f"{launcher.name}: kill -9: {seconds} s, left {left}\n{errors}")
        print(f"ok   {launcher.name}", flush=True)


def inputs(suite, plans, folder, options):
    model, out = os.path.join(common.DATA, "gpt2-tiny.onnx"), os.path.join(folder, "no")
    for words, status, said in ((("--post-validation",), 2, "--post-validation without --clip-norm"),
                                (("--clip-norm", 1, "--post-validaton"), 2, "did you mean '--post-validation'?"),
                                (("--clip-norm", 1, "--post-validation=yes"), 2, "--post-validation"),
                                (("--post-validation", "--inference"), 2,
                                 "--post-validation has no effect with --inference"),
                                (("--post-validation", "--pass-pipeline", "builtin.module()"), 2,
                                 "--post-validation has no effect with --pass-pipeline"),
                                (("--ranks", 3, "--clip-norm", 1, "--post-validation", "--freeze",
                                  "lm.transformer.h.*"), 1, "trains no parameter, so it gets no norm")):
        process = suite.run("zbc", model, "-o", out, *words)
        suite.check(process.returncode == status and said in process.stderr and not os.path.exists(out),
                    f"{words}: {process.returncode}\n{process.stderr}")
    print("ok   input", flush=True)


def main():
    options = common.arguments(__doc__, ("--only", {"nargs": "+", "choices": PARTS, "default": list(PARTS)}),
                               ("--draws", {"type": int, "default": 4}), ("--meshes", {"type": int, "default": 1}),
                               ("--seed", {"type": int, "default": 1}))
    suite = common.Suite(options.bin)
    suite.skipped = 0
    parts = dict(zip(PARTS, (bits, shards, late, skips, ends, several, inputs)))
    with common.scratch() as folder:
        plans = evaluation.Plans(suite, folder)
        common.run_parallel([lambda part=part: parts[part](suite, plans, folder, options) for part in options.only], 1)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
