# SPDX-License-Identifier: Apache-2.0
"""Makes order_nos of order IDs and reads them, with the keys of a key ring."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Dict, Optional

from .aes import Aes256
from .ff1 import Ff1
from .key_ring import KeyRing
from .order_id import (
    MAX_NARROW_SEQUENCE,
    NARROW_SEQUENCE_BITS,
    WIDE_SEQUENCE_BITS,
    OrderId,
)
from .order_no import OrderNo, OrderNo64, check_key_version
from .texts import quoted

DEFAULT_SPACE = "orders"

_SPACE = re.compile(r"[a-z0-9_-]{1,64}")
_HEADER_SHIFT = 100  # header = 0, gene, format, key version: the top 28 bits
_LOW_100 = (1 << _HEADER_SHIFT) - 1


def check_space(name: str) -> str:
    """`name`, if it names a space: 1 to 64 of a-z, 0-9, '_' and '-'. ValueError: it does not."""
    if _SPACE.fullmatch(name) is None:
        raise ValueError(f"space {quoted(name)} is not 1 to 64 of a-z, 0-9, '_' and '-'")
    return name


class _Ciphers:
    """The ciphers of one key version."""

    def __init__(self, master: bytes, space: str) -> None:
        def cipher(purpose: str) -> Aes256:
            return Aes256(derive_key(master, space, purpose))

        self.tag = cipher("tag")
        self.ctr = cipher("ctr")
        self.ff1 = Ff1(cipher("ff1"))
        self.ctr64 = cipher("ctr64")


class OrderNoCodec:
    """Encodes order IDs of one space as order_nos and decodes them. Three schemes:

    - siv: OrderNo, the default. Deterministic, bound to the gene, authenticated: a guess succeeds
      with 2^-53 (narrow) or 2^-44 (wide).
    - ff1: OrderNo64. A permutation of the sequences of one gene; not authenticated.
    - ctr64: OrderNo64. One known pair of order ID and order_no opens all others of that gene. It
      exists to read numbers that were made this way.

    Make an order_no once and store it: after a rotation of keys one order may have two valid
    order_nos, so use the order ID for idempotency.

    Neither constant-time nor fast: for tools and scripts (see aes.py). The methods may be called
    from any thread.
    """

    def __init__(self, ring: KeyRing, space: str = DEFAULT_SPACE) -> None:
        """ValueError: `space` is not the name of a space."""
        self._space = check_space(space)
        self._ring = ring
        self._ciphers: Dict[int, _Ciphers] = {}

    @property
    def active(self) -> int:
        """The key version that encode() uses unless told otherwise."""
        return self._ring.active

    @property
    def space(self) -> str:
        """The space whose orders are encoded and decoded."""
        return self._space

    def encode(self, order_id: OrderId, version: Optional[int] = None) -> OrderNo:
        """The order_no (siv) of an order ID under a key version, the active one by default.

        ValueError: the key ring has no key of the version.
        """
        version = self.active if version is None else check_key_version(version)
        ciphers = self._of_version(version)
        bits = _cipher_bits(order_id.is_wide)
        form = 3 if order_id.is_wide else 2
        header = (order_id.gene << 11 | form << 7 | version) << _HEADER_SHIFT
        iv = _iv(ciphers, header, order_id.sequence, bits)
        return OrderNo(iv | order_id.sequence ^ ciphers.ctr.encrypt(iv) >> 128 - bits)

    def decode(self, number: OrderNo) -> OrderId:
        """The order ID of an order_no (siv).

        ValueError: it is not an order_no of this space under a key of the ring. The message does
        not say which check failed.
        """
        try:
            ciphers = self._of_version(number.key_version)
        except ValueError:
            raise _not_of_this_space(number) from None
        bits = _cipher_bits(number.is_wide)
        iv = number.value >> bits << bits
        sequence = (number.value ^ iv) ^ ciphers.ctr.encrypt(iv) >> 128 - bits
        header = number.value & ~_LOW_100
        expected = _iv(ciphers, header, sequence, bits)
        genuine = hmac.compare_digest(iv.to_bytes(16, "big"), expected.to_bytes(16, "big"))
        if not genuine or (number.is_wide and sequence <= MAX_NARROW_SEQUENCE):
            raise _not_of_this_space(number)
        return OrderId(number.gene, sequence)

    def encode_ff1(self, order_id: OrderId, version: int) -> OrderNo64:
        """ff1. ValueError: the ID is wide, or the key ring has no key of the version."""
        _check_narrow(order_id)
        ff1 = self._of_version(version).ff1
        return _join64(order_id.gene, ff1.encrypt(order_id.gene, version, order_id.sequence))

    def decode_ff1(self, number: OrderNo64, version: int) -> OrderId:
        """ff1. ValueError: the key ring has no key of the version. Nothing else is refused."""
        ff1 = self._of_version(version).ff1
        return OrderId(number.gene, ff1.decrypt(number.gene, version, _cipher_of(number)))

    def encode_ctr64_reusing_keystream(self, order_id: OrderId, version: int) -> OrderNo64:
        """ctr64. ValueError: the ID is wide, or the key ring has no key of the version."""
        _check_narrow(order_id)
        return _join64(order_id.gene, order_id.sequence ^ self._keystream(order_id.gene, version))

    def decode_ctr64(self, number: OrderNo64, version: int) -> OrderId:
        """ctr64. ValueError: the key ring has no key of the version. Nothing else is refused."""
        return OrderId(number.gene, _cipher_of(number) ^ self._keystream(number.gene, version))

    def _keystream(self, gene: int, version: int) -> int:
        block = self._of_version(version).ctr64.encrypt(gene << 112)
        return block >> 128 - NARROW_SEQUENCE_BITS

    def _of_version(self, version: int) -> _Ciphers:
        """ValueError: the key ring has no key of the version."""
        ciphers = self._ciphers.get(version)
        if ciphers is None:
            ciphers = _Ciphers(self._ring.key(version), self._space)
            self._ciphers[version] = ciphers
        return ciphers


def derive_key(master: bytes, space: str, purpose: str) -> bytes:
    """HKDF-SHA256 (RFC 5869) of a master key: the 32 bytes of the key for `purpose`, which is
    "tag", "ctr", "ff1" or "ctr64"."""
    extracted = hmac.new(space.encode("ascii"), master, hashlib.sha256).digest()
    info = b"locus order_no " + purpose.encode("ascii")
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def _cipher_bits(wide: bool) -> int:
    return WIDE_SEQUENCE_BITS if wide else NARROW_SEQUENCE_BITS


def _iv(ciphers: _Ciphers, header: int, sequence: int, bits: int) -> int:
    """header | tag | zeros; the tag fills what header and ciphertext leave of 128 bits."""
    tag = ciphers.tag.encrypt(header | sequence) >> 128 - (_HEADER_SHIFT - bits)
    return header | tag << bits


def _join64(gene: int, cipher: int) -> OrderNo64:
    return OrderNo64(gene << NARROW_SEQUENCE_BITS | cipher)


def _cipher_of(number: OrderNo64) -> int:
    return number.value & MAX_NARROW_SEQUENCE


def _check_narrow(order_id: OrderId) -> None:
    if order_id.is_wide:
        raise ValueError(f"order ID {order_id} is wide and does not fit a 64-bit order_no")


def _not_of_this_space(number: OrderNo) -> ValueError:
    return ValueError(f"{number} is not an order_no of this space")
