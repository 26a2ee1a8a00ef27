#!/usr/bin/env python3
"""With PyTorch: its tensors as batches, weights into its modules, and the examples of tools/python/examples against it.

    examples.py [BUILD] [--only NAME...]

Needs PyTorch, and prints that it is left out where there is none. Ends with "N passed, N failed".
"""
import argparse
import ast
import copy
import os
import pathlib
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tools/python", "test/e2e", "test/python")]
import common  # noqa: E402
import package  # noqa: E402

EXAMPLES = ROOT / "tools" / "python" / "examples"
SCRIPTS = {"nanogpt": [common.CORPUS], "vit": [], "seq2seq": []}
STEPS = 20

try:
    import torch
except ImportError:
    torch = None


class Tests:
    def __init__(self, suite, folder):
        import zb
        self.zb, self.suite, self.folder = zb, suite, folder
        self.plan = zb.compile(package.MODEL, ranks=2, micro_batches=package.MICRO_BATCHES,
                               output=os.path.join(folder, "plan"))
        self.corpus = package.Corpus(*self.plan.inputs[0].shape)

    def raises(self, words, what, call):
        try:
            call()
            self.suite.check(False, what + ": nothing was raised")
        except self.zb.Error as error:
            self.suite.check(words in str(error), "%s: expected '%s', got %s" % (what, words, error))

    def tensors(self, step):
        return [torch.tensor(a.tolist()) for a in self.corpus.batch(step)]

    def test_tensors(self):
        """Batches of tensors, strided ones too, have the bits of any others; results are tensors."""
        with self.zb.Session(self.plan) as run:
            wanted = [run.step(self.corpus.batch(k)).loss for k in range(3)]
            values = run.state_dict()
        kinds = {"tensors": lambda t: t, "transposed in memory": lambda t: t.t().contiguous().t(),
                 "every other row": lambda t: t.repeat_interleave(2, dim=0)[::2],
                 "micro-batches apart": lambda t: t.view(package.MICRO_BATCHES, -1, t.shape[1])}
        for kind, change in kinds.items():
            with self.zb.Session(self.plan) as run:
                found = [run.step({"x": change(x), "y": change(y)}).loss for x, y in map(self.tensors, range(3))]
                self.suite.check(found == wanted, "losses: %s" % kind)
        self.suite.check(all(isinstance(v, torch.Tensor) and v.dtype == torch.float32 for v in values.values()),
                         "a state_dict of tensors")
        x, y = self.tensors(0)
        with self.zb.Session(self.plan) as run:
            self.raises("the input 'x' is %dx%dxi32" % tuple(x.shape), "int32", lambda: run.step((x.int(), y)))
            self.raises("torch.int64", "a hint", lambda: run.step((x.float(), y)))
            self.raises("xbf16: expected", "bf16", lambda: run.step((x.bfloat16(), y)))
            self.raises("xi1: expected", "bool", lambda: run.step((x.bool(), y)))

    def test_load_into(self):
        """By the names as they are, with a prefix less, and with one more; into f64; or not at all."""
        with self.zb.Session(self.plan) as run:
            run.step(self.tensors(0))
            values = run.state_dict()
            first = next(iter(values))
            prefix = first.split(".")[0] + "."
            renamed = {"as they are": lambda name: name, "without a prefix": lambda name: name[len(prefix):],
                       "with one more": lambda name: "wrapped." + name}
            for what, rename in renamed.items():
                for dtype in (torch.float32, torch.float64):
                    module = module_of({rename(name): torch.zeros(value.shape, dtype=dtype)
                                        for name, value in values.items()})
                    run.load_into(module)
                    found = module.state_dict()
                    self.suite.check(all(torch.equal(found[rename(name)], value.to(dtype))
                                         for name, value in values.items()), "load_into: %s, %s" % (what, dtype))
            less = module_of({name: torch.zeros(value.shape) for name, value in values.items() if name != first})
            self.raises("the module has no '%s'" % first, "a parameter too few", lambda: run.load_into(less))
            last = list(values)[-1]
            other = module_of({name: torch.zeros((3, 3) if name == last else value.shape)
                               for name, value in values.items()})
            self.raises("the module's '%s' is 3x3x" % last, "another shape", lambda: run.load_into(other))
            self.suite.check(all(not bool(p.any()) for p in other.parameters()), "all or nothing is written")
            self.raises("takes a torch.nn.Module", "no module", lambda: run.load_into(values))

    def test_module(self):
        """A module is compiled as it is; what is wrong with an example names it."""
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = torch.nn.Linear(8, 6), torch.nn.Linear(6, 4)
                self.last.weight = torch.nn.Parameter(self.last.weight * 2)
                self.register_buffer("scale", torch.tensor(0.5))

            def forward(self, x, labels):
                return torch.nn.functional.cross_entropy(self.last(torch.relu(self.first(x))) * self.scale, labels)

        torch.manual_seed(3)
        model = Model()
        x, labels = torch.randn(8, 8), torch.randint(4, (8,))
        wanted = sum(float(model(x[4 * i:4 * i + 4], labels[4 * i:4 * i + 4]).detach()) for i in (0, 1)) / 2
        for example, kwargs in (((x[:4], labels[:4]), None), ((x[:4],), {"labels": labels[:4]}),
                                ({"x": x[:4], "labels": labels[:4]}, None)):
            plan = self.zb.compile(model, example, kwargs=kwargs, ranks=2, micro_batches=2)
            self.suite.check([v.name for v in plan.inputs] == ["x", "labels"], "inputs: %s" % (plan.inputs,))
            with self.zb.Session(plan) as run:
                self.suite.check(abs(run.step({"x": x, "labels": labels}).loss - wanted) < 1e-6, "the loss of a module")
                self.suite.check(sorted(run.state_dict()) == sorted(model.state_dict()), "its names")
                copy.deepcopy(model).load_state_dict(run.state_dict(), strict=True)

    def test_unread(self):
        """What forward() takes and the loss does not read may be in a batch; other names may not. Tied weights."""
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
                self.last.weight = self.first.weight
                self.unread = torch.nn.Linear(2, 2)

            def forward(self, x, hint, y):
                return ((self.last(self.first(x)) - y) ** 2).mean()

        torch.manual_seed(6)
        model = Model()
        x, hint, y = (torch.randn(4, 4) for _ in range(3))
        plan = self.zb.compile(model, (x, hint, y), micro_batches=1, optimizer="sgd:lr=0.1",
                               clip_norm=torch.tensor(9.0))
        with self.zb.Session(plan) as run:
            losses = [run.step(batch).loss for batch in ({"x": x, "hint": hint, "y": y}, (x, hint, y), (x, y))]
            self.suite.check(losses[2] < losses[1] < losses[0], "batches with what is not read: %s" % losses)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                run.step({"x": x, "hints": hint, "y": y})
            self.suite.check(["'hints'" in str(one.message) for one in said] == [True], "another name is said")
            found, other = run.state_dict(), Model()
            other.load_state_dict(found, strict=True)
            run.load_into(model)
            same = all(torch.equal(found[name], value) for name, value in model.state_dict().items())
            self.suite.check(same and sorted(found) == sorted(model.state_dict()), "all that its state_dict() has")

    def test_order(self):
        """A tuple goes by the arguments of forward(), whatever is used first; signs that PyTorch has not written."""
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)

            def forward(self, x, mask, y):
                return ((self.layer(mask) * x - y) ** 2).mean()

        torch.manual_seed(4)
        model = Model()
        x, mask, y = (torch.randn(4, 4) for _ in range(3))
        plan = self.zb.compile(model, (x, mask, y), micro_batches=1, optimizer="sgd:lr=0")
        self.suite.check([v.name for v in plan.inputs] == ["x", "mask", "y"], "inputs: %s" % (plan.inputs,))
        with self.zb.Session(plan) as run:
            for batch in ((x, mask, y), (x, torch._neg_view(mask), y)):
                loss, wanted = run.step(batch).loss, float(model(*batch).detach())
                self.suite.check(abs(loss - wanted) < 1e-6 * wanted, "a tuple: %g, %g" % (loss, wanted))

    def test_own_gradients(self):
        """A backward pass or a hook of the module's own is refused, not lost."""
        class Reversed(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x.clone()

            @staticmethod
            def backward(context, gradient):
                return -gradient

        class Model(torch.nn.Module):
            def __init__(self, act):
                super().__init__()
                self.layer, self.act = torch.nn.Linear(4, 4), act

            def forward(self, x):
                return (self.act(self.layer(x)) ** 2).mean()

        def hooked(x):
            x.register_hook(lambda gradient: gradient * 0)
            return x

        x = torch.randn(2, 4)
        for act, words in ((lambda x: Reversed.apply(x), "the backward pass of a torch.autograd.Function"),
                           (hooked, "a hook on the gradient of a tensor")):
            self.raises(words, words, lambda act=act: self.zb.compile(Model(act), (x,)))
        model = Model(torch.relu)
        model.layer.weight.register_hook(lambda gradient: gradient * 0)
        self.raises("'layer.weight' has hooks on its gradient", "a parameter's hook",
                    lambda: self.zb.compile(model, (x,)))

    def test_examples(self):
        for name, arguments in SCRIPTS.items():
            done = subprocess.run([sys.executable, str(EXAMPLES / (name + ".py")), *arguments, "--steps", str(STEPS),
                                   "--check"], capture_output=True, text=True, timeout=common.patience(230),
                                  env=dict(os.environ, PYTHONPATH=str(ROOT / "tools" / "python")))
            self.suite.check(done.returncode == 0 and "difference" in done.stdout,
                             "%s.py: %s" % (name, (done.stdout + done.stderr)[-3000:]))


def module_of(tensors):
    """A module with these parameters, by their dotted names."""
    root = torch.nn.Module()
    for name, tensor in tensors.items():
        *path, leaf = name.split(".")
        at = root
        for part in path:
            if part not in dict(at.named_children()):
                at.add_module(part, torch.nn.Module())
            at = at.get_submodule(part)
        at.register_parameter(leaf, torch.nn.Parameter(tensor))
    return root


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build"))
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    os.environ["ZB_LIBRARY"] = os.path.join(build, "lib")
    suite = common.Suite(os.path.join(build, "bin"))
    for path in sorted(EXAMPLES.glob("*.py")):
        suite.check(ast.get_docstring(ast.parse(path.read_text())), "%s has a docstring" % path.name)
    names = [name for name in dir(Tests) if name.startswith("test_") and
             (not arguments.only or name[5:] in arguments.only)]
    if torch is None:
        print("left out, as PyTorch is not installed: " + " ".join(name[5:] for name in names))
        names = []
    with common.scratch() as folder:
        tests = Tests(suite, folder) if names else None
        for name in names:
            getattr(tests, name)()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
