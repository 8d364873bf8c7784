// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { MoveStatus, Stats, StatsHistory } from "../../src/api";
import { address, headers } from "../../src/base/client";
import { notAToken, setToken } from "../../src/base/token";
import { holderPairs, leaseState } from "../../src/cluster/leases_card";
import { mostPoints, summary, withPoint } from "../../src/figures/points";
import { inspected } from "../../src/inspect/inspect_view";
import {
  bandText,
  comparedText,
  copiedText,
  lag,
  silent,
  waitingFor,
  waitsText,
  wishText,
} from "../../src/moves/move_facts";
import { moveChanges, shardChanges } from "../../src/table/diff_view";

const plain = (text: string | null) => text?.replaceAll(/[\u202f\u00a0]/g, " ");

test("an address escapes what it carries, and leaves out what is not given", () => {
  expect(address("/v1/inspect", { text: "buyer:a&b=c #1" })).toBe(
    "/v1/inspect?text=buyer%3Aa%26b%3Dc%20%231",
  );
  expect(address("/v1/leases", { space: undefined, from: 0 })).toBe("/v1/leases?from=0");
});

test("a token goes into a header, and only there", () => {
  expect(headers()).toEqual({});
  setToken("0123456789abcdef");
  expect(headers({ a: "b" })).toEqual({ a: "b", Authorization: "Bearer 0123456789abcdef" });
  setToken(null);
  expect(headers()).toEqual({});
  expect(notAToken("0123456789abcdef")).toBeNull();
  expect(notAToken("short")).toContain("16");
  expect(notAToken("x".repeat(1025))).toContain("1,024");
  expect(notAToken("0123456789 abcdef")).toContain("spaces");
  expect(notAToken("0123456789abcdef\n")).toContain("spaces");
});

test("what is inspected: a prefix that was typed counts", () => {
  expect(inspected("", " 5764748260646046997 ")).toBe("5764748260646046997");
  expect(inspected("snowflake:", "12")).toBe("snowflake:12");
  expect(inspected("snowflake:", "gene:7")).toBe("gene:7");
  expect(inspected("buyer:", " with spaces ")).toBe("buyer: with spaces ");
});

test("a move's figures in words", () => {
  expect(
    plain(
      bandText({
        id: 1,
        name: "a",
        fence: { own_lo: 2500, own_hi: 10000, step: 5 },
        waits_for_space: 0,
      }),
    ),
  ).toBe("75.00 %, step 5");
  expect(bandText({ id: 1, name: "a", fence: { trouble: "" }, waits_for_space: 0 })).toBe(
    "no fence yet",
  );
  expect(lag(-1)).toBe("stands still");
  expect(lag(undefined)).toBe("stands still");
  const copied = { rows: 500, estimated: 1000, rows_per_second: 100, left_s: 5 };
  const soFar = "500 rows of about 1 000 (50 %)";
  expect(plain(copiedText({ copied }, "COPYING"))).toBe(`${soFar}, 100 rows/s, 5 s left`);
  const full = { ...copied, left_s: -1, waiting: "The table is full (1114)" };
  expect(plain(copiedText({ copied: full }, "COPYING"))).toBe(
    `${soFar}, waits: The table is full (1114)`,
  );
  const compared = { ...copied, slices: 3, differences: 0, done: false };
  expect(plain(comparedText({ compared }, "VERIFYING"))).toBe(
    `${soFar}, 100 rows/s, 5 s left, 0 differences`,
  );
  expect(plain(comparedText({ compared }, "READY"))).toBe("500 rows, 0 differences");
  expect(plain(copiedText({ copied: { ...copied, rows_per_second: 0 } }, "READY"))).toBe(
    "500 rows",
  );
  expect(copiedText({ copied: { ...copied, rows: 0 } }, "READY")).toBe("all rows");
  expect(copiedText({}, "COPYING")).toBeNull();
  expect(
    plain(comparedText({ compared: { rows: 5, slices: 1, differences: 1, done: true } }, "READY")),
  ).toBe("5 rows, 1 difference, done");
  expect(waitsText({})).toBe("no step yet");
  expect(plain(waitsText({ band_waits_ms: { steps: 1, p50: 14.4, p99: 68, max: 768 } }))).toBe(
    "1 step: p50 14 ms, p99 68 ms, max 768 ms",
  );
});

test("a move's runner and what it waits for", () => {
  const move = {
    state: "READY",
    phase: "READY",
    runner: { name: "r", silent_ms: 10_000 },
    wish: { goal: 10000, by: 500, dwell_ms: 30_000, hold: "", ending: "finalize", repair: "" },
    figures: { state: "COPYING", waiting_for: "the copy" },
  } as unknown as MoveStatus;
  expect(silent(move)).toBe(false);
  expect(silent({ ...move, runner: { name: "r", silent_ms: 10_001 } })).toBe(true);
  expect(silent({ ...move, runner: { name: "", silent_ms: -1 } })).toBe(true);
  // Figures of the state before say nothing of this one.
  expect(waitingFor(move)).toEqual([]);
  expect(waitingFor({ ...move, state: "COPYING" })).toEqual(["the copy"]);
  expect(plain(wishText(move))).toBe("to 100.00 % by 5.00 %, 30 s between steps, then finalize");
});

test("diffs: moves begun, gone on and ended; what changed of a shard", () => {
  const move = { first: 0, last: 9, to: 2, permyriad: 0, step: 0 };
  const on = { ...move, permyriad: 500, step: 1 };
  const other = { ...move, first: 20, last: 29 };
  expect(moveChanges([move], [on, other])).toEqual({
    begun: [other],
    ended: [],
    gone: [{ before: move, after: on }],
  });
  expect(moveChanges([move], []).ended).toEqual([move]);
  const shard = { id: 1, name: "a", endpoint: "mysql://db1/o", weight: 100 };
  expect(shardChanges(shard, { ...shard, weight: 50, labels: { b: "2", a: "1" } })).toEqual([
    "weight 100 → 50",
    "labels none → a=1 b=2",
  ]);
});

test("leases: held, over, released; holders as pairs", () => {
  const worker = {
    worker: 1,
    token: "5",
    floor_ms: null,
    ceiling_ms: 1000,
    granted_at_ms: 0,
    renewed_at_ms: 0,
    nonce: "x",
    holder: "",
  };
  expect(plain(leaseState(worker, 400).text)).toBe("held, 600 ms left");
  expect(leaseState(worker, 1000).text).toContain("over");
  expect(leaseState({ ...worker, nonce: "" }, 0).text).toBe("released");
  expect(holderPairs('{"host":"<b>","n":{"a":1}}')).toEqual([
    ["host", "<b>"],
    ["n", '{"a":1}'],
  ]);
  expect(holderPairs("no json")).toEqual([["", "no json"]]);
  expect(holderPairs("")).toEqual([]);
});

const empty: StatsHistory = {
  step_ms: 2000,
  at_ms: [],
  orders_per_second: [],
  snowflakes_per_second: [],
  numbers_per_second: [],
  starved: [],
  store_failures: [],
  losses: [],
  autonomy_ms: [],
  lead_ms: [],
  clock_offset_ms: [],
  ownership_left_ms: [],
};

test("points: counts become what they rose by; a restart is not known; old ones fall off", () => {
  const at = (at_ms: number, starved: number) =>
    ({
      at_ms,
      orders: { ids_per_second: 5, starved, autonomy_ms: null },
      snowflake: null,
      sequences: [],
    }) as unknown as Stats;
  let points = withPoint(empty, null, at(2000, 3));
  points = withPoint(points, at(2000, 3), at(4000, 5));
  points = withPoint(points, at(4000, 5), at(6000, 1));
  expect(points.starved).toEqual([null, 2, null]);
  expect(points.orders_per_second).toEqual([5, 5, 5]);
  expect(points.snowflakes_per_second).toEqual([null, null, null]);
  expect(withPoint(points, null, at(6000, 1))).toBe(points);
  for (let time = 8000; time < 8000 + 2000 * mostPoints; time += 2000) {
    points = withPoint(points, null, at(time, 1));
  }
  expect(points.at_ms).toHaveLength(mostPoints);
  expect(points.at_ms[0]).toBe(8000);
});

test("a line in words: least, most, now", () => {
  expect(summary([null, null])).toBeNull();
  expect(summary([3, null, 1])).toEqual({ least: 1, most: 3, last: 1 });
  expect(summary([3, null])).toEqual({ least: 3, most: 3, last: null });
});
