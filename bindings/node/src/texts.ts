// SPDX-License-Identifier: Apache-2.0
// Text forms that several values share. Lengths and positions are those of the UTF-8 bytes of a
// text, as in the C++ library.

import { invalid } from "./errors.js";

/** A text: a string, or its bytes, which need not be UTF-8. */
export type Text = string | Uint8Array;

const MOST_SHOWN = 64;
const encoder = new TextEncoder();
const LONE_SURROGATE = /\p{Surrogate}/u;

/** What a value is, for a message. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

/** Whether a string has a UTF-8 form: no surrogate without its partner. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/** The UTF-8 bytes of a text; a surrogate without its partner gives the three bytes that it would
 * have if it were a character, which are no UTF-8. */
export function octetsOf(text: Text): Uint8Array {
  if (text instanceof Uint8Array) return text;
  if (typeof text !== "string") throw new TypeError(`a text is of type ${typeName(text)}`);
  if (isWellFormed(text)) return encoder.encode(text);
  const octets: number[] = [];
  for (const character of text) {
    const point = character.codePointAt(0)!;
    if (point < 0xd800 || point > 0xdfff) {
      for (const octet of encoder.encode(character)) octets.push(octet);
    } else {
      octets.push(0xed, ((point >> 6) & 0x3f) | 0x80, (point & 0x3f) | 0x80);
    }
  }
  return Uint8Array.from(octets);
}

/** `text` in double quotes, for a message: at most 64 bytes of it, then "..."; whatever is not
 * printable ASCII as \xHH. */
export function quoted(text: Text): string {
  const octets = octetsOf(text);
  let shown = "";
  for (const octet of octets.subarray(0, MOST_SHOWN)) {
    const character = String.fromCharCode(octet);
    if (character === '"' || character === "\\") {
      shown += `\\${character}`;
    } else if (octet >= 0x20 && octet < 0x7f) {
      shown += character;
    } else {
      shown += `\\x${hexByte(octet)}`;
    }
  }
  return `"${shown}${octets.length > MOST_SHOWN ? "..." : ""}"`;
}

/** Each byte as one character: what is compared with ASCII patterns. */
function latin1(octets: Uint8Array): string {
  let text = "";
  for (const octet of octets) text += String.fromCharCode(octet);
  return text;
}

/** Canonical decimal: digits 0..9 only, no leading zeros, zero is "0", at most `most`, which is
 * below 2^64. undefined: it is anything else. */
export function parseDecimal(text: Text, most: bigint): bigint | undefined {
  const octets = octetsOf(text);
  if (octets.length > 20) return undefined;
  const digits = latin1(octets);
  if (!/^(?:0|[1-9][0-9]*)$/.test(digits) || digits.endsWith("\n")) return undefined;
  const value = BigInt(digits);
  return value <= most ? value : undefined;
}

/** 1 to 32 hex digits of either case, without prefix. undefined: it is anything else. */
export function parseHex(text: Text): bigint | undefined {
  const octets = octetsOf(text);
  if (octets.length < 1 || octets.length > 32) return undefined;
  const digits = latin1(octets);
  return /^[0-9A-Fa-f]+$/.test(digits) ? BigInt(`0x${digits}`) : undefined;
}

/** Whether all characters are decimal digits; the empty text is, too. */
export function isDigits(octets: Uint8Array): boolean {
  return octets.every((octet) => octet >= 0x30 && octet <= 0x39);
}

export function hexByte(octet: number): string {
  return octet.toString(16).padStart(2, "0");
}

/** Two lower-case hex digits a byte. */
export function hexOf(octets: Uint8Array): string {
  let text = "";
  for (const octet of octets) text += hexByte(octet);
  return text;
}

/** The number that bytes are, big-endian. */
export function bigEndian(octets: Uint8Array): bigint {
  return octets.length === 0 ? 0n : BigInt(`0x${hexOf(octets)}`);
}

/** `value` as `size` bytes, big-endian; `size` is 8 or 16. */
export function toOctets(value: bigint, size: 8 | 16): Uint8Array {
  const octets = new Uint8Array(size);
  const view = new DataView(octets.buffer);
  if (size === 16) view.setBigUint64(0, value >> 64n);
  view.setBigUint64(size - 8, value & 0xffffffffffffffffn);
  return octets;
}

/** Bytes, if they are. TypeError: they are none. */
export function checkOctets(name: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`${name} is of type ${typeName(value)}, not Uint8Array`);
}

/** `value`, if it is an integer of least..most, as a number. TypeError: it is no number. */
export function checkInteger(name: string, value: unknown, least: number, most: number): number {
  if (typeof value !== "number") {
    throw new TypeError(`${name} is of type ${typeName(value)}, not number`);
  }
  if (!Number.isInteger(value) || value < least || value > most) {
    throw invalid(`${name} ${value} is not in ${least}..${most}`);
  }
  return value;
}

/** `value`, if it is a bigint of least..most. TypeError: it is no bigint. */
export function checkBigInt(name: string, value: unknown, least: bigint, most: bigint): bigint {
  if (typeof value !== "bigint") {
    throw new TypeError(`${name} is of type ${typeName(value)}, not bigint`);
  }
  if (value < least || value > most) throw invalid(`${name} ${value} is not in ${least}..${most}`);
  return value;
}

/** Orders texts as their UTF-8 bytes are: by code points, which UTF-16 does not do. */
export function compareTexts(a: string, b: string): number {
  const left = octetsOf(a);
  const right = octetsOf(b);
  const both = Math.min(left.length, right.length);
  for (let place = 0; place < both; ++place) {
    const difference = left[place]! - right[place]!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** As in C++ (src/base/text/utf8.cc): characters that show nothing, or change the direction of a line. */
const INVISIBLE_RANGES: readonly (readonly [number, number])[] = [
  [0x0, 0x1f], [0x7f, 0x9f], [0xad, 0xad], [0x34f, 0x34f], [0x600, 0x605], [0x61c, 0x61c],
  [0x6dd, 0x6dd], [0x70f, 0x70f], [0x890, 0x891], [0x8e2, 0x8e2], [0x115f, 0x1160],
  [0x17b4, 0x17b5], [0x180b, 0x180f], [0x200b, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f],
  [0x3164, 0x3164], [0xd800, 0xdfff], [0xfdd0, 0xfdef], [0xfe00, 0xfe0f], [0xfeff, 0xfeff],
  [0xffa0, 0xffa0], [0xfff0, 0xfffb], [0xfffe, 0xffff], [0x110bd, 0x110bd], [0x110cd, 0x110cd],
  [0x13430, 0x13438], [0x1bca0, 0x1bca3], [0x1d173, 0x1d17a], [0x1fffe, 0x1ffff],
  [0x2fffe, 0x2ffff], [0x3fffe, 0x3ffff], [0x4fffe, 0x4ffff], [0x5fffe, 0x5ffff],
  [0x6fffe, 0x6ffff], [0x7fffe, 0x7ffff], [0x8fffe, 0x8ffff], [0x9fffe, 0x9ffff],
  [0xafffe, 0xaffff], [0xbfffe, 0xbffff], [0xcfffe, 0xcffff], [0xdfffe, 0xe0fff],
  [0xefffe, 0xeffff], [0xffffe, 0xfffff], [0x10fffe, 0x10ffff],
];
const INVISIBLE = new RegExp(
  "[" +
    INVISIBLE_RANGES.map(([a, b]) => `\\u{${a.toString(16)}}-\\u{${b.toString(16)}}`).join("") +
    "]",
  "u",
);

/** The first of them in `text`, as "U+200B"; undefined: there is none. */
export function invisibleIn(text: string): string | undefined {
  const found = INVISIBLE.exec(text);
  if (found === null) return undefined;
  return "U+" + found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
}
