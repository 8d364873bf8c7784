// SPDX-License-Identifier: Apache-2.0
/** What index.ts has, with what only Node has: order_nos at once, by node:crypto, and files. */
export * from "./index.js";
export { loadKeyRing, loadRoutingTable } from "./files.js";
export { OrderNoCodec } from "./order_no_codec.js";
