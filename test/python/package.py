#!/usr/bin/env python3
"""The Python package trains as zb-run does, bit for bit, from arrays; what is wrong with a batch is said before a step.

    package.py [BUILD] [--only NAME...]

Arrays are those of the standard library, and NumPy's where it is installed. A producer of DLPack is made here, of
ctypes. Ends with "N passed, N failed".
"""
import argparse
import array
import ctypes
import gc
import inspect
import json
import math
import os
import pathlib
import pydoc
import re
import signal
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "python"), str(ROOT / "test" / "e2e")]
import bad_input as onnx  # noqa: E402
import common  # noqa: E402
import outputs as npy  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

MODEL = os.path.join(common.DATA, "gpt2-small.onnx")
MICRO_BATCHES, STEPS = 4, 4

# Every type of input that a plan has, one of them without dimensions: what a step computes is computed here again.
MIXED = """
func.func @model(%x: tensor<3x8xf32> {zb.input = "x"}, %keep: tensor<3x16xi1> {zb.input = "keep"},
                 %scale: tensor<f32> {zb.input = "scale"}, %y: tensor<3xi32> {zb.input = "y"},
                 %w0: tensor<8x16xf32> {zb.param = "net.w0"}, %w1: tensor<16x8xf32> {zb.param = "net.w1"})
    -> (tensor<f32> {zb.loss}) {
  %zero = "zb.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "zb.matmul"(%x, %w0) : (tensor<3x8xf32>, tensor<8x16xf32>) -> tensor<3x16xf32>
  %1 = "zb.where"(%keep, %0, %zero) : (tensor<3x16xi1>, tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
  %2 = "zb.mul"(%1, %scale) : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
  %3 = "zb.matmul"(%2, %w1) : (tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>
  %4 = "zb.cast"(%y) {dtype = "i64"} : (tensor<3xi32>) -> tensor<3xi64>
  %5:2 = "zb.cross_entropy"(%3, %4) {reduction = "mean"}
      : (tensor<3x8xf32>, tensor<3xi64>) -> (tensor<f32>, tensor<3xf32>)
  return %5#0 : tensor<f32>
}
"""


# sum(late @ w) + 3 * sum(early @ w) of arguments (early, unread, late), by the doors.
ORDERED = """
func.func @model(%early: tensor<2x4xf32> {zb.input = "early"}, %late: tensor<2x4xf32> {zb.input = "late"},
                 %w: tensor<4x1xf32> {zb.param = "net.w"}) -> (tensor<f32> {zb.loss}) {
  %three = "zb.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "zb.matmul"(%late, %w) : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
  %1 = "zb.reduce_sum"(%0) {axes = array<i64: 0, 1>} : (tensor<2x1xf32>) -> tensor<f32>
  %2 = "zb.matmul"(%early, %w) : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
  %3 = "zb.reduce_sum"(%2) {axes = array<i64: 0, 1>} : (tensor<2x1xf32>) -> tensor<f32>
  %4 = "zb.mul"(%3, %three) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %5 = "zb.add"(%1, %4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>
}
"""
ORDERED_ATEN = """
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%w: tensor<4x1xf32> {aten.parameter = "net.w"}, %early: tensor<2x4xf32> {aten.input = "early"},
                  %unread: tensor<2x4xf32> {aten.input = "unread"}, %late: tensor<2x4xf32> {aten.input = "late"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %0 = "aten.matmul"(%late, %w) : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
    %1 = "aten.sum"(%0) : (tensor<2x1xf32>) -> tensor<f32>
    %2 = "aten.matmul"(%early, %w) : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
    %3 = "aten.sum"(%2) : (tensor<2x1xf32>) -> tensor<f32>
    %4 = "aten.add.Tensor"(%1, %3) {alpha = 3 : i64} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
"""
ORDERED_JAX = """
module @jit_loss {
  func.func public @main(%w: tensor<4x1xf32> loc("params['w']"), %early: tensor<2x4xf32> loc("early"),
                         %unread: tensor<2x4xf32> loc("unread"), %late: tensor<2x4xf32> loc("late"))
      -> (tensor<f32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %0 = stablehlo.dot_general %late, %w, contracting_dims = [1] x [0] \
        : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] \
        : (tensor<2x1xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.dot_general %early, %w, contracting_dims = [1] x [0] \
        : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0, 1] \
        : (tensor<2x1xf32>, tensor<f32>) -> tensor<f32>
    %4 = stablehlo.multiply %3, %three : tensor<f32>
    %5 = stablehlo.add %1, %4 : tensor<f32>
    return %5 : tensor<f32>
  }
}
"""


def frozen_front(layers):
    """Layers of which the first half is frozen: gradients do not come back to the first stages."""
    arguments, lines, last = ['%x: tensor<2x8xf32> {zb.input = "x"}'], [], "%x"
    for i in range(layers):
        arguments.append('%%w%d: tensor<8x8xf32> {zb.%s = "w%d"}' % (i, "frozen" if 2 * i < layers else "param", i))
        lines.append('%%m%d = "zb.matmul"(%s, %%w%d) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>' %
                     (i, last, i))
        lines.append('%%h%d = "zb.tanh"(%%m%d) : (tensor<2x8xf32>) -> tensor<2x8xf32>' % (i, i))
        last = "%%h%d" % i
    return """func.func @model(%s) -> (tensor<f32> {zb.loss}) {
  %s
  %%loss = "zb.reduce_mean"(%s) {axes = array<i64: 0, 1>} : (tensor<2x8xf32>) -> tensor<f32>
  return %%loss : tensor<f32>
}""" % (", ".join(arguments), "\n  ".join(lines), last)


def ordered_onnx():
    """The same as an ONNX file: 3 is added up."""
    sums = [("MatMul", ["late", "net.w"], "a"), ("MatMul", ["early", "net.w"], "b"), ("Add", ["a", "b"], "c"),
            ("Add", ["c", "b"], "d"), ("Add", ["d", "b"], "e")]
    nodes = [onnx.node(op, "", inputs, [out]) for op, inputs, out in sums]
    nodes.append(onnx.node("ReduceSum", "", ["e"], ["loss"], onnx.NO_DIMS))
    return onnx.onnx_file(nodes, initializers=[onnx.tensor("net.w", (4, 1))], outputs=[onnx.value_info("loss", [])],
                          inputs=[onnx.value_info(name, (2, 4)) for name in ("early", "unread", "late")])


def shaped(kind, values, shape):
    """An array of the standard library with dimensions."""
    made = memoryview(array.array(kind, values))
    return made.cast("B").cast(kind, shape) if shape else made


class Corpus:
    """Rows of the corpus as zb-run takes them: row r of micro-batch i of step k begins at ((k*M + i)*B + r)*T."""

    def __init__(self, rows, length):
        self.text = pathlib.Path(common.CORPUS).read_bytes()
        self.rows, self.length = rows, length

    def batch(self, step):
        x, y = [], []
        for row in range(MICRO_BATCHES * self.rows):
            start = (step * MICRO_BATCHES * self.rows + row) * self.length % (len(self.text) - self.length - 1)
            x += self.text[start:start + self.length]
            y += self.text[start + 1:start + self.length + 1]
        shape = (MICRO_BATCHES * self.rows, self.length)
        return shaped("q", x, shape), shaped("q", y, shape)


# ---- A producer of DLPack ----

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Producer:
    """64-bit numbers by DLPack; `change` makes it something else."""

    def __init__(self, numbers, versioned=True, change=lambda tensor: None, major=1):
        self.memory = array.array("q", [7, 7] + list(numbers.cast("B").cast("q")))
        self.shape = (ctypes.c_int64 * numbers.ndim)(*numbers.shape)
        self.strides, self.versioned, self.change, self.major = None, versioned, change, major

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("no keyword arguments")
        made = Versioned() if self.versioned else Managed()
        made.tensor = Tensor(self.memory.buffer_info()[0], (ctypes.c_int32 * 2)(1, 0), len(self.shape), 0, 64, 1,
                             self.shape, None, 16)
        self.change(made.tensor)
        if self.versioned:
            made.version[0] = self.major
        self.made, self.name = made, b"dltensor_versioned" if self.versioned else b"dltensor"
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(made), self.name, None)


class Tests:
    def __init__(self, suite, folder):
        import zb
        self.zb, self.suite, self.folder = zb, suite, folder
        self.plan = zb.compile(MODEL, ranks=2, micro_batches=MICRO_BATCHES, output=self.path("plan"))
        self.corpus = Corpus(self.plan.inputs[0].shape[0], self.plan.inputs[0].shape[1])

    def path(self, name):
        return os.path.join(self.folder, name)

    def losses(self, batches, **options):
        with self.zb.Session(self.plan, **options) as run:
            return [run.step(batch).loss for batch in batches]

    def raises(self, code, words, what, call):
        """A zb.Error of that code (None: any) whose text has the words."""
        try:
            call()
        except self.zb.Error as error:
            return self.suite.check(code in (None, error.code) and re.search(words, str(error)),
                                    "%s: expected %s and '%s', got %s: %s" % (what, code, words, error.code, error))
        return self.suite.check(False, "%s: nothing was raised" % what)

    # ---- What is computed ----

    def test_bits(self):
        """Losses of zb-run, whatever the arrays are."""
        rows = self.suite.train(self.plan.directory, STEPS)
        wanted = [row["loss"] for row in rows]
        batches = [self.corpus.batch(k) for k in range(STEPS)]
        kinds = {
            "tuples": batches,
            "lists": [list(batch) for batch in batches],
            "dictionaries": [{"y": y, "x": x} for x, y in batches],
            "a dimension of micro-batches": [tuple(a.cast("B").cast("q", (MICRO_BATCHES, self.corpus.rows,
                                                                          self.corpus.length)) for a in batch)
                                             for batch in batches],
            "read-only": [tuple(a.toreadonly() for a in batch) for batch in batches],
            "DLPack": [tuple(Producer(a) for a in batch) for batch in batches],
            "DLPack without a version": [tuple(Producer(a, versioned=False) for a in batch) for batch in batches],
        }
        if numpy is not None:
            arrays = [tuple(numpy.asarray(a) for a in batch) for batch in batches]
            kinds["NumPy"] = arrays
            kinds["NumPy, strided"] = [tuple(numpy.asfortranarray(a) for a in batch) for batch in arrays]
            kinds["NumPy, every other row"] = [tuple(numpy.repeat(a, 2, axis=0)[::2] for a in batch)
                                               for batch in arrays]
        for kind, given in kinds.items():
            self.suite.check(self.losses(given) == wanted, "losses of zb-run: " + kind)
        self.suite.check(self.losses(batches, device="sim", seed=3) == wanted, "losses of zb-run: sim")
        self.suite.check(self.losses(batches, threads=2) == wanted, "losses of zb-run: threads")
        with self.zb.Session(self.plan, data="text:" + common.CORPUS, clip_norm=None) as run:
            self.suite.check([run.step().loss for _ in range(STEPS)] == wanted, "losses of zb-run: a file")

    def test_ahead(self):
        """train() has the losses of step(), and on a virtual clock the times of zb-run, whose ranks do not wait."""
        plan = self.zb.compile(MODEL, ranks=4, micro_batches=MICRO_BATCHES, schedule="zb-h2", output=self.path("ahead"))
        batches = [self.corpus.batch(k) for k in range(6)]
        rows = self.suite.train(plan.directory, 6, "--device", "sim")
        wanted = [row["loss"] for row in rows]
        for device in ("sim", "cpu"):
            with self.zb.Session(plan, device=device) as run:
                results = list(run.train(iter(batches)))
                self.suite.check([r.loss for r in results] == wanted and run.steps == 6, "train() on %s" % device)
                if device == "sim":
                    ours, theirs = sum(r.seconds for r in results), sum(row["seconds"] for row in rows)
                    self.suite.check(abs(ours - theirs) < 1e-9 * theirs, "times of train(): %r, zb-run %r" %
                                     (ours, theirs))
        with self.zb.Session(plan, device="sim") as run:
            seconds = sum(run.step(batch).seconds for batch in batches)
            self.suite.check(seconds > theirs * 1.001, "with a barrier steps take longer: %r, %r" % (seconds, theirs))
        with self.zb.Session(plan) as run:
            self.suite.check(list(run.train([])) == [], "no batches")
            for k, result in enumerate(run.train(iter(batches))):
                self.raises("USAGE", "have gone on|have begun", "a save while ranks are ahead",
                            lambda: run.save(self.path("early")))
                self.raises("USAGE", "have begun the next step", "a step while ranks are ahead",
                            lambda: run.step(batches[0]))
                if k == 1:
                    break
            gc.collect()
            self.suite.check(run.steps == 3, "a loop that is left early has one more step: %d" % run.steps)
            rest = [r.loss for r in run.train(iter(batches[3:]))]
            self.suite.check(rest == wanted[3:] and run.steps == 6, "and another one goes on")
            run.save(self.path("ahead-saved"))
        with self.zb.Session(plan) as run:
            def broken():
                yield from batches[:3]
                raise KeyError("the loader")
            found = []
            try:
                for result in run.train(broken()):
                    found.append(result.loss)
                self.suite.check(False, "an exception of the loader: nothing was raised")
            except KeyError:
                self.suite.check(found == wanted[:len(found)] and run.steps == 3, "an exception of the loader: %d, %d" %
                                 (len(found), run.steps))
            self.raises("INVALID", "the batch has 1 array:", "a wrong batch ahead",
                        lambda: list(run.train([batches[3], (1,)])))
            self.suite.check([r.loss for r in run.train(batches[4:])] == wanted[4:], "the session goes on")

    def test_results(self):
        plan = self.zb.compile(MODEL, ranks=2, micro_batches=MICRO_BATCHES, clip_norm=0.5, schedule="1f1b")
        rows = self.suite.train(plan.directory, 2, "--grad-norms")
        with self.zb.Session(plan, trace=True, costs=True, save=self.path("saved")) as run:
            for k in range(2):
                result = run.step(self.corpus.batch(k))
                self.suite.check(result.loss == rows[k]["loss"] and result.step == k, "a result has its loss and step")
                self.suite.check(abs(result.norm - rows[k]["norm"]) < 1e-6 * result.norm, "a result has its norm")
                mean = math.fsum(result.micro_losses) / MICRO_BATCHES
                self.suite.check(abs(mean - result.loss) < 1e-9 and 0 <= result.idle < 1 and result.seconds > 0
                                 and result.tokens == MICRO_BATCHES * self.corpus.rows * self.corpus.length
                                 and abs(result.lr - 1e-3) < 1e-12 and not result.skipped and not result.stopping
                                 and len(result.idle_ranks) == 2, "a result is whole: %s" % (result,))
            norms = run.gradient_norms()
            total = math.sqrt(math.fsum(norm * norm for norm in norms.values()))
            self.suite.check(abs(total - result.norm) < 1e-4 * total, "norms of parameters: %g, %g" %
                             (total, result.norm))
            self.suite.check(run.steps == 2 and run.process == 0 and run.processes == 1, "a session counts")
            self.suite.check(run.info["schedule"] == "1f1b" and run.info["ranks"] == 2, "what is run: %s" % run.info)
            for name, words in (("step.svg", "<svg"), ("step.json", "traceEvents")):
                (run.timeline if name.endswith("svg") else run.trace)(self.path(name))
                self.suite.check(words in pathlib.Path(self.path(name)).read_text(), name)
            run.step(self.corpus.batch(2))
            run.write_costs(self.path("costs.json"))
        again = self.zb.compile(MODEL, ranks=2, micro_batches=MICRO_BATCHES, costs=self.path("costs.json"))
        self.suite.check(again.summary.step_seconds > 0, "costs can be compiled with")

    def test_mixed(self):
        """f32, i1, i32 and a scalar: every micro-batch gets its own, by arithmetic that is not zb's."""
        path = self.path("mixed.mlir")
        pathlib.Path(path).write_text(MIXED)
        plan = self.zb.compile(path, ranks=2, micro_batches=2, optimizer="sgd:lr=0.5")
        self.suite.check([(v.name, v.dtype, v.shape) for v in plan.inputs] ==
                         [("x", "f32", (3, 8)), ("keep", "i1", (3, 16)), ("scale", "f32", ()), ("y", "i32", (3,))],
                         "inputs: %s" % (plan.inputs,))
        state = 12345

        def draw():
            nonlocal state
            state = (state * 1103515245 + 12345) % (1 << 31)
            return state / (1 << 31) - 0.5

        with self.zb.Session(plan) as run:
            for _ in range(3):
                x = array.array("f", [draw() for _ in range(48)])
                keep, scale = [draw() > 0 for _ in range(96)], array.array("f", [draw() + 1, draw() + 1])
                y = [int((draw() + 0.5) * 8) for _ in range(6)]
                weights = run.state_dict("buffer")
                wanted = [mixed_loss(weights, x, keep, scale, y, i) for i in (0, 1)]
                result = run.step({"x": shaped("f", x, (6, 8)), "keep": shaped("B", keep, (6, 16)).cast("B").cast(
                    "?", (6, 16)), "scale": scale, "y": array.array("i", y)})
                for i in (0, 1):
                    self.suite.check(abs(result.micro_losses[i] - wanted[i]) < 1e-5,
                                     "micro-batch %d: %.9g, expected %.9g" % (i, result.micro_losses[i], wanted[i]))

    def test_order(self):
        """A tuple means the same to the plan that was compiled and to its folder, through every door: the arguments of
        the model in its order, whatever reads them first, those that nothing reads among them."""
        paddle = ROOT / "test" / "ir" / "import" / "paddle" / "Inputs" / "ordered.main.json"
        texts = {"zb.mlir": ORDERED.encode(), "aten.mlir": ORDERED_ATEN.encode(),
                 "stablehlo.mlir": ORDERED_JAX.encode(), "graph.onnx": ordered_onnx(),
                 "program.json": paddle.read_bytes()}
        draw = [array.array("f", [k + i / 8 for i in range(16)]) for k in (1, 5, 25)]
        early, unread, late = (shaped("f", numbers, (4, 4)) for numbers in draw)
        sums = [sum(draw[2][i + j] + 3 * draw[0][i + j] for j in range(0, 16, 4)) for i in range(4)]
        for name, text in texts.items():
            path, folder = self.path(name), self.path(name + ".plan")
            pathlib.Path(path).write_bytes(text)
            plan = self.zb.compile(path, output=folder, micro_batches=2, optimizer="sgd:lr=1")
            known = ("early", "late") if name == "zb.mlir" else ("early", "unread", "late")
            for one in (plan, self.zb.Plan(folder)):
                self.suite.check([v.name for v in one.inputs] == ["early", "late"] and one.arguments == known,
                                 "%s: inputs %s of %s" % (name, one.inputs, one.arguments))
                for batch in ((early, late), (early, unread, late), {"late": late, "early": early}):
                    if len(batch) == 3 and len(known) == 2:
                        continue
                    with self.zb.Session(one) as run:
                        w = memoryview(next(iter(run.state_dict("buffer").values()))).cast("B").cast("f").tolist()
                        wanted, found = sum(a * b for a, b in zip(sums, w)) / 2, run.step(batch).loss
                    self.suite.check(abs(found - wanted) <= 1e-4 * max(1, abs(wanted)),
                                     "%s: %s gives %g, expected %g" % (name, type(batch), found, wanted))
            said = self.suite.must("zb-run", folder, "--print-plan")
            self.suite.check(re.findall(r"^input (\w+) ", said, re.M) == ["early", "late"] and
                             ("arguments early, unread, late\n" in said) == (len(known) == 3),
                             "%s: --print-plan: %s" % (name, said[:500]))

    def test_order_of_jobs(self):
        """An order that PyTorch's runtime cannot run is a plan like any other; who asks for its CSV hears of it."""
        path, csv, folder = self.path("frozen.mlir"), self.path("order.csv"), self.path("frozen.plan")
        pathlib.Path(path).write_text(frozen_front(8))
        options = dict(ranks=4, micro_batches=4, optimizer="sgd:lr=1")
        runs = self.zb.compile(path, schedule="1f1b", csv=csv, **options)
        text = pathlib.Path(csv).read_bytes().decode()
        self.suite.check(text == runs.summary.order and text.startswith("0F0,"),
                         "the CSV of 1f1b: %r" % runs.summary.order)
        for schedule in ("v-half", "v-min"):
            plan = self.zb.compile(path, schedule=schedule, **options)
            self.suite.check(plan.summary.order is None and "deadlocks" in plan.summary.order_refused,
                             "%s: %s" % (schedule, plan.summary.order_refused))
            with self.zb.Session(plan) as run:
                self.suite.check(math.isfinite(run.step(shaped("f", [1] * 64, (8, 8))).loss), "%s trains" % schedule)
        self.raises("INVALID", "csv: PyTorch's stages are one chain(.|\n)*deadlocks(.|\n)*leave csv out", "a CSV of it",
                    lambda: self.zb.compile(path, schedule="v-min", csv=csv, output=folder, **options))
        self.suite.check(self.zb.Plan(folder).schedule == "v-min", "its plan is written")

    def test_choice(self):
        """What a compile chose, written down and given again."""
        choice, folders = self.path("a.choice"), (self.path("chosen.plan"), self.path("again.plan"))
        made = self.zb.compile(MODEL, output=folders[0], ranks=2, micro_batches=4, memory_limit="3M", choice_out=choice)
        self.zb.compile(MODEL, output=folders[1], choice=choice)
        one, two = (pathlib.Path(folder, "plan.zb").read_bytes() for folder in folders)
        self.suite.check(one == two and made.summary.choice == pathlib.Path(choice).read_text(), "the same plan")
        self.raises("USAGE", "split has no effect with choice", "an option that the choice says",
                    lambda: self.zb.compile(MODEL, choice=choice, split="all"))

    def test_interrupted_search(self):
        """Ctrl-C while a compile searches: KeyboardInterrupt, the search ends, nothing is written."""
        folder, caught, end = self.path("interrupted.plan"), False, time.monotonic() + common.patience(30)
        threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            self.zb.compile(MODEL, output=folder, ranks=4, micro_batches=8, schedule="search:budget=100000000")
        except KeyboardInterrupt:
            caught = True
        while any(thread.name == "zb" for thread in threading.enumerate()) and time.monotonic() < end:
            time.sleep(0.05)
        self.suite.check(caught and not any(thread.name == "zb" for thread in threading.enumerate())
                         and not os.path.exists(folder), "Ctrl-C in a search: caught %s, threads %s" %
                         (caught, threading.enumerate()))

    def test_evaluation(self):
        batches = [self.corpus.batch(k) for k in range(3)]
        rows = common.json_lines(self.suite.must("zb-run", self.plan.directory, "--eval", "text:" + common.CORPUS,
                                                 "--eval-steps", 3, "--json"))
        with self.zb.Session(self.plan) as run:
            found = run.evaluate(iter(batches))
            self.suite.check(found.loss == rows[-1]["eval"]["loss"] and found.batches == 3 and found.seconds > 0,
                             "an evaluation of batches: %s, %s" % (found, rows))
            between = []
            for k in range(STEPS):
                between.append(run.step(self.corpus.batch(k)).loss)
                run.evaluate(batches[:1])
            self.suite.check(between == self.losses([self.corpus.batch(k) for k in range(STEPS)]),
                             "training does not notice evaluations")
            self.raises("USAGE", "got no batches", "no batches", lambda: run.evaluate([]))
        with self.zb.Session(self.plan, evaluation="text:" + common.CORPUS, evaluation_batches=3) as run:
            self.suite.check(run.evaluate().loss == rows[-1]["eval"]["loss"], "an evaluation of a file")

    def test_outputs(self):
        """predict() gives what zb-run --output writes; an inference plan does nothing else."""
        model = os.path.join(common.DATA, "outputs.onnx")
        plan = self.zb.compile(model, ranks=2, micro_batches=2, outputs=["logits"])
        name = plan.outputs[0].name
        file = self.path("out.npy")
        self.suite.must("zb-run", plan.directory, "--eval", "text:" + common.CORPUS, "--eval-steps", 1, "--output",
                        "%s:%s" % (name, file))
        shape, _, _, data = npy.read_npy(file)
        global MICRO_BATCHES
        kept, MICRO_BATCHES = MICRO_BATCHES, 2
        batch = Corpus(*plan.inputs[0].shape).batch(0)
        MICRO_BATCHES = kept
        with self.zb.Session(plan) as run:
            for like in ("buffer", "numpy") if numpy is not None else ("buffer",):
                found = run.predict(batch, like)[name]
                self.suite.check(list(found.shape) == shape and data.endswith(memoryview(found).tobytes()),
                                 "predict gives what zb-run writes, as %s" % like)
        inference = self.zb.compile(os.path.join(common.DATA, "inference.onnx"), ranks=2, micro_batches=2,
                                    inference=True)
        self.suite.check(inference.inference and len(inference.outputs) == 2, "an inference plan: %s" % inference)
        with self.zb.Session(inference) as run:
            zeros = tuple(shaped(FORMATS[v.dtype], [0] * (2 * math.prod(v.shape)), (2 * v.shape[0],) + v.shape[1:])
                          for v in inference.inputs)
            found = run.predict(zeros, "buffer")
            self.suite.check(sorted(found) == sorted(v.name for v in inference.outputs), "outputs: %s" % list(found))
            self.raises("USAGE", "no steps(.|\n)*predict", "a step of an inference plan", lambda: run.step(zeros))
            self.suite.check(math.isnan(run.evaluate([zeros]).loss), "an inference plan has no loss")

    # ---- Weights ----

    def test_weights(self):
        folder = self.path("checkpoint")
        with self.zb.Session(self.plan) as run:
            for k in range(2):
                run.step(self.corpus.batch(k))
            run.save(folder)
            for like in ("buffer", "numpy") if numpy is not None else ("buffer",):
                found = run.state_dict(like)
                saved, _ = common.read_safetensors(os.path.join(folder, "weights.safetensors"))
                self.suite.check(list(found) == list(saved), "names of state_dict")
                same = [memoryview(found[n]).tobytes() == saved[n][2] and tuple(found[n].shape) == saved[n][1]
                        for n in saved]
                self.suite.check(all(same), "values of state_dict, as %s" % like)
            rest = [run.step(self.corpus.batch(k)).loss for k in range(2, STEPS)]
        with self.zb.Session(self.plan.directory, resume=folder) as run:
            self.suite.check(run.steps == 2, "a resumed session goes on")
            self.suite.check([run.step(self.corpus.batch(k)).loss for k in range(2, STEPS)] == rest,
                             "a resumed session has the same bits")
        with self.zb.Session(self.plan, weights=os.path.join(folder, "weights.safetensors")) as run:
            self.suite.check(run.steps == 0 and
                             memoryview(run.state_dict("buffer")[list(saved)[0]]).tobytes() == saved[list(saved)[0]][2],
                             "weights of a file")
        with self.zb.Session(self.plan, weights=found) as run:  # arrays of any library, without PyTorch
            self.suite.check(all(memoryview(run.state_dict("buffer")[n]).tobytes() == saved[n][2] for n in saved),
                             "weights by names")

    # ---- What is wrong ----

    def test_batches(self):
        """Every mistake is named with the input, what came and what is needed; and no step is made."""
        x, y = self.corpus.batch(0)
        rows, length = MICRO_BATCHES * self.corpus.rows, self.corpus.length
        need = "%dx%dxi64, %d micro-batches of %dx%dxi64" % (rows, length, MICRO_BATCHES, self.corpus.rows, length)
        less, flat = x[:rows - 1], x.cast("B")
        cases = [
            ("a row is missing", (less, y), "'x' is %dx%dxi64: expected %s(.|\n)*batch_size=%d, drop_last"
             % (rows - 1, length, need, rows)),
            ("bytes", (x, bytes(flat)), "the input 'y' is %dxuint8: expected %s" % (len(flat), need)),
            ("another type", (x, shaped("i", [0] * rows * length, (rows, length))),
             "'y' is %dx%dxi32: expected %s(.|\n)*int64" % (rows, length, need)),
            ("floats", (shaped("f", [0] * rows * length, (rows, length)), y), "'x' is %dx%dxf32" % (rows, length)),
            ("transposed", (flat.cast("q", (length, rows)), y), "'x' is %dx%dxi64" % (length, rows)),
            ("one array", x, "the batch has 1 array: the plan reads 2, 'x', 'y'"),
            ("three arrays", (x, y, y), "the batch has 3 arrays"),
            ("no arrays", (), "the batch has 0 arrays"),
            ("a name is missing", {"x": x}, "the batch has no 'y': the plan reads 'x', 'y'"),
            ("a wrong name", {"x": x, "why": y}, "has no 'y': the plan reads(.|\n)*this one has 'x', 'why'"),
            ("a list of numbers", ([1, 2], y), "the input 'x' is 2xi64: expected %s" % need),
            ("nothing", (None, y), "the input 'x' is a NoneType"),
            ("text", ("abc", y), "the input 'x' is a str"),
            ("other bytes", (Swapped(x), y), "the input 'x' is a Swapped"),
            ("on a GPU", (Producer(x, change=lambda t: t.device.__setitem__(0, 2)), y),
             "the input 'x' is not in the memory of the CPU(.|\n)*cpu()"),
            ("strided DLPack", (strided(x), y), "the input 'x' is not contiguous"),
            ("another DLPack", (Producer(x, major=2), y), "by version 2 of DLPack"),
            ("unsigned DLPack", (Producer(x, change=lambda t: setattr(t, "code", 1)), y), "'x' is .*xuint64"),
        ]
        if numpy is not None:
            a = numpy.asarray(x)
            cases += [("big-endian", (a.astype(">i8"), y), "'x' has its bytes in the order of another machine"),
                      ("complex", (a.astype("complex64"), y), "'x' is .*complex64"),
                      ("objects", (a.astype(object), y), "'x'"),
                      ("records", (numpy.zeros(3, dtype=[("a", "i4"), ("b", "f4")]), y), "'x' is 3x"),
                      ("unsigned", (a.astype("uint16"), y), "'x' is .*xuint16")]
        with self.zb.Session(self.plan) as run:
            for what, batch, words in cases:
                self.raises("INVALID", words, what, lambda batch=batch: run.step(batch))
                if what != "a row is missing":  # which an evaluation takes
                    self.raises("INVALID", words, what + ", evaluated", lambda batch=batch: run.evaluate([batch]))
            self.raises("USAGE", r"step\(\) needs a batch", "no batch", run.step)
            self.suite.check(run.steps == 0, "no step was made")
            self.suite.check(run.step((x, y)).loss == self.losses([(x, y)])[0], "the session is as it was")
        self.raises("USAGE", "the session is closed", "a step behind the end", lambda: run.step((x, y)))
        run.close()
        with self.zb.Session(self.plan, data="text:" + common.CORPUS) as run:
            self.raises("USAGE", "takes no batch", "a batch beside a file", lambda: run.step((x, y)))
            self.raises("USAGE", r"evaluate\(\) needs batches", "nothing to evaluate", run.evaluate)

    def test_options(self):
        compile, session = self.zb.compile, self.zb.Session
        for what, words, call in (
                ("an unknown option", "no option 'rank'(.|\n)*did you mean 'ranks'", lambda: compile(MODEL, rank=2)),
                ("a callback", "no option 'diagnostic'", lambda: compile(MODEL, diagnostic=print)),
                ("a count", "no option 'train_count'", lambda: compile(MODEL, train_count=1)),
                ("a text for a number", "ranks: expected a whole number, got '2'", lambda: compile(MODEL, ranks="2")),
                ("a fraction", "ranks: expected a whole number", lambda: compile(MODEL, ranks=2.5)),
                ("no ranks", "ranks: expected at least 1, got 0", lambda: compile(MODEL, ranks=0)),
                ("less than none", "micro_batches: expected 1 to .*, got -1",
                 lambda: compile(MODEL, micro_batches=-1)),
                ("a truth", "chunks: expected a whole number, got True", lambda: compile(MODEL, chunks=True)),
                ("no threads", "threads: expected at least 1, got 0", lambda: session(self.plan, threads=0)),
                ("no norm", "clip_norm: expected a number above 0", lambda: session(self.plan, clip_norm=0)),
                ("steps back", "steps: expected at least 1, got -1", lambda: session(self.plan, steps=-1)),
                ("a rate", "no option 'lr'(.|\n)*optimizer='adamw:lr=", lambda: compile(MODEL, lr=1e-3)),
                ("of a session", "no option 'threads'(.|\n)*an option of zb.Session",
                 lambda: compile(MODEL, threads=2)),
                ("too large", "ranks: 4294967296 is out of range", lambda: compile(MODEL, ranks=1 << 32)),
                ("bytes", "memory_limit: expected bytes like", lambda: compile(MODEL, memory_limit="2XB")),
                ("a flag", "inference: expected True or False", lambda: compile(MODEL, inference=1)),
                ("a list", "train: expected a text", lambda: compile(MODEL, train=[3.5j])),
                ("a schedule", "zb-h1", lambda: compile(MODEL, schedule="zb-h3", ranks=2)),
                ("a device", "(.|\n)*", lambda: session(self.plan, device="cup")),
                ("an option of a session", "no option 'thread'", lambda: session(self.plan, thread=2)),
                ("an example for a file", "has its inputs in the file", lambda: compile(MODEL, (1, 2))),
                ("no model", "takes a torch.nn.Module or the path of a model, got a int", lambda: compile(3)),
                ("arrays", "there are no arrays of 'jax'",
                 lambda: session(self.plan).state_dict("jax"))):
            self.raises("INVALID" if what == "arrays" else "USAGE", words, what, call)
        gc.collect()
        plan = compile(MODEL, ranks=numpy.int64(2) if numpy is not None else 2, micro_batches=MICRO_BATCHES,
                       memory_limit=1 << 30, freeze="*.wte.weight", groups=["*.bias:lr=1e-4"], clip_norm=1.0,
                       optimizer=None)
        self.suite.check(len(plan.summary.frozen) == 1 and plan.summary.stages == 2 and
                         len(plan.summary.stage) == 2 and plan.summary.rank[0].peak_bytes > 0 and
                         plan.summary.layer[0].path, "a summary has all: %s" % plan.summary.frozen)
        where = plan.directory
        self.suite.check(where.exists(), "a temporary folder is there")
        del plan
        gc.collect()
        self.suite.check(not where.exists(), "and goes with its plan")
        self.suite.check("adamw:lr=" in self.zb.optimizers()[0], "optimizers: %s" % self.zb.optimizers())
        self.suite.check({"cpu", "sim", "threads", "tcp"} <= {d["name"] for d in self.zb.devices()}, "devices")

    def test_help(self):
        """help() lists every option with its type, its default and what it does; signatures have them, too."""
        from zb.options import PROGRAMS
        compiles, sessions = self.zb.CompileOptions, self.zb.SessionOptions
        for options, called in ((compiles, self.zb.compile), (sessions, self.zb.Session.__init__)):
            text = pydoc.plain(pydoc.render_doc(options))
            for name in options.__annotations__:
                found = re.search(r"\| *%s: [A-Z]?[\w\[\], ]+, default .+\n(?: \| +.+\n)*? \|      ?\w*" % name, text)
                self.suite.check(found, "help(%s) has '%s'" % (options.__name__, name))
                self.suite.check(name in inspect.signature(called).parameters, "%s takes '%s'" % (called, name))
                self.suite.check(name + ": " in called.__doc__, "help(%s) has '%s'" % (called, name))
            found = [word for word in re.findall(r"--[a-z-]+", text) if word in PROGRAMS]
            self.suite.check(not found, "no options of programs in it: %s" % found)
        self.suite.check('schedule: str, default "zb-h1"' in compiles.__doc__, "a default")

    def test_words(self):
        """Messages of the library name options as Python has them."""
        from zb import _words, options
        for said, ours in (("add --tensor-parallel 2", "add tensor_parallel=2"),
                           ("--memory-limit: expected bytes", "memory_limit: expected bytes"),
                           ("pass --memory-limit 2G or more", 'pass memory_limit="2G" or more'),
                           ("leave --loss-mean out: nothing", "leave loss_mean out: nothing"),
                           ("--inference: no results; --no-raise keeps", "inference: no results; no_raise=True keeps"),
                           ("it is --shard 'h.*=1', or --group", "it is shard_pins='h.*=1', or groups"),
                           ("zb-run DIR --eval DATA --output NAME:F.npy evaluates",
                            'zb.Session(evaluation="DATA", outputs="NAME:F.npy") evaluates'),
                           ("zbc --precision bf16 then computes", 'zb.compile(precision="bf16") then computes'),
                           ("zb-sched --list names them all", "zb.schedules() names them all"),
                           ("a --b; what--loss; --lossy; -only; --list-passes", None)):
            self.suite.check(_words.in_python(said) == (ours or said), "%s: %s" % (said, _words.in_python(said)))
        known = re.compile("(?<![\\w-])(%s)(?![\\w-])" % "|".join(options.PROGRAMS))
        count = 0
        for folder in ("ir", "passes", "runtime", "kernels"):
            for path in (ROOT / folder).rglob("*.c"):
                for text in re.findall(r'"((?:[^"\\]|\\.)*)"', path.read_text()):
                    if " " in text and known.search(text):
                        count += 1
                        self.suite.check(not known.search(_words.in_python(text)), "%s: %s" % (path, text))
        self.suite.check(count > 100, "%d messages with options" % count)

    def test_before_export(self):
        """What is wrong with options is said before a module is looked at; limits may be numbers."""
        class Module:
            def named_parameters(self):
                raise AssertionError("the module was looked at")
        for options, words in (({"memory_limt": "2G"}, "did you mean 'memory_limit'?"),
                               ({"schedule": "zb-h7"}, "did you mean 'zb-h1'?"),
                               ({"ranks": -1}, "ranks: expected 1 to"),
                               ({"schedule": self.path("none.csv")}, "none.csv"),
                               ({"output": __file__ + "/plan"}, "package.py"),
                               ({"precision": "fp16"}, "precision: expected f32 or bf16"),
                               ({"metric": "longest"}, "metric: "), ({"costs": __file__}, "costs"),
                               ({"weights": self.path("none.safetensors")}, "none.safetensors"),
                               ({"shard_pins": ["a"], "tensor_parallel": 2}, "expected GLOB=DIM"),
                               ({"memory_limit": "2X"}, "memory_limit"), ({"memory_limit": 2.5}, "2e9"),
                               ({"optimizer": "adm"}, "optimizer: unknown"),
                               ({"recompute": "auto"}, "recompute: auto"),
                               ({"csv": self.path("none/a.csv")}, "csv"), ({"ranks": "two"}, "ranks: expected a whole"),
                               ({"sharding": "optimizer"}, "sharding without data_parallel"),
                               ({"inference": True, "train": ["*"]}, "train has no effect with inference")):
            self.raises(None, re.escape(words), "%s is said first" % (options,),
                        lambda: self.zb.compile(Module(), (), **options))
        for limit in (3e7, 30000000, "30M", "0.03G"):
            self.zb.compile(MODEL, ranks=2, memory_limit=limit)

    def test_errors(self):
        """The text of an exception is that of the program, with options as Python has them."""
        wrong = self.path("wrong.mlir")
        pathlib.Path(wrong).write_text(MIXED.replace('"zb.mul"(%1', '"zb.mull"(%1'))
        limit = {"ranks": 2, "memory_limit": "1M"}
        for arguments, options in (([wrong, "--ranks", "2"], {"ranks": 2}),
                                   ([MODEL, "--ranks", "2", "--memory-limit", "1M"], limit),
                                   ([MODEL, "--train", "*.nothing"], {"train": ["*.nothing"]}),
                                   ([self.path("none.onnx")], {})):
            said = self.suite.run("zbc", "-o", self.path("nothing"), *arguments)
            try:
                self.zb.compile(arguments[0], **options)
                self.suite.check(False, "%s: nothing was raised" % arguments)
            except self.zb.Error as error:
                text = said.stderr.replace("zbc: ", "").replace("--train '", "train='").strip()
                for word in ("recompute auto", "schedule search"):
                    text = text.replace("--" + word, '%s="%s"' % tuple(word.split()))
                self.suite.check(str(error) == text, "the text of zbc:\n%s\nof the exception:\n%s" % (text, error))
                self.suite.check(error.exit_status == said.returncode, "%s: exit status %d, %d" %
                                 (error.code, said.returncode, error.exit_status))
        self.raises("IO", "expected: a folder that zbc wrote", "no plan", lambda: self.zb.Plan(self.path("none")))
        said = self.suite.run("zb-run", self.plan.directory, "--data", "text:" + common.CORPUS, "--resume",
                              self.path("none"), "--steps", 1)
        try:
            self.zb.Session(self.plan, resume=self.path("none"))
        except self.zb.Error as error:
            text = said.stderr.replace("zb-run: ", "").strip()
            self.suite.check(str(error) == text, "the text of zb-run: %s" % error)

    def test_threads(self):
        """A session of a thread that is not the main one, and two at once."""
        wanted = self.losses([self.corpus.batch(k) for k in range(2)])
        found = {}

        def train(name):
            found[name] = self.losses([self.corpus.batch(k) for k in range(2)])

        threads = [threading.Thread(target=train, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.suite.check(found == {0: wanted, 1: wanted}, "sessions on threads: %s, expected %s" % (found, wanted))

    def test_compiles_at_once(self):
        def plan(folder, **options):
            self.zb.compile(MODEL, micro_batches=MICRO_BATCHES, output=self.path(folder), verbose=False, **options)
            return pathlib.Path(self.path(folder), "plan.zb").read_bytes()

        choices = [{"ranks": 2, "schedule": "zb-h1"}, {"ranks": 2, "schedule": "zb-v"}, {"ranks": 3}]
        alone = [plan("alone-%d" % i, **options) for i, options in enumerate(choices)]
        found = [None] * len(choices)

        def compile_one(i):
            found[i] = plan("beside-%d" % i, **choices[i])

        threads = [threading.Thread(target=compile_one, args=(i,)) for i in range(len(choices))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.suite.check(found == alone, "plans compiled at once are not those compiled alone")


    # ---- Schedules ----

    def test_jobs(self):
        """plan.jobs: the order that was asked for, messages with both ends, the times of zb-run's simulation."""
        for schedule, options in (("zb-h1", {}), ("zb-v", {"tensor_parallel": 2, "data_parallel": 2})):
            order = self.zb.schedule(2, 4, name=schedule)
            order.save(self.path("jobs.txt"))
            plan = self.zb.compile(MODEL, schedule=self.path("jobs.txt"), **options)
            jobs = plan.jobs
            for rank, wanted in enumerate(order.jobs):
                found = [(job.kind, job.stage, job.micro_batch) for job in jobs[rank] if job.kind in ("F", "B", "W")]
                self.suite.check(found == [job[:3] for job in wanted], "%s: jobs of rank %d" % (schedule, rank))
            sends = {job.message: (rank, job) for rank, list_ in enumerate(jobs) for job in list_ if job.kind == "SEND"}
            receives = [(rank, job) for rank, list_ in enumerate(jobs) for job in list_ if job.kind == "RECV"]
            self.suite.check(len(sends) == len(receives) > 0 and all(
                job.peer == sends[job.message][0] and sends[job.message][1].peer == rank and job.bytes > 0
                and job.end >= sends[job.message][1].start for rank, job in receives), "%s: messages" % schedule)
            self.suite.check(all(0 <= before < number for list_ in jobs for number, job in enumerate(list_)
                                 for before in job.after), "%s: after" % schedule)
            said = json.loads(self.suite.must("zb-run", plan.directory, "--print-plan", "--json"))
            ends = max(job.end or 0 for list_ in jobs for job in list_)
            self.suite.check((options or abs(said["step_seconds"] - plan.summary.step_seconds) < 1e-12)
                             and 0 < ends <= said["step_seconds"] + 1e-12
                             and [len(list_) for list_ in said["jobs"]] == [len(list_) for list_ in jobs]
                             and said["stage_rank"][0] == 0 and said["ranks"] == 2, "%s: --json" % schedule)

    def test_schedules(self):
        """All schedules, with the numbers of zb-sched."""
        costs = {"f": 18.522, "b": 18.086, "w": 9.337, "comm": 0.601, "mem": 1, "mem_w": 0.3664}
        spec = ",".join("%s=%s" % item for item in costs.items())
        listed = self.zb.schedules()
        self.suite.check(len(listed) > 15 and all(row["name"] and row["summary"] for row in listed), "schedules()")
        for row in listed:
            name = row["name"] + (":budget=64" if "budget" in row["options"] else "")
            said = self.suite.run("zb-sched", "--ranks", 4, "--micro-batches", 8, "--schedule", name, "--costs", spec,
                                  "--json")
            wanted = json.loads(said.stdout)
            found = self.zb.schedule(4, 8, name=name, costs=costs if len(name) % 2 else spec)
            self.suite.check(abs(found.seconds * 1e3 - wanted["time"]) < 1e-6
                             and abs(found.bubble.barrier - wanted["bubble"]["barrier"]) < 1e-9
                             and abs(found.bubble.stage - wanted["bubble"]["stage"]) < 1e-9
                             and found.placement == wanted["placement"] and found.micro_batches == 8,
                             "%s: %r, zb-sched %s" % (name, found, {k: wanted[k] for k in list(wanted)[:12]}))
            self.suite.check(sum(len(jobs) for jobs in found.jobs) == 3 * 4 * 8 * row["chunks_min"]
                             or row["two_pipelines"] or found.stages != 4 * row["chunks_min"], "jobs of %s" % name)
            last = max(job.end for jobs in found.jobs for job in jobs)
            self.suite.check(last <= found.seconds + 1e-12 and found.bound <= found.seconds + 1e-12,
                             "times of %s" % name)
        found = self.zb.schedule(ranks=4, micro_batches=8, name="zb-h1")
        self.suite.check(found._repr_svg_().startswith(("<svg", "<?xml")) and str(found).count("\n") >= 4
                         and "zb-h1" in repr(found) and "messages" in found.explain(), "a schedule shows itself")
        found.save(self.path("order.txt"))
        plan = self.zb.compile(MODEL, schedule=self.path("order.txt"))
        self.suite.check(plan.ranks == 4 and plan.micro_batches == 8, "an order is a schedule of a compile")
        found.save(self.path("order.csv"))
        self.suite.must("zb-sched", "--ranks", 4, "--micro-batches", 8, "--schedule", "zb-h1", "--write-problem",
                        self.path("problem.json"))
        for given in ({}, {"ranks": 4, "micro_batches": 8}, {"costs": self.path("problem.json")}):
            for name in ("order.txt", "order.csv"):
                again = self.zb.schedule(name=self.path(name), **given)
                self.suite.check(again.jobs == found.jobs and again.bubble == found.bubble and again.stages == 4,
                                 "an order is a schedule: %s, %s" % (name, given))
        for ending, begins in ((".txt", "0F0 "), (".csv", "0F0,"), (".svg", "<svg"), (".json", "{")):
            found.save(self.path("order" + ending))
            with open(self.path("order" + ending), encoding="utf-8") as file:
                self.suite.check(file.read().startswith(begins), "save: " + ending)
        self.suite.check(self.zb.compile(MODEL, ranks=2)._repr_svg_().startswith(("<svg", "<?xml")), "a plan is drawn")
        for what, words, call in (
                ("a wrong name", "did you mean 'zb-h1'", lambda: self.zb.schedule(4, 8, name="zb-h9")),
                ("no ranks", "ranks is missing", lambda: self.zb.schedule(micro_batches=8)),
                ("no micro-batches", "micro_batches is missing", lambda: self.zb.schedule(4)),
                ("a wrong cost", "unknown name 'forward'", lambda: self.zb.schedule(4, 8, costs={"forward": 1})),
                ("a wrong metric", "barrier", lambda: self.zb.schedule(4, 8, metric="time")),
                ("a wrong limit", "expected bytes like", lambda: self.zb.schedule(4, 8, memory_limit="8XB")),
                ("a wrong form", "no form 'json'", lambda: found.text("json")),
                ("a wrong ending", "end it in one of .csv", lambda: found.save(self.path("order.yaml"))),
                ("chunks of a file", "says where its stages stand",
                 lambda: self.zb.schedule(name=self.path("order.txt"), chunks=2)),
                ("a placement", "expected 1 chunk a rank, got 2",
                 lambda: self.zb.schedule(4, 8, name="zb-v", placement="plain"))):
            self.raises("USAGE", words, what, call)
        self.raises("INFEASIBLE", "", "a limit", lambda: self.zb.schedule(4, 8, name="gpipe", memory_limit="1p"))
        self.raises("INFEASIBLE", "on rank 0, and the limit is", "a limit",
                    lambda: self.zb.schedule(name=self.path("order.txt"), memory_limit="0.5p"))
        self.raises("INVALID", "order.txt:4:1: expected 3 lines", "ranks of a file",
                    lambda: self.zb.schedule(3, name=self.path("order.txt")))
        tight = self.zb.schedule(4, 8, costs=costs, name="search:budget=64", memory_limit="0.6p")
        self.suite.check(tight.search["evaluations"] > 0 and tight.seconds >= tight.bound > 0,
                         "a search: %r" % tight.search)


class Swapped:
    def __init__(self, numbers):
        self.numbers = numbers


def strided(numbers):
    made = Producer(numbers)
    made.strides = (ctypes.c_int64 * 2)(1, numbers.shape[0])

    def change(tensor):
        tensor.strides = made.strides
    made.change = change
    return made


FORMATS = {"f32": "f", "i64": "q", "i32": "i", "i1": "b"}


def mixed_loss(weights, x, keep, scale, y, micro_batch):
    """The model of MIXED, in fp64."""
    w0, w1 = weights["net.w0"].tolist(), weights["net.w1"].tolist()
    total = 0.0
    for row in range(3 * micro_batch, 3 * micro_batch + 3):
        hidden = [sum(x[row * 8 + k] * w0[k][j] for k in range(8)) * keep[row * 16 + j] * scale[micro_batch]
                  for j in range(16)]
        logits = [sum(hidden[k] * w1[k][j] for k in range(16)) for j in range(8)]
        total += math.log(sum(math.exp(v) for v in logits)) - logits[y[row]]
    return total / 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build"))
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    os.environ["ZB_LIBRARY"] = os.path.join(build, "lib")
    suite = common.Suite(os.path.join(build, "bin"))
    with common.scratch() as folder:
        tests = Tests(suite, folder)
        for name in dir(Tests):
            if name.startswith("test_") and (not arguments.only or name[5:] in arguments.only):
                getattr(tests, name)()
    if numpy is None:
        print("NumPy is not installed: its arrays were left out")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
