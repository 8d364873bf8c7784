// SPDX-License-Identifier: Apache-2.0
// A user's program: what a source and a publisher say of an etcd that is not there.
#include <chrono>
#include <iostream>

#include "locus/routing/engine/etcd.h"

int main() {
  locus::EtcdTableOptions options;
  options.etcd.endpoints = {"127.0.0.1:1"};  // tcpmux: nobody listens there
  auto source = locus::EtcdTableSource::Open(options).value();
  auto publisher = locus::EtcdTablePublisher::Open(options).value();
  for (const absl::Status& status : {source->Next("", std::chrono::steady_clock::now()).status(),
                                     publisher->Current().status()}) {
    std::cout << status << '\n';
  }
}
