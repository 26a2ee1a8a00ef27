#!/usr/bin/env python3
"""Plans with one collective over some of their ranks: what is trained is, byte for byte, the left fold of the members'
sums of gradients in f32, as it is computed here, over threads, TCP, MPI, on the sim device with delayed messages and
on the fake GPU (over its queues and over the fake NCCL).

    collectives.py [--bin BUILD/bin] [--tool BUILD/test/collective_plan] [--fake BUILD/test/cuda-fake]
                   [--poison BUILD/poison] [--jobs 2]

collective_plan writes the plans (test/runtime/plan/collective_plan.h says what they compute): W of rank r adds the
frozen parameter x.r to its sum of gradients in every micro-batch, the members put their sums together, UPDATE adds
what came out to p. After an all-gather UPDATE adds up itself, so it and an all-reduce must give the same bytes. Then
the tools that show a plan: the printed plan, timelines, traces, measured costs, memory. And a process that dies or
stalls in the middle of a collective, over TCP and over MPI.

Ends with "N passed, N failed, N skipped".
"""
import array
import itertools
import json
import operator
import os
import random
import re
import signal
import subprocess
import sys

import common
import processes
import processes_faults

KINDS = ("all-gather", "reduce-scatter", "all-reduce")
STEPS = 2
# Ranks, members (the bits of their ranks), elements, micro-batches.
NAMED = [
    (2, 0b11, 1, 1), (2, 0b11, 64, 2),
    (3, 0b111, 2, 2),  # fewer elements than members
    (3, 0b101, 10, 3), (4, 0b1111, 17, 2), (4, 0b1010, 3, 1), (4, 0b1011, 1001, 4), (4, 0b0110, 4096, 2),
    (5, 0b11111, 33, 3), (6, 0b110101, 255, 2), (6, 0b111111, 5, 1),
    (4, 0b1111, 100003, 2), (3, 0b111, 262145, 1),
]
RANDOM = 8
SIM_SEEDS = (1, 77)
SHOWN = (NAMED[4], NAMED[6])  # what shows plans takes these
FAULTY, MOST_KILLS = (3, 0b111, 4000000, 1), 20
# By launcher: what is run, and where the others must have been caught. The sum of an all-gather is in UPDATE; an
# all-reduce goes on beside the list, and UPDATE waits for what comes and is added.
FAULTY_KINDS = {"tcp": ("all-reduce", (r"is at UPDATE \(job \d+ of \d+\), waiting for message \d+ from rank \d+ \(sum",
                                       r"is at UPDATE \(job \d+ of \d+\), waiting for message \d+ to rank \d+ \(sum")),
                "mpi": ("all-gather", (r"is at UPDATE \(job \d+ of \d+\), waiting for message \d+ from",
                                       r"is at UPDATE \(job \d+ of \d+\), waiting for message \d+ to"))}
# Every plan is run by one of these too, in turn; no process without a rank.
STARTS = [("tcp", 2), ("mpi", 2), ("tcp", 3), ("tcp", 4), ("mpi", 4)]


def add(a, b):
    """Sums of f32, each rounded once: a double holds the sum of two f32 so well that rounding it again is harmless."""
    return array.array("f", map(operator.add, a, b))


def fold(terms):
    """((t0 + t1) + t2) + .."""
    first, *others = terms
    for term in others:
        first = add(first, term)
    return first


def floats(tensor):
    return array.array("f", tensor[2])


class Case:
    """One plan: its folder, and what must come out."""

    def __init__(self, suite, tool, folder, kind, ranks, bits, elements, micro_batches):
        self.suite, self.kind, self.ranks, self.elements = suite, kind, ranks, elements
        self.micro_batches, self.members = micro_batches, [r for r in range(ranks) if bits >> r & 1]
        self.name = f"{kind} of {self.members} of {ranks} ranks, {elements} elements, {micro_batches} micro-batches"
        self.folder = os.path.join(folder, f"{kind}-{ranks}-{bits}-{elements}-{micro_batches}")
        os.makedirs(self.folder)
        done = subprocess.run([tool, self.folder, *map(str, (kind, ranks, bits, elements, micro_batches))],
                              capture_output=True, text=True)
        if done.returncode:
            raise common.Failure(f"{self.name}: {done.stderr}")
        self.expect()

    def expect(self):
        """weights: {name: bytes} after STEPS steps; loss: of each step."""
        start = common.read_safetensors(os.path.join(self.folder, "weights.safetensors"))[0]
        x = [floats(start[f"x.{rank}"]) for rank in range(self.ranks)]
        total = fold([fold([x[rank]] * self.micro_batches) for rank in self.members])
        self.weights = {name: tensor[2] for name, tensor in start.items()}
        for name in [name for name in start if name.startswith("p")]:
            at = 0
            if self.kind == "reduce-scatter":
                at = self.elements * int(name[2:]) // len(self.members)
            value = floats(start[name])
            for _ in range(STEPS):
                value = add(value, total[at:at + len(value)])
            self.weights[name] = value.tobytes()
        value = fold([x[0][:1], *(one[:1] for one in x)])[0]
        self.loss = sum([value] * self.micro_batches) / self.micro_batches

    def trained(self):
        """What the members have after the step, one behind the other."""
        names = sorted((name for name in self.weights if name.startswith("p")), key=lambda name: (len(name), name))
        return b"".join(self.weights[name] for name in names)

    def check(self, how, losses, saved):
        """A difference is told with the first element that differs."""
        got = {name: tensor[2] for name, tensor in processes.read_saved(saved)["weights"].items()}
        wrong = [name for name in self.weights if got.get(name) != self.weights[name]]
        where = ""
        if wrong and wrong[0] in got:
            pairs = zip(floats((0, 0, self.weights[wrong[0]])), floats((0, 0, got[wrong[0]])))
            where = next((f", element {i}: {b!r} instead of {a!r}" for i, (a, b) in enumerate(pairs) if a != b), "")
        self.suite.check(set(got) == set(self.weights) and not wrong, f"{self.name}, {how}: other {wrong}{where}")
        self.suite.check(losses == [self.loss] * STEPS, f"{self.name}, {how}: losses {losses}, not {self.loss}")

    def run(self, how, *arguments):
        saved = self.folder + ".saved"
        try:
            rows = self.suite.train(self.folder, STEPS, "--save", saved, *arguments)
            self.check(how, [row["loss"] for row in rows], saved)
        except common.Failure as failure:
            self.suite.check(False, f"{self.name}, {how}: {failure}")

    def poisoned(self, poison):
        """Every free byte is overwritten between jobs: what is live is known."""
        saved = self.folder + ".poisoned"
        rows = poison.train(self.folder, STEPS, "--save", saved)
        self.check("poisoned", [row["loss"] for row in rows], saved)

    def launch(self, launcher, count):
        saved, how = f"{self.folder}.{launcher.name}", f"{launcher.name}, {count} processes"
        try:
            rows = processes.train(self.suite, launcher, count, self.folder, STEPS, "--save", saved)
            self.check(how, [row["loss"] for row in rows], saved)
        except (common.Failure, subprocess.TimeoutExpired) as failure:
            self.suite.check(False, f"{self.name}, {how}: {failure}")

    def fake(self, tool, seed):
        """On the fake GPU: no two accesses without an order either; the fake NCCL saves into `nccl:N:FOLDER`."""
        for how in ("", "nccl:1:", f"nccl:{self.ranks}:"):
            saved = self.folder + ".fake"
            done = subprocess.run([tool, self.folder, "text:" + common.CORPUS, str(STEPS), str(seed), how + saved],
                                  capture_output=True, text=True, timeout=common.patience(120))
            text = f"fake GPU, {how}seed {seed}"
            if not self.suite.check(done.returncode == 0, f"{self.name}, {text}: {done.stderr}"):
                continue
            *lines, races = done.stdout.splitlines()
            self.check(text, [float(line) for line in lines if " " not in line], saved)
            self.suite.check(races.split()[1] == "0", f"{self.name}, {text}: {races}")


def cases():
    """The named ones and some drawn at random, of all kinds."""
    chance = random.Random(13)
    for kind, row in itertools.product(KINDS, NAMED):
        yield kind, *row
    for _ in range(RANDOM):
        ranks = chance.randint(2, 6)
        members = chance.sample(range(ranks), chance.randint(2, ranks))
        bits, elements = sum(1 << rank for rank in members), chance.choice((7, 50, 600, 5000)) + chance.randrange(40)
        micro_batches = chance.randint(1, 4)
        for kind in KINDS:
            yield kind, ranks, bits, elements, micro_batches


def show(suite, case):
    """What draws, prints and measures a plan takes one with a collective, and shows its sums."""
    path = case.folder + ".shown"
    text = suite.must("zb-run", case.folder, "--print-plan")
    suite.check(re.search(r"^collective 0 %s G of ranks " % case.kind, text, re.M) and
                len(re.findall(rf"^ +\d+  COLLECTIVE {case.kind} 0  ", text, re.M)) == len(case.members),
                f"{case.name}: --print-plan\n{text}")
    adds = case.kind != "all-gather"
    for device in ("cpu", "sim"):
        case.run(f"{device}, drawn", "--device", device, "--timeline", path + ".svg", "--trace", path + ".json")
        with open(path + ".svg", encoding="utf-8") as file:
            drawn = file.read()
        # The plan has no time for them, so on a virtual clock they are nothing that could be drawn.
        sums = len(case.members) if adds and device == "cpu" else 0
        suite.check((">sum of what ranks sent<" in drawn) == (sums > 0) and ">other<" not in drawn,
                    f"{case.name}: the legend of {device}")
        suite.check(len(re.findall(r"<title>sum of what ranks sent, rank \d", drawn)) == sums,
                    f"{case.name}: the sums in the timeline of {device}")
        with open(path + ".json", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        kinds = [event["cat"] for event in events if event["ph"] == "X" and event.get("cat") == "A"]
        suite.check(len(kinds) == (len(case.members) if adds else 0), f"{case.name}: the trace of {device} has {kinds}")
    case.run("grad-norms", "--grad-norms")
    case.run("--threads 2", "--threads", 2)
    rows = suite.train(case.folder, STEPS, "--memory")
    for row in rows[-1]["memory"]:
        suite.check(row["most_live"] <= row["high_water"] <= row["arena"], f"{case.name}: --memory says {row}")
    suite.train(case.folder, 3, "--profile", path + ".costs.json")
    with open(path + ".costs.json", encoding="utf-8") as file:
        measured = json.load(file)
    sums = [row for row in measured["subprograms"] if row["kind"] == "ADD"]
    suite.check(sorted(row["rank"] for row in sums) == (case.members if adds else []) and
                all(row["time_ps"] > 0 for row in sums), f"{case.name}: --profile gives {sums}")


TIED = os.path.join(common.SOURCE, "test", "passes", "gathered.mlir")
TIED_PLANS = [(1, "1f1b", ""), (4, "1f1b", "a,b,c"), (4, "zb-h1", "a,b,c"), (4, "fthenb", "a,b,c"), (2, "zb-h1", "b"),
              (3, "1f1b", "a,c")]


def write_tied(folder):
    """Weights and tokens for the program whose parameter three of four ranks update."""
    chance = random.Random(5)
    values = {name: array.array("f", [chance.uniform(-1, 1) for _ in range(256)]) for name in ("wte", "u")}
    header = {name: {"dtype": "F32", "shape": [16, 16], "data_offsets": [1024 * i, 1024 * (i + 1)]}
              for i, name in enumerate(values)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    weights, tokens = os.path.join(folder, "tied.safetensors"), os.path.join(folder, "tied.bin")
    with open(weights, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(v.tobytes() for v in values.values()))
    with open(tokens, "wb") as file:
        file.write(array.array("H", [chance.randrange(16) for _ in range(400)]).tobytes())
    return weights, "tokens:" + tokens + ":u16"


def tied(suite, folder, launchers):
    """Any number of ranks, schedule and transport gives the bits of one rank, where nothing is gathered."""
    weights, data = write_tied(folder)
    oracle = None
    for ranks, schedule, cuts in TIED_PLANS:
        plan, saved = os.path.join(folder, f"tied-{ranks}-{schedule}"), os.path.join(folder, "tied.saved")
        arguments = ["--cuts", cuts] if cuts else []
        suite.compile(TIED, plan, "--ranks", ranks, "--schedule", schedule, "--micro-batches", 4, "--weights", weights,
                      "--optimizer", "adamw:lr=0.01", *arguments)
        run = ["--data", data, "--steps", 5, "--save", saved, "--json"]
        ways = [("threads", lambda: suite.must("zb-run", plan, *run)),
                *((f"sim, seed {seed}", lambda seed=seed: suite.must("zb-run", plan, *run, "--device", "sim", "--seed",
                                                                     seed)) for seed in SIM_SEEDS)]
        for launcher in launchers if ranks > 1 else ():
            ways += [(f"{launcher.name}, {count} processes",
                      lambda launcher=launcher, count=count: processes.launched(suite, launcher, count, plan,
                                                                                *run).stdout) for count in {2, ranks}]
        for how, train in ways:
            losses = [row["loss"] for row in common.json_lines(train()) if "loss" in row]
            got = losses, processes.read_saved(saved)
            oracle = oracle or got
            suite.check(got == oracle and len(losses) == 5, f"tied, {ranks} ranks, {schedule}, {how}: other bits")
        text = suite.must("zb-run", plan, "--print-plan")
        suite.check(("COLLECTIVE all-gather" in text) == (ranks > 1), f"tied, {ranks} ranks: no all-gather\n{text}")


class Training(processes_faults.Run):
    """Trains without a save, so that nearly all of its time goes to the collective."""
    begun = "step "


def faults(suite, tool, folder, launcher):
    """A process is killed or stopped while many megabytes of sums are on their way, or are added: the others end in
    time, say which rank it was and at which job they were, and leave no part of a checkpoint."""
    kind, places = FAULTY_KINDS[launcher.name]
    case = Case(suite, tool, os.path.join(folder, "faults-" + launcher.name), kind, *FAULTY)
    chance, seen = random.Random(3), ""

    def hit(rank, number, seconds, status, *arguments):
        saved = case.folder + ".faulty"
        run = Training(suite, launcher, case.folder, saved, *arguments, processes=case.ranks, every=10 ** 6)
        took, got, left, errors = run.hit(rank, number, chance.random() / 20)
        said = {other for other in range(case.ranks) if re.search(rf"rank {other} is at \w", errors)}
        half = [path for path in (saved, saved + ".tmp", saved + ".old") if os.path.exists(path)]
        suite.check(took is not None and took < seconds and got == status and not left and not half and
                    len(said - {rank}) == case.ranks - 1 and f"process {rank} (rank {rank}, pid " in errors,
                    f"signal {number} to rank {rank} in an {kind} over {launcher.name}: {took} s, status {got}, left "
                    f"{left} and {half}, said {said}\n{errors}")
        return errors

    def try_hit(rank, *how):
        try:
            return hit(rank, *how)
        except common.Failure as failure:
            suite.check(False, f"{kind} over {launcher.name}: {failure}")
            return ""

    for rank in range(case.ranks):
        # The start has to be done in the same time: one second is not always enough for mpirun on a busy machine.
        seen += try_hit(rank, signal.SIGSTOP, 9, 5, "--timeout", 4)
    for turn in range(MOST_KILLS):
        seen += try_hit(turn % case.ranks, signal.SIGKILL, 5, 128 + signal.SIGKILL)
        whole = all(re.search(place, seen) for place in places)
        if turn + 1 >= case.ranks and whole:
            break
    suite.check(whole, f"{MOST_KILLS} times nobody was hit while sums came, and while they went\n{seen}")


def main():
    options = common.arguments(__doc__, ("--tool", {}), ("--fake", {}), ("--poison", dict(metavar="BIN")))
    build = os.path.join(options.bin, "..")
    tool = options.tool or os.path.join(build, "test", "collective_plan")
    fake = options.fake or os.path.join(build, "test", "cuda-fake")
    poison = common.Suite(options.poison or os.path.join(build, "poison"))
    suite, skipped = common.Suite(options.bin), 0
    reasons = {name: launcher.reason_to_skip(suite) for name, launcher in processes.LAUNCHERS.items()}
    for name, reason in reasons.items():
        if reason:
            print(f"skip {name}: {reason}")
            skipped += 1
    if not os.path.exists(poison.tool("zb-run")):
        print(f"skip poison: no zb-run in '{poison.bin}' (cmake -DZB_POISON=ON; --poison BIN)")
        skipped, poison = skipped + 1, None
    starts = [start for start in STARTS if not reasons[start[0]]]
    with common.scratch() as folder:
        trained = {}

        def train(number, row):
            case = Case(suite, tool, folder, *row)
            trained[row] = case.trained()
            case.run("threads")
            for seed in SIM_SEEDS:
                case.run(f"sim, seed {seed}", "--device", "sim", "--seed", seed)
            if case.elements <= 5000:
                case.fake(fake, number)
            launcher, count = starts[number % len(starts)]
            case.launch(processes.LAUNCHERS[launcher], min(count, case.ranks))
            if row[1:] in SHOWN:
                show(suite, case)
            if poison:
                case.poisoned(poison)

        rows = list(dict.fromkeys(cases()))
        launchers = [processes.LAUNCHERS[name] for name, reason in reasons.items() if not reason]
        tasks = [*(lambda launcher=launcher: faults(suite, tool, folder, launcher) for launcher in launchers),
                 lambda: tied(suite, folder, launchers),
                 *(lambda row=row, number=number: train(number, row) for number, row in enumerate(rows))]
        common.run_parallel(tasks, options.jobs)
        for kind, *row in rows:
            if kind == "all-gather":
                suite.check(trained[kind, *row] == trained["all-reduce", *row], f"{row}: an all-gather gives others")
    print(f"{suite.passed} passed, {suite.failed} failed, {skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
