"""Special points that the cases of every door have in common."""
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
        [NAN, 1.0, 0.0, 2.0], [1.0, NAN, I, NAN], [NAN] * 4, [MOST] * 4, [MOST, -MOST, 1.0, 0.0],
        [LEAST, -LEAST, 0.0, LEAST], [TINY, -TINY, TINY, 0.0], [1e-20, 2e-20, -3e-20, 0.0], [1e20, -2e20, 3e20, 1.0],
        [88.0, 89.0, 100.0, -100.0], [1e4, -1e4, 0.0, 20.0], [1.0, 1.0, UP, DOWN]]


def around(*ends):
    """Each end and its neighbours among f32."""
    found = []
    for end in ends:
        bits = struct.unpack("<i", struct.pack("<f", end))[0]
        steps = (0, 1, -1) if end else (0,)
        found += [struct.unpack("<f", struct.pack("<i", bits + step))[0] for step in steps]
    return found


def pairs(xs=PAIRS, ys=None):
    """All pairs, as two lists."""
    ys = xs if ys is None else ys
    return [x for x in xs for _ in ys], [y for _ in xs for y in ys]
