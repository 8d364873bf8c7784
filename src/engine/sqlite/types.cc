// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"
#include "src/engine/sqlite/store_file.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

constexpr char kTypeTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS locus_sequence_type (
    name BLOB PRIMARY KEY, version INTEGER NOT NULL, rule BLOB NOT NULL) STRICT, WITHOUT ROWID;
)sql";

class FileTypes final : public SqliteSequenceTypeStore {
 public:
  FileTypes(const std::string& path, absl::Duration busy_timeout)
      : file_(std::make_unique<sqlite::StoreFile>(path, busy_timeout)) {}
  ~FileTypes() override {
    // Closing a connection in a forked child could undo its parent's log: the child abandons it.
    if (home_.forked()) static_cast<void>(file_.release());
  }

  absl::Status Connect(bool create) {
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Connect(create));
    return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return file_->connection().Execute(kTypeTables);
    });
  }

 private:
  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) override {
    LOCUS_RETURN_IF_ERROR(home_.Check("a sequence type store's handle"));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    return Find(name);
  }

  absl::StatusOr<std::map<std::string, Stored>> LoadAll() override {
    LOCUS_RETURN_IF_ERROR(home_.Check("a sequence type store's handle"));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    LOCUS_ASSIGN_OR_RETURN(auto query, file_->connection().Prepare(
                                           "SELECT name, version, rule FROM locus_sequence_type"));
    std::map<std::string, Stored> all;
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(bool found, query->Step());
      if (!found) return all;
      all[query->Blob(0)] = Stored{static_cast<uint64_t>(query->Int(1)), query->Blob(2)};
    }
  }

  absl::StatusOr<bool> Swap(const std::string& name, uint64_t expected,
                            const std::optional<Stored>& next) override {
    LOCUS_RETURN_IF_ERROR(home_.Check("a sequence type store's handle"));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    bool swapped = false;
    auto swap = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(file_->StillThere());
      LOCUS_ASSIGN_OR_RETURN(std::optional<Stored> stored, Find(name));
      swapped = (stored ? stored->version : 0) == expected;
      if (!swapped) return absl::OkStatus();
      return next ? Put(name, *next) : Remove(name);
    };
    LOCUS_RETURN_IF_ERROR(file_->InTransaction(swap));
    return swapped;
  }

  absl::StatusOr<std::optional<Stored>> Find(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(
        auto query, file_->connection().Prepare("SELECT version, rule FROM locus_sequence_type"
                                                " WHERE name = ?"));
    LOCUS_ASSIGN_OR_RETURN(bool found, query->BindBlob(name).Step());
    if (!found) return std::nullopt;
    return Stored{static_cast<uint64_t>(query->Int(0)), query->Blob(1)};
  }

  absl::Status Put(const std::string& name, const Stored& next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(auto upsert,
                           file_->connection().Prepare(
                               "INSERT INTO locus_sequence_type VALUES (?, ?, ?) ON CONFLICT DO"
                               " UPDATE SET version = excluded.version, rule = excluded.rule"));
    upsert->BindBlob(name).Bind(static_cast<int64_t>(next.version)).BindBlob(next.text);
    return upsert->Run();
  }

  absl::Status Remove(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(
        auto query, file_->connection().Prepare("DELETE FROM locus_sequence_type WHERE name = ?"));
    return query->BindBlob(name).Run();
  }

  const internal::ForkGuard home_;
  Mutex mutex_;
  std::unique_ptr<sqlite::StoreFile> file_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteSequenceTypeStore>> SqliteSequenceTypeStore::Open(
    const std::string& path, const SqliteSegmentStore::Options& options) {
  auto types = std::make_unique<FileTypes>(path, options.busy_timeout);
  LOCUS_RETURN_IF_ERROR(types->Connect(options.create));
  return types;
}

}  // namespace locus
