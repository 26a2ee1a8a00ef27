#!/usr/bin/env python3
"""Models whose parameters have no values when they are compiled (PyTorch's device meta): a run is given them by
--weights, and has the bits of one whose plan had them; what nobody gives is named.

With PyTorch (this Python, or ZB_PYTHON) also modules: tied weights, running statistics, a part of real parameters,
buffers that have no values, and that 7 billion parameters are compiled without memory for them.

    later.py [--bin BUILD/bin]

Ends with "N passed, N failed".
"""
import json
import os
import re
import struct
import subprocess
import sys

import common

DATA = os.path.join(common.DATA, "aten")
NAMES = ("nanogpt", "batchnorm")
LARGE = int(os.environ.get("ZB_LATER_PARAMETERS", 7 * 10**9))


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


class Tests:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def without(self, name, keep=()):
        """The exported module `name`, with values of those alone: its path, and the names that have none."""
        with open(os.path.join(DATA, name + ".mlir"), encoding="utf-8") as file:
            text = file.read()
        values, _ = common.read_safetensors(os.path.join(DATA, name + ".safetensors"))
        updated = set(re.findall(r'aten\.updates = "([^"]*)"', text))
        later = [key for key in values if key not in keep and
                 (f'aten.parameter = "{key}"' in text or key in updated)]
        for key in later:
            text = re.sub(r'(aten\.(?:parameter|buffer) = "%s")' % re.escape(key), r"\1, aten.unset", text)
        path = self.path(f"later{len(keep)}.mlir")
        values_name = os.path.basename(path).replace(".mlir", ".safetensors")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(f'"{name}.safetensors"', f'"{values_name}"'))
        write_safetensors(self.path(values_name), {key: value for key, value in values.items() if key not in later})
        return path, later

    def losses(self, plan, name, *arguments):
        parts, _ = common.read_safetensors(os.path.join(DATA, name + ".data.safetensors"))  # of a micro-batch each
        write_safetensors(self.path("data.safetensors"), {
            key: (dtype, (shape[0] * shape[1], *shape[2:]), data) for key, (dtype, shape, data) in parts.items()})
        out = self.suite.must("zb-run", plan, "--data", "safetensors:" + self.path("data.safetensors"), "--steps", 2,
                              "--json", *arguments)
        return [row["loss"] for row in common.json_lines(out)]

    def test_files(self):
        for name in NAMES:
            weights = os.path.join(DATA, name + ".safetensors")
            model = os.path.join(DATA, name + ".mlir")
            with_values, plan = self.path("with"), self.path("without")
            self.suite.compile(model, with_values, "--ranks", 2, "--micro-batches", 2)
            wanted = self.losses(with_values, name)
            path, later = self.without(name)
            summary = self.suite.compile(path, plan, "--ranks", 2, "--micro-batches", 2)
            stored = [len(common.read_safetensors(os.path.join(plan, "weights.safetensors"))[0])]
            self.suite.check(summary["later"] > 0 and stored == [0], f"{name}: {summary['later']} later, {stored} kept")
            said = self.suite.must("zbc", path, "--ranks", 2, "-o", self.path("said"))
            self.suite.check(f"{summary['later']} parameters and buffers have no values yet: zb-run --weights" in said,
                             f"{name}: zbc says so: {said[-400:]}")
            self.suite.check(self.losses(plan, name, "--weights", weights) == wanted, f"{name}: the bits of --weights")
            failed = self.suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 1)
            self.suite.check(failed.returncode == 1 and re.search(
                r"compiled without values, and \d+ parameters have none: '.*\n  hint: --weights PATH", failed.stderr),
                f"{name}: without: {failed.returncode} {failed.stderr}")
            compiled = self.path("compiled")
            self.suite.compile(path, compiled, "--ranks", 2, "--micro-batches", 2, "--weights", weights)
            self.suite.check(self.losses(compiled, name) == wanted, f"{name}: zbc --weights gives them, too")
            self.some(name, later, wanted, weights)

    def some(self, name, later, wanted, weights):
        """A part has values in the model, another part comes later, and one of them does not."""
        keep, plan, part = later[: len(later) // 2], self.path("some"), self.path("part.safetensors")
        path, rest = self.without(name, keep)
        self.suite.compile(path, plan, "--ranks", 2, "--micro-batches", 2)
        values, _ = common.read_safetensors(weights)
        write_safetensors(part, {key: values[key] for key in rest})
        self.suite.check(self.losses(plan, name, "--weights", part, "--weights-partial") == wanted,
                         f"{name}: with --weights-partial the others begin as in the plan")
        write_safetensors(part, {key: values[key] for key in rest[1:]})
        failed = self.suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--weights", part,
                                "--weights-partial", "--steps", 1)
        self.suite.check(failed.returncode == 1 and f"1 parameter has none: '{rest[0]}'" in failed.stderr,
                         f"{name}: the one that is missing is named: {failed.stderr}")
        saved = self.path("saved")
        self.losses(plan, name, "--weights", weights, "--save", saved)
        resumed = self.losses(plan, name, "--resume", saved)
        self.suite.check(len(resumed) == 2, f"{name}: a checkpoint has all values")

    def test_unknown(self):
        """Constants must have values: without them the file is damaged."""
        path, _ = self.without("nanogpt")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(", aten.unset", ""))
        failed = self.suite.run("zbc", path, "-o", self.path("damaged"))
        self.suite.check(failed.returncode == 1 and "there is no value of" in failed.stderr,
                         f"a value that is missing without a word: {failed.stderr}")

    # ---- With PyTorch ----

    def test_modules(self):
        python, reason = common.python_with_torch()
        if reason:
            print(f"ok - modules on the device meta # SKIP {reason}")
            return
        build = os.path.dirname(os.path.abspath(self.suite.bin))
        done = subprocess.run([python, os.path.abspath(__file__), "--bin", self.suite.bin, "--modules"],
                              capture_output=True, text=True,
                              env=dict(os.environ, ZB_LIBRARY=os.path.join(build, "lib")))
        rows = [line for line in done.stdout.splitlines() if line.startswith(("passed ", "failed "))]
        for row in rows:
            self.suite.check(row.startswith("passed "), row)
        self.suite.check(done.returncode == 0 and len(rows) > 8, done.stdout[-2000:] + done.stderr[-2000:])


def modules():
    sys.path.insert(0, os.path.join(common.SOURCE, "tools", "python"))
    import resource
    import tempfile

    import torch

    import zb

    def check(good, what, *found):
        print("passed" if good else "failed", what, *(found if not good else ()), flush=True)

    class Model(torch.nn.Module):
        def __init__(self, real=True):
            super().__init__()
            self.embedding, self.line = torch.nn.Embedding(16, 8), torch.nn.Linear(8, 8)
            self.norm, self.head = torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 16, bias=False)
            self.head.weight = self.embedding.weight
            self.register_buffer("scale", torch.arange(1.0, 9.0) / 8, persistent=False)

        def forward(self, x, y):
            h = self.norm(torch.tanh(self.line(self.embedding(x))).flatten(0, 1)) * self.scale
            return torch.nn.functional.cross_entropy(self.head(h), y.flatten())

    torch.manual_seed(0)
    real, x, y = Model(), torch.randint(16, (4, 6)), torch.randint(16, (4, 6))
    options = dict(ranks=2, micro_batches=2, optimizer="sgd:lr=0.1")
    example = (x[:2], y[:2])
    with zb.Session(zb.compile(real, example, **options)) as run:
        wanted, values = [run.step((x, y)).loss for _ in range(3)], run.state_dict()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "weights.safetensors")
        from zb import aten
        aten.write_values(file, {key: value for key, value in real.state_dict().items()
                                 if key != "head.weight"})
        with zb.without_values():
            later = Model()
        check(all(p.is_meta for p in later.parameters()) and not later.scale.is_meta and
              later.head.weight is later.embedding.weight, "without_values: parameters alone, tied ones tied")
        with torch.device("meta"):
            meta = Model()
        meta.scale = real.scale
        for what, module in (("zb.without_values()", later), ("torch.device('meta')", meta)):
            before = dict(module.named_parameters())
            plan = zb.compile(module, example, **options)
            check(plan.summary.later > 0 and all(module.get_parameter(k) is v for k, v in before.items()),
                  what + ": compiled, and the module is as it was")
            for source, given in (("a file", file), ("a module", real), ("a state_dict", real.state_dict())):
                with zb.Session(plan, weights=given) as run:
                    found = [run.step((x, y)).loss for _ in range(3)]
                    same = all(torch.equal(values[k], v) for k, v in run.state_dict().items() if k in values)
                check(found == wanted and same, "%s, weights of %s" % (what, source), found, wanted)
            try:
                zb.Session(plan)
                check(False, what + ": nothing was raised")
            except zb.Error as error:
                check("compiled without values" in str(error) and 'weights="PATH"' in str(error), what + " alone",
                      error)
        later.line.weight = torch.nn.Parameter(real.line.weight.detach().clone())
        plan = zb.compile(later, example, **options)
        rest = {key: value for key, value in real.state_dict().items() if key != "line.weight"}
        with zb.Session(plan, weights=rest, weights_partial=True) as run:
            check([run.step((x, y)).loss for _ in range(3)] == wanted, "a part has values")
        with torch.device("meta"):
            broken = Model()
        try:
            zb.compile(broken, example, **options)
            check(False, "nothing was raised for buffers")
        except zb.Error as error:
            check("'scale'" in str(error) and "zb.without_values()" in str(error), "a buffer without a value", error)
    large(check, torch, zb, resource)


def large(check, torch, zb, resource):
    width, layers = 4096, max(1, LARGE // (12 * 4096 * 4096))

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(width)
            self.parts = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(4))
            self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

        def forward(self, h):
            q, k, v = (part(self.norm(h)).unflatten(-1, (32, -1)).transpose(1, 2) for part in self.parts[:3])
            h = h + self.parts[3](torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return h + self.down(torch.nn.functional.gelu(self.up(h)))

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(Layer() for _ in range(layers))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x.pow(2).mean()

    with zb.without_values():
        model = Model()
    count = sum(p.numel() for p in model.parameters())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    plan = zb.compile(model, (torch.zeros(1, 16, width),), ranks=4, micro_batches=8)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = os.path.getsize(plan.directory / "weights.safetensors")
    check(after - before < 1 << 20 and size < 1 << 16 and plan.summary.later == len(list(model.parameters())),
          "%.1f billion parameters, %d KiB more memory at most, %d bytes of weights" %
          (count / 1e9, after - before, size))


def main():
    options = common.arguments(__doc__, ("--modules", {"action": "store_true"}))
    if options.modules:
        return modules()
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        tests = Tests(suite, folder)
        for name in dir(Tests):
            if name.startswith("test_"):
                getattr(tests, name)()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
