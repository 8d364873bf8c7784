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
  loadTold: boolean;
}

function Row({ shard, most, loadMost, loadTold }: RowFacts) {
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
          value={shard.share}
          most={most}
          mark={shard.weight_share}
          fill={shardClass(shard.id)}
          label={percent(shard.share)}
        />
      </td>
      <td class="number">
        {thousands(shard.weight)} <small>{percent(shard.weight_share)}</small>
      </td>
      <td class="bar-cell">
        {shard.load === null || !loadTold ? (
          "–"
        ) : (
          <Bar
            value={shard.load.share}
            most={loadMost}
            fill={shardClass(shard.id)}
            label={`${percent(shard.load.share)}, ${rate(shard.load.ids_per_second)}`}
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

// Of fewer order IDs in all, shares say nothing: one shard has 100 % of one order.
const leastIds = 100;

export function tellsLoad(answer: ShardsAnswer): boolean {
  const perSecond = answer.shards.reduce((sum, each) => sum + (each.load?.ids_per_second ?? 0), 0);
  return (perSecond * answer.load.window_ms) / 1000 >= leastIds;
}

const headings = ["shard", "vnodes", "share of vnodes", "weight", "load", "moving"];

function Shares({ answer }: { answer: ShardsAnswer }) {
  const { shown, more } = useFirst(answer.shards);
  const most = Math.max(...answer.shards.flatMap((each) => [each.share, each.weight_share]), 0);
  const loadTold = tellsLoad(answer);
  const loadMost = Math.max(...answer.shards.map((each) => each.load?.share ?? 0), 0);
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
                    /vnodes$|weight|moving/.test(heading) && !/share/.test(heading) ? "number" : ""
                  }
                >
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((shard) => (
              <Row
                key={shard.id}
                shard={shard}
                most={most}
                loadMost={loadMost}
                loadTold={loadTold}
              />
            ))}
          </tbody>
        </table>
      </Scroll>
      {more}
      <p class="hint">
        The mark in a bar is what the weight gives.{" "}
        {answer.load.why_absent !== null
          ? `Load is not shown: ${answer.load.why_absent}`
          : `Load: order IDs that this process gave out in the last ${Math.round(
              answer.load.window_ms / 1000,
            )} s${loadTold ? "" : `; fewer than ${leastIds}, so no shares are shown`}.`}
      </p>
    </>
  );
}

// Shares and load of each shard, and the way to change them.
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
      {value !== null && <Shares answer={value} />}
      {problem !== null && <ProblemNote problem={problem} />}
    </Card>
  );
}
