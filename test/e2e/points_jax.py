"""Cases of points.py for the door from JAX: primitives, functions of jax.nn, jax.numpy and jax.scipy, and compositions
as people and libraries write them, at the special points of each formula. make_points_jax.py records them.

A case is a function of arrays, and these; all are trained."""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from jax.scipy import special

I, NAN = math.inf, math.nan
TINY, LEAST, MOST = 1.1754943508222875e-38, 1.401298464324817e-45, 3.4028234663852886e38
COMMON = [0.0, -0.0, LEAST, -LEAST, 1e-42, -1e-42, TINY, -TINY, 1e-8, -1e-8, 0.3, -0.3, 1.0, -1.0, 2.5, -2.5, 20.0,
          -20.0, 88.0, -88.0, 90.0, -90.0, 110.0, -110.0, 1e30, -1e30, MOST, -MOST, I, -I, NAN]
PAIRS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, 1e-15, 1e30, -1e30, I, -I, NAN]
ROWS = [[0.0] * 4, [-0.0, 0.0, 0.0, -0.0], [1.0] * 4, [1.0, 1.0, 0.0, 0.0], [2.0, 1.0, 2.0, 1.0], [5.0, 0.0, 0.0, 0.0],
        [0.0, 3.0, 0.0, 0.0], [0.0, 3.0, 2.0, -1.0], [0.0, 0.0, 2.0, 3.0], [-1.0, 0.0, 2.0, 3.0], [-I] * 4,
        [-I, 1.0, 2.0, -I], [I, 1.0, 2.0, 3.0], [I, I, 1.0, 2.0], [NAN, 1.0, 2.0, 3.0], [1e30, 1e30, -1e30, 0.0],
        [88.0, 89.0, -88.0, 100.0], [1e-20, 1e-20, 0.0, 1e-30]]
FINITE = [row for row in ROWS if np.isfinite(row).all() and max(map(abs, row)) < 1e10]
CASES, ULPS = {}, {}


def case(name, function, *inputs, ulp=4):
    assert name not in CASES and "__" not in name and "." not in name, name
    CASES[name] = (function, [np.array(x, np.float32) for x in inputs])
    if ulp != 4:
        ULPS[name] = ulp


def unary(name, function, *ends, ulp=4):
    """At ends and their neighbours, too."""
    near = [np.nextafter(np.float32(end), np.float32(way)) for end in ends for way in (-I, end, I)]
    case(name, function, COMMON + [float(x) for x in near], ulp=ulp)


def binary(name, function, ulp=4):
    case(name, function, np.repeat(PAIRS, len(PAIRS)), np.tile(PAIRS, len(PAIRS)), ulp=ulp)


def rows(name, function, at=ROWS, ulp=4):
    case(name, function, at, ulp=ulp)


# ---- One operand ----
for op in ("abs exp exp2 log log1p expm1 tanh logistic sin cos tan asin acos atan sinh cosh asinh acosh atanh sqrt "
           "rsqrt cbrt square erf erfc erf_inv reciprocal").split():
    unary("lax_" + op, getattr(lax, op), 1, -1, 0.5, ulp={"cosh": 8, "tan": 8, "erf_inv": 64}.get(op, 4))
for op in ("relu relu6 sigmoid softplus soft_sign sparse_plus sparse_sigmoid silu log_sigmoid leaky_relu hard_sigmoid "
           "hard_swish hard_tanh elu celu selu gelu mish squareplus").split():
    unary("nn_" + op, getattr(nn, op), 0, 6, 3, -3, 1, -1, ulp={"squareplus": 1024, "gelu": 4096}.get(op, 4))
unary("gelu_erf", lambda x: nn.gelu(x, approximate=False), 0, ulp=256)
for op in "sinc fabs positive negative nan_to_num".split():
    unary("jnp_" + op, getattr(jnp, op), 0, 1, 0.5, ulp=64 if op == "sinc" else 4)
for op in "logit entr log_ndtr ndtr".split():
    unary("special_" + op, getattr(special, op), 0, 1, 0.5, ulp=64 if "ndtr" in op else 4)
unary("special_erfcx", special.erfcx, 0, 1, ulp=1024)
unary("special_si", lambda x: special.sici(x)[0], 0, 1, 4, ulp=64)
unary("log1mexp", nn.log1mexp, 0, 0.6931472, ulp=16)
for power in (2, 3, -1, -2, -3, -4, 0.5, 1.5, 2.0, -0.5):
    unary(f"power_{power}".replace(".", "_").replace("-", "m"), lambda x, power=power: x ** power, 0, 1, ulp=8)

# ---- Two and three operands ----
for op in ("maximum minimum fmax fmin logaddexp logaddexp2 hypot arctan2 power remainder fmod divide multiply subtract "
           "copysign").split():
    binary("jnp_" + op, getattr(jnp, op), ulp=8 if op in ("power", "arctan2") else 4)
for op in "xlogy xlog1py rel_entr kl_div".split():
    binary("special_" + op, getattr(special, op), ulp=16)
case("clamp_arrays", lax.clamp, [0.0, 0.0, 0.0, 2.0, 2.0, 1.0, 1.0, NAN], [0.0, -1.0, 1.0, 1.0, 3.0, 0.0, 2.0, 0.0],
     [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0])
binary("clip_arrays", lambda x, y: jnp.clip(x, -jnp.abs(y), jnp.abs(y)))
binary("where_greater", lambda x, y: jnp.where(x > y, x, y))
binary("where_equal", lambda x, y: jnp.where(x == y, x * y, x + y))
binary("prelu", lambda x, y: jnp.where(x >= 0, x, x * y))
binary("gated", lambda x, y: x * nn.sigmoid(y))

# ---- Pieces, and what is made of them ----
unary("clamp", lambda x: lax.clamp(-1.0, x, 2.0), -1, 2)
unary("clip", lambda x: jnp.clip(x, -1.0, 2.0), -1, 2)
unary("clip_low", lambda x: jnp.clip(x, -1.0), -1, 2)
unary("clip_high", lambda x: jnp.clip(x, max=2.0), -1, 2)
unary("clip_unit", lambda x: jnp.clip(x, 0.0, 1.0), 0, 1)
unary("max_zero", lambda x: jnp.maximum(x, 0.0), 0)
unary("zero_max", lambda x: jnp.maximum(0.0, x), 0)
unary("min_zero", lambda x: jnp.minimum(x, 0.0), 0)
unary("between", lambda x: jnp.minimum(jnp.maximum(x, 0.0), 6.0), 0, 6)
unary("relu_square", lambda x: nn.relu(x) ** 2, 0)
unary("relu_moved", lambda x: nn.relu(2 * x - 1), 0.5)
unary("elu_two", lambda x: nn.elu(x, 2.0), 0)
unary("leaky_turned", lambda x: nn.leaky_relu(x, -0.5), 0)
unary("threshold", lambda x: jnp.where(x > 1.0, x, 0.0), 1)
unary("soft_shrink", lambda x: jnp.sign(x) * jnp.maximum(jnp.abs(x) - 0.5, 0), 0.5, -0.5, 0)
unary("root_where", lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), 0)
unary("root_where_twice", lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0), 0)
unary("log_where", lambda x: jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), x), 0)
unary("softplus_plain", lambda x: jnp.log1p(jnp.exp(x)), 0)
unary("softplus_pieces", lambda x: jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x))), 0)
unary("logaddexp_zero", lambda x: jnp.logaddexp(x, 0.0), 0)
unary("zero_logaddexp", lambda x: jnp.logaddexp(0.0, x), 0)
unary("log_cosh", lambda x: jnp.logaddexp(x, -x) - jnp.log(2.0).astype(x.dtype), 0, ulp=64)
unary("abs_root", lambda x: jnp.sqrt(jnp.abs(x)), 0)
unary("root_eps", lambda x: jnp.sqrt(x * x + 1e-12), 0)
unary("sign_times", lambda x: jnp.sign(x) * x, 0)
unary("smooth_l1", lambda x: jnp.where(jnp.abs(x) < 1, 0.5 * x * x, jnp.abs(x) - 0.5), 0, 1, -1)
unary("huber", lambda x: 0.5 * jnp.minimum(jnp.abs(x), 1.0) ** 2 + jnp.abs(x) - jnp.minimum(jnp.abs(x), 1.0), 1, -1)
unary("interp", lambda x: jnp.interp(x, jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 3.0, 1.0])), 0, 1, 2)
unary("mish_plain", lambda x: x * jnp.tanh(nn.softplus(x)), 0, ulp=64)
unary("silu_plain", lambda x: x / (1 + jnp.exp(-x)), 0, ulp=64)
unary("expm1_plain", lambda x: jnp.exp(x) - 1, 0)
unary("log1p_plain", lambda x: jnp.log(1 + x), 0)
binary("l1", lambda x, y: jnp.abs(x - y))
binary("hinge", lambda x, y: jnp.maximum(0, 1 - x * y))
binary("cross_entropy", lambda x, y: -(y * nn.log_sigmoid(x) + (1 - y) * nn.log_sigmoid(-x)), ulp=64)
binary("cross_entropy_pieces", lambda x, y: jnp.maximum(x, 0) - x * y + jnp.log1p(jnp.exp(-jnp.abs(x))), ulp=64)

# ---- Rows ----
for op in "max min sum mean prod var median ptp".split():
    for axis in (-1, 0):
        rows(f"{op}_{axis % 2}", lambda x, op=op, axis=axis: getattr(jnp, op)(x, axis=axis), ulp=16)
for op in "softmax log_softmax logsumexp standardize".split():
    rows(op, lambda x, op=op: getattr(nn, op)(x, axis=-1), ulp=1 << 22 if op == "standardize" else 64)
MASK = np.array([True, False, True, False])
rows("softmax_where", lambda x: nn.softmax(x, axis=-1, where=MASK), ulp=64)
rows("log_softmax_where", lambda x: nn.log_softmax(x, axis=-1, where=MASK), ulp=64)
rows("logsumexp_where", lambda x: nn.logsumexp(x, axis=-1, where=MASK), ulp=16)
rows("logsumexp_b", lambda x: nn.logsumexp(x, axis=-1, b=jnp.array([1.0, 2.0, 0.0, 1.0])), ulp=64)
rows("softmax_masked", lambda x: nn.softmax(jnp.where(x > 1, -jnp.inf, x), axis=-1), ulp=64)
rows("max_where", lambda x: jnp.max(x, axis=-1, where=MASK, initial=0.0))
rows("max_initial", lambda x: jnp.max(x, axis=-1, initial=1.0))
rows("prod_where", lambda x: jnp.prod(x, axis=-1, where=MASK))
rows("prod_part", lambda x: jnp.prod(x[:, :2], axis=-1) * x[:, 2])
for order in (None, 1, 2, 3, I, -I):
    rows(f"norm_{order}".replace("-", "m"), lambda x, order=order: jnp.linalg.norm(x, ord=order, axis=-1), ulp=64)
rows("normalize_eps", lambda x: x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-6), FINITE, ulp=1 << 22)
rows("normalize_max", lambda x: x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-12), FINITE,
     ulp=1 << 22)


def safe_norm(x, least=1e-6):
    """As optax has it."""
    norm = jnp.linalg.norm(x, axis=-1, keepdims=True)
    x = jnp.where(norm <= least, jnp.ones_like(x), x)
    return jnp.where(jnp.squeeze(norm, -1) <= least, least, jnp.linalg.norm(x, axis=-1))


rows("safe_norm", safe_norm, ulp=16)
rows("cosine", lambda x: x @ jnp.array([1.0, 2.0, 3.0, 4.0]) / jnp.maximum(safe_norm(x) * 5.477, 1e-8), FINITE,
     ulp=1 << 16)
rows("cdist", lambda x: jnp.linalg.norm(x[:, None] - x[None], axis=-1), FINITE, ulp=64)
rows("cdist_eps", lambda x: jnp.sqrt(jnp.sum((x[:, None] - x[None]) ** 2, -1) + 1e-12), FINITE, ulp=64)
rows("layer_norm", lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), FINITE,
     ulp=1 << 22)
rows("rms_norm", lambda x: x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6), FINITE, ulp=1 << 22)
rows("softmax_cross_entropy", lambda x: -jnp.take_along_axis(nn.log_softmax(x, -1), jnp.arange(18)[:, None] % 4, 1),
     ulp=64)
rows("entropy", lambda x: jnp.sum(special.entr(x), -1), ulp=16)
rows("max_abs", lambda x: jnp.max(jnp.abs(x), -1))
rows("glu", lambda x: nn.glu(x, -1))
for op in "nanmean nansum nanmax".split():
    rows(op, lambda x, op=op: getattr(jnp, op)(x, axis=-1))

# ---- Scans, windows, sorts, indices ----
for op in "cumsum cumprod cummax cummin cumlogsumexp".split():
    for turned in (False, True):
        rows(op + "_turned" * turned, lambda x, op=op, turned=turned: getattr(lax, op)(x, axis=1, reverse=turned),
             ulp=64)
WINDOW = ((1, 1), "SAME")
rows("max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 1), "VALID"), FINITE)
rows("max_pool_same", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3), *WINDOW), FINITE)
rows("max_pool_large", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (6, 4), *WINDOW), FINITE)
rows("min_pool", lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 2), (1, 1), "VALID"), FINITE)
rows("sum_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2), *WINDOW), FINITE)
rows("sort", lambda x: jnp.sort(x, -1))
rows("sort_down", lambda x: jnp.sort(x, -1, descending=True))
rows("top_k", lambda x: lax.top_k(x, 2)[0])
rows("quantile", lambda x: jnp.quantile(x, 0.3, axis=-1), ulp=16)
rows("argmax_taken", lambda x: jnp.take_along_axis(x, jnp.argmax(x, -1, keepdims=True), -1))
PLACES = np.array([0, 3, -1, 17, 18, 25, -19, -30], np.int32)
for mode in ("clip", "fill", "wrap"):
    rows("take_" + mode, lambda x, mode=mode: jnp.take(x, PLACES, axis=0, mode=mode))
rows("index", lambda x: x[PLACES])
rows("at_get_fill", lambda x: x.at[PLACES].get(mode="fill", fill_value=0.0))
rows("at_set", lambda x: x.at[jnp.array([0, 1, 25, -25, 0])].set(x[:5] * 2))
rows("at_set_elements", lambda x: x.at[jnp.array([0, 1, 1]), jnp.array([2, 3, 3])].set(x[4, :3]))
rows("at_add", lambda x: x.at[jnp.array([0, 1, 25, -25, 0])].add(x[:5] * 2))
for start in (-3, 0, 2, 30):
    rows(f"slice_{start}".replace("-", "m"), lambda x, start=start: lax.dynamic_slice(x, (start, 1), (3, 2)))
rows("update_slice", lambda x: lax.dynamic_update_slice(x, x[:3, :2] * 2, (17, 3)))
