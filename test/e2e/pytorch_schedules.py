#!/usr/bin/env python3
"""Orders as files against PyTorch itself (torch.distributed.pipelining): what it prints is read, scored and printed
again byte for byte, and what we write it loads, lowers, simulates, prints again byte for byte, and trains with: four
processes run a step, and gradients are compared.

    pytorch_schedules.py [--tool BUILD/test/order_files]   (passes/schedule/order_files.c)

ZB_PYTHON: a Python with torch (default python3); without one the script says so and skips. But for training
no process group is made: PyTorch's schedule classes get stages that only know their numbers. One line a
check, "ok - NAME" or "not ok - NAME".
"""
import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROBE = "import torch.distributed.pipelining.schedules, torch; print(torch.__version__)"
# Ranks, micro-batches.
SIZES = [(1, 4), (2, 4), (2, 6), (3, 6), (4, 8), (4, 10), (4, 12), (8, 16)]


def torch_version(python):
    """The version of torch that this Python has, or why it has none."""
    try:
        probe = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, timeout=300)
    except OSError as error:
        return None, str(error)
    if probe.returncode:
        return None, probe.stderr.strip().split("\n")[-1]
    return probe.stdout.strip(), None


class Checks:
    """Counts the cases of one check; prints its line."""

    def __init__(self):
        self.failed = False

    def line(self, name, cases, wrong):
        if cases == 0:
            wrong = ["no cases"]
        print("%s - %s (%d files)" % ("not ok" if wrong else "ok", name, cases), flush=True)
        for text in wrong[:5]:
            print("    " + text.replace("\n", "\n    "), flush=True)
        self.failed |= bool(wrong)


class Tool:
    """test/passes/schedule/order_files.c in a folder of its own."""

    def __init__(self, program, folder, waits):
        """waits: PyTorch knows WAIT_REDUCE_GRAD, since 2.15."""
        self.program, self.folder, self.waits = program, folder, waits

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words):
        if words[0] == "write" and not self.waits:
            words = [*words[:7], words[7] + "o", *words[8:]]
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=60)

    def read(self, data):
        """(what it says of a file, what it prints of it again), or (None, error)."""
        with open(self.path("in.csv"), "wb") as file:
            file.write(data)
        result = self.run("read", self.path("in.csv"), self.path("out.csv"))
        if result.returncode:
            return None, result.stderr
        with open(self.path("out.csv"), "rb") as file:
            words = result.stdout.split()
            return dict(word.split("=") for word in words[1:]) | {"form": words[0]}, file.read()


# ---- PyTorch's side ----

def stages(ranks, chunks):
    numbers = dict(num_stages=ranks * chunks, group_size=ranks, group_rank=0, submod=None)
    return [types.SimpleNamespace(stage_index=i * ranks, **numbers) for i in range(chunks)]


def printed(rows):
    """Rows as PyTorch's _dump_csv writes them."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for row in rows:
        writer.writerow(row)
    return out.getvalue().encode()


def dumped(schedule, form, tool):
    path = tool.path("dump.csv")
    schedule._dump_csv(path, format=form)
    with open(path, "rb") as file:
        return file.read()


def check_printed(checks, tool, torch_schedules):
    """What the classes that print themselves print."""
    classes = [("LoopedBFS", (1, 2, 3), False), ("Interleaved1F1B", (1, 2, 3), False),
               ("InterleavedZeroBubble", (1, 2, 3), True), ("ZBVZeroBubble", (2,), True), ("DualPipeV", (2,), True)]
    for name, chunk_counts, split in classes:
        cases, wrong = 0, []
        for ranks, micro_batches in SIZES:
            for chunks in chunk_counts:
                schedule = torch_schedules.get_schedule_class(name)(stages(ranks, chunks), micro_batches)
                for form in ("compute_only", "compute_comms"):
                    data = dumped(schedule, form, tool)
                    about, again = tool.read(data)
                    cases += 1
                    place = "%s %s p=%d v=%d m=%d: " % (name, form, ranks, chunks, micro_batches)
                    if about is None:
                        wrong.append(place + again)
                        continue
                    wanted = {"ranks": ranks, "stages": ranks * chunks,
                              "micro_batches": micro_batches, "whole": int(not split),
                              "renumbered": int(name == "LoopedBFS" and micro_batches > 1)}
                    got = {key: int(about[key]) for key in wanted}
                    # One rank has no messages: both forms are the same kind of file then.
                    if got != wanted or (ranks > 1 and
                                         about["form"] != ("only" if form == "compute_only" else "comms")):
                        wrong.append(place + "expected %s, got %s" % (wanted, about))
                    if not 0 <= float(about["bubble"]) < 1:
                        wrong.append(place + "bubble " + about["bubble"])
                    if again != data:
                        wrong.append(place + "printed otherwise: %r... instead of %r..." % (again[:100], data[:100]))
        checks.line("reads what %s prints, and prints it again byte for byte" % name, cases, wrong)


def check_single(checks, tool, torch_schedules):
    """1F1B and GPipe do not print themselves, but give the rows. The last rank of 1F1B counts its forwards from 1 in
    some versions: that must be found, at its cell."""
    for name in ("1F1B", "GPipe"):
        cases, wrong = 0, []
        for ranks, micro_batches in SIZES:
            schedule = torch_schedules.get_schedule_class(name)(stages(ranks, 1)[0], micro_batches)
            rows = [schedule.pipeline_order[rank] for rank in range(ranks)]
            data = printed(rows)
            about, again = tool.read(data)
            cases += 1
            if about is None and name == "1F1B" and rows[-1][0].microbatch_index == 1:
                last = "%dF%d" % (ranks - 1, micro_batches)
                if ":%d:" % ranks not in again or last not in again and "F0 is missing" not in again:
                    wrong.append("p=%d: expected an error at %s of line %d, got %s" % (ranks, last, ranks, again))
                rows[-1] = [a._replace(microbatch_index=a.microbatch_index - 1) if a and
                            str(a.computation_type.value) == "F" else a for a in rows[-1]]
                data = printed(rows)
                about, again = tool.read(data)
                cases += 1
            if about is None or again != data or int(about["whole"]) != 1:
                wrong.append("%s p=%d m=%d: %s" % (name, ranks, micro_batches,
                                                   again if about is None else "printed otherwise"))
        checks.line("reads the rows of %s, and prints them again byte for byte" % name, cases, wrong)


# ---- Our side ----

def time_steps_fit(rows, stage_count):
    """Whether every cell stands in a column after those of what it needs, as PipelineScheduleMulti
    executes them. The first that does not."""
    step = {}
    for row in rows:
        for column, action in enumerate(row):
            if action is not None:
                kind = action.computation_type.value
                for k in ("I", "W") if kind == "B" else (kind,):
                    step[action.stage_index, k, action.microbatch_index] = column
    for (stage, kind, micro_batch), column in step.items():
        before = {"F": (stage - 1, "F"), "I": (stage + 1, "I"), "W": (stage, "F")}[kind]
        if 0 <= before[0] < stage_count and step[before + (micro_batch,)] >= column:
            return "%d%s%d" % (stage, kind, micro_batch)
    return None


# What its simulation does not know, and what comes with PyTorch 2.15.
IGNORED = ("UNSHARD", "RESHARD", "REDUCE_GRAD", "WAIT_REDUCE_GRAD", "WAIT_SEND_F", "WAIT_SEND_B")


def load(tool, torch_schedules, data, form, ranks, chunks, micro_batches):
    """A runtime that has loaded the file."""
    path = tool.path("load.csv")
    with open(path, "wb") as file:
        file.write(data)
    runtime = torch_schedules._PipelineScheduleRuntime(stages(ranks, chunks), micro_batches)
    runtime._load_csv(path, format=form)
    rows = {rank: [a for a in row if a.computation_type.value not in IGNORED]
            for rank, row in runtime.pipeline_order_with_comms.items()}
    # Its own simulation: raises where sends and receives do not fit together.
    torch_schedules._simulate_comms_compute(rows, lambda s: runtime.stage_index_to_group_rank[s], ranks * chunks)
    return runtime


def check_exported_file(tool, torch_schedules, name, placement, ranks, chunks, micro_batches, form, style):
    """None, or what is wrong; False where the schedule is not defined."""
    out = tool.path("ours.csv")
    result = tool.run("write", name, placement, ranks, chunks, micro_batches, form, style, out)
    if result.returncode == 3:
        return False
    if result.returncode:
        return result.stderr
    with open(out, "rb") as file:
        data = file.read()
    torch_form = {"only": "compute_only", "comms": "compute_comms"}[form]
    try:
        runtime = load(tool, torch_schedules, data, torch_form, ranks, chunks, micro_batches)
    except Exception as error:
        return "PyTorch: %s" % error
    if dumped(runtime, torch_form, tool) != data:
        return "PyTorch prints it otherwise"
    about, again = tool.read(data)
    if about is None or again != data:
        return "ours: " + (again if about is None else "printed otherwise")
    if form == "only":
        about, again = tool.read(dumped(runtime, "compute_comms", tool))
        if about is None:
            return "what PyTorch makes of it: " + again
    if "i" in style:
        late = time_steps_fit([runtime.pipeline_order[rank] for rank in range(ranks)], ranks * chunks)
        if late:
            return "%s stands in too early a column" % late
    return None


def check_exported(checks, tool, torch_schedules):
    listed = tool.run("list").stdout.split("\n")
    for row in filter(None, listed):
        name, placement, least, most, two_pipelines = row.split()
        if int(two_pipelines):
            print("ok - PyTorch loads %s # SKIP every stage is on two ranks: its files cannot say that" % name)
            continue
        cases, wrong = 0, []
        for ranks, micro_batches in SIZES:
            for chunks in sorted({int(least), min(int(most), 2), min(int(most), 3)}):
                for form, style in [("only", "-"), ("only", "w"), ("only", "i"), ("only", "wi"),
                                    ("comms", "-"), ("comms", "w")]:
                    own = "plain" if chunks == 1 and placement != "v" else placement
                    own = "looped" if chunks > 1 and own == "plain" else own
                    problem = check_exported_file(tool, torch_schedules, name, own, ranks, chunks,
                                                  micro_batches, form, style)
                    if problem is False:
                        continue
                    cases += 1
                    if problem:
                        wrong.append("%s %s p=%d v=%d m=%d %s %s: %s" %
                                     (name, own, ranks, chunks, micro_batches, form, style, problem))
        checks.line("PyTorch loads, lowers, simulates and prints again what %s writes" % name, cases, wrong)


# ---- The same rules ----

def jobs_of(rows):
    """Jobs of every rank in order: B is I and W, the parts of one cell stand one after the other."""
    out = []
    for row in rows:
        parts = [part for action in row if action is not None for part in action.sub_actions or (action,)
                 if part.microbatch_index is not None]
        out.append(["%d%s%d" % (a.stage_index, kind, a.microbatch_index) for a in parts
                    for kind in (("I", "W") if a.computation_type.value == "B" else (a.computation_type.value,))])
    return out


def check_same_rules(checks, tool, torch_schedules):
    """Rules that both have give the same order. (LoopedBFS is left out: ours runs backwards in rising order.)"""
    pairs = [("Interleaved1F1B", "interleaved-1f1b", "looped", (1, 2, 3)),
             ("InterleavedZeroBubble", "interleaved-zb", "looped", (1, 2, 3)),
             ("ZBVZeroBubble", "zb-v", "v", (2,)), ("DualPipeV", "dualpipev", "v", (2,))]
    for name, ours, placement, chunk_counts in pairs:
        cases, wrong = 0, []
        for ranks, micro_batches in SIZES:
            for chunks in chunk_counts:
                out = tool.path("ours.csv")
                result = tool.run("write", ours, placement if chunks > 1 else "plain", ranks, chunks,
                                  micro_batches, "only", "-", out)
                theirs = torch_schedules.get_schedule_class(name)(stages(ranks, chunks), micro_batches).pipeline_order
                cases += 1
                place = "p=%d v=%d m=%d: " % (ranks, chunks, micro_batches)
                if result.returncode:
                    wrong.append(place + result.stderr)
                    continue
                with open(out, newline="") as file:
                    rows = [[torch_schedules._Action.from_str(cell) for cell in row] for row in csv.reader(file)]
                for rank, (one, other) in enumerate(zip(jobs_of(rows), jobs_of(theirs[rank] for rank in range(ranks)))):
                    if one != other:
                        wrong.append(place + "rank %d: %s, PyTorch: %s" % (rank, " ".join(one), " ".join(other)))
        checks.line("%s is PyTorch's %s, job for job" % (ours, name), cases, wrong)


# ---- Training ----

RUN_RANKS, RUN_MICRO_BATCHES, RUN_SECONDS = 4, 8, 120


def make_layer(torch, stage):
    generator = torch.Generator().manual_seed(stage)
    layer = torch.nn.Linear(8, 8)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(8, 8, generator=generator) * 0.3)
        layer.bias.copy_(torch.randn(8, generator=generator) * 0.1)
    return torch.nn.Sequential(layer, torch.nn.Tanh())


def square_loss(y, target):
    return ((y - target) ** 2).sum()


def train_step(torch, torch_schedules, rank, job):
    """Runs one step by the file; stages whose gradients are not those of the model on one rank."""
    path, form, runtime_class, stage_rank = job
    count, batches = len(stage_rank), RUN_MICRO_BATCHES
    own = {s: make_layer(torch, s) for s in range(count) if stage_rank[s] == rank}
    pipeline = [torch.distributed.pipelining.PipelineStage(own[s], s, count, torch.device("cpu")) for s in own]
    schedule = getattr(torch_schedules, runtime_class)(pipeline, batches, loss_fn=square_loss)
    schedule._load_csv(path, format=form)
    generator = torch.Generator().manual_seed(99)
    x, target = torch.randn(batches * 2, 8, generator=generator), torch.randn(batches * 2, 8, generator=generator)
    schedule.step(*([x] if stage_rank[0] == rank else []), **({"target": target} if stage_rank[-1] == rank else {}))
    model = torch.nn.Sequential(*[make_layer(torch, s) for s in range(count)])
    for part, wanted in zip(x.chunk(batches), target.chunk(batches)):
        (square_loss(model(part), wanted) / batches).backward()
    return [s for s in own for a, b in zip(own[s].parameters(), model[s].parameters())
            if not torch.allclose(a.grad, b.grad, rtol=1e-4, atol=1e-6)]


def train_rank(rank, store, jobs, results):
    import torch
    import torch.distributed.pipelining.schedules as torch_schedules
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=RUN_RANKS)
    for name, *job in jobs:
        try:
            wrong = train_step(torch, torch_schedules, rank, job)
            results.put((rank, name, "gradients differ on stages %s" % wrong if wrong else None))
        except Exception as error:
            results.put((rank, name, "%s: %s" % (type(error).__name__, error)))
            return
        torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def jobs_to_train(tool):
    """(name, path, form, class, stage_rank) of every schedule that is defined for these numbers."""
    jobs, p = [], RUN_RANKS
    places = {"plain": lambda s: s, "looped": lambda s: s % p, "v": lambda s: s if s < p else 2 * p - 1 - s}
    for row in filter(None, tool.run("list").stdout.split("\n")):
        name, placement, least, most, two_pipelines = row.split()
        chunks = min(int(most), 2)
        if int(two_pipelines) or placement not in places:
            continue
        own = "looped" if chunks > 1 and placement == "plain" else "plain" if chunks == 1 else placement
        stage_rank = [places[own](s) for s in range(p * chunks)]
        styles = [("comms", "-", "compute_comms", "_PipelineScheduleRuntime"),
                  ("only", "w", "compute_only", "_PipelineScheduleRuntime")]
        if own != "v":  # its executor of time steps has no stages next to each other on one rank
            styles.append(("only", "i", "compute_only", "PipelineScheduleMulti"))
        for form, style, torch_form, runtime_class in styles:
            path = tool.path("run%d.csv" % len(jobs))
            if tool.run("write", name, own, p, chunks, RUN_MICRO_BATCHES, form, style, path).returncode == 0:
                jobs.append(("%s %s %s" % (name, form, style), path, torch_form, runtime_class, stage_rank))
    return jobs


def check_training(checks, tool):
    import multiprocessing
    import queue
    jobs, wrong, done = jobs_to_train(tool), [], 0
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=train_rank, args=(rank, tool.path("store"), jobs, results))
                 for rank in range(RUN_RANKS)]
    for process in processes:
        process.start()
    try:
        while done < len(jobs) * RUN_RANKS and not wrong:
            rank, name, problem = results.get(timeout=RUN_SECONDS)
            done += 1
            if problem:
                wrong.append("%s, rank %d: %s" % (name, rank, problem))
    except queue.Empty:
        wrong.append("nothing for %d seconds after %d steps" % (RUN_SECONDS, done))
    for process in processes:
        process.join(10 if not wrong else 1)
        if process.is_alive():
            process.kill()
            process.join()
    checks.line("PyTorch trains one step on %d processes with every schedule, and the gradients are those of one" %
                RUN_RANKS, len(jobs), wrong)


def inside(program):
    import logging
    logging.disable(logging.WARNING)
    import torch.distributed.pipelining.schedules as torch_schedules
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(program, folder, hasattr(torch_schedules, "WAIT_REDUCE_GRAD"))
        check_printed(checks, tool, torch_schedules)
        check_single(checks, tool, torch_schedules)
        check_exported(checks, tool, torch_schedules)
        check_same_rules(checks, tool, torch_schedules)
        check_training(checks, tool)
    return 1 if checks.failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default=os.path.join(ROOT, "build", "test", "order_files"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options.tool)
    python = os.environ.get("ZB_PYTHON", "python3")
    version, reason = torch_version(python)
    if not version:
        print("ok - pytorch_schedules # SKIP no torch.distributed.pipelining in %s (%s); set ZB_PYTHON" %
              (python, reason))
        return 0
    print("torch %s" % version, flush=True)
    return subprocess.run([python, os.path.abspath(__file__),
                           "--inside", "--tool", os.path.abspath(options.tool)]).returncode


if __name__ == "__main__":
    sys.exit(main())
