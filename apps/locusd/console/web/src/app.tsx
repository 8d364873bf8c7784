// SPDX-License-Identifier: Apache-2.0
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Boundary } from "./base/boundary";
import { age } from "./base/format";
import { Card, Waiting } from "./base/parts";
import { begin, heardAt, live, may, moves, now, session, whereOne } from "./base/state";
import { openToken, TokenDialog, TokenForm } from "./base/token_dialog";
import { ClusterView } from "./cluster/cluster_view";
import { FiguresView } from "./figures/figures_view";
import { InspectView } from "./inspect/inspect_view";
import { over } from "./moves/move_facts";
import { MovesView } from "./moves/moves_view";
import { PlanDialog } from "./plan/plan_dialog";
import { RingView } from "./ring/ring_view";
import { SequencesView } from "./sequences/sequences_view";
import { HistoryView } from "./table/history_view";
import { TroublesBar } from "./troubles/troubles_bar";

interface View {
  name: string;
  title: string;
  component: ComponentType;
}

const views: [View, ...View[]] = [
  { name: "ring", title: "Ring", component: RingView },
  { name: "moves", title: "Moves", component: MovesView },
  { name: "history", title: "Table history", component: HistoryView },
  { name: "cluster", title: "Leases and members", component: ClusterView },
  { name: "sequences", title: "Sequences", component: SequencesView },
  { name: "figures", title: "Figures", component: FiguresView },
  { name: "inspect", title: "Inspect", component: InspectView },
];

export function viewNamed(hash: string): View {
  return views.find((view) => hash === `#/${view.name}`) ?? views[0];
}

const shown = signal(viewNamed(location.hash));

function LiveState() {
  const at = live.value;
  if (at.state === "lost") {
    return (
      <span class="live lost">
        <span aria-hidden="true">✕</span> {age(now.value - heardAt.value)} old
      </span>
    );
  }
  return (
    <span class={`live ${at.state}`}>
      <span aria-hidden="true">{at.state === "live" ? "●" : "○"}</span>{" "}
      {at.state === "live" ? "live" : "connecting"}
    </span>
  );
}

function Header() {
  const who = session.value.value;
  const scope = may("publish") ? "may publish" : "read-only";
  return (
    <header class="top">
      <a class="brand" href="#/ring" aria-label="locus, to the ring">
        <img src="./icon.svg" alt="" width="22" height="22" /> locus
      </a>
      {who?.environment && (
        <strong class={`environment ${who.colour ?? "grey"} break`}>{who.environment}</strong>
      )}
      <span class="where break">{whereOne.value}</span>
      <LiveState />
      {who?.version && <span class="version">{who.version}</span>}
      <button type="button" class="secondary small token" onClick={openToken}>
        {who?.client ? `${who.client}, ` : ""}
        {scope}
      </button>
    </header>
  );
}

function Tabs() {
  const running = moves.value.value?.moves.filter((move) => !over(move)).length ?? 0;
  const planned = moves.value.value?.table_moves.length ?? 0;
  return (
    <nav aria-label="Views" class="tabs">
      <ul>
        {views.map((view) => (
          <li key={view.name}>
            <a href={`#/${view.name}`} aria-current={view === shown.value ? "page" : undefined}>
              {view.title}
              {view.name === "moves" && Math.max(running, planned) > 0 && (
                <span class="count"> {Math.max(running, planned)}</span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Content() {
  const { value, problem } = session.value;
  if (value === null) {
    if (problem?.status !== 401) return <Waiting what="the console" />;
    return <NeedsToken why={problem.detail} />;
  }
  if (!value.scopes.includes("read")) {
    return <NeedsToken why="This service shows nothing without a token of scope read." />;
  }
  const Chosen = shown.value.component;
  return <Chosen />;
}

function NeedsToken({ why }: { why: string }) {
  return (
    <Card title="A token is needed" class="narrow">
      <p>{why}</p>
      <TokenForm onDone={() => undefined} />
    </Card>
  );
}

export function App() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    void begin();
    const onHash = () => {
      shown.value = viewNamed(location.hash);
      // Who follows a link by keyboard or ear goes on where it leads.
      requestAnimationFrame(() => heading.current?.focus());
    };
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  const title = shown.value.title;
  const environment = session.value.value?.environment;
  const tab = `${environment ? `${environment} · ` : ""}${title} · ${whereOne.value} · locus`;
  useEffect(() => {
    document.title = tab;
  }, [tab]);
  return (
    <>
      <button type="button" class="skip" onClick={() => heading.current?.focus()}>
        To the content
      </button>
      <Header />
      <Tabs />
      <TroublesBar />
      <main id="main">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <Boundary name={shown.value.name}>
          <Content />
        </Boundary>
      </main>
      <PlanDialog />
      <TokenDialog />
    </>
  );
}
