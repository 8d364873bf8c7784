// SPDX-License-Identifier: Apache-2.0
// Counters that are opened by URI, and the names of sequence types.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/sqlite.h"
#include "locus/open.h"
#include "locus/segment_sequence.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PlainCountersTest : public ::testing::Test {
 protected:
  PlainCountersTest() {
    std::filesystem::create_directory(directory_);
    types_ = OpenSequenceTypeStore(uri_, {.create = true}).value();
  }
  ~PlainCountersTest() override { std::filesystem::remove_all(directory_); }

  static SequenceType Invoices() {
    SequenceType type;
    type.name = "invoices";
    return type;
  }
  // The next number of the type's counter of the key "".
  absl::StatusOr<int64_t> NextOfType() {
    auto sequences = OpenTypedSequences(uri_).value();
    TypedCounter counter = sequences->Open("invoices", "", absl::Now()).value();
    return counter.counters->Next(counter.name);
  }
  std::unique_ptr<Sequencer> Plain(SequencerOptions options = {}) {
    return OpenSequencer(uri_, {.sequencer = std::move(options)}).value();
  }

  const std::string directory_ = ::testing::TempDir() + "/plain_counters_test." +
                                 std::to_string(getpid()) + "." +
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = directory_ + "/numbers.db";
  const std::string uri_ = "sqlite:" + path_;
  std::shared_ptr<SequenceTypeStore> types_;
};

TEST_F(PlainCountersTest, NameOfAType_IsNotCountedPlainly) {
  const SequenceType type = types_->Create(Invoices()).value();
  ASSERT_EQ(NextOfType().value(), 1);
  auto plain = Plain();
  for (const char* name : {"invoices", "invoices:", "invoices:north", "invoices::20261125"}) {
    const absl::Status status = plain->Next(name).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << name << ": " << status;
    EXPECT_THAT(status.message(), AllOf(HasSubstr("sequence type invoices"), HasSubstr(name),
                                        HasSubstr("TypedSequences")));
    EXPECT_TRUE(absl::IsFailedPrecondition(plain->NextBatch(name, 2).status())) << name;
    EXPECT_TRUE(absl::IsFailedPrecondition(plain->Set(name, 7))) << name;
    EXPECT_TRUE(absl::IsFailedPrecondition(plain->SetIfNotExists(name, 7).status())) << name;
  }
  EXPECT_EQ(plain->Get("invoices:").value(), 1) << "reading repeats nothing";
  EXPECT_TRUE(absl::IsFailedPrecondition(Plain({.key_prefix = "invo"})->Next("ices").status()));
  EXPECT_EQ(NextOfType().value(), 2) << "what was refused took no number";
  ASSERT_TRUE(types_->Drop("invoices", type.version).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Plain()->Next("invoices").status())) << "dropped";
  EXPECT_EQ(plain->Next("tickets").value(), 1);
  EXPECT_EQ(plain->Next("Invoices").value(), 1) << "no name of a type";
}

TEST_F(PlainCountersTest, SegmentSequence_OfATypesName_IsRefusedWithTheReason) {
  ASSERT_TRUE(types_->Create(Invoices()).ok());
  auto sequence = SegmentSequence::Create(Plain(), "invoices").value();
  const absl::Status status = sequence->Next(absl::Seconds(10)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("sequence type invoices"));
}

TEST_F(PlainCountersTest, WayOfATypesCounting_TakesNoOtherNames) {
  const SequenceType type = types_->Create(Invoices()).value();
  auto counters = OpenSequencer(uri_, {.sequencer = type.counter_options()}).value();
  EXPECT_EQ(counters->Next(type.CounterName("", absl::Now()).value()).value(), 1);
  const absl::Status status = counters->Next("invoices").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

// A counter in use and a type of its name would give the same numbers.
TEST_F(PlainCountersTest, TypeOfACountersName_IsCreatedOnlyIfNumbersMayRepeat) {
  ASSERT_EQ(Plain()->Next("invoices").value(), 1);
  const absl::Status status = types_->Create(Invoices()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), AllOf(HasSubstr("invoices"), HasSubstr("is at 1")));
  EXPECT_TRUE(absl::IsNotFound(types_->FindAny("invoices").status())) << "nothing stays of it";
  EXPECT_EQ(Plain()->Next("invoices").value(), 2);
  EXPECT_TRUE(types_->Create(Invoices(), SequenceTypeStore::Repeats::kAllowed).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Plain()->Next("invoices").status()));
}

}  // namespace
}  // namespace locus
