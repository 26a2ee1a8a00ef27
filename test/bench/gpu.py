#!/usr/bin/env python3
"""Training speed of zb-run and of PyTorch on one GPU, in one run: tokens a second, MFU, ratio. Called by gpu.sh.

    gpu.py [--bin BUILD/bin] [--python PYTHON] [--precision bf16] [--ranks 1] [--micro-batches 4]
           [--steps 10] [--batch 8 --layers 12 ...]
           [--plan DIR] [--peak TFLOPS] [--cpu-batch 1] [--limit SECONDS]

The model is GPT-2 124M by default: gpt.py writes its graph, zbc draws its weights, so PyTorch is needed for its own
rows only. Where there is no zbc (a machine without LLVM), --plan takes a folder that zbc made elsewhere with
--write-plan, and with it the model; with --thin it is written without the weights (474 MiB of GPT-2 124M), and they
are drawn again where it is read, for speed only. PyTorch runs the same model from transformers, with sdpa attention
and fused AdamW, autocast for bf16.

On a machine without a GPU it says what could not be run, and does what can be done there: it compiles and proves the
plan, prints its memory, runs it on the virtual clock, and trains a few steps on the CPU, of one micro-batch with
--cpu-batch rows, beside PyTorch on the CPU.

MFU = flops a token x tokens a second / peak, with flops a token = 6 N + 6 L C T (N parameters, the tied embedding once;
L layers of C channels; T tokens a row; causal attention counted by half), as llm.c counts. The peak is that of dense
bf16 (f32: TF32 is off, so the peak of f32) of the card's data sheet.
"""
import argparse
import array
import dataclasses
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(SOURCE, "test", "gpu")]
import gpt  # noqa: E402
import libraries  # noqa: E402

CORPUS = os.path.join(SOURCE, "test", "data", "corpus.txt")
# Peak TFLOP/s without sparsity by a part of the card's name: NVIDIA's data sheets.
PEAKS = {
    "H200": dict(bf16=989, f32=67),
    "H100 PCIe": dict(bf16=756, f32=51),
    "H100": dict(bf16=989, f32=67),
    "A100": dict(bf16=312, f32=19.5),
    "L40S": dict(bf16=362, f32=91.6),
    "RTX 4090": dict(bf16=165, f32=82.6),
    "RTX 3090": dict(bf16=71, f32=35.6),
}


class Failed(Exception):
    pass


def reason(process):
    """The line that says why a program failed: the first with 'error: ' (ours), else the last one
    (of a traceback: its exception)."""
    lines = process.stderr.strip().splitlines() or [f"exit status {process.returncode}, and no word"]
    return next((line for line in lines if "error: " in line), lines[-1])


def run(command, limit):
    try:
        process = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as e:
        raise Failed(f"ended after {limit:.0f} s (--limit)") from e
    if process.returncode:
        raise Failed(reason(process))
    return process.stdout


def objects(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def card():
    """Name of the first GPU, or None."""
    if not shutil.which("nvidia-smi"):
        return None
    process = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                             capture_output=True, text=True)
    return process.stdout.splitlines()[0] if process.returncode == 0 and process.stdout.strip() else None


# ---- Plans for other machines ----

MODEL, WEIGHTS, DRAWN, BLOCK = "model.json", "weights.safetensors", "drawn.safetensors", 65521


def statistics_of(file, offset, count):
    """Mean and deviation of the first elements of an f32 tensor."""
    values = array.array("f")
    file.seek(offset)
    values.frombytes(file.read(4 * min(count, BLOCK)))
    return statistics.fmean(values), statistics.pstdev(values)


def thin_weights(path):
    """{"header": of the safetensors file, name: [mean, deviation]}."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        rows = {name: row for name, row in header.items() if name != "__metadata__"}
        if any(row["dtype"] != "F32" for row in rows.values()):
            raise Failed("weights that are not f32 are not drawn: leave --thin out")
        drawn = {name: statistics_of(file, 8 + length + row["data_offsets"][0],
                                     (row["data_offsets"][1] - row["data_offsets"][0]) // 4)
                 for name, row in rows.items()}
    return {"header": header, "drawn": drawn}


def draw_weights(thin, path):
    """A file with the names, shapes, means and deviations of thin_weights: the same numbers again
    and again, which take no less time."""
    generator, header = random.Random(1), json.dumps(thin["header"]).encode()
    header += b" " * (-len(header) % 8)
    normal = [generator.gauss(0, 1) for _ in range(BLOCK)]
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        start = file.tell()
        for name, (mean, deviation) in sorted(thin["drawn"].items(),
                                              key=lambda item: thin["header"][item[0]]["data_offsets"]):
            begin, end = thin["header"][name]["data_offsets"]
            block = array.array("f", [mean + deviation * x for x in normal]).tobytes()
            file.seek(start + begin)
            for left in range(end - begin, 0, -len(block)):
                file.write(block[:left])


def write_plan(o, bench):
    """A plan (that of --plan, else a new one) and its model into o.write_plan."""
    shutil.copytree(o.plan or bench.plan(bench.size, o.ranks, o.micro_batches), o.write_plan)
    path = os.path.join(o.write_plan, WEIGHTS)
    model = dict(size=dataclasses.asdict(bench.size), ranks=o.ranks, micro_batches=o.micro_batches,
                 precision=o.precision, thin=None)
    if o.thin:
        model["thin"] = thin_weights(path)
        os.remove(path)
    with open(os.path.join(o.write_plan, MODEL), "w", encoding="utf-8") as file:
        json.dump(model, file)


def drawn(folder):
    """The option for weights that were drawn: they are not those that the plan was compiled with."""
    path = os.path.join(folder, DRAWN)
    return ["--weights", path] if os.path.exists(path) else []


def take_plan(o, folder):
    """What --plan names decides the model; other weights are drawn into `folder` if it has none."""
    try:
        with open(os.path.join(o.plan, MODEL), encoding="utf-8") as file:
            model = json.load(file)
    except OSError as e:
        raise Failed(f"'{o.plan}' was not written by --write-plan: {e}") from e
    for name, value in model["size"].items():
        setattr(o, name, value)
    o.ranks, o.micro_batches, o.precision = model["ranks"], model["micro_batches"], model["precision"]
    if not model["thin"]:
        return
    whole = os.path.join(folder, "plan")
    shutil.copytree(o.plan, whole)
    draw_weights(model["thin"], os.path.join(whole, DRAWN))
    o.plan = whole


class Bench:
    def __init__(self, o, folder):
        self.o, self.folder, self.size = o, folder, gpt.size_of(o)
        self.rows, self.left_out = [], []
        self.flops_a_token = 6 * self.size.parameters() + 6 * self.size.layers * self.size.dim * self.size.seq

    def program(self, name):
        return os.path.join(self.o.bin, name)

    def plan(self, size, ranks, micro_batches):
        """A plan folder, made by zbc."""
        graph = os.path.join(self.folder, f"gpt-{size.batch}.mlir")
        folder = os.path.join(self.folder, f"plan-{size.batch}-{ranks}-{micro_batches}")
        if not os.path.exists(folder):
            with open(graph, "w") as file:
                file.write(gpt.program(size))
            begin = time.monotonic()
            text = run([self.program("zbc"), graph, "-o", folder, "--ranks", ranks,
                        "--micro-batches", micro_batches, "--schedule",
                        self.o.schedule if ranks > 1 else "1f1b", "--precision", self.o.precision], self.o.limit)
            print(f"zbc, {size.batch} rows a micro-batch, in {time.monotonic() - begin:.1f} s:")
            print("\n".join("  " + line for line in text.splitlines()[-14:]))
        return folder

    def note(self, name, seconds, tokens):
        self.rows.append((name, seconds, tokens / seconds))
        # All of it is in the table; this stays if the rest is cut short.
        print(f"{name}: {seconds * 1e3:.1f} ms a step", flush=True)

    def zb_run(self, name, folder, tokens, *options):
        try:
            rows = objects(run([self.program("zb-run"), folder, *drawn(folder), "--data", "text:" + CORPUS, "--steps",
                                self.o.warmup + self.o.steps, "--json", *options], self.o.limit))
        except Failed as e:
            return self.left_out.append(f"{name}: {e}")
        self.note(name, statistics.median(row["seconds"] for row in rows[self.o.warmup:] if "seconds" in row), tokens)

    def pytorch(self, device, batch, micro_batches):
        s = self.size
        words = [self.o.python, os.path.join(HERE, "pytorch.py"), "gpt2", "--device", device,
                 "--precision", self.o.precision, "--attention", "sdpa",
                 "--layers", s.layers, "--dim", s.dim, "--heads", s.heads, "--seq", s.seq,
                 "--vocab", s.vocab, "--batch", batch, "--micro-batches", micro_batches, "--steps", self.o.steps,
                 "--warmup", self.o.warmup]
        for mode in "eager", "compile":
            name = f"PyTorch {mode}, {device}"
            try:
                row = objects(run([*words, "--mode", mode], self.o.limit))[0]
                self.note(f"{name}, {row['torch']}", row["seconds"], batch * s.seq * micro_batches)
            except Failed as e:
                self.left_out.append(f"{name}: {e}")

    def gpu(self):
        s, o = self.size, self.o
        folder = o.plan or self.plan(s, o.ranks, o.micro_batches)
        tokens = s.batch * s.seq * o.micro_batches
        libraries.find(self.program("zb-run"), o.python)
        self.zb_run(f"zb-run --device cuda, {o.ranks} rank{'s' * (o.ranks > 1)}", folder, tokens, "--device", "cuda")
        if o.no_pytorch:
            return
        self.where_time_goes(folder)
        self.pytorch("cuda", s.batch, o.micro_batches)

    def where_time_goes(self, folder):
        """The ops of a step by their time, from a run of its own: timing ops takes time."""
        file = os.path.join(self.folder, "costs.json")
        try:
            run([self.program("zb-run"), folder, *drawn(folder), "--data", "text:" + CORPUS, "--steps", 9,
                 "--device", "cuda", "--profile", file], self.o.limit)
            with open(file, encoding="utf-8") as text:
                measured = json.load(text)
            steps = measured["program"]["steps"] / 2  # every second one is for ops
            by_op = {}
            for row in measured["ops"]:
                ps, count = by_op.get(row["op"], (0, 0))
                by_op[row["op"]] = ps + row["time_ps"] * row["runs"], count + row["runs"]
        except (Failed, OSError, ValueError, KeyError) as e:
            return self.left_out.append(f"times of ops: {e}")
        total = sum(ps for ps, _ in by_op.values())
        print("ops by time, of one run of each subprogram a step:")
        for op, (ps, count) in sorted(by_op.items(), key=lambda item: -item[1][0])[:24]:
            print(f"  {op:72.72s} {ps / steps / 1e9:9.3f} ms {ps / max(total, 1):6.1%}  {count / steps:4.0f} calls")

    def host(self, folder):
        """The whole step without its kernels."""
        rows = objects(run([self.program("zb-run"), folder, "--device", "sim", "--no-kernels", "--steps", 3, "--json"],
                           self.o.limit))
        print(f"plan run on the virtual clock, without kernels: {rows[-1]['seconds'] * 1e3:.1f} ms a "
              "step by its cost model")

    def cpu(self):
        s, o = self.size, self.o
        if not o.plan:
            self.host(self.plan(s, o.ranks, o.micro_batches))
        small = gpt.Size(s.layers, s.dim, s.heads, s.seq, o.cpu_batch, s.vocab)
        o.steps, o.warmup = o.cpu_steps, 1
        self.pytorch("cpu", o.cpu_batch, 1)
        self.zb_run("zb-run --device cpu, 1 rank x 2 threads", self.plan(small, 1, 1),
                    o.cpu_batch * s.seq, "--threads", 2)

    def print(self, peak):
        s = self.size
        print(f"\nGPT-2, {s.parameters() / 1e6:.0f} M parameters: {s.layers} layers, {s.dim} wide, {s.seq} positions, "
              f"vocabulary {s.vocab}, {self.o.precision}")
        print(f"flops a token: 6 N + 6 L C T = {self.flops_a_token / 1e6:.0f} M"
              + (f"; peak {peak} TFLOP/s" if peak else ""))
        print(f"  {'':44s} {'step':>11s} {'tokens/s':>10s} {'MFU':>7s} {'ratio':>7s}")
        compiled = next((rate for name, _, rate in self.rows if name.startswith("PyTorch compile")), None)
        for name, seconds, rate in self.rows:
            mfu = f"{self.flops_a_token * rate / peak / 1e12:7.1%}" if peak else f"{'':7s}"
            print(f"  {name:44s} {seconds * 1e3:8.1f} ms {rate:10.0f} {mfu} "
                  f"{f'{rate / compiled:6.2f}x' if compiled else '':>7s}")
        print("  ratio: of tokens a second to torch.compile's in this run")
        for line in self.left_out:
            print(f"not run: {line}")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(SOURCE, "build", "bin"))
    parser.add_argument("--python", default=sys.executable, help="one with torch and transformers")
    parser.add_argument("--precision", default="bf16", choices=["f32", "bf16"])
    parser.add_argument("--ranks", type=int, default=1, help="pipeline ranks, all on the one GPU")
    parser.add_argument("--schedule", default="zb-h1", help="of several ranks")
    parser.add_argument("--micro-batches", type=int, default=4)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--cpu-batch", type=int, default=1, help="rows a step of the part on the CPU")
    parser.add_argument("--cpu-steps", type=int, default=1)
    parser.add_argument("--plan", help="a folder that --write-plan made, instead of compiling")
    parser.add_argument("--write-plan", metavar="DIR",
                        help="only compile, into DIR; with --plan: that one, with weights")
    parser.add_argument("--thin", action="store_true", help="without its weights, which --plan then draws")
    parser.add_argument("--no-pytorch", action="store_true", help="on a GPU: the row of zb-run alone")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a program may take (default 600)")
    parser.add_argument("--peak", type=float,
                        help="TFLOP/s of the card at this precision, for a card that the table does not know")
    gpt.add_options(parser)
    parser.set_defaults(batch=8)
    return parser.parse_args()


def main():
    o = options()
    name = card()
    with tempfile.TemporaryDirectory(prefix="zb-gpu-") as folder:
        try:
            if o.plan:
                take_plan(o, folder)
            bench = Bench(o, folder)
            if o.write_plan:
                write_plan(o, bench)
                return
            print(f"card: {name or 'none: nvidia-smi finds no GPU on this machine'}")
            if name:
                bench.gpu()
            else:
                bench.left_out.append("everything on a GPU: there is none here; start this again on a machine with one")
                bench.cpu()
        except Failed as e:
            sys.exit(f"error: {e}")
        bench.print(o.peak or next((row[o.precision] for part, row in PEAKS.items() if name and part in name), None))
        if name and not any(row[0].startswith("zb-run") for row in bench.rows):
            sys.exit(1)


if __name__ == "__main__":
    main()
