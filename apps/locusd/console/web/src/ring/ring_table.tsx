// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { TableDocument, VnodeMove } from "../api";
import { count, ofPermyriad, thousands, vnodes } from "../base/format";
import { Scroll, useFirst } from "../base/parts";
import type { Run } from "./ring";
import { ShardName } from "./shard_name";

interface Row extends Run {
  move: VnodeMove | null;
}

// The runs, cut where moves begin and end.
export function rowsOf(runs: Run[], moves: VnodeMove[]): Row[] {
  const rows: Row[] = [];
  let next = 0;
  for (const run of runs) {
    let first = run.first;
    while (first <= run.last) {
      while (next < moves.length && (moves[next] as VnodeMove).last < first) ++next;
      const move = moves[next];
      if (move === undefined || move.first > run.last) {
        rows.push({ ...run, first, move: null });
        break;
      }
      if (move.first > first) {
        rows.push({ ...run, first, last: move.first - 1, move: null });
        first = move.first;
        continue;
      }
      const last = Math.min(run.last, move.last);
      rows.push({ ...run, first, last, move });
      first = last + 1;
    }
  }
  return rows;
}

// What the ring shows, for readers who do not see it, and to be searched.
export function RingTable({ document, runs }: { document: TableDocument; runs: Run[] }) {
  const rows = useMemo(() => rowsOf(runs, document.moves), [runs, document]);
  const { shown, more } = useFirst(rows);
  return (
    <details class="card">
      <summary>The ring as a table ({count(rows.length, "row")})</summary>
      <Scroll label="Ranges of vnodes">
        <table class="dense">
          <thead>
            <tr>
              <th scope="col">vnodes</th>
              <th scope="col" class="number">
                how many
              </th>
              <th scope="col">owner</th>
              <th scope="col">moving to</th>
              <th scope="col" class="number">
                share there
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={row.first}>
                <th scope="row">{vnodes(row.first, row.last)}</th>
                <td class="number">{thousands(row.last - row.first + 1)}</td>
                <td>
                  <ShardName id={row.shard} />
                </td>
                <td>{row.move ? <ShardName id={row.move.to} /> : "–"}</td>
                <td class="number">{row.move ? ofPermyriad(row.move.permyriad) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {more}
    </details>
  );
}
