// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import {
  ago,
  count,
  duration,
  ofPermyriad,
  percent,
  rate,
  shortDuration,
  thousands,
  thousandsOfText,
  utc,
  vnodes,
} from "../../src/base/format";

// Narrow and no-break spaces as plain ones.
const plain = (text: string) => text.replaceAll(/[\u202f\u00a0]/g, " ");

test("thousands: groups of three, with sign and fraction", () => {
  expect(plain(thousands(0))).toBe("0");
  expect(plain(thousands(999))).toBe("999");
  expect(plain(thousands(65536))).toBe("65 536");
  expect(plain(thousands(-1234567.5))).toBe("−1 234 567.5");
  expect(plain(thousands(1e21))).toBe("1e+21");
});

test("thousandsOfText: digits beyond what a number holds stay exact", () => {
  expect(plain(thousandsOfText("9223372036854775807"))).toBe("9 223 372 036 854 775 807");
  expect(thousandsOfText("0x1f")).toBe("0x1f");
});

test("duration: at most two units, never rounded up", () => {
  const said: [number, string][] = [
    [0, "0 ms"],
    [2.5, "2.5 ms"],
    [999, "999 ms"],
    [1000, "1 s"],
    [9_990, "9.9 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [250_000, "4 min 10 s"],
    [11_100_000, "3 h 5 min"],
    [1_047_600_000, "12 d 3 h"],
    [-1500, "−1.5 s"],
    [Number.POSITIVE_INFINITY, "without end"],
  ];
  for (const [ms, text] of said) expect(plain(duration(ms))).toBe(text);
});

test("shares, rates and counts carry their units", () => {
  expect(plain(percent(0.28571))).toBe("28.6 %");
  expect(plain(ofPermyriad(1))).toBe("0.01 %");
  expect(plain(rate(0))).toBe("0/s");
  expect(plain(rate(4.25))).toBe("4.3/s");
  expect(plain(rate(9_999))).toBe("9 999/s");
  expect(plain(rate(12_345))).toBe("12.3 k/s");
  expect(plain(rate(3_210_000))).toBe("3.21 M/s");
  expect(plain(count(1, "move"))).toBe("1 move");
  expect(plain(count(1000, "loss", "losses"))).toBe("1 000 losses");
  expect(plain(vnodes(5, 5))).toBe("5");
  expect(plain(vnodes(0, 65535))).toBe("0 – 65 535");
});

test("times: UTC, and ages", () => {
  expect(utc(0)).toBe("1970-01-01 00:00:00 UTC");
  expect(utc(Number.NaN)).toBe("unknown");
  expect(plain(ago(400))).toBe("just now");
  expect(plain(ago(3_400))).toBe("3 s ago");
  expect(plain(shortDuration(0))).toBe("0");
  expect(plain(shortDuration(90_000))).toBe("90 s");
  expect(plain(shortDuration(600_000))).toBe("10 min");
});
