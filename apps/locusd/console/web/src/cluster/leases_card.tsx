// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useState } from "preact/hooks";
import { type LeasesAnswer, type Problem, paths } from "../api";
import { ask, problemFrom } from "../base/client";
import { ago, count, duration, utc } from "../base/format";
import { Badge, Card, ProblemNote, Scroll, type Tone, Waiting } from "../base/parts";
import { live, session } from "../base/state";

type Worker = LeasesAnswer["workers"][number];

const pageSize = 100;

// A lease at the store's time `now`.
export function leaseState(worker: Worker, now: number): { tone: Tone; text: string } {
  if (worker.nonce === "") return { tone: "calm", text: "released" };
  if (worker.ceiling_ms === null) return { tone: "calm", text: "no ceiling" };
  const left = worker.ceiling_ms - now;
  if (left <= 0) return { tone: "calm", text: "over: free again" };
  return { tone: "good", text: `held, ${duration(left)} left` };
}

// What a holder says of itself, as pairs; as it is where it is no object.
export function holderPairs(holder: string): [string, string][] {
  if (holder === "") return [];
  try {
    const said = JSON.parse(holder);
    if (typeof said === "object" && said !== null && !Array.isArray(said)) {
      return Object.entries(said).map(([name, value]) => [
        name,
        typeof value === "string" ? value : JSON.stringify(value),
      ]);
    }
  } catch {
    // As it is.
  }
  return [["", holder]];
}

function Row({ worker, now }: { worker: Worker; now: number }) {
  const { tone, text } = leaseState(worker, now);
  return (
    <tr>
      <th scope="row" class="number">
        {worker.worker}
      </th>
      <td>
        <Badge tone={tone}>{text}</Badge>
      </td>
      <td class="break">
        {holderPairs(worker.holder).map(([name, value]) => (
          <span key={name} class="label">
            {name === "" ? value : `${name}=${value}`}
          </span>
        ))}
      </td>
      <td>{ago(Math.max(0, now - worker.renewed_at_ms))}</td>
      <td>{utc(worker.granted_at_ms)}</td>
      <td class="number">
        <code>{worker.token}</code>
      </td>
    </tr>
  );
}

function Leases({ answer }: { answer: LeasesAnswer }) {
  if (answer.workers.length === 0) {
    return (
      <p class="hint">
        Nobody has a worker ID of this space yet. A generator takes one as it starts; by hand:{" "}
        <code>locus lease acquire</code>.
      </p>
    );
  }
  return (
    <Scroll label="Leases of worker IDs">
      <table class="dense">
        <thead>
          <tr>
            {["worker", "state", "holder", "renewed", "granted", "token"].map((heading) => (
              <th key={heading} scope="col" class={/worker|token/.test(heading) ? "number" : ""}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {answer.workers.map((worker) => (
            <Row key={worker.worker} worker={worker} now={answer.now_ms} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

export function LeasesCard() {
  const [space, setSpace] = useState("");
  const [typed, setTyped] = useState("");
  const [from, setFrom] = useState(0);
  const [answer, setAnswer] = useState<LeasesAnswer | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const clusterNode = session.value.value?.roles?.includes("cluster-node") ?? false;
  const load = useCallback(async () => {
    try {
      // A lease node has to be told; another service has a space of its own.
      const named = space !== "" ? space : clusterNode ? "orders" : undefined;
      const query = { space: named, from, limit: pageSize };
      setAnswer(await ask<LeasesAnswer>(paths.leases, query));
      setProblem(null);
    } catch (error) {
      setProblem(problemFrom(error));
    }
  }, [space, from, clusterNode]);
  useEffect(() => {
    void load();
    const timer = setInterval(() => {
      if (document.visibilityState !== "hidden" && live.value.state === "live") void load();
    }, 5000);
    return () => clearInterval(timer);
  }, [load]);
  const submit = (event: Event) => {
    event.preventDefault();
    setFrom(0);
    setAnswer(null);
    setSpace(typed.trim());
  };
  const rest = answer?.rest_until_ms ?? null;
  return (
    <Card
      title="Leases of worker IDs"
      aside={answer === null ? undefined : count(answer.losses, "loss", "losses")}
      actions={
        <form class="row compact" onSubmit={submit}>
          <input
            aria-label="Space"
            placeholder="space: orders"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <button type="submit" class="secondary small">
            Show
          </button>
        </form>
      }
    >
      {problem !== null && <ProblemNote problem={problem} />}
      {answer === null && problem === null && <Waiting what="the leases" />}
      {answer !== null && rest !== null && rest > answer.now_ms && (
        <p class="note warn">
          After a loss this space rests: it grants nothing for another{" "}
          {duration(rest - answer.now_ms)}.
        </p>
      )}
      {answer !== null && <Leases answer={answer} />}
      <div class="row">
        {from > 0 && (
          <button type="button" class="secondary small" onClick={() => setFrom(0)}>
            From the first
          </button>
        )}
        {answer?.next != null && (
          <button type="button" class="secondary small" onClick={() => setFrom(answer.next ?? 0)}>
            The next {pageSize}
          </button>
        )}
      </div>
    </Card>
  );
}
