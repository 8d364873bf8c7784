// SPDX-License-Identifier: Apache-2.0
// The page while orders really move between two MariaDB servers, on a locusd with tokens.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Configured, startConfigured } from "./configured";
import { locus, type Process, start, untilSaid } from "./locusd";
import { holds, type Opened, openBrowser, openPage, phone, shoot, show, untilText } from "./page";
import { until } from "./until";

let browser: Browser;
let shards: Process;
let moves: string;
let target: number;
let service: Configured;
let opened: Opened;

beforeAll(async () => {
  const script = fileURLToPath(new URL("./moving_shards", import.meta.url));
  shards = start(script, [], {}, "pipe");
  browser = await openBrowser();
  const said = await untilSaid(
    shards,
    /^table (?<table>\S+)\nmoves (?<moves>\S+)\ntarget (?<target>\d+)\nready$/m,
  );
  moves = said.groups?.moves ?? "";
  target = Number(said.groups?.target);
  service = await startConfigured({ table: said.groups?.table ?? "", moveFile: moves });
  opened = await openPage(browser, service.url);
  await opened.page.locator("input[type=password]").fill(service.tokens.reader);
  await opened.page.keyboard.press("Enter");
  await show(opened.page, "Moves");
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  // Its servers end with its stdin.
  shards?.child.stdin?.end();
  await shards?.stop();
});

const card = ".card.move";

test("a move that is ready: bands, lags, gates and the next command of `locus move status`", async () => {
  const said = await untilText(opened.page, /orders-c[\s\S]*runner/, card);
  expect(said).toMatch(/READY/);
  expect(said).toMatch(
    /orders-a[\s\S]*source[\s\S]*100\.00 %[\s\S]*orders-c[\s\S]*target[\s\S]*0\.00 %/,
  );
  expect(said).toMatch(/lag from the source\s+[\d.]+ m?s/);
  expect(said).toMatch(/compared\s+[\d ]+ rows?, 0 differences/);
  const status = await locus("move", "status", moves);
  const next = /^ {2}next +(.*)$/m.exec(status)?.[1] ?? "";
  expect(next).toContain("locus move");
  await until(
    "the same next command",
    async () => (await opened.page.locator(`${card} .next code`).textContent()) === next,
  );
  await opened.page.getByRole("button", { name: /Copy the next command/ }).click();
  await opened.page.locator(`${card} .next [role=status]`).getByText("copied").waitFor();
  expect(await opened.page.evaluate(() => navigator.clipboard.readText())).toBe(next);
});

test("steps arrive live, on the page of moves and in the ring", async () => {
  await locus("move", "auto", moves, "--by", "1000", "--dwell", "300ms");
  await untilText(opened.page, /STEP[\s\S]*[1-9]\d\.00 % are at the target/, card);
  await untilText(opened.page, /waits at steps\s+[1-9]\d* steps?: p50/, card);
  await untilText(opened.page, /gate[\s\S]*(open|closed)/i, card);
  await holds(opened, "a move");
  await shoot(opened.page, "move-light");
});

test("held: on top in words, with why; in dark and on a phone", async () => {
  await locus("move", "hold", moves, "--why", "<i>enough</i> seen");
  await untilText(opened.page, /is on hold: <i>enough<\/i> seen/, ".troubles");
  expect(await opened.page.locator("i").count()).toBe(0);
  const small = await openPage(browser, service.url, { viewport: phone, colorScheme: "dark" });
  await small.page.locator("input[type=password]").fill(service.tokens.reader);
  await small.page.keyboard.press("Enter");
  await show(small.page, "Moves");
  await untilText(small.page, /On hold/, card);
  await holds(small, "a move that is held, on a phone");
  await shoot(small.page, "move-phone-dark");
  await show(small.page, "Ring");
  await untilText(small.page, /orders-c/, "main");
  await holds(small, "the ring of a move, on a phone");
  await small.page.context().close();
  await opened.page.emulateMedia({ colorScheme: "dark" });
  await shoot(opened.page, "move-dark");
  await show(opened.page, "Ring");
  await opened.page.locator(".ring-moves path").first().waitFor();
  await shoot(opened.page, "ring-move-dark");
  await opened.page.emulateMedia({ colorScheme: "light" });
  await show(opened.page, "Moves");
});

test("a shard that does not answer is named, and the rest of the page goes on", async () => {
  process.kill(target, "SIGKILL");
  await untilText(
    opened.page,
    /orders-c does not answer|shards of the moves cannot be asked/,
    ".troubles",
  );
  await holds(opened, "a shard is away");
  await shoot(opened.page, "move-shard-away");
  const token = await readFile(join(service.directory, "reader.token"), "utf8");
  expect(await opened.page.content()).not.toContain(token.trim());
});
