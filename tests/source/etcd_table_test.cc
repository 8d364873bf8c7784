// SPDX-License-Identifier: Apache-2.0
// Routing tables in one member of etcd: what every place does, and what is this one's own.
#include <atomic>
#include <thread>

#include "gmock/gmock.h"
#include "routing/engine/etcd/stored_table.h"
#include "tests/source/etcd_table_place.h"
#include "tests/source/table_publisher_contract.h"
#include "tests/source/table_source_contract.h"
#include "tests/support/child_process.h"

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

TEST_F(EtcdTableTest, DeletedKey_IsNotFoundAndPublishedAgainAboveAllKeptEpochs) {
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

TEST_F(EtcdTableTest, OlderTablePutBack_CannotBeFollowedByAnEpochPublishedBefore) {
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

TEST_F(EtcdTableTest, NoteOfAnotherProgram_IsMadeSafeToShow) {
  MustPublish(*publisher_, TableOfEpoch(1), 0);
  PutRaw(options_, keys_.Published(1), "1795165200000 5");
  PutRaw(options_, keys_.Note(1), "\x1B[2Jolga\n\n1795165200000 5\n");
  EXPECT_EQ(publisher_->History(1).value()[0].note, (PublicationNote{"\\x1b[2Jolga", ""}));
  // A note of an epoch that was deleted says nothing of the table that takes its number.
  PutRaw(options_, keys_.Note(2), "mallory\n");
  MustPublish(*publisher_, TableOfEpoch(2), 1);
  EXPECT_EQ(publisher_->History(1).value()[0].note, PublicationNote());
}

// An epoch whose keys were deleted may be published again by an earlier version, which knows no
// notes.
TEST_F(EtcdTableTest, NoteOfAnotherPublication_IsNotShown) {
  MustPublish(*publisher_, TableOfEpoch(1), 0);
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(2), 1, {}, {"mallory", "why"}).ok());
  ASSERT_EQ(publisher_->History(1).value()[0].note, (PublicationNote{"mallory", "why"}));
  PutRaw(options_, keys_.Published(2), "1795165200000 5");
  EXPECT_EQ(publisher_->History(1).value()[0].note, PublicationNote());
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
  EXPECT_THAT(std::string(status.message()), HasSubstr("and 990 more, the oldest 102, are kept"));
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
  EXPECT_THAT(std::string(status.message()), HasSubstr("33554433 bytes; at most 33554432"));
  // One of the most that is taken, 33 KB in etcd: the parser stops at its first element.
  std::string hostile = "{\"shards\":[";
  while (hostile.size() + 3 <= TableSource::kMaxDocumentBytes) hostile += "{},";
  std::string packed = etcd::PackDocument(hostile);
  EXPECT_LT(packed.size(), size_t{64} << 10);
  status = RoutingTable::Parse(etcd::UnpackDocument(packed).value()).status();
  EXPECT_EQ(status.message(), "/shards/0: member \"id\" is missing");
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

}  // namespace
}  // namespace locus
