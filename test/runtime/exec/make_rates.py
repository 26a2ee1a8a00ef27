"""Writes rates.csv beside this file: the rates that the schedulers of PyTorch and transformers give.

Usage: python make_rates.py      (needs torch and transformers; deterministic)

A line "LINE RATE" (a schedule of zb-run, and the rate that it multiplies) is followed by a line for each step from 0:
the rate that the scheduler has set when that step of the optimizer runs, as PyTorch users write their loop
(optimizer.step(), then scheduler.step()). rates_test.c compares.
"""

import itertools
import pathlib
import random
import warnings

import torch
from torch.optim import lr_scheduler as torch_rates
from transformers import optimization as hugging_face

warnings.filterwarnings("ignore")


def sequence(optimizer, warmup, start, rest):
    first = torch_rates.LinearLR(optimizer, start_factor=start, total_iters=warmup)
    return torch_rates.SequentialLR(optimizer, [first, rest(optimizer)], milestones=[warmup])


RATE = 3e-4
# The line, how many steps, and the scheduler for an optimizer.
CASES = [
    ("constant", 5, lambda o: torch_rates.ConstantLR(o, factor=1)),
    ("constant:warmup=7", 20, lambda o: hugging_face.get_constant_schedule_with_warmup(o, 7)),
    ("linear:warmup=10,steps=60", 75, lambda o: hugging_face.get_linear_schedule_with_warmup(o, 10, 60)),
    ("linear:steps=50,end=0.2", 60, lambda o: torch_rates.LinearLR(o, 1, 0.2, 50)),
    ("linear:warmup=5,warmup_start=0.1,steps=45,end=0.25", 50,
     lambda o: sequence(o, 5, 0.1, lambda p: torch_rates.LinearLR(p, 1, 0.25, 40))),
    ("cosine:warmup=100,steps=1000,end=0.1", 1001,
     lambda o: hugging_face.get_cosine_with_min_lr_schedule_with_warmup(o, 100, 1000, min_lr_rate=0.1)),
    ("cosine:warmup=10,steps=100", 101, lambda o: hugging_face.get_cosine_schedule_with_warmup(o, 10, 100)),
    ("cosine:steps=64,end=0.05", 65, lambda o: torch_rates.CosineAnnealingLR(o, 64, 0.05 * RATE)),
    ("cosine:warmup=4,warmup_start=0.25,steps=40", 41,
     lambda o: sequence(o, 4, 0.25, lambda p: torch_rates.CosineAnnealingLR(p, 36))),
    ("wsd:warmup=10,steps=100,decay=20", 110, lambda o: hugging_face.get_wsd_schedule(o, 10, 20, 100)),
    ("wsd:warmup=10,steps=100,decay=20,end=0.1,shape=linear", 110,
     lambda o: hugging_face.get_wsd_schedule(o, 10, 20, 100, decay_type="linear", min_lr_ratio=0.1)),
    ("wsd:warmup=3,steps=50,decay=47,end=0.05,shape=1-sqrt", 60,
     lambda o: hugging_face.get_wsd_schedule(o, 3, 47, 50, decay_type="1-sqrt", min_lr_ratio=0.05)),
    ("step:every=7,gamma=0.5", 40, lambda o: torch_rates.StepLR(o, 7, 0.5)),
    ("step:warmup=3,warmup_start=0.5,every=10", 40,
     lambda o: sequence(o, 3, 0.5, lambda p: torch_rates.StepLR(p, 10, 0.1))),
    ("exponential:gamma=0.97", 100, lambda o: torch_rates.ExponentialLR(o, 0.97)),
]


def drawn(count):
    """Lines with numbers drawn at random."""
    draw = random.Random(1)
    for _ in range(count):
        steps, end = draw.randrange(2, 400), draw.choice([0.0, draw.random(), 0.1])
        warmup = draw.choice([0, 1, draw.randrange(steps)])
        decay = draw.randrange(1, steps - warmup + 1)
        shape = draw.choice(["cosine", "linear", "1-sqrt"])
        yield (f"cosine:warmup={warmup},steps={steps},end={end!r}", steps + 1,
               lambda o: hugging_face.get_cosine_with_min_lr_schedule_with_warmup(o, warmup, steps, min_lr_rate=end))
        yield (f"linear:warmup={warmup},steps={steps}", steps + 20,
               lambda o: hugging_face.get_linear_schedule_with_warmup(o, warmup, steps))
        yield (f"wsd:warmup={warmup},steps={steps},decay={decay},end={end!r},shape={shape}", steps + 20,
               lambda o: hugging_face.get_wsd_schedule(o, warmup, decay, steps, decay_type=shape, min_lr_ratio=end))


def main():
    lines = []
    for line, steps, make in itertools.chain(CASES, drawn(8)):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=RATE)
        scheduler = make(optimizer)
        lines.append(f"{line} {RATE!r}")
        for _ in range(steps):
            lines.append(repr(optimizer.param_groups[0]["lr"]))
            optimizer.step()
            scheduler.step()
    (pathlib.Path(__file__).parent / "rates.csv").write_text("\n".join(lines) + "\n")


main()
