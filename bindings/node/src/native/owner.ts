// SPDX-License-Identifier: Apache-2.0

import { type Handle, addon } from "./addon.js";

/** Has an object of liblocus, which close() ends. One that is never closed is closed some time
 * after nobody uses it any more, or when the process or worker ends. */
export abstract class Owner {
  protected readonly handle: Handle;
  #closing: Promise<void> | undefined;

  /** @internal */
  protected constructor(handle: Handle) {
    this.handle = handle;
  }

  /** Refuses calls from now on (FAILED_PRECONDITION), waits for those under way, and closes. May be
   * called more than once. */
  close(): Promise<void> {
    this.#closing ??= addon.close(this.handle);
    return this.#closing;
  }
}
