# SPDX-License-Identifier: Apache-2.0
"""order_nos: the numbers that customers see. What can be read of one without a key is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .texts import check_integer, octets_of, parse_decimal, parse_hex, quoted

MAX_KEY_VERSION = 127

_TEXT_LENGTH = 26
_BYTES = 16
_NARROW_FORMAT = 2
_WIDE_FORMAT = 3
_ORDER_ID_FORMAT = 15
_MAX_BIGINT = (1 << 63) - 1

# Crockford's base 32; reading ignores ASCII case, then takes I and L as 1 and O as 0.
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_DIGIT_VALUES = {
    ord(character): value
    for value, digit in enumerate(_DIGITS)
    for character in {digit, digit.lower()}
}
_DIGIT_VALUES.update({ord(one): 1 for one in "IiLl"})
_DIGIT_VALUES.update({ord(zero): 0 for zero in "Oo"})


def check_key_version(version: int) -> int:
    """`version`, if it is 0..127. ValueError: it is out of range. TypeError: it is not an int."""
    return check_integer("key version", version, 0, MAX_KEY_VERSION)


@dataclass(frozen=True, order=True)
class OrderNo:
    """The number a customer sees, 128 bits (scheme siv)::

        0 | gene 16 | format 4 | key version 7 | tag | ciphertext
        format 2, of a narrow order ID: tag 53, ciphertext 47
        format 3, of a wide order ID:   tag 44, ciphertext 56

    The gene can be read without a key, the sequence cannot. A value of this type has the right
    length and fixed bits, but it is authentic only if OrderNoCodec.decode() accepts it. At a public
    edge, decode before you query any shard.

    Several texts name one order_no (case, I L O, hex): compare, cache and rate-limit on the value
    or on to_bytes(), never on the text.

    Immutable and hashable. ValueError: the value is not an order_no; the message names the value.
    """

    value: int  #: the 128 bits as a number

    def __post_init__(self) -> None:
        check_integer("order_no", self.value, 0, (1 << 128) - 1)
        self._check(f"{self.value:032x}")

    def _check(self, shown: str) -> None:
        if self.value >> 127:
            raise _not_an_order_no(shown, "bit 127 is not 0")
        form = self.value >> 107 & 0xF
        if form == _ORDER_ID_FORMAT:
            raise _not_an_order_no(shown, "its format is that of a wide order ID")
        if form not in (_NARROW_FORMAT, _WIDE_FORMAT):
            raise _not_an_order_no(shown, f"its format is {form}, not 2 or 3")

    @classmethod
    def _of(cls, value: int, shown: str) -> OrderNo:
        number = object.__new__(cls)
        object.__setattr__(number, "value", value)
        number._check(shown)
        return number

    @classmethod
    def from_bytes(cls, octets: bytes) -> OrderNo:
        """From a VARBINARY(16) column: 16 bytes."""
        if len(octets) != _BYTES:
            raise _not_an_order_no(f"a value of {len(octets)} bytes", "16 are needed")
        return cls._of(int.from_bytes(octets, "big"), octets.hex())

    @classmethod
    def parse(cls, text: str) -> OrderNo:
        """From text: 26 base-32 digits (Crockford's alphabet: either case, I and L read as 1, O as
        0) or exactly 32 hex digits of either case."""
        octets = octets_of(text)
        if len(octets) == 2 * _BYTES:
            value = parse_hex(octets)
            if value is None:
                raise _not_an_order_no(
                    quoted(octets), "not all of its 32 characters are hex digits"
                )
        elif len(octets) == _TEXT_LENGTH:
            value = _parse_base32(octets)
        else:
            raise _not_an_order_no(
                quoted(octets),
                f"it has {len(octets)} characters; 26 base-32 or 32 hex digits are needed",
            )
        return cls._of(value, quoted(octets))

    @property
    def gene(self) -> int:
        """0..65535, the shard gene of the buyer."""
        return self.value >> 111

    @property
    def key_version(self) -> int:
        """0..127, the version of the master key that it was made with."""
        return self.value >> 100 & MAX_KEY_VERSION

    @property
    def is_wide(self) -> bool:
        """Whether it was made of a wide order ID."""
        return self.value >> 107 & 0xF == _WIDE_FORMAT

    @property
    def width(self) -> int:
        """64 or 128, in bits: the width of the order ID that it was made of."""
        return 128 if self.is_wide else 64

    def to_bytes(self) -> bytes:
        """16 bytes, big-endian, for a VARBINARY(16) column."""
        return self.value.to_bytes(_BYTES, "big")

    def to_hex(self) -> str:
        """32 lower-case hex digits."""
        return f"{self.value:032x}"

    def __str__(self) -> str:
        """26 base-32 digits, the first of them 0..3. parse() reads it back."""
        return "".join(_DIGITS[self.value >> shift & 31] for shift in range(125, -1, -5))


@dataclass(frozen=True, order=True)
class OrderNo64:
    """The number a customer sees, for a BIGINT column (schemes ff1 and ctr64)::

        0 | gene 16 | 47 bits of ciphertext

    Not authenticated, and of narrow order IDs only. Its key version is stored beside it.
    Accept a row found by its number only if decoding with the row's version gives the row's order
    ID. The value cannot be told from a narrow order ID; its column or endpoint says which it is.

    Immutable and hashable. ValueError: the value is not 0..2^63 - 1; the message names it.
    """

    value: int  #: 0..2^63 - 1

    def __post_init__(self) -> None:
        if type(self.value) is int and self.value < 0:
            raise _not_an_order_no(str(self.value), "it is negative")
        check_integer("order_no", self.value, 0, _MAX_BIGINT)

    @classmethod
    def parse(cls, text: str) -> OrderNo64:
        """From canonical decimal, at most 2^63 - 1, without sign or leading zeros."""
        value: Optional[int] = parse_decimal(text, _MAX_BIGINT)
        if value is None:
            raise _not_an_order_no(
                quoted(text),
                "a 64-bit one is a decimal of at most 2^63 - 1 without sign or leading zeros",
            )
        return cls(value)

    @property
    def gene(self) -> int:
        """0..65535, the shard gene of the buyer."""
        return self.value >> 47

    def to_int64(self) -> int:
        """For a BIGINT column."""
        return self.value

    def __str__(self) -> str:
        """Decimal. parse() reads it back."""
        return str(self.value)


def _parse_base32(octets: bytes) -> int:
    if _DIGIT_VALUES.get(octets[0], -1) > 3:
        raise _not_an_order_no(quoted(octets), "its first character is above 3")
    value = 0
    for place, octet in enumerate(octets, 1):
        digit = _DIGIT_VALUES.get(octet)
        if digit is None:
            raise _not_an_order_no(
                quoted(octets), f"character {place} is not a base-32 digit"
            )
        value = value << 5 | digit
    return value


def _not_an_order_no(shown: str, reason: str) -> ValueError:
    return ValueError(f"{shown} is not an order_no: {reason}")
