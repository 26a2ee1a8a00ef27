#!/usr/bin/env python3
"""Writes test/data/aten: models of aten_models.py as zb.aten exports them, a batch a step for each, and what PyTorch
trains on them.

    make_aten.py [NAME ...]

For each NAME: NAME.mlir and NAME.safetensors (the export), NAME.data.safetensors (inputs [steps, ...]); and losses.json
with all losses: of those that draw random numbers, those of several seeds. Needs PyTorch and transformers
(tools/requirements.txt)."""
import json
import os
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tools", "python")]

import torch

import aten_models
from zb import aten

FOLDER = os.path.join(SOURCE, "test", "data", "aten")
NAMES = ("gpt2", "nanogpt", "llama", "vision", "mamba-like", "experts", "t5", "batchnorm", "stopped",
         "breadth", *aten_models.DRAWING)
STEPS, SEEDS = 6, 24


def main():
    torch.set_num_threads(1)
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, "losses.json")
    known = {}
    if os.path.exists(path):
        with open(path) as file:
            known = json.load(file)
    for name in sys.argv[1:] or NAMES:
        model, inputs = aten_models.build(name)
        out = os.path.join(FOLDER, name)
        aten.export(model, aten_models.draw(inputs, 1, seed=7)[0], path=out + ".mlir")
        batches = aten_models.draw(inputs, STEPS)
        aten.write_values(out + ".data.safetensors", {k: torch.stack([b[k] for b in batches]) for k in inputs})
        if name in aten_models.DRAWING:
            known[name] = []
            for seed in range(SEEDS):
                model, _ = aten_models.build(name)
                torch.manual_seed(seed)
                known[name].append(aten_models.losses(model, batches))
        else:
            known[name] = aten_models.losses(model, batches)
        print(f"{name}: losses {known[name][0]}")
    with open(path, "w") as file:
        json.dump(known, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
