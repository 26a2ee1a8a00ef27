"""PyTorch's split backward passes, made right for the stages of plans.

A stage of a zero-bubble order has its backward pass in two parts. PyTorch's first part remembers, for each group of
parameters, the gradients at the nodes where these parameters meet what comes from the inputs; the second begins there
(torch.distributed.pipelining._backward, of PyTorch 2.13). It goes wrong where a parameter meets inputs in several
places: in a stage that uses one weight, or a value made of weights alone, more than once (T5's positions).

- A parameter that meets two groups leaves both of them with all parameters of both, whose gradients are then counted
  twice. Here groups that share a node become one.
- The second part lets go of a group's nodes, of which other groups have some: those between two places of one
  parameter. Here they are kept until all groups have passed.
- A stage whose inputs have no gradient (frozen layers in front) has no such nodes, and its parameters get no gradients.
  Here its whole backward pass is the second part, as on the first stage.
"""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Sequence, Tuple

import torch
import torch.distributed.pipelining._backward as _backward
import torch.distributed.pipelining.stage as _stage


def _parameter_groups(inputs: List[Any], parameters: List[Any], readers: Any) -> List[Dict[str, Any]]:
    """Of parameters and the nodes where they meet inputs, without a node in two of them."""
    of_inputs, _ = _backward.reverse_closure(inputs, set(), readers)
    groups: List[Dict[str, Any]] = []
    for parameter in parameters:
        _, met = _backward.reverse_closure([parameter], of_inputs, readers)
        if not met:
            continue
        own, others = {"params": {parameter}, "intermediates": set(met)}, []
        for group in groups:
            if group["intermediates"] & met:
                own = {key: own[key] | group[key] for key in own}
            else:
                others.append(group)
        groups = [*others, own]
    return groups


def _backward_inputs(outputs: Sequence[torch.Tensor], gradients: Any, inputs: Sequence[Any],
                     weights: Any) -> Tuple[Tuple[Any, ...], List[Dict[str, Any]]]:
    if any(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs):
        return _first_part(outputs, gradients, inputs, weights)
    left = [(value, None if gradients is None else gradients[i]) for i, value in enumerate(outputs)
            if value.requires_grad]
    return (None,) * len(inputs), [{"left": left}] if left else []


def _backward_weights(weights: Any, groups: List[Dict[str, Any]], retain_graph: bool = False) -> Tuple[Any, ...]:
    if groups and "left" in groups[0]:
        torch.autograd.backward(*zip(*groups.pop()["left"]))
        return tuple(weight.grad for weight in weights)
    return _second_part(weights, groups, retain_graph=True)


_first_part, _second_part = _backward.stage_backward_input, _backward.stage_backward_weight


@contextlib.contextmanager
def split_backward() -> Iterator[None]:
    """While a step runs: the functions above in place of PyTorch's."""
    places = [(_backward, "get_param_groups", _parameter_groups), (_stage, "stage_backward_input", _backward_inputs),
              (_stage, "stage_backward_weight", _backward_weights)]
    before = [getattr(module, name) for module, name, _ in places]
    for module, name, function in places:
        setattr(module, name, function)
    try:
        yield
    finally:
        for (module, name, _), function in zip(places, before):
            setattr(module, name, function)
