// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { NumberCounter, NumberType, StrictNode, StrictStatus } from "../../src/api";
import {
  counterNote,
  countingText,
  nodeState,
  rangesText,
  shapeText,
  strictRemarks,
  typeState,
  uidsText,
} from "../../src/sequences/sequence_facts";

const plain = (text: string) => text.replaceAll(/[\u202f\u00a0]/g, " ");

const node: StrictNode = {
  name: "one",
  address: "10.0.0.1:7070",
  weight: 100,
  self: true,
  heard: true,
  sections: 10,
  numbers_per_second: 5,
  ranges: [{ first: 0, last: 9 }],
};
const status: StrictStatus = {
  set: "orders",
  node: "one",
  open: true,
  takes: true,
  first_uid: "0",
  uids: "1000000",
  section_size: 100_000,
  sections: 10,
  step: "10000",
  ttl_ms: 10_000,
  table_version: "7",
  looked_ms: 2000,
  rests_ms: 0,
  losses: 0,
  ownership_left_ms: 8000,
  nodes: [node],
  handed_over: [],
  free: { sections: 0, ranges: [] },
};
const said = (parts: Partial<StrictStatus>) =>
  strictRemarks({ ...status, ...parts }).map((each) => `${each.tone}: ${plain(each.text)}`);

test("strict sequences: nothing is said where all is well", () => {
  expect(said({})).toEqual([]);
  expect(said({ ownership_left_ms: null, looked_ms: null, losses: null })).toEqual([]);
});

test("strict sequences: what is wrong, the worst first", () => {
  expect(said({ open: false, free: { sections: 10, ranges: [] } })).toEqual([
    "bad: The set of strict sequences is not open: the log of the node says why.",
  ]);
  expect(said({ ownership_left_ms: 1900 })[0]).toContain("in 1.9 s this node stops answering");
  expect(said({ ownership_left_ms: -5 })[0]).toContain("this node does not answer for them");
  expect(
    said({ rests_ms: 7000, takes: false, free: { sections: 2, ranges: [] } }).map((text) =>
      text.slice(0, 30),
    ),
  ).toEqual([
    "bad: Nobody has 2 strict secti",
    "warn: The store of the strict ",
    "warn: This node takes no stric",
  ]);
  const gone = { ...node, name: "gone", heard: false, self: false, sections: 3 };
  expect(said({ nodes: [node, gone] })).toEqual([
    "bad: The node gone is not heard, and has 3 strict sections: once their leases end, the others take them.",
  ]);
  expect(said({ nodes: [node, { ...gone, sections: 0 }] })).toEqual([]);
  expect(said({ looked_ms: 31_000 })[0]).toContain("was last read 31 s ago");
});

test("strict sequences: nodes and their sections in words", () => {
  expect(nodeState(node)).toEqual({ tone: "good", text: "this node" });
  expect(nodeState({ ...node, self: false }).text).toBe("heard");
  expect(nodeState({ ...node, weight: 0 }).tone).toBe("warn");
  expect(nodeState({ ...node, heard: false }).tone).toBe("bad");
  expect(nodeState({ ...node, heard: false, sections: 0 }).tone).toBe("calm");
  expect(
    plain(
      rangesText([
        { first: 0, last: 4 },
        { first: 12_000, last: 12_000 },
      ]),
    ),
  ).toBe("0 – 4, 12 000");
  expect(
    rangesText(
      [1, 3, 5].map((at) => ({ first: at, last: at })),
      2,
    ),
  ).toBe("1, 3, and more");
  expect(rangesText([])).toBe("");
  expect(plain(uidsText({ ...status, first_uid: "9007199254740993", uids: "10" }))).toBe(
    "9 007 199 254 740 993 – 9 007 199 254 741 002",
  );
});

const counter: NumberCounter = { key: "", type_version: "71", numbers: 3, type_error: null };
const type: NumberType = {
  name: "bills",
  version: "71",
  dropped: false,
  pattern: "{date:yyyyMMdd}{seq:8}",
  period: "day",
  zone: "Asia/Shanghai",
  start: "1",
  step: "1",
  max_value: "99999999",
  at_max: "error",
  ttl_ms: 0,
  buffer: "0",
  leftovers: "return",
  lifetime_ms: 60_000,
  first_number: "2026112500000001",
  fields: [],
  counters: [counter],
};

test("sequence types in words", () => {
  expect(plain(countingText(type))).toBe(
    "from 1, to 99 999 999, then refused; begins again each day of Asia/Shanghai",
  );
  const other = { ...type, step: "5", at_max: "wrap", period: "none", ttl_ms: 3_600_000 } as const;
  expect(plain(countingText(other))).toBe(
    "from 1, in steps of 5, to 99 999 999, then from the first one again; never begins again; forgotten after 1 h without use",
  );
  expect(plain(countingText({ ...type, period: "none", max_value: "0" }))).toBe(
    "from 1, to 2^63 − 1, then refused; never begins again",
  );
  expect(shapeText(type)).toBe("first one now: 2026112500000001");
  expect(shapeText({ ...type, first_number: null, fields: ["shop", "till"] })).toBe(
    "callers give shop, till",
  );
  expect(shapeText({ ...type, pattern: "", first_number: null })).toBe("plain numbers");
});

test("sequence types: whether they are in use", () => {
  expect(typeState(type)).toEqual({ tone: "good", text: "in use" });
  expect(typeState({ ...type, counters: [] }).tone).toBe("calm");
  const older = { ...counter, type_version: "70" };
  expect(plain(typeState({ ...type, counters: [counter, older] }).text)).toBe(
    "changed: in use within 1 min",
  );
  const failing = { ...counter, type_error: "connection refused" };
  expect(typeState({ ...type, counters: [failing] }).text).toContain("cannot be read");
  expect(typeState({ ...type, dropped: true }).tone).toBe("bad");
  expect(counterNote(failing)).toBe("connection refused");
  expect(counterNote({ ...counter, type_version: "0" })).toBe("the type was dropped");
  expect(counterNote(counter)).toBe("");
});
