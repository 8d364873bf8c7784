// SPDX-License-Identifier: Apache-2.0

import { type BuyerKey, GENE_COUNT } from "../gene.js";
import { OrderId } from "../order_id.js";
import type { OrderNo, OrderNo64 } from "../order_no.js";
import { BuyerRoute } from "../router.js";
import { checkBigInt, checkInteger } from "../texts.js";
import { type Handle, addon } from "./addon.js";
import {
  type Waiting,
  checkOptions,
  geneOf,
  optionalText,
  text,
  timeoutOf,
  uint32,
} from "./options.js";
import { Owner } from "./owner.js";

export interface RouterOptions {
  /** Of the place's user, or the bearer token of http. */
  readonly password?: string;
  /** Keeps the newest table, so that a process can start while its source is down. Each process
   * needs its own. */
  readonly lastGoodFile?: string;
  /** How long opening waits for the source, in milliseconds. Default: 3 s. */
  readonly openTimeoutMs?: number;
}

export interface RoutedShard {
  readonly id: number;
  readonly name: string;
  readonly endpoint: string;
}

/** Says which shard an order is on, by the newest table of a place, which it follows. */
export class Router extends Owner {
  /** `tableUri`: file:PATH, etcd://..., mysql://..., http://... */
  static async open(tableUri: string, options: RouterOptions = {}): Promise<Router> {
    checkOptions(options, ["password", "lastGoodFile", "openTimeoutMs"]);
    const handle = await addon.routerOpen(
      text("tableUri", tableUri),
      optionalText("password", options.password),
      optionalText("lastGoodFile", options.lastGoodFile),
      uint32("openTimeoutMs", options.openTimeoutMs, 0),
    );
    return new Router(handle);
  }

  private constructor(handle: Handle) {
    super(handle);
  }

  /** The epoch of the table in force. */
  get epoch(): bigint {
    return addon.routerEpoch(this.handle);
  }

  /** The one shard that the table gives this order to. */
  route(orderId: OrderId): RoutedShard {
    if (!(orderId instanceof OrderId)) throw new TypeError("an order ID is not an OrderId");
    const [id, name, endpoint] = addon.routerRoute(this.handle, orderId.value);
    return { id, name, endpoint };
  }

  /** The shards that may hold orders of this buyer: one, or two while the vnode moves, first the
   * one with more cohorts. */
  routesOf(buyer: BuyerKey): BuyerRoute<RoutedShard>[] {
    return this.#routesOf(geneOf(buyer));
  }

  /** The same for the buyers of a gene. */
  routesOfGene(gene: number): BuyerRoute<RoutedShard>[] {
    return this.#routesOf(checkInteger("gene", gene, 0, GENE_COUNT - 1));
  }

  /** The same by the gene of an order_no, which needs no key. */
  routesOfOrderNo(number: OrderNo | OrderNo64): BuyerRoute<RoutedShard>[] {
    return this.routesOfGene(number.gene);
  }

  /** Waits until a table of at least this epoch is in force. DEADLINE_EXCEEDED: none came. */
  async refresh(minEpoch: bigint, waiting: Waiting = {}): Promise<void> {
    checkBigInt("minEpoch", minEpoch, 0n, (1n << 63n) - 1n);
    await addon.routerRefresh(this.handle, minEpoch, timeoutOf(waiting));
  }

  #routesOf(gene: number): BuyerRoute<RoutedShard>[] {
    return addon.routerRoutesOf(this.handle, gene).map(([id, name, endpoint, first, end]) => {
      return new BuyerRoute({ id, name, endpoint }, first, end);
    });
  }
}
