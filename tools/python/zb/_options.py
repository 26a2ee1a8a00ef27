"""Keyword arguments into structs of parameters: every field of C by its name."""
from __future__ import annotations

import ctypes
import difflib
import inspect
import os
from typing import Any, Callable, Dict, Iterable, List, Mapping

from . import _c
from ._library import library, usage
from .arrays import TORCH
from .options import GIVEN, LISTS, SIZES


def nearest(name: str, names: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(names), 1)
    return "did you mean '%s'?" % found[0] if found else "there are: " + ", ".join(names)


def _other(name: str, names: Iterable[str], struct: type) -> str:
    """Where a name belongs that is none of these."""
    if struct is _c.zb_compile_params and name in ("lr", "learning_rate", "weight_decay", "betas", "eps", "momentum"):
        return "it is of the optimizer: optimizer='adamw:lr=1e-3,weight_decay=0.1'"
    rest = {_c.zb_compile_params: _c.zb_session_params, _c.zb_session_params: _c.zb_compile_params}[struct]
    if name in names_of(rest):
        return "it is an option of " + ("zb.Session" if rest is _c.zb_session_params else "zb.compile")
    return nearest(name, names)


def kinds_of(struct: type) -> Dict[str, Any]:
    """The types of its fields."""
    return {field[0]: field[1] for field in struct._fields_}  # type: ignore[attr-defined]


def names_of(struct: type) -> List[str]:
    """What can be given."""
    taken = set(GIVEN[struct.__name__]) | set(LISTS.values())
    return [field[0] for field in struct._fields_ if field[0] not in taken]  # type: ignore[attr-defined]


def brief(value: Any) -> str:
    """A value in a line of a message."""
    text = repr(value)
    return "a " + type(value).__name__ if hasattr(value, "shape") or "\n" in text or len(text) > 60 else text


def plain(value: Any) -> Any:
    """A number of NumPy's, or of a tensor with one element, as Python's."""
    if isinstance(value, (str, bytes, bool, int, float)) or not hasattr(value, "dtype") or not hasattr(value, "item"):
        return value
    try:
        return value.item()
    except (ValueError, RuntimeError):  # several elements
        return value


_WRITTEN = {"optimizer": "write its settings: 'sgd:lr=0.1,momentum=0.9', 'adamw:lr=3e-4'",
            "weights": "tensors go to the run: zb.Session(plan, weights=...)"}


def _text(name: str, value: Any) -> bytes:
    value = plain(value)
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        value = ",".join(value)
    if type(value).__name__ == "dtype":  # torch.bfloat16
        value = {word: ours for ours, word in TORCH.items()}.get(str(value).rpartition(".")[2], value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
        raise usage("%s: expected a text, got %s" % (name, brief(value)), _WRITTEN.get(name))
    return (repr(float(value)) if isinstance(value, float) else str(os.fspath(value) if isinstance(value, os.PathLike)
                                                             else value)).encode()


def _size(name: str, value: Any) -> int:
    value = plain(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 2e9
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 64:
        return value
    bytes_ = ctypes.c_uint64()
    if not isinstance(value, str) or not library().zb_bytes_parse(value.encode(), ctypes.byref(bytes_)):
        raise usage("%s: expected bytes like 800, 2e9, '64M' or '1.5G', got %s" % (name, brief(value)))
    return bytes_.value


# Of the numbers, those that may be 0, which the library takes as not given, and those whose sign it does not look at.
_FROM_ZERO, _UNCHECKED = ("delay_spread", "delays", "seed"), ("evaluation_batches", "steps")


def _number(name: str, kind: type, value: Any) -> Any:
    value = plain(value)
    whole = kind is not ctypes.c_double and kind is not ctypes.c_bool
    good = isinstance(value, bool) if kind is ctypes.c_bool else \
        isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not good and hasattr(value, "__index__") and whole and not (isinstance(value, bool) or
                                                                   getattr(value, "shape", ())):
        value, good = value.__index__(), True  # a number of NumPy's
    if not good:
        what = "True or False" if kind is ctypes.c_bool else "a whole number" if whole else "a number"
        raise usage("%s: expected %s, got %s" % (name, what, brief(value)))
    if whole and kind(value).value != value:
        raise usage("%s: %d is out of range" % (name, value))
    if kind is not ctypes.c_bool and (value == 0 or name in _UNCHECKED and value < 0) and name not in _FROM_ZERO:
        raise usage("%s: expected %s, got %r" % (name, "at least 1" if whole else "a number above 0", value))
    return value


def takes(options: type) -> Callable[[Any], Any]:
    """Of a function with **options: its signature and its text name all of them, for help() and completion."""
    def name(function: Any) -> Any:
        given = inspect.signature(function)
        first = [one for one in given.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
                for key, kind in options.__annotations__.items()]
        function.__signature__ = given.replace(parameters=[*first, *more])
        function.__doc__ = "%s\n\n    %s" % ((function.__doc__ or "").rstrip(), (options.__doc__ or "").strip())
        return function
    return name


def fill(params: ctypes.Structure, options: Mapping[str, Any], what: str) -> None:
    """Sets fields; what they point to is kept by the struct itself. None is as if an option were not given."""
    kinds = kinds_of(type(params))
    names = names_of(type(params))
    keeps: List[Any] = []
    for name, value in options.items():
        if name not in names:
            raise usage("%s has no option '%s'" % (what, name), _other(name, names, type(params)))
        if value is None:
            continue
        if name in LISTS:
            if isinstance(value, (str, bytes)):
                value = [value]
            texts = (ctypes.c_char_p * len(value))(*[_text(name, item) for item in value])
            keeps.append(texts)
            setattr(params, name, ctypes.cast(texts, kinds[name]))
            setattr(params, LISTS[name], len(value))
        elif name in SIZES:
            setattr(params, name, _size(name, value))
        elif kinds[name] is ctypes.c_char_p:
            setattr(params, name, _text(name, value))
        else:
            setattr(params, name, _number(name, kinds[name], value))
    params.keeps = keeps


def record(struct: ctypes.Structure) -> Dict[str, Any]:
    """The plain fields of a struct, texts decoded."""
    found = {}
    for field in struct._fields_:  # type: ignore[misc]
        name, kind = field[0], field[1]
        value = getattr(struct, name)
        if kind is ctypes.c_char_p:
            found[name] = value.decode(errors="replace") if value is not None else None
        elif isinstance(value, (int, float)):
            found[name] = value
    return found


assert _c.zb_compile_params.__name__ in GIVEN and _c.zb_session_params.__name__ in GIVEN
