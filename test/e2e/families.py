#!/usr/bin/env python3
"""Families of models against PyTorch: zb.compile of a module, five steps, the losses that PyTorch has.

    families.py [--bin BUILD/bin] [--only NAME ...] [--all] [--tensor-parallel T [--sequence-parallel]]
                [--data-parallel D]

Each module of family_models.py is compiled from memory and trained from Python: by SGD with micro-batches on 1 rank
(1F1B) and by AdamW on 2 ranks (zb-h1 and zb-h2, the same bits). PyTorch runs the same micro-batches one after the other
and adds their gradients up; BatchNorm sees what it sees here. Where PyTorch's own f32 is further than that from what
it computes in f64 (deep networks with BatchNorm over few pixels), ours must be at most twice as far from f64 as the
furthest of four of its runs: as it is, and with weights that are off by one unit in the last place. A table tells
parameters, ops of the exported graph and the greatest relative difference of a loss; where PyTorch cannot export a
module, the error must say so. With shards or replicas of them every rank is D times T. Needs PyTorch and
transformers (ZB_PYTHON; rows that need torchvision, timm or peft are left out where these are not there), and is
skipped elsewhere. Without --all: CHOSEN. Ends with "N passed, N failed".
"""
import copy
import os
import re
import subprocess
import sys
import time
import traceback
import warnings

import common

PACKAGE = os.path.join(common.SOURCE, "tools", "python")
TOLERANCE, STEPS = 1e-5, 5
# Optimizer, micro-batches, and the (ranks, schedule) that must give the same bits.
RUNS = [("sgd", 2, [(1, "1f1b"), (2, "zb-h1")]), ("adamw", 4, [(2, "zb-h2"), (1, "1f1b")])]
CHOSEN = ("vit", "t5", "lstm", "top-k experts", "diffusion", "batchnorm")
# What PyTorch itself, or zbc, cannot take, and what the error must say.
REFUSED = {
    "switch": "for expert_idx in expert_hit", "dbrx": "for expert_idx in expert_hit",
    "nllb-moe": "for expert_idx in expert_hit", "jetmoe": "numbers that are read from tensors",
    "longformer": "PyTorch cannot export", "led": "PyTorch cannot export",
    "wav2vec2, ctc": "PyTorch cannot export", "detr": "PyTorch cannot export",
}


def optimizer_of(kind, module, pace=1.0):
    """PyTorch's optimizer, and zbc's line of it; pace: of learning rates, below 1 where training would diverge."""
    import torch

    trained = [p for p in module.parameters() if p.requires_grad]
    if kind == "sgd":
        rate = 0.02 * pace
        return torch.optim.SGD(trained, lr=rate, momentum=0.9), f"sgd:lr={rate},momentum=0.9,weight_decay=0"
    groups = [{"params": [p for p in trained if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0}]
    return (torch.optim.AdamW(groups, lr=1e-3 * pace, betas=(0.9, 0.95), eps=1e-6),
            f"adamw:lr={1e-3 * pace},beta1=0.9,beta2=0.95,eps=1e-6,weight_decay=0.1")


def loss_of(out):
    import torch

    return out if isinstance(out, torch.Tensor) else out["loss"]


def by_pytorch(module, kind, batches, micro_batches, pace=1.0):
    """Its losses: the mean of those of the micro-batches of a step."""
    optimizer, _ = optimizer_of(kind, module, pace)
    found = []
    for batch in batches:
        optimizer.zero_grad()
        total = 0.0
        for i in range(micro_batches):
            part = {name: tensor.chunk(micro_batches)[i] for name, tensor in batch.items()}
            loss = loss_of(module(**part)) / micro_batches
            loss.backward()
            total += loss.item()
        optimizer.step()
        found.append(total)
    return found


def shaken(module, seed):
    """A copy whose weights are off by one unit in the last place, up or down: what rounding alone does to a model."""
    import torch

    copied, generator = copy.deepcopy(module), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in copied.parameters():
            if p.is_floating_point():
                p.copy_(torch.nextafter(p, p + torch.randn(p.shape, generator=generator)))
    return copied


def drawn(inputs, micro_batches, steps, seed):
    """[{name: tensor of all micro-batches}]"""
    import torch

    import aten_models

    parts = aten_models.draw(inputs, micro_batches * steps, seed)
    return [{name: torch.cat([part[name] for part in parts[i * micro_batches : (i + 1) * micro_batches]])
             for name in inputs} for i in range(steps)]


def apart(found, wanted):
    if len(found) != len(wanted):
        return float("inf")
    worst = 0.0
    for a, b in zip(found, wanted):
        far = abs(a - b) / max(abs(b), 1e-3)
        worst = max(worst, far if far == far else float("inf"))
    return worst


class Families:
    def __init__(self, suite, folder, options):
        self.suite, self.folder = suite, folder
        self.replicas = options.data_parallel
        self.mesh = {"data_parallel": options.data_parallel, "tensor_parallel": options.tensor_parallel}
        self.mesh = {name: count for name, count in self.mesh.items() if count > 1}
        if options.sequence_parallel:
            self.mesh["sequence_parallel"] = True

    def train(self, path, batches, micro_batches, optimizer, ranks, schedule):
        import zb

        plan = zb.compile(path, ranks=ranks, micro_batches=micro_batches // self.replicas, schedule=schedule,
                          optimizer=optimizer, **self.mesh)
        used = {value.name for value in plan.inputs}
        with zb.Session(plan) as run:
            return [run.step({name: t for name, t in batch.items() if name in used}).loss for batch in batches]

    def is_exact(self, module, kind, batches, micro_batches, pace, got, wanted):
        """Whether losses are as near to those in f64 as PyTorch's in f32, which are further than the tolerance. One run
        of a model that amplifies rounding is near or far by chance, so some are made."""
        wide = [{name: t.double() if t.is_floating_point() else t for name, t in batch.items()} for batch in batches]
        exact = by_pytorch(copy.deepcopy(module).double(), kind, wide, micro_batches, pace)
        runs = [by_pytorch(shaken(module, seed), kind, batches, micro_batches, pace) for seed in range(3)]
        ours, theirs = apart(got, exact), [apart(run, exact) for run in (wanted, *runs)]
        print(f"  {kind}: {ours:.2g} from PyTorch's losses in f64, those in f32 are",
              ", ".join(f"{one:.2g}" for one in theirs), flush=True)
        return max(theirs) > TOLERANCE and ours <= 2 * max(theirs)

    def family(self, name):
        """(parameters, ops, greatest difference, what is wrong)"""
        import family_models
        import zb.aten

        module, inputs = family_models.build(name)
        count = sum(p.numel() for p in module.parameters() if p.requires_grad)
        path = os.path.join(self.folder, "model.mlir")
        zb.aten.export(module, drawn(inputs, 1, 1, 7)[0], path=path)
        with open(path, encoding="utf-8") as file:
            ops = len(re.findall(r'^    %.* = "aten', file.read(), re.M))
        worst, wrong = 0.0, []
        pace = 0.05 if name in family_models.STEEP else 1.0
        for kind, micro_batches, plans in RUNS:
            batches = drawn(inputs, micro_batches, STEPS, 1)
            wanted = by_pytorch(copy.deepcopy(module), kind, batches, micro_batches, pace)
            optimizer = optimizer_of(kind, module, pace)[1]
            first = None
            for ranks, schedule in plans:
                got = self.train(path, batches, micro_batches, optimizer, ranks, schedule)
                if first is None:
                    first = got
                    far = apart(got, wanted)
                    worst = max(worst, far)
                    if far > TOLERANCE and not self.is_exact(module, kind, batches, micro_batches, pace,
                                                                  got, wanted):
                        wrong.append(f"{kind}: losses {got}, PyTorch's {wanted}")
                elif got != first:
                    wrong.append(f"{schedule} on {ranks} ranks: other bits: {got}, {first}")
        return count, ops, worst, wrong

    def row(self, name):
        import zb

        begin = time.time()
        count, ops, worst, wrong = 0, 0, float("nan"), []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                count, ops, worst, wrong = self.family(name)
        except ModuleNotFoundError as error:
            print(f"| {name:28} | left out: {error} |", flush=True)
            return
        except zb.Error as error:
            wrong = [str(error)]
        except Exception as error:  # PyTorch's have no common class
            wrong = [f"{type(error).__name__}: {str(error)[:1500]}"]
            if os.environ.get("ZB_TRACE"):
                traceback.print_exc()
        refused = REFUSED.get(name)
        if refused:
            good = bool(wrong) and refused in wrong[0]
            said = "refused" if good else "FAILED"
        else:
            good, said = not wrong, "passed" if not wrong else "FAILED"
        print(f"| {name:28} | {count:9} | {ops:5} | {worst:8.2g} | {time.time() - begin:5.1f} s | {said} |", flush=True)
        self.suite.check(good, f"{name}: " + "\n".join(wrong))


def inside(suite, options):
    sys.path[:0] = [PACKAGE]
    os.environ.setdefault("ZB_LIBRARY", os.path.join(os.path.dirname(options.bin), "lib"))
    import torch

    import family_models

    torch.set_num_threads(1)
    print(f"| {'family':28} | {'trained':>9} | {'ops':>5} | {'greatest':8} | {'time':7} | |")
    with common.scratch() as folder:
        for name in options.only or (family_models.FAMILIES if options.all else CHOSEN):
            Families(suite, folder, options).row(name)


def outside(options):
    """Without torch; the rest is run by a Python that has it."""
    python, why = common.python_with_torch()
    if why is None:
        again = [python, os.path.abspath(__file__), "--inside", "--bin", options.bin] + ["--all"] * options.all
        again += ["--tensor-parallel", str(options.tensor_parallel), "--data-parallel", str(options.data_parallel)]
        again += ["--sequence-parallel"] * options.sequence_parallel
        return subprocess.run(again + (["--only", *options.only] if options.only else []), check=False).returncode
    print(f"ok - families # SKIP {why}; set ZB_PYTHON")
    return 0


def main():
    options = common.arguments(
        __doc__,
        ("--only", {"nargs": "*", "metavar": "NAME"}),
        ("--all", {"action": "store_true"}),
        ("--tensor-parallel", {"type": int, "default": 1}),
        ("--sequence-parallel", {"action": "store_true"}),
        ("--data-parallel", {"type": int, "default": 1}),
        ("--inside", {"action": "store_true", "help": "with torch"}),
    )
    if not options.inside:
        return outside(options)
    suite = common.Suite(options.bin)
    inside(suite, options)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
