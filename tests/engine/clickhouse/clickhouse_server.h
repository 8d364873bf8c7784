// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_CLICKHOUSE_CLICKHOUSE_SERVER_H_
#define LOCUS_TESTS_ENGINE_CLICKHOUSE_CLICKHOUSE_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "locus/engine/clickhouse.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// A ClickHouse server of a test's own, on free ports of 127.0.0.1, with the users "default" without
// a password and "audit" with the password "s3cret".
// Thread safety: none.
class ClickHouseServer {
 public:
  ClickHouseServer();

  // With what it has stored; waits until it answers.
  bool Start();
  void KillHard() { server_->KillHard(); }
  void Stall() { server_->Stall(); }
  void Resume() { server_->Resume(); }

  ClickHouseOptions options() const;
  uint16_t port() const { return port_; }

 private:
  TemporaryDirectory directory_;
  const uint16_t port_;
  std::unique_ptr<PrivateServer> server_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_CLICKHOUSE_CLICKHOUSE_SERVER_H_
