#!/usr/bin/env python3
"""Arrays as data: zb-run on .npz, .npy and safetensors has the bits of the same rows from Python, in their order or
shuffled, over epochs and after a resume; files that are damaged or do not fit are named.

    arrays.py [--bin BUILD/bin]

Files are written here, byte by byte; where NumPy is installed its own files are read too. Ends with "N passed,
N failed".
"""
import array
import io
import json
import os
import random
import struct
import sys
import warnings
import zipfile

import common

sys.path.insert(0, os.path.join(common.SOURCE, "tools", "python"))
sys.path.insert(0, os.path.join(common.SOURCE, "test", "python"))

try:
    import numpy
except ImportError:
    numpy = None

MODEL = os.path.join(common.DATA, "gpt2-small.onnx")
MICRO_BATCHES, ROWS, LENGTH = 4, 1, 1  # the plan says rows and length
DESCRIPTIONS = {"q": "<i8", "i": "<i4", "f": "<f4", "d": "<f8"}


def npy(values, shape, version=1, description=None, order="False"):
    """A file of numpy.save."""
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (
        description or DESCRIPTIONS[values.typecode], order, "".join("%d," % size for size in shape))
    front = 10 if version == 1 else 12
    text += " " * (-(front + len(text) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + values.tobytes()


def npz(members, compressed=False, large=False):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            with archive.open(name + ".npy", "w", force_zip64=large) as file:
                file.write(data)
    return out.getvalue()


def safetensors(members):
    header, body = {}, b""
    for name, (values, shape) in members.items():
        data = values.tobytes()
        kind = {"q": "I64", "i": "I32", "f": "F32"}[values.typecode]
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


class Tests:
    def __init__(self, suite, folder):
        import zb
        self.zb, self.suite, self.folder = zb, suite, folder
        self.plan = zb.compile(MODEL, ranks=2, micro_batches=MICRO_BATCHES, output=self.path("plan"))
        self.each, self.length = self.plan.inputs[0].shape
        self.batch = MICRO_BATCHES * self.each
        draw = random.Random(7)
        self.count = 3 * self.batch + 2  # three steps an epoch; two rows are left over
        self.x = [[draw.randrange(256) for _ in range(self.length)] for _ in range(self.count)]
        self.y = [[draw.randrange(256) for _ in range(self.length)] for _ in range(self.count)]

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def flat(self, rows):
        return array.array("q", [value for row in rows for value in row])

    def arrays(self):
        shape = (self.count, self.length)
        return {"x": (self.flat(self.x), shape), "y": (self.flat(self.y), shape)}

    def losses(self, source, steps, *arguments):
        rows = common.json_lines(self.suite.must("zb-run", self.plan.directory, "--data", source, "--steps", steps,
                                                 "--json", *arguments))
        return [row["loss"] for row in rows]

    def expected(self, order):
        """Of steps on those rows of the arrays, by the Python package."""
        with self.zb.Session(self.plan) as run:
            found = []
            for at in range(0, len(order), self.batch):
                rows = order[at:at + self.batch]
                batch = [memoryview(self.flat([part[r] for r in rows])).cast("B").cast("q", (self.batch, self.length))
                         for part in (self.x, self.y)]
                found.append(run.step(tuple(batch)).loss)
            return found

    def formats(self):
        members = {name: npy(*value) for name, value in self.arrays().items()}
        later = {name: npy(*value, version=3) for name, value in self.arrays().items()}
        other = dict(members, unused=npy(array.array("f", [1]), (1,)))
        epoch = list(range(3 * self.batch))
        wanted = self.expected(epoch + epoch[:2 * self.batch])
        files = {"npz:" + self.write("plain.npz", npz(members)): "npz",
                 "npz:" + self.write("large.npz", npz(members, large=True)): "npz with 64-bit sizes",
                 "npz:" + self.write("later.npz", npz(later)): "npz of a later version of npy",
                 "npz:" + self.write("other.npz", npz(other)): "npz with an array that the plan does not read",
                 "safetensors:" + self.write("plain.safetensors", safetensors(self.arrays())): "safetensors"}
        if numpy is not None:
            numpy.savez(self.path("numpy.npz"), x=numpy.array(self.x), y=numpy.array(self.y))
            files["npz:" + self.path("numpy.npz")] = "NumPy's npz"
        for source, what in files.items():
            self.suite.check(self.losses(source, 5) == wanted, "%s: the rows in their order, twice through them" % what)
        self.source = "npz:" + self.path("plain.npz")
        with self.zb.Session(self.plan, data=self.source) as run:
            self.suite.check([run.step().loss for _ in range(5)] == wanted, "npz, from Python")
        said = self.suite.run("zb-run", self.plan.directory, "--data", self.source, "--steps", 1, "--json").stderr
        self.suite.check("2 of %d rows are left out of each epoch: a step takes %d" % (self.count, self.batch) in said,
                         said)
        found = json.loads(self.suite.must("zb-run", self.plan.directory, "--eval", self.source, "--json"))["eval"]
        self.suite.check(found["batches"] == 4, "an evaluation has all rows: %s" % found)

    def shuffles(self):
        """Each epoch is a permutation; seeds and epochs have others; a resume goes on in the middle of one."""
        found = self.losses(self.source, 6, "--shuffle", 5)
        again = self.losses(self.source, 6, "--shuffle", 5)
        other = self.losses(self.source, 6, "--shuffle", 6)
        plain = self.losses(self.source, 6)
        self.suite.check(found == again and found != other and found != plain, "a seed is an order")
        for k in (1, 2, 4, 5):
            saved = self.path("saved%d" % k)
            first = self.losses(self.source, k, "--shuffle", 5, "--save", saved)
            rest = self.losses(self.source, 6 - k, "--shuffle", 5, "--resume", saved)
            self.suite.check(first + rest == found, "resumed after %d steps" % k)
        for arguments in (("--device", "sim", "--seed", 3), ("--threads", 2)):
            self.suite.check(self.losses(self.source, 6, "--shuffle", 5, *arguments) == found, "the same on %s" %
                             (arguments,))

    def epochs(self):
        """--epochs counts from the first step on; a run that has made them all makes none."""
        saved = self.path("epochs")
        rows = common.json_lines(self.suite.must("zb-run", self.plan.directory, "--data", self.source, "--epochs", 2,
                                                 "--shuffle", 5, "--json", "--save", saved))
        self.suite.check([row["loss"] for row in rows] == self.losses(self.source, 6, "--shuffle", 5), "two epochs")
        for count, steps in ((3, 3), (2, 0), (1, 0)):
            rows = common.json_lines(self.suite.must("zb-run", self.plan.directory, "--data", self.source, "--epochs",
                                                     count, "--shuffle", 5, "--json", "--resume", saved))
            self.suite.check(len(rows) == steps, "%d epochs, of which two are done: %d steps" % (count, len(rows)))
        with self.zb.Session(self.plan, data=self.source) as run:
            self.suite.check(run.epoch_steps == 3, "steps of an epoch: %d" % run.epoch_steps)
        with self.zb.Session(self.plan) as run:
            self.suite.check(run.epoch_steps == 0, "steps of an epoch from Python")

    def single(self):
        """A plan with one input reads .npy; images are floats."""
        text = ('func.func @model(%x: tensor<3x4xf32> {zb.input = "x"}, %w: tensor<4x5xf32> {zb.param = "net.w"})\n'
                '    -> (tensor<f32> {zb.loss}) {\n'
                '  %0 = "zb.matmul"(%x, %w) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>\n'
                '  %1 = "zb.mul"(%0, %0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>\n'
                '  %2 = "zb.reduce_mean"(%1) {axes = array<i64: 0, 1>, keepdims = false}'
                ' : (tensor<3x5xf32>) -> tensor<f32>\n  return %2 : tensor<f32>\n}\n')
        model = self.write("single.mlir", text.encode())
        plan = self.zb.compile(model, ranks=1, micro_batches=2, optimizer="sgd:lr=0.1", output=self.path("single"))
        draw = random.Random(3)
        values = array.array("f", [draw.random() - 0.5 for _ in range(7 * 4)])
        source = "npy:" + self.write("x.npy", npy(values, (7, 4)))
        rows = common.json_lines(self.suite.must("zb-run", plan.directory, "--data", source, "--steps", 3, "--json"))
        whole = memoryview(values).cast("B")[:6 * 16].cast("f", (6, 4))
        with self.zb.Session(plan) as run:
            wanted = [run.step(whole).loss for _ in range(3)]
        self.suite.check([row["loss"] for row in rows] == wanted, "npy of f32: %s, %s" % (rows, wanted))

    def refused(self, what, data, words, code=1, kind="npz", arguments=()):
        path = self.write("wrong." + kind, data)
        done = self.suite.run("zb-run", self.plan.directory, "--data", "%s:%s" % (kind, path), "--steps", 1, *arguments)
        self.suite.check(done.returncode == code and words in done.stderr and "step 1" not in done.stdout,
                         "%s: expected '%s', got %d %s" % (what, words, done.returncode, done.stderr))

    def wrong(self):
        (x, shape), (y, _) = self.arrays().values()
        short = array.array("q", x[:self.batch * self.length - self.length])
        both = {"x": npy(x, shape), "y": npy(y, shape)}
        self.refused("an input is missing", npz({"x": both["x"]}), "has no array 'y', which the plan reads")
        bools = npy(array.array("q", [1, 2]), (16,), description="|b1")
        self.refused("a bool of 2", npz({**both, "z": bools}),
                     "the element 8 of the array 'z' in '%s' is a bool of value 2" % self.path("wrong.npz"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of zipfile's
            again = npz([*both.items(), ("y", both["y"])])
        self.refused("a name twice", again, "the archive has two of that name")
        self.refused("another name", npz({"x": both["x"], "Y": both["y"]}), "the nearest name that is there is 'Y'")
        self.refused("other lengths", npz({"x": both["x"], "y": npy(y, (shape[0] * 2, shape[1] // 2))}),
                     "the array 'y' in '%s' is %dx%dxi64, and a micro-batch is %dx%dxi64" %
                     (self.path("wrong.npz"), shape[0] * 2, shape[1] // 2, self.each, self.length))
        self.refused("floats", npz({"x": npy(array.array("d", x), shape), "y": both["y"]}), "and a micro-batch is")
        self.refused("fewer rows", npz({"x": both["x"], "y": npy(array.array("q", y[:-self.length]),
                                                                (shape[0] - 1, shape[1]))}), "rows, and another one")
        few = npy(short, (self.batch - 1, self.length))
        self.refused("too few rows", npz({"x": few, "y": few}), "has %d rows, and a batch is %d" %
                     (self.batch - 1, self.batch))
        for empty in ("x", "y"):  # whichever is read first
            self.refused("no rows of " + empty, npz({**both, empty: npy(array.array("q"), (0, self.length))}),
                         "the array '%s' in '%s' has no rows" % (empty, self.path("wrong.npz")))
        self.refused("compressed", npz(both, compressed=True), "it is compressed")
        self.refused("by columns", npz({"x": npy(x, shape, order="True"), "y": both["y"]}), "it is stored by columns")
        self.refused("objects", npz({"x": npy(x, shape, description="|O"), "y": both["y"]}), "its type is '|O'")
        self.refused("big-endian", npz({"x": npy(x, shape, description=">i8"), "y": both["y"]}), "its type is '>i8'")
        self.refused("no archive", b"PK" + bytes(100), "it is no archive of NumPy's")
        self.refused("nothing", b"", "it is no archive of NumPy's")
        self.refused("an array alone", both["x"], "has no array 'y'", kind="npy")
        self.refused("text", b"hello, this is text", "it is no array of NumPy's", kind="npy")
        self.refused("safetensors", bytes(20), "", kind="safetensors")
        bad = array.array("q", x)
        bad[self.length + 3] = 99999
        self.refused("a token of no vocabulary", npz({"x": npy(bad, shape), "y": both["y"]}),
                     "99999 stands in row 1 (from 0) of the array 'x'")
        for arguments, words in ((("--data", "text:" + common.CORPUS, "--shuffle", 1), "--shuffle has no effect"),
                                 (("--data", "npz:"), "the name of the file is missing"),
                                 (("--data", "npzz:a"), "did you mean 'npz:a'?"),
                                 (("--data", self.source, "--shuffle", 0), "--shuffle"),
                                 (("--data", self.source, "--epochs", 2), "both say when to end")):
            done = self.suite.run("zb-run", self.plan.directory, "--steps", 1, *arguments)
            self.suite.check(done.returncode == 2 and words in done.stderr, "%s: %s" % (arguments, done.stderr))

    def mutations(self):
        """Damaged files end in an error or are read, and nothing else."""
        members = {name: npy(array.array("q", [1] * self.batch * self.length), (self.batch, self.length))
                   for name in ("x", "y")}
        good, draw = npz(members), random.Random(11)
        tail = len(good) - 260
        for i in range(60):
            data = bytearray(good)
            for _ in range(draw.randrange(1, 4)):
                where = draw.choice((draw.randrange(200), draw.randrange(tail, len(data))))
                data[where] = draw.choice((0, 1, 255, draw.randrange(256)))
            if i % 4 == 0:
                data = data[:draw.randrange(len(data))]
            path = self.write("mutated.npz", bytes(data))
            done = self.suite.run("zb-run", self.plan.directory, "--data", "npz:" + path, "--steps", 1)
            self.suite.check(done.returncode in (0, 1, 2) and (done.returncode == 0 or "error:" in done.stderr),
                             "mutation %d: %d %s" % (i, done.returncode, done.stderr))


def main():
    options = common.arguments(__doc__.split("\n")[0])
    os.environ["ZB_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(options.bin)), "lib")
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        tests = Tests(suite, folder)
        for part in (tests.formats, tests.shuffles, tests.epochs, tests.single, tests.wrong, tests.mutations):
            part()
    if numpy is None:
        print("NumPy is not installed: its own file was left out")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
