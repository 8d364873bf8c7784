// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/locusd/api_cluster.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/cluster/api/call.h"
#include "tests/support/private_server.h"

namespace locus {

ApiCluster::ApiCluster(int nodes, Clock& clock, std::vector<std::string> tokens, Adjust adjust,
                       TestCluster::Adjust adjust_node, const std::string& api_host)
    : clock_(clock), tokens_(std::move(tokens)), adjust_(std::move(adjust)) {
  for (int i = 0; i < nodes; ++i) ports_.push_back(FreePort());
  cluster_ = std::make_unique<TestCluster>(nodes, clock, ports_, std::move(adjust_node), api_host);
  for (int i = 0; i < nodes; ++i) Serve(i);
}

ApiCluster::~ApiCluster() {
  for (int i = 0; i < cluster_->size(); ++i) Kill(i);
}

void ApiCluster::Kill(int node) {
  servers_.erase(node);
  cluster_->Kill(node);
  apis_.erase(node);
}

void ApiCluster::Start(int node) {
  cluster_->Start(node);
  Serve(node);
}

void ApiCluster::LoseAll() {
  servers_.clear();
  cluster_->LoseAll();
  apis_.clear();
  for (int i = 0; i < cluster_->size(); ++i) Serve(i);
}

int ApiCluster::AddBlank(const std::string& cluster) {
  ports_.push_back(FreePort());
  const int node = cluster_->AddBlank(ports_.back());
  names_[node] = cluster;
  Serve(node);
  return node;
}

std::string ApiCluster::endpoint(int node) const {
  return absl::StrCat("127.0.0.1:", ports_[static_cast<size_t>(node)]);
}

std::string ApiCluster::uri(int count) const {
  std::string uri = "locusd://";
  for (int i = 0; i < count; ++i) absl::StrAppend(&uri, i > 0 ? "," : "", endpoint(i));
  return uri;
}

LocusdOptions ApiCluster::options() const {
  LocusdOptions options;
  for (size_t i = 0; i < ports_.size(); ++i) {
    options.endpoints.push_back(endpoint(static_cast<int>(i)));
  }
  options.timeout = absl::Seconds(60);
  if (!tokens_.empty()) options.token = tokens_[0];
  return options;
}

std::unique_ptr<LocusdWorkerLeaseStore> ApiCluster::Connect(const LocusdOptions& options) const {
  auto store = LocusdWorkerLeaseStore::Open(options, clock_);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

std::function<cluster_api::Admission(const http::ServerRequest&, http_api::Scopes)> AdmitTokens(
    std::vector<std::string> clients, std::vector<std::string> operators) {
  return
      [clients = std::move(clients), operators = std::move(operators)](
          const http::ServerRequest& request, http_api::Scopes any_of) -> cluster_api::Admission {
        std::string_view token = request.Header("Authorization");
        token.remove_prefix(std::min(token.size(), sizeof("Bearer ") - 1));
        auto is_of = [&](const auto& tokens) {
          return std::ranges::find(tokens, token) != tokens.end();
        };
        const bool is_operator = is_of(operators), is_client = is_of(clients);
        const bool for_operators =
            !operators.empty() && any_of == http_api::Scopes{http_api::Scope::kOperate};
        if (is_operator || (is_client && !for_operators)) return {std::string(token), std::nullopt};
        const absl::Status refused = is_client ? absl::PermissionDeniedError("operator tokens only")
                                               : absl::UnauthenticatedError("a token is needed");
        return {"", cluster_api::ProblemAnswer(refused)};
      };
}

void ApiCluster::Serve(int node) {
  cluster_api::ApiOptions of_api;
  if (!tokens_.empty()) of_api.admit = AdmitTokens(tokens_);
  of_api.keeps_store = true;
  of_api.cluster = names_.count(node) > 0 ? names_[node] : "leases";
  of_api.address = cluster_->address(node);
  if (adjust_) adjust_(node, of_api);
  auto api = cluster_api::Api::Make(*cluster_->node(node), of_api);
  ASSERT_TRUE(api.ok()) << api.status();
  http::ServerOptions options;
  options.listen = endpoint(node);
  auto server = http::Server::Start(
      options, [api = *api](http::ServerRequest request, http::Server::Respond respond) {
        api->Handle(std::move(request), std::move(respond));
      });
  ASSERT_TRUE(server.ok()) << server.status();
  apis_[node] = *std::move(api);
  servers_[node] = *std::move(server);
}

}  // namespace locus
