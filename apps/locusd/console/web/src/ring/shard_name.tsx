// SPDX-License-Identifier: Apache-2.0
import type { TableDocument } from "../api";
import { table } from "../base/state";
import { className, type Look, looksOf } from "./colours";

let looksFor: TableDocument | null = null;
let looks = new Map<number, Look>();

function lookOfShard(id: number): Look | undefined {
  const document = table.value.value?.document ?? null;
  if (document !== looksFor) {
    looksFor = document;
    looks = document === null ? new Map() : looksOf(document.shards);
  }
  return looks.get(id);
}

// The class of a shard's colour, of the table in force.
export const shardClass = (id: number) => className(lookOfShard(id));

// A shard that may not be in the table in force: of a plan, or of another epoch.
export interface Named {
  id: number;
  name: string;
}

// Looks of such shards: those of the table keep theirs, others come behind them.
export function looksWith(others: Named[]): Map<number, Look> {
  const known = table.value.value?.document.shards ?? [];
  const ids = new Set(known.map((shard) => shard.id));
  return looksOf([...known, ...others.filter((other) => !ids.has(other.id))]);
}

// A shard's number in its colour.
export function ShardMark({ id, look }: { id: number; look?: Look | undefined }) {
  return <span class={`mark ${className(look ?? lookOfShard(id))}`}>{id}</span>;
}

// Number, colour and name. `name`: where the table in force does not have the shard, or not yet.
export function ShardName({
  id,
  name,
  look,
}: {
  id: number;
  name?: string | undefined;
  look?: Look | undefined;
}) {
  const known = table.value.value?.document.shards.find((shard) => shard.id === id);
  return (
    <span class="shard-name">
      <ShardMark id={id} look={look} />
      <bdi class="break">{name ?? known?.name ?? "not in this table"}</bdi>
    </span>
  );
}
