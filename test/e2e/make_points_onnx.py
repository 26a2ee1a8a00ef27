#!/usr/bin/env python3
"""Records for points.py what PyTorch computes at special points, of models as torch.onnx.export writes them:
make_points_onnx.py [FOLDER [CASE...]], with the Python of PyTorch.

Cases of points_aten.py become models of a few dozen, as make_points.py says, without the exporter's optimizer, which
takes parameters for constants. A case that PyTorch cannot export is named and left out. Values are those of PyTorch in
f64, or what onnx's reference evaluator gives of the file in f32. With PyTorch 2.15 the cases clamp, clamp_min,
clamp_max, clamp_crossed, clamp_zero, by_hand_hinge_clamp, by_hand_log_clamp, loss_margin_ranking, hardtanh, relu6."""
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
# What zbc refuses by name: labels that are probabilities, the gradient of scatters that take the greatest, loops over
# data, tensors without elements or of bytes; and values that no gradient reaches.
LEFT_OUT += ("by_hand_cross_entropy_soft", "by_hand_scattered_max", "masked_fill", "loss_hinge_embedding",
             "embedding_bag", "moved_empty", "moved_full")
# Whose label_smoothing the exporter drops, which tools/export_onnx.py refuses.
LEFT_OUT += ("by_hand_cross_entropy_smooth",)
KEPT = ("pkg.torch.onnx.fx_node", "pkg.torch.onnx.name_scopes")


def exported(names, path):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        model = points_aten.Points(names, torch.float32)
        torch.onnx.export(model, (torch.zeros(1),), path, dynamo=True, optimize=False, external_data=False)
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
    expected, values, ulps = points_aten.of_framework(names)
    record(path, ("model.onnx", model.SerializeToString()), values, expected,
           f"torch {torch.__version__.partition('+')[0]}", ulps, ["--train", "p.*"])


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


def lp(x, p, dims, keep=True):
    sums = (x.abs() if p == 1 else x * x).sum(dims, keep)
    return sums if p == 1 else torch.where(sums == 0, 0, torch.where(sums == 0, 1, sums).sqrt())


def normalized(x, p):
    norm = lp(x, p, -1)
    return x / torch.where(norm == 0, 1, norm)


LINE = torch.tensor(points_aten.COMMON + points_aten.around(0.5, 1.0, -0.5))
ROWS = torch.tensor(points_aten.ROWS)
FINITE = ROWS[(ROWS.abs() < 1e6).all(1)]
FEW, IMAGES, PAIR = FINITE[:4], FINITE[:8].reshape(2, 4, 2, 2), points_aten.pairs()
WEIGHT = torch.tensor([1.0, 0.0, -0.5, 2.0])


def branch(x):
    return x.sum().log() * x if x.sum() > 0 else x.tanh()


def branches(name, operands):
    """branch as If: the logarithm is NaN where the other branch is taken."""
    make, x = onnx.helper.make_node, operands[0]
    total, greater, yes, no = (f"{name}_{part}" for part in ("total", "greater", "yes", "no"))
    zero = onnx.numpy_helper.from_array(torch.tensor(0.0).numpy())
    logarithm = [make("Log", [total], [yes + "_log"]), make("Mul", [yes + "_log", x], [yes])]
    bodies = [onnx.helper.make_graph(nodes, out, [], [onnx.helper.make_tensor_value_info(out, 1, None)])
              for out, nodes in ((yes, logarithm), (no, [make("Tanh", [x], [no])]))]
    return [make("ReduceSum", [x], [total], keepdims=0), make("Constant", [], [name + "_zero"], value=zero),
            make("Greater", [total, name + "_zero"], [greater]),
            make("If", [greater], [name], then_branch=bodies[0], else_branch=bodies[1])]


# Operators that no exporter of PyTorch writes, or for others: (operator, attributes, formula, inputs, constants). In
# place of an operator: a function that gives the nodes.
OPERATORS = {
    "shrink": ("Shrink", {"lambd": 0.5, "bias": 0.25}, lambda x: torch.where(
        x < -0.5, x + 0.25, torch.where(x > 0.5, x - 0.25, x - x)), [LINE]),
    "softsign": ("Softsign", {}, torch.nn.functional.softsign, [LINE]),
    "swish": ("Swish", {"alpha": 2.0}, lambda x: x * torch.sigmoid(2 * x), [LINE[LINE.abs() < 1e6]]),
    "thresholded_relu": ("ThresholdedRelu", {"alpha": 1.0}, lambda x: torch.nn.functional.threshold(x, 1.0, 0.0),
                         [LINE]),
    "clip_plain": ("Clip", {}, lambda x: x.clamp(-0.5, 1.0), [LINE], [-0.5, 1.0]),
    "mod_plain": ("Mod", {"fmod": 1}, torch.fmod, [x[(PAIR[1] != 0) & PAIR[1].isfinite()] for x in PAIR]),
    "sum_three": ("Sum", {}, lambda x, y, z: x + y + z, [FEW, FEW + 1, FEW - 1]),
    "mean_three": ("Mean", {}, lambda x, y, z: (x + y + z) / 3, [FEW, FEW + 1, FEW - 1]),
    "max_plain": ("Max", {}, torch.maximum, [x[~(PAIR[0].isnan() | PAIR[1].isnan())] for x in PAIR]),
    "log_sum": ("ReduceLogSum", {"keepdims": 1}, lambda x: x.sum().log().view(1, 1), [FINITE.abs()[2:6]]),
    "sum_square": ("ReduceSumSquare", {"keepdims": 1}, lambda x: (x * x).sum().view(1, 1), [FINITE]),
    "l2_plain": ("ReduceL2", {"keepdims": 1}, lambda x: lp(x, 2, (0, 1)), [FEW * 0]),
    "lp_normalization": ("LpNormalization", {"axis": -1, "p": 2}, lambda x: normalized(x, 2), [FINITE]),
    "l1_normalization": ("LpNormalization", {"axis": -1, "p": 1}, lambda x: normalized(x, 1), [FINITE]),
    "rms_normalization": ("RMSNormalization", {"axis": -1}, lambda x, w: torch.nn.functional.rms_norm(
        x, (4,), w, 1e-5), [FINITE, WEIGHT]),
    "group_normalization": ("GroupNormalization", {"num_groups": 2}, lambda x, w, b: torch.nn.functional.group_norm(
        x, 2, w, b), [IMAGES, WEIGHT, WEIGHT]),
    "mean_variance": ("MeanVarianceNormalization", {}, lambda x: (x - x.mean((0, 2, 3), True)) / (
        x.var((0, 2, 3), correction=0, keepdim=True).sqrt() + 1e-9), [IMAGES]),
    "lrn": ("LRN", {"size": 3}, lambda x: torch.nn.functional.local_response_norm(x, 3), [IMAGES]),
    "einsum": ("Einsum", {"equation": "ij,kj->ik"}, lambda x, y: x @ y.T, [FEW, FEW]),
    "lp_pool": ("LpPool", {"kernel_shape": [2, 2], "p": 1}, lambda x: lp(x, 1, (2, 3)), [IMAGES]),
    "global_average": ("GlobalAveragePool", {}, lambda x: x.mean((2, 3), True), [IMAGES]),
    "global_max": ("GlobalMaxPool", {}, lambda x: x.amax((2, 3), True), [IMAGES]),
    "global_lp": ("GlobalLpPool", {"p": 1}, lambda x: lp(x, 1, (2, 3)), [IMAGES]),
    "flatten": ("Flatten", {}, lambda x: x.flatten(1), [IMAGES]),
    "depth_to_space": ("DepthToSpace", {"blocksize": 2}, lambda x: torch.nn.functional.pixel_shuffle(x, 2), [IMAGES]),
    "space_to_depth": ("SpaceToDepth", {"blocksize": 2}, lambda x: x.reshape(2, 4, 4).transpose(1, 2).reshape(
        2, 16, 1, 1), [IMAGES]),
    "if_yes": (branches, {}, branch, [FEW.abs()]),
    "if_no": (branches, {}, branch, [-FEW.abs()]),
    "conv_transpose": ("ConvTranspose", {}, torch.nn.functional.conv_transpose2d, [IMAGES, IMAGES.transpose(0, 1)]),
}


def operators():
    """Their cases, and a model of them."""
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    nodes, initializers, names = [helper.make_node("ReduceSum", ["x"], ["total0"], keepdims=0)], [], []
    for k, (name, (kind, attributes, function, inputs, *constants)) in enumerate(OPERATORS.items()):
        name = "operator_" + name
        names.append(name)
        points_aten.case(name, function, *inputs, ulp=64)
        operands = [f"p.{name}__x{i}" for i in range(len(inputs))]
        for i, constant in enumerate(constants[0] if constants else ()):
            operands.append(f"{name}_constant{i}")
            initializers.append(numpy_helper.from_array(torch.tensor(constant).numpy(), operands[-1]))
        nodes += kind(name, operands) if callable(kind) else [helper.make_node(kind, operands, [name], **attributes)]
        nodes += [helper.make_node("Mul", [name, f"p.{name}__g"], [name + "_weighted"]),
                  helper.make_node("ReduceSum", [name + "_weighted"], [name + "_sum"], keepdims=0),
                  helper.make_node("Add", [f"total{k}", name + "_sum"], [f"total{k + 1}"])]
        initializers += [numpy_helper.from_array(x.detach().numpy(), "p." + key)
                         for key, x in points_aten.Points([name], torch.float32).p.items()]
    graph = helper.make_graph(nodes, "operators", [helper.make_tensor_value_info("x", 1, [1])],
                              [helper.make_tensor_value_info(f"total{len(OPERATORS)}", 1, [])], initializers)
    return names, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    folder = sys.argv[1] if len(sys.argv) > 1 else DATA
    names = sys.argv[2:] or [name for name in points_aten.CASES if not name.startswith(LEFT_OUT)]
    os.makedirs(folder, exist_ok=True)
    numbers = iter(range(1, 1000))
    kinds, model = operators()
    write(kinds, os.path.join(folder, "onnx-operators.zip"), model)
    with tempfile.TemporaryDirectory() as scratch:
        for first in range(0, len(names), TOGETHER):
            write_all(names[first:first + TOGETHER], folder, scratch, numbers)


if __name__ == "__main__":
    main()
