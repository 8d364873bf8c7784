// SPDX-License-Identifier: Apache-2.0
#include "src/raft/node/node.h"

#include <atomic>
#include <future>

#include "gtest/gtest.h"
#include "tests/raft/tcp/list_machine.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::raft {
namespace {

// Hands on what the test says has come, and sends nothing.
class TestTransport : public Transport {
 public:
  absl::Status Start(Receive receive) override {
    receive_ = std::move(receive);
    return absl::OkStatus();
  }
  void Stop() override {}
  void Send(NodeId, const std::string&, Message) override {}
  void Come(NodeId from, Message message) { receive_(from, std::move(message)); }

 private:
  Receive receive_;
};

TEST(NodeTest, MessagesWithoutRoom_AreCounted) {
  TemporaryDirectory directory;
  const std::string path = directory / "log";
  auto store = *LogStore::Create(path, "lists");
  ASSERT_TRUE(store->Begin({{store->self(), true, "127.0.0.1:1"}}).ok());
  ListMachine machine;
  TestTransport transport;
  auto node = Node::Start(std::move(store), machine, transport, {});
  ASSERT_TRUE(node.ok()) << node.status();
  // The answer keeps the node's thread from its messages.
  std::promise<void> asked, go_on;
  (*node)->Read([&](const absl::Status&) {
    asked.set_value();
    go_on.get_future().wait();
  });
  asked.get_future().wait();
  for (int i = 0; i < 10'007; ++i) transport.Come(7, StandNow{0});
  go_on.set_value();
  EXPECT_EQ((*node)->Status().dropped, 7u);
}

// Makes no snapshot until the test lets it.
class SlowMachine : public ListMachine {
 public:
  absl::StatusOr<std::string> Fold(std::string_view state,
                                   const std::vector<std::string>& commands) const override {
    folding = true;
    WaitUntil([this] { return released.load(); }, absl::Minutes(1));
    return ListMachine::Fold(state, commands);
  }
  mutable std::atomic<bool> folding = false;
  std::atomic<bool> released = false;
};

// However long it takes: by the snapshot's own end, not by a clock.
TEST(NodeTest, SnapshotIsBeingMade_CallersAreAnsweredAndItHasTheEarlierState) {
  TemporaryDirectory directory;
  const std::string path = directory / "log";
  auto store = *LogStore::Create(path, "lists");
  ASSERT_TRUE(store->Begin({{store->self(), true, "127.0.0.1:1"}}).ok());
  SlowMachine machine;
  TestTransport transport;
  NodeOptions options;
  options.shell.compact_entries = 10;
  options.shell.limits.kept = 1;
  auto node = Node::Start(std::move(store), machine, transport, options);
  ASSERT_TRUE(node.ok()) << node.status();
  std::atomic<int> answered = 0;
  auto propose = [&] {
    (*node)->Propose("line", [&](const absl::StatusOr<std::string>& said) {
      if (said.ok()) ++answered;
    });
  };
  ASSERT_TRUE(WaitUntil([&] { return (*node)->Status().leads_for_sure; }));
  for (int i = 0; i < 20; ++i) propose();
  ASSERT_TRUE(WaitUntil([&] { return machine.folding.load(); }));
  const int before = answered;
  for (int i = 0; i < 200; ++i) propose();
  EXPECT_TRUE(WaitUntil([&] { return answered >= before + 200; }, absl::Seconds(20)));
  EXPECT_FALSE(machine.released) << "the snapshot is still being made";
  machine.released = true;
  EXPECT_TRUE(WaitUntil([&] { return (*node)->Status().snapshot > 0; }));
  node->reset();
  // It begins with the snapshot, and continues with the log.
  ListMachine again;
  auto later = Node::Start(*LogStore::Open(path, "lists"), again, transport, options);
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_TRUE(WaitUntil([&] { return again.lines().size() == 220; })) << again.lines().size();
}

}  // namespace
}  // namespace locus::raft
