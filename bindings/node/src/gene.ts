// SPDX-License-Identifier: Apache-2.0

import { invalid } from "./errors.js";
import { murmur3Low64, xxh64 } from "./hashes.js";
import { checkBigInt, isWellFormed, octetsOf, parseDecimal, quoted, typeName } from "./texts.js";

/** What orders are grouped by (a user ID). A bigint or a number is a uint64 key, a string or bytes
 * a text key: 123n and "123" are different keys with different genes. */
export type BuyerKey = bigint | number | string | Uint8Array;

/** Genes are 0..GENE_COUNT - 1; each is the index of a vnode on the ring. */
export const GENE_COUNT = 65536;

const MAX_UINT64 = (1n << 64n) - 1n;

/** The uint64 that a numeric key stands for. A negative key, -2^63..-1, is a signed BIGINT and
 * taken as its two's complement. INVALID_ARGUMENT: the key is out of range, or a number that is
 * not exact (beyond 2^53, or not an integer). TypeError: it is neither bigint nor number. */
export function uint64Key(key: bigint | number): bigint {
  if (typeof key === "number") {
    if (!Number.isSafeInteger(key)) {
      throw invalid(`buyer key ${key} is not an exact integer; pass keys above 2^53 as bigint`);
    }
    key = BigInt(key);
  }
  return BigInt.asUintN(64, checkBigInt("buyer key", key, -(1n << 63n), MAX_UINT64));
}

/** The bytes of a text key. INVALID_ARGUMENT: a string has no UTF-8 form. TypeError: it is neither
 * string nor bytes. */
export function textKey(key: string | Uint8Array): Uint8Array {
  if (typeof key === "string") {
    if (!isWellFormed(key)) {
      throw invalid(`buyer key ${quoted(key)} has a surrogate without its partner`);
    }
  } else if (!(key instanceof Uint8Array)) {
    throw new TypeError(`a text key is of type ${typeName(key)}, not string or Uint8Array`);
  }
  return octetsOf(key);
}

/** The gene, 0..65535, of a uint64 key, which is hashed as its 8 bytes little-endian. Throws what
 * geneOf throws. */
export function geneOfUint64(key: bigint | number): number {
  const octets = new Uint8Array(8);
  new DataView(octets.buffer).setBigUint64(0, uint64Key(key), true);
  return geneOfOctets(octets);
}

/** The gene, 0..65535, of a text key, which is hashed as its exact bytes (a string as its UTF-8).
 * Nothing is trimmed, folded or normalised; the empty text is a key. Throws what geneOf throws. */
export function geneOfText(key: string | Uint8Array): number {
  return geneOfOctets(textKey(key));
}

/**
 * The gene, 0..65535, of a buyer key. A negative bigint or number is a signed BIGINT and taken as
 * its two's complement.
 *
 * INVALID_ARGUMENT: the key is out of range, a number that is not exact, or a string with a
 * surrogate without its partner. TypeError: it is of another type.
 */
export function geneOf(key: BuyerKey): number {
  return typeof key === "bigint" || typeof key === "number" ? geneOfUint64(key) : geneOfText(key);
}

/** A uint64 key from canonical decimal: no sign, space, leading zero or point, at most 2^64 - 1.
 * INVALID_ARGUMENT: the text is anything else. */
export function parseUint64Key(text: string | Uint8Array): bigint {
  const key = parseDecimal(text, MAX_UINT64);
  if (key === undefined) throw invalid(`${quoted(text)} is not a canonical uint64`);
  return key;
}

function geneOfOctets(octets: Uint8Array): number {
  return Number((xxh64(octets) ^ murmur3Low64(octets)) & 0xffffn);
}
