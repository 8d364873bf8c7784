// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd.h"
#include "src/base/os/check.h"
#include "src/cluster/api/store_bodies.h"
#include "src/engine/locusd/nodes.h"
#include "src/segment/rules.h"

namespace locus {
namespace {

using locusd::Nodes;
using locusd::Request;
using SegmentCall = segment_machine::Call;

// Of all sections of a space in one answer.
constexpr size_t kMostSegmentView = size_t{16} << 20;

class Segments final : public LocusdSegmentStore {
 public:
  explicit Segments(std::unique_ptr<Nodes> nodes) : nodes_(std::move(nodes)) {}

  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time caller_now) override {
    return Send("PUT", PathOf(space), segment_machine::Create{options, caller_now}, 204).status();
  }

  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override {
    LOCUS_ASSIGN_OR_RETURN(SpaceView view, View(space));
    return view.options;
  }

  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override {
    segment_machine::Allocation allocation{options, {requests.begin(), requests.end()}, caller_now};
    LOCUS_ASSIGN_OR_RETURN(const std::string body,
                           Send("POST", PathOf(space) + ":allocate", std::move(allocation), 200));
    LOCUS_ASSIGN_OR_RETURN(SegmentReply reply, Said(cluster_api::ParseSegmentReply(body)));
    LOCUS_RETURN_IF_ERROR(CheckGrants(reply, requests));
    return reply;
  }

  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time) override {
    return View(space);
  }

  absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) override {
    return Send("POST", PathOf(space) + ":restored", segment_machine::DeclareRestored{caller_now},
                204)
        .status();
  }

  absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override {
    LOCUS_ASSIGN_OR_RETURN(
        const std::string body,
        Send("POST", PathOf(space) + ":raise", segment_machine::Raise{to, reach, caller_now}, 200));
    return Said(cluster_api::ParseBaseRaise(body));
  }

  LocusdStats Stats() const override { return nodes_->Stats(); }

 private:
  static std::string PathOf(const SpaceName& space) { return "/v1/segments/" + space.str(); }

  absl::StatusOr<std::string> Send(std::string_view method, std::string path,
                                   const SegmentCall& call, unsigned good) {
    LOCUS_RETURN_IF_ERROR(segment_machine::Check(call));
    constexpr size_t kMostAnswer = size_t{2} << 20;  // of kMostRequests grants
    return nodes_->Call({method, std::move(path), cluster_api::BodyOf(call), good,
                         Request::Id::kSession, kMostAnswer});
  }

  absl::StatusOr<SpaceView> View(const SpaceName& space) {
    LOCUS_ASSIGN_OR_RETURN(
        const std::string body,
        nodes_->Call({"GET", PathOf(space), "", 200, Request::Id::kNone, kMostSegmentView}));
    return Said(cluster_api::ParseSpaceView(body));
  }

  template <typename Parsed>
  static absl::StatusOr<Parsed> Said(absl::StatusOr<Parsed> parsed) {
    if (parsed.ok()) return parsed;
    return absl::DataLossError(absl::StrCat("locusd: ", parsed.status().message()));
  }

  // A lying server's answer must not become order IDs that were never allocated.
  static absl::Status CheckGrants(const SegmentReply& reply,
                                  std::span<const SegmentRequest> requests) {
    if (reply.grants.size() != requests.size()) {
      return absl::DataLossError(absl::StrCat("locusd answered ", reply.grants.size(),
                                              " grants to an allocation of ", requests.size(),
                                              " sections"));
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      const Segment& segment = reply.grants[i].segment;
      const uint64_t units = segment.length / segment_rules::kUnit;
      if (segment.length == 0) continue;
      if (segment.first % segment_rules::kUnit != 0 || segment.length % segment_rules::kUnit != 0 ||
          (units & (units - 1)) != 0 || segment.length > requests[i].length ||
          segment.first < requests[i].seen || segment.end() > segment_rules::kEndOfSequences) {
        return absl::DataLossError(absl::StrCat("locusd granted sequences ", segment.first, " to ",
                                                segment.end(), " of section ", requests[i].section,
                                                ", where ", requests[i].length, " from at least ",
                                                requests[i].seen, " on were asked for"));
      }
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<Nodes> nodes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocusdSegmentStore>> LocusdSegmentStore::Open(
    const LocusdOptions& options, Clock& clock) {
  LOCUS_ASSIGN_OR_RETURN(auto nodes, Nodes::Open(options, Nodes::Follow::kEndpoints, clock));
  return std::make_unique<Segments>(std::move(nodes));
}

}  // namespace locus
