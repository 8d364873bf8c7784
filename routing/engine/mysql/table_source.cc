// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/routing/engine/mysql.h"
#include "routing/engine/mysql/table_rows.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"
#include "src/engine/mysql/pool.h"

namespace locus {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

using mysql::Connection;
using mysql::Pool;
using mysql::TableRow;

namespace {

using Answer = absl::StatusOr<std::optional<SourcedTable>>;

// One of the servers, and whether it answered last time.
struct Host {
  std::unique_ptr<Pool> pool;
  bool answers = false;
};

absl::StatusOr<TableRow> ReadNewestRow(Connection& connection) {
  LOCUS_ASSIGN_OR_RETURN(auto newest, connection.Run(mysql::SelectNewest(), {mysql::kNewestShape}));
  LOCUS_ASSIGN_OR_RETURN(std::optional<TableRow> row,
                         mysql::ParseRow(newest[0], connection.place()));
  if (row) return *row;
  return absl::NotFoundError(absl::StrCat("mariadb ", connection.place(),
                                          ": routing_table is empty: nothing was published"));
}

Answer ReadNews(Connection& connection, const std::string& known) {
  constexpr int kAttempts = 3;
  for (int i = 0; i < kAttempts; ++i) {
    LOCUS_ASSIGN_OR_RETURN(TableRow row, ReadNewestRow(connection));
    if (row.version() == known) return std::nullopt;
    if (row.bytes > TableSource::kMaxDocumentBytes) {
      return absl::FailedPreconditionError(
          absl::StrCat("mariadb ", connection.place(), ": the document of epoch ", row.epoch,
                       " in routing_table is ", row.bytes, " bytes long; at most ",
                       TableSource::kMaxDocumentBytes));
    }
    LOCUS_ASSIGN_OR_RETURN(auto document,
                           connection.Run(mysql::SelectDocument(row), {&mysql::kDocumentShape, 1},
                                          mysql::kDocumentBytes));
    if (document[0].rows.empty()) continue;  // it was deleted or replaced since
    return SourcedTable{document[0].rows[0][0].value_or(""), row.version()};
  }
  return absl::UnavailableError(absl::StrCat("mariadb ", connection.place(),
                                             ": routing_table changed during each of ", kAttempts,
                                             " attempts to read it"));
}

// The answer of `read` over a connection to the host.
template <typename T, typename Read>
absl::StatusOr<T> AskHost(Host& host, Read read) {
  absl::StatusOr<T> answer = absl::UnavailableError("");
  absl::Status status = host.pool->Use([&](Connection& connection) {
    answer = read(connection);
    if (answer.ok()) return absl::OkStatus();
    return mysql::Explain(connection, answer.status(), absl::StatusCode::kNotFound);
  });
  host.answers = !absl::IsUnavailable(status);
  if (!status.ok()) return status;
  return answer;
}

// The status of several hosts without a table: retryable if that of any of them is.
absl::Status Joined(const absl::Status& one, const absl::Status& other) {
  if (one.ok()) return other;
  absl::StatusCode code = other.code();
  for (absl::StatusCode first : {absl::StatusCode::kUnavailable, absl::StatusCode::kNotFound}) {
    if (one.code() != first && other.code() != first) continue;
    code = first;
    break;
  }
  return absl::Status(code, absl::StrCat(one.message(), "; ", other.message()));
}

}  // namespace

class MysqlTableSource::Rep {
 public:
  Rep(std::vector<Host> hosts, const MysqlTableOptions& options)
      : place_(mysql::TablePlace(options.mariadb)),
        poll_every_(absl::ToChronoNanoseconds(options.poll_every)),
        ask_all_every_(absl::ToChronoNanoseconds(options.ask_all_every)),
        hosts_(std::move(hosts)) {}

  bool forked() const { return hosts_[0].pool->forked(); }
  const std::string& place() const { return place_; }

  Answer Next(const std::string& known, TimePoint deadline) {
    // In a forked child a lock may be held for ever, so ask the pool first: it refuses.
    if (forked()) return AskNews(hosts_[0], known);
    while (true) {
      bool hurried = TakeLookNow();
      TimePoint asked = std::chrono::steady_clock::now();
      Answer news = Look(known, hurried);
      if (!news.ok()) Count(news.status());
      if (!news.ok() || *news || hurried) return news;
      WaitUntil(std::min(deadline, asked + poll_every_));
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    }
  }

  void LookNow() {
    MutexLock lock(mutex_);
    look_now_ = true;
    wake_.NotifyAll();
  }

  MysqlStats Stats() const {
    if (forked()) return {};
    MysqlStats stats;
    for (const Host& host : hosts_) {
      MysqlStats one = host.pool->Stats();
      stats.connects += one.connects;
      stats.conflicts += one.conflicts;
    }
    MutexLock lock(mutex_);
    stats.failures = failures_;
    stats.last_failure = last_failure_;
    return stats;
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

  void Count(const absl::Status& failure) {
    if (absl::IsNotFound(failure)) return;
    MutexLock lock(mutex_);
    ++failures_;
    last_failure_ = failure;
  }

  static Answer AskNews(Host& host, const std::string& known) {
    auto read = [&known](Connection& connection) { return ReadNews(connection, known); };
    return AskHost<std::optional<SourcedTable>>(host, read);
  }

  Answer Look(const std::string& known, bool hurried) {
    Host& asked = hosts_[asked_];
    bool answered = asked.answers;
    Answer news = AskNews(asked, known);
    if (hosts_.size() == 1) return news;
    // A broken connection says little about its server: try a new one.
    if (absl::IsUnavailable(news.status()) && answered) news = AskNews(asked, known);
    bool due = std::chrono::steady_clock::now() >= all_due_;
    if (news.ok() && *news && hurried) LookNow();  // another host may have a newer one
    if (news.ok() && (*news || !(hurried || due))) return news;
    return AskAll(known, news.status(), !news.ok() || due);
  }

  // Switches to the host with the highest epoch, to the first one if several have it. `status`: the
  // answer of the current host. Without `also_silent` it skips those that did not answer last time.
  Answer AskAll(const std::string& known, const absl::Status& status, bool also_silent) {
    std::optional<TableRow> best;
    size_t best_host = 0;
    absl::Status failure;
    for (size_t i = 0; i < hosts_.size(); ++i) {
      if (!also_silent && !hosts_[i].answers) continue;
      bool silent = i == asked_ && absl::IsUnavailable(status);
      auto row = silent ? status : AskHost<TableRow>(hosts_[i], ReadNewestRow);
      if (!row.ok()) {
        failure = Joined(failure, row.status());
      } else if (!best || row->epoch > best->epoch) {
        best = *row;
        best_host = i;
      }
    }
    if (also_silent) all_due_ = std::chrono::steady_clock::now() + ask_all_every_;
    if (!best) return failure;
    asked_ = best_host;
    if (best->version() == known) return std::nullopt;
    return AskNews(hosts_[asked_], known);
  }

  const std::string place_;
  const std::chrono::nanoseconds poll_every_;
  const std::chrono::nanoseconds ask_all_every_;

  // Used only by the thread in Next.
  std::vector<Host> hosts_;
  size_t asked_ = 0;
  TimePoint all_due_ = TimePoint::min();

  mutable Mutex mutex_;
  CondVar wake_;
  bool look_now_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<MysqlTableSource>> MysqlTableSource::Open(
    const MysqlTableOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(auto pools,
                         Pool::MakeForEachHost(options.mariadb, Pool::Schema::kNotLookedAt,
                                               Connection::Access::kRead));
  std::vector<Host> hosts;
  for (std::unique_ptr<Pool>& pool : pools) hosts.push_back({std::move(pool)});
  return std::unique_ptr<MysqlTableSource>(
      new MysqlTableSource(std::make_unique<Rep>(std::move(hosts), options)));
}

MysqlTableSource::MysqlTableSource(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

MysqlTableSource::~MysqlTableSource() {
  // In a forked child the sockets are its parent's.
  internal::AbandonIfForked(rep_);
}

absl::StatusOr<std::optional<SourcedTable>> MysqlTableSource::Next(const std::string& known,
                                                                   TimePoint deadline) {
  return rep_->Next(known, deadline);
}

void MysqlTableSource::LookNow() { rep_->LookNow(); }

std::string MysqlTableSource::place() const { return rep_->place(); }

MysqlStats MysqlTableSource::Stats() const { return rep_->Stats(); }

}  // namespace locus
