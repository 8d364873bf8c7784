// SPDX-License-Identifier: Apache-2.0
import type { VnodeMove } from "../api";
import { thousands } from "../base/format";
import { className, type Look } from "./colours";
import { type Run, vnodeCount } from "./ring";

const width = 256;

// The part of a list that touches a window, cut to it.
export function within<T extends { first: number; last: number }>(
  list: T[],
  first: number,
  last: number,
): T[] {
  return list
    .filter((each) => each.last >= first && each.first <= last)
    .map((each) => ({
      ...each,
      first: Math.max(first, each.first),
      last: Math.min(last, each.last),
    }));
}

// The vnodes around one, each wide enough to be seen: a ring of 65,536 shows none of them.
export function RingStrip(props: {
  runs: Run[];
  moves: VnodeMove[];
  looks: Map<number, Look>;
  vnode: number;
}) {
  const first = Math.max(0, Math.min(vnodeCount - width, props.vnode - width / 2));
  const last = first + width - 1;
  const x = (vnode: number) => vnode - first;
  return (
    <figure class="strip">
      <svg viewBox={`0 0 ${width} 22`} preserveAspectRatio="none" aria-hidden="true">
        {within(props.runs, first, last).map((run) => (
          <rect
            key={run.first}
            class={className(props.looks.get(run.shard))}
            x={x(run.first)}
            y="6"
            width={run.last - run.first + 1}
            height="16"
          />
        ))}
        {within(props.moves, first, last).map((move) => (
          <rect
            key={move.first}
            class={className(props.looks.get(move.to))}
            x={x(move.first)}
            y="0"
            width={move.last - move.first + 1}
            height="4"
          />
        ))}
        <rect class="strip-needle" x={x(props.vnode)} y="0" width="1" height="22" />
      </svg>
      <figcaption>
        <span>{thousands(first)}</span>
        <span>{width} vnodes around the one shown; above them, where they move</span>
        <span>{thousands(last)}</span>
      </figcaption>
    </figure>
  );
}
