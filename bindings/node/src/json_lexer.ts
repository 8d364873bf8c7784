// SPDX-License-Identifier: Apache-2.0
// Reads the tokens of a JSON text (RFC 8259) from its bytes. JSON.parse would round integers beyond
// 2^53, hide members that occur twice, and not say where a byte is wrong.

import { type LocusError, invalid } from "./errors.js";

/** A number: `integer` where it is written as an integer of -2^63..2^64 - 1. "-0" is none. */
export interface JsonNumber {
  readonly integer?: bigint;
  /** As messages show it. */
  readonly shown: string;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const U = 0x75;

const ESCAPES = new Map<number, number>([
  [QUOTE, QUOTE],
  [BACKSLASH, BACKSLASH],
  [0x2f, 0x2f], // slash
  [0x62, 0x08], // b
  [0x66, 0x0c], // f
  [0x6e, LINE_FEED],
  [0x72, CARRIAGE_RETURN],
  [0x74, TAB],
]);
/** A text of 2,048 bytes, each written as \uXXXX. */
const MAX_TOKEN = 2048 * 6;
const NUMBER_BYTE = /[-+.0-9eE]/;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

/** The end of the text, as peek() says it. */
export const END = -1;

/** A place in a JSON text. Errors are INVALID_ARGUMENT and begin with line, column and byte; none
 * quotes the text, which may hold a secret that was put in the wrong place. */
export class JsonLexer {
  readonly #octets: Uint8Array;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #at = 0;

  constructor(octets: Uint8Array) {
    this.#octets = octets;
    if (octets[0] === 0xef && octets[1] === 0xbb && octets[2] === 0xbf) this.#at = 3;
  }

  /** The first byte of the next token, which stays. */
  peek(): number {
    for (;;) {
      const octet = this.#octets[this.#at];
      if (octet !== SPACE && octet !== LINE_FEED && octet !== CARRIAGE_RETURN && octet !== TAB) {
        return octet ?? END;
      }
      ++this.#at;
    }
  }

  /** Takes this character if it is the next token. */
  take(character: string): boolean {
    if (this.peek() !== character.charCodeAt(0)) return false;
    ++this.#at;
    return true;
  }

  /** Takes this character, or refuses what stands in its place. */
  expect(character: string): void {
    if (!this.take(character)) throw this.refuse(`expected '${character}'`);
  }

  /** Takes null, true or false. */
  literal(): "null" | "true" | "false" {
    this.peek();
    for (const word of ["null", "true", "false"] as const) {
      let same = 0;
      while (same < word.length && this.#octets[this.#at + same] === word.charCodeAt(same)) ++same;
      if (same === word.length) {
        this.#at += same;
        return word;
      }
      if (same > 0) throw this.refuse("invalid literal", this.#at + same);
    }
    throw this.refuse("expected a value");
  }

  number(): JsonNumber {
    this.peek();
    const start = this.#at;
    let text = "";
    for (; ; ++this.#at) {
      const octet = this.#octets[this.#at];
      if (octet === undefined || !NUMBER_BYTE.test(String.fromCharCode(octet))) break;
      text += String.fromCharCode(octet);
      this.#checkLength(start);
    }
    if (!NUMBER.test(text)) throw this.refuse("invalid number", start);
    if (/^-?[0-9]+$/.test(text) && text.length <= 20 && text !== "-0") {
      const integer = BigInt(text);
      if (integer >= -(1n << 63n) && integer < 1n << 64n) return { integer, shown: text };
    }
    if (text === "-0") return { shown: text };
    const value = Number(text);
    if (!Number.isFinite(value)) throw this.refuse("a number is out of range", start);
    return { shown: showDouble(value) };
  }

  /** Takes a string, and the number of its bytes in UTF-8. */
  string(): { text: string; size: number } {
    this.expect('"');
    const octets: number[] = [];
    const first = this.#at;
    let start = first; // of what is taken as it is
    for (;;) {
      this.#checkLength(first);
      const octet = this.#octets[this.#at];
      if (octet === undefined) throw this.refuse("a string does not end");
      if (octet < SPACE) throw this.refuse("a control character in a string");
      if (octet !== QUOTE && octet !== BACKSLASH) {
        ++this.#at;
        continue;
      }
      const whole = this.#octets.subarray(start, this.#at);
      if (octet === QUOTE && octets.length === 0) {
        const text = this.#decode(whole, start);
        ++this.#at;
        return { text, size: whole.length };
      }
      this.#decode(whole, start);
      for (const each of whole) octets.push(each);
      ++this.#at;
      if (octet === QUOTE) {
        return { text: this.#decoder.decode(Uint8Array.from(octets)), size: octets.length };
      }
      octets.push(...this.#escaped());
      start = this.#at;
    }
  }

  /** The error of what stands at `at`. */
  refuse(reason: string, at: number = this.#at): LocusError {
    let line = 1;
    let lineStart = 0;
    for (let place = this.#octets.indexOf(LINE_FEED); place >= 0 && place < at;) {
      ++line;
      lineStart = place + 1;
      place = this.#octets.indexOf(LINE_FEED, lineStart);
    }
    const column = at - lineStart + 1;
    return invalid(`line ${line}, column ${column} (byte ${at + 1}): ${reason}`);
  }

  #checkLength(start: number): void {
    if (this.#at - start > MAX_TOKEN) {
      throw this.refuse(`a string or number of more than ${MAX_TOKEN} bytes`, start);
    }
  }

  #decode(octets: Uint8Array, start: number): string {
    try {
      return this.#decoder.decode(octets);
    } catch {
      throw this.refuse("not UTF-8", start + firstInvalid(octets));
    }
  }

  /** What follows a backslash, as UTF-8. */
  #escaped(): Uint8Array | number[] {
    const octet = this.#octets[this.#at];
    const single = octet === undefined ? undefined : ESCAPES.get(octet);
    if (single !== undefined) {
      ++this.#at;
      return [single];
    }
    if (octet !== U) throw this.refuse("an unknown escape in a string");
    const start = this.#at - 1;
    let point = this.#unit();
    if (point >= 0xd800 && point <= 0xdbff) {
      const second = this.#octets[this.#at] === BACKSLASH && this.#octets[this.#at + 1] === U;
      if (second) ++this.#at;
      const low = second ? this.#unit() : 0;
      if (low < 0xdc00 || low > 0xdfff) {
        throw this.refuse("a surrogate without its partner", start);
      }
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    } else if (point >= 0xdc00 && point <= 0xdfff) {
      throw this.refuse("a surrogate without its partner", start);
    }
    return new TextEncoder().encode(String.fromCodePoint(point));
  }

  /** Takes "u" and four hex digits. */
  #unit(): number {
    let unit = 0;
    for (let place = 1; place <= 4; ++place) {
      const digit = String.fromCharCode(this.#octets[this.#at + place] ?? 0);
      if (!/[0-9A-Fa-f]/.test(digit)) {
        throw this.refuse("an escape without four hex digits", this.#at + place);
      }
      unit = (unit << 4) | parseInt(digit, 16);
    }
    this.#at += 5;
    return unit;
  }
}

/** The place of the first byte that UTF-8 does not have there. */
function firstInvalid(octets: Uint8Array): number {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for (let place = 0; place < octets.length; ++place) {
    try {
      decoder.decode(octets.subarray(place, place + 1), { stream: true });
    } catch {
      return place;
    }
  }
  return octets.length; // a character that is cut off
}

/** The shortest digits that mean the same double, as the C++ library writes them. */
function showDouble(value: number): string {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e") as [string, string];
  const digits = mantissa.replace(".", "");
  const point = Number(power) + 1; // digits before the point
  if (value === 0) return `${sign}0.0`;
  if (digits.length <= point && point <= 15) return `${sign}${digits.padEnd(point, "0")}.0`;
  if (0 < point && point <= 15) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  if (-4 < point && point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  const exponent = Math.abs(point - 1)
    .toString()
    .padStart(2, "0");
  const rest = digits.length === 1 ? "" : `.${digits.slice(1)}`;
  return `${sign}${digits[0]}${rest}e${point - 1 < 0 ? "-" : "+"}${exponent}`;
}
