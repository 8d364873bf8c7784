# SPDX-License-Identifier: Apache-2.0
"""Snowflake IDs under a leased worker ID."""

from __future__ import annotations

from typing import List, Optional, Tuple

from ..texts import check_integer
from ._handle import Handle, option_ms
from ._library import Text, Texts, call, ffi, lib

#: How many IDs one call of the library makes at most: 16 ms of a worker ID.
_AT_ONCE = 65536
_WORKERS = 1024


class Snowflake(Handle):
    """Snowflake IDs: 64 bits, by time, unique among all processes that lease a worker ID from the
    same space, also after crashes and clocks that were set back.

    `store`: sqlite:PATH, mysql://..., redis://..., etcd://..., zookeeper://..., locusd://..., where
    `locus lease create --first-ever` made the space. `ttl`: of the lease, in seconds (10 minutes):
    how long it goes on without the store, and how long a crashed holder's worker ID rests.
    `patience`: how long opening waits for a free worker ID, in seconds. `workers`: the first and the last one that may be
    taken (all). `reacquire`: takes another worker ID where one was lost; otherwise calls raise
    FailedPreconditionError then.

    close() gives the worker ID back. Thread safety and fork: as of an OrderIdGenerator.
    """

    def __init__(
        self,
        store: Text,
        *,
        space: str = "orders",
        password: Optional[Text] = None,
        password_file: Optional[Text] = None,
        ttl: Optional[float] = None,
        patience: Optional[float] = None,
        workers: Optional[Tuple[int, int]] = None,
        reacquire: bool = False,
    ) -> None:
        texts = Texts()
        options = ffi.new("locus_snowflake_options *")
        options.size = ffi.sizeof("locus_snowflake_options")
        options.space = texts.of("space", space)
        options.password = texts.of("password", password)
        options.password_file = texts.of("password_file", password_file)
        options.ttl_ms = option_ms("ttl", ttl)
        options.patience_ms = option_ms("patience", patience)
        if workers is not None:
            first, last = workers
            options.first_worker = check_integer("first worker", first, 0, _WORKERS - 1)
            options.last_worker = check_integer("last worker", last, first, _WORKERS - 1)
        options.reacquire = bool(reacquire)
        super().__init__("locus_snowflake", texts, texts.of("store", store), options)

    def next(self) -> int:
        """The next ID. UnavailableError: try again; FailedPreconditionError: the lease is lost."""
        number = ffi.new("int64_t *")
        call(lib.locus_snowflake_next, self._native(), number)
        return int(number[0])

    def next_batch(self, count: int) -> List[int]:
        """`count` IDs that rise. All or none: where it raises, those it had by then are never
        used."""
        check_integer("count", count, 0, (1 << 32) - 1)
        numbers = ffi.new("int64_t[]", min(count, _AT_ONCE))
        made = ffi.new("size_t *")
        ids: List[int] = []
        while len(ids) < count:
            most = min(count - len(ids), _AT_ONCE)
            call(lib.locus_snowflake_next_batch, self._native(), numbers, most, made)
            ids.extend(ffi.unpack(numbers, made[0]))
        return ids

    @property
    def worker(self) -> int:
        """The worker ID that is leased, or was last."""
        number = ffi.new("uint64_t *")
        call(lib.locus_snowflake_worker, self._native(), number)
        return int(number[0])
