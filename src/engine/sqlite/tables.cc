// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/tables.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/segment/rules.h"

namespace locus::sqlite {
namespace {

// Sequences and times fit SQLite's signed 64-bit integers; times are ns since 1970. head_sum_high
// and head_sum_low add up the upper and lower 32 bits of the space's heads: heads only rise, so a
// file of which only some pages are old shows in their sum.
constexpr char kSegmentTables[] = R"sql(
  CREATE TABLE locus_store (
    one INTEGER PRIMARY KEY CHECK (one = 1), identity BLOB NOT NULL,
    generation INTEGER NOT NULL, newest_grant INTEGER NOT NULL) STRICT;
  CREATE TABLE locus_space (
    name TEXT PRIMARY KEY, section_size INTEGER NOT NULL, floor_epoch INTEGER NOT NULL,
    floor_rate INTEGER NOT NULL, max_lead INTEGER NOT NULL, base INTEGER NOT NULL,
    losses INTEGER NOT NULL, head_sum_high INTEGER NOT NULL,
    head_sum_low INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE locus_section (
    space TEXT NOT NULL, section INTEGER NOT NULL, head INTEGER NOT NULL,
    granted_at INTEGER NOT NULL, PRIMARY KEY (space, section)) STRICT, WITHOUT ROWID;
  PRAGMA application_id = 1819239285;
  PRAGMA user_version = 1;
)sql";

}  // namespace

absl::Status Tables::Create(const Identity& identity) {
  LOCUS_RETURN_IF_ERROR(connection_.Execute(kSegmentTables));
  LOCUS_ASSIGN_OR_RETURN(auto insert,
                         connection_.Prepare("INSERT INTO locus_store VALUES (1, ?, ?, 0)"));
  return insert->BindBlob(identity.id).Bind(static_cast<int64_t>(identity.generation)).Run();
}

absl::StatusOr<StoreRow> Tables::ReadStore() {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare("SELECT identity, generation, newest_grant FROM locus_store"));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
  if (!row)
    return absl::DataLossError(
        absl::StrCat("store ", connection_.path(), " has lost its identity"));
  Identity identity{query->Blob(0), static_cast<uint64_t>(query->Int(1))};
  return StoreRow{identity, absl::FromUnixNanos(query->Int(2))};
}

absl::Status Tables::WriteStore(const StoreRow& row) {
  LOCUS_ASSIGN_OR_RETURN(auto update, connection_.Prepare("UPDATE locus_store SET identity = ?, "
                                                          "generation = ?, newest_grant = ?"));
  return update->BindBlob(row.identity.id)
      .Bind(static_cast<int64_t>(row.identity.generation))
      .Bind(absl::ToUnixNanos(row.newest_grant))
      .Run();
}

absl::StatusOr<SpaceRow> Tables::FromRow(Query& row, int first_column) const {
  auto number = [&](int column) { return static_cast<uint64_t>(row.Int(first_column + column)); };
  SpaceRow space;
  space.options.section_size = static_cast<uint32_t>(number(0));
  space.options.floor_epoch = absl::FromUnixNanos(row.Int(first_column + 1));
  space.options.floor_rate = number(2);
  space.options.max_lead = number(3);
  space.base = number(4);
  space.losses = number(5);
  space.head_sum_high = number(6);
  space.head_sum_low = number(7);
  if (segment_rules::CheckOptions(space.options).ok() &&
      space.base <= segment_rules::kEndOfSequences) {
    return space;
  }
  return absl::DataLossError(absl::StrCat(
      "store ", connection_.path(), " holds a space with base ", row.Int(first_column + 4),
      ", section_size ", row.Int(first_column), ", floor_rate ", row.Int(first_column + 2),
      " and max_lead ", row.Int(first_column + 3), ", which cannot be"));
}

absl::StatusOr<std::optional<SpaceRow>> Tables::Find(const SpaceName& name) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query, connection_.Prepare("SELECT section_size, floor_epoch, floor_rate, max_lead,"
                                      " base, losses, head_sum_high, head_sum_low"
                                      " FROM locus_space WHERE name = ?"));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Bind(name.str()).Step());
  if (!row) return std::nullopt;
  LOCUS_ASSIGN_OR_RETURN(SpaceRow space, FromRow(*query, 0));
  space.name = name.str();
  return space;
}

absl::StatusOr<std::vector<SpaceRow>> Tables::AllSpaces() {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare("SELECT CAST(name AS BLOB), section_size, floor_epoch, floor_rate,"
                          " max_lead, base, losses, head_sum_high, head_sum_low"
                          " FROM locus_space"));
  std::vector<SpaceRow> spaces;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
    if (!row) return spaces;
    LOCUS_ASSIGN_OR_RETURN(SpaceRow space, FromRow(*query, 1));
    space.name = query->Blob(0);
    spaces.push_back(std::move(space));
  }
}

absl::Status Tables::Insert(const SpaceRow& space) {
  LOCUS_ASSIGN_OR_RETURN(auto insert, connection_.Prepare("INSERT INTO locus_space VALUES "
                                                          "(?, ?, ?, ?, ?, ?, ?, 0, 0)"));
  return insert->Bind(space.name)
      .Bind(int64_t{space.options.section_size})
      .Bind(absl::ToUnixNanos(space.options.floor_epoch))
      .Bind(static_cast<int64_t>(space.options.floor_rate))
      .Bind(static_cast<int64_t>(space.options.max_lead))
      .Bind(static_cast<int64_t>(space.base))
      .Bind(static_cast<int64_t>(space.losses))
      .Run();
}

absl::Status Tables::Update(const SpaceRow& space) {
  LOCUS_ASSIGN_OR_RETURN(
      auto update, connection_.Prepare("UPDATE locus_space SET base = ?, losses = ?,"
                                       " head_sum_high = ?, head_sum_low = ? WHERE name = ?"));
  return update->Bind(static_cast<int64_t>(space.base))
      .Bind(static_cast<int64_t>(space.losses))
      .Bind(static_cast<int64_t>(space.head_sum_high))
      .Bind(static_cast<int64_t>(space.head_sum_low))
      .Bind(space.name)
      .Run();
}

absl::StatusOr<uint64_t> Tables::HeadOf(const SpaceRow& space, uint16_t section) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare("SELECT head FROM locus_section WHERE space = ? AND section = ?"));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Bind(space.name).Bind(int64_t{section}).Step());
  auto head = row ? static_cast<uint64_t>(query->Int(0)) : 0;
  if (head <= segment_rules::kEndOfSequences) return head;
  return absl::DataLossError(absl::StrCat("store ", connection_.path(), " holds head ",
                                          query->Int(0), " of section ", section,
                                          ", which cannot be"));
}

absl::Status Tables::StoreHead(const SpaceRow& space, uint16_t section, uint64_t head,
                               absl::Time now) {
  LOCUS_ASSIGN_OR_RETURN(auto upsert,
                         connection_.Prepare("INSERT INTO locus_section VALUES (?, ?, ?, ?)"
                                             " ON CONFLICT DO UPDATE SET head = excluded.head,"
                                             " granted_at = excluded.granted_at"));
  return upsert->Bind(space.name)
      .Bind(int64_t{section})
      .Bind(static_cast<int64_t>(head))
      .Bind(absl::ToUnixNanos(now))
      .Run();
}

absl::StatusOr<std::vector<SpaceView::Section>> Tables::Sections(const SpaceRow& space) {
  LOCUS_ASSIGN_OR_RETURN(auto query,
                         connection_.Prepare("SELECT section, head, granted_at FROM locus_section "
                                             "WHERE space = ? ORDER BY section"));
  query->Bind(space.name);
  std::vector<SpaceView::Section> sections;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
    if (!row) return sections;
    sections.push_back({static_cast<uint16_t>(query->Int(0)), static_cast<uint64_t>(query->Int(1)),
                        absl::ZeroDuration(), absl::FromUnixNanos(query->Int(2))});
  }
}

absl::Status Tables::SumHeads(SpaceRow& space) {
  LOCUS_ASSIGN_OR_RETURN(auto sums, connection_.Prepare("SELECT coalesce(sum(head >> 32), 0),"
                                                        " coalesce(sum(head & 4294967295), 0)"
                                                        " FROM locus_section WHERE space = ?"));
  LOCUS_ASSIGN_OR_RETURN(bool row, sums->Bind(space.name).Step());
  LOCUS_CHECK(row);
  space.head_sum_high = static_cast<uint64_t>(sums->Int(0));
  space.head_sum_low = static_cast<uint64_t>(sums->Int(1));
  return absl::OkStatus();
}

absl::StatusOr<bool> Tables::HeadSumsAgree() {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare(
          "SELECT count(*) FROM locus_space p LEFT JOIN (SELECT space, sum(head >> 32) AS high,"
          " sum(head & 4294967295) AS low FROM locus_section GROUP BY space) s"
          " ON s.space = p.name WHERE p.head_sum_high <> coalesce(s.high, 0)"
          " OR p.head_sum_low <> coalesce(s.low, 0)"));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
  LOCUS_CHECK(row);
  return query->Int(0) == 0;
}

}  // namespace locus::sqlite
