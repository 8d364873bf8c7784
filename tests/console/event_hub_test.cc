// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/event_hub.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using http::BodyStream;
using ::testing::HasSubstr;

std::string Text(BodyStream& stream) {
  std::string text;
  for (const BodyStream::Piece& piece : stream.Take().pieces) text += *piece;
  return text;
}

TEST(EventHubTest, NewStream_BeginsWithTheLastEventOfEachKind) {
  EventHub hub({});
  hub.Publish("a", "1", {});
  hub.Publish("a", "{\"x\":\n2}", {});
  hub.Publish("b", "3", {});
  auto stream = hub.Open({});
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(Text(**stream), "retry: 2000\n\nevent: a\ndata: {\"x\": 2}\n\nevent: b\ndata: 3\n\n");
}

TEST(EventHubTest, SameAgain_IsToldToNobody_AndKeptIsForNewStreams) {
  EventHub hub({});
  auto early = hub.Open({});
  ASSERT_TRUE(early.ok());
  EXPECT_TRUE(hub.Publish("a", "1", {}));
  Text(**early);
  EXPECT_FALSE(hub.Publish("a", "1", {}));
  hub.Keep("a", "2");
  EXPECT_EQ(Text(**early), "");
  auto late = hub.Open({});
  ASSERT_TRUE(late.ok());
  EXPECT_THAT(Text(**late), HasSubstr("data: 2\n"));
}

TEST(EventHubTest, OneRendering_IsSharedByAllStreams) {
  EventHub hub({});
  std::vector<std::shared_ptr<BodyStream>> streams;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(hub.Open({}).value());
    Text(*streams.back());
  }
  hub.Publish("a", std::string(1000, '7'), {});
  const BodyStream::Piece first = streams[0]->Take().pieces.at(0);
  for (size_t i = 1; i < streams.size(); ++i) {
    EXPECT_EQ(streams[i]->Take().pieces.at(0).get(), first.get());
  }
}

TEST(EventHubTest, AtTheLimit_IsRefused_UntilOneEnds) {
  EventHub hub({.most_streams = 2});
  auto first = hub.Open({});
  auto second = hub.Open({});
  EXPECT_EQ(hub.Open({}).status().code(), absl::StatusCode::kUnavailable);
  (*first)->Detach();  // its client is gone
  EXPECT_TRUE(hub.Open({}).ok());
  EXPECT_EQ(hub.stats().refused, 1u);
}

TEST(EventHubTest, SlowReader_IsDroppedAndCounted) {
  EventHub hub({.most_waiting_bytes = 1000});
  auto slow = hub.Open({});
  auto quick = hub.Open({});
  for (int i = 0; i < 100; ++i) {
    hub.Publish("a", absl::StrCat(i, std::string(100, '0')), {});
    Text(**quick);
  }
  EXPECT_TRUE((*slow)->overrun());
  EXPECT_FALSE((*quick)->closed());
  EXPECT_EQ(hub.stats().slow, 1u);
  EXPECT_EQ(hub.stats().streams, 1u);
}

TEST(EventHubTest, QuietStream_GetsBeats_AndAnOldOneEnds) {
  EventHub hub({.beat = absl::Seconds(5), .longest = absl::Seconds(60)});
  auto stream = hub.Open(absl::Seconds(100));
  Text(**stream);
  hub.Publish("a", "1", absl::Seconds(100));
  Text(**stream);
  hub.Tick(absl::Seconds(104));
  EXPECT_EQ(Text(**stream), "");
  hub.Tick(absl::Seconds(105));
  EXPECT_EQ(Text(**stream), ": beat\n\n");
  hub.Tick(absl::Seconds(160));
  EXPECT_TRUE((*stream)->Take().end);
  EXPECT_EQ(hub.stats().streams, 0u);
}

TEST(EventHubTest, ManyThreads_PublishAndRead) {
  EventHub hub({.most_streams = 64, .most_waiting_bytes = 1 << 20});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&hub, t] {
      for (int i = 0; i < 300; ++i) {
        if (t % 2 == 0) {
          hub.Publish("a", absl::StrCat(t, "0", i), absl::Seconds(i));
          hub.Tick(absl::Seconds(i));
        } else {
          auto stream = hub.Open(absl::Seconds(i));
          if (stream.ok()) {
            Text(**stream);
            (*stream)->Detach();
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(hub.stats().opened, 0u);
}

}  // namespace
}  // namespace locus::locusd
