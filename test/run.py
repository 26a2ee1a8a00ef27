#!/usr/bin/env python3
"""Builds one preset, runs every test of it and counts: the part of tools/test.sh that is not shell.

Three kinds of tests. CUnit programs (test/**/*_test.c, one program each, built by the target zb-tests) count by the
summary that CUnit prints. lit tests (test/**/*.mlir and *.test) count one each. Scripts (SCRIPTS below) print one
line a check, "ok - NAME" or "not ok - NAME", with what is wrong below it; "ok - NAME # SKIP REASON" was skipped. Or
their last line is "N passed, N failed".

A program that ends without a summary, an exit status that disagrees with the counts, a test that has no
program and a time-out are failures too.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEST = os.path.join(ROOT, "test")
sys.path.append(os.path.join(TEST, "e2e"))
import common  # noqa: E402

LLVM = os.environ.get("ZB_LLVM", "/usr/lib/llvm-22")
PRESETS = {"release": "build", "dev": "build-dev", "asan": "build-asan", "tsan": "build-tsan"}
# Of a machine that has nothing else to do; where others use it too, as much longer as it then takes (common.patience).
TIME_LIMIT_SECONDS = {"release": 400, "dev": 600, "asan": 600, "tsan": 600}
REPLAY_PATIENCE = 3  # what compiles are allowed that are done twice
# Name, command. {build} is the build folder. Those that take longest come first, before all other tests, so that none
# of them is left alone on one core at the end; LONG_PROGRAMS, of CUnit, come behind the first LONG_SCRIPTS of them.
LONG_SCRIPTS = 12
LONG_PROGRAMS = ("kernels-cuda-conformance_test", "passes-schedule-search_test", "runtime-device-conformance_test",
                 "ir-import-paddle_mutate_test")
# What waits for processes that die, stall or meet more than it computes: one of these runs beside the others.
WAITING = re.compile(r"e2e-(\w+_(faults|starts)|(mpi|tcp)(_bits)?|signals|evaluation_processes)|python-processes")
SCRIPTS = [
    *(("e2e-cuda_fake_" + part, ["python3", "test/e2e/cuda_fake.py", "--bin", "{build}/bin", "--tool",
                                 "{build}/test/cuda-fake", "--jobs", "1", "--only", part])
      for part in ("meshes", "plans", "waits")),
    ("e2e-bitwise", ["python3", "test/e2e/bitwise.py", "--bin", "{build}/bin", "--jobs", "1"]),
    ("e2e-memory", ["python3", "test/e2e/memory.py", "--bin", "{build}/bin", "--poison", "{build}/poison"]),
    ("e2e-split", ["python3", "test/e2e/split.py", "--bin", "{build}/bin"]),
    ("e2e-growth", ["python3", "test/e2e/growth.py", "--bin", "{build}/bin"]),
    ("readme", ["python3", "test/readme/readme.py", "{build}"]),
    ("e2e-mpi_faults", ["python3", "test/e2e/processes_faults.py", "--bin", "{build}/bin", "--over", "mpi",
                        "--kills", "12"]),
    ("e2e-collectives", ["python3", "test/e2e/collectives.py", "--bin", "{build}/bin"]),
    ("e2e-stablehlo_testdata", ["python3", "test/e2e/stablehlo_testdata.py", "--bin", "{build}/bin"]),
    ("e2e-stablehlo", ["python3", "test/e2e/stablehlo.py", "--bin", "{build}/bin"]),
    ("e2e-paddle", ["python3", "test/e2e/paddle.py", "--bin", "{build}/bin"]),
    ("e2e-aten", ["python3", "test/e2e/aten.py", "--bin", "{build}/bin"]),
    ("e2e-meaning", ["python3", "test/e2e/meaning.py", "--bin", "{build}/bin"]),
    ("e2e-careful", ["python3", "test/e2e/careful.py", "--bin", "{build}/bin"]),
    ("e2e-families", ["python3", "test/e2e/families.py", "--bin", "{build}/bin"]),
    ("e2e-windows", ["python3", "test/e2e/windows.py", "--bin", "{build}/bin"]),
    ("e2e-recompute", ["python3", "test/e2e/recompute.py", "--bin", "{build}/bin"]),
    ("e2e-choice", ["python3", "test/e2e/choice.py", "--bin", "{build}/bin", "--jobs", "1"]),
    ("e2e-cuda_emulated", ["python3", "test/e2e/cuda_emulated.py", "--bin", "{build}/bin",
                           "--tool", "{build}/test/cuda-emulated", "--jobs", "1"]),
    ("e2e-mpi_bits", ["python3", "test/e2e/processes.py", "--bin", "{build}/bin", "--over", "mpi", "--only", "bits"]),
    ("e2e-tcp_starts", ["python3", "test/e2e/processes_starts.py", "--bin", "{build}/bin", "--over", "tcp"]),
    ("e2e-tcp_faults", ["python3", "test/e2e/processes_faults.py", "--bin", "{build}/bin", "--over", "tcp",
                        "--kills", "12"]),
    ("e2e-mpi", ["python3", "test/e2e/processes.py", "--bin", "{build}/bin", "--over", "mpi",
                 "--only", "saves", "errors", "network"]),
    ("e2e-mpi_starts", ["python3", "test/e2e/processes_starts.py", "--bin", "{build}/bin", "--over", "mpi"]),
    ("e2e-explain", ["python3", "test/e2e/explain.py", "--bin", "{build}/bin"]),
    ("e2e-overlap", ["python3", "test/e2e/overlap.py", "--bin", "{build}/bin"]),
    ("e2e-failing", ["python3", "test/e2e/failing.py", "--bin", "{build}/bin"]),
    ("layers", ["python3", "test/layers/layers.py"]),
    ("tidy", ["python3", "test/tidy/tidy.py"]),
    ("rules", ["python3", "test/runtime/plan/proof/rules.py"]),
    ("headers", ["python3", "test/headers/headers.py"]),
    ("links", ["python3", "test/layers/links.py", "{build}"]),
    ("schedule-manual", ["python3", "test/passes/schedule/manual.py", "{build}"]),
    ("mesh", ["python3", "test/passes/mesh/groups.py", "--bin", "{build}/bin"]),
    ("install", ["python3", "test/install/install.py", "{build}"]),
    ("portable", ["python3", "test/install/portable.py", "{build}"]),
    ("embed", ["python3", "test/install/embed.py", "{build}"]),
    ("plugin", ["python3", "test/passes/mlir/plugin.py", "{build}"]),
    *(("python-" + part, ["python3", "test/python/%s.py" % part, "{build}"])
      for part in ("bindings", "examples", "install", "package", "processes", "strangers_hour", "torch_pipeline",
                   "unseeded")),
    ("e2e-indices", ["python3", "test/e2e/indices.py", "--bin", "{build}/bin"]),
    ("e2e-bad_input", ["python3", "test/e2e/bad_input.py", "--bin", "{build}/bin"]),
    ("e2e-faults", ["python3", "test/e2e/faults.py", "--bin", "{build}/bin"]),
    ("e2e-later", ["python3", "test/e2e/later.py", "--bin", "{build}/bin"]),
    ("e2e-weights", ["python3", "test/e2e/weights.py", "--bin", "{build}/bin"]),
    ("e2e-places", ["python3", "test/e2e/places.py", "--bin", "{build}/bin"]),
    ("e2e-logs", ["python3", "test/e2e/logs.py", "--bin", "{build}/bin"]),
    ("e2e-signals", ["python3", "test/e2e/signals.py", "--bin", "{build}/bin"]),
    ("e2e-stopped_search", ["python3", "test/e2e/stopped_search.py", "--bin", "{build}/bin"]),
    ("e2e-reference", ["python3", "test/e2e/reference.py", "--bin", "{build}/bin"]),
    ("e2e-rates", ["python3", "test/e2e/rates.py", "--bin", "{build}/bin"]),
    *(("e2e-export_" + part, ["python3", "test/e2e/export.py", "--bin", "{build}/bin", "--part", part])
      for part in ("evaluator", "refused", "taken", "trained")),
    ("e2e-dropout", ["python3", "test/e2e/dropout.py", "--bin", "{build}/bin"]),
    ("e2e-evaluation", ["python3", "test/e2e/evaluation.py", "--bin", "{build}/bin",
                        "--only", "loss", "bits", "training", "input"]),
    ("e2e-evaluation_processes", ["python3", "test/e2e/evaluation.py", "--bin", "{build}/bin",
                                  "--only", "processes", "ends"]),
    ("e2e-precision", ["python3", "test/e2e/precision.py", "--bin", "{build}/bin"]),
    ("e2e-drawn_compiles", ["python3", "test/e2e/drawn_compiles.py", "--bin", "{build}/bin", "--jobs", "1"]),
    ("e2e-arrays", ["python3", "test/e2e/arrays.py", "--bin", "{build}/bin"]),
    ("e2e-outputs", ["python3", "test/e2e/outputs.py", "--bin", "{build}/bin"]),
    ("e2e-buffers", ["python3", "test/e2e/buffers.py", "--bin", "{build}/bin"]),
    ("e2e-inference", ["python3", "test/e2e/inference.py", "--bin", "{build}/bin"]),
    ("e2e-onnx_nodes", ["python3", "test/e2e/onnx_nodes.py", "--bin", "{build}/bin", "--jobs", "1"]),
    ("e2e-onnx_gradients", ["python3", "test/e2e/onnx_gradients.py", "--bin", "{build}/bin"]),
    ("e2e-onnx_random", ["python3", "test/e2e/onnx_random.py", "--bin", "{build}/bin"]),
    ("e2e-points", ["python3", "test/e2e/points.py", "--bin", "{build}/bin"]),
    ("e2e-skips", ["python3", "test/e2e/skips.py", "--bin", "{build}/bin"]),
    ("e2e-joint_search", ["python3", "test/e2e/joint_search.py", "--bin", "{build}/bin"]),
    ("e2e-balance", ["python3", "test/e2e/balance.py", "--bin", "{build}/bin"]),
    ("e2e-costs", ["python3", "test/e2e/costs.py", "--bin", "{build}/bin"]),
    ("e2e-replicas", ["python3", "test/e2e/replicas.py", "--bin", "{build}/bin"]),
    ("e2e-sharding", ["python3", "test/e2e/sharding.py", "--bin", "{build}/bin"]),
    ("e2e-mesh_sharding", ["python3", "test/e2e/mesh_sharding.py", "--bin", "{build}/bin"]),
    ("e2e-mesh", ["python3", "test/e2e/mesh.py", "--bin", "{build}/bin"]),
    ("e2e-local_map", ["python3", "test/e2e/local_map.py", "--bin", "{build}/bin"]),
    ("e2e-shards", ["python3", "test/e2e/shards.py", "--bin", "{build}/bin"]),
    ("e2e-clipping", ["python3", "test/e2e/clipping.py", "--bin", "{build}/bin"]),
    ("e2e-loss_mean", ["python3", "test/e2e/loss_mean.py", "--bin", "{build}/bin"]),
    ("e2e-validation", ["python3", "test/e2e/validation.py", "--bin", "{build}/bin"]),
    ("e2e-pytorch_schedules", ["python3", "test/e2e/pytorch_schedules.py", "--tool", "{build}/test/order_files"]),
    ("e2e-tcp_bits", ["python3", "test/e2e/processes.py", "--bin", "{build}/bin", "--over", "tcp", "--only", "bits"]),
    ("e2e-tcp", ["python3", "test/e2e/processes.py", "--bin", "{build}/bin", "--over", "tcp",
                 "--only", "saves", "errors", "network"]),
    ("e2e-replicas_faults", ["python3", "test/e2e/processes_faults.py", "--bin", "{build}/bin", "--over", "tcp",
                             "--data-parallel", "2", "--points", "1", "--stops", "2"]),
    ("e2e-mesh_faults", ["python3", "test/e2e/processes_faults.py", "--bin", "{build}/bin", "--over", "tcp",
                         "--data-parallel", "2", "--tensor-parallel", "2", "--ranks", "8", "--points", "1",
                         "--kills", "4", "--stops", "2"]),
]
SANITIZER_ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "LSAN_OPTIONS": "suppressions='%s':print_suppressions=0" % os.path.join(TEST, "lsan.supp"),
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:suppressions='%s'" % os.path.join(TEST, "tsan.supp"),
}


class Result:
    def __init__(self, name, passed=0, failed=0, skipped=0, text="", seconds=0.0):
        self.name, self.passed, self.failed, self.skipped = name, passed, failed, skipped
        self.text, self.seconds = text, seconds


def run(command, limit_seconds, environment=None, cwd=ROOT):
    """Runs in a process group of its own; (exit status or None after a time-out, output, seconds)."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env=environment, start_new_session=True)
        left, status, stopped = limit_seconds, None, False
        while status is None and not stopped:
            try:
                status = process.wait(1)
            except subprocess.TimeoutExpired:
                left -= 1 / common.patience(1)
                stopped = left <= 0
        if stopped:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        text = out.read().decode(errors="replace")
    return status, text, time.monotonic() - start


def ending(status, limit_seconds):
    if status is None:
        return "still running after %d seconds (more where others use the machine), stopped" % limit_seconds
    return "ended by signal %s" % signal.Signals(-status).name if status < 0 else "exit status %d" % status


def count_cunit(name, status, text, seconds, limit_seconds):
    """CUnit's row: 'tests  Total  Ran  Passed  Failed  Inactive'."""
    row = re.findall(r"^\s*tests\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s*$", text, re.M)
    suites = re.findall(r"^Run Summary:.*\n\s*suites\s+\d+\s+\d+\s+\S+\s+(\d+)\s+\d+\s*$", text, re.M)
    if not row:
        return Result(name, failed=1, text="%s\n%s without a summary\n" % (text, ending(status, limit_seconds)),
                      seconds=seconds)
    total, _, passed, failed, inactive = (int(x) for x in row[-1])
    suites_failed = int(suites[-1]) if suites else 0
    notes = []
    if suites_failed:  # a suite that could not start: none of its tests ran
        notes.append("%d suites could not start" % suites_failed)
    if total == 0:
        notes.append("the program has no tests")
    if passed + failed + inactive < total:
        notes.append("%d tests did not run" % (total - passed - failed - inactive))
    if status != 0 and failed == 0:
        notes.append("all tests passed, but " + ending(status, limit_seconds))
    if status == 0 and failed:
        notes.append("tests failed, but exit status 0")
    return Result(name, passed, failed + len(notes), inactive, text + "".join(n + "\n" for n in notes), seconds)


def count_script(name, status, text, seconds, limit_seconds):
    passed = len(re.findall(r"^ok - (?!.*# SKIP)", text, re.M))
    skipped = len(re.findall(r"^ok - .*# SKIP", text, re.M))
    failed = len(re.findall(r"^not ok - ", text, re.M))
    total = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", text, re.M)
    if total:
        passed, failed, skipped = (int(count or 0) for count in total[-1])
    if (status != 0) != (failed > 0) or passed + skipped + failed == 0:
        failed += 1
        text += "%s, with %d checks\n" % (ending(status, limit_seconds), passed + skipped + failed - 1)
    return Result(name, passed, failed, skipped, text, seconds)


def cunit_programs():
    """(name, source) of every CUnit program, by the rule of test/CMakeLists.txt."""
    found = []
    for folder, folders, files in os.walk(TEST):
        folders.sort()
        place = os.path.relpath(folder, TEST)
        for file in sorted(files):
            if file.endswith("_test.c"):
                prefix = "" if place == "." else place.replace(os.sep, "-") + "-"
                found.append((prefix + file[:-2], os.path.join("test", place, file)))
    return found


def lit_tests():
    """Names, relative to the root, by the rule of lit.cfg.py."""
    found = []
    for folder, folders, files in os.walk(TEST):
        folders[:] = sorted(f for f in folders if f not in ("data", "bench", "Inputs"))
        found += [os.path.relpath(os.path.join(folder, f), ROOT) for f in sorted(files)
                  if f.endswith((".mlir", ".test"))]
    return found


def read_left_out(modes):
    """[(pattern, reason)] of the rows of these modes."""
    rows = []
    with open(os.path.join(TEST, "left_out.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                mode, pattern, reason = line.split(None, 2)
                if mode in modes:
                    rows.append((pattern, reason.strip()))
    return rows


class Report:
    """Prints results as they come, of any thread, and adds up."""

    def __init__(self, verbose):
        self.verbose, self.passed, self.failed, self.skipped = verbose, 0, 0, 0
        self.failures, self.lock = [], threading.Lock()

    def add(self, result):
        with self.lock:
            self.passed += result.passed
            self.failed += result.failed
            self.skipped += result.skipped
            if result.failed:
                self.failures.append(result)
                print("FAIL %s: %d failed, %d passed\n%s" %
                      (result.name, result.failed, result.passed, indent(result.text)), flush=True)
            elif self.verbose or result.seconds > 30:
                print("ok   %s: %d passed, %.1f s" % (result.name, result.passed, result.seconds), flush=True)

    def skip(self, name, reason):
        with self.lock:
            self.skipped += 1
            print("skip %s: %s" % (name, reason), flush=True)

    def finish(self):
        if self.failures:
            print("\nfailed:\n" + "".join("  %s (%d)\n" % (r.name, r.failed) for r in self.failures))
        print("%d passed, %d failed" %
              (self.passed, self.failed) + (", %d skipped" % self.skipped if self.skipped else ""), flush=True)
        return 1 if self.failed or self.passed == 0 else 0


def indent(text, lines_max=400):
    lines = text.rstrip("\n").split("\n")
    if len(lines) > lines_max:
        left_out = "... %d lines left out ..." % (len(lines) - lines_max)
        lines = lines[: lines_max // 2] + [left_out] + lines[-lines_max // 2 :]
    return "".join("    " + line + "\n" for line in lines)


def build(preset, folder, architectures, report):
    """Configures, and builds all programs and tests as far as they build. architectures: those that CUDA kernels get
    machine code for, or None. (whether tests can be run, whether all was built)."""
    print("building preset %s in %s/" % (preset, os.path.relpath(folder, ROOT)), flush=True)
    start = time.monotonic()
    # Configured each time: test programs are found by name, and this is quick.
    cuda = ["-DZB_CUDA_ARCHITECTURES=" + architectures] if architectures else []
    status, text, seconds = run(["cmake", "--preset", preset] + cuda, 600)
    if status != 0:
        report.add(Result("configure", failed=1, text=text, seconds=seconds))
        return False, False
    status, text, seconds = run(["ninja", "-C", folder, "-k", "0", "all", "zb-tests"], 3600)
    if status != 0:
        lines = [l for l in text.split("\n") if not re.match(r"\[\d+/\d+\] (Building|Linking|Generating|Running)", l)]
        report.add(Result("build", failed=1, text="\n".join(lines), seconds=seconds))
    elif "warning:" in text:
        lines = [l for l in text.split("\n") if not re.match(r"\[\d+/\d+\]", l)]
        report.add(Result("build without warnings", failed=1, text="\n".join(lines), seconds=seconds))
    print("built in %.0f s" % (time.monotonic() - start), flush=True)
    return True, status == 0


def builds(folder, target):
    """Whether this program builds; asked only after a build of all that failed."""
    return run(["ninja", "-C", folder, target], 600)[0] == 0


def run_lit(tests, folder, jobs, environment, limit_seconds, report):
    """One lit process for all tests."""
    out = os.path.join(folder, "lit.json")
    if os.path.exists(out):
        os.remove(out)
    command = [sys.executable, os.path.join(LLVM, "bin", "lit"), "-j", str(jobs), "-v", "-o", out] + tests
    status, text, seconds = run(command, limit_seconds * 4, dict(environment, ZB_BUILD=folder))
    if not os.path.exists(out):
        report.add(Result("lit", failed=1, text="%s\n%s without a result\n" % (text, ending(status, limit_seconds * 4)),
                          seconds=seconds))
        return
    with open(out) as file:
        rows = json.load(file)["tests"]
    results = {row["name"].split(" :: ", 1)[1]: row for row in rows}
    for test in tests:
        row = results.pop(os.path.relpath(test, "test"), None)
        code = row["code"] if row else "NOT RUN"
        if code in ("PASS", "XFAIL"):
            report.add(Result(test, passed=1, seconds=row.get("elapsed") or 0))
        elif code == "UNSUPPORTED":
            report.skip(test, "lit says unsupported")
        else:
            report.add(Result(test, failed=1, text="%s\n%s" % (code, row["output"] if row else text)))


def with_replays(folder):
    """(a folder like that of a build, whose zbc does each compile again by its choice, test/e2e/replay.py; its log)"""
    beside = os.path.join(folder, "replay")
    shutil.rmtree(beside, ignore_errors=True)
    os.makedirs(os.path.join(beside, "bin"))
    log, zbc = os.path.join(beside, "compiles.log"), os.path.join(beside, "bin", "zbc")
    for place in ("", "bin"):
        for name in set(os.listdir(os.path.join(folder, place))) - {"bin", "replay", "lit", "zbc"}:
            os.symlink(os.path.join(folder, place, name), os.path.join(beside, place, name))
    with open(zbc, "w") as file:
        file.write("#!/bin/sh\nexec python3 %s %s %s \"$@\"\n" % tuple(map(shlex.quote, (
            os.path.join(TEST, "e2e", "replay.py"), os.path.join(folder, "bin", "zbc"), log))))
    os.chmod(zbc, 0o755)
    open(log, "w").close()
    return beside, log


def count_replays(log):
    with open(log) as file:
        lines = file.readlines()
    wrong = [line for line in lines if not line.startswith("same ")]
    return Result("replay", len(lines) - len(wrong), len(wrong) + (not lines), text="".join(wrong))


def run_tests(tests, jobs):
    """Runs tests, (name, function), in their order, as many as `jobs` at a time; and one of WAITING more, unless no
    two shall run at a time."""
    busy, waiting, lock = collections.deque(), collections.deque(), threading.Lock()
    for name, function in tests:
        (waiting if jobs > 1 and WAITING.fullmatch(name) else busy).append(function)

    def take(*queues):
        with lock:
            return next((queue.popleft() for queue in queues if queue), None)

    def work(*queues):
        while function := take(*queues):
            function()

    with concurrent.futures.ThreadPoolExecutor(max(1, jobs) + 1) as pool:
        workers = [pool.submit(work, waiting)] + [pool.submit(work, busy, waiting) for _ in range(max(1, jobs))]
    for worker in workers:
        worker.result()


def main():
    parser = argparse.ArgumentParser(prog="tools/test.sh")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--filter", metavar="NAME", default="")
    parser.add_argument("--preset", choices=sorted(PRESETS), default="release")
    parser.add_argument("--cuda-architectures", metavar="LIST",
                        help="what CUDA kernels get machine code for, \"90\" (default: as CMake has it)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--replay", action="store_true",
                        help="zbc compiles everything again by its choice; what differs has failed")
    options = parser.parse_args()
    # A shell starts what is in the background with Ctrl-C ignored, which programs inherit: tests send them that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    start = time.monotonic()
    report = Report(options.verbose)
    folder = os.path.join(ROOT, PRESETS[options.preset])
    limit = TIME_LIMIT_SECONDS[options.preset]
    left_out = read_left_out({options.preset, *(mode for mode in ("fast", "replay") if vars(options)[mode])})
    environment = dict(os.environ)
    for name, value in SANITIZER_ENVIRONMENT.items():
        environment.setdefault(name, value)

    def wanted(name, source=None):
        if options.filter not in name and options.filter not in (source or name):
            return False
        for pattern, reason in left_out:
            if any(pathlib.PurePath(text).match(pattern) for text in (name, source or name)):
                report.skip(name, reason)
                return False
        return True

    can_run, whole = build(options.preset, folder, options.cuda_architectures, report)
    if not can_run:
        return report.finish()
    build_lock = threading.Lock()
    if options.replay:
        folder, log = with_replays(folder)
        limit *= REPLAY_PATIENCE

    def run_cunit(item):
        name, source = item
        program = os.path.join(folder, "test", name)
        with build_lock:
            good = whole or builds(folder, "test/" + name)
        if not good:
            return Result(name, failed=1, text="%s does not build\n" % source)
        if not os.path.exists(program):
            return Result(name, failed=1, text="%s: no program; hint: add zb_tests(%s ROOMS) to test/CMakeLists.txt\n" %
                          (source, os.path.dirname(os.path.relpath(source, "test"))))
        return count_cunit(name, *run([program], limit, environment), limit)

    def run_script(item):
        name, command = item
        return count_script(name, *run([word.format(build=folder) for word in command], limit, environment), limit)

    cunit = [item for item in cunit_programs() if wanted(*item)]
    lit = [test for test in lit_tests() if wanted(test)]
    scripts = [item for item in SCRIPTS if wanted(item[0])]
    long = [item for item in cunit if item[0] in LONG_PROGRAMS]
    short = [item for item in cunit if item[0] not in LONG_PROGRAMS]
    tests = [(item[0], lambda run=run, item=item: report.add(run(item)))
             for run, items in ((run_script, scripts[:LONG_SCRIPTS]), (run_cunit, long),
                                (run_script, scripts[LONG_SCRIPTS:]), (run_cunit, short)) for item in items]
    if lit:  # beside others one process that runs one test at a time
        lit_jobs = 1 if tests else options.jobs
        tests.insert(0, ("lit", lambda: run_lit(lit, folder, lit_jobs, environment, limit, report)))
    run_tests(tests, options.jobs)
    if options.replay:
        report.add(count_replays(log))
    print("%.0f s in all" % (time.monotonic() - start))
    if not cunit and not lit and not scripts:
        print("no test has '%s' in its name" % options.filter)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
