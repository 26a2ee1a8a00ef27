#!/usr/bin/env python3
"""Every public header compiles alone, as C11 and as C++17, without a warning."""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LANGUAGES = [
    ("C11", ["gcc", "-std=c11", "-x", "c", "-Wstrict-prototypes", "-Wmissing-prototypes"]),
    ("C++17", ["g++", "-std=c++17", "-x", "c++"]),
]
# Of zb/op.h and zb/mlir.h, which include MLIR's C API.
LLVM = os.environ.get("ZB_LLVM", "/usr/lib/llvm-22")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only"]
failed = 0


def compile_text(command, text):
    run = subprocess.run(command + WARNINGS + ["-I", os.path.join(ROOT, "include"), "-isystem",
                                                os.path.join(LLVM, "include"), "-"], input=text,
                         capture_output=True, text=True)
    return run.returncode, run.stderr


headers = sorted(os.path.basename(path) for path in glob.glob(os.path.join(ROOT, "include", "zb", "*.h")))
for header in headers:
    for name, command in LANGUAGES:
        # Twice: the guard works.
        status, text = compile_text(command, '#include "zb/%s"\n#include "zb/%s"\nint main(void) { return 0; }\n' %
                                    (header, header))
        failed += status != 0
        print("%s - headers: zb/%s alone as %s" % ("not ok" if status else "ok", header, name))
        if status:
            print("  " + text.replace("\n", "\n  "))
for name, command in LANGUAGES:
    status, _ = compile_text(command, "#include <stdint.h>\nsize_type missing(uint_fast x);\n")
    failed += status == 0
    print("%s - headers: %s refuses a header that lacks a type" % ("not ok" if status == 0 else "ok", name))
sys.exit(1 if failed else 0)
