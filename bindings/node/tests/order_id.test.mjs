// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { OrderId } from "locus-ids";

import { Draw } from "./draw.mjs";
import { golden, refusal } from "./golden.mjs";

const GOLDEN = golden("order_id.json");
const bytes = (hex) => Buffer.from(hex, "hex");

test("golden valid IDs hold both ways", () => {
  assert.equal(GOLDEN.valid.length, 77);
  for (const line of GOLDEN.valid) {
    const orderId = new OrderId(line.gene, BigInt(line.sequence));
    const text = line.decimal ?? line.hex;
    assert.equal(orderId.width, line.width, text);
    assert.equal(orderId.gene, line.gene, text);
    assert.equal(orderId.sequence, BigInt(line.sequence), text);
    assert.equal(orderId.cohort, line.cohort, text);
    assert.equal(Buffer.from(orderId.toBytes()).toString("hex"), line.hex);
    assert.equal(`${orderId}`, text);
    assert.equal(JSON.stringify({ orderId }), `{"orderId":"${text}"}`);
    for (const same of [
      OrderId.fromBytes(bytes(line.hex)),
      OrderId.parse(text),
      OrderId.parse(text.toUpperCase()),
      OrderId.fromBits(orderId.value),
    ]) {
      assert.deepEqual(same, orderId);
      assert.ok(same.equals(orderId));
    }
    if (orderId.isWide) {
      assert.throws(() => orderId.toInt64(), refusal(new RegExp(text), "FAILED_PRECONDITION"));
    } else {
      assert.deepEqual(OrderId.fromInt64(orderId.toInt64()), orderId);
    }
  }
});

test("golden invalid IDs are refused with the value named", () => {
  assert.equal(GOLDEN.invalid.length, 15);
  for (const { hex } of GOLDEN.invalid) {
    assert.throws(() => OrderId.fromBytes(bytes(hex)), refusal(/ is not an order ID: /), hex);
    if (hex.length !== 32) continue;
    assert.throws(() => OrderId.parse(hex), refusal(new RegExp(hex)), hex);
    assert.throws(
      () => OrderId.fromBits(BigInt(`0x${hex}`)),
      refusal(/ is not an order ID: /),
      hex,
    );
  }
  assert.equal(GOLDEN.invalid_decimal.length, 12);
  for (const { text } of GOLDEN.invalid_decimal) {
    assert.throws(() => OrderId.parse(text), refusal(/ is not an order ID: /), text);
  }
});

test("golden byte order is the order of IDs", () => {
  assert.equal(GOLDEN.in_byte_order.length, 20);
  const ids = GOLDEN.in_byte_order.map((hex) => OrderId.fromBytes(bytes(hex)));
  const sorted = new Draw("order").shuffle([...ids]).sort(OrderId.compare);
  assert.deepEqual(sorted, ids);
  assert.equal(OrderId.compare(ids[3], ids[3]), 0);
});

test("parts out of range are refused", () => {
  for (const [gene, sequence] of [
    [-1, 0n],
    [65536, 0n],
    [0.5, 0n],
    [NaN, 0n],
    [0, -1n],
    [0, 2n ** 56n],
  ]) {
    assert.throws(() => new OrderId(gene, sequence), refusal(/^(gene|sequence) /));
  }
  for (const [gene, sequence] of [
    [0n, 0n],
    [0, 0],
    ["1", 0n],
    [0, null],
    [true, 0n],
  ]) {
    assert.throws(() => new OrderId(gene, sequence), TypeError);
  }
});

test("numbers out of range are refused, and doubles are no IDs", () => {
  for (const value of [-1n, 2n ** 63n, 2n ** 64n]) {
    const message = new RegExp(`^${value} is not an order ID: `);
    assert.throws(() => OrderId.fromInt64(value), refusal(message));
    assert.throws(() => OrderId.fromBits(value), refusal(/ is not an order ID: /));
  }
  assert.throws(() => OrderId.fromBits(2n ** 128n), refusal(/ has more than 128 bits$/));
  for (const value of [5764748260646047000, "5", null]) {
    assert.throws(() => OrderId.fromInt64(value), TypeError);
    assert.throws(() => OrderId.fromBits(value), TypeError);
  }
  for (const value of [5, null, undefined]) assert.throws(() => OrderId.parse(value), TypeError);
  assert.throws(() => OrderId.fromBytes("12345678"), TypeError);
  assert.throws(() => OrderId.fromBytes(new Uint8Array(9)), refusal(/^a value of 9 bytes /));
});

test("what a message shows is printable and short", () => {
  assert.throws(
    () => OrderId.parse(`\u{1F600}\ud800"\\\n${"x".repeat(100)}`),
    refusal(/^"\\xf0\\x9f\\x98\\x80\\xed\\xa0\\x80\\"\\\\\\x0ax{54}\.\.\." is not an order ID: /),
  );
});
