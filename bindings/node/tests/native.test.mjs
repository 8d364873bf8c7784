// SPDX-License-Identifier: Apache-2.0
// The native code, on stores in files. LOCUS_COMMAND names the command `locus`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import * as pure from "locus-ids";
import {
  LeasedSnowflake,
  LocusError,
  Numbers,
  OrderId,
  OrderIdGenerator,
  OrderNo,
  OrderNoCodec,
  Router,
  Sequence,
  geneOf,
  libraryVersion,
  uuidV7,
} from "locus-ids/native";

import { Draw, seedOf } from "./draw.mjs";
import { refusal } from "./golden.mjs";
import { jsonOf, orderIdNearAnEdge, validTable } from "./random_table.mjs";

const SEED = seedOf("native");
const PATIENCE = { timeoutMs: 120_000 };
const folder = mkdtempSync(join(tmpdir(), "locus-node-"));
after(() => rmSync(folder, { recursive: true }));

/** A store of its own for each test. */
let stores = 0;
const newStore = () => `sqlite:${join(folder, `store-${stores++}.db`)}`;
const open = (store, options) => OrderIdGenerator.open(store, { create: true, ...options });

test("the library says its version, and makes UUIDs", () => {
  assert.match(libraryVersion(), /^\d+\.\d+\.\d+$/);
  const made = new Set(Array.from({ length: 1000 }, uuidV7));
  assert.equal(made.size, 1000);
  for (const uuid of made) {
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

test("genes are those of the pure package", () => {
  const draw = new Draw(`${SEED} genes`);
  for (let count = 0; count < 10000; ++count) {
    const bytes = draw.bytes(draw.below(101));
    const number = draw.anyBits(64);
    const text = bytes.toString("latin1");
    for (const key of [bytes, number, text, Number(number >> 11n)])
      assert.equal(geneOf(key), pure.geneOf(key));
  }
  for (const key of [
    0n,
    -1n,
    -(2n ** 63n),
    "",
    "\0",
    "a\0b",
    "é",
    "\u{1F600}",
    new Uint8Array(0),
  ]) {
    assert.equal(geneOf(key), pure.geneOf(key));
  }
  for (const key of [2n ** 64n, 0.5, 2 ** 60, "\ud800"])
    assert.throws(() => geneOf(key), refusal(/buyer key/));
  for (const key of [true, null, undefined, {}, []]) assert.throws(() => geneOf(key), TypeError);
});

test("generators never make an ID twice", async () => {
  const store = newStore();
  const made = new Set();
  for (let life = 0; life < 3; ++life) {
    const generator = await open(store);
    await generator.warm(PATIENCE);
    const buyers = Array.from({ length: 1000 }, (_, place) => place % 10);
    const ids = await generator.nextBatch(buyers, PATIENCE);
    assert.equal(ids.length, 1000);
    for (const [place, id] of ids.entries()) assert.equal(id.gene, geneOf(buyers[place]));
    ids.push(
      ...(await Promise.all(buyers.map((buyer) => generator.next(`buyer ${buyer}`, PATIENCE)))),
    );
    const second = await open(store); // beside it
    ids.push(...(await Promise.all(buyers.map((buyer) => second.next(buyer, PATIENCE)))));
    for (const id of ids) {
      assert.ok(id instanceof OrderId && id instanceof pure.OrderId);
      assert.deepEqual(OrderId.parse(`${id}`), id);
      made.add(`${id}`);
    }
    await Promise.all([generator.close(), second.close()]);
  }
  assert.equal(made.size, 9000);
});

test("IDs are taken from memory at once, or not at all", async () => {
  const generator = await open(newStore());
  let id = generator.tryNext(5n);
  for (const deadline = Date.now() + 120_000; id === undefined; id = generator.tryNext(5n)) {
    assert.ok(Date.now() < deadline);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const next = generator.tryNext(5n);
  assert.equal(next.gene, geneOf(5n));
  assert.equal(OrderId.compare(id, next), -1);
  assert.deepEqual(await generator.nextBatch([]), []);
  await generator.close();
});

test("numbers are written by their type", async () => {
  const store = newStore();
  const create = (name, ...options) =>
    execFileSync(process.env.LOCUS_COMMAND, [
      ...["seq", "type", "create", name, "--store", store],
      ...options,
    ]);
  create("invoices", "--pattern", "{shop:2}-{town:A-Z;1}{seq:4}", "--step", "5");
  create("daily", "--period", "day", "--pattern", "{date:yyyyMMdd}{seq:4}");
  const numbers = await Numbers.open(store, "invoices");
  assert.equal(await numbers.next({ shop: 7, town: "H" }, PATIENCE), "07-H0005");
  assert.equal(await numbers.next({ town: "H", shop: 8n }, PATIENCE), "08-H0010");
  const block = await numbers.nextBlock(3, PATIENCE);
  assert.deepEqual([block.first, block.step, block.group], [15n, 5n, ""]);
  assert.ok(1 <= block.count && block.count <= 3);
  await assert.rejects(numbers.next({ shop: 7 }), refusal(/town/, "INVALID_ARGUMENT"));
  await assert.rejects(numbers.next({ shop: 7, town: "H\0" }), refusal(/NUL/, "INVALID_ARGUMENT"));
  for (const wrong of [1.5, null, true, {}]) {
    await assert.rejects(numbers.next({ shop: wrong, town: "H" }), TypeError);
  }
  await assert.rejects(numbers.next(null), TypeError);
  await numbers.close();
  const north = await Numbers.open(store, "invoices", { key: "north" });
  assert.equal(await north.next({ shop: 1, town: "H" }, PATIENCE), "01-H0005");
  await north.close();
  const daily = await Numbers.open(store, "daily");
  assert.match((await daily.nextBlock(1, PATIENCE)).group, /^[0-9]{8}$/);
  let number = daily.tryNext();
  for (const deadline = Date.now() + 120_000; number === undefined; number = daily.tryNext()) {
    assert.ok(Date.now() < deadline);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.match(number, /^[0-9]{12}$/);
  await daily.close();
  await assert.rejects(Numbers.open(store, "nobody"), refusal(/nobody/, "NOT_FOUND"));
  await assert.rejects(Numbers.open(store, "daily", { step: 2 }), TypeError);
});

test("sequences continue their counter, up to its end", async () => {
  const store = newStore();
  await (await open(store)).close();
  const options = { increment: 10, maxValue: 1000n, keyPrefix: "shop-" };
  let last = 0n;
  for (let life = 0; life < 2; ++life) {
    const sequence = await Sequence.open(store, "invoices", options);
    for (let count = 0; count < 20; ++count) {
      const number = await sequence.next(PATIENCE);
      assert.equal(number, last + 10n);
      last = number;
    }
    const block = await sequence.nextBlock(10, PATIENCE);
    assert.equal(block.first, last + 10n);
    assert.equal(block.increment, 10n);
    assert.ok(1 <= block.count && block.count <= 10);
    last += 10n * BigInt(block.count);
    await sequence.close(); // gives the rest back
  }
  const sequence = await Sequence.open(store, "invoices", options);
  const numbers = [];
  await assert.rejects(
    async () => {
      for (;;) numbers.push(await sequence.next(PATIENCE));
    },
    refusal(/./, "OUT_OF_RANGE"),
  );
  assert.equal(numbers.at(-1), 1000n);
  await assert.rejects(sequence.nextBlock(0), refusal(/^count 0 is not in /));
  await sequence.close();
});

test("Snowflakes lease their worker ID and give it back", async () => {
  const store = newStore();
  await assert.rejects(LeasedSnowflake.open(store), refusal(/store-\d+\.db/, "NOT_FOUND"));
  execFileSync(process.env.LOCUS_COMMAND, ["store", "init", store]);
  execFileSync(process.env.LOCUS_COMMAND, ["lease", "create", store, "--first-ever"]);
  const only7 = { firstWorker: 7, lastWorker: 7 };
  let last = 0n;
  for (let life = 0; life < 3; ++life) {
    const snowflake = await LeasedSnowflake.open(store, only7);
    assert.equal(snowflake.worker, 7);
    const ids = await snowflake.nextBatch(10000);
    ids.push(...(await Promise.all(Array.from({ length: 10000 }, () => snowflake.next()))));
    ids.push(await snowflake.next());
    for (const id of ids) {
      assert.ok(id > last, `${id} after ${last}`);
      last = id;
    }
    await assert.rejects(
      LeasedSnowflake.open(store, { ...only7, patienceMs: 1 }),
      refusal(/./, "RESOURCE_EXHAUSTED"),
    );
    for (const count of [0, 65537, 1.5])
      await assert.rejects(snowflake.nextBatch(count), refusal(/^count /));
    const late = Array.from({ length: 3 }, () => snowflake.next());
    const settled = Promise.allSettled(late);
    await snowflake.close();
    for (const { status, value, reason } of await settled) {
      assert.ok(status === "fulfilled" ? value > last : reason.code === "FAILED_PRECONDITION");
    }
  }
});

test("order_nos are those of the pure package", async () => {
  const draw = new Draw(`${SEED} order_nos`);
  const path = join(folder, "keys");
  writeFileSync(path, `locus-key-ring 1\nactive 5\n5 ${draw.bytes(32).toString("base64")}\n`, {
    mode: 0o600,
  });
  const codec = await OrderNoCodec.open(path, { space: "refunds" });
  const twin = new pure.OrderNoCodec(pure.loadKeyRing(path), "refunds");
  const ids = Array.from({ length: 10000 }, () => new OrderId(draw.below(65536), draw.anyBits(56)));
  for (const [place, number] of codec.encodeBatch(ids).entries()) {
    assert.ok(number.equals(twin.encode(ids[place])));
    assert.ok(codec.decode(number).equals(ids[place]));
  }
  assert.ok(codec.encode(ids[0]).equals(twin.encode(ids[0])));
  assert.deepEqual(codec.encodeBatch([]), []);
  const number = new OrderNo(codec.encode(ids[0]).value ^ 1n);
  assert.throws(() => codec.decode(number), refusal(`${number} is not an order_no of this space`));
  for (const wrong of [5n, "5", null, number]) assert.throws(() => codec.encode(wrong), TypeError);
  assert.throws(() => codec.decode(ids[0]), TypeError);
  await codec.close();
  chmodSync(path, 0o644);
  await assert.rejects(
    OrderNoCodec.open(path),
    refusal(/has permissions 644; /, "FAILED_PRECONDITION"),
  );
});

test("routes are those of the pure package and follow the table", async () => {
  const draw = new Draw(`${SEED} tables`);
  const path = join(folder, "table.json");
  const publish = (text) => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const shown = (routes) => routes.map((each) => [each.shard.id, each.firstCohort, each.endCohort]);
  let router;
  let tableId;
  for (let epoch = 1n; epoch <= 20n; ++epoch) {
    const document = { ...validTable(draw), epoch };
    tableId ??= document.table_id ?? "0123456789abcdef";
    document.table_id = tableId;
    publish(jsonOf(document));
    router ??= await Router.open(`file:${path}`, { lastGoodFile: join(folder, "last-good") });
    try {
      await router.refresh(epoch, PATIENCE);
    } catch (error) {
      error.message += ` (epoch ${epoch}, router at ${router.epoch})`;
      throw error;
    }
    assert.equal(router.epoch, epoch);
    const twin = new pure.Router(new pure.RoutingTable(jsonOf(document)));
    for (let order = 0; order < 500; ++order) {
      const orderId = orderIdNearAnEdge(draw, document);
      const { id, name, endpoint } = twin.route(orderId);
      assert.deepEqual(router.route(orderId), { id, name, endpoint });
      assert.deepEqual(
        shown(router.routesOfGene(orderId.gene)),
        shown(twin.routesOfGene(orderId.gene)),
      );
      assert.deepEqual(shown(router.routesOf(order)), shown(twin.routesOf(order)));
    }
    const number = new OrderNo((7n << 111n) | (2n << 107n));
    assert.deepEqual(router.routesOfOrderNo(number), router.routesOfGene(7));
  }
  await assert.rejects(router.refresh(21n, { timeoutMs: 0 }), refusal(/./, "DEADLINE_EXCEEDED"));
  await assert.rejects(router.refresh(21), TypeError);
  assert.throws(() => router.routesOfGene(65536), refusal("gene 65536 is not in 0..65535"));
  assert.throws(() => router.route("5"), TypeError);
  await router.close();
  await assert.rejects(
    Router.open(`file:${path}.none`, { openTimeoutMs: 1 }),
    refusal(/none/, "NOT_FOUND"),
  );
});

test("what is closed refuses, and closing waits for calls under way", async () => {
  const store = newStore();
  const generator = await open(store);
  const under = Array.from({ length: 8 }, (_, buyer) => generator.next(buyer, PATIENCE));
  const settled = Promise.allSettled(under);
  assert.equal(generator.close(), generator.close());
  const closed = refusal("the generator is closed", "FAILED_PRECONDITION");
  assert.throws(() => generator.tryNext(5), closed);
  for (const call of [
    () => generator.next(5),
    () => generator.nextBatch([5]),
    () => generator.warm(),
  ]) {
    await assert.rejects(call, closed);
  }
  await generator.close();
  for (const { status, reason } of await settled) {
    assert.ok(status === "fulfilled" || reason.code === "FAILED_PRECONDITION", `${reason}`);
  }
  const sequence = await Sequence.open(store, "k");
  await sequence.close();
  await assert.rejects(sequence.next(), refusal("the sequence is closed", "FAILED_PRECONDITION"));
  const snowflakeError = refusal(/sqlite|space/, "NOT_FOUND");
  await assert.rejects(LeasedSnowflake.open(store), snowflakeError);
});

test("wrong arguments are refused before anything is done", async () => {
  await assert.rejects(OrderIdGenerator.open(5), TypeError);
  await assert.rejects(OrderIdGenerator.open("sqlite:x", { spaces: "x" }), {
    name: "TypeError",
    message: 'there is no option "spaces"; there are space, password, create, wide, horizonMs',
  });
  await assert.rejects(OrderIdGenerator.open("sqlite:x", null), TypeError);
  await assert.rejects(OrderIdGenerator.open("sqlite:x", { create: 1 }), TypeError);
  await assert.rejects(
    OrderIdGenerator.open("sqlite:x", { horizonMs: -1 }),
    refusal(/^horizonMs -1 /),
  );
  await assert.rejects(
    OrderIdGenerator.open("sqlite:x", { password: "hidden\0" }),
    refusal("password contains a NUL"),
  );
  await assert.rejects(OrderIdGenerator.open("pigeon:x"), refusal(/pigeon/));
  await assert.rejects(open(newStore(), { space: "Bad Space" }), refusal(/Bad Space/));
  await assert.rejects(Sequence.open("sqlite:x", ""), LocusError);
  await assert.rejects(Sequence.open("sqlite:x", "k", { increment: 0 }), refusal(/^increment 0 /));
  await assert.rejects(Sequence.open("sqlite:x", "k", { maxValue: 0.5 }), TypeError);
  const none = LeasedSnowflake.open("sqlite:x", { lastWorker: 0 });
  await assert.rejects(none, refusal(/^lastWorker 0/));
  const generator = await open(newStore());
  for (const call of [
    () => generator.next(null),
    () => generator.next(5, { timeout: 5 }),
    () => generator.nextBatch(5),
    () => generator.nextBatch([5, null]),
  ]) {
    await assert.rejects(call, TypeError);
  }
  await assert.rejects(generator.next(5, { timeoutMs: 2 ** 32 }), refusal(/^timeoutMs /));
  await generator.close();
});
