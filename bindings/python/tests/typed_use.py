# SPDX-License-Identifier: Apache-2.0
"""A program of a user who has mypy check it: python_types_test. Nothing runs it."""

from typing import Optional, Tuple

import locus_ids
from locus_ids import OrderId, native


def place_order(ids: native.OrderIdGenerator, router: native.Router, buyer: str) -> Tuple[int, str]:
    order_id: OrderId = ids.next(buyer, timeout=0.5)
    at_hand: Optional[OrderId] = ids.try_next(buyer)
    if at_hand is not None:
        order_id = at_hand
    shard: native.RoutedShard = router.route(order_id)
    return order_id.to_int64(), shard.name


def number_of(codec: native.OrderNoCodec, order_id: OrderId) -> str:
    return str(codec.encode(order_id))


def next_invoice(store: str) -> int:
    with native.Sequence(store, "invoices") as invoices:
        try:
            return invoices.next()
        except native.DeadlineExceededError as error:
            code: int = error.code
            return -code


def next_number(store: str) -> str:
    with native.Numbers(store, "invoices", "north") as numbers:
        block: native.NumberBlock = numbers.next_block(10)
        return numbers.next(1.0, shop=7, town="H") + block.group + str(block.numbers[0])


def code_of(error: native.LocusError) -> str:
    return error.code_name + error.message


def pure(table: bytes) -> str:
    return locus_ids.Router(locus_ids.RoutingTable(table)).route(OrderId(1, 2)).name
