// SPDX-License-Identifier: Apache-2.0
// The minutes behind the charts.

import type { Stats, StatsHistory } from "../api";

export const mostPoints = 450;

export type Series = Exclude<keyof StatsHistory, "step_ms" | "at_ms">;

const sumOf = (numbers: number[]) => numbers.reduce((sum, value) => sum + value, 0);

// How much a count has risen; null where it is not known, or began again.
function risen(before: number | undefined, after: number | undefined): number | null {
  if (before === undefined || after === undefined || after < before) return null;
  return after - before;
}

function pointOf(before: Stats | null, after: Stats): Record<Series, number | null> {
  const { orders, snowflake, sequences } = after;
  return {
    orders_per_second: orders?.ids_per_second ?? null,
    snowflakes_per_second: snowflake?.ids_per_second ?? null,
    numbers_per_second:
      sequences.length > 0 ? sumOf(sequences.map((each) => each.numbers_per_second)) : null,
    starved: risen(before?.orders?.starved, orders?.starved),
    store_failures: risen(before?.orders?.store_failures, orders?.store_failures),
    losses: risen(before?.orders?.losses, orders?.losses),
    autonomy_ms: orders?.autonomy_ms ?? null,
    lead_ms: orders?.lead_ms ?? null,
    clock_offset_ms: orders?.clock_offset_ms ?? null,
    ownership_left_ms: snowflake?.left_ms ?? null,
  };
}

// The history with one more point, as the service counts on; old points fall off.
export function withPoint(history: StatsHistory, before: Stats | null, after: Stats): StatsHistory {
  const last = history.at_ms.at(-1);
  if (last !== undefined && after.at_ms <= last) return history;
  const point = pointOf(before, after);
  const next = { ...history, at_ms: [...history.at_ms, after.at_ms].slice(-mostPoints) };
  for (const name of Object.keys(point) as Series[]) {
    next[name] = [...history[name], point[name]].slice(-mostPoints);
  }
  return next;
}

export interface Summary {
  least: number;
  most: number;
  last: number | null;
}

// What a reader who does not see the line is told; null: nothing is known.
export function summary(values: (number | null)[]): Summary | null {
  const known = values.filter((value): value is number => value !== null);
  if (known.length === 0) return null;
  return {
    least: Math.min(...known),
    most: Math.max(...known),
    last: values.at(-1) ?? null,
  };
}
