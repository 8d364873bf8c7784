// SPDX-License-Identifier: Apache-2.0
#include "migration/run/move_records.h"

#include <charconv>
#include <iterator>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "migration/fence/guard_sql.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::Ending;
using internal::ParseDecimal;
using internal::Phase;
using internal::Quoted;
using internal::SqlText;
using internal::ToAbsl;
using internal::Wish;

namespace {

// Records that one statement reads. There may be any number, because ended moves stay.
constexpr size_t kMovesAtOnce = 100;
constexpr size_t kMostEvents = 1'000'000;
// The longest text that quotes a server: a little less than the columns hold.
constexpr size_t kMostHoldBytes = 990, kMostTextBytes = 8000, kMostRunnerBytes = 240;

constexpr char kCreateMoves[] =
    "CREATE TABLE IF NOT EXISTS locus_move (\n"
    "  move VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY,\n"
    "  source INT UNSIGNED NOT NULL,\n"
    "  target INT UNSIGNED NOT NULL,\n"
    "  vnodes TEXT CHARACTER SET ascii NOT NULL,\n"
    "  phase VARCHAR(16) CHARACTER SET ascii NOT NULL,\n"
    "  started BOOL NOT NULL,\n"
    "  goal SMALLINT UNSIGNED NOT NULL,\n"
    "  step_by SMALLINT UNSIGNED NOT NULL,\n"
    "  dwell_ms INT UNSIGNED NOT NULL,\n"
    "  hold VARCHAR(1000) CHARACTER SET utf8mb4 NOT NULL,\n"
    "  ending VARCHAR(16) CHARACTER SET ascii NOT NULL,\n"
    "  keep BOOL NOT NULL,\n"
    "  dropped TEXT CHARACTER SET utf8mb4 NOT NULL DEFAULT '',\n"
    "  repair VARCHAR(32) CHARACTER SET ascii NOT NULL DEFAULT '',\n"
    "  seeding VARCHAR(32) CHARACTER SET ascii NOT NULL DEFAULT 'forth',\n"
    "  serial BIGINT UNSIGNED NOT NULL,\n"
    "  run BIGINT UNSIGNED NOT NULL,\n"
    "  runner VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,\n"
    "  beat DATETIME(6) NULL,\n"
    "  status MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL\n"
    ") ENGINE = InnoDB";
// Apart from locus_move: a column there would need the right to alter tables that exist.
constexpr char kCreateTables[] =
    "CREATE TABLE IF NOT EXISTS locus_move_tables (\n"
    "  move VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY,\n"
    "  tables MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL\n"
    ") ENGINE = InnoDB";
constexpr char kCreateEvents[] =
    "CREATE TABLE IF NOT EXISTS locus_move_event (\n"
    "  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,\n"
    "  move VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
    "  at DATETIME(6) NOT NULL,\n"
    "  kind VARCHAR(16) CHARACTER SET ascii NOT NULL,\n"
    "  share SMALLINT UNSIGNED NOT NULL,\n"
    "  text TEXT CHARACTER SET utf8mb4 NOT NULL,\n"
    "  KEY (move, id)\n"
    ") ENGINE = InnoDB";

constexpr char kBeginLock[] = "CONCAT('locus_begin ', SHA1(DATABASE()))";
constexpr char kIsAlone[] =
    "IS_USED_LOCK(CONCAT('locus_begin ', SHA1(DATABASE()))) = CONNECTION_ID()";
constexpr char kSelect[] =
    "SELECT move, phase, started, goal, step_by, dwell_ms, hold, ending, keep, serial, run, runner,"
    " COALESCE(TIMESTAMPDIFF(MICROSECOND, beat, NOW(6)), -1), source, target, vnodes, status, "
    "dropped, repair, seeding"
    " FROM locus_move";
constexpr unsigned kColumns = 20;

std::string VnodesText(const std::vector<FencedRange>& ranges) {
  return absl::StrJoin(ranges, ",", [](std::string* out, const FencedRange& range) {
    absl::StrAppend(out, range.lo, "-", range.hi);
  });
}

// The settings of a table in a move file, on one line.
std::string TextOf(const MovedTable& table) {
  std::string order;
  switch (table.guard.key) {
    case GuardedTable::Key::kOrderIdNumber:
      order = absl::StrCat("order_id ", table.guard.order_id);
      break;
    case GuardedTable::Key::kOrderIdBytes:
      order = absl::StrCat("order_id_bytes ", table.guard.order_id);
      break;
    case GuardedTable::Key::kGeneAndCohort:
      order = absl::StrCat("gene ", table.guard.gene, ", cohort ", table.guard.cohort);
      break;
  }
  return internal::Printable(absl::StrCat(table.guard.name, ": ", order, ", primary key (",
                                          absl::StrJoin(table.primary_key, ", "), "), version ",
                                          table.version, table.replaces ? ", replaces" : ""));
}

std::set<std::string> LinesOf(const std::vector<MovedTable>& tables) {
  std::set<std::string> lines;
  for (const MovedTable& table : tables) lines.insert(TextOf(table));
  return lines;
}

// Those of `a` that `b` lacks.
std::string Missing(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> missing;
  absl::c_set_difference(a, b, std::back_inserter(missing));
  return absl::StrJoin(missing, "; ");
}

std::optional<std::vector<FencedRange>> VnodesIn(const std::string& text) {
  std::vector<FencedRange> ranges;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    std::vector<std::string> ends = absl::StrSplit(part, '-');
    if (ends.size() != 2) return std::nullopt;
    auto lo = ParseDecimal(ends[0], 65535), hi = ParseDecimal(ends[1], 65535);
    if (!lo || !hi || *lo > *hi) return std::nullopt;
    ranges.push_back({static_cast<uint32_t>(*lo), static_cast<uint32_t>(*hi)});
  }
  return ranges;
}

// For a column of a little more than `most` characters, from any bytes: each byte that is not a
// harmless character becomes up to four characters.
std::string Fitting(const std::string& text, size_t most) {
  constexpr size_t kDots = 3;
  const std::string shown = internal::Printable(text, most);
  return SqlText(shown.size() <= most + kDots ? shown : internal::Printable(shown, most));
}

std::string Assignments(const Wish& wish) {
  return absl::StrCat("started = ", wish.started ? 1 : 0, ", goal = ", wish.goal,
                      ", step_by = ", wish.by,
                      ", dwell_ms = ", absl::ToInt64Milliseconds(wish.dwell),
                      ", hold = ", Fitting(wish.hold, kMostHoldBytes), ", ending = '",
                      ToAbsl(ToString(wish.ending)), "', keep = ", wish.keep ? 1 : 0,
                      ", repair = '", internal::RepairText(wish.repair), "'");
}

absl::Status TakenOver(const std::string& name) {
  return absl::FailedPreconditionError(
      absl::StrCat("another runner has taken over move ", Quoted(name)));
}

std::string OfRun(std::optional<uint64_t> run) {
  return run ? absl::StrCat(" AND run = ", *run) : "";
}

}  // namespace

absl::Status MoveRecords::CreateTables() {
  LOCUS_RETURN_IF_ERROR(link_.Run(kCreateMoves).status());
  LOCUS_RETURN_IF_ERROR(link_.Run(kCreateTables).status());
  return link_.Run(kCreateEvents).status();
}

absl::StatusOr<MoveRecord> MoveRecords::RecordIn(const Result::Row& row) {
  MoveRecord record;
  record.name = row[0].value_or("");
  auto spoiled = [&](const char* column, size_t index) {
    return absl::DataLossError(absl::StrCat("mariadb ", link_.place(), ": locus_move says ",
                                            Quoted(row[index].value_or("")), " for ", column,
                                            " of move ", Quoted(record.name)));
  };
  auto phase = internal::PhaseNamed(row[1].value_or(""));
  if (!phase) return spoiled("phase", 1);
  record.phase = *phase;
  int64_t numbers[17] = {};
  for (size_t i : {2, 3, 4, 5, 8, 12, 13, 14}) {
    LOCUS_ASSIGN_OR_RETURN(numbers[i], NumberIn(row, i, link_.place()));
  }
  for (size_t i : {9, 10}) {
    auto number = ParseDecimal(row[i].value_or(""), UINT64_MAX);
    if (!number) return spoiled("serial or run", i);
    (i == 9 ? record.serial : record.run) = *number;
  }
  if (numbers[3] < 0 || numbers[3] > RoutingTable::kMaxPermyriad) return spoiled("goal", 3);
  record.wish.started = numbers[2] != 0;
  record.wish.goal = static_cast<uint32_t>(numbers[3]);
  record.wish.by = static_cast<uint32_t>(numbers[4]);
  record.wish.dwell = absl::Milliseconds(numbers[5]);
  record.wish.hold = row[6].value_or("");
  auto ending = internal::EndingNamed(row[7].value_or(""));
  if (!ending) return spoiled("ending", 7);
  record.wish.ending = *ending;
  record.wish.keep = numbers[8] != 0;
  record.runner = row[11].value_or("");
  if (numbers[12] >= 0) record.silent = absl::Microseconds(numbers[12]);
  record.leg.source = static_cast<uint32_t>(numbers[13]);
  record.leg.target = static_cast<uint32_t>(numbers[14]);
  auto vnodes = VnodesIn(row[15].value_or(""));
  if (!vnodes) return spoiled("vnodes", 15);
  record.leg.ranges = *std::move(vnodes);
  record.status = row[16].value_or("");
  for (absl::string_view part : absl::StrSplit(row[17].value_or(""), ',', absl::SkipEmpty())) {
    record.dropped.emplace_back(part);
  }
  auto repair = internal::RepairIn(row[18].value_or(""));
  if (!repair) return spoiled("repair", 18);
  record.wish.repair = *repair;
  auto seeding = internal::SeedingIn(row[19].value_or(""));
  if (!seeding) return spoiled("seeding", 19);
  record.seeding = *seeding;
  return record;
}

absl::StatusOr<std::vector<MoveRecord>> MoveRecords::ListReadable(
    std::vector<std::string>& unread) {
  std::vector<MoveRecord> records;
  std::string behind;
  while (true) {
    auto results = link_.Run(absl::StrCat(kSelect, behind, " ORDER BY move LIMIT ", kMovesAtOnce),
                             {Rows(kColumns, kMovesAtOnce)});
    if (link_.error() == kNoSuchTable) return std::vector<MoveRecord>();
    LOCUS_RETURN_IF_ERROR(results.status());
    const std::vector<Result::Row>& rows = (*results)[0].rows;
    for (const Result::Row& row : rows) {
      auto record = RecordIn(row);
      if (record.ok()) {
        records.push_back(*std::move(record));
      } else {
        unread.emplace_back(record.status().message());
      }
    }
    if (rows.size() < kMovesAtOnce) return records;
    behind = absl::StrCat(" WHERE move > ", SqlText(rows.back()[0].value_or("")));
  }
}

absl::StatusOr<std::vector<MoveRecord>> MoveRecords::List() {
  std::vector<std::string> unread;
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveRecord> records, ListReadable(unread));
  if (unread.empty()) return records;
  return absl::DataLossError(unread.front());
}

absl::Status MoveRecords::NoMove(const std::string& name) const {
  return absl::NotFoundError(absl::StrCat("mariadb ", link_.place(), " has no move ", Quoted(name),
                                          "; `locus move start` begins it"));
}

absl::StatusOr<MoveRecord> MoveRecords::Read(const std::string& name) {
  auto results =
      link_.Run(absl::StrCat(kSelect, " WHERE move = ", SqlText(name)), {AtMostOneRow(kColumns)});
  if (link_.error() == kNoSuchTable || (results.ok() && (*results)[0].rows.empty()))
    return NoMove(name);
  LOCUS_RETURN_IF_ERROR(results.status());
  return RecordIn((*results)[0].rows[0]);
}

bool MoveRecord::IsUnderWayWith(const std::vector<FencedRange>& ranges) const {
  if (phase == Phase::kDone || phase == Phase::kAborted) return false;
  return absl::c_any_of(leg.ranges, [&](const FencedRange& a) {
    return absl::c_any_of(ranges,
                          [&](const FencedRange& b) { return a.lo <= b.hi && b.lo <= a.hi; });
  });
}

std::string NotEnded(const MoveRecord& record) {
  return absl::StrCat("move ", Quoted(record.name), " of vnodes ", VnodesText(record.leg.ranges),
                      " has not ended (", ToAbsl(ToString(record.phase)), ")");
}

absl::Status MoveRecords::Alone(const std::function<absl::Status()>& work) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> locked,
      link_.Run(absl::StrCat("SELECT GET_LOCK(", kBeginLock, ", 5)"), {OneRow(1)}));
  if (locked[0].rows[0][0] != "1") {
    return absl::UnavailableError(
        absl::StrCat("mariadb ", link_.place(), ": another move is being begun there; try again"));
  }
  const absl::Status done = work();
  LOCUS_RETURN_IF_ERROR(link_.Run(absl::StrCat("DO RELEASE_LOCK(", kBeginLock, ")")).status());
  return done;
}

absl::Status MoveRecords::Begin(const std::string& name, const MoveLeg& leg, const Wish& wish,
                                const std::vector<MovedTable>& tables) {
  return Alone([&] { return BeginLocked(name, leg, wish, tables); });
}

absl::Status MoveRecords::BeginLocked(const std::string& name, const MoveLeg& leg, const Wish& wish,
                                      const std::vector<MovedTable>& tables) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveRecord> records, List());
  for (const MoveRecord& record : records) {
    if (record.name == name) {
      if (record.leg == leg) {
        return record.phase == Phase::kPlanned ? NoteTables(name, tables)
                                               : CheckTables(name, tables);
      }
      return absl::FailedPreconditionError(
          absl::StrCat("move ", Quoted(name), " has been used for vnodes ",
                       VnodesText(record.leg.ranges), " from shard ", record.leg.source, " to ",
                       record.leg.target, "; give this one another name"));
    }
    if (record.IsUnderWayWith(leg.ranges)) {
      return absl::FailedPreconditionError(
          absl::StrCat(NotEnded(record), ": finish or abort it before these vnodes move again"));
    }
  }
  LOCUS_RETURN_IF_ERROR(NoteTables(name, tables));
  // A new connection has no lock, so then nothing is written.
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> put,
      link_.Run(absl::StrCat("INSERT INTO locus_move (move, source, target, vnodes, phase, started,"
                             " goal, step_by, dwell_ms, hold, ending, keep, serial, run, runner,"
                             " status) SELECT ",
                             SqlText(name), ", ", leg.source, ", ", leg.target, ", '",
                             VnodesText(leg.ranges), "', 'PLANNED', ", wish.started ? 1 : 0, ", ",
                             wish.goal, ", ", wish.by, ", ", absl::ToInt64Milliseconds(wish.dwell),
                             ", '', '", ToAbsl(ToString(wish.ending)), "', ", wish.keep ? 1 : 0,
                             ", 1, 0, '', '' FROM DUAL WHERE ", kIsAlone),
                {kNoRows}));
  if (put[0].affected == 1) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("mariadb ", link_.place(), ": the connection broke; try again"));
}

absl::Status MoveRecords::NoteTables(const std::string& name,
                                     const std::vector<MovedTable>& tables) {
  if (tables.empty()) return absl::OkStatus();
  return link_
      .Run(absl::StrCat("REPLACE INTO locus_move_tables (move, tables) VALUES (", SqlText(name),
                        ", ", SqlText(absl::StrJoin(LinesOf(tables), "\n")), ")"),
           {kNoRows})
      .status();
}

absl::Status MoveRecords::CheckTables(const std::string& name,
                                      const std::vector<MovedTable>& tables) {
  if (tables.empty()) return absl::OkStatus();
  auto results =
      link_.Run(absl::StrCat("SELECT tables FROM locus_move_tables WHERE move = ", SqlText(name)),
                {AtMostOneRow(1)});
  // Begun by a version that did not note it.
  if (link_.error() == kNoSuchTable) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(results.status());
  if ((*results)[0].rows.empty()) return absl::OkStatus();
  const std::set<std::string> given = LinesOf(tables);
  const std::set<std::string> begun = absl::StrSplit((*results)[0].rows[0][0].value_or(""), '\n');
  if (given == begun) return absl::OkStatus();
  const std::string lacks = Missing(begun, given), more = Missing(given, begun);
  return absl::InvalidArgumentError(absl::StrCat(
      "move ", Quoted(name), " was begun with other [[tables]] than the move file has now",
      lacks.empty() ? "" : absl::StrCat("; the file lacks: ", lacks),
      more.empty() ? "" : absl::StrCat("; it has instead: ", more),
      "; the tables of a move stay the same until it ends: put them back into the file"));
}

absl::Status MoveRecords::ChangeWish(const std::string& name, uint64_t seen, const Wish& wish,
                                     std::optional<uint64_t> run) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         link_.Run(absl::StrCat("UPDATE locus_move SET ", Assignments(wish),
                                                ", serial = serial + 1 WHERE move = ",
                                                SqlText(name), " AND serial = ", seen, OfRun(run)),
                                   {kNoRows}));
  if (results[0].affected == 1) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("another command or runner changed move ", Quoted(name),
                                         " at the same time; try again"));
}

absl::Status MoveRecords::CleanAgain(const MoveRecord& seen,
                                     const std::function<absl::Status()>& may) {
  return Alone([&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(may());
    return ChangeRow(seen, "phase = 'CLEANUP', keep = 0, serial = serial + 1", kIsAlone);
  });
}

absl::Status MoveRecords::DropCandidate(const std::string& name, const std::string& candidate) {
  LOCUS_ASSIGN_OR_RETURN(MoveRecord record, Read(name));
  if (absl::c_linear_search(record.dropped, candidate)) return absl::OkStatus();
  return link_
      .Run(absl::StrCat(
               "UPDATE locus_move SET dropped = CONCAT(dropped, IF(dropped = '', '', ','), ",
               SqlText(candidate), ") WHERE move = ", SqlText(name)),
           {kNoRows})
      .status();
}

absl::StatusOr<bool> MoveRecords::Claim(const std::string& name, uint64_t run,
                                        const std::string& runner, absl::Duration patience) {
  auto results =
      link_.Run(absl::StrCat("UPDATE locus_move SET run = ", run,
                             ", runner = ", Fitting(runner, kMostRunnerBytes),
                             ", beat = NOW(6) WHERE move = ", SqlText(name),
                             " AND (beat IS NULL OR beat > NOW(6) + INTERVAL 1 HOUR OR beat <"
                             " NOW(6) - INTERVAL ",
                             absl::ToInt64Microseconds(patience), " MICROSECOND)"),
                {kNoRows});
  // Then no move was begun there; the reader of its record reports that.
  if (link_.error() == kNoSuchTable) return false;
  LOCUS_RETURN_IF_ERROR(results.status());
  return (*results)[0].affected == 1;
}

absl::Status MoveRecords::Beat(const std::string& name, uint64_t run, const std::string& status) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link_.Run(absl::StrCat("UPDATE locus_move SET beat = NOW(6), status = ", SqlText(status),
                             " WHERE move = ", SqlText(name), " AND run = ", run),
                {kNoRows}));
  return results[0].affected == 1 ? absl::OkStatus() : TakenOver(name);
}

absl::Status MoveRecords::Release(const std::string& name, uint64_t run) {
  return link_
      .Run(absl::StrCat("UPDATE locus_move SET beat = NULL WHERE move = ", SqlText(name),
                        " AND run = ", run),
           {kNoRows})
      .status();
}

absl::Status MoveRecords::SetPhase(const MoveRecord& seen, Phase to) {
  return ChangeRow(seen, absl::StrCat("phase = '", ToAbsl(ToString(to)), "'"));
}

absl::Status MoveRecords::SetRepaired(const MoveRecord& seen, Phase to,
                                      const internal::Seeding& seeding) {
  return ChangeRow(
      seen, absl::StrCat("phase = '", ToAbsl(ToString(to)), "', seeding = '",
                         internal::SeedingText(seeding), "', repair = '', serial = serial + 1"));
}

absl::Status MoveRecords::ChangeRow(const MoveRecord& seen, const std::string& assignments,
                                    const std::string& also) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link_.Run(
          absl::StrCat("UPDATE locus_move SET ", assignments, " WHERE move = ", SqlText(seen.name),
                       " AND run = ", seen.run, " AND serial = ", seen.serial, " AND phase = '",
                       ToAbsl(ToString(seen.phase)), "'", also.empty() ? "" : " AND ", also),
          {kNoRows}));
  if (results[0].affected == 1) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("another command or runner changed move ",
                                         Quoted(seen.name), " at the same time"));
}

absl::Status MoveRecords::StartOver(const MoveRecord& seen, uint32_t share) {
  Phase phase = seen.phase;
  if (phase > Phase::kCopying && phase < Phase::kFinalized) {
    // Copied rows may be missing on the server that took over.
    phase = share == 0 || seen.seeding.again ? Phase::kCopying : Phase::kVerifying;
  }
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link_.Run(absl::StrCat("UPDATE locus_move SET run = 0, beat = NULL, serial = serial + 1,"
                             " phase = '",
                             ToAbsl(ToString(phase)), "' WHERE move = ", SqlText(seen.name),
                             " AND run = ", seen.run, " AND serial = ", seen.serial,
                             " AND phase = '", ToAbsl(ToString(seen.phase)), "'"),
                {kNoRows}));
  if (results[0].affected == 1) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("another command or runner changed move ",
                                         Quoted(seen.name), " at the same time"));
}

absl::Status MoveRecords::Note(const std::string& name, const std::string& kind, uint32_t share,
                               const std::string& text, std::optional<uint64_t> run) {
  return link_
      .Run(absl::StrCat("INSERT INTO locus_move_event (move, at, kind, share, text) SELECT move,"
                        " NOW(6), ",
                        SqlText(kind), ", ", share, ", ", Fitting(text, kMostTextBytes),
                        " FROM locus_move WHERE move = ", SqlText(name), OfRun(run)),
           {kNoRows})
      .status();
}

absl::StatusOr<std::vector<MoveEvent>> MoveRecords::Events(const std::string& name, size_t most) {
  auto results = link_.Run(
      absl::StrCat("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at), kind, share,"
                   " text FROM (SELECT * FROM locus_move_event WHERE move = ",
                   SqlText(name), " ORDER BY id DESC LIMIT ", most, ") AS newest ORDER BY id"),
      {Rows(4, kMostEvents)});
  if (link_.error() == kNoSuchTable) return NoMove(name);
  LOCUS_RETURN_IF_ERROR(results.status());
  std::vector<MoveEvent> events;
  for (const Result::Row& row : (*results)[0].rows) {
    LOCUS_ASSIGN_OR_RETURN(int64_t micros, NumberIn(row, 0, link_.place()));
    LOCUS_ASSIGN_OR_RETURN(int64_t share, NumberIn(row, 2, link_.place()));
    events.push_back({absl::FromUnixMicros(micros), row[1].value_or(""),
                      static_cast<uint32_t>(share), row[3].value_or("")});
  }
  return events;
}

}  // namespace locus::mysql
