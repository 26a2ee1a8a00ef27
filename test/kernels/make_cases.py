"""Writes test/kernels/cases/OP.safetensors: operands, attributes and expected results of every kernel.

Usage: python make_cases.py [FOLDER]      (needs numpy, torch, onnx, onnxruntime, ml_dtypes; deterministic)

The expected numbers come from programs that share nothing with zbc: onnxruntime runs a model of one node where ONNX
has the op, else PyTorch computes in float64 (gradients by its autograd, updates by its optimizers). Operands are NumPy
arrays; a transposed, sliced or broadcast one is stored as its base with strides, so that kernels get the strides.

A file holds several cases. Its metadata has the keys
  "cases"      a JSON array, see case() below; a tensor is named where it is used as it is stored, or is an object with
               its view;
  "tolerance"  {"reference": [relative, scaled, absolute], "fast": [relative, scaled, absolute]}: a result is right
               where |got - want| <= relative*|want| + scaled*(largest finite |want| of the tensor) + absolute.
Cases without expected results ("random") say only shapes and how operands are filled; the fast kernels are compared
with the reference on them.
"""

import json
import math
import pathlib
import struct
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tools"))
import random_words  # noqa: E402

F32, F64, I64, I32, BOOL, F16, BF16 = (np.dtype(t) for t in ("f4", "f8", "i8", "i4", "?", "f2", ml_dtypes.bfloat16))
STORED = {F32: "F32", F64: "F64", I64: "I64", I32: "I32", BOOL: "BOOL", F16: "F16", BF16: "BF16"}
SHORT = {F32: "f32", F64: "f64", I64: "i64", I32: "i32", BOOL: "i1", F16: "f16", BF16: "bf16"}

OPSET = 24
files = {}
random = np.random.Generator(np.random.PCG64(20240607))

# ---- Cases ---------------------------------------------------------------------------------------


def file_of(op):
    return files.setdefault(op, {"cases": [], "tensors": {}})


def base_of(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def view_of(array):
    """Shape, strides (elements) and offset of an array in its base."""
    base = base_of(array)
    assert base.flags.c_contiguous
    item = array.itemsize
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    strides = [0 if n == 1 else s // item for n, s in zip(array.shape, array.strides)]
    assert all(s >= 0 for s in strides)
    return base, {"shape": list(array.shape), "strides": strides, "offset": offset // item}


def plain_attrs(attrs):
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in (attrs or {}).items()}


def case(op, name, inputs, expected, attrs=None, accumulate=None, alias=None, error=False):
    """One call. inputs: arrays, None for an absent one. expected: arrays (with error: their dtype and shape are all
    that counts; the kernel must refuse the values, or with "shape" the reference must refuse the call). accumulate:
    result 0 before the call. alias: [k, ...], result i is operand k in place."""
    file = file_of(op)
    number = len(file["cases"])

    def store(suffix, array):
        key = f"{number}.{suffix}"
        file["tensors"][key] = np.ascontiguousarray(array).reshape(array.shape)
        return key

    row = {"name": name, "attrs": plain_attrs(attrs), "inputs": [], "outputs": []}
    for i, array in enumerate(inputs):
        if array is None:
            row["inputs"].append(None)
            continue
        base, view = view_of(array)
        key = store(f"in{i}", base)
        plain = base.shape == array.shape and array.flags.c_contiguous
        row["inputs"].append(key if plain else view | {"tensor": key})
    for i, array in enumerate(expected):
        row["outputs"].append(O(*array.shape, dtype=SHORT[array.dtype]) if error else store(f"out{i}", array))
    if accumulate is not None:
        row["accumulate"] = store("before", accumulate)
    if alias is not None:
        row["alias"] = alias
    if error:
        row["error"] = error
    file["cases"].append(row)


def R(*shape, low=-2.0, high=2.0, dtype="f32", layout="plain", fill="uniform"):
    """An operand of a random case. layout: plain, transposed (stored with dimensions reversed), spaced (every other
    element of the last dimension). fill: uniform in low..high (integers: below high), or mask (a third of it
    -infinity)."""
    shape = list(shape)
    strides = [1] * len(shape)
    order = range(len(shape)) if layout == "transposed" else range(len(shape) - 1, -1, -1)
    step = 2 if layout == "spaced" else 1
    for i in order:
        strides[i], step = step, step * shape[i]
    return {"dtype": dtype, "shape": shape, "strides": strides, "offset": 0, "fill": fill, "low": low, "high": high}


def result_of(op, inputs, output):
    """An operand that is a result of the reference kernel of op on operands (by number) of the same case, with its
    attributes."""
    return {"result_of": op, "from": inputs, "output": output}


def O(*shape, dtype="f32"):
    return {"dtype": dtype, "shape": list(shape)}


def random_case(op, name, inputs, outputs, attrs=None, accumulate=False, alias=None):
    row = {"name": name, "attrs": plain_attrs(attrs), "inputs": inputs, "outputs": outputs, "random": True}
    if accumulate:
        row["accumulate"] = True
    if alias is not None:
        row["alias"] = alias
    file_of(op)["cases"].append(row)


def tolerance(op, reference, fast):
    file_of(op)["tolerance"] = {"reference": list(reference), "fast": list(fast)}


EXACT = ((0, 0, 0), (0, 0, 0))
ELEMENTWISE = ((2e-6, 1e-6, 0), (1e-5, 1e-6, 0))
SUMS = ((2e-6, 2e-6, 0), (1e-5, 5e-6, 0))
# onnxruntime's sigmoid and its like are approximations with a small absolute error.
APPROXIMATED = ((2e-6, 1e-6, 1e-7), (1e-5, 1e-6, 0))
# A row that sees one key has a gradient of exactly 0, as a difference of two equal sums.
DIFFERENCES = ((2e-6, 4e-6, 1e-9), (2e-5, 1e-5, 3e-7))

# ---- Sources of numbers --------------------------------------------------------------------------


def onnx_run(op, inputs, attrs=None, outputs=1):
    """Runs a model of one node. None is an absent operand."""
    names = ["" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **(attrs or {}))
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, inputs) if a is not None
    ]
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "one", values, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None,
                       {n: np.ascontiguousarray(a).reshape(a.shape)
                        for n, a in zip(names, inputs) if a is not None})


def wide(array):
    """A float64 tensor that autograd can follow, or an integer tensor."""
    tensor = torch.from_numpy(np.array(array))
    return tensor.double().requires_grad_() if array.dtype.kind == "f" else tensor


def narrow(tensor, dtype=F32):
    return np.array(tensor.detach().numpy(), dtype=dtype, order="C")


def gradients(function, inputs, dout):
    """Gradients, in float64, of function's result at its float operands, for the gradient dout of the result."""
    tensors = [wide(a) for a in inputs]
    out = function(*tensors)
    real = [t for t in tensors if t.requires_grad]
    return [
        narrow(g) for g in torch.autograd.grad(out, real, torch.from_numpy(np.array(dout)).double(), allow_unused=False)
    ]


def real(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(F32) if shape else np.array(random.uniform(low, high), F32)


def whole(*shape, low=-9, high=10, dtype=I64):
    return random.integers(low, high, shape).astype(dtype) if shape else np.array(random.integers(low, high), dtype)


def truth(*shape):
    return random.integers(0, 2, shape).astype(BOOL)


# ---- Elementwise, one operand --------------------------------------------------------------------

T = torch
sigmoid = T.sigmoid
zero = T.zeros_like
LIMITED = (-0.95, 0.95)
# name: (ONNX op, function for autograd, domain, saved operand of the gradient, attributes by ONNX name)
UNARY = {
    "abs": ("Abs", T.abs, None, "x"),
    "acos": ("Acos", T.acos, LIMITED, "x"),
    "acosh": ("Acosh", T.acosh, (1.1, 5), "x"),
    "asin": ("Asin", T.asin, LIMITED, "x"),
    "asinh": ("Asinh", T.asinh, None, "x"),
    "atan": ("Atan", T.atan, None, "x"),
    "atanh": ("Atanh", T.atanh, LIMITED, "x"),
    "cos": ("Cos", T.cos, None, "x"),
    "cosh": ("Cosh", T.cosh, None, "x"),
    "celu": ("Celu", lambda x, alpha=1.0: T.celu(x, alpha), None, "x", {"alpha": 0.7}),
    "clip": (None, lambda x, min=-1e30, max=1e30: T.clip(x, min, max), None, "x", {"min": -0.5, "max": 1.25}),
    "elu": ("Elu", lambda x, alpha=1.0: T.nn.functional.elu(x, alpha), None, "x", {"alpha": 1.7}),
    "erf": ("Erf", T.erf, None, "x"),
    "exp": ("Exp", T.exp, None, "out"),
    "gelu": ("Gelu", lambda x, tanh=False: T.nn.functional.gelu(x, approximate="tanh"
                                                                if tanh else "none"), (-4, 4), "x", {"tanh": True}),
    "hard_sigmoid": ("HardSigmoid", lambda x, alpha=0.2, beta=0.5: T.clip(alpha * x + beta, 0, 1), (-4, 4), "x",
                     {"alpha": 0.3, "beta": 0.4}),
    "hard_swish": ("HardSwish", T.nn.functional.hardswish, (-4, 4), "x"),
    "leaky_relu": ("LeakyRelu", lambda x, alpha=0.01: T.nn.functional.leaky_relu(x, alpha), None, "x", {"alpha": 0.2}),
    "log": ("Log", T.log, (0.1, 5), "x"),
    "mish": ("Mish", T.nn.functional.mish, (-4, 4), "x"),
    "neg": ("Neg", T.neg, None, "out"),
    "reciprocal": ("Reciprocal", T.reciprocal, (0.3, 3), "out"),
    "relu": ("Relu", T.relu, None, "out"),
    "rsqrt": (None, T.rsqrt, (0.1, 5), "out"),
    "selu": ("Selu", lambda x, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875: gamma * T.where(
        x > 0, x, alpha * T.expm1(x)), None, "x", {"alpha": 1.5, "gamma": 0.9}),
    "shrink":
    ("Shrink", lambda x, bias=0.0, lambd=0.5: T.where(x < -lambd, x + bias, T.where(x > lambd, x - bias, 0 * x)), None,
     "x", {"bias": 0.3, "lambd": 0.8}),
    "sigmoid": ("Sigmoid", T.sigmoid, (-6, 6), "out"),
    "silu": ("Swish", lambda x, alpha=1.0: x * sigmoid(alpha * x), (-6, 6), "x", {"alpha": 1.7}),
    "sin": ("Sin", T.sin, None, "x"),
    "sinh": ("Sinh", T.sinh, None, "x"),
    "softplus": ("Softplus", lambda x: T.logaddexp(x, zero(x)), None, "x"),
    "softsign": ("Softsign", T.nn.functional.softsign, None, "x"),
    "sqrt": ("Sqrt", T.sqrt, (0.1, 5), "out"),
    "tan": ("Tan", T.tan, (-1.2, 1.2), "x"),
    "tanh": ("Tanh", T.tanh, None, "out"),
    "thresholded_relu":
    ("ThresholdedRelu", lambda x, alpha=1.0: T.where(x > alpha, x, 0 * x), None, "x", {"alpha": 0.4}),
    "ceil": ("Ceil", T.ceil, (-3, 3), None),
    "floor": ("Floor", T.floor, (-3, 3), None),
    "round": ("Round", T.round, (-3, 3), None),
    "sign": ("Sign", T.sign, None, None),
}
# the same, which came later: their cases are drawn last
UNARY_LATER = {
    "erfc": (None, T.erfc, (-4, 9), "x"),
    "expm1": (None, T.expm1, (-4, 4), "x"),
    "log1p": (None, T.log1p, (-0.9, 5), "x"),
}
INF, NAN = float("inf"), float("nan")
SPECIAL = {
    "abs": [-INF, INF, -0.0],
    "acos": [1, -1, 0],
    "acosh": [1, 1e6],
    "asin": [1, -1, 0],
    "asinh": [0, 1e6],
    "atan": [INF, -INF, 0],
    "atanh": [0, 0.999],
    "cos": [0, 30],
    "cosh": [0, 80, -80],
    "celu": [0, -INF, 50],
    "clip": [1e30, -1e30, 0],
    "elu": [0, -INF, 50],
    "erf": [INF, -INF, 0, 3],
    "exp": [INF, -INF, 0, 88, -80],
    "gelu": [0, 30, -30, 1e-6],
    "hard_sigmoid": [0, 1e6, -1e6],
    "hard_swish": [0, 3, -3, 1e6, -1e6],
    "leaky_relu": [0, -INF, INF],
    "log": [0, INF, 1, 1e-30],
    "mish": [0, 50, -50],
    "neg": [0, INF, -INF],
    "reciprocal": [INF, -INF, 1e-30],
    "relu": [0, -INF, INF],
    "rsqrt": [INF, 1e-20, 1e20],
    "selu": [0, -INF, 50],
    "shrink": [0, 1e6, -1e6],
    "sigmoid": [INF, -INF, 0, 30, -80],
    "silu": [0, 50, -50],
    "sin": [0, 30],
    "sinh": [0, 80, -80],
    "softplus": [0, 80, -80],
    "softsign": [0, 1e6, -1e6],
    "sqrt": [0, INF, 1e-30],
    "tan": [0],
    "tanh": [INF, -INF, 0, 20, 1e-6],
    "thresholded_relu": [0, 1e6],
    "ceil": [INF, -0.5, 2.0, 1e9],
    "floor": [-INF, -0.5, 2.0, 1e9],
    "round": [0.5, 1.5, 2.5, -0.5, -1.5, 1e9, INF],
    "sign": [0, -0.0, INF, -INF],
    "erfc": [INF, -INF, 0, -0.0, 4, 9, 1e-8],
    "expm1": [INF, -INF, 0, -0.0, 3e-8, -3e-8, 1e-40, 88, -80],
    "log1p": [INF, -1, 0, -0.0, 3e-8, -3e-8, 1e-40, 3e38],
}


def unary_forward(name, x, attrs):
    onnx_op, function = (UNARY | UNARY_LATER)[name][:2]
    if name == "clip":
        bounds = [None if attrs.get(k) is None else np.array(attrs[k], F32) for k in ("min", "max")]
        return onnx_run("Clip", [x] + bounds)[0]
    if onnx_op is None:
        return narrow(function(wide(x), **attrs))
    if name == "gelu":
        return onnx_run(onnx_op, [x], {"approximate": "tanh" if attrs.get("tanh") else "none"})[0]
    return onnx_run(onnx_op, [x], attrs)[0]


def ours(attrs):
    return {{"lambd": "lambda"}.get(k, k): v for k, v in attrs.items()}


def unary(rows=UNARY):
    for name, row in rows.items():
        function, (low, high), saved = row[1], row[2] or (-2, 2), row[3]
        attrs = row[4] if len(row) > 4 else {}
        tolerance(name, *(APPROXIMATED if name in ("gelu", "sigmoid", "silu") else ELEMENTWISE))
        r = lambda *shape: real(*shape, low=low, high=high)
        shapes = {
            "rank 0": r(), "rank 1": r(17), "transposed": r(3, 5, 4).T, "rank 5": r(2, 1, 3, 2, 2), "no elements":
            r(0, 3), "expanded": np.broadcast_to(r(3, 1), (2, 3, 4)), "spaced": r(4, 10)[:, ::2], "special values":
            np.array(SPECIAL[name], F32)
        }
        for title, x in shapes.items():
            case(name, title, [x], [unary_forward(name, x, {})])
        if saved is not None:
            x = np.array([NAN, low], F32)
            case(name, "NaN", [x], [narrow(function(wide(x)))])
        if attrs:
            x = r(29)
            case(name, "attributes", [x], [unary_forward(name, x, attrs)], ours(attrs))
        random_case(name, "large", [R(37, 211, low=low, high=high)], [O(37, 211)], ours(attrs))
        random_case(name, "large, transposed", [R(37, 53, low=low, high=high, layout="transposed")], [O(37, 53)])
        if saved is None:
            continue
        grad = name + "_grad"
        tolerance(grad, *ELEMENTWISE)
        for title, a in (("defaults", {}), ("attributes", attrs)):
            for layout, x, dout in (("plain", r(31), real(31)), ("transposed", r(5, 4).T, real(4, 5)),
                                    ("expanded", r(2, 3, 4), np.broadcast_to(real(1),
                                                                             (2, 3, 4))), ("rank 0", r(), real())):
                out = narrow(function(wide(x), **a))
                dx, = gradients(lambda t: function(t, **a), [x], dout)
                case(grad, f"{layout}, {title}", [x if saved == "x" else out, dout], [dx], ours(a))
            if not attrs:
                break
        operand = R(37, 211, low=low, high=high)
        if saved == "out":
            span = narrow(function(T.linspace(low, high, 50).double()))
            operand = R(37, 211, low=float(span.min()), high=float(span.max()))
        random_case(grad, "large", [operand, R(37, 211)], [O(37, 211)], ours(attrs))


def unary_later():
    global random
    random = np.random.Generator(np.random.PCG64(20261129))
    unary(UNARY_LATER)


def unary_rest():
    for name, onnx_op in (("abs", "Abs"), ("neg", "Neg"), ("sign", "Sign"), ("relu", "Relu"), ("clip", None)):
        for dtype in (I64, I32):
            x = whole(3, 7, dtype=dtype)
            if name == "clip":
                case(name, SHORT[dtype], [x], [np.clip(x, -3, 4)], {"min": -3.0, "max": 4.0})
            else:
                expected = np.maximum(x, 0) if name == "relu" else onnx_run(onnx_op, [x])[0]
                case(name, SHORT[dtype], [x], [expected])
    values = np.array([0, 1, -INF, INF, np.nan, -3e38], F32)
    for name, onnx_op in (("is_inf", "IsInf"), ("is_nan", "IsNaN")):
        tolerance(name, *EXACT)
        for title, x in (("values", values), ("transposed", np.tile(values, (3, 1)).T), ("rank 0", values[3:4].reshape(
            ()))):
            case(name, title, [x], onnx_run(onnx_op, [x]))
        random_case(name, "large", [R(37, 211, fill="mask")], [O(37, 211, dtype="i1")])
    for negative, positive in ((1, 0), (0, 1), (0, 0)):
        case("is_inf", f"detect {negative} {positive}", [values],
             onnx_run("IsInf", [values], {"detect_negative": negative, "detect_positive": positive}),
             {"detect_negative": bool(negative), "detect_positive": bool(positive)})
    tolerance("not", *EXACT)
    for title, x in (("plain", truth(2, 9)), ("transposed", truth(3, 4).T), ("rank 0", np.array(True))):
        case("not", title, [x], onnx_run("Not", [x]))
    random_case("not", "large", [R(37, 211, dtype="i1", low=0, high=2)], [O(37, 211, dtype="i1")])
    tolerance("bitwise_not", *EXACT)
    for dtype in (I64, I32):
        for title, x in (("plain", whole(3, 7, dtype=dtype)), ("transposed", whole(3, 4, dtype=dtype).T)):
            case("bitwise_not", f"{title} {SHORT[dtype]}", [x], onnx_run("BitwiseNot", [x]))
    random_case("bitwise_not", "large", [R(37, 211, dtype="i64", low=-99, high=99)], [O(37, 211, dtype="i64")])


# ---- Elementwise, two operands -------------------------------------------------------------------

PAIRS = [((), ()), ((3, ), (2, 3)), ((2, 3), (3, )), ((4, 1, 3), (2, 1)), ((2, 1, 3, 1), (1, 4, 1, 2)),
         ((1, ), (2, 1, 3, 2, 2)), ((), (2, 3)), ((0, 3), (1, 3)), ((2, 3), ())]
# name: (ONNX op, kinds of elements, ONNX attributes, range of floats of lhs, of rhs)
BINARY = {
    "add": ("Add", "fi"),
    "sub": ("Sub", "fi"),
    "mul": ("Mul", "fi"),
    "div": ("Div", "fi"),
    "pow": ("Pow", "f", (0.1, 3), (-2, 3)),
    "max": ("Max", "fi"),
    "min": ("Min", "fi"),
    "prelu": ("PRelu", "f"),
    "mod": ("Mod", "fi"),
    "and": ("And", "b"),
    "or": ("Or", "b"),
    "xor": ("Xor", "b"),
    "bitwise_and": ("BitwiseAnd", "i"),
    "bitwise_or": ("BitwiseOr", "i"),
    "bitwise_xor": ("BitwiseXor", "i"),
    "bit_shift": (None, "i"),
    "equal": ("Equal", "fib"),
    "greater": ("Greater", "fi"),
    "greater_equal": ("GreaterOrEqual", "fi"),
    "less": ("Less", "fi"),
    "less_equal": ("LessOrEqual", "fi"),
}
KINDS = {"f": [F32], "i": [I64, I32], "b": [BOOL]}


def binary_operand(name, position, dtype, shape):
    row = BINARY[name]
    if dtype == BOOL:
        return truth(*shape) if shape else np.array(True)
    if dtype.kind == "i":
        if position == 1 and name in ("div", "mod"):
            sign = random.integers(0, 2, shape) * 2 - 1
            return (random.integers(1, 5, shape) * sign).astype(dtype).reshape(shape)
        if position == 1 and name == "bit_shift":
            return whole(*shape, low=0, high=7, dtype=dtype)
        return whole(*shape, dtype=dtype)
    low, high = row[2 + position] if len(row) > 2 else (-2, 2)
    if position == 1 and name in ("div", "mod"):
        return (real(*shape, low=0.3, high=2) * (random.integers(0, 2, shape) * 2 - 1)).astype(F32).reshape(shape)
    x = real(*shape, low=low, high=high)
    if name in ("equal", "greater", "greater_equal", "less", "less_equal", "max", "min"):
        x = np.array(np.rint(x * 2) / 2, F32)  # so that equal pairs occur
    return x


def binary_expected(name, x, y, attrs):
    if name == "bit_shift":
        return np.array(np.left_shift(x, y) if attrs["left"] else np.right_shift(x, y))
    if name == "mod" and not attrs and x.dtype == F32:
        return np.array(np.mod(x.astype(F64), y.astype(F64)).astype(F32))
    if name == "prelu" and (x.ndim < y.ndim or np.broadcast_shapes(x.shape, y.shape) != x.shape):
        return narrow(T.where(wide(x) >= 0, wide(x), wide(y) * wide(x)))  # ONNX broadcasts the slope only
    return onnx_run(BINARY[name][0], [x, y], {"fmod": 1} if attrs.get("fmod") else None)[0]


def binary():
    for name, row in BINARY.items():
        exact = name in ("max", "min") or row[1] != "f" and name not in ("add", "sub", "mul", "div", "mod")
        tolerance(name, *(EXACT if exact else ELEMENTWISE))
        variants = {"mod": [{}, {"fmod": True}], "bit_shift": [{"left": True}, {"left": False}]}.get(name, [{}])
        for attrs in variants:
            for kind in row[1]:
                for dtype in KINDS[kind]:
                    title = SHORT[dtype] + "".join(f" {k}={v}" for k, v in attrs.items())
                    operands = [(str(s), binary_operand(name, 0, dtype, s[0]), binary_operand(name, 1, dtype, s[1]))
                                for s in (PAIRS[::4] if dtype == I32 else PAIRS)]
                    operands += [("transposed", binary_operand(name, 0, dtype,
                                                               (3, 4)).T, binary_operand(name, 1, dtype, (4, 3))),
                                 ("rhs spaced", binary_operand(name, 0, dtype,
                                                               (3, 4)), binary_operand(name, 1, dtype, (3, 8))[:, ::2]),
                                 ("expanded", np.broadcast_to(binary_operand(name, 0, dtype, (3, 1)),
                                                              (2, 3, 4)), binary_operand(name, 1, dtype, (2, 3, 4)))]
                    for shapes, x, y in operands:
                        case(name, f"{title} {shapes}", [x, y], [binary_expected(name, x, y, attrs)], attrs)
                    result = "i1" if row[0] in ("Equal", "Greater", "GreaterOrEqual", "Less",
                                                "LessOrEqual") else SHORT[dtype]
                    low, high = (
                        row[2][0],
                        row[2][1]) if kind == "f" and len(row) > 2 else {"f": (-2, 2), "i": (0, 9), "b": (0, 2)}[kind]
                    bounds = dict(low=low, high=high, dtype=SHORT[dtype])
                    divisor = dict(bounds, low=0.3 if kind == "f" else 1) if name in ("div", "mod") else bounds
                    for shapes in (((37, 211), (37, 211)), ((37, 211), (211, )), ((37, 1), (5, 37, 211)), ((37, 211),
                                                                                                           ())):
                        out = np.broadcast_shapes(*shapes)
                        random_case(name, f"large {title} {shapes}",
                                    [R(*shapes[0], **bounds), R(*shapes[1], **divisor)], [O(*out, dtype=result)], attrs)
    infinite = np.array([INF, -INF, 0.0, np.nan], F32)
    for name in ("add", "mul", "max", "min", "less", "equal"):
        x, y = np.repeat(infinite, 4), np.tile(infinite, 4)
        case(
            name, "infinities and NaN", [x, y],
            onnx_run(BINARY[name][0], [x, y])
            if name not in ("max", "min") else [np.maximum(x, y) if name == "max" else np.minimum(x, y)])
    for name, dtype in (("add", I64), ("mul", I64), ("sub", I32), ("mul", I32)):
        edge = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, -1, 2], dtype)
        x, y = np.repeat(edge, 4), np.tile(edge, 4)
        case(name, f"{SHORT[dtype]} wraps", [x, y],
             [{"add": np.add, "mul": np.multiply, "sub": np.subtract}[name](x, y)])
    big = np.array([np.iinfo(I64).max, np.iinfo(I64).max - 1], I64)
    case("equal", "i64 beyond 2^53", [big, np.array([big[1], big[1]])], [np.array([False, True])])
    for name in ("div", "mod"):
        for dtype in (I64, I32):
            case(name,
                 f"{SHORT[dtype]} by zero", [whole(3, dtype=dtype), np.array([1, 0, 2], dtype)],
                 [whole(3, dtype=dtype)],
                 error=True)
            case(name, f"{SHORT[dtype]} least by -1",
                 [np.array([np.iinfo(dtype).min], dtype), np.array([-1], dtype)],
                 [np.array([np.iinfo(dtype).min if name == "div" else 0], dtype)])
    case("bit_shift", "by a negative amount", [whole(3), np.array([1, -1, 2])], [whole(3)], {"left": True}, error=True)
    case("pow", "negative base",
         [np.array([-2, -2, 0, -1, 2], F32), np.array([2, 3, 0, 5, -1], F32)],
         onnx_run(
             "Pow",
             [np.array([-2, -2, 0, -1, 2], F32), np.array([2, 3, 0, 5, -1], F32)]))


def where_and_cast():
    tolerance("where", *EXACT)
    for dtype in (F32, I64, I32, BOOL):
        make = {F32: real, BOOL: truth}.get(dtype, lambda *s: whole(*s, dtype=dtype))
        for shapes in (((3, 4), ) * 3, ((4, ), (3, 4), (1, )), ((3, 1), (2, 1, 4), (4, )), ((2, 3, 4), (1, ), (1, ))):
            c, x, y = truth(*shapes[0]), make(*shapes[1]), make(*shapes[2])
            case("where", f"{SHORT[dtype]} {shapes}", [c, x, y],
                 [np.where(c, x, y)] if dtype == BOOL else onnx_run("Where", [c, x, y]))
    c, x, y = truth(4, 3).T, real(4, 3).T, real(3, 8)[:, ::2]
    case("where", "strided", [c, x, y], onnx_run("Where", [c, x, y]))
    c, x, y = np.array(True), real(), real()
    case("where", "rank 0", [c, x, y], onnx_run("Where", [c, x, y]))
    random_case("where", "large", [R(37, 211, dtype="i1", low=0, high=2), R(37, 211), R(37, 211)], [O(37, 211)])
    random_case("where", "large, broadcast", [R(37, 211, dtype="i1", low=0, high=2), R(1), R(37, 1)], [O(37, 211)])
    tolerance("cast", *EXACT)
    values = np.array([0, -0.0, 1.5, -1.5, 2.5, 100.7, -100.7, 0.1, 1e-3], F32)
    for source in STORED:
        for target in STORED:
            x = np.abs(values).astype(source) if source == BOOL else values.astype(source)
            expected = x.astype(F32).astype(target) if BF16 in (source,
                                                                target) and F64 not in (source,
                                                                                        target) else x.astype(target)
            case("cast", f"{SHORT[source]} to {SHORT[target]}", [x], [expected], {"dtype": SHORT[target]})
    edges = np.array(
        [65504, 65519, 65520, 1e5, 6e-8, 2e-8, 3e-8, 1e-7, INF, -INF, np.nan, 1.00048828125, 3.3e38, 1e-40], F32)
    with np.errstate(over="ignore"):
        for target in (F16, BF16):
            case("cast", f"edges of {SHORT[target]}", [edges], [edges.astype(target)], {"dtype": SHORT[target]})
    x = real(3, 4, low=-9, high=9).T
    case("cast", "transposed", [x], [x.astype(I32)], {"dtype": "i32"})
    case("cast", "i64 beyond 2^53", [np.array([2**53 + 1, -2**62 - 1])], [np.array([2**53 + 1, -2**62 - 1])],
         {"dtype": "i64"})
    random_case("cast", "large", [R(37, 211)], [O(37, 211, dtype="i64")], {"dtype": "i64"})
    random_case("cast", "large, from i1", [R(37, 211, dtype="i1", low=0, high=2)], [O(37, 211)], {"dtype": "f32"})
    random_case("cast", "large, from i64", [R(37, 211, dtype="i64", low=-99, high=99)], [O(37, 211)], {"dtype": "f32"})


# ---- Reductions ----------------------------------------------------------------------------------


def reductions():
    names = {
        "reduce_sum": "ReduceSum", "reduce_mean": "ReduceMean", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin",
        "reduce_prod": "ReduceProd"
    }
    for name, onnx_op in names.items():
        tolerance(name, *(EXACT if name in ("reduce_max", "reduce_min") else SUMS))

        def reduced(title, x, axes, keepdims):
            operands = [x, np.array(axes, I64)] if axes else [x]
            case(name, f"{title} axes {axes} keepdims {keepdims}", [x],
                 onnx_run(onnx_op, operands, {"keepdims": int(keepdims)}), {"axes": axes, "keepdims": keepdims})

        for keepdims in (False, True):
            for shape, axes in (((), []), ((7, ), [0]), ((7, ), []), ((3, 4), [0]), ((3, 4), [1]), ((2, 3, 4), []),
                                ((2, 3, 4), [0, 2]), ((2, 3, 4), [1]), ((2, 3, 4), [0, 1]), ((2, 1, 3, 2, 2), [1, 3]),
                                ((2, 1, 3, 2, 2), [0, 1, 2, 3, 4])):
                reduced(f"{shape}", real(*shape), axes, keepdims)
            reduced("transposed", real(4, 3, 2).T, [0, 2], keepdims)
            reduced("expanded", np.broadcast_to(real(3, 1), (2, 3, 4)), [1, 2], keepdims)
            if name != "reduce_mean":
                for dtype in (I64, I32):
                    reduced(SHORT[dtype], whole(3, 5, dtype=dtype), [1], keepdims)
        reduced("no rows", real(0, 3), [1], False)
        if name in ("reduce_sum", "reduce_prod"):
            case(name, "of no elements", [real(2, 0)], [np.full(2, 1 if name == "reduce_prod" else 0, F32)],
                 {"axes": [1], "keepdims": False})
        if name in ("reduce_max", "reduce_min"):
            reduced("infinities", np.array([[INF, -INF, 0], [-INF, -INF, -INF]], F32), [1], False)
        x = np.array([[1, NAN, 2, 0, 1], [NAN, -INF, 1, 2, 3], [3, 2, 1, -1, 0]], F32)
        for axis in (0, 1):
            expected = getattr(np, name.removeprefix("reduce_"))(x, axis)
            case(name, f"NaN, axis {axis}", [x], [expected], {"axes": [axis], "keepdims": False})
        low, high = (0.8, 1.2) if name == "reduce_prod" else (-2, 2)
        for shape, axes in (((37, 211), [1]), ((37, 211), [0]), ((37, 211), []), ((5, 37, 53), [0, 2]),
                            ((5, 37, 53), [0, 1]), ((1031, ), [0])):
            out = tuple(n for i, n in enumerate(shape) if axes and i not in axes)
            random_case(name, f"large {shape} axes {axes}", [R(*shape, low=low, high=high)], [O(*out)],
                        {"axes": axes, "keepdims": False})
        random_case(name, "large, transposed", [R(37, 53, low=low, high=high, layout="transposed")], [O(37)],
                    {"axes": [1], "keepdims": False})


def softmaxes():
    for name, onnx_op, function in (("softmax", "Softmax", T.softmax), ("log_softmax", "LogSoftmax", T.log_softmax)):
        grad = name + "_grad"
        tolerance(name, *SUMS)
        tolerance(grad, *SUMS)
        operands = [(f"{s} axis {axis}", real(*s), axis) for s in ((7, ), (3, 5), (2, 3, 4), (2, 1, 3, 2, 3))
                    for axis in range(len(s))]
        operands += [("transposed", real(4, 3).T, 1), ("expanded", np.broadcast_to(real(3, 1), (2, 3, 4)), 1),
                     ("large values", 300 * real(3, 5), 1), ("one class", real(3, 1), 1), ("no rows", real(0, 3), 1)]
        if name == "softmax":
            operands.append(("-infinity", np.array([[0, -INF, 1], [-INF, 2, -INF]], F32), 1))
        if name == "softmax":  # zeros where PyTorch's scaled_dot_product_attention has them; ONNX would divide 0 by 0
            x = np.array([[-INF, -INF, -INF], [0, -INF, 0]], F32)
            case(name, "a row that sees nothing", [x], [np.array([[0, 0, 0], [0.5, 0, 0.5]], F32)], {"axis": 1})
            case(name, "a row that sees nothing, first axis", [x.T],
                 [np.array([[0, 0, 0], [0.5, 0, 0.5]], F32).T], {"axis": 0})
        x = np.array([[0, NAN, 1], [1, 2, 3]], F32)
        case(name, "NaN", [x], [narrow(function(wide(x), 1))], {"axis": 1})
        for title, x, axis in operands:
            case(name, title, [x], onnx_run(onnx_op, [x], {"axis": axis}), {"axis": axis})
            if title in ("-infinity", "large values", "no rows"):
                continue
            dout = real(*x.shape)
            dx, = gradients(lambda t: function(t, axis), [x], dout)
            case(grad, title, [narrow(function(wide(x), axis)), dout], [dx], {"axis": axis})
        x, dout = real(3, 4), real(4, 3).T
        dx, = gradients(lambda t: function(t, 1), [x], dout)
        case(grad, "dout transposed", [narrow(function(wide(x), 1)), dout], [dx], {"axis": 1})
        for shape, axis in (((37, 211), 1), ((37, 211), 0), ((5, 37, 53), 1), ((3, 1031), 1)):
            random_case(name, f"large {shape} axis {axis}", [R(*shape, low=-9, high=9)], [O(*shape)], {"axis": axis})
            random_case(grad, f"large {shape} axis {axis}",
                        [R(*shape, low=0, high=0.02) if name == "softmax" else R(*shape, low=-9, high=-2),
                         R(*shape)], [O(*shape)], {"axis": axis})


# ---- Normalization -------------------------------------------------------------------------------


def layer_norm64(x, scale, bias, axis, epsilon):
    shape = x.shape[axis:]
    return T.nn.functional.layer_norm(x, shape, scale, bias, epsilon)


def rms_norm64(x, scale, axis, epsilon):
    return T.nn.functional.rms_norm(x, x.shape[axis:], scale, epsilon)


def statistics(x, axis, epsilon, centered):
    x = x.astype(F64)
    axes = tuple(range(axis, x.ndim))
    mean = x.mean(axes, keepdims=True)
    square = x.var(axes, keepdims=True) if centered else (x * x).mean(axes, keepdims=True)
    return mean.astype(F32), (1 / np.sqrt(square + epsilon)).astype(F32)


def norms():
    for name in ("layer_norm", "rms_norm", "layer_norm_grad_x", "rms_norm_grad_x", "layer_norm_grad_scale",
                 "rms_norm_grad_scale"):
        tolerance(name, *SUMS)
    operands = [(f"{s} axis {axis}", real(*s), real(*s[axis:]), real(*s[axis:]), axis)
                for s, axis in (((7, ), 0), ((3, 5), 1), ((3, 5), 0), ((2, 3, 4), 2), ((2, 3, 4), 1), ((2, 1, 3, 2, 3),
                                                                                                       3))]
    operands += [("transposed", real(4, 3).T, real(4), real(4), 1),
                 ("scale spaced", real(3, 4), real(8)[::2], real(8)[::2], 1),
                 ("scale expanded", real(3, 4), np.broadcast_to(real(1), (4, )), real(4), 1),
                 ("far from zero", real(3, 8) + 50, real(8), real(8), 1)]
    for title, x, scale, bias, axis in operands:
        dout = real(*x.shape[::-1]).T if title == "transposed" else real(*x.shape)
        for epsilon in (1e-5, 0.1):
            attrs = {"axis": axis, "epsilon": epsilon}
            text = f"{title} epsilon {epsilon}"
            for b in (bias, None):
                case("layer_norm", text + (" no bias" if b is None else ""), [x, scale, b],
                     onnx_run("LayerNormalization", [x, scale] + ([] if b is None else [b]), attrs, 3), attrs)
            mean, rstd = statistics(x, axis, epsilon, True)
            dx, dscale, _ = gradients(lambda a, b, c: layer_norm64(a, b, c, axis, epsilon), [x, scale, bias], dout)
            before = real(*scale.shape)
            case("layer_norm_grad_x", text, [x, scale, mean, rstd, dout], [dx], {"axis": axis})
            case("layer_norm_grad_scale", text, [x, mean, rstd, dout], [dscale], {"axis": axis})
            case("layer_norm_grad_scale",
                 text + " accumulate", [x, mean, rstd, dout], [before + dscale], {"axis": axis},
                 accumulate=before)
            _, rstd = statistics(x, axis, epsilon, False)
            case("rms_norm", text, [x, scale], onnx_run("RMSNormalization", [x, scale], attrs) + [rstd], attrs)
            dx, dscale = gradients(lambda a, b: rms_norm64(a, b, axis, epsilon), [x, scale], dout)
            case("rms_norm_grad_x", text, [x, scale, rstd, dout], [dx], {"axis": axis})
            case("rms_norm_grad_scale", text, [x, rstd, dout], [dscale], {"axis": axis})
            case("rms_norm_grad_scale",
                 text + " accumulate", [x, rstd, dout], [before + dscale], {"axis": axis},
                 accumulate=before)
    for shape, axis in (((37, 211), 1), ((3, 29, 768), 2), ((5, 7, 9, 11), 2), ((130, 5), 1)):
        attrs, inner, stats = {"axis": axis, "epsilon": 1e-5}, shape[axis:], shape[:axis] + (1, ) * (len(shape) - axis)
        text = f"large {shape} axis {axis}"
        random_case("layer_norm", text, [R(*shape), R(*inner), R(*inner)], [O(*shape), O(*stats), O(*stats)], attrs)
        random_case("layer_norm", text + " no bias", [R(*shape), R(*inner), None],
                    [O(*shape), O(*stats), O(*stats)], attrs)
        random_case("rms_norm", text, [R(*shape), R(*inner)], [O(*shape), O(*stats)], attrs)
        mean, rstd = R(*stats, low=-0.5, high=0.5), R(*stats, low=0.5, high=2)
        random_case("layer_norm_grad_x", text,
                    [R(*shape), R(*inner), mean, rstd, R(*shape)], [O(*shape)], {"axis": axis})
        random_case("rms_norm_grad_x", text, [R(*shape), R(*inner), rstd, R(*shape)], [O(*shape)], {"axis": axis})
        for accumulate in (False, True):
            random_case("layer_norm_grad_scale", f"{text} {accumulate}",
                        [R(*shape), mean, rstd, R(*shape)], [O(*inner)], {"axis": axis}, accumulate)
            random_case("rms_norm_grad_scale", f"{text} {accumulate}", [R(*shape), rstd, R(*shape)], [O(*inner)],
                        {"axis": axis}, accumulate)


# ---- Products ------------------------------------------------------------------------------------


def stored(x, transposed):
    """The operand as it is stored: its last two dimensions swapped where the product reads it transposed."""
    return np.ascontiguousarray(np.swapaxes(x, -1, -2)) if transposed else x


def matmuls():
    tolerance("matmul", *SUMS)
    shapes = [((2, 3), (3, 4)), ((1, 1), (1, 1)), ((5, 7), (7, 1)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)),
              ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (1, 3, 4, 2)), ((2, 1, 1, 2, 3), (3, 1, 3, 2)), ((3, 0), (0, 2)),
              ((0, 3), (3, 2))]
    for transpose_lhs in (False, True):
        for transpose_rhs in (False, True):
            attrs = {"transpose_lhs": transpose_lhs, "transpose_rhs": transpose_rhs}
            for a, b in shapes:
                x, y = real(*a), real(*b)
                expected = onnx_run("MatMul", [x, y])[0] if a[-1] else np.zeros((a[-2], b[-1]), F32)
                text = f"{a} {b} {transpose_lhs} {transpose_rhs}"
                operands = [stored(x, transpose_lhs), stored(y, transpose_rhs)]
                case("matmul", text, operands, [expected], attrs)
                before = real(*expected.shape)
                case("matmul", text + " accumulate", operands, [before + expected], attrs, accumulate=before)
            for k, (m, n) in ((97, (33, 65)), (513, (29, 7)), (1, (31, 64)), (768, (1, 51))):
                lhs, rhs = ((k, m) if transpose_lhs else (m, k)), ((n, k) if transpose_rhs else (k, n))
                for accumulate in (False, True):
                    random_case("matmul", f"large {m}x{n}x{k} {transpose_lhs} {transpose_rhs} {accumulate}",
                                [R(*lhs), R(*rhs)], [O(m, n)], attrs, accumulate)
            lhs, rhs = ((2, 3, 37, 17) if transpose_lhs else (2, 3, 17, 37)), ((1, 3, 19, 37) if transpose_rhs else
                                                                               (1, 3, 37, 19))
            random_case("matmul", f"large batches {transpose_lhs} {transpose_rhs}", [R(*lhs), R(*rhs)],
                        [O(2, 3, 17, 19)], attrs)
            lhs, rhs = ((4, 37, 17) if transpose_lhs else (4, 17, 37)), ((19, 37) if transpose_rhs else (37, 19))
            random_case("matmul", f"large, rhs shared {transpose_lhs} {transpose_rhs}", [R(*lhs), R(*rhs)],
                        [O(4, 17, 19)], attrs)
    x, y = real(4, 6, 3).transpose(1, 2, 0), real(5, 4).T
    case("matmul", "strided", [x, y], onnx_run("MatMul", [x, y]))
    x, y = real(3, 8)[:, ::2], real(8, 5)[::2]
    case("matmul", "spaced", [x, y], onnx_run("MatMul", [x, y]))
    x, y = np.broadcast_to(real(3, 1), (3, 4)), np.broadcast_to(real(4, 2), (2, 4, 2))
    case("matmul", "expanded", [x, y], onnx_run("MatMul", [x, y]))
    x, y = real(2, 5, 3, 4).transpose(0, 2, 1, 3), real(2, 5, 3, 4).transpose(0, 2, 3, 1)
    case("matmul", "heads of token-major operands", [x, y], onnx_run("MatMul", [x, y]))
    random_case("matmul", "large, transposed by strides",
                [R(33, 97, layout="transposed"), R(97, 65, layout="transposed")], [O(33, 65)])
    random_case("matmul", "large, spaced", [R(33, 97, layout="spaced"), R(97, 65, layout="spaced")], [O(33, 65)])


# ---- Data movement -------------------------------------------------------------------------------


def biases():
    """matmul with its third operand, in f32, bf16, and bf16 that sums to f32."""
    def sums(x, y, row, before=0.0):
        return [(before + x.astype(F64) @ y.astype(F64) + row).astype(F32)]

    for a, b in (((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3, 4), (2, 4, 5)), ((2, 0), (0, 3))):
        x, y, row = real(*a), real(*b), real(b[-1])
        case("matmul", f"bias {a} {b}", [x, y, row], sums(x, y, row))
    x, y, row, before = real(7, 3), real(3, 5), real(5), real(7, 5)
    case("matmul", "bias accumulate", [x, y, row], sums(x, y, row, before), accumulate=before)
    for m, n, k, dtype, result in ((33, 65, 97, "f32", "f32"), (300, 800, 40, "f32", "f32"),
                                   (33, 65, 97, "bf16", "bf16"), (200, 400, 600, "bf16", "bf16"),
                                   (33, 65, 97, "bf16", "f32")):
        attrs = {"transpose_rhs": m == 33} | ({"dtype": "f32"} if dtype != result else {})
        rhs = (n, k) if m == 33 else (k, n)
        random_case("matmul", f"bias {m}x{n}x{k} {dtype} {result}",
                    [R(m, k, dtype=dtype), R(*rhs, dtype=dtype), R(n, dtype=result)], [O(m, n, dtype=result)], attrs)


def movement():
    for name in ("contiguous", "concat", "slice_grad", "gather", "gather_elements", "iota", "triangle"):
        tolerance(name, *EXACT)
    tolerance("accumulate_add", *ELEMENTWISE)
    for dtype in STORED:
        x = real(3, 4, 2).astype(dtype)
        for title, view in (("plain", x), ("transposed", x.T), ("permuted", x.transpose(1, 0,
                                                                                        2)), ("spaced", x[:, ::2]),
                            ("expanded", np.broadcast_to(x[:, :1], (3, 5, 2))), ("rank 0", x[2, 1, 1:].reshape(()))):
            case("contiguous", f"{SHORT[dtype]} {title}", [view], [view])
    case("contiguous", "no elements", [real(0, 3)], [real(0, 3)])
    x = real(2, 1, 3, 2, 2).transpose(4, 2, 0, 3, 1)
    case("contiguous", "rank 5", [x], [x])
    for shape in ((37, 211), (5, 37, 53)):
        for layout in ("plain", "transposed", "spaced"):
            random_case("contiguous", f"large {shape} {layout}", [R(*shape, layout=layout)], [O(*shape)])
    random_case("contiguous", "large i64", [R(37, 53, dtype="i64", low=-99, high=99, layout="transposed")],
                [O(37, 53, dtype="i64")])

    for name in ("all_reduce", "coordinate", "reduce_scatter", "gather_parts", "own_part"):
        tolerance(name, *EXACT)
    for dtype in (F32, F64, BF16):
        x = (np.arange(15).reshape(3, 5) * 0.375 - 2).astype(dtype)
        for title, view in (("plain", x), ("transposed", x.T), ("rank 0", x[2, 4:].reshape(()))):
            case("all_reduce", f"{SHORT[dtype]} {title}", [view], [view], {"members": 2, "reduction": "sum"})
    case("all_reduce", "greatest", [x], [x], {"members": 3, "reduction": "max"})
    for dtype in (F32, F64, BF16):
        parts = (np.arange(30).reshape(3, 2, 5) * 0.375 - 2).astype(dtype)
        for title, x in (("plain", parts), ("transposed", np.ascontiguousarray(parts.transpose(0, 2, 1)).transpose(
                0, 2, 1)), ("rank 1", parts[:, 1, 4]), ("one of two", parts[:2])):
            members = {"members": x.shape[0]}
            others = np.zeros_like(x)
            others[0] = x[0]
            case("reduce_scatter", f"{SHORT[dtype]} {title}", [x], [x[0]], members)
            case("gather_parts", f"{SHORT[dtype]} {title}", [x[0]], [others], {**members, "shared": title == "plain"})
            for place in (0, x.shape[0] - 1):
                case("own_part", f"{SHORT[dtype]} {title} {place}", [x], [x[place]], {**members, "place": place})
    for place in (0, 3):
        case("coordinate", f"{place}", [], [np.array([place], I64)], {"place": place})

    for title, x in (("plain", real(3, 5)), ("transposed", real(5, 3).T), ("rank 0", real())):
        before = real(*x.shape)
        case("accumulate_add", title + " store", [x], [x])
        case("accumulate_add", title, [x], [(before + x).reshape(x.shape)], accumulate=before)
    random_case("accumulate_add", "large", [R(37, 211)], [O(37, 211)], accumulate=True)
    random_case("accumulate_add", "large, transposed", [R(37, 211, layout="transposed")], [O(37, 211)], accumulate=True)

    for axis in (0, 1, 2):
        parts = [real(*[n if i == axis else 3 for i in range(3)]) for n in (2, 1, 4)]
        case("concat", f"axis {axis}", parts, onnx_run("Concat", parts, {"axis": axis}), {"axis": axis})
    for dtype in (I64, I32, BOOL):
        parts = [whole(2, 3, low=0, high=2, dtype=dtype), whole(2, 2, low=0, high=2, dtype=dtype)]
        case("concat", SHORT[dtype], parts, [np.concatenate(parts, 1)], {"axis": 1})
    parts = [real(3, 2).T, np.broadcast_to(real(2, 1), (2, 2)), real(2, 8)[:, ::2]]
    case("concat", "strided", parts, onnx_run("Concat", parts, {"axis": 1}), {"axis": 1})
    case("concat", "one operand", [parts[0]], onnx_run("Concat", [parts[0]], {"axis": 0}), {"axis": 0})
    parts = [real(0, 3), real(2, 3)]
    case("concat", "an empty operand", parts, onnx_run("Concat", parts, {"axis": 0}), {"axis": 0})
    random_case("concat", "large", [R(37, 21), R(37, 53, layout="transposed"), R(37, 1)], [O(37, 75)], {"axis": 1})
    random_case("concat", "large axis 0", [R(3, 37, 5), R(1, 37, 5)], [O(4, 37, 5)], {"axis": 0})

    for shape, starts, sizes, steps in (((7, ), [1], [3], [2]), ((4, 5), [0, 1], [4, 2], [1, 3]),
                                        ((3, 4, 5), [1, 0, 2], [2, 2,
                                                                3], [1, 2,
                                                                     1]), ((3, ), [3], [0], [1]), ((), [], [], [])):

        def taken(x):
            return x[tuple(slice(b, b + (n - 1) * s + 1 if n else b, s) for b, n, s in zip(starts, sizes, steps))]

        x, dout = real(*shape), real(*sizes)
        dx, = gradients(lambda t: taken(t) * 1.0, [x], dout)
        case("slice_grad", f"{shape} {starts} {sizes} {steps}", [dout], [dx],
             {"starts": starts, "steps": steps, "shape": list(shape)})
    dout = real(2, 3).T
    dx = np.zeros((5, 4), F32)
    dx[1:4, 0:3:2] = dout
    case("slice_grad", "transposed", [dout], [dx], {"starts": [1, 0], "steps": [1, 2], "shape": [5, 4]})
    case("slice_grad", "outside", [dout], [dx], {"starts": [3, 0], "steps": [1, 2], "shape": [5, 4]}, error="shape")
    random_case("slice_grad", "large", [R(30, 101)], [O(37, 211)],
                {"starts": [3, 7], "steps": [1, 2], "shape": [37, 211]})

    for dtype in (F32, I64, I32):
        attrs = {"shape": [3, 4], "axis": 1, "start": 2.0, "step": -3.0, "dtype": SHORT[dtype]}
        case("iota", SHORT[dtype], [], [np.broadcast_to(2 - 3 * np.arange(4), (3, 4)).astype(dtype)], attrs)
    case("iota", "axis 0 of 3", [],
         [np.broadcast_to((0.5 + 0.25 * np.arange(2)).reshape(2, 1, 1), (2, 3, 2)).astype(F32)],
         {"shape": [2, 3, 2], "axis": 0, "start": 0.5, "step": 0.25, "dtype": "f32"})
    random_case("iota", "large", [], [O(37, 211)],
                {"shape": [37, 211], "axis": 1, "start": 0.0, "step": 0.1, "dtype": "f32"})
    for dtype, lower, upper in ((F32, 0.0, -INF), (F32, 1.0, 0.0), (I64, 7.0, -2.0), (BOOL, 1.0, 0.0)):
        for shape in ((4, 4), (2, 3, 5)):
            for diagonal in (-1, 0, 2):
                expected = np.where(np.tri(*shape[-2:], diagonal, dtype=BOOL), lower, upper)
                case(
                    "triangle", f"{SHORT[dtype]} {shape} {diagonal} {upper}", [],
                    [np.broadcast_to(expected, shape).astype(dtype)], {
                        "shape": list(shape), "diagonal": diagonal, "lower": lower, "upper":
                        -1e300 if upper == -INF else upper, "dtype": SHORT[dtype]
                    })
    random_case("triangle", "large", [], [O(37, 211)],
                {"shape": [37, 211], "diagonal": 3, "lower": 0.0, "upper": -1e9, "dtype": "f32"})


def gathers():
    tolerance("gather_grad", *ELEMENTWISE)
    tolerance("gather_elements_grad", *ELEMENTWISE)
    for axis in (0, 1, 2):
        data = real(3, 4, 5)
        for indices in (whole(2, 3, low=-data.shape[axis], high=data.shape[axis]), whole(low=0, high=3),
                        whole(6, low=-data.shape[axis], high=data.shape[axis], dtype=I32)):
            text = f"axis {axis} indices {indices.shape} {SHORT[indices.dtype]}"
            expected = onnx_run("Gather", [data, indices], {"axis": axis})
            case("gather", text, [data, indices], expected, {"axis": axis})
            dout = real(*expected[0].shape)
            flat = torch.from_numpy(np.mod(indices, data.shape[axis]).astype(I64).reshape(-1))
            ddata, = gradients(lambda t: t.index_select(axis, flat), [data],
                               dout.reshape(data.shape[:axis] + (-1, ) + data.shape[axis + 1:]))
            attrs, before = {"axis": axis, "shape": [3, 4, 5]}, real(3, 4, 5)
            case("gather_grad", text, [indices, dout], [ddata], attrs)
            case("gather_grad", text + " accumulate", [indices, dout], [before + ddata], attrs, accumulate=before)
        indices = whole(*[2 if i == axis else n for i, n in enumerate(data.shape)],
                        low=-data.shape[axis],
                        high=data.shape[axis])
        for dtype in (I64, I32):
            expected = onnx_run("GatherElements", [data, indices.astype(dtype)], {"axis": axis})
            text = f"axis {axis} {SHORT[dtype]}"
            case("gather_elements", text, [data, indices.astype(dtype)], expected, {"axis": axis})
            dout = real(*expected[0].shape)
            places = torch.from_numpy(np.mod(indices, data.shape[axis]))
            ddata, = gradients(lambda t: t.gather(axis, places), [data], dout)
            attrs, before = {"axis": axis, "shape": [3, 4, 5]}, real(3, 4, 5)
            case("gather_elements_grad", text, [indices.astype(dtype), dout], [ddata], attrs)
            case("gather_elements_grad",
                 text + " accumulate", [indices.astype(dtype), dout], [before + ddata],
                 attrs,
                 accumulate=before)
    for dtype in (I64, I32, BOOL):
        data, indices = whole(4, 3, low=0, high=2, dtype=dtype), whole(5, low=-4, high=4)
        case("gather", f"data {SHORT[dtype]}", [data, indices], [data[indices]], {"axis": 0})
        places = whole(2, 3, low=-4, high=4)
        case("gather_elements", f"data {SHORT[dtype]}", [data, places], [np.take_along_axis(data, places, 0)],
             {"axis": 0})
    data, indices = real(5, 4).T, whole(3, 2, low=0, high=4).T
    case("gather", "strided", [data, indices], onnx_run("Gather", [data, indices], {"axis": 0}), {"axis": 0})
    dout = real(5, 3, 2).T
    ddata = np.zeros((4, 5), F64)
    np.add.at(ddata, indices, dout.astype(F64))
    case("gather_grad", "strided", [indices, dout], [ddata.astype(F32)], {"axis": 0, "shape": [4, 5]})
    data, indices = real(5, 4).T, whole(5, 2, low=0, high=4).T
    case("gather_elements", "strided", [data, indices], onnx_run("GatherElements", [data, indices], {"axis": 0}),
         {"axis": 0})
    for value in (4, -5):
        bad = np.array([0, value])
        case("gather", f"index {value} of 4", [real(4, 3), bad], [real(2, 3)], {"axis": 0}, error=True)
        case("gather_grad",
             f"index {value} of 4", [bad, real(2, 3)], [real(4, 3)], {"axis": 0, "shape": [4, 3]},
             error=True)
        places = np.array([[0, value, 1]])
        case("gather_elements", f"index {value} of 4", [real(4, 3), places], [real(1, 3)], {"axis": 0}, error=True)
        case("gather_elements_grad",
             f"index {value} of 4", [places, real(1, 3)], [real(4, 3)], {"axis": 0, "shape": [4, 3]},
             error=True)
    for data, indices, axis in (((211, 37), (3, 19), 0), ((5, 53, 7), (29, ), 1), ((9, 131), (31, ), 1)):
        out = data[:axis] + indices + data[axis + 1:]
        index = R(*indices, dtype="i64", low=-data[axis], high=data[axis])
        random_case("gather", f"large {data} {indices} {axis}", [R(*data), index], [O(*out)], {"axis": axis})
        for accumulate in (False, True):
            random_case("gather_grad", f"large {data} {indices} {axis} {accumulate}", [index, R(*out)], [O(*data)],
                        {"axis": axis, "shape": list(data)}, accumulate)
    index = R(37, 19, dtype="i64", low=0, high=211)
    random_case("gather_elements", "large", [R(37, 211), index], [O(37, 19)], {"axis": 1})
    random_case("gather_elements_grad", "large", [index, R(37, 19)], [O(37, 211)], {"axis": 1, "shape": [37, 211]},
                True)


def scatters():
    tolerance("scatter", *ELEMENTWISE)
    tolerance("ravel_index", *EXACT)
    for shape in ((3, 4), (2, 3, 4), (5, )):
        for dtype in (I64, I32):
            indices = np.stack([whole(6, 2, low=-n, high=n, dtype=dtype) for n in shape], -1)
            numbers = np.ravel_multi_index([np.mod(indices[..., k], n) for k, n in enumerate(shape)], shape)
            case("ravel_index", f"{shape} {SHORT[dtype]}", [indices], [np.array(numbers, I64)], {"shape": list(shape)})
    indices = whole(3, 2, low=0, high=3).T
    case("ravel_index", "strided", [indices],
         [np.ravel_multi_index((indices[:, 0], indices[:, 1], indices[:, 2]), (3, 4, 5))], {"shape": [3, 4, 5]})
    for tuples in ([[0, 4]], [[-4, 0]], [[3, 0]], [[0, -5]]):
        case("ravel_index", f"index {tuples[0]} of 3x4", [np.array(tuples)], [whole(1)], {"shape": [3, 4]}, error=True)
    for size, indices in (((7, 5), (4, )), ((7, ), (2, 3)), ((4, 2, 3), (2, 2)), ((6, 200), (3, ))):
        data, updates = real(*size), real(*indices, *size[1:])
        places = whole(*indices, low=-size[0], high=size[0])
        count = int(np.prod(indices))
        unique = random.permutation(size[0])[:count].reshape(indices) if size[0] >= count else None
        if unique is not None:
            expected = onnx_run("ScatterND", [data, unique[..., None], updates])
            case("scatter", f"none {size} {indices}", [data, unique.astype(I32), updates],
                 expected, {"reduction": "none"})
        out = data.copy()  # of equal indices the last one stays
        for at in np.ndindex(*indices):
            out[places[at]] = updates[at]
        case("scatter", f"none, equal indices {size} {indices}", [data, places, updates], [out], {"reduction": "none"})
        expected = onnx_run("ScatterND", [data, np.mod(places, size[0])[..., None], updates], {"reduction": "add"})
        case("scatter", f"add {size} {indices}", [data, places, updates], expected, {"reduction": "add"})
    for dtype in (I64, I32, BOOL, F16, BF16):
        data, updates = (whole(n, 3, low=0, high=2).astype(dtype) for n in (5, 2))
        places = np.array([4, 1])
        out = data.copy()
        out[places] = updates
        case("scatter", f"none {SHORT[dtype]}", [data, places, updates], [out], {"reduction": "none"})
        if dtype != BOOL:
            out = data.copy()
            out[places] += updates
            case("scatter", f"add {SHORT[dtype]}", [data, places, updates], [out], {"reduction": "add"})
    data, updates, places = real(3, 5).T, real(3, 2).T, whole(2, 2, low=0, high=5)[:, 0]
    out = data.copy()
    for at in range(2):
        out[places[at]] = updates[at]
    case("scatter", "strided", [data, places, updates], [out], {"reduction": "none"})
    for value in (4, -5):
        case("scatter", f"index {value} of 4", [real(4, 3), np.array([0, value]), real(2, 3)],
             [real(4, 3)], {"reduction": "none"}, error=True)
    for data, indices in (((211, 37), (3, 19)), ((53, 300), (29, )), ((911, ), (700, ))):
        index = R(*indices, dtype="i64", low=-data[0], high=data[0])
        for reduction in ("none", "add"):
            random_case("scatter", f"large {data} {indices} {reduction}",
                        [R(*data), index, R(*indices, *data[1:])], [O(*data)], {"reduction": reduction})


def cumsums():
    tolerance("cumsum", *SUMS)
    for shape in ((7, ), (3, 5), (2, 3, 4)):
        for axis in range(len(shape)):
            for exclusive in (0, 1):
                for reverse in (0, 1):
                    attrs = {"exclusive": bool(exclusive), "reverse": bool(reverse), "axis": axis}
                    for x in (real(*shape), whole(*shape), whole(*shape, dtype=I32)):
                        expected = onnx_run("CumSum", [x, np.array(axis, I64)],
                                            {"exclusive": exclusive, "reverse": reverse})
                        case("cumsum", f"{SHORT[x.dtype]} {shape} {attrs}", [x], expected, attrs)
    x = real(5, 3).T
    case("cumsum", "transposed", [x], [np.cumsum(x, 1, F64).astype(F32)], {"axis": 1})
    x = np.broadcast_to(real(3, 1), (3, 4))
    case("cumsum", "expanded", [x], [np.cumsum(x, 1, F64).astype(F32)], {"axis": 1})
    case("cumsum", "empty", [real(3, 0)], [real(3, 0)], {"axis": 1})
    for dtype in (F16, BF16):
        x = whole(3, 6, low=0, high=4).astype(dtype)
        case("cumsum", f"{SHORT[dtype]}", [x], [np.cumsum(x.astype(F32), 1).astype(dtype)], {"axis": 1})
    for reverse in (False, True):
        random_case("cumsum", f"large {reverse}", [R(37, 211)], [O(37, 211)], {"axis": 1, "reverse": reverse})


def top_ks():
    tolerance("top_k", *EXACT)
    for shape in ((7, ), (3, 5), (2, 3, 4)):
        for axis in range(len(shape)):
            for largest in (False, True):
                for x in (real(*shape), whole(*shape, low=-3, high=3), whole(*shape, low=-3, high=3, dtype=I32)):
                    for k in (1, shape[axis] // 2 + 1, shape[axis]):
                        places = np.argsort(-x if largest else x, axis, kind="stable").astype(I64)
                        case("top_k", f"{SHORT[x.dtype]} {shape} {axis} {k} {largest}", [x],
                             [places.take(range(k), axis)], {"axis": axis, "k": k, "largest": largest})
    x = np.array([[1, np.nan, -np.inf, np.inf, np.nan, 1]], F32)
    case("top_k", "nan", [x], [np.array([[1, 4, 3, 0, 5, 2]], I64)], {"axis": 1, "k": 6})
    case("top_k", "nan smallest", [x], [np.array([[2, 0, 5, 3, 1]], I64)], {"axis": 1, "k": 5, "largest": False})
    x = real(5, 3).T
    case("top_k", "transposed", [x], [np.argsort(-x, 1, kind="stable").astype(I64)[:, :2]], {"axis": 1, "k": 2})
    x = np.broadcast_to(real(3, 1), (3, 4))
    case("top_k", "expanded", [x], [np.broadcast_to(np.arange(3), (3, 3))], {"axis": 1, "k": 3})
    for dtype in (F16, BF16):
        x = whole(3, 6, low=0, high=4).astype(dtype)
        places = np.argsort(-x.astype(F32), 1, kind="stable").astype(I64)
        case("top_k", f"{SHORT[dtype]}", [x], [places[:, :4]], {"axis": 1, "k": 4})
    random_case("top_k", "large", [R(37, 211)], [O(37, 8, dtype="i64")], {"axis": 1, "k": 8})


# ---- Losses --------------------------------------------------------------------------------------


def gathers_from_the_start():
    """Without draws, so that the cases behind stay as they are."""
    data, attrs = np.arange(12, dtype=F32).reshape(4, 3), {"axis": 0, "from_end": False}
    for dtype in (I64, I32):
        for op, good, bad in (("gather", [0, 3, 2], [0, 4]), ("gather", [1], [-1]), ("gather", [1], [2, -4]),
                              ("gather_elements", [[0, 3, 2]], [[0, 1, -1]]), ("gather_elements", [[2]], [[4]])):
            good, bad = np.array(good, dtype), np.array(bad, dtype)
            read = torch.from_numpy(data)
            places = torch.from_numpy(good).long()
            expected = read.index_select(0, places) if op == "gather" else read.gather(0, places)
            case(op, f"from the start {good.tolist()} {SHORT[dtype]}", [data, good], [expected.numpy()], attrs)
            case(op, f"from the start {bad.tolist()} {SHORT[dtype]}", [data, bad],
                 [np.zeros(bad.shape + ((3, ) if op == "gather" else ()), F32)], attrs, error=True)


def losses():
    for name in ("cross_entropy", "cross_entropy_grad", "nll_loss", "nll_loss_grad"):
        tolerance(name, *SUMS)
    for reduction in ("mean", "sum", "none"):
        for shape, classes in (((), 5), ((7, ), 5), ((2, 3), 4), ((2, 3, 2), 3), ((3, ), 1)):
            for dtype in (I64, I32) if shape == (2, 3) else (I64, ):
                labels = whole(*shape, low=0, high=classes, dtype=dtype)
                one_loss(f"{shape} {classes} {SHORT[dtype]}", real(*shape, classes), labels, reduction, None)
        labels = whole(7, low=0, high=5)
        for ignore in (-100, 2, -1):
            some = labels.copy()
            some[[1, 4]] = ignore
            one_loss(f"ignore_index {ignore}", real(7, 5), some, reduction, ignore)
        if reduction != "mean":
            one_loss("all ignored", real(3, 5), np.full(3, -100), reduction, -100)
        one_loss("transposed", real(5, 7).T, labels, reduction, None)
        one_loss("labels expanded", real(7, 5), np.broadcast_to(labels[:1], (7, )), reduction, None)
        one_loss("large values", 5 * real(4, 5), whole(4, low=0, high=5), reduction, None)
        for rows, classes in (((3, 29), 211), ((17, ), 1031), ((64, ), 7)):
            large_loss(rows, classes, reduction)
    logits, labels = real(3, 5), whole(3, low=0, high=5)
    logits[1, 2] = NAN
    for reduction in ("mean", "sum", "none"):
        one_loss("NaN", logits, labels, reduction, None)
    for bad, ignore in ((5, None), (-1, None), (-1, -100), (7, 7000)):
        attrs = {"reduction": "mean"} | ({} if ignore is None else {"ignore_index": ignore})
        labels, text = np.array([0, bad, 2]), f"label {bad} of 5, ignore_index {ignore}"
        case("cross_entropy", text, [real(3, 5), labels], [real(), real(3)], attrs, error=True)
        case("cross_entropy_grad", text, [real(3, 5), labels, real(3), real()], [real(3, 5)], attrs, error=True)
        case("nll_loss", text, [real(3, 5), labels], [real()], attrs, error=True)
        case("nll_loss_grad", text, [labels, real()], [real(3, 5)], attrs | {"shape": [3, 5]}, error=True)


def one_loss(title, logits, labels, reduction, ignore):
    classes = logits.shape[-1]
    text = f"{title} {reduction}"
    attrs = {"reduction": reduction} | ({} if ignore is None else {"ignore_index": ignore})
    rows = torch.from_numpy(labels.reshape(-1).astype(I64))
    shape = labels.shape if reduction == "none" else ()

    def loss(function):
        ignored = {} if ignore is None else {"ignore_index": ignore}
        return lambda scores: function(scores.reshape(-1, classes), rows, reduction=reduction, **ignored).reshape(shape)

    entropy, likelihood = loss(T.nn.functional.cross_entropy), loss(T.nn.functional.nll_loss)
    if labels.ndim == 1 and labels.dtype == I64:
        expected, = onnx_run("SoftmaxCrossEntropyLoss", [logits, labels], attrs)
    else:
        expected = narrow(entropy(wide(logits)))
    lse = narrow(T.logsumexp(wide(logits), -1))
    case("cross_entropy", text, [logits, labels], [expected, lse], attrs)
    dloss = real(*shape)
    dlogits, = gradients(entropy, [logits], dloss)
    case("cross_entropy_grad", text, [logits, labels, lse, dloss], [dlogits], attrs)
    if reduction == "none" and labels.ndim == 1:
        spread = np.broadcast_to(real(1), labels.shape)
        case("cross_entropy_grad", text + " dloss expanded", [logits, labels, lse, spread],
             gradients(entropy, [logits], spread), attrs)
    scores = narrow(T.log_softmax(wide(logits), -1))
    if "transposed" in title:
        scores = np.ascontiguousarray(scores.T).T
    case("nll_loss", text, [scores, labels], [narrow(likelihood(wide(scores)))], attrs)
    dscores, = gradients(likelihood, [scores], dloss)
    case("nll_loss_grad", text, [labels, dloss], [dscores], attrs | {"shape": list(logits.shape)})


def large_loss(rows, classes, reduction):
    logits, labels = R(*rows, classes, low=-5, high=5), R(*rows, dtype="i64", low=0, high=classes)
    out = rows if reduction == "none" else ()
    attrs, text = {"reduction": reduction, "ignore_index": 3}, f"large {rows} {classes} {reduction}"
    random_case("cross_entropy", text, [logits, labels], [O(*out), O(*rows)], attrs)
    random_case("cross_entropy_grad", text,
                [logits, labels, result_of("cross_entropy", [0, 1], 1),
                 R(*out)], [O(*rows, classes)], attrs)
    random_case("nll_loss", text, [logits, labels], [O(*out)], attrs)
    random_case("nll_loss_grad", text, [labels, R(*out)], [O(*rows, classes)], attrs | {"shape": [*rows, classes]})


# ---- Attention -----------------------------------------------------------------------------------


def visible(tq, tk):
    return torch.arange(tk) <= torch.arange(tq)[:, None] + (tk - tq)


def attention64(q, k, v, mask, scale, causal, factor=1.0):
    """Out and the log of the sum of a row; PyTorch's own attention computes out, rows that see nothing are set to 0.
    factor: what probabilities are multiplied by."""
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    bias = torch.zeros(q.shape[0], q.shape[1], q.shape[2], k.shape[2], dtype=torch.float64)
    if mask is not None:
        bias = bias + torch.from_numpy(np.array(mask)).double()
    if causal:
        bias = bias.masked_fill(~visible(q.shape[2], k.shape[2]), -INF)
    blind = (bias == -INF).all(-1, keepdim=True)
    if isinstance(factor, float):
        out = T.nn.functional.scaled_dot_product_attention(q, k, v, bias.masked_fill(blind, 0), scale=scale)
    else:
        out = (torch.softmax(scale * q @ k.transpose(2, 3) + bias.masked_fill(blind, 0), -1) * factor) @ v
    out = out.masked_fill(blind, 0)
    lse = torch.logsumexp(scale * q @ k.transpose(2, 3) + bias, -1)
    return out.transpose(1, 2), lse


def attentions():
    tolerance("attention", *SUMS)
    tolerance("attention_grad", *DIFFERENCES)
    shapes = [(1, 1, 1, 1, 1, 2), (2, 3, 3, 2, 2, 4), (1, 5, 5, 4, 2, 3), (2, 2, 5, 4, 1, 4), (1, 5, 2, 2, 2, 3),
              (1, 1, 6, 3, 1, 5), (1, 4, 4, 1, 1, 70)]
    for batch, tq, tk, heads, kv_heads, width in shapes:
        for causal in (False, True):
            for masked in (None, (1, 1, tq, tk), (batch, 1, 1, tk), (batch, heads, tq, tk), (tq, tk)):
                if masked and (width == 70 or masked != (batch, heads, tq, tk) and (batch, causal) != (2, True)):
                    continue
                q, k, v = real(batch, tq, heads, width), real(batch, tk, kv_heads,
                                                              width), real(batch, tk, kv_heads, width)
                mask = None
                if masked:
                    mask = real(*masked)
                    mask[random.uniform(size=masked) < 0.3] = -INF
                one_attention(f"{(batch, tq, tk, heads, kv_heads, width)} mask {masked}", q, k, v, mask, 0.3, causal)
    q, k, v = real(2, 2, 3, 4).transpose(0, 2, 1, 3), real(2, 2, 3, 4).transpose(0, 2, 1, 3), real(2, 3, 2,
                                                                                                   8)[:, :, :, :4]
    one_attention("strided", q, k, v, None, 0.5, False)
    joined = real(2, 3, 3, 2, 4)
    one_attention("slices of one product", *[joined[:, :, i] for i in range(3)], None, 0.5, True)
    q, k, v = real(2, 3, 2, 4), real(2, 3, 2, 4), real(2, 3, 2, 4)
    k[1, 1, 0, 2] = NAN
    one_attention("NaN", q, k, v, None, 0.5, False)
    one_attention("mask expanded", real(2, 3, 2, 4), real(2, 3, 2, 4), real(2, 3, 2, 4),
                  np.broadcast_to(real(3, 1), (2, 2, 3, 3)), 0.5, False)
    for batch, tq, tk, heads, kv_heads, width in ((2, 37, 37, 4, 2, 16), (1, 65, 65, 2, 2, 64), (1, 19, 67, 3, 1, 24),
                                                  (1, 53, 21, 2, 1, 8), (1, 131, 131, 1, 1, 40)):
        for causal in (False, True):
            for masked in (None, (1, 1, tq, tk), (batch, heads, tq, tk)):
                q, k, v = R(batch, tq, heads, width), R(batch, tk, kv_heads, width), R(batch, tk, kv_heads, width)
                mask = None if masked is None else R(*masked, fill="mask")
                attrs, text = {"scale": width**-0.5, "causal":
                               causal}, f"large {(batch, tq, tk, heads, kv_heads, width)} {causal} {masked}"
                random_case("attention", text, [q, k, v, mask],
                            [O(batch, tq, heads, width), O(batch, heads, tq)], attrs)
                saved = [result_of("attention", [0, 1, 2, 3], i) for i in range(2)]
                random_case("attention_grad", text, [q, k, v, mask] + saved + [R(batch, tq, heads, width)],
                            [O(batch, tq, heads, width),
                             O(batch, tk, kv_heads, width),
                             O(batch, tk, kv_heads, width)], attrs)


def one_attention(title, q, k, v, mask, scale, causal):
    attrs = {"scale": scale, "causal": causal}
    out, lse = attention64(wide(q), wide(k), wide(v), mask, scale, causal)
    text = f"{title} causal {causal}"
    case("attention", text, [q, k, v, mask], [narrow(out), narrow(lse)], attrs)
    dout = real(*q.shape)
    grads = gradients(lambda a, b, c: attention64(a, b, c, mask, scale, causal)[0], [q, k, v], dout)
    case("attention_grad", text, [q, k, v, mask, narrow(out), narrow(lse), dout], grads, attrs)


# ---- Optimizers ----------------------------------------------------------------------------------


def optimizers():
    tolerance("adamw", *ELEMENTWISE)
    for op in ("adam", "lion", "sgd"):
        tolerance(op, *ELEMENTWISE)
    for shape, steps in (((), (1, )), ((7, ), (1, 2, 1000)), ((3, 5), (3, ))):
        for step in steps:
            for attrs in ({
                    "lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01, "gradient_scale": 1.0
            }, {"lr": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.3, "gradient_scale": 0.25
                }, {"lr": 1e-2, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.0, "gradient_scale": 1.0}):
                adam_case("adamw", torch.optim.AdamW, shape, step, attrs)
            for momentum, dampening, nesterov in ((0.0, 0.0, False), (0.9, 0.0, False), (0.9, 0.3, False), (0.8, 0.0,
                                                                                                            True)):
                for weight_decay, scale in ((0.0, 1.0), (0.1, 0.5)):
                    sgd_case(
                        shape, step, {
                            "lr": 0.1, "momentum": momentum, "dampening": dampening, "nesterov": nesterov,
                            "weight_decay": weight_decay, "gradient_scale": scale
                        })
    attrs = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01, "gradient_scale": 0.125}
    for shape in ((37, 211), (4099, )):
        state = [
            R(*shape),
            R(*shape),
            R(*shape, low=-0.1, high=0.1),
            R(*shape, low=0, high=0.1),
            R(dtype="i64", low=7, high=8),
            R(2, dtype="f64", low=0, high=0.1)
        ]
        random_case("adamw", f"large {shape}", state, [O(*shape)] * 3, update_attrs(attrs), alias=[0, 2, 3])
        for momentum in (0.0, 0.9):
            buffer = R(*shape) if momentum else None
            random_case("sgd",
                        f"large {shape} {momentum}",
                        [R(*shape), R(*shape), buffer, R(dtype="i64", low=7, high=8),
                         R(2, dtype="f64", low=0, high=0.1)],
                        [O(*shape)] * (2 if momentum else 1), {
                            "momentum": momentum, "dampening": 0.0, "nesterov": bool(momentum), "gradient_scale": 0.5
                        },
                        alias=[0, 2] if momentum else [0])


def settings_of(attrs):
    """What a session sets: learning rate and weight decay."""
    return np.array([attrs["lr"], attrs["weight_decay"]], F64)


def update_attrs(attrs, *others):
    return {k: v for k, v in attrs.items() if k not in ("lr", "weight_decay", *others)}


# ---- Clipping ------------------------------------------------------------------------------------


def clipping():
    """Squares in float64, summed exactly (math.fsum); the factor as clip_grad_norm_ has it, in float64."""
    for op in ("square_sum", "abs_max"):
        tolerance(op, (1e-14, 0, 0), (1e-14, 0, 0))
    tolerance("clip_scale", (1e-7, 0, 0), (1e-7, 0, 0))
    for shape in ((), (1, ), (15, ), (16, ), (17, ), (3, 5), (0, ), (2, 0), (4097, )):
        part_case(f"{shape}", np.asarray(real(*shape), F32), 0.125 if len(shape) == 2 else 1.0)
    part_case("transposed", real(7, 60).T, 0.25)
    part_case("spaced", real(3, 40)[:, ::2], 0.25)
    for op in ("square_sum", "abs_max"):
        for shape in ((4096, ), (3, 4099), (37, 2111)):
            random_case(op, f"large {shape}", [R(*shape)], [O(dtype="f64")], {"scale": 0.125})
    for text, value in (("nan", np.nan), ("infinity", -np.inf), ("largest", 3e38)):
        x = real(5, 100)
        x[3, 7] = value
        part_case(text, x, 1.0)
    for kind in ("2", "inf"):
        for count, largest in ((1, 1.0), (3, 1e-3), (100, 4.0), (5, 0.0), (4, np.inf), (4, np.nan), (4, 1e80)):
            parts = np.abs(real(count)).astype(F64)
            parts[0] = largest
            for most in (0.5, 1e9, np.inf):
                clip_case(f"{kind} of {count}, largest {largest}, at most {most}", parts, most, kind)
    clip_case("large", np.abs(real(700)).astype(F64), 1.0, "2")
    clip_case("spaced", np.abs(real(40)).astype(F64)[::2], 1.0, "2")
    for kind in ("2", "inf"):
        for count, weight in ((3, 7.0), (1, 0.25), (0, 2.0), (4, 0.0), (2, np.nan), (2, np.inf)):
            parts = np.concatenate([np.arange(1.0, count + 1), [-3.5, weight]])
            for most in (0.05, np.inf):
                weighted_case(f"{kind} of {count}, weight {weight}, at most {most}", parts, most, kind)
    weighted_case("spaced weight", np.arange(1.0, 21.0)[::2], 1.0, "2")
    scaled_updates()


def part_case(text, x, scale):
    squares = wide(x).detach().numpy().ravel()**2
    total = scale * scale * (math.fsum(squares) if np.isfinite(squares).all() else float(np.sum(squares)))
    largest = scale * (float(np.max(np.abs(x))) if x.size else 0.0)
    case("square_sum", text, [x], [np.array(total, F64)], {"scale": scale})
    case("abs_max", text, [x], [np.array(largest, F64)], {"scale": scale})


def clip_case(text, parts, most, kind):
    norm = float(np.max(parts)) if kind == "inf" else float(np.sqrt(np.sum(parts)))
    with np.errstate(over="ignore"):
        single = F32.type(norm)
    scale = min(1.0, most / (norm + 1e-6)) if np.isfinite(single) else -1.0
    case("clip_scale", text, [parts, np.array(7), np.array([most])], [np.array([7.0, scale]), np.array(single, F32)],
         {"norm_type": kind})


def weighted_case(text, parts, most, kind):
    """Gradients of a sum become those of a mean: both norm and factor are divided by the last part."""
    norms, weight = parts[:-2], float(parts[-1])
    if weight == 0:
        norm, scale = -1.0, -1.0
    else:
        norm = (float(np.max(norms, initial=0.0)) if kind == "inf" else math.sqrt(math.fsum(norms))) / weight
        scale = min(1.0, most / (norm + 1e-6)) / weight if np.isfinite(norm) else -1.0
    case("clip_scale", text, [parts, np.array(7), np.array([most])],
         [np.array([7.0, scale]), np.array(norm, F32)], {"norm_type": kind, "weighted": True})


def scaled_updates():
    """Updates whose step comes with a factor; with one below 0 nothing changes."""
    attrs = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01, "gradient_scale": 0.25}
    sgd = {"lr": 0.1, "momentum": 0.9, "dampening": 0.0, "nesterov": True, "weight_decay": 0.1, "gradient_scale": 0.25}
    for factor in (1.0, 0.3, 0.0, -1.0):
        adam_case("adamw", torch.optim.AdamW, (3, 5), 3, attrs, factor)
        adam_case("adam", torch.optim.Adam, (3, 5), 3, attrs, factor)
        lion_case((3, 5), 3, attrs, factor)
        sgd_case((3, 5), 3, sgd, factor)
        sgd_case((7, ), 1, sgd | {"momentum": 0.0, "nesterov": False}, factor)


def step_of(step, factor):
    return np.array(step) if factor is None else np.array([step, factor], F64)


def adam_case(op, make, shape, step, attrs, factor=None):
    p, g, m, v = real(*shape), real(*shape), real(*shape) * 0.1, np.abs(real(*shape))
    if step == 1:
        m, v = np.zeros(shape, F32), np.zeros(shape, F32)
    m, v = np.asarray(m, F32), np.asarray(v, F32)
    parameter = wide(p)
    optimizer = make([parameter],
                     lr=attrs["lr"],
                     betas=(attrs["beta1"], attrs["beta2"]),
                     eps=attrs["eps"],
                     weight_decay=attrs["weight_decay"],
                     foreach=False)
    optimizer.state[parameter] = {
        "step": torch.tensor(float(step - 1)), "exp_avg": wide(m).detach(), "exp_avg_sq": wide(v).detach()
    }
    parameter.grad = wide(g).detach() * attrs["gradient_scale"] * (1.0 if factor is None else factor)
    if factor is None or factor >= 0:
        optimizer.step()
    state = optimizer.state[parameter]
    case(op,
         f"{shape} step {step} lr {attrs['lr']}" + ("" if factor is None else f" factor {factor}"),
         [p, g, m, v, step_of(step, factor), settings_of(attrs)],
         [narrow(parameter), narrow(state["exp_avg"]),
          narrow(state["exp_avg_sq"])],
         update_attrs(attrs),
         alias=[0, 2, 3])


def lion_case(shape, step, attrs, factor=None):
    """Algorithm 2 of Chen et al. 2023 in float64: PyTorch has no Lion."""
    p, g, m = np.asarray(real(*shape)), np.asarray(real(*shape)), np.asarray(real(*shape) * 0.1, F32)
    if step == 1:
        m = np.zeros(shape, F32)
    scale = attrs["gradient_scale"] * (1.0 if factor is None else factor)
    p64, g64, m64 = p.astype(F64), g.astype(F64) * scale, m.astype(F64)
    update = np.sign(attrs["beta1"] * m64 + (1 - attrs["beta1"]) * g64)
    want = p64 - attrs["lr"] * (update + attrs["weight_decay"] * p64)
    kept = attrs["beta2"] * m64 + (1 - attrs["beta2"]) * g64
    if factor is not None and factor < 0:
        want, kept = p, m
    case("lion",
         f"{shape} step {step} lr {attrs['lr']}" + ("" if factor is None else f" factor {factor}"),
         [p, g, m, step_of(step, factor), settings_of(attrs)],
         [np.asarray(want, F32), np.asarray(kept, F32)],
         update_attrs(attrs, "eps"),
         alias=[0, 2])


def more_optimizers():
    """With operands drawn after all others, whose cases stay as they are."""
    attrs = {"lr": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.3, "gradient_scale": 0.25}
    for shape, steps in (((), (1, )), ((7, ), (1, 2, 1000)), ((3, 5), (3, ))):
        for step in steps:
            for decay in (0.0, 0.3):
                adam_case("adam", torch.optim.Adam, shape, step, attrs | {"weight_decay": decay})
                lion_case(shape, step, attrs | {"weight_decay": decay, "lr": 0.01})
    for shape in ((37, 211), (4099, )):
        low = [R(*shape), R(*shape), R(*shape, low=-0.1, high=0.1)]
        rest = [R(dtype="i64", low=7, high=8), R(2, dtype="f64", low=0, high=0.1)]
        random_case("adam", f"large {shape}", low + [R(*shape, low=0, high=0.1)] + rest, [O(*shape)] * 3,
                    update_attrs(attrs), alias=[0, 2, 3])
        random_case("lion", f"large {shape}", low + rest, [O(*shape)] * 2, update_attrs(attrs, "eps"), alias=[0, 2])


def sgd_case(shape, step, attrs, factor=None):
    p, g, buffer = real(*shape), real(*shape), real(*shape)
    parameter = wide(p)
    optimizer = torch.optim.SGD([parameter],
                                lr=attrs["lr"],
                                momentum=attrs["momentum"],
                                dampening=attrs["dampening"],
                                nesterov=attrs["nesterov"],
                                weight_decay=attrs["weight_decay"],
                                foreach=False)
    if step > 1 and attrs["momentum"]:
        optimizer.state[parameter]["momentum_buffer"] = wide(buffer).detach()
    parameter.grad = wide(g).detach() * attrs["gradient_scale"] * (1.0 if factor is None else factor)
    if factor is None or factor >= 0:
        optimizer.step()
    text = " ".join(f"{k} {v}" for k, v in attrs.items() if v) + ("" if factor is None else f" factor {factor}")
    if attrs["momentum"]:
        case("sgd",
             f"{shape} step {step} {text}", [p, g, buffer, step_of(step, factor), settings_of(attrs)],
             [narrow(parameter), narrow(optimizer.state[parameter]["momentum_buffer"])],
             update_attrs(attrs),
             alias=[0, 2])
    else:
        case("sgd",
             f"{shape} step {step} {text}", [p, g, None, step_of(step, factor), settings_of(attrs)],
             [narrow(parameter)],
             update_attrs(attrs),
             alias=[0])


# ---- bf16 ----------------------------------------------------------------------------------------
#
# Operands that bf16 holds, results in float64 rounded once to bf16, or to f32 where zb/ops.def says so. The
# test allows a result in bf16 one unit in the last place more than the tolerance: a sum in another order
# may lie on the other side of a tie.


def low(*shape, **bounds):
    return real(*shape, **bounds).astype(BF16)


def up(x):
    """The same numbers as float32, for the programs that know no bf16; others as they are."""
    return None if x is None else x.astype(F32) if x.dtype == BF16 else x


def down(x):
    return np.array(x, F64).astype(BF16)


def low_case(op, name, inputs, expected, attrs=None, **rest):
    case(op, "bf16 " + name, inputs, expected, attrs, **rest)


def low_elementwise():
    for name, row in UNARY.items():
        function, (least, most), saved = row[1], row[2] or (-2, 2), row[3]
        attrs = row[4] if len(row) > 4 else {}
        dtypes = dict(dtype="bf16", low=least, high=most)
        if name not in ("is_inf", "is_nan"):
            for layout, x in (("plain", low(37, low=least, high=most)),
                              ("transposed", low(5, 4, low=least, high=most).T)):
                low_case(name, layout, [x], [down(narrow(function(wide(up(x)), **attrs), F64))], ours(attrs))
            random_case(name, "bf16 large", [R(37, 211, **dtypes)], [O(37, 211, dtype="bf16")], ours(attrs))
        if saved is None or name == "neg":
            continue
        x, dout = low(31, low=least, high=most), low(31)
        out = down(narrow(function(wide(up(x)), **attrs), F64))
        if saved == "x":
            dx, = gradients(lambda t: function(t, **attrs), [up(x)], up(dout))
            low_case(name + "_grad", "plain", [x, dout], [down(dx)], ours(attrs))
        random_case(name + "_grad", "bf16 large",
                    [R(37, 211, dtype="bf16", low=0.3, high=0.9), R(37, 211, dtype="bf16")],
                    [O(37, 211, dtype="bf16")], ours(attrs))
    for name in ("add", "sub", "mul", "div", "max", "min", "prelu"):
        for a, b in (((3, 4), (3, 4)), ((3, 4), (4, )), ((3, 1), (2, 3, 4)), ((2, 3), ())):
            x, y = low(*a), low(*b, low=0.3, high=2)
            low_case(name, f"{a} {b}", [x, y], [down(binary_expected(name, up(x), up(y), {}))])
        for shapes in (((37, 211), (37, 211)), ((37, 211), (211, )), ((37, 1), (37, 211))):
            random_case(name, f"bf16 large {shapes}",
                        [R(*shapes[0], dtype="bf16"), R(*shapes[1], dtype="bf16", low=0.3)], [O(37, 211, dtype="bf16")])
    c, x, y = truth(3, 4), low(3, 4), low(4)
    low_case("where", "broadcast", [c, x, y], [np.where(c, up(x), up(y)).astype(BF16)])
    random_case("where", "bf16 large",
                [R(37, 211, dtype="i1", low=0, high=2), R(37, 211, dtype="bf16"), R(1, dtype="bf16")],
                [O(37, 211, dtype="bf16")])
    x, before = low(37), real(37)
    low_case("accumulate_add", "into f32", [x], [before + up(x)], accumulate=before)
    random_case("accumulate_add", "bf16 large into f32", [R(37, 211, dtype="bf16")], [O(37, 211)], accumulate=True)
    random_case("cast", "bf16 large", [R(37, 211)], [O(37, 211, dtype="bf16")], {"dtype": "bf16"})
    random_case("cast", "large from bf16", [R(37, 211, dtype="bf16", layout="transposed")],
                [O(37, 211)], {"dtype": "f32"})


def low_rows():
    """Reductions, softmax, norms, losses."""
    for name, onnx_op in (("reduce_sum", "ReduceSum"), ("reduce_mean", "ReduceMean"), ("reduce_max", "ReduceMax")):
        for shape, axes in (((3, 4), [0]), ((3, 4), [1]), ((2, 3, 4), [0, 1]), ((2, 3, 4), [])):
            x = low(*shape)
            total = getattr(up(x).astype(F64), onnx_op[6:].lower())(tuple(axes) or None)
            low_case(name, f"{shape} axes {axes}", [x], [down(total)], {"axes": axes, "keepdims": False})
            if name == "reduce_sum":
                attrs = {"axes": axes, "keepdims": False, "dtype": "f32"}
                low_case(name, f"{shape} axes {axes} to f32", [x], [np.array(total, F32)], attrs)
    for shape, axes in (((37, 211), [1]), ((37, 211), [0]), ((130, 257), []), ((5, 37, 53), [0, 1])):
        out = tuple(n for i, n in enumerate(shape) if axes and i not in axes)
        random_case("reduce_sum", f"bf16 large {shape} axes {axes} to f32", [R(*shape, dtype="bf16")], [O(*out)],
                    {"axes": axes, "keepdims": False, "dtype": "f32"})
    for name, function in (("softmax", T.softmax), ("log_softmax", T.log_softmax)):
        x = low(3, 5)
        low_case(name, "rows", [x], [down(narrow(function(wide(up(x)), 1), F64))], {"axis": 1})
    for shape, axis in (((3, 5), 1), ((2, 3, 4), 2)):
        x, scale, bias = low(*shape), low(*shape[axis:]), low(*shape[axis:])
        attrs = {"axis": axis, "epsilon": 1e-5}
        mean, rstd = statistics(up(x), axis, 1e-5, True)
        out = layer_norm64(*(wide(up(a)) for a in (x, scale, bias)), axis, 1e-5)
        low_case("layer_norm", f"{shape}", [x, scale, bias], [down(narrow(out, F64)), mean, rstd], attrs)
        _, rstd = statistics(up(x), axis, 1e-5, False)
        out = rms_norm64(wide(up(x)), wide(up(scale)), axis, 1e-5)
        low_case("rms_norm", f"{shape}", [x, scale], [down(narrow(out, F64)), rstd], attrs)
    for shape, classes, reduction in (((7, ), 5, "mean"), ((2, 3), 4, "sum"), ((7, ), 5, "none")):
        logits, labels = low(*shape, classes), whole(*shape, low=0, high=classes)
        rows = torch.from_numpy(labels.reshape(-1))
        entropy = lambda s: T.nn.functional.cross_entropy(s.reshape(-1, classes), rows, reduction=reduction)
        lse = narrow(T.logsumexp(wide(up(logits)), -1))
        loss = narrow(entropy(wide(up(logits))))
        dloss = real(*loss.shape)
        low_case("cross_entropy", f"{shape} {reduction}", [logits, labels], [loss, lse], {"reduction": reduction})
        dlogits, = gradients(entropy, [up(logits)], dloss)
        low_case("cross_entropy_grad", f"{shape} {reduction}", [logits, labels, lse, dloss], [down(dlogits)],
                 {"reduction": reduction})
    for reduction in ("mean", "none"):
        for rows, classes in (((3, 29), 211), ((3, ), 5003)):
            logits = R(*rows, classes, dtype="bf16", low=-5, high=5)
            labels = R(*rows, dtype="i64", low=0, high=classes)
            out, attrs = rows if reduction == "none" else (), {"reduction": reduction, "ignore_index": 3}
            text = f"bf16 large {rows} {classes} {reduction}"
            random_case("cross_entropy", text, [logits, labels], [O(*out), O(*rows)], attrs)
            random_case("cross_entropy_grad", text, [logits, labels, result_of("cross_entropy", [0, 1], 1), R(*out)],
                        [O(*rows, classes, dtype="bf16")], attrs)


def low_products():
    shapes = [((5, 7), (7, 3)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (1, 3, 4, 2))]
    for ta in (False, True):
        for tb in (False, True):
            for a, b in shapes:
                x, y = low(*a), low(*b)
                total = up(x).astype(F64) @ up(y).astype(F64)
                operands, attrs = [stored(x, ta), stored(y, tb)], {"transpose_lhs": ta, "transpose_rhs": tb}
                low_case("matmul", f"{a} {b} {ta} {tb}", operands, [down(total)], attrs)
                before, attrs = real(*total.shape), attrs | {"dtype": "f32"}
                low_case("matmul", f"{a} {b} {ta} {tb} to f32", operands, [total.astype(F32)], attrs)
                low_case("matmul", f"{a} {b} {ta} {tb} into f32", operands, [(before + total).astype(F32)], attrs,
                         accumulate=before)
            for k, (m, n) in ((97, (33, 65)), (1100, (29, 7)), (1, (31, 64)), (40, (250, 400))):
                lhs, rhs = ((k, m) if ta else (m, k)), ((n, k) if tb else (k, n))
                attrs = {"transpose_lhs": ta, "transpose_rhs": tb}
                operands = [R(*lhs, dtype="bf16"), R(*rhs, dtype="bf16")]
                random_case("matmul", f"bf16 large {m}x{n}x{k} {ta} {tb}", operands, [O(m, n, dtype="bf16")], attrs)
                random_case("matmul", f"bf16 large {m}x{n}x{k} {ta} {tb} into f32", operands, [O(m, n)],
                            attrs | {"dtype": "f32"}, True)
    x, y = low(4, 6, 3).transpose(1, 2, 0), low(5, 4).T
    low_case("matmul", "strided", [x, y], [down(up(x).astype(F64) @ up(y).astype(F64))])
    random_case("matmul", "bf16 large batches", [R(2, 3, 17, 37, dtype="bf16"), R(1, 3, 37, 19, dtype="bf16")],
                [O(2, 3, 17, 19, dtype="bf16")])
    for batch, tq, tk, heads, kv_heads, width in ((2, 3, 3, 2, 2, 4), (1, 5, 5, 4, 2, 3), (1, 3, 6, 2, 1, 8)):
        for causal in (False, True):
            low_attention(batch, tq, tk, heads, kv_heads, width, causal)
    for batch, tq, tk, heads, kv_heads, width in ((2, 37, 37, 4, 2, 16), (1, 65, 65, 2, 2, 64), (1, 70, 600, 2, 1, 8)):
        for causal in (False, True):
            q, k, v = (R(batch, t, h, width, dtype="bf16") for t, h in ((tq, heads), (tk, kv_heads), (tk, kv_heads)))
            mask = R(1, 1, tq, tk, fill="mask") if causal else None
            attrs = {"scale": width**-0.5, "causal": causal}
            text = f"bf16 large {(batch, tq, tk, heads, kv_heads, width)} {causal}"
            outs = [O(batch, tq, heads, width, dtype="bf16"), O(batch, heads, tq)]
            random_case("attention", text, [q, k, v, mask], outs, attrs)
            saved = [result_of("attention", [0, 1, 2, 3], i) for i in range(2)]
            keys = O(batch, tk, kv_heads, width, dtype="bf16")
            random_case("attention_grad", text, [q, k, v, mask] + saved + [R(batch, tq, heads, width, dtype="bf16")],
                        [outs[0], keys, keys], attrs)


def low_attention(batch, tq, tk, heads, kv_heads, width, causal):
    """The gradient from the rounded out that the kernel gets: ds = p (dout v^T - sum(dout out))."""
    attrs, scale, group = {"scale": 0.3, "causal": causal}, 0.3, heads // kv_heads
    q, k, v = low(batch, tq, heads, width), low(batch, tk, kv_heads, width), low(batch, tk, kv_heads, width)
    mask = real(1, 1, tq, tk)
    out, lse = attention64(wide(up(q)), wide(up(k)), wide(up(v)), mask, scale, causal)
    out, lse = down(narrow(out, F64)), narrow(lse)
    text = f"{(batch, tq, tk, heads, kv_heads, width)} causal {causal}"
    low_case("attention", text, [q, k, v, mask], [out, lse], attrs)
    dout = low(batch, tq, heads, width)
    q_, k_, v_, o_, d_ = (up(a).astype(F64).transpose(0, 2, 1, 3) for a in (q, k, v, out, dout))
    k_, v_ = k_.repeat(group, 1), v_.repeat(group, 1)
    score = scale * q_ @ k_.transpose(0, 1, 3, 2) + mask
    if causal:
        score = np.where(visible(tq, tk).numpy(), score, -INF)
    with np.errstate(invalid="ignore"):
        p = np.where(np.isinf(score), 0, np.exp(score - lse.astype(F64)[..., None]))
    ds = p * (d_ @ v_.transpose(0, 1, 3, 2) - (d_ * o_).sum(-1, keepdims=True))
    dq = scale * ds @ k_
    dk = (scale * ds.transpose(0, 1, 3, 2) @ q_).reshape(batch, kv_heads, group, tk, width).sum(2)
    dv = (p.transpose(0, 1, 3, 2) @ d_).reshape(batch, kv_heads, group, tk, width).sum(2)
    low_case("attention_grad", text, [q, k, v, mask, out, lse, dout],
             [down(a.transpose(0, 2, 1, 3)) for a in (dq, dk, dv)], attrs)


def low_movement():
    x, indices = low(5, 3), np.array([0, 4, -1, 2])
    low_case("gather", "rows", [x, indices], [x[indices]], {"axis": 0})
    dout, order = low(4, 3), np.zeros((5, 3))
    for i, row in zip(indices, up(dout).astype(F64)):
        order[i] += row
    low_case("gather_grad", "rows", [indices, dout], [down(order)], {"axis": 0, "shape": [5, 3]})
    a, b = low(2, 3), low(2, 4)
    low_case("concat", "columns", [a, b], [np.concatenate([a, b], 1)], {"axis": 1})
    part, whole_ = low(2, 2), np.zeros((3, 5), BF16)
    whole_[0:3:2, 1:4:2] = part
    low_case("slice_grad", "steps", [part], [whole_], {"starts": [0, 1], "steps": [2, 2], "shape": [3, 5]})


def bf16():
    global random
    random = np.random.Generator(np.random.PCG64(20261121))  # of its own: the cases before keep their numbers
    for part in (low_elementwise, low_rows, low_products, low_movement):
        part()


# ---- Fused -------------------------------------------------------------------------------------------


def swiglu64(gate, up):
    return T.nn.functional.silu(gate) * up


def swiglus():
    for name in ("swiglu", "swiglu_grad"):
        tolerance(name, *APPROXIMATED)
    wider = lambda *shape: real(*shape, low=-6, high=6)
    operands = [(str(s), wider(*s), real(*s), real(*s)) for s in ((), (17, ), (2, 3, 5), (0, 3))]
    operands += [("transposed", wider(5, 4).T, real(4, 5), real(5, 4).T),
                 ("spaced", wider(4, 10)[:, ::2], real(4, 5), real(4, 10)[:, ::2]),
                 ("halves of one product", *np.split(wider(3, 14), 2, 1), real(3, 7)),
                 ("expanded", wider(2, 3), real(2, 3), np.broadcast_to(real(1), (2, 3))),
                 ("special values", np.array([0, 50, -50, NAN, -0.0], F32),
                  np.array([3, -2, 2, 1, 1], F32), np.ones(5, F32))]
    for title, gate, up_, dout in operands:
        case("swiglu", title, [gate, up_], [narrow(swiglu64(wide(gate), wide(up_)))])
        case("swiglu_grad", title, [gate, up_, dout], gradients(swiglu64, [gate, up_], dout))
    for dtype, text in (("f32", "large"), ("bf16", "bf16 large")):
        for shape in ((37, 211), (3, 29, 777)):
            gate, x, out = R(*shape, dtype=dtype, low=-6, high=6), R(*shape, dtype=dtype), O(*shape, dtype=dtype)
            random_case("swiglu", f"{text} {shape}", [gate, x], [out])
            random_case("swiglu_grad", f"{text} {shape}", [gate, x, x], [out, out])
    gate, x, dout = low(37, low=-6, high=6), low(37), low(37)
    low_case("swiglu", "row", [gate, x], [down(narrow(swiglu64(wide(up(gate)), wide(up(x))), F64))])
    low_case("swiglu_grad", "row", [gate, x, dout], [down(d) for d in gradients(swiglu64, [up(gate), up(x)], up(dout))])


def rotary64(x, cos, sin):
    return x * cos + T.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), -1) * sin


def rotaries():
    """Tables of angles, and tables whose halves differ: the gradient is the transpose then."""
    for name in ("rotary", "rotary_grad"):
        tolerance(name, *SUMS)

    def one(title, x, cos, sin, dout):
        case("rotary", title, [x, cos, sin], [narrow(rotary64(wide(x), wide(cos), wide(sin)))])
        case("rotary_grad", title, [dout, cos, sin], gradients(lambda t: rotary64(t, wide(cos), wide(sin)), [x], dout))

    for shape, tables in (((6, ), (6, )), ((3, 2), (3, 2)), ((2, 5, 3, 8), (1, 5, 1, 8)), ((2, 5, 3, 8), (5, 1, 8)),
                          ((2, 3, 5, 18), (5, 18)), ((2, 3, 4), (2, 1, 4)), ((0, 4), (4, )),
                          ((2, 0), (2, 0)), ((3, 64), (3, 64))):
        one(f"{shape} {tables}", real(*shape), real(*tables), real(*tables), real(*shape))
    angles = np.outer(np.arange(7), 10.0**-np.arange(3)).astype(F32)
    angles = np.concatenate([angles, angles], 1).reshape(7, 1, 6)
    one("angles", real(2, 7, 3, 6), np.cos(angles), np.sin(angles), real(2, 7, 3, 6))
    one("heads-major", real(2, 7, 3, 6).transpose(0, 2, 1, 3), np.cos(angles)[:, 0],
        np.sin(angles)[:, 0], real(2, 3, 7, 6))
    joined = real(2, 7, 3, 3, 8)
    one("slices of one product", joined[:, :, 0], real(7, 1, 8), real(7, 1, 8), joined[:, :, 1])
    one("last dimension spaced", real(3, 8)[:, ::2], real(3, 8)[:, ::2], real(3, 4), real(3, 8)[:, ::2])
    one("tables expanded", real(3, 2, 4), np.broadcast_to(real(1, 1), (3, 1, 4)),
        np.broadcast_to(real(4), (3, 1, 4)), real(3, 2, 4))
    one("NaN", np.array([NAN, 1, 2, 3], F32), real(4), real(4), np.array([1, NAN, 2, 3], F32))
    for dtype, text in (("f32", "large"), ("bf16", "bf16 large")):
        for shape, tables in (((2, 37, 5, 64), (1, 37, 1, 64)), ((3, 129, 4, 6), (129, 1, 6)),
                              ((2, 3, 70, 130), (70, 130))):
            for name in ("rotary", "rotary_grad"):
                for table in ("f32", ) if dtype == "f32" else ("f32", dtype):
                    random_case(name, f"{text} {shape} {tables} {table}",
                                [R(*shape, dtype=dtype), R(*tables, dtype=table), R(*tables, dtype=table)],
                                [O(*shape, dtype=dtype)])
    for tables in (lambda *s: real(*s), lambda *s: low(*s)):
        x, cos, sin, dout = low(2, 5, 3, 16), tables(1, 5, 1, 16), tables(1, 5, 1, 16), low(2, 5, 3, 16)
        low_case("rotary", f"tables {SHORT[cos.dtype]}", [x, cos, sin],
                 [down(narrow(rotary64(*(wide(up(a)) for a in (x, cos, sin))), F64))])
        dx, = gradients(lambda t: rotary64(t, wide(up(cos)), wide(up(sin))), [up(x)], up(dout))
        low_case("rotary_grad", f"tables {SHORT[cos.dtype]}", [dout, cos, sin], [down(dx)])
    wrong = ("shape", [real(3), real(3), real(3)], [np.zeros(3, F32)])
    case("rotary", "odd size", wrong[1], wrong[2], error=wrong[0])


def residual_norms():
    for shape, axis in (((7, ), 0), ((3, 5), 1), ((2, 3, 4), 2), ((2, 3, 4), 1)):
        x, scale, dout, residual = real(*shape), real(*shape[axis:]), real(*shape), real(*shape)
        for name, centered in (("layer_norm", True), ("rms_norm", False)):
            mean, rstd = statistics(x, axis, 0.1, centered)
            norm = lambda a, b: layer_norm64(a, b, zero(b), axis, 0.1) if centered else rms_norm64(a, b, axis, 0.1)
            dx, _ = gradients(lambda a, b: norm(a, b), [x, scale], dout)
            saved = [mean, rstd] if centered else [rstd]
            for text, r in (("plain", residual), ("spaced", np.repeat(residual, 2, -1)[..., ::2]),
                            ("expanded", np.broadcast_to(residual[:1], shape))):
                want = narrow(wide(dx) + wide(r))
                case(f"{name}_grad_x", f"residual {shape} axis {axis} {text}",
                     [x, scale, *saved, dout, r], [want], {"axis": axis})
    for shape, axis in (((37, 211), 1), ((3, 29, 768), 2), ((130, 5), 1)):
        stats = shape[:axis] + (1, ) * (len(shape) - axis)
        mean, rstd = R(*stats, low=-0.5, high=0.5), R(*stats, low=0.5, high=2)
        x, text = R(*shape), f"residual, large {shape} axis {axis}"
        random_case("layer_norm_grad_x", text, [x, R(*shape[axis:]), mean, rstd, x, x], [O(*shape)], {"axis": axis})
        random_case("rms_norm_grad_x", text, [x, R(*shape[axis:]), rstd, x, x], [O(*shape)], {"axis": axis})


def fused():
    global random
    random = np.random.Generator(np.random.PCG64(20261122))  # of its own: the cases before keep their numbers
    swiglus()
    rotaries()
    residual_norms()


def dropouts():
    """The words are those of tools/random_words.py, which must give the published answers of Philox first."""
    global random
    random = np.random.Generator(np.random.PCG64(20261123))
    answer = random_words.philox([np.uint64([word]) for word in (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)],
                                 (0xA4093822, 0x299F31D0))
    assert [int(word[0]) for word in answer] == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    tolerance("dropout", *EXACT)

    def one(title, x, rate, place, op):
        seed, step, micro_batch = place
        factor = np.where(random_words.stays(x.shape, rate, seed % 2**64, step, micro_batch, op), 1 / (1 - rate), 0)
        with np.errstate(invalid="ignore"):  # infinity * 0
            want = (x.astype(F32) * factor.astype(F32)).astype(x.dtype)
        case("dropout", title, [x, np.array([*place, 0], I64)], [want], {"rate": rate, "op": op})

    one("rank 0", real(), 0.5, (1, 0, 0), 0)
    one("a row", real(17), 0.1, (1, 2, 3), 4)
    one("groups", real(3, 5, 29), 0.3, (1, 2, 3), 4)
    one("another op", real(3, 5, 29), 0.3, (1, 2, 3), 5)
    one("another micro-batch", real(3, 5, 29), 0.3, (1, 2, 4), 4)
    one("another step", real(3, 5, 29), 0.3, (1, 3, 3), 4)
    one("another seed", real(3, 5, 29), 0.3, (2, 2, 3), 4)
    one("ends of the fields", real(130), 0.7, (-1, 2**40 - 1, 2**24 - 1), 2**20 - 1)
    one("nothing", real(70), 0.0, (5, 6, 7), 8)
    one("no elements", real(0, 3), 0.5, (1, 0, 0), 0)
    one("transposed", real(9, 5, 4).T, 0.4, (1, 2, 3), 4)
    one("expanded", np.broadcast_to(real(3, 1), (2, 3, 40)), 0.4, (1, 2, 3), 4)
    one("spaced", real(4, 50)[:, ::2], 0.4, (1, 2, 3), 4)
    one("special values", np.array([INF, -INF, 0, -0.0, 1e38, 1e-40] * 8, F32), 0.5, (1, 2, 3), 4)
    one("bf16", real(3, 43).astype(BF16), 0.1, (1, 2, 3), 4)
    one("f16", real(3, 43).astype(F16), 0.1, (1, 2, 3), 4)
    one("large", real(3, 7001), 0.1, (1, 2, 3), 4)
    uniforms()
    attention_dropouts()


def uniforms():
    tolerance("uniform", *EXACT)
    for title, shape, place, op in (("rank 0", (), (1, 0, 0), 0), ("a row", (17,), (1, 2, 3), 4),
                                    ("groups", (3, 5, 29), (1, 2, 3), 4), ("another op", (3, 5, 29), (1, 2, 3), 5),
                                    ("ends of the fields", (130,), (-1, 2**40 - 1, 2**24 - 1), 2**20 - 1),
                                    ("no elements", (0, 3), (1, 0, 0), 0)):
        word = random_words.words(int(np.prod(shape, dtype=np.int64)), place[0] % 2**64, *place[1:], op).reshape(shape)
        parts = (word >> np.uint64(8)).astype(np.float64) / 2**24
        for dtype, want in (("f32", parts.astype(F32)), ("i64", word.astype(I64))):
            case("uniform", f"{title}, {dtype}", [np.array([*place, 0], I64)], [want],
                 {"shape": list(shape), "dtype": dtype, "op": op})


def attention_dropouts():
    tolerance("attention_dropout", *SUMS)
    # A row that sees one key: its gradient is 0, but out is v / (1 - rate), which is rounded.
    tolerance("attention_dropout_grad", (2e-6, 4e-6, 1e-7), (2e-5, 1e-5, 3e-7))
    place, op, rate = (1, 2, 3), 4, 0.3
    counter = np.array([*place, 0], I64)

    def one(title, q, k, v, mask, causal):
        attrs = {"scale": 0.3, "causal": causal, "rate": rate, "op": op}
        (batch, tq, heads, _), tk = q.shape, k.shape[1]
        stays = random_words.stays((batch, heads, tq, tk), rate, *place, op)
        factor = torch.from_numpy(np.where(stays, 1 / (1 - rate), 0))
        out, lse = attention64(wide(q), wide(k), wide(v), mask, 0.3, causal, factor)
        case("attention_dropout", title, [q, k, v, mask, counter], [narrow(out), narrow(lse)], attrs)
        dout = real(*q.shape)
        grads = gradients(lambda a, b, c: attention64(a, b, c, mask, 0.3, causal, factor)[0], [q, k, v], dout)
        case("attention_dropout_grad", title, [q, k, v, mask, counter, narrow(out), narrow(lse), dout], grads, attrs)

    for batch, tq, tk, heads, kv_heads, width in ((1, 1, 1, 1, 1, 2), (2, 3, 3, 2, 2, 4), (1, 5, 7, 4, 2, 3),
                                                  (2, 2, 70, 2, 1, 4)):
        for causal in (False, True):
            for masked in (None, (batch, heads, tq, tk)):
                q = real(batch, tq, heads, width)
                k, v = real(batch, tk, kv_heads, width), real(batch, tk, kv_heads, width)
                mask = None if masked is None else real(*masked)
                if masked:
                    mask[random.uniform(size=masked) < 0.3] = -INF
                one(f"{(batch, tq, tk, heads, kv_heads, width)} mask {masked} causal {causal}", q, k, v, mask, causal)
    for batch, tq, tk, heads, kv_heads, width in ((2, 37, 37, 4, 2, 16), (1, 19, 67, 3, 1, 24),
                                                  (1, 131, 600, 2, 1, 40)):
        for causal in (False, True):
            q, k, v = R(batch, tq, heads, width), R(batch, tk, kv_heads, width), R(batch, tk, kv_heads, width)
            key = R(4, dtype="i64", low=0, high=9)
            attrs = {"scale": width**-0.5, "causal": causal, "rate": 0.1, "op": 2}
            text = f"large {(batch, tq, tk, heads, kv_heads, width)} {causal}"
            random_case("attention_dropout", text, [q, k, v, None, key],
                        [O(batch, tq, heads, width), O(batch, heads, tq)], attrs)
            saved = [result_of("attention_dropout", [0, 1, 2, 3, 4], i) for i in range(2)]
            gradients_of = [O(batch, tq, heads, width), O(batch, tk, kv_heads, width), O(batch, tk, kv_heads, width)]
            random_case("attention_dropout_grad", text, [q, k, v, None, key] + saved + [R(batch, tq, heads, width)],
                        gradients_of, attrs)


# ---- Files ---------------------------------------------------------------------------------------


def write(folder, op, file):
    header = {
        "__metadata__":
        {"cases": json.dumps(file["cases"], separators=(",", ":")), "tolerance": json.dumps(file["tolerance"])}
    }
    data = b""
    for key, array in file["tensors"].items():
        raw = array.tobytes()
        header[key] = {
            "dtype": STORED[array.dtype], "shape": list(array.shape), "data_offsets": [len(data),
                                                                                       len(data) + len(raw)]
        }
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (folder / f"{op}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def stops():
    """zb.detach gives its operand. Nothing is drawn, so that no other case changes."""
    numbers = np.concatenate([np.linspace(-3, 3, 55), [0, -0.0, INF, -INF, 1e-40]]).astype(F32)
    tolerance("detach", *EXACT)
    for title, x in (("plain", numbers), ("transposed", numbers.reshape(5, 3, 4).T),
                     ("rank 0", numbers[:1].reshape(())),
                     ("expanded", np.broadcast_to(numbers[:3, None], (2, 3, 4))), ("spaced", numbers[::2]),
                     ("no elements", numbers[:0].reshape(0, 3))):
        case("detach", title, [x], [x])
        low_case("detach", title, [x.astype(BF16)] if x.flags.c_contiguous else [numbers.astype(BF16)],
                 [x.astype(BF16)] if x.flags.c_contiguous else [numbers.astype(BF16)])
    random_case("detach", "large", [R(37, 211)], [O(37, 211)])
    random_case("detach", "bf16 large", [R(37, 211, dtype="bf16")], [O(37, 211, dtype="bf16")])


def slopes():
    """zb.slope gives zeros, of negative sign, whatever its operands are. Nothing is drawn here either."""
    tolerance("slope", *EXACT)
    numbers = np.array([0, -0.0, 1, -2, INF, -INF, np.nan, 1e-40] * 3, F32)
    for a, b in (((3, 4), (3, 4)), ((3, 4), (4, )), ((3, 1), (2, 3, 4)), ((2, 3), ()), ((0, 3), (3, ))):
        x, y = (numbers[:math.prod(shape)].reshape(shape) for shape in (a, b))
        zeros = np.full(np.broadcast_shapes(a, b), -0.0, F32)
        case("slope", f"{a} {b}", [x, y], [zeros])
        low_case("slope", f"{a} {b}", [x.astype(BF16), y.astype(BF16)], [zeros.astype(BF16)])
    case("slope", "transposed", [numbers.reshape(4, 6).T, numbers.reshape(6, 4)], [np.full((6, 4), -0.0, F32)])


def window_attrs(rng, rank, size, kernel):
    """Strides, pads and dilations with which each dimension has a window."""
    strides, dilations, pads = [], [], [[], []]
    for d in range(rank):
        dilation = int(rng.integers(1, 3))
        reach = dilation * (kernel[d] - 1) + 1
        before, after = int(rng.integers(0, kernel[d] + 1)), int(rng.integers(-1, kernel[d] + 1))
        after = max(after, reach - size[d] - before)
        strides.append(int(rng.integers(1, 4)))
        dilations.append(dilation)
        pads[0].append(before)
        pads[1].append(after)
    return {"strides": strides, "pads": pads[0] + pads[1], "dilations": dilations}


def convolved(x, weight, attrs):
    """PyTorch's convolution, with pads of its own."""
    rank = x.dim() - 2
    pads = attrs["pads"]
    around = [p for d in reversed(range(rank)) for p in (pads[d], pads[rank + d])]
    function = (T.nn.functional.conv1d, T.nn.functional.conv2d, T.nn.functional.conv3d)[rank - 1]
    return function(T.nn.functional.pad(x, around), weight, stride=attrs["strides"], dilation=attrs["dilations"],
                    groups=attrs["groups"])


def conv_cases(title, x, weight, attrs, make=lambda a: a, add=case):
    """The three convolutions of operands of float32; make: what they are stored as."""
    exact = convolved(wide(x), wide(weight), attrs)
    dout = up(make(real(*exact.shape)))
    dx, dweight = gradients(lambda a, b: convolved(a, b, attrs), [x, weight], dout)
    before = real(*weight.shape)
    add("conv", title, [make(x), make(weight)], [make(narrow(exact))], attrs)
    add("conv_transpose", title, [make(dout), make(weight)], [make(dx)], attrs | {"shape": list(x.shape[2:])})
    attrs = attrs | {"shape": list(weight.shape[2:])}
    add("conv_weight", title, [make(x), make(dout)], [make(dweight)], attrs)
    if make(x).dtype == F32:
        add("conv_weight", title + " accumulate", [x, dout], [before + dweight], attrs, accumulate=before)


def conv_draws(rng):
    for draw in range(30):
        rank, groups = draw % 3 + 1, int(rng.choice([1, 1, 2, 3]))
        channels, filters = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        if draw % 5 == 0:
            groups, channels, filters = 4, 1, 1
        kernel = [int(n) for n in rng.integers(1, 4, rank)]
        size = [int(n) for n in rng.integers(3, 20 // rank + 1, rank)]
        attrs = window_attrs(rng, rank, size, kernel) | {"groups": groups}
        x, weight = real(2, groups * channels, *size), real(groups * filters, channels, *kernel)
        title = f"{rank}-D {x.shape} {weight.shape} " + " ".join(f"{k} {v}" for k, v in attrs.items())
        conv_cases(title, x, weight, attrs)
        if draw % 4 == 0:
            conv_cases(title, up(low(*x.shape)), up(low(*weight.shape)), attrs, make=down, add=low_case)
        if draw % 6 == 0:
            conv_cases("strided " + title,
                       np.ascontiguousarray(x.T).T, np.ascontiguousarray(weight[::-1].T).T, attrs)


def large_convs():
    plain = {"strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1], "groups": 1}
    for title, x, weight, changes in (
        ("many blocks", (2, 5, 57, 53), (7, 5, 3, 3), {}),
        ("many rows", (1, 470, 7, 6), (9, 470, 3, 3), {}),
        ("many channels", (2, 70, 12, 13), (33, 70, 3, 3), {"strides": [2, 2]}),
        ("stem", (1, 3, 61, 59), (16, 3, 7, 7), {"strides": [2, 2], "pads": [3, 3, 3, 3]}),
        ("of one element", (2, 65, 23, 31), (50, 65, 1, 1), {"pads": [0, 0, 0, 0]}),
        ("of one element, with steps", (2, 65, 23, 31), (50, 65, 1, 1), {"pads": [0, 0, 0, 0], "strides": [2, 2]}),
        ("groups", (2, 24, 19, 17), (36, 6, 3, 3), {"groups": 4, "dilations": [2, 2]}),
        ("depthwise", (2, 21, 37, 35), (21, 1, 7, 7), {"groups": 21, "pads": [3, 3, 3, 3]}),
        ("depthwise with steps", (2, 21, 37, 35), (21, 1, 3, 3), {"groups": 21, "strides": [2, 2]}),
    ):
        attrs = plain | changes
        out = convolved(T.zeros(x), T.zeros(weight), attrs).shape
        random_case("conv", title, [R(*x), R(*weight)], [O(*out)], attrs)
        random_case("conv_transpose", title, [R(*out), R(*weight)], [O(*x)], attrs | {"shape": list(x[2:])})
        for accumulate in (False, True):
            random_case("conv_weight", f"{title} {accumulate}", [R(*x), R(*out)], [O(*weight)],
                        attrs | {"shape": list(weight[2:])}, accumulate)


def max_places(rng):
    pools = (T.nn.functional.max_pool1d, T.nn.functional.max_pool2d, T.nn.functional.max_pool3d)
    for draw in range(18):
        rank = draw % 3 + 1
        kernel = [int(n) for n in rng.integers(1, 4, rank)]
        pads = [int(rng.integers(0, k // 2 + 1)) for k in kernel]
        strides, dilations = [int(n) for n in rng.integers(1, 4, rank)], [int(n) for n in rng.integers(1, 3, rank)]
        x = whole(2, 2, *[int(n) for n in rng.integers(6, 9, rank)], low=-3, high=4).astype(F32)
        if draw % 4 == 1:
            x.reshape(-1)[::7] = np.nan
        _, places = pools[rank - 1](T.from_numpy(x), kernel, strides, pads, dilations, ceil_mode=draw % 2 == 1,
                                    return_indices=True)
        attrs = {"kernel": kernel, "strides": strides, "pads": pads + pads, "dilations": dilations,
                 "shape": list(places.shape[2:])}
        title = f"{rank}-D {x.shape} " + " ".join(f"{k} {v}" for k, v in attrs.items())
        for dtype in (F32, BF16, F16):
            case("max_place", f"{SHORT[dtype]} {title}", [x.astype(dtype)], [places.numpy().astype(I32)], attrs)
        case("max_place", "strided " + title, [np.ascontiguousarray(x.T).T], [places.numpy().astype(I32)], attrs)
    attrs = {"kernel": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1], "shape": [28, 28]}
    random_case("max_place", "large", [R(2, 5, 56, 56)], [O(2, 5, 28, 28, dtype="i32")], attrs)


def windows():
    """Convolutions and maxima over windows, drawn from numbers of their own."""
    global random
    rng = random = np.random.Generator(np.random.PCG64(20261127))
    for name in ("conv", "conv_transpose", "conv_weight"):
        tolerance(name, *SUMS)
    tolerance("max_place", *EXACT)
    for op in ("reduce_sum", "reduce_mean"):
        for shape, axes in (((3, 7, 33, 5), [0, 2, 3]), ((2, 70, 97), [0, 2]), ((5, 1, 3, 9000), [0, 1, 3]),
                            ((1, 3, 4, 5), [0, 2]), ((4, 5, 6, 7), [0, 1, 3])):
            kept = [n for i, n in enumerate(shape) if i not in axes]
            attrs = {"axes": axes, "keepdims": False}
            random_case(op, f"channels {shape} {axes}", [R(*shape)], [O(*kept)], attrs)
            random_case(op, f"channels bf16 {shape} {axes}", [R(*shape, dtype="bf16")],
                        [O(*kept, dtype="bf16" if op == "reduce_mean" else "f32")],
                        attrs if op == "reduce_mean" else attrs | {"dtype": "f32"})
    conv_draws(rng)
    large_convs()
    max_places(rng)


def scatter_reductions():
    """mul, min and max; sums have cases among the scatters. Behind the other cases, so that these do not change."""
    for size, indices in (((7, 5), (4, )), ((7, ), (2, 3)), ((4, 2, 3), (2, 2)), ((5, ), (40, ))):
        data, updates = real(*size), real(*indices, *size[1:])
        places = whole(*indices, low=-size[0], high=size[0])
        for reduction in ("mul", "min", "max"):
            expected = onnx_run("ScatterND", [data, np.mod(places, size[0])[..., None], updates],
                                {"reduction": reduction})
            case("scatter", f"{reduction} {size} {indices}", [data, places, updates], expected,
                 {"reduction": reduction})
    combine = {"mul": np.multiply, "min": np.minimum, "max": np.maximum}
    for dtype in (I64, I32, F64, F16, BF16):
        data, updates = (whole(n, 3, low=-3, high=4).astype(dtype) for n in (5, 2))
        places = [4, 1]
        for reduction, function in combine.items():
            out = data.copy()
            out[places] = function(out[places], updates)
            if dtype == F64:  # CUDA has no kernel for it; drawn, so that the cases behind do not change
                continue
            case("scatter", f"{reduction} {SHORT[dtype]}", [data, np.array(places), updates], [out],
                 {"reduction": reduction})
    data, updates = np.array([1, math.nan, 2, -0.0], F32), np.array([math.nan, 3, INF, 0.0], F32)
    for reduction in ("min", "max"):
        out = combine[reduction](data, updates)
        case("scatter", f"{reduction} of special values", [data[:3], np.arange(3), updates[:3]], [out[:3]],
             {"reduction": reduction})
    wide = np.array([2 ** 62, -(2 ** 62), 3], I64)
    with np.errstate(over="ignore"):
        case("scatter", "mul wraps", [wide, np.arange(3), wide], [wide * wide], {"reduction": "mul"})
    case("scatter", "mul of i1", [truth(4), np.arange(2), truth(2)], [truth(4)], {"reduction": "mul"}, error="shape")
    case("scatter", "unknown reduction", [real(4), np.arange(2), real(2)], [real(4)], {"reduction": "sub"},
         error="shape")
    for reduction in ("mul", "min", "max"):
        random_case("scatter", f"large {reduction}", [R(53, 300), R(29, dtype="i64", low=-53, high=53), R(29, 300)],
                    [O(53, 300)], {"reduction": reduction})


def bitcasts():
    tolerance("bitcast", *EXACT)
    special = [0, -0.0, 1, -1, INF, -INF, 1e-40, 3.5]
    for real_type, whole_type, bits in ((F32, I32, I32), (F64, I64, I64), (F16, I32, np.dtype("i2")),
                                        (BF16, I32, np.dtype("i2"))):
        numbers = np.concatenate([real(22), special]).astype(real_type)
        words = numbers.view(bits).astype(whole_type)
        for title, a, b in (("", numbers, words), (" matrix", numbers.reshape(5, 6), words.reshape(5, 6)),
                            (" transposed", numbers.reshape(5, 6).T, words.reshape(5, 6).T),
                            (" scalar", numbers[0].reshape(()), words[0].reshape(()))):
            case("bitcast", f"{SHORT[real_type]}{title}", [a], [b], {"dtype": SHORT[whole_type]})
            case("bitcast", f"to {SHORT[real_type]}{title}", [b], [a], {"dtype": SHORT[real_type]})
    high = (words.astype(I64) + (whole(len(words), low=-9, high=9) << 16)).astype(I32)  # only the lower bits count
    case("bitcast", "lower bits", [high], [numbers], {"dtype": "bf16"})
    case("bitcast", "f32 to i64", [real(4)], [whole(4)], {"dtype": "i64"}, error="shape")
    random_case("bitcast", "large", [R(37, 211)], [O(37, 211, dtype="i32")], {"dtype": "i32"})


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "cases")
    folder.mkdir(parents=True, exist_ok=True)
    for part in (unary, unary_rest, binary, where_and_cast, reductions, softmaxes, norms, matmuls, movement, gathers,
                 losses, attentions, optimizers, bf16, biases, fused, scatters, cumsums, top_ks, dropouts,
                 more_optimizers, clipping, stops, windows, scatter_reductions, bitcasts, unary_later, slopes,
                 gathers_from_the_start):
        part()
    for op, file in sorted(files.items()):
        write(folder, op, file)
    total = sum(p.stat().st_size for p in folder.glob("*.safetensors"))
    print(f"{len(files)} ops, {sum(len(f['cases']) for f in files.values())} cases, {total} bytes in {folder}")


if __name__ == "__main__":
    main()
