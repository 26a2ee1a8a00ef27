"""Ops that torch.export keeps and zbc has no row for, written with ops that it has: one function each, by the name of
the op. What one of them cannot write stays as it is (NotImplemented), and zbc says that it does not know it.

    table.update(_written.decompositions())         # of ExportedProgram.run_decompositions
"""
from __future__ import annotations

import torch

# What PyTorch takes apart itself, but not for core ATen.
OF_PYTORCH = "empty_like grid_sampler_2d upsample_bicubic2d upsample_bicubic2d.vec".split()

_written = {}


def _writes(*names):
    def keep(function):
        _written.update(dict.fromkeys(names, function))
        return function

    return keep


def _op(name):
    """The op of "sort.stable", or of "library::op"; None: this PyTorch, or this program, has none."""
    library, _, rest = name.rpartition("::")
    packet, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, library or "aten"), packet, None)
    return getattr(packet, overload or "default", None) if packet is not None else None


def decompositions():
    """{op: function}"""
    found = {_op(name): function for name, function in _written.items()}
    own = torch._decomp.decomposition_table
    found.update({_op(name): own[_op(name)] for name in OF_PYTORCH if _op(name) in own})
    return {op: function for op, function in found.items() if op is not None}


def _float(x):
    return x if x.is_floating_point() else x.float()


def _stopped(x):
    """A value that no gradient passes: detach() of a decomposition would be an alias."""
    return torch.ops.zb_aten.detach(x)


# ---- Arithmetic ----


@_writes("atan2")
def atan2(y, x):
    """By the quotient of the smaller over the greater, so that neither is divided by zero."""
    y, x = torch.broadcast_tensors(_float(y), _float(x))
    steep = y.abs() > x.abs()
    over = torch.where(steep, y, x)
    quotient = torch.where(steep, x, y) / torch.where(over == 0, 1.0, over)
    angle, turn = torch.atan(quotient), torch.where(y < 0, -torch.pi, torch.pi)
    return torch.where(steep, torch.where(y < 0, -torch.pi / 2, torch.pi / 2) - angle,
                       torch.where(x < 0, angle + turn, angle))


@_writes("hypot")
def hypot(x, y):
    return torch.linalg.vector_norm(torch.stack(torch.broadcast_tensors(x, y), 0), dim=0)


@_writes("sinc")
def sinc(x):
    at = torch.pi * torch.where(x == 0, 0.5, x)
    return torch.where(x == 0, 1.0, at.sin() / at)


def _running(x, dim, combine, neutral):
    """What combine gives of all elements up to each one, in steps that double how many."""
    reach = 1
    x = x.movedim(dim, -1)
    while reach < x.shape[-1]:
        before = torch.nn.functional.pad(x[..., :-reach], (reach, 0), value=neutral)
        x = combine(before, x)
        reach *= 2
    return x.movedim(-1, dim)


@_writes("copysign.Tensor")
def copysign(x, sign):
    negative = (sign < 0) | ((sign == 0) & (1 / sign < 0))
    return torch.where(negative, -x.abs(), x.abs())


@_writes("ldexp.Tensor")
def ldexp(x, exponent):
    return x * torch.exp2(_float(exponent))


@_writes("addbmm")
def addbmm(x, one, other, *, beta=1, alpha=1):
    return x * beta + torch.bmm(one, other).sum(0) * alpha


@_writes("cumprod")
def cumprod(x, dim, dtype=None):
    x = x.to(dtype or (x.dtype if x.is_floating_point() else torch.int64))
    return x if x.dim() == 0 else _running(x, dim, torch.mul, 1)


@_writes("logcumsumexp")
def logcumsumexp(x, dim):
    return x if x.dim() == 0 else _running(x, dim, torch.logaddexp, -torch.inf)


def _running_extreme(x, dim, better, worst):
    """Values are read at their places, which the gradient goes to; of equal ones the place is the last."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    seen = _running(_stopped(x), dim, better, worst)
    along = torch.arange(x.shape[dim]).view([-1 if i == dim % x.dim() else 1 for i in range(x.dim())])
    places = torch.where((x == seen) | (x != x), along, torch.zeros_like(along))
    places = _running(places, dim, torch.maximum, 0)
    return torch.gather(x, dim, places), places


@_writes("cummax")
def cummax(x, dim):
    return _running_extreme(x, dim, torch.maximum, -torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).min)


@_writes("cummin")
def cummin(x, dim):
    return _running_extreme(x, dim, torch.minimum, torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).max)


# ---- Losses ----


def _reduced(loss, reduction):
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


@_writes("binary_cross_entropy")
def binary_cross_entropy(x, target, weight=None, reduction=1):
    """Logarithms are at least -100, and the gradient is PyTorch's formula, which is finite at 0 and 1, in place of that
    of what is computed: a term that is zero has it."""
    at = _stopped(x)
    loss = (target - 1) * torch.log1p(-at).clamp(min=-100) - target * at.log().clamp(min=-100)
    slope = _stopped((at - target) / ((1 - at) * at).clamp(min=1e-12))
    loss = loss + (x - at) * slope
    return _reduced(loss if weight is None else loss * weight, reduction)


@_writes("multilabel_margin_loss_forward")
def multilabel_margin_loss(x, target, reduction):
    """Labels end at the first -1; PyTorch's own decomposition reads those behind it as well."""
    x, target = torch.atleast_2d(x), torch.atleast_2d(target)
    labels = torch.where((target < 0).long().cumsum(1) == 0, target, -1).unsqueeze(2)
    counts, own = labels >= 0, torch.gather(x, 1, labels.squeeze(2).clamp(min=0)).unsqueeze(2)
    is_label = (labels == torch.arange(x.shape[1])).any(1)
    lost = torch.where(counts & ~is_label.unsqueeze(1), torch.relu(1 - own + x.unsqueeze(1)), 0.0)
    loss = _reduced(lost.sum((1, 2)) / x.shape[1], reduction)
    return loss, is_label.to(x.dtype)


# ---- Distances ----


@_writes("_cdist_forward")
def cdist(x, y, p, compute_mode=None):
    return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, dim=-1)


@_writes("dist")
def dist(x, y, p=2.0):
    return torch.linalg.vector_norm(x - y, p)


@_writes("_pdist_forward")
def pdist(x, p=2.0):
    apart = [x[i + 1 :] - x[i] for i in range(x.shape[0] - 1)]
    return torch.linalg.vector_norm(torch.cat(apart or [x[:0]]), p, dim=-1)


# ---- Places ----


@_writes("diagonal", "diagonal_copy")
def diagonal(x, offset=0, dim1=0, dim2=1):
    x = x.movedim((dim1, dim2), (-2, -1))
    count = max(0, min(x.shape[-2] + min(offset, 0), x.shape[-1] - max(offset, 0)))
    rows = torch.arange(count)
    return x[..., rows + max(-offset, 0), rows + max(offset, 0)]


@_writes("as_strided", "as_strided_copy")
def as_strided(x, size, stride, storage_offset=None):
    """Of a tensor that is its whole storage, in order: a selection of its elements."""
    if not x.is_contiguous():
        return NotImplemented
    places = torch.full([1] * len(size), storage_offset or 0)
    for axis, (count, step) in enumerate(zip(size, stride)):
        places = places + (torch.arange(count) * step).view([-1 if i == axis else 1 for i in range(len(size))])
    return x.reshape(-1)[places]


@_writes("unfold", "unfold_copy")
def unfold(x, dim, size, step):
    """Windows along a dimension, which get a last one of their own."""
    begins = torch.arange(0, x.shape[dim] - size + 1, step)
    return x.movedim(dim, -1)[..., begins.unsqueeze(1) + torch.arange(size)].movedim(-2, dim if dim >= 0 else dim - 1)


@_writes("masked_scatter")
def masked_scatter(x, mask, source):
    mask = mask.expand_as(x)
    places = (mask.reshape(-1).long().cumsum(0) - 1).clamp(min=0, max=source.numel() - 1)
    return torch.where(mask, source.reshape(-1)[places].view_as(x), x)


@_writes("scatter_reduce.two")
def scatter_reduce(x, dim, index, src, reduce, include_self=True):
    if reduce not in ("sum", "mean") or x.dim() == 0:
        return NotImplemented
    ones = torch.ones_like(src)
    if not include_self:
        x = torch.where(torch.zeros_like(x).scatter_add(dim, index, ones) > 0, 0.0, x)
    total = x.scatter_add(dim, index, src)
    if reduce == "sum":
        return total
    begin = torch.ones_like(x) if include_self else torch.zeros_like(x)
    return total / begin.scatter_add(dim, index, ones).clamp(min=1)


@_writes("searchsorted.Tensor", "bucketize.Tensor")
def searchsorted(boundaries, x, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None or boundaries.dim() != 1:
        return NotImplemented
    right = right or side == "right"
    below = boundaries <= x.unsqueeze(-1) if right else boundaries < x.unsqueeze(-1)
    return below.sum(-1).to(torch.int32 if out_int32 else torch.int64)


_written["bucketize.Tensor"] = lambda x, boundaries, *, out_int32=False, right=False: searchsorted(
    boundaries, x, out_int32=out_int32, right=right)


@_writes("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    values, places = torch.sort(x, dim=dim, stable=True)
    values, places = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


@_writes("median.dim")
def median_along(x, dim, keepdim=False):
    return kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)


@_writes("median")
def median(x):
    return kthvalue(x.reshape(-1), (x.numel() + 1) // 2, 0)[0]


# ---- Counts and groups ----


@_writes("histc")
def histc(x, bins=100, min=0, max=0):  # noqa: A002
    if min == max:
        return NotImplemented  # of the least and the greatest element
    x = x.reshape(-1)
    place = torch.floor((x.float() - min) * (bins / (max - min))).clamp(max=bins - 1)
    place = torch.where((x >= min) & (x <= max), place, -1.0)
    return (place == torch.arange(bins).unsqueeze(1)).sum(1).to(x.dtype)


@_writes("_grouped_mm", "transformers::grouped_mm_fallback")
def grouped_mm(rows, matrices, offs=None, bias=None, out_dtype=None):
    """Which rows a group has depends on data: each group gets all of them, those of others as zeros, and the products
    are summed."""
    if offs is None or bias is not None or rows.dim() != 2 or matrices.dim() != 3:
        return NotImplemented
    number, ends = torch.arange(rows.shape[0]), offs.to(torch.int64).unsqueeze(1)
    begins = torch.nn.functional.pad(ends[:-1], (0, 0, 1, 0))
    belongs = (number >= begins) & (number < ends)
    return torch.bmm(torch.where(belongs.unsqueeze(2), rows, 0.0), matrices).sum(0)


@_writes("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=-1):
    if scale_grad_by_freq:
        return NotImplemented
    begins = offsets[:-1] if include_last_offset else offsets
    number = torch.arange(indices.shape[0]).unsqueeze(1)
    bag = (number >= begins).sum(1) - 1
    kept = (indices != padding_idx).to(weight.dtype).unsqueeze(1)
    rows = torch.nn.functional.embedding(indices, weight)
    if mode == 2:  # the greatest of each bag, and zeros for one without rows
        inside = (bag == torch.arange(begins.shape[0]).unsqueeze(1)).unsqueeze(2) & (kept > 0)
        greatest, place = torch.where(inside, rows, -torch.inf).max(1)
        sizes = inside.sum(1)
        return torch.where(sizes > 0, greatest, 0.0), bag, sizes.squeeze(1), place
    rows = rows * kept
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    sums = weight.new_zeros(begins.shape[0], weight.shape[1]).index_add(0, bag, rows)
    sizes = weight.new_zeros(begins.shape[0], 1).index_add(0, bag, kept)
    sums = sums / sizes.clamp(min=1) if mode == 1 else sums
    return sums, bag, sizes.squeeze(1).long(), torch.zeros_like(offsets)


# ---- Room that is written later ----


@_writes("empty.memory_format", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
def empty(*args, **options):
    size = next(argument for argument in args if not isinstance(argument, torch.Tensor))
    like = args[0].dtype if isinstance(args[0], torch.Tensor) else None
    return torch.zeros(size, dtype=options.get("dtype") or like)
