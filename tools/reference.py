#!/usr/bin/env python3
"""Trains a family of models.py with PyTorch on one CPU thread and records what every other engine must reproduce.

    reference.py gpt2 test/data/corpus.txt test/data/gpt2.reference.json [--steps 20] [--layers 8 ...]
    reference.py gpt2 test/data/corpus.txt test/data/gpt2.bf16.json --precision bf16 --steps 50 --lr 3e-4
    reference.py test/e2e/export_models.py:L1 test/data/corpus.txt test/data/l1.reference.json --batch 4 --seq 16

A family, or MODULE:FACTORY as export_onnx.py takes it, of a module with forward(x, y) -> loss. Its layers are not
known: nothing is said of saved bytes.

With --dropout the elements that are dropped are those of zb-run --random-seed 1 (random_words.py), so that losses can
be compared one by one; and "seeds" has the losses of 24 runs that draw by PyTorch's generator.

With --whole-batch a step is one pass over all its micro-batches at once, so that a loss which ignores targets is their
mean over the step (zbc --loss-mean targets); an evaluation is one pass over all its rows.

With --precision bf16 the runs are fp32 and torch.autocast in bf16 around the forward pass (parameters, gradients and
optimizer in fp32), instead of fp32 and fp64.

Batches:    row r of micro-batch i of step k starts at byte ((k*M + i)*B + r)*T mod (N - T - 1) of the text; x =
            bytes [start, start+T), y = bytes [start+1, start+T+1).
Gradient:   mean over the M micro-batches of the gradient of each micro-batch's mean loss.
Loss:       of a step: mean of the micro-batch losses, before the update.
Optimizer:  AdamW, constant rate, decoupled decay on parameters of rank >= 2 only, no clipping.
Evaluation: mean loss of all batches of the text that are whole, once, by model.eval(), before and after training.
Saved:      bytes that autograd keeps from the forward pass of one micro-batch, per layer: unique storages,
            parameters left out, counted where they are saved first.
"""

import argparse
import contextlib
import hashlib
import json
import sys

import models

try:
    import torch
except ImportError:
    sys.exit("error: the Python package 'torch' is not installed\n  hint: pip install -r tools/requirements.txt")

ADAMW = dict(betas=(0.9, 0.95), eps=1e-8)
DECAY = 0.1
RANDOM_SEED, SEEDS = 1, 24


def batch(text, o, step, micro):
    starts = [
        ((step * o.micro_batches + micro) * o.batch + r) * o.seq % (len(text) - o.seq - 1) for r in range(o.batch)
    ]
    return (
        torch.stack([text[s : s + o.seq] for s in starts]),
        torch.stack([text[s + 1 : s + o.seq + 1] for s in starts]),
    )


def parts(text, o, step):
    """What the passes of a step read: its micro-batches, or all of them at once."""
    micro = [batch(text, o, step, i) for i in range(o.micro_batches)]
    return [tuple(map(torch.cat, zip(*micro)))] if o.whole_batch else micro


def autocast(bf16):
    return torch.autocast("cpu", dtype=torch.bfloat16) if bf16 else contextlib.nullcontext()


def build(o):
    if o.family in models.FAMILIES:
        return models.build(o.family, o)
    import export_onnx  # its packages are needed for no family

    torch.manual_seed(o.seed)
    return export_onnx.load_factory(o.family).train()


def evaluate(model, text, o, bf16):
    """How many whole batches the text has, and their mean loss in evaluation mode; the model is left in its mode."""
    rows = -(-(len(text) - o.seq - 1) // o.seq)
    batches, training = rows // (o.micro_batches * o.batch), model.training
    model.eval()
    with torch.no_grad(), autocast(bf16):
        passes = [one for k in range(batches) for one in parts(text, o, k)]
        if o.whole_batch and passes:
            passes = [tuple(map(torch.cat, zip(*passes)))]
        losses = [model(*one).item() for one in passes]
    model.train(training)
    return batches, sum(losses) / max(len(losses), 1)


class Place:
    """Step and micro-batch of the pass that runs, and what zbc draws there."""

    step = micro_batch = 0

    def stays(self, number, shape, probability):
        import numpy
        import random_words

        rate = float(numpy.float32(1 - probability))  # as an ONNX file has it
        drawn = random_words.stays(tuple(shape), rate, RANDOM_SEED, self.step, self.micro_batch, number)
        return torch.from_numpy(drawn)


def drawing(model, o, place, seed):
    """The context of a run: without dropout none; by PyTorch's generator; or as zbc draws."""
    if seed is not None:
        torch.manual_seed(seed)
    if not o.dropout or seed is not None:
        return contextlib.nullcontext()
    import compare  # its packages are needed for dropout alone

    return compare.Drawn(model, place.stays)


def train(text, o, dtype, bf16=False, seed=None):
    model = build(o).to(dtype)
    place = Place()
    with drawing(model, o, place, seed):
        return steps_of(model, text, o, bf16, place)


def steps_of(model, text, o, bf16, place):
    named = dict(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            dict(params=[p for p in named.values() if p.dim() >= 2], weight_decay=DECAY),
            dict(params=[p for p in named.values() if p.dim() < 2], weight_decay=0.0),
        ],
        lr=o.lr,
        **ADAMW,
    )
    losses, first, gradient = [], [], None
    batches, before = evaluate(model, text, o, bf16)
    for step in range(o.steps):
        optimizer.zero_grad()
        micro = []
        passes = parts(text, o, step)
        for i, one in enumerate(passes):
            place.step, place.micro_batch = step, i
            with autocast(bf16):
                loss = model(*one)
            (loss / len(passes)).backward()
            micro.append(loss.item())
        losses.append(sum(micro) / len(passes))
        if step == 0:
            first = micro
            gradient = {n: p.grad.double().norm().item() for n, p in named.items()}
        optimizer.step()
    weights = {n: p.detach().double().norm().item() for n, p in named.items()}
    return dict(
        losses=losses,
        first_step_micro_losses=first,
        first_step_gradient_norm=gradient,
        final_weight_norm=weights,
        evaluation=dict(batches=batches, before=before, after=evaluate(model, text, o, bf16)[1]),
    )


def saved_bytes(text, o, bf16=False):
    """[bytes of layer 0, layer 1, ...], bytes outside the layers."""
    model = models.build(o.family, o)
    counted = {p.untyped_storage().data_ptr() for p in model.parameters()}
    layers = model.get_submodule(models.FAMILIES[o.family]["layers"])
    per_layer, outside, current, alive = [0] * len(layers), [0], [None], []

    def enter(index):
        current[0] = index

    for index, layer in enumerate(layers):
        layer.register_forward_pre_hook(lambda *_, i=index: enter(i))
        layer.register_forward_hook(lambda *_: enter(None))

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in counted:
            counted.add(storage.data_ptr())
            alive.append(tensor)  # keeps the storage, so that its address is not used again
            if current[0] is None:
                outside[0] += storage.nbytes()
            else:
                per_layer[current[0]] += storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), autocast(bf16):
        model(*batch(text, o, 0, 0))
    return per_layer, outside[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", help=", ".join(models.FAMILIES) + " or MODULE:FACTORY")
    parser.add_argument("corpus")
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--whole-batch", action="store_true")
    models.add_options(parser)
    o = parser.parse_args()
    torch.set_num_threads(1)
    with open(o.corpus, "rb") as file:
        text = torch.tensor(list(file.read()), dtype=torch.int64)
    single = train(text, o, torch.float32)
    other, name = ("bf16", "autocast") if o.precision == "bf16" else ("fp64", "fp64")
    runs = {"fp32": single,
            other: train(text, o, torch.float32, True) if other == "bf16" else train(text, o, torch.float64)}
    spread = max(abs(s - d) / d for s, d in zip(single["losses"], runs[other]["losses"]))
    known = o.family in models.FAMILIES
    layers, outside = saved_bytes(text, o, other == "bf16") if known else ([0, 0], 0)
    result = dict(
        family=o.family,
        **{name: getattr(o, name) for name in models.OPTIONS if known or name in ("batch", "seq", "seed")},
        micro_batches=o.micro_batches,
        **({"whole_batch": True} if o.whole_batch else {}),
        steps=o.steps,
        adamw=dict(lr=o.lr, **ADAMW, weight_decay=DECAY),
        torch=torch.__version__.split("+")[0],
        **runs,
        **{"fp32_vs_" + other: spread},
    )
    if known:
        result.update(saved_bytes_per_layer=layers, saved_bytes_outside_layers=outside)
    if o.dropout:
        seeds = [train(text, o, torch.float32, seed=seed)["losses"] for seed in range(SEEDS)]
        result.update(dropout=o.dropout, random_seed=RANDOM_SEED, seeds=seeds)
    if other == "bf16":
        result["corpus_sha256"] = hashlib.sha256(bytes(text.tolist())).hexdigest()
    with open(o.out, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(
        f"{o.out}: loss {single['losses'][0]:.6f} -> {single['losses'][-1]:.6f}, fp32 against {name} {spread:.1e}"
        + (f", saved bytes a layer {layers[1]:,}" if known else "")
    )


if __name__ == "__main__":
    main()
