// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { EventParser, pauseBefore, type StreamEvent } from "../../src/base/event_stream";

const text =
  ': beat\n\nevent: stats\ndata: {"a":1}\n\nevent: moves\r\ndata: one\r\ndata: two\r\n\r\n' +
  "data: plain\r\revent: nothing\n\ndata:no space\nid: 7\nretry\n\nevent: cut\ndata: off";
const expected: StreamEvent[] = [
  { name: "stats", data: '{"a":1}' },
  { name: "moves", data: "one\ntwo" },
  { name: "message", data: "plain" },
  { name: "message", data: "no space" },
];

test("a stream in one piece", () => {
  expect(new EventParser().push(text)).toEqual(expected);
});

test("a stream cut anywhere gives the same events", () => {
  for (let first = 0; first <= text.length; ++first) {
    for (const second of [
      first,
      Math.min(text.length, first + 1),
      Math.min(text.length, first + 9),
    ]) {
      const parser = new EventParser();
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)];
      expect(
        pieces.flatMap((piece) => parser.push(piece)),
        `${first} ${second}`,
      ).toEqual(expected);
    }
  }
});

test("a stream byte by byte", () => {
  const parser = new EventParser();
  expect([...text].flatMap((letter) => parser.push(letter))).toEqual(expected);
});

test("pauses grow and stay bounded", () => {
  expect(pauseBefore(1, 0)).toBe(1000);
  expect(pauseBefore(1, 1)).toBe(2000);
  expect(pauseBefore(2, 0)).toBe(2000);
  expect(pauseBefore(1000, 1)).toBe(15_000);
});
