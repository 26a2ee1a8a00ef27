#!/usr/bin/env python3
"""Trains gpt2-small with PyTorch under every optimizer, with groups of parameters and a schedule: writes rates.json,
which rates.py compares zb-run with.

    make_rates.py      (needs torch and transformers; deterministic, on one CPU thread)

Model, batches and losses are those of tools/reference.py. Lion is written here, after algorithm 2 of Chen et al. 2023
(arXiv 2302.06675): PyTorch has none.
"""
import argparse
import fnmatch
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

import reference  # noqa: E402
import torch  # noqa: E402
from transformers import optimization  # noqa: E402

STEPS = 20
# GLOB, rate and weight decay (None: as the others have it), the last that fits counts: as zb-run --group.
GROUPS = [("*.bias", 5e-3, None), ("lm.transformer.h.0.*", 3e-4, 0.2), ("*.ln_f.*", None, 0.3), ("*wpe*", 0.0, 0.0)]


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas, weight_decay):
        super().__init__(parameters, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                momentum = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                update = torch.sign(beta1 * momentum + (1 - beta1) * p.grad)
                p -= group["lr"] * (update + group["weight_decay"] * p)
                momentum.mul_(beta2).add_(p.grad, alpha=1 - beta2)


def split(model, lr, decay, groups=()):
    """A group of PyTorch for each parameter."""
    result = []
    for name, p in model.named_parameters():
        group = dict(params=[p], lr=lr, weight_decay=decay if p.dim() >= 2 else 0.0)
        for glob, rate, own in groups:
            if fnmatch.fnmatchcase(name, glob):
                group.update({k: v for k, v in (("lr", rate), ("weight_decay", own)) if v is not None})
        result.append(group)
    return result


def train(text, o, make, schedule=None, steps=STEPS):
    model = reference.build(o)
    optimizer = make(model)
    scheduler = schedule(optimizer) if schedule else None
    losses, rates = [], []
    for step in range(steps):
        optimizer.zero_grad()
        micro = []
        for i in range(o.micro_batches):
            loss = model(*reference.batch(text, o, step, i))
            (loss / o.micro_batches).backward()
            micro.append(loss.item())
        losses.append(sum(micro) / o.micro_batches)
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if scheduler:
            scheduler.step()
    weights = {n: p.detach().double().norm().item() for n, p in model.named_parameters()}
    return dict(losses=losses, rates=rates, weight_norms=weights)


def main():
    with open(os.path.join(ROOT, "test", "data", "gpt2-small.reference.json")) as file:
        o = argparse.Namespace(**{k: v for k, v in json.load(file).items() if not isinstance(v, dict)})
    with open(os.path.join(ROOT, "test", "data", "corpus.txt"), "rb") as file:
        text = torch.tensor(list(file.read()), dtype=torch.int64)
    torch.set_num_threads(1)
    adamw = lambda m, groups: torch.optim.AdamW(split(m, 1e-3, 0.1, groups), betas=(0.9, 0.95))
    cosine = lambda p: optimization.get_cosine_with_min_lr_schedule_with_warmup(p, 3, STEPS, min_lr_rate=0.1)
    runs = {
        "groups": dict(options=[part for glob, lr, decay in GROUPS for part in (
            "--group", glob + ":" + ",".join(f"{k}={v}" for k, v in (("lr", lr), ("weight_decay", decay))
                                             if v is not None))],
                       optimizer="adamw", **train(text, o, lambda m: adamw(m, GROUPS))),
        "cosine": dict(options=["--lr", "2e-3", "--weight-decay", "0.05",
                                "--lr-schedule", f"cosine:warmup=3,steps={STEPS},end=0.1"], optimizer="adamw",
                       **train(text, o, lambda m: torch.optim.AdamW(split(m, 2e-3, 0.05), betas=(0.9, 0.95)), cosine)),
        "nesterov": dict(options=[], optimizer="sgd:lr=0.05,momentum=0.9,nesterov=true,weight_decay=0.01",
                         **train(text, o, lambda m: torch.optim.SGD(split(m, 0.05, 0.01), momentum=0.9,
                                                                    nesterov=True), steps=10)),
        "adam": dict(options=[], optimizer="adam:lr=2e-3,beta1=0.8,beta2=0.99,eps=1e-7,weight_decay=0.01",
                     **train(text, o, lambda m: torch.optim.Adam(split(m, 2e-3, 0.01), betas=(0.8, 0.99), eps=1e-7),
                             steps=10)),
        "lion": dict(options=[], optimizer="lion:lr=3e-4,beta1=0.9,beta2=0.99,weight_decay=0.1",
                     **train(text, o, lambda m: Lion(split(m, 3e-4, 0.1), 3e-4, (0.9, 0.99), 0.1), steps=10)),
    }
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rates.json"), "w") as file:
        json.dump(dict(micro_batches=o.micro_batches, **runs), file, indent=1)
        file.write("\n")


main()
