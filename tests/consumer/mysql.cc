// SPDX-License-Identifier: Apache-2.0
// A user's program: what a MariaDB that is not there answers.
#include "locus/engine/mysql.h"

#include <iostream>

int main() {
  locus::MysqlOptions server;
  server.hosts = {{"127.0.0.1", 1}};  // tcpmux: nobody listens there
  server.user = "shop";
  server.database = "shop";
  for (const absl::Status& status : {locus::MysqlSegmentStore::Open(server).status(),
                                     locus::MysqlSequencer::Open(server, {}).status()}) {
    std::cout << status << '\n';
  }
}
