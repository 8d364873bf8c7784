# SPDX-License-Identifier: Apache-2.0
"""Key rings: the master keys of order_nos, by version."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from typing import Dict, List, Optional, Union

from .aes import KEY_BYTES
from .order_no import MAX_KEY_VERSION, check_key_version
from .texts import octets_of, parse_decimal, quoted

#: No key ring file is longer.
MAX_FILE_BYTES = 8192

_TITLE = b"locus-key-ring 1"
_ACTIVE = b"active "
_RETIRED = b"retired"


class KeyRing:
    """Master keys by version, 0..127, one of which is active: new order_nos are made with it.

    Immutable. Make it by parse() or load(); `locus keys` makes and changes the files. No message
    and no repr() shows a key. Python cannot wipe memory: keys may stay in it, and in core dumps,
    after the key ring is gone.
    """

    def __init__(self, active: int, keys: Dict[int, Optional[bytes]]) -> None:
        """`keys`: 32 bytes by version; None: the version is retired.

        ValueError: a version or the length of a key is wrong, or the active version has no key.
        """
        for version, key in keys.items():
            check_key_version(version)
            if key is not None and len(key) != KEY_BYTES:
                raise ValueError(f"a key of {len(key)} bytes; {KEY_BYTES} are needed")
        if keys.get(active) is None:
            raise ValueError("the key of the active version is missing")
        self._active = active
        self._keys = dict(keys)

    @classmethod
    def parse(cls, text: Union[str, bytes], where: str = "key ring") -> KeyRing:
        """Reads the text of a key ring file; `where` names it in messages.

        ValueError: the text is not a key ring; the message names the line and quotes nothing of it.
        """
        octets = octets_of(text)
        lines = octets.split(b"\n")
        unended = lines.pop() != b""  # what follows the last newline

        def refuse(number: int, rule: str) -> ValueError:
            return ValueError(f"{where}, line {number}: {rule}")

        def line(number: int) -> bytes:
            if number <= len(lines):
                return lines[number - 1]
            ends = unended and number == len(lines) + 1
            raise refuse(number, "does not end with a newline" if ends else "is missing")

        if line(1) != _TITLE:
            raise refuse(1, 'is not "locus-key-ring 1"')
        second = line(2)
        active = None
        if second.startswith(_ACTIVE):
            active = parse_decimal(second[len(_ACTIVE):], MAX_KEY_VERSION)
        if active is None:
            raise refuse(2, 'is not "active " and a version in 0..127')
        keys: Dict[int, Optional[bytes]] = {}
        for number in range(3, len(lines) + 1 + unended):
            shown_version, space, shown_key = line(number).partition(b" ")
            version = parse_decimal(shown_version, MAX_KEY_VERSION)
            if not space or version is None:
                raise refuse(number, "does not begin with a version in 0..127 and one space")
            if version in keys:
                raise refuse(number, "its version occurs in a line above")
            keys[version] = None if shown_key == _RETIRED else _decode_key(shown_key)
            if keys[version] is None and shown_key != _RETIRED:
                raise refuse(
                    number, 'is neither "retired" nor the base64 of 32 bytes, with padding'
                )
        if keys.get(active) is None:
            raise refuse(2, "the key of the active version is missing")
        return cls(active, keys)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> KeyRing:
        """Reads a key ring file, which must be private: a regular file that belongs to root or the
        caller, without any permission for group or others (0600 or stricter). For POSIX systems.

        ValueError: the file is not private, or not a key ring; the message names path and line.
        OSError: it cannot be opened or read.
        """
        name = quoted(os.fsencode(path))
        # O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        with open(os.open(path, flags), "rb", buffering=0) as file:
            _check_private(os.fstat(file.fileno()), name)
            octets = b""
            while len(octets) <= MAX_FILE_BYTES:
                block = file.read(MAX_FILE_BYTES + 1 - len(octets))
                if not block:
                    return cls.parse(octets, name)
                octets += block
        raise ValueError(f"{name} is longer than {MAX_FILE_BYTES} bytes")

    @property
    def active(self) -> int:
        """The version that new order_nos are made with."""
        return self._active

    @property
    def versions(self) -> List[int]:
        """The versions that have a key, ascending."""
        return sorted(version for version, key in self._keys.items() if key is not None)

    @property
    def retired(self) -> List[int]:
        """The versions whose key was destroyed, ascending. None of them is given again."""
        return sorted(version for version, key in self._keys.items() if key is None)

    def key(self, version: int) -> bytes:
        """The 32 bytes of a master key. ValueError: the key ring has no key of that version."""
        key = self._keys.get(check_key_version(version))
        if key is None:
            raise ValueError(f"the key ring has no key of version {version}")
        return key

    def __repr__(self) -> str:
        return f"KeyRing(active={self.active}, versions={self.versions}, retired={self.retired})"


def _decode_key(text: bytes) -> Optional[bytes]:
    """None: it is not what base64 makes of 32 bytes."""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return key if len(key) == KEY_BYTES and base64.b64encode(key) == text else None


def _check_private(file: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(file.st_mode):
        raise ValueError(f"{name} is not a regular file")
    if file.st_mode & 0o077:
        raise ValueError(
            f"{name} has permissions {file.st_mode & 0o777:03o}; group and others must have none "
            "(chmod 600)"
        )
    if file.st_uid not in (0, os.geteuid()):
        raise ValueError(
            f"{name} belongs to user {file.st_uid}, who is neither root nor user {os.geteuid()}"
        )
