// SPDX-License-Identifier: Apache-2.0
// Counters of a cluster, over its API.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "src/http/connection.h"
#include "tests/counter/sequencer_contract.h"
#include "tests/engine/locusd/api_cluster.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<LocusdSequencer> Counters(const ApiCluster& cluster, Clock& clock,
                                          const SequencerOptions& options = {}) {
  auto sequencer = LocusdSequencer::Open(cluster.options(), options, clock);
  EXPECT_TRUE(sequencer.ok()) << sequencer.status();
  return *std::move(sequencer);
}

class CountersUnderTest : public SequencerUnderTest {
 public:
  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) override {
    return Counters(cluster_, Clock::System(), options);
  }

 private:
  // Elections take their time; what three nodes add is tested below.
  ApiCluster cluster_{1, Clock::System()};
};

INSTANTIATE_TEST_SUITE_P(Locusd, SequencerContract,
                         ::testing::Values(SequencerEngine{
                             "locusd", [] { return std::make_unique<CountersUnderTest>(); }}));

class LocusdSequencerTest : public ::testing::Test {
 protected:
  static http::HttpAnswer Post(const ApiCluster& cluster, const std::string& id,
                               const std::string& body) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    auto connection = http::HttpConnection::Connect(*http::Endpoint::Parse(cluster.endpoint(0)),
                                                    nullptr, deadline);
    EXPECT_TRUE(connection.ok()) << connection.status();
    auto answer =
        (*connection)
            ->Send({"POST", "/v1/counters", {{"Request-Id", id}}, body}, 1 << 20, deadline);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : http::HttpAnswer();
  }

  fakes::ManualClock clock_;
};

TEST_F(LocusdSequencerTest, LeadersKilled_NumbersContinueWithoutAGap) {
  ApiCluster cluster(3, clock_);
  auto sequencer = Counters(cluster, clock_);
  int64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    const int leader = cluster.nodes().WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster.Kill(leader);
    for (int i = 0; i < 5; ++i) {
      auto next = sequencer->Next("invoices");
      ASSERT_TRUE(next.ok()) << next.status();
      EXPECT_EQ(*next, last + 1);
      last = *next;
    }
    cluster.Start(leader);
  }
  EXPECT_GT(sequencer->NodeStats().failures, 0u);
}

TEST_F(LocusdSequencerTest, RequestSentAgain_TakesItsNumbersOnce) {
  ApiCluster cluster(1, clock_);
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  const std::string session =
      absl::StrCat(absl::ToUnixMillis(clock_.Now()), "-0123456789abcdef0123456789abcdef-");
  const std::string body =
      R"({"do":"take","name_hex":"61","ttl_ms":"0","number":"1","last_of_first":"1",)"
      R"("max_value":"0","wraps":false})";
  for (int i = 0; i < 3; ++i) {
    const http::HttpAnswer answer = Post(cluster, session + "1", body);
    EXPECT_EQ(answer.status, 200u) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(R"("value":"1")"));
  }
  EXPECT_THAT(Post(cluster, session + "2", body).body, HasSubstr(R"("value":"2")"));
  const http::HttpAnswer late = Post(cluster, session + "1", body);
  EXPECT_EQ(late.status, 409u);
  EXPECT_THAT(late.body, HasSubstr("comes after request 2"));
  std::string other = body;
  other.replace(other.find("61"), 2, "62");
  EXPECT_EQ(Post(cluster, session + "2", other).status, 400u) << "the same ID, another request";
  EXPECT_EQ(Counters(cluster, clock_)->Get("a").value(), 2);
}

TEST_F(LocusdSequencerTest, BadBodies_AreRefusedWithTheReason) {
  ApiCluster cluster(1, clock_);
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  auto refused = [&](const std::string& body, const char* says) {
    const http::HttpAnswer answer = Post(cluster, "", body);
    EXPECT_EQ(answer.status, 400u) << body << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(says)) << body;
  };
  refused("{}", "do");
  refused(R"({"do":"x"})", "take, store, store_new, load or put_back");
  refused(R"({"do":"load","name_hex":"6","ttl_ms":"0"})", "name_hex");
  refused(R"({"do":"load","name_hex":"","ttl_ms":"0"})", "1 to 768");
  refused(R"({"do":"load","name_hex":"61","ttl_ms":0})", "ttl_ms");
  refused(R"({"do":"load","name_hex":"61","ttl_ms":"0","number":"1"})", "not known");
  refused(R"({"do":"store","name_hex":"61","ttl_ms":"0","number":"-1"})", "number");
  refused(R"({"do":"take","name_hex":"61","ttl_ms":"0","number":"9","last_of_first":"1",)"
          R"("max_value":"8","wraps":false})",
          "its max_value is 8");
}

}  // namespace
}  // namespace locus
