#!/usr/bin/env python3
"""Shared state of replicas: with zbc --data-parallel D --sharding LEVEL replicas update a part of parameters each, have
the optimizer state of that part alone, with gradients:step and gradients:micro-batch the sum of that part alone, and
with parameters:step and parameters:micro-batch the parameter's part alone.

    sharding.py [--bin BUILD/bin] [--draw SEED] [--cases N]

same: losses, weights and optimizer state are, bit by bit, those of replicas that share nothing and of one pipeline that
sums as many groups (--sum-groups; of gradients:micro-batch those that sum each micro-batch, D:inner), for models,
layouts, optimizers, precisions, buckets and clipping, of which N cases are drawn by SEED, which is printed.
clipped: with clipping and parts of gradients losses, norms, weights and optimizer state are the same bits for every
layout, and N cases of it; the norm and the factor are those that are computed here of what the gradients are.
places: over threads, clocks, TCP and MPI, with fewer processes than ranks, too.
bytes: optimizer state, parameters and gradients of a rank, and what a step sends, are what docs/parallelism.md says, to
the byte, in the plan and in a run; the step of the device sim is that of the plan, and sums keep ranks as long as the
schedule library says.
resume: what was saved is whole, of no mesh: any number of replicas, sharing or not, goes on from it with the same bits.
safetensors reads it.
killed: a process that dies ends all others, which say where they were, and leaves a whole save.
wrong: what cannot be. Ends with "N passed, N failed".
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
import replicas

M, STEPS = 3, 3
MODELS = ("gpt2-small", "llama-small")
LEVELS = ("optimizer", "gradients:step", "gradients:micro-batch", "parameters:step", "parameters:micro-batch")
GATHERS = ("job", "micro-batch", "step")
SHARED = ("--sharding", "optimizer")
STEP = ("--sharding", "gradients:step")
EACH = ("--sharding", "gradients:micro-batch")
PARTS = ("--sharding", "parameters:step")
LAYOUTS = ((1, "1f1b", ()), (2, "zb-h1", ()), (2, "zb-v", ()), (4, "zb-h2", ()), (3, "zb-h1", ()),
           (2, "interleaved-1f1b", ("--chunks", 2)), (4, "1f1b", ("--bucket-bytes", "20K")))
OPTIONS = ((), ("--precision", "bf16"), ("--clip-norm", "0.5"), ("--clip-norm", "0.05", "--clip-norm-type", "inf"),
           ("--optimizer", "sgd:lr=0.1,momentum=0.9"), ("--optimizer", "sgd:lr=0.1"), ("--optimizer", "lion"),
           ("--optimizer", "adam:lr=0.01"), ("--bucket-bytes", "1"), ("--bucket-bytes", "9K", "--recompute", "all"),
           ("--precision", "bf16", "--clip-norm", "0.5", "--split", "none"))
CLIPS = (("--clip-norm", "0.5"), ("--clip-norm", "0.05", "--clip-norm-type", "inf"),
         ("--clip-norm", "0.5", "--precision", "bf16", "--recompute", "all"))
ALIGNMENT = 64


def part_bytes(bytes_, count):
    """Of f32, of which each of `count` replicas has as much."""
    return -(-(-(-(bytes_ // 4) // count) * 4) // ALIGNMENT) * ALIGNMENT


def without(options, *names):
    """Options and their values, but for these."""
    return tuple(word for i, word in enumerate(options) if not set(names) & set(options[max(i - 1, 0):i + 1]))


class Sharding(replicas.Replicas):
    def one(self, model, ranks, count, schedule, level, options=()):
        return self.train(self.compile(model, ranks, count, "--micro-batches", M, "--schedule", schedule, *options,
                                       "--sharding", level), STEPS)

    def layouts(self, draw, count):
        cases = [case for case in itertools.product(LEVELS, MODELS, (2, 3, 4, 5), OPTIONS, LAYOUTS)
                 if case[0] == "optimizer" or "--clip-norm" not in case[3]]
        cases += [(*case[:3], (*case[3], "--gather", gather), case[4])
                  for case in cases if case[0].startswith("parameters") for gather in GATHERS[1:]]
        fixed = [("optimizer", "gpt2-small", 3, ("--precision", "bf16"), LAYOUTS[1]),
                 ("optimizer", "gpt2-small", 2, OPTIONS[2], LAYOUTS[2]),
                 ("gradients:step", "gpt2-small", 3, ("--precision", "bf16", "--bucket-bytes", "9K"), LAYOUTS[2]),
                 ("gradients:micro-batch", "gpt2-small", 3, ("--precision", "bf16", "--bucket-bytes", "9K"),
                  LAYOUTS[2]), ("gradients:micro-batch", "llama-small", 2, (), LAYOUTS[1]),
                 ("parameters:step", "gpt2-small", 3, ("--precision", "bf16", "--gather", "micro-batch"), LAYOUTS[5]),
                 ("parameters:micro-batch", "llama-small", 5, ("--gather", "step"), LAYOUTS[2])]
        for level, model, many, options, (ranks, schedule, more) in fixed + draw.sample(cases, min(count, len(cases))):
            more = () if "--bucket-bytes" in options else more
            words = " ".join(map(str, (*options, *more)))
            text = f"{level}, {model}, {many} replicas of {ranks} ranks, {schedule} {words}"
            got = self.one(model, ranks, many, schedule, level, (*options, *more))
            each = level.endswith(":micro-batch")  # adds up in another order than replicas that share nothing
            if not each:
                self.same(text, self.run(model, 1, many, "1f1b", without(options, "--gather"), M), got)
            alone = without(options, "--bucket-bytes", "--gather")
            self.same(f"{text}, groups",
                      self.run(model, 1, 1, "1f1b", (*alone, "--sum-groups", f"{many}:inner" if each else many),
                               M * many), got)

    def clipped(self, draw, count):
        """Bits depend on the number of replicas, and on nothing else."""
        cases = list(itertools.product(LEVELS[1:], MODELS, (2, 3, 4, 5), CLIPS, LAYOUTS[1:]))
        fixed = [("gradients:step", "gpt2-small", 3, CLIPS[0], LAYOUTS[6]),
                 ("gradients:micro-batch", "gpt2-small", 2, CLIPS[1], LAYOUTS[2])]
        for level, model, many, options, (ranks, schedule, more) in fixed + draw.sample(cases, min(count, len(cases))):
            text = f"{level}, {model}, {many} replicas of {ranks} ranks, {schedule} {' '.join(map(str, options))}"
            wanted = self.one(model, 1, many, "1f1b", level, options)
            self.same(text, wanted, self.one(model, ranks, many, schedule, level, (*options, *more)))
        plan = self.compile("gpt2-small", 2, 3, "--micro-batches", M, *STEP, "--clip-norm", "7")
        again = self.compile("gpt2-small", 4, 3, "--micro-batches", M, *STEP, "--clip-norm", "0.5")
        self.same("zb-run --clip-norm", self.train(again, STEPS), self.train(plan, STEPS, "--clip-norm", "0.5"))

    def factors(self):
        """Norm and factor of the first step, of gradients that SGD with momentum keeps."""
        for level, model, kind in itertools.product(LEVELS[1:], MODELS, ("2", "inf")):
            options = ("--micro-batches", M, "--optimizer", "sgd:lr=0,momentum=0.5", "--sharding", level,
                       "--clip-norm-type", kind)
            rows, saved, _ = self.train(self.compile(model, 2, 3, *options, "--clip-norm", "inf"), 1)
            gradients = {name: array.array("f", tensor[2]) for name, tensor in saved["optimizer"].items()}
            values = [value for gradient in gradients.values() for value in gradient]
            norm = math.sqrt(math.fsum(x * x for x in values)) if kind == "2" else max(map(abs, values))
            most = norm / 3
            other, saved, _ = self.train(self.compile(model, 4, 3, *options, "--clip-norm", f"{most:.17g}"), 1)
            factor = most / (norm + 1e-6)
            scaled = {name: array.array("f", tensor[2]) for name, tensor in saved["optimizer"].items()}
            errors = [abs(norm - rows[0][1]) / norm, *(abs(got - factor * x) / norm for name in gradients
                                                       for got, x in zip(scaled[name], gradients[name]))]
            self.suite.check(rows == other and len(values) > 1000 and max(errors) < (1e-6 if kind == "2" else 1e-7),
                             f"{level}, {model}, norm {kind}: {rows[0][1]} and {other[0][1]} instead of {norm}, errors "
                             f"up to {max(errors):.1e}")

    def places(self, level, *more):
        plan = self.compile("gpt2-small", 2, 2, "--micro-batches", M, "--bucket-bytes", "40K", "--precision", "bf16",
                            "--sharding", level, *more)
        wanted = self.train(plan, STEPS)
        for options in (("--device", "sim", "--seed", 7), ("--threads", 2), ("--barrier",)):
            self.same(f"{level} {more} with {options}", wanted, self.train(plan, STEPS, *options))
        for name, count in (("tcp", 2), ("tcp", 3), ("mpi", 4)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            self.same(f"{level} {more}, {count} processes over {name}", wanted,
                      self.train(plan, STEPS, over=(launcher, count)))

    def few(self):
        """More replicas than numbers of the norm: some have no shard of their sum."""
        plan, tokens = self.path("few"), self.path("tokens")
        with open(tokens, "wb") as file:
            file.write(bytes(random.Random(3).randrange(16) for _ in range(500)))
        self.suite.compile(os.path.join(os.path.dirname(common.DATA), "passes", "gathered.mlir"), plan, "--ranks", 1,
                           "--micro-batches", 2, "--data-parallel", 5, *STEP, *CLIPS[0])
        wanted = self.suite.train(plan, STEPS, corpus=tokens)
        for name in ("tcp", "mpi"):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            done = processes.launched(self.suite, launcher, 5, plan, "--data", "text:" + tokens, "--steps", STEPS,
                                      "--json")
            got = common.json_lines(done.stdout) if done.returncode == 0 else []
            self.suite.check([(row["loss"], row["norm"]) for row in got] ==
                             [(row["loss"], row["norm"]) for row in wanted], f"two numbers over {name}: {done.stderr}")

    def regions(self, plan):
        """rank -> region -> bytes; and of its trained parameters the bytes."""
        found, sizes, names = {}, {}, []
        for line in self.suite.must("zb-run", plan, "--print-plan").splitlines():
            if match := re.match(r"rank (\d+):", line):
                rank = int(match[1])
                found[rank], sizes[rank] = {}, []
            elif re.match(r"  parameters [\d,]+ ", line):
                found[rank] = {name: int(size.replace(",", "")) for name, size in
                               re.findall(r"(\w+) ([\d,]+)", line)}
            elif match := re.match(r"  parameter (\S+) ([\dx]*)xf32 at \S+,?(?: a part of ([\dx]+)xf32)?.* trained",
                                   line):
                sizes[rank].append(4 * math.prod(map(int, (match[3] or match[2]).split("x"))))
                names.append(match[1])
        self.names = names  # of all ranks
        return found, sizes

    def bytes(self, draw):
        choices = list(itertools.product(MODELS, (2, 3, 5), (SHARED, (*SHARED, "--clip-norm", 1))))
        steps = list(itertools.product(MODELS, (2, 3, 5), (STEP, (*STEP, "--clip-norm", 1))))
        each = list(itertools.product(MODELS, (2, 3, 5), (EACH, (*EACH, "--clip-norm", 1))))
        parts = list(itertools.product(MODELS, (2, 3, 5), ((*PARTS, "--gather", gather) for gather in GATHERS)))
        for model, count, options in (draw.sample(choices, 2) + draw.sample(steps, 2) + draw.sample(each, 2) +
                                      draw.sample(parts, 2)):
            text = f"{model}, {count} replicas {options}"
            out = self.path("bytes")
            found = self.suite.compile(os.path.join(common.DATA, model + ".onnx"), out, "--ranks", 2,
                                       "--data-parallel", count, "--micro-batches", M, "--bucket-bytes", "30K",
                                       *options)
            regions, sizes = self.regions(out)
            if options[:2] == STEP:
                self.landings(out, found, regions, count, text)
            if options[:2] == EACH:
                self.micro_batches(out, found, regions, count, text)
            for rank, region in regions.items():
                parts = [part_bytes(size, count) for size in sizes[rank]]
                whole = 1 if options[:2] == PARTS else count
                self.suite.check(region["state"] == 2 * sum(parts) and region["parameters"] == whole * sum(parts) and
                                 (whole == count or found["part_bytes"][rank] == sum(parts)),
                                 f"{text}, rank {rank}: {region}, parts {sum(parts)} of {sum(sizes[rank])}")
            said = self.suite.must("zb-run", out, "--data", "text:" + common.CORPUS, "--steps", 1)
            self.suite.check(found["state_bytes"] == [region["state"] for region in regions.values()] and
                             f"rank 0 has {regions[0]['state']} bytes of it" in said, f"{text}: {said}")
            exposed = {name: round(seconds * 1e12) for name, seconds in found["exposed"].items()}
            self.suite.check(exposed["seconds"] == exposed["by_schedule"] > 0, f"{text}: {exposed}")
            step = self.suite.train(out, 1, "--device", "sim", "--barrier")[0]["seconds"]
            self.suite.check(round(step * 1e12) == round(found["step_seconds"] * 1e12),
                             f"{text}: a step of {found['step_seconds']} takes {step}")

    def landings(self, plan, found, regions, count, text):
        """Of gradients:step, what the compile says of gradients, from the plan: all sums but the last of a rank have
        been added up before the next one lands in the same room."""
        text_of_plan = self.suite.must("zb-run", plan, "--print-plan")
        for rank, body in enumerate(re.split(r"^rank \d+:", text_of_plan, flags=re.M)[1:]):
            kept, landed = 0, []
            for parts, bytes_ in re.findall(r"COLLECTIVE reduce-scatter \d+((?:  gradients\+\d+ \([\d,]+\))+)"
                                            r"  slots\+\d+ \(([\d,]+)\)", body):
                kept += sum(int(size.replace(",", "")) for size in re.findall(r"\(([\d,]+)\)", parts))
                landed.append(int(bytes_.replace(",", "")))
            waits = [int(wait) for wait in re.findall(r"COLLECTIVE reduce-scatter .*  after (\d+)$", body, re.M)]
            self.suite.check(found["gradient_bytes"][rank] == regions[rank]["gradients"] == count * kept and
                             found["kept_gradient_bytes"][rank] == kept and len(waits) == len(landed) - 1 > 1 and
                             found["landing_bytes"][rank] == max(landed) and
                             found["all_landing_bytes"][rank] == sum(landed), f"{text}, rank {rank}: kept {kept} of "
                             f"{regions[rank]['gradients']}, landed {landed}, said {found}")

    def micro_batches(self, plan, found, regions, count, text):
        """Of gradients:micro-batch: gradients of a rank are parts alone, and each micro-batch has its sums."""
        text_of_plan = self.suite.must("zb-run", plan, "--print-plan")
        for rank, body in enumerate(re.split(r"^rank \d+:", text_of_plan, flags=re.M)[1:]):
            added, landed, made = 0, [], []
            jobs = body.splitlines()
            for i, line in enumerate(jobs):
                if "COLLECTIVE reduce-scatter" not in line:
                    continue
                sizes = [(region, int(size.replace(",", "")))
                         for region, size in re.findall(r"(slots|gradients)\+\d+ \(([\d,]+)\)", line)]
                slots = [size for region, size in sizes if region == "slots"]
                added += sum(size for region, size in sizes if region == "gradients")
                landed.append(slots[-1])
                made = made if "COLLECTIVE reduce-scatter" in jobs[i - 1] else made + [0]
                made[-1] += sum(slots[:-1]) * count
            self.suite.check(added == M * regions[rank]["gradients"] and
                             found["kept_gradient_bytes"][rank] == regions[rank]["gradients"] and
                             found["landing_bytes"][rank] == max(landed) and
                             found["gradient_bytes"][rank] == max(made) and len(landed) % M == 0,
                             f"{text}, rank {rank}: {added} of {regions[rank]}, landed {landed}, made {made}, "
                             f"said {found}")

    def sent(self):
        """What a step sends over replicas, by the plan: a reduce-scatter and a gather of the parts of each rank; with
        clipping a number of each parameter as well."""
        for model, count, level, clip in (*itertools.product(MODELS, (2, 4), ("optimizer",), ((),)),
                                          *itertools.product(MODELS, (3,), LEVELS[1:3], ((), CLIPS[0]))):
            plan = self.compile(model, 1, count, "--micro-batches", M, "--sharding", level, *clip)
            text = self.suite.must("zb-run", plan, "--print-plan")
            kinds = {}
            for kind, sizes in re.findall(r"^collective \d+ (\S+ \S) of the replicas of rank 0[^:]*: ([\d +]+) bytes$",
                                          text, re.M):
                kinds[kind] = kinds.get(kind, 0) + (count - 1) * sum(map(int, sizes.split("+")))
            _, sizes = self.regions(plan)
            parts = sum(part_bytes(size, count) for size in sizes[0])
            times = M if level == "gradients:micro-batch" else 1
            # of a parameter with two uses one more
            tied = kinds.get("reduce-scatter G", 0) - times * (count - 1) * parts
            numbers = kinds.pop("all-reduce N", 0)
            self.suite.check(numbers == (8 * (count - 1) * len(sizes[0]) if clip else 0) and
                             kinds.keys() == {"reduce-scatter G", "all-gather P"} and
                             kinds["all-gather P"] == (count - 1) * parts and tied >= 0,
                             f"{model}, {count} replicas: {kinds}, {numbers} of norms, parts of {parts}")

    def gathered(self):
        """What a step sends of parameters with each --gather: what F reads, all of them, and with `job` what B reads,
        too, which is no bias and no embedding."""
        for model, gather in itertools.product(MODELS, GATHERS):
            count = 3
            plan = self.compile(model, 1, count, "--micro-batches", M, *PARTS, "--gather", gather)
            text = self.suite.must("zb-run", plan, "--print-plan")
            step, evaluation = text.split("jobs of an evaluation")
            sent = [sum((count - 1) * int(size.replace(",", ""))
                        for line in jobs.splitlines() if "COLLECTIVE all-gather" in line
                        for size in re.findall(r"slots\+\d+ \(([\d,]+)\)", line)) for jobs in (step, evaluation)]
            _, sizes = self.regions(plan)
            parts = {name: (count - 1) * part_bytes(size, count) for name, size in zip(self.names, sizes[0])}
            of_b = sum(part for name, part in parts.items()
                       if name.endswith("weight") and "wpe" not in name and "embed_tokens" not in name)
            wanted = {"job": M * (sum(parts.values()) + of_b), "micro-batch": M * sum(parts.values()),
                      "step": sum(parts.values())}[gather]
            self.suite.check(sent == [wanted, (1 if gather == "step" else M) * sum(parts.values())],
                             f"{model}, --gather {gather}: {sent}, wanted {wanted} of {sum(parts.values())}, {of_b}")

    def resume(self):
        options = ("--micro-batches", 6, "--optimizer", "adamw:lr=0.01")
        one = self.compile("gpt2-small", 2, 1, *options, "--sum-groups", 3)
        shared = self.compile("gpt2-small", 3, 3, "--micro-batches", 2, *options[2:], *SHARED)
        plain = self.compile("gpt2-small", 1, 3, "--micro-batches", 2, *options[2:])
        whole = self.train(one, 4)
        step = self.compile("gpt2-small", 2, 3, "--micro-batches", 2, *options[2:], *STEP)
        parts = self.compile("gpt2-small", 4, 3, "--micro-batches", 2, *options[2:], *PARTS)
        for first, second in ((one, shared), (shared, one), (shared, plain), (plain, shared), (step, one),
                              (shared, step), (one, parts), (parts, step), (parts, plain)):
            begun = self.train(first, 2)
            ended = self.train(second, 2, "--resume", begun[2])
            self.same("resumed", whole, (begun[0] + ended[0], ended[1]))
        inner = self.compile("gpt2-small", 2, 1, *options, "--sum-groups", "3:inner")
        each = self.compile("gpt2-small", 2, 3, "--micro-batches", 2, *options[2:], *EACH)
        whole_of_each = self.train(inner, 4)
        for first, second in ((inner, each), (each, inner)):
            begun = self.train(first, 2)
            ended = self.train(second, 2, "--resume", begun[2])
            self.same("resumed, sums of micro-batches", whole_of_each, (begun[0] + ended[0], ended[1]))
        clips = [self.compile("gpt2-small", ranks, 3, "--micro-batches", 2, *options[2:], *STEP, *CLIPS[0])
                 for ranks in (1, 4)]
        begun = self.train(clips[0], 2)
        ended = self.train(clips[1], 2, "--resume", begun[2])
        self.same("resumed, clipped", self.train(clips[1], 4), (begun[0] + ended[0], ended[1]))
        launcher = processes.LAUNCHERS["tcp"]
        if not launcher.reason_to_skip(self.suite):
            begun = self.train(shared, 2, over=(launcher, 2))
            ended = self.train(one, 2, "--resume", begun[2])
            self.same("resumed from two processes", whole, (begun[0] + ended[0], ended[1]))
        try:
            import safetensors.torch
        except ImportError:
            print("  safetensors is left out: it is not installed")
            return
        self.train(shared, 1)
        read = safetensors.torch.load_file(os.path.join(self.path(f"saved{self.count}"), "optimizer.safetensors"))
        shapes = {name: list(tensor.shape) for name, tensor in read.items()}
        wanted = {name: list(tensor[1]) for name, tensor in self.train(plain, 1)[1]["optimizer"].items()}
        self.suite.check(shapes == wanted, f"safetensors reads {list(shapes.items())[:3]}")

    def killed(self, level):
        """A process that dies while others wait for its sums or parts: all end, and the last save is whole."""
        launcher, launched = processes.LAUNCHERS["tcp"], processes_faults.Said(4, 2, 1)
        if launcher.reason_to_skip(self.suite):
            return
        plan = self.compile("gpt2-small", 2, 2, "--micro-batches", M, "--bucket-bytes", "30K",
                            "--sharding", level)
        undisturbed = processes_faults.Undisturbed(self.suite, plan)
        processes_faults.killed(self.suite, launcher, plan, launched, self.folder, undisturbed, 1, 0, 0.05)

    def norms(self):
        """--grad-norms of parts, put together."""
        rows = [self.suite.must("zb-run", self.compile("gpt2-small", 2, 3, "--micro-batches", M, *more), "--data",
                                "text:" + common.CORPUS, "--steps", 1, "--grad-norms") for more in ((), SHARED)]
        values = [[float(number) for number in re.findall(r"gradient norm +(\S+)", row)] for row in rows]
        self.suite.check(len(values[0]) == len(values[1]) > 9 and
                         all(abs(a - b) <= 1e-5 * abs(a) + 1e-12 for a, b in zip(*values)), f"norms {values}")

    def wrong(self):
        model = os.path.join(common.DATA, "gpt2-small.onnx")
        both = ("--data-parallel", "2", *SHARED)
        for words, status, wanted in (
                ((model, *SHARED), 2, "without --data-parallel.*\n.*--data-parallel 2"),
                ((model, "--data-parallel", "2", "--sharding", "optimiser"), 2, "did you mean 'optimizer'"),
                ((model, *STEP), 2, "without --data-parallel"),
                ((model, "--data-parallel", "2", "--sharding", "gradients"), 2,
                 "one of none, optimizer, gradients:step, gradients:micro-batch, parameters:step"),
                ((model, "--data-parallel", "2", *PARTS, "--gather", "jobs"), 2, "did you mean 'job'"),
                ((model, "--data-parallel", "2", *STEP, "--gather", "job"), 2,
                 "without a sharding of parameters.*\n.*parameters:step"),
                ((model, *EACH), 2, "without --data-parallel"),
                ((model, "--sharding-stage", "1"), 2, "write --sharding optimizer"),
                ((model, *both, "--sum-groups", "2", "--micro-batches", "2"), 2, "in the place of")):
            done = self.suite.run("zbc", *words, "-o", self.path("no"))
            self.suite.check(done.returncode == status and re.search(wanted, done.stderr) and
                             not os.path.exists(self.path("no")), f"{words[1:]}: {done.returncode}, {done.stderr}")


def main():
    options = common.arguments(__doc__, ("--draw", dict(type=int, default=random.randrange(1 << 32))),
                               ("--cases", dict(type=int, default=4)))
    suite = common.Suite(options.bin)
    print(f"  --draw {options.draw}")
    draw = random.Random(options.draw)
    with common.scratch() as folder:
        it = Sharding(suite, folder)
        it.layouts(draw, options.cases)
        it.clipped(draw, options.cases)
        it.factors()
        for level in (*LEVELS[:3], draw.choice(LEVELS[3:])):
            it.places(level)
        for level in LEVELS[1:]:
            it.places(level, *CLIPS[0])
        it.few()
        it.bytes(draw)
        it.sent()
        it.gathered()
        it.resume()
        it.killed(draw.choice(LEVELS[1:]))
        it.norms()
        it.wrong()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
