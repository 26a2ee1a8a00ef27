#!/usr/bin/env python3
"""Who may include whom: every include directive of the rooms against the table below (DESIGN: the plan is the waist, tools use the
public API only, CUDA and MPI are modules).

usage: layers.py [ROOT]     checks a tree, one line a folder; ends with checks of itself on made-up trees
"""
import os
import re
import sys
import tempfile

# Folder: what its files may include beside themselves. "zb/" is include/zb. The row of the longest matching folder counts; what a
# room may include it may include as a whole, with the rows' own folders below it only where they are named.
FOLDERS = {
    "include/zb": ["zb/"],
    "tools": ["zb/"],
    "runtime/base": ["zb/", "jansson"],
    "runtime/plan": ["zb/", "runtime/base/", "plan.pb-c.h", "protobuf-c"],
    "runtime/device": ["zb/", "runtime/base/", "runtime/plan/", "kernels/cpu/"],
    "runtime/device/cpu": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "kernels/cpu/"],
    # sim computes with the cpu device, on a clock of its own; runtime/exec drives that clock.
    "runtime/device/sim": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/device/cpu/", "runtime/transport/"],
    # cuda has the transport between ranks of one GPU beside it, as sim has its own.
    "runtime/device/cuda": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/transport/", "kernels/cuda/", "cuda", "nccl"],
    "runtime/device/cuda/module": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/device/cuda/", "runtime/transport/",
                                   "runtime/transport/nccl/", "kernels/cuda/"],
    "runtime/transport": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/"],
    "runtime/transport/threads": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/transport/"],
    "runtime/transport/processes": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/transport/"],
    "runtime/transport/mpi": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/transport/", "runtime/transport/processes/",
                              "mpi"],
    "runtime/transport/tcp": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/transport/", "runtime/transport/processes/"],
    "runtime/transport/nccl": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/device/cuda/", "runtime/transport/", "cuda",
                               "nccl"],
    "runtime/exec": ["zb/", "runtime/base/", "runtime/plan/", "runtime/device/", "runtime/device/sim/", "runtime/transport/"],
    "kernels": ["zb/"],
    "kernels/cpu": ["zb/", "kernels/call.h", "runtime/base/", "x86"],
    "kernels/cpu/ref": ["zb/", "runtime/base/"],
    # The formulas of elementwise ops are written once, for all devices.
    "kernels/cuda": ["zb/", "kernels/call.h", "runtime/base/", "runtime/device/cuda/", "kernels/cpu/ref/unary.def", "kernels/cpu/ref/binary.def",
                     "kernels/cpu/ref/words.def", "cuda"],
    "ir": ["zb/", "runtime/base/", "mlir-c"],
    "ir/ops": ["zb/", "runtime/base/", "ir/", "mlir-c"],
    "ir/import": ["zb/", "runtime/base/", "ir/", "mlir-c", "onnx.pb-c.h", "protobuf-c"],
    "passes": ["zb/", "runtime/base/", "runtime/plan/", "passes/schedule/", "ir/", "mlir-c"],
    "passes/schedule": ["zb/", "runtime/base/", "jansson"],
}
# Libraries, by their headers in angle brackets.
LIBRARIES = {
    "jansson": r"jansson\.h",
    "protobuf-c": r"protobuf-c/",
    "mlir-c": r"mlir-c/",
    "mlir or llvm (C++)": r"(mlir|llvm|llvm-c)/",
    "x86": r"immintrin\.h",
    "cuda": r"cu(da|blas|dnn|rand)[A-Za-z_]*\.h",
    "nccl": r"nccl\.h",
    "mpi": r"mpi\.h",
}
# The C library and POSIX; anything else in angle brackets is a dependency that nobody decided on.
SYSTEM = set("""assert complex ctype dirent dlfcn errno fcntl fenv float inttypes libgen limits link locale math poll pthread sched semaphore setjmp signal
  spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings termios tgmath threads time unistd wchar
  sys/file sys/mman sys/prctl sys/resource sys/socket sys/stat sys/time sys/types sys/utsname sys/vfs sys/wait sys/ioctl netdb netinet/in
  netinet/tcp arpa/inet""".split())
HINTS = [
    ("tools", "", "declare what the tool needs in include/zb; an embedder will need it too"),
    ("passes/schedule", "runtime/plan/", "the verifier shares no code with the scheduler; put common types in include/zb/schedule.h"),
    ("runtime/plan", "passes/schedule/", "the verifier shares no code with the scheduler; put common types in include/zb/schedule.h"),
    ("runtime", "ir/", "put the shared type in runtime/plan; the runtime never sees MLIR"),
    ("runtime", "passes/", "put the shared type in runtime/plan or include/zb; the runtime never sees the compiler"),
    ("runtime", "mlir", "the runtime never sees MLIR; what it needs of a program is in the plan"),
    ("", "cuda", "only runtime/device/cuda, runtime/transport/nccl and kernels/cuda, which are opened at run time, see CUDA"),
    ("", "nccl", "only runtime/device/cuda and runtime/transport/nccl, which are opened at run time, see NCCL"),
    ("", "mpi", "only runtime/transport/mpi, which is opened at run time, sees MPI"),
    ("", "mlir or llvm", "zbc is C on the MLIR C API: include <mlir-c/...>"),
    ("kernels", "", "a kernel sees zb/kernel.h, kernels/call.h and runtime/base only"),
]
SUFFIXES = (".c", ".h", ".def", ".cu", ".cuh", ".inc")
ROOMS = ("include", "ir", "passes", "runtime", "kernels", "tools")


def folder_rule(folder):
    """The row for a folder: its own, or that of the nearest folder above it."""
    while folder and folder not in FOLDERS:
        folder = os.path.dirname(folder)
    return folder


def hint_for(folder, target):
    for start, what, hint in HINTS:
        if (folder + "/").startswith(start and start + "/") and target.startswith(what):
            return hint
    return "allowed here: " + " ".join(FOLDERS[folder]) + "; the table is in test/layers/layers.py"


def check_include(root, file, folder, name, angle):
    """None, or what `file` (in rule folder `folder`) may not include."""
    allowed = FOLDERS[folder]
    if angle:
        for library, pattern in LIBRARIES.items():
            if re.match(pattern, name):
                return None if library in allowed else library
        return None if name.removesuffix(".h") in SYSTEM else "<%s>" % name
    if name.startswith("zb/") or name in allowed:
        return None if "zb/" in allowed or name in allowed else name
    if os.path.exists(os.path.join(root, os.path.dirname(file), name)) and "/" not in name:
        return None if folder == "include/zb" else name + " (without its folder)"
    owner = folder_rule(os.path.dirname(name))
    if owner == folder or any(entry.endswith("/") and owner == entry[:-1] for entry in allowed):
        return None
    return name


def check_tree(root):
    """[(folder, [messages])] of every folder of the tree that has sources."""
    results = {}
    for room in ROOMS:
        for place, folders, files in os.walk(os.path.join(root, room)):
            folders.sort()
            relative = os.path.relpath(place, root)
            for name in sorted(f for f in files if f.endswith(SUFFIXES)):
                messages = results.setdefault(relative, [])
                rule = folder_rule(relative)
                if not rule:
                    messages.append("%s/%s:1: error: %s has no row in the table of layers; hint: add one to test/layers/layers.py" %
                                    (relative, name, relative))
                    continue
                path = os.path.join(relative, name)
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                    for number, line in enumerate(file, 1):
                        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
                        bad = match and check_include(root, path, rule, match[2], match[1] == "<")
                        if bad:
                            messages.append("%s:%d: error: %s may not include %s; hint: %s" % (path, number, rule, bad, hint_for(rule, bad)))
    return sorted(results.items())


# Made-up files: path, text, and the message that must come, or None.
EXAMPLES = [
    ("runtime/exec/step.c", '#include "ir/op.h"', "runtime/exec/step.c:1: error: runtime/exec may not include ir/op.h; hint: put the shared"),
    ("runtime/plan/a.c", "\n#include <mlir-c/IR.h>", "runtime/plan/a.c:2: error: runtime/plan may not include mlir-c; hint: the runtime never"),
    ("runtime/plan/b.c", '#include "passes/schedule/model.h"', "shares no code with the scheduler"),
    ("passes/schedule/c.c", '#include "runtime/plan/plan.h"', "shares no code with the scheduler"),
    ("passes/schedule/d.c", "#include <mlir-c/IR.h>", "passes/schedule may not include mlir-c"),
    ("passes/e.c", "#include <cuda_runtime.h>", "passes may not include cuda; hint: only runtime/device/cuda"),
    ("passes/f.c", '#include "runtime/exec/session.h"', "passes may not include runtime/exec/session.h"),
    ("ir/g.c", '#include "passes/pass.h"', "ir may not include passes/pass.h"),
    ("ir/h.c", "#include <llvm/IR/Module.h>", "hint: zbc is C on the MLIR C API"),
    ("tools/zbc.c", '#  include "runtime/base/text.h"', "tools may not include runtime/base/text.h; hint: declare what the tool needs in include/zb"),
    ("kernels/cpu/i.c", '#include "runtime/plan/plan.h"', "a kernel sees zb/kernel.h, kernels/call.h and runtime/base only"),
    ("runtime/transport/threads/j.c", "#include <mpi.h>", "may not include mpi"),
    ("runtime/base/k.c", "#include <curl/curl.h>", "runtime/base may not include <curl/curl.h>"),
    ("runtime/base/l.c", '#include "m.h"', "may not include m.h (without its folder)"),
    ("runtime/new/n.c", "#include <stdio.h>", "runtime/new has no row in the table of layers"),
    ("runtime/base/m.h", "#include <stdio.h>", None),
    ("passes/o.c", '#include "passes/schedule/model.h"\n#include <mlir-c/IR.h>\n#include "ir/op.h"\n#include "zb/base.h"', None),
    ("tools/p.c", '#include "zb/base.h"\n#include <stdio.h>', None),
    ("runtime/transport/mpi/q.c", "#include <mpi.h>", None),
]


def check_itself():
    """What is wrong with this script's answers on the made-up tree."""
    wrong = []
    with tempfile.TemporaryDirectory() as root:
        for path, text, _ in EXAMPLES:
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text + "\n")
        messages = [message for _, rows in check_tree(root) for message in rows]
    for path, _, expected in EXAMPLES:
        got = [message for message in messages if message.startswith(path + ":")]
        if expected is None and got or expected and not (len(got) == 1 and expected in got[0]):
            wrong.append("%s: expected %s, got %s" % (path, expected, got))
    return wrong


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    checks = check_tree(root) + [("finds what it should find", check_itself())]
    for name, messages in checks:
        print("%s - layers: %s" % ("not ok" if messages else "ok", name))
        for message in messages:
            print("  " + message)
    return 1 if any(messages for _, messages in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
