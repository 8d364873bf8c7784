// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import {
  heardAt,
  history,
  live,
  members,
  moves,
  now,
  session,
  stats,
  strict,
  table,
} from "../base/state";
import { type Trouble, troubles } from "./troubles";

function useTroubles(): Trouble[] {
  return troubles({
    now: now.value,
    live: live.value,
    heardAt: heardAt.value,
    sessionProblem: session.value.problem,
    table: table.value.value,
    stats: stats.value.value,
    history: history.value,
    moves: moves.value.value,
    members: members.value.value,
    membersProblem: members.value.problem,
    strict: strict.value.value,
  });
}

// What changed since the last time, for those who do not see the page. Ages that tick are no change.
export function announcement(before: Trouble[], after: Trouble[]): string {
  const were = new Set(before.map((each) => each.key));
  const are = new Set(after.map((each) => each.key));
  const begun = after.filter((each) => !were.has(each.key)).map((each) => each.text);
  const ended = before.filter((each) => !are.has(each.key)).length;
  if (begun.length > 0) return begun.join(" ");
  if (ended > 0 && after.length === 0) return "All is well again.";
  return ended > 0 ? `Mended: ${ended}; left: ${after.length}.` : "";
}

// On top of the page; nothing where all is well.
export function TroublesBar() {
  const list = useTroubles();
  const before = useRef<Trouble[]>([]);
  const [said, setSaid] = useState("");
  const keys = list.map((each) => each.key).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is announced changes with the keys
  useEffect(() => {
    setSaid(announcement(before.current, list));
    before.current = list;
  }, [keys]);
  return (
    <>
      <p class="visually-hidden" role="status" id="announced">
        {said}
      </p>
      {list.length > 0 && (
        <section class="troubles" aria-label="What is wrong">
          <ul>
            {list.map((each) => (
              <li key={each.key} class={each.tone}>
                <span class="sign" aria-hidden="true">
                  {each.tone === "bad" ? "✕" : "!"}
                </span>
                <span class="visually-hidden">
                  {each.tone === "bad" ? "Wrong: " : "To be looked at: "}
                </span>
                <span class="break">
                  {each.text}
                  <small class="below">
                    What to do: docs/{each.remedy.docs}
                    {each.remedy.command !== undefined && (
                      <>
                        , <code>{each.remedy.command}</code>
                      </>
                    )}
                  </small>
                </span>
                {each.view !== undefined && <a href={`#/${each.view}`}>show</a>}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
