// SPDX-License-Identifier: Apache-2.0
// A user's program: what a ZooKeeper that is not there answers.
#include "locus/engine/zookeeper.h"

#include <iostream>

int main() {
  locus::ZookeeperOptions options;
  options.hosts = {"127.0.0.1:1"};  // tcpmux: nobody listens there
  options.connect_timeout = absl::Milliseconds(100);
  auto store = locus::ZookeeperWorkerLeaseStore::Open(options);
  if (!store.ok()) return 1;
  for (const absl::Status& status :
       {(*store)->Create(locus::SpaceName(), {.first_ever = true}, absl::UnixEpoch()),
        (*store)->Show(locus::SpaceName()).status()}) {
    std::cout << status << '\n';
  }
}
