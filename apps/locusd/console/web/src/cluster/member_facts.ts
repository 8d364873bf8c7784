// SPDX-License-Identifier: Apache-2.0
import type { MembersAnswer } from "../api";
import { duration } from "../base/format";
import type { Tone } from "../base/parts";

// Longer than an election takes: then the leader does not hear the member.
export const unheardAfter = 5000;

export function stateOf(member: MembersAnswer[number]): { tone: Tone; text: string } {
  if (member.forgot) return { tone: "bad", text: "forgot what it had confirmed: replace it" };
  if (member.leader) return { tone: "good", text: "leads" };
  if (member.silent_ms !== null && member.silent_ms > unheardAfter) {
    return { tone: "bad", text: `not heard for ${duration(member.silent_ms)}` };
  }
  return { tone: "calm", text: member.voter ? "follows" : "learns, has no vote yet" };
}
