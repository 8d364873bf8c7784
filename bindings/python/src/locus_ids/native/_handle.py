# SPDX-License-Identifier: Apache-2.0
"""What the objects of the native library have in common: opening, closing, waiting, forks, exit."""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import warnings
import weakref
from types import TracebackType
from typing import Any, Callable, List, NoReturn, Optional, Type, TypeVar, Union

from ._library import Texts, call, ffi, lib
from .errors import DeadlineExceededError, FailedPreconditionError

_T = TypeVar("_T")
_H = TypeVar("_H", bound="Handle")

#: How long one call of the library waits at most: signals (Ctrl-C) are handled between two of them.
_SLICE_MS = 100
_MOST_MS = (1 << 32) - 1

_open_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


class Handle:
    """An object of the native library. A context manager; close() may be called at any time, by any
    thread and more than once."""

    def __init__(self, kind: str, texts: Texts, *arguments: object) -> None:
        """Opens a `kind`, such as "locus_router"; the arguments read `texts`."""
        # The last reference closes it: a call that is under way in another thread has one.
        self._pointer: Optional[Any] = _open(kind, texts, *arguments)
        self._process = os.getpid()
        _open_handles.add(self)

    def _native(self) -> Any:
        """The library's object, for one call. FailedPreconditionError: it is closed."""
        pointer = self._pointer
        if pointer is None:
            raise FailedPreconditionError(f"the {type(self).__name__} is closed")
        return pointer

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._pointer is None

    def close(self) -> None:
        """Ends the object, once calls of other threads that are under way have returned. Calls that
        follow raise FailedPreconditionError. In a forked child nothing is ended."""
        pointers = [self._pointer]
        self._pointer = None
        _open_handles.discard(self)
        if pointers[0] is not None:
            interruptibly(pointers.clear)

    def __enter__(self: _H) -> _H:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_pointer", None) is not None and self._process == os.getpid():
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: open one in each process that uses it"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{' (closed)' if self.closed else ''}>"


@atexit.register
def _close_all() -> None:
    """At the end of the interpreter: gives back numbers and worker IDs, and ends threads."""
    for handle in list(_open_handles):
        handle._pointer = None


def interruptibly(work: Callable[[], _T]) -> _T:
    """work(), which may block inside the library for long. In the main thread a signal handler that
    raises ends the wait; the work then goes on in a thread, and what it returns is dropped."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    done = threading.Event()
    results: List[_T] = []
    errors: List[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run, name="locus", daemon=True).start()
    except RuntimeError:  # at the end of the interpreter there are no new threads
        return work()
    done.wait()
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # no circle of the exception and this frame
    return results[0]


def _open(kind: str, texts: Texts, *arguments: object) -> Any:
    """What the library opens: a pointer whose last reference closes it."""
    place = ffi.new(f"{kind} **")

    def work(_texts: Texts = texts) -> Any:  # they live as long as this call, whoever waits for it
        call(getattr(lib, f"{kind}_open"), *arguments, place)
        return ffi.gc(place[0], getattr(lib, f"{kind}_close"))

    return interruptibly(work)


def seconds_of(name: str, seconds: Union[int, float], least: float = 0.0) -> float:
    """A time in seconds. ValueError: it is no number, or below `least`. TypeError."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} is of type {type(seconds).__name__}, not int or float")
    if math.isnan(seconds) or seconds < least:
        raise ValueError(f"{name} {seconds} is not a time of {least:g} s or more")
    return float(seconds)


def option_ms(name: str, seconds: Optional[Union[int, float]]) -> int:
    """An option's milliseconds; None: 0, the library's default. ValueError: below 1 ms, or above
    49 days."""
    if seconds is None:
        return 0
    ms = math.ceil(min(seconds_of(name, seconds, 0.001) * 1000, 1e15))
    if ms > _MOST_MS:
        raise ValueError(f"{name} {seconds} is above {_MOST_MS // 1000} s")
    return ms


def waiting(timeout: Optional[Union[int, float]], attempt: Callable[[int], _T]) -> _T:
    """attempt(ms) again and again, each of which waits for at most so long, until one does not raise
    DeadlineExceededError or `timeout` seconds are over; None: without end."""
    if timeout is None:
        end = math.inf
    else:
        timeout = seconds_of("timeout", timeout)
        if timeout * 1000 <= _SLICE_MS:
            return attempt(math.ceil(timeout * 1000))
        end = time.monotonic() + timeout
    while True:
        left_ms = (end - time.monotonic()) * 1000
        try:
            return attempt(max(0, math.ceil(min(_SLICE_MS, left_ms))))
        except DeadlineExceededError as error:
            if left_ms <= _SLICE_MS:
                raise DeadlineExceededError(f"after {timeout:g} s: {error}") from None
