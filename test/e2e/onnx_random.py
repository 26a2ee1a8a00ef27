#!/usr/bin/env python3
"""Operators of ONNX with attributes, shapes and types drawn at random, against ONNX's own reference evaluator, and
gradients against its finite differences.

    onnx_random.py [--bin BUILD/bin] [--count N] [--seed N] [--only GLOB] [--verbose]

The rows of ROWS draw a node (or a few) with its inputs. zbc --inference compiles it, zb-run computes it, and every
output is compared with what onnx.reference gives. Where a gradient flows, one step of SGD with a learning rate of 1
on loss = sum(output * numbers) gives the gradient of all float inputs as parameters, which is compared with slopes of
the evaluator along a direction. Needs onnx and NumPy (tools/requirements.txt), of this Python or of ZB_PYTHON.
Ends with "N passed, N failed".
"""
import collections
import fnmatch
import functools
import json
import os
import random
import subprocess
import sys

import common

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as missing:
    python = os.environ.get("ZB_PYTHON", sys.executable)
    if os.path.realpath(python) != os.path.realpath(sys.executable) or python != sys.executable:
        sys.exit(subprocess.run([python, *sys.argv]).returncode)
    print(f"ok - onnx_random # SKIP {missing}; set ZB_PYTHON, or run it with a Python that has onnx and numpy")
    sys.exit(0)

COUNT = 60  # of cases, unless --count says otherwise
F, D, H, I, I32, B = np.float32, np.float64, np.float16, np.int64, np.int32, np.bool_
TOLERANCE = {F: (2e-5, 2e-5), D: (1e-9, 1e-9), H: (2e-2, 4e-3)}
STEP, SLOPE_TOLERANCE = 2e-3, 4e-3
LETTERS = "abcdefgh"


class Case:
    """Nodes over inputs; constants are initializers. outputs: names; slopes: names of the outputs and inputs between
    which a gradient flows."""
    def __init__(self, nodes, inputs, constants=None, outputs=("y",), opset=23, slopes=(), of=None, floor=None):
        self.nodes, self.inputs, self.constants = nodes, inputs, constants or {}
        self.outputs, self.opset, self.slopes, self.of = outputs, opset, slopes, of or outputs[0]
        self.floor = floor  # of the tolerance, where it is not that of the type


class Draw:
    """What is drawn at random, by one seed."""
    def __init__(self, seed):
        self.chance, self.numpy = random.Random(seed), np.random.default_rng(abs(hash(seed)) if isinstance(seed, int)
                                                                             else list(seed.encode()))

    def size(self, low=1, high=4):
        return self.chance.randint(low, high)

    def dims(self, low, high, least=1, most=4):
        return tuple(self.size(least, most) for _ in range(self.size(low, high)))

    def pick(self, *values):
        return self.chance.choice(values)

    def maybe(self, share=0.5):
        return self.chance.random() < share

    def numbers(self, shape, low=-2.0, high=2.0, dtype=F):
        return self.numpy.uniform(low, high, shape).astype(dtype)

    def apart(self, shape, dtype=F):
        """Numbers no two of which are near each other, so that order survives a step."""
        count = int(np.prod(shape))
        return ((self.numpy.permutation(count) - count / 2) * 0.05 + 0.01).reshape(shape).astype(dtype)

    def ints(self, shape, low, high, dtype=I):
        return self.numpy.integers(low, high, shape).astype(dtype)

    def bools(self, shape):
        return self.numpy.random(shape) < 0.5

    def axis(self, rank):
        return self.size(-rank, rank - 1)

    def any(self, shape):
        """Of any type."""
        kind = self.pick(F, F, D, H, I, I32, B)
        if kind == B:
            return self.bools(shape)
        return self.ints(shape, -9, 9, kind) if kind in (I, I32) else self.numbers(shape, dtype=kind)


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(" ") if inputs else [], outputs.split(" "), name="n_" + op, **attributes)


def some(draw, **options):
    """Some of these attributes."""
    return {name: value for name, value in options.items() if draw.maybe()}


ROWS = {}


def row(function):
    ROWS[function.__name__] = function
    return function


# ---- Elementwise ----

@row
def unary(d):
    op = d.pick(*"Gelu Swish Mish Celu Elu Selu HardSigmoid HardSwish LeakyRelu Softplus Softsign Erf Shrink Sigmoid "
                "ThresholdedRelu Tanh Exp Abs Neg Atan Asinh Sin Cos".split())
    attributes = {}
    if op == "Gelu":
        attributes = some(d, approximate=d.pick("none", "tanh"))
    elif op == "Shrink":
        attributes = some(d, bias=d.pick(0.0, 0.3), lambd=0.4)
    elif op == "Selu":
        attributes = some(d, alpha=1.3, gamma=0.8)
    elif op == "HardSigmoid":
        attributes = some(d, alpha=0.3, beta=0.4)
    elif op in ("Celu", "Elu", "LeakyRelu", "ThresholdedRelu", "Swish"):
        attributes = some(d, alpha=d.pick(0.3, 0.7, 1.5))
    kind = d.pick(F, F, D) if op not in ("Celu", "Selu") else F
    edge = 2.9 if op == "HardSwish" else 3  # of its bends
    kind = F if op in ("Erf", "HardSigmoid") else kind  # of which the evaluator computes in f32
    return Case([node(op, "x", **attributes)], {"x": d.numbers(d.dims(0, 5), -edge, edge, kind)}, opset=24,
                slopes=("x",) if kind == F and op != "ThresholdedRelu" else (),  # which jumps
                floor=1e-6 if op in ("Gelu", "HardSwish") and kind == D else None)  # the evaluator's constants are f32


@row
def binary(d):
    shape = d.dims(0, 4)
    def other():
        own = [size if d.maybe(0.7) else 1 for size in shape]
        while own and d.maybe(0.3):
            own.pop(0)
        return tuple(own)
    op = d.pick("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "PRelu", "Sum", "Mean")
    kind = d.pick(F, F, F, D, I, I32)
    a, b = d.numbers(shape, 0.5, 2), d.numbers(other(), 0.5, 2)
    if op == "PRelu":
        return Case([node(op, "x z")], {"x": d.numbers(shape), "z": b}, slopes=("x", "z"))
    if kind in (I, I32) and op != "Mean":
        a, b = d.ints(shape, -9, 9, kind), d.ints(other(), 1, 9, kind) * d.pick(1, -1)
        if op == "Pow":
            b = abs(b) % 4
    elif d.maybe() and op != "PRelu" and op != "Pow":
        a, b = b, a
    if kind == D:
        a, b = a.astype(D), b.astype(D)
    if op in ("Max", "Min", "Sum", "Mean") and d.maybe():
        return Case([node(op, "x z x")], {"x": a, "z": b}, slopes=("x",) if a.dtype == F and op in "Sum Mean" else ())
    attributes = {"fmod": 1} if op == "Mod" and (a.dtype in (F, D) or d.maybe()) else {}
    return Case([node(op, "x z", **attributes)], {"x": a, "z": b},
                slopes=("x", "z") if a.dtype == F and op not in ("Mod", "Max", "Min") else ())


@row
def compare(d):
    shape = d.dims(0, 4)
    op = d.pick("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "BitwiseAnd",
                "BitwiseOr", "BitwiseXor", "BitShift")
    if op in ("And", "Or", "Xor"):
        return Case([node(op, "x z")], {"x": d.bools(shape), "z": d.bools(shape[1:])})
    if op == "BitShift":
        return Case([node(op, "x z", direction=d.pick("LEFT", "RIGHT"))],
                    {"x": d.ints(shape, 0, 99), "z": d.ints(shape, 0, 9)})
    kind = d.pick(I, I32) if op.startswith("Bit") else d.pick(F, D, I, I32)
    return Case([node(op, "x z")], {"x": d.ints(shape, -3, 3, kind), "z": d.ints(shape[1:], -3, 3, kind)})


@row
def where(d):
    shape = d.dims(1, 4)
    kind = d.pick(F, F, D, I, B)
    draw = d.bools if kind == B else lambda s: d.numbers(s, -9, 9).astype(kind)
    x, z = draw(shape), draw(tuple(s if d.maybe() else 1 for s in shape[d.size(0, 1):]))
    c = d.bools(tuple(s if d.maybe() else 1 for s in shape))
    if d.maybe():
        return Case([node("Where", "c x z")], {"c": c, "x": x, "z": z}, slopes=("x", "z") if kind == F else ())
    return Case([node("Where", "c z x")], {"c": c, "x": x, "z": z}, slopes=("x", "z") if kind == F else ())


@row
def clip(d):
    x = d.numbers(d.dims(0, 3), -4, 4, d.pick(F, F, D))
    low, high = x.dtype.type(-1), x.dtype.type(1.5)
    names = d.pick("x lo hi", "x lo", "x  hi", "x")
    return Case([node("Clip", names)], {"x": x}, {"lo": np.array(low), "hi": np.array(high)},
                slopes=("x",) if x.dtype == F else ())


@row
def cast(d):
    kinds = {F: TensorProto.FLOAT, D: TensorProto.DOUBLE, H: TensorProto.FLOAT16, I: TensorProto.INT64,
             I32: TensorProto.INT32, B: TensorProto.BOOL}
    x, to = d.any(d.dims(0, 3)), d.pick(*kinds)
    if x.dtype.kind == "f":
        x *= 7
    return Case([node("Cast", "x", to=kinds[to])], {"x": x})


# ---- Reductions ----

@row
def reduce(d):
    op = d.pick(*"Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split())
    shape = d.dims(0, 4)
    x = d.numbers(shape, 0.4, 1.5)
    if op in ("Max", "Min"):
        x = d.apart(shape)
    if d.maybe(0.15) and op in ("Sum", "Max", "Min", "Prod", "SumSquare"):
        x = d.ints(shape, -4, 5, I if op == "SumSquare" else d.pick(I, I32))  # whose int32 the evaluator makes int64
    axes = d.chance.sample(range(len(shape)), d.size(0, len(shape))) if shape else []
    axes = [a - len(shape) if d.maybe() else a for a in axes]
    attributes = some(d, keepdims=d.pick(0, 1), noop_with_empty_axes=d.pick(0, 1))
    constants, names = {"a": np.array(axes, I)}, "x a"
    if not axes and d.maybe():
        names = d.pick("x", "x ")
    smooth = x.dtype == F
    return Case([node("Reduce" + op, names, **attributes)], {"x": x}, constants if names == "x a" else {}, opset=18,
                slopes=("x",) if smooth else ())


@row
def extreme(d):
    shape = d.dims(1, 4)
    x = d.pick(d.apart(shape), d.ints(shape, 0, 3).astype(F), d.ints(shape, 0, 3, I32))
    return Case([node(d.pick("ArgMax", "ArgMin"), "x", **some(d, axis=d.axis(len(shape)), keepdims=0,
                                                               select_last_index=1))], {"x": x})


@row
def top_k(d):
    shape = d.dims(1, 4, 2, 6)
    axis = d.axis(len(shape))
    x, largest, attributes = d.apart(shape), d.pick(0, 1), some(d, largest=0)
    if d.maybe(0.25):
        x = d.ints(shape, 0, 4, d.pick(I, I32))
    attributes["axis"] = axis
    return Case([node("TopK", "x k", "y i", **attributes)], {"x": x}, {"k": np.array([d.size(1, shape[axis])], I)},
                outputs=("y", "i"), slopes=("x",) if x.dtype == F else ())


@row
def cum_sum(d):
    shape = d.dims(1, 4)
    kind = d.pick(F, F, D, I, I32)
    return Case([node("CumSum", "x a", **some(d, exclusive=1, reverse=1))],
                {"x": d.numbers(shape, -5, 5).astype(kind)},
                {"a": np.array(d.axis(len(shape)), d.pick(I, I32))}, slopes=("x",) if kind == F else ())


@row
def softmax(d):
    shape = d.dims(1, 4)
    return Case([node(d.pick("Softmax", "LogSoftmax"), "x", **some(d, axis=d.axis(len(shape))))],
                {"x": d.numbers(shape)}, slopes=("x",))


@row
def hardmax(d):
    shape = d.dims(1, 4)
    return Case([node("Hardmax", "x", **some(d, axis=d.axis(len(shape))))], {"x": d.apart(shape)})


# ---- Normalization ----

@row
def layer_norm(d):
    shape = d.dims(1, 4, 2, 5)
    axis = d.axis(len(shape))
    rest = shape[axis:] if axis >= 0 else shape[len(shape) + axis:]
    op = d.pick("LayerNormalization", "RMSNormalization")
    inputs = {"x": d.numbers(shape), "s": d.numbers(rest, 0.5, 1.5)}
    attributes = {"axis": axis, "epsilon": d.pick(1e-2, 0.1), **some(d, stash_type=1)}
    if op.startswith("R") or d.maybe(0.3):
        return Case([node(op, "x s", **attributes)], inputs, slopes=("x", "s"))
    inputs["b"] = d.numbers(rest)
    if d.maybe(0.3):
        return Case([node(op, "x s b", "y m r", **attributes)], inputs, outputs=("y", "m", "r"),
                    slopes=("x", "s", "b"))
    return Case([node(op, "x s b", **attributes)], inputs, slopes=("x", "s", "b"))


@row
def group_norm(d):
    groups, each = d.size(1, 3), d.size(1, 3)
    shape = (d.size(1, 3), groups * each) + d.dims(0, 3, 2, 4)
    if len(shape) == 2 and each == 1:
        shape += (3,)
    inputs = {"x": d.numbers(shape), "s": d.numbers((groups * each,)), "b": d.numbers((groups * each,))}
    return Case([node("GroupNormalization", "x s b", num_groups=groups, epsilon=d.pick(1e-2, 0.1))], inputs, opset=21,
                slopes=("x", "s", "b"))


@row
def instance_norm(d):
    shape = (d.size(1, 3), d.size(1, 3)) + d.dims(1, 3, 2, 4)
    # The default of epsilon, 1e-5, is for onnx_nodes.py: with it two values that are nearly equal are too steep.
    return Case([node("InstanceNormalization", "x s b", epsilon=d.pick(1e-2, 0.1))],
                {"x": d.numbers(shape), "s": d.numbers(shape[1:2]), "b": d.numbers(shape[1:2])},
                slopes=("x", "s", "b"))


@row
def lp_norm(d):
    shape = d.dims(1, 4, 2, 4)
    return Case([node("LpNormalization", "x", **some(d, axis=d.axis(len(shape)), p=d.pick(1, 2)))],
                {"x": d.numbers(shape, 0.2, 2)}, opset=22, slopes=("x",))


@row
def lrn(d):
    shape = (d.size(1, 2), d.size(2, 6)) + d.dims(1, 3)
    return Case([node("LRN", "x", size=d.size(1, 5), **some(d, alpha=0.3, beta=0.5, bias=1.5))],
                {"x": d.numbers(shape)}, slopes=("x",))


@row
def batch_norm(d):
    shape = (d.size(1, 3), d.size(1, 3)) + d.dims(0, 3, 2, 4)
    channels = shape[1:2]
    return Case([node("BatchNormalization", "x s b m v", **some(d, epsilon=1e-2))],
                {"x": d.numbers(shape), "s": d.numbers(channels), "b": d.numbers(channels)},
                {"m": d.numbers(channels), "v": d.numbers(channels, 0.5, 2)}, slopes=("x", "s", "b"))


# ---- Attention ----

@row
def attention(d):
    batch, groups, queries, keys = d.size(1, 3), d.size(1, 3), d.size(1, 5), d.size(1, 6)
    heads, size, value = groups * d.size(1, 3), d.size(2, 5), d.size(2, 5)
    flat = d.maybe(0.4)
    attributes = some(d, scale=d.pick(0.3, 1.0), softcap=d.pick(0.0, 1.5), is_causal=1)
    if flat:
        attributes.update(q_num_heads=heads, kv_num_heads=groups)
    shape = lambda h, length, width: (batch, length, h * width) if flat else (batch, h, length, width)
    inputs = {"q": d.numbers(shape(heads, queries, size)), "k": d.numbers(shape(groups, keys, size)),
              "v": d.numbers(shape(groups, keys, value))}
    names, past = ["q", "k", "v", "", "", ""], 0
    constants = {}
    if d.maybe(0.3):
        past = d.size(1, 3)
        inputs.update(pk=d.numbers((batch, groups, past, size)), pv=d.numbers((batch, groups, past, value)))
        names[4:] = ["pk", "pv"]
    if d.maybe(0.5):
        lead = d.pick((), (heads,), (1,), (batch, heads), (1, heads), (batch, 1))
        mask = d.numbers(lead + (queries, keys + past))
        if d.maybe():
            mask = d.bools(lead + (queries, keys + past))
            mask[..., 0] = True
        (inputs if d.maybe() else constants)["mask"] = mask
        names[3] = "mask"
    outputs = ["y"]
    if past or d.maybe(0.2):
        outputs += ["nk", "nv"] if past else []
        if past and d.maybe():
            outputs.append("scores")
            # The evaluator caps what mode 0 gives.
            attributes["qk_matmul_output_mode"] = d.size(1 if attributes.get("softcap") else 0, 3)
    while names and not names[-1]:
        names.pop()
    slopes = [name for name in ("q", "k", "v", "pk", "pv", "mask") if name in inputs and inputs[name].dtype == F]
    return Case([node("Attention", " ".join(names), " ".join(outputs), **attributes)], inputs, constants,
                outputs=outputs, opset=23, slopes=slopes)


@row
def rotary(d):
    batch, heads, length, size = d.size(1, 3), d.size(1, 3), d.size(1, 5), 2 * d.size(1, 4)
    flat = d.maybe(0.4)
    turned = 2 * d.size(1, size // 2) if d.maybe(0.4) else 0
    width, most = (turned or size) // 2, length + d.size(0, 3)
    attributes = some(d, interleaved=1)
    if turned:
        attributes["rotary_embedding_dim"] = turned
    if flat or turned:
        attributes["num_heads"] = heads
    x = d.numbers((batch, length, heads * size) if flat else (batch, heads, length, size))
    if d.maybe():
        tables, rest = (most, width), {"p": d.ints((batch, length), 0, most)}
    else:
        tables, rest = (batch, length, width), {}
    return Case([node("RotaryEmbedding", "x c s" + (" p" if rest else ""), **attributes)],
                {"x": x, "c": d.numbers(tables), "s": d.numbers(tables), **rest}, slopes=("x", "c", "s"))


# ---- Products ----

@row
def matmul(d):
    inner, lead = d.size(), d.dims(0, 3)
    cut = lambda: tuple(s if d.maybe(0.7) else 1 for s in lead[d.size(0, len(lead)):]) if lead else ()
    a, b = cut() + (d.size(), inner), lead + (inner, d.size())
    if d.maybe(0.15):
        a = (inner,)
    elif d.maybe(0.15):
        b = (inner,)
    kind = d.pick(F, F, F, D)
    return Case([node("MatMul", "x z")], {"x": d.numbers(a, dtype=kind), "z": d.numbers(b, dtype=kind)},
                slopes=("x", "z") if kind == F else ())


@row
def gemm(d):
    m, k, n = d.size(), d.size(), d.size()
    attributes = some(d, transA=1, transB=1, alpha=0.5, beta=1.5)
    inputs = {"x": d.numbers((k, m) if attributes.get("transA") else (m, k)),
              "z": d.numbers((n, k) if attributes.get("transB") else (k, n))}
    if d.maybe(0.7):
        inputs["c"] = d.numbers(d.pick((m, n), (n,), (1, n), (m, 1), (1,), ()))
    return Case([node("Gemm", " ".join(inputs), **attributes)], inputs, slopes=tuple(inputs))


@row
def einsum(d):
    sizes = {letter: d.size() for letter in LETTERS}
    count = d.pick(1, 2, 2, 2, 3)
    terms = ["".join(d.chance.sample(LETTERS[:5], d.size(1, 4))) for _ in range(count)]
    every = sorted(set("".join(terms)))
    result = d.chance.sample(every, d.size(0, len(every)))
    equation = ",".join(terms) + "->" + "".join(result)
    dots = d.maybe(0.25)
    if dots:
        terms = ["..." + t for t in terms]
        equation = ",".join(terms) + "->..." + "".join(result)
    elif d.maybe(0.2):
        equation = ",".join(terms)
    if d.maybe(0.2):
        equation = equation.replace(",", " , ").replace("->", " -> ")
    lead = d.dims(0, 2) if dots else ()
    inputs = {f"x{i}": d.numbers(lead + tuple(sizes[c] for c in t if c != ".")) for i, t in enumerate(terms)}
    return Case([node("Einsum", " ".join(inputs), equation=equation)], inputs, slopes=tuple(inputs))


@row
def weights(d):
    """Of f64 and f16, as initializers."""
    kind, inner, outer = d.pick(D, H), d.size(), d.size()
    op = d.pick("MatMul", "Gemm", "Add", "LayerNormalization", "Where", "Pad", "Clip", "Gather", "Mean")
    x, w, row_of = d.numbers((d.size(), inner), dtype=kind), d.numbers((inner, outer), dtype=kind), d.numbers(
        (inner,), dtype=kind)
    if op in ("MatMul", "Gemm"):
        return Case([node(op, "x w")], {"x": x}, {"w": w})
    if op == "Where":
        return Case([node(op, "c x w")], {"x": x, "c": d.bools(x.shape)}, {"w": row_of})
    if op == "Pad":
        return Case([node(op, "x p w")], {"x": x}, {"p": np.array([0, 1, 2, 0], I), "w": np.array(1.5, kind)})
    if op == "Clip":
        return Case([node(op, "x w v")], {"x": x}, {"w": np.array(-0.5, kind), "v": np.array(1, kind)})
    if op == "Gather":
        return Case([node(op, "w i")], {"i": d.ints(d.dims(0, 2), 0, inner)}, {"w": w})
    attributes = {"epsilon": 0.1} if op == "LayerNormalization" else {}
    return Case([node(op, "x w", **attributes)], {"x": x}, {"w": row_of})


# ---- Convolution and pooling ----

def windows(d, rank, least=4, most=7):
    kernel = [d.size(1, 3) for _ in range(rank)]
    attributes = some(d, strides=[d.size(1, 3) for _ in range(rank)])
    if d.maybe(0.3):
        attributes["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        attributes.update(some(d, pads=[d.size(0, k - 1) for k in kernel] + [d.size(0, k - 1) for k in kernel]))
    return kernel, attributes


@row
def conv(d):
    rank, groups = d.size(1, 3), d.size(1, 3)
    kernel, attributes = windows(d, rank)
    if attributes.get("auto_pad") not in ("SAME_UPPER", "SAME_LOWER"):
        attributes.update(some(d, dilations=[d.size(1, 2) for _ in range(rank)]))
    image = tuple(d.size(5, 7) for _ in range(rank))
    inputs = {"x": d.numbers((d.size(1, 2), groups * d.size(1, 2)) + image)}
    inputs["w"] = d.numbers((groups * d.size(1, 2), inputs["x"].shape[1] // groups) + tuple(kernel))
    if d.maybe():
        inputs["b"] = d.numbers(inputs["w"].shape[:1])
    return Case([node("Conv", " ".join(inputs), group=groups, **some(d, kernel_shape=kernel), **attributes)], inputs,
                slopes=tuple(inputs), floor=5e-5)


@row
def conv_transpose(d):
    rank, groups = d.size(1, 2), d.size(1, 2)
    kernel, attributes = windows(d, rank)
    attributes.pop("auto_pad", None)
    attributes.update(some(d, dilations=[d.size(1, 2) for _ in range(rank)]))
    if "strides" in attributes:
        attributes.update(some(d, output_padding=[d.size(0, s - 1) for s in attributes["strides"]]))
    image = tuple(d.size(3, 5) for _ in range(rank))
    inputs = {"x": d.numbers((d.size(1, 2), groups * d.size(1, 2)) + image)}
    inputs["w"] = d.numbers((inputs["x"].shape[1], d.size(1, 2)) + tuple(kernel))
    if d.maybe():
        inputs["b"] = d.numbers((inputs["w"].shape[1] * groups,))
    return Case([node("ConvTranspose", " ".join(inputs), group=groups, **attributes)], inputs, slopes=tuple(inputs),
                floor=5e-5)


@row
def pool(d):
    rank = d.size(1, 3)
    op = d.pick("MaxPool", "AveragePool", "LpPool")
    kernel, attributes = windows(d, rank)
    if "auto_pad" not in attributes:
        attributes.update(some(d, ceil_mode=1))
    if op == "AveragePool":
        attributes.update(some(d, count_include_pad=1))
    if op == "LpPool":
        attributes.update(some(d, p=d.pick(1, 2, 3)))
    if "auto_pad" not in attributes and "ceil_mode" not in attributes and d.maybe(0.4):  # both: ONNX Runtime's sums
        attributes["dilations"] = [d.size(1, 2) for _ in range(rank)]
    shape = (d.size(1, 2), d.size(1, 2)) + tuple(d.size(5, 7) for _ in range(rank))
    x = d.apart(shape) if op == "MaxPool" else d.numbers(shape, 0.2, 2)
    return Case([node(op, "x", kernel_shape=kernel, **attributes)], {"x": x}, opset=22, slopes=("x",))


@row
def max_unpool(d):
    n, c, h, w = d.size(1, 2), d.size(1, 2), d.size(2, 4), d.size(2, 4)
    attributes = dict(kernel_shape=[2, 2], strides=[2, 2])
    nodes = [node("MaxPool", "x", "t i", **attributes), node("MaxUnpool", "t i", **attributes)]
    return Case(nodes, {"x": d.apart((n, c, 2 * h, 2 * w))}, opset=22, slopes=("x",))


@row
def grid_sample(d):
    rank = d.pick(2, 2, 3)
    shape = (d.size(1, 2), d.size(1, 2)) + tuple(d.size(2, 4) for _ in range(rank))
    modes = ("linear", "nearest", "cubic") if rank == 2 else ("linear", "nearest")
    attributes = some(d, mode=d.pick(*modes), padding_mode=d.pick("zeros", "border", "reflection"), align_corners=1)
    moved = attributes.get("mode") == "cubic" and attributes.get("padding_mode") == "border"
    far = 0.45 if moved else 1.3  # beyond the border the evaluator has other taps than PyTorch and ONNX Runtime
    grid = d.numbers((shape[0],) + tuple(d.size(1, 3) for _ in range(rank)) + (rank,), -far, far)
    return Case([node("GridSample", "x g", **attributes)], {"x": d.numbers(shape), "g": grid}, opset=20,
                slopes=("x",), floor=1e-4)


@row
def resize(d):
    rank = d.size(1, 4)
    shape = tuple(d.size(2, 5) for _ in range(rank))
    mode = d.pick("nearest", "linear", "cubic")
    where = d.pick("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric",
                   "tf_crop_and_resize")
    attributes = {"mode": mode, "coordinate_transformation_mode": where}
    if mode == "nearest":
        attributes.update(some(d, nearest_mode=d.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")))
    if mode == "cubic":
        attributes.update(some(d, cubic_coeff_a=-0.5, exclude_outside=1))
    constants, names = {}, ["x", "", "", ""]
    if where == "tf_crop_and_resize":
        starts = [d.pick(0.0, 0.17) for _ in shape]
        constants["r"] = np.array(starts + [s + d.pick(0.5, 0.8) for s in starts], F)
        names[1] = "r"
        attributes.update(some(d, extrapolation_value=2.5))
    if d.maybe():
        names[3] = "z"
        # Of one element pytorch_half_pixel has coordinate 0 in the specification, and -0.5 in the evaluator.
        constants["z"] = np.array([d.size(2 if where == "pytorch_half_pixel" else 1, 7) for _ in shape], I)
    else:
        names[2] = "c"
        constants["c"] = np.array([d.pick(0.7 if size > 2 else 1.0, 1.0, 1.5, 2.0, 2.5) for size in shape], F)
    while not names[-1]:
        names.pop()
    if mode != "nearest" and d.maybe(0.2) and where not in ("tf_crop_and_resize",):
        attributes["antialias"] = 1
    return Case([node("Resize", " ".join(names), **attributes)], {"x": d.numbers(shape)}, constants, opset=19,
                slopes=("x",), floor=1e-4)


# ---- Movement ----

@row
def pad(d):
    shape = d.dims(1, 4, 2, 5)
    mode = d.pick("constant", "constant", "edge", "reflect", "wrap")
    low = -1 if mode == "constant" else 0
    most = lambda s: s - 1 if mode in ("reflect", "wrap") else 3
    axes = sorted(d.chance.sample(range(len(shape)), d.size(1, len(shape)))) if d.maybe(0.4) else None
    own = axes if axes is not None else range(len(shape))
    pads = [d.size(low, most(shape[a])) for a in own] + [d.size(0, most(shape[a])) for a in own]
    constants, names = {"p": np.array(pads, I)}, ["x", "p", "", ""]
    x = d.any(shape)
    if mode == "constant" and d.maybe():
        constants["v"] = d.any(()).astype(x.dtype)
        names[2] = "v"
    if axes is not None:
        constants["a"] = np.array([a - len(shape) if d.maybe() else a for a in axes], I)
        names[3] = "a"
    while not names[-1]:
        names.pop()
    return Case([node("Pad", " ".join(names), mode=mode)], {"x": x}, constants, opset=21,
                slopes=("x",) if x.dtype == F else ())


@row
def slices(d):
    shape = d.dims(1, 4, 2, 6)
    axes = d.chance.sample(range(len(shape)), d.size(1, len(shape)))
    starts, ends, steps = [], [], []
    for a in axes:
        size = shape[a]
        step = d.pick(1, 2, 3, -1, -2, -3)
        low = d.size(0, size - 1)
        high = d.size(low + 1, size)
        start, end = (low, high) if step > 0 else (high - 1, low - 1)
        if step > 0:
            start, end = (start - size if d.maybe(0.3) else start), (d.pick(end, 2**40) if end == size else end)
        else:
            end = -size - 1 - d.pick(0, 5) if end < 0 else end
            start = d.pick(start, start - size)
        starts.append(start), ends.append(end), steps.append(step)
    axes = [a - len(shape) if d.maybe(0.3) else a for a in axes]
    x = d.any(shape)
    kind = d.pick(I, I32)
    ends = [max(min(e, 2**31 - 1), -2**31) for e in ends] if kind == I32 else ends
    return Case([node("Slice", "x s e a t")], {"x": x}, {"s": np.array(starts, kind), "e": np.array(ends, kind),
                                                         "a": np.array(axes, kind), "t": np.array(steps, kind)},
                slopes=("x",) if x.dtype == F else ())


@row
def split(d):
    shape = d.dims(1, 4, 2, 7)
    axis = d.axis(len(shape))
    x, names, constants, attributes = d.any(shape), "x", {}, {"axis": axis}
    if d.maybe():
        left, parts = shape[axis], []
        while left:
            parts.append(d.size(1, left))
            left -= parts[-1]
        names, constants = "x s", {"s": np.array(parts, I)}
    else:
        count = d.size(1, shape[axis])
        each = -(-shape[axis] // count)
        while (count - 1) * each >= shape[axis]:
            count -= 1
            each = -(-shape[axis] // count)
        parts = [each] * count
        attributes["num_outputs"] = count
    outputs = [f"y{i}" for i in range(len(parts))]
    return Case([node("Split", names, " ".join(outputs), **attributes)], {"x": x}, constants, outputs=outputs,
                opset=18, slopes=("x",) if x.dtype == F else (), of=d.pick(*outputs))


@row
def concat(d):
    shape = list(d.dims(1, 4))
    axis = d.axis(len(shape))
    inputs, kind = {}, d.pick(F, F, D, I, B)
    for i in range(d.size(1, 4)):
        shape[axis] = d.size()
        inputs[f"x{i}"] = d.bools(shape) if kind == B else d.numbers(shape, -9, 9).astype(kind)
    return Case([node("Concat", " ".join(inputs), axis=axis)], inputs, slopes=tuple(inputs) if kind == F else ())


@row
def views(d):
    shape = d.dims(1, 4)
    x, rank = d.any(shape), len(shape)
    slopes = ("x",) if x.dtype == F else ()
    op = d.pick("Transpose", "Flatten", "Unsqueeze", "Squeeze", "Reshape", "Expand", "Tile", "Trilu", "Identity")
    if op == "Transpose":
        return Case([node(op, "x", **some(d, perm=d.chance.sample(range(rank), rank)))], {"x": x}, slopes=slopes)
    if op == "Flatten":
        return Case([node(op, "x", **some(d, axis=d.size(-rank, rank)))], {"x": x}, slopes=slopes)
    if op == "Unsqueeze":
        total = rank + d.size(1, 2)
        axes = [a - total if d.maybe() else a for a in d.chance.sample(range(total), total - rank)]
        return Case([node(op, "x a")], {"x": x}, {"a": np.array(axes, I)}, slopes=slopes)
    if op == "Squeeze":
        ones = [i for i, s in enumerate(shape) if s == 1]
        if not ones or d.maybe(0.3):
            return Case([node(op, "x")], {"x": x}, slopes=slopes)
        axes = d.chance.sample(ones, d.size(1, len(ones)))
        return Case([node(op, "x a")], {"x": x}, {"a": np.array([a - rank if d.maybe() else a for a in axes], I)},
                    slopes=slopes)
    if op == "Reshape":
        wanted = [0 if d.maybe(0.3) else s for s in shape] + [1] * d.size(0, 2)
        wanted[d.size(0, len(wanted) - 1)] = -1
        return Case([node(op, "x a")], {"x": x}, {"a": np.array(wanted, I)}, slopes=slopes)
    if op == "Expand":
        to = [d.size() if s == 1 else d.pick(1, s) for s in shape]
        to = [d.size() for _ in range(d.size(0, 2))] + to[d.size(0, len(to) - 1) if d.maybe(0.2) else 0:]
        return Case([node(op, "x a")], {"x": x}, {"a": np.array(to, I)}, slopes=slopes)
    if op == "Tile":
        return Case([node(op, "x a")], {"x": x}, {"a": np.array([d.size(1, 3) for _ in shape], I)}, slopes=slopes)
    if op == "Trilu" and rank > 1:
        names, constants = ("x a", {"a": np.array(d.size(-4, 4), I)}) if d.maybe() else ("x", {})
        return Case([node(op, names, **some(d, upper=d.pick(0, 1)))], {"x": x}, constants, slopes=slopes)
    return Case([node("Identity", "x")], {"x": x}, slopes=slopes)


@row
def gather(d):
    shape = d.dims(1, 4)
    axis, x = d.axis(len(shape)), d.any(shape)
    op, size = d.pick("Gather", "GatherElements"), shape[axis]
    indices = d.ints(d.dims(0, 3) if op == "Gather" else [s if i != axis % len(shape) else d.size()
                                                         for i, s in enumerate(shape)], -size, size, d.pick(I, I32))
    given = {"x": x}
    constants = {}
    (given if d.maybe() else constants)["i"] = indices
    return Case([node(op, "x i", **({"axis": axis} if op != "Gather" or axis or d.maybe() else {}))], given, constants,
                slopes=("x",) if x.dtype == F else ())


def tuples(d, shape, lead, depth):
    return np.stack([d.ints(lead, -s, s) for s in shape[:depth]], -1)


@row
def gather_nd(d):
    shape = d.dims(1, 4)
    batch = d.size(0, len(shape) - 1)
    depth = d.size(1, len(shape) - batch)
    indices = tuples(d, shape[batch:], shape[:batch] + d.dims(0 if batch else 1, 2), depth)
    x, given, constants = d.any(shape), {}, {}
    (given if d.maybe() else constants)["i"] = indices
    return Case([node("GatherND", "x i", **({"batch_dims": batch} if batch else {}))], {"x": x, **given}, constants,
                slopes=("x",) if x.dtype == F else ())


@row
def scatter_nd(d):
    shape = d.dims(1, 4)
    depth = d.size(1, len(shape))
    every = [np.array(t) for t in np.ndindex(*shape[:depth])]
    add = d.maybe(0.4)
    chosen = [d.chance.choice(every) for _ in range(d.size())] if add else d.chance.sample(
        every, d.size(1, len(every)))
    indices = np.array([[i - s if d.maybe(0.3) else i for i, s in zip(t, shape)] for t in chosen], I)
    x = d.numbers(shape) if add or d.maybe() else d.any(shape)
    updates = d.any((len(chosen),) + shape[depth:]).astype(x.dtype)
    given, constants = {"x": x, "u": updates}, {}
    (given if d.maybe() else constants)["i"] = indices
    return Case([node("ScatterND", "x i u", **({"reduction": "add"} if add else {}))], given, constants, opset=18,
                slopes=("x", "u") if x.dtype == F else ())


@row
def scatter_elements(d):
    shape = d.dims(1, 3)
    axis, add = d.axis(len(shape)), d.maybe(0.4)
    x = d.numbers(shape) if add or d.maybe() else d.any(shape)
    own = [d.size(1, s) for s in shape]
    if add:
        indices = d.ints(own, -shape[axis], shape[axis])
    else:
        line = np.array(d.chance.sample(range(shape[axis]), own[axis]), I)
        moved = np.broadcast_to(line, own[:axis % len(shape)] + own[axis % len(shape) + 1:] + [own[axis]])
        indices = np.ascontiguousarray(np.moveaxis(moved, -1, axis))
    given, constants = {"x": x, "u": d.any(own).astype(x.dtype)}, {}
    (given if d.maybe() else constants)["i"] = indices
    return Case([node("ScatterElements", "x i u", axis=axis, **({"reduction": "add"} if add else {}))], given,
                constants, opset=18, slopes=("x", "u") if x.dtype == F else ())


@row
def one_hot(d):
    shape, depth = d.dims(0, 3), d.size(1, 5)
    kind = d.pick(F, I)
    return Case([node("OneHot", "i n v", axis=d.size(-len(shape) - 1, len(shape)))],
                {"i": d.ints(shape, -depth, depth, d.pick(I, I32))},
                {"n": np.array(d.pick(depth), I), "v": d.numbers((2,), -5, 5).astype(kind)})


@row
def depth_space(d):
    block, channels = d.size(1, 3), d.size(1, 3)
    n, h, w = d.size(1, 2), d.size(1, 3), d.size(1, 3)
    if d.maybe():
        return Case([node("DepthToSpace", "x", blocksize=block, **some(d, mode=d.pick("DCR", "CRD")))],
                    {"x": d.numbers((n, channels * block * block, h, w))}, slopes=("x",))
    return Case([node("SpaceToDepth", "x", blocksize=block)], {"x": d.numbers((n, channels, h * block, w * block))},
                slopes=("x",))


@row
def reverse_sequence(d):
    shape = d.dims(2, 4, 2, 4)
    time = d.pick(0, 1)
    return Case([node("ReverseSequence", "x n", batch_axis=1 - time, time_axis=time)],
                {"x": d.numbers(shape), "n": d.ints((shape[1 - time],), 1, shape[time] + 1)}, slopes=("x",))


# ---- Losses and recurrent operators ----

@row
def loss(d):
    n, c, rest = d.size(1, 4), d.size(2, 5), d.dims(0, 2)
    op = d.pick("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
    labels = d.ints((n,) + rest, 0, c, d.pick(I, I32))
    attributes = some(d, reduction=d.pick("none", "sum", "mean"))
    if d.maybe(0.4):
        attributes["ignore_index"] = d.pick(0, -100, c - 1)
        labels.reshape(-1)[1:][d.bools(labels.size - 1)] = attributes["ignore_index"]
        labels.reshape(-1)[0] = 1 if attributes["ignore_index"] == 0 else 0
    constants, names = {}, "x t"
    if d.maybe(0.3):
        names, constants = "x t w", {"w": d.numbers((c,), 0.3, 2)}
    return Case([node(op, names, **attributes)], {"x": d.numbers((n, c) + rest), "t": labels}, constants, opset=22,
                slopes=("x",))


@row
def recurrent(d):
    op, gates = d.pick(("RNN", 1), ("GRU", 3), ("LSTM", 4))
    time, batch, inputs, hidden = d.size(1, 4), d.size(1, 3), d.size(1, 3), d.size(1, 3)
    way = d.pick("forward", "reverse", "bidirectional")
    ways = 2 if way == "bidirectional" else 1
    given = {"x": d.numbers((time, batch, inputs)), "w": d.numbers((ways, gates * hidden, inputs), -1, 1),
             "r": d.numbers((ways, gates * hidden, hidden), -1, 1)}
    names = ["x", "w", "r", "", "", ""]
    if d.maybe(0.7):
        given["b"] = d.numbers((ways, 2 * gates * hidden))
        names[3] = "b"
    if d.maybe(0.4):
        given["h"] = d.numbers((ways, batch, hidden))
        names[5] = "h"
    attributes = {"hidden_size": hidden, "direction": way}
    if op == "GRU":
        attributes.update(some(d, linear_before_reset=1))
    if op == "LSTM" and d.maybe(0.4):
        given["c"] = d.numbers((ways, batch, hidden))
        names += ["c"]
    while not names[-1]:
        names.pop()
    outputs = ["y", "yh"] + (["yc"] if op == "LSTM" else [])
    return Case([node(op, " ".join(names), " ".join(outputs), **attributes)], given, outputs=outputs, opset=22,
                slopes=tuple(given))


# ---- Running ----

def model_of(case, nodes, inputs, constants, outputs):
    """ONNX's shape inference says what the outputs are."""
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for k, v in inputs.items()]
    graph = helper.make_graph(nodes, "case", infos, outputs, [numpy_helper.from_array(np.array(v), k)
                                                              for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)])
    model.ir_version = 10
    return model


KINDS = {F: "F32", D: "F64", H: "F16", I: "I64", I32: "I32", B: "BOOL"}


def write_safetensors(path, arrays):
    header, body = {}, b""
    for name, value in arrays.items():
        data = np.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": KINDS[value.dtype.type], "shape": list(value.shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head + body)


class Checker:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder
        self.refused = collections.Counter()

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, model, *words):
        """None, or what was said of it."""
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        done = self.suite.run("zbc", self.path("model.onnx"), "-o", self.path("plan"), *words)
        return f"zbc: exit {done.returncode}: {done.stderr.strip()}" if done.returncode else None

    def values(self, case, wanted):
        """What is wrong with the outputs, or None."""
        outputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.asarray(v).dtype),
                                                 np.asarray(v).shape) for n, v in zip(case.outputs, wanted)]
        model = model_of(case, case.nodes, case.inputs, case.constants, outputs)
        wrong = self.compile(model, "--inference")
        if wrong:
            return wrong
        write_safetensors(self.path("data"), case.inputs)
        files = [self.path(f"{i}.npy") for i in range(len(wanted))]
        done = self.suite.run("zb-run", self.path("plan"), "--eval", "safetensors:" + self.path("data"), "--eval-steps",
                              1, *(word for n, f in zip(case.outputs, files) for word in ("--output", f"{n}:{f}")))
        if done.returncode:
            return f"zb-run: exit {done.returncode}: {done.stderr.strip()}"
        for name, file, value in zip(case.outputs, files, wanted):
            wrong = difference(np.load(file), np.asarray(value), case.floor)
            if wrong:
                return f"output {name}: {wrong}"
        return None

    def slope(self, case, draw):
        """What is wrong with the gradient, or None."""
        wanted = np.asarray(dict(zip(case.outputs, evaluate(case)))[case.of])
        weight = draw.numbers(wanted.shape)
        nodes = [helper.make_node("Add", ["p." + n, "zero." + n], [n]) for n in case.slopes]
        nodes += case.nodes
        nodes += [node("Mul", f"{case.of} out.weight", "weighted"), node("ReduceSum", "weighted", "loss", keepdims=0)]
        zeros = {"zero." + n: np.zeros_like(case.inputs[n]) for n in case.slopes}
        rest = {n: v for n, v in case.inputs.items() if n not in case.slopes}
        given = {"p." + n: case.inputs[n] for n in case.slopes}
        loss = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
        model = model_of(case, nodes, {**rest, **zeros}, {**case.constants, **given, "out.weight": weight}, loss)
        wrong = self.compile(model, *(word for n in case.slopes for word in ("--train", "p." + n)), "--freeze",
                             "out.weight", "--optimizer", "sgd:lr=1")
        if wrong:
            return wrong
        write_safetensors(self.path("data"), {**rest, **zeros})
        done = self.suite.run("zb-run", self.path("plan"), "--data", "safetensors:" + self.path("data"), "--steps", 1,
                              "--save", self.path("saved"))
        if done.returncode:
            return f"zb-run: exit {done.returncode}: {done.stderr.strip()}"
        after, _ = common.read_safetensors(self.path("saved/weights.safetensors"))
        for name in case.slopes:
            if "p." + name not in after:
                return f"no gradient reaches {name}"
            x = case.inputs[name]
            gradient = x.astype(D) - np.frombuffer(after["p." + name][2], F).reshape(x.shape).astype(D)
            way = draw.numbers(x.shape, -1, 1, D)
            ends = [float((np.asarray(dict(zip(case.outputs, evaluate(case, {name: x.astype(D) + side * STEP * way})))[
                case.of]).astype(D) * weight).sum()) for side in (1, -1)]
            found, expected = float((gradient * way).sum()), (ends[0] - ends[1]) / (2 * STEP)
            room = SLOPE_TOLERANCE * max(1.0, float(abs(gradient * way).sum()))
            if not abs(found - expected) <= room:
                return f"the slope of {name} is {expected}, the gradient says {found}"
        return None

    def check(self, name, case, draw, verbose):
        try:
            wanted = evaluate(case)
        except Exception as error:
            self.refused[f"{name}: the evaluator fails: {type(error).__name__}: {str(error)[:90]}"] += 1
            return
        text = f"{name}: {str(case.nodes[-1]).replace(chr(10), ' ')} " + str(
            {k: (str(v.dtype), v.shape) for k, v in {**case.inputs, **case.constants}.items()})
        wrong = self.values(case, wanted)
        self.suite.check(wrong is None, f"{text}: {wrong}")
        if case.slopes and wrong is None:
            wrong = self.slope(case, draw)
            self.suite.check(wrong is None, f"{text}: gradient: {wrong}")
        if verbose and wrong is None:
            print("ok " + text)


def own_conv_transpose(x, w, b=None, *, group=1, strides=None, pads=None, dilations=None, output_padding=None):
    """Each element of x adds its filter to the result: the evaluator knows no groups of several channels."""
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads, added = pads or [0] * 2 * rank, output_padding or [0] * rank
    kernel, each = w.shape[2:], x.shape[1] // group
    sizes = [(n - 1) * s + (k - 1) * e + 1 + a for n, s, k, e, a in zip(x.shape[2:], strides, kernel, dilations, added)]
    out = np.zeros((x.shape[0], w.shape[1] * group, *sizes), D)
    for channel in range(x.shape[1]):
        first = channel // each * w.shape[1]
        for tap in np.ndindex(*kernel):
            places = tuple(slice(t * e, t * e + (n - 1) * s + 1, s)
                           for t, e, n, s in zip(tap, dilations, x.shape[2:], strides))
            for m in range(w.shape[1]):
                out[(slice(None), first + m) + places] += x[:, channel].astype(D) * float(w[(channel, m) + tap])
    out = out[(...,) + tuple(slice(a, n - e) for n, a, e in zip(sizes, pads[:rank], pads[rank:]))]
    return (out if b is None else out + b.reshape(-1, *[1] * rank)).astype(x.dtype)


def own_lrn(x, *, size, alpha=1e-4, beta=0.75, bias=1.0):
    """By channels, where the evaluator counts rows."""
    square, around = x.astype(D) ** 2, np.zeros(x.shape)
    for c in range(x.shape[1]):
        around[:, c] = square[:, max(0, c - (size - 1) // 2):c + size // 2 + 1].sum(1)
    return (x / (bias + alpha / size * around) ** beta).astype(x.dtype)


def pool_axis(n, kernel, stride, dilation, pads, auto, ceil):
    """(begins of the windows, begin and end of the padded input) along an axis."""
    reach = (kernel - 1) * dilation + 1
    if auto.startswith("SAME"):
        added = max((-(-n // stride) - 1) * stride + reach - n, 0)
        pads = (added // 2, added - added // 2) if auto == "SAME_UPPER" else (added - added // 2, added // 2)
    room = n + sum(pads) - reach
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= n + pads[0]:
        count -= 1  # a window that would begin behind the input
    return [i * stride - pads[0] for i in range(count)], -pads[0], n + pads[1]


def own_pool(op, x, *, kernel_shape, strides=None, pads=None, dilations=None, auto_pad=b"NOTSET", ceil_mode=0,
             count_include_pad=0, p=2):
    """Each window by itself: the evaluator's windows begin elsewhere where ceil_mode adds one or pads are uneven."""
    rank = x.ndim - 2
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    axes = [pool_axis(x.shape[2 + i], kernel_shape[i], strides[i], dilations[i], (pads[i], pads[rank + i]),
                      auto_pad.decode(), ceil_mode) for i in range(rank)]
    out = np.zeros((*x.shape[:2], *(len(begins) for begins, _, _ in axes)), D)
    for place in np.ndindex(*out.shape[2:]):
        taps = [[begins[at] + k * e for k in range(size)]
                for (begins, _, _), at, size, e in zip(axes, place, kernel_shape, dilations)]
        inside = np.ix_(range(x.shape[0]), range(x.shape[1]), *([t for t in along if 0 <= t < n]
                                                                for along, n in zip(taps, x.shape[2:])))
        window = x[inside].astype(D).reshape(*x.shape[:2], -1)
        counted = np.prod([sum(low <= t < high for t in along) for along, (_, low, high) in zip(taps, axes)])
        out[(slice(None), slice(None), *place)] = (
            window.max(-1) if op == "MaxPool" else (np.abs(window) ** p).sum(-1) ** (1 / p) if op == "LpPool" else
            window.sum(-1) / (counted if count_include_pad else window.shape[-1]))
    return out.astype(x.dtype)


OWN = {"ConvTranspose": own_conv_transpose, "LRN": own_lrn,
       **{op: functools.partial(own_pool, op) for op in ("MaxPool", "AveragePool", "LpPool")}}


def evaluate(case, changed=None):
    inputs, last = dict(case.inputs), case.nodes[-1]
    if changed:  # finite differences, in f64
        inputs = {n: v.astype(D) if v.dtype == F else v for n, v in inputs.items()} | changed
    constants = {n: v.astype(D) if changed and v.dtype == F and last.op_type != "Resize" else v
                 for n, v in case.constants.items()}
    if last.op_type in OWN:
        attributes = {a.name: helper.get_attribute_value(a) for a in last.attribute}
        return [OWN[last.op_type](*(inputs[name] for name in last.input), **attributes)]
    infos = [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in case.outputs]
    model = model_of(case, case.nodes, inputs, constants, infos)
    return ReferenceEvaluator(model).run(None, inputs)


def difference(got, wanted, floor=None):
    shape = wanted.shape or (1,)
    if got.shape != shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{got.shape}, expected {wanted.dtype}{wanted.shape}"
    wanted = wanted.reshape(shape)
    if wanted.dtype.type not in TOLERANCE:
        return None if np.array_equal(got, wanted) else f"{got.reshape(-1)[:8]}, expected {wanted.reshape(-1)[:8]}"
    relative, absolute = TOLERANCE[wanted.dtype.type]
    near = np.isclose(got, wanted, rtol=relative, atol=floor or absolute, equal_nan=True)
    if near.all():
        return None
    place = tuple(np.argwhere(~near)[0])
    return f"{(~near).sum()} of {near.size} elements, first {[int(i) for i in place]}: {got[place]}, " \
           f"expected {wanted[place]}"


def check_itself(suite):
    """A comparison that cannot fail shows nothing."""
    one = np.ones((2, 3), F)
    suite.check(difference(one, one) is None, "equal arrays are equal")
    for other in (one + F(1e-3), one.astype(D), one.reshape(3, 2), np.full((2, 3), np.nan, F)):
        suite.check(difference(other, one) is not None, f"{other} is not what is wanted")


def main():
    options = common.arguments(__doc__, ("--count", {"type": int, "default": COUNT}), ("--seed", {"type": int}),
                               ("--only", {"default": "*"}), ("--verbose", {"action": "store_true"}))
    suite = common.Suite(options.bin)
    check_itself(suite)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    rows = [name for name in ROWS if fnmatch.fnmatch(name, options.only)]
    print(f"  {options.count} cases of {len(rows)} rows, drawn by --seed {seed}", flush=True)
    with common.scratch() as folder:
        checker = Checker(suite, folder)
        for i in range(options.count):
            name = rows[i % len(rows)]
            draw = Draw(f"{seed} {i} {name}")
            checker.check(f"{i} {name}", ROWS[name](draw), draw, options.verbose)
    for text, count in sorted(checker.refused.items()):
        print(f"  {count} {text}")
    return suite.finish()


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
