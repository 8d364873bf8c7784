// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/node/test_cluster.h"

#include <algorithm>
#include <filesystem>
#include <future>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/base/os/random_word.h"
#include "src/worker/worker_rules.h"
#include "tests/support/private_server.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using cluster_machine::Answer;
using cluster_machine::Request;
using cluster_machine::RequestId;
using cluster_node::ClusterNode;

constexpr char kCluster[] = "leases";

class Client : public WorkerLeaseStore {
 public:
  Client(TestCluster& cluster, Clock& clock) : cluster_(cluster), clock_(clock) {}

  absl::Status Create(const SpaceName& space, const WorkerSpacePast& past,
                      absl::Time now) override {
    const absl::Status good = worker::Check(past);
    if (!good.ok()) return good;
    if (!past.first_ever && !past.lost) {
      const absl::Status there = Show(space).status();
      if (!absl::IsNotFound(there)) return there;
    }
    return Ask(space, cluster_machine::Create{worker::RestOf(past), now}).status;
  }
  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space,
                                      const WorkerAcquire& request) override {
    return GrantOf(Ask(space, request));
  }
  absl::StatusOr<WorkerGrant> Renew(const SpaceName& space, const WorkerRenew& request) override {
    return GrantOf(Ask(space, request));
  }
  absl::Status Release(const SpaceName& space, const WorkerRelease& request) override {
    return Ask(space, request).status;
  }
  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) override {
    absl::StatusOr<WorkerSpaceView> view;
    WaitUntil([&] {
      for (int i = 0; i < cluster_.size(); ++i) {
        if (cluster_.node(i) == nullptr) continue;
        std::promise<absl::StatusOr<WorkerSpaceView>> promise;
        cluster_.node(i)->Show(space, 0, SIZE_MAX,
                               [&promise](absl::StatusOr<WorkerSpaceView> said) {
                                 promise.set_value(std::move(said));
                               });
        view = promise.get_future().get();
        if (!absl::IsUnavailable(view.status())) return true;
      }
      return false;
    });
    return view;
  }
  WorkerStoreFacts facts() const override { return {.engine = "raft"}; }

 private:
  static absl::StatusOr<WorkerGrant> GrantOf(const Answer& answer) {
    if (!answer.status.ok()) return answer.status;
    return *answer.grant;
  }
  // The same request, by its ID, to one node after the other.
  Answer Ask(const SpaceName& space, cluster_machine::Action action) {
    Request request{RequestId{clock_.Now(), *internal::RandomWord(), *internal::RandomWord()},
                    space, std::move(action)};
    Answer answer;
    WaitUntil([&] {
      for (int i = 0; i < cluster_.size(); ++i) {
        if (cluster_.node(i) == nullptr) continue;
        std::promise<Answer> promise;
        cluster_.node(i)->Submit(request,
                                 [&promise](Answer said) { promise.set_value(std::move(said)); });
        answer = promise.get_future().get();
        // A space that rests is the leader's answer: it lasts for hours.
        if (!absl::IsUnavailable(answer.status) ||
            absl::StrContains(answer.status.message(), "no worker ID is granted before")) {
          return true;
        }
      }
      return false;
    });
    return answer;
  }

  TestCluster& cluster_;
  Clock& clock_;
};

}  // namespace

TestCluster::TestCluster(int nodes, Clock& clock, std::vector<uint16_t> api_ports, Adjust adjust,
                         std::string api_host)
    : clock_(clock),
      api_ports_(std::move(api_ports)),
      adjust_(std::move(adjust)),
      api_host_(std::move(api_host)),
      places_(static_cast<size_t>(nodes)) {
  Begin();
}

TestCluster::~TestCluster() {
  for (int i = 0; i < size(); ++i) Kill(i);
}

void TestCluster::Begin() {
  ++generation_;
  raft::Members members;
  for (size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    place.path = directory_ / absl::StrCat("log-", generation_, "-", i);
    place.port = FreePort();
    members.push_back({raft::LogStore::Create(place.path, kCluster).value()->self(), true,
                       address(static_cast<int>(i)).Text()});
  }
  std::sort(members.begin(), members.end(),
            [](const raft::Member& a, const raft::Member& b) { return a.id < b.id; });
  for (int i = 0; i < size(); ++i) {
    const absl::Status begun =
        raft::LogStore::Open(places_[i].path, kCluster).value()->Begin(members);
    ASSERT_TRUE(begun.ok()) << begun;
    Start(i);
  }
}

void TestCluster::KeepFiles() {
  std::filesystem::remove_all(kept());
  std::filesystem::create_directory(kept());
  for (const auto& file : std::filesystem::directory_iterator(directory_ / "")) {
    if (file.is_regular_file()) std::filesystem::copy(file.path(), kept());
  }
}

void TestCluster::PutFilesBack() {
  for (const auto& file : std::filesystem::directory_iterator(directory_ / "")) {
    if (file.is_regular_file()) std::filesystem::remove(file.path());
  }
  for (const auto& file : std::filesystem::directory_iterator(kept())) {
    std::filesystem::copy(file.path(), directory_ / "");
  }
}

cluster_node::MemberAddress TestCluster::address(int node) const {
  const size_t i = static_cast<size_t>(node);
  return {absl::StrCat("127.0.0.1:", places_[i].port),
          absl::StrCat(api_host_, ":", api_ports_.empty() ? 1 : api_ports_[i])};
}

int TestCluster::AddBlank(uint16_t api_port) {
  Place place;
  place.path = directory_ / absl::StrCat("blank-", places_.size());
  place.port = FreePort();
  EXPECT_TRUE(raft::LogStore::Create(place.path, kCluster).ok());
  places_.push_back(std::move(place));
  api_ports_.push_back(api_port);
  Start(size() - 1);
  return size() - 1;
}

void TestCluster::Start(int number) {
  Place& place = places_[number];
  auto store = raft::LogStore::Open(place.path, kCluster);
  ASSERT_TRUE(store.ok()) << store.status();
  raft::TcpOptions tcp;
  tcp.self = (*store)->self();
  tcp.cluster = kCluster;
  tcp.listen = absl::StrCat("127.0.0.1:", place.port);
  auto transport = raft::TcpTransport::Create(tcp);
  ASSERT_TRUE(transport.ok()) << transport.status();
  place.tcp = *std::move(transport);
  place.transport = std::make_unique<cluster_node::MemberTransport>(*place.tcp);
  cluster_node::ClusterNodeOptions options;
  options.clock = &clock_;
  options.shell.election = std::chrono::milliseconds(kUnderTsan || kUnderAsan ? 500 : 200);
  if (adjust_) adjust_(number, options);
  auto node = ClusterNode::Start(*std::move(store), *place.transport, options);
  ASSERT_TRUE(node.ok()) << node.status();
  place.node = *std::move(node);
}

void TestCluster::Kill(int number) {
  places_[number].node.reset();
  places_[number].transport.reset();
  places_[number].tcp.reset();
}

std::unique_ptr<raft::LogStore> TestCluster::OpenStore(int number) {
  return raft::LogStore::Open(places_[number].path, kCluster).value();
}

void TestCluster::LoseAll() {
  for (int i = 0; i < size(); ++i) Kill(i);
  Begin();
}

int TestCluster::WaitForLeader() {
  int leader = -1;
  WaitUntil(
      [&] {
        for (int i = 0; i < size(); ++i) {
          if (node(i) != nullptr && node(i)->Status().leads_for_sure) leader = i;
        }
        return leader >= 0;
      },
      absl::Minutes(1));
  return leader;
}

std::unique_ptr<WorkerLeaseStore> TestCluster::Connect() {
  return std::make_unique<Client>(*this, clock_);
}

}  // namespace locus
