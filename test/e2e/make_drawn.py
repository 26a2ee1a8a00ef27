#!/usr/bin/env python3
"""Writes test/data/drawn: the kinds of modules of drawn_modules.py, as zb.aten exports them: NAME.mlir, and
NAME.safetensors where it has buffers or constants, or PyTorch's losses are known; else zbc draws the values.
losses.json has those losses and norms of gradients, of the kinds of TRAINED, by SGD on the data of drawn_compiles.py.

    make_drawn.py [NAME ...]

Needs PyTorch (tools/requirements.txt)."""
import json
import os
import re
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tools", "python")]

import torch

import drawn_compiles
import drawn_modules
from zb import aten

FOLDER = os.path.join(SOURCE, "test", "data", "drawn")
# Where another rank reads a trained weight, shards sum up several uses of one, or there are no elements.
TRAINED = ("spectral_norm", "spectral_conv", "detached_tied", "detached_late", "detached_both", "self_distillation",
           "simsiam", "comparison", "weight_mask", "sign_of_late", "straight_through", "average_teacher",
           "weight_average", "weight_copied", "detached_only", "compared_only", "shared_layer", "albert", "gru_three",
           "lstm_bidirectional", "rnn_bidirectional", "empty", "empty_tied", "orthogonal_exponential", "frozen_tied")


def losses(name, data):
    """PyTorch's, of drawn_compiles.STEPS_OF_TORCH steps, and norms of gradients in the first one."""
    module, inputs = drawn_modules.KINDS[name]()
    module.train()
    arrays, trained = data.arrays(name), [p for p in module.parameters() if p.requires_grad]
    optimizer, found, norms = torch.optim.SGD(trained, drawn_compiles.RATE), [], {}
    for step in range(drawn_compiles.STEPS_OF_TORCH):
        optimizer.zero_grad()
        loss = module(*(torch.tensor(arrays[key]).reshape(-1, *value.shape)[step].to(value.dtype)
                        for key, value in inputs.items()))
        loss = loss[0] if isinstance(loss, tuple) else loss
        loss.backward()
        norms = norms or {key: p.grad.norm().item() for key, p in module.named_parameters() if p.grad is not None}
        optimizer.step()
        found.append(loss.item())
    return {"losses": found, "norms": norms}


def shorten(path, keep):
    """Leaves out places, and, without `keep`, values where all are those of parameters: zbc draws them."""
    with open(path) as file:
        text = re.sub(r" loc\(.*\)$|^#.*\n", "", file.read(), flags=re.M)
    if not keep and not re.search(r"aten\.(constant|buffer)", text):
        text = re.sub(', aten\\.values = "[^"]*"', "", text)
        os.remove(path[:-len("mlir")] + "safetensors")
    with open(path, "w") as file:
        file.write(text)


def main():
    torch.set_num_threads(1)
    os.makedirs(FOLDER, exist_ok=True)
    failed, known, place = 0, {}, os.path.join(FOLDER, "losses.json")
    scratch = tempfile.TemporaryDirectory()
    data = drawn_compiles.Data(scratch.name)
    if os.path.exists(place):
        with open(place) as file:
            known = json.load(file)
    for name in sys.argv[1:] or drawn_modules.KINDS:
        path = os.path.join(FOLDER, name + ".mlir")
        try:
            module, inputs = drawn_modules.KINDS[name]()
            aten.export(module.train(), inputs, path=path)
            shorten(path, name in TRAINED)
            if name in TRAINED:
                known[name] = losses(name, data)
        except Exception as error:  # one kind must not keep the others from being written
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:600]}")
    with open(place, "w") as file:
        json.dump(dict(sorted(known.items())), file, indent=1)
        file.write("\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
