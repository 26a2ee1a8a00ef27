"""Ops whose formula has no gradient at some points, or another one there than PyTorch: their value, which no gradient
passes, and PyTorch's backward formulas (torch/csrc/autograd/FunctionsManual.cpp, tools/autograd/derivatives.yaml) as
slopes. _written.py says how these functions get into the table."""
from __future__ import annotations

import torch

from ._written import floats, reduced, running, stopped, writes


def sloped(value, *slopes):
    """value, with the gradient slope * dout for each x of (x, slope)."""
    value = stopped(value).to(slopes[0][0].dtype)
    for x, slope in slopes:
        value = value + slope_of(x, slope)
    return value


def slope_of(x, slope):
    """Nothing, with that gradient for x."""
    return torch.ops.zb_aten.slope(x, stopped(slope).to(x.dtype))


def _slope_at(function, *numbers):
    """Of the first number: what this PyTorch does there."""
    with torch.enable_grad():
        at = [torch.tensor(number, requires_grad=True) for number in numbers]
        return torch.autograd.grad(function(*at), at[0])[0].item()


# Rules that have changed from PyTorch 2.13 to 2.15: whether an end of clamp passes a gradient; whether equal operands
# of fmax share it.
_ENDS_PASS = _slope_at(lambda x: x.clamp(max=1), 1.0) == 1
_EQUAL_SHARE = _slope_at(torch.fmax, 1.0, 1.0) == 0.5


def negative(x):
    """Whether the sign is -, of zeros too."""
    return (x < 0) | ((x == 0) & (1 / x < 0))


# ---- Two operands ----


@writes("atan2")
def atan2(y, x):
    """By the quotient of the smaller over the greater, so that neither is divided by zero; slopes, too, are of what is
    divided by the greater, where that is finite."""
    y, x = torch.broadcast_tensors(floats(y), floats(x))
    great = torch.maximum(y.abs(), x.abs())
    both = (y.abs() == great) & (x.abs() == great) & (great != 0)
    steep = y.abs() > x.abs()
    over = torch.where(steep, y, x)
    quotient = torch.where(steep, x, y) / torch.where(over == 0, 1.0, over)
    angle = torch.atan(torch.where(both, torch.sign(y) * torch.sign(x), quotient))
    turn = torch.where(negative(y), -torch.pi, torch.pi)
    value = torch.where(steep, turn / 2 - angle, torch.where(negative(x), angle + turn, angle))
    unit = torch.where((great > 0) & (great < torch.inf), great, 1.0)
    y_part, x_part = y / unit, x / unit
    square = torch.where(great == 0, 1.0, y_part * y_part + x_part * x_part)
    return sloped(value, (y, x_part / square / unit), (x, -y_part / square / unit))


@writes("hypot")
def hypot(x, y):
    x, y = torch.broadcast_tensors(x, y)
    great, small = torch.maximum(x.abs(), y.abs()), torch.minimum(x.abs(), y.abs())
    part = small / torch.where((great > 0) & (great < torch.inf), great, 1.0)
    value = torch.where(torch.isinf(x) | torch.isinf(y), torch.inf, great * torch.sqrt(1 + part * part))
    return sloped(value, (x, x / value), (y, y / value))


@writes("copysign.Tensor")
def copysign(x, sign):
    value = torch.where(negative(sign), -x.abs(), x.abs())
    return sloped(value, (x, torch.where(x == 0, 0.0, value / x)))


def _greater(x, y, wins):
    own = torch.where(wins(x, y) | (y != y), x, y)
    return torch.where(x == y, 0.5 * x + 0.5 * y, own) if _EQUAL_SHARE and x.is_floating_point() else own


@writes("fmax")
def fmax(x, y):
    return _greater(x, y, torch.ge)


@writes("fmin")
def fmin(x, y):
    return _greater(x, y, torch.le)


@writes("clamp")
def clamp(x, min=None, max=None):  # noqa: A002
    """Where this PyTorch has no gradient at the ends."""
    if _ENDS_PASS or not x.is_floating_point():
        return NotImplemented
    value = torch.where(x != x, stopped(x), x)
    value = value if min is None else torch.where(value <= min, min, value)
    return value if max is None else torch.where(value >= max, max, value)


@writes("clamp_min")
def clamp_min(x, min):  # noqa: A002
    return clamp(x, min)


@writes("clamp_max")
def clamp_max(x, max):  # noqa: A002
    return clamp(x, None, max)


@writes("clamp.Tensor")
def clamp_between(x, min=None, max=None):  # noqa: A002
    if _ENDS_PASS:
        return NotImplemented
    x = x if min is None else torch.maximum(x, min)
    return x if max is None else torch.minimum(x, max)


def _log_add(x, y, of_nothing):
    """of_nothing: the slopes where both are -infinity."""
    apart = torch.where(x == y, 0.0, x - y)
    value = torch.maximum(x, y) + torch.log1p(torch.exp(-apart.abs()))
    nothing = (x == y) & (x == -torch.inf)
    slopes = [torch.where(nothing, of_nothing, torch.sigmoid(a - b)) for a, b in ((x, y), (y, x))]
    return sloped(value, (x, slopes[0]), (y, slopes[1]))


@writes("logaddexp")
def logaddexp(x, y):
    return _log_add(*torch.broadcast_tensors(x, y), torch.nan)


@writes("logcumsumexp")
def logcumsumexp(x, dim):
    return x if x.dim() == 0 else running(x, dim, lambda a, b: _log_add(a, b, 0.0), -torch.inf)


def _times_logarithm(x, y, logarithm, over, edge):
    none = (x == 0) & (y <= edge)
    value = torch.where(y != y, torch.nan, torch.where(x == 0, 0.0, x * logarithm))
    return sloped(value, (x, torch.where(none, 0.0, logarithm)), (y, x / over))


def _number(x, other):
    return x if isinstance(x, torch.Tensor) else torch.full([], x, dtype=other.dtype)


@writes("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other")
def xlogy(x, y):
    x, y = floats(_number(x, y)), floats(_number(y, x))
    return _times_logarithm(x, y, torch.log(y), y, 0)


@writes("special_xlog1py", "special_xlog1py.self_scalar", "special_xlog1py.other_scalar")
def xlog1py(x, y):
    x, y = floats(_number(x, y)), floats(_number(y, x))
    return _times_logarithm(x, y, torch.log1p(y), y + 1, -1)


# ---- One operand ----


@writes("special_entr")
def entr(x):
    x = floats(x)
    value = torch.where(x == 0, 0.0, torch.where(x < 0, -torch.inf, -x * torch.log(x)))
    return sloped(value, (x, -torch.log(x) - 1))


@writes("logit")
def logit(x, eps=None):
    x = floats(x)
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    inside = x if eps is None else x.clamp(low, high)
    slope = torch.where((x < low) | (x > high), torch.nan if eps is None else 0.0, 1 / (x * (1 - x)))
    return sloped(torch.log(inside / (1 - inside)), (x, slope))


@writes("sinc")
def sinc(x):
    """Near 0 by its series: there the formula is the difference of what is almost equal."""
    x = floats(x)
    far = x.abs() > 0.25
    at = torch.where(far, torch.pi * x, torch.pi)
    value = torch.where(x == 0, 1.0, torch.where(x.abs() < 1e-4, 1.0, (torch.pi * x).sin() / (torch.pi * x)))
    square = torch.where(far, 0.0, torch.pi * x).square()
    near = 1 / 3 - square * (1 / 30 - square * (1 / 840 - square * (1 / 45360 - square / 3991680)))
    slope = torch.where(far, (at.cos() - at.sin() / at) / torch.where(far, x, 1.0), -(torch.pi**2) * x * near)
    return sloped(value, (x, slope))


@writes("softplus")
def softplus(x, beta=1, threshold=20):
    """Where the factor or the threshold is not that of an op of ours."""
    if threshold == 20 and beta == 1:
        return NotImplemented
    far = x * beta > threshold
    return torch.where(far, x, torch.nn.functional.softplus(torch.where(far, 0.0, x) * beta) / beta)


@writes("threshold")
def threshold_to(x, threshold, value):
    return NotImplemented if value == 0 else torch.where(x <= threshold, value, x)


# ---- The gamma function ----

# (zeta(k) - 1) / k with the sign of its term, for k from 2: lgamma(2 + w) = w (1 - gamma) + the sum of these times w^k.
_ZETA = (0.32246703342411321, -0.067352301053198095, 0.020580808427784548, -0.0073855510286739853,
         0.0028905103307415233, -0.0011927539117032609, 0.00050966952474304242, -0.00022315475845357938,
         9.9457512781808534e-05, -4.492623478266706e-05, 2.0507212775670691e-05, -9.4394882752683959e-06,
         4.3748667899074883e-06, -2.0392157538013662e-06, 9.5514121304074198e-07, -4.4924691987645660e-07,
         2.1207184805554666e-07, -1.0043224823968099e-07, 4.7698101693639804e-08, -2.2711094608943164e-08,
         1.0838659214896954e-08, -5.1834750419700465e-09)
_GAMMA = 0.57721566490153286


def _near_two(w):
    """lgamma(2 + w) for -1/2 <= w <= 1."""
    total = torch.zeros_like(w)
    for term in reversed(_ZETA):
        total = (total + term) * w
    return (total + (1 - _GAMMA)) * w


def _far(x):
    """lgamma(x) for x >= 3, by Stirling's series; below 16 five steps further on."""
    small = x < 16
    low = torch.where(small, x, 3.0)
    steps = torch.log(low * (low + 1)) + torch.log((low + 2) * (low + 3)) + torch.log(low + 4)
    z = torch.where(small, x + 5, x)
    square = 1 / z / z
    rest = (1 / 12 - square * (1 / 360 - square / 1260)) / z
    return z * (z.log() - 1) - 0.5 * z.log() + 0.91893853320467274 + rest - torch.where(small, steps, 0.0)


@writes("lgamma")
def lgamma(x):
    """Around its zeros by the series of lgamma(2 + w), so that small values are as exact as great ones; below 1/2 by
    reflection."""
    x = floats(x)
    low = x < 0.5
    y = torch.where(low, 1 - x, x)
    near = torch.where(y < 1.5, _near_two(y - 1) - y.log(), _near_two(y - 2))
    value = torch.where(y < 3, near, _far(y))
    sine = torch.where(x.abs() < 1e-6, torch.pi * x, (torch.pi * (x - torch.round(x))).sin()).abs()
    mirrored = torch.where(x.abs() < 1e-6, -x.abs().log(), 1.1447298858494002 - sine.log())
    value = torch.where(low, mirrored - value, value)
    return sloped(torch.where(torch.isinf(x) | (low & (sine == 0)), torch.inf, value), (x, digamma(stopped(x))))


@writes("digamma")
def digamma(x):
    x = floats(x)
    low = x < 0.5
    y = torch.where(low, 1 - x, x)
    z, steps = y + 6, sum(1 / (y + i) for i in range(6))
    square = 1 / z / z
    value = z.log() - 0.5 / z - square * (1 / 12 - square * (1 / 120 - square / 252)) - steps
    pole = low & (x == torch.round(x))
    at = torch.where(low & ~pole, x, 0.25)
    part = at - torch.round(at)
    steep = part.abs() > 0.25  # there the tangent is that of what is left to 1/2
    turn = torch.pi * torch.where(steep, 0.5 - part.abs(), part)
    cotangent = torch.where(steep, torch.sign(part) * turn.tan(), 1 / torch.where(steep, 1.0, turn.tan()))
    value = torch.where(low, value - torch.pi * cotangent, value)
    whole = torch.where(x == 0, torch.where(negative(x), torch.inf, -torch.inf), torch.nan)
    return torch.where(pole, sloped(whole, (x, torch.where(pole, torch.inf, 0.0))), value)


# ---- Losses and distances ----


@writes("binary_cross_entropy")
def binary_cross_entropy(x, target, weight=None, reduction=1):
    """Logarithms are at least -100, and the slope is finite at 0 and 1."""
    loss = (target - 1) * torch.log1p(-x).clamp(min=-100) - target * x.log().clamp(min=-100)
    loss = sloped(loss, (x, (x - target) / ((1 - x) * x).clamp(min=1e-12)))
    return reduced(loss if weight is None else loss * weight, reduction)


@writes("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(x, target, weight=None, pos_weight=None, reduction=1):
    """The slope is one difference."""
    yes, no = (torch.nn.functional.logsigmoid(each) for each in (x, -x))
    if pos_weight is None:
        loss, slope, of_target = (1 - target) * x - yes, torch.sigmoid(x) - target, -x
    else:
        positive = pos_weight * target
        loss = (1 - target) * x - ((pos_weight - 1) * target + 1) * yes
        slope, of_target = (positive + 1 - target) * torch.sigmoid(x) - positive, no - pos_weight * yes
    loss = sloped(loss, (x, slope), (target, of_target)).to(target.dtype)
    return reduced(loss if weight is None else loss * weight, reduction)


@writes("smooth_l1_loss")
def smooth_l1_loss(x, target, reduction=1, beta=1.0):
    apart = x - target
    size = apart.abs()
    value = torch.where(size < beta, 0.5 * apart * apart / beta, size - 0.5 * beta) if beta > 0 else size
    slope = (apart / beta).clamp(-1, 1) if beta > 0 else torch.sign(apart)
    return reduced(sloped(value, (x, slope), (target, -slope)), reduction)


@writes("huber_loss")
def huber_loss(x, target, reduction=1, delta=1.0):
    apart = x - target
    size, slope = apart.abs(), apart.clamp(-delta, delta)
    value = torch.where(size <= delta, 0.5 * apart * apart, delta * (size - 0.5 * delta))
    return reduced(sloped(value, (x, slope), (target, -slope)), reduction)


def multi_margin_loss(x, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """torch.nn.functional.multi_margin_loss: what is lost exactly 0 has no gradient. PyTorch exports another one."""
    if size_average is not None or reduce is not None:
        reduction = torch.nn._reduction.legacy_get_string(size_average, reduce)
    target = target.unsqueeze(-1)
    lost = torch.relu(margin - torch.gather(x, -1, target) + x) ** p
    lost = lost if weight is None else lost * weight[target]
    lost = torch.where(target != torch.arange(x.shape[-1]), lost, 0.0).sum(-1) / x.shape[-1]
    return reduced(lost, ("none", "mean", "sum").index(reduction))


def _distance(apart, p):
    """The norm of what two points are apart, as cdist and pdist differentiate it (aten/src/ATen/native/cpu/
    DistanceOpsKernel.cpp): the greatest elements do not share."""
    value = torch.linalg.vector_norm(stopped(apart), p, dim=-1, keepdim=True)
    size, sign = apart.abs(), torch.where(apart != apart, apart, torch.sign(apart))
    if p == 2:
        return torch.linalg.vector_norm(apart, p, dim=-1)
    if p == 1:
        slope = sign
    elif p == torch.inf:
        slope = sign * (1 - (size - value).abs().ceil().clamp(max=1))
    elif p == 0:
        slope = torch.zeros_like(apart)
    else:
        own = sign * size ** (p - 1)
        slope = torch.where((value == 0) | ((apart == 0) & (p < 1)), 0.0, own / value ** (p - 1))
    return (value + slope_of(apart, slope).sum(-1, keepdim=True)).squeeze(-1)


_APART_MOST = 1 << 24  # elements of all differences of points


@writes("cdist", "_cdist_forward")
def cdist(x, y, p=2.0, compute_mode=None):
    if p == 2 and x.shape[-2] * y.numel() > _APART_MOST:
        return euclidean_distance(x, y)
    return _distance(x.unsqueeze(-2) - y.unsqueeze(-3), p)


@writes("_euclidean_dist")
def euclidean_distance(x, y):
    """By a product, where all differences would need too much memory; of equal points the slope is 0."""
    if x.shape[-2] * y.numel() <= _APART_MOST:
        return cdist(x, y)
    squares = (x * x).sum(-1, keepdim=True) + (y * y).sum(-1).unsqueeze(-2) - 2 * torch.matmul(x, y.mT)
    value = squares.clamp(min=0).sqrt()
    return sloped(value, (squares, torch.where(value == 0, 0.0, 0.5 / value)))


@writes("dist")
def dist(x, y, p=2.0):
    return torch.linalg.vector_norm(x - y, p)


@writes("_pdist_forward")
def pdist(x, p=2.0):
    apart = [x[i + 1 :] - x[i] for i in range(x.shape[0] - 1)]
    return _distance(torch.cat(apart or [x[:0]]), p)


# ---- Medians ----


def _places_of_nan(x, dim, places):
    """The first place that is no number, where there is one."""
    wrong = x != x
    return torch.where(wrong.any(dim, True), wrong.to(torch.int64).argmax(dim, True), places)


def _median_place(x, dim):
    count = x.shape[dim]
    places = torch.sort(x, dim=dim, stable=True)[1].narrow(dim, (count + 1) // 2 - 1, 1)
    return _places_of_nan(x, dim, places) if x.is_floating_point() else places


@writes("median.dim")
def median_along(x, dim, keepdim=False):
    places = _median_place(x, dim)
    values = torch.gather(x, dim, places)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


@writes("median")
def median(x):
    """Equal elements share the gradient."""
    flat = x.reshape(-1)
    value = torch.gather(stopped(flat) if x.is_floating_point() else flat, 0, _median_place(flat, 0))
    if not x.is_floating_point():
        return value.squeeze(0)
    shares = ((flat == value) | ((flat != flat) & (value != value))).to(x.dtype)
    return (value + slope_of(flat, shares / shares.sum()).sum()).squeeze(0)
