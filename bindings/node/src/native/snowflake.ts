// SPDX-License-Identifier: Apache-2.0

import { invalid } from "../errors.js";
import { checkInteger } from "../texts.js";
import { type Handle, addon } from "./addon.js";
import { checkOptions, flag, optionalText, text, uint32 } from "./options.js";
import { Owner } from "./owner.js";

const MOST_AT_ONCE = 65536;

export interface LeasedSnowflakeOptions {
  /** Default: "orders". It must exist: `locus lease create`, the first time with `--first-ever`. */
  readonly space?: string;
  /** Of the store's user. */
  readonly password?: string;
  /** Of the lease, in milliseconds. Default: 10 minutes. */
  readonly ttlMs?: number;
  /** How long opening waits for the store, in milliseconds. Default: 10 s. */
  readonly patienceMs?: number;
  /** The worker IDs that may be taken. Default: all, 0..1023. */
  readonly firstWorker?: number;
  readonly lastWorker?: number;
  /** Takes another worker ID after it lost one. */
  readonly reacquire?: boolean;
}

interface Caller {
  readonly resolve: (id: bigint) => void;
  readonly reject: (error: unknown) => void;
}

/** Snowflake IDs under a leased worker ID: unique among all processes that lease from the same
 * space, also after crashes and clocks that were set back. */
export class LeasedSnowflake extends Owner {
  #callers: Caller[] = [];
  #asking = false;

  /** `leaseUri`: sqlite:PATH, mysql://..., redis://..., etcd://..., zookeeper://..., locusd://...
   */
  static async open(
    leaseUri: string,
    options: LeasedSnowflakeOptions = {},
  ): Promise<LeasedSnowflake> {
    checkOptions(options, [
      ...(["space", "password", "ttlMs", "patienceMs"] as const),
      ...(["firstWorker", "lastWorker", "reacquire"] as const),
    ]);
    if (options.lastWorker === 0) {
      throw invalid("lastWorker 0: a range of worker ID 0 alone means all to liblocus");
    }
    const handle = await addon.snowflakeOpen(
      text("leaseUri", leaseUri),
      optionalText("space", options.space),
      optionalText("password", options.password),
      uint32("ttlMs", options.ttlMs, 0),
      uint32("patienceMs", options.patienceMs, 0),
      uint32("firstWorker", options.firstWorker, 0),
      uint32("lastWorker", options.lastWorker, options.firstWorker === undefined ? 0 : 1023),
      flag("reacquire", options.reacquire),
    );
    return new LeasedSnowflake(handle);
  }

  private constructor(handle: Handle) {
    super(handle);
  }

  /** The worker ID of the present lease, or the last one. */
  get worker(): number {
    return Number(addon.snowflakeWorker(this.handle));
  }

  /** The next ID. It may wait for the clock for up to a second, so the call is made on a thread of
   * the pool; callers that come meanwhile share the next call. FAILED_PRECONDITION: the lease was
   * lost. */
  next(): Promise<bigint> {
    return new Promise((resolve, reject) => {
      this.#callers.push({ resolve, reject });
      if (!this.#asking) void this.#ask();
    });
  }

  /** Up to `count` IDs, 65536 at most. Fewer only where the next one failed; rejected only if the
   * first one failed. */
  async nextBatch(count: number): Promise<bigint[]> {
    checkInteger("count", count, 1, MOST_AT_ONCE);
    return addon.snowflakeNextBatch(this.handle, count);
  }

  /** Serves callers until there is none. Never rejected. */
  async #ask(): Promise<void> {
    this.#asking = true;
    await undefined; // whoever calls in the same turn is served by the same call
    while (this.#callers.length > 0) {
      const callers = this.#callers.splice(0, MOST_AT_ONCE);
      try {
        const ids = await addon.snowflakeNextBatch(this.handle, callers.length);
        for (const [place, id] of ids.entries()) callers[place]!.resolve(id);
        this.#callers.unshift(...callers.slice(ids.length));
      } catch (error) {
        for (const { reject } of callers) reject(error);
      }
    }
    this.#asking = false;
  }
}
