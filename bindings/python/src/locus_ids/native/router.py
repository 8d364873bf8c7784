# SPDX-License-Identifier: Apache-2.0
"""Routing by the tables that are published at a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from ..gene import BuyerKey
from ..order_id import OrderId
from ..order_no import OrderNo
from ..router import CohortRange
from ..texts import check_integer
from ._handle import Handle, option_ms, waiting
from ._ids import checked_gene, gene_of, words_of
from ._library import Text, Texts, call, ffi, lib


@dataclass(frozen=True)
class RoutedShard:
    """What routing says of a shard."""

    id: int
    name: str
    endpoint: str


@dataclass(frozen=True)
class BuyerRoute(CohortRange):
    """A shard that may hold orders of a buyer: of the cohorts first_cohort..end_cohort - 1."""

    shard: RoutedShard
    first_cohort: int
    end_cohort: int


class Router(Handle):
    """Says which shard an order is on, by the newest table of a place, which it follows.

    `table`: file:PATH, etcd://..., mysql://..., http://... or https://... `password`: of the place's
    user, or the bearer token of http; or `password_file`: a file with permissions 0600 whose first
    line it is. `last_good_file`: keeps the newest table, so that a process can start while its place
    is down; each process needs its own. `open_timeout`: how long opening waits for the place, in
    seconds (3).

    The table is a hint; the fence inside the shard is the truth: where a shard refuses a write, call
    refresh() and route again.
    Thread safety: all methods may be called from any thread. In a forked child routing goes on with
    the table of the fork; refresh() raises FailedPreconditionError there.
    """

    def __init__(
        self,
        table: Text,
        *,
        password: Optional[Text] = None,
        password_file: Optional[Text] = None,
        last_good_file: Optional[Text] = None,
        open_timeout: Optional[float] = None,
    ) -> None:
        # The library never frees the texts of a shard while the router is open, and never puts
        # others in their place.
        self._shards: Dict[Tuple[int, int, int], RoutedShard] = {}
        texts = Texts()
        options = ffi.new("locus_router_options *")
        options.size = ffi.sizeof("locus_router_options")
        options.password = texts.of("password", password)
        options.password_file = texts.of("password_file", password_file)
        options.last_good_file = texts.of("last_good_file", last_good_file)
        options.open_timeout_ms = option_ms("open_timeout", open_timeout)
        super().__init__("locus_router", texts, texts.of("table", table), options)

    def route(self, order_id: OrderId) -> RoutedShard:
        """The one shard that the table in force gives this order to."""
        router = self._native()
        shard = ffi.new("locus_shard *")
        call(lib.locus_router_route, router, ffi.new("locus_order_id *", words_of(order_id)), shard)
        return self._shard_of(shard)

    def routes_of(self, buyer: BuyerKey) -> Tuple[BuyerRoute, ...]:
        """The shards that may hold orders of this buyer: one, or two while the vnode moves, first
        the one with more cohorts. Their cohorts are disjoint and together complete."""
        return self.routes_of_gene(gene_of(buyer))

    def routes_of_gene(self, gene: int) -> Tuple[BuyerRoute, ...]:
        """The same for the buyers of a gene, 0..65535."""
        checked_gene(gene)
        router = self._native()
        routes = ffi.new("locus_buyer_route[2]")
        count = ffi.new("size_t *")
        call(lib.locus_router_routes_of, router, gene, routes, count)
        return tuple(
            BuyerRoute(self._shard_of(each.shard), each.first_cohort, each.end_cohort)
            for each in routes[0 : count[0]]
        )

    def routes_of_order_no(self, number: OrderNo) -> Tuple[BuyerRoute, ...]:
        """The same by the gene of an order_no, without a key. For internal hops: at a public edge
        decode the order_no first and route the order ID."""
        return self.routes_of_gene(number.gene)

    @property
    def epoch(self) -> int:
        """The epoch of the table in force."""
        return int(lib.locus_router_epoch(self._native()))

    def refresh(self, min_epoch: int, timeout: Optional[float] = 5.0) -> None:
        """Waits until a table of at least this epoch is in force. DeadlineExceededError: none
        came."""
        check_integer("min_epoch", min_epoch, 0, (1 << 64) - 1)
        waiting(
            timeout, lambda ms: call(lib.locus_router_refresh, self._native(), min_epoch, ms)
        )

    def _shard_of(self, shard: Any) -> RoutedShard:
        key = (
            shard.id,
            int(ffi.cast("uintptr_t", shard.name)),
            int(ffi.cast("uintptr_t", shard.endpoint)),
        )
        known = self._shards.get(key)
        if known is None:
            name, endpoint = (ffi.string(each).decode() for each in (shard.name, shard.endpoint))
            known = self._shards[key] = RoutedShard(shard.id, name, endpoint)
        return known
