"""Cases of points.py for the door from Paddle: rows of paddle_ops.def that compute, and compositions as people write
them, at the special points of each formula. make_points_paddle.py records them.

A case is a function of tensors, and these: floats are trained, integers are constants."""
import numpy as np
import paddle
import paddle.nn.functional as F

from points_lists import COMMON, DOWN, I, LEAST, MOST, NAN, PAIRS, ROWS, TINY, UP, Cases, around, pairs


def tensor(x):
    x = np.asarray(x)
    return x.astype("float32" if x.dtype.kind == "f" else "int64")


CASES = Cases(tensor, lambda flags, x: paddle.stack([paddle.cast(flags, x.dtype), x]))
case, unary, flat, binary, rows = CASES.case, CASES.unary, CASES.flat, CASES.binary, CASES.rows


def whole(x, value):
    return paddle.full(x.shape, value, x.dtype)


# ---- One operand ----
for op in ("abs cos cosh exp expm1 erf log log10 log1p log2 reciprocal rsqrt sin sinh sqrt square tan tanh asinh atan"
           .split()):
    unary(op, getattr(paddle, op), 1, -1)
for op in "acos asin atanh".split():
    unary(op, getattr(paddle, op), 1, -1)
unary("acosh", paddle.acosh, 1)
for op in ("celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_sigmoid mish relu relu6 selu "
           "sigmoid silu softplus softshrink softsign swish tanhshrink thresholded_relu".split()):
    unary(op, getattr(F, op), 0.5, -0.5, 1, -1, 3, -3, 6, 20)
unary("gelu_tanh", lambda x: F.gelu(x, True))
unary("celu_alpha", lambda x: F.celu(x, 0.3))
unary("elu_alpha", lambda x: F.elu(x, 0.3))
unary("leaky_relu_slope", lambda x: F.leaky_relu(x, 0.3))
unary("hardtanh_ends", lambda x: F.hardtanh(x, -0.25, 3.0), -0.25, 3)
unary("hardshrink_zero", lambda x: F.hardshrink(x, 0.0))
unary("softshrink_zero", lambda x: F.softshrink(x, 0.0))
unary("hardsigmoid_slope", lambda x: F.hardsigmoid(x, 0.25, 0.5), 2, -2)
unary("softplus_beta", lambda x: F.softplus(x, 2.0, 20.0), 10)
unary("thresholded_relu_2", lambda x: F.thresholded_relu(x, 2.0), 2)
unary("clip", lambda x: paddle.clip(x, -1.0, 2.0), -1, 2)
unary("clip_min", lambda x: paddle.clip(x, min=0.5), 0.5)
unary("clip_max", lambda x: paddle.clip(x, max=0.5), 0.5)
unary("clip_zero", lambda x: paddle.clip(x, min=0.0))
unary("neg", lambda x: -x)
unary("scale", lambda x: paddle.scale(x, 2.0, 0.5))
unary("detach", lambda x: x * x.detach())
for op in "ceil floor round sign isinf isnan".split():
    flat(op, getattr(paddle, op), 1.5, -1.5, 0.5, -0.5, 2**23)
flat("not", lambda x: paddle.logical_not(x > 0))
for e in (0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 1.5, 1 / 3):
    unary(f"pow_{e:.3g}".replace("-", "m").replace(".", "_"), lambda x, e=e: paddle.pow(x, e))
unary("glu", lambda x: F.glu(paddle.stack([x, paddle.flip(x, [0])]), 0))

# ---- Two operands ----
for op in "add subtract multiply divide maximum minimum pow".split():
    binary(op, getattr(paddle, op))
for op in "equal not_equal greater_equal greater_than less_equal less_than".split():
    case(op, lambda x, y, op=op: paddle.stack([paddle.cast(getattr(paddle, op)(x, y), x.dtype), x, y]), *pairs())
binary("where", lambda x, y: paddle.where(x > y, x, y))
binary("where_both", lambda x, y: paddle.where(x > 0, paddle.sqrt(x), y))
binary("masked_fill", lambda x, y: paddle.masked_fill(x, y > 0, -I))
case("lerp", lambda x, y: paddle.lerp(x, y, whole(x, 0.3)), *pairs(PAIRS[:7] + [MOST, I, NAN]))
case("prelu", lambda x, y: F.prelu(paddle.reshape(x, [1, 4, -1]), y), COMMON[:40], [0.0, -0.0, 0.25, -2.0])
binary("add_n", lambda x, y: paddle.add_n([x, y, x]))
unary("max_itself", lambda x: paddle.maximum(x, x))
unary("pow_itself", lambda x: paddle.pow(x, x))

# ---- Reductions ----
for op in "mean sum max min prod logsumexp".split():
    rows(op, lambda x, op=op: getattr(paddle, op)(x, 1))
rows("cumsum", lambda x: paddle.cumsum(x, 1))
rows("mean_all", lambda x: paddle.stack([paddle.mean(row) for row in paddle.unbind(x, 0)]))
rows("max_two", lambda x: paddle.max(paddle.reshape(x, [-1, 2, 2]), [1, 2]))
rows("prod_two", lambda x: paddle.prod(paddle.reshape(x, [-1, 2, 2]), [1, 2]))
rows("topk", lambda x: paddle.topk(x, 2, 1)[0])
rows("topk_least", lambda x: paddle.topk(x, 3, 1, False)[0])
rows("argmax_take", lambda x: paddle.take_along_axis(x, paddle.argmax(x, 1, True), 1))
rows("softmax", lambda x: F.softmax(x, 1))
rows("log_softmax", lambda x: F.log_softmax(x, 1))
FINITE = [row for row in ROWS if all(abs(v) < I for v in row)]
for p in (1.0, 2.0, 3.0, 0.5, I, -I, 0.0):
    name = f"norm_{p:g}".replace("-", "m").replace(".", "_")
    rows(name, lambda x, p=p: paddle.norm(x, p, 1) + (paddle.sum(x, 1) * 0.0 if p == 0 else 0.0), FINITE)
rows("norm_2_special", lambda x: paddle.norm(x, 2, 1))
rows("normalize", lambda x: F.normalize(x, axis=1), FINITE)
rows("cosine", lambda x: F.cosine_similarity(x, paddle.flip(x, [0]), 1), FINITE)
rows("cosine_itself", lambda x: F.cosine_similarity(x, x, 1), FINITE)
rows("var", lambda x: paddle.var(x, 1))
rows("std", lambda x: paddle.std(x, 1))
rows("var_population", lambda x: paddle.var(x, 1, False))
rows("std_population", lambda x: paddle.std(x, 1, False))

# ---- Normalizations, losses ----
rows("layer_norm", lambda x: F.layer_norm(x, [4]), FINITE, ulp=64)
rows("rms", lambda x: x * paddle.rsqrt(paddle.mean(x * x, -1, keepdim=True) + 1e-6), FINITE)
rows("group_norm", lambda x: F.group_norm(paddle.reshape(x, [-1, 2, 2]), 2), [row for row in FINITE if MOST not in row],
     ulp=64)
LABELS = [i % 4 for i in range(len(ROWS))]
case("cross_entropy", lambda x, y: F.cross_entropy(x, y, reduction="none"), ROWS, LABELS)
case("cross_entropy_mean", lambda x, y: F.cross_entropy(x, y).reshape([1]), FINITE[:9],
     [0, 1, -100, 2, 3, 0, -100, 1, 2])
case("nll", lambda x, y: F.nll_loss(F.log_softmax(x, 1), y), FINITE[:6], [0, 1, 2, 3, 0, 1])
T = [0.0, 1.0, 0.5, 0.25]
case("bce_logits", lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach(), reduction="none"), *pairs(COMMON, T))
case("bce", lambda x, y: F.binary_cross_entropy(x, y.detach(), reduction="none"),
     *pairs([0.0, 1.0, 0.5, TINY, DOWN, 1e-12, LEAST], T))
binary("smooth_l1", lambda x, y: F.smooth_l1_loss(x, y.detach(), reduction="none"), PAIRS + around(1, 3), [0.0, 2.0])
binary("mse", lambda x, y: F.mse_loss(x, y, reduction="none"))
binary("l1", lambda x, y: F.l1_loss(x, y, reduction="none"))
case("kl_div", lambda x, y: F.kl_div(x, y.detach(), reduction="none"),
     *pairs([0.0, -1.0, -50.0, -I, 2.0], [0.0, 1.0, 0.3, LEAST]))
case("label_smooth", lambda x: F.label_smooth(x), ROWS)

# ---- As people write them ----
unary("softplus_written", lambda x: paddle.log(1 + paddle.exp(x)))
unary("softplus_careful", lambda x: paddle.maximum(x, whole(x, 0.0)) + paddle.log1p(paddle.exp(-paddle.abs(x))))
unary("sigmoid_written", lambda x: 1 / (1 + paddle.exp(-x)))
unary("silu_written", lambda x: x * F.sigmoid(x))
unary("relu_written", lambda x: paddle.where(x > 0, x, whole(x, 0.0)))
unary("relu_maximum", lambda x: paddle.maximum(x, whole(x, 0.0)))
unary("relu_product", lambda x: x * paddle.cast(x > 0, x.dtype))
unary("relu_squared", lambda x: F.relu(x) ** 2)
unary("leaky_written", lambda x: paddle.maximum(x, 0.1 * x))
unary("hard_tanh_written", lambda x: paddle.minimum(paddle.maximum(x, whole(x, -1.0)), whole(x, 1.0)), 1, -1)
unary("gelu_written", lambda x: 0.5 * x * (1 + paddle.erf(x / 1.4142135623730951)))
unary("tanh_written", lambda x: (paddle.exp(x) - paddle.exp(-x)) / (paddle.exp(x) + paddle.exp(-x)))
unary("mish_written", lambda x: x * paddle.tanh(F.softplus(x)))
unary("safe_sqrt", lambda x: paddle.where(x > 0, paddle.sqrt(paddle.where(x > 0, x, whole(x, 1.0))), whole(x, 0.0)))
unary("unsafe_sqrt", lambda x: paddle.where(x > 0, paddle.sqrt(x), whole(x, 0.0)))
unary("safe_log", lambda x: paddle.log(paddle.clip(x, min=1e-12)), 1e-12)
unary("safe_divide", lambda x: x / (paddle.abs(x) + 1e-8))
unary("log_one_plus_square", lambda x: paddle.log1p(x * x))
unary("huber_written", lambda x: paddle.where(paddle.abs(x) < 1, 0.5 * x * x, paddle.abs(x) - 0.5), 1, -1)
unary("charbonnier", lambda x: paddle.sqrt(x * x + 1e-6))
unary("logcosh", lambda x: x + F.softplus(-2 * x) - 0.6931471805599453)
unary("entropy", lambda x: -x * paddle.log(x))
unary("entropy_eps", lambda x: -x * paddle.log(x + 1e-8))
unary("focal", lambda x: -((1 - F.sigmoid(x)) ** 2) * F.log_sigmoid(x))
unary("sqrt_of_square", lambda x: paddle.sqrt(x * x))
unary("inverse_square", lambda x: 1 / (x * x + 1))
unary("expm1_written", lambda x: paddle.exp(x) - 1)
binary("hypot_written", lambda x, y: paddle.sqrt(x * x + y * y))
binary("safe_ratio", lambda x, y: paddle.where(y != 0, x / paddle.where(y != 0, y, whole(y, 1.0)), whole(x, 0.0)))
binary("logaddexp_written", lambda x, y: paddle.maximum(x, y) + paddle.log1p(paddle.exp(-paddle.abs(x - y))))
binary("logaddexp", paddle.logaddexp)
rows("logsumexp_written", lambda x: paddle.max(x, 1) + paddle.log(paddle.sum(paddle.exp(
    x - paddle.max(x, 1, True)), 1)))
rows("softmax_written", lambda x: paddle.exp(x - paddle.max(x, 1, True)) / paddle.sum(
    paddle.exp(x - paddle.max(x, 1, True)), 1, keepdim=True))
rows("softmax_detached", lambda x: paddle.exp(x - paddle.max(x, 1, True).detach()) / paddle.sum(
    paddle.exp(x - paddle.max(x, 1, True).detach()), 1, keepdim=True))
rows("norm_written", lambda x: paddle.sqrt(paddle.sum(x * x, 1)))
rows("norm_eps", lambda x: paddle.sqrt(paddle.sum(x * x, 1) + 1e-12))
rows("unit_rows", lambda x: x / paddle.norm(x, 2, 1, True), FINITE)
rows("unit_rows_clip", lambda x: x / paddle.clip(paddle.norm(x, 2, 1, True), min=1e-12), FINITE)
rows("standardized", lambda x: (x - paddle.mean(x, 1, True)) / (paddle.std(x, 1, keepdim=True) + 1e-6), FINITE)
rows("masked_softmax", lambda x: F.softmax(paddle.where(x > 0, x, whole(x, -I)), 1))
rows("masked_mean", lambda x: paddle.sum(x * paddle.cast(x > 0, x.dtype), 1) / paddle.clip(
    paddle.sum(paddle.cast(x > 0, x.dtype), 1), min=1.0))
rows("log_of_softmax", lambda x: paddle.log(F.softmax(x, 1)))
rows("geometric_mean", lambda x: paddle.prod(paddle.abs(x), 1) ** 0.25)
rows("dist_rows", lambda x: paddle.norm(x.unsqueeze(1)[:6] - x.unsqueeze(0)[:, :6], 2, -1), FINITE[:9])
rows("swiglu", lambda x: F.silu(x[:, :2]) * x[:, 2:])
rows("min_max_scaled", lambda x: (x - paddle.min(x, 1, True)) / (paddle.max(x, 1, True) - paddle.min(x, 1, True)))
rows("margin", lambda x: F.relu(1 - x[:, 0] + x[:, 1]))

# ---- Pictures ----
# Corners, between pixels, halfway, at and beyond a border, reflected once and more often; and a picture of one column.
PLACES = [[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [-1.5, 0.5], [2.0, 0.25], [-0.3333, 1.0001], [3.7, -4.2]]]
IMAGE, COLUMN = np.linspace(-2, 3, 24).reshape(1, 2, 4, 3), np.linspace(-2, 3, 4).reshape(1, 1, 4, 1)
for mode in ("bilinear", "nearest"):
    for border in ("zeros", "border", "reflection"):
        for aligned in (False, True):
            for name, image in (("grid_sample", IMAGE), ("grid_sample_column", COLUMN)):
                case(f"{name}_{mode}_{border}_{int(aligned)}", lambda x, places, m=mode, b=border, a=aligned:
                     F.grid_sample(x, places, m, b, a), image, [PLACES], ulp=16, least=1.0)
case("grid_sample_volume", lambda x, places: F.grid_sample(x, places), np.linspace(-2, 3, 24).reshape(1, 1, 2, 3, 4),
     [[[[[-0.9, 0.2, 0.4], [0.6, -1.3, 0.1]]]]], ulp=16, least=1.0)
