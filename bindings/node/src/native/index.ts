// SPDX-License-Identifier: Apache-2.0
/**
 * locus by its native library, liblocus: hands out order IDs, numbers and Snowflake IDs, decodes
 * order_nos, and follows routing tables. What may wait is done off the event loop
 * and returns a promise; the rest is done at once. Objects belong to the thread (main or worker)
 * that opened them.
 */
import { addon } from "./addon.js";

export { LocusError, type LocusErrorCode } from "../errors.js";
export type { BuyerKey } from "../gene.js";
export { OrderId } from "../order_id.js";
export { OrderNo } from "../order_no.js";
export { BuyerRoute } from "../router.js";
export { OrderIdGenerator, type OrderIdGeneratorOptions } from "./generator.js";
export { type Waiting, geneOf } from "./options.js";
export { type NumberBlock, type NumberFields, Numbers, type NumbersOptions } from "./numbers.js";
export { OrderNoCodec } from "./order_no_codec.js";
export { type RoutedShard, Router, type RouterOptions } from "./router.js";
export { Sequence, type SequenceBlock, type SequenceOptions } from "./sequence.js";
export { LeasedSnowflake, type LeasedSnowflakeOptions } from "./snowflake.js";

/** "0.1.0": of the library that is loaded. */
export function libraryVersion(): string {
  return addon.version();
}

/** A UUID of version 7, as text. */
export function uuidV7(): string {
  return addon.uuidV7();
}
