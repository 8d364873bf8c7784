// SPDX-License-Identifier: Apache-2.0
// What is wrong, in words, for the top of the page. A pure function of what the page knows.

import type {
  MembersAnswer,
  MoveStatus,
  MovesAnswer,
  Problem,
  Stats,
  StatsHistory,
  StrictStatus,
  TableAnswer,
} from "../api";
import { age, ago, count, duration, percent, thousands } from "../base/format";
import { unheardAfter } from "../cluster/member_facts";
import { held, over, rogueWrites, silent } from "../moves/move_facts";
import { strictRemarks } from "../sequences/sequence_facts";
import { type Kind, type Remedy, remedies } from "./remedies";

export interface Trouble {
  // The same while it lasts, so that it is announced once.
  key: string;
  // "bad": somebody has to act; "warn": to be looked at.
  tone: "bad" | "warn";
  text: string;
  // Where more is told: a view's name.
  view?: string;
  // What to do.
  remedy: Remedy;
}

export interface Known {
  now: number;
  live: { state: "connecting" | "live" } | { state: "lost"; problem: Problem; retryAt: number };
  heardAt: number;
  // What was wrong with the last question for the session.
  sessionProblem: Problem | null;
  table: TableAnswer | null;
  stats: Stats | null;
  history: StatsHistory | null;
  moves: MovesAnswer | null;
  members: MembersAnswer | null;
  membersProblem: Problem | null;
  strict: StrictStatus | null;
}

// `of`: whose trouble it is, where several may have it.
const bad = (kind: Kind, text: string, view?: string, of = ""): Trouble => ({
  key: of === "" ? kind : `${kind} ${of}`,
  tone: "bad",
  text,
  ...(view && { view }),
  remedy: remedies[kind],
});
const warn = (kind: Kind, text: string, view?: string, of?: string): Trouble => ({
  ...bad(kind, text, view, of),
  tone: "warn",
});

function ofConnection({ live, now, heardAt, sessionProblem }: Known): Trouble[] {
  if (live.state !== "lost") {
    return sessionProblem !== null && sessionProblem.status !== 401
      ? [bad("service", `${sessionProblem.detail} It is asked again every few seconds.`)]
      : [];
  }
  const left = Math.max(0, live.retryAt - now);
  const when =
    left > 0
      ? `It is tried again in ${duration(Math.ceil(left / 1000) * 1000)}.`
      : "It is being tried again.";
  return [
    bad(
      "live",
      `No live updates: ${live.problem.detail} What is shown is ${age(now - heardAt)} old. ${when}`,
    ),
  ];
}

function ofTable({ table, now }: Known): Trouble[] {
  const source = table?.source;
  if (!table || !source) return [];
  const said: Trouble[] = [];
  const inForce = `Epoch ${thousands(table.epoch)} stays in force`;
  if (source.state === "refused") {
    const newest = source.refusals[0];
    const what = newest ? `epoch ${thousands(newest.epoch)}: ${newest.reason}` : "a table";
    said.push(
      bad(
        "refused",
        `A routing table was refused, ${what}. ${inForce}; publish a right one.`,
        "history",
      ),
    );
  } else if (source.state === "failing") {
    const age = source.age_ms === null ? "" : `, confirmed ${ago(source.age_ms)}`;
    said.push(
      bad(
        "table-away",
        `The place of the routing table does not answer: ${source.error ?? source.place}. ${inForce}${age}.`,
        "ring",
      ),
    );
  }
  if (source.from_last_good_file) {
    said.push(
      warn(
        "last-good",
        `The routing table comes from the last-good file of ${ago(Math.max(0, now - source.installed_at_ms))}: its place has not confirmed it since the start.`,
        "ring",
      ),
    );
  }
  return said;
}

const recently = (values: (number | null)[] | undefined) =>
  (values ?? []).slice(-30).reduce<number>((sum, value) => sum + (value ?? 0), 0);

// Whether it stays short: right after a burst it may be, until more is leased.
function shortFor(history: StatsHistory | null): boolean {
  const last = (history?.autonomy_ms ?? []).slice(-15);
  return last.length === 15 && last.every((ms) => ms !== null && ms < 120_000);
}

function ofOrders(orders: NonNullable<Stats["orders"]>, history: StatsHistory | null): Trouble[] {
  const said: Trouble[] = [];
  if (orders.store_error !== null) {
    const left =
      orders.autonomy_ms === null ? "" : ` Order IDs go on for ${duration(orders.autonomy_ms)}.`;
    said.push(bad("store", `The ID store fails: ${orders.store_error}.${left}`, "figures"));
  } else if (orders.autonomy_ms !== null && shortFor(history)) {
    said.push(
      warn(
        "autonomy",
        `Without its store this process can give out order IDs for ${duration(orders.autonomy_ms)} only; 2 min is the least.`,
        "figures",
      ),
    );
  }
  const starved = recently(history?.starved);
  if (starved > 0) {
    said.push(
      bad(
        "starved",
        `Callers were refused order IDs ${count(starved, "time")} within a minute: the store is too slow for them, or away.`,
        "figures",
      ),
    );
  }
  if (recently(history?.losses) > 0) {
    said.push(
      warn(
        "loss",
        "The ID store may have forgotten leases: sequences were skipped, so that none is given out twice. Was it restored?",
        "figures",
      ),
    );
  }
  if (Math.abs(orders.clock_offset_ms) > 1000) {
    said.push(
      warn(
        "clock",
        `The store's clock and this process's differ by ${duration(Math.abs(orders.clock_offset_ms))}; beyond 60 s nothing is leased.`,
        "figures",
      ),
    );
  }
  if (orders.headroom !== undefined && orders.headroom < 0.12) {
    said.push(
      warn(
        "headroom",
        `The leases have ${percent(orders.headroom)} of their headroom left: soon they have to wait for time to pass.`,
        "figures",
      ),
    );
  }
  return said;
}

function ofStats({ stats, history }: Known): Trouble[] {
  if (stats === null) return [];
  const said = stats.orders === null ? [] : ofOrders(stats.orders, history);
  const { snowflake } = stats;
  if (snowflake !== null && !snowflake.held) {
    said.push(
      bad(
        "worker",
        "The lease of the worker ID is lost: no Snowflake IDs until there is another.",
        "cluster",
      ),
    );
  } else if (snowflake !== null && snowflake.left_ms < 30_000) {
    said.push(
      warn(
        "worker",
        `The lease of the worker ID ends in ${duration(snowflake.left_ms)} and was not renewed.`,
        "cluster",
      ),
    );
  }
  if (snowflake !== null && snowflake.years_left < 2) {
    said.push(
      warn(
        "years",
        `Snowflake IDs of this epoch last for ${snowflake.years_left.toFixed(1)} more years.`,
        "figures",
      ),
    );
  }
  for (const { name, store_error } of stats.sequences) {
    if (store_error !== null) {
      said.push(
        bad("sequence", `The store of sequence ${name} fails: ${store_error}.`, "figures", name),
      );
    }
  }
  return said;
}

function ofMove(move: MoveStatus): Trouble[] {
  if (over(move)) return [];
  const name = `Move ${move.move}`;
  const figures = move.figures ?? {};
  const said: Trouble[] = [];
  if (move.state.startsWith("LOST")) {
    said.push(
      bad("move-lost", `${name}: the source has lost its record. ${move.next}`, "moves", move.move),
    );
  }
  for (const side of [move.source, move.target]) {
    if (side.waits_for_space > 0) {
      said.push(
        bad(
          "move-full",
          `${name}: the disk of ${side.name} is full, ${count(side.waits_for_space, "session")} wait.`,
          "moves",
          `${move.move} ${side.id}`,
        ),
      );
    }
    if ("trouble" in side.fence && side.fence.trouble !== "") {
      said.push(
        bad(
          "move-shard",
          `${name}: ${side.name} does not answer: ${side.fence.trouble}`,
          "moves",
          `${move.move} ${side.id}`,
        ),
      );
    }
  }
  if (held(move) !== "")
    said.push(warn("move-held", `${name} is on hold: ${held(move)}`, "moves", move.move));
  if (silent(move))
    said.push(warn("move-runner", `${name} has no runner; next: ${move.next}`, "moves", move.move));
  if (figures.forth?.broken || figures.back?.broken) {
    said.push(
      bad(
        "move-broken",
        `${name}: a stream is broken: ${figures.forth?.broken || figures.back?.broken}`,
        "moves",
        move.move,
      ),
    );
  }
  if (figures.unguarded)
    said.push(bad("move-guards", `${name} lacks guards: ${figures.unguarded}`, "moves", move.move));
  if (figures.differs)
    said.push(
      bad("move-differs", `${name}: the shards differ: ${figures.differs}`, "moves", move.move),
    );
  if (rogueWrites(figures) > 0) {
    said.push(
      warn(
        "move-rogue",
        `${name}: ${count(rogueWrites(figures), "write")} went past the guards.`,
        "moves",
        move.move,
      ),
    );
  }
  return said;
}

function ofMoves({ moves }: Known): Trouble[] {
  if (moves === null) return [];
  const said = moves.moves.flatMap(ofMove);
  if (moves.error !== null) {
    said.unshift(bad("moves", `The shards of the moves cannot be asked: ${moves.error}`, "moves"));
  }
  if (moves.unheard !== "") {
    said.push(
      warn(
        "unheard",
        `Shards that did not answer, so their moves may be missing: ${moves.unheard}`,
        "moves",
      ),
    );
  }
  return said;
}

function ofMembers({ members, membersProblem }: Known): Trouble[] {
  if (membersProblem !== null && membersProblem.status >= 500) {
    return [
      bad(
        "leader",
        `The cluster of lease nodes has no leader, or it does not answer: ${membersProblem.detail}`,
        "cluster",
      ),
    ];
  }
  if (members === null || members.length === 0) return [];
  const said: Trouble[] = [];
  if (!members.some((member) => member.leader)) {
    said.push(
      bad(
        "leader",
        "The cluster of lease nodes has no leader: no leases are granted or renewed.",
        "cluster",
      ),
    );
  }
  for (const member of members) {
    if (member.forgot) {
      said.push(
        bad(
          "forgot",
          `Member ${member.address} has forgotten what it had confirmed: replace it.`,
          "cluster",
          member.id,
        ),
      );
    } else if (member.silent_ms !== null && member.silent_ms > unheardAfter) {
      said.push(
        bad(
          "silent",
          `Member ${member.address} has not been heard for ${duration(member.silent_ms)}.`,
          "cluster",
          member.id,
        ),
      );
    }
  }
  return said;
}

function ofStrict({ strict }: Known): Trouble[] {
  if (strict === null) return [];
  return strictRemarks(strict).map((remark) => ({
    ...remark,
    view: "sequences",
    remedy: remedies.strict,
  }));
}

// The worst first.
export function troubles(known: Known): Trouble[] {
  const all = [
    ...ofConnection(known),
    ...ofTable(known),
    ...ofStats(known),
    ...ofMoves(known),
    ...ofMembers(known),
    ...ofStrict(known),
  ];
  return [
    ...all.filter((each) => each.tone === "bad"),
    ...all.filter((each) => each.tone !== "bad"),
  ];
}
