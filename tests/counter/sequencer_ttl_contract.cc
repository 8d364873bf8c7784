// SPDX-License-Identifier: Apache-2.0
// Counters that are forgotten.
#include "absl/strings/str_cat.h"
#include "locus/segment_sequence.h"
#include "tests/counter/sequencer_contract.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

SequencerOptions From(int64_t start, int64_t step) {
  SequencerOptions options;
  options.start = start;
  options.step = step;
  return options;
}

SequencerOptions WithTtl(absl::Duration ttl) {
  SequencerOptions options;
  options.ttl = ttl;
  return options;
}

// Waits until `key` is forgotten; `observer` has no ttl, so looking does not refresh.
bool Forgotten(Sequencer& observer, std::string_view key) {
  return WaitUntil([&] { return absl::IsNotFound(observer.Get(key).status()); });
}

}  // namespace

TEST_P(SequencerContract, StartAndForgotten_StartsAgainAtStart) {
  auto observer = Connect();
  SequencerOptions options = From(50, 2);
  options.ttl = absl::Milliseconds(200);
  ASSERT_EQ(Connect(options)->NextBatch("a", 5).value().last(), 58);
  ASSERT_TRUE(Forgotten(*observer, "a"));
  EXPECT_EQ(Connect(options)->Next("a").value(), 50);
}

TEST_P(SequencerContract, ForgottenCounter_EarlierHoldersHandOutNoneOfItsNumbers) {
  auto observer = Connect();
  const SequencerOptions options = WithTtl(absl::Milliseconds(200));
  auto holder = SegmentSequence::Create(Connect(options), "a").value();
  ASSERT_TRUE(holder->Next(absl::Seconds(60)).ok());
  ASSERT_TRUE(Forgotten(*observer, "a"));
  EXPECT_TRUE(absl::IsUnavailable(holder->TryNext().status())) << "it still had numbers";
  auto other = SegmentSequence::Create(Connect(options), "a").value();
  EXPECT_TRUE(other->Next(absl::Seconds(60)).ok());
  EXPECT_TRUE(holder->Next(absl::Seconds(60)).ok()) << "continues with others";
}

TEST_P(SequencerContract, KeyThatNoCallNames_IsForgotten) {
  auto observer = Connect();
  auto brief = Connect(WithTtl(absl::Milliseconds(200)));
  SequenceBatch batch = brief->NextBatch("a", 10).value();
  ASSERT_TRUE(brief->Set("set", 7).ok());
  EXPECT_EQ(brief->SetIfNotExists("new", 7).value(), true);
  EXPECT_TRUE(Forgotten(*observer, "a"));
  EXPECT_TRUE(Forgotten(*observer, "set"));
  EXPECT_TRUE(Forgotten(*observer, "new"));
  EXPECT_EQ(observer->NextBatch("a", 10).value().first, 1);
  EXPECT_EQ(brief->Return("a", batch, 5).value(), false) << "that was another life of the key";
  EXPECT_EQ(observer->Get("a").value(), 10);
  EXPECT_EQ(observer->SetIfNotExists("set", 1).value(), true);
}

// Each kind of call that names a key with an hour to live, and whether the key outlives a key
// without calls.
TEST_P(SequencerContract, EachCall_RefreshesTheKey) {
  auto observer = Connect();
  auto brief = Connect(WithTtl(absl::Seconds(4)));
  auto lasting = Connect(WithTtl(absl::Hours(1)));
  for (const char* key : {"next", "set", "kept", "get", "stays"}) {
    ASSERT_TRUE(brief->Next(key).ok());
  }
  EXPECT_TRUE(lasting->Next("next").ok());
  EXPECT_TRUE(lasting->Set("set", 5).ok());
  EXPECT_EQ(lasting->SetIfNotExists("kept", 9).value(), false);
  EXPECT_EQ(lasting->Get("get").value(), 1);
  EXPECT_EQ(observer->Next("stays").value(), 2) << "without a ttl: for good";
  ASSERT_TRUE(brief->Next("unnamed").ok());
  ASSERT_TRUE(Forgotten(*observer, "unnamed"));
  EXPECT_EQ(observer->Get("next").value(), 2);
  EXPECT_EQ(observer->Get("set").value(), 5);
  EXPECT_EQ(observer->Get("kept").value(), 1);
  EXPECT_EQ(observer->Get("get").value(), 1);
  EXPECT_EQ(observer->Get("stays").value(), 2);
}

// Callers that took numbers by the longer ttl, or without a ttl, hold them for longer.
TEST_P(SequencerContract, CallWithAShorterTtl_ForgetsNoCounterEarlier) {
  auto lasting = Connect(WithTtl(absl::Hours(1)));
  auto kept = Connect();
  auto brief = Connect(WithTtl(absl::Milliseconds(200)));
  const auto name = [](const char* how, bool for_good) {
    return absl::StrCat(how, for_good ? " of a counter that is kept" : " of one with an hour");
  };
  for (const bool for_good : {false, true}) {
    for (const char* how : {"next", "get", "new", "return", "set"}) {
      ASSERT_TRUE((for_good ? kept : lasting)->NextBatch(name(how, for_good), 10).ok());
    }
    EXPECT_TRUE(brief->Next(name("next", for_good)).ok());
    EXPECT_TRUE(brief->Get(name("get", for_good)).ok());
    EXPECT_EQ(brief->SetIfNotExists(name("new", for_good), 9).value(), false);
    const SequenceBatch batch = brief->NextBatch(name("return", for_good), 10).value();
    EXPECT_EQ(brief->Return(name("return", for_good), batch, 5).value(), under_test_->can_return());
    EXPECT_TRUE(brief->Set(name("set", for_good), 20).ok()) << "which decides";
  }
  ASSERT_TRUE(brief->Next("unnamed").ok());
  ASSERT_TRUE(Forgotten(*kept, "unnamed"));
  for (const bool for_good : {false, true}) {
    EXPECT_EQ(kept->Get(name("next", for_good)).value(), 11);
    EXPECT_EQ(kept->Get(name("get", for_good)).value(), 10);
    EXPECT_EQ(kept->Get(name("new", for_good)).value(), 10);
    EXPECT_EQ(kept->Get(name("return", for_good)).value(), under_test_->can_return() ? 15 : 20);
    EXPECT_TRUE(absl::IsNotFound(kept->Get(name("set", for_good)).status()));
  }
}

}  // namespace locus
