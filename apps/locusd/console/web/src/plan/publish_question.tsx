// SPDX-License-Identifier: Apache-2.0
import type { PlanAnswer } from "../api";
import { thousands } from "../base/format";
import { session } from "../base/state";
import { DiffView } from "../table/diff_view";
import { diffSummary } from "./plan_request";

// The last step before the table changes: the diff, and who publishes it.
export function PublishQuestion(props: {
  answer: PlanAnswer;
  busy: boolean;
  onBack: () => void;
  onPublish: () => void;
}) {
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
      <footer>
        <button type="button" class="secondary" onClick={props.onBack}>
          Back
        </button>
        <button
          type="button"
          aria-busy={props.busy}
          disabled={props.busy}
          onClick={props.onPublish}
        >
          Publish epoch {thousands(next.epoch)}
        </button>
      </footer>
    </>
  );
}
