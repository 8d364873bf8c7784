// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/strict_tables.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::sqlite {
namespace {

// Times are ms since 1970. An owner's instance is a uint64 as a signed number of the same bits.
constexpr char kStrictTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS locus_strict_store (
    one INTEGER PRIMARY KEY CHECK (one = 1), identity BLOB NOT NULL,
    generation INTEGER NOT NULL, newest_grant INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS locus_strict_set (
    name TEXT PRIMARY KEY, first_uid INTEGER NOT NULL, uids INTEGER NOT NULL,
    section_size INTEGER NOT NULL, step INTEGER NOT NULL, ttl INTEGER NOT NULL,
    table_version INTEGER NOT NULL, rest_until INTEGER NOT NULL, losses INTEGER NOT NULL,
    base INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS locus_strict_section (
    name TEXT NOT NULL, section INTEGER NOT NULL, max_seq INTEGER NOT NULL, start INTEGER NOT NULL,
    token INTEGER NOT NULL, ends_at INTEGER NOT NULL, instance INTEGER NOT NULL,
    owner TEXT NOT NULL, address TEXT NOT NULL, successor TEXT NOT NULL,
    PRIMARY KEY (name, section)) STRICT, WITHOUT ROWID;
)sql";

constexpr char kRead[] =
    "SELECT section, max_seq, start, token, ends_at, instance, owner, address, successor "
    "FROM locus_strict_section WHERE name = ? AND section >= ? AND section <= ? ORDER BY section";

uint64_t Unsigned(Query& row, int column) { return static_cast<uint64_t>(row.Int(column)); }
int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }

}  // namespace

absl::Status StrictTables::Contradiction(const std::string& set, const absl::Status& why) const {
  if (why.ok()) return why;
  return absl::DataLossError(absl::StrCat("store ", connection_.path(), ", set ", set,
                                          " of strict sequences: ", why.message()));
}

absl::Status StrictTables::Create(const std::string& identity) {
  LOCUS_RETURN_IF_ERROR(connection_.Execute(kStrictTables));
  LOCUS_ASSIGN_OR_RETURN(
      auto insert,
      connection_.Prepare("INSERT OR IGNORE INTO locus_strict_store VALUES (1, ?, 0, 0)"));
  return insert->BindBlob(identity).Run();
}

absl::StatusOr<StoreRow> StrictTables::ReadStore() {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare("SELECT identity, generation, newest_grant FROM locus_strict_store"));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
  if (!row) {
    return absl::DataLossError(absl::StrCat("store ", connection_.path(),
                                            " has lost the identity of its strict sequences"));
  }
  return StoreRow{{query->Blob(0), Unsigned(*query, 1)}, absl::FromUnixMillis(query->Int(2))};
}

absl::Status StrictTables::WriteStore(const StoreRow& row) {
  LOCUS_ASSIGN_OR_RETURN(auto update,
                         connection_.Prepare("UPDATE locus_strict_store SET identity = ?, "
                                             "generation = ?, newest_grant = ?"));
  return update->BindBlob(row.identity.id)
      .Bind(Signed(row.identity.generation))
      .Bind(absl::ToUnixMillis(row.newest_grant))
      .Run();
}

absl::StatusOr<strict::Set> StrictTables::SetOf(const std::string& name, Query& row,
                                                int first_column) const {
  strict::Set set;
  set.options.first_uid = Unsigned(row, first_column);
  set.options.uids = Unsigned(row, first_column + 1);
  set.options.section_size = static_cast<uint32_t>(row.Int(first_column + 2));
  set.options.step = Unsigned(row, first_column + 3);
  set.options.ttl = absl::Milliseconds(row.Int(first_column + 4));
  set.table_version = Unsigned(row, first_column + 5);
  set.rest_until = absl::FromUnixMillis(row.Int(first_column + 6));
  set.losses = Unsigned(row, first_column + 7);
  set.base = Unsigned(row, first_column + 8);
  LOCUS_RETURN_IF_ERROR(Contradiction(name, set.options.Check()));
  return set;
}

absl::StatusOr<std::optional<strict::Set>> StrictTables::FindSet(const std::string& name) {
  LOCUS_ASSIGN_OR_RETURN(auto query,
                         connection_.Prepare("SELECT first_uid, uids, section_size, step, ttl, "
                                             "table_version, rest_until, losses, base "
                                             "FROM locus_strict_set WHERE name = ?"));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Bind(name).Step());
  if (!row) return std::nullopt;
  return SetOf(name, *query, 0);
}

absl::StatusOr<std::map<std::string, strict::Set>> StrictTables::AllSets() {
  std::map<std::string, strict::Set> sets;
  LOCUS_ASSIGN_OR_RETURN(
      auto query, connection_.Prepare("SELECT name, first_uid, uids, section_size, step, ttl, "
                                      "table_version, rest_until, losses, base "
                                      "FROM locus_strict_set"));
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
    if (!row) return sets;
    const std::string name = query->Blob(0);
    LOCUS_ASSIGN_OR_RETURN(sets[name], SetOf(name, *query, 1));
  }
}

absl::Status StrictTables::StoreSet(const std::string& name, const strict::Set& set) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare(
          "INSERT OR REPLACE INTO locus_strict_set VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  return query->Bind(name)
      .Bind(Signed(set.options.first_uid))
      .Bind(Signed(set.options.uids))
      .Bind(int64_t{set.options.section_size})
      .Bind(Signed(set.options.step))
      .Bind(absl::ToInt64Milliseconds(set.options.ttl))
      .Bind(Signed(set.table_version))
      .Bind(absl::ToUnixMillis(set.rest_until))
      .Bind(Signed(set.losses))
      .Bind(Signed(set.base))
      .Run();
}

absl::StatusOr<strict::Record> StrictTables::RecordOf(const std::string& set, Query& row) const {
  strict::Record record;
  record.max_seq = Unsigned(row, 1);
  record.start = Unsigned(row, 2);
  record.token = Unsigned(row, 3);
  record.ends_at = absl::FromUnixMillis(row.Int(4));
  record.owner.instance = Unsigned(row, 5);
  record.owner.name = row.Blob(6);
  record.owner.address = row.Blob(7);
  record.successor = row.Blob(8);
  LOCUS_RETURN_IF_ERROR(Contradiction(set, strict::CheckRecord(record)));
  return record;
}

absl::StatusOr<std::optional<strict::Record>> StrictTables::Find(const std::string& set,
                                                                 uint32_t section) {
  LOCUS_ASSIGN_OR_RETURN(auto query, connection_.Prepare(kRead));
  LOCUS_ASSIGN_OR_RETURN(bool row,
                         query->Bind(set).Bind(int64_t{section}).Bind(int64_t{section}).Step());
  if (!row) return std::nullopt;
  return RecordOf(set, *query);
}

absl::StatusOr<std::map<uint32_t, strict::Record>> StrictTables::All(const std::string& set) {
  std::map<uint32_t, strict::Record> records;
  LOCUS_ASSIGN_OR_RETURN(auto query, connection_.Prepare(kRead));
  query->Bind(set).Bind(int64_t{0}).Bind(int64_t{UINT32_MAX});
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
    if (!row) return records;
    LOCUS_ASSIGN_OR_RETURN(records[static_cast<uint32_t>(query->Int(0))], RecordOf(set, *query));
  }
}

absl::Status StrictTables::Store(const std::string& set, uint32_t section,
                                 const strict::Record& record) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare(
          "INSERT OR REPLACE INTO locus_strict_section VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  return query->Bind(set)
      .Bind(int64_t{section})
      .Bind(Signed(record.max_seq))
      .Bind(Signed(record.start))
      .Bind(Signed(record.token))
      .Bind(absl::ToUnixMillis(record.ends_at))
      .Bind(Signed(record.owner.instance))
      .Bind(record.owner.name)
      .Bind(record.owner.address)
      .Bind(record.successor)
      .Run();
}

}  // namespace locus::sqlite
