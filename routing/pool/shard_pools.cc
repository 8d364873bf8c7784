// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/engine/shard_pools.h"

#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "routing/pool/shard_pool.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

using internal::CopySecret;
using internal::Mutex;
using internal::MutexLock;
using internal::SecretBytes;
using internal::ShardAccount;
using internal::ShardEndpoint;
using internal::ShardPool;
using internal::ShardSession;

namespace {

absl::Status Refuse(absl::string_view option, absl::string_view value, absl::string_view limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("shard pools option ", option, " is ", value, "; it must be ", limit));
}

absl::Status Within(absl::string_view option, absl::Duration value, absl::Duration least,
                    absl::Duration most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return Refuse(option, absl::FormatDuration(value),
                absl::StrCat(absl::FormatDuration(least), " to ", absl::FormatDuration(most)));
}

absl::Status OfShard(const std::string& name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("shard ", name, ": ", status.message()));
}

}  // namespace

absl::Status ShardPoolsSettings::Check() const {
  constexpr absl::Duration kSecond = absl::Seconds(1), kHour = absl::Hours(1);
  LOCUS_RETURN_IF_ERROR(Within("connect_timeout", connect_timeout, kSecond, kHour));
  LOCUS_RETURN_IF_ERROR(Within("timeout", timeout, kSecond, kHour));
  if (max_connections < 1 || max_connections > 10000) {
    return Refuse("max_connections", absl::StrCat(max_connections), "1 to 10000");
  }
  if (min_idle > max_connections) {
    return Refuse("min_idle", absl::StrCat(min_idle),
                  absl::StrCat("at most max_connections, ", max_connections));
  }
  LOCUS_RETURN_IF_ERROR(
      Within("idle_timeout", idle_timeout, absl::Milliseconds(10), absl::Hours(24)));
  LOCUS_RETURN_IF_ERROR(
      Within("max_lifetime", max_lifetime, absl::Milliseconds(10), absl::Hours(24 * 30)));
  LOCUS_RETURN_IF_ERROR(Within("ping_after", ping_after, absl::ZeroDuration(), absl::Hours(24)));
  LOCUS_RETURN_IF_ERROR(Within("longest_pause", longest_pause, absl::Milliseconds(50), kHour));
  return absl::OkStatus();
}

ShardConnection::ShardConnection(std::shared_ptr<ShardPool> pool,
                                 std::unique_ptr<ShardSession> session)
    : pool_(std::move(pool)), session_(std::move(session)) {}

ShardConnection::ShardConnection(ShardConnection&&) noexcept = default;

ShardConnection& ShardConnection::operator=(ShardConnection&& other) noexcept {
  if (this == &other) return *this;
  GiveBack();
  pool_ = std::move(other.pool_);
  session_ = std::move(other.session_);
  spoiled_ = other.spoiled_;
  return *this;
}

ShardConnection::~ShardConnection() { GiveBack(); }

void ShardConnection::GiveBack() {
  if (session_ == nullptr) return;
  if (pool_->forked()) {
    // The connection belongs to the parent process: closing it would end the parent's session. So
    // it stays, and its pool with it.
    session_.release();
    new std::shared_ptr<ShardPool>(std::move(pool_));
    return;
  }
  pool_->GiveBack(std::move(session_), spoiled_);
  pool_.reset();
}

st_mysql* ShardConnection::handle() const { return session_->handle(); }

const std::string& ShardConnection::place() const { return session_->place(); }

class ShardPools::Rep {
 public:
  explicit Rep(std::shared_ptr<const ShardAccount> account) : account_(std::move(account)) {}

  bool forked() const { return account_->forked(); }

  absl::StatusOr<ShardConnection> Take(const RoutedShard& shard, std::optional<uint64_t> epoch,
                                       TimePoint deadline);
  std::vector<ShardPoolStats> Stats() const;
  void Close();

 private:
  struct Entry {
    std::string name;
    uint64_t epoch = 0;                               // the highest that a caller passed
    std::shared_ptr<ShardPool> pool;                  // to the newest endpoint
    TimePoint asked_at;                               // when a caller last asked for that endpoint
    std::string left;                                 // the endpoint before
    std::vector<std::shared_ptr<ShardPool>> retired;  // to earlier endpoints, until they are gone
    ShardPoolStats past;                              // counters of those that are gone
  };

  absl::StatusOr<std::shared_ptr<ShardPool>> PoolOf(const RoutedShard& shard,
                                                    std::optional<uint64_t> epoch);
  // ABORTED: `shard`, which names another endpoint than the entry, is older than the entry.
  static absl::Status CheckAge(const Entry& entry, const RoutedShard& shard,
                               std::optional<uint64_t> epoch);
  // The entry's pool, for a shard with the entry's endpoint.
  std::shared_ptr<ShardPool> Seen(Entry& entry, const RoutedShard& shard,
                                  std::optional<uint64_t> epoch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Retarget(Entry& entry, std::shared_ptr<ShardPool> pool)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const ShardAccount> account_;
  mutable Mutex mutex_;
  std::map<uint32_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

absl::Status ShardPools::Rep::CheckAge(const Entry& entry, const RoutedShard& shard,
                                       std::optional<uint64_t> epoch) {
  if (epoch && *epoch >= entry.epoch) return absl::OkStatus();
  if (epoch) {
    return absl::AbortedError(absl::StrCat("the table of epoch ", entry.epoch, " has it at ",
                                           entry.pool->place(), ", the caller passed epoch ",
                                           *epoch, ": route again, with the newest table"));
  }
  // Without epochs old and new shards look alike. The endpoint that came later counts for as long
  // as callers ask for it; otherwise they would re-target the pool in turn, at every call.
  constexpr std::chrono::seconds kInUse{1};
  if (shard.endpoint != entry.left || std::chrono::steady_clock::now() - entry.asked_at >= kInUse) {
    return absl::OkStatus();
  }
  return absl::AbortedError(absl::StrCat("it moved to ", entry.pool->place(),
                                         ", where other callers use it: route again, with the"
                                         " newest table, or pass the table's epoch"));
}

absl::StatusOr<std::shared_ptr<ShardPool>> ShardPools::Rep::PoolOf(const RoutedShard& shard,
                                                                   std::optional<uint64_t> epoch) {
  {
    MutexLock lock(mutex_);
    auto found = entries_.find(shard.id);
    if (found != entries_.end()) {
      Entry& entry = found->second;
      if (entry.pool->endpoint_text() == shard.endpoint) return Seen(entry, shard, epoch);
      LOCUS_RETURN_IF_ERROR(CheckAge(entry, shard, epoch));
    }
  }
  auto endpoint = ShardEndpoint::Parse(shard.endpoint);
  if (!endpoint.ok()) return endpoint.status();
  auto pool = std::make_shared<ShardPool>(account_, shard.endpoint, *std::move(endpoint));
  MutexLock lock(mutex_);
  Entry& entry = entries_[shard.id];
  // Another caller may have made it meanwhile.
  if (entry.pool == nullptr || entry.pool->endpoint_text() != shard.endpoint) {
    LOCUS_RETURN_IF_ERROR(CheckAge(entry, shard, epoch));
    Retarget(entry, std::move(pool));
  }
  return Seen(entry, shard, epoch);
}

std::shared_ptr<ShardPool> ShardPools::Rep::Seen(Entry& entry, const RoutedShard& shard,
                                                 std::optional<uint64_t> epoch) {
  entry.asked_at = std::chrono::steady_clock::now();
  if (epoch.value_or(entry.epoch) < entry.epoch) return entry.pool;
  entry.epoch = epoch.value_or(entry.epoch);
  if (entry.name != shard.name) entry.name = shard.name;
  return entry.pool;
}

void ShardPools::Rep::Retarget(Entry& entry, std::shared_ptr<ShardPool> pool) {
  if (entry.pool != nullptr) {
    entry.pool->Retire();
    entry.left = entry.pool->endpoint_text();
    ++entry.past.retargets;
    entry.retired.push_back(std::move(entry.pool));
  }
  entry.pool = std::move(pool);
  std::erase_if(entry.retired, [&entry](const std::shared_ptr<ShardPool>& old) {
    if (!old->gone()) return false;
    old->AddTo(entry.past);
    return true;
  });
}

absl::StatusOr<ShardConnection> ShardPools::Rep::Take(const RoutedShard& shard,
                                                      std::optional<uint64_t> epoch,
                                                      TimePoint deadline) {
  // Before any lock: a forked child may have copied a lock whose holder does not exist in it.
  if (forked()) return internal::ForkGuard::Refusal("a ShardPools");
  absl::StatusOr<std::shared_ptr<ShardPool>> pool = PoolOf(shard, epoch);
  if (!pool.ok()) return OfShard(shard.name, pool.status());
  absl::StatusOr<ShardConnection> connection = ShardPool::Take(*pool, deadline);
  if (!connection.ok()) return OfShard(shard.name, connection.status());
  return connection;
}

std::vector<ShardPoolStats> ShardPools::Rep::Stats() const {
  MutexLock lock(mutex_);
  std::vector<ShardPoolStats> all;
  for (const auto& [id, entry] : entries_) {
    ShardPoolStats& stats = all.emplace_back(entry.past);
    stats.shard = id;
    stats.name = entry.name;
    stats.place = entry.pool->place();
    for (const std::shared_ptr<ShardPool>& old : entry.retired) old->AddTo(stats);
    entry.pool->AddTo(stats);
    stats.last_error = OfShard(entry.name, stats.last_error);
  }
  return all;
}

void ShardPools::Rep::Close() {
  std::map<uint32_t, Entry> entries;
  {
    MutexLock lock(mutex_);
    entries.swap(entries_);
  }
  for (auto& [id, entry] : entries) {
    entry.pool->Retire();
    entry.retired.push_back(std::move(entry.pool));
  }
  for (auto& [id, entry] : entries) {
    for (const std::shared_ptr<ShardPool>& pool : entry.retired) pool->StopThread();
  }
}

absl::StatusOr<std::unique_ptr<ShardPools>> ShardPools::Create(const ShardPoolsOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  auto account = std::make_shared<ShardAccount>();
  LOCUS_ASSIGN_OR_RETURN(account->password, SecretBytes::Allocate(options.password.size() + 1));
  CopySecret(options.password.data(), account->password.data(), options.password.size());
  account->options = options;  // all but the password
  return std::unique_ptr<ShardPools>(new ShardPools(std::make_unique<Rep>(std::move(account))));
}

ShardPools::ShardPools(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

ShardPools::~ShardPools() {
  internal::AbandonIfForked(rep_);
  if (rep_ != nullptr) rep_->Close();
}

absl::StatusOr<ShardConnection> ShardPools::Take(const RoutedShard& shard, TimePoint deadline) {
  return rep_->Take(shard, std::nullopt, deadline);
}

absl::StatusOr<ShardConnection> ShardPools::Take(const RoutedShard& shard, uint64_t epoch,
                                                 TimePoint deadline) {
  return rep_->Take(shard, epoch, deadline);
}

std::vector<ShardPoolStats> ShardPools::Stats() const {
  if (rep_->forked()) return {};
  return rep_->Stats();
}

}  // namespace locus
