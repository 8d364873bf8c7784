// SPDX-License-Identifier: Apache-2.0
// What the page knows, and how it learns it: one object for all views. Views read signals and are
// drawn again when these change.

import { computed, signal } from "@preact/signals";
import {
  type ConsoleEvents,
  type MembersAnswer,
  type MovesAnswer,
  type Problem,
  paths,
  type Scope,
  type Session,
  type ShardsAnswer,
  type Stats,
  type StatsAnswer,
  type StatsHistory,
  type StrictStatus,
  type TableAnswer,
  type TypesEvent,
} from "../api";
import { withPoint } from "../figures/points";
import { ask, problemFrom } from "./client";
import { follow, type Listener, type StreamEvent } from "./event_stream";
import { asSentence } from "./format";
import { setToken, token } from "./token";

// Something that is asked for: the last answer, and what was wrong with the last try.
export interface Loaded<T> {
  value: T | null;
  problem: Problem | null;
}
const nothing = { value: null, problem: null };

export type Live =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "lost"; since: number; problem: Problem; retryAt: number };

export const session = signal<Loaded<Session>>(nothing);
export const table = signal<Loaded<TableAnswer>>(nothing);
// Which of several consoles this is: the service's address, and the table that it knows.
export const whereOne = computed(() => {
  const id = table.value.value?.table_id;
  return id ? `${location.host}, table ${id}` : location.host;
});
export const shards = signal<Loaded<ShardsAnswer>>(nothing);
export const moves = signal<Loaded<MovesAnswer>>(nothing);
export const members = signal<Loaded<MembersAnswer>>(nothing);
export const strict = signal<Loaded<StrictStatus>>(nothing);
export const stats = signal<Loaded<Stats>>(nothing);
export const history = signal<StatsHistory | null>(null);
// The last event about sequence types, for who shows these.
export const typesTold = signal<TypesEvent | null>(null);
export const live = signal<Live>({ state: "connecting" });
// When anything last came by the stream, and what time it is: for ages. Milliseconds of this machine.
export const heardAt = signal(Date.now());
export const now = signal(Date.now());
// The service's clock less this machine's.
export const clockAhead = signal(0);

export const may = (scope: Scope) => session.value.value?.scopes.includes(scope) ?? false;
export const offers = computed(() => session.value.value?.offers ?? null);
// Why a part of the page has nothing to show.
export function said(part: string): string | null {
  const why = session.value.value?.absent?.[part];
  return why === undefined ? null : asSentence(why);
}
export const serviceNow = () => now.value + clockAhead.value;

async function load<T>(into: { value: Loaded<T> }, path: string): Promise<T | null> {
  try {
    const value = await ask<T>(path);
    into.value = { value, problem: null };
    return value;
  } catch (error) {
    // What was known stays, with what is wrong now.
    into.value = { value: into.value.value, problem: problemFrom(error) };
    return null;
  }
}

export async function loadTable(): Promise<void> {
  await Promise.all([loadDocument(), load(shards, paths.shards)]);
}
// The document leaves out what a table has none of.
async function loadDocument(): Promise<void> {
  const read: { value: Loaded<TableAnswer> } = { value: table.value };
  const answer = await load(read, paths.table);
  const whole = answer && {
    ...answer,
    document: { ...answer.document, moves: answer.document.moves ?? [] },
  };
  table.value = whole === null ? read.value : { value: whole, problem: null };
}
export const loadShards = () => load(shards, paths.shards);
export const loadMembers = () => load(members, paths.members);
export const loadStrict = () => load(strict, paths.strict);

async function loadStats(): Promise<void> {
  try {
    const answer = await ask<StatsAnswer>(paths.stats);
    stats.value = { value: answer.current, problem: null };
    history.value = answer.history;
    clockAhead.value = answer.now_ms - Date.now();
  } catch (error) {
    stats.value = { value: stats.value.value, problem: problemFrom(error) };
  }
}

function onEvent({ name, data }: StreamEvent): void {
  let said: unknown;
  try {
    said = JSON.parse(data);
  } catch {
    return;
  }
  if (name === "stats") {
    const next = said as ConsoleEvents["stats"];
    if (history.value !== null) history.value = withPoint(history.value, stats.value.value, next);
    stats.value = { value: next, problem: null };
  } else if (name === "moves") {
    moves.value = { value: said as ConsoleEvents["moves"], problem: null };
  } else if (name === "types") {
    typesTold.value = said as ConsoleEvents["types"];
  } else if (name === "table") {
    const next = said as ConsoleEvents["table"];
    const known = table.value.value;
    if (known === null || known.epoch !== next.epoch || known.table_id !== next.table_id) {
      void loadTable();
    } else {
      table.value = { value: { ...known, source: next.source }, problem: null };
    }
  }
}

const listener: Listener = {
  opened() {
    // After a pause it may be another process, with other rights for this token.
    if (live.value.state === "lost") void load(session, paths.session);
    live.value = { state: "live" };
    heardAt.value = Date.now();
  },
  heard() {
    heardAt.value = Date.now();
  },
  event: onEvent,
  lost(problem, pause) {
    const before = live.value;
    const since = before.state === "lost" ? before.since : heardAt.value;
    live.value = { state: "lost", since, problem, retryAt: Date.now() + pause };
    // Which of the two is away, this service or the stream: the session says.
    void load(session, paths.session);
  },
};

let stream: AbortController | null = null;
// How often it was begun: answers to an earlier beginning come too late.
let begun = 0;
let timers: ReturnType<typeof setInterval>[] = [];

function stop(): void {
  stream?.abort();
  for (const timer of timers) clearInterval(timer);
  timers = [];
}

// What a token had shown.
function forget(): void {
  for (const part of [table, shards, moves, members, strict, stats]) part.value = nothing;
  history.value = null;
}

// Asks who we are, then for all that this token may see. Also begins again with another token.
export async function begin(): Promise<void> {
  stop();
  const mine = ++begun;
  live.value = { state: "connecting" };
  timers.push(setInterval(() => (now.value = Date.now()), 1000));
  const who = await load(session, paths.session);
  if (mine !== begun) return;
  if (who === null) {
    // The token is not known any more, or locusd is not there: the second heals by itself.
    const { problem } = session.value;
    if (problem?.status === 401) {
      forget();
      session.value = { value: null, problem };
    } else {
      timers.push(setTimeout(() => void begin(), 3000));
    }
    return;
  }
  if (!who.scopes.includes("read")) {
    forget();
    return;
  }
  if (who.now_ms !== undefined) clockAhead.value = who.now_ms - Date.now();
  await Promise.all([
    who.offers?.table === false ? null : loadTable(),
    who.offers?.table === false ? null : load(moves, paths.moves),
    who.offers?.members === false ? null : loadMembers(),
    who.offers?.strict ? loadStrict() : null,
    loadStats(),
  ]);
  if (mine !== begun) return;
  stream = new AbortController();
  void follow(paths.events, listener, stream.signal);
  const unseen = () => document.visibilityState === "hidden";
  // What no event tells of.
  timers.push(
    setInterval(() => {
      if (unseen() || live.value.state !== "live") return;
      if (offers.value?.members) void loadMembers();
      if (offers.value?.strict) void loadStrict();
      if (table.value.value !== null) void loadShards();
    }, 5000),
  );
}

// Takes a token, or none. Returns what is wrong with it; then the one before stays.
export async function signIn(text: string | null): Promise<Problem | null> {
  const before = token();
  setToken(text);
  if (text !== null) {
    try {
      await ask<Session>(paths.session);
    } catch (error) {
      setToken(before);
      return problemFrom(error);
    }
  }
  await begin();
  return null;
}
