#!/usr/bin/env python3
"""The manual of the schedule library: the C program in passes/schedule/README.md is compiled as a stranger would,
against include/ and the archives of the library alone, and run. (test/readme looks at its console blocks.)

usage: manual.py BUILD
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.abspath(sys.argv[1])
README = os.path.join(ROOT, "passes", "schedule", "README.md")
LIBRARIES = r"linux-vdso|ld-linux|libc\.|libm\.|libjansson\.|libpthread\."
LINES_MAX = 40
failed = 0


def check(name, ok, text=""):
    global failed
    failed += not ok
    print("%s - manual: %s" %
          ("ok" if ok else "not ok", name) + ("" if ok else "\n  " + str(text).replace("\n", "\n  ")))
    return ok


def run(command, cwd=None):
    """(worked, everything it printed)."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def cache(name):
    with open(os.path.join(BUILD, "CMakeCache.txt")) as file:
        found = re.search(r"^%s:\w+=(.*)$" % name, file.read(), re.M)
    return found[1] if found else ""


def symbols(archive, kinds):
    """Names of an archive whose letter in nm is one of kinds."""
    text = run(["nm", os.path.join(BUILD, archive)])[1]
    return {name for kind, name in re.findall(r"^[0-9a-f ]{16} ([A-Za-z]) (\w+)$", text, re.M) if kind in kinds}


def main():
    with open(README) as file:
        text = file.read()
    program = re.search(r"^```c\n(.*?)^```", text, re.M | re.S)[1]
    check("the program has at most %d lines" % LINES_MAX, program.count("\n") <= LINES_MAX, program.count("\n"))
    included = sorted(set(re.findall(r'#include [<"](.*?)[>"]', program)))
    check("it includes the header of the library and the C library", included == ["stdio.h", "zb/schedule.h"], included)

    sanitize = cache("ZB_SANITIZE")
    flags = ["-fsanitize=" + sanitize] if sanitize else []
    with tempfile.TemporaryDirectory(prefix="zb manual ") as work:
        source, target = os.path.join(work, "manual.c"), os.path.join(work, "manual")
        with open(source, "w") as file:
            file.write(program)
        libraries = [os.path.join(BUILD, name) for name in ("libzb_schedule.a", "libzb_base.a")]
        command = [cache("CMAKE_C_COMPILER") or "cc", "-std=c17", "-Wall", "-Wextra", "-Werror",
                   "-I", os.path.join(ROOT, "include"), source, "-o", target,
                   *flags, *libraries, "-ljansson", "-lm", "-lpthread"]
        ok, text = run(command)
        if not check("it compiles without a warning, with the schedule library, zb_base, jansson, libm and "
                     "nothing else", ok, text):
            return
        ok, text = run([target], work)
        check("it runs", ok, text)
        check("it prints a chart of 4 ranks", len(re.findall(r"^\.*F0.*B7", text, re.M)) == 4, text)
        times = re.search(r"([\d.]+) ms, no order takes less than ([\d.]+) ms", text)
        check("it prints a time that is not below the bound",
              bool(times) and float(times[1]) >= float(times[2]) > 0, text)
        svg = os.path.join(work, "step.svg")
        check("it draws the step", os.path.exists(svg) and open(svg).read().rstrip().endswith("</svg>"))
        if not sanitize:
            linked = [line for line in run(["ldd", target])[1].split("\n")
                      if line.strip() and not re.search(LIBRARIES, line)]
            check("the program links no library but libc, libm and jansson", not linked, "\n".join(linked))

    # What the archive takes from elsewhere: of ours only zb_base, and no C++.
    needs = symbols("libzb_schedule.a", "U") - symbols("libzb_schedule.a", "TDBRVWdbr")
    ours = {name for name in needs if name.startswith("zb_")} - symbols("libzb_base.a", "TDBRVW")
    check("the library takes no function of ours but of zb_base", "zb_alloc" in needs and not ours, sorted(ours))
    foreign = sorted(name for name in needs if re.match(r"mlir|llvm|_Z|cu[A-Z]|MPI_|protobuf", name))
    check("the library takes nothing of MLIR, LLVM, CUDA, MPI or C++", not foreign, foreign)


main()
sys.exit(1 if failed else 0)
