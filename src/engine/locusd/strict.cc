// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd.h"
#include "src/base/os/check.h"
#include "src/cluster/api/strict_bodies.h"
#include "src/engine/locusd/nodes.h"
#include "src/strict/strict_rules.h"

namespace locus {
namespace {

using locusd::Nodes;
using locusd::Request;
using StrictCall = strict_machine::Call;
using Verdict = StrictGrant::Verdict;

class StrictSets final : public LocusdStrictStore {
 public:
  explicit StrictSets(std::unique_ptr<Nodes> nodes) : nodes_(std::move(nodes)) {}

  absl::Status Create(const SpaceName& set, const StrictSetOptions& options,
                      const StrictSetPast& past) override {
    LOCUS_RETURN_IF_ERROR(options.Check());
    // Only operators' tokens may create a set, where there are any. So an owner with another token
    // first looks whether the set is there.
    const absl::StatusOr<StrictSetView> there = Show(set);
    if (there.ok()) return strict::CheckSame(set, there->options, options);
    if (!absl::IsNotFound(there.status())) return there.status();
    LOCUS_RETURN_IF_ERROR(
        strict::CheckFits(set, options, strict_machine::kMostSections, "a cluster of locusd"));
    return Send("PUT", PathOf(set), strict_machine::Create{options, past}, 204).status();
  }

  absl::Status DeclareRestored(const SpaceName& set) override {
    return Send("POST", PathOf(set) + ":restored", strict_machine::DeclareRestored(), 204).status();
  }

  absl::StatusOr<StrictReply<StrictGrant>> Take(const SpaceName& set,
                                                const StrictSetOptions& options,
                                                const StrictTake& request) override {
    LOCUS_ASSIGN_OR_RETURN(
        const std::string body,
        Send("POST", PathOf(set) + ":take", strict_machine::Take{options, request}, 200));
    LOCUS_ASSIGN_OR_RETURN(auto reply, Said(cluster_api::ParseStrictGrants(body)));
    LOCUS_RETURN_IF_ERROR(CheckGrants(options, request, reply));
    return reply;
  }

  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& set,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) override {
    LOCUS_ASSIGN_OR_RETURN(
        const std::string body,
        Send("POST", PathOf(set) + ":extend", strict_machine::Extend{options, request}, 200));
    return Extended(body, request.sections);
  }

  absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& set,
                                                      const StrictSetOptions& options,
                                                      const StrictRelease& request) override {
    LOCUS_ASSIGN_OR_RETURN(
        const std::string body,
        Send("POST", PathOf(set) + ":release", strict_machine::Release{options, request}, 200));
    return Extended(body, request.sections);
  }

  absl::StatusOr<StrictSetView> Show(const SpaceName& set) override {
    constexpr size_t kMostView = size_t{32} << 20;  // of all sections that a cluster has
    LOCUS_ASSIGN_OR_RETURN(const std::string body, nodes_->Call({"GET", PathOf(set), "", 200,
                                                                 Request::Id::kNone, kMostView}));
    return Said(cluster_api::ParseStrictView(body));
  }

  LocusdStats Stats() const override { return nodes_->Stats(); }

 private:
  static std::string PathOf(const SpaceName& set) { return "/v1/strict_sets/" + set.str(); }

  absl::StatusOr<std::string> Send(std::string_view method, std::string path,
                                   const StrictCall& call, unsigned good) {
    LOCUS_RETURN_IF_ERROR(strict_machine::Check(call));
    constexpr size_t kMostAnswer = size_t{4}
                                   << 20;  // of kMostSectionsAtOnce, each of another owner
    return nodes_->Call({method, std::move(path), cluster_api::BodyOf(call), good,
                         Request::Id::kSession, kMostAnswer});
  }

  template <typename Parsed>
  static absl::StatusOr<Parsed> Said(absl::StatusOr<Parsed> parsed) {
    if (parsed.ok()) return parsed;
    return absl::DataLossError(absl::StrCat("locusd: ", parsed.status().message()));
  }

  template <typename Items, typename Asked>
  static absl::Status CheckSections(const Items& items, const Asked& asked) {
    if (items.size() != asked.size()) {
      return absl::DataLossError(
          absl::StrCat("locusd answered ", items.size(), " sections to a call of ", asked.size()));
    }
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].section == asked[i].section) continue;
      return absl::DataLossError(absl::StrCat("locusd answered section ", items[i].section,
                                              " where ", asked[i].section, " was asked for"));
    }
    return absl::OkStatus();
  }

  // A lying server's answer must not become numbers that another owner has.
  static absl::Status CheckGrants(const StrictSetOptions& options, const StrictTake& request,
                                  const StrictReply<StrictGrant>& reply) {
    LOCUS_RETURN_IF_ERROR(CheckSections(reply.items, request.wishes));
    for (size_t i = 0; i < reply.items.size(); ++i) {
      const StrictGrant& grant = reply.items[i];
      if (grant.verdict != Verdict::kGranted) continue;
      if (grant.holder == request.owner && grant.token > 0 &&
          grant.start >= request.wishes[i].seen && grant.max_seq >= grant.start &&
          grant.max_seq - grant.start ==
              std::min(options.step, strict::kMostNumber - grant.start)) {
        continue;
      }
      return absl::DataLossError(absl::StrCat(
          "locusd granted section ", grant.section, " to \"", grant.holder.name, "\" with token ",
          grant.token, " and numbers ", grant.start, " to ", grant.max_seq, ", where ",
          options.step, " numbers above ", request.wishes[i].seen, " were asked for"));
    }
    return absl::OkStatus();
  }

  template <typename Asked>
  static absl::StatusOr<StrictReply<StrictExtended>> Extended(const std::string& body,
                                                              const Asked& asked) {
    LOCUS_ASSIGN_OR_RETURN(auto reply, Said(cluster_api::ParseStrictExtended(body)));
    LOCUS_RETURN_IF_ERROR(CheckSections(reply.items, asked));
    for (size_t i = 0; i < reply.items.size(); ++i) {
      const StrictExtended& item = reply.items[i];
      uint64_t least = asked[i].max_seq;
      if constexpr (requires { asked[i].raise_to; }) least = std::max(least, asked[i].raise_to);
      least = std::min(least, strict::kMostRaise);
      if (!item.held || item.max_seq >= least) continue;
      return absl::DataLossError(absl::StrCat("locusd has max_seq ", item.max_seq, " for section ",
                                              item.section, ", where its owner knows of ", least));
    }
    return reply;
  }

  const std::unique_ptr<Nodes> nodes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocusdStrictStore>> LocusdStrictStore::Open(
    const LocusdOptions& options, Clock& clock) {
  LOCUS_ASSIGN_OR_RETURN(auto nodes, Nodes::Open(options, Nodes::Follow::kEndpoints, clock));
  return std::make_unique<StrictSets>(std::move(nodes));
}

}  // namespace locus
