// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";
import type { MoveFigures, MoveStatus } from "../api";
import { count, ofPermyriad, vnodes } from "../base/format";
import { Badge, Bar, CopyButton, Scroll } from "../base/parts";
import { BandBar } from "./band_bar";
import {
  comparedText,
  copiedPart,
  copiedText,
  held,
  lag,
  rogueWrites,
  runnerText,
  silent,
  toneOf,
  waitingFor,
  waitsText,
  wishText,
} from "./move_facts";

function rangesText(ranges: [number, number][]): string {
  const shown = ranges.slice(0, 8).map(([first, last]) => vnodes(first, last));
  const all = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return `${shown.join(", ")}${ranges.length > 8 ? ", …" : ""} (${count(all, "vnode")})`;
}

function Gates({ name, figures }: { name: string; figures: MoveFigures }) {
  const gates = figures.gates ?? [];
  if (gates.length === 0) return null;
  return (
    <div class="gates">
      <h3>Gates</h3>
      <Scroll label={`Gates of move ${name}`}>
        <table class="dense">
          <thead>
            <tr>
              <th scope="col">gate</th>
              <th scope="col">now</th>
              <th scope="col">at most</th>
              <th scope="col">value</th>
            </tr>
          </thead>
          <tbody>
            {gates.map((gate) => (
              <tr key={gate.name}>
                <th scope="row">{gate.name}</th>
                <td>
                  <Badge tone={gate.ok ? "good" : "warn"}>{gate.ok ? "open" : "closed"}</Badge>
                </td>
                <td class="break">{gate.threshold}</td>
                <td class="break">{gate.value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </div>
  );
}

function Warnings({ move }: { move: MoveStatus }) {
  const figures = move.figures ?? {};
  const full = [move.source, move.target].filter((side) => side.waits_for_space > 0);
  const said = [
    held(move) === "" ? "" : `On hold: ${held(move)}`,
    ...full.map(
      (side) =>
        `Disk full on ${side.name}: ${count(side.waits_for_space, "session")} wait for space to commit; make room on that server, and all goes on by itself within a minute.`,
    ),
    move.other_tables,
    figures.unguarded ? `Without guards: ${figures.unguarded}` : "",
    figures.differs ? `The shards differ: ${figures.differs}` : "",
    figures.forth?.broken ? `The stream from the source is broken: ${figures.forth.broken}` : "",
    figures.back?.broken ? `The stream from the target is broken: ${figures.back.broken}` : "",
    silent(move) ? "No runner carries this move out: the figures below may be old." : "",
  ].filter((text) => text !== "");
  return (
    <>
      {said.map((text) => (
        <p key={text} class="note warn">
          {text}
        </p>
      ))}
    </>
  );
}

function Figures({ move }: { move: MoveStatus }) {
  const figures = move.figures ?? {};
  const part = copiedPart(figures, move.phase);
  const copied = copiedText(figures, move.phase);
  const rows: [string, string][] = [
    ["lag from the source", lag(figures.forth?.lag_ms)],
    ["lag from the target", lag(figures.back?.lag_ms)],
    ["compared", comparedText(figures, move.phase)],
    ["waits at steps", waitsText(figures)],
    ["writes past the guards", rogueWrites(figures).toString()],
  ];
  if ((figures.deleted?.rows ?? 0) > 0) {
    rows.push(["deleted", count(figures.deleted?.rows ?? 0, "row")]);
  }
  for (const why of waitingFor(move)) rows.push(["waits for", why]);
  return (
    <>
      {copied !== null && (
        <>
          <dt>copied</dt>
          <dd>{part === null ? copied : <Bar value={part} most={1} label={copied} />}</dd>
        </>
      )}
      {rows.map(([term, text]) => (
        <div key={term + text} class="pair">
          <dt>{term}</dt>
          <dd class="break">{text}</dd>
        </div>
      ))}
    </>
  );
}

function Next({ move }: { move: MoveStatus }) {
  return (
    <div class="next">
      <span class="next-term">Next</span>
      {move.next_is_command ? (
        <>
          <code class="break">{move.next}</code>
          <CopyButton text={move.next} what={`the next command of move ${move.move}`} />
        </>
      ) : (
        <span class="break">{move.next}</span>
      )}
    </div>
  );
}

// Everything that `locus move status` shows of one move.
export function MoveCard({ move }: { move: MoveStatus }) {
  const id = useId();
  const wish = wishText(move);
  const figures =
    move.figures !== undefined && Object.keys(move.figures).length > 0 ? move.figures : null;
  return (
    <section class="card move" aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>
          <bdi class="break">{move.move}</bdi>
        </h2>
        <Badge tone={toneOf(move)}>{move.state}</Badge>
        <span class="aside">
          {move.share === null ? "share not known" : `${ofPermyriad(move.share)} are at the target`}
        </span>
      </header>
      <Warnings move={move} />
      <div class="bands">
        <BandBar side={move.source} part="source" />
        <BandBar side={move.target} part="target" />
      </div>
      <Next move={move} />
      <dl class="facts">
        <dt>vnodes</dt>
        <dd>{rangesText(move.vnodes)}</dd>
        {wish !== null && (
          <>
            <dt>goal</dt>
            <dd>{wish}</dd>
          </>
        )}
        <dt>table</dt>
        <dd class="break">{move.table}</dd>
        <dt>runner</dt>
        <dd class="break">{runnerText(move)}</dd>
        {figures !== null && <Figures move={move} />}
      </dl>
      {figures !== null && <Gates name={move.move} figures={figures} />}
    </section>
  );
}
