// SPDX-License-Identifier: Apache-2.0
// What a program for Node sees of the types.
import {
  type BuyerRoute,
  LocusError,
  OrderId,
  OrderNoCodec,
  type Shard,
  loadKeyRing,
} from "locus-ids";
import { OrderIdGenerator, Router, type RoutedShard, Sequence } from "locus-ids/native";

export async function order(buyer: string | bigint): Promise<string> {
  const generator = await OrderIdGenerator.open("sqlite:orders.db", { horizonMs: 60_000 });
  const orderId: OrderId = await generator.next(buyer, { timeoutMs: 1000 });
  // @ts-expect-error -- an order ID is never a number
  const wrong: number = orderId.value;
  // @ts-expect-error -- there is no such option
  await generator.next(buyer, { timeout: 1000 });
  const number: bigint = await (await Sequence.open("sqlite:orders.db", "invoices")).next();
  return `${new OrderNoCodec(loadKeyRing("keys")).encode(orderId)} ${number} ${wrong}`;
}

export async function shards(buyer: bigint): Promise<string[]> {
  const router = await Router.open("file:table.json");
  const routes: BuyerRoute<RoutedShard>[] = router.routesOf(buyer);
  return routes.filter((route) => !route.empty).map((route) => route.shard.name);
}

export function codeOf(error: unknown): string {
  return error instanceof LocusError && error.code === "UNAVAILABLE" ? "retry" : "stop";
}

export type Labels = Shard["labels"];
