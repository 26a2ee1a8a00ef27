#!/usr/bin/env python3
"""Models with convolutions, pooling, BatchNorm and interpolation against PyTorch (test/data/windows; make_windows.py).

    windows.py [--bin BUILD/bin] [--only NAME ...] [--resnet18]

Each model trains from the text of torch.export, and from ONNX where there is a file: losses of five steps of two
micro-batches, and what buffers (running statistics) then are, within 1e-5 of PyTorch's; the same bytes on 1, 2 and 4
ranks with several schedules, with recompute, and of both files. W of a plan has the convolutions' gradients for
weights. stablehlo.convolution of random draws is what its definition says (--draws N). --resnet18: one at its own size,
exported here (needs torch), one step, whose weights are as near to those that PyTorch computes in f64 as those that it
computes in f32. Ends with "N passed, N failed".
"""
import itertools
import json
import math
import os
import random
import re
import struct
import sys

import common

DATA = os.path.join(common.SOURCE, "test", "data", "windows")
TOLERANCE = 1e-5
OPTIMIZER = "sgd:lr=0.05,momentum=0.9,weight_decay=0"
NAMES = ("resnet", "convnext", "unet", "unet-transposed", "audio", "video", "windows")
# Ranks, schedule, other options; each model takes the first two and two of the others.
PLANS = [(2, "zb-h1", ()), (4, "zb-h2", ()), (2, "1f1b", ("--recompute", "all")), (2, "zb-v", ()),
         (4, "1f1b", ()), (2, "interleaved-1f1b", ("--chunks", 2)), (3, "zb-h1", ("--split", "products"))]


def numbers(tensor):
    dtype, _, data = tensor
    kind = {"F32": "f", "I64": "q"}[dtype]
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def apart(found, wanted):
    if len(found) != len(wanted):
        return float("inf")
    return max((abs(a - b) / max(1, abs(b)) for a, b in zip(found, wanted)), default=0)


class Windows:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def train(self, model, data, steps, name, ranks=1, schedule="1f1b", more=()):
        """(losses, {name: tensor}) behind the steps."""
        plan = self.path(name)
        self.suite.compile(model, plan, "--ranks", ranks, "--micro-batches", 2, "--schedule", schedule, "--optimizer",
                           OPTIMIZER, *more)
        saved = self.path("saved")
        lines = common.json_lines(self.suite.must("zb-run", plan, "--data", "safetensors:" + data, "--steps", steps,
                                                  "--json", "--save", saved))
        weights, _ = common.read_safetensors(os.path.join(saved, "weights.safetensors"))
        return [line["loss"] for line in lines if "loss" in line], weights

    def compare(self, what, wanted, got, tolerance=TOLERANCE):
        losses, weights = got
        worst = apart(losses, wanted["losses"])
        self.suite.check(worst <= tolerance, f"{what}: losses {losses}, PyTorch's {wanted['losses']}")
        for name, value in wanted["buffers"].items():
            if name.endswith("num_batches_tracked") and name not in weights:
                continue
            far = apart(numbers(weights[name]), value) if name in weights else float("inf")
            self.suite.check(far <= tolerance, f"{what}: buffer {name} is {far:.2g} from PyTorch's")
            worst = max(worst, far)
        return worst

    def jobs(self, name):
        """Where the gradients of convolutions are run; the first stage has no gradient for its images."""
        text = self.suite.must("zb-run", self.path(name), "--print-plan")
        kinds = {"conv_weight": set(), "conv_transpose": set()}
        current = ""
        for line in text.splitlines():
            head = re.match(r"\s*(?:subprogram )?(s\d+_[A-Z]+)\b", line)
            current = head.group(1) if head else current
            op = re.match(r"\s+(conv_weight|conv_transpose)\b", line)
            if op:
                kinds[op.group(1)].add(current.split("_")[1])
        return kinds

    def family(self, name, index):
        path = os.path.join(DATA, name)
        with open(path + ".json") as file:
            wanted = json.load(file)
        data, steps = path + ".data.safetensors", len(wanted["losses"])
        first = self.train(path + ".mlir", data, steps, name)
        worst = self.compare(name, wanted, first)
        chosen = PLANS[:2] + [PLANS[2 + index % 5], PLANS[2 + (index + 2) % 5]]
        for ranks, schedule, more in chosen:
            what = f"{name}, {schedule} on {ranks} ranks {' '.join(map(str, more))}"
            got = self.train(path + ".mlir", data, steps, f"{name}.{ranks}.{schedule}", ranks, schedule, more)
            self.suite.check(got == first, f"{what}: other bits than 1f1b on 1: {got[0]}, {first[0]}")
        kinds = self.jobs(f"{name}.2.zb-h1")
        self.suite.check(kinds["conv_weight"] == {"W"}, f"{name}: conv_weight runs in {kinds['conv_weight']}")
        said = ""
        if os.path.exists(path + ".onnx"):
            other = self.train(path + ".onnx", data, steps, name + ".onnx", 2, "zb-h1")
            far = self.compare(name + ".onnx", wanted, other)
            said = f", its ONNX file {far:.2g}"
        print(f"{name}: {steps} steps, at most {worst:.2g} from PyTorch{said}", flush=True)

    # ---- stablehlo.convolution, against its definition ----

    def stablehlo(self, count):
        """Random draws of all that it has, in printed and in generic form."""
        draw, roles = random.Random(20261127), self.path("roles.json")
        with open(roles, "w") as file:
            json.dump({"arguments": [{"index": i, "role": "input", "path": name} for i, name in enumerate("xw")],
                       "results": []}, file)
        for index in range(count):
            case = drawn_convolution(draw)
            path, plan, out = self.path("c.mlir"), self.path("c"), self.path("c.npy")
            with open(path, "w") as file:
                file.write(case.text(index % 2 == 1))
            write_floats(self.path("c.data"), {"x": ([1, *case.image], case.x), "w": ([1, *case.kernel], case.w)})
            done = self.suite.run("zbc", path, "-o", plan, "--inference", "--roles", roles)
            if not done.returncode:
                done = self.suite.run("zb-run", plan, "--eval", "safetensors:" + self.path("c.data"), "--eval-steps", 1,
                                      "--output", "result0:" + out)
            what = f"stablehlo.convolution {case.text(False).splitlines()[4].strip()}"
            if not self.suite.check(done.returncode == 0, f"{what}: {done.stderr}"):
                continue
            with open(out, "rb") as file:
                body = file.read()
            found = struct.unpack(f"<{len(case.wanted)}f", body[len(body) - 4 * len(case.wanted):])
            self.suite.check(apart(found, case.wanted) <= 1e-5, f"{what}: {found[:5]}, expected {case.wanted[:5]}")
        print(f"stablehlo.convolution: {count} draws", flush=True)

    def resnet18(self):
        """Of 224 x 224 images, one step of two micro-batches."""
        sys.path[:0] = [os.path.join(common.SOURCE, "tools", "python")]
        import torch

        import window_models as models
        from zb import aten

        model, shapes = models.build("resnet18")
        example, data = models.draw(shapes, 1, seed=7), models.draw(shapes, models.MICRO_BATCHES)
        path = self.path("resnet18")
        aten.export(model, (example["x"], example["y"]), path=path + ".mlir")
        aten.write_values(path + ".data.safetensors", data)
        got = self.train(path + ".mlir", path + ".data.safetensors", 1, "resnet18.plan", 2, "zb-h1")
        exact = models.build("resnet18")[0].double()
        models.trained(exact, shapes, {"x": data["x"].double(), "y": data["y"]}, 1)
        losses = models.trained(model, shapes, data, 1)
        buffers = {key: value.flatten().tolist() for key, value in model.named_buffers()}
        worst = self.compare("resnet18", {"losses": losses, "buffers": buffers}, got)
        state, wanted = model.state_dict(), exact.state_dict()
        for name, tensor in got[1].items():
            own = torch.tensor(numbers(tensor), dtype=torch.double).reshape(wanted[name].shape)
            scale = wanted[name].double().norm().clamp(min=1e-3)
            far, theirs = (((x - wanted[name]).norm() / scale).item() for x in (own, state[name].double()))
            self.suite.check(far <= max(1e-5, 2 * theirs), f"resnet18: {name} is {far:.2g} from exact numbers, "
                             f"PyTorch's {theirs:.2g}")
        print(f"resnet18: loss {losses[0]:.6f}, at most {worst:.2g} from PyTorch", flush=True)


def positions(sizes):
    return itertools.product(*map(range, sizes))


def flat(sizes, position):
    at = 0
    for size, p in zip(sizes, position):
        at = at * size + p
    return at


class Convolution:
    """One call, with its operands, and what it gives by the words of StableHLO's specification."""
    def __init__(self, draw):
        rank = self.rank = draw.randint(1, 3)
        self.features, self.batches = draw.choice([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)])
        sizes = lambda low, high: [draw.randint(low, high) for _ in range(rank)]
        self.strides, self.rhs = sizes(1, 3), sizes(1, 2)
        self.lhs = [1] * rank if draw.random() < 0.5 else sizes(1, 3)
        self.reverse = [draw.random() < 0.3 for _ in range(rank)]
        self.pads = [(draw.randint(-1, 2), draw.randint(-1, 2)) for _ in range(rank)]
        kernel, image = sizes(1, 3), sizes(3, 6 - rank // 2)
        # Which dimension lies where: two that are not spatial, then the spatial ones.
        orders = [draw.sample(range(rank + 2), rank + 2) for _ in range(3)]
        inputs, filters = draw.randint(1, 2), draw.randint(1, 2) * self.features * self.batches
        self.names = [["b", "f"], ["o", "i"], ["b", "f"]]
        whole = [(n - 1) * l + 1 + sum(p) for n, l, p in zip(image, self.lhs, self.pads)]
        out = [(n - (k - 1) * r - 1) // s + 1 for n, k, r, s in zip(whole, kernel, self.rhs, self.strides)]
        self.is_good = min(out) > 0 and all(n > (k - 1) * r for n, k, r in zip(whole, kernel, self.rhs))
        self.plain = [[2 * self.batches, inputs * self.features, *image], [filters, inputs, *kernel],
                      [2, filters, *out]]
        self.orders = orders
        self.image, self.kernel, self.result = ([plain[order.index(i)] for i in range(rank + 2)]
                                                for plain, order in zip(self.plain, orders))
        count = lambda shape: math.prod(shape)
        self.x = [draw.uniform(-1, 1) for _ in range(count(self.image))]
        self.w = [draw.uniform(-1, 1) for _ in range(count(self.kernel))]
        if self.is_good:
            self.wanted = self.compute()

    def stored(self, which, position):
        """Where an element of `plain` order lies."""
        shape = (self.image, self.kernel, self.result)[which]
        return flat(shape, [position[self.orders[which].index(i)] for i in range(self.rank + 2)])

    def compute(self):
        out = [0.0] * math.prod(self.result)
        rows, channels = self.plain[0][0] // self.batches, self.plain[1][1]
        for n, o, *window in positions(self.plain[2]):
            batch = o * self.batches // self.plain[1][0] * rows + n
            first, total = o * self.features // self.plain[1][0] * channels, 0.0
            for i, *k in positions(self.plain[1][1:]):
                place = [p * s + e * r - pad[0] for p, s, e, r, pad in
                         zip(window, self.strides, k, self.rhs, self.pads)]
                if any(p % l or not 0 <= p // l < size for p, l, size in zip(place, self.lhs, self.plain[0][2:])):
                    continue
                at = [p // l for p, l in zip(place, self.lhs)]
                turned = [size - 1 - e if back else e for e, size, back in zip(k, self.plain[1][2:], self.reverse)]
                total += self.x[self.stored(0, [batch, first + i, *at])] * self.w[self.stored(1, [o, i, *turned])]
            out[self.stored(2, [n, o, *window])] = total
        return out

    def text(self, generic):
        kinds = ["tensor<" + "x".join(map(str, shape)) + "xf32>" for shape in (self.image, self.kernel, self.result)]
        lists = []
        for names, order in zip(self.names, self.orders):
            words = [*names, *map(str, range(self.rank))]
            lists.append("[" + ", ".join(words[order.index(i)] for i in range(self.rank + 2)) + "]")
        numbers = f"{lists[0]}x{lists[1]}->{lists[2]}"
        plain = lambda values: ", ".join(map(str, values))
        pads = ", ".join(f"[{a}, {b}]" for a, b in self.pads)
        groups = f"batch_group_count = {self.batches} : i64, feature_group_count = {self.features} : i64"
        truth = [("true" if generic else "1") if back else "false" for back in self.reverse]
        kind = f"({kinds[0]}, {kinds[1]}) -> {kinds[2]}"
        rows = [text.replace("<", "<1x") for text in kinds[:2]]  # all inputs have as many rows
        if generic:
            line = (f'"stablehlo.convolution"(%x, %w) <{{{groups}, dimension_numbers = #stablehlo.conv<{numbers}>, '
                    f"padding = dense<[{pads}]> : tensor<{self.rank}x2xi64>, window_strides = array<i64: "
                    f"{plain(self.strides)}>, lhs_dilation = array<i64: {plain(self.lhs)}>, rhs_dilation = array<i64: "
                    f"{plain(self.rhs)}>, window_reversal = array<i1: {plain(truth)}>}}> : {kind}")
            return (f'"builtin.module"() ({{\n  "func.func"() <{{function_type = ({rows[0]}, {rows[1]}) -> {kinds[2]}, '
                    f'sym_name = "main"}}> ({{\n  ^bb0(%a: {rows[0]} loc("x"), %b: {rows[1]} loc("w")):\n'
                    f'    %x = "stablehlo.reshape"(%a) : ({rows[0]}) -> {kinds[0]}\n'
                    f'    %w = "stablehlo.reshape"(%b) : ({rows[1]}) -> {kinds[1]}\n'
                    f'    %0 = {line}\n    "func.return"(%0) : ({kinds[2]}) -> ()\n  }}) : () -> ()\n}}) : () -> ()\n')
        window = (f"{{stride = [{plain(self.strides)}], pad = [{pads}], lhs_dilate = [{plain(self.lhs)}], "
                  f"rhs_dilate = [{plain(self.rhs)}], reverse = [{plain(truth)}]}}")
        return (f'module @jit_f {{\n  func.func public @main(%a: {rows[0]} loc("x"), %b: {rows[1]} loc("w")) -> '
                f"({kinds[2]}) {{\n    %x = stablehlo.reshape %a : ({rows[0]}) -> {kinds[0]}\n"
                f"    %w = stablehlo.reshape %b : ({rows[1]}) -> {kinds[1]}\n    %0 = stablehlo.convolution(%x, %w) "
                f"dim_numbers = {numbers}, window = {window} {{{groups}}} : {kind}\n    return %0 : {kinds[2]}\n"
                "  }\n}\n")


def drawn_convolution(draw):
    while True:
        case = Convolution(draw)
        if case.is_good:
            return case


def write_floats(path, tensors):
    header, body = {}, b""
    for name, (shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + body)


def main():
    options = common.arguments(__doc__, ("--only", dict(nargs="+", default=[])),
                               ("--resnet18", dict(action="store_true")), ("--draws", dict(type=int, default=24)))
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        windows = Windows(suite, folder)
        if options.resnet18:
            windows.resnet18()
        else:
            for index, name in enumerate(NAMES):
                if not options.only or name in options.only:
                    windows.family(name, index)
            if not options.only:
                windows.stablehlo(options.draws)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
