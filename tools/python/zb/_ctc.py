"""The CTC loss, written with ops: torch.nn.functional.ctc_loss reads lengths as numbers, which a graph has none of."""
from __future__ import annotations

import torch

_NEVER = -1e30  # the logarithm of what has no probability; infinity would make gradients that are no numbers


def _padded(targets, lengths):
    """Targets of all rows behind each other, as one row each."""
    if targets.dim() == 2:
        return targets
    begins = torch.cumsum(lengths, 0) - lengths
    places = begins.unsqueeze(1) + torch.arange(targets.shape[0])
    return targets[places.clamp(max=targets.shape[0] - 1)]


def _shifted(values, count):
    return torch.nn.functional.pad(values, (count, 0), value=_NEVER)[:, : values.shape[1]]


def _likelihood(log_probs, targets, input_lengths, target_lengths, blank):
    """Logarithms of the probabilities of all ways through (time, rows, classes) that spell the targets."""
    rows, count = targets.shape
    blanks = torch.full_like(targets, blank)
    labels = torch.cat([torch.stack([blanks, targets], 2).reshape(rows, 2 * count), blanks[:, :1]], 1)
    place = torch.arange(2 * count + 1)
    # From a label to the next one without a blank between them, where they differ.
    skips = torch.cat([torch.zeros_like(labels[:, :2], dtype=torch.bool), labels[:, 2:] != labels[:, :-2]], 1)
    skips = skips & (place % 2 == 1)
    reached = torch.where(place < 2, log_probs[0].gather(1, labels), _NEVER)
    for step in range(1, log_probs.shape[0]):
        ways = [reached, _shifted(reached, 1), torch.where(skips, _shifted(reached, 2), _NEVER)]
        after = torch.logsumexp(torch.stack(ways), 0) + log_probs[step].gather(1, labels)
        reached = torch.where((step < input_lengths).unsqueeze(1), after, reached)
    ends = torch.stack([2 * target_lengths, (2 * target_lengths - 1).clamp(min=0)], 1)
    both = reached.gather(1, ends)
    return torch.where(target_lengths > 0, both.logsumexp(1), both[:, 0])


def loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """torch.nn.functional.ctc_loss."""
    is_one = log_probs.dim() == 2
    if is_one:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
    input_lengths = torch.as_tensor(input_lengths, dtype=torch.int64).reshape(-1)
    target_lengths = torch.as_tensor(target_lengths, dtype=torch.int64).reshape(-1)
    targets = _padded(targets.to(torch.int64), target_lengths)
    is_target = torch.arange(targets.shape[1]) < target_lengths.unsqueeze(1)
    targets = torch.where(is_target, targets, blank)  # behind them may be anything, and no class
    likelihood = _likelihood(log_probs, targets, input_lengths, target_lengths, blank)
    losses = torch.where(likelihood > _NEVER / 2, -likelihood, 0.0 if zero_infinity else torch.inf)
    if reduction == "mean":
        return (losses / target_lengths.clamp(min=1)).mean()
    return losses.sum() if reduction == "sum" else losses[0] if is_one else losses
