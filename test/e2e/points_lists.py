"""Special points that the cases of doors have in common, and what cases are made of."""
import math
import struct

I, NAN = math.inf, math.nan
TINY, LEAST, MOST = 1.1754943508222875e-38, 1.401298464324817e-45, 3.4028234663852886e38
UP, DOWN = 1 + 2**-23, 1 - 2**-24  # neighbours of 1
# Zeros, denormal numbers, the smallest normal one, around 1, where exponentials run over, the greatest, infinities.
COMMON = [0.0, -0.0, LEAST, -LEAST, TINY, -TINY, 1e-20, -1e-20, 1e-8, -1e-8, 1e-4, -1e-4, 0.5, -0.5, DOWN, -DOWN, 1.0,
          -1.0, UP, -UP, 2.5, -2.5, 10.0, -10.0, 17.0, -17.0, 20.5, -20.5, 88.0, -88.0, 89.5, -89.5, 104.5, -104.5,
          1e4, -1e4, 1e20, -1e20, MOST, -MOST, I, -I, NAN]
PAIRS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 0.5, LEAST, -TINY, MOST, -MOST, I, -I, NAN]
ROWS = [[0.0] * 4, [-0.0, 0.0, -0.0, -0.0], [1.0] * 4, [3.0] * 4, [-0.1] * 4, [0.0, 0.0, 1.0, 1.0],
        [2.0, 2.0, -1.0, 2.0], [-1.0, -1.0, 0.0, 3.0], [3.0, -4.0, 3.0, -4.0], [0.0, 2.0, 3.0, 1.0],
        [0.0, 0.0, 3.0, 1.0], [5.0, -0.0, 0.0, 1.0], [-2.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4], [I, 1.0, 2.0, 3.0],
        [1.0, -I, 2.0, 3.0], [I, -I, 0.0, 1.0], [I] * 4, [-I] * 4, [-I, -I, 0.0, 0.0], [I, I, 0.0, 1.0],
        [NAN, 1.0, 0.0, 2.0], [1.0, NAN, I, NAN], [NAN] * 4, [MOST] * 4, [MOST, -MOST, 0.0, 0.0],
        [LEAST, -LEAST, 0.0, LEAST], [TINY, -TINY, TINY, 0.0], [1e-20, 2e-20, -3e-20, 0.0], [1e20, -2e20, 3e20, 1.0],
        [88.0, 89.0, 100.0, -100.0], [1e4, -1e4, 0.0, 20.0], [1.0, 1.0, UP, DOWN]]


def beside(number, step):
    """The f32 so many steps above a finite one."""
    bits = struct.unpack("<i", struct.pack("<f", number))[0]
    bits = (bits if bits >= 0 else -2**31 - bits) + step
    return struct.unpack("<f", struct.pack("<i", bits if bits >= 0 else -2**31 - bits))[0]


def around(*ends):
    """Each end and its neighbours among f32."""
    return [beside(end, step) for end in ends for step in (0, 1, -1)]


def pairs(xs=PAIRS, ys=None):
    """All pairs, as two lists."""
    ys = xs if ys is None else ys
    return [x for x in xs for _ in ys], [y for _ in xs for y in ys]


class Case:
    """ulp, width, least: as record() of make_points.py has them."""

    def __init__(self, function, inputs, ulp, width, least):
        self.function, self.inputs, self.ulp, self.width, self.least = function, inputs, ulp, width, least


class Cases(dict):
    """{name: Case}. tensor: an input of what a case is given; stack(flags, x): what has no gradient beside what has."""

    def __init__(self, tensor, stack):
        super().__init__()
        self.tensor, self.stack = tensor, stack

    def case(self, name, function, *inputs, ulp=4, width=0, least=0.0):
        assert name not in self and "__" not in name, name
        self[name] = Case(function, [self.tensor(x) for x in inputs], ulp, width, least)

    def unary(self, name, function, *ends, **accuracy):
        self.case(name, function, COMMON + around(*ends), **accuracy)

    def flat(self, name, function, *ends):
        self.unary(name, lambda x: self.stack(function(x), x), *ends)

    def binary(self, name, function, xs=PAIRS, ys=None, **accuracy):
        self.case(name, function, *pairs(xs, ys), **accuracy)

    def rows(self, name, function, at=ROWS, **accuracy):
        self.case(name, function, at, width=len(at[0]), **accuracy)
