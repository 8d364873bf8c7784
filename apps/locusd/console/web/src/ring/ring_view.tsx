// SPDX-License-Identifier: Apache-2.0
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { TableAnswer, TableDocument } from "../api";
import { count, ofPermyriad, thousands, vnodes } from "../base/format";
import { Card, Empty, ProblemNote, Waiting } from "../base/parts";
import { said, table } from "../base/state";
import { looksOf } from "./colours";
import { FindVnode } from "./find_vnode";
import { factsOf, jump, type Run, runsOf, type VnodeFacts, vnodeCount } from "./ring";
import { RingPicture } from "./ring_picture";
import { RingStrip } from "./ring_strip";
import { RingTable } from "./ring_table";
import { ShardName } from "./shard_name";
import { ShardsCard } from "./shards_card";

// The vnode that was chosen, kept while other views are looked at.
export const chosen = signal(0);
const pointed = signal<number | null>(null);

const nameOf = (document: TableDocument, id: number) =>
  document.shards.find((shard) => shard.id === id)?.name ?? `shard ${id}`;

// One sentence about a vnode.
export function sentence(document: TableDocument, facts: VnodeFacts): string {
  const owner = nameOf(document, facts.run.shard);
  const moving = facts.move
    ? `, moving to ${nameOf(document, facts.move.to)}, ${ofPermyriad(facts.move.permyriad)} are there`
    : "";
  return `vnode ${thousands(facts.vnode)}: ${owner}${moving}`;
}

// How far a key moves on the ring.
export function moved(key: string, shift: boolean, vnode: number): number | null {
  const wrap = (to: number) => ((to % vnodeCount) + vnodeCount) % vnodeCount;
  const step = shift ? 64 : 1;
  switch (key) {
    case "ArrowRight":
    case "ArrowUp":
      return wrap(vnode + step);
    case "ArrowLeft":
    case "ArrowDown":
      return wrap(vnode - step);
    case "Home":
      return 0;
    case "End":
      return vnodeCount - 1;
    default:
      return null;
  }
}

function Facts({ document, facts }: { document: TableDocument; facts: VnodeFacts }) {
  const shard = document.shards.find((each) => each.id === facts.run.shard);
  return (
    <dl class="facts">
      <dt>vnode</dt>
      <dd>{thousands(facts.vnode)}</dd>
      <dt>owner</dt>
      <dd>
        <ShardName id={facts.run.shard} />
      </dd>
      <dt>its range</dt>
      <dd>{vnodes(facts.run.first, facts.run.last)}</dd>
      {shard && (
        <>
          <dt>endpoint</dt>
          <dd class="break">{shard.endpoint}</dd>
        </>
      )}
      <dt>moves to</dt>
      <dd>
        {facts.move === null ? (
          "nowhere"
        ) : (
          <>
            <ShardName id={facts.move.to} />
            <br />
            {ofPermyriad(facts.move.permyriad)} of its orders are there, step {facts.move.step}
          </>
        )}
      </dd>
    </dl>
  );
}

function Slider(props: { document: TableDocument; runs: Run[] }) {
  const { document, runs } = props;
  const looks = useMemo(() => looksOf(document.shards), [document]);
  const shown = pointed.value ?? chosen.value;
  const facts = factsOf(runs, document.moves, shown);
  const stands = factsOf(runs, document.moves, chosen.value);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const jumps = event.key === "PageUp" || event.key === "PageDown";
    const next = jumps
      ? jump(runs, document.moves, chosen.value, event.key === "PageUp")
      : moved(event.key, event.shiftKey, chosen.value);
    if (next === null) return;
    event.preventDefault();
    pointed.value = null;
    chosen.value = next;
  };
  const owner = facts ? nameOf(document, facts.run.shard) : "";
  return (
    <>
      <div
        class="ring-slider"
        role="slider"
        tabIndex={0}
        aria-label="Vnode"
        aria-describedby="ring-keys"
        aria-valuemin={0}
        aria-valuemax={vnodeCount - 1}
        aria-valuenow={chosen.value}
        aria-valuetext={stands ? sentence(document, stands) : `vnode ${chosen.value}`}
        onKeyDown={onKeyDown}
      >
        <RingPicture
          runs={runs}
          moves={document.moves}
          looks={looks}
          needle={shown}
          center={{
            above: "vnode",
            middle: thousands(shown),
            below: owner.length > 20 ? `${owner.slice(0, 19)}…` : owner,
          }}
          onPoint={(vnode) => (pointed.value = vnode)}
          onChoose={(vnode) => (chosen.value = vnode)}
        />
      </div>
      <p id="ring-keys" class="hint">
        Arrow keys go from vnode to vnode, with Shift by 64; Page Up and Page Down to the next range
        or move.
      </p>
      <RingStrip runs={runs} moves={document.moves} looks={looks} vnode={shown} />
      {facts && <Facts document={document} facts={facts} />}
    </>
  );
}

function Ring({ answer }: { answer: TableAnswer }) {
  const { document } = answer;
  const runs = useMemo(() => runsOf(document.ranges), [document]);
  const title = `Ring, epoch ${thousands(answer.epoch)}`;
  const aside = `${count(document.shards.length, "shard")}, ${count(runs.length, "range")}, ${count(
    document.moves.length,
    "move",
  )}`;
  return (
    <div class="columns ring-columns">
      <Card title={title} aside={aside}>
        <Slider document={document} runs={runs} />
        <FindVnode onFound={(vnode) => (chosen.value = vnode)} />
      </Card>
      <div class="stack">
        <ShardsCard />
        <RingTable document={document} runs={runs} />
      </div>
    </div>
  );
}

export function RingView() {
  const { value, problem } = table.value;
  if (value !== null) return <Ring answer={value} />;
  const why = said("table") ?? (problem?.status === 404 ? problem.detail : null);
  if (why !== null) {
    return (
      <Empty title="No routing table">
        <p>{why}</p>
        <p>
          In laptop mode: make a table with <code>locus table new --shard NAME=URL</code>, put it
          into the data directory as <code>table.json</code>, and start locusd again.
        </p>
      </Empty>
    );
  }
  return problem ? <ProblemNote problem={problem} /> : <Waiting what="the routing table" />;
}
