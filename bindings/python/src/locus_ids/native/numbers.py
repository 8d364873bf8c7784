# SPDX-License-Identifier: Apache-2.0
"""Numbers by a sequence type of the store and a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

from ..texts import check_integer
from ._handle import Handle, option_ms, waiting
from ._library import Text, Texts, call, ffi, lib

_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class NumberBlock:
    """Numbers as they are counted. `group`: the day, month or year that they are of, such as
    "20261125"; empty where the type has no period. Numbers of two groups may be equal."""

    numbers: range
    group: str


class Numbers(Handle):
    """Business numbers by a sequence type of the store (`locus seq type create`), unique across all processes
    that count by it.

    `engine`: as the store of an OrderIdGenerator. `type`: its name; NotFoundError: there is none,
    FailedPreconditionError also: it was dropped. `key`: of the counter. `horizon`, `ceiling` and its
    password: as of a Sequence.

    With a period, counting begins again with each day, month or year; the date in a number and its
    counter are one decision. A changed type is followed within its lifetime. close() gives unused
    numbers back where the type says so. Thread safety and fork: as of an OrderIdGenerator.
    """

    def __init__(
        self,
        engine: Text,
        type: str,
        key: str = "",
        *,
        password: Optional[Text] = None,
        password_file: Optional[Text] = None,
        horizon: Optional[float] = None,
        ceiling: Optional[Text] = None,
        ceiling_password: Optional[Text] = None,
        ceiling_password_file: Optional[Text] = None,
    ) -> None:
        texts = Texts()
        options = ffi.new("locus_numbers_options *")
        options.size = ffi.sizeof("locus_numbers_options")
        options.password = texts.of("password", password)
        options.password_file = texts.of("password_file", password_file)
        options.horizon_ms = option_ms("horizon", horizon)
        options.ceiling = texts.of("ceiling", ceiling)
        options.ceiling_password = texts.of("ceiling_password", ceiling_password)
        options.ceiling_password_file = texts.of("ceiling_password_file", ceiling_password_file)
        super().__init__(
            "locus_numbers",
            texts,
            texts.of("engine", engine),
            texts.of("type", type),
            texts.of("key", key),
            options,
        )

    def next(self, timeout: Optional[float] = 5.0, **fields: Union[str, int]) -> str:
        """The next number, as the type's pattern writes it. `fields`: the values of the pattern's
        fields that the counter and the clock do not fill, by name. Wrong ones are an
        InvalidArgumentError and cost no number. `timeout` as of OrderIdGenerator.next."""
        texts = Texts()
        values = ffi.new("locus_named_value[]", len(fields))
        for place, (name, value) in enumerate(fields.items()):
            if isinstance(value, int) and not isinstance(value, bool):
                value = str(value)
            if not isinstance(value, str):
                raise TypeError(f"the field {name} is neither a text nor an integer")
            values[place].name = texts.of("the name of a field", name)
            values[place].text = texts.of(name, value)
        text = ffi.new("char[]", lib.LOCUS_NUMBER_TEXT_BYTES)

        def attempt(ms: int) -> str:
            call(lib.locus_numbers_next, self._native(), ms, values, len(fields), text)
            return bytes(ffi.string(text)).decode("utf-8")

        return waiting(timeout, attempt)

    def next_block(self, count: int, timeout: Optional[float] = 5.0) -> NumberBlock:
        """At least one and at most `count` numbers of one group, to be written in another way."""
        check_integer("count", count, 1, _MOST)
        block = ffi.new("locus_number_block *")

        def attempt(ms: int) -> NumberBlock:
            call(lib.locus_numbers_next_block, self._native(), ms, count, block)
            first, step = int(block.first), int(block.step)
            numbers = range(first, first + int(block.count) * step, step)
            return NumberBlock(numbers, bytes(ffi.string(block.group)).decode("ascii"))

        return waiting(timeout, attempt)
