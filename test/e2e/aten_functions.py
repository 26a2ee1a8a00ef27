"""Functions of torch.autograd with backward passes of their own, for aten.py: by name what h of a linear layer goes
through, and where zbc refuses it what the error says. `model` gives a module whose loss is the mean square of that."""
import torch
import torch.nn.functional as F
from torch.autograd.function import once_differentiable

BOUND = "not in proportion to the gradients"


def function(forward, backward, setup=None):
    """A Function of two functions."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if setup:
        body["setup_context"] = staticmethod(setup)
    return type(forward.__name__, (torch.autograd.Function,), body)


def keep(ctx, *tensors):
    ctx.save_for_backward(*tensors)


def gelu(ctx, x):
    """As BLOOM has it: the derivative of the formula, with constants of nine digits."""
    keep(ctx, x)
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


def gelu_back(ctx, g):
    x, = ctx.saved_tensors
    t = torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
    return g * (0.5 * x * ((1 - t * t) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + t))


def straight_through(ctx, x):
    return x.round()


def reversed_gradient(ctx, x, rate):
    ctx.rate = rate
    return x.view_as(x)


def spike(ctx, x):
    keep(ctx, x)
    return (x > 0).to(x.dtype)


def spike_back(ctx, g):
    return g / (1 + 10 * ctx.saved_tensors[0].abs()) ** 2


def learned_step(ctx, x, step):
    keep(ctx, x / step, step)
    return (x / step).round().clamp(-8, 7) * step


def learned_step_back(ctx, g):
    q, _ = ctx.saved_tensors
    inside = ((q >= -8) & (q <= 7)).to(g.dtype)
    return g * inside, ((q.round().clamp(-8, 7) - q * inside) * g).sum().view(1)


def scaled_linear(x, w, b):
    return F.linear(x, w, b)


@once_differentiable
def scaled_linear_back(ctx, g):
    x, w = ctx.saved_tensors
    return 0.5 * (g @ w), 2 * g.mT @ x, g.sum(0) if ctx.needs_input_grad[2] else None


def without_greatest(ctx, x):
    value, place = x.max(-1, keepdim=True)
    ctx.mark_non_differentiable(place)
    return x - value, place


def half_softmax(ctx, x):
    ctx.y = torch.softmax(x, -1)
    return ctx.y


def half_softmax_back(ctx, g):
    return 0.5 * ctx.y * (g - (g * ctx.y).sum(-1, keepdim=True))


def plus(ctx, x):
    return x + 1


Gelu = function(gelu, gelu_back)
Rounded = function(straight_through, lambda ctx, g: g)
Reversed = function(reversed_gradient, lambda ctx, g: (-ctx.rate * g, None))
Spike = function(spike, spike_back)
Learned = function(learned_step, learned_step_back)
Scaled = function(scaled_linear, scaled_linear_back, lambda ctx, inputs, output: keep(ctx, *inputs[:2]))
Without = function(without_greatest, lambda ctx, g, _: 3 * g)
Half = function(half_softmax, half_softmax_back)
Clipped = function(plus, lambda ctx, g: g.clamp(-0.01, 0.01))
Noisy = function(plus, lambda ctx, g: g * torch.rand_like(g))
Choosing = function(plus, lambda ctx, g: g if g.sum() > 0 else 2 * g)

FUNCTIONS = {
    "gelu": (lambda s, h: Gelu.apply(h), None),
    "straight-through": (lambda s, h: Rounded.apply(3 * h), None),
    "reversed": (lambda s, h: Reversed.apply(h, 0.3), None),
    "spike": (lambda s, h: Spike.apply(h), None),
    "learned step": (lambda s, h: Learned.apply(h, s.step), None),
    "linear": (lambda s, h: Scaled.apply(h, s.weight, s.bias), None),
    "two results": (lambda s, h: Without.apply(h)[0], None),
    "softmax": (lambda s, h: Half.apply(h), None),
    "after another": (lambda s, h: Reversed.apply(Rounded.apply(h * 2), 2.0), None),
    "clipped": (lambda s, h: Clipped.apply(h), BOUND),
    "noisy": (lambda s, h: Noisy.apply(h), BOUND),
    "choosing": (lambda s, h: Choosing.apply(h), "data-dependent"),
}


class Model(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.first, self.last, self.call = torch.nn.Linear(4, 4), torch.nn.Linear(4, 3), call
        self.weight, self.bias = torch.nn.Parameter(torch.randn(4, 4)), torch.nn.Parameter(torch.randn(4))
        self.step = torch.nn.Parameter(torch.tensor([0.3]))

    def forward(self, x):
        return self.last(self.call(self, self.first(x))).square().mean()


# bf16 where PyTorch puts it: what is beside it is f32.
def autocast(s, h):
    with torch.autocast("cpu", torch.bfloat16):
        return F.scaled_dot_product_attention(*[s.first(h).view(1, 2, 2, 4)] * 3, is_causal=True).float().view(4, 4)


def heads(h, dtype):
    return h.view(1, 2, 2, 4).to(dtype)


# What PyTorch's decompositions write with types and ops that few others need: reflected places, quantiles.
def reflected(mode, corners):
    return lambda s, h: F.grid_sample(h.view(1, 1, 4, 4) * s.weight, 2.5 * s.weight[None, :, :2].unsqueeze(2) + s.step,
                                      mode, "reflection", corners).view(1, 4) * h


def quantile(function, how):
    return lambda s, h: h * function(h * s.weight, torch.tensor([0.1, 0.5, 0.77, 1.0]), dim=1, interpolation=how)


WRITTEN = {
    **{f"reflected {mode} {corners}": reflected(mode, corners) for mode in ("bilinear", "nearest", "bicubic")
       for corners in (False, True)},
    **{f"{function.__name__} {how}": quantile(function, how) for function in (torch.quantile, torch.nanquantile)
       for how in ("linear", "lower", "higher", "midpoint", "nearest")},
}
NARROW = {
    "autocast": autocast,
    "bf16": lambda s, h: F.scaled_dot_product_attention(*[heads(h, torch.bfloat16)] * 3).float().view(4, 4),
    "f16": lambda s, h: F.scaled_dot_product_attention(*[heads(h, torch.float16)] * 3).float().view(4, 4),
    "mask": lambda s, h: F.scaled_dot_product_attention(
        *[heads(h, torch.bfloat16)] * 3, attn_mask=torch.tensor([[True, False], [True, True]])).float().view(4, 4),
    "bias": lambda s, h: F.scaled_dot_product_attention(
        *[heads(h, torch.bfloat16)] * 3, attn_mask=s.weight[:2, :2].bfloat16()).float().view(4, 4),
    "formulas": lambda s, h: (F.softplus(h.bfloat16(), 2.0) + h.bfloat16().var(1, keepdim=True)
                              + torch.atan2(h.bfloat16(), s.bias.bfloat16()) + h.bfloat16().norm(dim=1)).float(),
    "loss": lambda s, h: h * F.cross_entropy(h.bfloat16(), torch.tensor([0, 3, 1, 2])).float(),
}
