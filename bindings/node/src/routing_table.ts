// SPDX-License-Identifier: Apache-2.0

import type { LocusError } from "./errors.js";
import { GENE_COUNT } from "./gene.js";
import { type Members, type Shape, type Value, readDocument, refusal } from "./json_document.js";
import { checkTable, lowerBound } from "./table_check.js";
import { checkInteger, compareTexts, octetsOf } from "./texts.js";

export const MAX_SHARDS = 65536;
/** Of all shards together. */
export const MAX_LABELS = 65536;
/** Of a shard or a label. */
export const MAX_NAME_BYTES = 64;
/** Of an endpoint or the value of a label. */
export const MAX_TEXT_BYTES = 2048;
/** Of all names, endpoints and labels together. */
export const MAX_ALL_TEXT_BYTES = 8 << 20;

const DEFAULT_WEIGHT = 100;

/** A physical database that owns ranges of vnodes. */
export interface Shard {
  /** From 1. */
  readonly id: number;
  readonly name: string;
  /** A URL or address, without credentials. */
  readonly endpoint: string;
  /** Its portion of the ring; 0: planners empty it. */
  readonly weight: number;
  readonly labels: ReadonlyMap<string, string>;
}

/** The vnodes above the previous range, up to and including `last`, belong to `shard`. */
export interface VnodeRange {
  readonly last: number;
  /** The ID of a shard. */
  readonly shard: number;
}

/** Vnodes first..last are moving to shard `to`, which owns their cohorts below `permyriad`. */
export interface VnodeMove {
  readonly first: number;
  readonly last: number;
  /** The ID of a shard. */
  readonly to: number;
  /** 0..10000 */
  readonly permyriad: number;
  /** The number of the move's last change; 0: no number was given. */
  readonly step: bigint;
}

/**
 * One routing table, read from its JSON document and checked as a whole.
 *
 * Refused (INVALID_ARGUMENT) is what the C++ library refuses: an unknown shard, a repeated ID, name
 * or endpoint, an unsorted or repeated `last`, overlapping moves, first > last, a move of a vnode
 * that `to` already owns, a number out of range, unknown or repeated members, no shards, no ranges,
 * an endpoint with credentials, more of anything than the limits above, and malformed JSON. The
 * message begins with the JSON Pointer of the offending value. No message quotes an endpoint.
 * Immutable.
 */
export class RoutingTable {
  /** 1..2^63 - 1 */
  readonly epoch: bigint;
  /** 16 hex digits that the table keeps through all its epochs; "": it has none. */
  readonly tableId: string;
  /** By ID. */
  readonly shards: readonly Shard[];
  readonly ranges: readonly VnodeRange[];
  /** By vnode. */
  readonly moves: readonly VnodeMove[];
  readonly #shardOf: ReadonlyMap<number, Shard>;

  /** Reads a JSON document. INVALID_ARGUMENT: it is not a valid routing table. */
  constructor(document: string | Uint8Array) {
    const shards: Shard[] = [];
    const ranges: VnodeRange[] = [];
    const moves: VnodeMove[] = [];
    const members = readDocument(document, tableShape(shards, ranges, moves));
    const tableId = members.get("table_id") as string | undefined;
    if (tableId === "") throw refusal("/table_id", "it is empty");
    this.epoch = members.get("epoch") as bigint;
    checkTable({ epoch: this.epoch, tableId: tableId ?? "", shards, ranges, moves });
    this.tableId = (tableId ?? "").toLowerCase();
    this.shards = [...shards].sort((a, b) => a.id - b.id);
    this.ranges = ranges;
    this.moves = [...moves].sort((a, b) => a.first - b.first);
    this.#shardOf = new Map(shards.map((shard) => [shard.id, shard]));
  }

  /** The owner of a vnode: of the first range whose `last` is not below it; a gene above the
   * highest `last` wraps to the first range. INVALID_ARGUMENT: the gene is not 0..65535. */
  ownerOf(gene: number): Shard {
    checkInteger("gene", gene, 0, GENE_COUNT - 1);
    const range = this.ranges[lowerBound(this.ranges, gene)] ?? this.ranges[0]!;
    return this.#shardOf.get(range.shard)!;
  }

  /** The move that a vnode takes part in. INVALID_ARGUMENT: the gene is not 0..65535. */
  moveOf(gene: number): VnodeMove | undefined {
    checkInteger("gene", gene, 0, GENE_COUNT - 1);
    const move = this.moves[lowerBound(this.moves, gene)];
    return move !== undefined && move.first <= gene ? move : undefined;
  }

  /** undefined: no shard has this ID. */
  findShard(id: number): Shard | undefined {
    return this.#shardOf.get(id);
  }

  /** Two tables with the same contents are equal, in whatever order they were written. */
  equals(other: RoutingTable): boolean {
    return other instanceof RoutingTable && contentsOf(this) === contentsOf(other);
  }
}

function contentsOf(table: RoutingTable): string {
  const shards = table.shards.map((shard) => [
    shard.id,
    shard.name,
    shard.endpoint,
    shard.weight,
    [...shard.labels].sort(([a], [b]) => compareTexts(a, b)),
  ]);
  const ranges = table.ranges.map(({ last, shard }) => [last, shard]);
  const moves = table.moves.map((move) => [
    move.first,
    move.last,
    move.to,
    move.permyriad,
    `${move.step}`,
  ]);
  return JSON.stringify([`${table.epoch}`, table.tableId, shards, ranges, moves]);
}

/** Counts what all shards have together; refuses once a limit is passed. */
class TextTotal {
  #labels = 0;
  #bytes = 0;

  add(shard: Shard, pointer: string): void {
    this.#labels += shard.labels.size;
    if (this.#labels > MAX_LABELS) {
      throw refusal(pointer, `more than ${MAX_LABELS} labels of all shards together`);
    }
    for (const text of [shard.name, shard.endpoint, ...[...shard.labels].flat()]) {
      this.#bytes += octetsOf(text).length;
    }
    if (this.#bytes > MAX_ALL_TEXT_BYTES) throw this.#tooLong(pointer);
  }

  #tooLong(pointer: string): LocusError {
    return refusal(
      pointer,
      "names, endpoints and labels of all shards have more than " +
        `${MAX_ALL_TEXT_BYTES} bytes together`,
    );
  }
}

/** The shape of a document, whose elements go to these arrays. */
function tableShape(shards: Shard[], ranges: VnodeRange[], moves: VnodeMove[]): Shape {
  const total = new TextTotal();
  return objectOf(
    {
      epoch: LONG_NUMBER,
      // Longer than one, so that the check of a table ID says what is wrong.
      table_id: { kind: "string", most: 64 },
      shards: arrayOf(SHARD, MAX_SHARDS, (element, pointer) => {
        const shard = shardOf(element as Members);
        total.add(shard, pointer);
        shards.push(shard);
      }),
      // As many as there are vnodes: ranges rise, and moves do not overlap.
      ranges: arrayOf(RANGE, GENE_COUNT, (element) => {
        const range = element as Members;
        ranges.push({ last: numberOf(range, "last"), shard: numberOf(range, "shard") });
      }),
      moves: arrayOf(MOVE, GENE_COUNT, (element) => {
        const move = element as Members;
        moves.push({
          first: numberOf(move, "first"),
          last: numberOf(move, "last"),
          to: numberOf(move, "to"),
          permyriad: numberOf(move, "permyriad"),
          step: (move.get("step") as bigint | undefined) ?? 0n,
        });
      }),
    },
    ["table_id", "moves"],
  );
}

function objectOf(members: Record<string, Shape>, optional: string[] = []): Shape {
  return {
    kind: "object",
    members: new Map(Object.entries(members)),
    optional: new Set(optional),
  };
}

function arrayOf(
  element: Shape,
  most: number,
  each: (element: Value, pointer: string) => void,
): Shape {
  return { kind: "array", element, most, each };
}

const VNODE: Shape = { kind: "integer", most: 0xffffn };
const NUMBER: Shape = { kind: "integer", most: 0xffffffffn };
const LONG_NUMBER: Shape = { kind: "integer", most: (1n << 64n) - 1n };
const TEXT: Shape = { kind: "string", most: MAX_TEXT_BYTES };
const SHARD = objectOf(
  {
    id: NUMBER,
    name: { kind: "string", most: MAX_NAME_BYTES },
    endpoint: TEXT,
    weight: NUMBER,
    labels: { kind: "map", element: TEXT, most: MAX_LABELS, nameBytes: MAX_NAME_BYTES },
  },
  ["weight", "labels"],
);
const RANGE = objectOf({ last: VNODE, shard: NUMBER });
const MOVE = objectOf(
  { first: VNODE, last: VNODE, to: NUMBER, permyriad: NUMBER, step: LONG_NUMBER },
  ["step"],
);

/** An integer of at most 2^32 - 1. */
function numberOf(members: Members, name: string): number {
  return Number(members.get(name) as bigint);
}

function shardOf(members: Members): Shard {
  return {
    id: numberOf(members, "id"),
    name: members.get("name") as string,
    endpoint: members.get("endpoint") as string,
    weight: members.has("weight") ? numberOf(members, "weight") : DEFAULT_WEIGHT,
    labels: new Map(members.get("labels") as Map<string, string> | undefined),
  };
}
