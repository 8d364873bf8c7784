// SPDX-License-Identifier: Apache-2.0
#include "src/raft/node/node.h"

#include <future>

#include "gtest/gtest.h"
#include "tests/raft/tcp/list_machine.h"
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

TEST(NodeTest, MessagesForWhichThereIsNoRoom_AreCounted) {
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

}  // namespace
}  // namespace locus::raft
