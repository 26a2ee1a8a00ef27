#!/usr/bin/env python3
"""Where parameters begin: values that are tied to their plan, zb-run and zbc --weights, checkpoints in several files,
names with a prefix, 16-bit floats, several processes, and what is said before work begins.

    weights.py [--bin BUILD/bin]

The files are made here, by struct. One line a failure, then "N passed, N failed".
"""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time

import common

MODEL = os.path.join(common.DATA, "gpt2-small.onnx")
START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")
DATA = ["--data", "text:" + common.CORPUS]
PREFIX = "lm.transformer."


def write_safetensors(path, tensors, metadata=None):
    """tensors: {name: (dtype, shape, bytes)}."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def write_shards(folder, tensors, count):
    """As save_pretrained with max_shard_size writes them."""
    names, weight_map = list(tensors), {}
    for k in range(count):
        file = f"model-{k + 1:05d}-of-{count:05d}.safetensors"
        part = {name: tensors[name] for name in names[k::count]}
        write_safetensors(os.path.join(folder, file), part, {"format": "pt"})
        weight_map.update({name: file for name in part})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {"total_size": 0}, "weight_map": weight_map}, file)


def other_values(tensors, seed):
    """Values of the same sizes, other than those of the plan, each exact in 16 bits."""
    source = random.Random(seed)
    out = {}
    for name, (_, shape, data) in tensors.items():
        values = [source.randrange(-64, 65) / 1024 for _ in range(len(data) // 4)]
        if name.endswith(".weight") and len(shape) == 1:
            values = [1 + value for value in values]
        out[name] = ("F32", shape, struct.pack(f"<{len(values)}f", *values))
    return out


def narrow(tensors, dtype):
    out = {}
    for name, (_, shape, data) in tensors.items():
        values = struct.unpack(f"<{len(data) // 4}f", data)
        if dtype == "BF16":  # the values have few bits: cutting rounds nothing away
            packed = b"".join(struct.pack("<f", value)[2:] for value in values)
        else:
            packed = struct.pack(f"<{len(values)}e", *values)
        out[name] = (dtype, shape, packed)
    return out


def widened(tensors):
    """What bf16 keeps of the values, as f32."""
    return {name: ("F32", shape, b"".join(b"\0\0" + data[i + 2:i + 4] for i in range(0, len(data), 4)))
            for name, (_, shape, data) in tensors.items()}


class Weights:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder
        self.plan = self.at("plan")
        suite.compile(MODEL, self.plan, "--ranks", "2", "--micro-batches", "2")
        self.own, _ = common.read_safetensors(os.path.join(self.plan, "weights.safetensors"))
        self.other = other_values(self.own, 5)
        write_safetensors(self.at("other.safetensors"), self.other)
        self.other_losses = self.losses("--weights", self.at("other.safetensors"))

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def losses(self, *arguments, plan=None, steps=2):
        return [step["loss"] for step in self.suite.train(plan or self.plan, steps, *arguments)]

    def refused(self, name, code, words, *arguments, plan=None, steps="1"):
        """Ends with that status before a step, and says all of the words."""
        process = self.suite.run("zb-run", plan or self.plan, *DATA, "--steps", steps, *arguments)
        text = process.stderr
        good = process.returncode == code and "step 1/" not in process.stdout and all(word in text for word in words)
        self.suite.check(good,
                         f"{name}: exit {process.returncode}, expected {code} and {words}\n{process.stdout}{text}")
        return text

    def same(self, name, wanted, got):
        self.suite.check(wanted == got, f"{name}: losses {got}, expected {wanted}")


def test_tied(w):
    """Another file of the same names and shapes is not taken for the plan's."""
    tampered = w.at("tampered")
    shutil.copytree(w.plan, tampered)
    path = os.path.join(tampered, "weights.safetensors")
    with open(path, "r+b") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        name = sorted(key for key in header if key != "__metadata__")[3]
        for place in (0, -1):  # the first and the last byte of a tensor
            begin, end = header[name]["data_offsets"]
            file.seek(8 + size + (begin if place == 0 else end - 1))
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
            file.flush()
            words = [f"'{name}'", path, os.path.join(tampered, "plan.zb"), "--weights FILE", "compile the model again"]
            w.refused("a changed byte", 1, words, plan=tampered)
            file.seek(-1, os.SEEK_CUR)
            file.write(byte)
            file.flush()
    w.same("the bytes put back", w.losses(), w.losses(plan=tampered))
    write_safetensors(path, w.other)
    w.refused("other weights in the folder", 1, ["is not the one that", "--weights FILE"], plan=tampered)
    w.same("the same file by --weights", w.other_losses, w.losses("--weights", path, plan=tampered))
    os.remove(path)
    w.same("weights from elsewhere need no file in the folder", w.other_losses,
           w.losses("--weights", w.at("other.safetensors"), plan=tampered))
    constants = w.at("constants")
    w.suite.compile(os.path.join(common.DATA, "llama-small.onnx"), constants, "--ranks", "2", "--micro-batches", "2")
    path = os.path.join(constants, "constants.safetensors")
    tensors, _ = common.read_safetensors(path)
    if tensors:
        name = next(iter(tensors))
        dtype, shape, data = tensors[name]
        tensors[name] = (dtype, shape, bytes([data[0] ^ 1]) + data[1:])
        write_safetensors(path, tensors)
        w.refused("a changed constant", 1, [f"'{name}'", path, "belong together"], plan=constants)


def test_kinds(w):
    w.suite.check(w.other_losses != w.losses(), "other weights give other losses")
    zbc = w.at("by-zbc")
    w.suite.compile(MODEL, zbc, "--ranks", "2", "--micro-batches", "2", "--weights", w.at("other.safetensors"))
    w.same("zbc --weights", w.other_losses, w.losses(plan=zbc))
    write_shards(w.at("shards"), w.other, 3)
    w.same("three files and an index", w.other_losses, w.losses("--weights", w.at("shards")))
    w.same("the index itself", w.other_losses, w.losses("--weights", w.at("shards", "model.safetensors.index.json")))
    write_safetensors(w.at("single", "model.safetensors"), w.other)
    w.same("a folder with one file", w.other_losses, w.losses("--weights", w.at("single")))
    wide = widened(w.other)
    write_safetensors(w.at("wide.safetensors"), wide)
    exact = w.losses("--weights", w.at("wide.safetensors"))
    for dtype, values in (("BF16", wide), ("F16", w.other)):
        write_safetensors(w.at(dtype + ".safetensors"), narrow(values, dtype))
        w.same(dtype + " is widened exactly", exact if dtype == "BF16" else w.other_losses,
               w.losses("--weights", w.at(dtype + ".safetensors")))
    zbc = w.at("by-zbc-bf16")
    w.suite.compile(MODEL, zbc, "--ranks", "1", "--micro-batches", "2", "--weights", w.at("BF16.safetensors"))
    w.same("zbc --weights of bf16", exact, w.losses(plan=zbc))
    saved = w.at("saved")
    w.losses("--weights", w.at("other.safetensors"), "--save", saved, steps=1)
    fresh = w.losses("--weights", saved, "--data", "text:" + common.CORPUS, steps=1)
    resumed = w.losses("--resume", saved, steps=1)
    w.suite.check(len(fresh) == 1 and fresh != resumed,
                  "a checkpoint of ours by --weights begins at step 0 of the data")
    os.remove(os.path.join(saved, "optimizer.safetensors"))
    w.refused("--resume without optimizer state", 1, ["no optimizer state", f"--weights '{saved}'"], "--resume", saved)
    w.same("its weights alone", fresh, w.losses("--weights", saved, steps=1))


def test_names(w):
    base = {name[len(PREFIX):]: value for name, value in w.other.items()}
    write_safetensors(w.at("base.safetensors"), base)
    w.same("names without the model's prefix", w.other_losses, w.losses("--weights", w.at("base.safetensors")))
    process = w.suite.run("zb-run", w.plan, *DATA, "--steps", "1", "--weights", w.at("base.safetensors"))
    w.suite.check(f"without '{PREFIX}' in front" in process.stdout, f"the prefix is said: {process.stdout}")
    process = w.suite.run("zb-run", w.plan, *DATA, "--steps", "1", "--json", "--weights", w.at("base.safetensors"))
    w.suite.check(f"without '{PREFIX}' in front" in process.stderr and process.stdout.startswith("{"),
                  "with --json it is said on standard error")
    write_safetensors(w.at("longer.safetensors"), {"module." + name: value for name, value in w.other.items()})
    w.same("names with a prefix more", w.other_losses, w.losses("--weights", w.at("longer.safetensors")))
    text = w.suite.run("zb-run", w.plan, *DATA, "--steps", "1", "--weights", w.at("longer.safetensors")).stdout
    w.suite.check("with 'module.' in front" in text, f"that prefix is said: {text}")
    surplus = dict(base, **{"lm_head.weight": base["wte.weight"], "a.mask": ("BOOL", (2,), b"\1\0")})
    write_safetensors(w.at("surplus.safetensors"), surplus)
    process = w.suite.run("zb-run", w.plan, *DATA, "--steps", "1", "--weights", w.at("surplus.safetensors"))
    w.suite.check(process.returncode == 0 and "2 tensors are not of this model: lm_head.weight, "
                                              "a.mask" in process.stdout, f"surplus: {process.stdout}")
    fewer = {name: value for name, value in w.other.items() if ".mlp." not in name}
    gone = [name for name in w.other if ".mlp." in name]
    write_safetensors(w.at("fewer.safetensors"), fewer)
    w.refused("missing parameters", 1, [f"{len(gone)} of the model's {len(w.other)} parameters are missing", gone[0],
                                        "--weights-partial", "strict=False"],
              "--weights", w.at("fewer.safetensors"))
    mixed = {name: w.other[name] if name in fewer else w.own[name] for name in w.own}
    write_safetensors(w.at("mixed.safetensors"), mixed)
    w.same("--weights-partial", w.losses("--weights", w.at("mixed.safetensors")),
           w.losses("--weights", w.at("fewer.safetensors"), "--weights-partial"))
    process = w.suite.run("zbc", MODEL, "-o", w.at("partial"), "--ranks", "2", "--micro-batches", "2",
                          "--weights", w.at("fewer.safetensors"))
    w.suite.check(process.returncode == 1 and "are missing" in process.stderr and not os.path.exists(w.at("partial")),
                  f"zbc: {process.stderr}")
    w.suite.must("zbc", MODEL, "-o", w.at("partial"), "--ranks", "2", "--micro-batches", "2",
                 "--weights", w.at("fewer.safetensors"), "--weights-partial")
    w.same("zbc --weights-partial", w.losses("--weights", w.at("mixed.safetensors")), w.losses(plan=w.at("partial")))
    renamed = {"lm_head.weight" if name == "wte.weight" else name: value for name, value in base.items()}
    write_safetensors(w.at("renamed.safetensors"), renamed)
    w.refused("a tied weight under its other name", 1,
              ["are missing: " + PREFIX + "wte.weight", "'lm_head.weight' is left and has its shape"], "--weights",
              w.at("renamed.safetensors"))
    twice = {**{"a." + name: value for name, value in w.other.items()},
             **{"b." + name: value for name, value in w.other.items()}}
    write_safetensors(w.at("twice.safetensors"), twice)
    w.refused("two prefixes", 1, ["two ways to spell names", "'a.'", "'b.'"], "--weights", w.at("twice.safetensors"))


def test_wrong(w):
    name = next(iter(w.other))
    dtype, shape, data = w.other[name]
    write_safetensors(w.at("turned.safetensors"), dict(w.other, **{name: (dtype, shape[::-1], data)}))
    w.refused("another shape", 1, [f"'{name}' is", "x".join(map(str, shape))], "--weights", w.at("turned.safetensors"))
    write_safetensors(w.at("double.safetensors"), dict(w.other, **{name: ("F64", shape, data + data)}))
    w.refused("f64", 1, ["f64", "cast it before saving"], "--weights", w.at("double.safetensors"))
    with open(w.at("pytorch_model.bin"), "wb") as file:
        file.write(b"PK\3\4")
    w.refused("a pickle", 2, ["pickle of PyTorch", "save_file"], "--weights", w.at("pytorch_model.bin"))
    os.makedirs(w.at("pickled"))
    shutil.copy(w.at("pytorch_model.bin"), w.at("pickled"))
    w.refused("a folder with a pickle", 2, ["pickle of PyTorch"], "--weights", w.at("pickled"))
    os.makedirs(w.at("empty"))
    w.refused("an empty folder", 4, ["holds no weights", "model.safetensors"], "--weights", w.at("empty"))
    w.refused("no such file", 4, ["none.safetensors"], "--weights", w.at("none.safetensors"))
    w.refused("--weights and --resume", 2, ["two ways to begin"], "--weights", w.at("other.safetensors"),
              "--resume", w.at("saved"))
    w.refused("--weights-partial alone", 2, ["without --weights"], "--weights-partial")
    process = w.suite.run("zbc", MODEL, "-o", w.at("never"), "--weights", w.at("none.safetensors"))
    w.suite.check(process.returncode == 4 and not os.path.exists(w.at("never")),
                  f"zbc without the file: {process.stderr}")


def started(w, count, *arguments):
    return subprocess.run([sys.executable, START, "-n", str(count), w.suite.tool("zb-run"), w.plan, *DATA,
                           "--steps", "2", "--json", *arguments],
                          capture_output=True, text=True, timeout=common.patience(120))


def test_processes(w):
    write_safetensors(w.at("base.safetensors"), {name[len(PREFIX):]: value for name, value in w.other.items()})
    for path in (w.at("base.safetensors"), w.at("shards")):
        process = started(w, 2, "--weights", path)
        got = [step["loss"] for step in common.json_lines(process.stdout)]
        w.suite.check(got == w.other_losses,
                      f"two processes from {path}: {got}, expected {w.other_losses}\n{process.stderr}")
    process = started(w, 2, "--weights", w.at("fewer.safetensors"))
    told = process.stderr.count("error:")
    w.suite.check(process.returncode == 1 and told == 1 and "are missing" in process.stderr,
                  f"what is missing is told once, got {told}: {process.stderr}")
    write_safetensors(w.at("seen", "0.safetensors"), w.other)
    write_safetensors(w.at("seen", "1.safetensors"), w.own)
    script = w.at("seen", "run.sh")
    with open(script, "w") as file:
        file.write(f'exec "$@" --weights "{w.at("seen")}/$RANK.safetensors"\n')
    command = [sys.executable, START, "-n", "2", "sh", script, w.suite.tool("zb-run"), w.plan, *DATA,
               "--steps", "1", "--json"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=common.patience(120))
    w.suite.check(process.returncode == 2 and "the weights (--weights)" in process.stderr,
                  f"other weights in one process: {process.stderr}")
    write_safetensors(w.at("seen", "1.safetensors"), dict(reversed(list(w.other.items()))))
    process = subprocess.run(command, capture_output=True, text=True, timeout=common.patience(120))
    w.suite.check(process.returncode == 0, f"the same weights in another order: {process.stderr}")


def test_before(w):
    """What can be known before work begins is said before."""
    w.refused("too few steps for costs", 2, ["costs need at least 3 steps, got 2"],
              "--profile", w.at("costs.json"), steps="2")
    for option in ("--timeline", "--trace", "--profile"):
        ending = ".svg" if option == "--timeline" else ".json"
        w.refused(option + " into no folder", 4, [option, "none"], option, w.at("none", "x" + ending), steps="5")
    w.refused("--save onto a file", 2, ["it is a file"], "--save", common.CORPUS)
    w.refused("--save into the plan", 2, ["holds other files"], "--save", w.plan)
    same = w.at("same.json")
    w.refused("two outputs into one file", 2, ["--trace and --profile", "same file"], "--trace", same,
              "--profile", same, steps="5")
    for arguments, option in ((["--calibrate", w.at("c.json"), "--save", w.at("s")], "--save"),
                              ([w.plan, "--print-plan", "--steps", "1"], "--steps")):
        process = w.suite.run("zb-run", *arguments)
        w.suite.check(process.returncode == 2 and f"{option} has no effect with" in process.stderr,
                      f"{option} is not ignored: {process.stderr}")
    with open("/dev/full", "w") as full:
        command = [w.suite.tool("zb-run"), w.plan, *DATA, "--steps", "1", "--save", w.at("full")]
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    w.suite.check(process.returncode == 4 and not os.path.exists(w.at("full")),
                  f"a full standard output is found before the first step: {process.stderr}")
    problem = ["--ranks", "2", "--micro-batches", "2", "--schedule", "1f1b", "--json"]
    for option in ("--timeline", "--trace", "--csv", "--lowered", "--text", "--write-problem"):
        ending = {"--timeline": ".svg", "--trace": ".json"}.get(option, ".x")
        process = w.suite.run("zb-sched", *problem, option, w.at("none", "x" + ending))
        w.suite.check(process.returncode == 4 and not process.stdout and option in process.stderr,
                      f"zb-sched {option}: {process.stdout}{process.stderr}")
    process = w.suite.run("zb-sched", *problem, "--csv", same, "--text", same)
    w.suite.check(process.returncode == 2 and "same file" in process.stderr,
                  f"zb-sched, two outputs into one file: {process.stderr}")
    process = w.suite.run("zbc", MODEL, "-o", w.at("known"), "--csv", same, "--timeline", same)
    w.suite.check(process.returncode == 2 and "same file" in process.stderr,
                  f"zbc, two outputs into one file: {process.stderr}")
    for name, arguments in (("--dump-ir below a file", ["--dump-ir", os.path.join(common.CORPUS, "x")]),
                            ("--costs that are not there", ["--costs", w.at("none.json")])):
        process = w.suite.run("zbc", MODEL, "-o", w.at("known"), *arguments)
        w.suite.check(process.returncode == 4 and not os.path.exists(w.at("known")),
                      f"{name}: {process.returncode} {process.stderr}")


def test_first_words(w):
    """The first line comes before the first step, through a pipe too."""
    process = subprocess.Popen([w.suite.tool("zb-run"), w.plan, *DATA, "--steps", "400"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    begin = time.monotonic()
    line = process.stdout.readline()
    w.suite.check("2 ranks on cpu" in line and common.soon(time.monotonic() - begin, 20), f"the first line: {line}")
    process.terminate()
    process.communicate()
    process = w.suite.run("zb-run", w.plan, *DATA, "--steps", "1", "--quiet")
    w.suite.check(len(process.stdout.splitlines()) == 1 and not process.stderr,
                  f"--quiet: {process.stdout}{process.stderr}")


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        try:
            w = Weights(suite, folder)
            for test in (test_tied, test_kinds, test_names, test_wrong, test_processes, test_before, test_first_words):
                test(w)
        except (common.Failure, subprocess.TimeoutExpired) as error:
            suite.check(False, str(error))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
