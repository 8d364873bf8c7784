# SPDX-License-Identifier: Apache-2.0
"""The command line: python -m locus_ids inspect VALUE..."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Optional, Sequence

from .inspection import inspect
from .key_ring import KeyRing
from .order_no_codec import DEFAULT_SPACE, OrderNoCodec
from .router import Router
from .routing_table import RoutingTable

# As the command `locus` exits.
_DONE, _FAILED, _SOME_REFUSED = 0, 1, 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="locus_ids", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    line = verbs.add_parser(
        "inspect",
        allow_abbrev=False,
        help="show the fields of order IDs and order_nos",
        description="Prints the fields of each order ID or order_no, one JSON object a line. Exits "
        "with 0; 1: a file was refused; 2: wrong usage; 3: a value was refused.",
    )
    line.add_argument("values", nargs="+", metavar="VALUE", help="an order ID or order_no")
    line.add_argument("--keys", metavar="FILE", help="the key ring file, to decode and encode")
    line.add_argument(
        "--space",
        metavar="S",
        default=DEFAULT_SPACE,
        help="the space of the order_nos (default: %(default)s)",
    )
    line.add_argument("--table", metavar="FILE", help="the routing table, for shard and target")
    return parser


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs the command of these words, by default those of the process. Returns the exit code."""
    line = _parser().parse_args(words)
    try:
        codec = OrderNoCodec(KeyRing.load(line.keys), line.space) if line.keys else None
        router = Router(RoutingTable.load(line.table)) if line.table else None
    except (OSError, ValueError) as error:
        print(f"locus_ids inspect: {error}", file=sys.stderr)
        return _FAILED
    exit_code = _DONE
    for place, value in enumerate(line.values, 1):
        try:
            fields = inspect(value, codec, router)
        except ValueError as error:
            print(f"locus_ids inspect: value {place}: {error}", file=sys.stderr)
            exit_code = _SOME_REFUSED
            continue
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
