// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_VERIFY_MARKER_PASS_H_
#define LOCUS_MIGRATION_VERIFY_MARKER_PASS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "src/engine/mysql/answer.h"
#include "src/engine/mysql/bounded_call.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

// Waits until both streams of a move have passed what was committed: raises `ping` in locus_run of
// each shard, and reads locus_checkpoint of the other one until it shows that number. Everything
// that was committed before the call lies before that number in the log. Thread safety: none.
class MarkerPass {
 public:
  // By accounts that may write locus_run and read locus_checkpoint. FAILED_PRECONDITION: a shard
  // has no row of the move in them: no stream runs.
  static absl::StatusOr<std::unique_ptr<MarkerPass>> Open(const MysqlOptions& source,
                                                          const MysqlOptions& target,
                                                          const std::string& move);

  // DEADLINE_EXCEEDED: a stream has not passed; names it. UNAVAILABLE: a shard does not answer;
  // open another one.
  absl::Status operator()(TimePoint deadline);

 private:
  struct Shard {
    Handle handle;
    std::string place;
    absl::Duration timeout;
  };

  explicit MarkerPass(const std::string& move) : move_(move) {}
  absl::StatusOr<Result> Ask(Shard& shard, const std::string& statement, const Shape& shape);
  absl::StatusOr<uint64_t> Raise(Shard& shard);
  absl::StatusOr<uint64_t> Passed(size_t recipient);

  const std::string move_;
  std::array<Shard, 2> shards_;  // source, target: as internal::Side numbers them
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_VERIFY_MARKER_PASS_H_
