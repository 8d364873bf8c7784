// SPDX-License-Identifier: Apache-2.0
// The ID service as a role of the configured locusd, on real stores.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/key_ring.h"
#include "locus/open.h"
#include "locus/routing/routing_table.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/locusd/ids_process.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRole[] = "roles = [\"id-service\"]\n";
constexpr char kOne[] = R"({"buyers":["1"]})";

TEST(LocusdIdsTest, ServiceOnOneFile_OffersAllAndNothingTwiceOverRestarts) {
  const TemporaryDirectory directory;
  const std::string keys = directory / "keys";
  ASSERT_TRUE(KeyRing::Generate()->Save(keys).ok());
  std::ofstream(directory / "table.json")
      << RoutingTable::MakeEven({{"a", "mysql://127.0.0.1:1/a"}, {"b", "mysql://127.0.0.1:1/b"}})
             ->ToJson();
  IdsProcess ids(directory);
  ids.Write(kRole, "threads = 2\n",
            absl::StrCat(IdsOnOneFile(directory, absl::StrCat("keys = \"", keys, "\"\n")),
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
    EXPECT_TRUE(ids.Logs("sequence a begins at 1"));
    EXPECT_GT(std::stod(ids.Metric("locus_order_ids_time_left_seconds")), 200 * 365 * 86400.);
    life == 0 ? ids.process().KillHard() : ids.process().Stop();
  }
  EXPECT_TRUE(ids.Logged("worker ID released"));
}

TEST(LocusdIdsTest, StoreThatIsAwayAtTheStart_IsWaitedForWhileTheRestWorks) {
  const TemporaryDirectory directory;
  RedisServer redis;  // runs
  redis.KillHard();
  MakeFirstSpace("sqlite:" + (directory / "ids.db"));
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
  EXPECT_TRUE(ids.Logs("info order IDs can be had"));
}

// A file of settings stays as it is after a loss, when holders are alive: so it makes no space.
TEST(LocusdIdsTest, SpaceOfLeasesThatIsMissing_IsWaitedForUntilAnOperatorMakesIt) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  ids.Write(kRole, "",
            absl::StrCat(
                "[ids]\nwait = \"200ms\"\n[ids.orders]\nstore = \"sqlite:", directory / "ids.db",
                "\"\ncreate = true\n[ids.snowflake]\nleases = ", "\"sqlite:", directory / "ids.db",
                "\"\ncreate = true\n"));
  ASSERT_TRUE(ids.Start());
  ids.Good("POST", "/v1/orders/ids", kOne);
  const auto refused = ids.Ask("GET", "/v1/snowflake");
  EXPECT_EQ(refused->status, 503u);
  EXPECT_THAT(refused->body, HasSubstr("create it with `locus lease create`"));
  EXPECT_THAT(ids.Ask("GET", "/readyz")->body, HasSubstr("create it with `locus lease create`"));
  MakeFirstSpace("sqlite:" + (directory / "ids.db"));
  EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("GET", "/v1/snowflake") == 200; }));
}

// The same file of settings, started once more after all of the store was lost.
TEST(LocusdIdsTest, StoreOfLeasesThatIsLost_GrantsNothingByTheSettingsAlone) {
  const TemporaryDirectory directory, lost;
  auto settings_of = [&directory](IdsProcess& ids) {
    ids.Write(kRole, "",
              absl::StrCat("[ids]\nwait = \"200ms\"\n[ids.snowflake]\nleases = \"sqlite:",
                           directory / "ids.db", "\"\ncreate = true\n"));
  };
  IdsProcess holder(directory), next(directory, "next");
  settings_of(holder);
  settings_of(next);
  MakeFirstSpace("sqlite:" + (directory / "ids.db"));
  ASSERT_TRUE(holder.Start());
  EXPECT_TRUE(WaitUntil([&] { return holder.StatusOf("GET", "/v1/snowflake") == 200; }));
  for (const auto& file : std::filesystem::directory_iterator(directory / "")) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("ids.db")) std::filesystem::rename(file.path(), lost / name);
  }
  ASSERT_TRUE(next.Start());
  const auto refused = next.Ask("GET", "/v1/snowflake");
  EXPECT_EQ(refused->status, 503u) << refused->body;
}

// Numbers have no floor: a process that lives through it must not begin again.
TEST(LocusdIdsTest, StoreThatIsEmptied_GivesNothingTwiceAndTheServiceSaysSo) {
  const TemporaryDirectory directory;
  RedisServer redis;
  IdsProcess ids(directory);
  const std::string store = absl::StrCat("store = \"redis://127.0.0.1:", redis.port(),
                                         "\"\ncreate = true\nhorizon = \"1s\"\n");
  MarkFirstSequences(absl::StrCat("redis://127.0.0.1:", redis.port()));
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
    return refused("GET", "/v1/sequences/a/next?n=1000", "numbers", "", "has no mark of");
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
  MakeFirstSpace(absl::StrCat("mysql://locus@127.0.0.1:", mariadb.port(), "/locus_ids"), "s3cret");
  MarkFirstSequences(absl::StrCat("mysql://locus@127.0.0.1:", mariadb.port(), "/locus_ids"),
                     "s3cret");
  ASSERT_TRUE(ids.Start());
  ids.Good("POST", "/v1/orders/ids", kOne);
  ids.Good("GET", "/v1/sequences/a/next");
  ids.Good("GET", "/v1/snowflake");
  // A store that goes away later: what is at hand goes on.
  mariadb.KillHard();
  ids.Good("POST", "/v1/orders/ids", kOne);
  EXPECT_EQ(ids.StatusOf("GET", "/readyz"), 200u);
}

// A store without a table of sequence types, which gets one, and types, while the service runs.
void ExpectTypesOfLater(const std::string& uri, const std::string& password) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  WriteSecret(directory / "password", password + "\n");
  MarkFirstSequences(uri, password);
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
  EXPECT_EQ(ids.StatusOf("GET", "/v1/sequences/k%C3%B6ln/next"), 200u);
  EXPECT_EQ(ids.StatusOf("GET", "/v1/sequences/ko%CC%88ln/next"), 400u)
      << "looks like the one above";
  StoreUriOptions create{.create = true};
  if (!password.empty()) create.password = [&password] { return std::string_view(password); };
  const auto types = OpenSequenceTypeStore(uri, create);
  ASSERT_TRUE(types.ok()) << types.status();
  for (const char* const name : {"orders", "returns"}) {
    SequenceType type;
    type.name = name;
    type.step = 10;
    // The counter "orders" has numbers.
    ASSERT_TRUE((*types)->Create(type, SequenceTypeStore::Repeats::kAllowed).ok());
  }
  EXPECT_EQ(ids.StatusOf("GET", "/v1/sequences/returns:/next"), 412u);
  EXPECT_EQ(ids.StatusOf("GET", "/v1/sequences/returns:in_use/next"), 412u) << "as was learnt";
  EXPECT_EQ(next("/v1/numbers/returns/next"), Texts({"10"}));
  EXPECT_EQ(next("/v1/sequences/orders/next?key="), Texts({"10"}));
  EXPECT_EQ(next("/v1/sequences/orders/next"), Texts({"20"})) << "as was learnt";
  EXPECT_EQ(ids.Good("GET", "/v1/types")["types"].size(), 2u);
}

TEST(LocusdIdsTest, TableOfRulesThatMariadbGetsLater_IsCountedBy) {
  const MysqlOptions options = FreshMariadbDatabase();
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options).ok());
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
      absl::StrCat("roles = [\"cluster-node\", \"id-service\"]\ncluster = \"c\"\ndata = \"",
                   directory / "data", "\"\n[raft]\nlisten = \"127.0.0.1:", FreePort(), "\"\n"),
      "drain_delay = \"100ms\"\n",
      absl::StrCat("[ids]\n[ids.snowflake]\nleases = \"locusd://", ids.api(),
                   "\"\npassword_file = \"", directory / "service", "\"\ncreate = true\n",
                   token("service", "\"ids\", \"leases\", \"operate\""),
                   token("reader", "\"read\"")));
  ids.token = "the-token-of-the-service";
  ASSERT_TRUE(ids.Start(/*begin=*/true));
  MakeFirstSpace("locusd://" + ids.api(), ids.token);
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
      absl::StrCat("roles = [\"cluster-node\", \"id-service\"]\ncluster = \"c\"\ndata = \"",
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

}  // namespace
}  // namespace locus
