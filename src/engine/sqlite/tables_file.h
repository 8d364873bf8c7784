// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_TABLES_FILE_H_
#define LOCUS_SRC_ENGINE_SQLITE_TABLES_FILE_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"
#include "src/engine/sqlite/store_file.h"

namespace locus::sqlite {

// The file of a store that has its own tables and its own sidecar, beside those of segments: worker
// leases and strict sequences. Its transactions compare the identities, and note a loss. `Tables`
// are the store's tables, with Create, ReadStore and WriteStore.
// Thread safety: all methods may be called from any thread. Fork: calls of a forked child are
// refused, and destruction touches no file.
template <typename Tables>
class TablesFile {
 public:
  // The state that a write works on.
  struct Transaction {
    Transaction(Connection& connection, absl::Time now) : tables(connection), time(now) {}

    Tables tables;
    Sidecar beside;
    absl::Time time;          // the store's
    absl::Time newest_grant;  // as stored; what the transaction leaves here is stored
    bool loss_noticed = false;
    absl::Status refused;  // answered after the commit: a refusal may store something

    // The latest that the store's clock ever was.
    absl::Time Newest() const { return std::max(time, newest_grant); }
  };
  // Writes down that anything in the file may have been lost.
  using NoteLosses = std::function<absl::Status(Transaction&)>;

  // `sidecar`: what the sidecar's name ends with.
  TablesFile(const std::string& path, absl::Duration busy_timeout, const char* sidecar,
             Clock& clock, NoteLosses note_losses)
      : sidecar_(sidecar),
        clock_(clock),
        note_losses_(std::move(note_losses)),
        path_(path),
        file_(std::make_unique<StoreFile>(path, busy_timeout)) {}
  ~TablesFile() {
    // Closing a connection in a forked child could undo its parent's log: the child abandons it.
    if (home_.forked()) static_cast<void>(file_.release());
  }

  const std::string& path() const { return path_; }

  absl::Status Connect(bool create) {
    internal::MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Connect(create));
    return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return Tables(file_->connection()).Create(RandomId());
    });
  }

  // Runs body(tables, now) in a transaction that only reads.
  template <typename Body>
  auto Read(const Body& body) -> decltype(body(std::declval<Tables&>(), absl::Time())) {
    LOCUS_RETURN_IF_ERROR(home_.Check("a store's handle"));
    internal::MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    LOCUS_RETURN_IF_ERROR(file_->connection().Execute("BEGIN"));
    Tables tables(file_->connection());
    auto answer = body(tables, clock_.Now());
    LOCUS_RETURN_IF_ERROR(file_->connection().Execute("COMMIT"));
    return answer;
  }

  // Runs body(Transaction&) in a transaction. A loss is noted in an earlier transaction of its own,
  // so that it is kept even if `body` fails.
  template <typename Body>
  absl::Status Write(const Body& body) {
    LOCUS_RETURN_IF_ERROR(home_.Check("a store's handle"));
    internal::MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    bool noted = false;
    absl::Status refused;
    absl::Status status = InOneTransaction([&](Transaction& now) {
      noted = now.loss_noticed;
      absl::Status done = noted ? note_losses_(now) : body(now);
      refused = now.refused;
      return done;
    });
    if (status.ok() && noted) {
      status = InOneTransaction([&](Transaction& now) {
        now.loss_noticed = true;
        absl::Status done = body(now);
        refused = now.refused;
        return done;
      });
    }
    return status.ok() ? refused : status;
  }

 private:
  // Compares the identities, and raises the generation in the sidecar, then in the file.
  template <typename Body>
  absl::Status InOneTransaction(const Body& body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(file_->StillThere());
      LOCUS_RETURN_IF_ERROR(file_->LockSidecar(sidecar_));
      Transaction now(file_->connection(), clock_.Now());
      LOCUS_RETURN_IF_ERROR(now.tables.Create(RandomId()));
      LOCUS_ASSIGN_OR_RETURN(StoreRow row, now.tables.ReadStore());
      LOCUS_ASSIGN_OR_RETURN(now.beside, file_->sidecar().Read());
      now.newest_grant = row.newest_grant;
      Identity identity = row.identity;
      now.loss_noticed = identity != now.beside.identity;
      if (now.loss_noticed) identity.id = RandomId();
      LOCUS_RETURN_IF_ERROR(body(now));
      ++identity.generation;
      LOCUS_RETURN_IF_ERROR(now.tables.WriteStore({identity, now.newest_grant}));
      now.beside.identity = identity;
      return file_->sidecar().Write(now.beside);
    });
  }

  const char* const sidecar_;
  Clock& clock_;
  const NoteLosses note_losses_;
  const std::string path_;
  const internal::ForkGuard home_;
  internal::Mutex mutex_;
  std::unique_ptr<StoreFile> file_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_TABLES_FILE_H_
