// SPDX-License-Identifier: Apache-2.0
// What a page sees of the types: nothing of Node's.
import { OrderId, OrderNo, Router, RoutingTable, geneOf, inspect } from "locus-ids";
// @ts-expect-error -- pages read no files
import { loadRoutingTable } from "locus-ids";

export async function show(text: string): Promise<string> {
  const router = new Router(new RoutingTable(await (await fetch("/table.json")).text()));
  const fields = inspect(text, undefined, router);
  const orderId: bigint = OrderId.parse(text).value;
  return `${fields.shard ?? ""} ${orderId} ${OrderNo.parse(text).gene} ${geneOf(17850)}`;
}
export { loadRoutingTable };
