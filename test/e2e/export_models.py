"""Models as people write them, for export.py: what tools/export_onnx.py must refuse and what it must say (REFUSED),
what it must take (TAKEN), and losses to train with (LOSSES). Each is a class whose constructor takes nothing;
`inputs` is how --input is written, a blank between.
"""

import torch
import torch.nn.functional as F
from torch import nn

REFUSED, TAKEN, LOSSES = [], [], []


def refused(*texts, **options):
    """texts: regular expressions of the error, in order of the lines."""
    return lambda cls: REFUSED.append((cls, texts, options)) or cls


def taken(**options):
    return lambda cls: TAKEN.append((cls, options)) or cls


class Classifier(nn.Module):
    """Tokens, an embedding, two layers, a head; subclasses say what the loss is."""

    inputs = "x:int64:4x16 y:int64:4x16"

    def __init__(self, classes=256):
        super().__init__()
        self.table = nn.Embedding(256, 16)
        self.first, self.second, self.head = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, classes)

    def body(self, x):
        return self.second(F.gelu(self.first(self.table(x))))

    def logits(self, x):
        return self.head(self.body(x)).flatten(0, 1)

    def forward(self, x, y):
        return F.cross_entropy(self.logits(x), y.flatten())


# ---- What must be refused ----


@refused(
    r"the graph computes the loss",
    r"note: values part in cross_entropy\(\) in the model|in Smoothed",
    r"F\.cross_entropy\(",
    r"label_smoothing=0\.1 is not in the graph",
)
class Smoothed(Classifier):
    def forward(self, x, y):
        return F.cross_entropy(self.logits(x), y.flatten(), label_smoothing=0.1)


@refused(r"values part in cross_entropy\(\) in criterion", r"label_smoothing=0\.2 is not in the graph")
class SmoothedModule(Classifier):
    def __init__(self):
        super().__init__()
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.2)

    def forward(self, x, y):
        return self.criterion(self.logits(x), y.flatten())


class BatchNormalized(Classifier):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(16)

    def body(self, x):
        h = super().body(x)
        return self.norm(h.flatten(0, 1)).reshape(h.shape)


@refused(
    r"draws random numbers in forward\(\).*rand.*StochasticDepth.*export_models\.py:\d+: ",
    r"hint: compile the module itself \(zb\.compile"
)
class StochasticDepth(Classifier):
    def body(self, x):
        h = self.table(x)
        keep = (torch.rand(4, 1, 1) > 0.5).float()
        return h + keep * self.second(F.gelu(self.first(h)))


@refused(r"forward\(\) draws numbers from Python's random")
class PythonRandom(Classifier):
    def body(self, x):
        import random

        return super().body(x) * (1.0 if random.random() < 0.5 else 0.5)


@refused(
    r"draws random numbers in forward\(\).*export_models\.py:\d+: ", r"hint: dropout of single elements.*--no-dropout"
)
class ChannelDropout(Classifier):
    def body(self, x):
        return F.dropout1d(super().body(x), 0.3)


@refused(r"draws random numbers in forward\(\)", r"hint: dropout of single elements.*--no-dropout")
class AlphaDropout(Classifier):
    def body(self, x):
        return F.alpha_dropout(super().body(x), 0.3, True)


@refused(r"draws random numbers in forward\(\)", r"hint: dropout of single elements")
class OwnDropout(Classifier):
    def body(self, x):
        h = super().body(x)
        return h * torch.empty_like(h).bernoulli_(0.7)


@refused(r"draws random numbers in forward\(\).*randn_like")
class Noise(Classifier):
    def body(self, x):
        h = super().body(x)
        return h + 0.01 * torch.randn_like(h)


@refused(r"the loss is the same, but not the gradient", r"no gradient passes mean\(\) in MovingAverage")
class MovingAverage(Classifier):
    """The loss reads the new value, and its gradient stops there."""

    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.zeros(16))

    def body(self, x):
        h = super().body(x)
        with torch.no_grad():
            self.average.mul_(0.9).add_(h.mean((0, 1)), alpha=0.1)
        return h - self.average


class StepCounter(Classifier):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x, y):
        self.steps += 1
        return super().forward(x, y) * torch.clamp(self.steps / 100, max=1.0)


@refused(r"forward\(\) changes steps, and with it the loss")
class PythonCounter(Classifier):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x, y):
        self.steps += 1
        return super().forward(x, y) * min(1.0, self.steps / 100)


class LateCounter(Classifier):
    """The second steps of the pipeline differ from the first."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x, y):
        self.steps += 1
        return torch.where(self.steps > 6, 0.1, 1.0) * super().forward(x, y)


@refused(r"forward\(\) changes buffer far, of float64", r"hint: a buffer that forward\(\) changes is float32, int64 or")
class WideBuffer(Classifier):
    def __init__(self):
        super().__init__()
        self.register_buffer("far", torch.zeros((), dtype=torch.float64))

    def forward(self, x, y):
        self.far += 1
        return super().forward(x, y)


@refused(r"forward\(\) changes buffer last, but never reads it")
class Overwritten(Classifier):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(16))

    def body(self, x):
        h = super().body(x)
        with torch.no_grad():
            self.last.copy_(h.mean((0, 1)))
        return h


@refused(r"forward\(\) changes buffer mean, which is not always there")
class LateBuffer(Classifier):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", None)

    def body(self, x):
        h = super().body(x)
        if self.mean is None:
            self.mean = h.detach().mean((0, 1))
        return h


@refused(r"PyTorch cannot export the model")
class CumulativeBatchNorm(Classifier):
    """momentum=None divides by a number that only the run knows."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(16, momentum=None)

    def body(self, x):
        return self.norm(super().body(x).flatten(0, 1)).reshape(x.shape[0], x.shape[1], -1)


@refused(r"forward\(\) keeps 'center', which is computed from its inputs, for later calls")
class Centered(Classifier):
    """A value of the first batch, kept in a plain attribute."""

    def __init__(self):
        super().__init__()
        self.center = None

    def body(self, x):
        h = super().body(x)
        if self.center is None:
            self.center = h.detach().mean((0, 1))
        return h - self.center


@refused(r"forward\(\) changes parameter head\.weight")
class Clamped(Classifier):
    def logits(self, x):
        self.head.weight.data.clamp_(-0.1, 0.1)
        return super().logits(x)


STRAIGHT = r"the loss is the same, but not the gradient of \d+ of \d+ parameters"


@refused(STRAIGHT, r"no gradient passes detach\(\) in the model|StraightThrough", r"\(q - h\)\.detach\(\)")
class StraightThrough(Classifier):
    def body(self, x):
        h = super().body(x)
        q = torch.round(h * 4) / 4
        return h + (q - h).detach()


@refused(STRAIGHT, r"no gradient passes detach\(\)", r"\.detach\(\)")
class Detached(Classifier):
    def forward(self, x, y):
        h = self.body(x)
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten()) + 0.1 * (h * h.detach().square()).mean()


@refused(STRAIGHT, r"no gradient passes abs\(\) in NoGrad \(gradients are off there", r"export_models\.py:\d+: ")
class NoGrad(Classifier):
    def body(self, x):
        h = self.first(self.table(x))
        with torch.no_grad():
            scale = h.abs().amax(-1, keepdim=True)
        return self.second(F.gelu(h / scale))


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 1.0

    @staticmethod
    def backward(context, gradient):
        return -0.5 * gradient


@refused(STRAIGHT, r"the backward of autograd\.Function Reverse is not in the graph")
class OwnBackward(Classifier):
    def body(self, x):
        return Reverse.apply(super().body(x))


@refused(STRAIGHT, r"register_hook\(\)", r"export_models\.py:\d+: ")
class Hooked(Classifier):
    def body(self, x):
        h = super().body(x)
        if h.requires_grad:
            h.register_hook(lambda g: g * 0.1)
        return h


@refused(STRAIGHT, r"no gradient passes detach\(\)", r"self\.table\.weight\.detach\(\)")
class DetachedParameter(Classifier):
    def logits(self, x):
        return (self.body(x) @ self.table.weight.detach().t()).flatten(0, 1)


@refused(
    r"on the inputs that were traced they agree: something computed from their values became a constant",
    r"values part in mul\(\) in Baked",
)
class Baked(Classifier):
    """Nothing tells how large y may be, so that the values that will be traced are tried first: then they are what
    the last run saw."""

    scale = 1.0

    def body(self, x):
        if not torch.compiler.is_exporting():
            Baked.scale = x.float().mean().item() / 128
        return super().body(x) * Baked.scale

    def forward(self, x, y):
        return (self.head(self.body(x)).mean(-1) - y.float() / 256).square().mean()


@refused(r"zbc has no operator for Col2Im \(in fold, ")
class Folding(Classifier):
    def __init__(self):
        super().__init__()
        self.fold = nn.Fold((4, 4), (1, 1))

    def body(self, x):
        return self.fold(super().body(x).transpose(1, 2)).flatten(2).transpose(1, 2)


@refused(r"parameter table\.weight is bfloat16: zbc trains float32", r"hint: model\.float\(\)")
class HalfPrecision(Classifier):
    def __init__(self):
        super().__init__()
        self.bfloat16()


@refused(r"forward\(\) gave a dict with total, logits, and none of them is named 'loss'", r"hint:")
class WrongKeys(Classifier):
    def forward(self, x, y):
        return {"total": super().forward(x, y), "logits": self.logits(x)}


@refused(r"forward\(\) gave a dict with loss, logits, and its 'loss' is None", r"hint:.*labels")
class NoLabels(Classifier):
    inputs = "x:int64:4x16"

    def forward(self, x, labels=None):
        return {"loss": None, "logits": self.logits(x)}


@refused(r"a tuple of 2 with 2 scalars")
class TwoScalars(Classifier):
    def forward(self, x, y):
        loss = super().forward(x, y)
        return loss, loss * 2


@refused(r"--input label: forward\(\) has no parameter of this name", r"hint: its parameters are x, mask, labels")
class WrongName(Classifier):
    inputs = "label:int64:4x16 x:int64:4x16"

    def forward(self, x, mask=None, labels=None):
        return super().forward(x, labels)


# ---- What must be taken ----


@taken()
class Watched(Classifier):
    """A buffer that the loss does not read."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x, y):
        self.seen += 1
        return super().forward(x, y)


class Dropped(Classifier):
    """As a module and as a function, one value twice."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.3)

    def body(self, x):
        h = self.drop(super().body(x))
        return F.dropout(h, 0.2, self.training) + F.dropout(h, 0.2, self.training)


@taken(no_dropout=True)
class WithoutDropout(Dropped):
    pass


class Evaluated(Dropped):
    """eval(): what is no function of its own does nothing."""

    def __init__(self):
        super().__init__()
        self.eval()


class AttentionDropped(Classifier):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, dropout=0.1, batch_first=True)

    def body(self, x):
        h = super().body(x)
        h = h + self.attention(h, h, h, need_weights=False)[0]
        return h + F.scaled_dot_product_attention(h[:, None], h[:, None], h[:, None], dropout_p=0.1)[:, 0]


@taken()
class CheckpointedDropout(Classifier):
    """What is computed again in the backward pass drops the same."""

    def body(self, x):
        from torch.utils.checkpoint import checkpoint

        return checkpoint(self.dropped, x, use_reentrant=False)

    def dropped(self, x):
        return F.dropout(self.second(F.gelu(self.first(self.table(x)))), 0.3)


@taken(no_dropout=True)
class AttentionWithoutDropout(AttentionDropped):
    pass


@taken()
class ByName(Classifier):
    inputs = "labels:int64:4x16 weight:float32:4x16 x:int64:4x16 keep:bool:4x16"

    def forward(self, x, position=None, labels=None, *, keep, weight=None):
        each = F.cross_entropy(self.logits(x), labels.flatten(), reduction="none").reshape(labels.shape)
        return (torch.where(keep, each, 0.5 * each) * weight).mean()


@taken()
class Dictionary(Classifier):
    says = r"note: forward\(\) gives loss, logits: 'loss' is what is trained"

    def forward(self, x, y):
        return {"loss": super().forward(x, y), "logits": self.logits(x)}


@taken()
class LogitsAndLoss(Classifier):
    says = r"note: forward\(\) gives 2 values: the only scalar is what is trained"

    def forward(self, x, y):
        return self.logits(x), super().forward(x, y)


@taken()
class HarmlessDetach(Classifier):
    """Stops what is no gradient anyway."""

    def forward(self, x, y):
        z = self.logits(x)
        weight = (z.detach().amax(-1) > 0.5).float() + 1
        return (F.cross_entropy(z, y.flatten(), reduction="none") * weight).mean()


@taken()
class CachedMask(Classifier):
    """A table that is made once and kept, the same for all inputs."""

    def __init__(self):
        super().__init__()
        self.mask = None

    def body(self, x):
        if self.mask is None:
            self.mask = torch.tril(torch.ones(x.shape[1], x.shape[1]))
        return self.mask @ super().body(x) / x.shape[1]


@taken()
class Checkpointed(Classifier):
    def body(self, x):
        from torch.utils.checkpoint import checkpoint

        return checkpoint(super().body, x, use_reentrant=False)


@taken()
class EvaluatedBatchNorm(BatchNormalized):
    def __init__(self):
        super().__init__()
        self.norm.eval()


@taken()
class FewClasses(Classifier):
    """Labels below 3, which only the loss knows; shifted as Hugging Face does."""

    def __init__(self):
        super().__init__(3)

    def forward(self, x, y):
        y = F.pad(y, (0, 1), value=-100)[:, 1:].contiguous()
        return F.cross_entropy(self.logits(x), y.flatten(), ignore_index=-100)


@taken()
class Frozen(Classifier):
    def __init__(self):
        super().__init__()
        self.table.requires_grad_(False)


@taken()
class Tied(Classifier):
    def __init__(self):
        super().__init__()
        self.head.weight = self.table.weight


@taken()
class ZeroGradients(Classifier):
    """A bias whose gradient is rounding noise, and a kink at the first step: weights of zero before a ReLU."""

    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.first.weight)
        nn.init.zeros_(self.first.bias)

    def body(self, x):
        h = F.relu(self.first(self.table(x)))
        return self.second(F.layer_norm(h + 1e-3 * self.table(x).repeat(1, 1, 2), (32,)))


# ---- Losses and heads to train with ----


def trains(cls):
    """Tokens in: a model of x and y, int64 [4, 16]."""
    LOSSES.append(cls)
    return cls


trains(BatchNormalized)
trains(StepCounter)
trains(LateCounter)


class Regressor(Classifier):
    """Float targets, and features that the loss weighs, out of the tokens, as a file of tokens is all that zb-run
    reads today."""

    def __init__(self, outputs=1):
        super().__init__(outputs)

    def target(self, y):
        return y.to(self.table.weight.dtype) / 256  # of the run in fp64 as well

    def predicted(self, x):
        return self.head(self.body(x)).squeeze(-1)


class Embedder(Regressor):
    """What the loss reads is the body."""

    def __init__(self):
        super().__init__()
        del self.head


@trains
class Bce(Regressor):
    def forward(self, x, y):
        return F.binary_cross_entropy(torch.sigmoid(self.predicted(x)), self.target(y))


@trains
class BceWithLogits(Regressor):
    def forward(self, x, y):
        return F.binary_cross_entropy_with_logits(self.predicted(x), self.target(y))


@trains
class L1(Regressor):
    def forward(self, x, y):
        return F.l1_loss(self.predicted(x), self.target(y))


@trains
class Mse(Regressor):
    def forward(self, x, y):
        return F.mse_loss(self.predicted(x), self.target(y))


@trains
class Huber(Regressor):
    def forward(self, x, y):
        return F.huber_loss(self.predicted(x), self.target(y), delta=0.2)


@trains
class SmoothL1(Regressor):
    def forward(self, x, y):
        return F.smooth_l1_loss(self.predicted(x), self.target(y), beta=0.3)


@trains
class Poisson(Regressor):
    def forward(self, x, y):
        return F.poisson_nll_loss(self.predicted(x), self.target(y))


@trains
class GaussianNll(Regressor):
    def __init__(self):
        super().__init__(2)

    def forward(self, x, y):
        mean, spread = self.head(self.body(x)).unbind(-1)
        variance = F.softplus(spread) + 1e-3
        return 0.5 * (variance.log() + (self.target(y) - mean).square() / variance).mean()


@refused(
    r"PyTorch cannot export the model: GuardOnDataDependent",
    r"F\.gaussian_nll_loss\(",
    r"hint: the model branches on the values of tensors",
)
class OwnGaussianNll(GaussianNll):
    """PyTorch's looks at the variances before it computes."""

    def forward(self, x, y):
        mean, spread = self.head(self.body(x)).unbind(-1)
        return F.gaussian_nll_loss(mean, self.target(y), F.softplus(spread))


@trains
class KlDivergence(Classifier):
    def forward(self, x, y):
        wanted = F.softmax(self.table(y).sum(-1, keepdim=True) * torch.linspace(-1, 1, 256), -1).flatten(0, 1)
        return F.kl_div(F.log_softmax(self.logits(x), -1), wanted, reduction="batchmean")


@trains
class MultiMargin(Classifier):
    """F.multi_margin_loss has no ONNX form; as people write it out."""

    def forward(self, x, y):
        z, y = self.logits(x), y.flatten()
        own = z.gather(1, y[:, None])
        return (F.relu(1 - own + z).sum(1) - 1).mean() / z.shape[1]


@trains
class TripletMargin(Embedder):
    def forward(self, x, y):
        anchor, other = self.body(x).mean(1), self.body(y).mean(1)
        return F.triplet_margin_loss(anchor, other, other.roll(1, 0), margin=0.5)


@trains
class CosineEmbedding(Embedder):
    def forward(self, x, y):
        one, other = self.body(x).flatten(0, 1), self.body(y).flatten(0, 1)
        return F.cosine_embedding_loss(one, other, torch.where(y.flatten() > 100, 1.0, -1.0), margin=0.1)


@trains
class MarginRanking(Regressor):
    def forward(self, x, y):
        return F.margin_ranking_loss(self.predicted(x), self.predicted(y), torch.where(y > x, 1.0, -1.0), margin=0.3)


@trains
class HingeEmbedding(Regressor):
    def forward(self, x, y):
        return F.hinge_embedding_loss(self.predicted(x), torch.where(y > 100, 1.0, -1.0))


@trains
class SoftMargin(Regressor):
    def forward(self, x, y):
        return F.soft_margin_loss(self.predicted(x), torch.where(y > 100, 1.0, -1.0))


@trains
class Pairs(Embedder):
    """Contrastive, as CLIP: rows against rows."""

    def forward(self, x, y):
        one, other = F.normalize(self.body(x).mean(1), dim=-1), F.normalize(self.body(y).mean(1), dim=-1)
        z = one @ other.t() * 5
        return (F.cross_entropy(z, torch.arange(4)) + F.cross_entropy(z.t(), torch.arange(4))) / 2


@trains
class WeightedMasked(Classifier):
    """Token losses, weighted by what is no padding."""

    def forward(self, x, y):
        each = F.cross_entropy(self.logits(x), y.flatten(), reduction="none")
        keep = (y.flatten() > 40).float()
        return (each * keep).sum() / keep.sum().clamp(min=1)


@refused(r"PyTorch cannot export the model", r"F\.ctc_loss\(", r"hint: the shape of a result depends on values")
class Ctc(Classifier):
    def forward(self, x, y):
        log = F.log_softmax(self.head(self.body(x)), -1).transpose(0, 1)
        return F.ctc_loss(log, y[:, :4].clamp(min=1), torch.full((4,), 16), torch.full((4,), 4))


for dropping in (Dropped, Evaluated, AttentionDropped):
    trains(dropping)


class DepthBlock(nn.Module):
    """Reads a mean of all outputs before it, weighted by how they meet its query."""

    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim))
        self.norm = nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, outputs):
        stacked = torch.stack(outputs)
        weights = (F.layer_norm(stacked, stacked.shape[-1:]) * self.query).sum(-1, keepdim=True).softmax(0)
        return self.down(F.gelu(self.up(self.norm((weights * stacked).sum(0)))))


@trains
class AttentionOverDepth(nn.Module):
    """Attention residuals (Kimi Team 2026, arXiv 2603.15031): every stage of a pipeline needs what all stages before it
    made."""

    inputs = "x:int64:4x16 y:int64:4x16"

    def __init__(self, blocks=12, dim=16):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(256, dim)
        self.blocks = nn.ModuleList(DepthBlock(dim) for _ in range(blocks))
        self.head = nn.Linear(dim, 256)

    def forward(self, x, y):
        outputs = [self.embed(x)]
        for block in self.blocks:
            outputs.append(block(outputs))
        return F.cross_entropy(self.head(sum(outputs)).flatten(0, 1), y.flatten())


class Recurrent(nn.Module):
    """A language model of steps: ONNX has one operator for all of them."""

    inputs = "x:int64:4x16 y:int64:4x16"

    def __init__(self, kind, **options):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(256, 12)
        self.steps = kind(12, 16, num_layers=2, batch_first=True, **options)
        self.head = nn.Linear(32 if options.get("bidirectional") else 16, 256)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.steps(self.embed(x))[0]).flatten(0, 1), y.flatten())


@trains
class OfLstm(Recurrent):
    def __init__(self):
        super().__init__(nn.LSTM)


@trains
class OfGru(Recurrent):
    def __init__(self):
        super().__init__(nn.GRU, bidirectional=True)


@trains
class OfRnn(Recurrent):
    def __init__(self):
        super().__init__(nn.RNN, nonlinearity="relu")


@trains
class Resized(Classifier):
    """Resize of three kinds, on activations as images."""

    def forward(self, x, y):
        image = self.body(x)[:, None]
        small = F.interpolate(image, scale_factor=0.5, mode="bilinear")
        large = F.interpolate(small, size=image.shape[2:], mode="bicubic", align_corners=True)
        image = image + large + F.interpolate(small, size=image.shape[2:], mode="nearest")
        return F.cross_entropy(self.head(image[:, 0]).flatten(0, 1), y.flatten())


# ---- Points where formulas bend: zeros, ends, ties ----

# Functions of p and q, each trained beside the model, of what it has no gradient or several of. cdist, cummax, cumprod,
# hypot, fmax, copysign and median have no form in ONNX; which of equal ones topk takes PyTorch does not say.
BENDS = dict(
    relu6=lambda p, q: F.relu6(p),
    hardtanh=lambda p, q: F.hardtanh(p, -0.5, 3.0),
    hardsigmoid=lambda p, q: F.hardsigmoid(p),
    hardswish=lambda p, q: F.hardswish(p),
    hardshrink=lambda p, q: F.hardshrink(p),
    softshrink=lambda p, q: F.softshrink(p),
    threshold=lambda p, q: F.threshold(p, 0.5, 2.0),
    abs=lambda p, q: p.abs(),
    max_dim=lambda p, q: p.max(1).values,
    min_dim=lambda p, q: p.min(0, keepdim=True).values,
    amax=lambda p, q: p.amax(1),
    max_all=lambda p, q: p.max(),
    maximum=torch.maximum,
    minimum=torch.minimum,
    atan2=torch.atan2,
    remainder=lambda p, q: torch.remainder(p, q.abs() + 0.7),
    fmod=lambda p, q: torch.fmod(p, 2.0),
    norm=lambda p, q: p.norm(dim=1),
    norm_3=lambda p, q: torch.linalg.vector_norm(p, 3, dim=1),
    norm_max=lambda p, q: torch.linalg.vector_norm(p, float("inf"), dim=1),
    normalize=lambda p, q: F.normalize(p, dim=1),
    cosine=F.cosine_similarity,
    pairwise=lambda p, q: F.pairwise_distance(p, p.flip(0)),
    std=lambda p, q: p.std(1),
    prod=lambda p, q: p.prod(1),
    logaddexp=torch.logaddexp,
    logsumexp=lambda p, q: p.logsumexp(1),
    softplus=lambda p, q: F.softplus(p),
    sinc=lambda p, q: torch.sinc(p),
    xlogy=lambda p, q: torch.xlogy(p, q.abs() + 1),
    leaky_relu=lambda p, q: F.leaky_relu(p, 0.2),
    prelu=lambda p, q: F.prelu(p, q[0, :1]),
    elu=lambda p, q: F.elu(p),
    max_pool=lambda p, q: F.max_pool1d(p[None], 2),
    smooth_l1=lambda p, q: F.smooth_l1_loss(p, q, reduction="none"),
    huber=lambda p, q: F.huber_loss(p, q, reduction="none"),
    ranking=lambda p, q: F.margin_ranking_loss(p, q, torch.ones(4, 8), reduction="none"),
    clamp=lambda p, q: p.clamp(-1, 1),
    clamp_least=lambda p, q: p.clamp(min=0),
    clamp_most=lambda p, q: p.clamp(max=1),
    clamp_min=lambda p, q: torch.clamp_min(p, 0),
    clamp_max=lambda p, q: torch.clamp_max(p, 1),
    clamp_tensors=lambda p, q: torch.clamp(p, q, q + 1),
    clamp_crossed=lambda p, q: p.clamp(1, -1),
    triplet=lambda p, q: F.triplet_margin_loss(p, q, p.flip(0), reduction="none"),
)


@trains
class Bends(Classifier):
    def __init__(self):
        super().__init__()
        first = torch.tensor([-3, -1, -0.5, 0, 0.5, 1, 3, 6, *[0] * 8, *[1] * 4, *[2] * 4, 6, -6, 3, -3, 0, 0, 1, -1])
        second = torch.tensor([-3, 1, 0.5, 0, -0.5, 1, 3, -6, 0, 0, 0, 0, 1, -1, 0, 0, *[1] * 4, *[2] * 4,
                               0.5, -6, 3, -3, 1, 2, 1, -1])
        self.p, self.q = nn.ParameterDict(), nn.ParameterDict()
        for name in BENDS:
            self.p[name] = nn.Parameter(first.view(4, 8).clone())
            self.q[name] = nn.Parameter(second.view(4, 8).clone())

    def forward(self, x, y):
        loss = super().forward(x, y)
        for name, function in BENDS.items():
            value = function(self.p[name], self.q[name]) + 0 * self.q[name].sum()
            loss = loss + (value * torch.linspace(0.5, 1.5, value.numel()).view(value.shape)).mean()
        return loss
