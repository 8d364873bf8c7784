// SPDX-License-Identifier: Apache-2.0
// order_nos: the numbers that customers see. What can be read of one without a key is here.

import { type LocusError, invalid } from "./errors.js";
import {
  bigEndian,
  checkBigInt,
  checkInteger,
  checkOctets,
  hexOf,
  octetsOf,
  parseDecimal,
  parseHex,
  quoted,
  toOctets,
} from "./texts.js";

export const MAX_KEY_VERSION = 127;

const TEXT_LENGTH = 26;
const BYTES = 16;
const NARROW_FORMAT = 2;
const WIDE_FORMAT = 3;
const ORDER_ID_FORMAT = 15;
const MAX_BIGINT = (1n << 63n) - 1n;

// Crockford's base 32; reading ignores ASCII case, then takes I and L as 1 and O as 0.
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const DIGIT_VALUES = new Map<number, number>();
for (const [value, digit] of [...DIGITS].entries()) {
  DIGIT_VALUES.set(digit.charCodeAt(0), value);
  DIGIT_VALUES.set(digit.toLowerCase().charCodeAt(0), value);
}
for (const one of "IiLl") DIGIT_VALUES.set(one.charCodeAt(0), 1);
for (const zero of "Oo") DIGIT_VALUES.set(zero.charCodeAt(0), 0);

/** `version`, if it is 0..127. INVALID_ARGUMENT: it is out of range. TypeError: it is no number. */
export function checkKeyVersion(version: number): number {
  return checkInteger("key version", version, 0, MAX_KEY_VERSION);
}

/**
 * The number a customer sees, 128 bits (scheme siv):
 *
 *     0 | gene 16 | format 4 | key version 7 | tag | ciphertext
 *     format 2, of a narrow order ID: tag 53, ciphertext 47
 *     format 3, of a wide order ID:   tag 44, ciphertext 56
 *
 * The gene can be read without a key, the sequence cannot. A value of this type has the right
 * length and fixed bits, but it is authentic only if a codec decodes it. At a public edge, decode
 * before you query any shard.
 *
 * Several texts name one order_no (case, I L O, hex): compare, cache and rate-limit on `value` or
 * toBytes(), never on the text. Immutable. What makes one throws INVALID_ARGUMENT where the value
 * is not an order_no; the message names it.
 */
export class OrderNo {
  /** The 128 bits as a number. */
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = checkBigInt("order_no", value, 0n, (1n << 128n) - 1n);
    checkBits(value, this.toHex());
  }

  /** From a VARBINARY(16) column: 16 bytes. */
  static fromBytes(octets: Uint8Array): OrderNo {
    const size = checkOctets("an order_no", octets).length;
    if (size !== BYTES) throw notAnOrderNo(`a value of ${size} bytes`, "16 are needed");
    return orderNoOf(bigEndian(octets), hexOf(octets));
  }

  /** From text: 26 base-32 digits (Crockford's alphabet: either case, I and L read as 1, O as 0) or
   * exactly 32 hex digits of either case. */
  static parse(text: string | Uint8Array): OrderNo {
    const octets = octetsOf(text);
    if (octets.length === TEXT_LENGTH) return orderNoOf(parseBase32(octets), quoted(octets));
    if (octets.length !== 2 * BYTES) {
      throw notAnOrderNo(
        quoted(octets),
        `it has ${octets.length} characters; 26 base-32 or 32 hex digits are needed`,
      );
    }
    const value = parseHex(octets);
    if (value === undefined) {
      throw notAnOrderNo(quoted(octets), "not all of its 32 characters are hex digits");
    }
    return orderNoOf(value, quoted(octets));
  }

  /** 0..65535, the shard gene of the buyer. */
  get gene(): number {
    return Number(this.value >> 111n);
  }

  /** 0..127, the version of the master key that it was made with. */
  get keyVersion(): number {
    return Number((this.value >> 100n) & 127n);
  }

  /** Whether it was made of a wide order ID. */
  get isWide(): boolean {
    return formatOf(this.value) === WIDE_FORMAT;
  }

  /** 64 or 128, in bits: the width of the order ID that it was made of. */
  get width(): 64 | 128 {
    return this.isWide ? 128 : 64;
  }

  equals(other: OrderNo): boolean {
    return other instanceof OrderNo && other.value === this.value;
  }

  /** 16 bytes, big-endian, for a VARBINARY(16) column. */
  toBytes(): Uint8Array {
    return toOctets(this.value, BYTES);
  }

  /** 32 lower-case hex digits. */
  toHex(): string {
    return this.value.toString(16).padStart(32, "0");
  }

  /** 26 base-32 digits, the first of them 0..3. parse() reads it back. */
  toString(): string {
    let text = "";
    for (let shift = 125n; shift >= 0n; shift -= 5n)
      text += DIGITS[Number((this.value >> shift) & 31n)];
    return text;
  }

  toJSON(): string {
    return this.toString();
  }
}

/**
 * The number a customer sees, for a BIGINT column (schemes ff1 and ctr64):
 *
 *     0 | gene 16 | 47 bits of ciphertext
 *
 * Not authenticated, and of narrow order IDs only. Its key version is stored beside it. Accept a
 * row found by its number only if decoding with the row's version gives the row's order ID. The
 * value cannot be told from a narrow order ID; its column or endpoint says which it is. Immutable.
 */
export class OrderNo64 {
  /** 0..2^63 - 1, for a BIGINT column. */
  readonly value: bigint;

  /** INVALID_ARGUMENT: the value is not 0..2^63 - 1; the message names it. */
  constructor(value: bigint) {
    if (typeof value === "bigint" && value < 0n) throw notAnOrderNo(`${value}`, "it is negative");
    this.value = checkBigInt("order_no", value, 0n, MAX_BIGINT);
  }

  /** From canonical decimal, at most 2^63 - 1, without sign or leading zeros. */
  static parse(text: string | Uint8Array): OrderNo64 {
    const value = parseDecimal(text, MAX_BIGINT);
    if (value !== undefined) return new OrderNo64(value);
    throw notAnOrderNo(
      quoted(text),
      "a 64-bit one is a decimal of at most 2^63 - 1 without sign or leading zeros",
    );
  }

  /** 0..65535, the shard gene of the buyer. */
  get gene(): number {
    return Number(this.value >> 47n);
  }

  equals(other: OrderNo64): boolean {
    return other instanceof OrderNo64 && other.value === this.value;
  }

  /** Decimal. parse() reads it back. */
  toString(): string {
    return this.value.toString();
  }

  toJSON(): string {
    return this.toString();
  }
}

function formatOf(value: bigint): number {
  return Number((value >> 107n) & 15n);
}

function checkBits(value: bigint, shown: string): void {
  if (value >> 127n !== 0n) throw notAnOrderNo(shown, "bit 127 is not 0");
  const form = formatOf(value);
  if (form === ORDER_ID_FORMAT) {
    throw notAnOrderNo(shown, "its format is that of a wide order ID");
  }
  if (form !== NARROW_FORMAT && form !== WIDE_FORMAT) {
    throw notAnOrderNo(shown, `its format is ${form}, not 2 or 3`);
  }
}

/** `shown`: the value as it was given, for messages. */
function orderNoOf(value: bigint, shown: string): OrderNo {
  checkBits(value, shown);
  return new OrderNo(value);
}

function parseBase32(octets: Uint8Array): bigint {
  if ((DIGIT_VALUES.get(octets[0]!) ?? -1) > 3) {
    throw notAnOrderNo(quoted(octets), "its first character is above 3");
  }
  let value = 0n;
  for (const [place, octet] of octets.entries()) {
    const digit = DIGIT_VALUES.get(octet);
    if (digit === undefined) {
      throw notAnOrderNo(quoted(octets), `character ${place + 1} is not a base-32 digit`);
    }
    value = (value << 5n) | BigInt(digit);
  }
  return value;
}

function notAnOrderNo(shown: string, reason: string): LocusError {
  return invalid(`${shown} is not an order_no: ${reason}`);
}
