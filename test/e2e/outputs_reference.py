#!/usr/bin/env python3
"""A small model that gives more than its loss, and what PyTorch gives for it, for outputs.py.

    tools/export_onnx.py test/e2e/outputs_reference.py:make OUT.onnx --input x:int64:4x16 --input y:int64:4x16
        --output logits --output hidden --output confidence --output is_sure --output shifted
    outputs_reference.py CORPUS OUT.json                      in evaluation mode, of the first BATCHES batches

Some elements of each output are kept, those whose number is a multiple of a stride.
"""
import json
import sys

import torch
import torch.nn.functional as F
from torch import nn

MICRO_BATCHES, ROWS, SEQ, BATCHES, KEPT = 4, 4, 16, 3, 97
NAMES = ("logits", "hidden", "confidence", "is_sure", "shifted")


class Model(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(256, dim)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(dim, 2, 32, 0.1, batch_first=True) for _ in range(3))
        self.head = nn.Linear(dim, 256)

    def forward(self, x, y):
        hidden = self.embed(x)
        states = []
        for layer in self.layers:
            hidden = layer(hidden)
            states.append(hidden)
        logits = self.head(hidden)
        best = torch.softmax(logits, -1).amax(-1)
        return dict(loss=F.cross_entropy(logits.flatten(0, 1), y.flatten()), logits=logits, hidden=states[0],
                    confidence=best.mean(), is_sure=best > 0.01, shifted=x + y)


def make():
    return Model()


def main():
    corpus, out = sys.argv[1:]
    with open(corpus, "rb") as file:
        text = torch.tensor(list(file.read()), dtype=torch.int64)
    model = Model().eval()
    found = {name: [] for name in NAMES}
    for row in range(0, BATCHES * MICRO_BATCHES * ROWS, ROWS):
        starts = [(row + r) * SEQ % (len(text) - SEQ - 1) for r in range(ROWS)]
        x, y = (torch.stack([text[s + k:s + k + SEQ] for s in starts]) for k in (0, 1))
        with torch.no_grad():
            given = model(x, y)
        for name in NAMES:
            found[name].append(given[name][None] if given[name].dim() == 0 else given[name])
    rows = {}
    for name, parts in found.items():
        whole = torch.cat(parts)
        rows[name] = dict(shape=list(whole.shape), dtype=str(whole.dtype).removeprefix("torch."),
                          stride=max(1, whole.numel() // KEPT),
                          elements=whole.flatten()[::max(1, whole.numel() // KEPT)].tolist())
    with open(out, "w") as file:
        json.dump(dict(torch=torch.__version__, micro_batches=MICRO_BATCHES, batches=BATCHES, outputs=rows), file)
        file.write("\n")


if __name__ == "__main__":
    main()
