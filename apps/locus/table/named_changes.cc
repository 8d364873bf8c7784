// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/table/named_changes.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ParseDecimal;
using internal::Quoted;

namespace {

constexpr char kMoves[] = "--change-move";
constexpr char kOwners[] = "--change-owner";
constexpr char kShards[] = "--drop-shard";
constexpr char kChangedShards[] = "--change-shard";
constexpr char kJump[] = "--jump-to";
constexpr size_t kMostFlags = 20;

// "7" or "0..255".
std::optional<VnodeSpan> SpanIn(std::string_view text) {
  size_t dots = text.find("..");
  std::optional<uint64_t> first = ParseDecimal(text.substr(0, dots), UINT16_MAX);
  std::optional<uint64_t> last = first;
  if (dots != std::string_view::npos) last = ParseDecimal(text.substr(dots + 2), UINT16_MAX);
  if (!first || !last || *first > *last) return std::nullopt;
  return VnodeSpan{static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
}

absl::Status ReadSpans(const char* option, const std::vector<std::string>& texts,
                       std::vector<VnodeSpan>& spans) {
  for (const std::string& text : texts) {
    std::optional<VnodeSpan> span = SpanIn(text);
    if (!span) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": ", Quoted(text), " is not FIRST..LAST, vnodes in 0..65535"));
    }
    spans.push_back(*span);
  }
  return absl::OkStatus();
}

// The ids of the shards with these names in the newest table.
absl::StatusOr<std::vector<uint32_t>> IdsOf(const char* option,
                                            const std::vector<std::string>& names,
                                            const RoutingTable* newest) {
  std::vector<uint32_t> ids;
  for (const std::string& name : names) {
    const Shard* found = nullptr;
    if (newest != nullptr) {
      auto at = std::ranges::find(newest->shards(), name, &Shard::name);
      if (at != newest->shards().end()) found = &*at;
    }
    if (found == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": the newest table has no shard ", Quoted(name)));
    }
    ids.push_back(found->id);
  }
  return ids;
}

// As a word of a shell's command line.
std::string ForShell(const std::string& text) {
  auto plain = [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; };
  if (std::ranges::all_of(text, plain)) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

void AppendSpans(const char* option, const std::vector<VnodeSpan>& spans,
                 std::vector<std::string>& flags) {
  for (const VnodeSpan& span : spans) {
    flags.push_back(absl::StrCat(option, " ", span.first));
    if (span.first != span.last) absl::StrAppend(&flags.back(), "..", span.last);
  }
}

}  // namespace

void NamedChanges::Declare(VerbLine& line) {
  line.Repeated(absl::StrCat(kMoves, " FIRST..LAST"), &moves_,
                "Change or drop the move of these vnodes that is in progress");
  line.Repeated(absl::StrCat(kOwners, " FIRST..LAST"), &owners_,
                "Give these vnodes another owner outside of a move: their orders are not moved");
  line.Repeated(absl::StrCat(kShards, " NAME"), &shards_,
                "Drop a shard that owns vnodes or takes part in a move")
      .Offers(Offer::kShards);
  line.Repeated(absl::StrCat(kChangedShards, " NAME"), &changed_shards_,
                "Give a shard in use another name or endpoint; NAME is its name until now")
      .Offers(Offer::kShards);
  line.Number(absl::StrCat(kJump, " EPOCH"), &changes_.epoch,
              {.least = 1, .most = RoutingTable::kMaxEpoch, .what = "an epoch"},
              absl::StrCat("Publish this epoch, more than ", GuardedChanges::kMaxEpochJump,
                           " above the newest"))
      .Default("")
      .required = false;
}

absl::Status NamedChanges::Read() {
  LOCUS_RETURN_IF_ERROR(ReadSpans(kMoves, moves_, changes_.moves));
  return ReadSpans(kOwners, owners_, changes_.owners);
}

absl::StatusOr<GuardedChanges> NamedChanges::Resolve(const RoutingTable* newest) const {
  GuardedChanges changes = changes_;
  LOCUS_ASSIGN_OR_RETURN(changes.shards, IdsOf(kShards, shards_, newest));
  LOCUS_ASSIGN_OR_RETURN(changes.changed_shards, IdsOf(kChangedShards, changed_shards_, newest));
  return changes;
}

std::string FlagsThatAreMissing(const PublishedState& state, const RoutingTable& table,
                                const GuardedChanges& named) {
  const bool another = state.newest != nullptr && !state.newest->table_id().empty() &&
                       state.newest->table_id() != table.table_id();
  if (another) return "";  // nothing that is named would help
  absl::StatusOr<GuardedChanges> unnamed =
      Unnamed(GuardedChangesBetween(state.newest, table, state.highest), named);
  if (!unnamed.ok()) return "";
  std::vector<std::string> flags;
  AppendSpans(kMoves, unnamed->moves, flags);
  AppendSpans(kOwners, unnamed->owners, flags);
  auto append_shards = [&](const char* option, const std::vector<uint32_t>& ids) {
    for (uint32_t id : ids) {
      flags.push_back(absl::StrCat(option, " ", ForShell(state.newest->FindShard(id)->name)));
    }
  };
  append_shards(kShards, unnamed->shards);
  append_shards(kChangedShards, unnamed->changed_shards);
  if (unnamed->epoch != 0) flags.push_back(absl::StrCat(kJump, " ", unnamed->epoch));
  if (flags.empty() || flags.size() > kMostFlags) return "";
  std::string text = "; to publish it nevertheless, add:";
  for (const std::string& flag : flags) absl::StrAppend(&text, " ", flag);
  return text;
}

}  // namespace locus::cli
