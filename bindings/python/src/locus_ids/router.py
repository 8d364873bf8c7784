# SPDX-License-Identifier: Apache-2.0
"""Says which shard an order is on, by a routing table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple, Union

from .gene import BuyerKey, gene_of
from .order_id import COHORTS, OrderId
from .order_no import OrderNo, OrderNo64
from .routing_table import RoutingTable, Shard


@dataclass(frozen=True)
class GeneRoute:
    """Where the orders of a vnode may be."""

    owner: Shard
    target: Optional[Shard] = None  #: None while the vnode does not move
    permyriad: int = 0  #: `target` owns the cohorts below this


class CohortRange:
    """The cohorts first_cohort..end_cohort - 1."""

    first_cohort: int
    end_cohort: int

    @property
    def empty(self) -> bool:
        """The shard has none of the buyer's orders by this table and need not be asked."""
        return self.first_cohort == self.end_cohort

    def holds(self, order_id: OrderId) -> bool:
        """Whether an order of the buyer is on this shard by this table."""
        return self.first_cohort <= order_id.cohort < self.end_cohort


@dataclass(frozen=True)
class BuyerRoute(CohortRange):
    """A shard that may hold orders of a buyer: of the cohorts first_cohort..end_cohort - 1."""

    shard: Shard
    first_cohort: int
    end_cohort: int


class Router:
    """Routes by one table. Immutable; for a newer table make a new Router.

    The table is a hint; the fence inside the shard is authoritative. A caller that follows a
    published table takes only tables of a higher epoch and the same table_id.

    The methods may be called from any thread. Cost: two binary searches a route.
    """

    def __init__(self, table: RoutingTable) -> None:
        self._table = table

    @property
    def table(self) -> RoutingTable:
        """The table that this Router routes by."""
        return self._table

    def route(self, order_id: OrderId) -> Shard:
        """The one shard that the table gives this order to."""
        move = self._table.move_of(order_id.gene)
        if move is not None and order_id.cohort < move.permyriad:
            return self._shard(move.to)
        return self._table.owner_of(order_id.gene)

    def route_of_gene(self, gene: int) -> GeneRoute:
        """The owner and, while the vnode moves, the target: the cohort is unknown without the order
        ID. ValueError: the gene is not 0..65535."""
        owner = self._table.owner_of(gene)
        move = self._table.move_of(gene)
        if move is None:
            return GeneRoute(owner)
        return GeneRoute(owner, self._shard(move.to), move.permyriad)

    def route_of_order_no(self, number: Union[OrderNo, OrderNo64]) -> GeneRoute:
        """The same for the gene of an order_no, which needs no key. For internal hops: at a public
        edge decode the order_no first and route the order ID."""
        return self.route_of_gene(number.gene)

    def routes_of(self, buyer: BuyerKey) -> Tuple[BuyerRoute, ...]:
        """The shards that may hold orders of this buyer: one, or two while the vnode moves, first
        the one with more cohorts. Their cohorts are disjoint and together complete.

        Raises what gene_of raises.
        """
        return self.routes_of_gene(gene_of(buyer))

    def routes_of_gene(self, gene: int) -> Tuple[BuyerRoute, ...]:
        """The same for the buyers of a gene. ValueError: the gene is not 0..65535."""
        route = self.route_of_gene(gene)
        if route.target is None:
            return (BuyerRoute(route.owner, 0, COHORTS),)
        owner = BuyerRoute(route.owner, route.permyriad, COHORTS)
        target = BuyerRoute(route.target, 0, route.permyriad)
        return (target, owner) if route.permyriad > COHORTS // 2 else (owner, target)

    def _shard(self, shard_id: int) -> Shard:
        shard = self._table.find_shard(shard_id)
        assert shard is not None, "a table has the shards that its moves name"
        return shard
