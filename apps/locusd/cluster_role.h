// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CLUSTER_ROLE_H_
#define LOCUS_APPS_LOCUSD_CLUSTER_ROLE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/front/access.h"
#include "apps/locusd/front/handler.h"
#include "apps/locusd/log.h"
#include "src/cluster/node/cluster_node.h"
#include "src/http/api/rate_limit.h"

namespace locus::locusd {

class Audit;

// The role cluster-node: a node of the cluster, and its API for clients and operators.
// Thread safety: none, but for what Handler says; `on_end` is called by threads of its own.
class ClusterRole : public Handler {
 public:
  // What a start makes of a data directory without a node, or with one that was never a member.
  enum class Start {
    kJoin,   // a node that waits until `locus cluster add` makes it a member
    kBegin,  // a new cluster, of which it is the only member. FAILED_PRECONDITION: it has begun, or
             // joined, before
  };
  // How requests are let in: as Front::Decide, and by Front::rate.
  struct Door {
    std::function<AccessControl::Decision(const http::ServerRequest&, Scopes)> decide;
    std::shared_ptr<cluster_api::RateLimit> rate;
  };

  // `on_end` is called once the node works no more: it failed, or was removed. It must not wait.
  // `log` outlives the role.
  static absl::StatusOr<std::unique_ptr<ClusterRole>> Open(const Config& config, Start start,
                                                           Door door, Log& log,
                                                           std::function<void()> on_end);
  // Makes the data directory that of a new cluster's first node, and nothing more: whoever starts
  // it next starts that node. Errors as Open with Start::kBegin.
  static absl::Status Begin(const Config& config, Log& log);
  // Like kill -9: hands nothing over.
  ~ClusterRole() override;

  const http_api::RouteTable& Routes() const override;
  void Handle(http::ServerRequest request, const Access& access,
              http::Server::Respond respond) override;
  bool AdmitsItself() const override { return true; }
  absl::Status Ready() const override;
  absl::Status Healthy() const override;
  std::string Metrics() const override;

  cluster_node::ClusterNode& node();
  // nullptr: none is configured. As long as the role.
  Audit* audit();
  // As those of Daemon.
  bool Works();
  absl::Status FilesInPlace();
  void Tell();
  bool removed();
  absl::Status failure();
  // Logs what an operator may have to do next.
  void TellPlace();
  // Hands the leadership over, where this node leads others. Waits for it, up to an election.
  void HandOver();

 private:
  class Rep;
  explicit ClusterRole(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CLUSTER_ROLE_H_
