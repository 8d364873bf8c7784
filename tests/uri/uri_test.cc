// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/uri.h"

#include <filesystem>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "locus/space.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class UriTest : public ::testing::Test {
 protected:
  UriTest() { std::filesystem::create_directory(directory_); }
  ~UriTest() override { std::filesystem::remove_all(directory_); }

  const std::string directory_ = ::testing::TempDir() + "/uri_test." + std::to_string(getpid()) +
                                 "." +
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string sqlite_ = "sqlite:" + directory_ + "/orders.db";
};

TEST_F(UriTest, Sqlite_IsCreatedOnlyWhenAsked) {
  EXPECT_TRUE(absl::IsNotFound(OpenSegmentStore(sqlite_).status()));
  auto store = OpenSegmentStore(sqlite_, {.create = true});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Create(SpaceName(), SpaceOptions(), absl::Now()).ok());
  EXPECT_TRUE(OpenSegmentStore(sqlite_).ok());

  auto sequencer = OpenSequencer(sqlite_);
  ASSERT_TRUE(sequencer.ok()) << sequencer.status();
  EXPECT_EQ((*sequencer)->Next("invoices").value(), 1);
}

TEST_F(UriTest, AFile_IsPublishedToAndFollowed) {
  const std::string place = "file:" + directory_ + "/table.json";
  ASSERT_TRUE(CreateTablePlace(place).ok());
  auto publisher = OpenTablePublisher(place);
  ASSERT_TRUE(publisher.ok()) << publisher.status();
  RoutingTable table = RoutingTable::MakeEven({{"a", "h"}}).value();
  ASSERT_TRUE((*publisher)->Publish(table, 0).ok());
  auto source = OpenTableSource(place);
  ASSERT_TRUE(source.ok()) << source.status();
  auto next = (*source)->Next("", std::chrono::steady_clock::now() + std::chrono::seconds(60));
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ(RoutingTable::Parse((*next)->document).value(), table);
}

TEST_F(UriTest, AWrongUri_IsInvalidArgument) {
  for (const char* uri : {"", "orders.db", "oracle://h/db", "mysql://h:0/db", "sqlite:"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(OpenSegmentStore(uri).status())) << uri;
    EXPECT_TRUE(absl::IsInvalidArgument(OpenSequencer(uri).status())) << uri;
  }
  for (const char* uri : {"", "table.json", "redis://h", "sqlite:x", "file:", "file://host/x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(OpenTableSource(uri).status())) << uri;
    EXPECT_TRUE(absl::IsInvalidArgument(OpenTablePublisher(uri).status())) << uri;
    EXPECT_TRUE(absl::IsInvalidArgument(CreateTablePlace(uri))) << uri;
  }
  absl::Status read_only = OpenTablePublisher("http://127.0.0.1:1/t").status();
  EXPECT_TRUE(absl::IsInvalidArgument(read_only));
  EXPECT_THAT(std::string(read_only.message()), HasSubstr("can only be followed"));
}

TEST_F(UriTest, APassword_IsNeverPartOfAUri) {
  for (const absl::Status& status : {OpenSegmentStore("mysql://shop:hunter2@db/orders").status(),
                                     OpenSequencer("redis://:hunter2@db/0").status(),
                                     OpenTableSource("etcd://shop:hunter2@db").status(),
                                     OpenTablePublisher("http://shop:hunter2@db/t").status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
  }
}

TEST_F(UriTest, APassword_IsAskedForServersOnly) {
  int asked = 0;
  AskPassword ask = [&]() -> absl::StatusOr<std::string_view> {
    ++asked;
    return absl::PermissionDeniedError("no password today");
  };
  EXPECT_TRUE(OpenSegmentStore(sqlite_, {.password = ask, .create = true}).ok());
  EXPECT_TRUE(OpenTableSource("file:" + directory_ + "/t.json", {.password = ask}).ok());
  EXPECT_EQ(asked, 0);
  for (const char* uri : {"mysql://127.0.0.1:1/db", "redis://127.0.0.1:1", "etcd://127.0.0.1:1"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(OpenSegmentStore(uri, {.password = ask}).status())) << uri;
  }
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(absl::IsPermissionDenied(
      OpenTableSource("http://127.0.0.1:1/t", {.password = ask}).status()));
}

TEST_F(UriTest, ACeiling_IsForRedisAndOnADurableStore) {
  SequencerUriOptions options;
  options.ceiling = sqlite_;
  EXPECT_TRUE(absl::IsInvalidArgument(OpenSequencer(sqlite_, options).status()));
  options.ceiling = "etcd://127.0.0.1:1";
  absl::Status status = OpenSequencer("redis://127.0.0.1:1", options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("sqlite or mysql"));
  options.ceiling = sqlite_;
  options.sequencer.ttl = absl::Seconds(5);
  EXPECT_TRUE(absl::IsInvalidArgument(OpenSequencer("redis://127.0.0.1:1", options).status()));
}

}  // namespace
}  // namespace locus
