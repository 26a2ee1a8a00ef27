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

In the file, parameters have the names of named_parameters(); a tied weight has the first of its names. The file's
metadata lists those that require a gradient (zb.trained) and those that do not (zb.frozen), which is how zbc tells
them from other tensors (rotary tables, masks). Paths of this machine are removed.
"""

import argparse
import contextlib
import importlib
import importlib.util
import io
import logging
import os
import sys
import traceback
import warnings

import models

try:
    import torch
    import onnxscript  # noqa: F401  (torch.onnx.export needs it; say so before the work starts)
except ImportError as e:
    sys.exit(
        f"error: the Python package '{e.name}' is not installed\n  hint: pip install -r "
        f"{os.path.join(os.path.dirname(os.path.relpath(__file__)), 'requirements.txt')}"
    )

warnings.simplefilter("ignore")  # those of the exporter about itself
logging.getLogger("torch").setLevel(logging.ERROR)  # a failure is told by trace()

DTYPES = dict(int64=torch.int64, int32=torch.int32, float32=torch.float32, bool=torch.bool)
KEPT_METADATA = ("pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy")


def fail(message, hint=None):
    sys.exit(f"error: {message}" + (f"\n  hint: {hint}" if hint else ""))


@contextlib.contextmanager
def guarded(what, hint=None):
    """What the user's code or PyTorch raises becomes one error: its first cause, and the last line outside of PyTorch on the way there."""
    try:
        yield
    except Exception as error:  # theirs: it has no common class
        cause = error
        while cause.__cause__ or (cause.__context__ and not cause.__suppress_context__):
            cause = cause.__cause__ or cause.__context__
        foreign = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(importlib.__file__) + os.sep, os.path.abspath(__file__), "<")
        frames = [f for f in traceback.extract_tb(cause.__traceback__) if not f.filename.startswith(foreign)]
        if isinstance(cause, SyntaxError) and cause.filename:
            frames = [traceback.FrameSummary(cause.filename, cause.lineno or 0, "")]
        where = f"\n  note: at {os.path.relpath(frames[-1].filename)}:{frames[-1].lineno}: {frames[-1].line}" if frames else ""
        text = (str(cause).strip().splitlines() or [""])[0]
        fail(f"{what}: {type(cause).__name__}: {text}{where}", hint)


def parse_input(text):
    """NAME:DTYPE:SHAPE -> (name, example tensor)."""
    parts = text.split(":")
    hint = "write NAME:DTYPE:SHAPE, for example x:int64:4x128 (a scalar: s:float32:)"
    if len(parts) != 3 or not parts[0]:
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
    # Tensors of their own for every input: one tensor given twice makes the exporter read only one of the inputs.
    return parts[0], torch.rand(shape) if dtype.is_floating_point else torch.zeros(shape, dtype=dtype)


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


def hide_by_infinity(graph):
    """Of a boolean attention mask PyTorch makes -infinity, and zeros of a row that sees nothing, for which the exporter writes a guard
    against NaN; but for -infinity it writes the least float, with which that row sees every key alike. A padded row is such a one."""
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
    for name, module in model.named_modules():
        rules = []
        if getattr(module, "padding_idx", None) is not None:
            rules.append(f"padding_idx={module.padding_idx} (PyTorch keeps that row as it is; here it is trained)")
        if getattr(module, "max_norm", None) is not None:
            rules.append(f"max_norm={module.max_norm} (PyTorch renormalizes rows as it reads them; here they are not)")
        if getattr(module, "scale_grad_by_freq", False):
            rules.append("scale_grad_by_freq (the gradient is not scaled here)")
        for rule in rules:
            print(f"warning: {name or 'the model'}: {rule}", file=sys.stderr)
    hooked = [n for n, p in model.named_parameters() if p._backward_hooks or p._post_accumulate_grad_hooks]
    if hooked:
        print("warning: hooks on gradients are not in the file: " + ", ".join(hooked[:5]), file=sys.stderr)


def check(graph, input_names, wanted):
    """What would make the file useless, found before the user finds it in training."""
    unused = [v.name for v in graph.inputs if not v.uses()]
    if unused:
        fail(f"the loss does not depend on input {', '.join(unused)}", "drop it from --input and from forward()")
    if [v.name for v in graph.inputs] != input_names:
        fail(f"the exported graph has the inputs {[v.name for v in graph.inputs]}, expected {input_names}")
    missing = sorted(wanted - {v.name for v in graph.initializers.values()})
    if missing:
        print(
            f"warning: {len(missing)} parameters are not used by the loss and not in the file: "
            + ", ".join(missing[:5]),
            file=sys.stderr,
        )


def compare(out, inputs, loss):
    """The file must compute what the model does: exporters drop arguments that they do not know (label smoothing)."""
    try:
        import onnxruntime
    except ImportError:
        print("note: onnxruntime is not installed, so the file was not compared with the model", file=sys.stderr)
        return
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    found = float(session.run(["loss"], {n: t.numpy() for n, t in inputs})[0])
    if not abs(found - loss) <= 1e-4 * max(1.0, abs(loss)):
        os.remove(out)
        fail(
            f"the exported graph computes the loss {found:.6f}, the model {loss:.6f}",
            "the exporter does not know something the model does (label_smoothing of cross_entropy?); write it out",
        )


def trace(model, inputs):
    """PyTorch's own export. Its report of a failure is hundreds of lines, which begin before it fails; what decides is the first cause."""
    with contextlib.redirect_stderr(io.StringIO()):
        with guarded(
            "PyTorch cannot export the model",
            "write what it cannot trace otherwise (branches on the values of tensors, for one); "
            "torch.onnx.export(model, inputs, dynamo=True) alone prints its whole report",
        ):
            return torch.onnx.export(
                model,
                tuple(t for _, t in inputs),
                dynamo=True,
                optimize=False,
                input_names=[n for n, _ in inputs],
                output_names=["loss"],
                verbose=False,
            )


def export(model, inputs, out, raw):
    names = first_names(model)
    given = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in inputs)
    with guarded("the model cannot be run", f"forward() was called with {given}, without gradients"), torch.no_grad():
        loss = model(*[t for _, t in inputs])
    if not isinstance(loss, torch.Tensor) or loss.dim() != 0 or not loss.dtype.is_floating_point:
        what = f"a tensor of shape {list(loss.shape)}" if isinstance(loss, torch.Tensor) else type(loss).__name__
        fail(
            f"forward() gave {what}, not a scalar float loss", "return the mean loss of the micro-batch, nothing else"
        )
    program = trace(model, inputs)
    graph = program.model.graph
    hide_by_infinity(graph)
    name_initializers(graph, names)
    if not raw:
        optimize(program.model, names)
    strip(program.model)
    program.model.metadata_props.update(list_parameters(model, graph, names))
    warn_of_rules(model)
    check(graph, [n for n, _ in inputs], {names[n] for n, p in model.named_parameters() if p.requires_grad})
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    program.save(out, external_data=size > (1 << 30))  # a protobuf message ends at 2 GiB
    if not any(isinstance(m, torch.nn.Dropout) and m.p > 0 for m in model.modules() if m.training):
        compare(out, inputs, loss.item())
    return len(list(graph)), size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="family (" + ", ".join(models.FAMILIES) + ") or MODULE:FACTORY")
    parser.add_argument("out", metavar="OUT.onnx")
    parser.add_argument("--input", action="append", default=[], metavar="NAME:DTYPE:SHAPE")
    parser.add_argument("--raw", action="store_true", help="leave the graph as the exporter writes it")
    models.add_options(parser)
    options = parser.parse_args()
    if options.model in models.FAMILIES:
        if options.input:
            fail("--input is for MODULE:FACTORY; a family has x and y", "use --batch and --seq")
        shape = f"{options.batch}x{options.seq}"
        inputs = [parse_input(f"{name}:int64:{shape}") for name in "xy"]
        model = models.build(options.model, options)
    elif ":" in options.model:
        if not options.input:
            fail("MODULE:FACTORY needs its inputs", "--input x:int64:4x128 for every argument of forward()")
        inputs = [parse_input(text) for text in options.input]
        torch.manual_seed(options.seed)
        with guarded(f"'{options.model}' cannot be made"):
            model = load_factory(options.model)
    else:
        fail(f"unknown family '{options.model}'", "one of " + ", ".join(models.FAMILIES) + ", or MODULE:FACTORY")
    with guarded(f"the folder of '{options.out}' cannot be made"):
        os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
    nodes, size = export(model, inputs, options.out, options.raw)
    print(f"{options.out}: {nodes} nodes, {len(list(model.parameters()))} parameters, {size:,} bytes of weights")


if __name__ == "__main__":
    main()
