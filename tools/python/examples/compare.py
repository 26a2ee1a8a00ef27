"""The same training with PyTorch, for --check of the examples: gradients of micro-batches added up, then AdamW."""
import itertools
import sys

import torch

TOLERANCE = 1e-5


def take(loader, count):
    """That many batches, over as many epochs as it takes."""
    return list(itertools.islice(itertools.chain.from_iterable(itertools.repeat(loader)), count))


def split(batch, count):
    """The rows of a batch, in their order, in `count` parts."""
    if isinstance(batch, dict):
        parts = {name: t.chunk(count) for name, t in batch.items()}
        return [{name: parts[name][i] for name in parts} for i in range(count)]
    return list(zip(*(t.chunk(count) for t in batch)))


def same(what, ours, theirs, tolerance=TOLERANCE):
    difference = abs(ours - theirs)
    print("%s: zb %.8f, PyTorch %.8f, difference %.1e" % (what, ours, theirs, difference))
    if not difference <= tolerance * max(1, abs(theirs)):
        sys.exit("error: that is more than %g" % tolerance)


def train(model, loss_of, batches, micro_batches, lr, weight_decay):
    """The loss of each step. Weight decay is of matrices, as zb's."""
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": weight_decay},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for batch in batches:
        total = 0.0
        optimizer.zero_grad()
        for part in split(batch, micro_batches):
            loss = loss_of(part) / micro_batches
            loss.backward()
            total += float(loss.detach().double())
        optimizer.step()
        losses.append(total)
    return losses


def check(model, loss_of, batches, micro_batches, losses, trained, lr=1e-3, weight_decay=0.1):
    """Whether the losses are those of PyTorch from the same weights, and `trained` has what PyTorch ends with."""
    wanted = train(model, loss_of, batches, micro_batches, lr, weight_decay)
    step = max(range(len(wanted)), key=lambda k: abs(losses[k] - wanted[k]))
    same("the loss of %d steps that differs most (step %d)" % (len(wanted), step + 1), losses[step], wanted[step])
    theirs = dict(model.named_parameters())
    worst = max(float((p.detach() - theirs[name].detach()).abs().max()) for name, p in trained.named_parameters())
    print("weights differ by up to %.1e" % worst)
    if worst > 2e-3:
        sys.exit("error: these are other weights")
