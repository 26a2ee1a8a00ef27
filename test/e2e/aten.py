#!/usr/bin/env python3
"""The door from PyTorch: text of torch.export, written by tools/python/zb/aten.py, against PyTorch's losses.

    aten.py [--bin BUILD/bin] [--tool BUILD/test/feed] [--only NAME ...] [--all]

First the files of test/data/aten (make_aten.py), which need no PyTorch: each is trained on 1 and 2 ranks, to the same
bits, within 1e-5 of PyTorch; names of parameters, of both names of a tied one, and what is refused. Then, where torch
can be imported (ZB_PYTHON: a Python that has it), modules are exported here: those of aten_models.py and of
../shared/graphs, or, with --all, of all families, and each of its functions alone. Losses are PyTorch's within 1e-5,
and where onnxscript is there, too, the same bits as those of the ONNX file of the same module; without its
optimizer, which would compute rotary tables by NumPy, whose last bits are others. Ends with "N passed, N failed".
"""

import contextlib
import io
import json
import os
import re
import statistics
import subprocess
import sys
import types
import warnings

import common

DATA = os.path.join(common.SOURCE, "test", "data", "aten")
ROWS = os.path.join(common.SOURCE, "ir", "import", "aten", "aten_ops.def")
PACKAGE = os.path.join(common.SOURCE, "tools", "python")
SHARED = os.path.join(common.SOURCE, "..", "shared", "graphs")
TOLERANCE, STEPS = 1e-5, 5
# Without --all.
CHOSEN = ("nanogpt-bias", "bert", "checkpoints", "flow", "speech")
# What an ONNX file says in another way: without label smoothing, and with all gradients.
OTHER = ("vision", "stopped", "flow", "speech")


class Door:
    def __init__(self, suite, tool, folder):
        self.suite, self.tool, self.folder = suite, tool, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def losses(self, model, data, steps, ranks=1, *arguments):
        """The losses of a plan, as text with 9 digits: the bits of a float."""
        plan = self.path(f"{os.path.basename(model)}.{ranks}")
        self.suite.compile(model, plan, "--ranks", ranks, "--micro-batches", 1, *arguments)
        process = subprocess.run(
            [self.tool, plan, data, str(steps)], capture_output=True, text=True,
            timeout=common.patience(300), check=False
        )
        if process.returncode:
            raise common.Failure(f"feed {plan}: {process.stderr}")
        return process.stdout.split()

    def compare(self, what, wanted, got):
        worst = max((abs(float(a) - b) / max(abs(b), 1) for a, b in zip(got, wanted)), default=float("inf"))
        good = len(got) == len(wanted) and worst <= TOLERANCE
        self.suite.check(good, f"{what}: losses {got}, PyTorch's {wanted}")
        return worst

    # ---- The files of test/data/aten ----

    def checked_in(self):
        with open(os.path.join(DATA, "losses.json")) as file:
            known = json.load(file)
        for name, wanted in known.items():
            model, data = (os.path.join(DATA, name + end) for end in (".mlir", ".data.safetensors"))
            if isinstance(wanted[0], list):
                self.drawn(name, model, data, wanted)
                continue
            got = self.losses(model, data, len(wanted))
            worst = self.compare(name, wanted, got)
            print(f"{name}: {len(wanted)} steps, at most {worst:.2g} from PyTorch's losses", flush=True)
            again = self.losses(model, data, len(wanted), 2, "--schedule", "zb-h1")
            self.suite.check(got == again, f"{name} on 2 ranks: other bits: {again}, {got}")
            self.names(name)

    def drawn(self, name, model, data, seeds):
        """Other numbers are drawn than by PyTorch: each loss is as far from the mean as those of its seeds are."""
        got = [float(loss) for loss in self.losses(model, data, len(seeds[0]))]
        for step, losses in enumerate(zip(*seeds)):
            mean, spread = statistics.mean(losses), statistics.stdev(losses)
            self.suite.check(
                abs(got[step] - mean) <= 4 * spread, f"{name}, step {step}: {got[step]}, of seeds {mean} +- {spread}"
            )
        self.suite.check(len(set(got)) == len(got), f"{name} draws the same: {got}")

    def names(self, name):
        """Values go into the plan's folder under PyTorch's names, a tied one under the first of its names."""
        given, _ = common.read_safetensors(os.path.join(DATA, name + ".safetensors"))
        written, _ = common.read_safetensors(self.path(f"{name}.mlir.1/weights.safetensors"))
        self.suite.check(
            written and all(given.get(key) == value for key, value in written.items()),
            f"{name}: {set(written) - set(given)} are not as exported",
        )

    def tied(self):
        """Both names of a tied parameter are known to patterns."""
        for glob in ("wte.*", "lm_head.weight"):
            text = self.suite.must(
                "zbc", os.path.join(DATA, "nanogpt.mlir"), "-o", self.path("tied"), "--freeze", glob, "--json"
            )
            self.suite.check("wte.weight" not in json.loads(text)["trained"], f"--freeze {glob} leaves it trained")

    def check_rows(self):
        """What the exporter keeps whole has a row, and the page of ops has every row."""
        with open(ROWS) as file:
            rows = re.findall(r"^[A-Z_]+\(([\w.]+), ", file.read(), re.M)
        with open(os.path.join(PACKAGE, "zb", "aten.py")) as file:
            whole = re.search(r'WHOLE = """(.*?)"""', file.read(), re.S).group(1).split()
        self.suite.check(len(rows) > 150 and len(rows) == len(set(rows)), f"rows of aten_ops.def: {len(rows)}")
        self.suite.check(len(whole) > 20 and set(whole) <= set(rows), f"no row for {sorted(set(whole) - set(rows))}")

    # ---- Where there is PyTorch ----

    def exported(self, name, model, inputs, batches, example):
        """Trains a module by both engines; the losses of zbc."""
        from zb import aten

        import torch

        path, data = self.path(name + ".mlir"), self.path(name + ".data.safetensors")
        aten.export(model, example, path=path)
        aten.write_values(data, {key: torch.stack([batch[key] for batch in batches]) for key in inputs})
        got = self.losses(path, data, len(batches))
        self.load_back(name, model, f"{path}.1")
        return got

    def load_back(self, name, model, plan):
        """What the plan's folder has is what load_state_dict takes."""
        import torch

        plan = self.path(os.path.basename(plan))
        values, _ = common.read_safetensors(os.path.join(plan, "weights.safetensors"))
        own = model.state_dict()
        wrong = [
            key for key, (_, shape, body) in values.items()
            if key not in own or list(own[key].shape) != list(shape)
            or bytes(own[key].detach().contiguous().view(-1).view(torch.uint8).tolist()) != bytes(body)
        ]
        self.suite.check(values and not wrong, f"{name}: {wrong} of weights.safetensors are not the module's")

    def onnx(self, name, model, inputs, got):
        """The ONNX file of the same module trains to the same bits; None: PyTorch or zbc does not make one."""
        try:
            import export_onnx
        except SystemExit:
            return None
        options = types.SimpleNamespace(out=self.path(name + ".onnx"), raw=True, no_dropout=False, no_compare=True,
                                        ranges={}, outputs=[])
        specs = []
        for key, spec in inputs.items():
            options.ranges[key] = (spec[2], spec[3] - 1) if len(spec) > 2 else (0, 1)
            specs.append(export_onnx.parse_input(f"{key}:{spec[0]}:{'x'.join(map(str, spec[1]))}", options.ranges))
        try:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                export_onnx.export(model, specs, options)
            other = self.losses(options.out, self.path(name + ".data.safetensors"), len(got))
        except (SystemExit, common.Failure):
            return None
        self.suite.check(other == got, f"{name}: losses {got}, of its ONNX file {other}")
        return other == got

    def family(self, name, with_onnx=True):
        import aten_models

        model, inputs = aten_models.build(name)
        batches, example = aten_models.draw(inputs, STEPS), aten_models.draw(inputs, 1, seed=7)[0]
        try:
            got = self.exported(name, model, inputs, batches, example)
        except Exception as error:  # PyTorch's have no common class
            self.suite.check(False, f"{name}: {type(error).__name__}: {error}")
            return
        worst = self.compare(name, aten_models.losses(model, batches), got)
        same = self.onnx(name, aten_models.build(name)[0], inputs, got) if with_onnx else None
        said = {True: ", the bits of its ONNX file", False: ", other bits than its ONNX file", None: ""}[same]
        print(f"{name}: at most {worst:.2g} from PyTorch's losses{said}", flush=True)

    def errors(self):
        """What cannot be written is an error of the exporter that names its place."""
        import torch
        from zb import aten

        class Open(torch.nn.Module):
            def forward(self, x):
                return (self.w * x).sum()

        def refuse(what, make, needle):
            try:
                make()
            except aten.ExportError as error:
                self.suite.check(needle in str(error), f"{what}: {error}")
            except Exception as error:
                self.suite.check(False, f"{what}: {type(error).__name__}: {error}")
            else:
                self.suite.check(False, f"{what}: it is written")

        overlapping = Open()
        whole = torch.randn(6)
        overlapping.w, overlapping.v = torch.nn.Parameter(whole[:4]), torch.nn.Parameter(whole[2:])
        overlapping.forward = lambda x: (overlapping.w * x).sum() + overlapping.v.sum()
        refuse("overlapping parameters", lambda: aten.export(overlapping, (torch.randn(4),), path=self.path("e.mlir")),
               "share a part of their elements")
        hollow = Open()
        hollow.w = torch.nn.Parameter(torch.randn(4, device="meta"))
        refuse("an input without values", lambda: aten.export(
            hollow, (torch.randn(4, device="meta"),), path=self.path("e.mlir")),
               "inputs and what forward() makes must be on the CPU")
        small = Open()
        small.w = torch.nn.Parameter(torch.randn(4))
        small.register_buffer("unread", torch.zeros(3, dtype=torch.int8))
        program = torch.export.export(small, (torch.randn(4),))
        before = str(program.graph)
        aten.export(program, path=self.path("small.mlir"))
        self.suite.check(str(program.graph) == before, f"an exported program is changed: {program.graph}")
        self.suite.must("zbc", self.path("small.mlir"), "-o", self.path("small"))
        self.functions(refuse)
        self.twice()
        self.changed_inputs(refuse)
        plain = Open()
        plain.w = torch.nn.Parameter(torch.randn(4))
        dynamic = torch.export.export(plain, (torch.randn(3, 4),), dynamic_shapes={"x": {0: torch.export.Dim("n")}})
        refuse("open shapes", lambda: aten.export(dynamic, path=self.path("e.mlir")), "is open")

    def changed_inputs(self, refuse):
        """Labels may be changed in place, what may be a state may not."""
        import torch
        import zb
        from zb import aten

        class Clamps(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 3)

            def forward(self, x, y):
                y.clamp_(0, 2)
                return torch.nn.functional.cross_entropy(self.layer(x), y)

        class Pixels(Clamps):
            def forward(self, x):
                return self.layer(x.float().repeat(4).view(3, 4)).mean()

        class Keeps(Clamps):
            def forward(self, x, y):
                h = self.layer(x)
                x[:, :3] = h.detach()
                return h.mean()

        model, x, y = Clamps(), torch.randn(3, 4), torch.tensor([-1, 5, 1])
        given = y.clone()
        with zb.Session(zb.compile(model, (x, given), ranks=1, micro_batches=1)) as run:
            loss = run.step((x, given)).loss
        self.suite.check(torch.equal(given, y) and abs(loss - model(x, y.clone()).item()) < 1e-6,
                         f"labels that are clamped: {loss}, {given}")
        refuse("bytes", lambda: aten.export(Pixels(), (y.to(torch.uint8),), path=self.path("e.mlir")),
               "input 'x' has the type torch.uint8")
        refuse("a state", lambda: aten.export(Keeps(), (x, y), path=self.path("e.mlir")), "forward() changes 'x'")

    def twice(self):
        """What forward() gives under two names, inputs and parameters: outputs of an evaluation."""
        import torch
        import zb

        class Twice(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 2)

            def forward(self, x):
                h = self.layer(x)
                loss = h.square().mean()
                return {"loss": loss, "again": loss, "h": h, "same": h, "x": x, "weight": self.layer.weight}

        model, x = Twice(), torch.randn(3, 4)
        wanted = model(x)
        for inference, names in ((True, list(wanted)), (False, ["again", "h", "same"])):
            plan = zb.compile(model, (x,), ranks=1, micro_batches=1, inference=inference, outputs=names)
            with zb.Session(plan) as run:
                got = run.predict((x,))
            for name in names:
                self.suite.check(torch.allclose(got[name].view(wanted[name].shape), wanted[name], atol=1e-6),
                                 f"output '{name}' of a value that is given twice: {got[name]}")
        for names, needle in ((["x"], "'x' is not computed from the inputs"), (["h", "h"], "'h' is named twice")):
            try:
                zb.compile(model, (x,), ranks=1, micro_batches=1, outputs=names)
            except zb.Error as error:
                self.suite.check(needle in str(error), f"outputs {names}: {error}")
            else:
                self.suite.check(False, f"outputs {names} are compiled")

    def functions(self, refuse):
        """A Function with the backward pass of its forward pass is taken; what changes a value behind the back of
        gradients is not."""
        import torch
        import torch.nn.functional as F
        from zb import aten

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                return 2 * ctx.saved_tensors[0] * gradient

        class Through(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.round()

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        class Calls(torch.nn.Module):
            def __init__(self, call):
                super().__init__()
                self.layer, self.call = torch.nn.Linear(4, 4), call

            def forward(self, x):
                return self.call(self.layer(x)).mean()

        def doubled_beside(x):
            x.detach()[:, 1:].mul_(2)
            return x

        def written_beside(x):
            other = x.detach()
            torch.mul(other, 2, out=other)
            return x

        def relu_behind(x):
            other = x[:, 1:].detach()
            return F.relu_(x) + other.mean()

        def doubled_without_gradient(x):
            with torch.no_grad():
                x.mul_(2)
            return x

        rows = torch.nn.Parameter(torch.randn(4, 4))

        def write(call):
            aten.export(Calls(call), (torch.randn(3, 4),), path=self.path("function.mlir"))

        write(lambda x: Square.apply(x))
        self.suite.must("zbc", self.path("function.mlir"), "-o", self.path("function"))
        for what, call, needle in (("a bound apply", Through.apply, "Through.apply was taken from its class"),
                                   ("a decision by values", lambda x: x if x.max() > 0 else -x,
                                    "PyTorch cannot export Calls"),
                                   ("a shape by values", lambda x: x[x > 0], "depends on values of tensors"),
                                   ("a result of open shape", lambda x: torch.ctc_loss(
                                       x.log_softmax(1)[:, None], torch.tensor([[1]]), torch.tensor([3]),
                                       torch.tensor([1])), "an op whose result has a shape that depends on values"),
                                   ("detach() in place", doubled_beside, "(mul_): a value that detach() gave"),
                                   ("detach() as out=", written_beside, "a value that detach() gave"),
                                   ("what detach() was taken from", relu_behind, "(relu_): a value that detach() gave"),
                                   ("no_grad in place", doubled_without_gradient, "(mul_): a value that has a grad"),
                                   ("max_norm", lambda x: F.embedding(x.long().clamp(0, 3), rows, max_norm=1.0),
                                    "(embedding_renorm_): an embedding with max_norm")):
            refuse(what, lambda call=call: write(call), needle)

    def one_step(self, what, model, tolerance):
        """Loss and gradients of one step at the rate 1, and those of PyTorch."""
        import torch
        import zb

        x = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
        plan = zb.compile(model, (x,), ranks=1, optimizer="sgd:lr=1,momentum=0,weight_decay=0")
        loss = model(x)
        loss.backward()
        with zb.Session(plan) as run:
            got, after = run.step((x,)).loss, run.state_dict("torch")
        self.suite.check(abs(got - loss.item()) <= tolerance * max(1, abs(got)), f"{what}: {got}, PyTorch's {loss}")
        for name, parameter in model.named_parameters():
            if name in after and parameter.grad is not None:
                ours = parameter.detach() - after[name]
                self.suite.check(torch.allclose(ours, parameter.grad, rtol=tolerance, atol=tolerance),
                                 f"{what}, gradient of {name}: {ours.tolist()}, PyTorch's {parameter.grad.tolist()}")

    def own_gradients(self):
        """Backward passes of torch.autograd.Function as they are; bf16 and f16 beside f32."""
        import aten_functions
        import torch
        from zb import aten

        for name, (call, refused) in aten_functions.FUNCTIONS.items():
            torch.manual_seed(0)
            model = aten_functions.Model(call)
            if refused is None:
                self.one_step(name, model, 1e-5)
                continue
            try:
                aten.export(model, (torch.zeros(4, 4),), path=self.path("e.mlir"))
                self.suite.check(False, f"{name} is written")
            except aten.ExportError as error:
                good = refused in str(error) and "the backward pass of this" in str(error)
                self.suite.check(good, f"{name}: {error}")
        for name, call in aten_functions.WRITTEN.items():
            torch.manual_seed(0)
            self.one_step(name, aten_functions.Model(call), 1e-5)
        for name, call in aten_functions.NARROW.items():
            torch.manual_seed(0)
            self.one_step(name, aten_functions.Model(call), 2e-2)

    def trained(self):
        """What the module says is trained is trained, refused by name, or named."""
        import aten_told
        import torch
        import zb

        x = torch.randn(2, 4)
        for name, (model, options, trained, unreached) in aten_told.parameters().items():
            found = zb.compile(model, (x,), **options).summary
            self.suite.check(sorted(found.trained) == trained and sorted(found.unreached) == unreached,
                             f"{name}: trained {found.trained}, unreached {found.unreached}")
        for name, (model, options, words) in aten_told.refused_parameters().items():
            try:
                zb.compile(model, (x,), **options)
                self.suite.check(False, f"{name} is compiled")
            except zb.Error as error:
                self.suite.check(words in str(error), f"{name}: {error}")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            zb.compile(aten_told.with_buffer(), (x,))
        self.suite.check(any("'b' requires a gradient and is no parameter" in str(one.message) for one in said),
                         "a buffer that requires a gradient")

    def told(self):
        """Errors say the line of forward(), and no exception of ours is told as PyTorch's; other versions are named."""
        import aten_told
        import torch
        import zb
        from zb import aten

        for name, (model, x, words) in aten_told.rows().items():
            try:
                zb.compile(model, (x,))
                self.suite.check(False, f"{name} is compiled")
            except zb.Error as error:
                good = all(word in str(error) for word in (*words, "aten_told.py:", "hint: "))
                self.suite.check(good, f"{name}: {error}")
        kept, aten.is_plain = aten.is_plain, None
        try:
            aten.export(torch.nn.Linear(2, 2), (torch.zeros(2),), path=self.path("e.mlir"))
            self.suite.check(False, "an exception of ours")
        except aten.ExportError as error:
            self.suite.check("zbc cannot export Linear: TypeError" in str(error) and "bug of zbc" in str(error) and
                             "PyTorch cannot" not in str(error), f"an exception of ours: {error}")
        finally:
            aten.is_plain = kept
        for version, warns in (("2.12.1", 1), ("2.13.0", 0), (torch.__version__, 0), ("2.99.0+cu130", 1)):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                aten.warn_of_version(version)
                aten.warn_of_version(version)
            self.suite.check(len(said) == warns, f"PyTorch {version}: {[str(one.message) for one in said]}")

    def points(self):
        """One step at the rate 1 takes the gradient off each parameter."""
        import aten_points
        import torch
        from zb import aten

        names = list(aten_points.POINTS)
        model, path, data = aten_points.Points(names), self.path("points.mlir"), self.path("points.data.safetensors")
        aten.export(model, (torch.zeros(1),), path=path)
        aten.write_values(data, {"x": torch.zeros(1)})
        self.suite.compile(path, self.path("points"), "--optimizer", "sgd:lr=1,momentum=0,weight_decay=0")
        self.suite.must("zb-run", self.path("points"), "--data", "safetensors:" + data, "--steps", 1, "--save",
                        self.path("saved"))
        model(torch.zeros(1)).backward()
        values, _ = common.read_safetensors(os.path.join(self.path("saved"), "weights.safetensors"))
        for name, (key, parameter) in zip(names, model.named_parameters()):
            after = torch.frombuffer(bytearray(values[key][2]), dtype=torch.float32).view(parameter.shape)
            ours, theirs = parameter.detach() - after, parameter.grad
            good = torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5)
            self.suite.check(good, f"gradient of {name}: {ours.tolist()}, PyTorch's {theirs.tolist()}")
        print(f"gradients at {len(names)} awkward points", flush=True)

    def shared(self, family):
        """The shared families, at their own size, for two steps."""
        sys.path.insert(0, SHARED)
        import models
        import torch

        batches = [{key: torch.randint(0, 256, (4, 128)) for key in "xy"} for _ in range(2)]
        inputs = {key: ("int64", (4, 128), 0, 256) for key in "xy"}
        model = models.build(family)
        got = self.exported("shared-" + family, model, inputs, batches, batches[0])
        import aten_models

        worst = self.compare("shared " + family, aten_models.losses(model, batches), got)
        print(f"shared {family}: at most {worst:.2g} from PyTorch's losses", flush=True)


def outside(door, options):
    """Without torch; the rest is run by a Python that has it."""
    door.check_rows()
    door.tied()
    door.checked_in()
    python, why = common.python_with_torch()
    if why is None:
        inside = [python, os.path.abspath(__file__), "--inside", "--bin", options.bin, "--tool", door.tool]
        inside += ["--all"] * options.all + (["--only", *options.only] if options.only else [])
        return subprocess.run(inside, check=False).returncode
    print(f"exports are left out: {why}; set ZB_PYTHON")
    return 0


def inside(door, options):
    sys.path[:0] = [PACKAGE, os.path.join(common.SOURCE, "tools")]
    import aten_models
    import torch

    torch.set_num_threads(1)
    families = [*aten_models.OWN, *aten_models.LANGUAGE] if options.all else CHOSEN
    functions = list(aten_models.FUNCTIONS) * options.all
    with contextlib.suppress(ImportError):
        import transformers

        transformers.logging.set_verbosity_error()
    if not options.only:
        door.errors()
        door.own_gradients()
        door.told()
        door.trained()
        door.points()
    for name in options.only or [*families, *functions]:
        if name not in aten_models.DRAWING:
            door.family(name, with_onnx=name not in aten_models.FUNCTIONS and name not in OTHER)
    for family in ("gpt2", "llama") if options.all and os.path.isdir(SHARED) else ():
        door.shared(family)


def main():
    options = common.arguments(
        __doc__,
        ("--tool", {"default": None}),
        ("--only", {"nargs": "*", "metavar": "NAME"}),
        ("--all", {"action": "store_true"}),
        ("--inside", {"action": "store_true", "help": "with torch"}),
    )
    suite = common.Suite(options.bin)
    tool = options.tool or os.path.join(os.path.dirname(options.bin), "test", "feed")
    with common.scratch() as folder:
        door = Door(suite, tool, folder)
        ended = inside(door, options) if options.inside else outside(door, options)
    return suite.finish() or ended or 0


if __name__ == "__main__":
    sys.exit(main())
