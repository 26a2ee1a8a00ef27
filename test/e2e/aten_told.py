"""Modules whose errors must say where, for aten.py: {name: (module, input, words of the error)}; and modules with
parameters that cannot all be trained."""
import torch


class Masked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        h = self.layer(x)
        return h[h > 0].square().mean()


class Experts(torch.nn.Module):
    """Written by hand, as people do."""

    def __init__(self, width=8, experts=2):
        super().__init__()
        self.gate, self.experts = torch.nn.Linear(width, experts), experts
        self.weights = torch.nn.Parameter(torch.randn(experts, width, width))

    def forward(self, x):
        share, chosen = self.gate(x).softmax(-1).topk(1)
        out = torch.zeros_like(x)
        for e in range(self.experts):
            rows, places = torch.where(chosen == e)
            out.index_add_(0, rows, (x[rows] @ self.weights[e]) * share[rows, places, None])
        return out.square().mean()


class Weighed(Experts):
    """What the hint says."""

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).topk(1)
        out = torch.zeros_like(x)
        for e in range(self.experts):
            out = out + (x @ self.weights[e]) * (weight * (chosen == e)).sum(-1, keepdim=True)
        return out.square().mean()


class Decides(Masked):
    def forward(self, x):
        h = self.layer(x)
        if h.max() > 0:
            h = h * 2
        return h.square().mean()


class Counts(Masked):
    def forward(self, x):
        h = self.layer(x)
        return h[: int((h > 0).sum())].square().mean()


class Reads(Masked):
    def forward(self, x):
        h = self.layer(x)
        return (h * h.max().item()).mean()


def rows():
    x = torch.randn(6, 8)
    return {
        "x[mask]": (Masked(), x, ("(index): the shape", "(h * mask).sum() / mask.sum()")),
        "experts": (Experts(), x, ("(nonzero): the shape", "of experts let each compute all tokens")),
        "if": (Decides(), x, ("PyTorch cannot export Decides", "if h.max() > 0:", "torch.where(condition, a, b)")),
        "a size": (Counts(), x, ("sizes that depend on values", "int((h > 0).sum())")),
        "item": (Reads(), x, ("numbers that are read from tensors", "keep it a tensor")),
    }


class Beside(torch.nn.Module):
    """A trained layer a, and b, which adds to the loss."""

    def __init__(self, b, adds):
        super().__init__()
        self.a, self.b, self.adds = torch.nn.Linear(4, 4), b, adds

    def forward(self, x):
        return self.a(x).square().mean() + self.adds(self.b, x)


def vector(dtype=torch.float32, size=4):
    return torch.nn.Parameter(torch.ones(size, dtype=dtype))


def parameters():
    """{name: (module, options, trained, unreached)}"""
    a, b = ["a.bias", "a.weight"], ["b.bias", "b.weight"]
    linear, tied = torch.nn.Linear(4, 4), Beside(torch.nn.Linear(4, 4), lambda b, x: b(x).mean())
    tied.b.weight = tied.a.weight
    narrow = torch.nn.Linear(4, 4).bfloat16()

    def through(b, x):
        return b(x.bfloat16()).float().mean()

    kept = torch.nn.Linear(4, 4).bfloat16().requires_grad_(False)
    return {
        "unread": (Beside(linear, lambda b, x: 0.0), {}, a, b),
        "detached": (Beside(linear, lambda b, x: b(x).detach().mean()), {}, a, b),
        "frozen by hand": (Beside(linear, lambda b, x: 0.0), {"freeze": ["b.*"]}, a, []),
        "through integers": (Beside(vector(), lambda b, x: b.long().sum()), {}, a, ["b"]),
        "through places": (Beside(vector(), lambda b, x: b.argmax()), {}, a, ["b"]),
        "empty": (Beside(vector(size=0), lambda b, x: torch.cat([b, x[0]]).mean()), {}, a, ["b"]),
        "a scalar": (Beside(vector(size=()), lambda b, x: b), {}, [*a, "b"], []),
        "tied": (tied, {}, [*a, "b.bias"], []),
        "bf16, frozen by hand": (Beside(narrow, through), {"freeze": ["b.*"]}, a, []),
        "bf16, frozen": (Beside(kept, through), {}, a, []),
    }


def refused_parameters():
    """{name: (module, options, words)}"""
    kept = torch.nn.Linear(4, 4).bfloat16().requires_grad_(False)
    return {
        "bf16": (Beside(vector(torch.bfloat16), lambda b, x: b.float().sum()), {}, "'b' has the element type bf16"),
        "f16": (Beside(vector(torch.float16), lambda b, x: b.float().sum()), {}, "'b' has the element type f16"),
        "f64": (Beside(vector(torch.float64), lambda b, x: b.float().sum()), {}, "'b' has the element type f64"),
        "complex": (Beside(vector(torch.complex64), lambda b, x: b.real.sum()), {}, "the parameter 'b' is complex"),
        "bf16, asked for": (Beside(kept, lambda b, x: b(x.bfloat16()).float().mean()), {"train": ["*"]},
                            "'b.weight' has the element type bf16"),
    }


def with_buffer():
    model = Beside(None, lambda b, x: b.mean())
    del model.b
    model.register_buffer("b", torch.ones(4, requires_grad=True))
    return model
