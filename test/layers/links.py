#!/usr/bin/env python3
"""What the programs of a build link: none a library of LLVM, which takes longer to load than a small model to compile,
and nothing CUDA, MPI or NCCL; the runtime and the schedule tool no code of LLVM either.

usage: links.py BUILD
"""
import os
import re
import subprocess
import sys

BUILD = sys.argv[1]
COMPILER = r"LLVM|MLIR"
MODULES = r"lib(cuda|cublas|nccl|mpi)"
# File, what must not be among the libraries it needs (by itself or through others).
RULES = [
    ("bin/zb-run", COMPILER),
    ("bin/zb-run", MODULES),
    ("bin/zb-sched", COMPILER),
    ("bin/zb-sched", "protobuf"),
    ("bin/zbc", COMPILER),
    ("bin/zbc", MODULES),
    ("bin/zb-opt", COMPILER),
    ("bin/zb-opt", MODULES),
    ("lib/libzb-runtime.so", COMPILER),
]
failed = 0


def check(name, ok, text=""):
    global failed
    failed += not ok
    print("%s - links: %s" % ("ok" if ok else "not ok", name) + ("" if ok else "\n  " + text.replace("\n", "\n  ")))


def needed(file):
    return subprocess.run(["ldd", file], capture_output=True, text=True).stdout


for name, pattern in RULES:
    file = os.path.join(BUILD, name)
    if not os.path.exists(file):
        print("ok - links: %s # SKIP not in this build" % name)
        continue
    text = needed(file)
    found = [line for line in text.split("\n") if re.search(pattern, line)]
    check("%s needs no %s" % (name, pattern), "libc.so" in text and not found, "\n".join(found) or text)

# The rule can fail: the library for embedders does need LLVM's, as it may lie in a program that has them.
if os.path.exists(os.path.join(BUILD, "lib/libzb.so")):
    check("libzb.so needs LLVM, and this test sees it",
          bool(re.search(COMPILER, needed(os.path.join(BUILD, "lib/libzb.so")))))
# zb-run must carry no code of the compiler either.
names = subprocess.run(["nm", "-C", os.path.join(BUILD, "bin/zb-run")], capture_output=True, text=True).stdout
found = sorted(set(re.findall(r"\b(?:mlir\w+|zb_compile\w*|zb_opt_\w+|zb_pass_\w+)", names)))
check("zb-run has no symbol of the compiler", "main" in names and not found, " ".join(found))
sys.exit(1 if failed else 0)
