// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { MoveStatus, Stats, StatsHistory, TableSourceState } from "../../src/api";
import { remedies } from "../../src/troubles/remedies";
import { type Known, type Trouble, troubles } from "../../src/troubles/troubles";
import { announcement } from "../../src/troubles/troubles_bar";

const orders: NonNullable<Stats["orders"]> = {
  ids: 1,
  ids_per_second: 1,
  allocations: 1,
  store_calls: 1,
  store_failures: 0,
  waits: 0,
  first_uses: 0,
  starved: 0,
  losses: 0,
  dropped: 0,
  autonomy_ms: 600_000,
  lead_ms: 10,
  most_lead_ms: 1_024_000,
  clock_offset_ms: 0,
  store_latency: { calls: 1, mean_ms: 1, p50_ms: 1, p99_ms: 1 },
  store_error: null,
  stores: [],
};
const stats = (parts: Partial<typeof orders>): Stats => ({
  at_ms: 0,
  orders: { ...orders, ...parts },
  snowflake: null,
  sequences: [],
  more_sequences: 0,
  process: { started_at_ms: 0, streams: 1, most_streams: 8, slow_streams: 0 },
});
const source: TableSourceState = {
  state: "following",
  place: "file:/t.json",
  error: null,
  installed_at_ms: 0,
  age_ms: 100,
  from_last_good_file: false,
  installs: 1,
  reads: 1,
  read_failures: 0,
  refusals: [],
};
const table = (parts: Partial<TableSourceState>) => ({
  epoch: 7,
  table_id: null,
  document: { epoch: 7, shards: [], ranges: [], moves: [] },
  source: { ...source, ...parts },
});
const well: Known = {
  now: 100_000,
  live: { state: "live" },
  heardAt: 99_000,
  sessionProblem: null,
  table: table({}),
  stats: stats({}),
  history: null,
  moves: null,
  members: null,
  membersProblem: null,
  strict: null,
};
const said = (parts: Partial<Known>) =>
  troubles({ ...well, ...parts }).map(
    (each) => `${each.tone}: ${each.text.replaceAll(/\s/g, " ")}`,
  );
const problem = {
  title: "No answer",
  status: 0,
  detail: "locusd does not answer.",
  code: "UNAVAILABLE",
};

test("all is well: nothing is said", () => {
  expect(said({})).toEqual([]);
  expect(said({ table: null, stats: null })).toEqual([]);
});

test("the stream is lost: with the age of what is shown, and when it is tried again", () => {
  expect(said({ live: { state: "lost", problem, retryAt: 103_000 }, heardAt: 86_000 })).toEqual([
    "bad: No live updates: locusd does not answer. What is shown is 14 s old. It is tried again in 3 s.",
  ]);
});

test("the table's place: refused with the reason, away with the age, last-good file", () => {
  const refusals = [{ epoch: 9, reason: "/ranges/0/last: 70000", at_ms: 0, times: 3 }];
  expect(said({ table: table({ state: "refused", refusals }) })[0]).toContain(
    "was refused, epoch 9: /ranges/0/last: 70000. Epoch 7 stays in force",
  );
  const away = said({ table: table({ state: "failing", error: "refused", age_ms: 65_000 }) });
  expect(away[0]).toContain(
    "does not answer: refused. Epoch 7 stays in force, confirmed 1 min 5 s ago",
  );
  expect(said({ table: table({ from_last_good_file: true }) })[0]).toContain("last-good file");
});

test("the ID store: away, short autonomy, starving, clock, headroom", () => {
  expect(said({ stats: stats({ store_error: "no answer", autonomy_ms: 61_000 }) })).toEqual([
    "bad: The ID store fails: no answer. Order IDs go on for 1 min 1 s.",
  ]);
  // After a burst it is short for a moment; then it has to stay so.
  const autonomy = (points: number[]) => ({ autonomy_ms: points }) as unknown as StatsHistory;
  const short = stats({ autonomy_ms: 119_000 });
  expect(said({ stats: short, history: autonomy([...Array(20).fill(6e5), 1000]) })).toEqual([]);
  expect(said({ stats: short, history: autonomy(Array(15).fill(119_000)) })[0]).toMatch(
    /^warn: Without its store/,
  );
  expect(said({ stats: stats({ clock_offset_ms: -1500 }) })[0]).toContain("differ by 1.5 s");
  expect(said({ stats: stats({ headroom: 0.11 }) })[0]).toContain("11.0 % of their headroom");
  expect(said({ stats: stats({ headroom: 0.12, lead_ms: 1_140_000 }) })).toEqual([]);
  const history = { starved: [5, ...Array(30).fill(0), 2] } as unknown as StatsHistory;
  expect(said({ history })).toEqual([
    "bad: Callers were refused order IDs 2 times within a minute: the store is too slow for them, or away.",
  ]);
});

test("members: none leads, one is silent, one forgot, or nobody answers", () => {
  const member = {
    id: "a",
    address: "node1:7070",
    voter: true,
    leader: false,
    match: 1,
    forgot: false,
    silent_ms: null,
  };
  expect(said({ members: [member] })[0]).toContain("has no leader");
  const leads = { ...member, leader: true };
  const silent = { ...member, id: "b", address: "node2:7070", silent_ms: 12_000 };
  expect(said({ members: [leads, silent] })).toEqual([
    "bad: Member node2:7070 has not been heard for 12 s.",
  ]);
  expect(said({ members: [leads, { ...member, id: "c", forgot: true }] })[0]).toContain(
    "forgotten",
  );
  expect(said({ membersProblem: { ...problem, status: 503 } })[0]).toContain("no leader");
  expect(said({ membersProblem: { ...problem, status: 404 } })).toEqual([]);
});

const fence = { own_lo: 0, own_hi: 10000, step: 0 };
const move: MoveStatus = {
  move: "peak",
  state: "READY",
  vnodes: [[0, 9]],
  source: { id: 1, name: "a", fence, waits_for_space: 0 },
  target: { id: 2, name: "b", fence, waits_for_space: 0 },
  share: 0,
  table: "",
  next: "locus move run peak.toml",
  next_is_command: true,
  other_tables: "",
  phase: "READY",
  wish: { goal: 0, by: 500, dwell_ms: 0, hold: "", ending: "", repair: "" },
  runner: { name: "r", silent_ms: 100 },
  figures: {},
};
const moving = (parts: Partial<MoveStatus>) =>
  said({
    moves: {
      epoch: 7,
      table_moves: [],
      moves: [{ ...move, ...parts }],
      file: "peak.toml",
      looked_at_ms: 0,
      error: null,
      unheard: "",
    },
  });

test("moves: held, no runner, a shard away, a full disk, differences; one that is over is silent", () => {
  expect(moving({})).toEqual([]);
  const hold = { ...(move.wish as NonNullable<MoveStatus["wish"]>), hold: "enough seen" };
  expect(moving({ wish: hold })).toEqual(["warn: Move peak is on hold: enough seen"]);
  expect(moving({ runner: { name: "r", silent_ms: 10_001 } })[0]).toContain(
    "no runner; next: locus move run",
  );
  expect(moving({ runner: { name: "", silent_ms: -1 }, phase: "DONE" })).toEqual([]);
  expect(moving({ target: { ...move.target, fence: { trouble: "refused" } } })[0]).toContain(
    "b does not answer: refused",
  );
  expect(moving({ source: { ...move.source, waits_for_space: 2 } })[0]).toContain(
    "2 sessions wait",
  );
  expect(moving({ figures: { differs: "2 rows of orders" } })[0]).toContain("differ: 2 rows");
  expect(moving({ figures: { forth: { lag_ms: 1, rogue: 3 } } })[0]).toContain(
    "3 writes went past",
  );
});

test("what is bad stands before what is to be looked at", () => {
  const tones = troubles({
    ...well,
    table: table({ from_last_good_file: true }),
    stats: stats({ store_error: "x" }),
  }).map((each) => each.tone);
  expect(tones).toEqual(["bad", "warn"]);
});

test("each kind of trouble leads to a section of the documentation that is there", () => {
  const sections = new Map<string, Set<string>>();
  for (const [kind, { docs }] of Object.entries(remedies)) {
    const [page = "", section = ""] = docs.split("#");
    if (!sections.has(page)) {
      const file = fileURLToPath(new URL(`../../../../../../docs/${page}`, import.meta.url));
      const said = readFileSync(file, "utf8");
      const headings = [...said.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
        heading
          .toLowerCase()
          .replaceAll(/[^a-z0-9 _-]/g, "")
          .replaceAll(" ", "-"),
      );
      const marks = [...said.matchAll(/<a id="([^"]*)">/g)].map(([, mark = ""]) => mark);
      sections.set(page, new Set([...headings, ...marks]));
    }
    expect(sections.get(page)?.has(section), `${kind}: ${docs}`).toBe(true);
  }
  const store = troubles({ ...well, stats: stats({ store_error: "no answer" }) })[0];
  expect(store?.remedy.docs).toBe("run/operations.md#when-the-store-cannot-be-used");
});

test("announcements: what begins, what was mended; an age that ticks is silent", () => {
  const one: Trouble = {
    key: "a",
    tone: "bad",
    text: "A is wrong, 1 s old.",
    remedy: remedies.store,
  };
  const later = { ...one, text: "A is wrong, 2 s old." };
  expect(announcement([], [one])).toBe("A is wrong, 1 s old.");
  expect(announcement([one], [later])).toBe("");
  expect(announcement([one], [])).toBe("All is well again.");
  expect(announcement([one, { ...one, key: "b" }], [one])).toBe("Mended: 1; left: 1.");
});

test("strict sequences: what is wrong leads to their view", () => {
  const strict: Known["strict"] = {
    set: "orders",
    node: "one",
    open: true,
    takes: true,
    first_uid: "0",
    uids: "1000",
    section_size: 100,
    sections: 10,
    step: "10",
    ttl_ms: 10_000,
    table_version: "1",
    looked_ms: 0,
    rests_ms: 0,
    losses: 0,
    ownership_left_ms: 8000,
    nodes: [],
    handed_over: [],
    free: { sections: 1, ranges: [{ first: 4, last: 4 }] },
  };
  expect(said({ strict })).toEqual([
    "bad: Nobody has 1 strict section: their users get no numbers.",
  ]);
  expect(troubles({ ...well, strict })[0]?.view).toBe("sequences");
  expect(said({ strict: { ...strict, free: { sections: 0, ranges: [] } } })).toEqual([]);
});
