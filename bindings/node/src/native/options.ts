// SPDX-License-Identifier: Apache-2.0
// Checks of what the native functions take.

import { invalid } from "../errors.js";
import { type BuyerKey, textKey, uint64Key } from "../gene.js";
import { checkBigInt, checkInteger, isWellFormed, typeName } from "../texts.js";
import { addon } from "./addon.js";

const MAX_UINT32 = 0xffffffff;

/** How long a call waits for its store, in milliseconds; 0: it does not wait. Default: 5 s. */
export interface Waiting {
  readonly timeoutMs?: number;
}

/** TypeError: these are no options, or there is one of another name. */
export function checkOptions<Options extends object>(
  options: Options,
  known: readonly (keyof Options & string)[],
): Options {
  if (options === null || typeof options !== "object") {
    throw new TypeError(`the options are of type ${typeName(options)}, not object`);
  }
  for (const name of Object.keys(options)) {
    if (!(known as readonly string[]).includes(name)) {
      throw new TypeError(`there is no option "${name}"; there are ${known.join(", ")}`);
    }
  }
  return options;
}

/** A text that liblocus can take: UTF-8 without NUL. The message does not show it: it may be a
 * password. */
export function text(name: string, value: unknown): string {
  if (typeof value !== "string") {
    throw new TypeError(`${name} is of type ${typeName(value)}, not string`);
  }
  if (value.includes("\0")) throw invalid(`${name} contains a NUL`);
  if (!isWellFormed(value)) throw invalid(`${name} has a surrogate without its partner`);
  return value;
}

export function optionalText(name: string, value: unknown): string | undefined {
  return value === undefined ? undefined : text(name, value);
}

/** 0..2^32 - 1; undefined: `otherwise`. */
export function uint32(name: string, value: unknown, otherwise: number): number {
  return value === undefined ? otherwise : checkInteger(name, value, 0, MAX_UINT32);
}

export function flag(name: string, value: unknown): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw new TypeError(`${name} is of type ${typeName(value)}, not boolean`);
}

/** A bigint, or an integer that a number has exactly; undefined: `otherwise`. */
export function int64(name: string, value: unknown, least: bigint, otherwise: bigint): bigint {
  if (value === undefined) return otherwise;
  const exact = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
  return checkBigInt(name, exact, least, (1n << 63n) - 1n);
}

export function timeoutOf(waiting: Waiting): number {
  return uint32("timeoutMs", checkOptions(waiting, ["timeoutMs"]).timeoutMs, 5000);
}

/** The gene of a buyer key, by the native code. Throws what geneOf of the pure package throws. */
export function geneOf(key: BuyerKey): number {
  if (typeof key === "bigint" || typeof key === "number") return addon.geneOfUint64(uint64Key(key));
  return addon.geneOfText(typeof key === "string" && isWellFormed(key) ? key : textKey(key));
}
