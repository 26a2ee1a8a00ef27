"""Cases of points.py for the door from PyTorch: every row of aten_ops.def that computes, what _written.py of zb writes
out, and compositions as people write them, at the special points of each formula. make_points.py records them.

A case is a function of tensors, and these: floats are trained, integers and bools are constants."""
import math

import torch
import torch.nn.functional as F

I, NAN = math.inf, math.nan
TINY, LEAST, MOST = 1.1754943508222875e-38, 1.401298464324817e-45, 3.4028234663852886e38
UP, DOWN = 1 + 2**-23, 1 - 2**-24  # neighbours of 1
# Zeros, denormal numbers, the smallest normal one, around 1, where exponentials run over, the greatest, infinities.
COMMON = [0.0, -0.0, LEAST, -LEAST, TINY, -TINY, 1e-20, -1e-20, 1e-8, -1e-8, 1e-4, -1e-4, 0.5, -0.5, DOWN, -DOWN, 1.0,
          -1.0, UP, -UP, 2.5, -2.5, 10.0, -10.0, 17.0, -17.0, 20.5, -20.5, 88.0, -88.0, 89.5, -89.5, 104.5, -104.5,
          1e4, -1e4, 1e20, -1e20, MOST, -MOST, I, -I, NAN]
PAIRS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 0.5, LEAST, -TINY, MOST, -MOST, I, -I, NAN]
ROWS = [[0.0] * 4, [-0.0, 0.0, -0.0, -0.0], [1.0] * 4, [3.0] * 4, [-0.1] * 4, [0.0, 0.0, 1.0, 1.0],
        [2.0, 2.0, -1.0, 2.0], [-1.0, -1.0, 0.0, 3.0], [3.0, -4.0, 3.0, -4.0], [0.0, 2.0, 3.0, 1.0],
        [0.0, 0.0, 3.0, 1.0], [5.0, -0.0, 0.0, 1.0], [-2.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4], [I, 1.0, 2.0, 3.0],
        [1.0, -I, 2.0, 3.0], [I, -I, 0.0, 1.0], [I] * 4, [-I] * 4, [-I, -I, 0.0, 0.0], [I, I, 0.0, 1.0],
        [NAN, 1.0, 0.0, 2.0], [1.0, NAN, I, NAN], [NAN] * 4, [MOST] * 4, [MOST, -MOST, 1.0, 0.0],
        [LEAST, -LEAST, 0.0, LEAST], [TINY, -TINY, TINY, 0.0], [1e-20, 2e-20, -3e-20, 0.0], [1e20, -2e20, 3e20, 1.0],
        [88.0, 89.0, 100.0, -100.0], [1e4, -1e4, 0.0, 20.0], [1.0, 1.0, UP, DOWN]]
CASES = {}


class Case:
    def __init__(self, function, inputs, ulp):
        self.function, self.inputs, self.ulp = function, inputs, ulp


def case(name, function, *inputs, ulp=4):
    assert name not in CASES and "__" not in name, name
    CASES[name] = Case(function, [x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in inputs], ulp)


def around(*ends):
    """Each end and its neighbours."""
    found = []
    for end in ends:
        at = torch.tensor(float(end))
        found += [at.item(), torch.nextafter(at, torch.tensor(I)).item(), torch.nextafter(at, torch.tensor(-I)).item()]
    return found


def unary(name, function, *ends, ulp=4):
    case(name, function, torch.tensor(COMMON + around(*ends)), ulp=ulp)


def flat(name, function, *ends):
    """What has no gradient; x beside it is trained."""
    case(name, lambda x: torch.stack([function(x).to(x.dtype), x]), torch.tensor(COMMON + around(*ends)))


def pairs(xs=PAIRS, ys=None):
    grid = torch.cartesian_prod(torch.tensor(xs), torch.tensor(xs if ys is None else ys))
    return grid[:, 0].clone(), grid[:, 1].clone()


def binary(name, function, xs=PAIRS, ys=None, ulp=4):
    case(name, function, *pairs(xs, ys), ulp=ulp)


def flat_binary(name, function):
    case(name, lambda x, y: torch.stack([function(x, y).to(x.dtype), x, y]), *pairs())


def rows(name, function, at=ROWS, ulp=4):
    case(name, function, torch.tensor(at), ulp=ulp)


def each(name, function, at=ROWS, ulp=4):
    """A function of whole tensors, of each row."""
    case(name, lambda x: torch.stack([function(row) for row in x.unbind(0)]), torch.tensor(at), ulp=ulp)


# ---- One operand ----
for op in ("abs cos cosh erf exp log neg reciprocal relu sigmoid sin sinh sqrt tan tanh asinh atan erfc exp2 expm1"
           .split()):
    unary(op, getattr(torch, op))
for op in "log2 log10 rsqrt square positive deg2rad frac sinc".split():
    unary(op, getattr(torch, op), 1)
unary("acos", torch.acos, 1, -1)
unary("asin", torch.asin, 1, -1)
unary("acosh", torch.acosh, 1)
unary("atanh", torch.atanh, 1, -1)
unary("log1p", torch.log1p, -1)
unary("lgamma", torch.lgamma, 1, 2, -1, -2, 3, 0.25, ulp=16)
unary("digamma", torch.digamma, 1, 2, -1, -2, 1.4616321, ulp=16)
unary("logit", torch.logit, 0, 1)
unary("logit_eps", lambda x: torch.logit(x, 0.25), 0.25, 0.75)
unary("nan_to_num", torch.nan_to_num)
unary("nan_to_num_values", lambda x: torch.nan_to_num(x, 2.0, 3.0, -4.0))
for op in "mish selu silu hardswish hardsigmoid relu6 softsign tanhshrink elu celu gelu leaky_relu".split():
    unary(op, getattr(F, op), 3, -3, 6, -6, 0)
unary("logsigmoid", F.logsigmoid)
unary("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"))
unary("elu_alpha", lambda x: F.elu(x, 0.3))
unary("celu_alpha", lambda x: F.celu(x, 0.3))
unary("leaky_relu_negative", lambda x: F.leaky_relu(x, -0.5))
unary("hardshrink", F.hardshrink, 0.5, -0.5)
unary("hardshrink_zero", lambda x: F.hardshrink(x, 0.0))
unary("softshrink", F.softshrink, 0.5, -0.5)
unary("softshrink_zero", lambda x: F.softshrink(x, 0.0))
unary("softplus", F.softplus, 20, -20)
unary("softplus_beta", lambda x: F.softplus(x, 2), 10)
unary("softplus_threshold", lambda x: F.softplus(x, 2, 1.5), 0.75)
unary("threshold", lambda x: F.threshold(x, 0.5, 0), 0.5)
unary("threshold_value", lambda x: F.threshold(x, 0.5, -2.0), 0.5)
unary("rrelu", lambda x: F.rrelu(x, training=False))
unary("hardtanh", F.hardtanh, 1, -1)
unary("hardtanh_ends", lambda x: F.hardtanh(x, -0.25, 3.0), -0.25, 3)
unary("clamp", lambda x: x.clamp(-1, 2), -1, 2)
unary("clamp_min", lambda x: x.clamp(min=0.5), 0.5)
unary("clamp_max", lambda x: x.clamp(max=0.5), 0.5)
unary("clamp_crossed", lambda x: x.clamp(2, 1), 2, 1)
unary("clamp_zero", lambda x: x.clamp(min=0.0))
unary("dropout_eval", lambda x: F.dropout(x, 0.5, False))
unary("double_negation", lambda x: (-(-x)).clone().contiguous())
unary("detach_of", lambda x: x * x.detach())
unary("to_half_and_back", lambda x: x.to(torch.bfloat16).to(x.dtype) if x.dtype == torch.float32 else x.float().to(
    torch.bfloat16).to(x.dtype) + (x - x.detach()))
for op in "ceil floor round sign sgn trunc isinf isnan isfinite signbit isposinf isneginf logical_not".split():
    flat(op, getattr(torch, op), 1.5, -1.5, 0.5, -0.5, 2**23)
flat("bitwise_not", lambda x: torch.bitwise_not(x > 0))
flat("round_decimals", lambda x: torch.round(x.clamp(-9, 9), decimals=1))
for op in "ceil floor round sign trunc".split():
    unary(op + "_slope", lambda x, op=op: getattr(torch, op)(x) + x.clamp(-1, 1))
unary("glu", lambda x: F.glu(torch.stack([x, x.flip(0)]), 0))

# ---- Two operands ----
for op in "add sub mul div maximum minimum fmax fmin atan2 hypot copysign logaddexp logaddexp2 xlogy pow".split():
    binary(op, getattr(torch, op))
binary("prelu", lambda x, y: F.prelu(x[None], y)[0])
binary("powers", torch.pow, [0.0, -0.0, 2.0, 0.5, I, 1.0, 3.0], [2.0, 3.0, -1.0, 0.5, -2.0, -I])
binary("fmod", torch.fmod, [0.0, -0.0, 1.0, 2.0, -2.5, 5.0, LEAST, I, NAN], [1.0, -1.0, 2.0, 0.5, -0.75, I, 0.0, NAN])
binary("remainder", torch.remainder, [0.0, -0.0, 1.0, 2.0, -2.5, 5.0, I, NAN],
       [1.0, -1.0, 2.0, 0.5, -0.75, I, 0.0, NAN])
unary("fmod_scalar", lambda x: torch.fmod(x.clamp(-99, 99), 2.0), 2, -2, 4)
unary("remainder_scalar", lambda x: torch.remainder(x.clamp(-99, 99), 2.0), 2, -2, 4)
flat_binary("floor_divide", lambda x, y: torch.floor_divide(x.detach(), y.detach()))
flat_binary("div_trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"))
for op in "eq ne lt le gt ge logical_and logical_or logical_xor isclose".split():
    flat_binary(op, getattr(torch, op))
for op in "eq ne lt le gt ge".split():
    flat(op + "_scalar", lambda x, op=op: getattr(torch, op)(x, 1.0))
for exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.5, 2.5, 1 / 3, I, -I):
    unary(f"pow_{exponent:.3g}".replace("-", "m").replace(".", "_"), lambda x, e=exponent: x**e)
for base in (0.0, 1.0, 2.0, -2.0, 0.5, I):
    unary(f"base_{base:g}".replace("-", "m").replace(".", "_"), lambda x, b=base: b**x)
unary("add_scalar", lambda x: torch.add(x, 1.5, alpha=2))
unary("rsub_scalar", lambda x: torch.rsub(x, 1.5, alpha=2))
unary("mul_zero", lambda x: x * 0.0)
unary("mul_infinity", lambda x: x * I)
unary("div_zero", lambda x: x / 0.0)
unary("zero_over", lambda x: 0.0 / x)
unary("xlog1py", lambda x: torch.special.xlog1py(x, x), -1)
unary("xlogy_scalar", lambda x: torch.xlogy(0.0, x) + torch.xlogy(x, 2.0))
unary("entr", torch.special.entr)
unary("ldexp", lambda x: torch.ldexp(x, torch.tensor(3)))
unary("max_itself", lambda x: torch.maximum(x, x))
unary("min_itself", lambda x: torch.minimum(x, x.detach()))
unary("logaddexp_itself", lambda x: torch.logaddexp(x, x))

# ---- Three operands ----
Q = PAIRS[:3] + [2.0, MOST, I, NAN]
XY = pairs(Q)
case("addcmul", lambda x, y: torch.addcmul(x, y, x, value=0.5), *XY)
case("addcdiv", lambda x, y: torch.addcdiv(x, y, x, value=0.5), *XY)
case("lerp", lambda x, y: torch.lerp(x, y, 0.3), *XY)
case("lerp_one", lambda x, y: torch.lerp(x, y, 1.0), *XY)
case("lerp_tensor", lambda x, y: torch.lerp(x, y, y.flip(0)), *pairs([0.0, 1.0, 0.5, -2.0, 0.25]))
case("where", lambda x, y: torch.where(x > y, x, y), *pairs())
case("where_scalar", lambda x, y: torch.where(x > 0, x, 2.0) + torch.where(y > 0, 1.0, y), *XY)
case("masked_fill", lambda x, y: x.masked_fill(y > 0, -I), *pairs())
case("masked_fill_tensor", lambda x, y: x.masked_fill(x > 0, y[3]), *pairs([1.0, -1.0, 0.0, NAN]))
case("clamp_tensors", lambda x, y: x.clamp(y, y + 1), *pairs())
case("clamp_min_tensor", lambda x, y: x.clamp(min=y), *pairs())
case("clamp_max_tensor", lambda x, y: x.clamp(max=y), *pairs())

# ---- Reductions ----
for op in "amax amin sum mean prod logsumexp logcumsumexp cumsum cumprod softmax log_softmax".split():
    rows(op, lambda x, op=op: getattr(torch, op)(x, 1))
for op in "max min sum mean prod amax amin median std var".split():
    each(op + "_all", getattr(torch, op))
for op in "max min median cummax cummin sort kthvalue mode".split():
    if op != "mode":
        rows(op + "_values", lambda x, op=op: (x.kthvalue(2, 1) if op == "kthvalue" else getattr(torch, op)(x, 1))[0])
rows("cummax_first", lambda x: x.T.cummax(0)[0])
rows("sort_descending", lambda x: x.sort(1, True)[0])
rows("sort_stable", lambda x: x.sort(dim=1, stable=True)[0])
rows("topk", lambda x: x.topk(2, 1)[0])
rows("topk_least", lambda x: x.topk(3, 1, largest=False)[0])
rows("argmax_gather", lambda x: torch.gather(x, 1, x.argmax(1, True)))
rows("argmin_gather", lambda x: torch.gather(x, 1, x.argmin(1, True)))
rows("aminmax", lambda x: sum(torch.aminmax(x, dim=1)))
rows("amax_two", lambda x: x.view(-1, 2, 2).amax((1, 2)))
rows("std", lambda x: x.std(1))
rows("std_population", lambda x: x.std(1, correction=0))
rows("std_mean", lambda x: torch.stack(torch.std_mean(x, 1)))
rows("var", lambda x: x.var(1))
rows("var_population", lambda x: x.var(1, correction=0))
rows("var_mean", lambda x: torch.stack(torch.var_mean(x, 1)))
each("prod_three", lambda x: x[:3].prod())
rows("prod_two_dims", lambda x: x.view(-1, 2, 2).prod(1).prod(1))
LONG = [[2.0 if j % 2 else 0.5 for j in range(80)], [0.0 if j == 7 else 2.0 if j % 2 else 0.5 for j in range(80)],
        [0.0 if j in (7, 60) else 1.5 - j % 2 for j in range(80)]]
case("prod_long", lambda x: x.prod(1), torch.tensor(LONG), ulp=64)
rows("any_all", lambda x: torch.cat([torch.stack([x.bool().any(1), x.bool().all(1)]).to(x.dtype), x.T]))
for order in (0, 0.5, 1, 1.5, 2, 3, I, -I, -1, -2):
    name = f"norm_{order:g}".replace("-", "m").replace(".", "_")
    rows(name, lambda x, p=order: torch.linalg.vector_norm(x, p, dim=1) + (x[:, 0] * 0.0 if p == 0 else 0.0))
    if order in (0.5, 1, 2, 3, I):
        each(name + "_all", lambda x, p=order: x.norm(p))
rows("norm_keepdim", lambda x: x / x.norm(dim=1, keepdim=True))
each("frobenius", lambda x: torch.linalg.matrix_norm(x.view(2, 2)))

# ---- Norms of rows, distances ----
rows("normalize", lambda x: F.normalize(x, dim=1))
rows("normalize_1", lambda x: F.normalize(x, p=1.0, dim=1))
rows("normalize_eps", lambda x: F.normalize(x, dim=1, eps=5.0))
rows("cosine_itself", lambda x: F.cosine_similarity(x, x, dim=1))
rows("cosine", lambda x: F.cosine_similarity(x, x.roll(1, 0), dim=1))
rows("cosine_zero", lambda x: F.cosine_similarity(x, torch.zeros_like(x), dim=1))
for order in (1.0, 2.0, 3.0, I, 0.5):
    tail = f"{order:g}".replace(".", "_")
    rows("pairwise_" + tail, lambda x, p=order: F.pairwise_distance(x, x.roll(1, 0), p))
    rows("pairwise_itself_" + tail, lambda x, p=order: F.pairwise_distance(x, x, p))
    rows("dist_" + tail, lambda x, p=order: torch.dist(x[:6], x[:6].flip(0), p).view(1))
    rows("dist_itself_" + tail, lambda x, p=order: torch.dist(x[:6], x[:6] * 1, p).view(1))
    for count in (3, 25, 26, 32):
        at = [row for row in ROWS if all(abs(v) < 1e3 and (v == 0 or abs(v) > 1e-3) for v in row)]
        some = torch.tensor((at * 4)[:count])
        some[len(at):] += torch.arange(count - len(at)).clamp(min=0).view(-1, 1) // 3 if count > len(at) else 0
        case(f"cdist_{count}_{tail}", lambda x, p=order: torch.cdist(x, x, p), some, ulp=64)
    rows("cdist_points_" + tail, lambda x, p=order: torch.cdist(x[:20], x[:20], p))
    rows("pdist_" + tail, lambda x, p=order: F.pdist(x[:12], p))
rows("cdist_mm_points", lambda x: torch.cdist(x, x))
rows("cdist_mm", lambda x: torch.cdist(x[:12], x[:12], compute_mode="use_mm_for_euclid_dist"))
rows("cdist_one", lambda x: torch.cdist(x[:, :1], x[:7, :1]))
