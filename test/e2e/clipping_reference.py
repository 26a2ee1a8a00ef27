#!/usr/bin/env python3
"""Trains the models of a folder of graphs (models.py, corpus.txt) with PyTorch and torch.nn.utils.clip_grad_norm_, and
records losses and norms for clipping.py.

    clipping_reference.py GRAPHS OUT.json

Data and optimizer are those of reference.py there: window j of step k, micro-batch i, row r starts at byte
((k*m + i)*B + r) * T mod (N - T - 1); AdamW with decay on matrices; the gradient is the mean over the micro-batches.
The small models are those of test/data (gpt2-small, llama-small), on its corpus; the others are those of GRAPHS.
"""
import json
import os
import sys

import torch

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
ADAMW, DECAY, MICRO_BATCHES = dict(betas=(0.9, 0.95), eps=1e-8), 0.1, 8
SMALL = dict(layers=8, dim=32, heads=4, seq=32)
# name, family, what build() takes, rows of a micro-batch, steps, rate, greatest norm, type of norm. At 1e-3 the large
# models jump in step 7 (a norm of 62 after one of 2.4), which makes 1e-7 of rounding 1e-4.
RUNS = [(f"{family}-small", family, SMALL, 2, 20, 1e-3, most, kind)
        for family in ("gpt2", "llama") for most, kind in ((0.5, 2), (0.02, "inf"), (float("inf"), 2))]
RUNS += [(family, family, {}, 4, 50, 1e-4, 0.5, 2) for family in ("gpt2", "llama")]


def read(path):
    with open(path, "rb") as file:
        return torch.tensor(list(file.read()), dtype=torch.int64)


def train(build, text, family, shape, rows, steps, lr, most, kind):
    model = build(family, **shape)
    seq = shape.get("seq", 128)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW([
        dict(params=[p for p in parameters if p.dim() >= 2], weight_decay=DECAY),
        dict(params=[p for p in parameters if p.dim() < 2], weight_decay=0.0)], lr=lr, **ADAMW)
    losses, norms = [], []
    for step in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for i in range(MICRO_BATCHES):
            starts = [((step * MICRO_BATCHES + i) * rows + r) * seq % (len(text) - seq - 1) for r in range(rows)]
            x = torch.stack([text[s:s + seq] for s in starts])
            y = torch.stack([text[s + 1:s + seq + 1] for s in starts])
            loss = model(x, y)
            (loss / MICRO_BATCHES).backward()
            total += loss.item() / MICRO_BATCHES
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, most, kind).item())
        losses.append(total)
        optimizer.step()
    return losses, norms


def main():
    graphs, out = sys.argv[1:]
    sys.path.insert(0, graphs)
    from models import build
    torch.set_num_threads(1)
    runs = []
    for name, family, shape, rows, steps, lr, most, kind in RUNS:
        text = read(os.path.join(DATA if shape else graphs, "corpus.txt"))
        losses, norms = train(build, text, family, shape, rows, steps, lr, most, float(kind))
        runs.append(dict(graph=name, micro_batches=MICRO_BATCHES, lr=lr, clip_norm=str(most), clip_norm_type=str(kind),
                         losses=losses, norms=norms))
        print(name, most, kind, norms[0], losses[-1], flush=True)
    with open(out, "w") as file:
        json.dump(dict(torch=torch.__version__, adamw=dict(ADAMW, weight_decay=DECAY), runs=runs), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
