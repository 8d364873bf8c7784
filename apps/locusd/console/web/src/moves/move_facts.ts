// SPDX-License-Identifier: Apache-2.0
// What a move's figures say in words, as `locus move status` says it. All functions are pure.

import type { MoveFigures, MoveProgress, MoveSide, MoveStatus } from "../api";
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

// 0..1; null where it is not known.
function partOf(progress: MoveProgress): number | null {
  const estimated = progress.estimated ?? 0;
  return estimated <= 0 ? null : Math.min(1, progress.rows / estimated);
}

// Also null where the copy has ended.
export function copiedPart(figures: MoveFigures, phase: string | undefined): number | null {
  const copied = figures.copied;
  return copied === undefined || beyondCopy(phase) ? null : partOf(copied);
}

// Rows of about so many, how fast, and how long it still takes; or why it does not go on.
function progressText(progress: MoveProgress): string {
  const part = partOf(progress);
  let text = count(progress.rows, "row");
  if (part !== null) {
    text += ` of about ${thousands(progress.estimated ?? 0)} (${Math.round(100 * part)} %)`;
  }
  if (progress.waiting) return `${text}, waits: ${progress.waiting}`;
  const rate = progress.rows_per_second ?? 0;
  if (rate <= 0) return text;
  text += `, ${thousands(Math.round(rate))} rows/s`;
  const left = progress.left_s ?? -1;
  return left >= 0 ? `${text}, ${duration(1000 * left)} left` : text;
}

export function copiedText(figures: MoveFigures, phase: string | undefined): string | null {
  const copied = figures.copied;
  if (copied === undefined) return null;
  if (!beyondCopy(phase)) return progressText(copied);
  return copied.rows === 0 ? "all rows" : count(copied.rows, "row");
}

export function comparedText(figures: MoveFigures, phase: string | undefined): string {
  const compared = figures.compared;
  if (compared === undefined) return "not yet";
  const underWay = (phase === "VERIFYING" || phase === "FINALIZING") && !compared.done;
  const rows = underWay ? progressText(compared) : count(compared.rows, "row");
  return `${rows}, ${count(compared.differences, "difference")}${compared.done ? ", done" : ""}`;
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
