#!/usr/bin/env python3
"""Records for points.py what Paddle computes at special points: make_points_paddle.py [FOLDER [CASE...]], with Python
of paddlepaddle 3.3.1. The archive is as make_points.py has it, of a program as PIR."""
import os
import sys
import tempfile

os.environ.setdefault("FLAGS_enable_pir_api", "1")
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.append(sys.path.pop(0))  # paddle.py of this folder is no library

import numpy as np
import paddle

import points_paddle
from make_points import DATA, record


def built(names, dtype):
    """(main, startup, loss, {parameter: value}); the loss is the sum of sum(y * CASE__g)."""
    main, startup, values = paddle.static.Program(), paddle.static.Program(), {}

    def parameter(name, value):
        values[name] = value.astype(dtype)
        return paddle.static.create_parameter(list(value.shape), dtype, name=name)

    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        total = paddle.sum(paddle.static.data("x", [1], dtype))
        for name in names:
            case = points_paddle.CASES[name]
            inputs = [parameter(f"{name}__x{i}", x) if x.dtype.kind == "f" else paddle.assign(x)
                      for i, x in enumerate(case.inputs)]
            y = case.function(*inputs)
            weights = np.resize(np.array([1.0, -0.75, 0.5, -1.0, 0.625]), y.shape)
            total = total + paddle.sum(y * parameter(name + "__g", weights))
    return main, startup, total, values


def computed(names, dtype):
    """{parameter: (its value, its gradient)}"""
    main, startup, total, values = built(names, dtype)
    with paddle.static.program_guard(main, startup):
        pairs = [pair for pair in paddle.static.append_backward(total) if pair[1] is not None]
    exe, scope = paddle.static.Executor(paddle.CPUPlace()), paddle.static.Scope()
    with paddle.static.scope_guard(scope):
        exe.run(startup)
        for name, value in values.items():
            scope.find_var(name).get_tensor().set(value, paddle.CPUPlace())
        found = exe.run(main, feed={"x": np.zeros(1, dtype)}, fetch_list=[gradient for _, gradient in pairs])
    gradients = {parameter.name: np.asarray(value) for (parameter, _), value in zip(pairs, found)}
    return {name: (value, gradients.get(name, np.zeros_like(value))) for name, value in values.items()}


def main():
    paddle.enable_static()
    folder = sys.argv[1] if len(sys.argv) > 1 else DATA
    names, values, expected = [], {}, {}
    for name in sys.argv[2:] or list(points_paddle.CASES):
        try:
            built([name], "float32")
            single = {kind: computed([name], kind) for kind in ("float32", "float64")}
        except Exception as error:  # what Paddle itself has no kernel for
            print(f"{name} is left out: {type(error).__name__}: {str(error).strip().splitlines()[-1][:200]}")
            continue
        names.append(name)
        for key, (value, gradient) in single["float32"].items():
            values[key] = ("F32", value.shape, value.tobytes())
            expected[key] = ("F32", gradient.shape, gradient.tobytes())
            exact = single["float64"][key][1]
            expected[key + ".exact"] = ("F64", exact.shape, exact.tobytes())
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.json")
        program = built(names, "float32")[0]
        last = len(program.global_block().ops) - 1
        paddle.base.core.serialize_pir_program(program, path, True, False, True)
        with open(path) as file:
            text = file.read()
    cases = points_paddle.CASES
    ulps = {name: [cases[name].ulp, cases[name].width, cases[name].least] for name in names}
    os.makedirs(folder, exist_ok=True)
    record(os.path.join(folder, "paddle-3.3.zip"), ("model.json", text), values, expected,
           f"paddle {paddle.__version__}", ulps, ["--loss", f"add:{last}"])
    print(f"{len(names)} cases")


if __name__ == "__main__":
    main()
