// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { KeyRing, loadKeyRing } from "locus-ids";

import { checkPrivate } from "../dist/files.js";
import { refusal } from "./golden.mjs";

const KEY = Uint8Array.from({ length: 32 }, (_, place) => place);
const BASE64 = Buffer.from(KEY).toString("base64");
const TEXT = `locus-key-ring 1\nactive 2\n0 retired\n2 ${BASE64}\n`;

/** Runs `body` with the path of a private file that holds TEXT. */
function withFile(body) {
  const folder = mkdtempSync(join(tmpdir(), "locus-node-"));
  const path = join(folder, "keys");
  try {
    writeFileSync(path, TEXT, { mode: 0o600 });
    body(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the text of a file is read", () => {
  for (const text of [TEXT, Buffer.from(TEXT)]) {
    const ring = KeyRing.parse(text);
    assert.equal(ring.active, 2);
    assert.deepEqual(ring.versions, [2]);
    assert.deepEqual(ring.retired, [0]);
    assert.deepEqual(ring.key(2), KEY);
    for (const version of [0, 1]) {
      const expected = refusal(`the key ring has no key of version ${version}`, "NOT_FOUND");
      assert.throws(() => ring.key(version), expected);
    }
    ring.key(2).fill(0);
    assert.deepEqual(ring.key(2), KEY, "callers get copies");
  }
});

test("anything else is refused with its line and without its content", () => {
  const loose = Buffer.from([...KEY, 0]).toString("base64");
  const unused = `${BASE64.slice(0, -2)}${String.fromCharCode(BASE64.charCodeAt(42) + 1)}=`;
  for (const [line, text] of [
    [1, ""],
    [1, "locus-key-ring 1"],
    [1, "\ufefflocus-key-ring 1\nactive 2\n"],
    [1, TEXT.replace("ring 1", "ring 2")],
    [1, TEXT.replaceAll("\n", "\r\n")],
    [2, "locus-key-ring 1\n"],
    [2, TEXT.replace("active 2", "active 02")],
    [2, TEXT.replace("active 2", "active 128")],
    [2, TEXT.replace("active 2", "active 0")],
    [2, TEXT.replace("active 2", "active 1")],
    [3, TEXT.replace("0 retired", "")],
    [3, TEXT.replace("0 retired", "0  retired")],
    [3, TEXT.replace("0 retired", "0 gone")],
    [3, TEXT.replace("0 retired", "-0 retired")],
    [4, TEXT.replace("0 retired", "2 retired")],
    [4, TEXT.replace(BASE64, loose)],
    [4, TEXT.replace(BASE64, unused)],
    [4, TEXT.replace(BASE64, BASE64.slice(0, -1))],
    [4, TEXT.replace(BASE64, ` ${BASE64}`)],
    [4, TEXT.slice(0, -1)],
    [5, `${TEXT}\n`],
    [5, `${TEXT}x`],
  ]) {
    assert.throws(
      () => KeyRing.parse(text),
      (error) => {
        assert.equal(error.code, "INVALID_ARGUMENT");
        assert.ok(error.message.startsWith(`key ring, line ${line}: `), `${text}${error.message}`);
        assert.ok(!error.message.includes(BASE64.slice(0, 8)), error.message);
        return true;
      },
    );
  }
});

test("keys that make no ring are refused", () => {
  assert.throws(() => new KeyRing(1, [[1, KEY.subarray(1)]]), refusal(/^a key of 31 bytes; /));
  assert.throws(() => new KeyRing(1, [[1, null]]), refusal(/ active version is missing$/));
  assert.throws(() => new KeyRing(1, [[128, KEY]]), refusal("key version 128 is not in 0..127"));
  assert.throws(() => new KeyRing(1, [[1, BASE64]]), TypeError);
});

test("a private file is read", () => {
  withFile((path) => {
    for (const mode of [0o600, 0o400]) {
      chmodSync(path, mode);
      assert.equal(loadKeyRing(path).active, 2);
    }
  });
});

test("permissions for group or others are refused", () => {
  withFile((path) => {
    for (const mode of [0o640, 0o604, 0o610, 0o602, 0o777]) {
      chmodSync(path, mode);
      const message =
        `"${path}" has permissions ${mode.toString(8)}; group and others must have none ` +
        "(chmod 600)";
      assert.throws(() => loadKeyRing(path), refusal(message, "FAILED_PRECONDITION"));
    }
  });
});

test("the file of another user is refused", () => {
  withFile((path) => {
    const file = statSync(path);
    checkPrivate({ mode: file.mode, uid: 0, isFile: () => true }, '"keys"', 1000);
    assert.throws(
      () => checkPrivate({ mode: file.mode, uid: 1001, isFile: () => true }, '"keys"', 1000),
      refusal(
        '"keys" belongs to user 1001, who is neither root nor user 1000',
        "FAILED_PRECONDITION",
      ),
    );
  });
});

test("what is no regular file is refused at once", () => {
  withFile((path) => {
    rmSync(path);
    execFileSync("mkfifo", ["-m", "600", path]);
    const expected = refusal(`"${path}" is not a regular file`, "FAILED_PRECONDITION");
    assert.throws(() => loadKeyRing(path), expected);
  });
});

test("broken, long and missing files are told by their path", () => {
  withFile((path) => {
    writeFileSync(path, "x".repeat(8193));
    assert.throws(() => loadKeyRing(path), refusal(`"${path}" is longer than 8192 bytes`));
    writeFileSync(path, `${TEXT}3\n`);
    assert.throws(() => loadKeyRing(path), refusal(new RegExp(`^"${path}", line 5: `)));
    rmSync(path);
    assert.throws(() => loadKeyRing(path), { code: "ENOENT" });
  });
});
