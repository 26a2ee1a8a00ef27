"""Functions whose plain forms lose the digits of small arguments, or run over at large ones: where careful.py looks,
and what is right there, computed in double by formulas that lose nothing. make_careful.py records them. Rows that are
_far lie many deviations from 0: a formula of StableHLO says each rounding of their mean, an operator does not."""
import math
import struct


def narrow(x):
    """The nearest f32, as a double."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def scaled(rows, scales, shifts=(0.0,)):
    """Rows times each scale, beside each multiple of it."""
    return [[narrow(scale * (x + shift)) for x in row] for row in rows for scale in scales for shift in shifts]


def sizes(least, most):
    """Of both signs, two of every third power of 2."""
    return [narrow(sign * part * 2.0**k) for k in range(least, most, 3) for part in (1.0, 1.37) for sign in (1, -1)]


LINE = [narrow(k / 4 + 0.01) for k in range(-80, 81)]
ROWS = [[1.0, 2.0, 4.0, 8.5, -3.0], [0.25, -0.5, 3.0, 1.5, -7.0], [5.0, -1.0, 0.125, 2.5, 9.0]]
SCALES = [1e-17, 1e-10, 1e-5, 0.01, 1.0, 300.0, 1e7, 1e15]  # whose squares f32 holds
FAR = [50.0, -1000.0]
EPSILON = 1e-5
QUARTER = 0.25


# ---- What is right ----

def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def gelu(x):
    return 0.5 * x * math.erfc(-x / math.sqrt(2))


def gelu_tanh(x):
    turned = -2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x / (1 + math.exp(turned)) if turned < 700 else 0.0


def logsumexp(row):
    return max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row))


def mean(row):
    return math.fsum(row) / len(row)


def squares(row):
    """Of what lies beside the mean, which is taken off twice."""
    beside = centered(row)
    return math.fsum(x * x for x in beside)


def centered(row):
    middle = mean(row)
    rest = mean([x - middle for x in row])
    return [x - middle - rest for x in row]


def variance(row, freedom=1):
    return squares(row) / (len(row) - freedom)


def std(row):
    return math.sqrt(variance(row))


def layer_norm(row):
    factor = 1 / math.sqrt(variance(row, 0) + EPSILON)
    return [x * factor for x in centered(row)]


def rms_norm(row):
    factor = 1 / math.sqrt(math.fsum(x * x for x in row) / len(row) + EPSILON)
    return [x * factor for x in row]


def norm(row):
    return math.sqrt(math.fsum(x * x for x in row))


def quantile(row):
    place = QUARTER * (len(row) - 1)
    low, ordered = math.floor(place), sorted(row)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(row) - 1)] - ordered[low])


def median(row):
    return sorted(row)[len(row) // 2]


# Name: (where, what is right). Of a list of rows a function of a row.
ELEMENTS = {
    "log1p": (sizes(-149, 128), math.log1p),
    "expm1": (sizes(-149, 6), math.expm1),
    "softplus": (sizes(-149, 128) + LINE, softplus),
    "gelu": (sizes(-140, 100) + LINE, gelu),
    "gelu_tanh": (sizes(-140, 40) + LINE, gelu_tanh),
}
ELEMENTS["log1p"] = ([x for x in ELEMENTS["log1p"][0] if x > -1] + [-0.999, narrow(-1 + 2.0**-20)], math.log1p)
NEAR_AND_FAR = scaled(ROWS, SCALES, (0.0, *FAR))
ROWS_OF = {
    "logsumexp": (scaled(ROWS, [1e-30, 1e-8, 1e-3, 1.0, 20.0, 1e4, 1e20, 1e37], (0.0, 3.0)), logsumexp),
    "variance": (NEAR_AND_FAR, variance),
    "std": (NEAR_AND_FAR, std),
    "norm": (scaled(ROWS, SCALES), norm),
    "rms_norm": (NEAR_AND_FAR, rms_norm),
    **{name + end: (scaled(ROWS, SCALES, shifts), layer_norm) for name in ("layer_norm", "group_norm", "batch_norm")
       for end, shifts in (("", (0.0,)), ("_far", FAR))},
    "quantile": ([row[:4] for row in scaled(ROWS, [1e-30, 1e-8, 0.01, 1.0, 40.0, 1e5, 1e20, 1e37], (0.0, 3.0))],
                 quantile),
    "median": (scaled(ROWS, [1e-30, 1e-8, 1.0, 1e5, 1e37]), median),
}
CASES = ELEMENTS | ROWS_OF


def is_normed(name):
    return "_norm" in name
