// SPDX-License-Identifier: Apache-2.0

import { typeName } from "../texts.js";
import { addon } from "./addon.js";
import {
  type Waiting,
  checkOptions,
  int64,
  optionalText,
  text,
  timeoutOf,
  uint32,
} from "./options.js";
import { Owner } from "./owner.js";

export interface NumbersOptions {
  /** Of the counter. Default: the empty one. */
  readonly key?: string;
  /** Of the engine's user. */
  readonly password?: string;
  /** How long it goes on without the engine, in milliseconds. Default: 10 minutes. */
  readonly horizonMs?: number;
}

/** The values of the pattern's fields that the counter and the clock do not fill, by name. */
export type NumberFields = Readonly<Record<string, string | number | bigint>>;

/** `count` numbers as they are counted: first, first + step, ... */
export interface NumberBlock {
  readonly first: bigint;
  readonly step: bigint;
  readonly count: number;
  /** The day, month or year that they are of, such as "20261125"; empty: the type has no period.
   * Numbers of two groups may be equal. */
  readonly group: string;
}

function bytesOf(fields: NumberFields): string {
  if (fields === null || typeof fields !== "object") {
    throw new TypeError(`the fields are of type ${typeName(fields)}, not object`);
  }
  let bytes = "";
  for (const [name, value] of Object.entries(fields)) {
    const digits = typeof value === "bigint" || Number.isSafeInteger(value);
    bytes += `${text("the name of a field", name)}\0`;
    bytes += `${text(`the field ${name}`, digits ? String(value) : value)}\0`;
  }
  return bytes;
}

/** Business numbers by a sequence type of the store (`locus seq type create`), unique across all processes
 * that count by it. With a period, counting begins again with each day, month or year; the date in
 * a number and its counter are one decision. A changed type is followed within its lifetime. */
export class Numbers extends Owner {
  /** `engineUri`: as the store's of a generator. NOT_FOUND: there is no such type.
   * FAILED_PRECONDITION also: it was dropped. */
  static async open(
    engineUri: string,
    type: string,
    options: NumbersOptions = {},
  ): Promise<Numbers> {
    checkOptions(options, ["key", "password", "horizonMs"]);
    return new Numbers(
      await addon.numbersOpen(
        text("engineUri", engineUri),
        text("type", type),
        optionalText("key", options.key),
        optionalText("password", options.password),
        uint32("horizonMs", options.horizonMs, 0),
      ),
    );
  }

  /** The next number, as the type's pattern writes it; wrong fields are INVALID_ARGUMENT and cost
   * no number. Without waiting; undefined: none is at hand, and one is being fetched. */
  tryNext(fields: NumberFields = {}): string | undefined {
    return addon.numbersTake(this.handle, bytesOf(fields));
  }

  /** The same, but it waits. OUT_OF_RANGE: the counter is at its limit. */
  async next(fields: NumberFields = {}, waiting: Waiting = {}): Promise<string> {
    const bytes = bytesOf(fields);
    const timeoutMs = timeoutOf(waiting);
    return (
      addon.numbersTake(this.handle, bytes) ?? addon.numbersNext(this.handle, bytes, timeoutMs)
    );
  }

  /** At least one number and at most `count` of one group, to be written in another way. */
  async nextBlock(count: number, waiting: Waiting = {}): Promise<NumberBlock> {
    const most = int64("count", count, 1n, 1n);
    const [first, step, made, group] = await addon.numbersNextBlock(
      this.handle,
      most,
      timeoutOf(waiting),
    );
    return { first, step, count: Number(made), group };
  }
}
