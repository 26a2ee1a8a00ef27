"""Whether an exported graph trains as its model does: the same loss and the same gradient of every parameter, on
inputs drawn at random, some of which were not traced. And if not, where they part, with the evidence for the cause if
there is any.

Why gradients: detach(), a straight-through estimator, an autograd.Function or a hook change no loss, and ONNX has no
word for them.
"""

import contextlib
import functools
import inspect
import linecache
import math
import os
import random
import re
import sys
import time
import types

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import evaluate

# Measured on the families of test/e2e/export.py: what is right differs by 2e-7 (loss) and 5e-7 (a gradient) at most.
LOSS_LIMIT = 2e-5
GRADIENT_LIMIT = 1e-3  # of the norm of a parameter's gradient
GRADIENT_FLOOR = (
    1e-5  # of the norm of the whole gradient: what is zero but for rounding (biases before a normalization)
)
SECONDS_FOR_MORE_DRAWS = 5

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
FOREIGN = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(inspect.__file__) + os.sep, "<")
FOREIGN_FILES = tuple(HERE + name for name in ("export_onnx.py", "compare.py", "evaluate.py"))


class Refused(Exception):
    """The graph must not be trained. args: what, hint."""

    def __init__(self, what, hint=None):
        super().__init__(what, hint)


def is_foreign(path):
    """Whether a line of this file tells a user nothing: Python's library, PyTorch, this script."""
    return (
        path.startswith(FOREIGN)
        and "site-packages" + os.sep not in path.replace(FOREIGN[0], "")
        or path.startswith(FOREIGN_FILES)
    )


def place_of(path, line):
    text = linecache.getline(path, line).strip()
    shown = os.path.relpath(path)
    # A library's file: from its package on.
    shown = path.split("site-packages" + os.sep)[-1] if "site-packages" in path else shown
    return f"{shown}:{line}: {text}" if text else f"{shown}:{line}"


def note_of(place):
    return f"\n  note: at {place}" if place else ""


def user_place():
    """The innermost line that is neither PyTorch's nor this script's, or None."""
    frame = sys._getframe(1)
    while frame:
        if not is_foreign(frame.f_code.co_filename):
            return place_of(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


# ---- Running the model ----


class Modules(contextlib.AbstractContextManager):
    """Knows which module runs: .name, .module."""

    def __init__(self, model):
        self.names = {id(module): name for name, module in model.named_modules()}
        self.stack = []

    def __enter__(self):
        hooks = torch.nn.modules.module
        self.handles = [
            hooks.register_module_forward_pre_hook(lambda module, _: self.stack.append(module)),
            hooks.register_module_forward_hook(lambda *_: self.stack.pop() and None, always_call=True),
        ]
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()

    def where(self):
        module = self.stack[-1] if self.stack else None
        name = self.names.get(id(module), "")
        return f"{name} ({type(module).__name__})" if name else "the model" if module is None else type(module).__name__


def joined(path, key):
    """The name of what the module at this path has as `key`; the model's own path is empty."""
    return f"{path}.{key}" if path else key


def attributes_of(model):
    """{path: value} of the Python numbers that modules hold."""
    return {
        joined(path, key): value
        for path, module in model.named_modules()
        for key, value in vars(module).items()
        if type(value) in (int, float, bool)
    }


def tensors_of(model):
    """{(module, key): value} of the attributes of modules that hold a tensor or None and are no buffers."""
    return {
        (module, key): value
        for module in model.modules()
        for key, value in vars(module).items()
        if value is None or isinstance(value, torch.Tensor)
    }


class State:
    """Buffers and Python numbers of a model, and sums of its parameters, to see what forward() changes, and to undo
    it."""

    def __init__(self, model):
        self.model = model
        self.buffers = [
            (joined(path, key), module, key, tensor, None if tensor is None else tensor.clone())
            for path, module in model.named_modules()
            for key, tensor in module._buffers.items()
        ]
        self.numbers = attributes_of(model)
        self.tensors = tensors_of(model)
        self.sums = self.parameter_sums()

    def parameter_sums(self):
        with torch.no_grad():
            return {
                name: str(p.sum().item())
                for name, p in self.model.named_parameters()
                if not torch.nn.parameter.is_lazy(p)
            }

    def changed(self):
        """(buffers, numbers, parameters) that are not what they were."""
        buffers = [
            name
            for name, module, key, _, copy in self.buffers
            if (module._buffers.get(key) is None) != (copy is None)
            or (
                copy is not None
                and (copy.shape != module._buffers[key].shape or not torch.equal(copy, module._buffers[key]))
            )
        ]
        now, sums = attributes_of(self.model), self.parameter_sums()
        numbers = [name for name, value in self.numbers.items() if now.get(name, value) != value]
        return buffers, numbers, [name for name, value in self.sums.items() if sums.get(name, value) != value]

    def cached(self):
        """{name: a copy of the tensor} of what forward() has put into plain attributes."""
        names = {module: path for path, module in self.model.named_modules()}
        return {
            joined(names[module], key): value.detach().clone()
            for (module, key), value in tensors_of(self.model).items()
            if value is not None and self.tensors.get((module, key)) is not value
        }

    def restore_buffers(self):
        with torch.no_grad():
            for _, module, key, tensor, copy in self.buffers:
                module._buffers[key] = tensor
                if copy is not None and (tensor.shape != copy.shape or not torch.equal(tensor, copy)):
                    tensor.set_(copy.clone())

    def restore(self):
        modules = dict(self.model.named_modules())
        for module, key in tensors_of(self.model):
            if (module, key) not in self.tensors:
                delattr(module, key)
            elif vars(module)[key] is not self.tensors[module, key]:
                setattr(module, key, self.tensors[module, key])
        self.restore_buffers()
        for name, value in self.numbers.items():
            path, _, key = name.rpartition(".")
            if vars(modules[path]).get(key, value) != value:
                setattr(modules[path], key, value)


def generators():
    """States of what random numbers come from, but for PyTorch's."""
    numpy = sys.modules.get("numpy")
    found = {"Python's random": random.getstate()}
    if numpy:
        kind, keys, *rest = numpy.random.get_state()
        found["numpy.random"] = (kind, keys.tobytes(), *rest)
    return found


class Drawn(TorchDispatchMode):
    """What the dropouts of a model keep: `masks`, of its last call, in order. Each call draws the same; where `stays`
    is given, by it: stays(number, shape, probability) is a tensor of booleans. Below autograd every kind of dropout is
    a tensor that bernoulli_() fills (that of scaled_dot_product_attention too, on a CPU)."""

    def __init__(self, model, stays=None):
        super().__init__()
        self.model, self.stays, self.masks, self.hook = model, stays, [], None

    def begin(self, *_):
        self.masks.clear()
        torch.manual_seed(0)

    def __enter__(self):
        self.hook = self.model.register_forward_pre_hook(self.begin)
        return super().__enter__()

    def __exit__(self, *reason):
        self.hook.remove()
        return super().__exit__(*reason)

    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.bernoulli_.float:
            if self.stays:
                out.copy_(self.stays(len(self.masks), out.shape, args[1] if len(args) > 1 else 0.5))
            self.masks.append(out.bool())
        return out


class NoDropout(TorchFunctionMode):
    """Every dropout gives what it takes (--no-dropout)."""

    KINDS = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
    NAMES = {*KINDS, *(kind + "_" for kind in KINDS), "dropout1d", "dropout2d", "dropout3d"}
    PROBABILITY = {"scaled_dot_product_attention": 4, "multi_head_attention_forward": 10}  # its place among arguments

    def __torch_function__(self, func, types_, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in self.NAMES:
            return args[0] if args else kwargs["input"]
        place = self.PROBABILITY.get(name)
        if place is not None and len(args) > place:
            args = (*args[:place], 0.0, *args[place + 1 :])
        elif place is not None and "dropout_p" in kwargs:
            kwargs["dropout_p"] = 0.0
        return func(*args, **kwargs)


# ---- Inputs ----


class Spy(TorchDispatchMode):
    """Sees every operator of a forward pass: those that draw random numbers, and how large integers may be that index
    something."""

    def __init__(self, modules, inputs):
        super().__init__()
        self.modules, self.alive = modules, []
        self.random = {}  # where -> text; without dropouts
        self.drops = []  # texts of the dropouts, in order
        self.bounds = {}  # name of an input -> smallest size of what it indexes
        self.known = {}  # address -> names of inputs that these integers come from
        for name, tensor in inputs:
            if tensor.dtype in (torch.int64, torch.int32):
                self.known[tensor.data_ptr()] = {name}

    def names_of(self, tensor):
        if not isinstance(tensor, torch.Tensor) or tensor.dtype not in (torch.int64, torch.int32) or not tensor.numel():
            return set()
        return self.known.get(tensor.untyped_storage().data_ptr(), set())

    def text_of(self, name, place):
        return f"{name} in {self.modules.where()}" + (f" at {place}" if place else "")

    def note_bounds(self, name, args):
        indexed = []
        if name in ("embedding", "_embedding_bag", "_embedding_bag_forward_only"):
            indexed = [(args[1], args[0].shape[0])]
        elif name in ("nll_loss_forward", "nll_loss2d_forward", "nll_loss", "nll_loss2d", "nll_loss_nd"):
            indexed = [(args[1], args[0].shape[1 if args[0].dim() > 1 else 0])]
        elif name in ("gather", "index_select", "scatter", "scatter_", "scatter_add", "scatter_add_") and args[0].dim():
            indexed = [(args[2], args[0].shape[args[1]])]
        elif name == "index" and isinstance(args[1], (list, tuple)):
            indexed = [
                (index, args[0].shape[k]) for k, index in enumerate(args[1]) if index is not None and k < args[0].dim()
            ]
        for index, size in indexed:
            for own in self.names_of(index):
                self.bounds[own] = min(size, self.bounds.get(own, size))

    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        self.note_bounds(name, args)
        if func is torch.ops.aten.bernoulli_.float:
            self.drops.append(self.text_of("dropout", user_place()))
            return func(*args, **(kwargs or {}))
        tagged = torch.Tag.nondeterministic_seeded in func.tags
        before = torch.get_rng_state() if tagged else None
        out = func(*args, **(kwargs or {}))
        if tagged and not torch.equal(before, torch.get_rng_state()):
            place = user_place()
            self.random.setdefault((self.modules.where(), place), self.text_of(name, place))
        sources = set().union(*(self.names_of(a) for a in args)) | set().union(
            *(self.names_of(a) for group in args if isinstance(group, (list, tuple)) for a in group), set()
        )
        if sources and isinstance(out, torch.Tensor) and out.dtype in (torch.int64, torch.int32):
            self.alive.append(out)  # keeps the address its own
            address = out.untyped_storage().data_ptr()
            self.known[address] = self.known.get(address, set()) | sources
        return out


# What padding looks like: ones and then zeros along the last dimension, or the other way round. A mask at random
# leaves positions that see nothing.
MASKS = ("ones first", "zeros first")


def draw_mask(like, kind, generator):
    """At least a one and a zero a row, where a row has two places."""
    size = like.shape[-1] if like.dim() else 1
    ones = torch.randint(1, max(2, size), (*like.shape[:-1], 1), generator=generator)
    return ((torch.arange(size) < ones) == (kind == MASKS[0])).reshape(like.shape).to(like.dtype)


def draw(inputs, ranges, seed, floats=(0.0, 1.0)):
    """[(name, tensor)] like inputs, evenly spread over their ranges (lowest, highest); floats without one over
    `floats`."""
    generator = torch.Generator().manual_seed(seed)
    out = []
    for name, like in inputs:
        if ranges.get(name) in MASKS:
            out.append((name, draw_mask(like, ranges[name], generator)))
            continue
        low, high = ranges.get(name, floats)
        if like.dtype.is_floating_point:
            tensor = low + (high - low) * torch.rand(like.shape, generator=generator)
        else:
            tensor = torch.randint(low, high + 1, like.shape, generator=generator).to(like.dtype)
        out.append((name, tensor))
    return out


def is_mask(name):
    return "mask" in name.lower()


def find_ranges(inputs, spy, given, finite):
    """{name: (lowest, highest)} of the inputs: as the user says; else by the size of what the model indexes with
    them; else what it takes without a complaint. finite(inputs): whether the loss is."""
    ranges, guessed = dict(given), []
    for name, tensor in inputs:
        if name in given:
            continue
        if is_mask(name):
            ranges[name] = MASKS[0]
        elif tensor.dtype == torch.bool:
            ranges[name] = (0, 1)
        elif not tensor.dtype.is_floating_point:
            ranges[name] = (0, (spy.bounds.get(name) or max([*spy.bounds.values(), 256])) - 1)
            guessed += [name] * (name not in spy.bounds)
    masks = [name for name, found in ranges.items() if found in MASKS]
    if not guessed and not masks:
        return ranges
    for highest in (None, 255, 63, 15, 3, 1, 0):
        for name in guessed if highest is not None else ():
            ranges[name] = (0, min(ranges[name][1], highest))
        for kind in MASKS if masks else [None]:
            ranges.update({name: kind for name in masks})
            with contextlib.suppress(Exception):  # theirs: what an index out of range raises has no common class
                if finite(draw(inputs, ranges, 1)):
                    return ranges
        if not guessed:
            break
    return ranges


# ---- Comparing ----


def distance(found, wanted):
    return abs(found - wanted) / max(1.0, abs(wanted)) if math.isfinite(found) and math.isfinite(wanted) else math.inf


def tables_with_padding(model):
    """(path, embedding) of those with a padding_idx."""
    kinds = (torch.nn.Embedding, torch.nn.EmbeddingBag)
    return [(path, m) for path, m in model.named_modules() if isinstance(m, kinds) and m.padding_idx is not None]


class Pair:
    """A model and its graph. call(inputs) gives the model's loss; masks: of a Drawn, which the graph drops by."""

    def __init__(self, model, call, graph, names, state, masks=()):
        self.model, self.call, self.graph, self.state, self.masks = model, call, graph, state, masks
        self.parameters = {name: p for name, p in model.named_parameters() if names[name] == name}
        # Rows that get no gradient in PyTorch by a rule of the table, of which the user is warned: {name: rows}.
        self.apart_by_rule = {}
        for path, table in tables_with_padding(model):
            name = names[joined(path, "weight")]
            self.apart_by_rule.setdefault(name, []).append(table.padding_idx)

    def of_model(self, inputs):
        """(loss, {name: gradient or None})."""
        for p in self.parameters.values():
            p.grad = None
        with torch.enable_grad():
            loss = self.call(inputs)
        if loss.requires_grad:
            loss.backward()
        gradients = {name: p.grad for name, p in self.parameters.items() if p.requires_grad}
        for p in self.parameters.values():
            p.grad = None
        self.state.restore()
        return loss.item(), gradients

    def of_graph(self, inputs, seen=None):
        leaves = {name: p.detach().requires_grad_(p.requires_grad) for name, p in self.parameters.items()}
        loss = evaluate.run(self.graph, dict(inputs), leaves, seen, self.masks)
        if loss.requires_grad:
            loss.backward()
        return loss.item(), {name: leaf.grad for name, leaf in leaves.items() if leaf.requires_grad}

    def compare(self, inputs):
        """(losses of graph and model, [(name, norm of the difference, norm of the model's)] of gradients that differ;
        None: this draw says nothing)."""
        wanted, gradients = self.of_model(inputs)
        if not math.isfinite(wanted):
            return None
        found, own = self.of_graph(inputs)
        norms = {name: 0.0 if g is None else float(g.double().norm()) for name, g in gradients.items()}
        total = math.sqrt(sum(norm * norm for norm in norms.values()))
        apart, self.worst = [], (distance(found, wanted), 0.0)
        for name, g in gradients.items():
            other = own[name]
            if g is None and other is None:
                continue
            g = torch.zeros_like(other) if g is None else g.to_dense() if g.is_sparse else g
            for row in self.apart_by_rule.get(name, []) if other is not None else []:
                g[row] = other[row]
            difference = float((g - (0 if other is None else other)).double().norm())
            limit = GRADIENT_LIMIT * norms[name] + GRADIENT_FLOOR * total
            self.worst = (
                self.worst[0],
                max(self.worst[1], difference / (limit / GRADIENT_LIMIT) if limit else difference),
            )
            if not difference <= limit:
                apart.append((name, difference, norms[name]))
        return found, wanted, apart


def compare(pair, draws, more):
    """Raises Refused where they part. draws: those that are always compared, the one that was traced last; more:
    others, as long as that is quick. Gives the number of draws compared."""
    start, done = time.monotonic(), 0
    queue = [draws[0]]
    rest = [*draws[1:], *more]
    while queue:
        inputs = queue.pop()
        try:
            result = pair.compare(inputs)
        except Exception:
            if any(inputs is own for own in draws):
                raise
            result = None  # drawn from a range that the model may not know
        if result is not None:
            done += 1
            found, wanted, apart = result
            if distance(found, wanted) > LOSS_LIMIT:
                raise values_part(pair, inputs, found, wanted, None if inputs is draws[-1] else draws[-1])
            if apart:
                raise gradients_part(pair, inputs, apart)
        if rest and (done == 0 or time.monotonic() - start < SECONDS_FOR_MORE_DRAWS):
            queue.append(rest.pop(0))
    if not done:
        raise Refused(
            "the loss is no finite number for any inputs that were drawn, so that nothing could be compared",
            "--input NAME:DTYPE:SHAPE:LOW..HIGH says which values an input may have",
        )
    return done


# ---- Where they part ----


def fingerprint(tensor):
    """Of the values in any order."""
    t = tensor.detach()
    t = t.to_dense() if t.is_sparse else t
    t = t.double().reshape(-1)
    return (
        t.numel(),
        float(t.sum()),
        float(t.abs().sum()),
        float(t.square().sum()),
        float(t.max()) if t.numel() else 0.0,
    )


ZERO = (0, 0.0, 0.0, 0.0, 0.0)


def alike(one, other, limit):
    if ZERO in (one, other):
        return max(one[2], other[2]) <= 1e-30
    if one[0] != other[0]:
        return False
    size = max(one[2], other[2])
    return (
        abs(one[1] - other[1]) <= limit * size + 1e-30
        and abs(one[2] - other[2]) <= limit * size + 1e-30
        and abs(one[3] - other[3]) <= 2 * limit * max(one[3], other[3]) + 1e-30
    )


def tensors_in(thing):
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, (list, tuple)):
        return [t for part in thing for t in tensors_in(part)]
    if isinstance(thing, dict):
        return tensors_in(list(thing.values()))
    return []


class Call:
    """A function that the model called with tensors that a gradient may flow to."""

    def __init__(self, name, where, place, args, kwargs, sources, parameters):
        self.name, self.where, self.place, self.args, self.kwargs = name, where, place, args, kwargs
        self.sources, self.parameters = sources, parameters
        self.outputs, self.gradients = [], []
        self.stops = None  # why no gradient comes out, though one goes in
        self.function = None  # the autograd.Function whose forward() this is part of

    def text(self, more=""):
        return f"{self.name}() in {self.where}{more}{note_of(self.place)}"


@functools.lru_cache(maxsize=None)
def function_of(code):
    """The name of the autograd.Function whose forward() has that code, or None."""
    todo = [torch.autograd.Function]
    while todo:
        todo += todo[0].__subclasses__()
        function = todo.pop(0)
        if getattr(function.forward, "__code__", None) is code:
            return function.__name__
    return None


def own_function():
    """The name of the autograd.Function whose forward() runs, or None."""
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_name == "forward" and function_of(frame.f_code):
            return function_of(frame.f_code)
        frame = frame.f_back
    return None


class Calls(TorchFunctionMode):
    """Records them in order; fingerprints of what they gave, and of its gradients once the loss has gone backward."""

    def __init__(self, modules, names):
        super().__init__()
        self.modules, self.names, self.list, self.hooks = modules, names, [], []

    def __torch_function__(self, func, types_, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = [t for t in tensors_in([args, kwargs]) if t.requires_grad]
        out = func(*args, **kwargs)
        given_out = [t for t in tensors_in(out) if t.dtype.is_floating_point]
        name = getattr(func, "__name__", "?")
        name = func.__self__.__name__ if name in ("__get__", "__set__") and hasattr(func.__self__, "__name__") else name
        if name == "register_hook":
            self.hooks.append((user_place(), self.modules.where()))
        if (
            not given_out
            or not (given or any(t.requires_grad for t in given_out))
            or name in ("grad", "requires_grad_", "backward")
        ):
            return out
        keep = {k: v for k, v in kwargs.items() if isinstance(v, (int, float, str, bool))}
        plain = [a for a in args if isinstance(a, (int, float, str, bool))]
        call = Call(
            name,
            self.modules.where(),
            user_place(),
            plain,
            keep,
            {t._zb_call for t in given if hasattr(t, "_zb_call")},
            {self.names[id(t)] for t in given if id(t) in self.names},
        )
        call.function = own_function()
        if given and not any(t.requires_grad for t in given_out):
            call.stops = "" if torch.is_grad_enabled() else " (gradients are off there: torch.no_grad() or the like)"
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            for slot, tensor in enumerate(given_out):
                call.outputs.append(fingerprint(tensor))
                call.gradients.append(ZERO)
                if tensor.requires_grad:
                    tensor._zb_call = len(self.list)
                    tensor.register_hook(lambda g, c=call, s=slot: c.gradients.__setitem__(s, fingerprint(g)))
        self.list.append(call)
        return out


def record(pair, inputs):
    """(calls of the model, [(fingerprint, node, [fingerprint of its gradient])] of the graph, autograd functions of
    the user, the loss's call)."""
    names = {id(p): name for name, p in pair.parameters.items()}
    with torch.enable_grad(), Modules(pair.model) as modules, Calls(modules, names) as calls:
        loss = pair.call(inputs)
    custom, todo, met = [], [loss.grad_fn], set()
    while todo:
        function = todo.pop()
        if function is None or function in met:
            continue
        met.add(function)
        if isinstance(function, torch.autograd.function.BackwardCFunction):
            custom.append(type(function).__name__.removesuffix("Backward"))
        todo += [parent for parent, _ in function.next_functions]
    if loss.requires_grad:
        loss.backward()
    for p in pair.parameters.values():
        p.grad = None
    pair.state.restore()
    values = []

    def seen(node, outputs):
        for tensor in tensors_in(outputs):
            if tensor.dtype.is_floating_point:
                slot = [ZERO]
                values.append((fingerprint(tensor), node, slot))
                if tensor.requires_grad:
                    tensor.register_hook(lambda g, s=slot: s.__setitem__(0, fingerprint(g)))

    pair.of_graph(inputs, seen)
    last = getattr(loss, "_zb_call", len(calls.list) - 1)
    return types.SimpleNamespace(
        calls=calls.list, hooks=calls.hooks, values=values, custom=sorted(set(custom)), last=last
    )


def matches(fp, values, limit=1e-4):
    return [row for row in values if alike(fp, row[0], limit)]


def part_of_values(found):
    """The call whose output is nowhere in the graph though what it takes is; walked from the loss, so that what the
    graph merely lacks (constants that were folded) is never blamed. None if the loss is there."""
    cache = {}

    def there(k):
        if k not in cache:
            cache[k] = all(matches(fp, found.values) for fp in found.calls[k].outputs)
        return cache[k]

    if not found.calls or there(found.last):
        return None
    at = found.last
    while True:
        missing = sorted(k for k in found.calls[at].sources if not there(k))
        if not missing:
            return found.calls[at]
        at = missing[0]


SMOOTHING = "label_smoothing={} is not in the graph: torch.onnx.export leaves it out"
CAUSES = [
    # name of the function, what the evidence is (None: it is not the cause), hint
    (
        "cross_entropy",
        lambda c: SMOOTHING.format(c.kwargs["label_smoothing"]) if c.kwargs.get("label_smoothing") else None,
        "write it out: (1 - s) * cross_entropy(z, y) - s * log_softmax(z, -1).mean()",
    ),
    (
        "instance_norm",
        lambda c: (
            "it normalizes with statistics of its input; the graph may not"
            if c.kwargs.get("use_input_stats", True)
            else None
        ),
        "write it out: (x - mean) * (var + eps).rsqrt()",
    ),
]


def cause_of(call):
    """(evidence, hint) or (None, None)."""
    for name, evidence, hint in CAUSES:
        text = evidence(call) if call.name == name else None
        if text:
            return text, hint
    return None, None


def values_part(pair, inputs, found, wanted, traced):
    what = f"the graph computes the loss {found:.6f}, the model {wanted:.6f}"
    with contextlib.suppress(evaluate.Unknown):
        if traced is not None:
            result = pair.compare(traced)
            if result is not None and distance(result[0], result[1]) <= LOSS_LIMIT:
                what += "; on the inputs that were traced they agree: "
                what += "something computed from their values became a constant"
    record_ = record(pair, inputs)
    call = part_of_values(record_)
    if call is None:
        return Refused(what, "every value that was looked for is there: the way the last ones are put together differs")
    evidence, hint = cause_of(call)
    what += f"\n  note: values part in {call.text()}"
    if evidence:
        what += f"\n  note: {evidence}"
    return Refused(what, hint or "write that line with other operations")


def source_of(node):
    """Which line of the model made a node, by the exporter's own record."""
    text = node.metadata_props.get("pkg.torch.onnx.stack_trace", "")
    rows = [row for row in re.findall(r'File "([^"]+)", line (\d+)', text) if not is_foreign(row[0])]
    scopes = re.findall(r"'([^']*)'", node.metadata_props.get("pkg.torch.onnx.name_scopes", ""))[:-1]
    path = scopes[-1] if scopes and scopes[-1] else ""
    return ", ".join([f"in {path}"] * bool(path) + [place_of(rows[-1][0], int(rows[-1][1]))] * bool(rows)) or None


STOP_HINT = (
    "an ONNX file cannot say that a gradient stops or is another: train such a model without it, "
    "or leave what it guards out of the loss"
)


def gradients_part(pair, inputs, apart):
    name, difference, norm = max(apart, key=lambda row: row[1])
    what = (
        f"the loss is the same, but not the gradient of {len(apart)} of {len(pair.parameters)} parameters: "
        f"that of {name} has the norm {norm:.3g} in PyTorch, and differs by {difference:.3g} from that of the graph"
    )
    found = record(pair, inputs)
    calls, apart_names = found.calls, {row[0] for row in apart}

    def differs(k):
        for fp, gradient in zip(calls[k].outputs, calls[k].gradients):
            rows = matches(fp, found.values)
            if rows and not any(alike(gradient, slot[0], 1e-3) for _, _, slot in rows):
                return True
        return False

    last = next((k for k in reversed(range(len(calls))) if calls[k].stops is None and differs(k)), None)
    if last is not None:
        readers = [call for call in calls[last + 1 :] if last in call.sources]
    else:
        readers = [call for call in calls if call.parameters & apart_names]
    stopping = [call for call in readers if call.stops is not None]
    own = [call for call in readers if call.function] or [] if readers else [None] * bool(found.custom)
    if own:
        name = own[0].function if own[0] else ", ".join(found.custom)
        place = own[0].place if own[0] else calls[last].place if last is not None else None
        what += f"\n  note: the backward of autograd.Function {name} is not in the graph{note_of(place)}"
    elif stopping:
        what += f"\n  note: no gradient passes {stopping[0].text(stopping[0].stops)}"
    elif found.hooks:
        place, where = found.hooks[0]
        what += f"\n  note: a hook on a gradient is not in the graph: register_hook() in {where}{note_of(place)}"
    elif last is not None:
        what += f"\n  note: gradients part behind {calls[last].text()}"
    elif readers:
        what += f"\n  note: gradients part in {readers[0].text()}"
    return Refused(what, STOP_HINT)
