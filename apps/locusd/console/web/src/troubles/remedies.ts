// SPDX-License-Identifier: Apache-2.0
// What to do about each kind of trouble: the section of the documentation that says it, and the
// command that helps, where there is one.

export interface Remedy {
  // A page of docs/ and its section.
  docs: string;
  command?: string;
}

const moves = "migration.md#when-it-is-held";

export const remedies = {
  live: { docs: "http.md#a-service-for-other-machines" },
  service: { docs: "http.md#a-service-for-other-machines" },
  refused: {
    docs: "operations-routing.md#what-to-watch",
    command: "locus table restore PLACE EPOCH",
  },
  "table-away": { docs: "operations-routing.md#what-to-watch" },
  "last-good": { docs: "operations-routing.md#the-last-good-file" },
  store: { docs: "operations.md#when-the-store-cannot-be-used", command: "locus store show URI" },
  autonomy: { docs: "deploy.md#locusautonomyshort" },
  starved: { docs: "deploy.md#locusstarvation" },
  loss: { docs: "operations.md#loss-of-the-store" },
  clock: { docs: "operations.md#clocks" },
  headroom: { docs: "operations.md#lead-used-up" },
  worker: { docs: "http.md#what-to-watch" },
  years: { docs: "operations.md#how-long-the-bits-last" },
  sequence: { docs: "operations.md#when-the-store-cannot-be-used" },
  "move-lost": { docs: "migration.md#after-a-failover" },
  "move-full": { docs: moves },
  "move-shard": { docs: moves },
  "move-held": { docs: moves, command: "locus move status MOVE-FILE" },
  "move-runner": { docs: "migration.md#running-a-move", command: "locus move run MOVE-FILE" },
  "move-broken": {
    docs: "migration.md#statements-that-stop-a-stream",
    command: "locus move repair MOVE-FILE",
  },
  "move-guards": { docs: moves },
  "move-differs": { docs: "migration.md#rows-that-differ", command: "locus move status MOVE-FILE" },
  "move-rogue": { docs: "migration.md#in-an-order-service" },
  moves: { docs: "console.md#what-it-shows-and-from-where" },
  unheard: { docs: "console.md#what-it-shows-and-from-where" },
  leader: { docs: "locusd.md#day-by-day", command: "locus cluster status" },
  forgot: { docs: "locusd.md#day-by-day", command: "locus cluster remove" },
  silent: { docs: "locusd.md#day-by-day", command: "locus cluster status" },
  strict: { docs: "strict.md#nodes" },
} satisfies Record<string, Remedy>;

export type Kind = keyof typeof remedies;
