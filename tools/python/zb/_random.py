"""Random numbers of an exported graph, written with three ops that zbc draws by its counter (runtime/base/random.h):

    zb_aten::random_uniform     of [0, 1) as f32, or whole ones below 2^32 as i64
    zb_aten::random_normal      of the standard normal distribution, as f32
    zb_aten::random_bernoulli   1 with the probability that its operand says, else 0

Each has `training`: whether an evaluation has the mean in its place. It is set where model.eval() draws nothing
(drop path, a sample that only training takes), so that an evaluation is what PyTorch's is. The numbers are not
PyTorch's; their distributions are.
"""
from __future__ import annotations

import collections
import math

import torch

from ._written import writes

LIBRARY = torch.library.Library("zb_aten", "FRAGMENT")
LIBRARY.define("random_uniform(int[] size, *, ScalarType dtype, Device? device=None, bool training=False) -> Tensor")
LIBRARY.define("random_normal(int[] size, *, Device? device=None, bool training=False) -> Tensor")
LIBRARY.define("random_bernoulli(Tensor p, *, bool training=False) -> Tensor")
LIBRARY.define("by_mode(Tensor training, Tensor evaluation) -> Tensor")


def _drawn(size, dtype, device=None, training=False):
    return torch.randint(2**32, size, device=device) if dtype == torch.int64 else torch.rand(size, device=device)


for _name, _meaning in {  # where PyTorch runs the graph (torch.py)
    "random_uniform": _drawn,
    "random_normal": lambda size, device=None, training=False: torch.randn(size, device=device),
    "random_bernoulli": lambda p, training=False: torch.bernoulli(p),
    "by_mode": lambda training, evaluation: training.clone(),
}.items():
    LIBRARY.impl(_name, _meaning, "CompositeExplicitAutograd")
torch.library.register_autograd("zb_aten::by_mode", lambda context, gradient: (gradient, None), lib=LIBRARY)
OPS = torch.ops.zb_aten
DRAWS = (OPS.random_uniform.default, OPS.random_normal.default, OPS.random_bernoulli.default)
# How many bits of a number of [0, 1) a narrow type holds without rounding it up to 1.
BITS = {torch.bfloat16: 8, torch.float16: 11}


def _uniform(size, dtype):
    drawn = OPS.random_uniform(list(size), dtype=torch.float32)
    steps = 2.0 ** BITS.get(dtype, 24)
    return (torch.floor(drawn * steps) / steps if dtype in BITS else drawn).to(dtype)


def _normal(size, dtype):
    return OPS.random_normal(list(size)).to(dtype)


def _whole(size, low, high, dtype):
    """Whole numbers of low .. high - 1."""
    if not 0 < high - low <= 2**31:
        return NotImplemented
    word = OPS.random_uniform(list(size), dtype=torch.int64)
    return (torch.div(word * (high - low), 2**32, rounding_mode="floor") + low).to(dtype)


def _exponential(size, dtype):
    """Above 0, so that its logarithm is finite."""
    drawn = OPS.random_uniform(list(size), dtype=torch.float32)
    return torch.where(drawn == 0, 2.0**-25, -torch.log(1 - drawn)).to(dtype)


def _randperm(count, dtype=torch.int64, **_):
    return torch.argsort(OPS.random_uniform([count], dtype=torch.int64), stable=True).to(dtype)


def _bernoulli_of(x, p=0.5, **_):
    return OPS.random_bernoulli(torch.full(x.shape, float(p))).to(x.dtype)


def _normal_of(mean, std=1.0, **_):
    like = mean + std * 0 if isinstance(mean, torch.Tensor) else std
    return (_normal(like.shape, like.dtype) * std + mean).detach()


def _geometric(x, p, **_):
    return torch.ceil(_exponential(x.shape, torch.float32) / -math.log1p(-p)).to(x.dtype)


_default = torch.get_default_dtype
for _names, _function in {
    "rand": lambda size, dtype=None, **_: _uniform(size, dtype or _default()),
    "rand_like": lambda x, dtype=None, **_: _uniform(x.shape, dtype or x.dtype),
    "uniform": lambda x, begin=0.0, end=1.0, **_: _uniform(x.shape, x.dtype) * (end - begin) + begin,
    "randn": lambda size, dtype=None, **_: _normal(size, dtype or _default()),
    "randn_like": lambda x, dtype=None, **_: _normal(x.shape, dtype or x.dtype),
    "normal_functional": lambda x, mean=0.0, std=1.0, **_: _normal(x.shape, x.dtype) * std + mean,
    "normal.float_float": lambda mean, std, size, dtype=None, **_: _normal(size, dtype or _default()) * std + mean,
    "normal.Tensor_float normal.float_Tensor normal.Tensor_Tensor": _normal_of,
    "log_normal": lambda x, mean=1.0, std=2.0, **_: torch.exp(_normal(x.shape, x.dtype) * std + mean),
    "randint": lambda high, size, dtype=torch.int64, **_: _whole(size, 0, high, dtype),
    "randint.low": lambda low, high, size, dtype=torch.int64, **_: _whole(size, low, high, dtype),
    "randint_like": lambda x, high, dtype=None, **_: _whole(x.shape, 0, high, dtype or x.dtype),
    "randint_like.low_dtype": lambda x, low, high, dtype=None, **_: _whole(x.shape, low, high, dtype or x.dtype),
    "randperm": _randperm,
    "bernoulli": lambda p, **_: OPS.random_bernoulli(p.float()).to(p.dtype),
    "bernoulli.p": _bernoulli_of,
    "exponential": lambda x, rate=1.0, **_: _exponential(x.shape, x.dtype) / rate,
    "geometric": _geometric,
    "cauchy": lambda x, median=0.0, sigma=1.0, **_: torch.tan(
        math.pi * (_uniform(x.shape, x.dtype) - 0.5)) * sigma + median,
}.items():
    writes(*_names.split())(_function)


@writes("multinomial")
def multinomial(p, count, replacement=False, **_):
    """The greatest of p over exponential numbers; with replacement, of as many rows of these as are drawn."""
    if not replacement:
        return (p / _exponential(p.shape, p.dtype)).topk(count, dim=-1).indices
    rows = p.unsqueeze(-2).expand(*p.shape[:-1], count, p.shape[-1])
    return (rows / _exponential(rows.shape, p.dtype)).argmax(-1)


@writes("rrelu_with_noise_functional")
def rrelu(x, noise, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    if not training:
        return torch.nn.functional.leaky_relu(x, (lower + upper) / 2), noise
    slope = torch.where(x <= 0, _uniform(x.shape, x.dtype) * (upper - lower) + lower, 1.0)
    return x * slope, slope


# ---- In evaluations ----


def keep_inputs(graph, restores):
    """An evaluation has the operand of alpha_dropout in its place: the mean of what PyTorch takes it apart into is not
    that. Before decompositions; restores: gets how to take it back."""
    for node in list(graph.nodes):
        if node.target not in (torch.ops.aten.alpha_dropout.default, torch.ops.aten.feature_alpha_dropout.default):
            continue
        with graph.inserting_after(node):
            kept = graph.call_function(OPS.by_mode.default, (node, node.args[0]))
        kept.meta = dict(node.meta)
        node.replace_all_uses_with(kept, delete_user_cb=lambda user, kept=kept: user is not kept)
        restores.append(lambda node=node, kept=kept: (kept.replace_all_uses_with(node), graph.erase_node(kept)))


def raise_drop_path(graph):
    """floor(p + uniform), as drop path is often written, is what is 1 with the probability p: so its mean is p."""
    aten = torch.ops.aten
    for node in list(graph.nodes):
        total = node.args[0] if node.target is aten.floor.default else None
        if not isinstance(total, torch.fx.Node) or total.target is not aten.add.Tensor or len(total.users) != 1:
            continue
        drawn, p = total.args[:2]
        if isinstance(p, (int, float)) and 0 <= p <= 1 and drawn.target is OPS.random_uniform.default:
            value = node.meta["val"]
            with graph.inserting_before(node):
                share = graph.call_function(aten.full.default, (list(value.shape), float(p)))
                kept = graph.call_function(OPS.random_bernoulli.default, (share,))
            share.meta = kept.meta = dict(node.meta)
            node.replace_all_uses_with(kept)


def kinds_of_draws(program):
    """How often each op draws numbers of each shape."""
    drawn = (node for node in program.graph.nodes if node.op == "call_function" and node.target in DRAWS)
    return collections.Counter((node.target, tuple(node.meta["val"].shape)) for node in drawn)


def mark_training(program, in_evaluation):
    """What model.eval() does not draw is marked. in_evaluation: kinds_of_draws there; None: not known, and then what is
    kept or dropped is taken for what training does alone."""
    left = collections.Counter(in_evaluation)
    for node in program.graph.nodes:
        if node.op != "call_function" or node.target not in DRAWS:
            continue
        kind = node.target, tuple(node.meta["val"].shape)
        drawn = node.target is not OPS.random_bernoulli.default if in_evaluation is None else left[kind] > 0
        left[kind] -= 1
        node.kwargs = {**node.kwargs, "training": not drawn}
