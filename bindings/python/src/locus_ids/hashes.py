# SPDX-License-Identifier: Apache-2.0
"""The two hashes that a shard gene is made of.

XXH64 (Y. Collet, xxHash 0.8) and MurmurHash3_x64_128 (A. Appleby, smhasher), both with seed 0, each
written from its published definition. Neither is a cryptographic hash.
"""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1

# The primes of XXH64.
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5

# The constants of MurmurHash3_x64_128.
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F
_F1 = 0xFF51AFD7ED558CCD
_F2 = 0xC4CEB9FE1A85EC53


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK


def _xxh_round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def xxh64(data: bytes) -> int:
    """XXH64 of `data` with seed 0: 0..2^64 - 1."""
    size = len(data)
    at = 0
    if size >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        for at in range(0, size - 31, 32):
            words = struct.unpack_from("<4Q", data, at)
            lanes = [_xxh_round(lane, word) for lane, word in zip(lanes, words)]
        at += 32
        state = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & _MASK
        for lane in lanes:
            state = ((state ^ _xxh_round(0, lane)) * _P1 + _P4) & _MASK
    else:
        state = _P5
    state = (state + size) & _MASK
    while size - at >= 8:
        (word,) = struct.unpack_from("<Q", data, at)
        state = (_rotate(state ^ _xxh_round(0, word), 27) * _P1 + _P4) & _MASK
        at += 8
    if size - at >= 4:
        (word,) = struct.unpack_from("<I", data, at)
        state = (_rotate(state ^ (word * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for octet in data[at:]:
        state = _rotate(state ^ (octet * _P5 & _MASK), 11) * _P1 & _MASK
    state = (state ^ state >> 33) * _P2 & _MASK
    state = (state ^ state >> 29) * _P3 & _MASK
    return state ^ state >> 32


def _murmur_first(word: int) -> int:
    return _rotate(word * _C1 & _MASK, 31) * _C2 & _MASK


def _murmur_second(word: int) -> int:
    return _rotate(word * _C2 & _MASK, 33) * _C1 & _MASK


def _murmur_final(word: int) -> int:
    word = (word ^ word >> 33) * _F1 & _MASK
    word = (word ^ word >> 33) * _F2 & _MASK
    return word ^ word >> 33


def murmur3_low64(data: bytes) -> int:
    """The first 8 bytes of MurmurHash3_x64_128 of `data` with seed 0, read little-endian.

    0..2^64 - 1; the reference code calls this word `out[0]`.
    """
    size = len(data)
    whole = size - size % 16
    first = second = 0
    for at in range(0, whole, 16):
        low, high = struct.unpack_from("<2Q", data, at)
        first = _rotate(first ^ _murmur_first(low), 27)
        first = ((first + second) * 5 + 0x52DCE729) & _MASK
        second = _rotate(second ^ _murmur_second(high), 31)
        second = ((second + first) * 5 + 0x38495AB5) & _MASK
    # A missing byte is 0, and a word of zeros changes nothing.
    low, high = struct.unpack("<2Q", data[whole:].ljust(16, b"\0"))
    second ^= _murmur_second(high) ^ size
    first ^= _murmur_first(low) ^ size
    first = (first + second) & _MASK
    second = (second + first) & _MASK
    return (_murmur_final(first) + _murmur_final(second)) & _MASK
