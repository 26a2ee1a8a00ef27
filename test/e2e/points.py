#!/usr/bin/env python3
"""Values and gradients at the special points of every formula: zeros, ends of pieces, ties, infinities, NaN.

    points.py [--bin BUILD/bin] [--data FOLDER] [--door NAME] [--all] [CASE...]

A door has an archive in test/data/points, recorded by make_points.py with its framework: a model as the framework
exports it, the values of its parameters, and what the framework computes in f32 and in f64. The tool `points` imports
the model, runs the passes of zbc, and gives the gradient of each parameter CASE__PART: of CASE__g it is the value of
the case, of all others a gradient. One row is one element of one of them. It agrees if it is NaN or infinite where the
framework, in f32 or f64, is; else within 4 units in the last place (or what the case says) of the value in f64, or as
near as the framework's own. Rows that may differ are in points_allowed.json, each with the line of the framework that
says why; one that no longer differs is an error. With the kernels of the device, with the reference kernels, and
without what zb-raise and zb-fuse make. Ends with "N passed, N failed".
"""
import glob
import json
import math
import os
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


def agrees(ours, theirs, exact, ulp):
    if math.isnan(ours):
        return math.isnan(theirs) or math.isnan(exact)
    if math.isinf(ours):
        return ours in (theirs, as_float32(exact))
    if ours == theirs:
        return True
    rounded = as_float32(exact)
    if math.isnan(rounded) or math.isinf(rounded):
        return math.isfinite(theirs) and abs(ours - theirs) <= ulp * unit(theirs)
    wrong = abs(theirs - exact) if math.isfinite(theirs) else 0.0
    return abs(ours - exact) <= max(ulp * unit(exact), wrong)


def check_rules():
    """A comparison that cannot fail is a defect."""
    nan, inf = math.nan, math.inf
    good = [(nan, nan, 0.5, 4), (0.5, nan, 0.5, 4), (inf, inf, 1e200, 4), (inf, 3e38, 1e39, 4), (0.5, 0.5, nan, 4),
            (1 + 2**-22, 1.0, 1.0, 4), (2.0**-149, 0.0, 2.0**-149, 4), (1e-3, 2e-3, 1.5e-3, 4)]
    bad = [(nan, 0.5, 0.5, 4), (0.0, nan, 0.5, 4), (inf, 1.0, 1.0, 4), (-inf, inf, inf, 4), (0.5, nan, nan, 4),
           (1 + 2**-20, 1.0, 1.0, 4), (0.0, inf, 1e39, 4), (1.0, 0.5, 0.5, 4)]
    assert all(agrees(*row) for row in good) and not any(agrees(*row) for row in bad)


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
        self.allowed = options.allowed.get(self.name.partition("-")[0], {})
        self.unused, self.rows, self.differences = dict(self.allowed), 0, 0

    def computed(self, way):
        command = [self.options.tool, self.model, "out.safetensors", *self.arguments, *WAYS[way]]
        process = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        if process.returncode:
            raise common.Failure(f"{self.name}: points: exit {process.returncode}\n{process.stderr[-2000:]}")
        return common.read_safetensors(os.path.join(self.folder, "out.safetensors"))[0]

    def allows(self, key, number):
        """Rows are named as CASE__PART[0,3] or, all of a part, CASE__PART."""
        for name in (f"{key}[{number}]", key):
            if name in self.allowed:
                self.unused.pop(name, None)
                return True
        return False

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
            for i, (a, b, c) in enumerate(zip(ours, theirs, exact)):
                if not agrees(a, b, c, self.ulps.get(case, 4)):
                    self.differences += 1
                    if not self.allows(key, i):
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
              f"{self.differences} differ, {len(self.allowed)} kinds may", flush=True)
        return self.rows - rows


def main():
    options = common.arguments(__doc__, ("--data", {"default": DATA}), ("--door", {"default": ""}),
                               ("--all", {"action": "store_true"}), ("cases", {"nargs": "*"}))
    suite = common.Suite(options.bin)
    check_rules()
    options.tool = os.path.join(os.path.dirname(os.path.abspath(options.bin)), "test", "points")
    options.allowed = {}
    if os.path.exists(ALLOWED):
        with open(ALLOWED) as file:
            options.allowed = json.load(file)
    total, unused = 0, {}
    with common.scratch() as folder:
        for path in sorted(glob.glob(os.path.join(options.data, options.door + "*.zip"))):
            try:
                door = Door(suite, path, folder, options)
                total += door.run()
                family = door.name.partition("-")[0]
                unused[family] = {k: v for k, v in door.unused.items() if k in unused.get(family, door.unused)}
            except common.Failure as failure:
                suite.check(False, failure)
    for family, rows in unused.items():
        for row in rows if not options.cases else []:
            suite.check(False, f"{family}: {row} is allowed to differ, and does not")
    print(f"{total} rows")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
