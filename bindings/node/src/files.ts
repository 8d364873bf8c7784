// SPDX-License-Identifier: Apache-2.0

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";

import { LocusError, invalid } from "./errors.js";
import { MAX_DOCUMENT_BYTES } from "./json_document.js";
import { KeyRing, MAX_KEY_RING_BYTES } from "./key_ring.js";
import { RoutingTable } from "./routing_table.js";
import { quoted } from "./texts.js";

/**
 * Reads a key ring file, which must be private: a regular file that belongs to root or the caller,
 * without any permission for group or others (0600 or stricter). For POSIX systems.
 *
 * FAILED_PRECONDITION: the file is not private. INVALID_ARGUMENT: it is not a key ring; the message
 * names path and line. Errors of Node: it cannot be opened or read.
 */
export function loadKeyRing(path: string): KeyRing {
  const name = quoted(path);
  // O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    checkPrivate(fstatSync(file), name);
    const octets = read(file, MAX_KEY_RING_BYTES);
    if (octets === undefined) throw invalid(`${name} is longer than ${MAX_KEY_RING_BYTES} bytes`);
    return KeyRing.parse(octets, name);
  } finally {
    closeSync(file);
  }
}

/** Reads the file of a routing table. INVALID_ARGUMENT: it is not a valid one; the message begins
 * with the path. Errors of Node: it cannot be opened or read. */
export function loadRoutingTable(path: string): RoutingTable {
  const file = openSync(path, constants.O_RDONLY);
  try {
    const octets = read(file, MAX_DOCUMENT_BYTES);
    if (octets === undefined) throw invalid(`it is longer than ${MAX_DOCUMENT_BYTES} bytes`);
    return new RoutingTable(octets);
  } catch (error) {
    if (!(error instanceof LocusError)) throw error;
    throw new LocusError(error.code, `${path}: ${error.message}`);
  } finally {
    closeSync(file);
  }
}

/** undefined: the file has more than `most` bytes. */
function read(file: number, most: number): Uint8Array | undefined {
  let octets = new Uint8Array(Math.min(most + 1, 65536));
  for (let size = 0; ;) {
    if (size > most) return undefined;
    if (size === octets.length) {
      const more = new Uint8Array(Math.min(most + 1, 2 * octets.length));
      more.set(octets);
      octets = more;
    }
    const taken = readSync(file, octets, size, octets.length - size, null);
    if (taken === 0) return octets.subarray(0, size);
    size += taken;
  }
}

/** `user`: who reads the file. */
export function checkPrivate(
  file: Pick<Stats, "isFile" | "mode" | "uid">,
  name: string,
  user = process.geteuid?.() ?? 0,
): void {
  const refuse = (reason: string) => new LocusError("FAILED_PRECONDITION", `${name} ${reason}`);
  if (!file.isFile()) throw refuse("is not a regular file");
  if ((file.mode & 0o077) !== 0) {
    const shown = (file.mode & 0o777).toString(8).padStart(3, "0");
    throw refuse(`has permissions ${shown}; group and others must have none (chmod 600)`);
  }
  if (file.uid !== 0 && file.uid !== user) {
    throw refuse(`belongs to user ${file.uid}, who is neither root nor user ${user}`);
  }
}
