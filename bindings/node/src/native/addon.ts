// SPDX-License-Identifier: Apache-2.0
// Loads the native code, and says what its functions take and return. IDs are bigints: an order ID
// as OrderId.value, an order_no as OrderNo.value. Texts that are undefined or empty mean the
// default.

import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

import { LocusError } from "../errors.js";

/** An object of liblocus. */
export type Handle = { readonly __handle: unique symbol };
type OptionalText = string | undefined;
type ShardParts = [id: number, name: string, endpoint: string];
type RouteParts = [...ShardParts, firstCohort: number, endCohort: number];

/** Functions that return promises run on a thread of libuv's pool, the others at once. */
export interface Addon {
  start(errorClass: typeof LocusError): void;
  close(handle: Handle): Promise<void>;
  endAll(): void;
  version(): string;
  geneOfUint64(buyer: bigint): number;
  geneOfText(buyer: string | Uint8Array): number;
  uuidV7(): string;

  generatorOpen(
    uri: string,
    space: OptionalText,
    password: OptionalText,
    create: boolean,
    wide: boolean,
    horizonMs: number,
  ): Promise<Handle>;
  /** undefined: none is at hand. */
  generatorTake(handle: Handle, gene: number): bigint | undefined;
  generatorNext(handle: Handle, gene: number, timeoutMs: number): Promise<bigint>;
  generatorNextBatch(handle: Handle, genes: Uint16Array, timeoutMs: number): Promise<bigint[]>;
  generatorWarm(handle: Handle, timeoutMs: number): Promise<void>;

  sequenceOpen(
    uri: string,
    key: string,
    password: OptionalText,
    keyPrefix: OptionalText,
    increment: bigint,
    maxValue: bigint,
    wrap: boolean,
    horizonMs: number,
  ): Promise<Handle>;
  sequenceTake(handle: Handle): bigint | undefined;
  sequenceNext(handle: Handle, timeoutMs: number): Promise<bigint>;
  /** The first number, and how many. */
  sequenceNextBlock(handle: Handle, count: bigint, timeoutMs: number): Promise<[bigint, bigint]>;

  numbersOpen(
    uri: string,
    type: string,
    key: OptionalText,
    password: OptionalText,
    horizonMs: number,
  ): Promise<Handle>;
  /** `fields`: a name and a text for each, all with a NUL behind them. */
  numbersTake(handle: Handle, fields: string): string | undefined;
  numbersNext(handle: Handle, fields: string, timeoutMs: number): Promise<string>;
  /** The first number, the step, how many, and their group. */
  numbersNextBlock(
    handle: Handle,
    count: bigint,
    timeoutMs: number,
  ): Promise<[bigint, bigint, bigint, string]>;

  snowflakeOpen(
    uri: string,
    space: OptionalText,
    password: OptionalText,
    ttlMs: number,
    patienceMs: number,
    firstWorker: number,
    lastWorker: number,
    reacquire: boolean,
  ): Promise<Handle>;
  snowflakeNextBatch(handle: Handle, count: number): Promise<bigint[]>;
  snowflakeWorker(handle: Handle): bigint;

  codecOpen(keyFile: string, space: OptionalText): Promise<Handle>;
  codecEncode(handle: Handle, ids: bigint[]): bigint[];
  codecDecode(handle: Handle, number: bigint): bigint;

  routerOpen(
    uri: string,
    password: OptionalText,
    lastGoodFile: OptionalText,
    openTimeoutMs: number,
  ): Promise<Handle>;
  routerRoute(handle: Handle, id: bigint): ShardParts;
  routerRoutesOf(handle: Handle, gene: number): RouteParts[];
  routerEpoch(handle: Handle): bigint;
  routerRefresh(handle: Handle, minEpoch: bigint, timeoutMs: number): Promise<void>;
}

function load(): Addon {
  const platform = `${process.platform}-${process.arch}`;
  const file = fileURLToPath(new URL(`./${platform}.node`, import.meta.url));
  if (!existsSync(file)) {
    throw new LocusError(
      "UNIMPLEMENTED",
      `locus-ids has no native code for ${platform}; build it where liblocus-dev is installed: ` +
        "npm explore locus-ids -- npm run build:native",
    );
  }
  const loaded = { exports: {} };
  // Node exports the symbols of its own OpenSSL, zlib and others; liblocus must find those of the
  // libraries that it was linked with first.
  const { RTLD_NOW, RTLD_DEEPBIND } = constants.dlopen;
  try {
    process.dlopen(loaded, file, RTLD_NOW | (RTLD_DEEPBIND ?? 0));
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    throw new LocusError(
      "FAILED_PRECONDITION",
      `the native code of locus-ids cannot be loaded: ${reason}; is liblocus0 installed?`,
    );
  }
  const addon = loaded.exports as Addon;
  addon.start(LocusError);
  // What is still open then is closed before the libraries' own ends: that gives leased worker IDs
  // and unused numbers back, and no thread of liblocus is running any more. Before other listeners,
  // one of which may throw.
  process.prependListener("exit", () => addon.endAll());
  return addon;
}

export const addon: Addon = load();
