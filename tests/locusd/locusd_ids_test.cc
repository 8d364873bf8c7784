// SPDX-License-Identifier: Apache-2.0
// The ID service as a role of the configured locusd, on real stores.
#include <signal.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/key_ring.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/uri.h"
#include "tests/engine/mariadb/mariadb_server.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/locusd/ids_process.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRole[] = "roles = [\"id-service\"]\n";
constexpr char kOne[] = R"({"buyers":["1"]})";

// [ids] with all parts on one file of SQLite.
std::string AllOnSqlite(const TemporaryDirectory& directory, const std::string& more_ids = "") {
  const std::string uri = absl::StrCat("\"sqlite:", directory / "ids.db", "\"\ncreate = true\n");
  return absl::StrCat("[ids]\n", more_ids, "[ids.orders]\nstore = ", uri,
                      "[ids.sequences]\nstore = ", uri, "[ids.snowflake]\nleases = ", uri);
}

TEST(LocusdIdsTest, ServiceOnOneFile_OffersAllAndNothingTwiceOverRestarts) {
  const TemporaryDirectory directory;
  const std::string keys = directory / "keys";
  ASSERT_TRUE(KeyRing::Generate()->Save(keys).ok());
  std::ofstream(directory / "table.json")
      << RoutingTable::MakeEven({{"a", "mysql://127.0.0.1:1/a"}, {"b", "mysql://127.0.0.1:1/b"}})
             ->ToJson();
  IdsProcess ids(directory);
  ids.Write(kRole, "threads = 2\n",
            absl::StrCat(AllOnSqlite(directory, absl::StrCat("keys = \"", keys, "\"\n")),
                         "[ids.table]\nplace = \"file:", directory / "table.json", "\"\n"));
  std::set<std::string> made;
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(ids.Start());
    json buyers = json::array();
    for (int i = 0; i < 500; ++i) buyers.push_back(absl::StrCat(i % 50));
    const json orders =
        ids.Good("POST", "/v1/orders/ids", json{{"buyers", buyers}}.dump())["orders"];
    ASSERT_EQ(orders.size(), 500u);
    for (const json& order : orders) {
      EXPECT_TRUE(made.insert(order["order_id"]).second);
      EXPECT_TRUE(made.insert(order["order_no"]).second);
      EXPECT_TRUE(order["shard"] == "a" || order["shard"] == "b");
    }
    EXPECT_EQ(ids.Good("POST", "/v1/order_no:decode",
                       json{{"order_nos", {orders[0]["order_no"]}}}.dump())["order_ids"][0],
              orders[0]["order_id"]);
    const json flakes = ids.Good("GET", "/v1/snowflake?n=500");
    for (const json& id : flakes["ids"]) {
      EXPECT_TRUE(made.insert(id).second);
    }
    const json numbers = ids.Good("GET", "/v1/sequences/a/next?n=500");
    for (const json& number : numbers["numbers"]) {
      EXPECT_TRUE(made.insert("a" + number.get<std::string>()).second);
    }
    EXPECT_EQ(ids.StatusOf("GET", "/readyz"), 200u);
    EXPECT_EQ(ids.StatusOf("GET", "/v1/status"), 404u) << "this is no node of a cluster";
    // The console, by the configuration.
    EXPECT_EQ(ids.StatusOf("GET", "/"), 200u);
    const json session = ids.Good("GET", "/v1/console/session");
    EXPECT_EQ(session["roles"], json({"id-service"}));
    EXPECT_EQ(session["offers"]["publish"], true);
    EXPECT_EQ(session["offers"]["members"], false);
    EXPECT_EQ(ids.Good("GET", "/v1/table/history")["tables"].size(), 1u);
    EXPECT_FALSE(ids.Good("GET", "/v1/leases")["workers"].empty());
    EXPECT_EQ(ids.StatusOf("GET", "/v1/members"), 404u);
    EXPECT_EQ(ids.Metric("locusd_console_streams"), "0");
    EXPECT_EQ(ids.Metric("locus_id_parts_missing"), "0");
    EXPECT_NE(ids.Metric("locus_id_autonomy_seconds"), "");
    EXPECT_EQ(ids.Metric("locus_order_ids_most_lead_seconds"), "1024");
    EXPECT_EQ(ids.Metric("locus_order_ids_lead_used_up_total"), "0");
    EXPECT_GT(std::stod(ids.Metric("locus_order_ids_time_left_seconds")), 200 * 365 * 86400.);
    life == 0 ? ids.process().KillHard() : ids.process().Stop();
  }
  EXPECT_TRUE(ids.Logged("worker ID released"));
}

TEST(LocusdIdsTest, StoreThatIsAwayAtTheStart_IsWaitedForWhileTheRestWorks) {
  const TemporaryDirectory directory;
  RedisServer redis;  // runs
  redis.KillHard();
  IdsProcess ids(directory);
  ids.Write(kRole, "",
            absl::StrCat(
                "[ids]\nwait = \"200ms\"\n[ids.orders]\nstore = \"redis://127.0.0.1:", redis.port(),
                "\"\ncreate = true\n[ids.snowflake]\nleases = \"sqlite:", directory / "ids.db",
                "\"\ncreate = true\n"));
  ASSERT_TRUE(ids.Start());
  EXPECT_EQ(ids.StatusOf("GET", "/healthz"), 200u);
  const auto not_ready = ids.Ask("GET", "/readyz");
  EXPECT_EQ(not_ready->status, 503u);
  EXPECT_THAT(not_ready->body, HasSubstr("order IDs"));
  const auto refused = ids.Ask("POST", "/v1/orders/ids", kOne);
  EXPECT_EQ(refused->status, 503u);
  EXPECT_EQ(refused->Header("Retry-After"), "1");
  EXPECT_THAT(refused->body, HasSubstr("UNAVAILABLE"));
  ids.Good("GET", "/v1/snowflake");
  ids.Good("GET", "/v1/uuid");
  EXPECT_EQ(ids.StatusOf("GET", "/v1/sequences/a/next"), 404u) << "it is not offered at all";
  EXPECT_EQ(ids.Metric("locus_id_parts_missing"), "1");
  EXPECT_EQ(ids.Metric("locus_id_requests_unavailable_total"), "1");
  ASSERT_TRUE(redis.Start());
  EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("GET", "/readyz") == 200; }));
  EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("POST", "/v1/orders/ids", kOne) == 200; }));
  EXPECT_TRUE(ids.Logged("info order IDs can be had"));
}

// Numbers have no floor: a process that lives through it must not begin again.
TEST(LocusdIdsTest, StoreThatIsEmptied_GivesNothingTwiceAndTheServiceSaysSo) {
  const TemporaryDirectory directory;
  RedisServer redis;
  IdsProcess ids(directory);
  const std::string store = absl::StrCat("store = \"redis://127.0.0.1:", redis.port(),
                                         "\"\ncreate = true\nhorizon = \"1s\"\n");
  ids.Write(
      kRole, "",
      absl::StrCat("[ids]\nwait = \"2m\"\n[ids.orders]\n", store, "[ids.sequences]\n", store));
  ASSERT_TRUE(ids.Start());
  ASSERT_EQ(ids.StatusOf("GET", "/readyz"), 200u);
  std::set<std::string> made;
  // True: the request is refused. The rest is what was in memory.
  auto refused = [&](const std::string& method, const std::string& target, const char* member,
                     const std::string& body, const std::string& why) {
    const auto answer = ids.Ask(method, target, body);
    if (!answer.ok()) {
      ADD_FAILURE() << answer.status();
      return true;
    }
    if (answer->status != 200) {
      EXPECT_EQ(answer->status, 500u) << answer->body;
      EXPECT_THAT(answer->body, HasSubstr(why));
      return true;
    }
    const json whole = json::parse(answer->body);
    for (const json& one : whole[member]) {
      EXPECT_TRUE(made.insert(target + one.dump()).second) << one << " came twice";
    }
    return false;
  };
  auto numbers = [&] {
    return refused("GET", "/v1/sequences/a/next?n=1000", "numbers", "", "was at 0, although");
  };
  auto orders = [&] {
    return refused("POST", "/v1/orders/ids", "orders", kOne, "has no space orders");
  };
  ASSERT_FALSE(numbers());
  ASSERT_FALSE(orders());
  redis.Ask("FLUSHALL");
  EXPECT_TRUE(WaitUntil([&] { return testing::Test::HasFailure() || numbers(); }));
  EXPECT_TRUE(WaitUntil([&] { return testing::Test::HasFailure() || orders(); }));
  const auto ready = ids.Ask("GET", "/readyz");
  EXPECT_EQ(ready->status, 503u);
  EXPECT_THAT(ready->body, HasSubstr("order IDs: "));
  EXPECT_EQ(ids.StatusOf("GET", "/healthz"), 200u);
}

// systemd kills who takes longer than 30 s.
TEST(LocusdIdsTest, SigtermWhileARequestMayWaitForLong_EndsItWithTheReason) {
  const TemporaryDirectory directory;
  RedisServer redis;
  IdsProcess ids(directory);
  ids.Write(kRole, "",
            absl::StrCat("[ids]\nwait = \"10m\"\n[ids.sequences]\ncreate = true\nstore = "
                         "\"redis://127.0.0.1:",
                         redis.port(), "\"\n"));
  ASSERT_TRUE(ids.Start());
  redis.Stall();
  std::thread client([&] {
    const auto answer = ids.Ask("GET", "/v1/sequences/a/next");
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->status, 503u);
    EXPECT_THAT(answer->body, HasSubstr("this process ends"));
  });
  EXPECT_TRUE(WaitUntil([&] { return ids.Metric("locus_id_requests_waiting") == "1"; }));
  kill(ids.process().pid(), SIGTERM);
  client.join();
  EXPECT_EQ(ids.WaitForEnd(), 0);
  redis.Resume();
}

TEST(LocusdIdsTest, StoreOfASetThatIsAway_StopsItsSectionsAlone) {
  const TemporaryDirectory directory;
  RedisServer redis({"--appendonly", "yes"});
  IdsProcess ids(directory);
  ids.Write(kRole, "",
            absl::StrCat("[ids]\nwait = \"200ms\"\n[ids.orders]\ncreate = true\n",
                         "[[ids.orders.member]]\nname = \"a\"\nlast_section = 127\nstore = "
                         "\"sqlite:",
                         directory / "a.db",
                         "\"\n[[ids.orders.member]]\nname = \"b\"\nlast_section = 255\n"
                         "store = \"redis://127.0.0.1:",
                         redis.port(), "\"\n"));
  ASSERT_TRUE(ids.Start());
  const std::string four = R"({"buyers":["1","2","3","4"]})";
  EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("POST", "/v1/orders/ids", four) == 200; }));
  ids.process().Stop();
  redis.KillHard();
  ASSERT_TRUE(ids.Start());
  EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("POST", "/v1/orders/ids", kOne) == 200; }));
  EXPECT_EQ(ids.StatusOf("POST", "/v1/orders/ids", four), 503u);
  EXPECT_EQ(ids.Metric("locus_store_up{store=\"b\"}"), "0");
  ASSERT_TRUE(redis.Start());
  EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("POST", "/v1/orders/ids", four) == 200; }));
}

TEST(LocusdIdsTest, MariadbWithThePasswordOfAFile_AndWithAWrongOneNotAtAll) {
  const TemporaryDirectory directory;
  MariadbServer mariadb;
  ASSERT_TRUE(mariadb.Start());
  mariadb.OptionsFor("locus_ids");
  IdsProcess ids(directory);
  const std::string place =
      absl::StrCat("\"mysql://locus@127.0.0.1:", mariadb.port(), "/locus_ids\"\npassword_file = \"",
                   directory / "password", "\"\n");
  ids.Write(kRole, "",
            absl::StrCat("[ids]\n[ids.orders]\ncreate = true\nstore = ", place,
                         "[ids.sequences]\nstore = ", place, "[ids.snowflake]\ncreate = true\n",
                         "leases = ", place));
  WriteSecret(directory / "password", "wr0ng\n");
  const LocusdRun refused = RunLocusd("--config " + ids.config(), directory);
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("order IDs"));
  EXPECT_THAT(refused.out, Not(HasSubstr("wr0ng")));
  WriteSecret(directory / "password", "s3cret\n");
  ASSERT_TRUE(ids.Start());
  ids.Good("POST", "/v1/orders/ids", kOne);
  ids.Good("GET", "/v1/sequences/a/next");
  ids.Good("GET", "/v1/snowflake");
  // A store that goes away later: what is at hand goes on.
  mariadb.KillHard();
  ids.Good("POST", "/v1/orders/ids", kOne);
  EXPECT_EQ(ids.StatusOf("GET", "/readyz"), 200u);
}

// A store without a table of rules, which gets one, and types, while the service runs.
void ExpectTypesOfLater(const std::string& uri, const std::string& password) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  WriteSecret(directory / "password", password + "\n");
  ids.Write(kRole, "",
            absl::StrCat("[ids]\nwait = \"60s\"\n[ids.sequences]\nstore = \"", uri, "\"\n",
                         password.empty()
                             ? ""
                             : absl::StrCat("password_file = \"", directory / "password", "\"\n")));
  ASSERT_TRUE(ids.Start());
  const auto next = [&ids](const std::string& path) {
    return ids.Good("GET", path)["numbers"].get<std::vector<std::string>>();
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(next("/v1/sequences/orders/next"), Texts({"1"}));
  EXPECT_EQ(next("/v1/sequences/returns:in_use/next"), Texts({"1"}));
  EXPECT_EQ(ids.StatusOf("GET", "/v1/numbers/returns/next"), 404u);
  StoreUriOptions create{.create = true};
  if (!password.empty()) create.password = [&password] { return std::string_view(password); };
  const auto types = OpenSequenceTypeStore(uri, create);
  ASSERT_TRUE(types.ok()) << types.status();
  for (const char* const name : {"orders", "returns"}) {
    SequenceType type;
    type.name = name;
    type.step = 10;
    ASSERT_TRUE((*types)->Create(type).ok());
  }
  EXPECT_EQ(ids.StatusOf("GET", "/v1/sequences/returns:/next"), 412u);
  EXPECT_EQ(ids.StatusOf("GET", "/v1/sequences/returns:in_use/next"), 412u) << "as was learnt";
  EXPECT_EQ(next("/v1/numbers/returns/next"), Texts({"10"}));
  EXPECT_EQ(next("/v1/sequences/orders/next?key="), Texts({"10"}));
  EXPECT_EQ(next("/v1/sequences/orders/next"), Texts({"20"})) << "as was learnt";
  EXPECT_EQ(ids.Good("GET", "/v1/types")["types"].size(), 2u);
}

TEST(LocusdIdsTest, TableOfRulesThatMariadbGetsLater_IsCountedBy) {
  const MariadbOptions options = FreshMariadbDatabase();
  ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options).ok());
  ExpectTypesOfLater(absl::StrCat("mysql://", options.user, "@127.0.0.1:", SharedMariadb().port(),
                                  "/", options.database),
                     options.password);
}

TEST(LocusdIdsTest, TableOfRulesThatAFileGetsLater_IsCountedBy) {
  const TemporaryDirectory directory;
  const std::string uri = absl::StrCat("sqlite:", directory / "ids.db");
  ASSERT_TRUE(OpenSegmentStore(uri, {.create = true}).ok());
  ExpectTypesOfLater(uri, "");
}

TEST(LocusdIdsTest, BothRoles_TheServiceLeasesItsWorkerIdFromItsOwnNode) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  WriteSecret(directory / "service", "the-token-of-the-service\n");
  WriteSecret(directory / "reader", "the-token-of-a-reader\n");
  auto token = [&](const std::string& name, const std::string& scopes) {
    return absl::StrCat("[[token]]\nname = \"", name, "\"\nfile = \"", directory / name,
                        "\"\nscopes = [", scopes, "]\n");
  };
  ids.Write(
      absl::StrCat("roles = [\"lease-node\", \"id-service\"]\ncluster = \"c\"\ndata = \"",
                   directory / "data", "\"\n[raft]\nlisten = \"127.0.0.1:", FreePort(), "\"\n"),
      "drain_delay = \"100ms\"\n",
      absl::StrCat("[ids]\n[ids.snowflake]\nleases = \"locusd://", ids.api(),
                   "\"\npassword_file = \"", directory / "service", "\"\ncreate = true\n",
                   token("service", "\"ids\", \"leases\", \"operate\""),
                   token("reader", "\"read\"")));
  ids.token = "the-token-of-the-service";
  ASSERT_TRUE(ids.Start(/*begin=*/true));
  EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("GET", "/v1/snowflake?n=3") == 200; }));
  EXPECT_EQ(ids.Good("GET", "/v1/leases?space=orders")["workers"].size(), 1u);
  ids.token = "the-token-of-a-reader";
  EXPECT_EQ(ids.StatusOf("GET", "/v1/snowflake"), 403u);
  EXPECT_EQ(ids.StatusOf("GET", "/v1/members"), 200u);
  EXPECT_EQ(ids.StatusOf("DELETE", "/v1/spaces/orders"), 403u);
  EXPECT_EQ(ids.StatusOf("DELETE", "/v1/leases/1", "{}"), 403u);
  EXPECT_EQ(ids.Metric("locusd_knows_leader"), "1");
  EXPECT_EQ(ids.Metric("locus_worker_lease_held"), "1");
  kill(ids.process().pid(), SIGTERM);
  EXPECT_EQ(ids.WaitForEnd(), 0);
  EXPECT_TRUE(ids.Logged("info \"worker ID released\"") || ids.Logged("info worker ID released"))
      << ids.LogText();
}

TEST(LocusdIdsTest, RateOfAnAddress_IsOneForAllRoles) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  ids.Write(
      absl::StrCat("roles = [\"lease-node\", \"id-service\"]\ncluster = \"c\"\ndata = \"",
                   directory / "data", "\"\n[raft]\nlisten = \"127.0.0.1:", FreePort(), "\"\n"),
      "rate = 1\nburst = 20\n", "[ids]\n");
  ASSERT_TRUE(ids.Start(/*begin=*/true));
  const absl::Time begun = absl::Now();
  int answered = 0;
  for (int i = 0; i < 20; ++i) {
    answered += ids.StatusOf("GET", "/v1/status") == 200;
    answered += ids.StatusOf("GET", "/v1/uuid") == 200;
  }
  EXPECT_GE(answered, 20);
  EXPECT_LE(answered, 21 + absl::ToInt64Seconds(absl::Now() - begun));
}

TEST(LocusdIdsTest, Mistakes_EndTheStartWithTheReason) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  auto refusal = [&](const std::string& rest, const std::string& arguments = "") {
    ids.Write(kRole, "", rest);
    const LocusdRun run = RunLocusd(absl::StrCat("--config ", ids.config(), arguments), directory);
    EXPECT_EQ(run.code, 2) << run.out;
    return run.out;
  };
  const std::string none = absl::StrCat("\"sqlite:", directory / "none.db", "\"\n");
  EXPECT_THAT(refusal("[ids]\n[ids.orders]\nstore = " + none), HasSubstr("none.db"));
  EXPECT_THAT(refusal("[ids]\n[ids.orders]\nstore = " + none, " --check"),
              HasSubstr(absl::StrCat("ids.toml:6:9: ids.orders.store: \"", directory / "none.db",
                                     "\" is missing; create = true makes it")));
  const std::string ring = "[ids]\nkeys = \"" + (directory / "ring") + "\"\n";
  for (const char* const arguments : {"", " --check"}) {
    EXPECT_THAT(refusal(ring, arguments), HasSubstr("ids.toml:5:8: ids.keys: "));
  }
  EXPECT_THAT(refusal("[ids]\n[ids.table]\nplace = \"file:" + (directory / "t.json") +
                          "\"\npassword_file = \"" + (directory / "p") + "\"\n",
                      " --check"),
              HasSubstr(directory / "p"));
  EXPECT_THAT(refusal("[ids]\nwat = 1\n", " --check"), HasSubstr("ids.toml:5:1: unknown key"));
}

TEST(LocusdIdsTest, Check_JudgesTheTableOfAFileAndSaysWhatItDidNot) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  const std::string path = directory / "t.json";
  ids.Write(kRole, "",
            absl::StrCat("[ids]\n[ids.table]\nplace = \"file:", path,
                         "\"\n[ids.sequences]\nstore = \"redis://127.0.0.1:1\"\n"));
  auto check = [&] {
    return RunLocusd(absl::StrCat("--config ", ids.config(), " --check"), directory);
  };
  LocusdRun run = check();
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, HasSubstr("ids.toml:6:9: ids.table.place: "));
  EXPECT_THAT(run.out, HasSubstr(path));
  std::ofstream(path) << R"({"epoch": 1})";
  run = check();
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, HasSubstr("is refused: member \"shards\" is missing"));
  std::ofstream(path) << RoutingTable::Make(
                             1, {{.id = 1, .name = "a", .endpoint = "x://a", .labels = {}}},
                             {{65535, 1}})
                             ->ToJson();
  run = check();
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_EQ(run.out, absl::StrCat(ids.config(), ": ok\n", ids.config(),
                                  ": not judged, as only the start asks these: "
                                  "ids.sequences.store\n"));
}

TEST(LocusdIdsTest, Init_WritesWhatCheckTakes_AndOverwritesNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory / "new.toml";
  for (const char* const roles :
       {"", "--role id-service", "--role lease-node", "--role lease-node --role id-service"}) {
    const std::string line = absl::StrCat("init ", roles, " --output ", path);
    EXPECT_EQ(RunLocusd(line, directory).code, 0) << roles;
    // A package makes /var/lib/locusd.
    ASSERT_EQ(std::system(
                  absl::StrCat("sed -i s:/var/lib/locusd:", directory / ".", ":g ", path).c_str()),
              0);
    const LocusdRun check = RunLocusd(absl::StrCat("--config ", path, " --check"), directory);
    EXPECT_EQ(check.code, 0) << check.out;
    const LocusdRun again = RunLocusd(line, directory);
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.out, HasSubstr("--force"));
    EXPECT_EQ(RunLocusd(line + " --force", directory).code, 0);
    std::remove(path.c_str());
  }
  EXPECT_THAT(RunLocusd("init", directory).out, HasSubstr("[ids.orders]"));
  EXPECT_EQ(RunLocusd("init --role leader", directory).code, 2);
}

// Clients ask without a pause while the process ends and another takes its place, three times.
TEST(LocusdIdsTest, DrainUnderLoad_AnswersWholeAndNoIdTwice) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  ids.Write(kRole, "threads = 2\nrate = 0\ndrain_delay = \"300ms\"\n", AllOnSqlite(directory));
  std::mutex mutex;
  std::multiset<std::string> made;  // under mutex
  std::atomic<bool> stop = false;
  std::atomic<int> torn = 0, refused = 0;
  ASSERT_TRUE(ids.Start());
  auto client = [&](const std::string& method, const std::string& target, const std::string& body,
                    const char* list) {
    std::unique_ptr<http::HttpConnection> connection;
    while (!stop) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      if (connection == nullptr || !connection->StillOpen()) {
        auto opened =
            http::HttpConnection::Connect(*http::Endpoint::Parse(ids.api()), nullptr, deadline);
        if (!opened.ok()) continue;  // nobody listens between two lives
        connection = *std::move(opened);
      }
      const auto answer = connection->Send({method, target, {}, body}, 1 << 20, deadline);
      if (!answer.ok()) {
        connection.reset();
        continue;
      }
      if (answer->status != 200) {
        // Nothing was handed out; and nobody is at fault.
        if (answer->status != 503) ++torn;
        ++refused;
        continue;
      }
      const json parsed = json::parse(answer->body, nullptr, false);
      if (!parsed.is_object() || parsed[list].size() != 20) {
        ++torn;
        continue;
      }
      std::lock_guard lock(mutex);
      for (const json& each : parsed[list]) {
        made.insert(list + (each.is_object() ? each["order_id"] : each).get<std::string>());
      }
    }
  };
  json buyers = json::array();
  for (int i = 0; i < 20; ++i) buyers.push_back(absl::StrCat(i));
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back(client, "POST", "/v1/orders/ids", json{{"buyers", buyers}}.dump(),
                         "orders");
    clients.emplace_back(client, "GET", "/v1/snowflake?n=20", "", "ids");
    clients.emplace_back(client, "GET", "/v1/sequences/a/next?n=20", "", "numbers");
  }
  auto count = [&] {
    std::lock_guard lock(mutex);
    return made.size();
  };
  for (int life = 0; life < 3; ++life) {
    const size_t before = count();
    EXPECT_TRUE(WaitUntil([&] { return count() > before + 2000; }));
    kill(ids.process().pid(), SIGTERM);
    EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("GET", "/readyz") != 200; }));
    EXPECT_EQ(ids.WaitForEnd(), 0);
    if (life == 2) break;
    ASSERT_TRUE(ids.Start());
  }
  stop = true;
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(torn, 0);
  std::set<std::string> once(made.begin(), made.end());
  EXPECT_EQ(once.size(), made.size()) << "an ID was answered twice";
  EXPECT_GT(made.size(), 6000u);
}

}  // namespace
}  // namespace locus
