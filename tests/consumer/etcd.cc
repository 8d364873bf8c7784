// SPDX-License-Identifier: Apache-2.0
// A user's program: what an etcd that is not there answers.
#include "locus/engine/etcd.h"

#include <iostream>

int main() {
  locus::EtcdOptions cluster;
  cluster.endpoints = {"127.0.0.1:1"};  // tcpmux: nobody listens there
  auto store = locus::EtcdSegmentStore::Open(cluster).value();
  auto sequencer = locus::EtcdSequencer::Open(cluster, {}).value();
  for (const absl::Status& status :
       {store->ReadOptions(locus::SpaceName()).status(), sequencer->Next("invoices").status()}) {
    std::cout << status << '\n';
  }
}
