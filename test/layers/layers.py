#!/usr/bin/env python3
"""Who may include whom: every include directive of the rooms against the table below (ARCHITECTURE.md: the plan is the
only interface, tools use the public API, CUDA and MPI are modules). No folders, and within a folder no files, need each
other in a circle. A file is NAME.c and NAME.h: it needs the files whose headers it includes, and those whose functions
it calls.

usage: layers.py [ROOT]     checks a tree, one line a folder; ends with checks of itself on made-up trees
"""
import os
import re
import sys
import tempfile

# Folder: what its files may include beside themselves. "zb/" is include/zb. The row of the longest
# matching folder counts; what a folder may include it may include as a whole, with the rows' own folders
# below it only where they are named.
BASE = ["zb/", "runtime/base/"]
PLAN_FILE = [*BASE, "runtime/plan/file/"]
PLAN = [*PLAN_FILE, "runtime/plan/mesh/", "runtime/plan/proof/", "runtime/plan/clock/"]
DEVICE = [*PLAN, "runtime/device/"]
TRANSPORT = [*DEVICE, "runtime/transport/"]
SCHEDULE = [*BASE, "passes/schedule/"]
PASS = [*BASE, "ir/", "mlir-c", "passes/"]
STAGE = [*PASS, *PLAN, "passes/choice/", "passes/stages/"]
STAGES = [*PASS, "passes/choice/", "passes/stages/", "passes/stages/functions/", "passes/stages/cut/",
          "passes/stages/jobs/", "passes/stages/places/", "passes/stages/plan/"]
FOLDERS = {
    "include/zb": ["zb/"],
    "tools": ["zb/", "tools/command/", "tools/run/", "tools/sched/"],
    "tools/command": ["zb/"],
    "tools/plugin": ["zb/", "mlir-c"],
    "tools/run": ["zb/", "tools/command/"],
    "tools/sched": ["zb/", "tools/command/"],
    "runtime/base": ["zb/", "jansson"],
    "runtime/formats": BASE,
    "runtime/cuda": BASE,
    # The file knows no reader of it; proof and clock share no code.
    "runtime/plan/file": [*BASE, "plan.pb-c.h"],
    "runtime/plan/mesh": PLAN_FILE,
    "runtime/plan/proof": [*PLAN_FILE, "runtime/plan/mesh/"],
    "runtime/plan/clock": [*PLAN_FILE, "runtime/plan/mesh/", "runtime/formats/"],
    "runtime/device": PLAN,
    # cpu and sim: sim is on the clock of the transport virtual, which runtime/exec drives.
    "runtime/device/cpu": [*TRANSPORT, "runtime/transport/virtual/", "kernels/cpu/"],
    "runtime/device/cuda": [*TRANSPORT, "runtime/cuda/"],
    "runtime/device/cuda/module": [*TRANSPORT, "runtime/device/cuda/", "kernels/cuda/"],
    "runtime/transport": DEVICE,
    "runtime/transport/threads": [*TRANSPORT, "runtime/transport/processes/"],
    "runtime/transport/virtual": TRANSPORT,
    "runtime/transport/streams": [*TRANSPORT, "runtime/cuda/", "runtime/device/cuda/"],
    "runtime/transport/nccl": [*TRANSPORT, "runtime/device/cuda/", "runtime/transport/streams/"],
    "runtime/transport/processes": TRANSPORT,
    "runtime/transport/mpi": [*TRANSPORT, "runtime/transport/processes/", "mpi"],
    "runtime/transport/tcp": [*TRANSPORT, "runtime/transport/processes/"],
    "runtime/exec": [*TRANSPORT, "runtime/formats/", "runtime/transport/virtual/", "events.pb-c.h"],
    "kernels": ["zb/"],
    # The formulas of elementwise ops are written once, for vectors and all devices, too.
    "kernels/cpu": [*BASE, "kernels/call.h", "kernels/window.h", "kernels/cpu/ref/unary.def",
                    "kernels/cpu/ref/binary.def", "x86"],
    "kernels/cpu/ref": [*BASE, "kernels/call.h", "kernels/window.h"],
    "kernels/cuda": [*BASE, "runtime/cuda/", "kernels/call.h", "kernels/window.h",
                     "kernels/cpu/ref/unary.def", "kernels/cpu/ref/binary.def", "kernels/cpu/ref/words.def"],
    "ir": [*BASE, "runtime/formats/", "mlir-c"],
    "ir/ops": [*BASE, "ir/"],
    # What every importer needs, and the row of folders without one of their own: no importer is known here.
    "ir/import": [*BASE, "ir/", "mlir-c"],
    "ir/import/meaning": [*BASE, "ir/", "ir/import/", "mlir-c"],
    "ir/import/stablehlo": [*BASE, "ir/", "ir/import/", "ir/import/meaning/", "mlir-c"],
    "ir/import/aten": [*BASE, "ir/", "ir/import/", "ir/import/meaning/", "mlir-c"],
    "ir/import/paddle": [*BASE, "ir/", "ir/import/", "ir/import/meaning/", "mlir-c", "jansson", "paddle.pb-c.h"],
    "ir/import/onnx": [*BASE, "ir/", "ir/import/", "ir/import/meaning/", "mlir-c", "onnx.pb-c.h"],
    "passes": [*BASE, "ir/", "mlir-c"],
    "passes/graph": PASS,
    # A value: what it says of a program the stages know, which obey it and know nothing of how it came about.
    "passes/choice": BASE,
    "passes/stages": [*PASS, *PLAN],
    "passes/stages/functions": STAGE,
    "passes/stages/cut": [*STAGE, "passes/stages/functions/"],
    "passes/stages/jobs": [*STAGE, "passes/stages/functions/", "passes/schedule/"],
    "passes/stages/places": [*STAGE, "passes/stages/functions/", "passes/stages/jobs/"],
    "passes/stages/plan": [*STAGE, "passes/stages/functions/", "passes/stages/jobs/", "passes/stages/places/"],
    # The table of moves is all that it knows of them.
    "passes/choose": [*STAGES, *PLAN],
    "passes/choose/moves": [*STAGES, *PLAN, "passes/choose/"],
    "passes/compile": [*STAGES, *PLAN, "ir/import/", "runtime/formats/", "passes/choose/"],
    "passes/mlir": [*PASS, "mlir or llvm (C++)"],
    "passes/schedule": BASE,
    "passes/schedule/rules": SCHEDULE,
    "passes/schedule/search": [*SCHEDULE, "passes/schedule/rules/"],
    "passes/schedule/text": [*SCHEDULE, "runtime/formats/"],
    # Groups and layouts: what they need of the schedule library is in zb/schedule.h.
    "passes/mesh": BASE,
}
# Public headers that include MLIR: for folders that may include it, and for the plugin. They alone of include/zb do.
MLIR_HEADERS = ("zb/op.h", "zb/mlir.h")
MLIR_HEADER_FILES = ["include/" + header for header in MLIR_HEADERS]
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
SYSTEM = set("""assert complex ctype dirent dlfcn errno fcntl fenv float inttypes libgen limits link locale math poll
  pthread sched semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn
  string strings termios tgmath threads time unistd wchar sys/auxv sys/file sys/mman sys/prctl sys/resource sys/socket
  sys/stat sys/time sys/types sys/utsname sys/vfs sys/wait sys/ioctl netdb netinet/in netinet/tcp arpa/inet""".split())
HINTS = [
    ("tools", "", "declare what the tool needs in include/zb; an embedder will need it too"),
    ("passes/schedule", "runtime/plan/",
     "the verifier shares no code with the scheduler; put common types in include/zb/schedule.h"),
    ("runtime/plan", "passes/schedule/",
     "the verifier shares no code with the scheduler; put common types in include/zb/schedule.h"),
    ("runtime", "ir/", "put the shared type in runtime/plan; the runtime never sees MLIR"),
    ("runtime", "passes/", "put the shared type in runtime/plan or include/zb; the runtime never sees the compiler"),
    ("runtime", "mlir", "the runtime never sees MLIR; what it needs of a program is in the plan"),
    ("", "cuda", "only device code includes CUDA's headers; the host side has runtime/cuda/api.h, whose functions "
                 "are found at run time"),
    ("", "nccl", "nothing includes NCCL's headers: runtime/cuda/api.h has its functions, which are found at run time"),
    ("", "mpi", "only runtime/transport/mpi, which is opened at run time, sees MPI"),
    ("", "mlir or llvm", "zbc is C on the MLIR C API: include <mlir-c/...>"),
    ("kernels", "", "a kernel sees zb/kernel.h, kernels/call.h, kernels/window.h and runtime/base only"),
]
SUFFIXES = (".c", ".cpp", ".h", ".def", ".cu", ".cuh", ".inc")
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
        if name.startswith("mlir-c/") and file in MLIR_HEADER_FILES:
            return None
        for library, pattern in LIBRARIES.items():
            if re.match(pattern, name):
                return None if library in allowed else library
        if "mlir or llvm (C++)" in allowed and re.fullmatch(r"[a-z_]+", name):
            return None  # of the C++ library
        return None if name.removesuffix(".h") in SYSTEM else "<%s>" % name
    if name in MLIR_HEADERS and "mlir-c" not in allowed and file not in MLIR_HEADER_FILES:
        return "mlir-c"
    if name.startswith("zb/") or name in allowed:
        return None if "zb/" in allowed or name in allowed else name
    if os.path.exists(os.path.join(root, os.path.dirname(file), name)) and "/" not in name:
        return None if folder == "include/zb" else name + " (without its folder)"
    owner = folder_rule(os.path.dirname(os.path.normpath(name)))
    if owner == folder or any(entry.endswith("/") and owner == entry[:-1] for entry in allowed):
        return None
    return name


def check_tree(root, edges=None):
    """[(folder, [messages])] of every folder of the tree that has sources. edges: a dictionary that gets the folders
    that each folder really includes from."""
    results = {}
    for room in ROOMS:
        for place, folders, files in os.walk(os.path.join(root, room)):
            folders.sort()
            relative = os.path.relpath(place, root)
            for name in sorted(f for f in files if f.endswith(SUFFIXES)):
                messages = results.setdefault(relative, [])
                rule = folder_rule(relative)
                if not rule:
                    messages.append("%s/%s:1: error: %s has no row in the table of layers; hint: add one to "
                                    "test/layers/layers.py" %
                                    (relative, name, relative))
                    continue
                path = os.path.join(relative, name)
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                    for number, line in enumerate(file, 1):
                        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
                        if not match and re.match(r"\s*#\s*(include|import)", line) and \
                                line.split()[-1] != "ZB_ISA_BODY":
                            messages.append("%s:%d: error: an include that cannot be read here; hint: write #include "
                                            "and the name of a file" % (path, number))
                        bad = match and check_include(root, path, rule, match[2], match[1] == "<")
                        if match and match[1] == '"' and edges is not None:
                            edges.setdefault(relative, set()).add(os.path.dirname(os.path.normpath(match[2])) + "/")
                        if bad:
                            messages.append("%s:%d: error: %s may not include %s; hint: %s" %
                                            (path, number, rule, bad, hint_for(rule, bad)))
    return sorted(results.items())


# Made-up files: path, text, and the message that must come, or None.
EXAMPLES = [
    ("runtime/exec/step.c", '#include "ir/op.h"',
     "runtime/exec/step.c:1: error: runtime/exec may not include ir/op.h; hint: put the shared"),
    ("runtime/plan/file/a.c", "\n#include <mlir-c/IR.h>",
     "runtime/plan/file/a.c:2: error: runtime/plan/file may not include mlir-c; hint: the runtime never"),
    ("runtime/plan/proof/b.c", '#include "passes/schedule/model.h"', "shares no code with the scheduler"),
    ("passes/schedule/c.c", '#include "runtime/plan/file/plan.h"', "shares no code with the scheduler"),
    ("passes/schedule/d.c", "#include <mlir-c/IR.h>", "passes/schedule may not include mlir-c"),
    ("passes/graph/e.c", "#include <cuda_runtime.h>", "passes/graph may not include cuda; hint: only device code"),
    ("passes/stages/f.c", '#include "runtime/exec/session.h"', "passes/stages may not include runtime/exec/session.h"),
    ("ir/g.c", '#include "passes/pass.h"', "ir may not include passes/pass.h"),
    ("ir/import/g.c", '#include "onnx.pb-c.h"', "ir/import may not include onnx.pb-c.h"),
    ("ir/import/i.c", '#include "ir/import/meaning/meaning.h"',
     "ir/import may not include ir/import/meaning/meaning.h"),
    ("ir/import/meaning/g.c", '#include "ir/import/onnx/onnx.h"',
     "ir/import/meaning may not include ir/import/onnx/onnx.h"),
    ("ir/import/h.c", '#include "ir/import/onnx/onnx.h"', "ir/import may not include ir/import/onnx/onnx.h"),
    ("ir/import/onnx/g.c", '#include "passes/pass.h"', "ir/import/onnx may not include passes/pass.h"),
    ("ir/import/other/g.c", '#include "ir/import/onnx/onnx.h"', "ir/import may not include ir/import/onnx/onnx.h"),
    ("ir/import/other/h.c", '#include "ir/import/import.h"', None),
    ("ir/h.c", "#include <llvm/IR/Module.h>", "hint: zbc is C on the MLIR C API"),
    ("tools/zbc.c", '#  include "runtime/base/text.h"',
     "tools may not include runtime/base/text.h; hint: declare what the tool needs in include/zb"),
    ("kernels/cpu/i.c", '#include "runtime/plan/file/plan.h"',
     "a kernel sees zb/kernel.h, kernels/call.h, kernels/window.h and runtime/base only"),
    ("runtime/transport/threads/j.c", "#include <mpi.h>", "may not include mpi"),
    ("runtime/base/k.c", "#include <curl/curl.h>", "runtime/base may not include <curl/curl.h>"),
    ("runtime/base/l.c", '#include "m.h"', "may not include m.h (without its folder)"),
    ("runtime/new/n.c", "#include <stdio.h>", "runtime/new has no row in the table of layers"),
    ("runtime/plan/file/p.c", '#include "runtime/plan/../exec/executor.h"',
     "runtime/plan/file may not include runtime/plan/../exec"),
    ("runtime/plan/file/q.c", '#include/**/"runtime/device/device.h"', "an include that cannot be read here"),
    ("runtime/plan/file/r.c", '#include_next "runtime/device/device.h"', "an include that cannot be read here"),
    ("runtime/plan/file/s.c", "#include HEADER", "an include that cannot be read here"),
    ("runtime/base/m.h", "#include <stdio.h>", None),
    ("passes/stages/jobs/o.c",
     '#include "passes/schedule/model.h"\n#include <mlir-c/IR.h>\n#include "ir/op.h"\n#include "zb/base.h"', None),
    ("tools/p.c", '#include "zb/base.h"\n#include <stdio.h>', None),
    ("runtime/transport/mpi/q.c", "#include <mpi.h>", None),
]


# Who may run passes, and who may copy a whole program for them: words of C, with the files that may have them. One room
# judges choices; a pass that compiled on its own would be a second one.
RUNNERS = {
    "zb_pipeline_run": ("passes/pipeline.c", "passes/pipeline.h", "passes/choose/judge.c", "passes/compile/compile.c",
                        "passes/compile/opt.c", "passes/mlir/external.c"),
    "mlirModuleFromOperation(mlirOperationClone": ("passes/choose/judge.c",),
}

# Circles of files that there are, by what makes them and their first file, with the names of the others. Rows may only
# leave, or lose names.
CIRCLES_LEFT = {
    ("call", "ir/import/onnx/control"): "nodes",
    ("call", "runtime/exec/executor"): "validation",
    ("include", "runtime/exec/executor"): "executor_parts",
}
DEFINED = re.compile(r"^(?!static\b|typedef\b)[A-Za-z][\w *]*?[ *](\w+)\([^;{}]*\)\s*\{|"
                     r"^const [\w ]+[ *](\w+)(?:\[\w*\])* = ", re.M)
OWN = re.compile(r"^static [\w *]*?[ *](\w+)\(", re.M)
BLANKED = re.compile(r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|^\s*#\s*define(?:[^\n]*\\\n)*[^\n]*",
                     re.S | re.M)


def circles(graph):
    """The circles of a graph {name: names}: sorted lists of names each of which leads to all others of its list."""
    reaches = {}
    for name in graph:
        reached, open_ = set(), [name]
        while open_:
            for target in graph.get(open_.pop(), ()):
                if target not in reached:
                    reached.add(target)
                    open_.append(target)
        reaches[name] = reached
    found = {tuple(sorted(other for other in reached if name in reaches.get(other, ())))
             for name, reached in reaches.items() if name in reached}
    return [list(circle) for circle in sorted(found) if len(circle) > 1]


def folder_circles(folders):
    """The circles among the folders of a table, each as a text."""
    graph = {folder: {entry[:-1] for entry in allowed if entry[:-1] in folders and entry[:-1] != folder}
             for folder, allowed in folders.items()}
    return [" and ".join(circle) + " include each other" for circle in circles(graph)]


def needs(texts):
    """The files of one folder {NAME.c or NAME.h: text}: two graphs {NAME: names}, by includes and by calls."""
    includes, calls, homes = {}, {}, {}
    names = {os.path.splitext(path)[0] for path in texts}
    for path, text in texts.items():
        name = os.path.splitext(path)[0]
        found = {os.path.splitext(os.path.normpath(header))[0]
                 for header in re.findall(r'^\s*#\s*include\s*"([^"]+)\.h"', text, re.M)}
        includes.setdefault(name, set()).update((found & names) - {name})
    blanked = {path: BLANKED.sub(" ", text) for path, text in texts.items()}
    for path, text in blanked.items():
        if path.endswith(".c"):
            homes.update({a or b: os.path.splitext(path)[0] for a, b in DEFINED.findall(text)})
    for path, text in blanked.items():
        name, own = os.path.splitext(path)[0], set(OWN.findall(text))
        used = {homes[word] for word in set(re.findall(r"(?<![\w.>])\w+", text)) - own if word in homes}
        calls.setdefault(name, set()).update(used - {name} if path.endswith(".c") else ())
    return includes, calls


def file_circles(root):
    """The circles of files within each folder of the rooms."""
    found = []
    for room in ROOMS:
        for place, folders, files in os.walk(os.path.join(root, room)):
            folders.sort()
            texts = {}
            for name in sorted(f for f in files if f.endswith((".c", ".h"))):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    texts[os.path.relpath(os.path.join(place, name), root)] = file.read()
            for how, graph in zip(("include", "call"), needs(texts)):
                found += [(how, circle) for circle in circles(graph)]
    return found


def runner_messages(texts):
    """What is wrong with who runs passes. texts: of files, by path."""
    hint = "only the judge of choices compiles copies (passes/choose/judge.h)"
    return ["%s:1: error: has %s; hint: %s" % (path, word, hint)
            for path, text in sorted(texts.items()) for word, files in RUNNERS.items()
            if word in re.sub(r"/\*.*?\*/|\s", "", text, flags=re.S) and path not in files]


def pass_texts(root):
    texts = {}
    for place, _, files in os.walk(os.path.join(root, "passes")):
        for name in (f for f in files if f.endswith(SUFFIXES)):
            with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                texts[os.path.relpath(os.path.join(place, name), root)] = file.read()
    return texts


def circle_messages(found, left):
    """What is wrong with the circles that are found, against the list of those that are left."""
    messages, seen = [], {}
    for how, circle in found:
        key = (how, circle[0])
        row = [circle[0], *(os.path.join(os.path.dirname(circle[0]), name) for name in left.get(key, "").split())]
        seen[key] = circle
        if not set(circle) <= set(row):
            messages.append("%s.c:1: error: it and %s %s each other in a circle; hint: move what they share into a "
                            "file below them" % (circle[0], " ".join(map(os.path.basename, circle[1:])), how))
        elif len(circle) < len(row):
            messages.append("test/layers/layers.py:1: error: the row %s, %s names files of no circle any more" % key)
    return messages + ["test/layers/layers.py:1: error: the row %s, %s is of no circle any more" % key
                       for key in left if key not in seen]


def planted():
    """For every row: a file that includes each other folder and library, and whether it
    may. [(path, include, expected)]"""
    rows = []
    for folder, allowed in FOLDERS.items():
        if folder == "include/zb":
            continue
        for other in FOLDERS:
            if other not in (folder, "include/zb"):
                rows.append((folder, '"%s/planted.h"' % other, other + "/" in allowed))
        for library, header in (("jansson", "jansson.h"), ("mlir-c", "mlir-c/IR.h"), ("cuda", "cuda.h"),
                                ("nccl", "nccl.h"), ("mpi", "mpi.h")):
            rows.append((folder, "<%s>" % header, library in allowed))
    return [("%s/planted_%d.c" % (folder, i), include, may) for i, (folder, include, may) in enumerate(rows)]


FILES = {
    "x/a.c": '#include "x/a.h"\n#include "x/b.h"\nint a(void) {\n  return b(); /* c() */\n}\n',
    "x/a.h": '#include "x/all.h"\n',
    "x/b.c": '#include "x/b.h"\n\nstatic int c(void) { return 1; }\nint b(void) {\n  return c() + it.d + "e";\n}\n',
    "x/b.h": '#include "zb/base.h"\n',
    "x/c.c": '#include "x/d.h"\nint c(void) {\n  return d();\n}\n',
    "x/d.c": "int d(void) {\n  return e;\n}\n",
    "x/d.h": '#include "x/c.h"\n',
    "x/e.c": "#define OTHER b()\nconst int e = 1;\nint f(void) { return c(); }\n",
}


def check_circles():
    """What is wrong with the circles of made-up files: c includes d.h, which includes c.h; c calls d, d reads e, and e
    calls c; but b has a c of its own, a only speaks of c, and a macro of e belongs to who uses it."""
    includes, calls = needs(FILES)
    found = [("include", circle) for circle in circles(includes)] + [("call", circle) for circle in circles(calls)]
    if found != [("include", ["x/c", "x/d"]), ("call", ["x/c", "x/d", "x/e"])]:
        return ["circles of files: %s" % found]
    left = {("include", "x/c"): "d"}
    messages = [circle_messages(found, {**left, ("call", "x/c"): "d e"}), circle_messages(found[:1], left),
                circle_messages(found, left), circle_messages(found[:1], {("include", "x/c"): "d e"}),
                circle_messages([], left)]
    expected = [None, None, "x/c.c:1: error: it and d e call each other in a circle", "names files of no circle",
                "is of no circle any more"]
    return ["%s: expected %s" % (got, text) for got, text in zip(messages, expected)
            if got if text is None or not (len(got) == 1 and text in got[0])] + \
        ["nothing, expected %s" % text for got, text in zip(messages, expected) if text and not got]


def check_itself():
    """What is wrong with this script's answers on the made-up tree."""
    wrong = []
    plants = planted()
    with tempfile.TemporaryDirectory() as root:
        for path, include, _ in plants:
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write("#include %s\n" % include)
        refused = {message.split(":")[0] for _, messages in check_tree(root) for message in messages}
    wrong += ["%s with #include %s: expected %s" % (path, include, "nothing" if may else "an error")
              for path, include, may in plants if may == (path in refused)]
    made_up = {"a": ["b/"], "b": ["c/", "zb/"], "c": ["a/"], "d": ["a/"]}
    if folder_circles(made_up) != ["a and b and c include each other"]:
        wrong.append("a circle a, b, c is not found")
    wrong += check_circles()
    made_up = {"passes/choose/judge.c": "zb_pipeline_run(&p)", "passes/stages/x.c": "/* zb_pipeline_run() */",
               "passes/stages/y.c": "mlirModuleFromOperation(\n  mlirOperationClone(op))"}
    if [message.split(":")[0] for message in runner_messages(made_up)] != ["passes/stages/y.c"]:
        wrong.append("who runs passes: %s" % runner_messages(made_up))
    with tempfile.TemporaryDirectory() as root:
        for path, text, _ in EXAMPLES:
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text + "\n")
        edges = {}
        messages = [message for _, rows in check_tree(root, edges) for message in rows]
    if "passes/schedule/" not in edges["passes/stages/jobs"] or "runtime/plan/file/" not in edges["passes/schedule"]:
        wrong.append("the includes between folders are not collected")
    for path, _, expected in EXAMPLES:
        got = [message for message in messages if message.startswith(path + ":")]
        if expected is None and got or expected and not (len(got) == 1 and expected in got[0]):
            wrong.append("%s: expected %s, got %s" % (path, expected, got))
    return wrong


def main():
    own_root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = sys.argv[1] if len(sys.argv) > 1 else own_root
    edges = {}
    checks = check_tree(root, edges) + [("no circle between folders", folder_circles(FOLDERS)),
                                        ("no circle between folders as they are", folder_circles(edges)),
                                        ("no circle between files of a folder, but those that are left",
                                         circle_messages(file_circles(root), CIRCLES_LEFT)),
                                        ("only the judge compiles copies", runner_messages(pass_texts(root))),
                                        ("finds what it should find", check_itself())]
    for name, messages in checks:
        print("%s - layers: %s" % ("not ok" if messages else "ok", name))
        for message in messages:
            print("  " + message)
    return 1 if any(messages for _, messages in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
