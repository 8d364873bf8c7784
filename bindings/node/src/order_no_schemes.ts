// SPDX-License-Identifier: Apache-2.0
// How order_nos are made of order IDs and read. The functions are pure: they ask for each block of
// AES by a yield, and whoever runs them encrypts it, at once or with a promise.

import { type LocusError, invalid } from "./errors.js";
import {
  MAX_NARROW_SEQUENCE,
  NARROW_SEQUENCE_BITS,
  OrderId,
  WIDE_SEQUENCE_BITS,
} from "./order_id.js";
import { OrderNo, OrderNo64 } from "./order_no.js";
import { quoted, toOctets, typeName } from "./texts.js";

/** What a key is derived for. */
export type Purpose = "tag" | "ctr" | "ff1" | "ctr64";

/** The block to be encrypted with AES-256 under the key for `purpose`. Blocks are numbers of 128
 * bits, whose bytes stand big-endian. */
export interface AesQuestion {
  readonly purpose: Purpose;
  readonly block: bigint;
}

/** Is resumed with the encrypted block. */
export type Asking<Result> = Generator<AesQuestion, Result, bigint>;

export const DEFAULT_SPACE = "orders";

const HEADER_SHIFT = 100n; // header = 0, gene, format, key version: the top 28 bits
const LOW_100 = (1n << HEADER_SHIFT) - 1n;

/** `name`, if it names a space: 1 to 64 of a-z, 0-9, '_' and '-'. INVALID_ARGUMENT: it does not. */
export function checkSpace(name: string): string {
  if (typeof name !== "string") {
    throw new TypeError(`space is of type ${typeName(name)}, not string`);
  }
  if (/^[a-z0-9_-]{1,64}$/.test(name)) return name;
  throw invalid(`space ${quoted(name)} is not 1 to 64 of a-z, 0-9, '_' and '-'`);
}

/** The texts of HKDF-SHA256 (RFC 5869) that makes a key of a master key. */
export function derivationOf(
  space: string,
  purpose: Purpose,
): { salt: Uint8Array; info: Uint8Array } {
  const encoder = new TextEncoder();
  return { salt: encoder.encode(space), info: encoder.encode(`locus order_no ${purpose}`) };
}

export function notOfThisSpace(number: OrderNo): LocusError {
  return invalid(`${number} is not an order_no of this space`);
}

/** siv. */
export function* encodeSiv(orderId: OrderId, version: number): Asking<OrderNo> {
  const bits = cipherBits(orderId.isWide);
  const form = orderId.isWide ? 3 : 2;
  const header = BigInt((orderId.gene << 11) | (form << 7) | version) << HEADER_SHIFT;
  const sequence = orderId.sequence;
  const iv = yield* ivOf(header, sequence, bits);
  return new OrderNo(iv | (sequence ^ ((yield { purpose: "ctr", block: iv }) >> (128n - bits))));
}

/** siv. undefined: the number is not genuine. */
export function* decodeSiv(number: OrderNo): Asking<OrderId | undefined> {
  const bits = cipherBits(number.isWide);
  const iv = (number.value >> bits) << bits;
  const keystream = yield { purpose: "ctr", block: iv };
  const sequence = number.value ^ iv ^ (keystream >> (128n - bits));
  const expected = yield* ivOf(number.value & ~LOW_100, sequence, bits);
  const genuine = areEqual(toOctets(iv, 16), toOctets(expected, 16));
  if (!genuine || (number.isWide && sequence <= MAX_NARROW_SEQUENCE)) return undefined;
  return new OrderId(number.gene, sequence);
}

/** ff1. INVALID_ARGUMENT: the ID is wide. */
export function* encodeFf1(orderId: OrderId, version: number): Asking<OrderNo64> {
  checkNarrow(orderId);
  const macOfP = yield { purpose: "ff1", block: P };
  let a = orderId.sequence >> RIGHT_BITS;
  let b = orderId.sequence & RIGHT_MASK;
  for (let i = 0; i < FF1_ROUNDS; ++i) {
    const y = yield* yOf(macOfP, orderId.gene, version, i, b);
    [a, b] = [b, (a + y) & maskOf(i)];
  }
  return join64(orderId.gene, (a << RIGHT_BITS) | b);
}

/** ff1. */
export function* decodeFf1(number: OrderNo64, version: number): Asking<OrderId> {
  const macOfP = yield { purpose: "ff1", block: P };
  const cipher = cipherOf(number);
  let a = cipher >> RIGHT_BITS;
  let b = cipher & RIGHT_MASK;
  for (let i = FF1_ROUNDS - 1; i >= 0; --i) {
    const y = yield* yOf(macOfP, number.gene, version, i, a);
    [a, b] = [(b - y) & maskOf(i), a];
  }
  return new OrderId(number.gene, (a << RIGHT_BITS) | b);
}

/** ctr64. INVALID_ARGUMENT: the ID is wide. */
export function* encodeCtr64(orderId: OrderId): Asking<OrderNo64> {
  checkNarrow(orderId);
  return join64(orderId.gene, orderId.sequence ^ (yield* keystreamOf(orderId.gene)));
}

/** ctr64. */
export function* decodeCtr64(number: OrderNo64): Asking<OrderId> {
  return new OrderId(number.gene, cipherOf(number) ^ (yield* keystreamOf(number.gene)));
}

function cipherBits(wide: boolean): bigint {
  return wide ? WIDE_SEQUENCE_BITS : NARROW_SEQUENCE_BITS;
}

/** header | tag | zeros; the tag fills what header and ciphertext leave of 128 bits. */
function* ivOf(header: bigint, sequence: bigint, bits: bigint): Asking<bigint> {
  const tag =
    (yield { purpose: "tag", block: header | sequence }) >> (128n - (HEADER_SHIFT - bits));
  return header | (tag << bits);
}

/** In a time that does not depend on where two values differ. */
function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (const [place, octet] of a.entries()) difference |= octet ^ (b[place] ?? 0);
  return difference === 0;
}

// NIST SP 800-38G FF1 with AES-256 of 47 bits: radix 2, 10 rounds, tweak = gene and key version.
// Names are those of the publication's algorithms 7 and 8.
const FF1_ROUNDS = 10;
const LEFT_BITS = 23n; // u = floor(n / 2)
const RIGHT_BITS = 24n; // v = n - u
const RIGHT_MASK = (1n << RIGHT_BITS) - 1n;
// P = 1 | 2 | 1 | radix (3 bytes) | 10 | u mod 256 | n (4 bytes) | t (4 bytes)
const P = 0x01_02_01_000002_0a_17_0000002f_00000003n;

/** The first 8 bytes of PRF(P | Q), Q = tweak | 9 zero bytes | i | half (3 bytes). */
function* yOf(
  macOfP: bigint,
  gene: number,
  version: number,
  i: number,
  half: bigint,
): Asking<bigint> {
  const q = (BigInt(gene) << 112n) | (BigInt(version) << 104n) | (BigInt(i) << 24n) | half;
  return (yield { purpose: "ff1", block: macOfP ^ q }) >> 64n;
}

function maskOf(i: number): bigint {
  return (1n << (i % 2 === 0 ? LEFT_BITS : RIGHT_BITS)) - 1n;
}

function* keystreamOf(gene: number): Asking<bigint> {
  const block = yield { purpose: "ctr64", block: BigInt(gene) << 112n };
  return block >> (128n - NARROW_SEQUENCE_BITS);
}

function join64(gene: number, cipher: bigint): OrderNo64 {
  return new OrderNo64((BigInt(gene) << NARROW_SEQUENCE_BITS) | cipher);
}

function cipherOf(number: OrderNo64): bigint {
  return number.value & MAX_NARROW_SEQUENCE;
}

function checkNarrow(orderId: OrderId): void {
  if (orderId.isWide) {
    throw invalid(`order ID ${orderId} is wide and does not fit a 64-bit order_no`);
  }
}
