// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { VnodeMove } from "../api";
import { thousands } from "../base/format";
import { className, type Look } from "./colours";
import { arc, coarse, pathsByShard, point, type Run, vnodeAt, vnodeCount } from "./ring";

// From the inside out.
const inner = 62;
const outer = 90;
const track = 94;
const trackOuter = 104;
const scale = 52;
const edge = 112;
// About two for each pixel of the circle on a wide screen.
const mostRuns = 4096;

interface Props {
  runs: Run[];
  moves: VnodeMove[];
  looks: Map<number, Look>;
  // The vnode that is pointed at.
  needle: number | null;
  center: { above: string; middle: string; below: string };
  onPoint?: (vnode: number | null) => void;
  onChoose?: (vnode: number) => void;
}

// Numbers of shards, where their arcs have room for them.
function Labels({ runs }: { runs: Run[] }) {
  const wide = runs.filter((run) => run.last - run.first + 1 >= vnodeCount / 48);
  return (
    <g class="ring-labels">
      {wide.map((run) => {
        const [x, y] = point((run.first + run.last + 1) / 2, (inner + outer) / 2);
        return (
          <text key={run.first} x={x} y={y}>
            {run.shard}
          </text>
        );
      })}
    </g>
  );
}

// Outside of the owners: to whom a move goes, filled as far as it has come.
function Moves({ moves, looks }: { moves: VnodeMove[]; looks: Map<number, Look> }) {
  const drawn = useMemo(() => {
    const filled = new Map<number, string>();
    for (const move of moves) {
      const part = Math.max(1.2, ((trackOuter - track) * move.permyriad) / 10000);
      const path = arc(move.first, move.last, track, track + part);
      filled.set(move.to, (filled.get(move.to) ?? "") + path);
    }
    const all = (from: number, to: number) =>
      moves.map((move) => arc(move.first, move.last, from, to)).join("");
    return { moving: all(inner, outer), track: all(track, trackOuter), filled: [...filled] };
  }, [moves]);
  return (
    <g class="ring-moves">
      <path class="moving" d={drawn.moving} />
      <path class="track" d={drawn.track} />
      {drawn.filled.map(([to, path]) => (
        <path key={to} class={className(looks.get(to))} d={path} />
      ))}
    </g>
  );
}

function Scale() {
  return (
    <g class="ring-scale">
      {[0, 1, 2, 3].map((quarter) => {
        const [x, y] = point((quarter * vnodeCount) / 4, scale);
        return (
          <text key={quarter} x={x} y={y}>
            {thousands((quarter * vnodeCount) / 4)}
          </text>
        );
      })}
    </g>
  );
}

function Needle({ vnode }: { vnode: number }) {
  const [x1, y1] = point(vnode + 0.5, inner - 4);
  const [x2, y2] = point(vnode + 0.5, trackOuter + 2);
  return <path class="needle" d={`M${x1} ${y1}L${x2} ${y2}`} />;
}

// The ring itself; what it says is said in words beside it.
export function RingPicture({ runs, moves, looks, needle, center, onPoint, onChoose }: Props) {
  const drawn = useMemo(() => coarse(runs, mostRuns), [runs]);
  const paths = useMemo(() => [...pathsByShard(drawn, inner, outer)], [drawn]);
  const vnodeOf = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const x = event.clientX - box.left - box.width / 2;
    const y = event.clientY - box.top - box.height / 2;
    const radius = (Math.hypot(x, y) / box.width) * 2 * edge;
    return radius < inner - 12 || radius > edge ? null : vnodeAt(x, y);
  };
  const choose = (event: PointerEvent) => {
    const vnode = vnodeOf(event);
    if (vnode !== null) onChoose?.(vnode);
  };
  return (
    <svg
      class="ring"
      viewBox={`${-edge} ${-edge} ${2 * edge} ${2 * edge}`}
      aria-hidden="true"
      onPointerMove={(event) => onPoint?.(vnodeOf(event))}
      onPointerLeave={() => onPoint?.(null)}
      onClick={(event) => choose(event as unknown as PointerEvent)}
    >
      <defs>
        <pattern id="texture-1" width="5" height="5" patternUnits="userSpaceOnUse">
          <circle cx="1.5" cy="1.5" r="0.9" class="ink" />
        </pattern>
        <pattern id="texture-2" width="4" height="4" patternUnits="userSpaceOnUse">
          <path d="M0 1h4M1 0v4" class="ink-line" />
        </pattern>
        <pattern
          id="stripes"
          width="4"
          height="4"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <path d="M1 0v4" class="ink-line strong" />
        </pattern>
      </defs>
      <circle class="ring-back" r={(inner + outer) / 2} />
      {paths.map(([shard, path]) => (
        <path key={shard} class={className(looks.get(shard))} d={path} />
      ))}
      {paths
        .filter(([shard]) => (looks.get(shard)?.texture ?? 0) > 0)
        .map(([shard, path]) => (
          <path key={shard} class={`over-${looks.get(shard)?.texture}`} d={path} />
        ))}
      <Moves moves={moves} looks={looks} />
      <Labels runs={drawn} />
      <Scale />
      {needle !== null && <Needle vnode={needle} />}
      <g class="ring-center">
        <text y="-17" class="small">
          {center.above}
        </text>
        <text y="6" class="large">
          {center.middle}
        </text>
        <text y="24" class="small">
          {center.below}
        </text>
      </g>
    </svg>
  );
}
