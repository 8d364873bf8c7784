// SPDX-License-Identifier: Apache-2.0
// A user's program: what two places of tables opened by URI say where there is no server.
#include <iostream>

#include "locus/routing/open.h"

int main() {
  auto etcd = locus::OpenTablePublisher("etcd://127.0.0.1:1").value();
  auto mysql = locus::OpenTablePublisher("mysql://127.0.0.1:1/orders");
  const absl::Status of_mysql = mysql.ok() ? (*mysql)->Current().status() : mysql.status();
  for (const absl::Status& status : {etcd->Current().status(), of_mysql}) {
    std::cout << status << '\n';
  }
}
