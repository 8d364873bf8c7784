// SPDX-License-Identifier: Apache-2.0
// The ring as runs of vnodes, and runs as arcs. All functions are pure.

import type { TableDocument, VnodeMove } from "../api";

export const vnodeCount = 65536;

// Vnodes first..last belong to one shard.
export interface Run {
  first: number;
  last: number;
  shard: number;
}

// Who owns each vnode: runs that cover the ring in order, neighbours of one shard joined. Vnodes
// above the highest range belong to the first one.
export function runsOf(ranges: TableDocument["ranges"]): Run[] {
  const runs: Run[] = [];
  let first = 0;
  const add = (last: number, shard: number) => {
    if (last < first) return;
    const before = runs.at(-1);
    if (before?.shard === shard) before.last = last;
    else runs.push({ first, last, shard });
    first = last + 1;
  };
  for (const range of ranges) add(Math.min(range.last, vnodeCount - 1), range.shard);
  const wraps = ranges[0];
  if (wraps !== undefined) add(vnodeCount - 1, wraps.shard);
  return runs;
}

// The element that holds a vnode, of a list in order.
export function at<T extends { first: number; last: number }>(list: T[], vnode: number): T | null {
  let low = 0;
  let high = list.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const it = list[middle] as T;
    if (vnode < it.first) high = middle - 1;
    else if (vnode > it.last) low = middle + 1;
    else return it;
  }
  return null;
}

export interface VnodeFacts {
  vnode: number;
  run: Run;
  move: VnodeMove | null;
}

export function factsOf(runs: Run[], moves: VnodeMove[], vnode: number): VnodeFacts | null {
  const run = at(runs, vnode);
  if (run === null) return null;
  return { vnode, run, move: at(moves, vnode) };
}

// Where the next or the one before begins: for jumps by keyboard.
export function jump(runs: Run[], moves: VnodeMove[], vnode: number, forward: boolean): number {
  const marks = [...runs.map((run) => run.first), ...moves.map((move) => move.first)];
  const there = marks.filter((mark) => (forward ? mark > vnode : mark < vnode));
  if (there.length === 0) return forward ? Math.min(...marks) : Math.max(...marks);
  return forward ? Math.min(...there) : Math.max(...there);
}

// Rings of very many runs are drawn coarser: cells of equal size, each of the shard that owns most of
// it. Nobody sees a vnode of 1/100 pixel.
export function coarse(runs: Run[], cells: number): Run[] {
  if (runs.length <= cells) return runs;
  const size = vnodeCount / cells;
  const result: Run[] = [];
  let index = 0;
  for (let cell = 0; cell < cells; ++cell) {
    const first = Math.floor(cell * size);
    const last = Math.floor((cell + 1) * size) - 1;
    const owned = new Map<number, number>();
    while (index < runs.length) {
      const run = runs[index] as Run;
      if (run.first > last) break;
      const part = Math.min(run.last, last) - Math.max(run.first, first) + 1;
      owned.set(run.shard, (owned.get(run.shard) ?? 0) + part);
      if (run.last > last) break;
      ++index;
    }
    let best = -1;
    let most = 0;
    for (const [shard, vnodes] of owned) {
      if (vnodes > most) [best, most] = [shard, vnodes];
    }
    const before = result.at(-1);
    if (before?.shard === best) before.last = last;
    else result.push({ first, last, shard: best });
  }
  return result;
}

const round = (value: number) => Math.round(value * 100) / 100;

// Clockwise from the top, around 0/0.
export function point(vnode: number, radius: number): [number, number] {
  const angle = (vnode / vnodeCount) * 2 * Math.PI;
  return [round(radius * Math.sin(angle)), round(-radius * Math.cos(angle))];
}

// The vnode under a point; the inverse of `point`.
export function vnodeAt(x: number, y: number): number {
  const angle = Math.atan2(x, -y);
  const turn = (angle < 0 ? angle + 2 * Math.PI : angle) / (2 * Math.PI);
  return Math.min(vnodeCount - 1, Math.floor(turn * vnodeCount));
}

// The outline of vnodes first..last between two radii, as the data of an SVG path.
export function arc(first: number, last: number, inner: number, outer: number): string {
  const end = last + 1;
  if (end - first >= vnodeCount) {
    const circle = (radius: number) =>
      `M0 ${-radius}A${radius} ${radius} 0 1 1 0 ${radius}A${radius} ${radius} 0 1 1 0 ${-radius}Z`;
    return circle(outer) + circle(inner);
  }
  const large = end - first > vnodeCount / 2 ? 1 : 0;
  const [a, b, c, d] = [
    point(first, outer),
    point(end, outer),
    point(end, inner),
    point(first, inner),
  ];
  return (
    `M${a[0]} ${a[1]}A${outer} ${outer} 0 ${large} 1 ${b[0]} ${b[1]}` +
    `L${c[0]} ${c[1]}A${inner} ${inner} 0 ${large} 0 ${d[0]} ${d[1]}Z`
  );
}

// One path for each shard: a table of thousands of runs makes few elements.
export function pathsByShard(runs: Run[], inner: number, outer: number): Map<number, string> {
  const paths = new Map<number, string>();
  for (const run of runs) {
    const before = paths.get(run.shard) ?? "";
    paths.set(run.shard, before + arc(run.first, run.last, inner, outer));
  }
  return paths;
}

// A vnode that somebody typed: a number of 0..65535, with or without separators of thousands.
export function vnodeOf(text: string): number | null {
  const digits = text
    .trim()
    .replace(/^gene:/i, "")
    .replaceAll(/[\s,_']/g, "");
  if (!/^\d{1,5}$/.test(digits)) return null;
  const vnode = Number(digits);
  return vnode < vnodeCount ? vnode : null;
}
