# SPDX-License-Identifier: Apache-2.0
"""NIST SP 800-38G FF1 with AES-256 of 47 bits: radix 2, 10 rounds, tweak = gene and key version.

Names are those of the publication's algorithms 7 and 8. Not constant-time, as aes.py.
"""

from __future__ import annotations

from .aes import Aes256

_ROUNDS = 10
_LEFT_BITS = 23  # u = floor(n / 2)
_RIGHT_BITS = 24  # v = n - u
_RIGHT_MASK = (1 << _RIGHT_BITS) - 1

# P = 1 | 2 | 1 | radix (3 bytes) | 10 | u mod 256 | n (4 bytes) | t (4 bytes)
_P = int("01 02 01 000002 0a 17 0000002f 00000003".replace(" ", ""), 16)


class Ff1:
    """A permutation of 0..2^47 - 1 for each gene and key version. Not authenticated."""

    def __init__(self, aes: Aes256) -> None:
        self._aes = aes
        self._mac_of_p = aes.encrypt(_P)

    def encrypt(self, gene: int, version: int, plain: int) -> int:
        a, b = plain >> _RIGHT_BITS, plain & _RIGHT_MASK
        for i in range(_ROUNDS):
            a, b = b, (a + self._y(gene, version, i, b)) & _mask(i)
        return a << _RIGHT_BITS | b

    def decrypt(self, gene: int, version: int, cipher: int) -> int:
        a, b = cipher >> _RIGHT_BITS, cipher & _RIGHT_MASK
        for i in reversed(range(_ROUNDS)):
            a, b = (b - self._y(gene, version, i, a)) & _mask(i), a
        return a << _RIGHT_BITS | b

    def _y(self, gene: int, version: int, i: int, half: int) -> int:
        """The first 8 bytes of PRF(P | Q), Q = tweak | 9 zero bytes | i | half (3 bytes)."""
        q = gene << 112 | version << 104 | i << 24 | half
        return self._aes.encrypt(self._mac_of_p ^ q) >> 64


def _mask(i: int) -> int:
    return (1 << (_LEFT_BITS if i % 2 == 0 else _RIGHT_BITS)) - 1
