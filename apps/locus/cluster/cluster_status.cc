// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/locus/cluster/cluster_line.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/place/uri_options.h"
#include "routing/picture/text_grid.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Align;
using internal::Printable;
using internal::StdoutStyle;
using internal::TextGrid;
using internal::ToAbsl;
using nlohmann::ordered_json;

namespace {

// A node, as it says itself and as the leader sees it.
struct Seen {
  const LocusdClusterView::Row& row;
  const LocusdMember* member;  // nullptr: it is none, or unknown

  Seen(const LocusdClusterView& view, const LocusdClusterView::Row& of) : row(of), member(nullptr) {
    for (const LocusdMember& one : view.Members()) {
      if (row.node.ok() ? row.node->id == one.id : row.endpoint == one.api) member = &one;
    }
  }
  std::optional<uint64_t> Lag(const LocusdNode* leader) const {
    if (leader == nullptr || member == nullptr) return std::nullopt;
    return leader->commit - std::min(leader->commit, member->match);
  }
  std::string Error() const {
    if (row.node.ok()) return row.node->failure;
    const absl::string_view why = row.node.status().message();
    return Printable({why.data(), why.size()});
  }
};

size_t FailedVoters(const LocusdClusterView& view) {
  size_t failed = 0;
  for (const LocusdMember& member : view.Members()) {
    failed += member.voter && view.IsMissing(member);
  }
  return failed;
}

ordered_json NodeJson(const Seen& seen, const LocusdNode* leader) {
  ordered_json json;
  json["endpoint"] = seen.row.endpoint;
  json["answers"] = seen.row.node.ok();
  json["error"] = seen.Error();
  if (seen.row.node.ok()) {
    const LocusdNode& node = *seen.row.node;
    json["id"] = absl::StrCat(node.id);
    json["cluster"] = node.cluster;
    json["version"] = node.version;
    json["raft"] = node.raft;
    json["api"] = node.api;
    json["role"] = std::string(ToString(node.role));
    json["term"] = node.term;
    json["commit"] = node.commit;
    json["applied"] = node.applied;
    json["last"] = node.last;
    json["workers"] = node.workers;
    json["held"] = node.held;
    json["clock_off_ms"] = absl::ToInt64Milliseconds(node.clock_off);
    json["removed"] = node.removed;
    json["unreached"] = node.unreached;
  } else {
    json["id"] =
        seen.member == nullptr ? ordered_json() : ordered_json(absl::StrCat(seen.member->id));
  }
  json["forgot"] = seen.member != nullptr && seen.member->forgot;
  json["member"] = seen.member == nullptr ? ordered_json()
                   : seen.member->voter   ? ordered_json("voter")
                                          : ordered_json("learner");
  const std::optional<uint64_t> lag = seen.Lag(leader);
  json["lag"] = lag ? ordered_json(*lag) : ordered_json();
  const bool heard = leader != nullptr && seen.member != nullptr && seen.member->silent_for;
  json["silent_ms"] =
      heard ? ordered_json(absl::ToInt64Milliseconds(*seen.member->silent_for)) : ordered_json();
  return json;
}

std::string JsonOf(const LocusdClusterView& view) {
  const LocusdNode* leader = view.Leader();
  const absl::Status health = view.Health();
  ordered_json json;
  json["healthy"] = health.ok();
  json["health"] = health.ok() ? "OK" : std::string(health.message());
  json["leader"] = leader == nullptr ? ordered_json() : ordered_json(absl::StrCat(leader->id));
  json["nodes"] = ordered_json::array();
  for (const auto& row : view.rows) json["nodes"].push_back(NodeJson(Seen(view, row), leader));
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string TextOf(const LocusdClusterView& view) {
  const LocusdNode* leader = view.Leader();
  std::string out;
  if (leader != nullptr) {
    absl::StrAppend(&out, "cluster ", leader->cluster, "\nleader ", leader->id, "\nmembers ",
                    Strength(leader->members, FailedVoters(view)), "\nleases ", leader->held,
                    " held, ", leader->workers, " ever granted\n");
  }
  TextGrid grid({Align::kLeftWhole, Align::kRight, Align::kLeftWhole, Align::kLeftWhole,
                 Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                 Align::kRight, Align::kLeftWhole, Align::kLeft});
  grid.Add({"node", "id", "role", "member", "term", "commit", "applied", "lag", "silent_s",
            "clock_off_ms", "version", "error"});
  for (const auto& row : view.rows) {
    const Seen seen(view, row);
    const std::optional<uint64_t> lag = seen.Lag(leader);
    const bool heard = leader != nullptr && seen.member != nullptr && seen.member->silent_for;
    std::vector<std::string> cells = {row.endpoint,
                                      seen.member == nullptr ? "" : absl::StrCat(seen.member->id)};
    if (row.node.ok()) {
      cells[1] = absl::StrCat(row.node->id);
      cells.push_back(row.node->removed ? "removed" : std::string(ToString(row.node->role)));
    } else {
      cells.push_back(absl::IsUnavailable(row.node.status()) ? "no answer" : "refuses");
    }
    cells.push_back(seen.member == nullptr ? ""
                    : seen.member->forgot  ? "forgot"
                    : seen.member->voter   ? "voter"
                                           : "learner");
    const bool ok = row.node.ok();
    cells.push_back(ok ? absl::StrCat(row.node->term) : "");
    cells.push_back(ok ? absl::StrCat(row.node->commit) : "");
    cells.push_back(ok ? absl::StrCat(row.node->applied) : "");
    cells.push_back(lag ? absl::StrCat(*lag) : "");
    cells.push_back(heard ? absl::StrFormat("%.1f", absl::ToDoubleSeconds(*seen.member->silent_for))
                          : "");
    cells.push_back(ok ? absl::StrCat(absl::ToInt64Milliseconds(row.node->clock_off)) : "");
    cells.push_back(ok ? row.node->version : "");
    cells.push_back(seen.Error());
    grid.Add(std::move(cells));
  }
  grid.AppendTo(out, StdoutStyle());
  for (const auto& row : view.rows) {
    if (!row.node.ok() || row.node->unreached.empty()) continue;
    absl::StrAppend(&out, "node ", row.node->id, " does not reach ", row.node->unreached, "\n");
  }
  return out;
}

}  // namespace

int RunClusterStatus(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "cluster status";
  ClusterLine cluster;
  VerbLine line(kVerb,
                "Asks the nodes of a cluster of locusd how they are. The exit code is 0 where a "
                "leader hears a majority of the voters and no member has forgotten, otherwise 1.",
                "locus cluster status locusd://127.0.0.1:7070");
  cluster.DeclareOn(line).Else("LOCUS_STORE");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = cluster.Open();
  if (!opened.ok()) return EndVerb(kVerb, opened.status());
  const LocusdClusterView view = (*opened)->Show();
  const int printed = PrintAll(kVerb, cluster.json ? JsonOf(view) : TextOf(view));
  const absl::Status health = view.Health();
  return health.ok() ? printed : Fail(kVerb, health);
}

}  // namespace locus::cli
