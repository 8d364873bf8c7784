// SPDX-License-Identifier: Apache-2.0
// What the console's page asks locusd, and what it is answered. The server's side is
// apps/locusd/console; tests/console holds it to this file.
//
// Rules for all of it:
// - A token goes into the header "Authorization: Bearer TOKEN". The page itself (/, its scripts and
//   styles) needs none. In laptop mode nobody is asked for one.
// - Requests that change or plan something (POST) need "Content-Type: application/json" and
//   "Locus-Console: 1". With these a foreign page cannot send them; the server also compares Origin
//   and Sec-Fetch-Site where a browser sends them.
// - Every answer that is not 2xx has a body of type application/problem+json: `Problem`.
//   400 the request is wrong (INVALID_ARGUMENT); 401 the token is missing or not known; 403 the token
//   lacks the scope (the detail names it), or a foreign page asks; 404 this service has no such thing (NOT_FOUND; the detail says which part is
//   not configured); 409 somebody else was faster (ABORTED: load and plan again), or the change is
//   refused (FAILED_PRECONDITION); 413 a body beyond api.body_bytes (1 MiB); 429, 503 with Retry-After: later
//   (UNAVAILABLE); 500 somebody must mend something, and the detail says what.
// - Epochs are numbers: JavaScript rounds those beyond 2^53, which no place reaches epoch by epoch.
//   IDs, order_nos, sequences and tokens of leases are texts. Times are milliseconds since 1970 (`..._at_ms`, `now_ms`) or, where the command
//   prints them so, texts like "2026-01-02T03:04:05Z". Durations are milliseconds; null: without
//   end, or not known.
// - Later versions may add members to answers and events: ignore what is not known.

export interface Problem {
  title: string;
  status: number;
  // For people: names the value, the limit and the place.
  detail: string;
  // "INVALID_ARGUMENT", "ABORTED", ...
  code: string;
}

// What a token allows.
// "read": everything that is shown. "publish": POST /v1/plan:publish. "decode": the order ID
// behind an order_no in /v1/inspect.
export type Scope = "read" | "publish" | "decode";

// GET /v1/console/session. Scope: none, not even a token; then `scopes` is empty and all below
// `mode` is absent. Errors: 401 with a token that is not known.
export interface Session {
  scopes: Scope[];
  // "laptop": without a configuration, on loopback; nobody is asked for a token.
  mode: "laptop" | "configured";
  // The name of the token; "" in laptop mode.
  client?: string;
  version?: string;
  roles?: ("id-service" | "lease-node")[];
  now_ms?: number;
  // What there is to be shown. False: the path answers 404, and `absent` says why, by the same name:
  // {"moves": "no console.move_file is configured: moves are shown as the table has them"}.
  offers?: {
    table: boolean;
    // The place keeps earlier tables: /v1/table/history, /v1/table/diff, /v1/table?epoch=.
    history: boolean;
    plan: boolean;
    // There is a place to publish to. Needs the scope as well.
    publish: boolean;
    // The state of moves is read from their shards; false: /v1/moves tells what the table says.
    moves: boolean;
    leases: boolean;
    members: boolean;
    stats: boolean;
    // There are keys. Needs the scope as well.
    decode: boolean;
  };
  absent?: Record<string, string>;
}

// The document of DESIGN.md §4, as `locus table get` prints it.
export interface TableDocument {
  epoch: number;
  table_id?: string;
  shards: Shard[];
  // The first range whose `last` is not below a vnode owns it; vnodes above the highest `last`
  // belong to the first range.
  ranges: { last: number; shard: number }[];
  // Left out by the server where there are none; the page puts [] there.
  moves: VnodeMove[];
}
export interface Shard {
  id: number;
  name: string;
  endpoint: string;
  weight: number;
  labels?: Record<string, string>;
}
export interface VnodeMove {
  first: number;
  last: number;
  to: number;
  // 0..10000: this part of the cohorts has moved.
  permyriad: number;
  step: number;
}

// How the routing table is followed (RouterStats).
export interface TableSourceState {
  // "none": there is no source; "following": the table in force is its newest; "refused": it has a
  // table that was refused (`refusals`); "failing": it does not answer (`error`).
  state: "none" | "following" | "refused" | "failing";
  // Without credentials; "" without a source.
  place: string;
  error: string | null;
  installed_at_ms: number;
  // How old the table in force may be.
  age_ms: number | null;
  from_last_good_file: boolean;
  installs: number;
  reads: number;
  read_failures: number;
  // The newest first, at most 8.
  refusals: { epoch: number; reason: string; at_ms: number; times: number }[];
}

// GET /v1/table: the table in force in this process. GET /v1/table?epoch=N: one that the place
// keeps, with `source` null. Scope: read. Errors: 404 no table configured, or that epoch is not
// kept; 503 the place does not answer.
export interface TableAnswer {
  epoch: number;
  table_id: string | null;
  document: TableDocument;
  source: TableSourceState | null;
}

// GET /v1/table/history?most=N (1..1000, 100): as `locus table history --json`, the newest first.
// Scope: read. Errors: 404 no place that keeps tables; 503 it does not answer.
export interface TableHistory {
  place: string;
  tables: { epoch: number; published_at: string }[];
}

// GET /v1/table/diff?before=N[&after=M]: as `locus table diff --json`, of two epochs that the place
// keeps; `after` is the newest if it is not given. Scope: read. Errors: 400; 404 an epoch is not
// kept; 503.
export interface TableDiff {
  before: { epoch: number; table_id?: string; moves: VnodeMove[] };
  after: { epoch: number; table_id?: string; moves: VnodeMove[] };
  shards_added: Shard[];
  shards_removed: Shard[];
  shards_changed: { before: Shard; after: Shard }[];
  owners_changed: { first: number; last: number; from: number; to: number }[];
  // As `locus table diff` prints it, lines ended by "\n".
  text: string;
}

// GET /v1/shards: shares by vnode, weight and load. Scope: read. Errors: 404 no table.
export interface ShardsAnswer {
  epoch: number;
  shards: (Shard & {
    vnodes: number;
    // Of all vnodes, 0..1.
    share: number;
    // The share that its weight gives it, 0..1.
    weight_share: number;
    // Vnodes that it is getting and giving in moves of the table.
    moving_in: number;
    moving_out: number;
    load: ShardLoad | null;
  })[];
  // What `load` of the shards was counted from, or why it is null.
  load: {
    // "ids": order IDs that this process gave out within `window_ms`, which it knows by vnode.
    by: "ids" | null;
    window_ms: number;
    why_absent: string | null;
  };
}
export interface ShardLoad {
  ids_per_second: number;
  // Of all of them, 0..1; 0 while there are none.
  share: number;
}

// GET /v1/moves: the moves of the table, and those of the move file (console.move_file) as `locus
// move status --json` shows them. Scope: read. Errors: 404 no table.
export interface MovesAnswer {
  // Of the table in force.
  epoch: number;
  table_moves: (VnodeMove & { from: number })[];
  // What the shards say; empty without a move file.
  moves: MoveStatus[];
  // The path of the move file for the commands in `next`; null: there is none.
  file: string | null;
  // When the shards were last asked; null: never.
  looked_at_ms: number | null;
  // Why they could not be asked the last time; null: they answered. `moves` is then what they said
  // before.
  error: string | null;
  // Of shards that did not answer, whose moves may be missing; "": none.
  unheard: string;
}
export interface MoveStatus {
  move: string;
  // "not begun", "PLANNED", "COPYING", "READY(5.00 %)", ...; with ", held" and the like behind it.
  state: string;
  // [first, last] each.
  vnodes: [number, number][];
  source: MoveSide;
  target: MoveSide;
  // Permyriad; null: a shard does not answer, so it is not known.
  share: number | null;
  // For people: what the routing table says of it.
  table: string;
  // Of an operator: "locus move set move.toml --share 20 %", "wait", "nothing: it is over".
  next: string;
  // Whether `next` is a command, which can be copied.
  next_is_command: boolean;
  // The move goes on with other tables than this file's; "": it does not.
  other_tables: string;
  // These only once it was begun.
  phase?: string;
  wish?: {
    goal: number;
    by: number;
    dwell_ms: number;
    // Why it is held; "": it is not.
    hold: string;
    ending: string;
    repair: string;
  };
  // silent_ms: since the runner last said that it lives; -1: never. Above 10,000 the figures are
  // old, and `next` is to run it.
  runner?: { name: string; silent_ms: number };
  figures?: MoveFigures;
}
export interface MoveSide {
  id: number;
  name: string;
  // The cohorts own_lo..own_hi - 1 are accepted there.
  fence: { own_lo: number; own_hi: number; step: number } | { trouble: string };
  // Sessions that wait until the server's disk has space again.
  waits_for_space: number;
}
// What the runner told last; {} where it has told nothing. Every member may be missing.
export interface MoveFigures {
  state?: string;
  share?: number;
  step?: number;
  goal?: number;
  waiting_for?: string;
  next?: string;
  // From the source to the target, and back. lag_ms -1: it stands still.
  forth?: MoveStream;
  back?: MoveStream;
  copied?: { rows: number; estimated: number; rows_per_second: number };
  compared?: { rows: number; slices: number; differences: number; done: boolean };
  deleted?: { rows: number };
  // What writers of each band waited at its step.
  band_waits_ms?: { steps: number; p50: number; p99: number; max: number };
  gates?: { name: string; threshold: string; value: string; ok: boolean }[];
  unguarded?: string;
  differs?: string;
  published?: { share: number; step: number };
}
export interface MoveStream {
  lag_ms: number;
  passed?: boolean;
  transactions?: number;
  rows_written?: number;
  rows_skipped?: number;
  // Writes past the guards.
  rogue?: number;
  waiting?: string;
  broken?: string;
}

// POST /v1/plan with PlanRequest: plans, publishes nothing. Either the changes, or `plan`: one that
// was made before, to go on with its next moves as `locus plan apply` does. Scope: read. Errors:
// 400 with the value and the limit; 404 no table; 409 (ABORTED) `epoch` is not the newest of the
// place, or the plan does not fit the table any more.
export interface PlanRequest {
  // The epoch that the page shows; not given: whichever is the newest of the place.
  epoch?: number;
  add?: { name: string; endpoint: string; weight?: number; labels?: Record<string, string> }[];
  // Names of shards that give all their vnodes away.
  remove?: string[];
  // By name; 0..1000000.
  weights?: Record<string, number>;
  // "ids": divide by the order IDs that this process gave out, as /v1/shards counts them.
  load?: "ids";
  // With load: 0..1, 0.01.
  tolerance?: number;
  plan?: Plan;
  // The greatest number of moves of one shard at a time, 1..65536; 1.
  most_per_shard?: number;
}
// As `locus plan --json` prints it.
export interface Plan {
  epoch: number;
  table_id?: string;
  shards: Shard[];
  moves: { first: number; last: number; from: string; to: string }[];
  reweighted?: string[];
  moved_vnodes: number;
  // Vnodes by shard's name.
  before: Record<string, number>;
  after: Record<string, number>;
  moved_load: number;
  peak_before?: number;
  peak_after?: number;
}
export interface PlanAnswer {
  // The epoch that it was planned from.
  epoch: number;
  plan: Plan;
  // The rings before and after, as `locus plan --svg` draws them. It has no scripts and no
  // references; show it as <img src="data:image/svg+xml,..."> (the CSP takes no inline styles).
  svg: string;
  // As `locus plan` prints it.
  text: string;
  // What publishing would do now. null: nothing is left to do, and `unchanged` says why.
  next: {
    epoch: number;
    diff: TableDiff;
    // Moves of the plan that begin now, and those that wait for others to end.
    begins: number;
    waits: number;
    // Of the table that would be published, and of the epoch: to be sent back.
    digest: string;
  } | null;
  unchanged: string | null;
}

// POST /v1/plan:publish with PublishRequest: begins the next moves of the plan, by compare-and-set.
// Scope: publish. Errors: 400; 404 no place to publish to; 409 ABORTED: another table was published
// since, or the digest is not that of the table that would be published: plan again; 409
// FAILED_PRECONDITION: the change is one that needs a person at the command line; 503 UNAVAILABLE:
// the place does not answer; it may have been published, and to send the same again is harmless.
export interface PublishRequest {
  // PlanAnswer.epoch, .plan, .next.digest; most_per_shard as in the request.
  epoch: number;
  plan: Plan;
  digest: string;
  most_per_shard?: number;
}
export interface PublishAnswer {
  epoch: number;
  diff: TableDiff;
  // It had been published before, by the same request.
  already: boolean;
}

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
    leases: number;
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
    lease_latency: Latency;
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
  leases: number;
  store_calls: number;
  store_failures: number;
  losses: number;
  starved: number;
  autonomy_ms: number | null;
  lead_ms: number;
  clock_offset_ms: number;
  lease_latency: Latency;
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
  lease_left_ms: (number | null)[];
}

// GET /v1/inspect?text=T: as `locus inspect` prints it. T is an order ID or order_no in any form that
// the command takes, or with a prefix "gene:N" (a vnode, 0..65535), "buyer:KEY", "snowflake:ID".
// Scope: read; what an order_no hides (order_id, sequence, cohort) only with the scope decode.
// Errors: 400 T is none of these, or made with other keys (with the scope).
export interface InspectAnswer {
  kind: "order_id" | "order_no" | "gene" | "snowflake";
  width?: 64 | 128;
  gene?: number;
  cohort?: number;
  key_version?: number;
  sequence?: string;
  order_id?: string;
  order_no?: string;
  // Names. `target`: while the vnode moves and the cohort is not known, it may also be there.
  shard?: string;
  target?: string;
  // Of a gene: the move of its vnode, if there is one.
  permyriad?: number;
  // Of a Snowflake.
  time?: string;
  datacenter?: number;
  worker?: number;
}

// GET /v1/leases?space=NAME[&from=WORKER][&limit=N] (1..1024): worker IDs of a space, ascending. A
// lease node needs the space; other services take their own if it is not given. Scope: read.
// Errors: 404 no lease store; 503.
export interface LeasesAnswer {
  now_ms: number;
  // No ID is granted before; null: no rest.
  rest_until_ms: number | null;
  losses: number;
  workers: {
    worker: number;
    token: string;
    floor_ms: number | null;
    ceiling_ms: number | null;
    granted_at_ms: number;
    renewed_at_ms: number;
    // "": it was released.
    nonce: string;
    // A JSON object as text, or "".
    holder: string;
  }[];
  // Ask again with from=; null: no more follow.
  next: number | null;
}

// GET /v1/members: members of the cluster of lease nodes. Scope: read. Errors: 404 this service has
// none; 503.
export type MembersAnswer = {
  id: string;
  address: string;
  voter: boolean;
  leader: boolean;
  // Index in the log up to which the leader knows it to have it.
  match: number;
  forgot: boolean;
  // Since the leader last heard of it; null: it does not know, or is another.
  silent_ms: number | null;
}[];

// GET /v1/events: text/event-stream. Scope: read. EventSource cannot send a token: read it with
// fetch() and a reader of response.body (in laptop mode EventSource works, too). First come the
// events "table", "moves" and "stats" as they are now, then each when it changes; "stats" every 2
// seconds. A line ": beat" comes at least every 10 s: after 30 s without any, connect again. The
// server ends streams whose reader is too slow, each after 10 minutes (the token is asked for again),
// and all of them when it stops; pause 1 to 5 s before connecting again. Errors: 503 with Retry-After: there are as many streams as there may be.
export interface ConsoleEvents {
  // A table came into force, or its source has another state: load what /v1/table and /v1/shards
  // say if the epoch is new.
  table: { epoch: number; table_id: string | null; source: TableSourceState };
  moves: MovesAnswer;
  stats: Stats;
}

export const paths = {
  session: "/v1/console/session",
  table: "/v1/table",
  history: "/v1/table/history",
  diff: "/v1/table/diff",
  shards: "/v1/shards",
  moves: "/v1/moves",
  events: "/v1/events",
  plan: "/v1/plan",
  publish: "/v1/plan:publish",
  leases: "/v1/leases",
  members: "/v1/members",
  stats: "/v1/stats",
  inspect: "/v1/inspect",
} as const;
