// SPDX-License-Identifier: Apache-2.0
// What is to be said of sequence types and of strict sequences. All functions are pure.

import type { NumberCounter, NumberType, StrictNode, StrictRange, StrictStatus } from "../api";
import { count, duration, thousands, thousandsOfText } from "../base/format";
import type { Tone } from "../base/parts";

export interface Remark {
  // The same while it lasts.
  key: string;
  tone: "bad" | "warn";
  text: string;
}

// Longer than nodes leave their store alone: it is read every ten seconds at the least.
const lookedLongAgo = 30_000;

// What is wrong with a set, the worst first.
export function strictRemarks(status: StrictStatus): Remark[] {
  const bad: Remark[] = [];
  const warn: Remark[] = [];
  const say = (list: Remark[], key: string, text: string) =>
    list.push({ key, tone: list === bad ? "bad" : "warn", text });
  if (!status.open) {
    say(
      bad,
      "strict open",
      "The set of strict sequences is not open: the log of the node says why.",
    );
    return bad;
  }
  if (status.ownership_left_ms !== null && status.ownership_left_ms < status.ttl_ms / 5) {
    const when =
      status.ownership_left_ms > 0
        ? `in ${duration(status.ownership_left_ms)} this node stops answering for them`
        : "this node does not answer for them";
    say(bad, "strict leases", `Leases of strict sections are not renewed: ${when}.`);
  }
  if (status.rests_ms > 0) {
    say(
      warn,
      "strict rests",
      `The store of the strict sequences lost what it stored, and grants no sections for another ${duration(status.rests_ms)}; what nodes have they go on serving.`,
    );
  }
  if (status.free.sections > 0) {
    say(
      bad,
      "strict free",
      `Nobody has ${count(status.free.sections, "strict section")}: their users get no numbers.`,
    );
  }
  for (const node of status.nodes) {
    if (node.heard || node.sections === 0) continue;
    say(
      bad,
      `strict node ${node.name} ${node.address}`,
      `The node ${node.name} is not heard, and has ${count(node.sections, "strict section")}: once their leases end, the others take them.`,
    );
  }
  if (status.looked_ms !== null && status.looked_ms > lookedLongAgo) {
    say(
      warn,
      "strict looked",
      `The table of strict sections was last read ${duration(status.looked_ms)} ago: the store does not answer.`,
    );
  }
  if (!status.takes) {
    say(
      warn,
      "strict takes",
      "This node takes no strict sections: it was told so, or ends. POST /v1/strict/sections:take has it take them again.",
    );
  }
  return [...bad, ...warn];
}

export function nodeState(node: StrictNode): { tone: Tone; text: string } {
  if (!node.heard) {
    return node.sections > 0 ? { tone: "bad", text: "not heard" } : { tone: "calm", text: "gone" };
  }
  if (node.weight === 0) return { tone: "warn", text: "takes no more sections" };
  return { tone: "good", text: node.self ? "this node" : "heard" };
}

// "0 – 4, 7, and more": the first few.
export function rangesText(ranges: StrictRange[], most = 6): string {
  const text = ranges
    .slice(0, most)
    .map(({ first, last }) =>
      first === last ? thousands(first) : `${thousands(first)} – ${thousands(last)}`,
    )
    .join(", ");
  return ranges.length > most ? `${text}, and more` : text;
}

// Of the uids of a set, which may pass 2^53.
export function uidsText(status: StrictStatus): string {
  const last = BigInt(status.first_uid) + BigInt(status.uids) - 1n;
  return `${thousandsOfText(status.first_uid)} – ${thousandsOfText(last.toString())}`;
}

export function typeState(type: NumberType): { tone: Tone; text: string } {
  if (type.dropped) return { tone: "bad", text: "dropped: its numbers are refused" };
  if (type.counters.some((counter) => counter.type_error !== null)) {
    return { tone: "warn", text: "cannot be read: the earlier version is in use" };
  }
  if (type.counters.some((counter) => counter.type_version !== type.version)) {
    return { tone: "warn", text: `changed: in use within ${duration(type.lifetime_ms)}` };
  }
  return type.counters.length > 0
    ? { tone: "good", text: "in use" }
    : { tone: "calm", text: "not used by this process" };
}

const periods: Record<NumberType["period"], string> = {
  none: "never begins again",
  day: "begins again each day",
  month: "begins again each month",
  year: "begins again each year",
};

// How its counters count, in words.
export function countingText(type: NumberType): string {
  const step = type.step === "1" ? "" : `, in steps of ${thousandsOfText(type.step)}`;
  const most = type.max_value === "0" ? "2^63 − 1" : thousandsOfText(type.max_value);
  const end = type.at_max === "wrap" ? "then from the first one again" : "then refused";
  const zone = type.period === "none" ? "" : ` of ${type.zone}`;
  const kept = type.ttl_ms > 0 ? `; forgotten after ${duration(type.ttl_ms)} without use` : "";
  return `from ${thousandsOfText(type.start)}${step}, to ${most}, ${end}; ${periods[type.period]}${zone}${kept}`;
}

// What the next numbers look like.
export function shapeText(type: NumberType): string {
  if (type.pattern === "") return "plain numbers";
  if (type.first_number !== null) return `first one now: ${type.first_number}`;
  return type.fields.length > 0 ? `callers give ${type.fields.join(", ")}` : "";
}

export function counterNote(counter: NumberCounter): string {
  if (counter.type_version === "0") return "the type was dropped";
  return counter.type_error ?? "";
}
