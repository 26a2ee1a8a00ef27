"""Calls of C that take long, on a thread of their own, so that Ctrl-C works meanwhile.

The interpreter runs signal handlers in its main thread, between two instructions: while that thread is inside of C none
would run. So it waits for another thread, which is what a handler can interrupt. Threads other than the main one call C
by themselves.
"""
from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Optional


class _Call:
    """A call, and what became of it."""
    __slots__ = ("function", "arguments", "ended", "value", "error", "_over")

    def __init__(self, function: Callable[..., Any], arguments: tuple):
        self.function, self.arguments = function, arguments
        self.ended, self.value = False, None  # type: bool, Any
        self.error: Optional[BaseException] = None
        self._over = threading.Lock()
        self._over.acquire()

    def make(self) -> None:
        try:
            self.value = self.function(*self.arguments)
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error
        self.ended = True
        self._over.release()

    def wait(self, seconds: float = -1) -> None:
        """Until it has ended, or so long; a signal handler may raise out of it."""
        if not self.ended:
            self._over.acquire(timeout=seconds)


class Caller:
    """One thread, on which all calls that belong together are made, one after the other."""

    def __init__(self) -> None:
        self._asked: "queue.SimpleQueue[Optional[_Call]]" = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="zb", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            asked = self._asked.get()
            if asked is None:
                return
            asked.make()
            del asked

    def call(self, function: Callable[..., Any], *arguments: Any, end: Optional[Callable[[], None]] = None,
             give_up: Optional[Callable[[], None]] = None, grace_seconds: float = 5.0) -> Any:
        """function(*arguments). Where a signal handler raises meanwhile: `end` asks the call to end soon, and once
        grace_seconds are over, or a handler raises again, give_up calls it off; then what the first raised is raised.
        Without give_up nobody waits for the call any more."""
        made = _Call(function, arguments)
        try:
            self._asked.put(made)
            made.wait()
        except BaseException:
            if give_up is None:
                self.close()
            elif not made.ended:
                self._end(end, give_up, grace_seconds)
            raise
        if made.error is not None:
            raise made.error
        return made.value

    def _end(self, end: Optional[Callable[[], None]], give_up: Callable[[], None], grace_seconds: float) -> None:
        """Until the thread has nothing to do: a call that a handler kept from being asked for is not waited for."""
        last = _Call(lambda: None, ())
        asked = False
        try:
            self._asked.put(last)
            asked = True
            if end is not None:
                end()
            last.wait(grace_seconds)
        except BaseException:  # pylint: disable=broad-except
            pass
        if not asked:
            last = _Call(lambda: None, ())
            self._asked.put(last)
        if not last.ended:
            give_up()
        while not last.ended:  # what it uses must not be released before it has ended
            try:
                last.wait()
            except BaseException:  # pylint: disable=broad-except
                continue

    def close(self) -> None:
        """No more calls; one that is running goes on."""
        self._asked.put(None)


def call_once(function: Callable[..., Any], *arguments: Any) -> Any:
    """A long call that nothing can call off: Ctrl-C leaves it behind."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    caller = Caller()
    try:
        return caller.call(function, *arguments)
    finally:
        caller.close()
