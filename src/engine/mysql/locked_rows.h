// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_LOCKED_ROWS_H_
#define LOCUS_SRC_ENGINE_MYSQL_LOCKED_ROWS_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "locus/clock.h"
#include "locus/space.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/engine/mysql/pool.h"
#include "src/engine/mysql/space_rows.h"

namespace locus::mysql {

// Transactions under the lock of one row: a space's of worker IDs or a set's of strict sequences.
// Every call reads that row first. `Rows` describes it:
//
//   struct State { ... std::string recorded, identity; };   with bool exists() const
//   static std::string Read(name, lock, now, facts);        answered in kShapes, two of them
//   static absl::StatusOr<State> Parse(results, place);
//   static constexpr const char* kLockNew;                  taken to create such a row
//
// Thread safety: all methods may be called from any thread, TellTime before the others. Fork: a
// child closes nothing, because the sockets are its parent's.
template <typename Rows>
class LockedRows {
 public:
  using State = typename Rows::State;

  // Holds the row's lock until its end. The pool rolls back a transaction that ends without a
  // commit.
  struct Transaction {
    const SpaceName& name;
    Connection& connection;
    State state;
    bool loss_noticed = false;

    // Each of the statements ends in a semicolon.
    absl::Status Commit(const std::string& statements) {
      return connection.Run(absl::StrCat(statements, "COMMIT")).status();
    }
  };

  explicit LockedRows(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
  ~LockedRows() { internal::AbandonIfForked(pool_); }

  Pool& pool() const { return *pool_; }
  // For a test that controls the time.
  void TellTime(Clock& clock) { told_ = &clock; }

  // Runs body(Connection&, State) without a lock.
  template <typename Body>
  absl::Status Read(const SpaceName& name, const Body& body) {
    return pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          auto results,
          connection.RunCurrent(Rows::Read(name, false, Now(), connection.facts()), Rows::kShapes));
      LOCUS_ASSIGN_OR_RETURN(State state, Rows::Parse(results, connection.place()));
      return body(connection, std::move(state));
    });
  }

  // Runs body(Transaction&), which commits. A loss that the transaction finds is committed by
  // note_loss(Transaction&) before `body` runs, so that it is kept even if `body` fails.
  template <typename NoteLoss, typename Body>
  absl::Status Write(const SpaceName& name, const NoteLoss& note_loss, const Body& body) {
    return pool_->Use([&](Connection& connection) -> absl::Status {
      Transaction now{name, connection, {}, false};
      LOCUS_RETURN_IF_ERROR(Begin(now));
      if (now.state.exists() && now.state.recorded != now.state.identity) {
        LOCUS_RETURN_IF_ERROR(note_loss(now));
        LOCUS_RETURN_IF_ERROR(Begin(now));
        now.loss_noticed = true;
      }
      return body(now);
    });
  }

 private:
  std::string Now() const {
    return NowExpression(told_ == nullptr ? std::nullopt : std::optional<absl::Time>(told_->Now()));
  }

  // A missing row cannot be locked, so rows are created under the lock of one that always exists.
  absl::Status Begin(Transaction& now) const {
    LOCUS_RETURN_IF_ERROR(ReadLocked("START TRANSACTION", kNoRows, now));
    if (now.state.exists()) return absl::OkStatus();
    return ReadLocked(Rows::kLockNew, AtMostOneRow(1), now);
  }

  // Runs the statement `first`, which answers in `shape`, and then reads.
  absl::Status ReadLocked(const char* first, Shape shape, Transaction& now) const {
    const std::string read =
        absl::StrCat(first, ";", Rows::Read(now.name, true, Now(), now.connection.facts()));
    LOCUS_ASSIGN_OR_RETURN(
        auto results, now.connection.RunCurrent(read, {shape, Rows::kShapes[0], Rows::kShapes[1]}));
    LOCUS_ASSIGN_OR_RETURN(now.state, Rows::Parse(std::span<const Result>(results).subspan(1),
                                                  now.connection.place()));
    return absl::OkStatus();
  }

  std::unique_ptr<Pool> pool_;
  Clock* told_ = nullptr;
};

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_LOCKED_ROWS_H_
