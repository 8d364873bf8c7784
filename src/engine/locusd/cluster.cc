// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd_cluster.h"
#include "src/base/os/check.h"
#include "src/base/run/backoff.h"
#include "src/base/text/text.h"
#include "src/engine/locusd/join_rules.h"
#include "src/engine/locusd/node_answers.h"
#include "src/engine/locusd/nodes.h"
#include "src/http/endpoint.h"

namespace locus {
namespace {

using http::TimePoint;
using locusd::Nodes;
using Row = LocusdClusterView::Row;
using Progress = LocusdAddOptions::Progress;

// Between two looks at something that is awaited.
constexpr absl::Duration kPoll = absl::Milliseconds(200);

// For a node to say that it is alive, before a change that needs it.
constexpr absl::Duration kAlive = absl::Seconds(1);

TimePoint After(absl::Duration wait) {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait);
}

bool HasUnheard(const LocusdNode& leader) {
  return std::any_of(leader.members.begin(), leader.members.end(),
                     [](const LocusdMember& member) { return !member.silent_for; });
}

class Cluster final : public LocusdCluster {
 public:
  explicit Cluster(std::unique_ptr<Nodes> nodes) : nodes_(std::move(nodes)) {}

  LocusdClusterView Show() override;
  absl::StatusOr<LocusdNode> Ask(const std::string& api) override {
    return AskWithin(api, absl::InfiniteDuration());
  }
  absl::StatusOr<LocusdNode> AskWithin(const std::string& api, absl::Duration longest) {
    LOCUS_ASSIGN_OR_RETURN(std::string body, nodes_->Ask(api, {.method = "GET",
                                                               .target = "/v1/status",
                                                               .good = 200,
                                                               .most_answer = locusd::kMostStatus,
                                                               .longest = longest}));
    absl::StatusOr<LocusdNode> node = locusd::ParseNode(body);
    if (node.ok()) return node;
    return absl::DataLossError(absl::StrCat("locusd ", api, ": ", node.status().message()));
  }
  absl::StatusOr<LocusdTime> ShowTime() override {
    return Time({.method = "GET", .target = "/v1/time", .good = 200});
  }
  absl::StatusOr<LocusdTime> AdvanceTime(absl::Duration most) override {
    return Time({.method = "POST",
                 .target = "/v1/time:advance",
                 .body = absl::StrCat("{\"most_ms\":", absl::ToInt64Milliseconds(most), "}"),
                 .good = 200});
  }
  absl::StatusOr<LocusdTime> Time(const locusd::Request& request) {
    LOCUS_ASSIGN_OR_RETURN(const std::string body, nodes_->Call(request));
    return locusd::ParseTime(body);
  }
  absl::StatusOr<LocusdNode> Leader() override {
    return LeaderWhere([](const LocusdNode&) { return true; });
  }
  absl::StatusOr<LocusdMember> Add(const std::string& api,
                                   const LocusdAddOptions& options) override;
  absl::StatusOr<std::vector<LocusdMember>> Remove(uint64_t id,
                                                   const LocusdRemoveOptions& options) override;
  absl::StatusOr<LocusdMember> Transfer(std::optional<uint64_t> to) override;

 private:
  // The leader, once it is one that `fits`.
  template <typename Fits>
  absl::StatusOr<LocusdNode> LeaderWhere(Fits fits);
  std::vector<Row> AskAll(const std::vector<std::string>& endpoints,
                          absl::Duration longest = absl::InfiniteDuration());
  // The voters besides `id` that do not answer just now.
  std::vector<LocusdMember> Missing(uint64_t id, const LocusdNode& leader);
  absl::Status Uncommitted(uint64_t id, const LocusdNode& leader, const absl::Status& status);
  absl::Status Await(const LocusdNode& node, const std::string& api,
                     const LocusdAddOptions& options);

  absl::Status AddLearner(const LocusdNode& node) {
    const std::string body =
        absl::StrCat(R"({"id":")", node.id, R"(","address":")", node.raft, " ", node.api, R"("})");
    return nodes_->Call({"POST", "/v1/members", body}).status();
  }
  absl::Status Promote(uint64_t id) {
    return nodes_->Call({"POST", absl::StrCat("/v1/members/", id, ":promote")}).status();
  }

  const std::unique_ptr<Nodes> nodes_;
};

// Members whose addresses other nodes now answer, for example after a disk was lost.
std::vector<Row> ReplacedOf(const LocusdClusterView& view) {
  std::vector<Row> replaced;
  for (const LocusdMember& member : view.Members()) {
    const LocusdNode* other = nullptr;
    bool answers = false;
    for (const Row& row : view.rows) {
      if (!row.node.ok()) continue;
      answers = answers || row.node->id == member.id;
      if (row.endpoint == member.api) other = &*row.node;
    }
    if (answers || other == nullptr) continue;
    replaced.push_back({member.api, absl::UnavailableError(absl::StrCat(
                                        "node ", other->id, " answers at its address"))});
  }
  return replaced;
}

std::vector<Row> Cluster::AskAll(const std::vector<std::string>& endpoints,
                                 absl::Duration longest) {
  std::vector<Row> rows;
  for (const std::string& endpoint : endpoints) {
    rows.push_back({endpoint, absl::UnavailableError("not asked")});
  }
  std::vector<std::thread> threads;
  for (Row& row : rows) {
    auto ask = [this, &row, longest] { row.node = AskWithin(row.endpoint, longest); };
    try {
      threads.emplace_back(ask);
    } catch (const std::system_error&) {  // no more threads
      ask();
    }
  }
  for (std::thread& thread : threads) thread.join();
  return rows;
}

LocusdClusterView Cluster::Show() {
  LocusdClusterView view{AskAll(nodes_->options().endpoints)};
  std::set<std::string> asked(nodes_->options().endpoints.begin(),
                              nodes_->options().endpoints.end());
  // At its own address: one ID may answer at two.
  std::set<std::pair<uint64_t, std::string>> known;
  for (const Row& row : view.rows) {
    if (row.node.ok()) known.insert({row.node->id, row.node->api});
  }
  std::vector<std::string> further;
  for (const LocusdMember& member : view.Members()) {
    const auto endpoint = http::Endpoint::Parse(member.api);
    if (known.count({member.id, member.api}) > 0 || asked.count(member.api) > 0) continue;
    if (endpoint.ok() && nodes_->CheckPlace(*endpoint).ok()) further.push_back(member.api);
  }
  std::vector<Row> replaced = ReplacedOf(view);
  for (Row& row : AskAll(further)) view.rows.push_back(std::move(row));
  for (Row& row : replaced) view.rows.push_back(std::move(row));
  return view;
}

template <typename Fits>
absl::StatusOr<LocusdNode> Cluster::LeaderWhere(Fits fits) {
  const TimePoint deadline = After(nodes_->options().timeout);
  internal::Backoff backoff({.first = kPoll / 4, .longest = kPoll * 3});
  while (true) {
    const LocusdClusterView view = Show();
    const LocusdNode* leader = view.Leader();
    if (leader != nullptr && fits(*leader)) return *leader;
    const bool may_pass = std::any_of(view.rows.begin(), view.rows.end(), [](const Row& row) {
      return row.node.ok() || absl::IsUnavailable(row.node.status());
    });
    // Every node refuses the token, for example.
    if (!may_pass) return view.rows[0].node.status();
    if (!internal::SleepBeforeRetry(backoff, deadline)) {
      if (leader == nullptr) return view.Health();
      return absl::UnavailableError(absl::StrCat("node ", leader->id, " still leads the cluster"));
    }
  }
}

absl::StatusOr<LocusdMember> Cluster::Add(const std::string& api, const LocusdAddOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(LocusdNode node, Ask(api));
  LOCUS_ASSIGN_OR_RETURN(LocusdNode leader, Leader());
  LOCUS_RETURN_IF_ERROR(locusd::CheckJoins(node, leader, api));
  const LocusdMember* member = leader.Find(node.id);
  if (member == nullptr || member->raft != node.raft || member->api != node.api) {
    if (member != nullptr) {
      auto there = AskWithin(member->api, kAlive);
      if (there.ok()) LOCUS_RETURN_IF_ERROR(locusd::CheckMoved(node, *member, *there));
    }
    LOCUS_RETURN_IF_ERROR(AddLearner(node));
  }
  const bool votes = member != nullptr && member->voter;
  if (options.promote && !votes) LOCUS_RETURN_IF_ERROR(Await(node, api, options));
  LOCUS_ASSIGN_OR_RETURN(leader, LeaderWhere([&](const LocusdNode& now) {
                           const LocusdMember* found = now.Find(node.id);
                           return found != nullptr && (found->voter || !options.promote);
                         }));
  return *leader.Find(node.id);
}

// Until the new node has the log and votes.
absl::Status Cluster::Await(const LocusdNode& node, const std::string& api,
                            const LocusdAddOptions& options) {
  TimePoint dead_at = After(kSilent);
  const TimePoint deadline = After(options.patience);
  internal::Backoff backoff({.first = kPoll, .longest = kPoll, .jitter = 0});
  uint64_t aim = UINT64_MAX;  // the index that was committed a moment ago
  while (true) {
    auto leader = Leader();
    if (!leader.ok() && !absl::IsUnavailable(leader.status())) return leader.status();
    if (leader.ok()) {
      const LocusdMember* member = leader->Find(node.id);
      if (member == nullptr) {
        return absl::NotFoundError(absl::StrCat("node ", node.id, " was removed meanwhile"));
      }
      const Progress progress{node.id, std::min(member->match, leader->commit), leader->commit,
                              member->silent_for};
      if (options.on_progress && !options.on_progress(progress)) {
        return absl::CancelledError(absl::StrCat("node ", node.id, " is a learner"));
      }
      // One that has died since would vote, and be missed.
      if (member->match >= aim && member->silent_for &&
          *member->silent_for < LocusdCluster::kFresh) {
        const absl::Status promoted = Promote(node.id);
        // The log has grown faster than the node gets it.
        if (!absl::IsFailedPrecondition(promoted)) return promoted;
      }
      aim = leader->commit;
    }
    // Nothing comes of a node that has ended.
    auto now = AskWithin(api, kAlive);
    if (now.ok()) {
      dead_at = After(kSilent);
      LOCUS_RETURN_IF_ERROR(locusd::CheckWaits(node, *now));
    } else if (std::chrono::steady_clock::now() >= dead_at) {
      return absl::UnavailableError(
          absl::StrCat("node ", node.id, " has not answered for ", absl::FormatDuration(kSilent),
                       " (", now.status().message(), "); its log says why. It is a learner"));
    }
    if (!internal::SleepBeforeRetry(backoff, deadline)) {
      return absl::DeadlineExceededError(
          absl::StrCat("node ", node.id, " does not have the log after ",
                       absl::FormatDuration(options.patience), "; it is a learner"));
    }
  }
}

std::vector<LocusdMember> Cluster::Missing(uint64_t id, const LocusdNode& leader) {
  std::vector<LocusdMember> voters;
  std::vector<std::string> endpoints;
  for (const LocusdMember& member : leader.members) {
    if (member.id == id || !member.voter) continue;
    voters.push_back(member);
    endpoints.push_back(member.api);
  }
  const std::vector<Row> rows = AskAll(endpoints, kAlive);
  std::vector<LocusdMember> missing;
  for (size_t i = 0; i < voters.size(); ++i) {
    const absl::StatusOr<LocusdNode>& node = rows[i].node;
    const bool works =
        node.ok() && node->id == voters[i].id && !node->removed && node->failure.empty();
    if (!works) missing.push_back(voters[i]);
  }
  return missing;
}

// The error of a removal of `id` after which no node leads.
absl::Status Cluster::Uncommitted(uint64_t id, const LocusdNode& leader,
                                  const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  const std::vector<LocusdMember> missing = Missing(id, leader);
  return absl::UnavailableError(absl::StrCat(
      status.message(), ". The removal of node ", id,
      " may be in the log and not committed; it takes effect when ",
      missing.empty() ? "a leader is found"
                      : absl::StrCat("enough of these are back: ", locusd::ListOf(missing))));
}

absl::StatusOr<std::vector<LocusdMember>> Cluster::Remove(uint64_t id,
                                                          const LocusdRemoveOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(LocusdNode leader, Leader());
  absl::Status may = locusd::CheckLeaves(id, leader, options.force);
  // A leader that was just elected has not heard all of them yet.
  internal::Backoff backoff({.first = kPoll, .longest = kPoll, .jitter = 0});
  const TimePoint heard_by = After(LocusdCluster::kFresh);
  while (absl::IsFailedPrecondition(may) && HasUnheard(leader) &&
         internal::SleepBeforeRetry(backoff, heard_by)) {
    LOCUS_ASSIGN_OR_RETURN(leader, Leader());
    may = locusd::CheckLeaves(id, leader, options.force);
  }
  LOCUS_RETURN_IF_ERROR(may);
  // A node that has just died does not count as silent yet, but its vote would be missing.
  if (!options.force && leader.Find(id)->voter) {
    LOCUS_RETURN_IF_ERROR(locusd::CheckAnswers(id, leader, Missing(id, leader)));
  }
  if (leader.id == id) LOCUS_RETURN_IF_ERROR(Transfer(std::nullopt).status());
  const absl::Status removed = nodes_->Call({"DELETE", absl::StrCat("/v1/members/", id)}).status();
  // NOT_FOUND: the answer to an attempt before was lost.
  if (!removed.ok() && !absl::IsNotFound(removed)) return Uncommitted(id, leader, removed);
  auto now = LeaderWhere([id](const LocusdNode& node) { return node.Find(id) == nullptr; });
  if (!now.ok()) return Uncommitted(id, leader, now.status());
  return now->members;
}

absl::StatusOr<LocusdMember> Cluster::Transfer(std::optional<uint64_t> to) {
  LOCUS_ASSIGN_OR_RETURN(LocusdNode leader, Leader());
  LOCUS_ASSIGN_OR_RETURN(const uint64_t next, locusd::NextLeader(to, leader));
  if (next == leader.id) return *leader.Find(next);
  const absl::Status asked =
      nodes_->Call({"POST", absl::StrCat("/v1/members/", next, ":transfer")}).status();
  // NOT_FOUND: it already leads: the answer to an earlier attempt was lost.
  if (!asked.ok() && !absl::IsNotFound(asked)) return asked;
  auto now = LeaderWhere([next](const LocusdNode& node) { return node.id == next; });
  if (!now.ok()) return asked.ok() ? now.status() : asked;
  return *now->Find(next);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocusdCluster>> LocusdCluster::Open(const LocusdOptions& options,
                                                                   Clock& clock) {
  LOCUS_ASSIGN_OR_RETURN(auto nodes, Nodes::Open(options, Nodes::Follow::kAnywhere, clock));
  return std::make_unique<Cluster>(std::move(nodes));
}

}  // namespace locus
