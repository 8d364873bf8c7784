// SPDX-License-Identifier: Apache-2.0
import type { ShardsAnswer } from "../api";
import { percent, rate, thousands } from "../base/format";
import { Bar, Card, ProblemNote, Scroll, useFirst } from "../base/parts";
import { may, offers, shards } from "../base/state";
import { openPlan } from "../plan/plan_dialog";
import { ShardMark, shardClass } from "./shard_name";

type ShardRow = ShardsAnswer["shards"][number];

interface RowFacts {
  shard: ShardRow;
  most: number;
  loadMost: number;
  load: LoadOf;
}

function Row({ shard, most, loadMost, load: loadOf }: RowFacts) {
  const load = loadOf(shard);
  const labels = Object.entries(shard.labels ?? {});
  return (
    <tr>
      <th scope="row">
        <span class="shard-name">
          <ShardMark id={shard.id} />
          <span>
            <bdi class="break">{shard.name}</bdi>
            <small class="break">
              {shard.endpoint}
              {labels.map(([name, value]) => (
                <span key={name} class="label">
                  {name}={value}
                </span>
              ))}
            </small>
          </span>
        </span>
      </th>
      <td class="number">{thousands(shard.vnodes)}</td>
      <td class="bar-cell">
        <Bar
          value={shard.portion}
          most={most}
          mark={shard.weight_portion}
          fill={shardClass(shard.id)}
          label={percent(shard.portion)}
        />
      </td>
      <td class="number">
        {thousands(shard.weight)} <small>{percent(shard.weight_portion)}</small>
      </td>
      <td class="bar-cell">
        {load === null ? (
          "–"
        ) : (
          <Bar
            value={load.portion}
            most={loadMost}
            fill={shardClass(shard.id)}
            label={`${percent(load.portion)}, ${rate(load.perSecond)}`}
          />
        )}
      </td>
      <td class="number">
        {shard.moving_in === 0 && shard.moving_out === 0 ? (
          "–"
        ) : (
          <>
            {shard.moving_in > 0 && <span>in {thousands(shard.moving_in)} </span>}
            {shard.moving_out > 0 && <span>out {thousands(shard.moving_out)}</span>}
          </>
        )}
      </td>
    </tr>
  );
}

// Of fewer in all, portions say nothing: one shard has 100 % of one order.
const leastIds = 100;

type LoadOf = (shard: ShardRow) => { portion: number; perSecond: number } | null;

const idsOf: LoadOf = ({ load }) =>
  load && { portion: load.portion, perSecond: load.ids_per_second };
const writesOf: LoadOf = ({ writes }) =>
  writes && { portion: writes.portion, perSecond: writes.per_second };

// What the load of the shards is: what they say themselves, where they are asked, since other
// programs write, too; otherwise the IDs of this process. And what that is, in words.
export function loadOf(answer: ShardsAnswer): { load: LoadOf; text: string } {
  const { load, shards: rows } = answer;
  const within = (ms: number) => `in the last ${Math.round(ms / 1000)} s`;
  const least = (of: LoadOf, ms: number) =>
    (rows.reduce((sum, each) => sum + (of(each)?.perSecond ?? 0), 0) * ms) / 1000 >= leastIds;
  const told = (of: LoadOf, ms: number, what: string) =>
    least(of, ms)
      ? { load: of, text: `Load: ${what} ${within(ms)}.` }
      : {
          load: () => null,
          text: `Load: ${what} ${within(ms)}; fewer than ${leastIds}, so no portions are shown.`,
        };
  if (load.writes_window_ms > 0) {
    return told(
      writesOf,
      load.writes_window_ms,
      "statements that wrote rows, as the shards count them,",
    );
  }
  if (load.why_absent !== null) {
    return { load: () => null, text: `Load is not shown: ${load.why_absent}` };
  }
  return told(idsOf, load.window_ms, "order IDs that this process gave out");
}

const headings = ["shard", "vnodes", "portion of vnodes", "weight", "load", "moving"];

function Portions({ answer }: { answer: ShardsAnswer }) {
  const { shown, more } = useFirst(answer.shards);
  const most = Math.max(...answer.shards.flatMap((each) => [each.portion, each.weight_portion]), 0);
  const { load, text } = loadOf(answer);
  const loadMost = Math.max(...answer.shards.map((each) => load(each)?.portion ?? 0), 0);
  return (
    <>
      <Scroll label="Shards">
        <table class="dense">
          <thead>
            <tr>
              {headings.map((heading) => (
                <th
                  key={heading}
                  scope="col"
                  class={
                    /vnodes$|weight|moving/.test(heading) && !/portion/.test(heading)
                      ? "number"
                      : ""
                  }
                >
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((shard) => (
              <Row key={shard.id} shard={shard} most={most} loadMost={loadMost} load={load} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {more}
      <p class="hint">The mark in a bar is what the weight gives. {text}</p>
    </>
  );
}

// Portions and load of each shard, and the way to change them.
export function ShardsCard() {
  const { value, problem } = shards.value;
  const canPlan = offers.value?.plan ?? false;
  return (
    <Card
      title="Shards"
      actions={
        canPlan && may("read") ? (
          <button type="button" onClick={openPlan}>
            Plan a change…
          </button>
        ) : undefined
      }
    >
      {value !== null && <Portions answer={value} />}
      {problem !== null && <ProblemNote problem={problem} />}
    </Card>
  );
}
