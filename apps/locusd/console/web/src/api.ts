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
//   400 the request is wrong (INVALID_ARGUMENT); 401 the token is missing or not known (UNAUTHENTICATED);
//   403 the token lacks the scope (the detail names it), or a foreign page asks (PERMISSION_DENIED); 404 this service has no such thing (NOT_FOUND; the detail says which part is
//   not configured); 409 somebody else was faster (ABORTED: load and plan again), or the change is
//   refused (FAILED_PRECONDITION); 413 a body beyond api.body_bytes (1 MiB); 429, 503 with Retry-After: later
//   (UNAVAILABLE); 500 somebody must mend something, and the detail says what.
// - Epochs are numbers: JavaScript rounds those beyond 2^53, which no place reaches epoch by epoch.
//   IDs, order_nos, sequences and tokens of leases are texts. Times are milliseconds since 1970 (`..._at_ms`, `now_ms`) or, where the command
//   prints them so, texts like "2026-01-02T03:04:05Z". Durations are milliseconds; null: without
//   end, or not known.
// - Later versions may add members to answers and events: ignore what is not known.

import type { MovesAnswer } from "./api_moves";
import type { TypesEvent } from "./api_sequences";
import type { Stats } from "./api_stats";

export * from "./api_moves";
export * from "./api_sequences";
export * from "./api_stats";

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
  // What the configuration calls this installation, and the colour of that name. Absent: no name.
  environment?: string;
  colour?: "red" | "amber" | "green" | "blue" | "grey";
  version?: string;
  roles?: ("id-service" | "cluster-node" | "sequence-node")[];
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
    // Sequence types: /v1/types.
    types: boolean;
    // This process is a node of strict sequences: /v1/strict/status.
    strict: boolean;
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
  // Who published it, and why: where the place keeps that.
  tables: { epoch: number; published_at: string; author?: string; reason?: string }[];
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

// GET /v1/shards: portions by vnode, weight and load. Scope: read. Errors: 404 no table.
export interface ShardsAnswer {
  epoch: number;
  shards: (Shard & {
    vnodes: number;
    // Of all vnodes, 0..1.
    portion: number;
    // The portion that its weight gives it, 0..1.
    weight_portion: number;
    // Vnodes that it is getting and giving in moves of the table.
    moving_in: number;
    moving_out: number;
    load: ShardLoad | null;
    // null: the shard was not asked, since no move file is configured, or did not answer.
    writes: ShardWrites | null;
  })[];
  // What `load` of the shards was counted from, or why it is null.
  load: {
    // "ids": order IDs that this process gave out within `window_ms`, which it knows by vnode.
    by: "ids" | null;
    window_ms: number;
    why_absent: string | null;
    // Over which writes were counted; 0: they were not.
    writes_window_ms: number;
  };
}
// Statements that wrote rows, as the shard's server counts them.
export interface ShardWrites {
  per_second: number;
  // Of all shards that answered, 0..1.
  portion: number;
}
export interface ShardLoad {
  ids_per_second: number;
  // Of all of them, 0..1; 0 while there are none.
  portion: number;
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
// events "table", "moves", "types" and "stats" as they are now, then each when it changes, "types" within
// 2 seconds; "stats" every 2 seconds. A line ": beat" comes at least every 10 s: after 30 s without any, connect again. The
// server ends streams whose reader is too slow, each after 10 minutes (the token is asked for again),
// and all of them when it stops; pause 1 to 5 s before connecting again. Errors: 503 with Retry-After: there are as many streams as there may be.
export interface ConsoleEvents {
  // A table came into force, or its source has another state: load what /v1/table and /v1/shards
  // say if the epoch is new.
  table: { epoch: number; table_id: string | null; source: TableSourceState };
  moves: MovesAnswer;
  types: TypesEvent;
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
  types: "/v1/types",
  strict: "/v1/strict/status",
  stats: "/v1/stats",
  inspect: "/v1/inspect",
} as const;
