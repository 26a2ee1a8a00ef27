"""Cases of points.py for the door from PyTorch: every row of aten_ops.def that computes, what _written.py of zb writes
out, and compositions as people write them, at the special points of each formula. make_points.py records them.

A case is a function of tensors, and these: floats are trained, integers and bools are constants."""
import math

import torch
import torch.nn.functional as F

from points_lists import COMMON, DOWN, I, LEAST, MOST, NAN, PAIRS, ROWS, TINY, UP, Cases, around
from points_lists import pairs as listed

CASES = Cases(lambda x: x if isinstance(x, torch.Tensor) else torch.tensor(x),
              lambda flags, x: torch.stack([flags.to(x.dtype), x]))
case, unary, flat, binary, rows = CASES.case, CASES.unary, CASES.flat, CASES.binary, CASES.rows


class Points(torch.nn.Module):
    """Cases as one model, as make_points.py says."""

    def __init__(self, names, dtype):
        super().__init__()
        self.p, self.names = torch.nn.ParameterDict(), names
        for name in names:
            inputs = [x.to(dtype) if x.is_floating_point() else x for x in CASES[name].inputs]
            with torch.no_grad():
                y = CASES[name].function(*inputs)
            weights = torch.tensor([1.0, -0.75, 0.5, -1.0, 0.625], dtype=dtype).repeat(y.numel() // 5 + 1)
            self.p[name + "__g"] = torch.nn.Parameter(weights[:y.numel()].view(y.shape).clone())
            for i, x in enumerate(inputs):
                if x.is_floating_point():
                    self.p[f"{name}__x{i}"] = torch.nn.Parameter(x.clone())
                else:
                    self.register_buffer(f"{name}__x{i}", x)

    def part(self, name):
        keys = (f"{name}__x{i}" for i in range(len(CASES[name].inputs)))
        y = CASES[name].function(*(self.p[key] if key in self.p else getattr(self, key) for key in keys))
        return (y * self.p[name + "__g"]).sum()

    def forward(self, x):
        total = x.sum()  # an input of every model
        for name in self.names:
            total = total + self.part(name)
        return total


def of_framework(names):
    """(what PyTorch computes, the values of parameters, what may be off), as record() of make_points.py has them."""
    expected, values = {}, {}
    for dtype, kind, end in ((torch.float32, "F32", ""), (torch.float64, "F64", ".exact")):
        model = Points(names, dtype)
        for name in names:
            model.part(name).backward()
        for name, parameter in model.p.items():
            gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            expected["p." + name + end] = (kind, gradient.shape, gradient.contiguous().numpy().tobytes())
            if kind == "F32":
                values["p." + name] = (kind, parameter.shape, parameter.detach().contiguous().numpy().tobytes())
    return expected, values, {name: [CASES[name].ulp, CASES[name].width, CASES[name].least] for name in names}


def pairs(*given):
    return [torch.tensor(x) for x in listed(*given)]


def flat_binary(name, function):
    case(name, lambda x, y: torch.stack([function(x, y).to(x.dtype), x, y]), *pairs())


def each(name, function, at=ROWS, **accuracy):
    """A function of whole tensors, of each row."""
    rows(name, lambda x: torch.stack([function(row) for row in x.unbind(0)]), at, **accuracy)


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
unary("digamma", torch.digamma, 1, 2, -1, -2, 1.4616321, ulp=16, least=0.25)
unary("logit", torch.logit, 0, 1)
unary("logit_eps", lambda x: torch.logit(x, 0.25), 0.25, 0.75)
unary("nan_to_num", torch.nan_to_num)
unary("nan_to_num_values", lambda x: torch.nan_to_num(x, 2.0, 3.0, -4.0))
unary("tanhshrink", F.tanhshrink, least=0.25)
for op in "mish selu silu hardswish hardsigmoid relu6 softsign elu celu gelu leaky_relu".split():
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
    rows(op, lambda x, op=op: getattr(torch, op)(x, 1), ulp=8)
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
NEAR = [row for row in ROWS if all(abs(x) < 1e3 and (x == 0 or abs(x) > 1e-3) for x in row)]
rows("normalize", lambda x: F.normalize(x, dim=1))
rows("normalize_1", lambda x: F.normalize(x, p=1.0, dim=1))
rows("normalize_eps", lambda x: F.normalize(x, dim=1, eps=5.0))
rows("cosine_itself", lambda x: F.cosine_similarity(x, x, dim=1), least=0.125)
rows("cosine", lambda x: F.cosine_similarity(x, x.roll(1, 0), dim=1), least=0.125)
rows("cosine_zero", lambda x: F.cosine_similarity(x, torch.zeros_like(x), dim=1))
for order in (1.0, 2.0, 3.0, I, 0.5):
    tail = f"{order:g}".replace(".", "_")
    rows("pairwise_" + tail, lambda x, p=order: F.pairwise_distance(x, x.roll(1, 0), p), ulp=16)
    rows("pairwise_itself_" + tail, lambda x, p=order: F.pairwise_distance(x, x, p))
    rows("dist_" + tail, lambda x, p=order: torch.dist(x[:6], x[:6].flip(0), p).view(1))
    rows("dist_itself_" + tail, lambda x, p=order: torch.dist(x[:6], x[:6] * 1, p).view(1))
    for count in (3, 25, 26, 32):
        at = NEAR
        some = torch.tensor((at * 4)[:count])
        some[len(at):] += torch.arange(count - len(at)).clamp(min=0).view(-1, 1) // 3 if count > len(at) else 0
        case(f"cdist_{count}_{tail}", lambda x, p=order: torch.cdist(x, x, p), some, ulp=16, width=4)
    rows("cdist_points_" + tail, lambda x, p=order: torch.cdist(x[:20], x[:20], p))
    rows("pdist_" + tail, lambda x, p=order: F.pdist(x[:12], p), ulp=16)
rows("cdist_mm", lambda x: torch.cdist(x, x * 1, compute_mode="use_mm_for_euclid_dist"), NEAR, ulp=16, least=1e-3)
rows("cdist_one", lambda x: torch.cdist(x[:, :1], x[:7, 1:2]), NEAR, ulp=16)

# ---- Compositions, as people write them: one operand ----
HAND = {
    "softplus": lambda x: torch.log(1 + torch.exp(x)),
    "softplus_log1p": lambda x: torch.log1p(torch.exp(x)),
    "softplus_stable": lambda x: x.clamp(min=0) + torch.log1p(torch.exp(-x.abs())),
    "softplus_maximum": lambda x: torch.maximum(x, torch.zeros_like(x)) + torch.log1p(torch.exp(-x.abs())),
    "softplus_logaddexp": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "log_sigmoid": lambda x: torch.log(torch.sigmoid(x)),
    "sigmoid": lambda x: 1 / (1 + torch.exp(-x)),
    "sigmoid_tanh": lambda x: 0.5 * (torch.tanh(0.5 * x) + 1),
    "sigmoid_stable": lambda x: torch.where(x >= 0, 1 / (1 + torch.exp(-x)), torch.exp(x) / (1 + torch.exp(x))),
    "tanh": lambda x: (torch.exp(x) - torch.exp(-x)) / (torch.exp(x) + torch.exp(-x)),
    "silu": lambda x: x * torch.sigmoid(x),
    "mish": lambda x: x * torch.tanh(F.softplus(x)),
    "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
    "relu_where": lambda x: torch.where(x > 0, x, 0.0),
    "relu_maximum": lambda x: torch.maximum(x, torch.zeros_like(x)),
    "relu_abs": lambda x: (x + x.abs()) / 2,
    "relu_times": lambda x: x * (x > 0),
    "relu_squared": lambda x: F.relu(x) ** 2,
    "crelu": lambda x: F.relu(x) + F.relu(-x),
    "leaky_where": lambda x: torch.where(x > 0, x, 0.1 * x),
    "elu_where": lambda x: torch.where(x > 0, x, torch.exp(x) - 1),
    "hard_swish": lambda x: x * F.relu6(x + 3) / 6,
    "hard_sigmoid": lambda x: F.relu6(x + 3) / 6,
    "hard_sigmoid_clamp": lambda x: (0.2 * x + 0.5).clamp(0, 1),
    "abs_sqrt": lambda x: torch.sqrt(x * x),
    "abs_power": lambda x: (x**2) ** 0.5,
    "abs_sign": lambda x: x * torch.sign(x),
    "sign_quotient": lambda x: x / x.abs(),
    "unit": lambda x: x / (x.abs() + 1e-6),
    "sqrt_where": lambda x: torch.where(x > 0, torch.sqrt(x), 0.0),
    "sqrt_where_both": lambda x: torch.where(x > 0, torch.sqrt(torch.where(x > 0, x, 1.0)), 0.0),
    "sqrt_clamp": lambda x: torch.sqrt(x.clamp(min=0)),
    "sqrt_eps": lambda x: torch.sqrt(x * x + 1e-12),
    "log_where": lambda x: torch.where(x > 0, torch.log(x), 0.0),
    "log_clamp": lambda x: torch.log(x.clamp(min=1e-6)),
    "log_eps": lambda x: torch.log(x.abs() + 1e-8),
    "reciprocal_where": lambda x: torch.where(x == 0, 0.0, 1 / x),
    "rsqrt_quotient": lambda x: 1 / torch.sqrt(x),
    "entropy": lambda x: -x * torch.log(x),
    "entropy_where": lambda x: torch.where(x > 0, -x * torch.log(x), 0.0),
    "entropy_binary": lambda x: -(x * torch.log(x) + (1 - x) * torch.log(1 - x)),
    "logit": lambda x: torch.log(x / (1 - x)),
    "sinc": lambda x: torch.where(x == 0, 1.0, torch.sin(x) / x),
    "expm1_quotient": lambda x: (torch.exp(x) - 1) / x,
    "self_power": lambda x: x**x,
    "power_abs": lambda x: torch.sign(x) * x.abs() ** 0.5,
    "cube_root": lambda x: torch.sign(x) * x.abs() ** (1 / 3),
    "gaussian": lambda x: torch.exp(-0.5 * x * x),
    "cauchy": lambda x: torch.log(1 + x**2),
    "log_cosh": lambda x: torch.log(torch.cosh(x)),
    "log_cosh_stable": lambda x: x + F.softplus(-2 * x) - math.log(2),
    "charbonnier": lambda x: torch.sqrt(x**2 + 1e-6),
    "huber": lambda x: torch.where(x.abs() < 1, 0.5 * x**2, x.abs() - 0.5),
    "huber_clamp": lambda x: 0.5 * x.abs().clamp(max=1) ** 2 + (x.abs() - x.abs().clamp(max=1)),
    "hinge": lambda x: F.relu(1 - x),
    "hinge_clamp": lambda x: (1 - x).clamp(min=0) ** 2,
    "pinball": lambda x: torch.maximum(0.3 * x, -0.7 * x),
    "straight_through": lambda x: x + (torch.round(x) - x).detach(),
    "clip_min_max": lambda x: torch.minimum(torch.maximum(x, torch.full_like(x, -1)), torch.full_like(x, 1)),
    "dead_zone": lambda x: torch.sign(x) * F.relu(x.abs() - 0.5),
    "snake": lambda x: x + torch.sin(x) ** 2,
    "angle": lambda x: torch.atan2(x, torch.ones_like(x)),
    "angle_zero": lambda x: torch.atan2(torch.zeros_like(x), x),
    "angle_self": lambda x: torch.atan2(x, x),
    "arcosh": lambda x: torch.log(x + torch.sqrt(x * x - 1)),
    "arsinh": lambda x: torch.log(x + torch.sqrt(x * x + 1)),
    "bce_logits": lambda x: x.clamp(min=0) - x * 0.3 + torch.log1p(torch.exp(-x.abs())),
    "bce_sigmoid": lambda x: -torch.log(torch.sigmoid(x)) * 0.3 - torch.log(1 - torch.sigmoid(x)) * 0.7,
    "focal": lambda x: -((1 - torch.sigmoid(x)) ** 2) * F.logsigmoid(x),
    "focal_half": lambda x: -((1 - torch.sigmoid(x)) ** 0.5) * F.logsigmoid(x),
    "smooth_step": lambda x: x.clamp(0, 1) ** 2 * (3 - 2 * x.clamp(0, 1)),
    "wrap": lambda x: x.clamp(-50, 50) - 2 * torch.floor(x.clamp(-50, 50) / 2),
    "nan_guard": lambda x: torch.where(torch.isnan(x), 0.0, x) * 2,
    "finite_guard": lambda x: torch.where(torch.isfinite(x), x, torch.zeros_like(x)) ** 2,
}
# Differences of what is almost equal, in the last place of this.
CANCEL = {"arcosh": 100.0, "arsinh": 10.0, "snake": 1.0, "sigmoid_tanh": 0.5, "gelu_tanh": 0.5, "bce_sigmoid": 0.5}
for name, function in HAND.items():
    unary("by_hand_" + name, function, 1, -1, 0.5, 3, -3, ulp=8, least=CANCEL.get(name, 0.0))

# ---- Compositions: rows ----
IGNORED = torch.full((len(ROWS),), -100)
LABELS = torch.arange(len(ROWS)) % 4
MASK = torch.tensor([[True] * 4, [False, True, False, True], [False] * 4] * 11)
HAND_ROWS = {
    "logsumexp": lambda x: torch.log(torch.exp(x).sum(1)),
    "logsumexp_shifted": lambda x: torch.log(torch.exp(x - x.amax(1, True)).sum(1)) + x.amax(1),
    "logsumexp_detached": lambda x: torch.log(torch.exp(x - x.amax(1, True).detach()).sum(1)) + x.amax(1).detach(),
    "softmax": lambda x: torch.exp(x) / torch.exp(x).sum(1, True),
    "softmax_shifted": lambda x: torch.exp(x - x.max(1, True)[0]) / torch.exp(x - x.max(1, True)[0]).sum(1, True),
    "softmin": lambda x: F.softmin(x, 1),
    "softmax_where": lambda x: torch.where(MASK, F.softmax(x, 1), 0.0),
    "softmax_where_finite": lambda x: torch.where(x > -I, F.softmax(x, 1), 0.0),
    "log_of_softmax": lambda x: torch.log(F.softmax(x, 1)),
    "entropy_of_softmax": lambda x: -(F.softmax(x, 1) * F.log_softmax(x, 1)).sum(1),
    "masked_softmax": lambda x: F.softmax(x.masked_fill(MASK, -1e9), 1),
    "masked_softmax_nan": lambda x: torch.nan_to_num(F.softmax(x.masked_fill(MASK, -I), 1)),
    "masked_mean": lambda x: (x * MASK).sum(1) / MASK.sum(1).clamp(min=1),
    "masked_max": lambda x: x.masked_fill(MASK, -I).amax(1).clamp(min=-9),
    "norm": lambda x: torch.sqrt((x * x).sum(1)),
    "norm_power": lambda x: (x**2).sum(1) ** 0.5,
    "norm_eps": lambda x: torch.sqrt((x * x).sum(1) + 1e-12),
    "norm_1": lambda x: x.abs().sum(1),
    "normalized": lambda x: x / x.norm(dim=1, keepdim=True).clamp(min=1e-12),
    "normalized_eps": lambda x: x / (x.norm(dim=1, keepdim=True) + 1e-6),
    "normalized_rsqrt": lambda x: x * torch.rsqrt((x * x).sum(1, True) + 1e-6),
    "normalized_max": lambda x: x / x.abs().amax(1, True),
    "normalized_sum": lambda x: x / x.sum(1, True),
    "cosine": lambda x: (x * x.roll(1, 0)).sum(1) / (x.norm(dim=1) * x.roll(1, 0).norm(dim=1) + 1e-8),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "layer_norm_eps": lambda x: F.layer_norm(x, (4,), eps=0.0),
    "layer_norm_parts": lambda x: (x - x.mean(1, True)) / torch.sqrt(x.var(1, keepdim=True, correction=0) + 1e-5),
    "standardized": lambda x: (x - x.mean(1, True)) / (x.std(1, keepdim=True) + 1e-6),
    "rms_norm": lambda x: F.rms_norm(x, (4,), eps=1e-6),
    "rms_norm_parts": lambda x: x * torch.rsqrt(x.pow(2).mean(1, True) + 1e-6),
    "group_norm": lambda x: F.group_norm(x[:, :, None], 2).flatten(1),
    "instance_norm": lambda x: F.instance_norm(x[:, None])[:, 0],
    "min_max": lambda x: (x - x.amin(1, True)) / (x.amax(1, True) - x.amin(1, True)),
    "spread": lambda x: x.amax(1) - x.amin(1),
    "geometric": lambda x: torch.exp(torch.log(x).mean(1)),
    "harmonic": lambda x: 1 / (1 / x).mean(1),
    "generalized_mean": lambda x: x.clamp(min=1e-6).pow(3).mean(1).pow(1 / 3),
    "winner": lambda x: x.gather(1, x.argmax(1, True)),
    "gated": lambda x: F.softmax(x.topk(4, 1)[0], 1),
    "cross_entropy": lambda x: F.cross_entropy(x, LABELS, reduction="none"),
    "cross_entropy_smooth": lambda x: F.cross_entropy(x, LABELS, reduction="none", label_smoothing=0.1),
    "cross_entropy_ignored": lambda x: F.cross_entropy(x[:9], IGNORED[:9], reduction="sum").view(1),
    "cross_entropy_all_ignored": lambda x: F.cross_entropy(x[:9], IGNORED[:9]).view(1),
    "cross_entropy_soft": lambda x: F.cross_entropy(x, F.softmax(torch.ones_like(x), 1), reduction="none"),
    "nll": lambda x: F.nll_loss(x, LABELS, reduction="none"),
    "kl": lambda x: F.kl_div(x, torch.zeros_like(x), reduction="none"),
    "kl_parts": lambda x: (0.25 * (math.log(0.25) - F.log_softmax(x, 1))).sum(1),
    "max_pool": lambda x: F.max_pool1d(x[None], 2)[0],
    "avg_pool": lambda x: F.avg_pool1d(x[None], 2)[0],
    "attention": lambda x: F.scaled_dot_product_attention(x[None, :14], x[None, :14], x[None, :14])[0],
    "attention_masked": lambda x: F.scaled_dot_product_attention(
        x[None, :12], x[None, :4], x[None, :4], attn_mask=~MASK[None, :12])[0],
    "tril": lambda x: x.tril() + x.triu(1) * 2,
    "flip_roll": lambda x: x.flip(1) + x.roll(1, 1),
    "pad": lambda x: F.pad(x, (1, 1), value=-I),
    "repeats": lambda x: x[:, [0, 0, 3]] + x.index_select(1, torch.tensor([1, 1, 1])),
    "gathered": lambda x: x.gather(1, torch.tensor([[0, 0, 2, 2]]).expand(len(ROWS), 4)),
    "scattered": lambda x: torch.zeros_like(x).scatter_add(1, torch.tensor([[0, 0, 2, 2]]).expand(len(ROWS), 4), x),
    "scattered_max": lambda x: x.scatter_reduce(1, torch.tensor([[0, 0, 2, 2]]).expand(len(ROWS), 4), x * 1, "amax"),
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.5),
    "outer": lambda x: x[:6, :, None] * x[:6, None, :],
    "cumulative": lambda x: x.cumsum(1) / torch.arange(1, 5),
    "differences": lambda x: x.diff(dim=1).abs().sum(1),
    "total_variation": lambda x: (x[:, 1:] - x[:, :-1]).square().sum(1).sqrt(),
}
CANCEL = {"entropy_of_softmax": 0.25, "group_norm": 0.01, "cross_entropy_smooth": 0.125, "cross_entropy": 0.125,
          "attention": 1.0, "attention_masked": 1.0}
for name, function in HAND_ROWS.items():
    rows("by_hand_" + name, function, ulp=16, least=CANCEL.get(name, 0.0))

# ---- Losses of two operands ----
UNITS = [0.0, 1.0, 0.5, LEAST, TINY, 1e-4, DOWN]
TARGETS = [0.0, 1.0, 0.3]
LOSSES = {
    "bce": lambda x, y: F.binary_cross_entropy(x, y.detach(), reduction="none"),
    "bce_weight": lambda x, y: F.binary_cross_entropy(x, y.detach(), weight=y.detach() + 1, reduction="sum").view(1),
    "bce_by_hand": lambda x, y: -(y * torch.log(x) + (1 - y) * torch.log(1 - x)),
    "kl_div": lambda x, y: F.kl_div(x, y, reduction="none"),
    "kl_of_logs": lambda x, y: F.kl_div(x, y, reduction="none", log_target=True),
    "kl_by_hand": lambda x, y: y * torch.log(y / x),
    "js_by_hand": lambda x, y: torch.where(y > 0, y * torch.log(2 * y / (x + y)), 0.0),
    "beta": lambda x, y: torch.lgamma(x + 1) + torch.lgamma(y + 1) - torch.lgamma(x + y + 2),
}
for name, function in LOSSES.items():
    binary("loss_" + name, function, UNITS, TARGETS, ulp=16, least=1.0 if name == "beta" else 0.0)
FAR = [0.0, 1.0, -1.0, 0.5, 2.0, UP, DOWN, -3.0, I, NAN, 100.0]
for name, function in {
    "mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss, "huber": F.huber_loss,
    "soft_margin": F.soft_margin_loss, "hinge_embedding": F.hinge_embedding_loss,
    "bce_logits": F.binary_cross_entropy_with_logits, "poisson": F.poisson_nll_loss,
}.items():
    binary("loss_" + name, lambda x, y, f=function: f(x, y.detach(), reduction="none"), FAR, ulp=16)
binary("loss_huber_delta", lambda x, y: F.huber_loss(x, y, reduction="none", delta=2.0), FAR)
binary("loss_smooth_l1_beta", lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.5), FAR)
binary("loss_smooth_l1_zero", lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.0), FAR)
binary("loss_bce_logits_weighted", lambda x, y: F.binary_cross_entropy_with_logits(
    x, y, torch.full_like(x, 0.5), reduction="none", pos_weight=torch.full_like(x, 3.0)), FAR, ulp=16)
binary("loss_gaussian", lambda x, y: 0.5 * (y.abs().clamp(min=1e-6).log() + x * x / y.abs().clamp(min=1e-6)), FAR,
       ulp=16)
binary("loss_margin_ranking", lambda x, y: F.margin_ranking_loss(x, y, torch.ones_like(x), reduction="none"), FAR)
rows("loss_triplet", lambda x: F.triplet_margin_loss(x, x * 1, x.roll(1, 0), reduction="none"), NEAR, ulp=16)
rows("loss_cosine", lambda x: F.cosine_embedding_loss(x, x.roll(1, 0), torch.ones(len(NEAR)), reduction="none"), NEAR,
     ulp=16, least=0.125)
rows("loss_multi_margin", lambda x: F.multi_margin_loss(x, LABELS[:len(NEAR)], reduction="none"), NEAR)
rows("loss_multilabel", lambda x: F.multilabel_margin_loss(x, LABELS[:len(NEAR), None].repeat(1, 4), reduction="none"),
     NEAR)
rows("loss_multilabel_soft", lambda x: F.multilabel_soft_margin_loss(x, torch.ones_like(x), reduction="none"), NEAR,
     ulp=16)
case("loss_ctc", lambda x: F.ctc_loss(x.log_softmax(2), torch.tensor([[1, 2], [3, 3]]), (4, 4), (2, 2),
                                      reduction="none"), torch.zeros(4, 2, 4), ulp=16, width=4)
case("loss_ctc_impossible", lambda x: F.ctc_loss(x.log_softmax(2), torch.tensor([[1, 1], [3, 0]]), (2, 2), (2, 1),
                                                 reduction="none", zero_infinity=True), torch.zeros(2, 2, 4), width=4)

# ---- Places, windows, products ----
TABLE = torch.tensor([[1.0, 2.0], [0.0, -0.0], [NAN, I], [LEAST, MOST]])
case("embedding", lambda x: F.embedding(torch.tensor([0, 2, 2, 3]), x), TABLE)
case("embedding_padding", lambda x: F.embedding(torch.tensor([0, 1, 1, 3]), x, padding_idx=1), TABLE)
case("embedding_bag_max", lambda x: F.embedding_bag(torch.tensor([[0, 1], [1, 1]]), x, mode="max"), TABLE)
case("embedding_bag_mean", lambda x: F.embedding_bag(torch.tensor([[0, 1], [1, 1]]), x), TABLE)
IMAGE = torch.tensor([[0.0, 1.0, 1.0, 2.0], [1.0, 1.0, -1.0, -2.0], [0.0, -0.0, 3.0, 3.0], [5.0, 5.0, 3.0, 0.5]])
IMAGES = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d_padded": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool2d_dilated": lambda x: F.max_pool2d(x, 2, 1, 0, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2, 1, 1),
    "avg_pool2d_inside": lambda x: F.avg_pool2d(x, 2, 2, 1, count_include_pad=False),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2.0, 2),
    "adaptive_avg": lambda x: F.adaptive_avg_pool2d(x, 3),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, 3),
    "adaptive_max_even": lambda x: F.adaptive_max_pool2d(x, 2),
    "nearest": lambda x: F.interpolate(x[None], scale_factor=1.5, mode="nearest")[0],
    "bilinear": lambda x: F.interpolate(x[None], size=(7, 3), mode="bilinear")[0],
    "bilinear_aligned": lambda x: F.interpolate(x[None], size=(7, 3), mode="bilinear", align_corners=True)[0],
    "bicubic": lambda x: F.interpolate(x[None], size=(6, 3), mode="bicubic")[0],
    "pixel_shuffle": lambda x: F.pixel_unshuffle(x[None], 2)[0],
    "unfold": lambda x: x.unfold(1, 2, 1).amax(-1),
    "conv": lambda x: F.conv2d(x[None], torch.ones(1, 1, 2, 2, dtype=x.dtype), padding=1)[0],
}
for name, function in IMAGES.items():
    case(name, function, IMAGE[None], ulp=16)
EDGES = torch.tensor([[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]], [[-1.5, 0.5], [2.0, 0.25], [-0.3333, 1.0001]]]])
for border in ("zeros", "border", "reflection"):
    for aligned in (False, True):
        case(f"grid_sample_{border}_{int(aligned)}", lambda x, grid, b=border, a=aligned: F.grid_sample(
            x[None, None], grid, padding_mode=b, align_corners=a), IMAGE, EDGES, ulp=16, least=1.0)
case("grid_sample_nearest", lambda x, grid: F.grid_sample(x[None, None], grid, "nearest", "reflection"), IMAGE, EDGES)
# Places at, and beside, the middle of two pixels, turned once, twice and not at all: 6 pixels make 5 steps of 0.4.
BETWEEN = torch.tensor([[[[x + step * 0.4, -0.52] for x in (-1.2, 1.2, -0.6, 0.2)] for step in (-13, -5, 0, 5, 10)]])
for name, volume in (("", False), ("_volume", True)):
    for mode in ("nearest", "bilinear"):
        case(f"grid_sample_between_{mode}{name}", lambda x, grid, m=mode, v=volume: F.grid_sample(
            x[None, None, None] if v else x[None, None], F.pad(grid, (0, 1))[:, None] if v else grid, m, "reflection",
            True), torch.linspace(0.5, 6, 36).view(6, 6).sqrt(), BETWEEN, ulp=16, least=1.0)
case("grid_sample_cubic", lambda x, grid: F.grid_sample(x[None, None], grid, "bicubic", "border"), IMAGE, EDGES, ulp=16,
     least=4.0)
case("grid_sample_volume", F.grid_sample, torch.linspace(-2, 3, 24).view(1, 1, 2, 3, 4),
     [[[[[-0.9, 0.2, 0.4], [0.6, -1.3, 0.1]]]]], ulp=16, least=1.0)
case("bilinear_layer", lambda x, y: F.bilinear(x, y, torch.ones(2, 4, 4, dtype=x.dtype)), IMAGE, IMAGE.flip(0), ulp=16)
PRODUCTS = {
    "matmul": torch.matmul, "mv": lambda x, y: torch.mv(x, y[0]), "dot": lambda x, y: torch.dot(x[0], y[0]).view(1),
    "bmm": lambda x, y: torch.bmm(x[None], y[None]), "addmm": lambda x, y: torch.addmm(x, x, y, beta=0.5, alpha=2),
    "addmv": lambda x, y: torch.addmv(x[0], x, y[0]), "baddbmm": lambda x, y: torch.baddbmm(x, x[None], y[None]),
    "linear": lambda x, y: F.linear(x, y, x[0]), "outer": lambda x, y: torch.outer(x[0], y[1]),
}
for name, function in PRODUCTS.items():
    case("product_" + name, function, IMAGE, IMAGE.T.contiguous() * 0.5, ulp=16)

# ---- Movement: what is not a number goes where it goes, and nowhere else ----
MOVED = torch.tensor([[NAN, I, 0.0, 1.0], [-0.0, -I, 2.0, MOST]])
for name, function in {
    "views": lambda x: x.reshape(4, 2).unsqueeze(0).squeeze(0).t().flatten().unflatten(0, (2, 4)),
    "permute": lambda x: x.view(2, 2, 2).permute(2, 0, 1).transpose(0, 1).contiguous(),
    "expand": lambda x: x[None].expand(3, 2, 4) + x.repeat(3, 1).view(3, 2, 4),
    "tile": lambda x: x.tile(1, 2),
    "cat": lambda x: torch.cat([x, x[:, :1]], 1),
    "stack": lambda x: torch.stack([x, x], 1),
    "split": lambda x: x.split(3, 1)[1] + x.split([1, 3], 1)[0],
    "unbind": lambda x: x.unbind(1)[2] + x.select(1, 0),
    "slices": lambda x: x[:, 1::2] + x[:, -2:],
    "select_scatter": lambda x: x.select_scatter(x[0], 0, 1) + x.slice_scatter(x[:, :2], 1, 2, 4),
    "scatter": lambda x: x.scatter(1, torch.tensor([[0, 1], [2, 3]]), x[:, :2] * 2)
    + x.scatter(1, torch.tensor([[0, 1], [2, 3]]), 5.0),
    "index_put": lambda x: x.index_put((torch.tensor([0, 1]), torch.tensor([1, 1])), x[0, :2] * 2),
    "index_put_add": lambda x: x.index_put((torch.tensor([0, 0]), torch.tensor([1, 1])), x[0, 2:], True),
    "index_negative": lambda x: x[torch.tensor([-1, 0, -1])],
    "diagonal": lambda x: x.diagonal() + x.diagonal(1)[:2],
    "empty": lambda x: torch.cat([x[:, :0], x], 1),
    "copy": lambda x: torch.zeros_like(x).copy_(x) * 2,
    "full": lambda x: x + torch.full_like(x, 2) + torch.ones(4, dtype=x.dtype) + torch.eye(2, 4, dtype=x.dtype)
    + torch.arange(4, dtype=x.dtype) + x.new_full((4,), 3) + x.new_ones(4) + x.new_zeros(4) + torch.zeros(4),
    "batch_norm": lambda x: F.batch_norm(x.nan_to_num(0, 1, -1).T.contiguous(), torch.zeros(2, dtype=x.dtype),
                                         torch.ones(2, dtype=x.dtype)),
    "batch_norm_train": lambda x: F.batch_norm((x * 0).nan_to_num(0).T.contiguous() + x.nan_to_num(0, 0, 0)[0, 2],
                                               None, None, training=True),
}.items():
    case("moved_" + name, function, MOVED)

LINE = torch.tensor([[[0.0, 1.0, 1.0, -2.0, -0.0, 3.0]]])
CUBE = torch.tensor([0.0, 1.0, 1.0, -1.0] * 16).view(1, 1, 4, 4, 4)
for name, function, at in (
    ("max_pool3d", lambda x: F.max_pool3d(x, 2), CUBE), ("avg_pool3d", lambda x: F.avg_pool3d(x, 2), CUBE),
    ("adaptive_avg1d", lambda x: F.adaptive_avg_pool1d(x[..., :4], 2), LINE),
    ("adaptive_avg3d", lambda x: F.adaptive_avg_pool3d(x, 2), CUBE),
    ("adaptive_max3d", lambda x: F.adaptive_max_pool3d(x, 2), CUBE),
    ("nearest1d", lambda x: F.interpolate(x, scale_factor=2.0), LINE),
    ("nearest3d", lambda x: F.interpolate(x, scale_factor=0.5), CUBE),
    ("linear1d", lambda x: F.interpolate(x[..., :4], size=6, mode="linear"), LINE),
    ("trilinear", lambda x: F.interpolate(x, size=(3, 3, 3), mode="trilinear"), CUBE),
):
    case(name, function, at, ulp=16)
flat_binary("xor", lambda x, y: (x > 0) ^ (y > 0))
each("sum_of_all", lambda x: x.sum() + x.mean())
case("moved_more", lambda x: x.view(2, 4, 1).squeeze(2).squeeze() + x.view(1, 8).view_as(x) + x.t().t()
     + x.transpose(0, 1).flatten().view(4, 2).T.contiguous(), MOVED)
case("numbers", lambda x: torch.rsub(x, 1.5) + x / 2 + torch.where(x > 0, 1.0, x) + torch.where(x > 0, x, 2.0)
     + x.masked_fill(x > 1, 3.0), MOVED)

# What PyTorch's decompositions take apart although there is a row for it: exported without them.
ROWS_ALONE = """
    addcmul addcdiv lerp lerp_one lerp_tensor masked_fill masked_fill_tensor where_scalar clamp_min clamp_max isfinite
    add_scalar rsub_scalar div_zero floor_divide div_trunc any_all sum mean softmax log_softmax product_matmul
    product_mv product_dot product_bmm product_addmm product_addmv product_baddbmm product_linear moved_views
    moved_permute moved_expand moved_tile moved_cat moved_stack moved_split moved_unbind moved_slices
    moved_select_scatter moved_scatter moved_index_put moved_full moved_more numbers sum_of_all avg_pool3d
    adaptive_avg1d adaptive_max3d nearest1d nearest3d linear1d trilinear by_hand_flip_roll by_hand_nll
    by_hand_layer_norm adaptive_avg by_hand_avg_pool prelu
""".split()
