// SPDX-License-Identifier: Apache-2.0
// Compares the package with the command `locus`, which LOCUS_COMMAND names, over random values.
// LOCUS_TEST_SEED repeats a run.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import {
  OrderId,
  OrderNo,
  OrderNo64,
  OrderNoCodec,
  Router,
  RoutingTable,
  geneOfText,
  geneOfUint64,
  inspect,
  loadKeyRing,
  loadRoutingTable,
  parseUint64Key,
} from "locus-ids";

import { Draw, seedOf } from "./draw.mjs";
import { changed, garbled, jsonOf, orderIdNearAnEdge, validTable } from "./random_table.mjs";

const COMMAND = process.env.LOCUS_COMMAND;
assert.ok(COMMAND, "LOCUS_COMMAND does not name the command locus");
const SEED = seedOf("command");
const COUNT = 10000;
const VERSIONS = [0, 5, 64, 127];
const RETIRED = 9;
const NEWLINE = Buffer.from("\n");
const folder = mkdtempSync(join(tmpdir(), "locus-node-"));
after(() => rmSync(folder, { recursive: true }));

/** A test whose draws are the same for it alone and for all. */
function randomTest(name, body) {
  test(name, () => body(new Draw(`${SEED} ${name}`)));
}

/** The command's exit code, stdout and stderr, as bytes. Variables cannot add options. */
function run(words, stdin = "") {
  const done = spawnSync(COMMAND, words.map(String), {
    input: stdin,
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" },
    maxBuffer: 1 << 28,
  });
  assert.equal(done.error, undefined);
  return done;
}

/** The lines of what a command printed, which ends with a newline. */
function linesOf(octets) {
  const lines = [];
  let start = 0;
  for (let end = octets.indexOf(10); end >= 0; end = octets.indexOf(10, start)) {
    lines.push(octets.subarray(start, end));
    start = end + 1;
  }
  assert.equal(start, octets.length);
  return lines;
}

/** What the command says of each value: its answer as bytes, or its message as an Error. */
function answersOf(words, values) {
  const { status, stdout, stderr } = run(
    words,
    Buffer.concat(values.flatMap((each) => [each, NEWLINE])),
  );
  const answers = linesOf(stdout);
  assert.equal(answers.length, values.length, stderr.toString());
  const start = `locus ${words[0]}: line `;
  const messages = linesOf(stderr).map(String);
  for (const message of messages) {
    assert.ok(message.startsWith(start), message);
    const [, line, reason] = /^(\d+): (.*)$/s.exec(message.slice(start.length));
    assert.equal(answers[line - 1].length, 0);
    answers[line - 1] = new Error(reason);
  }
  assert.equal(status, messages.length > 0 ? 3 : 0);
  return answers;
}

/** Both answer each value alike; how many were refused. Messages are compared where `messages` says
 * so of ours. */
function compare(words, values, ours, messages = () => true) {
  let refused = 0;
  const answers = answersOf(words, values);
  for (const [place, value] of values.entries()) {
    const theirs = answers[place];
    const told = `${words.join(" ")}: ${value.toString("latin1")}: locus says ${theirs}`;
    let mine;
    try {
      mine = ours(value);
    } catch (error) {
      assert.equal(error.name, "LocusError", error.stack);
      ++refused;
      assert.ok(theirs instanceof Error, `${told}, we ${error.message}`);
      if (messages(error.message)) assert.equal(error.message, theirs.message, told);
      continue;
    }
    assert.ok(!(theirs instanceof Error), `${told}, we ${mine}`);
    assert.ok(
      Buffer.concat([].concat(mine).map((each) => Buffer.from(each))).equals(theirs),
      `${told}, we ${mine}`,
    );
  }
  return refused;
}

function randomOrderId(draw) {
  return new OrderId(Number(draw.anyBits(16)), draw.anyBits(56));
}

/** `octets` with a byte changed, inserted, or removed: often it is no value any more. */
function nearMiss(draw, octets) {
  const at = draw.below(octets.length + 1);
  const letters = Buffer.from('0123456789abcdefABCDEFilouILOUgxyzGXYZ+.,_"\\\x7f\xe9\0', "latin1");
  const put = draw.choice([Buffer.from([draw.choice(letters)]), Buffer.alloc(0)]);
  return Buffer.concat([octets.subarray(0, at), put, octets.subarray(at + draw.below(2))]);
}

function orderIdTexts(draw) {
  const texts = Array.from({ length: COUNT / 2 }, () => Buffer.from(`${randomOrderId(draw)}`));
  for (const text of texts.slice(0, 500)) texts.push(Buffer.from(text.toString().toUpperCase()));
  for (let count = 0; count < 1000; ++count) texts.push(Buffer.from(`${draw.anyBits(64)}`));
  while (texts.length < COUNT) texts.push(nearMiss(draw, draw.choice(texts)));
  return texts;
}

function keyRingText(draw) {
  const lines = VERSIONS.map((version) => `${version} ${draw.bytes(32).toString("base64")}`);
  lines.push(`${RETIRED} retired`);
  draw.shuffle(lines);
  return ["locus-key-ring 1", `active ${draw.choice(VERSIONS)}`, ...lines, ""].join("\n");
}

/** The options that name a key ring file and a space, and the codec of both. */
function randomCodec(draw) {
  const path = join(folder, `keys-${draw.bits(64)}`);
  writeFileSync(path, keyRingText(draw), { mode: 0o600 });
  // A name that begins with '-' would be an option.
  let space = "s";
  for (let count = draw.below(64); count > 0; --count) {
    space += draw.choice("abcdefghijklmnopqrstuvwxyz0123456789_-");
  }
  return {
    options: ["--keys", path, "--space", space],
    codec: new OrderNoCodec(loadKeyRing(path), space),
  };
}

function orderNoText(draw, codec) {
  let number = codec.encode(randomOrderId(draw), draw.choice(VERSIONS));
  const change = draw.below(8);
  if (change === 0) {
    // A bit of the tag or the ciphertext: a well-formed number that is not genuine.
    number = new OrderNo(number.value ^ (1n << BigInt(draw.below(100))));
  } else if (change === 1) {
    const value = number.value ^ (1n << BigInt(draw.below(128)));
    return Buffer.from(value.toString(16).padStart(32, "0"));
  }
  let text = draw.choice([`${number}`, number.toHex()]);
  text = draw.choice([text, text.toLowerCase(), text.toUpperCase()]);
  if (text.length === 26) {
    text = text.replaceAll("1", draw.choice("1IiLl")).replaceAll("0", draw.choice("0Oo"));
  }
  return change === 2 ? nearMiss(draw, Buffer.from(text)) : Buffer.from(text);
}

randomTest("genes of uint64 keys", (draw) => {
  const keys = Array.from({ length: COUNT }, () => Buffer.from(`${draw.anyBits(64)}`));
  for (const key of keys.slice(0, 1000)) keys.push(nearMiss(draw, key));
  const refused = compare(["gene", "--type", "uint64"], keys, (key) => {
    return `${key}\t${geneOfUint64(parseUint64Key(key))}`;
  });
  assert.ok(refused > 100, `${refused}`);
});

randomTest("genes of text keys", (draw) => {
  const keys = Array.from({ length: COUNT }, () =>
    draw.bytes(draw.below(101)).filter((each) => each !== 10),
  );
  const texts = keys.map((key) => Buffer.from(key));
  compare(["gene", "--type", "text"], texts, (key) => [key, `\t${geneOfText(key)}`]);
});

randomTest("order IDs to order_nos", (draw) => {
  const { options, codec } = randomCodec(draw);
  const texts = orderIdTexts(draw);
  const refused = compare(
    ["encode", ...options],
    texts,
    (text) => `${codec.encode(OrderId.parse(text))}`,
  );
  assert.ok(refused > 1000, `${refused}`);
  for (const version of [...VERSIONS, RETIRED]) {
    for (const [scheme, encode, ...more] of [
      ["siv", (orderId) => codec.encode(orderId, version)],
      ["ff1", (orderId) => codec.encodeFf1(orderId, version)],
      [
        "ctr64",
        (orderId) => codec.encodeCtr64ReusingKeystream(orderId, version),
        "--allow-keystream-reuse",
      ],
    ]) {
      const words = ["encode", ...options, "--scheme", scheme, "--key-version", version, ...more];
      compare(words, draw.sample(texts, 400), (text) => `${encode(OrderId.parse(text))}`);
    }
  }
});

randomTest("order_nos to order IDs", (draw) => {
  const { options, codec } = randomCodec(draw);
  const texts = Array.from({ length: COUNT }, () => orderNoText(draw, codec));
  const refused = compare(
    ["decode", ...options],
    texts,
    (text) => `${codec.decode(OrderNo.parse(text))}`,
    // The command adds what to check, and where the length is wrong, what was meant.
    (message) => !/of this space|digits are needed/.test(message),
  );
  assert.ok(1000 < refused && refused < COUNT / 2, `${refused}`);
});

randomTest("order_nos of 64 bits to order IDs", (draw) => {
  const { options, codec } = randomCodec(draw);
  const texts = Array.from({ length: 1000 }, () => Buffer.from(`${draw.anyBits(63)}`));
  for (const text of texts.slice(0, 100)) texts.push(nearMiss(draw, text));
  for (const version of [...VERSIONS, RETIRED]) {
    for (const [scheme, decode] of [
      ["ff1", (number) => codec.decodeFf1(number, version)],
      ["ctr64", (number) => codec.decodeCtr64(number, version)],
    ]) {
      const words = ["decode", ...options, "--scheme", scheme, "--key-version", version];
      compare(words, texts, (text) => `${decode(OrderNo64.parse(text))}`);
    }
  }
});

randomTest("shards by random tables", (draw) => {
  const { options, codec } = randomCodec(draw);
  const path = join(folder, "table.json");
  let moving = 0;
  for (let round = 0; round < 50; ++round) {
    const document = validTable(draw);
    writeFileSync(path, jsonOf(document));
    const router = new Router(loadRoutingTable(path));
    const texts = [];
    for (let order = 0; order < COUNT / 50; ++order) {
      const orderId = orderIdNearAnEdge(draw, document);
      if (router.routeOfGene(orderId.gene).target) ++moving;
      texts.push(Buffer.from(`${draw.choice([orderId, codec.encode(orderId)])}`));
    }
    for (const [words, known] of [
      [[], undefined],
      [options, codec],
    ]) {
      compare(["inspect", "--table", path, ...words], texts, (text) => {
        return JSON.stringify(inspect(text, known, router));
      });
    }
  }
  assert.ok(moving > COUNT / 20, `${moving}`);
});

randomTest("values to inspect", (draw) => {
  const { options, codec } = randomCodec(draw);
  const texts = orderIdTexts(draw);
  for (let count = 0; count < COUNT; ++count) texts.push(orderNoText(draw, codec));
  draw.shuffle(texts);
  for (const [words, known] of [
    [[], undefined],
    [options, codec],
  ]) {
    compare(
      ["inspect", ...words],
      texts.slice(0, COUNT),
      (text) => JSON.stringify(inspect(text, known)),
      (message) => !/of this space| characters: /.test(message),
    );
  }
});

randomTest("tables are refused alike", (draw) => {
  const path = join(folder, "changed.json");
  let refused = 0;
  for (let round = 0; round < 200; ++round) {
    const text = changed(draw, validTable(draw));
    const isJson = draw.below(4) > 0;
    const octets = isJson ? Buffer.from(text) : garbled(draw, text);
    writeFileSync(path, octets);
    const { status, stdout, stderr } = run(["table", "check", path]);
    const told = `locus says ${stdout}${stderr} of ${octets.subarray(0, 4000)}`;
    let table;
    try {
      table = new RoutingTable(octets);
    } catch (error) {
      assert.equal(error.code, "INVALID_ARGUMENT", error.stack);
      ++refused;
      assert.equal(status, 1, `${error.message}; ${told}`);
      // Parsers word syntax errors in their own way.
      if (isJson && !error.message.startsWith("line ")) {
        const said = stderr.toString().split("changed.json: ")[1] ?? "";
        assert.ok(said.includes(error.message), `${error.message}; ${told}`);
      }
      continue;
    }
    assert.equal(status, 0, told);
    const expected = `ok epoch=${table.epoch} shards=${table.shards.length}`;
    assert.ok(stdout.toString().startsWith(expected), told);
  }
  assert.ok(60 < refused && refused < 197, `${refused}`);
});

randomTest("key rings are refused alike", (draw) => {
  const path = join(folder, "changed-keys");
  let refused = 0;
  for (let round = 0; round < 100; ++round) {
    let octets = Buffer.from(keyRingText(draw));
    for (let count = draw.below(3); count > 0; --count) octets = nearMiss(draw, octets);
    if (draw.below(4) === 0) {
      const lines = octets.toString("latin1").split("\n");
      const at = draw.below(lines.length);
      lines.splice(at, 1, ...Array(draw.choice([0, 2])).fill(lines[at]));
      octets = Buffer.from(lines.join("\n"), "latin1");
    }
    writeFileSync(path, octets);
    chmodSync(path, draw.choice([0o600, 0o600, 0o600, 0o600, 0o400, 0o640]));
    const { status, stdout, stderr } = run(["keys", "list", path]);
    const told = `locus says ${stdout}${stderr}`;
    let ring;
    try {
      ring = loadKeyRing(path);
    } catch (error) {
      assert.equal(error.name, "LocusError", error.stack);
      ++refused;
      assert.equal(status, 1, `${error.message}; ${told}`);
      assert.equal(stderr.toString(), `locus keys list: ${error.message}\n`);
      continue;
    } finally {
      rmSync(path);
    }
    const states = new Map(ring.versions.map((version) => [version, "readable"]));
    for (const version of ring.retired) states.set(version, "retired");
    states.set(ring.active, "active");
    const lines = [...states]
      .sort(([a], [b]) => a - b)
      .map(([version, state]) => `${version}\t${state}\n`);
    assert.equal(status, 0, told);
    assert.equal(stdout.toString(), lines.join(""));
  }
  assert.ok(20 < refused && refused < 98, `${refused}`);
});
