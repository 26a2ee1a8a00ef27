#!/usr/bin/env python3
"""Exports a PyTorch model with its loss as an ONNX file that zbc can train.

    export_onnx.py gpt2 gpt2.onnx --layers 8 --dim 128 --heads 4 --seq 128 --batch 4
    export_onnx.py my_package.my_model:make mine.onnx --input x:int64:4x128 --input y:int64:4x128

A family (gpt2, llama), or MODULE:FACTORY: FACTORY() gives a torch.nn.Module whose forward takes the inputs and
gives a scalar loss. MODULE is a module name or a path to a .py file. Every --input is NAME:DTYPE:SHAPE for one
micro-batch; shapes are static.

Why not torch.onnx.export with its defaults: its optimizer takes parameters for constants. Equal initial values
become one initializer (all LayerNorm scales, which are ones), biases of zero are dropped, transposed weights become
new, unnamed constants: such a file computes the right loss and cannot be trained. So the graph is exported
unoptimized, the parameters are turned into graph inputs, the graph is optimized, and they are turned back. --raw
stops after the first step (a larger file, the same program).

Then loss and gradients of what will be in the file are compared with the model's (compare.py). Where they differ,
OUT.onnx is not written; OUT.rejected.onnx is, and the error says where they part.

--output NAME keeps a field of what forward() gives beside the loss (NAME=K: value number K of a tuple), which zbc
--keep-output NAME hands on and zb-run --eval ... --output NAME:FILE.npy writes.

Dropout of a model in training mode is in the file, as ONNX's Dropout: zb-run draws what it drops. It is compared too,
with the same elements dropped in both. --no-dropout leaves it out.

Buffers that forward() changes (running statistics of BatchNorm) are in the file with their new values, which are
outputs of the graph: the file's metadata (zb.buffers) lists them, a name, a tab and the output a line. zb-run updates
them with every micro-batch, as PyTorch does with gradient accumulation, and saves them.

In the file, parameters have the names of named_parameters(); a tied weight has the first of its names. The file's
metadata lists those that require a gradient (zb.trained) and those that do not (zb.frozen), which is how zbc tells
them from other tensors (rotary tables, masks). Paths of this machine are removed.
"""

import argparse
import contextlib
import importlib
import importlib.util
import inspect
import io
import logging
import math
import os
import sys
import time
import traceback
import warnings
from collections.abc import Mapping

import models

try:
    import onnxscript  # noqa: F401  (torch.onnx.export needs it; say so before the work starts)
    import torch

    import compare
    import evaluate
except ImportError as e:
    sys.exit(
        f"error: the Python package '{e.name}' is not installed\n  hint: pip install -r "
        f"{os.path.join(os.path.dirname(os.path.relpath(__file__)), 'requirements.txt')}"
    )

warnings.simplefilter("ignore")  # those of the exporter about itself
logging.getLogger("torch").setLevel(logging.ERROR)  # a failure is told by trace()
for name in ("onnxscript", "onnx_ir"):  # what the optimizer could not fold stays as it is
    logging.getLogger(name).setLevel(logging.CRITICAL)

DTYPES = dict(int64=torch.int64, int32=torch.int32, float32=torch.float32, bool=torch.bool)
KEPT_METADATA = ("pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy", "pkg.torch.onnx.fx_node")


def fail(message, hint=None):
    sys.exit(f"error: {message}" + (f"\n  hint: {hint}" if hint else ""))


def warn(message):
    print(f"warning: {message}", file=sys.stderr)


def some(names):
    """The first five."""
    return ", ".join(names[:5])


@contextlib.contextmanager
def guarded(what, hint=None, but=()):
    """What the user's code or PyTorch raises becomes one error: its first cause, and the last line outside of PyTorch
    on the way there. Exceptions of the kinds `but` pass."""
    try:
        yield
    except but:
        raise
    except Exception as error:  # theirs: it has no common class
        cause = error
        while cause.__cause__ or (cause.__context__ and not cause.__suppress_context__):
            cause = cause.__cause__ or cause.__context__
        frames = [f for f in traceback.extract_tb(cause.__traceback__) if not compare.is_foreign(f.filename)]
        if isinstance(cause, SyntaxError) and cause.filename:
            frames = [traceback.FrameSummary(cause.filename, cause.lineno or 0, "")]
        where = compare.note_of(frames and compare.place_of(frames[-1].filename, frames[-1].lineno))
        text = (str(cause).strip().splitlines() or [""])[0]
        fail(f"{what}: {type(cause).__name__}: {text}{where}", hint(cause) if callable(hint) else hint)


def parse_input(text, ranges):
    """NAME:DTYPE:SHAPE[:LOW..HIGH] -> (name, tensor of zeros, or LOW, or ones for a mask). ranges gets (LOW, HIGH)."""
    parts = text.split(":")
    hint = (
        "write NAME:DTYPE:SHAPE, for example x:int64:4x128 (a scalar: s:float32:); "
        "with :0..9 behind it, which values it may have"
    )
    if len(parts) not in (3, 4) or not parts[0]:
        fail(f"--input '{text}' is not NAME:DTYPE:SHAPE", hint)
    if parts[1] not in DTYPES:
        fail(f"--input '{text}': unknown dtype '{parts[1]}'", "one of " + ", ".join(DTYPES))
    try:
        shape = [int(d) for d in parts[2].split("x")] if parts[2] else []
    except ValueError:
        shape = [-1]
    if any(d < 1 for d in shape):
        fail(f"--input '{text}': '{parts[2]}' is no static shape", hint)
    dtype = DTYPES[parts[1]]
    if len(parts) == 4:
        number = float if dtype.is_floating_point else int
        try:
            low, high = [number(word) for word in parts[3].split("..")]
        except ValueError:
            low, high = 1, 0
        if not low <= high:
            fail(f"--input '{text}': '{parts[3]}' is no range", hint)
        ranges[parts[0]] = (low, high)
    # Tensors of their own for every input: one tensor given twice makes the exporter read only one of the inputs.
    return parts[0], torch.full(shape, ranges.get(parts[0], [int(compare.is_mask(parts[0]))])[0], dtype=dtype)


def load_factory(name):
    module_name, _, function = name.partition(":")
    try:
        if module_name.endswith(".py"):
            sys.path.insert(0, os.path.dirname(os.path.abspath(module_name)))  # its neighbours, as when it is run
            spec = importlib.util.spec_from_file_location("zb_user_model", module_name)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, os.getcwd())
            module = importlib.import_module(module_name)
    except (ImportError, FileNotFoundError) as e:
        fail(f"cannot load module '{module_name}': {e}")
    factory = getattr(module, function, None)
    if not callable(factory):
        fail(
            f"module '{module_name}' has no function '{function}'",
            "MODULE:FACTORY, where FACTORY() gives a torch.nn.Module",
        )
    model = factory()
    if not isinstance(model, torch.nn.Module):
        fail(f"'{name}' gave a {type(model).__name__}, not a torch.nn.Module")
    return model


def first_names(model):
    """Every name of a parameter -> the first name of that parameter."""
    first, names = {}, {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names[name] = first.setdefault(id(parameter), name)
    return names


def rename(graph, value, name):
    graph.initializers.pop(value.name)
    value.name = name
    graph.initializers[name] = value


def name_initializers(graph, names):
    """Parameters get their first name; anything else a name without a dot."""
    taken = {v.name for v in graph.initializers.values()} | {v.name for v in graph.inputs}
    for value in list(graph.initializers.values()):
        if value.name in names:
            if names[value.name] != value.name:
                rename(graph, value, names[value.name])
        elif "." in value.name:
            name = value.name.replace(".", "_")
            while name in taken:
                name += "_"
            taken.add(name)
            rename(graph, value, name)


def optimize(model, names):
    """onnxscript's optimizer, with the parameters out of its sight."""
    import onnxscript.optimizer

    graph = model.graph
    kept = {v.name: v.const_value for v in graph.initializers.values() if v.name in names}
    for name in kept:
        value = graph.initializers.pop(name)
        value.const_value = None  # else a bias of zeros is removed
        graph.inputs.append(value)
    onnxscript.optimizer.optimize_ir(model)
    for value in list(graph.inputs):
        if value.name in kept:
            graph.inputs.remove(value)
            value.const_value = kept[value.name]
            graph.initializers[value.name] = value


RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")


def number_of(value):
    """Of a constant with one element; None."""
    tensor = value.const_value if value is not None else None
    if tensor is None and value is not None and value.producer() is not None:
        attribute = value.producer().attributes.get("value")
        attribute = attribute or value.producer().attributes.get("value_float")
        tensor = attribute.value if attribute is not None else None
    return float(tensor.numpy().reshape(-1)[0]) if hasattr(tensor, "numpy") else tensor


def keep_dropouts(graph):
    """What the exporter writes for dropout within attention has no training mode, which means that it does nothing:
    it gets one. And of equal nodes the optimizer keeps one: a number in an attribute tells them apart (drop_numbers
    takes it away)."""
    from onnxscript import ir

    for number, node in enumerate([node for node in graph if node.op_type == "Dropout"]):
        if len(node.inputs) < 3 and len(node.inputs) > 1 and number_of(node.inputs[1]):
            import numpy

            mode = ir.Node("", "Constant", [], [ir.AttrTensor("value", ir.tensor(numpy.array(True)))])
            graph.insert_before(node, mode)
            node.resize_inputs(3)
            node.replace_input_with(2, mode.outputs[0])
        node.attributes["seed"] = ir.AttrInt64("seed", number)


def drop_numbers(graph):
    for node in graph:
        if node.op_type == "Dropout":
            node.attributes.pop("seed")


def check_dropouts(graph, spy):
    """Each dropout that the model made is a node."""
    others = [node for node in graph if node.op_type in RANDOM]
    found = [
        node
        for node in graph
        if node.op_type == "Dropout" and number_of(node.inputs[2]) and 0 < number_of(node.inputs[1]) < 1
    ]
    if len(found) == len(spy.drops) and not others:
        return
    where = compare.source_of(others[0]) if others else None
    fail(
        f"the model draws random numbers in forward(), which a file cannot do: {where or spy.drops[0]}",
        "dropout of single elements can be in a file (nn.Dropout, F.dropout, dropout_p of attention), that of channels "
        "and alpha dropout cannot; --no-dropout trains without any",
    )


def hide_by_infinity(graph):
    """Of a boolean attention mask PyTorch makes -infinity, and zeros of a row that sees nothing, for which the
    exporter writes a guard against NaN; but for -infinity it writes the least float, with which that row sees every
    key alike. A padded row is such a one."""
    from onnxscript import ir

    guarded = [n.inputs[0].producer() for n in graph if n.op_type == "IsNaN"]
    sums = [n.inputs[0].producer() for n in guarded if n is not None and n.op_type == "Softmax"]
    masks = [v.producer() for n in sums if n is not None and n.op_type == "Add" for v in n.inputs]
    for where in masks:
        constant = where.inputs[2].producer() if where is not None and where.op_type == "Where" else None
        if constant is None or "value" not in constant.attributes:
            continue
        value = constant.attributes["value"].value.numpy()
        if value.size == 1 and value.dtype.kind == "f" and value.min() == torch.finfo(torch.float32).min:
            infinity = ir.tensor(value - value.dtype.type(float("inf")))
            node = ir.Node("", "Constant", [], [ir.AttrTensor("value", infinity)])
            graph.insert_before(where, node)
            where.replace_input_with(2, node.outputs[0])


def strip(model):
    """Removes what names files of this machine; keeps the module path of each node."""
    for owner in [model, model.graph, *model.graph, *model.functions.values()]:
        for key in list(owner.metadata_props):
            if key not in KEPT_METADATA:
                owner.metadata_props.pop(key)
        owner.doc_string = None
    for node in model.graph:
        for value in node.outputs:
            value.metadata_props.clear()
    for value in [*model.graph.inputs, *model.graph.initializers.values()]:
        value.metadata_props.clear()


def batch_norms():
    """How torch.onnx.export is to write BatchNorm in training: its own way has the running statistics as they are
    now. ONNX's operator gives statistics of the batch (with momentum 0), with the biased variance, and PyTorch's new
    running ones are made of them."""
    from onnxscript import opset18 as op

    kept = {}  # new statistics -> those of the module, for a module that is called more than once

    def translated(x, weight, bias, running_mean, running_var, training, momentum, eps):
        channels, count = x.shape[1], math.prod(x.shape) // x.shape[1]
        ones = op.Constant(value_floats=[1.0] * channels)
        zeros = op.Constant(value_floats=[0.0] * channels)
        own_mean, own_var = kept.get(running_mean, running_mean), kept.get(running_var, running_var)
        y, mean, var = op.BatchNormalization(
            x,
            ones if weight is None else weight,
            zeros if bias is None else bias,
            own_mean,
            own_var,
            epsilon=eps,
            momentum=0.0,
            training_mode=1,
        )
        rest, share = op.Constant(value_float=1 - momentum), op.Constant(value_float=momentum)
        unbiased = op.Constant(value_float=momentum * count / max(count - 1, 1))
        new_mean = op.Add(op.Mul(running_mean, rest), op.Mul(mean, share))
        new_var = op.Add(op.Mul(running_var, rest), op.Mul(var, unbiased))
        kept[new_mean], kept[new_var] = own_mean, own_var
        return y, mean, var, new_mean, new_var

    return {torch.ops.aten._native_batch_norm_legit_functional.default: translated}


def list_parameters(model, graph, names):
    """What is trained and what is not, a name a line, for zbc."""
    present = {v.name for v in graph.initializers.values()}
    rows = {"zb.trained": [], "zb.frozen": []}
    for name, parameter in model.named_parameters():
        if names[name] == name and name in present:
            rows["zb.trained" if parameter.requires_grad else "zb.frozen"].append(name)
    return {key: "\n".join(found) for key, found in rows.items()}


def warn_of_rules(model):
    """What PyTorch does outside of the graph, so that no file can say it."""
    for name, table in compare.tables_with_padding(model):
        rule = f"padding_idx={table.padding_idx} (PyTorch keeps that row as it is; here it is trained)"
        warn(f"{name or 'the model'}: {rule}")
    hooked = [n for n, p in model.named_parameters() if p._backward_hooks or p._post_accumulate_grad_hooks]
    if hooked:
        warn("hooks on gradients are not in the file: " + some(hooked))


def check(graph, input_names, wanted):
    """What would make the file useless, found before the user finds it in training."""
    unused = [v.name for v in graph.inputs if not v.uses()]
    if unused:
        fail(f"the loss does not depend on input {', '.join(unused)}", "drop it from --input and from forward()")
    if [v.name for v in graph.inputs] != input_names:
        fail(f"the exported graph has the inputs {[v.name for v in graph.inputs]}, expected {input_names}")
    missing = sorted(wanted - {v.name for v in graph.initializers.values()})
    if missing:
        warn(f"{len(missing)} parameters are not used by the loss and not in the file: {some(missing)}")


def way_round(cause):
    """The hint for what PyTorch's exporter raised; no more than its kind says."""
    kinds = {
        "GuardOnDataDependentSymNode": "the model branches on the values of tensors: write it without (torch.where)",
        "DynamicOutputShapeException": "the shape of a result depends on values: write it with shapes that do not",
        "DispatchError": "ONNX has no form of that operator: write it with others",
    }
    report = "torch.onnx.export(model, inputs, dynamo=True) alone prints its whole report"
    return kinds.get(type(cause).__name__, "write what it cannot trace otherwise") + "; " + report


UPDATED = "zb.updated."  # what the outputs of new values of buffers begin with


def list_buffers(graph, buffers):
    """What forward() changes, for zbc."""
    outputs = {v.name for v in graph.outputs}
    rows = [f"{name}\t{UPDATED}{name}" for name in buffers if name in graph.initializers]
    missing = [name for name in buffers if name not in graph.initializers or UPDATED + name not in outputs]
    if missing:
        fail(
            f"forward() changes buffer {missing[0]}, but never reads it: its new value cannot be in the file",
            "keep it outside of forward(), or make the new value from the old one",
        )
    return {"zb.buffers": "\n".join(rows)} if rows else {}


def trace(model, inputs, outputs, buffers):
    """PyTorch's own export. Its report of a failure is hundreds of lines, which begin before it fails; what decides
    is the first cause."""
    with contextlib.redirect_stderr(io.StringIO()):
        with guarded("PyTorch cannot export the model", way_round):
            return torch.onnx.export(
                model,
                tuple(t for _, t in inputs),
                dynamo=True,
                optimize=False,
                input_names=[n for n, _ in inputs],
                output_names=["loss", *(name for name, _ in outputs), *(UPDATED + name for name in buffers)],
                custom_translation_table=batch_norms(),
                verbose=False,
            )


# ---- Calling the model ----


def by_name(model, names):
    """Whether inputs are given to forward() by name: where they are its parameters, in another order or after
    others."""
    rows = list(inspect.signature(model.forward).parameters.values())
    known = {p.name for p in rows if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    positions = [p.name for p in rows if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    found = [name for name in names if name in known]
    if all(k < len(positions) and positions[k] == name for k, name in enumerate(names) if name in known):
        return False
    surplus = [name for name in names if name not in known]
    if surplus and not any(p.kind == p.VAR_KEYWORD for p in rows):
        fail(
            f"--input {surplus[0]}: forward() has no parameter of this name, but one named {found[0]}",
            "its parameters are "
            + ", ".join(p.name for p in rows if p.name in known)
            + "; names that are none are given in order",
        )
    return True


def scalars(values):
    return [v for v in values if isinstance(v, torch.Tensor) and v.dim() == 0 and v.dtype.is_floating_point]


def pick_loss(result):
    """(the loss in what forward() gave, what was taken as a text or None)."""
    if isinstance(result, torch.Tensor):
        if result.dim() or not result.dtype.is_floating_point:
            fail(
                f"forward() gave a tensor of shape {list(result.shape)}, not a scalar float loss",
                "return the mean loss of the micro-batch, nothing else",
            )
        return result, None
    fields = (
        dict(result)
        if isinstance(result, Mapping)
        else getattr(result, "_asdict", dict)() or vars(result) if hasattr(result, "__dict__") else {}
    )
    loss = fields.get("loss")
    if scalars([loss]):
        return loss, f"forward() gives {', '.join(map(str, fields))}: 'loss' is what is trained"
    if fields:
        fail(
            f"forward() gave a {type(result).__name__} with {', '.join(map(str, fields))}, "
            + (
                "and its 'loss' is " + ("None" if loss is None else "no scalar float")
                if "loss" in fields
                else "and none of them is named 'loss'"
            ),
            "give what the loss is computed of (--input labels:int64:4x128 for a model of Hugging Face), "
            "or wrap the model in a module whose forward() returns the loss alone",
        )
    if isinstance(result, (list, tuple)) and len(scalars(result)) == 1:
        return scalars(result)[0], f"forward() gives {len(result)} values: the only scalar is what is trained"
    what = (
        f"a tuple of {len(result)} with {len(scalars(result))} scalars"
        if isinstance(result, (list, tuple))
        else type(result).__name__
    )
    fail(f"forward() gave {what}, not a scalar float loss", "return the mean loss of the micro-batch, nothing else")


def parse_output(text):
    """(name, key in what forward() gives)."""
    name, _, key = text.partition("=")
    if not name or name == "loss" or (key and not key.isdigit()):
        fail(f"--output: expected NAME, a field of what forward() gives, or NAME=K, its value number K, got '{text}'")
    return name, int(key) if key else name


def pick_output(result, name, key):
    """An output beside the loss."""
    if isinstance(key, int):
        values = list(result.values()) if isinstance(result, Mapping) else result
        found = values[key] if isinstance(values, (list, tuple)) and key < len(values) else None
    else:
        found = result.get(key) if isinstance(result, Mapping) else getattr(result, key, None)
    if not isinstance(found, torch.Tensor):
        fields = list(result) if isinstance(result, Mapping) else list(getattr(result, "_fields", ()))
        what = ", ".join(map(str, fields)) if fields else f"a {type(result).__name__}"
        fail(
            f"--output {name}: forward() gives no such tensor, but {what}",
            "--output NAME takes a field, --output NAME=K value number K, from 0, of a tuple",
        )
    return found


def adapt(model, names, outputs):
    """The model, taking its inputs by name and giving its loss alone; after gives_outputs = True the outputs and the
    buffers `updates` too. A subclass and not a module around it: parameters and modules keep their paths."""
    own = type(model)

    def forward(self, *tensors):
        result = own.forward(self, **dict(zip(names, tensors))) if names else own.forward(self, *tensors)
        loss = pick_loss(result)[0]
        if not self.gives_outputs:
            return loss
        return (loss, *(pick_output(result, *output) for output in outputs), *map(self.get_buffer, self.updates))

    more = {"forward": forward, "__module__": own.__module__, "gives_outputs": False, "updates": []}
    model.__class__ = type(own.__name__, (own,), more)


def first_run(model, inputs, outputs):
    """Runs the model once, on zeros; adapts it to the way it is called. What a Spy saw."""
    names = [n for n, _ in inputs]
    given = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in inputs)
    keywords = by_name(model, names)
    with compare.Modules(model) as modules, compare.Spy(modules, inputs) as spy, torch.no_grad():
        before = compare.generators()
        with guarded("the model cannot be run", f"forward() was called with {given}, without gradients"):
            result = model(**dict(inputs)) if keywords else model(*[t for _, t in inputs])
        spy.other = [name for name, state in compare.generators().items() if before.get(name, state) != state]
    loss, taken = pick_loss(result)
    if taken:
        print(f"note: {taken}", file=sys.stderr)
    for output in outputs:
        pick_output(result, *output)
    adapt(model, names if keywords else None, outputs)
    return spy, loss


def refuse_random(spy):
    found = list(spy.random.values())
    if found:
        fail(
            f"the model draws random numbers in forward(), which a file cannot do: {found[0]}"
            + (f" (and {len(found) - 1} more)" if found[1:] else ""),
            "compile the module itself (zb.compile, or python3 -m zb.aten), give the random numbers as an input, or "
            "train without them; dropout can be in a file",
        )
    if spy.other:
        fail(
            f"forward() draws numbers from {spy.other[0]}, which a file cannot do: "
            "one draw would be kept for all steps",
            "train without it",
        )


def refuse_memory(model, state, inputs, first):
    """Python numbers that forward() changes, and reads again, would stay in the file as they are now. The names of
    buffers that it changes."""
    buffers, numbers, parameters = state.changed()
    if parameters:
        fail(f"forward() changes parameter {parameters[0]}, which a file cannot do", "do it outside of forward()")
    for name in buffers:
        refuse_buffer(model, state, name)
    if not numbers:
        return buffers
    state.restore_buffers()
    with torch.no_grad():
        second = model(*[t for _, t in inputs]).item()
    if not second == first and not (math.isnan(first) and math.isnan(second)):
        fail(
            f"forward() changes {some(numbers)}, and with it the loss of the same inputs, "
            f"from {first:.6f} to {second:.6f}: "
            "in a file it would stay as it is now",
            "make it a buffer (register_buffer), a tensor that forward() updates; "
            "a value that is only watched can be computed outside of forward()",
        )
    warn(f"forward() changes {some(numbers)}: in the file it stays as it is now")
    return buffers


def refuse_buffer(model, state, name):
    """A buffer that forward() changes keeps its shape, and is of a type that zbc keeps."""
    before = {own: copy for own, _, _, _, copy in state.buffers}[name]
    path, _, key = name.rpartition(".")
    tensor = None if before is None else model.get_submodule(path)._buffers.get(key)
    if tensor is None or tensor.dtype not in (torch.float32, torch.int64, torch.int32):
        what = "which is not always there" if tensor is None else f"of {str(tensor.dtype).removeprefix('torch.')}"
        fail(f"forward() changes buffer {name}, {what}", "a buffer that forward() changes is float32, int64 or int32")


def refuse_cached(model, state, drawn, cached):
    """What forward() keeps in attributes for later calls: fine where it is a mask or a table, the same
    for all inputs."""
    if not cached:
        return
    with torch.no_grad():
        model(*[t for _, t in drawn])
    now = state.cached()
    state.restore()
    for name, value in cached.items():
        if name not in now or now[name].shape != value.shape or not torch.equal(now[name], value):
            fail(
                f"forward() keeps '{name}', which is computed from its inputs, for later calls: in a file it would be "
                "that of one input for all steps", "compute it in each call, or make it a parameter",
            )


def changed_buffers(model, state, drawn, of_zeros):
    """The names of buffers that forward() changes, of zeros or of other numbers: the mean of zeros is what a running
    mean begins with."""
    with torch.no_grad():
        model(*[t for _, t in drawn])
    found = {*of_zeros, *state.changed()[0]}
    for name in found:
        refuse_buffer(model, state, name)
    state.restore()
    return [name for name, *_ in state.buffers if name in found]


# ---- Exporting ----


class Progress:
    """A line on standard error for what begins, with the time since the start: with large models each takes a while."""

    def __init__(self):
        self.start = time.monotonic()

    def __call__(self, text):
        print(f"[{time.monotonic() - self.start:5.1f} s] {text}", file=sys.stderr, flush=True)


class File:
    """What will be written: the program, and what the file says of itself (metadata)."""

    def __init__(self, program, out, size, properties):
        self.program, self.out, self.size, self.properties = program, out, size, properties

    def save(self, path, compared):
        strip(self.program.model)
        self.program.model.metadata_props.update({**self.properties, "zb.compared": compared})
        self.program.save(path, external_data=self.size > (1 << 30))  # a protobuf message ends at 2 GiB

    def reject(self, what, hint):
        """Not OUT, so that nobody trains it by mistake; but kept, because zbc may say more."""
        path = os.path.splitext(self.out)[0] + ".rejected.onnx"
        self.save(path, "rejected: " + what.split("\n")[0])
        fail(f"{what}\n  note: '{self.out}' is not written; the graph is in '{path}'", hint)


def unknown_ops(unknown):
    rows = []
    for op, node in list(unknown.items())[:5]:
        place = compare.source_of(node)
        rows.append(op + (f" ({place})" if place else ""))
    return "zbc has no operator for " + ", ".join(rows)


def compare_with_model(pair, inputs, ranges, file):
    """Text for the file's metadata. Ends with an error where graph and model part."""
    draws = [compare.draw(inputs, ranges, 2), inputs]
    others = [compare.draw(inputs, ranges, 3, (-3.0, 3.0)), compare.draw(inputs, ranges, 4)]
    own = (compare.Refused, evaluate.Unknown)
    try:
        with guarded("the exported graph cannot be evaluated", "--no-compare writes it all the same", but=own):
            return f"loss and gradients, {compare.compare(pair, draws, others)} draws"
    except compare.Refused as refused:
        file.reject(*refused.args)
    except evaluate.Unknown as unknown:
        file.reject(unknown_ops(unknown.nodes), "give that file to zbc: it says what it knows of each")


@contextlib.contextmanager
def giving_outputs(model):
    model.gives_outputs = True
    yield
    model.gives_outputs = False


def is_same(want, got):
    if want.shape != got.shape or want.numel() == 0:
        return want.shape == got.shape
    apart = (want.double() - got.double()).abs()
    if want.dtype.is_floating_point:
        return bool(apart.max() <= 1e-4 * max(want.double().abs().max().item(), 1e-6))
    return bool((apart != 0).double().mean() <= 1e-3)  # what is counted or compared may turn at a rounding


def compare_outputs(model, inputs, outputs, graph, drawn, state, file):
    """Outputs of the graph, and new values of buffers, against the model's, of one draw."""
    with giving_outputs(model), torch.no_grad():
        wanted = [t.clone() for t in model(*[t for _, t in inputs])[1:]]
        state.restore()
        found = evaluate.run_all(graph, dict(inputs), {}, masks=drawn.masks)[1:]
    for (name, _), want, got in zip(outputs, wanted, found):
        if not is_same(want, got):
            file.reject(f"output '{name}' of the exported graph is not the model's", "leave it out of --output")
    for name, want, got in zip(model.updates, wanted[len(outputs) :], found[len(outputs) :]):
        if not is_same(want, got):
            file.reject(
                f"the buffer {name} that the graph computes is not the one that forward() leaves",
                "update it with other operations",
            )


def check_types(model):
    for name, p in model.named_parameters():
        if p.dtype.is_floating_point and p.dtype != torch.float32:
            fail(
                f"parameter {name} is {str(p.dtype).removeprefix('torch.')}: zbc trains float32",
                "model.float(), or dtype=torch.float32 where it is made",
            )


def probe(model, inputs, state, given, outputs):
    """Runs the model on zeros, then on drawn numbers. (inputs to trace it with, their ranges, names of the buffers that
    forward() changes, what a Spy saw)."""
    spy, first = first_run(model, inputs, outputs)
    refuse_random(spy)
    cached = state.cached()
    changed = refuse_memory(model, state, inputs, first.item())
    state.restore()

    def finite(drawn):
        with torch.no_grad():
            loss = model(*[t for _, t in drawn])
        state.restore()
        return bool(torch.isfinite(loss))

    ranges = compare.find_ranges(inputs, spy, given, finite)
    drawn = compare.draw(inputs, ranges, 1)
    refuse_cached(model, state, drawn, cached)
    return drawn, ranges, changed_buffers(model, state, drawn, changed), spy


def export(model, inputs, options):
    """inputs: [(name, an example of its shape)]; options.ranges: {name: (lowest, highest) value of an input}."""
    names = first_names(model)
    say = Progress()
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    check_types(model)
    with compare.NoDropout() if options.no_dropout else contextlib.nullcontext():
        say(f"running the model, {size // 4:,} parameters")
        state = compare.State(model)
        with compare.Drawn(model):
            inputs, ranges, changed, spy = probe(model, inputs, state, options.ranges, options.outputs)
        say("tracing it: torch.onnx.export")
        model.updates = changed
        with giving_outputs(model):
            program = trace(model, inputs, options.outputs, changed)
        state.restore()
        graph = program.model.graph
        hide_by_infinity(graph)
        keep_dropouts(graph)
        kept = {**names, **{name: name for name in changed}}  # what the optimizer must not take for constants
        name_initializers(graph, kept)
        if not options.raw:
            say("optimizing the graph")
            optimize(program.model, kept)
        drop_numbers(graph)
        check_dropouts(graph, spy)
        warn_of_rules(model)
        check(graph, [n for n, _ in inputs], {names[n] for n, p in model.named_parameters() if p.requires_grad})
        file = File(
            program, options.out, size, {**list_parameters(model, graph, names), **list_buffers(graph, changed)}
        )
        compared = "no"
        if options.no_compare:
            warn("the file is not compared with the model, and says so")
        else:
            say("comparing loss and gradients with the model's")
            with compare.Drawn(model) as drawn:
                call = lambda given: model(*[t for _, t in given])  # noqa: E731
                pair = compare.Pair(model, call, graph, names, state, drawn.masks)
                compared = compare_with_model(pair, inputs, ranges, file)
            if options.outputs or changed:
                with compare.Drawn(model) as drawn:
                    compare_outputs(model, inputs, options.outputs, graph, drawn, state, file)
                state.restore()
    say("writing")
    file.save(options.out, compared)
    return len(list(graph)), size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="family (" + ", ".join(models.FAMILIES) + ") or MODULE:FACTORY")
    parser.add_argument("out", metavar="OUT.onnx")
    parser.add_argument("--input", action="append", default=[], metavar="NAME:DTYPE:SHAPE[:LOW..HIGH]")
    parser.add_argument("--output", action="append", default=[], metavar="NAME[=K]", help="an output beside the loss")
    parser.add_argument("--raw", action="store_true", help="leave the graph as the exporter writes it")
    parser.add_argument("--no-dropout", action="store_true", help="train without dropout, whatever the model says")
    parser.add_argument(
        "--no-compare", action="store_true", help="do not check that the file trains as the model does; zbc will say so"
    )
    models.add_options(parser)
    options = parser.parse_args()
    options.ranges = {}
    options.outputs = [parse_output(text) for text in options.output]
    if options.model in models.FAMILIES:
        if options.input:
            fail("--input is for MODULE:FACTORY; a family has x and y", "use --batch and --seq")
        shape = f"{options.batch}x{options.seq}"
        inputs = [parse_input(f"{name}:int64:{shape}", options.ranges) for name in "xy"]
        model = models.build(options.model, options)
    elif ":" in options.model:
        if not options.input:
            fail("MODULE:FACTORY needs its inputs", "--input x:int64:4x128 for every argument of forward()")
        inputs = [parse_input(text, options.ranges) for text in options.input]
        torch.manual_seed(options.seed)
        with guarded(f"'{options.model}' cannot be made"):
            model = load_factory(options.model)
    else:
        fail(f"unknown family '{options.model}'", "one of " + ", ".join(models.FAMILIES) + ", or MODULE:FACTORY")
    with guarded(f"the folder of '{options.out}' cannot be made"):
        os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
    nodes, size = export(model, inputs, options)
    print(f"{options.out}: {nodes} nodes, {len(list(model.parameters()))} parameters, {size:,} bytes of weights")


if __name__ == "__main__":
    main()
