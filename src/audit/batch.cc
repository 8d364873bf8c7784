// SPDX-License-Identifier: Apache-2.0
#include "src/audit/batch.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "locus/uuid.h"
#include "nlohmann/json.hpp"

namespace locus {
namespace {

using AuditKind = AuditRecord::Kind;

constexpr std::array<std::pair<AuditKind, std::string_view>, 21> kKinds = {{
    {AuditKind::kGranted, "granted"},
    {AuditKind::kRenewed, "renewed"},
    {AuditKind::kExpired, "expired"},
    {AuditKind::kReleased, "released"},
    {AuditKind::kLost, "lost"},
    {AuditKind::kRefused, "refused"},
    {AuditKind::kMembers, "members"},
    {AuditKind::kSegment, "segment"},
    {AuditKind::kGap, "gap"},
    {AuditKind::kCreated, "created"},
    {AuditKind::kUnhealthy, "unhealthy"},
    {AuditKind::kHealthy, "healthy"},
    {AuditKind::kLossNoticed, "loss_noticed"},
    {AuditKind::kDeleted, "deleted"},
    {AuditKind::kSectionTaken, "section_taken"},
    {AuditKind::kSectionReleased, "section_released"},
    {AuditKind::kSectionLost, "section_lost"},
    {AuditKind::kTypeCreated, "type_created"},
    {AuditKind::kTypeAltered, "type_altered"},
    {AuditKind::kTypeDropped, "type_dropped"},
    {AuditKind::kTablePublished, "table_published"},
}};

int64_t Millis(absl::Time time) {
  return time == absl::InfinitePast() ? 0 : absl::ToUnixMillis(time);
}

std::string NewId(const std::string& process, absl::Time now) {
  absl::StatusOr<Uuid> id = Uuid::NewV7();
  // Without randomness the time distinguishes records well enough.
  return id.ok() ? id->ToString() : absl::StrCat(process, "-", absl::ToUnixNanos(now));
}

}  // namespace

std::string_view ToString(AuditRecord::Kind kind) {
  for (const auto& [each, name] : kKinds) {
    if (each == kind) return name;
  }
  return "unknown";
}

std::optional<AuditRecord::Kind> ParseAuditKind(std::string_view text) {
  for (const auto& [kind, name] : kKinds) {
    if (name == text) return kind;
  }
  // As builds before 0.1.0 wrote them: tables keep such records.
  if (text == "rule_created") return AuditKind::kTypeCreated;
  if (text == "rule_altered") return AuditKind::kTypeAltered;
  if (text == "rule_dropped") return AuditKind::kTypeDropped;
  return std::nullopt;
}

namespace audit {

void AppendRow(const AuditRecord& record, const std::string& process, absl::Time now,
               Batch& batch) {
  const absl::Time time = record.time == absl::InfinitePast() ? now : record.time;
  nlohmann::ordered_json row;
  row["id"] = record.id.empty() ? NewId(process, now) : record.id;
  row["day"] = absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone());
  row["time_us"] = std::max<int64_t>(absl::ToUnixMicros(time), 0);
  row["kind"] = std::string(ToString(record.kind));
  row["space"] = record.space;
  row["place"] = record.place;
  row["process"] = process;
  row["trace_id"] = record.trace_id;
  row["worker"] = record.worker;
  row["token"] = record.token;
  row["floor_ms"] = Millis(record.floor);
  row["ceiling_ms"] = Millis(record.ceiling);
  row["section"] = record.section;
  row["first"] = record.first;
  row["end"] = record.end;
  row["nonce"] = record.nonce;
  row["holder"] = record.holder.substr(0, AuditRecord::kMostDetailBytes);
  row["detail"] = record.detail.substr(0, AuditRecord::kMostDetailBytes);
  batch.rows += row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  batch.rows += '\n';
  ++batch.count;
}

}  // namespace audit
}  // namespace locus
