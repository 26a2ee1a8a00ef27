#!/usr/bin/env python3
"""Records for points.py what JAX computes at special points: make_points_jax.py [FOLDER [CASE...]], with its Python.

The cases of points_jax.py become one loss, as make_points.py says, in the printed form without places. JAX 0.10."""
import os
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import jax
import jax.numpy as jnp
import numpy as np

import points_jax
from make_points import DATA, record

WEIGHTS = [1.0, -0.75, 1.5, -2.0, 0.625]


def part(name, p):
    function, inputs = points_jax.CASES[name]
    return jnp.sum(function(*[p[f"{name}__x{i}"] for i in range(len(inputs))]) * p[name + "__g"])


def parameters(name):
    function, inputs = points_jax.CASES[name]
    y = jax.eval_shape(function, *inputs)
    return {name + "__g": np.resize(np.array(WEIGHTS, np.float32), y.shape),
            **{f"{name}__x{i}": x for i, x in enumerate(inputs)}}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else DATA
    names = sys.argv[2:] or list(points_jax.CASES)
    values, expected, everything = {}, {}, {}
    for name in names:
        p = parameters(name)
        everything.update(p)
        values.update({key: ("F32", x.shape, x.tobytes()) for key, x in p.items()})
        gradients = jax.jit(jax.grad(lambda p, name=name: part(name, p)))(p)
        expected.update({key: ("F32", x.shape, np.asarray(x).tobytes()) for key, x in gradients.items()})
        with jax.enable_x64(True):
            gradients = jax.grad(lambda p, name=name: part(name, p))(
                {key: jnp.asarray(x, jnp.float64) for key, x in p.items()})
            expected.update({key + ".exact": ("F64", x.shape, np.asarray(x, np.float64).tobytes())
                             for key, x in gradients.items()})

    def loss(p, x):
        return jnp.sum(x) + sum(part(name, p) for name in names)

    text = jax.jit(loss).lower(everything, np.zeros(1, np.float32)).as_text(debug_info=True)
    text = re.sub(r"^#loc.*\n", "", text, flags=re.M)
    text = re.sub(r' loc\((#loc\d*|unknown|"[^"]*"\(#loc\d*\))\)', "", text)
    os.makedirs(folder, exist_ok=True)
    version = ".".join(jax.__version__.split(".")[:2])
    record(os.path.join(folder, f"stablehlo-{version}.zip"), ("model.mlir", text), values, expected,
           f"jax {jax.__version__}",
           {name: [ulp, 0, 0.0] for name, ulp in points_jax.ULPS.items() if name in names})


if __name__ == "__main__":
    main()
