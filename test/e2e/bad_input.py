#!/usr/bin/env python3
"""Wrong input to zbc and zb-run: each ends with its exit status, a message that names the
place, a hint, and no partial files.

    bad_input.py [--bin BUILD/bin]

Broken models are made here, by a small writer of ONNX's protobuf wire format. One line a
case, then "N passed, N failed".
"""
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

import common

GPT2 = os.path.join(common.DATA, "gpt2-small.onnx")


# ---- ONNX files ----

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def value_info(name, dims, dtype=1):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


SIZES = {1: 4, 7: 8, 10: 2, 11: 8, 16: 2}  # bytes of float32, int64, float16, double, bfloat16


def tensor(name, dims, dtype=1):
    count = 1
    for d in dims:
        count *= d
    if dtype == 1:
        data = struct.pack(f"<{count}f", *[0.01 * (i % 7) for i in range(count)])
    else:
        data = bytes(count * SIZES[dtype])
    return b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name) + field(9, data)


def node(op, name, inputs, outputs, attributes=b""):
    ends = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    return ends + field(3, name) + field(4, op) + attributes


NO_DIMS = field(5, field(1, "keepdims") + field(20, 2) + field(3, 0))


def onnx_file(nodes, opset=20, **parts):
    """parts: initializers, inputs and outputs, each a list of messages."""
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g")
    for number, part in ((5, "initializers"), (11, "inputs"), (12, "outputs")):
        graph += b"".join(field(number, message) for message in parts[part])
    return field(1, 10) + field(7, graph) + field(8, field(1, "") + field(2, opset))


def model(op="MatMul", x=(4, 8), weight=(8, 8), reduce=True, opset=20, name="m.w", types=(1, 1, 1),
          more_inputs=(), more_nodes=()):
    """x -> product with m.w -> sum: good with the defaults. types: of x, weight and loss."""
    nodes = [node(op, "first_node", ["x", name], ["y" if reduce else "loss"]), *more_nodes]
    if reduce:
        nodes.append(node("ReduceSum", "sum_node", ["z" if more_nodes else "y"], ["loss"], NO_DIMS))
    return onnx_file(nodes, opset, initializers=[tensor(name, weight, types[1])],
                     inputs=[value_info("x", x, types[0]), *more_inputs],
                     outputs=[value_info("loss", [] if reduce else [4, 8], types[2])])


def table_model(products=1):
    """Tokens x and y, products, and at the end a table that is too large to be written into the
    program: it needs constants.safetensors."""
    to_float = field(5, field(1, "to") + field(20, 2) + field(3, 1))
    weights = [f"m.w{i}" for i in range(products)]
    names = ["xf", *(f"p{i}" for i in range(products))]
    nodes = [node("Cast", "", ["x"], ["xf"], to_float), node("Cast", "", ["y"], ["yf"], to_float)]
    nodes += [node("MatMul", "", [names[i], weights[i]], [names[i + 1]]) for i in range(products)]
    nodes += [node("Add", "", [names[-1], "table"], ["q"]), node("Sub", "", ["q", "yf"], ["r"]),
              node("ReduceSum", "", ["r"], ["loss"], NO_DIMS)]
    return onnx_file(nodes, initializers=[*(tensor(weight, (8, 8)) for weight in weights), tensor("table", (40, 8))],
                     inputs=[value_info("x", (40, 8), 7), value_info("y", (40, 8), 7)],
                     outputs=[value_info("loss", [])])


def crc32c(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def mutate_plan(data, section, offset, value, repair):
    """The plan file with one byte of a section changed; with `repair` the checksums are made right again."""
    data = bytearray(data)
    count = struct.unpack_from("<I", data, 12)[0]
    entry = 16 + 24 * section
    start, size = struct.unpack_from("<QQ", data, entry)
    data[start + offset % size] = value
    if repair:
        struct.pack_into("<I", data, entry + 16, crc32c(data[start:start + size]))
        struct.pack_into("<I", data, 16 + 24 * count, crc32c(data[:16 + 24 * count]))
    return bytes(data)


# ---- Checking ----

class Cases:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def expect(self, name, process, status, *texts, hint=True):
        """texts: regular expressions that standard error must contain."""
        problems = []
        if process.returncode != status:
            problems.append(f"exit {process.returncode} instead of {status}")
        problems += [f"no '{t}'" for t in texts if not re.search(t, process.stderr)]
        if hint and "hint:" not in process.stderr:
            problems.append("no hint")
        good = self.suite.check(not problems, f"{name}: {'; '.join(problems)}; it said:\n    "
                                + process.stderr.strip()[:900].replace("\n", "\n    "))
        if good:
            print(f"ok   {name}: "
                  f"{process.stderr.strip().splitlines()[0][-150:] if process.stderr.strip() else ''}", flush=True)

    def no_files(self, name, *folders):
        left = [os.path.join(root, f) for folder in folders for root, _, files in os.walk(folder) for f in files]
        self.suite.check(not left, f"{name}: files are left: {left[:4]}")

    def zbc(self, name, model_path, status, *texts, options=(), hint=True):
        out = self.path("out-" + re.sub(r"\W+", "-", name))
        self.expect(f"zbc: {name}", self.suite.run("zbc", model_path, "-o", out, *options), status, *texts, hint=hint)
        self.no_files(f"zbc: {name}", out)

    def zb_run(self, name, status, *words, texts=(), hint=True, **options):
        self.expect(f"zb-run: {name}", self.suite.run("zb-run", *words, **options), status, *texts, hint=hint)


def bad_models(c):
    with open(GPT2, "rb") as file:
        good = file.read()
    c.suite.check(c.suite.run("zbc", c.write("good.onnx", model()), "-o", c.path("good")).returncode == 0,
                  "the model that cases are made of compiles")
    for cut in (1, 100, len(good) // 2, len(good) - 1):
        c.zbc(f"ONNX file cut to {cut} bytes", c.write("cut.onnx", good[:cut]), 1, r"cut\.onnx")
    c.zbc("empty file", c.write("empty.onnx", b""), 1, r"empty\.onnx.*is empty")
    c.zbc("text as ONNX", c.write("text.onnx", "this is no protobuf\n" * 20), 1, r"text\.onnx")
    c.zbc("a folder as ONNX", c.folder + "/folder.onnx" if not os.makedirs(c.path("folder.onnx"), exist_ok=True)
          else "", 4, r"folder\.onnx", hint=False)
    c.zbc("text as MLIR", c.write("text.mlir", "this is no MLIR\n"), 1, r"text\.mlir:1:1", hint=False)
    c.zbc("missing model", c.path("missing.onnx"), 4, r"missing\.onnx.*No such file")
    c.zbc("unknown format", c.write("model.bin", b"1234"), 2, r"model\.bin", r"\.onnx")
    c.zbc("unknown operator", c.write("op.onnx", model(op="MatMull")), 1, "MatMull",
          "first_node", r"hint: is it MatMul\?")
    c.zbc("dynamic dimension", c.write("dynamic.onnx", model(x=("batch", 8))), 1, "batch", "'x'|x")
    for size, wanted in ((0, "0"), (2 ** 64 - 1, "-1")):
        c.zbc(f"dimension of {wanted}", c.write("size.onnx", model(x=(size, 8))), 1,
              f"input 'x' has the dimension {wanted} .dimension 0., expected 1")
    for name, types, text in (("a half model", (10, 10, 10), "the loss 'loss' has the element type float16"),
                              ("a double model", (11, 11, 11), "the loss 'loss' has the element type double"),
                              ("half weights", (1, 10, 1), "parameter 'm.w' has the element type float16"),
                              ("double weights", (1, 11, 1), "parameter 'm.w' has the element type double")):
        c.zbc(name, c.write("types.onnx", model(types=types)), 1, text,
              r"hint: export the model in float32 \(model\.float\(\)\);.* int64, int32 and bool are supported")
    c.zbc("a bfloat16 input and a weight in float32", c.write("types.onnx", model(types=(16, 1, 1))), 1, "first_node",
          "wrong element type of rhs: expected bf16 as lhs has, got f32", "hint: convert one of them")
    axis = field(5, field(1, "axis") + field(20, 1) + varint(2 << 3 | 5) + struct.pack("<f", 1.5))
    c.zbc("attribute of another type",
          c.write("axis.onnx", model(more_nodes=[node("Softmax", "soft", ["y"], ["z"], axis)])), 1, "soft",
          r"attribute 'axis' has the wrong type: expected an integer, got a float \(1\.5\)")
    c.zbc("input that is declared otherwise than its initializer",
          c.write("default.onnx", model(more_inputs=[value_info("m.w", (4, 4))])), 1,
          "'m.w' is declared as 4x4xfloat32, but its initializer is 8x8xfloat32")
    c.zbc("input of another type than its initializer",
          c.write("default.onnx", model(more_inputs=[value_info("m.w", (8, "n"), 7)])), 1, "8xnxint64")
    listed = c.write("listed.onnx", model(more_inputs=[value_info("m.w", (8, "n"))]))
    c.suite.check(c.suite.run("zbc", listed, "-o", c.path("listed")).returncode == 0,
                  "zbc: an input that is an initializer compiles")
    control_characters(c)
    exports(c)
    c.zbc("rank of a weight", c.write("rank.onnx", model(weight=(8,), op="Gemm")), 1, "first_node|m.w", hint=False)
    c.zbc("shape of a weight", c.write("shape.onnx", model(weight=(9, 8))), 1, "first_node", "9", hint=False)
    c.zbc("no scalar output", c.write("scalar.onnx", model(reduce=False)), 1, "scalar")
    c.zbc("opset of the future", c.write("opset.onnx", model(opset=99)), 1, "99")


def exports(c):
    """What tools/export_onnx.py writes about its comparison, in the file's metadata."""
    def compared(text, **given):
        return c.write("compared.onnx", model(**given) + field(14, field(1, "zb.compared") + field(2, text)))

    refused = "the graph computes the loss 1.0, the model 2.0"
    c.zbc("a graph that the exporter refused", compared("rejected: " + refused), 1,
          "the exporter refused this graph.*: " + refused)
    c.zbc("one with another fault before", compared("rejected: " + refused, op="DeformConv"), 1,
          "operator 'DeformConv' is not supported")
    for text, said in (("no", True), ("loss and gradients, 4 draws", False)):
        path = compared(text)
        process = c.suite.run("zbc", path, "-o", c.path("compared"))
        c.suite.check(process.returncode == 0 and ("warning: not compared" in process.stdout) == said,
                      f"zb.compared '{text}': {process.stdout}")
        summary = c.suite.compile(path, c.path("compared"))
        c.suite.check(summary["uncompared"] == said, f"zb.compared '{text}': {summary['uncompared']}")


def control_characters(c):
    """Names of strangers must not command the terminal."""
    red = "m.\x1b[31mred\x07\u009b"
    path = c.write("red.onnx", model(name=red))
    runs = [c.suite.run("zbc", path, "-o", c.path("red")), c.suite.run("zb-run", c.path("red"), "--print-plan"),
            c.suite.run("zbc", path, "-o", c.path("red2"), "--freeze", "*", "--train", "no"),
            c.suite.run("zbc", c.write("red2.onnx", model(name=red, weight=(9, 8))), "-o", c.path("red2"))]
    c.suite.check([run.returncode for run in runs] == [0, 0, 1, 1],
                  f"names with control characters: {[run.returncode for run in runs]}")
    said = "".join(run.stdout + run.stderr for run in runs)
    c.suite.check(not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", said),
                  "control characters in names reach the terminal")
    c.suite.check(runs[0].stdout.count(r"m.\x1b[31mred\x07\xc2\x9b") == 1,
                  f"names with control characters in the table: {runs[0].stdout!r}")


def bad_options(c):
    c.zbc("more stages than can be cut", c.path("good.onnx"), 2, "--ranks: .*64", options=("--ranks", 64))
    c.zbc("more ranks than there may be", GPT2, 2, "--ranks: .*4096.*1000000", r"hint: .*--ranks \d",
          options=("--ranks", 1000000))
    c.zbc("more chunks than there may be", GPT2, 2, "--chunks: .*256.*1000", options=("--chunks", 1000))
    c.zbc("more micro-batches than there may be", GPT2, 2,
          "--micro-batches: .*65536.*1000000000", options=("--micro-batches", 1000000000))
    c.zbc("no micro-batches", GPT2, 2, "micro-batches", options=("--micro-batches", 0))
    c.zbc("micro-batches that are no number", GPT2, 2, "eight", options=("--micro-batches", "eight"))
    c.zbc("no ranks", GPT2, 2, "ranks", options=("--ranks", 0))
    c.zbc("unknown schedule", GPT2, 2, "zb-h1x", "did you mean.*zb-h1", options=("--schedule", "zb-h1x"))
    c.zbc("unknown option", GPT2, 2, "--rank", "did you mean.*--ranks", options=("--rank", 4))
    c.zbc("a flag with a value", GPT2, 2, "--json takes no value.*3", options=("--json=3",))
    c.zbc("unknown optimizer", GPT2, 2, "zbc: error: --optimizer: .*adam",
          "write adamw or adam", options=("--optimizer", "fused_adam:lr=1"))
    c.zbc("wrong setting of an optimizer", GPT2, 2,
          "--optimizer: .*learning_rate", options=("--optimizer", "adamw:learning_rate=1"))
    c.zbc("setting of an optimizer given twice", GPT2, 2,
          "--optimizer: .*lr is given twice", options=("--optimizer", "adamw:lr=1,lr=2"))
    c.zbc("optimizer line that ends in a comma", GPT2, 2,
          "--optimizer: .*missing", options=("--optimizer", "adamw:lr=1,"))
    c.zbc("a glob that trains nothing", GPT2, 1, "no parameter", "--train", options=("--freeze", "*"))
    c.zbc("a cut that is not there", GPT2, 2, "zbc: error: --cuts: .*no.such.place",
          options=("--ranks", 2, "--cuts", "no.such.place"))
    c.zbc("a layout of other layers", GPT2, 2, "--layout: .*3 layers t.*8.*lm.transformer.h.0",
          options=("--layout", "Ett|tL"))
    c.zbc("a layout with a letter that is none", GPT2, 2, "--layout: .*at character 3, got 'x'",
          options=("--layout", "Etx|tL"))
    for words, text in ((("--groups", "tp2-pp4", "--world", 10), "10 ranks cannot be divided by tp 2 x cp 1 x pp 4"),
                        (("--groups", "tp2-qp4", "--world", 8), "unknown axis 'qp' at character 5"),
                        (("--groups", "tp0", "--world", 8), "expected tp and a size of 1 to 2147483647"),
                        (("--groups", "tp65536-dp65536"), "more than 2147483647 ranks"),
                        (("--groups", "tp2-tp2", "--world", 8), "tp has two sizes"),
                        (("--groups", "tp2", "--world", 8, "--order", "tp-tp"), "tp stands there twice"),
                        (("--layout", "even", "--layers", 30, "--ranks", 4), "30 layers cannot be cut alike"),
                        (("--layout", "E(t|", "--ranks", 2), r"expected a '\)'")):
        c.expect("zb-sched " + " ".join(map(str, words)), c.suite.run("zb-sched", *words), 2, text)
    c.expect("zb-sched: no groups", c.suite.run("zb-sched", "--groups", ""), 2, "--groups needs a value", hint=False)
    c.zbc("no cuts", GPT2, 2, "--cuts needs a value", options=("--ranks", 2, "--cuts", ""))
    c.zbc("memory limit that cannot be met", GPT2, 3, r"rank \d", r"\d",
          options=("--ranks", 4, "--micro-batches", 8, "--memory-limit", "100K"))
    c.zbc("chunks with zb-h1", GPT2, 2, "chunks", "fthenb",
          options=("--ranks", 2, "--chunks", 2, "--schedule", "zb-h1", "--micro-batches", 4))
    c.expect("zbc: an empty folder name", c.suite.run("zbc", GPT2, "-o", ""), 2, "-o needs a value")
    c.write("occupied", "a file, not a folder\n")
    process = c.suite.run("zbc", GPT2, "-o", c.path("occupied"))
    c.expect("zbc: output folder is a file", process, 4, "occupied", hint=False)
    process = c.suite.run("zbc", GPT2, "-o", "/proc/nothing/here")
    own = c.path("own.onnx")
    shutil.copy(GPT2, own)
    for option, said in (("--csv", "the model is"), ("--timeline", "the model is")):
        over = c.suite.run("zbc", own, "-o", c.path("owned"), option, own)
        c.expect(f"zbc: {option} over the model", over, 2, "would write over what is read: " + said)
    c.suite.check(os.path.getsize(own) == os.path.getsize(GPT2), "the model is as it was")
    for option, name in (("--choice-out", "weights.safetensors"), ("--csv", "plan.zb"), ("--timeline", "plan.zb")):
        over = c.suite.run("zbc", own, "-o", c.path("owned"), option, os.path.join(c.path("owned"), name))
        c.expect(f"zbc: {option} over {name} of the plan", over, 2, f"{option} and -o would write the same file")
    c.expect("zbc: output folder cannot be made", process, 4, "/proc/nothing", hint=False)


def bad_runs(c):
    plan = c.path("plan")
    c.suite.compile(GPT2, plan, "--ranks", 2, "--micro-batches", 4)
    text = "text:" + common.CORPUS
    c.zb_run("no folder", 2, "--steps", 1)
    c.zb_run("missing folder", 4, c.path("nowhere"), "--data", text, "--steps", 1,
             texts=("nowhere", "expected: a folder that zbc wrote"))
    c.zb_run("no data", 2, plan, "--steps", 1, texts=("data",))
    c.zb_run("no steps", 2, plan, "--data", text, texts=("steps",))
    c.zb_run("unknown option", 2, plan, "--data", text, "--step", 1, texts=("--step", "hint: write --steps N"))
    c.zb_run("unknown device", 2, plan, "--data", text, "--steps", 1, "--device", "gpu", texts=("gpu",))
    c.zb_run("unknown launch", 2, plan, "--data", text, "--steps", 1, "--launch", "mpirun",
             texts=("mpirun", "write --launch mpi, and start it as mpirun"))
    c.zb_run("empty folder name", 2, "", "--data", text, "--steps", 1, texts=("no folder of a plan",))
    c.zb_run("missing corpus", 4, plan, "--data", "text:" + c.path("none.txt"), "--steps", 1,
             texts=(r"none\.txt",), hint=False)
    c.zb_run("corpus shorter than a row", 1, plan, "--data", "text:" + c.write("short.txt", "too short"), "--steps", 1,
             texts=(r"short\.txt", "9"))
    tokens = c.write("tokens.bin", b"\1\0" * 100 + b"\xff\xff" + b"\1\0" * 4000)
    words = plan, "--data", "tokens:" + tokens, "--steps", 9
    for options in ((), ("--reference",), ("--device", "sim")):
        c.zb_run("token outside the vocabulary " + " ".join(options), 1, *words, *options,
                 texts=("lm.transformer.wte.*out of range.*: got 65535, expected 0 to 255", "step 1\n", r"0F\d",
                        r"the token 65535 stands at place 100 \(from 0\) of '.*tokens\.bin': input 'x', row \d, "
                        r"position \d", "hint: .*tokens:FILE:u32"))
    tiny = c.path("tiny")
    c.suite.compile(os.path.join(common.DATA, "gpt2-tiny.onnx"), tiny)
    c.zb_run("bytes for a small vocabulary", 1, tiny, "--data", text, "--steps", 1,
             texts=(r"got \d+, expected 0 to \d+", r"the token \d+ stands at place \d+ \(from 0\) of '.*corpus\.txt'",
                    "hint: .*vocabulary of 256"))
    c.zb_run("resume from nothing", 4, plan, "--data", text, "--steps", 1, "--resume", c.path("never"),
             texts=("never",), hint=False)
    for option, bad in (("--timeline", "step.png"), ("--trace", "step.svg"), ("--profile", "costs.txt")):
        c.zb_run(f"{option} with another ending", 2, plan, "--data", text, "--steps", 3, option, c.path(bad),
                 texts=(f"{option}: .*{bad}", r"hint: .*\.(svg|json)"))
        c.suite.check(not os.path.exists(c.path(bad)), f"zb-run: {option} {bad} is not written")
    for option, bad in (("--timeline", "a.svg"), ("--trace", "a.json"), ("--profile", "a.json"),
                        ("--calibrate", "a.json")):
        words = () if option == "--calibrate" else (plan, "--data", text, "--steps", 100000000)
        c.zb_run(f"{option} where no file can be", 4, *words, option, c.path("nowhere/" + bad),
                 texts=(f"{option}: .*nowhere/{bad}",), timeout=common.patience(60))
    bad_saves(c, plan, "--data", text, "--steps", 100000000)


def bad_saves(c, *words):
    """Places where no save can be: known before the first step of many."""
    def refused(name, place, *texts, hint=True):
        process = c.suite.run("zb-run", *words, "--save", place, timeout=common.patience(60))
        c.expect(f"zb-run: --save {name}", process, 4, *texts, hint=hint)
        c.suite.check(not process.stdout, f"zb-run: --save {name}: it has trained: {process.stdout[:200]}")

    refused("where no folder can be made", "/proc/nothing/here", "/proc/nothing", hint=False)
    refused("where nobody can make a folder", "/proc/nothing",
            "cannot save to '/proc/nothing': cannot open '/proc/nothing.lock'", hint=False)
    refused("with a name that leaves no room", c.path("n" * 253), "n.lock': File name too long", hint=False)
    os.symlink(c.path("nowhere"), c.path("link"))
    refused("to a link that leads nowhere", c.path("link"), "link': it is a link that leads nowhere")
    for ending in (".tmp", ".old"):
        c.write("in-the-way" + ending, "a file")
        refused(f"beside a file {ending}", c.path("in-the-way"), f"in-the-way{ending}' is in the way")
        os.remove(c.path("in-the-way" + ending))
    if os.path.ismount("/dev/shm"):
        refused("where a file system is mounted", "/dev/shm", "a file system is mounted there",
                "hint: .*/dev/shm/checkpoint")
    process = c.suite.run("zb-run", *words[:-1], 1, "--save", c.path("made/by/it") + "/.")
    c.suite.check(process.returncode == 0 and sorted(os.listdir(c.path("made/by"))) == ["it"],
                  f"zb-run: --save to a folder to be made: {process.stderr}")
    c.suite.check(len(os.listdir(c.path("made/by/it"))) == 2, "zb-run: --save to a folder with a dot in its name")


def not_a_number(c):
    plan, saved = c.path("nan"), c.path("nan-saved")
    c.suite.compile(GPT2, plan, "--ranks", 2, "--micro-batches", 4, "--optimizer", "sgd:lr=1e30")
    process = c.suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 10, "--json", "--save", saved)
    done = len(process.stdout.splitlines())
    c.expect("zb-run: loss that becomes NaN", process, 4, f"the loss of step {done + 1}, ", "loss")
    c.suite.check(done < 10, "zb-run: stops at the step whose loss is no number")
    c.suite.check("save" not in process.stderr,
                  f"zb-run: nothing was saved before the loss became NaN: {process.stderr}")
    process = c.suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 10)
    lines = [line for line in process.stdout.splitlines() if line.startswith("step ")]
    c.expect("zb-run: the step without a loss is the one after the last line", process, 4,
             f"the loss of step {len(lines) + 1}, ")
    c.suite.check(lines and lines[-1].startswith(f"step {len(lines)}/10 "),
                  f"zb-run: lines count steps from 1, got {lines}")
    c.suite.check("save" not in process.stderr, f"zb-run: a run without --save has no saved state: {process.stderr}")
    c.no_files("zb-run: loss that becomes NaN", saved)
    process = c.suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 10,
                          "--save", saved, "--save-every", 1)
    c.expect("zb-run: loss that becomes NaN after a save", process, 4,
             f"note: the last save is that of step {done}: --resume '.*nan-saved' goes on")


def interrupted(c):
    plan, saved = c.path("plan"), c.path("interrupted")
    process = subprocess.Popen([c.suite.tool("zb-run"), plan, "--data", "text:" + common.CORPUS, "--steps", "1000000",
                                "--json", "--save", saved, "--save-every", "3"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    lines = [process.stdout.readline() for _ in range(4)]
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    rest, errors = process.communicate(timeout=common.patience(60))
    c.expect("zb-run: Ctrl-C", subprocess.CompletedProcess([], process.returncode, "", errors), 130,
             "signal|interrupt", hint=False)
    c.suite.check(time.monotonic() - begin < common.patience(30), "zb-run: Ctrl-C ends within seconds")
    steps = [row["step"] for row in common.json_lines("".join(lines) + rest)]
    tensors, metadata = common.read_safetensors(os.path.join(saved, "weights.safetensors"))
    c.suite.check(tensors and metadata.get("zb.step") == str(steps[-1] + 1),
                  f"zb-run: Ctrl-C saves its last step {steps[-1] + 1}, got {metadata}")
    resumed = c.suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 1, "--json", "--resume", saved)
    c.suite.check(resumed.returncode == 0 and common.json_lines(resumed.stdout)[0]["step"] == steps[-1] + 1,
                  "zb-run: goes on after Ctrl-C")


def full_disk(c):
    """A limit on file sizes instead of a full disk: both make writes fail half-way. The signal of the
    limit must not end the programs."""
    plan, saved = c.path("plan"), c.path("full")
    words = (plan, "--data", "text:" + common.CORPUS, "--steps", 1, "--save", saved)
    c.suite.check(c.suite.run("zb-run", *words).returncode == 0, "zb-run: a save")
    before = common.read_checkpoint(saved)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    process = c.suite.run("zb-run", *words, "--resume", saved, preexec_fn=limit)
    c.expect("zb-run: no room for a save", process, 4, "full", hint=False)
    c.suite.check(common.read_checkpoint(saved) == before, "zb-run: no room for a save: the old one stays")
    left = [f for f in os.listdir(c.folder) if f.startswith("full") and f != "full"]
    left += [f for f in os.listdir(saved) if not f.endswith(".safetensors")]
    c.suite.check(not left, f"zb-run: no room for a save: {left} is left")
    out = c.path("full-plan")
    process = c.suite.run("zbc", GPT2, "-o", out, preexec_fn=limit)
    c.expect("zbc: no room for the plan", process, 4, "full-plan", hint=False)
    c.no_files("zbc: no room for the plan", out)
    c.suite.check(not os.path.exists(out), "zbc: no room for the plan: no folder is left")
    before = {name: open(os.path.join(plan, name), "rb").read() for name in sorted(os.listdir(plan))}
    process = c.suite.run("zbc", GPT2, "-o", plan, "--ranks", 4, preexec_fn=limit)
    c.expect("zbc: no room for a new plan", process, 4, "File too large", hint=False)
    after = {name: open(os.path.join(plan, name), "rb").read() for name in sorted(os.listdir(plan))}
    c.suite.check(before == after, f"zbc: no room for a new plan: the old one stays, got {sorted(after)}")


def broken_plans(c):
    with open(c.path("plan/plan.zb"), "rb") as file:
        good = file.read()
    broken = c.path("broken")
    shutil.copytree(c.path("plan"), broken)
    words = (broken, "--data", "text:" + common.CORPUS, "--steps", 1, "--timeout", 5)

    def damage(name, data, statuses=(1, 4), texts=(r"plan\.zb",)):
        c.write("broken/plan.zb", data)
        process = c.suite.run("zb-run", *words)
        status = process.returncode if process.returncode in statuses else statuses[0]
        c.expect(f"zb-run: {name}", process, status, *texts, hint=False)

    for cut in (0, 7, 40, len(good) // 2, len(good) - 1):
        damage(f"plan cut to {cut} of {len(good)} bytes", good[:cut])
    damage("plan with bytes after its end", good + b"more")
    damage("plan with a wrong magic", b"X" + good[1:])
    damage("plan with a flipped byte", mutate_plan(good, 1, 1000, 0xA5, False), texts=(r"plan\.zb", "CRC|checksum"))
    crashed = accepted = 0
    for i in range(40):  # with right checksums: refused, or a plan that still runs; never a crash or a hang
        position = i * 2654435761 % 1000003
        c.write("broken/plan.zb", mutate_plan(good, i % 3, position, i * 37 + 11 & 255, True))
        process = c.suite.run("zb-run", *words)
        crashed += process.returncode < 0 or process.returncode not in (0, 1, 4, 5)
        accepted += process.returncode == 0
        if process.returncode < 0 or process.returncode not in (0, 1, 4, 5):
            print(f"     mutation {i} of section {i % 3} at {position}: exit {process.returncode}: "
                  f"{process.stderr[:200]}")
    c.suite.check(not crashed, f"zb-run: {crashed} of 40 plans with one wrong byte and right checksums crash it")
    print(f"ok   zb-run: 40 plans with one wrong byte and right checksums: {accepted} still run, "
          "the others are refused")
    shutil.copy(c.path("plan/plan.zb"), c.path("broken/plan.zb"))
    with open(c.path("plan/weights.safetensors"), "rb") as file:
        weights = file.read()
    for name, data in (("cut weights", weights[:-5]), ("empty weights", b""),
                       ("weights with a huge header", b"\xff" * 8 + weights[8:])):
        c.write("broken/weights.safetensors", data)
        c.expect(f"zb-run: {name}", c.suite.run("zb-run", *words), 1, "weights", hint=False)
    bad_constants(c)
    os.remove(c.path("broken/weights.safetensors"))
    c.expect("zb-run: no weights", c.suite.run("zb-run", *words), 4, "weights", hint=False)


def bad_constants(c):
    """The constants that a plan needs and does not hold."""
    table, place = c.path("table"), c.path("table/constants.safetensors")
    c.suite.compile(c.write("table.onnx", table_model()), table)
    words = (table, "--data", "text:" + common.CORPUS, "--steps", 1)
    c.suite.check(c.suite.run("zb-run", *words).returncode == 0, "zb-run: a plan with constants")
    with open(place, "rb") as file:
        good = file.read()
    other = good.replace(b'"table"', b'"tabel"')
    for name, data, text in (("cut", good[:-1], "ends at byte"), ("garbage", b"\xa5" * len(good), "the header"),
                             ("empty", b"", "too few"), ("other", other, "no value for the constant 'table'"),
                             ("reshaped", good.replace(b"[40,8]", b"[8,40]"), "is 8x40xf32")):
        c.write("table/constants.safetensors", data)
        c.expect(f"zb-run: {name} constants", c.suite.run("zb-run", *words), 1, text, hint=name in ("garbage", "other"))
    os.remove(place)
    c.expect("zb-run: no constants", c.suite.run("zb-run", *words), 4, r"constants\.safetensors",
             "expected: the folder as zbc wrote it", hint=False)


def out_of_memory(c):
    """Whatever allocation fails, MLIR's too: status 4, a message, no files. Limits are above what
    the loader needs on this machine."""
    def limited(megabytes, *words):
        limits = megabytes << 20, megabytes << 20
        return c.suite.run("zbc", *words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits))

    if limited(4096, "--version").returncode:
        print("     zbc: out of memory: not tried, this build does not start in 4 GiB of address space")
        return
    low, high = 16, 4096  # the least that it starts in
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if limited(middle, "--version").returncode == 0 else (middle, high)
    sys.path.insert(0, os.path.join(common.SOURCE, "test", "bench"))
    import gpt
    large = c.write("large.mlir", gpt.program(gpt.Size(layers=150, dim=16, heads=2, seq=8, batch=1, vocab=32)))
    ended = []
    for more in (1, 2, 4, 8, 12, 16, 24, 32):
        process = limited(high + more, large, "-o", c.path("large"), "--ranks", 4, "--micro-batches", 16)
        ended.append(process.returncode)
        good = process.returncode == 4 and re.search("out of memory|[Cc]annot allocate memory", process.stderr)
        c.suite.check(good or process.returncode == 0,
                      f"zbc in {high + more} MiB: exit {process.returncode}: {process.stderr[-500:]}")
    c.no_files("zbc: out of memory", c.path("large"))
    c.suite.check(ended.count(4) >= 4, f"zbc: small limits are too little: {ended}")


def main():
    groups = (bad_models, bad_options, bad_runs, not_a_number, interrupted, full_disk, broken_plans, out_of_memory)
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        cases = Cases(suite, folder)
        for group in groups:
            try:
                group(cases)
            except (common.Failure, OSError, subprocess.TimeoutExpired, ValueError, IndexError) as failure:
                suite.check(False, f"{group.__name__}: {failure}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
