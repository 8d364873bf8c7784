// SPDX-License-Identifier: Apache-2.0
// Reads the golden vectors, the files of tests/golden.
import { readFileSync } from "node:fs";

export function golden(name) {
  return JSON.parse(
    readFileSync(new URL(`../../../tests/golden/${name}`, import.meta.url), "utf8"),
  );
}

/** What assert.throws() takes: a LocusError of this code whose message fits. */
export function refusal(message, code = "INVALID_ARGUMENT") {
  return { name: "LocusError", code, message };
}
