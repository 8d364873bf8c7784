// SPDX-License-Identifier: Apache-2.0
// What the console tells by itself: the stream of events, and what a reload leaves of it.
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "tests/console/console_api_fixture.h"
#include "tests/support/private_server.h"

namespace locus::locusd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ConsoleEventsTest = ConsoleApiTest;

TEST_F(ConsoleEventsTest, Events_TellANewTable_AndCountersAsTheyChange) {
  EventReader events(*server_);
  EXPECT_EQ(events.head().Header("Content-Type"), "text/event-stream");
  EXPECT_EQ(events.head().Header("Cache-Control"), "no-store");
  const json table = events.NextOf("table", [](const json&) { return true; });
  Fits("TableSourceState", table["source"]);
  EXPECT_EQ(table["epoch"], 2);
  Fits("Stats", events.NextOf("stats", [](const json&) { return true; }));
  ASSERT_EQ(server_->Post("/v1/plan:publish", PublicationOf(Plan(AddC()))).status, 200u);
  const json now = events.NextOf("table", [](const json& each) { return each["epoch"] == 3; });
  EXPECT_EQ(now["source"]["state"], "following");
  Fits("MovesAnswer", events.NextOf("moves", [](const json& each) { return each["epoch"] == 3; }));
  TakeId(1);
  events.NextOf("stats", [](const json& each) { return each["orders"]["ids"] == 1; });
}

TEST_F(ConsoleEventsTest, Streams_AreBounded_AndEndWithTheServer) {
  options_.events.most_streams = 2;
  server_.emplace(Parts(), options_);
  EventReader first(*server_), second(*server_);
  ExpectProblem(server_->Ask("GET", "/v1/events"), 503, "UNAVAILABLE", "2 streams");
  // The head alone takes none of them.
  const http::HttpAnswer head = server_->Ask("HEAD", "/v1/events");
  EXPECT_EQ(head.status, 200u);
  EXPECT_EQ(head.Header("Content-Type"), "text/event-stream");
  EXPECT_EQ(head.Header("Content-Length"), "");
  EXPECT_THAT(server_->console().Metrics(), HasSubstr("\nlocusd_console_streams 2\n"));
  EXPECT_THAT(server_->console().Metrics(), HasSubstr("streams_refused_total 1\n"));
  server_->server().Drain(absl::Seconds(60));
  while (first.Next()) {
  }
  while (second.Next()) {
  }
}

// Others get their events while one reads nothing.
TEST_F(ConsoleEventsTest, SlowReader_LosesItsStream_OthersDoNot) {
  options_.events.most_waiting_bytes = 64 << 10;
  server_.emplace(Parts(), options_);
  const int slow = ConnectToLoopback(server_->server().port());
  const int small = 4096;
  setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  const std::string request =
      absl::StrCat("GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: ", "Bearer ",
                   ConsoleServer::kReader, "\r\n\r\n");
  ASSERT_EQ(send(slow, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  EventReader quick(*server_);
  const auto overrun = [&] {
    return absl::StrContains(server_->console().Metrics(),
                             "\nlocusd_console_streams_slow_total 1\n");
  };
  // Each table is an event of some 100 to 600 KiB; how many of them the kernel takes is its affair.
  for (uint64_t epoch = 3; epoch < 100 && !overrun(); ++epoch) {
    std::vector<VnodeMove> moves = {{0, 9'999, 2, 0, 0}};
    for (uint64_t i = 0; i < 1500 * (1 + epoch % 6); ++i) {
      const auto vnode = static_cast<uint16_t>(moves.back().last + 2);
      moves.push_back({vnode, vnode, 2, 0, 0});
    }
    ASSERT_TRUE(publisher_->Publish(Table(epoch, moves), epoch - 1).ok());
    const json told = quick.NextOf("moves", [&](const json& m) { return m["epoch"] == epoch; });
    EXPECT_EQ(told["table_moves"].size(), moves.size());
  }
  EXPECT_TRUE(WaitUntil(overrun));
  EXPECT_THAT(server_->console().Metrics(), HasSubstr("\nlocusd_console_streams 1\n"));
  close(slow);
}

TEST_F(ConsoleEventsTest, Reload_KeepsStreams_AndABadMoveFileChangesNothing) {
  EventReader events(*server_);
  ConsoleParts bad = Parts();
  bad.move_file = directory_ / "missing.toml";
  EXPECT_FALSE(server_->console().Replace(std::move(bad)).ok());
  EXPECT_EQ(server_->Get("/v1/console/session")["offers"]["moves"], false);
  ConsoleParts less = Parts();
  less.open_publisher = nullptr;
  ASSERT_TRUE(server_->console().Replace(std::move(less)).ok());
  ExpectProblem(server_->Ask("GET", "/v1/table/history"), 404, "NOT_FOUND", "no place");
  // A plan can be made of the table in force.
  EXPECT_EQ(Plan(AddC())["epoch"], 2);
  ExpectProblem(server_->Post("/v1/plan:publish", PublicationOf(Plan(AddC()))), 404, "NOT_FOUND",
                "no place");
  TakeId(1);
  events.NextOf("stats", [](const json& each) { return each["orders"]["ids"] == 1; });
}

}  // namespace
}  // namespace locus::locusd
