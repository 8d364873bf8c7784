# SPDX-License-Identifier: Apache-2.0
"""AES-256 (FIPS 197), encryption of single blocks, in pure Python.

Not constant-time: it looks values up in tables by bytes that depend on the key and the text, so
somebody who measures time or caches on the same machine may learn the key. It is also slow. It is
for tools and scripts; services use the native library, from Python by its C interface.
"""

from __future__ import annotations

import struct
from typing import List, Tuple

KEY_BYTES = 32
_ROUNDS = 14
_KEY_WORDS = 8


def _double(octet: int) -> int:
    """2 times `octet` in the field GF(2^8) of AES."""
    return octet << 1 ^ (0x11B if octet & 0x80 else 0)


def _make_sbox() -> bytes:
    # Powers of the generator 3 give each inverse: that of 3^i is 3^(255 - i).
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ _double(powers[-1]))
    inverses = [0] * 256
    for exponent, power in enumerate(powers):
        inverses[power] = powers[-exponent % 255]
    sbox = bytearray()
    for inverse in inverses:
        # Adding an octet to its four rotations is the affine map of FIPS 197, 5.1.1.
        spread = inverse ^ inverse << 1 ^ inverse << 2 ^ inverse << 3 ^ inverse << 4
        sbox.append((spread ^ spread >> 8) & 0xFF ^ 0x63)
    return bytes(sbox)


def _make_columns() -> Tuple[List[int], ...]:
    """SubBytes and MixColumns of one byte of a column, by its row."""
    top = []
    for octet in _SBOX:
        double = _double(octet)
        top.append(double << 24 | octet << 16 | octet << 8 | double ^ octet)
    return tuple([word >> bits | word << (32 - bits) & 0xFFFFFFFF for word in top]
                 for bits in (0, 8, 16, 24))


_SBOX = _make_sbox()
_COLUMNS = _make_columns()


def _substitute(word: int) -> int:
    return int.from_bytes(word.to_bytes(4, "big").translate(_SBOX), "big")


def _expand(key: bytes) -> List[int]:
    words = list(struct.unpack(">8I", key))
    constant = 1
    for i in range(_KEY_WORDS, 4 * (_ROUNDS + 1)):
        word = words[-1]
        if i % _KEY_WORDS == 0:
            word = _substitute((word << 8 | word >> 24) & 0xFFFFFFFF) ^ constant << 24
            constant = _double(constant)
        elif i % _KEY_WORDS == 4:
            word = _substitute(word)
        words.append(words[-_KEY_WORDS] ^ word)
    return words


class Aes256:
    """AES-256 under one key. Its methods may be called from any thread."""

    def __init__(self, key: bytes) -> None:
        """ValueError: `key` does not have 32 bytes."""
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key of {len(key)} bytes; {KEY_BYTES} are needed")
        words = _expand(key)
        self._first = tuple(words[:4])
        self._middle = [tuple(words[i:i + 4]) for i in range(4, 4 * _ROUNDS, 4)]
        self._last = struct.pack(">4I", *words[4 * _ROUNDS:])

    def encrypt(self, block: int) -> int:
        """One block; blocks are numbers of 128 bits, whose bytes stand big-endian."""
        t0, t1, t2, t3 = _COLUMNS
        k0, k1, k2, k3 = self._first
        a, b, c, d = struct.unpack(">4I", block.to_bytes(16, "big"))
        a, b, c, d = a ^ k0, b ^ k1, c ^ k2, d ^ k3
        # A column of the next state takes its rows from four columns of this one: ShiftRows.
        for k0, k1, k2, k3 in self._middle:
            a, b, c, d = (
                t0[a >> 24] ^ t1[b >> 16 & 255] ^ t2[c >> 8 & 255] ^ t3[d & 255] ^ k0,
                t0[b >> 24] ^ t1[c >> 16 & 255] ^ t2[d >> 8 & 255] ^ t3[a & 255] ^ k1,
                t0[c >> 24] ^ t1[d >> 16 & 255] ^ t2[a >> 8 & 255] ^ t3[b & 255] ^ k2,
                t0[d >> 24] ^ t1[a >> 16 & 255] ^ t2[b >> 8 & 255] ^ t3[c & 255] ^ k3,
            )
        octets = struct.pack(">4I", a, b, c, d).translate(_SBOX)
        shifted = bytes(octets[5 * i % 16] for i in range(16))
        return int.from_bytes(shifted, "big") ^ int.from_bytes(self._last, "big")
