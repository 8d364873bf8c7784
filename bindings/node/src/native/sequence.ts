// SPDX-License-Identifier: Apache-2.0

import { type Handle, addon } from "./addon.js";
import {
  type Waiting,
  checkOptions,
  flag,
  int64,
  optionalText,
  text,
  timeoutOf,
  uint32,
} from "./options.js";
import { Owner } from "./owner.js";

export interface SequenceOptions {
  /** Of the engine's user. */
  readonly password?: string;
  /** Put before the counter's name. */
  readonly keyPrefix?: string;
  /** Between two numbers, and the first number. Default: 1. */
  readonly increment?: bigint | number;
  /** Default: 2^63 - 1. */
  readonly maxValue?: bigint | number;
  /** After maxValue it starts again. */
  readonly wrap?: boolean;
  /** How long it goes on without the engine, in milliseconds. Default: 10 minutes. */
  readonly horizonMs?: number;
}

/** `count` numbers: first, first + increment, ... */
export interface SequenceBlock {
  readonly first: bigint;
  readonly count: number;
  readonly increment: bigint;
}

/** One counter, taken a segment at a time: numbers are unique and rise within the process; a crash
 * leaves a gap. */
export class Sequence extends Owner {
  /** Between two numbers. */
  readonly increment: bigint;

  /** `engineUri`: as the store's of a generator. `key`: the counter's name. */
  static async open(
    engineUri: string,
    key: string,
    options: SequenceOptions = {},
  ): Promise<Sequence> {
    checkOptions(options, ["password", "keyPrefix", "increment", "maxValue", "wrap", "horizonMs"]);
    const increment = int64("increment", options.increment, 1n, 1n);
    const handle = await addon.sequenceOpen(
      text("engineUri", engineUri),
      text("key", key),
      optionalText("password", options.password),
      optionalText("keyPrefix", options.keyPrefix),
      increment,
      int64("maxValue", options.maxValue, 0n, 0n),
      flag("wrap", options.wrap),
      uint32("horizonMs", options.horizonMs, 0),
    );
    return new Sequence(handle, increment);
  }

  private constructor(handle: Handle, increment: bigint) {
    super(handle);
    this.increment = increment;
  }

  /** The next number without waiting; undefined: none is at hand, and one is being fetched. */
  tryNext(): bigint | undefined {
    return addon.sequenceTake(this.handle);
  }

  /** The next number. OUT_OF_RANGE: maxValue is reached. */
  async next(waiting: Waiting = {}): Promise<bigint> {
    const timeoutMs = timeoutOf(waiting);
    return addon.sequenceTake(this.handle) ?? addon.sequenceNext(this.handle, timeoutMs);
  }

  /** At least one number and at most `count`. */
  async nextBlock(count: number, waiting: Waiting = {}): Promise<SequenceBlock> {
    const most = int64("count", count, 1n, 1n);
    const [first, made] = await addon.sequenceNextBlock(this.handle, most, timeoutOf(waiting));
    return { first, count: Number(made), increment: this.increment };
  }
}
