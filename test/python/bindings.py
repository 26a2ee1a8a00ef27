#!/usr/bin/env python3
"""The package's idea of the C API is the headers': sizes and offsets of every struct as the compiler has them, every
function with as many arguments as the headers say, every field of parameters an option. And a field, a row or a
function that is added to a header is noticed.

    bindings.py [BUILD]

Ends with "N passed, N failed".
"""
import ctypes
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "python"), str(ROOT / "test" / "e2e")]
import common  # noqa: E402

from zb import _c, _options, options  # noqa: E402


def writer(root):
    """tools/python/bindings.py, of a tree."""
    path = pathlib.Path(root) / "tools" / "python" / "bindings.py"
    spec = importlib.util.spec_from_file_location("bindings_of_tree", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def structs():
    return [s for name, s in vars(_c).items() if isinstance(s, type) and issubclass(s, ctypes.Structure)
            and name.startswith("zb_")]


def check_layout(suite, folder):
    """What cc says of sizes and offsets."""
    lines = ["#include <stdio.h>", "#include <stddef.h>"]
    lines += ['#include "zb/%s"' % name for name in writer(ROOT).HEADERS]
    lines += ["int main(void) {"]
    for s in structs():
        lines.append('  printf("%%zu %s\\n", sizeof(%s));' % (s.__name__, s.__name__))
        for name, _ in s._fields_:
            lines.append('  printf("%%zu %%zu %s.%s\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));' %
                         (s.__name__, name, s.__name__, name, s.__name__, name))
    source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
    with open(source, "w") as file:
        file.write("\n".join(lines + ["  return 0;", "}"]) + "\n")
    subprocess.run(["cc", "-I", str(ROOT / "include"), source, "-o", program], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    here = []
    for s in structs():
        here.append("%d %s" % (ctypes.sizeof(s), s.__name__))
        for name, _ in s._fields_:
            field = getattr(s, name)
            here.append("%d %d %s.%s" % (field.offset, field.size, s.__name__, name))
    suite.check(len(here) > 300, "there are structs to compare: %d lines" % len(here))
    for wanted, got in zip(said, here):
        suite.check(wanted == got, "layout: the compiler says %s, ctypes %s" % (wanted, got))


def check_functions(suite):
    """By the headers' text, in another way than bindings.py reads them."""
    for header in writer(ROOT).HEADERS:
        text = re.sub(r"/\*.*?\*/", " ", (ROOT / "include" / "zb" / header).read_text(), flags=re.S)
        text = re.sub(r"\bZB_(MUST_USE|PRINTF\([^)]*\))", " ", text)
        for name, rest in re.findall(r"ZB_API\b[^;(]*?\b(zb_\w+)\((.*?)\)\s*;", text, re.S):
            if "..." in rest or "va_list" in rest:
                continue
            flat = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", rest))
            count = 0 if flat.strip() == "void" else flat.count(",") + 1
            known = _c.FUNCTIONS.get(name)
            suite.check(known is not None and len(known[1]) == count,
                        "%s: %s has %d arguments in the header, %s here" %
                        (header, name, count, len(known[1]) if known else "none"))


def check_options(suite):
    """Every field is an option or given by the package; docstrings are there."""
    for struct, owner in ((_c.zb_compile_params, options.CompileOptions),
                          (_c.zb_session_params, options.SessionOptions)):
        names = _options.names_of(struct)
        suite.check(sorted(owner.__annotations__) == sorted(names),
                    "%s: options are %s" % (struct.__name__, set(owner.__annotations__) ^ set(names)))
        for name in options.GIVEN[struct.__name__]:
            suite.check(name in dict(struct._fields_), "%s has no '%s' to be given" % (struct.__name__, name))
        for field in struct._fields_:
            known = field[0] in names or field[0] in options.GIVEN[struct.__name__] or \
                field[0] in options.LISTS.values()
            suite.check(known, "%s.%s can be given" % (struct.__name__, field[0]))


def stale(tree, change):
    """Whether bindings.py --check sees a change of include/zb: change is (file, what, by what)."""
    path = tree / "include" / "zb" / change[0]
    text = path.read_text()
    assert change[1] in text, change
    path.write_text(text.replace(change[1], change[2], 1))
    command = [sys.executable, str(tree / "tools" / "python" / "bindings.py"), "--check"]
    status = subprocess.run(command, capture_output=True, text=True).returncode
    path.write_text(text)
    return status


def check_changes(suite, folder):
    """The files are what bindings.py writes, and what it would write follows the headers."""
    tree = pathlib.Path(folder) / "tree"
    shutil.copytree(ROOT / "include", tree / "include")
    shutil.copytree(ROOT / "tools" / "command", tree / "tools" / "command")
    shutil.copytree(ROOT / "tools" / "python", tree / "tools" / "python",
                    ignore=shutil.ignore_patterns("__pycache__"))
    suite.check(stale(tree, ("compiler.h", "int ranks", "int ranks")) == 0, "the files are up to date")
    for change in (("compiler.h", "  int cuts_tried;", "  int added;\n  int cuts_tried;"),
                   ("compile_options.def", 'ZB_COMPILE_OPTION("--train"',
                    'ZB_COMPILE_OPTION("--added", FLAG(added), "", "more")\nZB_COMPILE_OPTION("--train"'),
                   ("runtime.h", "  bool trace;", "  bool added, trace;"),
                   ("runtime.h", "  bool trace; ", "  int trace; "),
                   ("runtime.h", "  const char *save; ", "  const char *saved; "),
                   ("runtime.h", "double loss;  ", "double other, loss;  "),
                   ("kinds.def", "ZB_KIND(F,", "ZB_KIND(A, \"added\")\nZB_KIND(F,"),
                   ("status.h", "ZB_API void zb_status_free(zb_status status);",
                    "ZB_API void zb_status_free(zb_status status, int added);"),
                   ("structs.def", "ZB_STRUCT(zb_edge)\n", ""),
                   ("compile_options.def", "executors, one device each", "executors"),
                   ("compile_options.def", "FLAG(no_raise)", "COUNT(no_raise, 2, \"\")")):
        suite.check(stale(tree, change) == 1, "a change of %s is noticed: %r" % (change[0], change[2]))


def check_library(suite, build):
    """The library has all functions, and the sizes; a package of another version is refused with what differs."""
    sizes = {s.__name__: ctypes.sizeof(s) for s in _c.STRUCTS}
    script = ("import sys, ctypes; sys.path.insert(0, %r)\nfrom zb import _c, _library\n%s\n"
              "try: lib = _library.library()\nexcept _library.Error as e: print(e); sys.exit(3)\n"
              "print([n for n in _c.FUNCTIONS if not hasattr(lib, n)])")
    environment = dict(os.environ, ZB_LIBRARY=os.path.join(build, "lib"))

    def run(change, **more):
        return subprocess.run([sys.executable, "-c", script % (str(ROOT / "tools" / "python"), change)],
                              capture_output=True, text=True, env=dict(environment, **more))

    good = run("")
    suite.check(good.returncode == 0 and good.stdout.strip() == "[]",
                "the library has all: " + good.stdout + good.stderr)
    bad = run("class zb_shape(ctypes.Structure): _fields_ = [('a', ctypes.c_int)]\n_c.STRUCTS = (zb_shape,)")
    suite.check(bad.returncode == 3 and "zb_shape has another size there" in bad.stdout and "hint:" in bad.stdout,
                "another size: " + bad.stdout)
    none = run("", ZB_LIBRARY="/nowhere")
    suite.check(none.returncode == 3 and "ZB_LIBRARY names '/nowhere'" in none.stdout, "no library: " + none.stdout)
    text = run("", ZB_LIBRARY=__file__)
    suite.check(text.returncode == 3 and "cannot be loaded" in text.stdout, "no shared library: " + text.stdout)
    suite.check(all(sizes.values()), "structs have sizes")


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build"))
    suite = common.Suite(os.path.join(build, "bin"))
    with common.scratch() as folder:
        check_layout(suite, folder)
        check_functions(suite)
        check_options(suite)
        check_changes(suite, folder)
        check_library(suite, build)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
