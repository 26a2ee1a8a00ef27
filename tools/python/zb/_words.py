"""What the library says in the words of its programs, in those of this package: "--memory-limit 2G" is
memory_limit="2G", "zb-run --weights FILE" is zb.Session(weights="FILE").

The names are those of options.PROGRAMS, which bindings.py writes from the rows of the programs.
"""
from __future__ import annotations

import re
from typing import List, Match

from .options import FLAGS, PROGRAMS

CALLS = {"zb-sched --list": "zb.schedules()", "zbc --help": "help(zb.CompileOptions)",
         "zb-run --help": "help(zb.SessionOptions)", "zb-run --list-devices": "zb.devices()"}
PROGRAM = {"zbc": "zb.compile", "zb-run": "zb.Session"}
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*|-o)(?![\w-])"
                     r"(?: (\.\.\.|'[^']*'|\w(?:[\w.:/=,|-]*\w)?))?")
_COMMAND = re.compile(r"\b(zbc|zb-run)(?: DIR)?((?: %s)+)" % _OPTION.pattern)
# The word behind an option is its value if it looks like one (a number, a list, a placeholder), or is one of these.
_LOOKS = re.compile(r"\.\.\.|'.*|.*[\d:/=].*|[A-Z]+([.:].*)?|search|auto|none|targets|optimizer|parameters|inf|skip|"
                    "stop|threads|mpi|tcp|cpu|cuda|sim")


def _option(match: Match[str]) -> str:
    name, value, behind = PROGRAMS.get(match[1]), match[2] or "", ""
    if name is None:
        return match[0]
    if not _LOOKS.fullmatch(value):
        value, behind = "", match[0][len(match[1]):]
    if name in FLAGS and match[1] != "--costs":
        return name + ("" if match.string[match.end():match.end() + 1] == ":" and not behind else "=True") + behind
    if not value:
        return name + behind
    plain = value == "..." or value[0] == "'" or re.fullmatch(r"[\d.]+|[A-Z]", value)
    return "%s=%s" % (name, value if plain else '"%s"' % value)


def _command(match: Match[str]) -> str:
    """The options directly behind a program; a word that is no value ends them."""
    given: List[str] = []
    rest = match[2]
    while True:
        option = _OPTION.match(rest.lstrip())
        said = _option(option) if option else "--"
        name, _, behind = said.partition(" ")
        if said.startswith("-"):
            return match[0]
        given.append(name if "=" in name else name + "=...")
        rest = rest.lstrip()[option.end():]
        if behind or not rest:
            behind = (" " + behind if behind else "") + _OPTION.sub(_option, rest)
            return "%s(%s)%s" % (PROGRAM[match[1]], ", ".join(given), behind)


def in_python(text: str) -> str:
    """The text, with the options of programs as arguments of Python."""
    if "-" not in text:
        return text
    for said, ours in CALLS.items():
        text = re.sub(re.escape(said) + r"(?![\w-])", ours, text)
    return _OPTION.sub(_option, _COMMAND.sub(_command, text))
