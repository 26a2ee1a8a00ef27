#!/usr/bin/env python3
"""A user of PyTorch in the first hour: bad batches, last batches that are smaller, limits as people write them, plain
lists, surplus keys, batches of the structure that was compiled, what is said and what is not, tables; from Python and
from the command line. What is expected is what PyTorch would do, or a message that says what to do.

    strangers_hour.py [BUILD] [--only NAME...]

Modules need PyTorch, and it is said where they are left out. Ends with "N passed, N failed".
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tools/python", "test/e2e", "test/python")]
import common  # noqa: E402
import package  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

PROGRESS = """
import sys, time
sys.path.insert(0, %r)
from zb import _progress
_progress.SILENT_SECONDS = 0.3
with _progress.Progress("zb.compile", %s) as said:
    for part, seconds in (("quick", 0.0), ("long", 1.2), ("end", 0.0)):
        said(part)
        time.sleep(seconds)
"""


class Tests:
    def __init__(self, suite, folder):
        import zb
        self.zb, self.suite, self.folder = zb, suite, folder
        self.plan = zb.compile(package.MODEL, ranks=2, micro_batches=package.MICRO_BATCHES,
                               output=self.path("plan"))
        self.rows, self.length = self.plan.inputs[0].shape
        self.rows *= package.MICRO_BATCHES
        self.corpus = package.Corpus(*self.plan.inputs[0].shape)

    def path(self, name):
        return os.path.join(self.folder, name)

    def check(self, good, what, *found):
        self.suite.check(good, "%s%s" % (what, ": %s" % (found,) if found else ""))

    def raises(self, words, what, call):
        try:
            call()
        except self.zb.Error as error:
            return self.check(re.search(words, str(error)), what, words, str(error))
        return self.check(False, what + ": nothing was raised")

    def lists(self, step, count=None):
        return [[list(map(int, row)) for row in array.tolist()][:count] for array in self.corpus.batch(step)]

    # ---- Without PyTorch ----

    def test_bad_batch(self):
        """A token that is none ends no session: the losses after it are those of a run that never saw it."""
        with self.zb.Session(self.plan) as run:
            wanted = [run.step(self.corpus.batch(k)).loss for k in range(3)]
            kept = run.evaluate([self.corpus.batch(3)]).loss
        bad = self.lists(1)
        bad[0][3][5] = 1 << 30
        with self.zb.Session(self.plan) as run:
            found = [run.step(self.corpus.batch(0)).loss]
            self.raises("1073741824|out of range", "a token out of range", lambda: run.step(bad))
            self.raises("1073741824|out of range", "and in an evaluation", lambda: run.evaluate([bad]))
            found += [run.step(self.corpus.batch(k)).loss for k in (1, 2)]
            self.check(found == wanted and run.steps == 3, "a bad batch changes nothing", found, wanted)
            self.check(run.evaluate([self.corpus.batch(3)]).loss == kept, "nor what is evaluated")
        with self.zb.Session(self.plan, bad_batch="skip") as run:
            found = [run.step(batch) for batch in (self.corpus.batch(0), bad, *map(self.corpus.batch, (1, 2)))]
            self.check([one.loss for one in found if not one.skipped] == wanted, "bad_batch='skip' goes on", found)
            self.check(found[1].skipped and "1073741824" in (found[1].refused or ""), "and says why", found[1])
        good, others = self.lists(0), self.lists(1)
        data = self.path("bad.safetensors")
        self.write(data, [one + two + three for one, two, three in zip(good, bad, others)])
        said = self.suite.run("zb-run", self.plan.directory, "--data", "safetensors:" + data, "--steps", 3)
        self.check(said.returncode == 1 and "row" in said.stderr, "zb-run names the row", said.stderr)
        rows = common.json_lines(self.suite.must("zb-run", self.plan.directory, "--data", "safetensors:" + data,
                                                 "--steps", 3, "--json", "--bad-batch", "skip"))
        self.check([row["loss"] for row in rows if not row.get("skipped")] == wanted[:2], "zb-run --bad-batch skip",
                   rows)

    def write(self, path, values):
        import struct
        header, data = {}, b""
        for name, rows in zip("xy", values):
            begin = len(data)
            data += b"".join(struct.pack("<%dq" % len(row), *row) for row in rows)
            header[name] = {"dtype": "I64", "shape": [len(rows), self.length], "data_offsets": [begin, len(data)]}
        text = json.dumps(header).encode()
        pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)

    def test_last_batch(self):
        """The last batch of a loader has fewer rows: an evaluation is the mean over all rows, as other trainers have
        it; a step says what to do."""
        count = 3
        first, last = self.lists(0), self.lists(1, count)
        with self.zb.Session(self.plan) as run:
            whole = run.evaluate([first]).loss
            each = [run.evaluate([[[side[i]] * self.rows for side in last]]).loss for i in range(count)]
            both = (whole * self.rows + sum(each)) / (self.rows + count)
            found = run.evaluate([first, last]).loss
            self.check(abs(found - both) < 1e-6 * abs(both), "the mean over all rows", found, both)
            self.raises(r"(?s)'x' is 3x\d+xi64: expected.*drop_last=True", "a step with fewer rows",
                        lambda: run.step(last))
            self.check(run.step(first).step == 0, "and goes on")
        data = self.path("rows.safetensors")
        self.write(data, [one + two for one, two in zip(first, last)])
        said = self.suite.must("zb-run", self.plan.directory, "--eval", "safetensors:" + data, "--json")
        loss = json.loads(said)["eval"]["loss"]
        self.check(abs(loss - both) < 1e-6 * abs(both), "zb-run --eval has all rows", loss, both)

    def test_limits(self):
        for limit in ("2G", "2GB", "2GiB", "2e9", "2 GB", 2e9, 2 * 10 ** 9):
            plan = self.zb.compile(package.MODEL, ranks=2, memory_limit=limit)
            self.check(plan.ranks == 2, "memory_limit=%r" % (limit,))
            if isinstance(limit, str):
                said = self.suite.run("zbc", package.MODEL, "-o", self.path("limit"), "--ranks", 2, "--memory-limit",
                                      limit)
                self.check(said.returncode == 0, "--memory-limit '%s'" % limit, said.stderr)
        self.raises('recompute="auto"|recompute', "a limit that is too small names recompute",
                    lambda: self.zb.compile(package.MODEL, ranks=2, micro_batches=4, memory_limit="1MB"))

    def test_lists(self):
        with self.zb.Session(self.plan) as run:
            wanted = run.step(self.corpus.batch(0)).loss
        x, y = self.lists(0)
        micro = package.MICRO_BATCHES
        apart = [[side[i * len(side) // micro:(i + 1) * len(side) // micro] for i in range(micro)] for side in (x, y)]
        for what, batch in (("lists", [x, y]), ("in a dictionary", {"x": x, "y": y}), ("tuples", (tuple(x), tuple(y))),
                            ("of micro-batches", apart), ("one of them", (x, self.corpus.batch(0)[1])),
                            ("of arrays", [[package.shaped("q", r, (len(r),)) for r in side] for side in (x, y)])):
            with self.zb.Session(self.plan) as run:
                self.check(run.step(batch).loss == wanted, "lists of numbers, " + what)
        with self.zb.Session(self.plan) as run:
            for what, batch, words in (("ragged", [x[:-1] + [x[-1][:-1]], y], "rows have different lengths"),
                                       ("floats", [[[0.5] * self.length] * self.rows, y], "0.5: expected numbers"),
                                       ("texts", [[["a"] * self.length] * self.rows, y], "'a': expected numbers"),
                                       ("holes", [[[None] * self.length] * self.rows, y], "None: expected numbers"),
                                       ("large", [[[1 << 70] * self.length] * self.rows, y], "expected numbers of i64"),
                                       ("short", [x[:2], y], "'x' is 2x"), ("empty", [[], y], "'x' is 0x")):
                self.raises(words, "lists, " + what, lambda batch=batch: run.step(batch))

    def test_surplus(self):
        """Keys that the plan does not read are left, and named once; what is missing is not."""
        with self.zb.Session(self.plan) as run:
            wanted = run.step(self.corpus.batch(0)).loss
        x, y = self.corpus.batch(0)
        with self.zb.Session(self.plan) as run, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("default")
            found = run.step({"x": x, "y": y, "attention_mask": x, "id": "a"}).loss
            for k in (1, 2):
                x, y = self.corpus.batch(k)
                run.step({"x": x, "y": y, "attention_mask": x, "id": "b"})
            self.check(found == wanted, "surplus keys change nothing")
            with self.zb.Session(self.plan) as other:
                batch = dict(zip("xy", self.corpus.batch(0)))
                self.check(other.step(**batch).loss == wanted, "step(**batch)")
            self.check(len(said) == 1 and "'attention_mask', 'id'" in str(said[0].message), "they are named once",
                       [str(one.message) for one in said])
            self.raises("(?s)has no 'y'.*this one has 'x', 'labels'", "a key under another name",
                        lambda: run.step({"x": x, "labels": y}))

    def test_silence(self):
        """A quick compile says nothing; a long one what it does, in a line of a terminal, or a line a part."""
        long = r"(?s).*importing the model \.\.\.\n.*done in [\d.]+ s\n"
        for verbose, words in ((None, ""), (False, ""), (True, long)):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.zb.compile(os.path.join(common.DATA, "l1.onnx"), verbose=verbose)
            text = said.getvalue()
            self.check(re.fullmatch(words, text) or (verbose is None and " s\n" in text),
                       "verbose=%s" % verbose, text)
        script = PROGRESS % (str(ROOT / "tools" / "python"), "None")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.check(re.fullmatch(r"zb.compile: long \.\.\.\nzb.compile: done in \d\.\d s\n", done.stderr), "a log",
                   done.stderr)
        ours, theirs = pty.openpty()
        child = subprocess.Popen([sys.executable, "-c", script], stderr=theirs)
        child.wait()
        os.close(theirs)
        text = os.read(ours, 1 << 16).decode()
        os.close(ours)
        self.check(text.count("\n") == 1 and text.count("\r") >= 3 and "done in" in text, "a terminal", text)
        silent = subprocess.run([sys.executable, "-c", PROGRESS % (str(ROOT / "tools" / "python"), "False")],
                                capture_output=True, text=True)
        self.check(silent.stderr == "", "verbose=False", silent.stderr)

    def test_table(self):
        text = str(self.plan)
        said = self.suite.must("zbc", package.MODEL, "--ranks", 2, "--micro-batches", package.MICRO_BATCHES, "-o",
                               self.path("table"))
        for words in ("gpt2-small.onnx: zb-h1, 2 ranks, 2 stages, 4 micro-batches", r"stage +rank +parameters +F +B +W",
                      r"rank +F\+B\+W +memory +idle", r"bubble [\d.]+%", r"x: \d+x\d+xi64"):
            self.check(re.search(words, text), "print(plan) has '%s'" % words, text)
        for table, name in ((text, "print(plan)"), (said, "zbc")):
            found = re.findall(r"^ *(\d) +\S+ \S+ +([\d.]+ [KMG]iB)", table, re.M)
            self.check(len(found) == 2, name + " has memory of 2 ranks", found, table)
        self.check(re.findall(r"[\d.]+ [KMG]iB +[\d.]+%", text) ==
                   re.findall(r"[\d.]+ [KMG]iB +[\d.]+%", said), "both say the same of ranks", text, said)
        opened = str(self.zb.Plan(self.path("plan")))
        self.check(re.search(r"(?s)2 ranks.*rank +jobs +memory", opened), "a plan of a folder", opened)
        self.check("\n" not in repr(self.plan), "repr is a line")

    def test_calls(self):
        """What is given to the wrong place, or in the wrong form, is told so; nothing is left out in silence."""
        x, y = self.corpus.batch(0)
        with self.zb.Session(self.plan) as run:
            self.raises("no 'lr' beside a batch\n.*zb.Session", "step(batch, lr=3)", lambda: run.step((x, y), lr=3))
            self.raises("no 'z' beside", "step(batch, z=...)", lambda: run.step((x, y), z=x))
            self.raises("1 array: the plan reads 2", "one array", lambda: run.step(x))
            self.raises("3 arrays: the plan reads 2", "three arrays", lambda: run.step((x, y, x)))
            for what, one in (("a tuple", (x, y)), ("a dictionary", {"x": x, "y": y})):
                self.raises(r"one batch\n.*\[\(x, y\)\]", "evaluate of " + what, lambda one=one: run.evaluate(one))
                self.raises("one batch", "train of " + what, lambda one=one: list(run.train(one)))
            self.raises("got no batches", "evaluate([])", lambda: run.evaluate([]))
            self.raises(r"(?s)no outputs.*outputs=\[", "predict without outputs", lambda: run.predict((x, y)))
            self.check(run.step((x, y, None)).step == 0, "None in a tuple is no array, and the session goes on")
        for name in ("memory_limit", "bucket_bytes", "fold_limit"):
            for zero in (0, 0.0, "0", "0G"):
                self.raises(name + ": expected bytes", "%s=%r" % (name, zero),
                            lambda name=name, zero=zero: self.zb.compile(package.MODEL, **{name: zero}))
        values = {"w%d" % k: x for k in range(99)}
        for name, words in (("weights", r"got a dict\n.*zb.Session\(plan, weights"), ("optimizer", "'sgd:lr=0.1"),
                            ("schedule", "got a dict$"), ("memory_limit", "got a dict$"), ("ranks", "got a dict$")):
            self.raises(words, name + " of an object, in a line",
                        lambda name=name: self.zb.compile(package.MODEL, **{name: values}))
        self.raises("(?s)the class Tests.*make one: Tests", "a class", lambda: self.zb.compile(Tests))
        self.raises("no op is named 'a'", "a list of cuts", lambda: self.zb.compile(package.MODEL, ranks=2, cuts=["a"]))

    def test_folders(self):
        """Temporary plans are gone with their owner, without a warning of Python's."""
        import gc
        import tempfile
        before = set(os.listdir(tempfile.gettempdir()))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            folder = self.zb.compile(package.MODEL).directory
            self.raises("no op is named", "a compile that fails", lambda: self.zb.compile(package.MODEL, cuts="a"))
            gc.collect()
        left = [name for name in set(os.listdir(tempfile.gettempdir())) - before if str(folder).find(name) >= 0]
        self.check(not folder.exists() and not left and not said, "a plan that is dropped", folder,
                   [str(one.message) for one in said])

    # ---- With PyTorch ----

    def test_constants(self):
        """What was no tensor in the example is a constant: a batch that has another is refused, from wherever."""
        if torch is None:
            return print("constants of modules were left out: PyTorch is not installed")

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(3, 2)

            def forward(self, x, scale, mask=None, mode="mean"):
                out = (self.line(x) * scale).pow(2)
                out = out if mask is None else out * mask
                return out.mean() if mode == "mean" else out.sum()

        torch.manual_seed(0)
        x, model = torch.randn(4, 3), Model()
        plan = self.zb.compile(model, (x, 2.0), output=self.path("constants"))
        with self.zb.Session(plan) as run:
            self.check(abs(run.step((x, 2.0)).loss - model(x, 2.0).item()) < 1e-6, "a constant as it was")
            for batch in ((x,), (x, torch.tensor(2.0)), (x, 2.0, None, "mean"), {"x": x, "scale": 2.0},
                          {"x": x, "scale": 2.0, "mode": "mean"}):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    run.evaluate([batch])
            for words, batch in (("'scale' was 2.0 .* it is 3.0", (x, 3.0)), ("'scale' was 2.0", (x, torch.ones(()))),
                                 ("'scale' was 2.0", {"x": x, "scale": 3.0}), ("'mode' was", (x, 2.0, None, "s")),
                                 ("'mode' was 'mean' .* it is 's'", {"x": x, "scale": 2.0, "mode": "s"}),
                                 ("'mask' was left out .* it is a Tensor", (x, 2.0, torch.zeros(4, 2)))):
                self.raises(words, "another constant", lambda batch=batch: run.step(batch))
        with self.zb.Session(self.path("constants")) as run:
            self.raises("2 arrays: the plan reads 1(.|\n)*no tensor", "from the folder", lambda: run.step((x, 3.0)))
            for what, plan in (("here", plan), ("from the folder", self.zb.Plan(self.path("constants")))):
                with self.zb.Session(plan) as run, warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    run.step({"x": x, "mask": torch.zeros(4, 2)})
                    self.check(["'mask', which is no input" in str(one.message) for one in said] == [True],
                               "a surplus array by name, " + what, said)

        def nested(self, batch, *more):
            return self.line(batch["x"]).mul(batch["k"]).pow(2).mean() + sum(one.mean() for one in more)

        whole = type("Module", (Model,), {"forward": nested})()
        plan = self.zb.compile(whole, ({"x": x, "k": 2.0, "none": None}, x))
        with self.zb.Session(plan) as run:
            run.step(({"x": x, "k": 2.0, "id": "a"}, x))
            for words, batch in ((r"'batch\['k'\]' was 2.0", ({"x": x, "k": 1.0}, x)),
                                 (r"'batch\['none'\]' was None", ({"x": x, "none": x}, x)),
                                 (r"'more\[1\]' was left out", ({"x": x}, x, x))):
                self.raises(words, "another constant in a structure", lambda batch=batch: run.step(batch))

    def test_modules(self):
        """What a module and its example may be, and what a compile says of them."""
        if torch is None:
            return

        class Named(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.x = torch.nn.Parameter(torch.ones(3))

            def forward(self, x, y):
                return (x * self.x - y).pow(2).mean()

        torch.manual_seed(0)
        model, x, y = Named(), torch.randn(2, 3), torch.randn(2, 3)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            plan = self.zb.compile(model, (x, y), optimizer="sgd:lr=0.5", output=self.path("named"))
        self.check(not said, "a compile is silent", [str(one.message) for one in said])
        loss = model(x, y)
        wanted, loss = model.x.detach() - 0.5 * torch.autograd.grad(loss, model.x)[0], loss.item()
        for what, given, batch in (("a tuple", plan, (x, y)), ("by name", plan, {"x": x, "y": y}),
                                   ("from the folder", self.zb.Plan(self.path("named")), (x, y))):
            with self.zb.Session(given) as run:
                found = run.step(batch).loss
                self.check(abs(found - loss) < 1e-6 and torch.allclose(run.state_dict()["x"], wanted),
                           "a parameter with the name of an argument, " + what, found, loss)
        for count, words, example in ((3, "too many", (x, y, y)), (1, "'y'", (x,)), (0, "'x'", None),
                                      (2, "'y'", {"x": x, "labels": y})):
            self.raises(r"takes 2 arguments \(x, y\), and the example has %d: .*%s" % (count, words),
                        "an example of %d arguments" % count, lambda example=example: self.zb.compile(model, example))
        plan = self.zb.compile(model, (x, y), precision=torch.bfloat16)
        self.check(plan.precision == "bf16", "a precision of PyTorch's", plan.precision)

    def test_structures(self):
        """What zb.compile took as the example, a step takes as a batch."""
        if torch is None:
            return print("batches of modules were left out: PyTorch is not installed")
        import dataclasses

        @dataclasses.dataclass
        class Batch:
            x: torch.Tensor
            side: dict

        torch.export.register_dataclass(Batch, serialized_type_name="test.Batch")

        class Model(torch.nn.Module):
            def __init__(self, take):
                super().__init__()
                self.line, self.take = torch.nn.Linear(4, 3), take

            def loss(self, x, scale, y, unread=None):
                return torch.nn.functional.cross_entropy(self.line(x) * scale, y)

        def arguments(self, x, scale, y, unread=None):
            return self.loss(x, scale, y)

        def nested(self, batch):
            return self.loss(batch["x"], batch["more"][1]["scale"], batch["more"][0])

        def data(self, batch):
            return self.loss(batch.x, batch.side["scale"], batch.side["y"])

        def mixed(self, pair, scale):
            return self.loss(pair[0], scale, pair[1]["y"])

        torch.manual_seed(0)
        x, scale, y = torch.randn(6, 4), torch.rand(6, 1), torch.randint(3, (6,))
        forms = {
            "a tuple": (arguments, lambda a, b, c: (a, b, c)),
            "keywords": (arguments, lambda a, b, c: {"y": c, "scale": b, "x": a}),
            "an unread one": (arguments, lambda a, b, c: {"x": a, "y": c, "unread": a, "scale": b}),
            "nested, in a tuple": (nested, lambda a, b, c: ({"more": (c, {"scale": b}), "x": a},)),
            "of other order": (nested, lambda a, b, c: ({"x": a, "more": [c, {"z": 1, "scale": b}]},)),
            "a dataclass": (data, lambda a, b, c: Batch(a, {"y": c, "scale": b})),
            "one in a tuple": (data, lambda a, b, c: (Batch(a, {"scale": b, "y": c}),)),
            "mixed": (mixed, lambda a, b, c: ((a, {"y": c}), b)),
            "mixed, lists": (mixed, lambda a, b, c: [[a, {"y": c.tolist()}], b.tolist()]),
        }
        examples = {nested: forms["nested, in a tuple"][1], mixed: forms["mixed"][1]}
        for what, (forward, form) in forms.items():
            module = type("Module", (Model,), {"forward": forward})(None)
            wanted = sum(float(module.loss(x[i:i + 3], scale[i:i + 3], y[i:i + 3]).detach()) for i in (0, 3)) / 2
            plan = self.zb.compile(module, examples.get(forward, form)(x[:3], scale[:3], y[:3]), micro_batches=2)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.zb.Session(plan) as run:
                    found = run.step(form(x, scale, y)).loss
                    self.check(abs(found - wanted) < 1e-6, "a batch of %s" % what, found, wanted)
                    partial = run.evaluate([form(x[:4], scale[:4], y[:4])]).loss
                    exact = float(torch.nn.functional.cross_entropy(run_line(run, x[:4]) * scale[:4], y[:4]))
                    self.check(abs(partial - exact) < 1e-5, "fewer rows of %s" % what, partial, exact)
        inner = {"x": x, "more": (y, {"scale": scale})}
        example = ({"x": x[:3], "more": (y[:3], {"scale": scale[:3]})},)
        with self.zb.Session(self.compiled(nested, Model, example)) as run:
            run.step(inner)  # the dictionary that forward() takes alone, as a loader gives it
            self.check(run.steps == 1, "the only argument of forward() by itself")
            with self.zb.Session(self.compiled(lambda self, pair, flag=True: self.loss(pair[0], 1.0, pair[1]), Model,
                                               ((x[:3], y[:3]),))) as pair:
                self.check(pair.step((x, y)).step == 0, "the only argument, a tuple, by itself")
            self.raises(r"has no \['more'\]\[1\]\['scale'\], which", "a part is missing",
                        lambda: run.step(({"x": x, "more": (y, {})},)))

    def compiled(self, forward, base, example):
        return self.zb.compile(type("Module", (base,), {"forward": forward})(None), example, micro_batches=2)

    def test_ignored(self):
        """Targets that are all ignored have no loss in PyTorch (NaN): the step is refused, and the next one follows."""
        if torch is None:
            return None

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(4, 3)

            def forward(self, x, y):
                return torch.nn.functional.cross_entropy(self.line(x), y)

        self.raises("^Linear: error: no scalar float output", "errors name the module, not a folder that is gone",
                    lambda: self.zb.compile(torch.nn.Linear(4, 1), torch.ones(2, 4)))
        torch.manual_seed(0)
        x, y = torch.randn(6, 4), torch.randint(3, (6,))
        plan = self.zb.compile(Model(), (x[:3], y[:3]), micro_batches=2)
        with self.zb.Session(plan) as run:
            wanted = [run.step((x, y)).loss for _ in range(2)]
        with self.zb.Session(plan) as run:
            found = [run.step((x, y)).loss]
            self.raises("(?i)ignored|not a number|finite|target", "only ignored targets",
                        lambda: run.step((x, torch.full_like(y, -100))))
            found.append(run.step((x, y)).loss)
            self.check(found == wanted, "only ignored targets change nothing", found, wanted)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                loss = run.evaluate([(x, y), (x, torch.full_like(y, -100))]).loss
            self.check(loss != loss and len(said) == 1 and "loss_mean=" in str(said[0].message),
                       "an evaluation without a mean says so", loss, said)


def run_line(run, x):
    values = run.state_dict("torch")
    return x @ values["line.weight"].T + values["line.bias"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build"))
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    other = os.environ.get("ZB_PYTHON")
    if torch is None and other and os.environ.pop("ZB_PYTHON"):
        os.execvp(other, [other, *sys.argv])
    build = os.path.abspath(arguments.build)
    os.environ["ZB_LIBRARY"] = os.path.join(build, "lib")
    suite = common.Suite(os.path.join(build, "bin"))
    with common.scratch() as folder:
        tests = Tests(suite, folder)
        for name in dir(Tests):
            if name.startswith("test_") and (not arguments.only or name[5:] in arguments.only):
                getattr(tests, name)()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
