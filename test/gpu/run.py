#!/usr/bin/env python3
"""What can only be shown where a GPU is: run.sh starts this on such a machine and keeps what it prints.

    run.py [--build BUILD] [--part NAME ...] [--limit SECONDS] [--device cuda] [--plans FOLDER] [--log FILE]
    run.py --prepare FOLDER         compiles the plans on a machine with zbc, for one
                                    without (then --plans FOLDER there)
    run.py --pack FILE.tar.xz       the same, with programs, module and libraries, for a machine that cannot build
                                    (there: python3 -m tarfile -e FILE, --build)

Parts, in this order; each ends after --limit seconds at the latest, and none needs another:
  programs      the test programs that use the device: conformance of every kernel among them
  training      the small GPT-2 and Llama of test/data, f32, 20 steps: losses within 1e-4 relative of PyTorch's (stored
                references); the same losses and saved tensors from run to run and for every plan (1, 2 and 4 ranks,
                several schedules); arenas; --profile; --tf32 within 1e-2
  bf16          the same graphs with --precision bf16, 50 steps within 2 % of PyTorch's autocast
                (stored), the same bits for every plan
  sizes         a GPT-2 with heads of 64 columns and 512 positions, f32 and bf16, 3 steps:
                losses of the cpu's within 1e-4 and 2e-3
  models        meshes, options of a step, and architectures with other ops (models.py), 4 steps: losses of the
                cpu's, within 1e-4 and 2e-3 with bf16
  products      what cuBLASLt was asked for in a step of bf16, by its own log: which epilogues it took
  sanitizer     compute-sanitizer, where it is installed: memcheck finds nothing in two steps of three plans, racecheck
                nothing in the cases of kernels that share memory
  bench         test/bench/gpu.sh
Every check is one line; --log FILE gets every command with all that it said. --device cpu tries this script where no
GPU is. Without the device: one line that says so, exit status 77. Only the standard library.
"""
import argparse
import collections
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.abspath(os.path.join(HERE, "..", ".."))
sys.path[:0] = [os.path.join(SOURCE, "test", "e2e"), os.path.join(SOURCE, "test", "bench")]
import common  # noqa: E402
import gpt  # noqa: E402
import libraries  # noqa: E402
import models  # noqa: E402

CONFORMANCE = "runtime-device-conformance_test"
PROGRAMS = ("runtime-device-cuda-api_test", "runtime-device-cuda-module-gpu_test", CONFORMANCE)
GRAPHS = ("gpt2-small", "llama-small")
PLANS = {  # name: arguments of zbc; the first is what the others are compared with
    "1-fthenb": ("--ranks", 1, "--schedule", "fthenb"),
    "2-1f1b": ("--ranks", 2, "--schedule", "1f1b"),
    "4-zb-h1": ("--ranks", 4, "--schedule", "zb-h1"),
    "4-zb-v": ("--ranks", 4, "--schedule", "zb-v"),
    "2-fthenb-looped": ("--ranks", 2, "--schedule", "fthenb", "--chunks", 2),
}
FIRST = next(iter(PLANS))
STEPS, LIMIT, TF32_LIMIT, BF16_LIMIT = 20, 1e-4, 1e-2, 0.02
SIZE = gpt.Size(layers=2, dim=128, heads=2, seq=512, batch=2, vocab=512)
SIZE_PLANS, SIZE_STEPS, SIZE_LIMITS = (FIRST, "4-zb-h1"), 3, {"f32": 1e-4, "bf16": 2e-3}
BENCH_RANKS = (1, 4)
# Ops whose kernels share memory in a block: first those that no card has run so, or whose kernels are new. Of matmul
# only the cases of the own kernel: racecheck of an H200 ended in an internal error at a product of cuBLASLt, 'bf16
# large 250x400x40', though the options name our kernels only.
RACED = ("matmul spaced", "adamw", "conv_weight", "cross_entropy_grad", "layer_norm", "rms_norm", "layer_norm_grad_x",
         "rms_norm_grad_x", "attention_grad",  # each of attention takes half a minute of an H100
         "clip_scale", "cross_entropy", "cumsum", "gather_grad", "layer_norm_grad_scale", "log_softmax", "reduce_sum",
         "scatter", "softmax_grad", "square_sum", "top_k", "attention", "attention_dropout_grad")
OF_EVERY_SYSTEM = ("linux-vdso", "ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.",
                   "libgcc_s.", "libstdc++.")
LOG_CHARACTERS = 400000  # of one command


class Timed(common.Suite):
    """A suite whose commands share the time of a part, and whose output is kept."""

    def __init__(self, bin_folder, log):
        super().__init__(bin_folder)
        self.log, self.end, self.limit = log, math.inf, math.inf

    def begin(self, limit):
        self.limit, self.end = limit, time.monotonic() + limit

    def execute(self, command, environment=None, **options):
        """CompletedProcess, errors within the output unless options say otherwise. When the part's time is over: it
        and its children end, and Failure."""
        command = [str(word) for word in command]
        begin = time.monotonic()
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True,
                   "errors": "backslashreplace", **options}
        process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, cwd=SOURCE,
                                   env=environment, **options)
        out, err, late = "", "", False
        try:
            out, err = process.communicate(timeout=None if self.end == math.inf else max(1.0, self.end - begin))
        except subprocess.TimeoutExpired:
            late = True
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
        if self.log:
            words = (f"$ {' '.join(command)}\n[exit status {process.returncode}{', too late' if late else ''}, "
                     f"{time.monotonic() - begin:.1f} s]\n")
            self.log.write(words + (out or "")[-LOG_CHARACTERS:] + (err or "")[-LOG_CHARACTERS:] + "\n")
            self.log.flush()
        if late:
            raise common.Failure(f"{os.path.basename(command[0])}: ended, as its part may take {self.limit:.0f} s; the "
                                 f"last it said:\n{(out or '')[-3000:]}")
        return subprocess.CompletedProcess(command, process.returncode, out, err or "")

    def run(self, name, *arguments, **options):
        return self.execute([self.tool(name), *arguments], stderr=subprocess.PIPE, **options)


def reference(graph, kind="reference"):
    with open(os.path.join(common.DATA, f"{graph}.{kind}.json")) as file:
        return json.load(file)


def prepare(suite, folder):
    if not os.access(suite.tool("zbc"), os.X_OK):
        raise common.Failure(f"no zbc in '{suite.bin}' to compile the plans with\n  hint: --plans FOLDER, that "
                             "--prepare filled on a machine that has it")
    os.makedirs(folder, exist_ok=True)
    for graph in GRAPHS:
        model, bf16 = os.path.join(common.DATA, graph + ".onnx"), reference(graph, "bf16")
        for name, arguments in PLANS.items():
            suite.compile(model, os.path.join(folder, f"{graph}-{name}"),
                          "--micro-batches", reference(graph)["micro_batches"], *arguments)
            suite.compile(model, os.path.join(folder, f"{graph}-bf16-{name}"), "--precision", "bf16",
                          "--micro-batches", bf16["micro_batches"],
                          "--optimizer", f"adamw:lr={bf16['adamw']['lr']}", *arguments)
    graph = os.path.join(folder, "sizes.mlir")
    with open(graph, "w", encoding="utf-8") as file:
        file.write(gpt.program(SIZE))
    for precision in SIZE_LIMITS:
        for name in SIZE_PLANS:
            suite.compile(graph, os.path.join(folder, f"sizes-{precision}-{name}"), "--precision", precision,
                          "--micro-batches", 4, *PLANS[name])
    models.prepare(suite, common.DATA, os.path.join(folder, "models"))


def needed_libraries(file):
    """Paths of what a program is linked with and not every system has."""
    listing = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    return [match[2] for match in re.finditer(r"^\s*(\S+) => (/\S+)", listing, re.M)
            if not match[1].startswith(OF_EVERY_SYSTEM)]


def pack(suite, build, file):
    """FOLDER of FOLDER.tar.xz: bin, lib and test as in a build folder; shared: libraries; plans, and those
    of the benchmark without weights."""
    files = [os.path.join("bin", "zb-run"), os.path.join("lib", "zb", "zb-cuda.so"),
             *(os.path.join("test", name) for name in PROGRAMS)]
    missing = [name for name in files if not os.path.exists(os.path.join(build, name))]
    if missing:
        sys.exit(f"error: not in '{build}': {', '.join(missing)}\n  hint: configure with -DZB_CUDA=ON where nvcc is, "
                 "then build the targets all and zb-tests")
    top = os.path.basename(file).removesuffix(".tar.xz")
    # preset=9 sees that the device code in module and test is the same.
    with common.scratch() as folder, tarfile.open(file, "w:xz", preset=9) as out:
        for name in files:
            out.add(os.path.join(build, name), os.path.join(top, name))
        for library in sorted({library for name in files for library in needed_libraries(os.path.join(build, name))}):
            out.add(os.path.realpath(library), os.path.join(top, "shared", os.path.basename(library)))
        plans = os.path.join(folder, "plans")
        prepare(suite, plans)
        for ranks in BENCH_RANKS:
            words = ["--bin", suite.bin, "--ranks", ranks,
                     "--write-plan", os.path.join(plans, f"bench-{ranks}"), "--thin"]
            written = suite.execute([sys.executable, os.path.join(SOURCE, "test", "bench", "gpu.py"), *words])
            if written.returncode:
                raise common.Failure(written.stdout)
        out.add(plans, os.path.join(top, "plans"))
    print(f"{file}: {os.path.getsize(file) / 2**20:.1f} MiB; there: python3 -m tarfile -e {os.path.basename(file)} && "
          f"test/gpu/run.sh --build {top}")


class Gpu:
    """The parts; each is a method."""

    def __init__(self, o, suite, plans, folder):
        self.o, self.suite, self.plans, self.folder = o, suite, plans, folder
        self.skipped = 0

    def check(self, good, name, detail=""):
        self.suite.check(good, f"{name}: {detail}" if detail else name)
        if good:
            print(f"ok - {name}{': ' + detail if detail else ''}", flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print(f"ok - {name} # SKIP {why}", flush=True)

    def guarded(self, name, work, *arguments):
        """A check that cannot be made is a failed one, and the next is made all the same."""
        try:
            return work(*arguments)
        except (common.Failure, OSError, ValueError, KeyError, IndexError, TypeError) as failure:
            self.check(False, name, f"{type(failure).__name__}: {failure}")
            return None

    def rows(self, plan, steps, *arguments, device=None):
        return self.suite.train(os.path.join(self.plans, plan), steps, "--device", device or self.o.device, *arguments)

    def train(self, plan, run, steps):
        """(losses, tensors of the save)."""
        saved = os.path.join(self.folder, f"{plan}-{run}")
        rows = self.rows(plan, steps, "--save", saved)
        return [row["loss"] for row in rows if "loss" in row], common.read_checkpoint(saved)

    def follow(self, name, got, wanted, limit, whose="PyTorch's"):
        worst = max((abs(g - w) / abs(w) if math.isfinite(g) else math.inf for g, w in zip(got, wanted)),
                    default=math.inf)
        self.check(len(got) == len(wanted) and worst <= limit, name,
                   f"{len(got)} losses within {worst:.1e} of {whose}, limit {limit:.0e}")

    def same(self, name, first, plan, run, steps):
        losses, tensors = self.train(plan, run, steps)
        different = common.first_difference(first[1], tensors)
        self.check(losses == first[0] and not different, name,
                   different or ("bitwise" if losses == first[0] else "the losses differ"))

    def bits(self, graph, first, steps):
        self.guarded(graph, self.same, f"{graph}: run to run", first, f"{graph}-{FIRST}", "again", steps)
        for plan in list(PLANS)[1:]:
            self.guarded(f"{graph} {plan}", self.same, f"{graph}: {plan} beside {FIRST}", first,
                         f"{graph}-{plan}", "first", steps)

    # ---- programs ----

    def program(self, name, *words):
        """Whether a test program is content, and has a GPU if there should be one; what it prints if not; its notes."""
        process = self.suite.execute([os.path.join(self.o.build, "test", name), *words])
        left_out = re.findall(r"^.*\bskipped: .*$", process.stdout, re.M) if self.o.device == "cuda" else []
        good = process.returncode == 0 and not left_out
        text = process.stdout
        text = text if len(text) < 4000 else text[:3000] + "\n...\n" + text[-1000:]
        self.check(good, " ".join([name, *words]), "" if good else "\n".join(left_out) or text)
        print("".join(f"{note.strip()}\n" for note in re.findall(r"^\s*note: .*?(?=passed$|$)", process.stdout, re.M)),
              end="", flush=True)
        return good

    def each_op(self):
        """After a kernel that failed the GPU takes nothing more from that process, so every op gets one of its own."""
        failed, files = [], os.listdir(os.path.join(SOURCE, "test", "kernels", "cases"))
        for op in sorted(name.removesuffix(".safetensors") for name in files if name.endswith(".safetensors")):
            process = self.suite.execute([os.path.join(self.o.build, "test", CONFORMANCE), self.o.device, op])
            if process.returncode:
                failed.append(op)
                print(f"FAIL conformance of {op}: {process.stdout[:600]}", flush=True)
        print(f"ops that fail alone: {' '.join(failed) or 'none'}", flush=True)

    def programs(self):
        for name in PROGRAMS:
            good = self.guarded(name, self.program, name, *([self.o.device] if name == CONFORMANCE else []))
            if name == CONFORMANCE and good is False:
                self.guarded("each op", self.each_op)

    # ---- training ----

    def losses(self, graph):
        first = self.train(f"{graph}-{FIRST}", "first", STEPS)
        self.follow(graph, first[0], reference(graph)["fp32"]["losses"][:STEPS], LIMIT)
        return first

    def memory(self, graph):
        ranks = self.rows(f"{graph}-4-zb-h1", 1, "--memory")[-1]["memory"]
        good = len(ranks) == 4 and all(0 < rank["high_water"] <= rank["arena"] for rank in ranks)
        self.check(good, f"{graph}: arenas", ", ".join(str(rank["arena"]) for rank in ranks) + " bytes")

    def costs(self, graph, losses):
        file = os.path.join(self.folder, f"{graph}.costs.json")
        rows = self.rows(f"{graph}-4-zb-h1", STEPS, "--profile", file)
        with open(file, encoding="utf-8") as text:
            measured = json.load(text)
        subprograms, ops = ([row["time_ps"] for row in measured[key]] for key in ("subprograms", "ops"))
        good = min(subprograms) > 0 and sum(ops) > 0 and [row["loss"] for row in rows if "loss" in row] == losses
        self.check(good, f"{graph}: costs",
                   f"{len(measured['subprograms'])} subprograms, {len(measured['ops'])} ops, {measured['overheads']}")

    def tf32(self, graph):
        if self.o.device != "cuda":
            return self.skip(f"{graph}: TF32", "only cuda has it")
        got = [row["loss"] for row in self.rows(f"{graph}-{FIRST}", STEPS, "--tf32") if "loss" in row]
        self.follow(f"{graph}, TF32", got, reference(graph)["fp32"]["losses"][:STEPS], TF32_LIMIT)

    def training(self):
        for graph in GRAPHS:
            first = self.guarded(f"{graph}: losses", self.losses, graph)
            if first:
                self.bits(graph, first, STEPS)
                self.guarded(f"{graph}: costs", self.costs, graph, first[0])
            self.guarded(f"{graph}: memory", self.memory, graph)
            self.guarded(f"{graph}: tf32", self.tf32, graph)

    # ---- bf16 ----

    def bf16_losses(self, graph):
        wanted = reference(graph, "bf16")["bf16"]["losses"]
        first = self.train(f"{graph}-bf16-{FIRST}", "first", len(wanted))
        self.follow(f"{graph}, bf16", first[0], wanted, BF16_LIMIT)
        return first

    def bf16(self):
        for graph in GRAPHS:
            first = self.guarded(f"{graph}, bf16: losses", self.bf16_losses, graph)
            if first:
                self.bits(f"{graph}-bf16", first, len(first[0]))

    # ---- sizes ----

    def size(self, precision):
        def losses(where, *more):
            rows = self.rows(f"sizes-{precision}-{FIRST}", SIZE_STEPS, *more, device=where)
            return [row["loss"] for row in rows if "loss" in row]

        cpu = losses("cpu", "--threads", min(os.cpu_count() or 1, 16))
        device = losses(self.o.device)
        self.follow(f"sizes, {precision}", device, cpu, SIZE_LIMITS[precision], "the cpu's")
        first = self.train(f"sizes-{precision}-{FIRST}", "first", SIZE_STEPS)
        for plan in SIZE_PLANS[1:]:
            self.same(f"sizes, {precision}: {plan} beside {FIRST}", first,
                      f"sizes-{precision}-{plan}", "first", SIZE_STEPS)

    def sizes(self):
        for precision in SIZE_LIMITS:
            self.guarded(f"sizes, {precision}", self.size, precision)

    # ---- models ----

    def model(self, name):
        def losses(device):
            plan = os.path.join(self.plans, "models", name)
            process = self.suite.must("zb-run", plan, "--data", models.source_of_data(plan, common.CORPUS), "--steps",
                                      models.STEPS, "--json", "--device", device)
            return [row["loss"] for row in common.json_lines(process) if "loss" in row]

        limit = models.LIMITS[models.precision(name)]
        self.follow(f"model {name}", losses(self.o.device), losses("cpu"), limit, "the cpu's")

    def models(self):
        for name in models.MODELS:
            self.guarded(f"model {name}", self.model, name)

    # ---- products ----

    def product_log(self):
        file = os.path.join(self.folder, "cublaslt.log")
        # Level 4: errors, products with what they are, hints.
        environment = dict(os.environ, CUBLASLT_LOG_LEVEL="4", CUBLASLT_LOG_FILE=file)
        plan = os.path.join(self.plans, f"sizes-bf16-{FIRST}")
        process = self.suite.execute([self.suite.tool("zb-run"), plan, "--device", self.o.device,
                                      "--data", "text:" + common.CORPUS, "--steps", "1"],
                                     environment)
        if process.returncode or not os.path.exists(file):
            return self.check(False, "products",
                              process.stdout[-1000:] if process.returncode else "cuBLASLt wrote no log")
        with open(file, encoding="utf-8", errors="backslashreplace") as text:
            lines = text.read().splitlines()
        if self.suite.log:
            self.suite.log.write("\n".join(lines)[-LOG_CHARACTERS:] + "\n")
        calls = [line for line in lines if re.search(r"\[cublasLtMatmul\]", line)]
        epilogues = collections.Counter(match[1] if (match := re.search(r"epilogue=(?:EPILOGUE_)?(\w+)", line))
                                        else "DEFAULT" for line in calls)
        self.check(bool(calls), "products",
                   f"{len(calls)} calls of cublasLtMatmul by the log, by epilogue: {dict(epilogues)}"
                   + ("" if epilogues["BGRADA"]
                      else "; the library took no gradient of a bias (BGRADA), so reduce_sum ran"))

    def products(self):
        if self.o.device != "cuda":
            return self.skip("products", "only cuda has them")
        self.guarded("products", self.product_log)

    # ---- sanitizer ----

    def sanitize(self, tool, name, options, command):
        """One tool of compute-sanitizer over a command. Kernels are looked up in one library after the other, and it
        would report every answer that a name is not there: not with these options."""
        words = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *options, *command]
        process = self.suite.execute(words)
        last = (process.stdout.strip().splitlines() or [""])[-1]
        self.check(process.returncode == 0, f"compute-sanitizer {tool}, {name}",
                   last if process.returncode == 0 else process.stdout[:3000])

    def sanitizer(self):
        if self.o.device != "cuda" or not shutil.which("compute-sanitizer"):
            return self.skip("compute-sanitizer", "it is not installed, or the device is not cuda")
        text = self.suite.execute(["compute-sanitizer", "--help"]).stdout
        own = next((option for option in ("--kernel-name", "--kernel-regex", "--filter") if option in text), None)
        options = [own, "kns=zb_"] if own else []  # our kernels only, not the library's: minutes less
        for plan in f"{GRAPHS[0]}-2-1f1b", f"sizes-bf16-{FIRST}", f"{GRAPHS[1]}-bf16-2-1f1b":
            command = [self.suite.tool("zb-run"), os.path.join(self.plans, plan), "--device", "cuda",
                       "--data", "text:" + common.CORPUS, "--steps", "2", "--timeout", "300"]
            self.guarded("compute-sanitizer memcheck", self.sanitize, "memcheck", plan,
                         ["--report-api-errors", "no", *options], command)
        for op in RACED:  # a step of the small GPT-2 takes 40 s of an H100 so
            command = [os.path.join(self.o.build, "test", CONFORMANCE), "cuda", *op.split()]
            self.guarded(f"compute-sanitizer racecheck, {op}", self.sanitize, "racecheck", op, options, command)

    # ---- bench ----

    def bench(self):
        """Beside PyTorch with one rank; then what several on the same GPU cost."""
        for ranks in BENCH_RANKS:
            plan = os.path.join(self.plans, f"bench-{ranks}")
            words = ["--bin", self.suite.bin, "--limit", int(self.suite.limit / 2),
                     *(["--plan", plan] if os.path.isdir(plan) else ["--ranks", ranks])]
            words = [os.path.join(SOURCE, "test", "bench", "gpu.sh"), *words, *(["--no-pytorch"] if ranks > 1 else [])]
            process = self.guarded("bench", self.suite.execute, words, dict(os.environ, PYTHONUNBUFFERED="1"))
            if process:
                self.check(process.returncode == 0, f"bench, {ranks} ranks", process.stdout)


PARTS = {part.__name__: part for part in (Gpu.programs, Gpu.training, Gpu.bf16, Gpu.sizes, Gpu.models, Gpu.products,
                                          Gpu.sanitizer, Gpu.bench)}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), help="a build folder, or what --pack filled")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--part", action="append", choices=list(PARTS),
                        help="only this one; may be given several times (default: all)")
    parser.add_argument("--limit", type=float, default=450, metavar="SECONDS", help="of each part (default 450)")
    parser.add_argument("--plans", metavar="FOLDER", help="that --prepare filled; default: compile here")
    parser.add_argument("--log", metavar="FILE", help="every command with all that it said is added to it")
    parser.add_argument("--prepare", metavar="FOLDER")
    parser.add_argument("--pack", metavar="FILE.tar.xz")
    parser.add_argument("--no-bench", action="store_true")
    o = parser.parse_args()
    o.build = os.path.abspath(o.build)
    if not o.plans and os.path.isdir(os.path.join(o.build, "plans")):
        o.plans = os.path.join(o.build, "plans")
    if not os.access(os.path.join(o.build, "bin", "zb-run"), os.X_OK):
        sys.exit(f"error: no zb-run in '{o.build}/bin'\n  hint: build first, or give --build FOLDER")
    return o


def run_parts(o, suite):
    with common.scratch() as folder:
        plans = os.path.abspath(o.plans) if o.plans else os.path.join(folder, "plans")
        if not o.plans:
            prepare(suite, plans)
        gpu = Gpu(o, suite, plans, folder)
        for name, part in PARTS.items():
            if name not in (o.part or PARTS) or (name == "bench" and o.no_bench):
                continue
            begin = time.monotonic()
            suite.begin(o.limit)
            print(f"--- {name}, {o.limit:.0f} s at most", flush=True)
            part(gpu)
            print(f"--- {name} took {time.monotonic() - begin:.0f} s", flush=True)
    status = suite.finish()
    return 0 if gpu.skipped and not suite.failed else status


def main():
    o = options()
    os.environ["ZB_TEST_SOURCE"] = SOURCE  # for programs that were built elsewhere
    with open(o.log or os.devnull, "a", encoding="utf-8") as log:
        suite = Timed(os.path.join(o.build, "bin"), log)
        try:
            if o.prepare or o.pack:
                prepare(suite, o.prepare) if o.prepare else pack(suite, o.build, o.pack)
                return 0
            found = libraries.find(suite.tool("zb-run"), os.environ.get("ZB_PYTHON", "python3"), o.device)
            if found.startswith("not here"):
                print(f"SKIP: {o.device}: {found}")
                return 77
            print(f"{o.device}: {found}", flush=True)
            return run_parts(o, suite)
        except (common.Failure, OSError) as failure:
            print(f"error: {failure}", flush=True)
            return 1


if __name__ == "__main__":
    sys.exit(main())
