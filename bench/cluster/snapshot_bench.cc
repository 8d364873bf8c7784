// SPDX-License-Identifier: Apache-2.0
// snapshot_bench [COUNTERS [ROUNDS]]: how long a caller of a node waits at worst while the node
// makes and writes a snapshot of so many counters, and in as many calls without one.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/os/check.h"
#include "src/cluster/node/cluster_node.h"
#include "src/raft/log/log_store.h"

namespace locus {
namespace {

using cluster_machine::Answer;

// A cluster of one node.
class NoTransport : public raft::Transport {
 public:
  absl::Status Start(Receive) override { return absl::OkStatus(); }
  void Stop() override {}
  void Send(raft::NodeId, const std::string&, raft::Message) override {}
};

counter_machine::Call CallOf(counter_machine::Call::Kind kind, std::string name, int64_t number) {
  counter_machine::Call call;
  call.kind = kind;
  call.name = std::move(name);
  call.number = call.last_of_first = number;
  call.max_value = INT64_MAX;
  return call;
}

class Node {
 public:
  Node(const std::string& path, raft::Index compact_entries) {
    auto store = raft::LogStore::Create(path, "bench");
    LOCUS_CHECK(store.ok());
    LOCUS_CHECK((*store)->Begin({{(*store)->self(), true, "127.0.0.1:1 127.0.0.1:2"}}).ok());
    cluster_node::ClusterNodeOptions options;
    options.shell.compact_entries = compact_entries;
    options.shell.compact_bytes = size_t{1} << 40;
    options.shell.limits.kept = 1;
    auto node = cluster_node::ClusterNode::Start(*std::move(store), transport_, options);
    LOCUS_CHECK(node.ok());
    node_ = *std::move(node);
    while (!node_->Status().leads_for_sure) absl::SleepFor(absl::Milliseconds(10));
  }

  // In the order in which they come; waits for all.
  void Fill(int counters) {
    std::vector<std::promise<void>> stored(static_cast<size_t>(counters));
    for (int i = 0; i < counters; ++i) {
      const auto at = static_cast<size_t>(i);
      if (i >= 10'000) stored[at - 10'000].get_future().wait();
      node_->Submit({{},
                     SpaceName(),
                     CallOf(counter_machine::Call::Kind::kStore,
                            absl::StrCat("a counter with a name of some length ", i), i)},
                    [&stored, at](const Answer& answer) {
                      LOCUS_CHECK(answer.status.ok());
                      stored[at].set_value();
                    });
    }
    for (size_t i = stored.size() - std::min<size_t>(stored.size(), 10'000); i < stored.size(); ++i)
      stored[i].get_future().wait();
  }

  absl::Duration TakeOne() {
    std::promise<void> answered;
    const absl::Time asked = absl::Now();
    node_->Submit({{}, SpaceName(), CallOf(counter_machine::Call::Kind::kTake, "busy", 1)},
                  [&](const Answer& answer) {
                    LOCUS_CHECK(answer.status.ok());
                    answered.set_value();
                  });
    answered.get_future().wait();
    return absl::Now() - asked;
  }
  raft::Index snapshot() { return node_->Status().snapshot; }

 private:
  NoTransport transport_;
  std::unique_ptr<cluster_node::ClusterNode> node_;
};

void Print(const char* what, std::vector<absl::Duration> waits) {
  std::sort(waits.begin(), waits.end());
  absl::Duration all;
  for (const absl::Duration wait : waits) all += wait;
  std::printf("%-8s %8zu calls in %6.2f s: median %7.3f ms, worst %8.3f ms\n", what, waits.size(),
              absl::ToDoubleSeconds(all), absl::ToDoubleMilliseconds(waits[waits.size() / 2]),
              absl::ToDoubleMilliseconds(waits.back()));
}

void Run(int counters, int rounds) {
  constexpr raft::Index kEvery = 200;
  const std::string directory =
      std::filesystem::temp_directory_path() / absl::StrCat("snapshot_bench.", getpid());
  std::filesystem::create_directory(directory);
  {
    Node with(directory + "/with", kEvery), without(directory + "/without", UINT64_MAX);
    for (Node* node : {&with, &without}) node->Fill(counters);
    for (int round = 0; round < rounds; ++round) {
      // From one snapshot to the next one: one is made and written for sure.
      std::vector<absl::Duration> waits;
      for (const raft::Index before = with.snapshot(); with.snapshot() == before;) {
        waits.push_back(with.TakeOne());
      }
      Print("with", waits);
      const size_t calls = waits.size();
      waits.clear();
      while (waits.size() < calls) waits.push_back(without.TakeOne());
      Print("without", waits);
    }
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  int counters = 1 << 17, rounds = 5;
  if (argc > 1) LOCUS_CHECK(absl::SimpleAtoi(argv[1], &counters));
  if (argc > 2) LOCUS_CHECK(absl::SimpleAtoi(argv[2], &rounds));
  locus::Run(counters, rounds);
}
