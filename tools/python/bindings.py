#!/usr/bin/env python3
"""Writes zb/_c.py and zb/options.py from include/zb: structs, functions and options of the C API as ctypes sees them.

usage: bindings.py [--check]

The build runs it (target zb-python); neither file is in git. Types come from the preprocessed headers ($CC -E), so that
tables (*.def) are expanded; docstrings of options come from the comments in the headers. --check writes nothing, and
fails where a file is not what it would write. Test: test/python/bindings.py.
"""
import argparse
import os
import pathlib
import pprint
import re
import shlex
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEADERS = ("base.h", "status.h", "explain.h", "schedule.h", "costs.h", "runtime.h", "compiler.h")
SCALARS = {"bool": "c_bool", "_Bool": "c_bool", "int": "c_int", "double": "c_double", "float": "c_float",
           "char": "c_char", "size_t": "c_size_t", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
           "uint64_t": "c_uint64", "unsigned": "c_uint", "void": "None"}
# Parameters of C that are arguments of their own in Python, or that the package fills in by itself.
GIVEN = {"zb_compile_params": {"model", "output", "diagnostic", "diagnostic_context", "progress", "progress_context",
                               "searching", "import_only"},
         "zb_session_params": {"directory", "evaluation_input", "input", "input_context", "bootstrap", "settings",
                               "setting_count", "give_up", "opened", "say", "progress_context", "check",
                               "check_context", "share_values"}}


class Types:
    def __init__(self):
        self.structs, self.enums, self.opaque = {}, {}, set()

    def of(self, text):
        """The ctypes expression of a C type without a name."""
        text = re.sub(r"\b(const|struct|enum)\b", " ", text)
        stars, base = text.count("*"), " ".join(text.replace("*", " ").split())
        if base in self.enums:
            base = "int"
        if base == "zb_status":
            base, stars = "void", 1 + stars
        if stars == 0:
            return SCALARS.get(base) or base
        if base == "char":
            inner, stars = "c_char_p", stars - 1
        elif base == "void" or base in self.opaque or (base not in SCALARS and base not in self.structs):
            inner, stars = "c_void_p", stars - 1
        else:
            inner = SCALARS.get(base) or base
        return "POINTER(" * stars + inner + ")" * stars


def preprocess():
    text = "".join('#include "zb/%s"\n' % name for name in HEADERS)
    command = shlex.split(os.environ.get("CC", "cc")) + ["-E", "-P", "-I", str(ROOT / "include"), "-"]
    text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return re.sub(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)", " ", text)


def split_top(text, separator):
    """Splits where no bracket is open."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]


def number(text, enums):
    value = {name: n for names in enums.values() for name, n in names.items()}
    return int(eval(text, {"__builtins__": {}}, value))  # "256", "ZB_KIND_COUNT", "1 + ZB_DIMS_MAX"


def parse_enums(text, types):
    for name, body in re.findall(r"\benum\s*(\w*)\s*\{([^}]*)\}", text):
        values, following = {}, 0
        known = {"": {k: v for names in types.enums.values() for k, v in names.items()}}
        for item in body.split(","):
            word = item.split("=")
            if not word[0].strip():
                continue
            following = number(word[1], {**known, "own": values}) if len(word) > 1 else following
            values[word[0].strip()] = following
            following += 1
        types.enums[name or "enum %d" % len(types.enums)] = values


def function_type(text, types):
    """(name, CFUNCTYPE(...)) of "ret (*name)(arguments)"."""
    found = re.match(r"\s*(.+?)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)\s*$", text, re.S)
    result, name, arguments = found.groups()
    return name, "CFUNCTYPE(%s)" % ", ".join([types.of(result)] + argument_types(arguments, types))


def argument_types(text, types):
    kinds = []
    for argument in split_top(text, ","):
        argument = argument.strip()
        if argument in ("void", ""):
            continue
        if "(" in argument:
            kinds.append(function_type(argument, types)[1])
            continue
        array = re.search(r"\[[^\]]*\]\s*$", argument)
        if re.search(r"[\s*]\w+\s*(\[|$)", argument):
            argument = re.sub(r"\w+\s*(\[[^\]]*\])?\s*$", "", argument)
        kinds.append("c_char_p" if array and argument.strip() in ("char", "const char") else
                     types.of(argument + ("*" if array else "")))
    return kinds


def fields_of(body, types):
    fields = []
    for statement in split_top(body, ";"):
        statement = " ".join(statement.split())
        if not statement:
            continue
        pointed = re.match(r"(\w+) \(\*(\w+)\)\[(\w+)\]$", statement)
        if pointed:
            fields.append((pointed[2], "POINTER(%s * %d)" % (types.of(pointed[1]), number(pointed[3], types.enums))))
        elif "(" in statement and "(*" in statement.replace(" ", ""):
            fields.append(function_type(statement, types))
        else:
            base = re.match(r"(?:const |struct |enum )*\w+", statement)[0]
            for item in split_top(statement[len(base):], ","):
                name = re.search(r"(\w+)\s*((?:\[[^\]]*\])*)\s*$", item)
                kind = types.of(base + item[:name.start()])
                for size in reversed(re.findall(r"\[([^\]]*)\]", name[2])):
                    kind += " * %d" % number(size, types.enums)
                fields.append((name[1], kind))
    return fields


def parse(text):
    types = Types()
    parse_enums(text, types)
    bodies = dict(re.findall(r"typedef struct (zb_\w+) \{((?:[^{}])*)\} \1;", text))
    types.structs = bodies
    types.opaque = set(re.findall(r"typedef struct zb_\w+ \*?(zb_\w+);", text)) - {"zb_status"}
    structs = {name: fields_of(body, types) for name, body in bodies.items()}
    functions = {}
    outside = re.sub(r"typedef struct zb_\w+ \{[^{}]*\} zb_\w+;", "", text)
    for result, name, arguments in re.findall(
            r"(?:^|;|\})\s*((?:const )?[\w]+[\s*]*?(?:const )?\**)\s*\b(zb_\w+)\((.*?)\)\s*(?=;)", outside, re.S):
        if "typedef" in result or "static" in result or "..." in arguments or "va_list" in arguments:
            continue
        functions[name] = (result_type(result, types), argument_types(arguments, types))
    return types, structs, functions


def result_type(text, types):
    """A text that the caller must free stays a pointer; a status is told from other pointers."""
    if " ".join(text.split()) in ("zb_status", "char *"):
        return "zb_status" if "zb_status" in text else "c_void_p"
    return types.of(text)


def ordered(structs):
    """Those that others hold by value or point to come first."""
    done = []

    def visit(name):
        if name in done:
            return
        for _, kind in structs[name]:
            for other in re.findall(r"\bzb_\w+", kind):
                if other in structs and other != name:
                    visit(other)
        done.append(name)

    for name in structs:
        visit(name)
    return done


def rows_of(path):
    return re.findall(r"^ZB_\w+\((\w+)\)", (ROOT / "include/zb" / path).read_text(), re.M)


def wrapped(prefix, items, end):
    text = prefix + ", ".join(items) + end
    if len(text) <= 118:
        return text
    indent = max(prefix.find("["), prefix.find("{")) + 1 or 8
    return textwrap.fill(text, 118, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def c_module(types, structs, functions):
    lines = ['"""The C API as ctypes sees it: structs, constants and functions of include/zb.',
             "",
             "Written by bindings.py from the headers when zbc is built.",
             '"""',
             "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int,",
             "                    c_int32, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p)",
             "from typing import Any, Dict",
             "", "", "class zb_status(c_void_p):", '    """NULL, or a failure that is the caller\'s."""', "", ""]
    for values in types.enums.values():
        for name, value in values.items():
            if name.startswith("ZB_"):
                lines.append("%s = %d" % (name, value))
    for name in ordered(structs):
        lines += ["", "", "class %s(Structure):" % name, "    _fields_ = ["]
        lines += ['        ("%s", %s),' % field for field in structs[name]]
        lines += ["    ]"]
    checked = [name for name in rows_of("structs.def")]
    lines += ["", "", "# What the library says of their sizes must be the same: rows of structs.def.",
              "STRUCTS = (" + "\n           ".join("%s," % name for name in checked) + ")",
              "", "# Name: result, arguments. A zb_status is a pointer.", "FUNCTIONS: Dict[str, Any] = {"]
    for name in sorted(functions):
        result, arguments = functions[name]
        head = '    "%s": (%s, [' % (name, result)
        lines.append(wrapped(head, arguments, "]),"))
    return "\n".join(lines + ["}"]) + "\n"


# ---- Options ----

def documented_fields(header, struct):
    """Declarations and comments of a struct as the header has them: (names, text). A comment that begins on the line
    where a declaration ends belongs to it, any other to what follows."""
    text = (ROOT / "include/zb" / header).read_text()
    body = text[text.index("typedef struct %s {" % struct):text.index("} %s;" % struct)].split("{", 1)[1]
    found, before, at = [], "", 0
    token = re.compile(r"\s*(/\*.*?\*/|[^;/]+;)", re.S)
    while True:
        match = token.match(body, at)
        if not match:
            break
        gap, piece = body[at:match.start(1)], match[1]
        if piece.startswith("/*"):
            words = without_stars(piece[2:-2])
            if found and "\n" not in gap:
                found[-1][1] = (found[-1][1] + " " + words).strip()
            else:
                before = words
        else:
            names = [re.search(r"(\w+)\s*$", re.sub(r"\)\s*\(.*\)$", "", part.replace("\n", " ").strip()))[1]
                     for part in split_top(piece[:-1], ",")] if "(*" not in piece else \
                [re.search(r"\(\*(\w+)\)", piece)[1]]
            found.append([names, before])
            before = ""
        at = match.end()
    return found


STRINGS = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
# Of compile_options.def: comment, option, kind, field, what else the kind has, help.
COMPILE_ROW = re.compile(r'(?:^/\*((?:[^*]|\*(?!/))*)\*/\n)?^ZB_COMPILE_OPTION\("(-[^"]+)",\s*(\w+)\((\w+)'
                         r'((?:[^()"]|"[^"]*")*)\),\s*"[^"]*",\s*' + STRINGS, re.M)


def said(strings):
    """What literals of C say, in one line."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings)).replace("\\n", " ").replace('\\"', '"')


def without_stars(comment):
    return " ".join(re.sub(r"\n\s*\* ?", "\n", comment).split())


def compile_rows():
    """(option, kind, field, the last thing that its kind has, comment, help) of each."""
    text = (ROOT / "include/zb/compile_options.def").read_text()
    rows = [(option, kind, field, rest.split(",")[-1].strip(), without_stars(comment), said(helped))
            for comment, option, kind, field, rest, helped in COMPILE_ROW.findall(text)]
    if len(rows) != text.count("\nZB_COMPILE_OPTION("):
        raise SystemExit("compile_options.def: %d rows of %d are understood" % (len(rows),
                                                                               text.count("\nZB_COMPILE_OPTION(")))
    return rows


ROWS = compile_rows()
LISTS = {field: count for _, kind, field, count, _, _ in ROWS if kind == "LIST"}
SIZES = {field for _, kind, field, *_ in ROWS if kind == "BYTES"}
NUMBERS = {"clip_norm", "clip_norm_type", "lr", "weight_decay"}


def annotation(name, kind):
    if name in LISTS:
        return "Sequence[str]"
    if name in SIZES:
        return "Union[int, str]"
    if kind == "c_char_p":
        return "Union[str, float]" if name in NUMBERS else "str"
    return {"c_bool": "bool", "c_double": "float"}.get(kind, "int")


# ---- Options as the programs have them ----

# Fields of C that rows of zb-run fill by another way than one of the same name: the field of the row, and ours.
RENAMED = {"eval": "evaluation", "eval_steps": "evaluation_batches", "timeout": "timeout_ms", "profile": "costs",
           "profile_ops": "profile"}
# Options of sessions that differ from those of zb-run: the comments of the header say what they are.
OWN = {*RENAMED.values(), "delays", "outputs", "steps", "memory", "seed", "trace", "explain"}
PROGRAMS = {"zb_compile_params": "zbc", "zb_session_params": "zb-run"}
RUN_ROW = re.compile(r'^ROW\("(-[^"]+)", (\w+),.*?' + STRINGS + r"\)$", re.M | re.S)


def program_rows(program):
    """(option, our name, help) of the rows of a program."""
    if program == "zbc":
        return [(option, field, helped) for option, _, field, _, _, helped in ROWS]
    text = (ROOT / "tools" / "command" / (program + ".def")).read_text()
    return [(option, RENAMED.get(field, field), said(words)) for option, field, words in RUN_ROW.findall(text)]


def spoken(structs):
    """{"--memory-limit": "memory_limit", ...}: how Python calls what is an option of a program."""
    found = {}
    for struct, program in PROGRAMS.items():
        names = dict(structs[struct])
        found.update({option: name for option, name, _ in program_rows(program) if name in names})
    return found


def in_python(words, names):
    """Options of programs by their names here."""
    words = re.sub(r"\b(zbc|zb-run) (--[a-z][a-z-]*)(?: [A-Z.:a-z]*[A-Z][A-Z.:a-z]*)?",
                   lambda said: "%s(%s=...)" % ({"zbc": "zb.compile", "zb-run": "zb.Session"}[said[1]],
                                                names.get(said[2], said[2])), words)
    words = words.replace("zb-sched --list", "zb.schedules()").replace(" (repeat for more; ", ": a list (")
    words = words.replace(" (repeat for more)", ": a list")
    return re.sub(r"--[a-z][a-z-]*", lambda option: names.get(option[0], option[0]), words)


def default_of(name, kind, text):
    """(default, text without it): as the help says it, or what nothing given is."""
    named = re.search(r" ?\(default:? ([^()]*(?:\([^()]*\)[^()]*)*)\)", text)
    chosen = re.search(r"([\w-]+) \(default\)", text)
    if named:
        return named[1], text.replace(named[0], "")
    if chosen:
        return ("%s" if kind == "c_bool" else '"%s"') % chosen[1], text
    return {"c_bool": "False", "c_int": "0"}.get(kind, "None") if name not in LISTS else "()", text


def fields_with_words(struct, header):
    """As documented_fields, of a struct whose options are rows, too."""
    if struct != "zb_compile_params":
        return documented_fields(header, struct)
    return [([field] + [more] * (kind == "GROUPS"), comment) for _, kind, field, more, comment, _ in ROWS]


def option_class(struct, header, title, structs):
    """A class with an attribute an option, and all of them in its docstring, which is what help() shows."""
    kinds, helps = dict(structs[struct]), {name: text for _, name, text in program_rows(PROGRAMS[struct])}
    dashed = spoken(structs)
    listed, attributes = [], []
    for names, text in fields_with_words(struct, header):
        for name in names:
            if name in GIVEN[struct] or name in LISTS.values():
                continue
            if name not in kinds:
                raise SystemExit("%s: '%s' is no field" % (struct, name))
            kind = annotation(name, kinds[name])
            words = ":" if title == "SessionOptions" and name in OWN else helps.get(name, ":")  # ":": a list follows
            default, words = default_of(name, kinds[name], in_python(words, dashed))
            words = in_python(text.replace("NULL", "None"), dashed) if words.endswith(":") else words
            for line, indent in (("%s: %s, default %s" % (name, kind, default), ""), (words, "    ")):
                listed += textwrap.wrap(line, 110, break_long_words=False, break_on_hyphens=False,
                                        initial_indent=indent, subsequent_indent="    ")
            attributes.append("    %s: %s" % (name, kind))
    text = ["Options of %s, as keyword arguments; those of %s by their names in C (zb/%s)." % (
        {"zbc": "zb.compile", "zb-run": "zb.Session"}[PROGRAMS[struct]], PROGRAMS[struct], header), ""] + listed
    text = [("    " + line if line else "").replace("\\", "\\\\") for line in text]
    return ["", "", "class %s(TypedDict, total=False):" % title, '    """' + text[0].strip(), *text[1:], '    """',
            *attributes]


def options_module(structs):
    lines = ['"""Options of compile() and Session(), with the words of the C API.',
             "",
             "Written by bindings.py from the headers when zbc is built.",
             '"""',
             "from __future__ import annotations",
             "",
             "from typing import Sequence, TypedDict, Union"]
    lines += option_class("zb_compile_params", "compile_options.def", "CompileOptions", structs)
    lines += option_class("zb_session_params", "runtime.h", "SessionOptions", structs)
    options = "{" + ",\n           ".join('"%s": "%s"' % item for item in sorted(spoken(structs).items())) + "}"
    flags = sorted({name for struct in PROGRAMS for name, kind in structs[struct] if kind == "c_bool"})
    lists = "{" + ",\n         ".join("%r: %r" % item for item in LISTS.items()) + "}"
    lines += ["", "", "# Lists, and the fields of C that count them.", "LISTS = " + lists,
              "# Bytes: a number, or a text like \"2G\".", "SIZES = %r" % sorted(SIZES),
              "# Options of zbc and zb-run, as messages of the library call them, and their names here.",
              "PROGRAMS = " + options,
              wrapped("FLAGS = {", ['"%s"' % name for name in flags], "}"),
              "# What the package gives by itself.",
              "GIVEN = " + pprint.pformat({name: sorted(GIVEN[name]) for name in GIVEN}, width=110, compact=True)]
    return "\n".join(lines) + "\n"


def made():
    types, structs, functions = parse(preprocess())
    return {HERE / "zb" / "_c.py": c_module(types, structs, functions),
            HERE / "zb" / "options.py": options_module(structs)}


def write():
    """Whole files take the place of others at once: tests of another build folder may be reading them."""
    for path, text in made().items():
        new = path.with_suffix(".%d" % os.getpid())
        new.write_text(text)
        new.replace(path)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--check", action="store_true", help="fail where a file is not up to date")
    if not arguments.parse_args().check:
        return write()
    stale = [path for path, text in made().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print("%s is not what include/zb says: run tools/python/bindings.py" % path.relative_to(ROOT))
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
