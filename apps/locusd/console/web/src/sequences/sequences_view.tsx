// SPDX-License-Identifier: Apache-2.0

import { Empty } from "../base/parts";
import { offers, said } from "../base/state";
import { StrictCard } from "./strict_card";
import { TypesCard } from "./types_card";

export function SequencesView() {
  return (
    <>
      {offers.value?.types ? (
        <TypesCard />
      ) : (
        <Empty title="No sequence types">
          <p>{said("types") ?? "This service counts by no sequence types."}</p>
        </Empty>
      )}
      {offers.value?.strict ? (
        <StrictCard />
      ) : (
        <Empty title="No strict sequences">
          <p>{said("strict") ?? "This process is no node of strict sequences."}</p>
        </Empty>
      )}
    </>
  );
}
