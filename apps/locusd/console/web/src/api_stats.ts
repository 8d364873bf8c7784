// SPDX-License-Identifier: Apache-2.0
// Figures in the API of the console: see api.ts.
// GET /v1/stats: what this process counts. Scope: read. Parts that it does not have are null.
export interface StatsAnswer {
  now_ms: number;
  current: Stats;
  history: StatsHistory;
}
export interface Stats {
  at_ms: number;
  // The order ID generator.
  orders: {
    ids: number;
    ids_per_second: number;
    allocations: number;
    store_calls: number;
    store_failures: number;
    waits: number;
    first_uses: number;
    starved: number;
    losses: number;
    dropped: number;
    // How long it goes on without its store; null: no section is in use yet.
    autonomy_ms: number | null;
    // How far the leases are ahead of the floor, and how far they may be.
    lead_ms: number;
    most_lead_ms: number;
    // Of the section that has the least: what is left of the room between its leases and what the
    // store grants at most, 0..1. Absent: not counted.
    headroom?: number;
    // The store's clock less this process's; the one furthest from 0.
    clock_offset_ms: number;
    store_latency: Latency;
    store_error: string | null;
    stores: StoreStats[];
  } | null;
  snowflake: {
    ids: number;
    ids_per_second: number;
    worker: number;
    held: boolean;
    // Until the lease's deadline; negative: it has passed.
    left_ms: number;
    renewals: number;
    renewal_failures: number;
    leases: number;
    losses: number;
    waits: number;
    rollbacks: number;
    refusals: number;
    furthest_rollback_ms: number;
    years_left: number;
  } | null;
  sequences: {
    name: string;
    numbers: number;
    numbers_per_second: number;
    segments: number;
    store_failures: number;
    waits: number;
    starved: number;
    autonomy_ms: number | null;
    store_error: string | null;
  }[];
  // Sequences that are not listed, beyond 50.
  more_sequences: number;
  process: {
    started_at_ms: number;
    // Streams of events that are open, and how many may be.
    streams: number;
    most_streams: number;
    // Streams that were ended because their reader was too slow.
    slow_streams: number;
  };
}
export interface StoreStats {
  // In a set of stores; "" if there is one.
  name: string;
  first_section: number;
  last_section: number;
  allocations: number;
  store_calls: number;
  store_failures: number;
  losses: number;
  starved: number;
  autonomy_ms: number | null;
  lead_ms: number;
  clock_offset_ms: number;
  store_latency: Latency;
  // How long the call under way has waited; 0 without one.
  stalled_ms: number;
  error: string | null;
}
// Of the calls to a store since the start. Upper bounds of the bucket that the quantile lies in;
// null: beyond the last bucket's bound (30 s), or no calls.
export interface Latency {
  calls: number;
  mean_ms: number;
  p50_ms: number | null;
  p99_ms: number | null;
}
// For charts: the last minutes, one point each `step_ms` (2 s, 450 points). All arrays have the length
// of `at_ms`. null: not known at that time.
export interface StatsHistory {
  step_ms: number;
  at_ms: number[];
  orders_per_second: (number | null)[];
  snowflakes_per_second: (number | null)[];
  numbers_per_second: (number | null)[];
  // Times that a section ran out, within the step.
  starved: (number | null)[];
  store_failures: (number | null)[];
  losses: (number | null)[];
  autonomy_ms: (number | null)[];
  lead_ms: (number | null)[];
  clock_offset_ms: (number | null)[];
  ownership_left_ms: (number | null)[];
}
