#!/usr/bin/env python3
"""Losses that are a mean over targets that are not ignored: zbc --loss-mean targets.

    loss_mean.py [--bin BUILD/bin]

reference: losses of 20 steps within 1e-5, norms of gradients, weights, and an evaluation, of PyTorch on the whole
batch of a step (*.targets.reference.json, recorded by tools/reference.py --whole-batch), for models called as those of
transformers are, over ranks, replicas, shards, bf16 apart; and that the mean over micro-batches is another one.
bits: losses, norms, weights and optimizer state are the same bits over ranks, schedules, threads, clocks, processes,
and after a resume; D replicas, of shards or with --sharding optimizer, too, are --sum-groups D. parts: so are those
with parts of gradients but for the norm (or --sum-groups D:inner), and clipped their bits depend on D and T alone.
counts: a micro-batch without a target that counts adds nothing, a step without one is an error that names it.
wrong: what cannot be. Ends with "N passed, N failed".
"""
import itertools
import json
import os
import sys

import common
import processes
import reference

STEPS = 3
MODELS = ("llama-padded", "roberta", "bart", "masked")
REFERENCE = (("--ranks", 1, "--schedule", "fthenb"), ("--ranks", 4, "--schedule", "zb-h1"),
             ("--ranks", 2, "--schedule", "1f1b", "--no-raise"),
             ("--ranks", 2, "--data-parallel", 2, "--schedule", "zb-h2"),
             ("--ranks", 1, "--data-parallel", 4, "--sharding", "optimizer"), ("--ranks", 2, "--tensor-parallel", 2),
             ("--ranks", 2, "--data-parallel", 2, "--sharding", "parameters:micro-batch"))
LEVELS = ("gradients:step", "gradients:micro-batch", "parameters:step", "parameters:micro-batch")
PLANS = ((1, "1f1b", ()), (2, "zb-h1", ()), (4, "zb-h2", ()), (4, "zb-v", ()), (4, "search:budget=64", ()),
         (2, "interleaved-1f1b", ("--chunks", 2)), (3, "zb-h1", ("--split", "none")),
         (2, "zb-h1", ("--recompute", "all")), (4, "1f1b", ("--clip-norm", "inf")))
# Targets are the tokens of a text, shifted, of which 0 is ignored: which rows have some is what the text says.
COUNTED = """
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<2x8xi64> {zb.input = "x"}, %y: tensor<2x8xi64> {zb.input = "y"},
                   %w: tensor<128x128xf32> {zb.param = "m.w"}) -> (tensor<f32> {zb.loss}) {
    %z = "zb.gather"(%w, %x) {axis = 0 : i64} : (tensor<128x128xf32>, tensor<2x8xi64>) -> tensor<2x8x128xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {ignore_index = 0 : i64, reduction = "mean"}
        : (tensor<2x8x128xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<2x8xf32>)
    return %loss : tensor<f32>
  }
}
"""
ROW, ROWS = 8, 2


class LossMean:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.count = suite, folder, 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, model, *options, mean="targets"):
        self.count += 1
        out = self.path(f"plan{self.count}")
        path = model if os.path.isabs(model) else os.path.join(common.DATA, model + ".onnx")
        self.suite.compile(path, out, "--loss-mean", mean, *options)
        return out

    def train(self, plan, steps, *options, over=None, corpus=common.CORPUS):
        self.count += 1
        saved = self.path(f"saved{self.count}")
        options = (*options, "--save", saved)
        rows = (processes.train(self.suite, *over, plan, steps, *options) if over else
                self.suite.train(plan, steps, *options, corpus=corpus))
        return [(row["loss"], row["norm"]) for row in rows], processes.read_saved(saved), saved

    def same(self, text, wanted, got):
        different = [name for kind in wanted[1] for name in wanted[1][kind]
                     if got[1][kind].get(name) != wanted[1][kind][name]]
        self.suite.check(wanted[0] == got[0] and not different,
                         f"{text}: losses and norms {got[0]} instead of {wanted[0]}, other tensors: {different[:3]}")

    # ---- PyTorch on the whole batch ----

    def reference(self, model, plan):
        batches = f"{model}: {' '.join(map(str, plan))}"
        with open(os.path.join(common.DATA, model + ".targets.reference.json")) as file:
            recorded = json.load(file)
        replicas = plan[plan.index("--data-parallel") + 1] if "--data-parallel" in plan else 1
        out = self.compile(model, "--micro-batches", recorded["micro_batches"] // replicas, *plan)
        saved, wanted = out + ".saved", recorded["fp32"]
        rows = self.suite.train(out, 20, "--save", saved, "--grad-norms")
        comparison = reference.Comparison(self.suite, batches)
        print(f"{batches}, PyTorch {recorded['torch']} on the whole batch", flush=True)
        comparison.losses([row["loss"] for row in rows], recorded, True)
        comparison.gradients(rows[0]["gradient_norms"], recorded)
        comparison.weights(saved, recorded)
        got = json.loads(self.suite.must("zb-run", out, "--eval", "text:" + common.CORPUS, "--eval-steps",
                                         wanted["evaluation"]["batches"], "--resume", saved, "--json"))
        comparison.row("loss of an evaluation after them",
                       reference.relative(got["eval"]["loss"], wanted["evaluation"]["after"]), 1e-5)
        if plan is REFERENCE[0]:
            plain = self.suite.train(
                self.compile(model, "--micro-batches", recorded["micro_batches"], mean="micro-batches"), 20)
            errors = [reference.relative(row["loss"], loss) for row, loss in zip(plain, wanted["losses"])]
            self.suite.check(max(errors) > 1e-4,
                             f"{model}: micro-batches have about equal numbers of targets: {max(errors)}")

    # ---- The same bits ----

    def bits(self, model):
        wanted = None
        for ranks, schedule, more in PLANS:
            plan = self.compile(model, "--ranks", ranks, "--micro-batches", 4, "--schedule", schedule, *more)
            got = self.train(plan, STEPS)
            wanted = wanted or got
            text = f"{model}, {ranks} ranks, {schedule} {' '.join(map(str, more))}"
            self.same(text, wanted, got)
            if (ranks, schedule) != (4, "zb-h2"):
                continue
            self.same(f"{text}, 2 threads", wanted, self.train(plan, STEPS, "--threads", 2))
            self.same(f"{text} on sim", wanted, self.train(plan, STEPS, "--device", "sim", "--seed", 5))
            self.same(f"{text} with barriers", wanted, self.train(plan, STEPS, "--barrier"))
            for name, count in (("tcp", 2), ("tcp", 4), ("mpi", 2)):
                launcher = processes.LAUNCHERS[name]
                if launcher.reason_to_skip(self.suite):
                    print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                    continue
                self.same(f"{text}, {count} processes over {name}", wanted, self.train(plan, STEPS,
                                                                                      over=(launcher, count)))
            half = self.train(plan, 1)
            other = self.compile(model, "--ranks", 2, "--micro-batches", 4, "--schedule", "1f1b")
            resumed = self.train(other, STEPS - 1, "--resume", half[2])
            self.same(f"{text}, resumed on 2 ranks", wanted, (half[0] + resumed[0], *resumed[1:]))

    def shards(self, model):
        """Shards clip by one norm and divide by one weight: the same bits over ranks, whatever the schedule is."""
        for clip in ((), ("--clip-norm", "0.5")):
            wanted = None
            for ranks, schedule, replicas in ((1, "1f1b", 1), (2, "zb-h1", 1), (2, "zb-h1", 2), (1, "fthenb", 2)):
                more = ("--data-parallel", replicas) if replicas > 1 else ("--sum-groups", 2)
                plan = self.compile(model, "--ranks", ranks, "--schedule", schedule, "--tensor-parallel", 2,
                                    "--micro-batches", 4 // replicas, *more, *clip)
                got = self.train(plan, STEPS)
                wanted = wanted or got
                self.same(f"{model}, 2 shards, {replicas} replicas of {ranks} ranks {' '.join(clip)}", wanted, got)

    def replicas(self, model):
        inner = self.compile(model, "--micro-batches", 4, "--sum-groups", "2:inner")
        self.suite.check(abs(self.train(inner, 1)[0][0][1] - self.train(self.compile(model, "--micro-batches", 4),
                                                                       1)[0][0][1]) < 1e-6, f"{model}: inner groups")
        for replicas, clip in itertools.product((2, 4), ((), ("--clip-norm", "0.5"))):
            groups = self.train(self.compile(model, "--micro-batches", 4, "--sum-groups", replicas, *clip), STEPS)
            for ranks, schedule, more in ((1, "1f1b", ()), (2, "zb-h1", ("--bucket-bytes", "1")), (3, "zb-h2", ()),
                                          (2, "zb-h1", ("--sharding", "optimizer"))):
                plan = self.compile(model, "--ranks", ranks, "--schedule", schedule, "--data-parallel", replicas,
                                    "--micro-batches", 4 // replicas, *clip, *more)
                text = f"{model}, {replicas} replicas of {ranks} ranks, {schedule} {' '.join(clip + more)}"
                self.same(text, groups, self.train(plan, STEPS))

    def parts(self, model):
        """Replicas that have parts of gradients, of which the weight of a step is in the first one."""
        levels = dict(zip(LEVELS, itertools.cycle((f"{count}{inner}" for count in (2, 4) for inner in ("", ":inner")))))
        for (level, groups), (ranks, schedule, shards) in itertools.product(
                levels.items(), ((2, "zb-h1", ()), (3, "zb-v", ()), (1, "1f1b", ("--tensor-parallel", 2)))):
            count = int(groups.split(":")[0])
            plan = lambda *more: self.compile(model, *shards, "--data-parallel", count, "--micro-batches", 4 // count,
                                              "--sharding", level, *more)
            layout = ("--ranks", ranks, "--schedule", schedule)
            wanted = self.train(self.compile(model, *shards, "--micro-batches", 4, "--sum-groups", groups), STEPS)
            got = self.train(plan(*layout), STEPS)
            text = f"{model}, {count} replicas, {level} {layout} {shards}"
            self.suite.check(all(abs(a - b) <= 1e-6 * a for (_, a), (_, b) in zip(wanted[0], got[0])), f"{text}: norms")
            loss = lambda run: ([row[0] for row in run[0]], *run[1:])
            self.same(text, loss(wanted), loss(got))
            clip = ("--clip-norm", "0.5", "--clip-norm-type", ("2", "inf")[ranks % 2])
            self.same(f"{text}, clipped", self.train(plan("--schedule", "fthenb", *clip), STEPS),
                      self.train(plan(*layout, *clip, "--bucket-bytes", "9K"), STEPS))

    # ---- What counts ----

    def text(self, name, rows):
        """A corpus whose targets are those of `rows`, each so many that count, then ones."""
        tokens = [1]
        for count in rows:
            tokens += [2 + i % 7 for i in range(count)] + [0] * (ROW - count)
        with open(self.path(name), "wb") as file:
            file.write(bytes(tokens + [1] * 200))
        return self.path(name)

    def counts(self):
        model = self.path("counted.mlir")
        with open(model, "w") as file:
            file.write(COUNTED)
        # Rows of micro-batches of two steps: the second has none; one batch of all rows of a step for comparison.
        counts = [(3, 8), (0, 0), (1, 0), (8, 8), (0, 5), (2, 2), (0, 0), (0, 1)]
        corpus = self.text("some", [count for rows in counts for count in rows])
        whole = self.path("whole.mlir")
        with open(whole, "w") as file:
            file.write(COUNTED.replace("tensor<2x8", f"tensor<{4 * ROWS}x8"))
        wanted = self.suite.train(self.compile(whole, "--optimizer", "sgd:lr=0.5", mean="micro-batches"), 2,
                                  corpus=corpus)
        for options in (("--micro-batches", 4), ("--micro-batches", 2, "--data-parallel", 2),
                        ("--micro-batches", 2, "--data-parallel", 2, "--sharding", "gradients:step"),
                        ("--micro-batches", 2, "--data-parallel", 2, "--sharding", "parameters:micro-batch",
                         "--clip-norm", "inf", "--clip-norm-type", "inf")):
            plan = self.compile(model, "--optimizer", "sgd:lr=0.5", *options)
            got = self.suite.train(plan, 2, corpus=corpus)
            errors = [reference.relative(g["loss"], w["loss"]) for g, w in zip(got, wanted)]
            self.suite.check(max(errors) < 1e-6, f"counts {options}: {got} instead of {wanted}")
        plain = self.suite.run("zb-run", self.compile(model, "--micro-batches", 4, mean="micro-batches"), "--data",
                               "text:" + corpus, "--steps", 1)
        self.suite.check(plain.returncode == 4 and "not a number" in plain.stderr,
                         f"counts: of a micro-batch without targets a mean is {plain.stdout} {plain.stderr}")
        empty = self.text("empty", [8] * 8 + [0] * 8 + [8] * 8)
        for options in (("--ranks", 1), ("--ranks", 1, "--data-parallel", 2, "--clip-norm", "1"),
                        ("--ranks", 1, "--data-parallel", 2, "--sharding", "gradients:micro-batch")):
            plan = self.compile(model, "--micro-batches", 4 if "--data-parallel" not in options else 2, *options)
            for more in ((), ("--non-finite", "skip"), ("--barrier", )):
                run = self.suite.run("zb-run", plan, "--data", "text:" + empty, "--steps", 3, *more)
                self.suite.check(run.returncode == 4 and "no target of step 2 counts: all are ignored" in run.stderr,
                                 f"counts {options} {more}: exit {run.returncode}, {run.stderr}")

    # ---- What cannot be ----

    def wrong(self):
        padded = os.path.join(common.DATA, "llama-padded.onnx")
        cases = (
            (padded, ("--loss-mean", "tokens"), 2, "--loss-mean: expected micro-batches or targets, got 'tokens'"),
            (padded, ("--loss-mean", "target"), 2, "did you mean 'targets'?"),
            (padded, ("--loss-mean", "targets", "--clip-norm", "1", "--post-validation"), 2,
             "--loss-mean targets and --post-validation are not possible together"),
            (padded, ("--loss-mean", "targets", "--tensor-parallel", "2", "--clip-norm", "1", "--post-validation"), 2,
             "--loss-mean targets and --post-validation are not possible together"),
            (os.path.join(common.DATA, "l1.onnx"), ("--loss-mean", "targets"), 1,
             "--loss-mean targets is not possible for this loss: it is a mean over all elements"),
        )
        for model, options, status, told in cases:
            run = self.suite.run("zbc", model, "-o", self.path("none"), *options)
            self.suite.check(run.returncode == status and told in run.stderr,
                             f"{options}: exit {run.returncode}, {run.stderr}")
        said = self.suite.must("zbc", padded, "-o", self.path("said"))
        self.suite.check("the loss is the mean over targets that are not ignored (-100, by 'x', 'y')" in said,
                         f"zbc does not say what it found: {said}")


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        it = LossMean(suite, folder)
        for model, plan in itertools.product(MODELS, REFERENCE):
            it.reference(model, plan)
        for model in ("llama-padded", "bart"):
            it.bits(model)
            it.replicas(model)
            it.shards(model)
        it.parts("llama-padded")
        it.counts()
        it.wrong()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
