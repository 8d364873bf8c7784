// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_STREAM_POSITION_H_
#define LOCUS_MIGRATION_STREAM_STREAM_POSITION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "migration/stream/gtid.h"

namespace locus::stream {

// A file of a server's binary log. RESET MASTER and a restored backup begin the log again: names
// and GTIDs come again, but not the time at which a file was begun.
struct LogFile {
  std::string name;     // empty: not known
  uint32_t server = 0;  // server_id of the server whose log it is
  uint32_t begun = 0;   // seconds since 1970, by that server's clock

  bool known() const { return !name.empty(); }
  // "binlog.000007 of server 1, begun 2026-11-23T08:00:00+00:00".
  std::string ToString() const;
  friend bool operator==(const LogFile&, const LogFile&) = default;
};

// How far a stream has come.
struct StreamPosition {
  GtidPosition gtids;
  LogFile file;  // that has the last of them

  // "0-1-42 1/1795421234/binlog.000007"; where the file is not known, the GTIDs alone. ASCII.
  std::string ToString() const;
  // INVALID_ARGUMENT: another form.
  static absl::StatusOr<StreamPosition> Parse(std::string_view text);
};

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_STREAM_POSITION_H_
