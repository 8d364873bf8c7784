// SPDX-License-Identifier: Apache-2.0
#include "tests/source/table_source_contract.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace locus {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TableSourceContract);

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr absl::Duration kLong = absl::Seconds(60);

}  // namespace

TableSourceContract::TableSourceContract()
    : place_(GetParam().make()), source_(place_->Follow()), publisher_(place_->MakePublisher()) {}

void TableSourceContract::Put(const RoutingTable& table) {
  if (publisher_ == nullptr) {
    ASSERT_TRUE(place_->PutRaw(table.ToJson()));
    return;
  }
  absl::Status status = publisher_->Publish(table, published_);
  ASSERT_TRUE(status.ok()) << status;
  published_ = table.epoch();
}

absl::StatusOr<std::optional<SourcedTable>> TableSourceContract::NextWithin(
    const std::string& known, absl::Duration within) {
  return source_->Next(known, SteadyClock::now() + absl::ToChronoNanoseconds(within));
}

SourcedTable TableSourceContract::NextNews(const std::string& known) {
  absl::StatusOr<std::optional<SourcedTable>> answer = NextWithin(known, kLong);
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (!answer.ok()) return {};
  EXPECT_TRUE(answer->has_value()) << "no news although there are";
  return answer->value_or(SourcedTable{});
}

TEST_P(TableSourceContract, NothingThere_IsNotFoundNamingThePlace) {
  auto answer = NextWithin("", absl::Seconds(1));
  ASSERT_TRUE(absl::IsNotFound(answer.status())) << answer.status();
  EXPECT_FALSE(source_->place().empty());
}

TEST_P(TableSourceContract, NothingKnown_AnswersTheCurrentTable) {
  Put(TableOfEpoch(1));
  Put(TableOfEpoch(2));
  SourcedTable found = NextNews("");
  EXPECT_FALSE(found.version.empty());
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(found.document);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table, TableOfEpoch(2));
}

TEST_P(TableSourceContract, FirstTable_IsFoundWhereThereWasNone) {
  EXPECT_TRUE(absl::IsNotFound(NextWithin("", absl::Milliseconds(200)).status()));
  Put(TableOfEpoch(1));
  EXPECT_EQ(RoutingTable::Parse(NextNews("").document).value(), TableOfEpoch(1));
}

TEST_P(TableSourceContract, NoNews_IsNulloptByTheDeadlineNotBefore) {
  Put(TableOfEpoch(1));
  std::string known = NextNews("").version;
  for (int i = 0; i < 2; ++i) {
    SteadyClock::time_point begin = SteadyClock::now();
    auto answer = NextWithin(known, absl::Milliseconds(300));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_FALSE(answer->has_value());
    EXPECT_GE(SteadyClock::now() - begin, std::chrono::milliseconds(250)) << "it would spin";
  }
}

TEST_P(TableSourceContract, DeadlinePassed_StillReportsWhetherThereAreNews) {
  Put(TableOfEpoch(1));
  std::string known = NextNews("").version;
  auto answer = NextWithin(known, -absl::Seconds(1));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->has_value());
}

TEST_P(TableSourceContract, VersionOfAnEarlierHandle_ContinuesFromThere) {
  Put(TableOfEpoch(1));
  std::string known = NextNews("").version;
  source_ = place_->Follow();
  auto answer = NextWithin(known, absl::Milliseconds(200));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->has_value());
  Put(TableOfEpoch(2));
  EXPECT_EQ(RoutingTable::Parse(NextNews(known).document).value().epoch(), 2u);
}

TEST_P(TableSourceContract, Published_WakesTheWaitingCall) {
  Put(TableOfEpoch(1));
  std::string known = NextNews("").version;
  SourcedTable found;
  std::thread waiting([&] { found = NextNews(known); });
  Put(TableOfEpoch(2));
  waiting.join();
  ASSERT_TRUE(RoutingTable::Parse(found.document).ok());
  EXPECT_EQ(RoutingTable::Parse(found.document)->epoch(), 2u);
  EXPECT_NE(found.version, known);
}

TEST_P(TableSourceContract, LookNow_EndsTheWaitLongBeforeItsDeadline) {
  Put(TableOfEpoch(1));
  std::string known = NextNews("").version;
  std::atomic<bool> returned = false;
  std::thread waiting([&] {
    auto answer = NextWithin(known, kLong * 10);
    EXPECT_TRUE(answer.ok()) << answer.status();
    EXPECT_FALSE(answer.ok() && answer->has_value());
    returned = true;
  });
  source_->LookNow();
  SteadyClock::time_point patience = SteadyClock::now() + absl::ToChronoNanoseconds(kLong);
  while (!returned && SteadyClock::now() < patience) std::this_thread::yield();
  EXPECT_TRUE(returned) << "LookNow is lost";
  if (!returned) Put(TableOfEpoch(2));
  waiting.join();
}

TEST_P(TableSourceContract, LookNowBeforeNext_IsKeptForIt) {
  Put(TableOfEpoch(1));
  std::string known = NextNews("").version;
  source_->LookNow();
  SteadyClock::time_point begin = SteadyClock::now();
  auto answer = NextWithin(known, kLong);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->has_value());
  EXPECT_LT(SteadyClock::now() - begin, absl::ToChronoNanoseconds(kLong / 2));
}

TEST_P(TableSourceContract, Burst_TheLastArrivesAndEpochsNeverFall) {
  constexpr uint64_t kLast = 1 + kBurst;
  Put(TableOfEpoch(1));
  SourcedTable found = NextNews("");
  uint64_t epoch = RoutingTable::Parse(found.document).value().epoch();
  std::thread publishing([this] {
    for (uint64_t next = 2; next <= kLast; ++next) Put(TableOfEpoch(next));
  });
  while (epoch < kLast) {
    found = NextNews(found.version);
    absl::StatusOr<RoutingTable> table = RoutingTable::Parse(found.document);
    if (!table.ok() || table->epoch() <= epoch) {
      ADD_FAILURE() << "after epoch " << epoch << ": " << table.status()
                    << (table.ok() ? absl::StrCat(" epoch ", table->epoch()) : "");
      break;
    }
    EXPECT_EQ(*table, TableOfEpoch(table->epoch())) << "a document of two tables";
    epoch = table->epoch();
  }
  publishing.join();
}

TEST_P(TableSourceContract, TwoSources_BothSeeEveryLastTable) {
  std::unique_ptr<TableSource> other = place_->Follow();
  for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
    Put(TableOfEpoch(epoch));
    SteadyClock::time_point deadline = SteadyClock::now() + absl::ToChronoNanoseconds(kLong);
    auto seen = other->Next("", deadline);
    ASSERT_TRUE(seen.ok() && seen->has_value()) << seen.status();
    EXPECT_EQ(RoutingTable::Parse((*seen)->document).value().epoch(), epoch);
    EXPECT_EQ(RoutingTable::Parse(NextNews("").document).value().epoch(), epoch);
  }
}

TEST_P(TableSourceContract, BigTable_ArrivesWhole) {
  RoutingTable table = TableOfAllRanges(1);
  Put(table);
  EXPECT_EQ(RoutingTable::Parse(NextNews("").document).value(), table);
}

TEST_P(TableSourceContract, NoTable_IsReportedAsItIs) {
  Put(TableOfEpoch(1));
  std::string known = NextNews("").version;
  std::string document = "{\"epoch\": 2, \"shards\": \"none\"}";
  bool put = place_->PutRaw(document);
  ASSERT_EQ(put, GetParam().takes_any_text);
  if (put) {
    EXPECT_EQ(NextNews(known).document, document);
  } else {
    EXPECT_EQ(RoutingTable::Parse(NextNews("").document).value().epoch(), 1u);
  }
}

TEST_P(TableSourceContract, OlderTable_IsReportedAsItIs) {
  Put(TableOfEpoch(7));
  std::string known = NextNews("").version;
  ASSERT_TRUE(place_->PutRaw(TableOfEpoch(3).ToJson()));
  EXPECT_EQ(RoutingTable::Parse(NextNews(known).document).value(), TableOfEpoch(3));
}

}  // namespace locus
