// SPDX-License-Identifier: Apache-2.0
// Routing tables in one member of etcd: what every place does, and what may happen to this one.
#include <atomic>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "routing/engine/etcd/stored_table.h"
#include "src/http/endpoint.h"
#include "tests/authority.h"
#include "tests/child_process.h"
#include "tests/etcd_table_place.h"
#include "tests/losing_relay.h"
#include "tests/table_publisher_contract.h"
#include "tests/table_source_contract.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class EtcdUnderTest : public TablePlaceUnderTest {
 public:
  std::unique_ptr<TableSource> Follow() override { return MustFollow(options_); }
  std::unique_ptr<TablePublisher> MakePublisher() override { return MustMakePublisher(options_); }
  bool PutRaw(const std::string& document) override {
    locus::PutRaw(options_, options_.prefix + "/table/newest", document);
    return true;
  }

 private:
  const EtcdOptions options_ = FreshEtcdPrefix();
};

const TablePlaceKind& Etcd() {
  static const TablePlaceKind kind{"etcd", [] { return std::make_unique<EtcdUnderTest>(); }};
  return kind;
}
INSTANTIATE_TEST_SUITE_P(Etcd, TableSourceContract, ::testing::Values(Etcd()));
INSTANTIATE_TEST_SUITE_P(Etcd, TablePublisherContract, ::testing::Values(Etcd()));

class EtcdTableTest : public ::testing::Test {
 protected:
  void Put(const std::string& value) { PutRaw(options_, keys_.newest(), value); }
  void Delete(const std::string& key) {
    auto connection = RawConnection(options_);
    etcd::Txn txn;
    txn.Put(options_.prefix + "/deleted", "").Delete(key, key + '\0');
    ASSERT_TRUE(connection->Commit(txn, connection->Deadline()).ok());
  }
  SourcedTable News(const std::string& known) { return NewsOf(*source_, known); }

  const EtcdOptions options_ = FreshEtcdPrefix();
  const etcd::TableKeys keys_{TablesIn(options_)};
  const std::unique_ptr<EtcdTableSource> source_ = MustFollow(options_);
  const std::unique_ptr<EtcdTablePublisher> publisher_ = MustMakePublisher(options_);
};

TEST_F(EtcdTableTest, Place_IsNamedWithoutCredentials) {
  EtcdTableOptions options;
  options.etcd.endpoints = {"h1:2379", "h2:2379"};
  options.etcd.user = "ann";
  options.etcd.password = "secret";
  options.etcd.password_in_plain_text = true;
  EXPECT_EQ(EtcdTableSource::Open(options).value()->place(),
            "etcd at h1:2379,h2:2379 key locus/table");
  EXPECT_EQ(EtcdTablePublisher::Open(options).value()->place(),
            "etcd at h1:2379,h2:2379 key locus/table");
}

TEST_F(EtcdTableTest, BadOptions_AreNamed) {
  for (const char* bad : {"", "Table", "a/b", "seq", "space", "heads"}) {
    EtcdTableOptions options = TablesIn(options_);
    options.key = bad;
    absl::Status status = EtcdTableSource::Open(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_EQ(EtcdTablePublisher::Open(options).status(), status);
    EXPECT_THAT(std::string(status.message()), HasSubstr("key is \"" + std::string(bad) + "\""));
  }
  EtcdTableOptions options;
  EXPECT_TRUE(absl::IsInvalidArgument(EtcdTableSource::Open(options).status())) << "no endpoint";
  options = TablesIn(options_);
  options.max_request_bytes = 1000;
  EXPECT_TRUE(absl::IsInvalidArgument(EtcdTablePublisher::Open(options).status()));
}

TEST_F(EtcdTableTest, ForkedChild_IsRefused) {
  MustPublish(*publisher_, TableOfEpoch(1), 0);
  News("");
  ChildProcess child([&] {
    bool refused =
        absl::IsFailedPrecondition(NextWithin(*source_, "", absl::Seconds(1)).status()) &&
        absl::IsFailedPrecondition(publisher_->Current().status()) &&
        absl::IsFailedPrecondition(publisher_->Publish(TableOfEpoch(2), 1)) &&
        absl::IsFailedPrecondition(publisher_->History(1).status()) &&
        absl::IsFailedPrecondition(publisher_->Fetch(1).status());
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
}

// As many shards and ranges as anybody has, in no order at all.
RoutingTable ScatteredTable(uint64_t epoch, uint32_t shards_wanted) {
  std::minstd_rand random(1);
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= shards_wanted; ++id) {
    shards.push_back({.id = id,
                      .name = absl::StrCat("orders-", id),
                      .endpoint = absl::StrCat("mysql://10.", random() % 256, ".", random() % 256,
                                               ".", random() % 256, ":3306/orders"),
                      .labels = {{"tier", random() % 2 == 0 ? "hot" : "cold"}}});
  }
  std::vector<VnodeRange> ranges;
  for (uint32_t vnode = 0; vnode < ShardGene::kCount; ++vnode) {
    ranges.push_back(
        {static_cast<uint16_t>(vnode), static_cast<uint32_t>(1 + random() % shards_wanted)});
  }
  return RoutingTable::Make(epoch, std::move(shards), std::move(ranges)).value();
}

TEST_F(EtcdTableTest, ScatteredTable_FitsAndIsFollowed) {
  MustPublish(*publisher_, TableOfEpoch(1), 0);
  SourcedTable first = News("");
  RoutingTable table = ScatteredTable(2, 4096);
  EtcdOptions patient = options_;
  patient.request_timeout = patient.call_timeout = absl::Seconds(30);
  auto publisher = MustMakePublisher(patient);
  MustPublish(*publisher, table, 1);
  EXPECT_EQ(RoutingTable::Parse(News(first.version).document).value(), table);
  EXPECT_EQ(publisher->Fetch(2).value(), table);
}

TEST_F(EtcdTableTest, TableThatDoesNotFit_IsRefusedClearly) {
  MustPublish(*publisher_, TableOfEpoch(1), 0);
  RoutingTable table = ScatteredTable(2, 16384);
  EtcdTableOptions options = TablesIn(options_);
  options.max_request_bytes = 100'000;
  absl::Status status = EtcdTablePublisher::Open(options).value()->Publish(table, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("max_request_bytes is 100000"));
  EXPECT_EQ(publisher_->Current()->epoch(), 1u);
}

// The option promises more than the cluster takes, in one way or the other.
TEST_F(EtcdTableTest, TableThatTheClusterRefuses_IsFailedPrecondition) {
  for (size_t bytes : {800'000, 1'200'000}) {
    etcd::Txn txn;
    std::string half(bytes, 'x');
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    EtcdOptions patient = options_;
    patient.request_timeout = patient.call_timeout = absl::Seconds(30);
    absl::Status status =
        RawConnection(patient)->Commit(txn.Put("a", half).Put("b", half), deadline).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--max-request-bytes"));
  }
}

TEST_F(EtcdTableTest, DamagedPackedTable_IsRefusedUntilRepaired) {
  MustPublish(*publisher_, TableOfEpoch(1), 0);
  std::string known = News("").version;
  for (const char* damaged :
       {"zlib ", "zlib 0\n", "zlib 100", "zlib 100\nxxx", "zlib 99999999\n"}) {
    Put(damaged);
    for (int i = 0; i < 2; ++i) {
      absl::Status status = NextWithin(*source_, known, absl::Seconds(10)).status();
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << damaged << ": " << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(source_->place()));
    }
    EXPECT_TRUE(absl::IsDataLoss(publisher_->Current().status()));
    EXPECT_TRUE(absl::IsDataLoss(publisher_->Publish(TableOfEpoch(2), 1)));
  }
  Put(TableOfEpoch(2).ToJson());
  EXPECT_EQ(EpochOf(News(known)), 2u);
}

TEST_F(EtcdTableTest, DeletedKey_IsNotFoundAndPublishedAnewAboveAllThatIsKept) {
  MustPublish(*publisher_, TableOfEpoch(7), 0);
  std::string known = News("").version;
  std::thread deleting([&] { Delete(keys_.newest()); });
  absl::Status status = NextWithin(*source_, known, absl::Seconds(60)).status();
  deleting.join();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_TRUE(absl::IsNotFound(NextWithin(*source_, known, absl::Seconds(60)).status()));
  status = publisher_->Publish(TableOfEpoch(7), 0);
  EXPECT_TRUE(absl::IsAborted(status)) << "it would overwrite what is kept: " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("epoch 7"));
  MustPublish(*publisher_, TableOfEpoch(8), 0);
  EXPECT_EQ(EpochOf(News(known)), 8u);
  EXPECT_EQ(publisher_->History(10)->size(), 2u);
}

TEST_F(EtcdTableTest, OlderTablePutBack_CannotBeFollowedByWhatWasPublishedBefore) {
  for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
    MustPublish(*publisher_, TableOfEpoch(epoch), epoch - 1);
  }
  Put(TableOfEpoch(1).ToJson());
  absl::Status status = publisher_->Publish(TableOfEpoch(2), 1);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_EQ(publisher_->Fetch(3).value(), TableOfEpoch(3));
  MustPublish(*publisher_, TableOfEpoch(4), 1);
}

TEST_F(EtcdTableTest, NewestDeletedOrAnOlderOnePutBack_IsRestoredAboveAllThatIsKept) {
  for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
    MustPublish(*publisher_, TableOfEpoch(epoch), epoch - 1);
  }
  Delete(keys_.newest());
  absl::StatusOr<RoutingTable> restored = RestoreTable(*publisher_, 3);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->epoch(), 4u);
  Put(TableOfEpoch(1).ToJson());
  restored = RestoreTable(*publisher_, 3);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->epoch(), 5u);
  EXPECT_EQ(publisher_->Current().value(), *restored);
}

TEST_F(EtcdTableTest, HistoryThatCannotBe_IsDataLoss) {
  MustPublish(*publisher_, TableOfEpoch(1), 0);
  PutRaw(options_, keys_.AllPublished() + "2", "yesterday");
  EXPECT_TRUE(absl::IsDataLoss(publisher_->History(1).status()));
  EXPECT_TRUE(absl::IsDataLoss(publisher_->Publish(TableOfEpoch(2), 1)));
}

TEST_F(EtcdTableTest, OldEpochs_GoWhenAThousandAreKept) {
  constexpr uint64_t kBefore = 1100;
  std::string document = TableOfEpoch(1).ToJson();
  auto connection = RawConnection(options_);
  for (uint64_t epoch = 1; epoch <= kBefore;) {
    etcd::Txn txn;
    for (int i = 0; i < 50 && epoch <= kBefore; ++i, ++epoch) {
      etcd::KeptEpoch kept{epoch, absl::FromUnixMillis(static_cast<int64_t>(epoch)), 500};
      txn.Put(keys_.Epoch(epoch), document).Put(keys_.Published(epoch), kept.Text());
    }
    ASSERT_TRUE(connection->Commit(txn, connection->Deadline()).ok());
  }
  Put(TableOfEpoch(kBefore).ToJson());
  MustPublish(*publisher_, TableOfEpoch(kBefore + 1), kBefore);
  auto history = publisher_->History(5000);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->size(), 1000u);
  EXPECT_EQ(history->front().epoch, kBefore + 1);
  EXPECT_EQ(history->back().epoch, 102u);
  absl::Status status = publisher_->Fetch(101).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("and 990 from 102 on are kept"));
  EXPECT_EQ(publisher_->Fetch(kBefore + 1).value(), TableOfEpoch(kBefore + 1));
}

TEST(EtcdTableRulesTest, Kept_AreAThousandOrWhatFitsButAHundred) {
  std::vector<etcd::KeptEpoch> history;
  for (uint64_t epoch = 1; epoch <= 2000; ++epoch) history.push_back({epoch, {}, 1});
  EXPECT_EQ(etcd::FirstKept(history), 1001u);
  for (auto& kept : history) kept.bytes = 1 << 20;
  EXPECT_EQ(etcd::FirstKept(history), 1901u);
  for (auto& kept : history) kept.bytes = 1 << 18;
  EXPECT_EQ(etcd::FirstKept(history), 2000u - 256 + 1);
  history.resize(3);
  EXPECT_EQ(etcd::FirstKept(history), 1u);
}

TEST(EtcdTableRulesTest, PackedDocument_ComesBack) {
  for (size_t bytes :
       {size_t{0}, size_t{1}, size_t{64} << 10, (size_t{64} << 10) + 1, size_t{5} << 20}) {
    std::string document(bytes, 'x');
    std::string value = etcd::PackDocument(document);
    EXPECT_EQ(value.starts_with("zlib "), bytes > size_t{64} << 10);
    EXPECT_EQ(etcd::UnpackDocument(value).value(), document);
    if (!value.starts_with("zlib ")) continue;
    EXPECT_FALSE(etcd::UnpackDocument(value + "x").ok());
    EXPECT_FALSE(etcd::UnpackDocument(value.substr(0, value.size() - 1)).ok());
  }
  std::string bomb = etcd::PackDocument(std::string(TableSource::kMaxDocumentBytes + 1, 'x'));
  absl::Status status = etcd::UnpackDocument(bomb).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("67108865 bytes; at most 67108864"));
}

TEST_F(EtcdTableTest, LookNowAgainAndAgain_LosesNoTable) {
  constexpr uint64_t kLast = 60;
  MustPublish(*publisher_, TableOfEpoch(1), 0);
  SourcedTable found = News("");
  std::atomic<bool> stop = false;
  std::thread looking([&] {
    while (!stop) {
      source_->LookNow();
      std::this_thread::yield();
    }
  });
  std::thread publishing([&] {
    for (uint64_t epoch = 2; epoch <= kLast; ++epoch) {
      MustPublish(*publisher_, TableOfEpoch(epoch), epoch - 1);
    }
  });
  while (EpochOf(found) < kLast) {
    SourcedTable next = News(found.version);
    ASSERT_GT(EpochOf(next), EpochOf(found));
    found = next;
  }
  stop = true;
  looking.join();
  publishing.join();
}

// Servers of their own, as harm is done to them.
class EtcdTableServerTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Start()); }

  EtcdServer server_;
};

TEST_F(EtcdTableServerTest, CompactedWhileNobodyListened_IsReadAnew) {
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
TEST_F(EtcdTableServerTest, SnapshotPutBack_OlderTableIsNewsAndSoIsWhatFollows) {
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

TEST_F(EtcdTableServerTest, Stalled_PublisherIsUnavailableUntilItGoesOn) {
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
