// SPDX-License-Identifier: Apache-2.0
// What a move's figures say in words, as `locus move status` says it. All functions are pure.

import type { MoveFigures, MoveSide, MoveStatus } from "../api";
import { count, duration, ofPermyriad, thousands } from "../base/format";
import type { Tone } from "../base/parts";

export const whole = 10000;
// Of a runner; then its figures are old.
export const silentAfter = 10_000;

export const over = (move: MoveStatus) => move.phase === "DONE" || move.phase === "ABORTED";

// Whether nobody carries the move out, although there is something to do.
export function silent(move: MoveStatus): boolean {
  if (move.runner === undefined || over(move)) return false;
  return move.runner.silent_ms < 0 || move.runner.silent_ms > silentAfter;
}

export function held(move: MoveStatus): string {
  return move.wish?.hold ?? "";
}

export function toneOf(move: MoveStatus): Tone {
  if (move.state.startsWith("LOST") || move.other_tables !== "") return "bad";
  if (move.source.waits_for_space > 0 || move.target.waits_for_space > 0) return "bad";
  if (held(move) !== "" || silent(move)) return "warn";
  return over(move) ? "good" : "calm";
}

export function bandText(side: MoveSide): string {
  if ("trouble" in side.fence) return side.fence.trouble || "no fence yet";
  const { own_lo, own_hi, step } = side.fence;
  return `${ofPermyriad(Math.max(0, own_hi - own_lo))}, step ${step}`;
}

export function lag(ms: number | undefined): string {
  return ms === undefined || ms < 0 ? "stands still" : duration(ms);
}

const beyondCopy = (phase: string | undefined) =>
  phase !== undefined && !["PLANNED", "PREPARED", "STREAMING", "COPYING"].includes(phase);

// 0..1; null where it is not known, or the copy has ended.
export function copiedPart(figures: MoveFigures, phase: string | undefined): number | null {
  const copied = figures.copied;
  if (copied === undefined || copied.estimated <= 0 || beyondCopy(phase)) return null;
  return Math.min(1, copied.rows / copied.estimated);
}

export function copiedText(figures: MoveFigures, phase: string | undefined): string | null {
  const copied = figures.copied;
  const ended = beyondCopy(phase);
  if (copied === undefined) return null;
  if (ended && copied.rows === 0) return "all rows";
  const part = copiedPart(figures, phase);
  let text = count(copied.rows, "row");
  if (part !== null) {
    text += ` of about ${thousands(copied.estimated)} (${Math.round(100 * part)} %)`;
  }
  if (copied.rows_per_second > 0) {
    text += `, ${thousands(Math.round(copied.rows_per_second))} rows/s`;
    const left = copied.estimated - copied.rows;
    if (part !== null && left > 0) {
      text += `, ${duration(1000 * Math.floor(left / copied.rows_per_second))} left`;
    }
  }
  return text;
}

export function comparedText(figures: MoveFigures): string {
  const compared = figures.compared;
  if (compared === undefined) return "not yet";
  const differences = count(compared.differences, "difference");
  return `${count(compared.rows, "row")}, ${differences}${compared.done ? ", done" : ""}`;
}

export function waitsText(figures: MoveFigures): string {
  const waits = figures.band_waits_ms;
  if (waits === undefined || waits.steps === 0) return "no step yet";
  const ms = (value: number) => duration(Math.round(value));
  return `${count(waits.steps, "step")}: p50 ${ms(waits.p50)}, p99 ${ms(waits.p99)}, max ${ms(waits.max)}`;
}

export function rogueWrites(figures: MoveFigures): number {
  return (figures.forth?.rogue ?? 0) + (figures.back?.rogue ?? 0);
}

// The figures of the state that the move is in; just after it entered one, they are of the one before.
export function waitingFor(move: MoveStatus): string[] {
  const figures = move.figures ?? {};
  if (figures.state !== move.state) return [];
  return [figures.forth?.waiting, figures.back?.waiting, figures.waiting_for].filter(
    (why): why is string => why !== undefined && why !== "",
  );
}

export function wishText(move: MoveStatus): string | null {
  const wish = move.wish;
  if (wish === undefined) return null;
  const ending = wish.ending === "" ? "" : `, then ${wish.ending}`;
  const repair = wish.repair === "" ? "" : `, repair of ${wish.repair}`;
  return `to ${ofPermyriad(wish.goal)} by ${ofPermyriad(wish.by)}, ${duration(wish.dwell_ms)} between steps${ending}${repair}`;
}

export function runnerText(move: MoveStatus): string {
  if (move.runner === undefined) return "none yet";
  if (silent(move)) return "none; what stands here may be old";
  return `${move.runner.name}, ${duration(Math.max(0, move.runner.silent_ms))} ago`;
}
