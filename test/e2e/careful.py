#!/usr/bin/env python3
"""Digits of small and large arguments: log1p, expm1, softplus, gelu, logsumexp, norms, variances, quantiles, through
every door within 4 units in the last place of what is right.

    careful.py [--bin BUILD/bin] [--data FOLDER] [--door NAME] [--all] [CASE...]

A door has an archive in test/data/careful, by make_careful.py with its framework: a model as the framework writes it,
and the values of its parameters. What is right careful_cases.py computes from these values, in double, with formulas
that lose nothing. An element of what is normalized counts in the last place of the greatest of its row, since those
near the mean have no other digits. The tool `points` computes the model with the kernels of the device, and with the
reference kernels. Ends with "N passed, N failed".
"""
import glob
import json
import math
import os
import struct
import subprocess
import sys
import zipfile

import careful_cases
import common
from points import floats, scales, unit

DATA = os.path.join(common.DATA, "careful")
MOST = 4.0
WAYS = {"": [], "reference": ["--reference"]}
# The archives of a door, and what none of them has.
DOORS = {"aten": ["aten"], "stablehlo": ["stablehlo"], "paddle": ["paddle"], "onnx": ["onnx", "operators"]}
MISSING = {"stablehlo": "layer_norm_far group_norm_far batch_norm_far", "onnx": "median"}
# Of the fast kernels of the device, of results below 1e-6: test/kernels/digits.h says how far they may be off.
KERNELS = {"gelu": 8.0, "gelu_tanh": 128.0}


def units(value, right, scale=0.0):
    """How far from what is right, in units in its last place, or in that of the scale."""
    if math.isnan(value):
        return math.inf
    right = max(min(right, 2.0**128), -2.0**128)
    return abs(max(min(value, 2.0**128), -2.0**128) - right) / unit(min(max(abs(right), scale), 2.0**127))


def expected(name, x):
    """Of each element of the result, from the values of CASE__x0."""
    rows, right = careful_cases.CASES[name]
    if name in careful_cases.ELEMENTS:
        return [right(v) for v in x]
    width = len(rows[0])
    found = [right(x[i:i + width]) for i in range(0, len(x), width)]
    return [v for row in found for v in (row if isinstance(row, list) else [row])]


class Door:
    def __init__(self, suite, archive, folder, options):
        self.suite, self.options, self.name = suite, options, os.path.basename(archive).removesuffix(".zip")
        self.folder = os.path.join(folder, self.name)
        with zipfile.ZipFile(archive) as files:
            files.extractall(self.folder)
        self.model = glob.glob(os.path.join(self.folder, "model.[!s]*"))[0]
        self.values, metadata = common.read_safetensors(os.path.join(self.folder, "values.safetensors"))
        self.values = {name.rpartition(".")[2]: entry for name, entry in self.values.items()}
        self.arguments = ["--values", "values.safetensors", *json.loads(metadata["options"])]
        self.cases = [name.removesuffix("__g") for name in self.values if name.endswith("__g")]

    def run(self, way):
        command = [self.options.tool, self.model, "out.safetensors", *self.arguments, *WAYS[way]]
        process = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        if not self.suite.check(process.returncode == 0, f"{self.name}: points: {process.stderr[-2000:]}"):
            return
        found = common.read_safetensors(os.path.join(self.folder, "out.safetensors"))[0]
        found = {name.rpartition(".")[2]: entry for name, entry in found.items()}
        for name in self.cases:
            if self.options.cases and name not in self.options.cases:
                continue
            ours, right = floats(found[name + "__g"]), expected(name, floats(self.values[name + "__x0"]))
            if not self.suite.check(len(ours) == len(right), f"{self.name}: {name} has {len(ours)} elements"):
                continue
            width = len(careful_cases.CASES[name][0][0]) if careful_cases.is_normed(name) else 0
            off = [units(*one) for one in zip(ours, right, scales(right, width))]
            worst, most = off.index(max(off)), MOST if way else KERNELS.get(name, MOST)
            text = (f"{self.name} {name}{' ' + way if way else ''}: {off[worst]:.4g} units at element {worst} of "
                    f"{len(off)}: {ours[worst]:.9g}, right is {right[worst]:.17g}; above {most:g}: "
                    f"{sum(v > most for v in off)}")
            if self.options.all:
                print(text)
            self.suite.check(off[worst] <= most, text)


def check_rules():
    """A comparison that cannot fail is a defect."""
    assert units(1 + 2**-22, 1.0) == 2 and units(1 - 2**-22, 1.0) == 2 and units(math.nan, 1.0) == math.inf
    assert units(0.0, 1e-30) > MOST and units(math.inf, 3e38) > MOST and units(-1.0, 1.0) > MOST
    assert units(2.0**-30, 0.0, 1.0) < 1 and math.log1p(1e-8) != math.log(1 + 1e-8)


def main():
    options = common.arguments(__doc__, ("--data", {"default": DATA}), ("--door", {"default": ""}),
                               ("--all", {"action": "store_true"}), ("cases", {"nargs": "*"}))
    suite = common.Suite(options.bin)
    check_rules()
    options.tool = os.path.join(os.path.dirname(os.path.abspath(options.bin)), "test", "points")
    found = set()
    with common.scratch() as folder:
        for path in sorted(glob.glob(os.path.join(options.data, options.door + "*.zip"))):
            door = Door(suite, path, folder, options)
            found |= {(door.name, name) for name in door.cases}
            for way in WAYS:
                door.run(way)
    for door in () if options.door or options.cases else DOORS:
        missing = {name for name in careful_cases.CASES if not any((part, name) in found for part in DOORS[door])}
        suite.check(missing == set(MISSING.get(door, "").split()), f"{door} has no {missing}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
