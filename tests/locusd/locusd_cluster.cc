// SPDX-License-Identifier: Apache-2.0
#include "tests/locusd/locusd_cluster.h"

#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus {
namespace {

nlohmann::json Parsed(const std::optional<std::string>& text) {
  return text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
}

}  // namespace

LocusdNode::LocusdNode(const TemporaryDirectory& directory, const std::string& name,
                       const LocusdWish& wish)
    : config_(directory / (name + ".toml")),
      data_(directory / name),
      log_(directory / (name + ".log")),
      raft_port_(FreePort()),
      api_port_(FreePort()),
      wish_(wish) {
  std::ofstream(config_) << "cluster = \"leases\"\ndata = \"" << data_ << "\"\n[raft]\nlisten = \""
                         << raft() << "\"\n"
                         << wish_.more_raft << "[api]\nlisten = \"" << api() << "\"\n"
                         << wish_.more_api << wish_.more;
}

std::string LocusdNode::raft() const { return absl::StrCat("127.0.0.1:", raft_port_); }
std::string LocusdNode::api() const { return absl::StrCat("127.0.0.1:", api_port_); }

bool LocusdNode::Start(bool begin) {
  std::vector<std::string> command = {LOCUSD_BINARY, "--config", config_};
  if (begin) command.push_back("--begin");
  process_ = std::make_unique<PrivateServer>(command, log_);
  return process_->Start([this] { return StatusOf("GET", "/healthz") == 200; });
}

int LocusdNode::WaitForEnd() {
  const pid_t pid = process_->pid();
  siginfo_t end = {};
  // Left for the object that started it.
  waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT);
  return end.si_code == CLD_EXITED ? end.si_status : -end.si_status;
}

std::string LocusdNode::LogText() const {
  std::ifstream in(log_, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

absl::StatusOr<http::HttpAnswer> LocusdNode::Send(const std::string& method,
                                                  const std::string& target,
                                                  const std::string& body,
                                                  const std::string& token) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto connection = http::HttpConnection::Connect(*http::Endpoint::Parse(api()), nullptr, deadline);
  if (!connection.ok()) return connection.status();
  const std::string bearer = "Bearer " + (token.empty() ? wish_.token : token);
  http::HttpRequest request{method, target, {}, body};
  if (bearer.size() > 7) request.headers.emplace_back("Authorization", bearer);
  return (*connection)->Send(request, 1 << 20, deadline);
}

std::optional<std::string> LocusdNode::Ask(const std::string& method, const std::string& target,
                                           unsigned status, const std::string& body) {
  auto answer = Send(method, target, body, "");
  if (!answer.ok() || answer->status != status) return std::nullopt;
  return answer->body;
}

unsigned LocusdNode::StatusOf(const std::string& method, const std::string& target,
                              const std::string& body, const std::string& token) {
  auto answer = Send(method, target, body, token);
  return answer.ok() ? answer->status : 0;
}

std::string LocusdNode::Id() {
  const nlohmann::json status = Parsed(Ask("GET", "/v1/status", 200));
  return status.is_object() ? status.value("id", "") : "";
}

bool LocusdNode::Leads() {
  const nlohmann::json status = Parsed(Ask("GET", "/v1/status", 200));
  return status.is_object() && status.value("role", "") == "leader";
}

size_t LocusdNode::Members() { return Parsed(Ask("GET", "/v1/members", 200)).size(); }

LocusdCluster::LocusdCluster(int nodes, const LocusdWish& wish) : wish_(wish) {
  for (int i = 0; i < nodes; ++i) {
    nodes_.push_back(
        std::make_unique<LocusdNode>(directory_, absl::StrCat("node", nodes_.size()), wish_));
    EXPECT_TRUE(nodes_.back()->Start(/*begin=*/i == 0));
    EXPECT_TRUE(i == 0 || Add(*nodes_.back()));
  }
}

LocusdNode& LocusdCluster::StartAnother() {
  nodes_.push_back(
      std::make_unique<LocusdNode>(directory_, absl::StrCat("node", nodes_.size()), wish_));
  EXPECT_TRUE(nodes_.back()->Start());
  return *nodes_.back();
}

bool LocusdCluster::Add(LocusdNode& node, bool promote) {
  const std::string id = node.Id();
  const std::string body =
      absl::StrCat(R"({"id":")", id, R"(","address":")", node.raft(), " ", node.api(), R"("})");
  auto of_leader = [&](const std::string& target, const std::string& text) {
    return WaitUntil(
        [&] {
          for (auto& each : nodes_) {
            if (each->StatusOf("POST", target, text) == 204) return true;
          }
          return false;
        },
        absl::Minutes(1));
  };
  if (!of_leader("/v1/members", body)) return false;
  return !promote || of_leader(absl::StrCat("/v1/members/", id, ":promote"), "");
}

int LocusdCluster::WaitForLeader() {
  int leader = -1;
  WaitUntil(
      [&] {
        leader = -1;
        std::optional<std::string> known;
        for (int i = 0; i < size(); ++i) {
          if (!node(i).process().running()) continue;
          const nlohmann::json status = Parsed(node(i).Ask("GET", "/v1/status", 200));
          if (!status.is_object() || !status["leader"].is_string()) return false;
          if (known && *known != status["leader"]) return false;
          known = status["leader"];
          if (status["leader"] == status["id"]) leader = i;
        }
        return leader >= 0;
      },
      absl::Minutes(1));
  return leader;
}

bool LocusdCluster::BeginAnew() {
  for (auto& each : nodes_) {
    each->process().KillHard();
    std::filesystem::remove_all(each->data());
  }
  for (int i = 0; i < size(); ++i) {
    if (!node(i).Start(/*begin=*/i == 0) || (i > 0 && !Add(node(i)))) return false;
  }
  return WaitForLeader() >= 0;
}

LocusdOptions LocusdCluster::Options(absl::Duration timeout) const {
  LocusdOptions options;
  for (auto& each : nodes_) options.endpoints.push_back(each->api());
  options.token = wish_.token;
  options.timeout = timeout;
  return options;
}

std::unique_ptr<LocusdWorkerLeaseStore> LocusdCluster::Connect(absl::Duration timeout) {
  auto store = LocusdWorkerLeaseStore::Open(Options(timeout));
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

}  // namespace locus
