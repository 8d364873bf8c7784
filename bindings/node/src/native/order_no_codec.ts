// SPDX-License-Identifier: Apache-2.0

import { OrderId } from "../order_id.js";
import { OrderNo } from "../order_no.js";
import { type Handle, addon } from "./addon.js";
import { checkOptions, optionalText, text } from "./options.js";
import { Owner } from "./owner.js";

/** Encodes order IDs of one space as order_nos and decodes them by the C++ library, whose arithmetic
 * and comparison of tags take the same time for all values: for public edges. */
export class OrderNoCodec extends Owner {
  /** `keyFile`: a key ring, which only its owner may read. `space`: default "orders". */
  static async open(
    keyFile: string,
    options: { readonly space?: string } = {},
  ): Promise<OrderNoCodec> {
    checkOptions(options, ["space"]);
    return new OrderNoCodec(
      await addon.codecOpen(text("keyFile", keyFile), optionalText("space", options.space)),
    );
  }

  private constructor(handle: Handle) {
    super(handle);
  }

  /** The order_no under the active key. */
  encode(orderId: OrderId): OrderNo {
    return this.encodeBatch([orderId])[0]!;
  }

  encodeBatch(orderIds: readonly OrderId[]): OrderNo[] {
    const ids = orderIds.map((orderId) => {
      if (orderId instanceof OrderId) return orderId.value;
      throw new TypeError("an order ID is not an OrderId");
    });
    return addon.codecEncode(this.handle, ids).map((value) => new OrderNo(value));
  }

  /** INVALID_ARGUMENT: it is not an order_no of this space under a key of the ring. */
  decode(number: OrderNo): OrderId {
    if (!(number instanceof OrderNo)) throw new TypeError("an order_no is not an OrderNo");
    return OrderId.fromBits(addon.codecDecode(this.handle, number.value));
  }
}
