# SPDX-License-Identifier: Apache-2.0
"""The fields of an order ID or order_no that is given as text, as `locus inspect` shows them."""

from __future__ import annotations

from typing import Dict, Optional, Union

from .order_id import OrderId
from .order_no import OrderNo
from .order_no_codec import OrderNoCodec
from .router import Router
from .routing_table import MAX_PERMYRIAD
from .texts import octets_of, parse_hex, quoted

Fields = Dict[str, Union[int, str]]


def inspect(
    value: str, codec: Optional[OrderNoCodec] = None, router: Optional[Router] = None
) -> Fields:
    """The known fields of one order, in the order in which `locus inspect` prints them.

    26 characters are an order_no; 32 hex digits are a wide order ID or an order_no, by their
    format; a decimal is a narrow order ID. `codec` adds what takes the keys, `router` the shards.
    ValueError: the value is none of these, or not an order_no of the codec's space and keys.
    """
    size = len(octets_of(value))
    if size == 26:
        return _of_order_no(OrderNo.parse(value), codec, router)
    if size == 32:
        bits = parse_hex(value)
        if bits is not None and bits >> 107 & 0xF == 0xF:
            return _of_order_id(OrderId.parse(value), codec, router)
        return _of_order_no(OrderNo.parse(value), codec, router)
    if not (value.isascii() and value.isdigit()):
        raise ValueError(
            f"{quoted(value)} has {size} characters: an order_no has 26 or 32, an order ID is "
            "decimal or has 32 hex digits"
        )
    return _of_order_id(OrderId.parse(value), codec, router)


def _of_order_id(
    order_id: OrderId, codec: Optional[OrderNoCodec], router: Optional[Router]
) -> Fields:
    fields: Fields = {
        "kind": "order_id",
        "width": order_id.width,
        "gene": order_id.gene,
        "cohort": order_id.cohort,
    }
    if codec is not None:
        fields["key_version"] = codec.active
    fields["sequence"] = str(order_id.sequence)
    fields["order_id"] = str(order_id)
    if codec is not None:
        fields["order_no"] = str(codec.encode(order_id))
    if router is not None:
        fields["shard"] = router.route(order_id).name
    return fields


def _of_order_no(
    number: OrderNo, codec: Optional[OrderNoCodec], router: Optional[Router]
) -> Fields:
    order_id = None if codec is None else codec.decode(number)
    fields: Fields = {"kind": "order_no", "width": number.width, "gene": number.gene}
    if order_id is not None:
        fields["cohort"] = order_id.cohort
    fields["key_version"] = number.key_version
    if order_id is not None:
        fields["sequence"] = str(order_id.sequence)
        fields["order_id"] = str(order_id)
    fields["order_no"] = str(number)
    if router is None:
        return fields
    if order_id is not None:
        fields["shard"] = router.route(order_id).name
        return fields
    # The order may be on either shard, unless all or none of the vnode has moved.
    route = router.route_of_order_no(number)
    if route.target is None or route.permyriad == 0:
        fields["shard"] = route.owner.name
    elif route.permyriad == MAX_PERMYRIAD:
        fields["shard"] = route.target.name
    else:
        fields["shard"] = route.owner.name
        fields["target"] = route.target.name
    return fields
