#!/usr/bin/env python3
"""Installs a build into a temporary folder, and builds examples/embed-c and examples/embed-cpp against it as strangers
do: by find_package(zb) and pkg-config, shared and static. Each runs zb's passes on a dialect of its own.

usage: embed.py BUILD
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")
LLVM = os.environ.get("ZB_LLVM", "/usr/lib/llvm-22")
CLASSIFY = "zb-split-grad,zb-partition{ranks=2,cuts=cut},zb-classify"
failed = 0


def check(name, ok, text=""):
    global failed
    failed += not ok
    print("%s - embed: %s" % ("ok" if ok else "not ok", name), flush=True)
    if not ok:
        print("  " + str(text).replace("\n", "\n  ")[-4000:])
    return ok


def run(command, environment, cwd):
    """(exit status, standard output, standard error)."""
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=280)
    return done.returncode, done.stdout, done.stderr


def classes(text):
    """[(op, class, stage)] in program order."""
    return [(op, kind, int(stage)) for op, kind, stage in
            re.findall(r'"(toy\.\w+|zb\.accumulate)".*?zb\.class = "(\w+)".*?zb\.stage = (\d+)', text)]


# By hand: stage 1 has the second product, its dX is what stage 0 waits for, so B, and its dW is W. In stage 0 nobody
# waits for anything; dX of the first product, which nobody reads, is gone.
EXPECTED = [("toy.mix", "F", 0), ("toy.act", "F", 0), ("toy.mix", "F", 1), ("toy.loss", "F", 1),
            ("toy.loss_grad", "B", 1), ("toy.dx", "B", 1), ("toy.dw", "W", 1), ("zb.accumulate", "W", 1),
            ("toy.act_grad", "W", 0), ("toy.dw", "W", 0), ("zb.accumulate", "W", 0), ("toy.step", "UPDATE", 0),
            ("toy.step", "UPDATE", 1)]


def check_c(name, program, environment, work):
    """What embed-c does, however it was built."""
    step = os.path.join(work, "embed-c", "step.mlir")
    status, out, text = run([program, step, CLASSIFY], environment, work)
    check(name + ": splits, partitions and classifies its dialect", status == 0 and classes(out) == EXPECTED,
          "%d\n%s%s" % (status, classes(out), text))
    status, out, text = run([program, step], environment, work)
    orders = re.findall(r'zb\.order = "([^"]*)"', out)
    check(name + ": schedules it", status == 0 and len(orders) == 2 and
          all(sorted(job[1] for job in order.split()) == sorted("FBW" * 4) for order in orders), out + text)
    status, out, text = run([program, step, "zb-classify"], environment, work)
    check(name + ": a pass too early comes to its handler, with a place and a hint",
          status == 1 and not out and re.search(r'loc\(".*step\.mlir":3:1\): zb-classify needs a program at level '
                                                r"'staged'.*\nhint: run zb-partition before it", text), text)
    status, out, text = run([program, step, "zb-partition{rank=2}"], environment, work)
    check(name + ": an unknown option is named", status == 2 and "has no option 'rank'" in text and "ranks" in text,
          text)
    wrong = os.path.join(work, "wrong.mlir")
    with open(step, encoding="utf-8") as source, open(wrong, "w", encoding="utf-8") as file:
        file.write(source.read().replace("tensor<8x16xf32>", "tensor<9x16xf32>"))
    status, out, text = run([program, wrong, CLASSIFY], environment, work)
    check(name + ": matrices that do not fit are refused by its row", status == 1 and
          re.search(r"toy\.mix: the matrices do not fit: 8 columns by 9 rows\nhint: multiply", text), text)


def check_cpp(program, environment, work):
    status, out, text = run([program], environment, work)
    check("embed-cpp: passes of zb and its own in one manager", status == 0 and
          out.split("\n")[:-1] == ["0F 2", "0UPDATE 1", "0W 3", "1B 1", "1F 2", "1UPDATE 1", "1W 2"], out + text)
    status, out, text = run([program, "wrong"], environment, work)
    check("embed-cpp: a wrong program comes to its handler", status == 1 and
          text.endswith('loc("model.toy":3:7): toycc.mix: the matrices do not fit\nhint: multiply [m, k] by [k, n]\n'),
          text)


def links(program):
    return subprocess.run(["ldd", program], capture_output=True, text=True).stdout


def check_cmake(prefix, environment, work):
    for name in ("embed-c", "embed-cpp"):
        folder = os.path.join(work, name)
        build = os.path.join(folder, "build")
        shutil.copytree(os.path.join(EXAMPLES, name), folder)
        status, out, text = run(["cmake", "-G", "Ninja", "-S", folder, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix],
                                environment, work)
        if not check(name + ": find_package(zb)", status == 0, out + text):
            continue
        status, out, text = run(["cmake", "--build", build], environment, work)
        if not check(name + ": builds", status == 0 and "warning" not in out, out + text):
            continue
        if name == "embed-cpp":
            check_cpp(os.path.join(build, "embed"), environment, work)
            continue
        check_c("embed-c, shared", os.path.join(build, "embed"), environment, work)
        static = os.path.join(build, "embed-static")
        check_c("embed-c, static", static, environment, work)
        text = links(static)
        check("embed-c, static: needs no libzb", "libMLIR" in text and "libzb" not in text, text)


def check_pkg_config(environment, work):
    source = os.path.join(work, "embed-c", "embed.c")
    for name in ("zb-mlir", "zb-static"):
        program = os.path.join(work, name)
        # By eval: pkg-config escapes the blanks of a path for a shell.
        command = 'eval "gcc -std=c17 -Wall -Wextra -Werror \\"$1\\" -o \\"$2\\" $(pkg-config --cflags --libs %s)"'
        status, out, text = run(["sh", "-c", command % name, "sh", source, program], environment, work)
        if check("pkg-config %s: builds" % name, status == 0, out + text):
            status, out, text = run([program, os.path.join(work, "embed-c", "step.mlir"), CLASSIFY], environment, work)
            check("pkg-config %s: runs" % name, status == 0 and classes(out) == EXPECTED, out + text)


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="zb embed ") as work:
        prefix = os.path.join(work, "pre fix")
        status, out, text = run(["cmake", "--install", build, "--prefix", prefix], None, work)
        if not check("cmake --install", status == 0, out + text):
            sys.exit(1)
        libraries = os.path.dirname(next(os.path.join(place, "libzb.a") for place, _, names in os.walk(prefix)
                                         if "libzb.a" in names))
        plain = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
        check_cmake(prefix, plain, work)
        check_pkg_config(dict(plain, PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig"), LD_LIBRARY_PATH=libraries),
                         work)
        # The installed plugin finds the installed library by itself.
        plugin = os.path.join(libraries, "zb", "zb-mlir-plugin.so")
        program = os.path.join(ROOT, "test", "passes", "programs", "mlp.mlir")
        status, out, text = run([os.path.join(LLVM, "bin", "mlir-opt"), "--load-pass-plugin=" + plugin,
                                 "--load-dialect-plugin=" + plugin, "--pass-pipeline=builtin.module(zb-autodiff)",
                                 program], plain, work)
        check("the installed plugin in stock mlir-opt", status == 0 and "zb.matmul_grad" in out, text)
        check("the plugin uses the installed library", os.path.realpath(libraries) in links(plugin), links(plugin))
        # The test can fail: without the component's MLIR find_package says what is missing.
        folder = os.path.join(work, "none")
        os.makedirs(folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(none LANGUAGES C)\n"
                       "find_package(zb 0.1 REQUIRED CONFIG COMPONENTS nothing)\n")
        status, out, text = run(["cmake", "-S", folder, "-B", os.path.join(folder, "build"),
                                 "-DCMAKE_PREFIX_PATH=" + prefix], plain, work)
        check("an unknown component is an error", status != 0 and "component 'nothing' of zb" in text, text)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
