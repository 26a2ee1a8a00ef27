#!/usr/bin/env python3
"""One meaning an operator: where two formats have the same operator, it is imported through both, and the IR must be
the same after canonicalization.

    meaning.py [--bin BUILD/bin] [--show] [PAIR...]

A row of PAIRS is an operator as each format writes it, of the parameters w, u and v and the labels i. Its sum times
that of a parameter p and the input x is the loss; where an operator has no gradient, w, u and v are inputs. Files are
written by meaning_doors.py, without any framework; the pairs are in meaning_pairs.py.
What is compared is the formula of the loss: ops, attributes and types, whatever their order and names are. A form that
must differ says why in DIFFER, and is an error as soon as it does not.

Every row of the four tables of operators is in a pair, or in ALONE, which says why no other format has it: a new row is
an error until it is in one of them, and so is one that is alone though another table has its name. Ends with
"N passed, N failed".
"""
import os
import re
import subprocess
import sys

import common
from meaning_doors import Hlo, is_input
from meaning_pairs import ALONE, DIFFER, PAIRS

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
            result = line.split()[1].rstrip(",")
        elif line.startswith("func.func"):
            for name, kind, roles in re.findall(r"(%\w+): (tensor<\S+>) \{([^}]*)\}", line):
                role = re.search(r"zb\.(\w+ = \"\w+\")", roles)
                ops[name] = (role[1].replace("frozen", "param") if role else roles, "", kind, [])
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
    trained = ["p", *(name for name in values if f"%{name}" in " ".join(door.lines) and
                      not is_input(name, row, values, made))] if isinstance(door, Hlo) else []
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


# Door: (table, the macro of a row, which of its arguments is the name, prefix of the macro's other names).
TABLES = {"Aten": ("aten/aten_ops.def", {"ZB_ATEN": 0}), "Onnx": ("onnx/onnx_ops.def", {"ZB_ONNX": 0}),
          "Paddle": ("paddle/paddle_ops.def", {"ZB_PADDLE": 1, "ZB_PADDLE_GRAD": None, "ZB_PADDLE_STEP": None}),
          "Hlo": ("stablehlo/stablehlo_ops.def", {"ZB_STABLEHLO": 0, "ZB_CHLO": 0})}


def rows_of(table, macros):
    """The names of a table, as the preprocessor has them."""
    lines = [f"#define {macro}({'_, ' * (place or 0)}name, ...) {'' if place is None else '@ROW name'}"
             for macro, place in macros.items()]
    text = "\n".join([*lines, f'#include "ir/import/{table}"', ""])
    done = subprocess.run([os.environ.get("CC", "cc"), "-E", "-P", "-x", "c", "-I", common.SOURCE, "-"], input=text,
                          capture_output=True, text=True, check=True)
    return {name.replace(" ", "") for name in re.findall(r"@ROW (\w+(?: ?\. ?\w+)?)", done.stdout)}


def plain(name):
    """A name without what formats spell in their own way: "ReduceMax", "add.Tensor", "log_softmax"."""
    return re.sub("^reduce|[^a-z0-9]", "", name.partition(".")[0].lower())


def operators(door):
    """The rows of the table of its format that a form of a pair is made of."""
    if not isinstance(door, Hlo):
        return {door.op}
    return {name for line in door.lines for name in re.findall(r"(?:stablehlo|chlo)\.([a-z_0-9]+)", line)}


def check_tables(suite):
    tables = {door: rows_of(*table) for door, table in TABLES.items()}
    paired = {door: set() for door in TABLES}
    for _, _, _, doors in PAIRS:
        for door in doors:
            paired[type(door).__name__] |= operators(door)
    names = {door: {plain(row) for row in rows} for door, rows in tables.items()}
    for door, rows in tables.items():
        alone = set(" ".join(text for _, text in ALONE[door]).split())
        suite.check(len(rows) > 60, f"{door}: {len(rows)} rows of its table are found")
        suite.check(rows <= paired[door] | alone, f"{door}: neither in a pair nor alone: {rows - paired[door] - alone}")
        suite.check(not alone & paired[door], f"{door}: alone, and in a pair: {alone & paired[door]}")
        suite.check(alone <= rows, f"{door}: alone, and no row: {alone - rows}")
        own = {plain(row) for row in paired[door]}  # of another overload
        shared = {row for row in alone for other in names if other != door and plain(row) in names[other] - own}
        suite.check(not shared, f"{door}: alone, and in another table by name: {shared}")


def main():
    options = common.arguments(__doc__, ("--show", dict(action="store_true", help="print all formulas")),
                               ("pairs", dict(nargs="*", metavar="PAIR")))
    suite = common.Suite(options.bin)
    rows = [row for row in PAIRS if not options.pairs or row[0] in options.pairs]
    common.run_parallel([lambda row=row: compare_doors(suite, row, options.show) for row in rows], options.jobs)
    known = {(name, type(door).__name__) for name, _, _, doors in PAIRS for door in doors[1:]}
    check_tables(suite)
    suite.check(set(DIFFER) <= known, f"forms that may differ are pairs: {set(DIFFER) - known}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
