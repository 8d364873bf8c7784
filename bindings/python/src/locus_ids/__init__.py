# SPDX-License-Identifier: Apache-2.0
"""Reads what locus makes: genes, order IDs, order_nos and routing tables.

locus gives every order an ID that already knows where the order lives. This package is for programs
in Python that receive such IDs: it finds the shard of an order or a buyer, and decodes the numbers
that customers see. It hands out no order IDs: that does locus_ids.native, with the native library.

The words and formats are those of docs/inside/formats.md of locus. Whatever is refused raises ValueError,
with a message that names the value, the limit and the place, but never a key.
"""

from .gene import BuyerKey, gene_of, gene_of_text, gene_of_uint64, parse_uint64_key
from .inspection import inspect
from .key_ring import KeyRing
from .order_id import OrderId
from .order_no import OrderNo, OrderNo64
from .order_no_codec import OrderNoCodec
from .router import BuyerRoute, GeneRoute, Router
from .routing_table import RoutingTable, Shard, VnodeMove, VnodeRange

__all__ = [
    "BuyerKey",
    "BuyerRoute",
    "GeneRoute",
    "KeyRing",
    "OrderId",
    "OrderNo",
    "OrderNo64",
    "OrderNoCodec",
    "Router",
    "RoutingTable",
    "Shard",
    "VnodeMove",
    "VnodeRange",
    "gene_of",
    "gene_of_text",
    "gene_of_uint64",
    "inspect",
    "parse_uint64_key",
]
