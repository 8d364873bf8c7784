// SPDX-License-Identifier: Apache-2.0
// A user's program: what a Redis that is not there answers.
#include "locus/engine/redis.h"

#include <iostream>

int main() {
  locus::RedisOptions server;
  server.addresses = {{"127.0.0.1", 1}};  // tcpmux: nobody listens there
  for (const absl::Status& status : {locus::RedisSegmentStore::Open(server).status(),
                                     locus::RedisSequencer::Open(server, {}).status()}) {
    std::cout << status << '\n';
  }
}
