// SPDX-License-Identifier: Apache-2.0
// A user's program: what a MariaDB that is not there answers.
#include "locus/engine/mariadb.h"

#include <iostream>

int main() {
  locus::MariadbOptions server;
  server.hosts = {{"127.0.0.1", 1}};  // tcpmux: nobody listens there
  server.user = "shop";
  server.database = "shop";
  for (const absl::Status& status : {locus::MariadbSegmentStore::Open(server).status(),
                                     locus::MariadbSequencer::Open(server, {}).status()}) {
    std::cout << status << '\n';
  }
}
