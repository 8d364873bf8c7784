// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/engine/mariadb_table.h"
#include "routing/engine/mariadb/table_rows.h"
#include "src/check.h"
#include "src/engine/mariadb/pool.h"
#include "src/mutex.h"

namespace locus {

using mariadb::Connection;
using mariadb::Pool;
using mariadb::TableRow;

class MariadbTableSource::Rep {
 public:
  Rep(std::unique_ptr<Pool> pool, absl::Duration poll_every)
      : pool_(std::move(pool)), poll_every_(absl::ToChronoNanoseconds(poll_every)) {}

  bool forked() const { return pool_->forked(); }
  MariadbStats Stats() const { return pool_->Stats(); }
  std::string place() const { return mariadb::TablePlace(pool_->options()); }

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known, TimePoint deadline) {
    while (true) {
      // In a forked child the mutex may be held for ever; Look says what is wrong.
      bool hurried = !forked() && TakeLookNow();
      TimePoint asked = std::chrono::steady_clock::now();
      LOCUS_ASSIGN_OR_RETURN(std::optional<SourcedTable> news, Look(known));
      if (news || hurried) return news;
      WaitUntil(std::min(deadline, asked + poll_every_));
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    }
  }

  void LookNow() {
    MutexLock lock(mutex_);
    look_now_ = true;
    wake_.NotifyAll();
  }

 private:
  bool TakeLookNow() {
    MutexLock lock(mutex_);
    return std::exchange(look_now_, false);
  }

  void WaitUntil(TimePoint until) {
    MutexLock lock(mutex_);
    while (!look_now_ && std::chrono::steady_clock::now() < until) wake_.WaitUntil(mutex_, until);
  }

  absl::StatusOr<std::optional<SourcedTable>> Look(const std::string& known) {
    std::optional<SourcedTable> news;
    absl::Status status = pool_->Use([&](Connection& connection) {
      absl::Status read = Read(connection, known, news);
      if (read.ok()) return read;
      return mariadb::Explain(connection, read, absl::StatusCode::kNotFound);
    });
    if (!status.ok()) return status;
    return news;
  }

  static absl::Status Read(Connection& connection, const std::string& known,
                           std::optional<SourcedTable>& news) {
    constexpr int kAttempts = 3;
    for (int i = 0; i < kAttempts; ++i) {
      LOCUS_ASSIGN_OR_RETURN(auto newest, connection.Run(mariadb::SelectNewest()));
      LOCUS_ASSIGN_OR_RETURN(std::optional<TableRow> row,
                             mariadb::ParseRow(newest[0], connection.place()));
      if (!row) {
        return absl::NotFoundError(absl::StrCat("mariadb ", connection.place(),
                                                ": routing_table is empty: nothing was published"));
      }
      if (row->version() == known) return absl::OkStatus();
      if (row->bytes > kMaxDocumentBytes) {
        return absl::FailedPreconditionError(absl::StrCat(
            "mariadb ", connection.place(), ": the document of epoch ", row->epoch,
            " in routing_table is ", row->bytes, " bytes long; at most ", kMaxDocumentBytes));
      }
      LOCUS_ASSIGN_OR_RETURN(auto document, connection.Run(mariadb::SelectDocument(*row)));
      if (document[0].rows.empty()) continue;  // deleted or replaced since
      news = SourcedTable{document[0].rows[0][0].value_or(""), row->version()};
      return absl::OkStatus();
    }
    return absl::UnavailableError(absl::StrCat("mariadb ", connection.place(),
                                               ": routing_table changed during each of ", kAttempts,
                                               " attempts to read it"));
  }

  const std::unique_ptr<Pool> pool_;
  const std::chrono::nanoseconds poll_every_;
  Mutex mutex_;
  CondVar wake_;
  bool look_now_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<MariadbTableSource>> MariadbTableSource::Open(
    const MariadbTableOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options.mariadb, Pool::Schema::kNotLookedAt,
                                               Connection::Access::kRead));
  return std::unique_ptr<MariadbTableSource>(
      new MariadbTableSource(std::make_unique<Rep>(std::move(pool), options.poll_every)));
}

MariadbTableSource::MariadbTableSource(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

MariadbTableSource::~MariadbTableSource() {
  // In a forked child the sockets are its parent's.
  if (rep_->forked()) rep_.release();
}

absl::StatusOr<std::optional<SourcedTable>> MariadbTableSource::Next(const std::string& known,
                                                                     TimePoint deadline) {
  return rep_->Next(known, deadline);
}

void MariadbTableSource::LookNow() { rep_->LookNow(); }

std::string MariadbTableSource::place() const { return rep_->place(); }

MariadbStats MariadbTableSource::Stats() const { return rep_->Stats(); }

}  // namespace locus
