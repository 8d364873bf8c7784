// SPDX-License-Identifier: Apache-2.0
import type { StrictStatus } from "../api";
import { count, duration, rate, thousands, thousandsOfText } from "../base/format";
import { Badge, Bar, Card, ProblemNote, Scroll, Waiting } from "../base/parts";
import { strict } from "../base/state";
import { nodeState, rangesText, strictRemarks, uidsText } from "./sequence_facts";

function Facts({ status }: { status: StrictStatus }) {
  const facts: [string, string][] = [
    ["users", uidsText(status)],
    [
      "sections",
      `${thousands(status.sections)} of ${count(status.section_size, "user")}, raised by ${thousandsOfText(status.step)}`,
    ],
    ["leases", `of ${duration(status.ttl_ms)}`],
    ["table", `version ${thousandsOfText(status.table_version)}`],
    ["store", status.losses === null ? "not read yet" : count(status.losses, "loss", "losses")],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name} class="pair">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Nodes({ status }: { status: StrictStatus }) {
  const most = Math.max(...status.nodes.map((node) => node.numbers_per_second), 1);
  return (
    <Scroll label="Nodes of strict sequences">
      <table class="dense">
        <thead>
          <tr>
            {["node", "state", "sections", "load", "address", "which"].map((heading) => (
              <th key={heading} scope="col" class={heading === "sections" ? "number" : ""}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {status.nodes.map((node) => {
            const { tone, text } = nodeState(node);
            return (
              <tr key={`${node.name} ${node.address}`}>
                <th scope="row">{node.name}</th>
                <td>
                  <Badge tone={tone}>{text}</Badge>
                </td>
                <td class="number">{thousands(node.sections)}</td>
                <td>
                  <Bar
                    value={node.numbers_per_second}
                    most={most}
                    label={rate(node.numbers_per_second)}
                  />
                </td>
                <td>{node.address}</td>
                <td>{rangesText(node.ranges)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

export function StrictCard() {
  const { value, problem } = strict.value;
  return (
    <Card
      title="Strict sequences"
      aside={value === null ? undefined : `set ${value.set}, as ${value.node} knows it`}
    >
      {problem !== null && <ProblemNote problem={problem} />}
      {value === null && problem === null && <Waiting what="the strict sequences" />}
      {value !== null && (
        <>
          {strictRemarks(value).map((remark) => (
            <p key={remark.key} class={`note ${remark.tone}`}>
              {remark.text}
            </p>
          ))}
          {value.handed_over.map((move) => (
            <p key={move.to} class="note warn">
              A hand-over is under way: {count(move.sections, "section")} wait for {move.to} to take
              them ({rangesText(move.ranges)}).
            </p>
          ))}
          <Facts status={value} />
          <Nodes status={value} />
        </>
      )}
    </Card>
  );
}
