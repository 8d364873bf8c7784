// SPDX-License-Identifier: Apache-2.0
// Routing tables in etcd while harm is done to its servers, over TLS, and with accounts.
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "src/http/endpoint.h"
#include "tests/source/etcd_table_place.h"
#include "tests/source/losing_relay.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class EtcdTableServerTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Start()); }

  EtcdServer server_{1, {"--bcrypt-cost=4"}};
};

TEST_F(EtcdTableServerTest, CompactedBetweenTwoStreams_IsReadAgain) {
  auto source = MustFollow(server_.options());
  auto publisher = MustMakePublisher(server_.options());
  MustPublish(*publisher, TableOfEpoch(1), 0);
  // Next has answered without a stream: it goes on from the revision it saw.
  std::string known = NewsOf(*source, "").version;
  for (uint64_t epoch = 2; epoch <= 4; ++epoch) {
    MustPublish(*publisher, TableOfEpoch(epoch), epoch - 1);
  }
  auto connection = RawConnection(server_.options());
  int64_t revision = connection->Status(connection->Deadline())->header.revision;
  ASSERT_TRUE(server_.Ctl(absl::StrCat("compact ", revision)));
  auto answer = NextWithin(*source, known, absl::Seconds(60));
  ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
  EXPECT_EQ(EpochOf(**answer), 4u);
  // The same while its stream is open: nothing is lost, nothing broken.
  known = (*answer)->version;
  ASSERT_TRUE(NextWithin(*source, known, absl::Milliseconds(100)).ok());
  MustPublish(*publisher, TableOfEpoch(5), 4);
  ASSERT_TRUE(server_.Ctl(absl::StrCat("compact ", revision + 1)));
  answer = NextWithin(*source, known, absl::Seconds(60));
  ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
  EXPECT_EQ(EpochOf(**answer), 5u);
}

TEST_F(EtcdTableServerTest, Emptied_IsNotFoundThenTheNewTableEvenAtTheSameRevision) {
  auto source = MustFollow(server_.options());
  MustPublish(*MustMakePublisher(server_.options()), TableOfEpoch(1), 0);
  std::string known = NewsOf(*source, "").version;
  ASSERT_TRUE(NextWithin(*source, known, absl::Milliseconds(100)).ok());
  ASSERT_TRUE(server_.RestartEmpty());
  absl::Status status;
  EXPECT_TRUE(WaitUntil([&] {
    status = NextWithin(*source, known, absl::Milliseconds(100)).status();
    return !absl::IsUnavailable(status);
  }));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  MustPublish(*MustMakePublisher(server_.options()), TableOfEpoch(2), 0);
  SourcedTable found = NewsOf(*source, known);
  EXPECT_EQ(EpochOf(found), 2u);
  EXPECT_EQ(found.version.substr(0, found.version.rfind(':')), known.substr(0, known.rfind(':')))
      << "or else this test shows nothing";
}

// It was filled again before the source looked.
TEST_F(EtcdTableServerTest, EmptiedAndFilledAtOnce_IsNews) {
  auto source = MustFollow(server_.options());
  MustPublish(*MustMakePublisher(server_.options()), TableOfEpoch(1), 0);
  std::string known = NewsOf(*source, "").version;
  ASSERT_TRUE(NextWithin(*source, known, absl::Milliseconds(100)).ok());
  ASSERT_TRUE(server_.RestartEmpty());
  MustPublish(*MustMakePublisher(server_.options()), TableOfEpoch(2), 0);
  EXPECT_EQ(EpochOf(NewsOf(*source, known)), 2u);
}

// A snapshot put back under the cluster's old name counts its revisions once more.
TEST_F(EtcdTableServerTest, SnapshotPutBack_OlderTableIsNewsAndSoIsTheNext) {
  auto source = MustFollow(server_.options());
  MustPublish(*MustMakePublisher(server_.options()), TableOfEpoch(1), 0);
  SourcedTable first = NewsOf(*source, "");
  std::string snapshot = server_.directory() / "snapshot";
  ASSERT_TRUE(server_.SaveSnapshot(snapshot));
  MustPublish(*MustMakePublisher(server_.options()), TableOfEpoch(2), 1);
  std::string known = NewsOf(*source, first.version).version;
  ASSERT_TRUE(NextWithin(*source, known, absl::Milliseconds(100)).ok());
  ASSERT_TRUE(server_.RestoreSnapshot(snapshot));
  SourcedTable found = NewsOf(*source, known);
  EXPECT_EQ(found.version, first.version);
  MustPublish(*MustMakePublisher(server_.options()), TableOfEpoch(3), 1);
  EXPECT_EQ(EpochOf(NewsOf(*source, found.version)), 3u);
}

// A snapshot was put back, and all that the cluster tells of the table but its contents is as
// before.
TEST(EtcdTableRestoredTest, FilledToTheSameRevision_IsNewsWithAndWithoutAStream) {
  for (bool streams : {false, true}) {
    EtcdServer server;
    ASSERT_TRUE(server.Start());
    absl::Duration wait = streams ? absl::Milliseconds(100) : absl::ZeroDuration();
    auto source = MustFollow(server.options());
    MustPublish(*MustMakePublisher(server.options()), TableOfEpoch(1), 0);
    std::string snapshot = server.directory() / "snapshot";
    ASSERT_TRUE(server.SaveSnapshot(snapshot));
    MustPublish(*MustMakePublisher(server.options()), TableOfEpoch(2), 1);
    std::string known = NewsOf(*source, "").version;
    ASSERT_TRUE(server.RestoreSnapshot(snapshot));
    MustPublish(*MustMakePublisher(server.options()), TableOfEpoch(3), 1);
    SourcedTable found;
    EXPECT_TRUE(WaitUntil([&] {
      auto answer = NextWithin(*source, known, wait);
      if (!answer.ok() || !answer->has_value()) return false;
      found = **answer;
      return true;
    })) << "streams: "
        << streams;
    EXPECT_EQ(EpochOf(found), 3u);
    EXPECT_EQ(found.version.substr(0, found.version.rfind(':')), known.substr(0, known.rfind(':')))
        << "or else this test shows nothing";
  }
}

TEST_F(EtcdTableServerTest, KilledAndBack_IsUnavailableThenFollowedOn) {
  auto source = MustFollow(server_.options());
  auto publisher = MustMakePublisher(server_.options());
  MustPublish(*publisher, TableOfEpoch(1), 0);
  std::string known = NewsOf(*source, "").version;
  std::thread killing([&] { server_.KillHard(); });
  absl::Status status = NextWithin(*source, known, absl::Seconds(60)).status();
  killing.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << "at once, not at the deadline: " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(server_.endpoint(0)));
  ASSERT_TRUE(server_.Start());
  auto answer = NextWithin(*source, known, absl::Milliseconds(100));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->has_value()) << "the same table";
  MustPublish(*publisher, TableOfEpoch(2), 1);
  EXPECT_EQ(EpochOf(NewsOf(*source, known)), 2u);
}

TEST_F(EtcdTableServerTest, AnswerLost_RepeatingIsHarmless) {
  EtcdOptions options = server_.options();
  options.request_timeout = options.call_timeout = absl::Seconds(30);
  auto direct = MustMakePublisher(options);
  LosingRelay relay(http::Endpoint::Parse(server_.endpoint(0))->port);
  options.endpoints = {absl::StrCat("127.0.0.1:", relay.port())};
  auto publisher = MustMakePublisher(options);
  MustPublish(*publisher, TableOfEpoch(1), 0);
  relay.LoseAnswersTo("requestPut");
  absl::Status status = publisher->Publish(TableOfEpoch(2), 1);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(relay.lost(), 1) << "not repeated by itself";
  EXPECT_EQ(direct->Current().value(), TableOfEpoch(2)) << "it was carried out all the same";
  // What is published already takes no write, whose answer would be lost as well.
  MustPublish(*publisher, TableOfEpoch(2), 1);
  relay.LoseAnswersTo("");
  MustPublish(*publisher, TableOfEpoch(2), 1);
  EXPECT_EQ(direct->History(10)->size(), 2u);
  MustPublish(*publisher, TableOfEpoch(3), 2);
}

TEST_F(EtcdTableServerTest, Stalled_PublisherIsUnavailableUntilItContinues) {
  EtcdOptions options = server_.options();
  MustPublish(*MustMakePublisher(options), TableOfEpoch(1), 0);
  options.request_timeout = absl::Milliseconds(100);
  options.call_timeout = absl::Milliseconds(300);
  auto hasty = MustMakePublisher(options);
  ASSERT_TRUE(WaitUntil([&] { return hasty->Current().ok(); })) << "connected";
  server_.Stall();
  absl::Status status = hasty->Publish(TableOfEpoch(2), 1);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  server_.Resume();
  MustPublish(*hasty, TableOfEpoch(2), 1);
}

TEST(EtcdTableTlsTest, WatchOverTls_BringsTablesOfAnySizeAndEndsWithItsServer) {
  TemporaryDirectory files;
  Authority authority(files, "authority");
  std::string certificate = authority.Sign("server", "IP:127.0.0.1");
  EtcdServer server(1, {"--cert-file=" + certificate, "--key-file=" + certificate + ".key"},
                    "https");
  ASSERT_TRUE(server.Start());
  EtcdOptions options = server.options();
  options.tls.enabled = true;
  options.tls.ca_file = authority.file();
  options.request_timeout = options.call_timeout = absl::Seconds(30);
  auto publisher = MustMakePublisher(options);
  auto source = MustFollow(options);
  MustPublish(*publisher, TableOfEpoch(1), 0);
  SourcedTable found = NewsOf(*source, "");
  // A line of one event within a record of TLS, and one of a hundred records.
  for (const RoutingTable& table : {TableOfEpoch(2), ScatteredTable(3, 4096), TableOfEpoch(4)}) {
    std::thread publishing([&] { MustPublish(*publisher, table, table.epoch() - 1); });
    auto answer = NextWithin(*source, found.version, absl::Hours(1));  // not by a confirmation
    publishing.join();
    ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
    found = **answer;
    EXPECT_EQ(RoutingTable::Parse(found.document).value(), table);
  }
  std::thread looking([&] { source->LookNow(); });
  EXPECT_EQ(NextWithin(*source, found.version, absl::Hours(1)).value(), std::nullopt);
  looking.join();
  std::thread killing([&] { server.KillHard(); });
  absl::Status status = NextWithin(*source, found.version, absl::Hours(1)).status();
  killing.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  ASSERT_TRUE(server.Start());
  MustPublish(*publisher, TableOfEpoch(5), 4);
  EXPECT_EQ(EpochOf(NewsOf(*source, found.version)), 5u);
}

// A reader's account needs no more than the docs say.
TEST_F(EtcdTableServerTest, AccountThatMayOnlyRead_Follows) {
  for (const char* words :
       {"user add root:secret", "user grant-role root root", "user add reader:secret",
        "role add tables", "role grant-permission tables --prefix=true read locus/table/",
        "user grant-role reader tables"}) {
    server_.Ctl(words);
  }
  ASSERT_TRUE(server_.Ctl("auth enable"));
  EtcdOptions root = server_.options();
  root.user = "root";
  root.password = "secret";
  MustPublish(*MustMakePublisher(root), TableOfEpoch(1), 0);
  EtcdOptions reader = root;
  reader.user = "reader";
  auto source = MustFollow(reader);
  std::string known = NewsOf(*source, "").version;
  EXPECT_TRUE(NextWithin(*source, known, absl::Milliseconds(100)).ok());
  std::thread publishing([&] { MustPublish(*MustMakePublisher(root), TableOfEpoch(2), 1); });
  auto answer = NextWithin(*source, known, absl::Seconds(60));
  publishing.join();
  ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
  EXPECT_EQ(EpochOf(**answer), 2u);
  absl::Status status = MustMakePublisher(reader)->Publish(TableOfEpoch(3), 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EtcdOptions wrong = reader;
  wrong.password = "guess";
  status = NextWithin(*MustFollow(wrong), "", absl::Seconds(1)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(status.message().find("guess"), absl::string_view::npos);
}

}  // namespace
}  // namespace locus
