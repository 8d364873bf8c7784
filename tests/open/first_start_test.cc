// SPDX-License-Identifier: Apache-2.0
// A store of counters that was lost and made anew gives no number until an operator has spoken.
#include "src/open/first_start.h"

#include <sqlite3.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/open.h"
#include "locus/segment_sequence.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class FirstStartTest : public ::testing::Test {
 protected:
  FirstStartTest() { MakeStore(); }

  void MakeStore() { ASSERT_TRUE(OpenSequenceTypeStore(uri_, {.create = true}).ok()); }
  // As a service that was told to create what is missing finds it after a loss.
  void LoseStore() {
    sqlite3* db;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10'000);
    EXPECT_EQ(sqlite3_exec(db, "DELETE FROM locus_sequence", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }
  absl::Time Mark() { return MarkFirstStart(uri_, {}, absl::Now()).value(); }
  absl::StatusOr<std::unique_ptr<Sequencer>> Open() { return OpenSequencer(uri_, marked_); }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "numbers.db";
  const std::string uri_ = "sqlite:" + path_;
  const SequencerUriOptions marked_{.marked = true};
};

TEST_F(FirstStartTest, StoreWithoutAMark_IsRefusedWithWhatToDo) {
  const absl::Status refused = Open().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr(uri_ + " has no mark of a first start"));
  EXPECT_THAT(refused.message(), HasSubstr("locus seq create --store '" + uri_ + "' --first-ever"));
  EXPECT_THAT(refused.message(), HasSubstr("--counters-set"));
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenTypedSequences(uri_, marked_).status()));
  EXPECT_EQ(OpenSequencer(uri_).value()->Next("Tickets").value(), 1) << "marked is off";
  EXPECT_TRUE(absl::IsFailedPrecondition(Open().status())) << "a counter is no mark";
}

TEST_F(FirstStartTest, CounterOfTheMarksName_IsNotForCallers) {
  const auto plain = OpenSequencer(uri_).value();
  const std::string name = internal::FirstStart::kName;
  EXPECT_TRUE(absl::IsFailedPrecondition(plain->Next(name).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(plain->Set(name, 7)));
  EXPECT_TRUE(absl::IsFailedPrecondition(plain->SetIfNotExists(name, 7).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Open().status())) << "a caller marked the store";
}

TEST_F(FirstStartTest, Mark_StaysAndKeepsItsTime) {
  const absl::Time marked = absl::FromUnixSeconds(1'700'000'000);
  EXPECT_EQ(MarkFirstStart(uri_, {}, marked).value(), marked);
  EXPECT_EQ(Mark(), marked) << "the second one changes nothing";
  EXPECT_EQ(Open().value()->Next("Tickets").value(), 1);
  EXPECT_EQ(Open().value()->Next("Tickets").value(), 2);
}

TEST_F(FirstStartTest, StoreThatWasLostUnderAProcess_BeginsNoCounterInAnyCall) {
  Mark();
  const auto one = Open().value();
  const auto other = Open().value();
  ASSERT_EQ(one->Next("Tickets").value(), 1);
  LoseStore();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(absl::IsFailedPrecondition(one->Next("Invoices").status())) << i;
    EXPECT_TRUE(absl::IsFailedPrecondition(other->Next("Invoices").status())) << i;
    EXPECT_TRUE(absl::IsFailedPrecondition(one->NextBatch("Returns", 10).status())) << i;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(one->Next("Tickets").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(one->Next("Tickets").status()))
      << "it begins no more, and the mark is gone";
  // The operator's part.
  ASSERT_TRUE(OpenSequencer(uri_).value()->Set("Tickets", 5000).ok());
  Mark();
  EXPECT_EQ(one->Next("Tickets").value(), 5001);
}

TEST_F(FirstStartTest, CountersOfTypes_BeginWithAMarkOnly) {
  Mark();
  SequenceType type;
  type.name = "bills";
  ASSERT_TRUE(OpenSequenceTypeStore(uri_).value()->Create(type).ok());
  const auto sequences = OpenTypedSequences(uri_, marked_).value();
  const auto next = [&](const std::string& key) {
    TypedCounter counter = sequences->Open("bills", key, absl::Now()).value();
    return counter.counters->Next(counter.name);
  };
  EXPECT_EQ(next("a").value(), 1);
  LoseStore();
  EXPECT_TRUE(absl::IsFailedPrecondition(next("b").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(next("b").status()));
}

TEST_F(FirstStartTest, SegmentsInMemory_AreUsedUpAndNoMoreAreTaken) {
  Mark();
  std::shared_ptr<Sequencer> counters = Open().value();
  const auto sequence = SegmentSequence::Create(counters, "Tickets").value();
  ASSERT_EQ(sequence->Next(absl::Seconds(10)).value(), 1);
  LoseStore();
  absl::StatusOr<int64_t> number;
  int64_t last = 1;
  while ((number = sequence->Next(absl::Seconds(10))).ok())
    EXPECT_GT(*number, std::exchange(last, *number));
  EXPECT_TRUE(absl::IsFailedPrecondition(number.status())) << number.status();
}

}  // namespace
}  // namespace locus
