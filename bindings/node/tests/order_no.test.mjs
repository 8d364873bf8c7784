// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import { inspect } from "node:util";

import { AsyncOrderNoCodec, KeyRing, OrderId, OrderNo, OrderNo64, OrderNoCodec } from "locus-ids";

import { derivationOf } from "../dist/order_no_schemes.js";
import { Draw } from "./draw.mjs";
import { golden, refusal } from "./golden.mjs";

const GOLDEN = golden("order_no.json");
const bytes = (hex) => Buffer.from(hex, "hex");
const KEYS = Object.entries(GOLDEN.keys).map(([version, key]) => [Number(version), bytes(key)]);
const RING = new KeyRing(1, KEYS);
const asyncCodec = (ring, space) => new AsyncOrderNoCodec(ring, space, webcrypto.subtle);

test("golden numbers hold without keys", () => {
  for (const line of GOLDEN.valid) {
    const orderId = OrderId.fromBytes(bytes(line.order_id));
    const number = OrderNo.parse(line.siv.text);
    assert.deepEqual(OrderNo.parse(line.siv.hex), number);
    assert.deepEqual(OrderNo.fromBytes(number.toBytes()), number);
    assert.ok(new OrderNo(number.value).equals(number));
    assert.equal(`${number}`, line.siv.text);
    assert.equal(number.toHex(), line.siv.hex);
    assert.equal(JSON.stringify(number), `"${line.siv.text}"`);
    assert.equal(number.gene, orderId.gene);
    assert.equal(number.keyVersion, line.key_version);
    assert.equal(number.width, orderId.width);
  }
});

test("golden texts of one number are equal, golden invalid texts refused", () => {
  assert.equal(GOLDEN.same_number.length, 6);
  assert.equal(new Set(GOLDEN.same_number.map((text) => OrderNo.parse(text).value)).size, 1);
  assert.equal(GOLDEN.invalid_text.length, 14);
  for (const { text } of GOLDEN.invalid_text) {
    assert.throws(() => OrderNo.parse(text), refusal(/ is not an order_no: /), text);
  }
});

test("wrong fixed bits, lengths and types are refused", () => {
  for (const value of [(1n << 127n) | (2n << 107n), 15n << 107n, 4n << 107n, 0n]) {
    const shown = value.toString(16).padStart(32, "0");
    assert.throws(() => new OrderNo(value), refusal(new RegExp(`^${shown} is not an order_no: `)));
  }
  assert.throws(() => new OrderNo(1n << 128n), refusal(/^order_no \d+ is not in /));
  for (const size of [0, 8, 15, 17]) {
    const message = new RegExp(`^a value of ${size} bytes `);
    assert.throws(() => OrderNo.fromBytes(new Uint8Array(size)), refusal(message));
  }
  for (const make of [() => new OrderNo(5), () => OrderNo.parse(5), () => OrderNo.fromBytes("x")]) {
    assert.throws(make, TypeError);
  }
});

test("numbers of 64 bits are read both ways", () => {
  const number = OrderNo64.parse("5764811777033357117");
  assert.equal(number.gene, 40961);
  assert.ok(new OrderNo64(number.value).equals(number));
  assert.equal(JSON.stringify([number]), '["5764811777033357117"]');
  for (const text of ["", "-1", "01", "+1", "1 ", "0x1", `${2n ** 63n}`]) {
    assert.throws(() => OrderNo64.parse(text), refusal(/ is not an order_no: /), text);
  }
  for (const value of [-1n, 2n ** 63n])
    assert.throws(() => new OrderNo64(value), refusal(/order_no/));
  assert.throws(() => new OrderNo64(5), TypeError);
});

test("keys are derived as in the worked example", async () => {
  const { worked } = GOLDEN;
  const base = await webcrypto.subtle.importKey("raw", RING.key(1), "HKDF", false, ["deriveBits"]);
  for (const purpose of ["tag", "ctr", "ff1", "ctr64"]) {
    const algorithm = { name: "HKDF", hash: "SHA-256", ...derivationOf(worked.space, purpose) };
    const key = await webcrypto.subtle.deriveBits(algorithm, base, 256);
    assert.equal(Buffer.from(key).toString("hex"), worked[`k_${purpose}`]);
  }
});

for (const [name, make] of [
  ["node:crypto", (ring, space) => new OrderNoCodec(ring, space)],
  ["WebCrypto", asyncCodec],
]) {
  test(`${name}: golden numbers hold both ways in every scheme`, async () => {
    assert.equal(GOLDEN.valid.length, 85);
    const codecs = new Map();
    let narrow = 0;
    for (const line of GOLDEN.valid) {
      if (!codecs.has(line.space)) codecs.set(line.space, make(RING, line.space));
      const codec = codecs.get(line.space);
      const version = line.key_version;
      const orderId = OrderId.fromBytes(bytes(line.order_id));
      const number = await codec.encode(orderId, version);
      assert.equal(`${number}`, line.siv.text);
      assert.deepEqual(await codec.decode(number), orderId);
      if (orderId.isWide) continue;
      const ff1 = await codec.encodeFf1(orderId, version);
      assert.equal(`${ff1}`, line.ff1);
      assert.deepEqual(await codec.decodeFf1(ff1, version), orderId);
      const ctr64 = await codec.encodeCtr64ReusingKeystream(orderId, version);
      assert.equal(`${ctr64}`, line.ctr64);
      assert.deepEqual(await codec.decodeCtr64(ctr64, version), orderId);
      ++narrow;
    }
    assert.equal(narrow, 70);
  });

  test(`${name}: golden invalid numbers are refused alike`, async () => {
    const codec = make(RING);
    assert.equal(GOLDEN.invalid.length, 34);
    let decoded = 0;
    for (const { hex } of GOLDEN.invalid) {
      let number;
      try {
        number = OrderNo.fromBytes(bytes(hex));
      } catch (error) {
        assert.equal(error.code, "INVALID_ARGUMENT");
        continue; // by its fixed bits, without a key
      }
      ++decoded;
      const message = `${number} is not an order_no of this space`;
      await assert.rejects(async () => codec.decode(number), refusal(message));
    }
    assert.ok(decoded > 10);
  });

  test(`${name}: what the key ring does not have is refused`, async () => {
    const number = new OrderNoCodec(RING).encode(new OrderId(7, 99n));
    const codec = make(
      new KeyRing(2, [
        [1, null],
        [2, RING.key(2)],
      ]),
    );
    await assert.rejects(async () => codec.decode(number), refusal(/ is not an order_no of this /));
    for (const version of [1, 3]) {
      const expected = refusal(`the key ring has no key of version ${version}`, "NOT_FOUND");
      const orderId = new OrderId(7, 99n);
      await assert.rejects(async () => codec.encode(orderId, version), expected);
      await assert.rejects(async () => codec.decodeFf1(new OrderNo64(5n), version), expected);
      await assert.rejects(async () => codec.decodeCtr64(new OrderNo64(5n), version), expected);
    }
    const unknown = refusal("key version 128 is not in 0..127");
    await assert.rejects(async () => codec.encode(new OrderId(7, 99n), 128), unknown);
  });

  test(`${name}: other spaces, other keys and wide IDs in 64 bits are refused`, async () => {
    const number = new OrderNoCodec(RING).encode(new OrderId(7, 99n));
    for (const codec of [
      make(RING, "refunds"),
      make(new KeyRing(1, [[1, Buffer.alloc(32, "x")]])),
    ]) {
      await assert.rejects(async () => codec.decode(number), refusal(/ of this space$/));
    }
    const wide = new OrderId(7, 2n ** 47n);
    const codec = make(RING);
    const expected = refusal(/ is wide and does not fit a 64-bit order_no$/);
    await assert.rejects(async () => codec.encodeFf1(wide, 1), expected);
    await assert.rejects(async () => codec.encodeCtr64ReusingKeystream(wide, 1), expected);
    for (const name of ["", "A", "a b", "a\n", "ä", "a".repeat(65)]) {
      assert.throws(() => make(RING, name), refusal(/^space ".*" is not 1 to 64 of /));
    }
    make(RING, "a".repeat(64));
    assert.throws(() => make(RING, 5), TypeError);
  });
}

test("any single bit flip is refused", () => {
  const codec = new OrderNoCodec(RING);
  const draw = new Draw("bit flips");
  for (let round = 0; round < 20; ++round) {
    const { value } = codec.encode(new OrderId(draw.below(65536), draw.anyBits(56)));
    for (let bit = 0n; bit < 128n; ++bit) {
      assert.throws(() => codec.decode(new OrderNo(value ^ (1n << bit))), refusal(/./));
    }
  }
});

test("no inspection shows a key", () => {
  for (const shown of [inspect(RING, { depth: 9, showHidden: true }), JSON.stringify(RING)]) {
    assert.doesNotMatch(shown, /0, *1, *2|Uint8Array|Map/);
  }
  assert.doesNotMatch(inspect(new OrderNoCodec(RING), { depth: 9 }), /Uint8Array|Cipher/);
});

test("without WebCrypto the codec says so", () => {
  const there = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
  try {
    const expected = refusal(/^there is no WebCrypto here; /, "UNIMPLEMENTED");
    assert.throws(() => new AsyncOrderNoCodec(RING), expected);
  } finally {
    delete globalThis.crypto;
    if (there) Object.defineProperty(globalThis, "crypto", there);
  }
});
