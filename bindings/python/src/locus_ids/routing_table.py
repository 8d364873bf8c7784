# SPDX-License-Identifier: Apache-2.0
"""Routing tables: which shard owns which vnodes, in one version (epoch)."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .gene import GENE_COUNT
from .json_document import (
    MAX_DOCUMENT_BYTES,
    Array,
    Integer,
    Map,
    Object,
    Text,
    pointer_to,
    read_document,
    refusal,
)
from .texts import check_integer, invisible_in, parse_hex, quoted

MAX_PERMYRIAD = 10000
MAX_EPOCH = (1 << 63) - 1  #: fits a BIGINT; the first epoch is 1
MAX_STEP = (1 << 63) - 1
MAX_WEIGHT = 1000000
MAX_SHARDS = 65536
MAX_LABELS = 65536  #: of all shards together
MAX_NAME_BYTES = 64  #: of a shard or a label
MAX_TEXT_BYTES = 2048  #: of an endpoint or the value of a label
MAX_ALL_TEXT_BYTES = 8 << 20  #: of all names, endpoints and labels together

_TABLE_ID_DIGITS = 16
_DEFAULT_WEIGHT = 100
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")


@dataclass(frozen=True)
class Shard:
    """A physical database that owns ranges of vnodes."""

    id: int  #: from 1
    name: str
    endpoint: str  #: a URL or address, without credentials
    weight: int = _DEFAULT_WEIGHT  #: its portion of the ring; 0: planners empty it
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


class VnodeRange(NamedTuple):
    """The vnodes above the previous range, up to and including `last`, belong to `shard`."""

    last: int
    shard: int  #: the id of a shard


class VnodeMove(NamedTuple):
    """Vnodes first..last are moving to shard `to`, which owns their cohorts below `permyriad`."""

    first: int
    last: int
    to: int  #: the id of a shard
    permyriad: int  #: 0..10000
    step: int = 0  #: the number of the move's last change; 0: no number was given


class RoutingTable:
    """One routing table, read from its JSON document and checked as a whole.

    Refused (ValueError) is what the C++ library refuses: an unknown shard, a repeated id, name or
    endpoint, an unsorted or repeated `last`, overlapping moves, first > last, a move of a vnode
    that `to` already owns, a number out of range, unknown or repeated members, no shards, no
    ranges, an endpoint with credentials, more of anything than the limits above, and malformed
    JSON. The message begins with the JSON Pointer of the offending value. No message quotes an
    endpoint.

    Immutable. Take documents from your own publishers: unlike the C++ library, this one reads all
    of a document, up to 32 MiB, before it checks it.
    """

    epoch: int  #: 1..2^63 - 1
    table_id: str  #: 16 hex digits that the table keeps through all its epochs; "": it has none
    shards: Tuple[Shard, ...]  #: by id
    ranges: Tuple[VnodeRange, ...]
    moves: Tuple[VnodeMove, ...]  #: by vnode

    def __init__(self, document: Union[str, bytes]) -> None:
        """Reads a JSON document. ValueError: it is not a valid routing table."""
        total = _TextTotal()
        members = read_document(document, _table_shape(total))
        table_id = members.get("table_id", "")
        if "table_id" in members and not table_id:
            raise refusal("/table_id", "it is empty")
        self.epoch = members["epoch"]
        shards = [Shard(**shard) for shard in members["shards"]]
        self.ranges = tuple(VnodeRange(**of_range) for of_range in members["ranges"])
        moves = [VnodeMove(**move) for move in members.get("moves", [])]
        if not 1 <= self.epoch <= MAX_EPOCH:
            raise refusal("/epoch", _out_of(self.epoch, 1, MAX_EPOCH))
        _check_table_id(table_id)
        _check_shards(shards)
        known = {shard.id: shard for shard in shards}
        _check_ranges(self.ranges, known)
        self._lasts = [of_range.last for of_range in self.ranges]
        self._shards = known
        self._check_moves(moves)
        self.table_id = table_id.lower()
        self.shards = tuple(sorted(shards, key=lambda shard: shard.id))
        self.moves = tuple(sorted(moves))
        self._move_lasts = [move.last for move in self.moves]

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> RoutingTable:
        """Reads a file. ValueError: it is not a valid routing table; the message begins with the
        path. OSError: it cannot be read."""
        with open(path, "rb") as file:
            document = file.read(MAX_DOCUMENT_BYTES + 1)
        try:
            return cls(document)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def owner_of(self, gene: int) -> Shard:
        """The owner of a vnode: of the first range whose `last` is not below it; a gene above the
        highest `last` wraps to the first range. ValueError: the gene is not 0..65535."""
        check_integer("gene", gene, 0, GENE_COUNT - 1)
        return self._shards[self._owner_id_of(gene)]

    def move_of(self, gene: int) -> Optional[VnodeMove]:
        """The move that a vnode takes part in. ValueError: the gene is not 0..65535."""
        check_integer("gene", gene, 0, GENE_COUNT - 1)
        place = bisect_left(self._move_lasts, gene)
        if place == len(self.moves) or self.moves[place].first > gene:
            return None
        return self.moves[place]

    def find_shard(self, shard_id: int) -> Optional[Shard]:
        """None: no shard has this id."""
        return self._shards.get(shard_id)

    def __eq__(self, other: object) -> bool:
        """Two tables with the same contents are equal, in whatever order they were written."""
        if not isinstance(other, RoutingTable):
            return NotImplemented
        return self._contents() == other._contents()

    def __hash__(self) -> int:
        return hash((self.epoch, self.table_id, self.shards, self.ranges, self.moves))

    def __repr__(self) -> str:
        return (f"<RoutingTable epoch={self.epoch} table_id={self.table_id!r} "
                f"shards={len(self.shards)} ranges={len(self.ranges)} moves={len(self.moves)}>")

    def _contents(self) -> Tuple[Any, ...]:
        return (self.epoch, self.table_id, self.shards, self.ranges, self.moves)

    def _owner_id_of(self, gene: int) -> int:
        place = bisect_left(self._lasts, gene)
        return self.ranges[place if place < len(self.ranges) else 0].shard

    def _check_moves(self, moves: Sequence[VnodeMove]) -> None:
        """Stops at the first vnode that moves twice: the work is bounded by vnodes and moves."""
        move_of_vnode: List[Optional[int]] = [None] * GENE_COUNT
        for index, move in enumerate(moves):
            pointer = pointer_to("/moves", index)
            self._check_move(move, pointer)
            for vnode in range(move.first, move.last + 1):
                other = move_of_vnode[vnode]
                if other is not None:
                    raise refusal(pointer, f"vnode {vnode} is also in /moves/{other}")
                if self._owner_id_of(vnode) == move.to:
                    raise refusal(
                        pointer_to(pointer, "to"), f"shard {move.to} already owns vnode {vnode}"
                    )
                move_of_vnode[vnode] = index

    def _check_move(self, move: VnodeMove, pointer: str) -> None:
        if move.first > move.last:
            raise refusal(
                pointer_to(pointer, "first"), f"{move.first} is above last, {move.last}"
            )
        if move.to not in self._shards:
            raise refusal(pointer_to(pointer, "to"), f"no shard has id {move.to}")
        for name, value, most in (
            ("permyriad", move.permyriad, MAX_PERMYRIAD),
            ("step", move.step, MAX_STEP),
        ):
            if value > most:
                raise refusal(pointer_to(pointer, name), _out_of(value, 0, most))


class _TextTotal:
    """Counts what all shards have together; refuses once a limit is passed."""

    def __init__(self) -> None:
        self._labels = 0
        self._bytes = 0

    def add(self, shard: Dict[str, Any], pointer: str) -> None:
        labels = shard.get("labels", {})
        self._labels += len(labels)
        if self._labels > MAX_LABELS:
            raise refusal(pointer, f"more than {MAX_LABELS} labels of all shards together")
        texts = [shard["name"], shard["endpoint"], *labels, *labels.values()]
        self._bytes += sum(len(text.encode("utf-8")) for text in texts)
        if self._bytes > MAX_ALL_TEXT_BYTES:
            raise refusal(
                pointer,
                "names, endpoints and labels of all shards have more than "
                f"{MAX_ALL_TEXT_BYTES} bytes together",
            )


def _table_shape(total: _TextTotal) -> Object:
    vnode, number, long_number = Integer(0xFFFF), Integer(0xFFFFFFFF), Integer((1 << 64) - 1)
    text = Text(MAX_TEXT_BYTES)
    shard = Object(
        {
            "id": number,
            "name": Text(MAX_NAME_BYTES),
            "endpoint": text,
            "weight": number,
            "labels": Map(text, MAX_LABELS, MAX_NAME_BYTES),
        },
        optional=frozenset({"weight", "labels"}),
    )
    of_range = Object({"last": vnode, "shard": number})
    move = Object(
        {"first": vnode, "last": vnode, "to": number, "permyriad": number, "step": long_number},
        optional=frozenset({"step"}),
    )
    return Object(
        {
            "epoch": long_number,
            "table_id": Text(64),  # longer than one, so that _check_table_id says what is wrong
            "shards": Array(shard, MAX_SHARDS, total.add),
            # As many as there are vnodes: ranges rise, and moves do not overlap.
            "ranges": Array(of_range, GENE_COUNT),
            "moves": Array(move, GENE_COUNT),
        },
        optional=frozenset({"table_id", "moves"}),
    )


def _out_of(value: int, least: int, most: int) -> str:
    return f"{value} is not from {least} to {most}"


def _check_table_id(table_id: str) -> None:
    if table_id and (len(table_id) != _TABLE_ID_DIGITS or parse_hex(table_id) is None):
        raise refusal(
            "/table_id",
            f"it is not {_TABLE_ID_DIGITS} hex digits, as `locus table new` makes them",
        )


def _check_shards(shards: Sequence[Shard]) -> None:
    if not shards:
        raise refusal("/shards", "there is no shard")
    ids: Dict[int, int] = {}
    names: Dict[str, int] = {}
    endpoints: Dict[str, int] = {}
    for index, shard in enumerate(shards):
        pointer = pointer_to("/shards", index)
        _check_shard(shard, pointer)
        other = ids.setdefault(shard.id, index)
        if other != index:
            raise refusal(
                pointer_to(pointer, "id"), f"{shard.id} is also the id of /shards/{other}"
            )
        other = names.setdefault(shard.name, index)
        if other != index:
            raise refusal(
                pointer_to(pointer, "name"),
                f"{quoted(shard.name)} is also the name of /shards/{other}",
            )
        other = endpoints.setdefault(shard.endpoint, index)
        if other != index:
            raise refusal(
                pointer_to(pointer, "endpoint"),
                f"/shards/{other} has the same endpoint; two shards are two databases",
            )


def _check_shard(shard: Shard, pointer: str) -> None:
    if shard.id == 0:
        raise refusal(pointer_to(pointer, "id"), "0 is not an id; the first is 1")
    _check_text(shard.name, pointer_to(pointer, "name"))
    _check_endpoint(shard.endpoint, pointer_to(pointer, "endpoint"))
    if shard.weight > MAX_WEIGHT:
        raise refusal(pointer_to(pointer, "weight"), _out_of(shard.weight, 0, MAX_WEIGHT))
    labels = pointer_to(pointer, "labels")
    for name in sorted(shard.labels):
        _check_text(name, pointer_to(labels, name))
        _check_text(shard.labels[name], pointer_to(labels, name), may_be_empty=True)


def _check_text(text: str, pointer: str, may_be_empty: bool = False) -> None:
    """Its length was checked when it was read. Does not show the text: it may be an endpoint."""
    if not text and not may_be_empty:
        raise refusal(pointer, "it is empty")
    if _UNPRINTABLE.search(text):
        raise refusal(pointer, "it has control characters, or is not UTF-8")
    invisible = invisible_in(text)
    if invisible:
        raise refusal(pointer, f"it has {invisible}, which is invisible or changes the direction")


def _check_endpoint(endpoint: str, pointer: str) -> None:
    # A password may contain any character, also '/', so an '@' anywhere may be the end of one.
    lower = endpoint.encode("utf-8").lower()  # of ASCII only
    if any(sign in lower for sign in (b"@", b"password=", b"passwd=", b"pwd=")):
        raise refusal(
            pointer, "it contains a user or a password; an endpoint carries no credentials"
        )
    _check_text(endpoint, pointer)
    if " " in endpoint:
        raise refusal(pointer, "it contains a space")


def _check_ranges(ranges: Sequence[VnodeRange], known: Mapping[int, Shard]) -> None:
    if not ranges:
        raise refusal("/ranges", "there is no range")
    for index, (last, shard) in enumerate(ranges):
        pointer = pointer_to("/ranges", index)
        if index > 0 and last <= ranges[index - 1].last:
            raise refusal(
                pointer_to(pointer, "last"),
                f"{last} is not above {ranges[index - 1].last}, the one before it",
            )
        if shard not in known:
            raise refusal(pointer_to(pointer, "shard"), f"no shard has id {shard}")
