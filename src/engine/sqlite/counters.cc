// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "locus/clock.h"
#include "locus/engine/sqlite.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"
#include "src/counter/sequencer_rules.h"
#include "src/engine/sqlite/store_file.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

using sqlite::Query;

// expires_at: ms since 1970; 0: never. A version begins at random, so that a key which was
// forgotten and swept does not meet its old ones again.
//
// locus_sequence_boot has a row for each counter that was written with a ttl: its end in ms since
// the boot. It is a table of its own, so that programs of earlier versions can still use the file.
constexpr char kCounterTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS locus_sequence (
    name BLOB PRIMARY KEY, value INTEGER NOT NULL, version INTEGER NOT NULL,
    expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS locus_sequence_expiry ON locus_sequence (expires_at)
    WHERE expires_at > 0;
  CREATE TABLE IF NOT EXISTS locus_sequence_boot (
    name BLOB PRIMARY KEY, boot TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER IF NOT EXISTS locus_sequence_removed AFTER DELETE ON locus_sequence BEGIN
    DELETE FROM locus_sequence_boot WHERE name = OLD.name;
  END;
)sql";

// Binds: the name, the time, the boot and the time since it. A wall clock that has passed the end
// is not enough, because it may have jumped ahead: a process of this boot may still hold numbers.
constexpr char kFind[] = R"sql(
  SELECT value, version, expires_at > 0 AND expires_at <= ?2 AND NOT EXISTS (
      SELECT 1 FROM locus_sequence_boot AS b WHERE b.name = ?1 AND b.boot = ?3 AND b.expires_at > ?4),
    expires_at FROM locus_sequence WHERE name = ?1
)sql";
// Two forgotten keys go for each new one, so that they do not pile up. They are looked for among a
// few: after a jump of the clock, all could be past by it, and none by the time since boot.
constexpr char kSweep[] = R"sql(
  DELETE FROM locus_sequence WHERE name IN (
    SELECT name FROM (SELECT name FROM locus_sequence WHERE expires_at > 0 AND expires_at <= ?1
                      ORDER BY expires_at LIMIT 16) AS past
      WHERE NOT EXISTS (SELECT 1 FROM locus_sequence_boot AS b
                          WHERE b.name = past.name AND b.boot = ?2 AND b.expires_at > ?3)
      LIMIT 2)
)sql";

int64_t NowMs() { return Clock::System().UnixMillis(); }
int64_t BootMs() { return absl::ToInt64Milliseconds(Clock::System().SinceBoot()); }

// Empty where the system has none: the wall clock alone counts there.
const std::string& BootId() {
  static const auto* id = [] {
    auto* text = new std::string;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), *text);
    return text;
  }();
  return *id;
}

int64_t RandomVersion() {
  std::random_device random;
  return static_cast<int64_t>(random()) << 30 | random() >> 2;
}

struct Row {
  int64_t value = 0;
  int64_t version = 0;
  bool live = false;  // false: forgotten, and not swept yet
  int64_t expires_at = 0;
};

// Of a counter that stays, the later end counts: others may hold numbers by a longer ttl. Only a
// Set may bring it forward.
enum class End { kLater, kAnew };

class FileSequencer final : public SqliteSequencer {
 public:
  FileSequencer(const std::string& path, absl::Duration busy_timeout,
                const SequencerOptions& options)
      : SqliteSequencer(options),
        path_(path),
        file_(std::make_unique<sqlite::StoreFile>(path, busy_timeout)) {}
  ~FileSequencer() override {
    // Closing a connection in a forked child could undo its parent's log: the child abandons it.
    if (home_.forked()) static_cast<void>(file_.release());
  }

  absl::Status Connect(bool create) {
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Connect(create));
    return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return file_->connection().Execute(kCounterTables);
    });
  }

 private:
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override {
    Taken taken;
    auto take = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(std::optional<Row> row, Find(name));
      std::optional<int64_t> current;
      if (row && row->live) current = row->value;
      LOCUS_ASSIGN_OR_RETURN(taken.last,
                             sequencer_rules::Advance(current, span, options(), KeyOf(name)));
      LOCUS_ASSIGN_OR_RETURN(taken.version, Write(name, row, taken.last));
      return absl::OkStatus();
    };
    LOCUS_RETURN_IF_ERROR(InWrite(take));
    return taken;
  }

  absl::Status Store(const std::string& name, int64_t value) override {
    return InWrite([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(std::optional<Row> row, Find(name));
      return Write(name, row, value, End::kAnew).status();
    });
  }

  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) override {
    bool stored = false;
    auto store = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(std::optional<Row> row, Find(name));
      if (row && row->live) return Refresh(name, *row);
      stored = true;
      return Write(name, row, value).status();
    };
    LOCUS_RETURN_IF_ERROR(InWrite(store));
    return stored;
  }

  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override {
    std::optional<int64_t> value;
    auto load = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(std::optional<Row> row, Find(name));
      if (!row || !row->live) return absl::OkStatus();
      value = row->value;
      return Refresh(name, *row);
    };
    LOCUS_RETURN_IF_ERROR(options().ttl == absl::ZeroDuration() ? InRead(load) : InWrite(load));
    return value;
  }

  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken,
                               int64_t value) override {
    bool put_back = false;
    auto put = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(std::optional<Row> row, Find(name));
      put_back = row && row->live && row->value == taken.last &&
                 row->version == static_cast<int64_t>(taken.version);
      if (!put_back) return absl::OkStatus();
      if (value != sequencer_rules::LastOfFirst(0, options())) {
        return Write(name, row, value).status();
      }
      LOCUS_ASSIGN_OR_RETURN(
          auto remove, file_->connection().Prepare("DELETE FROM locus_sequence WHERE name = ?"));
      return remove->BindBlob(name).Run();
    };
    LOCUS_RETURN_IF_ERROR(InWrite(put));
    return put_back;
  }

  std::string_view KeyOf(std::string_view name) const {
    return name.substr(options().key_prefix.size());
  }

  template <typename Body>
  absl::Status InRead(const Body& body) {
    LOCUS_RETURN_IF_ERROR(home_.Check("a sequencer's handle"));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    return body();
  }
  template <typename Body>
  absl::Status InWrite(const Body& body) {
    return InRead([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
        LOCUS_RETURN_IF_ERROR(file_->StillThere());
        return body();
      });
    });
  }

  absl::StatusOr<std::optional<Row>> Find(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(auto query, file_->connection().Prepare(kFind));
    query->BindBlob(name).Bind(NowMs()).Bind(BootId()).Bind(BootMs());
    LOCUS_ASSIGN_OR_RETURN(bool found, query->Step());
    if (!found) return std::nullopt;
    Row row{query->Int(0), query->Int(1), query->Int(2) == 0, query->Int(3)};
    if (row.value >= 0) return row;
    return sequencer_rules::NoNumber("store " + path_, KeyOf(name), absl::StrCat(row.value));
  }

  int64_t Expiry(const std::optional<Row>& row, End end) const {
    const bool stays = end == End::kLater && row && row->live;
    if (options().ttl == absl::ZeroDuration() || (stays && row->expires_at == 0)) return 0;
    const int64_t own = NowMs() + absl::ToInt64Milliseconds(options().ttl);
    return stays ? std::max(own, row->expires_at) : own;
  }

  // The version that the row then has.
  absl::StatusOr<uint64_t> Write(const std::string& name, const std::optional<Row>& row,
                                 int64_t value, End end = End::kLater)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!row) LOCUS_RETURN_IF_ERROR(Sweep());
    int64_t version = row ? row->version + 1 : RandomVersion();
    LOCUS_ASSIGN_OR_RETURN(auto upsert, file_->connection().Prepare(
                                            "INSERT INTO locus_sequence VALUES (?, ?, ?, ?)"
                                            " ON CONFLICT DO UPDATE SET value = excluded.value,"
                                            " version = excluded.version,"
                                            " expires_at = excluded.expires_at"));
    upsert->BindBlob(name).Bind(value).Bind(version).Bind(Expiry(row, end));
    LOCUS_RETURN_IF_ERROR(upsert->Run());
    LOCUS_RETURN_IF_ERROR(WriteBootExpiry(name, end));
    return static_cast<uint64_t>(version);
  }

  absl::Status WriteBootExpiry(const std::string& name, End end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (options().ttl == absl::ZeroDuration() || BootId().empty()) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(
        auto upsert,
        file_->connection().Prepare("INSERT INTO locus_sequence_boot VALUES (?1, ?2, ?3)"
                                    " ON CONFLICT DO UPDATE SET boot = ?2, expires_at ="
                                    " CASE WHEN boot = ?2 AND NOT ?4 THEN max(expires_at, ?3)"
                                    " ELSE ?3 END"));
    upsert->BindBlob(name).Bind(BootId());
    upsert->Bind(BootMs() + absl::ToInt64Milliseconds(options().ttl));
    return upsert->Bind(int64_t{end == End::kAnew}).Run();
  }

  // With a ttl: the key lives on from now.
  absl::Status Refresh(const std::string& name, const Row& row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (options().ttl == absl::ZeroDuration()) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(
        auto update,
        file_->connection().Prepare("UPDATE locus_sequence SET expires_at = ? WHERE name = ?"));
    LOCUS_RETURN_IF_ERROR(update->Bind(Expiry(row, End::kLater)).BindBlob(name).Run());
    return WriteBootExpiry(name, End::kLater);
  }

  absl::Status Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(auto sweep, file_->connection().Prepare(kSweep));
    return sweep->Bind(NowMs()).Bind(BootId()).Bind(BootMs()).Run();
  }

  const std::string path_;
  const internal::ForkGuard home_;
  Mutex mutex_;
  std::unique_ptr<sqlite::StoreFile> file_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteSequencer>> SqliteSequencer::Open(
    const std::string& path, const SqliteSegmentStore::Options& options,
    const SequencerOptions& sequencer_options) {
  LOCUS_RETURN_IF_ERROR(sequencer_options.Check());
  auto sequencer = std::make_unique<FileSequencer>(path, options.busy_timeout, sequencer_options);
  LOCUS_RETURN_IF_ERROR(sequencer->Connect(options.create));
  return sequencer;
}

}  // namespace locus
