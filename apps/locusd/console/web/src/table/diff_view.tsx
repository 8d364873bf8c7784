// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import type { Shard, TableDiff, VnodeMove } from "../api";
import { ofPermyriad, thousands, vnodes } from "../base/format";
import { Scroll } from "../base/parts";
import { looksWith, ShardName } from "../ring/shard_name";

type Kind = "added" | "removed" | "changed";
const signs: Record<Kind, string> = { added: "+", removed: "−", changed: "~" };

export interface Line {
  kind: Kind;
  key: string;
  what: ComponentChildren;
}

const moveKey = (move: VnodeMove) => `${move.first}-${move.last}-${move.to}`;

// How the moves of two tables differ.
export function moveChanges(before: VnodeMove[], after: VnodeMove[]) {
  const were = new Map(before.map((move) => [moveKey(move), move]));
  const are = new Set(after.map(moveKey));
  return {
    begun: after.filter((move) => !were.has(moveKey(move))),
    ended: before.filter((move) => !are.has(moveKey(move))),
    gone: after.flatMap((move) => {
      const was = were.get(moveKey(move));
      const same = was?.permyriad === move.permyriad && was.step === move.step;
      return was === undefined || same ? [] : [{ before: was, after: move }];
    }),
  };
}

// What differs between two descriptions of one shard.
export function shardChanges(before: Shard, after: Shard): string[] {
  const labels = (shard: Shard) =>
    Object.entries(shard.labels ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .sort()
      .join(" ") || "none";
  const pairs: [string, string, string][] = [
    ["name", before.name, after.name],
    ["endpoint", before.endpoint, after.endpoint],
    ["weight", thousands(before.weight), thousands(after.weight)],
    ["labels", labels(before), labels(after)],
  ];
  return pairs.filter(([, a, b]) => a !== b).map(([term, a, b]) => `${term} ${a} → ${b}`);
}

function linesOf(diff: TableDiff): Line[] {
  const moves = moveChanges(diff.before.moves, diff.after.moves);
  const all = [
    ...diff.shards_added,
    ...diff.shards_removed,
    ...diff.shards_changed.map((changed) => changed.after),
  ];
  const names = new Map(all.map((shard) => [shard.id, shard.name]));
  const looks = looksWith(all);
  const byId = (id: number) => <ShardName id={id} name={names.get(id)} look={looks.get(id)} />;
  const named = (shard: Shard) => byId(shard.id);
  const range = (move: { first: number; last: number }) => vnodes(move.first, move.last);
  const lines: Line[] = [];
  const add = (kind: Kind, key: string, what: ComponentChildren) => lines.push({ kind, key, what });
  for (const shard of diff.shards_added) {
    add(
      "added",
      `a${shard.id}`,
      <>
        shard {named(shard)} at <span class="break">{shard.endpoint}</span>, weight{" "}
        {thousands(shard.weight)}
      </>,
    );
  }
  for (const shard of diff.shards_removed) {
    add("removed", `r${shard.id}`, <>shard {named(shard)}</>);
  }
  for (const { before, after } of diff.shards_changed) {
    const text = shardChanges(before, after).join("; ");
    add(
      "changed",
      `c${after.id}`,
      <>
        shard {named(after)}: {text}
      </>,
    );
  }
  for (const owner of diff.owners_changed) {
    add(
      "changed",
      `o${owner.first}`,
      <>
        vnodes {range(owner)} go from {byId(owner.from)} to {byId(owner.to)}
      </>,
    );
  }
  for (const move of moves.begun) {
    add(
      "added",
      `m${move.first}`,
      <>
        a move of vnodes {range(move)} to {byId(move.to)} begins at {ofPermyriad(move.permyriad)}
      </>,
    );
  }
  for (const { before, after } of moves.gone) {
    add(
      "changed",
      `m${after.first}`,
      <>
        the move of vnodes {range(after)} to {byId(after.to)}: {ofPermyriad(before.permyriad)} →{" "}
        {ofPermyriad(after.permyriad)}
      </>,
    );
  }
  for (const move of moves.ended) {
    add(
      "removed",
      `m${move.first}`,
      <>
        the move of vnodes {range(move)} to {byId(move.to)}, which stood at{" "}
        {ofPermyriad(move.permyriad)}
      </>,
    );
  }
  return lines;
}

const most = 200;

// What changes from one table to another, in words, and as the command prints it.
export function DiffView({ diff }: { diff: TableDiff }) {
  const lines = linesOf(diff);
  return (
    <div class="diff">
      {lines.length === 0 && <p>Nothing but the epoch differs.</p>}
      <ul>
        {lines.slice(0, most).map((line) => (
          <li key={line.key} class={line.kind}>
            <span class="sign" aria-hidden="true">
              {signs[line.kind]}
            </span>
            <span class="visually-hidden">{line.kind}: </span>
            <span>{line.what}</span>
          </li>
        ))}
      </ul>
      {lines.length > most && <p class="hint">… and {thousands(lines.length - most)} more</p>}
      <details>
        <summary>
          As <code>locus table diff</code> prints it
        </summary>
        <Scroll label="Output of locus table diff">
          <pre>{diff.text}</pre>
        </Scroll>
      </details>
    </div>
  );
}
