// SPDX-License-Identifier: Apache-2.0
// Whether what a document of a routing table says can be true. Lengths were checked as it was read.

import { GENE_COUNT } from "./gene.js";
import { pointerTo, refusal } from "./json_document.js";
import type { Shard, VnodeMove, VnodeRange } from "./routing_table.js";
import { compareTexts, invisibleIn, parseHex, quoted } from "./texts.js";

export const MAX_PERMYRIAD = 10000;
const TABLE_ID_DIGITS = 16;
/** Fits a BIGINT; the first epoch is 1. */
const MAX_EPOCH = (1n << 63n) - 1n;
const MAX_STEP = (1n << 63n) - 1n;
const MAX_WEIGHT = 1000000;
// eslint-disable-next-line no-control-regex -- these are the characters that are meant
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]/;

/** The place of the first element whose `last` is not below `gene`. */
export function lowerBound(sorted: readonly { readonly last: number }[], gene: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.last < gene) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** INVALID_ARGUMENT: something is wrong; the message begins with its JSON Pointer. */
export function checkTable(table: {
  epoch: bigint;
  tableId: string;
  shards: readonly Shard[];
  ranges: readonly VnodeRange[];
  moves: readonly VnodeMove[];
}): void {
  if (table.epoch < 1n || table.epoch > MAX_EPOCH) {
    throw refusal("/epoch", outOf(table.epoch, 1, MAX_EPOCH));
  }
  checkTableId(table.tableId);
  checkShards(table.shards);
  const known = new Set(table.shards.map((shard) => shard.id));
  checkRanges(table.ranges, known);
  checkMoves(table.moves, table.ranges, known);
}

function outOf(value: bigint | number, least: number, most: bigint | number): string {
  return `${value} is not from ${least} to ${most}`;
}

function checkTableId(tableId: string): void {
  if (tableId === "") return;
  if (tableId.length === TABLE_ID_DIGITS && parseHex(tableId) !== undefined) return;
  throw refusal(
    "/table_id",
    `it is not ${TABLE_ID_DIGITS} hex digits, as \`locus table new\` makes them`,
  );
}

function checkShards(shards: readonly Shard[]): void {
  if (shards.length === 0) throw refusal("/shards", "there is no shard");
  const ids = new Map<number, number>();
  const names = new Map<string, number>();
  const endpoints = new Map<string, number>();
  for (const [index, shard] of shards.entries()) {
    const pointer = pointerTo("/shards", index);
    checkShard(shard, pointer);
    const sameId = ids.get(shard.id);
    if (sameId !== undefined) {
      throw refusal(pointerTo(pointer, "id"), `${shard.id} is also the id of /shards/${sameId}`);
    }
    const sameName = names.get(shard.name);
    if (sameName !== undefined) {
      throw refusal(
        pointerTo(pointer, "name"),
        `${quoted(shard.name)} is also the name of /shards/${sameName}`,
      );
    }
    const sameEndpoint = endpoints.get(shard.endpoint);
    if (sameEndpoint !== undefined) {
      throw refusal(
        pointerTo(pointer, "endpoint"),
        `/shards/${sameEndpoint} has the same endpoint; two shards are two databases`,
      );
    }
    ids.set(shard.id, index);
    names.set(shard.name, index);
    endpoints.set(shard.endpoint, index);
  }
}

function checkShard(shard: Shard, pointer: string): void {
  if (shard.id === 0) throw refusal(pointerTo(pointer, "id"), "0 is not an id; the first is 1");
  checkText(shard.name, pointerTo(pointer, "name"));
  checkEndpoint(shard.endpoint, pointerTo(pointer, "endpoint"));
  if (shard.weight > MAX_WEIGHT) {
    throw refusal(pointerTo(pointer, "weight"), outOf(shard.weight, 0, MAX_WEIGHT));
  }
  const labels = pointerTo(pointer, "labels");
  for (const [name, value] of [...shard.labels].sort(([a], [b]) => compareTexts(a, b))) {
    const label = pointerTo(labels, name);
    checkText(name, label);
    checkPrintable(value, label);
  }
}

/** Does not show the text: it may be an endpoint. */
function checkText(text: string, pointer: string): void {
  if (text === "") throw refusal(pointer, "it is empty");
  checkPrintable(text, pointer);
}

function checkPrintable(text: string, pointer: string): void {
  if (UNPRINTABLE.test(text)) {
    throw refusal(pointer, "it has control characters, or is not UTF-8");
  }
  const invisible = invisibleIn(text);
  if (invisible !== undefined) {
    throw refusal(pointer, `it has ${invisible}, which is invisible or changes the direction`);
  }
}

function checkEndpoint(endpoint: string, pointer: string): void {
  // A password may contain any character, also '/', so an '@' anywhere may be the end of one.
  if (/@|password=|passwd=|pwd=/i.test(endpoint)) {
    throw refusal(pointer, "it contains a user or a password; an endpoint carries no credentials");
  }
  checkText(endpoint, pointer);
  if (endpoint.includes(" ")) throw refusal(pointer, "it contains a space");
}

function checkRanges(ranges: readonly VnodeRange[], known: ReadonlySet<number>): void {
  if (ranges.length === 0) throw refusal("/ranges", "there is no range");
  for (const [index, { last, shard }] of ranges.entries()) {
    const pointer = pointerTo("/ranges", index);
    const before = ranges[index - 1];
    if (before !== undefined && last <= before.last) {
      throw refusal(
        pointerTo(pointer, "last"),
        `${last} is not above ${before.last}, the one before it`,
      );
    }
    if (!known.has(shard)) throw refusal(pointerTo(pointer, "shard"), `no shard has id ${shard}`);
  }
}

/** Stops at the first vnode that moves twice, so the work is bounded by vnodes and moves. */
function checkMoves(
  moves: readonly VnodeMove[],
  ranges: readonly VnodeRange[],
  known: ReadonlySet<number>,
): void {
  const moveOf = new Int32Array(GENE_COUNT).fill(-1);
  for (const [index, move] of moves.entries()) {
    const pointer = pointerTo("/moves", index);
    checkMove(move, pointer, known);
    for (let vnode = move.first; vnode <= move.last; ++vnode) {
      const other = moveOf[vnode]!;
      if (other >= 0) throw refusal(pointer, `vnode ${vnode} is also in /moves/${other}`);
      const owner = ranges[lowerBound(ranges, vnode)] ?? ranges[0]!;
      if (owner.shard === move.to) {
        throw refusal(pointerTo(pointer, "to"), `shard ${move.to} already owns vnode ${vnode}`);
      }
      moveOf[vnode] = index;
    }
  }
}

function checkMove(move: VnodeMove, pointer: string, known: ReadonlySet<number>): void {
  if (move.first > move.last) {
    throw refusal(pointerTo(pointer, "first"), `${move.first} is above last, ${move.last}`);
  }
  if (!known.has(move.to)) throw refusal(pointerTo(pointer, "to"), `no shard has id ${move.to}`);
  if (move.permyriad > MAX_PERMYRIAD) {
    throw refusal(pointerTo(pointer, "permyriad"), outOf(move.permyriad, 0, MAX_PERMYRIAD));
  }
  if (move.step > MAX_STEP) {
    throw refusal(pointerTo(pointer, "step"), outOf(move.step, 0, MAX_STEP));
  }
}
