"""Evaluates an ONNX graph (onnx_ir) with PyTorch, so that autograd gives the gradients of what is in the file.

ROWS is the one table: an operator a row, NAME=function(a, inputs...) -> tensor or tuple of tensors, where a.NAME is
an attribute (or its default in the call). It has every operator of ir/import/onnx/onnx_ops.def but those of LATER, and
some that zbc refuses, so that it can be said where a graph and its model part. test/e2e/export.py runs it on the
cases of test/ir/import. Rejected: onnx.reference (Python loops in Erf and Conv: minutes where this takes seconds, and
no gradients); onnxruntime (not everywhere, and no gradients).
"""

import math

import rules
import torch
import torch.nn.functional as F

LATER = {
    "Attention": "of opset 23, which torch.onnx.export does not write",
    "RotaryEmbedding": "likewise",
    "If": "a graph within the graph, which it does not write of a model that is traced",
    "Loop": "likewise",
    "Scan": "likewise",
}
DTYPES = {
    1: torch.float32,
    2: torch.uint8,
    3: torch.int8,
    5: torch.int16,
    6: torch.int32,
    7: torch.int64,
    9: torch.bool,
    10: torch.float16,
    11: torch.float64,
    16: torch.bfloat16,
}


class Unknown(Exception):
    """Operators without a row: {name: a node of it}."""

    def __init__(self, nodes):
        super().__init__(", ".join(sorted(nodes)))
        self.nodes = nodes


class Attributes:
    def __init__(self, node):
        self.node = node
        self.outputs = len(node.outputs)

    def get(self, name, default=None):
        found = self.node.attributes.get(name)
        if found is None:
            return default
        value = found.value.decode() if isinstance(found.value, bytes) else found.value
        return to_tensor(value) if hasattr(value, "numpy") else value


def to_tensor(value):
    """Of an onnx_ir tensor; never one that shares memory with it."""
    return (
        torch.tensor(value.numpy()) if value.dtype != 16 else torch.tensor(value.numpy().astype("float32")).bfloat16()
    )


def numbers(tensor):
    return [int(v) for v in tensor.reshape(-1).tolist()]


def axes_of(a, axes):
    """An operand, or before opset 13 an attribute; None: neither."""
    return a.get("axes") if axes is None else numbers(axes)


# ---- Families of rows ----


def divide(a, x, y):
    return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


def modulo(a, x, y):
    return torch.fmod(x, y) if a.get("fmod", 0) else torch.remainder(x, y)


def shift(a, x, y):
    return x << y if a.get("direction") == "LEFT" else x >> y


def clip(a, x, low=None, high=None):
    """The gradient passes at the ends."""
    x = torch.where(x != x, x.detach(), x)
    x = x if low is None else torch.where(x < low, low.to(x.dtype), x)
    return x if high is None else torch.where(x > high, high.to(x.dtype), x)


def hard_sigmoid(x, alpha, beta):
    """No gradient passes at the ends."""
    y = alpha * x + beta
    return torch.where((y > 0) & (y < 1), y, y.detach().clamp(0, 1))


def lp_normalization(a, x):
    norm = torch.linalg.vector_norm(x, a.get("p", 2), dim=a.get("axis", -1), keepdim=True)
    return x / torch.where(norm == 0, 1, norm)


def cast(a, x, like=None):
    dtype = like.dtype if like is not None else DTYPES[int(a.get("to"))]
    return x != 0 if dtype == torch.bool else x.to(dtype)


def fold(function):
    def row(a, *values):
        out = values[0]
        for value in values[1:]:
            out = function(out, value)
        return out

    return row


def reduction(function):
    def row(a, x, axes=None):
        axes = axes_of(a, axes)
        if not axes and a.get("noop_with_empty_axes", 0):  # what stands around the reduction is done all the same
            return function(x.unsqueeze(-1), [x.dim()], False)
        return function(x, list(axes) if axes else list(range(x.dim())), bool(a.get("keepdims", 1)))

    return row


def extreme_along(function, place):
    """The gradient goes to all of equal elements; of max(dim), which has places, to the first."""

    def row(a, x, axes=None):
        value = reduction(function)(a, x, axes)
        axes, names = axes_of(a, axes), ("max.dim", "min.dim")
        if not axes or len(axes) > 1 or not any(rules.is_within(a.node, name) for name in names):
            return value
        first = torch.as_tensor(first_of(place)(x.numpy(force=True), axes[0], True))
        value = x.gather(axes[0], first)
        return value if a.get("keepdims", 1) else value.squeeze(axes[0])

    return row


def product(x, axes, keep):
    if len(axes) == x.dim():
        return x.prod().reshape([1] * x.dim() if keep else [])
    for axis in sorted((axis % max(1, x.dim()) for axis in axes), reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def gelu(a, x):
    return F.gelu(x, approximate=a.get("approximate", "none"))


class Dropouts:
    """Of a graph: what stays is given, in the order of nodes."""

    masks, count = (), 0

    def __call__(self, a, x, ratio=None, training=None):
        ratio, mask = 0.5 if ratio is None else float(ratio), torch.ones_like(x, dtype=torch.bool)
        if training is not None and bool(training) and ratio > 0:
            mask = self.masks[self.count] if ratio < 1 else ~mask
            self.count += ratio < 1
            x = x * mask / (1 - ratio) if ratio < 1 else 0 * x
        return (x, mask)[: a.outputs]


dropouts = Dropouts()


def layer_norm(a, x, scale, bias=None):
    axis = a.get("axis", -1) % x.dim()
    axes = list(range(axis, x.dim()))
    mean = x.mean(axes, keepdim=True)
    inverse = ((x - mean).square().mean(axes, keepdim=True) + a.get("epsilon", 1e-5)).rsqrt()
    y = F.layer_norm(x, x.shape[axis:], None, None, a.get("epsilon", 1e-5)) * scale
    return (y if bias is None else y + bias, mean, inverse)[: a.outputs]


def rms_norm(a, x, scale):
    axes = list(range(a.get("axis", -1) % x.dim(), x.dim()))
    return x * (x.square().mean(axes, keepdim=True) + a.get("epsilon", 1e-5)).rsqrt() * scale


def batch_norm(a, x, scale, bias, mean, variance):
    training = bool(a.get("training_mode", 0)) or a.outputs > 1  # before opset 14 outputs say so
    if not training:
        by_channel = [-1] + [1] * (x.dim() - 2)
        mean, variance, scale, bias = (v.reshape(by_channel) for v in (mean, variance, scale, bias))
        return (x - mean) * (variance + a.get("epsilon", 1e-5)).rsqrt() * scale + bias
    y = F.batch_norm(x, None, None, scale, bias, True, 0.0, a.get("epsilon", 1e-5))
    axes, momentum = [k for k in range(x.dim()) if k != 1], a.get("momentum", 0.9)
    now = x.mean(axes), x.var(axes, correction=0)
    blended = [old * momentum + new * (1 - momentum) for old, new in zip((mean, variance), now)]
    return (y, *blended)[: a.outputs]


def gemm(a, x, y, z=None):
    x = x.transpose(0, 1) if a.get("transA", 0) else x
    y = y.transpose(0, 1) if a.get("transB", 0) else y
    alpha, beta = a.get("alpha", 1.0), a.get("beta", 1.0)
    if z is not None and alpha == 1 and beta == 1:
        return torch.addmm(z, x, y) if z.dim() else x @ y + z
    out = alpha * (x @ y)
    return out if z is None else out + beta * z


def reshape(a, x, shape):
    wanted = numbers(shape)
    if not a.get("allowzero", 0):
        wanted = [x.shape[i] if d == 0 else d for i, d in enumerate(wanted)]
    return x.reshape(wanted)


def squeeze(a, x, axes=None):
    axes = axes_of(a, axes)
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


def unsqueeze(a, x, axes):
    rank = x.dim() + axes.numel()
    for axis in sorted(axis % rank for axis in numbers(axes)):
        x = x.unsqueeze(axis)
    return x


def flatten(a, x):
    axis = a.get("axis", 1)
    axis = axis + x.dim() if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def expand(a, x, shape):
    return x.expand(torch.broadcast_shapes(x.shape, tuple(numbers(shape))))


def slice_(a, x, starts, ends, axes=None, steps=None):
    starts, ends = numbers(starts), numbers(ends)
    axes = list(range(len(starts))) if axes is None else numbers(axes)
    steps = [1] * len(starts) if steps is None else numbers(steps)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = x.shape[axis]
        if step < 0 and end < -size:
            end = None  # down to the first
        picked = range(size)[slice(start, end, step)]
        if step > 0:
            x = x.narrow(
                axis, picked.start if len(picked) else 0, len(range(picked.start, picked.stop)) if len(picked) else 0
            )
            x = x if step == 1 or not len(picked) else x.index_select(axis, torch.arange(0, x.shape[axis], step))
        else:
            x = x.index_select(axis, torch.tensor(list(picked), dtype=torch.int64))
    return x


def split(a, x, sizes=None):
    axis = a.get("axis", 0)
    if sizes is None:
        sizes = a.get("split")
    if sizes is None:
        part = -(-x.shape[axis] // (a.get("num_outputs") or a.outputs))
        return x.split(part, axis)
    return x.split(list(sizes) if isinstance(sizes, (tuple, list)) else numbers(sizes), axis)


def split_to_sequence(a, x, sizes=None):
    axis = a.get("axis", 0)
    if sizes is None:
        parts = x.split(1, axis)
        return [[part if a.get("keepdims", 1) else part.squeeze(axis) for part in parts]]
    return [list(x.split(int(sizes) if sizes.dim() == 0 else numbers(sizes), axis))]


def join_sequence(a, parts):
    return (torch.stack if a.get("new_axis", 0) else torch.cat)(parts, a.get("axis"))


def wrap(indices, size):
    return torch.where(indices < 0, indices + size, indices).to(torch.int64)


def gather(a, x, indices):
    axis = a.get("axis", 0) % x.dim()
    picked = x.index_select(axis, wrap(indices, x.shape[axis]).reshape(-1))
    return picked.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def gather_elements(a, x, indices):
    axis = a.get("axis", 0) % x.dim()
    return x.gather(axis, wrap(indices, x.shape[axis]))


def batch_positions(shape, rank):
    """Of an index with these leading dimensions, positions of each, to be broadcast with tensors of that rank."""
    return [torch.arange(n).reshape([-1 if i == k else 1 for i in range(rank)]) for k, n in enumerate(shape)]


def gather_nd(a, x, indices):
    batch = a.get("batch_dims", 0)
    own = [wrap(part, x.shape[batch + i]) for i, part in enumerate(indices.unbind(-1))]
    return x[tuple(batch_positions(x.shape[:batch], indices.dim() - 1) + own)]


def reduction_of(a):
    return {"none": None, "add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[a.get("reduction", "none")]


def scatter_elements(a, x, indices, updates):
    axis = a.get("axis", 0) % x.dim()
    indices, how = wrap(indices, x.shape[axis]), reduction_of(a)
    return x.scatter(axis, indices, updates) if how is None else x.scatter_reduce(axis, indices, updates, how)


def scatter_nd(a, x, indices, updates):
    own = tuple(wrap(part, x.shape[i]) for i, part in enumerate(indices.unbind(-1)))
    how = reduction_of(a)
    if how in (None, "sum"):
        return x.index_put(own, updates, accumulate=how == "sum")
    strides = [math.prod(x.shape[i + 1 : len(own)]) for i in range(len(own))]
    rows = sum(part * stride for part, stride in zip(own, strides)).reshape(-1)
    flat = x.reshape(-1, *x.shape[len(own) :])
    return flat.index_reduce(0, rows, updates.reshape(-1, *flat.shape[1:]), how).reshape(x.shape)


def pad(a, x, pads, value=None, axes=None):
    axes = list(range(x.dim())) if axes is None else [axis % x.dim() for axis in numbers(axes)]
    mode = a.get("mode", "constant")
    amounts = numbers(pads)
    for i, axis in enumerate(axes):
        before, after, size = amounts[i], amounts[len(axes) + i], x.shape[axis]
        if mode == "constant":
            if min(before, after) < 0:
                x = x.narrow(axis, max(0, -before), size + min(0, before) + min(0, after))
            parts = [
                x.new_full([*x.shape[:axis], n, *x.shape[axis + 1 :]], 0 if value is None else value.item())
                for n in (max(0, before), max(0, after))
            ]
            x = torch.cat([parts[0], x, parts[1]], axis)
        else:
            at = torch.arange(-before, size + after)
            if mode == "edge":
                at = at.clamp(0, size - 1)
            elif mode == "wrap":
                at = at % size
            else:
                at = (at % (2 * size - 2 or 1)).abs()
                at = torch.where(at >= size, 2 * size - 2 - at, at)
            x = x.index_select(axis, at)
    return x


def trilu(a, x, k=None):
    return (torch.triu if a.get("upper", 1) else torch.tril)(x, 0 if k is None else int(k))


def cumsum(a, x, axis):
    axis = int(axis)
    x = x.flip(axis) if a.get("reverse", 0) else x
    y = x.cumsum(axis, dtype=x.dtype)
    y = y - x if a.get("exclusive", 0) else y
    return y.flip(axis) if a.get("reverse", 0) else y


def constant(a):
    for name in ("value_int", "value_ints", "value_float", "value_floats"):
        if a.get(name) is not None:
            return torch.tensor(a.get(name), dtype=torch.int64 if "int" in name else torch.float32)
    return a.get("value")


def constant_of_shape(a, shape):
    value = a.get("value", torch.zeros(1))
    return value.reshape(()).expand(numbers(shape)).clone()


def shape_of(a, x):
    return torch.tensor(list(x.shape), dtype=torch.int64)[a.get("start", 0) : a.get("end", None)]


def eye_like(a, x):
    dtype = DTYPES[int(a.get("dtype"))] if a.get("dtype") is not None else x.dtype
    rows, columns = torch.arange(x.shape[0])[:, None], torch.arange(x.shape[1])[None]
    return (columns - rows == a.get("k", 0)).to(dtype)


def loss_of(a, log, target, weight=None):
    ignored = a.get("ignore_index")
    # Without ignore_index no target may be negative; F.nll_loss wants a number all the same.
    return F.nll_loss(
        log,
        target.to(torch.int64),
        weight,
        ignore_index=-(1 << 30) if ignored is None else ignored,
        reduction=a.get("reduction", "mean"),
    )


def cross_entropy(a, x, target, weight=None):
    log = F.log_softmax(x, 1)
    return (loss_of(a, log, target, weight), log)[: a.outputs]


def extreme(function):
    def row(a, x):
        axis, keep = a.get("axis", 0), bool(a.get("keepdims", 1))
        if not a.get("select_last_index", 0):
            return function(x.numpy(force=True), axis, keep)
        return x.shape[axis] - 1 - function(x.flip(axis).numpy(force=True), axis, keep)

    return lambda a, x: torch.as_tensor(row(a, x))


def first_of(name):
    """NumPy's, which takes the first of equal ones; PyTorch takes any."""
    import numpy

    return lambda x, axis, keep: getattr(numpy, name)(x, axis, keepdims=keep)


def hardmax(a, x):
    axis = a.get("axis", -1)
    place = torch.as_tensor(first_of("argmax")(x.numpy(force=True), axis, True))
    return torch.zeros_like(x).scatter(axis, place, 1.0)


def one_hot(a, indices, depth, values):
    axis, depth = a.get("axis", -1) % (indices.dim() + 1), int(depth)
    hot = F.one_hot(wrap(indices.to(torch.int64), depth), depth).movedim(-1, axis)
    return torch.where(hot == 1, values[1], values[0])


def top_k(a, x, k):
    """Of equal ones the first, as ONNX has it; PyTorch takes any."""
    axis, largest = a.get("axis", -1), bool(a.get("largest", 1))
    places = torch.sort(x, dim=axis, descending=largest, stable=True).indices.narrow(axis, 0, int(k))
    return x.gather(axis, places), places


def reverse_sequence(a, x, lengths):
    batch, time = a.get("batch_axis", 1), a.get("time_axis", 0)
    parts = []
    for part, length in zip(x.split(1, batch), numbers(lengths)):
        turned, kept = part.split([length, x.shape[time] - length], time)
        parts.append(torch.cat([turned.flip(time), kept], time))
    return torch.cat(parts, batch)


def depth_to_space(a, x):
    n, c, h, w = x.shape
    b = a.get("blocksize")
    if a.get("mode", "DCR") == "CRD":
        return F.pixel_shuffle(x, b)
    return x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)


def space_to_depth(a, x):
    n, c, h, w = x.shape
    b = a.get("blocksize")
    return x.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def group_norm(a, x, scale, bias):
    """Scale and bias are by group before opset 21."""
    each = x.shape[1] // scale.numel()
    return F.group_norm(x, a.get("num_groups"), scale.repeat_interleave(each), bias.repeat_interleave(each),
                        a.get("epsilon", 1e-5))


def mean_variance(a, x):
    axes = list(a.get("axes", (0, 2, 3)))
    centered = x - x.mean(axes, keepdim=True)
    return centered / (centered.square().mean(axes, keepdim=True).sqrt() + 1e-9)


def infinite(a, x):
    return (torch.isposinf(x) & bool(a.get("detect_positive", 1))) | (
        torch.isneginf(x) & bool(a.get("detect_negative", 1))
    )


def unary(function):
    return lambda a, x: function(x)


def step(function):
    return lambda a, x: function(x.detach())


def binary(function):
    return lambda a, x, y: function(x, y)


def power(a, x, y):
    if y.dim() == 0 and not y.requires_grad:
        return torch.pow(x, y.item()).to(x.dtype)  # the gradient of x ** 2 at 0 is 0
    return torch.pow(x, y).to(x.dtype)


def named(kind, names):
    """Rows whose function is torch's of that name."""
    return {name: kind(getattr(torch, name.lower())) for name in names.split()}


# Windows: convolutions and pooling. ends[d] = (before, behind) of what dimension d is padded by.


def automatic_pads(kind, totals):
    """Pads of auto_pad: halves, of which the odd one lies behind (SAME_UPPER) or before."""
    halves = [(max(t, 0) // 2, max(t, 0) - max(t, 0) // 2) for t in totals]
    return halves if kind == "SAME_UPPER" else [pair[::-1] for pair in halves]


def windows(a, x, kernel):
    """(strides, dilations, ends), with what the last windows reach behind them in ceil_mode."""
    rank, sizes = len(kernel), x.shape[2:]
    strides, dilations = list(a.get("strides", [1] * rank)), list(a.get("dilations", [1] * rank))
    reaches = [d * (k - 1) + 1 for d, k in zip(dilations, kernel)]
    pads, kind = list(a.get("pads", [0] * 2 * rank)), a.get("auto_pad", "NOTSET")
    ends = list(zip(pads[:rank], pads[rank:]))
    if kind.startswith("SAME"):
        ends = automatic_pads(kind, [(-(-n // s) - 1) * s + r - n for n, s, r in zip(sizes, strides, reaches)])
    elif kind == "VALID":
        ends = [(0, 0)] * rank
    extra = [0] * rank
    for d in range(rank if a.get("ceil_mode", 0) else 0):
        rest = (sizes[d] + sum(ends[d]) - reaches[d]) % strides[d]
        last = sizes[d] + sum(ends[d]) - reaches[d] - rest + strides[d]
        if rest and last < sizes[d] + ends[d][0]:
            extra[d] = strides[d] - rest
    return strides, dilations, ends, extra


def padded(x, ends, value=0.0):
    around = [n for pair in reversed(ends) for n in pair]
    return F.pad(x, around, value=value)


def conv(a, x, weight, bias=None):
    strides, dilations, ends, _ = windows(a, x, weight.shape[2:])
    function = (F.conv1d, F.conv2d, F.conv3d)[x.dim() - 3]
    return function(padded(x, ends), weight, bias, strides, 0, dilations, a.get("group", 1))


def conv_transpose(a, x, weight, bias=None):
    rank, kernel = x.dim() - 2, weight.shape[2:]
    strides, dilations = list(a.get("strides", [1] * rank)), list(a.get("dilations", [1] * rank))
    added, kind = list(a.get("output_padding", [0] * rank)), a.get("auto_pad", "NOTSET")
    pads = list(a.get("pads", [0] * 2 * rank))
    ends = list(zip(pads[:rank], pads[rank:])) if kind == "NOTSET" else [(0, 0)] * rank
    whole = [s * (n - 1) + p + d * (k - 1) + 1
             for s, n, p, d, k in zip(strides, x.shape[2:], added, dilations, kernel)]
    wanted = a.get("output_shape", [n * s for n, s in zip(x.shape[2:], strides)] if "SAME" in kind else None)
    if wanted is not None:
        ends = automatic_pads(kind, [w - n for w, n in zip(whole, wanted)])
        added = [p + max(n - w, 0) for p, w, n in zip(added, whole, wanted)]
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    full = function(x, weight, None, strides, 0, 0, a.get("group", 1), dilations)
    full = padded(full, [(0, p) for p in added])
    full = padded(full, [(-before, -behind) for before, behind in ends])
    return full if bias is None else full + bias.reshape([-1] + [1] * rank)


def max_pool(a, x):
    kernel = a.get("kernel_shape", None)
    strides, dilations, ends, extra = windows(a, x, kernel)
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[x.dim() - 3]
    around = padded(x, [(b, e + more) for (b, e), more in zip(ends, extra)], -math.inf)
    y, places = function(around, kernel, strides, 0, dilations, return_indices=True)
    if a.outputs == 1:
        return y
    own, rest = [], places  # the place along each dimension
    for size, (before, _) in reversed(list(zip(around.shape[2:], ends))):
        own, rest = [rest % size - before, *own], rest // size
    order = range(len(kernel)) if a.get("storage_order", 0) else reversed(range(len(kernel)))
    at, step = 0, 1
    for d in order:
        at, step = at + own[d] * step, step * x.shape[2 + d]
    images = torch.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2] + (1,) * len(kernel))
    return y, at + images * step


def window_sums(x, kernel, strides, dilations):
    channels = x.shape[1]
    function = (F.conv1d, F.conv2d, F.conv3d)[x.dim() - 3]
    return function(x, x.new_ones(channels, 1, *kernel), None, strides, 0, dilations, channels)


def average_pool(a, x):
    kernel = a.get("kernel_shape", None)
    strides, dilations, ends, extra = windows(a, x, kernel)
    behind = [(0, more) for more in extra]
    ones = padded(torch.ones_like(x), ends, 1.0 if a.get("count_include_pad", 0) else 0.0)
    sums = [window_sums(padded(part, behind), kernel, strides, dilations) for part in (padded(x, ends), ones)]
    return sums[0] / sums[1]


def lp_pool(a, x):
    kernel, p = a.get("kernel_shape", None), a.get("p", 2)
    strides, dilations, ends, extra = windows(a, x, kernel)
    ends = [(b, e + more) for (b, e), more in zip(ends, extra)]
    return window_sums(padded(x.abs() ** p, ends), kernel, strides, dilations) ** (1 / p)


def max_unpool(a, x, places, shape=None):
    kernel, pads = a.get("kernel_shape"), a.get("pads", [0] * 2 * (x.dim() - 2))
    strides = a.get("strides", [1] * len(kernel))
    sizes = [
        (n - 1) * s - before - after + k
        for n, s, k, before, after in zip(x.shape[2:], strides, kernel, pads, pads[len(kernel) :])
    ]
    whole = x.new_zeros(math.prod([*x.shape[:2], *sizes])).scatter(0, places.reshape(-1), x.reshape(-1))
    whole = whole.reshape(*x.shape[:2], *sizes)
    wanted = whole.shape if shape is None else numbers(shape)
    return F.pad(whole, [n for size, own in zip(reversed(wanted), reversed(whole.shape)) for n in (0, size - own)])


def grid_sample(a, x, grid):
    mode = a.get("mode", "linear").removeprefix("bi").replace("linear", "bilinear").replace("cubic", "bicubic")
    return F.grid_sample(x, grid, mode, a.get("padding_mode", "zeros"), bool(a.get("align_corners", 0)))


def local_norm(a, x):
    size = a.get("size")
    ends = [0, 0] * (x.dim() - 2) + [(size - 1) // 2, size // 2]
    around = F.pad(x.square(), ends).unfold(1, size, 1).sum(-1)
    return x / (a.get("bias", 1.0) + a.get("alpha", 1e-4) / size * around) ** a.get("beta", 0.75)


def image_axes(x):
    return list(range(2, x.dim()))

# ---- Recurrences: h[t] of x[t] and h[t - 1] ----


def gate_function(name, alphas, betas):
    """By its name; takes its numbers off the lists."""
    name = name.lower()
    defaults = {"elu": (1.0,), "hardsigmoid": (0.2, 0.5), "leakyrelu": (0.01,), "thresholdedrelu": (1.0,)}
    own = defaults.get(name, (1.0, 1.0) if name in ("affine", "scaledtanh") else ())
    alpha = alphas.pop(0) if own and alphas else own[0] if own else 0
    beta = betas.pop(0) if len(own) > 1 and betas else own[1] if len(own) > 1 else 0
    return {
        "affine": lambda x: alpha * x + beta,
        "elu": lambda x: F.elu(x, alpha),
        "hardsigmoid": lambda x: hard_sigmoid(x, alpha, beta),
        "leakyrelu": lambda x: F.leaky_relu(x, alpha),
        "scaledtanh": lambda x: alpha * torch.tanh(beta * x),
        "thresholdedrelu": lambda x: F.threshold(x, alpha, 0.0),
        "relu": F.relu,
        "sigmoid": torch.sigmoid,
        "softplus": F.softplus,
        "softsign": F.softsign,
        "tanh": torch.tanh,
    }[name]


def step_rnn(a, f, clip, x, h, c, r, b, p):
    return f[0](clip(x + h @ r.t() + b)), c


def step_gru(a, f, clip, x, h, c, r, b, p):
    n = h.shape[1]
    seen = h @ r[: 2 * n].t() + b[: 2 * n]
    z, reset = f[0](clip(x[:, :n] + seen[:, :n])), f[0](clip(x[:, n : 2 * n] + seen[:, n:]))
    if a.get("linear_before_reset", 0):
        rest = reset * (h @ r[2 * n :].t() + b[2 * n :])
    else:
        rest = (reset * h) @ r[2 * n :].t() + b[2 * n :]
    return (1 - z) * f[1](clip(x[:, 2 * n :] + rest)) + z * h, c


def step_lstm(a, f, clip, x, h, c, r, b, p):
    i, o, forget, made = (x + h @ r.t() + b).chunk(4, 1)
    i = f[0](clip(i + p[0] * c))
    forget = 1 - i if a.get("input_forget", 0) else f[0](clip(forget + p[2] * c))
    c = forget * c + i * f[1](clip(made))
    return f[0](clip(o + p[1] * c)) * f[2](c), c


def recurrent(step, functions):
    def run(a, x, w, r, b=None, lengths=None, h=None, c=None, p=None):
        swapped = bool(a.get("layout", 0))
        x, h, c = (v.transpose(0, 1) if swapped and v is not None else v for v in (x, h, c))
        count, hidden, rows = w.shape[0], r.shape[2], w.shape[1]
        alphas, betas = list(a.get("activation_alpha") or ()), list(a.get("activation_beta") or ())
        names = [v.decode() if isinstance(v, bytes) else v for v in a.get("activations") or functions * count]
        f = [gate_function(name, alphas, betas) for name in names]
        bound, way = a.get("clip"), a.get("direction", "forward")
        clip = (lambda v: v) if bound is None else lambda v: v.clamp(-bound, bound)
        zero, all_y, all_h, all_c = x.new_zeros(x.shape[1], hidden), [], [], []
        for d in range(count):
            now, cell = zero if h is None else h[d], zero if c is None else c[d]
            bias = b[d] if b is not None else x.new_zeros(2 * rows)
            holes = p[d].chunk(3) if p is not None else (0, 0, 0)
            own, ys = f[d * len(functions) : (d + 1) * len(functions)], [None] * x.shape[0]
            steps = range(x.shape[0])
            for t in reversed(steps) if d == 1 or way == "reverse" else steps:
                seen = x[t] @ w[d].t() + bias[:rows]
                new, new_cell = step(a, own, clip, seen, now, cell, r[d], bias[rows:], holes)
                here = torch.ones(x.shape[1], 1, dtype=torch.bool) if lengths is None else (lengths > t)[:, None]
                now, cell = torch.where(here, new, now), torch.where(here, new_cell, cell)
                ys[t] = torch.where(here, new, torch.zeros_like(new))
            all_y.append(torch.stack(ys))
            all_h.append(now)
            all_c.append(cell)
        y, last = torch.stack(all_y, 1), [torch.stack(all_h), torch.stack(all_c)]
        if swapped:
            y, last = y.permute(2, 0, 1, 3), [v.transpose(0, 1) for v in last]
        return (y, *last)[: a.outputs]

    return run


# ---- Resize ----


def source_place(how, o, size, out, scale, start, end):
    width, last = size * scale, size - 1
    if how == "asymmetric":
        return o / scale
    if how == "align_corners":
        return o * last / (width - 1) if out > 1 else 0.0
    if how == "tf_crop_and_resize":
        return start * last + o * (end - start) * last / (width - 1) if out > 1 else 0.5 * (start + end) * last
    if how == "tf_half_pixel_for_nn":
        return (o + 0.5) / scale
    if how == "pytorch_half_pixel" and out == 1:
        return 0.0
    moved = size / 2 * (1 - out / width) if how == "half_pixel_symmetric" else 0.0
    return moved + (o + 0.5) / scale - 0.5


def tap_weight(mode, d, cubic):
    d = abs(d)
    if mode == "linear":
        return max(1 - d, 0.0)
    if d <= 1:
        return (cubic + 2) * d**3 - (cubic + 3) * d**2 + 1
    return cubic * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0.0


def resize_row(a, mode, place, size, scale):
    """What an element of the result is made of: {place: weight}."""
    edge = lambda i: int(min(max(i, 0), size - 1))
    if mode == "nearest":
        rounding = a.get("nearest_mode", "floor" if a.old else "round_prefer_floor")
        whole = {
            "floor": math.floor(place),
            "ceil": math.ceil(place),
            "round_prefer_floor": math.ceil(place - 0.5),
            "round_prefer_ceil": math.floor(place + 0.5),
        }
        return {edge(whole[rounding]): 1.0}
    shrink = min(scale, 1.0) if a.get("antialias", 0) else 1.0
    reach, found = (1 if mode == "linear" else 2) / shrink, {}
    for i in range(math.ceil(place - reach), math.floor(place + reach) + 1):
        if not a.get("exclude_outside", 0) or edge(i) == i:
            weight = tap_weight(mode, shrink * (i - place), a.get("cubic_coeff_a", -0.75))
            found[edge(i)] = found.get(edge(i), 0.0) + weight
    whole = sum(found.values()) if a.get("antialias", 0) or a.get("exclude_outside", 0) else 1.0
    return {i: weight / whole for i, weight in found.items()}


def resize_scales(a, x, axes, scales, sizes):
    """[(size of the result, scale)] of the axes."""
    if sizes is None:
        return [(int(np_floor(x.shape[k], s)), float(s)) for k, s in zip(axes, scales)]
    wanted, policy = [int(v) for v in sizes], a.get("keep_aspect_ratio_policy", "stretch")
    own = [w / x.shape[k] for k, w in zip(axes, wanted)]
    if policy == "stretch":
        return list(zip(wanted, own))
    common = min(own) if policy == "not_larger" else max(own)
    return [(max(math.floor(common * x.shape[k] + 0.5), 1), common) for k in axes]


def np_floor(size, scale):
    return torch.floor(torch.tensor(float(size)) * torch.tensor(float(scale)))


def resize(a, x, roi=None, scales=None, sizes=None):
    a.old = False
    if a.node.op_type == "Upsample":
        a.old, roi, scales = True, None, roi if roi is not None else a.get("scales")
    elif scales is None and sizes is None:  # opset 10
        a.old, roi, scales = True, None, roi
    axes = [k % x.dim() for k in a.get("axes") or range(x.dim())]
    mode = a.get("mode", "nearest")
    how = a.get("coordinate_transformation_mode", "asymmetric" if a.old else "half_pixel")
    scales = None if scales is None or len(scales) == 0 else scales
    outside = []
    for n, (k, (out, scale)) in enumerate(zip(axes, resize_scales(a, x, axes, scales, sizes))):
        size = x.shape[k]
        start, end = (float(roi[n]), float(roi[len(axes) + n])) if how == "tf_crop_and_resize" else (0.0, 1.0)
        matrix = torch.zeros(out, size, dtype=x.dtype)
        for o in range(out):
            place = source_place(how, float(o), size, out, scale, start, end)
            for i, weight in resize_row(a, mode, place, size, scale).items():
                matrix[o, i] = weight
            if how == "tf_crop_and_resize" and not 0 <= place <= size - 1:
                outside.append((k, o))
        x = torch.movedim(torch.movedim(x, k, -1) @ matrix.t(), -1, k)
    for k, o in outside:
        x = x.index_fill(k, torch.tensor(o), a.get("extrapolation_value", 0.0))
    return x


ROWS = dict(
    **named(unary, "Abs Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp IsNaN Log Neg Reciprocal Relu"),
    **named(unary, "Sigmoid Sin Sinh Sqrt Tan Tanh"),
    **named(step, "Ceil Floor Round Sign"),
    **named(binary, "Add Greater Less MatMul Mul Sub"),
    Softplus=unary(F.softplus),
    Softsign=unary(F.softsign),
    Mish=unary(F.mish),
    HardSwish=unary(F.hardswish),
    Not=unary(torch.logical_not),
    BitwiseNot=unary(torch.bitwise_not),
    Identity=unary(lambda x: x),
    Gelu=gelu,
    IsInf=infinite,
    Celu=lambda a, x: F.celu(x, a.get("alpha", 1.0)),
    Elu=lambda a, x: F.elu(x, a.get("alpha", 1.0)),
    HardSigmoid=lambda a, x: hard_sigmoid(x, a.get("alpha", 0.2), a.get("beta", 0.5)),
    LeakyRelu=lambda a, x: F.leaky_relu(x, a.get("alpha", 0.01)),
    Selu=lambda a, x: a.get("gamma", 1.0507009873554804) * F.elu(x, a.get("alpha", 1.6732632423543772)),
    Shrink=lambda a, x: torch.where(
        x < -a.get("lambd", 0.5),
        x + a.get("bias", 0.0),
        torch.where(x > a.get("lambd", 0.5), x - a.get("bias", 0.0), 0 * x),
    ),
    Swish=lambda a, x: x * torch.sigmoid(a.get("alpha", 1.0) * x),
    ThresholdedRelu=lambda a, x: F.threshold(x, a.get("alpha", 1.0), 0.0),
    Clip=clip,
    Cast=cast,
    CastLike=cast,
    Dropout=dropouts,
    Div=divide,
    Pow=power,
    PRelu=lambda a, x, slope: x * torch.where(x > 0, 1, slope),
    Mod=modulo,
    And=binary(torch.logical_and),
    Or=binary(torch.logical_or),
    Xor=binary(torch.logical_xor),
    BitwiseAnd=binary(torch.bitwise_and),
    BitwiseOr=binary(torch.bitwise_or),
    BitwiseXor=binary(torch.bitwise_xor),
    BitShift=shift,
    Equal=binary(torch.eq),
    GreaterOrEqual=binary(torch.ge),
    LessOrEqual=binary(torch.le),
    Where=lambda a, c, x, y: torch.where(c, x, y),
    Sum=fold(torch.add),
    Mean=lambda a, *values: fold(torch.add)(a, *values) / len(values),
    Max=fold(torch.maximum),
    Min=fold(torch.minimum),
    ReduceSum=reduction(lambda x, axes, keep: x.sum(axes, keepdim=keep, dtype=x.dtype)),
    ReduceMean=reduction(lambda x, axes, keep: x.mean(axes, keepdim=keep)),
    ReduceMax=extreme_along(lambda x, axes, keep: x.amax(axes, keepdim=keep), "argmax"),
    ReduceMin=extreme_along(lambda x, axes, keep: x.amin(axes, keepdim=keep), "argmin"),
    ReduceProd=reduction(product),
    ReduceL1=reduction(lambda x, axes, keep: x.abs().sum(axes, keepdim=keep)),
    ReduceL2=reduction(lambda x, axes, keep: torch.linalg.vector_norm(x, dim=axes, keepdim=keep)),
    ReduceLogSum=reduction(lambda x, axes, keep: x.sum(axes, keepdim=keep).log()),
    ReduceLogSumExp=reduction(lambda x, axes, keep: x.logsumexp(axes, keepdim=keep)),
    ReduceSumSquare=reduction(lambda x, axes, keep: x.square().sum(axes, keepdim=keep)),
    Softmax=lambda a, x: x.softmax(a.get("axis", -1)),
    LogSoftmax=lambda a, x: x.log_softmax(a.get("axis", -1)),
    LayerNormalization=layer_norm,
    RMSNormalization=rms_norm,
    BatchNormalization=batch_norm,
    LRN=local_norm,
    LpNormalization=lp_normalization,
    Conv=conv,
    ConvTranspose=conv_transpose,
    MaxPool=max_pool,
    MaxUnpool=max_unpool,
    AveragePool=average_pool,
    LpPool=lp_pool,
    GlobalAveragePool=lambda a, x: x.mean(image_axes(x), keepdim=True),
    GlobalMaxPool=lambda a, x: x.amax(image_axes(x), keepdim=True),
    GlobalLpPool=lambda a, x: (x.abs() ** a.get("p", 2)).sum(image_axes(x), keepdim=True) ** (1 / a.get("p", 2)),
    Gemm=gemm,
    Einsum=lambda a, *values: torch.einsum(a.get("equation"), *values),
    Reshape=reshape,
    Squeeze=squeeze,
    Unsqueeze=unsqueeze,
    Flatten=flatten,
    Transpose=lambda a, x: x.permute(*(a.get("perm") or reversed(range(x.dim())))) if x.dim() else x,
    Expand=expand,
    Slice=slice_,
    Concat=lambda a, *values: torch.cat(values, a.get("axis")),
    Split=split,
    Gather=gather,
    GatherElements=gather_elements,
    GatherND=gather_nd,
    ScatterElements=scatter_elements,
    ScatterND=scatter_nd,
    Tile=lambda a, x, repeats: x.repeat(numbers(repeats)) if x.dim() else x,
    Pad=pad,
    Trilu=trilu,
    RNN=recurrent(step_rnn, ["Tanh"]),
    GRU=recurrent(step_gru, ["Sigmoid", "Tanh"]),
    LSTM=recurrent(step_lstm, ["Sigmoid", "Tanh", "Tanh"]),
    GridSample=grid_sample,
    Resize=resize,
    Upsample=resize,
    SplitToSequence=split_to_sequence,
    SequenceConstruct=lambda a, *values: [list(values)],
    SequenceAt=lambda a, parts, at: parts[int(at)],
    SequenceLength=lambda a, parts: torch.tensor(len(parts)),
    ConcatFromSequence=join_sequence,
    Constant=constant,
    ConstantOfShape=constant_of_shape,
    Shape=shape_of,
    Size=lambda a, x: torch.tensor(x.numel()),
    EyeLike=eye_like,
    Range=lambda a, start, limit, delta: torch.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype),
    CumSum=cumsum,
    ArgMax=extreme(first_of("argmax")),
    ArgMin=extreme(first_of("argmin")),
    Hardmax=hardmax,
    OneHot=one_hot,
    TopK=top_k,
    ReverseSequence=reverse_sequence,
    DepthToSpace=depth_to_space,
    SpaceToDepth=space_to_depth,
    InstanceNormalization=lambda a, x, scale, bias: F.instance_norm(
        x, weight=scale, bias=bias, eps=a.get("epsilon", 1e-5)
    ),
    GroupNormalization=group_norm,
    MeanVarianceNormalization=mean_variance,
    Scatter=scatter_elements,
    SoftmaxCrossEntropyLoss=cross_entropy,
    NegativeLogLikelihoodLoss=loss_of,
)


# ---- The graph ----


def find_unknown(graph):
    """{operator: its first node} of those without a row."""
    found = {}
    for node in graph:
        if node.op_type not in ROWS or node.domain not in ("", "ai.onnx"):
            found.setdefault(node.op_type, node)
    return found


class Constants(dict):
    """The tensor of a value; None where it depends on inputs or on parameters."""

    def __init__(self, parameters):
        super().__init__()
        self.parameters = parameters

    def __call__(self, value):
        if value not in self:
            self[value] = self.find(value)
        return self[value]

    def find(self, value):
        node = value.producer()
        if node is None:
            return to_tensor(value.const_value) if value.const_value and value.name not in self.parameters else None
        if node.op_type == "CastLike":  # the type is another, the number is not
            return self(node.inputs[0])
        operands = [None if own is None else self(own) for own in node.inputs]
        known = all(tensor is not None for own, tensor in zip(node.inputs, operands) if own is not None)
        if not known or node.op_type == "Dropout":
            return None
        found = ROWS[node.op_type](Attributes(node), *operands)
        return (found if isinstance(found, (tuple, list)) else (found,))[value.index()]


def run(graph, inputs, parameters, seen=None, masks=()):
    """The first output: see run_all."""
    return run_all(graph, inputs, parameters, seen, masks)[0]


def run_all(graph, inputs, parameters, seen=None, masks=()):
    """The outputs. inputs: {name: tensor}; parameters: {name of an initializer: tensor that is read in its
    place}; seen(node, outputs) is told of every node; masks: what stays in each dropout. Raises Unknown before it
    starts."""
    unknown = find_unknown(graph)
    if unknown:
        raise Unknown(unknown)
    nodes = list(graph)
    dropouts.masks, dropouts.count = masks, 0
    matcher = rules.Matcher(Constants(parameters))
    meant, last = [matcher.find(node) for node in nodes], {}
    for k, node in enumerate(nodes):
        for value in [*node.inputs, *(meant[k][1].values() if meant[k] else ())]:
            last[value] = k
    values = {value: inputs[value.name] for value in graph.inputs if value.name in inputs}
    for value in graph.initializers.values():
        if value in last and value not in values:
            values[value] = parameters[value.name] if value.name in parameters else to_tensor(value.const_value)
    wanted = set(graph.outputs)
    for k, node in enumerate(nodes):
        operands = [None if value is None else values[value] for value in node.inputs]
        found = ROWS[node.op_type](Attributes(node), *operands)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if meant[k]:
            found = (rules.apply(meant[k][0], found[0], {letter: values[v] for letter, v in meant[k][1].items()}),)
        values.update(zip(node.outputs, found))
        if seen:
            seen(node, found)
        for value in {*node.inputs, *(meant[k][1].values() if meant[k] else ())}:
            if value is not None and last[value] == k and value not in wanted:
                values.pop(value, None)
    return [values[output] for output in graph.outputs]
