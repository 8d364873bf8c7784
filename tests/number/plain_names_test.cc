// SPDX-License-Identifier: Apache-2.0
#include "src/number/plain_names.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/testing/manual_clock.h"
#include "src/base/os/check.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using Look = Sequencer::NameLook;

SequenceType Named(const std::string& name) {
  SequenceType type;
  type.name = name;
  return type;
}

class PlainNamesTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<SequenceTypeStore>> Open() {
    ++opened_;
    LOCUS_RETURN_IF_ERROR(away_);
    return types_;
  }

  fakes::ManualClock clock_;
  const std::shared_ptr<SequenceTypeStore> types_ = std::make_shared<MemorySequenceTypeStore>();
  absl::Status away_;
  int opened_ = 0;
  internal::PlainNames names_{[this] { return Open(); }, clock_};
};

TEST_F(PlainNamesTest, NameThatNoTypeCanHave_CostsNoLook) {
  for (const char* name : {"Orders", "a.b", "A:b", "\xc3\xa9", ":", ":a", "a/b:c"}) {
    EXPECT_TRUE(names_.Check(name, Look::kBefore).ok()) << name;
  }
  EXPECT_EQ(opened_, 0);
}

TEST_F(PlainNamesTest, StoreWithoutTypes_CountsAnyName) {
  away_ = absl::NotFoundError("no table of types");
  EXPECT_TRUE(names_.Check("invoices", Look::kBefore).ok());
  away_ = absl::OkStatus();
  ASSERT_TRUE(types_->Create(Named("invoices")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(names_.Check("invoices", Look::kBegun)));
}

TEST_F(PlainNamesTest, StoreWithoutTypes_IsOpenedOnceAMinuteForNamesInUse) {
  away_ = absl::NotFoundError("no table of types");
  for (int minute = 1; minute <= 3; ++minute) {
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(names_.Check(absl::StrCat("n", i), Look::kBefore).ok());
    }
    EXPECT_EQ(opened_, minute);
    clock_.Advance(internal::PlainNames::kLooksEvery);
  }
}

TEST(PlainNamesOpenTest, StoreThatDoesNotAnswer_KeepsNoOtherNameWaiting) {
  std::atomic<int> opening = 0;
  std::atomic<bool> answers = false;
  internal::PlainNames names([&]() -> absl::StatusOr<std::shared_ptr<SequenceTypeStore>> {
    if (++opening == 1) {
      while (!answers) std::this_thread::yield();
      return absl::UnavailableError("gone");
    }
    return std::make_shared<MemorySequenceTypeStore>();
  });
  absl::Status first;
  std::thread waits([&] { first = names.Check("a", Look::kBefore); });
  while (opening == 0) std::this_thread::yield();
  EXPECT_TRUE(names.Check("b", Look::kBefore).ok());
  answers = true;
  waits.join();
  EXPECT_TRUE(absl::IsUnavailable(first)) << first;
}

// A name that cannot be checked is not taken for one without a type.
TEST_F(PlainNamesTest, StoreOfTypesThatCannotBeRead_CountsNothing) {
  for (const absl::Status& why :
       {absl::UnavailableError("gone"), absl::FailedPreconditionError("SELECT command denied")}) {
    away_ = why;
    const absl::Status status = names_.Check("invoices", Look::kBefore);
    EXPECT_EQ(status.code(), why.code());
    EXPECT_THAT(status.message(), HasSubstr("whether counter \"invoices\" is of a sequence type"));
    EXPECT_THAT(status.message(), HasSubstr(why.message()));
  }
  away_ = absl::OkStatus();
  EXPECT_TRUE(names_.Check("invoices", Look::kBefore).ok());
}

TEST_F(PlainNamesTest, TypeThatWasCreatedInSpiteOfItsCounter_IsNoticedWithinAMinute) {
  ASSERT_TRUE(names_.Check("invoices", Look::kBefore).ok());
  ASSERT_TRUE(types_->Create(Named("invoices")).ok());
  EXPECT_TRUE(names_.Check("invoices", Look::kBefore).ok()) << "no look for each number";
  clock_.Advance(internal::PlainNames::kLooksEvery);
  EXPECT_TRUE(absl::IsFailedPrecondition(names_.Check("invoices", Look::kBefore)));
}

TEST_F(PlainNamesTest, CounterThatBegins_IsLookedAtAgain) {
  ASSERT_TRUE(names_.Check("invoices", Look::kBefore).ok());
  ASSERT_TRUE(types_->Create(Named("invoices")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(names_.Check("invoices", Look::kBegun)));
}

TEST_F(PlainNamesTest, MoreNamesThanAreKept_AreLookedAtAgain) {
  for (size_t i = 0; i <= internal::PlainNames::kMostNames; ++i) {
    ASSERT_TRUE(names_.Check(absl::StrCat("n", i), Look::kBefore).ok());
  }
  ASSERT_TRUE(types_->Create(Named("n0")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(names_.Check("n0", Look::kBefore)));
}

// A sequencer of an engine's own Open.
TEST(RefuseNamesOfTypesTest, SequencerOfOnesOwn_RefusesThemToo) {
  auto types = std::make_shared<MemorySequenceTypeStore>();
  ASSERT_TRUE(types->Create(Named("invoices")).ok());
  std::shared_ptr<Sequencer> counters = MemorySequencer::Create({}).value();
  RefuseNamesOfTypes(*counters, types);
  EXPECT_TRUE(absl::IsFailedPrecondition(counters->Next("invoices").status()));
  EXPECT_TRUE(absl::IsNotFound(counters->Get("invoices").status())) << "nothing was taken";
  EXPECT_EQ(counters->Next("tickets").value(), 1);
}

// A type and a counter of its name are begun at the same time: never do both give numbers.
TEST(RefuseNamesOfTypesTest, TypeAndCounterBegunAtOnce_AreNeverBoth) {
  int counted = 0;
  int created = 0;
  for (int round = 0; round < 500; ++round) {
    auto types = std::make_shared<MemorySequenceTypeStore>();
    std::shared_ptr<Sequencer> counters = MemorySequencer::Create({}).value();
    RefuseNamesOfTypes(*counters, types);
    types->set_plain_value(
        [&plain = *counters](const std::string& name) { return plain.Get(name); });
    std::atomic<int> ready = 0;
    const auto meet = [&ready] {
      ++ready;
      while (ready < 2) {
      }
    };
    bool is_created = false;
    std::thread creates([&] {
      meet();
      is_created = types->Create(Named("a")).ok();
    });
    meet();
    const bool is_counted = counters->Next("a").ok();
    creates.join();
    ASSERT_FALSE(is_created && is_counted) << "round " << round;
    counted += is_counted;
    created += is_created;
  }
  EXPECT_GT(counted + created, 0);
}

}  // namespace
}  // namespace locus
