#!/usr/bin/env python3
"""How many digits functions of one variable keep, over all floats, beside what the framework itself keeps of them.

    digits.py [--bin BUILD/bin] [--points N] [--door NAME] [--all] [CASE...]

Each function goes through its door, values and gradients, at points of every exponent and of both signs, and dense
between -20 and 20 and around the places where formulas bend or are zero. The measure is the distance from an exact
value, in units in the last place of an f32: at most 4, or what the framework is off by anywhere on the same points.
Where the framework has lost more than 4, as a difference of two rounded numbers has near its zero, chance says who is
nearer: there a unit is at least what the last place of x makes of the value, for it and for us.
This needs a framework, whose Python runs it: the kernels alone are measured by test/kernels/digits_test.c, and every
door at chosen points by points.py. --all prints every row. Ends with "N passed, N failed"; no framework: one is left
out with a reason.
"""
import importlib.util
import math
import os
import struct
import subprocess
import sys
import warnings

import common
import make_points

ENDS = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, 20.0, -20.0, 88.72284, -88.72284, -103.9, math.pi, -0.25]


def places(count):
    """Finite f32 other than 0, deterministic."""
    import numpy as np
    rng = np.random.default_rng(20261129)
    bits = rng.integers(0, 2**32, count // 2, dtype=np.uint64).astype(np.uint32)
    near = [end + (abs(end) or 1) * sign * 2.0**-k for end in ENDS for k in range(1, 25) for sign in (1, -1)]
    x = np.concatenate([bits.view(np.float32), rng.uniform(-20, 20, count // 4), rng.uniform(-2, 2, count // 4), near])
    x = x.astype(np.float32)
    return x[np.isfinite(x) & (x != 0)]


def units(value, exact):
    """How far from exact, in units; None where there is no number to be near to, or value is none as it is none."""
    import numpy as np
    most = 2.0**128
    value, exact = value.astype(np.float64), exact.astype(np.float64)
    at, to = np.clip(value, -most, most), np.clip(exact, -most, most)
    _, exponent = np.frexp(np.minimum(np.abs(to), 2.0**127))
    off = np.abs(at - to) / np.exp2(np.maximum(exponent, -125) - 24.0)
    return np.where(np.isnan(exact), 0.0, np.where(np.isnan(value), math.inf, off))


def exact_points(x, wide, narrow):
    """(x, narrow(x), wide(x), wide of the next x), where there is something to be near to."""
    import numpy as np
    with np.errstate(invalid="ignore"):
        good = np.logical_and.reduce([np.abs(v) < 1e300 for v in wide(x)])
    x = x[good]
    return x, narrow(x), wide(x), wide(np.nextafter(x, np.float32(math.inf)))


class Torch:
    """Functions of torch by name; where they cancel in f64 too, what they are exactly."""
    name, module = "aten", "torch"

    def __init__(self, cases, count):
        import torch
        import torch.nn.functional as F
        self.torch = torch
        special, pi = torch.special, math.pi
        self.cases = {
            name: getattr(torch, name) for name in
            "abs acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 reciprocal "
            "relu rsqrt sigmoid sin sinc sinh sqrt square tan tanh logit digamma lgamma deg2rad".split()
        } | {
            name: getattr(F, name) for name in
            "celu elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus softsign "
            "tanhshrink softshrink hardshrink".split()
        } | {
            "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "ndtr": special.ndtr,
            "entr": special.entr, "xlog1py": lambda x: special.xlog1py(x, x),
            "xlogy": lambda x: torch.xlogy(x, x), "softplus_2": lambda x: F.softplus(x, beta=2),
            "logaddexp": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
            "logaddexp2": lambda x: torch.logaddexp2(x, torch.zeros_like(x)),
            "logsumexp": lambda x: torch.stack([x, torch.zeros_like(x)]).logsumexp(0),
            "log_softmax": lambda x: torch.stack([x, torch.zeros_like(x)]).log_softmax(0)[0],
            "softmax": lambda x: torch.stack([x, torch.zeros_like(x)]).softmax(0)[0],
            "logcumsumexp": lambda x: torch.stack([x, torch.zeros_like(x)]).logcumsumexp(0)[1],
            "cube_root": lambda x: x ** (1 / 3), "pow_1_5": lambda x: x ** 1.5, "pow_3": lambda x: x ** 3,
            "pow_m2": lambda x: x ** -2, "ten_to": lambda x: 10.0 ** x,
            "atan2": lambda x: torch.atan2(x, torch.ones_like(x)),
            "hypot": lambda x: torch.hypot(x, torch.ones_like(x)), "std": lambda x: torch.stack([x, -x, x / 2]).std(0),
            "var": lambda x: torch.stack([x, -x, x / 2]).var(0), "glu": lambda x: F.glu(torch.stack([x, x]), 0)[0],
            "sigmoid_log": lambda x: torch.sigmoid(x).log(),
            "softmin": lambda x: F.softmin(torch.stack([x, 0 * x]), 0)[0],
            "bce": lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.25), reduction="none"),
        }
        self.cases = {name: f for name, f in self.cases.items() if not cases or name in cases}
        self.x = places(count)

    def computed(self, function, x, dtype):
        x = self.torch.from_numpy(x).to(dtype).requires_grad_()
        y = function(x)
        g, = self.torch.autograd.grad(y.sum(), x)
        return y.detach().numpy(), g.numpy()

    def write(self, folder):
        """model.mlir and values.safetensors; {case: (x, (y, g) in f32, (y, g) in f64, those of the next x)}."""
        torch = self.torch
        found = {name: exact_points(self.x, lambda x, function=function: self.computed(function, x, torch.float64),
                                    lambda x, function=function: self.computed(function, x, torch.float32))
                 for name, function in self.cases.items()}
        cases, points_of = self.cases, found

        class Digits(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.p = torch.nn.ParameterDict()
                for name, (x, *_) in points_of.items():
                    self.p[name + "__x0"] = torch.nn.Parameter(torch.from_numpy(x.copy()))
                    self.p[name + "__g"] = torch.nn.Parameter(torch.ones(len(x)))

            def forward(self, x):
                total = x.sum()
                for name in cases:
                    total = total + (cases[name](self.p[name + "__x0"]) * self.p[name + "__g"]).sum()
                return total

        sys.path.insert(0, os.path.join(common.SOURCE, "tools", "python"))
        from zb import aten
        path = os.path.join(folder, "model.mlir")
        aten.export(Digits(), (torch.zeros(1),), path=path)
        return path, (), found


class Jax:
    """Functions of jax.numpy, jax.nn and jax.scipy.special by name."""
    name, module = "stablehlo", "jax"

    def __init__(self, cases, count):
        import jax
        jax.config.update("jax_enable_x64", True)
        jnp, nn, special = jax.numpy, jax.nn, jax.scipy.special
        self.jax, self.x = jax, places(count)
        self.cases = {
            name: getattr(jnp, name) for name in
            "abs arccos arccosh arcsin arcsinh arctan arctanh cos cosh exp exp2 expm1 log log10 log1p log2 reciprocal "
            "sin sinc sinh sqrt cbrt square tan tanh deg2rad".split()
        } | {
            name: getattr(nn, name) for name in
            "celu elu gelu hard_sigmoid hard_swish hard_tanh leaky_relu log_sigmoid mish relu relu6 selu silu sigmoid "
            "softplus soft_sign squareplus".split()
        } | {
            name: getattr(special, name) for name in "erf erfc erfinv logit expit ndtr log_ndtr entr".split()
        } | {
            "gelu_exact": lambda x: nn.gelu(x, approximate=False), "rsqrt": jax.lax.rsqrt,
            "logaddexp": lambda x: jnp.logaddexp(x, 0.0), "logaddexp2": lambda x: jnp.logaddexp2(x, 0.0),
            "logsumexp": lambda x: nn.logsumexp(jnp.stack([x, 0 * x]), 0),
            "log_softmax": lambda x: nn.log_softmax(jnp.stack([x, 0 * x]), 0)[0],
            "softmax": lambda x: nn.softmax(jnp.stack([x, 0 * x]), 0)[0], "cube_root": lambda x: x ** (1 / 3),
            "pow_1_5": lambda x: x ** 1.5, "pow_3": lambda x: x ** 3, "pow_m2": lambda x: x ** -2,
            "atan2": lambda x: jnp.arctan2(x, 1.0), "hypot": lambda x: jnp.hypot(x, 1.0),
            "xlogy": lambda x: special.xlogy(x, x), "xlog1py": lambda x: special.xlog1py(x, x),
            "glu": lambda x: nn.glu(jnp.stack([x, x]), 0)[0], "log_of_sum": lambda x: jnp.log(1 + jnp.exp(x)),
        }
        self.cases = {name: f for name, f in self.cases.items() if not cases or name in cases}

    def computed(self, function, x):
        y, pull = self.jax.vjp(function, self.jax.numpy.asarray(x))
        g, = pull(self.jax.numpy.ones_like(y))
        return [__import__("numpy").asarray(v) for v in (y, g)]

    def write(self, folder):
        import numpy as np
        jnp, found = self.jax.numpy, {}
        for name, function in self.cases.items():
            wide, plain = self.jax.vmap(function), self.jax.jit(function)
            found[name] = exact_points(self.x, lambda x: self.computed(wide, x.astype(np.float64)),
                                       lambda x: self.computed(plain, x))

        def loss(params, x):
            total = x.sum()
            for name in self.cases:
                total = total + (self.cases[name](params[name + "__x0"]) * params[name + "__g"]).sum()
            return total

        params = {}
        for name, (x, *_) in found.items():
            params[name + "__x0"], params[name + "__g"] = jnp.asarray(x), jnp.ones(len(x), jnp.float32)
        path, values = os.path.join(folder, "model.mlir"), os.path.join(folder, "values.safetensors")
        text = self.jax.jit(loss).lower(params, jnp.zeros(1, jnp.float32)).as_text(debug_info=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with open(values, "wb") as file:
            file.write(make_points.safetensors(
                {k: ("F32", v.shape, np.asarray(v).tobytes()) for k, v in params.items()}))
        return path, ("--values", values), found


def measured(door, suite, tool, folder, options):
    path, arguments, found = door.write(folder)
    out = os.path.join(folder, "out.safetensors")
    for way in ((), ("--reference", )):
        process = subprocess.run([tool, path, out, *arguments, *way], capture_output=True, text=True, check=False)
        if process.returncode:
            suite.check(False, f"{door.name}: points: {process.stderr[-2000:]}")
            return
        tensors = {k.rpartition(".")[2]: v for k, v in common.read_safetensors(out)[0].items()}
        compare(door, found, tensors, way, suite, options)


def compare(door, found, tensors, way, suite, options):
    import numpy as np
    for name, (x, theirs, exact, beside) in found.items():
        for k, part in enumerate(("g", "x0")):
            key = f"{name}__{part}"
            ours = np.frombuffer(tensors[key][2], np.float32)
            mine, his = units(ours, exact[k]), units(theirs[k], exact[k])
            if his.max() > 4:
                step = np.clip(np.nan_to_num(units(beside[k], exact[k]), nan=1.0), 1.0, None)
                mine, his = mine / step, his / step
            worst = int(np.argmax(mine))
            good = mine[worst] <= max(4.0, his.max())
            share = float(np.mean(mine > np.maximum(4, his)))
            text = (f"{door.name} {name}{'' if k == 0 else ' gradient'}{' reference' if way else ''}: "
                    f"{mine[worst]:.4g} units at {x[worst]:.9g} ({ours[worst]:.9g}, exactly {exact[k][worst]:.9g}), "
                    f"the framework's {his.max():.4g}; above 4 and its own there: {100 * share:.3g} %")
            if options.all:
                print(text, flush=True)
            suite.check(good, text)


def main():
    options = common.arguments(__doc__, ("--points", {"type": int, "default": 20000}), ("--door", {"default": ""}),
                               ("--all", {"action": "store_true"}), ("cases", {"nargs": "*"}))
    suite = common.Suite(options.bin)
    warnings.simplefilter("ignore")
    tool = os.path.join(os.path.dirname(os.path.abspath(options.bin)), "test", "points")
    for door in (Torch, Jax):
        if options.door and options.door != door.name:
            continue
        if not importlib.util.find_spec(door.module):
            print(f"{door.name} is left out: no module {door.module}")
            continue
        with common.scratch() as folder:
            measured(door(options.cases, options.points), suite, tool, folder, options)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
