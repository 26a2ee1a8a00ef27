#!/usr/bin/env python3
"""make_cases.py: writes cases.json, which import_test.c runs: small models (base64) and what must come of them.
Needs onnx and onnxruntime.

Every good case is one operator (or a few) between an input x and loss = sum(y * w) * m.scale, and has the loss that
onnxruntime gives (ONNX's own reference evaluator where that has no kernel). A case whose x is float and
constant-foldable is written twice: computed (x is an input) and folded (x is an initializer). Bad cases have the
text that the error must contain. Small random numbers, fixed seed.
"""

import base64
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools"))
import random_words  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
F, I, B, I32 = np.float32, np.int64, np.bool_, np.int32
random = np.random.default_rng(7)
table = []


def numbers(*shape, low=-1.0, high=1.0):
    return random.uniform(low, high, shape).astype(F)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(
        op, inputs.split(), outputs.split(), name="n_" + op.lower() + "_" + outputs.split()[0], **attributes
    )


def evaluate(model, feeds):
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        ).run(None, feeds)
    except Exception:
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(model).run(None, feeds)


def absent(text):
    return ["" if name == "_" else name for name in text]


def build(nodes, inputs, constants, outputs, opset, ir=10):
    for n in nodes:
        n.input[:] = absent(n.input)
        n.output[:] = absent(n.output)
    graph = helper.make_graph(
        nodes,
        "case",
        [
            helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for k, v in inputs.items()
        ],
        [helper.make_tensor_value_info(k, t, s) for k, t, s in outputs],
        [numpy_helper.from_array(np.array(v), k) for k, v in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="make_cases")
    model.ir_version = ir
    return model


def save(name, model, **row):
    data = model if isinstance(model, bytes) else model.SerializeToString()
    if "loss" in row:
        row["uses"] = sorted({n.op_type for n in model.graph.node})
    table.append(dict(name=name, model=base64.b64encode(data).decode(), **row))


def array(value):
    kind = {"float32": "f32", "int64": "i64", "int32": "i32", "bool": "i1"}[str(value.dtype)]
    return dict(
        dtype=kind, shape=list(value.shape), values=[float(v) if kind == "f32" else int(v) for v in value.reshape(-1)]
    )


def good(name, nodes, inputs, constants=None, opset=20, y="y", fold=False, **row):
    """Adds loss = sum(cast(y) * w) * m.scale to the nodes, computes it, writes the case."""
    constants = dict(constants or {})
    found = evaluate(typed_output(nodes, inputs, constants, y, opset), inputs)[0]
    tail = []
    last = y
    if found.dtype != F:
        tail.append(node("Cast", y, "y_float", to=TensorProto.FLOAT))
        last = "y_float"
    constants["w"] = numbers(*found.shape)
    constants["m.scale"] = np.array([1.5], F)
    tail += [
        node("Mul", last + " w", "y_w"),
        node("ReduceSum", "y_w", "y_sum", keepdims=0),
        node("Mul", "y_sum m.scale", "y_scaled"),
        node("ReduceSum", "y_scaled", "loss", keepdims=0),
    ]
    for suffix, own, extra in [("", inputs, {})] + ([("-folded", {}, inputs)] if fold else []):
        model = build(list(nodes) + tail, own, {**constants, **extra}, [("loss", TensorProto.FLOAT, [])], opset)
        loss = float(evaluate(model, own)[0])
        save(name + suffix, model, inputs={k: array(v) for k, v in own.items()}, loss=loss, **row)


def typed_output(nodes, inputs, constants, y, opset):
    """A model whose output is y, with the type that shape inference finds."""
    model = build(list(nodes), inputs, constants, [], opset)
    inferred = onnx.shape_inference.infer_shapes(model)
    kinds = {
        v.name: v for v in list(inferred.graph.value_info) + list(inferred.graph.output) + list(inferred.graph.input)
    }
    model.graph.output.append(kinds[y] if y in kinds else helper.make_tensor_value_info(y, TensorProto.FLOAT, None))
    return model


def one(
    name, op, x, extra="", constants=None, fold=True, opset=20, inputs=None, outputs="y", label=None, **attributes
):
    """One node: op(x, extra...) -> y."""
    own = {"x": x, **(inputs or {})}
    good(label or name, [node(op, ("x " + extra).strip(), outputs, **attributes)], own, constants, opset, fold=fold)


# ---- Elementwise ----
def elementwise():
    x = numbers(2, 3)
    small, positive, wide = (
        numbers(2, 3, low=-0.9, high=0.9),
        numbers(2, 3, low=0.2, high=2),
        numbers(2, 3, low=-4, high=4),
    )
    for op in (
        "Abs Asinh Atan Cos Cosh Erf Exp HardSwish Mish Neg Relu "
        "Sigmoid Sin Sinh Softplus Softsign Tan Tanh Ceil Floor Round Sign"
    ).split():
        one(op.lower(), op, wide if op not in ("Tan",) else small)
    for op in "Acos Asin Atanh".split():
        one(op.lower(), op, small)
    for op in "Log Sqrt Reciprocal".split():
        one(op.lower(), op, positive)
    one("acosh", "Acosh", positive + F(1))
    for op, attributes in dict(
        Celu=dict(alpha=0.7),
        Elu=dict(alpha=0.6),
        HardSigmoid=dict(alpha=0.3, beta=0.4),
        LeakyRelu=dict(alpha=0.2),
        Selu=dict(alpha=1.2, gamma=0.9),
        Shrink=dict(bias=0.1, lambd=0.3),
        ThresholdedRelu=dict(alpha=0.5),
    ).items():
        one(op.lower(), op, wide, **attributes)
        one(op.lower() + "-default", op, wide)
    one("swish", "Swish", wide, opset=24, alpha=1.3)
    one("gelu", "Gelu", wide)
    one("gelu-tanh", "Gelu", wide, approximate="tanh")
    one("clip", "Clip", wide, "lo hi", dict(lo=F(-0.5), hi=F(0.7)))
    one("clip-max", "Clip", wide, "_ hi", dict(hi=F(0.7)))
    row = numbers(3)
    for op in "Add Sub Mul".split():
        one(op.lower(), op, x, "b", dict(b=row))
    one("div", "Div", x, "b", dict(b=positive))
    one("pow", "Pow", positive, "e", dict(e=F(2.5)))
    one("pow-integer", "Pow", positive, "e", dict(e=I(3)))
    one("prelu", "PRelu", wide, "slope", {"slope": row})
    one("max", "Max", x, "b c", dict(b=row, c=F(0)))
    one("min", "Min", x, "b", dict(b=row))
    one("sum", "Sum", x, "b c", dict(b=row, c=x[::-1].copy()))
    one("mean", "Mean", x, "b c", dict(b=row, c=x[::-1].copy()))
    one("mod", "Mod", np.array([7, -7, 5, -5], I), "b", dict(b=np.array([3, 3, -3, -3], I)))
    one("fmod", "Mod", wide, "b", dict(b=positive), fmod=1)
    for op in "Add Sub Mul Div".split():
        one(op.lower() + "-i64", op, np.array([9, -9, 4], I), "b", dict(b=np.array([2, 2, -3], I)))
    for op in "Equal Greater GreaterOrEqual Less LessOrEqual".split():
        one(op.lower(), op, np.array([1, 2, 3], I), "b", dict(b=np.array([2, 2, 2], I)))
    truth = np.array([True, False, True, False])
    for op in "And Or Xor".split():
        one(op.lower(), op, truth, "b", dict(b=np.array([True, True, False, False])))
    one("not", "Not", truth)
    for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
        one(op.lower(), op, np.array([12, 10], I), "b", dict(b=np.array([10, 6], I)))
    one("isnan", "IsNaN", x)
    one("isinf", "IsInf", x)
    good(
        "isinf-positive", [node("IsInf", "c", "y", detect_negative=0)], {}, dict(c=np.array([np.inf, -np.inf, 1], F))
    )
    one("shift-left", "BitShift", np.array([12, 10], I), "b", dict(b=np.array([1, 2], I)), direction="LEFT")
    one("shift-right", "BitShift", np.array([12, 10], I), "b", dict(b=np.array([1, 2], I)), direction="RIGHT")
    one("bitwise-not", "BitwiseNot", np.array([12, -10], I))
    one("where", "Where", truth, "a b", dict(a=numbers(2, 4), b=F(3)))
    one("cast-i64", "Cast", wide, to=TensorProto.INT64)
    one("cast-bool", "Cast", np.array([0, 1, 5], I), to=TensorProto.BOOL)
    one("castlike", "CastLike", np.array([0, 1, 5], I), "like", dict(like=F(0)))
    one("identity", "Identity", x)
    good(
        "castlike-type-only",
        [node("CastLike", "c x", "d"), node("Sqrt", "d", "e"), node("Mul", "x e", "y")],
        {"x": x},
        dict(c=np.array([4], I)),
        ops={"zb.sqrt": 0, "zb.cast": 0},
    )
    one("dropout", "Dropout", x, "ratio", dict(ratio=F(0.4)))
    one("dropout-training-0", "Dropout", x, "ratio training", dict(ratio=F(0), training=np.array(True)))


def reductions():
    x = numbers(2, 3, 4, low=0.2, high=1.5)
    for op in (
        "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd "
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare"
    ).split():
        one(op.lower(), op, x, "axes", dict(axes=np.array([1, -1], I)), keepdims=0)
        one(op.lower() + "-all", op, x)
        if op != "ReduceSum":
            one(op.lower() + "-attribute", op, x, opset=17, axes=[1], keepdims=1)
    one("reduce-noop", "ReduceSum", x, noop_with_empty_axes=1)
    one("softmax", "Softmax", x)
    one("softmax-1", "Softmax", x, axis=1)
    one("log-softmax", "LogSoftmax", x, axis=-2)
    scale, bias = numbers(4), numbers(4)
    one("layer-norm", "LayerNormalization", x, "m.s m.b", {"m.s": scale, "m.b": bias}, epsilon=1e-3)
    one("layer-norm-no-bias", "LayerNormalization", x, "m.s", {"m.s": scale}, axis=2)
    one("layer-norm-2", "LayerNormalization", x, "m.s m.b", {"m.s": numbers(3, 4), "m.b": numbers(3, 4)}, axis=1)
    one("layer-norm-broadcast", "LayerNormalization", x, "m.s", {"m.s": numbers(4)}, axis=1)
    good(
        "layer-norm-mean",
        [node("LayerNormalization", "x m.s", "o mean rstd"), node("Add", "mean rstd", "y")],
        {"x": x},
        {"m.s": scale},
    )
    one("rms-norm", "RMSNormalization", x, "m.s", {"m.s": scale}, opset=23, epsilon=1e-4)


def products():
    a, b = numbers(2, 3, 4), numbers(4, 5)
    one("matmul", "MatMul", a, "m.b", {"m.b": b})
    good("matmul-constant", [node("MatMul", "x b", "y")], {"x": a}, {"b": b}, fold=True, freeze=["b"])
    one("matmul-batch", "MatMul", a, "m.b", {"m.b": numbers(2, 4, 3)})
    one("matmul-left-vector", "MatMul", numbers(4), "m.b", {"m.b": numbers(2, 4, 3)})
    one("matmul-right-vector", "MatMul", a, "m.b", {"m.b": numbers(4)})
    one("matmul-vectors", "MatMul", numbers(4), "m.b", {"m.b": numbers(4)})
    m = numbers(3, 4)
    one("gemm", "Gemm", m, "m.b m.c", {"m.b": b, "m.c": numbers(5)})
    one("gemm-no-c", "Gemm", m, "m.b", {"m.b": b})
    one(
        "gemm-all",
        "Gemm",
        m,
        "m.b m.c",
        {"m.b": numbers(6, 3), "m.c": numbers(4, 1)},
        transA=1,
        transB=1,
        alpha=0.5,
        beta=0.25,
    )
    for i, (equation, left, right) in enumerate(
        [
            ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
            ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
            ("ij,kj->ki", (3, 4), (5, 4)),
            ("i,j->ij", (3,), (4,)),
        ]
    ):
        one(f"einsum-{i}", "Einsum", numbers(*left), "m.b", {"m.b": numbers(*right)}, fold=False, equation=equation)
    q, k, v = numbers(2, 4, 3, 6), numbers(2, 2, 3, 6), numbers(2, 2, 3, 6)
    one("attention", "Attention", q, "k v", fold=False, opset=23, inputs=dict(k=k, v=v))
    one(
        "attention-causal", "Attention", q, "k v", fold=False, opset=23, inputs=dict(k=k, v=v), is_causal=1, scale=0.3
    )
    one(
        "attention-mask",
        "Attention",
        q,
        "k v mask",
        dict(mask=np.tril(np.ones((3, 3), B))),
        fold=False,
        opset=23,
        inputs=dict(k=k, v=v),
    )
    one(
        "attention-3d",
        "Attention",
        numbers(2, 3, 8),
        "k v",
        fold=False,
        opset=23,
        inputs=dict(k=numbers(2, 3, 4), v=numbers(2, 3, 4)),
        q_num_heads=4,
        kv_num_heads=2,
    )


def movement():
    x = numbers(2, 3, 4)
    ints = lambda *v: np.array(v, I)
    one("reshape", "Reshape", x, "s", dict(s=ints(0, -1)))
    one("reshape-flat", "Reshape", x, "s", dict(s=ints(-1)))
    one("squeeze", "Squeeze", numbers(1, 3, 1), "a", dict(a=ints(0, -1)))
    one("squeeze-all", "Squeeze", numbers(1, 3, 1))
    one("unsqueeze", "Unsqueeze", x, "a", dict(a=ints(0, -1)))
    one("flatten", "Flatten", x, axis=2)
    one("transpose", "Transpose", x, perm=[1, 2, 0])
    one("transpose-default", "Transpose", x)
    good(
        "transpose-twice",
        [node("Transpose", "x", "t", perm=[1, 2, 0]), node("Transpose", "t", "y", perm=[1, 0, 2])],
        {"x": x},
        fold=True,
    )
    one("expand", "Expand", numbers(3, 1), "s", dict(s=ints(2, 1, 4)))
    one("slice", "Slice", x, "st en ax sp", dict(st=ints(1, -3), en=ints(2**62, -1), ax=ints(1, 2), sp=ints(1, 2)))
    one("slice-plain", "Slice", x, "st en", dict(st=ints(0, 1), en=ints(1, 3)))
    good(
        "slice-reverse",
        [node("Slice", "c st en ax sp", "y")],
        {},
        dict(c=x, st=ints(-1), en=ints(-(2**62)), ax=ints(2), sp=ints(-2)),
    )
    one("concat", "Concat", x, "b c", dict(b=numbers(2, 1, 4), c=numbers(2, 2, 4)), axis=-2)
    good(
        "split",
        [node("Split", "x s", "a b", axis=1), node("Concat", "b a", "y", axis=1)],
        {"x": x},
        dict(s=ints(1, 2)),
        fold=True,
    )
    good(
        "split-even",
        [node("Split", "x", "a b c", axis=2, num_outputs=3), node("Concat", "c a b", "y", axis=2)],
        {"x": numbers(2, 2, 5)},
        fold=True,
    )
    good(
        "split-sequence",
        [
            node("SplitToSequence", "x s", "q", axis=1),
            node("SequenceAt", "q i", "a"),
            node("SequenceAt", "q j", "b"),
            node("Concat", "b a", "y", axis=1),
        ],
        {"x": numbers(2, 5)},
        dict(s=I(2), i=I(0), j=I(-1)),
        fold=True,
    )
    good(
        "construct-sequence",
        [
            node("SequenceConstruct", "x c", "q"),
            node("SequenceLength", "q", "n"),
            node("Sub", "n one", "last"),
            node("SequenceAt", "q last", "d"),
            node("SequenceAt", "q zero", "e"),
            node("Mul", "d e", "y"),
        ],
        {"x": numbers(2, 3)},
        dict(c=numbers(2, 3), one=I(1), zero=I(0)),
    )
    good(
        "stack-sequence",
        [
            node("SplitToSequence", "x", "q", axis=1, keepdims=0),
            node("ConcatFromSequence", "q", "y", axis=0, new_axis=1),
        ],
        {"x": numbers(2, 3)},
        fold=True,
    )
    one("gather", "Gather", x, "i", dict(i=ints(2, 0, -1).reshape(3, 1)), axis=1)
    one("gather-scalar", "Gather", x, "i", dict(i=I(1)))
    one("gather-i32", "Gather", x, "i", dict(i=np.array([1, 0], I32)), axis=2)
    one("gather-elements", "GatherElements", x, "i", dict(i=random.integers(0, 3, (2, 2, 4)).astype(I)), axis=1)
    one("gather-nd", "GatherND", x, "i", dict(i=ints(1, 0, 1).reshape(3, 1)))
    good(
        "gather-nd-constant",
        [node("GatherND", "c i", "y", batch_dims=1)],
        {},
        dict(c=x, i=random.integers(0, 3, (2, 2, 1)).astype(I)),
    )
    good("gather-nd-deep", [node("GatherND", "c i", "y")], {}, dict(c=x, i=ints(1, 2, 0, 1, -1, -1).reshape(2, 3)))
    one("tile", "Tile", numbers(2, 3), "r", dict(r=ints(2, 3)))
    one("pad", "Pad", numbers(2, 3), "p v", dict(p=ints(1, 0, 0, 2), v=F(0.5)))
    one("pad-axes", "Pad", numbers(2, 3), "p _ a", dict(p=ints(1, 2), a=ints(-1)))
    one("trilu", "Trilu", numbers(2, 3, 3), "k", dict(k=I(1)))
    one("trilu-lower", "Trilu", numbers(3, 4), upper=0)


def folding():
    """What exists on constants only, and constants by structure."""
    x = {"x": numbers(2, 3)}
    ints = lambda *v: np.array(v, I)
    good(
        "constant-kinds",
        [
            node("Constant", "", "a", value_floats=[1.0, 2.0, 3.0]),
            node("Constant", "", "b", value_int=2),
            node("CastLike", "b a", "c"),
            node("Constant", "", "d", value_float=0.5),
            node("Mul", "a c", "e"),
            node("Mul", "e d", "f"),
            node("Mul", "x f", "y"),
        ],
        x,
    )
    good(
        "range",
        [node("Range", "a b c", "r"), node("Cast", "r", "f", to=1), node("Mul", "x f", "y")],
        x,
        dict(a=I(3), b=I(-3), c=I(-2)),
    )
    good("range-float", [node("Range", "a b c", "r"), node("Mul", "x r", "y")], x, dict(a=F(0), b=F(1), c=F(0.4)))
    good("shape", [node("Shape", "x", "s", start=-1), node("Cast", "s", "f", to=1), node("Mul", "x f", "y")], x)
    good("size", [node("Size", "x", "s"), node("Cast", "s", "f", to=1), node("Mul", "x f", "y")], x)
    good(
        "constant-of-shape",
        [node("ConstantOfShape", "s", "c", value=helper.make_tensor("v", 1, [1], [0.25])), node("Mul", "x c", "y")],
        x,
        dict(s=ints(2, 3)),
    )
    good(
        "cumsum",
        [
            node("CumSum", "c k", "s"),
            node("CumSum", "c k", "t", exclusive=1, reverse=1),
            node("Sub", "s t", "u"),
            node("Mul", "x u", "y"),
        ],
        x,
        dict(c=numbers(2, 3), k=I(1)),
    )
    good("eye-like", [node("EyeLike", "x", "e", k=1), node("Mul", "x e", "y")], x)
    good(
        "causal-mask",
        [
            node("Range", "a b c", "r"),
            node("Unsqueeze", "r one", "rows"),
            node("LessOrEqual", "r rows", "le"),
            node("Where", "le zero low", "m"),
            node("Expand", "m s", "mask"),
            node("Add", "x mask", "z"),
            node("Softmax", "z", "y"),
        ],
        {"x": numbers(2, 1, 24, 24)},
        dict(a=I(0), b=I(24), c=I(1), one=ints(1), zero=F(0), low=F(-1e9), s=ints(2, 1, 24, 24)),
        ops={"zb.triangle": 1, "zb.expand": 1, "zb.constant": 0},
        stored=1,
    )
    good(
        "causal-mask-offset",
        [node("Trilu", "ones k", "t", upper=1), node("Mul", "x t", "y")],
        {"x": numbers(20, 30)},
        dict(ones=np.full((20, 30), 2, F), k=I(5)),
        ops={"zb.triangle": 1},
    )
    good(
        "iota",
        [node("Range", "a b c", "r"), node("Mul", "x r", "y")],
        {"x": numbers(2, 300)},
        dict(a=F(1), b=F(76), c=F(0.25)),
        ops={"zb.iota": 1},
    )
    good(
        "table",
        [node("Sin", "t", "s"), node("Mul", "x s", "y")],
        {"x": numbers(20, 20)},
        dict(t=numbers(20, 20)),
        stored=2,
    )
    good(
        "repeated-table",
        [node("Expand", "t s", "e"), node("Mul", "x e", "y")],
        {"x": numbers(3, 20, 20)},
        dict(t=numbers(20, 20), s=ints(3, 20, 20)),
        stored=2,
        ops={"zb.expand": 1},
    )
    good("typed-fields", [node("Mul", "x t", "y")], x, dict(t=numbers(3)))
    # The same model with its data in typed fields instead of raw_data.
    model = onnx.load_from_string(base64.b64decode(table[-1]["model"]))
    for tensor in model.graph.initializer:
        tensor.CopyFrom(
            helper.make_tensor(
                tensor.name, tensor.data_type, tensor.dims, numpy_helper.to_array(tensor).reshape(-1).tolist()
            )
        )
    table[-1]["model"] = base64.b64encode(model.SerializeToString()).decode()


def losses():
    s, l = numbers(6, 5), np.array([0, 4, 2, 1, 3, 2], I)
    deep, deep_labels = numbers(2, 5, 3), np.array([[0, 4, 2], [1, 3, 2]], I)
    for op, tag in (("SoftmaxCrossEntropyLoss", "cross-entropy"), ("NegativeLogLikelihoodLoss", "nll")):
        for reduction in ("mean", "sum", "none"):
            one(f"{tag}-{reduction}", op, s, "l", fold=False, inputs=dict(l=l), reduction=reduction)
        one(f"{tag}-ignore", op, s, "l", fold=False, inputs=dict(l=l), ignore_index=2)
        one(f"{tag}-deep", op, deep, "l", fold=False, inputs=dict(l=deep_labels))
        one(
            f"{tag}-deep-none",
            op,
            deep,
            "l",
            fold=False,
            inputs=dict(l=deep_labels),
            reduction="none",
            ignore_index=4,
        )
    good(
        "cross-entropy-log-prob",
        [node("SoftmaxCrossEntropyLoss", "x l", "a lp"), node("Add", "lp a", "y")],
        dict(x=deep, l=deep_labels),
    )


# ---- Parameters ----
def parameter_cases():
    x = numbers(2, 3)

    def write(name, nodes, constants, **row):
        model = build(nodes, {"x": x}, constants, [("loss", TensorProto.FLOAT, [])], 20)
        save(name, model, inputs={"x": array(x)}, loss=float(evaluate(model, {"x": x})[0]), **row)

    tail = [node("ReduceSum", "y", "loss", keepdims=0)]
    two = [node("Mul", "x a.w", "t"), node("Add", "t b.bias", "u"), node("Mul", "u table", "y")] + tail
    weights = {"a.w": numbers(3), "b.bias": numbers(3), "table": numbers(3)}
    write("parameters-dots", two, weights, trained=["a.w", "b.bias"], frozen=[])
    write("parameters-freeze", two, weights, freeze=["a.*"], trained=["b.bias"], frozen=["a.w"])
    write("parameters-train", two, weights, train=["table"], trained=["a.w", "b.bias", "table"], frozen=[])
    write(
        "parameters-freeze-all-but",
        two,
        weights,
        freeze=["*"],
        train=["b.*"],
        trained=["b.bias"],
        frozen=["a.w", "table"],
    )
    plain = [
        node("Mul", "x w", "t"),
        node("Add", "t bias", "u"),
        node("Greater", "u limit", "g"),
        node("Where", "g u zero", "y"),
    ] + tail
    write(
        "parameters-no-dots",
        plain,
        dict(w=numbers(3), bias=numbers(3), limit=numbers(3), zero=F(0)),
        trained=["w", "bias"],
        frozen=[],
    )
    rotary = [
        node("Mul", "positions m.inv_freq", "angle"),
        node("Cos", "angle", "table"),
        node("Mul", "x table", "t"),
        node("Mul", "t m.w", "y"),
    ] + tail
    write(
        "parameters-rotary",
        rotary,
        {"positions": numbers(2, 1), "m.inv_freq": numbers(3), "m.w": numbers(3)},
        trained=["m.w"],
        frozen=[],
        untrained=["positions", "m.inv_freq"],
    )
    write(
        "parameters-rotary-trained",
        rotary,
        {"positions": numbers(2, 1), "m.inv_freq": numbers(3), "m.w": numbers(3)},
        train=["m.inv_freq"],
        trained=["m.inv_freq", "m.w"],
        frozen=[],
    )
    tied = [node("Mul", "x m.w", "t"), node("Transpose", "m.w", "v", perm=[1, 0]), node("MatMul", "t v", "y")] + tail
    write("parameters-tied", tied, {"m.w": numbers(2, 3)}, trained=["m.w"], frozen=[])
    for name, row, text in [
        ("train-nothing", dict(train=["a.x"]), "matches no float initializer"),
        ("freeze-star", dict(freeze=["*.w*.x"]), "the model's parameters are a.w"),
        ("freeze-part", dict(freeze=["*a."]), "did you mean '*a.*'? it matches 'a."),
        ("train-and-freeze", dict(train=["a.w"], freeze=["a.w"]), "both --train and --freeze match 'a.w'"),
        ("loss-name", dict(wanted_loss="lss"), "no output is named 'lss'"),
    ]:
        model = build(two, {"x": x}, weights, [("loss", TensorProto.FLOAT, [])], 20)
        save("bad-" + name, model, error=[text], **row)
    model = build(
        two + [node("ReduceMean", "u", "other", keepdims=0)],
        {"x": x},
        weights,
        [("loss", TensorProto.FLOAT, []), ("other", TensorProto.FLOAT, [])],
        20,
    )
    several = onnx.ModelProto()
    several.CopyFrom(model)
    several.graph.output[0].name = several.graph.node[-2].output[0] = "first"
    save("bad-two-losses", several, error=["2 outputs may be the loss", "'other'", "--loss"])
    save("loss-of-several", model, inputs={"x": array(x)}, loss=float(evaluate(model, {"x": x})[0]))
    save("loss-by-name", model, wanted_loss="other", inputs={"x": array(x)}, loss=float(evaluate(model, {"x": x})[1]))


def listed_cases():
    """Files that say what their parameters are, and files whose exporter hid some."""
    x = numbers(2, 3)
    tail = [node("ReduceSum", "y", "loss", keepdims=0)]
    nodes = [node("Mul", "x w", "t"), node("Add", "t m.b", "u"), node("Mul", "u gate", "v"), node("Mul", "v c", "y")]
    weights = {"w": numbers(3), "m.b": numbers(3), "gate": F(1.5), "c": numbers(3)}

    def write(name, metadata, nodes=nodes + tail, weights=weights, **row):
        model = build(nodes, {"x": x}, weights, [("loss", TensorProto.FLOAT, [])], 20)
        for key, value in metadata.items():
            model.metadata_props.add(key=key, value=value)
        if "error" not in row:
            row.update(inputs={"x": array(x)}, loss=float(evaluate(model, {"x": x})[0]))
        save(name, model, **row)

    both = {"zb.trained": "w\ngate", "zb.frozen": "m.b"}
    write("listed", both, trained=["w", "gate"], frozen=["m.b"], untrained=[])
    write("listed-freeze", both, freeze=["w"], trained=["gate"], frozen=["w", "m.b"], untrained=[])
    write("listed-train", both, train=["m.*"], trained=["w", "m.b", "gate"], frozen=[], untrained=[])
    write("unlisted-rest", {}, trained=["m.b"], frozen=[], untrained=["w", "c"])
    write("unlisted-scalar", {}, train=["gate"], trained=["m.b", "gate"], frozen=[], untrained=["w", "c"])
    write("unlisted-wildcard", {}, train=["*"], trained=["w", "m.b", "c"], frozen=[], untrained=[])
    write(
        "bad-listed-missing",
        {"zb.trained": "w\nm.v"},
        error=["(zb.trained) names the parameter 'm.v', but it has no such initializer", "export again"],
    )
    folded = [node("MatMul", "x val_7", "t"), node("Add", "t m.b", "y")] + tail
    matrix = {"val_7": numbers(3, 3), "m.b": numbers(3)}
    write("bad-folded", {}, folded, matrix, error=["'val_7' multiplies activations", "--train or --freeze"])
    write("folded-frozen", {}, folded, matrix, freeze=["val_7"], trained=["m.b"], frozen=["val_7"], untrained=[])
    ones = [node("LayerNormalization", "x val_2", "a"), node("Mul", "a m.b", "b")]
    ones += [node("LayerNormalization", "b val_2", "y")]
    write("norms-of-ones", {}, ones + tail, {"val_2": np.ones(3, F), "m.b": numbers(3)}, trained=["m.b"], frozen=[])
    shared = [
        node("Identity", "m.n", "n2"),
        node("LayerNormalization", "x m.n", "a"),
        node("LayerNormalization", "a n2", "y"),
    ] + tail
    write("bad-merged-identity", {}, shared, {"m.n": np.ones(3, F)}, error=["merged parameters", "'m.n'"])


# ---- Errors ----
def bad(name, model, *text):
    save("bad-" + name, model, error=list(text))


def errors():
    x = numbers(2, 3)
    tail = [node("Mul", "y m.s", "z"), node("ReduceSum", "z", "loss", keepdims=0)]
    scale = {"m.s": np.array([1.5], F)}
    out = [("loss", TensorProto.FLOAT, [])]

    def model(nodes, constants=None, inputs=None, opset=20, outputs=out, **more):
        return build(nodes + tail, inputs or {"x": x}, {**scale, **(constants or {})}, outputs, opset, **more)

    plain = lambda: model([node("Relu", "x", "y")])
    scoped = model([node("Reluu", "x", "y")])
    scoped.graph.node[0].metadata_props.add(
        key="pkg.torch.onnx.name_scopes", value="['', 'lm', 'lm.block.3', 'relu']"
    )
    bad(
        "unknown-op",
        scoped,
        "lm.block.3 (n_reluu_y)",
        "operator 'Reluu' is not supported",
        "is it Relu?",
    )
    for op, text in [
        ("DeformConv", "make them an input"),
        ("Unique", "compute it before the model"),
        ("SequenceMap", "torch.where"),
        ("Matmul", "is it MatMul?"),
        ("Cso", "zbc --list-operators"),
    ]:
        bad("operator-" + op.lower(), model([node(op, "x", "y")]), f"operator '{op}' is not supported", text)
    bad(
        "two-unknown-ops",
        model([node("Compress", "x k", "t"), node("NonMaxSuppression", "t t", "y")], dict(k=np.array([True]))),
        "'Compress'",
        "'NonMaxSuppression'",
    )
    m = plain()
    m.graph.node[0].domain = "com.microsoft"
    bad("domain", m, "n_relu_y", "Relu: operator of domain 'com.microsoft' is not supported",
        "from before onnxruntime optimized it")
    big = dict(s=np.array([1 << 28], I))
    bad("fold-limit",
        model([node("ConstantOfShape", "s", "t"), node("ReduceSum", "t", "u"), node("Mul", "x u", "y")], big),
        "(n_constantofshape_t): error: a constant of 268435456xf32 is too large",
        "1.0 GiB, and the limit is 256.0 MiB", "--fold-limit")
    small = dict(s=np.array([200 << 10], I))
    sums = [node("ReduceSum", "t", f"s{i}") for i in range(40)]
    sums += [node("Sum", " ".join(f"s{i}" for i in range(40)), "u")]
    save("bad-fold-work", model([node("ConstantOfShape", "s", "t"), *sums, node("Mul", "x u", "y")], small),
         error=["(n_reducesum_s9)", "read and written over and over", "and the limit is 8.0 MiB", "--fold-limit"],
         fold_limit=1 << 20)
    m = plain()
    m.graph.node[0].attribute.append(helper.make_attribute("slope", 0.5))
    bad("attribute", m, "attribute 'slope' is not understood")
    bad("attribute-type", model([node("Softmax", "x", "y", axis=0.5)]), "attribute 'axis' has the wrong type")
    bad("axis", model([node("Softmax", "x", "y", axis=5)]), "axis 5 is out of range")
    m = plain()
    m.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    bad("dynamic", m, "input 'x' has the dynamic dimension 'batch'", "static shapes")
    m = plain()
    m.graph.input[0].type.tensor_type.ClearField("shape")
    bad("no-shape", m, "input 'x' has no shape")
    m = plain()
    m.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    bad("float16-input", m, "expected f16 as lhs has, got f32")
    m = plain()
    m.graph.input[0].type.tensor_type.elem_type = TensorProto.INT8
    bad("int8-input", m, "input 'x' has the element type int8")
    bad(
        "float16-weight",
        model([node("Mul", "x m.h", "y")], {"m.h": np.ones(3, np.float16)}),
        "'m.h' has the element type float16",
        "model.float()",
    )
    bad("double", model([node("Cast", "x", "d", to=TensorProto.DOUBLE), node("Cast", "d", "y", to=1)]), "double")
    bad("missing-input", model([node("Add", "x nothing", "y")]), "input 'nothing' is neither")
    bad(
        "unsorted",
        model([node("Relu", "t", "y"), node("Relu", "x", "t")]),
        "input 't' is made by this or a later node",
        "not sorted",
    )
    bad("cyclic", model([node("Add", "x y", "y")]), "cyclic")
    bad(
        "duplicate-value",
        model([node("Relu", "x", "y"), node("Neg", "x", "y")]),
        "output 'y' is the name of another value",
    )
    m = plain()
    m.graph.initializer.append(m.graph.initializer[0])
    bad("duplicate-initializer", m, "two initializers are named 'm.s'")
    bad("opset-0", model([node("Relu", "x", "y")], opset=0), "opset 0 is not supported", "1 to 24")
    for name, nodes, opset, text in (
            ("shapes", [node("Add", "x one", "y")], 6, "operands of 2x3xf32 and 3xf32, without broadcast"),
            ("axis", [node("Mul", "x one", "y", broadcast=1, axis=2)], 6, "operands of 2x3xf32 and 3xf32"),
            ("broadcast", [node("Add", "x one", "y", broadcast=1)], 7, "attribute 'broadcast' is not understood"),
            ("consumed", [node("Relu", "x", "y", consumed_inputs=[0])], 6, "'consumed_inputs' is not understood"),
            ("shape", [node("Reshape", "x", "y", shape=[3, 2])], 5, "attribute 'shape' is not understood"),
            ("no-shape", [node("Reshape", "x", "y")], 13, "neither input 1 nor, as in older opsets"),
            ("spatial", [node("BatchNormalization", "x one one one one", "y", spatial=0, is_test=1)], 6,
             "spatial = 0, statistics of each place"),
            ("cast", [node("Cast", "x", "y", to="FLOAT32")], 5, "is not supported")):
        bad("old-" + name, model(nodes, {"one": np.ones(3, F)}, opset=opset), text)
    m = plain()
    m.opset_import[0].version = 31
    bad("opset-31", m, "opset 31 is not supported")
    m = plain()
    m.ir_version = 99
    bad("ir-99", m, "IR version 99 is not supported")
    bad(
        "no-scalar",
        build([node("Mul", "x m.s", "y")], {"x": x}, scale, [("y", TensorProto.FLOAT, [2, 3])], 20),
        "no scalar float output",
        "'y' (2x3xfloat32)",
    )
    bad(
        "constant-loss",
        build([node("ReduceSum", "c", "loss", keepdims=0)], {"x": x}, {**scale, "c": numbers(3)}, out, 20),
        "no parameter",
    )
    norm = {"m.n": np.ones(3, F)}
    bad(
        "merged",
        model([node("LayerNormalization", "x m.n", "a"), node("LayerNormalization", "a m.n", "y")], norm),
        "merged parameters",
        "tools/export_onnx.py",
        "'m.n'",
    )
    bad(
        "dropout",
        model([node("Dropout", "x r t", "y")], dict(r=F(1), t=np.array(True))),
        "Dropout: the ratio is 1, expected 0 <= ratio < 1",
    )
    bad(
        "dropout-seed",
        model([node("Dropout", "x r t", "y", seed=3)], dict(r=F(0.1), t=np.array(True))),
        "attribute 'seed' is not supported in training mode",
        "zb-run --random-seed",
    )
    bad(
        "dropout-open",
        model([node("ReduceMean", "x", "r", keepdims=0), node("Dropout", "x r t", "y")], dict(t=np.array(True))),
        "the ratio or the training mode is not a constant",
    )
    bad(
        "dropout-counter",
        build(
            [node("Dropout", "zb.counter r t", "y"), node("Mul", "y m.s", "z"),
             node("ReduceSum", "z", "loss", keepdims=0)],
            {"zb.counter": x}, {"m.s": np.array([1.5], F), "r": F(0.5), "t": np.array(True)}, out, 20,
        ),
        "an input is named 'zb.counter'",
        "give it another name",
    )
    bad(
        "class-weights",
        model(
            [node("SoftmaxCrossEntropyLoss", "x l cw", "y")], {"cw": np.ones(2, F)}, dict(x=x, l=np.array([0, 1], I))
        ),
        "the weights are not one float32 for each of 3 classes",
    )
    bad("reshape", model([node("Reshape", "x s", "y")], dict(s=np.array([4, -1], I))), "does not come out even")
    bad(
        "reshape-dynamic",
        model([node("Cast", "x", "s", to=7), node("Reshape", "x s", "y")]),
        "the shape (input 1) is",
        "",
    )
    bad("matmul", model([node("MatMul", "x m.b", "y")], {"m.b": numbers(4, 2)}), "matmul")
    bad(
        "slice-empty",
        model(
            [node("Slice", "x a b c d", "y")],
            dict(a=np.array([-1], I), b=np.array([1], I), c=np.array([0], I), d=np.array([-1], I)),
        ),
        "the slice is empty in dimension 0",
    )
    bad(
        "range",
        model([node("ReduceMax", "x", "r", keepdims=0), node("Range", "zero r one", "y")], dict(zero=F(0), one=F(1))),
        "supported on constants only",
    )
    m = plain()
    m.graph.initializer[0].raw_data = b"\0" * 7
    bad("short-data", m, "'m.s'", "needs 4 bytes, its data has 7")
    m = plain()
    m.training_info.add()
    bad("training-info", m, "training_info is not supported")
    body = lambda op: helper.make_graph([node(op, "x", "o")], "body", [], [helper.make_tensor_value_info("o", 1, None)])
    bad(
        "if",
        model([node("ReduceMax", "x", "t", keepdims=0), node("Cast", "t", "c", to=TensorProto.BOOL),
               node("If", "c", "y", then_branch=body("Relu"), else_branch=body("ReduceSum"))]),
        "If: the condition is not a constant, and its branches give 2x3xf32 and 1x1xf32",
        "one shape",
    )
    bad(
        "if-of-many",
        model([node("Cast", "x", "c", to=TensorProto.BOOL),
               node("If", "c", "y", then_branch=body("Relu"), else_branch=body("Neg"))]),
        "If: the condition is not one value",
    )
    m = plain()
    m.graph.node[0].name = "a\0b"
    bad("zero-byte-name", m, "the name of a NodeProto holds a zero byte, behind 'a'")
    bad("zero-byte-attribute", model([node("Gelu", "x", "y", approximate=b"tanh\0x")]),
        "attribute 'approximate' holds a zero byte")
    for tag, place, text in [
        ("zero-byte", "in.bin\0x", "the value of a StringStringEntryProto holds a zero byte, behind 'in.bin'"),
        ("outside", "../weights.bin", "inside the folder of the model"),
        ("absolute", "/etc/passwd", "inside the folder of the model"),
        ("absent", "absent.bin", "is not in the folder of the model"),
    ]:
        m = plain()
        t = m.graph.initializer[0]
        t.ClearField("raw_data")
        t.data_location = TensorProto.EXTERNAL
        t.external_data.add(key="location", value=place)
        bad("external-" + tag, m, text)
    m = plain()
    t = m.graph.initializer[0]
    data = t.raw_data
    t.ClearField("raw_data")
    t.data_location = TensorProto.EXTERNAL
    for key, value in dict(location="external.bin", offset="8", length="4").items():
        t.external_data.add(key=key, value=value)
    loss = float(1.5 * np.maximum(x, 0).sum(dtype=np.float64))
    save(
        "external",
        m,
        inputs={"x": array(x)},
        loss=loss,
        beside={"external.bin": base64.b64encode(b"\0" * 8 + data).decode()},
    )
    t.external_data[1].value = "9"
    bad("external-short", m, "bytes 9 to 13", "which has 12")
    bad("empty", b"", "is empty")
    bad("text", b"module {\n  func.func @main() { return }\n}\n" * 3, "is a text file")
    whole = plain().SerializeToString()
    bad("truncated", whole[: len(whole) // 2], "damaged")
    bad("random", bytes(random.integers(0, 256, 200, dtype=np.uint8)), "not an ONNX model")


def narrow_casts():
    """What torch.autocast exports: casts to bf16 or f16 and back around ops; weights stay float32."""
    for kind, text in ((TensorProto.BFLOAT16, "bf16"), (TensorProto.FLOAT16, "f16")):
        for fold in (False, True):
            x = numbers(2, 3)
            nodes = [node("Cast", "x", "l", to=kind), node("Cast", "l", "y", to=TensorProto.FLOAT)]
            good(f"cast-{text}{'-constant' if fold else ''}", nodes, {"x": x}, fold=fold)
    x, w = (np.rint(4 * numbers(*shape)) / F(4) for shape in ((2, 4), (4, 3)))  # products that f16 holds
    casts = [node("Cast", "x", "xl", to=TensorProto.FLOAT16), node("Cast", "m.w", "wl", to=TensorProto.FLOAT16)]
    product = [node("MatMul", "xl wl", "p"), node("Relu", "p", "r"), node("Cast", "r", "y", to=TensorProto.FLOAT)]
    good("product-f16", casts + product, {"x": x}, {"m.w": w})
    good("product-of-cast-weight", casts[1:] + [node("Cast", "wl", "wf", to=1), node("MatMul", "x wf", "y")],
         {"x": x}, {"m.w": w}, trained=["m.w", "m.scale"])


def indexing():
    """GatherND, ScatterND, ScatterElements, CumSum of computed values, with constant and with computed indices."""
    ints = lambda *v: np.array(v, I)
    x = numbers(2, 3, 4)
    tuples = dict(
        rows=ints(1, 0, -1).reshape(3, 1), pairs=ints(1, 2, 0, 1, -1, -3).reshape(3, 2),
        all=ints(1, 2, -4, 0, 0, 3).reshape(2, 3)
    )
    for text, i in tuples.items():
        one("gather-nd-" + text, "GatherND", x, "i", dict(i=i))
        one("gather-nd-computed-" + text, "GatherND", x, "i", fold=False, inputs=dict(i=i))
    for b, i in ((1, ints(0, -1).reshape(2, 1)), (1, ints(0, 1, 2, -1, 1, 3, 0, 0).reshape(2, 2, 2)),
                 (2, ints(0, 3, -4, 1, 2, 0).reshape(2, 3, 1))):
        label = f"gather-nd-batch-{b}-{i.shape[-1]}-{i.ndim}"
        one(label, "GatherND", x, "i", dict(i=i), batch_dims=b)
        one(label + "-computed", "GatherND", x, "i", fold=False, inputs=dict(i=i), batch_dims=b)
    grid = np.stack(np.meshgrid(np.arange(2), np.arange(5), indexing="ij"), -1).reshape(2, 1, 1, 5, 2).astype(I)
    padding = ints(1, 1, 0, 0, 1, 1, 1, 1, 1, 0).reshape(2, 5)
    good("gather-nd-padding-mask", [node("Cast", "x", "b", to=TensorProto.BOOL), node("GatherND", "b i", "y")],
         dict(x=padding), dict(i=grid), fold=True)
    order = ints(2, 0, 1).reshape(3, 1)
    for reduction in ("none", "add"):
        for text, i in tuples.items():
            u = numbers(*i.shape[:-1], *x.shape[i.shape[-1]:])
            given = dict(u=u)
            one(f"scatter-nd-{reduction}-{text}", "ScatterND", x, "i u", dict(i=i, u=u), reduction=reduction)
            one(f"scatter-nd-{reduction}-computed-{text}", "ScatterND", x, "i u", fold=False,
                inputs=dict(i=i, u=u), reduction=reduction)
        whole = random.integers(-9, 9, (3, 2)).astype(I)
        one(f"scatter-nd-{reduction}-integers", "ScatterND", whole, "i u",
            dict(i=order, u=whole + 1), reduction=reduction)
        for axis in range(3):
            shape = tuple(2 if d == axis else n for d, n in enumerate(x.shape))
            first = random.integers(0, x.shape[axis] - 1, shape[:axis] + (1,) + shape[axis + 1 :])
            i = (np.arange(2).reshape([-1 if d == axis else 1 for d in range(3)]) + first).astype(I)
            i = np.where(random.integers(0, 2, shape) == 0, i, i - x.shape[axis]).astype(I)
            u = numbers(*shape)
            label = f"scatter-elements-{reduction}-{axis}"
            one(label, "ScatterElements", x, "i u", dict(i=i, u=u), axis=axis, reduction=reduction)
            one(label + "-computed", "ScatterElements", x, "i u", fold=False, inputs=dict(i=i, u=u),
                axis=axis, reduction=reduction)
    narrow = numbers(1, 2, 2)
    one("scatter-elements-narrow", "ScatterElements", x, "i u", fold=False,
        inputs=dict(i=ints(3, -2, 0, 1).reshape(1, 2, 2), u=narrow), axis=-1)
    one("scatter-elements-i32", "ScatterElements", numbers(5), "i u", dict(i=np.array([4, -5], I32), u=numbers(2)))
    equal = ints(1, 1, -2, 0).reshape(4)
    one("scatter-elements-add-equal", "ScatterElements", numbers(3), "i u", fold=False,
        inputs=dict(i=equal, u=numbers(4)), reduction="add")
    one("scatter-nd-add-equal", "ScatterND", numbers(3, 2), "i u",
        dict(i=equal.reshape(4, 1), u=numbers(4, 2)), reduction="add")
    one("scatter-nd-opset-13", "ScatterND", numbers(3, 2), "i u",
        dict(i=ints(1).reshape(1, 1), u=numbers(1, 2)), opset=13)
    for axis in (0, 1, -1):
        for flags in ({}, dict(exclusive=1), dict(reverse=1), dict(exclusive=1, reverse=1)):
            label = "-".join(["cumsum-computed", str(axis)] + list(flags))
            one(label, "CumSum", x, "k", dict(k=I(axis)), **flags)
    mask = ints(0, 0, 1, 1, 1, 0).reshape(2, 3)
    good("cumsum-positions", [node("CumSum", "x k", "c"), node("Mul", "c x", "y")],
         dict(x=mask), dict(k=I(1)), fold=True)

    tail = [node("Mul", "y m.s", "z"), node("ReduceSum", "z", "loss", keepdims=0)]

    def wrong(name, op, names, constants, *text, **attributes):
        nodes = [node(op, "x " + names, "y", **attributes)] + tail
        constants = {"m.s": np.array([1.5], F), **constants}
        bad(name, build(nodes, {"x": x}, constants, [("loss", TensorProto.FLOAT, [])], 20), *text)

    u = numbers(1, 4)
    wrong("gather-nd-index", "GatherND", "i", dict(i=ints(0, 3).reshape(1, 2)), "GatherND",
          "index 3 is out of range for a dimension of 3")
    wrong("gather-nd-depth", "GatherND", "i", dict(i=ints(0, 0, 0, 0).reshape(1, 4)), "the indices have 4 entries each")
    wrong("gather-nd-batch", "GatherND", "i", dict(i=ints(0, 0, 0).reshape(3, 1)),
          "the batch dimensions differ", batch_dims=1)
    wrong("gather-nd-batch-dims", "GatherND", "i", dict(i=ints(0).reshape(1, 1)),
          "batch_dims 2 is out of range", batch_dims=2)
    wrong("scatter-nd-index", "ScatterND", "i u", dict(i=ints(0, -4).reshape(1, 2), u=u), "index -4 is out of range")
    wrong("scatter-nd-updates", "ScatterND", "i u", dict(i=ints(0, 1).reshape(1, 2), u=numbers(1, 3)),
          "the updates are 1x3xf32, expected 1x4xf32")
    wrong("scatter-nd-sub", "ScatterND", "i u", dict(i=ints(0, 1).reshape(1, 2), u=u),
          "the reduction is not supported", "'none', 'add', 'mul', 'min' and 'max'", reduction="sub")
    wrong("scatter-elements-updates", "ScatterElements", "i u", dict(i=ints(0).reshape(1, 1, 1), u=u),
          "the indices do not fit")
    wrong("scatter-elements-index", "ScatterElements", "i u", dict(i=ints(2).reshape(1, 1, 1), u=numbers(1, 1, 1)),
          "index 2 is out of range")
    wrong("cumsum-axis", "CumSum", "k", dict(k=I(3)), "axis 3 is out of range")


def dropouts():
    """What stays is drawn as tools/random_words.py says, by a counter that is an input. Two of one value; a mask."""
    own = np.random.default_rng(8)
    x, w = [own.uniform(-1, 1, (3, 50)).astype(F) for _ in range(2)]
    rates = F(0.3), F(0.6)
    kept = [random_words.stays(x.shape, float(rate), 7, 3, 2, op) for op, rate in enumerate(rates)]
    y = sum(x * mask / (1 - rate) for mask, rate in zip(kept, rates)) - kept[1]
    nodes = [
        node("Dropout", "x r t", "a"),
        node("Dropout", "x s t", "b mask"),
        node("Cast", "mask", "m", to=TensorProto.FLOAT),
        node("Add", "a b", "c"),
        node("Sub", "c m", "y"),
        node("Mul", "y w", "y_w"),
        node("Mul", "y_w m.scale", "y_scaled"),
        node("ReduceSum", "y_scaled", "loss", keepdims=0),
    ]
    constants = {"r": rates[0], "s": rates[1], "t": np.array(True), "w": w, "m.scale": np.array([1.5], F)}
    counter = np.array([7, 3, 2, 0], I)
    save("dropout-drawn", build(nodes, {"x": x}, constants, [("loss", TensorProto.FLOAT, [])], 20),
         inputs={"x": array(x), "zb.counter": array(counter)}, loss=float((y * w).sum() * 1.5),
         ops={"zb.dropout": 3})

    def reals(op, *shape):
        drawn = random_words.words(int(np.prod(shape)), 7, 3, 2, op) >> np.uint64(8)
        return drawn.reshape(shape).astype(np.float64) / 2**24

    def normals(op, *shape):
        return np.sqrt(-2 * np.log(1 - reals(op, *shape))) * np.cos(2 * np.pi * reals(op + 1, *shape))

    p = own.uniform(0, 1, (3, 50)).astype(F)
    y = ((reals(0, 3, 50) * 3 - 1) + reals(1, 3, 50) + (normals(2, 3, 50) * 2 + 0.5) + normals(4, 3, 50)
         + (reals(6, 3, 50) < p))
    nodes[:5] = [
        node("RandomUniform", "", "a", shape=[3, 50], low=-1.0, high=2.0),
        node("RandomUniformLike", "x", "b"),
        node("RandomNormal", "", "c", shape=[3, 50], mean=0.5, scale=2.0),
        node("RandomNormalLike", "x", "d"),
        node("Bernoulli", "p", "e"),
        node("Sum", "a b c d e", "y"),
    ]
    constants = {"w": w, "p": p, "m.scale": np.array([1.5], F)}
    save("random-drawn", build(nodes, {"x": x}, constants, [("loss", TensorProto.FLOAT, [])], 20),
         inputs={"x": array(x), "zb.counter": array(counter)}, loss=float((y * w).sum() * 1.5),
         ops={"zb.uniform": 7})


def batch_norms():
    """Statistics that are given, that are computed of the batch, and that the file keeps from batch to batch."""
    own = np.random.default_rng(9)
    x, wide = [own.uniform(-1, 1, shape).astype(F) for shape in ((5, 3), (2, 3, 4))]
    scale, bias, mean = [own.uniform(-1, 1, 3).astype(F) for _ in range(3)]
    variance = own.uniform(0.5, 2, 3).astype(F)
    affine, kept = {"m.s": scale, "m.b": bias}, {"m.mean": mean, "m.var": variance}
    tail = [node("Mul", "y y", "z"), node("ReduceSum", "z", "loss", keepdims=0)]
    names = "x m.s m.b m.mean m.var"

    def write(name, value, nodes, inputs=None, constants=None, metadata=None, loss=None, opset=20, **row):
        model = build(nodes + tail, {"x": value, **(inputs or {})}, {**affine, **(constants or kept)},
                      [("loss", TensorProto.FLOAT, [])], opset)
        for key, text in (metadata or {}).items():
            model.metadata_props.add(key=key, value=text)
        if "error" not in row:
            row.update(inputs={k: array(v) for k, v in {"x": value, **(inputs or {})}.items()},
                       loss=float((loss ** 2).sum()))
        save(name, model, **row)

    def normalized(value, mean, variance, epsilon=1e-5):
        by_channel = (slice(None), *[None] * (value.ndim - 2))
        shifted = (value.astype(float) - mean[by_channel]) / np.sqrt(variance[by_channel] + epsilon)
        return shifted * scale[by_channel] + bias[by_channel]

    def of_batch(value):
        axes = tuple(k for k in range(value.ndim) if k != 1)
        return value.astype(float).mean(axes), value.astype(float).var(axes)

    for label, value in (("", x), ("-sequence", wide)):
        plain, training = node("BatchNormalization", names, "y"), dict(training_mode=1)
        write("batch-norm" + label, value, [plain], loss=normalized(value, mean, variance), buffers=[],
              trained=["m.s", "m.b"])
        write("batch-norm-epsilon" + label, value, [node("BatchNormalization", names, "y", epsilon=0.25)],
              loss=normalized(value, mean, variance, 0.25))
        alone = node("BatchNormalization", names, "y", **training)
        write("batch-norm-training" + label, value, [alone], loss=normalized(value, *of_batch(value)), buffers=[])
        kept_on = node("BatchNormalization", names, "y new_mean new_var", momentum=0.7, **training)
        write("batch-norm-kept" + label, value, [kept_on], loss=normalized(value, *of_batch(value)),
              buffers=["m.mean", "m.var"], trained=["m.s", "m.b"], ops={"zb.by_mode": 2})
    write("batch-norm-before-14", x, [node("BatchNormalization", names, "y new_mean new_var")], opset=13,
          loss=normalized(x, *of_batch(x)), buffers=["m.mean", "m.var"])
    computed = [node("ReduceMean", "x", "mean", axes=[0], keepdims=0), node("Sub", "x mean", "c"),
                node("Mul", "c c", "sq"), node("ReduceMean", "sq", "var", axes=[0], keepdims=0),
                node("BatchNormalization", "x m.s m.b mean var", "y")]
    write("batch-norm-computed", x, computed, opset=17, loss=normalized(x, *of_batch(x)), buffers=[])
    count = [node("Add", "m.count one", "new_count"), node("BatchNormalization", names, "y")]
    counted = {**kept, "m.count": np.array(3, I), "one": np.array(1, I)}
    write("buffer-listed", x, count, constants=counted, metadata={"zb.buffers": "m.count\tnew_count"},
          loss=normalized(x, mean, variance), buffers=["m.count"])
    write("buffer-overwritten", x, [node("BatchNormalization", names, "y"), node("ReduceMean", "x", "now", keepdims=0)],
          constants={**kept, "m.last": F(0)}, metadata={"zb.buffers": "m.last\tnow"},
          loss=normalized(x, mean, variance), buffers=["m.last"])

    def wrong(name, *error, value=x, nodes=count, **more):
        write("bad-" + name, value, nodes, error=list(error), **{"constants": counted, **more})

    wrong("buffer-unknown", "names the buffer 'm.cuont'", "'new_count'", metadata={"zb.buffers": "m.cuont\tnew_count"})
    wrong("buffer-no-value", "names the buffer 'm.count'", metadata={"zb.buffers": "m.count"})
    wrong("buffer-twice", "the buffer 'm.count' is updated twice: to 'new_count' and to 'one'",
          metadata={"zb.buffers": "m.count\tnew_count\nm.count\tone"})
    wrong("buffer-type", "the buffer 'm.mean' is 3xf32, and its new value 'new_count' is i64",
          metadata={"zb.buffers": "m.mean\tnew_count"})
    wrong("buffer-trained", "--train names 'm.count', a buffer that forward() updates", train=["m.count"],
          metadata={"zb.buffers": "m.count\tnew_count"})
    wrong("buffer-frozen", "--freeze names 'm.count', a buffer", freeze=["m.count"],
          metadata={"zb.buffers": "m.count\tnew_count"})
    twice = [node("BatchNormalization", names, "a new_mean new_var", training_mode=1),
             node("BatchNormalization", names.replace("x", "a", 1), "y mean2 var2", training_mode=1)]
    wrong("batch-norm-twice", "the buffer 'm.mean' is updated twice: to 'new_mean' and to 'mean2'",
          "tools/export_onnx.py", nodes=twice)
    wrong("batch-norm-shape", "input 3 does not have one number for each of 3 channels",
          nodes=[node("BatchNormalization", "x m.s m.b short m.var", "y")], constants={**kept, "short": mean[:2]})
    wrong("batch-norm-rank", "the input has 1 dimensions, expected [N, C, ...]", value=x[:, 0],
          nodes=[node("BatchNormalization", names, "y")])


# ---- Convolutions and pooling ----
def windows():
    line, image, cube = numbers(2, 4, 9), numbers(2, 4, 7, 8), numbers(1, 2, 4, 5, 6)

    def conv(label, x, weight, extra="m.k", op="Conv", **attributes):
        constants = {"m.k": numbers(*weight), "m.b": numbers(attributes.pop("bias", 3))}
        one(op.lower() + "-" + label, op, x, extra, constants, fold=False, **attributes)

    conv("1d", line, (3, 4, 3), pads=[1, 1], strides=[2])
    conv("2d", image, (3, 4, 3, 2), "m.k m.b", pads=[1, 0, 2, 1], dilations=[1, 2])
    conv("3d", cube, (3, 2, 2, 2, 2), strides=[1, 2, 2])
    conv("groups", image, (6, 2, 3, 3), group=2, kernel_shape=[3, 3])
    conv("depthwise", image, (4, 1, 3, 3), group=4, auto_pad="SAME_UPPER", strides=[2, 2])
    conv("lower", image, (3, 4, 2, 3), auto_pad="SAME_LOWER", strides=[1, 3])
    conv("valid", image, (3, 4, 2, 3), auto_pad="VALID", dilations=[2, 1])
    conv("1d", line, (4, 3, 3), op="ConvTranspose", strides=[2], output_padding=[1])
    conv("2d", image, (4, 3, 3, 2), "m.k m.b", op="ConvTranspose", strides=[2, 3], pads=[1, 0, 0, 1])
    conv("3d", cube, (2, 2, 2, 2, 2), op="ConvTranspose", dilations=[1, 2, 1])
    conv("groups", image, (4, 3, 3, 3), op="ConvTranspose", group=2, strides=[2, 1])
    conv("shape", image, (4, 3, 3, 3), op="ConvTranspose", strides=[2, 2], output_shape=[14, 15])
    conv("same", image, (4, 3, 3, 3), op="ConvTranspose", strides=[2, 2], auto_pad="SAME_UPPER")
    for op in ("MaxPool", "AveragePool", "LpPool"):
        name = op.lower()
        one(name + "-1d", op, line, fold=False, kernel_shape=[3], strides=[2])
        one(name + "-2d", op, image, fold=False, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
        one(name + "-3d", op, cube, fold=False, kernel_shape=[2, 2, 2])
        one(name + "-same", op, image, fold=False, kernel_shape=[3, 3], strides=[2, 3], auto_pad="SAME_UPPER")
        if op != "LpPool":
            one(name + "-ceil", op, image, fold=False, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
            one(name + "-dilated", op, image, fold=False, kernel_shape=[3, 2], dilations=[2, 2])
    one("averagepool-padded", "AveragePool", image, fold=False, kernel_shape=[3, 3], pads=[1, 1, 1, 1],
        count_include_pad=1)
    one("lppool-1", "LpPool", image, fold=False, kernel_shape=[2, 2], p=1)
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        one(op.lower(), op, image, fold=False)
        one(op.lower() + "-3d", op, cube, fold=False)
    for order in (0, 1):
        found = [node("MaxPool", "x", "top y", kernel_shape=[2, 3], strides=[2, 2], storage_order=order)]
        good(f"maxpool-places-{order}", found, {"x": image})

    def wrong(name, nodes, *text, x=image, **constants):
        constants = {"m.s": np.array([1.5], F), "m.k": numbers(3, 4, 3, 3), **constants}
        bad(name, build(nodes, {"x": x}, constants, [("loss", TensorProto.FLOAT, [])], 20), *text)

    def tail(op, extra="m.k", **attributes):
        return [node(op, ("x " + extra).strip(), "y", **attributes), node("Mul", "y m.s", "z"),
                node("ReduceSum", "z", "loss", keepdims=0)]

    wrong("conv-channels", tail("Conv", group=3), "channels and groups do not fit")
    wrong("conv-kernel", tail("Conv", kernel_shape=[3, 2]), "kernel_shape is not the shape of the weight")
    wrong("conv-large", tail("Conv", dilations=[9, 1]), "no window fits along spatial dimension 0")
    wrong("conv-strides", tail("Conv", strides=[1]), "attribute 'strides' has 1 entries, expected 2")
    wrong("conv-zero", tail("Conv", strides=[0, 1]), "spatial dimension 0 is out of range")
    wrong("conv-auto", tail("Conv", auto_pad="BOTH"), "auto_pad has another value")
    wrong("conv-4d", tail("Conv"), "1 to 3 spatial dimensions are supported", x=numbers(1, 4, 3, 3, 3, 3),
          **{"m.k": numbers(3, 4, 1, 1, 1, 1)})
    wrong("pool-kernel", tail("MaxPool", ""), "it has no kernel_shape")
    wrong("pool-pads", tail("MaxPool", "", kernel_shape=[2, 2], pads=[2, 0, 0, 0]), "has no element of x")
    wrong("pool-rank", tail("MaxPool", "", kernel_shape=[2]), "attribute 'kernel_shape' has 1 entries, expected 2")
    wrong("lppool-p", tail("LpPool", "", kernel_shape=[2, 2], p=0), "p is 0, expected 1 or more")


# ---- What chooses, control flow ----
def chosen():
    """What chooses by values, blocks of pixels, normalizations of channels, forms of older opsets, newer operators."""
    x, ints = numbers(2, 3, 4), lambda *v: np.array(v, I)
    tied = np.array([[1, 3, 3, 0], [2, 2, -1, 2]], F)
    for op in ("ArgMax", "ArgMin"):
        one(f"{op}-axis".lower(), op, x, fold=False, axis=1)
        one(f"{op}-flat".lower(), op, x, fold=False, axis=-1, keepdims=0)
        one(f"{op}-first".lower(), op, tied, fold=False, axis=1)
        one(f"{op}-last".lower(), op, tied, fold=False, axis=1, select_last_index=1)
    one("hardmax", "Hardmax", tied, fold=False)
    one("hardmax-two", "Hardmax", x, fold=False, opset=11, axis=1)
    one("softmax-two", "Softmax", x, fold=False, opset=11, axis=1)
    one("log-softmax-two", "LogSoftmax", x, fold=False, opset=11)
    x = random.permutation(np.linspace(-1, 1, x.size)).reshape(x.shape).astype(F)  # a small step changes no order
    one("top-k", "TopK", x, "k", dict(k=ints(2)), fold=False, axis=1, outputs="y places")
    one("top-k-smallest", "TopK", x, "k", dict(k=ints(3)), fold=False, largest=0, outputs="y places")
    one("top-k-places", "TopK", tied, "k", dict(k=ints(3)), fold=False, outputs="t y", axis=1)
    one("top-k-opset-1", "TopK", x, fold=False, opset=9, outputs="y places", k=2)
    good("one-hot", [node("Cast", "x", "i", to=TensorProto.INT64), node("OneHot", "i d v", "y")],
         {"x": np.array([[0, 2, -1], [3, 1, -4]], F)}, dict(d=ints(4), v=np.array([-1, 2], F)))
    good("one-hot-axis", [node("Cast", "x", "i", to=TensorProto.INT64), node("OneHot", "i d v", "y", axis=0)],
         {"x": np.array([[0, 2, -1], [3, 1, -4]], F)}, dict(d=np.array(4, I), v=np.array([-1, 2], F)))
    one("reverse-sequence", "ReverseSequence", x, "n", dict(n=ints(2, 3)), fold=False, batch_axis=0, time_axis=1)
    one("reverse-sequence-time", "ReverseSequence", x, "n", dict(n=ints(1, 2, 2)), fold=False)
    pixels = numbers(2, 8, 2, 4)
    one("depth-to-space", "DepthToSpace", pixels, fold=False, blocksize=2)
    one("depth-to-space-crd", "DepthToSpace", pixels, fold=False, blocksize=2, mode="CRD")
    one("space-to-depth", "SpaceToDepth", pixels, fold=False, blocksize=2)
    affine = {"m.s": numbers(8), "m.b": numbers(8), "m.gs": numbers(4), "m.gb": numbers(4)}
    pick = lambda *names: {name: affine[name] for name in names}
    one("instance-norm", "InstanceNormalization", pixels, "m.s m.b", pick("m.s", "m.b"), fold=False, epsilon=0.01)
    one("group-norm", "GroupNormalization", pixels, "m.s m.b", pick("m.s", "m.b"), fold=False, opset=21, num_groups=4)
    one("group-norm-18", "GroupNormalization", pixels, "m.gs m.gb", pick("m.gs", "m.gb"), fold=False, opset=18,
        num_groups=4)
    one("mean-variance", "MeanVarianceNormalization", pixels, fold=False)
    one("mean-variance-axes", "MeanVarianceNormalization", x, fold=False, axes=[0, -1])
    one("scatter-old", "Scatter", numbers(3, 3), "i u", dict(i=ints(1, 0, 2, 0, 2, 1).reshape(2, 3), u=numbers(2, 3)),
        fold=False, opset=10)
    for mode in ("edge", "reflect"):
        one(f"pad-{mode}", "Pad", numbers(3, 4), "p", dict(p=ints(2, 0, 1, 3)), fold=False, mode=mode)
    one("pad-opset-2", "Pad", numbers(2, 3), fold=False, opset=10, pads=[1, 0, 0, 2], value=0.5)
    one("slice-backwards", "Slice", x, "st en ax sp", dict(st=ints(-1, 2), en=ints(-(2**62), 0), ax=ints(2, 1),
                                                           sp=ints(-2, -1)), fold=False)
    one("slice-opset-1", "Slice", x, fold=False, opset=9, starts=[1], ends=[3], axes=[2])
    one("clip-opset-6", "Clip", x, fold=False, opset=9, min=-0.25, max=0.5)
    one("unsqueeze-opset-1", "Unsqueeze", x, fold=False, opset=11, axes=[0, 4])
    one("split-opset-2", "Split", x, fold=False, opset=11, outputs="y z", axis=1, split=[1, 2])
    for i, (equation, shapes) in enumerate([
            ("ij->ji", [(3, 4)]), ("ij->i", [(3, 4)]), ("bii->bi", [(2, 3, 3)]), ("ii", [(3, 3)]),
            ("...ii->...i", [(2, 3, 3)]), ("i,i", [(5, ), (5, )]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
            ("b...i,bij->b...j", [(2, 3, 4), (2, 4, 5)]), ("ab,bc", [(2, 3), (3, 4)])]):
        more = {f"m.{k}": numbers(*shape) for k, shape in enumerate(shapes[1:])}
        one(f"einsum-more-{i}", "Einsum", numbers(*shapes[0]), " ".join(more), more, fold=False, equation=equation)
    powers = np.array([[3, -2, 5]], F)
    good("pow-integers", [node("Cast", "x", "i", to=TensorProto.INT64), node("Pow", "i e", "y")], {"x": powers},
         dict(e=ints(2, 3, 0)))
    for reduction in ("mean", "sum", "none"):
        s, l = numbers(4, 3, 2), np.array([[0, 2], [1, 7], [2, 2], [7, 0]], I)
        for op in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"):
            one(f"weighted-{op}-{reduction}", op, s, "l cw", {"cw": numbers(3, low=0.5, high=2)}, fold=False,
                inputs=dict(l=l), reduction=reduction, ignore_index=7)
    tables = {"m.cos": numbers(8, 2), "m.sin": numbers(8, 2)}
    places = dict(p=np.array([[0, 3, 7], [1, 1, 5]], I))
    q = numbers(2, 2, 3, 4)
    one("rotary", "RotaryEmbedding", q, "m.cos m.sin p", tables, fold=False, opset=23, inputs=places)
    one("rotary-interleaved", "RotaryEmbedding", q, "m.cos m.sin p", tables, fold=False, opset=23, inputs=places,
        interleaved=1)
    one("rotary-part", "RotaryEmbedding", numbers(2, 2, 3, 6), "m.cos m.sin p", tables, fold=False, opset=23,
        inputs=places, rotary_embedding_dim=4)
    one("rotary-3d", "RotaryEmbedding", numbers(2, 3, 8), "m.c m.d", {"m.c": numbers(2, 3, 2), "m.d": numbers(2, 3, 2)},
        fold=False, opset=23, num_heads=2)


def control():
    """If, Loop, Scan and functions, written out."""
    x, info = numbers(3, 2), helper.make_tensor_value_info
    out = lambda *names: [info(name, TensorProto.FLOAT, None) for name in names]
    yes = helper.make_graph([node("Exp", "x", "a")], "yes", [], out("a"))
    no = helper.make_graph([node("Neg", "x", "b")], "no", [], out("b"))
    for name, value in (("then", True), ("else", False)):
        good(f"if-{name}", [node("If", "c", "y", then_branch=yes, else_branch=no)], {"x": x}, dict(c=np.array(value)))
    body = helper.make_graph(
        [node("Mul", "state m.f", "next"), node("Add", "next x", "list"), node("Less", "k limit", "again")], "body",
        [info("k", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("state", TensorProto.FLOAT, None)],
        [info("again", TensorProto.BOOL, []), *out("next", "list")])
    for name, inputs, limit in (("trips", "n _ x", 0), ("condition", "_ t x", 3), ("both", "n t x", 1)):
        given = {"m.f": numbers(2), "limit": I(limit), "n": I(4), "t": np.array(True)}
        good(f"loop-{name}", [node("Loop", inputs, "s l", body=body), node("ReduceSum", "l", "r", keepdims=0),
                              node("Add", "s r", "y")], {"x": x},
             {k: v for k, v in given.items() if k in ("m.f", "limit") or k in inputs.split()})
    sums = helper.make_graph([node("Add", "s e", "t"), node("Mul", "t m.f", "u")], "sums", out("s", "e"), out("t", "u"))
    for name, more in (("forward", {}), ("backward", dict(scan_input_directions=[1], scan_output_directions=[1])),
                       ("axes", dict(scan_input_axes=[1], scan_output_axes=[-1]))):
        size = 3 if name == "axes" else 2
        good(f"scan-{name}", [node("Scan", "z x", "t y", body=sums, num_scan_inputs=1, **more)], {"x": x},
             {"z": np.zeros(size, F), "m.f": numbers(size)})
    scaled = helper.make_function("own", "Scaled", ["a", "b", "c"], ["r"],
                                  [node("Mul", "a b", "t"), node("LeakyRelu", "t", "r")],
                                  [helper.make_opsetid("", 20)], ["slope"])
    scaled.node[1].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=1))
    calls = [helper.make_node("Scaled", ["x", "m.f"], ["t"], domain="own", slope=0.5),
             helper.make_node("Scaled", ["t", "m.f"], ["y"], domain="own"),
             node("ReduceSum", "y", "loss", keepdims=0)]
    model = build(calls, {"x": x}, {"m.f": numbers(2)}, [("loss", TensorProto.FLOAT, [])], 20)
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(scaled)
    save("function", model, inputs={"x": array(x)}, loss=float(evaluate(model, {"x": x})[0]))
    model.functions[0].opset_import[0].version = 18
    save("bad-function-opset", model, error=["the function has opset 18, and the model 20"])


def recurrent():
    """RNN, GRU, LSTM: what the node tests leave out."""
    steps, batch, width, hidden = 4, 3, 2, 3
    x, lengths = numbers(steps, batch, width), np.array([4, 1, 2], I32)

    def layer(label, op, way="forward", extra="m.b", given=None, outputs="y", of=x, **attributes):
        gates, count = dict(RNN=1, GRU=3, LSTM=4)[op], 2 if way == "bidirectional" else 1
        state = (count, batch, hidden)
        constants = {"m.w": numbers(count, gates * hidden, width), "m.r": numbers(count, gates * hidden, hidden),
                     "m.b": numbers(count, 2 * gates * hidden), "m.h": numbers(*state), "m.c": numbers(*state),
                     "m.p": numbers(count, 3 * hidden)}
        constants = {k: v for k, v in constants.items() if k in ("m.w", "m.r") or k in extra.split()}
        one(f"{op.lower()}-{label}", op, of, "m.w m.r " + extra, {**constants, **(given or {})}, fold=False, opset=14,
            outputs=outputs, hidden_size=hidden, direction=way, **attributes)

    for op in ("RNN", "GRU", "LSTM"):
        layer("reverse", op, "reverse")
        layer("both-ways", op, "bidirectional", "m.b l m.h", dict(l=lengths))
        layer("last", op, "bidirectional", "m.b l", dict(l=lengths), outputs="all y")
        layer("clip", op, clip=0.3)
    layer("functions", "RNN", activations=["ScaledTanh"], activation_alpha=[0.7], activation_beta=[1.3])
    layer("long", "RNN", of=numbers(70, batch, width))
    layer("after", "GRU", linear_before_reset=1)
    layer("after-both", "GRU", "bidirectional", "m.b _ m.h", linear_before_reset=1)
    layer("functions", "GRU", activations=["HardSigmoid", "Softsign"], activation_alpha=[0.3], activation_beta=[0.4])
    layer("cell", "LSTM", "bidirectional", "m.b l m.h m.c m.p", dict(l=lengths), outputs="all last y")
    layer("coupled", "LSTM", input_forget=1)
    layer("functions", "LSTM", activations=["Affine", "Elu", "LeakyRelu"], activation_alpha=[0.3, 0.9, 0.2],
          activation_beta=[0.4])

    def wrong(name, text, extra="m.b", **attributes):
        constants = {"m.w": numbers(1, 3 * hidden, width), "m.r": numbers(1, 3 * hidden, hidden),
                     "m.b": numbers(1, 6 * hidden), "long": np.array([9, 1, 1], I32), "m.h": numbers(1, 1, 1)}
        named = ("m.w m.r " + extra).split()
        nodes = [node("GRU", "x " + " ".join(named), "y", hidden_size=attributes.pop("hidden_size", hidden),
                      **attributes), node("ReduceSum", "y", "loss", keepdims=0)]
        model = build(nodes, {"x": x}, {k: v for k, v in constants.items() if k in named},
                      [("loss", TensorProto.FLOAT, [])], 14)
        save("bad-gru-" + name, model, error=[text])

    wrong("direction", "the direction is not understood", direction="sideways")
    wrong("two", "input 1 is 1x9x2xf32, expected 2x9x2xf32", direction="bidirectional")
    wrong("size", "hidden_size is not that of the weights (3)", hidden_size=4)
    wrong("function", "the activation 'Cube' is not supported", activations=["Cube", "Tanh"])
    wrong("functions", "1 activations, expected 2", activations=["Tanh"])
    wrong("number", "activation_alpha of the activation Affine is missing", activations=["Affine", "Tanh"])
    wrong("length", "sequence 0 has the length 9, of 4 steps", extra="m.b long")
    wrong("state", "input 5 is 1x1x1xf32, expected 1x3x3xf32", extra="m.b _ m.h")
    wrong("clip", "clip is 0, expected more than 0", clip=0.0)


def resizes():
    """Resize and Upsample: what the node tests leave out."""
    x, line = numbers(1, 2, 5, 4), numbers(2, 7)
    half, many = np.array([1, 1, 0.6, 1.7], F), np.array([1, 2, 8, 3], I)

    def resized(label, of, kind, value, roi=None, opset=19, **attributes):
        constants = {kind: value} if roi is None else {kind: value, "roi": np.array(roi, F)}
        names = [name if name in constants else "_" for name in ("roi", "scales", "sizes")]
        one("resize-" + label, "Resize", of, " ".join(names).rstrip(" _"), constants, fold=False,
            opset=opset, **attributes)

    for places in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for mode in ("nearest", "linear", "cubic"):
            # Of sizes that are no whole numbers ONNX's reference, which the node tests follow, and onnxruntime differ.
            scales = np.array([1, 1, 2, 3], F) if places == "align_corners" else half
            resized(f"{mode}-{places}", x, "scales", scales, mode=mode, coordinate_transformation_mode=places)
            resized(f"{mode}-{places}-sizes", x, "sizes", many, mode=mode, coordinate_transformation_mode=places)
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        resized(f"{rounding}-2", line, "scales", np.array([1, 0.5], F), nearest_mode=rounding)
    for mode in ("linear", "cubic"):
        resized(f"{mode}-antialias", x, "sizes", np.array([1, 2, 2, 3], I), mode=mode, antialias=1)
        resized(f"{mode}-excluded", x, "scales", half, mode=mode, exclude_outside=1)
        resized(f"{mode}-crop", line, "sizes", np.array([3, 5], I), [0.1, -0.2, 0.8, 1.1], mode=mode,
                coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=2.0)
    for policy in ("not_larger", "not_smaller"):
        resized(policy, x, "sizes", np.array([9, 7], I), mode="linear", axes=[3, 2], keep_aspect_ratio_policy=policy)
    resized("old", line, "scales", np.array([2, 1.5], F), [0, 0, 1, 1], opset=11, mode="nearest", nearest_mode="floor",
            coordinate_transformation_mode="tf_half_pixel_for_nn")
    one("resize-opset-10", "Resize", line, "scales", dict(scales=np.array([2, 1.5], F)), fold=False, opset=10)
    for mode in ("nearest", "linear"):
        one(f"upsample-{mode}", "Upsample", x, "scales", dict(scales=np.array([1, 1, 2, 3], F)), fold=False, opset=9,
            mode=mode)
    good("resize-integers", [node("Cast", "x", "i", to=TensorProto.INT64), node("Resize", "i _ s", "y")],
         {"x": np.array([[3, -2, 5]], F)}, dict(s=np.array([2, 1.5], F)), opset=19)

    def wrong(name, text, nodes, **constants):
        nodes = [node("Mul", "x m.s", "z"), *nodes, node("ReduceSum", "y", "loss", keepdims=0)]
        constants["m.s"] = np.array([1.5], F)
        save("bad-resize-" + name, build(nodes, {"x": line}, constants, [("loss", TensorProto.FLOAT, [])], 19),
             error=[text])

    two = np.array([2, 2], F)
    wrong("none", "expected either scales or sizes", [node("Resize", "z", "y")])
    wrong("mode", "mode 'area' is not supported", [node("Resize", "z _ s", "y", mode="area")], s=two)
    wrong("places", "coordinate_transformation_mode 'middle' is not supported",
          [node("Resize", "z _ s", "y", coordinate_transformation_mode="middle")], s=two)
    wrong("count", "the scales has 3 entries, expected 2", [node("Resize", "z _ s", "y")], s=np.ones(3, F))
    wrong("zero", "the scale of dimension 1 is 0", [node("Resize", "z _ s", "y")], s=np.array([1, 0], F))
    wrong("empty", "dimension 0 becomes 0 long", [node("Resize", "z _ s", "y")], s=np.array([0.1, 1], F))
    wrong("computed", "the scales (input 2) is not a constant",
          [node("ReduceSum", "z a", "s", keepdims=0), node("Resize", "z _ s", "y")], a=np.array([1], I))
    wrong("roi", "tf_crop_and_resize needs a roi",
          [node("Resize", "z _ s", "y", coordinate_transformation_mode="tf_crop_and_resize")], s=two)
    wrong("axes", "axis 1 is named twice", [node("Resize", "z _ s", "y", axes=[1, -1])], s=two)


def attentions():
    """Attention with what zb.attention does not do."""
    q, k, v = numbers(2, 4, 3, 6), numbers(2, 2, 5, 6), numbers(2, 2, 5, 4)
    past = {"pk": numbers(2, 2, 2, 6), "pv": numbers(2, 2, 2, 4)}
    seen = np.array([[1, 0, 1, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], B)

    def attend(label, extra="k v", outputs="y", inputs=None, constants=None, opset=24, of=q, **attributes):
        given = inputs if inputs is not None else dict(k=k, v=v)
        one("attention-" + label, "Attention", of, extra, constants, fold=False, opset=opset, inputs=given,
            outputs=outputs, **attributes)

    attend("softcap", softcap=0.5)
    attend("softcap-mask", "k v mask", constants=dict(mask=seen), softcap=0.7, scale=2.0)
    attend("causal-keys", is_causal=1)
    for i, name in enumerate(("raw", "capped", "masked", "softmax")):
        # Scores that are hidden are -infinity: only of the softmax can all be summed.
        masked = {} if i == 2 else dict(mask=seen)
        attend(f"scores-{name}", " ".join(["k v", *masked]), "a b c y", constants=masked, qk_matmul_output_mode=i,
               softcap=0.9)
    attend("past", "k v _ pk pv", "a b c y", dict(k=k, v=v, **past), qk_matmul_output_mode=3, is_causal=1)
    attend("past-keys", "k v _ pk pv", "a y c", dict(k=k, v=v, **past))
    attend("past-values", "k v _ pk pv", "a b y", dict(k=k, v=v, **past))
    attend("past-mask", "k v mask pk pv", "y b c", dict(k=k, v=v, **past), dict(mask=numbers(2, 1, 3, 7)))
    attend("past-3d", "k v _ pk pv", "y b c", dict(k=numbers(2, 5, 12), v=numbers(2, 5, 8), **past), q_num_heads=4,
           kv_num_heads=2, of=numbers(2, 3, 24), is_causal=1)
    attend("lengths", "k v _ _ _ n", inputs=dict(k=k, v=v, n=np.array([3, 5], I)))
    attend("short-mask", "k v mask _ _ n", inputs=dict(k=k, v=v, n=np.array([2, 3], I)),
           constants=dict(mask=numbers(3, 3)))
    attend("hidden-row", "k v mask", constants=dict(mask=seen), softcap=100.0)
    good("attention-learned-mask", [node("Mul", "x m.f", "mask"), node("Attention", "q k v mask", "y")],
         {"x": numbers(3, 5)}, {"m.f": numbers(5), "q": q, "k": k, "v": v}, opset=24)

    def wrong(name, text, extra, **more):
        named = dict(k=k, v=v, m=np.array([1.5], F), **{k: v for k, v in more.items() if isinstance(v, np.ndarray)})
        attributes = {k: v for k, v in more.items() if not isinstance(v, np.ndarray)}
        nodes = [node("Mul", "x m", "z"), node("Attention", "z " + extra, "y", **attributes),
                 node("ReduceSum", "y", "loss", keepdims=0)]
        save("bad-attention-" + name, build(nodes, {"x": q}, named, [("loss", TensorProto.FLOAT, [])], 24),
             error=[text])

    wrong("mode", "qk_matmul_output_mode 4 is not supported", "k v", qk_matmul_output_mode=4)
    wrong("past", "past keys and values differ in tokens", "k v _ pk", pk=past["pk"])
    wrong("past-shape", "expected 2x2x3x6xf32 but for its tokens", "k v _ pk pv", pk=numbers(2, 4, 3, 6), pv=past["pv"])
    wrong("heads", "do not fit each other", "k3 v", k3=numbers(2, 3, 5, 6))
    wrong("mask", "the mask does not fit the 5 keys", "k v m9", m9=numbers(3, 9))
    wrong("precision", "softmax_precision 11 is not supported", "k v", softmax_precision=11)


def sampled():
    """Norms of vectors and of neighbouring channels, places of pooling, images at computed places."""
    x = numbers(2, 5, 3, 4)
    one("attention-values", "Attention", numbers(2, 4, 3, 6), "k v", fold=False, opset=23,
        inputs=dict(k=numbers(2, 2, 3, 6), v=numbers(2, 2, 3, 4)), is_causal=1)
    for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"):
        one(f"{op.lower()}-noop", op, numbers(2, 3, low=0.2), fold=False, noop_with_empty_axes=1)
    one("lrn", "LRN", numbers(5, 5, 3, 2), fold=False, size=3, alpha=0.5, beta=0.6, bias=1.5)
    one("lp-norm", "LpNormalization", x, fold=False)
    one("lp-norm-1", "LpNormalization", numbers(2, 3, low=0.2), fold=False, axis=0, p=1)
    windows = dict(kernel_shape=[2, 2], strides=[2, 2])
    pooled = [node("MaxPool", "x", "t i", **windows), node("MaxUnpool", "t i", "y", **windows)]
    good("max-unpool", pooled, {"x": numbers(2, 1, 4, 6)}, opset=22)
    for mode in ("linear", "nearest", "cubic"):
        for pad in ("zeros", "border", "reflection"):
            grid = numbers(2, 2, 3, 2, low=-1.6, high=1.6)
            one(f"grid-{mode}-{pad}", "GridSample", x, "g", fold=False, inputs=dict(g=grid), mode=mode,
                padding_mode=pad, align_corners=int(mode == "linear"))
    one("grid-volume", "GridSample", numbers(1, 2, 2, 3, 4), "g", fold=False, inputs=dict(g=numbers(1, 2, 1, 2, 3)))
    out = [("loss", TensorProto.FLOAT, [])]
    # A wildcard that freezes leaves what no gradient reaches a constant.
    nodes = [node("Mul", "x m.w", "z"), node("Resize", "z _ scales", "y"), node("Mul", "y m.v", "u"),
             node("ReduceSum", "u", "loss", keepdims=0)]
    given = {"m.w": numbers(4), "scales": np.array([1, 1, 2, 2], F), "m.v": numbers(8)}
    image = {"x": numbers(1, 2, 3, 4)}
    resized = build(nodes, image, given, out, 20)
    save("freeze-all-but-scales", resized, inputs={"x": array(image["x"])}, loss=float(evaluate(resized, image)[0]),
         freeze=["*"], train=["m.w"], trained=["m.w"], frozen=["m.v"])
    for name, text, more in (
            ("size", "does not fit an image of 2x5x3x4xf32", dict(g=numbers(2, 2, 3, 3))),
            ("mode", "the mode is not supported", dict(g=numbers(2, 2, 3, 2), mode="lanczos")),
            ("padding", "the padding_mode is not supported", dict(g=numbers(2, 2, 3, 2), padding_mode="wrap"))):
        own = {k: more.pop(k) for k in list(more) if k == "g"}
        nodes = [node("Mul", "x m", "z"), node("GridSample", "z g", "y", **more), node("ReduceSum", "y", "loss",
                                                                                       keepdims=0)]
        save("bad-grid-" + name, build(nodes, {"x": x, **own}, {"m": np.array([1.5], F)}, out, 20), error=[text])


def old(name, opset, nodes, meant, inputs, constants=None, new=13):
    """What nodes meant in their opset, which no program evaluates any more, said in a newer one. loss as in good()."""
    constants = dict(constants or {})
    found = evaluate(typed_output(meant, inputs, constants, "y", new), inputs)[0]
    constants.update({"w": numbers(*found.shape), "m.scale": np.full((1,) * found.ndim, 1.5, F)})

    def tail():
        return [node("Mul", "y w", "y_w"), node("ReduceSum", "y_w", "y_sum", keepdims=1),
                node("Mul", "y_sum m.scale", "y_scaled"), node("ReduceSum", "y_scaled", "loss", keepdims=0)]

    out = [("loss", TensorProto.FLOAT, [])]
    loss = float(evaluate(build(list(meant) + tail(), inputs, constants, out, new), inputs)[0])
    for suffix, own, extra in (("", inputs, {}), ("-folded", {}, inputs)):
        model = build(list(nodes) + tail(), own, {**constants, **extra}, out, opset)
        save("old-" + name + suffix, model, inputs={k: array(v) for k, v in own.items()}, loss=loss)


def old_opsets():
    """Operators as they were: broadcast and axis, consumed_inputs, is_test, types and places of attributes."""
    x, row, line = numbers(2, 3, 4, 5, low=0.3), numbers(3, 4, low=0.3), numbers(5, low=0.3)
    for op in ("Add", "Sub", "Mul", "Div", "Pow"):
        old(op.lower(), 6, [node(op, "x r", "y", broadcast=1, axis=1)],
            [node("Unsqueeze", "r a", "u"), node(op, "x u", "y")], {"x": x}, {"r": row, "a": np.array([2], I)})
        old(op.lower() + "-last", 1, [node(op, "x r", "y", broadcast=1)], [node(op, "x r", "y")], {"x": x}, {"r": line})
    old("add-negative", 6, [node("Add", "x r", "y", broadcast=1, axis=-3)],
        [node("Unsqueeze", "r a", "u"), node("Add", "x u", "y")], {"x": x}, {"r": row, "a": np.array([2], I)})
    old("add-equal", 6, [node("Add", "x x", "y")], [node("Add", "x x", "y")], {"x": x})
    old("add-one", 1, [node("Add", "x r", "y", broadcast=1, axis=0, consumed_inputs=[0, 0])],
        [node("Add", "x r", "y")], {"x": x}, {"r": np.array([0.7], F)})
    for op in ("Greater", "Less", "Equal"):
        old(op.lower(), 1, [node(op, "x r", "t", broadcast=1, axis=2), node("Cast", "t", "y", to="FLOAT")],
            [node("Unsqueeze", "r a", "u"), node(op, "x u", "t"), node("Cast", "t", "y", to=1)], {"x": x},
            {"r": x[0, 0, :, 0].copy(), "a": np.array([1], I)})
    for op in ("And", "Or", "Xor"):
        old(op.lower(), 1, [node("Less", "x h", "t", broadcast=1), node(op, "t r", "z", broadcast=1, axis=1),
                            node("Cast", "z", "y", to="FLOAT")],
            [node("Less", "x h", "t"), node("Unsqueeze", "r a", "u"), node(op, "t u", "z"),
             node("Cast", "z", "y", to=1)],
            {"x": x}, {"h": np.array([0.6], F), "r": np.array([True, False, True]), "a": np.array([1, 2], I)})
    slopes = {"s": numbers(3)}
    old("prelu-channels", 6, [node("PRelu", "x s", "y")], [node("Unsqueeze", "s a", "u"), node("PRelu", "x u", "y")],
        {"x": numbers(2, 3, 4)}, {**slopes, "a": np.array([1], I)})
    old("prelu-one", 1, [node("PRelu", "x s", "y", consumed_inputs=[0, 0])], [node("PRelu", "x s", "y")],
        {"x": numbers(2, 3, 4)}, {"s": np.array([0.3], F)})
    for op in ("Relu", "Elu", "Sigmoid", "HardSigmoid", "LeakyRelu", "Exp", "Neg", "Abs", "Tanh"):
        old(op.lower(), 1, [node(op, "x", "y", consumed_inputs=[0])], [node(op, "x", "y")], {"x": numbers(2, 3)})
    old("selu", 1, [node("Selu", "x", "y")], [node("Selu", "x", "y", alpha=1.6732, gamma=1.0507)],
        {"x": numbers(2, 3)})
    old("sum", 1, [node("Sum", "x x", "y", consumed_inputs=[0, 0])], [node("Sum", "x x", "y")], {"x": x})
    old("clip", 1, [node("Clip", "x", "y", min=-0.2, max=0.4, consumed_inputs=[0])], [node("Clip", "x a b", "y")],
        {"x": numbers(2, 3)}, {"a": np.array(-0.2, F), "b": np.array(0.4, F)})
    old("reshape", 1, [node("Reshape", "x", "y", shape=[0, -1], consumed_inputs=[0])], [node("Reshape", "x s", "y")],
        {"x": x}, {"s": np.array([0, -1], I)})
    old("pad", 1, [node("Pad", "x", "y", paddings=[0, 1, 2, 0], value=0.5)], [node("Pad", "x p v", "y")],
        {"x": numbers(2, 3)}, {"p": np.array([0, 1, 2, 0], I), "v": np.array(0.5, F)})
    old("tile", 1, [node("Tile", "x t a", "y")], [node("Tile", "x r", "y")], {"x": numbers(2, 3)},
        {"t": np.array(3, I), "a": np.array(1, I), "r": np.array([1, 3], I)})
    old("concat", 1, [node("Concat", "x x", "y")], [node("Concat", "x x", "y", axis=1)], {"x": x})
    old("lp-pool", 1, [node("GlobalLpPool", "x", "y", p=2.0)], [node("GlobalLpPool", "x", "y", p=2)], {"x": x})
    old("cast", 1, [node("Cast", "x", "t", to="INT64"), node("Cast", "t", "y", to="FLOAT")],
        [node("Cast", "x", "t", to=7), node("Cast", "t", "y", to=1)], {"x": numbers(2, 3, low=-9, high=9)})
    old("gemm", 6, [node("Gemm", "x m.b m.c", "y", broadcast=1)], [node("Gemm", "x m.b m.c", "y")],
        {"x": numbers(2, 3)}, {"m.b": numbers(3, 4), "m.c": numbers(4)})
    old("dropout", 6, [node("Dropout", "x", "y", is_test=1, ratio=0.5)], [node("Identity", "x", "y")], {"x": x})
    old("dropout-mask", 1, [node("Dropout", "x", "z m", is_test=1, consumed_inputs=[0]), node("Add", "z m", "y")],
        [node("Add", "x o", "y")], {"x": x}, {"o": np.array(1, F)})
    given = {"s": numbers(3), "b": numbers(3), "mean": numbers(3), "var": numbers(3, low=0.5, high=2)}
    old("batch-norm", 6, [node("BatchNormalization", "x s b mean var", "y", is_test=1, spatial=1)],
        [node("BatchNormalization", "x s b mean var", "y")], {"x": x}, given)
    old("batch-norm-trains", 1, [node("BatchNormalization", "x s b mean var", "y m v sm sv", is_test=0,
                                      consumed_inputs=[0, 0, 0, 1, 1])],
        [node("BatchNormalization", "x s b mean var", "y m v", training_mode=1)], {"x": x}, given, new=15)


def negative_pads():
    x = numbers(3, 4, 5)
    for name, pads, more in (("both", [-1, 0, -2, 0, -1, -1], {}), ("mixed", [1, -1, 0, -1, 2, -2], {}),
                             ("edge", [0, -1, 2, 0, 2, -1], dict(mode="edge")),
                             ("reflect", [0, -1, 2, 0, 1, -1], dict(mode="reflect"))):
        one("pad-negative-" + name, "Pad", x, "p v", constants={"p": np.array(pads, I), "v": np.array(0.5, F)},
            opset=18, **more)
    out = [("loss", TensorProto.FLOAT, [])]
    for name, pads in (("all", [0, -2, 0, 0, -2, 0]), ("more", [0, -9, 0, 0, 0, 0])):
        nodes = [node("Mul", "x m", "z"), node("Pad", "z p", "y"), node("ReduceSum", "y", "loss", keepdims=0)]
        save("bad-pad-" + name, build(nodes, {"x": x}, {"m": np.array([1.5], F), "p": np.array(pads, I)}, out, 18),
             error=["of dimension 1"])


def branches_on_data():
    x, out = numbers(3, 2), helper.make_tensor_value_info("o", TensorProto.FLOAT, None)
    body = lambda name, *nodes: helper.make_graph(nodes, name, [], [out])
    inner = node("If", "c1", "t", then_branch=body("inner", node("Mul", "e m.f", "o")),
                 else_branch=body("other", node("Identity", "m.f", "i"), node("Add", "e i", "o")))
    for name, low, high in (("first", -9, -9), ("second", -9, 9), ("last", 9, 9)):
        good("if-data-" + name, [
            node("ReduceSum", "x", "sum"), node("Greater", "sum low", "c0"), node("Greater", "sum high", "c1"),
            node("If", "c0", "y", then_branch=body("yes", node("Exp", "x", "e"), inner, node("Neg", "t", "o")),
                 else_branch=body("no", node("Mul", "x m.f", "o")))],
            {"x": x}, {"m.f": numbers(2), "low": np.array(low, F), "high": np.array(high, F)})


def main():
    for make in (elementwise, reductions, products, movement, folding, losses, parameter_cases, errors,
                 listed_cases, narrow_casts, indexing, dropouts, batch_norms, windows, chosen, control, recurrent,
                 resizes, attentions, sampled, old_opsets, negative_pads, branches_on_data):
        make()
    with open(os.path.join(HERE, "cases.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in table) + "\n]\n")
    print(len(table), "cases")


if __name__ == "__main__":
    main()
