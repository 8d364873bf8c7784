// SPDX-License-Identifier: Apache-2.0
// A user's program: what a store and a publisher opened by URI say where there is no server.
#include "locus/routing/uri.h"

#include <iostream>

int main() {
  auto store = locus::OpenSegmentStore("mysql://127.0.0.1:1/orders");
  auto publisher = locus::OpenTablePublisher("etcd://127.0.0.1:1").value();
  for (const absl::Status& status : {store.status(), publisher->Current().status()}) {
    std::cout << status << '\n';
  }
}
