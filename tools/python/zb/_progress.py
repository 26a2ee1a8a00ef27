"""Says what a long call does, so that nobody takes it for one that hangs.

Nothing is said of the first seconds. Then a terminal or a notebook has one line, which is written anew each second;
elsewhere, as in a log, each part that takes as long itself gets a line, and the end one.
"""
from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Optional, Tuple

SILENT_SECONDS = 3.0


class Progress:
    """with Progress("zb.compile", verbose) as said: said("exporting the module"). verbose: True says all of it at
    once, False nothing; None as above."""

    def __init__(self, what: str, verbose: Optional[bool]):
        self._what, self._verbose, self._silent = what, verbose, 0.0 if verbose else SILENT_SECONDS
        first = os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")) == "0"  # of several processes
        self._off = verbose is False or sys.stderr is None or (verbose is None and not first)
        self._line = not self._off and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self._lock, self._over = threading.Lock(), threading.Event()
        self._began = time.monotonic()
        self._part: Tuple[str, float] = ("", self._began)
        self._told, self._width = "", 0
        self._thread = threading.Thread(target=self._tick, name="zb-progress", daemon=True)

    def __enter__(self) -> "Progress":
        if not self._off:
            self._thread.start()
        return self

    def __call__(self, part: str) -> None:
        with self._lock:
            self._part = (part, time.monotonic())
            if self._verbose or (self._line and time.monotonic() - self._began >= self._silent):
                self._tell()

    def _write(self, text: str, end: str) -> None:
        try:
            sys.stderr.write(("\r" if self._line else "") + text.ljust(self._width if self._line else 0) + end)
            sys.stderr.flush()
        except (OSError, ValueError):  # a closed stream is no reason to fail
            self._off = True
        self._width = len(text)

    def _tell(self) -> None:
        part, since = self._part
        if self._off or not part or (not self._line and self._told == part):
            return
        seconds = "" if not self._line else " %.0f s" % (time.monotonic() - since)
        self._write("%s: %s ...%s" % (self._what, part, seconds), "" if self._line else "\n")
        self._told = part

    def _tick(self) -> None:
        while not self._over.wait(0.5):
            with self._lock:
                since = self._began if self._line else self._part[1]
                if time.monotonic() - since >= self._silent:
                    self._tell()

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._told and not self._off:
            how = "done" if kind is None else "ended"
            self._write("%s: %s in %.1f s" % (self._what, how, time.monotonic() - self._began), "\n")
