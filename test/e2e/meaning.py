#!/usr/bin/env python3
"""One meaning an operator: where two formats have the same operator, it is imported through both, and the IR must be
the same after canonicalization.

    meaning.py [--bin BUILD/bin] [--show] [PAIR...]

A row of PAIRS is an operator as each format writes it, of the parameters w, u and v and the labels i. Its sum times
that of a parameter p and the input x is the loss; where an operator has no gradient, w, u and v are inputs. Files are
written here, without any framework: text of torch.export's graphs and of StableHLO, bytes of ONNX, PIR JSON of Paddle.
What is compared is the formula of the loss: ops, attributes and types, whatever their order and names are. A form that
must differ says why in DIFFER, and is an error as soon as it does not. Ends with "N passed, N failed".
"""
import json
import os
import re
import struct
import sys

import common
import onnx_nodes

message, varint = onnx_nodes.message, onnx_nodes.varint
F, I, B = "f32", "i64", "i1"


def dims_of(kind):
    """'4x6xf32' -> [4, 6], 'f32'."""
    *dims, dtype = kind.split("x")
    return [int(dim) for dim in dims], dtype


FLAT = "ceil floor sign argmax argmin".split()  # of floats or to integers, without a gradient


def is_input(name, row, made):
    """Of w, u, v and i."""
    return name == "i" or row in FLAT or dims_of(made[0])[1] == B


# ---- Formats: each makes a file of rows (op, operands, attributes, constants), and says how ops are written ----

class Aten:
    ending = ".mlir"

    def __init__(self, op, operands="w", **attributes):
        self.op, self.operands, self.attributes = op, operands.split(), attributes

    @staticmethod
    def attribute(value):
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (int, float)):
            return f"{value} : i64" if isinstance(value, int) else f"{value:e} : f64"
        if isinstance(value, str):
            return f'"{value}"'
        return "array<i64" + (": " + ", ".join(map(str, value)) if value else "") + ">"

    def file(self, row, values, made):
        types = {name: f"tensor<{kind}>" for name, kind in values.items()}
        roles = {name: "aten.input" if is_input(name, row, made) else "aten.parameter" for name in values}
        arguments = ", ".join(f'%{name}: {types[name]} {{{roles[name]} = "{name}"}}' for name in values)
        arguments += ', %p: tensor<2xf32> {aten.parameter = "p"}, %x: tensor<f32> {aten.input = "x"}'
        attributes = ", ".join(f"{name} = {self.attribute(value)}" for name, value in self.attributes.items())
        operands = ", ".join("%" + name for name in self.operands)
        kinds = ", ".join(types[name] for name in self.operands)
        dims, dtype = dims_of(made[0])
        count = len(made)
        results = [f"tensor<{kind}>" for kind in made]
        results = results[0] if count == 1 else f"({', '.join(results)})"
        name = "%y#0" if count > 1 else "%y"
        real = "x".join([*map(str, dims), F])
        return f"""module attributes {{aten.format = 1 : i64, aten.torch = "2.13.0"}} {{
  func.func @main({arguments}) -> (tensor<f32> {{aten.output = "loss"}}) {{
    %y{":%d" % count if count > 1 else ""} = "aten.{self.op}"({operands}) {{{attributes}}} : ({kinds}) -> {results}
    %real = "aten._to_copy"({name}) : (tensor<{made[0]}>) -> tensor<{real}>
    %sum = "aten.sum"(%real) : (tensor<{real}>) -> tensor<f32>
    %other = "aten.sum"(%p) : (tensor<2xf32>) -> tensor<f32>
    %both = "aten.mul.Tensor"(%sum, %other) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %loss = "aten.mul.Tensor"(%both, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }}
}}
""".encode()


class Onnx:
    ending = ".onnx"
    numbers = {F: (1, "f"), I: (7, "q"), B: (9, "?")}

    def __init__(self, op, operands="w", opset=22, constants=None, outputs=None, **attributes):
        self.op, self.operands, self.attributes, self.outputs = op, operands.split(), attributes, outputs
        self.constants, self.opset = constants or {}, opset

    def tensor(self, name, dims, dtype, values):
        number, letter = self.numbers[dtype]
        data = struct.pack(f"<{len(values)}{letter}", *values)
        return b"".join(b"\x08" + varint(dim) for dim in dims) + b"\x10" + varint(number) + message(
            8, name.encode()) + message(9, data)

    @staticmethod
    def attribute(name, value):
        head = message(1, name.encode())
        if isinstance(value, float):
            return head + b"\x15" + struct.pack("<f", value) + b"\xa0\x01\x01"
        if isinstance(value, int):
            return head + b"\x18" + varint(value & (1 << 64) - 1) + b"\xa0\x01\x02"
        if isinstance(value, str):
            return head + message(4, value.encode()) + b"\xa0\x01\x03"
        return head + b"".join(b"\x40" + varint(one & (1 << 64) - 1) for one in value) + b"\xa0\x01\x07"

    def node(self, op, inputs, outputs, **attributes):
        content = b"".join(message(1, name.encode() if name != "_" else b"") for name in inputs)
        content += b"".join(message(2, name.encode()) for name in outputs) + message(4, op.encode())
        return message(1, content + b"".join(message(5, self.attribute(*pair)) for pair in attributes.items()))

    def value(self, name, kind):
        dims, dtype = dims_of(kind)
        shape = b"".join(message(1, b"\x08" + varint(dim)) for dim in dims)
        of_tensor = b"\x08" + varint(self.numbers[dtype][0]) + message(2, shape)
        return message(1, name.encode()) + message(2, message(1, of_tensor))

    def file(self, row, values, made):
        outputs = ["y", *(f"y{k}" for k in range(1, self.outputs or len(made)))]
        graph = self.node(self.op, self.operands, outputs, **self.attributes)
        graph += self.node("Cast", ["y"], ["real"], to=1) + self.node("ReduceSum", ["real"], ["sum"], keepdims=0)
        graph += self.node("ReduceSum", ["p"], ["other"], keepdims=0) + self.node("Mul", ["sum", "other"], ["both"])
        graph += self.node("Mul", ["both", "x"], ["loss"])
        graph += message(2, b"graph")
        for name, kind in [*values.items(), ("p", "2xf32")]:
            dims, dtype = dims_of(kind)
            count = 1
            for dim in dims:
                count *= dim
            if name == "p" or not is_input(name, row, made):
                graph += message(5, self.tensor(name, dims, dtype, [0.5 + 0.25 * k for k in range(count)]))
            else:
                graph += message(11, self.value(name, kind))
        for name, (dims, dtype, numbers) in self.constants.items():
            graph += message(5, self.tensor(name, dims, dtype, numbers))
        graph += message(11, self.value("x", F)) + message(12, self.value("loss", F))
        return b"\x08\x0a" + message(7, graph) + message(8, b"\x10" + varint(self.opset))


class Paddle:
    ending = ".json"
    types = {F: "t_f32", I: "t_i64", B: "t_bool"}
    names = {F: "float32", I: "int64", B: "bool"}

    def __init__(self, op, operands="w", constants=None, lists=None, **attributes):
        self.op, self.operands, self.attributes = op, operands.split(), attributes
        self.constants, self.lists = constants or {}, lists or {}

    def file(self, row, values, made):
        ops, numbers = [], {}

        def attribute(name, value):
            if isinstance(value, list):
                kind = {"#": "0.a_array", "D": [{"#": "0.a_i64", "D": one} for one in value]}
            else:
                letter = {bool: "bool", int: "i32", float: "f32", str: "str"}[type(value)]
                kind = {"#": "0.a_" + letter, "D": value}
            return {"AT": kind, "N": name}

        def tensor(kind):
            dims, dtype = dims_of(kind)
            return {"#": "0.t_dtensor", "D": [{"#": "0." + self.types[dtype]}, dims, "NCHW", [], 0]}

        def results(*pairs):
            for name, _ in pairs:
                numbers[name] = len(numbers) + 1
            return [{"%": numbers[name], "TT": tensor(kind)} for name, kind in pairs]

        def dtype_of(dtype):
            return {"AT": {"#": "1.a_dtype", "D": self.names[dtype]}, "N": "dtype"}

        def add(op, operands, pairs, attributes, stops=False):
            ops.append({"#": "1." + op, "A": attributes, "I": [{"%": numbers.get(name, 0)} for name in operands],
                        "O": results(*pairs),
                        "OA": [{"AT": {"#": "0.a_array", "D": [{"#": "0.a_bool", "D": stops} for _ in pairs]},
                                "N": "stop_gradient"}]})

        for name, kind in [*values.items(), ("p", "2xf32")]:
            if name == "p" or not is_input(name, row, made):
                ops.append({"#": "p", "A": [0, 1, 1, name], "DA": [], "O": results((name, kind))[0],
                            "OA": [1, 0, 1], "QA": []})
        for name, kind in [*values.items(), ("x", F)]:
            if name == "x" or is_input(name, row, made):
                shape = {"AT": {"#": "1.a_intarray", "D": dims_of(kind)[0]}, "N": "shape"}
                add("data", [], [(name, kind)], [attribute("name", name), shape, dtype_of(dims_of(kind)[1])], True)
        for name, (value, dtype) in self.constants.items():
            shape = {"AT": {"#": "1.a_intarray", "D": [1]}, "N": "shape"}
            number = {"AT": {"#": "0.a_f64", "D": value}, "N": "value"}
            add("full", [], [(name, "1x" + dtype)], [shape, number, dtype_of(dtype)], True)
        for name, numbers_of in self.lists.items():
            add("full_int_array", [], [(name, f"{len(numbers_of)}xi64")], [attribute("value", numbers_of), dtype_of(I)],
                True)
        pairs = [("y" if k == 0 else f"y{k}", kind) for k, kind in enumerate(made)]
        if self.op == "cross_entropy_with_softmax":
            pairs = [("softmax", values["w"]), ("y", made[0])]
        attributes = [attribute(*pair) for pair in self.attributes.items()]
        if self.op in ("argmax", "argmin"):
            attributes.append(dtype_of(I))
        add(self.op, self.operands, pairs, attributes)
        dims, dtype = dims_of(made[0])
        real = "x".join([*map(str, dims), F])
        add("cast", ["y"], [("real", real)], [dtype_of(F)])
        add("full_int_array", [], [("all", "0xi64")], [attribute("value", []), dtype_of(I)], True)
        add("sum", ["real", "all"], [("sum", F)], [attribute("keepdim", False)])
        add("sum", ["p", "all"], [("other", F)], [attribute("keepdim", False)])
        add("multiply", ["sum", "other"], [("both", F)], [])
        add("multiply", ["both", "x"], [("loss", F)], [])
        block = {"#": "block_0", "args": [], "ops": ops}
        return json.dumps({"base_code": {"magic": "pir", "trainable": True, "version": 4},
                           "program": {"regions": [{"#": "region_0", "blocks": [block]}]}}).encode()


class Hlo:
    """Lines of text, which make y."""
    ending = ".mlir"

    def __init__(self, *lines):
        self.lines = lines

    def file(self, row, values, made):
        all_values = [("p", "2xf32"), *values.items(), ("x", F)]
        arguments = ", ".join(f'%{name}: tensor<{kind}> loc("{name}")' for name, kind in all_values)
        dims, _ = dims_of(made[0])
        real = "x".join([*map(str, dims), F])
        lines = "\n    ".join(self.lines)
        axes = ", ".join(map(str, range(len(dims))))
        types = f": (tensor<{real}>, tensor<f32>) -> tensor<f32>"
        of_p = ": (tensor<2xf32>, tensor<f32>) -> tensor<f32>"
        return f"""module @jit_f {{
  func.func public @main({arguments}) -> tensor<f32> {{
    {lines}
    %real = stablehlo.convert %y : (tensor<{made[0]}>) -> tensor<{real}>
    %none = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %sum = stablehlo.reduce(%real init: %none) applies stablehlo.add across dimensions = [{axes}] {types}
    %other = stablehlo.reduce(%p init: %none) applies stablehlo.add across dimensions = [0] {of_p}
    %both = stablehlo.multiply %sum, %other : tensor<f32>
    %loss = stablehlo.multiply %both, %x : tensor<f32>
    return %loss : tensor<f32>
  }}
}}
""".encode()


def hlo1(op, kind="4x6xf32"):
    return Hlo(f"%y = stablehlo.{op} %w : tensor<{kind}>")


def chlo1(op, kind="4x6xf32"):
    return Hlo(f"%y = chlo.{op} %w : tensor<{kind}> -> tensor<{kind}>")


def hlo2(op, kind="4x6xf32"):
    return Hlo(f"%y = stablehlo.{op} %w, %v : tensor<{kind}>")


def compare(direction):
    return Hlo(f"%y = stablehlo.compare {direction}, %w, %v, FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> "
               "tensor<4x6xi1>")


W = {"w": "4x6xf32"}
WV = {"w": "4x6xf32", "v": "4x6xf32"}
IMAGE = {"w": "2x4x6x6xf32"}
LABELS = {"w": "4x6xf32", "i": "4xi64"}


def ints(*values):
    return [len(values)], I, list(values)


def unary(name, onnx=None, paddle=None, hlo=None, aten=None):
    doors = [Aten(aten or name)]
    doors += [Onnx(onnx)] if onnx else []
    doors += [Paddle(paddle or name)] if paddle != "" else []
    doors += [hlo] if hlo else []
    return name, W, ["4x6xf32"], doors


def binary(name, aten, onnx, paddle, hlo, kind=F):
    return name, WV, ["4x6x" + kind], [Aten(aten, "w v"), Onnx(onnx, "w v"), Paddle(paddle, "w v"), hlo]


PAIRS = [
    unary("abs", "Abs", "abs", hlo1("abs")),
    unary("acos", "Acos", "acos", chlo1("acos")),
    unary("acosh", "Acosh", "acosh", chlo1("acosh")),
    unary("asin", "Asin", "asin", chlo1("asin")),
    unary("asinh", "Asinh", "asinh", chlo1("asinh")),
    unary("atan", "Atan", "atan", chlo1("atan")),
    unary("atanh", "Atanh", "atanh", chlo1("atanh")),
    unary("ceil", "Ceil", "ceil", hlo1("ceil")),
    unary("cos", "Cos", "cos", hlo1("cosine")),
    unary("cosh", "Cosh", "cosh", chlo1("cosh")),
    unary("erf", "Erf", "erf", chlo1("erf")),
    unary("erfc", None, "", chlo1("erfc")),
    unary("exp", "Exp", "exp", hlo1("exponential")),
    unary("expm1", None, "expm1", hlo1("exponential_minus_one")),
    unary("floor", "Floor", "floor", hlo1("floor")),
    unary("hardswish", "HardSwish"),
    unary("log", "Log", "log", hlo1("log")),
    unary("log10"),
    unary("log1p", None, "log1p", hlo1("log_plus_one")),
    unary("log2"),
    unary("log_sigmoid", None, "logsigmoid"),
    unary("mish", "Mish"),
    unary("neg", "Neg", "", hlo1("negate")),
    unary("reciprocal", "Reciprocal"),
    unary("relu", "Relu"),
    unary("rsqrt", None, "rsqrt", hlo1("rsqrt")),
    unary("sigmoid", "Sigmoid", "sigmoid", hlo1("logistic")),
    unary("sign", "Sign", "sign", hlo1("sign")),
    unary("silu", "Swish"),
    unary("sin", "Sin", "sin", hlo1("sine")),
    unary("sinh", "Sinh", "sinh", chlo1("sinh")),
    unary("softplus", "Softplus"),
    unary("sqrt", "Sqrt", "sqrt", hlo1("sqrt")),
    unary("tan", "Tan", "tan", hlo1("tan")),
    unary("tanh", "Tanh", "tanh", hlo1("tanh")),
    ("is_finite", W, ["4x6xi1"], [Aten("isfinite"), Hlo("%y = stablehlo.is_finite %w : (tensor<4x6xf32>) -> "
                                                        "tensor<4x6xi1>")]),
    ("is_nan", W, ["4x6xi1"], [Aten("isnan"), Onnx("IsNaN"), Paddle("isnan")]),
    ("gelu", W, ["4x6xf32"], [Aten("gelu", approximate="none"), Onnx("Gelu"), Paddle("gelu", approximate=False)]),
    ("gelu tanh", W, ["4x6xf32"], [Aten("gelu", approximate="tanh"), Onnx("Gelu", approximate="tanh"),
                                   Paddle("gelu", approximate=True)]),
    ("elu", W, ["4x6xf32"], [Aten("elu", alpha=0.5), Onnx("Elu", alpha=0.5), Paddle("elu", alpha=0.5)]),
    ("celu", W, ["4x6xf32"], [Aten("celu", alpha=0.5), Onnx("Celu", alpha=0.5), Paddle("celu", alpha=0.5)]),
    ("leaky_relu", W, ["4x6xf32"], [Aten("leaky_relu", negative_slope=0.25), Onnx("LeakyRelu", alpha=0.25),
                                    Paddle("leaky_relu", negative_slope=0.25)]),
    ("hard_sigmoid", W, ["4x6xf32"], [Onnx("HardSigmoid", alpha=0.25, beta=0.5),
                                      Paddle("hardsigmoid", slope=0.25, offset=0.5)]),
    ("soft_shrink", W, ["4x6xf32"], [Aten("softshrink", lambd=0.25), Onnx("Shrink", lambd=0.25, bias=0.25),
                                     Paddle("softshrink", threshold=0.25)]),
    ("hardtanh", W, ["4x6xf32"], [Aten("hardtanh", min_val=-0.5, max_val=0.25),
                                  Paddle("hardtanh", t_min=-0.5, t_max=0.25)]),
    ("softplus beta", W, ["4x6xf32"], [Aten("softplus", beta=2.0), Paddle("softplus", beta=2.0, threshold=20.0)]),
    ("clip", W, ["4x6xf32"], [Aten("clamp", min=-0.5, max=0.25),
                              Onnx("Clip", "w lo hi", constants={"lo": ([], F, [-0.5]), "hi": ([], F, [0.25])}),
                              Paddle("clip", "w lo hi", constants={"lo": (-0.5, F), "hi": (0.25, F)})]),
    ("clip below", W, ["4x6xf32"], [Aten("clamp_min", min=-0.5),
                                    Onnx("Clip", "w lo", constants={"lo": ([], F, [-0.5])})]),
    binary("add", "add.Tensor", "Add", "add", hlo2("add")),
    binary("sub", "sub.Tensor", "Sub", "subtract", hlo2("subtract")),
    binary("mul", "mul.Tensor", "Mul", "multiply", hlo2("multiply")),
    binary("div", "div.Tensor", "Div", "divide", hlo2("divide")),
    binary("max", "maximum", "Max", "maximum", hlo2("maximum")),
    binary("min", "minimum", "Min", "minimum", hlo2("minimum")),
    binary("pow", "pow.Tensor_Tensor", "Pow", "elementwise_pow", hlo2("power")),
    binary("equal", "eq.Tensor", "Equal", "equal", compare("EQ"), B),
    binary("less", "lt.Tensor", "Less", "less_than", compare("LT"), B),
    binary("less_equal", "le.Tensor", "LessOrEqual", "less_equal", compare("LE"), B),
    binary("greater", "gt.Tensor", "Greater", "greater_than", compare("GT"), B),
    binary("greater_equal", "ge.Tensor", "GreaterOrEqual", "greater_equal", compare("GE"), B),
    ("differs", WV, ["4x6xi1"], [Aten("ne.Tensor", "w v"), Paddle("not_equal", "w v"), compare("NE")]),
    ("lerp", {**WV, "u": "4x6xf32"}, ["4x6xf32"], [Aten("lerp.Tensor", "w v u"), Paddle("lerp", "w v u")]),
    ("sum", W, ["4xf32"], [Aten("sum.dim_IntList", dim=[1]), Onnx("ReduceSum", "w a", constants={"a": ints(1)},
                                                                 keepdims=0),
                           Paddle("sum", "w a", lists={"a": [1]}, keepdim=False),
                           Hlo("%c = stablehlo.constant dense<0.000000e+00> : tensor<f32>",
                               "%y = stablehlo.reduce(%w init: %c) applies stablehlo.add across dimensions = [1] : "
                               "(tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>")]),
    ("mean", W, ["4x1xf32"], [Aten("mean.dim", dim=[1], keepdim=True), Onnx("ReduceMean", "w a", constants={
        "a": ints(1)}), Paddle("mean", "w a", lists={"a": [1]}, keepdim=True)]),
    ("max of rows", W, ["4xf32"], [Aten("amax", dim=[1]), Onnx("ReduceMax", "w a", constants={"a": ints(1)},
                                                              keepdims=0),
                                   Paddle("max", "w a", lists={"a": [1]}, keepdim=False),
                                   Hlo("%c = stablehlo.constant dense<0xFF800000> : tensor<f32>",
                                       "%y = stablehlo.reduce(%w init: %c) applies stablehlo.maximum across "
                                       "dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>")]),
    ("prod", W, ["4xf32"], [Aten("prod.dim_int", dim=1), Onnx("ReduceProd", "w a", constants={"a": ints(1)},
                                                             keepdims=0)]),
    ("logsumexp", W, ["4xf32"], [Aten("logsumexp", dim=[1]), Onnx("ReduceLogSumExp", "w a", constants={"a": ints(1)},
                                                                 keepdims=0),
                                 Paddle("logsumexp", axis=[1], keepdim=False)]),
    ("norm 2", W, ["4xf32"], [Aten("linalg_vector_norm", dim=[1], ord=2.0),
                              Onnx("ReduceL2", "w a", constants={"a": ints(1)}, keepdims=0),
                              Paddle("p_norm", porder=2.0, axis=1, keepdim=False)]),
    ("softmax", W, ["4x6xf32"], [Aten("softmax.int", dim=-1), Onnx("Softmax"), Paddle("softmax", axis=-1)]),
    ("log_softmax", W, ["4x6xf32"], [Aten("log_softmax.int", dim=0), Onnx("LogSoftmax", axis=0),
                                     Paddle("log_softmax", axis=0)]),
    ("cumsum", W, ["4x6xf32"], [Aten("cumsum", dim=1), Onnx("CumSum", "w a", constants={"a": ([], I, [1])}),
                                Paddle("cumsum", "w a", constants={"a": (1, I)}, exclusive=False, reverse=False)]),
    ("layer_norm", {**W, "v": "6xf32", "u": "6xf32"}, ["4x6xf32"],
     [Aten("layer_norm", "w v u", normalized_shape=[6], eps=1e-5), Onnx("LayerNormalization", "w v u", epsilon=1e-5),
      Paddle("layer_norm", "w v u", begin_norm_axis=1, epsilon=1e-5)]),
    ("rms_norm", {**W, "v": "6xf32"}, ["4x6xf32"],
     [Aten("rms_norm", "w v", normalized_shape=[6], eps=1e-5),
      Onnx("RMSNormalization", "w v", opset=23, epsilon=1e-5)]),
    ("group_norm", {**IMAGE, "v": "4xf32", "u": "4xf32"}, ["2x4x6x6xf32", "2x2xf32", "2x2xf32"],
     [Aten("native_group_norm", "w v u", N=2, C=4, HxW=36, group=2, eps=1e-5),
      Onnx("GroupNormalization", "w v u", outputs=1, num_groups=2, epsilon=1e-5),
      Paddle("group_norm", "w v u", groups=2, epsilon=1e-5, data_format="NCHW")]),
    ("instance_norm", {**IMAGE, "v": "4xf32", "u": "4xf32"}, ["2x4x6x6xf32"],
     [Onnx("InstanceNormalization", "w v u", epsilon=1e-5), Paddle("instance_norm", "w v u", epsilon=1e-5)]),
    ("cross_entropy", LABELS, ["4xf32"],
     [Aten("cross_entropy_loss", "w i", reduction=0, ignore_index=-100),
      Onnx("SoftmaxCrossEntropyLoss", "w i", reduction="none", ignore_index=-100)]),
    ("nll_loss", LABELS, ["f32"], [Aten("nll_loss_nd", "w i", reduction=1, ignore_index=-100),
                                   Onnx("NegativeLogLikelihoodLoss", "w i", ignore_index=-100),
                                   Paddle("nll_loss", "w i", reduction="mean", ignore_index=-100)]),
    ("weighted loss", {**LABELS, "v": "6xf32"}, ["f32"],
     [Aten("nll_loss_nd", "w i v", reduction=1, ignore_index=-100),
      Onnx("NegativeLogLikelihoodLoss", "w i v", ignore_index=-100)]),
    ("matmul", {"w": "4x6xf32", "v": "6x5xf32"}, ["4x5xf32"],
     [Aten("matmul", "w v"), Onnx("MatMul", "w v"), Paddle("matmul", "w v", transpose_x=False, transpose_y=False),
      Hlo("%y = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> "
          "tensor<4x5xf32>")]),
    ("addmm", {"u": "5xf32", "w": "4x6xf32", "v": "6x5xf32"}, ["4x5xf32"],
     [Aten("addmm", "u w v", alpha=0.5, beta=2.0), Onnx("Gemm", "w v u", alpha=0.5, beta=2.0),
      Paddle("addmm", "u w v", alpha=0.5, beta=2.0)]),
    ("conv", {"w": "2x4x6x6xf32", "v": "3x4x3x3xf32"}, ["2x3x6x6xf32"],
     [Aten("convolution", "w v", stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=False,
           output_padding=[0, 0], groups=1), Onnx("Conv", "w v", pads=[1, 1, 1, 1]),
      Paddle("conv2d", "w v", strides=[1, 1], paddings=[1, 1], dilations=[1, 1], groups=1)]),
    ("max_pool", IMAGE, ["2x4x3x3xf32", "2x4x3x3xi64"],
     [Aten("max_pool2d_with_indices", kernel_size=[2, 2]), Onnx("MaxPool", kernel_shape=[2, 2], strides=[2, 2])]),
    ("avg_pool", IMAGE, ["2x4x3x3xf32"],
     [Aten("avg_pool2d", kernel_size=[2, 2]), Onnx("AveragePool", kernel_shape=[2, 2], strides=[2, 2])]),
    ("global mean", IMAGE, ["2x4x1x1xf32"], [Aten("_adaptive_avg_pool2d", output_size=[1, 1]),
                                             Onnx("GlobalAveragePool")]),
    ("reshape", W, ["3x8xf32"], [Aten("view", size=[3, 8]), Onnx("Reshape", "w s", constants={"s": ints(3, -1)}),
                                 Paddle("reshape", "w s", lists={"s": [3, -1]}),
                                 Hlo("%y = stablehlo.reshape %w : (tensor<4x6xf32>) -> tensor<3x8xf32>")]),
    ("transpose", W, ["6x4xf32"], [Aten("permute", dims=[1, 0]), Onnx("Transpose", perm=[1, 0]),
                                   Paddle("transpose", perm=[1, 0]),
                                   Hlo("%y = stablehlo.transpose %w, dims = [1, 0] : (tensor<4x6xf32>) -> "
                                       "tensor<6x4xf32>")]),
    ("unsqueeze", W, ["4x1x6xf32"], [Aten("unsqueeze", dim=1), Onnx("Unsqueeze", "w a", constants={"a": ints(1)}),
                                     Paddle("unsqueeze", "w a", lists={"a": [1]})]),
    ("squeeze", {"w": "4x1x6xf32"}, ["4x6xf32"], [Aten("squeeze.dim", dim=1),
                                                  Onnx("Squeeze", "w a", constants={"a": ints(1)}),
                                                  Paddle("squeeze", "w a", lists={"a": [1]})]),
    ("flatten", {"w": "4x2x3xf32"}, ["4x6xf32"], [Onnx("Flatten"), Paddle("flatten", start_axis=1, stop_axis=-1)]),
    ("expand", {"w": "1x6xf32"}, ["4x6xf32"], [Aten("expand", size=[4, 6]),
                                               Onnx("Expand", "w s", constants={"s": ints(4, 6)}),
                                               Paddle("expand", "w s", lists={"s": [4, -1]})]),
    ("slice", W, ["4x3xf32"], [Aten("slice.Tensor", dim=1, start=1, end=9223372036854775807, step=2),
                               Onnx("Slice", "w s e a t", constants={"s": ints(1), "e": ints(99), "a": ints(1),
                                                                     "t": ints(2)}),
                               Paddle("strided_slice", "w s e t", axes=[1], lists={"s": [1], "e": [99], "t": [2]}),
                               Hlo("%y = stablehlo.slice %w [0:4, 1:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>")]),
    ("slice back", W, ["4x3xf32"], [Onnx("Slice", "w s e a t", constants={"s": ints(-1), "e": ints(-99), "a": ints(1),
                                                                          "t": ints(-2)}),
                                    Paddle("strided_slice", "w s e t", axes=[1],
                                           lists={"s": [-1], "e": [-99], "t": [-2]})]),
    ("split", W, ["4x2xf32", "4x4xf32"], [Aten("split_with_sizes", split_sizes=[2, 4], dim=1),
                                          Onnx("Split", "w s", constants={"s": ints(2, 4)}, axis=1)]),
    ("concat", {"w": "4x6xf32", "v": "4x2xf32"}, ["4x8xf32"],
     [Aten("cat", "w v", dim=1), Onnx("Concat", "w v", axis=1),
      Hlo("%y = stablehlo.concatenate %w, %v, dim = 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>")]),
    ("tile", W, ["8x18xf32"], [Aten("repeat", repeats=[2, 3]), Onnx("Tile", "w r", constants={"r": ints(2, 3)}),
                               Paddle("tile", "w r", lists={"r": [2, 3]})]),
    ("pad", W, ["4x9xf32"], [Aten("constant_pad_nd", pad=[1, 2], value=0.5),
                             Onnx("Pad", "w b f", constants={"b": ints(0, 1, 0, 2), "f": ([], F, [0.5])}),
                             Paddle("pad", paddings=[0, 0, 1, 2], pad_value=0.5),
                             Hlo("%c = stablehlo.constant dense<5.000000e-01> : tensor<f32>",
                                 "%y = stablehlo.pad %w, %c, low = [0, 1], high = [0, 2], interior = [0, 0] : "
                                 "(tensor<4x6xf32>, tensor<f32>) -> tensor<4x9xf32>")]),
    ("flip", W, ["4x6xf32"], [Aten("flip", dims=[1]), Paddle("flip", axis=[1]),
                              Hlo("%y = stablehlo.reverse %w, dims = [1] : tensor<4x6xf32>")]),
    ("roll", W, ["4x6xf32"], [Aten("roll", shifts=[2], dims=[1]),
                              Paddle("roll", "w s", lists={"s": [2]}, axis=[1])]),
    ("tril", W, ["4x6xf32"], [Aten("tril", diagonal=1), Onnx("Trilu", "w k", constants={"k": ([], I, [1])}, upper=0),
                              Paddle("tril", diagonal=1)]),
    ("triu", W, ["4x6xf32"], [Aten("triu", diagonal=-1), Onnx("Trilu", "w k", constants={"k": ([], I, [-1])}),
                              Paddle("triu", diagonal=-1)]),
    ("pixel_shuffle", IMAGE, ["2x1x12x12xf32"], [Onnx("DepthToSpace", blocksize=2, mode="CRD"),
                                                 Paddle("pixel_shuffle", upscale_factor=2, data_format="NCHW")]),
    ("top_k", W, ["4x2xf32", "4x2xi64"], [Aten("topk", k=2, dim=-1), Onnx("TopK", "w k", constants={"k": ints(2)}),
                                          Paddle("topk", "w k", constants={"k": (2, I)}, axis=-1, largest=True)]),
    ("argmax", W, ["4xi64"], [Aten("argmax", dim=1), Onnx("ArgMax", axis=1, keepdims=0),
                              Paddle("argmax", "w a", constants={"a": (1, I)}, keepdims=False, flatten=False)]),
    ("argmin", W, ["4xi64"], [Aten("argmin", dim=1), Onnx("ArgMin", axis=1, keepdims=0),
                              Paddle("argmin", "w a", constants={"a": (1, I)}, keepdims=False, flatten=False)]),
    ("embedding", {"w": "4x6xf32", "i": "3xi64"}, ["3x6xf32"],
     [Aten("embedding", "w i"), Onnx("Gather", "w i"), Paddle("embedding", "i w", padding_idx=-1)]),
    ("gather_elements", {"w": "4x6xf32", "i": "4x2xi64"}, ["4x2xf32"],
     [Aten("gather", "w i", dim=1), Onnx("GatherElements", "w i", axis=1),
      Paddle("take_along_axis", "w i", axis=1)]),
    ("gather_nd", {"w": "4x6xf32", "i": "3x2xi64"}, ["3xf32"], [Onnx("GatherND", "w i"), Paddle("gather_nd", "w i")]),
    ("scatter_add", {"w": "4x6xf32", "i": "4x2xi64", "v": "4x2xf32"}, ["4x6xf32"],
     [Aten("scatter_add", "w i v", dim=1), Onnx("ScatterElements", "w i v", axis=1, reduction="add")]),
]

# Forms that differ from those of PyTorch's door, and why: the frameworks do.
DIFFER = {
    **{("sign", door): "PyTorch's sign of what is no number is 0" for door in ("Onnx", "Paddle", "Hlo")},
    ("abs", "Hlo"): "JAX's slope of |x| at 0 is 1",
    ("leaky_relu", "Paddle"): "Paddle's slope of leaky_relu at 0 is 1",
    ("logsumexp", "Paddle"): "Paddle's logsumexp of an infinite maximum is no number",
    **{(row, "Onnx"): "ONNX counts negative indices from the end, and PyTorch refuses them"
       for row in ("embedding", "gather_elements", "scatter_add")},
    ("gather_elements", "Paddle"): "so does Paddle",
}


# ---- The formula of the loss ----

def split_types(text):
    """Types of results behind ->."""
    return text.split("->")[-1].strip()


def formula(path):
    """Op, attributes, type and operands of the result, of text of the IR with its attributes sorted."""
    ops, result = {}, None
    for line in open(path):
        line = re.sub(r"\s+loc\(.*$", "", line.strip())
        made = re.match(r'(%\w+)(?::\d+)? = "(zb\.\w+)"\((.*?)\)\s*(\{.*\})? ?: (.*)$', line)
        if made:
            name, op, operands, attributes, types = made.groups()
            attributes = re.sub(r'(, )?zb\.origin = "[^"]*"', "", attributes or "").replace("{, ", "{")
            attributes = "" if attributes == "{}" else attributes
            ops[name] = (op, attributes, split_types(types), [one for one in operands.split(", ") if one])
        elif line.startswith("return"):
            result = line.split()[1]
        elif line.startswith("func.func"):
            for name, kind, role in re.findall(r'(%\w+): (tensor<\S+>) \{[^}]*?zb\.(\w+ = "\w+")', line):
                ops[name] = (role.replace("frozen", "param"), "", kind, [])
    shown = {}

    def show(name):
        base, _, number = name.partition("#")
        if base not in shown:
            op, attributes, kind, operands = ops[base]
            shown[base] = f"{op}{attributes}({', '.join(show(one) for one in operands)}) : {kind}"
        return shown[base] + ("#" + number if number else "")

    return show(result)


def imported(suite, folder, door, row, values, made):
    """The formula of the loss through a door."""
    path, dump = os.path.join(folder, "model" + door.ending), os.path.join(folder, "dump")
    with open(path, "wb") as file:
        file.write(door.file(row, values, made))
    trained = ["p", *(name for name in values if not is_input(name, row, made))] if isinstance(door, Hlo) else []
    suite.must("zbc", path, "-o", os.path.join(folder, "plan"), "--dump-ir", dump,
               *(word for name in trained for word in ("--train", name)))
    return formula(os.path.join(dump, "00_zb-canonicalize.mlir"))


def compare_doors(suite, row, show):
    """Each door beside the first one."""
    name, values, made, doors = row
    first = None
    for door in doors:
        kind = type(door).__name__
        with common.scratch() as folder:
            try:
                got = imported(suite, folder, door, name, values, made)
            except common.Failure as failure:
                suite.check(False, f"{name}: {kind}: {failure}")
                continue
        if show:
            print(f"{name} {kind}: {got}")
        if first is None:
            first = got
            continue
        why = DIFFER.get((name, kind))
        said = f"no longer differs, though {why}" if why else f"is not {type(doors[0]).__name__}\n  {first}\n  {got}"
        suite.check((got == first) != bool(why), f"{name}: {kind} {said}")


def main():
    options = common.arguments(__doc__, ("--show", dict(action="store_true", help="print all formulas")),
                               ("pairs", dict(nargs="*", metavar="PAIR")))
    suite = common.Suite(options.bin)
    rows = [row for row in PAIRS if not options.pairs or row[0] in options.pairs]
    common.run_parallel([lambda row=row: compare_doors(suite, row, options.show) for row in rows], options.jobs)
    known = {(name, type(door).__name__) for name, _, _, doors in PAIRS for door in doors[1:]}
    suite.check(set(DIFFER) <= known, f"forms that may differ are pairs: {set(DIFFER) - known}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
