"""The words that zbc draws for dropout, in NumPy: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers:
as easy as 1, 2, 3", 2011), and which element gets which word (runtime/base/random.h). Written from both descriptions,
so that tests have numbers that share nothing with the kernels.
"""

import numpy

GROUP, LANES = 64, 16
MULTIPLIERS, KEY_STEPS, ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10
LOW = numpy.uint64(0xFFFFFFFF)
OP_BITS, MICRO_BATCH_BITS, STEP_BITS = 20, 24, 40


def philox(counter, key):
    """counter: four arrays of uint64 below 2^32; key: two numbers. Four arrays."""
    a, b, c, d = counter
    key = list(key)
    half = numpy.uint64(32)
    for _ in range(ROUNDS):
        even, odd = numpy.uint64(MULTIPLIERS[0]) * a, numpy.uint64(MULTIPLIERS[1]) * c
        a, b = (odd >> half) ^ b ^ numpy.uint64(key[0]), odd & LOW
        c, d = (even >> half) ^ d ^ numpy.uint64(key[1]), even & LOW
        key = [(k + step) & 0xFFFFFFFF for k, step in zip(key, KEY_STEPS)]
    return a, b, c, d


def words(count, seed, step, micro_batch, op):
    """The words of elements 0 .. count - 1 of one op."""
    calls = numpy.arange(-(-count // GROUP) * LANES, dtype=numpy.uint64)
    place = step << MICRO_BATCH_BITS | micro_batch
    same = [numpy.full_like(calls, value & 0xFFFFFFFF) for value in (op << 32 - OP_BITS, place, place >> 32)]
    drawn = philox(
        (calls & LOW, (calls >> numpy.uint64(32)) | same[0], same[1], same[2]), (seed & 0xFFFFFFFF, seed >> 32)
    )
    return numpy.stack([word.reshape(-1, LANES) for word in drawn], axis=1).reshape(-1)[:count]


def stays(shape, rate, seed, step, micro_batch, op):
    """Which elements of a tensor stay."""
    threshold = int((1 - rate) * 2**32 + 0.5)
    drawn = words(int(numpy.prod(shape, dtype=numpy.int64)), seed, step, micro_batch, op)
    return (drawn < numpy.uint64(threshold)).reshape(shape)
