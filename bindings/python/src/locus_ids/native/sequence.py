# SPDX-License-Identifier: Apache-2.0
"""Sequences: one counter, taken a segment at a time."""

from __future__ import annotations

from typing import Optional

from ..texts import check_integer
from ._handle import Handle, option_ms, waiting
from ._library import Text, Texts, call, ffi, lib

_MOST = (1 << 63) - 1


class Sequence(Handle):
    """The numbers of one counter, unique across all processes that use its engine.

    `engine`: as the store of an OrderIdGenerator. `key`: the counter's name, with `key_prefix` before
    it. `increment`: between two numbers, and the first number. After `max_value` it starts again
    where `wrap` is set; otherwise OutOfRangeError. `horizon`: as of an OrderIdGenerator. `ceiling`:
    for Redis only, an sqlite or mysql store that keeps a ceiling for the counter, so that no number
    repeats after Redis lost some; each process that uses the counter must name it.

    Within a process numbers rise; close() gives unused ones back. Thread safety and fork: as of an
    OrderIdGenerator.
    """

    def __init__(
        self,
        engine: Text,
        key: str,
        *,
        password: Optional[Text] = None,
        password_file: Optional[Text] = None,
        key_prefix: Optional[str] = None,
        increment: int = 1,
        max_value: int = _MOST,
        wrap: bool = False,
        horizon: Optional[float] = None,
        ceiling: Optional[Text] = None,
        ceiling_password: Optional[Text] = None,
        ceiling_password_file: Optional[Text] = None,
    ) -> None:
        self._increment = check_integer("increment", increment, 1, _MOST)
        texts = Texts()
        options = ffi.new("locus_sequence_options *")
        options.size = ffi.sizeof("locus_sequence_options")
        options.password = texts.of("password", password)
        options.password_file = texts.of("password_file", password_file)
        options.key_prefix = texts.of("key_prefix", key_prefix)
        options.increment = increment
        options.max_value = check_integer("max_value", max_value, 1, _MOST)
        options.wrap = bool(wrap)
        options.horizon_ms = option_ms("horizon", horizon)
        options.ceiling = texts.of("ceiling", ceiling)
        options.ceiling_password = texts.of("ceiling_password", ceiling_password)
        options.ceiling_password_file = texts.of("ceiling_password_file", ceiling_password_file)
        super().__init__(
            "locus_sequence", texts, texts.of("engine", engine), texts.of("key", key), options
        )

    def next(self, timeout: Optional[float] = 5.0) -> int:
        """The next number; `timeout` as of OrderIdGenerator.next."""
        number = ffi.new("int64_t *")

        def attempt(ms: int) -> int:
            call(lib.locus_sequence_next, self._native(), ms, number)
            return int(number[0])

        return waiting(timeout, attempt)

    def next_block(self, count: int, timeout: Optional[float] = 5.0) -> range:
        """At least one and at most `count` numbers, which follow each other."""
        check_integer("count", count, 1, _MOST)
        first = ffi.new("int64_t *")
        length = ffi.new("int64_t *")

        def attempt(ms: int) -> range:
            length[0] = count
            call(lib.locus_sequence_next_block, self._native(), ms, first, length)
            start = int(first[0])
            return range(start, start + int(length[0]) * self._increment, self._increment)

        return waiting(timeout, attempt)
