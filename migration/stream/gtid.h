// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_GTID_H_
#define LOCUS_MIGRATION_STREAM_GTID_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus::stream {

// A transaction of a MariaDB binary log: domain, the server that wrote it first, number in the
// domain.
struct Gtid {
  uint32_t domain = 0;
  uint32_t server = 0;
  uint64_t sequence = 0;

  // "0-7-42".
  std::string ToString() const;
  friend bool operator==(const Gtid&, const Gtid&) = default;
};

// How far a reader has come: the last transaction of each domain. A server that is asked to
// continue from a position sends a domain that the position does not list from its first
// transaction on, so a position always lists every domain that was ever seen.
class GtidPosition {
 public:
  // "0-7-42,1-8-3", as @@gtid_binlog_pos has it; spaces and line feeds around a GTID do not count.
  // Empty: the position before the first transaction. INVALID_ARGUMENT: another form, a domain
  // twice, more than kMostDomains.
  static absl::StatusOr<GtidPosition> Parse(std::string_view text);
  static constexpr size_t kMostDomains = 4096;

  // Sorted by domain.
  std::string ToString() const;

  // The last transaction of its domain.
  std::optional<Gtid> Of(uint32_t domain) const;
  // `gtid` becomes the last transaction of its domain.
  void Set(const Gtid& gtid) { last_[gtid.domain] = gtid; }

  // Whether it is at `other` or behind it in each domain of `other`.
  bool Covers(const GtidPosition& other) const;

  size_t domains() const { return last_.size(); }
  friend bool operator==(const GtidPosition&, const GtidPosition&) = default;

 private:
  std::map<uint32_t, Gtid> last_;
};

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_GTID_H_
