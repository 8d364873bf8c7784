# SPDX-License-Identifier: Apache-2.0
"""Generators of order IDs."""

from __future__ import annotations

from typing import Iterable, List, Optional

from ..gene import BuyerKey
from ..order_id import OrderId
from ._handle import Handle, option_ms, waiting
from ._ids import checked_gene, gene_of, genes_array, order_id_of
from ._library import Text, Texts, call, ffi, lib
from .errors import DeadlineExceededError

#: How many IDs one call of the library makes at most, so that signals are handled in between.
_AT_ONCE = 65536


class OrderIdGenerator(Handle):
    """Hands out order IDs that are unique across all processes that share the store.

    `store`: sqlite:PATH, mysql://[user@]host/database, redis://..., etcd://...,
    locusd://...
    `password`: of the store's user; or `password_file`: a file with permissions 0600 whose first
    line it is. `create`: makes a missing store and space, for trials; in production run `locus
    store init` once. `wide`: goes on with 128-bit IDs where 64 bits are used up. `horizon`: how long
    it goes on without the store, in seconds (10 minutes); longer: larger gaps after a crash.

    IDs of one gene rise within a process; those of other processes may lag by minutes.
    Thread safety: all methods may be called from any thread; others run meanwhile.
    Fork: in a forked child calls raise FailedPreconditionError; open one there.
    """

    def __init__(
        self,
        store: Text,
        *,
        space: str = "orders",
        password: Optional[Text] = None,
        password_file: Optional[Text] = None,
        create: bool = False,
        wide: bool = False,
        horizon: Optional[float] = None,
    ) -> None:
        texts = Texts()
        options = ffi.new("locus_generator_options *")
        options.size = ffi.sizeof("locus_generator_options")
        options.space = texts.of("space", space)
        options.password = texts.of("password", password)
        options.password_file = texts.of("password_file", password_file)
        options.create = bool(create)
        options.wide = bool(wide)
        options.horizon_ms = option_ms("horizon", horizon)
        super().__init__("locus_generator", texts, texts.of("store", store), options)

    def next(self, buyer: BuyerKey, timeout: Optional[float] = 5.0) -> OrderId:
        """The next order ID of a buyer, from memory; waits for the store where none is at hand.

        `timeout` in seconds; None: without end. DeadlineExceededError: the store did not answer in
        time. OutOfRangeError: the buyer's vnode is used up.
        """
        return self.next_of_gene(gene_of(buyer), timeout)

    def next_of_gene(self, gene: int, timeout: Optional[float] = 5.0) -> OrderId:
        """The same where the gene is known, 0..65535."""
        checked_gene(gene)
        words = ffi.new("locus_order_id *")

        def attempt(ms: int) -> OrderId:
            call(lib.locus_generator_next, self._native(), gene, ms, words)
            return order_id_of(words)

        return waiting(timeout, attempt)

    def try_next(self, buyer: BuyerKey) -> Optional[OrderId]:
        """The next order ID of a buyer if one is at hand. None: none is; one is being fetched from
        the store. Never waits, so it may be called on an event loop."""
        return self.try_next_of_gene(gene_of(buyer))

    def try_next_of_gene(self, gene: int) -> Optional[OrderId]:
        """The same where the gene is known, 0..65535."""
        try:
            return self.next_of_gene(gene, 0)
        except DeadlineExceededError:
            return None

    def next_batch(
        self, buyers: Iterable[BuyerKey], timeout: Optional[float] = 5.0
    ) -> List[OrderId]:
        """One order ID for each of these buyers, in their order. Cheaper than single calls.

        All or none: where it raises, the IDs that it had by then are never used.
        """
        return self.next_batch_of_genes([gene_of(buyer) for buyer in buyers], timeout)

    def next_batch_of_genes(
        self, genes: Iterable[int], timeout: Optional[float] = 5.0
    ) -> List[OrderId]:
        """The same where the genes are known, 0..65535."""
        array, count = genes_array(genes)
        words = ffi.new("locus_order_id[]", count)
        made = ffi.new("size_t *")
        done = 0

        def attempt(ms: int) -> List[OrderId]:
            nonlocal done
            while done < count:
                most = min(count - done, _AT_ONCE)
                call(
                    lib.locus_generator_next_batch,
                    self._native(),
                    array + done,
                    most,
                    ms,
                    words + done,
                    made,
                )
                done += made[0]
            return [order_id_of(words[i]) for i in range(count)]

        return waiting(timeout, attempt)

    def warm(self, timeout: Optional[float] = 60.0) -> None:
        """Leases a segment for every section, so that the first callers need not wait."""
        waiting(timeout, lambda ms: call(lib.locus_generator_warm, self._native(), ms))
