// SPDX-License-Identifier: Apache-2.0
import type { MoveSide } from "../api";
import { ShardName, shardClass } from "../ring/shard_name";
import { bandText, whole } from "./move_facts";

// The cohorts that a shard accepts, of all 10,000.
export function BandBar({ side, part }: { side: MoveSide; part: string }) {
  const fence = "trouble" in side.fence ? null : side.fence;
  // One that has no row yet is none that does not answer.
  const silent = "trouble" in side.fence && side.fence.trouble !== "";
  const own = fence === null ? 0 : Math.max(0, fence.own_hi - fence.own_lo);
  return (
    <div class="band">
      <span class="band-name">
        <ShardName id={side.id} name={side.name} />
        <small>{part}</small>
      </span>
      <svg viewBox={`0 0 ${whole} 10`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-back" width={whole} height="10" />
        {fence !== null && own > 0 && (
          <rect class={shardClass(side.id)} x={fence.own_lo} width={own} height="10" />
        )}
      </svg>
      <span class={silent ? "band-text said bad" : "band-text"}>{bandText(side)}</span>
    </div>
  );
}
