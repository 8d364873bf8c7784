// SPDX-License-Identifier: Apache-2.0
import type { Plan, PlanAnswer } from "../api";
import { count, percent, thousands } from "../base/format";
import { Bar, Scroll } from "../base/parts";
import { may, offers, said } from "../base/state";
import { openToken } from "../base/token_dialog";
import { className } from "../ring/colours";
import { vnodeCount } from "../ring/ring";
import { looksWith, ShardName } from "../ring/shard_name";
import { DiffView } from "../table/diff_view";
import { imageAddress, portionChanges } from "./plan_request";

function Portions({ plan }: { plan: Plan }) {
  const rows = portionChanges(plan);
  const looks = looksWith(plan.shards);
  const look = (id: number | null) => (id === null ? undefined : looks.get(id));
  const fill = (id: number | null) => (id === null ? "bar-fill" : className(look(id)));
  const most = Math.max(...rows.flatMap((row) => [row.before, row.after]), 1);
  return (
    <Scroll label="Vnodes of each shard before and after">
      <table class="dense">
        <thead>
          <tr>
            <th scope="col">shard</th>
            <th scope="col">before</th>
            <th scope="col">after</th>
            <th scope="col" class="number">
              change
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                {row.id === null ? (
                  row.name
                ) : (
                  <ShardName id={row.id} name={row.name} look={look(row.id)} />
                )}
              </th>
              <td class="bar-cell">
                <Bar
                  value={row.before}
                  most={most}
                  fill={fill(row.id)}
                  label={percent(row.before / vnodeCount)}
                />
              </td>
              <td class="bar-cell">
                <Bar
                  value={row.after}
                  most={most}
                  fill={fill(row.id)}
                  label={percent(row.after / vnodeCount)}
                />
              </td>
              <td class="number">
                {row.after > row.before ? "+" : ""}
                {thousands(row.after - row.before)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function save(plan: Plan): void {
  const blob = new Blob([JSON.stringify(plan, null, 2)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `plan-of-epoch-${plan.epoch}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function Publishing({ onPublish }: { onPublish: () => void }) {
  if (!offers.value?.publish) {
    return (
      <p class="hint">
        {said("publish") ?? "This service has no place to publish to."} Save the plan, and use{" "}
        <code>locus plan apply</code>.
      </p>
    );
  }
  if (!may("publish")) {
    return (
      <p class="hint">
        Read-only: to publish, a token of scope publish is needed.{" "}
        <button type="button" class="secondary small" onClick={openToken}>
          Enter a token
        </button>
      </p>
    );
  }
  return (
    <button type="button" onClick={onPublish}>
      Publish…
    </button>
  );
}

// The plan, as a picture and in words: the second step. Nothing is published yet.
export function PlanResult(props: {
  answer: PlanAnswer;
  onBack: () => void;
  onPublish: () => void;
}) {
  const { plan, svg, text, next, unchanged, epoch } = props.answer;
  const part = percent(plan.moved_vnodes / vnodeCount);
  const said = `${count(plan.moved_vnodes, "vnode")} move (${part}), in ${count(plan.moves.length, "move")}`;
  return (
    <>
      <p role="status">
        From epoch {thousands(epoch)}: {said}.
        {plan.peak_before !== undefined && plan.peak_after !== undefined && (
          <>
            {" "}
            The busiest shard has {percent(plan.peak_before)} of the load now,{" "}
            {percent(plan.peak_after)} then.
          </>
        )}
      </p>
      <img
        class="plan-picture"
        src={imageAddress(svg)}
        alt={`The rings before and after the plan. ${said}. The table below tells the same.`}
      />
      <Portions plan={plan} />
      {next !== null ? (
        <>
          <h3>What publishing changes now</h3>
          <p>
            Epoch {thousands(next.epoch)}: {count(next.begins, "move begins", "moves begin")}
            {next.waits > 0 &&
              `, ${count(next.waits, "move waits", "moves wait")} until others have ended`}
            .
          </p>
          <DiffView diff={next.diff} />
        </>
      ) : (
        <p class="note calm">{unchanged ?? "Nothing is left to publish."}</p>
      )}
      <details>
        <summary>
          As <code>locus plan</code> prints it
        </summary>
        <Scroll label="Output of locus plan">
          <pre>{text}</pre>
        </Scroll>
      </details>
      <footer>
        <button type="button" class="secondary" onClick={props.onBack}>
          Back
        </button>
        <button type="button" class="secondary" onClick={() => save(plan)}>
          Save the plan
        </button>
        {next !== null && <Publishing onPublish={props.onPublish} />}
      </footer>
    </>
  );
}
