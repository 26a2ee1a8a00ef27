"""Weights into modules of PyTorch."""
from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, Tuple

from . import _safetensors, arrays
from ._library import called, invalid, usage
from ._options import nearest

Place = Callable[[str, Tuple[int, ...], str], int]


def prefixes(ours: Iterable[str], theirs: Iterable[str]) -> Tuple[str, str]:
    """(what to take off, what to put before) so that our names are theirs; ("", "") where they are as they are."""
    ours, theirs = list(ours), set(theirs)
    if not ours or all(name in theirs for name in ours):
        return "", ""
    first = ours[0]
    parts = first.split(".")
    for k in range(1, len(parts)):
        off = ".".join(parts[:k]) + "."
        if all(name.startswith(off) and name[len(off):] in theirs for name in ours):
            return off, ""
    for other in sorted(theirs):
        if other.endswith("." + first):
            before = other[:-len(first)]
            if all(before + name in theirs for name in ours):
                return "", before
    return "", ""


@contextlib.contextmanager
def weights_file(weights: Any) -> Iterator[Any]:
    """A path as it is; of a module, or of tensors by names, a file of their values for the time being."""
    if weights is None or isinstance(weights, (str, os.PathLike)):
        yield weights
        return
    found = weights.state_dict() if hasattr(weights, "state_dict") else weights
    if not isinstance(found, Mapping):
        raise usage("weights: expected a path, a module or tensors by names, got a %s" % type(weights).__name__)
    empty = [name for name, value in found.items() if getattr(value, "is_meta", False)]
    if empty:
        raise invalid("weights: '%s' has no value: it is on the device meta" % empty[0])
    kinds = set(arrays.TORCH.values())  # a module may have others, of which no plan has any
    views = {name: arrays.view(value.cpu() if hasattr(value, "cpu") else value, "weights: '%s'" % name)
             for name, value in found.items() if str(getattr(value, "dtype", "bool")).rpartition(".")[2] in kinds}
    with tempfile.TemporaryDirectory(prefix="zb-") as folder:
        path = os.path.join(folder, "weights.safetensors")
        _safetensors.write(path, {name: (view.dtype, view.shape, view.address) for name, view in views.items()})
        with called(path, "weights"):
            yield path


def load(values: Callable[[Place], None], model: Any, aliases: Mapping[str, str]) -> None:
    """values: calls what it is given for each parameter, and writes to the addresses that it gets. aliases: other names
    of tied parameters; a module that has them as tensors of their own gets the value twice."""
    import torch
    if not isinstance(model, torch.nn.Module):
        raise invalid("load_into takes a torch.nn.Module, got a %s" % type(model).__name__)
    targets: Dict[str, Any] = model.state_dict()  # detached, of the same memory
    for name, buffer in model.named_buffers():
        targets.setdefault(name, buffer)
    shapes: Dict[str, Tuple[Tuple[int, ...], str]] = {}

    def look(name: str, shape: Tuple[int, ...], dtype: str) -> int:
        shapes[name] = (shape, dtype)
        return 0

    values(look)
    off, before = prefixes(shapes, targets)
    copies: Dict[str, Any] = {}
    for name, (shape, dtype) in shapes.items():  # all of it fits, or nothing is written
        target = targets.get(before + name[len(off):])
        if target is None:
            raise invalid("the module has no '%s'" % name, nearest(name, targets))
        if tuple(target.shape) != shape:
            raise invalid("the module's '%s' is %s: the plan's is %s" % (
                name, arrays.shape_text(tuple(target.shape), str(target.dtype)), arrays.shape_text(shape, dtype)))

    def place(name: str, shape: Tuple[int, ...], dtype: str) -> int:
        target = targets[before + name[len(off):]]
        same = target.dtype == getattr(torch, arrays.TORCH[dtype])
        if same and target.device.type == "cpu" and target.is_contiguous():
            return target.data_ptr()
        copies[name], address = arrays.empty(shape, dtype, "torch")
        return address

    values(place)
    with torch.no_grad():
        for name, copy in copies.items():
            targets[before + name[len(off):]].copy_(copy)
        for name, first in aliases.items() if shapes else ():
            other, written = targets.get(before + name[len(off):]), targets.get(before + first[len(off):])
            if other is not None and written is not None and other.data_ptr() != written.data_ptr():
                other.copy_(written)
