#!/usr/bin/env python3
"""Shared state of replicas whose ranks have shards: zbc --data-parallel D --tensor-parallel T --sharding LEVEL.

    mesh_sharding.py [--bin BUILD/bin] [--draw SEED] [--cases N]

What a shard has of a parameter, of its gradient and of optimizer state is divided over its D replicas.
same: losses, weights and optimizer state are, bit by bit, those of the same shards of replicas that share nothing, and
of one replica of such shards that sums as many groups (of :micro-batch those that sum each micro-batch), for levels,
models, D, T, layouts, precisions and clipping, of which N cases are drawn by SEED, which is printed.
clipped: with clipping and parts of gradients bits do not depend on ranks, order or post-validation, N cases of it; the
norm and the factor are those that are computed here of what the gradients are, each counted once.
places: over threads, clocks, TCP and MPI, with fewer processes than ranks, too.
bytes: optimizer state, parameters and gradients of a rank are 1/D of what its shard has, and padding, to the byte, in
the plan and in a run; the step of the device sim is that of the plan, with kernels and without.
resume: what was saved is whole, of no mesh: it is loaded to the same bits by every mesh, and training goes on with the
same bits. safetensors reads it. evaluate: the loss is that of replicas that share nothing.
killed: a process that dies ends all others, which say where they were, and leaves a whole save.
Ends with "N passed, N failed".
"""
import array
import itertools
import math
import os
import random
import re
import sys

import common
import processes
import processes_faults
import sharding
import shards

M, STEPS = shards.M, shards.STEPS
LEVELS = sharding.LEVELS
TOKENS = ("--sequence-parallel",)
MODELS = ("gpt2-small", "llama-small")
LAYOUTS = ((1, "1f1b", ()), (2, "zb-h1", ()), (2, "zb-v", ()), (4, "zb-h2", ()), (4, "1f1b", ("--bucket-bytes", "20K")),
           (2, "interleaved-1f1b", ("--chunks", 2)))
OPTIONS = ((), TOKENS, ("--precision", "bf16"), (*TOKENS, "--precision", "bf16", "--bucket-bytes", "9K"),
           (*TOKENS, "--recompute", "all"), ("--optimizer", "sgd:lr=0.1,momentum=0.9"),
           (*TOKENS, "--split", "none", "--optimizer", "lion"), ("--clip-norm", "0.5"),
           (*TOKENS, "--clip-norm", "0.05", "--clip-norm-type", "inf"))
CLIPS = (("--clip-norm", "0.5"), (*TOKENS, "--clip-norm", "0.5"), ("--clip-norm", "0.05", "--clip-norm-type", "inf"),
         (*TOKENS, "--clip-norm", "0.5", "--precision", "bf16", "--recompute", "all"))
LATE = ("--post-validation",)


class MeshSharding(shards.Shards):
    def mesh(self, model, ranks, replicas, count, level, *options):
        return self.compile(model, ranks, count, "--data-parallel", replicas, "--sharding", level, *options)

    def layouts(self, draw, count):
        cases = [case for case in itertools.product(LEVELS, MODELS, (2, 3), (2, 4), OPTIONS, LAYOUTS)
                 if case[0] == "optimizer" or "--clip-norm" not in case[4]]
        cases += [(*case[:4], (*case[4], "--gather", gather), case[5])
                  for case in cases if case[0].startswith("parameters") for gather in sharding.GATHERS[1:]]
        fixed = [("optimizer", "gpt2-small", 3, 4, OPTIONS[3], LAYOUTS[2]),
                 ("gradients:step", "families/six", 2, 3, (), LAYOUTS[1]),
                 ("gradients:micro-batch", "llama-small", 3, 2, TOKENS, LAYOUTS[4]),
                 ("parameters:step", "gpt2-small", 2, 2, (*OPTIONS[3], "--gather", "micro-batch"), LAYOUTS[1])]
        for level, model, many, count_, options, (ranks, schedule, more) in (
                fixed + draw.sample(cases, min(count, len(cases)))):
            more = () if "--bucket-bytes" in options else more
            text = (f"{level}, {model}, {many} replicas of {count_} shards of {ranks} ranks, {schedule} "
                    f"{' '.join(map(str, (*options, *more)))}")
            got = self.train(self.mesh(model, ranks, many, count_, level, "--schedule", schedule, *options, *more),
                             STEPS)
            each = level.endswith(":micro-batch")  # adds up in another order than replicas that share nothing
            alone = sharding.without(options, "--gather", "--bucket-bytes")
            if not each:
                self.same(text, self.run(model, 1, count_, "1f1b", ("--data-parallel", many, *alone)), got)
            self.same(f"{text}, groups", self.run(model, 1, count_, "1f1b", (
                *alone, "--sum-groups", f"{many}:inner" if each else many, "--micro-batches", M * many)), got)

    def clipped(self, draw, count):
        """Bits depend on the numbers of replicas and shards, and on nothing else."""
        cases = list(itertools.product(LEVELS[1:], MODELS, (2, 3), (2, 4), CLIPS, LAYOUTS[1:], (True, False)))
        fixed = [("gradients:step", "gpt2-small", 3, 2, CLIPS[1], LAYOUTS[1], True),
                 ("gradients:micro-batch", "llama-small", 2, 2, CLIPS[2], LAYOUTS[2], True),
                 ("parameters:step", "gpt2-small", 2, 4, CLIPS[3], LAYOUTS[1], False)]
        for level, model, many, count_, options, (ranks, schedule, more), late in (
                fixed + draw.sample(cases, min(count, len(cases)))):
            late = LATE if late else ()
            text = (f"{level}, {model}, {many} replicas of {count_} shards of {ranks} ranks, {schedule} "
                    f"{' '.join((*options, *late))}")
            wanted = self.train(self.mesh(model, 1, many, count_, level, "--schedule", "1f1b", *options), STEPS)
            self.same(text, wanted, self.train(self.mesh(model, ranks, many, count_, level, "--schedule", schedule,
                                                         *options, *more, *late), STEPS))

    def factors(self, draw):
        """Norm and factor of the first step, of gradients that SGD with momentum keeps: whole, each counted once."""
        for level, model, kind in draw.sample(list(itertools.product(LEVELS[1:], MODELS, ("2", "inf"))), 2):
            options = ("--optimizer", "sgd:lr=0,momentum=0.5", "--clip-norm-type", kind, *draw.choice(((), TOKENS)))
            rows, saved, _ = self.train(self.mesh(model, 2, 2, 2, level, *options, "--clip-norm", "inf"), 1)
            gradients = {name: array.array("f", tensor[2]) for name, tensor in saved["optimizer"].items()}
            values = [value for gradient in gradients.values() for value in gradient]
            norm = math.sqrt(math.fsum(x * x for x in values)) if kind == "2" else max(map(abs, values))
            most = norm / 3
            other, saved, _ = self.train(self.mesh(model, 4, 2, 2, level, *options, "--clip-norm", f"{most:.17g}"), 1)
            factor = most / (norm + 1e-6)
            scaled = {name: array.array("f", tensor[2]) for name, tensor in saved["optimizer"].items()}
            errors = [abs(norm - rows[1]) / norm, *(abs(got - factor * x) / norm for name in gradients
                                                    for got, x in zip(scaled[name], gradients[name]))]
            self.suite.check(rows == other and len(values) > 1000 and max(errors) < (1e-6 if kind == "2" else 1e-7),
                             f"{level}, {model}, norm {kind} {options}: {rows[1]} and {other[1]} instead of {norm}, "
                             f"errors up to {max(errors):.1e}")

    def places(self, draw):
        for level in draw.sample(LEVELS, 1):
            plan = self.mesh("gpt2-small", 2, 2, 2, level, *draw.choice(CLIPS))
            wanted = self.train(plan, STEPS)
            for options in (("--device", "sim", "--seed", 7), ("--threads", 2)):
                self.same(f"{level} with {options}", wanted, self.train(plan, STEPS, *options))
            for name, count in (("tcp", 8), ("mpi", 3)):
                launcher = processes.LAUNCHERS[name]
                if launcher.reason_to_skip(self.suite):
                    print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                    continue
                self.same(f"{level}, {count} processes over {name}", wanted,
                          self.train(plan, STEPS, over=(launcher, count)))

    def part_sizes(self, model, ranks, count, options):
        """Bytes of what a shard has of each parameter, by the cuts of zb-shard and the shapes of the model."""
        ir = self.path(f"cuts{self.count}")
        plan = self.compile(model, ranks, count, "--dump-ir", ir, *options)
        name = next(name for name in os.listdir(ir) if name.endswith("_zb-shard.mlir"))
        with open(os.path.join(ir, name), encoding="utf-8") as file:
            cuts = dict(re.findall(r'zb\.param = "([^"]+)"(?:, zb\.shard = "([^"]+)")?', file.read()))
        whole = common.read_safetensors(os.path.join(plan, "weights.safetensors"))[0]
        return {name: len(shards.part_of(tensor, cuts[name] or None, count, 0)[2]) for name, tensor in whole.items()}

    def bytes(self, draw):
        for level in LEVELS:
            model, many, count = draw.choice(MODELS), draw.choice((2, 3)), draw.choice((2, 4))
            options = draw.choice(((), TOKENS))
            text, out = f"{level}, {model}, {many} replicas of {count} shards {options}", self.path("bytes")
            sizes = self.part_sizes(model, 2, count, options)
            found = self.suite.compile(os.path.join(common.DATA, model + ".onnx"), out, "--ranks", 2,
                                       "--data-parallel", many, "--tensor-parallel", count, "--micro-batches", M,
                                       "--sharding", level, *options, *(() if options else ("--bucket-bytes", "30K")))
            for rank, body in enumerate(re.split(r"^rank \d+:", self.suite.must("zb-run", out, "--print-plan"),
                                                 flags=re.M)[1:]):
                regions = {name: int(size.replace(",", "")) for name, size in re.findall(
                    r"(\w+) ([\d,]+)", re.search(r"^  parameters [\d,]+ .*$", body, re.M)[0])}
                names = re.findall(r"^  parameter (\S+) .* trained", body, re.M)
                parts = sum(sharding.part_bytes(sizes[name], many) for name in names)
                whole = 1 if level.startswith("parameters") else many
                state = re.findall(r"^  state \S+ (\d+)xf32", body, re.M)
                of_one = regions["gradients"] / (1 if level.endswith(":micro-batch") else many)
                uses = of_one - parts  # of a tied parameter two accumulators
                tied = [sharding.part_bytes(sizes[name], many) for name in names if "wte" in name or "embed" in name]
                self.suite.check(regions["state"] == 2 * parts == found["state_bytes"][rank] and
                                 4 * sum(map(int, state)) == 2 * parts and regions["parameters"] == whole * parts and
                                 uses in (0, *tied) and len(names) > 3,
                                 f"{text}, rank {rank}: {regions}, {found['state_bytes']}, parts {parts}, uses {uses}")
            step = self.suite.train(out, 1, "--device", "sim", "--barrier")[0]["seconds"]
            alone = common.json_lines(self.suite.must("zb-run", out, "--device", "sim", "--no-kernels", "--barrier",
                                                      "--steps", 1, "--json"))[0]["seconds"]
            self.suite.check(round(step * 1e12) == round(alone * 1e12) == round(found["step_seconds"] * 1e12),
                             f"{text}: a step of {found['step_seconds']} takes {step}, without kernels {alone}")

    def resume(self, draw):
        """By an optimizer that keeps its first gradient and changes no weight, what is loaded is what is saved."""
        still = ("--optimizer", "sgd:lr=0,momentum=1,dampening=1")
        _, first, folder = self.train(self.compile("gpt2-small", 4, 1, *still), 1)
        at = [(2, 2, 1, ()), (2, 1, 2, ()), (2, 2, 2, ("--sharding", draw.choice(LEVELS[3:]))), (4, 1, 1, ()),
              (1, 3, 4, (*TOKENS, "--sharding", draw.choice(LEVELS[:3])))]
        for ranks, many, count, more in at:
            plan = self.compile("gpt2-small", ranks, count, *still, *more,
                                *(("--data-parallel", many) if many > 1 else ()))
            _, saved, folder = self.train(plan, 1, "--resume", folder)
            self.suite.check(saved == first and any(any(tensor[2]) for tensor in saved["optimizer"].values()),
                             f"{many} replicas of {count} shards of {ranks} ranks load something else {more}")
        whole = self.train(self.compile("gpt2-small", 1, 2, "--data-parallel", 2), 4)
        plans = {level: self.mesh("gpt2-small", 2, 2, 2, level, *draw.choice(((), ("--bucket-bytes", "20K"))))
                 for level in draw.sample(("optimizer", "gradients:step", "parameters:step"), 2)}
        plans["none"] = self.compile("gpt2-small", 4, 2, "--data-parallel", 2)
        for (one, first), (other, second) in itertools.permutations(plans.items(), 2):
            begun = self.train(first, 2)
            ended = self.train(second, 2, "--resume", begun[2])
            self.same(f"{other} resumed from {one}", whole, (begun[0] + ended[0], ended[1]))
        try:
            import safetensors.torch
        except ImportError:
            print("  safetensors is left out: it is not installed")
            return
        read = safetensors.torch.load_file(os.path.join(ended[2], "optimizer.safetensors"))
        self.suite.check({name: (list(tensor.shape), tensor.numpy().tobytes()) for name, tensor in read.items()} ==
                         {name: (list(tensor[1]), tensor[2]) for name, tensor in whole[1]["optimizer"].items()},
                         f"safetensors reads {list(read)[:3]}")

    def evaluations(self, draw):
        plain = None
        for level in (None, *draw.sample(LEVELS, 2)):
            plan = self.compile("gpt2-small", draw.choice((1, 2)), 2, "--data-parallel", 2,
                                *(("--sharding", level) if level else ()))
            rows = common.json_lines(self.suite.must("zb-run", plan, "--eval", "text:" + common.CORPUS, "--eval-steps",
                                                     1, "--json"))
            loss = rows[-1]["eval"]["loss"]
            plain = plain or loss
            self.suite.check(loss == plain, f"{level}: an evaluation gives {loss} instead of {plain}")

    def gradient_norms(self):
        """--grad-norms of parts of parts, put together."""
        wanted, got = (self.suite.train(self.compile("gpt2-small", 2, 2, "--data-parallel", 3, *more), 1,
                                        "--grad-norms")[-1]["gradient_norms"]
                       for more in ((), ("--sharding", "gradients:step")))
        self.suite.check(wanted.keys() == got.keys() and all(abs(wanted[name] - got[name]) <= 1e-5 * wanted[name]
                                                             for name in wanted), "--grad-norms of parts of shards")

    def killed(self, level):
        launcher, launched = processes.LAUNCHERS["tcp"], processes_faults.Said(8, 2, 2)
        plan = self.mesh("gpt2-small", 2, 2, 2, level, "--bucket-bytes", "30K")
        undisturbed = processes_faults.Undisturbed(self.suite, plan)
        processes_faults.killed(self.suite, launcher, plan, launched, self.folder, undisturbed, 1, 0, 0.05)


def main():
    options = common.arguments(__doc__, ("--draw", dict(type=int, default=random.randrange(1 << 32))),
                               ("--cases", dict(type=int, default=1)))
    suite = common.Suite(options.bin)
    print(f"  --draw {options.draw}")
    draw = random.Random(options.draw)
    with common.scratch() as folder:
        it = MeshSharding(suite, folder)
        it.layouts(draw, options.cases)
        it.clipped(draw, options.cases)
        it.factors(draw)
        it.places(draw)
        it.bytes(draw)
        it.resume(draw)
        it.evaluations(draw)
        it.gradient_norms()
        it.killed(draw.choice(LEVELS[1:]))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
