// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { type InspectAnswer, type Problem, paths } from "../api";
import { ask, problemFrom } from "../base/client";
import { ofPermyriad, thousands, thousandsOfText } from "../base/format";
import { Card, CopyButton, ProblemNote } from "../base/parts";
import { may, offers, said, table } from "../base/state";
import { chosen } from "../ring/ring_view";
import { ShardName } from "../ring/shard_name";

const prefixes = [
  ["", "order ID or order_no"],
  ["snowflake:", "Snowflake ID"],
  ["buyer:", "buyer key"],
  ["gene:", "vnode"],
] as const;

const kinds: Record<InspectAnswer["kind"], string> = {
  order_id: "an order ID",
  order_no: "an order_no",
  gene: "a vnode",
  snowflake: "a Snowflake ID",
};

// What is asked for: a prefix that was typed counts, whatever was chosen.
export function inspected(prefix: string, text: string): string {
  const trimmed = prefix === "buyer:" ? text : text.trim();
  return /^(gene|buyer|snowflake):/.test(trimmed) ? trimmed : prefix + trimmed;
}

function Shard({ name }: { name: string }) {
  const shard = table.value.value?.document.shards.find((each) => each.name === name);
  return shard === undefined ? <bdi class="break">{name}</bdi> : <ShardName id={shard.id} />;
}

function Long({ text, what }: { text: string; what: string }) {
  return (
    <>
      <code class="break">{text}</code> <CopyButton text={text} what={what} />
    </>
  );
}

function Result({ answer }: { answer: InspectAnswer }) {
  const { gene } = answer;
  const hidden = answer.kind === "order_no" && answer.order_id === undefined;
  return (
    <>
      <dl class="facts">
        <dt>kind</dt>
        <dd>
          {kinds[answer.kind]}
          {answer.width !== undefined && `, ${answer.width} bits`}
        </dd>
        {answer.order_id !== undefined && (
          <>
            <dt>order ID</dt>
            <dd>
              <Long text={answer.order_id} what="the order ID" />
            </dd>
          </>
        )}
        {answer.order_no !== undefined && (
          <>
            <dt>order_no</dt>
            <dd>
              <Long text={answer.order_no} what="the order_no" />
            </dd>
          </>
        )}
        {gene !== undefined && (
          <>
            <dt>vnode</dt>
            <dd>
              {thousands(gene)} <a href="#/ring">on the ring</a>
            </dd>
          </>
        )}
        {answer.shard !== undefined && (
          <>
            <dt>shard</dt>
            <dd>
              <Shard name={answer.shard} />
            </dd>
          </>
        )}
        {answer.target !== undefined && (
          <>
            <dt>or on</dt>
            <dd>
              <Shard name={answer.target} />: its vnode moves
              {answer.permyriad !== undefined && `, ${ofPermyriad(answer.permyriad)} are there`}
            </dd>
          </>
        )}
        {answer.sequence !== undefined && (
          <>
            <dt>sequence</dt>
            <dd>{thousandsOfText(answer.sequence)}</dd>
          </>
        )}
        {answer.cohort !== undefined && (
          <>
            <dt>cohort</dt>
            <dd>{thousands(answer.cohort)}</dd>
          </>
        )}
        {answer.key_version !== undefined && (
          <>
            <dt>key version</dt>
            <dd>{answer.key_version}</dd>
          </>
        )}
        {answer.time !== undefined && (
          <>
            <dt>made at</dt>
            <dd>{answer.time}</dd>
          </>
        )}
        {answer.worker !== undefined && (
          <>
            <dt>worker</dt>
            <dd>{answer.worker}</dd>
          </>
        )}
      </dl>
      {hidden && (
        <p class="hint">
          {offers.value?.decode && !may("decode")
            ? "The order ID behind it is shown with a token of scope decode."
            : (said("decode") ?? "This service has no keys to decode it.")}
        </p>
      )}
    </>
  );
}

export function InspectView() {
  const [prefix, setPrefix] = useState("");
  const [text, setText] = useState("");
  const [answer, setAnswer] = useState<InspectAnswer | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    try {
      const said = await ask<InspectAnswer>(paths.inspect, { text: inspected(prefix, text) });
      if (said.gene !== undefined) chosen.value = said.gene;
      setAnswer(said);
      setProblem(null);
    } catch (error) {
      setAnswer(null);
      setProblem(problemFrom(error));
    }
  };
  return (
    <Card title="Inspect" class="narrow">
      <form class="row" onSubmit={submit}>
        <label>
          Kind
          <select value={prefix} onChange={(event) => setPrefix(event.currentTarget.value)}>
            {prefixes.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="grow">
          Value
          <input
            value={text}
            autocomplete="off"
            spellcheck={false}
            autocapitalize="off"
            aria-invalid={problem === null ? undefined : "true"}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Inspect</button>
      </form>
      <div role="status">
        {problem !== null && <ProblemNote problem={problem} />}
        {answer !== null && <Result answer={answer} />}
        {answer === null && problem === null && (
          <p class="hint">
            Order IDs: decimal digits, or 32 hex digits. order_no: 26 characters, 32 hex digits, or
            digits. It is sent to this service only, and nothing of it is kept.
          </p>
        )}
      </div>
    </Card>
  );
}
