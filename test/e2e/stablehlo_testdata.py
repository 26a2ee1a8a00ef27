#!/usr/bin/env python3
"""The self-checking files of StableHLO's own test data, through zbc --inference and zb-run --eval.

    git clone --depth 1 https://github.com/openxla/stablehlo
    stablehlo_testdata.py stablehlo/stablehlo/testdata [--bin BUILD/bin] [--jobs 2] [--filter TEXT] [--every N]
                          [--least 0.97]

No file of them is in this repository; without a folder the files of test/ir/import/stablehlo/Inputs/checked are run,
which test/ir/import/stablehlo/make_checked.py writes in the same form, and this script is checked on made-up files.
Each file has a function @main that takes its
operands from @inputs, compares what it computes with @expected, and says how: `check.expect_eq` is equality,
`check.expect_close` at most 3 units in the last place, `check.expect_almost_eq` 0.001 of the value. Here the operands
become arguments of @main, so that nothing is known while compiling, and the values of @inputs their data, of the types
that the file says: zbc compiles @main, zb-run computes it, and this script compares the arrays with @expected.

Out of scope is what no train step of a language or vision model holds, by what the file contains, never by how it
fails: see SCOPE. Prints how many files there are, in scope, passed and failed by op, and every failure with its reason.
The exit status is 1 if a smaller share than --least of those in scope passes.
"""
import collections
import concurrent.futures
import glob
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import threading

import common
from outputs import read_npy

# What puts a file out of scope: (reason, pattern of its text), the first that is found.
SCOPE = [
    ("complex numbers", r"complex<"),
    ("Fourier transform", r"stablehlo\.fft"),
    ("solvers of linear systems", r"stablehlo\.(triangular_solve|cholesky)"),
    ("random bits of a device's generator", r"stablehlo\.rng"),
    ("special functions (gamma, Bessel, incomplete beta) and draws by them",
     r"chlo\.(lgamma|digamma|polygamma|zeta|bessel_i1e)"),
    ("arrays without elements", r"tensor<(\d+x)*0x"),
]
# By the name of the file, where the op is spelled out as many others.
SCOPE_NAMES = [("special functions (gamma, Bessel, incomplete beta) and draws by them",
                r"^(bessel|igamma|regularized|random_gamma|lgamma|digamma)"),
               ("solvers of linear systems", r"^(tridiagonal|triangular)_solve")]

# Element types: letter of struct of a value in the file, and bytes of it.
TYPES = {"f64": ("d", 8), "f32": ("f", 4), "f16": ("e", 2), "bf16": ("H", 2), "i1": ("B", 1), "i8": ("b", 1),
         "i16": ("h", 2), "i32": ("i", 4), "i64": ("q", 8), "ui8": ("B", 1), "ui16": ("H", 2), "ui32": ("I", 4),
         "ui64": ("Q", 8)}
# What an argument is held as: safetensors' name and the letter. Integers of other widths are held in wider ones.
HELD = {"f64": ("F64", "d"), "f32": ("F32", "f"), "f16": ("F16", "e"), "bf16": ("BF16", "H"), "i1": ("BOOL", "B"),
        "i64": ("I64", "q"), "i32": ("I32", "i"), "i16": ("I32", "i"), "i8": ("I32", "i"), "ui8": ("I32", "i"),
        "ui16": ("I32", "i"), "ui32": ("I64", "q"), "ui64": ("I64", "q")}
FRACTION = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}
MAX_UNITS = 3
TOLERANCE = 1e-3


OWN = os.path.join(common.SOURCE, "test", "ir", "import", "stablehlo", "Inputs", "checked")


class Unreadable(Exception):
    """A form of a file that this script does not know."""


def parse_type(text):
    """tensor<2x3xf32> -> ([2, 3], "f32")."""
    found = re.fullmatch(r"tensor<((?:\d+x)*)(\w+)>", text)
    if not found or found[2] not in TYPES:
        raise Unreadable(f"type {text}")
    return [int(word) for word in found[1].split("x") if word], found[2]


def bf16_bits(value):
    """The nearest bf16, ties to even."""
    if math.isnan(value):
        return 0x7fc0
    try:
        bits, = struct.unpack("<I", struct.pack("<f", value))
    except OverflowError:
        bits = 0x7f800000 | (0x80000000 if value < 0 else 0)
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


def parse_dense(body, shape, kind):
    """The values of dense<body>, as a flat list: numbers; bf16 as floats."""
    count = math.prod(shape)
    letter, size = TYPES[kind]
    if body.startswith('"0x'):
        data = bytes.fromhex(body[3:].rstrip('"'))
        values = list(struct.unpack(f"<{len(data) // size}{letter}", data))
        if kind == "bf16":
            values = [struct.unpack("<f", struct.pack("<I", value << 16))[0] for value in values]
    else:
        values = [parse_number(word, kind) for word in re.findall(r"[^\s,\[\]]+", body)]
    if len(values) == 1:
        values *= count
    if len(values) != count:
        raise Unreadable(f"{len(values)} values for {count} elements")
    return values


def parse_number(word, kind):
    if word in ("true", "false"):
        return int(word == "true")
    if word.startswith("0x") and kind in FRACTION:  # the bits of a float that no decimal number gives
        bits = int(word, 16)
        if kind == "bf16":
            return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
        return struct.unpack("<" + TYPES[kind][0], bits.to_bytes(TYPES[kind][1], "little"))[0]
    return rounded(float(word), kind) if kind in FRACTION else int(word, 0)


def rounded(value, kind):
    """What a type holds of a decimal number."""
    if kind == "bf16":
        return struct.unpack("<f", struct.pack("<I", bf16_bits(value) << 16))[0]
    letter, _ = TYPES[kind]
    return struct.unpack("<" + letter, struct.pack("<" + letter, value))[0]


def pack(values, kind):
    """As the runtime takes them."""
    _, letter = HELD[kind]
    if kind == "bf16":
        values = [bf16_bits(value) for value in values]
    if kind == "ui64":
        values = [value - (1 << 64) if value >> 63 else value for value in values]
    return struct.pack(f"<{len(values)}{letter}", *values)


def constants_of(text, function):
    """What a function returns: [(shape, kind, values)]."""
    found = re.search(r"func\.func private @" + function + r"\(\).*?\n(.*?)\n  }", text, re.S)
    if not found:
        return []
    known, returned = {}, None
    for line in found[1].split("\n"):
        constant = re.match(r"\s*(%\w+) = stablehlo\.constant dense<(.*)> : (tensor<[^>]*>)", line)
        back = re.match(r"\s*return (.*?) : ", line)
        if constant:
            shape, kind = parse_type(constant[3])
            known[constant[1]] = (shape, kind, parse_dense(constant[2], shape, kind))
        elif back:
            returned = [known[word.strip()] for word in back[1].split(",")]
        else:
            raise Unreadable(f"@{function}: {line.strip()[:60]}")
    if returned is None:
        raise Unreadable(f"@{function} returns nothing")
    return returned


def type_text(shape, kind):
    return "tensor<" + "".join(f"{dim}x" for dim in shape) + kind + ">"


def called(body, function):
    """The name that a call in a body gives its results; None: there is no call."""
    found = re.search(r"(%\w+)(:\d+)? = call @" + function + r"\(\) : [^\n]*\n", body)
    return (found[1], found[0]) if found else (None, "")


class Case:
    """A file as a function of arguments: text, arguments [(shape, kind, values)], checks [(how, output, expected)]."""

    def __init__(self, text):
        inputs, expected = constants_of(text, "inputs"), constants_of(text, "expected")
        head = re.search(r"  func\.func public @main\(\)[^\n]*\n(.*?)\n  }\n", text, re.S)
        if not head or not expected:
            raise Unreadable("no @main, or no @expected")
        body = head[1] + "\n"
        self.arguments = inputs + [([1], "f32", [0.0])]  # a run needs data, whatever the file reads
        source, line = called(body, "inputs")
        body = body.replace(line, "")
        if source:
            body = self.rename(body, source, [f"%zin{i}" for i in range(len(inputs))])
        wanted, line = called(body, "expected")
        body = body.replace(line, "") if line else body
        self.checks, returned = [], []
        for how, value, reference in re.findall(
                r"custom_call @check\.(\w+)\((%[\w#]+), (%[\w#]+)\)", body):
            place = 0 if "#" not in reference else int(reference.split("#")[1])
            if reference.split("#")[0] != wanted:
                raise Unreadable("a check against something else than @expected")
            self.checks.append((how, len(returned), expected[place]))
            returned.append((value, expected[place]))
        if not source:
            body, returned = self.tied(body, returned)
        body = "".join(line + "\n" for line in body.split("\n") if "@check." not in line and line.strip())
        before, end, _ = body.rpartition("    return ")
        if not end or not self.checks:
            raise Unreadable("no check, or no return")
        self.text = text.replace(head[0], self.main(before, returned))

    @staticmethod
    def tied(body, returned):
        """What reads no data is folded while compiling: 0 of the data is added, so that there is something to run."""
        before, end, rest = body.rpartition("    return ")
        named = []
        for i, (value, expected) in enumerate(returned):
            shape, kind, _ = expected
            whole = type_text(shape, kind)
            before += (f"    %zscalar{i} = stablehlo.reshape %zin0 : (tensor<1xf32>) -> tensor<f32>\n"
                       f"    %zkind{i} = stablehlo.convert %zscalar{i} : (tensor<f32>) -> {type_text([], kind)}\n"
                       f"    %zzero{i} = stablehlo.broadcast_in_dim %zkind{i}, dims = [] : ({type_text([], kind)}) -> "
                       f"{whole}\n    %zsum{i} = stablehlo.add {value}, %zzero{i} : {whole}\n")
            named.append((f"%zsum{i}", expected))
        return before + end + rest, named

    @staticmethod
    def rename(body, source, names):
        if len(names) == 1:
            return re.sub(re.escape(source) + r"(?![\w#])(#0)?", names[0], body)
        return re.sub(re.escape(source) + r"#(\d+)", lambda found: names[int(found[1])], body)

    def main(self, body, returned):
        """Each argument and each result has one row, so that all are one batch."""
        arguments = [f"%zarg{i}: {type_text([1] + shape, kind)}" for i, (shape, kind, _) in enumerate(self.arguments)]
        lines = [f"    %zin{i} = stablehlo.reshape %zarg{i} : ({type_text([1] + shape, kind)}) -> "
                 f"{type_text(shape, kind)}" for i, (shape, kind, _) in enumerate(self.arguments)]
        types = [type_text([1] + shape, kind) for _, (shape, kind, _) in returned]
        backs = [f"    %zout{i} = stablehlo.reshape {value} : ({type_text(shape, kind)}) -> {types[i]}"
                 for i, (value, (shape, kind, _)) in enumerate(returned)]
        backs.append(f"    %zdata = stablehlo.negate %zarg{len(self.arguments) - 1} : tensor<1x1xf32>")
        names = [f"%zout{i}" for i in range(len(returned))] + ["%zdata"]
        types.append("tensor<1x1xf32>")
        return (f"  func.func public @main({', '.join(arguments)}) -> ({', '.join(types)}) {{\n" + "\n".join(lines) +
                "\n" + body + "\n".join(backs) + f"\n    return {', '.join(names)} : {', '.join(types)}\n  }}\n")

    def write(self, folder):
        write_tensors(os.path.join(folder, "data.safetensors"),
                      {f"arg{i}": (kind, [1] + shape, values)
                       for i, (shape, kind, values) in enumerate(self.arguments)})
        with open(os.path.join(folder, "main.mlir"), "w") as file:
            file.write(self.text)
        roles = [{"index": i, "role": "input", "path": f"arg{i}"} for i in range(len(self.arguments))]
        with open(os.path.join(folder, "roles.json"), "w") as file:
            json.dump({"arguments": roles}, file)


def ordered(value, kind):
    """A whole number of a float: neighbours differ by 1, and both zeros are 0."""
    if kind == "bf16":
        bits, width = bf16_bits(value), 16
    else:
        letter, size = TYPES[kind]
        try:
            bits = int.from_bytes(struct.pack("<" + letter, value), "little")
        except OverflowError:
            bits = int.from_bytes(struct.pack("<" + letter, math.copysign(math.inf, value)), "little")
        width = 8 * size
    size = bits & ((1 << (width - 1)) - 1)
    return -size if bits >> (width - 1) else size


def differs(how, got, wanted, kind):
    """What is wrong with one element, or None."""
    if kind not in FRACTION:
        bits = 8 * TYPES[kind][1] if kind != "i1" else 1
        same = (int(got) - int(wanted)) % (1 << bits) == 0
        fits = kind in ("ui64", "i1") or int(got) == int(wanted)  # it is held as the number that it is
        return None if same and fits else f"{got} instead of {wanted}"
    if got == wanted or (math.isnan(got) and math.isnan(wanted) and how != "expect_eq"):
        return None
    if how == "expect_eq" and math.isnan(got) and math.isnan(wanted):
        return None
    if not (math.isfinite(got) and math.isfinite(wanted)):
        return f"{got} instead of {wanted}"
    if how == "expect_close":
        apart = abs(ordered(got, kind) - ordered(wanted, kind))
        return None if apart <= MAX_UNITS else f"{got!r} instead of {wanted!r}, {apart} units apart"
    if how == "expect_almost_eq" and abs(got - wanted) <= TOLERANCE * max(abs(wanted), abs(got)):
        return None
    return f"{got!r} instead of {wanted!r} ({how})"


def first_difference(how, got, expected):
    shape, kind, values = expected
    if got[0] != [1] + shape:
        return f"the shape is {got[0]}, expected {[1] + shape}"
    if len(got[2]) != len(values):
        return f"{len(got[2])} elements, expected {len(values)}"
    for i, (a, b) in enumerate(zip(got[2], values)):
        wrong = differs(how, a, b, kind)
        if wrong:
            return f"element {i} is {wrong}"
    return None


def run_tool(suite, name, *arguments):
    """None, or the first line of the error."""
    try:
        done = suite.run(name, *arguments, timeout=common.patience(120))
    except subprocess.TimeoutExpired:
        return f"{name}: no end after 120 s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.split("\n") if "error" in line or "rror:" in line] or [done.stderr[:200]]
    found = re.search(r"(?:error: ?|: )(.*)", lines[0])
    return f"{name}, exit {done.returncode}: {(found[1] if found else lines[0])[:160]}"


def run_case(suite, case, folder):
    """None, or what is wrong."""
    case.write(folder)
    plan, names = os.path.join(folder, "plan"), [f"result{i}" for i in range(len(case.checks))]
    words = [word for name in names for word in ("--output", f"{name}:{os.path.join(folder, name)}.npy")]
    wrong = run_tool(suite, "zbc", os.path.join(folder, "main.mlir"), "-o", plan, "--inference", "--micro-batches", 1,
                     "--roles", os.path.join(folder, "roles.json"))
    wrong = wrong or run_tool(suite, "zb-run", plan, "--eval",
                              "safetensors:" + os.path.join(folder, "data.safetensors"), "--eval-steps", 1, *words)
    for (how, output, expected) in case.checks if not wrong else []:
        got = read_npy(os.path.join(folder, names[output]) + ".npy")
        wrong = wrong or first_difference(how, got, expected)
    return wrong


def out_of_scope(name, text):
    for reason, pattern in SCOPE_NAMES:
        if re.search(pattern, name):
            return reason
    for reason, pattern in SCOPE:
        if re.search(pattern, text):
            return reason
    return None


def op_of(name):
    """scatter_add_float32_1_1 -> scatter_add."""
    return re.split(r"_(?=(?:bfloat|float|int|uint|complex|bool)\d*_)|_\.|_?\.mlir", name)[0]


class TestData:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.lock = suite, folder, threading.Lock()
        self.out, self.passed = collections.Counter(), collections.Counter()
        self.failed = collections.defaultdict(list)

    def one(self, path):
        name = os.path.basename(path)
        with open(path) as file:
            text = file.read()
        reason = out_of_scope(name, text)
        wrong = None
        if not reason:
            folder = os.path.join(self.folder, f"case{threading.get_ident()}")
            os.makedirs(folder, exist_ok=True)
            try:
                wrong = run_case(self.suite, Case(text), folder)
            except (Unreadable, KeyError, ValueError) as error:
                wrong = f"not read by this script: {error}"
        with self.lock:
            if reason:
                self.out[reason] += 1
            elif wrong:
                self.failed[op_of(name)].append((name, wrong))
            else:
                self.passed[op_of(name)] += 1

    def report(self, total, least):
        passed, failed = sum(self.passed.values()), sum(map(len, self.failed.values()))
        for rows in self.failed.values():
            for name, wrong in sorted(rows):
                print(f"  {name}: {wrong}")
        print("passed by op: " + ", ".join(f"{op} {count}" for op, count in sorted(self.passed.items())))
        print("failed by op: " + ", ".join(f"{op} {len(rows)}" for op, rows in sorted(self.failed.items())))
        for reason, count in self.out.most_common():
            print(f"out of scope: {count} with {reason}")
        share = passed / max(1, passed + failed)
        print(f"{total} files, {passed + failed} in scope, {passed} passed, {failed} failed: {100 * share:.1f} %")
        return share >= least and passed > 0


def self_check(suite, folder):
    """Every part of this script on a made-up file, right and wrong."""
    def text(expected, how="expect_close"):
        return f"""module @jit_main {{
  func.func public @main() -> (tensor<2xf32> {{jax.result_info = ""}}) {{
    %0:2 = call @inputs() : () -> (tensor<2xf32>, tensor<2xf32>)
    %1 = call @expected() : () -> tensor<2xf32>
    %2 = stablehlo.add %0#0, %0#1 : tensor<2xf32>
    stablehlo.custom_call @check.{how}(%2, %1) {{has_side_effect = true}} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return %2 : tensor<2xf32>
  }}
  func.func private @inputs() -> (tensor<2xf32>, tensor<2xf32>) {{
    %cst = stablehlo.constant dense<[1.5, 0x40000000]> : tensor<2xf32>
    %cst_0 = stablehlo.constant dense<2.0> : tensor<2xf32>
    return %cst, %cst_0 : tensor<2xf32>, tensor<2xf32>
  }}
  func.func private @expected() -> (tensor<2xf32>) {{
    %cst = stablehlo.constant dense<{expected}> : tensor<2xf32>
    return %cst : tensor<2xf32>
  }}
}}
"""
    check = suite.check
    for expected, how, good in (("[3.5, 4.0]", "expect_eq", True), ("[3.5, 4.0000005]", "expect_eq", False),
                                ("[3.5, 4.0000005]", "expect_close", True), ("[3.5, 4.000005]", "expect_close", False),
                                ("[3.5, 4.003]", "expect_almost_eq", True), ("[3.5, 4.01]", "expect_almost_eq", False),
                                ('"0x0000604000008040"', "expect_eq", True), ("[3.5, 0x7F800000]", "expect_eq", False)):
        wrong = run_case(suite, Case(text(expected, how)), folder)
        check((wrong is None) == good, f"{how} {expected}: {wrong}")
    check(differs("expect_eq", -1, (1 << 64) - 1, "ui64") is None, "ui64 is held in i64")
    check(differs("expect_eq", -1, 255, "ui8") is not None, "ui8 is held as the number that it is")
    check(ordered(1.0, "bf16") + 1 == ordered(1.0078125, "bf16"), "neighbours of bf16")
    check(out_of_scope("abs_complex64_2.mlir", "tensor<2xcomplex<f32>>") == "complex numbers", "scope")
    check(out_of_scope("add_int8_2.mlir", "tensor<2xi8>") is None, "scope")
    check(op_of("scatter_add_float32_1_1_float32_1.mlir") == "scatter_add", "names of ops")
    wrong = run_case(suite, Case(text("[3.5, 4.0]").replace("stablehlo.add", "stablehlo.foo")), folder)
    check("not supported" in (wrong or ""), f"an op that does not exist: {wrong}")


def write_tensors(path, tensors):
    """safetensors of {name: (type, shape, values)}."""
    header, body = {}, b""
    for name, (kind, shape, values) in tensors.items():
        data = pack(values, kind)
        header[name] = {"dtype": HELD[kind][0], "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + body)


def gradients(suite, folder):
    """The gradients of a loss over windows, a sort, a scatter and a gather (windows.mlir) along random directions,
    against differences of its values."""
    count, step, draw = 24, 4e-3, random.Random(11)
    plan, data, weights, saved = (os.path.join(folder, name) for name in ("grad", "data", "weights", "saved"))
    suite.compile(os.path.join(OWN, "..", "windows.mlir"), plan, "--optimizer", "sgd:lr=1", "--micro-batches", 1)
    write_tensors(data, {"x": ("f32", [4, 6], [draw.uniform(0.3, 1.5) for _ in range(count)]),
                         "at": ("i32", [4, 2], [0, 1, 3, 4, -1, 2, 2, 5])})  # two of the windows are out of range
    point = [draw.choice((-1, 1)) * draw.uniform(0.3, 1) for _ in range(count)]  # cbrt is steep at 0

    def loss(values):
        write_tensors(weights, {"w": ("f32", [4, 6], values)})
        rows = common.json_lines(suite.must("zb-run", plan, "--eval", "safetensors:" + data, "--eval-steps", 1,
                                            "--weights", weights, "--json"))
        return rows[-1]["eval"]["loss"]
    loss(point)
    suite.must("zb-run", plan, "--data", "safetensors:" + data, "--steps", 1, "--weights", weights, "--save", saved)
    _, _, body = common.read_checkpoint(saved)["weights:w"]
    after = struct.unpack(f"<{count}f", body)
    slope = [a - b for a, b in zip(point, after)]
    size = math.sqrt(sum(value * value for value in slope))
    for _ in range(4):
        along = [draw.gauss(0, 1) for _ in range(count)]
        length = math.sqrt(sum(value * value for value in along))
        along = [value / length for value in along]
        ends = [loss([p + sign * step * d for p, d in zip(point, along)]) for sign in (1, -1)]
        wanted, got = (ends[0] - ends[1]) / (2 * step), sum(a * b for a, b in zip(slope, along))
        suite.check(abs(wanted - got) <= 0.01 * size, f"a gradient of {got} along a direction, by differences {wanted}")


def main():
    options = common.arguments(__doc__,
                               ("folder", {"nargs": "?", "help": "stablehlo/testdata of a clone (default: own files)"}),
                               ("--filter", {"default": "", "help": "only files whose name contains it"}),
                               ("--every", {"type": int, "default": 1, "help": "only each n-th file"}),
                               ("--least", {"type": float, "default": 0.97, "help": "the share that must pass"}))
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        self_check(suite, folder)
        if not options.folder:
            gradients(suite, folder)
        if suite.failed:
            return suite.finish()
        paths = sorted(path for path in glob.glob(os.path.join(options.folder or OWN, "*.mlir"))
                       if options.filter in os.path.basename(path))[::options.every]
        data = TestData(suite, folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(data.one, paths))
        good = data.report(len(paths), options.least if options.folder else 1)
        suite.check(good, "too few of the files in scope pass")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
