#!/usr/bin/env python3
"""Models with convolutions, pooling, BatchNorm and interpolation against PyTorch (test/data/windows; make_windows.py).

    windows.py [--bin BUILD/bin] [--only NAME ...] [--resnet18]

Each model trains from the text of torch.export, and from ONNX where there is a file: losses of five steps of two
micro-batches, and what buffers (running statistics) then are, within 1e-5 of PyTorch's; the same bytes on 1, 2 and 4
ranks with several schedules, with recompute, and of both files. W of a plan has the convolutions' gradients for
weights, B those for images. --resnet18: one at its own size, exported here (needs torch), one step, whose weights are
as near to those that PyTorch computes in f64 as those that it computes in f32. Ends with "N
passed, N failed".
"""
import json
import os
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


def main():
    options = common.arguments(__doc__, ("--only", dict(nargs="+", default=[])),
                               ("--resnet18", dict(action="store_true")))
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        windows = Windows(suite, folder)
        if options.resnet18:
            windows.resnet18()
        else:
            for index, name in enumerate(NAMES):
                if not options.only or name in options.only:
                    windows.family(name, index)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
