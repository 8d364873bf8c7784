// SPDX-License-Identifier: Apache-2.0
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Dialog } from "./dialog";
import { may, session, signIn } from "./state";
import { notAToken, token } from "./token";

const open = signal(false);
export const openToken = () => (open.value = true);

// Where a token is typed. It is no password field's business to be remembered: autocomplete is off.
export function TokenForm({ onDone }: { onDone: () => void }) {
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const wrong = notAToken(text.trim());
    if (wrong !== null) {
      setSaid(wrong);
      return;
    }
    setBusy(true);
    const problem = await signIn(text.trim());
    setBusy(false);
    if (problem === null) onDone();
    else setSaid(problem.detail);
  };
  return (
    <form class="token-form" onSubmit={submit}>
      <label>
        Token
        <input
          data-first
          type="password"
          value={text}
          autocomplete="off"
          spellcheck={false}
          aria-invalid={said === "" ? undefined : "true"}
          aria-describedby="token-said token-kept"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <p id="token-kept" class="hint">
        It is kept in this tab until you close it, and sent to this service only, in a header.
      </p>
      <p id="token-said" role="alert" class="said bad">
        {said}
      </p>
      <button type="submit" aria-busy={busy} disabled={busy}>
        Use this token
      </button>
    </form>
  );
}

export function TokenDialog() {
  if (!open.value) return null;
  const close = () => (open.value = false);
  const who = session.value.value;
  return (
    <Dialog title="Token" onClose={close}>
      <p>
        {may("read")
          ? `This page may ${who?.scopes.join(", ")}.`
          : "This service shows nothing without a token of scope read."}{" "}
        To publish, a token of scope publish is needed.
      </p>
      <TokenForm onDone={close} />
      {token() !== null && (
        <button
          type="button"
          class="secondary"
          onClick={() => {
            close();
            void signIn(null);
          }}
        >
          Forget the token
        </button>
      )}
    </Dialog>
  );
}
