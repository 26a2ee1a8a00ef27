"""The door from PyTorch: a module as text that zbc compiles.

    zb.aten.export(model, (x, y), path="exported.mlir")
    python3 -m zb.aten my_models.py:build exported.mlir --input x:int64:4x128 --input y:int64:4x128

`export` calls torch.export and writes its graph of core ATen ops as MLIR text in generic form, of a dialect `aten`,
with the values of parameters and buffers beside it, in exported.safetensors. zbc exported.mlir makes a plan of it. In
the text

    "aten.addmm"(%bias, %x, %weight) : (...) -> tensor<8x16xf32> loc("h.0.mlp.c_fc (addmm)"("model.py":12:0))

operands are the tensors of the call in the order of the op's schema, and attributes are its other arguments, by their
names in the schema. What is None and stands before a tensor is a value of type `none`. Arguments of @main have
`aten.parameter` with a name of named_parameters() (and `aten.names` with all of them, where several are one tensor),
`aten.buffer`, `aten.constant` or `aten.input`; results have `aten.output`, or `aten.updates` with the name of a
buffer.
"""

import argparse
import contextlib
import functools
import importlib
import importlib.util
import inspect
import linecache
import os
import re
import struct
import sys
import traceback
import warnings
from pathlib import Path

try:
    import torch
except ImportError as error:
    raise ImportError("zb.aten needs PyTorch, which is not installed: pip install torch") from error

from . import _complex, _ctc, _functions, _matrices, _meta, _random, _safetensors, _slopes, _written

FORMAT = 1
# The oldest and the newest PyTorch that tests run with.
TESTED = ((2, 13), (2, 15))

# Ops that torch.export would take apart and zbc has as one (rows of ir/import/aten/aten_ops.def).
WHOLE = """
    adaptive_avg_pool1d adaptive_avg_pool2d celu cross_entropy_loss dropout elu eye eye.m gelu glu
    grid_sampler_2d grid_sampler_3d hardsigmoid hardswish l1_loss layer_norm leaky_relu linalg_vector_norm linear
    log_sigmoid log_softmax.int logsumexp matmul mish mse_loss nll_loss nll_loss_nd _prelu_kernel rms_norm
    scaled_dot_product_attention selu silu softmax.int softplus softshrink stack std.correction std_mean.correction
    threshold tril triu upsample_bilinear2d.vec upsample_linear1d.vec upsample_nearest1d.vec upsample_nearest2d.vec
    upsample_nearest3d.vec upsample_trilinear3d.vec
""".split()

DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "ui8",
    torch.bool: "i1",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
}
# Names of dtypes in safetensors files, of those that zbc has.
# Arguments that say where a result lies, not what it is.
PLACES = {"layout", "device", "pin_memory", "memory_format", "generator"}


class ExportError(ValueError):
    """What cannot be said in such a file."""


# ---- The graph ----


# What detach() and no_grad become before decompositions, which would make an alias of the one and nothing of the other.
LIBRARY = torch.library.Library("zb_aten", "DEF")
LIBRARY.define("detach(Tensor self) -> Tensor")
LIBRARY.impl("detach", lambda self: self.detach().clone(), "CompositeExplicitAutograd")
# A zero that adding does not show, with a given gradient (zb.slope; _slopes.py).
LIBRARY.define("slope(Tensor self, Tensor slope) -> Tensor")
LIBRARY.impl("slope", lambda self, slope: torch.full_like(self + slope, -0.0), "CompositeExplicitAutograd")


def without_gradient(graph, value):
    """Readers of `value` get it through an op that no gradient passes; how to take that back."""
    with graph.inserting_after(value):
        stop = graph.call_function(torch.ops.zb_aten.detach.default, (value,))
    stop.meta = dict(value.meta)
    value.replace_all_uses_with(stop, delete_user_cb=lambda user: user is not stop)

    def restore():
        stop.replace_all_uses_with(value)
        graph.erase_node(stop)

    return restore


def readers_of_memory(node):
    """(op, whether it writes) for all that get a value, or a view of it, or what an op in place gives for it."""
    for reader in node.users:
        schema = getattr(reader.target, "_schema", None)
        aliases = []
        for i, argument in enumerate(schema.arguments if schema else ()):
            value = reader.args[i] if i < len(reader.args) else reader.kwargs.get(argument.name)
            if argument.alias_info is not None and node in (value if isinstance(value, (list, tuple)) else [value]):
                aliases.append(argument.alias_info.is_write)
        yield reader, any(aliases)
        if aliases:
            yield from readers_of_memory(reader)


def first_of_memory(node):
    """The value whose memory a view, or an op in place, gives."""
    while node.op == "call_function" and node.args and isinstance(node.args[0], torch.fx.Node):
        schema = getattr(node.target, "_schema", None)
        if not schema or not schema.arguments or schema.arguments[0].alias_info is None:
            break
        node = node.args[0]
    return node


def refuse_writing(node, order):
    """What detach() gives is the same memory, which becomes another value here: who writes there would change both, as
    would who writes to what it was taken from while it is read."""
    writer = next((reader for reader, writes in readers_of_memory(node) if writes), None)
    if writer is None:
        last = max((order.get(reader, 0) for reader, _ in readers_of_memory(node)), default=0)
        writer = next((reader for reader, writes in readers_of_memory(first_of_memory(node.args[0]))
                       if writes and order[node] < order.get(reader, 0) < last), None)
    if writer is None:
        return
    place = place_of(writer)
    if "embedding_renorm" in str(writer.target):
        raise ExportError(f"{place}: an embedding with max_norm changes its weights in forward(), which cannot be "
                          "written\n  hint: leave max_norm out, or scale the rows: rows * (limit / rows.norm(dim=-1, "
                          "keepdim=True)).clamp(max=1)")
    raise ExportError(f"{place}: a value that detach() gave is changed in place, and what it was taken from with it, "
                      "which cannot be written: clone() it")


DETACH = (torch.ops.aten.detach.default, torch.ops.aten.detach_.default)


def is_region(node):
    return getattr(node.target, "__name__", "") == "wrap_with_set_grad_enabled"


def with_gradients(graph):
    """The values that gradients pass: made of parameters, and not behind detach() or in a region of no_grad."""
    found = set()
    for node in graph.nodes:
        value = node.meta.get("val")
        is_float = not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex()
        stops = node.target in DETACH or (is_region(node) and not node.args[0])
        if node.op == "placeholder" and getattr(value, "requires_grad", False):
            found.add(node)
        elif is_float and not stops and any(source in found for source in node.all_input_nodes):
            found.add(node)
    return found


def refuse_writing_without_gradient(region, sources, learn):
    """In a region of no_grad a value is changed as if it were not, for gradients."""
    inside = [node for node in region.graph.nodes if node.op == "placeholder"]
    for value, source in zip(inside, sources):
        writer = next((reader for reader, writes in readers_of_memory(value) if writes), None)
        writer = writer if source in learn else None
        if writer is not None:
            place = place_of(writer)
            raise ExportError(f"{place}: a value that has a gradient is changed in place inside of no_grad, which "
                              "cannot be written\n  hint: h = h + (changed - h).detach()")


def keep_stops(module, restores, outside=True):
    """Marks where gradients stop: detach(), and what comes out of regions without them. restores: gets how to take the
    marks back, since the program is the caller's."""
    graph = module.graph
    learn, order = with_gradients(graph) if outside else (), {node: i for i, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if node.target in DETACH:
            refuse_writing(node, order)
            restores.append(lambda node=node, target=node.target: setattr(node, "target", target))
            node.target = torch.ops.zb_aten.detach.default
        elif is_region(node):
            enabled, region = node.args[:2]
            if not enabled:
                refuse_writing_without_gradient(getattr(module, region.target), node.args[2:], learn)
            if enabled and not outside:
                place = place_of(node)
                raise ExportError(f"{place}: enable_grad inside of no_grad cannot be written")
            keep_stops(getattr(module, region.target), restores, outside and enabled)
            restores += [without_gradient(graph, part) for part in ([] if enabled else list(node.users))]
    restores.append(module.recompile)
    module.recompile()


def decomposed(program):
    """The program in core ATen ops, but for those that zbc has as one."""
    table = torch.export.default_decompositions()
    for name in WHOLE:
        packet, _, overload = name.partition(".")
        packet = getattr(torch.ops.aten, packet, None)
        op = getattr(packet, overload or "default", None) if packet else None
        if op is not None:
            table.pop(op, None)
    table.update(_written.decompositions())  # and those that _matrices adds to it
    restores = []
    try:
        _random.keep_inputs(program.graph, restores)
        keep_stops(program.graph_module, restores)
        program = _complex.separate(program.run_decompositions(table), ExportError)
        _random.raise_drop_path(program.graph)
        return program
    finally:
        for restore in restores:
            restore()


def own_tensors(values, known):
    """Each tensor once: one that is given twice would be read as one input."""

    def own(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in known:
            return value.clone()
        known.add(id(value))
        return value

    return torch.utils._pytree.tree_map(own, values)


def in_order_of(forward, kwargs):
    """Keyword arguments as forward() has them, not as they are given: a later batch that is a tuple has that order."""
    names = list(inspect.signature(forward).parameters)
    return dict(sorted(kwargs.items(), key=lambda item: names.index(item[0]) if item[0] in names else len(names)))


def refuse_hooks(model):
    """What Python does to gradients is not in the graph."""
    for name, module in model.named_modules():
        if getattr(module, "_backward_hooks", None) or getattr(module, "_backward_pre_hooks", None):
            raise ExportError(f"'{name or 'the module'}' has backward hooks, which cannot be written: remove them")
    for name, parameter in model.named_parameters():
        if getattr(parameter, "_backward_hooks", None) or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise ExportError(f"'{name}' has hooks on its gradient, which cannot be written: remove them")


@contextlib.contextmanager
def gradients_of_the_graph():
    """While a module is traced: a Function is taken as ops, with its own backward pass where that is not what its
    forward pass gives; hooks are refused; inference_mode stops gradients as no_grad does, which tracing sees. An apply
    that was taken from its class before (act = Reversed.apply) is seen where it looks for setup_context."""
    apply, hook, mode = vars(torch.autograd.Function)["apply"], torch.Tensor.register_hook, torch.inference_mode
    move = torch.nn.Module.to
    losses = torch.nn.functional.ctc_loss, torch.nn.functional.multi_margin_loss
    checks = torch.distributions.Distribution._validate_args  # of values, which a graph has none of
    meta, allowed = type(torch.autograd.Function), []

    def trace_function(cls, *args, **kwargs):
        if cls is torch.utils.checkpoint.CheckpointFunction:  # of (function, ..., *args), without gradients
            return args[0](*args[2:])
        if cls.__module__.partition(".")[0] == "torch":
            return apply.__get__(None, cls)(*args, **kwargs)
        allowed.append(cls)
        try:
            call = _functions.as_ops(cls, apply.__get__(None, cls), args, kwargs)
        except _functions.Refused as error:
            raise ExportError(f"{cls.__name__}: the backward pass of this torch.autograd.Function cannot be written: "
                              f"{error}\n  hint: write the forward pass with PyTorch's ops alone") from error.__cause__
        finally:
            allowed.pop()
        return call(*args)

    def look_at_class(cls, name):
        if name == "setup_context" and cls.__module__.partition(".")[0] != "torch" and cls not in allowed:
            raise ExportError(f"{cls.__name__}.apply was taken from its class before the module was compiled, so that "
                              f"its backward pass cannot be looked at: call {cls.__name__}.apply(x) in forward()")
        return type.__getattribute__(cls, name)

    def refuse_hook(tensor, *_, **__):
        raise ExportError("a hook on the gradient of a tensor (register_hook) cannot be written: leave it out")

    def moved(module, *args, **kwargs):
        """module.to() in forward(), which torch.export cannot do: nothing, where it changes nothing."""
        device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
        for tensor in (*module.parameters(), *module.buffers()):
            if dtype not in (None, tensor.dtype) and tensor.is_floating_point() or device not in (None, tensor.device):
                return move(module, *args, **kwargs)
        return module

    def stop(enabled=True):
        return torch.no_grad() if enabled is True else contextlib.nullcontext()

    torch.autograd.Function.apply = classmethod(trace_function)
    meta.__getattribute__ = look_at_class
    torch.Tensor.register_hook = refuse_hook
    torch.inference_mode, torch.nn.Module.to = stop, moved
    torch.nn.functional.ctc_loss, torch.nn.functional.multi_margin_loss = _ctc.loss, _slopes.multi_margin_loss
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(checks)
        torch.autograd.Function.apply, torch.Tensor.register_hook, torch.inference_mode = apply, hook, mode
        torch.nn.Module.to = move
        del meta.__getattribute__
        torch.nn.functional.ctc_loss, torch.nn.functional.multi_margin_loss = losses


def is_plain(value):
    return all(leaf is None or isinstance(leaf, (torch.Tensor, bool, int, float, str))
               for leaf in torch.utils._pytree.tree_leaves(value))


def plain_parts(out):
    """Of what forward() gives, what has tensors: caches of keys and values are objects of other libraries, which
    torch.export cannot give back, and no training reads."""
    if is_plain(out):
        return out
    if isinstance(out, dict):
        return {key: value for key, value in out.items() if is_plain(value)}
    if isinstance(out, (list, tuple)):
        return tuple(value if is_plain(value) else None for value in out)
    return out


@contextlib.contextmanager
def giving_plain_parts(model):
    forward, is_own = model.forward, "forward" in vars(model)

    @functools.wraps(forward)
    def kept(*args, **kwargs):
        return plain_parts(forward(*args, **kwargs))

    model.forward = kept
    try:
        yield
    finally:
        if is_own:
            model.forward = forward
        else:
            del model.forward


@functools.lru_cache(maxsize=None)
def warn_of_version(version=torch.__version__):
    oldest, newest = (".".join(map(str, one)) for one in TESTED)
    if not TESTED[0] <= tuple(int(part) for part in version.split(".")[:2]) <= TESTED[1]:
        warnings.warn(f"zbc is tested with PyTorch {oldest} to {newest}, and this is {version}", stacklevel=4)


# What PyTorch's errors say, and what to do about it.
MASK = ("compute all of it, and mask what does not count: (h * mask).sum() / mask.sum(), or torch.where(mask, h, 0), "
        "which keeps the shape")
EXPERTS = ("torch.where(condition) gives places, torch.where(condition, a, b) values of one shape; of experts let each "
           "compute all tokens, weighed by where it was chosen: out = out + expert(x) * (weight * (chosen == e)).sum("
           "-1, keepdim=True)")
HINTS = (
    ("functorch", "derivatives that forward() takes itself (torch.func.grad, jvp) are not in a graph"),
    ("fake tensor in the exported program", "derivatives that forward() takes itself (torch.autograd.grad) are not in "
                                            "a graph, nor is what it computes with tensors made outside of it"),
    ("Could not extract specialized integer", "sizes that depend on values of tensors are not in a graph: " + MASK),
    ("data-dependent", "what Python decides by values of tensors (if x.max() > 0, .item(), x[mask] = values) is not in "
                       "a graph: torch.where(condition, a, b) decides for each element; or take it out of forward()"),
    ("DynamicOutputShape", "an op whose result has a shape that depends on values of tensors (x[mask], nonzero, a loss "
                           "with lengths in tensors) is not in a graph: " + MASK),
    ("DataDependentOutput", "an op whose result is a number by values of tensors (torch.equal, .item()) is "
                            "not in a graph: torch.where(condition, a, b) decides for each element"),
    ("FakeTensorDeviceMismatch",
     "parameters may be on the device meta; inputs and what forward() makes must be on the CPU"),
)


def is_of_torch(file):
    return f"{os.sep}torch{os.sep}" in file or file[:1] == "<"


def is_ours(file):
    return os.path.dirname(os.path.abspath(file)) == os.path.dirname(os.path.abspath(__file__))


def innermost_line(frames):
    """(file, line) of the last one that is neither PyTorch's nor ours; None: there is none."""
    own = [frame for frame in frames if not is_of_torch(frame[0]) and not is_ours(frame[0])]
    return (own[-1][0], int(own[-1][1])) if own else None


def frames_of(error):
    """[(file, line, function)] down to where an exception came from, through those that were raised from it."""
    inner = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [frame[:3] for frame in traceback.extract_tb(error.__traceback__)] + (frames_of(inner) if inner else [])


# These call what is the caller's, so that an error there may be the caller's.
CALLERS = ("kept", "trace_function", "exported", "decomposed")


def not_exported(model, args, kwargs, error):
    """What torch.export said, in front of its advice, and where; raised from its error, which has all of it."""
    signature = inspect.signature(model.forward)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as wrong:
        return ExportError(f"forward() of {type(model).__name__} takes {len(signature.parameters)} arguments "
                           f"({', '.join(signature.parameters)}), and the example has {len(args) + len(kwargs)}: "
                           f"{wrong}")
    text = re.split(r"\n\s*\n|\n(?=consider using|For more information|The following call|The error above|Caused by)",
                    str(error).strip())[0]
    words = f"{type(error).__name__}: {text[:600]}" if text else type(error).__name__
    frames = frames_of(error)
    if is_ours(frames[-1][0]) and frames[-1][2] not in CALLERS:
        return ExportError(f"zbc cannot export {type(model).__name__}: {words}\n  {shown_file(frames[-1][0])}:"
                           f"{frames[-1][1]}\n  hint: this is a bug of zbc, with PyTorch {torch.__version__}, and not "
                           "of the module: please report it with the traceback of the cause of this exception")
    line = innermost_line(frames) or innermost_line(FRAME.findall(str(error)))
    place = f"\n  {shown_file(line[0])}:{line[1]}: {linecache.getline(*line).strip()}" if line else ""
    hint = next((hint for word, hint in HINTS if word in f"{type(error).__name__} {error}"),
                "torch.export.export(model, args) must succeed before zbc can compile the module")
    return ExportError(f"PyTorch cannot export {type(model).__name__}: {words}{place}\n  hint: {hint}")


def draws_in_evaluation(model, args, kwargs):
    """What a forward pass of model.eval() draws; None: it has none that can be exported."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        with gradients_of_the_graph(), giving_plain_parts(model):
            program = torch.export.export(model, args, kwargs)
        return _random.kinds_of_draws(decomposed(program))
    except Exception:  # PyTorch's have no common class
        return None
    finally:
        for module, training in modes:
            module.training = training


def exported(model, args, kwargs):
    if isinstance(model, torch.export.ExportedProgram):
        program = decomposed(model)
        _random.mark_training(program, None)
        return program
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"expected a torch.nn.Module or an ExportedProgram, got {type(model).__name__}")
    if isinstance(args, dict) and kwargs is None:
        args, kwargs = (), args
    if isinstance(args, torch.Tensor):
        args = (args,)
    warn_of_version()
    known = set()
    args, kwargs = own_tensors(tuple(args), known), own_tensors(in_order_of(model.forward, kwargs or {}), known)
    refuse_hooks(model)
    try:
        with warnings.catch_warnings(), _meta.exported_by_shape(model):
            warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)`", FutureWarning)  # PyTorch's own
            with gradients_of_the_graph(), giving_plain_parts(model):
                program = torch.export.export(model, args, kwargs)
            program = decomposed(program)
            if _random.kinds_of_draws(program):
                _random.mark_training(program, draws_in_evaluation(model, args, kwargs))
            return program
    except ExportError:
        raise
    except Exception as error:  # PyTorch's have no common class
        raise not_exported(model, args, kwargs, error) from error


def parts(value):
    """The nodes of an argument: of a tensor, or of a list of tensors."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def results_of(program):
    """[(spec, node)] of what the graph gives, but for the order of assertions."""
    specs = program.graph_signature.output_specs
    return [(spec, node) for spec, node in zip(specs, program.graph.output_node().args[0])
            if spec.kind != torch.export.graph_signature.OutputKind.TOKEN]


def needed_nodes(program):
    """What results depend on; assertions are left out."""
    needed = {node for _, node in results_of(program) if isinstance(node, torch.fx.Node)}
    for node in reversed(list(program.graph.nodes)):
        if node in needed:
            needed.update(node.all_input_nodes)
    return needed


# ---- Names ----


def output_names(program):
    """A name for each result of forward(): its key, or its place."""
    spec = program.call_spec.out_spec
    if spec is None:
        return []
    pytree = torch.utils._pytree
    count = spec.num_leaves
    paths = [path for path, _ in pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(count)), spec))[0]]

    def word(key):
        return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))

    names = []
    for path in paths:
        name = ".".join(map(word, path)) or "loss"
        names.append("output" + name if name[:1].isdigit() else name)
    return names if len(names) == count else [f"output{i}" for i in range(count)]


def module_path(node):
    stack = node.meta.get("nn_module_stack") or {}
    paths = [entry[0] for entry in stack.values()]
    path = paths[-1] if paths else ""
    for prefix in ("L['self'].", "L__self__."):
        path = path[len(prefix) :] if path.startswith(prefix) else path
    return ".".join(part.partition("@")[0] for part in path.split("."))  # h.0@1: its second call


def place_of(node):
    """"model.py:12: h.0 (mul)": the line, the module and the op; of the outermost module the op alone."""
    line, place = source_line(node), f"{module_path(node)} ({node.name})".lstrip()
    return f"{line[0]}:{line[1]}: {place}" if line else place


def shown_file(path):
    """Below the working directory, or of a package; no path of this machine."""
    for mark in ("site-packages" + os.sep, "dist-packages" + os.sep):
        if mark in path:
            return path.partition(mark)[2]
    relative = os.path.relpath(path)
    return os.path.basename(path) if relative.startswith("..") else relative


FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def source_line(node):
    """(file, line) of the innermost line that is neither PyTorch's nor ours; None: not known."""
    line = innermost_line(FRAME.findall(node.meta.get("stack_trace") or ""))
    return (shown_file(line[0]), line[1]) if line else None


# ---- Text ----


def quote(text):
    """A string of MLIR."""
    out = []
    for byte in str(text).encode():
        out.append(chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:02X}")
    return '"' + "".join(out) + '"'


def number(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value} : i64"
    if value != value or value in (float("inf"), float("-inf")):
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X} : f64"
    text = repr(float(value))
    mantissa, e, exponent = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent + " : f64"


def attribute(value, where):
    if isinstance(value, (bool, int, float)):
        return number(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, torch.dtype):
        return quote(DTYPES.get(value, str(value)))
    if isinstance(value, (list, tuple)):
        if all(type(v) is int for v in value):
            return "array<i64" + (": " + ", ".join(map(str, value)) if value else "") + ">"
        if all(isinstance(v, (bool, int, float)) for v in value):
            return "[" + ", ".join(map(number, value)) + "]"
    raise ExportError(f"{where}: an argument {value!r} cannot be written; are shapes of the graph open?")


def tensor_type(value, where):
    dims = list(value.shape)
    if any(str(d).startswith("u") for d in dims):  # a symbol of torch.export for what only values of tensors say
        raise ExportError(f"{where}: the shape {tuple(dims)} depends on values of tensors (x[mask], nonzero), which is "
                          f"not in a graph\n  hint: {EXPERTS if '(nonzero' in where else MASK}")
    if any(type(d) is not int for d in dims):
        raise ExportError(f"{where}: the shape {tuple(dims)} is open; export with example inputs of one shape, "
                          "without dynamic_shapes")
    if value.dtype not in DTYPES:
        raise ExportError(f"{where}: values of {value.dtype} cannot be written")
    return "tensor<" + "".join(f"{d}x" for d in dims) + DTYPES[value.dtype] + ">"


class Writer:
    """The text of one graph."""

    def __init__(self, program):
        self.program = program
        self.names, self.types = {}, {}  # of nodes, and of (node, i) for those of several results
        self.files, self.lines = {}, []
        self.none = False

    # -- arguments --

    def values(self):
        """Name -> tensor of everything that the program holds."""
        return {**self.program.constants, **self.program.state_dict}

    def arguments(self):
        """[(attributes, type, nodes)], and {name: tensor} of what goes into the file of values."""
        kinds = torch.export.graph_signature.InputKind
        rows, stored, shared, unknown = [], {}, {}, []
        held, needed = self.values(), needed_nodes(self.program)
        updated = {spec.target for spec, _ in results_of(self.program)}
        targets = {spec.target for spec in self.program.graph_signature.input_specs}
        nodes = {node.name: node for node in self.program.graph.nodes if node.op == "placeholder"}
        key_of = {kinds.PARAMETER: "parameter", kinds.BUFFER: "buffer", kinds.CONSTANT_TENSOR: "constant"}
        for spec in self.program.graph_signature.input_specs:
            if spec.kind == kinds.USER_INPUT:
                node = nodes.get(getattr(spec.arg, "name", None))
                if node is not None and isinstance(node.meta.get("val"), torch.Tensor):
                    if node.users and node.meta["val"].dtype in (torch.int8, torch.uint8, torch.int16):
                        raise ExportError(f"input '{spec.arg.name}' has the type {node.meta['val'].dtype}, which a "
                                          "batch cannot have\n  hint: give it as int32, int64, bool or float32: "
                                          "batch.float(), batch.long()")
                    name = spec.arg.name + "_input" * (spec.arg.name in targets)  # a parameter is named so, too
                    rows.append([{"input": name}, node.meta["val"], [node], [name]])
                elif node is not None and node.users:
                    raise ExportError(f"input '{spec.arg.name}' is no tensor: pass it as a number when exporting")
                continue
            if spec.kind == kinds.TOKEN:
                continue  # the order of assertions
            if spec.kind not in key_of:
                raise ExportError(f"an input of kind {spec.kind.name} ('{spec.target}') cannot be written")
            node, tensor = nodes[spec.arg.name], held.get(spec.target)
            if tensor is None:
                raise ExportError(f"'{spec.target}' has no value")
            place = storage_of(tensor)
            row = shared.get(place)
            if row:
                row[2].append(node)
                row[3].append(spec.target)
                continue
            attributes = {key_of[spec.kind]: spec.target}
            if spec.kind != kinds.PARAMETER and tensor.requires_grad:
                warnings.warn(f"'{spec.target}' requires a gradient and is no parameter of the module, so it is not "
                              "trained: make it a torch.nn.Parameter", stacklevel=4)
            if spec.kind == kinds.PARAMETER and not tensor.requires_grad:
                attributes["frozen"] = None
            row = [attributes, tensor, [node], [spec.target]]
            rows.append(row)
            shared[place] = row
            if _meta.has_no_value(tensor):
                attributes["unset"] = None  # a run is given it
                is_needed = any(node in needed for node in row[2])
                if spec.kind != kinds.PARAMETER and spec.target not in updated and is_needed:
                    unknown.append(spec.target)
            elif DTYPES.get(tensor.dtype) in _safetensors.STORED:  # zbc refuses others where they are needed
                stored[spec.target] = tensor
        if unknown:
            raise ExportError("the module computes '%s'%s, which no file of weights has, and on the device meta it has "
                              "no value\n  hint: make the module in `with zb.without_values():`, which leaves buffers "
                              "and constants as they are, or give them values" %
                              ("', '".join(unknown[:4]), ", ..." if len(unknown) > 4 else ""))
        check_overlaps(shared)
        return rows, stored

    def signature(self, rows):
        texts = []
        for number_, (attributes, value, nodes, names) in enumerate(rows):
            kind = tensor_type(value, f"'{names[0]}'")
            for node in nodes:
                self.names[node], self.types[node] = f"%arg{number_}", kind
            words = [f"aten.{key}" + ("" if text is None else " = " + quote(text))
                     for key, text in attributes.items()]
            if len(names) > 1:
                words.append("aten.names = [" + ", ".join(map(quote, names)) + "]")
            texts.append(f"%arg{number_}: {kind} {{{', '.join(words)}}}")
        return texts

    # -- ops --

    def location(self, node):
        line = source_line(node)
        path = module_path(node)
        name = quote(f"{path} ({node.name})" if path else node.name)
        if not line:
            return f" loc({name})"
        alias = self.files.setdefault(line, f"#f{len(self.files)}")
        return f" loc({name}({alias}))"

    def result_types(self, node):
        value = node.meta.get("val")
        where = place_of(node)
        values = value if isinstance(value, (list, tuple)) else [value]
        if not all(v is None or isinstance(v, torch.Tensor) for v in values):
            raise ExportError(f"{where}: {node.target} gives what is no tensor; numbers that are read from tensors "
                              "(.item(), bool(x)) cannot be compiled\n  hint: keep it a tensor: h * h.max(), "
                              "torch.where(condition, a, b)")
        return [tensor_type(v, where) if v is not None else "none" for v in values]

    def operand(self, value):
        if value is None:
            if not self.none:
                self.lines.append('    %none = "aten.none"() : () -> none')
            self.none = True
            return "%none", "none"
        return self.names[value], self.types[value]

    def call(self, node):
        schema = node.target._schema
        where = place_of(node)
        operands, attributes, waiting = [], [], 0
        given = list(zip(schema.arguments, node.args))
        given += [(a, node.kwargs[a.name]) for a in schema.arguments[len(node.args) :] if a.name in node.kwargs]
        for argument, value in given:
            if argument.name in PLACES:
                continue
            is_tensors = "Tensor" in str(argument.type)
            if is_tensors and value is None:
                waiting += 1
            elif is_tensors and not isinstance(value, (bool, int, float)):
                operands += [self.operand(None)] * waiting + [self.operand(v) for v in parts(value)]
                waiting = 0
            elif isinstance(value, torch.fx.Node):
                raise ExportError(f"{where}: argument '{argument.name}' of {node.target} is computed; zbc needs a "
                                  "number there")
            elif value is not None:
                attributes.append(f"{argument.name} = {attribute(value, where)}")
        types = self.result_types(node)
        name = f"%{node.name}"
        self.names[node], self.types[node] = name, types[0] if types else "none"
        if isinstance(node.meta.get("val"), (list, tuple)):
            for i, kind in enumerate(types):
                self.names[node, i], self.types[node, i] = f"{name}#{i}", kind
        op = schema.name.replace("zb_aten::", "aten::").replace("::", ".")
        op += "." + schema.overload_name if schema.overload_name else ""
        text = f"    {name}{f':{len(types)}' if len(types) > 1 else ''} = {quote(op)}("
        text += ", ".join(o for o, _ in operands) + ")"
        text += " {" + ", ".join(attributes) + "}" if attributes else ""
        text += " : (" + ", ".join(t for _, t in operands) + ") -> "
        text += types[0] if len(types) == 1 else "(" + ", ".join(types) + ")"
        self.lines.append(text + self.location(node))

    def walk(self, graph, needed):
        for node in graph.nodes:
            if node.op != "call_function" or node not in needed:
                continue
            target = node.target
            if getattr(target, "__name__", "") == "getitem" and isinstance(node.args[1], int):
                self.names[node] = self.names[node.args[0], node.args[1]]
                self.types[node] = self.types[node.args[0], node.args[1]]
            elif isinstance(target, torch._ops.OpOverload):
                self.call(node)
            else:
                raise ExportError(f"{place_of(node)}: {target} is no op of ATen; control flow and "
                                  "regions (torch.cond, autocast inside of forward) cannot be written")

    # -- results --

    def results(self):
        kinds = torch.export.graph_signature.OutputKind
        names, texts, types, attributes = output_names(self.program), [], [], []
        user = 0
        for spec, node in results_of(self.program):
            if spec.kind == kinds.USER_OUTPUT:
                label = {"output": names[user] if user < len(names) else f"output{user}"}
                user += 1
                if not isinstance(node, torch.fx.Node) or node not in self.names:
                    continue  # None, or a number
            elif spec.kind == kinds.BUFFER_MUTATION:
                label = {"updates": spec.target}
            elif spec.kind == kinds.USER_INPUT_MUTATION and not node.meta["val"].is_floating_point():
                continue  # labels that are clamped in place: a batch is only read, and floats may be a state
            else:
                raise ExportError(f"forward() changes '{spec.target}', which cannot be written ({spec.kind.name})\n"
                                  "  hint: change a copy of it, x = x.clone(), or write the op that gives a new tensor")
            texts.append(self.names[node])
            types.append(self.types[node])
            key, value = next(iter(label.items()))
            attributes.append(f"{self.types[node]} {{aten.{key} = {quote(value)}}}")
        return texts, types, attributes

    def text(self, values_name):
        rows, stored = self.arguments()
        arguments = self.signature(rows)
        self.walk(self.program.graph, needed_nodes(self.program))
        texts, types, attributes = self.results()
        head = [f"{alias} = loc({quote(file)}:{line}:0)" for (file, line), alias in self.files.items()]
        version = torch.__version__.partition("+")[0]
        head.append(f"module attributes {{aten.format = {FORMAT} : i64, aten.torch = {quote(version)}, "
                    f"aten.values = {quote(values_name)}}} {{")
        head.append("  func.func @main(" + ",\n                  ".join(arguments) + ")\n      -> ("
                    + ", ".join(attributes) + ") {")
        tail = [f"    return {', '.join(texts)} : {', '.join(types)}", "  }", "}", ""]
        return "\n".join(head + self.lines + tail), stored


# ---- Values ----


def storage_of(tensor):
    """What two tensors that are the same elements have in common."""
    if _meta.has_no_value(tensor) or tensor.numel() == 0:
        return ("own", id(tensor))
    return (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tensor.dtype, tuple(tensor.shape),
            tuple(tensor.stride()))


def check_overlaps(shared):
    """Tensors that share a part of their elements would be trained as if they did not."""
    spans = []
    for place, row in shared.items():
        tensor = row[1]
        if place[0] == "own" or "parameter" not in row[0]:
            continue
        first = tensor.untyped_storage().data_ptr() + tensor.storage_offset() * tensor.element_size()
        length = sum((d - 1) * s for d, s in zip(tensor.shape, tensor.stride())) + 1
        spans.append((first, first + length * tensor.element_size(), row[3][0]))
    spans.sort()
    for (_, end, one), (begin, _, other) in zip(spans, spans[1:]):
        if begin < end:
            raise ExportError(f"parameters '{one}' and '{other}' share a part of their elements, which cannot be "
                              "trained apart from each other")


def write_values(path, tensors):
    """A safetensors file of tensors by names."""
    for name, tensor in tensors.items():
        if DTYPES.get(tensor.dtype) not in _safetensors.STORED:
            raise ExportError(f"'{name}' has the element type {tensor.dtype}, which cannot be stored")
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    _safetensors.write(path, {name: (DTYPES[tensor.dtype], tensor.shape, tensor.data_ptr())
                              for name, tensor in kept.items()})


# ---- The whole ----


def export(model, args=(), kwargs=None, path="model.mlir"):
    """Writes `path` (ends in .mlir) and, beside it, its values (.safetensors); returns the path.

    model: a torch.nn.Module whose forward() gives a scalar loss (alone, or as the field `loss` of what it gives), in
    the mode that it is to be trained in, or an ExportedProgram of one. args: example inputs of one micro-batch, as a
    tuple, or as a dictionary of keyword arguments; shapes are static. The module is not changed. Raises ExportError
    with the place in the model where something cannot be written, and what torch.export raises.
    """
    path = Path(path)
    if path.suffix != ".mlir":
        raise ValueError(f"'{path}' does not end in .mlir")
    values = path.with_suffix(".safetensors")
    text, stored = Writer(exported(model, args, kwargs)).text(values.name)
    write_values(values, stored)
    path.write_text(text)
    return path


# ---- The command ----

HINT = "NAME:DTYPE:SHAPE, for example x:int64:4x128"
KINDS = {"int64": torch.int64, "int32": torch.int32, "float32": torch.float32, "bool": torch.bool}


def example_input(text):
    """NAME:DTYPE:SHAPE -> (name, zeros)."""
    words = text.split(":")
    if len(words) != 3 or words[1] not in KINDS or not re.fullmatch(r"(\d+(x\d+)*)?", words[2]):
        sys.exit(f"error: --input '{text}' is not {HINT}; DTYPE is one of {', '.join(KINDS)}")
    return words[0], torch.zeros([int(d) for d in words[2].split("x") if d], dtype=KINDS[words[1]])


def load(name):
    """What FILE.py:FUNCTION or MODULE:FUNCTION gives."""
    module, _, function = name.partition(":")
    if module.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
        spec = importlib.util.spec_from_file_location("zb_user_model", module)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    else:
        sys.path.insert(0, os.getcwd())
        loaded = importlib.import_module(module)
    return getattr(loaded, function)()


def main():
    parser = argparse.ArgumentParser(prog="python3 -m zb.aten", description="Writes a PyTorch module as text for zbc.")
    parser.add_argument("model", help="FILE.py:FUNCTION or MODULE:FUNCTION, which gives the module")
    parser.add_argument("out", help="OUT.mlir; values go to OUT.safetensors")
    parser.add_argument("--input", action="append", required=True, metavar=HINT.partition(",")[0],
                        help="an input of forward(), by its name; once an input")
    options = parser.parse_args()
    inputs = dict(example_input(text) for text in options.input)
    try:
        print(export(load(options.model), (), inputs, options.out))
    except (ExportError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
