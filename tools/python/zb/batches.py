"""A batch of the caller's as the inputs of a plan: every name, type and shape is checked before anything runs."""
from __future__ import annotations

import inspect
import warnings
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import _options, arrays
from ._library import Error, invalid
from .plan import Value

Path = Tuple[Tuple[bool, Any], ...]  # of a value in a structure: whether it is an attribute, and its name or place
_ABSENT = object()


class Call(NamedTuple):
    """How the example of a module was given to forward(). Paths begin with the name of an argument."""
    signature: inspect.Signature
    paths: Mapping[str, Path]  # of the inputs
    fixed: Mapping[Path, Any]  # of what is no tensor, and so a constant of the plan


def _words(inputs: Sequence[Value]) -> str:
    return ", ".join("'%s'" % value.name for value in inputs)


def _follow(value: Any, path: Path) -> Any:
    for is_attribute, key in path:
        if hasattr(value, "shape"):
            return _ABSENT  # rows of an array are no parts
        try:
            value = getattr(value, key) if is_attribute else value[key]
        except (KeyError, IndexError, AttributeError, TypeError):
            return _ABSENT
    return value


def _shown(path: Path) -> str:
    return "".join(".%s" % key if is_attribute else "[%r]" % (key,) for is_attribute, key in path)


def _surplus(value: Any, path: Path, known: Sequence[Path]) -> Iterator[Tuple[Path, Any, bool]]:
    """What a batch has where the example has nothing, and whether it is in a dictionary, of which forward() need not
    read all; deeper than arguments only arrays count there."""
    is_named = isinstance(value, Mapping)
    for key, part in value.items() if is_named else enumerate(value) if isinstance(value, (list, tuple)) else ():
        inner = path + ((False, key),)
        if any(one[:len(inner)] == inner and one != inner for one in known):
            yield from _surplus(part, inner, known)
        elif inner not in known and (hasattr(part, "shape") or part is not None and not (path and is_named)):
            yield inner, part, is_named


def _check_rest(arguments: Mapping[str, Any], call: Call, by_name: bool) -> None:
    """What is no input is as it was in the example, or forward() would compute something else. by_name: the batch is a
    dictionary."""
    wrong, left = [], []
    for path, fixed in call.fixed.items():
        value = _options.plain(_follow(arguments, path))
        if value is not _ABSENT and value is not fixed and (hasattr(value, "shape") or value != fixed):
            wrong.append((path, _options.brief(fixed), value))
    for path, value, is_named in _surplus(arguments, (), [*call.paths.values(), *call.fixed]):
        if is_named and (by_name or len(path) > 1):
            left.append("%s%s" % (path[0][1], _shown(path[1:])))
        else:
            wrong.append((path, "left out", value))
    for path, was, value in wrong:
        raise invalid("'%s%s' was %s when the plan was compiled: in the batch it is %s" % (
            path[0][1], _shown(path[1:]), was, _options.brief(value)),
            "compile another plan for it; a number is an input where the example has a tensor")
    _warn_of(left)


def _warn_of(left: Sequence[str]) -> None:
    if left:  # forward() with them may compute something else
        warnings.warn("the batch has '%s', which is no input of the plan: it is not read" % "', '".join(left),
                      stacklevel=8)


def _forms(batch: Any, call: Call) -> Iterator[Mapping[str, Any]]:
    """Arguments of forward() by their names: all of them, or the only one."""
    if isinstance(batch, Mapping):
        yield batch
    for args in (batch, (batch,)) if isinstance(batch, (tuple, list)) else ((batch,),):
        try:
            yield call.signature.bind_partial(*args).arguments
        except TypeError:  # too many
            pass


def _as_compiled(batch: Any, inputs: Sequence[Value], call: Call) -> Optional[Dict[str, Any]]:
    """A batch of the structure that the example had; None: it has another."""
    for arguments in _forms(batch, call):
        found = {value.name: _follow(arguments, call.paths[value.name]) for value in inputs}
        if all(value is not _ABSENT for value in found.values()):
            _check_rest(arguments, call, arguments is batch)
            return found
    return None


def _missing(batch: Any, inputs: Sequence[Value], call: Call) -> Optional[str]:
    """Of a structure deeper than arguments: where its first part is that a batch has not."""
    paths = [call.paths[value.name] for value in inputs]
    for arguments in _forms(batch, call):
        if any(path[0][1] in arguments for path in paths):
            return _shown(next(path for path in paths if _follow(arguments, path) is _ABSENT)[1:]) or None
    return None


def _depth(value: Any) -> int:
    return 1 + _depth(value[0]) if isinstance(value, (list, tuple)) and value else 0


def _by_name(batch: Any, inputs: Sequence[Value], arguments: Sequence[str], call: Optional[Call]) -> Dict[str, Any]:
    """arguments: of forward(), of which the loss may not read all; what it does not read may come and is left. call: of
    a module that was compiled here."""
    names = [value.name for value in inputs]
    if len(names) == 1 and isinstance(batch, list) and (len(batch) != 1 or _depth(batch) <= len(inputs[0].shape)):
        batch = (batch,)  # numbers
    found = _as_compiled(batch, inputs, call) if call else None
    if found is not None:
        return found
    if isinstance(batch, Mapping) and all(name in batch for name in names):
        _warn_of([str(name) for name in batch if name not in names and name not in arguments])
        return dict(batch)
    missing = _missing(batch, inputs, call) if call else None
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
    batch = batch if len(batch) == len(inputs) else [one for one in batch if one is not None]
    if len(batch) == len(arguments) > len(inputs):
        return dict(zip(arguments, batch))
    if len(batch) != len(inputs):
        raise invalid("the batch has %d array%s: the plan reads %d, %s" % (
            len(batch), "" if len(batch) == 1 else "s", len(inputs), _words(inputs)),
            "a tuple has them in this order, a dictionary by name; what was no tensor when the plan was compiled is "
            "left out")
    return dict(zip(names, batch))


def whole_shape(value: Value, micro_batches: int) -> Tuple[int, ...]:
    """Of an input in a batch: the rows of all micro-batches one behind the other."""
    if not value.shape:
        return (micro_batches,)
    return (micro_batches * value.shape[0],) + value.shape[1:]


def _wrong(value: Value, found: arrays.View, micro_batches: int) -> Error:
    whole = whole_shape(value, micro_batches)
    needed = arrays.shape_text(whole, value.dtype)
    message = "the input '%s' is %s: expected %s, %d micro-batch%s of %s" % (
        value.name, found, needed, micro_batches, "" if micro_batches == 1 else "es",
        arrays.shape_text(value.shape, value.dtype))
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
             fewer: bool = False, call: Optional[Call] = None) -> Tuple[List[arrays.View], int]:
    """Contiguous memory of every input, in their order, and how many rows there are: 0 means those of all
    micro-batches, others come with `fewer` alone. INVALID names the input, what came, and what is needed."""
    found: List[arrays.View] = []
    wrong: List[Error] = []
    by_name, each, counts = _by_name(batch, inputs, arguments, call), rows_of(inputs), set()
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
