// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { type InspectAnswer, paths } from "../api";
import { ask, problemFrom } from "../base/client";
import { thousands } from "../base/format";
import { vnodeOf } from "./ring";

type Kind = "id" | "buyer";

// The vnode of what was typed; throws a Refusal.
async function found(kind: Kind, text: string): Promise<number> {
  if (kind === "id") {
    const vnode = vnodeOf(text);
    if (vnode !== null) return vnode;
  }
  const asked = kind === "buyer" ? `buyer:${text}` : text.trim();
  const answer = await ask<InspectAnswer>(paths.inspect, { text: asked });
  if (answer.gene === undefined) throw new Error("That has no vnode.");
  return answer.gene;
}

export function FindVnode({ onFound }: { onFound: (vnode: number) => void }) {
  const [kind, setKind] = useState<Kind>("id");
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const [wrong, setWrong] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    try {
      const vnode = await found(kind, text);
      setWrong(false);
      setSaid(`vnode ${thousands(vnode)} is shown`);
      onFound(vnode);
    } catch (error) {
      setWrong(true);
      setSaid(problemFrom(error).detail);
    }
  };
  return (
    <form class="find" onSubmit={submit}>
      <label class="short-select">
        Find by
        <select value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind)}>
          <option value="id">vnode or ID</option>
          <option value="buyer">buyer</option>
        </select>
      </label>
      <label class="grow">
        {kind === "id" ? "Number or order_no" : "Buyer key"}
        <input
          type="text"
          value={text}
          autocomplete="off"
          spellcheck={false}
          aria-invalid={wrong ? "true" : undefined}
          aria-describedby="find-said"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Show</button>
      <p id="find-said" role="status" class={wrong ? "said bad" : "said"}>
        {said}
      </p>
    </form>
  );
}
