// SPDX-License-Identifier: Apache-2.0
/**
 * Reads what locus makes: genes, order IDs, order_nos and routing tables. Pure TypeScript, for
 * browsers, workers and Node; nothing here needs a file, a network or native code.
 *
 * locus gives every order an ID that already knows where the order lives. The words and formats are
 * those of docs/inside/formats.md of locus.
 */
export { AsyncOrderNoCodec } from "./async_order_no_codec.js";
export { LocusError, type LocusErrorCode } from "./errors.js";
export {
  type BuyerKey,
  GENE_COUNT,
  geneOf,
  geneOfText,
  geneOfUint64,
  parseUint64Key,
} from "./gene.js";
export { type Fields, type SyncCodec, inspect } from "./inspection.js";
export { KeyRing } from "./key_ring.js";
export { COHORTS, OrderId } from "./order_id.js";
export { OrderNo, OrderNo64 } from "./order_no.js";
export { BuyerRoute, type GeneRoute, Router } from "./router.js";
export { RoutingTable, type Shard, type VnodeMove, type VnodeRange } from "./routing_table.js";
