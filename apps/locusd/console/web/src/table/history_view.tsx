// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { type Problem, paths, type TableDiff, type TableHistory } from "../api";
import { ask, problemFrom } from "../base/client";
import { thousands } from "../base/format";
import { Card, Empty, ProblemNote, Scroll, Waiting } from "../base/parts";
import { offers, said, table } from "../base/state";
import { DiffView } from "./diff_view";

interface Pair {
  before: number;
  after: number;
}

function Comparison({ pair }: { pair: Pair }) {
  const [diff, setDiff] = useState<TableDiff | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { before, after } = pair;
  useEffect(() => {
    let current = true;
    setProblem(null);
    ask<TableDiff>(paths.diff, { before, after })
      .then((answer) => current && setDiff(answer))
      .catch((error) => current && setProblem(problemFrom(error)));
    return () => {
      current = false;
    };
  }, [before, after]);
  const title = `Epoch ${thousands(before)} → ${thousands(after)}`;
  return (
    <Card title={title}>
      <div role="status">
        {problem !== null && <ProblemNote problem={problem} />}
        {problem === null && diff === null && <Waiting what="the difference" />}
        {problem === null && diff !== null && <DiffView diff={diff} />}
      </div>
    </Card>
  );
}

function EpochChoice(props: {
  label: string;
  epochs: number[];
  value: number;
  onChange: (epoch: number) => void;
}) {
  return (
    <label>
      {props.label}
      <select
        value={props.value}
        onChange={(event) => props.onChange(Number(event.currentTarget.value))}
      >
        {props.epochs.map((epoch) => (
          <option key={epoch} value={epoch}>
            {epoch}
          </option>
        ))}
      </select>
    </label>
  );
}

function History({ history }: { history: TableHistory }) {
  const epochs = history.tables.map((each) => each.epoch);
  const newest = epochs[0] ?? 0;
  const [chosen, setChosen] = useState<Pair | null>(null);
  const pair = chosen ?? { before: epochs[1] ?? newest, after: newest };
  if (history.tables.length < 2) {
    return (
      <Empty title="One table so far">
        <p>
          {history.place} keeps {history.tables.length === 1 ? `epoch ${newest}` : "no table"}. What
          is published next is compared with it here.
        </p>
      </Empty>
    );
  }
  return (
    <div class="columns history-columns">
      <Card title="Epochs" aside={<bdi class="break">{history.place}</bdi>}>
        <Scroll label="Published tables">
          <table class="dense">
            <thead>
              <tr>
                <th scope="col" class="number">
                  epoch
                </th>
                <th scope="col">published</th>
                <th scope="col">by, and why</th>
                <th scope="col">
                  <span class="visually-hidden">difference</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {history.tables.map((each, index) => {
                const before = epochs[index + 1];
                const shown = pair.after === each.epoch && pair.before === before;
                return (
                  <tr key={each.epoch} class={shown ? "chosen" : ""}>
                    <th scope="row" class="number">
                      {thousands(each.epoch)}
                    </th>
                    <td>{each.published_at.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC")}</td>
                    <td>
                      <bdi class="break">{each.author ?? ""}</bdi>
                      {each.reason !== undefined && (
                        <small class="below">
                          <bdi class="break">{each.reason}</bdi>
                        </small>
                      )}
                    </td>
                    <td>
                      {before === undefined ? (
                        <small>oldest kept</small>
                      ) : (
                        <button
                          type="button"
                          class="secondary small"
                          aria-pressed={shown}
                          aria-label={`changes of epoch ${each.epoch}`}
                          onClick={() => setChosen({ before, after: each.epoch })}
                        >
                          changes
                        </button>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Scroll>
      </Card>
      <div class="stack">
        <div class="row">
          <EpochChoice
            label="From epoch"
            epochs={epochs}
            value={pair.before}
            onChange={(before) => setChosen({ ...pair, before })}
          />
          <EpochChoice
            label="to epoch"
            epochs={epochs}
            value={pair.after}
            onChange={(after) => setChosen({ ...pair, after })}
          />
        </div>
        <Comparison pair={pair} />
      </div>
    </div>
  );
}

export function HistoryView() {
  const [history, setHistory] = useState<TableHistory | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const offered = offers.value?.history ?? false;
  // A table that comes into force is in the history, too.
  const epoch = table.value.value?.epoch;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new epoch asks again
  useEffect(() => {
    if (!offered) return;
    ask<TableHistory>(paths.history, { most: 200 })
      .then((answer) => {
        setHistory(answer);
        setProblem(null);
      })
      .catch((error) => setProblem(problemFrom(error)));
  }, [offered, epoch]);
  if (!offered) {
    return (
      <Empty title="No history">
        <p>{said("history") ?? "This service has no place that keeps earlier tables."}</p>
      </Empty>
    );
  }
  return (
    <>
      {problem !== null && <ProblemNote problem={problem} />}
      {history === null && problem === null && <Waiting what="the history" />}
      {history !== null && <History history={history} />}
    </>
  );
}
