// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import type { Plan, Shard } from "../api";
import { thousands } from "../base/format";
import { useFirst } from "../base/parts";
import { shards as loads } from "../base/state";
import { ShardName } from "../ring/shard_name";
import { type Addition, asksForSomething, type Draft, planOf, wrongs } from "./plan_request";

interface Props {
  shards: Shard[];
  draft: Draft;
  busy: boolean;
  onChange: (draft: Draft) => void;
  onPlan: () => void;
  onPlanOfFile: (plan: Plan) => void;
}

let nextKey = 1;

function Additions({ draft, onChange }: Pick<Props, "draft" | "onChange">) {
  const set = (changed: Addition) =>
    onChange({
      ...draft,
      additions: draft.additions.map((each) => (each.key === changed.key ? changed : each)),
    });
  const add = () =>
    onChange({
      ...draft,
      additions: [...draft.additions, { key: nextKey++, name: "", endpoint: "", weight: "100" }],
    });
  return (
    <fieldset>
      <legend>Add shards</legend>
      {draft.additions.map((each) => (
        <div key={each.key} class="row addition">
          <label>
            Name
            <input
              value={each.name}
              required
              autocomplete="off"
              placeholder="orders-c"
              onInput={(event) => set({ ...each, name: event.currentTarget.value })}
            />
          </label>
          <label class="grow">
            Endpoint, without a password
            <input
              value={each.endpoint}
              required
              autocomplete="off"
              placeholder="mysql://db3/orders"
              onInput={(event) => set({ ...each, endpoint: event.currentTarget.value })}
            />
          </label>
          <label class="short">
            Weight
            <input
              value={each.weight}
              inputMode="numeric"
              onInput={(event) => set({ ...each, weight: event.currentTarget.value })}
            />
          </label>
          <button
            type="button"
            class="secondary small"
            aria-label={`Do not add ${each.name || "this shard"}`}
            onClick={() =>
              onChange({
                ...draft,
                additions: draft.additions.filter((other) => other.key !== each.key),
              })
            }
          >
            <span aria-hidden="true">✕</span>
          </button>
        </div>
      ))}
      <button type="button" class="secondary small" onClick={add}>
        Add a shard
      </button>
    </fieldset>
  );
}

function Existing({ shards, draft, onChange }: Pick<Props, "shards" | "draft" | "onChange">) {
  const removes = (name: string) => draft.remove.includes(name);
  const toggle = (name: string) =>
    onChange({
      ...draft,
      remove: removes(name)
        ? draft.remove.filter((other) => other !== name)
        : [...draft.remove, name],
    });
  const [filter, setFilter] = useState("");
  const named = shards.filter((shard) => shard.name.includes(filter));
  const { shown, more } = useFirst(named);
  return (
    <fieldset>
      <legend>Shards there are</legend>
      {shards.length > 15 && (
        <label>
          Only names with
          <input value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </label>
      )}
      <table class="dense">
        <thead>
          <tr>
            <th scope="col">shard</th>
            <th scope="col">weight</th>
            <th scope="col">remove</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((shard) => (
            <tr key={shard.id}>
              <th scope="row">
                <ShardName id={shard.id} name={shard.name} />
              </th>
              <td>
                <input
                  class="short"
                  aria-label={`Weight of ${shard.name}`}
                  inputMode="numeric"
                  disabled={removes(shard.name)}
                  value={draft.weights[shard.name] ?? shard.weight.toString()}
                  onInput={(event) =>
                    onChange({
                      ...draft,
                      weights: { ...draft.weights, [shard.name]: event.currentTarget.value },
                    })
                  }
                />
              </td>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Remove ${shard.name}: it gives all its vnodes away`}
                  checked={removes(shard.name)}
                  onChange={() => toggle(shard.name)}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </fieldset>
  );
}

function FromFile({ onPlanOfFile }: Pick<Props, "onPlanOfFile">) {
  const [said, setSaid] = useState("");
  const read = async (file: File | undefined) => {
    if (file === undefined) return;
    try {
      const plan = planOf(await file.text());
      setSaid("");
      onPlanOfFile(plan);
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <details>
      <summary>Go on with a plan that was saved</summary>
      <label>
        Its file, as <code>locus plan --json</code> prints it
        <input
          type="file"
          accept="application/json,.json"
          onChange={(event) => void read(event.currentTarget.files?.[0])}
        />
      </label>
      <p role="alert" class="said bad">
        {said}
      </p>
    </details>
  );
}

// What is to change: the first step of the dialog.
export function PlanForm({ shards, draft, busy, onChange, onPlan, onPlanOfFile }: Props) {
  const [said, setSaid] = useState<string[]>([]);
  const counted = loads.value.value?.load.by === "ids";
  const submit = (event: Event) => {
    event.preventDefault();
    const wrong = wrongs(draft, shards);
    if (wrong.length === 0 && !asksForSomething(draft, shards)) {
      wrong.push("Nothing is to change yet: add or remove a shard, or change a weight.");
    }
    setSaid(wrong);
    if (wrong.length === 0) onPlan();
  };
  return (
    <form onSubmit={submit} noValidate>
      <p>
        A plan moves as few vnodes as the weights allow. Nothing is published before you have seen
        it.
      </p>
      <Existing shards={shards} draft={draft} onChange={onChange} />
      <Additions draft={draft} onChange={onChange} />
      <fieldset>
        <legend>How</legend>
        <label>
          <input
            type="checkbox"
            checked={draft.byLoad}
            disabled={!counted}
            onChange={() => onChange({ ...draft, byLoad: !draft.byLoad })}
          />
          Divide by load{" "}
          {counted ? "(order IDs that this process gave out)" : "(it is not counted here)"}
        </label>
        <label class="short">
          Moves of one shard at a time
          <input
            value={draft.mostPerShard}
            inputMode="numeric"
            onInput={(event) => onChange({ ...draft, mostPerShard: event.currentTarget.value })}
          />
        </label>
      </fieldset>
      <FromFile onPlanOfFile={onPlanOfFile} />
      <div role="alert">
        {said.map((text) => (
          <p key={text} class="note bad">
            {text}
          </p>
        ))}
      </div>
      <footer>
        <span class="hint">{thousands(shards.length)} shards now</span>
        <button type="submit" aria-busy={busy} disabled={busy}>
          Plan
        </button>
      </footer>
    </form>
  );
}
