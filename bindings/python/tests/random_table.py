# SPDX-License-Identifier: Apache-2.0
"""Random documents of routing tables: valid ones of every shape, and ones that are broken."""

import copy
import json

from locus_ids import OrderId


def owner_id_of(document, vnode):
    """The ceiling map, in the most naive way."""
    for each in document["ranges"]:
        if each["last"] >= vnode:
            return each["shard"]
    return document["ranges"][0]["shard"]


def order_id_near_an_edge(draw, document):
    """An order ID whose vnode is next to an end of a range or a move, if not any; in a moving vnode
    the cohort is next to the move's permyriad, if not any."""
    moves = document.get("moves", [])
    edges = [of_range["last"] for of_range in document["ranges"]]
    edges += [move[end] for move in moves for end in ("first", "last")]
    gene = draw.choice((draw.choice(edges), draw.getrandbits(16))) + draw.randrange(-1, 2)
    gene %= 65536
    sequence = draw.getrandbits(draw.randrange(57))
    for move in moves:
        if move["first"] <= gene <= move["last"] and draw.randrange(2):
            cohort = move["permyriad"] + draw.randrange(-1, 2)
            # The formula of the cohort, solved for the sequence.
            wanted = (cohort - gene * 2531) * pow(6181, -1, 10000) % 10000
            sequence = max(sequence - sequence % 10000 + wanted - 10000, wanted)
    return OrderId(gene, sequence)


def valid(draw):
    """A document: one to many shards and ranges that wrap or not, moves that touch each other."""
    shards = _shards(draw)
    ids = [shard["id"] for shard in shards]
    lasts = {draw.getrandbits(16) for _ in range(draw.choice((1, 2, 5, 10, 300)))}
    if draw.randrange(2):
        lasts.add(65535)
    document = {
        "epoch": draw.choice((1, 12, 2**63 - 1)),
        "shards": shards,
        "ranges": [{"last": last, "shard": draw.choice(ids)} for last in sorted(lasts)],
    }
    if draw.randrange(2):
        document["table_id"] = f"{draw.getrandbits(64):016x}"
    moves = _moves(draw, document, ids)
    if moves or draw.randrange(2):
        document["moves"] = moves
    members = list(document.items())
    draw.shuffle(members)
    return dict(members)


def _shards(draw):
    shards = []
    for place in range(draw.choice((1, 2, 3, 5, 40))):
        shard = {
            "id": place * draw.choice((1, 1, 1000)) + 1 + place,
            "name": f"orders-{place}" + draw.choice(("", "", ' "\\/~ é', "\U0001f600")),
            "endpoint": f"mysql://127.0.0.{draw.randrange(3)}:3306/orders-{place}",
        }
        if draw.randrange(4) == 0:
            shard["weight"] = draw.randrange(200)
        if draw.randrange(4) == 0:
            shard["labels"] = {"tier": "hot", "a/b~c": ""}
        shards.append(shard)
    ids = {shard["id"] for shard in shards}
    if len(ids) < len(shards):
        for place, shard in enumerate(shards):
            shard["id"] = place + 1
    draw.shuffle(shards)
    return shards


def _moves(draw, document, ids):
    moves = []
    vnode = draw.choice((0, draw.randrange(65536)))
    for _ in range(draw.randrange(20)):
        first, to = vnode, draw.choice(ids)
        end = min(65536, first + 1 + draw.randrange(3000))
        while vnode < end and owner_id_of(document, vnode) != to:
            vnode += 1
        if vnode > first:
            move = {
                "first": first,
                "last": vnode - 1,
                "to": to,
                "permyriad": draw.choice((0, 5000, 5001, 10000, draw.randrange(10001))),
            }
            if draw.randrange(2):
                move["step"] = draw.getrandbits(63)
            moves.append(move)
        vnode += draw.choice((1, draw.randrange(8000)))
        if vnode > 65535:
            break
    draw.shuffle(moves)
    return moves


_VALUES = (
    0, 1, 2, 9999, 10000, 10001, 65535, 65536, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1,
    2**64, -1, 0.5, 1.0, True, False, None, "", "1", "x", "a b", "u@h", "PWD=x", "PassWord=x",
    "\x00", "\x7f", "\x85", "\u2028", "\uffff", "\U0010ffff", "é", "x" * 64, "x" * 65, "é" * 33,
    "x" * 2048, "x" * 2049, "0123456789abcdef", "0123456789ABCDEF", "0123456789abcdeg", [], {},
    [0], {"a": "b"},
)  # fmt: skip


def _places(value, found):
    """All containers in `value`."""
    if isinstance(value, (dict, list)):
        found.append(value)
        for element in value.values() if isinstance(value, dict) else value:
            _places(element, found)
    return found


def changed(draw, document):
    """The document as text, with one value or member of it changed: it may be valid or not."""
    document = copy.deepcopy(document)
    container = draw.choice([each for each in _places(document, []) if each] or [document])
    keys = list(container) if isinstance(container, dict) else range(len(container))
    key, change = draw.choice(keys), draw.randrange(6)
    if change == 0:
        del container[key]
    elif change == 1 and isinstance(container, dict):
        name = draw.choice(("step", "weight", "labels", "x", "~/\n", "x" * 65, "é"))
        container[name] = draw.choice(_VALUES)
    elif change == 2 and isinstance(container, list):
        container.insert(key, copy.deepcopy(draw.choice(container)))
    elif change == 3 and isinstance(container[key], int):
        container[key] += draw.choice((-1, 1))
    elif change == 4 and isinstance(container, dict):
        other = draw.choice(_places(document, []))
        if isinstance(other, dict) and key in other:
            container[key] = copy.deepcopy(other[key])
    else:
        container[key] = draw.choice(_VALUES)
    text = json.dumps(document, ensure_ascii=draw.randrange(2) == 0)
    if draw.randrange(10) == 0:
        # A member twice, -0, a large exponent: what a dict cannot hold.
        text = draw.choice((
            text.replace('"last": ', '"last": -', 1),
            text.replace('"epoch": ', '"epoch": 1, "epoch": ', 1),
            text.replace('"shard": 1', '"shard": 1e0', 1),
            text.replace('"to": ', '"to": -0, "to": ', 1),
        ))
    return text


def garbled(draw, text):
    """The bytes of a document with a few of them changed: hardly ever JSON."""
    octets = bytearray(text.encode("utf-8"))
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.randrange(len(octets))
        change = draw.randrange(4)
        if change == 0:
            octets[at] = draw.getrandbits(8)
        elif change == 1:
            del octets[at]
        elif change == 2:
            put = (b",", b" ", b"\0", b'"', b"}", b"\\", b"\\ud800", b"\xed\xa0\x80")
            octets[at:at] = draw.choice(put)
        else:
            del octets[at:]
            octets += draw.choice((b"", b"}", b"]}"))
        if not octets:
            break
    bom = b"\xef\xbb\xbf"
    return draw.choice((b"", b"", b"", bom, bom + bom)) + bytes(octets)
