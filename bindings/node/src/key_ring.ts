// SPDX-License-Identifier: Apache-2.0

import { LocusError, invalid } from "./errors.js";
import { MAX_KEY_VERSION, checkKeyVersion } from "./order_no.js";
import { type Text, octetsOf, parseDecimal } from "./texts.js";

export const KEY_BYTES = 32;
/** No key ring file is longer. */
export const MAX_KEY_RING_BYTES = 8192;

const TITLE = "locus-key-ring 1";
const ACTIVE = "active ";
const RETIRED = "retired";
const NEWLINE = 0x0a;

/**
 * Master keys by version, 0..127, one of which is active: new order_nos are made with it.
 *
 * Immutable. Make it by parse(), or in Node by loadKeyRing(); `locus keys` makes and changes the
 * files. No message and no inspection shows a key. JavaScript cannot wipe memory: keys may stay in
 * it, and in core dumps, after the key ring is gone.
 */
export class KeyRing {
  readonly #active: number;
  readonly #keys: ReadonlyMap<number, Uint8Array | null>;

  /** `keys`: 32 bytes by version; null: the version is retired. INVALID_ARGUMENT: a version or the
   * length of a key is wrong, or the active version has no key. */
  constructor(active: number, keys: Iterable<readonly [number, Uint8Array | null]>) {
    const copies = new Map<number, Uint8Array | null>();
    for (const [version, key] of keys) {
      checkKeyVersion(version);
      if (key !== null && !(key instanceof Uint8Array)) {
        throw new TypeError("a key is not a Uint8Array");
      }
      if (key !== null && key.length !== KEY_BYTES) {
        throw invalid(`a key of ${key.length} bytes; ${KEY_BYTES} are needed`);
      }
      copies.set(version, key === null ? null : Uint8Array.from(key));
    }
    if (!copies.get(active)) throw invalid("the key of the active version is missing");
    this.#active = active;
    this.#keys = copies;
  }

  /** Reads the text of a key ring file; `where` names it in messages. INVALID_ARGUMENT: the text is
   * not a key ring; the message names the line and quotes nothing of it. */
  static parse(text: Text, where = "key ring"): KeyRing {
    const lines = new Lines(octetsOf(text), where);
    if (lines.at(1) !== TITLE) throw lines.refuse(1, 'is not "locus-key-ring 1"');
    const second = lines.at(2);
    const active = second.startsWith(ACTIVE) ? versionOf(second.slice(ACTIVE.length)) : undefined;
    if (active === undefined) throw lines.refuse(2, 'is not "active " and a version in 0..127');
    const keys = new Map<number, Uint8Array | null>();
    for (let number = 3; number <= lines.count; ++number) {
      const line = lines.at(number);
      const space = line.indexOf(" ");
      const version = space < 0 ? undefined : versionOf(line.slice(0, space));
      if (version === undefined) {
        throw lines.refuse(number, "does not begin with a version in 0..127 and one space");
      }
      if (keys.has(version)) throw lines.refuse(number, "its version occurs in a line above");
      const shown = line.slice(space + 1);
      const key = shown === RETIRED ? null : decodeKey(shown);
      if (key === undefined) {
        throw lines.refuse(number, 'is neither "retired" nor the base64 of 32 bytes, with padding');
      }
      keys.set(version, key);
    }
    if (!keys.get(active)) throw lines.refuse(2, "the key of the active version is missing");
    return new KeyRing(active, keys);
  }

  /** The version that new order_nos are made with. */
  get active(): number {
    return this.#active;
  }

  /** The versions that have a key, ascending. */
  get versions(): number[] {
    return this.#those((key) => key !== null);
  }

  /** The versions whose key was destroyed, ascending. None of them is given again. */
  get retired(): number[] {
    return this.#those((key) => key === null);
  }

  /** The 32 bytes of a master key. NOT_FOUND: the key ring has no key of that version. */
  key(version: number): Uint8Array {
    const key = this.#keys.get(checkKeyVersion(version));
    if (key) return Uint8Array.from(key);
    throw new LocusError("NOT_FOUND", `the key ring has no key of version ${version}`);
  }

  #those(chosen: (key: Uint8Array | null) => boolean): number[] {
    return [...this.#keys]
      .filter(([, key]) => chosen(key))
      .map(([version]) => version)
      .sort((a, b) => a - b);
  }
}

/** The lines of a file, from 1, each byte as one character. */
class Lines {
  /** With a last one that has no newline. */
  readonly count: number;
  readonly #lines: string[] = [];
  readonly #unended: boolean;
  readonly #where: string;

  constructor(octets: Uint8Array, where: string) {
    let line = "";
    for (const octet of octets) {
      if (octet === NEWLINE) {
        this.#lines.push(line);
        line = "";
      } else {
        line += String.fromCharCode(octet);
      }
    }
    this.#unended = line !== "";
    this.#where = where;
    this.count = this.#lines.length + (this.#unended ? 1 : 0);
  }

  at(number: number): string {
    const line = this.#lines[number - 1];
    if (line !== undefined) return line;
    const ends = this.#unended && number === this.#lines.length + 1;
    throw this.refuse(number, ends ? "does not end with a newline" : "is missing");
  }

  refuse(number: number, rule: string): LocusError {
    return invalid(`${this.#where}, line ${number}: ${rule}`);
  }
}

function versionOf(text: string): number | undefined {
  const version = parseDecimal(text, BigInt(MAX_KEY_VERSION));
  return version === undefined ? undefined : Number(version);
}

/** undefined: it is not what base64 makes of 32 bytes. */
function decodeKey(text: string): Uint8Array | undefined {
  let octets: string;
  try {
    octets = atob(text);
  } catch {
    return undefined;
  }
  // atob() also takes what nobody wrote: white space, no padding, bits that are not used.
  if (octets.length !== KEY_BYTES || btoa(octets) !== text) return undefined;
  return Uint8Array.from(octets, (character) => character.charCodeAt(0));
}
