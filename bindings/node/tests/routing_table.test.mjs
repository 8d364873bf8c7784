// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { RoutingTable, loadRoutingTable } from "locus-ids";

import { refusal } from "./golden.mjs";
import { jsonOf } from "./random_table.mjs";

const DOCUMENT = {
  epoch: 12,
  table_id: "9F1C02D7B5A64E38",
  shards: [
    { id: 2, name: "orders-b", endpoint: "mysql://127.0.0.1:3307/orders" },
    {
      id: 1,
      name: "orders-a",
      endpoint: "mysql://127.0.0.1:3306/orders",
      weight: 50,
      labels: { tier: "hot" },
    },
  ],
  ranges: [
    { last: 16383, shard: 1 },
    { last: 60000, shard: 2 },
  ],
  moves: [
    { first: 16384, last: 16384, to: 1, permyriad: 0 },
    { first: 0, last: 255, to: 2, permyriad: 500, step: 7 },
  ],
};
const GOOD = jsonOf(DOCUMENT);

/** The document as text, with another value at this JSON Pointer. */
function textWith(pointer, value) {
  const document = structuredClone(DOCUMENT);
  const names = pointer.split("/").slice(1);
  const last = names.pop();
  let place = document;
  for (const name of names) place = place[name];
  place[last] = value;
  return jsonOf(document);
}

function refused(text) {
  try {
    new RoutingTable(text);
  } catch (error) {
    assert.equal(error.code, "INVALID_ARGUMENT", error.stack);
    return error.message;
  }
  return assert.fail(`taken: ${text.slice(0, 200)}`);
}

test("a document is read", () => {
  const table = new RoutingTable(GOOD);
  assert.equal(table.epoch, 12n);
  assert.equal(table.tableId, "9f1c02d7b5a64e38");
  const [one, two] = table.shards;
  assert.deepEqual(one, {
    id: 1,
    name: "orders-a",
    endpoint: "mysql://127.0.0.1:3306/orders",
    weight: 50,
    labels: new Map([["tier", "hot"]]),
  });
  assert.deepEqual([two.id, two.weight, two.labels.size], [2, 100, 0]);
  assert.deepEqual(table.ranges, DOCUMENT.ranges);
  assert.deepEqual(table.moves, [
    { first: 0, last: 255, to: 2, permyriad: 500, step: 7n },
    { first: 16384, last: 16384, to: 1, permyriad: 0, step: 0n },
  ]);
  assert.equal(table.findShard(2), two);
  assert.equal(table.findShard(3), undefined);
});

test("the owner is found by the ceiling map, which wraps", () => {
  const table = new RoutingTable(GOOD);
  for (const [gene, owner] of [
    [0, 1],
    [16383, 1],
    [16384, 2],
    [60000, 2],
    [60001, 1],
    [65535, 1],
  ]) {
    assert.equal(table.ownerOf(gene).id, owner, `${gene}`);
  }
  for (const [gene, to] of [[0, 2], [255, 2], [256], [16383], [16384, 1], [16385]]) {
    assert.equal(table.moveOf(gene)?.to, to, `${gene}`);
  }
  for (const gene of [-1, 65536, 0.5]) {
    assert.throws(() => table.ownerOf(gene), refusal(`gene ${gene} is not in 0..65535`));
    assert.throws(() => table.moveOf(gene), refusal(`gene ${gene} is not in 0..65535`));
  }
});

test("a table in another order is equal", () => {
  const other = structuredClone(DOCUMENT);
  other.shards.reverse();
  other.moves.reverse();
  other.table_id = other.table_id.toLowerCase();
  const table = new RoutingTable(GOOD);
  assert.ok(new RoutingTable(jsonOf(other)).equals(table));
  for (const [pointer, value] of [
    ["/epoch", 13],
    ["/shards/1/labels", { tier: "cold" }],
    ["/moves", []],
  ]) {
    assert.ok(!new RoutingTable(textWith(pointer, value)).equals(table), pointer);
  }
});

test("integers beyond 2^53 are exact", () => {
  assert.equal(new RoutingTable(textWith("/epoch", 2n ** 63n - 1n)).epoch, 2n ** 63n - 1n);
  const step = 2n ** 62n + 1n;
  assert.equal(new RoutingTable(textWith("/moves/0/step", step)).moves[1].step, step);
});

test("a broken value is refused at its pointer", () => {
  for (const [pointer, value, reason] of [
    ["/epoch", 0, "0 is not from 1 to 9223372036854775807"],
    ["/epoch", -1, "-1 is not an integer from 0 to 18446744073709551615"],
    ["/epoch", true, "it is not an integer from 0 to 18446744073709551615"],
    ["/table_id", "", "it is empty"],
    ["/table_id", "0", "it is not 16 hex digits, as `locus table new` makes them"],
    ["/shards", [], "there is no shard"],
    ["/shards", {}, "it is of type object, not array"],
    ["/shards/0/id", 1.5, "1.5 is not an integer from 0 to 4294967295"],
    ["/shards/1/id", 2, "2 is also the id of /shards/0"],
    ["/shards/1/name", "orders-b", '"orders-b" is also the name of /shards/0'],
    ["/shards/0/name", "é".repeat(33), "66 bytes; at most 64"],
    ["/shards/0/name", "a\x85", "it has control characters, or is not UTF-8"],
    ["/shards/0/endpoint", "a b", "it contains a space"],
    ["/shards/0/weight", 1000001, "1000001 is not from 0 to 1000000"],
    ["/shards/1/labels/tier", null, "it is of type null, not string"],
    ["/shards/1/x", 1, "unknown member"],
    ["/ranges", [], "there is no range"],
    ["/ranges/1/last", 16383, "16383 is not above 16383, the one before it"],
    ["/ranges/1/last", 65536, "65536 is not an integer from 0 to 65535"],
    ["/ranges/0/shard", 3, "no shard has id 3"],
    ["/moves/1/first", 256, "256 is above last, 255"],
    ["/moves/1/to", 3, "no shard has id 3"],
    ["/moves/1/to", 1, "shard 1 already owns vnode 0"],
    ["/moves/0/permyriad", 10001, "10001 is not from 0 to 10000"],
    ["/moves/0/step", 2n ** 63n, `${2n ** 63n} is not from 0 to ${2n ** 63n - 1n}`],
  ]) {
    assert.equal(refused(textWith(pointer, value)), `${pointer}: ${reason}`);
  }
});

test("a vnode in two moves is refused", () => {
  const moves = [DOCUMENT.moves[1], { first: 255, last: 300, to: 2, permyriad: 0 }];
  assert.equal(refused(textWith("/moves", moves)), "/moves/1: vnode 255 is also in /moves/0");
});

test("an endpoint is never shown", () => {
  for (const endpoint of ["mysql://u:hidden@h", "h?password=hidden", "h?PWD=hidden", "hid den"]) {
    const message = refused(textWith("/shards/0/endpoint", endpoint));
    assert.ok(message.startsWith("/shards/0/endpoint: it contains "), message);
    assert.ok(!message.includes("hid"), message);
  }
  assert.equal(
    refused(textWith("/shards/0/endpoint", DOCUMENT.shards[1].endpoint)),
    "/shards/1/endpoint: /shards/0 has the same endpoint; two shards are two databases",
  );
});

test("missing and repeated members are refused", () => {
  const document = structuredClone(DOCUMENT);
  delete document.ranges[1].shard;
  assert.equal(refused(jsonOf(document)), '/ranges/1: member "shard" is missing');
  assert.equal(refused("{}"), 'member "epoch" is missing');
  assert.equal(refused('{"epoch": 1, "epoch": 1}'), "/epoch: the member occurs twice");
});

test("names that mean something to JavaScript are names", () => {
  const text = GOOD.replace('"tier": "hot"', '"__proto__": "x", "constructor": "y"');
  const { labels } = new RoutingTable(text).shards[0];
  assert.deepEqual(
    [...labels],
    [
      ["__proto__", "x"],
      ["constructor", "y"],
    ],
  );
  assert.equal(refused('{"__proto__": 1}'), "/__proto__: unknown member");
});

test("what is no JSON is refused", () => {
  for (const text of [
    GOOD.replace("12", "NaN"),
    GOOD.replace("12", "Infinity"),
    GOOD.replace("12", "-0"),
    GOOD.replace("12", "012"),
    GOOD.replace("12", "1."),
    GOOD.replace("12", "1e999"),
    GOOD.replace("orders-a", "\\ud800"),
    GOOD.replace("orders-a", "\\udc00\\ud800"),
    GOOD.replace("orders-a", "\ud800"),
    GOOD.replace("orders-a", "\x1f"),
    GOOD.replace("orders-a", "\\x"),
    GOOD.replace("orders-a", "\\u00g0"),
    GOOD.replace('"ranges"', "'ranges'"),
    GOOD.replace("}", ",}"),
    `\ufeff\ufeff${GOOD}`,
    `${GOOD}\0`,
    `${GOOD}{}`,
    `//\n${GOOD}`,
    "[".repeat(100000),
    "",
    "nul",
  ]) {
    refused(text);
  }
  const good = new RoutingTable(`\ufeff${GOOD}\r\n\t `);
  assert.ok(new RoutingTable(Buffer.from(`\ufeff${GOOD}`)).equals(good));
  const escaped = GOOD.replace("orders-a", '\\u006frders-\\ud83d\\ude00\\/\\\\\\"');
  assert.equal(new RoutingTable(escaped).shards[0].name, 'orders-\u{1F600}/\\"');
  for (const document of [5, null, undefined, {}]) {
    assert.throws(() => new RoutingTable(document), TypeError);
  }
});

test("a syntax error is told by line, column and byte", () => {
  assert.match(
    refused('{\n"epoch": 1,\n "table_id" 2}'),
    /^line 3, column 13 \(byte 27\): expected ':'$/,
  );
  const octets = Buffer.from(GOOD);
  const at = octets.indexOf("orders-a");
  octets[at] = 0xff;
  assert.equal(refused(octets), `line 1, column ${at + 1} (byte ${at + 1}): not UTF-8`);
});

test("more than the limits is refused", () => {
  const labels = Object.fromEntries(Array.from({ length: 65537 }, (_, place) => [`l${place}`, ""]));
  assert.equal(
    refused(textWith("/shards/0/labels", labels)),
    "/shards/0/labels: more than 65536 members",
  );
  const shards = Array.from({ length: 4096 }, (_, place) => {
    return { id: place + 1, name: `${place}`, endpoint: `${place}`.padStart(2048, "0") };
  });
  assert.equal(
    refused(textWith("/shards", shards)),
    "/shards: names, endpoints and labels of all shards have more than 8388608 bytes together",
  );
  const ranges = Array.from({ length: 65537 }, () => DOCUMENT.ranges[0]);
  assert.equal(refused(textWith("/ranges", ranges)), "/ranges: more than 65536 elements");
  assert.equal(refused(" ".repeat((32 << 20) + 1)), "it is 33554433 bytes long; at most 33554432");
  assert.equal(
    refused(GOOD.replace("orders-a", "x".repeat(20000))),
    `line 1, column ${GOOD.indexOf("orders-a") + 1} (byte ${GOOD.indexOf("orders-a") + 1}): ` +
      "a string or number of more than 12288 bytes",
  );
});

test("a file is read, and named where it is refused", () => {
  const folder = mkdtempSync(join(tmpdir(), "locus-node-"));
  try {
    const path = join(folder, "table.json");
    writeFileSync(path, GOOD);
    assert.ok(loadRoutingTable(path).equals(new RoutingTable(GOOD)));
    writeFileSync(path, "{}");
    assert.throws(() => loadRoutingTable(path), refusal(`${path}: member "epoch" is missing`));
    rmSync(path);
    assert.throws(() => loadRoutingTable(path), { code: "ENOENT" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
