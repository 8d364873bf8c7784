# SPDX-License-Identifier: Apache-2.0
"""order_nos, by the native library: fast, and in constant time."""

from __future__ import annotations

from typing import Iterable, List

from ..order_id import OrderId
from ..order_no import OrderNo, OrderNo64, check_key_version
from ._handle import Handle
from ._ids import order_id_of, words_of, words_of_number
from ._library import Text, Texts, call, ffi, lib


class OrderNoCodec(Handle):
    """Makes and reads order_nos of one space. As locus_ids.OrderNoCodec, but fit for a public edge.

    `key_file`: a key ring (`locus keys new`), which only its owner may read: FailedPreconditionError
    otherwise; NotFoundError; InvalidArgumentError: it is none.

    Thread safety: all methods may be called from any thread, in a forked child, too.
    """

    def __init__(self, key_file: Text, space: str = "orders") -> None:
        texts = Texts()
        super().__init__(
            "locus_codec", texts, texts.of("key_file", key_file), texts.of("space", space)
        )

    def encode(self, order_id: OrderId) -> OrderNo:
        """The order_no of an order ID under the active key: the same each time."""
        return self.encode_batch([order_id])[0]

    def encode_batch(self, order_ids: Iterable[OrderId]) -> List[OrderNo]:
        """The order_nos of these order IDs, in their order."""
        words = [words_of(order_id) for order_id in order_ids]
        codec = self._native()
        if not words:
            return []
        numbers = ffi.new("locus_order_no[]", len(words))
        call(
            lib.locus_codec_encode, codec, ffi.new("locus_order_id[]", words), len(words), numbers
        )
        return [OrderNo(number.high << 64 | number.low) for number in numbers]

    def decode(self, number: OrderNo) -> OrderId:
        """The order ID of an order_no. InvalidArgumentError, a ValueError: it is none of this space
        under a key of the ring; why is not said."""
        words = ffi.new("locus_order_no *", words_of_number(number))
        order_id = ffi.new("locus_order_id *")
        call(lib.locus_codec_decode, self._native(), words, order_id)
        return order_id_of(order_id)

    @property
    def active(self) -> int:
        """The version of the key that encode uses."""
        version = ffi.new("uint8_t *")
        call(lib.locus_codec_active_version, self._native(), version)
        return int(version[0])

    def encode_ff1(self, order_id: OrderId, version: int) -> OrderNo64:
        """The 64-bit number of a narrow order ID, for a BIGINT column; store `version` beside it.
        It is not authenticated. InvalidArgumentError: the ID is wide. NotFoundError: the ring has
        no key of this version."""
        check_key_version(version)
        words = ffi.new("locus_order_id *", words_of(order_id))
        number = ffi.new("int64_t *")
        call(lib.locus_codec_encode_ff1, self._native(), words, 1, version, number)
        return OrderNo64(int(number[0]))

    def decode_ff1(self, number: OrderNo64, version: int) -> OrderId:
        """The order ID of a 64-bit number: right only if a row says the same. NotFoundError: the
        ring has no key of this version."""
        check_key_version(version)
        if not isinstance(number, OrderNo64):
            raise TypeError(f"a 64-bit number is of type {type(number).__name__}, not OrderNo64")
        order_id = ffi.new("locus_order_id *")
        call(lib.locus_codec_decode_ff1, self._native(), number.to_int64(), version, order_id)
        return order_id_of(order_id)
