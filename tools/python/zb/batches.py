"""A batch of the caller's as the inputs of a plan: every name, type and shape is checked before anything runs."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from . import arrays
from ._library import Error, invalid
from ._options import nearest
from .plan import Value


def _words(inputs: Sequence[Value]) -> str:
    return ", ".join("'%s'" % value.name for value in inputs)


def _by_name(batch: Any, inputs: Sequence[Value], arguments: Sequence[str]) -> Dict[str, Any]:
    """arguments: of forward(), of which the loss may not read all; what it does not read may come and is left."""
    names = [value.name for value in inputs]
    if isinstance(batch, Mapping):
        for name in batch:
            if name not in names and name not in arguments:
                raise invalid("the batch has '%s', which is no input of the plan" % (name,), nearest(str(name), names))
        for name in names:
            if name not in batch:
                raise invalid("the batch has no '%s': the plan reads %s" % (name, _words(inputs)),
                              "a dictionary has every input by its name")
        return dict(batch)
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


def arranged(batch: Any, inputs: Sequence[Value], micro_batches: int,
             arguments: Sequence[str] = ()) -> List[arrays.View]:
    """Contiguous memory of every input, in their order. INVALID names the input, what came, and what is needed."""
    found: List[arrays.View] = []
    wrong: List[Error] = []
    by_name = _by_name(batch, inputs, arguments)
    for value in inputs:
        view = arrays.view(by_name[value.name], "the input '%s'" % value.name)
        shapes = (whole_shape(value, micro_batches), (micro_batches,) + value.shape)
        if view.dtype != value.dtype or view.shape not in shapes:
            wrong.append(_wrong(value, view, micro_batches))
        found.append(view)
    if wrong:
        raise wrong[0]
    return found
