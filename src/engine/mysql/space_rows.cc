// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/space_rows.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/segment/rules.h"

namespace locus::mysql {

using internal::Quoted;
using internal::ToAbsl;

namespace {

// Stands before the part of an identity that says when the files of `sequence` last changed owner,
// mode or place.
constexpr char kFiles[] = " files ";

std::string Quote(const std::string& plain) { return absl::StrCat("'", plain, "'"); }

// Groups are digits only; their order is that of the sections.
std::string GroupsOf(std::span<const SegmentRequest> requests) {
  std::vector<uint16_t> sections;
  for (const SegmentRequest& request : requests) sections.push_back(request.section);
  std::sort(sections.begin(), sections.end());
  std::string groups;
  for (uint16_t section : sections) {
    absl::StrAppend(&groups, groups.empty() ? "" : ",", Quote(GroupOf(section)));
  }
  return groups;
}

constexpr char kSpaceColumns[] =
    "section_size, floor_epoch_ns, floor_rate, max_lead, base, losses, identity";

absl::StatusOr<SpaceRow> ParseSpace(const Result::Row& row, const std::string& place) {
  int64_t numbers[6];
  for (size_t i = 0; i < 6; ++i) {
    LOCUS_ASSIGN_OR_RETURN(numbers[i], NumberIn(row, i, place));
  }
  SpaceRow space;
  space.options.section_size = static_cast<uint32_t>(numbers[0]);
  space.options.floor_epoch = absl::FromUnixNanos(numbers[1]);
  space.options.floor_rate = static_cast<uint64_t>(numbers[2]);
  space.options.max_lead = static_cast<uint64_t>(numbers[3]);
  space.base = static_cast<uint64_t>(numbers[4]);
  space.losses = static_cast<uint64_t>(numbers[5]);
  space.identity = row[6].value_or("");
  if (segment_rules::CheckOptions(space.options).ok() &&
      space.base <= segment_rules::kEndOfSequences) {
    return space;
  }
  return absl::DataLossError(absl::StrCat(
      "mariadb ", place, " holds a space with base ", numbers[4], ", section_size ", numbers[0],
      ", floor_rate ", numbers[2], " and max_lead ", numbers[3], ", which cannot be"));
}

absl::Status ParseSection(const Result::Row& row, const std::string& place, SpaceState& state) {
  uint32_t section;
  std::string group = row[0].value_or("");
  LOCUS_ASSIGN_OR_RETURN(int64_t head, NumberIn(row, 1, place));
  LOCUS_ASSIGN_OR_RETURN(int64_t version, NumberIn(row, 2, place));
  LOCUS_ASSIGN_OR_RETURN(int64_t granted_us, NumberIn(row, 3, place));
  if (!absl::SimpleAtoi(group, &section) || section > UINT16_MAX ||
      static_cast<uint64_t>(head) > segment_rules::kEndOfSequences || version < 1) {
    return absl::DataLossError(absl::StrCat("mariadb ", place, " holds section ", Quoted(group),
                                            " with head ", head, " and version ", version,
                                            ", which cannot be"));
  }
  state.sections[static_cast<uint16_t>(section)] = {static_cast<uint64_t>(head),
                                                    static_cast<uint64_t>(version),
                                                    absl::FromUnixMicros(granted_us)};
  return absl::OkStatus();
}

std::string SelectSections(const SpaceName& space, const std::string& where) {
  return absl::StrCat(
      "SELECT group_key, sequence_no, version_number, ", MicrosecondsOf("update_time"),
      " FROM `sequence` WHERE type_id = ", Quote(TypeOf(space)), where, " ORDER BY group_key");
}

std::string SelectSpace(const SpaceName& space) {
  return absl::StrCat("SELECT ", kSpaceColumns,
                      " FROM locus_space WHERE type_id = ", Quote(TypeOf(space)));
}

std::string SelectNow(const std::string& now, const ServerFacts& facts) {
  return absl::StrCat("SELECT ", now, ", ", IdentityExpression(facts), ", ",
                      HalfRestoredExpression(facts));
}

}  // namespace

std::string Literal(std::string_view bytes) {
  std::string literal = "X'";
  for (char c : bytes) absl::StrAppendFormat(&literal, "%02X", static_cast<unsigned char>(c));
  return literal + "'";
}

std::string NowExpression(std::optional<absl::Time> told) {
  if (told) return absl::StrCat(absl::ToUnixMicros(*told));
  return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
}

std::string DateTimeOf(std::string_view us_expression) {
  return absl::StrCat("'1970-01-01' + INTERVAL ", ToAbsl(us_expression), " MICROSECOND");
}

std::string MicrosecondsOf(std::string_view date_time_expression) {
  return absl::StrCat("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ", ToAbsl(date_time_expression),
                      ")");
}

std::string IdentityExpression(const ServerFacts& facts) {
  if (facts.galera) {
    return "(SELECT CONCAT('cluster/', VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS"
           " WHERE VARIABLE_NAME = 'WSREP_CLUSTER_STATE_UUID')";
  }
  return absl::StrCat("(SELECT CONCAT(CONCAT_WS('/', 'server', ",
                      facts.has_uid ? "@@server_uid" : "@@hostname, @@port", ", @@server_id, ",
                      "(SELECT ", MicrosecondsOf("ROW_START"),
                      " FROM locus_birth WHERE one = 1)), '", kFiles,
                      "', CREATE_TIME) FROM information_schema.TABLES WHERE"
                      " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sequence')");
}

// CREATE_TIME is when the files of a table were last touched, so it only moves on. The five minutes
// are for a replica: its files have the times of its own clock, and ROW_START has the primary's. A
// cluster's nodes have a clock each, and their identity does not notice a dump anyway.
std::string HalfRestoredExpression(const ServerFacts& facts) {
  if (facts.galera) return "0";
  return "(SELECT NOT COALESCE(COUNT(*) = 3 AND MIN(CREATE_TIME) + INTERVAL 5 MINUTE >="
         " (SELECT ROW_START FROM locus_birth WHERE one = 1), FALSE)"
         " FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
         " AND TABLE_NAME IN ('locus_space', 'sequence', 'sequence_type'))";
}

IdentityChange Compare(std::string_view recorded, std::string_view found) {
  if (recorded == found) return IdentityChange::kNone;
  const size_t files = found.find(kFiles), recorded_files = recorded.find(kFiles);
  if (files == found.npos) return IdentityChange::kOther;  // a cluster
  found = found.substr(0, files);
  recorded = recorded.substr(0, recorded_files);
  if (recorded_files == recorded.npos) {
    // Version 1 of the tables recorded server/IDs/time of the files, and not when the tables were
    // made: only the IDs can be compared.
    found = found.substr(0, found.rfind('/'));
    recorded = recorded.substr(0, recorded.rfind('/'));
  }
  return recorded == found ? IdentityChange::kFiles : IdentityChange::kOther;
}

std::string TypeOf(const SpaceName& space) { return "space:" + space.str(); }
std::string GroupOf(uint16_t section) { return absl::StrFormat("%05d", section); }

std::string ReadStatements(const SpaceName& space, std::span<const SegmentRequest> requests,
                           Lock lock, const std::string& now, const ServerFacts& facts) {
  const char* suffix = lock == Lock::kForUpdate ? " FOR UPDATE" : "";
  std::string where = requests.empty()
                          ? std::string(" AND FALSE")
                          : absl::StrCat(" AND group_key IN (", GroupsOf(requests), ")");
  return absl::StrCat(SelectSpace(space), suffix, ";", SelectSections(space, where), suffix, ";",
                      SelectNow(now, facts));
}

std::string ReadAllStatements(const SpaceName& space, const std::string& now,
                              const ServerFacts& facts) {
  return absl::StrCat(SelectSpace(space), ";", SelectSections(space, ""), ";",
                      SelectNow(now, facts));
}

absl::StatusOr<SpaceState> ParseState(std::span<const Result> results, const std::string& place) {
  SpaceState state;
  if (!results[0].rows.empty()) {
    LOCUS_ASSIGN_OR_RETURN(state.space, ParseSpace(results[0].rows[0], place));
  }
  for (const Result::Row& row : results[1].rows) {
    LOCUS_RETURN_IF_ERROR(ParseSection(row, place, state));
  }
  LOCUS_ASSIGN_OR_RETURN(int64_t now_us, NumberIn(results[2].rows[0], 0, place));
  state.now = absl::FromUnixMicros(now_us);
  state.identity = results[2].rows[0][1].value_or("");
  state.half_restored = results[2].rows[0][2] != "0";
  return state;
}

std::string WriteSections(const SpaceName& space, std::span<const SectionWrite> writes,
                          absl::Time now) {
  std::string type = Quote(TypeOf(space));
  std::string time = DateTimeOf(absl::StrCat(absl::ToUnixMicros(now)));
  std::string rows;
  for (const SectionWrite& write : writes) {
    absl::StrAppend(&rows, rows.empty() ? "" : ",", "(", type, ",", Quote(GroupOf(write.section)),
                    ",", write.head, ",", write.version_read + 1, ",", time, ",", time, ")");
  }
  // The sum is out of range for every version there can be, and ends the transaction.
  return absl::StrCat(
      "INSERT INTO `sequence` (type_id, group_key, sequence_no, version_number,"
      " create_time, update_time) VALUES ",
      rows,
      " ON DUPLICATE KEY UPDATE sequence_no ="
      " IF(version_number + 1 = VALUES(version_number), VALUES(sequence_no),"
      " version_number + 18446744073709551615),"
      " version_number = VALUES(version_number), update_time = VALUES(update_time)");
}

std::string InsertSpace(const SpaceName& space, const SpaceRow& row, absl::Time now) {
  std::string type = Quote(TypeOf(space));
  std::string time = DateTimeOf(absl::StrCat(absl::ToUnixMicros(now)));
  return absl::StrCat(
      "INSERT INTO sequence_type VALUES (", type, ", 0, ", segment_rules::kUnit, ", 0, 0, ", time,
      ", ", time, ") ON DUPLICATE KEY UPDATE update_time = VALUES(update_time);",
      "INSERT INTO locus_space VALUES (", type, ", ", row.options.section_size, ", ",
      absl::ToUnixNanos(row.options.floor_epoch), ", ", row.options.floor_rate, ", ",
      row.options.max_lead, ", ", row.base, ", ", row.losses, ", ", Literal(row.identity), ", 1)");
}

std::string WriteBase(const SpaceName& space, const SpaceRow& row) {
  std::string type = Quote(TypeOf(space));
  return absl::StrCat(
      "UPDATE locus_space SET base = ", row.base, ", losses = ", row.losses,
      ", identity = ", Literal(row.identity), ", revision = revision + 1 WHERE type_id = ", type,
      ";UPDATE `sequence` SET sequence_no = GREATEST(sequence_no, ", row.base,
      "), version_number = version_number + 1 WHERE type_id = ", type, " ORDER BY group_key");
}

std::string TouchSpace(const SpaceName& space) {
  return absl::StrCat("UPDATE locus_space SET revision = revision + 1 WHERE type_id = ",
                      Quote(TypeOf(space)));
}

std::string AllocateAtOnce(const SpaceName& space, const SpaceRow& known,
                           const SegmentRequest& request, absl::Time caller_now,
                           const std::string& now, const ServerFacts& facts) {
  const SpaceOptions& options = known.options;
  std::string type = Quote(TypeOf(space));
  // As segment_rules::Floor.
  std::string elapsed_ns =
      absl::StrCat("(@locus_us * 1000 - ", absl::ToUnixNanos(options.floor_epoch), ")");
  std::string floor =
      absl::StrCat(elapsed_ns, " DIV 1000000000 * ", options.floor_rate, " + ", elapsed_ns,
                   " MOD 1000000000 * ", options.floor_rate, " DIV 1000000000");
  std::string end =
      absl::StrCat("(GREATEST(sequence_no, @locus_floor) + 63) DIV 64 * 64 + ", request.length);
  uint64_t reserve = request.length > segment_rules::kSmallSegment ? options.max_lead / 8 : 0;
  int64_t caller_us = absl::ToUnixMicros(caller_now);
  const int64_t skew_us = absl::ToInt64Microseconds(segment_rules::kMaxClockDifference);
  return absl::StrCat(
      "SET @locus_us = ", now, ";SET @locus_floor = ", floor,
      ";UPDATE `sequence` SET sequence_no = LAST_INSERT_ID(", end,
      "), version_number = version_number + 1, update_time = ", DateTimeOf("@locus_us"),
      " WHERE type_id = ", type, " AND group_key = ", Quote(GroupOf(request.section)),
      " AND sequence_no >= ", std::max(request.seen, known.base), " AND ", end,
      " <= LEAST(GREATEST(@locus_floor, ", known.base, ") + ", options.max_lead, ", ",
      segment_rules::kEndOfSequences, ") - ", reserve, " AND @locus_us BETWEEN ",
      caller_us - skew_us, " AND ", caller_us + skew_us, " AND ", elapsed_ns,
      " >= 0 AND EXISTS (SELECT 1 FROM locus_space WHERE type_id = ", type,
      " AND section_size = ", options.section_size,
      " AND floor_epoch_ns = ", absl::ToUnixNanos(options.floor_epoch),
      " AND floor_rate = ", options.floor_rate, " AND max_lead = ", options.max_lead,
      " AND identity = ", IdentityExpression(facts), ");SELECT @locus_us");
}

}  // namespace locus::mysql
