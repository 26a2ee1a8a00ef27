#!/usr/bin/env python3
"""Values and gradients at the special points of every formula: zeros, ends of pieces, ties, infinities, NaN.

    points.py [--bin BUILD/bin] [--data FOLDER] [--door NAME] [--all] [--differences FILE] [CASE...]

A door has an archive in test/data/points, recorded by make_points.py with its framework: a model as the framework
exports it, the values of its parameters, and what the framework computes in f32 and in f64. The tool `points` imports
the model, runs the passes of zbc, and gives the gradient of each parameter CASE__PART: of CASE__g it is the value of
the case, of all others a gradient. One row is one element of one of them. It agrees if it is NaN or infinite where the
framework, in f32 or f64, is; else within 4 units in the last place (or what the case says; of gradients of rows, in the
last place of the greatest of the row) of the value in f64 or f32, or as near to it as the framework's own. Rows that
may differ are in points_allowed.json, each with the line of the framework that says why; one that no longer differs is
an error; --differences writes all that differ in that form. With the kernels of the device, with the reference kernels,
and without what zb-raise and zb-fuse make. Ends with "N passed, N failed".
"""
import glob
import json
import math
import os
import re
import struct
import subprocess
import sys
import zipfile

import common

DATA = os.path.join(common.DATA, "points")
ALLOWED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "points_allowed.json")
WAYS = {"": [], "reference": ["--reference"], "unraised": ["--no-raise", "--reference"]}


def floats(entry):
    dtype, _, body = entry
    kind = {"F32": "f", "F64": "d"}[dtype]
    return struct.unpack(f"<{len(body) // struct.calcsize(kind)}{kind}", body)


def as_float32(value):
    """The nearest f32, as a double."""
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def unit(value):
    """The distance of neighbours of an f32."""
    return 2.0 ** (max(math.frexp(value)[1], -125) - 24)


def agrees(ours, theirs, exact, ulp, scale=0.0):
    """scale: a number whose last place counts where that of the value is smaller."""
    if math.isnan(ours):
        return math.isnan(theirs) or math.isnan(exact)
    if math.isinf(ours):
        return ours in (theirs, as_float32(exact))
    if ours == theirs:
        return True
    if math.isfinite(theirs) and abs(ours - theirs) <= ulp * unit(max(abs(theirs), scale)):
        return True
    if math.isnan(exact) or math.isinf(as_float32(exact)):
        return False
    wrong = abs(theirs - exact) if math.isfinite(theirs) else 0.0
    return abs(ours - exact) <= max(ulp * unit(max(abs(exact), scale)), wrong)


def check_rules():
    """A comparison that cannot fail is a defect."""
    nan, inf = math.nan, math.inf
    good = [(nan, nan, 0.5, 4), (0.5, nan, 0.5, 4), (inf, inf, 1e200, 4), (inf, 3e38, 1e39, 4), (0.5, 0.5, nan, 4),
            (1 + 2**-22, 1.0, 1.0, 4), (2.0**-149, 0.0, 2.0**-149, 4), (1e-3, 2e-3, 1.5e-3, 4),
            (1e-8, 0.0, 0.0, 4, 1.0)]
    bad = [(nan, 0.5, 0.5, 4), (0.0, nan, 0.5, 4), (inf, 1.0, 1.0, 4), (-inf, inf, inf, 4), (0.5, nan, nan, 4),
           (1 + 2**-20, 1.0, 1.0, 4), (0.0, inf, 1e39, 4), (1.0, 0.5, 0.5, 4), (1e-6, 0.0, 0.0, 4, 1.0)]
    assert all(agrees(*row) for row in good) and not any(agrees(*row) for row in bad)


def scales(values, width):
    """Of each element the greatest finite one of its row."""
    if not width:
        return [0.0] * len(values)
    rows = [values[i:i + width] for i in range(0, len(values), width)]
    return [most for row in rows for most in
            [max((abs(v) for v in row if math.isfinite(as_float32(v))), default=0.0)] * len(row)]


class Door:
    def __init__(self, suite, archive, folder, options):
        self.suite, self.options = suite, options
        self.name = os.path.basename(archive).removesuffix(".zip")
        self.folder = os.path.join(folder, self.name)
        with zipfile.ZipFile(archive) as files:
            files.extractall(self.folder)
        self.model = glob.glob(os.path.join(self.folder, "model.[!s]*"))[0]
        self.expected, metadata = common.read_safetensors(os.path.join(self.folder, "expected.safetensors"))
        self.values = common.read_safetensors(os.path.join(self.folder, "values.safetensors"))[0]
        self.framework, self.ulps = metadata["framework"], json.loads(metadata["ulps"])
        self.arguments = ["--values", "values.safetensors", *json.loads(metadata["options"])]
        self.allowed = options.allowed.get(self.name.partition("-")[0], {})  # {part: places}
        self.differ, self.rows = {}, 0

    def computed(self, way):
        command = [self.options.tool, self.model, "out.safetensors", *self.arguments, *WAYS[way]]
        process = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        if process.returncode:
            raise common.Failure(f"{self.name}: points: exit {process.returncode}\n{process.stderr[-2000:]}")
        return common.read_safetensors(os.path.join(self.folder, "out.safetensors"))[0]

    def compare(self, way, computed):
        for name, entry in self.expected.items():
            if name.endswith(".exact"):
                continue
            key = name.rpartition(".")[2]
            case, _, _ = key.partition("__")
            if self.options.cases and case not in self.options.cases:
                continue
            theirs, exact = floats(entry), floats(self.expected.get(name + ".exact", entry))
            if not self.suite.check(name in computed or not any(theirs), f"{self.name}: {name} has no gradient"):
                continue
            ours, wrong = floats(computed[name]) if name in computed else theirs, []
            ulp, width, least = self.ulps.get(case, [4, 0, 0.0])
            scaled = scales(exact, width if key.partition("__")[2] != "g" else 0)
            for i, (a, b, c) in enumerate(zip(ours, theirs, exact)):
                if not agrees(a, b, c, ulp, max(scaled[i], least)):
                    self.differ.setdefault(key, set()).add(i)
                    if i not in self.allowed.get(key, ()):
                        wrong.append((i, a, b, c))
            self.rows += len(theirs)
            self.suite.check(len(ours) == len(theirs), f"{self.name}: {name} has {len(ours)} elements")
            shown = wrong if self.options.all else wrong[:6]
            self.suite.check(not wrong, f"{self.name} {way}: {key}, {len(wrong)} of {len(theirs)}: " + "; ".join(
                f"[{i}] at {self.place(key, i)} {a:.9g}, {self.framework} {b:.9g}, f64 {c:.17g}"
                for i, a, b, c in shown))

    def place(self, key, number):
        """Where an element of a case is, where its inputs have as many."""
        case, found = key.partition("__")[0], []
        total = len(floats(next(entry for name, entry in self.expected.items() if name.rpartition(".")[2] == key)))
        for name, entry in self.values.items():
            if name.rpartition(".")[2].startswith(case + "__x") and entry[0] in ("F32", "F64"):
                values = floats(entry)
                part = len(values) // total
                if part and len(values) == part * total:
                    found.append(" ".join(f"{v:.9g}" for v in values[number * part:(number + 1) * part]))
        return "[" + ", ".join(found) + "]"

    def run(self):
        for way in WAYS if not self.options.cases else [""]:
            rows = self.rows
            self.compare(way, self.computed(way))
        cases = len({name.rpartition(".")[2].partition("__")[0] for name in self.expected})
        print(f"{self.name}: {self.framework}, {cases} formulas, {self.rows - rows} rows, each in {len(WAYS)} ways, "
              f"{sum(map(len, self.differ.values()))} differ, as {sum(map(len, self.allowed.values()))} may",
              flush=True)
        return self.rows - rows


def places_of(text):
    """"0-2 5" -> {0, 1, 2, 5}"""
    spans = [word.partition("-") for word in text.split()]
    return {number for first, _, last in spans for number in range(int(first), int(last or first) + 1)}


def text_of(places):
    words = []
    for number in sorted(places):
        if words and number == words[-1][1] + 1:
            words[-1][1] = number
        else:
            words.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in words)


def allowed_rows():
    """{door: {part: places}} of a file {door: [{"why": text, "rows": {part: "0-2 5"}}]}."""
    found = {}
    with open(ALLOWED) as file:
        for door, kinds in json.load(file).items():
            for kind in kinds:
                assert len(kind["why"]) > 20, kind
                for part, places in kind["rows"].items():
                    found.setdefault(door, {}).setdefault(part, set()).update(places_of(places))
    return found


# Rows of aten_ops.def that neither PyTorch writes: it takes them apart, or they are for older files; and what draws.
NOT_WRITTEN = """hardshrink softshrink clamp_max clamp_min by_mode random_bernoulli random_normal random_uniform dropout
    native_dropout contiguous lift_fresh_copy div.Scalar div.Scalar_mode bitwise_xor.Scalar all all.dims any any.dims
    _log_softmax _softmax native_layer_norm _native_batch_norm_legit_functional nll_loss nll_loss_forward mm
    _adaptive_avg_pool2d flatten.using_ints reshape unflatten.int view_copy arange.start eye ones_like zeros_like
    """.split()


def check_rows_of_aten(suite, folder):
    """Every row of the table has a point."""
    with open(os.path.join(common.SOURCE, "ir", "import", "aten", "aten_ops.def")) as file:
        rows = set(re.findall(r"^[A-Z_]+\(([\w.]+), ", file.read(), re.M))
    for path in glob.glob(os.path.join(folder, "aten-*", "model.mlir")):
        with open(path) as file:
            rows -= set(re.findall(r'"aten\.([\w.]+)"\(', file.read()))
    missing = sorted(rows - set(NOT_WRITTEN))
    suite.check(not missing, f"aten: no case has {missing}")


def main():
    options = common.arguments(__doc__, ("--data", {"default": DATA}), ("--door", {"default": ""}),
                               ("--all", {"action": "store_true"}), ("--differences", {}), ("cases", {"nargs": "*"}))
    suite = common.Suite(options.bin)
    check_rules()
    options.tool = os.path.join(os.path.dirname(os.path.abspath(options.bin)), "test", "points")
    options.allowed, differ, total = allowed_rows(), {}, 0
    with common.scratch() as folder:
        for path in sorted(glob.glob(os.path.join(options.data, options.door + "*.zip"))):
            try:
                door = Door(suite, path, folder, options)
                total += door.run()
                for part, places in door.differ.items():
                    differ.setdefault(door.name.partition("-")[0], {}).setdefault(part, set()).update(places)
            except common.Failure as failure:
                suite.check(False, failure)
        if not options.door and not options.cases:
            check_rows_of_aten(suite, folder)
    if options.differences:
        with open(options.differences, "w") as file:
            json.dump({door: {part: text_of(places) for part, places in parts.items()} for door, parts in
                       differ.items()}, file, indent=1)
    for door, parts in differ.items() if not options.cases else ():
        for part, places in options.allowed.get(door, {}).items():
            unused = places - parts.get(part, set())
            suite.check(not unused, f"{door}: {part} {text_of(unused)} may differ, and does not")
    print(f"{total} rows")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
