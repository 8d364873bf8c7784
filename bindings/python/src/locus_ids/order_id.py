# SPDX-License-Identifier: Apache-2.0
"""Order IDs: the gene of the buyer and a sequence that is unique within its space and gene."""

from __future__ import annotations

from dataclasses import dataclass

from .gene import GENE_COUNT
from .texts import check_integer, octets_of, parse_decimal, parse_hex, quoted

NARROW_SEQUENCE_BITS = 47
WIDE_SEQUENCE_BITS = 56
MAX_NARROW_SEQUENCE = (1 << NARROW_SEQUENCE_BITS) - 1
MAX_SEQUENCE = (1 << WIDE_SEQUENCE_BITS) - 1
#: Cohorts are 0..COHORTS - 1.
COHORTS = 10000

_MAX_BIGINT = (1 << 63) - 1


@dataclass(frozen=True, order=True)
class OrderId:
    """An order ID, which contains the vnode of its order. One type for two formats::

        narrow,  64 bits   0 | gene 16 | sequence 47                           a positive BIGINT
        wide,   128 bits   0 | gene 16 | 1111 | 1 x43 | 0 x8 | sequence 56     from sequence 2^47 on

    Bits are listed from the highest down; bytes are big-endian. The order of IDs is that of (gene,
    sequence) across both widths, and that of the bytes in a column VARBINARY(16).

    Immutable and hashable. ValueError: gene or sequence is out of range, or, of the factories, the
    value is not an order ID; the message names the value.
    """

    gene: int  #: 0..65535
    sequence: int  #: 0..2^56 - 1

    def __post_init__(self) -> None:
        check_integer("gene", self.gene, 0, GENE_COUNT - 1)
        if type(self.sequence) is int and self.sequence > MAX_SEQUENCE:
            raise ValueError(
                f"sequence {self.sequence} is above 2^56 - 1, the last one of an order ID"
            )
        check_integer("sequence", self.sequence, 0, MAX_SEQUENCE)

    @classmethod
    def from_int64(cls, value: int) -> OrderId:
        """From a BIGINT column: a narrow ID, 0..2^63 - 1."""
        if type(value) is not int:
            raise TypeError(f"an order ID is of type {type(value).__name__}, not int")
        if value < 0:
            raise _not_an_order_id(str(value), "it is negative")
        if value > _MAX_BIGINT:
            raise _not_an_order_id(str(value), "it is above 2^63 - 1; a wide one has 16 bytes")
        return cls(value >> NARROW_SEQUENCE_BITS, value & MAX_NARROW_SEQUENCE)

    @classmethod
    def from_bytes(cls, octets: bytes) -> OrderId:
        """From a VARBINARY(16) column: 8 bytes (narrow) or 16 (wide)."""
        if len(octets) not in (8, 16):
            raise _not_an_order_id(f"a value of {len(octets)} bytes", "8 or 16 are needed")
        value = int.from_bytes(octets, "big")
        if len(octets) == 16:
            return cls._from_wide(value, octets.hex())
        if value > _MAX_BIGINT:
            raise _not_an_order_id(octets.hex(), "bit 63 is not 0")
        return cls.from_int64(value)

    @classmethod
    def parse(cls, text: str) -> OrderId:
        """From text: canonical decimal (narrow) or exactly 32 hex digits of either case (wide)."""
        octets = octets_of(text)
        if len(octets) == 32:
            bits = parse_hex(octets)
            if bits is None:
                raise _not_an_order_id(
                    quoted(octets), "not all of its 32 characters are hex digits"
                )
            return cls._from_wide(bits, quoted(octets))
        value = parse_decimal(octets, _MAX_BIGINT)
        if value is None:
            raise _not_an_order_id(
                quoted(octets),
                "neither a decimal of at most 2^63 - 1 without sign or leading zeros nor "
                "32 hex digits",
            )
        return cls.from_int64(value)

    @classmethod
    def _from_wide(cls, value: int, shown: str) -> OrderId:
        first, rest = value >> 64, value & ((1 << 64) - 1)
        if first >> 63:
            raise _not_an_order_id(shown, "bit 127 is not 0")
        if first & MAX_NARROW_SEQUENCE != MAX_NARROW_SEQUENCE:
            raise _not_an_order_id(shown, "bits 110 to 64 are not all 1")
        if rest > MAX_SEQUENCE:
            raise _not_an_order_id(shown, "bits 63 to 56 are not all 0")
        if rest <= MAX_NARROW_SEQUENCE:
            raise _not_an_order_id(
                shown, "its sequence is below 2^47, which only narrow IDs have"
            )
        return cls(first >> NARROW_SEQUENCE_BITS, rest)

    @property
    def is_wide(self) -> bool:
        """Whether the ID has 128 bits and not 64."""
        return self.sequence > MAX_NARROW_SEQUENCE

    @property
    def width(self) -> int:
        """64 or 128, in bits."""
        return 128 if self.is_wide else 64

    @property
    def cohort(self) -> int:
        """0..9999, the unit in which orders move between shards."""
        return (self.sequence % COHORTS * 6181 + self.gene * 2531) % COHORTS

    def to_int64(self) -> int:
        """For a BIGINT column. ValueError: the ID is wide and does not fit 64 bits."""
        if self.is_wide:
            raise ValueError(f"order ID {self} is wide and does not fit 64 bits")
        return self.gene << NARROW_SEQUENCE_BITS | self.sequence

    def to_bytes(self) -> bytes:
        """For a VARBINARY(16) column: 8 bytes (narrow) or 16 (wide), big-endian."""
        if not self.is_wide:
            return self.to_int64().to_bytes(8, "big")
        first = self.gene << NARROW_SEQUENCE_BITS | MAX_NARROW_SEQUENCE
        return (first << 64 | self.sequence).to_bytes(16, "big")

    def __str__(self) -> str:
        """Decimal (narrow) or 32 lower-case hex digits (wide). parse() reads it back."""
        return self.to_bytes().hex() if self.is_wide else str(self.to_int64())


def _not_an_order_id(shown: str, reason: str) -> ValueError:
    return ValueError(f"{shown} is not an order ID: {reason}")
