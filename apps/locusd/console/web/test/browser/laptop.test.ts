// SPDX-License-Identifier: Apache-2.0
// The page on a locusd in laptop mode: a real table, real IDs, a plan that is published.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Locusd,
  locus,
  newDirectory,
  output,
  post,
  removeDirectory,
  startLaptop,
} from "./locusd";
import {
  desk,
  fadesWhereItGoesOn,
  holds,
  type Opened,
  openBrowser,
  openPage,
  phone,
  shoot,
  show,
  text,
  untilText,
} from "./page";
import { until } from "./until";

// What a page must not take for markup.
const hostile = "<u>orders-c</u><script>alert(1)</script>";
const views = [
  "Ring",
  "Moves",
  "Table history",
  "Leases and members",
  "Sequences",
  "Figures",
  "Inspect",
];

let browser: Browser;
let data: string;
let locusd: Locusd;
let opened: Opened;
let page: Page;
let orders: { order_id: string; order_no: string; shard: string }[];

async function orderIds(buyers: number[]): Promise<typeof orders> {
  const body = { buyers: buyers.map(String) };
  return (await post<{ orders: typeof orders }>(`${locusd.url}/v1/orders/ids`, body)).orders;
}

beforeAll(async () => {
  data = await newDirectory();
  const place = `file:${join(data, "table.json")}`;
  const shards = [
    "orders-a=mysql://db1/orders",
    "orders-b=mysql://db2/orders",
    `${hostile}=mysql://db3/orders`,
  ];
  const table = await locus("table", "new", ...shards.flatMap((shard) => ["--shard", shard]));
  const file = join(data, "first.json");
  await writeFile(file, table);
  await locus("table", "publish", "--quiet", place, file);
  [browser, locusd] = await Promise.all([openBrowser(), startLaptop(data)]);
  orders = await orderIds(Array.from({ length: 200 }, (_, index) => index));
  opened = await openPage(browser, `${locusd.url}/`);
  page = opened.page;
});

afterAll(async () => {
  await browser?.close();
  await locusd?.stop();
  if (data !== undefined) await removeDirectory(data);
});

const slider = () => page.getByRole("slider", { name: "Vnode" });
const vnode = async () => Number(await slider().getAttribute("aria-valuenow"));
const geneOf = (id: string) => Number((BigInt(id) >> 47n) & 0xffffn);

test("the ring: real shards with their names as text, and the same as a table", async () => {
  await page.getByRole("heading", { name: "Ring, epoch 1" }).waitFor();
  await page.getByText(hostile).first().waitFor();
  expect(await page.locator("u, main script").count()).toBe(0);
  await page.getByText("The ring as a table").click();
  const rows = page.getByRole("region", { name: "Ranges of vnodes" }).getByRole("row");
  expect(await rows.count()).toBe(4);
  await untilText(page, /live/, ".top");
});

test("a vnode's owner: by pointer, by keyboard, by a buyer and by an order ID", async () => {
  const box = await page.locator("svg.ring").boundingBox();
  if (box === null) throw new Error("the ring is not drawn");
  // A little below three o'clock, in the band of owners.
  await page.mouse.move(box.x + box.width * 0.84, box.y + box.height * 0.51);
  await untilText(page, /vnode\s+16 [3-9]\d\d/, ".facts");
  await page.mouse.move(0, 0);

  for (
    let tabs = 0;
    tabs < 40 && (await page.locator(":focus[role=slider]").count()) === 0;
    ++tabs
  ) {
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("ArrowRight");
  expect(await vnode()).toBe(1);
  await page.keyboard.press("Shift+ArrowRight");
  expect(await vnode()).toBe(65);
  await page.keyboard.press("PageUp");
  expect(await vnode()).toBeGreaterThan(20_000);
  await page.keyboard.press("End");
  expect(await vnode()).toBe(65535);
  expect(await slider().getAttribute("aria-valuetext")).toContain(hostile);

  const order = orders[77];
  if (order === undefined) throw new Error("no orders");
  await page.getByLabel("Find by").selectOption("buyer");
  await page.getByLabel("Buyer key").fill("77");
  await page.getByRole("button", { name: "Show" }).click();
  await until("the buyer's vnode", async () => (await vnode()) === geneOf(order.order_id));
  await untilText(
    page,
    new RegExp(`owner\\s+\\d\\s+${order.shard.replaceAll(/[()<>/]/g, ".")}`),
    ".facts",
  );
  await page.getByLabel("Find by").selectOption("id");
  await page.getByLabel("Number or order_no").fill(orders[3]?.order_no ?? "");
  await page.keyboard.press("Enter");
  await until(
    "the order's vnode",
    async () => (await vnode()) === geneOf(orders[3]?.order_id ?? "0"),
  );
  await page.getByLabel("Number or order_no").fill("no such thing");
  await page.keyboard.press("Enter");
  await untilText(page, /no such thing/, "#find-said");
});

test("live: what the service gives out appears without loading again", async () => {
  await show(page, "Figures");
  const given = async () => {
    const said = await untilText(page, /order IDs\s+[\d ]+/, "main");
    return Number((/order IDs\s+([\d ]+)/.exec(said)?.[1] ?? "").replaceAll(" ", ""));
  };
  await until("the orders' count", async () => (await given()) >= 200);
  const before = await given();
  await orderIds(Array.from({ length: 500 }, (_, index) => index));
  await until("the next orders", async () => (await given()) >= before + 500);
  await show(page, "Ring");
  await untilText(page, /\d+\.\d %, [\d.]+(\/s| k\/s)/, "main");
});

test("inspect: an order ID and its order_no, as the service gave them out", async () => {
  await show(page, "Inspect");
  const order = orders[5];
  if (order === undefined) throw new Error("no orders");
  for (const value of [order.order_id, order.order_no]) {
    await page.getByLabel("Value").fill(value);
    await page.keyboard.press("Enter");
    const said = await untilText(page, new RegExp(order.order_id), "main");
    expect(said).toContain(order.shard);
  }
  await page.getByLabel("Value").fill("0".repeat(40));
  await page.keyboard.press("Enter");
  await page.locator("main .note.bad").waitFor();
});

test("the plan dialog by keyboard: focus goes in, Escape brings it back", async () => {
  await show(page, "Ring");
  const button = page.getByRole("button", { name: "Plan a change" });
  await button.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Plan a change" });
  await dialog.waitFor();
  for (let tabs = 0; tabs < 16; ++tabs) {
    await page.keyboard.press("Tab");
    // The browser's own buttons may come between; nothing of the page behind may.
    expect(await page.locator("main :focus, nav :focus").count()).toBe(0);
  }
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
});

test("a plan: as a picture before anything is published, then published with its diff", async () => {
  await page.getByRole("button", { name: "Plan a change" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Plan", exact: true }).click();
  await dialog.getByText("Nothing is to change yet").waitFor();
  await dialog.getByRole("button", { name: "Add a shard" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("orders-d");
  await dialog.getByLabel("Endpoint").fill("mysql://db4/orders");
  await dialog.getByLabel("Weight of orders-a").fill("200");
  await shoot(page, "plan-form", false);
  await dialog.getByRole("button", { name: "Plan", exact: true }).click();
  const picture = dialog.locator("img.plan-picture");
  await until("the picture", () =>
    picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth > 0),
  );
  await dialog.getByText("Epoch 2:").waitFor();
  await holds(opened, "the plan");
  await shoot(page, "plan", false);
  // Nothing is published yet.
  const kept = await locus("table", "history", `file:${data}/table.json`, "--json");
  expect(JSON.parse(kept).tables).toHaveLength(1);
  await dialog.getByRole("button", { name: "Publish…" }).click();
  await dialog.getByText("Publish epoch 2?").waitFor();
  await dialog.getByText("orders-d").first().waitFor();
  await holds(opened, "the question");
  await shoot(page, "publish", false);
  await dialog.getByLabel("Reason").fill("ticket 4711");
  await dialog.getByRole("button", { name: "Publish epoch 2" }).click();
  await dialog.getByText("Published: epoch 2").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Ring, epoch 2" }).waitFor();
  await page.getByText("orders-d").first().waitFor();
});

test("history: the epoch that was published, and what it changed", async () => {
  await show(page, "Table history");
  const said = await untilText(
    page,
    /Epoch 1 → 2[\s\S]*orders-d[\s\S]*weight 200|weight 100 → 200/,
    "main",
  );
  expect(said).toContain("mysql://db4/orders");
  await untilText(page, /console\s+ticket 4711/, "main");
  const printed = await locus("table", "diff", `file:${data}/table.json`, "1", "2");
  await page.locator(".diff summary").click();
  expect((await text(page, ".diff pre")).trim()).toBe(printed.trim());
});

test("moves: those of the table, with the way to see more", async () => {
  await show(page, "Moves");
  await page.getByRole("heading", { name: "In the routing table" }).waitFor();
  await untilText(page, /orders-d[\s\S]*0\.00 %/, "main");
});

for (const [name, look] of Object.entries({
  light: { viewport: desk, colorScheme: "light" as const },
  "phone-dark": { viewport: phone, colorScheme: "dark" as const, calm: true },
})) {
  test(`every view holds: ${name}`, async () => {
    const mine = await openPage(browser, locusd.url, look);
    await mine.page.getByRole("heading", { name: "Ring, epoch 2" }).waitFor();
    let wide = 0;
    for (const view of views) {
      await show(mine.page, view);
      await mine.page.locator("main .card").first().waitFor();
      await mine.page.locator(".waiting").waitFor({ state: "detached" });
      await holds(mine, `${view}, ${name}`);
      wide += await fadesWhereItGoesOn(mine.page);
      await shoot(mine.page, `${view.toLowerCase().replaceAll(" ", "-")}-${name}`);
    }
    if (look.viewport === phone) expect(wide).toBeGreaterThan(0);
    await mine.page.context().close();
  });
}

test("dark on a desk, light on a phone: for the eye", async () => {
  const night = await openPage(browser, locusd.url, { colorScheme: "dark" });
  await night.page.getByRole("heading", { name: "Ring, epoch 2" }).waitFor();
  await shoot(night.page, "ring-dark");
  await night.page.context().close();
  const small = await openPage(browser, locusd.url, { viewport: phone });
  await small.page.getByRole("heading", { name: "Ring, epoch 2" }).waitFor();
  await shoot(small.page, "ring-phone");
  await small.page.context().close();
});

test("the service goes away: said on top with the age, and mended by itself when it is back", async () => {
  const port = Number(new URL(locusd.url).port);
  await locusd.stop();
  await untilText(
    page,
    /No live updates: [\s\S]* old\. It is (tried again in|being tried)/,
    ".troubles",
  );
  await untilText(page, /What to do: docs\/use\/http\.md/, ".troubles");
  await holds(opened, "away");
  await shoot(page, "away", false);
  locusd = await startLaptop(data, port);
  await page.locator(".troubles").waitFor({ state: "detached" });
  await untilText(page, /live/, ".top");
  expect(await text(page, "p.visually-hidden[role=status]")).toContain("well again");
});

test("without a table: what to do is said", async () => {
  const bare = await newDirectory();
  const other = await startLaptop(bare);
  const empty = await openPage(browser, other.url);
  await untilText(empty.page, /locus table new/, "main");
  await holds(empty, "without a table");
  await shoot(empty.page, "empty", false);
  await empty.page.context().close();
  await other.stop();
  await removeDirectory(bare);
});

test("the command still reads what the page published", async () => {
  const table = JSON.parse(await output("cat", [join(data, "table.json")]));
  expect(table.epoch).toBe(2);
  expect(table.shards.map((shard: { name: string }) => shard.name)).toContain(hostile);
});
