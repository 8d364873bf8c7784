// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/answer_memory.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using http::ServerAnswer;

class AnswerMemoryTest : public ::testing::Test {
 protected:
  // What a caller gets: "first", an answer's body, "waits", or the code of a refusal.
  std::string Ask(const std::string& key, const std::string& request) {
    auto got = std::make_shared<std::string>("waits");
    const auto first =
        memory_.Ask(key, request, now_, [got](const ServerAnswer& answer) { *got = answer.body; });
    last_ = got;
    if (!first.ok()) return std::string(absl::StatusCodeToString(first.status().code()));
    return *first ? "first" : *got;
  }
  void Answer(const std::string& key, const std::string& body) {
    memory_.Answer(key, {200, {}, body}, now_);
  }

  AnswerMemory memory_{{.keep = absl::Minutes(10), .most_bytes = 10'000}};
  absl::Duration now_ = absl::Hours(1);
  std::shared_ptr<std::string> last_;
};

TEST_F(AnswerMemoryTest, Repetition_GetsTheFirstAnswer) {
  EXPECT_EQ(Ask("k", "a"), "first");
  Answer("k", "1");
  EXPECT_EQ(Ask("k", "a"), "1");
  EXPECT_EQ(Ask("other", "a"), "first");
  EXPECT_EQ(Ask("k", "a"), "1");
  EXPECT_EQ(memory_.stats().repeated, 2u);
}

TEST_F(AnswerMemoryTest, AnotherRequestWithTheKey_IsRefused) {
  EXPECT_EQ(Ask("k", "a"), "first");
  EXPECT_EQ(Ask("k", "b"), "INVALID_ARGUMENT");
  Answer("k", "1");
  EXPECT_EQ(Ask("k", "b"), "INVALID_ARGUMENT");
}

TEST_F(AnswerMemoryTest, RepetitionBeforeTheAnswer_WaitsForIt) {
  EXPECT_EQ(Ask("k", "a"), "first");
  EXPECT_EQ(Ask("k", "a"), "waits");
  const auto waits = last_;
  Answer("k", "1");
  EXPECT_EQ(*waits, "1");
}

TEST_F(AnswerMemoryTest, TooManyThatWait_AreRefused) {
  EXPECT_EQ(Ask("k", "a"), "first");
  std::vector<std::shared_ptr<std::string>> waiting;
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(Ask("k", "a"), "waits");
    waiting.push_back(last_);
  }
  EXPECT_EQ(Ask("k", "a"), "RESOURCE_EXHAUSTED");
  Answer("k", "1");
  for (const auto& each : waiting) EXPECT_EQ(*each, "1");
}

TEST_F(AnswerMemoryTest, Refusal_IsToldToWhoWaitsAndForgotten) {
  EXPECT_EQ(Ask("k", "a"), "first");
  EXPECT_EQ(Ask("k", "a"), "waits");
  const auto waits = last_;
  memory_.Forget("k", {503, {}, "later"});
  EXPECT_EQ(*waits, "later");
  EXPECT_EQ(Ask("k", "b"), "first") << "the key is free again";
}

TEST_F(AnswerMemoryTest, Answers_AreKeptForTenMinutesAfterTheyWereGiven) {
  EXPECT_EQ(Ask("k", "a"), "first");
  now_ += absl::Minutes(30);  // one that waits is kept
  EXPECT_EQ(Ask("k", "a"), "waits");
  Answer("k", "1");
  now_ += absl::Minutes(10) - absl::Milliseconds(1);
  EXPECT_EQ(Ask("k", "a"), "1");
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(Ask("k", "a"), "first");
  EXPECT_EQ(memory_.stats().evicted, 0u);
}

TEST_F(AnswerMemoryTest, Memory_IsBounded) {
  for (int i = 0; i < 1000; ++i) {
    const std::string key = absl::StrCat("k", i);
    ASSERT_EQ(Ask(key, "a"), "first");
    Answer(key, std::string(100, 'x'));
    EXPECT_LE(memory_.stats().bytes, 10'000u);
  }
  EXPECT_EQ(Ask("k999", "a"), std::string(100, 'x'));
  EXPECT_EQ(Ask("k0", "a"), "first");
  EXPECT_GT(memory_.stats().evicted, 900u);
  // One that is larger than all the room is not kept, and takes the others' with it.
  ASSERT_EQ(Ask("large", "a"), "first");
  Answer("large", std::string(20'000, 'x'));
  EXPECT_EQ(memory_.stats().answers, 0u);
  EXPECT_EQ(memory_.stats().bytes, 0u);
}

}  // namespace
}  // namespace locus::locusd
