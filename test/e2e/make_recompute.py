#!/usr/bin/env python3
"""What PyTorch keeps of a forward pass with torch.utils.checkpoint around each layer: writes recompute.json, which
recompute.py compares zbc --recompute all with.

    make_recompute.py      (needs torch and transformers; on the CPU)

Bytes of the storages that autograd saves for a micro-batch, each once, parameters and buffers left out; f32, and bf16
by autocast over f32 weights. Models are those of tools/models.py, in the sizes of test/data.
"""
import argparse
import contextlib
import functools
import json
import os
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


def saved_bytes(family, options, bf16):
    model = models.build(family, options)
    for layer in layers_of(model, models.FAMILIES[family]["layers"]):
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

    x, y = torch.randint(0, options.vocab, (2, options.batch, options.seq))
    autocast = torch.autocast("cpu", torch.bfloat16) if bf16 else contextlib.nullcontext()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), autocast:
        model(x, y)
    return saved


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    out = {}
    for graph in GRAPHS:
        with open(os.path.join(ROOT, "test", "data", graph + ".reference.json"), encoding="utf-8") as file:
            options = argparse.Namespace(**json.load(file))
        out[graph] = {name: saved_bytes(options.family, options, name == "bf16") for name in ("f32", "bf16")}
    with open(os.path.join(ROOT, "test", "e2e", "recompute.json"), "w", encoding="utf-8") as file:
        json.dump(dict(torch=torch.__version__, saved_bytes=out), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
