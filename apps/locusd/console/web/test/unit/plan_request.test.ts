// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Plan, Shard } from "../../src/api";
import {
  asksForSomething,
  type Draft,
  diffSummary,
  emptyDraft,
  imageAddress,
  planOf,
  portionChanges,
  requestOf,
  wrongs,
} from "../../src/plan/plan_request";

const shards: Shard[] = [
  { id: 1, name: "orders-a", endpoint: "mysql://db1/orders", weight: 100 },
  { id: 2, name: "orders-b", endpoint: "mysql://db2/orders", weight: 100 },
];
const draft = (parts: Partial<Draft>): Draft => ({ ...emptyDraft(), ...parts });
const addition = { key: 1, name: "orders-c", endpoint: " mysql://db3/orders ", weight: "50" };

test("nothing was changed: nothing is asked for", () => {
  expect(asksForSomething(emptyDraft(), shards)).toBe(false);
  expect(asksForSomething(draft({ weights: { "orders-a": "100" } }), shards)).toBe(false);
});

test("a request carries only what differs, and the epoch that is shown", () => {
  const asked = draft({
    additions: [addition],
    remove: ["orders-b"],
    weights: { "orders-a": "300", "orders-b": "5" },
    byLoad: true,
    mostPerShard: "4",
  });
  expect(requestOf(asked, shards, 12)).toEqual({
    epoch: 12,
    most_per_shard: 4,
    add: [{ name: "orders-c", endpoint: "mysql://db3/orders", weight: 50 }],
    remove: ["orders-b"],
    weights: { "orders-a": 300 },
    load: "ids",
  });
});

test("what is wrong is said, with the value's place and limit", () => {
  const said = (parts: Partial<Draft>) => wrongs(draft(parts), shards).join(" ");
  expect(said({})).toBe("");
  expect(said({ additions: [{ ...addition, name: "" }] })).toContain("needs a name");
  expect(said({ additions: [{ ...addition, name: "orders-a" }] })).toContain("there is a shard");
  expect(said({ additions: [{ ...addition, name: "ä".repeat(33) }] })).toContain("64 bytes");
  expect(said({ additions: [{ ...addition, endpoint: " " }] })).toContain("needs an endpoint");
  expect(said({ additions: [addition, { ...addition, key: 2 }] })).toContain("there is a shard");
  for (const weight of ["", "-1", "1.5", "1000001", "1e3"]) {
    expect(said({ weights: { "orders-a": weight } }), weight).toContain("The weight of orders-a");
  }
  expect(said({ mostPerShard: "0" })).toContain("from 1 to 65536");
});

const plan: Plan = {
  epoch: 12,
  shards,
  moves: [],
  moved_vnodes: 10,
  before: { "orders-a": 40_000, gone: 5 },
  after: { "orders-b": 7 },
  moved_load: 0,
};

test("portions before and after, of shards on either side", () => {
  expect(portionChanges(plan)).toEqual([
    { id: 1, name: "orders-a", before: 40_000, after: 0 },
    { id: 2, name: "orders-b", before: 0, after: 7 },
    { id: null, name: "gone", before: 5, after: 0 },
  ]);
});

test("a plan's file: JSON with moves, or a sentence that says what it is not", () => {
  expect(planOf(JSON.stringify(plan)).moved_vnodes).toBe(10);
  expect(() => planOf("{")).toThrow("not JSON");
  expect(() => planOf("null")).toThrow("no plan");
  expect(() => planOf("[]")).toThrow("no plan");
});

test("an image's address holds all of a picture, markup and all", () => {
  const svg = '<svg><text>"a" & #b %c</text></svg>';
  const address = imageAddress(svg);
  expect(address).not.toMatch(/["#<>\s]/);
  expect(decodeURIComponent(address.slice(address.indexOf(",") + 1))).toBe(svg);
});

test("a diff in one line", () => {
  const nothing = {
    before: { epoch: 1, moves: [] },
    after: { epoch: 2, moves: [] },
    shards_added: [],
    shards_removed: [],
    shards_changed: [],
    owners_changed: [],
    text: "",
  };
  expect(diffSummary(nothing)).toBe("no change");
  const move = { first: 0, last: 9, to: 2, permyriad: 0, step: 0 };
  const more = { ...nothing, after: { epoch: 2, moves: [move, move] }, shards_added: shards };
  expect(diffSummary(more)).toBe("2 shards are added, 2 moves begin");
});
