"""Files of one operator as each format has it, written without any framework: text of torch.export's graphs and of
StableHLO, bytes of ONNX, PIR JSON of Paddle. Operands are the parameters w, u and v, and inputs i; the loss is the sum
of the result times that of a parameter p and the input x. For meaning.py."""
import json
import struct

import onnx_nodes

message, varint = onnx_nodes.message, onnx_nodes.varint
F, I, B = "f32", "i64", "i1"


def dims_of(kind):
    """'4x6xf32' -> [4, 6], 'f32'."""
    *dims, dtype = kind.split("x")
    return [int(dim) for dim in dims], dtype


# Rows of floats, or to integers, without a gradient.
FLAT = ("ceil floor sign argmax argmin round trunc places is_inf of_number of_sizes random bernoulli one_hot "
        "integers").split()


def is_input(name, row, values, made):
    """Of w, u, v, i and the like; parameters are what a gradient reaches."""
    return name in "ms" or dims_of(values[name])[1] != F or row.split(":")[0] in FLAT or dims_of(made[0])[1] == B


# ---- Formats: each makes a file of rows (op, operands, attributes, constants), and says how ops are written ----

class Aten:
    ending = ".mlir"

    def __init__(self, op, operands="w", /, made=None, **attributes):
        self.op, self.operands, self.attributes, self.made = op, operands.split(), attributes, made

    @staticmethod
    def attribute(value):
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (int, float)):
            return f"{value} : i64" if isinstance(value, int) else f"{value:e} : f64"
        if isinstance(value, str):
            return f'"{value}"'
        if value and isinstance(value[0], float):
            return "[" + ", ".join(f"{one:e} : f64" for one in value) + "]"
        return "array<i64" + (": " + ", ".join(map(str, value)) if value else "") + ">"

    def file(self, row, values, made):
        types = {name: f"tensor<{kind}>" for name, kind in values.items()}
        roles = {name: "aten.input" if is_input(name, row, values, made) else "aten.parameter" for name in values}
        arguments = ", ".join(f'%{name}: {types[name]} {{{roles[name]} = "{name}"}}' for name in values)
        arguments += ", " * bool(values)
        arguments += '%p: tensor<2xf32> {aten.parameter = "p"}, %x: tensor<f32> {aten.input = "x"}'
        attributes = ", ".join(f"{name} = {self.attribute(value)}" for name, value in self.attributes.items())
        operands = ", ".join("%" + name for name in self.operands)
        kinds = ", ".join(types.get(name, "none") for name in self.operands)
        none = '%none = "aten.none"() : () -> none' if "none" in self.operands else ""
        made = self.made or made
        dims, dtype = dims_of(made[0])
        count = len(made)
        results = [f"tensor<{kind}>" for kind in made]
        results = results[0] if count == 1 else f"({', '.join(results)})"
        name = "%y#0" if count > 1 else "%y"
        real = "x".join([*map(str, dims), F])
        return f"""module attributes {{aten.format = 1 : i64, aten.torch = "2.13.0"}} {{
  func.func @main({arguments}) -> (tensor<f32> {{aten.output = "loss"}}) {{
    {none}
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
        if value and isinstance(value[0], float):
            return head + b"".join(b"\x3d" + struct.pack("<f", one) for one in value) + b"\xa0\x01\x06"
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
            if name == "p" or not is_input(name, row, values, made):
                graph += message(5, self.tensor(name, dims, dtype, [0.5 + 0.25 * k for k in range(count)]))
            else:
                graph += message(11, self.value(name, kind))
        for name, (dims, dtype, numbers) in self.constants.items():
            graph += message(5, self.tensor(name, dims, dtype, numbers))
        graph += message(11, self.value("x", F)) + message(12, self.value("loss", F))
        return b"\x08\x0a" + message(7, graph) + message(8, b"\x10" + varint(self.opset))


# Ops of Paddle that say a type; of lists; to lists.
TYPED = "argmax argmin cast full full_like full_int_array full_with_tensor assign_value arange uniform gaussian".split()
JOINING, PARTING = ("concat", "stack", "add_n"), ("split", "split_with_num", "unbind")


class Paddle:
    ending = ".json"
    types = {F: "t_f32", I: "t_i64", B: "t_bool"}
    names = {F: "float32", I: "int64", B: "bool"}

    def __init__(self, op, operands="w", constants=None, lists=None, made=None, **attributes):
        self.op, self.operands, self.attributes = op, operands.split(), attributes
        self.constants, self.lists, self.made = constants or {}, lists or {}, made

    def file(self, row, values, made):
        ops, numbers = [], {}

        def attribute(name, value):
            if isinstance(value, list):
                letter = "f32" if value and isinstance(value[0], float) else "i64"
                kind = {"#": "0.a_array", "D": [{"#": "0.a_" + letter, "D": one} for one in value]}
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
            return [{"%": numbers[name], "TT": tensor(kind) if isinstance(kind, str) else {
                "#": "0.t_vec", "D": [tensor(one) for one in kind]}} for name, kind in pairs]

        def dtype_of(dtype):
            return {"AT": {"#": "1.a_dtype", "D": self.names[dtype]}, "N": "dtype"}

        def add(op, operands, pairs, attributes, stops=False):
            ops.append({"#": ("0." if op in ("combine", "split ") else "1.") + op.strip(), "A": attributes,
                        "I": [{"%": numbers.get(name, 0)} for name in operands],
                        "O": results(*pairs),
                        "OA": [{"AT": {"#": "0.a_array", "D": [{"#": "0.a_bool", "D": stops} for _ in pairs]},
                                "N": "stop_gradient"}]})

        for name, kind in [*values.items(), ("p", "2xf32")]:
            if name in "pms" or not is_input(name, row, values, made):
                ops.append({"#": "p", "A": [0, 1, 1, name], "DA": [], "O": results((name, kind))[0],
                            "OA": [1, 0, 1], "QA": []})
        for name, kind in [*values.items(), ("x", F)]:
            if name == "x" or (is_input(name, row, values, made) and name not in "ms"):
                shape = {"AT": {"#": "1.a_intarray", "D": dims_of(kind)[0]}, "N": "shape"}
                add("data", [], [(name, kind)], [attribute("name", name), shape, dtype_of(dims_of(kind)[1])], True)
        for name, (value, dtype) in self.constants.items():
            shape = {"AT": {"#": "1.a_intarray", "D": [1]}, "N": "shape"}
            number = {"AT": {"#": "0.a_f64", "D": value}, "N": "value"}
            add("full", [], [(name, "1x" + dtype)], [shape, number, dtype_of(dtype)], True)
        for name, numbers_of in self.lists.items():
            add("full_int_array", [], [(name, f"{len(numbers_of)}xi64")], [attribute("value", numbers_of), dtype_of(I)],
                True)
        made = self.made or made
        pairs = [("y" if k == 0 else f"y{k}", kind) for k, kind in enumerate(made)]
        if self.op == "cross_entropy_with_softmax":
            pairs = [("softmax", values["w"]), ("y", made[0])]
        attributes = [attribute(*pair) for pair in self.attributes.items() if pair[0] != "dtype"]
        attributes += [dtype_of(self.attributes.get("dtype", dims_of(made[0])[1]))] if self.op in TYPED else []
        operands = self.operands
        if self.op in JOINING:
            listed = [name for name in operands if name in values]
            add("combine", listed, [("list", [values[name] for name in listed])], [])
            operands = ["list", *(name for name in operands if name not in values)]
        if self.op in PARTING:
            add(self.op, operands, [("parts", list(made))], attributes)
            add("split ", ["parts"], pairs, [])
        else:
            add(self.op, operands, pairs, attributes)
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
