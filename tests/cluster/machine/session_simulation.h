// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_SESSION_SIMULATION_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_SESSION_SIMULATION_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cluster/machine/cluster_simulation.h"

namespace locus::cluster_machine {

// A process that makes one call at a time.
struct SessionClient {
  uint64_t session = 0;
  uint64_t serial = 0;
  int64_t wall_ahead = 0;
  std::optional<uint64_t> tag;  // of the call under way
};

struct SessionCall {
  Request request;  // without an ID: a read
  int64_t called = 0;
  std::optional<int64_t> returned;  // to a client that still waited
  std::optional<Answer> answer;     // the first that is OK
};

// Four clients that send again, give up, crash and begin another session. A request is carried out
// once, and gets that answer however often it is sent.
// `Client` is a SessionClient, `Operation` a SessionCall.
template <typename Client, typename Operation>
class SessionSimulation : public ClusterSimulation {
 protected:
  SessionSimulation(uint64_t seed, const Flaws& flaws, bool steady, ClusterCovered& covered)
      : ClusterSimulation(seed, flaws, {.steady = steady}, covered), covered_(covered) {
    for (Client& client : clients_) Crash(client);
  }

  // It waits for the answer of this operation, which is its first.
  virtual void Learn(Client& client, Operation& operation) = 0;
  // Whether the call under way was carried out is not known.
  virtual void OnRefused(Client& client, const absl::Status&) { client.tag.reset(); }
  // It neither gives its call up nor crashes.
  virtual bool Persists(const Client&) const { return false; }

  Client& AnyClient() { return clients_[random_.Below(std::size(clients_))]; }
  absl::Time Wall(const Client& client) const {
    return std::max(replicas_.MachineTime(), absl::FromUnixMillis(kBegin)) +
           absl::Milliseconds(client.wall_ahead);
  }

  Operation& Begin(Client& client) {
    client.tag = operations_.size();
    Operation& operation = operations_.emplace_back();
    operation.called = ++moment_;
    return operation;
  }
  // Sends the call under way.
  void Send(const Client& client) {
    Post(SomeNode(), *client.tag, operations_[*client.tag].request);
  }
  RequestId NextId(Client& client) { return {Wall(client), 1, client.session, ++client.serial}; }

  // While its call is under way.
  void GoOn(Client& client) {
    if (operations_[*client.tag].request.id && random_.OneIn(3)) Send(client);
    if (Persists(client)) return;
    if (random_.OneIn(20)) client.tag.reset();
    if (random_.OneIn(40)) Crash(client);
  }

  Client* WhoWaitsFor(uint64_t tag) {
    for (Client& client : clients_) {
      if (client.tag == tag) return &client;
    }
    return nullptr;
  }

  void Receive(uint64_t tag, const Answer& answer) final {
    Operation& operation = operations_[tag];
    Client* const client = WhoWaitsFor(tag);
    covered_.late += absl::IsAborted(answer.status);
    covered_.forgotten += absl::IsDeadlineExceeded(answer.status);
    if (!answer.status.ok()) {
      if (client != nullptr) OnRefused(*client, answer.status);
      return;
    }
    if (operation.answer) {
      ++covered_.repeated;
      if (!(*operation.answer == answer)) {
        OnFailure(absl::StrCat("request ", tag, " has two answers"));
      }
      return;
    }
    operation.answer = answer;
    if (client != nullptr) End(*client, operation);
  }

  void End(Client& client, Operation& operation) {
    operation.returned = ++moment_;
    Learn(client, operation);
    client.tag.reset();
  }

  Client clients_[4];
  std::vector<Operation> operations_;  // by tag

 private:
  void Crash(Client& client) {
    client = {};
    client.session = ++sessions_;
    client.wall_ahead = static_cast<int64_t>(random_.Below(2000)) - 1000;
  }

  ClusterCovered& covered_;
  uint64_t sessions_ = 0;
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_SESSION_SIMULATION_H_
