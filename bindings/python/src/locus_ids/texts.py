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


# As in C++ (src/base/text/utf8.cc): characters that show nothing, or change the direction of a line.
_INVISIBLE_RANGES = (
    (0x0, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x600, 0x605), (0x61C, 0x61C),
    (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F),
    (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFDD0, 0xFDEF), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF), (0x110BD, 0x110BD), (0x110CD, 0x110CD),
    (0x13430, 0x13438), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0x1FFFE, 0x1FFFF),
    (0x2FFFE, 0x2FFFF), (0x3FFFE, 0x3FFFF), (0x4FFFE, 0x4FFFF), (0x5FFFE, 0x5FFFF),
    (0x6FFFE, 0x6FFFF), (0x7FFFE, 0x7FFFF), (0x8FFFE, 0x8FFFF), (0x9FFFE, 0x9FFFF),
    (0xAFFFE, 0xAFFFF), (0xBFFFE, 0xBFFFF), (0xCFFFE, 0xCFFFF), (0xDFFFE, 0xE0FFF),
    (0xEFFFE, 0xEFFFF), (0xFFFFE, 0xFFFFF), (0x10FFFE, 0x10FFFF),
)
_INVISIBLE = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _INVISIBLE_RANGES) + "]"
)


def invisible_in(text: str) -> Optional[str]:
    """The first of them in `text`, as "U+200B"; None: there is none."""
    found = _INVISIBLE.search(text)
    return f"U+{ord(found[0]):04X}" if found else None
