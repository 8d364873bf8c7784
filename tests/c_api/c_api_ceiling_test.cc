// SPDX-License-Identifier: Apache-2.0
// Sequences in Redis with a ceiling in SQLite.
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "tests/c_api/c_api_fixture.h"
#include "tests/engine/redis/redis_server.h"

namespace locus {
namespace {

using CApiCeilingTest = CApiTest;

TEST_F(CApiCeilingTest, Sequences_DoNotRepeatAfterRedisLostThem) {
  locus_generator_options with_file = LOCUS_GENERATOR_OPTIONS_INIT;
  with_file.create = 1;
  locus_generator* generator = nullptr;
  ASSERT_EQ(locus_generator_open(Store().c_str(), &with_file, &generator, &error_), LOCUS_OK)
      << error_.message;
  locus_generator_close(generator);
  const std::string ceiling = Store();
  RedisServer server;
  ASSERT_TRUE(server.Start());
  const std::string uri = absl::StrCat("redis://127.0.0.1:", server.port());
  locus_sequence_options options = LOCUS_SEQUENCE_OPTIONS_INIT;
  options.ceiling = ceiling.c_str();
  int64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    locus_sequence* sequence = nullptr;
    ASSERT_EQ(locus_sequence_open(uri.c_str(), "tickets", &options, &sequence, &error_), LOCUS_OK)
        << error_.message;
    int64_t number = 0;
    ASSERT_EQ(locus_sequence_next(sequence, 60'000, &number, &error_), LOCUS_OK) << error_.message;
    EXPECT_GT(number, last);
    last = number;
    locus_sequence_close(sequence);
    ASSERT_EQ(server.Ask("FLUSHALL"), "OK");
  }
  locus_sequence* sequence = nullptr;
  options.wrap = 1;
  options.max_value = 1000;
  EXPECT_EQ(locus_sequence_open(uri.c_str(), "tickets", &options, &sequence, &error_),
            LOCUS_INVALID_ARGUMENT);
  // A program built before there was a ceiling.
  options = LOCUS_SEQUENCE_OPTIONS_INIT;
  options.size = offsetof(locus_sequence_options, ceiling);
  options.ceiling = "carrier-pigeon:not read";
  ASSERT_EQ(locus_sequence_open(uri.c_str(), "tickets", &options, &sequence, &error_), LOCUS_OK)
      << error_.message;
  locus_sequence_close(sequence);
}

}  // namespace
}  // namespace locus
