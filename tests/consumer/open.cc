// SPDX-License-Identifier: Apache-2.0
// A user's program: what two stores opened by URI say where there is no server.
#include "locus/open.h"

#include <iostream>

#include "locus/space.h"

int main() {
  auto store = locus::OpenSegmentStore("mysql://127.0.0.1:1/orders");
  auto leases = locus::OpenWorkerLeaseStore("etcd://127.0.0.1:1").value();
  for (const absl::Status& status : {store.status(), leases->Show(locus::SpaceName()).status()}) {
    std::cout << status << '\n';
  }
}
