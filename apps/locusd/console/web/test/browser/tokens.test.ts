// SPDX-License-Identifier: Apache-2.0
// The page on a locusd that asks for tokens: what each scope may do; leases and members of a cluster.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Configured, leased, startConfigured } from "./configured";
import { locus, newDirectory, removeDirectory } from "./locusd";
import { holds, type Opened, openBrowser, openPage, phone, shoot, show, untilText } from "./page";

let browser: Browser;
let place: string;
let service: Configured;
let opened: Opened;
let page: Page;

beforeAll(async () => {
  place = await newDirectory();
  const file = join(place, "first.json");
  const shards = [
    "--shard",
    "orders-a=mysql://db1/orders",
    "--shard",
    "orders-b=mysql://db2/orders",
  ];
  await writeFile(file, await locus("table", "new", ...shards));
  await locus("table", "publish", "--quiet", `file:${place}/table.json`, file);
  service = await startConfigured({ table: `file:${place}/table.json` });
  const cluster = `locusd://${new URL(service.url).host}`;
  await leased(service, "lease", "create", cluster, "--first-ever");
  await leased(service, "lease", "acquire", cluster);
  browser = await openBrowser();
  opened = await openPage(browser, service.url);
  page = opened.page;
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  if (place !== undefined) await removeDirectory(place);
});

async function use(token: string): Promise<void> {
  await page.locator("input[type=password]").fill(token);
  await page.keyboard.press("Enter");
}

async function planAWeight(): Promise<void> {
  await page.getByRole("button", { name: "Plan a change" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Weight of orders-b").fill("300");
  await dialog.getByRole("button", { name: "Plan", exact: true }).click();
  await dialog.getByText("Epoch 2:").waitFor();
}

test("without a token nothing is shown, and a form asks for one", async () => {
  await page.getByRole("heading", { name: "A token is needed" }).waitFor();
  expect(await page.content()).not.toContain("orders-a");
  expect(await page.content()).not.toContain("staging");
  await holds(opened, "no token");
  await shoot(page, "token", false);
  await use("short");
  await untilText(page, /at least 16/);
  await use("x".repeat(40));
  await page.locator("main .said.bad:not(:empty)").waitFor();
});

test("a token that may read: shown, kept out of the address, and publishing is not offered", async () => {
  await use(service.tokens.reader);
  await page.getByRole("heading", { name: "Ring, epoch 1" }).waitFor();
  await untilText(page, /reader, read-only/, ".top");
  await untilText(page, /staging/, ".top .environment.amber");
  expect(await page.title()).toMatch(/^staging · Ring · 127\.0\.0\.1:\d+, table /);
  await shoot(page, "environment", false);
  expect(page.url()).not.toContain(service.tokens.reader);
  await page.reload();
  await page.getByRole("heading", { name: "Ring, epoch 1" }).waitFor();
  await planAWeight();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("a token of scope publish is needed").waitFor();
  expect(await dialog.getByRole("button", { name: /^Publish/ }).count()).toBe(0);
  // Not by going around the page, either.
  const status = await page.evaluate(async (token) => {
    const answer = await fetch("/v1/plan:publish", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Locus-Console": "1",
        Authorization: `Bearer ${token}`,
      },
      body: "{}",
    });
    return answer.status;
  }, service.tokens.reader);
  expect(status).toBe(403);
  await page.keyboard.press("Escape");
});

test("leases and members of the cluster", async () => {
  await show(page, "Leases and members");
  await untilText(page, /127\.0\.0\.1:\d+[\s\S]*leads/, "main");
  await untilText(page, /(held, \d+ min|released|over)/, "main");
  await holds(opened, "leases and members");
  await shoot(page, "cluster-light");
  await page.setViewportSize(phone);
  await holds(opened, "leases and members on a phone");
  await shoot(page, "cluster-phone");
  await page.setViewportSize({ width: 1360, height: 860 });
});

test("a token that may publish, entered from the plan: published after its diff is confirmed", async () => {
  await show(page, "Ring");
  await planAWeight();
  const dialog = page.getByRole("dialog", { name: "Plan a change" });
  await dialog.getByRole("button", { name: "Enter a token" }).click();
  await use(service.tokens.publisher);
  await untilText(page, /publisher, may publish/, ".top");
  await dialog.getByRole("button", { name: "Publish…" }).click();
  await untilText(page, /Publish epoch 2\?[\s\S]*orders-b\s*: weight 100 → 300/, "dialog");
  await dialog.getByRole("button", { name: "Publish epoch 2" }).click();
  await dialog.getByText("Published: epoch 2").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Ring, epoch 2" }).waitFor();
  const kept = await locus("table", "history", `file:${place}/table.json`, "--json");
  expect(JSON.parse(kept).tables).toHaveLength(2);
});

test("a plan from an older epoch is refused in words", async () => {
  await page.getByRole("button", { name: "Plan a change" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Weight of orders-a").fill("200");
  await dialog.getByRole("button", { name: "Plan", exact: true }).click();
  await dialog.getByRole("button", { name: "Publish…" }).click();
  await dialog.getByText("Publish epoch 3?").waitFor();
  // Somebody else publishes first.
  const table = JSON.parse(await locus("table", "get", `file:${place}/table.json`));
  table.epoch = 3;
  table.shards[0].labels = { tier: "hot" };
  const file = join(place, "third.json");
  await writeFile(file, JSON.stringify(table));
  await locus("table", "publish", "--quiet", `file:${place}/table.json`, file);
  await dialog.getByRole("button", { name: "Publish epoch 3" }).click();
  await dialog.getByRole("alert").getByText(/epoch/).first().waitFor();
  expect(await dialog.getByText("Published: epoch").count()).toBe(0);
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Ring, epoch 3" }).waitFor();
});

test("forgetting the token hides all again", async () => {
  await page.getByRole("button", { name: /may publish/ }).click();
  await page.getByRole("button", { name: "Forget the token" }).click();
  await page.getByRole("heading", { name: "A token is needed" }).waitFor();
  expect(await page.content()).not.toContain("orders-a");
});
