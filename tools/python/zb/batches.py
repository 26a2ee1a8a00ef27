"""A batch of the caller's as the inputs of a plan: every name, type and shape is checked before anything runs."""
from __future__ import annotations

import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import arrays
from ._library import Error, invalid
from .plan import Value

Path = Sequence[Tuple[bool, Any]]  # of a value in a structure: whether it is an attribute, and its name or place


def _words(inputs: Sequence[Value]) -> str:
    return ", ".join("'%s'" % value.name for value in inputs)


def _follow(value: Any, path: Sequence[Tuple[bool, Any]]) -> Any:
    for is_attribute, key in path:
        value = getattr(value, key) if is_attribute else value[key]
    return value


def _as_compiled(batch: Any, inputs: Sequence[Value], paths: Mapping[str, Path]) -> Optional[Dict[str, Any]]:
    """A batch of the structure that the example had, arguments of forward() or the only one; None: it has another."""
    calls = [((), batch), ((batch,), {})] if isinstance(batch, Mapping) else \
        [(batch if isinstance(batch, (tuple, list)) else (batch,), {}), ((batch,), {})]
    for call in calls:
        try:
            return {value.name: _follow(call, paths[value.name]) for value in inputs}
        except (KeyError, IndexError, AttributeError, TypeError):
            continue
    return None


def _missing(batch: Any, inputs: Sequence[Value], paths: Mapping[str, Path]) -> Optional[str]:
    """Of a structure deeper than arguments: where its first part is that a batch has not."""
    for value in inputs:
        (_, is_named), rest = paths[value.name][0], paths[value.name][1:]
        try:
            _follow(((batch if isinstance(batch, (tuple, list)) else (batch,)), batch)[is_named], rest)
        except (KeyError, IndexError, AttributeError, TypeError):
            return "".join(".%s" % key if is_attribute else "[%r]" % (key,) for is_attribute, key in rest[1:]) or None
    return None


def _depth(value: Any) -> int:
    return 1 + _depth(value[0]) if isinstance(value, (list, tuple)) and value else 0


def _by_name(batch: Any, inputs: Sequence[Value], arguments: Sequence[str],
             paths: Mapping[str, Path]) -> Dict[str, Any]:
    """arguments: of forward(), of which the loss may not read all; what it does not read may come and is left. paths:
    where they were in the example of a module."""
    names = [value.name for value in inputs]
    if isinstance(batch, Mapping) and all(name in batch for name in names):
        surplus = [str(name) for name in batch if name not in names and name not in arguments]
        if surplus:  # forward() with them may compute something else
            warnings.warn("the batch has '%s', which the plan was compiled without: it is not read" %
                          "', '".join(surplus), stacklevel=6)
        return dict(batch)
    if len(names) == 1 and isinstance(batch, list) and (len(batch) != 1 or _depth(batch) <= len(inputs[0].shape)):
        batch = (batch,)  # numbers
    found = _as_compiled(batch, inputs, paths) if paths else None
    if found is not None:
        return found
    missing = _missing(batch, inputs, paths) if paths else None
    if missing:
        raise invalid("the batch has no %s, which the example of the plan had" % missing,
                      "give it the structure that was compiled: " + ", ".join(names))
    if isinstance(batch, Mapping):
        missing = next(name for name in names if name not in batch)
        raise invalid("the batch has no '%s': the plan reads %s" % (missing, _words(inputs)),
                      "a dictionary has every input by its name, or the structure that was compiled; this one has %s" %
                      (", ".join("'%s'" % (name,) for name in batch) or "nothing"))
    if not isinstance(batch, (tuple, list)):
        batch = (batch,)
    if len(batch) == len(arguments) > len(inputs):
        return dict(zip(arguments, batch))
    if len(batch) != len(inputs):
        raise invalid("the batch has %d arrays: the plan reads %d, %s" % (len(batch), len(inputs), _words(inputs)),
                      "a tuple has them in this order, a dictionary by name")
    return dict(zip(names, batch))


def whole_shape(value: Value, micro_batches: int) -> Tuple[int, ...]:
    """Of an input in a batch: the rows of all micro-batches one behind the other."""
    if not value.shape:
        return (micro_batches,)
    return (micro_batches * value.shape[0],) + value.shape[1:]


def _wrong(value: Value, found: arrays.View, micro_batches: int) -> Error:
    whole = whole_shape(value, micro_batches)
    needed = arrays.shape_text(whole, value.dtype)
    message = "the input '%s' is %s: expected %s, %d micro-batches of %s" % (
        value.name, found, needed, micro_batches, arrays.shape_text(value.shape, value.dtype))
    if found.dtype != value.dtype:
        name = arrays.TORCH.get(value.dtype, value.dtype)
        return invalid(message, "convert it: array.astype('%s'), tensor.to(torch.%s)" % (name, name))
    if found.shape[1:] == whole[1:] and len(found.shape) == len(whole):
        return invalid(message, "a step takes %d rows; DataLoader(..., batch_size=%d, drop_last=True) gives as many"
                       % (whole[0], whole[0]))
    return invalid(message)


def rows_of(inputs: Sequence[Value]) -> int:
    """Of each input in a micro-batch, where all have as many; else 1: whole micro-batches are the rows."""
    rows = {value.shape[0] if value.shape else 0 for value in inputs}
    return rows.pop() if len(rows) == 1 and 0 not in rows else 1


def _fewer(value: Value, shape: Tuple[int, ...], micro_batches: int, each: int) -> int:
    """How many rows an array has, where these are fewer than those of a batch; else 0."""
    unit = value.shape[0] // each if value.shape else 1
    whole = whole_shape(value, micro_batches)
    fits = len(shape) == len(whole) and shape[1:] == whole[1:] and 0 < shape[0] < whole[0] and shape[0] % unit == 0
    return shape[0] // unit if fits else 0


def arranged(batch: Any, inputs: Sequence[Value], micro_batches: int, arguments: Sequence[str] = (),
             fewer: bool = False, paths: Optional[Mapping[str, Path]] = None) -> Tuple[List[arrays.View], int]:
    """Contiguous memory of every input, in their order, and how many rows there are: 0 means those of all
    micro-batches, others come with `fewer` alone. INVALID names the input, what came, and what is needed."""
    found: List[arrays.View] = []
    wrong: List[Error] = []
    by_name, each, counts = _by_name(batch, inputs, arguments, paths or {}), rows_of(inputs), set()
    for value in inputs:
        view = arrays.view(by_name[value.name], "the input '%s'" % value.name, value.dtype)
        is_whole = view.shape in (whole_shape(value, micro_batches), (micro_batches,) + value.shape)
        counts.add(0 if is_whole else _fewer(value, view.shape, micro_batches, each))
        if view.dtype != value.dtype or not (is_whole or (fewer and len(counts) == 1 and 0 not in counts)):
            wrong.append(_wrong(value, view, micro_batches))
        found.append(view)
    if wrong:
        raise wrong[0]
    return found, counts.pop() if counts else 0
