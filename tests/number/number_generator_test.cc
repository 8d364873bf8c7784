// SPDX-License-Identifier: Apache-2.0
#include "locus/number_generator.h"

#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/testing/faulty_sequencer.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using Period = SequenceType::Period;

absl::Time At(const char* text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return time;
}

// A store of types that fails on demand.
class FaultyTypes : public SequenceTypeStore {
 public:
  void FailWith(absl::Status status) { failure_ = std::move(status); }

 private:
  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) override {
    if (!failure_.ok()) return failure_;
    auto found = stored_.find(name);
    return found == stored_.end() ? std::nullopt : std::optional(found->second);
  }
  absl::StatusOr<std::map<std::string, Stored>> LoadAll() override { return stored_; }
  absl::StatusOr<bool> Swap(const std::string& name, uint64_t,
                            const std::optional<Stored>& next) override {
    if (next) {
      stored_[name] = *next;
    } else {
      stored_.erase(name);
    }
    return true;
  }

  absl::Status failure_;
  std::map<std::string, Stored> stored_;
};

// One process's generator; the test moves time, loading and the reading of types by hand.
class NumberGeneratorTest : public ::testing::Test {
 protected:
  NumberGeneratorTest() {
    options_.clock = &clock_;
    options_.executor = &executor_;
    type_.name = "invoices";
    type_.period = Period::kDay;
    type_.zone = "Asia/Shanghai";
    type_.pattern = "{date:yyyyMMdd}{seq:4}";
    type_.buffer = 10;
    type_.lifetime = absl::Seconds(60);
  }

  void Store() { type_ = types_->Create(type_).value(); }
  void Alter() { type_ = types_->Alter(type_).value(); }
  NumberGenerator::OpenCounters Open() {
    return [this](const SequencerOptions& options) {
      return absl::StatusOr<std::shared_ptr<Sequencer>>(counters_->Share(options).value());
    };
  }
  std::unique_ptr<NumberGenerator> Make(const std::string& key = "k") {
    auto generator = NumberGenerator::Create(types_, Open(), "invoices", key, options_);
    EXPECT_TRUE(generator.ok()) << generator.status();
    return *std::move(generator);
  }
  void Pass(absl::Duration by) {
    executor_.RunReady();
    clock_.Advance(by);
    executor_.RunDelayed();
  }
  absl::StatusOr<std::string> TryTake(NumberGenerator& generator,
                                      std::vector<FieldValue> values = {}) {
    absl::StatusOr<std::string> text;
    for (int i = 0; i < 50; ++i) {
      text = generator.TryNext(values);
      if (!absl::IsUnavailable(text.status())) return text;
      executor_.RunReady();
    }
    return text;
  }
  std::string Take(NumberGenerator& generator, std::vector<FieldValue> values = {}) {
    absl::StatusOr<std::string> text = TryTake(generator, std::move(values));
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
  }

  fakes::ManualClock clock_{At("2026-11-25T15:59:59Z")};  // a second before midnight in Shanghai
  fakes::ManualExecutor executor_;
  std::shared_ptr<FaultyTypes> types_ = std::make_shared<FaultyTypes>();
  std::unique_ptr<MemorySequencer> counters_ = MemorySequencer::Create({}).value();
  SequenceType type_;
  NumberGenerator::Options options_;
};

TEST_F(NumberGeneratorTest, Midnight_ChangesDateAndCounterAtOnce) {
  Store();
  auto generator = Make();
  EXPECT_TRUE(absl::IsUnavailable(generator->TryNext().status())) << "nothing is loaded yet";
  EXPECT_EQ(Take(*generator), "202611250001");
  EXPECT_EQ(Take(*generator), "202611250002");
  Pass(absl::Seconds(1) - absl::Nanoseconds(1));
  EXPECT_EQ(Take(*generator), "202611250003");
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(Take(*generator), "202611260001");
  EXPECT_EQ(counters_->Get("invoices:k:20261126").value() % 10, 0) << "segments of 10";
  NumberGeneratorStats stats = generator->Stats();
  EXPECT_EQ(stats.numbers, 4u);
  EXPECT_EQ(stats.rolled, 1u);
  EXPECT_EQ(stats.clock_behind, 0u);
  EXPECT_EQ(stats.type_version, type_.version);
}

TEST_F(NumberGeneratorTest, Leftovers_AreReturnedOrDroppedAsTheTypeSays) {
  for (auto leftovers : {SequenceType::Leftovers::kReturn, SequenceType::Leftovers::kDrop}) {
    types_ = std::make_shared<FaultyTypes>();
    type_.leftovers = leftovers;
    const bool returned = leftovers == SequenceType::Leftovers::kReturn;
    const std::string key(ToString(leftovers));
    Store();
    auto generator = Make(key);
    const std::string day = type_.CounterName(key, clock_.Now()).value();
    Take(*generator);
    Take(*generator);
    clock_.Advance(absl::Hours(24));
    Take(*generator);
    executor_.RunReady();
    EXPECT_EQ(counters_->Get(day).value(), returned ? 2 : 20) << day;
    EXPECT_EQ(generator->Stats().leftovers_returned, returned ? 18u : 0u);
    EXPECT_EQ(generator->Stats().leftovers_dropped, returned ? 0u : 18u);
    const std::string next = type_.CounterName(key, clock_.Now()).value();
    generator.reset();
    EXPECT_EQ(counters_->Get(next).value(), returned ? 1 : 20) << "also at the end of the process";
  }
}

TEST_F(NumberGeneratorTest, ClockSetBack_NeverGoesToAnEarlierGroup) {
  Store();
  auto generator = Make();
  Take(*generator);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Take(*generator), "202611260001");
  clock_.Jump(-absl::Hours(30));
  EXPECT_EQ(Take(*generator), "202611260002");
  EXPECT_EQ(Take(*generator), "202611260003");
  EXPECT_EQ(generator->Stats().clock_behind, 2u);
  clock_.Jump(absl::Hours(54) + absl::Seconds(1));
  EXPECT_EQ(Take(*generator), "202611270001");
  EXPECT_EQ(generator->Stats().clock_behind, 2u);
}

TEST_F(NumberGeneratorTest, DayThatIsShownTwice_RepeatsNothing) {
  type_.zone = "America/St_Johns";
  type_.pattern = "{date:yyyyMMddHHmmss}{seq:4}";
  Store();
  clock_.Jump(At("2010-11-07T02:29:30Z") - clock_.Now());
  auto generator = Make();
  std::set<std::string> days, numbers;
  for (int i = 0; i < 200; ++i) {
    std::string number = Take(*generator);
    EXPECT_TRUE(numbers.insert(number.substr(0, 8) + number.substr(14)).second) << number;
    days.insert(number.substr(0, 8));
    const bool began = clock_.Now() >= At("2010-11-07T02:30:00Z");
    EXPECT_EQ(number.substr(0, 8), began ? "20101107" : "20101106") << clock_.Now();
    clock_.Advance(absl::Seconds(30));
  }
  EXPECT_EQ(days, (std::set<std::string>{"20101106", "20101107"}));
}

TEST_F(NumberGeneratorTest, ChangedType_IsInForceWithinItsLifetime) {
  Store();
  auto generator = Make();
  EXPECT_EQ(Take(*generator), "202611250001");
  type_.step = 5;
  type_.pattern = "INV{date:yyyyMMdd}-{seq:6}";
  Alter();
  EXPECT_EQ(Take(*generator), "202611250002");
  clock_.Jump(absl::Minutes(1));
  Take(*generator);
  for (int i = 0; i < 2; ++i) Pass(type_.lifetime / 2);
  // The rest of the segment was given back: the counter was at 1 of the new day.
  EXPECT_EQ(Take(*generator), "INV20261126-000006");
  EXPECT_EQ(Take(*generator), "INV20261126-000011");
  EXPECT_EQ(generator->Type().version, type_.version);
  EXPECT_EQ(generator->Type().step, 5);
  EXPECT_EQ(generator->Stats().type_version, type_.version);
}

TEST_F(NumberGeneratorTest, DroppedType_IsRefusedUntilItIsCreatedAgain) {
  Store();
  auto generator = Make();
  Take(*generator);
  ASSERT_TRUE(types_->Drop("invoices", type_.version).ok());
  Pass(type_.lifetime);
  absl::Status status = generator->TryNext().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"invoices\" was dropped"));
  EXPECT_TRUE(absl::IsFailedPrecondition(generator->Next(absl::Hours(1)).status()));
  EXPECT_EQ(generator->Stats().type_version, 0u);
  EXPECT_EQ(generator->Stats().numbers, 1u);
  type_.version = 0;
  type_ = types_->Create(type_).value();
  Pass(type_.lifetime);
  EXPECT_EQ(Take(*generator), "202611260001");
}

TEST_F(NumberGeneratorTest, StoreThatFails_DoesNotStopTheNumbersInMemory) {
  Store();
  auto generator = Make();
  EXPECT_EQ(Take(*generator), "202611250001");
  for (const absl::Status& failure :
       {absl::UnavailableError("down"), absl::NotFoundError("no such file"),
        absl::DataLossError("torn")}) {
    types_->FailWith(failure);
    Pass(type_.lifetime);
    EXPECT_TRUE(TryTake(*generator).ok()) << failure;
    EXPECT_FALSE(generator->Stats().last_type_error.ok());
    EXPECT_EQ(generator->Stats().type_version, type_.version);
  }
  EXPECT_EQ(generator->Stats().type_failures, 3u);
  types_->FailWith(absl::OkStatus());
  Pass(type_.lifetime);
  EXPECT_TRUE(generator->Stats().last_type_error.ok());
}

TEST_F(NumberGeneratorTest, Fields_AreTheCallersInPatternOrder) {
  type_.pattern = "{shop:3}-{date:yyMMdd}-{seq:4}-{lane:A-Z;1}";
  Store();
  auto generator = Make();
  EXPECT_EQ(Take(*generator, {FieldValue::Uint64(7), FieldValue::Text("B")}), "007-261125-0001-B");
  EXPECT_TRUE(absl::IsInvalidArgument(TryTake(*generator).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      TryTake(*generator, {FieldValue::Uint64(7), FieldValue::Text("?")}).status()));
  EXPECT_TRUE(absl::IsOutOfRange(
      TryTake(*generator, {FieldValue::Uint64(1000), FieldValue::Text("B")}).status()));
  EXPECT_EQ(Take(*generator, {FieldValue::Uint64(7), FieldValue::Text("B")}), "007-261125-0005-B")
      << "refused values cost a number";
}

TEST_F(NumberGeneratorTest, TypeWithoutPattern_GivesDecimals) {
  type_.pattern = "";
  Store();
  absl::Status status = TryTake(*Make()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << "with a period they would repeat: " << status;
  types_ = std::make_shared<FaultyTypes>();
  type_.version = 0;
  type_.period = Period::kNone;
  type_.start = 41;
  Store();
  auto generator = Make();
  EXPECT_EQ(Take(*generator), "41");
  EXPECT_EQ(Take(*generator), "42");
  EXPECT_TRUE(absl::IsInvalidArgument(TryTake(*generator, {FieldValue::Uint64(1)}).status()));
}

TEST_F(NumberGeneratorTest, NamedFields_AreJudgedBeforeANumberIsDrawn) {
  type_.pattern = "{shop:3}-{date:yyMMdd}-{seq:4}-{lane:A-Z;1}";
  Store();
  auto generator = Make();
  auto take = [&](std::vector<NamedValue> named) {
    absl::StatusOr<std::string> text;
    for (int i = 0; i < 50; ++i) {
      text = generator->TryNextNamed(named);
      if (!absl::IsUnavailable(text.status())) break;
      executor_.RunReady();
    }
    return text;
  };
  EXPECT_EQ(take({{"lane", "B"}, {"shop", "007"}}).value(), "007-261125-0001-B");
  const std::vector<std::pair<std::vector<NamedValue>, std::string>> wrong = {
      {{{"lane", "B"}}, "field \"shop\" of type \"invoices\" needs a value"},
      {{}, "field \"shop\" of type \"invoices\" needs a value"},
      {{{"lane", "B"}, {"shop", "x"}}, "\"x\" is not a number of up to 3 digits"},
      {{{"lane", "?"}, {"shop", "1"}}, "lane"},
      {{{"lane", "B"}, {"shop", "1"}, {"shop", "1"}}, "\"shop\" of type \"invoices\" has two"},
      {{{"lane", "B"}, {"shop", "1"}, {"seq", "1"}}, "\"seq\" of type \"invoices\" is not given"},
      {{{"lane", "B"}, {"shop", "1"}, {"date", "1"}}, "\"date\" of type"},
      {{{"lane", "B"}, {"shop", "1"}, {"till", "1"}}, "\"till\" of type \"invoices\" is not in"}};
  for (const auto& [named, why] : wrong) {
    const absl::Status status = take(named).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(take({{"lane", "B"}, {"shop", "1000"}}).status()));
  EXPECT_EQ(take({{"shop", "7"}, {"lane", "C"}}).value(), "007-261125-0002-C");
}

TEST_F(NumberGeneratorTest, Blocks_AreOfOneGroupAndNeedNoPattern) {
  type_.pattern = "";
  type_.step = 5;
  Store();
  auto generator = Make();
  auto take = [&](int64_t count) {
    absl::StatusOr<NumberBlock> block;
    for (int i = 0; i < 50; ++i) {
      block = generator->TryNextBlock(count);
      if (!absl::IsUnavailable(block.status())) break;
      executor_.RunReady();
    }
    return block;
  };
  NumberBlock block = take(3).value();
  EXPECT_EQ(block.numbers.first, 5);
  EXPECT_EQ(block.numbers.last(), 15);
  EXPECT_EQ(block.group, "20261125");
  block = take(100).value();
  EXPECT_EQ(block.numbers.first, 20);
  EXPECT_EQ(block.numbers.count, 7) << "what is left of the segment of 10";
  clock_.Jump(absl::Seconds(1));
  block = take(1).value();
  EXPECT_EQ(block.numbers.first, 5);
  EXPECT_EQ(block.group, "20261126");
  EXPECT_TRUE(absl::IsInvalidArgument(take(0).status()));
}

TEST_F(NumberGeneratorTest, TypesThatComeIntoUse_AreReported) {
  std::vector<TypeSwitchEvent> told;
  options_.on_type = [&](const TypeSwitchEvent& event) { told.push_back(event); };
  Store();
  auto generator = Make();
  Take(*generator);
  EXPECT_TRUE(told.empty());
  type_.step = 5;
  const uint64_t before = type_.version;
  Alter();
  for (int i = 0; i < 2; ++i) Pass(type_.lifetime / 2);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].before.version, before);
  EXPECT_EQ(told[0].before.step, 1);
  EXPECT_EQ(told[0].after->version, type_.version);
  EXPECT_EQ(told[0].after->step, 5);
  ASSERT_TRUE(types_->Drop("invoices", type_.version).ok());
  for (int i = 0; i < 3; ++i) Pass(type_.lifetime / 2);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].before.version, type_.version);
  EXPECT_FALSE(told[1].after);
}

TEST_F(NumberGeneratorTest, UsedUpGroup_IsOutOfRangeUntilTheNextBegins) {
  type_.max_value = 3;
  Store();
  auto generator = Make();
  for (const char* number : {"202611250001", "202611250002", "202611250003"}) {
    EXPECT_EQ(Take(*generator), number);
  }
  EXPECT_TRUE(absl::IsOutOfRange(TryTake(*generator).status()));
  absl::Status status = generator->Next(absl::Hours(1)).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("invoices:k:20261125"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Take(*generator), "202611260001");
}

TEST_F(NumberGeneratorTest, WithoutTypeOrWithBadKey_IsNotCreated) {
  EXPECT_TRUE(absl::IsNotFound(
      NumberGenerator::Create(types_, Open(), "invoices", "k", options_).status()));
  Store();
  EXPECT_TRUE(absl::IsInvalidArgument(
      NumberGenerator::Create(types_, Open(), "invoices", std::string(401, 'k'), options_)
          .status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      NumberGenerator::Create(nullptr, Open(), "invoices", "k", options_).status()));
  options_.horizon = absl::ZeroDuration();
  EXPECT_TRUE(absl::IsInvalidArgument(
      NumberGenerator::Create(types_, Open(), "invoices", "k", options_).status()));
}

TEST_F(NumberGeneratorTest, ForkedChild_IsRefused) {
  Store();
  auto generator = Make();
  Take(*generator);
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(generator->TryNext().status()) &&
                   absl::IsFailedPrecondition(generator->Next(absl::Hours(1)).status()) &&
                   generator->Stats().numbers == 0;
    generator.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(Take(*generator), "202611250002");
}

}  // namespace
}  // namespace locus
