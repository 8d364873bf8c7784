// SPDX-License-Identifier: Apache-2.0
#include "src/engine/locusd/strict/connections.h"

#include <utility>

namespace locus::locusd {

using http::HttpConnection;
using internal::MutexLock;

namespace {

constexpr size_t kMostIdle = 64;  // of one server
constexpr size_t kMostServers = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<HttpConnection>> Connections::Take(const http::Endpoint& endpoint,
                                                                  http::TimePoint deadline) {
  while (true) {
    std::unique_ptr<HttpConnection> kept;
    {
      MutexLock lock(mutex_);
      const auto idle = idle_.find(endpoint.text);
      if (idle == idle_.end() || idle->second.empty()) break;
      kept = std::move(idle->second.back());
      idle->second.pop_back();
    }
    if (kept->StillOpen()) return kept;
  }
  return HttpConnection::Connect(endpoint, tls_, deadline);
}

void Connections::GiveBack(const http::Endpoint& endpoint,
                           std::unique_ptr<HttpConnection> connection) {
  std::map<std::string, Idle> gone;
  MutexLock lock(mutex_);
  if (!idle_.contains(endpoint.text) && idle_.size() >= kMostServers) gone.swap(idle_);
  Idle& idle = idle_[endpoint.text];
  if (idle.size() < kMostIdle) idle.push_back(std::move(connection));
}

void Connections::Abandon() {
  for (auto& [server, idle] : idle_) {
    for (auto& connection : idle) static_cast<void>(connection.release());
  }
}

}  // namespace locus::locusd
