// SPDX-License-Identifier: Apache-2.0
import type { MovesAnswer } from "../api";
import { ago, ofPermyriad, thousands, vnodes } from "../base/format";
import { Bar, Card, Empty, ProblemNote, Scroll, useFirst, Waiting } from "../base/parts";
import { moves, offers, said, serviceNow } from "../base/state";
import { ShardName, shardClass } from "../ring/shard_name";
import { MoveCard } from "./move_card";

function TableMoves({ answer }: { answer: MovesAnswer }) {
  const { shown, more } = useFirst(answer.table_moves);
  return (
    <Card title="In the routing table" aside={`epoch ${thousands(answer.epoch)}`}>
      <Scroll label="Moves of the routing table">
        <table class="dense">
          <thead>
            <tr>
              <th scope="col">vnodes</th>
              <th scope="col">from</th>
              <th scope="col">to</th>
              <th scope="col">share at the target</th>
              <th scope="col" class="number">
                step
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((move) => (
              <tr key={move.first}>
                <th scope="row">{vnodes(move.first, move.last)}</th>
                <td>
                  <ShardName id={move.from} />
                </td>
                <td>
                  <ShardName id={move.to} />
                </td>
                <td class="bar-cell">
                  <Bar
                    value={move.permyriad}
                    most={10000}
                    fill={shardClass(move.to)}
                    label={ofPermyriad(move.permyriad)}
                  />
                </td>
                <td class="number">{move.step}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {more}
    </Card>
  );
}

function Moves({ answer }: { answer: MovesAnswer }) {
  const reads = offers.value?.moves ?? false;
  const nothing = answer.moves.length === 0 && answer.table_moves.length === 0;
  return (
    <>
      {answer.error !== null && <p class="note bad">{answer.error}</p>}
      {answer.unheard !== "" && (
        <p class="note warn">Not heard, so their moves may be missing: {answer.unheard}</p>
      )}
      {nothing && (
        <Empty title="Nothing moves">
          <p>
            Plan a change of the shards on the ring's page, or with <code>locus plan</code>. Its
            moves are then carried out by <code>locus move</code>.
          </p>
        </Empty>
      )}
      <div class="move-list">
        {answer.moves.map((move) => (
          <MoveCard key={move.move} move={move} />
        ))}
      </div>
      {answer.looked_at_ms !== null && (
        <p class="hint">The shards were asked {ago(serviceNow() - answer.looked_at_ms)}.</p>
      )}
      {answer.table_moves.length > 0 && <TableMoves answer={answer} />}
      {!reads && !nothing && (
        <p class="hint">
          {said("moves") ??
            "The shards are not asked: this service has no move file, so only the table is shown."}
        </p>
      )}
    </>
  );
}

export function MovesView() {
  const { value, problem } = moves.value;
  if (value !== null) return <Moves answer={value} />;
  if (offers.value?.table === false) {
    return (
      <Empty title="No routing table">
        <p>{said("table") ?? "Without a routing table there are no moves."}</p>
      </Empty>
    );
  }
  return problem ? <ProblemNote problem={problem} /> : <Waiting what="the moves" />;
}
