#!/usr/bin/env python3
"""What PyTorch keeps of a forward pass with torch.utils.checkpoint around each layer: writes recompute.json, which
recompute.py compares zbc --recompute all with.

    make_recompute.py      (needs torch and transformers; on the CPU)

Bytes of the storages that autograd saves for a micro-batch, each once, parameters and buffers left out; f32, and bf16
by autocast over f32 weights. Models are those of tools/models.py, in the sizes of test/data; "chains" are layers
x + down(gelu(up(x))), drawn at random: layers, rows, width, bytes.
"""
import argparse
import contextlib
import functools
import json
import os
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

import models  # noqa: E402
import torch  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

GRAPHS = ("gpt2", "gpt2-small", "llama-small", "roberta", "bart")


def layers_of(model, path):
    lists = [path, path.replace("decoder", "encoder")] if "decoder" in path else [path]
    return [layer for name in lists for layer in model.get_submodule(name)]


def count_saved(model, layers, run, bf16):
    for layer in layers:
        layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
    counted = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    saved, alive = 0, []

    def pack(tensor):
        nonlocal saved
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in counted:
            counted.add(storage.data_ptr())
            alive.append(tensor)  # keeps the storage, so that its address is not used again
            saved += storage.nbytes()
        return tensor

    autocast = torch.autocast("cpu", torch.bfloat16) if bf16 else contextlib.nullcontext()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), autocast:
        run(model)
    return saved


def saved_bytes(family, options, bf16):
    model = models.build(family, options)
    x, y = torch.randint(0, options.vocab, (2, options.batch, options.seq))
    return count_saved(model, layers_of(model, models.FAMILIES[family]["layers"]), lambda m: m(x, y), bf16)


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def chain(draw):
    layers, rows, width = draw.randint(2, 14), 8 * draw.randint(2, 40), 8 * draw.randint(2, 10)
    model = torch.nn.Sequential(*(Layer(width) for _ in range(layers)))
    x = torch.randn(rows, width)
    return [layers, rows, width, count_saved(model, model, lambda m: m(x).mean(), False)]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    out = {}
    for graph in GRAPHS:
        with open(os.path.join(ROOT, "test", "data", graph + ".reference.json"), encoding="utf-8") as file:
            options = argparse.Namespace(**json.load(file))
        out[graph] = {name: saved_bytes(options.family, options, name == "bf16") for name in ("f32", "bf16")}
    with open(os.path.join(ROOT, "test", "e2e", "recompute.json"), "w", encoding="utf-8") as file:
        chains = [chain(draw) for draw in [random.Random(14)] for _ in range(6)]
        json.dump(dict(torch=torch.__version__, saved_bytes=out, chains=chains), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
