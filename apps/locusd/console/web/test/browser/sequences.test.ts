// SPDX-License-Identifier: Apache-2.0
// Sequence types and strict sequences: on a locusd in laptop mode, and on two sequence-nodes.

import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { StrictStatus } from "../../src/api";
import { startStrict } from "./configured";
import { type Locusd, locus, newDirectory, post, removeDirectory, startLaptop } from "./locusd";
import { holds, type Opened, openBrowser, openPage, phone, shoot, show, untilText } from "./page";
import { until } from "./until";

let browser: Browser;
// What a test has begun: each try begins anew.
const ends: (() => Promise<void>)[] = [];

// What a page must not take for markup.
const hostile = "<u>north</u>";

beforeAll(async () => {
  browser = await openBrowser();
});

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

afterAll(async () => {
  await browser?.close();
});

async function directory(): Promise<string> {
  const path = await newDirectory();
  ends.push(() => removeDirectory(path));
  return path;
}

async function running(started: Promise<Locusd>): Promise<Locusd> {
  const locusd = await started;
  ends.push(() => locusd.stop());
  return locusd;
}

async function open(url: string): Promise<Opened> {
  const opened = await openPage(browser, url);
  ends.push(() => opened.page.context().close());
  return opened;
}

test("sequence types: none yet, then made, in use, changed and dropped", async () => {
  const data = await directory();
  const laptop = await running(startLaptop(data));
  const rule = (verb: string, name: string, ...words: string[]) =>
    locus("seq", "type", verb, name, "--store", `sqlite:${join(data, "ids.db")}`, ...words);
  const opened = await open(`${laptop.url}/#/sequences`);
  const { page } = opened;
  await untilText(page, /There are no sequence types yet[\s\S]*locus seq type create/, "main");
  await untilText(page, /no node of strict sequences/, "main");
  await holds(opened, "no types");
  const pattern = ["--pattern", "{date:yyyyMMdd}{shop:2}{seq:8}"];
  await rule("create", "bills", "--period", "day", "--lifetime", "1", ...pattern);
  await rule("create", "plain", "--step", "5");
  await rule("create", "tickets", "--lifetime", "1", "--pattern", "T{seq:6}");
  const next = `${laptop.url}/v1/numbers`;
  for (const path of [
    `bills/next?field.shop=7&key=${encodeURIComponent(hostile)}`,
    "tickets/next",
  ]) {
    expect((await fetch(`${next}/${path}`)).status).toBe(200);
  }
  await page.reload();
  await untilText(page, /bills[\s\S]*in use[\s\S]*callers give shop/, "main");
  await untilText(page, /plain[\s\S]*not used by this process[\s\S]*in steps of 5/, "main");
  await untilText(page, /first one now: T000001/, "main");
  await page.getByText("1 counter of this process").first().click();
  await page.getByText(hostile).waitFor();
  expect(await page.locator("main u").count()).toBe(0);
  await holds(opened, "sequence types");
  await shoot(page, "rules-light");
  await page.setViewportSize(phone);
  await holds(opened, "sequence types on a phone");
  await rule("drop", "tickets");
  await untilText(page, /tickets[\s\S]*dropped: its numbers are refused/, "main");
});

test("strict sequences: nodes and their sections, handed over and taken", async () => {
  const place = await directory();
  const one = await running(startStrict(place, "one"));
  const two = await running(startStrict(place, "two"));
  const opened = await open(one.url);
  const { page } = opened;
  await show(page, "Sequences");
  await untilText(page, /one\s+✓ this node\s+5[\s\S]*two\s+✓ heard\s+5/, "main");
  await untilText(page, /users\s+0 – 999[\s\S]*10 of 100 users/, "main");
  await holds(opened, "strict sequences");
  await shoot(page, "strict-light");
  await page.setViewportSize(phone);
  await holds(opened, "strict sequences on a phone");
  await shoot(page, "strict-phone");
  await post(`${two.url}/v1/strict/sections:hand_over`, {});
  await untilText(page, /one\s+✓ this node\s+10[\s\S]*two\s+! takes no more sections\s+0/, "main");
  await two.stop();
  await post(`${one.url}/v1/strict/sections:hand_over`, {});
  await page.reload();
  await untilText(page, /Nobody has 10 strict sections/, ".troubles");
  await untilText(page, /This node takes no strict sections/, "main");
  await holds(opened, "sections that nobody has");
  await post(`${one.url}/v1/strict/sections:take`, {});
  await until("its sections", async () => {
    const status = (await (await fetch(`${one.url}/v1/strict/status`)).json()) as StrictStatus;
    return status.free.sections === 0 && status.takes;
  });
  await page.reload();
  await untilText(page, /one\s+✓ this node\s+10/, "main");
  expect(await page.locator(".troubles").count()).toBe(0);
});
