#!/usr/bin/env python3
"""Checkpoints that Hugging Face's save_pretrained wrote, as zb-run --weights and zbc --weights read them: the loss of
the first step is PyTorch's of the same checkpoint within 1e-6.

    pretrained.py [--bin BUILD/bin]

GPT-2 and Llama, in f32, bf16 and f16, in one file and in several. Needs torch and transformers, so it is no part of CI;
the formats themselves are tested without them in weights.py.
"""
import json
import os
import random
import struct
import subprocess
import sys
import types

import common

sys.path.insert(0, os.path.join(common.SOURCE, "tools"))
EXPORT = os.path.join(common.SOURCE, "tools", "export_onnx.py")
SIZE = {"layers": 3, "dim": 32, "heads": 4, "seq": 32, "batch": 2, "vocab": 211}
MICRO_BATCHES = 2
TOLERANCE = 1e-6


def torch_loss(model, tokens):
    """Of the first step: the rows that zb-run reads."""
    import torch

    rows, length, losses = SIZE["batch"], SIZE["seq"], []
    for micro_batch in range(MICRO_BATCHES):
        starts = [(micro_batch * rows + row) * length % (len(tokens) - length - 1) for row in range(rows)]
        x = torch.tensor([tokens[start:start + length] for start in starts])
        y = torch.tensor([tokens[start + 1:start + length + 1] for start in starts])
        with torch.no_grad():
            logits = model(x, use_cache=False).logits
            losses.append(float(torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))))
    return sum(losses) / len(losses)


def first_loss(suite, plan, data, *arguments):
    return json.loads(suite.must("zb-run", plan, "--data", data, "--steps", "1", "--json",
                                 *arguments).splitlines()[0])["loss"]


def test_family(suite, folder, name, family, tokens):
    import torch

    at = lambda *names: os.path.join(folder, name + "-" + os.path.join(*names))
    data = f"tokens:{os.path.join(folder, 'tokens.bin')}:u16"
    sizes = [word for option, value in SIZE.items() for word in ("--" + option, str(value))]
    subprocess.run([sys.executable, EXPORT, name, at("model.onnx"), *sizes], check=True, stdout=subprocess.DEVNULL)
    suite.compile(at("model.onnx"), at("plan"), "--ranks", "2", "--micro-batches", str(MICRO_BATCHES))
    torch.manual_seed(7)
    model = family["build"](types.SimpleNamespace(**SIZE)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for kind, options in (("one", {}), ("several", {"max_shard_size": "20KB"})):
            saved = at(f"{kind}-{str(dtype)[6:]}")
            model.to(dtype).save_pretrained(saved, **options)
            wanted = torch_loss(type(model).from_pretrained(saved, dtype=torch.float32,
                                                            attn_implementation="eager"), tokens)
            got = first_loss(suite, at("plan"), data, "--weights", saved)
            suite.check(abs(got - wanted) < TOLERANCE, f"{saved}: {got:.8f}, PyTorch has {wanted:.8f}")
            print(f"{name:8} {str(dtype)[6:]:10} {kind:8} {got:.8f}  PyTorch {wanted:.8f}", flush=True)
    suite.compile(at("model.onnx"), at("other"), "--ranks", "2",
                  "--micro-batches", str(MICRO_BATCHES), "--weights", saved)
    suite.check(first_loss(suite, at("other"), data) == got, f"{name}: zbc --weights and zb-run --weights differ")


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    from models import FAMILIES

    source = random.Random(3)
    tokens = [source.randrange(SIZE["vocab"]) for _ in range(5000)]
    with common.scratch() as folder:
        with open(os.path.join(folder, "tokens.bin"), "wb") as file:
            file.write(struct.pack(f"<{len(tokens)}H", *tokens))
        for name in ("gpt2", "llama"):
            test_family(suite, folder, name, FAMILIES[name], tokens)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
