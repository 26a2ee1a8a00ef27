"""Kinds of modules for drawn_compiles.py, each small: what parameters, buffers and inputs of a program can do to each
other. KINDS[name]() is (module, example inputs). Needs PyTorch; make_drawn.py writes them to test/data/drawn."""
import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

KINDS = {}
WIDTH, ROWS, TOKENS, WORDS = 12, 4, 6, 24


def draw(*shape):
    return torch.randn(*shape)


def words(*shape):
    return torch.randint(0, WORDS, shape)


class Module(nn.Module):
    """Layers by name, and a loss of them and the inputs."""

    def __init__(self, loss, **layers):
        super().__init__()
        self.loss = loss
        for name, layer in layers.items():
            if isinstance(layer, nn.Module):
                self.add_module(name, layer)
            elif isinstance(layer, nn.Parameter):
                self.register_parameter(name, layer)
            else:
                self.register_buffer(name, layer)

    def forward(self, x):
        return self.loss(self, x)


class Pair(Module):
    def forward(self, x, y):
        return self.loss(self, x, y)


def kind(make):
    def build():
        torch.manual_seed(1)
        return make()
    KINDS[make.__name__] = build
    return make


def linear(width=WIDTH, out=None, bias=True):
    return nn.Linear(width, out or width, bias=bias)


def parameter(*shape):
    return nn.Parameter(draw(*shape) / 4)


def mean(x):
    return x.square().mean()


def rows(module):
    return module, {"x": draw(ROWS, WIDTH)}


def tokens(module):
    return module, {"x": draw(2, TOKENS, WIDTH)}


def freeze(module, *names):
    for name, value in module.named_parameters():
        value.requires_grad_(not any(name.startswith(n) for n in names))
    return module


# ---- Plain layers ----

@kind
def mlp():
    return rows(Module(lambda m, x: mean(m.c(torch.tanh(m.b(F.relu(m.a(x)))))), a=linear(out=24), b=linear(24),
                       c=linear(24, 3)))


@kind
def deep():
    return rows(Module(lambda m, x: mean(m.n(x)), n=nn.Sequential(*[nn.Sequential(linear(), nn.GELU())
                                                                   for _ in range(8)])))


@kind
def cross_entropy():
    return Pair(lambda m, x, y: F.cross_entropy(m.b(F.gelu(m.a(x))), y), a=linear(), b=linear(out=7)), {
        "x": draw(ROWS, WIDTH), "y": torch.randint(0, 7, (ROWS,))}


@kind
def cross_entropy_ignored():
    return Pair(lambda m, x, y: F.cross_entropy(m.b(F.gelu(m.a(x))), y, ignore_index=2), a=linear(), b=linear(out=7)), {
        "x": draw(ROWS, WIDTH), "y": torch.randint(0, 7, (ROWS,))}


@kind
def conv():
    return Module(lambda m, x: mean(m.f(F.relu(m.b(F.relu(m.a(x)))).flatten(1))), a=nn.Conv2d(3, 6, 3, padding=1),
                  b=nn.Conv2d(6, 6, 3, stride=2), f=nn.Linear(24, 5)), {"x": draw(2, 3, 6, 6)}


@kind
def depthwise():
    return Module(lambda m, x: mean(m.p(F.silu(m.d(x)))), d=nn.Conv1d(WIDTH, WIDTH, 3, padding=1, groups=WIDTH),
                  p=nn.Conv1d(WIDTH, 6, 1)), {"x": draw(2, WIDTH, TOKENS)}


@kind
def transposed_conv():
    return Module(lambda m, x: mean(m.b(torch.tanh(m.a(x)))), a=nn.ConvTranspose1d(4, 6, 3, stride=2),
                  b=nn.Conv1d(6, 4, 3)), {"x": draw(2, 4, TOKENS)}


@kind
def batch_norm():
    return Module(lambda m, x: mean(m.c(F.relu(m.m(m.b(F.relu(m.n(m.a(x)))))))), a=linear(), n=nn.BatchNorm1d(WIDTH),
                  b=linear(), m=nn.BatchNorm1d(WIDTH), c=linear()), {"x": draw(8, WIDTH)}


@kind
def group_norm():
    return Module(lambda m, x: mean(m.b(m.n(m.a(x)))), a=nn.Conv1d(3, WIDTH, 3), n=nn.GroupNorm(3, WIDTH),
                  b=nn.Conv1d(WIDTH, 2, 1)), {"x": draw(2, 3, TOKENS)}


@kind
def layer_norm():
    return tokens(Module(lambda m, x: mean(m.b(m.n(m.a(x) + x))), a=linear(), n=nn.LayerNorm(WIDTH), b=linear()))


@kind
def rms_norm():
    return tokens(Module(lambda m, x: mean(m.b(F.silu(m.g(m.n(x))) * m.a(m.n(x)))), a=linear(bias=False),
                         g=linear(bias=False), n=nn.RMSNorm(WIDTH), b=linear(bias=False)))


@kind
def dropout():
    return tokens(Module(lambda m, x: mean(m.b(F.dropout(F.gelu(m.a(F.dropout(x, 0.1, True))), 0.2, True))),
                         a=linear(out=24), b=linear(24)))


# ---- Recurrent layers ----

def recurrent(make, *shape, state=None):
    def loss(m, x):
        return mean(m.h(m.r(x)[0]))
    return Module(loss, r=make, h=linear(shape[-1])), {"x": draw(3, 2, 6)}


@kind
def lstm():
    return recurrent(nn.LSTM(6, WIDTH), WIDTH)


@kind
def lstm_bidirectional():
    return recurrent(nn.LSTM(6, 6, bidirectional=True, num_layers=2), 12)


@kind
def lstm_projected():
    return recurrent(nn.LSTM(6, WIDTH, proj_size=6), 6)


@kind
def gru():
    return recurrent(nn.GRU(6, WIDTH, num_layers=2), WIDTH)


@kind
def gru_three():
    return recurrent(nn.GRU(6, 3, bias=False, bidirectional=True, batch_first=True), 6)


@kind
def rnn():
    return recurrent(nn.RNN(6, WIDTH), WIDTH)


@kind
def rnn_bidirectional():
    return recurrent(nn.RNN(6, 9, bidirectional=True, nonlinearity="relu"), 18)


@kind
def cell():
    def loss(m, x):
        h = torch.zeros(ROWS, WIDTH)
        for _ in range(4):
            h = m.c(x, h)
        return mean(m.h(h))
    return rows(Module(loss, c=nn.GRUCell(WIDTH, WIDTH), h=linear()))


# ---- Attention ----

@kind
def encoder():
    layer = nn.TransformerEncoderLayer(WIDTH, 3, 24, dropout=0.0, batch_first=True)
    return tokens(Module(lambda m, x: mean(m.e(x)), e=nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)))


@kind
def decoder():
    layer = nn.TransformerDecoderLayer(WIDTH, 2, 24, dropout=0.0, batch_first=True, norm_first=True)
    return Pair(lambda m, x, y: mean(m.d(m.a(x), y)), a=linear(), d=nn.TransformerDecoder(layer, 2)), {
        "x": draw(2, TOKENS, WIDTH), "y": draw(2, 4, WIDTH)}


class Attention(nn.Module):
    def __init__(self, heads, groups, size=4):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, size
        self.q, self.o = linear(WIDTH, heads * size), linear(heads * size, WIDTH)
        self.k, self.v = linear(WIDTH, groups * size), linear(WIDTH, groups * size)

    def forward(self, x):
        q, k, v = (f(x).view(x.shape[0], x.shape[1], -1, self.size).transpose(1, 2) for f in (self.q, self.k, self.v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.groups)
        return self.o(out.transpose(1, 2).flatten(2))


@kind
def attention():
    return tokens(Module(lambda m, x: mean(x + m.a(m.n(x))), a=Attention(3, 3), n=nn.LayerNorm(WIDTH)))


@kind
def grouped_attention():
    return tokens(Module(lambda m, x: mean(m.b(x + m.a(x))), a=Attention(6, 2), b=Attention(4, 1)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.a, self.m = nn.LayerNorm(WIDTH), Attention(3, 3), nn.LayerNorm(WIDTH)
        self.up, self.down = linear(out=24), linear(24, WIDTH)

    def forward(self, x):
        x = x + self.a(self.n(x))
        return x + self.down(F.gelu(self.up(self.m(x))))


def language(tied=True, layers=4, **more):
    embedding = nn.Embedding(WORDS, WIDTH)
    head = linear(out=WORDS, bias=False)
    if tied:
        head.weight = embedding.weight

    def loss(m, x, y):
        h = m.e(x)
        for layer in m.layers:
            h = layer(h)
        return F.cross_entropy(m.h(h).flatten(0, 1), y.flatten())
    module = Pair(loss, e=embedding, layers=nn.ModuleList([Block() for _ in range(layers)]), h=head, **more)
    return module, {"x": words(2, TOKENS), "y": words(2, TOKENS)}


@kind
def language_tied():
    return language()


@kind
def language_apart():
    return language(tied=False, layers=2)


@kind
def albert():
    block = Block()
    module, inputs = language(layers=1)
    module.layers = nn.ModuleList([block] * 4)
    return module, inputs


@kind
def experts():
    def loss(m, x):
        gate = torch.softmax(m.g(x), -1)
        return mean(x + torch.stack([gate[..., i:i + 1] * e(x) for i, e in enumerate(m.e)]).sum(0))
    return tokens(Module(loss, g=linear(out=3), e=nn.ModuleList([
        nn.Sequential(linear(out=8), nn.GELU(), linear(8, WIDTH)) for _ in range(3)])))


# ---- Weights that are made of others ----

@kind
def spectral_norm():
    return rows(Module(lambda m, x: mean(m.b(F.relu(m.a(x)))), a=parametrizations.spectral_norm(linear()),
                       b=parametrizations.spectral_norm(linear())))


@kind
def spectral_conv():
    return Module(lambda m, x: mean(m.b(F.relu(m.a(x)))), a=parametrizations.spectral_norm(nn.Conv1d(4, 6, 3)),
                  b=nn.Conv1d(6, 2, 1)), {"x": draw(2, 4, TOKENS)}


@kind
def weight_norm():
    return rows(Module(lambda m, x: mean(m.b(F.relu(m.a(x)))), a=parametrizations.weight_norm(linear()),
                       b=parametrizations.weight_norm(linear())))


@kind
def orthogonal():
    return rows(Module(lambda m, x: mean(m.b(F.relu(m.a(x)))),
                       a=parametrizations.orthogonal(linear(WIDTH, 6), orthogonal_map="cayley"),
                       b=linear(6, WIDTH)))


@kind
def orthogonal_exponential():
    return rows(Module(lambda m, x: mean(m.b(F.relu(m.a(x)))),
                       a=parametrizations.orthogonal(linear(), orthogonal_map="matrix_exp"), b=linear()))


@kind
def centered():
    def loss(m, x):
        w = m.a.weight - m.a.weight.mean(1, keepdim=True)
        return mean(m.b(F.linear(F.relu(F.linear(x, w)), w)))
    return rows(Module(loss, a=linear(), b=linear()))


@kind
def low_rank():
    def loss(m, x):
        for i in range(3):
            x = torch.tanh(m.base[i](x) + F.linear(F.linear(x, m.down[i].weight), m.up[i].weight))
        return mean(x)
    module = Module(loss, base=nn.ModuleList([linear() for _ in range(3)]),
                    down=nn.ModuleList([linear(out=2, bias=False) for _ in range(3)]),
                    up=nn.ModuleList([linear(2, WIDTH, bias=False) for _ in range(3)]))
    return rows(freeze(module, "base"))


# ---- Who reads a weight, and where ----

@kind
def tied():
    return rows(Module(lambda m, x: mean(torch.tanh(torch.tanh(x @ m.w) @ m.v) @ m.w.T), w=parameter(WIDTH, WIDTH),
                       v=parameter(WIDTH, WIDTH)))


@kind
def tied_three():
    return rows(Module(lambda m, x: mean(torch.tanh(torch.tanh(m.a(torch.tanh(x @ m.w)) @ m.w) @ m.w)),
                       w=parameter(WIDTH, WIDTH), a=linear()))


@kind
def shared_layer():
    def loss(m, x):
        for _ in range(6):
            x = torch.tanh(m.a(x))
        return mean(m.b(x))
    return rows(Module(loss, a=linear(), b=linear()))


@kind
def detached_tied():
    return rows(Module(lambda m, x: mean(torch.tanh(torch.tanh(x @ m.w.detach()) @ m.v) @ m.w),
                       w=parameter(WIDTH, WIDTH), v=parameter(WIDTH, WIDTH)))


@kind
def detached_late():
    return rows(Module(lambda m, x: mean(torch.tanh(torch.tanh(torch.tanh(x @ m.w) @ m.v) @ m.v) @ m.w.detach()),
                       w=parameter(WIDTH, WIDTH), v=parameter(WIDTH, WIDTH)))


@kind
def detached_both():
    def loss(m, x):
        h = torch.tanh(x @ m.w.detach())
        h = torch.tanh(torch.tanh(h @ m.w) @ m.v)
        return mean(torch.tanh(h @ m.w) @ m.w.detach())
    return rows(Module(loss, w=parameter(WIDTH, WIDTH), v=parameter(WIDTH, WIDTH)))


@kind
def self_distillation():
    def loss(m, x):
        with torch.no_grad():
            teacher = torch.softmax(m.c(F.relu(m.b(F.relu(m.a(x))))), -1)
        noisy = x + 0.1
        student = torch.log_softmax(m.c(F.relu(m.b(F.relu(m.a(noisy))))), -1)
        return F.kl_div(student, teacher, reduction="batchmean")
    return rows(Module(loss, a=linear(), b=linear(), c=linear(out=6)))


@kind
def simsiam():
    def loss(m, x, y):
        def encode(v):
            return m.b(F.relu(m.a(v)))
        p, q = encode(x), encode(y)
        return -(F.cosine_similarity(m.p(p), q.detach()).mean() + F.cosine_similarity(m.p(q), p.detach()).mean()) / 2
    return Pair(loss, a=linear(), b=linear(), p=linear()), {"x": draw(ROWS, WIDTH), "y": draw(ROWS, WIDTH)}


@kind
def comparison():
    def loss(m, x):
        keep = (m.w > 0).to(x.dtype)
        return mean(torch.tanh(m.a(torch.tanh(x @ m.w))) @ m.v * keep[0])
    return rows(Module(loss, w=parameter(WIDTH, WIDTH), a=linear(), v=parameter(WIDTH, WIDTH)))


@kind
def weight_mask():
    def loss(m, x):
        mask = (m.a.weight.abs() > m.a.weight.abs().mean()).to(x.dtype)
        return mean(m.c(torch.tanh(m.b(torch.tanh(F.linear(x, m.a.weight * mask, m.a.bias))))) * mask[0])
    return rows(Module(loss, a=linear(), b=linear(), c=linear()))


@kind
def compared_only():
    return rows(Module(lambda m, x: mean(m.b(torch.tanh(m.a(x)))) * (m.s.sum() > 0), a=linear(), b=linear(),
                       s=parameter(3)))


@kind
def sign_of_late():
    return rows(Module(lambda m, x: mean(m.b(torch.tanh(m.a(x * torch.sign(m.b.weight.detach()[0]))))), a=linear(),
                       b=linear()))


@kind
def weight_penalty():
    def loss(m, x):
        y = mean(m.c(torch.tanh(m.b(torch.tanh(m.a(x))))))
        return y + 0.01 * sum(p.square().sum() for p in m.parameters())
    return rows(Module(loss, a=linear(), b=linear(), c=linear()))


@kind
def norm_penalty():
    def loss(m, x):
        y = mean(m.b(torch.tanh(m.a(x))))
        return y + 0.1 * m.a.weight.norm() + 0.1 * m.b.weight.abs().max()
    return rows(Module(loss, a=linear(), b=linear()))


@kind
def straight_through():
    def loss(m, x):
        def rounded(w):
            scale = w.detach().abs().mean()
            return w + (torch.sign(w) * scale - w).detach()
        return mean(F.linear(torch.tanh(F.linear(x, rounded(m.a.weight))), rounded(m.b.weight)))
    return rows(Module(loss, a=linear(), b=linear()))


@kind
def three_stages():
    return rows(Module(lambda m, x: mean((m.c(torch.tanh(m.b(torch.tanh(m.a(x * m.g)) * m.g)) * m.g) * m.g)),
                       a=linear(), b=linear(), c=linear(), g=parameter(WIDTH)))


@kind
def scalar():
    return rows(Module(lambda m, x: mean(m.b(torch.tanh(m.a(x) * m.s)) * m.s) * m.t, a=linear(), b=linear(),
                       s=nn.Parameter(torch.tensor(0.5)), t=nn.Parameter(torch.tensor(2.0))))


@kind
def weighted_losses():
    def loss(m, x):
        h = torch.tanh(m.a(x))
        return (torch.exp(-m.s) * mean(h) + m.s[0] + torch.exp(-m.t) * mean(m.b(h)) + m.t[0]).sum()
    return rows(Module(loss, a=linear(), b=linear(), s=parameter(1), t=parameter(1)))


@kind
def contrastive():
    return Pair(lambda m, x, y: F.cross_entropy(F.normalize(m.a(x)) @ F.normalize(m.b(y)).T * m.t.exp(),
                                                torch.arange(ROWS)), a=linear(), b=linear(), t=parameter(1)), {
        "x": draw(ROWS, WIDTH), "y": draw(ROWS, WIDTH)}


# ---- Frozen, unused, empty ----

@kind
def frozen_first():
    return rows(freeze(Module(lambda m, x: mean(m.c(torch.tanh(m.b(torch.tanh(m.a(x)))))), a=linear(), b=linear(),
                              c=linear()), "a"))


@kind
def frozen_middle():
    return rows(freeze(Module(lambda m, x: mean(m.d(torch.tanh(m.c(torch.tanh(m.b(torch.tanh(m.a(x)))))))), a=linear(),
                              b=linear(), c=linear(), d=linear()), "b", "c"))


@kind
def frozen_tied():
    return rows(freeze(Module(lambda m, x: mean(torch.tanh(m.a(torch.tanh(x @ m.w))) @ m.w), w=parameter(WIDTH, WIDTH),
                              a=linear()), "w"))


@kind
def unused():
    return rows(Module(lambda m, x: mean(m.b(torch.tanh(m.a(x)))), a=linear(), b=linear(), u=linear()))


@kind
def detached_only():
    return rows(Module(lambda m, x: mean(m.b(torch.tanh(m.a(x)) * m.u.detach()) * m.u.detach()), a=linear(), b=linear(),
                       u=parameter(WIDTH)))


@kind
def empty():
    return rows(Module(lambda m, x: mean(m.b(torch.tanh(m.a(x)))) + m.z(x).sum(), a=linear(), b=linear(),
                       z=nn.Linear(WIDTH, 0)))


@kind
def empty_tied():
    return rows(Module(lambda m, x: (x @ m.z).sum() + mean(m.b(torch.tanh(m.a(x)))) + (x @ m.z).square().sum(),
                       a=linear(), b=linear(), z=nn.Parameter(torch.zeros(WIDTH, 0))))


@kind
def one_element():
    return Module(lambda m, x: mean(m.b(torch.tanh(m.a(x)))), a=linear(1), b=linear(1)), {"x": draw(ROWS, 1)}


# ---- Buffers ----

class Average(Module):
    """A buffer that follows a weight."""

    def forward(self, x):
        with torch.no_grad():
            self.average.mul_(0.9).add_(self.a.weight * 0.1)
        return self.loss(self, x)


@kind
def weight_average():
    return rows(Average(lambda m, x: mean(m.c(torch.tanh(m.b(torch.tanh(m.a(x)))))), a=linear(), b=linear(), c=linear(),
                        average=torch.zeros(WIDTH, WIDTH)))


@kind
def average_teacher():
    def loss(m, x):
        return (m.b(torch.tanh(m.a(x))) - torch.tanh(F.linear(x, m.average))).square().mean()
    return rows(Average(loss, a=linear(), b=linear(), average=torch.zeros(WIDTH, WIDTH)))


class Counted(Module):
    def forward(self, x):
        self.seen.add_(x.square().mean(0).detach())
        return self.loss(self, x)


@kind
def running_scale():
    return rows(Counted(lambda m, x: mean(m.b(torch.tanh(m.a(x / (1 + m.seen))))), a=linear(), b=linear(),
                        seen=torch.zeros(WIDTH)))


class Copied(Module):
    def forward(self, x):
        self.last.copy_(self.b.weight.detach())
        return self.loss(self, x)


@kind
def weight_copied():
    return rows(Copied(lambda m, x: mean(m.b(torch.tanh(m.a(x)))), a=linear(), b=linear(),
                       last=torch.zeros(WIDTH, WIDTH)))


# ---- Shapes of the dataflow ----

@kind
def skips():
    def loss(m, x):
        kept = []
        for layer in m.n:
            x = torch.tanh(layer(x)) + (kept[-3] if len(kept) > 2 else x)
            kept.append(x)
        return mean(x + kept[0] + kept[1])
    return rows(Module(loss, n=nn.ModuleList([linear() for _ in range(8)])))


@kind
def late_input():
    return Pair(lambda m, x, y: mean(m.c(torch.tanh(m.b(torch.tanh(m.a(x)))) * y) - y), a=linear(), b=linear(),
                c=linear()), {"x": draw(ROWS, WIDTH), "y": draw(ROWS, WIDTH)}


@kind
def integers():
    return Pair(lambda m, x, y: mean(m.b(torch.tanh(m.a(m.e(x).sum(1)))) * m.f(y)), e=nn.Embedding(WORDS, WIDTH),
                f=nn.Embedding(5, WIDTH), a=linear(), b=linear()), {
        "x": words(ROWS, 3), "y": torch.randint(0, 5, (ROWS,))}


@kind
def two_branches():
    return rows(Module(lambda m, x: mean(m.d(m.b(torch.tanh(m.a(x))) * torch.sigmoid(m.c(x)))), a=linear(), b=linear(),
                       c=linear(), d=linear()))


@kind
def several_losses():
    def loss(m, x):
        a = torch.tanh(m.a(x))
        b = torch.tanh(m.b(a))
        return mean(m.h(a)) + mean(m.i(b)) + mean(m.c(b))
    return rows(Module(loss, a=linear(), b=linear(), c=linear(), h=linear(), i=linear()))


@kind
def stopped_gradient():
    return rows(Module(lambda m, x: mean(m.c(torch.tanh(m.b(torch.tanh(m.a(x).detach())))) + m.a(x)), a=linear(),
                       b=linear(), c=linear()))


class Outputs(Module):
    """The loss, and what zbc --keep-output can hand out."""

    def forward(self, x):
        h = torch.tanh(self.a(x))
        y = self.b(h)
        return mean(y), torch.softmax(y, -1), h * self.a.weight[0], y @ self.b.weight.detach()


@kind
def outputs():
    return rows(Outputs(None, a=linear(), b=linear()))


@kind
def early_exit():
    def loss(m, x):
        total = 0
        for i, layer in enumerate(m.n):
            x = torch.tanh(layer(x))
            total = total + (i + 1) * mean(m.h(x))
        return total
    return rows(Module(loss, n=nn.ModuleList([linear() for _ in range(5)]), h=linear(out=4)))


@kind
def distilled_copy():
    module = Module(None, a=linear(), b=linear())
    teacher = freeze(copy.deepcopy(module), "a", "b")
    module.add_module("t", teacher)
    module.loss = lambda m, x: (m.b(torch.tanh(m.a(x))) - m.t.b(torch.tanh(m.t.a(x + 1)))).square().mean()
    return rows(module)
