// SPDX-License-Identifier: Apache-2.0

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

/** What is used of WebCrypto. The type SubtleCrypto is known only where the DOM's types are. */
export interface Subtle {
  encrypt(...of: never[]): Promise<unknown>;
  importKey(...of: never[]): Promise<unknown>;
  deriveKey(...of: never[]): Promise<unknown>;
}

/**
 * As OrderNoCodec, by WebCrypto: for workers, Deno and other places without node:crypto. Its
 * methods return promises. A page that customers open must not have the keys: ask a service.
 */
export class AsyncOrderNoCodec {
  /** The space whose orders are encoded and decoded. */
  readonly space: string;
  readonly #ring: KeyRing;
  readonly #subtle: SubtleCrypto;
  readonly #keys = new Map<string, Promise<CryptoKey>>();

  /** `subtle`: for Node 18, whose global object does not have it: `webcrypto.subtle` of
   * node:crypto. INVALID_ARGUMENT: `space` is not the name of a space. UNIMPLEMENTED: there is no
   * WebCrypto. */
  constructor(
    ring: KeyRing,
    space: string = DEFAULT_SPACE,
    subtle: Subtle | undefined = globalThis.crypto?.subtle,
  ) {
    this.space = checkSpace(space);
    if (subtle === undefined) {
      throw new LocusError(
        "UNIMPLEMENTED",
        "there is no WebCrypto here; browsers have it on https and localhost only",
      );
    }
    this.#ring = ring;
    this.#subtle = subtle as SubtleCrypto;
  }

  /** The key version that encode() uses unless told otherwise. */
  get active(): number {
    return this.#ring.active;
  }

  /** As OrderNoCodec.encode. */
  async encode(orderId: OrderId, version: number = this.active): Promise<OrderNo> {
    return this.#run(version, encodeSiv(orderId, checkKeyVersion(version)));
  }

  /** As OrderNoCodec.decode. */
  async decode(number: OrderNo): Promise<OrderId> {
    let orderId: OrderId | undefined;
    try {
      orderId = await this.#run(number.keyVersion, decodeSiv(number));
    } catch (error) {
      if (!(error instanceof LocusError && error.code === "NOT_FOUND")) throw error;
    }
    if (orderId === undefined) throw notOfThisSpace(number);
    return orderId;
  }

  /** As OrderNoCodec.encodeFf1. */
  async encodeFf1(orderId: OrderId, version: number): Promise<OrderNo64> {
    return this.#run(version, encodeFf1(orderId, version));
  }

  /** As OrderNoCodec.decodeFf1. */
  async decodeFf1(number: OrderNo64, version: number): Promise<OrderId> {
    return this.#run(version, decodeFf1(number, version));
  }

  /** As OrderNoCodec.encodeCtr64ReusingKeystream. */
  async encodeCtr64ReusingKeystream(orderId: OrderId, version: number): Promise<OrderNo64> {
    return this.#run(version, encodeCtr64(orderId));
  }

  /** As OrderNoCodec.decodeCtr64. */
  async decodeCtr64(number: OrderNo64, version: number): Promise<OrderId> {
    return this.#run(version, decodeCtr64(number));
  }

  async #run<Result>(version: number, asking: Asking<Result>): Promise<Result> {
    let step = asking.next();
    while (!step.done) step = asking.next(await this.#encrypt(version, step.value));
    return step.value;
  }

  async #encrypt(version: number, { purpose, block }: AesQuestion): Promise<bigint> {
    const name = `${version} ${purpose}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = this.#derive(this.#ring.key(version), purpose);
      this.#keys.set(name, key);
    }
    // The first block of counter mode is AES of the counter.
    const algorithm = {
      name: "AES-CTR",
      counter: toOctets(block, 16) as BufferSource,
      length: 128,
    };
    return bigEndian(
      new Uint8Array(await this.#subtle.encrypt(algorithm, await key, new Uint8Array(16))),
    );
  }

  async #derive(master: Uint8Array, purpose: Purpose): Promise<CryptoKey> {
    const base = await this.#subtle.importKey("raw", master as BufferSource, "HKDF", false, [
      "deriveKey",
    ]);
    const { salt, info } = derivationOf(this.space, purpose);
    return this.#subtle.deriveKey(
      { name: "HKDF", hash: "SHA-256", salt: salt as BufferSource, info: info as BufferSource },
      base,
      { name: "AES-CTR", length: 256 },
      false,
      ["encrypt"],
    );
  }
}
