// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import type { PlanAnswer } from "../api";
import { thousands } from "../base/format";
import { session } from "../base/state";
import { DiffView } from "../table/diff_view";
import { diffSummary } from "./plan_request";

// Characters; of 512 bytes of UTF-8.
const mostReason = 128;

// The last step before the table changes: the diff, who publishes it, and why.
export function PublishQuestion(props: {
  answer: PlanAnswer;
  busy: boolean;
  onBack: () => void;
  onPublish: (reason: string) => void;
}) {
  const [reason, setReason] = useState("");
  const next = props.answer.next;
  if (next === null) return null;
  const client = session.value.value?.client ?? "";
  return (
    <>
      <p class="note warn">
        <strong>Publish epoch {thousands(next.epoch)}?</strong> All routers that follow this table
        install it: {diffSummary(next.diff)}. It is refused if another table was published
        meanwhile.{client !== "" && ` The token is that of ${client}.`}
      </p>
      <DiffView diff={next.diff} />
      <label>
        Reason, for the history
        <input
          type="text"
          value={reason}
          maxLength={mostReason}
          placeholder="ticket, or why now"
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <footer>
        <button type="button" class="secondary" onClick={props.onBack}>
          Back
        </button>
        <button
          type="button"
          aria-busy={props.busy}
          disabled={props.busy}
          onClick={() => props.onPublish(reason.trim())}
        >
          Publish epoch {thousands(next.epoch)}
        </button>
      </footer>
    </>
  );
}
