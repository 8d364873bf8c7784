// SPDX-License-Identifier: Apache-2.0
// As plain_counters_test, of Redis.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/open.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

TEST(RedisPlainCountersTest, TypeOfACountersNameUnderACeiling_IsRefused) {
  RedisServer server;
  const TemporaryDirectory directory;
  const std::string uri = absl::StrCat("redis://127.0.0.1:", server.port());
  const std::string durable = absl::StrCat("sqlite:", directory / "ceiling.db");
  const auto made = OpenSegmentStore(durable, {.create = true});
  ASSERT_TRUE(made.ok()) << made.status();
  auto counters = OpenSequencer(uri, {.ceiling = durable});
  ASSERT_TRUE(counters.ok()) << counters.status();
  for (int64_t n = 1; n <= 3; ++n) ASSERT_EQ((*counters)->Next("ord").value(), n);
  auto types = OpenSequenceTypeStore(uri).value();
  SequenceType type;
  type.name = "ord";
  const absl::Status status = types->Create(type).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("is at 3"));
  type.name = "bills";
  EXPECT_TRUE(types->Create(type).ok());
}

TEST(RedisPlainCountersTest, MarkOfAFirstStart_IsWithTheCeiling) {
  RedisServer server;
  const TemporaryDirectory directory;
  const std::string uri = absl::StrCat("redis://127.0.0.1:", server.port());
  const std::string durable = absl::StrCat("sqlite:", directory / "ceiling.db");
  ASSERT_TRUE(OpenSegmentStore(durable, {.create = true}).ok());
  const SequencerUriOptions marked{.ceiling = durable, .marked = true};
  ASSERT_TRUE(MarkFirstStart(uri, {}, absl::Now()).ok());
  const absl::Status status = OpenSequencer(uri, marked).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr(durable));
  ASSERT_TRUE(MarkFirstStart(uri, marked, absl::Now()).ok());
  const auto counters = OpenSequencer(uri, marked).value();
  EXPECT_EQ(counters->Next("Invoices").value(), 1);
  server.Ask("FLUSHALL");
  EXPECT_GT(counters->Next("Invoices").value(), 1) << "the ceiling holds";
  EXPECT_EQ(counters->Next("Returns").value(), 1) << "the mark is not in Redis";
  EXPECT_TRUE(absl::IsFailedPrecondition([&] {
    const auto alone = OpenSequencer(uri, {.marked = true});
    return alone.status();
  }()))
      << "without a ceiling the mark was lost with the rest";
}

}  // namespace
}  // namespace locus
