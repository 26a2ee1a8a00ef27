#!/usr/bin/env python3
"""Installs a build into a temporary folder and uses it as strangers do: programs on PATH, pkg-config, find_package.

usage: install.py BUILD
"""
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "test", "install")
MODEL = os.path.join(ROOT, "test", "data", "gpt2-small.onnx")
CORPUS = os.path.join(ROOT, "test", "data", "corpus.txt")
failed = 0


def check(name, ok, text=""):
    global failed
    failed += not ok
    print("%s - install: %s" % ("ok" if ok else "not ok", name), flush=True)
    if not ok:
        print("  " + str(text).replace("\n", "\n  "))
    return ok


def run(command, environment, cwd):
    """(worked, standard output, everything as text)."""
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True)
    text = "%s\nexit status %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr)
    return done.returncode == 0, done.stdout, text


def public_functions():
    """Names that the headers of include/zb declare ZB_API."""
    names = set()
    for path in glob.glob(os.path.join(ROOT, "include", "zb", "*.h")):
        with open(path) as file:
            names |= set(re.findall(r"^ZB_API\b[^;(]*?\b(zb_\w+)\s*\(", file.read(), re.M))
    return names


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if len(line.split()) == 3 and
            line.split()[1] in "TDBRVW"}


def check_modules(build, prefix, plan, environment, work):
    """What was built is installed and found; a program without its modules says in one line what to do."""
    def launcher(program):
        out = run([program, "--list-devices", "--json"], environment, work)[1]
        return next(row for row in map(json.loads, out.splitlines()) if row["name"] == "mpi")

    built = os.path.exists(os.path.join(build, "lib", "zb", "zb-mpi.so"))
    found = launcher("zb-run")
    module = os.path.realpath(found["module"] or "")
    good = found["missing"] and found["hint"]
    if built:
        good = module.startswith(os.path.realpath(prefix)) and found["found"] and not found["missing"]
    check("the installed zb-run finds its modules", good, found)
    bare = os.path.join(work, "bare", "bin")
    os.makedirs(bare)
    program = shutil.copy(os.path.join(prefix, "bin", "zb-run"), bare)
    found = launcher(program)
    check("without modules: --list-devices says so",
          "built without its module 'mpi'" in found["missing"] and "libopenmpi-dev" in found["hint"], found)
    ok, _, text = run([program, plan, "--data", "text:" + CORPUS, "--steps", "1", "--launch", "mpi"], environment, work)
    check("without modules: --launch mpi says what to install",
          not ok and "exit status 4" in text and "install libopenmpi-dev" in text, text)
    ok, _, text = run([program, plan, "--data", "text:" + CORPUS, "--steps", "1"], environment, work)
    check("without modules: all else runs", ok, text)


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="zb install ") as work:
        prefix = os.path.join(work, "pre fix")
        ok, _, text = run(["cmake", "--install", build, "--prefix", prefix], None, work)
        if not check("cmake --install", ok, text):
            return
        library = glob.glob(os.path.join(prefix, "lib*", "**", "libzb.so"), recursive=True)
        packages = glob.glob(os.path.join(prefix, "lib*", "**", "zb.pc"), recursive=True)
        wanted = ["bin/zbc", "bin/zb-opt", "bin/zb-run", "bin/zb-sched", "include/zb/compiler.h",
                  "include/zb/ops.def", "share/zb/zb.irdl.mlir", "share/zb/plan.proto"]
        missing = [name for name in wanted if not os.path.exists(os.path.join(prefix, name))]
        if not check("all files are there", not missing and library and packages, missing or [library, packages]):
            return
        sources = [name for _, _, names in os.walk(prefix) for name in names
                   if name.endswith((".c", ".md", ".o", ".a")) and name != "libzb.a"]
        check("nothing else is there", not sources, sources)

        names, public = exported(library[0]), public_functions()
        check("libzb exports include/zb", public <= names, "missing: %s" % sorted(public - names))
        check("libzb exports nothing else", names <= public, "too many: %s" % sorted(names - public))
        text = subprocess.run(["ldd", library[0].replace("libzb.so", "libzb-runtime.so")],
                              capture_output=True, text=True).stdout
        check("libzb-runtime needs no LLVM", "libc.so" in text and not re.search("LLVM|MLIR", text), text)

        # The tree must not help: an environment without it, a folder outside of it.
        libraries = os.path.dirname(library[0])
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(packages[0]), LD_LIBRARY_PATH=libraries,
                           PATH=os.path.join(prefix, "bin") + os.pathsep + os.environ["PATH"])
        project = os.path.join(work, "embedder")
        os.makedirs(project)
        for name in ("embed.c", "run.c", "CMakeLists.txt"):
            shutil.copy(os.path.join(HERE, name), project)

        for name in ("zb", "zb-runtime"):
            values = {key: subprocess.run(["pkg-config", "--variable", key, name], env=environment, capture_output=True,
                                          text=True).stdout.strip()
                      for key in ("prefix", "libdir", "includedir")}
            # Blanks of a path come back escaped.
            found = {key: os.path.realpath(value.replace("\\ ", " ")) for key, value in values.items() if value}
            right = {"prefix": os.path.realpath(prefix), "libdir": os.path.realpath(libraries),
                     "includedir": os.path.realpath(os.path.join(prefix, "include"))}
            check("pkg-config --variable of %s" % name, found == right, "%s, expected %s" % (values, right))

        # The losses that the installed programs give.
        plan = os.path.join(work, "plan")
        ok, _, text = run(["zbc", MODEL, "-o", plan, "--ranks", "2", "--micro-batches", "4"], environment, work)
        check("the installed zbc compiles", ok, text)
        ok, out, text = run(["zb-run", plan, "--data", "text:" + CORPUS, "--steps", "2", "--json"], environment, work)
        check("the installed zb-run runs", ok, text)
        losses = [json.loads(line)["loss"] for line in out.splitlines() if '"loss"' in line] if ok else []

        check_modules(build, prefix, plan, environment, work)

        for name, flags, source, arguments, expected in [
            ("zb", ["--cflags", "--libs"], "embed.c", [MODEL, CORPUS, os.path.join(work, "embedded")], losses),
            ("zb-runtime", ["--cflags", "--libs"], "run.c", [plan, CORPUS], losses[:1]),
        ]:
            # By eval: pkg-config escapes the blanks of a path for a shell.
            command = 'eval "gcc -std=c11 -Wall -Wextra -Werror $1 -o $2 $(pkg-config %s %s)"' % (" ".join(flags), name)
            program = os.path.join(project, source[:-2] + "-pc")
            ok, _, text = run(["sh", "-c", command, "sh", source, os.path.basename(program)], environment, project)
            check("pkg-config %s: %s compiles" % (name, source), ok, text)
            if ok:
                ok, out, text = run([program] + arguments, environment, project)
                got = [float(x) for x in out.split()]
                check("pkg-config %s: %s gives zb-run's losses" % (name, source),
                      ok and got == expected and got and all(math.isfinite(x) for x in got),
                      "%sexpected %s" % (text, expected))

        ok, _, text = run(["cmake", "-G", "Ninja", "-S", project, "-B", os.path.join(project, "build"),
                           "-DCMAKE_PREFIX_PATH=" + prefix], environment, project)
        check("find_package(zb)", ok, text)
        if ok:
            ok, _, text = run(["cmake", "--build", os.path.join(project, "build")], environment, project)
            check("find_package(zb): builds", ok, text)
            quiet = dict(environment)
            del quiet["LD_LIBRARY_PATH"]
            ok, out, text = run([os.path.join(project, "build", "embed"), MODEL, CORPUS,
                                 os.path.join(work, "embedded2")], quiet, project)
            check("find_package(zb): gives zb-run's losses", ok and [float(x) for x in out.split()] == losses, text)

        ok, out, text = run(["sh", "-c", "zb-opt '%s' | mlir-opt-22 --irdl-file='%s/share/zb/zb.irdl.mlir'" %
                             (os.path.join(ROOT, "test", "ir", "examples.mlir"), prefix)], environment, work)
        check("stock mlir-opt reads zb-opt's output with the installed dialect", ok and "zb.matmul" in out, text)


main()
sys.exit(1 if failed else 0)
