#!/usr/bin/env python3
"""Compiles as they are drawn: kinds of modules (test/data/drawn) with ranks, schedules, replicas, shards, what replicas
share, clipping and further options. Each ends with status 0, or is refused (1, 2, 3) with an error and a hint: none
with 70, by a signal, or after LIMIT seconds of processor time. Of those that are accepted some are trained, two steps,
and have the losses, weights and states of one rank, byte for byte, whatever changes no bit. Kinds of losses.json are
compiled in ways that were faults once, and trained: PyTorch's losses and norms of gradients.

    drawn_compiles.py [--bin BUILD/bin] [--jobs 2] [--count 150] [--seed N] [--trained 20] [--keep FILE] [--kinds RE]
                      [--schedules RE] [--compare BIN]

The seed is printed; the same seed draws the same command lines. --count 2700 is all: each kind of module with each
option of OPTIONS at least 20 times, which is checked. --keep writes a row a compile. --compare BIN trains nothing:
another build refuses the same command lines, and its plans are the same, byte for byte (none with --schedule search).
Ends with "N passed, N failed".
"""
import collections
import json
import os
import random
import re
import resource
import shutil
import struct
import sys
import threading

import common

FOLDER = os.path.join(common.DATA, "drawn")
LIMIT = 60
STEPS, BATCHES = 2, 32  # of data
STEPS_OF_TORCH, RATE, TOLERANCE = 5, 0.02, 1e-5
PER_KIND, LEAST = 36, 20
REFUSED = {1, 2, 3}

# What each kind is drawn with at least LEAST times of PER_KIND: in how many of them.
OPTIONS = {"ranks": 31, "schedule": 28, "replicas": 27, "sharding": 23, "shards": 23, "clip": 24}
OPTIMIZERS = ("sgd:lr=0.1", "sgd:lr=0.1,momentum=0.9", "adam:lr=1e-2", "lion:lr=1e-3")
SHARDINGS = ("optimizer", "gradients:step", "gradients:micro-batch", "parameters:step", "parameters:micro-batch")
# What takes seconds by default is given less to do in a short run.
SHORT = {"search": "search:budget=64"}
# Each with its share of all compiles.
FURTHER = (
    (0.12, lambda r, o: ("--chunks", r.choice((2, 2, 3)))),
    (0.10, lambda r, o: ("--placement", r.choice(("looped", "v", "wave", "plain")))),
    (0.15, lambda r, o: ("--recompute", r.choice(("all", "all", "tanh,gelu")))),
    (0.08, lambda r, o: ("--recompute", "auto", "--memory-limit", r.choice(("16K", "64K", "256K", "1M")))),
    (0.15, lambda r, o: ("--split", r.choice(("products", "none", "auto", "all")))),
    (0.10, lambda r, o: ("--memory-limit", r.choice(("4K", "16K", "64K", "1M")))),
    (0.15, lambda r, o: ("--precision", "bf16")),
    (0.10, lambda r, o: ("--metric", r.choice(("stage", "period")))),
    (0.30, lambda r, o: ("--optimizer", r.choice(OPTIMIZERS))),
    (0.08, lambda r, o: ("--loss-mean", "targets")),
    (0.20, lambda r, o: ("--bucket-bytes", r.choice((64, 1000))) if o["replicas"] > 1 else ()),
    (0.10, lambda r, o: ("--group", r.choice(("*bias:weight_decay=0", "*:lr=0.01")))),
    (0.05, lambda r, o: ("--freeze", r.choice(("a*", "*bias", "b.weight")))),
    (0.02, lambda r, o: ("--layout", "even")),
    (0.05, lambda r, o: ("--no-raise",)),
    (0.03, lambda r, o: ("--inference",)),
    (0.30, lambda r, o: ("--post-validation",) if o["clip"] else ()),
    (0.20, lambda r, o: ("--clip-norm-type", "inf") if o["clip"] else ()),
    (0.30, lambda r, o: ("--sequence-parallel",) if o["shards"] > 1 else ()),
    (0.60, lambda r, o: ("--gather", r.choice(("job", "micro-batch", "step")))
     if o["sharding"].startswith("parameters") else ()),
    (0.10, lambda r, o: ("--sum-groups", r.choice(("2", "2:inner"))) if o["replicas"] == 1 else ()),
)
# With one micro-batch, so that a step is one of PyTorch's.
KNOWN = (("--ranks", "1"), ("--ranks", "3", "--schedule", "1f1b"), ("--ranks", "2", "--tensor-parallel", "3"),
         ("--ranks", "2", "--clip-norm", "inf", "--split", "auto"), ("--tensor-parallel", "2", "--sequence-parallel"))
# What took more than LIMIT: orders that are all tried although ways to a state differ in many sums over replicas.
FOUND = (("detached_both", "--ranks 1 --micro-batches 8 --schedule search --data-parallel 2 "
          "--sharding gradients:micro-batch --clip-norm inf"),)
# What stays where a plan is compared with one of one rank: all else changes no bit.
SAME_BITS = ("--loss-mean", "--precision", "--optimizer", "--group", "--freeze", "--no-raise", "--clip-norm",
             "--clip-norm-type", "--sequence-parallel", "--sum-groups", "--data-parallel", "--tensor-parallel",
             "--micro-batches")


def schedules(suite, pattern):
    """Names of `zb-sched --list` that can be trained and fit a pattern."""
    lines = suite.must("zb-sched", "--list").splitlines()
    begin, end = lines.index("schedules:"), lines.index("placements:")
    names = [line.split()[0] for line in lines[begin + 1:end] if line.startswith("  ") and line[2] != " "]
    return [name for name in names if name != "dualpipe" and re.search(pattern or "", name)]


def share_of(chance, count, on):
    """`on` of PER_KIND, of `count`: rounded up or down at random."""
    return min(count, int(on * count / PER_KIND + chance.random()))


def turns(chance, count, on):
    """Which of `count` draws have an option that `on` of PER_KIND have."""
    chosen = set(chance.sample(range(count), share_of(chance, count, on)))
    return [i in chosen for i in range(count)]


def draw_kind(chance, kind, count, names):
    """Command lines of one kind: (kind, options that are on, arguments)."""
    on = {option: turns(chance, count, share) for option, share in OPTIONS.items() if option != "sharding"}
    shared = [i for i in range(count) if on["replicas"][i]]
    shared = set(chance.sample(shared, min(len(shared), share_of(chance, count, OPTIONS["sharding"]))))
    for i in range(count):
        o = {"ranks": chance.choice((2, 2, 2, 3, 3, 4, 5, 6, 8)) if on["ranks"][i] else 1,
             "schedule": chance.choice(names) if on["schedule"][i] else "zb-h1",
             "replicas": chance.choice((2, 2, 3, 4)) if on["replicas"][i] else 1,
             "shards": chance.choice((2, 2, 3, 4)) if on["shards"][i] else 1,
             "sharding": chance.choice(SHARDINGS) if i in shared else "none",
             "clip": chance.choice(("1", "0.01", "inf")) if on["clip"][i] else None}
        line = ["--ranks", o["ranks"], "--micro-batches", chance.choice((1, 2, 3, 4, 5, 8)), "--schedule",
                SHORT[o["schedule"]] if o["schedule"] in SHORT and count < PER_KIND - 1 else o["schedule"]]
        line += ["--data-parallel", o["replicas"]] if o["replicas"] > 1 else []
        line += ["--tensor-parallel", o["shards"]] if o["shards"] > 1 else []
        line += ["--sharding", o["sharding"]] if o["sharding"] != "none" else []
        line += ["--clip-norm", o["clip"]] if o["clip"] else []
        for share, option in FURTHER:
            if chance.random() < share:
                line += option(chance, o)
        yield kind, {option for option in OPTIONS if option in ("schedule", "ranks") and on[option][i]
                     or option not in ("schedule", "ranks") and o[option] not in (1, "none", None)}, \
            [str(word) for word in line]


def values_of(arguments, *flags):
    """The words of these options."""
    found = []
    for i, word in enumerate(arguments):
        if word in flags:
            found += [word] if i + 1 == len(arguments) or arguments[i + 1].startswith("--") else arguments[i:i + 2]
    return found


class Data:
    """Arrays for the inputs of a kind, drawn once: safetensors of BATCHES batches."""

    DTYPES = {"f32": ("F32", "f"), "i64": ("I64", "q")}

    def __init__(self, folder):
        self.folder, self.paths, self.lock = folder, {}, threading.Lock()

    def of(self, kind):
        with self.lock:
            if kind not in self.paths:
                self.paths[kind] = self.write(kind)
        return "safetensors:" + self.paths[kind]

    def arrays(self, kind):
        """{input: numbers}."""
        read, _ = common.read_safetensors(self.write(kind))
        codes = {dtype: (code, struct.calcsize(code)) for dtype, code in self.DTYPES.values()}
        return {name: list(struct.unpack(f"<{len(body) // codes[dtype][1]}{codes[dtype][0]}", body))
                for name, (dtype, _, body) in read.items()}

    def write(self, kind):
        chance, header, body = random.Random(kind), {}, b""
        with open(os.path.join(FOLDER, kind + ".mlir")) as file:
            text = file.read()
        for shape, name in re.findall(r"tensor<([^>]*)> \{aten\.input = \"(\w+)\"", text):
            *sizes, dtype = shape.split("x")
            sizes = [BATCHES * int(sizes[0]), *map(int, sizes[1:])]
            count = 1
            for size in sizes:
                count *= size
            kind_of, code = self.DTYPES[dtype]
            numbers = [chance.gauss(0, 1) if code == "f" else chance.randrange(4) for _ in range(count)]
            data = struct.pack(f"<{count}{code}", *numbers)
            header[name] = {"dtype": kind_of, "shape": sizes, "data_offsets": [len(body), len(body) + len(data)]}
            body += data
        text = json.dumps(header).encode()
        path = os.path.join(self.folder, kind + ".data")
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + body)
        return path


def near(got, wanted):
    return abs(got - wanted) <= TOLERANCE * max(abs(wanted), 1)


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))


class Drawn:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.data = suite, folder, Data(folder)
        self.rows, self.refusals, self.accepted = [], collections.Counter(), []

    def compile(self, number, kind, on, arguments):
        out = os.path.join(self.folder, str(number))
        process = self.suite.run("zbc", os.path.join(FOLDER, kind + ".mlir"), "-o", out, "--json", *arguments,
                                 preexec_fn=limit)
        status, said = process.returncode, process.stderr
        refused = status in REFUSED and "error: " in said and "\n  hint: " in said
        self.suite.check(status == 0 or refused, f"{kind} {' '.join(arguments)}: exit {status}, {said[:1500]}")
        if refused:
            told = re.search(r"error: (.*)", said).group(1)
            self.refusals[re.sub(r"-?\d[\d,.]*|'[^']*'|@?s\d+_[A-Z]", "N", told)] += 1
        elif status == 0 and "--inference" not in arguments:
            self.accepted.append((number, kind, arguments, out))
        else:
            shutil.rmtree(out, ignore_errors=True)
        self.rows.append({"number": number, "kind": kind, "status": status, "arguments": " ".join(arguments),
                          "on": sorted(on), "said": said[:600]})

    def compare(self, number, kind, arguments, other):
        """Another build gives the same bytes, or refuses, too."""
        paths = [os.path.join(self.folder, f"{number}.{side}") for side in "ab"]
        done = [suite.run("zbc", os.path.join(FOLDER, kind + ".mlir"), "-o", path, *arguments)
                for suite, path in zip((other, self.suite), paths)]
        status = [process.returncode for process in done]
        self.rows.append({"number": number, "kind": kind, "status": status[1], "arguments": " ".join(arguments)})
        if self.suite.check(status[0] == status[1], f"{kind} {' '.join(arguments)}: exit {status}, {done[1].stderr}"):
            same = status[0] or common.folder_bytes(paths[0]) == common.folder_bytes(paths[1])
            self.suite.check(same, f"{kind} {' '.join(arguments)}: other bytes")
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)

    # ---- What was a fault once ----

    def known(self, kind, wanted, arguments):
        """Compiled within the limit, and PyTorch's losses."""
        out = os.path.join(self.folder, "known-" + kind + "".join(arguments).replace("/", ""))
        try:
            self.suite.must("zbc", os.path.join(FOLDER, kind + ".mlir"), "-o", out, "--optimizer", f"sgd:lr={RATE}",
                            *arguments, preexec_fn=limit)
            rows = common.json_lines(self.suite.must("zb-run", out, "--data", self.data.of(kind), "--json", "--steps",
                                                     STEPS_OF_TORCH, "--timeout", 120, "--grad-norms"))
            got = [row["loss"] for row in rows]
            self.suite.check(len(got) == len(wanted["losses"]) and all(map(near, got, wanted["losses"])),
                             f"{kind} {' '.join(arguments)}: losses {got}, PyTorch's {wanted['losses']}")
            norms = rows[0]["gradient_norms"]
            wrong = {name: (norm, wanted["norms"].get(name)) for name, norm in norms.items()
                     if not near(norm, wanted["norms"].get(name, float("inf")))}
            self.suite.check(norms and not wrong, f"{kind} {' '.join(arguments)}: norms {wrong} (PyTorch's second)")
        except common.Failure as failure:
            self.suite.check(False, f"{kind} {' '.join(arguments)}: {failure}")
        shutil.rmtree(out, ignore_errors=True)

    # ---- Training ----

    def train(self, plan, kind):
        rows = self.suite.must("zb-run", plan, "--data", self.data.of(kind), "--steps", STEPS, "--json", "--save",
                               plan + ".saved", "--timeout", 120)
        values = common.read_checkpoint(plan + ".saved")
        return [row.get("loss") for row in common.json_lines(rows)], dict(sorted(values.items()))

    def same_bits(self, number, kind, arguments, plan):
        wanted = plan + ".one"
        kept = values_of(arguments, *SAME_BITS)
        sharding = values_of(arguments, "--sharding")[1:]
        if sharding and sharding[0].endswith(":micro-batch"):
            kept += ["--sharding", "gradients:micro-batch"]
        try:
            self.suite.must("zbc", os.path.join(FOLDER, kind + ".mlir"), "-o", wanted, "--ranks", 1, "--schedule",
                            "fthenb", *kept)
            (losses, values), (wanted_losses, wanted_values) = (self.train(p, kind) for p in (plan, wanted))
            difference = common.first_difference(wanted_values, values)
            if losses != wanted_losses:
                difference = f"losses {losses}, of one rank {wanted_losses}; {difference}"
        except common.Failure as failure:
            difference = str(failure)
        self.suite.check(not difference, f"{kind} {' '.join(arguments)} trained: {difference}")
        for path in (plan, wanted, plan + ".saved", wanted + ".saved"):
            shutil.rmtree(path, ignore_errors=True)

    def report(self, keep):
        by_status = collections.Counter(row["status"] for row in self.rows)
        print("exit status: " + ", ".join(f"{status}: {by_status[status]}" for status in sorted(by_status)))
        print(f"{len(self.refusals)} kinds of refusals; the most frequent ones:")
        for text, count in self.refusals.most_common(12):
            print(f"  {count:4} {text[:150]}")
        if keep:
            with open(keep, "w") as file:
                file.writelines(json.dumps(row) + "\n" for row in sorted(self.rows, key=lambda row: row["number"]))


def check_counts(suite, rows):
    """Each kind with each option, as often as the head says."""
    counts = collections.Counter((row["kind"], option) for row in rows for option in row["on"])
    for kind in {row["kind"] for row in rows}:
        few = [option for option in OPTIONS if counts[kind, option] < LEAST]
        suite.check(not few, f"{kind}: fewer than {LEAST} compiles with {few}")


def check_itself(suite):
    """What the script takes for granted."""
    words = ["--clip-norm", "1", "--sequence-parallel", "--ranks", "2", "--post-validation"]
    suite.check(values_of(words, "--sequence-parallel", "--ranks", "--post-validation") == words[2:], "values_of")
    drawn = [list(draw_kind(random.Random(1), "mlp", PER_KIND, ["1f1b", "zb-v"])) for _ in range(2)]
    suite.check(drawn[0] == drawn[1] and len(drawn[0]) == PER_KIND, "a seed draws the same")
    suite.check(all(sum(option in on for _, on, _ in drawn[0]) >= LEAST for option in OPTIONS), "too few of an option")
    suite.check(not near(1, 1.1) and near(1, 1 + TOLERANCE / 2), "near")


def main():
    options = common.arguments(__doc__, ("--count", {"type": int, "default": 150}),
                               ("--seed", {"type": int, "default": 37}), ("--trained", {"type": int, "default": 20}),
                               ("--keep", {}), ("--kinds", {}), ("--schedules", {}), ("--compare", {"metavar": "BIN"}))
    suite = common.Suite(options.bin)
    check_itself(suite)
    kinds = sorted(name[:-5] for name in os.listdir(FOLDER) if name.endswith(".mlir"))
    if options.kinds:
        kinds = [kind for kind in kinds if re.search(options.kinds, kind)]
    names = schedules(suite, options.schedules or ("^(?!search)" if options.compare else None))
    chance = random.Random(options.seed)
    each, more = divmod(options.count, len(kinds))
    first = chance.sample(kinds, len(kinds))
    lines = [line for i, kind in enumerate(first) for line in draw_kind(chance, kind, each + (i < more), names)]
    lines += [(kind, set(), words.split()) for kind, words in FOUND if kind in kinds]
    print(f"seed {options.seed}: {len(lines)} compiles of {len(kinds)} kinds of modules", flush=True)
    with common.scratch() as folder:
        drawn = Drawn(suite, folder)
        if options.compare:
            other = common.Suite(options.compare)
            common.run_parallel([lambda n=n, line=line: drawn.compare(n, line[0], line[2], other)
                                 for n, line in enumerate(lines) if "search" not in line[2]], options.jobs)
            drawn.report(options.keep)
            return suite.finish()
        common.run_parallel([lambda n=n, line=line: drawn.compile(n, *line) for n, line in enumerate(lines)],
                            options.jobs)
        with open(os.path.join(FOLDER, "losses.json")) as file:
            losses = {kind: wanted for kind, wanted in json.load(file).items() if kind in kinds}
        ways = [(kind, losses[kind], way) for i, kind in enumerate(losses) for j, way in enumerate(KNOWN)
                if options.count > 150 or (i + j) % 2 == 0]
        common.run_parallel([lambda way=way: drawn.known(*way) for way in ways], options.jobs)
        accepted = sorted(drawn.accepted)
        trained = sorted(chance.sample(accepted, min(options.trained, len(accepted))))
        common.run_parallel([lambda one=one: drawn.same_bits(*one) for one in trained], options.jobs)
        drawn.report(options.keep)
        print(f"{len(trained)} of {len(accepted)} plans trained against one rank, {len(ways)} against PyTorch")
        if each >= PER_KIND - 1:
            check_counts(suite, drawn.rows)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
