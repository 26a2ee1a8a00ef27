#!/usr/bin/env python3
"""Which indices each format takes: those of its framework, and no others. What is refused is a bad batch that names the
index; what counts from the end does so once.

    indices.py [--bin BUILD/bin]

A row is an operator as a format writes it (meaning.py), the least index that is taken of 5, and the sum of its result
for an index that is. Where PyTorch can be imported (ZB_PYTHON: a Python that has it), what zb.compile writes with other
ops is compared with PyTorch itself: what it raises on is refused, and losses are its own.
Ends with "N passed, N failed".
"""
import array
import json
import math
import os
import struct
import sys
import warnings

import common
from meaning_doors import Aten, I, Onnx, Paddle

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

N = 5
INDICES = (0, 4, 5, -1, -5, -6, -7, -12, 255, -100)
ROWS, LINE, WHOLE, PLACE = "5x2xf32", "2x5xf32", "5x5xf32", "2x1xf32"
W = [0.5 + 0.25 * k for k in range(25)]


def read(i):
    return sum(W[2 * i:2 * i + 2])


def put(i):
    """Both lines of 5 get a v at i: W[0] and W[1]."""
    return sum(W[:10]) - W[i] - W[5 + i] + W[0] + W[1]


def one_row(i):
    return sum(W[:10]) - read(i) + W[0] + W[1]


def added(i):
    return sum(W[:10]) + W[0] + W[1]


ELEMENTS = {"w": ROWS, "i": "1x2xi64"}
PUTS = {"w": LINE, "i": "2x1xi64", "v": PLACE}
DEPTH, CLASSES, PAIR = {"d": ([], I, [5])}, {"d": (5, I)}, {"e": ([2], "f32", [0, 1])}
# Name, door, operands, result, the least index, the sum.
TABLE = [
    ("embedding", Aten("embedding", "w i"), {"w": ROWS, "i": "1xi64"}, "1x2xf32", 0, read),
    ("index_select", Aten("index_select", "w i", dim=0), {"w": ROWS, "i": "1xi64"}, "1x2xf32", 0, read),
    ("gather", Aten("gather", "w i", dim=0), ELEMENTS, "1x2xf32", 0, read),
    ("scatter", Aten("scatter.src", "w i v", dim=1), PUTS, LINE, 0, put),
    ("scatter_add", Aten("scatter_add", "w i v", dim=1), PUTS, LINE, 0, added),
    ("x[i]", Aten("index.Tensor", "w i"), {"w": ROWS, "i": "1xi64"}, "1x2xf32", -N, read),
    ("x[i, i]", Aten("index.Tensor", "w i i"), {"w": WHOLE, "i": "1xi64"}, "1xf32", -N, lambda i: W[6 * i]),
    ("index_put", Aten("index_put", "w i v"), {"w": ROWS, "i": "1xi64", "v": "1x2xf32"}, ROWS, -N, one_row),
    ("Gather", Onnx("Gather", "w i"), {"w": ROWS, "i": "1xi64"}, "1x2xf32", -N, read),
    ("GatherElements", Onnx("GatherElements", "w i", axis=0), ELEMENTS, "1x2xf32", -N, read),
    ("GatherND", Onnx("GatherND", "w i"), {"w": ROWS, "i": "1x1xi64"}, "1x2xf32", -N, read),
    ("ScatterND", Onnx("ScatterND", "w i v"), {"w": ROWS, "i": "1x1xi64", "v": "1x2xf32"}, ROWS, -N, one_row),
    ("ScatterElements", Onnx("ScatterElements", "w i v", axis=1), PUTS, LINE, -N, put),
    ("OneHot", Onnx("OneHot", "i d e", constants=DEPTH | PAIR), {"i": "1xi64"}, "1x5xf32", None, lambda i: -N <= i < N),
    ("paddle embedding", Paddle("embedding", "i w", padding_idx=-1), {"w": ROWS, "i": "1xi64"}, "1x2xf32", 0, read),
    ("paddle take_along_axis", Paddle("take_along_axis", "w i", axis=0), ELEMENTS, "1x2xf32", -N, read),
    ("paddle gather_nd", Paddle("gather_nd", "w i"), {"w": ROWS, "i": "1x1xi64"}, "1x2xf32", -N, read),
    ("paddle one_hot", Paddle("one_hot", "i d", constants=CLASSES), {"i": "1xi64"}, "1x5xf32", 0, lambda i: 1),
]


def write_floats(path, shapes):
    """Each tensor is W from its begin on."""
    header, data = {}, b""
    for name, shape in shapes.items():
        count = math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * count]}
        data += struct.pack(f"<{count}f", *W[:count])
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Tests:
    def __init__(self, suite, folder):
        import zb
        self.zb, self.suite, self.folder = zb, suite, folder

    def evaluated(self, run, index, batch):
        """The loss, or None where the batch is refused; then the text has the index."""
        try:
            return run.evaluate([batch]).loss
        except self.zb.Error as error:
            self.suite.check(error.code == "INVALID" and f"got {index}, expected " in str(error), str(error))
            return None

    def row(self, name, door, values, made, least, total, **options):
        path = os.path.join(self.folder, "model" + door.ending)
        with open(path, "wb") as file:
            file.write(door.file(name, values, [made]))
        shapes = {key: [int(dim) for dim in kind.split("x")[:-1]] for key, kind in (values | {"p": "2xf32"}).items()}
        tensors = os.path.join(self.folder, "values.safetensors")
        write_floats(tensors, {key: shape for key, shape in shapes.items() if key != "i"})
        plan = self.zb.compile(path, ranks=1, micro_batches=1, output=os.path.join(self.folder, "plan"), **options)
        with self.zb.Session(plan, weights=tensors, weights_partial=True) as run:
            for index in INDICES:
                given = array.array("q", [index] * math.prod(shapes["i"]))
                got = self.evaluated(run, index, {"i": memoryview(given).cast("B").cast("q", shapes["i"]),
                                                  "x": array.array("f", [1])})
                taken = least is None or least <= index < N
                wanted = total(index if least is None else index % N) * (W[0] + W[1]) if taken else None
                self.suite.check(got == wanted, f"{name} {index}: {got}, expected {wanted}")

    def table(self):
        for row in TABLE:
            try:
                self.row(*row)
            except self.zb.Error as error:
                self.suite.check(False, f"{row[0]}: {error}")
        for row in TABLE[0], TABLE[8]:  # shards that have some of the rows each
            self.row("shards " + row[0], *row[1:], tensor_parallel=N, shard_pins=["w=0"])


    def modules(self):
        """Two indices each, of which the second is drawn from INDICES."""
        ones = torch.ones(2, 4)
        wide = lambda i: i[:, None].expand(-1, 4)  # noqa: E731
        for name, forward in {
            "embedding_bag": lambda w, i: F.embedding_bag(i[:, None], w, mode="sum"),
            "one_hot": lambda w, i: F.one_hot(i, N).float() @ w,
            "take": lambda w, i: w[:, 0].take(i),
            "x[i, j]": lambda w, i: torch.stack([w[i, i * 0], w[i, i * 0 + 1]]),
            "index_add": lambda w, i: w.index_add(0, i, ones),
            "index_copy": lambda w, i: w.index_copy(0, i, ones),
            "index_fill": lambda w, i: w.index_fill(0, i, 1.0),
            **{f"scatter_reduce {kind}": lambda w, i, kind=kind: w.scatter_reduce(0, wide(i), ones, kind)
               for kind in ("sum", "mean", "amax")},
            "index_reduce": lambda w, i: w.index_reduce(0, i, ones, "amin"),
        }.items():
            self.module(name, forward)

    def module(self, name, forward):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.arange(4.0 * N).reshape(N, 4) / 7)

            def forward(self, i):
                return (forward(self.w, i) ** 2).mean()

        model = Model()
        plan = self.zb.compile(model, (torch.tensor([0, 1]), ), ranks=1, micro_batches=1)
        with self.zb.Session(plan) as run:
            for index in INDICES:
                pair = torch.tensor([2, index])
                try:
                    wanted = model(pair).item()
                except (RuntimeError, IndexError):
                    wanted = None
                got = self.evaluated(run, index, [pair])
                good = got is wanted if None in (got, wanted) else abs(got - wanted) <= 1e-5 * abs(wanted)
                self.suite.check(good, f"{name} {index}: {got}, PyTorch's {wanted}")


def main():
    options = common.arguments(__doc__)
    other = os.environ.pop("ZB_PYTHON", None)
    if torch is None and other:
        os.execvp(other, [other, *sys.argv])
    warnings.simplefilter("ignore")
    sys.path.insert(0, os.path.join(common.SOURCE, "tools", "python"))
    os.environ["ZB_LIBRARY"] = os.path.join(options.bin, "..", "lib")
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        tests = Tests(suite, folder)
        tests.table()
        if torch:
            tests.modules()
        else:
            print("modules are left out: no PyTorch; set ZB_PYTHON")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
