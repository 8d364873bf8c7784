// SPDX-License-Identifier: Apache-2.0
// The two hashes that a shard gene is made of: XXH64 (Y. Collet, xxHash 0.8) and
// MurmurHash3_x64_128 (A. Appleby, smhasher), both with seed 0, each written from its published
// definition. Neither is a cryptographic hash.

const MASK = (1n << 64n) - 1n;

// The primes of XXH64.
const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;

// The constants of MurmurHash3_x64_128.
const C1 = 0x87c37b91114253d5n;
const C2 = 0x4cf5ad432745937fn;
const F1 = 0xff51afd7ed558ccdn;
const F2 = 0xc4ceb9fe1a85ec53n;

function rotate(word: bigint, bits: bigint): bigint {
  return ((word << bits) | (word >> (64n - bits))) & MASK;
}

function xxhRound(lane: bigint, word: bigint): bigint {
  return (rotate((lane + word * P2) & MASK, 31n) * P1) & MASK;
}

/** XXH64 of `data` with seed 0: 0..2^64 - 1. */
export function xxh64(data: Uint8Array): bigint {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const size = data.length;
  let at = 0;
  let state = P5;
  if (size >= 32) {
    const lanes = [(P1 + P2) & MASK, P2, 0n, -P1 & MASK];
    for (; size - at >= 32; at += 32) {
      for (let lane = 0; lane < 4; ++lane) {
        lanes[lane] = xxhRound(lanes[lane]!, view.getBigUint64(at + 8 * lane, true));
      }
    }
    const [a, b, c, d] = lanes as [bigint, bigint, bigint, bigint];
    state = (rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n)) & MASK;
    for (const lane of lanes) state = ((state ^ xxhRound(0n, lane)) * P1 + P4) & MASK;
  }
  state = (state + BigInt(size)) & MASK;
  for (; size - at >= 8; at += 8) {
    const word = xxhRound(0n, view.getBigUint64(at, true));
    state = (rotate(state ^ word, 27n) * P1 + P4) & MASK;
  }
  if (size - at >= 4) {
    const word = (BigInt(view.getUint32(at, true)) * P1) & MASK;
    state = (rotate(state ^ word, 23n) * P2 + P3) & MASK;
    at += 4;
  }
  for (; at < size; ++at) {
    state = (rotate(state ^ ((BigInt(view.getUint8(at)) * P5) & MASK), 11n) * P1) & MASK;
  }
  state = ((state ^ (state >> 33n)) * P2) & MASK;
  state = ((state ^ (state >> 29n)) * P3) & MASK;
  return state ^ (state >> 32n);
}

function murmurFirst(word: bigint): bigint {
  return (rotate((word * C1) & MASK, 31n) * C2) & MASK;
}

function murmurSecond(word: bigint): bigint {
  return (rotate((word * C2) & MASK, 33n) * C1) & MASK;
}

function murmurFinal(word: bigint): bigint {
  word = ((word ^ (word >> 33n)) * F1) & MASK;
  word = ((word ^ (word >> 33n)) * F2) & MASK;
  return word ^ (word >> 33n);
}

/** The first 8 bytes of MurmurHash3_x64_128 of `data` with seed 0, read little-endian:
 * 0..2^64 - 1. The reference code calls this word `out[0]`. */
export function murmur3Low64(data: Uint8Array): bigint {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const size = data.length;
  const whole = size - (size % 16);
  let first = 0n;
  let second = 0n;
  for (let at = 0; at < whole; at += 16) {
    first = rotate(first ^ murmurFirst(view.getBigUint64(at, true)), 27n);
    first = ((first + second) * 5n + 0x52dce729n) & MASK;
    second = rotate(second ^ murmurSecond(view.getBigUint64(at + 8, true)), 31n);
    second = ((second + first) * 5n + 0x38495ab5n) & MASK;
  }
  // A missing byte is 0, and a word of zeros changes nothing.
  const rest = new Uint8Array(16);
  rest.set(data.subarray(whole));
  const words = new DataView(rest.buffer);
  second ^= murmurSecond(words.getBigUint64(8, true)) ^ BigInt(size);
  first ^= murmurFirst(words.getBigUint64(0, true)) ^ BigInt(size);
  first = (first + second) & MASK;
  second = (second + first) & MASK;
  return (murmurFinal(first) + murmurFinal(second)) & MASK;
}
