#!/usr/bin/env python3
"""A model without a loss, as PyTorch's own exporter writes it, and what PyTorch and onnxruntime give for it, for
inference.py.

    inference_reference.py CORPUS OUT.onnx OUT.json

BatchNorm in evaluation, dropout that does nothing. Some elements of each output are kept, those whose number is a
multiple of a stride.
"""
import json
import sys

import numpy
import onnx
import onnxruntime
import torch
from torch import nn

MICRO_BATCHES, ROWS, SEQ, BATCHES, KEPT = 3, 2, 8, 2, 61
NAMES = ("scores", "best")


class Model(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        torch.manual_seed(3)
        self.embed = nn.Embedding(256, dim)
        self.ups = nn.ModuleList(nn.Linear(dim, dim) for _ in range(4))
        self.norms = nn.ModuleList(nn.BatchNorm1d(dim) for _ in range(4))
        self.drop, self.head = nn.Dropout(0.3), nn.Linear(dim, 40)

    def forward(self, x):
        h = self.embed(x).transpose(1, 2)
        for up, norm in zip(self.ups, self.norms):
            h = h + torch.relu(norm(up(h.transpose(1, 2)).transpose(1, 2)))
        scores = self.head(self.drop(h.transpose(1, 2)))
        return scores, scores.amax(-1)


def batches(corpus):
    with open(corpus, "rb") as file:
        text = torch.tensor(list(file.read()), dtype=torch.int64)
    for row in range(0, BATCHES * MICRO_BATCHES * ROWS, ROWS):
        yield torch.stack([text[(row + r) * SEQ:(row + r + 1) * SEQ] for r in range(ROWS)])


def without_places(path):
    """No file of this machine is named in it."""
    file = onnx.load(path)
    for owner in [file, file.graph, *file.graph.node, *file.graph.value_info, *file.graph.input, *file.graph.output]:
        kept = [entry for entry in owner.metadata_props if entry.key == "pkg.torch.onnx.name_scopes"]
        del owner.metadata_props[:]
        owner.metadata_props.extend(kept)
        owner.ClearField("doc_string")
    for tensor in file.graph.initializer:
        del tensor.metadata_props[:]
    onnx.save(file, path)


def main():
    corpus, out, reference = sys.argv[1:]
    model = Model()
    with torch.no_grad():
        for x in batches(corpus):
            model(x)  # its running statistics are no longer those of the start
        model.eval()
        found = [torch.cat(parts) for parts in zip(*(model(x) for x in batches(corpus)))]
    torch.onnx.export(model, (next(batches(corpus)),), out, dynamo=True, optimize=False, input_names=["x"],
                      output_names=list(NAMES), external_data=False, verbose=False)
    without_places(out)
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    given = [session.run(None, {"x": x.numpy()}) for x in batches(corpus)]
    rows = {}
    for k, (name, whole) in enumerate(zip(NAMES, found)):
        apart = numpy.abs(numpy.concatenate([row[k] for row in given]) - whole.numpy()).max()
        print(f"{name}: onnxruntime within {apart:.1e} of PyTorch")
        stride = max(1, whole.numel() // KEPT)
        rows[name] = dict(shape=list(whole.shape), stride=stride, elements=whole.flatten()[::stride].tolist())
    with open(reference, "w") as file:
        json.dump(dict(torch=torch.__version__, micro_batches=MICRO_BATCHES, batches=BATCHES, outputs=rows), file)
        file.write("\n")


if __name__ == "__main__":
    main()
