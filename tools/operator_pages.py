#!/usr/bin/env python3
"""Writes OPERATORS.md and UNSUPPORTED.md of ir/import/onnx, and the table of operators in docs/formats.md,
as zbc prints them from its tables; and OPERATORS.md of ir/import/aten and ir/import/paddle from their tables.

    operator_pages.py [--bin BUILD/bin] [--check]

--check writes nothing, and fails where a file would change. Run it after a change of
ir/import/onnx/onnx_ops.def or onnx_unsupported.def, or of aten_ops.def or paddle_ops.def of their folders.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORMATS = os.path.join("docs", "formats.md")
BEGIN, END = "<!-- operators: tools/operator_pages.py writes these lines -->\n", "<!-- operators -->\n"


def page(programs, option):
    return subprocess.run([os.path.join(programs, "zbc"), option], check=True, capture_output=True, text=True).stdout


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def table(operators):
    """The first table of the page."""
    lines = operators.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith("|"))
    last = next(i for i in range(first, len(lines)) if not lines[i].startswith("|"))
    return "".join(lines[first:last])


def formats(text, operators):
    if BEGIN not in text or END not in text:
        sys.exit(f"operator_pages.py: docs/formats.md lacks the line {BEGIN.strip()} or {END.strip()}")
    return text[:text.index(BEGIN)] + BEGIN + table(operators) + text[text.index(END):]


def aten_page():
    """The rows of aten_ops.def, a line for each of its sections."""
    text = read(os.path.join(ROOT, "ir", "import", "aten", "aten_ops.def"))
    head = ("# What can be imported from torch.export\n\nMade from `aten_ops.def` by `tools/operator_pages.py`. Names "
            "are those of ATen with their overloads; what\n`torch.export` takes apart into these is imported, too.\n\n"
            "| | ops |\n|---|---|\n")
    lines = []
    for section in text.split("/* ---- ")[1:]:
        title, _, rows = section.partition(" ---- */")
        lines.append(f"| {title} | {' '.join(re.findall(r'^[A-Z_]+[(]([a-z_][^,]*),', rows, re.M))} |\n")
    return head + "".join(lines)


def paddle_page():
    """The rows of paddle_ops.def by sections: forward ops by their names in ProgramDesc and PIR."""
    text = read(os.path.join(ROOT, "ir", "import", "paddle", "paddle_ops.def"))
    head = ("# What can be imported from Paddle\n\nMade from `paddle_ops.def` by `tools/operator_pages.py`. Names "
            "are those of ProgramDesc, and behind a stroke those\nof PIR where they differ. Ops have the gradient ops "
            "of the same names with `_grad`; sums of gradients (`sum`,\n`add_n`) and decays are understood as well.\n\n"
            "| | ops |\n|---|---|\n")
    row = re.compile(r"^(?!ZB_PADDLE_GRAD|#)([A-Z_]+)[(]([a-z_0-9]+), *([a-z_0-9]*)([^\n]*(?:\n +[^\n]*)*)", re.M)
    lines = []
    for section in text.split("/* ---- ")[1:]:
        title, _, rows = section.partition(" ---- */")
        found = row.findall(rows)
        names = [name if pir == name or kind == "PADDLE_COMPARE" else f"{name}/{pir}"
                 for kind, name, pir, rest in found if kind != "ZB_PADDLE_STEP" or not rest.rstrip().endswith('"")')]
        lines.append(f"| {title} | {' '.join(names)} |\n")
    return head + "".join(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    operators, wrong = page(given.bin, "--list-operators"), []
    files = {os.path.join("ir", "import", "onnx", "OPERATORS.md"): operators,
             os.path.join("ir", "import", "aten", "OPERATORS.md"): aten_page(),
             os.path.join("ir", "import", "paddle", "OPERATORS.md"): paddle_page(),
             os.path.join("ir", "import", "onnx", "UNSUPPORTED.md"): page(given.bin, "--list-unsupported"),
             FORMATS: formats(read(os.path.join(ROOT, FORMATS)), operators)}
    for name, text in files.items():
        path = os.path.join(ROOT, name)
        if read(path) == text:
            continue
        wrong.append(name)
        if not given.check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if given.check and wrong:
        sys.exit(f"{', '.join(wrong)}: not as the tables of ir/import say: run tools/operator_pages.py")
    print(f"{len(files)} files as the tables say" if given.check else f"{len(wrong)} of {len(files)} files written")


if __name__ == "__main__":
    main()
