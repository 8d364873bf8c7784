# SPDX-License-Identifier: Apache-2.0
"""Text forms that several values share.

Lengths and positions are those of the UTF-8 bytes of a text, as in the C++ library.
"""

from __future__ import annotations

import re
from typing import Optional, Union

_DECIMAL = re.compile(rb"0|[1-9][0-9]{0,19}")
_HEX = re.compile(rb"[0-9A-Fa-f]{1,32}")
_MOST_SHOWN = 64


def octets_of(text: Union[str, bytes]) -> bytes:
    """The UTF-8 bytes of a text; those of a command line that are not UTF-8 stay as they are."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def quoted(text: Union[str, bytes]) -> str:
    """`text` in double quotes, for a message: at most 64 bytes of it, then "..."; whatever is not
    printable ASCII as \\xHH."""
    octets = octets_of(text)
    shown = []
    for octet in octets[:_MOST_SHOWN]:
        character = chr(octet)
        if character in '"\\':
            shown.append("\\" + character)
        elif " " <= character <= "~":
            shown.append(character)
        else:
            shown.append(f"\\x{octet:02x}")
    return '"' + "".join(shown) + ("...\"" if len(octets) > _MOST_SHOWN else '"')


def parse_decimal(text: Union[str, bytes], most: int) -> Optional[int]:
    """Canonical decimal: digits 0..9 only, no leading zeros, zero is "0", at most `most`, which is
    below 2^64. None: it is anything else."""
    octets = octets_of(text)
    if _DECIMAL.fullmatch(octets) is None:
        return None
    value = int(octets)
    return value if value <= most else None


def parse_hex(text: Union[str, bytes]) -> Optional[int]:
    """1 to 32 hex digits of either case, without prefix. None: it is anything else."""
    octets = octets_of(text)
    return None if _HEX.fullmatch(octets) is None else int(octets, 16)


def check_integer(name: str, value: object, least: int, most: int) -> int:
    """`value`, if it is an integer of least..most.

    TypeError: it is not an int (a bool is none). ValueError: it is out of range.
    """
    if type(value) is not int:
        raise TypeError(f"{name} is of type {type(value).__name__}, not int")
    if not least <= value <= most:
        raise ValueError(f"{name} {value} is not in {least}..{most}")
    return value
