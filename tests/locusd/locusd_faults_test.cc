// SPDX-License-Identifier: Apache-2.0
// Two ID services over MariaDB, Redis, a cluster of locusd and a table, under load, while each of
// these is killed, stalled or emptied, and one of the services, too. Whatever is answered is right
// or a typed error, and no ID comes twice over the whole run: more than 20 million of them.
//
// LOCUS_FAULTS_IDS=N: goes on, fault after fault, until there are N. scripts/soak does.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "src/base/run/mutex.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/locusd/ids_process.h"
#include "tests/locusd/locusd_cluster.h"

namespace locus {
namespace {

// Of a request, on a machine that is busy; the service itself gives up after 2 seconds.
constexpr absl::Duration kMostTaken = absl::Seconds(60);

// Order IDs, numbers and Snowflakes may be equal to each other, but not among themselves.
enum Kind { kOrders, kNumbers, kSnowflakes, kKinds };
using Made = std::array<std::vector<uint64_t>, kKinds>;

// The numbers behind each `prefix` of an answer, and `base` more.
void TakeNumbers(std::string_view body, std::string_view prefix, uint64_t base,
                 std::vector<uint64_t>& into) {
  for (size_t at = 0; (at = body.find(prefix, at)) != body.npos;) {
    at += prefix.size();
    uint64_t number = 0;
    const size_t begin = at;
    for (; at < body.size() && body[at] >= '0' && body[at] <= '9'; ++at) {
      number = number * 10 + static_cast<uint64_t>(body[at] - '0');
    }
    if (at > begin) into.push_back(base + number);
    ++at;
  }
}

// A client that asks one service for all kinds in turn.
class Load {
 public:
  // `may_vanish`: the service is killed now and then, and then there is no answer. Client 0 wants
  // numbers of one sequence after the other, of which the service has none at hand.
  Load(const IdsProcess& service, bool may_vanish, int number)
      : service_(service), may_vanish_(may_vanish), thread_([this, number] { Run(number); }) {}
  ~Load() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  size_t made() const { return count_; }
  size_t good(Kind kind) const { return good_[kind]; }
  size_t refused(Kind kind) const { return refused_[kind]; }
  Made& ids() { return made_; }  // once it was stopped

 private:
  void Run(int number) {
    std::string buyers;
    for (int i = 0; i < 3000; ++i) absl::StrAppend(&buyers, i ? ",\"" : "\"", number + i * 7, "\"");
    const std::string orders = absl::StrCat("{\"buyers\":[", buyers, "]}");
    for (int round = 0; !stop_; ++round) {
      const auto kind = static_cast<Kind>(round % kKinds);
      const int sequence = number == 0 ? round / kKinds / 4 % 900 : 900;
      base_ = kind == kNumbers ? static_cast<uint64_t>(sequence) << 40 : 0;
      const absl::Time begun = absl::Now();
      const auto answer =
          kind == kOrders ? service_.Ask("POST", "/v1/orders/ids", orders)
          : kind == kNumbers
              ? service_.Ask("GET", absl::StrCat("/v1/sequences/s", sequence, "/next?n=10000"))
              : service_.Ask("GET", "/v1/snowflake?n=10000");
      Judge(kind, answer, absl::Now() - begun);
    }
  }

  void Judge(Kind kind, const absl::StatusOr<http::HttpAnswer>& answer, absl::Duration taken) {
    if (!answer.ok()) {
      EXPECT_TRUE(may_vanish_) << kind << ": " << answer.status();
      absl::SleepFor(absl::Milliseconds(20));  // until it is started again
      return;
    }
    EXPECT_LT(taken, kMostTaken) << kind;
    if (answer->status == 200) {
      std::vector<uint64_t>& into = made_[kind];
      const size_t before = into.size();
      TakeNumbers(answer->body, kind == kOrders ? "\"order_id\":\"" : "\"", base_, into);
      EXPECT_EQ(into.size() - before, kind == kOrders ? 3000u : 10'000u);
      count_ += into.size() - before;
      ++good_[kind];
      return;
    }
    ++refused_[kind];
    EXPECT_TRUE(answer->status == 503 || answer->status == 500) << answer->status << answer->body;
    EXPECT_EQ(answer->Header("Content-Type"), "application/problem+json");
    EXPECT_TRUE(absl::StrContains(answer->body, "\"code\":\"")) << answer->body;
    // An error is answered at once or after a while; either way, nobody asks again at once.
    absl::SleepFor(absl::Milliseconds(20));
  }

  const IdsProcess& service_;
  const bool may_vanish_;
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> count_ = 0;
  std::array<std::atomic<size_t>, kKinds> good_ = {};
  std::array<std::atomic<size_t>, kKinds> refused_ = {};
  Made made_;
  uint64_t base_ = 0;  // tells the numbers of sequences apart
  std::thread thread_;
};

class LocusdFaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(maria_.Start());
    maria_.Sql("CREATE DATABASE locus_ids");
    WriteTable();
    WriteSecret(directory_ / "password", "s3cret");
    const std::string settings = absl::StrCat(
        "[ids]\n[ids.orders]\ncreate = true\nstore = \"redis://127.0.0.1:", redis_.port(),
        "\"\n[ids.sequences]\ncreate = true\nstore = \"mysql://locus@127.0.0.1:", maria_.port(),
        "/locus_ids\"\npassword_file = \"", directory_ / "password",
        "\"\n[ids.snowflake]\ncreate = true\nttl = \"10m\"\nleases = "
        "\"locusd://",
        cluster_.node(0).api(), ",", cluster_.node(1).api(), ",", cluster_.node(2).api(),
        "\"\n[ids.table]\nplace = \"file:", directory_ / "table.json",
        "\"\nconfirm_every = \"200ms\"\n");
    MakeFirstSpace(absl::StrCat("locusd://", cluster_.node(0).api(), ",", cluster_.node(1).api(),
                                ",", cluster_.node(2).api()));
    MarkFirstSequences(absl::StrCat("mysql://locus@127.0.0.1:", maria_.port(), "/locus_ids"),
                       "s3cret");
    for (IdsProcess* service : {&steady_, &victim_}) {
      service->Write("roles = [\"id-service\"]\n", "rate = 0\n", settings);
      ASSERT_TRUE(service->Start());
      ASSERT_TRUE(WaitUntil([&] { return service->StatusOf("GET", "/readyz") == 200; }))
          << service->LogText();
    }
  }
  void WriteTable() {
    const std::string path = directory_ / "table.json";
    std::ofstream(path + ".new") << RoutingTable::MakeEven({{"a", "mysql://127.0.0.1:1/a"},
                                                            {"b", "mysql://127.0.0.1:1/b"}})
                                        ->ToJson();
    std::rename((path + ".new").c_str(), path.c_str());
  }

  // Everything is answered by the steady service again.
  void WaitForAll() {
    std::array<size_t, kKinds> before = {};
    for (int kind = 0; kind < kKinds; ++kind) before[kind] = Good(static_cast<Kind>(kind));
    EXPECT_TRUE(WaitUntil([&] {
      for (int kind = 0; kind < kKinds; ++kind) {
        if (Good(static_cast<Kind>(kind)) == before[kind]) return false;
      }
      return true;
    })) << steady_.LogText();
  }
  size_t Good(Kind kind) const {
    size_t good = 0;
    for (const auto& load : loads_) good += load->good(kind);
    return good;
  }
  size_t Refused(Kind kind) const {
    size_t refused = 0;
    for (const auto& load : loads_) refused += load->refused(kind);
    return refused;
  }
  size_t Made() const {
    size_t made = 0;
    for (const auto& load : loads_) made += load->made();
    return made;
  }
  // More IDs come, of whatever kind.
  void WaitForMore() {
    const size_t before = Made();
    EXPECT_TRUE(WaitUntil([&] { return Made() >= before + 1'000'000; })) << steady_.LogText();
  }

  // Each fault, once.
  void RunFaults() {
    // The store of orders: killed, stalled, and emptied, after which it is another one.
    redis_.KillHard();
    WaitForMore();
    ASSERT_TRUE(redis_.Start());
    redis_.Stall();
    WaitForMore();
    redis_.Resume();
    WaitForAll();
    redis_.Ask("FLUSHALL");
    WaitForMore();
    // Who sees that its space is gone says so until it is started again, which makes a new one.
    Restart();
    // The store of numbers.
    maria_.KillHard();
    const size_t refused = Refused(kNumbers);
    EXPECT_TRUE(WaitUntil([&] { return Refused(kNumbers) > refused; })) << "nobody missed it";
    WaitForMore();
    ASSERT_TRUE(maria_.Start());
    maria_.Stall();
    WaitForMore();
    maria_.Resume();
    // The configuration centre has nothing that can be read.
    std::ofstream(directory_ / "table.json") << "{}";
    WaitForMore();
    WriteTable();
    // Most of the cluster that leases worker IDs.
    const int leader = cluster_.WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster_.node(leader).process().KillHard();
    const int other = (leader + 1) % 3;
    cluster_.node(other).process().Stall();
    WaitForMore();
    Restart();  // without whom to ask for a worker ID
    cluster_.node(other).process().Resume();
    ASSERT_TRUE(cluster_.node(leader).Start());
    // One of the services stands still, and goes on.
    victim_.process().Stall();
    WaitForMore();
    victim_.process().Resume();
  }
  void Restart() {
    victim_.process().KillHard();
    WaitForMore();
    ASSERT_TRUE(victim_.Start());
  }

  const TemporaryDirectory directory_;
  MariadbServer maria_;
  RedisServer redis_{{"--appendonly", "yes", "--appendfsync", "always"}};
  LocusdCluster cluster_{3};
  IdsProcess steady_{directory_, "steady"};
  IdsProcess victim_{directory_, "victim"};
  std::vector<std::unique_ptr<Load>> loads_;
};

TEST_F(LocusdFaultsTest, WhateverFails_NoIdComesTwiceAndErrorsAreTyped) {
  const char* const wish = std::getenv("LOCUS_FAULTS_IDS");
  const size_t enough = wish == nullptr ? 20'000'000 : std::strtoul(wish, nullptr, 10);
  for (int i = 0; i < 2; ++i) {
    loads_.push_back(std::make_unique<Load>(steady_, /*may_vanish=*/false, i));
    loads_.push_back(std::make_unique<Load>(victim_, /*may_vanish=*/true, i + 100));
  }
  WaitForAll();
  do {
    RunFaults();
    if (HasFatalFailure()) return;
  } while (wish != nullptr && Made() < enough && !HasFailure());
  EXPECT_TRUE(WaitUntil([&] { return Made() >= enough; }, absl::Minutes(4)));
  WaitForAll();
  for (const auto& load : loads_) load->Stop();
  for (int kind = 0; kind < kKinds; ++kind) {
    std::vector<uint64_t> all;
    for (const auto& load : loads_) {
      const std::vector<uint64_t>& made = load->ids()[kind];
      all.insert(all.end(), made.begin(), made.end());
    }
    std::sort(all.begin(), all.end());
    const auto twice = std::adjacent_find(all.begin(), all.end());
    EXPECT_EQ(twice, all.end()) << "kind " << kind << ": " << *twice << " came twice";
    std::printf("kind %d: %zu IDs, %zu refusals\n", kind, all.size(),
                Refused(static_cast<Kind>(kind)));
  }
}

}  // namespace
}  // namespace locus
