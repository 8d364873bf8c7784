// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_CLICKHOUSE_H_
#define LOCUS_ENGINE_CLICKHOUSE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/audit.h"
#include "locus/space.h"

namespace locus {

// How to reach a ClickHouse server, 18.16 or later, by HTTP.
struct ClickHouseOptions {
  std::string endpoint;  // "host:port"; an IPv6 address in brackets. 8123 is ClickHouse's own port.
  std::string database = "default";
  std::string table = "locus_audit";
  // Empty: the server's default user.
  std::string user = {};
  // Kept in memory that core dumps leave out, and in no message. Only to loopback hosts or over
  // TLS.
  std::string password = {};
  struct Tls {
    bool enabled = false;
    std::string ca_file = {};  // PEM; empty: the authorities of the system
  };
  Tls tls = {};
  // The time limit of one request, connecting included; 1 ms to 1 h.
  absl::Duration timeout = absl::Seconds(5);

  // INVALID_ARGUMENT, naming the option, its value and the limit. FAILED_PRECONDITION: a password
  // would go over the network in plain text.
  absl::Status Check() const;
};

// A record as it was written.
struct AuditRow {
  std::string id;
  std::string process;
  AuditRecord record;  // without its id
};

// Which rows; members that are not set do not restrict them.
struct AuditQuery {
  std::optional<SpaceName> space = {};
  std::vector<AuditRecord::Kind> kinds = {};
  std::optional<uint64_t> worker = {};
  std::optional<uint64_t> token = {};
  std::optional<uint32_t> section = {};
  std::optional<uint64_t> sequence = {};  // of the segments that contain it
  absl::Time since = absl::InfinitePast();
  absl::Time until = absl::InfiniteFuture();
  bool newest_first = false;
  size_t limit = 1000;  // 1 to 100,000
};

// Audit records in a ClickHouse table, ordered by space, kind, worker, section, time and id; a
// ReplacingMergeTree, so that a batch which was written twice counts once (docs/inside/audit.md
// has the DDL).
//
// UNAVAILABLE: the server does not answer, or cannot write now. NOT_FOUND: there is no such table.
// FAILED_PRECONDITION: wrong user, password or certificate. INVALID_ARGUMENT: it refuses the rows.
// Thread safety: none.
class ClickHouseAudit : public AuditWriter {
 public:
  // Connects nothing.
  static absl::StatusOr<std::unique_ptr<ClickHouseAudit>> Open(const ClickHouseOptions& options);

  // Makes the table if it is missing.
  virtual absl::Status CreateTable() = 0;
  // Each id once.
  virtual absl::StatusOr<std::vector<AuditRow>> Query(const AuditQuery& query) = 0;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_CLICKHOUSE_H_
