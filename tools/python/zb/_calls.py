"""Calls of C that take long, on a thread of their own, so that Ctrl-C works meanwhile.

The interpreter runs signal handlers in its main thread, between two instructions: while that thread is inside of C none
would run. So it waits for another thread, which is what a handler can interrupt. Threads other than the main one call C
by themselves.
"""
from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Optional, Tuple


class Caller:
    """One thread, on which all calls that belong together are made, one after the other."""

    def __init__(self) -> None:
        self._asked: "queue.SimpleQueue[Optional[Tuple[Callable[..., Any], tuple]]]" = queue.SimpleQueue()
        self._answers: "queue.SimpleQueue[Tuple[bool, Any]]" = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="zb", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            asked = self._asked.get()
            if asked is None:
                return
            function, arguments = asked
            try:
                self._answers.put((True, function(*arguments)))
            except BaseException as error:  # pylint: disable=broad-except
                self._answers.put((False, error))
            del asked, function, arguments

    def _answer(self, timeout: Optional[float] = None) -> Any:
        good, value = self._answers.get(timeout=timeout)
        if good:
            return value
        raise value

    def call(self, function: Callable[..., Any], *arguments: Any, end: Optional[Callable[[], None]] = None,
             give_up: Optional[Callable[[], None]] = None, grace_seconds: float = 5.0) -> Any:
        """function(*arguments). Where a signal handler raises meanwhile: `end` asks the call to end soon, and once
        grace_seconds are over, or a handler raises again, give_up calls it off; then what the first raised is raised.
        Without give_up nobody waits for the call any more."""
        self._asked.put((function, arguments))
        try:
            return self._answer()
        except BaseException as error:
            if self._is_of_call(error):
                raise
            if give_up is None:
                self.close()
                raise
            self._end(end, give_up, grace_seconds)
            raise

    @staticmethod
    def _is_of_call(error: BaseException) -> bool:
        """Whether it came out of the call, or a signal handler raised it while we waited: what comes out of the call
        was raised on the other thread first."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is Caller._serve.__code__:
                return True
            trace = trace.tb_next
        return False

    def _end(self, end: Optional[Callable[[], None]], give_up: Callable[[], None], grace_seconds: float) -> None:
        try:
            if end is not None:
                end()
            self._answers.get(timeout=grace_seconds)
            return
        except BaseException:  # pylint: disable=broad-except
            give_up()
        while True:
            try:
                self._answers.get()
                return
            except BaseException:  # pylint: disable=broad-except
                continue  # it is called off already: what it uses must not be released before it has ended

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
