# SPDX-License-Identifier: Apache-2.0
"""The shard gene: 16 bits computed from a buyer key, which every order of the buyer carries."""

from __future__ import annotations

from typing import Union

from .hashes import murmur3_low64, xxh64
from .texts import check_integer, parse_decimal, quoted

#: What orders are grouped by (a user id). An int is a uint64 key, a str or bytes a text key.
BuyerKey = Union[int, str, bytes]

GENE_BITS = 16
#: Genes are 0..GENE_COUNT - 1; each is the index of a vnode on the ring.
GENE_COUNT = 1 << GENE_BITS


def gene_of_uint64(key: int) -> int:
    """The gene, 0..65535, of a uint64 key, which is hashed as its 8 bytes little-endian.

    A negative key, -2^63..-1, is a signed BIGINT and taken as its two's complement.
    ValueError: the key is out of range. TypeError: it is not an int.
    """
    check_integer("buyer key", key, -(1 << 63), (1 << 64) - 1)
    return _gene_of_octets((key & (1 << 64) - 1).to_bytes(8, "little"))


def gene_of_text(key: Union[str, bytes]) -> int:
    """The gene, 0..65535, of a text key, which is hashed as its exact bytes (a str as its UTF-8).

    Nothing is trimmed, folded or normalised. The empty text is a key. Text "123" and uint64 123 are
    different keys with different genes.
    ValueError: a str has no UTF-8 form (a lone surrogate). TypeError: it is neither str nor bytes.
    """
    if isinstance(key, str):
        key = key.encode("utf-8")
    elif not isinstance(key, bytes):
        raise TypeError(f"a text key is of type {type(key).__name__}, not str or bytes")
    return _gene_of_octets(key)


def gene_of(key: BuyerKey) -> int:
    """The gene, 0..65535, of a buyer key: an int is a uint64 key, a str or bytes a text key.

    Raises what gene_of_uint64 and gene_of_text raise.
    """
    return gene_of_uint64(key) if isinstance(key, int) else gene_of_text(key)


def parse_uint64_key(text: str) -> int:
    """A uint64 key from canonical decimal: no sign, space, leading zero or point, at most 2^64 - 1.

    ValueError: the text is anything else.
    """
    key = parse_decimal(text, (1 << 64) - 1)
    if key is None:
        raise ValueError(f"{quoted(text)} is not a canonical uint64")
    return key


def _gene_of_octets(octets: bytes) -> int:
    return (xxh64(octets) ^ murmur3_low64(octets)) & (GENE_COUNT - 1)
