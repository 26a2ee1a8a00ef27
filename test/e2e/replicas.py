#!/usr/bin/env python3
"""Data parallel: zbc --data-parallel D makes replicas of all ranks, whose gradients are summed.

    replicas.py [--bin BUILD/bin] [--draw SEED] [--cases N]
    replicas.py --table [--bin BUILD/bin]     ranks 1, 2, 4 x replicas 2, 3, 4 x four schedules x two models, each with
                                              groups, with folds, and bytes; in threads, over TCP and MPI by turns
    replicas.py --table --graphs FOLDER       so with gpt2.onnx and llama.onnx of FOLDER

fold: the sums of D replicas are, bit by bit, a left fold of what each replica gives alone. One replica's sum comes from
a run of its own on its own rows: SGD with momentum keeps the mean of the gradients of its first step, and with powers
of two that is the sum times an exact number. The fold is computed here.
same: layouts, schedules, processes, threads, clocks, clipping, post-validation, recompute, dropout and bf16 give the
losses, weights and optimizer state of one rank with as many replicas. N cases are drawn by SEED, which is printed.
groups: one pipeline that sums D groups of micro-batches (--sum-groups) gives the losses, weights and optimizer state
of D replicas, bit by bit, and goes on from what they saved, as they from what it saved.
buckets: sums of one accumulator each, of some and of all of a stage give the same bits, over different numbers of
collectives with the same bytes.
overlap: what ranks wait for sums behind their last job is, to the picosecond, what the schedule library says, and the
step that of the device sim; it is less than with all sums there. A search that knows of sums makes no step longer.
whole: the first loss of D replicas with M micro-batches is that of one with D M of them; later ones are apart by
rounding alone.
resume: from replicas to one pipeline of other ranks and back: what was saved is what is loaded.
evaluate: an evaluation of replicas is that of one pipeline. wrong: what cannot be.
Ends with "N passed, N failed".
"""
import array
import itertools
import os
import random
import re
import struct
import sys

import common
import processes

M = 4
STEPS = 3
ROWS, LENGTH = 2, 32  # of a micro-batch of the models
MODELS = ("gpt2-small", "llama-small")
TIED = {"gpt2-small": "lm.transformer.wte.weight", "gpt2": "lm.lm_head.weight"}  # has two uses, each with its sum
LAYOUTS = ((1, "1f1b", ()), (2, "1f1b", ()), (2, "zb-h1", ()), (2, "zb-v", ()), (4, "zb-h2", ()), (4, "search", ()),
           (2, "interleaved-1f1b", ("--chunks", 2)), (3, "zb-h1", ("--metric", "period")))
SCHEDULES = ("1f1b", "zb-h1", "zb-h2", "zb-v")
STARTS = (None, ("tcp", 2), None, ("mpi", 3), None)  # of --table: threads, or processes of a launcher
BUCKETS = (("--bucket-bytes", "1"), ("--bucket-bytes", "20K"), ("--bucket-bytes", "1G"), ())
OPTIONS = ((), ("--precision", "bf16"), ("--clip-norm", "0.5"), ("--clip-norm", "0.05", "--clip-norm-type", "inf"),
           ("--clip-norm", "0.5", "--post-validation"), ("--clip-norm", "50", "--post-validation"),
           ("--recompute", "all"), ("--split", "none"), ("--bucket-bytes", "20K"),
           ("--bucket-bytes", "1", "--clip-norm", "0.5", "--post-validation"),
           ("--bucket-bytes", "9K", "--recompute", "all", "--precision", "bf16"),
           ("--optimizer", "sgd:lr=0.1,momentum=0.9"))


def rounded(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def fold(parts):
    """((p0 + p1) + p2) + ..: a sum of two f32 in f64, rounded once, is their sum in f32."""
    total = list(parts[0])
    for part in parts[1:]:
        total = [rounded(a + b) for a, b in zip(total, part)]
    return total


class Replicas:
    def __init__(self, suite, folder, data=common.DATA):
        self.suite, self.folder, self.data, self.count = suite, folder, data, 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, model, ranks, replicas, *options):
        self.count += 1
        out = self.path(f"plan{self.count}")
        self.suite.compile(os.path.join(self.data, model + ".onnx"), out, "--ranks", ranks, "--data-parallel",
                           replicas, *options)
        return out

    def train(self, plan, steps, *options, corpus=common.CORPUS, over=None):
        """Losses (with clipping and norms), what was saved, and where. over: a launcher and a number of processes."""
        self.count += 1
        saved = self.path(f"saved{self.count}")
        options = (*options, "--save", saved)
        rows = (processes.train(self.suite, *over, plan, steps, *options) if over else
                self.suite.train(plan, steps, *options, corpus=corpus))
        steps = [(row["loss"], row["norm"]) if "norm" in row else row["loss"] for row in rows]
        return steps, processes.read_saved(saved), saved

    def run(self, model, ranks, replicas, schedule, options=(), micro_batches=M):
        return self.train(self.compile(model, ranks, replicas, "--micro-batches", micro_batches, "--schedule", schedule,
                                       *options), STEPS)

    def same(self, text, wanted, got):
        different = [name for kind in wanted[1] for name in wanted[1][kind]
                     if got[1][kind].get(name) != wanted[1][kind][name]]
        self.suite.check(wanted[0] == got[0] and not different,
                         f"{text}: losses {got[0]} instead of {wanted[0]}, other tensors: {different[:3]}")

    def momentum(self, model, ranks, replicas, corpus=common.CORPUS, micro_batches=M, options=()):
        """The mean of the gradients of the first step: parameter -> f32."""
        plan = self.compile(model, ranks, replicas, "--micro-batches", micro_batches, "--optimizer",
                            "sgd:lr=0,momentum=0.5", *options)
        _, saved, _ = self.train(plan, 1, corpus=corpus)
        return {name: array.array("f", tensor[2]) for name, tensor in saved["optimizer"].items()}

    def folds(self):
        for model, replicas in itertools.product(MODELS, (2, 4)):
            alone = self.alone(model, replicas, ROWS, LENGTH)
            folded = self.folded(model, alone, replicas)
            for ranks in (1, 2):
                self.expect_fold(f"{model}, {replicas} replicas of {ranks} ranks",
                                 self.momentum(model, ranks, replicas), alone, folded)
            self.suite.check(alone[0] != alone[1], f"{model}: the replicas read the same rows")

    def inner(self):
        """Groups of which first the same micro-batch of all is summed: folds of what each micro-batch gives alone."""
        with open(common.CORPUS, "rb") as file:
            corpus = file.read()
        groups, each = 2, 4
        alone = []
        for batch in range(groups * each):
            part = self.path("part.txt")
            with open(part, "wb") as file:
                file.write(corpus[batch * ROWS * LENGTH:])
            alone.append(self.momentum("gpt2-small", 1, 1, part, 1))
        plain = self.momentum("gpt2-small", 1, 1, micro_batches=groups * each, options=("--sum-groups", groups))
        for ranks, schedule in ((1, "1f1b"), (2, "zb-h1"), (4, "zb-h2")):
            together = self.momentum("gpt2-small", ranks, 1, micro_batches=groups * each,
                                     options=("--sum-groups", f"{groups}:inner", "--schedule", schedule))
            wrong = [name for name in alone[0] if name != self.tied("gpt2-small") and together.get(name) != array.array(
                "f", [value / (groups * each) for value in fold(
                    [fold([alone[group * each + m][name] for group in range(groups)]) for m in range(each)])])]
            self.suite.check(together.keys() == alone[0].keys() and not wrong and together != plain,
                             f"inner groups on {ranks} ranks, {schedule}: {len(wrong)} sums are no fold")

    def layouts(self, draw, count):
        cases = list(itertools.product(MODELS, (2, 3, 4), OPTIONS, LAYOUTS))
        for model, replicas, options, (ranks, schedule, more) in draw.sample(cases, min(count, len(cases))):
            self.same(f"{model}, {replicas} replicas of {ranks} ranks, {schedule} {' '.join(map(str, options + more))}",
                      self.run(model, 1, replicas, "1f1b", options),
                      self.run(model, ranks, replicas, schedule, (*options, *more)))

    def groups(self, draw, count):
        cases = list(itertools.product(MODELS, (2, 3, 4), (1, 2, 4), SCHEDULES, OPTIONS))
        for model, groups, ranks, schedule, options in draw.sample(cases, min(count, len(cases))):
            options = options if "--bucket-bytes" not in options else ()  # replicas alone have them
            self.same(f"{model}, {groups} groups on {ranks} ranks, {schedule} {' '.join(map(str, options))}",
                      self.run(model, 2, groups, "1f1b", options),
                      self.run(model, ranks, 1, schedule, (*options, "--sum-groups", groups), M * groups))
        text = self.suite.must("zb-run", self.path(f"plan{self.count - 1}"), "--print-plan")
        self.suite.check("sums of" in text, f"no sums in {text[:400]}")

    def alone(self, model, replicas, rows, length):
        """What each replica gives alone: the mean of the gradients of its first step."""
        with open(common.CORPUS, "rb") as file:
            corpus = file.read()
        found = []
        for replica in range(replicas):
            part = self.path("part.txt")
            with open(part, "wb") as file:
                file.write(corpus[replica * M * rows * length:])
            found.append(self.momentum(model, 1, 1, part))
        return found

    @staticmethod
    def tied(model):
        """Of a tied parameter the sum of each use is folded first, which its sum does not tell."""
        return TIED[model] + ".momentum_buffer" if model in TIED else None

    def folded(self, model, alone, replicas):
        """The mean that replicas have: their sums, of which `alone` has exact quarters, times 1 / (D M) in f32."""
        part = M * rounded(1 / (M * replicas))
        return {name: array.array("f", [value * part for value in fold([one[name] for one in alone])])
                for name in alone[0] if name != self.tied(model)}

    def expect_fold(self, text, together, alone, folded):
        wrong = [name for name in folded if together.get(name) != folded[name]]
        self.suite.check(alone[0] and together.keys() == alone[0].keys() and not wrong,
                         f"{text}: {len(wrong)} sums are no fold")

    def expect_bytes(self, text, model, plan, saved):
        """Each accumulator is summed once: as many as parameters, and one more of a tied one."""
        summed = sum(map(sum, self.sums_of(plan).values()))
        wanted = sum(len(tensor[2]) for tensor in saved["weights"].values())
        wanted += len(saved["weights"][TIED[model]][2]) if model in TIED else 0
        self.suite.check(summed == wanted, f"{text}: sums of {summed} bytes, accumulators have {wanted}")

    def table(self, models, counts, rows, length):
        """Every layout of --table, buckets of one accumulator, of some and of all, and launchers, by turns."""
        buckets, starts = itertools.cycle(BUCKETS), itertools.cycle(STARTS)
        for model, replicas in itertools.product(models, counts):
            wanted = self.run(model, 1, 1, "1f1b", ("--sum-groups", replicas), M * replicas)
            alone = self.alone(model, replicas, rows, length)
            folded = self.folded(model, alone, replicas)
            for ranks, schedule in itertools.product((1, 2, 4), SCHEDULES):
                options, start = next(buckets), next(starts)
                over = (processes.LAUNCHERS[start[0]], start[1]) if start else None
                if over and (over[0].reason_to_skip(self.suite) or ranks == 1):
                    over = None
                text = f"{model}, {replicas} replicas of {ranks} ranks, {schedule} {options} {over and start}"
                plan = self.compile(model, ranks, replicas, "--micro-batches", M, "--schedule", schedule, *options)
                got = self.train(plan, STEPS, over=over)
                self.same(f"{text}, groups of one rank", wanted, got)
                self.expect_bytes(text, model, plan, got[1])
                self.expect_fold(text, self.momentum(model, ranks, replicas,
                                                     options=("--schedule", schedule, *options)), alone, folded)
            print(f"  {model}, {replicas} replicas: {self.suite.passed} passed, {self.suite.failed} failed", flush=True)

    def groups_resume(self):
        replicas = self.compile("gpt2-small", 2, 3, "--micro-batches", M, "--clip-norm", "0.5")
        groups = self.compile("gpt2-small", 4, 1, "--micro-batches", 3 * M, "--sum-groups", 3, "--clip-norm", "0.5")
        whole = self.train(replicas, 4)
        for first, second in ((replicas, groups), (groups, replicas)):
            begun = self.train(first, 2)
            ended = self.train(second, 2, "--resume", begun[2])
            self.same("replicas and groups go on from each other", whole, (begun[0] + ended[0], ended[1]))
        one = self.run("gpt2-small", 2, 1, "1f1b", micro_batches=3 * M)
        three = self.run("gpt2-small", 2, 3, "1f1b")
        self.suite.check(one[1] != three[1], "groups change no bit: this test compares nothing")

    def sums_of(self, plan):
        """Of the plan as text: rank -> bytes of each of its sums over replicas, in their order."""
        rows = re.findall(r"^collective \d+ all-reduce G of the replicas of rank (\d+) [^:]*: ([\d +]+) bytes$",
                          self.suite.must("zb-run", plan, "--print-plan"), re.M)
        return {rank: [sum(map(int, sizes.split("+"))) for other, sizes in rows if other == rank] for rank, _ in rows}

    def buckets(self):
        for model, replicas, (ranks, schedule, *more) in (
                ("gpt2-small", 2, (2, "zb-h1")), ("gpt2-small", 3, (1, "1f1b")), ("llama-small", 2, (2, "zb-v")),
                ("llama-small", 3, (2, "interleaved-1f1b", "--chunks", 2, "--clip-norm", "0.5", "--split", "none"))):
            plans = [self.compile(model, ranks, replicas, "--micro-batches", M, "--schedule", schedule, *more,
                                  "--bucket-bytes", size) for size in ("1G", "64K", "1")]
            runs = [self.train(plan, STEPS) for plan in plans]
            sums = [self.sums_of(plan) for plan in plans]
            counts = [sum(map(len, one.values())) for one in sums]
            self.same(f"{model}, {replicas} replicas of {ranks} ranks, {schedule}, some buckets", runs[0], runs[1])
            self.same(f"{model}, {replicas} replicas of {ranks} ranks, {schedule}, many buckets", runs[0], runs[2])
            self.suite.check(counts[0] < counts[1] < counts[2], f"{model}, {schedule}: {counts} buckets")
            bytes_of = [{rank: sum(sizes) for rank, sizes in one.items()} for one in sums]
            self.suite.check(len(bytes_of[0]) == ranks and bytes_of[0] == bytes_of[1] == bytes_of[2],
                             f"{model}, {schedule}: sums of {bytes_of} bytes")

    def overlap(self, draw, count):
        cases = list(itertools.product(MODELS, (2, 3, 5), ("1", "20K", "60K", "25M"), LAYOUTS[:4] + LAYOUTS[6:]))
        covered = ("gpt2-small", 2, "20K", (4, "zb-h1", []))
        shorter = 0
        for model, replicas, size, (ranks, schedule, more) in [covered, *draw.sample(cases, min(count, len(cases)))]:
            out, text = self.path("overlap"), f"{model}, {replicas} replicas of {ranks} ranks, {schedule}, {size}"
            found = self.suite.compile(os.path.join(common.DATA, model + ".onnx"), out, "--ranks", ranks,
                                       "--data-parallel", replicas, "--micro-batches", M, "--schedule", schedule, *more,
                                       "--bucket-bytes", size)
            exposed = {name: round(seconds * 1e12) for name, seconds in found["exposed"].items()}
            self.suite.check(exposed["seconds"] == exposed["by_schedule"] > 0, f"{text}: {exposed}")
            shorter += exposed["seconds"] < exposed["at_end"]
            step = self.suite.train(out, 1, "--device", "sim", "--barrier")[0]["seconds"]
            self.suite.check(round(step * 1e12) == round(found["step_seconds"] * 1e12),
                             f"{text}: a step of {found['step_seconds']} takes {step}")
        self.suite.check(shorter > 0, "no sums are covered")
        # Sums do not land where something is still being sent: they would wait for other ranks.
        for family, *options in (("six", "--schedule", "1f1b", "--data-parallel", 2, "--bucket-bytes", "20K"),
                                 ("phi", "--schedule", "zb-v", "--data-parallel", 3, "--sharding", "optimizer")):
            found = self.suite.compile(os.path.join(common.DATA, "families", family + ".mlir"), self.path("landing"),
                                       "--ranks", 4, "--micro-batches", 5, *options)["exposed"]
            self.suite.check(found["seconds"] == found["by_schedule"] > 0, f"{family} {options}: {found}")
        # Shards of five replicas are smaller than those of the three that the proof looks at, also with their padding.
        self.suite.compile(os.path.join(common.DATA, "gpt2-small.onnx"), self.path("padded"), "--ranks", 2,
                           "--data-parallel", 5, "--micro-batches", 2, "--schedule", "zb-v", "--split", "auto",
                           "--bucket-bytes", "25K")
        model = os.path.join(common.DATA, "gpt2-small.onnx")
        options = ("--ranks", 2, "--micro-batches", M, "--cuts", "lm.transformer.h.3")
        replicas = ("--data-parallel", 2, "--bucket-bytes", "20K")
        order = self.path("order.csv")
        self.suite.compile(model, self.path("alone"), *options, "--schedule", "search", "--placement", "plain", "--csv",
                           order)
        after = self.suite.compile(model, self.path("after"), *options, *replicas, "--schedule", order)
        together = self.suite.compile(model, self.path("together"), *options, *replicas, "--schedule", "search",
                                      "--placement", "plain")
        self.suite.check(together["step_seconds"] <= after["step_seconds"],
                         f"a search with sums: {together['step_seconds']}, without: {after['step_seconds']}")

    def places(self):
        plan = self.compile("gpt2-small", 2, 2, "--micro-batches", M, "--bucket-bytes", "40K")
        wanted = self.train(plan, STEPS)
        for options in (("--device", "sim", "--seed", 7), ("--threads", 2), ("--barrier",)):
            self.same(f"two replicas with {options}", wanted, self.train(plan, STEPS, *options))
        for name, count in (("tcp", 2), ("tcp", 3), ("mpi", 4)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            self.same(f"{count} processes over {name}", wanted, self.train(plan, STEPS, over=(launcher, count)))
        self.same("dropout", self.run("gpt2-dropout", 1, 3, "1f1b"), self.run("gpt2-dropout", 2, 3, "zb-h1"))

    def whole(self):
        for model, replicas in (("gpt2-small", 2), ("llama-small", 3)):
            parts = self.run(model, 2, replicas, "zb-h1")
            one = self.run(model, 2, 1, "zb-h1", micro_batches=M * replicas)
            apart = max(abs(a - b) for a, b in zip(parts[0], one[0]))
            self.suite.check(parts[0][0] == one[0][0] and apart < 1e-6, f"{model}: losses {parts[0]} and {one[0]}")

    def resume(self):
        plan = self.compile("gpt2-small", 2, 2, "--micro-batches", M)
        one = self.compile("gpt2-small", 4, 1, "--micro-batches", 2 * M)
        begun, whole = self.train(plan, 2), self.train(plan, 4)
        ended = self.train(plan, 2, "--resume", begun[2])
        self.same("replicas resumed", whole, (begun[0] + ended[0], ended[1]))
        other = self.train(one, 2, "--resume", begun[2])
        self.suite.check(other[0][0] == ended[0][0], f"one pipeline goes on from replicas: {other[0]}, {ended[0]}")
        back = self.train(plan, 1, "--resume", other[2])
        alone = self.train(one, 1, "--resume", other[2])
        self.suite.check(back[0] == alone[0], f"replicas go on from one pipeline: {back[0]}, {alone[0]}")

    def profile(self):
        """What replicas measured is read as costs of one."""
        plan = self.compile("gpt2-small", 2, 2, "--micro-batches", M)
        costs = self.path("costs.json")
        self.train(plan, 12, "--profile", costs)
        self.compile("gpt2-small", 2, 2, "--micro-batches", M, "--costs", costs)

    def evaluate(self):
        steps = 2
        plans = [self.compile("gpt2-small", 2, 2, "--micro-batches", M),
                 self.compile("gpt2-small", 1, 1, "--micro-batches", 2 * M)]
        losses = [common.json_lines(self.suite.must("zb-run", plan, "--eval", "text:" + common.CORPUS, "--eval-steps",
                                                    steps, "--json"))[-1]["eval"]["loss"] for plan in plans]
        self.suite.check(losses[0] == losses[1], f"evaluations give {losses}")

    def wrong(self):
        model = os.path.join(common.DATA, "gpt2-small.onnx")
        for words, status, wanted in (
                ((model, "--data-parallel", "0"), 2, "expected a whole number of at least 1, got '0'"),
                ((model, "--data-parallel", "4097"), 2, "expected 1 to 4096, got 4097"),
                ((model, "--sum-groups", "2", "--micro-batches", "3"), 2, "divisor of the 3 micro-batches, got 2"),
                ((model, "--sum-groups", "0"), 2, "expected a whole number of at least 1, .*got '0'"),
                ((model, "--bucket-bytes", "1M"), 2, "without --data-parallel"),
                ((model, "--bucket-cap-mb", "1"), 2, "--bucket-bytes 1M"),
                ((model, "--sum-groups", "1:inner", "--micro-batches", "2"), 2, "nothing to be summed with"),
                ((model, "--sum-groups", "2:outer", "--micro-batches", "2"), 2, "with :inner behind it or not"),
                ((model, "--sum-group", "2"), 2, "did you mean '--sum-groups'"),
                ((model, "--sum-groups", "2", "--micro-batches", "2", "--data-parallel", "2"), 2, "in the place of"),
                ((model, "--data-paralel", "2"), 2, "did you mean '--data-parallel'")):
            done = self.suite.run("zbc", *words, "-o", self.path("no"))
            self.suite.check(done.returncode == status and re.search(wanted, done.stderr) and
                             not os.path.exists(self.path("no")), f"{words[1:]}: {done.returncode}, {done.stderr}")


def main():
    options = common.arguments(__doc__, ("--draw", dict(type=int, default=random.randrange(1 << 32))),
                               ("--cases", dict(type=int, default=5)), ("--table", dict(action="store_true")),
                               ("--graphs", dict(metavar="FOLDER", help="of --table: gpt2.onnx and llama.onnx there")),
                               ("--only", dict(nargs="+", help="of --table: models")),
                               ("--replicas", dict(nargs="+", type=int, default=(2, 3, 4), help="of --table")))
    suite = common.Suite(options.bin)
    print(f"  --draw {options.draw}")
    with common.scratch() as folder:
        it = Replicas(suite, folder)
        if options.table:
            if options.graphs:
                it.data = options.graphs
                it.table(options.only or ("gpt2", "llama"), options.replicas, 4, 128)
            else:
                it.table(options.only or MODELS, options.replicas, ROWS, LENGTH)
            return suite.finish()
        it.folds()
        it.inner()
        it.layouts(random.Random(options.draw), options.cases)
        it.groups(random.Random(options.draw), max(options.cases // 2, 1))
        it.groups_resume()
        it.buckets()
        it.overlap(random.Random(options.draw), max(options.cases // 2, 1))
        it.places()
        it.whole()
        it.resume()
        it.profile()
        it.evaluate()
        it.wrong()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
