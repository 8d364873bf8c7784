// SPDX-License-Identifier: Apache-2.0
// The pure package needs nothing of Node's: it runs in a browser as it is.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as node from "locus-ids";
import * as pure from "locus-ids/pure";

const ENTRY = new URL("../dist/index.js", import.meta.url);
const IMPORTS =
  /^(?:import|export)\b[^"']*?\bfrom\s+["']([^"']+)["'];?$|^import\s+["']([^"']+)["'];?$/gm;

/** The sources of the modules that the entry reaches, by their addresses. */
function reached(url, found = new Map()) {
  if (found.has(url.href)) return found;
  const source = readFileSync(url, "utf8");
  const targets = [...source.matchAll(IMPORTS)].map((match) => match[1] ?? match[2]);
  found.set(url.href, source);
  for (const target of targets) {
    assert.match(target, /^\.\/[a-z_]+\.js$/, `${url.pathname} imports ${target}`);
    reached(new URL(target, url), found);
  }
  return found;
}

test("the entry for browsers reaches relative modules only", () => {
  const modules = reached(ENTRY);
  assert.ok(modules.size > 10, `${modules.size}`);
  for (const [name, source] of modules) {
    const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    assert.doesNotMatch(code, /\b(?:process|Buffer|require|__dirname|setImmediate)\b|node:/, name);
    assert.doesNotMatch(code, /\beval\(|new Function/, name); // a strict CSP refuses these
  }
});

test("Node has all of the pure package, as the same things", () => {
  for (const [name, value] of Object.entries(pure)) assert.equal(node[name], value, name);
  const more = Object.keys(node).filter((name) => !(name in pure));
  assert.deepEqual(more.sort(), ["OrderNoCodec", "loadKeyRing", "loadRoutingTable"]);
});

const DOCUMENT = JSON.stringify({
  epoch: 1,
  shards: [{ id: 1, name: "örders", endpoint: "h1" }],
  ranges: [{ last: 65535, shard: 1 }],
});
const KEYS = "locus-key-ring 1\nactive 1\n1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";

/** What a page does; it tells the server what it saw. */
const PAGE = `<!doctype html><script type="module">
  const tell = (seen) => fetch("/seen", { method: "POST", body: JSON.stringify(seen) });
  try {
    const locus = await import("/index.js");
    const { AsyncOrderNoCodec, KeyRing, OrderId, OrderNo, Router, RoutingTable } = locus;
    const router = new Router(new RoutingTable(${JSON.stringify(DOCUMENT)}));
    const codec = new AsyncOrderNoCodec(KeyRing.parse(${JSON.stringify(KEYS)}));
    const number = OrderNo.parse("2G02812R8Z8PM04ZF8ZPH5M66Z");
    let refused;
    try { OrderId.parse("x"); } catch (error) { refused = error.code; }
    await tell([
      typeof process, locus.geneOf(17850), locus.geneOf("é"), router.route(new OrderId(7, 1n)).name,
      await codec.decode(number), await codec.encode(await codec.decode(number)), refused,
      locus.inspect("5764748260646046997", undefined, router),
    ]);
  } catch (error) {
    await tell(String(error));
  }
</script>`;

test("a page in Chromium reads all without a bundler", { timeout: 120_000 }, async () => {
  let tell;
  const seen = new Promise((resolve) => (tell = resolve));
  const server = createServer(async (request, response) => {
    if (request.url === "/seen") {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      tell(JSON.parse(body));
      return response.end();
    }
    if (request.url === "/")
      return response.setHeader("content-type", "text/html; charset=utf-8").end(PAGE);
    if (!/^\/[a-z_]+\.js$/.test(request.url)) return response.writeHead(404).end();
    return response
      .setHeader("content-type", "text/javascript")
      .end(readFileSync(new URL(`.${request.url}`, ENTRY)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const profile = mkdtempSync(join(tmpdir(), "locus-node-"));
  const options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const browser = spawn(
    process.env.CHROMIUM ?? "chromium",
    [
      ...options,
      `--user-data-dir=${profile}`,
      "--remote-debugging-port=0",
      `http://127.0.0.1:${server.address().port}/`,
    ],
    { stdio: "ignore", detached: true },
  );
  const ended = once(browser, "close"); // rejected where there is no browser
  try {
    const answer = await Promise.race([
      seen,
      ended.then(([code]) => `the browser ended with ${code}`),
    ]);
    assert.deepEqual(answer, [
      ...["undefined", 15903, node.geneOf("é"), "örders"],
      ...["5764748260646046997", "2G02812R8Z8PM04ZF8ZPH5M66Z", "INVALID_ARGUMENT"],
      node.inspect(
        "5764748260646046997",
        undefined,
        new node.Router(new node.RoutingTable(DOCUMENT)),
      ),
    ]);
  } finally {
    if (browser.pid !== undefined && browser.exitCode === null)
      process.kill(-browser.pid, "SIGKILL");
    await ended.catch(() => {});
    server.closeAllConnections?.();
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  }
});
