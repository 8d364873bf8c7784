// SPDX-License-Identifier: Apache-2.0

import type { BuyerKey } from "../gene.js";
import { OrderId } from "../order_id.js";
import { type Handle, addon } from "./addon.js";
import {
  type Waiting,
  checkOptions,
  flag,
  geneOf,
  optionalText,
  text,
  timeoutOf,
  uint32,
} from "./options.js";
import { Owner } from "./owner.js";

export interface OrderIdGeneratorOptions {
  /** Default: "orders". */
  readonly space?: string;
  /** Of the store's user. */
  readonly password?: string;
  /** Makes a store and a space that are missing. The store counts a space that it did not have as a
   * loss: for trials; in production run `locus store init` once. */
  readonly create?: boolean;
  /** Goes on with IDs of 128 bits where a vnode's 47 bits are used up. */
  readonly wide?: boolean;
  /** How long it goes on without the store, in milliseconds. Longer: bigger segments, more
   * sequences lost at a crash. Default: 10 minutes. */
  readonly horizonMs?: number;
}

/** Hands out order IDs: unique across every process and worker that shares the store. Several calls
 * may be under way at once. */
export class OrderIdGenerator extends Owner {
  /** `storeUri`: sqlite:PATH, mysql://..., redis://..., etcd://..., locusd://... */
  static async open(
    storeUri: string,
    options: OrderIdGeneratorOptions = {},
  ): Promise<OrderIdGenerator> {
    checkOptions(options, ["space", "password", "create", "wide", "horizonMs"]);
    const handle = await addon.generatorOpen(
      text("storeUri", storeUri),
      optionalText("space", options.space),
      optionalText("password", options.password),
      flag("create", options.create),
      flag("wide", options.wide),
      uint32("horizonMs", options.horizonMs, 0),
    );
    return new OrderIdGenerator(handle);
  }

  private constructor(handle: Handle) {
    super(handle);
  }

  /** The next ID of a buyer without waiting; undefined: none is at hand, and one is being fetched.
   */
  tryNext(buyer: BuyerKey): OrderId | undefined {
    const bits = addon.generatorTake(this.handle, geneOf(buyer));
    return bits === undefined ? undefined : OrderId.fromBits(bits);
  }

  /** The next ID of a buyer. It is taken from memory at once where there is one; otherwise the call
   * waits for the store on a thread of the pool. DEADLINE_EXCEEDED, UNAVAILABLE: retry.
   * OUT_OF_RANGE: the vnode's 47 bits are used up and `wide` is not set. */
  async next(buyer: BuyerKey, waiting: Waiting = {}): Promise<OrderId> {
    const timeoutMs = timeoutOf(waiting);
    const gene = geneOf(buyer);
    const bits =
      addon.generatorTake(this.handle, gene) ??
      (await addon.generatorNext(this.handle, gene, timeoutMs));
    return OrderId.fromBits(bits);
  }

  /** The next ID of each buyer, in their order. Fewer only where the next one failed: ask for the
   * others to learn why. Rejected only if the first one failed. */
  async nextBatch(buyers: readonly BuyerKey[], waiting: Waiting = {}): Promise<OrderId[]> {
    const timeoutMs = timeoutOf(waiting);
    if (!Array.isArray(buyers)) throw new TypeError("the buyers are not an array");
    const genes = Uint16Array.from(buyers as readonly BuyerKey[], (buyer) => geneOf(buyer));
    if (genes.length === 0) return [];
    const ids = await addon.generatorNextBatch(this.handle, genes, timeoutMs);
    return ids.map((bits) => OrderId.fromBits(bits));
  }

  /** Leases a segment for each section, so that the first callers need not wait. */
  async warm(waiting: Waiting = {}): Promise<void> {
    await addon.generatorWarm(this.handle, timeoutOf(waiting));
  }
}
