// SPDX-License-Identifier: Apache-2.0

import { createCipheriv, hkdfSync } from "node:crypto";

import { LocusError } from "./errors.js";
import type { KeyRing } from "./key_ring.js";
import type { OrderId } from "./order_id.js";
import { type OrderNo, type OrderNo64, checkKeyVersion } from "./order_no.js";
import {
  type AesQuestion,
  type Asking,
  DEFAULT_SPACE,
  type Purpose,
  checkSpace,
  decodeCtr64,
  decodeFf1,
  decodeSiv,
  derivationOf,
  encodeCtr64,
  encodeFf1,
  encodeSiv,
  notOfThisSpace,
} from "./order_no_schemes.js";
import { bigEndian, toOctets } from "./texts.js";

/** The ciphers of one key version, each made when it is first used. */
class Ciphers {
  readonly #master: Uint8Array;
  readonly #space: string;
  readonly #of = new Map<Purpose, ReturnType<typeof createCipheriv>>();

  constructor(master: Uint8Array, space: string) {
    this.#master = master;
    this.#space = space;
  }

  encrypt({ purpose, block }: AesQuestion): bigint {
    let cipher = this.#of.get(purpose);
    if (cipher === undefined) {
      const { salt, info } = derivationOf(this.#space, purpose);
      const key = new Uint8Array(hkdfSync("sha256", this.#master, salt, info, 32));
      // Single blocks: each is AES of its own, and nothing is ever encrypted in this mode.
      cipher = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
      this.#of.set(purpose, cipher);
    }
    return bigEndian(cipher.update(toOctets(block, 16)));
  }
}

/**
 * Encodes order IDs of one space as order_nos and decodes them, by node:crypto. Three schemes:
 *
 * - siv: OrderNo, the default. Deterministic, bound to the gene, authenticated: a guess succeeds
 *   with 2^-53 (narrow) or 2^-44 (wide).
 * - ff1: OrderNo64. A permutation of the sequences of one gene; not authenticated.
 * - ctr64: OrderNo64. One known pair of order ID and order_no opens all others of that gene. It
 *   exists to read numbers that were made this way.
 *
 * Make an order_no once and store it: after a rotation of keys one order may have two valid
 * order_nos, so use the order ID for idempotency.
 *
 * AES is OpenSSL's; the rest is arithmetic on bigints, which is not constant-time.
 */
export class OrderNoCodec {
  /** The space whose orders are encoded and decoded. */
  readonly space: string;
  readonly #ring: KeyRing;
  readonly #ciphers = new Map<number, Ciphers>();

  /** INVALID_ARGUMENT: `space` is not the name of a space. */
  constructor(ring: KeyRing, space: string = DEFAULT_SPACE) {
    this.space = checkSpace(space);
    this.#ring = ring;
  }

  /** The key version that encode() uses unless told otherwise. */
  get active(): number {
    return this.#ring.active;
  }

  /** The order_no (siv) of an order ID under a key version, the active one by default. NOT_FOUND:
   * the key ring has no key of the version. */
  encode(orderId: OrderId, version: number = this.active): OrderNo {
    return this.#run(version, encodeSiv(orderId, checkKeyVersion(version)));
  }

  /** The order ID of an order_no (siv). INVALID_ARGUMENT: it is not an order_no of this space under
   * a key of the ring. The message does not say which check failed. */
  decode(number: OrderNo): OrderId {
    let orderId: OrderId | undefined;
    try {
      orderId = this.#run(number.keyVersion, decodeSiv(number));
    } catch (error) {
      if (!(error instanceof LocusError && error.code === "NOT_FOUND")) throw error;
    }
    if (orderId === undefined) throw notOfThisSpace(number);
    return orderId;
  }

  /** ff1. INVALID_ARGUMENT: the ID is wide. NOT_FOUND: the key ring has no key of the version. */
  encodeFf1(orderId: OrderId, version: number): OrderNo64 {
    return this.#run(version, encodeFf1(orderId, version));
  }

  /** ff1. NOT_FOUND: the key ring has no key of the version. Nothing else is refused. */
  decodeFf1(number: OrderNo64, version: number): OrderId {
    return this.#run(version, decodeFf1(number, version));
  }

  /** ctr64. INVALID_ARGUMENT: the ID is wide. NOT_FOUND: there is no key of the version. */
  encodeCtr64ReusingKeystream(orderId: OrderId, version: number): OrderNo64 {
    return this.#run(version, encodeCtr64(orderId));
  }

  /** ctr64. NOT_FOUND: the key ring has no key of the version. Nothing else is refused. */
  decodeCtr64(number: OrderNo64, version: number): OrderId {
    return this.#run(version, decodeCtr64(number));
  }

  #run<Result>(version: number, asking: Asking<Result>): Result {
    let step = asking.next();
    if (step.done) return step.value;
    const ciphers = this.#ofVersion(version);
    while (!step.done) step = asking.next(ciphers.encrypt(step.value));
    return step.value;
  }

  #ofVersion(version: number): Ciphers {
    let ciphers = this.#ciphers.get(version);
    if (ciphers === undefined) {
      ciphers = new Ciphers(this.#ring.key(version), this.space);
      this.#ciphers.set(version, ciphers);
    }
    return ciphers;
  }
}
