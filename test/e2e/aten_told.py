"""Modules whose errors must say where, for aten.py: {name: (module, input, words of the error)}."""
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
