// SPDX-License-Identifier: Apache-2.0
// Moves and plans in the API of the console: see api.ts.
import type { Shard, TableDiff, VnodeMove } from "./api";

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
// How far rows were gone through. Earlier runners tell less.
export interface MoveProgress {
  rows: number;
  // About so many in all; 0: not known.
  estimated?: number;
  // Of the last minute in which some came.
  rows_per_second?: number;
  // -1: not known, as while it waits.
  left_s?: number;
  // Why it does not go on; empty: it does.
  waiting?: string;
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
  copied?: MoveProgress;
  compared?: MoveProgress & { slices: number; differences: number; done: boolean };
  deleted?: { rows: number };
  // What writers of each band waited at its step.
  band_waits_ms?: { steps: number; p50: number; p99: number; max: number };
  gates?: { name: string; threshold: string; value: string; ok: boolean }[];
  unguarded?: string;
  differs?: string;
  published?: { share: number; step: number };
  // What the next runner goes on with.
  waits?: {
    step: number;
    serial: number;
    share: number;
    taken_back: number;
    at_share_ms: number;
    gates_fail_ms: number;
    busy_ms: number;
  };
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
  // Kept beside the table, with the name of the token; at most 512 bytes.
  reason?: string;
}
export interface PublishAnswer {
  epoch: number;
  diff: TableDiff;
  // It had been published before, by the same request.
  already: boolean;
}
