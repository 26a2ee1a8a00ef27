#!/usr/bin/env python3
"""Records programs of careful.py as a framework writes them: make_careful.py DOOR [FOLDER], with the Python of PyTorch
(aten, onnx, and operators: those of ONNX alone), JAX (stablehlo) or Paddle (paddle).

The loss is the sum of sum(CASE__g * y) of the cases of careful_cases.py, so that the gradient of CASE__g is y; the
archive is as make_points.py has it, without what the framework computes."""
import os
import re
import sys
import tempfile
import warnings
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(sys.path.pop(0))  # paddle.py of this folder is no library
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))

from careful_cases import CASES, EPSILON, QUARTER

DATA = os.path.join(HERE, "..", "data", "careful")


def torch_cases():
    import torch
    import torch.nn.functional as F
    return with_far({
        "log1p": torch.log1p, "expm1": torch.expm1, "softplus": F.softplus, "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "logsumexp": lambda x: torch.logsumexp(x, 1),
        "variance": lambda x: x.var(1), "std": lambda x: x.std(1), "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
        "layer_norm": lambda x: F.layer_norm(x, x.shape[1:], eps=EPSILON),
        "rms_norm": lambda x: F.rms_norm(x, x.shape[1:], eps=EPSILON),
        "group_norm": lambda x: F.group_norm(x[:, :, None], 1, eps=EPSILON)[:, :, 0],
        "batch_norm": lambda x: F.batch_norm(x.T, None, None, training=True, eps=EPSILON).T,
        "quantile": lambda x: torch.quantile(x, QUARTER, 1), "median": lambda x: torch.median(x, 1).values,
    })


def with_far(functions):
    return functions | {name + "_far": functions[name] for name in ("layer_norm", "group_norm", "batch_norm")}


def torch_model(functions):
    import torch

    class Careful(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = torch.nn.ParameterDict()
            for name, function in functions.items():
                x = torch.tensor(CASES[name][0])
                self.p[name + "__x0"] = torch.nn.Parameter(x)
                with torch.no_grad():
                    self.p[name + "__g"] = torch.nn.Parameter(torch.ones_like(function(x)))

        def forward(self, x):
            total = x.sum()
            for name, function in functions.items():
                total = total + (function(self.p[name + "__x0"]) * self.p[name + "__g"]).sum()
            return total

    return Careful()


def torch_values(model):
    return {"p." + name: ("F32", x.shape, x.detach().contiguous().numpy().tobytes()) for name, x in model.p.items()}


def of_aten(folder):
    import torch
    from zb import aten
    model = torch_model(torch_cases())
    path = os.path.join(folder, "model.mlir")
    aten.export(model, (torch.zeros(1),), path=path)
    with open(path) as file:
        text = re.sub(r"^#f.*\n", "", file.read(), flags=re.M)
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        stored = file.read()
    text = re.sub(r' loc\("([^"]*)"(\(#f\d+\))?\)', "", text)
    return {"model.mlir": text, "model.safetensors": stored}, torch_values(model), []


def of_onnx(folder):
    import make_points_onnx
    import torch
    functions = torch_cases()
    for name in ("median", "batch_norm_far"):  # what PyTorch's exporter does not write, and takes apart
        del functions[name]
    model = torch_model(functions)
    make_points_onnx.points_aten.Points = lambda names, dtype: model
    exported = make_points_onnx.exported(list(functions), os.path.join(folder, "model.onnx"))
    return {"model.onnx": exported.SerializeToString()}, torch_values(model), ["--train", "p.*"]


def of_operators(folder):
    """ONNX's own, as a file may have them."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    image, line = ["Unsqueeze", "two"], ["Squeeze", "two"]
    forms = {
        "softplus": [["Softplus"]], "gelu": [["Gelu"]], "gelu_tanh": [["Gelu", {"approximate": "tanh"}]],
        "logsumexp": [["ReduceLogSumExp", "one", {"keepdims": 0}]], "norm": [["ReduceL2", "one", {"keepdims": 0}]],
        "layer_norm": [["LayerNormalization", "ones5", {"axis": 1, "epsilon": EPSILON}]],
        "rms_norm": [["RMSNormalization", "ones5", {"axis": 1, "epsilon": EPSILON}]],
        "group_norm": [image, ["GroupNormalization", "ones5", "zeros5", {"num_groups": 1, "epsilon": EPSILON}], line],
        "batch_norm": [["Transpose"], ["BatchNormalization", "ones", "zeros", "zeros", "ones", {
            "training_mode": 1, "epsilon": EPSILON}], ["Transpose"]],
    }
    nodes, initial, values, sums = [], {"one": np.array([1]), "two": np.array([2])}, {}, ["x_sum"]
    for name, form in with_far(forms).items():
        x = np.array(CASES[name][0], np.float32)
        ends = {"ones": np.ones(len(x), np.float32), "zeros": np.zeros(len(x), np.float32),
                "ones5": np.ones(5, np.float32), "zeros5": np.zeros(5, np.float32)}
        shape = x.shape[:1] if name in ("logsumexp", "norm") else x.shape
        values["p." + name + "__x0"], values["p." + name + "__g"] = x, np.ones(shape, np.float32)
        at = "p." + name + "__x0"
        for k, (op, *operands) in enumerate(form):
            attributes = operands.pop() if operands and isinstance(operands[-1], dict) else {}
            named = [operand if operand in initial else f"{name}.{k}.{i}" for i, operand in enumerate(operands)]
            initial |= {own: ends[operand] for own, operand in zip(named, operands) if operand in ends}
            nodes.append(helper.make_node(op, [at, *named], [f"{name}.{k}"], **attributes))
            at = f"{name}.{k}"
        nodes.append(helper.make_node("Mul", [at, "p." + name + "__g"], [name + ".product"]))
        nodes.append(helper.make_node("ReduceSum", [name + ".product"], [name + ".sum"], keepdims=0))
        sums.append(name + ".sum")
    nodes += [helper.make_node("ReduceSum", ["x"], ["x_sum"], keepdims=0), helper.make_node("Sum", sums, ["loss"])]
    tensors = [numpy_helper.from_array(value, name) for name, value in (initial | values).items()]
    graph = helper.make_graph(nodes, "careful", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    values = {name: ("F32", x.shape, x.tobytes()) for name, x in values.items()}
    return {"model.onnx": model.SerializeToString()}, values, ["--train", "p.*"]


def of_stablehlo(folder):
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np
    jnp, nn, lax = jax.numpy, jax.nn, jax.lax

    def normed(x, axis=1):  # as written by hand, and by Flax without its fast variance
        return (x - x.mean(axis, keepdims=True)) * lax.rsqrt(x.var(axis, keepdims=True) + EPSILON)

    functions = {
        "log1p": jnp.log1p, "expm1": jnp.expm1, "softplus": nn.softplus,
        "gelu": lambda x: nn.gelu(x, approximate=False), "gelu_tanh": nn.gelu,
        "logsumexp": lambda x: nn.logsumexp(x, 1), "variance": lambda x: x.var(1, ddof=1),
        "std": lambda x: x.std(1, ddof=1), "norm": lambda x: jnp.linalg.norm(x, axis=1),
        "layer_norm": lambda x, w: normed(x) * w,
        "rms_norm": lambda x, w: x * lax.rsqrt(jnp.mean(x * x, 1, keepdims=True) + EPSILON) * w,
        "group_norm": lambda x: normed(x[:, None, :], (1, 2))[:, 0], "batch_norm": lambda x: normed(x.T, 0).T,
        "quantile": lambda x: jnp.quantile(x, QUARTER, 1), "median": lambda x: jnp.median(x, 1),
    }
    values = {}
    for name, function in functions.items():
        x = np.array(CASES[name][0], np.float32)
        values[name + "__x0"] = x
        weights = [np.ones(5, np.float32)] * (name in ("layer_norm", "rms_norm"))
        values |= {name + "__w": w for w in weights}
        values[name + "__g"] = np.ones(jax.eval_shape(function, x, *weights).shape, np.float32)

    def part(p, name, function):
        weights = [p[name + "__w"]] if name + "__w" in p else []
        return jnp.sum(function(p[name + "__x0"], *weights) * p[name + "__g"])

    def loss(p, x):
        return jnp.sum(x) + sum(part(p, name, function) for name, function in functions.items())

    text = jax.jit(loss).lower(values, np.zeros(1, np.float32)).as_text(debug_info=True)
    text = re.sub(r"^#loc.*\n", "", text, flags=re.M)
    text = re.sub(r' loc\((#loc\d*|unknown|"[^"]*"\(#loc\d*\))\)', "", text)
    return {"model.mlir": text}, {key: ("F32", x.shape, x.tobytes()) for key, x in values.items()}, []


def of_paddle(folder):
    os.environ.setdefault("FLAGS_enable_pir_api", "1")
    import numpy as np
    import paddle
    F = paddle.nn.functional
    paddle.enable_static()

    def batch_norm(x):
        rows = x.shape[0]
        kept = [parameter(f"{x.name.replace('__x0', '')}__{name}", np.full(rows, value, np.float32))
                for name, value in (("m", 0), ("s", 1), ("w", 1), ("b", 0))]
        for buffer in kept[:2]:
            buffer.stop_gradient = True
        return F.batch_norm(paddle.t(x), *kept, training=True, epsilon=EPSILON).t()

    functions = {
        "log1p": paddle.log1p, "expm1": paddle.expm1, "softplus": F.softplus, "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate=True), "logsumexp": lambda x: paddle.logsumexp(x, 1),
        "variance": lambda x: paddle.var(x, 1), "std": lambda x: paddle.std(x, 1),
        "norm": lambda x: paddle.norm(x, 2, 1), "layer_norm": lambda x: F.layer_norm(x, x.shape[1:], epsilon=EPSILON),
        "rms_norm": lambda x: x * paddle.rsqrt(paddle.mean(x * x, 1, True) + EPSILON) * parameter(
            "rms_norm__w", np.ones(5, np.float32)),
        "group_norm": lambda x: F.group_norm(x.unsqueeze(2), 1, EPSILON).squeeze(2),
        "batch_norm": batch_norm,
        "quantile": lambda x: paddle.quantile(x, QUARTER, 1), "median": lambda x: paddle.median(x, 1),
    }
    functions = with_far(functions)
    main, startup, values = paddle.static.Program(), paddle.static.Program(), {}

    def parameter(name, value):
        values[name] = ("F32", value.shape, value.tobytes())
        return paddle.static.create_parameter(list(value.shape), "float32", name=name)

    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        total = paddle.sum(paddle.static.data("x", [1], "float32"))
        for name, function in functions.items():
            try:
                y = function(parameter(name + "__x0", np.array(CASES[name][0], np.float32)))
            except Exception as error:
                print(f"{name} is left out: {type(error).__name__}: {str(error).strip().splitlines()[-1][:200]}")
                continue
            total = total + paddle.sum(y * parameter(name + "__g", np.ones(y.shape, np.float32)))
    path = os.path.join(folder, "model.json")
    paddle.base.core.serialize_pir_program(main, path, True, False, True)
    with open(path) as file:
        return {"model.json": file.read()}, values, ["--loss", f"add:{len(main.global_block().ops) - 1}"]


def main():
    import json

    import make_points
    warnings.simplefilter("ignore")
    door, to = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else DATA
    with tempfile.TemporaryDirectory() as scratch:
        files, values, options = globals()["of_" + door](scratch)
    files["values.safetensors"] = make_points.safetensors(values, {"options": json.dumps(options)})
    os.makedirs(to, exist_ok=True)
    with zipfile.ZipFile(os.path.join(to, door + ".zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, body in files.items():
            archive.writestr(zipfile.ZipInfo(name), body, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
