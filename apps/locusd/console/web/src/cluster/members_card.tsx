// SPDX-License-Identifier: Apache-2.0
import { thousands } from "../base/format";
import { Badge, Card, ProblemNote, Scroll, Waiting } from "../base/parts";
import { members } from "../base/state";
import { stateOf } from "./member_facts";

export function MembersCard() {
  const { value, problem } = members.value;
  const most = Math.max(...(value ?? []).map((member) => member.match), 0);
  return (
    <Card title="Cluster members">
      {problem !== null && <ProblemNote problem={problem} />}
      {value === null && problem === null && <Waiting what="the members" />}
      {value !== null && (
        <Scroll label="Cluster members">
          <table class="dense">
            <thead>
              <tr>
                <th scope="col">address</th>
                <th scope="col">state</th>
                <th scope="col" class="number">
                  behind the log
                </th>
                <th scope="col">ID</th>
              </tr>
            </thead>
            <tbody>
              {value.map((member) => {
                const { tone, text } = stateOf(member);
                return (
                  <tr key={member.id}>
                    <th scope="row">{member.address}</th>
                    <td>
                      <Badge tone={tone}>{text}</Badge>
                    </td>
                    <td class="number">{thousands(most - member.match)}</td>
                    <td>
                      <code>{member.id}</code>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Scroll>
      )}
    </Card>
  );
}
