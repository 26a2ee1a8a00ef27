#!/usr/bin/env python3
"""Writes Inputs/checked: small self-checking programs in the form of StableHLO's own test data.

    make_checked.py                    needs numpy; deterministic

Each file has a function @main that compares what it computes of @inputs with @expected. What is expected are loops
over elements in plain Python, by the words of StableHLO's specification: integers of any width, windows, scatters and
gathers of any form with places out of range, sorts, padding between elements. test/e2e/stablehlo_testdata.py runs them.
"""
import math
import os
import shutil

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "checked")
RANDOM = np.random.RandomState(7)
TYPES = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16, "ui16": np.uint16, "i32": np.int32, "ui32": np.uint32,
         "i64": np.int64, "ui64": np.uint64, "f32": np.float32, "f64": np.float64, "f16": np.float16, "i1": np.bool_}
WHOLE = ["i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"]


def bits_of(kind):
    return int(kind.lstrip("ui"))


def whole(kind, *shape):
    """Any bits, and the ends of the range."""
    low, high = (0, 1 << bits_of(kind)) if kind[0] == "u" else (-(1 << bits_of(kind) - 1), 1 << bits_of(kind) - 1)
    values = [int(RANDOM.randint(0, 1 << 30)) * (1 << 34) + int(RANDOM.randint(0, 1 << 30)) for _ in
              range(math.prod(shape))]
    values = [low + value % (high - low) for value in values]
    values[:3] = [low, high - 1, 1][:len(values)]
    return np.array(values, object).reshape(shape)


def wrapped(value, kind):
    size = 1 << bits_of(kind)
    value %= size
    return value - size if kind[0] != "u" and value >= size // 2 else value


def type_of(array, kind):
    return "tensor<" + "".join(f"{n}x" for n in np.shape(array)) + kind + ">"


def dense(array, kind):
    def word(value):
        if kind == "i1":
            return "true" if value else "false"
        if kind[0] != "f":
            return str(int(value))
        if math.isfinite(value):
            return f"{float(value):.17e}"
        bits = TYPES[kind](value).tobytes()[::-1].hex().upper()
        return "0x" + bits

    def nested(part):
        return word(part) if np.ndim(part) == 0 else "[" + ", ".join(map(nested, part)) + "]"
    return "dense<" + nested(array) + ">"


def write(name, inputs, expected, body, check="expect_eq"):
    """inputs, expected: (array, kind). body: lines that read %0#0, %0#1 .. (of one input %0) and end in %out, or
    %out#0 .. of several results."""
    def function(title, values):
        lines = [f"    %c{i} = stablehlo.constant {dense(a, kind)} : {type_of(a, kind)}"
                 for i, (a, kind) in enumerate(values)]
        types = ", ".join(type_of(a, kind) for a, kind in values)
        names = ", ".join(f"%c{i}" for i in range(len(values)))
        return f"  func.func private @{title}() -> ({types}) {{\n" + "\n".join(lines) + \
            f"\n    return {names} : {types}\n  }}\n"

    def call(title, values, number):
        types = ", ".join(type_of(a, kind) for a, kind in values)
        count = f":{len(values)}" if len(values) > 1 else ""
        return f"    %{number}{count} = call @{title}() : () -> ({types})\n"
    types = ", ".join(type_of(a, kind) for a, kind in expected)
    checks = ""
    names = [f"%out#{i}" if len(expected) > 1 else "%out" for i in range(len(expected))]
    for i, (a, kind) in enumerate(expected):
        reference = f"%1#{i}" if len(expected) > 1 else "%1"
        how = check if kind[0] == "f" else "expect_eq"
        checks += (f"    stablehlo.custom_call @check.{how}({names[i]}, {reference}) {{has_side_effect = true}} : "
                   f"({type_of(a, kind)}, {type_of(a, kind)}) -> ()\n")
    text = f"module @{name} {{\n  func.func public @main() -> ({types}) {{\n" + call("inputs", inputs, 0) + \
        call("expected", expected, 1) + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")) + checks + \
        f"    return {', '.join(names)} : {types}\n  }}\n" + function("inputs", inputs) + \
        function("expected", expected) + "}\n"
    with open(os.path.join(FOLDER, name + ".mlir"), "w") as file:
        file.write(text)


# ---- Integers ----

def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def shifted(a, places, kind, how):
    size = bits_of(kind)
    inside = 0 <= places < size
    if how == "shift_left":
        return wrapped(a << places, kind) if inside else 0
    if how == "shift_right_logical":
        return wrapped((a % (1 << size)) >> places, kind) if inside else 0
    signed = a if kind[0] != "u" else wrapped(a, "i" + kind[2:])
    return wrapped(signed >> (places if inside else size - 1), kind)


def integers():
    ops = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
           "maximum": max, "minimum": min, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
           "xor": lambda a, b: a ^ b, "divide": truncated, "remainder": lambda a, b: a - b * truncated(a, b)}
    for kind in WHOLE:
        a, b = whole(kind, 24), whole(kind, 24)
        b[b == 0] = 3
        if kind[0] != "u":
            b[:2] = [-1, 7]
        places = np.array([0, 1, bits_of(kind) - 1, bits_of(kind)] + list(RANDOM.randint(0, bits_of(kind), 20)), object)
        shape, body, results = type_of(a, kind), "", []
        for op, function in ops.items():
            results.append([wrapped(function(int(x), int(y)), kind) for x, y in zip(a, b)])
            body += f"%{op} = stablehlo.{op} %0#0, %0#1 : {shape}\n"
        for op in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
            if kind[0] == "u" and op.endswith("arithmetic"):
                continue
            results.append([shifted(int(x), int(y), kind, op) for x, y in zip(a, places)])
            body += f"%{op} = stablehlo.{op} %0#0, %0#2 : {shape}\n"
        names = [line.split(" ")[0] for line in body.strip().split("\n")]
        for op in ("not", "negate", "popcnt"):
            results.append([wrapped({"not": ~int(x), "negate": -int(x),
                                     "popcnt": (int(x) % (1 << bits_of(kind))).bit_count()}[op], kind) for x in a])
            body += f"%{op} = stablehlo.{op} %0#0 : {shape}\n"
            names.append("%" + op)
        rows = [f"%r{i} = stablehlo.reshape {name} : ({shape}) -> tensor<1x24x{kind}>" for i, name in enumerate(names)]
        joined = ", ".join(f"%r{i}" for i in range(len(names)))
        types = ", ".join([f"tensor<1x24x{kind}>"] * len(names))
        body += "\n".join(rows) + f"\n%out = stablehlo.concatenate {joined}, dim = 0 : ({types}) -> " \
            f"tensor<{len(names)}x24x{kind}>"
        write(f"integers_{kind}", [(a, kind), (b, kind), (places, kind)], [(np.array(results, object), kind)], body)


def orders():
    for kind in WHOLE:
        a, b = whole(kind, 16), whole(kind, 16)
        b[4:8] = a[4:8]
        sign = "UNSIGNED" if kind[0] == "u" else "SIGNED"
        body, results = "", []
        for i, (direction, function) in enumerate({"LT": "__lt__", "LE": "__le__", "GT": "__gt__", "GE": "__ge__",
                                                   "EQ": "__eq__", "NE": "__ne__"}.items()):
            results.append([getattr(int(x), function)(int(y)) for x, y in zip(a, b)])
            body += f"%a{i} = stablehlo.compare {direction}, %0#0, %0#1, {sign} : ({type_of(a, kind)}, " \
                f"{type_of(a, kind)}) -> tensor<16xi1>\n%r{i} = stablehlo.reshape %a{i} : (tensor<16xi1>) -> " \
                "tensor<1x16xi1>\n"
        body += f"%out = stablehlo.concatenate {', '.join(f'%r{i}' for i in range(6))}, dim = 0 : " \
            f"({', '.join(['tensor<1x16xi1>'] * 6)}) -> tensor<6x16xi1>"
        write(f"orders_{kind}", [(a, kind), (b, kind)], [(np.array(results), "i1")], body)


def conversions():
    for kind in ("i8", "ui8", "ui32"):
        a = whole("i64", 12)
        write(f"convert_{kind}", [(a, "i64")], [(np.array([wrapped(int(x), kind) for x in a], object), kind)],
              f"%out = stablehlo.convert %0 : (tensor<12xi64>) -> tensor<12x{kind}>")
    a = whole("ui64", 16)
    write("convert_ui64_f64", [(a, "ui64")], [(np.array([float(int(x)) for x in a]), "f64")],
          "%out = stablehlo.convert %0 : (tensor<16xui64>) -> tensor<16xf64>")
    reals = np.array([0.0, 1.9, 2.0 ** 63, 2.0 ** 64 - 2048, 1e15])
    write("convert_f64_ui64", [(reals, "f64")], [(np.array([int(x) for x in reals], object), "ui64")],
          "%out = stablehlo.convert %0 : (tensor<5xf64>) -> tensor<5xui64>")
    base, power = whole("i16", 12), np.array([0, 1, 2, 3, 5, 7, 0, 1, 2, 3, -1, -2], object)
    base[-2:] = [-1, 1]
    wanted = [wrapped(int(x) ** int(y), "i16") if y >= 0 else (1 if x == 1 or y % 2 == 0 else -1) for x, y in
              zip(base, power)]
    write("power_i16", [(base, "i16"), (power, "i16")], [(np.array(wanted, object), "i16")],
          "%out = stablehlo.power %0#0, %0#1 : tensor<12xi16>")
    for kind, word in (("f32", "ui32"), ("f16", "ui16"), ("f64", "i64")):
        values = np.array([0.0, -0.0, 1.5, -2.75, math.inf, -math.inf, 1e-7], TYPES[kind])
        bits = values.view(TYPES[word])
        write(f"bits_{kind}", [(values, kind)], [(bits.astype(object), word)],
              f"%out = stablehlo.bitcast_convert %0 : (tensor<7x{kind}>) -> tensor<7x{word}>")
        write(f"bits_{word}", [(bits.astype(object), word)], [(values, kind)],
              f"%out = stablehlo.bitcast_convert %0 : (tensor<7x{word}>) -> tensor<7x{kind}>")


def products():
    a, b = whole("i8", 3, 5), whole("i8", 5, 4)
    wanted = [[wrapped(sum(int(a[i, k]) * int(b[k, j]) for k in range(5)), "i8") for j in range(4)] for i in range(3)]
    write("dot_i8", [(a, "i8"), (b, "i8")], [(np.array(wanted, object), "i8")],
          "%out = stablehlo.dot_general %0#0, %0#1, contracting_dims = [1] x [0] : (tensor<3x5xi8>, tensor<5x4xi8>) -> "
          "tensor<3x4xi8>")


# ---- Reductions and windows ----

REGIONS = {"add": lambda a, b: a + b, "maximum": max, "minimum": min, "multiply": lambda a, b: a * b}


def region(op, kind, names=("a", "b")):
    a, b = names
    return (f"({{\n^bb0(%{a}: tensor<{kind}>, %{b}: tensor<{kind}>):\n  %{a}{b} = stablehlo.{op} %{a}, %{b} : "
            f"tensor<{kind}>\n  stablehlo.return %{a}{b} : tensor<{kind}>\n}})")


def window(name, kind, op, x, initial, size, stride, base, dilation, padding):
    rank = x.ndim
    grid = [(n - 1) * d + 1 + lo + hi for n, d, (lo, hi) in zip(x.shape, base, padding)]
    full = np.full(grid, initial, object)
    for at in np.ndindex(*x.shape):
        place = [i * d + lo for i, d, (lo, _) in zip(at, base, padding)]
        if all(0 <= p < n for p, n in zip(place, grid)):
            full[tuple(place)] = x[at]
    out = [(n - ((k - 1) * d + 1)) // s + 1 for n, k, d, s in zip(grid, size, dilation, stride)]
    wanted = np.empty(out, object)
    for at in np.ndindex(*out):
        value = initial
        for k in np.ndindex(*size):
            value = REGIONS[op](value, full[tuple(a * s + i * d for a, s, i, d in zip(at, stride, k, dilation))])
        wanted[at] = wrapped(int(value), kind) if kind[0] != "f" else float(value)

    def array(values):
        return "array<i64: " + ", ".join(map(str, values)) + ">"
    attributes = f"window_dimensions = {array(size)}, window_strides = {array(stride)}, base_dilations = " \
        f"{array(base)}, window_dilations = {array(dilation)}, padding = dense<{[list(p) for p in padding]}> : " \
        f"tensor<{rank}x2xi64>"
    write(name, [(x, kind)], [(wanted if kind[0] != "f" else wanted.astype(float), kind)],
          f"%i = stablehlo.constant {dense(initial, kind)} : tensor<{kind}>\n"
          f'%out = "stablehlo.reduce_window"(%0, %i) <{{{attributes}}}> {region(op, kind)} : ({type_of(x, kind)}, '
          f"tensor<{kind}>) -> {type_of(wanted, kind)}", "expect_close")


def halves(*shape):
    """Reals whose sums are exact in any order."""
    return RANDOM.randint(-40, 40, shape) / 4.0


def windows():
    window("window_add", "f32", "add", halves(5, 7), 1.0, (2, 3), (2, 1), (1, 2), (2, 1), ((1, 0), (2, 3)))
    window("window_max", "f32", "maximum", halves(2, 9, 8), -math.inf, (1, 3, 2), (1, 2, 2), (1, 1, 1), (1, 1, 1),
           ((0, 0), (1, 1), (0, 0)))
    window("window_long", "f32", "add", halves(3, 29), 0.0, (1, 29), (1, 1), (1, 1), (1, 1), ((0, 0), (28, 0)))
    window("window_dilated", "f32", "add", halves(60), 0.5, (19, ), (2, ), (2, ), (3, ), ((4, 5), ))
    window("window_ui8", "ui8", "add", whole("ui8", 4, 6), 3, (3, 2), (1, 1), (1, 1), (1, 1), ((0, 0), (0, 0)))
    window("window_cropped", "i32", "minimum", whole("i32", 8), 2 ** 31 - 1, (2, ), (1, ), (1, ), (1, ), ((-1, -2), ))
    x = halves(3, 7)
    x[1, 2] = x[1, 5] = 99.0
    greatest = x.max(axis=1)
    where = np.array([list(row).index(m) for row, m in zip(x, greatest)], object)
    write("argmax", [(x, "f32")], [(greatest, "f32"), (where, "i32")], """
%n = stablehlo.iota dim = 1 : tensor<3x7xi32>
%i = stablehlo.constant dense<0xFF800000> : tensor<f32>
%z = stablehlo.constant dense<0> : tensor<i32>
%out:2 = stablehlo.reduce(%0 init: %i), (%n init: %z) across dimensions = [1] : (tensor<3x7xf32>, tensor<3x7xi32>, """
          """tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
 reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
  %2 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %4 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %5 = stablehlo.and %3, %4 : tensor<i1>
  %6 = stablehlo.or %2, %5 : tensor<i1>
  %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
  %8 = stablehlo.select %6, %c, %d : tensor<i1>, tensor<i32>
  stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
}""")
    x, source = halves(5, 7), halves(2, 3)
    wanted = np.full(x.shape, 0.25)
    for at in np.ndindex(2, 3):
        places = [(at[0] * 2 - 1 + i, at[1] * 2 + j) for i in range(3) for j in range(3)]
        places = [p for p in places if 0 <= p[0] < 5 and 0 <= p[1] < 7]
        best = places[0]
        for p in places[1:]:
            best = best if x[best] >= x[p] else p
        wanted[best] += source[at]
    write("select_and_scatter", [(x, "f32"), (source, "f32")], [(wanted, "f32")], """
%i = stablehlo.constant dense<0.25> : tensor<f32>
%out = "stablehlo.select_and_scatter"(%0#0, %0#1, %i) <{window_dimensions = array<i64: 3, 3>, window_strides = """
          """array<i64: 2, 2>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %2 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %2 : tensor<i1>
}, """ + region("add", "f32")[1:-1] + """) : (tensor<5x7xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<5x7xf32>""")
    x = halves(3, 4)
    wanted = np.full((6, 7), 9.0)
    for at in np.ndindex(3, 4):
        place = (at[0] * 2 + 1, at[1] * 3 - 2)
        if 0 <= place[0] < 6 and 0 <= place[1] < 7:
            wanted[place] = x[at]
    write("pad", [(x, "f32")], [(wanted, "f32")], """
%i = stablehlo.constant dense<9.0> : tensor<f32>
%out = stablehlo.pad %0, %i, low = [1, -2], high = [0, -1], interior = [1, 2] : (tensor<3x4xf32>, tensor<f32>) -> """
          """tensor<6x7xf32>""")


# ---- Scatter, gather, sort ----

def scatters():
    """A window of 2 x 4 of [5, 6, 4]: at places of the first two dimensions, some of them out of range."""
    for op, kind in (("add", "f32"), ("multiply", "i16"), ("maximum", "ui64"), ("minimum", "f32"), (None, "i32"),
                     ("add", "i1")):
        x = halves(5, 6, 4) if kind == "f32" else RANDOM.randint(0, 2, (5, 6, 4)) if kind == "i1" else \
            whole(kind, 5, 6, 4)
        updates = halves(4, 2, 4) if kind == "f32" else RANDOM.randint(0, 2, (4, 2, 4)) if kind == "i1" else \
            whole(kind, 4, 2, 4)
        at = np.array([[4, 4], [0, 5], [4, 4], [-1, 2]], object)
        wanted = x.copy()
        for t, i, j in np.ndindex(4, 2, 4):
            place = (at[t][0], at[t][1] + i, j)
            if not all(0 <= p < n for p, n in zip(place, x.shape)):
                continue
            old, new = wanted[place], updates[t, i, j]
            if kind == "f32":
                wanted[place] = REGIONS[op](old, new)
            elif kind == "i1":
                wanted[place] = old or new
            else:
                wanted[place] = wrapped(int(REGIONS[op](int(old), int(new))) if op else int(new), kind)
        body = region(op, kind) if op else f"({{\n^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>):\n  stablehlo.return " \
            f"%b : tensor<{kind}>\n}})"
        numbers = "#stablehlo.scatter<update_window_dims = [1, 2], inserted_window_dims = [0], " \
            "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>"
        types = f"({type_of(x, kind)}, tensor<4x2xi32>, {type_of(updates, kind)}) -> {type_of(x, kind)}"
        write(f"scatter_{op or 'none'}_{kind}", [(x, kind), (at, "i32"), (updates, kind)], [(wanted, kind)],
              f'%out = "stablehlo.scatter"(%0#0, %0#1, %0#2) <{{scatter_dimension_numbers = {numbers}}}> {body} : '
              f"{types}")
        if op == "add" and kind == "f32":
            write("scatter_known", [(x, kind), (updates, kind)], [(wanted, kind)],
                  f"%at = stablehlo.constant {dense(at, 'i32')} : tensor<4x2xi32>\n"
                  f'%out = "stablehlo.scatter"(%0#0, %at, %0#1) <{{scatter_dimension_numbers = {numbers}}}> {body} : '
                  f"{types}")


def gathers():
    x, at = halves(5, 6, 4), np.array([[4, 4], [0, 9], [-3, 2]], object)
    wanted = np.empty((2, 3, 4))
    for i, t, j in np.ndindex(2, 3, 4):
        first, second = min(max(at[t][0], 0), 4), min(max(at[t][1], 0), 4)
        wanted[i, t, j] = x[first, second + i, j]
    write("gather", [(x, "f32"), (at, "i64")], [(wanted, "f32")],
          '%out = "stablehlo.gather"(%0#0, %0#1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], '
          "collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2, "
          "4>}> : (tensor<5x6x4xf32>, tensor<3x2xi64>) -> tensor<2x3x4xf32>")
    x, update = halves(5, 6), halves(2, 3)
    for name, place in (("inside", (1, 2)), ("beyond", (4, -7))):
        first, second = min(max(place[0], 0), 3), min(max(place[1], 0), 3)
        wanted = x.copy()
        wanted[first:first + 2, second:second + 3] = update
        write(f"update_{name}", [(x, "f32"), (update, "f32"), (np.array(place[0]), "i32"), (np.array(place[1]), "i32")],
              [(wanted, "f32")],
              "%out = stablehlo.dynamic_update_slice %0#0, %0#1, %0#2, %0#3 : (tensor<5x6xf32>, tensor<2x3xf32>, "
              "tensor<i32>, tensor<i32>) -> tensor<5x6xf32>")


def sorts():
    keys, values = RANDOM.randint(0, 4, (6, 3)).astype(object), whole("ui64", 6, 3)
    order = [sorted(range(6), key=lambda i: -keys[i, j]) for j in range(3)]
    wanted = [np.array([[a[order[j][i], j] for j in range(3)] for i in range(6)], object) for a in (keys, values)]
    write("sort_falling", [(keys, "i8"), (values, "ui64")], [(wanted[0], "i8"), (wanted[1], "ui64")], """
%out:2 = "stablehlo.sort"(%0#0, %0#1) <{dimension = 0 : i64, is_stable = true}> ({
^bb0(%a: tensor<i8>, %b: tensor<i8>, %c: tensor<ui64>, %d: tensor<ui64>):
  %2 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
  stablehlo.return %2 : tensor<i1>
}) : (tensor<6x3xi8>, tensor<6x3xui64>) -> (tensor<6x3xi8>, tensor<6x3xui64>)""")
    x = np.array([3.0, -0.0, math.inf, 0.0, -math.inf, math.nan, -1.5, 0.25], np.float32)
    wanted = np.array([-math.inf, -1.5, -0.0, 0.0, 0.25, 3.0, math.inf, math.nan], np.float32)
    write("sort_total", [(x, "f32")], [(wanted, "f32")], """
%out = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %2 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %2 : tensor<i1>
}) : (tensor<8xf32>) -> tensor<8xf32>""")
    x = halves(3, 9)
    x[:, 4] = x[:, 2]
    order = [sorted(range(9), key=lambda i: (-x[r, i], i))[:4] for r in range(3)]
    write("top_k", [(x, "f32")], [(np.array([[x[r, i] for i in order[r]] for r in range(3)]), "f32"),
                                  (np.array(order, object), "i32")],
          "%out:2 = chlo.top_k(%0, k = 4) : tensor<3x9xf32> -> (tensor<3x4xf32>, tensor<3x4xi32>)")


# ---- Functions of floats ----

def functions():
    x = np.concatenate([np.linspace(-0.999, 40, 29), [0.0, 1e-30, 1e6]])
    cases = {"log_plus_one": (x, np.log1p), "exponential_minus_one": (np.linspace(-20, 20, 30), np.expm1),
             "cbrt": (np.concatenate([np.linspace(-50, 50, 30), [0.0, 1e-20, 1e20]]), np.cbrt),
             "round_nearest_afz": (np.array([0.5, -0.5, 0.49999997, 1.5, 2.5, -2.5, 1e9, -0.3]),
                                   lambda v: np.copysign(np.floor(np.abs(v) + (np.abs(v) % 1 >= 0.5)), v))}
    for op, (values, function) in cases.items():
        for kind in ("f32", "f64"):
            values = values.astype(TYPES[kind])
            wanted = function(values.astype(np.float64)).astype(TYPES[kind])
            write(f"{op}_{kind}", [(values, kind)], [(wanted, kind)],
                  f"%out = stablehlo.{op} %0 : {type_of(values, kind)}", "expect_close")
    x = np.linspace(-3, 9, 25)
    for kind in ("f32", "f64"):
        wanted = np.array([math.erfc(v) for v in x.astype(TYPES[kind])])
        write(f"erfc_{kind}", [(x.astype(TYPES[kind]), kind)], [(wanted.astype(TYPES[kind]), kind)],
              f"%out = chlo.erfc %0 : tensor<25x{kind}> -> tensor<25x{kind}>", "expect_almost_eq")
    y, x = RANDOM.randn(40).astype(np.float32), RANDOM.randn(40).astype(np.float32)
    y[:6], x[:6] = [0, 0, 1, -1, 0, 2], [0, -1, 0, 0, 1, -3]
    write("atan2", [(y, "f32"), (x, "f32")], [(np.arctan2(y.astype(np.float64), x), "f32")],
          "%out = stablehlo.atan2 %0#0, %0#1 : tensor<40xf32>", "expect_close")
    x[6:8], y[6:8] = [0, 0], [1, -1]
    write("next_after", [(x, "f32"), (y, "f32")], [(np.nextafter(x, y), "f32")],
          "%out = chlo.next_after %0#0, %0#1 : tensor<40xf32>, tensor<40xf32> -> tensor<40xf32>", "expect_eq")
    wanted = np.concatenate([np.linspace(-2.5, 2.5, 21), [4.0, -4.5]])
    x = np.array([math.erf(v) for v in wanted])
    write("erf_inv", [(x, "f64")], [(wanted, "f64")], "%out = chlo.erf_inv %0 : tensor<23xf64> -> tensor<23xf64>",
          "expect_almost_eq")
    x = RANDOM.randn(20).astype(np.float32)
    write("reduce_precision", [(x, "f32")], [(x.astype(np.float16).astype(np.float32), "f32")],
          "%out = stablehlo.reduce_precision %0, format = e5m10 : tensor<20xf32>", "expect_eq")


def empties():
    """jnp.roll of a whole dimension: a slice of nothing before or behind the rest."""
    x = np.array(RANDOM.randint(-9, 10, (2, 5)), np.float32)
    lines = ["%a = stablehlo.slice %0 [0:2, 5:5] : (tensor<2x5xf32>) -> tensor<2x0xf32>",
             "%b = stablehlo.slice %0 [0:2, 0:5] : (tensor<2x5xf32>) -> tensor<2x5xf32>",
             "%out = stablehlo.concatenate %a, %b, %b, %a, dim = 1 : (tensor<2x0xf32>, tensor<2x5xf32>, "
             "tensor<2x5xf32>, tensor<2x0xf32>) -> tensor<2x10xf32>"]
    write("slice_of_nothing", [(x, "f32")], [(np.concatenate([x, x], 1), "f32")], "\n".join(lines))


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    for part in (integers, orders, conversions, products, windows, scatters, gathers, sorts, functions, empties):
        part()
    print(f"{len(os.listdir(FOLDER))} files in {FOLDER}")


if __name__ == "__main__":
    main()
