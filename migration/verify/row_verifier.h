// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_VERIFY_ROW_VERIFIER_H_
#define LOCUS_MIGRATION_VERIFY_ROW_VERIFIER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "locus/migration/fence.h"
#include "locus/migration/moved_table.h"
#include "migration/verify/row_difference.h"
#include "migration/verify/row_verdict.h"
#include "migration/verify/verified_shard.h"
#include "migration/verify/verify_position.h"
#include "src/engine/mysql/bounded_call.h"

// How two shards are compared. checked_table.h decides which columns are compared, in which form,
// and along which key. RowVerifier cuts that walk into slices, and a VerifiedShard for each side
// computes their checksums with the statements of verify_sql.h. Rows that differ wait; MarkerPass
// lets both streams pass, and row_verdict.h judges the second look.

namespace locus::mysql {

// Returns when both change streams have passed all that either shard had committed before the call:
// the other shard has it. Or why they have not, at `deadline` at the latest.
using PassStreams = std::function<absl::Status(TimePoint deadline)>;
// For shards that are not written, or without streams that keep them equal.
PassStreams NoStreams();

struct VerifierOptions {
  // By accounts that may read the tables, and locus_tombstone where there is one.
  MysqlOptions source;
  MysqlOptions target;
  // A primary_key that is empty is the one that both shards have.
  std::vector<MovedTable> tables;
  std::vector<FencedRange> ranges;  // the vnodes whose rows are compared; ascending
  PassStreams pass = NoStreams();
  // The position() of an earlier comparison; empty: from the beginning.
  std::string position;

  // How long the checksum of one slice takes, about; 1 ms to 1 min. Longer: fewer statements, but
  // each keeps the shard from purging old versions of rows for so long.
  absl::Duration slice_time = absl::Milliseconds(100);
  // Rows of one slice; 1 to 100,000. `least_rows` wins over slice_time.
  uint64_t least_rows = 256;
  uint64_t most_rows = 50'000;

  // Rows that differ are looked at again once the streams have passed. They wait for each other, so
  // that many share one passing: until there are this many, or the first has waited so long.
  uint64_t most_waiting = 2'000;
  absl::Duration longest_wait = absl::Seconds(2);
  // How long the streams may take to pass; then VerifySlice returns their error.
  absl::Duration pass_time = absl::Seconds(30);
  // A row that is written each time is looked at so often, and no longer than that; then it counts
  // as still changing.
  uint64_t most_looks = 10;
  absl::Duration look_time = absl::Minutes(1);
  // Before it counts so, such a row is locked some times on the shard that has its newer version,
  // and compared once the streams have passed: its writers wait for the lock, and then for about as
  // long once more, at the most; for 2 s where this process or the other shard hangs meanwhile.
  // 0 to 1 s; 0: no row is locked.
  absl::Duration keep_time = absl::ZeroDuration();

  // How many differences are kept; all are counted.
  size_t most_differences = 1'000;
  // Whether differences have values, up to 256 bytes each, besides lengths and hashes. They may be
  // personal data.
  bool with_values = false;

  // Called before each slice: may wait while the shards are too busy. An error ends VerifySlice.
  std::function<absl::Status()> before_slice = [] { return absl::OkStatus(); };

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Since the verifier was opened.
struct VerifierCounts {
  uint64_t rows = 0;  // of the source, by checksum
  uint64_t slices = 0;
  uint64_t rechecked = 0;       // rows that looked different at first
  uint64_t differences = 0;     // rows that are different
  uint64_t still_changing = 0;  // rows of which that is not known

  bool equal() const { return differences == 0 && still_changing == 0; }
};

// Compares the rows of moved vnodes on two shards, while both are written and kept equal by change
// streams: slice by slice of the key, a checksum of all values that each shard computes itself;
// where the checksums differ, the hash of each row; and rows that still differ are read on both
// shards, and again once the streams have passed. Writes nothing. A slice reads without locks, for
// a short time.
//
// Compares the columns that are not generated, by name, also the version and invisible ones: text
// by its bytes, ENUM, SET and BIT by their numbers, FLOAT and DOUBLE by all digits. 64 bits of
// checksum a slice: two different slices look equal once in 2^64.
//
// Errors: FAILED_PRECONDITION: the tables cannot be compared, or a row is too long for
// max_allowed_packet. DATA_LOSS: the position is none. UNAVAILABLE: a shard does not answer; open
// another verifier at position(). Otherwise errors of `pass` and `before_slice`. After an error of
// VerifySlice the slice behind position() is compared again. Thread safety: none. Uses a second
// thread during each call.
class RowVerifier {
 public:
  static absl::StatusOr<std::unique_ptr<RowVerifier>> Open(const VerifierOptions& options);

  // Compares the next slice; false: there was none left, and every row has been judged.
  absl::StatusOr<bool> VerifySlice();

  const VerifierCounts& counts() const { return counts_; }
  // The first of them, in the order in which they were found. Those found behind position() are
  // found again by the next verifier.
  const std::vector<internal::RowDifference>& differences() const { return differences_; }
  // Everything before it was compared and judged. At most 7,000 bytes.
  const std::string& position() const { return position_text_; }
  uint64_t slice_rows() const { return slice_rows_; }  // of the next slice

 private:
  // A row that looked different.
  struct Waiting {
    internal::CopyKey key;                     // primary key
    std::array<internal::RowState, 2> before;  // on the source, on the target
  };
  using WaitingKey = std::pair<size_t, std::string>;  // table, TombstoneKeyOf

  explicit RowVerifier(const VerifierOptions& options);
  absl::Status SetUp(const VerifierOptions& options);

  // `read` of both shards at once.
  template <typename Read>
  auto OnBoth(Read read) -> absl::StatusOr<
      std::array<typename std::invoke_result_t<Read, VerifiedShard&>::value_type, 2>>;

  // Sets the end of the slice so that neither shard has many more rows in it than asked for, and
  // compares the checksums; whether they are equal.
  absl::StatusOr<bool> CompareChecksums(internal::Slice& slice);
  absl::Status Bound(internal::Slice& slice, size_t side);
  absl::Status TooManyRows() const;
  // Has the rows of the slice that differ wait.
  absl::Status CompareHashes(const internal::Slice& slice);
  bool RecheckIsDue() const;
  absl::Status Recheck();
  absl::Status LookAgain(std::map<WaitingKey, Waiting>& left, bool last,
                         std::vector<internal::RowDifference>& found);
  // Of a row that was written at each look; `seen`: the row while no session can write it.
  absl::StatusOr<internal::RowVerdict> JudgeKept(const internal::CheckedTable& table,
                                                 Waiting& waiting, std::array<SeenRow, 2>& seen);
  internal::RowDifference DifferenceOf(const WaitingKey& at, const internal::CopyKey& key,
                                       const SeenRow& source, const SeenRow& target) const;
  void Advance(const internal::Slice& slice);
  void SavePosition();

  const VerifierOptions options_;  // without passwords
  std::array<std::unique_ptr<VerifiedShard>, 2> shards_;
  std::vector<internal::CheckedTable> tables_;
  internal::VerifyPosition next_;
  std::string position_text_;
  std::map<WaitingKey, Waiting> waiting_;
  TimePoint first_waiting_since_;
  uint64_t slice_rows_;
  VerifierCounts counts_;
  std::vector<internal::RowDifference> differences_;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_VERIFY_ROW_VERIFIER_H_
