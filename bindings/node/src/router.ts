// SPDX-License-Identifier: Apache-2.0

import { type BuyerKey, geneOf } from "./gene.js";
import { COHORTS, type OrderId } from "./order_id.js";
import type { OrderNo, OrderNo64 } from "./order_no.js";
import type { RoutingTable, Shard } from "./routing_table.js";

/** Where the orders of a vnode may be. */
export interface GeneRoute {
  readonly owner: Shard;
  /** undefined while the vnode does not move. */
  readonly target: Shard | undefined;
  /** `target` owns the cohorts below this. */
  readonly permyriad: number;
}

/** A shard that may hold orders of a buyer: those of cohorts firstCohort..endCohort - 1. */
export class BuyerRoute<ShardType extends { readonly name: string } = Shard> {
  readonly shard: ShardType;
  readonly firstCohort: number;
  readonly endCohort: number;

  constructor(shard: ShardType, firstCohort: number, endCohort: number) {
    this.shard = shard;
    this.firstCohort = firstCohort;
    this.endCohort = endCohort;
  }

  /** The shard has none of the buyer's orders by this table and need not be asked. */
  get empty(): boolean {
    return this.firstCohort === this.endCohort;
  }

  /** Whether an order of the buyer is on this shard by this table. */
  holds(orderId: OrderId): boolean {
    return this.firstCohort <= orderId.cohort && orderId.cohort < this.endCohort;
  }
}

/**
 * Routes by one table. Immutable; for a newer table make a new Router.
 *
 * The table is a hint; the fence inside the shard is authoritative. A caller that follows a
 * published table takes only tables of a higher epoch and the same table ID.
 *
 * Cost: two binary searches a route.
 */
export class Router {
  /** The table that this Router routes by. */
  readonly table: RoutingTable;

  constructor(table: RoutingTable) {
    this.table = table;
  }

  /** The one shard that the table gives this order to. */
  route(orderId: OrderId): Shard {
    const gene = orderId.gene;
    const move = this.table.moveOf(gene);
    if (move !== undefined && orderId.cohort < move.permyriad) {
      return this.table.findShard(move.to)!;
    }
    return this.table.ownerOf(gene);
  }

  /** The owner and, while the vnode moves, the target: the cohort is unknown without the order ID.
   * INVALID_ARGUMENT: the gene is not 0..65535. */
  routeOfGene(gene: number): GeneRoute {
    const owner = this.table.ownerOf(gene);
    const move = this.table.moveOf(gene);
    if (move === undefined) return { owner, target: undefined, permyriad: 0 };
    return { owner, target: this.table.findShard(move.to)!, permyriad: move.permyriad };
  }

  /** The same for the gene of an order_no, which needs no key. For internal hops: at a public edge
   * decode the order_no first and route the order ID. */
  routeOfOrderNo(number: OrderNo | OrderNo64): GeneRoute {
    return this.routeOfGene(number.gene);
  }

  /** The shards that may hold orders of this buyer: one, or two while the vnode moves, first the
   * one with more cohorts. Their cohorts are disjoint and together complete. Throws what geneOf
   * throws. */
  routesOf(buyer: BuyerKey): BuyerRoute[] {
    return this.routesOfGene(geneOf(buyer));
  }

  /** The same for the buyers of a gene. INVALID_ARGUMENT: the gene is not 0..65535. */
  routesOfGene(gene: number): BuyerRoute[] {
    const { owner, target, permyriad } = this.routeOfGene(gene);
    if (target === undefined) return [new BuyerRoute(owner, 0, COHORTS)];
    const ofOwner = new BuyerRoute(owner, permyriad, COHORTS);
    const ofTarget = new BuyerRoute(target, 0, permyriad);
    return permyriad > COHORTS / 2 ? [ofTarget, ofOwner] : [ofOwner, ofTarget];
  }
}
