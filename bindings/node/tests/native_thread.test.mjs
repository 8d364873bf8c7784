// SPDX-License-Identifier: Apache-2.0
// The native code and threads: the event loop goes on, workers end at any moment, and so do
// processes.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";

import { LeasedSnowflake, OrderIdGenerator } from "locus-ids/native";

import { refusal } from "./golden.mjs";

const COMMAND = process.env.LOCUS_COMMAND;
const PATIENCE = { timeoutMs: 120_000 };
const folder = mkdtempSync(join(tmpdir(), "locus-node-"));
after(() => rmSync(folder, { recursive: true }));
let stores = 0;
const newStore = () => `sqlite:${join(folder, `store-${stores++}.db`)}`;

/** A store of worker IDs, of which only 7 is taken. */
function newLeases() {
  const store = newStore();
  execFileSync(COMMAND, ["store", "init", store]);
  execFileSync(COMMAND, ["lease", "create", store, "--first-ever"]);
  return store;
}
/** Takes worker ID 7, which an end that did not give it back would leave taken for 10 minutes. */
async function assertGivenBack(store) {
  const only7 = { firstWorker: 7, lastWorker: 7, patienceMs: 60_000 };
  const snowflake = await LeasedSnowflake.open(store, only7);
  await snowflake.close();
}

/** A server that takes connections and never answers. */
async function silentServer() {
  const sockets = new Set();
  const server = createServer((socket) => sockets.add(socket.on("error", () => {})));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { server, port: server.address().port, end };
}

const IMPORTS = `
  import { LeasedSnowflake, OrderIdGenerator, Sequence } from "locus-ids/native";
  const [store, leases, silent] = process.argv.slice(-3);
  const only7 = { firstWorker: 7, lastWorker: 7 };
  const openAll = async () => [
    await OrderIdGenerator.open(store, { create: true }),
    await Sequence.open(store, "invoices"),
    await LeasedSnowflake.open(leases, only7),
  ];
`;

/** Runs a program; its exit code and what it printed. It must not be killed by a signal. */
async function run(program, args, flags = [], environment = {}) {
  const child = spawn(
    process.execPath,
    [...flags, "--input-type=module", "-e", IMPORTS + program, "--", ...args],
    {
      cwd: new URL("..", import.meta.url),
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  const [code, signal] = await once(child, "close");
  assert.equal(signal, null, err);
  return { code, out, err };
}

test("the event loop goes on while a store does not answer", async () => {
  const { server, port, end } = await silentServer();
  try {
    const opened = OrderIdGenerator.open(`redis://127.0.0.1:${port}`);
    const refused = assert.rejects(opened, (error) => {
      assert.match(error.code, /^(UNAVAILABLE|DEADLINE_EXCEEDED)$/);
      assert.ok(error.message.includes(`${port}`), error.message);
      return true;
    });
    await once(server, "connection"); // this loop took it, while the call waits for an answer
    await refused;
  } finally {
    end();
  }
});

test("what nobody listens on is told at once, by each client library", async () => {
  for (const uri of [
    "mysql://u@127.0.0.1:1/orders",
    "redis://127.0.0.1:1",
    "etcd://u@127.0.0.1:1",
  ]) {
    const expected = refusal(/127\.0\.0\.1:1\b/, "UNAVAILABLE");
    await assert.rejects(OrderIdGenerator.open(uri, { password: "x" }), expected);
  }
  for (const uri of ["zookeeper://127.0.0.1:1", "locusd://127.0.0.1:1"]) {
    const code = /^(UNAVAILABLE|DEADLINE_EXCEEDED)$/;
    await assert.rejects(
      LeasedSnowflake.open(uri, { patienceMs: 1 }),
      (error) => code.test(error.code) || assert.fail(`${uri}: ${error.stack}`),
    );
  }
});

test("liblocus speaks TLS by its own OpenSSL, beside Node's", async () => {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = [
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost,IP:127.0.0.1",
  ];
  execFileSync(
    "openssl",
    [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-keyout", key, "-out", cert, "-days", "2", ...subject],
    ],
    { stdio: "ignore" },
  );
  const shards = [{ id: 1, name: "orders-a", endpoint: "mysql://127.0.0.1/orders" }];
  const table = JSON.stringify({ epoch: 7, shards, ranges: [{ last: 65535, shard: 1 }] });
  const tokens = new Set();
  const server = createTlsServer(
    { key: readFileSync(key), cert: readFileSync(cert) },
    (request, response) => {
      tokens.add(request.headers.authorization);
      response.setHeader("content-type", "application/json").end(table);
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const uri = `https://127.0.0.1:${server.address().port}/table.json`;
  // Node's OpenSSL before and after: neither may take what belongs to the other.
  const program = `
    import { createHash } from "node:crypto";
    import { readFileSync } from "node:fs";
    import { get } from "node:https";
    import { OrderId, Router } from "locus-ids/native";
    const ca = readFileSync(${JSON.stringify(cert)});
    const byNode = () => new Promise((resolve, reject) => {
      const options = { ca, agent: false, headers: { authorization: "Bearer node" } };
      get(store, options, (response) => resolve(response.resume().statusCode)).on("error", reject);
    });
    const before = [await byNode(), createHash("sha256").update("x").digest("hex")];
    const router = await Router.open(store, { password: "liblocus" });
    const after = [await byNode(), createHash("sha256").update("x").digest("hex")];
    const { name } = router.route(new OrderId(7, 1n));
    console.log(router.epoch, name, before.join() === after.join());`;
  try {
    const good = await run(program, [uri, "", ""], [], { SSL_CERT_FILE: cert });
    assert.equal(good.out, "7n orders-a true\n", good.err);
    assert.deepEqual([...tokens].sort(), ["Bearer liblocus", "Bearer node"]);
    const bad = await run(program, [uri, "", ""], [], { SSL_CERT_FILE: "/dev/null" });
    assert.match(bad.err, /LocusError: .*certificate/);
    assert.equal(bad.code, 1);
  } finally {
    server.closeAllConnections?.();
    server.close();
  }
});

test("a program ends cleanly with all open", async () => {
  const leases = newLeases();
  for (const [end, expected] of [
    ["", 0],
    ["process.exit(3);", 3],
    ["process.exitCode = 4;", 4],
    ['process.on("exit", () => { throw new Error("thrown at the exit"); });', 1],
    ['setImmediate(() => { throw new Error("thrown"); });', 1],
    ["opened[0].warm(); opened[1].next(); opened[2].next(); process.exit(5);", 5],
    ["for (const each of opened) each.close(); process.exit(6);", 6],
    ["void openAll(); process.exit(8);", 8],
  ]) {
    const program = `
      const opened = await openAll();
      await opened[0].next(5);
      await opened[1].next();
      await opened[2].next();
      ${end}`;
    const { code, err } = await run(program, [newStore(), leases, ""]);
    assert.equal(code, expected, `${end}: ${err}`);
    await assertGivenBack(leases);
  }
});

test("a program that ends while its store does not answer ends with the call", async () => {
  const { server, port, end } = await silentServer();
  try {
    const connected = once(server, "connection");
    const ended = run(
      "OrderIdGenerator.open(silent).catch(() => {}); setTimeout(() => process.exit(5), 100);",
      ["", "", `redis://127.0.0.1:${port}`],
    );
    await connected;
    assert.equal((await ended).code, 5);
  } finally {
    end();
  }
});

test("what is dropped is closed after a collection", async () => {
  const leases = newLeases();
  const program = `
    let dropped = await openAll();
    await dropped[2].next();
    dropped = undefined;
    const end = Date.now() + 120_000;
    for (;;) {
      gc();
      await new Promise((resolve) => setImmediate(resolve));
      try {
        const again = await LeasedSnowflake.open(leases, { ...only7, patienceMs: 200 });
        await again.close();
        break;
      } catch (error) {
        const later = /^(RESOURCE_EXHAUSTED|UNAVAILABLE|DEADLINE_EXCEEDED)$/.test(error.code);
        if (!later || Date.now() > end) throw error;
      }
    }
    console.log("given back");`;
  const { code, out, err } = await run(program, [newStore(), leases, ""], ["--expose-gc"]);
  assert.equal(out, "given back\n", err);
  assert.equal(code, 0, err);
});

test("workers make IDs beside each other, none twice", async () => {
  const store = newStore();
  await (await OrderIdGenerator.open(store, { create: true })).close();
  const file = new URL("./worker.mjs", import.meta.url);
  const made = [];
  const ends = [];
  for (let worker = 0; worker < 3; ++worker) {
    const thread = new Worker(file, { workerData: { store, task: "make" } });
    thread.on("message", (ids) => made.push(...ids));
    ends.push(once(thread, "exit"));
  }
  const generator = await OrderIdGenerator.open(store);
  for (let count = 0; count < 3000; ++count)
    made.push(`${await generator.next(count % 7, PATIENCE)}`);
  await generator.close();
  for (const end of ends) assert.deepEqual(await end, [0]);
  assert.equal(made.length, 12000);
  assert.equal(new Set(made).size, 12000);
});

test("a worker that ends or is terminated gives back what it has", async () => {
  const leases = newLeases();
  const store = newStore();
  const file = new URL("./worker.mjs", import.meta.url);
  for (const task of ["end", "exit", "throw", "idle", "busy", "spin"]) {
    const thread = new Worker(file, { workerData: { store, leases, task } });
    const errors = [];
    thread.on("error", (error) => errors.push(error.message));
    const opened = new Promise((resolve) => thread.once("message", resolve));
    const ended = new Promise((resolve) => thread.once("exit", resolve));
    assert.equal(await opened, "open");
    if (["idle", "busy", "spin"].includes(task)) await thread.terminate();
    const code = await ended;
    assert.deepEqual(
      [code, errors],
      { end: [0, []], exit: [9, []], throw: [1, ["thrown"]] }[task] ?? [1, []],
    );
    await assertGivenBack(leases);
  }
});

test("a worker terminated while its store does not answer ends with the call", async () => {
  const { server, port, end } = await silentServer();
  try {
    const file = new URL("./worker.mjs", import.meta.url);
    const connected = once(server, "connection");
    const thread = new Worker(file, {
      workerData: { store: `redis://127.0.0.1:${port}`, task: "wait" },
    });
    await connected;
    await thread.terminate();
  } finally {
    end();
  }
});
