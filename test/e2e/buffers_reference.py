#!/usr/bin/env python3
"""A model whose forward pass keeps something from one micro-batch to the next, and what PyTorch makes of it, for
buffers.py.

    tools/export_onnx.py test/e2e/buffers_reference.py:make OUT.onnx --input x:int64:4x8 --input y:int64:4x8
        --output logits
    buffers_reference.py CORPUS OUT.json          steps with AdamW and M micro-batches, then model.eval()
    buffers_reference.py CORPUS OUT.json --replicas             the same of replicas with M micro-batches each

BatchNorm over rows [N, C] and over sequences [N, C, L], with and without scale, with another momentum and epsilon,
without running statistics, a module that is called twice, and a buffer of the model's own, which the loss reads.
"""
import json
import sys

import torch
import torch.nn.functional as F
from torch import nn

MICRO_BATCHES, ROWS, SEQ, STEPS, EVALUATED, KEPT = 4, 4, 8, 20, 3, 97
REPLICAS = 3  # with the argument --replicas


class Block(nn.Module):
    """BatchNorm over rows, or over sequences. A bias before it would get no gradient but rounding, which AdamW scales
    up."""

    def __init__(self, dim, norm, by_rows):
        super().__init__()
        self.up, self.norm, self.by_rows = nn.Linear(dim, dim, bias=False), norm, by_rows

    def forward(self, x):
        h = self.up(x)
        h = self.norm(h.flatten(0, 1)).reshape(h.shape) if self.by_rows else self.norm(h.mT).mT
        return x + F.gelu(h)


class Model(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(256, dim)
        self.rows = Block(dim, nn.BatchNorm1d(dim), True)
        self.sequences = Block(dim, nn.BatchNorm1d(dim, eps=1e-3, momentum=0.3), False)
        self.plain = Block(dim, nn.BatchNorm1d(dim, affine=False), False)
        self.twice = Block(dim, nn.BatchNorm1d(dim), True)
        self.forgetful = Block(dim, nn.BatchNorm1d(dim, track_running_stats=False), False)
        self.head = nn.Linear(dim, 256)
        self.register_buffer("usual", torch.zeros(256))

    def forward(self, x, y):
        h = self.sequences(self.rows(self.embed(x)))
        h = self.forgetful(self.twice(self.twice(self.plain(h))))
        logits = self.head(h)
        loss = F.cross_entropy((logits - self.usual).flatten(0, 1), y.flatten())
        if self.training:
            with torch.no_grad():
                self.usual.mul_(0.9).add_(0.1 * logits.mean((0, 1)))
        return dict(loss=loss, logits=logits)


def make():
    return Model()


def batches(corpus):
    with open(corpus, "rb") as file:
        text = torch.tensor(list(file.read()), dtype=torch.int64)
    row = 0
    while True:
        starts = [(row + r) * SEQ % (len(text) - SEQ - 1) for r in range(ROWS)]
        yield tuple(torch.stack([text[s + k:s + k + SEQ] for s in starts]) for k in (0, 1))
        row += ROWS


def run_replica(model, buffers, batches):
    """Losses of its micro-batches, from these buffers on, which become those that it leaves."""
    for name, buffer in model.named_buffers():
        buffer.data.copy_(buffers[name])
    losses = []
    for batch in batches:
        loss = model(*batch)["loss"]
        (loss / (MICRO_BATCHES * REPLICAS)).backward()
        losses.append(loss.item())
    buffers.update((name, buffer.detach().clone()) for name, buffer in model.named_buffers())
    return losses


def train_replicas(model, corpus, seen):
    """As DistributedDataParallel: replicas begin each step with the buffers of the first one, which go on from it."""
    optimizer = optimizer_of(model)
    source, kept = batches(corpus), {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
    for _ in range(STEPS):
        losses, begun = [], dict(kept)
        for replica in range(REPLICAS):
            buffers = kept if replica == 0 else dict(begun)
            losses += run_replica(model, buffers, [next(source) for _ in range(MICRO_BATCHES)])
        optimizer.step()
        optimizer.zero_grad()
        seen.append(sum(losses) / len(losses))
    for name, buffer in model.named_buffers():
        buffer.data.copy_(kept[name])


def optimizer_of(model):
    groups = [dict(params=[p for p in model.parameters() if (p.dim() > 1) == decays], weight_decay=0.1 * decays)
              for decays in (True, False)]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)


def train(model, corpus, seen):
    optimizer = optimizer_of(model)
    source = batches(corpus)
    for _ in range(STEPS):
        losses = []
        for _ in range(MICRO_BATCHES):
            loss = model(*next(source))["loss"]
            (loss / MICRO_BATCHES).backward()
            losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
        seen.append(sum(losses) / MICRO_BATCHES)


def evaluate(model, corpus, count):
    source, losses, logits = batches(corpus), [], []
    model.eval()
    with torch.no_grad():
        for _ in range(count):
            given = model(*next(source))
            losses.append(given["loss"].item())
            logits.append(given["logits"])
    return sum(losses) / len(losses), torch.cat(logits)


def main():
    corpus, out, *replicas = sys.argv[1:]
    model, losses = Model(), []
    (train_replicas if replicas else train)(model, corpus, losses)
    evaluated, logits = evaluate(model, corpus, EVALUATED * MICRO_BATCHES * (REPLICAS if replicas else 1))
    stride = logits.numel() // KEPT
    kept = dict(stride=stride, elements=logits.flatten()[::stride].tolist())
    with open(out, "w") as file:
        json.dump(dict(torch=torch.__version__, micro_batches=MICRO_BATCHES, losses=losses, evaluation=evaluated,
                       evaluated_steps=EVALUATED, logits=kept,
                       buffers={name: value.flatten().tolist() for name, value in model.named_buffers()}), file)
        file.write("\n")


if __name__ == "__main__":
    main()
