// SPDX-License-Identifier: Apache-2.0
// What the plan dialog's form says, as a request. All functions are pure.

import type { Plan, PlanRequest, Shard, TableDiff } from "../api";

export const mostWeight = 1_000_000;
export const mostNameBytes = 64;

export interface Addition {
  // For the list on the page only.
  key: number;
  name: string;
  endpoint: string;
  weight: string;
}

export interface Draft {
  additions: Addition[];
  remove: string[];
  // As typed, by name.
  weights: Record<string, string>;
  byLoad: boolean;
  mostPerShard: string;
}

export const emptyDraft = (): Draft => ({
  additions: [],
  remove: [],
  weights: {},
  byLoad: false,
  mostPerShard: "1",
});

function numberOf(text: string, least: number, most: number): number | null {
  if (!/^\d{1,9}$/.test(text.trim())) return null;
  const value = Number(text.trim());
  return value >= least && value <= most ? value : null;
}

// What is wrong with the form, each with the field's name; empty: nothing.
export function wrongs(draft: Draft, shards: Shard[]): string[] {
  const said: string[] = [];
  const names = new Set(shards.map((shard) => shard.name));
  for (const { name, endpoint, weight } of draft.additions) {
    const what = name.trim() === "" ? "A new shard" : `New shard ${name}`;
    if (name.trim() === "") said.push("A new shard needs a name.");
    else if (names.has(name)) said.push(`${what}: there is a shard of that name.`);
    if (new TextEncoder().encode(name).length > mostNameBytes) {
      said.push(`${what}: its name is longer than ${mostNameBytes} bytes.`);
    }
    names.add(name);
    if (endpoint.trim() === "") said.push(`${what} needs an endpoint, as mysql://db3/orders.`);
    if (numberOf(weight, 0, mostWeight) === null) {
      said.push(`${what}: its weight is not a number from 0 to ${mostWeight}.`);
    }
  }
  for (const [name, text] of Object.entries(draft.weights)) {
    if (numberOf(text, 0, mostWeight) === null) {
      said.push(`The weight of ${name} is not a number from 0 to ${mostWeight}.`);
    }
  }
  if (numberOf(draft.mostPerShard, 1, 65536) === null) {
    said.push("Moves of one shard at a time: a number from 1 to 65536.");
  }
  return said;
}

// The weights that differ from the table's; of shards that are removed none.
export function changedWeights(draft: Draft, shards: Shard[]): Record<string, number> {
  const changed: [string, number][] = [];
  for (const shard of shards) {
    const text = draft.weights[shard.name];
    if (text === undefined || draft.remove.includes(shard.name)) continue;
    const weight = numberOf(text, 0, mostWeight);
    if (weight !== null && weight !== shard.weight) changed.push([shard.name, weight]);
  }
  return Object.fromEntries(changed);
}

// Whether the form asks for anything. Dividing by load is a change, too.
export function asksForSomething(draft: Draft, shards: Shard[]): boolean {
  return (
    draft.additions.length > 0 ||
    draft.remove.length > 0 ||
    draft.byLoad ||
    Object.keys(changedWeights(draft, shards)).length > 0
  );
}

export function requestOf(draft: Draft, shards: Shard[], epoch: number): PlanRequest {
  const request: PlanRequest = { epoch, most_per_shard: Number(draft.mostPerShard) };
  if (draft.additions.length > 0) {
    request.add = draft.additions.map(({ name, endpoint, weight }) => ({
      name,
      endpoint: endpoint.trim(),
      weight: Number(weight),
    }));
  }
  if (draft.remove.length > 0) request.remove = draft.remove;
  const weights = changedWeights(draft, shards);
  if (Object.keys(weights).length > 0) request.weights = weights;
  if (draft.byLoad) request.load = "ids";
  return request;
}

export interface PortionChange {
  // null: the plan's table does not have the shard.
  id: number | null;
  name: string;
  before: number;
  after: number;
}

// Vnodes of each shard before and after, by the plan's order of shards.
export function portionChanges(plan: Plan): PortionChange[] {
  const names = new Set([
    ...plan.shards.map((shard) => shard.name),
    ...Object.keys(plan.before),
    ...Object.keys(plan.after),
  ]);
  const ids = new Map(plan.shards.map((shard) => [shard.name, shard.id]));
  return [...names].map((name) => ({
    id: ids.get(name) ?? null,
    name,
    before: plan.before[name] ?? 0,
    after: plan.after[name] ?? 0,
  }));
}

// An SVG document as an address for <img>: there it can neither run nor load anything.
export function imageAddress(svg: string): string {
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

// A plan in a file, as `locus plan --json` prints it; throws an Error for people.
export function planOf(text: string): Plan {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    throw new Error("The file is not JSON. Make one with locus plan --json, or save one here.");
  }
  const plan = said as Plan;
  if (typeof plan !== "object" || plan === null || !Array.isArray(plan.moves)) {
    throw new Error("The file is JSON, but no plan: it has no moves.");
  }
  return plan;
}

// One line about a diff, for the question before it is published.
export function diffSummary(diff: TableDiff): string {
  const many = (number: number, one: string, more: string) =>
    number === 0 ? [] : [`${number} ${number === 1 ? one : more}`];
  const parts = [
    ...many(diff.shards_added.length, "shard is added", "shards are added"),
    ...many(diff.shards_removed.length, "shard is removed", "shards are removed"),
    ...many(diff.shards_changed.length, "shard is changed", "shards are changed"),
    ...many(
      Math.max(0, diff.after.moves.length - diff.before.moves.length),
      "move begins",
      "moves begin",
    ),
    ...many(diff.owners_changed.length, "range gets another owner", "ranges get another owner"),
  ];
  return parts.length > 0 ? parts.join(", ") : "no change";
}
