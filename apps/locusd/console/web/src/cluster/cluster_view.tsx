// SPDX-License-Identifier: Apache-2.0

import { Empty } from "../base/parts";
import { offers, said } from "../base/state";
import { LeasesCard } from "./leases_card";
import { MembersCard } from "./members_card";

export function ClusterView() {
  return (
    <>
      {offers.value?.members ? (
        <MembersCard />
      ) : (
        <Empty title="No cluster of lease nodes">
          <p>{said("members") ?? "This service is no lease node."}</p>
        </Empty>
      )}
      {offers.value?.leases ? (
        <LeasesCard />
      ) : (
        <Empty title="No leases of worker IDs">
          <p>{said("leases") ?? "This service has no lease store."}</p>
        </Empty>
      )}
    </>
  );
}
