// SPDX-License-Identifier: Apache-2.0

import { LocusError, invalid } from "./errors.js";
import { GENE_COUNT } from "./gene.js";
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
  typeName,
} from "./texts.js";

export const NARROW_SEQUENCE_BITS = 47n;
export const WIDE_SEQUENCE_BITS = 56n;
export const MAX_NARROW_SEQUENCE = (1n << NARROW_SEQUENCE_BITS) - 1n;
export const MAX_SEQUENCE = (1n << WIDE_SEQUENCE_BITS) - 1n;
/** Cohorts are 0..COHORTS - 1. */
export const COHORTS = 10000;

const MAX_BIGINT = (1n << 63n) - 1n;
const LOW_64 = (1n << 64n) - 1n;

/**
 * An order ID, which contains the vnode of its order. One type for two formats:
 *
 *     narrow,  64 bits   0 | gene 16 | sequence 47                           a positive BIGINT
 *     wide,   128 bits   0 | gene 16 | 1111 | 1 x43 | 0 x8 | sequence 56     from sequence 2^47 on
 *
 * Bits are listed from the highest down; bytes are big-endian. Immutable. Text and JSON carry IDs
 * as strings: beyond 2^53 a number of JavaScript would be another ID.
 *
 * What makes one throws INVALID_ARGUMENT where the value is not an order ID; the message names it.
 */
export class OrderId {
  /** All bits: below 2^63 those of a narrow ID, otherwise the 128 of a wide one. Equal for equal
   * IDs; compare() sorts them. */
  readonly value: bigint;

  /** `gene`: 0..65535. `sequence`: 0..2^56 - 1. */
  constructor(gene: number, sequence: bigint) {
    checkInteger("gene", gene, 0, GENE_COUNT - 1);
    if (typeof sequence === "bigint" && sequence > MAX_SEQUENCE) {
      throw invalid(`sequence ${sequence} is above 2^56 - 1, the last one of an order ID`);
    }
    checkBigInt("sequence", sequence, 0n, MAX_SEQUENCE);
    const high = BigInt(gene) << NARROW_SEQUENCE_BITS;
    this.value =
      sequence <= MAX_NARROW_SEQUENCE
        ? high | sequence
        : ((high | MAX_NARROW_SEQUENCE) << 64n) | sequence;
  }

  /** From a BIGINT column: a narrow ID, 0..2^63 - 1. */
  static fromInt64(value: bigint): OrderId {
    if (typeof value !== "bigint") {
      throw new TypeError(`an order ID is of type ${typeName(value)}, not bigint`);
    }
    if (value < 0n) throw notAnOrderId(`${value}`, "it is negative");
    if (value > MAX_BIGINT) {
      throw notAnOrderId(`${value}`, "it is above 2^63 - 1; a wide one has 16 bytes");
    }
    return new OrderId(Number(value >> NARROW_SEQUENCE_BITS), value & MAX_NARROW_SEQUENCE);
  }

  /** From the bits of either width, as `value` has them. */
  static fromBits(value: bigint): OrderId {
    if (typeof value !== "bigint" || value <= MAX_BIGINT) return OrderId.fromInt64(value);
    if (value >= 1n << 128n) throw notAnOrderId(`${value}`, "it has more than 128 bits");
    return fromWide(value, value.toString(16).padStart(32, "0"));
  }

  /** From a VARBINARY(16) column: 8 bytes (narrow) or 16 (wide). */
  static fromBytes(octets: Uint8Array): OrderId {
    const size = checkOctets("an order ID", octets).length;
    if (size !== 8 && size !== 16) {
      throw notAnOrderId(`a value of ${size} bytes`, "8 or 16 are needed");
    }
    const value = bigEndian(octets);
    if (size === 16) return fromWide(value, hexOf(octets));
    if (value > MAX_BIGINT) throw notAnOrderId(hexOf(octets), "bit 63 is not 0");
    return OrderId.fromInt64(value);
  }

  /** From text: canonical decimal (narrow) or exactly 32 hex digits of either case (wide). */
  static parse(text: string | Uint8Array): OrderId {
    const octets = octetsOf(text);
    if (octets.length === 32) {
      const bits = parseHex(octets);
      if (bits === undefined) {
        throw notAnOrderId(quoted(octets), "not all of its 32 characters are hex digits");
      }
      return fromWide(bits, quoted(octets));
    }
    const value = parseDecimal(octets, MAX_BIGINT);
    if (value === undefined) {
      throw notAnOrderId(
        quoted(octets),
        "neither a decimal of at most 2^63 - 1 without sign or leading zeros nor 32 hex digits",
      );
    }
    return OrderId.fromInt64(value);
  }

  /** Sorts order IDs as their bytes sort in a column VARBINARY(16): by gene, then by sequence. */
  static compare(this: void, a: OrderId, b: OrderId): -1 | 0 | 1 {
    if (a.gene !== b.gene) return a.gene < b.gene ? -1 : 1;
    return a.sequence < b.sequence ? -1 : a.sequence > b.sequence ? 1 : 0;
  }

  /** 0..65535, the shard gene of the buyer. */
  get gene(): number {
    return Number((this.isWide ? this.value >> 64n : this.value) >> NARROW_SEQUENCE_BITS);
  }

  /** 0..2^56 - 1, unique within its space and gene. */
  get sequence(): bigint {
    return this.value & (this.isWide ? MAX_SEQUENCE : MAX_NARROW_SEQUENCE);
  }

  /** Whether the ID has 128 bits and not 64. */
  get isWide(): boolean {
    return this.value > MAX_BIGINT;
  }

  /** 64 or 128, in bits. */
  get width(): 64 | 128 {
    return this.isWide ? 128 : 64;
  }

  /** 0..9999, the unit in which orders move between shards. */
  get cohort(): number {
    const place = Number(this.sequence % BigInt(COHORTS));
    return (place * 6181 + this.gene * 2531) % COHORTS;
  }

  equals(other: OrderId): boolean {
    return other instanceof OrderId && other.value === this.value;
  }

  /** For a BIGINT column. FAILED_PRECONDITION: the ID is wide and does not fit 64 bits. */
  toInt64(): bigint {
    if (!this.isWide) return this.value;
    throw new LocusError(
      "FAILED_PRECONDITION",
      `order ID ${this} is wide and does not fit 64 bits`,
    );
  }

  /** For a VARBINARY(16) column: 8 bytes (narrow) or 16 (wide), big-endian. */
  toBytes(): Uint8Array {
    return toOctets(this.value, this.isWide ? 16 : 8);
  }

  /** Decimal (narrow) or 32 lower-case hex digits (wide). parse() reads it back. */
  toString(): string {
    return this.isWide ? this.value.toString(16).padStart(32, "0") : this.value.toString();
  }

  /** The text, so that JSON has IDs as strings. */
  toJSON(): string {
    return this.toString();
  }
}

function fromWide(value: bigint, shown: string): OrderId {
  const first = value >> 64n;
  const rest = value & LOW_64;
  if (first >> 63n !== 0n) throw notAnOrderId(shown, "bit 127 is not 0");
  if ((first & MAX_NARROW_SEQUENCE) !== MAX_NARROW_SEQUENCE) {
    throw notAnOrderId(shown, "bits 110 to 64 are not all 1");
  }
  if (rest > MAX_SEQUENCE) throw notAnOrderId(shown, "bits 63 to 56 are not all 0");
  if (rest <= MAX_NARROW_SEQUENCE) {
    throw notAnOrderId(shown, "its sequence is below 2^47, which only narrow IDs have");
  }
  return new OrderId(Number(first >> NARROW_SEQUENCE_BITS), rest);
}

function notAnOrderId(shown: string, reason: string): LocusError {
  return invalid(`${shown} is not an order ID: ${reason}`);
}
