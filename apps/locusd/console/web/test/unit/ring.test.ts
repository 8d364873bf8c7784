// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { VnodeMove } from "../../src/api";
import { className, lookOf, looksOf } from "../../src/ring/colours";
import {
  arc,
  at,
  coarse,
  factsOf,
  jump,
  pathsByShard,
  point,
  type Run,
  runsOf,
  vnodeAt,
  vnodeCount,
  vnodeOf,
} from "../../src/ring/ring";
import { within } from "../../src/ring/ring_strip";
import { rowsOf } from "../../src/ring/ring_table";
import { loadOf } from "../../src/ring/shards_card";

// A small generator of its own, so that a failure is a seed.
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomRanges(seed: number): { last: number; shard: number }[] {
  const next = numbers(seed);
  const lasts = new Set(Array.from({ length: 1 + next(40) }, () => next(vnodeCount)));
  return [...lasts].sort((a, b) => a - b).map((last) => ({ last, shard: 1 + next(4) }));
}

// As DESIGN.md says it: the first range whose last is not below the gene; above all, the first.
function ownerOf(ranges: { last: number; shard: number }[], vnode: number): number {
  return (ranges.find((range) => range.last >= vnode) ?? ranges[0])?.shard ?? -1;
}

describe("runs", () => {
  test("random tables: runs cover the ring and name the owner of each vnode", () => {
    for (let seed = 1; seed <= 20; ++seed) {
      const ranges = randomRanges(seed);
      const runs = runsOf(ranges);
      expect(runs[0]?.first, `seed ${seed}`).toBe(0);
      expect(runs.at(-1)?.last, `seed ${seed}`).toBe(vnodeCount - 1);
      for (let vnode = 0; vnode < vnodeCount; vnode += 97) {
        expect(at(runs, vnode)?.shard, `seed ${seed}, vnode ${vnode}`).toBe(ownerOf(ranges, vnode));
      }
      runs.slice(1).forEach((run, index) => {
        expect(run.first).toBe((runs[index]?.last ?? -2) + 1);
        expect(run.shard).not.toBe(runs[index]?.shard);
      });
    }
  });

  test("vnodes above the highest range belong to the first one", () => {
    const runs = runsOf([
      { last: 99, shard: 7 },
      { last: 199, shard: 8 },
    ]);
    expect(runs).toEqual([
      { first: 0, last: 99, shard: 7 },
      { first: 100, last: 199, shard: 8 },
      { first: 200, last: 65535, shard: 7 },
    ]);
  });

  test("a table without ranges has no runs, and no facts", () => {
    expect(runsOf([])).toEqual([]);
    expect(factsOf([], [], 5)).toBeNull();
  });
});

const runs: Run[] = [
  { first: 0, last: 999, shard: 1 },
  { first: 1000, last: 65535, shard: 2 },
];
const moves: VnodeMove[] = [
  { first: 500, last: 1499, to: 3, permyriad: 2500, step: 5 },
  { first: 3000, last: 3000, to: 1, permyriad: 0, step: 0 },
];

describe("facts and rows", () => {
  test("a vnode's facts: its run and its move", () => {
    expect(factsOf(runs, moves, 499)?.move).toBeNull();
    expect(factsOf(runs, moves, 500)?.move?.to).toBe(3);
    expect(factsOf(runs, moves, 1499)?.run.shard).toBe(2);
    expect(factsOf(runs, moves, 1500)?.move).toBeNull();
  });

  test("the table's rows are cut where moves begin and end, and cover the ring", () => {
    const rows = rowsOf(runs, moves);
    expect(rows.map(({ first, last, shard, move }) => [first, last, shard, move?.to ?? 0])).toEqual(
      [
        [0, 499, 1, 0],
        [500, 999, 1, 3],
        [1000, 1499, 2, 3],
        [1500, 2999, 2, 0],
        [3000, 3000, 2, 1],
        [3001, 65535, 2, 0],
      ],
    );
  });

  test("Page Up and Page Down visit where ranges and moves begin, and come round", () => {
    expect(jump(runs, moves, 0, true)).toBe(500);
    expect(jump(runs, moves, 500, true)).toBe(1000);
    expect(jump(runs, moves, 3000, true)).toBe(0);
    expect(jump(runs, moves, 0, false)).toBe(3000);
    expect(jump(runs, moves, 1001, false)).toBe(1000);
  });

  test("a window shows what touches it, cut to it", () => {
    expect(within(moves, 600, 700)).toEqual([{ ...moves[0], first: 600, last: 700 }]);
    expect(within(moves, 1500, 2999)).toEqual([]);
  });
});

describe("drawing", () => {
  test("the vnode under the point of a vnode is that vnode", () => {
    for (const vnode of [0, 1, 16383, 16384, 30000, 49152, 65535]) {
      const angle = ((vnode + 0.5) / vnodeCount) * 2 * Math.PI;
      expect(vnodeAt(Math.sin(angle), -Math.cos(angle))).toBe(vnode);
    }
    expect(point(0, 100)).toEqual([0, -100]);
    expect(point(16384, 100)).toEqual([100, -0]);
  });

  test("an arc of the whole ring is two circles, one of more than half is large", () => {
    expect(arc(0, 65535, 60, 90).match(/A/g)).toHaveLength(4);
    expect(arc(0, 40000, 60, 90)).toContain("A90 90 0 1 1");
    expect(arc(0, 10000, 60, 90)).toContain("A90 90 0 0 1");
  });

  test("a path for each shard", () => {
    const many = runsOf([
      { last: 10, shard: 1 },
      { last: 20, shard: 2 },
      { last: 30, shard: 1 },
      { last: 65535, shard: 2 },
    ]);
    const paths = pathsByShard(many, 60, 90);
    expect([...paths.keys()]).toEqual([1, 2]);
    expect(paths.get(1)?.match(/M/g)).toHaveLength(2);
  });

  test("65,536 runs are drawn as few cells, each of whom most of it belongs to", () => {
    const every = Array.from({ length: vnodeCount }, (_, vnode) => ({
      first: vnode,
      last: vnode,
      shard: vnode < vnodeCount / 2 ? (vnode % 4 === 0 ? 2 : 1) : 3,
    }));
    expect(coarse(every, 4096)).toEqual([
      { first: 0, last: 32767, shard: 1 },
      { first: 32768, last: 65535, shard: 3 },
    ]);
    expect(coarse(runs, 4096)).toBe(runs);
  });

  test("looks: eight colours, then textures; the order in the table decides", () => {
    expect(lookOf(0)).toEqual({ hue: 0, texture: 0 });
    expect(lookOf(9)).toEqual({ hue: 1, texture: 1 });
    expect(looksOf([{ id: 40 }, { id: 7 }]).get(7)).toEqual({ hue: 1, texture: 0 });
    expect(className(undefined)).toContain("unknown");
  });
});

test("vnodeOf: what people type for a vnode", () => {
  expect(vnodeOf(" 65535 ")).toBe(65535);
  expect(vnodeOf("12 345")).toBe(12345);
  expect(vnodeOf("gene:7")).toBe(7);
  for (const wrong of ["65536", "", "-1", "1.5", "5764748260646046997", "abc"]) {
    expect(vnodeOf(wrong), wrong).toBeNull();
  }
});

test("load is not shown as portions of a few orders", () => {
  const answer = (rates: number[]) => ({
    epoch: 1,
    shards: rates.map((ids_per_second, id) => ({
      id,
      name: "a",
      endpoint: "",
      vnodes: 0,
      portion: 0,
      weight: 1,
      weight_portion: 0,
      moving_in: 0,
      moving_out: 0,
      load: { ids_per_second, portion: 0 },
      writes: null,
    })),
    load: { by: "ids" as const, window_ms: 60_000, why_absent: null, writes_window_ms: 0 },
  });
  const shown = (rates: number[]) => {
    const told = answer(rates);
    const { load, text } = loadOf(told);
    expect(text.includes("no portions are shown")).toBe(
      told.shards.every((each) => load(each) === null),
    );
    return told.shards.map((each) => load(each)?.perSecond ?? null);
  };
  expect(shown([1 / 60, 0])).toEqual([null, null]);
  expect(shown([1, 0])).toEqual([null, null]);
  expect(shown([1, 1])).toEqual([1, 1]);
});

test("load is what the shards count, where they are asked: others write, too", () => {
  const shard = (id: number, ids_per_second: number, writes: number | null) => ({
    id,
    name: "a",
    endpoint: "",
    vnodes: 0,
    portion: 0,
    weight: 1,
    weight_portion: 0,
    moving_in: 0,
    moving_out: 0,
    load: { ids_per_second, portion: 1 },
    writes: writes === null ? null : { per_second: writes, portion: writes / 400 },
  });
  const answer = {
    epoch: 1,
    shards: [shard(1, 10, 100), shard(2, 0, 300), shard(3, 0, null)],
    load: { by: "ids" as const, window_ms: 60_000, why_absent: null, writes_window_ms: 5000 },
  };
  const { load, text } = loadOf(answer);
  expect(answer.shards.map(load)).toEqual([
    { portion: 0.25, perSecond: 100 },
    { portion: 0.75, perSecond: 300 },
    null,
  ]);
  expect(text).toContain("as the shards count them, in the last 5 s");
});
