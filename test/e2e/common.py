"""What the end-to-end scripts share: running the tools, reading safetensors, counting
checks. Only the standard library."""
import argparse
import concurrent.futures
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DATA = os.path.join(SOURCE, "test", "data")
CORPUS = os.path.join(DATA, "corpus.txt")


def patience(seconds):
    """A limit that is kept on a machine with nothing else to do, for this one as it is: what wants to run shares its
    processors. tools/test.sh itself keeps one more busy than there are."""
    return seconds * max(1.0, os.getloadavg()[0] / (len(os.sched_getaffinity(0)) + 1))


def soon(seconds, limit):
    """Whether what took so long, None: it did not end, kept a limit."""
    return seconds is not None and seconds < patience(limit)


class Failure(Exception):
    """A tool ended otherwise than expected."""


class Suite:
    """Counts checks, prints one line a failure at once and one a group; finish() gives the exit status."""

    def __init__(self, bin_folder):
        self.bin = bin_folder
        self.passed = self.failed = 0
        self.lock = threading.Lock()

    def check(self, good, text):
        with self.lock:
            if good:
                self.passed += 1
            else:
                self.failed += 1
                print(f"FAIL {text}", flush=True)
        return bool(good)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0

    def tool(self, name):
        return os.path.join(self.bin, name)

    def run(self, name, *arguments, **options):
        """CompletedProcess of one tool; never raises for its exit status."""
        options.setdefault("timeout", 1800)
        options.setdefault("errors", "backslashreplace")
        return subprocess.run([self.tool(name), *map(str, arguments)], capture_output=True, text=True, **options)

    def must(self, name, *arguments, **options):
        """Standard output of a tool that must succeed."""
        process = self.run(name, *arguments, **options)
        if process.returncode:
            raise Failure(f"{name} {' '.join(map(str, arguments))}: exit "
                          f"{process.returncode}\n{process.stderr[-2000:]}")
        return process.stdout

    def compile(self, model, out, *arguments):
        """Summary of a compile (the object of zbc --json)."""
        return json.loads(self.must("zbc", model, "-o", out, "--json", *arguments))

    def train(self, plan, steps, *arguments, corpus=CORPUS):
        """The step objects of zb-run --json."""
        return json_lines(self.must("zb-run", plan, "--data", "text:" + corpus, "--steps", steps, "--json", *arguments))


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def read_safetensors(path):
    """({name: (dtype, shape, bytes)}, metadata)."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    body = memoryview(data)[8 + size:]
    tensors = {name: (t["dtype"], tuple(t["shape"]), bytes(body[slice(*t["data_offsets"])]))
               for name, t in header.items()}
    return tensors, metadata


def read_checkpoint(folder):
    """All tensors of a save by "file:name"."""
    tensors = {}
    for name in ("weights", "optimizer"):
        found, _ = read_safetensors(os.path.join(folder, name + ".safetensors"))
        tensors.update({f"{name}:{key}": value for key, value in found.items()})
    return tensors


def first_difference(wanted, got):
    """What differs between two checkpoints, or None."""
    if list(wanted) != list(got):
        return "the names differ: " + ", ".join(sorted(set(wanted) ^ set(got))[:4])
    different = [name for name in wanted if wanted[name] != got[name]]
    return f"{len(different)} of {len(wanted)} tensors differ, first {different[0]}" if different else None


def folder_bytes(path):
    """{name: bytes} of the files in a folder."""
    found = {}
    for name in sorted(os.listdir(path)):
        with open(os.path.join(path, name), "rb") as file:
            found[name] = file.read()
    return found


def run_parallel(tasks, jobs):
    """Runs callables on `jobs` threads; the first exception is raised after all have ended."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(task) for task in tasks]
    for future in futures:
        future.result()


def arguments(text, *extra):
    """The options of every script: --bin, --jobs; extra: (flag, keyword arguments)."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("ZB_BIN", os.path.join(SOURCE, "build", "bin")),
                        help="folder of zbc and zb-run")
    parser.add_argument("--jobs", type=int, default=2)
    for flag, options in extra:
        parser.add_argument(flag, **options)
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.bin, "zb-run")):
        sys.exit(f"error: no zb-run in '{options.bin}'\n  hint: build first, or give --bin BUILD/bin")
    return options


def python_with_torch():
    """(A Python that has torch and transformers: this one, or ZB_PYTHON; None, or why it has them not.)"""
    python = os.environ.get("ZB_PYTHON", sys.executable)
    try:
        probe = subprocess.run([python, "-c", "import torch, transformers"], capture_output=True, text=True)
        return python, (probe.stderr.strip() or "?").splitlines()[-1] if probe.returncode else None
    except OSError as error:
        return python, str(error)


def scratch():
    return tempfile.TemporaryDirectory(prefix="zb-e2e-")
