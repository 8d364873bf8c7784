// SPDX-License-Identifier: Apache-2.0
// The client of strict sequences against servers that this test plays: honest ones, and such that
// are no sequence-node. Real nodes are in tests/locusd/locusd_strict_test.cc.
#include "locus/engine/strict_client.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/run/mutex.h"
#include "tests/support/lying_server.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Http(std::string_view body, std::string_view head = "200 OK") {
  return absl::StrCat("HTTP/1.1 ", std::string(head), "\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", std::string(body));
}

std::chrono::steady_clock::time_point In(int milliseconds) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

// Ten sections of 100 uids; [0, first) are of one owner, the others of the second one.
std::string Table(uint16_t one, uint16_t other, uint32_t first, int version = 7) {
  std::string ranges;
  if (first > 0) ranges = absl::StrCat(R"({"first":0,"last":)", first - 1, R"(,"owner":0})");
  if (first < 10) {
    absl::StrAppend(&ranges, ranges.empty() ? "" : ",", R"({"first":)", first,
                    R"(,"last":9,"owner":1})");
  }
  return absl::StrCat(R"({"set":"s","table_version":")", version,
                      R"(","first_uid":"0","uids":"1000","section_size":100,"step":"10000",)"
                      R"("ttl_ms":10000,"owners":[{"name":"a","address":"127.0.0.1:)",
                      one, R"("},{"name":"b","address":"127.0.0.1:)", other, R"("}],"ranges":[)",
                      ranges, "]}");
}

std::string Numbers(const std::vector<uint64_t>& numbers, int version = 7) {
  std::string list;
  for (const uint64_t number : numbers) {
    absl::StrAppend(&list, list.empty() ? "" : ",", "\"", number, "\"");
  }
  return absl::StrCat(R"({"table_version":")", version, R"(","numbers":[)", list, "]}");
}

std::string Elsewhere(uint32_t section, const std::string& address, int version = 8) {
  const std::string owner =
      address.empty() ? "null" : absl::StrCat(R"({"name":"x","address":")", address, "\"}");
  return absl::StrCat(R"({"title":"ABORTED","status":421,"detail":"x","code":"ABORTED",)"
                      R"("table_version":")",
                      version, R"(","sections":[{"section":)", section, R"(,"owner":)", owner,
                      "}]}");
}

// A node that answers tables and numbers with what these say at the time.
struct Node {
  using Answer = std::function<std::string()>;  // whole, with its head; "": hangs up
  Node(Answer table, Answer numbers)
      : server([=, this](LyingPeer& peer) {
          ConverseHttp(peer, [&](const std::string& line) {
            const bool is_table = absl::StrContains(line, "/v1/strict/table");
            ++(is_table ? tables : draws);
            return is_table ? table() : numbers();
          });
        }) {}
  std::string address() const { return absl::StrCat("127.0.0.1:", server.port()); }

  std::atomic<int> tables = 0;
  std::atomic<int> draws = 0;
  LyingServer server;  // last: its threads count
};

StrictClientOptions OptionsOf(const Node& node) {
  StrictClientOptions options;
  options.endpoints = {node.address()};
  options.request_timeout = absl::Milliseconds(300);
  return options;
}

std::unique_ptr<StrictClient> OpenAt(const Node& node) {
  auto client = StrictClient::Open(OptionsOf(node), In(30'000));
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

// However slow this machine is, an answer comes in time.
std::unique_ptr<StrictClient> OpenPatientlyAt(const Node& node) {
  StrictClientOptions options = OptionsOf(node);
  options.request_timeout = absl::Seconds(20);
  auto client = StrictClient::Open(options, In(30'000));
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

TEST(StrictClientTest, EachKey_IsAskedAtItsOwner) {
  Node other([] { return Http("{}"); }, [] { return Http(Numbers({20, 21})); });
  std::atomic<uint16_t> own = 0;
  Node one([&] { return Http(Table(own, other.server.port(), 5)); },
           [] { return Http(Numbers({10})); });
  own = one.server.port();
  const auto client = OpenPatientlyAt(one);
  EXPECT_EQ(client->options().sections(), 10u);
  std::vector<uint64_t> numbers(3);
  ASSERT_TRUE(client->NextBatch(std::vector<uint64_t>{900, 0, 901}, numbers, In(30'000)).ok());
  EXPECT_THAT(numbers, ElementsAre(20, 10, 21));
  EXPECT_EQ(one.draws, 1);
  EXPECT_EQ(other.draws, 1);
  EXPECT_EQ(one.tables, 1);
  const StrictClientStats stats = client->Stats();
  EXPECT_EQ(stats.requests, 3u);
  EXPECT_EQ(stats.table_version, 7u);
  EXPECT_EQ(one.server.connections(), 1) << "it is kept";
}

TEST(StrictClientTest, ASectionThatMoved_IsFollowedWithoutATable) {
  Node other([] { return Http("{}"); }, [] { return Http(Numbers({20}, 8)); });
  std::atomic<uint16_t> own = 0;
  Node one([&] { return Http(Table(own, 1, 10)); },
           [&] { return Http(Elsewhere(3, other.address()), "421 Misdirected Request"); });
  own = one.server.port();
  const auto client = OpenPatientlyAt(one);
  for (int i = 0; i < 3; ++i) {
    const auto number = client->Next(300, In(30'000));
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_EQ(*number, 20u);
  }
  EXPECT_EQ(one.draws, 1) << "it learnt";
  EXPECT_EQ(one.tables, 1);
  EXPECT_EQ(client->Stats().elsewhere, 1u);
  EXPECT_EQ(client->Stats().table_version, 8u);
}

TEST(StrictClientTest, AnOwnerThatDoesNotAnswer_IsLookedForInTheTable) {
  Node other([] { return Http("{}"); }, [] { return Http(Numbers({20})); });
  const uint16_t dead = FreePort();
  std::atomic<bool> taken_over = false;
  Node one(
      [&] {
        return Http(taken_over ? Table(other.server.port(), 1, 10, 9) : Table(dead, 1, 10, 8));
      },
      [] { return Http("{}"); });
  const auto client = OpenAt(one);
  const auto nobody = client->Next(300, In(100));
  EXPECT_TRUE(absl::IsDeadlineExceeded(nobody.status())) << nobody.status();
  EXPECT_THAT(nobody.status().message(), HasSubstr("no answer in time; the last: "));
  taken_over = true;
  const auto number = client->Next(300, In(30'000));
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(*number, 20u);
}

TEST(StrictClientTest, OneNodeIsDownAndAnotherSaysWhyItCannot_TheLatterIsReported) {
  Node refuses(
      [] {
        return Http(R"({"status":503,"code":"UNAVAILABLE","detail":"no leader"})",
                    "503 Service Unavailable");
      },
      [] { return ""; });
  const std::string down = absl::StrCat("127.0.0.1:", FreePort());
  for (const bool down_last : {false, true}) {
    StrictClientOptions options = OptionsOf(refuses);
    options.endpoints.insert(down_last ? options.endpoints.end() : options.endpoints.begin(), down);
    const auto client = StrictClient::Open(options, In(300));
    EXPECT_THAT(std::string(client.status().message()), HasSubstr("no leader"));
  }
}

TEST(StrictClientTest, AnOwnerThatDoesNotAnswer_IsAskedForTheTableLast) {
  std::atomic<uint16_t> own = 0;
  std::atomic<uint16_t> second = 0;
  Node other([&] { return Http(Table(own, second, 0, 8)); }, [] { return Http(Numbers({20}, 8)); });
  second = other.server.port();
  Node one([&] { return Http(Table(own, second, 10, 7)); }, [] { return ""; });
  own = one.server.port();
  const auto client = OpenPatientlyAt(one);
  const auto number = client->Next(300, In(30'000));
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(*number, 20u);
  EXPECT_EQ(one.tables, 1) << "it was not asked again";
}

TEST(StrictClientTest, WhereAllWereSilentOnce_TheOneThatHangsDoesNotTakeTheTimeOfEachCall) {
  std::atomic<uint16_t> own = 0, second = 0;
  std::atomic<bool> one_hangs = false, other_hangs = true, ended = false;
  const auto unless = [&ended](const std::atomic<bool>& hangs, const std::string& answer) {
    if (!hangs) return answer;
    WaitUntil([&] { return ended.load(); }, absl::Minutes(5));
    return std::string();
  };
  Node other([&] { return unless(other_hangs, Http(Table(own, second, 0, 8))); },
             [&] { return unless(other_hangs, Http(Numbers({20}, 8))); });
  second = other.server.port();
  Node one([&] { return unless(one_hangs, Http(Table(own, second, 10, 7))); },
           [&] { return unless(one_hangs, Http(Numbers({10}))); });
  own = one.server.port();
  const auto client = OpenAt(one);
  one_hangs = true;
  EXPECT_TRUE(WaitUntil([&] {
    EXPECT_FALSE(client->Next(300, In(700)).ok());
    return other.tables > 0;
  }));
  other_hangs = false;
  // Less than one request may take.
  EXPECT_TRUE(WaitUntil([&] { return client->Next(300, In(250)).ok(); }, absl::Seconds(20)));
  ended = true;
}

constexpr std::string_view kCutOff = R"({"code":"UNAVAILABLE","detail":"the ownership has ended"})";
constexpr std::string_view kRefuses = "503 Service Unavailable";

TEST(StrictClientTest, AnOwnerThatIsCutOffItsStore_IsLeftOnceAnotherNodeHasItsSections) {
  std::atomic<uint16_t> own = 0, second = 0;
  std::atomic<bool> taken_over = false;
  Node other(
      [&] { return Http(taken_over ? Table(own, second, 0, 8) : Table(own, second, 10, 7)); },
      [] { return Http(Numbers({20}, 8)); });
  second = other.server.port();
  Node one([&] { return Http(Table(own, second, 10, 7)); }, [] { return Http(kCutOff, kRefuses); });
  own = one.server.port();
  const auto client = OpenPatientlyAt(one);
  const auto nobody = client->Next(300, In(3'000));
  EXPECT_TRUE(absl::IsDeadlineExceeded(nobody.status())) << nobody.status();
  EXPECT_THAT(nobody.status().message(), HasSubstr("the ownership has ended"));
  taken_over = true;
  for (int call = 0; call < 2; ++call) {
    const auto number = client->Next(300, In(30'000));
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_EQ(*number, 20u);
  }
  EXPECT_EQ(other.draws, 2);
  EXPECT_EQ(one.tables, 1) << "it knows nothing new";
}

TEST(StrictClientTest, ARequestThatTheDeadlineCutsOff_HidesNoEarlierReason) {
  std::atomic<uint16_t> own = 0;
  std::atomic<bool> ended = false;
  Node one([&] { return Http(Table(own, 1, 10)); },
           [&]() -> std::string {
             if (one.draws == 1) return Http(kCutOff, kRefuses);
             WaitUntil([&] { return ended.load(); });
             return "";
           });
  own = one.server.port();
  const auto client = OpenPatientlyAt(one);
  const auto nobody = client->Next(300, In(2'000));
  ended = true;
  EXPECT_TRUE(absl::IsDeadlineExceeded(nobody.status())) << nobody.status();
  EXPECT_THAT(nobody.status().message(), HasSubstr("the ownership has ended"));
  EXPECT_GE(one.draws, 2);
}

TEST(StrictClientTest, ManyCallersOfAnOwnerThatIsCutOff_LookForAnotherTogether) {
  std::atomic<uint16_t> own = 0, second = 0;
  Node other([&] { return Http(Table(own, second, 10, 7)); }, [] { return Http("{}"); });
  second = other.server.port();
  Node one([&] { return Http(Table(own, second, 10, 7)); }, [] { return Http(kCutOff, kRefuses); });
  own = one.server.port();
  const auto client = OpenPatientlyAt(one);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      // Long enough that no answer is missed, which would also make the client look for other
      // owners.
      EXPECT_FALSE(client->Next(300, In(2000)).ok());
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_GE(other.tables, 1);
  EXPECT_LE(other.tables,
            (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(200))
      << "they are more than 200 ms apart";
}

TEST(StrictClientTest, AnOlderTable_IsNotLearnedIfAnotherNodeHasANewerOne) {
  std::atomic<uint16_t> own = 0;
  std::atomic<uint16_t> second = 0;
  Node other([&] { return Http(Table(own, second, 0, 9)); }, [] { return Http(Numbers({20}, 9)); });
  second = other.server.port();
  Node one([&] { return Http(Table(own, second, 10, 7)); },
           [] { return Http(Elsewhere(3, "", 9), "421 Misdirected Request"); });
  own = one.server.port();
  const auto client = OpenPatientlyAt(one);
  const auto number = client->Next(300, In(30'000));
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(*number, 20u);
  EXPECT_EQ(one.draws, 1);
  EXPECT_EQ(client->Stats().table_version, 9u);
}

TEST(StrictClientTest, TwoThatNameEachOther_AreAskedUntilOneHasIt) {
  std::atomic<int> asked = 0;
  std::atomic<uint16_t> own = 0, others = 0;
  auto answer = [&](std::atomic<uint16_t>& to) {
    return ++asked > 9
               ? Http(Numbers({5}))
               : Http(Elsewhere(3, absl::StrCat("127.0.0.1:", to.load())), "421 Misdirected");
  };
  Node other([] { return Http("{}"); }, [&] { return answer(own); });
  Node one([&] { return Http(Table(own, 1, 10)); }, [&] { return answer(others); });
  own = one.server.port();
  others = other.server.port();
  const auto number = OpenPatientlyAt(one)->Next(300, In(30'000));
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_EQ(*number, 5u);
}

TEST(StrictClientTest, NumbersOfSeveralAnswers_RiseForEachKey) {
  std::atomic<int> asked = 0;
  std::atomic<uint16_t> own = 0;
  Node one([&] { return Http(Table(own, 1, 10)); },
           [&]() -> std::string {
             // The first answer is lost.
             return ++asked == 1 ? "" : Http(Numbers({8, 1, 9}));
           });
  own = one.server.port();
  std::vector<uint64_t> numbers(3);
  ASSERT_TRUE(
      OpenPatientlyAt(one)->NextBatch(std::vector<uint64_t>{3, 4, 3}, numbers, In(30'000)).ok());
  EXPECT_THAT(numbers, ElementsAre(8, 1, 9));
}

TEST(StrictClientTest, ABadRequest_IsRefusedWithoutAServer) {
  std::atomic<uint16_t> own = 0;
  Node one([&] { return Http(Table(own, 1, 10)); }, [] { return Http("{}"); });
  own = one.server.port();
  const auto client = OpenAt(one);
  EXPECT_TRUE(absl::IsInvalidArgument(client->Next(1000, In(100)).status()));
  std::vector<uint64_t> numbers(2);
  EXPECT_TRUE(
      absl::IsInvalidArgument(client->NextBatch(std::vector<uint64_t>{1}, numbers, In(100))));
  EXPECT_TRUE(client->NextBatch({}, {}, In(100)).ok());
  EXPECT_EQ(one.draws, 0);
}

TEST(StrictClientTest, Options_AreJudged) {
  StrictClientOptions options;
  EXPECT_TRUE(absl::IsInvalidArgument(options.Check()));
  options.endpoints = {"10.0.0.1:7070"};
  EXPECT_TRUE(options.Check().ok());
  options.token = "the-token";
  EXPECT_TRUE(absl::IsFailedPrecondition(options.Check())) << "in plain text";
  options.endpoints = {"127.0.0.1:7070"};
  EXPECT_TRUE(options.Check().ok());
  options.request_timeout = absl::Milliseconds(1);
  EXPECT_TRUE(absl::IsInvalidArgument(options.Check()));
}

TEST(StrictClientTest, TheToken_IsNeverSentInPlainText) {
  std::atomic<uint16_t> own = 0;
  Node one([&] { return Http(Table(own, 1, 10)); },
           [] { return Http(Elsewhere(3, "10.1.2.3:7070"), "421 Misdirected Request"); });
  own = one.server.port();
  StrictClientOptions options = OptionsOf(one);
  options.token = "the-token-of-this-test";
  const auto client = StrictClient::Open(options, In(30'000));
  ASSERT_TRUE(client.ok());
  const auto number = (*client)->Next(300, In(30'000));
  EXPECT_TRUE(absl::IsFailedPrecondition(number.status())) << number.status();
  EXPECT_THAT(number.status().message(), HasSubstr("plain text"));
}

TEST(StrictClientTest, Refusals_EndTheCall) {
  for (const auto& [head, body, code] :
       {std::tuple("401 Unauthorized", R"({"code":"UNAUTHENTICATED","detail":"who?"})",
                   absl::StatusCode::kFailedPrecondition),
        {"403 Forbidden", R"({"code":"PERMISSION_DENIED","detail":"you?"})",
         absl::StatusCode::kFailedPrecondition},
        {"401 Unauthorized", R"({"code":"FAILED_PRECONDITION","detail":"an older node"})",
         absl::StatusCode::kFailedPrecondition},
        {"400 Bad Request", R"({"code":"INVALID_ARGUMENT","detail":"no"})",
         absl::StatusCode::kInvalidArgument},
        {"400 Bad Request", R"({"code":"OUT_OF_RANGE","detail":"used up"})",
         absl::StatusCode::kOutOfRange},
        {"503 Unavailable", R"({"code":"UNAVAILABLE","detail":"later"})",
         absl::StatusCode::kDeadlineExceeded},
        {"429 Too Many", R"({"code":"UNAVAILABLE","detail":"later"})",
         absl::StatusCode::kDeadlineExceeded}}) {
    std::atomic<uint16_t> own = 0;
    Node one([&] { return Http(Table(own, 1, 10)); },
             [&body = body, &head = head] { return Http(body, head); });
    own = one.server.port();
    const bool ends = code != absl::StatusCode::kDeadlineExceeded;
    const auto number = OpenPatientlyAt(one)->Next(300, In(ends ? 30'000 : 100));
    EXPECT_EQ(number.status().code(), code) << number.status();
  }
}

// Answers that no sequence-node gives: each is refused as such, in little time and memory.
TEST(StrictClientTest, LiesAboutNumbers_AreDataLoss) {
  const std::string good = Numbers({7});
  for (const std::string& lie :
       {std::string("<html>"), std::string("{}"), std::string("[]"), Numbers({}), Numbers({7, 8}),
        Numbers({0}), Numbers({UINT64_MAX}), absl::StrReplaceAll(good, {{"\"7\"]", "7]"}}),
        absl::StrReplaceAll(good, {{"\"7\"]", "\"x\"]"}}),
        absl::StrReplaceAll(good, {{"\"table_version\":\"7\"", "\"table_version\":7"}}),
        absl::StrReplaceAll(good, {{"[\"7\"]", "\"7\""}}), std::string(100'000, '[')}) {
    std::atomic<uint16_t> own = 0;
    Node one([&] { return Http(Table(own, 1, 10)); }, [&] { return Http(lie); });
    own = one.server.port();
    const auto number = OpenAt(one)->Next(300, In(30'000));
    EXPECT_TRUE(absl::IsDataLoss(number.status())) << lie.substr(0, 80) << number.status();
  }
}

TEST(StrictClientTest, LiesAboutOwners_AreDataLoss) {
  const std::string good = Elsewhere(3, "127.0.0.1:1");
  for (const std::string& lie :
       {std::string("{}"), absl::StrReplaceAll(good, {{"127.0.0.1:1", "nowhere"}}),
        Elsewhere(10, ""), absl::StrReplaceAll(good, {{":3,", ":-1,"}}),
        absl::StrReplaceAll(good, {{"[{", "[7,{"}}),
        absl::StrReplaceAll(
            good, {{R"("owner":{"name":"x","address":"127.0.0.1:1"})", R"("owner":"x")"}}),
        std::string(R"({"table_version":"1","sections":[]})")}) {
    std::atomic<uint16_t> own = 0;
    Node one([&] { return Http(Table(own, 1, 10)); }, [&] { return Http(lie, "421 Misdirected"); });
    own = one.server.port();
    const auto number = OpenAt(one)->Next(300, In(30'000));
    EXPECT_TRUE(absl::IsDataLoss(number.status())) << lie << number.status();
  }
}

TEST(StrictClientTest, LiesAboutTheTable_AreDataLoss) {
  const std::string good = Table(1, 2, 5);
  for (const std::string& lie :
       {std::string("{}"), absl::StrReplaceAll(good, {{R"("uids":"1000")", R"("uids":"0")"}}),
        absl::StrReplaceAll(good, {{R"("section_size":100)", R"("section_size":1)"}}),
        absl::StrReplaceAll(good, {{R"("last":9)", R"("last":10)"}}),
        absl::StrReplaceAll(good, {{R"("first":5)", R"("first":4)"}}),
        absl::StrReplaceAll(good, {{R"("owner":1)", R"("owner":2)"}}),
        absl::StrReplaceAll(good, {{"127.0.0.1:1\"", "127.0.0.1:99999\""}}),
        absl::StrReplaceAll(good, {{R"("ttl_ms":10000)", R"("ttl_ms":-1)"}})}) {
    Node one([&] { return Http(lie); }, [] { return Http("{}"); });
    const auto client = StrictClient::Open(OptionsOf(one), In(30'000));
    EXPECT_TRUE(absl::IsDataLoss(client.status())) << lie << client.status();
  }
}

TEST(StrictClientTest, AnswersOfADamagedServer_NeverHarm) {
  std::mt19937 random(7);
  internal::Mutex mutex;  // of random: connections have threads
  std::vector<std::string> kinds = {Http(Numbers({7})), Http(Table(1, 2, 5)),
                                    Http(Elsewhere(3, "127.0.0.1:1"), "421 Misdirected")};
  for (int round = 0; round < 60; ++round) {
    std::atomic<uint16_t> own = 0;
    Node one([&] { return Http(Table(own, 1, 10)); },
             [&] {
               internal::MutexLock lock(mutex);
               std::string bytes = kinds[random() % kinds.size()];
               for (size_t i = random() % 4; i > 0; --i) {
                 bytes[random() % bytes.size()] = static_cast<char>(random());
               }
               bytes.resize(bytes.size() - random() % 8);
               return bytes;
             });
    own = one.server.port();
    StrictClientOptions options = OptionsOf(one);
    options.request_timeout = absl::Milliseconds(10);
    const auto client = StrictClient::Open(options, In(30'000));
    if (client.ok()) static_cast<void>((*client)->Next(300, In(20)));
  }
}

TEST(StrictClientTest, EndlessAnswers_AreGivenUp) {
  const size_t before = PeakMemoryMiB();
  std::atomic<uint16_t> own = 0;
  Node one([&] { return Http(Table(own, 1, 10)); },
           [] {
             return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n",
                                 std::string(8 << 20, ' '));
           });
  own = one.server.port();
  const auto number = OpenAt(one)->Next(300, In(200));
  EXPECT_TRUE(absl::IsDeadlineExceeded(number.status())) << number.status();
  EXPECT_LE(PeakMemoryMiB(), before + 200);
}

TEST(StrictClientTest, InAForkedChild_IsRefused) {
  std::atomic<uint16_t> own = 0;
  Node one([&] { return Http(Table(own, 1, 10)); }, [] { return Http(Numbers({7})); });
  own = one.server.port();
  auto client = OpenAt(one);
  ASSERT_TRUE(client->Next(1, In(30'000)).ok());
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = absl::IsFailedPrecondition(client->Next(1, In(100)).status());
    client.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(client->Next(1, In(30'000)).ok());
}

}  // namespace
}  // namespace locus
