// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd.h"
#include "src/base/os/check.h"
#include "src/cluster/api/bodies.h"
#include "src/engine/locusd/nodes.h"
#include "src/worker/worker_rules.h"

namespace locus {
namespace {

using cluster_api::ViewPage;
using locusd::Nodes;

// Of leases in one answer, with each character of their holders escaped.
constexpr size_t kMostPage = size_t{16} << 20;

class WorkerStore final : public LocusdWorkerLeaseStore {
 public:
  explicit WorkerStore(std::unique_ptr<Nodes> nodes) : nodes_(std::move(nodes)) {}

  absl::Status Create(const SpaceName& space, const WorkerSpacePast& past,
                      absl::Time caller_now) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(past));
    if (!past.first_ever && !past.lost) {
      // A rest would also make a space rest that exists. Where another process creates it
      // meanwhile, it rests for longer, which is safe.
      const absl::Status there = Page(space, 0).status();
      if (!absl::IsNotFound(there)) return there;
    }
    return nodes_
        ->Call({"PUT", "/v1/spaces/" + space.str(),
                cluster_api::BodyOf({worker::RestOf(past), caller_now}), 204,
                locusd::Request::Id::kOwn})
        .status();
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space,
                                      const WorkerAcquire& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    LOCUS_ASSIGN_OR_RETURN(
        std::string body,
        nodes_->Call({"POST", "/v1/leases",
                      cluster_api::BodyOf(cluster_api::OfSpace<WorkerAcquire>{space, request}), 201,
                      locusd::Request::Id::kOwn}));
    LOCUS_ASSIGN_OR_RETURN(WorkerGrant grant, GrantIn(body));
    if (grant.worker >= request.range.first && grant.worker <= request.range.last) return grant;
    return absl::DataLossError(absl::StrCat("locusd granted worker ", grant.worker, " of ",
                                            request.range.first, "..", request.range.last));
  }

  absl::StatusOr<WorkerGrant> Renew(const SpaceName& space, const WorkerRenew& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    LOCUS_ASSIGN_OR_RETURN(
        std::string body,
        nodes_->Call({"PUT", absl::StrCat("/v1/leases/", request.worker),
                      cluster_api::BodyOf(cluster_api::OfSpace<WorkerRenew>{space, request}),
                      200}));
    LOCUS_ASSIGN_OR_RETURN(WorkerGrant grant, GrantIn(body));
    if (grant.worker == request.worker && grant.token == request.token &&
        grant.ceiling >= request.ceiling) {
      return grant;
    }
    return absl::DataLossError(absl::StrCat("locusd renewed worker ", grant.worker, ", token ",
                                            grant.token, ", where worker ", request.worker,
                                            ", token ", request.token, " was asked for"));
  }

  absl::Status Release(const SpaceName& space, const WorkerRelease& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    return nodes_
        ->Call({"DELETE", absl::StrCat("/v1/leases/", request.worker),
                cluster_api::BodyOf(cluster_api::OfSpace<WorkerRelease>{space, request}), 204,
                locusd::Request::Id::kOwn})
        .status();
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) override {
    LOCUS_ASSIGN_OR_RETURN(ViewPage page, Page(space, 0));
    WorkerSpaceView view = std::move(page.view);
    while (page.next) {
      LOCUS_ASSIGN_OR_RETURN(page, Page(space, *page.next));
      std::move(page.view.workers.begin(), page.view.workers.end(),
                std::back_inserter(view.workers));
    }
    return view;
  }

  absl::Status Delete(const SpaceName& space) override {
    return nodes_->Call({"DELETE", "/v1/spaces/" + space.str(), "", 204, locusd::Request::Id::kOwn})
        .status();
  }

  WorkerStoreFacts facts() const override { return {.engine = "raft"}; }

  LocusdStats Stats() const override { return nodes_->Stats(); }

 private:
  // Each page ends above the one before, so that pages end whatever the server says.
  absl::StatusOr<ViewPage> Page(const SpaceName& space, uint64_t from) {
    LOCUS_ASSIGN_OR_RETURN(
        std::string body,
        nodes_->Call({"GET", absl::StrCat("/v1/leases?space=", space.str(), "&from=", from), "",
                      200, locusd::Request::Id::kNone, kMostPage}));
    absl::StatusOr<ViewPage> page = cluster_api::ParsePage(body);
    if (!page.ok()) {
      return absl::DataLossError(absl::StrCat("locusd: ", page.status().message()));
    }
    uint64_t least = from;
    for (const WorkerRecord& record : page->view.workers) {
      if (record.worker < least) {
        return absl::DataLossError(absl::StrCat("locusd listed worker ", record.worker,
                                                " where one of at least ", least, " is next"));
      }
      least = record.worker + 1;
    }
    if (page->next && (*page->next < least || page->view.workers.empty())) {
      return absl::DataLossError(absl::StrCat("locusd listed ", page->view.workers.size(),
                                              " workers from ", from, " on, and says that worker ",
                                              *page->next, " is next"));
    }
    return page;
  }

  static absl::StatusOr<WorkerGrant> GrantIn(std::string_view body) {
    absl::StatusOr<WorkerGrant> grant = cluster_api::ParseGrant(body);
    if (grant.ok()) return grant;
    return absl::DataLossError(absl::StrCat("locusd: ", grant.status().message()));
  }

  const std::unique_ptr<Nodes> nodes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocusdWorkerLeaseStore>> LocusdWorkerLeaseStore::Open(
    const LocusdOptions& options, Clock& clock) {
  LOCUS_ASSIGN_OR_RETURN(auto nodes, Nodes::Open(options, Nodes::Follow::kEndpoints, clock));
  return std::make_unique<WorkerStore>(std::move(nodes));
}

}  // namespace locus
