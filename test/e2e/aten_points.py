"""Gradients at awkward points, for aten.py: ties, bounds, zeros, constant rows, branches that are not taken. Each
row is a function of a trained p, and where p is; PyTorch says what its gradient there is."""
import torch
import torch.nn.functional as F

I = float("inf")
Z, C = torch.zeros(3, 4), torch.ones(3, 4)
M = torch.tensor([[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0], [-1.0, -1.0, 0.0, 3.0]])
B = torch.tensor([[-3.0, 3.0, 0.0, 6.0], [-1.0, 1.0, 0.5, -0.5], [2.0, -2.0, 0.0, 20.0]])
P = torch.tensor([[0.0, 2.0, 3.0, 1.0], [0.0, 0.0, 3.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
Q = torch.tensor([[0.0, 1.0, 0.5, 1.0], [0.0, 0.0, 0.3, 1e-38], [1.0, 1.0, 0.25, 0.9]])
T = torch.tensor([[0.0, 1.0, 0.5, 0.0], [1.0, 0.5, 0.3, 1.0], [0.0, 0.5, 1.0, 1.0]])
K, W = torch.tensor([1, -100, 3]), torch.tensor([1.0, 2.0, 0.5, 3.0])
turn = torch.polar(torch.ones(3, 2), torch.outer(torch.arange(3.0), torch.tensor([1.0, 0.1])))
mask = torch.tensor([[True] * 4, [True, False, True, False], [False] * 4])

S = torch.tensor([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 3.0]])
N = torch.tensor([[0.01, 0.5, 1.0, 1.5], [2.0, 2.9, 3.1, 30.0], [-0.3, -1.7, 0.25, 1e-3]])
places = torch.tensor([[0, 0, 2, 1], [1, 1, 1, 1]])
spelled = torch.tensor([[1, 2, 2], [3, 0, 1]])


def changed(x, place, value):
    """x[place] = value, of a copy."""
    x = x.clone()
    x[place] = value
    return x


def speech(p):
    """Logarithms of probabilities: 6 steps, 2 rows, 4 classes."""
    return torch.stack([p, p.flip(0)]).log_softmax(-1).repeat(1, 2, 1).transpose(0, 1)


def pairs(p):
    """Rows of numbers as complex ones."""
    return torch.view_as_complex(p.reshape(len(p), -1, 2))


POINTS = {
    "norm2": (lambda p:  p.norm(dim=1), Z),
    "norm2all": (lambda p: p.norm(), Z),
    "norm1": (lambda p: torch.linalg.vector_norm(p, 1, dim=1), M),
    "norminf": (lambda p: torch.linalg.vector_norm(p, I, dim=1), M),
    "norm3": (lambda p: torch.linalg.vector_norm(p, 3, dim=1), M),
    "norm3z": (lambda p: torch.linalg.vector_norm(p, 3, dim=1), Z),
    "norm0": (lambda p: torch.linalg.vector_norm(p, 0, dim=1)+p.sum(1), M),
    "norm.5": (lambda p: torch.linalg.vector_norm(p, 0.5, dim=1), P + 1),
    "normalize": (lambda p: F.normalize(p, dim=1), Z),
    "pairwise": (lambda p: F.pairwise_distance(p, p*1), Z),
    "cdist": (lambda p: torch.cdist(p, p), M),
    "std": (lambda p: p.std(1), C),
    "var": (lambda p: p.var(1), C),
    "stdall": (lambda p: p.std(), C),
    "prod1": (lambda p: p.prod(1), P),
    "prodall": (lambda p: p.prod(), P),
    "cumprod": (lambda p: p.cumprod(1), P),
    "sinc": (lambda p: torch.sinc(p), M),
    "lse": (lambda p: p.logsumexp(1), C),
    "lse0": (lambda p: p.logsumexp((0, 1)), B),
    "maxdim": (lambda p: p.max(1).values, M),
    "mindim": (lambda p: p.min(1).values, M),
    "amax": (lambda p: p.amax(1), M),
    "amin": (lambda p: p.amin(1), M),
    "max": (lambda p: p.max(), M),
    "min": (lambda p: p.min(), M),
    "maximum": (lambda p: torch.maximum(p, M.clone()*1.0), M),
    "minimum": (lambda p: torch.minimum(p, p.detach()), M),
    "maxpp": (lambda p: torch.maximum(p, p), M),
    "clampT": (lambda p: p.clamp(C*0, C*2), M),
    "clampTp": (lambda p: C.clamp(p, p+1), M),
    "clamp": (lambda p: p.clamp(-1, 2), B),
    "clampminT": (lambda p: p.clamp(min=C*0), M),
    "hardtanh": (lambda p: F.hardtanh(p), B),
    "relu6": (lambda p: F.relu6(p), B),
    "hardswish": (lambda p: F.hardswish(p), B),
    "hardsigmoid": (lambda p: F.hardsigmoid(p), B),
    "relu": (lambda p: F.relu(p), B),
    "leaky": (lambda p: F.leaky_relu(p), B),
    "elu": (lambda p: F.elu(p), B),
    "celu": (lambda p: F.celu(p), B),
    "selu": (lambda p: F.selu(p), B),
    "softshrink": (lambda p: F.softshrink(p), B),
    "hardshrink": (lambda p: F.hardshrink(p), B),
    "threshold": (lambda p: F.threshold(p, 0.5, 0), B),
    "prelu": (lambda p: F.prelu(B*1, p[:1, 0]), B),
    "softsign": (lambda p: F.softsign(p), B),
    "tanhshrink": (lambda p: F.tanhshrink(p), B),
    "mish": (lambda p: F.mish(p*30), B),
    "softplus": (lambda p: F.softplus(p*10), B),
    "logsig": (lambda p: F.logsigmoid(p*30), B),
    "silu": (lambda p: F.silu(p*30), B),
    "gelu": (lambda p: F.gelu(p*10), B),
    "softmaxinf2": (lambda p: torch.nan_to_num(p.masked_fill(mask, -I).softmax(1)), M),
    "rsqrt": (lambda p: (p+1).rsqrt(), P),
    "pow2": (lambda p: p**2, M),
    "pow3": (lambda p: p**3, M),
    "pow0": (lambda p: p**0, M),
    "pow1": (lambda p: p**1, M),
    "powT": (lambda p: P**p, P + 1),
    "powT2": (lambda p: p**P, P),
    "powneg": (lambda p: p**2.0+(-1.0*p)**3, B),
    "pow0p": (lambda p: 0.0**p, P),
    "abs": (lambda p: p.abs(), M),
    "sign": (lambda p: p*p.sign(), M),
    "xlogy": (lambda p: torch.xlogy(p, p+0.0), P + 1),
    "atan2": (lambda p: torch.atan2(p, M+1)+torch.atan2(P+1, p), M),
    "atan2z": (lambda p: torch.atan2(p, p*0+1), Z),
    "div0": (lambda p: (p/(p+1)), P),
    "huber": (lambda p: F.huber_loss(p, Z, reduction='none'), B),
    "smoothl1": (lambda p: F.smooth_l1_loss(p, Z, reduction='none'), B),
    "l1": (lambda p: F.l1_loss(p, M*1, reduction='none'), M),
    "hinge": (lambda p: F.hinge_embedding_loss(p, torch.sign(B+0.1), reduction='none'), M),
    "margin": (lambda p: F.margin_ranking_loss(p, Z, torch.sign(B+.1), reduction='none'), M),
    "median": (lambda p: p.median(1).values, M),
    "sort": (lambda p: p.sort(1).values*torch.arange(4), M),
    "topk": (lambda p: p.topk(2, 1).values*torch.arange(2), B),
    "maxpool": (lambda p: F.max_pool1d(p[None], 2), M),
    "layernorm": (lambda p: F.layer_norm(p, (4, )), C),
    "groupnorm": (lambda p: F.group_norm(p[None], 3), C),
    "log1p": (lambda p: torch.log1p(p*1e-6), M),
    "expm1": (lambda p: torch.expm1(p*1e-6)*1e4, M),
    "erf": (lambda p: torch.erf(p), Z),
    "asin": (lambda p: torch.asin(p/4), M),
    "logaddexp": (lambda p: torch.logaddexp(p, p.detach()), M),
    "logcumsumexp": (lambda p: p.logcumsumexp(1), M),
    "fmod": (lambda p: torch.fmod(p, 2.0), B),
    "remainder": (lambda p: torch.remainder(p, 2.0), B),
    "fmodp": (lambda p: torch.fmod(B*3, p), P + 1.3),
    "remainderp": (lambda p: torch.remainder(B*3, p) + torch.fmod(p, p.detach()*0.4), P + 1.3),
    "lerp": (lambda p: torch.lerp(p, M, 0.3), M),
    "dist": (lambda p: torch.dist(p, Z), Z),
    "bce": (lambda p: F.binary_cross_entropy(p, T, reduction='none'), Q),
    "bcemean": (lambda p: F.binary_cross_entropy(p, T), Q),
    "bcesum": (lambda p: F.binary_cross_entropy(p, T, weight=T+1, reduction='sum'), Q),
    "lseinf": (lambda p: p.masked_fill(mask, -I).logsumexp(1).exp(), M),
    "lseposinf": (lambda p: p.masked_fill(mask, I).logsumexp(1).clamp(max=5), M),
    "logcumsumexpinf": (lambda p: p.masked_fill(mask, -I).logcumsumexp(1).exp(), M),
    "logcumsumexpfar": (lambda p: (p*200).logcumsumexp(1)/200, B),
    "cummax": (lambda p: p.cummax(1).values, M),
    "cummax0": (lambda p: p.cummax(0).values, B),
    "cummin": (lambda p: p.cummin(1).values, M),
    "cummin0": (lambda p: p.cummin(-2).values, B),
    "multilabel": (lambda p: F.multilabel_margin_loss(p, torch.tensor([[1,0,-1,0],[2,-1,0,0],[3,1,0,-1]])), B),
    "copysign": (lambda p: torch.copysign(p, B), M),
    "ldexp": (lambda p: torch.ldexp(p, torch.tensor([0, 1, 2, 3])), M),
    "addbmm": (lambda p: torch.addbmm(p[:, :3], M[None], p.T[None], beta=2), B),
    "soft": (lambda p: F.cross_entropy(p, T, weight=W, label_smoothing=0.2), B),
    "softtargets": (lambda p: F.cross_entropy(B*1.0, p), T),
    "softrow": (lambda p: F.cross_entropy(p[0], T[0], reduction='sum'), B),
    "softnone": (lambda p: F.cross_entropy(p[None], T[None], label_smoothing=0.2, reduction='none'), B),
    "weight": (lambda p: F.cross_entropy(p, K, weight=W), B),
    "weightsmooth": (lambda p: F.cross_entropy(p, K, weight=W, label_smoothing=0.3), B),
    "weightnone": (lambda p: F.cross_entropy(p[None], torch.tensor([[1, 2, -100, 0]]), weight=W[:3],
                                             label_smoothing=0.3, reduction='none'), B),
    "weightnll": (lambda p: F.nll_loss(p.log_softmax(1), K.abs() % 4, weight=W, ignore_index=0), B),
    "rotary": (lambda p: torch.view_as_real(pairs(p) * turn).flatten(1), B),
    "rotaryback": (lambda p: torch.view_as_real(pairs(p)[None].expand(2, 3, 2) * turn.conj()), B),
    "complexdiv": (lambda p: torch.view_as_real(turn / (pairs(p) + (2 + 9j))).sum(-1), B),
    "complexmul": (lambda p: torch.view_as_real(2.5 * pairs(p) @ turn.mT - p[:, :3] + pairs(p).sum(1, True)), B),
    "complexparts": (lambda p: torch.cat([*torch.cat([pairs(p), turn * p[:, :2]]).split(2), turn[:2]]).real, B),
    "complexexp": (lambda p: (pairs(p / 9) * 1j).exp().imag + torch.polar(p[:, :2].abs(), p[:, 2:] / 9).imag, B),
    "complexabs": (lambda p: pairs(p).abs() + torch.complex(p[:, 0], p[:, 1]).abs()[:, None], M),
    "fft": (lambda p: torch.fft.fft2(p).real + torch.fft.fft(p, dim=0).imag + torch.fft.ifft(turn @ pairs(p).T).real
            .repeat(1, 2)[:, :4], B),
    "rfft": (lambda p: torch.fft.rfft(p, norm="ortho").abs(), B),
    "irfft": (lambda p: torch.fft.irfft(torch.fft.rfft(p, dim=0) * turn[:2].repeat(1, 2), n=3, dim=0), B),
    "irfft2": (lambda p: torch.fft.irfft2(torch.fft.rfft2(p) * 2j + 1, s=(3, 4), norm="forward"), B),
    "stft": (lambda p: torch.stft(p, 4, 2, window=W, return_complex=True).abs().square(), B),
    "maskset": (lambda p: changed(p, M > 0, 0.5) + changed(p * 1, mask, p[1, 2]), B),
    "maskrows": (lambda p: changed(p, M[:, 0] >= 0, p[0].detach() * 2) + changed(p, (slice(None), W > 1), C[:, :1]), B),
    "maskadd": (lambda p: torch.ops.aten.index_put(p, [mask], p[0, :1], True), B),
    "maskset3": (lambda p: changed(p.view(3, 2, 2), mask[:, :2], W[:2]).flatten(1), B),
    "filldiagonal": (lambda p: (p * 2).fill_diagonal_(-1) + torch.diagonal_scatter(p, p[:, 3], 1), B),
    "triangles": (lambda p: p[tuple(torch.tril_indices(3, 4, -1))].sum() + p[tuple(torch.triu_indices(3, 4, 2))], B),
    "putflat": (lambda p: p.put(K.abs() % 12, p[0, :3]) + p.put(places[0], W, True), B),
    "narrowcopy": (lambda p: torch.narrow_copy(p, 1, 1, 2), B),
    "fmax": (lambda p: torch.fmax(p, M) + torch.fmin(p, p.detach()) + torch.fmin(p, torch.tensor(torch.nan)), M),
    "roundto": (lambda p: p * (B.round(decimals=1) + (B * 30).round(decimals=-1)) + p * torch.signbit(-M), M),
    "whole": (lambda p: p * (K.abs() ** 3 + (K << 2) + (K - 7 >> 1))[:, None] + p * K[:, None] ** 0, M),
    "softplusto": (lambda p: F.softplus(p, 2, 1.5) + F.threshold(p, 0.1, -2.0) + F.rrelu(p, training=False), B),
    "adaptivemax": (lambda p: F.adaptive_max_pool2d(p[None], 2) + F.adaptive_max_pool2d(
        p[None], (2, 3), return_indices=True)[1][..., :2] * p[0, 0], M),
    "unpool": (lambda p: F.max_unpool2d(*F.max_pool2d(p[None, :2], 2, return_indices=True), 2) * W, B),
    "lgamma": (lambda p: torch.lgamma(p), N),
    "lgammaedge": (lambda p: torch.lgamma(p), N.abs() + 1e-3),
    "digamma": (lambda p: torch.digamma(p), N),
    "reduceamax": (lambda p: p.scatter_reduce(1, places[:, :3].repeat(2, 1)[:3], p[:, :3] * 1, "amax"), M),
    "reduceamin": (lambda p: p.scatter_reduce(0, places, p[:2] - 5, "amin", include_self=False), M),
    "reduceprod": (lambda p: p.scatter_reduce(0, places, M[:2] + p[1:], "prod"), P),
    "indexreduce": (lambda p: torch.index_reduce(p, 1, places[0], p * 2, "amax"), M),
    "searchrows": (lambda p: p * torch.searchsorted(M[:2].sort(1)[0], M[:2, :1].expand(2, 4), right=True).sum(0), B),
    "det": (lambda p: torch.det(S * p[:, :3]) + torch.det(S.flip(0) * p[:, 1:]), P + 1),
    "detzero": (lambda p: torch.det(C[:, :3]) + p, P),
    "slogdet": (lambda p: torch.linalg.slogdet(S - p[:, :3])[1] + torch.logdet(S + p[:, :1] * p[:, :1].T), P),
    "householder": (lambda p: torch.linalg.householder_product(
        p.T[:, :2].tril(-1), 2 / (1 + p.T[:, :2].tril(-1).square().sum(0))), P),
    "inverse": (lambda p: torch.linalg.inv(torch.stack([S.flip(0), S]) + p[:, :3]), P),
    "solve": (lambda p: torch.linalg.solve(S + p[:, :3], p) + torch.linalg.solve(S, p[:, 0])[:, None], P),
    "solveright": (lambda p: torch.linalg.solve(S + p[:, :3], p.T, left=False), P),
    "cholesky": (lambda p: torch.linalg.cholesky(S + p[:, :3] / 9)
                 + torch.linalg.cholesky(S + p[:, :3] / 9, upper=True), Q),
    "triangular": (lambda p: torch.linalg.solve_triangular(S + p[:, :3], p, upper=False)
                   + torch.linalg.solve_triangular(S + p[:, :3], p.T, upper=True, left=False).T, P),
    "choleskysolve": (lambda p: torch.cholesky_solve(p, (S + p[:, :3]).tril()) + torch.cholesky_inverse(
        (S * p[:, :3]).tril())[:, :1], P + 1),
    "normal": (lambda p: torch.distributions.MultivariateNormal(p[0, :3], S).log_prob(p[:, :3]), M),
    "matrixexp": (lambda p: torch.matrix_exp(p[:, :3]) + torch.matrix_exp(p[:, 1:] * 0), M),
    "ctc": (lambda p: F.ctc_loss(speech(p), spelled, torch.tensor([6, 5]), torch.tensor([3, 1])), B),
    "ctcflat": (lambda p: F.ctc_loss(speech(p), torch.tensor([1, 2, 2, 1]), (6, 4), (3, 1), blank=3,
                                     reduction="sum"), B),
    "ctcnone": (lambda p: F.ctc_loss(speech(p)[:3], spelled, torch.tensor([3, 3]), torch.tensor([3, 0]),
                                     reduction="none", zero_infinity=True), B),
    "ctcone": (lambda p: torch.nn.CTCLoss()(p.log_softmax(1), spelled[0, :2], torch.tensor(3), torch.tensor(2)), B),
    "bcel_w": (lambda p: F.binary_cross_entropy_with_logits(p, (M>0).float(), pos_weight=torch.tensor(2.)), B),
}


class Points(torch.nn.Module):
    def __init__(self, names):
        super().__init__()
        self.names, self.p = names, torch.nn.ParameterList(POINTS[name][1].clone() for name in names)

    def forward(self, x):
        total = x.sum()  # an input of every model
        for name, p in zip(self.names, self.p):
            out = POINTS[name][0](p)
            total = total + (out * torch.linspace(-1, 1.5, out.numel()).view(out.shape)).sum()
        return total
