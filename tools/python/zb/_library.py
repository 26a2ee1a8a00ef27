"""Finds libzb, checks that it is the one that this package was made for, and turns its failures into exceptions."""
from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any, Iterator, List, Optional

from . import _c
from ._words import in_python

ENVIRONMENT = "ZB_LIBRARY"
NAMES = ("libzb.so", "libzb-runtime.so")  # the second has no compiler, and needs no LLVM


class Error(Exception):
    """What went wrong, in the words of the programs: its text has diagnostics with their places, notes and a hint.

    code: the name of a row of zb/status.def ("INVALID", "INFEASIBLE", "PEER", ...); exit_status: what zb-run would end
    with; message: the first line alone; hint: what to do, or None; diagnostics: what the compiler said of the program.
    """

    def __init__(self, code: str, message: str, hint: Optional[str] = None, *, text: Optional[str] = None,
                 diagnostics: str = "", exit_status: int = 1):
        if text is None:
            text = "error: %s" % message + ("\n  hint: %s" % hint if hint else "")
        super().__init__((diagnostics + text).rstrip("\n"))
        self.code, self.message, self.hint = code, message, hint
        self.diagnostics, self.exit_status = diagnostics, exit_status
        self.told = False  # by another process of the run


def usage(message: str, hint: Optional[str] = None) -> Error:
    return Error("USAGE", message, hint, exit_status=2)


def invalid(message: str, hint: Optional[str] = None) -> Error:
    return Error("INVALID", message, hint, exit_status=1)


@contextlib.contextmanager
def called(path: str, name: str) -> Iterator[None]:
    """Errors say the name of what the user gave, not the path at which it lies for a while."""
    try:
        yield
    except Error as error:
        error.args = tuple(str(text).replace(path, name) for text in error.args)
        error.message, error.diagnostics = error.message.replace(path, name), error.diagnostics.replace(path, name)
        raise


# ---- Finding it ----

def _folders() -> Iterator[pathlib.Path]:
    """Where libraries may be: beside the package, in the build folder of the checkout that it is of, as pkg-config
    says, in the usual places."""
    package = pathlib.Path(__file__).resolve().parent
    yield package / "lib"
    checkouts = [package.parent.parent.parent]
    try:
        from ._checkout import CHECKOUT  # written when the package is built from a checkout
        checkouts.append(pathlib.Path(CHECKOUT))
    except ImportError:
        pass
    for checkout in checkouts:
        if (checkout / "include" / "zb" / "base.h").exists():
            yield checkout / "build" / "lib"
    for name in ("zb", "zb-runtime"):
        try:
            found = subprocess.run(["pkg-config", "--variable=libdir", name], capture_output=True, text=True)
            if found.returncode == 0 and found.stdout.strip():
                yield pathlib.Path(found.stdout.strip())
        except OSError:
            break
    for prefix in (sys.prefix, "/usr/local", "/usr"):
        for folder in ("lib", "lib64", "lib/%s-linux-gnu" % os.uname().machine):
            yield pathlib.Path(prefix) / folder


def _find() -> str:
    given = os.environ.get(ENVIRONMENT)
    if given:
        path = pathlib.Path(given)
        for name in NAMES if path.is_dir() else ():
            if (path / name).exists():
                return str(path / name)
        if path.is_file():
            return str(path)
        raise Error("UNAVAILABLE", "%s names '%s', where there is neither %s nor %s" % ((ENVIRONMENT, given) + NAMES),
                    "give the path of the library, or the folder that it is in", exit_status=4)
    tried: List[str] = []
    for folder in _folders():
        if str(folder) in tried:
            continue
        tried.append(str(folder))
        for name in NAMES:
            if (folder / name).exists():
                return str(folder / name)
    raise Error("UNAVAILABLE", "there is neither %s nor %s in %s" % (NAMES + (", ".join(tried),)),
                "build zbc (cmake --preset release && ninja -C build), or install it, or set %s to the folder of the "
                "library" % ENVIRONMENT, exit_status=4)


def _load() -> Any:
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise Error("UNAVAILABLE", "'%s' cannot be loaded: %s" % (path, error),
                    "libzb.so needs LLVM 22 and the other libraries that zbc was built with", exit_status=4) from None
    wrong = "it has no zb_struct_bytes"
    if hasattr(library, "zb_struct_bytes"):
        library.zb_struct_bytes.restype = ctypes.c_size_t
        library.zb_struct_bytes.argtypes = [ctypes.c_char_p]
        other = [s.__name__ for s in _c.STRUCTS
                 if library.zb_struct_bytes(s.__name__.encode()) != ctypes.sizeof(s)]
        wrong = "%s has another size there" % other[0] if other else ""
    if wrong:
        raise Error("UNAVAILABLE", "'%s' is of another version than this package: %s" % (path, wrong),
                    "install both from one checkout, or set %s to the library of the package's version" % ENVIRONMENT,
                    exit_status=4)
    for name, (result, arguments) in _c.FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            continue  # of the compiler, which the runtime's library has not
        function.restype, function.argtypes = result, arguments
        if result is _c.zb_status:
            function.errcheck = _check
    library.path = path  # type: ignore[attr-defined]
    return library


_loading = threading.Lock()
_loaded: Any = None


def library() -> Any:
    """The C library; found and checked when it is first asked for."""
    global _loaded
    with _loading:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def compiler() -> Any:
    """The library, if it can compile."""
    found = library()
    if not hasattr(found, "zb_compile"):
        raise Error("UNAVAILABLE", "'%s' has no compiler: it runs plans alone" % found.path,
                    "compile where libzb.so is, and take the plan's folder here; or set %s to libzb.so" % ENVIRONMENT,
                    exit_status=4)
    return found


# ---- Its failures ----

def error_of(status: int, diagnostics: str = "") -> Error:
    """The exception of a status, which is released."""
    lib = library()
    text = spoken(lib.zb_status_text(status))
    hint = lib.zb_status_hint_text(status)
    if diagnostics and lib.zb_status_told(status):
        text = ""  # the diagnostics say it
    told = lib.zb_status_told(status)
    error = Error(lib.zb_code_name(lib.zb_status_code(status)).decode(),
                  spoken(lib.zb_status_message(status)), spoken(hint) if hint else None, text=text,
                  diagnostics=in_python(diagnostics),
                  exit_status=lib.zb_status_exit(status))
    error.told = told and not diagnostics
    lib.zb_status_free(status)
    return error


def _check(status, function, arguments):
    if status:
        raise error_of(status.value)
    return None


def spoken(text: bytes) -> str:
    """What the library says, in the words of this package."""
    return in_python(text.decode(errors="replace"))


def text_of(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode(errors="replace")


def take_text(pointer: int) -> str:
    """A text that C gave away."""
    if not pointer:
        raise MemoryError
    text = ctypes.string_at(pointer).decode(errors="replace")
    library().zb_free(pointer)
    return text
