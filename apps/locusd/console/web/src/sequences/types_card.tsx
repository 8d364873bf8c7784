// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { type NumberType, type Problem, paths, type TypesAnswer } from "../api";
import { ask, problemFrom } from "../base/client";
import { count, duration, thousands } from "../base/format";
import { Badge, Card, ProblemNote, Scroll, useFirst, Waiting } from "../base/parts";
import { live, typesTold } from "../base/state";
import { counterNote, countingText, shapeText, typeState } from "./sequence_facts";

function Counters({ type }: { type: NumberType }) {
  const { shown, more } = useFirst(type.counters, 20);
  if (type.counters.length === 0) return null;
  return (
    <details>
      <summary>{count(type.counters.length, "counter")} of this process</summary>
      <Scroll label={`Counters of ${type.name}`}>
        <table class="dense">
          <thead>
            <tr>
              <th scope="col">key</th>
              <th scope="col" class="number">
                drawn
              </th>
              <th scope="col">by version</th>
              <th scope="col">note</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((counter) => (
              <tr key={counter.key}>
                <th scope="row">{counter.key === "" ? "(none)" : counter.key}</th>
                <td class="number">{thousands(counter.numbers)}</td>
                <td>
                  <code>{counter.type_version}</code>
                </td>
                <td class="break">{counterNote(counter)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {more}
    </details>
  );
}

function Type({ type }: { type: NumberType }) {
  const { tone, text } = typeState(type);
  const facts: [string, string][] = [
    ["counts", countingText(type)],
    ["written as", [type.pattern, shapeText(type)].filter((each) => each !== "").join(" · ")],
    ["version", `${type.version}; a change is in force within ${duration(type.lifetime_ms)}`],
  ];
  return (
    <section class="type" aria-label={`Type ${type.name}`}>
      <h3>
        {type.name} <Badge tone={tone}>{text}</Badge>
      </h3>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name} class="pair">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Counters type={type} />
    </section>
  );
}

export function TypesCard() {
  const [answer, setAnswer] = useState<TypesAnswer | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { shown, more } = useFirst(answer?.types ?? [], 50);
  const told = typesTold.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event says that it is time to load
  useEffect(() => {
    const load = async () => {
      try {
        setAnswer(await ask<TypesAnswer>(paths.types));
        setProblem(null);
      } catch (error) {
        setProblem(problemFrom(error));
      }
    };
    void load();
    const timer = setInterval(() => {
      if (document.visibilityState !== "hidden" && live.value.state === "live") void load();
    }, 5000);
    return () => clearInterval(timer);
  }, [told]);
  return (
    <Card
      title="Sequence types"
      aside={answer === null ? undefined : count(answer.types.length, "type")}
    >
      {problem !== null && <ProblemNote problem={problem} />}
      {answer === null && problem === null && <Waiting what="the sequence types" />}
      {answer !== null && answer.types.length === 0 && (
        <p class="hint">
          There are no sequence types yet: every name counts from 1. A sequence type is made by{" "}
          <code>locus seq type create</code>.
        </p>
      )}
      {shown.map((type) => (
        <Type key={type.name} type={type} />
      ))}
      {more}
    </Card>
  );
}
