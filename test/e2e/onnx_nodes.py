#!/usr/bin/env python3
"""ONNX's own tests (Debian's libonnx-testdata) of nodes, and of small models, most of them of opset 6, run through
zbc and zb-run as a user runs a model without a loss.

    onnx_nodes.py [--bin BUILD/bin] [--all] [--seed N] [--only GLOB] [--verbose]

Each test is a model, its inputs and the outputs that ONNX's reference gives. zbc --inference compiles it (inputs that
must be constants, as shapes and axes, by --constants), zb-run --eval computes, and every output is compared. A test is
out of scope by its element types or operators alone (OUT_OF_SCOPE, with the reasons): what is in scope must pass.
Without --all a part is drawn at random, with at least one test of each operator, which --seed repeats. Ends with
"N passed, N failed".
"""
import collections
import fnmatch
import json
import math
import os
import random
import struct
import sys

import common

FOLDER = "/usr/share/libonnx-testdata/data"
PARTS = ("node", "pytorch-converted", "pytorch-operator", "simple")
DRAWN = 120  # and one of each operator that these leave out

# TensorProto.DataType: name, safetensors, letter of struct, field of values that are not raw.
TYPES = {1: ("float32", "F32", "f", 4), 11: ("float64", "F64", "d", 10), 16: ("bfloat16", "BF16", "H", 5),
         10: ("float16", "F16", "e", 5), 7: ("int64", "I64", "q", 7), 6: ("int32", "I32", "i", 5),
         9: ("bool", "BOOL", "?", 5)}

NPY = {"<f4": "float32", "<f8": "float64", "<f2": "float16", "<i8": "int64", "<i4": "int32", "|b1": "bool"}

# Why operators are out of scope.
OUT_OF_SCOPE = {
    "shapes that depend on values": "NonZero Unique Compress NonMaxSuppression",
    "random numbers, of another generator": "Bernoulli RandomUniformLike RandomNormalLike Multinomial",
    "optimizers, which zbc has of its own (domain ai.onnx.preview.training)": "Adam Adagrad Momentum",
    "quantized": "QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearConv QLinearMatMul ConvInteger "
                 "MatMulInteger",
    "signals": "DFT STFT MelWeightMatrix HannWindow HammingWindow BlackmanWindow",
    "geometry of images": "RoiAlign Det",
    "strings": "StringNormalizer TfIdfVectorizer",
    "sequences that grow or shrink": "SequenceMap SequenceEmpty SequenceInsert SequenceErase",
    "gradients as nodes (domain ai.onnx.preview.training)": "Gradient",
}
REASONS = {op: reason for reason, ops in OUT_OF_SCOPE.items() for op in ops.split()}

# Inputs that must be constants.
FIXED = {"Reshape": [1], "Expand": [1], "Tile": [1], "Slice": [1, 2, 3, 4], "Pad": [1, 2, 3], "Squeeze": [1],
         "Unsqueeze": [1], "ReduceSum": [1], "Split": [1], "TopK": [1], "OneHot": [1], "CumSum": [1], "Trilu": [1],
         "ConstantOfShape": [0], "Range": [0, 1, 2], "Resize": [1, 2, 3], "Upsample": [1], "Dropout": [1, 2],
         "MaxUnpool": [2], "If": [0], "Loop": [0, 1], "SequenceAt": [1], "SplitToSequence": [1]}

TOLERANCE = {"float32": (1e-5, 1e-6), "float64": (1e-12, 1e-12), "bfloat16": (1e-2, 1e-6), "float16": (1e-3, 1e-6)}
# The body of the windows has 2 pi with 6 digits, the reference all of them; of grids what is expected has 4 digits.
LOOSE = {"*window*_expanded": {"float32": (1e-3, 1e-6)}, "test_gridsample*": {"float32": (1e-5, 6e-5)}}


# ---- The format, as much of it as these files have ----

def fields(data):
    """{field number: values} of a message: numbers, or bytes."""
    found, at = collections.defaultdict(list), 0

    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    while at < len(data):
        key, at = varint(at)
        kind = key & 7
        if kind == 0:
            value, at = varint(at)
        elif kind == 2:
            length, at = varint(at)
            value, at = data[at:at + length], at + length
        else:
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        found[key >> 3].append(value)
    return found


def varints(values):
    """Of a repeated field, packed or not, as signed numbers."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = shift = number = 0
        for at in value:
            number |= (at & 127) << shift
            shift += 7
            if at < 128:
                numbers.append(number)
                number = shift = 0
    return [number - (1 << 64) if number >> 63 else number for number in numbers]


def text(values):
    return values[-1].decode() if values else ""


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


class Tensor:
    """kind: as the model declares it, since NumPy knows no bfloat16, which these files then call uint16."""
    def __init__(self, data, kind=None):
        message = fields(data)
        self.shape, self.kind = varints(message[1]), kind or (message[2][-1] if message[2] else 0)
        self.name = text(message[8])
        if self.kind not in TYPES:
            return
        _, _, letter, field = TYPES[self.kind]
        count = math.prod(self.shape)
        if message[9] and message[9][-1]:
            self.bytes = bytes(message[9][-1])
        elif letter in "fd":
            self.bytes = b"".join(bytes(part) for part in message[field])
        else:
            numbers = varints(message[field])
            self.bytes = struct.pack(f"<{count}{'H' if letter == 'e' else letter}", *numbers)
        assert len(self.bytes) == count * struct.calcsize("<" + letter), (self.name, self.shape)

    def values(self):
        return numbers_of(self.bytes, TYPES[self.kind][0])


def numbers_of(data, dtype):
    if dtype == "bfloat16":
        words = struct.unpack(f"<{len(data) // 2}H", data)
        return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
    letter = next(letter for name, _, letter, _ in TYPES.values() if name == dtype)
    return list(struct.unpack(f"<{len(data) // struct.calcsize('<' + letter)}{letter}", data))


def read_npy(path):
    """(shape, dtype, values)."""
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack("<H", data[8:10])
    header = eval(data[10:10 + length].decode("latin1"), {"__builtins__": {}})  # a dictionary of literals
    dtype = NPY[header["descr"]]
    return list(header["shape"]), dtype, numbers_of(data[10 + length:], dtype)


class Value:
    """Name and type of an input or an output of a graph."""
    def __init__(self, data):
        message = fields(data)
        self.name = text(message[1])
        kind = fields(message[2][0]) if message[2] else {}
        tensor = fields(kind[1][0]) if kind and kind[1] else None
        self.is_tensor = tensor is not None
        self.kind = tensor[1][-1] if tensor and tensor[1] else 0
        dims = [fields(dim)[1] for dim in fields(tensor[2][0])[1]] if tensor and tensor[2] else []
        self.open = [text(fields(dim)[2]) for dim in fields(tensor[2][0])[1]] if tensor and tensor[2] else []
        self.is_empty = any(dim and dim[-1] == 0 for dim in dims)


class Node:
    def __init__(self, data):
        message = fields(data)
        self.inputs = [part.decode() for part in message[1]]
        self.outputs = [part.decode() for part in message[2]]
        self.op, self.domain = text(message[4]), text(message[7])
        self.graphs = [Graph(part) for attribute in message[5] for part in fields(attribute)[6]]

    def all(self):
        yield self
        for graph in self.graphs:
            for node in graph.nodes:
                yield from node.all()


class Graph:
    def __init__(self, data):
        message = fields(data)
        self.nodes = [Node(part) for part in message[1]]
        self.constants = {Tensor(part).name for part in message[5]}
        self.inputs = [value for value in map(Value, message[11]) if value.name not in self.constants]
        self.outputs = [Value(part) for part in message[12]]

    def ops(self):
        return {node.op for top in self.nodes for node in top.all()}

    def fixed(self):
        """Inputs of the graph that nodes need as constants, or that what they need is computed of."""
        makers = {name: node for node in self.nodes for name in node.outputs}
        waiting = [node.inputs[i] for node in self.nodes for i in FIXED.get(node.op, []) if i < len(node.inputs)]
        seen = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in makers and makers[name].op not in ("Shape", "Size"):
                waiting.extend(makers[name].inputs)
        return [value.name for value in self.inputs if value.name in seen]


# ---- One test ----

class Case:
    def __init__(self, name, root=FOLDER):
        self.name, self.folder = name, os.path.join(root, name)
        self.model = os.path.join(self.folder, "model.onnx")
        with open(self.model, "rb") as file:
            message = fields(file.read())
        self.graph = Graph(message[7][0])
        self.ops = self.graph.ops()

    def reason(self):
        """Why it is out of scope, or None."""
        ends = self.graph.inputs + self.graph.outputs
        if any(not value.is_tensor for value in ends):
            return "sequences and optional values as inputs or outputs"
        kinds = {value.kind for value in ends}
        fixed = self.graph.fixed()
        if any(value.is_empty for value in ends if value.name not in fixed) or (
                any(map(any, (value.open for value in self.graph.inputs)))
                and any(0 in tensor.shape for tensor in self.tensors("input", self.graph.inputs))):
            return "tensors without elements"
        if 8 in kinds:
            return "strings"
        for op in sorted(self.ops):
            if op in REASONS:
                return REASONS[op]
        if kinds - set(TYPES):
            return "element types that zbc does not have (8 and 16 bits, unsigned)"
        if self.name.startswith("node/test_training_dropout") and "zero_ratio" not in self.name:
            return "random numbers, of another generator"
        return None

    def tensors(self, word, values):
        tensors = []
        for i, value in enumerate(values):
            with open(os.path.join(self.folder, "test_data_set_0", f"{word}_{i}.pb"), "rb") as file:
                tensors.append(Tensor(file.read(), value.kind))
        return tensors

    def run(self, suite, folder):
        """What is wrong, or None."""
        given = dict(zip((value.name for value in self.graph.inputs), self.tensors("input", self.graph.inputs)))
        fixed = self.graph.fixed()
        data = {name: tensor for name, tensor in given.items() if name not in fixed}
        constants = [os.path.join(folder, "constants"), {name: given[name] for name in fixed}]
        write_safetensors(os.path.join(folder, "data"), data)
        write_safetensors(*constants)
        plan = os.path.join(folder, "plan")
        sizes = {name: size for value in self.graph.inputs for name, size in zip(value.open, given[value.name].shape)
                 if name and value.name not in fixed}
        done = suite.run("zbc", self.model, "-o", plan, "--inference", "--json",
                         *(word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")),
                         *(["--constants", "safetensors:" + constants[0]] if fixed else []))
        if done.returncode:
            return f"zbc: exit {done.returncode}: {done.stderr.strip()}"
        wanted = self.tensors("output", self.graph.outputs)
        files = [os.path.join(folder, f"{i}.npy") for i in range(len(wanted))]
        names = [value.name for value in self.graph.outputs]
        done = suite.run("zb-run", plan, "--eval", "safetensors:" + os.path.join(folder, "data"), "--eval-steps", 1,
                         *(word for name, file in zip(names, files) for word in ("--output", f"{name}:{file}")))
        if done.returncode:
            return f"zb-run: exit {done.returncode}: {done.stderr.strip()}"
        for name, file, tensor in zip(names, files, wanted):
            test = os.path.basename(self.name)
            tolerance = next((own for glob, own in LOOSE.items() if fnmatch.fnmatch(test, glob)), TOLERANCE)
            wrong = compare(read_npy(file), tensor, tolerance)
            if wrong:
                return f"output '{name}': {wrong}"
        return None


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, tensor in tensors.items():
        header[name] = {"dtype": TYPES[tensor.kind][1], "shape": tensor.shape,
                        "data_offsets": [len(body), len(body) + len(tensor.bytes)]}
        body += tensor.bytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + body)


def near(got, wanted, relative, absolute):
    if math.isnan(wanted) or math.isnan(got):
        return math.isnan(wanted) and math.isnan(got)
    return got == wanted or abs(got - wanted) <= absolute + relative * abs(wanted)


def compare(got, tensor, tolerance=TOLERANCE):
    shape, dtype, values = got
    wanted_dtype = TYPES[tensor.kind][0]
    wanted, written = tensor.values(), "float32" if wanted_dtype == "bfloat16" else wanted_dtype
    if shape != (tensor.shape or [1]) or dtype != written:
        return f"{dtype} {shape}, expected {written} {tensor.shape}"
    relative, absolute = tolerance.get(wanted_dtype, (0, 0))
    for i, (a, b) in enumerate(zip(values, wanted)):
        if not near(a, b, relative, absolute):
            return f"element {i} is {a}, expected {b}"
    return None


# ---- All of them ----

def draw(cases, seed):
    """A part of the tests in which every operator is."""
    order = cases[:]
    random.Random(seed).shuffle(order)
    drawn, ops = order[:DRAWN], set()
    for case in drawn:
        ops |= case.ops
    for case in order[DRAWN:]:
        if case.ops - ops:
            drawn.append(case)
            ops |= case.ops
    return drawn


def check_itself(suite):
    """A comparison that cannot fail shows nothing."""
    tensor = Tensor(b"\x08\x02\x10\x01\x4a\x08" + struct.pack("<2f", 1, float("nan")))
    nan = float("nan")
    suite.check(compare(([2], "float32", [1.0, nan]), tensor) is None, "equal values are equal")
    for got in (([2], "float32", [1.0001, nan]), ([2], "float32", [1.0, 2.0]), ([1, 2], "float32", [1.0, nan]),
                ([2], "float64", [1.0, nan])):
        suite.check(compare(got, tensor) is not None, f"{got} is not what is wanted")


def small_model():
    """y = Reshape(Relu(x), s), of x: float32 [batch, 4] and s: int64 [2]."""
    def value(name, kind, dims):
        shape = b"".join(message(1, message(2, dim.encode()) if isinstance(dim, str) else b"\x08" + varint(dim))
                         for dim in dims)
        return message(1, name) + message(2, message(1, b"\x08" + varint(kind) + message(2, shape)))

    graph = message(1, message(1, b"x") + message(2, b"r") + message(4, b"Relu"))
    graph += message(1, message(1, b"r") + message(1, b"s") + message(2, b"y") + message(4, b"Reshape"))
    graph += message(11, value(b"x", 1, ["batch", 4])) + message(11, value(b"s", 7, [2]))
    graph += message(12, value(b"y", 1, ["batch", 4]))
    return b"\x08\x08" + message(7, graph) + message(8, b"\x10\x11")


def check_options(suite, folder):
    """--dim and --constants: what they give, and what is said of wrong ones."""
    path = lambda name: os.path.join(folder, name)

    def ints(name, *values):
        raw = message(9, struct.pack(f"<{len(values)}q", *values))
        return Tensor(b"\x08" + varint(len(values)) + b"\x10\x07" + message(8, name.encode()) + raw)

    with open(path("m.onnx"), "wb") as file:
        file.write(small_model())
    write_safetensors(path("s"), {"s": ints("s", 2, -1)})
    write_safetensors(path("long"), {"s": ints("s", 2, -1, 1)})
    write_safetensors(path("other"), {"t": ints("t", 2, -1)})
    constants = ("--constants", "safetensors:" + path("s"))

    def run(*words):
        return suite.run("zbc", path("m.onnx"), "-o", path("plan"), "--inference", *words)

    def refused(status, text, *words):
        done = run(*words)
        suite.check(done.returncode == status and text in done.stderr,
                    f"{words}: exit {done.returncode}, wanted {status} and '{text}'\n{done.stderr}")

    refused(1, "input 'x' has the dynamic dimension 'batch'", *constants)
    refused(1, "no input has a dynamic dimension 'batsh'", "--dim", "batsh=3", *constants)
    refused(1, "did you mean 'batch'?", "--dim", "batsh=3", *constants)
    refused(1, "'batch' is given twice", "--dim", "batch=3", "--dim", "batch=4", *constants)
    for wrong in ("batch", "batch=", "=3", "batch=0", "batch=-1", "batch=3x", "batch=99999999999999999999"):
        refused(1, f"--dim: expected NAME=N with N of at least 1, got '{wrong}'", "--dim", wrong, *constants)
    refused(1, "the shape (input 1) is not a constant", "--dim", "batch=3")
    refused(1, "input 's' is declared as 2xint64, and its array is 3xi64", "--dim", "batch=3", "--constants",
            "safetensors:" + path("long"))
    refused(1, "the model has no input 't'", "--dim", "batch=3", "--constants", "safetensors:" + path("other"))
    refused(2, "--constants: cannot read arrays from 's'", "--dim", "batch=3", "--constants", "s")
    refused(4, "nothing", "--dim", "batch=3", "--constants", "safetensors:" + path("nothing"))
    suite.check(run("--dim", "batch=3", *constants).returncode == 0, "a dimension of 3")
    row = struct.pack("<12f", *range(-4, 8))
    x = Tensor(b"\x08\x03\x08\x04\x10\x01" + message(8, b"x") + message(9, row))
    write_safetensors(path("data"), {"x": x})
    suite.must("zb-run", path("plan"), "--eval", "safetensors:" + path("data"), "--output", "y:" + path("y.npy"))
    suite.check(read_npy(path("y.npy")) == ([2, 6], "float32", [max(0.0, v) for v in range(-4, 8)]), "y of 3 rows")


def main():
    options = common.arguments(__doc__, ("--all", {"action": "store_true"}), ("--seed", {"type": int}),
                               ("--only", {"default": "*"}), ("--verbose", {"action": "store_true"}))
    suite = common.Suite(options.bin)
    if not os.path.isdir(FOLDER):
        sys.exit(f"error: no folder {FOLDER}\n  hint: apt-get install libonnx-testdata")
    check_itself(suite)
    with common.scratch() as folder:
        check_options(suite, folder)
    cases = [Case(f"{part}/{name}") for part in PARTS for name in sorted(os.listdir(f"{FOLDER}/{part}"))
             if fnmatch.fnmatch(name, options.only)]
    out = collections.Counter(reason for reason in map(Case.reason, cases) if reason)
    inside = [case for case in cases if not case.reason()]
    print(f"  {len(cases)} tests, {len(inside)} in scope, {len(cases) - len(inside)} out of scope:")
    for reason, count in sorted(out.items()):
        print(f"    {count:4} {reason}")
    if not options.all and options.only == "*":
        seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
        inside = draw(inside, seed)
        print(f"  {len(inside)} of those in scope, drawn by --seed {seed} (--all: all of them)", flush=True)

    def run(case):
        with common.scratch() as folder:
            wrong = case.run(suite, folder)
        suite.check(wrong is None, f"{case.name} ({' '.join(sorted(case.ops))}): {wrong}")
        if options.verbose and wrong is None:
            print(f"ok {case.name}")

    common.run_parallel([lambda case=case: run(case) for case in inside], options.jobs)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
