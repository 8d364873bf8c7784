// SPDX-License-Identifier: Apache-2.0
// The page in Debian's Chromium, and what every view of it has to hold.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { shots } from "./locusd";
import { patience, until } from "./until";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

export function openBrowser(): Promise<Browser> {
  const executablePath = process.env.LOCUS_CHROMIUM ?? places.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error("there is no chromium: run scripts/setup all");
  // In a container, as root, Chromium's own sandbox cannot be had.
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"];
  return chromium.launch({ executablePath, args });
}

export const desk = { width: 1360, height: 860 };
export const phone = { width: 360, height: 740 };

// LOCUS_CONSOLE_DIST names a directory whose files take the place of those that locusd has built in,
// with its headers: so that a change of the page can be tried without building locusd.
async function replaceFiles(page: Page): Promise<void> {
  const folder = process.env.LOCUS_CONSOLE_DIST;
  if (folder === undefined) return;
  await page.route(/\/(console\.(js|css)|index\.html)?$/, async (route) => {
    const name = new URL(route.request().url()).pathname.slice(1) || "index.html";
    const response = await route.fetch();
    await route.fulfill({ response, body: readFileSync(join(folder, name)) });
  });
}

export interface Opened {
  page: Page;
  // What the browser complained of, but for answers that are refusals on purpose.
  complaints: string[];
}

export async function openPage(
  browser: Browser,
  url: string,
  look: { viewport?: typeof desk; colorScheme?: "light" | "dark"; calm?: boolean } = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: look.viewport ?? desk,
    colorScheme: look.colorScheme ?? "light",
    reducedMotion: look.calm ? "reduce" : "no-preference",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const refusal = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !refusal) complaints.push(message.text());
  });
  page.on("request", (request) => {
    const { origin } = new URL(url);
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) {
      complaints.push(`asks elsewhere: ${request.url()}`);
    }
  });
  await page.addInitScript(() => {
    const violations: string[] = [];
    Object.assign(globalThis, { violations });
    document.addEventListener("securitypolicyviolation", (event) =>
      violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}`),
    );
  });
  await replaceFiles(page);
  await page.goto(url);
  return { page, complaints };
}

export async function show(page: Page, title: string): Promise<void> {
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: title }).click();
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
}

// biome-ignore lint/performance/useDomNodeTextContent: what can be seen counts
export const text = (page: Page, selector = "body") => page.locator(selector).innerText();

export async function untilText(page: Page, pattern: RegExp, selector = "body"): Promise<string> {
  return until(`${pattern} in ${selector}`, async () => {
    const said = (await text(page, selector)).replaceAll(/[\u202f\u00a0]/g, " ");
    if (!pattern.test(said)) throw new Error(said.slice(0, 2000));
    return said;
  });
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  "utf8",
);

// No serious or critical finding of axe, no violation of the policy, no complaint of the browser, and
// nothing wider than the window.
export async function holds({ page, complaints }: Opened, what: string): Promise<void> {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () => {
    const run = (globalThis as unknown as { axe: typeof axe }).axe.run;
    return (await run(document, { resultTypes: ["violations"] })).violations;
  });
  const grave = found
    .filter((each) => each.impact === "serious" || each.impact === "critical")
    .map(
      (each) =>
        `${each.id}: ${each.nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`,
    );
  expect(grave, `${what}: axe`).toEqual([]);
  const seen = await page.evaluate(() => ({
    violations: (globalThis as unknown as { violations: string[] }).violations,
    wide: document.documentElement.scrollWidth - innerWidth,
  }));
  expect(seen.violations, `${what}: policy`).toEqual([]);
  expect(seen.wide, `${what}: wider than the window`).toBeLessThanOrEqual(0);
  expect(complaints, `${what}: the browser complains`).toEqual([]);
}

// What goes on beyond an edge is seen to: it fades there, and is whole again where it ends.
export async function fadesWhereItGoesOn(page: Page): Promise<number> {
  await page.locator("main details").evaluateAll((all) => {
    for (const each of all) (each as HTMLDetailsElement).open = true;
  });
  const wide = page.locator("main section.scroll");
  const mask = (index: number) =>
    wide.nth(index).evaluate((element) => getComputedStyle(element).maskImage);
  let found = 0;
  for (let index = 0; index < (await wide.count()); ++index) {
    const goesOn = await wide
      .nth(index)
      .evaluate((element) => element.scrollWidth > element.clientWidth + 1);
    const ends = /rgba\(0, 0, 0, 0\)\)$/;
    const begins = /^linear-gradient\(to right, rgba\(0, 0, 0, 0\)/;
    if (!goesOn) {
      await until("no fade", async () => (await mask(index)) === "none");
      continue;
    }
    ++found;
    await until("a fade at the right", async () => ends.test(await mask(index)));
    expect(await mask(index)).not.toMatch(begins);
    await wide.nth(index).evaluate((element) => element.scrollTo(element.scrollWidth, 0));
    await until("a fade at the left only", async () => {
      const now = await mask(index);
      return begins.test(now) && !ends.test(now);
    });
    await wide.nth(index).evaluate((element) => element.scrollTo(0, 0));
  }
  return found;
}

export async function shoot(page: Page, name: string, fullPage = true): Promise<void> {
  await page.screenshot({ path: join(shots(), `${name}.png`), fullPage });
}
