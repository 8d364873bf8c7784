// SPDX-License-Identifier: Apache-2.0
#include "locus/open.h"

#include <filesystem>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd_cluster.h"
#include "locus/routing/open.h"
#include "locus/routing/routing_table.h"
#include "locus/space.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OpenTest : public ::testing::Test {
 protected:
  OpenTest() { std::filesystem::create_directory(directory_); }
  ~OpenTest() override { std::filesystem::remove_all(directory_); }

  const std::string directory_ = ::testing::TempDir() + "/open_test." + std::to_string(getpid()) +
                                 "." +
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string sqlite_ = "sqlite:" + directory_ + "/orders.db";
};

TEST_F(OpenTest, Sqlite_IsCreatedOnlyWhenAsked) {
  EXPECT_TRUE(absl::IsNotFound(OpenSegmentStore(sqlite_).status()));
  auto store = OpenSegmentStore(sqlite_, {.create = true});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Create(SpaceName(), SpaceOptions(), absl::Now()).ok());
  EXPECT_TRUE(OpenSegmentStore(sqlite_).ok());

  auto sequencer = OpenSequencer(sqlite_);
  ASSERT_TRUE(sequencer.ok()) << sequencer.status();
  EXPECT_EQ((*sequencer)->Next("invoices").value(), 1);
}

TEST_F(OpenTest, SequenceTypes_AreOpenedByEachEngineThatCounts) {
  EXPECT_TRUE(absl::IsNotFound(OpenSequenceTypeStore(sqlite_).status()));
  auto types = OpenSequenceTypeStore(sqlite_, {.create = true});
  ASSERT_TRUE(types.ok()) << types.status();
  SequenceType type;
  type.name = "invoices";
  ASSERT_TRUE((*types)->Create(type).ok());
  EXPECT_TRUE(OpenSequenceTypeStore(sqlite_).value()->Find("invoices").ok());
  TypedCounter counter =
      OpenTypedSequences(sqlite_).value()->Open("invoices", "k", absl::Now()).value();
  EXPECT_EQ(counter.counters->Next(counter.name).value(), 1);
  auto of_cluster = OpenSequenceTypeStore("raft://127.0.0.1:1");
  ASSERT_TRUE(of_cluster.ok()) << of_cluster.status();
  EXPECT_TRUE(absl::IsUnavailable((*of_cluster)->Find("invoices").status()));
  for (const char* nobody : {"mysql://locus@127.0.0.1:1/locus", "redis://127.0.0.1:1",
                             "redis+sentinel://127.0.0.1:1/m"}) {
    absl::Status status = OpenSequenceTypeStore(nobody).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << nobody << ": " << status;
  }
  for (const char* other : {"zookeeper://h", "oracle://h/db"}) {
    absl::Status status = OpenSequenceTypeStore(other).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << other << ": " << status;
  }
}

TEST_F(OpenTest, WorkerLeases_AreOpenedByEachEngine) {
  EXPECT_TRUE(absl::IsNotFound(OpenWorkerLeaseStore(sqlite_).status()));
  auto store = OpenWorkerLeaseStore(sqlite_, {.create = true});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->facts().engine, "sqlite");
  EXPECT_TRUE(OpenWorkerLeaseStore(sqlite_).ok());
  for (const char* nobody : {"mysql://locus@127.0.0.1:1/locus", "redis://127.0.0.1:1",
                             "redis+sentinel://127.0.0.1:1/m", "etcd://127.0.0.1:1"}) {
    auto opened = OpenWorkerLeaseStore(nobody);
    // etcd is connected to by the first call.
    const absl::Status status =
        opened.ok() ? (*opened)->Show(SpaceName()).status() : opened.status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << nobody << ": " << status;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(OpenWorkerLeaseStore("file:x").status()));
}

TEST_F(OpenTest, StrictSequences_AreOpenedWhereTheyAreKept) {
  EXPECT_TRUE(absl::IsNotFound(OpenStrictStore(sqlite_).status()));
  auto store = OpenStrictStore(sqlite_, {.create = true});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->Create(SpaceName(), StrictSetOptions(), {.first_ever = true}).ok());
  EXPECT_TRUE((*OpenStrictStore(sqlite_))->Show(SpaceName()).ok());
  EXPECT_FALSE(OpenStrictStore("mysql://127.0.0.1:1/locus").ok());
  EXPECT_TRUE(OpenStrictStore("etcd://127.0.0.1:1").ok()) << "contacts no server";
  for (const char* cluster : {"locusd://127.0.0.1:1", "raft://127.0.0.1:1,127.0.0.1:2/"}) {
    EXPECT_TRUE(OpenStrictStore(cluster).ok()) << cluster << ": contacts no server";
  }
  const absl::Status other = OpenStrictStore("redis://127.0.0.1:1").status();
  EXPECT_EQ(
      other.message(),
      "redis://127.0.0.1:1: redis has no strict sequences; they are kept in sqlite, mysql, etcd "
      "and locusd only");
}

TEST_F(OpenTest, AFile_IsPublishedToAndFollowed) {
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

TEST_F(OpenTest, AWrongUri_IsInvalidArgument) {
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

TEST_F(OpenTest, APassword_IsNeverPartOfAUri) {
  for (const absl::Status& status : {OpenSegmentStore("mysql://shop:hunter2@db/orders").status(),
                                     OpenSequencer("redis://:hunter2@db/0").status(),
                                     OpenTableSource("etcd://shop:hunter2@db").status(),
                                     OpenTablePublisher("http://shop:hunter2@db/t").status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
  }
}

TEST_F(OpenTest, APassword_IsAskedForServersOnly) {
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

// Nobody listens there: each engine that this build has is reached, and no other one is.
TEST_F(OpenTest, WorkerLeases_AreInEveryEngine) {
  EXPECT_TRUE(OpenWorkerLeaseStore(sqlite_, {.create = true}).ok());
  for (const char* uri : {"mysql://127.0.0.1:1/db", "redis://127.0.0.1:1", "etcd://127.0.0.1:1",
                          "zookeeper://127.0.0.1:1/locus", "locusd://127.0.0.1:1"}) {
    auto store = OpenWorkerLeaseStore(uri);
    absl::Status status = store.status();
    if (store.ok()) {
      std::string scheme = (*store)->facts().engine;
      if (scheme == "mariadb") scheme = "mysql";
      if (scheme == "raft") scheme = "locusd";
      EXPECT_THAT(std::string(uri), HasSubstr(scheme));
      status = (*store)->Show(SpaceName()).status();
    }
    EXPECT_TRUE(absl::IsUnavailable(status)) << uri << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("127.0.0.1:1")) << uri;
  }
  auto secret = []() -> absl::StatusOr<std::string_view> { return std::string_view("hunter2"); };
  const absl::Status no_user =
      OpenWorkerLeaseStore("zookeeper://127.0.0.1:1", {.password = secret}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(no_user)) << no_user;
  EXPECT_THAT(std::string(no_user.message()), Not(HasSubstr("hunter2")));
  EXPECT_TRUE(OpenSegmentStore("zookeeper://127.0.0.1:1").ok()) << "contacts no server yet";
  EXPECT_TRUE(absl::IsInvalidArgument(OpenSequencer("zookeeper://h", {}).status()));
}

TEST_F(OpenTest, Locusd_HasEverythingAndTakesAToken) {
  // Two names of one engine. Nothing is connected before the first call.
  for (const char* uri : {"locusd://h", "raft://h1,h2:7071,h3", "raft://h1,h2,h3/"}) {
    EXPECT_TRUE(OpenSegmentStore(uri).ok()) << OpenSegmentStore(uri).status();
    EXPECT_TRUE(OpenSequencer(uri, {}).ok()) << OpenSequencer(uri, {}).status();
    EXPECT_TRUE(OpenWorkerLeaseStore(uri).ok()) << OpenWorkerLeaseStore(uri).status();
  }
  EXPECT_TRUE(absl::IsInvalidArgument(OpenSegmentStore("raft://h/x").status()));
  auto secret = []() -> absl::StatusOr<std::string_view> { return std::string_view("hunter2"); };
  for (const char* uri : {"locusd://10.1.2.3", "locusd://127.0.0.1,10.1.2.3:7"}) {
    const absl::Status leases = OpenWorkerLeaseStore(uri, {.password = secret}).status();
    const absl::Status members = OpenLocusdCluster(uri, secret).status();
    const absl::Status segments = OpenSegmentStore(uri, {.password = secret}).status();
    const absl::Status numbers = OpenSequencer(uri, {.password = secret}).status();
    for (const absl::Status& status : {leases, members, segments, numbers}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("in plain text: enable TLS"));
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
    }
    EXPECT_TRUE(OpenLocusdCluster(std::string(uri) + "?tls=on", secret).ok());
    EXPECT_TRUE(absl::IsFailedPrecondition(
        OpenLocusdCluster(std::string(uri) + "?tls_ca=/no/ca.pem", secret).status()));
  }
  EXPECT_THAT(std::string(OpenLocusdCluster("etcd://127.0.0.1").status().message()),
              HasSubstr("is no cluster of locusd; write locusd://"));
}

TEST_F(OpenTest, ACeiling_IsForRedisAndOnADurableStore) {
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
