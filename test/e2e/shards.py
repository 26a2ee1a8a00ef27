#!/usr/bin/env python3
"""Tensor parallel: zbc --tensor-parallel T makes shards of every rank, which compute each micro-batch together.

    shards.py [--bin BUILD/bin] [--draw SEED] [--cases N]
    shards.py --table [--only MODEL ..] [--bin BUILD/bin]     all of TABLE and its options x ranks 1, 2 x replicas 1, 2

oracle: a run of T shards gives, bit by bit, the parts of parameters and optimizer state that a program with all shards
in it gives (zb-unroll-shards), which runs as one rank without a message.
same: ranks, schedules, processes, threads, clocks and bf16 give the losses, weights and optimizer state of one rank
with as many shards. N cases are drawn by SEED, which is printed.
near: shards give the losses and norms of a run without them within 1e-5, those of single gradients too. Such runs are
compared with PyTorch elsewhere (reference.py).
families: so with models of other families, as many as cases, and six heads of a vocabulary that shards do not divide.
count: two sums a layer forward, two backward, one of the embedding, of the head, and three of the loss; none in W. By
tokens two gathers and two scatters each way, and a layer keeps 1/T, to the byte.
resume: from shards to other shards, to none, and back: what was saved is what is loaded, whole, under its name.
times: the step of a compile is that of all shards on the simulator; a profile of shards serves the next compile.
pins: --shard cuts other dimensions and trains the same; what stays whole is said, and why.
replicas: D replicas of T shards give, bit by bit, what one replica gives that sums D groups of micro-batches.
evaluate: an evaluation of shards is that of one rank. wrong: what cannot be.
Ends with "N passed, N failed".
"""
import glob
import itertools
import json
import os
import random
import re
import struct
import sys

import common
import processes

# Models that are laid out in other ways, beside MODELS; those with a folder come without values, which are drawn.
FAMILIES = ("bart", "roberta", "llama-padded", "depth",
            *(f"families/{name}" for name in ("albert", "bert", "bloom", "falcon", "gemma", "gptneo", "neox", "phi",
                                              "qwen3")))
M = 4
STEPS = 3
LAYERS = 8
MODELS = ("gpt2-small", "llama-small")
LAYOUTS = ((1, "zb-h2", ()), (2, "1f1b", ()), (2, "zb-h1", ()), (2, "zb-v", ()), (3, "zb-h1", ()), (4, "search", ()),
           (2, "interleaved-1f1b", ("--chunks", 2)))
OPTIONS = ((), ("--sequence-parallel",), ("--sequence-parallel", "--precision", "bf16", "--clip-norm", "0.5"),
           ("--sequence-parallel", "--recompute", "all"), ("--precision", "bf16"), ("--recompute", "all"),
           ("--split", "none"), ("--optimizer", "sgd:lr=0.1,momentum=0.9"), ("--clip-norm", "0.5"),
           ("--clip-norm", "0.05", "--clip-norm-type", "inf"))
TABLE = {"gpt2-small": (2, 4), "llama-small": (2, 4), "families/six": (3,),
         **{name: (2, 4) for name in FAMILIES if name != "depth"}}
TABLE_OPTIONS = ((), ("--sequence-parallel",), ("--precision", "bf16"),
                 ("--sequence-parallel", "--precision", "bf16"))
ADAMW = "adamw:lr=0.001,beta1=0.9,beta2=0.95,eps=1e-08,weight_decay=0.1"
BEHIND = ("builtin.module(zb-partition{{ranks=1,chunks=1,placement=\"plain\",micro-batches={m}}},zb-classify,"
          "zb-outline,zb-memory,zb-schedule{{schedule=1f1b,micro-batches={m}}},zb-insert-comm,zb-allocate,"
          "zb-verify-plan{{optimizer=\"{adamw}\"}})")


def runs_of(runs, shards, shard):
    """Indices along the dimension that the shard has; None: it means nothing."""
    first = 0
    for run in runs:
        part = -(-run // shards)
        for i in range(shard * part, (shard + 1) * part):
            yield first + i if i < run else None
        first += run


def part_of(tensor, cut, shards, shard):
    """dtype, shape, bytes of the part: cut as zb.shard says it, "1:128,128" (None: whole)."""
    dtype, shape, data = tensor
    if cut is None:
        return dtype, shape, data
    dim, runs = cut.split(":")
    dim, indices = int(dim), list(runs_of([int(run) for run in runs.split(",")], shards, shard))
    inner = 4
    for size in shape[dim + 1:]:
        inner *= size
    row, out = inner * shape[dim], []
    for start in range(0, len(data), row):
        for i in indices:
            out.append(bytes(inner) if i is None else data[start + i * inner:start + (i + 1) * inner])
    return dtype, (*shape[:dim], len(indices), *shape[dim + 1:]), b"".join(out)


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


class Shards:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.count = suite, folder, 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, model, ranks, shards, *options):
        """model: of test/data, without its ending, or a path of a .mlir file."""
        self.count += 1
        out = self.path(f"plan{self.count}")
        ending = "" if model.endswith(".mlir") else ".mlir" if model.startswith("families/") else ".onnx"
        self.suite.compile(os.path.join(common.DATA, model + ending), out, "--ranks", ranks, "--tensor-parallel",
                           shards, "--micro-batches", M, *options)
        return out

    def train(self, plan, steps, *options, over=None):
        """Losses (and norms of a plan that clips), what was saved, and where. over: a launcher and a number of
        processes."""
        self.count += 1
        saved = self.path(f"saved{self.count}")
        options = (*options, "--save", saved)
        rows = (processes.train(self.suite, *over, plan, steps, *options) if over else
                self.suite.train(plan, steps, *options))
        norms = [row["norm"] for row in rows if "norm" in row]
        return [row["loss"] for row in rows] + norms, processes.read_saved(saved), saved

    def run(self, model, ranks, shards, schedule, options=()):
        return self.train(self.compile(model, ranks, shards, "--schedule", schedule, *options), STEPS)

    def same(self, text, wanted, got):
        different = [name for kind in wanted[1] for name in wanted[1][kind]
                     if got[1][kind].get(name) != wanted[1][kind][name]]
        self.suite.check(wanted[0] == got[0] and not different,
                         f"{text}: losses {got[0]} instead of {wanted[0]}, other tensors: {different[:3]}")

    def oracle(self, shards, model="gpt2-small", *options, groups=1, layouts=((2, "zb-h1", 1),)):
        """The same program with all shards in it, against plans of (ranks, schedule, replicas), each of which sums as
        many groups of micro-batches."""
        self.count += 1
        ir, unrolled = self.path(f"ir{self.count}"), self.path(f"unrolled{self.count}")
        summed = ("--sum-groups", groups, "--micro-batches", M * groups) if groups > 1 else ()
        plan = self.compile(model, 1, shards, "--dump-ir", ir, *options, *summed)
        with open(glob.glob(os.path.join(ir, "*_zb-shard.mlir"))[0], encoding="utf-8") as file:
            cuts = dict(re.findall(r'zb\.param = "([^"]+)"(?:, zb\.shard = "([^"]+)")?', file.read()))
        initial = common.read_safetensors(os.path.join(plan, "weights.safetensors"))[0]
        parts = lambda tensors, name_of: {
            name_of(name, c): part_of(tensor, cuts[self.owner(cuts, name)] or None, shards, c)
            for name, tensor in tensors.items() for c in range(shards)}
        write_safetensors(unrolled + ".safetensors", parts(initial, lambda name, c: f"{name}@{c}"))
        with open(unrolled + ".mlir", "w", encoding="utf-8") as file:
            file.write(self.suite.must("zb-opt", glob.glob(os.path.join(ir, "*_zb-layout.mlir"))[0],
                                       "--zb-unroll-shards"))
        self.suite.must("zbc", unrolled + ".mlir", "-o", unrolled, "--weights", unrolled + ".safetensors",
                        "--pass-pipeline", BEHIND.format(m=M * groups, adamw=ADAMW))
        alone, other, _ = self.train(unrolled, STEPS)
        for ranks, schedule, replicas in layouts:
            more = ("--data-parallel", replicas) if replicas > 1 else summed
            losses, saved, _ = self.run(model, ranks, shards, schedule, (*options, *more))
            text = f"{model}, {replicas} replicas of {shards} shards of {ranks} ranks, {schedule} {options} {more}"
            self.suite.check(losses == alone, f"{text}: losses {losses}, the unrolled program has {alone}")
            for kind in saved:
                wanted = parts(saved[kind], lambda name, c: self.of_shard(cuts, name, c))
                wrong = [name for name in other[kind] if wanted.get(name) != other[kind][name]]
                self.suite.check(len(other[kind]) == shards * len(saved[kind]) and not wrong,
                                 f"{text}, {kind}: other than unrolled: {len(wrong)} tensors, {wrong[:3]}")

    def table(self, only):
        """Every case of --table: bits of the unrolled program, and losses of one shard, in f32."""
        for model, counts in TABLE.items():
            if only and model not in only:
                continue
            for shards, options in itertools.product(counts, TABLE_OPTIONS):
                self.oracle(shards, model, *options, layouts=((1, "1f1b", 1), (2, "zb-h1", 1)))
                self.oracle(shards, model, *options, groups=2, layouts=((1, "zb-h1", 2), (2, "zb-h2", 2)))
                if "bf16" not in options:
                    wanted, got = (self.run(model, 1, count, "1f1b", options if count > 1 else ())[0]
                                   for count in (1, shards))
                    self.suite.check(all(abs(a - b) <= 1e-5 * abs(a) for a, b in zip(wanted, got)),
                                     f"{model}, {shards} shards {options}: losses {got}, without them {wanted}")
            print(f"  {model}: {self.suite.passed} passed, {self.suite.failed} failed", flush=True)

    @staticmethod
    def owner(cuts, name):
        return name if name in cuts else name.rsplit(".", 1)[0]

    def of_shard(self, cuts, name, shard):
        owner = self.owner(cuts, name)
        return f"{owner}@{shard}{name[len(owner):]}"

    def layouts(self, draw, count):
        cases = list(itertools.product(MODELS, (2, 3, 4, 5), OPTIONS, LAYOUTS))
        for model, shards, options, (ranks, schedule, more) in draw.sample(cases, min(count, len(cases))):
            self.same(f"{model}, {shards} shards of {ranks} ranks, {schedule} {' '.join(map(str, options + more))}",
                      self.run(model, 1, shards, "1f1b", options),
                      self.run(model, ranks, shards, schedule, (*options, *more)))

    def near(self):
        for model in MODELS:
            wanted, saved, _ = self.run(model, 1, 1, "1f1b", ("--clip-norm", 0.5))
            for shards in (2, 3, 4, 5):
                got, other, _ = self.run(model, 1, shards, "1f1b", ("--clip-norm", 0.5))
                self.suite.check(all(abs(a - b) <= 1e-5 * abs(a) for a, b in zip(wanted, got)),
                                 f"{model}, {shards} shards: losses {got}, without them {wanted}")
                shapes = {name: tensor[:2] for name, tensor in saved["weights"].items()}
                self.suite.check(shapes == {name: tensor[:2] for name, tensor in other["weights"].items()},
                                 f"{model}, {shards} shards: saved tensors have other names or shapes")

    def gradients(self):
        """Norms of gradients, whole, of what shards have parts of."""
        wanted, got = (self.suite.train(self.compile("gpt2-small", 2, shards, "--schedule", "zb-h1"), 1,
                                        "--grad-norms")[-1]["gradient_norms"] for shards in (1, 2))
        self.suite.check(wanted.keys() == got.keys() and all(abs(wanted[name] - got[name]) <= 1e-5 * wanted[name]
                                                             for name in wanted), "--grad-norms of shards")

    def families(self, draw, count):
        """Other models: losses of one shard, and every bit of all shards in one program."""
        cases = [(model, shards, by_tokens) for model in FAMILIES for shards in (2, 3, 4, 5)
                 for by_tokens in ((), ("--sequence-parallel",))]
        for model, shards, by_tokens in [("families/six", 3, ()), *draw.sample(cases, min(count, len(cases)))]:
            clipping = ("--clip-norm", draw.choice((0.5, "inf")))
            options = ("1f1b", (*clipping, *by_tokens))
            wanted, got = self.run(model, 1, 1, "1f1b", clipping), self.run(model, 1, shards, *options)
            self.suite.check(all(abs(a - b) <= 1e-5 * abs(a) for a, b in zip(wanted[0], got[0])),
                             f"{model}, {shards} shards {by_tokens}: losses {got[0]}, without them {wanted[0]}")
            self.same(f"{model}, {shards} shards of 2 ranks {by_tokens}", got,
                      self.run(model, 2, shards, "zb-h1", options[1]))
            self.oracle(shards, model, *by_tokens)

    def counts(self):
        for model in MODELS:
            plan = self.compile(model, 1, 2, "--schedule", "1f1b")
            text = self.suite.must("zb-run", plan, "--print-plan")
            found = {}
            for part in re.split(r"\n  subprogram ", text)[1:]:
                found[part.split()[0].strip(":").split("_")[-1]] = part.count("\n    all_reduce ")
            wanted = {"F": 2 * LAYERS + 4, "B": 2 * LAYERS + 1, "W": 0}
            self.suite.check({kind: found.get(kind) for kind in wanted} == wanted,
                             f"{model}: sums of a micro-batch {found}, expected {wanted}")
            self.counts_by_tokens(model)

    def counts_by_tokens(self, model):
        """Two gathers and two scatters a layer forward, as many backward; one of the embedding, of the head, and, where
        there are positions, of their part of tokens, by W; three sums of the loss. Between products a layer keeps 1/T:
        to the byte, if what is put together for W is so again (Llama has two KV heads: no more shards)."""
        text = self.suite.must("zb-run", self.compile(model, 1, 2, "--schedule", "1f1b", "--sequence-parallel"),
                               "--print-plan")
        ops, found = ("all_reduce", "reduce_scatter", "gather_parts", "own_part"), {}
        for part in re.split(r"\n  subprogram ", text)[1:]:
            name = part.split()[0].strip(":").split("_")[-1]
            found[name] = tuple(part.count(f"\n    {op} ") for op in ops)
        positions = int(model.startswith("gpt2"))
        wanted = {"F": (3, 2 * LAYERS + 1, 2 * LAYERS + 1, positions), "B": (0, 2 * LAYERS + 1, 2 * LAYERS + 1, 0),
                  "W": (0, 0, positions, 0)}
        self.suite.check({kind: found.get(kind) for kind in wanted} == wanted,
                         f"{model}: collectives by tokens {found}, expected {wanted}")
        kept = {}
        for shards in (1, 2, 4)[:2 + positions]:
            by_tokens = ("--sequence-parallel", "--recompute", "gather_parts,contiguous") if shards > 1 else ()
            made = self.suite.compile(os.path.join(common.DATA, model + ".onnx"), self.path("kept"), "--ranks", 4,
                                      "--layout", "even", "--tensor-parallel", shards, "--micro-batches", M, *by_tokens)
            kept[shards] = [shards * made["stages"][1][name] for name in ("fb_bytes", "fw_bytes", "received_bytes")]
        self.suite.check(len(set(map(tuple, kept.values()))) == 1, f"{model}: T times what a stage keeps: {kept}")

    def places(self):
        plan = self.compile("gpt2-small", 2, 2)
        wanted = self.train(plan, STEPS)
        for options in (("--device", "sim", "--seed", 7), ("--threads", 2), ("--barrier",)):
            self.same(f"2 shards of 2 ranks, {' '.join(map(str, options))}", wanted, self.train(plan, STEPS, *options))
        long = self.compile("gpt2-small", 4, 2)
        self.same("2 shards of 4 ranks", wanted, self.train(long, STEPS))
        # Of 3 processes one has a shard of a rank and reads other ranks than the process with its other shard.
        for name, count, plan in (("tcp", 2, plan), ("tcp", 4, plan), ("mpi", 3, plan), ("tcp", 3, long)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            self.same(f"{count} processes over {name}", wanted, self.train(plan, STEPS, over=(launcher, count)))
        self.same("dropout", self.run("gpt2-dropout", 1, 2, "1f1b"), self.run("gpt2-dropout", 2, 2, "zb-h1"))

    def resumes(self):
        plan = self.compile("gpt2-small", 2, 2)
        begun, whole = self.train(plan, 2), self.train(plan, 4)
        ended = self.train(plan, 2, "--resume", begun[2])
        self.same("shards resumed", whole, (begun[0] + ended[0], ended[1]))
        for ranks, shards in ((1, 1), (1, 4)):
            other = self.train(self.compile("gpt2-small", ranks, shards), 2, "--resume", begun[2])
            self.suite.check(all(abs(a - b) <= 1e-5 for a, b in zip(other[0], ended[0])),
                             f"{shards} shards go on from 2: {other[0]}, {ended[0]}")
        # With a rate of 0 a step changes no weight: what is loaded is what is saved.
        still = ("--optimizer", "sgd:lr=0")
        _, first, folder = self.train(self.compile("gpt2-small", 1, 1, *still), 1)
        replicas = ("--data-parallel", 2)
        for ranks, shards, *more in ((2, 2), (1, 4), (4, 1), (2, 1, *replicas), (1, 2, "--sequence-parallel"),
                                     (2, 3, *replicas), (2, 1, *replicas, "--sharding", "optimizer"),
                                     (2, 2, *replicas, "--sequence-parallel"), (1, 1)):
            plan = self.compile("gpt2-small", ranks, shards, *still, *more)
            _, saved, folder = self.train(plan, 1, "--resume", folder)
            self.suite.check(saved == first, f"{shards} shards of {ranks} ranks load something else {more}")

    def replicas(self, draw, count):
        options = (*OPTIONS, ("--bucket-bytes", 20000))
        cases = list(itertools.product(MODELS, (2, 3, 4, 5), (2, 3), options, LAYOUTS))
        for model, shards, replicas, option, (ranks, schedule, more) in draw.sample(cases, min(count, len(cases))):
            text = f"{model}, {replicas} replicas of {shards} shards of {ranks} ranks, {schedule} {option} {more}"
            alone = () if option[:1] == ("--bucket-bytes",) else option
            self.same(text, self.run(model, 1, shards, "1f1b", ("--sum-groups", replicas, "--micro-batches",
                                                               M * replicas, *alone)),
                      self.run(model, ranks, shards, schedule, ("--data-parallel", replicas, *option, *more)))
        mesh = self.compile("gpt2-small", 2, 2, "--data-parallel", 2, "--schedule", "zb-h1")
        wanted = self.train(mesh, STEPS)
        without, _, _ = self.train(self.compile("gpt2-small", 2, 1, "--micro-batches", 2 * M), STEPS)
        self.suite.check(all(abs(a - b) <= 1e-5 * abs(a) for a, b in zip(wanted[0], without)),
                         f"2 x 2 x 2: losses {wanted[0]}, of one pipeline {without}")
        for name, processes_of in (("tcp", 8), ("mpi", 3)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            self.same(f"2 x 2 x 2, {processes_of} processes over {name}", wanted,
                      self.train(mesh, STEPS, over=(launcher, processes_of)))
        self.same("2 x 2 x 2 on the simulator", wanted, self.train(mesh, STEPS, "--device", "sim", "--seed", 7))
        begun = self.train(mesh, 1)
        ended = self.train(mesh, STEPS - 1, "--resume", begun[2])
        self.same("2 x 2 x 2 resumed", wanted, (begun[0] + ended[0], ended[1]))

    def times(self, draw, count):
        """The step that the compile prints is that of all shards on the simulator, to the picosecond; sums are in it,
        and measured costs serve again."""
        options = (*OPTIONS, ("--data-parallel", 2), ("--data-parallel", 3, "--bucket-bytes", "20K"))
        cases = list(itertools.product(MODELS, (2, 3, 4, 5), options, LAYOUTS[:4]))
        for model, shards, option, (ranks, schedule, more) in draw.sample(cases, min(count, len(cases))):
            out, text = self.path("timed"), f"{model}, {shards} shards of {ranks} ranks, {schedule} {option} {more}"
            made = self.suite.compile(os.path.join(common.DATA, model + ".onnx"), out, "--ranks", ranks,
                                      "--tensor-parallel", shards, "--micro-batches", M, "--schedule", schedule, *more,
                                      *option)
            step = self.suite.train(out, 1, "--device", "sim", "--barrier")[0]["seconds"]
            self.suite.check(round(step * 1e12) == round(made["step_seconds"] * 1e12),
                             f"{text}: a step of {made['step_seconds']} takes {step}")
        plan, costs = self.compile("gpt2-small", 2, 2, "--schedule", "1f1b"), self.path("costs.json")
        self.suite.train(plan, 4, "--device", "sim", "--profile", costs)
        text = self.suite.must("zb-run", plan, "--print-plan")
        times = dict(re.findall(r"\n  subprogram (\S+): .*?, time ([0-9,]+) ps", text))
        again = self.suite.must("zb-run", self.compile("gpt2-small", 2, 2, "--schedule", "1f1b", "--costs", costs),
                                "--print-plan")
        other = dict(re.findall(r"\n  subprogram (\S+): .*?, time ([0-9,]+) ps", again))
        ps = lambda found, name: int(found[name].replace(",", ""))
        self.suite.check(all(abs(ps(times, name) - ps(other, name)) <= 1e-6 * ps(times, name)
                             for name in ("s0_F", "s0_B", "s0_W", "s1_F", "s1_B", "s1_W")),
                         f"subprograms take {times}, measured {other}")

    def evaluations(self):
        """On any mesh the loss is the same; the bits of those of one mesh do not depend on ranks."""
        replicas, found = ("--data-parallel", 2), {}
        for shards, *more in ((1,), (2,), (4, "--sequence-parallel"), (2, *replicas),
                              (2, *replicas, "--sequence-parallel"), (1, *replicas, "--sharding", "optimizer")):
            for ranks in (1, 3):
                plan = self.compile("gpt2-small", ranks, shards, *more)
                rows = common.json_lines(self.suite.must("zb-run", plan, "--eval", "text:" + common.CORPUS,
                                                         "--eval-steps", 1 if "--data-parallel" in more else 2,
                                                         "--json"))
                found.setdefault((shards, *more), []).append(rows[-1]["eval"]["loss"])
        wanted = found[(1,)][0]
        self.suite.check(all(len(set(losses)) == 1 and abs(losses[0] - wanted) <= 1e-5 for losses in found.values()),
                         f"evaluations: {found}")

    def pins(self):
        """Other cuts train the same, and what stays whole is said."""
        wanted = self.run("gpt2-small", 1, 1, "1f1b")
        for words in (("*.c_fc.weight=0",), ("*.h.1.*=whole", "*.wpe.weight=0"), ("*=whole", "*.c_attn.weight=1")):
            options = [part for word in words for part in ("--shard", word)]
            alone, split = (self.run("gpt2-small", ranks, 2, schedule, options)
                            for ranks, schedule in ((1, "1f1b"), (2, "zb-h1")))
            self.same(f"pinned {words}", alone, split)
            self.suite.check(all(abs(a - b) <= 1e-5 * abs(a) for a, b in zip(wanted[0], alone[0])),
                             f"pinned {words}: losses {alone[0]}, without shards {wanted[0]}")
        model = os.path.join(common.DATA, "gpt2-small.onnx")
        for shards in (2, 3):
            made = json.loads(self.suite.must("zbc", model, "-o", self.path("noted"), "--tensor-parallel", shards,
                                              "--json"))
            said = self.suite.must("zbc", model, "-o", self.path("noted"), "--tensor-parallel", shards)
            names = [item["name"].split(".")[-3:] for item in made["whole"]]
            products = [["attn", "c_attn"], ["attn", "c_proj"], ["mlp", "c_fc"], ["mlp", "c_proj"]]
            expected = sorted([*product, "weight"] for product in products for _ in range(LAYERS))
            self.suite.check(sorted(names) == (expected if shards == 3 else []),
                             f"{shards} shards: whole are {made['whole']}")
            if shards == 3:
                said = self.suite.must("zbc", model, "-o", self.path("noted"), "--tensor-parallel", 3,
                                       "--sequence-parallel")
                self.suite.check("activations: 3 shards do not divide the 32 tokens of a sample" in said, said)
            line = ("whole on every shard: lm.transformer.h.*.mlp.c_fc.weight (8): 3 shards do not divide the 128 of "
                    "zb.matmul")
            self.suite.check((line in said) == (shards == 3) and ("whole on every shard" in said) == (shards == 3),
                             f"{shards} shards: {said}")

    def wrong(self):
        model = os.path.join(common.DATA, "gpt2-small.onnx")
        for words, status, wanted in (
                (("--tensor-parallel", "0"), 2, "expected a whole number of at least 1, got '0'"),
                (("--tensor-parallel", "65"), 2, "expected 1 to 64, got 65"),
                (("--tensor-paralel", "2"), 2, "did you mean '--tensor-parallel'"),
                (("--sequence-parallel",), 2, "--sequence-parallel without --tensor-parallel"),
                (("--shard", "*=whole"), 2, "--shard without --tensor-parallel"),
                (("--tensor-parallel", "2", "--shard", "a;b=1"), 2, "has a semicolon"),
                (("--tensor-parallel", "2", "--shard", "b"), 2, "--shard: expected GLOB=DIM or GLOB=whole, got 'b'"),
                (("--tensor-parallel", "2", "--shard", "lm.transformer.wte.weigh=0"), 2,
                 "did you mean 'lm.transformer.wte.weight'"),
                (("--tensor-parallel", "3", "--shard", "*.wpe.weight=0"), 2, "3 shards do not divide dimension 0"),
                (("--tensor-parallel", "2", "--shard", "*.wte.weight=1"), 2, r"cannot be cut .*: zb.layer_norm")):
            done = self.suite.run("zbc", model, *words, "-o", self.path("no"))
            self.suite.check(done.returncode == status and re.search(wanted, done.stderr) and
                             not os.path.exists(self.path("no")), f"{words}: {done.returncode}, {done.stderr}")


def main():
    options = common.arguments(__doc__, ("--draw", dict(type=int, default=random.randrange(1 << 32))),
                               ("--cases", dict(type=int, default=4)), ("--table", dict(action="store_true")),
                               ("--only", dict(nargs="+", metavar="MODEL", help="of --table")))
    suite = common.Suite(options.bin)
    print(f"  --draw {options.draw}")
    with common.scratch() as folder:
        it = Shards(suite, folder)
        if options.table:
            it.table(options.only)
            return suite.finish()
        for shards in (2, 4):
            it.oracle(shards)
            it.oracle(shards, "llama-small", "--sequence-parallel")
        it.layouts(random.Random(options.draw), options.cases)
        it.near()
        it.gradients()
        it.families(random.Random(options.draw), options.cases)
        it.counts()
        it.places()
        it.resumes()
        it.replicas(random.Random(options.draw), options.cases)
        it.evaluations()
        it.times(random.Random(options.draw), options.cases)
        it.pins()
        it.wrong()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
