// SPDX-License-Identifier: Apache-2.0
#include "locus/typed_sequences.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::Time At(const char* text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return time;
}

class TypedSequencesTest : public ::testing::Test {
 protected:
  TypedSequencesTest()
      : sequences_(
            types_,
            [this](const SequencerOptions& options) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
              ++opened_;
              return std::shared_ptr<Sequencer>(counters_->Share(options).value());
            }) {
    type_.name = "invoices";
    type_.period = SequenceType::Period::kDay;
    type_.zone = "Asia/Shanghai";
    type_.pattern = "{date:yyyyMMdd}-{shop:2}-{seq:4}";
    type_.step = 5;
  }

  std::shared_ptr<MemorySequenceTypeStore> types_ = std::make_shared<MemorySequenceTypeStore>();
  std::unique_ptr<MemorySequencer> counters_ = MemorySequencer::Create({}).value();
  int opened_ = 0;
  SequenceType type_;
  TypedSequences sequences_;
};

TEST_F(TypedSequencesTest, Counter_IsThatOfTheTypeAndTheTime) {
  const absl::Time time = At("2026-11-25T16:00:00Z");
  EXPECT_TRUE(absl::IsNotFound(sequences_.Open("invoices", "k", time).status()));
  type_ = types_->Create(type_).value();
  const TypedCounter counter = sequences_.Open("invoices", "k", time).value();
  EXPECT_EQ(counter.name, "invoices:k:20261126");
  EXPECT_EQ(counter.group, "20261126");
  EXPECT_EQ(counter.type.version, type_.version);
  const SequenceBatch batch = counter.counters->NextBatch(counter.name, 2).value();
  const std::vector<NamedValue> shop = {{"shop", "7"}};
  EXPECT_THAT(counter.Written(batch, shop).value(),
              ElementsAre("20261126-07-0005", "20261126-07-0010"));
  EXPECT_TRUE(absl::IsInvalidArgument(counter.Written(batch, {}).status()));
  EXPECT_EQ(opened_, 1);
  EXPECT_TRUE(
      absl::IsInvalidArgument(sequences_.Open("invoices", std::string(401, 'k'), time).status()));
}

TEST_F(TypedSequencesTest, TimeThatIsShownTwice_IsOfTheLaterGroup) {
  type_.zone = "America/St_Johns";
  type_.pattern = "{date:yyyyMMdd}-{seq:4}";
  type_ = types_->Create(type_).value();
  // A minute after midnight the clocks went back to a minute after 23:00.
  for (const char* const time : {"2010-11-07T02:30:30Z", "2010-11-07T02:40:00Z"}) {
    const TypedCounter counter = sequences_.Open("invoices", "", At(time)).value();
    EXPECT_EQ(counter.name, "invoices::20101107") << time;
    EXPECT_EQ(counter.group, "20101107");
    EXPECT_EQ(counter.Written(5, {}).value(), "20101107-0005") << time;
  }
}

TEST_F(TypedSequencesTest, WaysOfCounting_AreOpenedOnceEach) {
  type_ = types_->Create(type_).value();
  const absl::Time time = At("2026-11-25T16:00:00Z");
  const TypedCounter a = sequences_.Open("invoices", "a", time).value();
  const TypedCounter b = sequences_.Open("invoices", "b", time).value();
  EXPECT_EQ(a.counters, b.counters);
  EXPECT_EQ(opened_, 1);
  type_.step = 7;
  type_ = types_->Alter(type_).value();
  const TypedCounter altered = sequences_.Open("invoices", "a", time).value();
  EXPECT_EQ(altered.counters->options().step, 7);
  EXPECT_EQ(a.counters->options().step, 5);
  EXPECT_EQ(opened_, 2);
  auto generator = sequences_.MakeGenerator("invoices", "c", {});
  ASSERT_TRUE(generator.ok()) << generator.status();
  EXPECT_EQ(opened_, 2);
}

TEST_F(TypedSequencesTest, WantedCounting_IsComparedWithTheType) {
  type_ = types_->Create(type_).value();
  const absl::Time time = At("2026-11-25T16:00:00Z");
  EXPECT_TRUE(sequences_
                  .Open("invoices", "", time,
                        {.start = 5, .step = 5, .max_value = 9999, .ttl = absl::ZeroDuration()})
                  .ok());
  EXPECT_TRUE(sequences_.Open("invoices", "", time, {.start = 0}).ok()) << "0 is the step";
  for (const auto& [wanted, why] : std::vector<std::pair<WantedCounting, std::string>>{
           {{.step = 1}, "step is 1, but sequence type invoices has 5"},
           {{.start = 1}, "start is 1"},
           {{.max_value = 10}, "max_value is 10"},
           {{.at_max = SequencerOptions::AtMax::kWrap}, "at_max is wrap"},
           {{.ttl = absl::Hours(48)}, "ttl is 48h"}}) {
    const absl::Status status = sequences_.Open("invoices", "", time, wanted).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
}

}  // namespace
}  // namespace locus
