#!/usr/bin/env python3
"""Follows the recipes of CONTRIBUTING.md with prepared files, in a copy of the tree: an elementwise op (CPU, CUDA,
ONNX), an elementwise operator of three formats, a schedule, a pass, an option of a compile, a kind of decision and
an importer. Builds, runs the tests that the recipes name, and prints what existing files changed.

    recipes.py [--build FOLDER] [--keep]

Rows go into existing files before a line that is there already; new files lie under Inputs/RECIPE/. A recipe may change
only so many existing files of the product: op and operator 4, the others 1. Its rows in tables of tests are counted
beside them. One line a check, "ok - NAME"; takes a build of the whole tree, so tools/test.sh does not run it.
"""
import argparse
import array
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

SQUARE_EXAMPLES = """  func.func @square(%0: tensor<4xf32>) {
    %r = "zb.square"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @square_grad(%0: tensor<4xf32>, %1: tensor<4xf32>) {
    %r = "zb.square_grad"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
"""
SQUARE_CONSTRAINTS = """  func.func @square_c1(%0: tensor<4xi64>) {
    // expected-error@+1 {{zb.square: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.square"(%0) : (tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @square_grad_c1(%0: tensor<4xi64>, %1: tensor<4xi64>) {
    // expected-error@+1 {{zb.square_grad: wrong element type of x: expected a float type, got i64 (C1)}}
    %r = "zb.square_grad"(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    return
  }
  func.func @square_grad_c2(%0: tensor<4xf32>, %1: tensor<5xf32>) {
    // expected-error@+1 {{zb.square_grad: wrong type of dout: expected tensor<4xf32> (the type of x), got GOT (C2)}}
    %r = "zb.square_grad"(%0, %1) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
    return
  }
""".replace("GOT", "tensor<5xf32>")
BENT = """static zb_operand bent(zb_import_node *n, zb_operand x) {
  zb_operand above = zb_meaning_line(n, square(n, x), 1, 1);
  return zb_operand_apply2(n, "mul", x, zb_operand_apply1(n, "rsqrt", above));
}

"""
# Recipe: (most existing files of the product, [(file, the line to stand before, text)], [commands after the build]).
RECIPES = {
    "op": (4, [
        ("include/zb/ops.def", "ZB_UNARY(tan) ", "ZB_UNARY(square)           /* [x] */\n"),
        ("ir/ops/elementwise.c", "  X(tan, reals",
         '  X(square, reals, FOLLOW, x, zb_grad_named, 1, NO_ATTRS, "x * x.")'.ljust(119) + "\\\n"),
        ("kernels/cpu/ref/unary.def", "ZB_REF_UNARY(tan,",
         "ZB_REF_UNARY(square, x, NONE, NONE, x * x, 2 * x * dout)\n"),
        ("ir/import/onnx/onnx_ops.def", 'UNARY(Tan, "tan")', 'UNARY(Square, "square")\n'),
        ("test/e2e/meaning_pairs.py", '    unary("selu",',
         '    ("square of ONNX", W, ["4x6xf32"], [Paddle("square"), Onnx("Square")]),\n'),
        ("test/ir/examples.mlir", "  func.func @tan(", SQUARE_EXAMPLES),
        ("test/ir/ops/elementwise.mlir", "  func.func @tan_c1(", SQUARE_CONSTRAINTS),
        ("test/ir/split_test.c", '    {"tan",', '    {"square", {N("5")}, {{0}}, 0},\n'),
        ("test/kernels/gradient_test.c", "    UNARY(tan,", '    UNARY(square, "x0", -3, 3, {0})\n'),
        ("test/kernels/digits.h", "DIGITS_FUNCTION(tan_slope,",
         "DIGITS_FUNCTION(square, x * x)\nDIGITS_FUNCTION(square_slope, 2 * x)\n"),
        ("test/kernels/digits.h", '    {"tan",',
         '    {"square", digits_square_of, digits_square_slope_of, false, ALL, {{0}}, 0, {0}, 0},\n'),
    ], ["build/test/ir-dialect_test", "build/test/ir-op_table_test", "build/test/ir-split_test",
        "build/test/kernels-conformance_test", "build/test/kernels-gradient_test", "build/test/kernels-digits_test",
        "build/test/kernels-cuda-conformance_test", "lit-22 -q test/ir"]),
    "operator": (4, [
        ("ir/import/meaning/elementwise.c", "static const struct {", BENT),
        ("ir/import/meaning/elementwise.c", '    {"exp2", exp2_of},', '    {"bent", bent},\n'),
        ("ir/import/aten/aten_ops.def", 'UNARY(tan, "tan")', 'UNARY(bent, "bent")\n'),
        ("ir/import/onnx/onnx_ops.def", 'UNARY(Tan, "tan")', 'UNARY(Bent, "bent")\n'),
        ("ir/import/paddle/paddle_ops.def", "PADDLE_UNARY(tan, tan,",
         'PADDLE_UNARY(bent, bent, "", unary, "bent", "X")\n'),
        ("test/e2e/meaning_pairs.py", '    unary("selu",', '    unary("bent", "Bent", "bent"),\n'),
    ], ["python3 test/e2e/meaning.py --bin build/bin bent 'square of ONNX'"]),
    "schedule": (1, [
        ("passes/schedule/schedules.def", "ZB_SCHEDULE(zb_h1,", 'ZB_SCHEDULE(recipe_w_last, "")\n'),
    ], ["build/test/passes-schedule-schedules_test",
        "build/bin/zb-sched --ranks 4 --micro-batches 8 --schedule recipe-w-last",
        "build/bin/zbc test/data/gpt2-small.onnx -o out/recipe --ranks 2 --micro-batches 4 --schedule recipe-w-last",
        "build/bin/zb-run out/recipe --data text:test/data/corpus.txt --steps 2"]),
    "pass": (1, [
        ("passes/passes.def", "ZB_PASS(raise)", "ZB_PASS(recipe_neg_neg)\n"),
    ], ["lit-22 -q test/passes/recipe-neg-neg.mlir"]),
    "option": (1, [
        ("include/zb/compile_options.def", 'ZB_COMPILE_OPTION("--no-raise"',
         'ZB_COMPILE_OPTION("--recipe-most", COUNT(recipe_most, 8, "ask for less"), "N", "of a recipe", .value = "3",\n'
         '    .without = INFERENCE, .passes = "zb-dce")\n'),
    ], ["build/bin/zbc --help | grep 'recipe-most N *of a recipe'",
        "build/bin/zb-opt --list-passes | grep 'recipe-most=3  of a recipe'",
        "build/bin/zb-opt --default-pipeline | grep 'zb-dce{recipe-most=\"$recipe-most\"}'",
        "build/bin/zbc test/data/gpt2-tiny.onnx -o out/option --recipe-most 8",
        "! build/bin/zbc test/data/gpt2-tiny.onnx -o out/option --recipe-most 9",
        "build/bin/zbc test/data/gpt2-tiny.onnx -o out/option --recipe-most 8 --inference 2>&1 | grep 'no effect with'",
        "build/bin/zb-opt --zb-dce=recipe-most=4 test/passes/dce.mlir --split-input-file --allow-unregistered-dialect",
        "grep 'recipe_most: int' tools/python/zb/options.py"]),
    "decision": (1, [
        ("passes/choose/moves.def", "ZB_MOVE(order)", "ZB_MOVE(seed)\n"),
    ], ["build/bin/zbc test/data/gpt2-tiny.onnx -o out/one --ranks 2 --micro-batches 3 --schedule search:budget=65",
        "build/bin/zbc test/data/gpt2-tiny.onnx -o out/seeds --ranks 2 --micro-batches 3 --schedule search:budget=64 "
        "--choice-out out/choice",
        "build/bin/zbc test/data/gpt2-tiny.onnx -o out/again --choice out/choice",
        "cmp out/seeds/plan.zb out/again/plan.zb"]),
    "importer": (1, [
        ("ir/import/importers.def", 'ZB_IMPORTER(mlir,', 'ZB_IMPORTER(layers, ".layers", NULL)\n'),
    ], ["build/bin/zbc test/ir/import/three.layers -o out/layers --ranks 2 --micro-batches 4",
        "build/bin/zb-run out/layers --data text:test/data/corpus.txt --steps 3"]),
}
TARGETS = ["all", "ir-dialect_test", "ir-op_table_test", "ir-split_test",
           "kernels-conformance_test", "kernels-gradient_test", "kernels-digits_test", "kernels-cuda-conformance_test",
           "passes-schedule-schedules_test"]


def copy_tree(to):
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True,
                           text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        source, path = os.path.join(ROOT, name), os.path.join(to, name)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy2(source, path)


def write_cases(to, name, cases):
    """A file of cases as test/kernels/make_cases.py writes it: [(name, inputs, output)] of f32."""
    rows, tensors = [], {}
    for number, (case, inputs, output) in enumerate(cases):
        keys = [f"{number}.in{i}" for i in range(len(inputs))]
        tensors.update(zip(keys, inputs), **{f"{number}.out0": output})
        rows.append({"name": case, "attrs": {}, "inputs": keys, "outputs": [f"{number}.out0"]})
    tolerance = {"reference": [2e-6, 1e-6, 0], "fast": [1e-5, 1e-6, 0]}
    header = {"__metadata__": {"cases": json.dumps(rows), "tolerance": json.dumps(tolerance)}}
    data = b""
    for key, values in tensors.items():
        one = array.array("f", values).tobytes()
        header[key] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [len(data), len(data) + len(one)]}
        data += one
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(to, "test", "kernels", "cases", name + ".safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_square_cases(to):
    x = [0.5, -1.25, 3.0, 0.0, 100.0, -0.1]
    dout = [1.0, 2.0, -0.5, 4.0, 0.25, -3.0]
    write_cases(to, "square", [("plain", [x], [v * v for v in x])])
    write_cases(to, "square_grad", [("plain", [x, dout], [2 * v * d for v, d in zip(x, dout)])])


def follow(to, recipe, rows):
    """(existing files, lines) of the product and of tests that changed, and how many files are new."""
    changed, new = {True: {}, False: {}}, 0
    for name, before, text in rows:
        path = os.path.join(to, name)
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
        places = [i for i, line in enumerate(lines) if line.startswith(before)]
        if not places:
            sys.exit(f"{name}: no line begins with '{before}'")
        lines.insert(places[0], text)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        group = changed[name.startswith("test/")]
        group[name] = group.get(name, 0) + text.count("\n")
    files = os.path.join(HERE, "Inputs", recipe)
    for place, _, names in os.walk(files):
        for name in names:
            path = os.path.join(to, os.path.relpath(os.path.join(place, name), files))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(place, name), path)
            new += 1
    return changed, new


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="where to copy the tree to and build; default: a temporary folder")
    parser.add_argument("--keep", action="store_true", help="leave the copy")
    o = parser.parse_args()
    to, failed = o.build or tempfile.mkdtemp(prefix="zb-recipes-"), 0
    try:
        copy_tree(to)
        for recipe, (most, rows, _) in RECIPES.items():
            changed, new = follow(to, recipe, rows)
            product, tests = changed[False], changed[True]
            bad = len(product) > most
            failed += bad
            print(f"{'not ok' if bad else 'ok'} - {recipe}: {len(product)} existing files of the product, "
                  f"{sum(product.values())} lines; {len(tests)} of tests, {sum(tests.values())} lines; {new} new files")
        write_square_cases(to)
        log = os.path.join(to, "recipes.log")
        with open(log, "w", encoding="utf-8") as file:
            for command in (["cmake", "--preset", "release"], ["cmake", "--build", "build", "--target", *TARGETS]):
                if subprocess.run(command, cwd=to, stdout=file, stderr=file).returncode:
                    sys.exit(f"not ok - {' '.join(command)}: see {log}")
        for recipe, (_, _, commands) in RECIPES.items():
            for command in commands:
                done = subprocess.run(command, shell=True, cwd=to, capture_output=True, text=True)
                failed += done.returncode != 0
                print(f"{'ok' if done.returncode == 0 else 'not ok'} - {recipe}: {command}")
                if done.returncode:
                    print("\n".join("    " + line for line in (done.stdout + done.stderr).splitlines()[-20:]))
    finally:
        if not o.keep and not o.build:
            shutil.rmtree(to, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
