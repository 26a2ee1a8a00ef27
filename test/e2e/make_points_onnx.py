#!/usr/bin/env python3
"""Records for points.py what PyTorch computes at special points, of models as torch.onnx.export writes them:
make_points_onnx.py [FOLDER [CASE...]], with the Python of PyTorch.

Cases of points_aten.py become models of a few dozen, as make_points.py says, without the exporter's optimizer, which
takes parameters for constants. A case that PyTorch cannot export is named and left out. Values are those of PyTorch in
f64, or what onnx's reference evaluator gives of the file in f32."""
import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings

import onnx
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import points_aten
from make_points import DATA, record

TOGETHER = 48
# What the exporter has no operators for.
LEFT_OUT = ("lgamma", "digamma", "polygamma", "rrelu", "fmax", "fmin", "hypot", "copysign", "cumprod", "cummax",
            "cummin", "amax_all", "amin_all", "median", "nanmedian", "kthvalue", "sort_stable", "cdist", "pdist",
            "beta", "multigammaln", "by_hand_attention")
# What zbc refuses by name: labels that are probabilities, the gradient of scatters that take the greatest; and a value
# that no gradient reaches.
LEFT_OUT += ("by_hand_cross_entropy_soft", "by_hand_scattered_max", "masked_fill", "loss_hinge_embedding")
# Whose label_smoothing the exporter drops, which tools/export_onnx.py refuses.
LEFT_OUT += ("by_hand_cross_entropy_smooth",)
KEPT = ("pkg.torch.onnx.fx_node", "pkg.torch.onnx.name_scopes")


class Points(torch.nn.Module):
    def __init__(self, names, dtype):
        super().__init__()
        self.p, self.names = torch.nn.ParameterDict(), names
        for name in names:
            inputs = [x.to(dtype) if x.is_floating_point() else x for x in points_aten.CASES[name].inputs]
            with torch.no_grad():
                y = points_aten.CASES[name].function(*inputs)
            weights = torch.tensor([1.0, -0.75, 0.5, -1.0, 0.625], dtype=dtype).repeat(y.numel() // 5 + 1)
            self.p[name + "__g"] = torch.nn.Parameter(weights[:y.numel()].view(y.shape).clone())
            for i, x in enumerate(inputs):
                if x.is_floating_point():
                    self.p[f"{name}__x{i}"] = torch.nn.Parameter(x.clone())
                else:
                    self.register_buffer(f"{name}__x{i}", x)

    def value(self, name):
        keys = (f"{name}__x{i}" for i in range(len(points_aten.CASES[name].inputs)))
        return points_aten.CASES[name].function(*(self.p[k] if k in self.p else getattr(self, k) for k in keys))

    def forward(self, x):
        total = x.sum()  # an input of every model
        for name in self.names:
            total = total + (self.value(name) * self.p[name + "__g"]).sum()
        return total


def exported(names, path):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(Points(names, torch.float32), (torch.zeros(1),), path, dynamo=True, optimize=False,
                          external_data=False)
    model = onnx.load(path)
    for node in [*model.graph.node, *(node for function in model.functions for node in function.node)]:
        kept = [(entry.key, entry.value) for entry in node.metadata_props if entry.key in KEPT]
        del node.metadata_props[:]
        for key, value in kept:
            node.metadata_props.add(key=key, value=value)
        node.ClearField("doc_string")
    del model.metadata_props[:]
    return model


def write(names, path, model):
    expected, values = {}, {}
    for dtype, kind, end in ((torch.float32, "F32", ""), (torch.float64, "F64", ".exact")):
        module = Points(names, dtype)
        for name in names:
            (module.value(name) * module.p[name + "__g"]).sum().backward()
        for name, parameter in module.p.items():
            gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            expected["p." + name + end] = (kind, gradient.shape, gradient.contiguous().numpy().tobytes())
            if kind == "F32":
                values["p." + name] = (kind, parameter.shape, parameter.detach().contiguous().numpy().tobytes())
    cases = {name: points_aten.CASES[name] for name in names}
    record(path, ("model.onnx", model.SerializeToString()), values, expected,
           f"torch {torch.__version__.partition('+')[0]}",
           {name: [case.ulp, case.width, case.least] for name, case in cases.items()},
           ["--train", "p.*"])


def write_all(names, folder, scratch, numbers):
    """Archives of all that can be exported: where a model of several cannot, of its halves."""
    try:
        model = exported(names, os.path.join(scratch, "model.onnx"))
    except Exception as error:
        if len(names) == 1:
            return print(f"{names[0]}: {type(error).__name__}", flush=True)
        half = len(names) // 2
        write_all(names[:half], folder, scratch, numbers)
        return write_all(names[half:], folder, scratch, numbers)
    version = ".".join(torch.__version__.split(".")[:2])
    write(names, os.path.join(folder, f"onnx-{version}-{next(numbers)}.zip"), model)


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    folder = sys.argv[1] if len(sys.argv) > 1 else DATA
    names = sys.argv[2:] or [name for name in points_aten.CASES if not name.startswith(LEFT_OUT)]
    os.makedirs(folder, exist_ok=True)
    numbers = iter(range(1, 1000))
    with tempfile.TemporaryDirectory() as scratch:
        for first in range(0, len(names), TOGETHER):
            write_all(names[first:first + TOGETHER], folder, scratch, numbers)


if __name__ == "__main__":
    main()
