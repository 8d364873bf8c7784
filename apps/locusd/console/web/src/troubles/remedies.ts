// SPDX-License-Identifier: Apache-2.0
// What to do about each kind of trouble: the section of the documentation that says it, and the
// command that helps, where there is one.

export interface Remedy {
  // A page of docs/ and its section.
  docs: string;
  command?: string;
}

const moves = "move/held.md#when-it-is-held";

export const remedies = {
  live: { docs: "use/http.md#a-service-for-other-machines" },
  service: { docs: "use/http.md#a-service-for-other-machines" },
  refused: {
    docs: "run/routing.md#what-to-watch",
    command: "locus table restore PLACE EPOCH",
  },
  "table-away": { docs: "run/routing.md#what-to-watch" },
  "last-good": { docs: "run/routing.md#the-last-good-file" },
  store: {
    docs: "run/operations.md#when-the-store-cannot-be-used",
    command: "locus store show URI",
  },
  autonomy: { docs: "run/alerts.md#locusautonomyshort" },
  starved: { docs: "run/alerts.md#locusstarvation" },
  loss: { docs: "run/store-loss.md#loss-of-the-store" },
  clock: { docs: "run/operations.md#clocks" },
  headroom: { docs: "run/operations.md#lead-used-up" },
  worker: { docs: "use/http.md#what-to-watch" },
  years: { docs: "run/operations.md#how-long-the-bits-last" },
  sequence: { docs: "run/operations.md#when-the-store-cannot-be-used" },
  "move-lost": { docs: "move/failover.md#after-a-failover" },
  "move-full": { docs: moves },
  "move-shard": { docs: moves },
  "move-held": { docs: moves, command: "locus move status MOVE-FILE" },
  "move-runner": { docs: "move/run.md#running-a-move", command: "locus move run MOVE-FILE" },
  "move-broken": {
    docs: "move/repair.md#statements-that-stop-a-stream",
    command: "locus move repair MOVE-FILE",
  },
  "move-guards": { docs: moves },
  "move-differs": {
    docs: "move/repair.md#rows-that-differ",
    command: "locus move status MOVE-FILE",
  },
  "move-rogue": { docs: "move/service.md#in-an-order-service" },
  moves: { docs: "run/console.md#what-it-shows-and-from-where" },
  unheard: { docs: "run/console.md#what-it-shows-and-from-where" },
  leader: { docs: "run/locusd-operations.md#day-by-day", command: "locus cluster status" },
  forgot: { docs: "run/locusd-operations.md#day-by-day", command: "locus cluster remove" },
  silent: { docs: "run/locusd-operations.md#day-by-day", command: "locus cluster status" },
  strict: { docs: "use/strict.md#nodes" },
} satisfies Record<string, Remedy>;

export type Kind = keyof typeof remedies;
