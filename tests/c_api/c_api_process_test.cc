// SPDX-License-Identifier: Apache-2.0
// Forks, exits with open objects, and what only the library's own code can try.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/c_api/call.h"
#include "locus/engine/sqlite.h"
#include "locus/key_ring.h"
#include "locus/routing/routing_table.h"
#include "tests/c_api/c_api_fixture.h"

namespace locus {
namespace {

class CApiProcessTest : public CApiTest {
 protected:
  // Makes a store, leases, a table and keys.
  void SetUp() override {
    locus_generator_options options = LOCUS_GENERATOR_OPTIONS_INIT;
    options.create = 1;
    locus_generator* generator = nullptr;
    ASSERT_EQ(locus_generator_open(Store().c_str(), &options, &generator, &error_), LOCUS_OK)
        << error_.message;
    locus_generator_close(generator);
    SqliteSegmentStore::Options create;
    create.create = true;
    auto leases = SqliteWorkerLeaseStore::Open(directory_ / "leases.db", create);
    ASSERT_TRUE(leases.ok()) << leases.status();
    ASSERT_TRUE((*leases)->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
    const std::vector<Shard> shards = {
        {.id = 1, .name = "a", .endpoint = "mysql://127.0.0.1:1/a", .labels = {}}};
    std::ofstream(directory_ / "table.json")
        << RoutingTable::Make(1, shards, {{65535, 1}}, {}).value().ToJson();
    ASSERT_TRUE(KeyRing::Generate()->Save(directory_ / "keys").ok());
  }

  std::string Leases() { return "sqlite:" + (directory_ / "leases.db"); }
  std::string Table() { return "file:" + (directory_ / "table.json"); }

  // All kinds of objects, each used once.
  void OpenAll() {
    ASSERT_EQ(locus_generator_open(Store().c_str(), nullptr, &generator_, &error_), LOCUS_OK);
    ASSERT_EQ(locus_generator_next(generator_, 1, 60'000, &id_, &error_), LOCUS_OK);
    ASSERT_EQ(locus_sequence_open(Store().c_str(), "k", nullptr, &sequence_, &error_), LOCUS_OK);
    ASSERT_EQ(locus_sequence_next(sequence_, 60'000, &number_, &error_), LOCUS_OK);
    ASSERT_EQ(locus_snowflake_open(Leases().c_str(), nullptr, &snowflake_, &error_), LOCUS_OK);
    ASSERT_EQ(locus_snowflake_next(snowflake_, &number_, &error_), LOCUS_OK);
    ASSERT_EQ(locus_router_open(Table().c_str(), nullptr, &router_, &error_), LOCUS_OK);
    ASSERT_EQ(locus_codec_open((directory_ / "keys").c_str(), nullptr, &codec_, &error_), LOCUS_OK);
    uint8_t uuid[LOCUS_UUID_BYTES];
    ASSERT_EQ(locus_uuid_v7(uuid, &error_), LOCUS_OK);
  }
  void CloseAll() {
    locus_generator_close(generator_);
    locus_sequence_close(sequence_);
    locus_snowflake_close(snowflake_);
    locus_router_close(router_);
    locus_codec_close(codec_);
  }
  // What a child finds; 0: as the header says.
  int InChild() {
    size_t made = 7;
    int64_t count = 1;
    const uint16_t gene = 1;
    const locus_code refused[] = {
        locus_generator_next(generator_, 1, 60'000, &id_, &error_),
        locus_generator_next_batch(generator_, &gene, 1, 60'000, &id_, &made, &error_),
        locus_generator_warm(generator_, 60'000, &error_),
        locus_sequence_next(sequence_, 60'000, &number_, &error_),
        locus_sequence_next_block(sequence_, 60'000, &number_, &count, &error_),
        locus_snowflake_next(snowflake_, &number_, &error_),
        locus_snowflake_next_batch(snowflake_, &number_, 1, &made, &error_),
        locus_router_refresh(router_, 2, 60'000, &error_)};
    int at = 0;
    for (const locus_code code : refused) {
      ++at;
      if (code != LOCUS_FAILED_PRECONDITION) return at;
    }
    locus_shard shard = {};
    locus_order_no no = {};
    locus_order_id again = {};
    uint8_t uuid[LOCUS_UUID_BYTES];
    if (locus_router_route(router_, &id_, &shard, &error_) != LOCUS_OK || shard.id != 1) return 20;
    if (locus_codec_encode(codec_, &id_, 1, &no, &error_) != LOCUS_OK) return 21;
    if (locus_codec_decode(codec_, &no, &again, &error_) != LOCUS_OK) return 22;
    if (again.first != id_.first) return 23;
    if (locus_uuid_v7(uuid, &error_) != LOCUS_OK) return 24;
    CloseAll();
    return 0;
  }

  locus_generator* generator_ = nullptr;
  locus_sequence* sequence_ = nullptr;
  locus_snowflake* snowflake_ = nullptr;
  locus_router* router_ = nullptr;
  locus_codec* codec_ = nullptr;
  locus_order_id id_ = {};
  int64_t number_ = 0;
};

TEST_F(CApiProcessTest, ForkedChild_IsRefusedAtOnce) {
  OpenAll();
  const pid_t child = fork();
  if (child == 0) _exit(InChild());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "exit " << WEXITSTATUS(status);
  EXPECT_EQ(locus_generator_next(generator_, 1, 60'000, &id_, &error_), LOCUS_OK);
  EXPECT_EQ(locus_sequence_next(sequence_, 60'000, &number_, &error_), LOCUS_OK);
  EXPECT_EQ(number_, 2);
  EXPECT_EQ(locus_snowflake_next(snowflake_, &number_, &error_), LOCUS_OK);
  CloseAll();
}

// The masks of signals of all threads but this one.
std::vector<uint64_t> MasksOfOtherThreads() {
  std::vector<uint64_t> masks;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == std::to_string(getpid())) continue;
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:")) masks.push_back(std::stoull(line.substr(7), nullptr, 16));
    }
  }
  return masks;
}

TEST_F(CApiProcessTest, ThreadsOfTheLibrary_TakeNoSignals) {
  sigset_t before, after;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &before), 0);
  OpenAll();
  const std::vector<uint64_t> masks = MasksOfOtherThreads();
  EXPECT_GE(masks.size(), 4u) << "generator, sequence, lease, router";
  for (const uint64_t mask : masks) {
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGPIPE}) {
      EXPECT_NE(mask & uint64_t{1} << (signal - 1), 0u) << signal;
    }
  }
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &after), 0);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
  CloseAll();
}

// The program loads the library by dlopen, unloads it while its threads run, goes on, and exits
// with all objects open.
TEST_F(CApiProcessTest, ProgramThatExitsWithOpenObjects_EndsWell) {
  for (int run = 0; run < 5; ++run) {
    const std::string line = absl::StrCat("timeout 120 ", LOCUS_EXIT_PROGRAM, " ", LOCUS_C_LIBRARY,
                                          " ", Store(), " ", Leases(), " ", Table());
    ASSERT_EQ(std::system(line.c_str()), 0) << line;
  }
}

TEST_F(CApiProcessTest, Exceptions_BecomeErrors) {
  using c_api::Run;
  auto thrown = [this](auto what) { return Run(&error_, [&]() -> absl::Status { throw what; }); };
  EXPECT_EQ(thrown(std::bad_alloc()), LOCUS_RESOURCE_EXHAUSTED);
  EXPECT_EQ(thrown(std::runtime_error("why")), LOCUS_INTERNAL);
  EXPECT_STREQ(error_.message, "why");
  EXPECT_EQ(thrown(5), LOCUS_INTERNAL);
  EXPECT_STREQ(error_.message, "an exception of unknown type");
  EXPECT_EQ(Run(nullptr, []() -> absl::Status { throw 5; }), LOCUS_INTERNAL);
}

// A struct that has grown since its first version.
struct GrownOptions {
  size_t size;
  int first;
  int later;
};

}  // namespace

template <>
inline constexpr size_t c_api::kFirstSize<GrownOptions> = offsetof(GrownOptions, later);

namespace {

TEST_F(CApiProcessTest, OptionsOfAnEarlierVersion_HaveDefaultsBehindTheirEnd) {
  GrownOptions options = {offsetof(GrownOptions, later), 5, 77};
  absl::StatusOr<GrownOptions> set = c_api::OptionsOr(&options);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->first, 5);
  EXPECT_EQ(set->later, 0) << "not the program's";
  options.size = sizeof options;
  set = c_api::OptionsOr(&options);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->later, 77);
  options.size = offsetof(GrownOptions, later) - 1;
  EXPECT_EQ(c_api::OptionsOr(&options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace locus
