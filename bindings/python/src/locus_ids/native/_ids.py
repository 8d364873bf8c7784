# SPDX-License-Identifier: Apache-2.0
"""Values of the library, from and to those of this package."""

from __future__ import annotations

from typing import Any, Iterable, List, Tuple

from ..gene import GENE_COUNT, BuyerKey
from ..order_id import MAX_NARROW_SEQUENCE, NARROW_SEQUENCE_BITS, OrderId
from ..order_no import OrderNo
from ..texts import check_integer
from ._library import call, ffi, lib

_LOW = (1 << 64) - 1


def gene_of(key: BuyerKey) -> int:
    """As locus_ids.gene_of, with the same errors, by the native library."""
    if isinstance(key, int):
        check_integer("buyer key", key, -(1 << 63), _LOW)
        return int(lib.locus_gene_of_uint64(key & _LOW))
    if isinstance(key, str):
        key = key.encode("utf-8")
    elif not isinstance(key, bytes):
        raise TypeError(f"a buyer key is of type {type(key).__name__}, not int, str or bytes")
    return int(lib.locus_gene_of_text(key, len(key)))


def checked_gene(gene: int) -> int:
    """`gene`. ValueError: it is not 0..65535. TypeError."""
    return check_integer("gene", gene, 0, GENE_COUNT - 1)


def uuid_v7() -> bytes:
    """The 16 bytes of a UUID of version 7; those of one process rise."""
    octets = ffi.new("uint8_t[]", lib.LOCUS_UUID_BYTES)
    call(lib.locus_uuid_v7, octets)
    return bytes(octets)


def order_id_of(words: Any) -> OrderId:
    """From a locus_order_id."""
    first, rest = words.first, words.rest
    return OrderId(first >> NARROW_SEQUENCE_BITS, rest or first & MAX_NARROW_SEQUENCE)


def words_of(order_id: OrderId) -> Tuple[int, int]:
    """To a locus_order_id."""
    if not isinstance(order_id, OrderId):
        raise TypeError(f"an order ID is of type {type(order_id).__name__}, not OrderId")
    first = order_id.gene << NARROW_SEQUENCE_BITS
    if order_id.is_wide:
        return first | MAX_NARROW_SEQUENCE, order_id.sequence
    return first | order_id.sequence, 0


def words_of_number(number: OrderNo) -> Tuple[int, int]:
    """To a locus_order_no."""
    if not isinstance(number, OrderNo):
        raise TypeError(f"an order_no is of type {type(number).__name__}, not OrderNo")
    return number.value >> 64, number.value & _LOW


def genes_array(genes: Iterable[int]) -> Tuple[Any, int]:
    """A uint16_t[] and its length."""
    values: List[int] = [checked_gene(gene) for gene in genes]
    return ffi.new("uint16_t[]", values), len(values)
