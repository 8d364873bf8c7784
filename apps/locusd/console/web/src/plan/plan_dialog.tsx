// SPDX-License-Identifier: Apache-2.0
import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import {
  type Plan,
  type PlanAnswer,
  type PlanRequest,
  type Problem,
  type PublishAnswer,
  paths,
} from "../api";
import { problemFrom, send } from "../base/client";
import { Dialog } from "../base/dialog";
import { thousands } from "../base/format";
import { ProblemNote } from "../base/parts";
import { loadTable, table } from "../base/state";
import { DiffView } from "../table/diff_view";
import { PlanForm } from "./plan_form";
import { type Draft, emptyDraft, requestOf } from "./plan_request";
import { PlanResult } from "./plan_result";
import { PublishQuestion } from "./publish_question";

const open = signal(false);
export const openPlan = () => (open.value = true);

// What was planned, and with which most_per_shard: to publish, the same has to be said again.
interface Planned {
  answer: PlanAnswer;
  mostPerShard: number;
}
type Step =
  | { name: "form" }
  | { name: "plan"; planned: Planned }
  | { name: "question"; planned: Planned }
  | { name: "done"; published: PublishAnswer; plan: Plan };

function Done({ published, onClose }: { published: PublishAnswer; onClose: () => void }) {
  return (
    <>
      <p class="note good" role="status">
        {published.already ? "It had been published before: " : "Published: "}epoch{" "}
        {thousands(published.epoch)}. Routers install it as they follow their source.
      </p>
      <DiffView diff={published.diff} />
      <p>
        Now carry the moves out: <code>locus move new</code> writes their file,{" "}
        <code>locus move start</code> and <code>locus move run</code> begin them. Save the plan if
        some of its moves wait for others: with it the next ones are begun.
      </p>
      <footer>
        <button type="button" data-first onClick={onClose}>
          Done
        </button>
      </footer>
    </>
  );
}

function Steps({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const [step, setStep] = useState<Step>({ name: "form" });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const top = useRef<HTMLDivElement>(null);
  const document = table.value.value?.document;
  const go = (next: Step) => {
    setProblem(null);
    setStep(next);
    // Readers begin at the top of what is new.
    requestAnimationFrame(() => {
      top.current?.closest("article")?.scrollTo(0, 0);
      top.current?.focus({ preventScroll: true });
    });
  };
  const attempt = async (action: () => Promise<void>) => {
    setBusy(true);
    try {
      await action();
    } catch (error) {
      setProblem(problemFrom(error));
    } finally {
      setBusy(false);
    }
  };
  const plan = (request: PlanRequest) =>
    attempt(async () => {
      const answer = await send<PlanAnswer>(paths.plan, request);
      go({ name: "plan", planned: { answer, mostPerShard: request.most_per_shard ?? 1 } });
    });
  const publish = ({ answer, mostPerShard }: Planned, reason: string) =>
    attempt(async () => {
      const published = await send<PublishAnswer>(paths.publish, {
        epoch: answer.epoch,
        plan: answer.plan,
        digest: answer.next?.digest,
        most_per_shard: mostPerShard,
        ...(reason === "" ? {} : { reason }),
      });
      void loadTable();
      go({ name: "done", published, plan: answer.plan });
    });
  if (document === undefined) return <p>There is no routing table to plan from.</p>;
  return (
    <div ref={top} data-first class="steps" tabIndex={-1}>
      {problem !== null && (
        <div role="alert">
          <ProblemNote problem={problem} />
        </div>
      )}
      {step.name === "form" && (
        <PlanForm
          shards={document.shards}
          draft={draft}
          busy={busy}
          onChange={setDraft}
          onPlan={() => plan(requestOf(draft, document.shards, document.epoch))}
          onPlanOfFile={(made) => plan({ plan: made, most_per_shard: Number(draft.mostPerShard) })}
        />
      )}
      {step.name === "plan" && (
        <PlanResult
          answer={step.planned.answer}
          onBack={() => go({ name: "form" })}
          onPublish={() => go({ name: "question", planned: step.planned })}
        />
      )}
      {step.name === "question" && (
        <PublishQuestion
          answer={step.planned.answer}
          busy={busy}
          onBack={() => go({ name: "plan", planned: step.planned })}
          onPublish={(reason) => publish(step.planned, reason)}
        />
      )}
      {step.name === "done" && <Done published={step.published} onClose={onClose} />}
    </div>
  );
}

export function PlanDialog() {
  if (!open.value) return null;
  const close = () => (open.value = false);
  return (
    <Dialog title="Plan a change" onClose={close} class="wide">
      <Steps onClose={close} />
    </Dialog>
  );
}
