#!/usr/bin/env python3
"""Packs a build as cpack does, and uses the packages in roots that have the C library and its loader, and no more: no
LLVM, no C++, no MPI, no CUDA. Prints sizes and start-up times. With root's rights; else in a namespace of its own.

usage: portable.py BUILD [--python PYTHON]

Ends with "N passed, N failed".
"""
import argparse
import filecmp
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
import common  # noqa: E402

MODEL = os.path.join(common.DATA, "gpt2.onnx")
SMALL = os.path.join(common.DATA, "gpt2-small.onnx")
PROGRAMS = ("zbc", "zb-opt", "zb-run", "zb-sched")
START_LIMIT_MS = 50
# The first commands of the README, but for where files lie.
COMPILE = ["--ranks", "4", "--micro-batches", "8", "--schedule", "zb-h1"]
STEPS = ["--steps", "2", "--json"]
TRAIN = """
import json, sys, zb
plan = zb.compile(sys.argv[1], ranks=2, micro_batches=4)
with zb.Session(plan, data="text:" + sys.argv[2]) as run:
    losses = [run.step().loss for _ in range(2)]
mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
print(json.dumps({"library": zb.library().path, "losses": losses, "mapped": sorted(mapped)}))
"""


def as_root(*command):
    return list(command) if os.geteuid() == 0 else [shutil.which("unshare") or "unshare", "-rm", *command]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="backslashreplace",
                          timeout=common.patience(280), **options)


def c_library(program):
    """The files of the C library that a program of this machine uses: the loader as it is named, and libc, libm."""
    text = run(["ldd", program]).stdout
    return sorted(set(re.findall(r"(/\S*/(?:ld-linux\S*|libc|libm)\.so\.\d+)", text)))


def bare_root(folder, program):
    """A root with the C library alone."""
    for file in c_library(program):
        place = folder + file
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy(os.path.realpath(file), place)
    os.makedirs(os.path.join(folder, "tmp"))
    for file in (MODEL, SMALL, common.CORPUS):
        shutil.copy(file, folder)
    return folder


def inside(root, *command):
    chroot = shutil.which("chroot", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    return run(as_root(chroot, root, *command), env={"PATH": "/bin", "HOME": "/"})


def losses(text):
    return [row["loss"] for row in common.json_lines(text) if "loss" in row]


def pack(suite, build, work):
    """(the archive, the Debian package or None)."""
    done = run(["cmake", "--build", build, "--target", "zb-package"])
    if not suite.check(done.returncode == 0, "the target zb-package: " + (done.stdout + done.stderr)[-3000:]):
        return None, None
    done = run(["cpack", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", work])
    suite.check(done.returncode == 0, "cpack: " + done.stdout + done.stderr)
    archives, packages = (glob.glob(os.path.join(work, name)) for name in ("zb-*.tar.gz", "zb_*.deb"))
    suite.check(len(archives) == 1 and len(packages) == bool(shutil.which("dpkg-deb")),
                "packages: %s" % os.listdir(work))
    return (archives + [None])[0], (packages + [None])[0]


def check_files(suite, folder):
    """What is packed, and that no file needs more than it should."""
    names = {os.path.relpath(os.path.join(place, name), folder)
             for place, _, found in os.walk(folder) for name in found}
    wanted = {"bin/" + name for name in PROGRAMS} | {"lib/libzb.so", "lib/zb/libjansson.so.4", "include/zb/compiler.h",
              "lib/pkgconfig/zb.pc", "lib/cmake/zb/zbConfig.cmake",
              "share/doc/zb/copyright", "share/zb/zb.irdl.mlir", "share/zb/plan.proto",
              "share/man/man1/zbc.1.gz"}
    suite.check(wanted <= names, "missing: %s" % sorted(wanted - names))
    suite.check(not names & {"include/zb/mlir.h", "include/zb/op.h", "lib/zb/zb-mlir-plugin.so", "lib/libzb.a"},
                "parts for programs with an MLIR of their own")
    allowed = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    for name in sorted(names):
        if name.startswith("bin/") or ".so" in name:
            text = run(["readelf", "-d", os.path.join(folder, name)]).stdout
            needed = set(re.findall(r"NEEDED.*\[(.*)\]", text)) - allowed
            may = {"lib/zb/zb-mpi.so": {"libmpi.so.40"}}.get(name, {"libjansson.so.4"} if "libzb.so" in name else set())
            suite.check(needed <= may, "%s needs %s" % (name, sorted(needed)))
            paths = re.findall(r"RUNPATH.*\[(.*)\]", text)
            good = all(path.startswith("$ORIGIN") for path in paths) or name == "lib/zb/zb-cuda.so"
            suite.check(good, "%s looks in %s" % (name, paths))
    for name in [*("bin/" + name for name in PROGRAMS), "lib/libzb.so"]:
        print("%-20s %6.2f MiB" % (name, os.path.getsize(os.path.join(folder, name)) / 2**20))


def check_embedding(suite, folder, work):
    """A project of a stranger, by find_package from the unpacked archive; parts that need an MLIR are not there."""
    project = os.path.join(work, "project")
    os.makedirs(project)
    for words, good in ((" COMPONENTS mlir", False), ("", True)):
        with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(own LANGUAGES C)\n"
                       "find_package(zb 0.1 REQUIRED CONFIG%s)\nadd_executable(own %s)\n"
                       "target_link_libraries(own PRIVATE zb::zb)\n" %
                       (words, os.path.join(ROOT, "test", "install", "embed.c")))
        build = os.path.join(project, "build%d" % good)
        done = run(["cmake", "-S", project, "-B", build, "-DCMAKE_PREFIX_PATH=" + folder])
        suite.check((done.returncode == 0) == good and (good or "packages have zb::zb alone" in done.stderr),
                    "find_package%s: %s" % (words, done.stderr))
    done = run(["cmake", "--build", os.path.join(project, "build1")])
    if not suite.check(done.returncode == 0, "a project with the package: %s%s" % (done.stdout, done.stderr)):
        return
    done = run([os.path.join(project, "build1", "own"), SMALL, common.CORPUS, os.path.join(project, "plan")])
    suite.check(done.returncode == 0 and len(done.stdout.split()) == 2, "it trains: %s%s" % (done.stdout, done.stderr))


def check_starts(suite, root, prefix):
    for name in PROGRAMS:
        took = []
        for _ in range(9):
            begun = time.perf_counter()
            done = inside(root, prefix + "/bin/" + name, "--version")
            took.append((time.perf_counter() - begun) * 1e3)
            suite.check(done.returncode == 0 and done.stdout == name + " 0.1.0\n", "%s --version: %s%s" %
                        (name, done.stdout, done.stderr))
        print("%-20s starts in %.1f ms, chroot and all" % (name, statistics.median(took)))
        suite.check(statistics.median(took) < common.patience(START_LIMIT_MS), "%s starts in %s ms" % (name, took))


def check_use(suite, root, prefix, work):
    """The README's first commands, and every program, with the results of the build's own programs."""
    place = prefix + "/bin/"
    done = inside(root, place + "zbc", "/gpt2.onnx", "-o", "/plan", *COMPILE)
    if not suite.check(done.returncode == 0 and "bubble" in done.stdout, "zbc: %s%s" % (done.stdout, done.stderr)):
        return
    shutil.copy(MODEL, work)
    plan = os.path.join(work, "plan")
    suite.must("zbc", os.path.join(work, "gpt2.onnx"), "-o", plan, *COMPILE)
    names = sorted(os.listdir(plan))
    same = sorted(os.listdir(os.path.join(root, "plan"))) == names and all(
        filecmp.cmp(os.path.join(plan, name), os.path.join(root, "plan", name), shallow=False)
        for name in names)
    suite.check(same, "the plan's files: %s, %s" % (names, os.listdir(os.path.join(root, "plan"))))
    done = inside(root, place + "zb-run", "/plan", "--data", "text:/corpus.txt", *STEPS)
    found, expected = losses(done.stdout), losses(suite.must("zb-run", plan, "--data", "text:" + common.CORPUS, *STEPS))
    suite.check(done.returncode == 0 and found == expected and len(found) == 2, "zb-run: %s, %s: %s" %
                (found, expected, done.stderr))
    program = os.path.join(ROOT, "test", "passes", "programs", "mlp.mlir")
    shutil.copy(program, root)
    done = inside(root, place + "zb-opt", "--zb-autodiff", "--zb-split-grad", "/mlp.mlir")
    suite.check(done.returncode == 0 and done.stdout == suite.must("zb-opt", "--zb-autodiff", "--zb-split-grad",
                                                                   program), "zb-opt: " + done.stderr)
    problem = ["--ranks", "4", "--micro-batches", "8", "--schedule", "all"]
    done = inside(root, place + "zb-sched", *problem)
    suite.check(done.returncode == 0 and done.stdout == suite.must("zb-sched", *problem), "zb-sched: " + done.stderr)


def check_modules(suite, root, prefix):
    """Modules are found beside the program; what they need of the machine is said when it is not there."""
    for module, launch in (("mpi", ["--launch", "mpi"]), ("cuda", ["--device", "cuda"])):
        if not os.path.exists("%s%s/lib/zb/zb-%s.so" % (root, prefix, module)):
            continue
        done = inside(root, prefix + "/bin/zb-run", "/plan", "--data", "text:/corpus.txt", "--steps", "1", *launch)
        suite.check(done.returncode == 4 and "built without" not in done.stderr and "install" in done.stderr,
                    "the module %s: %d %s" % (module, done.returncode, done.stderr))


def check_debian(suite, package, work, program):
    """The package goes into a root whose only package is the C library, and works there."""
    text = run(["dpkg-deb", "-f", package, "Depends"]).stdout.strip()
    suite.check(re.fullmatch(r"libc6 \(>= 2\.\d+\)", text), "Depends: " + text)
    root = bare_root(os.path.join(work, "debian"), program)
    state = os.path.join(root, "var", "lib", "dpkg")
    os.makedirs(os.path.join(state, "info"))
    os.makedirs(os.path.join(state, "updates"))
    libc = run(["dpkg-query", "-s", "libc6"]).stdout
    fields = "(Package|Status|Maintainer|Architecture|Version|Description):"
    kept = [line for line in libc.splitlines() if re.match(fields, line)]
    with open(os.path.join(state, "status"), "w", encoding="utf-8") as file:
        file.write("\n".join(kept) + "\n\n")
    command = as_root("dpkg", "--root=" + root, "--force-not-root", "-i", package)
    done = run(command, env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin"))
    suite.check(done.returncode == 0, "dpkg -i: %s%s" % (done.stdout, done.stderr))
    done = inside(root, "/usr/bin/zbc", "/gpt2-small.onnx", "-o", "/plan", "--ranks", "2", "--micro-batches", "4")
    suite.check(done.returncode == 0, "the installed zbc: " + done.stderr)
    done = inside(root, "/usr/bin/zb-run", "/plan", "--data", "text:/corpus.txt", *STEPS)
    suite.check(done.returncode == 0 and len(losses(done.stdout)) == 2, "the installed zb-run: " + done.stderr)
    check_modules(suite, root, "/usr")


def check_wheel(suite, build, folder, work, python):
    """In a fresh environment on a machine whose LLVM is hidden, where that can be done."""
    done = run([python, os.path.join(ROOT, "tools", "python", "backend.py"), work, os.path.join(folder, "lib")])
    wheel = done.stdout.strip()
    if not suite.check(re.search(r"-py3-none-manylinux_2_\d+_\w+\.whl$", wheel), "wheel: " + wheel + done.stderr):
        return
    print("%-20s %6.2f MiB" % (os.path.basename(wheel), os.path.getsize(wheel) / 2**20))
    venv = os.path.join(work, "venv")
    with_pip = run([python, "-m", "venv", venv]).returncode == 0
    if not with_pip:  # without the package python3-venv: a wheel's files are what pip would install
        done = run([python, "-m", "venv", "--clear", "--without-pip", venv])
    own = os.path.join(venv, "bin", "python")
    if with_pip:
        done = run([own, "-m", "pip", "install", "--quiet", "--no-index", wheel])
        suite.check(done.returncode == 0, "pip install: " + done.stderr)
    else:
        site = run([own, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).stdout.strip()
        shutil.unpack_archive(wheel, site, "zip")
    llvm = os.environ.get("ZB_LLVM", "/usr/lib/llvm-22")
    hide = "mount -t tmpfs none '%s' && exec \"$@\"" % llvm
    hidden = run(["unshare", "-rm", "sh", "-c", hide, "sh", "true"]).returncode == 0
    command = [own, "-c", TRAIN, SMALL, common.CORPUS]
    if hidden:
        command = ["unshare", "-rm", "sh", "-c", hide, "sh"] + command
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("ZB_", "PYTHON", "LD_"))}
    done = run(command, env=plain, cwd=work)
    found = json.loads(done.stdout) if done.returncode == 0 else {"library": "", "losses": [], "mapped": []}
    plan = os.path.join(work, "small")
    suite.must("zbc", SMALL, "-o", plan, "--ranks", "2", "--micro-batches", "4")
    expected = losses(suite.must("zb-run", plan, "--data", "text:" + common.CORPUS, *STEPS))
    suite.check(found["losses"] == expected, "the package trains: %s, %s: %s" %
                (found["losses"], expected, done.stderr))
    suite.check(found["library"].startswith(venv), "its library: " + found["library"])
    foreign = [name for name in found["mapped"] if re.search("LLVM|MLIR|libstdc", name)]
    suite.check(not foreign, "it loads %s" % foreign)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("build")
    options.add_argument("--python", default=sys.executable, help="for the wheel")
    options = options.parse_args()
    build = os.path.abspath(options.build)
    suite = common.Suite(os.path.join(build, "bin"))
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        cache = file.read()
    if run(as_root("true")).returncode != 0 or "ZB_STATIC:STRING=OFF" in cache or "ZB_COMPILER:BOOL=OFF" in cache:
        print("1 passed, 0 failed # portable: SKIP no root and no namespaces, or no static programs")
        return 0
    with common.scratch() as work:
        archive, package = pack(suite, build, work)
        if not archive:
            return suite.finish()
        program = suite.tool("zbc")
        root = bare_root(os.path.join(work, "root"), program)
        # It has nothing else: what needs more does not start there.
        with tarfile.open(archive) as file:
            file.extractall(root)
        folder = glob.glob(os.path.join(root, "zb-*"))[0]
        prefix = "/" + os.path.basename(folder)
        shutil.copy(shutil.which("cmake"), root)
        done = inside(root, "/cmake", "--version")
        suite.check(done.returncode != 0 and "shared libraries" in done.stderr,
                    "a program with libraries: " + done.stderr)
        print("%-20s %6.2f MiB" % (os.path.basename(archive), os.path.getsize(archive) / 2**20))
        check_files(suite, folder)
        check_embedding(suite, folder, work)
        check_starts(suite, root, prefix)
        check_use(suite, root, prefix, work)
        check_modules(suite, root, prefix)
        if package:
            check_debian(suite, package, work, program)
        check_wheel(suite, build, folder, work, options.python)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
