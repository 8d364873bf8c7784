// SPDX-License-Identifier: Apache-2.0
// From CommonJS.
async function main() {
  const { OrderId, Router, loadRoutingTable } = await import("locus-ids");
  const { libraryVersion } = await import("locus-ids/native");
  const orderId = OrderId.parse("5764748260646046997");
  const { name } = new Router(loadRoutingTable("table.json")).route(orderId);
  console.log(`${orderId} ${name} ${libraryVersion()}`);
}
main();
