// SPDX-License-Identifier: Apache-2.0
// Of api.ts: sequence types, and strict sequences.

// GET /v1/types: the types of the store of this service's sequences (`locus seq type`), and the counters
// that this process counts by them. Scope: read. Errors: 404 there are no sequences, or their store
// keeps no sequence types; 503 it does not answer.
export interface TypesAnswer {
  now_ms: number;
  // By name.
  types: NumberType[];
}
// Numbers that may pass 2^53 are texts.
export interface NumberType {
  name: string;
  // Rises with each change; another one altogether after the type was dropped and created again.
  version: string;
  // The store has it no more, and counters of this process still refuse its numbers.
  dropped: boolean;
  // As of NumberFormat; "": plain numbers.
  pattern: string;
  // Counting starts again with each.
  period: "none" | "day" | "month" | "year";
  zone: string;
  start: string;
  step: string;
  // "0": 2^63 - 1.
  max_value: string;
  // Past the highest number: refused, or from the first one again.
  at_max: "error" | "wrap";
  // A counter that is not used for so long is forgotten; 0: never.
  ttl_ms: number;
  // How many numbers a process takes at once; "0": by use.
  buffer: string;
  leftovers: "return" | "drop";
  // Within this time a change of the type is in force.
  lifetime_ms: number;
  // The first number of a counter as it would be written now; null: callers give fields, or there is
  // no pattern.
  first_number: string | null;
  // Fields of the pattern that callers give.
  fields: string[];
  counters: NumberCounter[];
}
// A key of a type that this process counts.
export interface NumberCounter {
  key: string;
  // That it counts by; "0": the type was dropped.
  type_version: string;
  // Drawn since the counter was opened here.
  numbers: number;
  // Why the type was not read the last time.
  type_error: string | null;
}

// Of each type that this process counts by: its versions. A counter was opened, or a
// change of a type came into force here: load what /v1/types says.
export interface TypesEvent {
  types: { name: string; type_versions: string[] }[];
}

// GET /v1/strict/status: the set of strict sequences, as this node knows it. Scope: read. Errors: 404
// this process is no sequence-node.
export interface StrictStatus {
  set: string;
  // The name of this node.
  node: string;
  // The set in the store is open; otherwise nothing below is known but the options.
  open: boolean;
  // This node takes sections; false: it was told not to, or ends.
  takes: boolean;
  first_uid: string;
  uids: string;
  section_size: number;
  sections: number;
  step: string;
  ttl_ms: number;
  // Rises with each change of an owner.
  table_version: string;
  // Since the store was read; null: it was not yet.
  looked_ms: number | null;
  // After a loss: until the store grants sections again; 0: it grants.
  rests_ms: number;
  // How often the store noticed that it had lost what it stored; null: not known yet.
  losses: number | null;
  // Until the first section of this node stops, if the store does not answer; null: it has none.
  ownership_left_ms: number | null;
  // This one, those that are heard, and those that the table names, by name.
  nodes: StrictNode[];
  // Handed over, and not taken yet: a hand-over is under way.
  handed_over: StrictHandOver[];
  // Nobody has them.
  free: StrictSections;
}
export interface StrictNode {
  name: string;
  address: string;
  // Its part of the load against the others'; 0: it takes no sections, or is not heard.
  weight: number;
  self: boolean;
  // This node hears it; false: it stands in the table only.
  heard: boolean;
  sections: number;
  // As far as its sections were told, on average over ten seconds.
  numbers_per_second: number;
  // The first 256.
  ranges: StrictRange[];
}
export interface StrictHandOver {
  // The name of the node that is to take them.
  to: string;
  sections: number;
  ranges: StrictRange[];
}
export interface StrictSections {
  sections: number;
  ranges: StrictRange[];
}
export interface StrictRange {
  first: number;
  last: number;
}
