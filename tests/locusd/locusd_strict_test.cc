// SPDX-License-Identifier: Apache-2.0
// Strict sequences by real nodes: how they spread, and what callers see of hand-overs and deaths.
#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/sqlite.h"
#include "tests/locusd/strict_nodes.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kSections = kStrictSections;

class LocusdStrictTest : public StrictNodesTest {};

TEST_F(LocusdStrictTest, Nodes_HandOverAndTakeOverWhileNumbersRise) {
  Start(3);
  ASSERT_TRUE(Spread({0, 1, 2}));
  std::vector<std::unique_ptr<StrictClient>> clients;
  for (size_t i = 0; i < 3; ++i) clients.push_back(Client(i));
  StrictCallers callers(clients);
  ASSERT_TRUE(MoreCalls(callers, 200));
  const absl::Duration usual = callers.TakeLongest();

  // Planned: by word, and by SIGTERM.
  const auto over = nodes_[0]->Good("POST", "/v1/strict/sections:hand_over", R"({"to": "n2"})");
  EXPECT_GT(over["sections"], 0);
  EXPECT_EQ(Owned(0), 0);
  ASSERT_TRUE(MoreCalls(callers, 200));
  const absl::Duration by_word = callers.TakeLongest();
  nodes_[1]->process().Stop();
  EXPECT_TRUE(nodes_[1]->Logged("strict sections handed over to n3")) << nodes_[1]->LogText();
  ASSERT_TRUE(MoreCalls(callers, 200));
  const absl::Duration by_signal = callers.TakeLongest();
  EXPECT_TRUE(WaitUntil([&] { return Owned(2) == kSections; }));

  // The first one comes back, and then the third one dies.
  nodes_[0]->Good("POST", "/v1/strict/sections:take", "{}");
  ASSERT_TRUE(Spread({0, 2}));
  callers.TakeLongest();
  nodes_[2]->process().KillHard();
  ASSERT_TRUE(Spread({0}));
  ASSERT_TRUE(MoreCalls(callers, 200));
  const absl::Duration by_death = callers.TakeLongest();
  callers.End();
  std::printf(
      "longest call: %s as usual, %s at a hand-over of all sections, %s at SIGTERM, %s "
      "after kill -9 with a ttl of %s\n",
      absl::FormatDuration(usual).c_str(), absl::FormatDuration(by_word).c_str(),
      absl::FormatDuration(by_signal).c_str(), absl::FormatDuration(by_death).c_str(),
      absl::FormatDuration(kTtl).c_str());
  // A call waits for leases to end only where their owner died. The benchmark's page has figures.
  EXPECT_LT(by_word, by_death);
  EXPECT_LT(by_signal, by_death);
}

TEST_F(LocusdStrictTest, NodesWithTokens_FindEachOtherAndRefuseOthers) {
  WriteSecret(directory_ / "token", absl::StrCat(kToken, "\n"));
  WriteSecret(directory_ / "few", "the-token-for-numbers\n");
  const std::string more = absl::StrCat("token_file = \"", directory_ / "token",
                                        "\"\n[[token]]\nname = \"few\"\nfile = \"",
                                        directory_ / "few", "\"\nscopes = [\"ids\"]\n");
  Start(2, more, absl::StrCat("token_files = [\"", directory_ / "token", "\"]\n"));
  ASSERT_TRUE(Spread({0, 1}));
  const auto client = Client();
  EXPECT_TRUE(client->Next(1, Clock::now() + std::chrono::minutes(1)).ok());
  nodes_[0]->token = "the-token-for-numbers";
  EXPECT_NE(nodes_[0]->StatusOf("POST", "/v1/strict/next", R"({"uids": ["1"]})"), 403u);
  EXPECT_EQ(nodes_[0]->StatusOf("GET", "/v1/strict/table"), 200u);
  for (const char* const path : {"sections:take", "sections:hand_over", "nodes"}) {
    EXPECT_EQ(nodes_[0]->StatusOf("POST", absl::StrCat("/v1/strict/", path), "{}"), 403u) << path;
  }
  nodes_[0]->token = "";
  EXPECT_EQ(nodes_[0]->StatusOf("POST", "/v1/strict/next", R"({"uids": ["1"]})"), 401u);
}

TEST_F(LocusdStrictTest, FixedSections_AreTheNodesOwn) {
  Start(1, "sections = [\"0-4\"]\n");
  EXPECT_TRUE(WaitUntil([&] { return Owned(0) == 5; }));
  Start(1);
  EXPECT_TRUE(WaitUntil([&] { return Owned(1) == kSections - 5; }));
  nodes_[0]->process().Stop();
  EXPECT_TRUE(WaitUntil([&] { return Owned(1) == kSections; }));
  // It comes back, and asks the other one for them.
  const auto client = Client(1);
  const auto number = client->Next(7, Clock::now() + std::chrono::minutes(1));
  ASSERT_TRUE(number.ok()) << number.status();
  ASSERT_TRUE(nodes_[0]->Start());
  EXPECT_TRUE(WaitUntil([&] { return Owned(0) == 5 && Owned(1) == kSections - 5; }));
  EXPECT_TRUE(nodes_[1]->Logs("5 strict sections handed over to n1")) << nodes_[1]->LogText();
  const auto later = client->Next(7, Clock::now() + std::chrono::minutes(1));
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_GT(*later, *number);
  // A third one chose some of them, too; it has what is left, and they do not go to and fro.
  Start(1, "sections = [\"4-5\"]\n");
  EXPECT_TRUE(WaitUntil([&] { return Owned(2) == 1; }));
  EXPECT_TRUE(WaitUntil([&] { return nodes_[0]->Metric("locus_strict_nodes_alive") == "2"; }));
  EXPECT_EQ(Owned(0), 5);
  EXPECT_EQ(nodes_[0]->Metric("locus_strict_sections_handed_over_total"), "0");
}

TEST_F(LocusdStrictTest, SectionsOfANodeAreNotServed_ItAloneIsNotReady) {
  Start(2);
  ASSERT_TRUE(Spread({0, 1}));
  auto ready = [this](size_t node) { return nodes_[node]->StatusOf("GET", "/readyz"); };
  EXPECT_EQ(ready(0), 200u);
  EXPECT_EQ(ready(1), 200u);
  // What a node leaves behind makes no other one unready: neither until its leases end, nor later.
  nodes_[1]->process().KillHard();
  EXPECT_TRUE(WaitUntil([&] {
    EXPECT_EQ(ready(0), 200u);
    return Owned(0) == kSections;
  }));
  EXPECT_EQ(ready(0), 200u);
  // The store does not answer, so its leases end.
  sqlite3* store = nullptr;
  ASSERT_EQ(sqlite3_open((directory_ / "strict.db").c_str(), &store), SQLITE_OK);
  sqlite3_busy_timeout(store, 60'000);
  ASSERT_EQ(sqlite3_exec(store, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE(WaitUntil([&] { return ready(0) == 503u; }));
  EXPECT_THAT(nodes_[0]->Ask("GET", "/readyz")->body, HasSubstr("has not renewed the leases"));
  EXPECT_EQ(nodes_[0]->StatusOf("GET", "/healthz"), 200u);
  EXPECT_TRUE(WaitUntil([&] {
    return nodes_[0]->StatusOf("POST", "/v1/strict/next", R"({"uids": ["1"]})") == 503u;
  }));
  ASSERT_EQ(sqlite3_exec(store, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(store), SQLITE_OK);
  EXPECT_TRUE(WaitUntil([&] { return ready(0) == 200u; }));
}

// As after a loss: nothing says that the set is the first ever.
TEST_F(LocusdStrictTest, SetThatRests_IsNotReadyAndGivesNothing) {
  Start(1, "", "", /*ttl=*/"10m");
  EXPECT_TRUE(WaitUntil([&] {
    const auto ready = nodes_[0]->Ask("GET", "/readyz");
    return ready->status == 503 &&
           ready->body.find("rests after a loss for another") != std::string::npos;
  }));
  EXPECT_EQ(nodes_[0]->StatusOf("POST", "/v1/strict/next", R"({"uids": ["1"]})"), 421u);
  EXPECT_EQ(Owned(0), 0);
  EXPECT_EQ(nodes_[0]->StatusOf("GET", "/healthz"), 200u);
}

TEST_F(LocusdStrictTest, NodeThatCannotTakeItsSections_IsNotReadyAfterAWhile) {
  Start(1);
  ASSERT_TRUE(Spread({0}));
  nodes_[0]->process().KillHard();
  sqlite3* store = nullptr;
  ASSERT_EQ(sqlite3_open((directory_ / "strict.db").c_str(), &store), SQLITE_OK);
  sqlite3_busy_timeout(store, 60'000);
  // It can read the table, and take nothing.
  ASSERT_EQ(sqlite3_exec(store,
                         "CREATE TRIGGER none BEFORE INSERT ON locus_strict_section BEGIN SELECT "
                         "RAISE(ABORT, 'not now'); END",
                         nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(store);
  ASSERT_TRUE(nodes_[0]->Start()) << nodes_[0]->LogText();
  EXPECT_TRUE(WaitUntil([&] {
    const auto ready = nodes_[0]->Ask("GET", "/readyz");
    return ready->status == 503 &&
           ready->body.find("it could not take them for 5s") != std::string::npos;
  })) << nodes_[0]->Ask("GET", "/readyz")->body;
  ASSERT_EQ(sqlite3_exec(store, "DROP TRIGGER none", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(store), SQLITE_OK);
  EXPECT_TRUE(Spread({0}));
  EXPECT_TRUE(WaitUntil([&] { return nodes_[0]->StatusOf("GET", "/readyz") == 200; }));
}

// Whoever takes none has none.
TEST_F(LocusdStrictTest, NodesWithSectionsOfTheirOwn_AreReadyWithoutThoseOfOthers) {
  Start(1, "sections = [\"0-4\"]\n");
  Start(1, "sections = [\"5-9\"]\n");
  EXPECT_TRUE(WaitUntil([&] { return Owned(0) == 5 && Owned(1) == 5; }));
  nodes_[1]->process().KillHard();
  const absl::Time until = absl::Now() + kTtl + absl::Seconds(7);
  EXPECT_TRUE(WaitUntil([&] {
    EXPECT_EQ(nodes_[0]->StatusOf("GET", "/readyz"), 200u);
    return absl::Now() >= until;
  }));
  nodes_[0]->Good("POST", "/v1/strict/sections:hand_over", "{}");
  EXPECT_EQ(nodes_[0]->StatusOf("GET", "/readyz"), 200u);
}

TEST_F(LocusdStrictTest, DamagedRequests_AreRefusedAndNothingElse) {
  Start(1);
  ASSERT_TRUE(Spread({0}));
  const std::vector<std::pair<std::string, std::string>> requests = {
      {"next", R"({"uids":["7","8"],"count":2})"},
      {"next", R"({"texts":["alice","\u4eac"]})"},
      {"sections:take", R"({"sections":["0-19"]})"},
      {"sections:hand_over", R"({"sections":["0-19"],"to":"n9"})"},
      {"nodes",
       R"({"name":"n9","address":"127.0.0.1:1","weight":0,"set":"orders","table_version":"1",)"
       R"("wants_loads":true,"nodes":[{"name":"n8","address":"127.0.0.1:2","weight":0}],)"
       R"("loads":[1,2]})"}};
  std::mt19937 random(13);
  std::map<unsigned, int> statuses;
  for (int i = 0; i < 1000; ++i) {
    auto [path, body] = requests[random() % requests.size()];
    for (size_t damages = 1 + random() % 3; damages > 0; --damages) {
      const size_t at = random() % body.size();
      switch (random() % 3) {
        case 0:
          body[at] = static_cast<char>(random());
          break;
        case 1:
          body.erase(at, 1 + random() % 8);
          break;
        default:
          body.insert(at, body.substr(random() % body.size(), random() % 40));
      }
      if (body.empty()) body = "{";
    }
    ++statuses[nodes_[0]->StatusOf("POST", "/v1/strict/" + path, body)];
  }
  for (const auto& [status, count] : statuses) {
    EXPECT_THAT(status, ::testing::AnyOf(200u, 400u, 404u, 421u, 503u)) << count << " times";
  }
  EXPECT_GT(statuses[400], 500);
  // Long lists, deep nests, and a body that is longer than may be.
  std::string many = R"({"uids":["7")";
  while (many.size() < 900'000) many += R"(,"7")";
  EXPECT_EQ(nodes_[0]->StatusOf("POST", "/v1/strict/next", many + "]}"), 400u);
  EXPECT_EQ(nodes_[0]->StatusOf("POST", "/v1/strict/nodes", std::string(900'000, '[')), 400u);
  EXPECT_THAT(nodes_[0]->StatusOf("POST", "/v1/strict/next", std::string(2 << 20, ' ')),
              ::testing::AnyOf(0u, 413u));
  nodes_[0]->Good("POST", "/v1/strict/sections:take", "{}");
  ASSERT_TRUE(Spread({0}));
  EXPECT_EQ(nodes_[0]->Good("POST", "/v1/strict/next", R"({"uids":["7"]})")["numbers"].size(), 1u);
}

TEST_F(LocusdStrictTest, TheAudit_KeepsWhatHappenedToSections) {
  IdsProcess node(directory_, "node");
  node.Write(
      absl::StrCat("roles = [\"sequence-node\"]\ndata = \"", directory_ / "data", "\"\n"), "",
      absl::StrCat("[strict]\nname = \"audited\"\nstore = \"sqlite:", directory_ / "strict.db",
                   "\"\ncreate = true\nuids = 100\nsection_size = 100\n"
                   "[audit]\nclickhouse = \"127.0.0.1:1\"\n"));
  ASSERT_TRUE(node.Start());
  EXPECT_TRUE(WaitUntil([&] { return node.Metric("locus_strict_sections_owned") == "1"; }));
  node.process().Stop();
  std::string kept;  // while ClickHouse is away
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory_ / "data")) {
    if (!file.is_regular_file()) continue;
    std::ifstream in(file.path(), std::ios::binary);
    kept += std::string(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_THAT(kept, HasSubstr("section_taken"));
  EXPECT_THAT(kept, HasSubstr("section_released"));
  EXPECT_THAT(kept, HasSubstr("audited"));
}

TEST_F(LocusdStrictTest, AnotherSetThanTheStored_EndsTheStart) {
  Start(1);
  IdsProcess other(directory_, "other");
  other.Write("roles = [\"sequence-node\"]\n", "",
              absl::StrCat("[strict]\nname = \"other\"\nstore = \"sqlite:",
                           directory_ / "strict.db", "\"\ncreate = true\nuids = 7\n"));
  const LocusdRun run = RunLocusd(absl::StrCat("--config ", other.config()), directory_);
  EXPECT_EQ(run.code, 2) << run.out;
  EXPECT_THAT(run.out, HasSubstr("strict.store: "));
}

TEST_F(LocusdStrictTest, APortThatIsTaken_LeavesTheSectionsToOthers) {
  const LoopbackListener taken = ListenOnLoopback();
  const std::string config = directory_ / "late.toml";
  std::ofstream(config) << "roles = [\"sequence-node\"]\n[api]\nlisten = \"127.0.0.1:" << taken.port
                        << "\"\n[strict]\nname = \"late\"\nstore = \"sqlite:"
                        << directory_ / "strict.db"
                        << "\"\ncreate = true\nuids = 2000\n"
                        << "section_size = 100\nttl = \"3s\"\n";
  const LocusdRun run = RunLocusd("--config " + config, directory_);
  close(taken.fd);
  EXPECT_GT(run.code, 0) << run.out;
  EXPECT_THAT(run.out, HasSubstr(absl::StrCat("127.0.0.1:", taken.port)));
  const auto store = SqliteStrictStore::Open(directory_ / "strict.db", {});
  ASSERT_TRUE(store.ok()) << store.status();
  const absl::StatusOr<StrictSetView> set = (*store)->Show(SpaceName());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->sections, ::testing::IsEmpty());  // none was ever owned
}

TEST_F(LocusdStrictTest, Check_JudgesFilesWithoutAStart) {
  IdsProcess node(directory_, "node");
  node.Write("roles = [\"sequence-node\"]\n", "",
             absl::StrCat("[strict]\nname = \"n\"\nstore = \"sqlite:", directory_ / "none.db",
                          "\"\ntoken_file = \"", directory_ / "none", "\"\n"));
  const LocusdRun run = RunLocusd(absl::StrCat("--config ", node.config(), " --check"), directory_);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, HasSubstr("create = true makes it"));
  EXPECT_THAT(run.out, HasSubstr("strict.token_file"));
}

}  // namespace
}  // namespace locus
