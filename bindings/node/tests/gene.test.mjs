// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { geneOf, geneOfText, geneOfUint64, parseUint64Key } from "locus-ids";

import { murmur3Low64, xxh64 } from "../dist/hashes.js";
import { golden, refusal } from "./golden.mjs";

const hex = (word) => word.toString(16).padStart(16, "0");

test("golden vectors hold", () => {
  const vectors = golden("gene.json");
  assert.equal(vectors.length, 99);
  for (const line of vectors) {
    let key = line.key;
    let octets = Buffer.from(line.key, "utf8");
    if (line.type === "uint64") {
      key = parseUint64Key(line.key);
      octets = Buffer.alloc(8);
      octets.writeBigUInt64LE(key);
    }
    assert.equal(hex(xxh64(octets)), line.xxh64, line.key);
    assert.equal(hex(murmur3Low64(octets)), line.murmur3_low64, line.key);
    assert.equal(geneOf(key), line.gene, line.key);
  }
});

test("bytes in the middle of a buffer are hashed as they are", () => {
  const whole = Buffer.from("xxorder service of a buyer with a long namexx");
  const part = whole.subarray(2, -2);
  assert.equal(geneOf(part), geneOf(part.toString()));
});

test("a text and its bytes are one key, a text and a number are two", () => {
  assert.equal(geneOf("Grüße"), geneOf(new TextEncoder().encode("Grüße")));
  assert.notEqual(geneOf("123"), geneOf(123));
  assert.equal(geneOf(17850), geneOf(17850n));
});

test("a negative key is its two's complement", () => {
  assert.equal(geneOfUint64(-1), geneOfUint64(2n ** 64n - 1n));
  assert.equal(geneOfUint64(-(2n ** 63n)), geneOfUint64(2n ** 63n));
});

test("a key out of range or not exact is refused", () => {
  for (const key of [2n ** 64n, -(2n ** 63n) - 1n]) {
    assert.throws(() => geneOf(key), refusal(new RegExp(`^buyer key ${key} is not in `)));
  }
  for (const key of [2 ** 53, -(2 ** 53), 0.5, NaN, Infinity]) {
    assert.throws(() => geneOf(key), refusal(new RegExp(`^buyer key ${key} is not an exact `)));
  }
});

test("a key of another type is refused", () => {
  for (const key of [true, null, undefined, [], {}, new Uint16Array(2)]) {
    assert.throws(() => geneOf(key), TypeError);
  }
  assert.throws(() => geneOfText(17), TypeError);
  assert.throws(() => geneOfUint64("17"), TypeError);
});

test("a surrogate without its partner is refused", () => {
  assert.throws(() => geneOf("a\ud800"), refusal(/surrogate/));
  assert.throws(() => geneOf("\udc00\ud800"), refusal(/surrogate/));
  geneOf("\ud800\udc00");
});

test("a uint64 that is not canonical is refused", () => {
  for (const text of [
    "",
    "-0",
    "007",
    "+1",
    " 1",
    "1 ",
    "1\n",
    "1.0",
    "1_0",
    "１",
    `${2n ** 64n}`,
  ]) {
    assert.throws(() => parseUint64Key(text), refusal(/ is not a canonical uint64$/), text);
  }
  assert.equal(parseUint64Key(`${2n ** 64n - 1n}`), 2n ** 64n - 1n);
});
