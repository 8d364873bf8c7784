// SPDX-License-Identifier: Apache-2.0
#include "tests/source/table_publisher_contract.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"

namespace locus {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TablePublisherContract);

namespace {

using ::testing::HasSubstr;

std::vector<uint64_t> EpochsOf(const std::vector<PublishedEpoch>& history) {
  std::vector<uint64_t> epochs;
  for (const PublishedEpoch& published : history) epochs.push_back(published.epoch);
  return epochs;
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

RoutingTable WithWeightOfFirst(const RoutingTable& table, uint32_t weight) {
  std::vector<Shard> shards = table.shards();
  shards[0].weight = weight;
  return RoutingTable::Make(table.epoch(), shards, table.ranges(), table.moves()).value();
}

RoutingTable WithTableId(const RoutingTable& table, const std::string& table_id) {
  return RoutingTable::Make(table.epoch(), table.shards(), table.ranges(), table.moves(), table_id)
      .value();
}

// The next epoch of `table` with these moves.
RoutingTable NextWithMoves(const RoutingTable& table, std::vector<VnodeMove> moves) {
  return RoutingTable::Make(table.epoch() + 1, table.shards(), table.ranges(), std::move(moves))
      .value();
}

// Retries what may be retried: a place may answer UNAVAILABLE to one of two that collide.
absl::Status PublishSurely(TablePublisher& publisher, const RoutingTable& table,
                           uint64_t expected) {
  absl::Status status = publisher.Publish(table, expected);
  for (int i = 0; i < 100 && absl::IsUnavailable(status); ++i) {
    status = publisher.Publish(table, expected);
  }
  return status;
}

}  // namespace

TEST_P(TablePublisherContract, NothingPublished_IsNotFoundAndHasNoHistory) {
  EXPECT_TRUE(absl::IsNotFound(publisher_->Current().status())) << publisher_->Current().status();
  absl::StatusOr<std::vector<PublishedEpoch>> history = publisher_->History(10);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_TRUE(history->empty());
  EXPECT_TRUE(absl::IsInvalidArgument(publisher_->History(0).status()));
  EXPECT_TRUE(absl::IsNotFound(publisher_->Fetch(1).status()));
  EXPECT_TRUE(absl::IsNotFound(RestoreTable(*publisher_, 1).status()));
  EXPECT_FALSE(publisher_->place().empty());
}

TEST_P(TablePublisherContract, Published_IsCurrentForEveryHandleAndForSources) {
  std::unique_ptr<TablePublisher> other = place_->MakePublisher();
  for (uint64_t epoch : {1, 2, 5}) {
    uint64_t before = epoch == 5 ? 2 : epoch - 1;
    absl::Status status = publisher_->Publish(TableOfEpoch(epoch), before);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(other->Current().value(), TableOfEpoch(epoch));
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    auto seen = place_->Follow()->Next("", deadline);
    ASSERT_TRUE(seen.ok() && seen->has_value()) << seen.status();
    EXPECT_EQ(RoutingTable::Parse((*seen)->document).value(), TableOfEpoch(epoch));
  }
}

TEST_P(TablePublisherContract, AnotherEpochThanExpected_IsAbortedNamingIt) {
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(4), 0).ok());
  for (uint64_t expected : {0, 3, 5}) {
    absl::Status status = publisher_->Publish(TableOfEpoch(6), expected);
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("4"));
  }
  EXPECT_EQ(publisher_->Current()->epoch(), 4u);
  EXPECT_EQ(EpochsOf(publisher_->History(10).value()), std::vector<uint64_t>{4});
}

TEST_P(TablePublisherContract, FirstTableExpectingOne_IsAborted) {
  absl::Status status = publisher_->Publish(TableOfEpoch(6), 5);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_TRUE(absl::IsNotFound(publisher_->Current().status()));
}

TEST_P(TablePublisherContract, EpochNotGreaterThanExpected_IsInvalid) {
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(4), 0).ok());
  for (uint64_t epoch : {1, 3, 4}) {
    absl::Status status = publisher_->Publish(TableOfEpoch(epoch), 4);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  EXPECT_EQ(publisher_->Current().value(), TableOfEpoch(4));
}

TEST_P(TablePublisherContract, EqualAgain_IsOkWithoutAChange) {
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(1), 0).ok());
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(2), 1).ok());
  absl::Status status = publisher_->Publish(TableOfEpoch(2), 1);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(EpochsOf(publisher_->History(10).value()), (std::vector<uint64_t>{2, 1}));
  // Of the same epoch, but not equal in every part.
  RoutingTable other = WithWeightOfFirst(TableOfEpoch(2), 7);
  EXPECT_TRUE(absl::IsAborted(publisher_->Publish(other, 1)));
  EXPECT_EQ(publisher_->Current().value(), TableOfEpoch(2));
}

TEST_P(TablePublisherContract, AuthorAndReason_AreInTheHistoryOfTheirEpochOnly) {
  const PublicationNote note = {"olga@büro", "add shard 4; 増設"};
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(1), 0).ok());
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(2), 1, {}, note).ok());
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(3), 2, {}, {.author = {}, .reason = "why"}).ok());
  // A publication that changes nothing has no author.
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(3), 2, {}, note).ok());
  const auto history = place_->MakePublisher()->History(10);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(EpochsOf(*history), (std::vector<uint64_t>{3, 2, 1}));
  EXPECT_EQ((*history)[0].note, (PublicationNote{"", "why"}));
  EXPECT_EQ((*history)[1].note, note);
  EXPECT_EQ((*history)[2].note, PublicationNote());
}

TEST_P(TablePublisherContract, NoteThatPeopleCouldMisread_IsRefusedBeforeAnythingIsWritten) {
  const std::string longest(PublicationNote::kMostBytes, 'x');
  for (const std::string& bad : {longest + "x", std::string("a\nb"), std::string("a\0b", 3),
                                 std::string("\xE2\x80\xAE"
                                             "b"),
                                 std::string("\xE2\x80\x8C"
                                             "alone"),
                                 std::string("a\xE2\x80\x8C b"),
                                 std::string("see redis://:pass@db1:6379"), std::string("\xFF")}) {
    for (const PublicationNote& note : {PublicationNote{bad, ""}, PublicationNote{"", bad}}) {
      const absl::Status status = publisher_->Publish(TableOfEpoch(1), 0, {}, note);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(MessageOf(status), HasSubstr(note.author.empty() ? "reason" : "author"));
    }
  }
  EXPECT_TRUE(publisher_->History(10)->empty());
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(1), 0, {}, {longest, longest}).ok());
  EXPECT_EQ(publisher_->History(1).value()[0].note, (PublicationNote{longest, longest}));
}

TEST_P(TablePublisherContract, ReasonAsPhonesAndPersiansWriteIt_IsKept) {
  // U+FE0F after a heart, U+200D between two people, U+200C within a word.
  const PublicationNote note = {"olga",
                                "\xE2\x9D\xA4\xEF\xB8\x8F "
                                "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x9A\x80 "
                                "\xD9\x85\xDB\x8C\xE2\x80\x8C\xD8\xAE\xD9\x88"};
  const absl::Status status = publisher_->Publish(TableOfEpoch(1), 0, {}, note);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(publisher_->History(1).value()[0].note, note);
}

TEST_P(TablePublisherContract, RacingPublishers_OneWinsEachRound) {
  constexpr int kThreads = 2;
  constexpr uint64_t kRounds = 10;
  std::vector<std::unique_ptr<TablePublisher>> handles;
  for (int i = 0; i < kThreads; ++i) handles.push_back(place_->MakePublisher());
  for (uint64_t round = 1; round <= kRounds; ++round) {
    std::vector<absl::Status> answers(kThreads);
    std::vector<RoutingTable> tables;
    for (uint32_t i = 0; i < kThreads; ++i) {
      tables.push_back(WithWeightOfFirst(TableOfEpoch(round), 1 + i));
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back(
          [&, i] { answers[i] = PublishSurely(*handles[i], tables[i], round - 1); });
    }
    for (std::thread& thread : threads) thread.join();
    int winners = 0;
    for (size_t i = 0; i < kThreads; ++i) {
      winners += answers[i].ok();
      EXPECT_TRUE(answers[i].ok() || absl::IsAborted(answers[i])) << answers[i];
      EXPECT_EQ(publisher_->Current().value() == tables[i], answers[i].ok());
    }
    ASSERT_EQ(winners, 1) << "round " << round;
  }
  EXPECT_EQ(publisher_->History(100)->size(), kRounds);
}

TEST_P(TablePublisherContract, History_IsNewestFirstAndEachIsFetched) {
  std::vector<uint64_t> published = {1, 2, 3, 10, 11};
  uint64_t before = 0;
  for (uint64_t epoch : published) {
    ASSERT_TRUE(publisher_->Publish(TableOfEpoch(epoch), before).ok());
    before = epoch;
  }
  absl::StatusOr<std::vector<PublishedEpoch>> history = publisher_->History(100);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(EpochsOf(*history), (std::vector<uint64_t>{11, 10, 3, 2, 1}));
  for (size_t i = 1; i < history->size(); ++i) {
    EXPECT_GE((*history)[i - 1].published_at, (*history)[i].published_at);
  }
  EXPECT_GT(history->back().published_at, absl::UnixEpoch());
  EXPECT_EQ(EpochsOf(publisher_->History(2).value()), (std::vector<uint64_t>{11, 10}));
  std::unique_ptr<TablePublisher> other = place_->MakePublisher();
  for (uint64_t epoch : published) {
    absl::StatusOr<RoutingTable> table = other->Fetch(epoch);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(*table, TableOfEpoch(epoch));
  }
}

TEST_P(TablePublisherContract, EpochNotKept_IsNotFoundNamingThoseThereAre) {
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(21), 0).ok());
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(35), 21).ok());
  absl::Status status = publisher_->Fetch(30).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("30"));
  EXPECT_THAT(MessageOf(status), HasSubstr("21"));
  EXPECT_THAT(MessageOf(status), HasSubstr("35"));
}

TEST_P(TablePublisherContract, AHundredTables_AreKept) {
  constexpr uint64_t kLast = 100;
  for (uint64_t epoch = 1; epoch <= kLast; ++epoch) {
    absl::Status status = publisher_->Publish(TableOfEpoch(epoch), epoch - 1);
    ASSERT_TRUE(status.ok()) << status;
  }
  absl::StatusOr<std::vector<PublishedEpoch>> history = publisher_->History(1000);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_GE(history->size(), 100u);
  EXPECT_EQ(history->front().epoch, kLast);
  EXPECT_EQ(publisher_->Fetch(1).value(), TableOfEpoch(1));
  EXPECT_EQ(publisher_->Fetch(kLast).value(), TableOfEpoch(kLast));
}

TEST_P(TablePublisherContract, BigTable_ComesBackWhole) {
  RoutingTable table = TableOfAllRanges(1);
  absl::Status status = publisher_->Publish(table, 0);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(publisher_->Current().value(), table);
  EXPECT_EQ(publisher_->Fetch(1).value(), table);
  ASSERT_TRUE(PublishAnyway(*publisher_, TableOfEpoch(2), 1).ok());
  EXPECT_EQ(publisher_->Fetch(1).value(), table);
}

TEST_P(TablePublisherContract, RestoredTable_IsPublishedAsTheEpochAfterTheNewest) {
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(3), 0).ok());
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(8), 3).ok());
  absl::StatusOr<RoutingTable> restored = RestoreTable(*publisher_, 3);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->epoch(), 9u);
  RoutingTable old = TableOfEpoch(3);
  EXPECT_EQ(*restored, RoutingTable::Make(9, old.shards(), old.ranges(), old.moves()).value());
  EXPECT_EQ(publisher_->Current().value(), *restored);
  EXPECT_EQ(EpochsOf(publisher_->History(10).value()), (std::vector<uint64_t>{9, 8, 3}));
  EXPECT_TRUE(absl::IsNotFound(RestoreTable(*publisher_, 4).status()));
}

TEST_P(TablePublisherContract, NextEpoch_IsAfterTheNewestAndAllThatAreKept) {
  EXPECT_EQ(NextEpoch(*publisher_, 0).value(), 1u);
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(8), 0).ok());
  EXPECT_EQ(NextEpoch(*publisher_, 8).value(), 9u);
  EXPECT_EQ(NextEpoch(*publisher_, 3).value(), 9u) << "where an older one was put in its place";
  EXPECT_EQ(NextEpoch(*publisher_, 10).value(), 11u);
  absl::Status status = NextEpoch(*publisher_, RoutingTable::kMaxEpoch).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
}

// The clobber that lost another operator's half-done move.
TEST_P(TablePublisherContract, MoveInProgress_IsDroppedOrChangedByNameOnly) {
  RoutingTable first = TableOfEpoch(1);
  ASSERT_TRUE(publisher_->Publish(first, 0).ok());
  RoutingTable begun = NextWithMoves(first, {{0, 0, 2, 2500}, {500, 599, 2, 0, 1}});
  ASSERT_TRUE(publisher_->Publish(begun, 1).ok()) << "a move may begin";
  for (const std::vector<VnodeMove>& moves : {std::vector<VnodeMove>{{0, 0, 2, 2500}},
                                              {{0, 0, 2, 2500}, {500, 599, 2, 100, 1}},
                                              {{0, 0, 2, 2500}, {500, 599, 2, 0, 2}},
                                              {{0, 0, 2, 2500}, {500, 599, 3, 0, 1}}}) {
    absl::Status status = publisher_->Publish(NextWithMoves(begun, moves), 2);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("the move in progress of vnodes 500..599"));
    EXPECT_EQ(publisher_->Current().value(), begun);
  }
  RoutingTable further = NextWithMoves(begun, {{0, 0, 2, 2500}, {500, 599, 2, 100, 2}});
  GuardedChanges too_much{.moves = {{499, 599}}};
  absl::Status status = publisher_->Publish(further, 2, too_much);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  GuardedChanges exactly{.moves = {{500, 599}}};
  status = publisher_->Publish(further, 2, exactly);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(publisher_->Publish(further, 2, exactly).ok()) << "repeated";
  EXPECT_EQ(publisher_->Current().value(), further);
}

TEST_P(TablePublisherContract, AnotherOwnerOrLostShard_IsPublishedByNameOnly) {
  RoutingTable first = TableOfEpoch(1);
  ASSERT_TRUE(publisher_->Publish(first, 0).ok());
  std::vector<Shard> shards = first.shards();
  shards.pop_back();
  RoutingTable next = RoutingTable::Make(2, shards, {{65535, 1}}, {{0, 0, 2, 2500}}).value();
  absl::Status status = publisher_->Publish(next, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("vnodes 1001..65535 another owner"));
  EXPECT_THAT(MessageOf(status), HasSubstr("drops shard 3 orders-3"));
  status = publisher_->Publish(next, 1, {.owners = {{1001, 65535}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(publisher_->Publish(next, 1, {.owners = {{1001, 65535}}, .shards = {3}}).ok());
}

// A stale file did this, with exit 0: orders went to the database of another shard.
TEST_P(TablePublisherContract, EndpointOrNameOfAShardInUse_IsPublishedByNameOnly) {
  RoutingTable first = TableOfEpoch(1);
  ASSERT_TRUE(publisher_->Publish(first, 0).ok());
  std::vector<Shard> shards = first.shards();
  std::swap(shards[0].endpoint, shards[2].endpoint);
  shards[1].name = "renamed";
  RoutingTable next = RoutingTable::Make(2, shards, first.ranges(), first.moves()).value();
  absl::Status status = publisher_->Publish(next, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(MessageOf(status),
              HasSubstr("gives shard 1 orders-1 the endpoint of shard 3 orders-3, "
                        "mysql://host:3306/orders-3; renames shard 2 orders-2 to renamed; "
                        "gives shard 3 orders-3 the endpoint of shard 1 orders-1"));
  status = publisher_->Publish(next, 1, {.changed_shards = {1, 3}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(publisher_->Current().value(), first);
  status = publisher_->Publish(next, 1, {.changed_shards = {1, 2, 3}});
  EXPECT_TRUE(status.ok()) << status;
  shards[0].endpoint = "mysql://elsewhere";
  next = RoutingTable::Make(3, shards, first.ranges(), first.moves()).value();
  EXPECT_THAT(MessageOf(publisher_->Publish(next, 2)),
              HasSubstr("changes the endpoint of shard 1 orders-1 from "
                        "mysql://host:3306/orders-3 to mysql://elsewhere"));
}

TEST_P(TablePublisherContract, AnotherNewestThanExpected_IsTheCauseForAnyEpoch) {
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(4), 0).ok());
  for (uint64_t epoch : {1, 4, 9}) {
    absl::Status status = publisher_->Publish(TableOfEpoch(epoch), 9);
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("the highest epoch here is 4, not the expected 9"));
  }
}

TEST_P(TablePublisherContract, JumpOfEpochs_IsPublishedByNameOnly) {
  absl::Status status = publisher_->Publish(TableOfEpoch(1001), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(1000), 0).ok());
  status = publisher_->Publish(TableOfEpoch(2001), 1000);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("from epoch 1000 to 2001"));
  EXPECT_TRUE(publisher_->Publish(TableOfEpoch(2001), 1000, {.epoch = 2001}).ok());
}

TEST_P(TablePublisherContract, TableOfAnotherPlace_IsNeverPublished) {
  const std::string ours = "9f1c02d7b5a64e38", other = "0000000000000001";
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(1), 0).ok());
  ASSERT_TRUE(publisher_->Publish(WithTableId(TableOfEpoch(2), ours), 1).ok()) << "it gets an id";
  for (const std::string& id : {other, std::string()}) {
    absl::Status status = publisher_->Publish(WithTableId(TableOfEpoch(3), id), 2);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("/table_id: "));
    EXPECT_THAT(MessageOf(status), HasSubstr(ours));
  }
  EXPECT_TRUE(publisher_->Publish(WithTableId(TableOfEpoch(3), ours), 2).ok());
  // One of before there were ids is restored as the table that it became.
  EXPECT_EQ(RestoreTable(*publisher_, 1)->table_id(), ours);
}

TEST_P(TablePublisherContract, PlaceThatSawLess_ReportsThatItWasPutBack) {
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(4), 0).ok());
  absl::Status status = publisher_->Publish(TableOfEpoch(10), 9);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("restored to an older state"));
}

TEST_P(TablePublisherContract, RestoreWhileAMoveIsInProgress_NeedsItsName) {
  RoutingTable first = TableOfEpoch(1);
  ASSERT_TRUE(publisher_->Publish(first, 0).ok());
  ASSERT_TRUE(
      publisher_->Publish(NextWithMoves(first, {{0, 0, 2, 2500}, {500, 599, 2, 0}}), 1).ok());
  absl::Status status = RestoreTable(*publisher_, 1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("vnodes 500..599"));
  RestoreOptions options;
  options.named.moves = {{500, 599}};
  EXPECT_EQ(RestoreTable(*publisher_, 1, options)->epoch(), 3u);
}

// This happened after an old etcd snapshot: routers had epoch 9, and epoch 5 was published again.
TEST_P(TablePublisherContract, RestoreBelowTheRouters_NeedsThatTheLossIsKnown) {
  for (uint64_t epoch : {1, 2, 3, 4}) {
    ASSERT_TRUE(publisher_->Publish(TableOfEpoch(epoch), epoch - 1).ok());
  }
  RestoreOptions options;
  options.above = 3;
  EXPECT_EQ(RestoreTable(*publisher_, 2, options)->epoch(), 5u) << "the place has seen it all";
  options.above = 9;
  for (std::optional<uint64_t> lost_after :
       {std::optional<uint64_t>(), std::optional<uint64_t>(4)}) {
    options.lost_after = lost_after;
    absl::Status status = RestoreTable(*publisher_, 2, options).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(MessageOf(status),
                HasSubstr("the highest epoch here is 5, and routers have epoch 9"));
  }
  EXPECT_EQ(publisher_->Current()->epoch(), 5u);
  options.lost_after = 5;
  EXPECT_EQ(RestoreTable(*publisher_, 2, options)->epoch(), 10u);
  options.above = 5000;
  options.lost_after = 10;
  absl::Status jump = RestoreTable(*publisher_, 2, options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(jump)) << jump << ": a mistyped epoch is refused";
  EXPECT_EQ(publisher_->Current()->epoch(), 10u);
  options.named.epoch = 5001;
  EXPECT_EQ(RestoreTable(*publisher_, 2, options)->epoch(), 5001u) << "a jump that is named";
  options.named.epoch = 0;
  options.above = 4;
  EXPECT_TRUE(absl::IsInvalidArgument(RestoreTable(*publisher_, 2, options).status()));
}

TEST_P(TablePublisherContract, NoTableThere_IsDataLossWithThePointer) {
  ASSERT_TRUE(publisher_->Publish(TableOfEpoch(1), 0).ok());
  bool put = place_->PutRaw("{\"epoch\": 2, \"shards\": \"none\", \"ranges\": []}");
  ASSERT_EQ(put, GetParam().takes_any_text);
  absl::StatusOr<RoutingTable> current = publisher_->Current();
  if (put) {
    EXPECT_TRUE(absl::IsDataLoss(current.status())) << current.status();
    EXPECT_THAT(MessageOf(current.status()), HasSubstr("/shards: "));
  } else {
    EXPECT_EQ(current.value(), TableOfEpoch(1));
  }
}

}  // namespace locus
