// SPDX-License-Identifier: Apache-2.0
// Random draws that a seed repeats.
import { createHash, randomInt } from "node:crypto";

/** LOCUS_TEST_SEED, or one of its own, which is printed. */
export function seedOf(test) {
  const seed = process.env.LOCUS_TEST_SEED || String(randomInt(2 ** 32));
  console.log(`${test}: LOCUS_TEST_SEED=${seed}`);
  return seed;
}

export class Draw {
  #seed;
  #count = 0;
  #octets = Buffer.alloc(0);

  constructor(seed) {
    this.#seed = seed;
  }

  bytes(size) {
    while (this.#octets.length < size) {
      const more = createHash("sha512").update(`${this.#seed} ${this.#count++}`).digest();
      this.#octets = Buffer.concat([this.#octets, more]);
    }
    const taken = this.#octets.subarray(0, size);
    this.#octets = this.#octets.subarray(size);
    return taken;
  }

  /** 0..2^size - 1 */
  bits(size) {
    if (size === 0) return 0n;
    const octets = this.bytes(Math.ceil(size / 8));
    return BigInt.asUintN(size, BigInt(`0x${octets.toString("hex")}`));
  }

  /** 0..most - 1 */
  below(most) {
    return Number(this.bits(48) % BigInt(most));
  }

  choice(values) {
    return values[this.below(values.length)];
  }

  shuffle(values) {
    for (let place = values.length - 1; place > 0; --place) {
      const other = this.below(place + 1);
      [values[place], values[other]] = [values[other], values[place]];
    }
    return values;
  }

  sample(values, count) {
    return this.shuffle([...values]).slice(0, count);
  }

  /** A number of at most so many bits, of each length alike; often next to a power of two. */
  anyBits(most) {
    const size = this.below(most + 1);
    if (this.below(4)) return this.bits(size);
    const near = (1n << BigInt(size)) + BigInt(this.below(4) - 2);
    const last = (1n << BigInt(most)) - 1n;
    return near < 0n ? 0n : near > last ? last : near;
  }
}
