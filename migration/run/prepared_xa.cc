// SPDX-License-Identifier: Apache-2.0
#include "migration/run/prepared_xa.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "src/base/os/check.h"

namespace locus::mysql {

namespace {

struct List {
  const char* query;
  unsigned columns;
};
// A transaction is in the log, and has dropped locks, shortly before XA RECOVER lists it: so first
// come the statements that are still under way. Their text always has these words.
constexpr List kLists[] = {{"SELECT QUERY_ID FROM information_schema.PROCESSLIST WHERE ID <>"
                            " CONNECTION_ID() AND COMMAND <> 'Sleep' AND INFO LIKE '%XA%PREPARE%'",
                            1},
                           {"XA RECOVER FORMAT='SQL'", 4}};

}  // namespace

absl::StatusOr<size_t> WaitForPrepared(ShardLink& shard,
                                       const std::function<bool(size_t)>& goes_on) {
  constexpr size_t kMostRows = 65536;
  for (const List& list : kLists) {
    std::optional<std::vector<Result::Row>> older;
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(std::vector<Result> now,
                             shard.Run(list.query, {Rows(list.columns, kMostRows)}));
      const std::vector<Result::Row>& rows = now[0].rows;
      if (!older) older = rows;
      std::erase_if(*older, [&](const Result::Row& one) {
        return std::find(rows.begin(), rows.end(), one) == rows.end();
      });
      if (older->empty()) break;
      if (!goes_on(older->size())) return older->size();
    }
  }
  return 0;
}

}  // namespace locus::mysql
