// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/pool.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/schema.h"

namespace locus::mysql {

using internal::CopySecret;
using internal::MutexLock;
using internal::SecretBytes;

namespace {

bool IsTrouble(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsFailedPrecondition(status) ||
         absl::IsDataLoss(status);
}

// Most of each pause is random, because calls that conflict began at the same time.
constexpr internal::Backoff::Policy kConflictPauses{absl::Milliseconds(1), absl::Milliseconds(64),
                                                    0.75};

TimePoint Now() { return std::chrono::steady_clock::now(); }

}  // namespace

absl::StatusOr<std::unique_ptr<Pool>> Pool::Make(const MysqlOptions& options, Schema schema,
                                                 Connection::Access access) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  return MakeFor(options.hosts, options, schema, access);
}

absl::StatusOr<std::vector<std::unique_ptr<Pool>>> Pool::MakeForEachHost(
    const MysqlOptions& options, Schema schema, Connection::Access access) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::vector<std::unique_ptr<Pool>> pools;
  for (const MysqlOptions::Host& host : options.hosts) {
    LOCUS_ASSIGN_OR_RETURN(pools.emplace_back(), MakeFor({host}, options, schema, access));
  }
  return pools;
}

absl::StatusOr<std::unique_ptr<Pool>> Pool::MakeFor(const std::vector<MysqlOptions::Host>& hosts,
                                                    const MysqlOptions& options, Schema schema,
                                                    Connection::Access access) {
  LOCUS_ASSIGN_OR_RETURN(SecretBytes password, SecretBytes::Allocate(options.password.size() + 1));
  CopySecret(options.password.data(), password.data(), options.password.size());
  MysqlOptions without_password = options;
  explicit_bzero(without_password.password.data(), without_password.password.size());
  without_password.password.clear();
  without_password.hosts = hosts;
  return std::unique_ptr<Pool>(new Pool(without_password, schema, access, std::move(password)));
}

Pool::Pool(const MysqlOptions& options, Schema schema, Connection::Access access,
           SecretBytes password)
    : options_(options),
      schema_(schema),
      access_(access),
      password_(std::move(password)),
      random_(std::random_device()()) {}

absl::Status Pool::Use(const std::function<absl::Status(Connection&)>& body) {
  // Before any lock: a forked child may hold a copy of one that no thread will release.
  if (forked()) {
    return internal::ForkGuard::Refusal(
        absl::StrCat("the pool of mariadb database ", options_.database));
  }
  absl::Status status = UseUncounted(body);
  if (IsTrouble(status)) {
    MutexLock lock(mutex_);
    ++stats_.failures;
    stats_.last_failure = status;
  }
  return status;
}

absl::Status Pool::UseUncounted(const std::function<absl::Status(Connection&)>& body) {
  const auto timeout = absl::ToChronoNanoseconds(options_.timeout);
  const TimePoint retry_until = Now() + timeout;
  // The deadline of the whole call, as MysqlOptions promises, whatever the servers do.
  const TimePoint end = Now() + 3 * timeout +
                        options_.hosts.size() * absl::ToChronoNanoseconds(options_.connect_timeout);
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Take(retry_until, end));
  connection->set_deadline(end);
  internal::Backoff backoff(kConflictPauses);
  absl::Status status;
  while (true) {
    status = body(*connection);
    if (status.ok()) break;
    bool conflict = connection->conflict();
    // A connection that may still be in the transaction must not serve another caller.
    if (!connection->spent() && !connection->Run("ROLLBACK").ok()) connection.reset();
    if (!conflict || connection == nullptr || connection->spent() || Now() >= retry_until) break;
    Pause(backoff);
  }
  GiveBack(std::move(connection));
  return status;
}

void Pool::Pause(internal::Backoff& backoff) {
  absl::Duration pause;
  {
    MutexLock lock(mutex_);
    ++stats_.conflicts;
    pause = backoff.Next(random_());
  }
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(pause));
}

absl::StatusOr<std::unique_ptr<Connection>> Pool::Take(TimePoint until, TimePoint end) {
  {
    MutexLock lock(mutex_);
    while (in_use_ >= options_.max_connections) {
      if (Now() >= until) {
        return absl::UnavailableError(
            absl::StrCat("mariadb database ", options_.database, ": all ", options_.max_connections,
                         " connections were in use for ", absl::FormatDuration(options_.timeout)));
      }
      given_back_.WaitUntil(mutex_, until);
    }
    ++in_use_;
    while (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      if (!connection->Stale()) return connection;
    }
  }
  absl::StatusOr<std::unique_ptr<Connection>> connected = Connect(end);
  if (!connected.ok()) GiveBack(nullptr);
  return connected;
}

absl::StatusOr<std::unique_ptr<Connection>> Pool::Connect(TimePoint end) {
  size_t first;
  {
    MutexLock lock(mutex_);
    first = first_host_;
  }
  absl::Status failure;
  for (size_t i = 0; i < options_.hosts.size(); ++i) {
    size_t host = (first + i) % options_.hosts.size();
    auto connected =
        Connection::Open(options_, options_.hosts[host], password_.data(), access_, end);
    absl::Status status = connected.status();
    if (status.ok() && schema_ == Schema::kMustFit) status = CheckSchema(**connected);
    if (status.ok()) {
      MutexLock lock(mutex_);
      first_host_ = host;
      ++stats_.connects;
      return connected;
    }
    // If one host may answer next time, the call may be retried.
    bool retry = absl::IsUnavailable(status) || absl::IsUnavailable(failure);
    std::string text = failure.ok() ? "" : absl::StrCat(failure.message(), "; ");
    failure = absl::Status(retry ? absl::StatusCode::kUnavailable : status.code(),
                           absl::StrCat(text, status.message()));
  }
  return failure;
}

void Pool::GiveBack(std::unique_ptr<Connection> connection) {
  bool keep = connection != nullptr && !connection->spent();
  if (!keep) connection.reset();  // before the lock: closing may take time
  MutexLock lock(mutex_);
  --in_use_;
  if (keep) idle_.push_back(std::move(connection));
  given_back_.NotifyAll();
}

MysqlStats Pool::Stats() const {
  if (forked()) return {};
  MutexLock lock(mutex_);
  return stats_;
}

}  // namespace locus::mysql
