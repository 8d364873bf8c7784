// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/table_answers.h"

#include <openssl/sha.h>

#include <boost/json.hpp>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "apps/locusd/console/json_text.h"
#include "apps/shared/shown/plan_step.h"
#include "apps/shared/shown/table_json.h"
#include "locus/routing/ring_view.h"
#include "locus/routing/table_change.h"
#include "locus/shard_gene.h"
#include "routing/source/publication_note.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::locusd {

namespace json = boost::json;

using apps::PlanStep;

namespace {

std::string Quote(absl::string_view text) { return json::serialize(json::value(JsonText(text))); }
ShardGene Vnode(size_t vnode) { return ShardGene::FromUint16(static_cast<uint16_t>(vnode)); }

std::string IdJson(const RoutingTable& table) {
  return table.table_id().empty() ? "null" : Quote(table.table_id());
}

json::object ShardOf(const Shard& shard) {
  json::object of{{"id", shard.id},
                  {"name", JsonText(shard.name)},
                  {"endpoint", JsonText(shard.endpoint)},
                  {"weight", shard.weight}};
  if (shard.labels.empty()) return of;
  json::object labels;
  for (const auto& [name, value] : shard.labels) labels[name] = JsonText(value);
  of["labels"] = std::move(labels);
  return of;
}

struct ShardCount {
  size_t vnodes = 0, in = 0, out = 0;
  double load = 0;
};

absl::Status Overtaken(const TablePublisher& publisher, uint64_t newest, uint64_t expected) {
  return absl::AbortedError(absl::StrCat(publisher.place(), " has epoch ", newest,
                                         ", and the plan was made from epoch ", expected,
                                         ": look at what changed, and plan again"));
}

}  // namespace

std::string DigestOf(const RoutingTable& table) {
  const std::string document = table.ToJson();
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(document.data()), document.size(), digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof digest));
}

std::string SourceJson(const RouterStats& stats, const std::string& place) {
  json::array refusals;
  for (const TableRefusal& refusal : stats.last_refusals) {
    refusals.push_back({{"epoch", refusal.epoch},
                        {"reason", JsonText(refusal.reason.message())},
                        {"at_ms", absl::ToUnixMillis(refusal.at)},
                        {"times", refusal.times}});
  }
  json::object source{{"state", json::string(std::string(ToString(stats.source)))},
                      {"place", JsonText(place)},
                      {"error", nullptr},
                      {"installed_at_ms", absl::ToUnixMillis(stats.installed_at)},
                      {"age_ms", nullptr},
                      {"from_last_good_file", stats.from_last_good_file},
                      {"installs", stats.installs},
                      {"reads", stats.reads},
                      {"read_failures", stats.read_failures},
                      {"refusals", std::move(refusals)}};
  if (!stats.source_error.ok()) source["error"] = JsonText(stats.source_error.message());
  if (stats.age != absl::InfiniteDuration()) {
    source["age_ms"] = absl::ToInt64Milliseconds(stats.age);
  }
  return json::serialize(source);
}

std::string TableJson(const RoutingTable& table, const std::string& source) {
  return absl::StrCat("{\"epoch\":", table.epoch(), ",\"table_id\":", IdJson(table),
                      ",\"document\":", table.ToJson(), ",\"source\":", source, "}");
}

std::string TableEventJson(const RoutingTable& table, const std::string& source) {
  return absl::StrCat("{\"epoch\":", table.epoch(), ",\"table_id\":", IdJson(table),
                      ",\"source\":", source, "}");
}

std::string ShardsJson(const RoutingTable& table, const std::vector<double>& load,
                       absl::Duration window, const std::string& why_absent,
                       const ShardWrites& writes) {
  std::map<uint32_t, ShardCount> counts;
  double all_load = 0;
  for (size_t vnode = 0; vnode < ShardGene::kCount; ++vnode) {
    const uint32_t owner = table.OwnerOf(Vnode(vnode)).id;
    const VnodeMove* const move = table.MoveOf(Vnode(vnode));
    ++counts[owner].vnodes;
    if (move != nullptr) {
      ++counts[owner].out;
      ++counts[move->to].in;
    }
    if (load.empty()) continue;
    // Of a vnode that moves, the target has the orders of the cohorts that have moved.
    const double moved =
        move == nullptr ? 0 : static_cast<double>(move->permyriad) / RoutingTable::kMaxPermyriad;
    counts[owner].load += load[vnode] * (1 - moved);
    if (move != nullptr) counts[move->to].load += load[vnode] * moved;
    all_load += load[vnode];
  }
  double weights = 0;
  for (const Shard& shard : table.shards()) weights += shard.weight;
  double all_writes = 0;
  for (const auto& [shard, per_second] : writes.per_second) all_writes += per_second;
  json::array shards;
  for (const Shard& shard : table.shards()) {
    const ShardCount& count = counts[shard.id];
    json::object of = ShardOf(shard);
    of["vnodes"] = count.vnodes;
    of["portion"] = static_cast<double>(count.vnodes) / ShardGene::kCount;
    of["weight_portion"] = weights > 0 ? shard.weight / weights : 0;
    of["moving_in"] = count.in;
    of["moving_out"] = count.out;
    of["load"] = nullptr;
    if (!load.empty()) {
      of["load"] = {{"ids_per_second", count.load},
                    {"portion", all_load > 0 ? count.load / all_load : 0}};
    }
    of["writes"] = nullptr;
    if (const auto at = writes.per_second.find(shard.id); at != writes.per_second.end()) {
      of["writes"] = {{"per_second", at->second},
                      {"portion", all_writes > 0 ? at->second / all_writes : 0}};
    }
    shards.push_back(std::move(of));
  }
  json::object by{{"by", nullptr},
                  {"window_ms", absl::ToInt64Milliseconds(window)},
                  {"why_absent", nullptr},
                  {"writes_window_ms", absl::ToInt64Milliseconds(writes.window)}};
  if (load.empty()) {
    by["why_absent"] = JsonText(why_absent);
  } else {
    by["by"] = "ids";
  }
  return json::serialize(json::object{
      {"epoch", table.epoch()}, {"shards", std::move(shards)}, {"load", std::move(by)}});
}

std::string TableMovesJson(const RoutingTable& table) {
  json::array moves;
  for (const VnodeMove& move : table.moves()) {
    for (uint32_t first = move.first, end; first <= move.last; first = end) {
      const uint32_t owner = table.OwnerOf(Vnode(first)).id;
      end = first + 1;
      while (end <= move.last && table.OwnerOf(Vnode(end)).id == owner) ++end;
      moves.push_back({{"first", first},
                       {"last", end - 1},
                       {"to", move.to},
                       {"permyriad", move.permyriad},
                       {"step", move.step},
                       {"from", owner}});
    }
  }
  return json::serialize(moves);
}

std::string DiffJson(const RoutingTable& before, const RoutingTable& after) {
  json::value diff = json::parse(apps::DifferenceAsJson(before, after));
  diff.as_object()["text"] = JsonText(TableDifference(before, after));
  return json::serialize(diff);
}

absl::StatusOr<std::string> PlanJson(const RoutingTable& table, PlanRequest request,
                                     const std::vector<double>& load) {
  if (request.by_ids) request.change.load = load;
  absl::StatusOr<RebalancePlan> plan =
      request.plan.empty() ? PlanRebalance(table, request.change) : ParsePlan(table, request.plan);
  LOCUS_RETURN_IF_ERROR(plan.status());
  LOCUS_ASSIGN_OR_RETURN(const PlanStep step, apps::StepOf(table, *plan, request.most_per_shard));
  std::string out = absl::StrCat("{\"epoch\":", table.epoch(), ",\"plan\":", PlanAsJson(*plan),
                                 ",\"svg\":", Quote(RebalanceAsSvg(*plan, request.change.load)),
                                 ",\"text\":", Quote(RebalanceAsText(*plan, request.change.load)));
  if (step.next == table) {
    return absl::StrCat(out, ",\"next\":null,\"unchanged\":",
                        Quote(apps::WhyUnchanged(step, "most_per_shard")), "}");
  }
  return absl::StrCat(out, ",\"next\":{\"epoch\":", step.next.epoch(),
                      ",\"diff\":", DiffJson(table, step.next), ",\"begins\":", step.begins,
                      ",\"waits\":", step.waits, ",\"digest\":\"", DigestOf(step.next),
                      "\"},\"unchanged\":null}");
}

absl::StatusOr<std::string> Publish(TablePublisher& publisher, const PublishRequest& request,
                                    const std::string& author) {
  auto answer = [](const RoutingTable& before, const RoutingTable& after, bool already) {
    return absl::StrCat("{\"epoch\":", after.epoch(), ",\"diff\":", DiffJson(before, after),
                        ",\"already\":", already ? "true" : "false", "}");
  };
  LOCUS_ASSIGN_OR_RETURN(const RoutingTable newest, publisher.Current());
  // The answer to the same request was lost.
  if (newest.epoch() == request.epoch + 1 && DigestOf(newest) == request.digest) {
    LOCUS_ASSIGN_OR_RETURN(const RoutingTable before, publisher.Fetch(request.epoch));
    return answer(before, newest, true);
  }
  if (newest.epoch() != request.epoch) return Overtaken(publisher, newest.epoch(), request.epoch);
  LOCUS_ASSIGN_OR_RETURN(const RebalancePlan plan, ParsePlan(newest, request.plan));
  LOCUS_ASSIGN_OR_RETURN(const PlanStep step, apps::StepOf(newest, plan, request.most_per_shard));
  if (DigestOf(step.next) != request.digest) {
    return absl::AbortedError(absl::StrCat(
        "digest: it is not that of the table that this plan makes of epoch ", newest.epoch(),
        " with most_per_shard ", request.most_per_shard, ": plan again, and look at its change"));
  }
  if (step.next == newest) return answer(newest, newest, true);
  const PublicationNote note = internal::SafeNote(author, request.reason);
  LOCUS_RETURN_IF_ERROR(publisher.Publish(step.next, request.epoch, {}, note));
  // Another client may have published the same table since it was read.
  const PublicationNote kept = internal::KeptNote(publisher, step.next.epoch()).value_or(note);
  return answer(newest, step.next, kept != PublicationNote() && kept != note);
}

std::string MembersJson(const LocusdClusterView& view) {
  json::array members;
  for (const LocusdMember& member : view.Members()) {
    json::object of{{"id", JsonText(absl::StrCat(member.id))},
                    {"address", JsonText(absl::StrCat(member.raft, " ", member.api))},
                    {"voter", member.voter},
                    {"leader", member.leader},
                    {"match", member.match},
                    {"forgot", member.forgot},
                    {"silent_ms", nullptr}};
    if (member.silent_for) of["silent_ms"] = absl::ToInt64Milliseconds(*member.silent_for);
    members.push_back(std::move(of));
  }
  return json::serialize(members);
}

}  // namespace locus::locusd
