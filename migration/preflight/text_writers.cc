// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/text_writers.h"

#include <chrono>
#include <set>

#include "migration/apply/schema_change.h"
#include "migration/mysql/binlog_reader.h"
#include "src/base/os/check.h"

namespace locus::mysql {

absl::StatusOr<std::vector<std::string>> TextWriters(const MysqlOptions& server,
                                                     const std::string& database,
                                                     const std::string& position,
                                                     const std::vector<std::string>& tables) {
  using Kind = internal::StatementEffect::Kind;
  constexpr std::chrono::seconds kPatience{3};
  std::set<std::string> found;
  BinlogReaderOptions options;
  options.server = server;
  options.stop_at_end = true;
  LOCUS_ASSIGN_OR_RETURN(options.stream.position, stream::GtidPosition::Parse(position));
  options.stream.wanted = [](std::string_view, std::string_view) { return false; };
  options.stream.heeded = [&](const stream::Statement& statement) {
    const internal::StatementEffect effect = internal::EffectOf(statement, database, tables, {});
    if (effect.kind == Kind::kRows || effect.kind == Kind::kUnknown) found.insert(effect.table);
    return false;
  };
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<BinlogReader> reader, BinlogReader::Open(options));
  const TimePoint deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    absl::StatusOr<BinlogReader::Item> item = reader->Next(deadline);
    // A stream that cannot follow is another finding, or the start of the move will end the cause.
    if (!item.ok() || std::holds_alternative<BinlogReader::End>(*item)) break;
  }
  return std::vector<std::string>(found.begin(), found.end());
}

}  // namespace locus::mysql
