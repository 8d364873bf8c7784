// SPDX-License-Identifier: Apache-2.0

import { invalid } from "./errors.js";
import { OrderId } from "./order_id.js";
import { OrderNo } from "./order_no.js";
import type { Router } from "./router.js";
import { MAX_PERMYRIAD } from "./table_check.js";
import { isDigits, octetsOf, parseHex, quoted } from "./texts.js";

/** The known fields of one order, in the order in which `locus inspect` prints them. */
export interface Fields {
  kind: "order_id" | "order_no";
  width: 64 | 128;
  gene: number;
  cohort?: number;
  key_version?: number;
  sequence?: string;
  order_id?: string;
  order_no?: string;
  shard?: string;
  /** Where the order may be instead of `shard`, while its vnode moves. */
  target?: string;
}

/** What inspect() needs of a codec. */
export interface SyncCodec {
  readonly active: number;
  encode(orderId: OrderId): OrderNo;
  decode(number: OrderNo): OrderId;
}

/**
 * The known fields of an order ID or order_no that is given as text. 26 characters are an order_no;
 * 32 hex digits are a wide order ID or an order_no, by their format; a decimal is a narrow order
 * ID. `codec` adds what takes the keys, `router` the shards.
 *
 * INVALID_ARGUMENT: the value is none of these, or not an order_no of the codec's space and keys.
 */
export function inspect(value: string | Uint8Array, codec?: SyncCodec, router?: Router): Fields {
  const octets = octetsOf(value);
  if (octets.length === 26) return ofOrderNo(OrderNo.parse(octets), codec, router);
  if (octets.length === 32) {
    const bits = parseHex(octets);
    if (bits !== undefined && ((bits >> 107n) & 15n) === 15n) {
      return ofOrderId(OrderId.parse(octets), codec, router);
    }
    return ofOrderNo(OrderNo.parse(octets), codec, router);
  }
  if (octets.length === 0 || !isDigits(octets)) {
    throw invalid(
      `${quoted(octets)} has ${octets.length} characters: an order_no has 26 or 32, an order ` +
        "ID is decimal or has 32 hex digits",
    );
  }
  return ofOrderId(OrderId.parse(octets), codec, router);
}

function ofOrderId(orderId: OrderId, codec?: SyncCodec, router?: Router): Fields {
  const { width, gene, cohort, sequence } = orderId;
  return {
    kind: "order_id",
    width,
    gene,
    cohort,
    ...(codec && { key_version: codec.active }),
    sequence: `${sequence}`,
    order_id: `${orderId}`,
    ...(codec && { order_no: `${codec.encode(orderId)}` }),
    ...(router && { shard: router.route(orderId).name }),
  };
}

function ofOrderNo(number: OrderNo, codec?: SyncCodec, router?: Router): Fields {
  const orderId = codec?.decode(number);
  return {
    kind: "order_no",
    width: number.width,
    gene: number.gene,
    ...(orderId && { cohort: orderId.cohort }),
    key_version: number.keyVersion,
    ...(orderId && { sequence: `${orderId.sequence}`, order_id: `${orderId}` }),
    order_no: `${number}`,
    ...(router && shardsOf(router, number, orderId)),
  };
}

function shardsOf(
  router: Router,
  number: OrderNo,
  orderId?: OrderId,
): Pick<Fields, "shard" | "target"> {
  if (orderId !== undefined) return { shard: router.route(orderId).name };
  // The order may be on either shard, unless all or none of the vnode has moved.
  const { owner, target, permyriad } = router.routeOfOrderNo(number);
  if (target === undefined || permyriad === 0) return { shard: owner.name };
  if (permyriad === MAX_PERMYRIAD) return { shard: target.name };
  return { shard: owner.name, target: target.name };
}
