// SPDX-License-Identifier: Apache-2.0
// The small parts that all views are made of.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Problem } from "../api";
import { thousands } from "./format";

export function Card(props: {
  title: string;
  aside?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
  const id = useId();
  return (
    <section class={`card ${props.class ?? ""}`} aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{props.title}</h2>
        {props.aside !== undefined && <span class="aside">{props.aside}</span>}
        {props.actions}
      </header>
      {props.children}
    </section>
  );
}

// The classes of an element that goes on beyond its left or right edge.
const edges = ({ scrollLeft, scrollWidth, clientWidth }: HTMLElement) =>
  (scrollLeft > 1 ? " more-left" : "") +
  (scrollLeft + clientWidth < scrollWidth - 1 ? " more-right" : "");

// A wide thing that scrolls by itself, also by keyboard.
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  const ref = useRef<HTMLElement>(null);
  const [more, setMore] = useState("");
  const look = () => ref.current !== null && setMore(edges(ref.current));
  // biome-ignore lint/correctness/useExhaustiveDependencies: look reads what is there at the time
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    return () => sizes.disconnect();
  }, []);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <section ref={ref} class={`scroll${more}`} aria-label={label} tabIndex={0} onScroll={look}>
      {children}
    </section>
  );
}

export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Waiting({ what }: { what: string }) {
  return (
    <p class="waiting" aria-busy="true">
      Loading {what}…
    </p>
  );
}

export function ProblemNote({ problem }: { problem: Problem }) {
  return (
    <p class="note bad">
      <strong>{problem.title}.</strong> {problem.detail}
    </p>
  );
}

// The first of many rows, and a button for more of them: a table may have 65,536.
export function useFirst<T>(rows: T[], atOnce = 100): { shown: T[]; more: ComponentChildren } {
  const [most, setMost] = useState(atOnce);
  const left = rows.length - most;
  const more =
    left > 0 ? (
      <button type="button" class="secondary small" onClick={() => setMost(most + 10 * atOnce)}>
        Show more ({thousands(left)} left)
      </button>
    ) : null;
  return { shown: left > 0 ? rows.slice(0, most) : rows, more };
}

// A bar with its figure in words; `mark` is another figure on the same scale.
export function Bar(props: {
  value: number;
  most: number;
  label: string;
  mark?: number;
  // The class of a shard's colour.
  fill?: string;
}) {
  const width = props.most > 0 ? (100 * props.value) / props.most : 0;
  const mark = props.mark !== undefined && props.most > 0 ? (100 * props.mark) / props.most : null;
  return (
    <span class="bar">
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-back" width="100" height="8" />
        <rect class={props.fill ?? "bar-fill"} width={Math.min(100, width)} height="8" />
        {mark !== null && (
          <rect class="bar-mark" x={Math.min(99, Math.max(0, mark - 0.5))} width="1" height="8" />
        )}
      </svg>
      <span>{props.label}</span>
    </span>
  );
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("copied");
    } catch {
      setSaid("the browser does not let this page copy: select the text");
    }
    setTimeout(() => setSaid(""), 3000);
  };
  return (
    <span class="copy">
      <button type="button" class="secondary small" onClick={copy} aria-label={`Copy ${what}`}>
        Copy
      </button>
      <span role="status" class="said">
        {said}
      </span>
    </span>
  );
}

export type Tone = "good" | "warn" | "bad" | "calm";
const signs: Record<Tone, string> = { good: "✓", warn: "!", bad: "✕", calm: "•" };

// A word with a sign of its own: the colour is not the only one.
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      <span aria-hidden="true">{signs[tone]}</span> {children}
    </span>
  );
}
