// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd.h"
#include "src/base/check.h"
#include "src/engine/locusd/nodes.h"
#include "src/lease_api/bodies.h"
#include "src/worker/worker_rules.h"

namespace locus {
namespace {

using locusd::Nodes;

// A view of 2^20 worker IDs with their holders.
constexpr size_t kMostView = size_t{2} << 30;

class Store final : public LocusdWorkerLeaseStore {
 public:
  explicit Store(std::unique_ptr<Nodes> nodes) : nodes_(std::move(nodes)) {}

  absl::Status Create(const SpaceName& space, absl::Duration rest, absl::Time caller_now) override {
    LOCUS_RETURN_IF_ERROR(worker::CheckRest(rest));
    return nodes_
        ->Call(
            {"PUT", "/v1/spaces/" + space.str(), lease_api::BodyOf({rest, caller_now}), 204, true})
        .status();
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space,
                                      const WorkerAcquire& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    LOCUS_ASSIGN_OR_RETURN(
        std::string body,
        nodes_->Call({"POST", "/v1/leases",
                      lease_api::BodyOf(lease_api::OfSpace<WorkerAcquire>{space, request}), 201,
                      true}));
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
                      lease_api::BodyOf(lease_api::OfSpace<WorkerRenew>{space, request}), 200}));
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
                lease_api::BodyOf(lease_api::OfSpace<WorkerRelease>{space, request}), 204, true})
        .status();
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) override {
    LOCUS_ASSIGN_OR_RETURN(std::string body, nodes_->Call({"GET", "/v1/leases?space=" + space.str(),
                                                           "", 200, false, kMostView}));
    absl::StatusOr<WorkerSpaceView> view = lease_api::ParseView(body);
    if (view.ok()) return view;
    return absl::DataLossError(absl::StrCat("locusd: ", view.status().message()));
  }

  WorkerStoreFacts facts() const override { return {.engine = "raft"}; }

  LocusdStats Stats() const override { return nodes_->Stats(); }

 private:
  static absl::StatusOr<WorkerGrant> GrantIn(std::string_view body) {
    absl::StatusOr<WorkerGrant> grant = lease_api::ParseGrant(body);
    if (grant.ok()) return grant;
    return absl::DataLossError(absl::StrCat("locusd: ", grant.status().message()));
  }

  const std::unique_ptr<Nodes> nodes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocusdWorkerLeaseStore>> LocusdWorkerLeaseStore::Open(
    const LocusdOptions& options, Clock& clock) {
  LOCUS_ASSIGN_OR_RETURN(auto nodes, Nodes::Open(options, Nodes::Follow::kEndpoints, clock));
  return std::make_unique<Store>(std::move(nodes));
}

}  // namespace locus
