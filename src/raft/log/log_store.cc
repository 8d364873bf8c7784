// SPDX-License-Identifier: Apache-2.0
#include "src/raft/log/log_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"
#include "src/raft/core/codec.h"
#include "src/raft/log/database.h"
#include "src/raft/log/wal_check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::raft {

using internal::Quoted;
using internal::ToAbsl;
using sqlite::Query;

namespace {

constexpr int64_t kApplicationId = 0x6C726166;  // "lraf"
constexpr int64_t kSchemaVersion = 2;
constexpr int64_t kVersionWithoutCount = 1;  // of transactions
constexpr int kTidyPages = 1000;
constexpr char kCountTables[] = "SELECT count(*) FROM sqlite_master";
// Of PATH-wal when it begins anew; a large snapshot makes it larger meanwhile.
constexpr char kLogLimit[] = "PRAGMA journal_size_limit = 8388608";

// A link of the chain of checksums: the sum of the entry at `index` and of all entries before it.
uint64_t Chain(uint64_t before, Index index, std::string_view bytes) {
  const uint64_t head[2] = {before, index};
  const uint64_t seed = XXH64(head, sizeof head, 0);
  return XXH64(bytes.data(), bytes.size(), seed);
}

int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }

bool Exists(const std::string& path) {
  struct stat there;
  return lstat(path.c_str(), &there) == 0;
}

// For a file that is missing or empty: whether a node may have been there.
absl::Status CheckNoWal(const std::string& path) {
  if (!Exists(path + "-wal")) return absl::OkStatus();
  return RefuseLog(path,
                   absl::StrCat("is missing or empty, but ", path,
                                "-wal is there: a node has lost its file; remove both only if "
                                "it is to come back as another node"));
}

// An empty one, for this user only, or none.
absl::Status MakeFile(const std::string& path) {
  internal::FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (fd.get() < 0) return internal::FailedFileCall(errno, "create", path);
  if (fchmod(fd.get(), 0600) != 0) return internal::FailedFileCall(errno, "protect", path);
  return internal::SyncDirectory(internal::DirectoryOf(path));
}

}  // namespace

uint64_t LogStore::Record::Sum() const {
  const uint64_t numbers[] = {self, vote.term,  vote.candidate, base,
                              last, base_chain, last_chain,     snapshot_sum};
  return Chain(XXH64(numbers, sizeof numbers, kCodecVersion), transactions, cluster);
}

LogStore::LogStore(std::string path, std::unique_ptr<Database> database)
    : path_(std::move(path)), database_(std::move(database)) {}
LogStore::~LogStore() = default;

absl::Status LogStore::InPlace() const { return database_->InPlace(); }

absl::Status LogStore::Lost(std::string_view what) const {
  return absl::DataLossError(absl::StrCat("raft log ", path_, ": ", ToAbsl(what),
                                          "; start this node anew, as another member"));
}

absl::StatusOr<std::unique_ptr<LogStore>> LogStore::Create(const std::string& path,
                                                           std::string_view cluster) {
  if (cluster.empty() || cluster.size() > kMostClusterBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a cluster's name of ", cluster.size(),
                                                   " bytes; it has 1 to ", kMostClusterBytes));
  }
  struct stat there = {};
  if (stat(path.c_str(), &there) != 0 || there.st_size == 0) {
    LOCUS_RETURN_IF_ERROR(CheckNoWal(path));
    LOCUS_RETURN_IF_ERROR(MakeFile(path));
  }
  auto store = OpenFile(path);
  absl::StatusOr<bool> blank = store.ok() ? (*store)->IsBlank() : store.status();
  if (there.st_size != 0 && !blank.value_or(false)) {
    return absl::AlreadyExistsError(
        absl::StrCat("raft log ", path, " exists, and belongs to a node"));
  }
  LOCUS_RETURN_IF_ERROR(blank.status());
  LOCUS_RETURN_IF_ERROR((*store)->MakeSchema(cluster));
  // From here on, a file without tables is one whose Create did not finish, whatever happens to
  // PATH-wal.
  LOCUS_RETURN_IF_ERROR((*store)->database_->Checkpoint(SQLITE_CHECKPOINT_TRUNCATE));
  return store;
}

absl::StatusOr<std::unique_ptr<LogStore>> LogStore::Open(const std::string& path,
                                                         std::string_view cluster) {
  struct stat there;
  if (stat(path.c_str(), &there) != 0) {
    const int error = errno;
    if (error == ENOENT) LOCUS_RETURN_IF_ERROR(CheckNoWal(path));
    return internal::FailedFileCall(error, "open", path);
  }
  if (there.st_size == 0) {
    LOCUS_RETURN_IF_ERROR(CheckNoWal(path));
    return absl::NotFoundError(absl::StrCat("raft log ", path, " is an empty file"));
  }
  // Before SQLite opens the file: it takes the first bad frame for the end of the log, and would
  // drop the transactions behind it.
  LOCUS_RETURN_IF_ERROR(CheckWal(path));
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenFile(path));
  LOCUS_ASSIGN_OR_RETURN(const bool blank, store->IsBlank());
  if (blank) {
    return absl::NotFoundError(absl::StrCat("raft log ", path, " was begun and never finished"));
  }
  LOCUS_RETURN_IF_ERROR(store->CountTransactions());
  LOCUS_RETURN_IF_ERROR(store->ReadRecord(cluster));
  LOCUS_RETURN_IF_ERROR(store->CheckMark());
  // If the last process's fsync failed, the pages just read may exist only in the kernel's memory.
  LOCUS_RETURN_IF_ERROR(store->database_->Checkpoint(SQLITE_CHECKPOINT_TRUNCATE));
  return store;
}

// Reads before it writes: the file may be another program's.
absl::StatusOr<std::unique_ptr<LogStore>> LogStore::OpenFile(const std::string& path) {
  std::unique_ptr<LogStore> store(new LogStore(path, nullptr));
  store->database_ = std::make_unique<Database>(store->path_);
  Database& database = *store->database_;
  LOCUS_RETURN_IF_ERROR(database.Open());
  auto in_use = [&](absl::Status status) {
    return database.busy() ? RefuseLog(path, "is open in another process, or twice in this one")
                           : status;
  };
  LOCUS_RETURN_IF_ERROR(database.Execute("PRAGMA locking_mode = EXCLUSIVE"));
  const auto tables = database.Number(kCountTables);
  if (!tables.ok()) return in_use(tables.status());
  LOCUS_ASSIGN_OR_RETURN(const int64_t application, database.Number("PRAGMA application_id"));
  LOCUS_ASSIGN_OR_RETURN(const int64_t version, database.Number("PRAGMA user_version"));
  const bool may_be_new = *tables == 0 && application == 0;
  if (!may_be_new && application != kApplicationId) {
    return RefuseLog(path, "is an SQLite database, but not the log of a Raft node");
  }
  if (*tables != 0 && version != kSchemaVersion && version != kVersionWithoutCount) {
    return RefuseLog(path, absl::StrCat("has schema version ", version,
                                        "; this version of locus supports ", kSchemaVersion));
  }
  for (const char* sql : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", kLogLimit,
                          "BEGIN EXCLUSIVE", "COMMIT"}) {
    if (absl::Status status = database.Execute(sql); !status.ok()) return in_use(status);
  }
  LOCUS_ASSIGN_OR_RETURN(store->mark_, CommitMark::Open(path));
  database.NotePlaces();
  return store;
}

absl::StatusOr<bool> LogStore::IsBlank() {
  LOCUS_ASSIGN_OR_RETURN(const int64_t tables, database_->Number(kCountTables));
  return tables == 0;
}

absl::Status LogStore::MakeSchema(std::string_view cluster) {
  const std::optional<uint64_t> self = internal::RandomWord();
  if (!self || *self == 0) return absl::UnavailableError("no randomness for the ID of a node");
  return Transact([&](Record& record) -> absl::Status {
    record.self = *self;
    record.cluster = cluster;
    LOCUS_RETURN_IF_ERROR(database_->Execute(
        absl::StrCat("PRAGMA application_id = ", kApplicationId,
                     "; PRAGMA user_version = ", kSchemaVersion, ";",
                     "CREATE TABLE node (one INTEGER PRIMARY KEY CHECK (one = 1), codec INTEGER,"
                     " self INTEGER, cluster BLOB, term INTEGER, candidate INTEGER, base INTEGER,"
                     " base_chain INTEGER, last INTEGER, last_chain INTEGER, snapshot_sum INTEGER,"
                     " sum INTEGER, transactions INTEGER NOT NULL DEFAULT 0) STRICT;"
                     "CREATE TABLE entry (position INTEGER PRIMARY KEY, chain INTEGER, bytes BLOB)"
                     " STRICT;"
                     "CREATE TABLE snapshot (one INTEGER PRIMARY KEY CHECK (one = 1), mark BLOB,"
                     " state BLOB) STRICT;")
            .c_str()));
    return StoreSnapshot({}, "", record);
  });
}

// Files of builds that did not count begin at 0.
absl::Status LogStore::CountTransactions() {
  LOCUS_ASSIGN_OR_RETURN(const int64_t version, database_->Number("PRAGMA user_version"));
  if (version != kVersionWithoutCount) return absl::OkStatus();
  return database_->Execute(
      absl::StrCat("BEGIN; ALTER TABLE node ADD COLUMN transactions INTEGER NOT NULL DEFAULT 0; "
                   "PRAGMA user_version = ",
                   kSchemaVersion, "; COMMIT")
          .c_str());
}

absl::Status LogStore::ReadRecord(std::string_view cluster) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      database_->Prepare(
          "SELECT codec, self, cluster, term, candidate, base, base_chain, last, last_chain, "
          "snapshot_sum, sum, transactions FROM node"));
  LOCUS_ASSIGN_OR_RETURN(const bool row, query->Step());
  if (!row) return Lost("the record of the node is missing");
  if (query->Int(0) != kCodecVersion) {
    return RefuseLog(path_, absl::StrCat("has entries of version ", query->Int(0),
                                         "; this version of locus supports ", kCodecVersion));
  }
  auto number = [&](int column) { return static_cast<uint64_t>(query->Int(column)); };
  record_ = {number(1), query->Blob(2), {number(3), number(4)},
             number(5), number(6),      number(7),
             number(8), number(9),      number(11)};
  if (record_.Sum() != number(10)) return Lost("the record of the node is not what was written");
  if (record_.cluster != cluster) {
    return RefuseLog(path_, absl::StrCat("is of a node of cluster ", Quoted(record_.cluster),
                                         ", not of ", Quoted(cluster)));
  }
  return absl::OkStatus();
}

absl::Status LogStore::CheckMark() {
  const uint64_t marked = mark_->Read(record_.self);
  if (marked <= record_.transactions) return absl::OkStatus();
  return Lost(absl::StrCat("it has ", record_.transactions, " transactions, and ", path_,
                           "-mark counts ", marked, ": ", path_,
                           "-wal or its end was lost, or an older copy was put back"));
}

absl::Status LogStore::Begin(const Members& members) {
  LOCUS_RETURN_IF_ERROR(CheckMembers(members));
  if (!IsVoter(members, self())) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", self(), " is no voter among the first members of its cluster"));
  }
  if (record_.vote != Vote() || record_.base != 0 || record_.last != 0) {
    return RefuseLog(path_, "has begun already; a cluster begins once");
  }
  Remembered first = FirstNode(self(), members);
  const Write write{1, first.vote, std::nullopt, "", 1, std::move(first.entries)};
  return Apply({&write, 1});
}

absl::StatusOr<LogStore::Stored> LogStore::Load() {
  LOCUS_RETURN_IF_ERROR(failed_);
  Stored stored;
  stored.remembered.self = record_.self;
  stored.remembered.vote = record_.vote;
  LOCUS_ASSIGN_OR_RETURN(auto snapshot, database_->Prepare("SELECT mark, state FROM snapshot"));
  LOCUS_ASSIGN_OR_RETURN(const bool has_snapshot, snapshot->Step());
  if (!has_snapshot) return Lost("the snapshot is missing");
  const std::string mark = snapshot->Blob(0);
  stored.state = snapshot->Blob(1);
  if (Chain(Chain(0, 0, mark), 0, stored.state) != record_.snapshot_sum) {
    return Lost("the snapshot is not what was written");
  }
  auto decoded = DecodeMark(mark);
  if (!decoded.ok()) return Lost(absl::StrCat("the snapshot's mark: ", decoded.status().message()));
  stored.remembered.snapshot = *std::move(decoded);

  LOCUS_ASSIGN_OR_RETURN(
      auto entries,
      database_->Prepare("SELECT position, chain, bytes FROM entry ORDER BY position"));
  Index last = record_.base;
  uint64_t chain = record_.base_chain;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(const bool row, entries->Step());
    if (!row) break;
    const auto index = static_cast<Index>(entries->Int(0));
    if (index <= record_.base || index > record_.last) {
      return Lost(absl::StrCat("entry ", index, " lies outside of the log, which has entries ",
                               record_.base + 1, " to ", record_.last));
    }
    if (index != last + 1) return Lost(absl::StrCat("entry ", last + 1, " is missing"));
    const std::string bytes = entries->Blob(2);
    chain = Chain(chain, index, bytes);
    if (chain != static_cast<uint64_t>(entries->Int(1))) {
      return Lost(absl::StrCat("entry ", index, " is not what was written"));
    }
    auto entry = DecodeEntry(bytes);
    if (!entry.ok()) return Lost(absl::StrCat("entry ", index, ": ", entry.status().message()));
    stored.remembered.entries.push_back(*std::move(entry));
    last = index;
  }
  if (last != record_.last) return Lost(absl::StrCat("entry ", last + 1, " is missing"));
  if (chain != record_.last_chain) {
    return Lost(absl::StrCat("entry ", last, " is not the last one that was written"));
  }
  return stored;
}

absl::Status LogStore::Apply(std::span<const Write> writes) {
  return Transact([&](Record& record) -> absl::Status {
    for (const Write& write : writes) LOCUS_RETURN_IF_ERROR(Do(write, record));
    return absl::OkStatus();
  });
}

absl::Status LogStore::Compact(const SnapshotMark& mark, std::string_view state) {
  return Transact([&](Record& record) -> absl::Status {
    LOCUS_CHECK(mark.index <= record.last);
    if (mark.index <= record.base) return absl::OkStatus();
    // Before the entry is deleted: the chain of the remaining ones begins with its sum.
    LOCUS_ASSIGN_OR_RETURN(record.base_chain, ChainAt(mark.index, record));
    record.base = mark.index;
    LOCUS_ASSIGN_OR_RETURN(auto drop, database_->Prepare("DELETE FROM entry WHERE position <= ?"));
    LOCUS_RETURN_IF_ERROR(drop->Bind(Signed(mark.index)).Run());
    return StoreSnapshot(mark, state, record);
  });
}

absl::Status LogStore::Tidy() {
  LOCUS_RETURN_IF_ERROR(failed_);
  if (database_->wal_pages() < kTidyPages) return absl::OkStatus();
  const absl::Status status = database_->Checkpoint(SQLITE_CHECKPOINT_PASSIVE);
  return status.ok() ? status : Failed(status);
}

// The first failure has the code of its cause.
absl::Status LogStore::Failed(const absl::Status& status) {
  failed_ = absl::Status(
      status.code(), absl::StrCat("raft log ", path_, ": a write failed, and nothing more is taken",
                                  "; end the process and start it anew: ", status.message()));
  return failed_;
}

absl::Status LogStore::Transact(const std::function<absl::Status(Record&)>& body) {
  if (!failed_.ok()) return absl::FailedPreconditionError(failed_.message());
  Record record = record_;
  ++record.transactions;
  absl::Status status = database_->Execute("BEGIN");
  if (status.ok()) status = body(record);
  if (status.ok()) status = StoreRecord(record);
  if (status.ok()) status = database_->Execute("COMMIT");
  if (!status.ok()) return Failed(status);
  record_ = record;
  // After the commit: a mark beyond the file's own count would later be taken for a loss. A crash
  // in between leaves an older mark, which is only less strict.
  mark_->Write(record_.self, record_.transactions);
  return absl::OkStatus();
}

absl::Status LogStore::StoreRecord(const Record& record) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      database_->Prepare(
          "INSERT OR REPLACE INTO node (one, codec, self, cluster, term, candidate, base, "
          "base_chain, last, last_chain, snapshot_sum, sum, transactions) VALUES "
          "(1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  query->Bind(int64_t{kCodecVersion}).Bind(Signed(record.self)).BindBlob(record.cluster);
  for (uint64_t number :
       {record.vote.term, record.vote.candidate, record.base, record.base_chain, record.last,
        record.last_chain, record.snapshot_sum, record.Sum(), record.transactions}) {
    query->Bind(Signed(number));
  }
  return query->Run();
}

absl::Status LogStore::StoreSnapshot(const SnapshotMark& mark, std::string_view state,
                                     Record& record) {
  const std::string bytes = Encode(mark);
  record.snapshot_sum = Chain(Chain(0, 0, bytes), 0, state);
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      database_->Prepare("INSERT OR REPLACE INTO snapshot (one, mark, state) VALUES (1, ?, ?)"));
  return query->BindBlob(bytes).BindBlob(state).Run();
}

absl::StatusOr<uint64_t> LogStore::ChainAt(Index index, const Record& record) {
  if (index == record.base) return record.base_chain;
  if (index == record.last) return record.last_chain;
  LOCUS_ASSIGN_OR_RETURN(auto query,
                         database_->Prepare("SELECT chain FROM entry WHERE position = ?"));
  query->Bind(Signed(index));
  LOCUS_ASSIGN_OR_RETURN(const bool row, query->Step());
  if (!row) return Lost(absl::StrCat("entry ", index, " is missing"));
  return static_cast<uint64_t>(query->Int(0));
}

absl::Status LogStore::Do(const Write& write, Record& record) {
  if (write.vote) record.vote = *write.vote;
  if (write.snapshot) {
    LOCUS_RETURN_IF_ERROR(database_->Execute("DELETE FROM entry"));
    LOCUS_RETURN_IF_ERROR(StoreSnapshot(*write.snapshot, write.state, record));
    record.base = record.last = write.snapshot->index;
    record.base_chain = record.last_chain = record.snapshot_sum;
  }
  if (write.from == 0) return absl::OkStatus();
  LOCUS_CHECK(write.from > record.base && write.from <= record.last + 1);  // the core's log
  LOCUS_ASSIGN_OR_RETURN(uint64_t chain, ChainAt(write.from - 1, record));
  if (write.from <= record.last) {
    LOCUS_ASSIGN_OR_RETURN(auto drop, database_->Prepare("DELETE FROM entry WHERE position >= ?"));
    LOCUS_RETURN_IF_ERROR(drop->Bind(Signed(write.from)).Run());
  }
  Index index = write.from;
  for (const Entry& entry : write.entries) {
    const std::string bytes = Encode(entry);
    chain = Chain(chain, index, bytes);
    LOCUS_ASSIGN_OR_RETURN(
        auto insert,
        database_->Prepare("INSERT INTO entry (position, chain, bytes) VALUES (?, ?, ?)"));
    LOCUS_RETURN_IF_ERROR(insert->Bind(Signed(index)).Bind(Signed(chain)).BindBlob(bytes).Run());
    ++index;
  }
  record.last = index - 1;
  record.last_chain = chain;
  return absl::OkStatus();
}

}  // namespace locus::raft
