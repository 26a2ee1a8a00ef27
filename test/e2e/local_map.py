#!/usr/bin/env python3
"""Regions that each shard computes alone (zb.to_local, zb.from_local), as paddle.distributed.local_map makes them.

    local_map.py [--bin BUILD/bin] [--draw SEED] [--cases N]

Every region is written twice: for one of T shards, with borders, and whole, with plain ops and the dimension of shards
as one more of the tensors. cases: Paddle's seven published cases, and what is near them, with T 2, 3 and 4: losses and
weights of both agree within 1e-5, so gradients do. drawn: N programs of several regions one behind the other, by SEED,
which is printed, on more ranks and with bf16. bits: runs of shards have the bits of all shards in one program.
numbers: the seven cases on eight numbers: losses and gradients are those of plain arithmetic that knows no shards.
wrong: what cannot be, at its place with a hint. Ends with "N passed, N failed".
"""
import math
import os
import random
import re
import struct
import sys

import common
import processes
import shards

B, S, H, V = 2, 24, 24, 256
STEPS = 3


class Program:
    """MLIR text of a model: embedding, regions, head. Values are (name, shape, dtype)."""

    def __init__(self, members):
        self.members, self.lines, self.arguments, self.count, self.losses = members, [], [], 0, []

    @property
    def whole(self):
        return self.members == 0

    @staticmethod
    def type(shape, dtype="f32"):
        return "tensor<%s%s>" % ("".join(f"{size}x" for size in shape), dtype)

    def parameter(self, name, shape):
        self.arguments.append((f"%{name}", self.type(shape), f'zb.param = "{name}"'))
        return f"%{name}", shape, "f32"

    def op(self, op, operands, shape, dtype="f32", /, more=(), **attributes):
        """more: types of results behind the first, which nobody reads."""
        self.count += 1
        name = f"%v{self.count}"
        text = ", ".join(f"{key} = {self.attribute(value)}" for key, value in attributes.items())
        types = [self.type(shape, dtype), *more]
        self.lines.append('%s%s = "zb.%s"(%s) {%s} : (%s) -> (%s)' % (
            name, f":{len(types)}" if more else "", op, ", ".join(x[0] for x in operands), text,
            ", ".join(self.type(x[1], x[2]) for x in operands), ", ".join(types)))
        return name + ("#0" if more else ""), shape, dtype

    @staticmethod
    def attribute(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return f"{value} : i64"
        if isinstance(value, float):
            return f"{value:e} : f64"
        if isinstance(value, (list, tuple)):
            return "array<i64%s>" % (": " + ", ".join(map(str, value)) if value else "")
        return value if value.startswith("dense") else f'"{value}"'

    # ---- Pieces ----

    def two(self, op, a, b, shape=None, dtype=None):
        return self.op(op, (a, b), shape or a[1], dtype or a[2])

    def number(self, value, dtype="f32"):
        text = f"{value:e}" if dtype == "f32" else str(value)
        return self.op("constant", (), (), dtype, value=f"dense<{text}> : tensor<{dtype}>")

    def reshape(self, x, *shape):
        return self.op("reshape", (x,), shape, x[2], shape=shape)

    def sum(self, x, *axes):
        left = tuple(size for i, size in enumerate(x[1]) if i not in axes) if axes else ()
        return self.op("reduce_sum", (x,), left, axes=axes)

    def matmul(self, a, b):
        return self.op("matmul", (a, b), (*a[1][:-1], b[1][-1]))

    def slice(self, x, dim, first, size):
        starts, sizes = [0] * len(x[1]), list(x[1])
        starts[dim], sizes[dim] = first, size
        return self.op("slice", (x,), tuple(sizes), x[2], starts=starts, sizes=sizes, steps=[1] * len(sizes))

    def concat(self, parts, dim):
        shape = list(parts[0][1])
        shape[dim] *= len(parts)
        return self.op("concat", parts, tuple(shape), parts[0][2], axis=dim)

    # ---- Borders ----

    def to_local(self, x, placement=None, shape=None, **attributes):
        local = list(shape or x[1])
        if placement and placement[0] == "S":
            local[int(placement[-2])] //= self.members
        if placement:
            attributes["placement"] = placement
        if shape:
            attributes["shape"] = shape
        return self.op("to_local", (x,), tuple(local), x[2], members=self.members, **attributes)

    def from_local(self, x, placement=None):
        shape = list(x[1])
        if placement and placement[0] == "S":
            shape[int(placement[-2])] *= self.members
        attributes = {"placement": placement} if placement else {}
        return self.op("from_local", (x,), tuple(shape), x[2], members=self.members, **attributes)

    def everywhere(self, x):
        """Whole on all shards, so that products behind it are cut by columns first."""
        return self.from_local(self.to_local(x, "R", reshard=True))

    def text(self, body):
        """body(program, h, shards): [B, S, H] -> [B, S, H]."""
        embedding = self.parameter("embedding", (V, H))
        h = self.op("gather", (embedding, ("%x", (B, S), "i64")), (B, S, H), axis=0)
        h = body(h)
        logits = self.reshape(self.matmul(h, self.parameter("head", (H, V))), B * S, V)
        labels = self.reshape(("%y", (B, S), "i64"), B * S)
        loss = self.op("cross_entropy", (logits, labels), (), more=(self.type((B * S,)),), reduction="mean")
        for extra in self.losses:
            loss = self.two("add", loss, extra)
        inputs = [(f"%{name}", self.type((B, S), "i64"), f'zb.input = "{name}"') for name in "xy"]
        arguments = ", ".join(f"{name}: {kind} {{{port}}}" for name, kind, port in inputs + self.arguments)
        lines = "".join(f"    {line}\n" for line in self.lines)
        return (f'module attributes {{zb.level = "graph"}} {{\n  func.func @model({arguments}) -> '
                f'(tensor<f32> {{zb.loss}}) {{\n{lines}    return {loss[0]} : tensor<f32>\n  }}\n}}\n')


# ---- Regions: each gives h of the same shape, and may add a loss. n: a number of its own, T: how many shards ----

def masked_mean(p, h, n, T):
    """Paddle's first case: the mean of what is above 0 of each shard's part, as parts of a sum."""
    x = h if p.whole else p.to_local(h, "S(1)", reshard=True)
    x = p.reshape(x, B, T, S // T, H) if p.whole else x
    zero = p.number(0)
    above = p.op("less", (zero, x), x[1], "i1")
    kept = p.op("where", (above, x, zero), x[1])
    ones = p.op("cast", (above,), x[1], dtype="f32")
    axes = (0, 2, 3) if p.whole else (0, 1, 2)
    mean = p.two("div", p.sum(kept, *axes), p.sum(ones, *axes))
    mean = p.sum(mean, 0) if p.whole else p.from_local(mean, "Partial(sum)")
    p.losses.append(mean)
    return h


def plain_in(p, h, n, T):
    """The second: what the region makes of no distributed value leaves it distributed."""
    if p.whole:
        places = p.op("iota", (), (S,), shape=[S], axis=0, start=0.0, step=0.125, dtype="f32")
    else:
        own = p.op("coordinate", (), (1,), "i64")
        first = p.two("mul", p.op("cast", (own,), (1,), dtype="f32"), p.number(0.125 * (S // T)))
        own = p.op("iota", (), (S // T,), shape=[S // T], axis=0, start=0.0, step=0.125, dtype="f32")
        places = p.from_local(p.two("add", own, first), "Shard(0)")
    return p.two("add", h, p.reshape(places, S, 1))


def plain_parameter(p, h, n, T):
    """A parameter that no shard has a part of, as a part of a dimension: all parts are equal."""
    gain = p.parameter(f"gain{n}", (H // T,))
    gain = p.concat([gain] * T, 0) if p.whole else p.from_local(gain, "S(0)")
    return p.two("mul", h, p.two("add", gain, p.number(1)))


def other_output(p, h, n, T):
    """The third: an output that is no tensor of the mesh, beside one that is."""
    x = h if p.whole else p.to_local(h, "S(0)" if T == 2 else "S(2)", reshard=True)
    y = p.op("tanh", (x,), x[1])
    count = p.op("iota", (), (1,), "i64", shape=[1], axis=0, start=3.0, step=1.0, dtype="i64")
    if not p.whole:
        y, count = p.from_local(y, "S(0)" if T == 2 else "S(2)"), p.from_local(count)
    return p.two("add", y, p.op("cast", (count,), (1,), dtype="f32"))


def plain_beside(p, h, n, T):
    """The fourth: a part and a plain weight that all shards read, whose gradient is the sum over them."""
    weight = p.parameter(f"weight{n}", (H // T, H // T))
    if p.whole:
        parts = p.matmul(p.reshape(h, B * S, T, H // T), weight)
        return p.two("add", h, p.reshape(parts, B, S, H))
    x = p.to_local(h, "S(2)", reshard=True)
    return p.two("add", h, p.from_local(p.matmul(x, weight), "S(2)"))


def as_it_comes(p, h, n, T):
    """The seventh: without a placement what zb-shard has cut comes as it is: a softmax of each shard's columns."""
    up, down = p.parameter(f"up{n}", (H, 2 * H)), p.parameter(f"down{n}", (2 * H, H))
    x = p.matmul(h if p.whole else p.everywhere(h), up)
    if p.whole:
        groups = p.reshape(x, B, S, T, 2 * H // T)
        y = p.reshape(p.op("softmax", (groups,), groups[1], axis=3), B, S, 2 * H)
    else:
        x = p.to_local(x, shape=(B, S, 2 * H // T))
        y = p.from_local(p.op("softmax", (x,), x[1], axis=2), "S(2)")
    return p.two("add", h, p.matmul(y, down))


def own_weight(p, h, n, T):
    """A weight of which the region takes a part, by its shape: zb-shard cuts it. Every shard has all of h."""
    weight = p.parameter(f"rows{n}", (H, H))
    if p.whole:
        products = [p.matmul(*(p.slice(x, dim, c * (H // T), H // T) for x, dim in ((h, 2), (weight, 0))))
                    for c in range(T)]
        parts = [p.op("tanh", (product,), product[1]) for product in products]
        total = parts[0]
        for part in parts[1:]:
            total = p.two("add", total, part)
        return p.two("add", h, total)
    x, rows = p.to_local(h, "S(2)", reshard=True), p.to_local(weight, shape=(H // T, H))
    return p.two("add", h, p.from_local(p.op("tanh", (p.matmul(x, rows),), (B, S, H)), "P"))


def parts_of_sums(p, h, n, T):
    """Parts of a sum go in as they are, and every shard bends its own."""
    up, down = p.parameter(f"in{n}", (H, 2 * H)), p.parameter(f"out{n}", (2 * H, H))
    x, part = p.matmul(h if p.whole else p.everywhere(h), up), 2 * H // T
    if not p.whole:
        y = p.to_local(p.matmul(p.op("gelu", (x,), x[1]), down), "P")
        return p.two("add", h, p.from_local(p.op("tanh", (y,), y[1]), "P"))
    x, total = p.op("gelu", (x,), x[1]), h
    for c in range(T):
        y = p.matmul(p.slice(x, 2, c * part, part), p.slice(down, 0, c * part, part))
        total = p.two("add", total, p.op("tanh", (y,), y[1]))
    return total


def all_of_it(p, h, n, T):
    """Every shard has all, and weighs it by its number."""
    if p.whole:
        return p.two("add", h, p.two("mul", h, p.number(sum(0.1 * c for c in range(T)))))
    weight = p.two("mul", p.op("cast", (p.op("coordinate", (), (1,), "i64"),), (1,), dtype="f32"), p.number(0.1))
    x = p.to_local(h, "Replicate", reshard=True)
    return p.two("add", h, p.from_local(p.two("mul", x, weight), "P"))


def first_has_it(p, h, n, T):
    """What all have, as parts of a sum: the first has it, the others zeros, of which cos makes 1."""
    if p.whole:
        y = p.two("add", p.op("cos", (h,), h[1]), p.number(T - 1))
    else:
        x = p.to_local(h, "Partial", reshard=True)
        y = p.from_local(p.op("cos", (x,), x[1]), "P")
    return p.two("add", h, y)


def summed_inside(p, h, n, T):
    """A sum over shards within the region: what comes of it is the same on all. Each divides by the norm of all."""
    x = h if p.whole else p.to_local(h, "S(1)", reshard=True)
    square = p.sum(p.two("mul", x, x))
    if not p.whole:
        square = p.op("all_reduce", (square,), (), members=T, reduction="sum")
    norm = p.op("sqrt", (p.two("add", square, p.number(1)),), ())
    y = p.two("div", x, norm)
    if not p.whole:
        y, norm = p.from_local(y, "S(1)"), p.from_local(norm, "R")
    p.losses.append(norm)
    return p.two("add", h, y)


REGIONS = (masked_mean, plain_in, plain_parameter, other_output, plain_beside, as_it_comes, own_weight, parts_of_sums,
           all_of_it, first_has_it, summed_inside)


# ---- The seven published cases on eight numbers, of which each of two shards has four: see LocalMap.numbers ----

NUMBERS = (-0.5, 1.0, 1.0, -2.0, 3.0, 3.0, -1.0, 3.0)
WEIGHT = (0.5, -1.5, 2.0, 0.25)


def halves(h):
    return h[:4], h[4:]


def case_masked_mean(p, h):
    x = p.to_local(h, "S(0)", reshard=True)
    zero = p.number(0)
    above = p.op("less", (zero, x), (4,), "i1")
    kept = p.op("where", (above, x, zero), (4,))
    mean = p.two("div", p.sum(kept, 0), p.sum(p.op("cast", (above,), (4,), dtype="f32"), 0))
    return p.from_local(mean, "Partial(sum)")


def case_plain_in(p, h):
    first = p.two("mul", p.op("cast", (p.op("coordinate", (), (1,), "i64"),), (1,), dtype="f32"), p.number(0.5))
    own = p.op("iota", (), (4,), shape=[4], axis=0, start=0.0, step=0.125, dtype="f32")
    return p.sum(p.two("mul", h, p.from_local(p.two("add", own, first), "Shard(0)")), 0)


def case_other_output(p, h):
    x = p.to_local(h, "S(0)", reshard=True)
    count = p.op("iota", (), (1,), "i64", shape=[1], axis=0, start=3.0, step=1.0, dtype="i64")
    y, count = p.from_local(p.op("tanh", (x,), (4,)), "S(0)"), p.from_local(count)
    return p.sum(p.two("mul", y, p.op("cast", (count,), (1,), dtype="f32")), 0)


def case_plain_beside(p, h):
    x = p.to_local(h, "S(0)", reshard=True)
    return p.sum(p.from_local(p.two("mul", p.two("mul", x, x), p.parameter("w", (4,))), "S(0)"), 0)


def case_two_borders(p, h):
    """Of the sum over shards of squares each takes its part of h again: two regions of one mesh."""
    x = p.to_local(h, "S(0)", reshard=True)
    total = p.from_local(p.sum(p.two("mul", x, x), 0), "P")
    y = p.two("mul", p.to_local(h, "S(0)", reshard=True), p.to_local(total, "R", reshard=True))
    return p.sum(p.from_local(y, "S(0)"), 0)


def case_resharded(p, h):
    """From parts of a dimension to parts of a sum, and back to all on every shard."""
    y = p.from_local(p.op("tanh", (p.to_local(h, "S(0)", reshard=True),), (4,)), "S(0)")
    weight = p.two("add", p.op("cast", (p.op("coordinate", (), (1,), "i64"),), (1,), dtype="f32"), p.number(1))
    return p.sum(p.from_local(p.two("mul", p.to_local(y, "R", reshard=True), weight), "P"), 0)


def case_as_it_comes(p, h):
    """Without a placement: here all have it."""
    return weighted_squares(p, p.everywhere(h))


def case_addends_come(p, h):
    """Of a vocabulary that is cut each shard has what its half of the rows gives: the tokens are in the first half."""
    return weighted_squares(p, h)


def weighted_squares(p, h):
    x = p.to_local(h)
    weight = p.two("add", p.op("cast", (p.op("coordinate", (), (1,), "i64"),), (1,), dtype="f32"), p.number(1))
    return p.sum(p.from_local(p.two("mul", p.two("mul", x, x), weight), "P"), 0)


def mean_above(part):
    return sum(x for x in part if x > 0) / sum(x > 0 for x in part)


# What they are, by their description alone: of the eight numbers and of the weight.
PUBLISHED = (
    (case_masked_mean, lambda h, w: sum(mean_above(part) for part in halves(h))),
    (case_plain_in, lambda h, w: sum(x * 0.125 * i for i, x in enumerate(h))),
    (case_other_output, lambda h, w: sum(3 * math.tanh(x) for x in h)),
    (case_plain_beside, lambda h, w: sum(x * x * a for part in halves(h) for x, a in zip(part, w))),
    (case_two_borders, lambda h, w: sum(x for x in h) * sum(x * x for x in h)),
    (case_resharded, lambda h, w: sum((1 + c) * math.tanh(x) for x in h for c in range(2))),
    (case_as_it_comes, lambda h, w: sum((1 + c) * x * x for x in h for c in range(2))),
    (case_addends_come, lambda h, w: sum(x * x for x in h)))


def slope(function, h, w, of, place):
    """By central differences."""
    sides = []
    for step in (1e-5, -1e-5):
        h_, w_ = list(h), list(w)
        (h_ if of == "h" else w_)[place] += step
        sides.append(function(h_, w_))
    return (sides[0] - sides[1]) / 2e-5


class LocalMap(shards.Shards):
    def numbers(self):
        """Values and gradients of the published cases, by plain arithmetic here."""
        corpus, weights = self.path("eight"), self.path("eight.safetensors")
        with open(corpus, "wb") as file:
            file.write(bytes(range(1, 9)) + bytes(100))
        embedding = [0.0, *NUMBERS, *[0.0] * (256 - 9)]
        tensors = {"e": ("F32", (256, 1), struct.pack("<256f", *embedding)),
                   "w": ("F32", (4,), struct.pack("<4f", *WEIGHT))}
        for case, function in PUBLISHED:
            program = Program(2)
            e = program.parameter("e", (256, 1))
            h = program.reshape(program.op("gather", (e, ("%x", (1, 8), "i64")), (1, 8, 1), axis=0), 8)
            loss = program.reshape(case(program, h))
            arguments = ", ".join([f"%{name}: tensor<1x8xi64> {{zb.input = \"{name}\"}}" for name in "x"] +
                                  [f"{name}: {kind} {{{port}}}" for name, kind, port in program.arguments])
            path, out = self.path(case.__name__ + ".mlir"), self.path(case.__name__)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'module attributes {{zb.level = "graph"}} {{\n  func.func @model({arguments}) -> '
                           f'(tensor<f32> {{zb.loss}}) {{\n' + "".join(f"    {line}\n" for line in program.lines) +
                           f"    return {loss[0]} : tensor<f32>\n  }}\n}}\n")
            own = {name[1:]: tensors[name[1:]] for name, _, _ in program.arguments}
            shards.write_safetensors(weights, own)
            self.suite.compile(path, out, "--weights", weights, "--micro-batches", 1, "--optimizer", "sgd:lr=1",
                               "--tensor-parallel", 2)
            rows = self.suite.train(out, 1, "--save", out + ".saved", corpus=corpus)
            saved = processes.read_saved(out + ".saved")["weights"]
            wanted = function(NUMBERS, WEIGHT)
            places = [("e", "h", 1 + i, i) for i in range(8)] + [("w", "w", i, i) for i in range(4) if "w" in own]
            off = [abs(rows[0]["loss"] - wanted)]
            for name, of, at, place in places:
                before, after = (struct.unpack_from("<f", tensor[2], 4 * at)[0] for tensor in (own[name], saved[name]))
                off.append(abs(before - after - slope(function, NUMBERS, WEIGHT, of, place)))
            self.suite.check(max(off) < 1e-4 and off[0] < 2e-6 * max(1, abs(wanted)),
                             f"{case.__name__}: {rows[0]['loss']} instead of {wanted}, gradients off by {off[1:]}")
            if case is case_masked_mean:
                means = [mean_above(part) for part in halves(NUMBERS)]
                self.suite.check(means == [1, 3] and rows[0]["loss"] == 4, f"1.0 and 3.0 are 4.0: {rows}")

    def write(self, name, members, regions, T):
        program, out = Program(members), self.path(name)

        def body(h):
            for n, region in enumerate(regions):
                h = region(program, h, n, T)
            return h

        with open(out, "w", encoding="utf-8") as file:
            file.write(program.text(body))
        return out

    def start(self, T, regions):
        """Both programs and initial weights, drawn."""
        paths = [self.write("whole.mlir", 0, regions, T), self.write("local.mlir", T, regions, T)]
        weights, program = self.path("weights.safetensors"), Program(T)
        program.text(lambda h: [h := region(program, h, n, T) for n, region in enumerate(regions)][-1])
        draw = random.Random(7)
        tensors = {}
        for name, kind, _ in program.arguments:
            shape = tuple(int(size) for size in kind[len("tensor<"):-1].split("x")[:-1])
            count = 1
            for size in shape:
                count *= size
            tensors[name[1:]] = ("F32", shape, struct.pack(f"<{count}f", *(draw.gauss(0, 0.2) for _ in range(count))))
        shards.write_safetensors(weights, tensors)
        return paths, weights

    def made(self, path, weights, T, *options):
        self.count += 1
        out = self.path(f"plan{self.count}")
        self.suite.compile(path, out, "--weights", weights, "--micro-batches", shards.M, *options,
                           *(("--tensor-parallel", T) if T > 1 else ()))
        return out

    def compare(self, T, regions, *options, bound=1e-5):
        text = f"{T} shards, {', '.join(region.__name__ for region in regions)} {options}"
        (whole, local), weights = self.start(T, regions)
        wanted, saved, _ = self.train(self.made(whole, weights, 1, *options), STEPS)
        got, other, _ = self.train(self.made(local, weights, T, *options), STEPS)
        self.suite.check(all(abs(a - b) <= bound * abs(a) for a, b in zip(wanted, got)),
                         f"{text}: losses {got}, whole {wanted}")
        for name, tensor in saved["weights"].items():
            far = self.distance(tensor[2], other["weights"][name][2])
            self.suite.check(far <= 20 * bound, f"{text}: {name} is {far} off")
        return local, weights, (got, other)

    @staticmethod
    def distance(a, b):
        a, b = (struct.unpack(f"<{len(data) // 4}f", data) for data in (a, b))
        return max(abs(x - y) for x, y in zip(a, b)) if len(a) == len(b) else float("inf")

    def drawn(self, draw, cases):
        for _ in range(cases):
            T, regions = draw.choice((2, 3, 4)), draw.sample(REGIONS, draw.randint(2, 5))
            options = draw.choice(((), ("--clip-norm", 0.5), ("--recompute", "all"), ("--split", "none")))
            local, weights, alone = self.compare(T, regions, "--optimizer", "sgd:lr=0.1", *options)
            ranks, schedule = draw.choice(((2, "zb-h1"), (3, "1f1b"), (2, "zb-v")))
            plan = self.made(local, weights, T, "--optimizer", "sgd:lr=0.1", *options, "--ranks", ranks, "--schedule",
                             schedule)
            self.same(f"{T} shards of {ranks} ranks, {schedule}", alone, self.train(plan, STEPS))

    def wrong(self):
        """Paddle's fifth and sixth: shards that are others, or none; a placement that is another."""
        local = self.write("wrong.mlir", 2, [masked_mean], 2)
        with open(local, encoding="utf-8") as file:
            text = file.read()
        for shard_count, change, wanted in (
                (1, ("", ""), r"border of a region of shards.*\n.*to_local.*\n.*\n  hint: compile it with "
                              r"--tensor-parallel 2"),
                (3, ("", ""), "the region is one of 2 shards, and the program has 3"),
                (2, (", reshard = true", ""), r"placed R, and the region takes S\(1\)(.*\n)+  hint: with {reshard"),
                (2, ("Partial(sum)", "Replicate"), "not the same on all shards"),
                (2, ("Partial(sum)", "Partial(max)"), r"unknown placement 'Partial\(max\)'"),
                (2, ("S(1)", "S(7)"), "cuts a dimension that is not there: x has 3")):
            with open(local, "w", encoding="utf-8") as file:
                file.write(text.replace(*change))
            done = self.suite.run("zbc", local, "-o", self.path("no"), *(
                ("--tensor-parallel", shard_count) if shard_count > 1 else ()))
            self.suite.check(done.returncode == 1 and re.search(wanted, done.stderr) and
                             not os.path.exists(self.path("no")), f"{change}: exit {done.returncode} {done.stderr}")


def main():
    options = common.arguments(__doc__, ("--draw", dict(type=int, default=random.randrange(1 << 32))),
                               ("--cases", dict(type=int, default=4)))
    suite = common.Suite(options.bin)
    print(f"  --draw {options.draw}")
    with common.scratch() as folder:
        run = LocalMap(suite, folder)
        for i, region in enumerate(REGIONS):
            run.compare((2, 3, 4)[i % 3], [region], "--optimizer", "sgd:lr=0.1")
        run.numbers()
        for T in (2, 3, 4):
            local, weights = run.start(T, REGIONS)
            run.oracle(T, local[1], "--weights", weights)
        run.wrong()
        run.drawn(random.Random(options.draw), options.cases)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
